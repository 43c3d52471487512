"""Values that keep what was computed of them: the key is the function and all its arguments."""

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

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
        """Take the object."""
        self.value = value

    def __eq__(self, other: object) -> bool:
        """Tell whether it is the same object."""
        return isinstance(other, Identity) and self.value is other.value

    def __hash__(self) -> int:
        """Hash the identity."""
        return id(self.value)
