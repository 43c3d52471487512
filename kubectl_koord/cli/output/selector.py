"""The label selector of `-l`, as kubectl reads it: `a=b,c!=d,e in (x, y),f notin (z),g,!h`."""

import re
from collections.abc import Iterator

from kubectl_koord.errors import KoordError
from kubectl_koord.model.values.selectors import Requirement, Selector

_KEY = r"(?:[A-Za-z0-9][-A-Za-z0-9.]*/)?[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_NUMBER = re.compile(rf"({_KEY})\s*([<>])\s*(-?\d+)")


def parsed(text: str) -> Selector:
    """Return the selector that a text is; an empty one matches everything.

    Raises:
        KoordError: naming the part that is none.

    """
    return Selector(tuple(_requirement(part, text) for part in _parts(text)))


def _parts(text: str) -> Iterator[str]:
    """Yield what commas divide, except within parentheses."""
    if text.strip():
        yield from (part.strip() for part in re.split(r",(?![^()]*\))", text))


def _requirement(part: str, text: str) -> Requirement:
    if found := _EQUALS.fullmatch(part):
        return Requirement(found[1], "NotIn" if found[2] == "!=" else "In", (found[3],))
    if found := _SET.fullmatch(part):
        values = tuple(value.strip() for value in found[3].split(","))
        if all(re.fullmatch(_VALUE, value) for value in values):
            return Requirement(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _NUMBER.fullmatch(part):
        return Requirement(found[1], "Gt" if found[2] == ">" else "Lt", (found[3],))
    if found := _EXISTS.fullmatch(part):
        return Requirement(found[2], "DoesNotExist" if found[1] else "Exists")
    raise KoordError(f"error: unable to parse requirement {part!r} of the selector {text!r}")
