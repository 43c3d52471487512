"""Which reservations a pod may draw on, and what they leave free on a node for it.

Mirrors pkg/scheduler/plugins/reservation/transformer.go: the reservations that match a pod are taken off their nodes
before it is filtered; of all others what their owners use is not counted twice.
"""

from collections.abc import Collection, Iterable, Mapping
from functools import partial

from msgspec import Struct, structs

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    differing,
    occupants_of,
    position_of,
    set_of,
    which,
)
from kubectl_koord.engine.node_state import NodeState, Occupant, Pod, drawn_from
from kubectl_koord.engine.reservations.owners import is_owner
from kubectl_koord.engine.rules import Rules, rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import NOTHING, Allocations
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import NodePods, PendingPod, PodRequirements, ReservedRoom, Resources, RunningPod
from kubectl_koord.model.reservations import (
    Reservation,
    ReservationAffinity,
    ReservationUse,
)
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import Taint, holds, tolerates

NOTHING_SAID = ReservationUse()
_CORDONED = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_ANY_NODE = Node("", ())
_HARD = {"NoSchedule", "NoExecute"}


class Drawable(Struct, frozen=True, eq=False):
    """Reservations that a pod may draw on, by node and by uid; the one object for all that match the same ones."""

    by_node: Mapping[str, tuple[Reservation, ...]]
    uids: frozenset[str]

    def on(self, state: NodeState) -> tuple[Reservation, ...]:
        """Return those that hold room on a node."""
        return tuple(one for one in self.by_node.get(state.node.name, ()) if one.uid in state.rooms)


NO_RESERVATIONS = Drawable({}, frozenset())


@memoised
def reserved_nodes(view: View) -> NodeSet:
    """Return the nodes on which anything is reserved."""
    base, trial = base_with_most(view), view.trial()
    if trial is not None:
        return which(view, partial(_is_reserved, view), reserved_nodes(trial[0]))
    if base is not None:
        others = reserved_nodes(base) & ~differing(view)
        return others | which(view, partial(_is_reserved, view), differing(view))
    there = enumerate(occupants_of(view))
    asked = (position for position, pods in there if pods and not isinstance(pods, NodePods))
    return which(view, partial(_is_reserved, view), set_of(view, asked))


def _is_reserved(view: View, name: str) -> bool:
    """Tell whether anything is reserved on a node; what is free there is computed for few."""
    there = view.occupants(name)
    if not there or isinstance(there, NodePods):
        return False
    return any(map(_may_reserve, there)) and bool(view.state(name).rooms)


def _may_reserve(occupant: Occupant) -> bool:
    return isinstance(occupant, ReservedRoom) or (isinstance(occupant, RunningPod) and bool(occupant.offers))


def drawable(view: View, pod: PendingPod) -> Drawable:
    """Return the reservations that match a pod, as the cluster is now."""
    if not view.snapshot.reservations or pod.reserves is not None or not _in_reach(view.snapshot, pod):
        return NO_RESERVATIONS
    return _drawable(view, pod)


def nodes_with(view: View, mine: Drawable) -> NodeSet:
    """Return the nodes on which any of these reservations holds room."""
    if not mine.by_node:
        return 0
    known = position_of(view)
    return set_of(view, (known[name] for name in mine.by_node if name in known)) & reserved_nodes(view)


@memoised
def for_one_owner(snapshot: Snapshot) -> frozenset[str]:
    """Return the reservations that are for one owner only."""
    return frozenset(one.uid for one in snapshot.reservations if one.once)


@memoised
def nodes_used_up(view: View, once: frozenset[str]) -> NodeSet:
    """Return the nodes with reservations for one owner only whose owner has its place."""
    return which(view, lambda name: used_up(view.state(name), once), reserved_nodes(view)) if once else 0


@memoised
def _drawable(view: View, pod: PendingPod) -> Drawable:
    names, snapshot = view.names(), view.snapshot
    use = pod.requirements.reservation
    if use is None or use.affinity is None:
        every = _without_labels(snapshot, pod)
        found = [one.uid for one in every if one.node in names and one.uid in view.state(one.node).rooms]
        return _of_uids(snapshot, frozenset(found))
    known = rules(snapshot.config.version)
    found = [
        one.uid
        for one in snapshot.reservations
        if one.node in names
        and is_match(pod, one, view.node(one.node), known)
        and one.uid in view.state(one.node).rooms
    ]
    return _of_uids(snapshot, frozenset(found))


@memoised
def _without_labels(snapshot: Snapshot, pod: PendingPod) -> tuple[Reservation, ...]:
    """Return what matches a pod that asks nothing of labels: all what-ifs of the snapshot share it."""
    known = rules(snapshot.config.version)
    return tuple(one for one in _in_reach(snapshot, pod) if is_match(pod, one, _ANY_NODE, known))


