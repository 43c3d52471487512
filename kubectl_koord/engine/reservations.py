"""Which reservations a pod may draw on, what they leave free on a node, and who occupies them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from itertools import compress, count, repeat
from operator import attrgetter, contains
from typing import Protocol, TypeVar

from msgspec import Struct, structs

from kubectl_koord.engine.rules import Rules, rules
from kubectl_koord.engine.state import NodeState, Occupant, Pod, Room, View, drawn_from
from kubectl_koord.engine.table import (
    NodeSet,
    base_with_most,
    differing,
    names_of,
    occupants_of,
    position_of,
    set_of,
    which,
)
from kubectl_koord.model.hardware import NOTHING, Allocations
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import AnyLabels, NodePods, PendingPod, PodRequirements, ReservedRoom, RunningPod
from kubectl_koord.model.reservations import (
    OwnerController,
    OwnerObject,
    Reservation,
    ReservationAffinity,
    ReservationOwner,
    ReservationUse,
    by_label,
)
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import (
    Identity,
    Resources,
    Selector,
    Taint,
    holds,
    matches,
    memoised,
    tolerates,
    values_of,
)

T = TypeVar("T")


class Question(Protocol):
    """Which occupants are meant; hashable, and equal where the answers are."""

    @property
    def namespaces(self) -> Collection[str] | None:
        """Where they are, None for everywhere."""

    @property
    def selectors(self) -> Iterable[Selector]:
        """What their labels match, all of it."""

    def __call__(self, occupant: Occupant, /) -> bool:
        """Tell whether an occupant is one of them."""

    def __hash__(self) -> int:
        """Hash it."""


@memoised
def number_on(view: View, question: Question) -> Mapping[str, int]:
    """Return by node how many occupants are meant, nodes with none left out; a what-if asks only what differs."""
    base, trial = view.layers()[0], view.trial()
    if base is not None:
        now = {name: number for name, there in occupied(view) if (number := sum(map(question, there)))}
        return laid_over(number_on(base, question), view, now)
    if trial is not None:
        there, gone = trial
        left = {name: n - sum(map(question, gone.get(name, ()))) for name, n in number_on(there, question).items()}
        return {name: number for name, number in left.items() if number}
    known = _by_namespace(view.snapshot)
    asked = known if question.namespaces is None else sorted(known.keys() & question.namespaces)
    rooms = (room for namespace in asked for room in known[namespace].matching(question.selectors))
    return Counter(room.node for room in rooms if question(room))


def laid_over(before: Mapping[str, T], view: View, now: dict[str, T]) -> Mapping[str, T]:
    """Return what is known of the view below with what is of nodes that differ; the same where none of it does."""
    changed = view.touched()
    if now == {name: before[name] for name in before.keys() & changed}:
        return before
    return {name: known for name, known in before.items() if name not in changed} | now


@memoised
def occupied(view: View) -> tuple[tuple[str, tuple[Occupant, ...]], ...]:
    """Return the nodes that differ from the view below, as far as anybody is there, and who."""
    known = view.names()
    return tuple([(name, there) for name in view.touched() if name in known and (there := view.occupants(name))])


@memoised
def placed_members(view: View) -> Mapping[str, tuple[PendingPod, ...]]:
    """Return by node the members that were placed there, with what is booked for them; nodes with none are left out."""
    base, trial = base_with_most(view), view.trial()
    if base is not None:
        asked = view.touched()
        others = {name: pods for name, pods in placed_members(base).items() if name not in asked}
        return others | _members_of((name, view.occupants(name)) for name in asked)
    if trial is not None:
        return _members_of((name, view.occupants(name)) for name in placed_members(trial[0]))
    return _members_of(zip(names_of(view), occupants_of(view), strict=True))


def _members_of(there: Iterable[tuple[str, tuple[Occupant, ...]]]) -> dict[str, tuple[PendingPod, ...]]:
    found = {}
    for name, pods in there:
        if pods and not isinstance(pods, NodePods):
            members = [pod for pod in pods if isinstance(pod, PendingPod) and pod.allocations is not None]
            if members:
                found[name] = tuple(members)
    return found


class _Namespace:
    """Who is there in a namespace, and which different labels they have."""

    def __init__(self) -> None:
        self.rooms: list[Room] = []

    def matching(self, selectors: Iterable[Selector]) -> Iterable[Room]:
        """Return all whose labels match, and a few more: whether a value is among labels their bytes tell soon."""
        labels, values = self._distinct
        found = set(range(len(labels)))
        for one in (one for selector in selectors for one in selector.requirements if one.operator == "In"):
            texts = map(str.encode, one.values)
            found &= {at for text in texts for at in compress(count(), map(contains, values, repeat(text)))}
        ids = {id(labels[at]) for at in found}
        return [room for room in self.rooms if id(room.labels) in ids] if ids else ()

    @cached_property
    def _distinct(self) -> tuple[Sequence[AnyLabels], Sequence[bytes]]:
        """The labels, those that pods share once, and the values of each."""
        every = [*map(attrgetter("labels"), self.rooms)]
        labels = [*dict(zip(map(id, every), every, strict=True)).values()]
        return labels, [*map(values_of, labels)]


@memoised
def _by_namespace(snapshot: Snapshot) -> Mapping[str, _Namespace]:
    found: dict[str, _Namespace] = defaultdict(_Namespace)
    for name in snapshot.nodes:
        for pod in snapshot.running.get(name, ()):
            found[pod.namespace].rooms.append(pod)
    for room in snapshot.reserved:
        if room.node in snapshot.nodes:
            found[room.namespace].rooms.append(room)
    return dict(found)


_NONE: frozenset[str] = frozenset()


def is_owner(pod: PendingPod, owners: Iterable[ReservationOwner]) -> bool:
    """Tell whether any of a reservation's owners is the pod (`MatchReservationOwners`)."""
    return any(
        (owner.object is None or _is_object(pod, owner.object))
        and (owner.controller is None or _is_controlled(pod, owner.controller))
        and (owner.selector is None or matches(owner.selector, dict(pod.labels)))
        for owner in owners
    )


