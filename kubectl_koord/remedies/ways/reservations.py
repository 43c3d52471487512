"""Remedies that release what a Reservation keeps for others."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kubectl_koord.engine.reservations import is_match
from kubectl_koord.engine.reservations.owners import is_owner
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.remedies.search import Search
from kubectl_koord.remedies.slot_count import SlotCount, in_domain
from kubectl_koord.reports.edits import Edit, ReleaseReservation
from kubectl_koord.reports.ways_out import ReleasedReservation, WayOut
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.remedies import reservations as sentences

_MOST_NAMED = 3
_MOST_TRIED = 16
_MOST_PLACES = 3


def release(search: Search) -> Iterator[WayOut]:
    """Yield single Reservations whose room is enough, those for which nobody waits first; else the fewest."""
    held = _held(search.view)
    if not held:
        return
    search.budget.tried.add("release-reservation")
    alone: list[Reservation] = []
    found: list[tuple[Edit, ...]] = []
    for slot_count in search.slot_counts:
        gains = {one.name: gain for one in held.values() if (gain := _gain(slot_count, one)) > 0}
        for short in islice(slot_count.shorts(), _MOST_PLACES) if gains else ():
            names = [one.name for one in held.values() if one.node in short.nodes]
            ranked = in_domain(names, gains)
            alone += [held[name] for gain, name in ranked if gain >= short.missing and held[name] not in alone]
            if ranked and not alone:
                pieces = [(gain, (ReleaseReservation(name),)) for gain, name in ranked]
                found.append(search.fewest(pieces, short.missing))
    if not search.counts_exactly:
        alone += [one for one in held.values() if one not in alone]
    others = _others(search)
    few = sorted(alone[:_MOST_TRIED], key=lambda one: bool(_waiting(search, one, others)))
    working = (one.name for one in few if search.works((ReleaseReservation(one.name),)))
    singles: list[tuple[Edit, ...]] = [(ReleaseReservation(name),) for name in islice(working, _MOST_NAMED)]
    for edits in singles or sorted(filter(None, found), key=len)[:1]:
        names = sorted(edit.reservation for edit in edits if isinstance(edit, ReleaseReservation))
        released = tuple(_released(search, held[name], others) for name in names)
        message, command = sentences.release(released), commands.release(names)
        yield WayOut("release-reservation", message, command, edits, released=released)


def _held(view: View) -> Mapping[str, Reservation]:
    """Return the Reservations that take up room, by name; not pods that are reservations themselves."""
    every = (one for one in view.snapshot.reservations if not one.is_pod and not one.terminating)
    return {one.name: one for one in every if one.node in view.names() and one.uid in view.state(one.node).rooms}


def _gain(slot_count: SlotCount, reservation: Reservation) -> int:
    """Return how many more slots its node has without it."""
    name = reservation.node
    rooms = [
        one for one in slot_count.view.occupants(name) if isinstance(one, ReservedRoom) and one.uid == reservation.uid
    ]
    return slot_count.slots_without(name, rooms) - slot_count.slots(slot_count.view)[name]


def _released(search: Search, reservation: Reservation, others: Sequence[PendingPod]) -> ReleasedReservation:
    state = search.view.state(reservation.node)
    left = {resource: amount for resource, amount in state.rest(reservation.uid).items() if amount > 0}
    drawing = [
        pod.key
        for pod in search.view.occupants(reservation.node)
        if isinstance(pod, RunningPod) and pod.allocations.reservation == reservation.uid
    ]
    return ReleasedReservation(
        reservation=reservation.name,
        node=reservation.node,
        owners=tuple(map(sentences.owner, reservation.owners)),
        unused=sentences.spelled(left),
        expires=reservation.expires or None,
        drawing=tuple(sorted(drawing)),
        waiting=_waiting(search, reservation, others),
    )


def _others(search: Search) -> Sequence[PendingPod]:
    own = {pod.key for pod in search.members}
    return [pod for pod in search.simulation.snapshot.pending if pod.key not in own and pod.reserves is None]


def _waiting(search: Search, reservation: Reservation, others: Sequence[PendingPod]) -> tuple[str, ...]:
    """Return who of the pods that wait may draw on a reservation as its owner."""
    node = search.view.node(reservation.node)
    known = rules(search.simulation.snapshot.config.version)
    owners = (pod for pod in others if is_owner(pod, reservation.owners))
    mine = (pod for pod in owners if is_match(pod, reservation, node, known))
    return tuple(sorted(pod.key for pod in mine))
