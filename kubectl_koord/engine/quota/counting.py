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
from kubectl_koord.model.values.memo import memoised
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


def running_in(names: Collection[str], view: View, tree: QuotaTree) -> Mapping[str, Sequence[RunningPod]]:
    """Return which pods run and count against one of some quotas, by the quota; those on unknown nodes, too."""
    found: dict[str, list[RunningPod]] = {}
    changed = _changed(view)
    for kind, alike in all_running(view.snapshot).items():
        name = tree.name_by(*kind)
        if name in names:
            found.setdefault(name, []).extend(pod for pod in alike.pods if pod.node not in changed)
    there = (pod for node in changed for pod in view.occupants(node) if isinstance(pod, RunningPod))
    for kind, alike in by_kind(there).items():
        name = tree.name_by(*kind)
        if name in names:
            found.setdefault(name, []).extend(alike.pods)
    return found


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
        gone += _without(before, now)
        instead += _without(now, before)
    return gone, instead


def _without(occupants: Sequence[Occupant], others: Sequence[Occupant]) -> Sequence[Occupant]:
    known = set(map(id, others))
    return [occupant for occupant in occupants if id(occupant) not in known]


@memoised
def _changed(view: View) -> Collection[str]:
    """Return the nodes on which is not just who runs there in the snapshot."""
    below, occupants = view.layers()
    if below is not None:
        return {*_changed(below), *occupants}
    running = view.snapshot.running
    differing = {name for name, there in occupants.items() if there is not running.get(name, ())}
    return differing | (running.keys() - occupants.keys())
