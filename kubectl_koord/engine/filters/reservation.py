"""Reservations (plugins/reservation): whether those that match a pod hold it, and which of them it takes.

What they give back of a node is counted by NodeResourcesFit, all of them at once; here each is looked at alone.
Members that are put on a node to count slots are charged to the node, not to a reservation.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from msgspec import Struct, structs

from kubectl_koord.engine.filters import device_share, numa
from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter, how_many
from kubectl_koord.engine.filters.node import is_selected
from kubectl_koord.engine.reasons import (
    BeyondReservation,
    NoReservationMatches,
    NotReserved,
    OtherPolicy,
    Reason,
    UnreadableAnnotation,
)
from kubectl_koord.engine.reservations import (
    NOTHING_SAID,
    Matched,
    drawable,
    nodes_with,
    owned,
    owners_on,
    owners_taken,
    room_for_strangers,
    used_up,
)
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.engine.table import NodeSet, named, one_by_one, split
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.reservations import OPERATING_MODE, Reservation
from kubectl_koord.model.values import Resources

_Short = tuple[tuple[str, int, int], ...]
_MOST = 1 << 62
_NOTHING: Mapping[str, int] = {}
_NATIVE = ("cpu", "ephemeral-storage", "memory")


class OnlyReserved(Filter, Struct, frozen=True):
    """What PreFilter leaves of the nodes for a pod that must use a reservation: those with one that matches."""

    depends_on: ClassVar[DependsOn] = "node"
    nodes: frozenset[str]

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Refuse every other node."""
        return None if state.node.name in self.nodes else NotReserved()

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by whether they are among those."""
        return split(among, named(view, self.nodes))


class _Reservations(Matched, frozen=True):
    """The reservations that match the trigger, each with the room of its node."""

    def short_of_node(self, one: Reservation, state: NodeState, asked: Resources) -> _Short:
        """Return what the rest of the reservation and the node have too little of together (`fitsNode`)."""
        return _short(asked, _with_rest(one, state, self.once))


def _short(asked: Resources, free: Mapping[str, int]) -> _Short:
    return tuple((name, n, left) for name, n in _checked(asked) if n > (left := free.get(name, 0)))


def _checked(asked: Resources) -> Resources:
    """Return what there must be room for: a pod that asks for anything finds no place where CPU, say, is overcommitted.

    NodeResourcesFit looks at nothing but what is asked for, `fitsNode` at CPU, memory and disk of every such pod.
    """
    named = {resource for resource, _ in asked}
    return (*asked, *((resource, 0) for resource in _NATIVE if resource not in named)) if asked else ()


def _with_rest(one: Reservation, state: NodeState, once: frozenset[str]) -> dict[str, int]:
    free = dict(room_for_strangers(state, used_up(state, once), one.uid))
    back = _given_back(one, state)
    for resource, amount in _left(one, state, back).items():
        free[resource] = free.get(resource, 0) + amount + back.get(resource, 0)
    return free


def _given_back(one: Reservation, state: NodeState) -> dict[str, int]:
    """Return what owners of a reservation drew from it who are taken away on trial."""
    back: dict[str, int] = {}
    for uid, pod in owners_taken(state):
        for resource, amount in pod.requirements.requests if uid == one.uid else ():
            if resource in one.resources:
                back[resource] = back.get(resource, 0) + amount
    return back


def _left(one: Reservation, state: NodeState, back: Mapping[str, int] = _NOTHING) -> dict[str, int]:
    """Return what a reservation still gives: less than it has left where some is kept back (`GetAvailable`).

    Of what it has left, `back` is not counted yet.
    """
    kept, rest = dict(one.kept_back), state.rest(one.uid)
    return {
        resource: max(0, rest.get(resource, 0) - back.get(resource, 0) - kept.get(resource, 0))
        for resource, _ in one.size
    }


def _short_of_reservation(one: Reservation, state: NodeState, asked: Resources) -> tuple[_Short, bool]:
    """Return what a Restricted reservation has too little of, and whether its places are taken (`fitsReservation`)."""
    if one.policy != "Restricted":
        return (), False
    left = _left(one, state)
    short = tuple(
        (resource, amount, left.get(resource, 0))
        for resource, amount in asked
        if resource in one.resources and amount > left.get(resource, 0)
    )
    places = dict(one.size).get("pods")
    return short, places is not None and owners_on(state, one.uid) >= places


class ReservationFit(Filter, Struct, frozen=True):
    """The filter, where any reservation matches the trigger."""

    depends_on: ClassVar[DependsOn] = "room"
    of: _Reservations

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when no reservation of the node holds the pod (`filterWithReservations`)."""
        if not self.of.on(state):
            return NotReserved() if self.of.must_draw else None
        of_node: dict[str, tuple[int, int]] = {}
        of_reservation: dict[str, tuple[int, int]] = {}
        full = False
        for one in _looked_at(self.of, state, trigger.requests):
            node_short = self.of.short_of_node(one, state, trigger.requests)
            short, is_full = _short_of_reservation(one, state, trigger.requests)
            if not node_short and not short and not is_full:
                return None
            _keep_most(of_node, node_short)
            _keep_most(of_reservation, short)
            full = full or is_full
        if self.of.use.affinity is not None:
            return BeyondReservation(_listed(of_node), _listed(of_reservation), full)
        if not of_node:
            _keep_most(of_node, _short(trigger.requests, room_for_strangers(state, used_up(state, self.of.once))))
        return BeyondReservation(_listed(of_node)) if of_node else None

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes with a reservation that matches each by itself, all others together."""
        return one_by_one(among, self.counted_singly(view))

    def counted_singly(self, view: View) -> NodeSet:
        """Return the nodes with a reservation that matches."""
        return nodes_with(view, self.of.drawable)

    def most(self, state: NodeState, trigger: PodRequirements, each: Resources) -> int | None:
        """Return how many pods the best reservation takes together with the node, or the node alone."""
        if not self.of.on(state):
            return 0 if self.of.must_draw else None
        asked = trigger.requests
        giving = [
            one for one in _looked_at(self.of, state, asked) if _short_of_reservation(one, state, asked) == ((), False)
        ]
        if giving or self.of.use.affinity is not None:
            counts = (how_many(_checked(asked), each, _with_rest(one, state, self.of.once), _MOST) for one in giving)
            return max(counts, default=0)
        return how_many(_checked(asked), each, room_for_strangers(state, used_up(state, self.of.once)), _MOST)


def _looked_at(of: _Reservations, state: NodeState, requests: Resources) -> list[Reservation]:
    """Return those that have to do with what is asked for; all, for a pod that must use one."""
    asked = dict(requests)
    return [one for one in of.named(state) if of.use.affinity or any(resource in asked for resource in one.resources)]


def _keep_most(kept: dict[str, tuple[int, int]], short: Iterable[tuple[str, int, int]]) -> None:
    for resource, amount, left in short:
        kept[resource] = (amount, max(left, kept.get(resource, (0, left))[1]))


def _listed(short: dict[str, tuple[int, int]]) -> _Short:
    return tuple((resource, amount, left) for resource, (amount, left) in sorted(short.items()))


class SamePolicy(Filter, Struct, frozen=True):
    """The filter for a reservation that is to be placed: Default does not go with any other policy.

    So it is for a pod that is to be one (operating mode), which is Aligned.
    """

    depends_on: ClassVar[DependsOn] = "node"
    nodes: frozenset[str]

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Refuse the nodes that have a reservation which it does not go with."""
        return OtherPolicy() if state.node.name in self.nodes else None

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by whether they are among those."""
        return split(among, named(view, self.nodes))


class Booking(Filter, Struct, frozen=True):
    """Which reservation a pod takes that has found its node, and which nodes it prefers for theirs.

    `devices` tells which of them have the devices that it asks for, `zones` which have CPUs and NUMA zones; they are
    None where it asks for none.
    """

    depends_on: ClassVar[DependsOn] = "books"
    pod: PendingPod
    of: _Reservations
    devices: device_share.Nomination | None = None
    zones: numa.Placing | None = None

    def reject(self, _pod: PendingPod, _state: NodeState, _trigger: PodRequirements) -> None:
        """Refuse nothing."""

    def parts(self, _view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return all nodes together."""
        return split(among)

    def reserve(self, pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Book the reservation that is taken, if any; one that is being deleted takes nobody (`Reserve`)."""
        taken = self._taken(pod, state)
        if self.of.must_draw if taken is None else taken.terminating:
            return BeyondReservation(())
        return structs.replace(booked, reservation=taken.uid) if taken else booked

    def may_fail_to_reserve(self) -> bool:
        """Tell whether one that is being deleted may be taken, or none of several by a pod that must use one."""
        every = self.of.drawable.by_node.values()
        several = self.of.must_draw and any(len(held) > 1 for held in every)
        return several or any(one.terminating for held in every for one in held)

    def preference(self, state: NodeState) -> tuple[int, int]:
        """Prefer the reservation of the lowest order, then the one that is used up most (`PreScore`, `Score`)."""
        orders = [one.order for one in self.of.named(state) if one.order]
        if orders:
            return 0, min(orders)
        taken = self._taken(self.pod, state)
        return 1, -_score(taken, state, self.pod.requirements.requests) if taken else 0

    def _taken(self, pod: PendingPod, state: NodeState) -> Reservation | None:
        """Return the reservation of the lowest order, else the one that is used up most (`NominateReservation`)."""
        every, asked = self.of.named(state), pod.requirements.requests
        if len(every) == 1 and self.of.use.affinity is not None:
            return every[0]
        fitting = [
            one
            for one in _looked_at(self.of, state, asked)
            if not (one.once and owners_on(state, one.uid))
            and not self.of.short_of_node(one, state, asked)
            and _short_of_reservation(one, state, asked) == ((), False)
        ]
        if fitting and self.devices is not None:
            zones = None if self.zones is None else self.zones.zones_chosen(pod, state)
            fitting = [one for one in fitting if self.devices.gives(state, one.uid, zones)]
        if self.zones is not None:
            fitting = [one for one in fitting if self.zones.gives(pod, state, one.uid)]
        return min(fitting, key=lambda one: (one.order or _MOST, -_score(one, state, asked), one.name), default=None)


def _score(one: Reservation, state: NodeState, asked: Resources) -> int:
    """Return how much of a reservation is used with the pod in it, in percent (`ScoreReservation`)."""
    used = dict(state.drawn(one.uid))
    for resource, amount in asked:
        used[resource] = used.get(resource, 0) + amount
    sizes = [(resource, size) for resource, size in one.size if size]
    shares = [100 * taken // size for resource, size in sizes if (taken := used.get(resource, 0)) <= size]
    return sum(shares) // len(sizes) if sizes else 0


def prepare_nodes(
    trigger: PendingPod, cluster: Cluster
) -> OnlyReserved | NoReservationMatches | UnreadableAnnotation | None:
    """Return the nodes for a pod that must use a reservation; None for every other pod."""
    use = trigger.requirements.reservation
    if use is None or trigger.reserves is not None:
        return None
    if use.unreadable:
        return UnreadableAnnotation(use.unreadable)
    if use.affinity is None:
        return None
    view, name = cluster.view, use.affinity.name
    every = [
        one
        for held in drawable(view, trigger).by_node.values()
        for one in held
        if is_selected(trigger.requirements, view.node(one.node))
        and (not name or one.name == name or not cluster.rules.looks_up_reservations)
    ]
    if not every:
        own = owned(trigger, view.snapshot.reservations)
        is_own = any(one.uid in own and one.name == name for one in view.snapshot.reservations)
        return NoReservationMatches(trigger.key, name, len(own), is_own)
    return OnlyReserved(frozenset(one.node for one in every))


def prepare_policy(trigger: PendingPod, cluster: Cluster) -> SamePolicy | None:
    """Return the filter; None for all that is no reservation."""
    if trigger.reserves is None and dict(trigger.labels).get(OPERATING_MODE) != "Reservation":
        return None
    own = "Aligned" if trigger.reserves is None else trigger.reserves.policy
    every = cluster.view.snapshot.reservations
    others = (one for one in every if one.policy != own and "Default" in {one.policy, own})
    return SamePolicy(frozenset(one.node for one in others if one.node in cluster.view.names()))


def prepare_fit(trigger: PendingPod, cluster: Cluster) -> ReservationFit | None:
    """Return the filter; None for a trigger that no reservation matches, or that nothing is checked for."""
    found = _prepared(trigger, cluster)
    if found is None or (found.use.ignores and cluster.rules.filters_by_reservation):
        return None
    is_checked = found.use.affinity is not None or cluster.rules.filters_by_reservation
    return ReservationFit(found) if is_checked else None


def prepare_booking(trigger: PendingPod, cluster: Cluster) -> Booking | None:
    """Return what books reservations; None for a trigger that takes none."""
    found = _prepared(trigger, cluster)
    if found is None or found.use.ignores:
        return None
    return Booking(trigger, found, device_share.nomination(trigger, cluster), numa.prepare(trigger, cluster))


def _prepared(trigger: PendingPod, cluster: Cluster) -> _Reservations | None:
    found = drawable(cluster.view, trigger)
    return _Reservations(found, cluster.once, trigger.requirements.reservation or NOTHING_SAID) if found.uids else None
