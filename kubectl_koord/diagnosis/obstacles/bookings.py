"""What surprises about booked CPUs and devices: those that two pods have at once, and those that are forgotten."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from kubectl_koord.diagnosis.coverage import is_device
from kubectl_koord.diagnosis.obstacles.cards import unbooked
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.subjects import Subject
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import NOTHING, Allocations
from kubectl_koord.model.hardware.numa import NO_NUMA
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.reports.common import Notice
from kubectl_koord.simulation.simulation import Simulation, next_attempt
from kubectl_koord.wording import bookings as words

_WHOLE = {"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100, "koordinator.sh/rdma": 100}
_WHOLE |= {"koordinator.sh/fpga": 100}


def notices(simulation: Simulation, outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield what is booked twice of what the subject's pods ask for, and whether what may be forgotten decides."""
    subject, snapshot = simulation.subject, simulation.snapshot
    found = [*_cpus_held_twice(snapshot)] if _wants_cpus(subject, snapshot) else []
    found += devices_held_twice(snapshot) if _wants_devices(subject) else []
    if found:
        yield Notice("doubly-booked", words.doubly_booked(found))
    unknown = not_booked(snapshot) if _wants_devices(subject) else ()
    if unknown:
        yield Notice("device-not-booked", words.not_booked(unknown))
    if _decides_what_is_forgotten(simulation, outcomes):
        yield Notice("cpus-forgotten", words.CPUS_FORGOTTEN)


def of_nodes(snapshot: Snapshot, names: Collection[str]) -> Iterator[Notice]:
    """Yield what is wrong with the books of the devices of some nodes: pods that they lack, devices held twice."""
    unknown = [one for one in not_booked(snapshot) if one.node in names]
    if unknown:
        yield Notice("device-not-booked", words.not_booked(unknown))
    twice = [one for one in devices_held_twice(snapshot) if one.node in names]
    if twice:
        yield Notice("doubly-booked", words.doubly_booked(twice))


def lost(snapshot: Snapshot, names: Iterable[str]) -> Iterator[Notice]:
    """Yield which of these nodes offer fewer cards than they have."""
    found = [snapshot.nodes[name] for name in names if snapshot.nodes[name].lost]
    if found:
        yield Notice("cards-lost", words.cards_lost(found))


@memoised
def not_booked(snapshot: Snapshot) -> tuple[words.Unbooked, ...]:
    """Return the pods that have devices which the scheduler does not know to be taken, by node."""
    names = sorted(snapshot.running.keys() & snapshot.nodes.keys())
    return tuple(one for name in names for one in unbooked(snapshot, name))


def _wants_cpus(subject: Subject, snapshot: Snapshot) -> bool:
    return snapshot.numa_settings or any(pod.requirements.numa != NO_NUMA for pod in subject.pending)


def _wants_devices(subject: Subject) -> bool:
    return any(is_device(resource) for pod in subject.pending for resource, _ in pod.requirements.requests)


@memoised
def _nodes_that_share(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the nodes on which a CPU or device is booked more than once; where the same is booked they are alike."""
    known: dict[tuple[int, ...], bool] = {}
    found = []
    for node, pods in snapshot.running.items():
        booked = [held for pod in pods if (held := pod.allocations) is not NOTHING]
        key = tuple(map(id, booked))
        if key not in known:
            known[key] = _is_shared(booked)
        if known[key]:
            found.append(node)
    return tuple(sorted(found))


def _is_shared(booked: Iterable[Allocations]) -> bool:
    """Tell whether any CPU or device is booked more than once."""
    cpus = [number for held in booked if held.cpus is not None for number in held.cpus.cpus]
    devices = [(one.type, one.minor) for held in booked for one in held.devices]
    return len({*cpus, *devices}) < len(cpus) + len(devices)


def _cpus_held_twice(snapshot: Snapshot) -> Iterator[words.HeldTwice]:
    for node in _nodes_that_share(snapshot):
        bound = [(pod, cpus.cpus) for pod in snapshot.running[node] if (cpus := pod.allocations.cpus) is not None]
        holders: dict[int, list[str]] = {}
        for pod, numbers in bound:
            for cpu in numbers:
                holders.setdefault(cpu, []).append(pod.key)
        shared: dict[tuple[str, ...], list[int]] = {}
        for cpu, names in sorted(holders.items()):
            if len(names) > 1:
                shared.setdefault(tuple(sorted(names)), []).append(cpu)
        yield from (words.HeldTwice(node, "cpu", tuple(cpus), names) for names, cpus in shared.items())


def devices_held_twice(snapshot: Snapshot) -> Iterator[words.HeldTwice]:
    """Yield the devices of which several pods together have more than there is."""
    for node in _nodes_that_share(snapshot):
        holders: dict[tuple[str, int], list[RunningPod]] = {}
        for pod in snapshot.running[node]:
            for one in pod.allocations.devices:
                holders.setdefault((one.type, one.minor), []).append(pod)
        totals = _totals(snapshot.nodes.get(node))
        for (kind, minor), held in sorted(holders.items()):
            if len(held) > 1 and _is_overdrawn(held, kind, minor, totals.get((kind, minor), _WHOLE)):
                yield words.HeldTwice(node, kind, (minor,), tuple(sorted(pod.key for pod in held)))


def _totals(node: Node | None) -> Mapping[tuple[str, int], Mapping[str, int]]:
    """Return what healthy devices have; the others are not held against what is booked of them."""
    listed = node.devices.layout.devices if node is not None and node.devices is not None else ()
    return {(device.type, device.minor): dict(device.resources) for device in listed if device.healthy}


def _is_overdrawn(held: Sequence[RunningPod], kind: str, minor: int, total: Mapping[str, int]) -> bool:
    """Tell whether pods have more of a device than there is: several may share one."""
    taken: Counter[str] = Counter()
    for pod in held:
        for one in pod.allocations.devices:
            if (one.type, one.minor) == (kind, minor):
                taken.update(dict(one.resources))
    return any(amount > total.get(resource, amount) for resource, amount in taken.items())


def _decides_what_is_forgotten(simulation: Simulation, outcomes: Iterable[Outcome]) -> bool:
    """Tell whether the subject's place depends on CPUs that a scheduler forgets to be taken as it starts."""
    snapshot = simulation.snapshot
    if not rules(snapshot.config.version).forgets_cpus or not _wants_cpus(simulation.subject, snapshot):
        return False
    view = _without_cpus(simulation.view)
    if view is None:
        return False
    then = {outcome.placed_at_once for outcome in next_attempt(simulation, view)}
    return then != {outcome.placed_at_once for outcome in outcomes}


def _without_cpus(view: View) -> View | None:
    """Return the view in which no CPUs and zones are booked for running pods, None where none are."""
    changed: dict[str, list[RunningPod]] = {}
    for name in view.snapshot.running:
        held = [pod for pod in view.occupants(name) if isinstance(pod, RunningPod) and pod.allocations.cpus is not None]
        if held and name in view.snapshot.nodes:
            changed[name] = held
    if not changed:
        return None
    gone = view.without([pod for held in changed.values() for pod in held])
    return gone.with_pods({node: [_forgotten(pod) for pod in held] for node, held in changed.items()})


def _forgotten(pod: RunningPod) -> RunningPod:
    return structs.replace(pod, allocations=structs.replace(pod.allocations, cpus=None))
