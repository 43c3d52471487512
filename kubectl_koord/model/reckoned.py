"""Values that keep what was reckoned of them."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self, TypeVar

T = TypeVar("T")


class Reckoned:
    """A value that is not changed, and keeps what was reckoned of it."""

    def once(self, key: object, reckon: Callable[[Self], T]) -> T:
        """Return what follows from the whole of it, reckoned once per key."""
        if key not in self._kept:
            self._kept[key] = reckon(self)
        found: T = self._kept[key]
        return found

    @cached_property
    def _kept(self) -> dict[object, Any]:
        return {}
