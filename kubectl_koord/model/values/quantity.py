"""Kubernetes quantities as exact whole numbers.

Parsing yields billionths of a unit, the finest step that the API server keeps, so that sums
of containers are exact; `milli` and `whole` round up as the scheduler does.
"""

import re
from functools import lru_cache
from typing import TypeAlias

Resources: TypeAlias = tuple[tuple[str, int], ...]
"""Amounts by resource, sorted by name, zero amounts left out."""

NANO = 1_000_000_000

_FORM = re.compile(r"([+-]?)(\d+)?(?:\.(\d*))?(?:([eE][+-]?\d{1,3})|(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]))?", re.ASCII)
_BINARY = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "Ei": 1 << 60}
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_HUGE_PAGES = "hugepages-"
_MAX_DIGITS = 64
_SHORT = 12  # as a text: surely below the most
_MEASURED = (("m", NANO // 1000), ("Ki", NANO << 10), ("n", 1))
_MOST = (1 << 63) - 1


class QuantityError(ValueError):
    """A text that is no Kubernetes quantity."""


@lru_cache(maxsize=1 << 16)
def parse(text: str | float) -> int:
    """Return the quantity in billionths, rounded up as the API server does, and no more than an int64 of units.

    The API server caps so only what has a binary suffix; of any other such amount the scheduler's arithmetic makes
    something that Go leaves undefined.

    Args:
        text: such as `500m`, `1.5`, `2Gi`, `1e3`, or a JSON number.

    Raises:
        QuantityError: when the text is not of the form of a quantity.

    Mirrors `ParseQuantity` in k8s.io/apimachinery/pkg/api/resource/quantity.go.

    """
    written = _spelled(text)
    match = _FORM.fullmatch(written)
    if match is None or len(written) > _MAX_DIGITS or not (match[2] or match[3]):
        raise QuantityError(f"{written[:_MAX_DIGITS]!r} is not a quantity")
    sign, before, after, exponent, suffix = match.groups(default="")
    digits: int = int(before + after or "0")
    tens = 9 - len(after)
    if exponent:
        tens += int(exponent[1:])
    elif suffix in _DECIMAL:
        tens += _DECIMAL[suffix]
    digits *= _BINARY.get(suffix, 1)
    nano: int = digits * 10**tens if tens >= 0 else -(-digits // 10**-tens)
    nano = min(nano, _MOST * NANO)
    return -nano if sign == "-" else nano


def parse_once(text: str | float) -> int:
    """Return the same without keeping it: for what was measured, of which hardly two are spelled alike.

    Raises:
        QuantityError: when the text is not of the form of a quantity.

    """
    if isinstance(text, str) and len(text) <= _SHORT and text.isascii():
        for suffix, factor in _MEASURED:
            if text.endswith(suffix) and text[: -len(suffix)].isdigit():
                return int(text[: -len(suffix)]) * factor
        if text.isdigit():
            return int(text) * NANO
    return parse.__wrapped__(text)


def _spelled(text: str | float) -> str:
    try:
        return str(text)
    except ValueError:  # thousands of digits
        return "9" * (_MAX_DIGITS + 1)


def milli(nano: int) -> int:
    """Return thousandths, rounded up (`Quantity.MilliValue`)."""
    return -(-nano // 1_000_000)


def whole(nano: int) -> int:
    """Return whole units, rounded up (`Quantity.Value`)."""
    return -(-nano // NANO)


def refused(resource: str, nano: int) -> str:
    """Return why pods may not request an amount, to follow it; empty where they may.

    Extended resources are requested in whole units, huge pages in whole pages. Mirrors
    `ValidateResourceQuantityValue`, `IsExtendedResourceName` and `IsHugePageResourceValueDivisible` in
    pkg/apis/core of Kubernetes.
    """
    if resource.startswith(_HUGE_PAGES):
        return "" if _is_whole_pages(resource.removeprefix(_HUGE_PAGES), nano) else "is no whole number of pages"
    is_extended = "/" in resource and "kubernetes.io/" not in resource
    return "is no whole number" if is_extended and milli(nano) % 1000 else ""


def _is_whole_pages(size: str, nano: int) -> bool:
    try:
        page = whole(parse(size))
    except QuantityError:
        return False
    return page > 0 and whole(nano) % page == 0


def amount(resource: str, nano: int) -> int:
    """Return the number that the scheduler computes with: milli for `cpu`, whole units else."""
    return milli(nano) if resource == "cpu" else whole(nano)


@lru_cache(maxsize=1 << 12)
def spell(resource: str, number: int) -> str:
    """Return the shortest exact spelling of an amount (the inverse of `amount`)."""
    if resource == "cpu":
        return str(number // 1000) if number % 1000 == 0 else f"{number}m"
    if is_bytes(resource) and number:
        for suffix in ("Ti", "Gi", "Mi", "Ki"):
            if number % _BINARY[suffix] == 0:
                return f"{number // _BINARY[suffix]}{suffix}"
    return str(number)


def is_bytes(resource: str) -> bool:
    """Tell whether amounts of a resource are bytes: memory of any kind, storage and huge pages."""
    return resource == "ephemeral-storage" or resource.startswith(_HUGE_PAGES) or resource.endswith("memory")
