"""Resources and pod places (plugins/noderesources)."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from operator import floordiv
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, at_least, numbers_of, singles, which
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless, how_many
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    Insufficient,
    Reason,
    TooManyPods,
)
from kubectl_koord.engine.reservations import NO_RESERVATIONS, Drawable, drawable, reserved_nodes, room_with, used_up
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources


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


def _free(state: NodeState, resource: str) -> int:
    return state.free.get(resource, 0)


def _places(state: NodeState) -> int:
    return state.places


def prepare(trigger: PendingPod, cluster: Cluster) -> NodeResources:
    """Return the filter with the version's rules."""
    return NodeResources(cluster.rules, drawable(cluster.view, trigger), cluster.once)
