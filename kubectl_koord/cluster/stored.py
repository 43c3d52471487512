"""A cluster from files: a `v1` List in JSON or YAML, several YAML documents, each perhaps gzipped.

Lists are decoded slice by slice (see `stream`; YAML item by item), also packed ones and those on standard input.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from importlib import resources
from typing import Any

import msgspec
from msgspec import structs

from kubectl_koord.cluster import recorded
from kubectl_koord.cluster.around import BESIDE, TAKEN_TWICE, Around
from kubectl_koord.cluster.bounds import BOUNDS, Bounds, Meter, TooLargeError
from kubectl_koord.cluster.collect import Collector, installation
from kubectl_koord.cluster.files import by_line, opened, told, unpacked, whole
from kubectl_koord.cluster.kinds import EVENT, KINDS, LEASE, POD, WIRE_TYPES
from kubectl_koord.cluster.objects import scheduler
from kubectl_koord.cluster.objects.pod_states import ReportedEvent, StatedPod
from kubectl_koord.cluster.reading import (
    LONGEST_HEAD,
    SLICE,
    ListHead,
    Rejoined,
    Slice,
    Source,
    beginning,
    completed,
    item_kind,
    read_slices,
)
from kubectl_koord.cluster.recorded import Recording
from kubectl_koord.cluster.scheduler_api import LONGEST
from kubectl_koord.cluster.source import Join, more_kinds, now
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model.snapshot import Gap, Snapshot

_KIND_FIRST = re.compile(rb'\{\s*"apiVersion":\s*"[^"\\]*",\s*"kind":\s*"([A-Za-z]+)"')
_BEGINS_JSON = {b"{", b"[", b""}
_LONGEST_NAME = 253
_DEFINITION = "CustomResourceDefinition"
_STATUS = "Status"
_MORE = "trailing characters"
_DUMP = "of `kubectl cluster-info dump` read the folder that --output-directory=DIR writes"
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


_STATED, _REPORTED = msgspec.json.Decoder(StatedPod), msgspec.json.Decoder(ReportedEvent)
_SHARED = frozenset(kind.object_kind for name, kind in KINDS.items() if name != kind.object_kind)
"""The `kind`s that objects of several API groups have."""


class _Head(ListHead, frozen=True, rename="camel"):
    items: list[msgspec.Raw] | None = None


class _Status(msgspec.Struct):
    status: str = ""
    message: str = ""


class _Kind(msgspec.Struct, rename="camel"):
    kind: str = ""
    api_version: str = ""


def read(names: Iterable[str], collector: Collector, size: int = SLICE, bounds: Bounds = BOUNDS) -> None:
    """Take every object of the files; `-` is standard input.

    Args:
        names: paths, read in this order: of two objects of one name the later counts.
        collector: takes the objects.
        size: how many bytes of a JSON List to decode at once.
        bounds: those of all the files together.

    Raises KoordError, naming the file, and the object and field in it, that cannot be read.
    """
    meter = Meter(bounds)
    for name in names:
        with opened(name) as source:
            _File(name, collector, meter).read(source, size)


def take(name: str, content: bytes, collector: Collector) -> None:
    """Take every object of one file's content; the name is for error messages."""
    _File(name, collector, Meter()).read(io.BytesIO(content), SLICE)


