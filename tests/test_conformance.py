"""How answers are compared with records: what is packed, what a record shows, which answer is right, what is listed."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import known
from tests.conformance.cases import CASES, VERSIONS, names_of, pack, read_cases, snapshot_of, subject_of
from tests.conformance.grading import Result, differing, is_decided, summary, with_slots_of_others
from tests.conformance.known import Known, KnownResults
from tests.conformance.records import real

Json = dict[str, Any]
SEEN: Json = {
    "placed": False,
    "runs": False,
    "victims": {},
    "later": [],
    "watched": False,
    "whole": False,
    "bound": {},
    "nominations": {},
    "slots": [],
    "planFails": "",
    "byTrigger": False,
    "causes": [],
    "unstable": [],
}
SAID: Json = {
    "verdict": "no",
    "preemption": "no",
    "cause": "insufficient-slots",
    "reason": None,
    "planned": True,
    "placed": False,
    "runs": False,
    "victims": {},
    "later": [],
    "bound": {},
    "nominations": {},
    "slots": None,
}
PLAN_FAILS = SEEN | {"planFails": "at once", "causes": ["plan-not-executable"]}
PLACED = SEEN | {"placed": True, "runs": True, "bound": {"w-0": "n0"}, "whole": True}
FAILING = SAID | {"cause": "plan-not-executable"}


def result(case: str, version: str, grade: str, *fields: str) -> Result:
    return Result(
        case, "load", version, grade, full=False, with_alternatives=False, differing=fields, ours={}, theirs={}
    )


def folder_of_cases(home: Path) -> Path:
    folder = home / "recorded" / "load-1"
    folder.mkdir(parents=True)
    record = {"koordinator": "1.8.0", "silent": True, "rounds": [], "firstStates": {}, "events": [{}], "claims": None}
    for name, content in (
        ("about", {"name": "load-1", "family": "load", "note": "x"}),
        ("cluster", {"kind": "List", "items": [], "more": 1}),
        ("1.8.0", record),
    ):
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder.parent


def test_packing_keeps_the_whole_cluster_and_writes_the_same_bytes_again(tmp_path: Path) -> None:
    folder = folder_of_cases(tmp_path)

    (first,) = pack(folder, tmp_path / "first")
    (again,) = pack(folder, tmp_path / "again", ["load"])

    assert first.name == "load.jsonl.gz"
    assert first.read_bytes() == again.read_bytes()
    (case,) = read_cases(tmp_path / "first")
    assert (case.name, case.family, case.about) == ("load-1", "load", "x")
    assert case.cluster == {"kind": "List", "items": [], "more": 1}
    assert case.records == {"1.8.0": {"koordinator": "1.8.0", "silent": True, "rounds": [], "firstStates": {}}}
    assert pack(folder, tmp_path / "none", ["numa"]) == []


@pytest.mark.parametrize(
    ("name", "recorded", "plan_fails", "causes"),
    [
        ("load-001", "1.7.0", "at once", ["plan-not-executable"]),
        ("load-001", "1.8.0", "at once", ["plan-not-executable"]),
        ("load-004", "1.7.0", "at once", ["plan-not-executable"]),  # plan become invalid, and nothing else
        ("load-003", "1.7.0", "", []),  # executed at once
        ("claim-few-devices", "main", "at once", ["plan-not-executable"]),
        ("numa-gang-preferred-reserve", "1.8.0", "at once", ["plan-not-executable"]),  # refused at Reserve
        ("production-001", "1.8.0", "after victims", ["quota"]),
        ("docs-mustgather-no-lower", "1.8.0", "", ["insufficient-slots", "never-fits", "no-feasible-node"]),
        ("volume-lost-claim", "1.7.0", "", ["volumes-unbound"]),
        ("volume-immediate-unbound", "main", "", ["volumes-unbound"]),
        ("reservation-gang-none-match", "1.8.0", "", ["insufficient-slots", "never-fits", "no-feasible-node"]),
        ("claim-no-class", "1.8.0", "", ["claims-unallocated"]),
        ("topology-unknown-layer", "1.8.0", "", ["unknown-layer"]),
    ],
)
def test_the_words_of_a_record_tell_its_cause_and_whether_a_plan_failed(
    name: str, recorded: str, plan_fails: str, causes: list[str]
) -> None:
    case = next(case for case in read_cases(CASES, (names_of(CASES)[name],)) if case.name == name)
    subject = subject_of(snapshot_of(case.cluster, VERSIONS[recorded]))

    seen = real(case.records[recorded], subject)

    assert (seen["planFails"], seen["causes"]) == (plan_fails, causes)


@pytest.mark.parametrize(
    ("preemptor", "victims"),
    [
        ("default/rival", {"mine": "n0"}),  # the other's victim is not ours
        ("default/job", {"mine": "n0", "other": "n1"}),
        ("default/job,default/job-b", {"mine": "n0", "other": "n1"}),  # a group of gangs
    ],
)
def test_a_victim_whose_condition_names_another_job_is_not_compared(preemptor: str, victims: Json) -> None:
    case = next(case for case in read_cases(CASES, ("docs",)) if case.name == "docs-job-preemption")
    subject = subject_of(snapshot_of(case.cluster, "1.8"))
    said = "koord-scheduler: preempting to accommodate higher priority pods, preemptor: {}, triggerPod: default/w-0"
    record = {
        "silent": False,
        "firstStates": {},
        "rounds": [{"bound": {}, "boundOrNominated": {}, "victims": {"mine": "n0", "other": "n1"}}],
        "victimConditions": {"other": {"message": said.format(preemptor.replace("default/job", subject.key))}},
    }

    assert real(record, subject)["victims"] == victims


@pytest.mark.parametrize(
    ("said", "seen", "version", "expected"),
    [
        (FAILING, PLAN_FAILS, "1.7", []),
        (FAILING | {"verdict": "unknown"}, PLAN_FAILS | {"runs": True, "bound": {"w-0": "n"}}, "1.8", []),
        (FAILING, PLAN_FAILS, "1.8", ["verdict"]),  # it may be bound off plan
        (FAILING | {"verdict": "unknown"}, PLACED, "1.8", ["cause"]),
        (SAID, PLAN_FAILS, "1.8", ["cause"]),
        (SAID, PLAN_FAILS | {"byTrigger": True}, "1.8", []),
        (FAILING | {"slots": {"L/a": 2}}, PLAN_FAILS | {"slots": [{"L/a": 1}]}, "1.7", ["slots"]),
        (SAID, SEEN | {"causes": ["volumes-unbound"]}, "1.8", ["cause"]),
        (SAID, PLACED, "1.8", ["placed", "runs", "bound"]),
        (SAID, PLACED | {"unstable": ["bound"]}, "1.8", ["placed", "runs"]),
        (SAID | {"victims": {"v": "n"}}, SEEN | {"unstable": ["victims"]}, "1.8", []),
        (SAID | {"reason": "plan-not-executable"}, SEEN | {"runs": True}, "1.8", []),
        (SAID | {"reason": "plan-not-executable"}, SEEN | {"runs": True, "whole": True}, "1.8", ["runs"]),
        (SAID | {"runs": True}, SEEN | {"planFails": "after victims", "runs": None}, "1.8", ["runs"]),
    ],
)
def test_an_answer_differs_where_the_record_contradicts_it(
    said: Json, seen: Json, version: str, expected: list[str]
) -> None:
    assert differing(said, seen, version) == expected


def test_slots_that_were_seen_beside_a_plan_that_fails_may_be_those_of_another_trigger() -> None:
    other, racing = SAID | {"slots": {"L/a": 1}}, FAILING | {"slots": {"L/a": 3}}
    seen = PLAN_FAILS | {"slots": [{"L/a": 1}]}

    assert with_slots_of_others(racing, [other, racing], seen) == racing | {"slots": {"L/a": 1}}
    assert with_slots_of_others(racing, [racing], seen) == racing
    assert with_slots_of_others(other, [other, racing], PLAN_FAILS | {"slots": [{"L/a": 3}]}) == other


@pytest.mark.parametrize(
    ("said", "seen", "version", "expected"),
    [
        (FAILING, PLAN_FAILS, "1.7", True),
        (FAILING | {"verdict": "unknown"}, PLAN_FAILS, "1.7", False),
        (FAILING | {"verdict": "unknown", "preemption": "unknown"}, PLAN_FAILS, "main", True),
        (SAID | {"preemption": "unknown"}, SEEN, "1.8", False),
        (SAID | {"preemption": "unknown", "reason": "plan-not-executable"}, SEEN, "1.8", True),
        (SAID | {"preemption": "unknown", "reason": "plan-not-executable"}, SEEN, "1.7", False),
        (SAID | {"verdict": "unknown"}, SEEN, "1.8", False),
    ],
)
def test_unknown_is_all_that_can_be_said_only_where_a_plan_fails_and_not_in_1_7(
    said: Json, seen: Json, version: str, *, expected: bool
) -> None:
    assert is_decided(said, seen, version) == expected


LISTED = KnownResults(
    {"load": "why", "numa": "gone"},
    (
        Known("a", ("1.7", "1.8"), "unknown"),
        Known("b", ("1.8",), "wrong", ("cause", "slots"), "for good"),
        Known("c", ("main",), "wrong", ("victims",), "for good, too"),
    ),
)


def test_every_change_is_told_as_better_or_worse_than_listed() -> None:
    results = [
        result("a", "1.7", "unknown"),
        result("a", "1.8", "agree"),
        result("b", "1.8", "wrong", "slots"),
        result("c", "main", "wrong", "victims", "slots"),
        result("d", "1.7", "wrong", "placed"),
    ]

    assert [line.partition(";")[0] for line in known.complaints(LISTED, results)] == [
        "a 1.8 is better than listed: unknown -> agree",
        "b 1.8 is better than listed: wrong: cause, slots -> wrong: slots",
        "c main is worse than listed: wrong: victims -> wrong: victims, slots",
        "d 1.7 is worse than listed: agree -> wrong: placed",
    ]


def test_an_answer_that_is_wrong_as_listed_is_explained_by_a_reason_of_its_own() -> None:
    results = [
        result("a", "1.7", "unknown"),
        result("b", "1.8", "wrong", "cause", "slots"),
        result("c", "main", "wrong", "cause"),
        result("d", "1.7", "agree"),
    ]

    graded = known.with_reasons(LISTED, results)

    assert [one.grade for one in graded] == ["unknown", "explained", "wrong", "agree"]
    table = [line.split() for line in summary(graded).splitlines()]
    assert [row[:8] for row in table[1:]] == [
        ["load", "1.7", "1", "1", "0", "0", "50.0", "0.0"],
        ["load", "1.8", "0", "0", "1", "0", "0.0", "100.0"],
        ["load", "main", "0", "0", "0", "1", "0.0", "100.0"],
        ["load", "all", "1", "1", "1", "1", "25.0", "50.0"],
        ["all", "1.7", "1", "1", "0", "0", "50.0", "0.0"],
        ["all", "1.8", "0", "0", "1", "0", "0.0", "100.0"],
        ["all", "main", "0", "0", "0", "1", "0.0", "100.0"],
        ["all", "all", "1", "1", "1", "1", "25.0", "50.0"],
    ]


def test_the_table_of_a_page_counts_what_the_list_holds_by_version() -> None:
    page = "before | 1.7 | 1 |\n| 1.7 | 0 | 0 | 0 | 0 |\n| 1.8 | 9 | 9 | 9 | 9 |\n| other | 1 | 2 | 3 | 4 |\n"
    listed = KnownResults(LISTED.families, (*LISTED.results, Known("d", ("1.8",), "wrong", ("later",))))

    assert known.with_table(page, listed, {"1.7": 10, "1.8": 11}) == (
        "before | 1.7 | 1 |\n| 1.7 | 9 | 1 | 0 | 0 |\n| 1.8 | 8 | 1 | 1 | 1 |\n| other | 1 | 2 | 3 | 4 |\n"
    )


def test_renewing_keeps_what_was_not_run_and_the_reasons_that_still_hold(tmp_path: Path) -> None:
    results = [result("a", "1.8", "agree"), result("b", "1.8", "wrong", "slots"), result("d", "1.7", "unknown")]

    known.write(tmp_path, known.renewed(LISTED, results, dict.fromkeys("abcd", "load")))

    assert known.read(tmp_path) == KnownResults(
        {"load": "why"},
        (
            Known("a", ("1.7",), "unknown"),
            Known("b", ("1.8",), "wrong", ("slots",), "for good"),
            Known("c", ("main",), "wrong", ("victims",), "for good, too"),
            Known("d", ("1.7",), "unknown"),
        ),
    )


def test_a_reason_goes_with_the_result_that_it_was_given_for() -> None:
    worse = known.renewed(LISTED, [result("c", "main", "wrong", "slots")], dict.fromkeys("abc", "load"))

    assert worse.results[-1] == Known("c", ("main",), "wrong", ("slots",))
