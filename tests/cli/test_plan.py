"""`kubectl koord plan` on the command line."""

import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run
from tests.cli.moving import DESCHEDULER, HELD, Cluster, owned
from tests.cli.world import Object, pod, pod_group, scheduler, write


def test_the_document_is_as_promised(koord: Run) -> None:
    done = koord("plan", "train/one-short", "--demo", "-o", "json")
    report = json.loads(done.out)
    assert (done.code, report["kind"], report["verdict"], report["gang"]) == (1, "Plan", "no", "train/one-short")
    assert {"steps", "cost", "cheapest", "nodes", "risks", "cause", "message"} <= {*report}


def test_weights_and_pods_to_keep_are_taken(koord: Run) -> None:
    done = koord("plan", "train/fits", "--demo", "--keep", "app=x", "--weight", "hours=2", "--weight", "pods=0")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "train/fits: Nothing has to be moved: it would be placed as things are.",
    )


@pytest.mark.parametrize(
    ("weight", "why"),
    [
        ("days=1", "no such weight; there are hours, pods, gangs, waits, cordons, reservations, budgets"),
        ("hours", "no number"),
        ("hours=-1", "must be from 0 upwards"),
        ("hours=nan", "must be from 0 upwards"),
    ],
)
def test_a_weight_that_is_none_is_a_mistake(koord: Run, weight: str, why: str) -> None:
    assert koord("plan", "train/fits", "--demo", "--weight", weight) == (
        2,
        "",
        f"error: --weight '{weight}': {why}\n",
    )


STEPS = [
    "Step 1: cordon n0: so that what is moved does not come to a node that the gang needs",
    "Step 2: move pod default/a from n0 to n1: makes room for the gang",
    "Step 3: uncordon n0: the gang goes there",
]


def sent(api: ApiServer) -> list[tuple[str, str]]:
    return [(one.method, one.path.rpartition("/v1/")[2]) for one in api.log if one.method != "GET"]


CORDON, EVICT = ("PATCH", "nodes/n0"), ("POST", "namespaces/default/pods/a/eviction")


def test_each_step_is_done_and_waited_for(koord: Run, moving: Cluster) -> None:
    done = koord("plan", "job", "--apply", "--yes")
    assert done.code == 0
    assert done.err.splitlines() == [*STEPS, "Done: 3 steps; default/job is placed now, or would be."]
    assert done.out.startswith("default/job is placed after 3 steps.\n")
    assert sent(moving) == [CORDON, EVICT, CORDON]
    assert not moving.get("nodes", "", "n0")["spec"].get("unschedulable")


EVICTION = "/api/v1/namespaces/default/pods/a/eviction"
LEFT = "1 steps were done; still cordoned by this plan: kubectl uncordon n0"
SUCCESS = json.dumps({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}).encode()
BUDGET = {"reason": "DisruptionBudget", "message": "The disruption budget x needs 1 healthy pods"}


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        (
            Rule(EVICTION, 429, "TooManyRequests", "Cannot evict pod.", causes=(BUDGET,)),
            "Pod default/a was not evicted: Cannot evict pod.",
        ),
        (
            Rule(EVICTION, 429, "TooManyRequests", "the server is busy"),
            "Pod default/a was not evicted: the server is busy",
        ),
        (Rule(EVICTION, 201, raw=SUCCESS), "default/a has not ended, after 1 s"),
        (
            Rule(EVICTION, 403, "Forbidden", "you may not"),
            "Pod default/a was not evicted: you may not",
        ),
        (
            Rule(EVICTION, 422, "Invalid", "no"),
            "Error from server (Invalid): no",
        ),
        (
            Rule(EVICTION, cut="head"),
            "(Pod default/a: read again, it is as before; what was sent may still be carried out)",
        ),
        (
            Rule(EVICTION, 500, "InternalError", "etcd"),
            "(Pod default/a: read again, it is as before; what was sent may still be carried out)",
        ),
    ],
    ids=[
        "429 of a budget",
        "429 of the server",
        "a pod that does not end",
        "403",
        "422",
        "an answer that is cut",
        "500",
    ],
)
def test_a_step_that_is_not_done_ends_the_plan_with_the_reason_and_what_is_left(
    koord: Run, moving: Cluster, rule: Rule, reason: str
) -> None:
    moving.rules.append(rule)
    done = koord("plan", "job", "--apply", "--yes", "--timeout", "1s")
    *before, last = done.err.splitlines()
    assert done.code == 2
    assert before == [*STEPS[:2], f"done 1: {STEPS[0].partition(': ')[2]}"]
    assert last.startswith("error: stopped: ")
    assert reason in last
    assert last.endswith(f" ({LEFT})")
    assert moving.get("pods", "default", "a")