def _in_reach(snapshot: Snapshot, pod: PendingPod) -> Collection[Reservation]:
    """Return what alone may match a pod, by its labels."""
    every, use = snapshot.reservations, pod.requirements.reservation
    return every if use is not None and use.ignores else snapshot.reservations_by_label.in_reach(pod.labels)


@memoised
def _of_uids(snapshot: Snapshot, uids: frozenset[str]) -> Drawable:
    by_node: dict[str, list[Reservation]] = {}
    for one in snapshot.reservations:
        if one.uid in uids:
            by_node.setdefault(one.node, []).append(one)
    return Drawable({node: tuple(held) for node, held in by_node.items()}, uids)


def is_match(pod: PendingPod, reservation: Reservation, node: Node, known: Rules) -> bool:
    """Tell whether a pod may draw on a reservation that is on a node (`checkReservationMatchedOrIgnored`)."""
    use = pod.requirements.reservation or NOTHING_SAID
    if use.ignores:
        return True
    if not is_owner(pod, reservation.owners):
        return False
    affinity = use.affinity
    if affinity is not None and affinity.name:
        return affinity.name == reservation.name and _is_exact(pod, reservation, use.exact)
    may_tolerate = affinity if known.tolerates_unschedulable else None
    if reservation.unschedulable and not (may_tolerate and _is_tolerated(may_tolerate, _CORDONED)):
        return False
    return (affinity is None or _is_wanted(affinity, reservation, node)) and _is_exact(pod, reservation, use.exact)


def _is_wanted(affinity: ReservationAffinity, reservation: Reservation, node: Node) -> bool:
    """Tell whether taints are tolerated and labels match, those of the node and of the reservation together."""
    if any(taint.effect in _HARD and not _is_tolerated(affinity, taint) for taint in reservation.taints):
        return False
    labels = dict(node.labels) | dict(reservation.labels)
    if any(labels.get(key) != value for key, value in affinity.selector):
        return False
    named = {"metadata.name": reservation.name}
    return affinity.terms is None or any(
        (term.labels or term.fields)
        and all(holds(one, labels) for one in term.labels)
        and all(holds(one, named) for one in term.fields)
        for term in affinity.terms
    )


def _is_tolerated(affinity: ReservationAffinity, taint: Taint) -> bool:
    return any(tolerates(toleration, taint) for toleration in affinity.tolerations)


def _is_exact(pod: PendingPod, reservation: Reservation, resources: Iterable[str]) -> bool:
    """Tell whether the pod asks for just what is reserved (`ExactMatchReservation`).

    A resource of neither settles it, whatever comes after.
    """
    asked, held = dict(pod.requirements.requests), dict(reservation.size)
    for resource in resources:
        if resource not in asked and resource not in held:
            return True
        if asked.get(resource) != held.get(resource):
            return False
    return True


def landed(pod: PendingPod, reserves: Reservation, node: str) -> tuple[Reservation, ReservedRoom]:
    """Return a Reservation once the pod that stands for it is placed on a node, and what it takes up there.

    What plugins have booked for the pod is held by the Reservation, for its owners.
    """
    booked = pod.allocations or NOTHING
    placed = structs.replace(reserves, node=node)
    room = ReservedRoom(
        name=placed.name,
        node=node,
        requirements=standing(pod.requirements, pod.requirements.requests),
        namespace=pod.namespace,
        labels=pod.labels,
        priority=pod.priority,
        allocations=Allocations(booked.devices, booked.cpus, placed.uid),
        resources=placed.resources,
        job=pod.job,
    )
    return placed, room


def standing(template: PodRequirements, requests: Resources) -> PodRequirements:
    """Return what others see of the pod that stands for a Reservation on its node."""
    return PodRequirements(
        requests,
        ports=template.ports,
        pod_anti_affinity=template.pod_anti_affinity,
        numa=template.numa,
        claims=template.claims,
    )


class Matched(Struct, frozen=True):
    """The reservations that match a pod, those that are spent by their first owner, what the pod says of them."""

    drawable: Drawable
    once: frozenset[str]
    use: ReservationUse = NOTHING_SAID

    @property
    def must_draw(self) -> bool:
        """Whether the pod takes no place but in one of them."""
        return self.use.affinity is not None

    def on(self, state: NodeState) -> tuple[Reservation, ...]:
        """Return those on a node."""
        spent = used_up(state, self.once)
        return tuple(one for one in self.drawable.on(state) if one.uid not in spent)

    def named(self, state: NodeState) -> tuple[Reservation, ...]:
        """Return those on a node that may be used: by name only the one."""
        name = self.use.affinity.name if self.use.affinity else ""
        return tuple(one for one in self.on(state) if name in {"", one.name})


