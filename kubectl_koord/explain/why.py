"""Why a job is pending: verdict, cause, slots, alternatives, ways out."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.diagnosis import contention, coverage, evidence, labels, migrations, obstacles, quotas
from kubectl_koord.diagnosis.contention import Case, LeftByJobsAhead, as_few_first
from kubectl_koord.diagnosis.scheduler_says import Computed, scheduler_says, unseen_events
from kubectl_koord.engine.admission import before_trying, is_open, is_satisfied_by_earlier_pods
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.blockers import Blocker, jobs, unknown_layer
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.filters import Prepared
from kubectl_koord.engine.filters.device_allocation import SHARED
from kubectl_koord.engine.gangs import GangGroup, GangSubject, PodSubject, Subject, never_tried
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.queue import NO_EQUALS, Equals
from kubectl_koord.engine.reasons import ClaimReason, Insufficient, PodRefusal, Reason, Refused, TooManyPods
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.rules import rules, rules_of
from kubectl_koord.engine.slots import Offer
from kubectl_koord.engine.state import View
from kubectl_koord.engine.trying import surely_placed
from kubectl_koord.language import say
from kubectl_koord.model.pods import FinishedPod, PendingPod, PodRequirements, RunningPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.unevaluated import (
    OpenCards,
    OpenGate,
    OpenPlugin,
    OpenProfile,
    OpenSetting,
    OtherProfile,
    Unevaluated,
)
from kubectl_koord.model.values import Resources
from kubectl_koord.remedies import next_steps, ways_out
from kubectl_koord.remedies.next_steps import LateCode
from kubectl_koord.remedies.plan import may_help
from kubectl_koord.remedies.search import Search, SearchBudget
from kubectl_koord.reports.common import CauseCode, Edit, Notice, Verdict
from kubectl_koord.reports.jobs import Cause, Lack, PlanFailure, WhyAlternative, WhyReport
from kubectl_koord.simulation.simulation import (
    Scenario,
    Simulation,
    at_first,
    cluster_of,
    every_outcome,
    next_attempt,
    simulate,
)
from kubectl_koord.simulation.what_if import changed, wanting_room_alone
from kubectl_koord.wording import refusals
from kubectl_koord.wording.facts import (
    SCHEDULER_FORGOT,
    SCHEDULER_REMEMBERS,
    counted_after,
    lost_nodes,
    multiples,
    once_placed,
    place_may_be_taken,
    place_taken,
    same_place,
    template_of,
)
from kubectl_koord.wording.refusals import lacking, not_allocated, obstacle, refusal_counts
from kubectl_koord.wording.words import (
    COMMA,
    could_not_be_read,
    count,
    depends_on,
    few,
    layer_noun,
    listed,
    not_followed,
    overdue_clause,
    requests,
    requests_of_each,
)

_MOST_PLANS = 8
"""Of so many plans that fail in the empty cluster each leaves a node out."""


class Unsaid(Struct, frozen=True):
    """A cause that takes time to word: its code, and what makes the cause where it is shown."""

    code: CauseCode
    said: Callable[[], Cause]


def said(cause: Cause | Unsaid) -> Cause:
    """Return a cause as it is shown."""
    return cause.said() if isinstance(cause, Unsaid) else cause


def why_not(simulation: Simulation, first: Attempt) -> Cause | Unsaid:
    """Return why an attempt places no pod, its sentence not yet made: it is costly, and not all are shown."""
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
        return Cause(
            refusal.code, say("no node is looked at for {pod}: {lacking}.", pod=pod, lacking=lacking(refusal)), (pod,)
        )
    unasked = first.over_quota or first.prefilter
    if unasked is not None:
        return obstacles.cause(unasked)
    unknown = unknown_layer(first.plan.requirements, first.plan.tree) if first.plan is not None else None
    return obstacles.cause(unknown) if unknown is not None else None


def _plan_failure(simulation: Simulation, first: Attempt) -> Cause | None:
    """Return why the plan cannot be carried out, None where none is made, or another trigger may make a better one."""
    seat = first.failed_seat
    if seat is None or first.plan is None or not first.plan_fails:
        return None
    lack = lacking(seat.reason)
    repeated = rules_of(simulation.snapshot.config).races_over_plans
    message = _plan_fails(seat.pod, seat.node, lack, _planned(first.plan), repeated=repeated)
    return PlanFailure("plan-not-executable", message, (seat.pod,), (Lack(seat.pod, seat.node, lack),))


def _plan_fails(pod: str, node: str, lack: str, room: tuple[str, int, int], *, repeated: bool) -> str:
    """Return that slots are enough, and a member finds its planned node lacking something, and what follows.

    room: the domain of the plan, its slots, and how many are wanted.
    """
    domain, slots, wanted = room
    follows = (
        say("the scheduler keeps trying, and may bind some pods only") if repeated else say("every attempt ends so")
    )
    counted = say(
        "by count {domain} has room ({slots} for {pods})",
        domain=domain or say("the cluster"),
        slots=count(slots, "slot"),
        pods=count(wanted, "pod"),
    )
    return say(
        "{counted}, but {node} does not take {pod} beside the others ({lack}); {follows}.",
        counted=counted,
        node=say("it") if node == domain else node,
        pod=pod,
        lack=lack,
        follows=follows,
    )


def _planned(plan: PlacementPlan) -> tuple[str, int, int]:
    """Return in which domain of the start set a plan is, the slots of that, and how many are wanted."""
    tree, chosen = plan.tree, plan.chosen
    above = tree.ancestors(tree.domains.index(chosen)) if chosen is not None else ()
    start = next(index for index in (*above, *plan.start) if index in plan.start)
    return tree.domains[start].name, plan.slots[start], plan.desired


def _claims_unallocated(simulation: Simulation, first: Attempt) -> Cause | None:
    """Return which resource claims nodes cannot serve that would take the pod otherwise, None for none."""
    claiming = tuple(pod for pod in simulation.subject.pending if pod.resource_claims)
    lost = refusal_counts(one for one in first.refused if isinstance(one.reason, ClaimReason)) if claiming else ()
    if not lost:
        return None
    if first.aborted:
        return about_pods("claims-unallocated", _given_up(first.trigger.key, first.aborted), claiming)
    return about_pods("claims-unallocated", not_allocated(lost, len(simulation.view.names())), claiming)


def _given_up(pod: str, aborted: Mapping[str, Reason]) -> str:
    """Return over which nodes the scheduler gives up every attempt at a pod, though another node may take it."""
    name, reason = next(iter(aborted.items()))
    others = say(" and {nodes}", nodes=count(len(aborted) - 1, "more node")) if len(aborted) > 1 else ""
    return say(
        "the scheduler gives up every attempt at {pod} over {name}{others}: {obstacle}.",
        pod=pod,
        name=name,
        others=others,
        obstacle=obstacle(reason),
    )


def _unoffered(simulation: Simulation, first: Attempt) -> Cause | None:
    """Return which resource no node offers, None where some node offers all that is requested."""
    found = obstacles.unoffered(simulation, first)
    if found is None:
        return None
    if found.unlisted:
        message = refusals.not_listed(found.resource, found.unlisted, found.idle)
    else:
        message = refusals.not_offered(
            found.resource, found.with_none, found.listed, found.labelled, found.idle, found.similar
        )
    asking = [pod for pod in simulation.subject.pending if found.resource in dict(pod.requirements.requests)]
    return about_pods("resource-not-offered", message, tuple(asking))


def _without_room(simulation: Simulation, first: Attempt) -> Cause | Unsaid:
    plan = first.plan
    empty = labels.empty_layer(simulation.snapshot, plan) if plan is not None else None
    if empty is not None:
        message = _no_node_in_layer(empty.layer, len(empty.nodes), empty.lacking, empty.instead)
        return about_pods("no-node-in-layer", message, simulation.subject.pending)
    is_indivisible = plan is not None and _is_indivisible(simulation, plan)
    if not is_indivisible and _never_fits(simulation):
        return _too_large(simulation, first)
    return _short_of_slots(simulation, first, plan) if plan is not None else _short_of_nodes(simulation, first)


def _no_node_in_layer(layer: str, nodes: int, lacking: Sequence[str], instead: Sequence[str]) -> str:
    """Return that no node is in a layer, which labels they lack, and which they have that may be meant."""
    lack = "lacks" if nodes == 1 else "lack"
    label = (
        say("the label {lacking}", lacking=listed(lacking, "or"))
        if lacking
        else say("a label, as the layer names none")
    )
    have = (
        say(
            ", and {have} {instead}, which no layer names",
            have="has" if nodes == 1 else "have",
            instead=listed(instead),
        )
        if instead
        else ""
    )
    return say(
        "no node is in any {layer}: {nodes} {lack} {label}{have}.",
        layer=layer_noun(layer),
        nodes=count(nodes, "node"),
        lack=lack,
        label=label,
        have=have,
    )


def _is_indivisible(simulation: Simulation, plan: PlacementPlan) -> bool:
    """Tell whether slots are enough, and it is the number of pods that podCountMultiple does not divide."""
    slots, raw = plan.best
    enough = slots >= plan.desired
    return enough or (raw >= plan.desired and not evidence.is_multiple(simulation, plan.tree))


def _never_fits(simulation: Simulation) -> bool:
    """Tell whether an empty cluster is too small, whatever else keeps pods from nodes out of the way."""
    return not _surely_fits(simulation) and not _fits_empty(simulation)


def _surely_fits(simulation: Simulation) -> bool:
    """Tell whether an empty cluster surely has room; False leaves it open.

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
    """Tell whether the job is placed, be it without nodes on which plans fail: another domain may have room.

    It is taken to be so where plans go on failing on other nodes: then no sentence says that it never fits.
    """
    for _ in range(_MOST_PLANS):
        outcomes = alone.answered_alone(view)
        if any(outcome.placed_at_once for outcome in outcomes):
            return True
        failing = {outcome.first.failed_seat for outcome in outcomes if outcome.first.plan_fails}
        if not failing:
            return False
        nodes = {seat.node for seat in failing if seat is not None}
        view = view.with_nodes(structs.replace(view.node(name), unschedulable=True) for name in nodes)
    return True


