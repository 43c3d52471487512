"""Attempt after attempt: the final outcomes of a job, and how waiting reservations land."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, islice
from math import prod
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.attempt import (
    USUAL,
    Attempt,
    Choice,
    Job,
    MemberOrder,
    at_the_cost_of,
    bookable,
    emptiest,
    fullest,
    not_bookable,
    shape,
)
from kubectl_koord.engine.budget import Budget, steps_of_attempt
from kubectl_koord.engine.filters import placed
from kubectl_koord.engine.meanwhile import Meanwhile, meanwhile
from kubectl_koord.engine.preemption import (
    VICTIM_ORDERS,
    Preemption,
    VictimOrder,
    by_name,
    highest_priority_first,
    lowest_priority_first,
    node_costs,
    placed_alike,
    preempt,
    preempt_as_retried,
    preempt_within_quota,
    single_out,
)
from kubectl_koord.engine.reservations import landed
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.slots import offer_slots
from kubectl_koord.engine.state import View
from kubectl_koord.engine.table import named
from kubectl_koord.engine.trying import attempt, carried_out
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, memoised, recently

MOST_ROUNDS = 64
"""Each round with effect preempts a pod; a job that needs more attempts than this is not followed further."""
MOST_BRANCHES = 64
"""How many continuations of one first attempt are followed, in one order of victims."""
_MOST_KEPT = 64
"""How many attempts of a view are kept: every kind of trigger may come, in five orders, and all are asked for again."""
_MOST_JOBS = 8
_Gone: TypeAlias = frozenset[Identity[RunningPod]]
"""The pods that are gone, of those of one view."""
_Continued: TypeAlias = tuple[tuple[Preemption, ...], Preemption | None, Attempt | None, tuple[Preemption, ...]]
_DISABLED = Preemption(eligible=False, reason="preemption-disabled")


class Outcome(Struct, frozen=True):
    """The attempts that follow from one trigger (and one order of the scheduler's cache).

    first: the first attempt; `rounds` the preemptions with effect, in turn; `last` the preemption
    that ended it without effect, None when the job is placed. `runs` tells whether it is placed in
    the end, None when that was not followed to the end, or is open as a plan that cannot be carried out is
    tried again and again. With `plan_fails` that is so of the attempt that ends it. `landing` is where pending
    reservations are placed before, by name, where that is open. Where each pod is tried for itself, `each` is how many
    of them have a place in the end, of how many. `perhaps` are preemptions that may come besides, while victims
    terminate. `followed` is how many outcomes were followed where there are more,
    which were not; 0 where all were.
    """

    trigger: PendingPod
    first: Attempt
    rounds: tuple[Preemption, ...]
    last: Preemption | None
    runs: bool | None
    plan_fails: bool = False
    landing: tuple[tuple[str, str], ...] = ()
    each: tuple[int, int] | None = None
    followed: int = 0
    perhaps: tuple[Preemption, ...] = ()

    @property
    def placed_at_once(self) -> bool:
        """Whether the first attempt places the job."""
        return self.first.placement is not None

    @property
    def races(self) -> bool:
        """Whether the first attempt makes a plan that cannot be carried out, and what comes of it is a race.

        It is one, too, where another plugin preempts pods for the member whose seat fails.
        """
        return self.first.races

    @property
    def killed(self) -> tuple[RunningPod, ...]:
        """All victims of all rounds."""
        return tuple(victim for preemption in self.rounds for victim in preemption.victims)


class _Begun(Struct, frozen=True):
    """A first attempt that failed, and what PostFilter may do after it."""

    first: Attempt
    member_order: MemberOrder
    preemptions: tuple[Preemption, ...]


class _Next(Struct, frozen=True):
    """What comes of a job once some pods are gone: preemptions with effect, or the attempt that ends it.

    Each preemption comes with those that follow before its victims are gone, and is the first that surely does. `last`
    is the preemption that had no effect.
    """

    effective: tuple[Meanwhile, ...] = ()
    last: Preemption | None = None
    end: Attempt | None = None


class _Course(Struct, frozen=True):
    """What all that follows a first attempt has in common; `known` is what comes once some pods are gone."""

    job: Job
    view: View
    victim_order: VictimOrder
    member_order: MemberOrder
    budget: Budget
    known: dict[_Gone, _Next]


def outcomes(
    job: Job,
    view: View,
    *,
    preemption: bool = True,
    most_rounds: int | None = MOST_ROUNDS,
    budget: Budget | None = None,
) -> Iterator[Outcome]:
    """Yield one outcome per kind of trigger and per open order, the likeliest first.

    Those that begin alike for whoever looks are one, and all begin before any is followed further.

    Args:
        job: what is tried.
        view: the cluster.
        preemption: whether to look at what PostFilter does.
        most_rounds: how many rounds are followed after the first; what comes after them is open. Where it is None first
            attempts are not followed: victims, and their order, do not matter then.
        budget: what all of it may take; it tells whether anything was left out.
    """
    budget = budget or Budget()
    kinds = job.triggers if preemption else tuple({job.kind(pod): pod for pod in reversed(job.triggers)}.values())[::-1]
    begun: dict[object, _Begun | Outcome] = {}
    for trigger, member_order, first in _firsts(job, view, kinds, budget):
        ended = Outcome(trigger, first, (), None, _runs(job, first), first.plan_fails)
        if not preemption or most_rounds is None:
            yield ended
        elif first.placement is not None:
            begun[Identity(ended)] = ended
        elif budget.take() or not begun:
            failed = _Begun(first, member_order, post_filter(view, Identity(job), Identity(first), by_name))
            begun.setdefault(_begins_as(job, view, failed), failed)
    for left, one in zip(range(len(begun), 0, -1), begun.values(), strict=True):
        if isinstance(one, Outcome):
            yield one
        else:
            yield from _in_each_order(job, view, one, budget.part(budget.left // left), most_rounds or 0)


def effects(job: Job, view: View, budget: Budget) -> Iterator[Preemption]:
    """Yield what may come of preemption after the next attempt, which does not place the job, and of no later one."""
    for _, _, first in _firsts(job, view, job.triggers, budget):
        for victim_order in victim_orders(view, first, budget):
            if not budget.take():
                return
            found = post_filter(view, Identity(job), Identity(first), victim_order)
            yield from found
            if not any(one.by_cost for one in found):
                break  # another order changes nothing but costs


def _begins_as(job: Job, view: View, begun: _Begun) -> object:
    """Return what tells a beginning from others: nothing else of it is shown, or decides what follows."""
    first, is_planned = begun.first, job.topology is not None
    return (
        begun.member_order,
        first.plan.offered if first.plan is not None else (),
        first.plan_fails,
        first.fails_at_reserve,
        tuple(first.unbookable),
        tuple((one.reason, _gone(one), effect(one, planned=is_planned)) for one in begun.preemptions),
        Identity(first) if _unsure(view, first) else None,
    )


def effect(preemption: Preemption, *, planned: bool) -> object:
    """Return what users see of a preemption: of pods without a plan it is not predicted which node each takes."""
    nominations = tuple(sorted(preemption.nominations.items())) if planned else ()
    return (tuple(victim.key for victim in preemption.victims), nominations)


def _in_each_order(job: Job, view: View, begun: _Begun, budget: Budget, most_rounds: int) -> Iterator[Outcome]:
    """Yield what follows a first attempt, for each order in which the scheduler's cache may list victims."""
    for victim_order in victim_orders(view, begun.first, budget):
        preemptions = begun.preemptions
        if victim_order is not by_name:
            if not budget.take():
                return
            preemptions = post_filter(view, Identity(job), Identity(begun.first), victim_order)
        course = _Course(job, view, victim_order, begun.member_order, budget, {})
        found = _follow(course, begun.first, preemptions, most_rounds)
        by_cost = False
        for outcome in islice(found, MOST_BRANCHES):
            by_cost = by_cost or any(preemption.by_cost for preemption in outcome.rounds)
            yield outcome
        if next(found, None) is not None:
            budget.cut()
        if not by_cost or not most_rounds:
            return  # another order changes nothing but costs


def _firsts(
    job: Job, view: View, triggers: Iterable[PendingPod], budget: Budget
) -> Iterator[tuple[PendingPod, MemberOrder, Attempt]]:
    """Yield the first attempts by trigger, by how plain members come, and which nodes they take: no score is computed.

    Where some of the nodes cannot be booked, one of them may be taken, or one of the others. Where seats of a plan
    fail, enough members may have theirs before. The likeliest is there whatever the budget.
    """
    usual, steps = _member_orders(view, Identity(job)), _steps(job)
    likeliest: Attempt | None = None
    for trigger in triggers:
        split = fails_at_seat = False
        for member_order in usual:
            if not budget.take(steps) and likeliest is not None:
                return
            likeliest = first = _attempt(view, Identity(job), Identity(trigger), member_order)
            split = split or bool(first.unbookable)
            fails_at_seat = first.plan is not None and first.failed_seat is not None
            yield trigger, member_order, first
        more = (MemberOrder(bookable), MemberOrder(not_bookable)) if split else ()
        for member_order in (MemberOrder(failing_last=True),) if fails_at_seat and job.may_do_without else more:
            if not budget.take(steps):
                return
            yield trigger, member_order, _attempt(view, Identity(job), Identity(trigger), member_order)


def _steps(job: Job) -> int:
    return steps_of_attempt(len(job.triggers), len(job.tried) if job.topology is None else 0)


@recently(_MOST_JOBS)
def _member_orders(view: View, asked: Identity[Job]) -> tuple[MemberOrder, ...]:
    """Return the orders that may differ: one where no member can take the last place of another."""
    job = asked.value
    alike = {shape(pod, job.claims, job.promised): pod for pod in reversed(job.tried)}
    if job.topology is not None or len(alike) == 1:
        return (USUAL,)
    kinds = []
    is_roomy = True
    for pod in alike.values():
        prepared = job.prepared(pod, view)
        taking = offer_slots(view, view.names(), (pod,), prepared).counts.keys()
        kinds.append((pod.requirements, taking))
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


def victim_orders(view: View, failed: Attempt, budget: Budget) -> Iterator[VictimOrder]:
    """Yield the orders worth trying: one for each different set of costs that nodes could have.

    Nodes differ in their orders: each whose cost is open is also tried as the cheapest where the others cost most, and
    the reverse, as far as the budget allows.
    """
    yield by_name
    unsure = _unsure(view, failed)
    if not unsure:
        return
    if len(unsure) > budget.left // 2:
        budget.cut()
    few = unsure[: budget.left // 2]
    singled_out = [single_out(name, cheap=cheap) for name in few for cheap in (True, False)]
    distinct: dict[tuple[int, ...], VictimOrder] = {}
    for victim_order in (*VICTIM_ORDERS, *(singled_out if len(unsure) > 1 else ())):
        distinct.setdefault(tuple(_costs(view, failed, victim_order).values()), victim_order)
    yield from islice(distinct.values(), 1, None)


def _unsure(view: View, failed: Attempt) -> list[str]:
    """Return the nodes of which it is open what it costs to empty them."""
    low, high = _costs(view, failed, lowest_priority_first), _costs(view, failed, highest_priority_first)
    return [name for name, cost in low.items() if cost != high[name]]


def _costs(view: View, failed: Attempt, victim_order: VictimOrder) -> Mapping[str, int]:
    return node_costs(view, failed.considered(view), failed.trigger, victim_order, failed.prepared.reservations)


def _follow(course: _Course, first: Attempt, preemptions: Iterable[Preemption], most_rounds: int) -> Iterator[Outcome]:
    """Yield the outcomes that begin with an attempt: preempt, wait until the victims have ended, try again.

    After each round any kind of trigger may come next: one that places the job ends the outcome,
    those that preempt branch it.
    """
    job = course.job
    for preemption in preemptions:
        if preemption.reason is not None or not preemption.gone:
            yield Outcome(first.trigger, first, (), preemption, _runs(job, first), first.plan_fails)
            continue
        fewest = _meanwhile(course, course.view, preemption, first) if most_rounds else Meanwhile((preemption,))
        if not fewest.perhaps:
            yield from _ended(course, first, fewest, most_rounds)
            continue
        found = [*_ended(course, first, fewest, most_rounds)]
        yield from found
        most = structs.replace(fewest, surely=(*fewest.surely, *fewest.perhaps), perhaps=())
        more = [*_ended(course, first, most, most_rounds)]
        yield from more if not {*map(_end, more)} <= {*map(_end, found)} else ()


def _end(outcome: Outcome) -> object:
    """Return what comes after the victims of the first attempt, and of those beside it, are gone."""
    later = dropwhile(lambda one: one.meanwhile, outcome.rounds[1:])
    return outcome.runs, outcome.plan_fails, tuple(tuple(pod.key for pod in one.victims) for one in later)


def _ended(course: _Course, first: Attempt, done: Meanwhile, most_rounds: int) -> Iterator[Outcome]:
    """Yield the outcomes once the victims of these preemptions are gone; one that is open where not all are known."""
    continued = [((), None, None, ())] if done.cut else _continued(course, _gone(*done.surely), most_rounds)
    for rounds, last, end, more in continued:
        runs = _runs(course.job, end) if end is not None else None
        fails = end is not None and end.plan_fails
        yield Outcome(first.trigger, first, (*done.surely, *rounds), last, runs, fails, perhaps=(*done.perhaps, *more))


def _meanwhile(course: _Course, view: View, done: Preemption, by: Attempt) -> Meanwhile:
    """Return what follows a preemption before its victims are gone, itself the first."""
    attempts = [_attempt(view, Identity(course.job), Identity(pod), course.member_order) for pod in course.job.triggers]
    failed = [one for one in attempts if one.placement is None]

    def by_job(one: Attempt, order: VictimOrder) -> Preemption:
        return _by_job(view, Identity(course.job), Identity(one), order, anew=True)

    found = meanwhile(course.job, view, failed, done, by, course.victim_order, by_job, course.budget)
    return structs.replace(found, surely=(done, *found.surely))


def _gone(*preemptions: Preemption) -> _Gone:
    return frozenset(Identity(pod) for preemption in preemptions for pod in preemption.gone)


def _runs(job: Job, end: Attempt) -> bool | None:
    """Return whether the attempt that ends an outcome places the job; None where it depends on a race."""
    return None if end.plan_fails and job.rules.races_over_plans else end.placement is not None


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
    found = _by_job(view, job, failed, victim_order)
    if found.reason is None:
        return (found,)
    is_whole = job.value.rules.places_plans_whole and failed.value.failed_seat is not None and failed.value.plan
    preempts_in_quotas = config.plugins.preempts_in_quotas and not is_whole
    within_quota = preempt_within_quota(job.value, view, failed.value) if preempts_in_quotas else ()
    if within_quota or found.reason != "not-helpful":
        return within_quota or (found,)
    return (found, *preempt_as_retried(view, job, failed))


@recently(_MOST_KEPT)
def _by_job(
    view: View, job: Identity[Job], failed: Identity[Attempt], victim_order: VictimOrder, *, anew: bool = False
) -> Preemption:
    if not view.snapshot.config.preemption:
        return _DISABLED
    return preempt(job.value, view, failed.value, victim_order, anew=anew)


@recently(_MOST_KEPT)
def _without(view: View, gone: _Gone) -> View:
    """Return the view once these pods have ended, the same one for the same pods."""
    return view.without([one.value for one in gone])


def _continued(course: _Course, gone: _Gone, most: int) -> Iterator[_Continued]:
    """Yield what may follow a round: further rounds, the preemption that had no effect, the attempt that ends it.

    There is no such attempt where it was not followed to the end. The last are preemptions that may come besides.
    """
    then = _next(course, gone) if most else None
    if then is None:
        yield (), None, None, ()
        return
    if not then.effective:
        yield (), then.last, then.end, ()
    for one in then.effective:
        if one.cut:
            yield one.surely, None, None, one.perhaps
            continue
        for rounds, last, end, perhaps in _continued(course, gone | _gone(*one.surely), most - 1):
            yield (*one.surely, *rounds), last, end, (*one.perhaps, *perhaps)


def _next(course: _Course, gone: _Gone) -> _Next | None:
    """Return what comes once these pods are gone, computed once however they went; None where the budget has ended.

    Preemptions that differ in nothing that is seen are one.
    """
    if gone in course.known:
        return course.known[gone]
    job, view = Identity(course.job), _without(course.view, gone)
    tried: list[Attempt] = []
    preemptions: list[tuple[Preemption, Attempt]] = []
    for trigger in course.job.triggers:
        if not course.budget.take(_steps(course.job)):
            return None
        tried.append(_attempt(view, job, Identity(trigger), course.member_order))
        if tried[-1].placement is not None:
            return course.known.setdefault(gone, _Next(end=tried[-1]))
    for one in tried:
        if not course.budget.take():
            return None
        preemptions += [(done, one) for done in post_filter(view, job, Identity(one), course.victim_order)]
    is_planned = course.job.topology is not None
    effective = {
        (_gone(done), effect(done, planned=is_planned)): (done, one)
        for done, one in reversed(preemptions)
        if not done.reason and done.gone
    }
    if effective:
        besides = [_meanwhile(course, view, done, one) for done, one in effective.values()]
        return course.known.setdefault(gone, _Next(tuple(besides[::-1])))
    end = next((one for one in tried if one.plan_fails), tried[0])
    return course.known.setdefault(gone, _Next(last=preemptions[0][0], end=end))


_MOST_ORDERS = 24


class _Tried(Struct, frozen=True):
    """What became of the pods that were tried so far, and the cluster after that, with victims that terminate.

    `failed` is the first attempt that failed, and `unhelped` why the first pod without a place preempts nobody.
    """

    view: View
    nominated: tuple[PendingPod, ...] = ()
    placed: int = 0
    killed: tuple[RunningPod, ...] = ()
    gone: tuple[RunningPod, ...] = ()
    failed: Attempt | None = None
    unhelped: Preemption | None = None


def outcomes_of_each(job: Job, view: View, budget: Budget) -> Iterator[Outcome]:
    """Yield what may come of the pods of a gang that has run before: nothing where their order has too much of a say.

    The order of pods of equal priority that differ is in no object; they are tried in all of few orders. The victims
    of all pods are one round: nobody is tried again before they are gone, and then pods take the nodes to which they
    are nominated. The budget is for all of it.
    """
    orders = _orders(job.tried)
    for left, queue in zip(range(len(orders), 0, -1), orders, strict=True):
        share = budget.part(budget.left // left)
        if not share.take():
            return
        first = attempt(_alone(job, queue[0], ()), view, queue[0], USUAL)
        for victim_order in victim_orders(view, first, share):
            found = _each(job, queue, _Tried(view), victim_order, share)
            yield from (_outcome(queue, first, tried) for tried in islice(found, MOST_BRANCHES))
            if next(found, None) is not None:
                share.cut()


def _orders(pods: Sequence[PendingPod]) -> Sequence[tuple[PendingPod, ...]]:
    """Return the orders in which pods may come, one of each kind; none where they are too many."""
    by_priority: dict[int, list[PendingPod]] = {}
    for pod in sorted(pods, key=lambda pod: (-pod.priority, pod.created, pod.key)):
        by_priority.setdefault(pod.priority, []).append(pod)
    orders: list[tuple[PendingPod, ...]] = [()]
    for equals in by_priority.values():
        more = [*islice(_of_equals(equals), _MOST_ORDERS + 1)]
        orders = [(*before, *then) for before in orders for then in more]
        if len(orders) > _MOST_ORDERS:
            return ()
    return orders


def _of_equals(pods: Sequence[PendingPod]) -> Iterator[tuple[PendingPod, ...]]:
    """Yield the orders of pods of equal priority, of which those that are alike keep theirs."""
    kinds: dict[object, list[PendingPod]] = {}
    for pod in pods:
        kinds.setdefault((placed_alike(pod), pod.nominated, pod.never_preempts), []).append(pod)
    yield from _interleaved([*kinds.values()])


def _interleaved(kinds: Sequence[Sequence[PendingPod]]) -> Iterator[tuple[PendingPod, ...]]:
    if not any(kinds):
        yield ()
    for place, (first, *rest) in ((place, kind) for place, kind in enumerate(kinds) if kind):
        for then in _interleaved([*kinds[:place], rest, *kinds[place + 1 :]]):
            yield (first, *then)


def _alone(job: Job, pod: PendingPod, nominated: Iterable[PendingPod]) -> Job:
    """Return what one pod is tried as, once these others are nominated."""
    now = {other.key: other for other in (*job.nominated, *nominated)}
    return structs.replace(job, pods=(pod,), needed={pod.gang: 1}, nominated=tuple(now.values()), may_trigger=())


def _each(
    job: Job, queue: Sequence[PendingPod], so_far: _Tried, victim_order: VictimOrder, budget: Budget
) -> Iterator[_Tried]:
    """Yield what may become of the pods of a queue, the first first."""
    if not queue:
        yield so_far
        return
    if not budget.take(2):
        return
    pod, rest = queue[0], queue[1:]
    alone, view = _alone(job, pod, so_far.nominated), so_far.view
    found = attempt(alone, view, pod, USUAL)
    if found.placement is not None:
        seated = view.with_pods(carried_out(alone, view, found))
        yield from _each(
            job, rest, structs.replace(so_far, view=seated, placed=so_far.placed + 1), victim_order, budget
        )
        return
    so_far = structs.replace(so_far, failed=so_far.failed or found)
    for preemption in post_filter(view, Identity(alone), Identity(found), victim_order):
        if preemption.reason is not None:
            unhelped = so_far.unhelped or preemption
            yield from _each(job, rest, structs.replace(so_far, unhelped=unhelped), victim_order, budget)
            continue
        nominated = structs.replace(pod, nominated=preemption.nominations[pod.key])
        then = structs.replace(
            so_far,
            view=view.preempting(preemption.victims),
            nominated=(*so_far.nominated, nominated),
            killed=(*so_far.killed, *preemption.victims),
            gone=tuple({victim.key: victim for victim in (*so_far.gone, *preemption.gone)}.values()),
        )
        yield from _each(job, rest, then, victim_order, budget)


def _outcome(queue: Sequence[PendingPod], first: Attempt, tried: _Tried) -> Outcome:
    helped = tried.placed + len(tried.nominated)
    rounds: tuple[Preemption, ...] = ()
    if tried.nominated:
        nominations: Mapping[str, str] = {pod.key: pod.nominated for pod in tried.nominated}
        victims = tuple(sorted(tried.killed, key=lambda pod: (pod.node, pod.key)))
        done = Preemption(eligible=True, reason=None, victims=victims, gone=tried.gone, nominations=nominations)
        rounds = (structs.replace(done, by_cost=True),)
    failed = tried.failed or first
    return Outcome(failed.trigger, failed, rounds, tried.unhelped, helped == len(queue), each=(helped, len(queue)))


_MOST_LANDINGS = 8


class Landing(Struct, frozen=True):
    """The cluster once pending reservations are placed.

    `nodes` says where each is, by name: empty where that is over running pods. `others` is there where they may be
    placed in more ways than are told: what room these leave at most, and at least.
    """

    view: View
    nodes: tuple[tuple[str, str], ...] = ()
    others: tuple[View, View] | None = None


class Preempting(Struct, frozen=True):
    """A pending reservation that finds no room and preempts pods for it."""

    reservation: str
    victims: tuple[RunningPod, ...]


def landings(view: View, own: int, rules: Rules) -> tuple[Landing, ...]:
    """Return how the cluster may look once the reservations that go before a priority are placed, the likeliest first.

    Those that find no room stay pending, and take none. Where there are too many ways for all, each tells of `others`.
    """
    return _landings(view, own, rules) if view.snapshot.reserve_pods else (Landing(view),)


def not_told(found: Iterable[Landing]) -> tuple[View, View] | None:
    """Return what room is left at most and at least where reservations are placed in ways that are not told."""
    return next((one.others for one in found if one.others is not None), None)


@memoised
def _landings(view: View, own: int, rules: Rules) -> tuple[Landing, ...]:
    """Return where waiting reservations may land; over running pods, which become their owners, they take no room."""
    waiting = _before(view, own)
    found = _places(waiting, view, rules)
    over = [pod.reserves.name for pod in waiting if pod.reserves is not None and pod.reserves.pre_allocates]
    if over:
        others = [pod for pod in waiting if pod.reserves is None or not pod.reserves.pre_allocates]
        where = tuple((name, "") for name in over)
        beside = (structs.replace(one, nodes=(*where, *one.nodes)) for one in _places(others, view, rules))
        found = (*found, *beside)
    return tuple({landing.nodes: landing for landing in reversed(found)}.values())[::-1]


def _places(waiting: Sequence[PendingPod], view: View, rules: Rules) -> tuple[Landing, ...]:
    taking = [_taking(pod, view, rules) for pod in waiting]
    is_few = prod(len(nodes) or 1 for nodes in taking) <= _MOST_LANDINGS
    if is_few or len(waiting) == 1:
        found = (*islice(_in_turn(waiting, Landing(view), rules), _MOST_LANDINGS),)
    else:
        found = tuple(_extreme(waiting, view, rules, choose) for choose in (emptiest, fullest))
    if is_few:
        return found
    told = {node for one in found for _, node in one.nodes} if len(waiting) == 1 else ()
    held: dict[str, list[PendingPod]] = {}
    for nodes in taking:
        for name, pod in nodes.items():
            if name not in told:
                held.setdefault(name, []).append(pod)
    return tuple(structs.replace(one, others=(view, view.with_pods(held))) for one in found)


def _in_turn(waiting: Sequence[PendingPod], landing: Landing, rules: Rules) -> Iterator[Landing]:
    """Yield the ways in which reservations may be placed one after the other, first those that leave nodes fuller."""
    if not waiting:
        yield landing
        return
    pod, *rest = waiting
    taking = _taking(pod, landing.view, rules)
    first = _chosen(pod, taking, landing.view, emptiest)
    for node in sorted(taking, key=lambda name: (name != first, name)) or ("",):
        yield from _in_turn(rest, _landed(landing, taking.get(node, pod), node), rules)


def _extreme(waiting: Iterable[PendingPod], view: View, rules: Rules, choose: Choice) -> Landing:
    landing = Landing(view)
    for pod in waiting:
        taking = _taking(pod, landing.view, rules)
        node = _chosen(pod, taking, landing.view, choose)
        landing = _landed(landing, taking.get(node, pod), node)
    return landing


def _before(view: View, own: int) -> list[PendingPod]:
    """Return the pods that stand for reservations of a higher priority which are not placed here, the highest first."""
    return [pod for pod in _waiting(view.snapshot) if pod.priority > own]


@memoised
def _waiting(snapshot: Snapshot) -> tuple[PendingPod, ...]:
    """Return the pods of waiting reservations, the highest priority first, but those of gangs: these come with them.

    One that pre-allocates is never placed but with the policy Restricted (`prepareMatchReservationStateForReservePod`).
    """
    placed = {one.uid for one in snapshot.reservations}
    waiting = (
        pod
        for pod in snapshot.reserve_pods
        if pod.reserves is not None
        and pod.reserves.uid not in placed
        and not pod.gang
        and not pod.terminating
        and (pod.reserves.policy == "Restricted" or not pod.reserves.pre_allocates)
        and pod.scheduler in snapshot.config.profiles
    )
    return tuple(sorted(waiting, key=lambda pod: (-pod.priority, pod.created, pod.name)))


def _job(pod: PendingPod, view: View, rules: Rules) -> Job:
    snapshot = view.snapshot
    return Job((pod,), {"": 1}, None, rules, snapshot.nominated, claims=snapshot.claims_asked_for)


def _taking(pod: PendingPod, view: View, rules: Rules) -> Mapping[str, PendingPod]:
    """Return the nodes that take the pod by name, and the pod as it is placed there, with what is booked for it."""
    prepared = _job(pod, view, rules).prepared(pod, view)
    found = ((name, placed(pod, view.state(name), prepared)) for name in view.names())
    return {name: one for name, one in found if isinstance(one, PendingPod)}


def _chosen(pod: PendingPod, names: Collection[str], view: View, choose: Choice) -> str:
    return choose(view, named(view, names), (), pod, ()) if names else ""


def _landed(landing: Landing, pod: PendingPod, node: str) -> Landing:
    if pod.reserves is None or not node:
        return landing
    reservation, room = landed(pod, pod.reserves, node)
    return Landing(landing.view.with_reservation(reservation, room), (*landing.nodes, (reservation.name, node)))


def preempting(view: View, own: int, rules: Rules) -> Iterator[Preempting]:
    """Yield the reservations before a priority that find no room, and whom each would preempt as things are.

    Those that may be placed over running pods are left out.
    """
    for pod in _before(view, own):
        if _taking(pod, view, rules) or pod.reserves is None or pod.reserves.pre_allocates:
            continue
        job = _job(pod, view, rules)
        victims = preempt(job, view, attempt(job, view, pod)).victims
        if victims and view.snapshot.config.preemption:
            yield Preempting(pod.reserves.name, victims)
