"""A topology proposed from node labels: which labels count, in which order they lie, what is left out and said."""

from collections.abc import Mapping

import pytest
from msgspec import structs

from kubectl_koord.changes.topology import manifest, propose, topology_plan
from kubectl_koord.changes.values import RefusedError
from kubectl_koord.diagnosis.labels import NamedLayer, Proposal
from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.reports.common import Notice
from tests.build import SPINE, Drawing, cluster, node

FABRIC = "fabric.topograph.run/tier-"
NVIDIA = "network.topology.nvidia.com/"
AWS = "topology.k8s.aws/network-node-layer-"
ZONE = "topology.kubernetes.io/zone"


def labelled(*rows: str, keys: tuple[str, ...], gpu: bool = False) -> Drawing:
    """Return a cluster of nodes n0, n1, ...: of each row the values of the keys, `-` for none."""
    nodes: dict[str, Node] = {}
    for number, row in enumerate(rows):
        labels = tuple((key, value) for key, value in zip(keys, row.split(), strict=True) if value != "-")
        made = node(f"n{number}", labels=tuple(sorted(labels)))
        if gpu:
            made = structs.replace(made, allocatable=(*made.allocatable, ("nvidia.com/gpu", 8)))
        nodes[made.name] = made
    return cluster().but(nodes=nodes, topologies={})


def layers(found: Proposal) -> Mapping[str, str]:
    return {layer.name: ", ".join(layer.label_keys) for layer in found.layers[:-1]}


def test_the_layers_are_those_that_the_labels_prove() -> None:
    drawing = labelled("s0 b0", "s0 b0", "s0 b1", "s0 b1", "s1 b2", "s1 b2", keys=(NVIDIA + "spine", NVIDIA + "block"))
    found = propose(drawing)
    assert found.layers == (
        Layer("SpineLayer", "ClusterTopologyLayer", (NVIDIA + "spine",)),
        Layer("BlockLayer", "SpineLayer", (NVIDIA + "block",)),
        Layer("NodeTopologyLayer", "BlockLayer"),
    )
    assert found.notes == (
        "From the labels of topograph, which 6 of 6 nodes carry.",
        "Resulting tree: 2 spines, 3 blocks and 6 nodes.",
    )


def test_topographs_tiers_grow_outward_and_may_be_deep() -> None:
    keys = tuple(f"{FABRIC}{tier}" for tier in (4, 3, 2, 1, 0))
    rows = [f"a{n // 16} b{n // 8} c{n // 4} d{n // 2} e{n}" for n in range(32) for _ in range(2)]
    assert layers(propose(labelled(*rows, keys=keys))) == {
        "Tier4Layer": FABRIC + "4",
        "Tier3Layer": FABRIC + "3",
        "DatacenterLayer": FABRIC + "2",
        "SpineLayer": FABRIC + "1",
        "BlockLayer": FABRIC + "0",
    }


def test_levels_that_lie_the_other_way_round_are_taken_as_they_lie() -> None:
    drawing = labelled("b0 s0", "b0 s0", "b1 s0", "b1 s0", "b2 s1", "b2 s1", keys=(AWS + "1", AWS + "2"))
    found = propose(drawing)
    assert layers(found) == {"SpineLayer": AWS + "2", "BlockLayer": AWS + "1"}
    assert found.notes[1].startswith("The levels lie within each other in the reverse")


def test_names_that_repeat_below_several_domains_are_reported_and_left_out() -> None:
    rows = ("s0 r0", "s0 r0", "s0 r1", "s1 r0", "s1 r2", "s1 r2")
    found = propose(labelled(*rows, keys=("cloud.provider.com/topology-block", "cloud.provider.com/topology-rack")))
    assert layers(found) == {"BlockLayer": "cloud.provider.com/topology-block"}
    assert found.notes[1] == (
        "cloud.provider.com/topology-rack is left out: r0 stands below several values of "
        "cloud.provider.com/topology-block, and a name must be unique in its layer (prefix the values with those "
        "above them)."
    )


