"""Layer labels out of a file: what is sent, the tree that results, and what is refused."""

import pytest

from kubectl_koord.changes.topology import NodePlaces, labels_plan
from kubectl_koord.changes.values import RefusedError
from kubectl_koord.reports.change import ChangePlan
from tests.build import BLOCK_KEY, SPINE_KEY, Drawing, cluster

HERE = cluster("s0: b0[n1 n2]; s1: -[n3]")


def plan(placed: NodePlaces, drawing: Drawing = HERE, *, overwrite: bool = False) -> ChangePlan:
    return labels_plan(drawing, placed, overwrite=overwrite)


def test_layers_and_label_keys_become_labels() -> None:
    found = plan(NodePlaces({"n3": {"BlockLayer": "b1", "example.com/rack": "r1", "SpineLayer": ""}}))
    (change,) = found.changes
    labels = {BLOCK_KEY: "b1", "example.com/rack": "r1"}
    assert change.after == {f"metadata.labels.{key}": value for key, value in labels.items()}
    assert change.patch == {"metadata": {"labels": labels}}
    assert found.notes == ("Resulting tree: 2 spines, 2 blocks and 3 nodes.",)


def test_switches_become_the_labels_of_the_layers_from_below() -> None:
    found = plan(NodePlaces(switches={"n3": ("leaf", "s1")}))
    (change,) = found.changes
    assert change.after == {f"metadata.labels.{BLOCK_KEY}": "leaf"}


def test_another_value_is_replaced_only_when_told_so() -> None:
    placed = NodePlaces({"n1": {"BlockLayer": "b9"}})
    with pytest.raises(RefusedError, match=r"--overwrite is false but metadata.labels.network/block is declared"):
        plan(placed)
    found = plan(placed, overwrite=True)
    assert dict(found.changes[0].before) == {f"metadata.labels.{BLOCK_KEY}": "b0"}


def test_names_that_would_be_merged_and_nodes_outside_are_told() -> None:
    found = plan(NodePlaces({"n3": {BLOCK_KEY: "b0"}}))
    assert found.notes[1] == "BlockLayer b0 stands below s0 and s1: one domain for the scheduler, below the first."
    outside = plan(NodePlaces({"n1": {"a/b": "c"}}), cluster("-: b0[n1 n2]"))
    assert outside.notes[-1] == f"Outside the tree: n1 and n2, without {SPINE_KEY}."


def test_nodes_that_have_their_labels_are_left_alone() -> None:
    found = plan(NodePlaces({"n1": {"BlockLayer": "b0"}, "n2": {}}))
    assert (found.changes, found.message) == ((), "All nodes have these labels already.")


def test_without_a_topology_only_label_keys_are_known() -> None:
    bare = HERE.but(topologies={})
    found = plan(NodePlaces({"n1": {"a/b": "c"}}), bare)
    assert found.notes == ("There is no tree: there is no ClusterNetworkTopology default.",)
    with pytest.raises(RefusedError, match="'BlockLayer' is neither a layer of the topology nor a label key"):
        plan(NodePlaces({"n1": {"BlockLayer": "c"}}), bare)
    with pytest.raises(RefusedError, match=r"the file has 1 level of switches, the topology fewer layers .*: none"):
        plan(NodePlaces(switches={"n1": ("leaf",)}), bare)


def test_a_topology_whose_chain_is_broken_has_no_layers() -> None:
    topology = HERE.topologies["default"]
    broken = type(topology)("default", topology.layers[:1])
    with pytest.raises(RefusedError, match="'BlockLayer' is neither a layer"):
        plan(NodePlaces({"n1": {"BlockLayer": "c"}}), HERE.but(topologies={"default": broken}))


@pytest.mark.parametrize(
    ("placed", "words"),
    [
        (
            NodePlaces({"n9": {"a/b": "c"}}),
            "there is no node n9: nothing is labelled while the file names nodes that do not exist",
        ),
        (
            NodePlaces({f"x{n}": {"a/b": "c"} for n in range(7)}),
            (
                "there is no node x0, x1, x2, x3, x4 and 2 more: nothing is labelled while the file names nodes that do"
                " not exist"
            ),
        ),
        (
            NodePlaces({"n1": {"RackLayer": "c"}}),
            "'RackLayer' is neither a layer of the topology (SpineLayer and BlockLayer) nor a label key",
        ),
        (
            NodePlaces({"n1": {"-x/y": "c"}}),
            "'-x/y' is neither a layer of the topology (SpineLayer and BlockLayer) nor a label key",
        ),
        (
            NodePlaces({"n1": {"a/b": "no blanks"}}),
            "node n1: 'no blanks' is no value of label a/b: up to 63 letters, digits, -, _ and .",
        ),
        (
            NodePlaces(switches={"n1": ("a", "b", "c")}),
            "the file has 3 levels of switches, the topology fewer layers above the nodes: SpineLayer and BlockLayer",
        ),
        (NodePlaces({"n1": {"a/b": ""}}), "the file names no labels"),
    ],
)
def test_what_cannot_be_is_refused(placed: NodePlaces, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        plan(placed)
    assert str(refused.value) == words


def test_what_could_not_be_read_is_not_said_to_be_missing() -> None:
    with pytest.raises(RefusedError, match="Node could not be read"):
        plan(NodePlaces({"n9": {"a/b": "c"}}), HERE.with_gap("Node"))
