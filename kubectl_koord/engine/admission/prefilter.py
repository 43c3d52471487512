"""What a topology spec comes to before any node is looked at: a refusal, or a layer that is not there."""

from typing import ClassVar, Literal

from msgspec import Struct

from kubectl_koord.engine.attempts.attempt import needed
from kubectl_koord.engine.gang_settings import Spec
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.placement import TopologyRequirements
from kubectl_koord.engine.reasons.prefilter import (
    NoTopologyTree,
    PreFilterRefusal,
    TopologyManagerOff,
    TopologyNotAware,
)
from kubectl_koord.engine.tree import ROOT_LAYER, NoTree, Tree
from kubectl_koord.model.snapshot import Snapshot


class UnknownLayer(Struct, frozen=True):
    """The layer to gather in is none of the topology: nodes are asked, and the plan has no domain to start from.

    See `searchMustGatherSatisfiedNodes` in coscheduling/networktopology.
    """

    layer: str
    layers: tuple[str, ...]
    code: ClassVar[Literal["unknown-layer"]] = "unknown-layer"


def prefilter_refusal(spec: Spec, group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> PreFilterRefusal | None:
    """Return how a topology spec keeps the group from its nodes: no tree to plan on, or planning switched off.

    Where planning is off, pods that need not wait for each other are placed without the plan.
    """
    if spec is None:
        return None
    if isinstance(tree, NoTree):
        return NoTopologyTree(tree.fault)
    if not snapshot.config.manages_topology:
        return TopologyManagerOff()
    return TopologyNotAware() if not snapshot.config.aware_of_topology and waits_for_members(group) else None


def waits_for_members(group: GangGroup) -> bool:
    """Tell whether the first pod that finds a node waits for more: else its round ends with it (`Permit`)."""
    return len(group.pending) > 1 and sum(needed(group).values()) > 1


def unknown_layer(requirements: TopologyRequirements, tree: Tree) -> UnknownLayer | None:
    """Return the hard layer that is not in the topology; None for a layer of it, its root, or no hard layer."""
    if requirements.must_gather in {"", ROOT_LAYER, *tree.layers}:
        return None
    return UnknownLayer(requirements.must_gather, tree.layers)
