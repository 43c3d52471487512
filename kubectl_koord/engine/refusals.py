"""Why a pod is refused before any node is looked at: one frozen class per refusal, with its facts, one closed union.

What a PreFilter plugin returns (upstream `RunPreFilterPlugins`), or a transformer that runs before them. A class here
is worded in wording/prefilter.py, and its `code` is one of `CauseCode`.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.tree import NoTree
from kubectl_koord.model.quantity import Resources


class NoTopologyTree(Struct, frozen=True):
    """The job has a topology spec, and there is no tree to plan it on.

    The scheduler says "no cluster network topology" (`BeforePreFilter` in coscheduling/core/core.go).
    """

    fault: NoTree

    @property
    def code(self) -> Literal["no-topology", "broken-layer-chain"]:
        """Whether there is no topology, or one of which no tree can be built."""
        return "no-topology" if self.fault.code in {"no-topology", "topology-other-name"} else "broken-layer-chain"


class TopologyNotAware(Struct, frozen=True):
    """The job has a topology spec, and awareNetworkTopology is off, so that none is planned.

    Of each member but the first the scheduler says "no planned pods" (`PodGroupManager.PreFilter` in coscheduling).
    """

    code: ClassVar[Literal["no-topology"]] = "no-topology"


class QuotaExceeded(Struct, frozen=True):
    """An elastic quota has no room for a pod: with what the pod asks for, more would be used than it may.

    The scheduler says "Insufficient quotas", and "Insufficient non-preemptible quotas" of a minimum (`PreFilter` in
    elasticquota/plugin.go). All nodes count as refused, and preemption may be tried on each.

    path: the quota that refuses, and those below it down to the pod's own. kind: what of it is too little: its
    `runtime`, its `max`, or its `min`, which non-preemptible pods must stay within. limit: that. used: what counts
    against it. requested: what the pod adds. over: the resources of which that is too much.
    """

    pod: str
    path: tuple[str, ...]
    kind: Literal["runtime", "max", "min"]
    limit: Resources
    used: Resources
    requested: Resources
    over: tuple[str, ...]
    code: ClassVar[Literal["quota"]] = "quota"


PreFilterRefusal: TypeAlias = NoTopologyTree | TopologyNotAware | QuotaExceeded
"""Why a pod, and with it its job, is refused before any node is looked at."""
