"""What the pods of each quota request and use, without the quotas below it.

Mirrors `updatePodRequestNoLock` and `updatePodUsedNoLock` in elasticquota/core/group_quota_manager.go.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import TypeAlias

from msgspec import Struct, field

from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.quota.amounts import Amounts, add
from kubectl_koord.engine.quota.tree import QuotaTree, quota_tree
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.quotas import QuotaLabels, quota_labels
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.quantity import Resources

Pod: TypeAlias = PendingPod | RunningPod


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
    return says_fixed(quota_labels(pod.labels))


def says_fixed(labels: QuotaLabels) -> bool:
    """Tell the same by what its labels say to quotas."""
    return labels[1] == "false"


def requested(pod: Pod, name: str, tree: QuotaTree) -> dict[str, int]:
    """Return what a pod counts with in a quota: of each resource that the quota has a maximum of."""
    return counted(pod.requirements.requests, name, tree)


def counted(amounts: Iterable[tuple[str, int]], name: str, tree: QuotaTree) -> dict[str, int]:
    """Return what of amounts counts in a quota."""
    limited = dict(tree.quotas[name].max)
    return {resource: amount for resource, amount in amounts if resource in limited}


def running_in(names: Collection[str], pods: Iterable[Occupant], tree: QuotaTree) -> Mapping[str, Sequence[RunningPod]]:
    """Return which of these pods run and count against one of some quotas, by the quota."""
    found: dict[str, list[RunningPod]] = {}
    for pod in pods:
        if isinstance(pod, RunningPod):
            labels = quota_labels(pod.labels)
            named = labels[0] or ""
            name = named if named in tree.quotas else tree.name_by(labels, pod.namespace)
            if name in names:
                found.setdefault(name, []).append(pod)
    return found


class Group(Struct, frozen=True):
    """Pods that count alike, how many they are, and what they request together.

    `labels` are what theirs say to quotas; `namespace` is empty where the labels name a quota, as that decides then.
    """

    labels: QuotaLabels
    namespace: str
    is_running: bool
    is_terminating: bool
    number: int
    requests: Amounts


def grouped(pods: Iterable[Occupant]) -> tuple[Group, ...]:
    """Return pods by what they count as: there are few groups, also of hundreds of thousands of pods."""
    found: defaultdict[tuple[QuotaLabels, str, bool, bool], list[Resources]] = defaultdict(list)
    for pod in pods:
        if isinstance(pod, RunningPod):
            is_running, is_terminating = True, pod.marks.terminating
        elif isinstance(pod, PendingPod):
            is_running, is_terminating = False, pod.terminating
        else:
            continue
        labels = quota_labels(pod.labels)
        kind = (labels, "" if labels[0] else pod.namespace, is_running, is_terminating)
        found[kind].append(pod.requirements.requests)
    return tuple(Group(*kind, len(requests), together(requests)) for kind, requests in found.items())


def together(amounts: Iterable[Resources]) -> Amounts:
    """Return the sum of amounts, of which many are equal."""
    total: dict[str, int] = {}
    for each, times in Counter(amounts).items():
        add(total, each, times)
    return total


def _count(found: dict[str, Sums], groups: Iterable[Group], tree: QuotaTree, sign: int) -> None:
    """Count pods that are on nodes: those that run request and use, those that are assumed there only use.

    What waits requests all along, whether it is assumed somewhere or not.
    """
    for each in groups:
        name = tree.name_by(each.labels, each.namespace)
        if not name or (each.is_terminating and tree.settings.ignores_terminating):
            continue
        sums = found.setdefault(name, Sums())
        own = counted(each.requests.items(), name, tree)
        if each.is_running:
            add(sums.request, own.items(), sign)
        add(sums.used, own.items(), sign)
        if says_fixed(each.labels):
            add(sums.fixed, own.items(), sign)


@memoised
def everybody(view: View) -> tuple[Group, ...]:
    """Return the pods that are on nodes, by what they count as; the view lies over no other."""
    _, occupants = view.layers()
    return grouped(chain.from_iterable(occupants.values()))


def on_nodes(view: View, tree: QuotaTree) -> dict[str, Sums]:
    """Return the sums over everybody on a node."""
    below, _ = view.layers()
    if below is None:
        found: dict[str, Sums] = {}
        _count(found, everybody(view), tree, 1)
        return found
    found = on_nodes(below, tree)
    for name, sums in differing(view, below, tree).items():
        found[name] = found[name].plus(sums) if name in found else sums
    return found


def differing(view: View, below: View, tree: QuotaTree) -> OwnSums:
    """Return by how much the sums over everybody on a node differ from those in the view that this one lies over."""
    _, occupants = view.layers()
    found: dict[str, Sums] = {}
    _count(found, grouped(pod for node in occupants for pod in below.occupants(node)), tree, -1)
    _count(found, grouped(chain.from_iterable(occupants.values())), tree, 1)
    return found


def waiting(pods: Iterable[PendingPod], tree: QuotaTree) -> OwnSums:
    """Return what pods that wait request, whatever keeps them waiting."""
    found: dict[str, Sums] = {}
    for each in grouped(pods):
        name = tree.name_by(each.labels, each.namespace)
        if name and not (each.is_terminating and tree.settings.ignores_terminating):
            add(found.setdefault(name, Sums()).request, counted(each.requests.items(), name, tree).items())
    return found


@memoised
def all_waiting(snapshot: Snapshot) -> OwnSums:
    """Return the same for all pods of a snapshot that wait."""
    return waiting(snapshot.pending, quota_tree(snapshot))


def waiting_instead(snapshot: Snapshot, pods: tuple[PendingPod, ...], tree: QuotaTree) -> tuple[OwnSums, OwnSums]:
    """Return what is requested besides, and what no longer, where these pods wait in place of the snapshot's.

    Most of them are the same, in the same order: only those between the first and the last that differ are counted.
    """
    usual = snapshot.pending
    start = _number_same(usual, pods)
    end = _number_same(usual[start:][::-1], pods[start:][::-1])
    return waiting(pods[start : len(pods) - end], tree), waiting(usual[start : len(usual) - end], tree)


def _number_same(some: Iterable[PendingPod], others: Iterable[PendingPod]) -> int:
    """Return how many are the same objects, from the first on."""
    return [*map(is_, some, others), False].index(False)


@memoised
def capacity(view: View) -> Mapping[str, int]:
    """Return what all nodes have together, cordoned ones included (`OnNodeAdd`)."""
    below, _ = view.layers()
    if below is None:
        return together(view.node(name).allocatable for name in view.names())
    total = dict(capacity(below))
    for name in view.changed_nodes():
        add(total, below.node(name).allocatable, -1)
        add(total, view.node(name).allocatable)
    return total
