"""Damaged input, the same for the same number: a cluster with every field of every kind, and ways to spoil it."""

import copy
import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import yaml

from kubectl_koord.cluster.kinds import KINDS, WIRE_TYPES
from tests.cli.world import Object, world

_WORDS = ("job", "default", "a0", "b1", "1", "100m", "2Gi", "True", "In", "Pod", "Always", "DoNotSchedule", "spine")
_AMOUNTS = ("1", "100m", "2Gi", 4, 0.5)
_OTHERS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 0.5, -1e-9, 1e22, 1e308, 2**31, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**60),
    *(
        "",
        "0",
        "9" * 60,
        "1e999",
        "-1",
        "1" * 65,
        "x" * 300,
        "\u202e\u0000\n",
        "\ud83d",
        "2026-13-45T99:00:00Z",
        "null",
    ),
    *([], {}, [[]], [None], [0], [""], {"": None}, {"a": []}, {"items": []}, [{}], "[]", "{}", '{"a":', "a: ["),
)
_COMMANDS = (
    ("topo",),
    ("topo", "--nodes", "-o", "json"),
    ("topo", "--for", "job"),
    ("topo", "--whole-cards"),
    ("topo", "init"),
    ("topo", "init", "--diff"),
    ("annotate", "gang", "job", "--mode=NonStrict", "--overwrite", "--dry-run"),
    ("devices",),
    ("topo", "--shape", "1cpu"),
    ("node", "a0"),
    ("domain", "spine-a", "-o", "json"),
    ("quota",),
    ("gangs", "-o", "wide"),
    ("doctor",),
    ("doctor", "-o", "json"),
    ("why-pending",),
    ("why-pending", "-A", "-o", "yaml"),
    ("why-pending", "job"),
    ("why-pending", "default/Pod", "-o", "json"),
    ("preempt", "high", "--dry-run"),
    ("preempt", "job", "--dry-run", "-o", "json"),
    ("why-preempted", "job"),
    ("fit", "--pods", "2", "--request", "cpu=1", "--count"),
    ("plan", "job", "--keep", "app=x", "--weight", "hours=2"),
    ("scheduler", "gangs", "--endpoint", str(Path(__file__).parents[1] / "endpoints" / "gangs.json")),
    ("snapshot", "-o", "-"),
    ("snapshot", "-o", "-", "--anonymize"),
)
_ANCHORED = (
    b"&a [*a]",
    b"&a {<<: *a}",
    b"*nobody",
    b"&a [x, x, x]\nb: &b [*a, *a, *a, *a]\nc: &c [*b, *b, *b, *b]\nd: &d [*c, *c, *c, *c]\ne: [*d, *d, *d, *d]",
    b"&a {x: 1}\nb: &b {<<: [*a, *a]}\nc: {<<: [*b, *b]}",
    b"!!binary aGVsbG8=",
    b"!!set {a, b}",
    b"!!float nan",
    b".inf",
    b"0x7fffffffffffffffffff",
    b"2026-11-20",
    b"2026-13-45",
    b"1:99:99",
    b"!!omap [a: 1]",
    b"? [a]\n: b",
    b"!!int x",
    b"!!python/name:os.system",
    b"! a",
    b"!!map [a]",
    b"!!str [a]",
)


class Case(NamedTuple):
    """One run: what is read, and what is asked."""

    content: bytes
    words: tuple[str, ...]


def whole(random: Random) -> Object:
    """Return the small cluster, and one more object of each kind with most of its fields."""
    items = world()["items"]
    for kind, wired in sorted(WIRE_TYPES.items()):
        row = KINDS[kind]
        head = {"apiVersion": row.api_version, "kind": row.object_kind}
        items.append({**head, **_value(random, msgspec.inspect.type_info(wired))})
    return {"apiVersion": "v1", "kind": "List", "items": items}


def _value(random: Random, info: msgspec.inspect.Type) -> Any:  # noqa: ANN401, PLR0911 - any JSON value
    match info:
        case msgspec.inspect.StructType(fields=fields):
            return {one.encode_name: _value(random, one.type) for one in fields if _is_kept(random, one.encode_name)}
        case msgspec.inspect.UnionType(types=types):
            wanted = [one for one in types if not isinstance(one, msgspec.inspect.NoneType)]
            return _value(random, random.choice(wanted))
        case msgspec.inspect.DictType(value_type=value):
            is_amount = any(isinstance(one, msgspec.inspect.FloatType) for one in getattr(value, "types", ()))
            if is_amount:
                return {random.choice(("cpu", "memory", "pods", "nvidia.com/gpu")): random.choice(_AMOUNTS)}
            return {random.choice(_WORDS): _value(random, value)}
        case msgspec.inspect.ListType(item_type=item):
            return [_value(random, item) for _ in range(random.randint(1, 2))]
        case msgspec.inspect.BoolType():
            return random.random() < 0.5
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            return random.choice((0, 1, 3, 110))
        case _:
            return random.choice(_WORDS)


def _is_kept(random: Random, field: str) -> bool:
    return field in {"name", "metadata", "spec", "status"} or random.random() < 0.8


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:  # noqa: ANN401
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in inner for found in _paths(item, (*path, key)))]


