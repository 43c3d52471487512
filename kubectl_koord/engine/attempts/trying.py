"""One attempt of the scheduler at a gang: where its pods would go, or on which nodes they failed.

A gang with a topology spec is planned as a whole; any other is tried pod by pod.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from msgspec import structs

from kubectl_koord.engine.attempts.attempt import (
    Attempt,
    FailedSeat,
    Job,
    JobTopology,
    are_alike,
    is_enough,
    kinds_of,
)
from kubectl_koord.engine.attempts.choosing import USUAL, MemberOrder
from kubectl_koord.engine.attempts.filling import Filling, fillings
from kubectl_koord.engine.attempts.one_by_one import pod_by_pod
from kubectl_koord.engine.fit import Prepared, placed
from kubectl_koord.engine.placement import gather
from kubectl_koord.engine.quota.state import counted_as, runs
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod

if TYPE_CHECKING:
    from kubectl_koord.engine.node_state import NodeState

_Seats: TypeAlias = Mapping[str, tuple[PendingPod, ...]]
"""Members by the node that they wait on, with what is booked for them."""


def attempt(job: Job, view: View, trigger: PendingPod, member_order: MemberOrder = USUAL) -> Attempt:
    """Return what comes of an attempt with this trigger.

    Args:
        job: what is tried.
        view: the cluster.
        trigger: the member that is taken first.
        member_order: how members come that are not planned for, and which feasible nodes they take.

    """
    prepared = job.prepared_to_plan(trigger, view)
    refusal = job.prefilter or prepared.refusal
    if refusal is not None:
        return Attempt(trigger, prepared, None, None, {}, left=job.pods, prefilter=refusal)
    if job.topology is not None:
        return _planned(job, job.topology, view, prepared, member_order)
    return pod_by_pod(job, view, prepared, member_order)


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


def _planned(job: Job, topology: JobTopology, view: View, prepared: Prepared, member_order: MemberOrder) -> Attempt:
    trigger = prepared.trigger
    slots = offer_slots(view, view.names(), in_index_order(job.pods), prepared)
    plan = gather(topology.tree, view, job.pods, topology.requirements, slots, job.rules)
    if plan.assignments is None:
        return Attempt(trigger, prepared, plan, None, slots, left=job.pods)
    in_turn = _in_turn(job, view, trigger, member_order)
    stopped = job.over_quota(view, in_turn)
    if job.rules.places_plans_whole and stopped is not None:
        refused, why = in_turn[stopped[0]], stopped[1]
        seat = FailedSeat(refused.key, plan.assignments[refused.key], why)
        return Attempt(trigger, prepared, plan, None, slots, left=job.pods, failed_seat=seat)
    admitted = in_turn[: stopped[0]] if stopped else in_turn
    seated = _seated(job, view, prepared, plan.assignments, admitted)
    if isinstance(seated, FailedSeat):
        found = (
            _failing(job, view, prepared, plan.assignments, admitted, member_order) if job.may_do_without else seated
        )
        if isinstance(found, FailedSeat):
            failed = Attempt(trigger, prepared, plan, None, slots, left=job.pods, failed_seat=found)
            races = job.rules.races_over_plans and (failed.plan_fails or _may_be_bound(job, view, found))
            return structs.replace(failed, races=races)
        enough = {pod.key: plan.assignments[pod.key] for pod in job.tried}
        return Attempt(trigger, prepared, plan, enough, slots, left=job.pods, late=found)
    if stopped is not None and not is_enough(job, (pod.key for pod in admitted)):
        failing, refusal = in_turn[stopped[0]], stopped[1]
        seat = FailedSeat(failing.key, plan.assignments[failing.key], refusal)
        return _stopped(job, view, Attempt(failing, prepared, plan, None, slots, seated, failed_seat=seat))
    tried = {pod.key: plan.assignments[pod.key] for pod in job.tried}
    late = tuple(pod.key for pod in in_turn[len(admitted) :])
    return Attempt(trigger, prepared, plan, tried if is_enough(job, tried) else None, slots, left=job.pods, late=late)


def _may_be_bound(job: Job, view: View, failed: FailedSeat) -> bool:
    """Tell whether enough members have a node each, be it only as long as no other member is placed."""
    if isinstance(failed.reason, PreFilterRefusal):
        return False
    kinds = kinds_of(job, view, job.tried)
    prepared = {kind: job.prepared(pod, view) for kind, pod in {kinds[pod.key]: pod for pod in job.tried}.items()}
    fitting = {kind for kind, one in prepared.items() if _has_node(view, one)}
    return is_enough(job, (pod.key for pod in job.tried if kinds[pod.key] in fitting))


def _has_node(view: View, prepared: Prepared) -> bool:
    return prepared.refusal is None and bool(offer_slots(view, view.names(), (prepared.trigger,), prepared).counts)


def _in_turn(job: Job, view: View, trigger: PendingPod, member_order: MemberOrder) -> Sequence[PendingPod]:
    """Return the members in the order in which they are tried: the trigger first, the others as they come from a map.

    The round ends with the member that makes them enough. Where they are not alike for quotas, it is an order in which
    one refuses a member before that; with those that fail as the last, an order in which none does.
    """
    others = sorted((pod for pod in job.tried if pod.key != trigger.key), key=lambda pod: pod.key)
    usual = [trigger, *others]
    if not job.has_surplus or len(list(runs(usual))) == 1 or job.over_quota(view, usual) is None:
        return usual
    last = member_order.failing_last
    for some in _orders(job, view, usual, failing_last=last):
        stopped = job.over_quota(view, some)
        if (stopped is None or is_enough(job, (pod.key for pod in some[: stopped[0]]))) == last:
            return some
    return usual


def _orders(job: Job, view: View, usual: Sequence[PendingPod], *, failing_last: bool) -> Iterator[Sequence[PendingPod]]:
    """Yield orders in which quotas refuse a member as early as they can, or as late."""
    passing, refused = list(usual), []
    while (stopped := job.over_quota(view, passing)) is not None:
        before, others = passing[: stopped[0]], passing[stopped[0] :]
        kind = counted_as(others[0])  # what is used only grows: all of them are refused
        passing = before + [pod for pod in others if counted_as(pod) != kind]
        refused += [pod for pod in others if counted_as(pod) == kind]
    trigger, others = usual[0], list(usual[1:])
    yield [*passing, *refused] if failing_last else [trigger, *refused, *passing[1:]]
    sizes = {pod.key: dict(pod.requirements.requests) for pod in others}
    for resource in sorted({resource for size in sizes.values() for resource in size}):
        by_size = sorted(others, key=lambda pod: sizes[pod.key].get(resource, 0), reverse=not failing_last)
        yield [trigger, *by_size]


def _failing(
    job: Job,
    view: View,
    prepared: Prepared,
    assignments: Mapping[str, str],
    in_turn: Sequence[PendingPod],
    member_order: MemberOrder,
) -> FailedSeat | tuple[str, ...]:
    """Return the seat that fails before enough members have theirs; or whose seats do, after that ends the round.

    The trigger comes first, the others as they come from a map.
    """
    failing = {one.pod: one for one in _tried(job, view, in_turn, assignments) if isinstance(one, FailedSeat)}
    first = next(iter(failing.values()))
    early = [pod for pod in in_turn if pod.key not in failing]
    if first.pod == in_turn[0].key or not is_enough(job, (pod.key for pod in early)):
        return first
    every = (*(pod for pod in in_turn if pod.key in failing), *early)
    for node in dict.fromkeys(one.node for one in failing.values()) if not member_order.failing_last else ():
        order = sorted(every, key=lambda pod: (pod is not in_turn[0], assignments[pod.key] != node))
        found = _seated(job, view, prepared, assignments, _enough(job, order))
        if isinstance(found, FailedSeat):
            return found
    return tuple(failing)


def _enough(job: Job, in_turn: Sequence[PendingPod]) -> Sequence[PendingPod]:
    """Return the first of these members that are enough."""
    keys = [pod.key for pod in in_turn]
    return in_turn[: next(count for count in range(len(keys) + 1) if is_enough(job, keys[:count]))]


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
    seats: dict[str, tuple[PendingPod, ...]] = {}
    for found in _tried(job, view, in_turn, assignments):
        if isinstance(found, FailedSeat):
            return found
        node = assignments[found.key]
        seats[node] = (*seats.get(node, ()), found)
    return seats


def _tried(
    job: Job, view: View, in_turn: Sequence[PendingPod], assignments: Mapping[str, str]
) -> Iterator[PendingPod | FailedSeat]:
    """Yield each of these members as it is placed on its planned node beside those before it, or why it is not.

    What is prepared for a member changes with those before it, or is the same for all of its kind.
    """
    kinds = kinds_of(job, view, in_turn)
    own = {kinds[pod.key]: pod for pod in reversed(in_turn)}
    by_kind = {kind: job.prepared(pod, view) for kind, pod in own.items()}
    follows_members = any(one.follows_members for one in by_kind.values())
    if len(by_kind) == 1 and not follows_members:
        (only,) = by_kind.values()
        filled = _filled(view, only, {assignments[pod.key] for pod in in_turn})
        if filled:
            yield from _one_kind(in_turn, assignments, filled, only)
            return
    seats: dict[str, tuple[PendingPod, ...]] = {}
    states: dict[str, NodeState] = {}
    for pod in in_turn:
        node = assignments[pod.key]
        if follows_members:
            now = view.with_pods(seats)
            state, of_pod = now.state(node), job.prepared(pod, now)
        else:
            state, of_pod = states.setdefault(node, view.state(node).copy()), by_kind[kinds[pod.key]]
        found = placed(pod, state, of_pod)
        if not isinstance(found, PendingPod):
            yield FailedSeat(pod.key, node, found, bool(of_pod.reservations))
            continue
        if follows_members:
            seats[node] = (*seats.get(node, ()), found)
        else:
            state.add(found)
        yield found


def _filled(view: View, prepared: Prepared, names: Collection[str]) -> Mapping[str, Filling]:
    """Return these nodes as they are filled with pods like the trigger; none where that is not so for one of them."""
    fill = fillings(view, prepared)
    found = {name: filled for name in names if prepared.refusal is None and (filled := fill(name)) is not None}
    return found if len(found) == len(names) else {}


def _one_kind(
    in_turn: Iterable[PendingPod], assignments: Mapping[str, str], filled: Mapping[str, Filling], prepared: Prepared
) -> Iterator[PendingPod | FailedSeat]:
    """Yield the same for members that are alike, of nodes as they are filled."""
    taken: Counter[str] = Counter()
    for pod in in_turn:
        node = assignments[pod.key]
        found = filled[node].seat(pod, taken[node])
        if isinstance(found, PendingPod):
            taken[node] += 1
            yield found
        else:
            yield FailedSeat(pod.key, node, found, bool(prepared.reservations))