def _too_large(simulation: Simulation, first: Attempt) -> Cause:
    pods = simulation.subject.pending
    is_planned = first.plan is not None
    never = never_tried(simulation.subject, simulation.snapshot) if not is_planned else ()  # a plan has a slot for each
    layer = simulation.must_gather if is_planned else ""
    tried = [pod for pod in pods if pod.key not in never]
    message = _fits_in_no_empty_domain(len(tried), _requested(tried), layer, _beside_room(simulation, first))
    return about_pods("never-fits", _beside_tree(message, simulation, first), pods)


def _beside_room(simulation: Simulation, first: Attempt) -> str:
    """Return what else than room keeps the pods from every empty node, or from being bound; empty where it is room."""
    if first.failed_seat is not None:
        return lacking(first.failed_seat.reason)
    refused = obstacles.refused_when_empty(simulation, first.trigger)
    is_room = any(isinstance(one.reason, Insufficient | TooManyPods) for one in refused)
    return lost_nodes(refused) if refused and not is_room else ""


def _fits_in_no_empty_domain(pods: int, each: Sequence[Resources], layer: str, why: str) -> str:
    """Return that pods fit in no empty domain of a layer; where the layer is empty, not in the empty cluster."""
    fit = say("does not fit") if pods == 1 else say("do not fit")
    who = say("its {pods} ({requests_of_each})", pods=count(pods, "pod"), requests_of_each=requests_of_each(each))
    return say(
        "{who} {fit} even in an empty {place}{because}; waiting does not help.",
        who=who,
        fit=fit,
        place=_place(layer),
        because=_because(why),
    )


def _place(layer: str) -> str:
    return layer_noun(layer) if layer else "cluster"


def _beside_tree(message: str, simulation: Simulation, first: Attempt) -> str:
    """Return a message with the room that nodes outside the tree have, or that are domains of their own, if any."""
    found = labels.room(first, simulation.snapshot)
    if found is None:
        return message
    told = _room_outside_tree(found.nodes, found.lacking, found.pods, simulation.must_gather, are_alone=found.are_alone)
    return f"{message} {told}"


def _room_outside_tree(nodes: Sequence[str], lacking: Sequence[str], pods: int, layer: str, *, are_alone: bool) -> str:
    """Return which nodes outside the tree would take how many pods, and what they lack: a sentence of its own.

    `are_alone` is whether each of them is a domain of its own instead.
    """
    one = len(nodes) == 1
    who = (
        say("node {nodes} would", nodes=nodes[0])
        if one
        else say("{nodes} ({first}) would", nodes=count(len(nodes), "node"), first=_first(nodes))
    )
    place = say("in no {layer}", layer=layer_noun(layer)) if layer else say("outside the topology tree")
    if are_alone:
        place = (
            say("a {layer} of its own", layer=layer_noun(layer))
            if one
            else say("{layer}s of their own", layer=layer_noun(layer))
        )
    lack = say(
        "{part} the label {lacking}", part=say("it lacks") if one else say("they lack"), lacking=listed(lacking, "or")
    )
    return say(
        "{who}{who2} take {pods}, but {are} {place}: {lack}.",
        who=who[0].upper(),
        who2=who[1:],
        pods=pods,
        are="is" if one else "are",
        place=place,
        lack=lack,
    )


_FEW = 4


def _first(names: Sequence[str]) -> str:
    return (
        listed(names)
        if len(names) <= _FEW
        else say("{names} and {number} more", names=say(", ").join(names[:_FEW]), number=len(names) - _FEW)
    )


def _short_of_slots(simulation: Simulation, first: Attempt, plan: PlacementPlan) -> Cause | Unsaid:
    pods = simulation.subject.pending
    if first.failed_seat is not None:
        failing = first.failed_seat.pod
        return Cause(
            "insufficient-slots",
            say("every attempt fails: {failing} does not fit on its planned node.", failing=failing),
            (failing,),
        )
    if _is_indivisible(simulation, plan):
        message = _indivisible(len(pods), simulation.multiples, plan.best[1])
        return about_pods("multiple-mismatch", message, pods)
    return Unsaid("insufficient-slots", partial(_too_few_slots, simulation, first, plan))