@pytest.mark.parametrize(
    ("skips", "done", "state"), [(0, [], "nothing was done"), (1, [CORDON, EVICT], "2 steps were done")]
)
def test_a_cordon_that_the_server_has_no_time_for_ends_the_plan(
    koord: Run, moving: Cluster, skips: int, done: list[tuple[str, str]], state: str
) -> None:
    moving.rules.append(Rule("/api/v1/nodes/n0", 429, "TooManyRequests", "busy", method="PATCH", skips=skips))
    ended = koord("plan", "job", "--apply", "--yes")
    assert (ended.code, sent(moving)[: len(done)]) == (2, done)
    assert f"error: stopped: Error from server (TooManyRequests): busy ({state}" in ended.err


@pytest.mark.parametrize("after", ["", "lost"])
def test_an_eviction_of_which_the_answer_is_lost_is_looked_at(koord: Run, moving: Cluster, after: str) -> None:
    moving.rules.append(Rule(EVICTION, cut="head", applies=True))
    if after:
        moving.rules.append(Rule("/api/v1/namespaces/default/pods/a", 500, "InternalError", "etcd", skips=1))
    done = koord("plan", "job", "--apply", "--yes")
    if after:
        assert done.code == 2
        assert "Pod default/a: may have been changed, and could not be read again" in done.err
    else:
        assert (done.code, done.err.splitlines()[-1]) == (
            0,
            "Done: 3 steps; default/job is placed now, or would be.",
        )
        assert "Pod default/a: read again, it is as wanted, though this came back: " in done.err


def test_a_pod_that_moved_meanwhile_is_left_alone_and_one_that_is_gone_needs_no_eviction(
    koord: Run, moving: Cluster
) -> None:
    elsewhere = json.dumps(pod("a", on="n9")).encode()
    moving.rules.append(Rule("/api/v1/namespaces/default/pods/a", 200, raw=elsewhere))
    done = koord("plan", "job", "--apply", "--yes")
    assert (done.code, sent(moving)) == (2, [CORDON])
    assert "stopped: Pod default/a is not on n0 any more" in done.err
    moving.rules[:] = [Rule("/api/v1/namespaces/default/pods/a", 404, "NotFound", 'pods "a" not found')]
    done = koord("plan", "job", "--apply", "--yes", "--timeout", "1s")
    assert "Pod default/a is gone already.\n" in done.err


@pytest.mark.parametrize(
    ("goes", "phase", "also", "reason"),
    [
        ("n1", "Running", pod("thief", on="n0", cpu="1"), "what is left of the plan would not make room any more"),
        ("", "", None, "0 of 1 pod made anew for default/a stand on a node, after 1 s"),
        ("n1", "Pending", None, "default/a-2 does not run (phase Pending), after 1 s"),
    ],
    ids=["room taken by another", "nobody comes back", "it does not start"],
)
def test_a_plan_that_does_not_hold_any_more_ends(
    koord: Run, moving: Cluster, goes: str, phase: str, also: Object | None, reason: str
) -> None:
    moving.goes, moving.phase, moving.also = goes, phase, also
    done = koord("plan", "job", "--apply", "--yes", "--timeout", "1s")
    assert done.code == 2
    assert f"error: stopped: {reason} (" in done.err
    assert done.err.endswith("still cordoned by this plan: kubectl uncordon n0)\n")
    assert [one for one in sent(moving) if one == CORDON] == [CORDON]


class Typed(NamedTuple):
    """A terminal on which somebody has typed ahead."""

    number: int

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def readline(self) -> str:
        return os.read(self.number, 2).decode()


def test_each_step_is_asked_for(koord: Run, moving: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"y\nn\n")
    monkeypatch.setattr(sys, "stdin", Typed(reader))
    done = koord("plan", "job", "--apply")
    os.close(reader)
    os.close(writer)
    assert (done.code, sent(moving)) == (1, [CORDON])
    assert f'{STEPS[0]}. Do it in cluster "test" (context "test")? [y/N] ' in done.err
    assert f'{STEPS[1]}. Do it in cluster "test" (context "test", namespace "default")? [y/N] ' in done.err
    assert done.err.endswith(f"declined: {LEFT}\n")


def test_without_a_terminal_nothing_is_sent_unasked(koord: Run, moving: Cluster) -> None:
    done = koord("plan", "job", "--apply")
    assert (done.code, sent(moving)) == (2, [])
    assert "stdin is not a terminal; use --yes" in done.err
    assert "a snapshot cannot be changed" in koord("plan", "train/one-short", "--demo", "--apply", "--yes").err