class _File:
    """Takes the objects of one file."""

    def __init__(self, name: str, collector: Collector, meter: Meter) -> None:
        self._name = name
        self._collector = collector
        self._meter = meter
        self._alike: dict[str, Any] = {}
        self._list = ListHead()
        self._nameless: list[msgspec.Raw] = []  # items of which the list has not yet said what they are
        self._types = collector.wire_types
        self._decoders = {kind: msgspec.json.Decoder(wired) for kind, wired in self._types.items()}
        self._around = collector.around
        self._takes_pods = collector.around is not None and collector.around.with_pods
        twice = TAKEN_TWICE | BESIDE if self._takes_pods else TAKEN_TWICE - {POD.name}
        self._one_by_one = _SHARED | (twice if collector.around else set())

    def read(self, source: Source, size: int) -> None:
        """Take everything."""
        head, source = unpacked(source)
        if head.lstrip()[:1] in _BEGINS_JSON:
            self._read_json(source, size)
        else:
            self._read_yaml(source)

    def _read_json(self, source: Source, size: int) -> None:
        head, found = beginning(source, self._meter.bounds)
        if not head.strip():
            raise KoordError(say("error: {name}: the file is empty", name=self._name))
        try:
            if found is not None:
                self._list = found.outside
                said = read_slices(Rejoined(head, source), found, self._take, size, self._meter.bounds)
                self._take_nameless(said)
            elif head.lstrip()[:1] in _BEGINS_JSON:
                self._take_whole(head)
            else:
                self._read_yaml(io.BytesIO(head))
        except _NO_JSON as problem:
            if _MORE in str(problem):
                raise KoordError(
                    say("error: {name}: several JSON documents in one file: {dump}", name=self._name, dump=_DUMP)
                ) from None
            raise KoordError(
                say("error: {name}: not a Kubernetes List in JSON: {problem}", name=self._name, problem=problem)
            ) from None

    def _read_yaml(self, source: Source) -> None:
        found = False
        for value in self._values(source):
            if value is None:
                self._collector.count_other()
            else:
                found = True
                self._take_value(value)
        if not found:
            raise KoordError(say("error: {name}: the file is empty", name=self._name))

    def _values(self, source: Source) -> Iterator[Any]:
        import yaml  # noqa: PLC0415  (30 ms that JSON input need not pay)

        from kubectl_koord.cluster.files import read_objects  # noqa: PLC0415

        try:
            yield from read_objects(source, self._meter)
        except (yaml.YAMLError, RecursionError, ValueError) as problem:
            mark = getattr(problem, "problem_mark", None)
            where = say(" line {line}", line=mark.line + 1) if mark else ""
            message = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
            raise KoordError(
                say("error: {name}:{where} not YAML: {message}", name=self._name, where=where, message=message)
            ) from None

    def _take_whole(self, content: bytes) -> None:
        """Take a JSON object, or a List that is not read in slices."""
        found = msgspec.json.decode(content, type=_Head)
        self._list = found
        for item in found.items if found.items is not None else [msgspec.Raw(content)]:
            self._meter.count(1, len(item))
            self._take_json(item)
        self._take_nameless(found)

    def _take_nameless(self, said: ListHead) -> None:
        """Take the items of a list whose kind comes behind them."""
        self._list, left, self._nameless = said, self._nameless, []
        for item in left:
            self._take_json(item, is_last=True)

    def _take(self, part: Slice) -> None:
        """Take a JSON array of objects: at once where all are of one kind, as most slices are.

        Raises msgspec.DecodeError when it is no JSON. Raises KoordError, naming the file, and the object and field in
        it, that cannot be read.
        """
        first = _KIND_FIRST.search(part[:LONGEST_HEAD])
        kind = first[1].decode() if first else ""
        if kind in WIRE_TYPES and kind not in self._one_by_one and self._take_alike(kind, part):
            return
        items = msgspec.json.decode(bytes(part), type=list[msgspec.Raw])
        self._meter.count(len(items), len(part))
        for item in items:
            self._take_json(item)

    def _take_alike(self, kind: str, part: Slice) -> bool:
        """Take all items if each is of this kind and can be read; else none."""
        if kind not in self._alike:
            alike = msgspec.defstruct(f"Some{kind}", [("kind", str, "")], bases=(self._types[kind],), gc=False)
            self._alike[kind] = msgspec.json.Decoder(list[alike])  # type: ignore[valid-type]
        try:
            written = self._alike[kind].decode(part)
        except _NO_JSON:
            return False
        if any(one.kind != kind or not one.metadata.name for one in written):
            return False
        self._meter.count(len(written), len(part))
        self._add(kind, written)
        return True

    def _take_json(self, item: msgspec.Raw, *, is_last: bool = False) -> None:
        raw = memoryview(item)
        leading = _KIND_FIRST.match(raw[:200])
        try:
            kind = leading[1].decode() if leading else msgspec.json.decode(raw, type=_Kind).kind
            version = "" if kind else self._list.api_version or ""
            kind = kind or item_kind(self._list.kind)
            if not kind and not is_last:
                self._nameless.append(msgspec.Raw(bytes(raw)))
                return
            if not kind:
                raise KoordError(
                    say("error: {name}: {describe} has no kind", name=self._name, describe=_describe(bytes(raw)))
                )
            if kind == recorded.KIND:
                self._collector.recording = msgspec.json.decode(raw, type=recorded.Recording)
                return
            self._take_around(kind, raw)
            if kind in _SHARED:
                kind = _row(kind, version or msgspec.json.decode(raw, type=_Kind).api_version)
            if kind not in self._decoders:
                self._collector.count_other()
                if kind.endswith("List"):
                    self._take_inner(raw)
                elif kind == _STATUS:
                    self._check_status(msgspec.json.decode(raw, type=_Status))
                elif kind == _DEFINITION and scheduler.EXPLANATIONS.encode() in bytes(raw):
                    self._take_definition(msgspec.json.decode(raw))
                return
            written = self._decoders[kind].decode(raw)
        except _NO_JSON as problem:
            is_told = isinstance(problem, msgspec.ValidationError)
            what = told(problem, msgspec.json.decode(raw)) if is_told else problem
            raise KoordError(
                say("error: {name}: {describe}: {what}", name=self._name, describe=_describe(bytes(raw)), what=what)
            ) from None
        self._add_one(kind, written)

    def _take_around(self, kind: str, raw: memoryview) -> None:
        """Hand an object to what keeps the surroundings of the scheduler, where they are asked for."""
        around = self._around
        if around is None or (kind == POD.name and not self._takes_pods):
            return
        if kind == POD.name:
            around.take_pod(_STATED.decode(raw))
        elif kind == EVENT.name:
            around.take_event(_REPORTED.decode(raw))
        elif kind not in WIRE_TYPES or kind in self._one_by_one:
            around.take(completed(msgspec.json.decode(raw), self._list.kind, self._list.api_version))

    def _take_value_around(self, kind: str, value: dict[str, Any]) -> None:
        around = self._around
        if around is None or (kind == POD.name and not self._takes_pods):
            return
        if kind == POD.name:
            around.take_pod(msgspec.convert(value, StatedPod, strict=False))
        elif kind == EVENT.name:
            around.take_event(msgspec.convert(value, ReportedEvent, strict=False))
        elif kind not in WIRE_TYPES or kind in self._one_by_one:
            around.take(value)

    def _take_inner(self, raw: memoryview) -> None:
        """Take the items of a List inside a List, as joined answers of kubectl have them."""
        found, outer = msgspec.json.decode(raw, type=_Head), self._list
        self._list = found
        self._meter.count(len(found.items or ()), 0)
        for item in found.items or ():
            self._take_json(item, is_last=True)
        self._list = outer

    def _take_definition(self, value: dict[str, Any]) -> None:
        """Take the fields of a CRD that differ between Koordinator's versions."""
        meta = value.get("metadata")
        if isinstance(meta, dict) and meta.get("name") == scheduler.EXPLANATIONS:
            self._collector.crd_version = scheduler.from_explanation_schema(value)

    def _check_status(self, answer: _Status) -> None:
        """Refuse a failure of the API server in the place of objects: what it kept back is not absent."""
        if answer.status != "Success":
            raise KoordError(
                say(
                    "error: {name}: the server's error in place of objects: {message}",
                    name=self._name,
                    message=answer.message,
                )
            )

    def _take_value(self, value: Any) -> None:  # noqa: ANN401
        if not isinstance(value, dict):
            raise KoordError(say("error: {name}: not a Kubernetes object or List", name=self._name))
        if isinstance(value.get("items"), list):
            for item in value["items"]:
                self._take_value(completed(item, value.get("kind"), value.get("apiVersion")))
            return
        try:
            head = msgspec.convert(value, _Kind)
            kind = head.kind
            if not kind:
                raise KoordError(
                    say(
                        "error: {name}: {describe_value} has no kind",
                        name=self._name,
                        describe_value=_describe_value(value),
                    )
                )
            if kind == recorded.KIND:
                self._collector.recording = msgspec.convert(value, recorded.Recording)
                return
            self._take_value_around(kind, value)
            kind = _row(kind, head.api_version)
            if kind not in WIRE_TYPES:
                self._take_other(kind, value)
                return
            written = msgspec.convert(value, self._types[kind], strict=False)
        except msgspec.ValidationError as problem:
            raise KoordError(
                say(
                    "error: {name}: {describe_value}: {told}",
                    name=self._name,
                    describe_value=_describe_value(value),
                    told=told(problem, value),
                )
            ) from None
        self._add_one(kind, written)

    def _take_other(self, kind: str, value: dict[str, Any]) -> None:
        self._collector.count_other()
        if kind.endswith("List"):
            msgspec.convert(value, _Head)  # `items` that are none must not count as none at all
        elif kind == _STATUS:
            self._check_status(msgspec.convert(value, _Status))
        elif kind == _DEFINITION:
            self._take_definition(value)

    def _add_one(self, kind: str, written: Any) -> None:  # noqa: ANN401
        if not written.metadata.name:
            raise KoordError(say("error: {name}: a {kind} without metadata.name", name=self._name, kind=kind))
        self._add(kind, (written,))

    def _add(self, kind: str, written: Sequence[Any]) -> None:
        try:
            self._collector.add_all(kind, written)
        except KoordError as problem:
            raise KoordError(problem.message.replace("error: ", say("error: {name}: ", name=self._name), 1)) from None


