"""Section 1 of the reference: which domains there are, and why there may be none."""

import pytest
from msgspec import structs

from kubectl_koord.engine.tree import (
    Domain,
    LayerCycle,
    Merged,
    MissingLayer,
    NoTopology,
    NoTree,
    OtherName,
    Outside,
    Tree,
    build,
)
from kubectl_koord.model.objects import Layer
from tests.build import BLOCK, BLOCK_KEY, LAYERS, NODE, ROOT, SPINE, SPINE_KEY, Drawing, cluster

WORKED = "spine-0: block-0[n0 n1 n2] block-1[n3 n4]; spine-1: block-2[n5 n6] block-3[n7 n8]; spine-2: block-4[n9]"


def tree_of(drawing: Drawing) -> Tree:
    tree = build(drawing.topologies, drawing.nodes)
    assert isinstance(tree, Tree), tree
    return tree


def no_tree_of(drawing: Drawing) -> NoTree:
    tree = build(drawing.topologies, drawing.nodes)
    assert isinstance(tree, NoTree)
    return tree


def drawn(tree: Tree) -> list[str]:
    return [f"{'  ' * domain.depth}{domain.layer}/{domain.name}: {domain.nodes}" for domain in tree.domains]


def test_the_tree_is_in_pre_order_children_by_name() -> None:
    assert drawn(tree_of(cluster("s1: b2[n3]; s0: b1[n2 n1] b0[n4]"))) == [
        "ClusterTopologyLayer/: 4",
        "  SpineLayer/s0: 3",
        "    BlockLayer/b0: 1",
        "      NodeTopologyLayer/n4: 1",
        "    BlockLayer/b1: 2",
        "      NodeTopologyLayer/n1: 1",
        "      NodeTopologyLayer/n2: 1",
        "  SpineLayer/s1: 1",
        "    BlockLayer/b2: 1",
        "      NodeTopologyLayer/n3: 1",
    ]


def test_the_worked_example_has_three_spines_and_five_blocks() -> None:
    tree = tree_of(cluster(WORKED))
    assert [len(tree.at_layer(layer)) for layer in (ROOT, SPINE, BLOCK, NODE, "RackLayer")] == [1, 3, 5, 10, 0]
    assert tree.layers == (SPINE, BLOCK, NODE)


def test_a_domain_knows_its_ancestors_and_its_nodes() -> None:
    tree = tree_of(cluster(WORKED))
    assert [tree.domains[index].name for index in tree.ancestors(tree.leaf["n6"])] == ["n6", "block-2", "spine-1", ""]
    assert list(tree.nodes_below(tree.at_layer(SPINE)[0])) == ["n0", "n1", "n2", "n3", "n4"]
    assert list(tree.nodes_below(tree.leaf["n6"])) == ["n6"]


def test_a_node_stands_below_one_domain_and_outside_the_tree_below_none() -> None:
    drawing = cluster("s0: b0[n0]; -: -[n1]")
    assert [tree_of(drawing).above(node) for node in ("n0", "n1", "gone")] == ["b0", "", ""]


def test_without_a_tree_there_is_no_layer_and_no_domain() -> None:
    tree = no_tree_of(structs.replace(cluster(WORKED), topologies={}))
    assert (tree.layers, tree.above("n0")) == ((), "")


def test_the_first_label_with_a_value_names_the_domain() -> None:
    layers = (Layer(SPINE, ROOT, ("new", "old")), Layer(NODE, SPINE))
    drawing = cluster("-: -[n1 n2 n3]", layers)
    drawing = drawing.label("n1", new="a", old="b").label("n2", new="", old="b").label("n3", old="a")
    assert drawn(tree_of(drawing)) == [
        "ClusterTopologyLayer/: 3",
        "  SpineLayer/a: 2",
        "    NodeTopologyLayer/n1: 1",
        "    NodeTopologyLayer/n3: 1",
        "  SpineLayer/b: 1",
        "    NodeTopologyLayer/n2: 1",
    ]


def test_a_node_without_the_lowest_label_gets_a_domain_of_its_own() -> None:
    tree = tree_of(cluster("s0: b0[n1] -[n2]"))
    made_up = Domain(BLOCK, "n2", parent=1, children=(5,), depth=2, nodes=1, virtual=True)
    assert [domain for domain in tree.domains if domain.virtual] == [made_up]


