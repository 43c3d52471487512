"""A Snapshot of files, of a recorded cluster, or of the embedded demo cluster."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from importlib import resources

from msgspec import structs

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.collecting.installed import installation
from kubectl_koord.cluster.kinds import KINDS, LEASE
from kubectl_koord.cluster.recorded import Recording
from kubectl_koord.cluster.source import Join, more_kinds, now
from kubectl_koord.cluster.stored import files
from kubectl_koord.model.snapshot import Gap, Snapshot

MOMENT_OF_DEMO = "2026-11-01T10:00:00Z"


def from_files(
    names: Iterable[str],
    chosen_version: str,
    seen: dict[str, int] | None = None,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    traced: bool = False,
    installed: bool = False,
    join: Join | None = None,
) -> Snapshot:
    """Return the cluster that the files hold (`traced`: with a trace of every pod); what they hold not is absent.

    `installed` tells whether how Koordinator is installed is wanted, too.
    `seen` is counted up, by kind, while objects come; `join` is called when all are there. Of a recorded cluster there
    are the `kinds` that would be read of it live, with the same gaps: the answer is that of its moment.

    Raises:
        KoordError: naming the file, and the object and field in it, that cannot be read.

    """
    collector = Collector(seen=seen, traced=traced)
    files.read(names, collector)
    if collector.recording is not None:
        return _recorded(collector, collector.recording, kinds, chosen_version, installed=installed, join=join)
    return _whole(collector, now(), "file", chosen_version, installed=installed, join=join)


def _recorded(
    collector: Collector,
    recording: Recording,
    kinds: Sequence[str],
    chosen_version: str,
    *,
    installed: bool,
    join: Join | None,
) -> Snapshot:
    if join:
        join(collector, recording.moment, _gaps(recording, {*kinds}))
    wanted = {*kinds, *more_kinds(kinds, collector)}
    for kind in KINDS.keys() - wanted:
        collector.forget(kind)
    collector.crd_version = recording.crd_version
    gaps = _gaps(recording, wanted)
    snapshot = collector.snapshot(
        moment=recording.moment,
        source="file",
        gaps=gaps,
        chosen_version=chosen_version,
        namespace_only=recording.namespace_only,
        lease_seen=recording.lease_seen if LEASE.name in wanted else None,
    )
    if not installed:
        return snapshot
    there = structs.replace(installation(collector), whole=recording.kinds is not None)
    return structs.replace(snapshot, gaps=tuple(sorted(gaps, key=lambda gap: gap.kind)), installation=there)


def _gaps(recording: Recording, wanted: AbstractSet[str]) -> list[Gap]:
    """Return what could not be read of these kinds, and what was not."""
    gaps = [gap for gap in recording.gaps if gap.kind in wanted]
    read = wanted if recording.kinds is None else recording.kinds
    return gaps + [_not_held(kind) for kind in KINDS if kind in wanted and kind not in read]


def _not_held(kind: str) -> Gap:
    return Gap(kind, "not-in-input", f"snapshot contains no {kind}; assuming none exist")


def demo(chosen_version: str, *, traced: bool = False, installed: bool = False, join: Join | None = None) -> Snapshot:
    """Return the embedded demo cluster, at the moment for which it was made; `join` is called when it is there."""
    collector = Collector(traced=traced)
    take_demo(collector)
    return _whole(collector, MOMENT_OF_DEMO, "demo", chosen_version, installed=installed, join=join)


def take_demo(collector: Collector) -> None:
    """Take every object of the embedded demo cluster."""
    files.take("demo", resources.files("kubectl_koord.cluster").joinpath("demo.json").read_bytes(), collector)


def _whole(
    collector: Collector, moment: str, source: str, chosen_version: str, *, installed: bool, join: Join | None
) -> Snapshot:
    gaps = not_in_input(collector)  # what is joined is not in the input
    if join:
        join(collector, moment, gaps)
    snapshot = collector.snapshot(moment=moment, source=source, gaps=gaps, chosen_version=chosen_version)
    there = structs.replace(installation(collector), whole=False)
    return structs.replace(snapshot, installation=there) if installed else snapshot


def not_in_input(collector: Collector) -> list[Gap]:
    """Return a gap for each kind of which a file holds nothing."""
    return [_not_held(kind) for kind in missing_kinds(collector)]


def missing_kinds(collector: Collector) -> tuple[str, ...]:
    """Return the kinds that answers rest on and that the input holds nothing of."""
    return tuple(name for name, kind in KINDS.items() if kind.in_files and name not in collector.kinds)
