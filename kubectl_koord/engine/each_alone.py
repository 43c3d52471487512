"""Pods of a gang that has run before: each is tried, and preempts, for itself.

Mirrors coscheduling/core/core.go: where a gang was satisfied once, BeforePreFilter, AfterPostFilter and Permit leave
its pods to themselves, so that they are plain pods, without gang and topology. All are tried before any victim is gone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct, structs

from kubectl_koord.engine.attempts.attempt import Attempt, Job
from kubectl_koord.engine.attempts.choosing import USUAL
from kubectl_koord.engine.attempts.trying import attempt, carried_out
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.preemption.costs import VictimOrder
from kubectl_koord.engine.preemption.preempt import Preemption, placed_alike
from kubectl_koord.engine.rounds import MOST_BRANCHES, Outcome, post_filter, victim_orders
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.values.memo import Identity

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
