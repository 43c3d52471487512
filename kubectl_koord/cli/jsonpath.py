r"""JSONPath templates as kubectl reads them: `{.items[*].gang}`, `{range .items[*]}{.gang}{"\n"}{end}`.

Mirrors k8s.io/client-go/util/jsonpath: fields, indices, slices, unions, `..`, filters that compare with a literal,
`range` and `end`. A field that is missing yields nothing, as `kubectl get` allows.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.render.plain import harmless

Step: TypeAlias = Callable[[object], Iterable[object]]

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_FIELD = re.compile(r"\.((?:[^\\.\[\]{}'\"\s()=<>!]|\\.)+)")
_BRACKETS = re.compile(r"\[((?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^\[\]'\"]|\[[^\[\]]*\])*)\]")
_FILTER = re.compile(r"\?\(\s*@(?P<path>.*?)\s*(?:(?P<op>==|!=|<=|>=|<|>)\s*(?P<value>.+?))?\s*\)", re.DOTALL)
_SLICE = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d*))?")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
_EXPRESSION = re.compile(r"\{((?:'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[^{}'\"])*)\}")
_COMPARE: dict[str, Callable[[float | str, float | str], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,  # type: ignore[operator] # of one type: _matches sees to it
    ">": lambda a, b: a > b,  # type: ignore[operator]
    "<=": lambda a, b: a <= b,  # type: ignore[operator]
    ">=": lambda a, b: a >= b,  # type: ignore[operator]
}


class Text(Struct, frozen=True):
    """What is written as it is."""

    text: str


class Values(Struct, frozen=True):
    """The values that a path finds, with a space between them."""

    path: tuple[Step, ...]


class Range(Struct, frozen=True):
    """The parts between `range` and `end`, once for each value that a path finds."""

    path: tuple[Step, ...]
    parts: "tuple[Part, ...]"


Part: TypeAlias = Text | Values | Range


def template(text: str) -> tuple[Part, ...]:
    """Return what a template says. Raises KoordError when it is none; the line names what could not be read."""
    open_ranges: list[tuple[tuple[Step, ...], list[Part]]] = []
    parts: list[Part] = []
    at = 0
    while at < len(text):
        found = _EXPRESSION.match(text, at)
        if found is None and text[at] in "{}":
            raise _bad(text, "unclosed action" if text[at] == "{" else "unexpected }")
        if found is None:
            following = re.compile(r"[{}]").search(text, at)
            end = following.start() if following else len(text)
            parts.append(Text(text[at:end]))
            at = end
            continue
        at = found.end()
        action = found[1].strip()
        if action == "end":
            if not open_ranges:
                raise _bad(text, "not in range, nothing to end")
            ranged, outer = open_ranges.pop()
            outer.append(Range(ranged, tuple(parts)))
            parts = outer
        elif re.match(r"range\b", action):
            open_ranges.append((path(action.removeprefix("range").strip()), parts))
            parts = []
        elif quoted := _QUOTED.fullmatch(action):
            parts.append(Text(_unescaped(quoted[1] if quoted[1] is not None else quoted[2])))
        else:
            parts.append(Values(path(action)))
    if open_ranges:
        raise _bad(text, "range is not ended")
    return tuple(parts)


def path(text: str) -> tuple[Step, ...]:
    """Return the steps of one path; `{.a.b}`, `.a.b`, `a.b` and `$.a.b` are the same.

    Raises KoordError when it is none.
    """
    bare = text.strip()
    bare = bare[1:-1].strip() if bare.startswith("{") and bare.endswith("}") else bare
    bare = bare[1:] if bare[:1] in {"$", "@"} else bare
    rest = bare if bare[:1] in {".", "[", ""} else f".{bare}"
    steps: list[Step] = []
    while rest and rest != ".":
        if rest.startswith(".."):
            steps.append(_descendants)
            rest = rest[1:]
            continue
        if rest.startswith(".["):
            rest = rest[1:]
        if field := _FIELD.match(rest):
            steps.append(_all if field[1] == "*" else _member(re.sub(r"\\(.)", r"\1", field[1])))
        elif field := _BRACKETS.match(rest):
            steps.append(_bracketed(field[1].strip(), text))
        else:
            raise _bad(text, f"cannot read {rest!r}")
        rest = rest[field.end() :]
    return tuple(steps)


def find(steps: Sequence[Step], value: object) -> list[object]:
    """Return the values that a path finds in a value."""
    found = [value]
    for step in steps:
        found = [inner for one in found for inner in step(one)]
    return found


def filled(parts: Iterable[Part], value: object) -> str:
    """Return the text of a template for a document, its values harmless."""
    return "".join(_texts(parts, value))


def spelled(value: object) -> str:
    """Return a value as kubectl writes it: a text as it is but harmless, anything else as JSON."""
    return harmless(value) if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _texts(parts: Iterable[Part], value: object) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Text):
            yield part.text
        elif isinstance(part, Values):
            yield " ".join(map(spelled, find(part.path, value)))
        else:
            for one in find(part.path, value):
                yield from _texts(part.parts, one)


def _member(name: str) -> Step:
    return lambda value: (value[name],) if isinstance(value, dict) and value.get(name) is not None else ()


def _all(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _descendants(value: object) -> Iterator[object]:
    yield value
    for inner in _all(value):
        yield from _descendants(inner)


def _bracketed(inside: str, text: str) -> Step:
    if inside == "*":
        return _all
    if filtered := _FILTER.fullmatch(inside):
        return _filter(filtered, text)
    names = [found[1] if found[1] is not None else found[2] for found in _QUOTED.finditer(inside)]
    if names and not _QUOTED.sub("", inside).strip(", "):
        steps = [_member(_unescaped(name)) for name in names]
        return lambda value: [one for step in steps for one in step(value)]
    if sliced := _SLICE.fullmatch(inside):
        start, end, by = (int(part) if part else None for part in sliced.groups())
        if by == 0:
            raise _bad(text, "a step of 0")
        return lambda value: value[start:end:by] if isinstance(value, list) else ()
    try:
        places = [int(one) for one in inside.split(",")]
    except ValueError:
        raise _bad(text, f"cannot read [{inside}]") from None
    return lambda value: (
        [value[place] for place in places if -len(value) <= place < len(value)] if isinstance(value, list) else ()
    )


def _filter(found: re.Match[str], text: str) -> Step:
    steps = path(found["path"])
    if found["op"] is None:
        return lambda value: [one for one in _all(value) if find(steps, one)]
    wanted = _literal(found["value"], text)
    compare = _COMPARE[found["op"]]
    return lambda value: [one for one in _all(value) if any(_matches(it, wanted, compare) for it in find(steps, one))]


def _matches(value: object, wanted: float | str, compare: Callable[[float | str, float | str], bool]) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and compare(value, wanted)
    return isinstance(value, int | float) and compare(value, wanted)


def _literal(text: str, whole: str) -> float | str:
    quoted = _QUOTED.fullmatch(text)
    if quoted:
        return _unescaped(quoted[1] if quoted[1] is not None else quoted[2])
    if text in {"true", "false"}:
        return text == "true"
    try:
        return float(text)
    except ValueError:
        raise _bad(whole, f"cannot read {text!r}") from None


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text)


def _bad(text: str, problem: str) -> KoordError:
    return KoordError(say("error: error parsing jsonpath {text}, {problem}", text=text, problem=problem))