def test_nodes_without_the_lowest_label_stay_apart_though_a_domain_has_the_name_of_one() -> None:
    assert drawn(tree_of(cluster("s0: n2[n1] -[n2 n3]"))) == [
        "ClusterTopologyLayer/: 3",
        "  SpineLayer/s0: 3",
        "    BlockLayer/n2: 2",
        "      NodeTopologyLayer/n1: 1",
        "      NodeTopologyLayer/n2: 1",
        "    BlockLayer/n3: 1",
        "      NodeTopologyLayer/n3: 1",
    ]


def test_a_node_without_a_higher_label_is_left_out() -> None:
    tree = tree_of(cluster("s0: b0[n1]; -: b1[n2] -[n3]"))
    assert tree.outside == (Outside("n2", (SPINE_KEY,)), Outside("n3", (SPINE_KEY,)))
    assert set(tree.leaf) == {"n1"}


def test_all_missing_labels_are_named_with_their_alternatives() -> None:
    layers = (Layer("ZoneLayer", ROOT, ("z1", "z2")), Layer(SPINE, "ZoneLayer", (SPINE_KEY,)), *LAYERS[1:])
    assert tree_of(cluster("-: b0[n1]", layers)).outside == (Outside("n1", ("z1|z2", SPINE_KEY)),)


def test_a_layer_without_label_keys_is_called_by_its_name() -> None:
    layers = (Layer(SPINE, ROOT), *LAYERS[1:])
    assert tree_of(cluster("s0: b0[n1]", layers)).outside == (Outside("n1", (SPINE,)),)


def test_cordoned_and_unready_nodes_are_in_the_tree() -> None:
    tree = tree_of(cluster("s0: b0[n1 n2]").cordon("n1").change("n2", ready=False))
    assert set(tree.leaf) == {"n1", "n2"}


def test_two_blocks_of_one_name_are_one_domain_below_the_first_nodes_spine() -> None:
    tree = tree_of(cluster("s1: b0[n1]; s0: b0[n2]"))
    assert tree.merged == (Merged(BLOCK, "b0", ("s1", "s0")),)
    assert drawn(tree) == [
        "ClusterTopologyLayer/: 2",
        "  SpineLayer/s0: 0",
        "  SpineLayer/s1: 2",
        "    BlockLayer/b0: 2",
        "      NodeTopologyLayer/n1: 1",
        "      NodeTopologyLayer/n2: 1",
    ]


def test_a_tree_without_nodes_is_its_root() -> None:
    assert drawn(tree_of(cluster())) == ["ClusterTopologyLayer/: 0"]


def test_without_layers_every_node_is_outside() -> None:
    tree = tree_of(cluster("s0: b0[n1]", ()))
    assert (drawn(tree), tree.outside) == (["ClusterTopologyLayer/: 0"], (Outside("n1", (NODE,)),))


def test_layers_may_be_written_in_any_order() -> None:
    assert tree_of(cluster(WORKED, LAYERS[::-1])) == tree_of(cluster(WORKED))


def test_without_a_topology_there_is_no_tree() -> None:
    assert no_tree_of(cluster().but(topologies={})) == NoTree(NoTopology())


def test_a_topology_of_another_name_is_ignored() -> None:
    assert no_tree_of(cluster().with_layers(*LAYERS, name="fabric")) == NoTree(OtherName(("fabric",)))


@pytest.mark.parametrize(
    ("layers", "fault"),
    [
        (LAYERS[:2], MissingLayer(NODE, None, (BLOCK, SPINE))),
        ((Layer(SPINE, ROOT), Layer(NODE, BLOCK)), MissingLayer(BLOCK, NODE, (SPINE,))),
        ((*LAYERS, Layer("PodLayer", SPINE, ("pod",))), MissingLayer(ROOT, SPINE, ("PodLayer",))),
        ((Layer(SPINE, ROOT), Layer(NODE)), MissingLayer("", NODE, (SPINE,))),
        ((*LAYERS, LAYERS[0]), MissingLayer(ROOT, SPINE, ())),
    ],
)
def test_a_chain_that_does_not_use_every_layer_is_broken(layers: tuple[Layer, ...], fault: MissingLayer) -> None:
    assert no_tree_of(cluster("s0: b0[n1]", layers)) == NoTree(fault)


def test_a_cycle_of_layers_is_found_though_upstream_does_not_notice() -> None:
    layers = (Layer(SPINE, NODE), Layer(BLOCK, SPINE, (BLOCK_KEY,)), Layer(NODE, BLOCK), Layer("Rack", ROOT))
    assert no_tree_of(cluster("s0: b0[n1]", layers)) == NoTree(LayerCycle(NODE))
