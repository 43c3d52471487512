"""What a filter is: prepared once for the trigger of a round, then asked about each pod and node."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Protocol, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.reasons import Reason
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import NodeState, View
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import PendingPod, PodRequirements

DependsOn: TypeAlias = Literal["node", "room", "pods"]
"""What of a node can change an answer: the node alone, the room that is left on it, or the pods on it."""


class Cluster(Struct, frozen=True):
    """What filters prepare from: who is where, the version's rules, the volume claims by `namespace/name`.

    `assumed` are the members that the scheduler has just assumed on nodes, by node; the view holds them, too.
    """

    view: View
    rules: Rules
    claims: Mapping[str, Claim] = {}
    assumed: Mapping[str, Sequence[PendingPod]] = {}


class Check(Protocol):
    """One filter, prepared for the trigger of a round."""

    depends_on: ClassVar[DependsOn]

    def reject(self, pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return why the node refuses the pod, None when this filter lets it pass.

        A filter says itself which of the pod and the trigger it reads: upstream filters every member of
        a round with the state that was prepared for the trigger.
        """

    def follows_members(self, trigger: PodRequirements) -> bool:
        """Tell whether members that were placed on any node change what is prepared for the next one."""


class Stateless:
    """The part of a check that members change nothing of."""

    __slots__ = ()

    def follows_members(self, _trigger: PodRequirements) -> bool:
        """Tell that they do not."""
        return False
