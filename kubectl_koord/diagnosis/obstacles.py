"""What stands in the way besides room: cards, quotas, Reservations, admission, victims, members of the gang itself."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, islice
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.diagnosis import evidence
from kubectl_koord.diagnosis.coverage import is_device
from kubectl_koord.engine import table
from kubectl_koord.engine.admission import oddities
from kubectl_koord.engine.attempt import Attempt, needed
from kubectl_koord.engine.blockers import (
    Blocker,
    GroupsDiffer,
    Keys,
    NoLeader,
    NoReplica,
    NoSuchGangs,
    OmitsItself,
    OpenConfiguration,
    TooFewPods,
    UnknownLayer,
)
from kubectl_koord.engine.filters import Prepared, prepare, rejection
from kubectl_koord.engine.filters.device_allocation import (
    MEMORY,
    SHARED,
    Amounts,
    DeviceBooks,
    PodDeviceRequest,
    books_of,
    is_zero,
    minus,
    plus,
    request_of,
)
from kubectl_koord.engine.gangs import PodSubject, Subject, never_tried
from kubectl_koord.engine.preemption import possible_victims
from kubectl_koord.engine.queue import priority
from kubectl_koord.engine.quota.state import QuotaState, quota_state
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.reasons import (
    AntiAffinityViolated,
    BeyondReservation,
    ClaimInUse,
    ClaimsUnallocated,
    Cordoned,
    DevicesMissing,
    ExistingAntiAffinityViolated,
    FractionalBinding,
    Insufficient,
    InvalidDeviceAmount,
    InvalidDeviceSet,
    MetricExpired,
    NoReservationMatches,
    NoTopologyTree,
    NotSelected,
    Overloaded,
    PortTaken,
    QuotaExceeded,
    Reason,
    Refused,
    SpreadTooSkewed,
    TopologyManagerOff,
    TopologyNotAware,
    UnreadableAnnotation,
    UnreadableDeviceAnnotation,
    Untolerated,
    VolumesUnbound,
)
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.rounds import Outcome, preempting
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.slots import Offer, offer_slots
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.language import say
from kubectl_koord.messages.conditions import conditions, root_of
from kubectl_koord.messages.parser import QuotaMessage
from kubectl_koord.model import objects
from kubectl_koord.model.hardware import GPU, NO_NUMA, NOTHING, TYPES, Allocations, Device
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import OpenQuota, QuotaSetting, Unevaluated, UnreadQuotas
from kubectl_koord.model.values import memoised
from kubectl_koord.reports.capacity import Card, DeviceRoom, Holder, TypeTotal, UnlistedCard
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs import Cause
from kubectl_koord.simulation.simulation import Simulation, next_attempt
from kubectl_koord.simulation.what_if import room_alone
from kubectl_koord.wording.facts import resources_exceeded
from kubectl_koord.wording.refusals import blocker_sentence, ignored_markers, oddity_sentence, overloaded_sentence
from kubectl_koord.wording.suggestions import near
from kubectl_koord.wording.words import SEMICOLON, amount_of, count, device_name, few, listed, ranked, resource_name


def cause(blocker: Blocker) -> Cause:
    """Return the cause that a blocker is: its code, its sentence, the pods or gangs that it is about."""
    return Cause(blocker.code, blocker_sentence(blocker), _about(blocker))


def _about(blocker: Blocker) -> Keys:
    match blocker:
        case (
            NoLeader()
            | NoReplica()
            | NoTopologyTree()
            | TopologyManagerOff()
            | TopologyNotAware()
            | UnknownLayer()
            | InvalidDeviceAmount()
            | InvalidDeviceSet()
            | UnreadableDeviceAnnotation()
            | FractionalBinding()
            | UnreadableAnnotation()
            | OpenConfiguration()
        ):
            return ()
        case (
            OmitsItself(gang=one)
            | NoReservationMatches(pod=one)
            | QuotaExceeded(pod=one)
            | VolumesUnbound(pod=one)
            | ClaimsUnallocated(pod=one)
        ):
            return (one,)
        case NoSuchGangs(gangs):
            return gangs
        case GroupsDiffer(others=others):
            return others
        case TooFewPods(gang, pods):
            return pods or (gang,)
        case _:
            return blocker.pods


def warnings(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Notice]:
    """Yield a warning for each setting of the subject that does not do what was meant."""
    for oddity in oddities(subject, snapshot, tree):
        yield Notice(oddity.code, oddity_sentence(oddity))


def of_other_gangs(subjects: Iterable[Subject], snapshot: Snapshot) -> Iterator[Notice]:
    """Yield a warning for each marker of another gang scheduler that lone pods carry, with how many do."""
    profiles = snapshot.config.profiles
    lone = chain.from_iterable(subject.pending for subject in subjects if isinstance(subject, PodSubject))
    found = Counter(pod.foreign_gang for pod in lone if pod.foreign_gang and pod.scheduler in profiles)
    for marker, number in sorted(found.items()):
        yield Notice("foreign-gang-marker", ignored_markers(marker, number))


CPUS_FORGOTTEN = say(
    "it depends on CPUs of running pods: a scheduler of this version may forget them when it "
    "starts, and then takes them for free."
)
_MOST_NAMED = 3
_CORE = "koordinator.sh/gpu-core"


class Unbooked(Struct, frozen=True):
    """A pod that runs with devices of a type by its requests, and with none by its annotation; in hundredths."""

    pod: str
    node: str
    type: str
    amount: int


class HeldTwice(Struct, frozen=True):
    """CPUs of a node, or a device by its type and minor, that these pods have at once."""

    node: str
    kind: str
    numbers: tuple[int, ...]
    pods: tuple[str, ...]


def doubly_booked(found: Sequence[HeldTwice]) -> str:
    """Return which CPUs and devices several pods have at once, and since what moment they are free."""
    named = [
        say("{what} of {node} by {pods}", what=_what(one), node=one.node, pods=listed(one.pods))
        for one in found[:_MOST_NAMED]
    ]
    rest = len(found) - len(named)
    more = say(" (and {rest} more)", rest=rest) if rest else ""
    return say(
        "held by several pods at once, and free only when all of these are gone: {named}{more}.",
        named=SEMICOLON.join(named),
        more=more,
    )


def not_booked_text(found: Sequence[Unbooked]) -> str:
    """Return which pods have devices that the scheduler does not know to be taken, and what comes of that."""
    named = [
        say(
            "{pod} holds {amount} {device_name} on {node}",
            pod=one.pod,
            amount=amount_of(_CORE, one.amount),
            device_name=device_name(one.type),
            node=one.node,
        )
        for one in found[:_MOST_NAMED]
    ]
    rest = len(found) - len(named)
    more = say(" (and {pods})", pods=count(rest, "more pod")) if rest else ""
    return say(
        "{named}{more}, and no annotation says which: DeviceShare takes these cards for free, and may "
        "give them to another pod as well.",
        named=SEMICOLON.join(named),
        more=more,
    )


def cards_lost(nodes: Sequence[Node]) -> str:
    """Return which nodes offer fewer cards than their capacity says, of which resource how many."""
    named = []
    for node in nodes[:_MOST_NAMED]:
        has = dict(node.allocatable)
        lost = [
            say("{name} of {name2} {name3}", name=has.get(name, 0), name2=has.get(name, 0) + number, name3=name)
            for name, number in node.lost
        ]
        named.append(say("{name} offers {lost}", name=node.name, lost=listed(lost)))
    rest = len(nodes) - len(named)
    more = say(" (and {nodes})", nodes=count(rest, "more node")) if rest else ""
    return say(
        "{named}{more}: the device plugin calls the others unhealthy, or has not registered them.",
        named=SEMICOLON.join(named),
        more=more,
    )


def _what(one: HeldTwice) -> str:
    kind = say("device") if one.kind not in {"cpu", "gpu", "rdma", "fpga"} else one.kind.upper()
    return f"{kind} {','.join(_ranges(one.numbers))}"


def _ranges(numbers: Sequence[int]) -> Iterator[str]:
    """Yield `0-2` and `5` for 0, 1, 2 and 5, as Linux writes CPU lists."""
    for _, group in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        run = [number for _, number in group]
        yield f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0])


_WHOLE = 100
_Key: TypeAlias = tuple[str, int]


class Counted(Struct, frozen=True):
    """The devices of one type on a node: how many, how many of them are unhealthy, whole and free, free in part.

    `shares` are the free parts together, in hundredths; `usable` is whether the node takes pods; `unbooked` what pods
    have of them that the scheduler has nothing booked for, in hundredths.
    """

    cards: int
    unhealthy: int
    whole: int
    shared: int
    shares: int
    usable: bool
    unbooked: int = 0


def unbooked(snapshot: Snapshot, name: str) -> Iterator[Unbooked]:
    """Yield the pods of a node that have devices which the scheduler does not know to be taken.

    DeviceShare counts what the annotation device-allocated says, whatever a pod requests. Pods of a profile without
    the plugin are no such pods.
    """
    node = snapshot.nodes[name]
    if node.devices is None or snapshot.config.plugins.lacks("DeviceShare"):
        return
    for pod in snapshot.running.get(name, ()):
        request = request_of(pod.requirements)
        booked = {one.type for one in pod.allocations.devices}
        for kind, amounts in request.amounts if isinstance(request, PodDeviceRequest) else ():
            if kind not in booked and node.devices.layout.of_type(kind):
                yield Unbooked(pod.key, name, kind, max(amount for resource, amount in amounts if resource != MEMORY))


def are_books_seen(snapshot: Snapshot) -> bool:
    """Tell whether everything was read that takes devices: pods and Reservations."""
    return snapshot.sees("Pod") and snapshot.sees("Reservation")


def counted(view: View, name: str) -> Mapping[str, Counted]:
    """Return the devices of a node by type, in the order of types."""
    node = view.node(name)
    if node.devices is None:
        return {}
    state = view.state(name)
    books = state.booked(books_of)
    devices = node.devices.layout.devices
    usable = node.ready and not node.unschedulable
    held = Counter[str]()
    for one in unbooked(view.snapshot, name):
        held[one.type] += one.amount
    return {
        kind: _counted(books, node.devices.layout.of_type(kind), usable=usable, unbooked=held[kind])
        for kind in types_of(devices)
    }


def types_of(devices: Iterable[Device]) -> tuple[str, ...]:
    """Return the types of devices, those that the scheduler knows first."""
    found = dict.fromkeys(device.type for device in devices)
    return tuple(sorted(found, key=_rank))


def _rank(kind: str) -> tuple[int, str]:
    return (TYPES.index(kind) if kind in TYPES else len(TYPES), kind)


def _counted(books: DeviceBooks, devices: Collection[Device], *, usable: bool, unbooked: int) -> Counted:
    shares = [_least(dict(device.resources), books.free(device)) for device in devices]
    parts = [share for share in shares if 0 < share < _WHOLE]
    return Counted(
        cards=len(devices),
        unhealthy=sum(not device.healthy for device in devices),
        whole=shares.count(_WHOLE),
        shared=len(parts),
        shares=sum(parts),
        usable=usable,
        unbooked=unbooked,
    )


def totals(nodes: Iterable[Mapping[str, Counted]], sizes: Mapping[str, int], *, seen: bool) -> tuple[TypeTotal, ...]:
    """Return what nodes have together, by type.

    `sizes`: the types to count, each with the largest number of devices that a pod may want on a node. `seen`: whether
    everything was read that takes devices.
    """
    by_type: dict[str, list[Counted]] = {kind: [] for kind in sorted(sizes, key=_rank)}
    for node in nodes:
        for kind, found in node.items():
            by_type[kind].append(found)
    return tuple(_total(kind, found, sizes[kind], seen=seen) for kind, found in by_type.items() if found)


def _total(kind: str, nodes: list[Counted], largest: int, *, seen: bool) -> TypeTotal:
    usable = [node for node in nodes if node.usable]
    return TypeTotal(
        type=kind,
        cards=sum(node.cards for node in nodes),
        unhealthy=sum(node.unhealthy for node in nodes),
        free=sum(node.whole for node in usable) if seen else None,
        withheld=sum(node.whole for node in nodes if not node.usable) if seen else None,
        shared=sum(node.shared for node in usable) if seen else None,
        shares=sum(node.shares for node in usable) if seen else None,
        unbooked=sum(node.unbooked for node in nodes),
        room=tuple(DeviceRoom(size, sum(node.whole // size for node in usable)) for size in _sizes(largest))
        if seen
        else (),
    )


def _sizes(largest: int) -> Iterator[int]:
    """Yield 1, 2, 4 and so on below the largest, and that."""
    size = 1
    while size < largest:
        yield size
        size *= 2
    yield largest


def cards_of(snapshot: Snapshot, view: View, name: str) -> tuple[tuple[Card, ...], tuple[UnlistedCard, ...]]:
    """Return the devices of a node by type and minor, and those that its pods have and no Device object lists."""
    node, state = view.node(name), view.state(name)
    books, held = state.booked(books_of), _held(state)
    devices, ids = (node.devices.layout.devices, node.devices.ids) if node.devices is not None else ((), ())
    listed = {(device.type, device.minor): (device, number) for device, number in zip(devices, ids, strict=True)}
    cards = tuple(_card(snapshot, books, *listed[key], held.get(key, ())) for key in sorted(listed, key=_place))
    unlisted = ((key, _pods(held[key])) for key in sorted(held.keys() - listed.keys(), key=_place))
    return cards, tuple(UnlistedCard(*key, pods) for key, pods in unlisted if pods)


def _place(key: _Key) -> tuple[tuple[int, str], int]:
    return _rank(key[0]), key[1]


class _Held(Struct, frozen=True):
    """What a pod, or a Reservation for itself, has of one device."""

    name: str
    amounts: Amounts
    reservation: bool = False


def _held(state: NodeState) -> Mapping[_Key, Sequence[_Held]]:
    found: dict[_Key, list[_Held]] = {}
    for one in state.occupants:
        if isinstance(one, ReservedRoom):
            for allocation in one.allocations.devices:
                key = (allocation.type, allocation.minor)
                left = minus(dict(allocation.resources), _drawn(state, one.allocations.reservation, key))
                if not is_zero(left):
                    found.setdefault(key, []).append(_Held(one.name, left, reservation=True))
        else:
            for allocation in one.allocations.devices if one.allocations is not None else ():
                key = (allocation.type, allocation.minor)
                found.setdefault(key, []).append(_Held(one.key, dict(allocation.resources)))
    return found


def _drawn(state: NodeState, reservation: str, key: _Key) -> Amounts:
    """Return what the pods of a Reservation have of one device."""
    pods = (one.allocations for one in state.occupants if not isinstance(one, ReservedRoom))
    drawing = (booked for booked in pods if booked is not None and reservation and booked.reservation == reservation)
    of_device = (one.resources for booked in drawing for one in booked.devices if (one.type, one.minor) == key)
    return plus({}, chain.from_iterable(of_device))


def _pods(held: Iterable[_Held]) -> tuple[str, ...]:
    return tuple(sorted({one.name for one in held if not one.reservation}))


def _card(snapshot: Snapshot, books: DeviceBooks, device: Device, number: str, held: Sequence[_Held]) -> Card:
    total = {name: amount for name, amount in device.resources if amount}
    free = books.free(device)
    seen = are_books_seen(snapshot)
    return Card(
        type=device.type,
        minor=device.minor,
        id=number,
        healthy=device.healthy,
        total=total,
        free={name: free.get(name, 0) for name in total} if seen else None,
        pods=_pods(held) if snapshot.sees("Pod") else None,
        share=_least(total, free) if seen else None,
        holders=tuple(
            Holder("reservation" if one.reservation else "pod", one.name, _most(total, one.amounts)) for one in held
        )
        if snapshot.sees("Pod")
        else None,
        numa=device.place.numa if device.place is not None else None,
        pcie=device.place.pcie if device.place is not None else None,
    )


def _least(total: Amounts, part: Amounts) -> int:
    """Return the part of a device in hundredths, by the resource of which it is least."""
    return min((part.get(name, 0) * _WHOLE // amount for name, amount in total.items() if amount), default=0)


def _most(total: Amounts, part: Amounts) -> int:
    """Return the part of a device in hundredths, by the resource of which it is most."""
    return max((part.get(name, 0) * _WHOLE // amount for name, amount in total.items() if amount), default=0)


_BOOKINGS_WHOLE = {"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory-ratio": 100, "koordinator.sh/rdma": 100}
_BOOKINGS_WHOLE |= {"koordinator.sh/fpga": 100}


def booking_notices(simulation: Simulation, outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield what is booked twice of what the subject's pods ask for, and whether what may be forgotten decides."""
    subject, snapshot = simulation.subject, simulation.snapshot
    found = [*_cpus_held_twice(snapshot)] if _wants_cpus(subject, snapshot) else []
    found += devices_held_twice(snapshot) if _wants_devices(subject) else []
    if found:
        yield Notice("doubly-booked", doubly_booked(found))
    unknown = not_booked(snapshot) if _wants_devices(subject) else ()
    if unknown:
        yield Notice("device-not-booked", not_booked_text(unknown))
    if _decides_what_is_forgotten(simulation, outcomes):
        yield Notice("cpus-forgotten", CPUS_FORGOTTEN)


