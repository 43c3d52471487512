"""The search for ways out: the simulation it works with, what is short where, and its budget."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from msgspec import Struct, structs

from kubectl_koord.diagnosis import contention, coverage, evidence
from kubectl_koord.engine.admission import before_trying
from kubectl_koord.engine.attempt import Attempt, needed
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.gangs import PodSubject
from kubectl_koord.engine.queue import JobsAhead
from kubectl_koord.engine.reservations import reserved_nodes
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.slots import Counts, in_index_order, offer_slots, runs_of, slots_on
from kubectl_koord.engine.state import View
from kubectl_koord.engine.table import members
from kubectl_koord.engine.tree import Domain
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod
from kubectl_koord.reports.common import (
    AddNode,
    DeletePod,
    Edit,
    LabelNode,
    MendNode,
    MovePod,
    RelaxRule,
    ReleaseReservation,
    SelectNodes,
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
    WayOut,
)
from kubectl_koord.simulation.simulation import (
    Scenario,
    Simulation,
    all_place,
    every_outcome,
    next_attempt,
    open_outcomes,
    seats,
    surely_fails,
)
from kubectl_koord.simulation.what_if import changed

Change: TypeAlias = Literal[
    "wait",
    "preemption",
    "revoking",
    "label-nodes",
    "other-layers",
    "uncordon",
    "mend-node",
    "raise-threshold",
    "tolerate",
    "select-nodes",
    "relax-rule",
    "topology",
    "fewer-pods",
    "smaller-request",
    "other-quota",
    "raise-quota",
    "release-reservation",
    "supply-claims",
    "free-pods",
    "move-pod",
    "add-nodes",
    "pairs",
]
"""The kinds of changes that a search for ways out tries."""

if TYPE_CHECKING:
    from kubectl_koord.model.values import Resources

MOST_STEPS = 1400
_QUOTAS_IN_ALL = 80_000
_TIGHT = 40
"""A search is tight in which the proof of a change takes more than one step in so many."""
_KIND, _KIND_OF_SEVERAL, _NODES_A_STEP, _ONE_BY_ONE_A_STEP = 2, 3, 500, 8
_PODS_A_STEP: Mapping[Change, int] = {
    "fewer-pods": 6,
    "other-quota": 6,
    "smaller-request": 6,
    "supply-claims": 6,
    "tolerate": 6,
    "select-nodes": 6,
    "relax-rule": 6,
    "topology": 3,
}
_MORE_NODES_A_STEP: Mapping[Change, int] = {"add-nodes": 2, "release-reservation": 32}
_JOB, _MOST_OF_A_JOB, _NODES_OF_A_JOB, _MORE_NODES_OF_A_JOB = 1, 6, 10, 1000
_NOT_ASKED = 4
_OF_NEW_CLUSTER = 2
"""How often a job counts in a cluster with more nodes, in which nothing that was computed holds."""
_PREEMPTION = 10
"""How often a run counts in which it is computed what preemption does."""


class SearchBudget:
    """How many steps a search may still take: a number, not a time, so that answers do not depend on the machine.

    To try a subject of one kind of pod in a small cluster is two; what takes longer is more of them. `left` are those
    of the whole search, of which what is `kept` is not for the part that runs now. `trials` is how many quotas may
    still be computed apart from that. It `is_tight` where there are too few to look for everything.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.left = MOST_STEPS
        self.kept = 0
        self.trials = _QUOTAS_IN_ALL
        ahead = len(contention.higher_priority_jobs(simulation))
        self.is_tight = (run_of(simulation) + jobs_of(simulation, ahead)) * _TIGHT > MOST_STEPS
        self._has_tried_jobs = False

    @property
    def now(self) -> int:
        """How many steps the part that runs now may still take."""
        return max(0, self.left - self.kept)

    def take(self, steps: int) -> bool:
        """Take steps away, none where not all of them are left, and tell whether they were."""
        is_enough = self.now >= max(1, steps)
        self.left -= steps if is_enough else 0
        return is_enough

    def take_up_to(self, steps: int) -> None:
        """Take away what something took, of which it was not known before how much it is."""
        self.left -= min(steps, self.now)

    def allows_jobs(self, most: int) -> bool:
        """Tell whether jobs ahead may be tried once more, which takes no more than so many steps.

        They may, whatever is kept, for half of all steps that are left, and the first time for all of them.
        """
        is_first, self._has_tried_jobs = not self._has_tried_jobs, True
        return most <= (self.left if is_first else self.left // 2)

    def keep(self, share: int) -> None:
        """Let what runs from now on take no more than one step in so many of those that are left."""
        self.kept = self.left - self.left // share


def run_of(simulation: Simulation, changes: Collection[Change] = ()) -> int:
    """Return how many steps it takes to try a subject once these changes are made."""
    nodes, pods = len(simulation.view.names()), len(simulation.subject.pending)
    kinds = len({pod.requirements for pod in simulation.subject.pending})
    more = max((pods // _PODS_A_STEP[change] for change in changes if change in _PODS_A_STEP), default=0)
    grown = max((nodes // _MORE_NODES_A_STEP[change] for change in changes if change in _MORE_NODES_A_STEP), default=0)
    return _attempts(kinds, max(1, kinds)) + nodes // _NODES_A_STEP + more + grown


def _attempts(kinds: int, number: int) -> int:
    """Return how many steps attempts take: more where pods of several kinds are put on each node in turn."""
    return number * (_KIND if kinds <= 1 else _KIND_OF_SEVERAL)


def attempt_of(simulation: Simulation) -> int:
    """Return how many steps a single attempt takes, or what PostFilter does after one: more without a plan."""
    one_by_one = 0 if simulation.has_topology else len(simulation.subject.pending)
    return 1 + len(simulation.view.names()) // _NODES_A_STEP + one_by_one // _ONE_BY_ONE_A_STEP


def run_with_preemption(simulation: Simulation) -> int:
    """Return how many steps it takes to try a subject, its preemption included."""
    return _PREEMPTION * run_of(simulation)


def next_attempt_of(simulation: Simulation) -> int:
    """Return how many steps the next attempt takes: preemption is computed where pods differ."""
    are_alike = len({pod.requirements for pod in simulation.subject.pending}) <= 1
    return run_of(simulation) if are_alike else run_with_preemption(simulation)


def jobs_of(simulation: Simulation, asked: int, others: int = 0, changes: Collection[Change] = ()) -> int:
    """Return how many steps it takes to try jobs: those for which nodes are asked, and others."""
    nodes = len(simulation.view.names())
    each = min(_MOST_OF_A_JOB, _JOB + nodes // _NODES_OF_A_JOB) + nodes // _MORE_NODES_OF_A_JOB
    often = _OF_NEW_CLUSTER if "add-nodes" in changes else 1
    return often * (asked + others // _NOT_ASKED) * each


def has_jobs_ahead(simulation: Simulation, budget: SearchBudget) -> JobsAhead:
    """Return what jobs ahead take in the cluster as it is: all of a search needs it, so it is half of it at most."""
    ahead = contention.jobs_ahead(simulation)
    budget.left -= min(jobs_of(simulation, ahead.asked, ahead.tried - ahead.asked), budget.left // 2)
    return ahead


def is_placed(
    simulation: Simulation, budget: SearchBudget, changes: Collection[Change] = (), likely: JobsAhead | None = None
) -> bool | None:
    """Tell whether why-pending would answer yes; None where the budget does not suffice to tell.

    What jobs of higher priority take is looked at last: only where it is placed alone, and, where the budget is tight,
    beside what they are likely to take.

    Args:
        simulation: the cluster, with the changes.
        budget: what may be spent.
        changes: what is changed.
        likely: what these jobs took before, in the same cluster.
    """
    if not budget.take(run_of(simulation, changes)):
        return None
    if before_trying(simulation.subject, simulation.snapshot, simulation.tree) or not simulation.subject.pending:
        return False
    placed = _next_places(simulation, budget)
    if not placed:
        return placed
    if not _is_likely(simulation, budget, likely) or not _may_try_jobs_ahead(simulation, budget, changes):
        return None
    left_by_jobs_ahead = contention.left_by_jobs_ahead(simulation)
    return left_by_jobs_ahead is None or left_by_jobs_ahead.leaves_room


def _may_try_jobs_ahead(simulation: Simulation, budget: SearchBudget, changes: Collection[Change]) -> bool:
    """Tell whether the budget allows to try the jobs that go before a subject, and take away what it takes."""
    if contention.knows_jobs_ahead(simulation):
        return True
    most = jobs_of(simulation, len(contention.higher_priority_jobs(simulation)), changes=changes)
    if not budget.allows_jobs(most):
        return False
    ahead = contention.jobs_ahead(simulation)
    budget.left -= jobs_of(simulation, ahead.asked, ahead.tried - ahead.asked, changes)
    return True


def _is_likely(simulation: Simulation, budget: SearchBudget, ahead: JobsAhead | None) -> bool:
    """Tell whether jobs ahead are worth trying: where the budget is tight, if what they took before leaves room."""
    left = contention.left_by(simulation, ahead) if budget.is_tight and ahead is not None else None
    return left is None or left.leaves_room


def _next_places(simulation: Simulation, budget: SearchBudget) -> bool | None:
    """Tell whether the next attempt places the subject whichever pod is tried first.

    What preemption does is computed, which takes long, only where some triggers place it and others do not. More
    attempts than one for each kind of pods, as where their order is open, count when it is known how many there were.
    Where the likeliest has an effect and does not place it, no other is tried.
    """
    steps = Budget(simulation.steps)
    every = every_outcome(simulation, preemption=False, budget=steps)
    likeliest = next(every)
    if surely_fails(simulation, likeliest):
        return False
    placed = {likeliest.placed_at_once, *(outcome.placed_at_once for outcome in every)}
    kinds = len({pod.requirements for pod in simulation.subject.pending})
    budget.take_up_to(max(0, _attempts(kinds, simulation.steps - steps.left) - run_of(simulation)))
    if steps.is_cut:
        return None
    if placed != {True, False}:
        return placed == {True}
    if not budget.take(run_with_preemption(simulation)):
        return None
    return all_place(next_attempt(simulation))


class Shortage(Struct, frozen=True):
    """A place that lacks slots: a domain of the start set, or the whole cluster (domain None)."""

    domain: Domain | None
    missing: int
    nodes: tuple[str, ...]

    @property
    def named(self) -> Domain | None:
        """The domain, None for the whole cluster, which a plan and no plan have in common."""
        return self.domain if self.domain is not None and self.domain.name else None


class SlotCount:
    """How slots are counted by one trigger, in the view of the attempt that failed, with the pods that are nominated.

    What is short and what a change brings are numbers of the same kind, so that they may be compared.
    """

    def __init__(self, simulation: Simulation, view: View, first: Attempt) -> None:
        self.simulation = simulation
        self.view = view
        self.first = first
        self.members = in_index_order(simulation.subject.pending)
        self._runs = runs_of(self.members)
        self._slots: dict[View, Counts] = {}
        self._most: dict[Resources, int] = {}

    def shorts(self) -> Iterator[Shortage]:
        """Yield the places that lack slots, those that lack the fewest first."""
        plan = self.first.plan
        if plan is None:
            yield Shortage(None, max(1, self.wanted - placed_members(self.first)), tuple(self.view.names()))
            return
        ranked = sorted(plan.start, key=lambda index: (-plan.raw[index], index))
        for index in ranked:
            domain = plan.tree.domains[index]
            multiple = self.multiples.get(domain.layer, 1)
            missing = max(1, -(-plan.desired // multiple) * multiple - plan.raw[index])
            yield Shortage(domain, missing, tuple(plan.tree.nodes_below(index)))

    @property
    def multiples(self) -> Mapping[str, int]:
        """The pod count multiples by layer, none for an attempt without a plan."""
        return self.simulation.multiples if self.first.plan is not None else {}

    @property
    def wanted(self) -> int:
        """How many pods of a gang without a plan must find a place at once."""
        subject = self.simulation.subject
        if isinstance(subject, PodSubject) or subject.group.is_satisfied():
            return 1
        return sum(needed(subject.group).values())

    def slots(self, view: View) -> Counts:
        """Return the gang's slots by node in a variant of the cluster; for a gang without a plan beyond its number."""
        if view not in self._slots:
            self._slots[view] = offer_slots(view, view.names(), self.members, self.first.prepared).counts
        return self._slots[view]

    @cached_property
    def empty_slots(self) -> Counts:
        """The slots by node with no pods there, no node cordoned and no pod nominated."""
        held = evidence.held_for(self.first)
        return evidence.slots_in(evidence.empty_view(self.view, held), self.simulation, self.first)

    @cached_property
    def fresh_slots(self) -> Counts:
        """The slots by node of nodes that are new, on which no load is measured."""
        return evidence.slots_in(evidence.fresh_view(self.view), self.simulation, self.first)

    def most_on(self, name: str) -> int:
        """Return a bound of the slots that a node has whoever goes: what it has of each resource, used or not."""
        if name in self._reserved:
            return len(self.members)
        allocatable = self.view.node(name).allocatable
        if allocatable not in self._most:
            self._most[allocatable] = self._bound(dict(allocatable))
        return self._most[allocatable]

    def _bound(self, there: Mapping[str, int]) -> int:
        """Return how many members go on a node with so much, where one after the other they are alike; else any do."""
        each = self.first.prepared.trigger.requirements.requests
        most = min((there.get(resource, 0) // amount for resource, amount in each if amount), default=len(self.members))
        return min(most, len(self.members)) if len(self._runs) == 1 or not most else len(self.members)

    def most_without(self, node: str, pods: Sequence[RunningPod]) -> int:
        """Return a bound of the slots that a node has once some of its pods are gone: what is free of each resource."""
        if node in self._reserved or len(self._runs) > 1:
            return len(self.members)
        free = self.view.state(node).free
        given = [dict(pod.requirements.requests) for pod in pods]
        return min(
            (
                (free.get(resource, 0) + sum(one.get(resource, 0) for one in given)) // amount
                for resource, amount in self.first.prepared.trigger.requirements.requests
                if amount
            ),
            default=len(self.members),
        )

    @cached_property
    def _reserved(self) -> frozenset[str]:
        """The nodes on which what is reserved may be given back."""
        return frozenset(members(self.view, reserved_nodes(self.view)))

    def slots_without(self, node: str, pods: Sequence[RunningPod | ReservedRoom]) -> int:
        """Return the gang's slots on a node once some of its pods are gone."""
        state = self.view.state(node).copy()
        for pod in pods:
            state.remove(pod)
        return slots_on(state, self._runs, self.first.prepared)


def placed_members(first: Attempt) -> int:
    """Return how many members had found a node when an attempt failed."""
    return sum(len(pods) for pods in first.waiting.values())


def in_domain(names: Collection[str], gains: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return the nodes among these that gain something, the best first."""
    found = [(gains[name], name) for name in names if gains.get(name, 0) > 0]
    return sorted(found, key=lambda item: (-item[0], item[1]))


T = TypeVar("T")

_CHANGES: dict[type[Edit], Change] = {
    AddNode: "add-nodes",
    LabelNode: "label-nodes",
    MendNode: "mend-node",
    MovePod: "move-pod",
    RelaxRule: "relax-rule",
    ReleaseReservation: "release-reservation",
    SelectNodes: "select-nodes",
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
        self.left_out: set[Change] = set()
        self.counts_few = False
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
        return self._likely or has_jobs_ahead(self.simulation, self.budget)

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
        self.counts_few = len(kinds) > _MOST_SLOT_COUNTS
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

    def _is_placed(self, edits: Sequence[Edit], changes: AbstractSet[Change]) -> bool | None:
        simulation = changed(self.simulation, edits)
        if changes & {"tolerate", "select-nodes"} and coverage.not_evaluated(simulation.subject, simulation.snapshot):
            return None  # by nodes that come into question now
        is_other = simulation.seen_by_others is not self.simulation.seen_by_others
        is_own = is_other and simulation.view is self.simulation.view
        likely = self.jobs_ahead if is_own else None
        return is_placed(simulation, self.budget, changes, likely)

    def few(self, candidates: Iterable[T], most: int, change: Change) -> list[T]:
        """Return the first so many candidates for a change, and note where there are more: these are left out."""
        found = [*islice(candidates, most + 1)]
        if len(found) > most:
            self.left_out.add(change)
        return found[:most]

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

        `pieces`: how many slots each brings, and its edits; the best first. `missing`: how many slots are wanted.
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
    if isinstance(edit, DeletePod):
        return "free-pods" if edit.node else "fewer-pods"
    return _CHANGES[type(edit)]


def _flat(pieces: Iterable[tuple[Edit, ...]]) -> tuple[Edit, ...]:
    return tuple(edit for edits in pieces for edit in edits)
