"""One node to try pods on: what is free there, what plugins booked, and who draws on a reservation."""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import HostPort, NodePods, PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.values.quantity import Resources

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

Pod: TypeAlias = RunningPod | PendingPod
"""A pod on a node: one that runs, or a pending one that is assumed there."""
Room: TypeAlias = RunningPod | ReservedRoom
"""What is reserved on a node: by a Reservation, or by a pod that is one itself."""
Occupant: TypeAlias = Pod | ReservedRoom
"""What takes up room on a node."""


class NodeState:
    """A private copy of one node to try pods on: what is free for strangers, and which pods are there.

    What the owners of a reservation draw from it is not counted twice: `rooms` holds the reservations by uid, and
    `_drawn` what their owners request.
    """

    __slots__ = (
        "_assigned",
        "_booked",
        "_drawn",
        "before",
        "free",
        "held",
        "node",
        "occupants",
        "places",
        "ports",
        "rooms",
    )

    def __init__(self, node: Node, occupants: Iterable[Occupant], before: tuple[Occupant, ...] | None = None) -> None:
        """Compute what the occupants leave free.

        `before` are those of the node as it is, where somebody was taken away from it on trial alone.
        """
        self.node = node
        self.before = before
        there = occupants if isinstance(occupants, tuple) else tuple(occupants)
        self.held: tuple[Occupant, ...] = there if before is None else before
        self._assigned: dict[object, Any] = {}
        self.free = dict(node.allocatable)
        self.places = self.free.pop("pods", 0)
        self.ports: list[HostPort] = []
        self.occupants: list[Occupant] = []
        self._booked: dict[object, Any] = {}
        self.rooms: dict[str, Room] = {}
        self._drawn: dict[str, Mapping[str, int]] = {}
        if isinstance(occupants, NodePods):
            for resource, amount in occupants.requested.items():
                self.free[resource] = self.free.get(resource, 0) - amount
            self.ports.extend(occupants.ports)
            self.occupants.extend(occupants)
            self.places -= len(occupants)
            return
        for occupant in occupants:
            self.add(occupant)

    def copy(self) -> "NodeState":
        """Return an independent copy."""
        copied = NodeState.__new__(NodeState)
        copied.node = self.node
        copied.before = self.before
        copied.held = self.held
        copied._assigned = self._assigned  # noqa: SLF001 - one of its own kind
        copied.free = dict(self.free)
        copied.places = self.places
        copied.ports = list(self.ports)
        copied.occupants = list(self.occupants)
        copied._booked = self._booked  # noqa: SLF001 - one of its own kind
        copied.rooms = dict(self.rooms) if self.rooms else {}
        copied._drawn = dict(self._drawn) if self._drawn else {}  # noqa: SLF001 - ditto
        return copied

    def booked(self, compute: "Callable[[NodeState, *Ts], T]", *args: *Ts) -> T:
        """Return what a plugin's books say of the node, computed once for those who are in them.

        Args:
            self: the node.
            compute: makes it of the node and its occupants, reading no pod that nothing is booked for.
            args: all that it depends on besides.

        """
        return _once(self._booked, self, compute, *args)

    def assigned(self, compute: "Callable[[NodeState, *Ts], T]", *args: *Ts) -> T:
        """Return what a plugin knows of those whom the node holds, whoever is put there or taken away on trial.

        Args:
            self: the node.
            compute: makes it of the node and those whom it holds, `held`.
            args: all that it depends on besides.

        """
        return _once(self._assigned, self, compute, *args)

    def add(self, occupant: Occupant) -> None:
        """Put one more there; for a pending pod without allocations, nothing is booked."""
        self._shift(occupant, -1)
        self.occupants.append(occupant)
        self.ports.extend(occupant.requirements.ports)

    def remove(self, occupant: Occupant) -> None:
        """Take one away that is there."""
        self._shift(occupant, 1)
        self.occupants.remove(occupant)
        for port in occupant.requirements.ports:
            self.ports.remove(port)

    def _shift(self, occupant: Occupant, sign: int) -> None:
        free = self.free
        for resource, amount in occupant.requirements.requests:
            free[resource] = free.get(resource, 0) + sign * amount
        self.places += sign
        if occupant.allocations is not None:
            self._booked = {}  # a new one, as copies of the node share what it was
            if occupant.allocations.reservation or (isinstance(occupant, RunningPod) and occupant.offers):
                self._shift_reserved(occupant, occupant.allocations.reservation, sign)

    def _shift_reserved(self, occupant: Occupant, drawn_on: str, sign: int) -> None:
        """Follow a reservation, or an owner of one, that comes (-1) or goes."""
        if isinstance(occupant, ReservedRoom):
            self._shift_room(occupant.uid, occupant, sign)
            return
        if isinstance(occupant, RunningPod) and occupant.offers:
            self._shift_room(occupant.offers, occupant, sign)
        if drawn_on:
            requests = occupant.requirements.requests
            drawn = dict(self._drawn.get(drawn_on, {}))
            for resource, amount in requests:
                drawn[resource] = drawn.get(resource, 0) - sign * amount
            self._drawn[drawn_on] = drawn
            if drawn_on in self.rooms:
                self._give_back(self.rooms[drawn_on], requests, -sign)

    def _shift_room(self, uid: str, room: "Room", sign: int) -> None:
        self._give_back(room, self._drawn.get(uid, {}).items(), -sign)
        if sign < 0:
            self.rooms[uid] = room
        else:
            del self.rooms[uid]

    def _give_back(self, room: "Room", amounts: Iterable[tuple[str, int]], sign: int) -> None:
        counted = drawn_from(room)
        for resource, amount in amounts:
            if resource in counted:
                self.free[resource] = self.free.get(resource, 0) + sign * amount

    def rest(self, uid: str) -> dict[str, int]:
        """Return what the owners of a reservation on the node have left of it, by resource; they may have drawn more.

        Mirrors `updateNodeInfoRequestedForUnmatched` in plugins/reservation/transformer.go.
        """
        drawn = dict(self.drawn(uid))
        held = self.rooms[uid].requirements.requests
        return {resource: amount - drawn.get(resource, 0) for resource, amount in held}

    def drawn(self, uid: str) -> Resources:
        """Return what the owners of a reservation on the node draw from it."""
        counted = drawn_from(self.rooms[uid])
        return tuple((resource, amount) for resource, amount in self._drawn.get(uid, {}).items() if resource in counted)


def with_bookings(occupants: Iterable[Occupant]) -> Iterable[Occupant]:
    """Return those for whom anything may be booked: of the pods of a node as it was read, no others."""
    return occupants.booked if isinstance(occupants, NodePods) else occupants


def drawn_from(room: Room) -> Collection[str]:
    """Return the resources that the owners of a reservation draw from it."""
    return room.resources if isinstance(room, ReservedRoom) else dict(room.requirements.requests)


def _once(known: dict[object, Any], state: NodeState, compute: "Callable[[NodeState, *Ts], T]", *args: *Ts) -> T:
    key = (compute, *args)
    if key not in known:
        known[key] = compute(state, *args)
    found: T = known[key]
    return found
