"""Lines of the scheduler's log as 1.7, 1.8 and main write them, and lines that are broken."""

import json

import pytest

from kubectl_koord.messages.scheduler_log import (
    Broken,
    Diagnosis,
    FailedNodes,
    RefusedNode,
    ScoreLine,
    ScoreRow,
    Unfit,
    diagnoses,
    filters,
    scores,
)

STAMP = "I1122 10:00:01.123456       1 "
TABLE = f"""\
{STAMP}debug.go:100] Top4 scores for Pod: default/w-0, feasibleNodes: 3, plugins:[LoadAwareScheduling NodeResourcesFit]
| # | Pod | Node | Score | LoadAwareScheduling | NodeResourcesFit |
| --- | --- | --- | ---:| ---:| ---:|
| 0 | default/w-0 | n1 | 177 | 87 | 90 |
| 1 | default/w-0 | n2 | 93 | 0 | 93 |
{STAMP}scheduler.go:1] another line | with | bars
| 2 | default/w-0 | n3 | 1 | 0 | 1 |
"""


def test_a_table_of_scores_is_its_first_line_and_a_row_for_each_node() -> None:
    plugins = ("LoadAwareScheduling", "NodeResourcesFit")
    assert list(scores(TABLE.splitlines())) == [
        ScoreLine("1122 10:00:01", "default/w-0", 3, plugins),
        ScoreRow("default/w-0", "n1", 177, dict(zip(plugins, (87, 90), strict=True))),
        ScoreRow("default/w-0", "n2", 93, dict(zip(plugins, (0, 93), strict=True))),
    ]


def test_what_kubectl_logs_puts_before_a_line_does_not_matter() -> None:
    prefixed = [f"[pod/koord-scheduler-0/scheduler] 2026-11-22T10:00:01Z {line}" for line in TABLE.splitlines()]
    assert list(scores(prefixed)) == list(scores(TABLE.splitlines()))


@pytest.mark.parametrize(
    "row",
    [
        "| 0 | default/w-0 | n1 | 177 | 87 |",
        "| 0 | default/w-0 | n1 | 177 | x | 90 |",
        "| 0 | default/w-1 | n1 | 177 | 87 | 90 |",
        f"| 0 | default/w-0 | {'n' * 400} | 177 | 87 | 90 |",
        f"| 0 | default/w-0 | n1 | {'9' * 30} | 87 | 90 |",
    ],
)
def test_a_row_that_is_none_of_its_table_is_broken(row: str) -> None:
    assert list(scores([TABLE.splitlines()[0], row]))[1:] == [Broken()]


def test_a_beginning_that_cannot_be_read_is_broken_and_its_rows_are_skipped() -> None:
    assert list(scores(["Top4 scores for Pod: ", "| 0 | a/b | n | 1 |", "|", "other"])) == [Broken()]
    assert list(scores([TABLE.splitlines()[0], "|", "other"]))[1:] == []


@pytest.mark.parametrize(
    ("point", "place", "between", "node"),
    [
        ("filter", "", ", failedPlugin: Fit, schedulingPhaseBeingInvoked: Filter", "n1"),
        ("filter", "", " (pass 0), failedPlugin: Fit", "n1"),
        ("FilterWithReservation", ' with Reservation "/r1"', ", failedPlugin: Fit", "n1 (r1)"),
        ("FilterNominateReservation", ' with Reservation "r1"', ", failedPlugin: Fit", "n1 (r1)"),
    ],
    ids=["1.7 and 1.8", "main", "reservation", "nominated reservation"],
)
def test_a_refusal_names_the_node_the_plugin_and_the_reason(point: str, place: str, between: str, node: str) -> None:
    reason = "Insufficient cpu, Insufficient memory"
    line = f'Failed to {point} for Pod "default/w-0"{place} on Node "n1"{between}, reason: {reason}'
    found = RefusedNode("1122 10:00:01", "default/w-0", node, "Fit", reason)
    assert list(filters([f"{STAMP}x.go:1] {line}", "Failed to bind"])) == [found]


def test_a_refusal_that_cannot_be_read_is_broken() -> None:
    assert list(filters(['Failed to filter for Pod "default/w-0" on'])) == [Broken()]
    endless = f'Failed to filter for Pod "{"p" * 5000}" on Node "n", failedPlugin: a, reason: b'
    assert list(filters([endless])) == [Broken()]


def dump(head: str, **fields: object) -> str:
    return f"dump diagnosis for {head}{json.dumps(fields)}"