def _indivisible(pods: int, numbers: Mapping[str, int], room: int) -> str:
    return say(
        "its {pods} cannot be split by {multiples} (room for {room}).",
        pods=count(pods, "pod"),
        multiples=multiples(numbers),
        room=room,
    )


def _too_few_slots(simulation: Simulation, first: Attempt, plan: PlacementPlan) -> Cause:
    pods, (best, raw) = simulation.subject.pending, plan.best
    apart = obstacles.exclusions(simulation, first)
    excluded = () if apart else evidence.other_than_room(first)
    why = _apart(apart) if raw else _scattered(first.prepared, plan.nodes)
    message = _slots_lack(len(pods), simulation.must_gather, best, raw, excluded, why)
    message += _meant(simulation, first.trigger)
    return about_pods("insufficient-slots", _beside_tree(message, simulation, first), pods)


def _slots_lack(pods: int, layer: str, best: int, raw: int, excluded: Collection[Refused], why: str = "") -> str:
    """Return how many pods the best domain has room for.

    Args:
        pods: how many there are.
        layer: the layer of the domains; empty where there is but the cluster.
        best: the slots of the best one.
        raw: the slots of the best one before rounding to a podCountMultiple.
        excluded: why nodes are excluded for other reasons than want of room.
        why: what room alone does not tell, such as that members exclude each other.
    """
    rounded = say(" ({raw} without podCountMultiple)", raw=raw) if raw >= pods else ""
    end = say("; excluded nodes: {lost_nodes}", lost_nodes=lost_nodes(excluded)) if excluded and layer else ""
    its = (
        say("its pod")
        if pods == 1
        else say("its {pods} pods", pods=pods)
        if raw
        else say("even one of its {pods} pods", pods=pods)
    )
    if not layer and raw:
        return say(
            "the cluster has room for {best} of {its}{rounded}{because}.",
            best=best,
            its=its,
            rounded=rounded,
            because=_because(why),
        )
    best_has = say("; the best has {best}{rounded}", best=best, rounded=rounded) if raw else ""
    where = say("no {layer} has", layer=layer_noun(layer)) if layer else say("the cluster has no")
    return say(
        "{where} room for {its}{best_has}{because}{end}.",
        where=where,
        its=its,
        best_has=best_has,
        because=_because(why),
        end=end,
    )


def _because(why: str) -> str:
    return say(": {why}", why=why) if why else ""


def _short_of_nodes(simulation: Simulation, first: Attempt) -> Cause | Unsaid:
    subject = simulation.subject
    if first.failed_seat is not None:
        seat = first.failed_seat
        return Cause("no-feasible-node", _not_reserved(seat.pod, seat.node, lacking(seat.reason)), (seat.pod,))
    if first.aborted:
        message = _given_up(first.trigger.key, first.aborted)
        return Cause("no-feasible-node", message, (first.trigger.key,))
    refused = _fits_nowhere(simulation, first)
    if refused is not None:
        return Unsaid("no-feasible-node", partial(_no_node_fits, simulation, first, refused))
    each = _requested(subject.pending)
    placed = sum(len(pods) for pods in first.waiting.values())
    number = len(subject.pending)
    why = _apart(obstacles.exclusions(simulation, first))
    if isinstance(subject, GangSubject) and subject.group.is_satisfied():
        return about_pods("insufficient-capacity", _some_fit(placed, number, each, why), first.left)
    minimum = subject.group.minimum if isinstance(subject, GangSubject) else 1
    return about_pods("insufficient-capacity", _too_few_fit(placed, number, minimum, each, why), first.left)


def _too_few_fit(placed: int, pods: int, minimum: int, each: Sequence[Resources], why: str = "") -> str:
    """Return how many fit of the pods of which a minimum must be bound together, and why not more, likewise."""
    fit = say("{fit} at the same time, {minimum} must", fit=_fit(placed), minimum=minimum)
    return say(
        "only {placed} of its {pods} pods {fit} ({requests_of_each} each){because}.",
        placed=placed,
        pods=pods,
        fit=fit,
        requests_of_each=requests_of_each(each),
        because=_because(why),
    )


def _fit(pods: int) -> str:
    return "fits" if pods == 1 else "fit"


def _some_fit(placed: int, pods: int, each: Sequence[Resources], why: str = "") -> str:
    return say(
        "{placed} of its {pods} pending pods {fit} ({requests_of_each} each){because}.",
        placed=placed,
        pods=pods,
        fit=_fit(placed),
        requests_of_each=requests_of_each(each),
        because=_because(why),
    )


def _not_reserved(pod: str, node: str, lack: str) -> str:
    return say(
        "{pod} passes all filters on {node}, and cannot be bound there: {lack}; no other node is tried.",
        pod=pod,
        node=node,
        lack=lack,
    )


def _apart(refused: Sequence[Refused]) -> str:
    return refusals.exclude_each_other(refused) if refused else ""


def _scattered(prepared: Prepared, answers: Offer) -> str:
    found = obstacles.scattered(prepared, answers)
    return refusals.free_but_scattered(found.resource, found.free, found.most) if found is not None else ""


def _no_node_fits(simulation: Simulation, first: Attempt, refused: PendingPod) -> Cause:
    name = "" if isinstance(simulation.subject, PodSubject) else refused.key
    asked = evidence.asked(simulation, refused, first)
    scattered = _scattered(simulation.prepared(refused) if first.waiting else first.prepared, asked)
    message = _no_node_takes(name, refused.requirements.requests, asked.reasons, scattered)
    message += _meant(simulation, refused)
    return Cause("no-feasible-node", message, (refused.key,))


def _meant(simulation: Simulation, pod: PendingPod) -> str:
    """Return which labels that the pod asks for no node has, and which nearly that, to follow a sentence."""
    meant = {(one.key, one.value): one for one in obstacles.meant_labels(simulation.view, pod)}
    told = []
    for label in obstacles.missing_labels(simulation.view, pod):
        one = meant.get(label)
        has = (
            ""
            if one is None
            else say("; {nodes} {have}", nodes=count(one.nodes, "node"), have="has" if one.nodes == 1 else "have")
        )
        told.append(
            say(
                " No node has the label {label}{has}{part}.",
                label="=".join(label),
                has=has,
                part=f" {one.to_key}={one.to_value}" if one else "",
            )
        )
    return "".join(told)


def _no_node_takes(pod: str, each: Resources, refused: Iterable[Refused], scattered: str = "") -> str:
    """Return why no node fits a pod; `pod` is empty where the answer is about this pod alone.

    scattered: that enough is free, and where, empty where that is not so.
    """
    but = say("{scattered}; ", scattered=scattered) if scattered else ""
    return say(
        "no node fits {pod} ({requests}): {but}{lost_nodes}.",
        pod=pod or say("it"),
        requests=requests(each),
        but=but,
        lost_nodes=lost_nodes(refused),
    )


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


