"""What ending running pods does to others: budgets, protection from preemption, gangs that lose too many."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kubectl_koord.engine import gangs
from kubectl_koord.model.objects import Budget
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import matches, memoised, picked
from kubectl_koord.reports.common import BrokenGang, BudgetHit, FreedPod

HARMLESS, HARMFUL, PROTECTED = range(3)
_BUDGET = "PodDisruptionBudget"


def budget_hit(budgets: Iterable[Budget], pod: RunningPod, spent: dict[str, int]) -> BudgetHit | None:
    """Return the budget that covers a victim, of several one that is violated; each before has used up a disruption."""
    hits = [_spend(budget, spent) for budget in _covering(budgets, pod)]
    return next((hit for hit in hits if hit.violated), next(iter(hits), None))


def broken_gangs(snapshot: Snapshot, ending: Iterable[RunningPod]) -> tuple[BrokenGang, ...]:
    """Return the running gangs that the end of these pods brings below their minimum."""
    lost: dict[str, int] = {}
    for pod in ending:
        if pod.gang:
            lost[pod.gang] = lost.get(pod.gang, 0) + 1
    every = gangs.all_gangs(snapshot) if lost else {}
    found = []
    for key, count_lost in sorted(lost.items()):
        gang = every[key]
        bound = len(gang.running)
        minimum = gang.minimum or 0
        if bound >= minimum > bound - count_lost:
            found.append(BrokenGang(key, bound, minimum, bound - count_lost))
    return tuple(found)


def freed(snapshot: Snapshot, pods: Collection[RunningPod]) -> tuple[FreedPod, ...]:
    """Return what ending these pods together does, sorted by name; each uses up a disruption of its budget."""
    broken = {gang.gang for gang in broken_gangs(snapshot, pods)}
    by_namespace = _budgets_by_namespace(snapshot)
    spent: dict[str, int] = {}
    return tuple(
        _freed(snapshot, pod, [_spend(budget, spent) for budget in _covering(by_namespace.get(pod.namespace, ()), pod)],
               breaks=pod.gang if pod.gang in broken else None)
        for pod in sorted(pods, key=lambda pod: pod.key)
    )  # fmt: skip


def harm_alone(snapshot: Snapshot, pod: RunningPod) -> int:
    """Return how little one pod is to be ended alone, as `harm` has it."""
    if pod.protected:
        return PROTECTED
    asked = _asked_for(snapshot, pod.namespace)
    is_evictable = _is_evictable(snapshot, pod.namespace, picked(pod.labels, *asked))
    return HARMLESS if is_evictable and not (pod.gang and broken_gangs(snapshot, [pod])) else HARMFUL


@memoised
def _asked_for(snapshot: Snapshot, namespace: str) -> tuple[str, ...]:
    """Return the names of the labels by which the budgets of a namespace select pods."""
    selectors = (budget.selector for budget in _budgets_by_namespace(snapshot).get(namespace, ()))
    names = {one.key for selector in selectors if selector is not None for one in selector.requirements}
    return tuple(sorted(names))


@memoised
def _is_evictable(snapshot: Snapshot, namespace: str, values: tuple[str | None, ...]) -> bool:
    """Tell whether the eviction API lets a pod alone go that has these of the labels by which budgets select."""
    asked = _asked_for(snapshot, namespace)
    labels = {name: value for name, value in zip(asked, values, strict=True) if value is not None}
    covering = [*_selecting(_budgets_by_namespace(snapshot).get(namespace, ()), labels)]
    return not covering or (len(covering) == 1 and covering[0].allowed > 0)


@memoised
def _budgets_by_namespace(snapshot: Snapshot) -> Mapping[str, Sequence[Budget]]:
    found: dict[str, list[Budget]] = {}
    for budget in snapshot.budgets:
        found.setdefault(budget.namespace, []).append(budget)
    return found


def _covering(budgets: Iterable[Budget], pod: RunningPod) -> Iterator[Budget]:
    labels = dict(pod.labels)
    return _selecting((budget for budget in budgets if budget.namespace == pod.namespace), labels)


def _selecting(budgets: Iterable[Budget], labels: dict[str, str]) -> Iterator[Budget]:
    return (budget for budget in budgets if budget.selector is not None and matches(budget.selector, labels))


def _spend(budget: Budget, spent: dict[str, int]) -> BudgetHit:
    key = f"{budget.namespace}/{budget.name}"
    spent[key] = spent.get(key, 0) + 1
    return BudgetHit(key, violated=spent[key] > budget.allowed)


def _freed(snapshot: Snapshot, pod: RunningPod, hits: Sequence[BudgetHit], *, breaks: str | None) -> FreedPod:
    violated = [hit for hit in hits if hit.violated]
    return FreedPod(
        pod=pod.key,
        node=pod.node,
        priority=pod.priority,
        gang=pod.gang or None,
        owner=pod.owner or None,
        protected=pod.protected,
        pod_disruption_budget=next(iter(violated or hits), None),
        budgets_read=snapshot.sees(_BUDGET, pod.namespace),
        evictable=not violated and len(hits) <= 1,  # the eviction API refuses whatever several budgets cover
        breaks=breaks,
    )


def comes_back_there(pod: RunningPod) -> bool:
    """Tell whether a pod that ends is at once created anew on the same node: then its room is not free."""
    return pod.requirements.of_daemon_set or pod.owner.startswith("Node/")


def harm(pod: FreedPod) -> int:
    """Return how little a pod is to be ended: HARMLESS, HARMFUL (its budget or its gang suffers) or PROTECTED."""
    if pod.protected:
        return PROTECTED
    return HARMLESS if pod.evictable and pod.breaks is None else HARMFUL


def may_be_evicted(pods: Sequence[FreedPod]) -> bool:
    """Tell whether a command may evict these pods one by one: none is protected, no budget ends it halfway."""
    return not any(pod.protected for pod in pods) and (len(pods) == 1 or all(pod.evictable for pod in pods))