def test_where_nothing_has_to_be_moved_nothing_is(koord: Run, moving: Cluster) -> None:
    moving.goes = ""
    moving.delete("pods", "default", "b")
    done = koord("plan", "job", "--apply", "--yes")
    assert (done.code, sent(moving), done.err) == (0, [], "")


@pytest.mark.parametrize("replicas", [0, 1])
def test_the_manifests_come_in_order_each_below_what_it_does(
    koord: Run, moving: Cluster, tmp_path: Path, replicas: int
) -> None:
    items = [*scheduler(), *(moving.get("nodes", "", name) for name in ("n0", "n1")), pod_group("job", 1)]
    items += [pod("job-0", "job"), owned("a", "n0", "2"), pod("b", on="n1", cpu="3")]
    items += [{**DESCHEDULER, "spec": {"replicas": replicas}}]
    file = write(tmp_path, {"apiVersion": "v1", "kind": "List", "items": items})
    done = koord("plan", "job", f"--snapshot={file}", "-o", "yaml")
    documents = [one for one in yaml.safe_load_all(done.out) if one]
    kinds = [one["kind"] for one in documents]
    assert done.code == 0
    assert kinds == ["Node", *(["Reservation", "PodMigrationJob"] if replicas else ["Eviction"]), "Node"]
    assert documents[0] == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "n0"},
        "spec": {"unschedulable": True},
    }
    assert "# Step 2 of 3: move pod default/a from n0 to n1: makes room for the gang\n" in done.out
    assert ("# kubectl create -f\n" in done.out) == bool(replicas)
    assert "# kubectl cordon n0\n" in done.out


def test_without_a_plan_there_are_no_manifests(koord: Run) -> None:
    done = koord("plan", "train/one-short", "--demo", "-o", "yaml")
    assert (done.code, [one for one in yaml.safe_load_all(done.out) if one]) == (1, [])
    assert done.out.startswith("# There is no plan for train/one-short.")


def test_where_the_descheduler_runs_a_pod_is_moved_by_its_job(koord: Run, moving: Cluster) -> None:
    moving.put(DESCHEDULER)
    done = koord("plan", "job", "--apply", "--yes", "--timeout", "1s")
    created = [json.loads(one.body)["kind"] for one in moving.log if one.method == "POST"]
    assert (done.code, created) == (2, ["Reservation", "PodMigrationJob"])
    assert f"{STEPS[1]} (by a PodMigrationJob and its Reservation)\n" in done.err
    assert "stopped: default/a has not ended, after 1 s" in done.err
    made = [
        one["metadata"]["name"] for one in map(json.loads, (one.body for one in moving.log if one.method == "POST"))
    ]
    left = f"made for the last one, and still there: Reservation {made[0]}, PodMigrationJob {made[1]}"
    assert left in done.err


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (
            {"phase": "Failed", "reason": "Unschedulable", "message": "no room on n1"},
            "Failed: Unschedulable: no room on n1",
        ),
        ({"phase": "Aborted"}, "Aborted"),
    ],
    ids=["failed", "aborted"],
)
def test_a_job_of_the_descheduler_that_has_failed_ends_the_plan_at_once(
    koord: Run, moving: Cluster, status: Object, why: str
) -> None:
    moving.put(DESCHEDULER)
    moving.ends = status
    done = koord("plan", "job", "--apply", "--yes", "--timeout", "10m")
    assert done.code == 2
    assert f" has ended: {why} (1 steps were done; made for the last one, and still there: Reservation " in done.err


def test_a_job_of_the_descheduler_that_is_gone_is_waited_for_no_less(koord: Run, moving: Cluster) -> None:
    moving.put(DESCHEDULER)
    moving.rules.append(Rule(".*/podmigrationjobs/.*", 404, "NotFound", "not found", method="GET"))
    done = koord("plan", "job", "--apply", "--yes", "--timeout", "1s")
    assert "stopped: default/a has not ended, after 1 s" in done.err


def test_what_was_made_before_a_step_failed_is_told(koord: Run, moving: Cluster) -> None:
    moving.put(DESCHEDULER)
    moving.rules.append(Rule(".*/podmigrationjobs.*", 403, "Forbidden", "you may not", method="POST"))
    done = koord("plan", "job", "--apply", "--yes")
    assert done.code == 2
    assert "; made for the last one, and still there: Reservation plan-" in done.err
    assert "PodMigrationJob plan-" not in done.err.rpartition("still there")[2]


