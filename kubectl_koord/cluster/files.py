"""A cluster from files: a `v1` List in JSON or YAML, several YAML documents, each perhaps gzipped.

JSON Lists are decoded slice by slice (see `stream`), also packed ones and those on standard input.
"""

import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from kubectl_koord.cluster.collect import WIRE_TYPES, Collector
from kubectl_koord.cluster.stream import LONGEST_HEAD, SLICE, Rejoined, Slice, Source, opening, read_slices
from kubectl_koord.errors import KoordError

_ONLY_CONFIGURE = {"Deployment", "Lease", "ConfigMap", "CSINode", "PersistentVolume"}
_KIND_FIRST = re.compile(rb'\{\s*"apiVersion":\s*"[^"\\]*",\s*"kind":\s*"([A-Za-z]+)"')
_GZIP = b"\x1f\x8b"
_NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class _Head(msgspec.Struct):
    kind: str = ""
    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct):
    kind: str = ""


def read(names: Iterable[str], collector: Collector, size: int = SLICE) -> None:
    """Take every object of the files; `-` is standard input.

    Args:
        names: paths, read in this order: of two objects of one name the later counts.
        collector: takes the objects.
        size: how many bytes of a JSON List to decode at once.

    Raises:
        KoordError: naming the file, and the object and field in it, that cannot be read.

    """
    for name in names:
        with _opened(name) as source:
            _read(name, source, collector, size)


def missing_kinds(collector: Collector) -> tuple[str, ...]:
    """Return the kinds that answers rest on and that the input holds nothing of."""
    return tuple(kind for kind in WIRE_TYPES if kind not in collector.kinds and kind not in _ONLY_CONFIGURE)


@contextmanager
def _opened(name: str) -> Iterator[Source]:
    """Open a file for the time of its reading; what goes wrong in that time is an error that names it."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise KoordError("error: standard input is closed")
            yield _Stream(sys.stdin.buffer)
        else:
            with open(name, "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
                yield _Stream(file)
    except (EOFError, zlib.error) as problem:
        raise KoordError(f"error: {name}: broken gzip: {problem}") from None
    except OSError as problem:
        if problem.errno is None:  # the sum or the head of a packed file
            raise KoordError(f"error: {name}: broken gzip: {problem}") from None
        raise KoordError(f"error: the path {name!r} cannot be read: {problem.strerror}") from None


def _read(name: str, source: Source, collector: Collector, size: int) -> None:
    head = source.read(LONGEST_HEAD)
    if head.startswith(_GZIP):
        source = _unpacked(Rejoined(head, source))
        head = source.read(LONGEST_HEAD)
    found = opening(head)
    if found is None:
        take(name, head + source.read(), collector)
        return
    try:
        read_slices(Rejoined(head, source), found, _Slices(name, collector).take, size)
    except _NO_JSON as problem:
        raise _no_list(name, problem) from None


class _Stream:
    """A file as a `Source`; `fault` is what its library raises where it cannot unpack."""

    def __init__(self, file: Any, fault: type[Exception] = zlib.error) -> None:  # noqa: ANN401 - of any library
        self._file = file
        self._fault = fault

    def read(self, size: int = -1, /) -> bytes:
        try:
            content: bytes = self._file.read(size)
        except self._fault as problem:
            raise zlib.error(str(problem)) from None
        return content

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        view = memoryview(buffer)
        filled = 0
        try:
            while filled < len(view) and (count := self._file.readinto(view[filled:])):
                filled += count
        except self._fault as problem:
            raise zlib.error(str(problem)) from None
        return filled


def _unpacked(packed: Source) -> Source:
    """Return what a gzipped source holds; isal is twice as fast as the standard library, where it is installed."""
    try:
        from isal import igzip, isal_zlib  # noqa: PLC0415
    except ImportError:
        from gzip import GzipFile  # noqa: PLC0415

        return _Stream(GzipFile(fileobj=packed))  # type: ignore[call-overload]
    return _Stream(igzip.IGzipFile(fileobj=packed), isal_zlib.IsalError)


class _Slices:
    """Takes the items of a List in slices: at once where all are of one kind, as most slices are."""

    def __init__(self, name: str, collector: Collector) -> None:
        self._name = name
        self._collector = collector
        self._single: dict[str, Any] = {}
        self._whole = {kind: msgspec.json.Decoder(wired) for kind, wired in WIRE_TYPES.items()}

    def take(self, part: Slice) -> None:
        """Take a JSON array of objects.

        Raises:
            msgspec.DecodeError: when it is no JSON.
            KoordError: naming the file, and the object and field in it, that cannot be read.

        """
        first = _KIND_FIRST.search(part[:LONGEST_HEAD])
        kind = first[1].decode() if first else ""
        if kind in WIRE_TYPES and self._take_alike(kind, part):
            return
        for item in msgspec.json.decode(bytes(part), type=list[msgspec.Raw]):
            _take_json(self._name, item, self._collector, self._whole)

    def _take_alike(self, kind: str, part: Slice) -> bool:
        """Take all items if each is of this kind and can be read; else none."""
        if kind not in self._single:
            alike = msgspec.defstruct(f"Some{kind}", [("kind", str, "")], bases=(WIRE_TYPES[kind],), gc=False)
            self._single[kind] = msgspec.json.Decoder(list[alike])  # type: ignore[valid-type]
        try:
            written = self._single[kind].decode(part)
        except _NO_JSON:
            return False
        if any(one.kind != kind or not one.metadata.name for one in written):
            return False
        _add(self._name, kind, written, self._collector)
        return True


def _no_list(name: str, problem: Exception) -> KoordError:
    return KoordError(f"error: {name}: not a Kubernetes List in JSON: {problem}")


def take(name: str, content: bytes, collector: Collector) -> None:
    """Take every object of one file's content; the name is for error messages."""
    decoders = {kind: msgspec.json.Decoder(wired) for kind, wired in WIRE_TYPES.items()}
    if not content.strip():
        raise KoordError(f"error: {name}: the file is empty")
    if content.lstrip()[:1] not in {b"{", b"["}:
        documents = list(_yaml_documents(name, content))
        if not documents:
            raise KoordError(f"error: {name}: the file is empty")
        for document in documents:
            _take_value(name, document, collector)
        return
    try:
        head = msgspec.json.decode(content, type=_Head)
    except _NO_JSON as problem:
        raise _no_list(name, problem) from None
    for item in head.items if head.items is not None else [msgspec.Raw(content)]:
        _take_json(name, item, collector, decoders)


