"""What proves a way out: the engine says yes, within a budget of runs."""

from collections import Counter
from collections.abc import Collection

from kubectl_koord.diagnosis import contention
from kubectl_koord.engine.admission.before_trying import before_trying
from kubectl_koord.engine.admission.queue import JobsAhead
from kubectl_koord.engine.budget import Budget
from kubectl_koord.simulation.simulation import Simulation, all_place, every_outcome, next_attempt
from kubectl_koord.wording.remedies.ways_out import Change

_NODES_IN_ALL, _NODES_OF_JOBS = 400_000, 1_500_000
_QUOTAS_IN_ALL = 300_000
_FEWEST_RUNS, _MOST_RUNS = 120, 1500
_TIGHT = 400
_FEWEST_JOBS, _MOST_JOBS = 192, 3000
_NOT_ASKED = 4
OF_NEW_CLUSTER = 4
"""How often a job counts in a cluster with more nodes, in which nothing that was computed holds."""
RUNS_OF_COUNTING = 40
"""As how many runs it counts to look for pods to free all over the cluster."""
_RUNS_OF_PREEMPTION = 40


class SearchBudget:
    """How many runs of the engine are left: a number, not a time, so that answers do not depend on the machine.

    `runs` are those for the subject, `jobs` those for the jobs that go before it; what takes longer counts for more.
    `trials` is how many quotas may still be computed apart from that. It `is_tight` where there is too little of it to
    look for everything.
    """

    def __init__(self, nodes: int) -> None:
        """Allow as many runs as look at some hundred thousand nodes in all."""
        self.trials = _QUOTAS_IN_ALL
        self.runs = _within(_FEWEST_RUNS, _MOST_RUNS, _NODES_IN_ALL // max(1, nodes))
        self.jobs = _within(_FEWEST_JOBS, _MOST_JOBS, _NODES_OF_JOBS // max(1, nodes))
        self.is_tight = self.runs < _TIGHT
        self._share = self.jobs // 2
        self._taken: Counter[Change] = Counter()

    def spend(self, runs: int = 1) -> bool:
        """Take runs away, and tell whether there were any left."""
        self.runs -= runs
        return self.runs >= 0

    def affords(self, runs: int) -> bool:
        """Take away as much as finding candidates takes, where the budget is tight, and tell whether there was."""
        is_enough = not self.is_tight or self.runs >= runs
        self.runs -= runs if self.is_tight and is_enough else 0
        return is_enough

    def allows_jobs(self, changes: Collection[Change]) -> bool:
        """Tell whether jobs may be tried once more for these changes: none of them takes more than half of all runs."""
        return self.jobs > 0 and all(self._taken[change] < self._share for change in changes)

    def spend_jobs(self, ahead: JobsAhead, changes: Collection[Change]) -> None:
        """Take away the runs for jobs that were tried; those for which no node was asked count for less."""
        cost = ahead.asked + (ahead.tried - ahead.asked) // _NOT_ASKED
        cost *= OF_NEW_CLUSTER if self.is_tight and "add-nodes" in changes else 1
        self.jobs -= cost
        self._taken.update(dict.fromkeys(changes, cost))


def _within(fewest: int, most: int, number: int) -> int:
    return max(fewest, min(most, number))


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
    kinds = len({pod.requirements for pod in simulation.subject.pending})
    if not budget.spend(max(1, kinds)):
        return None
    if before_trying(simulation.subject, simulation.snapshot, simulation.tree) or not simulation.subject.pending:
        return False
    placed = _next_places(simulation, budget)
    if not placed:
        return placed
    if not _is_likely(simulation, budget, likely):
        return None
    is_known = contention.knows_jobs_ahead(simulation)
    if not is_known and not budget.allows_jobs(changes):
        return None
    left_by_jobs_ahead = contention.left_by_jobs_ahead(simulation)
    if not is_known:
        budget.spend_jobs(contention.jobs_ahead(simulation), changes)
    return left_by_jobs_ahead is None or left_by_jobs_ahead.leaves_room


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
    if not budget.spend(_RUNS_OF_PREEMPTION):
        return None
    return all_place(next_attempt(simulation))
