"""What the scheduler's books say of a node's devices: what each has, what is taken of it, what is free."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit.device_share.amounts import Amounts, is_zero, minus, plus
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.reservations import Matched, used_up
from kubectl_koord.model.hardware.allocations import DeviceAllocation
from kubectl_koord.model.hardware.devices import Device, DeviceLayout
from kubectl_koord.model.pods import ReservedRoom
from kubectl_koord.model.reservations import Reservation

_NONE: Amounts = {}
_Key: TypeAlias = tuple[str, int]


class DeviceBooks(Struct, frozen=True):
    """The books of one node, by type and minor of its devices, as somebody sees them who asks for some.

    `used` is all that is booked, `returned` the part of it that does not count: what is booked twice, by a Reservation
    and by the pods that draw on it, and what a Reservation holds for who asks. `functions` are the virtual functions
    in use, by their bus ids. `reserved` are the minors that the Reservation holds: they go first, and with `restricted`
    no others are given. By type, `most` is all that is given then.
    """

    layout: DeviceLayout
    used: Mapping[_Key, Amounts]
    returned: Mapping[_Key, Amounts]
    functions: Mapping[_Key, frozenset[str]]
    reserved: Mapping[str, frozenset[int]] = {}
    restricted: bool = False
    most: Mapping[str, Mapping[int, Amounts]] = {}

    def minors_used(self, kind: str) -> set[int]:
        """Return the minors of a type of which something is booked."""
        return {minor for of, minor in self.used if of == kind}

    def gives(self, device: Device) -> bool:
        """Tell whether the device is among those of which anything may be given."""
        return device.type not in self.most or device.minor in self.most[device.type]

    def free(self, device: Device) -> Amounts:
        """Return what is free of a device (`calcFreeWithPreemptible`)."""
        key = (device.type, device.minor)
        used = self.used.get(key)
        free = total(device)
        if used is not None:
            returned = self.returned.get(key)
            free = minus(free, used if returned is None else minus(used, returned))
        if device.type not in self.most:
            return free
        most = self.most[device.type].get(device.minor, _NONE)
        return {resource: min(amount, most.get(resource, 0)) for resource, amount in free.items()}


def total(device: Device) -> Amounts:
    """Return what a device has: nothing, where it is not healthy."""
    return dict(device.resources) if device.healthy else _NONE


class DeviceWays(Struct, frozen=True):
    """The books by which a pod may be given devices: with each Reservation, by its uid; then with none of its own.

    Of the latter it takes what its Reservations hold all together, while their owners count.
    """

    drawing: tuple[tuple[str, DeviceBooks], ...]
    other: DeviceBooks


def books_of(state: NodeState) -> DeviceBooks:
    """Return the books of a node, of all who are there but for members that are merely counted, as strangers see it."""
    return _books(state, frozenset(), frozenset())


def ways_of(state: NodeState, mine: Matched) -> DeviceWays:
    """Return the books for a pod that reservations match (`tryAllocateFromReusable` in deviceshare/reservation.go).

    One that ignores reservations takes what all of them hold.
    """
    spent = used_up(state, mine.once)
    holding = [one for one in mine.on(state) if state.rooms[one.uid].allocations.devices]
    drawing = () if mine.use.ignores else tuple((one.uid, _drawing(state, one, spent)) for one in holding)
    return DeviceWays(drawing, _books(state, frozenset(one.uid for one in holding), spent))


def _drawing(state: NodeState, one: Reservation, spent: Collection[str]) -> DeviceBooks:
    """Return the books with one Reservation; of its own devices a Restricted one gives no more than its rest."""
    books = _books(state, frozenset({one.uid}), spent)
    reserved: dict[str, dict[int, Amounts]] = {}
    rest: dict[str, dict[int, Amounts]] = {}
    drawn = _drawn(state, one.uid)
    for held in state.rooms[one.uid].allocations.devices:
        left = minus(dict(held.resources), drawn.get((held.type, held.minor), _NONE))
        reserved.setdefault(held.type, {})[held.minor] = _NONE
        if not is_zero(left):
            rest.setdefault(held.type, {})[held.minor] = left
    restricted = one.policy == "Restricted"
    return structs.replace(
        books,
        reserved={kind: frozenset(minors) for kind, minors in reserved.items()},
        restricted=restricted,
        most=(rest or reserved) if restricted else {},
    )


def _books(state: NodeState, whole: Collection[str], spent: Collection[str]) -> DeviceBooks:
    used: dict[_Key, Amounts] = {}
    functions: defaultdict[_Key, frozenset[str]] = defaultdict(frozenset)
    for key, booked in _booked(state.occupants):
        used[key] = plus(used.get(key, _NONE), booked.resources)
    for key, booked in _booked((*state.occupants, *(state.before or ()))):  # no trial gives virtual functions back
        if booked.virtual_functions:
            functions[key] |= frozenset(booked.virtual_functions)
    devices = state.node.devices
    layout = devices.layout if devices else DeviceLayout()
    return DeviceBooks(layout, used, _returned(state, whole, spent), dict(functions))


def _booked(occupants: Iterable[Occupant]) -> Iterator[tuple[_Key, DeviceAllocation]]:
    held = (one.allocations.devices for one in occupants if one.allocations is not None)
    return (((booked.type, booked.minor), booked) for devices in held for booked in devices)


def _returned(state: NodeState, whole: Collection[str], spent: Collection[str]) -> Mapping[_Key, Amounts]:
    """Return what does not count of all that is booked.

    That is what both a Reservation and its owners have booked, as far as the Reservation holds it; of those in `whole`
    all that they hold; and nothing of those in `spent`. Mirrors `mergeReservationAllocations` in
    deviceshare/reservation.go.
    """
    returned: dict[_Key, Amounts] = {}
    for uid, room in state.rooms.items():
        if uid in spent:
            continue
        drawn = _drawn(state, uid) if uid not in whole and room.allocations.devices else {}
        for one in room.allocations.devices:
            key = (one.type, one.minor)
            of_owners = drawn.get(key, _NONE)
            held = ((name, n if uid in whole else min(n, of_owners.get(name, 0))) for name, n in one.resources)
            returned[key] = plus(returned.get(key, _NONE), held)
    return {key: amounts for key, amounts in returned.items() if not is_zero(amounts)}


def _drawn(state: NodeState, uid: str) -> Mapping[_Key, Amounts]:
    """Return what the owners of a Reservation have booked."""
    drawn: dict[_Key, Amounts] = {}
    for one in state.occupants:
        if isinstance(one, ReservedRoom) or one.allocations is None or one.allocations.reservation != uid:
            continue
        for booked in one.allocations.devices:
            key = (booked.type, booked.minor)
            drawn[key] = plus(drawn.get(key, _NONE), booked.resources)
    return drawn
