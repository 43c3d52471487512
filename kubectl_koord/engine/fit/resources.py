"""Resources and pod places (plugins/noderesources)."""

from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.reasons import Insufficient, Reason, TooManyPods
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import NodeState
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources


class NodeResources(Stateless, Struct, frozen=True):
    """The filter: members are filtered with the requests of the trigger."""

    depends_on: ClassVar[DependsOn] = "room"
    rules: Rules

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when resources or pod places are short (`fitsRequest`)."""
        free = state.free
        asked = trigger.requests
        short = [(resource, amount, left) for resource, amount in asked if amount > (left := free.get(resource, 0))]
        no_place = state.places < 1
        if short:
            allocatable = dict(state.node.allocatable)
            oversized = any(amount > allocatable.get(resource, 0) for resource, amount, _ in short)
            return Insufficient(tuple(short), oversized and self.rules.oversized_is_unresolvable, no_place)
        return TooManyPods(dict(state.node.allocatable).get("pods", 0)) if no_place else None

    def most(self, state: NodeState, trigger: PodRequirements, each: Resources) -> int:
        """Return how many pods there are resources and places for."""
        return how_many(trigger.requests, each, state)


def how_many(need: Resources, each: Resources, state: NodeState) -> int:
    """Return how many pods go in one after the other, each asking `need` and taking up `each`."""
    count = state.places
    taken = dict(each)
    free = state.free
    for resource, amount in need:
        left = free.get(resource, 0) - amount
        if left < 0:
            return 0
        if taken.get(resource):
            count = min(count, left // taken[resource] + 1)
    return max(0, count)


def prepare(_trigger: PendingPod, cluster: Cluster) -> NodeResources:
    """Return the filter with the version's rules."""
    return NodeResources(cluster.rules)
