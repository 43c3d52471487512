"""The quotas as they would be: without some pods, or with pods that count against another quota."""

from collections.abc import Iterable

from kubectl_koord.engine.quota.state import QuotaState
from kubectl_koord.engine.quota.sums import Sums, is_fixed, requested
from kubectl_koord.model.pods import PendingPod, RunningPod


def without(state: QuotaState, pods: Iterable[RunningPod]) -> QuotaState:
    """Return the state once running pods have ended."""
    more: dict[str, Sums] = {}
    for pod in pods:
        name = state.tree.name_of(pod)
        if name in state.own and not (pod.terminating and state.tree.settings.ignores_terminating):
            asked = requested(pod, name, state.tree)
            more.setdefault(name, Sums()).take(Sums(asked, asked, asked if is_fixed(pod) else {}), -1)
    return state.with_more(more)


def counting_in(state: QuotaState, pods: Iterable[PendingPod], quota: str) -> QuotaState:
    """Return the state once pods that wait request of another quota than theirs."""
    more: dict[str, Sums] = {}
    for pod in pods:
        name = state.tree.name_of(pod)
        if name in more or name in state.own:
            more.setdefault(name, Sums()).take(Sums(requested(pod, name, state.tree)), -1)
        more.setdefault(quota, Sums()).take(Sums(requested(pod, quota, state.tree)))
    return state.with_more(more)
