"""Attempt after attempt: what finally becomes of a job, for each outcome that the API leaves open."""

from collections.abc import Iterator, Mapping
from itertools import islice

from msgspec import Struct

from kubectl_koord.engine.attempt import Attempt, Choice, Job, attempt, emptiest, fullest, triggers
from kubectl_koord.engine.preemption import (
    VICTIM_ORDERS,
    Preemption,
    VictimOrder,
    highest_priority_first,
    lowest_priority_first,
    node_costs,
    preempt,
    single_out,
)
from kubectl_koord.engine.quota_preemption import preempt_within_quota
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, RunningPod

MOST_ROUNDS = 64
"""Each round with effect kills a pod; a job that needs more attempts than this is not followed on."""
MOST_BRANCHES = 8
"""How many ways of going on are followed from one first attempt."""


class Outcome(Struct, frozen=True):
    """The attempts that follow from one trigger (and one order of the scheduler's cache).

    first: the first attempt; `rounds` the preemptions with effect, in turn; `last` the preemption
    that ended it without effect, None when the job is placed. `runs` tells whether it is placed in
    the end, None when that was not followed to the end.
    """

    trigger: PendingPod
    first: Attempt
    rounds: tuple[Preemption, ...]
    last: Preemption | None
    runs: bool | None

    @property
    def placed_at_once(self) -> bool:
        """Whether the first attempt places the job."""
        return self.first.placement is not None

    @property
    def killed(self) -> tuple[RunningPod, ...]:
        """All victims of all rounds."""
        return tuple(victim for preemption in self.rounds for victim in preemption.victims)


def outcomes(job: Job, view: View, *, preemption: bool = True, most_rounds: int = MOST_ROUNDS) -> Iterator[Outcome]:
    """Yield one outcome per kind of trigger and per open order, the likeliest first."""
    kinds = (
        triggers(job)
        if preemption
        else tuple({pod.requirements: pod for pod in reversed(triggers(job))}.values())[::-1]
    )
    for trigger in kinds:
        for choose in _choices(job):
            first = attempt(job, view, trigger, choose)
            if first.placement is not None or not preemption:
                yield Outcome(trigger, first, (), None, first.placement is not None)
                continue
            for victim_order in _victim_orders(view, first):
                outcome = None
                for outcome in islice(follow(job, view, first, victim_order, choose, most_rounds), MOST_BRANCHES):
                    yield outcome
                if outcome is not None and not outcome.rounds:
                    break  # costs choose among what is possible: they decide nothing where nothing is


def _choices(job: Job) -> tuple[Choice, ...]:
    alike = len({pod.requirements for pod in job.tried}) == 1
    return (emptiest,) if job.topology is not None or alike else (emptiest, fullest)


def _victim_orders(view: View, failed: Attempt) -> tuple[VictimOrder, ...]:
    """Return the orders worth trying: one for each different set of costs that nodes could have.

    Nodes differ in their orders: each of the first few whose cost is open is also tried as the
    cheapest among dear ones, and the other way round.
    """
    considered = failed.considered(view)

    def costs(victim_order: VictimOrder) -> Mapping[str, int]:
        return node_costs(view, considered, failed.trigger, victim_order)

    low, high = costs(lowest_priority_first), costs(highest_priority_first)
    unsure = [name for name in sorted(considered) if low[name] != high[name]][:MOST_BRANCHES]
    singled_out = [single_out(name, cheap=cheap) for name in unsure for cheap in (True, False)]
    distinct: dict[tuple[int, ...], VictimOrder] = {}
    for victim_order in (*VICTIM_ORDERS, *(singled_out if len(unsure) > 1 else ())):
        distinct.setdefault(tuple(costs(victim_order).values()), victim_order)
    return tuple(distinct.values())


def follow(
    job: Job,
    view: View,
    first: Attempt,
    victim_order: VictimOrder,
    choose: Choice = emptiest,
    most_rounds: int = MOST_ROUNDS,
) -> Iterator[Outcome]:
    """Yield the outcomes that begin with this attempt: preempt, wait until the victims are gone, try again.

    After each round any kind of trigger may come next: one that places the job ends the outcome,
    those that preempt branch it.
    """
    preemption = _post_filter(job, view, first, victim_order)
    if preemption.reason is not None or not preemption.gone:
        yield Outcome(first.trigger, first, (), preemption, runs=False)
        return
    for rounds, last, runs in _onwards(job, view.without(preemption.gone), victim_order, choose, most_rounds):
        yield Outcome(first.trigger, first, (preemption, *rounds), last, runs)


def _post_filter(job: Job, view: View, failed: Attempt, victim_order: VictimOrder) -> Preemption:
    """Return what PostFilter plugins do after a failed attempt: the first that nominates a node is the last to run."""
    found = preempt(job, view, failed, victim_order)
    if found.reason is None:
        return found
    return preempt_within_quota(job, view, failed) or found


def _onwards(
    job: Job, view: View, victim_order: VictimOrder, choose: Choice, most: int
) -> Iterator[tuple[tuple[Preemption, ...], Preemption | None, bool | None]]:
    """Yield what may follow a round: further rounds, the preemption that had no effect, the end."""
    tried = [attempt(job, view, trigger, choose) for trigger in triggers(job)]
    if any(one.placement is not None for one in tried):
        yield (), None, True
        return
    preemptions = [_post_filter(job, view, one, victim_order) for one in tried]
    effective = [one for one in preemptions if one.reason is None and one.gone]
    if not effective:
        yield (), preemptions[0], False
    for one in effective:
        if most == 0:
            yield (), None, None
            return
        for rounds, last, runs in _onwards(job, view.without(one.gone), victim_order, choose, most - 1):
            yield (one, *rounds), last, runs
