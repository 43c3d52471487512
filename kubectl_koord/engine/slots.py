"""Offer slots: how many of a gang's pods each node takes, one after the other."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.engine.columns import NodeSet, first_of, has, members, singles, union
from kubectl_koord.engine.fit import Prepared, rejection, rejection_as_is, reserve, room_for, room_rejection
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.fit.resources import short_of
from kubectl_koord.engine.levels import Levels, room_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.offer import Counts, NodeSlots, Offer
from kubectl_koord.engine.passing import counted_singly, passing, refused
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.engine.refusing import RefusingNodes, refusing, refusing_beside
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import NOTHING
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of
from kubectl_koord.model.values.memo import recently

_Kinds: TypeAlias = tuple[tuple[PodRequirements, int], ...]
"""Pods in index order: how many with equal requirements follow each other."""
_MOST_KINDS = 16
"""Of so many kinds of pods a view keeps the slots."""


def in_index_order(pods: Iterable[PendingPod]) -> tuple[PendingPod, ...]:
    """Return the pods in the order in which slots are counted: by index, then name.

    Mirrors `SortPodsByIndex` in apis/extension/network_topology.go.
    """
    return tuple(sorted(pods, key=lambda pod: (pod.index is None, pod.index or 0, pod.name, pod.namespace)))


def offer_slots(view: View, names: Collection[str], pods: Sequence[PendingPod], prepared: Prepared) -> Offer:
    """Return the offer slots of the named nodes for the pods, which must be in index order.

    Mirrors `calculateNodeOfferSlot` in coscheduling/core/network_topology_solver.go.
    """
    runs = runs_of(pods)
    first_alike = bool(runs) and pods[0].requirements == prepared.trigger.requirements
    if not prepared.counts_only_room and not first_alike:
        return offer_of_each(view, names, pods, prepared)
    if not prepared.counts_only_room:
        every = _beside_others(view, runs, prepared)
        return every.among(names).but(_with_nominated(view, names, runs, prepared))
    alike = len(runs) == 1 and first_alike
    every = _alike(view, len(pods), prepared) if alike else _unequal(view, runs, prepared)
    return every.among(names).but(_with_nominated(view, names, runs, prepared))


def offer_of_each(view: View, names: Collection[str], pods: Sequence[PendingPod], prepared: Prepared) -> Offer:
    """Return the same with each of the nodes asked by itself: of few nodes it costs less, however many there are."""
    runs = runs_of(pods)
    return Offer.of({name: _on_node(view.state(name), runs, prepared) for name in names})


def _with_nominated(
    view: View, names: Collection[str], runs: Sequence[Sequence[PendingPod]], prepared: Prepared
) -> Mapping[str, NodeSlots]:
    nominated = [name for name in prepared.nominated if name in names]
    return {name: _on_node(view.state(name), runs, prepared) for name in nominated}


def _beside_others(view: View, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> Offer:
    """Return the slots of all nodes for pods of which each counts for the next, as if no pod were nominated.

    Nodes that refuse even the first pod, which asks for the same as the trigger, are not asked one by one.
    What the filters leave that look at nobody else what-ifs share, too.
    """
    first, alone = runs[0][0], prepared.alone(prepared.trigger)
    lasting = tuple(check for check in prepared.checks if check.depends_on != "pods")
    others = tuple(check for check in prepared.checks if check.depends_on == "pods")
    room = room_of(view, first.requirements, lasting).levels(sum(map(len, runs)))
    left = passing(view, first, others, room.at_least(1))
    pods = [pod for run in runs for pod in run]

    def on_node(name: str) -> NodeSlots:
        return _one_by_one(view.state(name), pods, alone)

    none = partial(refused, view, first, prepared.checks)
    if len(pods) == 1:

        def asked_once() -> RefusingNodes:
            return RefusingNodes(view, refusing_beside(view, first, prepared.checks))

        return Offer(view.names(), Levels(view, (left,) if left else ()), on_node, none, tuple, asked_once)
    if len(runs) > 1:
        counts = Counts((name, on_node(name).slots) for name in members(view, left))
        return Offer(view.names(), counts, on_node, none)
    parts = _most_beside(view, pods, structs.replace(alone, checks=others), room, left)
    sets = [nodes & union(part for part, most in parts if most >= number) for number, nodes in room.by_number()]

    def partly() -> Iterator[Refused]:
        for part, most in parts:
            short = [(number, nodes & part) for number, nodes in room.exactly() if number < len(pods)]
            scarce = _running_out(view, [held for held in short if held[0] < most], first, lasting)
            both = _running_out(view, [held for held in short if held[0] == most], first, lasting)
            by_others = part & room.at_least(most + 1)
            asked = (*scarce, *both, by_others) if by_others else (*scarce, *both)
            yield from _refusing((on_node(first_of(view, some)), some.bit_count()) for some in asked)

    return Offer(view.names(), Levels(view, filter(None, sets)), on_node, none, partly)


def _most_beside(
    view: View, pods: Sequence[PendingPod], others: Prepared, room: Levels, nodes: NodeSet
) -> Sequence[tuple[NodeSet, int]]:
    """Return how many of these pods, which are alike, nodes take by the filters that look at who is there.

    Of nodes that are alike in that one is asked, about as many as there is room for on the roomiest.
    """
    parts = [nodes] if nodes else []
    for check in others.checks:
        parts = [part for whole in parts for part in check.taking_alike(view, pods, whole) if part]
    found = []
    for part in parts:
        roomy = sum(1 for nodes in room.sets if nodes & part)
        state = view.state(first_of(view, part))
        found.append((part, _one_by_one(state, pods[:roomy], others).slots if roomy > 1 else 1))
    return found


def _running_out(
    view: View, taking: Collection[tuple[int, NodeSet]], pod: PendingPod, checks: Iterable[Check]
) -> Iterator[NodeSet]:
    """Yield nodes in parts by what is short there for one pod more than they take; it is told how many these are."""
    singly = counted_singly(view, checks)
    one_more = ((number + 1, nodes & ~singly) for number, nodes in taking)
    yield from short_of(view, one_more, pod.requirements.requests)
    for _, nodes in taking:
        yield from singles(nodes & singly)


def _refusing(found: Iterable[tuple[NodeSlots, int]]) -> Iterator[Refused]:
    return (Refused(node.rejection, nodes) for node, nodes in found if node.rejection is not None)


def _alike(view: View, most: int, prepared: Prepared) -> Offer:
    """Return the slots of all nodes for so many pods like the trigger, the one object for all jobs of that kind."""
    return _offer_alike(view, most, prepared.trigger.requirements, prepared.checks)


@recently(_MOST_KINDS)
def _offer_alike(view: View, most: int, requirements: PodRequirements, checks: tuple[Check, ...]) -> Offer:
    pod = any_pod_of(requirements)
    taking = room_of(view, requirements, checks).levels(most)
    all_in = NodeSlots(most, None)

    def on_node(name: str) -> NodeSlots:
        is_all_in = has(view, taking.at_least(most), name)
        return all_in if is_all_in else _without_limit(view.state(name), Prepared(pod, checks))

    def running_out_in_parts() -> Iterator[NodeSet]:
        return _running_out(view, [held for held in taking.exactly() if held[0] < most], pod, checks)

    def partly() -> Iterator[Refused]:
        return _refusing((on_node(first_of(view, part)), part.bit_count()) for part in running_out_in_parts())

    def none_or_partly() -> RefusingNodes:
        some = ((on_node(first_of(view, part)).rejection, part) for part in running_out_in_parts())
        taken = ((reason, part) for reason, part in some if reason is not None)
        return RefusingNodes(view, (*refusing(view, requirements, checks), *taken))

    none = partial(_refused_alike, view, requirements, checks)
    return Offer(view.names(), taking, on_node, none, partly, none_or_partly)


@recently(_MOST_KINDS)
def _refused_alike(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> tuple[Refused, ...]:
    """Return why nodes take not even one pod of these requirements, which gangs of any size share."""
    return tuple(refused(view, any_pod_of(requirements), checks))


def _without_limit(state: NodeState, prepared: Prepared) -> NodeSlots:
    """Return how many pods like the trigger a node takes, were there any number of them."""
    reason = rejection_as_is(prepared.trigger, state, prepared)
    if reason is not None:
        return NodeSlots(0, reason)
    each = prepared.trigger.requirements.requests
    count = room_for(state, each, prepared)
    return NodeSlots(count, room_rejection(prepared.trigger, _with_many(state, each, count), prepared))


def _unequal(view: View, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> Offer:
    """Return the slots of all nodes for these runs, as if no pod were nominated; shared by what-ifs."""
    kinds = tuple((run[0].requirements, len(run)) for run in runs)
    return _offer_unequal(view, kinds, prepared.trigger.requirements, prepared.checks)


@recently(_MOST_KINDS)
def _offer_unequal(view: View, kinds: _Kinds, requirements: PodRequirements, checks: tuple[Check, ...]) -> Offer:
    return Offer.of(view.per_node(_in_runs, kinds, requirements, checks))


def _in_runs(
    view: View, kinds: _Kinds, requirements: PodRequirements, checks: tuple[Check, ...]
) -> Callable[[str], NodeSlots]:
    one = Prepared(any_pod_of(requirements), checks)
    runs = tuple((any_pod_of(each),) * number for each, number in kinds)
    return lambda name: _on_node(view.state(name), runs, one)


def slots_on(state: NodeState, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> int:
    """Return the offer slots of one node in whatever state, for the runs of pods in index order."""
    return _on_node(state, runs, prepared).slots


def crowded(state: NodeState, pods: Sequence[PendingPod], slots: int) -> NodeState:
    """Return the node as counting leaves it: with the pods that went in, save the very last member."""
    left = state.copy()
    for pod in pods[: min(slots, len(pods) - 1)]:
        left.add(pod)
    return left


def runs_of(pods: Sequence[PendingPod]) -> tuple[tuple[PendingPod, ...], ...]:
    """Group neighbours that are alike to every filter, so that they can be counted at once."""
    return tuple(tuple(run) for _, run in groupby(pods, key=lambda pod: pod.requirements))


def _on_node(state: NodeState, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> NodeSlots:
    if prepared.counts_only_room and state.node.name not in prepared.nominated:
        return _by_room(state, runs, prepared)
    return _one_by_one(state, [pod for run in runs for pod in run], prepared)


def _one_by_one(state: NodeState, pods: Sequence[PendingPod], prepared: Prepared) -> NodeSlots:
    left = state
    for count, pod in enumerate(pods):
        reason = rejection(pod, left, prepared)
        if reason is not None:
            return NodeSlots(count, reason)
        if left is state:
            left = state.copy()
        left.add(pod)
    return NodeSlots(len(pods), None)


def places(state: NodeState, pods: Sequence[PendingPod], prepared: Prepared) -> NodeSlots:
    """Return how many pods a node takes when each is placed with all that is booked for it, before the next is tried.

    Unlike offer slots, this is what becomes of pods that are scheduled one by one.
    """
    left = state.copy()
    for count, pod in enumerate(pods):
        found = rejection(pod, left, prepared) or reserve(pod, left, prepared)
        if not isinstance(found, PendingPod):
            return NodeSlots(count, found)
        if found.allocations is NOTHING and found.requirements is pods[-1].requirements:
            return _places_unbooked(left, found, pods[count:], prepared, count)
        left.add(found)
    return NodeSlots(len(pods), None)


def _places_unbooked(
    state: NodeState, placed: PendingPod, pods: Sequence[PendingPod], prepared: Prepared, before: int
) -> NodeSlots:
    """Return the same of pods alike for which nothing is booked: the more of them, the less a node takes the next."""

    def refusal(number: int) -> Reason | None:
        left = state.copy()
        for _ in range(number):
            left.add(placed)
        return rejection(placed, left, prepared)

    last = refusal(len(pods) - 1)
    if last is None:
        return NodeSlots(before + len(pods), None)
    first = bisect_left(range(len(pods) - 1), x=True, key=lambda number: refusal(number) is not None)
    return NodeSlots(before + first, refusal(first))


def _by_room(state: NodeState, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> NodeSlots:
    """Count like `_one_by_one`, by division: only room can run out."""
    total = 0
    left = state
    for run in runs:
        reason = rejection_as_is(run[0], left, prepared)
        if reason is not None:
            return NodeSlots(total, reason)
        each = run[0].requirements.requests
        count = min(len(run), room_for(left, each, prepared))
        left = _with_many(left, each, count)
        total += count
        if count < len(run):
            return NodeSlots(total, room_rejection(run[0], left, prepared))
    return NodeSlots(total, None)


def _with_many(state: NodeState, each: Iterable[tuple[str, int]], count: int) -> NodeState:
    left = state.copy()
    for resource, amount in each:
        left.free[resource] = left.free.get(resource, 0) - amount * count
    left.places -= count
    return left


def total(slots: Offer) -> int:
    """Return the sum over the nodes."""
    return slots.counts.total()