@pytest.mark.parametrize(
    "line",
    [
        "Top1 scores for Pod: " * 50_000,
        f"Top1 scores for Pod: a/b, feasibleNodes: 1, plugins:[{'x' * 1_000_000}",
        "dump diagnosis for " * 50_000,
        f"dump diagnosis for {', targetPod: ' * 50_000}",
        f"dump diagnosis for a/b/c: {'{' * 1_000_000}",
        'Failed to filter for Pod "' * 50_000,
    ],
    ids=lambda line: line[:30],
)
def test_a_hostile_line_takes_no_more_than_one_look_at_it(line: str) -> None:
    for read in (scores, filters, diagnoses):
        assert set(read([line])) <= {Broken()}


def test_a_hostile_row_is_broken() -> None:
    first = TABLE.splitlines()[0]
    assert list(scores([first, "|" * 1_000_000, f"| {' ' * 1_000_000}"]))[1:] == [Broken(), Broken()]


FIT = {"failedPlugin": "Fit", "reason": "Insufficient cpu"}


def test_a_diagnosis_of_1_8_and_main_groups_nodes_by_reason() -> None:
    line = dump(
        "default/job, targetPod: default/w-0/uid-1: $",
        questionedKey="default/job",
        isRootCausePod=True,
        preFilterMessage="no candidate topology nodes",
        scheduleDiagnosis={
            "alreadyWaitForBound": 2,
            "nodeOfferSlot": {"n2": 1, "n1": 3},
            "nodeFailedDetails": [FIT | {"preemptMightHelp": True, "failedNodes": ["n2", "n1"]}],
        },
        preemptionDiagnosis={"otherDiagnosis": {"reason": "not helpful", "message": "not helpful"}},
        suggestion={"type": "DeleteConflictPVC", "message": "delete it"},
    )
    assert list(diagnoses([STAMP + line, "other"])) == [
        Diagnosis(
            at="1122 10:00:01",
            pod="default/w-0",
            gang="default/job",
            root_cause=True,
            waiting=2,
            slots={"n1": 3, "n2": 1},
            failed=(FailedNodes("Fit", "Insufficient cpu", ("n1", "n2"), 2, preempt=True),),
            said=("no candidate topology nodes", "not helpful", "delete it"),
        )
    ]


def test_a_diagnosis_of_1_7_has_a_detail_for_each_node_and_preemption_at_once() -> None:
    line = dump(
        "default/w-0/uid-1: ",
        questionedKey="default/w-0",
        scheduleDiagnosis={"nodeFailedDetails": [FIT | {"nodeName": "n1"}, FIT | {"nodeName": "n2"}, FIT]},
        preemptionDiagnosis={"reason": "not eligible", "message": 3},
    )
    (found,) = diagnoses([line])
    assert found == Diagnosis(
        at="",
        pod="default/w-0",
        gang="",
        root_cause=None,
        waiting=0,
        slots={},
        failed=(FailedNodes("Fit", "Insufficient cpu", ("n1", "n2"), 2, preempt=False),),
        said=("not eligible",),
    )


def test_an_empty_diagnosis_says_nothing() -> None:
    for preemption in (None, {"otherDiagnosis": None}):
        (found,) = diagnoses([dump("default/w-0/uid: ", preemptionDiagnosis=preemption)])
        assert isinstance(found, Diagnosis)
        assert (found.failed, found.said) == ((), ())


@pytest.mark.parametrize(
    "line", ["dump diagnosis for ", "dump diagnosis for a/b/c: {x}", dump("a/b/c: ", suggestion=1)]
)
def test_a_diagnosis_that_cannot_be_read_is_broken(line: str) -> None:
    assert list(diagnoses([line])) == [Broken()]


UNFIT = f'{STAMP}schedule_one.go:1045] "Unable to schedule pod; no fit; waiting" '


def test_a_pod_that_fits_nowhere_is_read_with_the_error_of_the_attempt() -> None:
    error = r'err="0/5 nodes are available: 5 node(s) had untolerated taint {a: \"b\"}."'
    said = '0/5 nodes are available: 5 node(s) had untolerated taint {a: "b"}.'
    assert list(diagnoses([f'{UNFIT}pod="default/w-0" {error}', "x"])) == [Unfit("1122 10:00:01", "default/w-0", said)]


@pytest.mark.parametrize("rest", ["", 'pod="w-0" err="x"', 'pod="default/w-0" err=""', 'pod="default/w-0" err="x'])
def test_a_line_of_no_fit_that_cannot_be_read_is_broken(rest: str) -> None:
    assert list(diagnoses([UNFIT + rest])) == [Broken()]