def _take_json(name: str, item: msgspec.Raw, collector: Collector, decoders: dict[str, Any]) -> None:
    raw = memoryview(item)
    leading = _KIND_FIRST.match(raw[:200])
    try:
        kind = leading[1].decode() if leading else msgspec.json.decode(raw, type=_Kind).kind
        if not kind:
            raise KoordError(f"error: {name}: {_describe(bytes(raw))} has no kind")
        if kind not in decoders:
            return
        written = decoders[kind].decode(raw)
    except _NO_JSON as problem:
        raise KoordError(f"error: {name}: {_describe(bytes(raw))}: {problem}") from None
    _add_one(name, kind, written, collector)


def _take_value(name: str, value: Any, collector: Collector) -> None:  # noqa: ANN401
    if not isinstance(value, dict):
        raise KoordError(f"error: {name}: not a Kubernetes object or List")
    if isinstance(value.get("items"), list):
        for item in value["items"]:
            _take_value(name, item, collector)
        return
    kind = value.get("kind")
    if not kind:
        raise KoordError(f"error: {name}: {_describe_value(value)} has no kind")
    if kind not in WIRE_TYPES:
        return
    try:
        written = msgspec.convert(value, WIRE_TYPES[kind], strict=False)
    except msgspec.ValidationError as problem:
        raise KoordError(f"error: {name}: {_describe_value(value)}: {problem}") from None
    _add_one(name, kind, written, collector)


def _add_one(name: str, kind: str, written: Any, collector: Collector) -> None:  # noqa: ANN401
    if not written.metadata.name:
        raise KoordError(f"error: {name}: a {kind} without metadata.name")
    _add(name, kind, (written,), collector)


def _add(name: str, kind: str, written: Sequence[Any], collector: Collector) -> None:
    try:
        collector.add_all(kind, written)
    except KoordError as problem:
        raise KoordError(problem.message.replace("error: ", f"error: {name}: ", 1)) from None


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
    return f"{value.get('kind') or 'an object'} {'/'.join(str(part) for part in parts if part) or '(no name)'}"


def _yaml_documents(name: str, content: bytes) -> Iterator[Any]:
    import yaml  # noqa: PLC0415  (30 ms that JSON input need not pay)

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc]
        """Leaves timestamps as text, as the API does."""

    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: loader.construct_scalar(node))
    try:
        yield from (document for document in yaml.load_all(content, Loader) if document is not None)
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f" line {mark.line + 1}" if mark else ""
        raise KoordError(f"error: {name}:{where} not YAML: {getattr(problem, 'problem', None) or problem}") from None
