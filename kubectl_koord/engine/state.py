"""A cluster to compute with: nodes with what they have free, and what-ifs laid over a snapshot."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

from msgspec import structs

from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import HostPort, NodePods, PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.quotas import Quota
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Memo, Resources, memoised

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
        "_sums",
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
        self._sums: dict[object, tuple[int, Any]] = {}
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
        copied._sums = dict(self._sums) if self._sums else {}  # noqa: SLF001 - ditto
        return copied

    def booked(self, compute: "Callable[[NodeState, *Ts], T]", *args: *Ts) -> T:
        """Return what a plugin's books say of the node, computed once for those who are in them.

        `compute`: makes it of the node and its occupants, reading no pod that nothing is booked for. `args`: all that
        it depends on besides.
        """
        return _once(self._booked, self, compute, *args)

    def assigned(self, compute: "Callable[[NodeState, *Ts], T]", *args: *Ts) -> T:
        """Return what a plugin knows of those whom the node holds, whoever is put there or taken away on trial.

        `compute`: makes it of the node and those whom it holds, `held`. `args`: all that it depends on besides.
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
        self._sums = {}
        self.occupants.remove(occupant)
        for port in occupant.requirements.ports:
            self.ports.remove(port)

    def summed(self, key: object, whole: Callable[[], T], and_these: Callable[[T, Sequence[Occupant]], T]) -> T:
        """Return a sum over the occupants: as pods come one by one, those who were summed before are not looked at.

        `key`: whose sum it is. `whole`: computes it. `and_these`: returns a sum with more occupants, and leaves it as
        it was.
        """
        known, number = self._sums.get(key), len(self.occupants)
        if known is None or known[0] < number:
            found = whole() if known is None else and_these(known[1], self.occupants[known[0] :])
            self._sums[key] = known = number, found
        summed: T = known[1]
        return summed

    def since(self, there: Sequence[Occupant]) -> tuple[Sequence[Occupant], Sequence[Occupant]]:
        """Return who came and who left, of those who were there: all but those with whom both begin."""
        pairs = zip(there, self.occupants, strict=False)
        stayed = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        return self.occupants[stayed:], there[stayed:]

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


_DEEPEST = 4
_WIDER = 2
"""Least growth factor between the layers of `Steps`, as in a log-structured merge tree."""


