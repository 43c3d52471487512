"""CEL expressions that select devices, as far as they are plain equalities."""

import json
import re
from collections.abc import Iterable

from msgspec import Struct

from kubectl_koord.model.resource_claims import AttributeValue, DeviceSelector, DeviceTest

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_STRING = r'"[^"\\]*"|\'[^\'\\]*\''
_WHAT = rf"device\.(?:driver|attributes\[(?P<domain>{_STRING})\]\.(?P<name>{_NAME}))"
_TEST = re.compile(rf"\s*{_WHAT}\s*==\s*(?P<value>{_STRING}|-?\d+|true|false)\s*")
_AND = "&&"


class CEL(Struct, gc=False):
    """selectors[].cel."""

    expression: str = ""


class CELSelector(Struct, gc=False):
    """One selector of a DeviceClass or of a request."""

    cel: CEL | None = None


def device_selectors(written: Iterable[CELSelector] | None) -> tuple[DeviceSelector, ...]:
    """Return selectors as values."""
    expressions = (one.cel.expression if one.cel else "" for one in written or ())
    return tuple(DeviceSelector(expression, _tests(expression)) for expression in expressions)


def _tests(expression: str) -> tuple[DeviceTest, ...] | None:
    """Return the equalities that an expression joins by `&&`, None for any other expression."""
    tests = []
    at = 0
    while True:
        found = _TEST.match(expression, at)
        if found is None:
            return None
        tests.append(_test(found))
        at = found.end()
        if at == len(expression):
            return tuple(tests)
        if not expression.startswith(_AND, at):
            return None
        at += len(_AND)


def _test(found: re.Match[str]) -> DeviceTest:
    value = _value(found["value"])
    return DeviceTest(value, (found["domain"][1:-1], found["name"])) if found["name"] else DeviceTest(value)


def _value(written: str) -> AttributeValue:
    if written[0] in "\"'":
        return "string", written[1:-1]
    told = json.loads(written) if written in {"true", "false"} else int(written)
    return ("bool", told) if isinstance(told, bool) else ("int", told)