def of_nodes(snapshot: Snapshot, names: Collection[str]) -> Iterator[Notice]:
    """Yield what is wrong with the books of the devices of some nodes: pods that they lack, devices held twice."""
    unknown = [one for one in not_booked(snapshot) if one.node in names]
    if unknown:
        yield Notice("device-not-booked", not_booked_text(unknown))
    twice = [one for one in devices_held_twice(snapshot) if one.node in names]
    if twice:
        yield Notice("doubly-booked", doubly_booked(twice))


def lost(snapshot: Snapshot, names: Iterable[str]) -> Iterator[Notice]:
    """Yield which of these nodes offer fewer cards than they have."""
    found = [snapshot.nodes[name] for name in names if snapshot.nodes[name].lost]
    if found:
        yield Notice("cards-lost", cards_lost(found))


@memoised
def not_booked(snapshot: Snapshot) -> tuple[Unbooked, ...]:
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


def _cpus_held_twice(snapshot: Snapshot) -> Iterator[HeldTwice]:
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
        yield from (HeldTwice(node, "cpu", tuple(cpus), names) for names, cpus in shared.items())


def devices_held_twice(snapshot: Snapshot) -> Iterator[HeldTwice]:
    """Yield the devices of which several pods together have more than there is."""
    for node in _nodes_that_share(snapshot):
        holders: dict[tuple[str, int], list[RunningPod]] = {}
        for pod in snapshot.running[node]:
            for one in pod.allocations.devices:
                holders.setdefault((one.type, one.minor), []).append(pod)
        totals = _totals(snapshot.nodes.get(node))
        for (kind, minor), held in sorted(holders.items()):
            if len(held) > 1 and _is_overdrawn(held, kind, minor, totals.get((kind, minor), _BOOKINGS_WHOLE)):
                yield HeldTwice(node, kind, (minor,), tuple(sorted(pod.key for pod in held)))


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


