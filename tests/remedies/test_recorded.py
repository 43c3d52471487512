"""Recorded clusters: each way out, made by its JSON on the cluster's own objects, makes the answer yes."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.explain.jobs.why import why
from kubectl_koord.reports.jobs.pending import WhyReport
from kubectl_koord.simulation.subjects import again
from tests.conformance import CASES, PLAIN, VERSIONS, Case, names_of, read_cases, snapshot_of, subject_of
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


@cache
def answers(name: str) -> tuple[tuple[str, Subject, WhyReport], ...]:
    """Return what each version answers no to."""
    return tuple(_answers(recorded_case(name)))


def _answers(case: Case) -> Iterator[tuple[str, Subject, WhyReport]]:
    for recorded in case.records:
        snapshot = snapshot_of(case.cluster, VERSIONS[recorded])
        subject = subject_of(snapshot)
        report = why(snapshot, subject)
        if report.verdict == "no":
            yield VERSIONS[recorded], subject, report


def _long(names: Iterable[str]) -> Iterator[Any]:
    """Yield the cases: of the families with many or large ones, seven of eight are for `make soak`."""
    others = 0
    for name in names:
        is_short = FAMILIES[name] in {*PLAIN} - {"random"}
        others += not is_short
        yield (
            name
            if is_short or others % (4 if FAMILIES[name] == "quota" else 8) == 0
            else pytest.param(name, marks=pytest.mark.soak)
        )


@pytest.mark.parametrize("name", [*_long(FAMILIES)])
def test_every_way_out_made_by_its_json_makes_the_answer_yes(name: str) -> None:
    for version, subject, report in answers(name):
        for way in report.unblock:
            document: Any = msgspec.json.decode(msgspec.json.encode(way))
            assert document["edits"], way
            after = snapshot_of(edited(recorded_case(name).cluster, document["edits"]), version)
            later = again(after, subject.key, lone_pod=isinstance(subject, PodSubject))
            assert later is not None
            assert why(after, later).verdict == "yes", (version, way)


@pytest.mark.no_cover  # tracing takes it three times as long
@pytest.mark.parametrize(
    "family", [pytest.param(one, marks=pytest.mark.soak if one == "random" else ()) for one in PLAIN]
)
def test_every_no_has_a_way_out_or_says_why_there_is_none(family: str) -> None:
    names = [name for name, its_family in FAMILIES.items() if its_family == family]
    reports = {(name, version): report for name in names for version, _, report in answers(name)}
    unproven = {name: report.no_way_out for (name, _), report in reports.items() if not report.unblock}
    assert unproven == {name: why_not for name, why_not in UNPROVEN.items() if name in names}
    assert not [key for key, report in reports.items() if report.unblock and report.no_way_out]
    assert reports