def _exchanged(random: Random, value: Any) -> Any:  # noqa: ANN401
    """Return the value with a few of its parts of another type, gone, or under another name."""
    for _ in range(random.choice((1, 1, 1, 3, 20))):
        paths = [path for path in _paths(value) if path]
        path = random.choice(paths)
        holder = value
        for key in path[:-1]:
            holder = holder[key]
        choice = random.random()
        if choice < 0.8:
            is_same = random.random() < 0.6
            before = holder[path[-1]]
            others = [one for one in _OTHERS if type(one) is type(before)] if is_same else _OTHERS
            holder[path[-1]] = copy.deepcopy(random.choice(others or _OTHERS))
        elif choice < 0.9:
            holder[path[-1]] = _nested(random.choice((5, 50, 200)))
        elif isinstance(holder, dict):
            holder[random.choice(("kind", "metadata", "items", "name", "", "spec"))] = holder.pop(path[-1])
        else:
            del holder[path[-1]]
        if not isinstance(value, dict) or not _paths(value)[1:]:
            break
    return value


def _nested(depth: int) -> Any:  # noqa: ANN401
    found: Any = []
    for _ in range(depth):
        found = [found]
    return found


def _spoiled(random: Random, content: bytes) -> bytes:
    """Return the bytes cut, flipped, doubled, or with something put in between."""
    spoiled = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(spoiled) + 1)
        match random.randrange(6):
            case 0:
                del spoiled[at:]
            case 1:
                spoiled[at : at + 1] = bytes([random.randrange(256)])
            case 2:
                spoiled[at:at] = spoiled[max(0, at - random.randrange(300)) : at]
            case 3:
                del spoiled[at : at + random.randrange(1, 200)]
            case 4:
                spoiled[at:at] = random.choice((b"[", b"{", b"- ")) * random.choice((1, 1, 2000, 50_000))
            case _:
                spoiled[at:at] = random.choice((b"\xff", b"\x00", b"\\ud800", b"\xef\xbb\xbf", b"\xff\xfe", b"\n---\n"))
    return bytes(spoiled)


def _doubled_key(random: Random, content: bytes) -> bytes:
    """Return JSON in which one mapping has a key twice."""
    places = [at for at, byte in enumerate(content) if byte == ord("{")]
    at = random.choice(places) + 1
    key = random.choice(("kind", "metadata", "name", "spec", "items", "requests", "labels"))
    pair = f"{json.dumps(key)}:{json.dumps(random.choice(_OTHERS))}"
    return content[:at] + pair.encode() + (b"" if content[at : at + 1] == b"}" else b",") + content[at:]


def _with_anchors(random: Random, content: bytes) -> bytes:
    """Return YAML in which a value is one of what JSON has not."""
    lines = content.split(b"\n")
    at = random.choice([number for number, line in enumerate(lines) if b": " in line])
    indent = b" " * (len(lines[at]) - len(lines[at].lstrip(b"- ")))
    new = random.choice(_ANCHORED).replace(b"\n", b"\n" + indent)
    lines[at] = lines[at].partition(b": ")[0] + b": " + new
    return b"\n".join(lines)


def _in_yaml(value: Any) -> bytes:  # noqa: ANN401
    try:
        return yaml.dump(value, Dumper=yaml.CSafeDumper).encode()
    except (UnicodeEncodeError, RecursionError):
        return json.dumps(value).encode()


def _of_documents(value: Any) -> bytes:  # noqa: ANN401
    items = value.get("items") if isinstance(value, dict) else None
    return b"---\n".join(map(_in_yaml, items if isinstance(items, list) else [value]))


_FORMS: tuple[Callable[[Any], bytes], ...] = (
    lambda value: json.dumps(value).encode(),
    lambda value: json.dumps(value, separators=(",", ":")).encode(),
    lambda value: json.dumps(value, indent=4).encode(),
    _in_yaml,
    _of_documents,
)


def content_of(random: Random, value: Any, forms: tuple[Callable[[Any], bytes], ...] = _FORMS) -> bytes:  # noqa: ANN401
    """Return a damaged text of the value, perhaps in YAML."""
    way = random.random()
    form = random.choice(forms)
    if way < 0.6:
        return form(_exchanged(random, value))
    content = form(value)
    if way < 0.8:
        return _spoiled(random, content)
    return _doubled_key(random, forms[0](value)) if form in _FORMS[:3] else _with_anchors(random, content)


def case(number: int) -> Case:
    """Return the damaged file of a number, perhaps packed, and the question that is asked of it."""
    random = Random(number)  # noqa: S311
    content = content_of(random, whole(random))
    if random.random() < 0.15:
        content = gzip.compress(content, 1, mtime=0)
        content = _spoiled(random, content) if random.random() < 0.3 else content
    return Case(content, random.choice(_COMMANDS))


def listing(number: int, lists: Mapping[str, str]) -> tuple[str, Case]:
    """Return the path of a list that a server spoils, the answer, and the question that is asked; `lists` are kinds."""
    random = Random(number)  # noqa: S311
    path, kind = random.choice(sorted(lists.items()))
    items = [item for item in whole(random)["items"] if item["kind"] == kind]
    answer = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return path, Case(content_of(random, answer, _FORMS[:3]), random.choice(_COMMANDS))
