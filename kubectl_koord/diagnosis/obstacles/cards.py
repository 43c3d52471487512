"""The single devices of nodes: what is free of each as the scheduler's books say, and who has the rest."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.device_share.amounts import Amounts, is_zero, minus, plus
from kubectl_koord.engine.fit.device_share.books import DeviceBooks, books_of
from kubectl_koord.engine.fit.device_share.request import MEMORY, PodDeviceRequest, request_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.devices import TYPES, Device
from kubectl_koord.model.pods import ReservedRoom
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.capacity.devices import Card, DeviceRoom, Holder, TypeTotal, UnlistedCard
from kubectl_koord.wording.bookings import Unbooked

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

    Args:
        nodes: what each has.
        sizes: the types to count, each with the largest number of devices that a pod may want on a node.
        seen: whether everything was read that takes devices.

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
