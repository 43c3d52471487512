"""What a filter is: prepared once for the trigger of a round, then asked about each pod and node."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.reasons import Reason
from kubectl_koord.engine.reservations import for_one_owner
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.engine.table import NodeSet, first_of, singles, union
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values import Resources

DependsOn: TypeAlias = Literal["node", "room", "books", "claims", "pods"]
"""What of a node can change an answer.

`node`: the node alone. `room`: its free resources and pod places. `books`: what plugins have booked there
(cards, CPUs, load), which members that are put on a node to count do not change. `claims`: the devices that resource
claims hold, which change with neither these members nor the pods of the node. `pods`: who is on it.
"""


class Cluster(Struct, frozen=True):
    """What filters prepare from: who is where, the version's rules, the volume claims by `namespace/name`.

    `first` is the member that is filtered first, where that is not the trigger itself. `pending` are the pods that wait
    in this variant of the cluster, None where they are those of the snapshot.
    """

    view: View
    rules: Rules
    claims: Mapping[str, Claim] = {}
    first: PendingPod | None = None
    pending: tuple[PendingPod, ...] | None = None

    @property
    def once(self) -> frozenset[str]:
        """The reservations that are spent as soon as one owner has its place, before it is bound."""
        return for_one_owner(self.view.snapshot) if self.rules.spends_reservations else frozenset()


class Filter:
    """One filter, prepared for the trigger of a round: by default room does not limit it, and it books nothing."""

    __slots__ = ()
    depends_on: ClassVar[DependsOn]

    @abstractmethod
    def reject(self, pod: PendingPod, state: NodeState, trigger: PodRequirements, /) -> Reason | None:
        """Return why the node refuses the pod, None when this filter lets it pass.

        A filter says itself which of the pod and the trigger it reads: upstream filters every member of
        a round with the state that was prepared for the trigger.
        """

    def parts(self, _view: View, _pods: Sequence[PendingPod], among: NodeSet, /) -> Iterable[NodeSet]:
        """Return a set of nodes in parts, within each of which the filter sees the same of the nodes.

        They all take as many of these pods one by one, of which the first asks for the same as the trigger and the
        others as the first, though labels and names may differ; where they refuse the first, all reasons are worded the
        same, and removing pods could help all or none. Everything that is said of all nodes at once is derived of it.
        """
        return singles(among)

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod, which asks for the same as the trigger."""
        asked = ((part, view.state(first_of(view, part))) for part in self.parts(view, (pod,), among))
        return union(part for part, state in asked if self.reject(pod, state, pod.requirements) is not None)

    def counted_singly(self, _view: View, /) -> NodeSet:
        """Return the nodes on which more than what is free for strangers tells how many pods there is room for."""
        return 0

    def most(self, _state: NodeState, _trigger: PodRequirements, _each: Resources, /) -> int | None:
        """Return how many pods that take up `each` a node takes by this filter, None where room does not limit it."""
        return None

    def follows_members(self, _trigger: PodRequirements, /) -> bool:
        """Tell whether members that were placed on any node change what is prepared for the next one."""
        return False

    def follows_members_elsewhere(self, trigger: PodRequirements) -> bool:
        """Tell whether they change it for other nodes than their own."""
        return self.follows_members(trigger)

    def may_fail_to_reserve(self) -> bool:
        """Tell whether a node that this filter lets pass may have nothing to book."""
        return False

    def uncertain(self, _view: View, among: NodeSet, /) -> NodeSet:
        """Return the nodes of a set, which all filters let pass the trigger, that may have nothing to book for it."""
        return among if self.may_fail_to_reserve() else 0

    def reserve(self, _pod: PendingPod, _state: NodeState, booked: Allocations, /) -> Allocations | Reason:
        """Return what is booked for a pod that takes its place on the node, or why it cannot be.

        The filter is prepared for this pod, which all filters let pass; `state` is the node before the pod, `booked`
        what the filters before this one have booked for it.
        """
        return booked

    def unscored(self, _pod: PendingPod, _state: NodeState, /) -> Reason | None:
        """Return why a node that all filters let pass cannot be ranked, which ends the attempt, None where it can."""
        return None

    def preference(self, _state: NodeState, /) -> tuple[int, int]:
        """Return how much a node is preferred to others that take the pod, the lowest most."""
        return 0, 0


def how_many(need: Resources, each: Resources, free: Mapping[str, int], most: int) -> int:
    """Return how many pods go in one after the other, each asking `need` and taking up `each`, at most so many."""
    count = most
    taken = dict(each)
    for resource, amount in need:
        left = free.get(resource, 0) - amount
        if left < 0:
            return 0
        if taken.get(resource):
            count = min(count, left // taken[resource] + 1)
    return max(0, count)
