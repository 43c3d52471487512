"""Why a pod is refused before any node is looked at: one frozen class per refusal, with its facts, one closed union.

What a PreFilter plugin returns (upstream `RunPreFilterPlugins`), or a transformer that runs before them. A class here
is worded in wording/prefilter.py, and its `code` is one of `CauseCode`.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.tree import TreeFault


class NoTopologyTree(Struct, frozen=True):
    """The job has a topology spec, and there is no tree to plan it on.

    The scheduler says "no cluster network topology" (`BeforePreFilter` in coscheduling/core/core.go).
    """

    fault: TreeFault

    @property
    def code(self) -> Literal["no-topology", "broken-layer-chain"]:
        """Whether there is no topology, or one of which no tree can be built."""
        return "no-topology" if self.fault.code in {"no-topology", "topology-other-name"} else "broken-layer-chain"


class TopologyNotAware(Struct, frozen=True):
    """The job has a topology spec, and awareNetworkTopology is off, so that none is planned.

    Of each member but the first the scheduler says "no planned pods" (`PodGroupManager.PreFilter` in coscheduling).
    """

    code: ClassVar[Literal["no-topology"]] = "no-topology"


class NoReservationMatches(Struct, frozen=True):
    """A pod must use a reservation, and none matches it on a node that it may go to (`PreFilter` in reservation).

    By `name`, where it asks for one; `owned` is how many there are of which it may be an owner.
    """

    code: ClassVar[Literal["no-matching-reservation"]] = "no-matching-reservation"
    pods: tuple[str, ...]
    name: str
    owned: int


PreFilterRefusal: TypeAlias = NoTopologyTree | TopologyNotAware | NoReservationMatches
"""Why a pod, and with it its job, is refused before any node is looked at."""
