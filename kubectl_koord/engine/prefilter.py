"""Why a job is refused before any node is looked at: one frozen class per refusal, with its facts, one closed union.

What a PreFilter plugin returns (upstream `RunPreFilterPlugins`), or a transformer that runs before them. A class here
is worded in wording/prefilter.py, and its `code` is one of `CauseCode`.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.gangs import GangGroup, Spec
from kubectl_koord.engine.placement import TopologyRequirements
from kubectl_koord.engine.tree import ROOT_LAYER, NoTree, Tree
from kubectl_koord.model.snapshot import Snapshot


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


PreFilterRefusal: TypeAlias = NoTopologyTree | TopologyNotAware
"""Why a job is refused before any node is looked at."""


class UnknownLayer(Struct, frozen=True):
    """The layer to gather in is none of the topology: nodes are asked, and the plan has no domain to start from.

    See `searchMustGatherSatisfiedNodes` in coscheduling/networktopology.
    """

    layer: str
    layers: tuple[str, ...]
    code: ClassVar[Literal["unknown-layer"]] = "unknown-layer"


def prefilter_refusal(spec: Spec, group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> PreFilterRefusal | None:
    """Return how a topology spec keeps the group from its nodes: no tree to plan on, or planning switched off.

    A single pod is placed without the plan where planning is off.
    """
    if spec is None:
        return None
    if isinstance(tree, NoTree):
        return NoTopologyTree(tree)
    return TopologyNotAware() if not snapshot.config.aware_of_topology and len(group.pending) > 1 else None


def unknown_layer(requirements: TopologyRequirements, tree: Tree) -> UnknownLayer | None:
    """Return the hard layer that is not in the topology; None for a layer of it, its root, or no hard layer."""
    if requirements.must_gather in {"", ROOT_LAYER, *tree.layers}:
        return None
    return UnknownLayer(requirements.must_gather, tree.layers)
