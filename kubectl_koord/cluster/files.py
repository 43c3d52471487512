"""A cluster from files: a `v1` List in JSON or YAML, several YAML documents, each perhaps gzipped."""

import gzip
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from kubectl_koord.cluster.collect import WIRE_TYPES, Collector
from kubectl_koord.errors import KoordError

_ONLY_CONFIGURE = {"Deployment", "Lease", "ConfigMap", "CSINode", "PersistentVolume"}
_KIND_FIRST = re.compile(rb'\{\s*"apiVersion":\s*"[^"\\]*",\s*"kind":\s*"([A-Za-z]+)"')


class _Head(msgspec.Struct):
    kind: str = ""
    items: list[msgspec.Raw] | None = None


class _Kind(msgspec.Struct):
    kind: str = ""


def read(names: Iterable[str], collector: Collector) -> None:
    """Take every object of the files; `-` is standard input.

    Raises:
        KoordError: naming the file, and the object and field in it, that cannot be read.

    """
    for name in names:
        take(name, _content(name), collector)


def missing_kinds(collector: Collector) -> tuple[str, ...]:
    """Return the kinds that answers rest on and that the input holds nothing of."""
    return tuple(kind for kind in WIRE_TYPES if kind not in collector.kinds and kind not in _ONLY_CONFIGURE)


def _content(name: str) -> bytes:
    try:
        content = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as problem:
        raise KoordError(f"error: the path {name!r} cannot be read: {problem.strerror}") from None
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as problem:
            raise KoordError(f"error: {name}: broken gzip: {problem}") from None
    return content


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise KoordError(f"error: {name}: not a Kubernetes List in JSON: {problem}") from None
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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise KoordError(f"error: {name}: {_describe(bytes(raw))}: {problem}") from None
    _add(name, kind, written, collector)


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
    _add(name, kind, written, collector)


def _add(name: str, kind: str, written: Any, collector: Collector) -> None:  # noqa: ANN401
    if not written.metadata.name:
        raise KoordError(f"error: {name}: a {kind} without metadata.name")
    try:
        collector.add(kind, written)
    except KoordError as problem:
        raise KoordError(problem.message.replace("error: ", f"error: {name}: ", 1)) from None


def _describe(raw: bytes) -> str:
    try:
        return _describe_value(msgspec.json.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
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
