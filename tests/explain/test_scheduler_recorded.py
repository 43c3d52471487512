"""What the real schedulers remembered of gangs at the end of each recorded case, beside what we make of its objects."""

import gzip
import json
from collections import Counter
from collections.abc import Iterator

import pytest

from kubectl_koord.cluster.objects import summaries
from kubectl_koord.explain.scheduler import devices, gangs, quotas
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation import SchedulerReport
from tests.conformance.cases import CASES, VERSIONS, Case, Json, read_cases, snapshot_of

pytestmark = pytest.mark.untraced  # tracing takes it three times as long

EXPLAINED = Counter(
    {"waiting-in-permit": 17, "assumed-pods": 11, "reservation-counts": 3},
)
"""How often each reason explains what differs, in 855 answers of three versions."""


def at_the_end(case: Case, record: Json, version: str) -> Snapshot:
    """Return the cluster with the pods bound that were, and without the victims."""
    gone = {name for one in record["rounds"] for name in one["victims"]}
    bound = {name: node for one in record["rounds"] for name, node in one["bound"].items() if node}
    bound |= {name: node for name, node in (record.get("boundAfter") or {}).items() if node}
    items = []
    for item in case.cluster["items"]:
        name = item["metadata"]["name"]
        if item["kind"] == "Pod" and name in bound:
            items.append({**item, "spec": {**item["spec"], "nodeName": bound[name]}})
        elif item["kind"] != "Pod" or name not in gone:
            items.append(item)
    return snapshot_of({**case.cluster, "items": items}, VERSIONS[version])


def recorded() -> dict[tuple[str, str], Json]:
    lines = map(json.loads, gzip.decompress((CASES / "gangs-endpoint.txt.gz").read_bytes()).splitlines())
    return {(line["case"], line["version"]): line["gangs"] for line in lines}


def codes(report: SchedulerReport) -> Iterator[str]:
    return (one.code for item in report.items for one in item.differences)


@pytest.mark.untraced
def test_every_recorded_gang_agrees_or_differs_for_a_known_reason() -> None:
    answers, found, agreed = recorded(), Counter[str](), 0
    for case in read_cases(CASES):
        for version, record in case.records.items():
            answer = answers.pop((case.name, version), None)
            if answer is not None:
                said = summaries.gangs(json.dumps(answer).encode(), case.name)
                report = gangs(at_the_end(case, record, version), said, "recorded")
                assert report.verdict == "yes", (case.name, version, report.items)
                agreed += sum(1 for item in report.items if not item.differences)
                found.update(codes(report))
    assert not answers
    assert found == EXPLAINED
    assert agreed > 1000


@pytest.mark.untraced
def test_every_recorded_quota_agrees_but_for_runtimes_that_were_not_refreshed() -> None:
    found = Counter[str]()
    for case in read_cases(CASES, ("quota",)):
        for version, record in case.records.items():
            if record.get("quotasEndpoint") and not any(one["victims"] for one in record["rounds"]):
                said = summaries.quotas(json.dumps(record["quotasEndpoint"]).encode(), case.name)
                report = quotas(at_the_end(case, record, version), said, "recorded")
                assert report.verdict == "yes", (case.name, version, report.items)
                found.update(codes(report))
    assert set(found) == {"runtime-lag"}


def test_every_recorded_device_that_nobody_was_given_meanwhile_agrees() -> None:
    compared = 0
    for case in read_cases(CASES, ("device",)):
        for version, record in case.records.items():
            bound = any(one["bound"] or one["victims"] for one in record["rounds"]) or record.get("boundAfter")
            if record.get("deviceEndpoint") and not bound:
                said = summaries.devices(json.dumps(record["deviceEndpoint"]).encode(), case.name)
                report = devices(at_the_end(case, record, version), said, "recorded")
                assert set(codes(report)) <= {"gone-but-known", "assumed-pods"}, (case.name, version, report.items)
                compared += len(report.items)
    assert compared > 100
