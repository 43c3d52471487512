"""Values that many objects have in common, kept as one object each."""

from collections.abc import Hashable
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T", bound=Hashable)

_MOST = 1 << 14


def shared(value: T) -> T:
    """Return the first of the equal values that were seen lately, so that the others are not kept."""
    found: T = _first(value)
    return found


def forget() -> None:
    """Keep no value any more for who is yet to come: all is read."""
    _first.cache_clear()


@lru_cache(_MOST)
def _first(value: T) -> T:
    return value
