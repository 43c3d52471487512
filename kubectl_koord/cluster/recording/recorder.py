"""Writing a snapshot file: which requests it records, and that it is written whole or not at all."""

import contextlib
import errno
import os
import secrets
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from gzip import GzipFile
from random import SystemRandom
from types import TracebackType
from typing import IO, Any, Self
from urllib.parse import quote

import msgspec
from msgspec import Struct, structs

from kubectl_koord import leaving
from kubectl_koord.cluster import recorded, source, stored
from kubectl_koord.cluster.api.transport import Transport
from kubectl_koord.cluster.around import BESIDE, OWNING, Around, is_around
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import EVENT, KINDS, LEASE, POD, RECORDED_KINDS, only_named
from kubectl_koord.cluster.lists import ListRequest
from kubectl_koord.cluster.objects import jobs
from kubectl_koord.cluster.objects.events import REASONS
from kubectl_koord.cluster.objects.pod_states import RecordedPod, ReportedEvent
from kubectl_koord.cluster.objects.pods import PodPool
from kubectl_koord.cluster.one_job import read_around
from kubectl_koord.cluster.recorded import Recording, RecordingMeta
from kubectl_koord.cluster.recording import kept
from kubectl_koord.cluster.recording.anonymous import KNOWN, Anonymous, Seen, renamed
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

Tree = dict[str, Any]
_FAST = 1


class _Surroundings(Around):
    """Takes what lies around the scheduler, as `Around` does, and yields of each object what a snapshot holds."""

    def __init__(self) -> None:
        super().__init__(with_pods=False)
        self._trees: dict[tuple[str, str, str], bytes] = {}
        self.makers: set[tuple[str, str]] = set()

    def take(self, written: Mapping[str, Any]) -> None:
        """Take an owner of pods or a queue; what else there is the recorder has itself."""
        kind, version = jobs.text(written, "kind"), jobs.text(written, "apiVersion")
        if kind in BESIDE or (version, kind) in _OF_RECORDER or not is_around(written) or _is_old(kind, written):
            return
        self._trees[version, kind, jobs.key(written)] = msgspec.json.encode(kept.kept_around(written))
        self.makers.update((one.api_version, one.kind) for one in jobs.references(written)[:1])

    def take_event(self, written: ReportedEvent) -> None:
        """Leave events to the recorder."""

    def trees(self) -> Iterator[tuple[str, str, str, Tree]]:
        """Yield apiVersion, kind, `namespace/name` and fields of each object."""
        for (version, kind, key), tree in sorted(self._trees.items()):
            yield version, kind, key, msgspec.json.decode(tree)


_OF_RECORDER = {(row.api_version, row.object_kind) for row in KINDS.values() if row.name not in OWNING}


def _is_old(kind: str, written: Mapping[str, Any]) -> bool:
    """Tell whether it is a ReplicaSet that a Deployment keeps for going back."""
    sizes = (jobs.whole(written, part, "replicas") for part in ("spec", "status"))
    return kind == "ReplicaSet" and not any(sizes)


class Recorder(Collector):
    """Takes objects as any collector, and yields them again."""

    def __init__(self, pool: PodPool | None = None, seen: dict[str, int] | None = None) -> None:
        super().__init__(pool, seen)
        self.messages = {}  # what is kept is JSON
        self._kept: list[tuple[str, bytes]] = []
        self.wire_types = {**self.wire_types, POD.name: RecordedPod, EVENT.name: ReportedEvent}
        self.around: _Surroundings = _Surroundings()

    def add_all(self, kind: str, written: Sequence[Any]) -> None:
        """Take decoded objects of one kind, as `Collector` does, and keep the fields that were decoded."""
        if written:
            try:
                self._kept.append((kind, zlib.compress(msgspec.json.encode(written), _FAST)))
            except UnicodeEncodeError:
                raise KoordError(say("error: a {kind} has text that is not Unicode", kind=kind)) from None
        if kind == POD.name:
            self.around.makers.update(
                (one.api_version, one.kind) for pod in written for one in pod.metadata.owner_references or ()
            )
        super().add_all(kind, written)

    def part(self) -> "Recorder":
        """Return an empty recorder for a part of this cluster."""
        return Recorder(self._pool, self._seen)

    def merge(self, part: Collector) -> None:
        """Take over everything that a part has taken and kept."""
        super().merge(part)
        if isinstance(part, Recorder):
            self._kept += part._kept  # noqa: SLF001
            self.around.makers |= part.around.makers

    def objects(self) -> Iterator[tuple[str, Tree]]:
        """Yield the kind and the fields of each object, in the order in which they came."""
        for kind, packed in self._kept:
            for tree in msgspec.json.decode(zlib.decompress(packed)):
                yield kind, tree


