"""How far a search goes, in steps of the engine and not in seconds: no answer depends on the machine.

Who asks may also say meanwhile that the answer is not wanted any more, or what is more urgent.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

MOST_STEPS, _FEWEST_STEPS, _NODES_IN_ALL = 2048, 64, 12_000
_KINDS_OF_A_STEP, _PODS_OF_A_STEP, _WAITED_ON_OF_A_STEP = 16, 32, 16


def most_steps(nodes: int) -> int:
    """Return how many steps one enumeration of outcomes may take, fewer where more nodes are asked in each.

    What PostFilter does after an attempt is a step.
    """
    return min(MOST_STEPS, max(_FEWEST_STEPS, _NODES_IN_ALL // max(1, nodes)))


def steps_of_attempt(kinds: int, one_by_one: int) -> int:
    """Return how many steps an attempt counts for, by how many kinds of pods there are, and pods without a plan."""
    return 1 + kinds // _KINDS_OF_A_STEP + one_by_one // _PODS_OF_A_STEP


def steps_of_retries(waited_on: int) -> int:
    """Return how many steps `preempt_as_retried` counts for, by the nodes on which members wait."""
    return 1 + waited_on // _WAITED_ON_OF_A_STEP


class Unwanted(Exception):  # noqa: N818
    """Nobody wants any more what is being computed."""


class Asker(NamedTuple):
    """Who waits for an answer: whether it is still wanted, and what is done between the answers of a listing."""

    wants_it: Callable[[], bool]
    between: Callable[[], None]


_asker: ContextVar[Asker | None] = ContextVar("asker", default=None)


@contextmanager
def asked_by(asker: Asker) -> Iterator[None]:
    """Compute for somebody who may stop waiting: then Unwanted is raised at the next step."""
    before = _asker.set(asker)
    try:
        yield
    finally:
        _asker.reset(before)


def between_answers() -> None:
    """Let who asks do what is more urgent: one answer is complete, and the next has not begun."""
    asker = _asker.get()
    if asker is not None:
        asker.between()
        _check(asker)


def _check(asker: Asker) -> None:
    if not asker.wants_it():
        raise Unwanted


class Budget:
    """The steps that a search may still take, and whether it was cut off.

    Who begins a search makes one and hands it down; everything below takes steps from it. A step is taken whether its
    answer was computed before or not: what was asked before changes no answer.
    """

    __slots__ = ("_whole", "is_cut", "left")

    def __init__(self, steps: int = MOST_STEPS, whole: "Budget | None" = None) -> None:
        self.left = steps
        self.is_cut = False
        self._whole = whole

    def take(self, steps: int = 1) -> bool:
        """Take steps away, and tell whether they were left; where they were not, the search is cut off.

        Raises Unwanted.
        """
        if (asker := _asker.get()) is not None:
            _check(asker)
        if self.left < steps or (self._whole is not None and not self._whole.take(steps)):
            self.cut()
            return False
        self.left -= steps
        return True

    def cut(self) -> None:
        """Say that something was left out: in a part, and so in the whole."""
        self.is_cut = True
        if self._whole is not None:
            self._whole.cut()

    def part(self, steps: int) -> "Budget":
        """Return the budget of a part of the search, which may take so many steps of what is left, and no more."""
        return Budget(min(steps, self.left), self)
