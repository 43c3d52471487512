"""`topo init` and `topo label`: proposals out of node labels, and labels out of files."""

import io
import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.apiserver import ApiServer, Request
from tests.cli.conftest import Run
from tests.cli.world import Object, node, world, write

TOPOLOGY = "/apis/scheduling.koordinator.sh/v1alpha1/clusternetworktopologies"
DEFAULT = "ClusterNetworkTopology default"
SPINE, BLOCK = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/block"


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))


def sent(server: ApiServer) -> list[Request]:
    return [request for request in server.log if request.method != "GET"]


@pytest.fixture
def labelled(server: ApiServer) -> ApiServer:
    """Serve the small cluster with labels of topograph."""
    for number, name in enumerate(("a0", "a1", "b0", "b1", "b2")):
        item = node(name, f"spine-{name[0]}")
        item["metadata"]["labels"] |= {SPINE: f"s{name[0]}", BLOCK: f"block{number // 2}"}
        server.put(item)
    item = server.get("nodes", "", "b2")
    item["metadata"]["labels"][BLOCK] = "block1"
    server.put(item)
    return server


def layers(topology: Object) -> list[str]:
    return [layer["topologyLayer"] for layer in topology["spec"]["networkTopologySpec"]]


def test_a_proposal_is_a_manifest_with_its_reasons_as_comments(koord: Run, labelled: ApiServer) -> None:
    done = koord("topo", "init")
    assert (done.code, done.err) == (0, "")
    comments = [line for line in done.out.splitlines() if line.startswith("#")]
    assert comments == [
        "# From the labels of topograph, which 5 of 5 nodes carry.",
        "# Resulting tree: 2 spines, 2 blocks and 5 nodes.",
    ]
    topology = yaml.safe_load(done.out)
    assert (topology["kind"], topology["metadata"]) == ("ClusterNetworkTopology", {"name": "default"})
    assert layers(topology) == ["SpineLayer", "BlockLayer", "NodeTopologyLayer"]
    assert json.loads(koord("topo", "init", "-o", "json").out) == topology
    assert not sent(labelled)


def test_the_difference_from_the_live_one_is_shown_and_nothing_sent(koord: Run, labelled: ApiServer) -> None:
    done = koord("topo", "init", "--diff")
    assert (done.code, done.err) == (0, "")
    assert "ClusterNetworkTopology default\n" in done.out
    assert "  - spec.networkTopologySpec.SpineLayer.labelKey: spine\n" in done.out
    assert f"  + spec.networkTopologySpec.SpineLayer.labelKey: {SPINE}\n" in done.out
    assert not sent(labelled)


def test_the_live_one_is_changed_from_the_version_that_was_read(koord: Run, labelled: ApiServer) -> None:
    version = labelled.get("clusternetworktopologies", "", "default")["metadata"]["resourceVersion"]
    assert koord("topo", "init", "--apply", "--yes").code == 0
    (request,) = sent(labelled)
    assert (request.method, request.path) == ("PATCH", f"{TOPOLOGY}/default")
    assert request.json["metadata"] == {"resourceVersion": version}
    live = labelled.get("clusternetworktopologies", "", "default")
    assert layers(live) == ["SpineLayer", "BlockLayer", "NodeTopologyLayer"]


