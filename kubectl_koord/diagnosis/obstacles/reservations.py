"""What surprises about reservations, as warnings."""

from collections.abc import Iterable, Iterator

from msgspec import structs

from kubectl_koord.engine.admission.queue import priority
from kubectl_koord.engine.fit import prepare, rejection
from kubectl_koord.engine.landings import preempting
from kubectl_koord.engine.reasons.nodes import BeyondReservation
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import NOTHING
from kubectl_koord.model.pods import ReservedRoom, RunningPod
from kubectl_koord.reports.common import Notice
from kubectl_koord.simulation.simulation import Simulation, next_attempt
from kubectl_koord.wording import reservations as words


def notices(simulation: Simulation, outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield what the scheduler does with reservations that the objects do not show, as far as it concerns a subject."""
    found = tuple(outcomes)
    known = rules(simulation.snapshot.config.version)
    lacks = simulation.snapshot.config.plugins.lacks("Reservation")
    if lacks and _may_draw(simulation):
        yield Notice("reservation-plugin-off", words.plugin_off(lacks))
    members = [pod.reserves.name for pod in simulation.subject.pending if pod.reserves is not None]
    if members:
        yield Notice("reservation-members", words.members(members))
    reserved = [name for gang in simulation.subject.gangs.values() if gang is not None for name in gang.reserved]
    if reserved:
        yield Notice("reservation-members", words.bound_members(reserved))
    for one in preempting(simulation.view, priority(simulation.subject), known):
        yield Notice("reservation-preempts", words.preempts(one.reservation, [pod.key for pod in one.victims]))
    if known.forgets_owners and _decides_what_is_forgotten(simulation, found):
        yield Notice("owners-forgotten", words.OWNERS_FORGOTTEN)
    if not known.filters_by_reservation:
        over = sorted({name for outcome in found for name in _overcommitted(simulation, outcome)})
        if over:
            yield Notice("reservation-overcommitted", words.overcommitted(over))


def in_vain(outcomes: Iterable[Outcome]) -> Iterator[Notice]:
    """Yield which reservations preemption would choose as victims: nothing deletes them."""
    rounds = (one for outcome in outcomes for one in (*outcome.rounds, outcome.last) if one is not None)
    names = sorted({room.name for one in rounds for room in one.in_vain})
    if names:
        yield Notice("reservation-victims", words.victims(names))


def _may_draw(simulation: Simulation) -> bool:
    """Tell whether any pod of the subject may or must draw on a reservation."""
    return any(
        pod.requirements.reservation is not None or drawable(simulation.view, pod).uids
        for pod in simulation.subject.pending
    )


def _decides_what_is_forgotten(simulation: Simulation, outcomes: Iterable[Outcome]) -> bool:
    """Tell whether the subject's place depends on running owners that a scheduler forgets as it starts."""
    view = _without_owners(simulation.view)
    if view is None:
        return False
    then = {outcome.placed_at_once for outcome in next_attempt(simulation, view)}
    return then != {outcome.placed_at_once for outcome in outcomes}


def _without_owners(view: View) -> View | None:
    """Return the view in which running pods own no reservation, None where none does."""
    changed: dict[str, list[RunningPod]] = {}
    for node in {one.node for one in view.snapshot.reservations}:
        held = [pod for pod in view.occupants(node) if isinstance(pod, RunningPod) and pod.allocations.reservation]
        if held:
            changed[node] = held
    if not changed:
        return None
    gone = view.without([pod for held in changed.values() for pod in held])
    return gone.with_pods(
        {node: [structs.replace(pod, allocations=NOTHING) for pod in held] for node, held in changed.items()}
    )


def _overcommitted(simulation: Simulation, outcome: Outcome) -> Iterator[str]:
    """Yield the nodes on which members take more than a Restricted reservation and the rest of the node give."""
    stricter = rules("1.8")
    by_key = {pod.key: pod for pod in simulation.subject.pending}
    for key, node in (outcome.first.placement or {}).items():
        state = simulation.view.state(node)
        if any(isinstance(room, ReservedRoom) for room in state.rooms.values()):
            pod = by_key[key]
            reason = rejection(pod, state, prepare(pod, simulation.view, stricter))
            if isinstance(reason, BeyondReservation):
                yield node