def owned(pod: PendingPod, reservations: tuple[Reservation, ...]) -> frozenset[str]:
    """Return the uids of those reservations that are for a pod by their owners, whatever else they ask."""
    in_reach = by_label(Identity(reservations)).in_reach(pod.labels) if reservations else ()
    return frozenset([one.uid for one in in_reach if is_owner(pod, one.owners)]) if in_reach else _NONE


@memoised
def one_of_each_owner(snapshot: Snapshot) -> tuple[Reservation, ...]:
    """Return one reservation for each way to own one, those too that are to be placed: they tell pods apart."""
    waiting = (pod.reserves for pod in snapshot.reserve_pods if pod.reserves is not None)
    every = (*snapshot.reservations, *waiting)
    return tuple({one.owners: one for one in reversed(every)}.values())


def _is_object(pod: PendingPod, wanted: OwnerObject) -> bool:
    return (
        not wanted.api_version
        and wanted.uid in {"", pod.uid}
        and wanted.name in {"", pod.name}
        and wanted.namespace in {"", pod.namespace}
    )


def _is_controlled(pod: PendingPod, wanted: OwnerController) -> bool:
    return wanted.namespace in {"", pod.namespace} and any(
        wanted.controller in {None, owner.controller}
        and wanted.uid in {"", owner.uid}
        and wanted.name in {"", owner.name}
        and wanted.kind in {"", owner.kind}
        and wanted.api_version in {"", owner.api_version}
        for owner in pod.owners
    )


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
    """Return the nodes that have a single-owner reservation whose owner is placed."""
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
        """Whether the pod must draw on a reservation."""
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
    """Return the single-owner reservations of a node whose owner is placed.

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
