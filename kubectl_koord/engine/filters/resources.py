"""Resources and pod places (plugins/noderesources)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import sub
from typing import ClassVar, TypeVarTuple

from msgspec import Struct

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter, how_many
from kubectl_koord.engine.reasons import Insufficient, Reason, TooManyPods
from kubectl_koord.engine.reservations import (
    NO_RESERVATIONS,
    Drawable,
    drawable,
    nodes_used_up,
    nodes_with,
    reserved_nodes,
    room_for_strangers,
    room_with,
    used_up,
)
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.state import NodeState, Occupant, View
from kubectl_koord.engine.table import (
    NodeSet,
    Number,
    allocatable_of,
    at_least,
    classes,
    every_node,
    members,
    numbers_of,
    occupants_of,
    position_of,
    singles,
    split,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import NodePods, PendingPod, PodRequirements
from kubectl_koord.model.values import Resources, memoised

Ts = TypeVarTuple("Ts")

_NOTHING: Mapping[str, int] = {}
_SOME = 1 / 8
"""The share of the nodes whose states take as long to make as a column of what all have free."""


class NodeResources(Filter, Struct, frozen=True):
    """The filter: members are filtered with the requests of the trigger, to which its reservations are given back.

    `once` are the reservations that count beside their owner, where that is not bound yet. `by_sums` is for the pod
    that stands for a Reservation: the filter of reservations does not correct for it what the sums of a node say.
    """

    depends_on: ClassVar[DependsOn] = "room"
    rules: Rules
    reservations: Drawable = NO_RESERVATIONS
    once: frozenset[str] = frozenset()
    by_sums: bool = False

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when resources or pod places are short (`fitsRequest`)."""
        free, places = self._room(state)
        asked = trigger.requests
        short = [(resource, amount, left) for resource, amount in asked if amount > (left := free.get(resource, 0))]
        no_place = places < 1
        if short:
            allocatable = dict(state.node.allocatable)
            oversized = any(amount > allocatable.get(resource, 0) for resource, amount, _ in short)
            return Insufficient(tuple(short), oversized and self.rules.oversized_is_unresolvable, no_place)
        return TooManyPods(_allowed(state.node)) if no_place else None

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by what is short for the first pod, and by whether they are too small for it when empty."""
        requests, apart = pods[0].requirements.requests, among & self.counted_singly(view)
        asked = requests if self.rules.oversized_is_unresolvable else ()
        large = [at_least(view, among & ~apart, amount, ALLOCATABLE, resource) for resource, amount in asked]
        for part in short_of(view, ((1, among & ~apart),), requests):
            yield from split(part, *large)
        yield from singles(apart)

    def counted_singly(self, view: View) -> NodeSet:
        """Return the nodes on which a reservation is given back to the trigger, or counts beside its owner."""
        found = nodes_with(view, self.reservations) | nodes_used_up(view, self.once)
        return found | reserved_nodes(view) if self.by_sums and view.trial() is not None else found

    def most(self, state: NodeState, trigger: PodRequirements, each: Resources) -> int:
        """Return how many pods there are resources and places for."""
        free, places = self._room(state)
        return how_many(trigger.requests, each, free, places)

    def _room(self, state: NodeState) -> tuple[Mapping[str, int], int]:
        if not state.rooms:
            return state.free, state.places
        given, spent = self.reservations.uids, used_up(state, self.once)
        if self.by_sums or any(uid in given and uid not in spent for uid in state.rooms):
            return room_with(state, given, spent)
        return room_for_strangers(state, spent), state.places


def _allowed(node: Node) -> int:
    return dict(node.allocatable).get("pods", 0)


def with_room(view: View, among: NodeSet, each: Resources, number: int = 1) -> NodeSet:
    """Return the nodes of a set with room for so many pods that take up `each`, without any reservation."""
    found = at_least(view, among, number, PLACES)
    for resource, amount in each:
        found = at_least(view, found, number * amount, FREE, resource)
    return found


def short_of(view: View, refusing: Iterable[tuple[int, NodeSet]], each: Resources) -> Iterator[NodeSet]:
    """Yield nodes in parts by what is short there, or by how many pods are allowed where that is all.

    Each set comes with the number of pods that take up `each` for which it has no room.
    """
    short: dict[tuple[str, ...], NodeSet] = {}
    for number, nodes in refusing:
        parts: Mapping[tuple[str, ...], NodeSet] = {(): nodes}
        for resource, amount in each:
            parts = _split(parts, resource, at_least(view, nodes, number * amount, FREE, resource))
        for what, part in _split(parts, "pods", at_least(view, nodes, number, PLACES)).items():
            short[what] = short.get(what, 0) | part
    full = short.pop(("pods",), 0)
    yield from short.values()
    yield from (part for nodes in classes(view, _allowed).values() if (part := nodes & full))


def _split(parts: Mapping[tuple[str, ...], NodeSet], resource: str, enough: NodeSet) -> dict[tuple[str, ...], NodeSet]:
    """Return what is short on each part of a set of nodes, with one more resource."""
    short = (((*what, resource), nodes & ~enough) for what, nodes in parts.items())
    others = ((what, nodes & enough) for what, nodes in parts.items())
    return {what: part for what, part in (*others, *short) if part}


def _free_on(state: NodeState, resource: str) -> int:
    return room_for_strangers(state, ()).get(resource, 0)


def _free_everywhere(view: View, resource: str) -> Sequence[int]:
    """Return what is free on each node, from the sums of what its pods request, where nothing is reserved there."""
    trial = view.trial()
    if trial is None:
        return _where_reserved(view, _less(view, resource), reserved_nodes(view), _free_on, resource)
    before, _ = trial
    free = list(numbers_of(before, every_node(before), FREE, resource))
    for position, given in _given_back(view):
        free[position] += given.get(resource, 0)
    return _where_reserved(view, free, reserved_nodes(before), _free_on, resource)


def _less(view: View, resource: str) -> list[int]:
    """Return what each node has less what is requested of it."""
    has = allocatable_of(view, resource if resource != "pods" else "")
    return [amount - asked.get(resource, 0) for amount, asked in zip(has, _requested_on(view), strict=True)]


@memoised
def _requested_on(view: View) -> Sequence[Mapping[str, int]]:
    """Return what is requested of each node, in name order."""
    return [_requested(pods) if pods else _NOTHING for pods in occupants_of(view)]


def _requested(pods: Collection[Occupant]) -> Mapping[str, int]:
    if isinstance(pods, NodePods):
        return pods.requested
    found: dict[str, int] = {}
    for pod in pods:
        for resource, amount in pod.requirements.requests:
            found[resource] = found.get(resource, 0) + amount
    return found


@memoised
def _given_back(view: View) -> Sequence[tuple[int, Mapping[str, int]]]:
    """Return what those who are taken away on trial request of their nodes, by position."""
    before, removed = view.trial() or (view, {})
    known, there = position_of(view), occupants_of(before)
    leaving = ((known[name], pods) for name, pods in removed.items() if pods)
    every = ((at, there[at] if len(there[at]) == len(pods) else pods) for at, pods in leaving)
    return [(at, _requested(pods)) for at, pods in every]


def _where_reserved(
    view: View, numbers: list[int], reserved: NodeSet, number: Callable[[NodeState, *Ts], int], *args: *Ts
) -> Sequence[int]:
    """Return the numbers with those of nodes on which anything is reserved, of which each is asked."""
    known = position_of(view)
    for name in members(view, reserved):
        numbers[known[name]] = number(view.state(name), *args)
    return numbers


def _places_on(state: NodeState) -> int:
    return state.places


def _places_everywhere(view: View) -> Sequence[int]:
    trial = view.trial()
    if trial is None:
        return list(map(sub, allocatable_of(view, "pods"), map(len, occupants_of(view))))
    before, removed = trial
    places = list(numbers_of(before, every_node(before), PLACES))
    known = position_of(view)
    for name, pods in removed.items():
        places[known[name]] += len(pods)
    return places


def _allocatable_on(state: NodeState, resource: str) -> int:
    return dict(state.node.allocatable).get(resource, 0)


ALLOCATABLE = Number(_allocatable_on, allocatable_of, _SOME)
FREE = Number(_free_on, _free_everywhere, _SOME)
PLACES = Number(_places_on, _places_everywhere, _SOME)


def prepare(trigger: PendingPod, cluster: Cluster) -> NodeResources:
    """Return the filter with the version's rules."""
    by_sums = trigger.reserves is not None
    return NodeResources(cluster.rules, drawable(cluster.view, trigger), cluster.once, by_sums)
