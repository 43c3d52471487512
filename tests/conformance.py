"""Compare our answers with what the real schedulers did: agree, unknown or wrong, by family and version.

    python -m tests.conformance [--cases FOLDER] [NAME ...] [--show]

Cases are one line each of the `.jsonl.gz` files, or a folder each with `cluster.json`, `about.json`
and one record per version; tests/cases/README.md tells what they hold. An answer is `listed` when
it differs just as `differences.json` beside the cases says.
"""

import argparse
import gzip
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from kubectl_koord.cluster import files
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.topo import topo
from kubectl_koord.explain.why import why
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation import subjects

VERSIONS = {"1.7.0": "1.7", "1.8.0": "1.8", "main": "main"}
_SLOTS = re.compile(r"topology topologyNode ([^/;]*)/([^;:]*): (\d+)")
Json = dict[str, Any]


class Case(msgspec.Struct, frozen=True):
    """One recorded cluster and what each scheduler did with it."""

    name: str
    family: str
    cluster: Json
    records: dict[str, Json]


class Result(msgspec.Struct, frozen=True):
    """How one answer compares: `agree`, `unknown`, `listed` or `wrong`, and the fields that differ."""

    case: str
    family: str
    version: str
    grade: str
    with_alternatives: bool
    differing: tuple[str, ...]
    ours: Json
    theirs: Json


def read_cases(folder: Path) -> Iterator[Case]:
    """Yield the cases of a folder, archives and case folders alike, in name order."""
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".jsonl.gz"):
            lines = gzip.decompress(path.read_bytes()).splitlines()
            yield from (msgspec.json.decode(line, type=Case) for line in lines)
        elif (path / "about.json").is_file():
            yield _from_folder(path)


def _from_folder(path: Path) -> Case:
    records = {v: json.loads((path / f"{v}.json").read_text()) for v in VERSIONS if (path / f"{v}.json").is_file()}
    about = json.loads((path / "about.json").read_text())
    return Case(path.name, about["family"], json.loads((path / "cluster.json").read_text()), records)


def snapshot_of(cluster: Json, version: str) -> Snapshot:
    """Return the cluster as `--snapshot` reads it, with everything absent that it does not hold."""
    collector = Collector()
    files.take("cluster.json", json.dumps(cluster).encode(), collector)
    return collector.snapshot(moment="2026-11-21T00:00:00Z", source="file", chosen_version=version)


def subject_of(snapshot: Snapshot) -> Subject:
    """Return whom a case is about: the gang group (or pod) that waits with the highest priority."""
    pending = subjects.pending_subjects(snapshot)
    named = [s for s in pending if s.key.endswith(("/job", "/hp-job"))]
    return (named or sorted(pending, key=lambda s: (-max(p.priority for p in s.pending), s.key)))[0]


def real(record: Json, subject: Subject) -> Json:
    """Return what the scheduler did, as far as it came out the same when it was recorded again."""
    # Nobody watched for longer than a few attempts: a job with victims that is not bound is no "no".
    unstable = set(record.get("unstable") or ())
    rounds = record["rounds"]
    members = {pod.name for pod in subject.pending if _is_tried_with(subject, pod.gang)}
    any_victims = any(one["victims"] for one in rounds)
    first = rounds[0] if rounds else {"bound": {}, "victims": {}, "boundOrNominated": {}}
    bound = {name: node for name, node in first["bound"].items() if name in members}
    found: Json = {
        "placed": bool(bound) and not first["victims"],
        "runs": True if any(set(one["bound"]) & members for one in rounds) else (None if any_victims else False),
        "victims": first["victims"],
        "later": [one["victims"] for one in rounds[1:] if one["victims"]],
        "bound": bound,
        "nominations": {name: node for name, node in first["boundOrNominated"].items() if name in members and node},
        "slots": _slots_seen(record),
        "unstable": sorted(unstable),
    }
    return found


