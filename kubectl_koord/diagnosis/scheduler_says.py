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
from kubectl_koord.language import say
from kubectl_koord.messages import conditions as condition_texts
from kubectl_koord.messages.conditions import conditions, failed_attempts, instant, of_events, root_of
from kubectl_koord.messages.parser import ParsedMessage, QuotaMessage, TopologyMessage
from kubectl_koord.model.pods import Event, PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import memoised
from kubectl_koord.reports.common import OF_GAP, CauseCode, Notice, Verdict
from kubectl_koord.reports.jobs import SaidText, SchedulerSays, SlotRow, WhyReport
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.wording.facts import resources_exceeded
from kubectl_koord.wording.words import listed

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
    said = condition_texts.said(root.counts) if failed else None
    if said is None:
        return None
    own = said.keys() - {condition_texts.LEFT_OUT}
    is_of_seat = bool(own) and any(own == set(_of_seat(attempt)) for attempt in failed)
    by_nodes = [attempt for attempt in failed if attempt.plan is None and attempt.failed_seat is None]
    counts_all = root.nodes == len(now.simulation.view.names())
    if is_of_seat or (counts_all and any(said == _counted(attempt) for attempt in by_nodes)):
        return True
    starts_afresh = len(by_nodes) == len(now.attempts) and not any(attempt.waiting for attempt in by_nodes)
    is_certain = own == said.keys() and starts_afresh and _are_alike(now)
    return None if not is_certain or _are_reservations_counted(root, by_nodes) else False


def _counted(attempt: Attempt) -> Mapping[condition_texts.Refusal, int]:
    answers = attempt.node_answers
    return _of_offer(answers) if isinstance(answers, Offer) else condition_texts.counted(attempt.refused)


@memoised
def _of_offer(offer: Offer) -> Mapping[condition_texts.Refusal, int]:
    return condition_texts.counted(offer.reasons)


def _of_seat(attempt: Attempt) -> tuple[condition_texts.Refusal, ...]:
    """Return what a failed seat refuses for: the one node that was left to the pod."""
    seat = attempt.failed_seat
    return () if seat is None or isinstance(seat.reason, PreFilterRefusal) else condition_texts.of_reason(seat.reason)


def _are_reservations_counted(root: ParsedMessage, attempts: Sequence[Attempt]) -> bool:
    """Tell whether reservations stand in the message beside nodes: which of them does is not compared."""
    texts = (condition_texts.of_text(text) for _, text in root.counts)
    drawing = (attempt for attempt in attempts if attempt.prepared.reservations)
    ours = (one.reason for attempt in drawing for one in attempt.refused)
    return condition_texts.OF_RESERVATION in texts or any(isinstance(reason, _OF_RESERVATIONS) for reason in ours)


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
        reads=_understood(root.parsed),
        now=_now(root.parsed.slots, rows, now.verdict, wanted=len(pending), agrees=holds),
        retry=_retry(root.parsed.root, now.simulation) if holds is False else "",
    )


_SENTENCES = {
    "gang-unknown": say("did not know gang {gang}"),
    "gang-not-initialised": say("found no valid minimum for gang {gang}"),
    "gang-gone": say("found that the gang was deleted"),
    "group-incomplete": say("found the gang group incomplete: {reason}"),
    "group-in-round": say("had not tried the pod in this round yet"),
    "group-attempted": say("had tried every pod of the gang once, which ended the round"),
    "member-represents": say("tried {pod} for the whole gang"),
    "member-not-known": say("did not have {pod} among the gang's pods"),
    "member-unreserved": say("gave up the round because {pod} could not be bound in time"),
    "no-topology": say("had no topology tree"),
    "no-pending-pods": say("found no pending pods to plan for"),
    "plan-invalid": say("found that its plan was no longer valid"),
    "batch-failed": say("failed to place {failed} of the planned pods, {pod} first: {reason}"),
    "batch-waits": say("ended the round while {pods} pods still waited"),
    "batch-not-permitted": say("did not permit {pod} on {node}: {reason}"),
    "permit-timeout": say("gave up after waiting {waited} for the other pods"),
    "preempted": say("gave the place of this waiting pod to another"),
    "preempt-success": say("preempted pods for it and retries when they have terminated"),
    "preempts-never": say("may not preempt for it: preemptionPolicy is Never"),
    "victims-terminate": say("waited for preempted pods to terminate"),
    "quota-hook": say("was refused by the quota hook {plugin}: {reason}"),
    "no-reservation": say("found no reservation that matches the reservation affinity"),
    "other-scheduler": say("found another scheduler's name on the pod"),
    "being-deleted": say("found the pod being deleted"),
    "plugin-failed": say("failed in plugin {plugin}: {reason}"),
    "filter-failed": say("gave up the attempt because plugin {plugin} failed: {reason}"),
    "device-amount-invalid": say("refused the amount {amount} of {resource}"),
    "device-set-invalid": say("refused this set of device resources: {resources}"),
    "device-annotation-unreadable": say("could not read annotation {annotation}: {reason}"),
    "device-selector-invalid": say("could not read {selector} of the device hint for {type}: {reason}"),
    "device-template-missing": say("found no template for the requested share of the device"),
    "cpus-not-integer": say("refused parts of a CPU for a pod whose CPUs are bound"),
    "claim-unbound": say("found a volume claim that must be bound before pods are scheduled"),
    "claim-missing": say("did not find volume claim {claim}"),
    "claim-deleted": say("found volume claim {claim} being deleted"),
    "claim-of-other": say("found that volume claim {claim} was not made for this pod"),
    "claim-awaited": say("waited for volume claim {claim} of an ephemeral volume"),
    "volume-missing": say("did not find volume {volume}"),
    "device-class-missing": say("did not find device class {class}"),
    "before-1.7-too-few-pods": say("found too few pods of the gang (a scheduler older than 1.7)"),
    "before-1.7-cycle": say("was not in the right cycle of the gang (a scheduler older than 1.7)"),
    "before-1.7-rejected": say("rejected the gang because of {pod}: {reason} (a scheduler older than 1.7)"),
}