def _row(kind: str, api_version: str) -> str:
    """Return the name of the row of objects of a kind and API group; empty for none where groups share the kind.

    An object without a group, as people write them, is one of Koordinator's.
    """
    if kind not in _SHARED:
        return kind
    group = api_version.rpartition("/")[0]
    rows = (name for name, row in KINDS.items() if row.object_kind == kind and (group or kind) in {row.group, name})
    return next(rows, "")


def _describe(raw: bytes) -> str:
    try:
        return _describe_value(msgspec.json.decode(raw))
    except _NO_JSON:
        return "an object"


def _describe_value(value: Any) -> str:  # noqa: ANN401
    if not isinstance(value, dict):
        return "an item that is no object"
    meta = value.get("metadata")
    parts = [meta.get("namespace"), meta.get("name")] if isinstance(meta, dict) else []
    kind, named = _shown(value.get("kind") or "an object"), "/".join(_shown(part) for part in parts if part)
    return f"{kind} {named or '(no name)'}"


def _shown(value: Any) -> str:  # noqa: ANN401
    """Return the name of an object, cut to the longest possible name."""
    return str(value)[:_LONGEST_NAME]


MOMENT_OF_DEMO = "2026-11-01T10:00:00Z"


def from_files(  # noqa: PLR0913 - each names one thing
    names: Iterable[str],
    chosen_version: str,
    seen: dict[str, int] | None = None,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    traced: bool = False,
    installed: bool = False,
    join: Join | None = None,
    around: Around | None = None,
) -> Snapshot:
    """Return the cluster that the files hold (`traced`: with a trace of every pod); what they hold not is absent.

    `installed` tells whether how Koordinator is installed is wanted, too. `seen` is counted up, by kind, while objects
    come; `join` is called when all are there. Of a recorded cluster there are the `kinds` that would be read of it
    live, with the same gaps: the answer is that of its moment. `around` takes what lies around the scheduler, which is
    the snapshot's `jobs` then; of a recorded cluster nothing. Raises KoordError, naming the file, and the object and
    field in it, that cannot be read.
    """
    collector = Collector(seen=seen, traced=traced)
    collector.around = around
    read(names, collector)
    if collector.recording is not None:
        if around is not None and collector.recording.around:
            around.gaps = tuple(gap for gap in collector.recording.gaps if gap.kind not in KINDS)
        elif around is not None:
            around.forget()  # it has no states of containers: those that are not there did not wait
            collector.around = None
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
    take("demo", resources.files("kubectl_koord.cluster").joinpath("demo.json").read_bytes(), collector)


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
    """Return a gap for each kind that no file has."""
    return [_not_held(kind) for kind in missing_kinds(collector)]


