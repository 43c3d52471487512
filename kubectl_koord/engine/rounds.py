"""Attempt after attempt: the final outcome of a job, for each outcome that the API leaves open."""

from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from msgspec import Struct

from kubectl_koord.engine.attempts.attempt import Attempt, Job
from kubectl_koord.engine.attempts.choosing import (
    USUAL,
    MemberOrder,
    at_the_cost_of,
    bookable,
    fullest,
    not_bookable,
)
from kubectl_koord.engine.attempts.trying import attempt
from kubectl_koord.engine.preemption.costs import (
    VICTIM_ORDERS,
    VictimOrder,
    by_name,
    highest_priority_first,
    lowest_priority_first,
    node_costs,
    single_out,
)
from kubectl_koord.engine.preemption.preempt import Preemption, preempt
from kubectl_koord.engine.preemption.quota import preempt_within_quota
from kubectl_koord.engine.preemption.retried import preempt_as_retried
from kubectl_koord.engine.slots import offer_slots
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.values.memo import Identity, recently

MOST_ROUNDS = 64
"""Each round with effect preempts a pod; a job that needs more attempts than this is not followed further."""
MOST_BRANCHES = 8
"""How many continuations of one first attempt are followed."""
_MOST_KEPT = 16
_DISABLED = Preemption(eligible=False, reason="preemption-disabled")


class Outcome(Struct, frozen=True):
    """The attempts that follow from one trigger (and one order of the scheduler's cache).

    first: the first attempt; `rounds` the preemptions with effect, in turn; `last` the preemption
    that ended it without effect, None when the job is placed. `runs` tells whether it is placed in
    the end, None when that was not followed to the end, or is open as a plan that cannot be carried out is
    tried again and again. With `plan_fails` that is so of the attempt that ends it. `landing` is where pending
    reservations are placed before, by name, where that is open. Where each pod is tried for itself, `each` is how many
    of them have a place in the end, of how many.
    """

    trigger: PendingPod
    first: Attempt
    rounds: tuple[Preemption, ...]
    last: Preemption | None
    runs: bool | None
    plan_fails: bool = False
    landing: tuple[tuple[str, str], ...] = ()
    each: tuple[int, int] | None = None

    @property
    def placed_at_once(self) -> bool:
        """Whether the first attempt places the job."""
        return self.first.placement is not None

    @property
    def races(self) -> bool:
        """Whether the first attempt makes a plan that cannot be carried out, and what comes of it is a race."""
        return self.plan_fails and self.runs is None and not self.rounds

    @property
    def killed(self) -> tuple[RunningPod, ...]:
        """All victims of all rounds."""
        return tuple(victim for preemption in self.rounds for victim in preemption.victims)


def outcomes(
    job: Job, view: View, *, preemption: bool = True, most_rounds: int | None = MOST_ROUNDS
) -> Iterator[Outcome]:
    """Yield one outcome per kind of trigger and per open order, the likeliest first.

    Where `most_rounds` is None the first attempts are not followed: victims, and their order, do not matter then.
    """
    kinds = job.triggers if preemption else tuple({job.kind(pod): pod for pod in reversed(job.triggers)}.values())[::-1]
    for trigger in kinds:
        for member_order, first in _firsts(job, view, trigger):
            if first.placement is not None or not preemption or most_rounds is None:
                yield Outcome(trigger, first, (), None, _runs(job, first), first.plan_fails)
                continue
            for victim_order in victim_orders(view, first):
                by_cost = False
                for outcome in islice(follow(job, view, first, victim_order, member_order, most_rounds), MOST_BRANCHES):
                    by_cost = by_cost or any(preemption.by_cost for preemption in outcome.rounds)
                    yield outcome
                if not by_cost:
                    break  # another order changes nothing but costs


def _firsts(job: Job, view: View, trigger: PendingPod) -> Iterator[tuple[MemberOrder, Attempt]]:
    """Yield the attempts with a trigger by how plain members come, and which nodes they take: no score is computed.

    Where some of the nodes cannot be booked, one of them may be taken, or one of the others. Where seats of a plan
    fail, enough members may have theirs before.
    """
    split = fails_at_seat = False
    for member_order in _member_orders(job, view):
        first = _attempt(view, Identity(job), Identity(trigger), member_order)
        split = split or bool(first.unbookable)
        fails_at_seat = first.plan is not None and first.failed_seat is not None
        yield member_order, first
    more = (MemberOrder(bookable), MemberOrder(not_bookable)) if split else ()
    for member_order in (MemberOrder(failing_last=True),) if fails_at_seat and job.has_surplus else more:
        yield member_order, _attempt(view, Identity(job), Identity(trigger), member_order)


def _member_orders(job: Job, view: View) -> tuple[MemberOrder, ...]:
    """Return the orders that may differ: one where no member can take the last place of another."""
    alike = {pod.requirements: pod for pod in reversed(job.tried)}
    if job.topology is not None or len(alike) == 1:
        return (USUAL,)
    kinds = []
    is_roomy = True
    for requirements, pod in alike.items():
        prepared = job.prepared(pod, view)
        taking = offer_slots(view, view.names(), (pod,), prepared).counts.keys()
        kinds.append((requirements, taking))
        only_there = not (prepared.follows_members_elsewhere or prepared.may_fail_to_reserve or prepared.reservations)
        is_roomy = is_roomy and only_there and len(taking) >= len(job.tried)
    if is_roomy:
        return (USUAL,)
    return (
        USUAL,
        MemberOrder(fullest),
        MemberOrder(unlike_first=True),
        MemberOrder(at_the_cost_of(kinds, most=True)),
        MemberOrder(at_the_cost_of(kinds, most=False)),
    )


