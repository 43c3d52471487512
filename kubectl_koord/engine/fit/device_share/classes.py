"""Nodes that are alike to DeviceShare: what of a node and of those who are there decides about its devices."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import (
    NodeSet,
    StateSees,
    members,
    names_of,
    occupants_of,
    position_of,
    seen_of_nodes,
    state_classes,
)
from kubectl_koord.engine.fit.device_share.gpus import MODEL, VENDOR, labels_of_table
from kubectl_koord.engine.node_state import NodeState, Occupant, with_bookings
from kubectl_koord.engine.reservations import reserved_nodes
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import DeviceAllocation
from kubectl_koord.model.hardware.devices import DeviceLayout
from kubectl_koord.model.objects import Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, memoised

ISOLATION = "koordinator.sh/gpu-isolation-provider"
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
        """Return the same of all nodes."""
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
    """Return the same for Reservations."""
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
    """Return the same once some are taken away on trial."""
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
