"""ElasticQuota's own preemption: the pod that failed takes the place of pods of its quota that have a lower priority.

It comes after job preemption, and only where that nominates nobody. Mirrors elasticquota/preempt.go and
`SelectCandidate` in kube-scheduler's framework/preemption/preemption.go.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.attempts.attempt import Attempt, Job
from kubectl_koord.engine.fit import rejection
from kubectl_koord.engine.preemption.preempt import Preemption
from kubectl_koord.engine.quota.amounts import add, exceeding
from kubectl_koord.engine.quota.counting import running_in
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.sums import is_fixed, requested
from kubectl_koord.engine.quota.tree import QuotaTree, quotas_of
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Budget
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.quotas import DEFAULT
from kubectl_koord.model.values.memo import Identity, recently
from kubectl_koord.model.values.selectors import matches

Holding: TypeAlias = tuple[tuple[str, PendingPod], ...]
"""Pods that are nominated to a node, with that node."""

_OFFSET = 1 << 31
_MOST_KEPT = 8


class _Candidate(Struct, frozen=True):
    """A node, and whom the pod would have to take the place of there; `violating` of them count as against a budget."""

    node: str
    victims: tuple[RunningPod, ...]
    violating: int


def preempt_within_quota(
    job: Job, view: View, failed: Attempt, *, anew: bool = False, holding: Holding = ()
) -> tuple[Preemption, ...]:
    """Return whom the pod that failed preempts in its quota, nothing where nobody; the same for the same attempt.

    Of nodes that cost the same upstream takes any (`pickOneNodeForPreemption` walks over a map): there is one for each.

    Args:
        job: what was tried.
        view: the cluster as it was before the attempt.
        failed: the attempt, with the pod that failed as its trigger.
        anew: whether the pod does not wait for one that terminates on its nominated node.
        holding: the pods that hold room on their nominated nodes, and use nothing of their quotas.

    """
    if not anew and waits_within_quota(view, failed, failed.trigger.nominated):
        return ()
    return _within_quota(view, Identity(job), Identity(failed), holding)


@recently(_MOST_KEPT)
def _within_quota(
    view: View, tried: Identity[Job], attempt: Identity[Attempt], holding: Holding
) -> tuple[Preemption, ...]:
    job, failed = tried.value, attempt.value
    now = failed.beside_waiting(view)
    tree = quotas_of(now)
    trigger, name = failed.trigger, tree.name_of(failed.trigger)
    spared = name == DEFAULT and tree.settings.spares_default
    if spared or name in tree.faults or trigger.never_preempts:
        return ()
    by_node = _possible(now, tree, failed, _considered(now, failed))
    if not by_node:
        return ()
    state = quota_state(now, job.rules, job.pending)
    room = now.with_pods({node: (pod,) for node, pod in holding}) if holding else now
    found = [
        candidate
        for node, possible in by_node.items()
        if (candidate := _on_node(room, state, failed, node, possible)) is not None and candidate.victims
    ]
    least = min(map(_cost, found), default=None)
    chosen = sorted((one for one in found if _cost(one) == least), key=lambda one: one.node)
    return tuple(_chosen(one, trigger) for one in chosen)


def _chosen(candidate: _Candidate, trigger: PendingPod) -> Preemption:
    killed = tuple(victim for victim in candidate.victims if not victim.terminating)
    nominations = {trigger.key: candidate.node}
    return Preemption(eligible=True, reason=None, victims=killed, gone=candidate.victims, nominations=nominations)


def _considered(view: View, failed: Attempt) -> Collection[str]:
    """Return the nodes that are looked at: where a plan was not found all refuse, and none for good."""
    return view.names() if _lacks_plan(failed) else failed.considered(view)


def _lacks_plan(failed: Attempt) -> bool:
    return failed.plan is not None and failed.failed_seat is None


def waits_within_quota(view: View, failed: Attempt, node: str, dying: frozenset[str] = frozenset()) -> bool:
    """Tell whether the pod has to wait for one that terminates on its nominated node (`PodEligibleToPreemptOthers`).

    It need not where that node refuses it for good. Pods that are `dying` (`namespace/name`) terminate, too.
    """
    if node not in view.names():
        return False
    reason = None if _lacks_plan(failed) or failed.over_quota is not None else failed.worded.get(node)
    if reason is not None and reason.unresolvable:
        return False
    now = failed.beside_waiting(view)
    possible = _possible(now, quotas_of(now), failed, (node,), fixed_too=True)
    return any(pod.terminating or pod.key in dying for pods in possible.values() for pod in pods)


def _possible(
    view: View, tree: QuotaTree, failed: Attempt, nodes: Collection[str], *, fixed_too: bool = False
) -> Mapping[str, Sequence[RunningPod]]:
    """Return by node the pods of its quota there that the pod may preempt (`canPreempt`).

    Where there is no default quota, those without one are as good as of one quota.
    """
    name, least = tree.name_of(failed.trigger), failed.trigger.priority
    found: dict[str, list[RunningPod]] = {}
    for pod in running_in({name}, view, tree).get(name, ()):
        if pod.priority < least and pod.node in nodes and (fixed_too or not is_fixed(pod)):
            found.setdefault(pod.node, []).append(pod)
    return found


def _on_node(
    view: View, state: QuotaState, failed: Attempt, node: str, possible: Sequence[RunningPod]
) -> _Candidate | None:
    """Return whom the pod would take the place of on a node, None where it would not fit all the same.

    Pods are put back one by one, and stay where the pod still fits, and its quota still holds it. Both is checked for
    each, so that one who may stay for neither reason is removed twice, which is an error (`SelectVictimsOnNode`).
    Against a budget goes only who has to make room: not who goes for the quota alone.
    """
    trigger, name = failed.trigger, state.tree.name_of(failed.trigger)
    asked, limit = dict(trigger.requirements.requests), state.limit(name) if name else {}
    used = dict(state.used(name))
    there = view.state(node).copy()
    for pod in possible:
        there.remove(pod)
        add(used, _counted(pod, name, state.tree).items(), -1)
    if rejection(trigger, there, failed.prepared) is not None:
        return None
    victims: list[RunningPod] = []
    number_violating = 0
    violating, others = _by_budget(possible, view.snapshot.budgets)
    for pod in (*violating, *others):
        own = _counted(pod, name, state.tree)
        there.add(pod)
        fits = rejection(trigger, there, failed.prepared) is None
        with_it = {resource: used.get(resource, 0) + own.get(resource, 0) + need for resource, need in asked.items()}
        without = {resource: used.get(resource, 0) + need for resource, need in asked.items()}
        if not fits and exceeding(without, limit):
            return None
        if fits and not exceeding(with_it, limit):
            add(used, own.items())
            continue
        there.remove(pod)
        victims.append(pod)
        number_violating += not fits and pod in violating
    return _Candidate(node, tuple(victims), number_violating)


def _counted(pod: RunningPod, name: str, tree: QuotaTree) -> Mapping[str, int]:
    """Return what a pod counts with in its quota; nothing where it has none."""
    return requested(pod, name, tree) if name else {}


def _by_budget(
    pods: Iterable[RunningPod], budgets: Iterable[Budget]
) -> tuple[Sequence[RunningPod], Sequence[RunningPod]]:
    """Return those whose end would violate a budget, and the others, both from the most important down."""
    budgets = tuple(budgets)
    left = {position: budget.allowed for position, budget in enumerate(budgets)}
    violating: list[RunningPod] = []
    others: list[RunningPod] = []
    for pod in sorted(pods, key=lambda pod: (-pod.priority, _start(pod), pod.key)):
        hit = [
            position
            for position, budget in enumerate(budgets)
            if budget.namespace == pod.namespace
            and budget.selector is not None
            and budget.selector.requirements
            and matches(budget.selector, dict(pod.labels))
        ]
        for position in hit:
            left[position] -= 1
        (violating if any(left[position] < 0 for position in hit) else others).append(pod)
    return violating, others


def _start(pod: RunningPod) -> str:
    return pod.scheduled or pod.created


def _cost(candidate: _Candidate) -> tuple[int, int, int, int, tuple[int, ...]]:
    """Return what makes one candidate better than another (`pickOneNodeForPreemption`): the least is chosen.

    The first victim passes for the most important one, though those that a budget protects come before the others.
    """
    victims = candidate.victims
    top = max(victim.priority for victim in victims)
    earliest = min(_start(victim) for victim in victims if victim.priority == top)
    return (
        candidate.violating,
        victims[0].priority,
        sum(victim.priority + _OFFSET for victim in victims),
        len(victims),
        tuple(-ord(letter) for letter in earliest),
    )
