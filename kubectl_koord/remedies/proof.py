"""What proves a way out: the engine says yes, within a budget of steps."""

from collections.abc import Collection, Mapping

from kubectl_koord.diagnosis import contention
from kubectl_koord.engine.admission.before_trying import before_trying
from kubectl_koord.engine.admission.queue import JobsAhead
from kubectl_koord.engine.budget import Budget
from kubectl_koord.simulation.simulation import Simulation, all_place, every_outcome, next_attempt
from kubectl_koord.wording.remedies.ways_out import Change

MOST_STEPS = 1400
_QUOTAS_IN_ALL = 80_000
_TIGHT = 40
"""A search is tight in which the proof of a change takes more than one step in so many."""
_KIND, _NODES_A_STEP = 2, 500
_PODS_A_STEP: Mapping[Change, int] = {
    "fewer-pods": 6,
    "other-quota": 6,
    "smaller-request": 6,
    "supply-claims": 6,
    "tolerate": 6,
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
        """Allow the same for every cluster: where it is larger, each run is more steps."""
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
    return _KIND * max(1, kinds) + nodes // _NODES_A_STEP + more + grown


def attempt_of(simulation: Simulation) -> int:
    """Return how many steps a single attempt takes, or what PostFilter does after one."""
    return 1 + len(simulation.view.names()) // _NODES_A_STEP


def run_with_preemption(simulation: Simulation) -> int:
    """Return the same where it is computed what preemption does, too."""
    return _PREEMPTION * run_of(simulation)


def next_attempt_of(simulation: Simulation) -> int:
    """Return the same for what tells of the next attempt: preemption is computed where pods differ."""
    are_alike = len({pod.requirements for pod in simulation.subject.pending}) <= 1
    return run_of(simulation) if are_alike else run_with_preemption(simulation)


def jobs_of(simulation: Simulation, asked: int, others: int = 0, changes: Collection[Change] = ()) -> int:
    """Return how many steps it takes to try jobs: those for which nodes are asked, and others."""
    nodes = len(simulation.view.names())
    each = min(_MOST_OF_A_JOB, _JOB + nodes // _NODES_OF_A_JOB) + nodes // _MORE_NODES_OF_A_JOB
    often = _OF_NEW_CLUSTER if "add-nodes" in changes else 1
    return often * (asked + others // _NOT_ASKED) * each


def jobs_ahead(simulation: Simulation, budget: SearchBudget) -> JobsAhead:
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

    What preemption does is computed, which takes long, only where some triggers place it and others do not.
    """
    steps = Budget(simulation.steps)
    placed = {outcome.placed_at_once for outcome in every_outcome(simulation, preemption=False, budget=steps)}
    if steps.is_cut:
        return None
    if placed != {True, False}:
        return placed == {True}
    if not budget.take(run_with_preemption(simulation)):
        return None
    return all_place(next_attempt(simulation))
