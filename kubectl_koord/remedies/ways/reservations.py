"""Remedies that release what a Reservation keeps for others."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from kubectl_koord.engine.reservations import is_match
from kubectl_koord.engine.reservations.owners import is_owner
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import ReservedRoom, RunningPod
from kubectl_koord.model.reservations import ByLabel, Reservation
from kubectl_koord.remedies.search import Search
from kubectl_koord.remedies.slot_count import SlotCount, in_domain
from kubectl_koord.reports.edits import Edit, ReleaseReservation
from kubectl_koord.reports.ways_out import ReleasedReservation, WayOut
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.remedies import reservations as sentences

_MOST_NAMED = 3
_MOST_TRIED, _MOST_TRIED_WHERE_TIGHT = 16, 4
_MOST_PLACES = 3


def release(search: Search) -> Iterator[WayOut]:
    """Yield single Reservations whose room is enough, those for which nobody waits first; else the fewest."""
    held = _held(search.view)
    if not held or not search.may_help("release-reservation"):
        return
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
    few = alone[: _MOST_TRIED_WHERE_TIGHT if search.budget.is_tight else _MOST_TRIED]
    waiting = _waiting(search, few)
    few.sort(key=lambda one: bool(waiting[one.name]))
    working = (one.name for one in few if search.works((ReleaseReservation(one.name),)))
    singles: list[tuple[Edit, ...]] = [(ReleaseReservation(name),) for name in islice(working, _MOST_NAMED)]
    for edits in singles or sorted(filter(None, found), key=len)[:1]:
        names = sorted(edit.reservation for edit in edits if isinstance(edit, ReleaseReservation))
        waiting = _waiting(search, [held[name] for name in names])
        released = tuple(_released(search, held[name], waiting[name]) for name in names)
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


def _released(search: Search, reservation: Reservation, waiting: tuple[str, ...]) -> ReleasedReservation:
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
        waiting=waiting,
    )


def _waiting(search: Search, reservations: Sequence[Reservation]) -> Mapping[str, tuple[str, ...]]:
    """Return by Reservation who of the pods that wait, the subject's own left out, may draw on it as its owner."""
    known = rules(search.simulation.snapshot.config.version)
    own = {pod.key for pod in search.members}
    by_owner = ByLabel(tuple(reservations))
    found: dict[str, list[str]] = {one.name: [] for one in reservations}
    for pod in search.simulation.snapshot.pending:
        for one in by_owner.in_reach(pod.labels):
            is_other = pod.key not in own and pod.reserves is None
            if is_other and is_owner(pod, one.owners) and is_match(pod, one, search.view.node(one.node), known):
                found[one.name].append(pod.key)
    return {name: tuple(sorted(keys)) for name, keys in found.items()}
