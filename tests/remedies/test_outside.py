"""Nodes outside the tree: what is said of them, and the labels and layers after which the gang is placed."""

from kubectl_koord.model.objects import Layer, NetworkTopology
from kubectl_koord.reports.common import LabelNode, LayerKeys, NodeLabel, SetLayers, WayOut
from kubectl_koord.reports.jobs import Cause
from tests.build import BLOCK, BLOCK_KEY, LAYERS, NODE, ROOT, SPINE, SPINE_KEY, Drawing, cluster, node, why_of

ONE_LACKS = cluster("s0: b0[n1 n2]; -: b0[n3]")
NVIDIA, TIER = "network.topology.nvidia.com/", "fabric.topograph.run/tier-"


def asked(drawing: Drawing, pods: int = 3, layer: str = SPINE) -> Drawing:
    return drawing.with_gang("job", pods, 8, must_gather=layer)


def said(drawing: Drawing) -> str:
    cause = why_of(drawing).cause
    assert cause is not None
    return cause.message


def ways(drawing: Drawing) -> list[WayOut]:
    return [way for way in why_of(drawing).unblock if way.action in {"label-nodes", "place-nodes", "other-layers"}]


def labelled(node: str, **labels: str) -> LabelNode:
    keys = {"spine": SPINE_KEY, "block": BLOCK_KEY}
    return LabelNode(node, tuple(NodeLabel(keys[name], value) for name, value in labels.items()))


def test_an_idle_node_outside_the_tree_is_named_with_what_it_lacks_and_takes_and_how_to_label_it() -> None:
    drawing = asked(ONE_LACKS)
    assert said(drawing) == (
        "its 3 pods (8 CPU) do not fit even in an empty spine; waiting does not help. Node n3 would take 1, but is"
        " in no spine: it lacks the label network/spine."
    )
    way = WayOut(
        "label-nodes",
        "Label n3 network/spine=s0",
        "kubectl label node n3 network/spine=s0",
        (labelled("n3", spine="s0"),),
    )
    assert (ways(drawing), why_of(drawing).unblock[0]) == ([way], way)
    busy = drawing.with_running("other", "n3", cpu=8)
    assert "n3" not in said(busy)
    assert ways(busy) == []


def test_where_no_label_tells_the_place_people_must_know_it() -> None:
    bare = asked(cluster("s0: b0[n1 n2]; s1: b1[n5]; -: -[n3 n4]"), pods=4)
    assert said(bare).endswith(
        "2 nodes (n3 and n4) would take 2, but are in no spine: they lack the label network/spine."
    )
    (way,) = ways(bare)
    assert way.message == "Label n3 and n4 network/spine=s0, if that is where they stand in the network"
    assert way.command == "kubectl label node n3 n4 network/spine=s0"
    block = asked(cluster("s0: b0[n1 n2]; -: -[n3]"), layer=BLOCK)
    (way,) = ways(block)
    assert way.message == "Label n3 network/spine=s0 and network/block=b0, if that is where it stands in the network"


def test_a_node_that_is_known_to_be_elsewhere_is_not_labelled_away() -> None:
    assert ways(asked(cluster("s0: b0[n1 n2]; s1: b1[n4]; -: b1[n3]"))) == []
    other_block = asked(cluster("s0: b0[n1 n2]; -: b1[n3]"), layer=BLOCK)
    assert ways(other_block) == []


def test_short_slots_name_the_room_beside_the_tree_too() -> None:
    drawing = asked(ONE_LACKS, pods=2).with_running("other", "n2", cpu=8)
    assert said(drawing) == (
        "no spine has room for its 2 pods; the best has 1. Node n3 would take 1, but is in no spine: it lacks the label"
        " network/spine."
    )
    assert why_of(drawing).unblock[0].action == "label-nodes"