def test_levels_that_divide_nothing_are_left_out() -> None:
    drawing = labelled(
        "d s0 h0",
        "d s0 h1",
        "d s1 h2",
        "d s1 h3",
        keys=tuple(f"cloud.google.com/gce-topology-{name}" for name in ("block", "subblock", "host")),
    )
    found = propose(drawing)
    assert layers(found) == {"BlockLayer": "cloud.google.com/gce-topology-subblock"}
    assert found.notes[1:3] == (
        "cloud.google.com/gce-topology-block is left out: all nodes have the same value.",
        "cloud.google.com/gce-topology-host is left out: every node has a value of its own.",
    )


def test_an_old_and_a_new_key_of_one_level_are_listed_together_where_they_agree() -> None:
    drawing = labelled("b0 b0", "b0 -", "b1 b1", "- b1", keys=(FABRIC + "0", NVIDIA + "block"))
    assert layers(propose(drawing)) == {"BlockLayer": f"{FABRIC}0, {NVIDIA}block"}
    renamed = labelled("b0 x0", "b0 -", "b1 x1", "- x1", keys=(FABRIC + "0", NVIDIA + "block"))
    assert f"{NVIDIA}block has other names than {FABRIC}0" in "".join(propose(renamed).notes)


def test_a_key_that_groups_the_nodes_otherwise_is_left_out() -> None:
    drawing = labelled("b0 x0", "b0 x1", "b1 x1", "b1 x1", keys=(FABRIC + "0", NVIDIA + "block"))
    found = propose(drawing)
    assert layers(found) == {"BlockLayer": FABRIC + "0"}
    assert (
        f"{NVIDIA}block is left out: nodes that carry it and {FABRIC}0 are grouped differently by them." in found.notes
    )


CLIQUE = "nvidia.com/gpu.clique"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (("b0 a0", "b0 a0", "b0 a1", "b1 a2"), ["BlockLayer", "AcceleratorLayer"]),
        (("b0 a0", "b0 a0", "b1 a0", "b2 a1"), ["AcceleratorLayer", "BlockLayer"]),
        (("b0 a0", "b0 a1", "b1 a0", "b1 a2"), ["BlockLayer"]),
    ],
)
def test_linked_accelerators_are_placed_where_they_nest_or_left_out(rows: tuple[str, ...], expected: list[str]) -> None:
    found = propose(labelled(*rows, keys=(NVIDIA + "block", CLIQUE)))
    assert list(layers(found)) == expected
    assert any(CLIQUE in note for note in found.notes) == (expected != ["BlockLayer", "AcceleratorLayer"])


def test_two_levels_of_accelerators_have_two_names() -> None:
    keys = (NVIDIA + "block", "accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain")
    found = propose(labelled("b0 d0 e0", "b0 d0 e0", "b0 d0 e1", "b0 d1 e2", "b1 d2 e3", keys=keys))
    assert list(layers(found)) == ["BlockLayer", "AcceleratorLayer1", "AcceleratorLayer"]


def test_zones_are_kept_above_a_fabric_only_where_it_lies_within_them() -> None:
    keys = (ZONE, NVIDIA + "block")
    within = propose(labelled("z0 b0", "z0 b0", "z0 b1", "z1 b2", keys=keys))
    assert layers(within) == {"ZoneLayer": ZONE, "BlockLayer": NVIDIA + "block"}
    across = propose(labelled("z0 b0", "z1 b0", "z0 b1", "z1 b2", keys=keys))
    assert layers(across) == {"BlockLayer": NVIDIA + "block"}
    assert any(ZONE in note for note in across.notes)


def test_zones_are_the_layers_where_there_is_no_fabric() -> None:
    drawing = labelled("z0", "z0", "z1", keys=(ZONE,))
    assert layers(propose(drawing)) == {"ZoneLayer": ZONE}


def test_nodes_with_accelerators_decide_which_family_counts() -> None:
    keys = (AWS + "1", NVIDIA + "block")
    drawing = labelled("a -", "b -", "a -", "b -", "b -", keys=keys)
    equipped = labelled("- b0", "- b0", "- b1", "- b1", keys=keys, gpu=True)
    more = {f"g{number}": structs.replace(one, name=f"g{number}") for number, one in enumerate(equipped.nodes.values())}
    found = propose(drawing.but(nodes={**drawing.nodes, **more}))
    assert layers(found) == {"BlockLayer": NVIDIA + "block"}
    assert found.notes[0] == "From the labels of topograph, which 4 of 4 nodes carry."
    assert "5 nodes without a label of the lowest layer: a domain each." in found.notes