def refuses(simulation: Simulation, unevaluated: Iterable[Unevaluated]) -> Cause | None:
    """Return the cause of pods that the scheduler refuses for their quota, None where it does not say so.

    It comes before slots in the scheduler's order, but its message may be old: what is computed now is surer.
    `unevaluated` is what bears on the subject: where no quota is among it, they are computed, and the message is
    nothing but evidence.
    """
    is_open = any(isinstance(item, OpenQuota | QuotaSetting | UnreadQuotas) for item in unevaluated)
    reported = conditions(simulation.subject.pending) if is_open else ()
    if not reported:
        return None
    root = root_of(reported)
    refusal = root.parsed.root.quota
    return None if refusal is None else Cause("quota", _quota_refused(root.pod, root.since, refusal), (root.pod,))


def _quota_refused(pod: str, since: str, quota: QuotaMessage) -> str:
    """Return that the scheduler refuses the pod for its quota, with used, limit and request of what is over."""
    parts = []
    for resource, used, limit, asked in resources_exceeded(quota):
        name = resource if objects.is_share(resource) else resource_name(resource)  # as the scheduler counts
        parts.append(
            say("{name}: {used} of {limit} used, {asked} requested", name=name, used=used, limit=limit, asked=asked)
        )
    numbers = say(" ({parts})", parts=listed(parts)) if parts else ""
    when = say(" since {since}", since=since) if since else ""
    return say(
        "the scheduler reports{when} that quota {names} has no room for {pod}{numbers}; quotas are not evaluated.",
        when=when,
        names=" ".join(quota.names),
        pod=pod,
        numbers=numbers,
    )


