"""Two readings of a cluster compared: where room came and went, and which nodes and pods made the difference."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine.gangs import PodSubject, Subject
from kubectl_koord.engine.placement import sums
from kubectl_koord.engine.slots import in_index_order, offer_slots
from kubectl_koord.engine.tree import Tree
from kubectl_koord.explain.topo import counted_as, topo
from kubectl_koord.language import say
from kubectl_koord.model import objects
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.reports.capacity import TopologyReport
from kubectl_koord.reports.common import DomainName, Verdict
from kubectl_koord.reports.operation import DiffReport, DomainDiff, NodeChange, NodeDiff, PodDiff
from kubectl_koord.simulation.simulation import cluster_of
from kubectl_koord.simulation.submitted import Shape, room
from kubectl_koord.wording.words import could_not_be_read, requests

_Domains: TypeAlias = Mapping[DomainName, int | None]


class OfGang(Struct, frozen=True):
    """Pods that slots are counted for, and whom they belong to."""

    subject: Subject
    pods: tuple[PendingPod, ...]


Asked: TypeAlias = OfGang | Shape


class _Side(Struct, frozen=True):
    """One of the two readings: free amounts and slots by domain and by node, as far as they are known."""

    snapshot: Snapshot
    topology: TopologyReport
    free: _Domains
    slots: _Domains
    nodes: Mapping[str, int]


def diff(before: Snapshot, after: Snapshot, asked: Asked | None = None) -> DiffReport:
    """Return what differs: domains, nodes and pods, the largest differences first.

    The verdict is unknown where anything could not be read that free room, or slots where some are asked for, rest on.
    """
    resource = topo(after, with_nodes=False).resource
    counted = counted_as(after, resource) or resource
    first, second = _side(before, counted, asked), _side(after, counted, asked)
    unread = tuple(dict.fromkeys((*_unread(before, asked), *_unread(after, asked))))
    verdict: Verdict = "unknown" if unread else "yes"
    return DiffReport(
        verdict=verdict,
        basis=coverage.basis(after),
        warnings=second.topology.warnings,
        before=coverage.basis(before),
        resource=resource,
        asked=_name(asked),
        pods=len(asked.pods) if isinstance(asked, OfGang) else 0,
        domains=tuple(sorted(_domains(first, second), key=_by_size)),
        nodes=tuple(sorted(_nodes(first, second), key=lambda one: (-abs(one.difference), one.node))),
        placed=tuple(sorted(_pods(before, after, resource), key=lambda one: (-one.amount, one.pod))),
        message=could_not_be_read(unread) if unread else "",
    )


def _name(asked: Asked | None) -> str:
    if isinstance(asked, OfGang):
        return asked.subject.key
    return say("pods of {requests}", requests=requests(asked.pod.requirements.requests)) if asked else ""


def _unread(snapshot: Snapshot, asked: Asked | None) -> Iterator[Gap]:
    yield from coverage.unread(snapshot, "tree")
    yield from coverage.unread(snapshot, "attempt")
    if asked:
        subject = asked.subject if isinstance(asked, OfGang) else PodSubject(asked.pod)
        yield from coverage.unread_for_room(subject, snapshot)


def _side(snapshot: Snapshot, counted: str, asked: Asked | None) -> _Side:
    report = topo(snapshot, resource=counted)
    slots = _slots(snapshot, asked) if asked else None
    return _Side(
        snapshot,
        report,
        free={DomainName(row.layer, row.name): row.free for row in report.domains},
        slots={} if slots is None else _by_domain(snapshot, slots),
        nodes={row.node: row.free or 0 for row in report.nodes} if slots is None else slots,
    )


def _slots(snapshot: Snapshot, asked: Asked) -> Mapping[str, int]:
    """Return how many of the pods each node takes, or of a shape's as many as fit, as `topo --shape` counts them."""
    if isinstance(asked, Shape):
        return room(cluster_of(snapshot), asked).counts
    simulation = cluster_of(snapshot).simulation(asked.subject)
    prepared = simulation.prepared(asked.pods[0])
    if prepared.refusal is not None:
        return dict.fromkeys(snapshot.nodes, 0)
    return offer_slots(simulation.view, tuple(snapshot.nodes), in_index_order(asked.pods), prepared).counts


def _by_domain(snapshot: Snapshot, slots: Mapping[str, int]) -> _Domains:
    tree = cluster_of(snapshot).tree
    if not isinstance(tree, Tree):
        return {}
    return {
        DomainName(domain.layer, domain.name): number
        for domain, number in zip(tree.domains, sums(tree, slots), strict=True)
    }


def _domains(before: _Side, after: _Side) -> Iterator[DomainDiff]:
    for name in dict.fromkeys((*before.free, *after.free)):
        found = DomainDiff(
            layer=name.layer,
            name=name.name,
            free_before=before.free.get(name),
            free_after=after.free.get(name),
            slots_before=before.slots.get(name),
            slots_after=after.slots.get(name),
        )
        if (found.free_before, found.slots_before) != (found.free_after, found.slots_after):
            yield found


def _by_size(one: DomainDiff) -> tuple[int, int]:
    """Return the key of the order: the largest difference first; domains that are alike stay in that of the tree."""
    slots = abs((one.slots_after or 0) - (one.slots_before or 0))
    return -slots, -abs((one.free_after or 0) - (one.free_before or 0))


def _nodes(before: _Side, after: _Side) -> Iterator[NodeDiff]:
    for name in sorted({*before.snapshot.nodes, *after.snapshot.nodes}):
        changes = tuple(_changes(before.snapshot.nodes.get(name), after.snapshot.nodes.get(name)))
        difference = after.nodes.get(name, 0) - before.nodes.get(name, 0)
        if changes or difference:
            yield NodeDiff(name, changes, difference)


def _changes(before: Node | None, after: Node | None) -> Iterator[NodeChange]:
    if before is None or after is None:
        yield "came" if before is None else "went"
        return
    if before.unschedulable != after.unschedulable:
        yield "cordoned" if after.unschedulable else "uncordoned"
    if before.ready != after.ready:
        yield "ready" if after.ready else "not-ready"
    if before.allocatable != after.allocatable:
        yield "allocatable"
    if before.labels != after.labels:
        yield "labels"
    if before.taints != after.taints:
        yield "taints"


def _pods(before: Snapshot, after: Snapshot, resource: str) -> Iterator[PodDiff]:
    if not (before.sees("Pod") and after.sees("Pod")):
        return
    then, now = _placed(before), _placed(after)
    for key in sorted({*then, *now}):
        old, new = then.get(key), now.get(key)
        pod = new or old
        if pod is None or (old and new and old.node == new.node):
            continue
        yield PodDiff(
            pod=key,
            change="came" if old is None else ("went" if new is None else "moved"),
            node_before=old.node if old else None,
            node_after=new.node if new else None,
            amount=_amount(pod, resource),
            gang=pod.gang,
            owner=pod.owner,
        )


def _placed(snapshot: Snapshot) -> Mapping[str, RunningPod]:
    every: Sequence[tuple[RunningPod, ...]] = list(snapshot.running.values())
    return {pod.key: pod for pods in every for pod in pods}


def _amount(pod: RunningPod, resource: str) -> int:
    requests = dict(pod.requirements.requests)
    family = objects.family(resource)
    cards = objects.of_pods(requests).get(family, 0) // objects.unit(resource)
    return cards if family else requests.get(resource, 0)
