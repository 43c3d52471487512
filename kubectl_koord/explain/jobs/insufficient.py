"""The cause of an attempt that fails: what is too small, or how many slots or nodes are missing."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from kubectl_koord.diagnosis import evidence, outside
from kubectl_koord.diagnosis.obstacles import admission, room
from kubectl_koord.engine.admission.jobs import jobs
from kubectl_koord.engine.admission.prefilter import unknown_layer
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.attempts.surely import surely_placed
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.reasons.claims import ClaimReason
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.engine.reasons.prefilter import PodRefusal
from kubectl_koord.engine.rules import rules, rules_of
from kubectl_koord.engine.subjects import GangSubject, PodSubject, never_tried
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.jobs.pending import Cause, Lack, PlanFailure
from kubectl_koord.simulation.edits import wanting_room_alone
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.answers import pending as sentences
from kubectl_koord.wording.refusals import room as of_room
from kubectl_koord.wording.refusals.claims import not_allocated
from kubectl_koord.wording.refusals.nodes import obstacles
from kubectl_koord.wording.refusals.prefilter import lacking

_MOST_PLANS = 8
"""Of so many plans that fail in the empty cluster each leaves a node out."""


class Unsaid(Struct, frozen=True):
    """A cause that takes time to word: its code, and what makes the cause where it is shown."""

    code: CauseCode
    said: Callable[[], Cause]


def cause_of(simulation: Simulation, first: Attempt) -> Cause:
    """Return why an attempt of the subject places no pod."""
    return said(why_not(simulation, first))


def said(cause: Cause | Unsaid) -> Cause:
    """Return a cause as it is shown."""
    return cause.said() if isinstance(cause, Unsaid) else cause


def why_not(simulation: Simulation, first: Attempt) -> Cause | Unsaid:
    """Return the same where not all causes are shown."""
    return (
        _refused(first)
        or _plan_failure(simulation, first)
        or _claims_unallocated(simulation, first)
        or _unoffered(simulation, first)
        or _without_room(simulation, first)
    )


def about_pods(code: CauseCode, message: str, pods: tuple[PendingPod, ...]) -> Cause:
    """Return a cause that is about these pods."""
    return Cause(code, message, tuple(pod.key for pod in pods))


def _refused(first: Attempt) -> Cause | None:
    """Return why the attempt, or a seat of its plan, fails whatever the nodes are; None where these decide."""
    seat = first.failed_seat
    refusal, pod = (first.prefilter, first.trigger.key) if seat is None else (seat.reason, seat.pod)
    if isinstance(refusal, PodRefusal):
        return Cause(refusal.code, sentences.no_node_asked(pod, lacking(refusal)), (pod,))
    unasked = first.over_quota or first.prefilter
    if unasked is not None:
        return admission.cause(unasked)
    unknown = unknown_layer(first.plan.requirements, first.plan.tree) if first.plan is not None else None
    return admission.cause(unknown) if unknown is not None else None


def _plan_failure(simulation: Simulation, first: Attempt) -> Cause | None:
    """Return why the plan cannot be carried out, None where none is made, or another trigger may make a better one."""
    seat = first.failed_seat
    if seat is None or first.plan is None or not first.plan_fails:
        return None
    lack = lacking(seat.reason)
    repeated = rules_of(simulation.snapshot.config).races_over_plans
    message = sentences.plan_fails(seat.pod, seat.node, lack, _planned(first.plan), repeated=repeated)
    return PlanFailure("plan-not-executable", message, (seat.pod,), (Lack(seat.pod, seat.node, lack),))


def _planned(plan: PlacementPlan) -> tuple[str, int, int]:
    """Return in which domain of the start set a plan is, the slots of that, and how many are wanted."""
    tree, chosen = plan.tree, plan.chosen
    above = tree.ancestors(tree.domains.index(chosen)) if chosen is not None else ()
    start = next(index for index in (*above, *plan.start) if index in plan.start)
    return tree.domains[start].name, plan.slots[start], plan.desired


def _claims_unallocated(simulation: Simulation, first: Attempt) -> Cause | None:
    """Return which resource claims nodes cannot serve that would take the pod otherwise, None for none."""
    claiming = tuple(pod for pod in simulation.subject.pending if pod.resource_claims)
    lost = obstacles(one for one in first.refused if isinstance(one.reason, ClaimReason)) if claiming else ()
    if not lost:
        return None
    if first.aborted:
        return about_pods("claims-unallocated", sentences.given_up(first.trigger.key, first.aborted), claiming)
    return about_pods("claims-unallocated", not_allocated(lost, len(simulation.view.names())), claiming)


def _unoffered(simulation: Simulation, first: Attempt) -> Cause | None:
    """Return which resource no node offers, None where some node offers all that is requested."""
    found = room.unoffered(simulation, first)
    if found is None:
        return None
    if found.unlisted:
        message = of_room.not_listed(found.resource, found.unlisted, found.idle)
    else:
        message = of_room.not_offered(
            found.resource, found.with_none, found.listed, found.labelled, found.idle, found.similar
        )
    asking = [pod for pod in simulation.subject.pending if found.resource in dict(pod.requirements.requests)]
    return about_pods("resource-not-offered", message, tuple(asking))


def _without_room(simulation: Simulation, first: Attempt) -> Cause | Unsaid:
    plan = first.plan
    empty = outside.empty_layer(simulation.snapshot, plan) if plan is not None else None
    if empty is not None:
        message = sentences.no_node_in_layer(empty.layer, len(empty.nodes), empty.lacking, empty.instead)
        return about_pods("no-node-in-layer", message, simulation.subject.pending)
    is_indivisible = plan is not None and _is_indivisible(simulation, plan)
    if not is_indivisible and _never_fits(simulation):
        return _too_large(simulation, first)
    return _short_of_slots(simulation, first, plan) if plan is not None else _short_of_nodes(simulation, first)


def _is_indivisible(simulation: Simulation, plan: PlacementPlan) -> bool:
    """Tell whether slots are enough, and it is the number of pods that podCountMultiple does not divide."""
    slots, raw = plan.best
    enough = slots >= plan.desired
    return enough or (raw >= plan.desired and not evidence.is_multiple(simulation, plan.tree))


def _never_fits(simulation: Simulation) -> bool:
    """Tell whether an empty cluster is too small, whatever else keeps pods from nodes out of the way."""
    return not _surely_fits(simulation) and not _fits_empty(simulation)


def _surely_fits(simulation: Simulation) -> bool:
    """Tell whether an empty cluster surely has room: no is no proof of the contrary.

    Who else waits is placed nowhere in it, and keeps nobody away.
    """
    alone = wanting_room_alone(simulation, for_others=False)
    known = rules(simulation.snapshot.config.version)
    unlimited = evidence.unlimited_view(simulation.view)
    tried = jobs(alone.subject, simulation.snapshot, known, simulation.tree)
    return any(surely_placed(structs.replace(job, pending=alone.subject.pending), unlimited) for job in tried)


def _fits_empty(simulation: Simulation) -> bool:
    repels = any(pod.requirements.pod_anti_affinity for pod in simulation.subject.pending)
    alone = wanting_room_alone(simulation, for_others=repels)  # else nobody sees a difference in who waits
    empty = evidence.roomy_view(simulation.view)
    if _fits_somewhere(alone, evidence.unlimited_view(simulation.view)):
        return True  # a quota that refuses such pods is no want of room
    outcomes = alone.answered_alone(empty) if empty.quotas else ()
    return any(outcome.placed_at_once or outcome.first.over_quota for outcome in outcomes)


def _fits_somewhere(alone: Simulation, view: View) -> bool:
    """Tell whether the job is placed, be it without nodes on which plans fail: another domain may have room."""
    for _ in range(_MOST_PLANS):
        outcomes = alone.answered_alone(view)
        if any(outcome.placed_at_once for outcome in outcomes):
            return True
        failing = {outcome.first.failed_seat for outcome in outcomes if outcome.first.plan_fails}
        if not failing:
            return False
        nodes = {seat.node for seat in failing if seat is not None}
        view = view.with_nodes(structs.replace(view.node(name), unschedulable=True) for name in nodes)
    return False


def _too_large(simulation: Simulation, first: Attempt) -> Cause:
    pods = simulation.subject.pending
    is_planned = first.plan is not None
    never = never_tried(simulation.subject, simulation.snapshot) if not is_planned else ()  # a plan has a slot for each
    layer = simulation.must_gather if is_planned else ""
    tried = [pod for pod in pods if pod.key not in never]
    message = sentences.never_fits(len(tried), _requested(tried), layer)
    return about_pods("never-fits", _beside_tree(message, simulation, first), pods)


def _beside_tree(message: str, simulation: Simulation, first: Attempt) -> str:
    """Return a message with the room that nodes outside the tree have, or that are domains of their own, if any."""
    found = outside.room(first, simulation.snapshot)
    if found is None:
        return message
    told = sentences.beside_tree(
        found.nodes, found.lacking, found.pods, simulation.must_gather, are_alone=found.are_alone
    )
    return f"{message} {told}"


def _short_of_slots(simulation: Simulation, first: Attempt, plan: PlacementPlan) -> Cause | Unsaid:
    pods = simulation.subject.pending
    if first.failed_seat is not None:
        failing = first.failed_seat.pod
        return Cause("insufficient-slots", sentences.planned_node_refuses(failing), (failing,))
    best, raw = plan.best
    if _is_indivisible(simulation, plan):
        message = sentences.indivisible(len(pods), simulation.multiples, raw)
        return about_pods("multiple-mismatch", message, pods)
    return Unsaid("insufficient-slots", partial(_too_few_slots, simulation, first, best, raw))


def _too_few_slots(simulation: Simulation, first: Attempt, best: int, raw: int) -> Cause:
    pods = simulation.subject.pending
    apart = room.exclusions(simulation, first)
    excluded = () if apart else evidence.other_than_room(first)
    why = _apart(apart) if raw else _scattered(first.trigger, first.rejections)
    message = sentences.too_few_slots(len(pods), simulation.must_gather, best, raw, excluded, why)
    return about_pods("insufficient-slots", _beside_tree(message, simulation, first), pods)


def _short_of_nodes(simulation: Simulation, first: Attempt) -> Cause | Unsaid:
    subject = simulation.subject
    if first.failed_seat is not None:
        seat = first.failed_seat
        return Cause("no-feasible-node", sentences.not_reserved(seat.pod, seat.node, lacking(seat.reason)), (seat.pod,))
    if first.aborted:
        message = sentences.given_up(first.trigger.key, first.aborted)
        return Cause("no-feasible-node", message, (first.trigger.key,))
    refused = _fits_nowhere(simulation, first)
    if refused is not None:
        return Unsaid("no-feasible-node", partial(_no_node_fits, simulation, first, refused))
    each = _requested(subject.pending)
    placed = sum(len(pods) for pods in first.waiting.values())
    number = len(subject.pending)
    why = _apart(room.exclusions(simulation, first))
    if isinstance(subject, GangSubject) and subject.group.is_satisfied():
        return about_pods("insufficient-capacity", sentences.some_fit(placed, number, each, why), first.left)
    minimum = subject.group.minimum if isinstance(subject, GangSubject) else 1
    return about_pods("insufficient-capacity", sentences.too_few_fit(placed, number, minimum, each, why), first.left)


def _apart(refused: Sequence[Refused]) -> str:
    return of_room.exclude_each_other(refused) if refused else ""


def _scattered(pod: PendingPod, refused: Mapping[str, Reason]) -> str:
    found = room.scattered(pod, refused)
    return of_room.free_but_scattered(found.resource, found.free, found.most) if found is not None else ""


def _no_node_fits(simulation: Simulation, first: Attempt, refused: PendingPod) -> Cause:
    name = "" if isinstance(simulation.subject, PodSubject) else refused.key
    asked = evidence.asked(simulation, refused, first)
    scattered = _scattered(refused, asked.refusals)
    message = sentences.no_node_fits(name, refused.requirements.requests, asked.reasons, scattered)
    return Cause("no-feasible-node", message, (refused.key,))


def _requested(pods: Iterable[PendingPod]) -> tuple[Resources, ...]:
    """Return what pods request each, what most of them do first."""
    return tuple(needs for needs, _ in Counter(pod.requirements.requests for pod in pods).most_common())


def _fits_nowhere(simulation: Simulation, first: Attempt) -> PendingPod | None:
    """Return a member that no node takes as things are, None where each is taken by some.

    One that asks for the company of other pods is judged only where no pod was placed: members may be that company.
    """
    if not first.waiting:
        return first.trigger
    placed = {pod.requirements for pods in first.waiting.values() for pod in pods}
    kinds: dict[PodRequirements, PendingPod] = {}
    for pod in first.left:
        kinds.setdefault(pod.requirements, pod)
    judged = (
        pod for requirements, pod in kinds.items() if requirements not in placed and not requirements.pod_affinity
    )
    return next((pod for pod in judged if not evidence.asked(simulation, pod).counts), None)