def alternatives_of(cases: Sequence[Case]) -> tuple[WhyAlternative, ...]:
    """Return the outcomes of the first attempt where they differ.

    Of jobs of equal priority that are tried first no more are told than decide, nor what they leave to one that is
    placed.
    """
    is_order_open = any(case.later for case in cases)
    told = _telling(cases) if is_order_open else cases
    distinct: dict[object, tuple[Case, Outcome]] = {}
    for case, outcome in ((one, outcome) for one in told for outcome in one.outcomes):
        left = () if is_order_open and outcome.placed_at_once else evidence.offered(outcome.first)
        distinct.setdefault((outcome.placed_at_once, left, at_first(outcome)[2]), (case, outcome))
    if len(distinct) == 1:
        return ()
    return tuple(_alternative(case, outcome) for case, outcome in distinct.values())


def _telling(cases: Sequence[Case]) -> list[Case]:
    """Return the cases but those that fail, too, where fewer jobs go first."""
    placing = [any(outcome.placed_at_once for outcome in case.outcomes) for case in cases]
    least = {*map(id, as_few_first(case for case, places in zip(cases, placing, strict=True) if not places))}
    return [case for case, places in zip(cases, placing, strict=True) if places or id(case) in least]


def case_of_booking(outcome: Outcome) -> str:
    """Return which node must score best for an outcome, where a pod cannot be bound on some; empty otherwise."""
    first = outcome.first
    if first.failed_seat is not None and first.fails_at_reserve:
        return say("{node} scores best for {pod}", node=first.failed_seat.node, pod=first.failed_seat.pod)
    return (
        say("another node than {unbookable} scores best", unbookable=listed(sorted(first.unbookable), "or"))
        if first.unbookable
        else ""
    )


def _when(outcome: Outcome) -> str:
    first = outcome.first
    if case := case_of_booking(outcome):
        return case
    if first.late:
        return say("the scheduler tries {late} only after enough others", late=listed(first.late))
    return say(
        "the scheduler tries {key} first ({requests})",
        key=outcome.trigger.key,
        requests=requests(outcome.trigger.requirements.requests),
    )


def when(case: Case, outcome_when: str) -> str:
    """Return a case of the subject's own with where those went that are tried before it."""
    own = outcome_when if len(case.outcomes) > 1 else ""
    return _others_went(case.went, case.later, own) if case.went or case.later else outcome_when


def _others_went(went: Sequence[tuple[str, Sequence[str]]], later: Sequence[str], case: str) -> str:
    """Return where jobs go that are tried first, which are tried later, and a case of the subject's own if any."""
    each = [
        say("{job} takes {nodes}", job=job, nodes=listed(nodes)) if nodes else say("{job} finds no place", job=job)
        for job, nodes in went
    ]
    each += [say("it is tried before {later}", later=listed(later))] if later else []
    return say("{each}{part}", each=COMMA.join(each), part=say(", and {case}", case=case) if case else "")


def _alternative(case: Case, outcome: Outcome) -> WhyAlternative:
    verdict: Verdict = "yes" if outcome.placed_at_once else "unknown" if outcome.races else "no"
    return WhyAlternative(
        when=when(case, once_placed(outcome.landing, _when(outcome))),
        verdict=verdict,
        domains=evidence.slot_rows(case.simulation, outcome.first),
        placement=outcome.first.placement if outcome.first.plan is not None else None,
        cause=None if outcome.placed_at_once else said(why_not(case.simulation, outcome.first)),
    )


def report_of(
    simulation: Simulation,
    warnings: tuple[Notice, ...],
    *,
    verdict: Verdict,
    cause: Cause | None,
    also_wrong: tuple[CauseCode, ...] = (),
    attempts: tuple[Attempt, ...] = (),
    brief: bool = False,
    **more: object,
) -> WhyReport:
    """Return the report of a verdict and its cause; the rest is computed, or comes as fields of the report.

    Args:
        simulation: the subject in its cluster.
        warnings: what is to be known besides.
        verdict: the answer.
        cause: the one root cause, if any.
        also_wrong: what else is wrong.
        attempts: those that are open, first the one that the verdict comes from; none where the subject is not tried.
        brief: whether to leave out the evidence that listings do not show.
        more: other fields of the report.
    """
    subject, snapshot = simulation.subject, simulation.snapshot
    first = attempts[0] if attempts else None
    pending = subject.pending
    rows = evidence.slot_rows(simulation, first, brief=brief) if first is not None else ()
    left_out = tuple(coverage.slots_incomplete(subject, snapshot)) if rows else ()
    fields: dict[str, Any] = {
        "placement": None,
        "unblock": (),
        "next_steps": (),
        "alternatives": (),
        "requests": requests(pending[0].requirements.requests) if pending else "",
        **_of_subject(subject),
        **more,
    }
    if first is not None and first.prefilter is None and not brief and "funnel" not in more:
        fields["funnel"] = evidence.funnel(simulation, first)
    refusal = first.over_quota if first is not None and cause is not None and cause.code == "quota" else None
    if refusal is not None and not brief:
        fields["quota_holders"] = quotas.holders(quotas.state_of(simulation.view), refusal)
    waiting, waiting_for = coverage.asked_for(pending)
    code = cause.code if cause is not None else None
    computed = Computed(simulation, verdict, code, attempts, not left_out)
    reservations = migrations.reservations_of(snapshot, simulation.view, subject.members)
    moving = migrations.migrations_of(snapshot, subject.members, reservations)
    says = scheduler_says(pending, () if brief else snapshot.events, rows, computed)
    return WhyReport(
        verdict=verdict,
        basis=coverage.basis(snapshot),
        warnings=(
            *migrations.notices(moving, snapshot),
            *unseen_events(snapshot, says),
            *warnings,
            *left_out,
            *coverage.where_placed(snapshot, _planned_nodes(fields)),
        ),
        gang=subject.key,
        gang_group=tuple(subject.gangs),
        pending_pods=tuple(pod.key for pod in pending),
        must_gather=simulation.must_gather or None,
        desired_offer_slot=simulation.desired,
        domains=rows,
        cause=cause,
        also_wrong=also_wrong,
        scheduler_says=says,
        waiting=waiting,
        waiting_for=waiting_for,
        shapes=coverage.shapes(pending),
        priority=max((pod.priority for pod in pending), default=None),
        owners=tuple(sorted({pod.owner for pod in pending} - {""})),
        waiting_since=min((pod.created for pod in pending), default=""),
        migrations=moving,
        reservations=reservations,
        **fields,
    )


def _planned_nodes(fields: Mapping[str, Any]) -> Iterator[str]:
    """Yield the nodes on which members would be placed, in any of the outcomes that the fields of a report tell."""
    for placement in (fields["placement"], *(each.placement for each in fields["alternatives"])):
        yield from (placement or {}).values()


def _of_subject(subject: Subject) -> dict[str, object]:
    """Return the fields of the report that a gang and a lone pod fill each in its own way."""
    if isinstance(subject, GangSubject):
        own = subject.group.own
        return {"bound_pods": subject.group.bound, "min_member": own.minimum or 0, "defined_by": own.defined_by}
    pod = subject.pod
    is_bound = isinstance(pod, RunningPod) or (isinstance(pod, FinishedPod) and pod.was_bound)
    node = pod.node if isinstance(pod, RunningPod) else ""
    return {"bound_pods": int(is_bound), "min_member": 1, "lone_pod": True, "node": node}


