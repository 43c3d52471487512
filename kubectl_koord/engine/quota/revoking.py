"""The pods that the over-use controller evicts: those of a quota that stays above what it may use.

Mirrors elasticquota/quota_overuse_revoke.go. It runs only with `monitorAllQuotas` and `enableRuntimeQuota`, and waits
until a quota was above its runtime for `delayEvictTime` without a break, which no object shows.
"""

from collections.abc import Iterable, Mapping

from kubectl_koord.engine.quota.amounts import exceeding
from kubectl_koord.engine.quota.state import QuotaState
from kubectl_koord.engine.quota.sums import is_fixed
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.quotas import BUILT_IN


def is_on(state: QuotaState) -> bool:
    """Tell whether the controller runs."""
    return state.tree.settings.revokes and state.tree.settings.by_runtime


def over_used(state: QuotaState) -> Mapping[str, tuple[str, ...]]:
    """Return the quotas that use more than their runtime, by name, and of which resources."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(state.tree.quotas):
        over = exceeding(state.used(name), state.runtime(name)) if name not in BUILT_IN else ()
        if over:
            found[name] = over
    return found


def revoked(state: QuotaState, name: str, pods: Iterable[RunningPod]) -> tuple[RunningPod, ...]:
    """Return which of a quota's own pods on nodes would be evicted, the least important first.

    Pods are taken from the least important up until the quota is within its runtime, and then spared from the most
    important down where it stays so (`getToRevokePodList`). After each only what that pod requests is compared.
    """
    runtime = state.runtime(name)
    used = dict(state.used(name))
    taken: list[RunningPod] = []
    for pod in sorted(pods, key=_importance):
        if not exceeding(used, runtime):
            break
        if not is_fixed(pod):
            used = {resource: used.get(resource, 0) - amount for resource, amount in pod.requirements.requests}
            taken.append(pod)
    if exceeding(used, runtime):
        return tuple(taken)
    evicted: list[RunningPod] = []
    for pod in reversed(taken):
        asked = dict(pod.requirements.requests)
        with_it = {resource: used.get(resource, 0) + amount for resource, amount in asked.items()}
        if exceeding(with_it, runtime):
            used = {resource: with_it[resource] - amount for resource, amount in asked.items()}
            evicted.append(pod)
        else:
            used = with_it
    return tuple(reversed(evicted))


def _importance(pod: RunningPod) -> tuple[int, tuple[int, ...], str]:
    """Return what puts the least important first: a lower priority, then a later start."""
    return pod.priority, tuple(-ord(letter) for letter in pod.scheduled or pod.created), pod.key
