"""Exact quantities, times, label selectors, packed labels, and caches of what was computed."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

P = ParamSpec("P")
T = TypeVar("T")
M = TypeVar("M", bound="Memo")

_ABSENT: Any = object()


class Memo:
    """A value that never changes, and keeps what `memoised` functions computed of it."""

    @cached_property
    def memo(self) -> dict[object, Any]:
        """What was computed, by function and arguments."""
        return {}


def memoised(compute: Callable[Concatenate[M, P], T]) -> Callable[Concatenate[M, P], T]:
    """Compute a pure function of a value once for each set of its other arguments, which must be hashable."""

    @wraps(compute)
    def kept(value: M, /, *args: P.args, **named: P.kwargs) -> T:
        key = (compute, args, *named.items()) if named else (compute, args)
        memo = value.memo
        found: T = memo.get(key, _ABSENT)
        if found is _ABSENT:  # keys are long, and hashed each time
            found = memo[key] = compute(value, *args, **named)
        return found

    return kept


def recently(most: int) -> Callable[[Callable[Concatenate[M, P], T]], Callable[Concatenate[M, P], T]]:
    """Memoise as `memoised`, but keep no more than the latest so many answers of a value."""

    def keeping(compute: Callable[Concatenate[M, P], T]) -> Callable[Concatenate[M, P], T]:
        @wraps(compute)
        def kept(value: M, /, *args: P.args, **named: P.kwargs) -> T:
            key = (args, *named.items())
            hashed = hash(key)  # once: it takes as long as all the rest
            answers: dict[int, tuple[object, T]] = value.memo.setdefault(compute, {})
            known = answers.pop(hashed, None)
            found = known[1] if known is not None and known[0] == key else compute(value, *args, **named)
            answers[hashed] = (key, found)
            if len(answers) > most:
                del answers[next(iter(answers))]
            return found

        return kept

    return keeping


class Identity(Generic[T]):
    """One object as an argument of a memoised function: equal to itself alone, and kept alive by the key."""

    __slots__ = ("value",)

    def __init__(self, value: T) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def later(start: str, by: timedelta) -> str:
    """Return the RFC 3339 moment so much later, in UTC, empty where `start` is none."""
    try:
        return f"{(datetime.fromisoformat(start) + by).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        return ""


def between(start: str, end: str) -> timedelta | None:
    """Return the time from one RFC 3339 moment to another, None where one of them is none."""
    try:
        return datetime.fromisoformat(end) - datetime.fromisoformat(start)
    except (ValueError, TypeError):  # not a time; one with and one without a time zone
        return None


Labels: TypeAlias = tuple[tuple[str, str], ...]


class Requirement(Struct, frozen=True, gc=False):
    """One expression of a selector: `key operator values` (In, NotIn, Exists, DoesNotExist, Gt, Lt)."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class Selector(Struct, frozen=True, gc=False):
    """A label selector: all requirements must hold; none at all matches everything."""

    requirements: tuple[Requirement, ...] = ()


EVERYTHING = Selector()


class NodeTerm(Struct, frozen=True, gc=False):
    """One term of a required node affinity: label expressions and field (metadata.name) ones."""

    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()


