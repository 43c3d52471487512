"""Manifests as they are written: whole documents out of files, and back into YAML or JSON. Comments are lost."""

import json
from collections.abc import Callable, Iterable, Iterator
from importlib import resources
from typing import Any, TypeAlias

import yaml

from kubectl_koord.cluster.bounds import BOUNDS, TooLargeError
from kubectl_koord.cluster.reading.list_head import completed
from kubectl_koord.cluster.reading.opening import whole
from kubectl_koord.cluster.reading.yaml_objects import read_documents
from kubectl_koord.errors import KoordError

Manifest: TypeAlias = dict[str, Any]

LARGEST = BOUNDS.object_bytes
"""Bytes that a file which is changed, or tells of changes, may have."""


def read(names: Iterable[str]) -> list[Any]:
    """Return the documents of the files, in order; `-` is standard input.

    Raises:
        KoordError: naming the file that cannot be read, is too large, or is no JSON or YAML.

    """
    return [document for name in names for document in _documents(name, whole(name, LARGEST)) if document is not None]


def demo() -> list[Any]:
    """Return the documents of the embedded demo cluster."""
    return _documents("demo", resources.files("kubectl_koord.cluster").joinpath("demo.json").read_bytes())


def objects(documents: Iterable[Any]) -> Iterator[Manifest]:
    """Yield every object of the documents, those within Lists too."""
    for document in documents:
        if isinstance(document, dict):
            items = document.get("items")
            if str(document.get("kind")).endswith("List") and isinstance(items, list):
                yield from objects(_completed(document))
            else:
                yield document


def replaced(document: Any, change: Callable[[Manifest], Manifest]) -> Any:  # noqa: ANN401 - any document
    """Return a document with each of its objects changed, and all else as it is."""
    if not isinstance(document, dict):
        return document
    items = document.get("items")
    if str(document.get("kind")).endswith("List") and isinstance(items, list):
        return {**document, "items": [replaced(item, change) for item in _completed(document)]}
    return change(document)


def _completed(written: Manifest) -> list[Any]:
    """Return the items of a list, each with its kind."""
    return [completed(item, written.get("kind"), written.get("apiVersion")) for item in written["items"]]


def inserted(document: Any, before: Callable[[Manifest], list[Manifest]]) -> list[Any]:  # noqa: ANN401 - any document
    """Return a document with other objects in place of each: in its List, or beside each other."""
    if not isinstance(document, dict):
        return [document]
    items = document.get("items")
    if str(document.get("kind")).endswith("List") and isinstance(items, list):
        return [{**document, "items": [one for item in items for one in inserted(item, before)]}]
    return list(before(document))


def to_yaml(documents: Iterable[Any], comments: str = "") -> str:
    """Return YAML documents; `comments` are lines that stand before them."""
    texts = [yaml.safe_dump(document, sort_keys=False, width=120) for document in documents]
    return comments + "---\n".join(texts)


def to_json(documents: list[Any]) -> str:
    """Return one JSON document; several become a List."""
    whole = documents[0] if len(documents) == 1 else {"apiVersion": "v1", "kind": "List", "items": documents}
    return json.dumps(whole, indent=4) + "\n"


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