def exceeded(simulation: Simulation, view: View | None = None) -> QuotaExceeded | None:
    """Return how quotas stop the subject whatever nodes there are, as things are or in another variant.

    None where enough members pass.
    """
    snapshot, pods = simulation.snapshot, tried(simulation)
    view = view or simulation.view
    if not any(quotas_of(view).may_refuse(pod) for pod in pods):
        return None
    return refusal(simulation, quota_state(view, rules(snapshot.config.version), snapshot.pending), pods)


def tried(simulation: Simulation) -> tuple[PendingPod, ...]:
    """Return the members that the scheduler takes from its queue."""
    never = never_tried(simulation.subject, simulation.snapshot)
    return tuple(pod for pod in simulation.subject.pending if pod.key not in never)


def refusal(simulation: Simulation, state: QuotaState, pods: Sequence[PendingPod]) -> QuotaExceeded | None:
    """Return how quotas in this state stop the subject's members, None where enough of them pass.

    Members are taken in the order of their names, which decides who is refused, not whether anybody is.
    """
    stopped = state.first_refused(pods)
    return stopped[1] if stopped is not None and stopped[0] < _wanted_at_once(simulation, len(pods)) else None


def _wanted_at_once(simulation: Simulation, pods: int) -> int:
    subject = simulation.subject
    if isinstance(subject, PodSubject) or subject.group.is_satisfied():
        return pods
    return sum(needed(subject.group).values())