class Toleration(Struct, frozen=True, gc=False):
    """One toleration of a pod; empty key with Exists tolerates every taint."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class Taint(Struct, frozen=True, gc=False):
    """One taint of a node."""

    key: str
    value: str
    effect: str


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Tell whether the labels satisfy the requirement (apimachinery labels.Requirement.Matches)."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return _compares(requirement, value)
        case _:
            return False


def _compares(requirement: Requirement, value: str | None) -> bool:
    try:
        have, want = int(value or ""), int(requirement.values[0])
    except (ValueError, IndexError):
        return False
    return have > want if requirement.operator == "Gt" else have < want


def matches(selector: Selector, labels: Mapping[str, str]) -> bool:
    """Tell whether the labels satisfy every requirement of the selector."""
    return all(holds(requirement, labels) for requirement in selector.requirements)


class BySelector(Generic[T]):
    """Things with selectors, by labels that these ask for, so that few are looked at for some labels."""

    def __init__(self, things: Iterable[tuple[Selector, T]]) -> None:
        self._by_label: dict[tuple[str, str], list[T]] = {}
        self._others: list[T] = []
        for selector, thing in things:
            listing = next((one for one in selector.requirements if one.operator == "In"), None)
            if listing is None:
                self._others.append(thing)
            else:
                for value in listing.values:
                    self._by_label.setdefault((listing.key, value), []).append(thing)

    def in_reach(self, labels: Labels) -> Iterable[T]:
        """Return what may have a selector that matches these labels; nothing else has."""
        if self._by_label.keys().isdisjoint(labels):
            return self._others
        return (*self._others, *(one for label in labels for one in self._by_label.get(label, ())))


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Tell whether the toleration covers the taint (`Toleration.ToleratesTaint` in k8s.io/api)."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    return toleration.operator == "Exists" or (toleration.operator in {"", "Equal"} and toleration.value == taint.value)


_encode = msgspec.msgpack.Encoder().encode
_MOST_NAMES = 1 << 10
_strings = msgspec.msgpack.Decoder(tuple[str, ...]).decode


@lru_cache(_MOST_NAMES)
def _places(names: tuple[str, ...], wanted: tuple[str, ...]) -> tuple[int | None, ...] | None:
    """Return where names are among others, None for each that is not; None altogether where none is."""
    places = tuple([names.index(name) if name in names else None for name in wanted])
    return None if all(place is None for place in places) else places


class PackedLabels(Struct, frozen=True, gc=False):
    """Labels in the order of their names, as pairs for whoever iterates over them.

    `values` is the list of their values as MessagePack. `quota` are the values of those that quotas go by, None for
    each that is missing: they are asked for of every pod, and few pods have others than the rest.
    """

    names: tuple[str, ...]
    values: bytes
    quota: tuple[str | None, ...]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.names, _strings(self.values), strict=True)

    def picked(self, names: tuple[str, ...]) -> tuple[str | None, ...]:
        """Return the values of some labels, None for each that is missing."""
        places = _places(self.names, names)
        if places is None:
            return (None,) * len(names)
        values = _strings(self.values)
        return tuple([None if place is None else values[place] for place in places])


def picked(labels: Labels | PackedLabels, *names: str) -> tuple[str | None, ...]:
    """Return the values of some labels, None for each that is missing; few labels have to be read for that."""
    if isinstance(labels, PackedLabels):
        return labels.picked(names)
    known = dict(labels)
    return tuple(map(known.get, names))


def values_of(labels: Labels | PackedLabels) -> bytes:
    """Return the values of labels as bytes, among them those of each value in UTF-8."""
    return labels.values if isinstance(labels, PackedLabels) else _encode([value for _, value in labels])


class Packed(Struct, frozen=True, gc=False):
    """Values of one kind as bytes; a subclass says how they are read."""

    content: bytes


def packed(values: Iterable[object]) -> bytes | None:
    """Return values as bytes, None where one of their numbers is too large for that."""
    try:
        return _encode(tuple(values))
    except OverflowError:
        return None


class PackedStrings(Packed, frozen=True, gc=False):
    """Texts."""

    def __iter__(self) -> Iterator[str]:
        return iter(_strings(self.content))


def packed_strings(texts: tuple[str, ...]) -> PackedStrings:
    """Return texts as bytes."""
    return PackedStrings(_encode(texts))


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

    Mirrors `ParseQuantity` in k8s.io/apimachinery/pkg/api/resource/quantity.go.

    `text`: such as `500m`, `1.5`, `2Gi`, `1e3`, or a JSON number.

    Raises QuantityError when the text is not of the form of a quantity.
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
    """Return the amount without caching it: for measured values, of which hardly two are spelled alike.

    Raises QuantityError when the text is not of the form of a quantity.
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
