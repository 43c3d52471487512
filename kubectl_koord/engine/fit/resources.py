"""Resources and pod places (plugins/noderesources)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import floordiv
from typing import ClassVar, TypeVarTuple

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, every_node, members, names_of, position_of, singles, which
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless, how_many
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.numbers import Allocatable, Number, at_least, numbers_of
from kubectl_koord.engine.reasons.nodes import (
    Insufficient,
    Reason,
    TooManyPods,
)
from kubectl_koord.engine.reservations import NO_RESERVATIONS, Drawable, drawable, reserved_nodes, room_with, used_up
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import NodePods, PendingPod, PodRequirements, Resources

Ts = TypeVarTuple("Ts")


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
        return TooManyPods(dict(state.node.allocatable).get("pods", 0)) if no_place else None

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod."""
        reserved = among & reserved_nodes(view)
        plain = among & ~reserved
        fitting = at_least(view, plain, 1, _places)
        for resource, amount in pod.requirements.requests:
            fitting = at_least(view, fitting, amount, _free, resource)
        return plain & ~fitting | which(view, lambda name: self._is_short(view.state(name), pod.requirements), reserved)

    def alike(self, view: View, pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set by what is short; nodes on which anything is reserved by themselves."""
        reserved = refused & reserved_nodes(view)
        plain = refused & ~reserved
        parts = [plain] if plain else []
        having = [at_least(view, plain, amount, _free, resource) for resource, amount in pod.requirements.requests]
        for enough in (*having, at_least(view, plain, 1, _places)):
            parts = [part for whole in parts for part in (whole & enough, whole & ~enough) if part]
        return (*parts, *singles(reserved))

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


def room_on(view: View, nodes: NodeSet, each: Resources) -> Iterator[int]:
    """Yield how many pods that take up `each` there is room for on each node of a set, without any reservation."""
    counts = iter(numbers_of(view, nodes, _places))
    for resource, amount in ((resource, amount) for resource, amount in each if amount):
        of_resource = numbers_of(view, nodes, _free, resource)
        counts = map(min, counts, map(floordiv, of_resource, repeat(amount)))
    return counts


def _free_on(state: NodeState, resource: str) -> int:
    return state.free.get(resource, 0)


def _free_everywhere(view: View, resource: str) -> Sequence[int]:
    """Return what is free on each node, from the sums of what its pods request, where nothing is reserved there."""
    trial = view.trial()
    asked = _Requested(resource)
    if trial is None:
        return _where_reserved(view, _less(view, resource, asked), reserved_nodes(view), _free_on, resource)
    before, removed = trial
    free = list(numbers_of(before, every_node(before), _free, resource))
    known = position_of(view)
    for name, pods in removed.items():
        if pods:
            free[known[name]] += asked.of(pods)
    return _where_reserved(view, free, reserved_nodes(before), _free_on, resource)


def _less(view: View, resource: str, asked: "_Requested") -> list[int]:
    """Return what each node has less what is requested of it."""
    has = Allocatable(resource if resource != "pods" else "")
    found = []
    for name in names_of(view):
        pods = view.occupants(name)
        requested = pods.requested.get(resource, 0) if isinstance(pods, NodePods) else asked.of(pods)
        found.append(has.of(view.node(name)) - requested)
    return found


def _where_reserved(
    view: View, numbers: list[int], reserved: NodeSet, number: Callable[[NodeState, *Ts], int], *args: *Ts
) -> Sequence[int]:
    """Return the numbers with those of nodes on which anything is reserved, of which each is asked."""
    known = position_of(view)
    for name in members(view, reserved):
        numbers[known[name]] = number(view.state(name), *args)
    return numbers


class _Requested:
    """What pods request of a resource, read once of requirements that pods share."""

    def __init__(self, resource: str) -> None:
        self._resource = resource
        self._known: dict[int, int] = {}

    def of(self, pods: Iterable[Occupant]) -> int:
        known = self._known
        requested = 0
        for pod in pods:
            wanted = pod.requirements
            amount = known.get(id(wanted))
            if amount is None:
                amount = known[id(wanted)] = sum(one for name, one in wanted.requests if name == self._resource)
            requested += amount
        return requested


def _places_on(state: NodeState) -> int:
    return state.places


def _places_everywhere(view: View) -> Sequence[int]:
    trial = view.trial()
    if trial is None:
        has = Allocatable("pods")
        return [has.of(view.node(name)) - len(view.occupants(name)) for name in names_of(view)]
    before, removed = trial
    places = numbers_of(before, every_node(before), _places)
    return [number + len(removed.get(name, ())) for name, number in zip(names_of(view), places, strict=True)]


_free = Number(_free_on, _free_everywhere)
_places = Number(_places_on, _places_everywhere)


def prepare(trigger: PendingPod, cluster: Cluster) -> NodeResources:
    """Return the filter with the version's rules."""
    return NodeResources(cluster.rules, drawable(cluster.view, trigger), cluster.once)
