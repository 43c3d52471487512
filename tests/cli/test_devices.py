"""`devices` on the command line: which nodes are asked for, what is read for it, and names of nobody."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import ApiServer
from tests.cli.conftest import Run
from tests.cli.world import Object, node, pod, topology, write

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
GPU = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "16Gi", "koordinator.sh/gpu-memory-ratio": "100"}
COUNTED = {
    "koordinator.sh/gpu-core": 100,
    "koordinator.sh/gpu-memory": 16 << 30,
    "koordinator.sh/gpu-memory-ratio": 100,
}


def device(name: str, cards: int) -> Object:
    told = [
        {"type": "gpu", "id": f"GPU-{minor}", "minor": minor, "health": True, "resources": GPU}
        | {"topology": {"socketID": -1, "nodeID": 1, "pcieID": "pci0"}}
        for minor in range(cards)
    ]
    return {
        "apiVersion": "scheduling.koordinator.sh/v1alpha1",
        "kind": "Device",
        "metadata": {"name": name},
        "spec": {"devices": told} if cards else {},
    }


def objects() -> list[Object]:
    """Return two nodes with two cards each, of which a pod has one, and one with an empty Device object."""
    holder = pod("holder", on="a")
    allocated = {"gpu": [{"minor": 1, "resources": GPU}]}
    holder["metadata"]["annotations"] = {ALLOCATED: json.dumps(allocated)}
    nodes = [node("a", "s0"), node("b", "s1"), node("c", "s1")]
    return [topology(), *nodes, device("a", 2), device("b", 2), device("c", 0), holder]


@pytest.fixture
def cards(tmp_path: Path) -> str:
    return write(tmp_path, {"kind": "List", "items": objects()})


def document(koord: Run, *words: str) -> Any:  # noqa: ANN401 - any JSON value
    return json.loads(koord("devices", "-o", "json", *words).out)


def test_devices_in_json_are_as_promised(koord: Run, cards: str) -> None:
    found = document(koord, "a", "--snapshot", cards)

    assert (found["kind"], found["verdict"]) == ("Devices", "yes")
    place = {"numa": 1, "pcie": "pci0"}
    none = dict.fromkeys(COUNTED, 0)
    holder = {"kind": "pod", "name": "default/holder", "share": 100}
    one = {"type": "gpu", "healthy": True, "total": COUNTED}
    assert found["nodes"][0]["cards"] == [
        {**one, "minor": 0, "id": "GPU-0", "free": COUNTED, "pods": [], "share": 100, "holders": [], **place},
        {**one, "minor": 1, "id": "GPU-1", "free": none, "pods": ["default/holder"], "share": 0}
        | {"holders": [holder], **place},
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ["a", "b", "c"]),
        (("b",), ["b"]),
        (("node/b", "nodes/a", "no/b"), ["b", "a"]),
        (("--domain", "s1"), ["b", "c"]),
        (("--domain=s0",), ["a"]),
    ],
    ids=str,
)
def test_nodes_are_chosen_by_name_or_by_domain(
    koord: Run, cards: str, words: tuple[str, ...], expected: list[str]
) -> None:
    assert [each["node"] for each in document(koord, *words, "--snapshot", cards)["nodes"]] == expected


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("devices", "aa"), "error: no node 'aa', did you mean a?\n"),
        (("devices", "a", "nobody"), "error: no node 'nobody'\n"),
        (("devices", "--domain", "s2"), "error: no domain 's2', did you mean s0, s1?\n"),
        (("devices", "a", "--domain", "s0"), "error: name nodes or give --domain, not both\n"),
        (("topo", "--resource", "cpus"), "error: no resource 'cpus', did you mean cpu?\n"),
    ],
    ids=str,
)
def test_a_name_of_nobody_is_an_error_with_the_nearest_names(
    koord: Run, cards: str, words: tuple[str, ...], said: str
) -> None:
    assert koord(*words, "--snapshot", cards) == (2, "", said)


def test_an_empty_device_object_says_so(koord: Run, cards: str) -> None:
    assert "c has an empty Device object, and no accelerators.\n" in koord("devices", "--snapshot", cards).out


def test_each_command_reads_what_its_question_needs(koord: Run, server: ApiServer) -> None:
    def read(*words: str) -> set[str]:
        server.log.clear()
        koord(*words)
        return {request.path.rpartition("/")[2] for request in server.log} - {"version"}

    topo = read("topo")
    assert not topo & {"devices", "reservations", "podgroups", "nodemetrics"}
    assert read("topo", "--resource", "memory") == topo
    assert read("devices") == read("topo", "--whole-cards") == topo | {"devices", "reservations"}
