"""Which pods count against which quota, found by what those that count alike have in common."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Generic, TypeVar

from msgspec import Struct, field

from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.quota.tree import QuotaTree
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, RunningPod, RunningPods
from kubectl_koord.model.quotas import QuotaKind, quota_kind
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, memoised
from kubectl_koord.model.values.quantity import Resources

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
    """Return the same of all that run in a snapshot."""
    running = snapshot.running
    return by_kind(running.listed if isinstance(running, RunningPods) else chain.from_iterable(running.values()))


@memoised
def _counting(snapshot: Snapshot, tree: Identity[QuotaTree]) -> Mapping[str, Sequence[Alike[RunningPod]]]:
    """Return by quota who counts against it of all that run in a snapshot."""
    found: dict[str, list[Alike[RunningPod]]] = {}
    for kind, alike in all_running(snapshot).items():
        found.setdefault(tree.value.name_by(*kind), []).append(alike)
    return found


def running_in(names: Collection[str], view: View, tree: QuotaTree) -> Mapping[str, Sequence[RunningPod]]:
    """Return which pods run and count against one of some quotas, by the quota; those on unknown nodes, too."""
    return {name: pods for name in sorted(names) if (pods := _running_in(view, name, Identity(tree)))}


@memoised
def _running_in(view: View, name: str, tree: Identity[QuotaTree]) -> Sequence[RunningPod]:
    """Return those of one quota; of a what-if only nodes on which others are are looked at."""
    below, occupants = view.layers()
    if below is None:
        elsewhere = _changed(view)
        before: list[Sequence[RunningPod]] = [alike.pods for alike in _counting(view.snapshot, tree).get(name, ())]
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
