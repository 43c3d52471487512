"""Manifests as they are written: whole documents out of files, and back into YAML or JSON. Comments are lost."""

import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from typing import Any, TypeAlias

import yaml

from kubectl_koord.cluster.bounds import BOUNDS, TooLargeError
from kubectl_koord.cluster.reading.yaml_objects import read_documents
from kubectl_koord.errors import KoordError

Manifest: TypeAlias = dict[str, Any]

_GZIP = b"\x1f\x8b"
_MOST = BOUNDS.object_bytes


def read(names: Iterable[str]) -> list[Any]:
    """Return the documents of the files, in order; `-` is standard input.

    Raises:
        KoordError: naming the file that cannot be read, is too large, or is no JSON or YAML.

    """
    return [document for name in names for document in _documents(name, content(name)) if document is not None]


def demo() -> list[Any]:
    """Return the documents of the embedded demo cluster."""
    return _documents("demo", resources.files("kubectl_koord.cluster").joinpath("demo.json").read_bytes())


def objects(documents: Iterable[Any]) -> Iterator[Manifest]:
    """Yield every object of the documents, those within Lists too."""
    for document in documents:
        if isinstance(document, dict):
            items = document.get("items")
            if str(document.get("kind")).endswith("List") and isinstance(items, list):
                yield from objects(items)
            else:
                yield document


def replaced(document: Any, change: Callable[[Manifest], Manifest]) -> Any:  # noqa: ANN401 - any document
    """Return a document with each of its objects changed, and all else as it is."""
    if not isinstance(document, dict):
        return document
    items = document.get("items")
    if str(document.get("kind")).endswith("List") and isinstance(items, list):
        return {**document, "items": [replaced(item, change) for item in items]}
    return change(document)


def to_yaml(documents: Iterable[Any], comments: str = "") -> str:
    """Return YAML documents; `comments` are lines that stand before them."""
    texts = [yaml.safe_dump(document, sort_keys=False, width=120) for document in documents]
    return comments + "---\n".join(texts)


def to_json(documents: list[Any]) -> str:
    """Return one JSON document; several become a List."""
    whole = documents[0] if len(documents) == 1 else {"apiVersion": "v1", "kind": "List", "items": documents}
    return json.dumps(whole, indent=4) + "\n"


def content(name: str) -> bytes:
    """Return the bytes of a file, unpacked; `-` is standard input.

    Raises:
        KoordError: when it cannot be read, or is too large.

    """
    try:
        if name == "-":
            if sys.stdin is None:
                raise KoordError("error: standard input is closed")
            found = sys.stdin.buffer.read(_MOST + 1)
        else:
            with open(name, "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
                found = file.read(_MOST + 1)
                if found.startswith(_GZIP):
                    file.seek(0)
                    found = gzip.GzipFile(fileobj=file).read(_MOST + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
        raise KoordError(f"error: {name}: broken gzip: {problem}") from None
    except OSError as problem:
        raise KoordError(f"error: the path {name!r} cannot be read: {problem.strerror}") from None
    if len(found) > _MOST:
        raise KoordError(f"error: {name}: more than {_MOST >> 20} MiB")
    return found


def _documents(name: str, content: bytes) -> list[Any]:
    try:
        text = content.decode()
        if text.lstrip()[:1] in {"{", "["}:
            try:
                return [json.loads(text)]
            except ValueError:
                pass  # YAML may begin like JSON, too
        return read_documents(text)
    except TooLargeError as problem:
        raise KoordError(f"error: {name}: {problem}") from None
    except UnicodeDecodeError as problem:
        raise KoordError(f"error: {name}: no UTF-8 text: {problem.reason}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        said = " ".join(str(problem).split())
        raise KoordError(f"error: {name}: neither JSON nor YAML: {said}") from None
