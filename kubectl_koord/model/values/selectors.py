"""Selectors and tolerations as values, and whether they match."""

from collections.abc import Iterable, Mapping
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct

T = TypeVar("T")

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
        """Take the selectors with what they are of."""
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
