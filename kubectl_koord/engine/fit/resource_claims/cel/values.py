"""The values of CEL that are no Python values, and when two values are equal.

Booleans, int64, doubles, strings, lists (tuples) and null are Python's.
"""

import re
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.resource_claims.cel.faults import EvaluationError, UnsupportedError
from kubectl_koord.model.values import quantity

MOST = (1 << 63) - 1
_MOST_UNSIGNED = (1 << 64) - 1
_MOST_CHARACTERS = 256
_NUMBER = r"(0|[1-9][0-9]*)"
_LABEL = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_BUILD = r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_LABEL}(?:\.{_LABEL})*))?{_BUILD}")
_FRACTION = re.compile(r"[.num]")

Value: TypeAlias = object


class Version(Struct, frozen=True, order=True, gc=False):
    """A semantic version, ordered as these are; what it was built of does not count."""

    major: int
    minor: int
    patch: int
    is_release: bool = True
    labels: tuple[tuple[bool, int, str], ...] = ()


class Amount(Struct, frozen=True, gc=False):
    """A quantity in billionths; `is_plain` tells that it was written without fraction."""

    nano: int
    is_plain: bool = True


class Optional(Struct, frozen=True, gc=False):
    """An optional value: none, or one."""

    values: tuple[Value, ...] = ()


class Domains(dict[str, dict[str, Value]]):
    """Attributes or capacities by domain and name; a domain that is not there is empty."""


def version(text: str) -> Version:
    """Return a semantic version.

    Raises:
        EvaluationError: when the text is none.
        UnsupportedError: when it is very long.

    """
    if len(text) > _MOST_CHARACTERS:
        raise UnsupportedError
    found = _VERSION.fullmatch(text)
    if found is None:
        raise EvaluationError("no-version", text)
    major, minor, patch = (int(one) for one in found.groups()[:3])
    labels = tuple((not one.isdigit(), int(one) if one.isdigit() else 0, one) for one in (found[4] or "0").split("."))
    if max(major, minor, patch, *(number for _, number, _ in labels)) > _MOST_UNSIGNED:
        raise EvaluationError("no-version", text)
    return Version(major, minor, patch, not found[4], labels)


def amount(text: str) -> Amount:
    """Return a quantity.

    Raises:
        EvaluationError: when the text is none.

    """
    try:
        return Amount(quantity.parse(text), not _FRACTION.search(text))
    except quantity.QuantityError:
        raise EvaluationError("no-quantity", text) from None


def equal(left: Value, right: Value) -> bool:
    """Tell whether values are equal: those of different types are not, but numbers may be.

    Raises:
        EvaluationError: when a version or a quantity is compared with another type.

    """
    if left is None or right is None:
        return left is right
    kind = type(right)
    match left:
        case bool() | str():
            return kind is type(left) and left == right
        case int() | float():
            return kind in {int, float} and (left == right if kind is type(left) else float(left) == float(right))  # type: ignore[arg-type]
        case Version() | Amount():
            if kind is not type(left):
                raise EvaluationError("no-such-overload")
            return left == right if isinstance(left, Version) else left.nano == right.nano  # type: ignore[attr-defined]
        case _:
            raise UnsupportedError
