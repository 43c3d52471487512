"""What the scheduler said of a gang, and whether it still holds beside what is computed now."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, structs

from kubectl_koord.diagnosis import evidence
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.reasons import (
    BeyondReservation,
    BeyondReservedDevices,
    BeyondReservedZones,
    PreFilterRefusal,
    QuotaExceeded,
)
from kubectl_koord.engine.reservations import one_of_each_owner, owned
from kubectl_koord.engine.slots import Offer
from kubectl_koord.messages import conditions as refusals
from kubectl_koord.messages.conditions import conditions, failed_attempts, instant, of_events, root_of
from kubectl_koord.messages.parser import ParsedMessage, QuotaMessage, TopologyMessage
from kubectl_koord.model.pods import Event, PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import memoised
from kubectl_koord.reports.common import OF_GAP, CauseCode, Notice, Verdict
from kubectl_koord.reports.jobs import SaidText, SchedulerSays, SlotRow, WhyReport
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording import facts

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


_OF_COSCHEDULING = ("gang-", "group-", "member-", "no-topology")


def scheduler_says(
    pending: Sequence[PendingPod],
    events: Iterable[Event],
    rows: Sequence[SlotRow],
    now: Computed,
) -> SchedulerSays | None:
    """Return the root cause among the members' conditions, None where nothing was said.

    Events count where no pod has a condition, and show how recent the message is: a condition keeps the
    time of the first failure. `rows` are the slots that are shown beside it.
    """
    attempts = failed_attempts(pending, events)
    reported = conditions(pending) or of_events(attempts)
    if not reported:
        return None
    root = root_of(reported)
    holds = agrees(root.parsed, now)
    return SchedulerSays(
        message=root.message,
        since=root.since,
        agrees=holds,
        pod=root.pod,
        last_seen=max([root.since, *(event.last_seen for event in attempts)], key=instant) if attempts else None,
        reads=facts.understood(root.parsed),
        now=_now(root.parsed.slots, rows, now.verdict, wanted=len(pending), agrees=holds),
        retry=_retry(root.parsed.root, now.simulation) if holds is False else "",
    )


def members_bring_it_back(simulation: Simulation) -> bool:
    """Tell whether a gang that was refused is mostly tried again within seconds, whatever changes.

    A round takes all members but the first past the queue (`runNextPodPlugin`). From 1.8 on, whose kube-scheduler does
    not know such pods to be in flight, a refused one waits for its backoff alone, and begins another round.
    """
    return simulation.snapshot.config.version != "1.7" and len(simulation.subject.pending) > 1


def with_texts(report: WhyReport, pending: Sequence[PendingPod]) -> WhyReport:
    """Return the report with every distinct text on the pods: the root cause first, then the most frequent."""
    says = report.scheduler_says
    if says is None:
        return report
    pods: dict[str, list[str]] = {}
    for one in conditions(pending):
        pods.setdefault(one.message, []).append(one.pod)
    ranked = sorted(pods.items(), key=lambda item: (item[0] != says.message, -len(item[1]), item[1]))
    texts = tuple(SaidText(message, tuple(names)) for message, names in ranked) or (
        SaidText(says.message, (says.pod,)),
    )
    return structs.replace(report, scheduler_says=structs.replace(says, texts=texts))


def unseen_events(snapshot: Snapshot, says: SchedulerSays | None) -> Iterator[Notice]:
    """Yield a warning where events could not be read and would have shown how recent the message is."""
    gap = snapshot.gap("Event")
    if says is not None and gap is not None and gap.code != "not-in-input":
        yield Notice(OF_GAP[gap.code], facts.unknown_time(gap))


def _now(
    plan: TopologyMessage | None, rows: Sequence[SlotRow], verdict: Verdict, *, wanted: int, agrees: bool | None
) -> str:
    """Return what is computed now, to be read beside what the scheduler said."""
    if agrees:
        return facts.UNCHANGED
    if plan is None or not rows:
        return facts.PLACED_NOW[verdict]
    most = max((domain.slots for domain in plan.domains), default=-1)
    named = {(domain.layer, domain.name) for domain in plan.domains if domain.slots == most}
    same_domains = {row.offer_slots for row in rows if (row.layer, row.name) in named}
    best = max(rows, key=lambda row: row.offer_slots)
    if same_domains == {best.offer_slots} and best.offer_slots != most:
        return facts.slots_there_now(best.offer_slots, wanted)
    return facts.most_slots_now(best, wanted)


def _retry(root: ParsedMessage, simulation: Simulation) -> str:
    """Return when the scheduler tries again: what Coscheduling alone refused is not woken by freed room."""
    if root.topology is not None and members_bring_it_back(simulation):
        return facts.RETRIES_OFTEN
    if root.topology is not None or (root.phrase is not None and root.phrase.code.startswith(_OF_COSCHEDULING)):
        return facts.RETRIES_SELDOM
    is_of_nodes = bool(root.counts) and root.phrase is None
    return facts.RETRIES_SOON if is_of_nodes or root.quota is not None else ""
