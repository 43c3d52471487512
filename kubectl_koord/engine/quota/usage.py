"""What the pods of each quota request and use."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import is_
from typing import Generic, TypeAlias, TypeVar

from msgspec import Struct, field

from kubectl_koord.engine.quota.tree import Amounts, QuotaTree, add, quota_tree
from kubectl_koord.engine.state import Occupant, View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, RunningPod, RunningPods
from kubectl_koord.model.quotas import QuotaKind, QuotaLabels, quota_kind, quota_labels
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, Resources, memoised

P = TypeVar("P", RunningPod, PendingPod)


class Alike(Struct, Generic[P]):
    """Pods that count alike, and what they request together."""

    pods: list[P] = field(default_factory=list)
    requested: dict[str, int] = field(default_factory=dict)

    def count(self, start: int, requests: Resources) -> None:
        """Count those from a place on, who all request this."""
        number, requested = len(self.pods) - start, self.requested
        for resource, amount in requests:
            requested[resource] = requested.get(resource, 0) + amount * number


def by_kind(pods: Iterable[P]) -> Mapping[QuotaKind, Alike[P]]:
    """Return pods by what quotas go by; neighbours that share labels and requests, as those of one owner, at once."""
    found: defaultdict[QuotaKind, Alike[P]] = defaultdict(Alike)
    alike, start = Alike[P](), 0
    labels: object = None
    requests: Resources = ()
    namespace = ""
    for pod in pods:
        if pod.labels is not labels or pod.requirements.requests is not requests or pod.namespace is not namespace:
            alike.count(start, requests)
            labels, requests, namespace = pod.labels, pod.requirements.requests, pod.namespace
            alike = found[quota_kind(pod.labels, namespace)]
            start = len(alike.pods)
        alike.pods.append(pod)
    alike.count(start, requests)
    return found


@memoised
def all_running(snapshot: Snapshot) -> Mapping[QuotaKind, Alike[RunningPod]]:
    """Return all running pods of a snapshot, grouped by what decides on their quota."""
    running = snapshot.running
    return by_kind(running.listed if isinstance(running, RunningPods) else chain.from_iterable(running.values()))


@memoised
def _counting_of(snapshot: Snapshot, tree: Identity[QuotaTree]) -> Mapping[str, Sequence[Alike[RunningPod]]]:
    found: dict[str, list[Alike[RunningPod]]] = {}
    for kind, alike in all_running(snapshot).items():
        found.setdefault(tree.value.name_by(*kind), []).append(alike)
    return found


def running_in(names: Collection[str], view: View, tree: QuotaTree) -> Mapping[str, Sequence[RunningPod]]:
    """Return which pods run and count against one of some quotas, by the quota; those on unknown nodes, too."""
    return {name: pods for name in sorted(names) if (pods := _running_in(view, name, Identity(tree)))}


@memoised
def _running_in(view: View, name: str, tree: Identity[QuotaTree]) -> Sequence[RunningPod]:
    """Return the running pods of one quota; a what-if adds only the nodes whose pods differ to the cached rest."""
    below, occupants = view.layers()
    if below is None:
        elsewhere = _changed(view)
        before: list[Sequence[RunningPod]] = [alike.pods for alike in _counting_of(view.snapshot, tree).get(name, ())]
    else:
        elsewhere, before = occupants.keys(), [_running_in(below, name, tree)]
    left = [pod for pods in before for pod in pods if pod.node not in elsewhere]
    there = (pod for node in elsewhere for pod in view.occupants(node) if isinstance(pod, RunningPod))
    for kind, alike in by_kind(there).items():
        left += alike.pods if tree.value.name_by(*kind) == name else ()
    return left


def replaced(view: View) -> tuple[Sequence[Occupant], Sequence[Occupant]]:
    """Return who is gone from nodes, and who is there instead.

    Compared is the view that this one lies over, and for one that lies over none what runs in its snapshot.
    """
    below, occupants = view.layers()
    gone: list[Occupant] = []
    instead: list[Occupant] = []
    for node in occupants if below is not None else _changed(view):
        before: Sequence[Occupant] = below.occupants(node) if below is not None else view.snapshot.running.get(node, ())
        now = occupants.get(node, ())
        if now[: len(before)] == before:  # mostly some more are placed there
            instead += now[len(before) :]
        else:
            gone += _without(before, now)
            instead += _without(now, before)
    return gone, instead


def _without(occupants: Sequence[Occupant], others: Sequence[Occupant]) -> Sequence[Occupant]:
    known = set(map(id, others))
    return [occupant for occupant in occupants if id(occupant) not in known]


@memoised
def _changed(view: View) -> Collection[str]:
    """Return the nodes on which is not just who runs there in the snapshot, of a view that lies over none."""
    occupants, running = view.layers()[1], view.snapshot.running
    differing = {name for name, there in occupants.items() if there is not running.get(name, ())}
    return differing | (running.keys() - occupants.keys())


Pod: TypeAlias = PendingPod | RunningPod


class Sums(Struct, frozen=True):
    """Of one quota's own pods: what they request, what those with a node use, and what of that no preemption frees."""

    request: dict[str, int] = field(default_factory=dict)
    used: dict[str, int] = field(default_factory=dict)
    fixed: dict[str, int] = field(default_factory=dict)

    def take(self, other: "Sums", times: int = 1) -> None:
        """Add the other's to these, so many times."""
        add(self.request, other.request.items(), times)
        add(self.used, other.used.items(), times)
        add(self.fixed, other.fixed.items(), times)

    def plus(self, other: "Sums", times: int = 1) -> "Sums":
        """Return the sums of these and the other's, so many times; what that has nothing of is shared."""
        return Sums(
            _plus(self.request, other.request, times),
            _plus(self.used, other.used, times),
            _plus(self.fixed, other.fixed, times),
        )

    def minus(self, other: "Sums") -> "Sums":
        """Return the sums without the other's."""
        return self.plus(other, -1)


