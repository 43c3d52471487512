"""A recorded cluster as a document: a `v1` List in JSON, perhaps packed, that begins with how it was read."""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator
from gzip import GzipFile
from random import SystemRandom
from typing import IO, Any

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster import recorded
from kubectl_koord.cluster.kinds import KINDS
from kubectl_koord.cluster.recorded import Recording
from kubectl_koord.cluster.recording import fields
from kubectl_koord.cluster.recording.anonymous import Anonymous
from kubectl_koord.cluster.recording.recorder import Recorder
from kubectl_koord.cluster.recording.vocabulary import KNOWN
from kubectl_koord.cluster.recording.words import Seen, renamed

Tree = dict[str, Any]
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
    for kind, tree in _kept(recorder, _labels(recorder, labels)):
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
        for kind, tree in _kept(recorder, _labels(recorder, labels)):
            row = KINDS[kind]
            line = _item(row.api_version, row.object_kind, names.object(kind, tree) if names else tree)
            output.write(b",\n" + line)
            objects[kind] += 1
            sizes[kind] += len(line)
        output.write(b"\n]}\n")
    return Taken(dict(objects), dict(sizes), counted.size, recording)


def _packing(file: _Counted) -> GzipFile:
    return GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)


def _labels(recorder: Recorder, labels: Collection[str]) -> frozenset[str]:
    """Return the keys of labels that are kept: those that are wanted, and those that anything refers to."""
    found = set(labels)
    for kind, tree in recorder.objects():
        found.update(fields.referred(kind, tree))
    return frozenset(found)


def _kept(recorder: Recorder, wanted: frozenset[str]) -> Iterator[tuple[str, Tree]]:
    for kind, tree in recorder.objects():
        found = fields.kept(kind, tree, wanted)
        if found is not None:
            yield kind, found


def _item(version: str, kind: str, tree: Tree) -> bytes:
    return msgspec.json.encode({"apiVersion": version, "kind": kind, **tree})
