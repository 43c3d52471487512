"""What the scheduler last said of a gang, how old that is, whether it still holds, and when it tries again."""

from collections.abc import Container, Iterable, Iterator, Sequence

from msgspec import Struct, structs

from kubectl_koord.messages.parser import ParsedMessage, QuotaMessage, TopologyMessage, read
from kubectl_koord.messages.phrases import Phrase, phrase
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.traces import Event
from kubectl_koord.reports.codes import OF_GAP, CauseCode
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.pending import SaidText, SchedulerSays, SlotRow, WhyReport
from kubectl_koord.wording.words import listed

# Coscheduling registers no cluster events: nothing that happens to nodes or other pods wakes what it alone refused.
_SELDOM = "it retries within about 5 minutes, or when a pod joins or the PodGroup changes"
_SOON = "it retries when resources are freed or the cluster changes, after 5 minutes at the latest"

_SENTENCES = {
    "gang-unknown": "did not know gang {gang}",
    "gang-not-initialised": "found no valid minimum for gang {gang}",
    "gang-gone": "found that the gang was deleted",
    "group-incomplete": "found the gang group incomplete: {reason}",
    "group-in-round": "had not tried the pod in this round yet",
    "group-attempted": "had tried every pod of the gang once, which ended the round",
    "member-represents": "tried {pod} for the whole gang",
    "member-not-known": "did not have {pod} among the gang's pods",
    "member-unreserved": "gave up the round because {pod} could not be bound in time",
    "no-topology": "had no topology tree",
    "no-pending-pods": "found no pending pods to plan for",
    "plan-invalid": "found that its plan was no longer valid",
    "batch-failed": "failed to place {failed} of the planned pods, {pod} first: {reason}",
    "batch-waits": "ended the round while {pods} pods still waited",
    "batch-not-permitted": "did not permit {pod} on {node}: {reason}",
    "permit-timeout": "gave up after waiting {waited} for the other pods",
    "preempted": "gave the place of this waiting pod to another",
    "preempt-success": "preempted pods for it and retries when they have terminated",
    "preempts-never": "may not preempt for it: preemptionPolicy is Never",
    "victims-terminate": "waited for preempted pods to terminate",
    "quota-hook": "was refused by the quota hook {plugin}: {reason}",
    "other-scheduler": "found another scheduler's name on the pod",
    "being-deleted": "found the pod being deleted",
    "plugin-failed": "failed in plugin {plugin}: {reason}",
    "filter-failed": "gave up the attempt because plugin {plugin} failed: {reason}",
    "device-amount-invalid": "refused the amount {amount} of {resource}",
    "device-set-invalid": "refused this set of device resources: {resources}",
    "device-annotation-unreadable": "could not read annotation {annotation}: {reason}",
    "device-selector-invalid": "could not read {selector} of the device hint for {type}: {reason}",
    "device-template-missing": "found no template for the requested share of the device",
    "before-1.7-too-few-pods": "found too few pods of the gang (a scheduler older than 1.7)",
    "before-1.7-cycle": "was not in the right cycle of the gang (a scheduler older than 1.7)",
    "before-1.7-rejected": "rejected the gang because of {pod}: {reason} (a scheduler older than 1.7)",
}
# What a pod that waited in Permit may be told; it never names what another member lacked.
_TOLD_TO_WAITING = {
    "gang-gone",
    "group-attempted",
    "permit-timeout",
    "plan-invalid",
    "preempted",
    "preempt-success",
    "preempts-never",
    "victims-terminate",
}
# What becomes of the pods behind one that did not fit on its planned node.
_UNPLANNED = phrase('running PreFilter plugin "Coscheduling": no planned pods')
_OF_PREEMPTION = {"no potential victims", "Preemption is not helpful for scheduling"}
_OF_COSCHEDULING = ("gang-", "group-", "member-", "no-topology")
_OF_REQUEST = {"device-amount-invalid", "device-set-invalid", "device-annotation-unreadable", "device-selector-invalid"}


class Reported(Struct, frozen=True):
    """One text about one pod (`ns/name`), the time that goes with it, and what it says."""

    pod: str
    message: str
    since: str
    words: ParsedMessage


def scheduler_says(
    pending: Sequence[PendingPod],
    events: Iterable[Event],
    rows: Sequence[SlotRow],
    verdict: Verdict,
    cause: CauseCode | None = None,
) -> SchedulerSays | None:
    """Return the root cause among the members' conditions, None where nothing was said.

    Events count where no pod has a condition, and tell how recent the words are: a condition keeps the
    time of the first failure. `agrees` compares the slots with those of now, and what was said of the request with
    the `cause`; without either it is False when the gang would be placed now.
    """
    heard = _of_members(pending, events)
    said = conditions(pending) or [
        Reported(event.key, event.note, event.first_seen, read(event.note)) for event in heard
    ]
    if not said:
        return None
    root = root_of(said)
    agrees = _agrees(root.words, rows, verdict, cause)
    return SchedulerSays(
        message=root.message,
        since=root.since,
        agrees=agrees,
        pod=root.pod,
        last_seen=max([root.since, *(event.last_seen for event in heard)], key=_instant) if heard else None,
        reads=_sentence(root.words),
        now=_now(root.words.slots, rows, verdict, wanted=len(pending), agrees=agrees),
        retry=_retry(root.words.root) if agrees is False else "",
    )


def root_of(said: Sequence[Reported]) -> Reported:
    """Return what tells the root cause; of several the newest.

    Best a pod's own failure, then what quotes another's, then what a pod was told that had waited in Permit:
    those texts tell how the round ended (the preemption that followed, for one), not why.
    """
    stored = {fragment.words for one in said for fragment in one.words.preemption}
    return max(said, key=lambda one: (_weight(one.words, stored), _instant(one.since)))