def missing_kinds(collector: Collector) -> tuple[str, ...]:
    """Return the kinds that answers rest on and that the input holds nothing of."""
    return tuple(name for name, kind in KINDS.items() if kind.in_files and name not in collector.kinds)


LONGEST_LINE = 8 << 20
MOST_BYTES, MOST_LINES = 2 << 30, 20_000_000
"""Of a log: far more than a kubelet keeps."""


def answer(name: str) -> bytes:
    """Return what a file holds. Raises KoordError when it cannot be read, or is too large for an answer."""
    return whole(name, LONGEST)


def lines(name: str, seen: dict[str, int] | None = None) -> Iterator[str]:
    """Yield the lines of a log; of one that is longer than any that the scheduler writes, the beginning.

    `seen` is counted up, by what it is, for who watches the reading. Raises KoordError when it cannot be read, or has
    no end.
    """
    count = size = 0
    with opened(name) as packed:
        file = by_line(unpacked(packed)[1])
        while line := file.readline(LONGEST_LINE):
            count += 1
            if seen is not None:
                seen["line"] = count
            yield line.decode("utf-8", "replace")
            size += len(line)
            while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
                size += len(line)
                _check(count, size)
            _check(count, size)


def _check(count: int, size: int) -> None:
    if count > MOST_LINES or size > MOST_BYTES:
        most = f"{MOST_LINES:,} lines or {MOST_BYTES >> 20:,} MiB"
        raise TooLargeError(f"more than {most}: give a part of it, as of kubectl logs --tail=100000")
