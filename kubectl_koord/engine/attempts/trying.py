"""One attempt of the scheduler at a gang: where its pods would go, or on which nodes they failed.

A gang with a topology spec is planned as a whole; any other is tried pod by pod.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from kubectl_koord.engine.attempts.attempt import (
    Attempt,
    FailedSeat,
    Job,
    JobTopology,
    Kind,
    are_alike,
    is_enough,
    kind_of,
)
from kubectl_koord.engine.attempts.one_by_one import Choice, emptiest, pod_by_pod
from kubectl_koord.engine.fit import Prepared, placed
from kubectl_koord.engine.placement import gather
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod

if TYPE_CHECKING:
    from kubectl_koord.engine.node_state import NodeState

_Seats: TypeAlias = Mapping[str, tuple[PendingPod, ...]]
"""Members by the node that they wait on, with what is booked for them."""


def attempt(job: Job, view: View, trigger: PendingPod, choose: Choice | None = None) -> Attempt:
    """Return what comes of an attempt with this trigger.

    Args:
        job: what is tried.
        view: the cluster.
        trigger: the member that is taken first.
        choose: which feasible node a plain member takes; by default the emptiest.

    """
    prepared = job.prepared_to_plan(trigger, view)
    refusal = job.prefilter or prepared.refusal
    if refusal is not None:
        return Attempt(trigger, prepared, None, None, {}, left=job.pods, prefilter=refusal)
    if job.topology is not None:
        return _planned(job, job.topology, view, prepared)
    return pod_by_pod(job, view, prepared, choose or emptiest)


def carried_out(job: Job, view: View, done: Attempt) -> _Seats:
    """Return the members that an attempt has placed, by node, with what is booked for them one after another.

    Nothing is where one of them is refused now, as in another variant of the cluster than that of the attempt.
    """
    placement = done.placement or {}
    by_key = {pod.key: pod for pod in job.pods}
    in_turn = [by_key[key] for key in placement]
    if done.plan is not None:
        in_turn.sort(key=lambda pod: (pod.key != done.trigger.key, pod.key))
    seated = _seated(job, view, done.prepared, placement, in_turn)
    return _as_placed(in_turn, placement) if isinstance(seated, FailedSeat) else seated


def _as_placed(pods: Iterable[PendingPod], placement: Mapping[str, str]) -> _Seats:
    seats: dict[str, tuple[PendingPod, ...]] = {}
    for pod in pods:
        seats[placement[pod.key]] = (*seats.get(placement[pod.key], ()), pod)
    return seats


def _planned(job: Job, topology: JobTopology, view: View, prepared: Prepared) -> Attempt:
    trigger = prepared.trigger
    slots = offer_slots(view, view.names(), in_index_order(job.pods), prepared)
    plan = gather(topology.tree, view, job.pods, topology.requirements, slots, job.rules)
    if plan.assignments is None:
        return Attempt(trigger, prepared, plan, None, slots, left=job.pods)
    in_turn = sorted(job.tried, key=lambda pod: (pod.key != trigger.key, pod.key))
    stopped = job.over_quota(view, in_turn)
    seated = _seated(job, view, prepared, plan.assignments, in_turn[: stopped[0]] if stopped else in_turn)
    if isinstance(seated, FailedSeat):
        return Attempt(trigger, prepared, plan, None, slots, left=job.pods, failed_seat=seated)
    if stopped is not None:
        failing, refusal = in_turn[stopped[0]], stopped[1]
        seat = FailedSeat(failing.key, plan.assignments[failing.key], refusal)
        return _stopped(job, view, Attempt(failing, prepared, plan, None, slots, seated, failed_seat=seat))
    tried = {pod.key: plan.assignments[pod.key] for pod in job.tried}
    return Attempt(trigger, prepared, plan, tried if is_enough(job, tried) else None, slots, left=job.pods)


def _stopped(job: Job, view: View, planned: Attempt) -> Attempt:
    """Return the attempt in which a quota refuses its trigger, while the members before it wait on their nodes."""
    seated = {pod.key for pods in planned.waiting.values() for pod in pods}
    return structs.replace(
        planned,
        prepared=job.prepared(planned.trigger, view.with_pods(planned.waiting)),
        left=tuple(pod for pod in job.pods if pod.key not in seated),
    )


def _seated(
    job: Job, view: View, prepared: Prepared, assignments: Mapping[str, str], in_turn: Sequence[PendingPod]
) -> _Seats | FailedSeat:
    """Return these members on their planned nodes, or the first that its own filters refuse there.

    The plan was made with the trigger's prepared state, and nothing was booked for those who were counted;
    now each pod is tried with its own, and all is booked for those before it.
    """
    trigger = prepared.trigger
    if are_alike(job, trigger, job.pods) and not prepared.books and not prepared.follows_members:
        return _as_placed(in_turn, assignments)
    own = {kind_of(job, pod): pod for pod in in_turn}
    by_kind = {kind: job.prepared(pod, view) for kind, pod in own.items()}
    if not any(one.follows_members for one in by_kind.values()):
        return _one_after_another(job, view, in_turn, assignments, by_kind)
    seats: dict[str, tuple[PendingPod, ...]] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        now = view.with_pods(seats)
        of_pod = job.prepared(pod, now)
        found = placed(pod, now.state(node), of_pod)
        if not isinstance(found, PendingPod):
            return FailedSeat(pod.key, node, found, bool(of_pod.reservations))
        seats[node] = (*seats.get(node, ()), found)
    return seats


def _one_after_another(
    job: Job,
    view: View,
    in_turn: Iterable[PendingPod],
    assignments: Mapping[str, str],
    by_kind: Mapping[Kind, Prepared],
) -> _Seats | FailedSeat:
    """Return the same for members of which none changes what was prepared for the others."""
    seats: dict[str, tuple[PendingPod, ...]] = {}
    states: dict[str, NodeState] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        state = states.setdefault(node, view.state(node).copy())
        of_pod = by_kind[kind_of(job, pod)]
        found = placed(pod, state, of_pod)
        if not isinstance(found, PendingPod):
            return FailedSeat(pod.key, node, found, bool(of_pod.reservations))
        state.add(found)
        seats[node] = (*seats.get(node, ()), found)
    return seats