NONE_MATCHED = Matched(NO_RESERVATIONS, frozenset())


def matched(view: View, pod: PendingPod, once: frozenset[str]) -> Matched:
    """Return what matches a pod, none where nothing does; `once` are those for one owner that may be spent."""
    return Matched(drawable(view, pod), once, pod.requirements.reservation or NOTHING_SAID)


def used_up(state: NodeState, once: Collection[str]) -> frozenset[str]:
    """Return those of the reservations for one owner only whose owner has its place.

    A Reservation ends once that is bound; a pod that is one stays. Whoever is taken away on trial does not change it.
    """
    if not once or not state.rooms:
        return frozenset()
    there = state.occupants if state.before is None else state.before
    pods = (pod for pod in there if not isinstance(pod, ReservedRoom))
    drawn = (pod.allocations.reservation for pod in pods if pod.allocations)
    return frozenset(uid for uid in drawn if uid in once and uid in state.rooms)


def owners_taken(state: NodeState) -> tuple[tuple[str, Pod], ...]:
    """Return those taken away on trial who draw on a reservation of the node, each with its uid."""
    return state.booked(_owners_taken) if state.before is not None and state.rooms else ()


def _owners_taken(state: NodeState) -> tuple[tuple[str, Pod], ...]:
    there = set(map(id, state.occupants))
    pods = (one for one in state.before or () if id(one) not in there and not isinstance(one, ReservedRoom))
    found = ((pod.allocations.reservation, pod) for pod in pods if pod.allocations is not None)
    return tuple((uid, pod) for uid, pod in found if uid in state.rooms)


def room_for_strangers(state: NodeState, spent: Collection[str], but: str = "") -> Mapping[str, int]:
    """Return what is free besides all reservations; those that are `spent` count in full, beside their owners.

    Owners that are taken away on trial free nothing, save those of the reservation `but`: what they request is given
    back to theirs alone. Mirrors `RemovePod` and `fitsNode` in plugins/reservation/plugin.go.
    """
    taken = [(uid, pod) for uid, pod in owners_taken(state) if uid != but]
    if not taken:
        return _besides(state, spent)
    free = dict(_besides(state, spent))
    is_restored = bool(but) or any(uid not in spent and _has_owner(state, uid) for uid in state.rooms)
    for uid, pod in taken:
        counted = () if uid in spent else drawn_from(state.rooms[uid])
        for resource, amount in pod.requirements.requests if is_restored else ():
            if resource not in counted:
                free[resource] = free.get(resource, 0) - amount
    return free


def _besides(state: NodeState, spent: Collection[str]) -> Mapping[str, int]:
    if not spent:
        return state.free
    free = dict(state.free)
    for uid in spent:
        for resource, amount in state.drawn(uid):
            free[resource] = free.get(resource, 0) - amount
    return free


def _has_owner(state: NodeState, uid: str) -> bool:
    """Tell whether anybody draws on a reservation of the node, or did before somebody was taken away on trial."""
    return owners_on(state, uid) > 0 or any(drawn_on == uid for drawn_on, _ in owners_taken(state))


def room_with(state: NodeState, given: Collection[str], spent: Collection[str]) -> tuple[Mapping[str, int], int]:
    """Return what is free, and the places, by the sums of the node, for a pod to which reservations are given back.

    Owners that are taken away on trial are taken out of these sums as a whole, though what they draw of a reservation
    was taken out before (`updateNodeInfoRequestedForUnmatched`): of one that stays it looks free.
    """
    free, places = _besides(state, spent), state.places
    mine = [uid for uid in state.rooms if uid in given and uid not in spent]
    twice = [(uid, pod) for uid, pod in owners_taken(state) if uid not in given and uid not in spent]
    if not mine and not twice:
        return free, places
    free = dict(free)
    for uid in mine:
        for resource, amount in state.rest(uid).items():
            free[resource] = free.get(resource, 0) + amount
    for uid, pod in twice:
        counted = drawn_from(state.rooms[uid])
        for resource, amount in pod.requirements.requests:
            if resource in counted:
                free[resource] = free.get(resource, 0) + amount
    return free, places + len(mine)


def owners_on(state: NodeState, uid: str) -> int:
    """Return how many pods on the node draw on a reservation of it."""
    return sum(
        pod.allocations is not None and pod.allocations.reservation == uid
        for pod in state.occupants
        if not isinstance(pod, ReservedRoom)
    )


def uid_of(room: RunningPod | ReservedRoom) -> str:
    """Return the uid of the reservation that something on a node is, empty for a mere pod."""
    return room.uid if isinstance(room, ReservedRoom) else room.offers