def _weight(words: ParsedMessage, stored: Container[ParsedMessage]) -> int:
    """Return how near a text is to the root cause; `stored` is what was said of preemption."""
    code = words.phrase.code if words.phrase else ""
    if words.is_quote or code == "before-1.7-rejected" or words.phrase == _UNPLANNED:
        return 2
    if code == "member-unreserved":
        return 0
    # 1.7 tells those that waited the bare text of the failed preemption, which has the shape of a failure.
    is_of_preemption = words in stored or _tells_of_preemption(words)
    return 1 if words.permit or is_of_preemption or code in _TOLD_TO_WAITING else 3


def _tells_of_preemption(words: ParsedMessage) -> bool:
    return any(reason in _OF_PREEMPTION for _, reason in words.counts)


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
    """Yield a warning where events could not be read and their times would have told something."""
    gap = snapshot.gap("Event")
    if says is not None and gap is not None and gap.code != "not-in-input":
        yield Notice(OF_GAP[gap.code], f"Event: {gap.message}: the time of the scheduler's last message is unknown.")


def conditions(pending: Sequence[PendingPod]) -> list[Reported]:
    """Return what the conditions of pods say."""
    return [
        Reported(pod.key, pod.condition.message, pod.condition.since, read(pod.condition.message))
        for pod in pending
        if pod.condition and pod.condition.message
    ]


def _of_members(pending: Sequence[PendingPod], events: Iterable[Event]) -> list[Event]:
    """Return the failed attempts of these pods, none of earlier pods of the same names."""
    created = {pod.key: _instant(pod.created) for pod in pending}
    return [
        event
        for event in events
        if event.reason == "FailedScheduling"
        and event.key in created
        and _instant(event.last_seen) >= created[event.key]
    ]


def _instant(written: str) -> str:
    """Return an RFC 3339 time so that texts compare as times do, with fractions of a second or without."""
    return written.removesuffix("Z")


def _agrees(words: ParsedMessage, rows: Sequence[SlotRow], verdict: Verdict, cause: CauseCode | None) -> bool | None:
    said = words.root.phrase
    if said is not None and said.code in _OF_REQUEST and cause == "invalid-request":
        return True
    slots = words.slots
    if slots is not None and rows and not slots.text:
        if slots.best is not None:
            return slots.best == (len(rows), max(row.offer_slots for row in rows))
        counted = {(domain.layer, domain.name): domain.slots for domain in slots.domains}
        return counted == {(row.layer, row.name): row.offer_slots for row in rows}
    return False if verdict == "yes" else None


def _sentence(words: ParsedMessage) -> str:
    """Return what was understood, empty where nothing was."""
    root = words.root
    if root.topology is not None:
        return f"the scheduler {_counted(root.topology)}"
    if root.quota is not None:
        return f"the scheduler {_exhausted(root.quota)}"
    if root.phrase is not None:
        return f"the scheduler {_phrased(root.phrase)}"
    if root.counts:
        found = "could not preempt for it" if _tells_of_preemption(root) else "found no node"
        return f"the scheduler {found}: {listed([f'{n} {reason}' for n, reason in root.counts])}"
    return ""


def _counted(plan: TopologyMessage) -> str:
    part = " (part of its list could not be read)" if plan.text else ""
    if plan.best is not None:
        return f"counted at most {plan.best[1]} of {plan.desired} slots in each of {plan.best[0]} domains"
    if not plan.domains:
        return f"found no domain in the requested layer{part}"
    most = max(domain.slots for domain in plan.domains)
    names = [domain.name or "the whole cluster" for domain in plan.domains if domain.slots == most]
    return f"counted {most} of {plan.desired} slots in {listed(names)}{part}"


def _exhausted(quota: QuotaMessage) -> str:
    kind = "quota" if quota.limit == "runtime" else "non-preemptible quota"
    limits, used, asked = (dict(amounts) for amounts in (quota.allowed, quota.used, quota.request))
    parts = [
        f"{name} {used.get(name, '0')} used, {asked.get(name, '0')} requested, limit {limits.get(name, '0')}"
        for name in quota.exceeded
    ]
    return f"found {kind} {'/'.join(quota.names)} exhausted: {listed(parts)}"


def _phrased(phrase: Phrase) -> str:
    return _SENTENCES[phrase.code].format_map(phrase.names)


def _now(
    plan: TopologyMessage | None, rows: Sequence[SlotRow], verdict: Verdict, *, wanted: int, agrees: bool | None
) -> str:
    """Return what is computed now, beside what was said."""
    if agrees:
        return "it is unchanged"
    if plan is None or not rows:
        return {"yes": "it would be placed", "no": "it would still not be placed", "unknown": ""}[verdict]
    most = max((domain.slots for domain in plan.domains), default=-1)
    named = {(domain.layer, domain.name) for domain in plan.domains if domain.slots == most}
    there = sorted({row.offer_slots for row in rows if (row.layer, row.name) in named})
    best = max(rows, key=lambda row: row.offer_slots)
    if len(there) == 1 and there[0] == best.offer_slots != most:
        return f"it is {best.offer_slots} of {wanted}"
    where = f"in {best.name}" if best.name else "in the whole cluster"
    return f"the most is {best.offer_slots} of {wanted} {where}"


def _retry(root: ParsedMessage) -> str:
    """Return when the scheduler tries again: what Coscheduling alone refused is not woken by freed room."""
    if root.topology is not None or (root.phrase is not None and root.phrase.code.startswith(_OF_COSCHEDULING)):
        return _SELDOM
    return _SOON if root.counts or root.quota is not None else ""