def test_placeholders_are_missing_labels_and_nodes_without_an_upper_one_are_outside() -> None:
    keys = ("oci.oraclecloud.com/rdma.hpc_island_id", "oci.oraclecloud.com/rdma.network_block_id")
    drawing = labelled("i0 b0", "i0 b0", "i1 b1", "i1 b1", "no-imds-data b9", keys=keys)
    found = propose(drawing)
    assert found.notes[1:] == (
        f"{keys[0]} is the placeholder no-imds-data on 1 node, which the scheduler takes for a domain: remove it.",
        "Resulting tree: 3 spines, 3 blocks and 5 nodes.",
    )
    empty = drawing.nodes["n4"]
    emptied = drawing.but(nodes={**drawing.nodes, "n4": structs.replace(empty, labels=((keys[0], ""),))})
    assert f"{keys[0]} is empty on 1 node, as good as missing." in propose(emptied).notes
    missing = propose(labelled("i0 b0", "i0 b0", "i1 b1", "i1 b1", "- b9", keys=keys))
    assert missing.notes[-1] == f"Outside the tree: n4, without {keys[0]}."


def test_the_control_plane_does_not_count() -> None:
    drawing = labelled("b0 -", "b0 -", "b1 -", "- x", keys=(NVIDIA + "block", "node-role.kubernetes.io/control-plane"))
    assert propose(drawing).notes[0] == "From the labels of topograph, which 3 of 3 nodes carry."


def test_without_such_labels_nothing_is_proposed() -> None:
    with pytest.raises(RefusedError, match="no node has labels that tell its place in the network"):
        propose(labelled("x", keys=("a/b",)))
    with pytest.raises(RefusedError, match="no layer is left to propose"):
        propose(labelled("z0", "z0", keys=(ZONE,)))
    one_block = labelled("z0 b", "z1 b", keys=(ZONE, NVIDIA + "block"))
    with pytest.raises(RefusedError, match="no layer is left to propose"):
        propose(one_block)
    with pytest.raises(RefusedError, match="Node could not be read"):
        propose(labelled("z0", keys=(ZONE,)).with_gap("Node"))


PROPOSED = Proposal(
    (Layer("SpineLayer", "ClusterTopologyLayer", ("a/s",)), Layer("NodeTopologyLayer", "SpineLayer")), ("Why.",)
)
PLANNED = "spec.networkTopologySpec."


def live(*layers: Layer) -> Drawing:
    return cluster("s0: b0[n1]").but(topologies={"default": NetworkTopology("default", layers, None, "7")})


def test_a_topology_that_is_not_there_is_created() -> None:
    found = topology_plan(cluster().but(topologies={}), PROPOSED)
    (change,) = found.changes
    assert (change.creates, change.patch, change.resource_version) == (True, manifest(PROPOSED), "")
    assert change.before == dict.fromkeys(change.after)
    assert change.after == {
        PLANNED + "SpineLayer.parentTopologyLayer": "ClusterTopologyLayer",
        PLANNED + "SpineLayer.labelKey": "a/s",
        PLANNED + "NodeTopologyLayer.parentTopologyLayer": "SpineLayer",
    }
    assert (found.effect, found.notes) == (None, ("Why.",))


@pytest.mark.parametrize("version", ["7", ""])
def test_a_live_topology_is_changed_as_a_whole_from_the_version_that_was_read(version: str) -> None:
    layers = (Layer("SpineLayer", "ClusterTopologyLayer", ("a/old",)), Layer("NodeTopologyLayer", "SpineLayer"))
    topology = NetworkTopology("default", layers, None, version)
    (change,) = topology_plan(cluster().but(topologies={"default": topology}), PROPOSED).changes
    field = PLANNED + "SpineLayer.labelKey"
    assert (change.creates, change.before, change.after) == (False, {field: "a/old"}, {field: "a/s"})
    assert change.patch == {
        "metadata": {"resourceVersion": "7"} if version else {},
        "spec": manifest(PROPOSED)["spec"],
    }


