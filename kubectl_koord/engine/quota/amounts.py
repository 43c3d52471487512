"""Amounts of several resources: sums and comparisons, each resource for itself."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias, TypeVar

Amounts: TypeAlias = Mapping[str, int]
"""Amounts by resource: a resource that is missing is not there, which is not the same as an amount of 0."""
T = TypeVar("T")


def add(total: dict[str, int], more: Iterable[tuple[str, int]], times: int = 1) -> None:
    """Add amounts to a total, so many times."""
    for resource, amount in more:
        total[resource] = total.get(resource, 0) + times * amount


def plus(first: Amounts, second: Amounts) -> dict[str, int]:
    """Return the sum, of all resources that either has."""
    total = dict(first)
    add(total, second.items())
    return total


def capped(amounts: Amounts, most: Amounts) -> dict[str, int]:
    """Return amounts, each no more than the other's, where that has the resource."""
    return {resource: min(amount, most.get(resource, amount)) for resource, amount in amounts.items()}


def at_least(amounts: Amounts, least: Amounts) -> dict[str, int]:
    """Return amounts, each no less than the other's; resources that only the other has are added."""
    return {**amounts, **{resource: max(amount, amounts.get(resource, amount)) for resource, amount in least.items()}}


def exceeding(amounts: Amounts, limit: Amounts) -> tuple[str, ...]:
    """Return the resources of which there is more than a limit allows, in name order; what has no limit has none."""
    return tuple(sorted(name for name, amount in amounts.items() if name in limit and amount > limit[name]))


class Changed(Mapping[str, T]):
    """Values by name, of which a few are not as in another mapping: the others, of which there are many, stay there."""

    __slots__ = ("differing", "usual")

    def __init__(self, usual: Mapping[str, T], differing: Mapping[str, T]) -> None:
        """Take the other mapping, and what differs from it, or comes besides."""
        self.usual, self.differing = usual, differing
        if isinstance(usual, Changed):
            self.usual, self.differing = usual.usual, {**usual.differing, **differing}

    def __getitem__(self, name: str) -> T:
        """Return the value of a name."""
        return self.differing[name] if name in self.differing else self.usual[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names."""
        yield from {**self.usual, **self.differing}

    def __len__(self) -> int:
        """Return how many names there are."""
        return len(self.usual.keys() | self.differing.keys())
