"""Resources and pod places (plugins/noderesources)."""

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless, how_many
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    Insufficient,
    Reason,
    TooManyPods,
)
from kubectl_koord.engine.reservations import NO_RESERVATIONS, Drawable, drawable, room_with, used_up
from kubectl_koord.engine.rules import Rules
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

    def most(self, state: NodeState, trigger: PodRequirements, each: Resources) -> int:
        """Return how many pods there are resources and places for."""
        free, places = self._room(state)
        return how_many(trigger.requests, each, free, places)

    def _room(self, state: NodeState) -> tuple[Mapping[str, int], int]:
        if not state.rooms:
            return state.free, state.places
        return room_with(state, self.reservations.uids, used_up(state, self.once))


def prepare(trigger: PendingPod, cluster: Cluster) -> NodeResources:
    """Return the filter with the version's rules."""
    return NodeResources(cluster.rules, drawable(cluster.view, trigger), cluster.once)