class View(Memo):
    """Nodes and their occupants, in one variant of a cluster. Immutable; a change yields a new View.

    A View over another shares all nodes that it does not change, and what was computed of them.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        nodes: Mapping[str, Node],
        occupants: Mapping[str, tuple[Occupant, ...]],
        base: "View | None" = None,
        trial: "tuple[View, Mapping[str, Collection[Occupant]]] | None" = None,
        quotas: tuple[Quota, ...] | None = None,
    ) -> None:
        """Take whole mappings, or with a base only what differs from it; and the snapshot that this is a variant of.

        `trial` is the cluster as it is, and who is taken away from it, by node, where that is on trial alone. `quotas`
        are those of this variant; None are those of the base, or of the snapshot.
        """
        self.snapshot = snapshot
        self.quotas: tuple[Quota, ...] = quotas if quotas is not None else base.quotas if base else snapshot.quotas
        self._nodes = nodes
        self._occupants = occupants
        self._base = base
        self._trial = trial
        self._names = base.names() if base else nodes.keys()
        self._states: dict[str, NodeState] = {}
        self._values: dict[object, dict[str, Any]] = {}

    def names(self) -> Collection[str]:
        """Return the names of all nodes, in name order."""
        return self._names

    def node(self, name: str) -> Node:
        """Return a node."""
        if self._base and name not in self._nodes:
            return self._base.node(name)
        return self._nodes[name]

    def occupants(self, name: str) -> tuple[Occupant, ...]:
        """Return the occupants of a node."""
        if self._base and name not in self._occupants:
            return self._base.occupants(name)
        return self._occupants.get(name, ())

    def held(self, name: str) -> tuple[Occupant, ...]:
        """Return the occupants of a node, those too that are taken away on trial alone."""
        if self._base and name not in self._nodes and name not in self._occupants:
            return self._base.held(name)
        return self._trial[0].held(name) if self._trial else self.occupants(name)

    def trial(self) -> "tuple[View, Mapping[str, Collection[Occupant]]] | None":
        """Return the cluster as it is, and by node who is taken away from it, where that is on trial alone."""
        return self._trial

    def layers(self) -> "tuple[View | None, Mapping[str, tuple[Occupant, ...]]]":
        """Return the view that this one lies over, and who is on the nodes on which others are: on all, without one."""
        return self._base, self._occupants

    def changed_nodes(self) -> Collection[str]:
        """Return the names of the nodes that are not as in the view that this one lies over: all, without one."""
        return self._nodes.keys()

    def touched(self) -> Collection[str]:
        """Return the names of the nodes that differ, or on which others are, from the view that this one lies over."""
        return self._touched

    @cached_property
    def _touched(self) -> Collection[str]:
        return self._nodes.keys() | self._occupants.keys()

    def state(self, name: str) -> NodeState:
        """Return what is free on a node; shared, so copy it before trying pods on it."""
        if self._base and name not in self._nodes and name not in self._occupants:
            return self._base.state(name)
        state = self._states.get(name)
        if state is None:
            before = self._trial[0].held(name) if self._trial else None
            state = self._states[name] = NodeState(self.node(name), self.occupants(name), before)
        return state

    @memoised
    def per_node(self, compute: "Callable[[View, *Ts], Callable[[str], T]]", *args: *Ts) -> Mapping[str, T]:
        """Return a value by node, computed once; a what-if computes only its changed nodes anew.

        `compute`: returns, for a view and the arguments, what computes the value of one of its nodes. `args`: all that
        the value depends on besides the view and the node.
        """
        of_node = compute(self, *args)
        if not self._base:
            return {name: of_node(name) for name in self.names()}
        found = dict(self._base.per_node(compute, *args))
        found.update((name, of_node(name)) for name in self.touched() if name in found)
        return found

    def of_node(self, name: str, compute: Callable[[NodeState, *Ts], T], *args: *Ts) -> T:
        """Return a value of one node, computed when it is first asked for; variants in which it is the same share it.

        `compute`: makes the value of the node's state and the arguments, and changes nothing of either. `args`: all
        that the value depends on besides.
        """
        if self._base and name not in self._nodes and name not in self._occupants:
            return self._base.of_node(name, compute, *args)
        known: dict[str, T] = self._values.setdefault((compute, args), {})
        if name not in known:
            known[name] = compute(self.state(name), *args)
        return known[name]

    def without(self, removed: Collection[Pod]) -> "View":
        """Return the view once these pods have ended."""
        keys = {(pod.namespace, pod.name) for pod in removed}
        touched = {pod.node for pod in removed if isinstance(pod, RunningPod)}
        left = {
            name: tuple(
                one
                for one in self.occupants(name)
                if isinstance(one, ReservedRoom) or (one.namespace, one.name) not in keys
            )
            for name in touched
        }
        return self._with({}, left)

    @memoised
    def without_any(self, removed: "Callable[[View, *Ts], Mapping[str, Collection[Occupant]]]", *args: *Ts) -> "View":
        """Return the view without some occupants of every node, on trial; of a what-if only what differs is computed.

        Plugins whose caches no trial changes still know of those who are removed.

        `removed`: returns, for a view and the arguments, by node which of its occupants are removed, each once. `args`:
        what they depend on besides the view.
        """
        by_node = removed(self, *args)
        base = self._base.without_any(removed, *args) if self._base else None
        return View(
            self.snapshot, self._nodes, _Kept(self._occupants, by_node), base, (self, by_node), quotas=self.quotas
        )

    def with_pods(self, placed: Mapping[str, Iterable[Occupant]]) -> "View":
        """Return the view with more pods on some nodes (by node name)."""
        return self._with({}, {name: (*self.occupants(name), *pods) for name, pods in placed.items()})

    def preempting(self, victims: Collection[RunningPod]) -> "View":
        """Return the view in which these pods terminate: the last ones that the scheduler's cache lists on a node."""
        dying: dict[str, list[RunningPod]] = {}
        for victim in victims:
            marks = structs.replace(victim.marks, terminating=True, preempted=True)
            dying.setdefault(victim.node, []).append(structs.replace(victim, marks=marks))
        return self.without(victims).with_pods(dying) if victims else self

    def with_reservation(self, reservation: Reservation, room: ReservedRoom) -> "View":
        """Return the view with one more reservation, and with what it takes up."""
        snapshot = structs.replace(self.snapshot, reservations=(*self.snapshot.reservations, reservation))
        return View(snapshot, {}, {room.node: (room, *self.occupants(room.node))}, self)

    def with_quotas(self, quotas: tuple[Quota, ...]) -> "View":
        """Return the view with other limits of its quotas: the same ones, for the same pods and resources, or none."""
        return View(self.snapshot, {}, {}, self, quotas=quotas)

    def without_reservations(self, uids: Collection[str]) -> "View":
        """Return the view once these Reservations are gone, those too that are to be placed; their owners stay."""
        left = {
            name: tuple(one for one in held if not (isinstance(one, ReservedRoom) and one.uid in uids))
            for name in {one.node for one in self.snapshot.reservations if one.uid in uids and one.node in self._names}
            if (held := self.occupants(name))
        }
        snapshot = structs.replace(
            self.snapshot,
            reservations=tuple(one for one in self.snapshot.reservations if one.uid not in uids),
            reserved=tuple(room for room in self.snapshot.reserved if room.uid not in uids),
            reserve_pods=tuple(
                pod for pod in self.snapshot.reserve_pods if pod.reserves is None or pod.reserves.uid not in uids
            ),
        )
        return View(snapshot, {}, left, self)

    def with_nodes(self, nodes: Iterable[Node]) -> "View":
        """Return the view with some of its nodes changed (same names)."""
        return self._with({node.name: node for node in nodes}, {})

    def _with(self, nodes: Mapping[str, Node], occupants: Mapping[str, tuple[Occupant, ...]]) -> "View":
        """Lay changes over this view, or, where it has a few layers already, over what lies below its own."""
        if self._base and self._depth() >= _DEEPEST:
            changed, others = {**self._nodes, **nodes}, {**self._occupants, **occupants}
            found = View(self.snapshot, changed, others, self._base, quotas=self.quotas)
            found.keep(self, {*nodes, *occupants})
            return found
        return View(self.snapshot, nodes, occupants, self)

    def keep(self, other: "View", changed: Collection[str]) -> None:
        """Take over what a view of which this one takes the place computed of its nodes, but of those that changed."""
        self._states.update((name, state) for name, state in other._states.items() if name not in changed)  # noqa: SLF001 - one of its own kind
        for key, known in other._values.items():  # noqa: SLF001 - ditto
            kept = self._values.setdefault(key, {})
            kept.update((name, value) for name, value in known.items() if name not in changed)

    def forget(self) -> None:
        """Let go of all that was computed of it, as nobody will ask for it: what holds the view itself would stay."""
        self.__dict__.pop("memo", None)
        self._states.clear()
        self._values.clear()

    def _depth(self) -> int:
        return self._base._depth() + 1 if self._base else 0  # noqa: SLF001 - one of its own kind


