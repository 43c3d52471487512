"""Resource lists of single devices, with the arithmetic of k8s.io/apiserver/pkg/quota/v1, its quirks included."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

Amounts: TypeAlias = Mapping[str, int]


def plus(one: Amounts, more: Iterable[tuple[str, int]]) -> Amounts:
    """Return the sum (`Add`)."""
    total = dict(one)
    for resource, amount in more:
        total[resource] = total.get(resource, 0) + amount
    return total


def less(one: Amounts, other: Amounts) -> Amounts:
    """Return what is left, which may be below zero (`Subtract`)."""
    return {resource: one.get(resource, 0) - other.get(resource, 0) for resource in {**one, **other}}


def minus(one: Amounts, other: Amounts) -> Amounts:
    """Return what is left, nothing below zero; what only the other has is there as zero.

    Mirrors `SubtractWithNonNegativeResult`.
    """
    left = {resource: max(0, amount - other.get(resource, 0)) for resource, amount in one.items()}
    return left | dict.fromkeys(other.keys() - one.keys(), 0)


def is_zero(amounts: Amounts) -> bool:
    """Tell whether there is nothing of anything (`IsZero`)."""
    return not any(amounts.values())


def fits(request: Amounts, free: Amounts) -> bool:
    """Tell whether no more is asked of anything that is told than is free; what is not told is not looked at.

    Mirrors `LessThanOrEqual`.
    """
    return all(request.get(resource, 0) <= amount for resource, amount in free.items())
