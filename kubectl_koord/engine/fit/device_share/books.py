"""What the scheduler's books say of a node's devices: what each has, what is taken of it, what is free."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit.device_share.amounts import Amounts, is_zero, less, minus, plus
from kubectl_koord.engine.node_state import NodeState, Occupant, Pod
from kubectl_koord.engine.reservations import Matched, owners_taken, used_up
from kubectl_koord.model.hardware.allocations import DeviceAllocation
from kubectl_koord.model.hardware.devices import Device, DeviceLayout
from kubectl_koord.model.pods import ReservedRoom
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.model.values.memo import Memo, memoised

_NONE: Amounts = {}
_Key: TypeAlias = tuple[str, int]


class DeviceBooks(Memo, Struct, frozen=True, dict=True):
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
        return {resource: max(0, min(amount, most.get(resource, 0))) for resource, amount in free.items()}

    @memoised
    def left(self, kind: str) -> "Left":
        """Return what is left of all devices of a type."""
        devices = self.layout.of_type(kind)
        free = {device.minor: self.free(device) for device in devices}
        used = (one.minor for one in devices if not is_zero(minus(total(one), free[one.minor])))
        return Left(free, frozenset(used), nothing=all(map(is_zero, free.values())))

    def giving_back(self, more: Mapping[_Key, Amounts]) -> "DeviceBooks":
        """Return the books of which so much more does not count."""
        returned = {key: plus(self.returned.get(key, _NONE), amounts.items()) for key, amounts in more.items()}
        return structs.replace(self, returned={**self.returned, **returned})


class Left(Struct, frozen=True):
    """What is free of devices of one type, by minor, and of which not all is; or that there is `nothing` at all."""

    free: Mapping[int, Amounts]
    used: frozenset[int]
    nothing: bool


def total(device: Device) -> Amounts:
    """Return what a device has: nothing, where it is not healthy."""
    return dict(device.resources) if device.healthy else _NONE


class DeviceWays(Struct, frozen=True):
    """The books by which a pod may be given devices: with each Reservation, by its uid; then with none of its own.

    Of the latter it takes what its Reservations hold all together, `held`, while their owners count.
    """

    drawing: tuple[tuple[str, DeviceBooks], ...]
    other: DeviceBooks
    held: Mapping[_Key, Amounts] = {}


class _Given(Struct, frozen=True):
    """Which Reservations count how for a pod, by uid.

    Of those in `whole` all that they hold does not count, of those in `matched` all that their owners have of the same
    devices, of others the part of it that they hold, too; of those in `spent` everything counts. What the owners had
    whom a trial takes away does not count for those in `drawn_on`.
    """

    whole: Collection[str] = ()
    matched: Collection[str] = ()
    spent: Collection[str] = ()
    drawn_on: Collection[str] = ()


def books_of(state: NodeState) -> DeviceBooks:
    """Return the books of a node, of all who are there but for members that are merely counted, as strangers see it."""
    return _books(state, _Given())


def ways_of(state: NodeState, mine: Matched) -> DeviceWays:
    """Return the books for a pod that reservations match (`tryAllocateFromReusable` in deviceshare/reservation.go).

    One that ignores reservations takes what all of them hold.
    """
    spent = used_up(state, mine.once)
    holding = [one for one in mine.on(state) if state.rooms[one.uid].allocations.devices]
    uids = frozenset(one.uid for one in holding)
    if mine.use.ignores:
        return DeviceWays((), _books(state, _Given(whole=uids, spent=spent, drawn_on=uids)))
    held: dict[_Key, Amounts] = {}
    for one in holding:
        for booked in state.rooms[one.uid].allocations.devices:
            key = (booked.type, booked.minor)
            held[key] = plus(held.get(key, _NONE), booked.resources)
    drawing = tuple((one.uid, _drawing(state, one, uids, spent)) for one in holding)
    return DeviceWays(drawing, _books(state, _Given(whole=uids, spent=spent)), held)


def _drawing(state: NodeState, one: Reservation, matched: frozenset[str], spent: Collection[str]) -> DeviceBooks:
    """Return the books with one Reservation; of its own devices a Restricted one gives no more than its rest."""
    own = {one.uid}
    books = _books(state, _Given(whole=own, matched=matched, spent=spent, drawn_on=own))
    reserved: dict[str, frozenset[int]] = {}
    for held in state.rooms[one.uid].allocations.devices:
        reserved[held.type] = reserved.get(held.type, frozenset()) | {held.minor}
    restricted = one.policy == "Restricted"
    return structs.replace(
        books, reserved=reserved, restricted=restricted, most=_rest(state, one.uid, reserved) if restricted else {}
    )


def _rest(state: NodeState, uid: str, reserved: Mapping[str, frozenset[int]]) -> Mapping[str, Mapping[int, Amounts]]:
    """Return what a Reservation still has of its devices, and what owners had of them whom a trial takes away.

    Mirrors `calcRequiredDeviceResources`: of a type of which it has nothing left the owners have, it gives any device.
    """
    drawn = _drawn(state, uid)
    rest: dict[str, dict[int, Amounts]] = {}
    for held in state.rooms[uid].allocations.devices:
        left = less(dict(held.resources), drawn.get((held.type, held.minor), _NONE))
        if not is_zero(left):
            rest.setdefault(held.type, {})[held.minor] = left
    for booked in _of_victims(state, {uid}):
        if booked.type in reserved:
            of_type = rest.setdefault(booked.type, {})
            if booked.minor in reserved[booked.type]:
                of_type[booked.minor] = plus(of_type.get(booked.minor, _NONE), booked.resources)
    if rest:
        return {kind: of_type for kind, of_type in rest.items() if of_type}
    return {kind: dict.fromkeys(minors, _NONE) for kind, minors in reserved.items()}


def _books(state: NodeState, given: _Given) -> DeviceBooks:
    used: dict[_Key, Amounts] = {}
    functions: defaultdict[_Key, frozenset[str]] = defaultdict(frozenset)
    for key, booked in _booked((*state.occupants, *_victims(state))):
        used[key] = plus(used.get(key, _NONE), booked.resources)
    for key, booked in _booked((*state.occupants, *(state.before or ()))):  # no trial gives virtual functions back
        if booked.virtual_functions:
            functions[key] |= frozenset(booked.virtual_functions)
    devices = state.node.devices
    layout = devices.layout if devices else DeviceLayout()
    return DeviceBooks(layout, used, _returned(state, given), dict(functions))


def _booked(occupants: Iterable[Occupant]) -> Iterator[tuple[_Key, DeviceAllocation]]:
    held = (one.allocations.devices for one in occupants if one.allocations is not None)
    return (((booked.type, booked.minor), booked) for devices in held for booked in devices)


def _victims(state: NodeState) -> list[Pod]:
    """Return those taken away on trial who draw on a Reservation with devices: it gets theirs back, and nobody else.

    Mirrors `RemovePod` in deviceshare/plugin.go.
    """
    return [pod for uid, pod in owners_taken(state) if state.rooms[uid].allocations.devices]


def _of_victims(state: NodeState, uids: Collection[str]) -> Iterator[DeviceAllocation]:
    """Yield what they have booked who draw on one of these Reservations."""
    booked = (pod.allocations for pod in _victims(state))
    return (one for some in booked if some is not None and some.reservation in uids for one in some.devices)


def _returned(state: NodeState, given: _Given) -> Mapping[_Key, Amounts]:
    """Return what does not count of all that is booked.

    What owners have of the devices of their Reservation is booked twice. It does not count at all, though it be more
    than the Reservation holds of a device. Mirrors `mergeReservationAllocations` in deviceshare/reservation.go.
    """
    returned: dict[_Key, Amounts] = {}
    for uid, room in state.rooms.items():
        if uid in given.spent:
            continue
        drawn = _drawn(state, uid) if uid not in given.whole and room.allocations.devices else {}
        for one in room.allocations.devices:
            key = (one.type, one.minor)
            amounts = one.resources
            if uid not in given.whole:
                of_owners = drawn.get(key, _NONE)
                names = of_owners if uid in given.matched else [name for name, _ in one.resources]
                amounts = tuple((name, of_owners.get(name, 0)) for name in names)
            returned[key] = plus(returned.get(key, _NONE), amounts)
    for booked in _of_victims(state, given.drawn_on):
        key = (booked.type, booked.minor)
        returned[key] = plus(returned.get(key, _NONE), booked.resources)
    return {key: amounts for key, amounts in returned.items() if not is_zero(amounts)}


def _drawn(state: NodeState, uid: str) -> Mapping[_Key, Amounts]:
    """Return what the owners of a Reservation have booked, those too whom a trial takes away."""
    drawn: dict[_Key, Amounts] = {}
    for one in (*state.occupants, *_victims(state)):
        if isinstance(one, ReservedRoom) or one.allocations is None or one.allocations.reservation != uid:
            continue
        for booked in one.allocations.devices:
            key = (booked.type, booked.minor)
            drawn[key] = plus(drawn.get(key, _NONE), booked.resources)
    return drawn