def test_labels_that_are_misspelt_tell_the_place() -> None:
    drawing = cluster("-: b0[n1 n2]").label("n1", **{"network/spin": "s0"}).label("n2", **{"network/spin": "s0"})
    drawing = asked(drawing, pods=2)
    assert why_of(drawing).cause == Cause(
        "no-node-in-layer",
        "no node is in any spine: 2 nodes lack the label network/spine, and have network/spin, which no layer names.",
        ("default/job-0", "default/job-1"),
    )
    (way,) = ways(drawing)
    assert (way.message, way.command) == (
        "Label n1 and n2 network/spine=s0",
        "kubectl label node n1 n2 network/spine=s0",
    )


def test_the_label_of_another_layer_tells_no_place_however_like_it_is() -> None:
    layers = (Layer(SPINE, ROOT, ("x/layer-2",)), Layer(BLOCK, SPINE, ("x/layer-3",)), Layer(NODE, BLOCK))
    there = node("n1", labels=(("x/layer-2", "s0"), ("x/layer-3", "b0")))
    stray = node("n2", labels=(("x/layer-2", ""), ("x/layer-3", "b1"), ("x/layer2", "s0")))
    (way, *_) = ways(asked(cluster(layers=layers).with_nodes(there, stray), pods=2))
    assert (way.message, way.command) == ("Label n2 x/layer-2=s0", "kubectl label node n2 x/layer-2=s0 --overwrite")


def test_labels_of_another_name_are_named_and_the_topology_that_they_tell_is_tried() -> None:
    layers = (
        Layer(SPINE, ROOT, (NVIDIA + "spine",)),
        Layer(BLOCK, SPINE, (NVIDIA + "block",)),
        Layer(NODE, BLOCK),
    )
    rows = {"n1": ("s0", "b0"), "n2": ("s0", "b0"), "n3": ("s1", "b1"), "n4": ("s1", "b1")}
    nodes = [node(name, labels=((TIER + "0", low), (TIER + "1", high))) for name, (high, low) in rows.items()]
    drawing = asked(cluster(layers=layers).with_nodes(*nodes), pods=2)
    assert said(drawing) == (
        "no node is in any spine: 4 nodes lack the label network.topology.nvidia.com/spine, and have"
        " fabric.topograph.run/tier-0 and fabric.topograph.run/tier-1, which no layer names."
    )
    edit = SetLayers((LayerKeys(SPINE, (TIER + "1",)), LayerKeys(BLOCK, (TIER + "0",)), LayerKeys(NODE, ())))
    named = "fabric.topograph.run/tier-1 for SpineLayer and fabric.topograph.run/tier-0 for BlockLayer"
    message = f"Let the ClusterNetworkTopology name the labels that nodes have: {named} (see it, then --apply)"
    assert ways(drawing) == [WayOut("other-layers", message, "kubectl koord topo init --diff", (edit,))]
    assert ways(asked(cluster(layers=layers).with_nodes(*nodes), pods=3)) == []


def test_a_layer_whose_domains_are_all_made_up_has_no_node() -> None:
    drawing = asked(cluster("s0: -[n1 n2]"), pods=2, layer=BLOCK)
    assert said(drawing) == "no node is in any block: 2 nodes lack the label network/block."
    keyless = cluster("s0: b0[n1 n2]", layers=(LAYERS[0], Layer(BLOCK, SPINE), LAYERS[2]))
    assert said(asked(keyless, pods=2, layer=BLOCK)).endswith("2 nodes lack a label, as the layer names none.")
    assert why_of(asked(cluster("s0: b0[n1 n2]"), pods=3, layer=NODE)).cause != why_of(drawing).cause
    nothing = cluster().but(topologies={"default": NetworkTopology("default", LAYERS)})
    assert getattr(why_of(asked(nothing, pods=1)).cause, "code", "") != "no-node-in-layer"


def test_what_a_node_outside_the_tree_lacks_is_its_reason_and_its_taint_is_not_named_as_excluding() -> None:
    drawing = asked(cluster("s0: b0[n1 n2:16]; -: -[m1]").taint("m1", "node-role.kubernetes.io/control-plane"), pods=4)
    drawing = drawing.with_running("other", "n1", cpu=1)
    from kubectl_koord.explain.why import with_nodes  # noqa: PLC0415

    report = with_nodes(why_of(drawing), drawing, drawing.subject("job"))
    reasons = {one.node: one.reason for one in report.nodes or ()}
    assert reasons["m1"] == "outside the tree: lacks the label network/spine"
    assert "control-plane" not in said(drawing)
    assert all("control-plane" not in way.message for way in report.unblock)
    within = asked(cluster("s0: b0[n1 n2]").taint("n1", "dedicated"), pods=2)
    assert said(within).endswith("excluded nodes: taint dedicated:NoSchedule (1 node).")