@pytest.mark.parametrize("root", ["ClusterTopologyLayer", ""])
def test_a_topology_that_is_as_proposed_is_left_alone(root: str) -> None:
    found = topology_plan(live(Layer("SpineLayer", root, ("a/s",)), PROPOSED.layers[1]), PROPOSED)
    assert (found.changes, found.message) == ((), "ClusterNetworkTopology default unchanged.")


def test_a_layer_that_gangs_gather_on_and_that_would_be_gone_is_warned_of() -> None:
    drawing = live().with_gang("a", 1, must_gather="RackLayer").with_gang("b", 1, must_gather=SPINE)
    assert topology_plan(drawing, PROPOSED).warnings == (
        Notice("unknown-layer", "there would be no layer RackLayer, on which default/a gathers."),
    )


def test_layers_may_be_named_with_the_keys_of_ones_own_labels() -> None:
    keys = ("example.com/row", "example.com/rack")
    drawing = labelled("r0 a", "r0 a", "r0 b", "r1 c", "r1 -", keys=keys)
    named = (NamedLayer("SpineLayer", keys[:1]), NamedLayer("BlockLayer", keys[1:]))
    found = propose(drawing, named)
    assert found.layers == (
        Layer("SpineLayer", "ClusterTopologyLayer", keys[:1]),
        Layer("BlockLayer", "SpineLayer", keys[1:]),
        Layer("NodeTopologyLayer", "BlockLayer"),
    )
    assert found.notes[:2] == (
        "SpineLayer from example.com/row, which 5 of 5 nodes carry.",
        "BlockLayer from example.com/rack, which 4 of 5 nodes carry.",
    )


def test_named_layers_are_refused_where_no_node_has_the_key_or_they_do_not_lie_within_each_other() -> None:
    keys = ("example.com/row", "example.com/rack")
    drawing = labelled("r0 a", "r0 a", "r1 b", "r1 b", keys=keys)
    told = (
        "name yours, from the top: --layer SpineLayer=example.com/rack; labels that divide the nodes:"
        " example.com/rack (2 values) and example.com/row (2 values)"
    )
    with pytest.raises(RefusedError) as refused:
        propose(drawing, (NamedLayer("SpineLayer", ("example.com/hall",)),))
    assert str(refused.value) == f"no node has the label example.com/hall of --layer SpineLayer: {told}"
    with pytest.raises(RefusedError) as refused:
        propose(labelled("r0", keys=("x",)), (NamedLayer("SpineLayer", ("example.com/hall",)),))
    assert str(refused.value) == "no node has the label example.com/hall of --layer SpineLayer"
    across = labelled("r0 a", "r1 a", keys=keys)
    with pytest.raises(RefusedError, match="--layer BlockLayer does not lie within SpineLayer: a stands below several"):
        propose(across, (NamedLayer("SpineLayer", keys[:1]), NamedLayer("BlockLayer", keys[1:])))
    with pytest.raises(RefusedError) as refused:
        propose(drawing)
    assert str(refused.value) == f"no node has labels of a provider that tell its place in the network: {told}"
    with pytest.raises(
        RefusedError, match=r"divide them nowhere: name yours, from the top: --layer SpineLayer=example.com/"
    ):
        propose(labelled("r0 a z", "r0 a z", "r1 b z", "r1 b z", keys=(*keys, AWS + "1")))


def test_levels_of_accelerators_that_divide_no_more_than_the_one_above_are_left_out() -> None:
    keys = (
        FABRIC + "0",
        "accelerator.topograph.run/domain",
        "accelerator.topograph.run/sub-domain",
        "nvidia.com/gpu.clique",
    )
    drawing = labelled(
        "b0 d0 x0 c0", "b0 d0 x0 c0", "b0 d0 x1 c1", "b0 d0 x1 c1", "b1 d1 x2 c2", "b1 d1 x2 c2", keys=keys, gpu=True
    )
    found = propose(drawing)
    assert layers(found) == {"BlockLayer": keys[0], "AcceleratorLayer": keys[2]}
    assert [note for note in found.notes if "same domains" in note] == [
        "accelerator.topograph.run/domain is left out: it has the same domains as fabric.topograph.run/tier-0.",
        "nvidia.com/gpu.clique is left out: it has the same domains as accelerator.topograph.run/sub-domain.",
    ]
