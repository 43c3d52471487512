"""How far a search goes, in steps of the engine and not in seconds: no answer depends on the machine."""

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
        """Take steps away, and tell whether they were left; where they were not, the search is cut off."""
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
