"""Which devices of a node a pod gets, or why it gets none.

Mirrors `AutopilotAllocator` in deviceshare/device_allocator.go and the handlers beside it. Where several types are
short the scheduler names one of them at random; here it is the first.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit.device_share import gpus
from kubectl_koord.engine.fit.device_share.amounts import Amounts
from kubectl_koord.engine.fit.device_share.books import DeviceBooks, total
from kubectl_koord.engine.fit.device_share.cards import Cards, cards_of, is_selected
from kubectl_koord.engine.fit.device_share.request import CARD, MEMORY, RATIO, PodDeviceRequest
from kubectl_koord.engine.reasons.devices import (
    BeyondReservedDevices,
    ByBooks,
    DeviceReason,
    DevicesApart,
    DevicesMissing,
    DevicesShort,
)
from kubectl_koord.model.hardware.allocations import DeviceAllocation
from kubectl_koord.model.hardware.devices import GPU, Device, DeviceHint
from kubectl_koord.model.hardware.scoring import Scoring
from kubectl_koord.model.objects import Node
from kubectl_koord.model.values.quantity import Resources
from kubectl_koord.model.values.selectors import matches

Devices: TypeAlias = tuple[DeviceAllocation, ...]


class AllocationScope(Struct, frozen=True):
    """Where devices are looked for.

    `minors` are those of each type that the scheduler knows on the node: of its Device object, and those that pods
    have or had booked. `zones` are the NUMA nodes that are left, None for all. `scoring` is how cards are scored:
    None before Reserve, where the scheduler takes the first that fit. `drawing` are the books with each of the
    Reservations that hold devices for the pod, by uid, which come before `books`; where there are any and the pod
    `must_draw`, there is no other way. `held` is what those Reservations hold all together, by type and minor.
    """

    node: Node
    books: DeviceBooks
    minors: Mapping[str, frozenset[int]]
    zones: frozenset[int] | None = None
    scoring: Scoring | None = None
    drawing: tuple[tuple[str, DeviceBooks], ...] = ()
    must_draw: bool = False
    held: Mapping[tuple[str, int], Amounts] = {}

    def giving_back_again(self) -> "AllocationScope":
        """Return the same where what the Reservations hold does not count once more, whoever has it."""
        drawing = tuple((uid, books.giving_back(self.held)) for uid, books in self.drawing)
        return structs.replace(self, books=self.books.giving_back(self.held), drawing=drawing)

    def reserving(self, reservation: str, scoring: Scoring) -> "AllocationScope":
        """Return the same at Reserve, where it is known which reservation the pod takes, empty for none.

        Devices that it lacks are then given without it, even to a pod that must use one (`allocateWithNominated`).
        """
        drawing = tuple(way for way in self.drawing if way[0] == reservation)
        return structs.replace(self, scoring=scoring, drawing=drawing, must_draw=False)


class DevicesWanted(Struct, frozen=True):
    """How many devices of a type, at least, and what of each; up to `most` are given where they are there."""

    type: str
    number: int
    each: Resources
    hint: DeviceHint
    most: int = 0


def allocate(request: PodDeviceRequest, place: AllocationScope) -> Devices | DeviceReason:
    """Return the devices that a pod gets, or why it gets none."""
    found = by_reservations(request, place)
    return by_books(request, place) if found is None else found


def by_reservations(request: PodDeviceRequest, place: AllocationScope) -> Devices | DeviceReason | None:
    """Return the devices that a pod gets with one of its Reservations, None where it may get some without any."""
    refusals: list[ByBooks] = []
    for _, books in place.drawing:
        found = by_books(request, structs.replace(place, books=books))
        if isinstance(found, tuple):
            return found
        refusals.append(found)
    return BeyondReservedDevices(tuple(refusals)) if refusals and place.must_draw else None


def by_books(request: PodDeviceRequest, place: AllocationScope) -> Devices | ByBooks:
    """Return the devices that a pod gets by one set of books, or the first reason why it gets none."""
    wanted = wanted_of(request, place)
    if not isinstance(wanted, dict):
        return wanted
    found: dict[str, Devices] = {}
    joint = request.joint
    if joint is not None and joint.types and len(wanted) > 1:
        together = _jointly(request, wanted, place)
        if not isinstance(together, dict):
            return together
        found = together
    for kind in wanted.keys() - found.keys() if found else wanted:
        own = _of_type(request, wanted[kind], place, frozenset())
        if not isinstance(own, tuple):
            return own
        found[kind] = own
    return tuple(_filled(one, place.books) for kind in sorted(found) for one in found[kind])


def wanted_of(request: PodDeviceRequest, place: AllocationScope) -> dict[str, DevicesWanted] | ByBooks:
    """Return how many devices are needed by type, or which type the node lacks (`Prepare`)."""
    found: dict[str, DevicesWanted] = {}
    for kind, amounts in request.amounts:
        left_to_reserve = place.books.layout.plans_secondaries and place.scoring is None
        if left_to_reserve and request.is_left_to_reserve(kind):
            continue
        if not place.minors.get(kind):
            return DevicesMissing(kind)
        if request.gpu is not None and kind == GPU:
            found[kind] = DevicesWanted(kind, request.gpu.number, request.gpu.each, request.hint(kind))
        else:
            found[kind] = _counted(amounts, request.hint(kind), place)
        if not found[kind].number:
            return DevicesMissing(kind)
    for kind, wanted in found.items():
        devices = place.books.layout.of_type(kind)
        if wanted.hint.function_selector is not None and not any(device.functions for device in devices):
            return DevicesMissing(kind, functions=True)
    return found


def _counted(amounts: Resources, hint: DeviceHint, place: AllocationScope) -> DevicesWanted:
    """Return how many RDMA cards or FPGAs are needed (`DefaultDeviceHandler`)."""
    ((name, amount),) = amounts
    if amount > CARD:
        return DevicesWanted(hint.type, amount // CARD, ((name, CARD),), hint)
    if hint.strategy == "ApplyForAll":
        devices = place.books.layout.of_type(hint.type)
        chosen = sum(is_selected(hint.selector, device) for device in devices)
        return DevicesWanted(
            hint.type, len(place.minors[hint.type]) if hint.selector is None else chosen, amounts, hint
        )
    if hint.strategy == "RequestsAsCount":
        return DevicesWanted(hint.type, amount, ((name, CARD if hint.exclusive == "DeviceLevel" else 1),), hint)
    return DevicesWanted(hint.type, 1, amounts, hint)


def _jointly(
    request: PodDeviceRequest, wanted: Mapping[str, DevicesWanted], place: AllocationScope
) -> dict[str, Devices] | ByBooks:
    """Return the devices of types that are allocated jointly, by the PCIe switches of the first (`jointAllocate`)."""
    joint = request.joint
    first, *others = joint.types if joint is not None else ()
    found: dict[str, Devices] = {}
    switches: frozenset[str] = frozenset()
    same = joint is not None and joint.scope == "SamePCIe"
    for kind in (first, *others):
        one = wanted[kind]
        if kind != first and same:
            one = DevicesWanted(kind, max(one.number, len(switches)), one.each, one.hint)
        own = _of_type(request, one, place, switches)
        if not isinstance(own, tuple):
            return own
        found[kind] = own
        if kind == first:
            switches = _switches(own, place.books)
    if same and any(_switches(found[kind], place.books) != switches for kind in others):
        return DevicesApart((first, *others))
    return found


def _switches(devices: Devices, books: DeviceBooks) -> frozenset[str]:
    taken = {(one.type, one.minor) for one in devices}
    placed = (device for device in books.layout.devices if (device.type, device.minor) in taken)
    return frozenset(device.place.pcie for device in placed if device.place is not None)


def _of_type(
    request: PodDeviceRequest, wanted: DevicesWanted, place: AllocationScope, near: frozenset[str]
) -> Devices | ByBooks:
    """Return the devices of one type, for others than GPUs preferably on the switches that are named."""
    cards = cards_of(place.books, wanted.type, wanted.hint, place.zones)
    if request.gpu is None or wanted.type != GPU:
        return _any(wanted, cards, place, near)
    layout = place.books.layout
    found = gpus.by_partition(request.gpu, cards, place.node, layout)
    if found == ():
        found = gpus.by_topology(request.gpu, cards, layout, place.scoring)
    if not isinstance(found, tuple):
        return found
    if not found:
        return _any(structs.replace(wanted, most=len(near)), cards, place, frozenset())
    return tuple(DeviceAllocation(GPU, minor, wanted.each) for minor in found)


def _any(wanted: DevicesWanted, cards: Cards, place: AllocationScope, near: frozenset[str]) -> Devices | ByBooks:
    """Return the devices that suit best (`defaultAllocateDevices`)."""
    request = dict(wanted.each)
    reserved = place.books.reserved.get(wanted.type, frozenset())
    fitting = cards.fitting(request)
    if reserved and place.books.restricted:
        fitting = tuple(minor for minor in fitting if minor in reserved)
    scored = [(-cards.score(request, minor, place.scoring), minor) for minor in fitting]
    most = max(wanted.number, wanted.most, len(near))
    found: list[DeviceAllocation] = []
    for minor in _in_turn(scored, cards.devices, near, reserved):
        functions: tuple[str, ...] = ()
        if wanted.hint.function_selector is not None:
            in_use = place.books.functions.get((wanted.type, minor), frozenset())
            functions = _function(cards.devices[minor], wanted.hint, in_use)
            if not functions:
                continue
        found.append(DeviceAllocation(wanted.type, minor, wanted.each, functions))
        if len(found) == most:
            break
    return tuple(found) if len(found) >= wanted.number else DevicesShort(wanted.type, wanted.number, len(found))


def _in_turn(
    scored: list[tuple[int, int]], devices: Mapping[int, Device], near: frozenset[str], reserved: frozenset[int]
) -> Iterable[int]:
    """Return the minors in the order in which they are tried: those that a Reservation holds, else near ones first."""
    if reserved:
        return [minor for *_, minor in sorted((minor not in reserved, score, minor) for score, minor in scored)]
    return _near_first(sorted(scored), devices, near)


def _near_first(
    scored: Iterable[tuple[int, int]], devices: Mapping[int, Device], near: frozenset[str]
) -> Iterable[int]:
    """Return the minors, the best one of each preferred switch first, then the second ones, and so on.

    Mirrors `sortDeviceResourcesByPreferredPCIe` in deviceshare/device_resources.go.
    """
    turns: dict[str, int] = {}
    ranked: list[tuple[float, int, int]] = []
    for score, minor in scored:
        place = devices[minor].place
        switch = place.pcie if place is not None and place.pcie in near else None
        if switch is None:
            ranked.append((float("inf"), score, minor))
        else:
            turns[switch] = turns.get(switch, 0) + 1
            ranked.append((turns[switch], score, minor))
    return [minor for _, _, minor in sorted(ranked)]


def _function(device: Device, hint: DeviceHint, in_use: Collection[str]) -> tuple[str, ...]:
    """Return the virtual function of a device that a pod gets, none where none is free (`allocateVF`)."""
    selector = hint.function_selector
    groups = (group for group in device.functions if selector is None or matches(selector, dict(group.labels)))
    free = [bus_id for group in groups for bus_id in group.bus_ids if bus_id not in in_use]
    return (min(free),) if free else ()


def _filled(one: DeviceAllocation, books: DeviceBooks) -> DeviceAllocation:
    """Return the same with a GPU's memory both in bytes and in percent (`fillGPUTotalMem`)."""
    amounts = dict(one.resources)
    if one.type != GPU:
        return one
    device = next(device for device in books.layout.of_type(GPU) if device.minor == one.minor)
    memory = total(device).get(MEMORY, 0)
    if MEMORY in amounts:
        amounts[RATIO] = int(amounts[MEMORY] / memory * CARD) if memory else 0
    else:
        amounts[MEMORY] = amounts.get(RATIO, 0) * memory // CARD
    return DeviceAllocation(GPU, one.minor, tuple(sorted(amounts.items())), one.virtual_functions)