def test_what_the_descheduler_moves_and_what_is_released_is_waited_for(koord: Run, moving: Cluster) -> None:
    moving.put(DESCHEDULER)
    moving.migrates = True
    assert koord("plan", "job", "--apply", "--yes").code == 0
    moving.delete("pods", "default", "a-2")
    moving.put(HELD)
    done = koord("plan", "job", "--apply", "--yes")
    assert (done.code, [path.rpartition("/")[2] for _, path in sent(moving)[-3:]]) == (0, ["n0", "held", "n0"])


def written(name: str, gang: str = "") -> Object:
    found = pod(name, gang)
    found["spec"]["containers"][0]["image"] = "train:1"
    return found


def test_a_job_that_is_not_there_yet_is_planned_for(koord: Run, moving: Cluster, tmp_path: Path) -> None:
    moving.delete("pods", "default", "job-0")
    shaped = koord("plan", "--shape", "8cpu", "--count", "1")
    assert (shaped.code, shaped.out.splitlines()[0]) == (0, "default/shape is placed after 3 steps.")
    file = write(tmp_path, {"kind": "List", "items": [pod_group("new", 1), written("new-0", "new")]}, "job.json")
    assert koord("plan", "-f", file).out.splitlines()[0] == "default/new is placed after 3 steps."
    moving.put(owned("a", "n0", "2", priority=9))
    assert koord("plan", "--shape", "8cpu").code == 1
    assert koord("plan", "--shape", "8cpu", "--priority", "9").code == 0
    gathered = koord("plan", "--shape", "8cpu", "--must-gather", "NoLayer")
    assert "It is not room that it lacks, so moves do not help." in gathered.out
    two = write(tmp_path, {"kind": "List", "items": [written("x-0"), written("x-1")]}, "two.json")
    assert koord("plan", "-f", two).err == (
        "error: the manifests make 2 gangs and single pods: one is planned for at a time\n"
    )


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((), "one of GANG, -f, -k and --shape is required"),
        (("x", "--shape", "8cpu"), "one of GANG, -f, -k and --shape is required"),
        (("x", "-k", "folder"), "one of GANG, -f, -k and --shape is required"),
        (("x", "--defrag"), "--defrag needs --shape"),
        (("x", "--priority", "1"), "--priority and --priority-class are for -f, -k and --shape"),
        (
            ("--shape", "8cpu", "--priority", "1", "--priority-class", "high"),
            "--priority and --priority-class cannot be used together",
        ),
        (("--shape", "8cpu", "--apply"), "--apply is for a GANG that is there"),
        (("--shape", "many"), "--shape: 'many' is not of the form 8gpu or NAME=AMOUNT"),
    ],
)
def test_words_that_contradict_each_other_are_a_mistake(koord: Run, words: tuple[str, ...], why: str) -> None:
    assert koord("plan", *words, "--demo") == (2, "", f"error: {why}\n")


SCATTERED = "--snapshot=examples/scattered.yaml"


def test_the_example_is_a_cluster_in_which_moves_help(koord: Run) -> None:
    asked = koord("why-pending", "big", "-n", "train", SCATTERED)
    assert f"kubectl koord plan big -n train {SCATTERED}" in asked.out
    done = koord("plan", "big", "-n", "train", SCATTERED, "-o", "yaml")
    kinds = [one["kind"] for one in yaml.safe_load_all(done.out) if one]
    assert (done.code, [kind for kind in kinds if kind != "Node"]) == (
        0,
        [*["Reservation", "PodMigrationJob"] * 2, "PodGroup", "PodGroup"],
    )


def test_room_for_a_shape_is_a_document_with_a_curve(koord: Run) -> None:
    words = ("plan", "--defrag", "--shape", "8gpu", "--count", "2", "--must-gather", "SpineLayer", SCATTERED)
    report = json.loads(koord(*words, "-o", "json").out)
    assert (report["kind"], report["verdict"]) == ("Plan", "yes")
    assert report["curve"] == [
        {"gangs": 1, "moves": 0, "pods": 0, "gpuHours": 0, "fewest": True},
        {"gangs": 2, "moves": 2, "pods": 2, "gpuHours": 4.0, "fewest": True},
    ]
    assert koord(*words, "--weight", "pods=0").out.startswith("1 gang of 2 pods fits now, 2 after 2 pods moved.\n")


def test_a_folder_of_kustomize_is_planned_for(
    koord: Run, moving: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving.delete("pods", "default", "job-0")
    (tmp_path / "built.yaml").write_text(yaml.safe_dump_all([pod_group("new", 1), written("new-0", "new")]))
    program = tmp_path / "bin" / "kustomize"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/built.yaml\n")
    program.chmod(0o700)
    monkeypatch.setenv("PATH", str(program.parent))
    assert koord("plan", "-k", str(tmp_path)).out.splitlines()[0] == "default/new is placed after 3 steps."
