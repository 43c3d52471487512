"""Recorded clusters: each way out, made by its JSON on the cluster's own objects, makes the answer yes."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.explain.why import why
from kubectl_koord.reports.pending import WhyReport
from kubectl_koord.simulation.subjects import again
from tests.conformance import VERSIONS, Case, read_cases, snapshot_of, subject_of
from tests.edits import edited

FOLDER = Path(__file__).parents[1] / "cases"


@cache
def cases() -> dict[str, Case]:
    return {case.name: case for case in read_cases(FOLDER)}


NAMES = tuple(sorted(case.name for case in read_cases(FOLDER)))
UNMENDED = "fix the cause first; whether that is enough is unknown."
UNPROVEN = {
    "gang-annotation-bad-min": UNMENDED,
    "gang-group-one-missing": UNMENDED,
    "gang-groups-differ": UNMENDED,
    "gang-mixed-scheduler": UNMENDED,
    "gated": UNMENDED,
    "topology-broken-chain": UNMENDED,
    "topology-cnt-other-name": UNMENDED,
    "filters-overhead-sidecar": "none of the changes tried lets it start, alone or in pairs.",
}


@cache
def answers(name: str) -> tuple[tuple[str, Subject, WhyReport], ...]:
    """Return what each version answers no to."""
    return tuple(_answers(cases()[name]))


def _answers(case: Case) -> Iterator[tuple[str, Subject, WhyReport]]:
    for recorded in case.records:
        snapshot = snapshot_of(case.cluster, VERSIONS[recorded])
        subject = subject_of(snapshot)
        report = why(snapshot, subject)
        if report.verdict == "no":
            yield VERSIONS[recorded], subject, report


@pytest.mark.parametrize("name", NAMES)
def test_every_way_out_made_by_its_json_makes_the_answer_yes(name: str) -> None:
    for version, subject, report in answers(name):
        for way in report.unblock:
            document: Any = msgspec.json.decode(msgspec.json.encode(way))
            assert document["edits"], way
            after = snapshot_of(edited(cases()[name].cluster, document["edits"]), version)
            later = again(after, subject.key, lone_pod=isinstance(subject, PodSubject))
            assert later is not None
            assert why(after, later).verdict == "yes", (version, way)


def test_every_no_has_a_way_out_or_says_why_there_is_none() -> None:
    reports = {(name, version): report for name in NAMES for version, _, report in answers(name)}
    unproven = {name: report.no_way_out for (name, _), report in reports.items() if not report.unblock}
    assert unproven == UNPROVEN
    assert not [key for key, report in reports.items() if report.unblock and report.no_way_out]
    exercised = {name for (name, _), report in reports.items() if report.unblock}
    assert (len(exercised), len(reports)) == (64, 210)