_MOST_OUTCOMES = 8


def notices(simulation: Simulation, outcomes: tuple[Outcome, ...], verdict: Verdict) -> Iterator[Notice]:
    """Yield what is not expected of the books, of preemption where it may come, and of jobs beside the subject."""
    yield from obstacles.booking_notices(simulation, outcomes)
    if (
        verdict != "yes"
        and simulation.snapshot.config.preemption
        and not simulation.snapshot.config.plugins.default_preemption
    ):
        most, budget = 1 if obstacles.may_surprise(simulation) else None, Budget(simulation.steps)
        every = every_outcome(simulation, most_rounds=most, budget=budget)
        first = tuple(islice(every, _MOST_OUTCOMES))
        yield from obstacles.victim_notices(simulation, first)
        if most and (next(every, None) is not None or budget.is_cut) and not outcomes[0].followed:
            yield Notice("not-followed", _victims_not_followed(len(first)))
    if verdict != "yes" and simulation.snapshot.config.preemption:
        yield from _policy_never(simulation)
    if verdict != "yes":
        wanted = {resource for pod in simulation.subject.pending for resource, _ in pod.requirements.requests}
        nodes = simulation.snapshot.nodes.items()
        short = [name for name, node in nodes if any(resource in wanted for resource, _ in node.lost)]
        yield from obstacles.lost(simulation.snapshot, short)
    yield from _contended(simulation, outcomes[0].first)


def _victims_not_followed(outcomes: int) -> str:
    return say(
        "looked for victims that come back at once, or die in vain, in the first {outcomes} of more outcomes.",
        outcomes=outcomes,
    )


def of_pods(simulation: Simulation) -> Iterator[Notice]:
    """Yield what is not expected of what the pods ask for, and of where they may be placed."""
    asked = any(SHARED in dict(pod.requirements.requests) for pod in simulation.subject.pending)
    if asked and not any(dict(node.allocatable).get(SHARED) for node in simulation.snapshot.nodes.values()):
        yield Notice("gpu-shared-not-offered", _not_offered(SHARED))
    home = coverage.home_of(simulation.subject, simulation.tree)
    if home is not None and not simulation.has_topology:
        yield from _outside(simulation, home)


def _not_offered(resource: str) -> str:
    """Return that no node offers what Koordinator's webhook makes pods request that ask for parts of GPUs."""
    gate = say("koord-manager publishes it only with feature gate EnableSyncGPUSharedResource")
    return say(
        "no node offers {resource}, which pods request that ask for parts of GPUs: {gate}.",
        resource=resource,
        gate=gate,
    )


def _outside(simulation: Simulation, home: coverage.Home) -> Iterator[Notice]:
    """Yield a pod that is made anew, and may be placed outside the domain in which its gang is."""
    for pod in simulation.subject.pending:
        nodes = {name for name, room in evidence.asked(simulation, pod).counts.items() if room}
        outside = nodes - home.nodes
        if outside:
            certain = outside == nodes
            yield Notice("replacement-leaves-domain", _leaves_domain(pod.key, home.layer, home.name, certain=certain))
            return


def _leaves_domain(pod: str, layer: str, domain: str, *, certain: bool) -> str:
    """Return that a pod made anew is, or may be, placed outside the domain in which the rest of its gang is."""
    noun = layer_noun(layer)
    kind = "" if domain.startswith(noun) else f"{noun} "
    stay = say(
        "its gang must stay together in one {noun} (MustGather {layer}), and is in {kind}{domain}",
        noun=noun,
        layer=layer,
        kind=kind,
        domain=domain,
    )
    if certain:
        return say(
            "{stay}, where no node takes {pod}: it would be placed outside, as a gang that ran is no longer planned.",
            stay=stay,
            pod=pod,
        )
    return say("{stay}: {pod} may be placed outside, as a gang that ran is no longer planned.", stay=stay, pod=pod)


def _policy_never(simulation: Simulation) -> Iterator[Notice]:
    """Yield whom the pods would preempt, and then run, if their preemption policy let them."""
    pods = simulation.subject.pending
    if not any(pod.never_preempts for pod in pods):
        return
    subject = simulation.subject.with_pending(
        lambda kept: tuple(structs.replace(pod, never_preempts=False) for pod in kept)
    )
    lifted = structs.replace(simulation, subject=subject)
    budget = Budget(lifted.steps)
    every = every_outcome(lifted, budget=budget)
    found = tuple(islice(every, _MOST_OUTCOMES))
    if all(one.rounds and one.runs for one in found) and next(every, None) is None and not budget.is_cut:
        killed = sorted(victim.key for victim in found[0].killed)
        yield Notice("policy-never", _would_preempt(killed, template_of(next_steps.owners_of(pods))))


def _would_preempt(pods: Sequence[str], where: str) -> str:
    return say(
        "it could preempt {pods} ({pods2}) and then run, but for its preemptionPolicy Never. Name a "
        "PriorityClass with preemptionPolicy PreemptLowerPriority in {where}, recreate its pods.",
        pods=count(len(pods), "pod"),
        pods2=listed(pods),
        where=where,
    )


def of_jobs_ahead(simulation: Simulation) -> Iterator[Notice]:
    """Yield which jobs go first and take room from the slots shown, and which were not tried."""
    left = contention.left_by_jobs_ahead(simulation)
    if left is not None and simulation.has_topology:
        yield Notice("contended", counted_after(left.names, certain=left.is_known))
    yield from of_unasked_jobs(simulation)


def of_equals(found: Equals) -> Iterator[Notice]:
    """Yield who has the same priority and may as well go first, where what is shown is without it."""
    jobs = [one.key for one in (*found.taking, *found.untried)]
    if jobs:
        yield Notice("contended", _shown_before(jobs))


def _shown_before(jobs: Sequence[str]) -> str:
    """Return that what is shown is as where jobs of the same priority are tried later."""
    has, it = ("has", "it") if len(jobs) == 1 else ("have", "them")
    return say(
        "{jobs} {has} the same priority: what is shown is as where this one is tried before {it}.",
        jobs=few(jobs),
        has=has,
        it=it,
    )


def of_unasked_jobs(simulation: Simulation) -> Iterator[Notice]:
    """Yield who goes first and may preempt, where it was not looked at whom."""
    unasked = contention.jobs_ahead(simulation).unasked
    if unasked:
        yield Notice("contended", _may_preempt_first(unasked, equal=False))


def _may_preempt_first(jobs: Sequence[str], *, equal: bool) -> str:
    """Return that jobs of higher or equal priority may preempt, which was left out as they are many, or nodes are."""
    has, holds = ("has", say("it holds")) if len(jobs) == 1 else ("have", say("they hold"))
    what = say("the same priority") if equal else say("higher priority")
    return say(
        "{jobs} {has} {what} and may preempt: which nodes {holds} then was not looked at.",
        jobs=listed(jobs),
        has=has,
        what=what,
        holds=holds,
    )


def of_unasked_equals(found: Equals) -> Iterator[Notice]:
    """Yield who of equal priority may preempt, where it was not looked at whom."""
    if found.unasked:
        yield Notice("contended", _may_preempt_first([one.key for one in found.unasked], equal=True))


