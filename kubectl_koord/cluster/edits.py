"""Manifests that are edited with their layout kept, and files with places of nodes (CSV, JSON, topograph)."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from typing import Any, TypeAlias

import yaml
from msgspec import Struct

from kubectl_koord.cluster.bounds import BOUNDS, TooLargeError
from kubectl_koord.cluster.files import read_documents, whole
from kubectl_koord.cluster.reading import completed
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say

Manifest: TypeAlias = dict[str, Any]

_MOST_KEPT = 400_000  # characters of manifests whose comments are kept: some seconds
_NO_WIDTH = 1 << 20
_STEP = re.compile(r"^[\w./-]+: *(?:#.*)?\n(?: *#.*\n)*( +)[\w./-]+:", re.MULTILINE)
_DASH = re.compile(r"^( *)[\w./-]+: *(?:#.*)?\n(?: *#.*\n)*( *)- ", re.MULTILINE)

LARGEST = BOUNDS.object_bytes
"""Bytes that a file which is changed, or tells of changes, may have."""


def manifests_read(names: Iterable[str], texts: list[str] | None = None) -> list[Any]:
    """Return the documents of the files, in order; `-` is standard input. `texts` gets the text of each.

    Raises KoordError, naming the file that cannot be read, is too large, or is no JSON or YAML.
    """
    found = []
    for name in names:
        content = whole(name, LARGEST)
        found += [document for document in _documents(name, content) if document is not None]
        if texts is not None:
            texts.append(content.decode())
    return found


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
    """Return the text of a document with its objects changed; comments and layout stay."""
    if not isinstance(document, dict):
        return document
    items = document.get("items")
    if str(document.get("kind")).endswith("List") and isinstance(items, list):
        return {**document, "items": [replaced(item, change) for item in _completed(document)]}
    return change(document)


def _completed(written: Manifest) -> list[Any]:
    return [completed(item, written.get("kind"), written.get("apiVersion")) for item in written["items"]]


def inserted(document: Any, before: Callable[[Manifest], list[Manifest]]) -> list[Any]:  # noqa: ANN401 - any document
    """Return a document in which several objects replace each object: in its List, or as several documents."""
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


def rewritten(documents: Sequence[Any], texts: Iterable[str]) -> tuple[str, bool]:
    """Return YAML documents as they stand in the texts that they were read from, and whether comments are kept.

    What is written is read again: where it is not the same (an anchor that two places share), or the texts are so large
    that it would take seconds, the documents are written anew.
    """
    before = "---\n".join(texts)
    if len(before) <= _MOST_KEPT:
        from ruamel.yaml import YAML  # noqa: PLC0415 - only manifests that are changed need it
        from ruamel.yaml.error import YAMLError  # noqa: PLC0415

        writer = YAML()
        writer.preserve_quotes = True
        writer.width = _NO_WIDTH
        step, dash = _STEP.search(before), _DASH.search(before)
        offset = len(dash[2]) - len(dash[1]) if dash else 0
        writer.indent(mapping=len(step[1]) if step else 2, sequence=offset + 2, offset=offset)
        out = io.StringIO()
        try:
            originals = [document for document in writer.load_all(before) if document is not None]
            writer.dump_all(_like(originals, documents), out)
            if [one for one in read_documents(out.getvalue()) if one is not None] == list(documents):
                return out.getvalue(), True
        except (YAMLError, ValueError, RecursionError):
            pass  # what is no YAML 1.2 is read by the other reader alone
    return to_yaml(documents), False


def _like(originals: list[Any], documents: Iterable[Any]) -> Iterator[Any]:
    """Yield each document with the comments and layout of the original of its name, or of its place."""
    for document in documents:
        known = next((one for one in originals if _name(one) == _name(document)), None)
        if known is not None:
            originals[:] = [one for one in originals if one is not known]
        yield document if known is None else _merged(known, document)


def _name(document: Any) -> Any:  # noqa: ANN401 - any document
    if not isinstance(document, dict):
        return document
    meta = document.get("metadata")
    names = (meta.get("namespace"), meta.get("name")) if isinstance(meta, dict) else ()
    return (document.get("kind"), *names)


def _merged(old: Any, new: Any) -> Any:  # noqa: ANN401 - any value
    """Return the new value, in the place and with the comments of the old one as far as both are alike."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [key for key in old if key not in new]:
            del old[key]
        for key, value in new.items():
            old[key] = _merged(old[key], value) if key in old else value
        return old
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for at, value in enumerate(new):
            old[at] = _merged(old[at], value)
        return old
    return old if type(old) is not bool and old == new else new


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
        raise KoordError(say("error: {name}: {problem}", name=name, problem=problem)) from None
    except UnicodeDecodeError as problem:
        raise KoordError(say("error: {name}: no UTF-8 text: {reason}", name=name, reason=problem.reason)) from None
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        said = " ".join(str(problem).split())
        raise KoordError(say("error: {name}: neither JSON nor YAML: {said}", name=name, said=said)) from None


_NODE = "node"
_MOST_NAMES = 100_000
_PAIR = re.compile(r"(\w+)=(\S+)")
_RANGES = re.compile(r"([^\[\]]*)\[([0-9,-]+)\]")


class Placements(Struct, frozen=True):
    """By node the value of each column; or, of a file without columns, the switches above it, the nearest first."""

    columns: dict[str, dict[str, str]]
    switches: dict[str, tuple[str, ...]]


