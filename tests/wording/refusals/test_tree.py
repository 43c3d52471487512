"""Each way in which a topology tree cannot be built, as it is said."""

import pytest

from kubectl_koord.engine.tree import LayerCycle, MissingLayer, NoTopology, OtherName, TreeFault
from kubectl_koord.wording.refusals import fault_clause


@pytest.mark.parametrize(
    ("fault", "clause"),
    [
        (NoTopology(), "there is no ClusterNetworkTopology default"),
        (
            OtherName(("fabric", "old")),
            "no ClusterNetworkTopology is named default; there is fabric, old, which is ignored",
        ),
        (
            MissingLayer("NodeTopologyLayer", None, ("BlockLayer", "SpineLayer")),
            "layer NodeTopologyLayer, where every chain begins, has no entry; not on the chain: BlockLayer, SpineLayer",
        ),
        (
            MissingLayer("", "NodeTopologyLayer", ()),
            "layer (none), named as parent of NodeTopologyLayer, has no entry",
        ),
        (LayerCycle("NodeTopologyLayer"), "layer NodeTopologyLayer is its own ancestor"),
    ],
)
def test_the_layer_or_name_at_fault_is_named(fault: TreeFault, clause: str) -> None:
    assert fault_clause(fault) == clause
