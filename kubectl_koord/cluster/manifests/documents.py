"""The documents of manifests, one by one, each with the file and the number by which errors name it."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from json import JSONDecoder
from typing import Any

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.bounds import Bounds, Meter, TooLargeError
from kubectl_koord.cluster.reading.list_head import Rejoined, Source, completed
from kubectl_koord.cluster.reading.opening import opened, unpacked
from kubectl_koord.errors import KoordError

BOUNDS = Bounds(objects=10_000, memory=256 << 20)
"""Of all manifests together."""
_LONGEST_NAME = 253
_NO_JSON = (msgspec.DecodeError, ValueError, RecursionError)
_NO_BLANK = re.compile(r"\S")


class Head(Struct, rename="camel"):
    """What every object has."""

    class Meta(Struct, rename="camel"):
        """metadata, as far as it names the object."""

        name: str = ""
        generate_name: str = ""
        namespace: str | None = None

    api_version: str = ""
    kind: str = ""
    metadata: "Head.Meta" = msgspec.field(default_factory=Meta)


class Document(Struct, frozen=True):
    """One object; `file` and `number` are where it stands, items of a List stand where the List does."""

    file: str
    number: int
    value: Any

    @property
    def where(self) -> str:
        """The file and the document, as errors begin."""
        return f"error: {self.file}: document {self.number}"


def read(names: Iterable[str], bounds: Bounds = BOUNDS) -> Iterator[Document]:
    """Yield the objects of files, YAML or JSON, packed or not; `-` is standard input.

    Raises:
        KoordError: naming the file and the document that cannot be read.

    """
    meter = Meter(bounds)
    for name in names:
        found = False
        with opened(name) as raw:
            head, source = unpacked(raw)
            values = _braced(name, source, meter) if head.lstrip()[:1] in {b"{", b"["} else _yaml(name, source, meter)
            for number, value in values:
                found = found or value is not None
                yield from _objects(Document(name, number, value))
        if not found:
            raise KoordError(f"error: {name}: the file is empty")


def _braced(name: str, source: Source, meter: Meter) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file that begins as JSON does; what is none, or larger than one object may be, is YAML."""
    most = meter.bounds.object_bytes
    text = source.read(most + 1)
    values = _json(name, text, meter) if len(text) <= most else None
    if values is None:
        yield from _yaml(name, Rejoined(text, source), meter, "neither JSON nor YAML")
    else:
        yield from enumerate(values, 1)


def _json(name: str, text: bytes, meter: Meter) -> list[Any] | None:
    """Return the values of JSON, one after the other as kubectl takes them; None of what may be YAML.

    Raises:
        KoordError: when it begins with JSON, and an object that follows is none.

    """
    with suppress(*_NO_JSON):
        whole = msgspec.json.decode(text)
        meter.count(1, len(text))
        return [whole]
    values: list[Any] = []
    written, start, end = "", 0, 0
    try:
        written = text.decode()
        while found := _NO_BLANK.search(written, end):
            start = found.start()
            _, end = JSONDecoder().raw_decode(written, start)
            values.append(msgspec.json.decode(written[start:end]))
            meter.count(1, end - start)
    except _NO_JSON as problem:
        if values and written[start] == "{":
            raise KoordError(f"error: {name}: document {len(values) + 1}: not JSON: {problem}") from None
        return None
    except TooLargeError as problem:
        raise KoordError(f"error: {name}: document {len(values)}: {problem}") from None
    return values


def _yaml(name: str, source: Source, meter: Meter, fault: str = "not YAML") -> Iterator[tuple[int, Any]]:
    import yaml  # noqa: PLC0415  (30 ms that JSON need not pay)

    from kubectl_koord.cluster.reading.yaml_objects import NumberedObjects  # noqa: PLC0415

    objects = NumberedObjects(source, meter)
    try:
        for value in objects:
            yield objects.document, value
    except TooLargeError as problem:
        raise KoordError(f"error: {name}: document {objects.document}: {problem}") from None
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f"line {mark.line + 1}: " if mark else ""
        message = getattr(problem, "problem", None) or str(problem).partition("\n")[0]
        raise KoordError(f"error: {name}: document {objects.document}: {where}{fault}: {message}") from None


def _objects(document: Document) -> Iterator[Document]:
    """Yield the object, or the items of a List; an empty document is none.

    Raises:
        KoordError: when it is no object.

    """
    value = document.value
    if value is None:
        return
    if not isinstance(value, dict):
        raise KoordError(f"{document.where}: not a Kubernetes object")
    if isinstance(value.get("items"), list) and str(value.get("kind") or "List").endswith("List"):
        for item in value["items"]:
            whole = completed(item, value.get("kind"), value.get("apiVersion"))
            yield from _objects(Document(document.file, document.number, whole))
    else:
        yield document


def described(value: Any) -> str:  # noqa: ANN401
    """Return what an object says it is: `Kind name`, no longer than names can be."""
    meta = value.get("metadata")
    name = (meta.get("name") or meta.get("generateName")) if isinstance(meta, dict) else None
    return " ".join(str(part)[:_LONGEST_NAME] for part in (value.get("kind") or "an object", name) if part)