def _contended(simulation: Simulation, first: Attempt) -> Iterator[Notice]:
    """Yield which jobs may take what becomes free for a subject that finds no place, but for those told of already."""
    if first.placement is not None:
        return
    left = contention.left_by_jobs_ahead(simulation) if simulation.has_topology else None
    told = {*contention.jobs_ahead(simulation).unasked, *(left.names if left is not None else ())}
    before = [other.key for other in contention.higher_priority_jobs(simulation) if other.key not in told]
    if before:
        yield Notice("contended", _goes_first(before))


def _goes_first(jobs: Sequence[str]) -> str:
    """Return that jobs of higher priority may take what becomes free."""
    verb = "has" if len(jobs) == 1 else "have"
    return say("{jobs} {verb} higher priority and may take freed resources first.", jobs=listed(jobs), verb=verb)


_Unevaluated: TypeAlias = tuple[Unevaluated, ...]


class Decided(Struct, frozen=True, dict=True):
    """What is decided about a subject, and by what: there are no outcomes where it is not tried.

    `cases` are the outcomes by what comes of the jobs that go first, the likeliest first, and `outcomes` those of all.
    `on_memory` is whether it depends on what the scheduler remembers, `behind` what jobs that go first leave where that
    is too little, `is_unseen` whether there may be such jobs that could not be read. `equals` are those of equal
    priority that may as well go first: who takes something, where that changes what is shown or may, and who may.
    `is_open` is whether not all that the others leave is followed: the nodes of one that is placed are not known then.
    """

    verdict: Verdict
    why: Cause | Unsaid | None
    cases: tuple[Case, ...] = ()
    unevaluated: _Unevaluated = ()
    on_memory: bool = False
    behind: LeftByJobsAhead | None = None
    is_unseen: bool = False
    equals: Equals = NO_EQUALS
    is_open: bool = False

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """What may come of the next attempt."""
        return tuple(outcome for case in self.cases for outcome in case.outcomes)

    @cached_property
    def cause(self) -> Cause | None:
        """The one root cause, if any."""
        return said(self.why) if self.why is not None else None


def verdict_of(simulation: Simulation) -> Decided:
    """Return what `why` answers about a subject that has pending pods, and not more."""
    subject, snapshot = simulation.subject, simulation.snapshot
    blockers = before_trying(subject, snapshot, simulation.tree)
    if blockers:
        return Decided(*blocked(blockers[0]))
    unread = coverage.unread_for(subject, snapshot)
    return Decided("unknown", not_readable(unread)) if unread else decided(simulation)


def blocked(blocker: Blocker) -> tuple[Verdict, Cause]:
    """Return the answer about a subject that is not tried."""
    return "unknown" if is_open(blocker) else "no", obstacles.cause(blocker)


def not_readable(gaps: tuple[Gap, ...]) -> Cause:
    """Return the cause of an answer that is open as something could not be read."""
    return Cause("not-readable", could_not_be_read(gaps))


def decided(simulation: Simulation, beside: Collection[str] = ()) -> Decided:
    """Return what is decided about a subject that is tried: the engine's answer decides.

    The pods `beside` it do not go before it.
    """
    outcomes = next_attempt(simulation)
    alone = (Case(simulation, outcomes),)
    subject = simulation.subject
    if (
        outcomes[0].placed_at_once
        and isinstance(subject, GangSubject)
        and depends_on_memory(subject.group, simulation.snapshot)
    ):
        forgotten = about_pods(next_steps.late_code(subject.group), on_memory(subject.group), subject.pending)
        return Decided("unknown", forgotten, alone, on_memory=True)
    unevaluated = coverage.not_evaluated(subject, simulation.snapshot)
    left = contention.left_by_jobs_ahead(simulation)
    verdict = _verdict(outcomes, unevaluated)
    if verdict == "yes" and left is not None and not left.leaves_room:
        message = place_taken(left.names, certain=left.certain)
        taken = about_pods(
            "insufficient-slots" if simulation.has_topology else "insufficient-capacity", message, subject.pending
        )
        return Decided("no" if left.certain else "unknown", taken, left.cases, unevaluated, behind=left)
    equals = contention.equals(simulation, beside) if verdict == "yes" else NO_EQUALS
    if equals.taking or equals.untried:
        left = contention.left_by_others(simulation, equals)
        if not left.leaves_room:
            taken_first = Cause("contended", same_place(left.in_the_way))
            return Decided("unknown", taken_first, left.cases, unevaluated, equals=equals)
    cases = left.cases if left is not None else alone
    if left is not None and left.is_known:
        outcomes = tuple(outcome for case in cases for outcome in case.outcomes)
        verdict = _verdict(outcomes, unevaluated)
    if verdict == "yes":
        return _placed(simulation, left, cases, unevaluated, equals)
    waits = _waiting_for_victims(simulation) if verdict == "no" else None
    return Decided(verdict, waits or _cause(cases, unevaluated, verdict), cases, unevaluated)


def _placed(
    simulation: Simulation,
    left: LeftByJobsAhead | None,
    cases: tuple[Case, ...],
    unevaluated: _Unevaluated,
    equals: Equals,
) -> Decided:
    """Return what is decided about a subject that is placed, whichever of the jobs that were read go first."""
    unread = contention.unread_higher_priority_jobs(simulation)
    if unread:
        unseen = Cause("not-readable", place_may_be_taken(unread))
        return Decided("unknown", unseen, cases, unevaluated, is_unseen=True)
    of_scheduler = coverage.of_scheduler(simulation.snapshot)
    if of_scheduler:
        return Decided("unknown", Cause("not-readable", depends_on(of_scheduler)), cases, unevaluated)
    is_order_told = left is not None and bool(left.equals) and (not left.is_known or len(alternatives_of(cases)) > 1)
    told = equals if is_order_told else structs.replace(equals, taking=(), untried=())
    is_open = left is not None and not left.is_known
    return Decided("yes", next_steps.waits(simulation), cases, unevaluated, equals=told, is_open=is_open)


