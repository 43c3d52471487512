"""`kubectl koord evict` on the command line."""

import json
import os
import shlex
import sys

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run
from tests.cli.moving import Cluster
from tests.cli.test_live import document
from tests.cli.test_plan import BUDGET, CORDON, EVICT, EVICTION, Typed, sent
from tests.cli.world import Object, pod

WEB = {"app": "web"}


def budget(allowed: int) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": WEB}},
        "status": {"disruptionsAllowed": allowed},
    }


def is_open(api: ApiServer) -> bool:
    return not api.get("nodes", "", "n0").get("spec", {}).get("unschedulable")


def test_pods_go_one_by_one_and_each_is_told(koord: Run, moving: Cluster) -> None:
    moving.goes = ""
    assert koord("evict", "a", "default/b", "--yes") == (
        0,
        "pod/a evicted\npod/b evicted\n",
        "default/a on n0, priority 0\ndefault/b on n1, priority 0\n",
    )
    assert sent(moving) == [EVICT, ("POST", "namespaces/default/pods/b/eviction")]


def test_the_first_refusal_ends_it_with_what_was_done(koord: Run, moving: Cluster) -> None:
    web = pod("web", on="n1")
    web["metadata"]["labels"] = WEB
    moving.put(web)
    moving.put(budget(0))
    done = koord("evict", "a", "web", "b", "--yes")
    assert (done.code, done.out) == (2, "pod/a evicted\n")
    assert "The API server refuses to evict default/web now, as budget default/web allows no more disruptions.\n" in (
        done.err
    )
    assert done.err.splitlines()[-1].startswith("error: Pod default/web was not evicted: Cannot evict pod ")
    assert done.err.endswith(" (evicted: default/a)\n")


def test_a_node_is_held_until_the_successor_stands_elsewhere(koord: Run, moving: Cluster) -> None:
    done = koord("evict", "a", "--hold", "n0", "--yes")
    assert (done.code, done.out) == (0, "pod/a evicted\n")
    assert sent(moving) == [CORDON, EVICT, CORDON]
    assert is_open(moving)


def test_a_node_that_was_cordoned_before_stays_so(koord: Run, moving: Cluster) -> None:
    node = moving.get("nodes", "", "n0")
    moving.put(node | {"spec": {"unschedulable": True}})
    assert koord("evict", "a", "--hold", "n0", "--yes").code == 0
    assert sent(moving) == [EVICT]
    assert not is_open(moving)


@pytest.mark.parametrize(
    ("rule", "goes", "reason"),
    [
        (Rule(EVICTION, 429, "TooManyRequests", "Cannot evict pod.", causes=(BUDGET,)), "", "Pod default/a was not"),
        (None, "", "0 of 1 pod made anew for default/a stand on a node, after 1 s (evicted: default/a)"),
    ],
    ids=["refused", "nobody comes back"],
)
def test_a_node_is_opened_again_whatever_fails(
    koord: Run, moving: Cluster, rule: Rule | None, goes: str, reason: str
) -> None:
    moving.goes = goes
    moving.rules += [rule] if rule else []
    done = koord("evict", "a", "--hold", "n0", "--yes", "--timeout", "1s")
    assert done.code == 2
    assert f"error: {reason}" in done.err
    assert is_open(moving)


def test_a_node_that_cannot_be_opened_again_is_told_with_the_command(koord: Run, moving: Cluster) -> None:
    moving.rules.append(Rule("/api/v1/nodes/n0", 403, "Forbidden", "you may not", method="PATCH", skips=1))
    done = koord("evict", "a", "--hold", "n0", "--yes")
    assert done.code == 2
    assert done.err.splitlines()[-1] == (
        "error: n0 was not uncordoned (evicted: default/a; still cordoned: kubectl uncordon n0)"
    )


def test_gangs_that_could_not_be_seen_are_no_gangs_unharmed(koord: Run, moving: Cluster) -> None:
    moving.rules.append(Rule(".*/podgroups", 403, "Forbidden", "you may not"))
    assert "Which gangs this breaks is not known: PodGroup could not be read" in koord("evict", "a", "--yes").err


@pytest.mark.parametrize("answer", ["y", "n"])
def test_it_asks_and_says_where(koord: Run, moving: Cluster, monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    reader, writer = os.pipe()
    os.write(writer, f"{answer}\n".encode())
    monkeypatch.setattr(sys, "stdin", Typed(reader))
    done = koord("evict", "a")
    os.close(reader)
    os.close(writer)
    assert 'Evict 1 pod in cluster "test" (context "test", namespace "default")? [y/N] ' in done.err
    assert (done.code, sent(moving)) == ((0, [EVICT]) if answer == "y" else (1, []))
    assert done.err.endswith("declined: nothing was sent.\n") == (answer == "n")


def test_the_server_can_be_asked_without_evicting(koord: Run, moving: Cluster) -> None:
    assert koord("evict", "a", "--dry-run=server").out == "pod/a evicted (server dry run)\n"
    assert moving.get("pods", "default", "a")
    moving.rules.append(Rule(EVICTION, 429, "TooManyRequests", "Cannot evict pod.", causes=(BUDGET,)))
    done = koord("evict", "a", "--dry-run=server")
    assert (done.code, done.err.splitlines()[-1]) == (2, "error: Pod default/a would not be evicted: Cannot evict pod.")


def test_what_is_harmed_is_shown_and_what_would_be_sent_can_be_had(koord: Run) -> None:
    words = ("evict", "train/sweep-1", "--demo", "--dry-run=client")
    assert koord(*words) == (
        0,
        "",
        (
            "train/sweep-1 on node-11, priority 1000\n"
            "Gang train/sweep falls below its minimum (1 left, 2 needed).\n"
            "Nothing was sent (--dry-run=client).\n"
        ),
    )
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "sweep-1", "namespace": "train"},
        "deleteOptions": {},
    }
    assert json.loads(koord(*words, "-o", "json").out) == {"apiVersion": "v1", "kind": "List", "items": [eviction]}
    assert koord(*words, "-o", "yaml").out.startswith(
        "# kubectl create --raw /api/v1/namespaces/train/pods/sweep-1/eviction -f FILE\napiVersion: policy/v1\n"
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("train/sweep",), "no pod on a node 'train/sweep', did you mean train/sweep-0, train/sweep-1?"),
        (("train/sweep-1", "--hold", "node-1,node-99"), "no node 'node-99', did you mean "),
        (("train/sweep-1", "--dry-run=none"), "a snapshot cannot be changed; use --dry-run=client"),
    ],
)
def test_names_that_mean_nobody_are_a_mistake(koord: Run, words: tuple[str, ...], why: str) -> None:
    done = koord("evict", "--demo", "--dry-run=client", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error: {why}")


def test_what_an_answer_prints_does_it(koord: Run, moving: Cluster) -> None:
    moving.goes = ""
    plan = document(koord("plan", "job", "-o", "json"))
    (command,) = [step["command"] for step in plan["steps"] if step["action"] == "move-pod"]
    first, second, *words = shlex.split(command)
    assert (first, second, words[0]) == ("kubectl", "koord", "evict")
    assert koord(*words, "--yes").out == "pod/a evicted\n"
