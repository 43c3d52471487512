"""What the pods of each quota request and use, without the quotas below it.

Mirrors `updatePodRequestNoLock` and `updatePodUsedNoLock` in elasticquota/core/group_quota_manager.go.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct, field

from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.quota.amounts import add
from kubectl_koord.engine.quota.tree import QuotaTree, quota_tree
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.quotas import NAME_LABEL, PREEMPTIBLE_LABEL
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.packed import picked

Pod: TypeAlias = PendingPod | RunningPod
_Kind: TypeAlias = tuple[type, str | None, str | None, int, str, bool]


class Sums(Struct, frozen=True):
    """Of one quota's own pods: what they request, what those with a node use, and what of that no preemption frees."""

    request: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    fixed: dict[str, int] = field(default_factory=dict)

    def copy(self) -> "Sums":
        """Return an independent copy."""
        return Sums(dict(self.request), dict(self.used), dict(self.fixed))

    def plus(self, other: "Sums") -> "Sums":
        """Return the sums of both."""
        total = self.copy()
        add(total.request, other.request.items())
        add(total.used, other.used.items())
        add(total.fixed, other.fixed.items())
        return total

    def minus(self, other: "Sums") -> "Sums":
        """Return the sums without the other's."""
        left = self.copy()
        add(left.request, other.request.items(), -1)
        add(left.used, other.used.items(), -1)
        add(left.fixed, other.fixed.items(), -1)
        return left


OwnSums: TypeAlias = Mapping[str, Sums]
"""The sums of quotas by name; those that are missing have no pods."""


def is_fixed(pod: Pod) -> bool:
    """Tell whether a pod is non-preemptible (`IsPodNonPreemptible`)."""
    return (PREEMPTIBLE_LABEL, "false") in pod.labels


def requested(pod: Pod, name: str, tree: QuotaTree) -> dict[str, int]:
    """Return what a pod counts with in a quota: of each resource that the quota has a maximum of."""
    counted = dict(tree.quotas[name].max)
    return {resource: amount for resource, amount in pod.requirements.requests if resource in counted}


class Alike(Struct, frozen=True):
    """One of several pods that count alike, and how many they are."""

    example: Pod
    number: int


def alike(pods: Iterable[Occupant]) -> tuple[Alike, ...]:
    """Return pods by what they count: those of one quota with the same requirements, which pods share."""
    return _merged(_by_labels(pods))


def _by_labels(pods: Iterable[Occupant]) -> Iterable[Alike]:
    """Return pods by their labels, which pods share, too: there are few of them to be looked at."""
    examples: dict[tuple[int, int, str, type, bool], Pod] = {}
    numbers: dict[tuple[int, int, str, type, bool], int] = {}
    for pod in pods:
        if isinstance(pod, ReservedRoom):
            continue
        kind = (id(pod.labels), id(pod.requirements), pod.namespace, type(pod), pod.terminating)
        known = numbers.get(kind)
        if known is None:
            examples[kind], numbers[kind] = pod, 1
        else:
            numbers[kind] = known + 1
    return (Alike(pod, numbers[kind]) for kind, pod in examples.items())


def _merged(parts: Iterable[Alike]) -> tuple[Alike, ...]:
    found: dict[_Kind, Alike] = {}
    for each in parts:
        pod = each.example
        name, fixed = picked(pod.labels, NAME_LABEL, PREEMPTIBLE_LABEL)
        kind = (type(pod), name, fixed, id(pod.requirements), pod.namespace, pod.terminating)
        found[kind] = Alike(pod, each.number + (found[kind].number if kind in found else 0))
    return tuple(found.values())


def _count(found: dict[str, Sums], pods: Iterable[Alike], tree: QuotaTree, sign: int) -> None:
    """Count pods that are on nodes: those that run request and use, those that are assumed there only use.

    What waits requests all along, whether it is assumed somewhere or not.
    """
    for each in pods:
        pod, times = each.example, sign * each.number
        name = tree.name_of(pod)
        if not name or (pod.terminating and tree.settings.ignores_terminating):
            continue
        sums = found.setdefault(name, Sums())
        own = requested(pod, name, tree)
        if isinstance(pod, RunningPod):
            add(sums.request, own.items(), times)
        add(sums.used, own.items(), times)
        if is_fixed(pod):
            add(sums.fixed, own.items(), times)


@memoised
def everybody(view: View) -> tuple[Alike, ...]:
    """Return the pods that are on nodes, by what they count; the view lies over no other."""
    _, occupants = view.layers()
    return alike(pod for pods in occupants.values() for pod in pods)


def on_nodes(view: View, tree: QuotaTree) -> dict[str, Sums]:
    """Return the sums over everybody on a node."""
    below, _ = view.layers()
    if below is None:
        counted: dict[str, Sums] = {}
        _count(counted, everybody(view), tree, 1)
        return counted
    found = on_nodes(below, tree)
    for name, sums in differing(view, below, tree).items():
        found[name] = found[name].plus(sums) if name in found else sums
    return found


def differing(view: View, below: View, tree: QuotaTree) -> OwnSums:
    """Return by how much the sums over everybody on a node differ from those in the view that this one lies over."""
    _, occupants = view.layers()
    found: dict[str, Sums] = {}
    _count(found, alike(pod for node in occupants for pod in below.occupants(node)), tree, -1)
    _count(found, alike(pod for pods in occupants.values() for pod in pods), tree, 1)
    return found


def waiting(pods: Iterable[PendingPod], tree: QuotaTree) -> OwnSums:
    """Return what pods that wait request, whatever keeps them waiting."""
    found: dict[str, Sums] = {}
    for pod in pods:
        name = tree.name_of(pod)
        if name and not (pod.terminating and tree.settings.ignores_terminating):
            add(found.setdefault(name, Sums()).request, requested(pod, name, tree).items())
    return found


@memoised
def all_waiting(snapshot: Snapshot) -> OwnSums:
    """Return the same for all pods of a snapshot that wait."""
    return waiting(snapshot.pending, quota_tree(snapshot))


@memoised
def capacity(view: View) -> Mapping[str, int]:
    """Return what all nodes have together, cordoned ones included (`OnNodeAdd`)."""
    below, _ = view.layers()
    total: dict[str, int] = {}
    if below is None:
        for name in view.names():
            add(total, view.node(name).allocatable)
        return total
    total.update(capacity(below))
    for name in view.changed_nodes():
        add(total, below.node(name).allocatable, -1)
        add(total, view.node(name).allocatable)
    return total
