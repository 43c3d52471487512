"""DeviceShare: the single GPUs, RDMA cards and FPGAs of nodes, where Device objects tell of them.

Mirrors pkg/scheduler/plugins/deviceshare. For NodeNUMAResource there are `request_of` (what a pod asks for), `place_of`
(the devices of a node as its books say), `topology_hints` (which sets of NUMA nodes have them) and `allocate` (which
ones a pod gets, of given NUMA nodes alone). Whatever NUMA nodes it decides on, it books as `Allocations.numa_nodes`.
"""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain, combinations
from typing import ClassVar, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.filters.device_allocation import (
    MODEL,
    VENDOR,
    AllocationScope,
    DeviceBooks,
    Devices,
    DeviceWays,
    PodDeviceRequest,
    allocate,
    books_of,
    by_books,
    by_reservations,
    labels_of_table,
    request_of,
    wanted_of,
    ways_of,
)
from kubectl_koord.engine.reasons import (
    DevicesOutsideZones,
    InvalidDevices,
    IsolationMissing,
    Reason,
    SharingUnsupported,
)
from kubectl_koord.engine.reservations import NONE_MATCHED, Matched, matched, reserved_nodes
from kubectl_koord.engine.state import NodeState, Occupant, View, with_bookings
from kubectl_koord.engine.table import (
    NodeSet,
    StateSees,
    members,
    names_of,
    occupants_of,
    position_of,
    seen_of_nodes,
    singles,
    state_classes,
)
from kubectl_koord.model import keys
from kubectl_koord.model.hardware import (
    GPU,
    NOTHING,
    Allocations,
    DeviceAllocation,
    DeviceLayout,
    policy_of,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, memoised

ISOLATION = keys.GPU_ISOLATION
_NO_DEVICES = DeviceLayout()
_Devices: TypeAlias = tuple[DeviceAllocation, ...]


def device_classes(view: View) -> Mapping[Hashable, NodeSet]:
    """Return the nodes by what DeviceShare sees of them: their labels, their devices, and what is booked of these.

    Who has had a virtual function counts on a trial, too: of nodes that are asked for one each is by itself.
    """
    return state_classes(view, seen_devices(Identity(view.snapshot)))


def seen_devices(snapshot: Identity[Snapshot]) -> StateSees:
    """Return what DeviceShare sees of nodes, as keys for as long as their pods are held."""
    return _Seen(snapshot)


class _Seen(Struct, frozen=True):
    """What DeviceShare sees of a node, as a key for as long as its pods are held."""

    snapshot: Identity[Snapshot]

    def __call__(self, state: NodeState) -> tuple[object, ...]:
        alone = state.rooms or state.node.name in _with_others(self.snapshot.value)
        return state.node.name if alone else "", _settings_of(state.node), _booked_ids(state.occupants)

    def everywhere(self, view: View) -> Iterable[tuple[object, ...]]:
        """Return what is seen of each node, in name order."""
        apart = _with_others(self.snapshot.value) | set(members(view, reserved_nodes(view)))
        names = [name if name in apart else "" for name in names_of(view)]
        return zip(names, seen_of_nodes(view, _settings_of), booked_devices(view), strict=True)


def _settings_of(node: Node) -> tuple[object, ...]:
    """Return what of a node alone decides: its labels, its policy, how its devices are laid out."""
    labels, layout = dict(node.labels), _layout_of(node)
    policy = node.numa.policy if node.numa is not None else ""
    return policy, labels.get(ISOLATION), labels.get(VENDOR), labels.get(MODEL), *_built(labels, layout)


def _layout_of(node: Node) -> DeviceLayout | None:
    return node.devices.layout if node.devices is not None else None


@memoised
def _with_others(snapshot: Snapshot) -> frozenset[str]:
    """Return the nodes on which devices were booked, as it was read, of types that the node has none of."""
    lacking: dict[tuple[int, ...], bool] = {}
    found: set[str] = set()
    for name, booked in chain(_booked_by_running(snapshot).items(), _booked_by_reservations(snapshot).items()):
        node = snapshot.nodes.get(name)
        if node is None:
            continue
        layout = node.devices.layout if node.devices is not None else _NO_DEVICES
        key = (id(layout), *map(id, booked))
        if key not in lacking:
            lacking[key] = not all(layout.of_type(one.type) for held in booked for one in held)
        if lacking[key]:
            found.add(name)
    return frozenset(found)


def devices_had(snapshot: Snapshot, node: str) -> tuple[_Devices, ...]:
    """Return what of devices anybody had on a node when it was read."""
    return (*_booked_by_running(snapshot).get(node, ()), *_booked_by_reservations(snapshot).get(node, ()))


@memoised
def _booked_by_running(snapshot: Snapshot) -> Mapping[str, Sequence[_Devices]]:
    """Return what of devices was booked for running pods on each node with any, as it was read."""
    return {name: booked for name, pods in snapshot.running.items() if (booked := _booked(pods))}


@memoised
def _booked_by_reservations(snapshot: Snapshot) -> Mapping[str, Sequence[_Devices]]:
    found: dict[str, list[_Devices]] = {}
    for room in snapshot.reserved:
        if room.allocations.devices:
            found.setdefault(room.node, []).append(room.allocations.devices)
    return found


@memoised
def booked_devices(view: View) -> Sequence[tuple[int, ...]]:
    """Return which devices are booked on each node, in name order."""
    trial = view.trial()
    if trial is not None:
        return _left_on(view, *trial)
    running, known = view.snapshot.running, _booked_by_running(view.snapshot)
    same: dict[tuple[int, ...], tuple[int, ...]] = {}
    found = []
    for name, there in zip(names_of(view), occupants_of(view), strict=True):
        ids = _ids_of(known.get(name, ()) if there is running.get(name) else _booked(there)) if there else ()
        found.append(same.setdefault(ids, ids))
    return found


def _left_on(view: View, before: View, removed: Mapping[str, Collection[Occupant]]) -> Sequence[tuple[int, ...]]:
    found = list(booked_devices(before))
    known = position_of(view)
    for name, pods in removed.items():
        gone = _booked(pods) if pods and found[known[name]] else ()
        if gone:
            left = list(found[known[name]])
            for one in gone:
                left.remove(id(one))
            found[known[name]] = tuple(left)
    return found


def _booked_ids(occupants: Iterable[Occupant]) -> tuple[int, ...]:
    """Return which devices are booked, as the identities of what pods share of it, in their order."""
    return _ids_of(_booked(occupants))


def _ids_of(booked: Collection[_Devices]) -> tuple[int, ...]:
    return tuple(sorted(map(id, booked))) if booked else ()


def _booked(occupants: Iterable[Occupant]) -> list[_Devices]:
    """Return what is booked of devices, which pods share that have other CPUs besides."""
    return [held.devices for one in with_bookings(occupants) if (held := one.allocations) is not None and held.devices]


def alike(state: NodeState) -> tuple[object, object]:
    """Return a key that is equal for nodes which are built alike and have the same booked, and what it is made of.

    The latter must be kept with the key: it holds identities, which another object may have once these are gone.
    """
    return state.booked(_alike)


def _alike(state: NodeState) -> tuple[object, object]:
    layout = _layout_of(state.node)
    booked = _booked(state.occupants)
    return (*_built(dict(state.node.labels), layout), _ids_of(booked)), [layout, *booked]


def _built(labels: Mapping[str, str], layout: DeviceLayout | None) -> tuple[object, ...]:
    """Return a key that is equal for nodes whose devices are laid out alike, for as long as the layout is held."""
    has_table = layout is not None and layout.partitions is not None
    return id(layout), () if has_table else labels_of_table(labels)


_BEST = 500


class ZoneHint(Struct, frozen=True):
    """A set of NUMA nodes that has all devices which a pod asks for, and how much it is wanted."""

    zones: frozenset[int]
    preferred: bool
    score: int


def topology_hints(request: PodDeviceRequest, place: AllocationScope) -> Mapping[str, tuple[ZoneHint, ...]] | Reason:
    """Return the hints by type of device; nothing where no device tells a NUMA node; or why there are none.

    Mirrors `generateTopologyHints`; sets come in the order of their sizes. Where no Reservation has the devices in one
    of them, upstream gives back what they hold once more in all that follow, so that devices of their owners look free.
    """
    zones = _zones(place.books.layout)
    wanted = wanted_of(request, place)
    if not zones:
        return {}
    if not isinstance(wanted, dict):
        return wanted
    feasible: dict[frozenset[int], Devices] = {}
    every: Devices | Reason = ()
    for mask in _masks(zones):
        short = _too_few(place.books.layout, {kind: one.number for kind, one in wanted.items()}, mask)
        within = structs.replace(place, zones=mask)
        drawn = short if short is not None else by_reservations(request, within)
        every = by_books(request, within) if drawn is None else drawn
        if drawn is None and place.held:
            place = place.giving_back_again()
        if isinstance(every, tuple):
            feasible[mask] = every
    if not isinstance(every, tuple):
        return every
    least = min(len(mask) for mask in feasible)
    hints = tuple(
        ZoneHint(mask, len(mask) == least, _BEST if _gpus(found) == _gpus(every) else 0)
        for mask, found in feasible.items()
    )
    return dict.fromkeys(wanted, hints)


def _masks(zones: Sequence[int]) -> list[frozenset[int]]:
    """Return all sets of zones, the small ones first, that of all last (`IterateBitMasks`)."""
    sizes = range(1, len(zones) + 1)
    return [frozenset(mask) for size in sizes for mask in combinations(zones, size)]


@memoised
def _by_zone(layout: DeviceLayout) -> Mapping[int, Mapping[str, int]]:
    """Return how many devices of each type are on each NUMA node, whatever their health."""
    found: dict[int, dict[str, int]] = {}
    for device in layout.devices:
        if device.place is not None and device.place.numa != -1:
            here = found.setdefault(device.place.numa, {})
            here[device.type] = here.get(device.type, 0) + 1
    return found


def _zones(layout: DeviceLayout) -> tuple[int, ...]:
    return tuple(sorted(_by_zone(layout)))


def _too_few(layout: DeviceLayout, wanted: Mapping[str, int], mask: frozenset[int]) -> DevicesOutsideZones | None:
    """Return the type of which the zones have fewer devices than are needed; one that they have none of may be outside.

    Mirrors the comparison with `calcTotalDevicesByNUMA`.
    """
    for kind, number in wanted.items():
        there = sum(_by_zone(layout)[zone].get(kind, 0) for zone in mask)
        if 0 < there < number:
            return DevicesOutsideZones(kind, number, there)
    return None


def _gpus(devices: Devices) -> frozenset[int]:
    return frozenset(one.minor for one in devices if one.type == GPU)


__all__ = [
    "AllocationScope",
    "Devices",
    "PodDeviceRequest",
    "ZoneHint",
    "alike",
    "allocate",
    "deciding_layout",
    "device_classes",
    "place_of",
    "request_of",
    "seen_devices",
    "topology_hints",
]


class DeviceShare(Filter, Struct, frozen=True):
    """The filter: what the trigger asks for. `unshareable` are vendors and models of GPUs that cannot be shared.

    `defers` tells whether there may be nodes of which not all devices are looked for before Reserve: types that are
    left to it, or where DeviceShare has no say in NUMA zones and these have been chosen.
    `filters_best_effort` tells whether the NUMA policy BestEffort is looked at before a node is chosen. `mine` are the
    reservations that match the trigger.
    """

    depends_on: ClassVar[DependsOn] = "books"
    request: PodDeviceRequest
    snapshot: Identity[Snapshot]
    unshareable: frozenset[tuple[str, str]] = frozenset()
    filters_best_effort: bool = False
    mine: Matched = NONE_MATCHED
    defers: bool = False

    def reject(self, pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return why the node's devices do not do."""
        unsuited = self._unsuited(pod, state.node)
        if unsuited is not None:
            return unsuited
        policy = policy_of(state.node.numa, trigger.numa)
        if policy and (policy != "BestEffort" or self.filters_best_effort):
            return None  # NodeNUMAResource has chosen zones, by the devices, too, if these have a say
        layout = deciding_layout(self.request, state)
        if layout is None:
            return self._refusal(state)
        answers = _answers(self.snapshot.value, self.request)
        key, kept = alike(state)
        if key not in answers:
            answers[key] = kept, self._refusal(state)
        return answers[key][1]

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by their devices and what is booked of these."""
        if self.request.wants_functions:
            return singles(among)
        return [part for one in device_classes(view).values() if (part := one & among)]

    def _refusal(self, state: NodeState) -> Reason | None:
        place = place_of(self.request, state, self.snapshot.value, mine=self.mine)
        found = allocate(self.request, place) if place is not None else ()
        return None if isinstance(found, tuple) else found

    def _unsuited(self, pod: PendingPod, node: Node) -> Reason | None:
        if self.request.gpu is None or not self.request.gpu.shared:
            return None
        labels = dict(node.labels)
        options = pod.requirements.devices
        if options is not None and options.isolation and options.isolation != labels.get(ISOLATION, ""):
            return IsolationMissing(options.isolation)
        kind = (labels.get(VENDOR, ""), labels.get(MODEL, ""))
        return SharingUnsupported(*kind) if kind in self.unshareable else None

    def may_fail_to_reserve(self) -> bool:
        """Tell whether a node that has devices for the filter may have none at Reserve.

        Devices of several types that must be on the same PCIe switches may be there by the first cards that fit, and
        not by those that score best, which count at Reserve alone; and types may be left to Reserve (`defers`). Without
        either, Reserve has at least what the filter had: with one type, scores change which devices are taken, not how
        many fit; the reservation that is taken holds the devices, or lacks them and gives way to all that match
        together, which have more than each; and NUMA nodes are fixed only where they have the devices.
        """
        joint = self.request.joint
        return self.defers or (joint is not None and joint.scope == "SamePCIe" and len(joint.types) > 1)

    def reserve(self, _pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Book the devices that suit best: what is booked is one value for nodes that are alike."""
        if deciding_layout(self.request, state) is None:
            return self._reserved(state, booked)
        answers = _bookings(self.snapshot.value, self.request)
        (key, kept), zones = alike(state), booked.numa_nodes
        if (key, zones) not in answers:
            answers[key, zones] = kept, self._reserved(state, structs.replace(NOTHING, numa_nodes=zones))
        found = answers[key, zones][1]
        if booked is NOTHING or not isinstance(found, Allocations):
            return found
        return structs.replace(booked, devices=found.devices)

    def _reserved(self, state: NodeState, booked: Allocations) -> Allocations | Reason:
        snapshot = self.snapshot.value
        aligned = booked.numa_nodes is not None and snapshot.config.aligns_devices
        zones = frozenset(booked.numa_nodes or ()) if aligned else None
        place = place_of(self.request, state, snapshot, zones, self.mine)
        if place is None:
            return booked
        found = allocate(self.request, place.reserving(booked.reservation, snapshot.config.device_scoring))
        return structs.replace(booked, devices=found) if isinstance(found, tuple) else found


def prepare(trigger: PendingPod, cluster: Cluster) -> DeviceShare | InvalidDevices | None:
    """Return the filter for a pod that asks for devices, or why the scheduler refuses it; None for any other.

    Where no Device object was read there is nothing to say, whatever pods had booked.
    """
    request = request_of(trigger.requirements)
    snapshot = cluster.view.snapshot
    if not isinstance(request, PodDeviceRequest):
        return request
    if snapshot.gap("Device") is not None:
        return None
    unshareable = snapshot.config.unshareable_gpus if cluster.rules.knows_unshareable_gpus else ()
    mine = matched(cluster.view, trigger, cluster.once)
    defers = _plans_secondaries(snapshot) and any(request.is_left_to_reserve(kind) for kind, _ in request.amounts)
    defers |= not snapshot.config.aligns_devices and bool(trigger.requirements.numa.policy or snapshot.numa_settings)
    best_effort = cluster.rules.filters_best_effort
    return DeviceShare(request, Identity(snapshot), frozenset(unshareable), best_effort, mine, defers)


class Nomination(Struct, frozen=True):
    """Which of the reservations that match a pod have devices for it."""

    request: PodDeviceRequest
    snapshot: Identity[Snapshot]
    mine: Matched

    def gives(self, state: NodeState, uid: str, zones: frozenset[int] | None) -> bool:
        """Tell whether a reservation has the devices, or holds none at all (`FilterNominateReservation`).

        They are looked for on the NUMA nodes that are chosen already, None for all.
        """
        place = place_of(self.request, state, self.snapshot.value, zones, self.mine)
        drawing = tuple(way for way in place.drawing if way[0] == uid) if place is not None else ()
        if place is None or not drawing:
            return True
        return isinstance(allocate(self.request, structs.replace(place, drawing=drawing, must_draw=True)), tuple)


def nomination(trigger: PendingPod, cluster: Cluster) -> Nomination | None:
    """Return which reservations have the devices that a pod asks for; None where it asks for none that are known."""
    request = request_of(trigger.requirements)
    snapshot = cluster.view.snapshot
    if not isinstance(request, PodDeviceRequest) or snapshot.gap("Device") is not None:
        return None
    return Nomination(request, Identity(snapshot), matched(cluster.view, trigger, cluster.once))


def deciding_layout(request: PodDeviceRequest, state: NodeState) -> DeviceLayout | None:
    """Return the devices of a node that decide with what is booked of them; None where more than that does.

    That is who had a device of a type that it has none of, who may draw on what is reserved, or who has had a virtual
    function.
    """
    layout = state.node.devices.layout if state.node.devices is not None else None
    if layout is None or not all(layout.of_type(kind) for kind, _ in request.amounts):
        return None
    return None if state.rooms or request.wants_functions else layout


def place_of(
    request: PodDeviceRequest,
    state: NodeState,
    snapshot: Snapshot,
    zones: frozenset[int] | None = None,
    mine: Matched = NONE_MATCHED,
) -> AllocationScope | None:
    """Return where devices are looked for; None where the scheduler knows of no device on the node, and lets pods pass.

    Args:
        request: what is asked for.
        state: the node.
        snapshot: the cluster as it was read. Who had devices there has made the scheduler know of them, even where
            there is no Device object: so it stays when the pod goes.
        zones: the NUMA nodes that are left, None for all.
        mine: the reservations that match who asks.
    """
    ways = state.booked(ways_of, mine) if state.rooms else DeviceWays((), state.booked(books_of))
    books = ways.other
    had = devices_had(snapshot, state.node.name)
    if state.node.devices is None and not books.used and not had:
        return None
    known = {
        kind: _minors(kind, books) or frozenset(one.minor for held in had for one in held if one.type == kind)
        for kind, _ in request.amounts
    }
    return AllocationScope(
        state.node, books, known, zones, drawing=ways.drawing, must_draw=mine.must_draw, held=ways.held
    )


@memoised
def _plans_secondaries(snapshot: Snapshot) -> bool:
    devices = (node.devices for node in snapshot.nodes.values())
    return any(one is not None and one.layout.plans_secondaries for one in devices)


@memoised
def _answers(_snapshot: Snapshot, _request: PodDeviceRequest) -> dict[object, tuple[object, Reason | None]]:
    """Return where the answers for a request are kept, for as long as the snapshot is: empty at first."""
    return {}


@memoised
def _bookings(_snapshot: Snapshot, _request: PodDeviceRequest) -> dict[object, tuple[object, Allocations | Reason]]:
    """Return where what is booked for a request is kept, likewise."""
    return {}


def _minors(kind: str, books: DeviceBooks) -> frozenset[int]:
    return frozenset({device.minor for device in books.layout.of_type(kind)} | books.minors_used(kind))