def _plus(amounts: dict[str, int], more: Amounts, times: int) -> dict[str, int]:
    if not more:
        return amounts
    total = dict(amounts)
    add(total, more.items(), times)
    return total


OwnSums: TypeAlias = Mapping[str, Sums]
"""The sums of quotas by name; those that are missing have no pods."""


def is_fixed(pod: Pod) -> bool:
    """Tell whether a pod is non-preemptible (`IsPodNonPreemptible`)."""
    return says_fixed(quota_labels(pod.labels))


def says_fixed(labels: QuotaLabels) -> bool:
    """Tell whether these labels of a pod forbid to preempt it."""
    return labels[1] == "false"


def requested(pod: Pod, name: str, tree: QuotaTree) -> dict[str, int]:
    """Return what a pod counts with in a quota: of each resource that the quota has a maximum of."""
    return counted(pod.requirements.requests, name, tree)


def counted(amounts: Iterable[tuple[str, int]], name: str, tree: QuotaTree) -> dict[str, int]:
    """Return what of amounts counts in a quota."""
    limited = dict(tree.quotas[name].max)
    return {resource: amount for resource, amount in amounts if resource in limited}


def together(amounts: Iterable[Resources]) -> Amounts:
    """Return the sum of amounts, of which many are equal."""
    total: dict[str, int] = {}
    for each, times in Counter(amounts).items():
        add(total, each, times)
    return total


def _sums(
    pods: Mapping[QuotaKind, Alike[RunningPod]] | Mapping[QuotaKind, Alike[PendingPod]],
    tree: QuotaTree,
    *,
    request: bool,
    use: bool,
) -> dict[str, Sums]:
    """Return the sums over pods that request of their quotas, or use them, or both."""
    found: dict[str, Sums] = {}
    for kind, alike in pods.items():
        name = tree.name_by(*kind)
        if name:
            own = counted(alike.requested.items(), name, tree)
            fixed = own if use and says_fixed(kind[0]) else {}
            sums = Sums(own if request else {}, own if use else {}, fixed)
            found[name] = found[name].plus(sums) if name in found else sums
    return found


