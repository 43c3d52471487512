"""What must be text in an object and is written without quotes: YAML reads `false`, `1` and `[a]` as no text."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

_EXPECTED = re.compile(r"Expected `str(?: \| null)?`, got `(\w+)` - at `\$([^`]*)`")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|\[\.\.\.\]")
_TYPES = {"bool": bool, "int": int, "float": float, "array": list, "object": dict}
_NAMES = {"bool": "a boolean", "int": "a number", "float": "a number"}
_Place = tuple[str, Any]


def told(problem: Exception, value: Any) -> str:  # noqa: ANN401 - any value
    """Return what is wrong with an object, in words; where text is wanted, also the key and how to write it."""
    found = _EXPECTED.match(str(problem))
    wrong = next(_wrong(found[1], found[2], value), None) if found else None
    if found is None or wrong is None:
        return str(problem)
    key, is_there = wrong
    if isinstance(is_there, (list, dict)):
        if "annotations." not in key:
            return str(problem)
        return f"write the value of {key} as text, in quotes: '{json.dumps(is_there)}'"
    return f"write it in quotes: the value of {key} is {_NAMES[found[1]]} without them"


def _wrong(got: str, path: str, value: Any) -> Iterator[_Place]:  # noqa: ANN401 - any value
    """Yield the places in a value that a path stands for, and that are of the type that is not wanted."""
    places: list[_Place] = [("", value)]
    for step in _STEP.finditer(path):
        places = [inner for place in places for inner in _within(place, step[1] or step[2])]
    wanted = _TYPES.get(got, type(None))
    return (place for place in places if type(place[1]) is wanted)


def _within(place: _Place, name: str | None) -> Iterable[_Place]:
    """Return what a step leads to: a field, an item, or the value of any key."""
    where, value = place
    if isinstance(value, list):
        return [(f"{where}[{number}]", inner) for number, inner in enumerate(value) if name == str(number)]
    before = f"{where}." if where else ""
    return [(f"{before}{key}", inner) for key, inner in value.items() if name in {None, key}]
