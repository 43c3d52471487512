"""`node`, `domain` and `topo --shape` on the command line: names, exit codes, what scripts get."""

import json
from pathlib import Path

import pytest

from kubectl_koord.cli.completion import answer
from tests.cli.conftest import Run
from tests.cli.world import node, pod, topology, write


@pytest.fixture
def places(tmp_path: Path) -> str:
    nodes = [node("a0", "spine-a"), node("a1", "spine-a"), node("b0", "spine-b")]
    return write(tmp_path, {"kind": "List", "items": [topology(), *nodes, pod("x", on="a0")]})


def test_a_node_by_its_name(koord: Run, places: str) -> None:
    done = koord("node", "a0", "--snapshot", places)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("Node a0; free: ")
    assert koord("node", "node/a0", "--snapshot", places).out == done.out


def test_a_domain_by_its_name(koord: Run, places: str) -> None:
    done = koord("domain", "spine-a", "--snapshot", places)
    assert done.code == 0
    assert done.out.startswith("SpineLayer spine-a has 2 nodes; free: ")
    assert koord("domain", "SpineLayer/spine-a", "--snapshot", places).out == done.out


def test_node_and_domain_are_one_verb_and_what_has_both_names_is_what_was_asked_for(
    koord: Run, places: str, tmp_path: Path
) -> None:
    assert koord("node", "spine-a", "--snapshot", places) == koord("domain", "spine-a", "--snapshot", places)
    assert koord("domain", "a0", "--snapshot", places) == koord("node", "a0", "--snapshot", places)
    both = write(tmp_path, {"kind": "List", "items": [topology(), node("a0", "a0")]})
    assert koord("node", "a0", "--snapshot", both).out.startswith("Node a0; free: ")
    assert koord("domain", "a0", "--snapshot", both).out.startswith("SpineLayer a0 has 1 node; free: ")


def test_several_places_are_told_one_after_the_other(koord: Run, places: str) -> None:
    both = koord("node", "a0", "spine-a", "node/a0", "--snapshot", places)
    each = [koord("node", name, "--snapshot", places).out for name in ("a0", "spine-a")]
    assert (both.code, both.out) == (0, "\n".join(each))
    assert "one name at a time with -o html" in koord("node", "a0", "b0", "-o", "html", "--snapshot", places).err


def test_scripts_get_nodes_and_kinds(koord: Run, places: str) -> None:
    assert koord("node", "a0", "-o", "name", "--snapshot", places).out == "node/a0\n"
    assert koord("domain", "spine-a", "-o", "name", "--snapshot", places).out == "node/a0\nnode/a1\n"
    found = json.loads(koord("node", "a0", "-o", "json", "--snapshot", places).out)
    assert (found["kind"], found["verdict"], found["node"]) == ("Node", "yes", "a0")
    found = json.loads(koord("domain", "spine-b", "-o", "json", "--snapshot", places).out)
    assert (found["kind"], found["verdict"], found["nodes"]) == ("Domain", "yes", ["b0"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("node", "a9"), "error: no node 'a9', did you mean a0, a1?"),
        (("node", "spine-x"), "error: no node 'spine-x', did you mean SpineLayer/spine-a, SpineLayer/spine-b?"),
        (("node", ""), "error: resource name may not be empty"),
        (("domain", "spine-x"), "error: no domain 'spine-x', did you mean SpineLayer/spine-a, SpineLayer/spine-b?"),
        (("domain", ""), "error: resource name may not be empty"),
        (("topo", "--shape", "8tpu"), "error: no resource 'tpu', did you mean cpu?"),
        (("topo", "--shape", "x"), "error: --shape: 'x' is not of the form 8gpu or NAME=AMOUNT"),
        (("topo", "--shape", "1cpu", "--for", "x"), "error: --for and --shape cannot be used together"),
        (("topo", "--members", "2"), "error: --members is for --shape"),
    ],
)
def test_mistakes_are_one_line(koord: Run, places: str, words: tuple[str, ...], said: str) -> None:
    done = koord(*words, "--snapshot", places)
    assert (done.code, done.out, done.err) == (2, "", f"{said}\n")


def test_a_name_of_several_domains_is_not_guessed(koord: Run, tmp_path: Path) -> None:
    chain = topology()
    layers = [layer for layer in chain["spec"]["networkTopologySpec"] if layer["topologyLayer"] != "NodeTopologyLayer"]
    assert layers
    block = {"topologyLayer": "BlockLayer", "parentTopologyLayer": "SpineLayer", "labelKey": ["block"]}
    chain["spec"]["networkTopologySpec"] = [
        *layers,
        block,
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "BlockLayer"},
    ]
    one = node("a0", "same")
    one["metadata"]["labels"]["block"] = "same"
    given = write(tmp_path, {"kind": "List", "items": [chain, one]})
    done = koord("domain", "same", "--snapshot", given)
    assert (done.code, done.err) == (
        2,
        "error: several domains are named 'same': SpineLayer/same, BlockLayer/same\n",
    )
    assert koord("domain", "BlockLayer/same", "--snapshot", given).code == 0


def test_a_shape_in_json(koord: Run, places: str) -> None:
    found = json.loads(koord("topo", "--shape", "1cpu", "--members", "3", "-o", "json", "--snapshot", places).out)
    assert (found["shape"], found["shapeRequests"], found["shapeMembers"]) == ("1cpu", {"cpu": "1"}, 3)
    assert all(row["shapeGangs"] == row["shapePods"] // 3 for row in found["domains"])


def test_names_are_completed(places: str) -> None:
    assert answer(["--snapshot", places, "node", "a"]) == "a0\na1\n:4\n"
    assert answer(["--snapshot", places, "domain", "spine-a"]) == "spine-a\n:4\n"
    assert answer(["--snapshot", places, "domain", "SpineLayer/"]) == "SpineLayer/spine-a\nSpineLayer/spine-b\n:4\n"