def _counting(pods: Iterable[P], tree: QuotaTree) -> Mapping[QuotaKind, Alike[P]]:
    return by_kind(pod for pod in pods if not (pod.terminating and tree.settings.ignores_terminating))


def _there(occupants: Collection[Occupant], tree: QuotaTree) -> Iterator[tuple[str, Sums]]:
    """Yield the sums over pods on nodes: those that run request and use, those that are assumed there only use.

    What waits requests all along, whether it is assumed somewhere or not.
    """
    running = _counting((pod for pod in occupants if isinstance(pod, RunningPod)), tree)
    assumed = _counting((pod for pod in occupants if isinstance(pod, PendingPod)), tree)
    yield from _sums(running, tree, request=True, use=True).items()
    yield from _sums(assumed, tree, request=False, use=True).items()


def on_nodes(view: View, tree: QuotaTree) -> dict[str, Sums]:
    """Return the sums over everybody on a node."""
    below, _ = view.layers()
    found = on_nodes(below, tree) if below is not None else _running(view.snapshot, tree)
    for name, sums in differing(view, tree).items():
        found[name] = found[name].plus(sums) if name in found else sums
    return found


def _elsewhere(view: View, tree: QuotaTree) -> OwnSums:
    """Return the sums over those that run on nodes that the cluster does not have."""
    running = view.snapshot.running
    unknown = chain.from_iterable(running[name] for name in running.keys() - set(view.names()))
    return _sums(_counting(unknown, tree), tree, request=True, use=True)


def _running(snapshot: Snapshot, tree: QuotaTree) -> dict[str, Sums]:
    pods = all_running(snapshot)
    if tree.settings.ignores_terminating:
        pods = _counting(chain.from_iterable(alike.pods for alike in pods.values()), tree)
    return _sums(pods, tree, request=True, use=True)


def differing(view: View, tree: QuotaTree) -> OwnSums:
    """Return by how much the sums over everybody on a node differ from those in what the view lies over."""
    below, there = view.layers()
    if below is not None and len(there) == len(view.names()) and not any(there.values()):
        elsewhere = _elsewhere(view, tree)
        return {name: elsewhere.get(name, Sums()).minus(sums) for name, sums in on_nodes(below, tree).items()}
    found: dict[str, Sums] = {}
    gone, instead = replaced(view)
    for occupants, sign in (gone, -1), (instead, 1):
        for name, sums in _there(occupants, tree):
            found.setdefault(name, Sums()).take(sums, sign)
    return found


def waiting(pods: Iterable[PendingPod], tree: QuotaTree) -> OwnSums:
    """Return what pods that wait request, whatever keeps them waiting."""
    return _sums(_counting(pods, tree), tree, request=True, use=False)


@memoised
def all_waiting(snapshot: Snapshot) -> OwnSums:
    """Return what all waiting pods of a snapshot request, by quota."""
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
    """Return what all nodes have together, cordoned ones included (`OnNodeAdd`): 0 of what is reported as nothing."""
    below, _ = view.layers()
    if below is None:
        nodes = [view.node(name) for name in view.names()]
        return {**_reported(nodes), **together(node.allocatable for node in nodes)}
    total = dict(capacity(below))
    for name in view.changed_nodes():
        add(total, below.node(name).allocatable, -1)
        add(total, view.node(name).allocatable)
    return _reported(map(view.node, view.changed_nodes())) | total


def _reported(nodes: Iterable[Node]) -> dict[str, int]:
    """Return 0 of each resource of which a node reports that it has nothing."""
    kinds = {id(node.none_of): node.none_of for node in nodes}
    return dict.fromkeys(chain.from_iterable(kinds.values()), 0)