def own_labels(layers: tuple[Layer, ...], keys: tuple[str, ...]) -> Drawing:
    rows = {"n1": ("s0", "b0"), "n2": ("s0", "b0"), "n3": ("s1", "b1"), "n4": ("s1", "b1")}
    rows |= {"n5": ("s0", "b2"), "n6": ("s0", "b2"), "n7": ("s1", "b3"), "n8": ("s1", "b3")}
    nodes = [node(name, labels=tuple(zip(keys, values, strict=False))) for name, values in rows.items()]
    return cluster(layers=layers).with_nodes(*nodes)


def test_labels_of_their_own_that_divide_the_nodes_are_named_where_no_node_is_in_the_layer() -> None:
    drawing = asked(own_labels(LAYERS, ("acme.io/spine", "acme.io/leaf")), pods=4)
    assert said(drawing) == (
        "no node is in any spine: 8 nodes lack the label network/spine, and have acme.io/leaf and acme.io/spine, which"
        " no layer names."
    )
    edit = SetLayers((LayerKeys(SPINE, ("acme.io/spine",)), LayerKeys(BLOCK, ("acme.io/leaf",)), LayerKeys(NODE, ())))
    message = (
        "Let the ClusterNetworkTopology name the labels that nodes have: acme.io/spine for SpineLayer and acme.io/leaf"
        " for BlockLayer, if they tell where nodes stand in the network (see it, then --apply)"
    )
    command = "kubectl koord topo init --layer SpineLayer=acme.io/spine --layer BlockLayer=acme.io/leaf --diff"
    assert ways(drawing) == [WayOut("other-layers", message, command, (edit,))]


def test_layers_that_nodes_have_labels_of_keep_them_and_those_that_none_can_mean_are_left_out() -> None:
    kept = asked(own_labels(LAYERS, (SPINE_KEY, "acme.io/leaf")), pods=2, layer=BLOCK)
    assert [way.command for way in ways(kept)] == [
        "kubectl koord topo init --layer SpineLayer=network/spine --layer BlockLayer=acme.io/leaf --diff"
    ]
    one = asked(own_labels(LAYERS, ("acme.io/rack",)), pods=4)
    assert [way.command for way in ways(one)] == ["kubectl koord topo init --layer SpineLayer=acme.io/rack --diff"]
    assert ways(asked(own_labels(LAYERS, ()), pods=4)) == []
    crossed = own_labels(LAYERS, (SPINE_KEY,))
    for name, leaf in {"n1": "x", "n2": "y", "n3": "x", "n4": "y", "n5": "x", "n6": "y", "n7": "x", "n8": "y"}.items():
        crossed = crossed.label(name, **{"acme.io/leaf": leaf})
    assert [way.command for way in ways(asked(crossed, pods=4, layer=BLOCK))] == [
        "kubectl koord topo init --layer BlockLayer=acme.io/leaf --diff"
    ]


def test_a_node_that_is_a_block_of_its_own_as_it_lacks_the_lowest_label_is_named() -> None:
    drawing = asked(cluster("s0: b0[n1 n2]; s0: -[n3]"), layer=BLOCK)
    assert said(drawing).endswith("Node n3 would take 1, but is a block of its own: it lacks the label network/block.")
    (way,) = ways(drawing)
    assert way.message == "Label n3 network/block=b0, if that is where it stands in the network"
    several = asked(cluster("s0: b0[n1 n2]; s0: -[n3 n4]"), pods=4, layer=BLOCK)
    assert said(several).endswith(
        "2 nodes (n3 and n4) would take 2, but are blocks of their own: they lack the label network/block."
    )
