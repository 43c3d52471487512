"""A log of the scheduler, by pod: what is kept of it, and what is not of a long one."""

import json

import pytest
from msgspec import structs

from kubectl_koord.explain import scheduler
from kubectl_koord.explain.scheduler import log
from kubectl_koord.reports.operation import LoggedPod, RefusedByPlugin, Scored


def refusal(pod: str, node: str, reason: str = "Insufficient cpu") -> str:
    stamp = "I1122 10:00:01.123456       1 x.go:1] "
    return f'{stamp}Failed to filter for Pod "default/{pod}" on Node "{node}", failedPlugin: Fit, reason: {reason}'


def table(pod: str, **nodes: int) -> list[str]:
    rows = [f"| {n} | default/{pod} | {node} | {total} | {total} |" for n, (node, total) in enumerate(nodes.items())]
    return [f"Top9 scores for Pod: default/{pod}, feasibleNodes: {len(nodes)}, plugins:[Fit]", *rows]


def test_refusals_are_by_plugin_and_reason_that_of_most_nodes_first_and_the_last_of_each_node_counts() -> None:
    lines = [refusal("a", "n1", "taint"), refusal("a", "n1"), refusal("a", "n2"), refusal("a", "n3", "taint"), "x"]
    report = log("filters", lines)
    assert report.items == (
        LoggedPod(
            "default/a",
            "1122 10:00:01",
            4,
            refused=(
                RefusedByPlugin("Fit", "Insufficient cpu", ("n1", "n2"), 2),
                RefusedByPlugin("Fit", "taint", ("n3",), 1),
            ),
        ),
    )
    assert (report.lines, report.broken, report.left_out, report.verdict) == (5, 0, 0, "yes")


def test_the_pod_that_was_spoken_of_last_is_first_and_its_last_table_counts() -> None:
    lines = [*table("a", n1=5), *table("b", n1=4), *table("a", n2=7, n1=6)]
    found = log("scores", lines).items
    assert [item.pod for item in found] == ["default/a", "default/b"]
    assert (found[0].feasible, found[0].times) == (2, 2)
    assert found[0].scores == (Scored("n2", 7, {"Fit": 7}), Scored("n1", 6, {"Fit": 6}))


def test_one_pod_is_found_by_its_name_and_a_gang_by_its_own() -> None:
    lines = [refusal("a", "n1"), refusal("b", "n1")]
    assert [item.pod for item in log("filters", lines, "default/b").items] == ["default/b"]
    assert log("scores", table("a", n1=1), "default/b").items == ()
    dump = json.dumps({"questionedKey": "default/job", "isRootCausePod": False})
    of_gang = log("diagnosis", [f"dump diagnosis for default/job, targetPod: default/a/u: ${dump}"], "default/job")
    assert [(item.pod, item.gang, item.root_cause) for item in of_gang.items] == [("default/a", "default/job", False)]


def test_lines_that_are_broken_are_counted() -> None:
    assert log("filters", ["Failed to filter for Pod "]).broken == 1


def test_no_more_pods_rows_and_refusals_are_kept_than_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler, "MOST_PODS", 2)
    monkeypatch.setattr(scheduler, "MOST_REFUSALS", 5)
    monkeypatch.setattr(scheduler, "MOST_ROWS", 1)
    report = log("filters", [refusal(pod, node) for pod in "abc" for node in ("n1", "n2")])
    assert [(item.pod, [one.count for one in item.refused], item.more) for item in report.items] == [
        ("default/c", [2], 0),
        ("default/b", [2], 0),
    ]
    assert report.left_out == 1
    long = log("filters", [refusal("a", "n1"), *(refusal("b", f"n{n}") for n in range(7))])
    assert [(item.pod, [one.count for one in item.refused], item.more) for item in long.items] == [
        ("default/b", [5], 2),
    ]
    (item,) = log("scores", table("a", n1=1, n2=1)).items
    assert [one.node for one in item.scores] == ["n1"]


def test_a_diagnosis_names_the_nodes_that_failed() -> None:
    details = [{"failedPlugin": "Fit", "reason": "full", "failedNodes": ["n1"], "preemptMightHelp": True}]
    dump = json.dumps({"questionedKey": "default/a", "scheduleDiagnosis": {"nodeFailedDetails": details}})
    (item,) = log("diagnosis", [f"dump diagnosis for default/a/u: {dump}"]).items
    assert item.refused == (RefusedByPlugin("Fit", "full", ("n1",), 1, preempt=True),)


def unfit(second: int, said: str) -> str:
    return (
        f"I1122 10:00:0{second}.000001       1 schedule_one.go:1045] "
        f'"Unable to schedule pod; no fit; waiting" pod="default/a" err="{said}"'
    )


def dumped(second: int) -> str:
    dump = json.dumps({"questionedKey": "default/job", "isRootCausePod": True, "preFilterMessage": "dumped"})
    stamp = f"I1122 10:00:0{second}.000002       1 x.go:1] "
    return f"{stamp}dump diagnosis for default/job, targetPod: default/a/u: ${dump}"


def test_the_error_of_the_last_attempt_counts_where_that_attempt_is_not_dumped() -> None:
    first, second = unfit(1, "0/1 nodes are available"), unfit(2, "0/2 nodes are available")
    of_second = LoggedPod("default/a", "1122 10:00:02", 2, said=("0/2 nodes are available",))
    assert log("diagnosis", [first, second]).items == (of_second,)
    assert log("diagnosis", [dumped(1), second]).items == (structs.replace(of_second, gang="default/job"),)
    with_dump = log("diagnosis", [first, dumped(2), second]).items
    assert [(item.at, item.times, item.said) for item in with_dump] == [("1122 10:00:02", 2, ("dumped",))]
    dump_later = log("diagnosis", [first, second, dumped(2)]).items
    assert [(item.at, item.times, item.said) for item in dump_later] == [("1122 10:00:02", 2, ("dumped",))]