def _is_tried_with(subject: Subject, gang: str) -> bool:
    """Tell whether a gang names the same group as the one asked for: else it goes its own way."""
    if isinstance(subject, PodSubject):
        return True
    asked, other = subject.group.gangs.get(subject.group.own.key), subject.group.gangs.get(gang)
    return asked is not None and other is not None and asked.group == other.group


def _slots_seen(record: Json) -> list[dict[str, int]]:
    """Return the slot tables in the first conditions, each once."""
    seen: list[dict[str, int]] = []
    for states in record["firstStates"].values():
        for state in states:
            message = (state.get("scheduled") or {}).get("message", "")
            head = message.partition(" preemption:")[0]
            table = {f"{layer}/{name}": int(slots) for layer, name, slots in _SLOTS.findall(head)}
            if table and table not in seen:
                seen.append(table)
    return seen


class Difference(msgspec.Struct, frozen=True):
    """A known difference: which fields of which case, and why."""

    case: str
    versions: tuple[str, ...]
    fields: tuple[str, ...]
    reason: str


def listed(results: Iterable[Result], differences: Iterable[Difference]) -> list[Result]:
    """Return the results with known differences graded `listed`; a difference that is gone is wrong."""
    known = {(one.case, version): one.fields for one in differences for version in one.versions}
    graded = []
    for result in results:
        fields = known.get((result.case, result.version))
        if fields is None:
            graded.append(result)
        elif set(result.differing) == set(fields):
            graded.append(msgspec.structs.replace(result, grade="listed"))
        else:
            graded.append(msgspec.structs.replace(result, grade="wrong"))
    return graded


def read_differences(folder: Path) -> list[Difference]:
    """Return the differences listed beside the cases, none where there is no list."""
    path = folder / "differences.json"
    return msgspec.json.decode(path.read_bytes(), type=list[Difference]) if path.is_file() else []


def judge(case: Case, recorded: str) -> Result:
    """Return how our answers for one case and version compare with the record."""
    version = VERSIONS[recorded]
    snapshot = snapshot_of(case.cluster, version)
    subject = subject_of(snapshot)
    theirs = real(case.records[recorded], subject)
    because = why(snapshot, subject, brief=True)
    plan = preempt(snapshot, subject)
    ours = _outcomes(because, plan)
    differing = _nearest(ours, theirs, planned=because.desired_offer_slot is not None)
    differing += _tree_differs(snapshot, case.records[recorded])
    known = because.verdict != "unknown" and plan.verdict != "unknown"
    alternatives = len(because.alternatives) + len(plan.alternatives) > 0
    grade = "agree" if not differing and (known or alternatives) else ("wrong" if known or alternatives else "unknown")
    return Result(case.name, case.family, version, grade, alternatives, tuple(differing), {"outcomes": ours}, theirs)


def _tree_differs(snapshot: Snapshot, record: Json) -> list[str]:
    recorded = record.get("topologyStatus")
    report = topo(snapshot)
    if any(notice.code == "merged-domains" for notice in report.warnings):
        return []  # the parent is the one of whichever node came first from the scheduler's cache
    ours = [(row.layer, row.name, row.nodes, row.parent.name if row.parent else None) for row in report.domains]
    if recorded is None:
        return []
    theirs = [
        (
            entry["topologyInfo"]["topologyLayer"],
            entry["topologyInfo"]["topologyName"],
            entry.get("nodeNum", 0),
            entry["parentTopologyInfo"]["topologyName"] if entry.get("parentTopologyInfo") else None,
        )
        for entry in recorded
    ]
    return [] if ours == theirs else ["tree"]


def _outcomes(because: Any, plan: Any) -> list[Json]:  # noqa: ANN401
    """Return every outcome that we hold possible, each in the terms of `real`."""
    reasons = because.alternatives or (because,)
    plans = plan.alternatives or (plan,)
    return [_outcome(reason, one) for reason in reasons for one in plans]


