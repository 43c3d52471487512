"""What ending running pods does to others."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_koord.reports.disruption import BrokenGang, FreedPod
from kubectl_koord.wording.words import listed


def eviction_effects(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> str:
    """Return what evicting these pods does to others, to follow a sentence; empty where it does nothing."""
    return "".join(f"; {clause}" for clause in _clauses(pods, broken))


def preemption_effects(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> str:
    """Return what preempting these pods does to others, to follow a sentence: the scheduler ignores budgets."""
    names = [name for name, covered in _by_budget(pods).items() if not all(pod.evictable for pod in covered)]
    ignored = f"; it ignores budget {listed(names)}" if names else ""
    return ignored + "".join(f"; {clause}" for clause in _breaking(broken))


def _clauses(pods: Sequence[FreedPod], broken: Sequence[BrokenGang]) -> Iterator[str]:
    protected = [pod.pod for pod in pods if pod.protected]
    if protected:
        yield f"{listed(protected)} {'is' if len(protected) == 1 else 'are'} protected from preemption"
    for name, covered in _by_budget(pods).items():
        refused = [pod for pod in covered if not pod.evictable]
        if any(pod.pod_disruption_budget is not None and pod.pod_disruption_budget.violated for pod in refused):
            why = f"budget {name} allows no more disruptions"
        else:
            why = f"budget {name} is not its only one"
        if refused:
            yield f"the API server refuses to evict {listed([pod.pod for pod in refused])} now, as {why}"
        else:
            yield f"budget {name} allows to evict {listed([pod.pod for pod in covered])}"
    yield from _breaking(broken)
    if not all(pod.budgets_read for pod in pods):
        yield "PodDisruptionBudgets could not be read"


def _breaking(broken: Iterable[BrokenGang]) -> Iterator[str]:
    for gang in broken:
        yield f"gang {gang.gang} falls below its minimum ({gang.left} left, {gang.min_member} needed)"


def _by_budget(pods: Iterable[FreedPod]) -> Mapping[str, Sequence[FreedPod]]:
    found: dict[str, list[FreedPod]] = {}
    for pod in pods:
        if pod.pod_disruption_budget is not None:
            found.setdefault(pod.pod_disruption_budget.name, []).append(pod)
    return found