_OWNERS_FORGOTTEN = say(
    "it depends on running pods that own a reservation: a scheduler of this version may forget "
    "them when it starts, and then counts both."
)


def reservation_notices(simulation: Simulation, outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield what the scheduler does with reservations that the objects do not show, as far as it concerns a subject."""
    found = tuple(outcomes)
    known = rules(simulation.snapshot.config.version)
    lacks = simulation.snapshot.config.plugins.lacks("Reservation")
    if lacks and _may_draw(simulation):
        yield Notice("reservation-plugin-off", _plugin_off(lacks))
    members = [pod.reserves.name for pod in simulation.subject.pending if pod.reserves is not None]
    if members:
        yield Notice("reservation-members", _members(members))
    reserved = [name for gang in simulation.subject.gangs.values() if gang is not None for name in gang.reserved]
    if reserved:
        yield Notice("reservation-members", _bound_members(reserved))
    for one in preempting(simulation.view, priority(simulation.subject), known):
        yield Notice("reservation-preempts", _preempts(one.reservation, [pod.key for pod in one.victims]))
    if known.forgets_owners and _depends_on_forgotten_owners(simulation, found):
        yield Notice("owners-forgotten", _OWNERS_FORGOTTEN)
    if not known.filters_by_reservation:
        over = sorted({name for outcome in found for name in _overcommitted(simulation, outcome)})
        if over:
            yield Notice("reservation-overcommitted", _would_be_overcommitted(over))


def _would_be_overcommitted(nodes: Sequence[str]) -> str:
    return say(
        "{nodes} would be overcommitted: it needs more there than its reservation holds, and more "
        "than is left beside it.",
        nodes=listed(nodes),
    )


def _preempts(name: str, pods: Sequence[str]) -> str:
    return say(
        "pending reservation {name} goes first, finds no room, and would preempt {pods}.", name=name, pods=listed(pods)
    )


def _bound_members(names: Sequence[str]) -> str:
    """Return that reservations on nodes count as bound members of the gang."""
    are = (
        say("reservation {} counts as a bound member")
        if len(names) == 1
        else say("reservations {} count as bound members")
    )
    return say(
        "{format} of the gang as long as {part}.",
        format=are.format(listed(names)),
        part=say("it exists") if len(names) == 1 else say("they exist"),
    )


def _members(names: Sequence[str]) -> str:
    """Return that pending reservations count as members of the gang."""
    are = say("reservation {} counts as a member") if len(names) == 1 else say("reservations {} count as members")
    return say(
        "pending {format} of the gang, each with a pod of its own that the scheduler places.",
        format=are.format(listed(names)),
    )


def _plugin_off(points: Sequence[str]) -> str:
    """Return what becomes of reservations where the profile does not enable their plugin at some points."""
    effects = []
    if set(points) - {"reserve"}:
        effects.append(say("what pods may or must use of reservations is not checked"))
    if "reserve" in points:
        effects.append(say("pods do not use up the reservations that they match, which keep their room beside them"))
    return say(
        "the scheduler's profile does not enable plugin Reservation at {points}: {effects}.",
        points=listed(points),
        effects=say(" and ").join(effects),
    )


def in_vain(outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield which reservations preemption would choose as victims: nothing deletes them."""
    rounds = (one for outcome in outcomes for one in (*outcome.rounds, outcome.last) if one is not None)
    names = sorted({room.name for one in rounds for room in one.in_vain})
    if names:
        yield Notice("reservation-victims", _victims(names))


def _victims(names: Sequence[str]) -> str:
    """Return that preemption cannot delete reservations."""
    noun = "reservation" if len(names) == 1 else "reservations"
    return say(
        "preemption would choose {noun} {names}, which it cannot delete: that room stays reserved.",
        noun=noun,
        names=listed(names),
    )


def _may_draw(simulation: Simulation) -> bool:
    """Tell whether any pod of the subject may or must draw on a reservation."""
    return any(
        pod.requirements.reservation is not None or drawable(simulation.view, pod).uids
        for pod in simulation.subject.pending
    )


def _depends_on_forgotten_owners(simulation: Simulation, outcomes: Iterable[Outcome]) -> bool:
    """Tell whether the subject's place depends on running owners that a scheduler forgets as it starts."""
    view = _without_owners(simulation.view)
    if view is None:
        return False
    then = {outcome.placed_at_once for outcome in next_attempt(simulation, view)}
    return then != {outcome.placed_at_once for outcome in outcomes}


def _without_owners(view: View) -> View | None:
    """Return the view in which running pods own no reservation, None where none does."""
    changed: dict[str, list[RunningPod]] = {}
    for node in {one.node for one in view.snapshot.reservations}:
        held = [pod for pod in view.occupants(node) if isinstance(pod, RunningPod) and pod.allocations.reservation]
        if held:
            changed[node] = held
    if not changed:
        return None
    gone = view.without([pod for held in changed.values() for pod in held])
    return gone.with_pods(
        {node: [structs.replace(pod, allocations=NOTHING) for pod in held] for node, held in changed.items()}
    )


def _overcommitted(simulation: Simulation, outcome: Outcome) -> Iterator[str]:
    """Yield the nodes on which members take more than a Restricted reservation and the rest of the node give."""
    stricter = rules("1.8")
    by_key = {pod.key: pod for pod in simulation.subject.pending}
    for key, node in (outcome.first.placement or {}).items():
        state = simulation.view.state(node)
        if any(isinstance(room, ReservedRoom) for room in state.rooms.values()):
            pod = by_key[key]
            reason = rejection(pod, state, prepare(pod, simulation.view, stricter))
            if isinstance(reason, BeyondReservation):
                yield node


_EXCLUSIVE = AntiAffinityViolated | ClaimInUse | ExistingAntiAffinityViolated | PortTaken | SpreadTooSkewed
_LABELS_OF_GPUS = (
    "nvidia.com/gpu.present",
    "node.koordinator.sh/gpu-model",
    "cloud.google.com/gke-accelerator",
    "kubernetes.azure.com/accelerator",
    "k8s.amazonaws.com/accelerator",
    "accelerator",
)
_LABELS_OF_RDMA = ("feature.node.kubernetes.io/rdma.available", "feature.node.kubernetes.io/rdma.capable")
_MOST_KINDS = 4
_FALSE = frozenset({"", "0", "false", "none"})
_KOORD = "koordinator.sh/"
_PLUGINS = ("device-plugin", "-dp-")
"""What the names of pods of device plugins have in them."""


class Scattered(Struct, frozen=True):
    """What is free of a resource that every node has too little of: in all, and most on one node."""

    resource: str
    free: int
    most: int


class Unoffered(Struct, frozen=True):
    """A resource that pods request and no node offers, or of which no Device object lists a device.

    with_none: nodes that report it, and have nothing of it. listed: nodes whose Device object lists such devices.
    labelled: other nodes that should have it by a label, with the label. unlisted: nodes that offer it, though no
    Device object lists one. idle: of all these the nodes on which nothing runs that publishes it. similar: names
    that nodes offer, and that may be meant.
    """

    resource: str
    with_none: tuple[str, ...] = ()
    listed: tuple[str, ...] = ()
    labelled: tuple[tuple[str, str], ...] = ()
    unlisted: tuple[str, ...] = ()
    idle: tuple[str, ...] = ()
    similar: tuple[str, ...] = ()


class Meant(Struct, frozen=True):
    """A label that pods ask for and no node has, and the one that may be meant, with how many nodes have that."""

    key: str
    value: str
    to_key: str
    to_value: str
    nodes: int


def missing_labels(view: View, pod: PendingPod) -> tuple[tuple[str, str], ...]:
    """Return the labels without which no node is selected for a pod, and which no node has: no more than a few."""
    if not (pod.requirements.selector or pod.requirements.affinity):
        return ()
    every = _labels_of(view)
    of_terms = [
        [(one.key, one.values[0]) for one in term.labels if one.operator == "In" and len(one.values) == 1]
        for term in pod.requirements.affinity or ()
    ]
    missing = [[label for label in labels if label[1] not in every.get(label[0], ())] for labels in of_terms]
    wanted = (*pod.requirements.selector, *(chain.from_iterable(missing) if all(missing) else ()))
    found = dict.fromkeys(label for label in wanted if label[1] not in every.get(label[0], ()))
    return tuple(islice(found, _MOST_LABELS))


_MOST_LABELS = 3


def meant_labels(view: View, pod: PendingPod) -> tuple[Meant, ...]:
    """Return the labels that a pod selects nodes by and no node has, where nodes have one that is nearly it."""
    found = (_meant(_labels_of(view), key, value) for key, value in missing_labels(view, pod))
    return tuple(one for one in found if one is not None)


@table.of_nodes
def _labels_of(view: View) -> Mapping[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for labels, number in Counter(node.labels for node in table.nodes_of(view)).items():
        for key, value in labels:
            found.setdefault(key, Counter())[value] += number
    return found


def _meant(every: Mapping[str, Counter[str]], key: str, value: str) -> Meant | None:
    """Return the label that most nodes have of those that are nearly this: another value, key, or both."""
    keys = (key,) if key in every else tuple(one for one in every if _is_nearly(one, key) or _bare(one) == _bare(key))
    found = [
        Meant(key, value, other, one, nodes)
        for other in keys
        for one, nodes in every[other].items()
        if one == value or _is_nearly(one, value) or (one and value and _is_part(one, value))
    ]
    return max(found, key=lambda one: (one.to_value == value, one.nodes, one.to_key, one.to_value), default=None)


def _bare(key: str) -> str:
    return key.rpartition("/")[2]


_WORDS = re.compile(r"[a-z]+|[0-9]+")
_LEAST_LETTERS = 4


def _is_nearly(one: str, other: str) -> bool:
    """Tell whether two words differ in case, in what is between their parts, or by one typing error in a long part."""
    parts, others = (_WORDS.findall(word.casefold()) for word in (one, other))
    if "".join(parts) == "".join(others):
        return True
    differing = [pair for pair in zip(parts, others, strict=False) if pair[0] != pair[1]]
    return len(parts) == len(others) and all(
        part.isalpha() and min(len(part), len(typed)) >= _LEAST_LETTERS and bool(near(typed, [part]))
        for part, typed in differing
    )


def _is_part(one: str, other: str) -> bool:
    """Tell whether a word is several parts of another, such as A100 of NVIDIA-A100-SXM4-80GB."""
    parts, others = (re.split(r"[^a-z0-9]+", word.casefold()) for word in (one, other))
    short, long = sorted((parts, others), key=len)
    return len("".join(short)) >= _LEAST_LETTERS and any(
        long[at : at + len(short)] == short for at in range(len(long) - len(short) + 1)
    )


def exclusions(simulation: Simulation, first: Attempt) -> tuple[Refused, ...]:
    """Return why nodes that take a member refuse the next one because of it, and how many do; the commonest first."""
    if first.plan is None:
        found = _beside_members(simulation, first)
    else:
        slots = first.plan.nodes
        beside = slots.refusing(lambda reason: isinstance(reason, _EXCLUSIVE))
        asked = (slots[name].rejection for name in beside if name in slots.counts)
        found = [reason for reason in asked if reason is not None]
    counted = Counter(reason for reason in found if isinstance(reason, _EXCLUSIVE))
    return tuple(Refused(reason, number) for reason, number in counted.most_common())


def _beside_members(simulation: Simulation, first: Attempt) -> list[Reason]:
    """Return why nodes refuse a member that is left once others have their places, of those that took it before."""
    pod, view = next(iter(first.left), first.trigger), first.beside_waiting(simulation.view)
    before = evidence.asked(simulation, pod).counts
    after = offer_slots(view, view.names(), (pod,), simulation.prepared(pod, view))
    return [reason for name in before if (reason := after[name].rejection) is not None and not after[name].slots]


def scattered(prepared: Prepared, answers: Offer) -> Scattered | None:
    """Return what is free on nodes that refuse a pod for too little of a resource, where together they have enough.

    It is the resource that counts most of those that any of them lacks.
    """
    for resource, need in ranked(prepared.trigger.requirements.requests):
        free = answers.left_where_short(resource, prepared)
        if free:
            return Scattered(resource, sum(free), max(free)) if sum(free) >= need else None
    return None


def unoffered(simulation: Simulation, first: Attempt) -> Unoffered | None:
    """Return what a pod of the subject requests and no node offers; None where for each of it there is a node."""
    offered = _offered(simulation.view)
    kinds = {pod.requirements: pod for pod in (*reversed(simulation.subject.pending), first.trigger)}
    lacking = (pod for pod in kinds.values() if any(name not in offered for name, _ in pod.requirements.requests))
    every = dict.fromkeys((*islice(lacking, _MOST_KINDS), first.trigger))
    return next(filter(None, (_of_pod(simulation, pod, first) for pod in every)), None)


def _of_pod(simulation: Simulation, pod: PendingPod, first: Attempt) -> Unoffered | None:
    view, offered = simulation.view, _offered(simulation.view)
    asked = [resource for resource, _ in ranked(pod.requirements.requests)]
    for resource in asked:
        if resource not in offered and _is_missed(simulation, pod, resource):
            return _unoffered(view, resource)
    reasons = [one.reason for one in evidence.asked(simulation, pod, first).reasons]
    missing = {reason.type for reason in reasons if isinstance(reason, DevicesMissing)}
    missing = {kind for kind in missing if not any(_lists(view.node(name), kind) for name in view.names())}
    return _unlisted(view, asked, missing) if missing and all(map(_is_no_room, reasons)) else None


def _is_missed(simulation: Simulation, pod: PendingPod, resource: str) -> bool:
    """Tell whether every node, with nothing on it, refuses a pod for want of a resource: some are ignored."""
    reasons = [one.reason for one in refused_when_empty(simulation, pod)]
    short = [{name for name, _, _ in reason.short} for reason in reasons if isinstance(reason, Insufficient)]
    return bool(short) and all(resource in names for names in short)


def refused_when_empty(simulation: Simulation, pod: PendingPod) -> tuple[Refused, ...]:
    """Return why all nodes refuse a pod with nothing on them; nothing where one of them takes it."""
    alone, empty = room_alone(pod), evidence.roomy_view(simulation.view)
    offer = offer_slots(empty, empty.names(), (alone,), simulation.prepared(alone, empty))
    return () if offer.counts else tuple(offer.reasons)


def _is_no_room(reason: Reason) -> bool:
    return isinstance(reason, DevicesMissing | Insufficient | Cordoned | Untolerated | NotSelected)


def _lists(node: Node, kind: str) -> bool:
    """Tell whether the Device object of a node lists devices of a type."""
    return node.devices is not None and bool(node.devices.layout.of_type(kind))


@memoised
def _offered(view: View) -> frozenset[str]:
    sizes = {view.node(name).allocatable for name in view.names()}
    return frozenset(resource for size in sizes for resource, _ in size)


def _unoffered(view: View, resource: str) -> Unoffered:
    nodes = [view.node(name) for name in view.names()]
    kind = _type_of(resource)
    with_none = [node.name for node in nodes if resource in node.none_of]
    listed = [node.name for node in nodes if kind and _lists(node, kind)]
    labels = ((node.name, _label(node, resource)) for node in nodes)
    labelled = [(name, label) for name, label in labels if label and name not in {*with_none, *listed}]
    should = (*with_none, *listed, *(name for name, _ in labelled))
    offered = sorted(_offered(view))
    named = [one for one in offered if "/" in one]
    cards = [one for one in named if _is_like(one, resource)]
    return Unoffered(
        resource=resource,
        with_none=tuple(with_none),
        listed=tuple(listed),
        labelled=tuple(labelled),
        idle=_idle(view, should, ("koordlet",) if resource.startswith(_KOORD) else _PLUGINS),
        similar=() if resource == SHARED else tuple(dict.fromkeys((*near(resource, named), *sorted(cards)))),
    )


def _unlisted(view: View, requested: Sequence[str], missing: Collection[str]) -> Unoffered:
    resource = next((one for one in requested if _type_of(one) in missing), requested[0])
    names = tuple(name for name in view.names() if dict(view.node(name).allocatable).get(resource, 0))
    return Unoffered(resource, unlisted=names, idle=_idle(view, names, ("koordlet",)))


def _type_of(resource: str) -> str:
    """Return the type of device that a resource is of; empty for any other."""
    if objects.family(resource) == objects.GPU or resource.startswith(f"{_KOORD}gpu"):
        return GPU
    return resource.removeprefix(_KOORD) if resource in {f"{_KOORD}rdma", f"{_KOORD}fpga"} else ""


def _is_like(offered: str, resource: str) -> bool:
    """Tell whether two resources are cards by another name, or of the same maker."""
    is_same = _type_of(offered) == _type_of(resource) != ""
    is_kin = offered.partition("/")[0] == resource.partition("/")[0] and bool(objects.family(offered))
    return "/" in resource and (is_same or is_kin)


def _label(node: Node, resource: str) -> str:
    labels = {key: value for key, value in node.labels if value.lower() not in _FALSE}
    usual = _LABELS_OF_GPUS if _type_of(resource) == GPU else _LABELS_OF_RDMA if "rdma" in resource else ()
    maker = resource.partition("/")[0]
    of_maker = [key for key in usual if not key.endswith("/gpu.present") or maker in {"nvidia.com", "koordinator.sh"}]
    own = [key for key in labels if key.startswith(f"{resource}.")]
    found = next((key for key in (*of_maker, *own) if key in labels), "")
    return f"{found}={labels[found]}" if found else ""


def _idle(view: View, names: Iterable[str], publishers: Sequence[str]) -> tuple[str, ...]:
    """Return the nodes on which no pod is ready that has one of these in its name."""
    running = view.snapshot.running
    return tuple(
        name
        for name in names
        if not any(part in pod.name for pod in running.get(name, ()) if not pod.marks.unready for part in publishers)
    )


def victim_notices(simulation: Simulation, outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield what users do not expect of the preemption in these outcomes."""
    found = tuple(outcomes)
    overloaded = sorted({name for outcome in found for name in _overloaded(simulation, outcome.first)})
    if overloaded:
        yield Notice("overloaded-nodes", overloaded_sentence(overloaded))
    killed = {victim.key for outcome in found for victim in outcome.killed if victim.requirements.of_daemon_set}
    if killed:
        yield Notice("daemon-set-victims", _daemons_come_back(sorted(killed)))
    yield from in_vain(found)


def _daemons_come_back(pods: Sequence[str]) -> str:
    """Return that pods of DaemonSets are victims, and what becomes of their room."""
    are, come = (
        (say("belongs to a DaemonSet"), say("it comes"))
        if len(pods) == 1
        else (say("belong to DaemonSets"), say("they come"))
    )
    return say(
        "{pods} {are}: {come} back on the same node at once, and may take the freed room again.",
        pods=few(pods),
        are=are,
        come=come,
    )


def awaited(simulation: Simulation) -> tuple[RunningPod, ...]:
    """Return the victims of earlier attempts that still terminate: those on nodes to which its pods are nominated.

    While they do, nominations come and go many times a second: a victim whose condition names the subject is one, too.
    """
    subject = simulation.subject
    nominated = {pod.nominated for pod in subject.pending}
    own = {*subject.gangs, *(pod.key for pod in subject.pending)}
    return tuple(
        pod
        for pod in evidence.terminating(simulation.view)
        if pod.preempted and (pod.node in nominated or not own.isdisjoint(pod.preemptor.split(",")))
    )


def may_surprise(simulation: Simulation) -> bool:
    """Tell whether it matters whom preemption ends: pods of DaemonSets or reservations are below the subject."""
    snapshot, own = simulation.snapshot, priority(simulation.subject)
    return any(room.priority < own for room in snapshot.reserved) or any(
        pod.requirements.of_daemon_set and pod.priority < own for pods in snapshot.running.values() for pod in pods
    )


def _overloaded(simulation: Simulation, first: Attempt) -> Iterator[str]:
    """Yield the nodes that preemption looks at in vain: they refuse for load, and hold pods that it may end.

    Those are left out that take a pod as things are: what they refuse for are members that wait there already.
    """
    refusing = tuple(first.refusing(_is_for_load)) if first.placement is None else ()
    taking = evidence.asked(simulation, first.trigger).counts if refusing else ()
    for name in refusing:
        if name not in taking and possible_victims(simulation.view, name, first.trigger):
            yield name


def _is_for_load(reason: Reason) -> bool:
    return isinstance(reason, Overloaded | MetricExpired)