def depends_on_memory(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether the answer depends on whether the scheduler remembers that the gang ran, which is in no object."""
    return any(spec is not None for spec in group.specs) and next_steps.may_be_forgotten(group, snapshot)


def on_memory(group: GangGroup) -> str:
    """Return that the answer depends on what the scheduler remembers of a group."""
    pending = len(group.pending)
    return _depends_on_memory(next_steps.late_code(group), pending, pending + group.bound)


_LATE: Mapping[LateCode, tuple[str, str]] = {
    "replacement-waits": (say("was recreated"), say("were recreated")),
    "surplus-pods": (say("came after the gang ran"), say("came after the gang ran")),
    "satisfied-by-earlier-pods": (say("is new, and the gang ran before"), say("are new, and the gang ran before")),
}


def _depends_on_memory(code: LateCode, pods: int, of: int) -> str:
    """Return that members which came late start as long as the scheduler remembers that the gang ran."""
    were = _LATE[code][pods != 1]
    start = say("it starts") if pods == 1 else say("they start")
    return say(
        "{pods} of its {pods2} {were}: {start}, unless koord-scheduler was restarted since.",
        pods=pods,
        pods2=count(of, "pod"),
        were=were,
        start=start,
    )


def _verdict(outcomes: tuple[Outcome, ...], unevaluated: _Unevaluated) -> Verdict:
    placed = {outcome.placed_at_once for outcome in outcomes}
    if len(placed) == 1 and outcomes[0].followed:
        return "unknown"
    if placed == {False}:
        by_quota = all(outcome.first.over_quota is not None for outcome in outcomes)
        races = any(outcome.races for outcome in outcomes)
        return "unknown" if races or any(_may_admit(item, by_quota=by_quota) for item in unevaluated) else "no"
    refusing = any(item.may_refuse for item in unevaluated)
    return "yes" if placed == {True} and not refusing else "unknown"


def _may_admit(item: Unevaluated, *, by_quota: bool) -> bool:
    """Tell whether something may open what is closed: what nodes are found to offer opens no quota."""
    asks_else = isinstance(item, OpenCards | OpenGate | OpenPlugin | OpenProfile | OpenSetting | OtherProfile)
    return item.may_admit and (not by_quota or asks_else)


def _cause(cases: Sequence[Case], unevaluated: _Unevaluated, verdict: Verdict) -> Cause | Unsaid:
    simulation, outcomes = cases[0].simulation, tuple(outcome for case in cases for outcome in case.outcomes)
    if verdict == "unknown" and unevaluated:
        says = (
            obstacles.refuses(simulation, unevaluated) if all(outcome.placed_at_once for outcome in outcomes) else None
        )
        return says or Cause("not-evaluated", depends_on(unevaluated))
    if outcomes[0].followed and len({outcome.placed_at_once for outcome in outcomes}) == 1:
        return Cause("not-followed", not_followed(outcomes[0].followed))
    racing = next((outcome for outcome in outcomes if outcome.races), None)
    if racing is not None and not any(outcome.placed_at_once for outcome in outcomes):
        return why_not(simulation, racing.first)
    if verdict == "unknown" and any(outcome.first.fails_at_reserve for outcome in outcomes):
        failing = {name: reason for outcome in outcomes for name, reason in outcome.first.unbookable.items()}
        return Cause("several-outcomes", _depends_on_node(failing))
    if verdict == "unknown":
        return Cause("several-outcomes", _what_decides(cases))
    return why_not(simulation, outcomes[0].first)


def _depends_on_node(unbookable: Mapping[str, Reason]) -> str:
    """Return that the answer depends on the node that scores best, naming those that cannot be reserved."""
    names = sorted(unbookable)
    verb = "passes" if len(names) == 1 else "pass"
    return say(
        "it depends on which node scores best: {names} {verb} all filters, and it cannot be bound "
        "there ({obstacle}); no other node is tried, and no pod is preempted.",
        names=listed(names),
        verb=verb,
        obstacle=obstacle(unbookable[names[0]]),
    )


def _what_decides(cases: Sequence[Case]) -> str:
    """Return on what it depends which of the outcomes comes."""
    if len(cases) > 1 and all(len({outcome.placed_at_once for outcome in case.outcomes}) == 1 for case in cases):
        return _depends_on_others([key for key, _ in cases[0].went])
    is_landing_open = len({outcome.landing for case in cases for outcome in case.outcomes}) > 1
    return (
        say("it depends on where the scheduler places pending reservations; no object shows this.")
        if is_landing_open
        else say("it depends on which pod the scheduler tries first; no object shows this.")
    )


def _depends_on_others(jobs: Sequence[str]) -> str:
    return say(
        "it depends on where {jobs} {go} first; no object shows this.",
        jobs=listed(jobs),
        go="goes" if len(jobs) == 1 else "go",
    )


def _waiting_for_victims(simulation: Simulation) -> Cause | None:
    """Return a cause when victims of an earlier attempt still terminate."""
    leaving = obstacles.awaited(simulation)
    if not leaving:
        return None
    names = sorted(victim.key for victim in leaving)
    message = _waits_for_victims(names, overdue_clause(leaving, simulation.snapshot.moment))
    return Cause("waiting-for-preemption", message, tuple(names))


def _waits_for_victims(pods: Sequence[str], overdue: str) -> str:
    """Return which preempted pods must terminate first, and which of them are late, if any."""
    late = say("; {overdue}", overdue=overdue) if overdue else ""
    return say(
        "it waits for {pods} to terminate: {pods2}{late}.",
        pods=count(len(pods), "preempted pod"),
        pods2=listed(pods),
        late=late,
    )


def why(
    snapshot: Snapshot,
    subject: Subject,
    *,
    brief: bool = False,
    sharing: Scenario | None = None,
    beside: Collection[str] = (),
    edits: Sequence[Edit] = (),
) -> WhyReport:
    """Return why the subject is pending, or would be once something else was changed.

    Args:
        snapshot: the cluster.
        subject: the gang or pod.
        brief: whether to leave out ways out and obstacles, as listings of many gangs do.
        sharing: the cluster of the snapshot where there is one already, to share what was computed for it.
        beside: pods of which the jobs do not go before the subject, as they are asked about together with it.
        edits: what is changed before.
    """
    simulation = (sharing or cluster_of(snapshot)).simulation(subject)
    if edits:
        simulation = changed(simulation, edits)
        snapshot, subject = simulation.snapshot, simulation.subject
    blockers = before_trying(subject, snapshot, simulation.tree)
    blind = coverage.unread_for(subject, snapshot)
    missing = coverage.absent(snapshot, coverage.kinds_needed(subject, snapshot))
    warnings = (*coverage.general(snapshot), *missing, *obstacles.warnings(subject, snapshot, simulation.tree))
    if not brief:
        warnings = (*warnings, *of_pods(simulation))
    if not subject.pending:
        unread = coverage.unread_members(subject, snapshot)
        return report_of(
            simulation,
            warnings,
            verdict="unknown" if unread else "yes",
            cause=not_readable(unread) if unread else None,
        )
    if blockers:
        refused = _quota(simulation, coverage.not_evaluated(subject, snapshot))
        verdict, cause = blocked(blockers[0])
        cause = coverage.told(subject, snapshot, cause)
        besides: dict[str, Cause] = {}
        for other in (*(obstacles.cause(other) for other in blockers[1:] if other.code != cause.code), *refused):
            besides.setdefault(other.code, other)
        also = tuple(besides.values())
        proven, steps = ways_out.divided(simulation, next_steps.for_cause(simulation, cause) if not brief else ())
        return report_of(
            simulation,
            warnings,
            verdict=verdict,
            cause=cause,
            also_wrong=tuple(other.code for other in also),
            also=also,
            unblock=proven,
            next_steps=steps,
            no_way_out="" if proven or brief else say("fix the cause first; whether that is enough is unknown."),
            brief=brief,
        )
    if blind:
        without_slots = (
            Notice(
                "slots-not-shown",
                say("slots cannot be counted: {could_not_be_read}", could_not_be_read=could_not_be_read(blind)),
            ),
        )
        seen = (*warnings, *(without_slots if simulation.has_topology else ()))
        return report_of(simulation, seen, verdict="unknown", cause=not_readable(blind), brief=brief)
    return _tried(simulation, warnings, decided(simulation, beside), brief=brief)


def with_nodes(report: WhyReport, snapshot: Snapshot, subject: Subject) -> WhyReport:
    """Return the report with why each node takes no more pods of the subject than it does."""
    if not subject.pending or coverage.unread_for(subject, snapshot):
        return report
    simulation = simulate(snapshot, subject)
    likeliest = next(iter(next_attempt(simulation)), None)
    return structs.replace(report, nodes=evidence.by_node(simulation, likeliest.first)) if likeliest else report


def _tried(simulation: Simulation, warnings: tuple[Notice, ...], found: Decided, *, brief: bool) -> WhyReport:
    """Return the report of a subject that the scheduler tries: the engine's answer decides."""
    outcomes, verdict, cause = found.outcomes, found.verdict, found.cause
    subject, seen = simulation.subject, found.cases[0].simulation
    if found.on_memory and isinstance(subject, GangSubject):
        return _replacement(simulation, subject.group, found, warnings)
    if found.behind is not None:
        return _behind_jobs_ahead(simulation, found.behind, found, warnings, brief=brief)
    attempts = tuple(outcome.first for outcome in outcomes)
    if found.is_unseen:
        return report_of(seen, warnings, verdict=verdict, cause=cause, attempts=attempts, brief=brief)
    likeliest = outcomes[0]
    others = alternatives_of(found.cases) if not found.is_open else ()
    is_one = not found.is_open and len({frozenset((each.placement or {}).items()) for each in others}) <= 1
    placed = likeliest.first.placement if likeliest.first.plan is not None and verdict == "yes" and is_one else None
    is_stuck = verdict == "no" or isinstance(cause, PlanFailure)
    is_of_quota = verdict != "no" or (cause is not None and cause.code == "quota")
    of_quota = () if is_of_quota else _quota(simulation, found.unevaluated)
    also = (*next_steps.wanted(simulation), *of_quota) if verdict == "no" else ()
    has_steps = is_stuck or (cause is not None and cause.code == "contended")
    steps = next_steps.for_cause(simulation, cause) if cause is not None and has_steps and not brief else ()
    ways = _ways_out(simulation, likeliest, cause) if is_stuck and not brief and not steps else ways_out.Found(())
    if is_stuck and not brief and not steps:
        steps = next_steps.plan_moves(simulation, cause, likeliest.first.refused)
        is_open = steps and may_help(Search(simulation, likeliest, SearchBudget(simulation)))
        steps = steps if is_open else ()
        steps = steps if ways.ways else (*next_steps.correct_selector(simulation, likeliest.first), *steps)
    if verdict == "yes" and cause is not None and not brief:
        ways = ways_out.Found(next_steps.steps(simulation))
    return report_of(
        seen,
        (
            *warnings,
            *coverage.of_search(outcomes),
            *obstacles.reservation_notices(seen, outcomes),
            *next_steps.surplus_notices(simulation, verdict),
            *next_steps.retry_notices(simulation, verdict),
            *(of_jobs_ahead(simulation) if not brief else ()),
            *(of_equals(found.equals) if not (others or brief) else ()),
            *(of_unasked_equals(found.equals) if not brief else ()),
            *(notices(seen, outcomes, verdict) if not brief else ()),
        ),
        verdict=verdict,
        cause=cause,
        attempts=attempts,
        brief=brief,
        placement=placed,
        alternatives=others,
        also_wrong=tuple(_also_wrong(subject, also)) if verdict == "no" else (),
        also=also,
        unblock=ways.ways,
        next_steps=steps,
        no_way_out=ways.why_none,
        ways_not_tried=ways.not_tried,
    )


def _ways_out(simulation: Simulation, failed: Outcome, cause: Cause | None) -> ways_out.Found:
    subject = simulation.subject
    if isinstance(subject, GangSubject) and depends_on_memory(subject.group, simulation.snapshot):
        return ways_out.Found(
            (), say("the result of any change depends on what the scheduler remembers about the gang.")
        )
    code = cause.code if cause is not None else None
    waits = code == "waiting-for-preemption"
    return ways_out.proven(simulation, failed, never_fits=code == "never-fits", waits=waits)


def _also_wrong(subject: Subject, also: Iterable[Cause]) -> Iterator[CauseCode]:
    """Yield what a no has besides its root cause, of which some stands among the warnings."""
    if isinstance(subject, GangSubject) and is_satisfied_by_earlier_pods(subject.group):
        yield "satisfied-by-earlier-pods"
    yield from (one.code for one in also)


def _quota(simulation: Simulation, unevaluated: Iterable[Unevaluated]) -> Iterator[Cause]:
    """Yield which quota refuses the pods, too, or did as the scheduler last reported."""
    refusal = obstacles.exceeded(simulation)
    refused = obstacles.cause(refusal) if refusal is not None else obstacles.refuses(simulation, unevaluated)
    if refused is not None:
        yield refused


_TOUCH_TO_COUNT = say(
    "Still pending after a minute? Touch the PodGroup, so that the scheduler counts the bound pods again"
)


def _replacement(simulation: Simulation, group: GangGroup, found: Decided, warnings: tuple[Notice, ...]) -> WhyReport:
    code, pods = next_steps.late_code(group), simulation.subject.pending
    waits = about_pods(code, _forgotten(group.minimum), pods)
    return report_of(
        simulation,
        warnings,
        verdict=found.verdict,
        cause=found.cause,
        attempts=(found.outcomes[0].first,),
        alternatives=(
            WhyAlternative(SCHEDULER_REMEMBERS, "yes"),
            WhyAlternative(SCHEDULER_FORGOT, "no", cause=waits),
        ),
        next_steps=(next_steps.touch(simulation, _TOUCH_TO_COUNT),),
    )


def _forgotten(minimum: int) -> str:
    return say(
        "it waits for {pods}, which never {come}.",
        pods=count(minimum, "new pod"),
        come="comes" if minimum == 1 else "come",
    )


def _behind_jobs_ahead(
    simulation: Simulation, left: LeftByJobsAhead, found: Decided, warnings: tuple[Notice, ...], *, brief: bool
) -> WhyReport:
    """Return the report when jobs of higher priority go first and leave no room."""
    ways = _ways_out(simulation, left.outcome, found.cause) if left.certain and not brief else ways_out.Found(())
    return report_of(
        simulation if brief else left.seen[0],
        warnings,
        verdict=found.verdict,
        cause=found.cause,
        attempts=(left.outcome.first,) if not brief or _shows_attempts(simulation, left) else (),
        brief=brief,
        alternatives=alternatives_of(found.cases) if left.is_known else (),
        unblock=ways.ways,
        no_way_out=ways.why_none,
        ways_not_tried=ways.not_tried,
    )


def _shows_attempts(simulation: Simulation, left: LeftByJobsAhead) -> bool:
    """Tell whether a brief report says anything of attempts: slots, or whether what the scheduler said still holds.

    Of an attempt without a plan that places the subject it says nothing.
    """
    if simulation.has_topology or all(pod.condition is None for pod in simulation.subject.pending):
        return simulation.has_topology
    return not left.surely_places(next_attempt(simulation)[0].first)
