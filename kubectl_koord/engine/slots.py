"""Offer slots: how many of a gang's pods each node takes, one after the other."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit import Prepared, rejection, rejection_as_is, reserve, room_for, room_rejection
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of
from kubectl_koord.model.values.memo import Memo, memoised

_Kinds: TypeAlias = tuple[tuple[PodRequirements, int], ...]
"""Pods in index order: how many with equal requirements follow each other."""


class NodeSlots(Struct, frozen=True, gc=False):
    """How many pods went onto a node, and why the next did not; no reason when all did."""

    slots: int
    rejection: Reason | None


class Offer(Memo, dict[str, NodeSlots]):
    """The slots of nodes by name, not to be changed: jobs that are alike share it, and what follows from it."""

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """How many pods each node takes."""
        return {name: node.slots for name, node in self.items()}

    @cached_property
    def refusals(self) -> Mapping[str, Reason]:
        """Why nodes take no more, of those that do not take all."""
        return {name: node.rejection for name, node in self.items() if node.rejection is not None}


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
    if not prepared.counts_only_room:
        return Offer((name, _on_node(view.state(name), runs, prepared)) for name in names)
    alike = len(runs) == 1 and pods[0].requirements == prepared.trigger.requirements
    every = _alike(view, len(pods), prepared) if alike else _unequal(view, runs, prepared)
    slots = every if len(names) == len(every) else Offer((name, every[name]) for name in names)
    with_nominated = [name for name in prepared.nominated if name in slots]
    if with_nominated:
        slots = Offer(slots)
        slots.update((name, _on_node(view.state(name), runs, prepared)) for name in with_nominated)
    return slots


def _alike(view: View, most: int, prepared: Prepared) -> Offer:
    """Return the slots of all nodes for so many pods like the trigger, the one object for all jobs of that kind."""
    return _offer_alike(view, most, prepared.trigger.requirements, prepared.checks)


@memoised
def _offer_alike(view: View, most: int, requirements: PodRequirements, checks: tuple[Check, ...]) -> Offer:
    return Offer(view.per_node(_at_most, most, requirements, checks))


def _at_most(
    view: View, most: int, requirements: PodRequirements, checks: tuple[Check, ...]
) -> Callable[[str], NodeSlots]:
    every = view.per_node(_without_limit, requirements, checks)
    all_in = NodeSlots(most, None)
    return lambda name: found if (found := every[name]).slots < most else all_in


def _without_limit(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> Callable[[str], NodeSlots]:
    """Return how many pods of these requirements a node takes, were there any number of them.

    Gangs with the same requirements, and what-ifs, share it.
    """
    one = Prepared(any_pod_of(requirements), checks)

    def on_node(name: str) -> NodeSlots:
        state = view.state(name)
        reason = rejection_as_is(one.trigger, state, one)
        if reason is not None:
            return NodeSlots(0, reason)
        count = room_for(state, requirements.requests, one)
        return NodeSlots(count, room_rejection(one.trigger, _with_many(state, requirements.requests, count), one))

    return on_node


def _unequal(view: View, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> Offer:
    """Return the slots of all nodes for these runs, as if no pod were nominated; shared by what-ifs."""
    kinds = tuple((run[0].requirements, len(run)) for run in runs)
    return _offer_unequal(view, kinds, prepared.trigger.requirements, prepared.checks)


@memoised
def _offer_unequal(view: View, kinds: _Kinds, requirements: PodRequirements, checks: tuple[Check, ...]) -> Offer:
    return Offer(view.per_node(_in_runs, kinds, requirements, checks))


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


def total(slots: Mapping[str, NodeSlots]) -> int:
    """Return the sum over the nodes."""
    return sum(node.slots for node in slots.values())
