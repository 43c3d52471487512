"""Whether what the scheduler said still holds, beside what is computed now.

Slots are compared by domain, and refusals by what nodes count for; the rest by its cause. It is no longer true only
where the two cannot both be right: which pod the scheduler tried first, and where those before it went, is in no
object.
"""

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from kubectl_koord.diagnosis import evidence
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.offer import Offer
from kubectl_koord.engine.reasons.devices import BeyondReservedDevices
from kubectl_koord.engine.reasons.nodes import BeyondReservation
from kubectl_koord.engine.reasons.numa import BeyondReservedZones
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal, QuotaExceeded
from kubectl_koord.engine.reservations.owners import one_of_each_owner, owned
from kubectl_koord.messages import refusals
from kubectl_koord.messages.parsed import ParsedMessage, QuotaMessage, TopologyMessage
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Verdict
from kubectl_koord.simulation.simulation import Simulation

_CAUSES: Mapping[str, tuple[CauseCode, ...]] = {
    "device-class-": ("claims-unallocated",),
    "device-": ("invalid-request",),
    "cpus-not-integer": ("invalid-request",),
    "no-reservation": ("no-matching-reservation",),
    "claim-": ("volumes-unbound",),
    "volume-": ("volumes-unbound",),
    "no-topology": ("no-topology", "broken-layer-chain"),
    "group-incomplete": ("too-few-pods", "group-member-missing", "group-member-too-few-pods", "groups-differ"),
}
"""The causes of which the scheduler says this, by how the code of its sentence begins."""

_OF_RESERVATIONS = (BeyondReservation, BeyondReservedDevices, BeyondReservedZones)


class Computed(Struct, frozen=True):
    """What is computed now: the verdict, its cause, and every attempt that is open, the likeliest first.

    `are_slots_complete` is whether nothing was left out where slots were counted.
    """

    simulation: Simulation
    verdict: Verdict
    cause: CauseCode | None = None
    attempts: tuple[Attempt, ...] = ()
    are_slots_complete: bool = True


def agrees(parsed: ParsedMessage, now: Computed) -> bool | None:
    """Tell whether a message still holds, None where that is open."""
    root = parsed.root
    found = None
    if root.topology is not None:
        found = _slots(root.topology, now)
    elif root.quota is not None:
        found = any(_is_same_quota(root.quota, refusal) for refusal in _quotas(now)) or None
    elif root.phrase is not None:
        code = root.phrase.code
        found = any(code.startswith(said) and now.cause in causes for said, causes in _CAUSES.items()) or None
    elif root.counts and not root.is_failed_preemption:
        found = _counts(root, now)
    return False if found is None and now.verdict == "yes" else found


def _slots(said: TopologyMessage, now: Computed) -> bool | None:
    if said.text:
        return None
    if said.best is None and not said.domains:
        return True if now.cause == "unknown-layer" else None
    tables = list(_tables(now))
    for table in tables:
        best = (len(table), max(table.values(), default=0))
        if said.best == best or {(one.layer, one.name): one.slots for one in said.domains} == table:
            return True
    is_certain = said.desired == now.simulation.desired and now.are_slots_complete and _are_alike(now)
    return False if tables and is_certain else None


def _tables(now: Computed) -> Iterator[Mapping[tuple[str, str], int]]:
    """Yield the slots of each attempt that has any."""
    tables = (evidence.slot_rows(now.simulation, attempt, brief=True) for attempt in now.attempts)
    yield from ({(row.layer, row.name): row.offer_slots for row in rows} for rows in tables if rows)


def _are_alike(now: Computed) -> bool:
    """Tell whether it does not matter which pod was tried first."""
    owners = one_of_each_owner(now.simulation.snapshot)
    return len({(pod.requirements, owned(pod, owners)) for pod in now.simulation.subject.pending}) == 1


def _quotas(now: Computed) -> Iterator[QuotaExceeded]:
    return (refusal for attempt in now.attempts if (refusal := attempt.over_quota) is not None)


def _is_same_quota(said: QuotaMessage, refusal: QuotaExceeded) -> bool:
    return not set(said.names).isdisjoint(refusal.path) and (said.limit == "min") == (refusal.kind == "min")


def _counts(root: ParsedMessage, now: Computed) -> bool | None:
    failed = [attempt for attempt in now.attempts if attempt.placement is None and attempt.prefilter is None]
    said = refusals.said(root.counts) if failed else None
    if said is None:
        return None
    own = said.keys() - {refusals.LEFT_OUT}
    is_of_seat = bool(own) and any(own == set(_of_seat(attempt)) for attempt in failed)
    by_nodes = [attempt for attempt in failed if attempt.plan is None and attempt.failed_seat is None]
    counts_all = root.nodes == len(now.simulation.view.names())
    if is_of_seat or (counts_all and any(said == _counted(attempt) for attempt in by_nodes)):
        return True
    starts_afresh = len(by_nodes) == len(now.attempts) and not any(attempt.waiting for attempt in by_nodes)
    is_certain = own == said.keys() and starts_afresh and _are_alike(now)
    return None if not is_certain or _are_reservations_counted(root, by_nodes) else False


def _counted(attempt: Attempt) -> Mapping[refusals.Refusal, int]:
    answers = attempt.node_answers
    return _of_offer(answers) if isinstance(answers, Offer) else refusals.counted(attempt.refused)


@memoised
def _of_offer(offer: Offer) -> Mapping[refusals.Refusal, int]:
    return refusals.counted(offer.reasons)


def _of_seat(attempt: Attempt) -> tuple[refusals.Refusal, ...]:
    """Return what a failed seat refuses for: the one node that was left to the pod."""
    seat = attempt.failed_seat
    return () if seat is None or isinstance(seat.reason, PreFilterRefusal) else refusals.of_reason(seat.reason)


def _are_reservations_counted(root: ParsedMessage, attempts: Sequence[Attempt]) -> bool:
    """Tell whether reservations stand in the message beside nodes: which of them does is not compared."""
    texts = (refusals.of_text(text) for _, text in root.counts)
    drawing = (attempt for attempt in attempts if attempt.prepared.reservations)
    ours = (one.reason for attempt in drawing for one in attempt.refused)
    return refusals.OF_RESERVATION in texts or any(isinstance(reason, _OF_RESERVATIONS) for reason in ours)