def _outcome(reason: Any, plan: Any) -> Json:  # noqa: ANN401
    return {
        "placed": reason.verdict == "yes" or (reason.verdict == "unknown" and reason.placement is not None),
        "runs": plan.verdict == "yes",
        "victims": {victim.pod.partition("/")[2]: victim.node for victim in plan.victims},
        "later": [{v.pod.partition("/")[2]: v.node for v in one.victims} for one in plan.rounds[1:] if one.victims],
        "bound": {pod.partition("/")[2]: node for pod, node in (reason.placement or {}).items()},
        "nominations": {pod.partition("/")[2]: node for pod, node in plan.nominations.items()},
        "slots": slots_shown(reason),
    }


def slots_shown(reason: Any) -> dict[str, int] | None:  # noqa: ANN401
    """Return the slots that we show; None where we show none, as something not evaluated may lower them."""
    if any(notice.code == "slots-not-shown" for notice in getattr(reason, "warnings", ())):
        return None
    return {f"{row.layer}/{row.name}": row.offer_slots for row in reason.domains}


def _nearest(outcomes: Iterable[Json], theirs: Json, *, planned: bool) -> list[str]:
    """Return the fields in which the best of our outcomes differs, none when one agrees in all."""
    return min((_differing(ours, theirs, planned=planned) for ours in outcomes), key=len)


def _differing(ours: Json, theirs: Json, *, planned: bool) -> list[str]:
    unstable = set(theirs["unstable"])
    found = [field for field in ("placed", "runs") if theirs[field] not in {ours[field], None}]
    if "victims" not in unstable:
        found += ["victims"] if ours["victims"] != theirs["victims"] else []
        seen = ours["later"] if theirs["runs"] else ours["later"][: len(theirs["later"])]
        found += ["later"] if seen != theirs["later"] else []
    if planned and theirs["placed"] and "bound" not in unstable:
        surplus = {pod: ours["bound"].get(pod) for pod in theirs["bound"]}
        found += ["bound"] if surplus != theirs["bound"] else []
    if planned and theirs["victims"] and "nominations" not in unstable and ours["nominations"] != theirs["nominations"]:
        found.append("nominations")
    if theirs["slots"] and "slots" not in unstable and ours["slots"] not in [*theirs["slots"], None]:
        found.append("slots")
    return found


def summary(results: Iterable[Result]) -> str:
    """Return the table: agree, unknown, wrong and answers with alternatives, by family and version."""
    counted: Mapping[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for result in results:
        for family in (result.family, "all"):
            counted[family, result.version][result.grade] += 1
            counted[family, result.version]["alternatives"] += result.with_alternatives
    lines = [
        f"{'FAMILY':12} {'VERSION':8} {'AGREE':>6} {'UNKNOWN':>8} {'LISTED':>7} {'WRONG':>6} {'WITH ALTERNATIVES':>18}"
    ]
    for (family, version), grades in sorted(counted.items(), key=lambda item: (item[0][0] == "all", item[0])):
        row = f"{family:12} {version:8} {grades['agree']:6} {grades['unknown']:8} {grades['listed']:7}"
        lines.append(f"{row} {grades['wrong']:6} {grades['alternatives']:18}")
    return "\n".join(lines)


def main() -> int:
    """Print the table, and for each wrong answer both sides; exit 1 when any is wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--cases", type=Path, default=Path(__file__).parent / "cases")
    parser.add_argument("--show", action="store_true", help="print both sides of every wrong answer")
    options = parser.parse_args()
    results: list[Result] = []
    for case in read_cases(options.cases):
        if options.names and not any(case.name.startswith(name) for name in options.names):
            continue
        results.extend(judge(case, version) for version in case.records)
    results = listed(results, read_differences(options.cases))
    for result in results:
        if result.grade != "agree":
            sys.stdout.write(f"{result.grade}: {result.case} {result.version}: {', '.join(result.differing)}\n")
        if result.grade == "wrong" and options.show:
            sys.stdout.write(f"  theirs {json.dumps(result.theirs)}\n")
            for ours in result.ours["outcomes"]:
                sys.stdout.write(f"  ours   {json.dumps(ours)}\n")
    sys.stdout.write(summary(results) + "\n")
    return 1 if any(result.grade == "wrong" for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