def _understood(parsed: ParsedMessage) -> str:
    """Return what a message says, `the scheduler found no node: 7 Insufficient cpu`; empty where it is not known."""
    root = parsed.root
    if root.topology is not None:
        return say("the scheduler {plan}", plan=_plan(root.topology))
    if root.quota is not None:
        return say("the scheduler {exhausted}", exhausted=_exhausted(root.quota))
    if root.phrase is not None:
        return say("the scheduler {format_map}", format_map=_SENTENCES[root.phrase.code].format_map(root.phrase.names))
    if root.counts:
        found = say("could not preempt for it") if root.is_failed_preemption else say("found no node")
        return say(
            "the scheduler {found}: {part}", found=found, part=listed([f"{n} {reason}" for n, reason in root.counts])
        )
    return ""


def _exhausted(quota: QuotaMessage) -> str:
    kind = say("quota") if quota.limit == "runtime" else say("non-preemptible quota")
    parts = [
        say("{name} {used} used, {asked} requested, limit {limit}", name=name, used=used, asked=asked, limit=limit)
        for name, used, limit, asked in resources_exceeded(quota)
    ]
    return say("found {kind} {names} exhausted: {parts}", kind=kind, names="/".join(quota.names), parts=listed(parts))


def _plan(plan: TopologyMessage) -> str:
    part = say(" (part of its list could not be read)") if plan.text else ""
    if plan.best is not None:
        return say(
            "counted at most {best} of {desired} slots in each of {best2} domains",
            best=plan.best[1],
            desired=plan.desired,
            best2=plan.best[0],
        )
    if not plan.domains:
        return say("found no domain in the requested layer{part}", part=part)
    most = max(domain.slots for domain in plan.domains)
    names = [domain.name or say("the whole cluster") for domain in plan.domains if domain.slots == most]
    return say(
        "counted {most} of {desired} slots in {names}{part}",
        most=most,
        desired=plan.desired,
        names=listed(names),
        part=part,
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
        yield Notice(
            OF_GAP[gap.code],
            say(
                "{kind}: {message}: the time of the scheduler's last message is unknown.",
                kind=gap.kind,
                message=gap.message,
            ),
        )


_PLACED_NOW: Mapping[Verdict, str] = {
    "yes": say("it would be placed"),
    "no": say("it would still not be placed"),
    "unknown": "",
}


def _now(
    plan: TopologyMessage | None, rows: Sequence[SlotRow], verdict: Verdict, *, wanted: int, agrees: bool | None
) -> str:
    """Return what is computed now, to be read beside what the scheduler said."""
    if agrees:
        return say("it is unchanged")
    if plan is None or not rows:
        return _PLACED_NOW[verdict]
    most = max((domain.slots for domain in plan.domains), default=-1)
    named = {(domain.layer, domain.name) for domain in plan.domains if domain.slots == most}
    same_domains = {row.offer_slots for row in rows if (row.layer, row.name) in named}
    best = max(rows, key=lambda row: row.offer_slots)
    if same_domains == {best.offer_slots} and best.offer_slots != most:
        return say("it is {offer_slots} of {wanted}", offer_slots=best.offer_slots, wanted=wanted)
    return _most_slots_now(best, wanted)


def _most_slots_now(best: SlotRow, wanted: int) -> str:
    where = say("in {name}", name=best.name) if best.name else say("in the whole cluster")
    return say(
        "the most is {offer_slots} of {wanted} {where}", offer_slots=best.offer_slots, wanted=wanted, where=where
    )


# Coscheduling registers no cluster events: nothing that happens to nodes or other pods wakes what it alone refused.
# An update of a PodGroup wakes its gang where it ends a lack of pods, and not otherwise.
_RETRIES_SELDOM = say(
    "it retries within 5 min 30 s, or at once when a pod is added or minMember goes above its pods and back"
)


def _retry(root: ParsedMessage, simulation: Simulation) -> str:
    """Return when the scheduler tries again: what Coscheduling alone refused is not woken by freed room."""
    if root.topology is not None and members_bring_it_back(simulation):
        return say("it mostly retries within seconds, after 5 min 30 s at the latest")
    if root.topology is not None or (root.phrase is not None and root.phrase.code.startswith(_OF_COSCHEDULING)):
        return _RETRIES_SELDOM
    is_of_nodes = bool(root.counts) and root.phrase is None
    return (
        say("it retries when resources are freed or the cluster changes, after 5 min 30 s at the latest")
        if is_of_nodes or root.quota is not None
        else ""
    )
