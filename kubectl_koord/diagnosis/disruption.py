"""What ending running pods does to others: budgets, protection from preemption, gangs that lose too many."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from kubectl_koord.engine import gangs
from kubectl_koord.model.objects import Budget
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import matches
from kubectl_koord.reports.disruption import BrokenGang, BudgetHit, FreedPod

HARMLESS, HARMFUL, PROTECTED = range(3)
_BUDGET = "PodDisruptionBudget"


def budget_hit(budgets: Iterable[Budget], pod: RunningPod, spent: dict[str, int]) -> BudgetHit | None:
    """Return the budget that covers a victim; each victim before it has used up one disruption."""
    return next((_spend(budget, spent) for budget in _covering(budgets, pod)), None)


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


@memoised
def _budgets_by_namespace(snapshot: Snapshot) -> Mapping[str, Sequence[Budget]]:
    found: dict[str, list[Budget]] = {}
    for budget in snapshot.budgets:
        found.setdefault(budget.namespace, []).append(budget)
    return found


def _covering(budgets: Iterable[Budget], pod: RunningPod) -> Iterator[Budget]:
    labels = dict(pod.labels)
    for budget in budgets:
        if budget.namespace == pod.namespace and budget.selector is not None and matches(budget.selector, labels):
            yield budget


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
