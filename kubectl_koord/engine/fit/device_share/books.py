"""What the scheduler's books say of a node's devices: what each has, what is taken of it, what is free."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.device_share.amounts import Amounts, is_zero, minus, plus
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.model.allocations import Allocations, DeviceAllocation
from kubectl_koord.model.devices import Device, DeviceLayout
from kubectl_koord.model.pods import ReservedRoom

_NONE: Amounts = {}
_Key: TypeAlias = tuple[str, int]


class DeviceBooks(Struct, frozen=True):
    """The books of one node, by type and minor of its devices.

    `used` is all that is booked, `returned` the part of it that is booked twice: by a Reservation, and by the pods
    that draw on it. `functions` are the virtual functions in use, by their bus ids.
    """

    layout: DeviceLayout
    used: Mapping[_Key, Amounts]
    returned: Mapping[_Key, Amounts]
    functions: Mapping[_Key, frozenset[str]]

    def minors_used(self, kind: str) -> set[int]:
        """Return the minors of a type of which something is booked."""
        return {minor for of, minor in self.used if of == kind}

    def free(self, device: Device) -> Amounts:
        """Return what is free of a device (`calcFreeWithPreemptible`)."""
        key = (device.type, device.minor)
        used = self.used.get(key)
        if used is None:
            return total(device)
        returned = self.returned.get(key)
        return minus(total(device), used if returned is None else minus(used, returned))


def total(device: Device) -> Amounts:
    """Return what a device has: nothing, where it is not healthy."""
    return dict(device.resources) if device.healthy else _NONE


def books_of(state: NodeState) -> DeviceBooks:
    """Return the books of a node, of all who are there but for members that are merely counted."""
    used: dict[_Key, Amounts] = {}
    functions: defaultdict[_Key, frozenset[str]] = defaultdict(frozenset)
    for allocations in _booked(state):
        for one in allocations.devices:
            key = (one.type, one.minor)
            used[key] = plus(used.get(key, _NONE), one.resources)
            if one.virtual_functions:
                functions[key] |= frozenset(one.virtual_functions)
    devices = state.node.devices
    return DeviceBooks(devices.layout if devices else DeviceLayout(), used, _returned(state), dict(functions))


def _booked(state: NodeState) -> Iterator[Allocations]:
    for one in state.occupants:
        if one.allocations is not None and one.allocations.devices:
            yield one.allocations


def _returned(state: NodeState) -> Mapping[_Key, Amounts]:
    """Return what both Reservations and their owners have booked, as far as the Reservations hold it.

    That is so for Reservations which the pod does not match; of those that it matches the rest would be returned, too.
    Mirrors `mergeReservationAllocations` in deviceshare/reservation.go.
    """
    returned: dict[_Key, Amounts] = {}
    for room in state.occupants:
        if isinstance(room, ReservedRoom) and room.allocations.devices:
            drawn: dict[_Key, Amounts] = {}
            for one in _owners(state, room.allocations.reservation):
                drawn[one.type, one.minor] = plus(drawn.get((one.type, one.minor), _NONE), one.resources)
            for one in room.allocations.devices:
                key = (one.type, one.minor)
                of_owners = drawn.get(key, _NONE)
                held = ((name, min(amount, of_owners.get(name, 0))) for name, amount in one.resources)
                returned[key] = plus(returned.get(key, _NONE), held)
    return {key: amounts for key, amounts in returned.items() if not is_zero(amounts)}


def _owners(state: NodeState, reservation: str) -> Iterator[DeviceAllocation]:
    for one in state.occupants:
        booked = None if isinstance(one, ReservedRoom) else one.allocations
        if booked is not None and reservation and booked.reservation == reservation:
            yield from booked.devices
