"""Which pods to move so that more gangs of a shape fit: the fewest moves for each gang more."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.state import View
from kubectl_koord.model.values import Selector
from kubectl_koord.remedies.plan import Choices, Found, Move, Planner, Weights, closed_for, edits_of
from kubectl_koord.remedies.search import Search, SearchBudget
from kubectl_koord.simulation.simulation import Scenario, Simulation, every_outcome, likeliest_outcome, seats
from kubectl_koord.simulation.what_if import MOST_COPIES, renamed

if TYPE_CHECKING:
    from kubectl_koord.engine.rounds import Outcome

FEWEST = Weights(hours=0.001, pods=1, gangs=0, budgets=0.001)
"""Each pod that moves counts one; of as many those are chosen that lose the least work."""
_MOST_MORE, _FEWEST_MORE, _MOST_SLOTS, _MOST_STEPS, _NODES_A_STEP = 16, 2, 256, 512, 500
_NONE, _ROUNDED = float("inf"), 1e-6


class Point(Struct, frozen=True):
    """So many gangs fit at once after the first so many moves; the pods of these, and their GPU-hours.

    `cost` is what the moves cost; it `is_least` where it is proven that nothing cheaper makes as much room.
    """

    gangs: int
    moves: int
    pods: int
    hours: float
    cost: float
    is_least: bool


class Room(Struct, frozen=True):
    """How many gangs fit as things are, and after how many moves more of them do.

    `now_cut` tells that there may be more of them now, `is_cut` that not all moves were looked at. `found` has all
    moves, None for none.
    """

    now: int
    now_cut: bool
    points: tuple[Point, ...]
    found: Found | None
    is_cut: bool


def defragment(base: Simulation, weights: Weights, keep: Selector | None) -> Room:
    """Return how many gangs like the subject fit, and which moves make room for more of them, one after the other.

    Each gang more gets the cheapest moves that make room for it beside those before it, which stay where the scheduler
    puts them. That all together are the cheapest is proven by a bound, or not said.
    """
    most = max(min(_MOST_MORE, _FEWEST_MORE), _MOST_MORE // (1 + len(base.view.names()) // _NODES_A_STEP))
    filled = _Filled(base, base.view)
    failed = filled.fill(MOST_COPIES)
    now, moves, points = filled.gangs, list[Move](), list[Point]()
    if failed is None:
        return Room(now, now_cut=True, points=(), found=None, is_cut=False)
    whole = Planner(Search(base, failed, SearchBudget(base)), weights, keep, ())
    bound, cost, is_cut = _Bound(whole, most), 0.0, False
    while failed is not None and len(points) < most:
        moved = {pod.key for move in moves for pod in move.unit.pods}
        planner = Planner(Search(filled.simulation, failed, SearchBudget(base)), weights, keep, moved)
        found = planner.search()
        is_cut = is_cut or planner.budget.is_cut
        if found is None:
            break
        moves += found.moves
        cost += found.cost
        filled.move(planner, found.moves)
        failed, gangs = filled.fill(MOST_COPIES), filled.gangs
        pods = sum(len(move.unit.pods) for move in moves)
        hours = sum(move.unit.hours for move in moves)
        is_only = not points and not now and found.is_cheapest  # no gang stands where another might stand better
        is_least = cost <= bound.of(gangs) + _ROUNDED or (is_only and gangs == 1)
        points.append(Point(gangs, len(moves), pods, hours, cost, is_least))
    is_cut = is_cut or len(points) == most
    return Room(now, False, tuple(points), _all(whole, filled, moves, points) if points else None, is_cut)  # noqa: FBT003


def _all(whole: Planner, filled: "_Filled", moves: list[Move], points: Sequence[Point]) -> Found:
    """Return all moves as one plan: whatever the scheduler chooses meanwhile, so many gangs fit at the end, or not."""
    base, last = whole.simulation, points[-1]
    closed = closed_for(moves, filled.nodes)
    choices = Choices(whole, lambda view: _Filled(base, view).fill(last.gangs) is None, last.gangs * filled.steps)
    blocked = choices.blocked(base.view, moves, frozenset(closed))
    nodes = tuple(sorted(filled.nodes))
    every = tuple(moves)
    return Found(every, closed, edits_of(every), nodes, last.cost, last.is_least, blocked, choices.budget.is_cut)


class _Filled:
    """A cluster with as many gangs like the subject as fit, which stand where the scheduler puts them."""

    def __init__(self, base: Simulation, view: View) -> None:
        self._base = base
        self._view = view
        self.steps = 1 + len(view.names()) // _NODES_A_STEP
        self.gangs = 0
        self._budget = Budget(_MOST_STEPS)
        self.nodes: set[str] = set()
        self.simulation: Simulation = base

    def fill(self, most: int) -> "Outcome | None":
        """Place gangs, so many at most, and return how the first fails that finds no room."""
        while self.gangs < most and self._budget.take(self.steps):
            copy = self._asked(renamed(self._base.subject, self.gangs))
            outcome = likeliest_outcome(copy)
            if not outcome.placed_at_once:
                self.simulation = self._asked(self._base.subject)
                return next(every_outcome(self.simulation, preemption=False))
            placed = seats(copy, outcome)
            self._view = self._view.with_pods(placed)
            self.nodes.update(placed)
            self.gangs += 1
        return None

    def move(self, planner: Planner, moves: Iterable[Move]) -> None:
        """Make moves that were planned here."""
        for move in moves:
            self._view = planner.moved(self._view, move.unit, move.to) or self._view

    def _asked(self, subject: Subject) -> Simulation:
        return Scenario(self._base.snapshot, self._view, self._base.tree).simulation(subject)


class _Bound:
    """The least that so many gangs cost, wherever the moved pods go: by place, and then by all places together."""

    def __init__(self, planner: Planner, most: int) -> None:
        each = len(planner.simulation.subject.pending)
        self._table = [0.0] + [_NONE] * most
        self._free = 0
        for place, slots in enumerate(planner.slots()):
            least = _least(planner.options(place), min(most * each, _MOST_SLOTS))
            self._free += slots // each
            lacking = (number * each - slots % each for number in range(1, most + 1))
            more = [0.0, *(least[min(one, len(least) - 1)] for one in lacking)]
            self._table = [
                min(self._table[number - here] + more[here] for here in range(number + 1)) for number in range(most + 1)
            ]
        self._is_known = not planner.budget.is_cut

    def of(self, gangs: int) -> float:
        """Return the least that so many gangs cost, 0 where it is not known."""
        more = min(max(0, gangs - self._free), len(self._table) - 1)
        return self._table[more] if self._is_known else 0.0


def _least(nodes: Iterable[Sequence[tuple[int, float]]], most: int) -> list[float]:
    """Return what so many slots cost at least, of each node one of its options: a knapsack."""
    least = [0.0] + [_NONE] * most
    for options in nodes:
        least = [
            min((least[slots], *(least[max(0, slots - gain)] + cost for gain, cost in options)))
            for slots in range(most + 1)
        ]
    return least
