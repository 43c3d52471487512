"""Offer slots: how many of a gang's pods each node takes, one after the other."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, repeat
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    first_of,
    members,
    named,
    position_of,
    set_of,
    singles,
)
from kubectl_koord.engine.fit import Prepared, rejection, rejection_as_is, reserve, room_for, room_rejection
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.fit.resources import room_on, running_out
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.offer import Counts, NodeSlots, Offer
from kubectl_koord.engine.passing import counted_singly, passing, refused, taking
from kubectl_koord.engine.reasons.nodes import Refused
from kubectl_koord.engine.refusing import RefusingNodes, refusing
from kubectl_koord.engine.view import View
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
    room = _counts(view, first.requirements, lasting)
    left = passing(view, first, others, taking(view, first.requirements, lasting))
    pods = [pod for run in runs for pod in run]

    def on_node(name: str) -> NodeSlots:
        return _one_by_one(view.state(name), pods, alone)

    none = partial(refused, view, first, prepared.checks)
    if len(pods) == 1:
        return Offer(view.names(), Counts(dict.fromkeys(members(view, left), 1)), on_node, none, tuple)
    if len(runs) > 1:
        counts = Counts((name, on_node(name).slots) for name in members(view, left))
        return Offer(view.names(), counts, on_node, none)
    parts = _most_beside(view, pods, structs.replace(alone, checks=others), room, left)
    most = {name: number for names, number in parts for name in names}
    counts = Counts((name, min(room[name], most[name])) for name in members(view, left))

    by_room = structs.replace(alone, checks=lasting)

    def partly() -> Iterator[Refused]:
        for names, number in parts:
            by_others = [name for name in names if number < min(room[name], len(pods))]
            scarce = [name for name in names if room[name] < min(number, len(pods))]
            both = [name for name in names if room[name] == number < len(pods)]
            alike = [part for some in (scarce, both) for part in _running_out(view, named(view, some), by_room)]
            asked = (*alike, named(view, by_others)) if by_others else alike
            yield from _refusing((on_node(first_of(view, part)), part.bit_count()) for part in asked)

    return Offer(view.names(), counts, on_node, none, partly)


def _most_beside(
    view: View, pods: Sequence[PendingPod], others: Prepared, room: Mapping[str, int], nodes: NodeSet
) -> Sequence[tuple[Sequence[str], int]]:
    """Return how many of these pods, which are alike, nodes take by the filters that look at who is there.

    Of nodes that are alike in that one is asked, about as many as there is room for on the roomiest.
    """
    parts = [nodes]
    for check in others.checks:
        parts = [part for whole in parts for part in check.taking_alike(view, pods, whole) if part]
    found = []
    for names in (tuple(members(view, part)) for part in parts if part):
        roomy = min(len(pods), max(map(room.__getitem__, names)))
        number = _one_by_one(view.state(names[0]), pods[:roomy], others).slots if roomy > 1 else 1
        found.append((names, number))
    return found


def _running_out(view: View, nodes: NodeSet, prepared: Prepared) -> Iterator[NodeSet]:
    """Yield a set of nodes that take some pods in parts, by what runs out there."""
    known, singly = position_of(view), counted_singly(view, prepared.checks)
    yield from singles(nodes & singly)
    plain, each = nodes & ~singly, prepared.trigger.requirements.requests
    positions: dict[tuple[bool, ...], list[int]] = {}
    for name, runs_out in zip(members(view, plain), running_out(view, plain, each), strict=True):
        positions.setdefault(runs_out, []).append(known[name])
    for runs_out, held in positions.items():
        part = set_of(view, held)
        yield from (part,) if any(runs_out[1:]) else singles(part)


def _refusing(found: Iterable[tuple[NodeSlots, int]]) -> Iterator[Refused]:
    return (Refused(node.rejection, nodes) for node, nodes in found if node.rejection is not None)


def _alike(view: View, most: int, prepared: Prepared) -> Offer:
    """Return the slots of all nodes for so many pods like the trigger, the one object for all jobs of that kind."""
    return _offer_alike(view, most, prepared.trigger.requirements, prepared.checks)


@recently(_MOST_KINDS)
def _offer_alike(view: View, most: int, requirements: PodRequirements, checks: tuple[Check, ...]) -> Offer:
    one = Prepared(any_pod_of(requirements), checks)
    every = _counts(view, requirements, checks)
    number = map(min, every.values(), repeat(most)) if most > 1 else repeat(most)
    counts = Counts(zip(every, number, strict=False))
    all_in = NodeSlots(most, None)

    def on_node(name: str) -> NodeSlots:
        return all_in if every[name] >= most else _without_limit(view.state(name), one)

    def running_out_in_parts() -> Iterator[NodeSet]:
        return _running_out(view, named(view, (name for name, count in every.items() if count < most)), one)

    def partly() -> Iterator[Refused]:
        return _refusing((on_node(first_of(view, part)), part.bit_count()) for part in running_out_in_parts())

    def none_or_partly() -> RefusingNodes:
        some = ((on_node(first_of(view, part)).rejection, part) for part in running_out_in_parts())
        taken = ((reason, part) for reason, part in some if reason is not None)
        return RefusingNodes(view, (*refusing(view, requirements, checks), *taken))

    none = partial(_refused_alike, view, requirements, checks)
    return Offer(view.names(), counts, on_node, none, partly, none_or_partly)


@recently(_MOST_KINDS)
def _refused_alike(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> tuple[Refused, ...]:
    """Return why nodes take not even one pod of these requirements, which gangs of any size share."""
    return tuple(refused(view, any_pod_of(requirements), checks))


@recently(_MOST_KINDS)
def _counts(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> Counts:
    """Return how many pods of these requirements each node takes, were there any number of them.

    Gangs with the same requirements share it, and what-ifs, in which only nodes that differ are asked anew.
    """
    one = Prepared(any_pod_of(requirements), checks)
    base = base_with_most(view)
    if base is None:
        return _by_column(view, one)
    before = _counts(base, requirements, checks)
    if not view.touched():
        return before
    now = {name: _without_limit(view.state(name), one).slots for name in view.touched() if name in view.names()}
    if any(count and name not in before for name, count in now.items()):
        both = ((name, now.get(name, before[name])) for name in view.names())
    else:
        both = ((name, now.get(name, count)) for name, count in before.items())
    return Counts((name, count) for name, count in both if count)


def _by_column(view: View, prepared: Prepared) -> Counts:
    """Return the same of all nodes at once: the filters in turn, then the room of nodes that pass."""
    requirements, checks = prepared.trigger.requirements, prepared.checks
    left, singly = taking(view, requirements, checks), counted_singly(view, checks)
    each = requirements.requests
    counts = Counts(zip(members(view, left), room_on(view, left, each), strict=True))
    counts.update((name, room_for(view.state(name), each, prepared)) for name in members(view, left & singly))
    return counts


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
        left.add(found)
    return NodeSlots(len(pods), None)


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
    return sum(slots.counts.values())
