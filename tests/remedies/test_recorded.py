"""Recorded clusters: each way out, made by its JSON on the cluster's own objects, makes the answer yes."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from kubectl_koord.engine.gangs import PodSubject, Subject
from kubectl_koord.explain.why import why
from kubectl_koord.reports.jobs import WhyReport
from kubectl_koord.simulation.subjects import again
from tests.conformance.cases import CASES, PLAIN, VERSIONS, Case, names_of, read_cases, snapshot_of, subject_of
from tests.edits import edited

FAMILIES = names_of(CASES)


@cache
def of_family(family: str) -> dict[str, Case]:
    return {case.name: case for case in read_cases(CASES, (family,))}


def recorded_case(name: str) -> Case:
    return of_family(FAMILIES[name])[name]


UNMENDED = "fix the cause first; whether that is enough is unknown."
REMEMBERED = "the result of any change depends on what the scheduler remembers about the gang."
TRIED = "none of the changes tried lets it start: smaller requests, evicting pods and more nodes like those there are."
UNPROVEN = {
    **{f"gang-replace-clear-{number}": TRIED for number in ("01", "02", "09", "19")},
    **{f"gang-replace-clear-{number}": REMEMBERED for number in ("06", "10", "14")},
    **{f"gang-replace-random-{number}": REMEMBERED for number in ("00", "06", "09", "12")},
    "gang-replace-restart-topology-preempt": REMEMBERED,
    "gang-replace-restarted-topology-preempt": REMEMBERED,
    "gang-replace-topology-elsewhere": REMEMBERED,
    "gang-replace-topology-never-together": REMEMBERED,
    "gang-annotation-bad-min": UNMENDED,
    "gang-group-one-missing": UNMENDED,
    "gang-groups-differ": UNMENDED,
    "gang-mixed-scheduler": UNMENDED,
    "gated": UNMENDED,
    "topology-broken-chain": UNMENDED,
    "topology-cnt-other-name": UNMENDED,
    "filters-overhead-sidecar": (
        "none of the changes tried lets it start, alone or in pairs: another topology spec; by counting slots, these"
        " would not help: more nodes like those there are."
    ),
}


def answers(case: Case) -> Iterator[tuple[str, Subject, WhyReport]]:
    """Yield what each version answers no to."""
    for recorded in case.records:
        snapshot = snapshot_of(case.cluster, VERSIONS[recorded])
        subject = subject_of(snapshot)
        report = why(snapshot, subject)
        if report.verdict == "no":
            yield VERSIONS[recorded], subject, report


def _long(names: Iterable[str]) -> Iterator[Any]:
    """Yield the cases: of the families with many or large ones, most are for `make soak`.

    Those of quotas are traced: tracing takes three times as long.
    """
    others = 0
    for name in names:
        is_short = FAMILIES[name] in {*PLAIN} - {"gang", "random"}
        others += not is_short
        is_asked = is_short or others % (8 if FAMILIES[name] in {"gang", "quota"} else 16) == 0
        marks = [] if is_asked else [pytest.mark.soak]
        yield pytest.param(name, marks=marks if FAMILIES[name] == "quota" else [*marks, pytest.mark.untraced])


@pytest.mark.parametrize("name", [*_long(FAMILIES)])
def test_every_way_out_made_by_its_json_makes_the_answer_yes_and_none_says_why(name: str) -> None:
    unproven = []
    for version, subject, report in answers(recorded_case(name)):
        for way in report.unblock:
            document: Any = msgspec.json.decode(msgspec.json.encode(way))
            assert document["edits"], way
            after = snapshot_of(edited(recorded_case(name).cluster, document["edits"]), version)
            later = again(after, subject.key, lone_pod=isinstance(subject, PodSubject))
            assert later is not None
            assert why(after, later).verdict == "yes", (version, way)
        assert not (report.unblock and report.no_way_out)
        unproven += [] if report.unblock else [report.no_way_out]
    if FAMILIES[name] in PLAIN:
        assert unproven[-1:] == [UNPROVEN[name]] if name in UNPROVEN else not unproven


def test_what_has_no_way_out_is_a_recorded_case() -> None:
    assert {FAMILIES[name] for name in UNPROVEN} <= {*PLAIN}