def read(name: str) -> Placements:
    """Return the content of a file; `-` is standard input.

    Raises KoordError, naming the file, and the line or node in it, that cannot be read.
    """
    try:
        text = whole(name, LARGEST).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise KoordError(say("error: {name}: no UTF-8 text: {reason}", name=name, reason=problem.reason)) from None
    if text.lstrip()[:1] in {"{", "["}:
        return Placements(_json(name, text), {})
    if re.search(r"^\s*(SwitchName|BlockName)=", text, re.MULTILINE):
        return Placements({}, _switches(name, text))
    return Placements(_csv(name, text), {})


def _csv(name: str, text: str) -> dict[str, dict[str, str]]:
    rows = csv.reader(line for line in io.StringIO(text) if line.strip() and not line.startswith("#"))
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if _NODE not in header or len(header) < 2:  # noqa: PLR2004 - the node and one more
            raise KoordError(
                say("error: {name}: the first line must name its columns: node and layers or label keys", name=name)
            )
        if len(set(header)) < len(header):
            raise KoordError(say("error: {name}: the first line names a column twice", name=name))
        found: dict[str, dict[str, str]] = {}
        for row in rows:
            cells = [cell.strip() for cell in row]
            if len(cells) != len(header):
                raise KoordError(
                    say(
                        "error: {name}: line {line_num} has {number} columns, not {number2}",
                        name=name,
                        line_num=rows.line_num,
                        number=len(cells),
                        number2=len(header),
                    )
                )
            columns = dict(zip(header, cells, strict=True))
            _put(name, found, columns.pop(_NODE), columns)
    except csv.Error as problem:
        raise KoordError(say("error: {name}: {problem}", name=name, problem=problem)) from None
    return found


def _json(name: str, text: str) -> dict[str, dict[str, str]]:
    try:
        decoded = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise KoordError(say("error: {name}: no JSON: {problem}", name=name, problem=problem)) from None
    found: dict[str, dict[str, str]] = {}
    for node, columns in _rows(name, decoded):
        if not isinstance(columns, dict) or not all(isinstance(value, str) for value in columns.values()):
            raise KoordError(
                say(
                    "error: {name}: node {node!r} must be an object of layers or label keys and their values",
                    name=name,
                    node=node,
                )
            )
        _put(name, found, node, columns)
    return found


def _rows(name: str, decoded: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON value
    if isinstance(decoded, dict):
        yield from decoded.items()
        return
    for row in decoded:
        if not isinstance(row, dict) or not isinstance(row.get(_NODE), str):
            raise KoordError(say("error: {name}: each element of the list must be an object with a node", name=name))
        yield row[_NODE], {key: value for key, value in row.items() if key != _NODE}


def _put(name: str, found: dict[str, dict[str, str]], node: str, columns: dict[str, str]) -> None:
    if not node:
        raise KoordError(say("error: {name}: a node without a name", name=name))
    if node in found:
        raise KoordError(say("error: {name}: node {node!r} twice", name=name, node=node))
    found[node] = columns


def _switches(name: str, text: str) -> dict[str, tuple[str, ...]]:
    """Return the switches above each node, the nearest first, of Slurm's topology.conf."""
    above: dict[str, str] = {}
    nodes: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        pairs = dict(_PAIR.findall(line.partition("#")[0]))
        switch = pairs.get("SwitchName") or pairs.get("BlockName")
        if not switch:
            continue
        below = _expanded(name, number, pairs.get("Nodes", ""))
        nodes += below
        for child in (*below, *_expanded(name, number, pairs.get("Switches", ""))):
            if above.setdefault(child, switch) != switch:
                raise KoordError(
                    say(
                        "error: {name}: line {number}: {child!r} is below {above!r} as well",
                        name=name,
                        number=number,
                        child=child,
                        above=above[child],
                    )
                )
    return {node: tuple(_upwards(name, node, above)) for node in nodes}


def _upwards(name: str, node: str, above: dict[str, str]) -> Iterator[str]:
    seen = {node}
    while node in above:
        node = above[node]
        if node in seen:
            raise KoordError(say("error: {name}: switch {node!r} is above itself", name=name, node=node))
        seen.add(node)
        yield node


def _no_names(name: str, number: int, part: str) -> KoordError:
    return KoordError(
        say("error: {name}: line {number}: {part!r} is no list of names", name=name, number=number, part=part)
    )


def _expanded(name: str, number: int, written: str) -> list[str]:
    """Return the names that Slurm's short form stands for: `n[1-3,07],x` is n1, n2, n3, n07 and x."""
    names: list[str] = []
    for part in re.findall(r"[^,\[\]]*\[[^\]]*\]|[^,]+", written):
        match = _RANGES.fullmatch(part)
        if match is None:
            if "[" in part or "]" in part:
                raise _no_names(name, number, part)
            names.append(part)
            continue
        for piece in match[2].split(","):
            first, _, last = piece.partition("-")
            last = last or first
            if not (first.isdecimal() and last.isdecimal()) or int(last) - int(first) >= _MOST_NAMES:
                raise _no_names(name, number, part)
            names += [f"{match[1]}{at:0{len(first)}d}" for at in range(int(first), int(last) + 1)]
        if len(names) > _MOST_NAMES:
            raise KoordError(
                say(
                    "error: {name}: line {number}: more than {most_names:,} names",
                    name=name,
                    number=number,
                    most_names=_MOST_NAMES,
                )
            )
    return names