def victim_orders(view: View, failed: Attempt) -> Iterator[VictimOrder]:
    """Yield the orders worth trying: one for each different set of costs that nodes could have.

    Nodes differ in their orders: each of the first few whose cost is open is also tried as the
    cheapest where the others cost most, and the reverse.
    """
    yield by_name
    considered = failed.considered(view)

    def costs(victim_order: VictimOrder) -> Mapping[str, int]:
        return node_costs(view, considered, failed.trigger, victim_order, failed.prepared.reservations)

    low, high = costs(lowest_priority_first), costs(highest_priority_first)
    if low == high:
        return
    unsure = [name for name in considered if low[name] != high[name]][:MOST_BRANCHES]
    singled_out = [single_out(name, cheap=cheap) for name in unsure for cheap in (True, False)]
    distinct: dict[tuple[int, ...], VictimOrder] = {}
    for victim_order in (*VICTIM_ORDERS, *(singled_out if len(unsure) > 1 else ())):
        distinct.setdefault(tuple(costs(victim_order).values()), victim_order)
    yield from islice(distinct.values(), 1, None)


def follow(
    job: Job,
    view: View,
    first: Attempt,
    victim_order: VictimOrder,
    member_order: MemberOrder = USUAL,
    most_rounds: int = MOST_ROUNDS,
) -> Iterator[Outcome]:
    """Yield the outcomes that begin with this attempt: preempt, wait until the victims have ended, try again.

    After each round any kind of trigger may come next: one that places the job ends the outcome,
    those that preempt branch it.
    """
    for preemption in post_filter(view, Identity(job), Identity(first), victim_order):
        if preemption.reason is not None or not preemption.gone:
            yield Outcome(first.trigger, first, (), preemption, _runs(job, first), first.plan_fails)
            continue
        then = _after(view, preemption.gone)
        for rounds, last, end in _continued(job, then, victim_order, member_order, most_rounds):
            runs = _runs(job, end) if end is not None else None
            yield Outcome(first.trigger, first, (preemption, *rounds), last, runs, end is not None and end.plan_fails)


def _runs(job: Job, end: Attempt) -> bool | None:
    """Return whether the attempt that ends an outcome places the job; None where it depends on a race."""
    return None if end.plan_fails and job.rules.retries_failed_plans else end.placement is not None


@recently(_MOST_KEPT)
def _attempt(view: View, job: Identity[Job], trigger: Identity[PendingPod], member_order: MemberOrder) -> Attempt:
    """Return an attempt; all questions about a job share it."""
    return attempt(job.value, view, trigger.value, member_order)


@recently(_MOST_KEPT)
def post_filter(
    view: View, job: Identity[Job], failed: Identity[Attempt], victim_order: VictimOrder
) -> tuple[Preemption, ...]:
    """Return what PostFilter plugins may do after a failed attempt: the first that nominates a node is the last to run.

    There is more than one where it is open which node ElasticQuota takes.
    """
    config = view.snapshot.config
    found = preempt(job.value, view, failed.value, victim_order) if config.preemption else _DISABLED
    if found.reason is None:
        return (found,)
    within_quota = preempt_within_quota(job.value, view, failed.value) if config.plugins.preempts_in_quotas else ()
    if within_quota or found.reason != "not-helpful":
        return within_quota or (found,)
    retried = preempt_as_retried(job.value, view, failed.value)
    return (found, retried) if retried is not None else (found,)


def _after(view: View, gone: Collection[RunningPod]) -> View:
    """Return the view once these pods have ended, the same one for the same pods."""
    return _without(view, frozenset(map(Identity, gone)))


@recently(_MOST_KEPT)
def _without(view: View, gone: frozenset[Identity[RunningPod]]) -> View:
    return view.without([one.value for one in gone])


def _continued(
    job: Job, view: View, victim_order: VictimOrder, member_order: MemberOrder, most: int
) -> Iterator[tuple[tuple[Preemption, ...], Preemption | None, Attempt | None]]:
    """Yield what may follow a round: further rounds, the preemption that had no effect, the attempt that ends it.

    There is no such attempt where it was not followed to the end.
    """
    tried = [_attempt(view, Identity(job), Identity(trigger), member_order) for trigger in job.triggers]
    placed = next((one for one in tried if one.placement is not None), None)
    if placed is not None:
        yield (), None, placed
        return
    preemptions = [found for one in tried for found in post_filter(view, Identity(job), Identity(one), victim_order)]
    effective = [one for one in preemptions if one.reason is None and one.gone]
    if not effective:
        yield (), preemptions[0], next((one for one in tried if one.plan_fails), tried[0])
    for one in effective:
        if most == 0:
            yield (), None, None
            return
        for rounds, last, end in _continued(job, _after(view, one.gone), victim_order, member_order, most - 1):
            yield (one, *rounds), last, end
