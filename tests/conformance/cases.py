"""Recorded clusters: reading them from archives and folders, and packing folders into archives.

A folder of a case holds `cluster.json`, `about.json` and one record per version. An archive holds the cases of one
family, a line each; tests/cases/README.md tells what they hold.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import msgspec

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation import subjects

CASES = Path(__file__).parents[1] / "cases"
VERSIONS = {"1.7.0": "1.7", "1.8.0": "1.8", "main": "main"}
PLAIN = ("docs", "filters", "gang", "multiple", "placement", "preempt", "random")
"""Families in which the amounts of the nodes, labels, taints and pod affinity decide, and nothing else."""

Json = dict[str, Any]

_SUFFIX = ".jsonl.gz"
_KEPT = (
    "koordinator",
    "topologyStatus",
    "silent",
    "firstStates",
    "rounds",
    "boundAfter",
    "victimConditions",
    "reservations",
    "allocatedFrom",
    "claims",
    "deviceEndpoint",
    "quotasEndpoint",
    "unstable",
)
"""What an archive keeps of a record; the rest says the same again, or only when it was recorded."""


class Named(msgspec.Struct, frozen=True):
    """The name of a case and its family."""

    name: str
    family: str


class _Recorded(msgspec.Struct, frozen=True):
    records: dict[str, msgspec.Raw]


class Case(Named, frozen=True):
    """One recorded cluster and what each scheduler did with it."""

    cluster: Json
    records: dict[str, Json]
    about: str = ""


def read_cases(folder: Path, families: Collection[str] = ()) -> Iterator[Case]:
    """Yield the cases of a folder, archives and case folders alike, in name order; of some families only if told."""
    for path in sorted(folder.iterdir()):
        if path.name.endswith(_SUFFIX):
            if not families or path.name.removesuffix(_SUFFIX) in families:
                lines = gzip.decompress(path.read_bytes()).splitlines()
                yield from (msgspec.json.decode(line, type=Case) for line in lines)
        elif (path / "about.json").is_file():
            case = _from_folder(path)
            if not families or case.family in families:
                yield case


def totals_of(folder: Path) -> dict[str, int]:
    """Return how many cases of a folder of archives were recorded with each version."""
    archives = (gzip.decompress(path.read_bytes()) for path in sorted(folder.glob(f"*{_SUFFIX}")))
    cases = [msgspec.json.decode(line, type=_Recorded) for archive in archives for line in archive.splitlines()]
    return {version: sum(name in case.records for case in cases) for name, version in VERSIONS.items()}


def names_of(folder: Path) -> dict[str, str]:
    """Return the family of each case of a folder by its name, without decoding the clusters."""
    named = (_named(path) for path in sorted(folder.iterdir()))
    return {one.name: one.family for some in named for one in some}


def _named(path: Path) -> list[Named]:
    if path.name.endswith(_SUFFIX):
        return [msgspec.json.decode(line, type=Named) for line in gzip.decompress(path.read_bytes()).splitlines()]
    about = path / "about.json"
    return [Named(path.name, json.loads(about.read_text())["family"])] if about.is_file() else []


def _from_folder(path: Path) -> Case:
    records = {v: json.loads((path / f"{v}.json").read_text()) for v in VERSIONS if (path / f"{v}.json").is_file()}
    about = json.loads((path / "about.json").read_text())
    cluster = json.loads((path / "cluster.json").read_text())
    return Case(path.name, about["family"], cluster, records, about.get("about", about.get("note", "")))


def pack(source: Path, target: Path, families: Collection[str] = ()) -> list[Path]:
    """Write the case folders of a folder as archives, one a family, and return their paths.

    A cluster is kept whole. The same folders give the same bytes.
    """
    by_family: dict[str, list[Case]] = defaultdict(list)
    for path in sorted(source.iterdir()):
        if (path / "about.json").is_file():
            case = _from_folder(path)
            records = {version: _kept(record) for version, record in case.records.items()}
            by_family[case.family].append(msgspec.structs.replace(case, records=records))
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for family, cases in sorted(by_family.items()):
        if not families or family in families:
            written.append(target / f"{family}{_SUFFIX}")
            lines = b"".join(msgspec.json.encode(case) + b"\n" for case in cases)
            written[-1].write_bytes(gzip.compress(lines, mtime=0))
    return written


def _kept(record: Json) -> Json:
    return {field: record[field] for field in _KEPT if record.get(field) is not None}


def snapshot_of(cluster: Json, version: str) -> Snapshot:
    """Return the cluster as `--snapshot` reads it, with everything absent that it does not hold."""
    collector = Collector()
    stored.take("cluster.json", json.dumps(cluster).encode(), collector)
    return collector.snapshot(moment="2026-11-21T00:00:00Z", source="file", chosen_version=version)


def subject_of(snapshot: Snapshot) -> Subject:
    """Return whom a case is about: the gang group (or pod) that waits with the highest priority."""
    pending = subjects.pending_subjects(snapshot)
    named = [s for s in pending if s.key.endswith(("/job", "/hp-job"))]
    return (named or sorted(pending, key=lambda s: (-max(p.priority for p in s.pending), s.key)))[0]