def test_one_that_changes_meanwhile_is_left_alone(
    koord: Run, labelled: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = labelled.answer

    def overtaken(request: Request) -> tuple[int, Object]:
        if request.method == "PATCH":
            labelled.put(labelled.get("clusternetworktopologies", "", "default"))
        return answer(request)

    monkeypatch.setattr(labelled, "answer", overtaken)
    done = koord("topo", "init", "--apply", "--yes")
    assert (done.code, done.err) == (
        2,
        f"error: {DEFAULT} was changed meanwhile; nothing was overwritten, run the command again to see a new plan\n",
    )
    assert layers(labelled.get("clusternetworktopologies", "", "default")) == ["SpineLayer", "NodeTopologyLayer"]


def test_one_that_is_not_there_is_created_and_one_that_came_meanwhile_is_left_alone(
    koord: Run, labelled: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = labelled.get("clusternetworktopologies", "", "default")
    labelled.delete("clusternetworktopologies", "", "default")
    assert koord("topo", "init", "--apply", "--dry-run=server").code == 0
    assert koord("topo", "init", "--apply", "--yes").code == 0
    dry, real = sent(labelled)
    assert (dry.method, dry.path, dry.query["dryRun"]) == ("POST", TOPOLOGY, "All")
    assert (real.method, real.path, real.query) == ("POST", TOPOLOGY, {"fieldManager": "kubectl-koord"})
    labelled.delete("clusternetworktopologies", "", "default")
    answer = labelled.answer

    def overtaken(request: Request) -> tuple[int, Object]:
        if request.method == "POST":
            labelled.put(live)
        return answer(request)

    monkeypatch.setattr(labelled, "answer", overtaken)
    done = koord("topo", "init", "--apply", "--yes")
    assert (done.code, done.err) == (
        2,
        f"error: {DEFAULT} was created meanwhile; it was left as it is, run the command again to see a new plan\n",
    )
    assert layers(labelled.get("clusternetworktopologies", "", "default")) == layers(live)


def test_without_a_terminal_and_without_yes_nothing_is_sent(koord: Run, labelled: ApiServer, tmp_path: Path) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text("node,SpineLayer\na0,x\n")
    for words in (("topo", "init", "--apply"), ("topo", "label", "-f", str(file))):
        done = koord(*words)
        assert (done.code, done.out) == (2, "")
        assert done.err == "error: stdin is not a terminal; use --yes, or --dry-run=client to preview\n"
    assert not sent(labelled)


@pytest.mark.parametrize(
    "text",
    [
        "# from the racks\nnode,SpineLayer\na0,spine-x\nb2,spine-b\n",
        "node,spine-a,x/y\n",
        '{"a0": {"SpineLayer": "spine-x"}, "b2": {"SpineLayer": "spine-b"}}',
        '[{"node": "a0", "SpineLayer": "spine-x"}, {"node": "b2", "SpineLayer": "spine-b"}]',
        "SwitchName=spine-x Nodes=a0\nSwitchName=spine-b Nodes=b[2]\n",
    ],
)
def test_nodes_are_labelled_from_every_form_of_file(koord: Run, labelled: ApiServer, tmp_path: Path, text: str) -> None:
    file = tmp_path / "nodes"
    file.write_text(text)
    done = koord("topo", "label", "-f", str(file), "--overwrite", "--yes")
    if "x/y" in text:
        assert (done.code, done.err) == (2, "error: the file names no labels\n")
        return
    assert (done.code, done.err) == (0, "")
    assert [request.path for request in sent(labelled)] == ["/api/v1/nodes/a0"]
    assert labelled.get("nodes", "", "a0")["metadata"]["labels"]["spine"] == "spine-x"
    assert "Resulting tree: 3 spines and 5 nodes.\n" in done.out


def test_a_label_that_changes_between_the_plan_and_the_sending_is_left_alone(
    koord: Run, labelled: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "nodes.csv"
    file.write_text("node,SpineLayer\na0,spine-x\n")
    answer = labelled.answer

    def overtaken(request: Request) -> tuple[int, Object]:
        if request.path == "/api/v1/nodes/a0" and request.method == "GET":
            item = labelled.get("nodes", "", "a0")
            item["metadata"]["labels"]["spine"] = "theirs"
            labelled.put(item)
        return answer(request)

    monkeypatch.setattr(labelled, "answer", overtaken)
    done = koord("topo", "label", "-f", str(file), "--overwrite", "--yes")
    assert done.code == 2
    assert "metadata.labels.spine was 'spine-a', is now 'theirs'; nothing was overwritten" in done.err
    assert not sent(labelled)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("topo", "init", "--diff", "--apply"), "error: --diff and --apply cannot be used together"),
        (("topo", "init", "-o", "wide"), "error: topo init prints -o yaml or json"),
        (
            ("topo", "init"),
            "error: no node has labels of a provider that tell its place in the network: name yours, from the top:",
        ),
        (("topo", "init", "--apply", "--yes"), "error: a snapshot cannot be changed; use --dry-run=client"),
        (("topo", "label"), "error: Missing option"),
        (("topo", "label", "-f", "/nowhere", "--dry-run"), "error: the path '/nowhere' cannot be read: No such file"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(koord: Run, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = koord("--snapshot", write(tmp_path), *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(said)


def test_topo_alone_still_shows_the_tree(koord: Run, cluster: str) -> None:
    assert koord("topo", "--snapshot", cluster).out.startswith("The topology tree has 2 spines and 4 nodes")
    assert koord("topo", "--for", "job", "--snapshot", cluster).code == 0
    assert world()["items"]
