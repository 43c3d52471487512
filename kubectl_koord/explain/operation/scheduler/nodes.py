"""What the scheduler remembers of nodes: pods, devices, CPUs and Reservations; beside what the objects say."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kubectl_koord.explain.capacity.devices import devices as counted_devices
from kubectl_koord.explain.operation.scheduler.comparison import only_here, only_there, report, unexplained
from kubectl_koord.explain.operation.scheduler.pods import amounts_field, differences, pods_field, without_reservations
from kubectl_koord.model.hardware.numa import members
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.summaries import CPUSummary, DeviceSummary, NodeSummary, ReservationSummary
from kubectl_koord.reports.capacity.devices import Card
from kubectl_koord.reports.operation.scheduler import Compared, Field, SchedulerReport

_Key: TypeAlias = tuple[str, str, int]


def node(snapshot: Snapshot, found: NodeSummary | None, asked: str, name: str) -> SchedulerReport:
    """Return the pods of a node, what they request, and what it can give; None for a node that it does not know."""
    return report(snapshot, "node", asked, "attempt", [_node(snapshot, found, name)])


def devices(
    snapshot: Snapshot, found: Iterable[DeviceSummary], asked: str, names: tuple[str, ...] = ()
) -> SchedulerReport:
    """Return every device of the nodes, or of those named."""
    theirs = {(one.node, one.type, one.minor): one for one in found}
    seen = counted_devices(snapshot, names)
    ours = {(one.node, card.type, card.minor): card for one in seen.nodes for card in one.cards}
    keys = sorted({*theirs, *ours})
    items = (_device(snapshot, key, theirs.get(key), ours.get(key)) for key in keys)
    return report(snapshot, "devices", asked, "devices", items)


def cpus(snapshot: Snapshot, found: CPUSummary, asked: str, name: str) -> SchedulerReport:
    """Return the CPUs of a node that pods have bound, and those that are left."""
    return report(snapshot, "numa", asked, "attempt", [_cpus(snapshot, found, name)])


def reservations(snapshot: Snapshot, found: Mapping[str, ReservationSummary], asked: str, name: str) -> SchedulerReport:
    """Return the Reservations on a node, and the pods that draw on them."""
    ours = {one.name: one for one in snapshot.reservations if one.node == name}
    items = (_reservation(snapshot, key, found.get(key)) for key in sorted({*found, *ours}))
    return report(snapshot, "reservations", asked, "attempt", items)


def _node(snapshot: Snapshot, found: NodeSummary | None, name: str) -> Compared:
    here = snapshot.nodes.get(name)
    if found is None:
        return only_here(name)
    running = snapshot.running.get(name, ())
    theirs, ours = without_reservations(found.pods, snapshot), frozenset(pod.key for pod in running)
    requested = Counter[str]()
    for pod in running:
        requested.update(dict(pod.requirements.requests))
    known = not any(room.node == name for room in snapshot.reserved) and here is not None
    room = [one for one in here.allocatable if one[0] != "pods"] if here is not None else []
    fields = (
        pods_field(theirs, ours),
        amounts_field("requested", found.requested, requested.items() if known else None),
        amounts_field("allocatable", found.allocatable, room if here is not None else None),
    )
    if here is None:
        return only_there(name, fields)
    explained = tuple(differences(theirs, ours, snapshot))
    accounted = ("pods", "requested") if explained else ()
    return Compared(name, fields, (*explained, *unexplained(fields, accounted)))


def _device(snapshot: Snapshot, key: _Key, found: DeviceSummary | None, card: Card | None) -> Compared:
    name = f"{key[0]}/{key[1]}-{key[2]}"
    if found is None:
        return only_here(name)
    theirs = without_reservations(found.pods, snapshot)
    if card is None:
        return only_there(name, _device_fields(found, theirs, None))
    fields = _device_fields(found, theirs, card)
    ours = frozenset(card.pods) if card.pods is not None else theirs
    explained = tuple(differences(theirs, ours, snapshot))
    return Compared(name, fields, (*explained, *unexplained(fields, ("pods", "free") if explained else ())))


def _device_fields(found: DeviceSummary, theirs: frozenset[str], card: Card | None) -> tuple[Field, ...]:
    free = card.free if card is not None else None
    pods = card.pods if card is not None else None
    return (
        amounts_field("total", found.total, card.total.items() if card is not None and card.healthy else None),
        amounts_field("free", found.free, None if free is None else free.items()),
        pods_field(theirs, theirs if pods is None else pods),
    )


def _cpus(snapshot: Snapshot, found: CPUSummary, name: str) -> Compared:
    here = snapshot.nodes.get(name)
    ours = {
        pod.key: frozenset(pod.allocations.cpus.cpus)
        for pod in snapshot.running.get(name, ())
        if pod.allocations.cpus is not None and pod.allocations.cpus.cpus
    }
    theirs = {pod: some for pod, some in found.pods.items() if some and pod in without_reservations([pod], snapshot)}
    numa = here.numa if here is not None else None
    taken = frozenset[int]().union(*ours.values())
    left = frozenset(members(numa.every_cpu & ~numa.reserved)) - taken if numa is not None else None
    fields = (
        pods_field(_bindings(theirs), _bindings(ours)),
        Field("availableCPUs", _ranges(found.available), None if left is None else _ranges(left)),
    )
    explained = tuple(differences(theirs.keys(), ours.keys(), snapshot, books=True))
    return Compared(name, fields, (*explained, *unexplained(fields, ("pods", "availableCPUs") if explained else ())))


def _reservation(snapshot: Snapshot, name: str, found: ReservationSummary | None) -> Compared:
    here = next((one for one in snapshot.reservations if one.name == name), None)
    if found is None:
        return only_here(name)
    drawing = (pod for pods in snapshot.running.values() for pod in pods)
    ours = frozenset(pod.key for pod in drawing if here is not None and pod.allocations.reservation == here.uid)
    fields = (
        amounts_field("allocatable", found.allocatable, here.size if here is not None else None),
        amounts_field("allocated", found.allocated, None),
        pods_field(found.pods, ours),
    )
    if here is None:
        return only_there(name, fields)
    explained = tuple(differences(found.pods, ours, snapshot))
    return Compared(name, fields, (*explained, *unexplained(fields, ("pods",) if explained else ())))


def _bindings(pods: Mapping[str, frozenset[int]]) -> Iterator[str]:
    return (f"{pod}: {_ranges(some)}" for pod, some in pods.items())


def _ranges(numbers: Iterable[int]) -> str:
    """Return a list of CPUs as Linux spells it: `0-3,8`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)
