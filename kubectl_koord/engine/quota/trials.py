"""The quotas as they would be: with other limits, without some pods, or with pods that count against another quota."""

from collections.abc import Iterable, Mapping

from msgspec import structs

from kubectl_koord.engine.quota.amounts import add
from kubectl_koord.engine.quota.state import QuotaState
from kubectl_koord.engine.quota.sums import Sums, is_fixed, requested
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.quotas import Quota


def with_quotas(state: QuotaState, changed: Mapping[str, Quota]) -> QuotaState:
    """Return the state once quotas, by their names, have other limits of the same resources."""
    tree = state.tree
    written = tuple(changed.get(quota.name, quota) for quota in tree.written)
    return QuotaState(
        structs.replace(tree, quotas={**tree.quotas, **changed}, written=written), state.own, state.nodes, state.rules
    )


def without(state: QuotaState, pods: Iterable[RunningPod]) -> QuotaState:
    """Return the state once running pods have ended."""
    own = dict(state.own)
    for pod in pods:
        name = state.tree.name_of(pod)
        if name in own and not (pod.terminating and state.tree.settings.ignores_terminating):
            asked = requested(pod, name, state.tree)
            own[name] = _less(own[name], asked, asked, asked if is_fixed(pod) else {})
    return QuotaState(state.tree, own, state.nodes, state.rules)


def counting_in(state: QuotaState, pods: Iterable[PendingPod], quota: str) -> QuotaState:
    """Return the state once pods that wait request of another quota than theirs."""
    own = dict(state.own)
    for pod in pods:
        name = state.tree.name_of(pod)
        if name in own:
            own[name] = _less(own[name], requested(pod, name, state.tree), {}, {})
        own[quota] = own.get(quota, Sums()).plus(Sums(requested(pod, quota, state.tree)))
    return QuotaState(state.tree, own, state.nodes, state.rules)


def _less(sums: Sums, request: Mapping[str, int], used: Mapping[str, int], fixed: Mapping[str, int]) -> Sums:
    left = sums.copy()
    for total, gone in ((left.request, request), (left.used, used), (left.fixed, fixed)):
        add(total, gone.items(), -1)
    return left
