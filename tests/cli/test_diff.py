"""`diff`: two snapshots, or one and the live cluster."""

import json
from pathlib import Path

import pytest

from tests.apiserver import ApiServer
from tests.cli.conftest import Run
from tests.cli.world import Object, node, pod, world, write


@pytest.fixture
def before(tmp_path: Path) -> str:
    return write(tmp_path, name="before.json")


@pytest.fixture
def after(tmp_path: Path) -> str:
    items = [item for item in world()["items"] if item["metadata"]["name"] not in {"filler-a", "b0"}]
    full: Object = {"kind": "List", "items": [*items, pod("filler-a", on="a0"), node("b2", "spine-b")]}
    return write(tmp_path, full, name="after.json")


def test_it_tells_which_domains_nodes_and_pods_differ(koord: Run, before: str, after: str) -> None:
    done = koord("diff", before, after, "-o", "json")
    found = json.loads(done.out)
    assert (done.code, found["kind"]) == (0, "Diff")
    assert {one["node"]: one["changes"] for one in found["nodes"]} == {
        "a0": [],
        "a1": [],
        "b0": ["went"],
        "b2": ["came"],
    }
    assert [(one["pod"], one["nodeBefore"], one["nodeAfter"]) for one in found["placed"]] == [
        ("default/filler-a", "a1", "a0")
    ]
    named = koord("diff", before, after, "-o", "name").out
    assert named.split() == [f"node/{one['node']}" for one in found["nodes"]]


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (("--for", "job"), "default/job"),
        (("--request", "cpu=8"), "pods of 8 CPU"),
        (("--shape", "8cpu"), "pods of 8 CPU"),
    ],
)
def test_slots_are_compared_for_a_gang_or_a_request(
    koord: Run, before: str, after: str, words: tuple[str, ...], asked: str
) -> None:
    found = json.loads(koord("diff", before, after, *words, "-o", "json").out)
    assert found["asked"] == asked
    assert {one["node"]: one["difference"] for one in found["nodes"]} == {"a0": -1, "a1": 1, "b0": -1, "b2": 1}


def test_one_side_may_be_the_live_cluster(koord: Run, server: ApiServer, before: str) -> None:
    server.put(pod("new", on="a0"))
    found = json.loads(koord("diff", before, "-", "-o", "json").out)
    assert [one["pod"] for one in found["placed"]] == ["default/new"]
    assert (found["before"]["source"], found["source"]) == ("file", "cluster")
    assert {request.method for request in server.log} == {"GET"}


def test_two_files_need_no_cluster(koord: Run, server: ApiServer, before: str, after: str) -> None:
    assert koord("diff", before, after).code == 0
    assert not server.log


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("-", "-"), "error: diff needs two different snapshots"),
        (
            ("--demo", "x", "y"),
            "error: diff takes the names of two snapshots; --snapshot and --demo are for other commands",
        ),
        (("x", "y", "--for", "job", "--shape", "1cpu"), "error: --for and --shape cannot be used together"),
        (("BEFORE", "AFTER", "--for", "nobody"), "error: no gang or pod 'nobody' with pending pods in either snapshot"),
        (
            ("BEFORE", "AFTER", "--request", "cards=1"),
            "error: --shape: no node has the resource 'cards'",
        ),
        (("BEFORE", "AFTER", "--request", "cpu=x"), "error: --shape: 'cpu=x': 'x' is not a quantity"),
        (("BEFORE", "/nowhere.json"), "error: the path '/nowhere.json' cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    koord: Run, server: ApiServer, before: str, after: str, words: tuple[str, ...], error: str
) -> None:
    assert server.url
    done = koord("diff", *({"BEFORE": before, "AFTER": after}.get(word, word) for word in words))
    assert (done.code, done.out, done.err) == (2, "", f"{error}\n")