_HEAD = b'{"apiVersion":"v1","kind":"List","items":[\n'


class Taken(Struct, frozen=True):
    """What a snapshot holds: objects and bytes by kind, its own bytes as written, and how it was read."""

    objects: dict[str, int]
    sizes: dict[str, int]
    packed: int
    recording: Recording


class _Counted:
    """A file that counts what is written to it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.size = 0

    def write(self, content: bytes) -> int:
        self.size += len(content)
        return self._file.write(content)

    def flush(self) -> None:
        self._file.flush()


def new_names(recorder: Recorder, recording: Recording, labels: Collection[str] = ()) -> Anonymous:
    """Return what gives the objects of a cluster other names: others each time.

    Args:
        recorder: has taken the objects.
        recording: how they were read.
        labels: as `write` has them.
    """
    seen = Seen()
    seen(recording.namespace_only)
    learning = Anonymous(seen)
    for _, kind, tree in _kept(recorder, _labels(recorder, labels)):
        learning.object(kind, tree)
    for gap in recording.gaps:
        learning.gap(gap)
    return Anonymous(renamed(seen, KNOWN, SystemRandom()), seen.names)


def write(
    recorder: Recorder,
    recording: Recording,
    file: IO[bytes],
    *,
    names: Anonymous | None = None,
    labels: Collection[str] = (),
    packed: bool = True,
) -> Taken:
    """Write a cluster, and return what was written.

    Args:
        recorder: has taken its objects.
        recording: how it was read.
        file: takes the document.
        names: gives them other names.
        labels: keys of labels that are kept although nothing refers to them.
        packed: whether with gzip.
    """
    if names:
        gaps = [names.gap(gap) for gap in recording.gaps]
        namespace = names.name(recording.namespace_only)
        recording = structs.replace(recording, gaps=gaps, namespace_only=namespace, anonymized=True)
    objects, sizes = Counter[str](), Counter[str]()
    counted = _Counted(file)
    with _packing(counted) if packed else contextlib.nullcontext(counted) as output:
        output.write(_HEAD + _item(recorded.API_VERSION, recorded.KIND, msgspec.to_builtins(recording)))
        for version, kind, tree in _kept(recorder, _labels(recorder, labels)):
            object_kind = KINDS[kind].object_kind if kind in KINDS else kind
            line = _item(version, object_kind, names.object(kind, tree) if names else tree)
            output.write(b",\n" + line)
            objects[kind] += 1
            sizes[kind] += len(line)
        output.write(b"\n]}\n")
    return Taken(dict(objects), dict(sizes), counted.size, recording)


def _packing(file: _Counted) -> GzipFile:
    return GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)


def _labels(recorder: Recorder, labels: Collection[str]) -> frozenset[str]:
    """Return the keys of labels that are kept: those that are wanted, and those that anything refers to."""
    found = {*labels, *kept.OF_OWNERS}
    for kind, tree in recorder.objects():
        found.update(kept.referred(kind, tree))
    for *_, tree in recorder.around.trees():
        found.update(kept.referred_keys(tree))
    return frozenset(found)


def _kept(recorder: Recorder, wanted: frozenset[str]) -> Iterator[tuple[str, str, Tree]]:
    """Yield apiVersion, kind and fields of each object; one that is read for two reasons once."""
    parts: dict[tuple[str, str], Tree] = {}
    for kind, tree in recorder.objects():
        found = kept.kept_fields(kind, tree, wanted)
        if found is not None and kind in OWNING:
            parts[kind, jobs.key(found)] = found
        elif found is not None:
            yield KINDS[kind].api_version, kind, found
    for version, kind, key, tree in recorder.around.trees():
        found = kept.reduced_around(tree, wanted)
        part = parts.pop((kind, key), None)
        yield version, kind, kept.joined(found, part) if part else found
    for (kind, _), tree in parts.items():
        yield KINDS[kind].api_version, kind, tree


def _item(version: str, kind: str, tree: Tree) -> bytes:
    return msgspec.json.encode({"apiVersion": version, "kind": kind, **tree})


_META = RecordingMeta(name="cluster")


def live(
    transport: Transport, namespace: Callable[[], str], seen: dict[str, int] | None = None, home: str = ""
) -> tuple[Recorder, Recording]:
    """Return the cluster behind a transport, and how it was read; `seen` is counted up, by kind, while objects come.

    `home` is as `source.read` has it. Raises KoordError when the server cannot be reached or answers with anything but
    a list or a refusal.
    """
    recorder = Recorder(seen=seen)
    recorder.looked_in = home
    found = source.read(transport, source.requests(RECORDED_KINDS), namespace, recorder, home=home)
    narrowed = bool(found.namespace_only)
    gaps = source.absorb(found, recorder)
    gaps += source.with_descheduler(transport, namespace, recorder, gaps)
    for selected in (*(f"reason={reason},type!=Warning" for reason in REASONS), "type=Warning"):
        also = source.read(transport, [_events(selected)], namespace, recorder)
        narrowed = narrowed or bool(also.namespace_only)
        gaps += source.absorb(also, recorder)
    gaps += read_around(recorder.around, transport, recorder.around.makers)
    manager = ListRequest(LEASE.name, f"{LEASE.path('kube-system')}?{only_named(jobs.MANAGER)}")
    source.absorb(source.read(transport, [manager], namespace, recorder), recorder)
    source.detect_version(transport, recorder, "")
    return recorder, Recording(
        metadata=_META,
        moment=source.now(),
        kinds=[*RECORDED_KINDS, EVENT.name],
        crd_version=recorder.crd_version,
        lease_seen=source.lease_seen(found),
        namespace_only=namespace() if narrowed else "",
        around=True,
        gaps=list({gap.kind: gap for gap in reversed(gaps)}.values())[::-1],
    )


def _events(selected: str) -> ListRequest:
    query = f"fieldSelector={quote(selected, safe='')}"
    return ListRequest(
        EVENT.name, f"{EVENT.path()}?{query}", f"{EVENT.api}/namespaces/{{namespace}}/{EVENT.plural}?{query}"
    )


def from_files(names: Iterable[str], seen: dict[str, int] | None = None) -> tuple[Recorder, Recording]:
    """Return the cluster in files, and how it was read: from the snapshot file, if one of them is a snapshot.

    Raises KoordError, naming the file, and the object and field in it, that cannot be read.
    """
    recorder = Recorder(seen=seen)
    stored.read(names, recorder)
    return recorder, recorder.recording or _of_input(recorder, source.now())


def demo() -> tuple[Recorder, Recording]:
    """Return the embedded demo cluster, and the moment for which it was made."""
    recorder = Recorder()
    stored.take_demo(recorder)
    return recorder, _of_input(recorder, stored.MOMENT_OF_DEMO)


def _of_input(recorder: Recorder, moment: str) -> Recording:
    gaps = stored.not_in_input(recorder)
    return Recording(metadata=_META, moment=moment, around=True, crd_version=recorder.crd_version, gaps=gaps)


NAMELESS: int = getattr(os, "O_TMPFILE", 0)
"""Makes a file without a name, 0 where the system has none."""
_OWNERS = 0o600
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}
"""What a file system answers on which a file has one name."""
_NO_NAMELESS = {errno.EISDIR, errno.ENOENT, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP}
"""What is answered where there is no file without a name."""


_OTHER_FORMATS = frozenset({"bz2", "lz4", "tar", "tgz", "xz", "yaml", "yml", "zip", "zst"})
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
"""What the system answers where a file takes no more."""


def is_packed(path: str) -> bool:
    """Tell whether a file of this name is packed: all but what is named as JSON."""
    return not path.lower().endswith(".json")


def check_ending(path: str) -> None:
    """Refuse a name that promises another format. Raises KoordError when it does."""
    ending = os.path.splitext(path)[1].lower().removeprefix(".")  # noqa: PTH122
    if ending in _OTHER_FORMATS:
        raise KoordError(
            say(
                "error: a snapshot is JSON (.json) or packed JSON (.json.gz), not .{ending}: {path!r}",
                ending=ending,
                path=path,
            )
        )


class NewFile:
    """A new file that has no name until it is complete: whatever ends the writing, kill -9 too, leaves nothing behind.

    Where there are no such files it has another name meanwhile, which every ending but kill -9 takes away.
    """

    def __init__(self, path: str) -> None:
        """Check that the file does not exist yet. Raises KoordError when there is, or no file can be made there."""
        self._path = path
        self._beside = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{secrets.token_hex(4)}")  # noqa: PTH118, PTH119, PTH120
        if os.path.lexists(path):
            raise self._exists()
        self._has_name = False

    def __enter__(self) -> Self:
        number = self._nameless()
        if number is None:
            number = self._named()
        os.fchmod(number, _OWNERS)  # whatever the umask
        self._file = os.fdopen(number, "wb")
        return self

    def _nameless(self) -> int | None:
        if not NAMELESS:
            return None
        try:
            return os.open(os.path.dirname(self._path) or ".", os.O_WRONLY | NAMELESS, _OWNERS)  # noqa: PTH120
        except OSError as problem:
            if problem.errno in _NO_NAMELESS:
                return None
            raise self._failed(problem) from None

    def _named(self) -> int:
        self._has_name = True
        with leaving.SignalsBlocked():
            try:
                number = os.open(self._beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNERS)
            except OSError as problem:
                raise self._failed(problem) from None
            leaving.first(self._remove)
        return number

    @property
    def file(self) -> IO[bytes]:
        """What is written to."""
        return self._file

    def complete(self) -> None:
        """Give the file its name.

        Raises KoordError when there is a file of this name by now, or it could not be written.
        """
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._name()
        except FileExistsError:
            raise self._exists() from None
        except OSError as problem:
            raise self._failed(problem) from None

    def _name(self) -> None:
        if not self._has_name:
            folder = os.open("/", os.O_RDONLY)  # given one, Python follows the link to the file
            try:
                os.link(f"/proc/self/fd/{self._file.fileno()}", self._path, src_dir_fd=folder)
            finally:
                os.close(folder)
            return
        try:
            os.link(self._beside, self._path, follow_symlinks=False)  # unlike a rename it replaces nothing
        except OSError as problem:
            if problem.errno not in _NO_LINKS or os.path.lexists(self._path):
                raise
            os.rename(self._beside, self._path)  # noqa: PTH104

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Remove the temporary name. Raises KoordError when the file did not take what was written to it."""
        try:
            with self._named_where_full():
                self._file.close()
                if isinstance(error, OSError):
                    raise error
        finally:
            self._remove()
            leaving.no_more(self._remove)

    @contextlib.contextmanager
    def _named_where_full(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            if problem.errno not in _FULL or problem.filename:
                raise
            raise self._failed(problem) from None

    def _remove(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._beside)  # noqa: PTH108

    def _exists(self) -> KoordError:
        return KoordError(say("error: the file {path!r} exists, and is not overwritten", path=self._path))

    def _failed(self, problem: OSError) -> KoordError:
        return KoordError(
            say("error: the file {path!r} cannot be written: {strerror}", path=self._path, strerror=problem.strerror)
        )
