"""Recorded clusters: the cause code, decided from what the real schedulers said and did, not from our answer.

`silent` and no condition: held back before trying. `no cluster network topology`, `desiredOfferSlot: N, ,`, slot
tables and histograms name the others. Where even the empty nodes are too small, it never fits.
"""

import json
from functools import cache

import pytest

from kubectl_koord.explain.why import why
from kubectl_koord.reports.common import CauseCode
from kubectl_koord.reports.jobs import Cause
from tests.conformance.cases import CASES, PLAIN, VERSIONS, Case, read_cases, snapshot_of, subject_of

Expected = dict[str, tuple[str, CauseCode | None]]


def in_all(verdict: str, code: CauseCode | None) -> Expected:
    return dict.fromkeys(VERSIONS, (verdict, code))


def from_1_8(verdict: str, code: CauseCode) -> Expected:
    return in_all(verdict, code) | {"1.7.0": ("yes", None)}


EXPECTED: dict[str, Expected] = {
    "gang-annotation-bad-min": in_all("no", "gang-not-initialised"),  # silent; min-available is "three"
    "gang-group-one-missing": in_all("no", "group-member-missing"),  # silent; there is no default/b
    "gang-group-two": in_all("yes", None),  # all four bound
    "gang-groups-differ": in_all("no", "groups-differ"),  # a silent, b bound alone
    "gang-light-label": in_all("yes", None),
    "gang-mixed-scheduler": in_all("no", "mixed-schedulers"),  # three waited for the fourth, of default-scheduler
    "gang-no-podgroup": in_all("no", "no-podgroup"),  # silent; there is no PodGroup
    "gang-nonstrict-partial": in_all("no", "never-fits"),  # 2 Insufficient cpu; two nodes of 8 CPU, three pods of 8
    "gang-plain-partial": in_all("no", "never-fits"),
    "gang-plain-short": in_all("no", "never-fits"),  # 12 Insufficient cpu; pods of 8 CPU, nodes that never hold four
    "gang-policy-once-satisfied": in_all("yes", None),  # the new pod bound alone
    "gang-policy-waiting-and-running": in_all("yes", None),
    "gang-replacement-known": in_all("unknown", "replacement-waits"),  # bound here; elsewhere the same cluster waited
    "gang-too-few": in_all("no", "too-few-pods"),  # silent; three of four
    "gang-two-gangs-one-place": in_all("yes", None),  # the first of two like gangs
    "gated": in_all("no", "scheduling-gated"),
    "nominated-other": in_all("yes", None),
    "topology-bad-json": in_all("yes", None),  # placed without topology
    "topology-big-master": in_all("no", "never-fits"),  # tables below 7 whichever pod came first
    "topology-broken-chain": in_all("no", "broken-layer-chain"),  # no cluster network topology
    "topology-cnt-other-name": in_all("no", "no-topology"),  # no cluster network topology
    "topology-empty-strategy": in_all("yes", None),
    "topology-min-below-pods": in_all("yes", None),  # three of five bound
    "topology-min-below-pods-fails": in_all("no", "insufficient-slots"),  # desiredOfferSlot: 5, the best has 4
    "topology-missing-spine-label": in_all("no", "never-fits"),  # three nodes are in the tree, four are wanted
    "topology-multiple-fails": in_all("no", "insufficient-slots"),
    "topology-multiple-mustgather": from_1_8("no", "multiple-mismatch"),  # 8 slots for 6 pods by fours
    "topology-multiple-prefergather": from_1_8("no", "multiple-mismatch"),
    "topology-same-name-two-parents": in_all("yes", None),
    "topology-unknown-layer": in_all("no", "unknown-layer"),  # desiredOfferSlot: 4, , 0/12 nodes
}
SAID = {
    "mixed-schedulers": "all pending pods is already been attempted",
    "no-topology": "no cluster network topology",
    "broken-layer-chain": "no cluster network topology",
    "unknown-layer": "desiredOfferSlot: 4, ,",
    "insufficient-slots": "no candidate topology nodes can accommodate job",
    "multiple-mismatch": "podCountMultiple constraints",
}
SILENT = {
    "gang-not-initialised",
    "group-member-missing",
    "no-podgroup",
    "too-few-pods",
    "scheduling-gated",
}


@cache
def cases() -> dict[str, Case]:
    families = ("gang-", "topology-", "gated", "nominated-")
    found = {case.name: case for case in read_cases(CASES, PLAIN) if case.name.startswith(families)}
    # Pods that replace others are tried each for itself, and have causes of their own.
    return {name: case for name, case in found.items() if not name.startswith("gang-replace-")}


def test_the_table_has_every_recorded_case_of_these_families() -> None:
    assert set(EXPECTED) == set(cases())


@pytest.mark.parametrize("recorded", VERSIONS)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_cause_is_that_of_the_recording(name: str, recorded: str) -> None:
    case = cases()[name]
    snapshot = snapshot_of(case.cluster, VERSIONS[recorded])
    report = why(snapshot, subject_of(snapshot))
    assert (report.verdict, report.cause and report.cause.code) == EXPECTED[name][recorded]


@pytest.mark.parametrize("recorded", VERSIONS)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_table_agrees_with_what_the_scheduler_said(name: str, recorded: str) -> None:
    record = cases()[name].records[recorded]
    _, code = EXPECTED[name][recorded]
    if code in SAID:
        assert SAID[code] in json.dumps(record["firstStates"])
    if code in SILENT:
        assert record["silent"]
        assert not any(state.get("scheduled") for states in record["firstStates"].values() for state in states)


def test_room_for_the_minimum_alone_is_told() -> None:
    snapshot = snapshot_of(cases()["topology-min-below-pods-fails"].cluster, "1.8")
    report = why(snapshot, subject_of(snapshot))
    assert report.also_wrong == ("surplus-pods",)
    message = "3 of its 5 pods would fit and be enough, but the scheduler wants room for all at once."
    assert report.also == (Cause("surplus-pods", message, ("default/worker-3", "default/worker-4")),)
    assert "Run with 4 pods instead of 5 (leave out default/worker-4)" in [way.message for way in report.unblock]