class Steps:
    """A view to which pods are added one after the other, of which only the last is asked for anything.

    Those that were added last lie in thin layers over wider ones: of few nodes anything is computed anew for the next
    pod, and few layers are looked through.
    """

    def __init__(self, view: View) -> None:
        self.now = view
        self._view = view
        self._layers: list[View] = []

    def add(self, name: str, pod: Occupant) -> None:
        """Put one more pod on a node."""
        held: Mapping[str, tuple[Occupant, ...]] = {name: (*self.now.occupants(name), pod)}
        merged: list[View] = []
        while self._layers and len(self._layers[-1].touched()) < _WIDER * len(held):
            merged.append(self._layers.pop())
            held = {**merged[-1].layers()[1], **held}
        below = self._layers[-1] if self._layers else self._view
        self.now = View(below.snapshot, {}, held, below)
        self._layers.append(self.now)
        changed = {name}
        for layer in merged:
            self.now.keep(layer, changed)
            changed.update(layer.touched())
            layer.forget()


class _Kept(Mapping[str, tuple[Occupant, ...]]):
    """Who stays on each node when some are removed, found when a node is asked for: few are."""

    __slots__ = ("_removed", "_there")

    def __init__(self, there: Mapping[str, tuple[Occupant, ...]], removed: Mapping[str, Collection[Occupant]]) -> None:
        self._there = there
        self._removed = removed

    def __getitem__(self, name: str) -> tuple[Occupant, ...]:
        return _except(self._there[name], self._removed.get(name, ()))

    def __contains__(self, name: object) -> bool:
        return name in self._there

    def __iter__(self) -> Iterator[str]:
        return iter(self._there)

    def __len__(self) -> int:
        return len(self._there)


def _except(pods: tuple[Occupant, ...], removed: Collection[Occupant]) -> tuple[Occupant, ...]:
    """Return the pods without some of them; the same tuple where none is removed."""
    if len(removed) in {0, len(pods)}:
        return () if removed else pods
    ids = set(map(id, removed))
    return tuple(pod for pod in pods if id(pod) not in ids)


def of(snapshot: Snapshot) -> View:
    """Return the snapshot as it is."""
    return View(
        snapshot,
        snapshot.nodes,
        _occupants(snapshot) if snapshot.reserved or snapshot.reservations else snapshot.running,
    )


def _occupants(snapshot: Snapshot) -> Mapping[str, tuple[Occupant, ...]]:
    """Return the occupants of each node: what is reserved there goes first."""
    found: dict[str, tuple[Occupant, ...]] = dict(snapshot.running)
    for room in reversed(snapshot.reserved):
        found[room.node] = (room, *found.get(room.node, ()))
    for reservation in snapshot.reservations:
        if reservation.is_pod:
            found[reservation.node] = tuple(found[reservation.node])  # not the sums: its owners draw on it
    return found
