"""Why there is no topology tree, in a clause."""

from typing import assert_never

from kubectl_koord.engine.tree import DEFAULT_NAME, LayerCycle, MissingLayer, NoTopology, OtherName, TreeFault
from kubectl_koord.model.installation import TREE_MANAGER

MANAGER_OFF = f"koord-scheduler runs without {TREE_MANAGER}=true, so it builds no topology tree"


def fault_clause(fault: TreeFault) -> str:
    """Return why there is no tree, without a full stop."""
    match fault:
        case NoTopology():
            return f"there is no ClusterNetworkTopology {DEFAULT_NAME}"
        case OtherName(names):
            return f"no ClusterNetworkTopology is named {DEFAULT_NAME}; there is {', '.join(names)}, which is ignored"
        case MissingLayer(layer, child, unused):
            where = f"named as parent of {child}" if child is not None else "where every chain begins"
            rest = f"; not on the chain: {', '.join(unused)}" if unused else ""
            return f"layer {layer or '(none)'}, {where}, has no entry{rest}"
        case LayerCycle(layer):
            return f"layer {layer} is its own ancestor"
        case _:
            assert_never(fault)
