"""Resources and pod places (plugins/noderesources)."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import repeat
from operator import floordiv, sub
from typing import ClassVar, TypeVarTuple

from msgspec import Struct

from kubectl_koord.engine.columns import (
    NodeSet,
    classes,
    every_node,
    members,
    occupants_of,
    packed,
    position_of,
    singles,
    which,
)
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless, how_many
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.numbers import Number, allocatable_of, at_least, numbers_of
from kubectl_koord.engine.reasons.nodes import (
    Insufficient,
    Reason,
    TooManyPods,
)
from kubectl_koord.engine.reservations import (
    NO_RESERVATIONS,
    Drawable,
    drawable,
    nodes_used_up,
    nodes_with,
    reserved_nodes,
    room_with,
    used_up,
)
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import NodePods, PendingPod, PodRequirements, Resources
from kubectl_koord.model.values.memo import memoised

Ts = TypeVarTuple("Ts")

_NOTHING: Mapping[str, int] = {}
_SOME = 1 / 8
"""The share of the nodes whose states take as long to make as a column of what all have free."""


class NodeResources(Stateless, Struct, frozen=True):
    """The filter: members are filtered with the requests of the trigger, to which its reservations are given back.

    `once` are the reservations that count beside their owner, where that is not bound yet.
    """

    depends_on: ClassVar[DependsOn] = "room"
    rules: Rules
    reservations: Drawable = NO_RESERVATIONS
    once: frozenset[str] = frozenset()

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

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod."""
        apart = among & self.counted_singly(view)
        plain = among & ~apart
        fitting = at_least(view, plain, 1, PLACES)
        for resource, amount in pod.requirements.requests:
            fitting = at_least(view, fitting, amount, FREE, resource)
        return plain & ~fitting | which(view, lambda name: self._is_short(view.state(name), pod.requirements), apart)

    def alike(self, view: View, pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set by what is short, or by how many pods are allowed where that is all."""
        apart = refused & self.counted_singly(view)
        full = plain = refused & ~apart
        parts = [plain] if plain else []
        for resource, amount in pod.requirements.requests:
            enough = at_least(view, plain, amount, FREE, resource)
            parts = [part for whole in parts for part in (whole & enough, whole & ~enough) if part]
            full &= enough
        placed = at_least(view, plain, 1, PLACES)
        short = [part for whole in parts for part in (whole & placed, whole & ~placed) if part and not part & full]
        by_limit = [part for nodes in classes(view, _allowed).values() if (part := nodes & full)]
        return (*short, *by_limit, *singles(apart))

    def lasting_alike(self, view: View, pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set also by whether the node is too small for what is short, were nobody there."""
        parts = self.alike(view, pod, refused)
        for resource, amount in pod.requirements.requests if self.rules.oversized_is_unresolvable else ():
            large = packed(bytes(map(amount.__le__, allocatable_of(view, resource))))
            parts = [part for whole in parts for part in (whole & large, whole & ~large) if part]
        return parts

    def counted_singly(self, view: View) -> NodeSet:
        """Return the nodes on which a reservation is given back to the trigger, or counts beside its owner."""
        return nodes_with(view, self.reservations) | nodes_used_up(view, self.once)

    def _is_short(self, state: NodeState, trigger: PodRequirements) -> bool:
        return how_many(trigger.requests, trigger.requests, *self._room(state)) < 1

    def most(self, state: NodeState, trigger: PodRequirements, each: Resources) -> int:
        """Return how many pods there are resources and places for."""
        free, places = self._room(state)
        return how_many(trigger.requests, each, free, places)

    def _room(self, state: NodeState) -> tuple[Mapping[str, int], int]:
        if not state.rooms:
            return state.free, state.places
        return room_with(state, self.reservations.uids, used_up(state, self.once))


def _allowed(node: Node) -> int:
    return dict(node.allocatable).get("pods", 0)


def room_on(view: View, nodes: NodeSet, each: Resources) -> Iterator[int]:
    """Yield how many pods that take up `each` there is room for on each node of a set, without any reservation."""
    return reduce(partial(map, min), _rooms(view, nodes, each))


def running_out(view: View, nodes: NodeSet, each: Resources) -> Iterator[tuple[bool, ...]]:
    """Yield what runs out first as pods that take up `each` go onto each node of a set: pod places, or which resources.

    The places come first, then the resources of which any is taken up.
    """
    return (tuple(one == min(rooms) for one in rooms) for rooms in zip(*_rooms(view, nodes, each), strict=True))


def _rooms(view: View, nodes: NodeSet, each: Resources) -> Iterator[Iterator[int]]:
    """Yield how many pods there are places for on each node, then how many there is enough for of each resource."""
    yield iter(numbers_of(view, nodes, PLACES))
    for resource, amount in ((resource, amount) for resource, amount in each if amount):
        yield map(floordiv, numbers_of(view, nodes, FREE, resource), repeat(amount))


def _free_on(state: NodeState, resource: str) -> int:
    return state.free.get(resource, 0)


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


FREE = Number(_free_on, _free_everywhere, _SOME)
PLACES = Number(_places_on, _places_everywhere, _SOME)


def prepare(trigger: PendingPod, cluster: Cluster) -> NodeResources:
    """Return the filter with the version's rules."""
    return NodeResources(cluster.rules, drawable(cluster.view, trigger), cluster.once)
