"""What all families of remedies work with: the simulation, what is short where, and a budget of steps."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeVar

from msgspec import structs

from kubectl_koord.diagnosis import contention, coverage
from kubectl_koord.engine.admission.before_trying import before_trying
from kubectl_koord.engine.admission.queue import JobsAhead
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.slots import in_index_order
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.remedies.proof import SearchBudget, is_placed, jobs_ahead, next_attempt_of
from kubectl_koord.remedies.slot_count import SlotCount, placed_members
from kubectl_koord.reports.edits import (
    AddNode,
    DeletePod,
    Edit,
    LabelNode,
    MendNode,
    MovePod,
    ReleaseReservation,
    SetLayers,
    SetMinimum,
    SetQuota,
    SetRequest,
    SetThresholds,
    SetTopology,
    SupplyClaims,
    Tolerate,
    Uncordon,
    UseQuota,
)
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import changed
from kubectl_koord.simulation.simulation import Scenario, Simulation, every_outcome, next_attempt, open_outcomes, seats
from kubectl_koord.wording.remedies.ways_out import Change

T = TypeVar("T")

_CHANGES: dict[type[Edit], Change] = {
    AddNode: "add-nodes",
    LabelNode: "label-nodes",
    MendNode: "mend-node",
    MovePod: "move-pod",
    ReleaseReservation: "release-reservation",
    SetLayers: "other-layers",
    SetMinimum: "fewer-pods",
    SetQuota: "raise-quota",
    SetRequest: "smaller-request",
    SetThresholds: "raise-threshold",
    SetTopology: "topology",
    SupplyClaims: "supply-claims",
    Tolerate: "tolerate",
    Uncordon: "uncordon",
    UseQuota: "other-quota",
}
_ADDING = ("add-nodes", "label-nodes", "mend-node", "other-layers", "raise-threshold")
_MORE_PIECES = 4
_MOST_SLOT_COUNTS = 4


class Search:
    """One search for ways out: a simulation that ends in a no, and the attempt that failed."""

    def __init__(
        self,
        simulation: Simulation,
        failed: Outcome,
        budget: SearchBudget,
        likely: JobsAhead | None = None,
        *,
        never_fits: bool = False,
    ) -> None:
        """Keep them; nothing is computed yet.

        `likely` is what jobs ahead take as far as one may guess, None to find out. `never_fits` is whether not even the
        empty cluster seems to have room.
        """
        self.simulation = simulation
        self.failed = failed
        self.budget = budget
        self._likely = likely
        self.passes_over_room = never_fits and budget.is_tight
        self.members = in_index_order(simulation.subject.pending)
        self.pods = tuple(sorted(pod.key for pod in self.members))
        self.tried: set[Change] = set()
        self.counted: set[Change] = set()
        self.untried: set[Change] = set()
        self._works: dict[tuple[Edit, ...], bool] = {}
        self._found: dict[str, tuple[WayOut, ...]] = {}
        self._kept: dict[object, Any] = {}

    @property
    def first(self) -> Attempt:
        """The attempt that failed: where jobs go first that would be placed, the one after them."""
        return self._failed_attempt[1]

    @property
    def view(self) -> View:
        """The cluster in which it failed, with the jobs that go first in their places."""
        return self._failed_attempt[0]

    @cached_property
    def jobs_ahead(self) -> JobsAhead:
        """What jobs of higher priority take before the subject is tried."""
        return self._likely or jobs_ahead(self.simulation, self.budget)

    @cached_property
    def _failed_attempt(self) -> tuple[View, Attempt]:
        simulation = self.simulation
        before = self.jobs_ahead.view
        if before is simulation.view:
            return simulation.view, self.failed.first
        tried = (outcome.first for outcome in every_outcome(simulation, before, preemption=False))
        return next(
            ((before, first) for first in tried if first.placement is None), (simulation.view, self.failed.first)
        )

    @cached_property
    def slot_counts(self) -> tuple[SlotCount, ...]:
        """The slots as they are counted by each kind of trigger that may come; one where all pods are alike."""
        firsts = [self.first]
        if len({pod.requirements for pod in self.members}) > 1 or len(self.simulation.subject.specs) > 1:
            firsts += [outcome.first for outcome in every_outcome(self.simulation, self.view, preemption=False)]
        kinds: dict[object, SlotCount] = {}
        for first in firsts:
            start = first.plan.start if first.plan is not None else ()
            kinds.setdefault(
                (first.trigger.requirements, placed_members(first), start), SlotCount(self.simulation, self.view, first)
            )
        return tuple(kinds.values())[:_MOST_SLOT_COUNTS]

    def once(self, family: str, find: "Callable[[Search], tuple[WayOut, ...]]") -> tuple[WayOut, ...]:
        """Return the ways out of a family on which others depend, looked for once."""
        if family not in self._found:
            self._found[family] = find(self)
        return self._found[family]

    def kept(self, key: object, make: Callable[[], T]) -> T:
        """Return what several families need, made once."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def works(self, edits: Sequence[Edit], change: Change | None = None) -> bool:
        """Tell whether the engine says yes once the edits are made; no when the budget is spent.

        `change` is what they are an instance of, where the edits do not tell.
        """
        key = tuple(edits)
        if key not in self._works:
            changes = {change} if change else set(map(_change, key))
            if not self.budget.now:
                self.untried.update(changes)
                return False
            placed = self._is_placed(key, changes)
            (self.untried if placed is None else self.tried).update(changes)
            self._works[key] = bool(placed)
        return self._works[key]

    def _is_placed(self, edits: Sequence[Edit], changes: Collection[Change]) -> bool | None:
        simulation = changed(self.simulation, edits)
        if "tolerate" in changes and coverage.not_evaluated(simulation.subject, simulation.snapshot):
            return None  # by nodes that come into question now
        is_other = simulation.seen_by_others is not self.simulation.seen_by_others
        is_own = is_other and simulation.view is self.simulation.view
        likely = self.jobs_ahead if is_own else None
        return is_placed(simulation, self.budget, changes, likely)

    def may_help(self, change: Change, steps: int = 0) -> bool:
        """Note that a change that makes room is looked at, and tell whether it may help, and could still be proven.

        `steps` is how many steps it takes to find candidates.
        """
        if self.passes_over_room and change not in _ADDING:
            self.untried.add(change)
            return False
        is_possible = self.budget.take(steps)
        (self.counted if is_possible else self.untried).add(change)
        return is_possible

    def judged(self, change: Change) -> None:
        """Note that it was computed whether quotas let the subject pass after a change, unless that took too long."""
        (self.untried if self.budget.trials < 0 else self.tried).add(change)

    @property
    def counts_exactly(self) -> bool:
        """Whether counting slots finds all that helps: for pods of one kind that ask for nothing but room."""
        prepared = self.first.prepared
        return len(self.slot_counts) == 1 and prepared.counts_only_room and not prepared.books

    def fewest(self, pieces: Sequence[tuple[int, tuple[Edit, ...]]], missing: int) -> tuple[Edit, ...]:
        """Return the edits of as few pieces as it takes, none when not even all of them work.

        Args:
            pieces: how many slots each brings, and its edits; the best first.
            missing: how many slots are wanted.

        """
        gained, most = 0, 0
        for gain, _ in pieces:
            if gained >= missing:
                break
            gained += gain
            most += 1
        if gained < missing:
            return ()
        for number in dict.fromkeys([*range(most, min(most + _MORE_PIECES, len(pieces)) + 1), len(pieces)]):
            taken = [edits for _, edits in pieces[:number]]
            if self.works(_flat(taken)):
                return self._pruned(taken)
        return ()

    def _pruned(self, pieces: Sequence[tuple[Edit, ...]]) -> tuple[Edit, ...]:
        """Leave out every piece without which it works as well, the least useful ones first."""
        kept = list(pieces)
        for piece in reversed(pieces):
            rest = [other for other in kept if other is not piece]
            if rest and self.works(_flat(rest)):
                kept = rest
        return _flat(kept)

    def beyond(self, edits: Sequence[Edit], failed: Outcome) -> "Search":
        """Return the search that goes on from a changed cluster, out of the same budget."""
        simulation = changed(self.simulation, edits)
        return Search(simulation, failed, self.budget, self._guessed(simulation))

    def _guessed(self, simulation: Simulation) -> JobsAhead:
        """Return what jobs ahead are likely to take in a changed cluster of the same nodes: what they take in this one.

        It guides the search; what that finds is proven with what they really take.
        """
        now, ahead = self.simulation.view, self.jobs_ahead
        if simulation.view is now:
            return ahead
        there = {name: now.occupants(name) for name in now.names()}
        after = {name: held for name in there if (held := ahead.view.occupants(name)) is not there[name]}
        came = {name: [pod for pod in held if isinstance(pod, PendingPod)] for name, held in after.items()}
        first = structs.replace(ahead.ways[0], view=simulation.view.with_pods(came))
        return structs.replace(ahead, ways=(first,))

    def placed_after(self, edits: Sequence[Edit]) -> tuple[View, tuple[str, ...]] | None:
        """Return the cluster with the subject in its place, after the jobs that go first, and its nodes.

        None where it finds no place.
        """
        simulation = changed(self.simulation, edits)
        if not self.works(edits):
            return None
        before = contention.jobs_ahead(simulation).view
        then = Scenario(simulation.snapshot, before, simulation.tree).simulation(simulation.subject)
        placed = seats(then, open_outcomes(then, preemption=False)[0])
        return before.with_pods(placed), tuple(placed)

    def outcome_after(self, edits: Sequence[Edit]) -> Outcome | None:
        """Return what the engine says once the edits are made, None where it is not asked any more."""
        if not self.budget.take(next_attempt_of(self.simulation)):
            self.untried.add("pairs")
            return None
        simulation = changed(self.simulation, edits)
        blockers = before_trying(simulation.subject, simulation.snapshot, simulation.tree)
        return next_attempt(simulation)[0] if simulation.subject.pending and not blockers else None


def _change(edit: Edit) -> Change:
    """Return what an edit is an instance of."""
    if isinstance(edit, DeletePod):
        return "free-pods" if edit.node else "fewer-pods"
    return _CHANGES[type(edit)]


def _flat(pieces: Iterable[tuple[Edit, ...]]) -> tuple[Edit, ...]:
    return tuple(edit for edits in pieces for edit in edits)
