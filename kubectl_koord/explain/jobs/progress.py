"""What has changed between two answers, each change short enough for a line; and whether a wait is over."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.explain.jobs import volcano
from kubectl_koord.explain.jobs.why import why
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.jobs.gangs import GangsReport
from kubectl_koord.reports.jobs.pending import PendingGangsReport, WhyReport
from kubectl_koord.reports.jobs.volcano import VolcanoGang
from kubectl_koord.simulation.subjects import again
from kubectl_koord.wording.ages import without_ages
from kubectl_koord.wording.answers import progress as sentences
from kubectl_koord.wording.answers import volcano as of_volcano
from kubectl_koord.wording.pages.jobs import gangs as of_gangs
from kubectl_koord.wording.words import asked_for


class ProgressNote(Struct, frozen=True):
    """One change: the subject (`ns/gang`, or `pod/ns/name`), what has changed, and the verdict from now on."""

    subject: str
    text: str
    verdict: Verdict


def gang_changes(before: GangsReport, after: GangsReport) -> tuple[ProgressNote, ...]:
    """Return how those gangs do that are not as they were, and which are gone."""
    known = {item.gang: item for item in before.items}
    found = [
        ProgressNote(item.gang, of_gangs.progress(item), item.verdict)
        for item in after.items
        if item != known.pop(item.gang, None)
    ]
    return (*found, *(ProgressNote(gang, sentences.GONE, "unknown") for gang in known))


def is_scheduled(subject: Subject) -> bool:
    """Tell whether no pod is pending and every gang of the group has its minimum, at least one pod, on nodes.

    Pods that are being deleted count no more: they make way, perhaps for those to come.
    """
    if isinstance(subject, PodSubject):
        return not subject.pending
    for gang in subject.gangs.values():
        if gang is None or gang.minimum is None or gang.pending:
            return False
        leaving = sum(1 for pod in gang.running if pod.terminating)
        if gang.bound - leaving < max(gang.minimum, 1):
            return False
    return True


def changes(before: WhyReport, after: WhyReport) -> str:
    """Return what has changed for those who wait for a subject, empty where nothing has.

    That is: the verdict and its cause, slots by domain, pods pending and on nodes, and ways out. Of a gang of Volcano
    what that wrote.
    """
    if before.volcano is not None and after.volcano is not None:
        return "; ".join(volcano.changes(before.volcano, after.volcano))
    return "; ".join(_changes(before, after))


def listing_changes(
    snapshot: Snapshot, before: PendingGangsReport, after: PendingGangsReport
) -> tuple[ProgressNote, ...]:
    """Return which subjects have begun to wait, wait for another cause, or wait no more (as the snapshot tells why).

    And that others may be missing, from where on a kind that decides what is listed can be read no more.
    """
    old, new = ({(item.lone_pod, item.gang_group or item.gang): item for item in one.items} for one in (before, after))
    found = []
    for key, item in new.items():
        earlier = old.get(key)
        if earlier is None or _verdict_and_cause(earlier) != _verdict_and_cause(item):
            found.append(ProgressNote(name_of(item), _state(item), item.verdict))
    if after.message not in {"", before.message}:
        found.append(ProgressNote(sentences.LISTING, sentences.list_incomplete(after.message), after.verdict))
    gone = (_no_longer_listed(snapshot, item) for key, item in old.items() if key not in new)
    return (*found, *gone, *_of_volcano(snapshot, before.volcano, after.volcano))


def _of_volcano(
    snapshot: Snapshot, before: Iterable[VolcanoGang], after: Iterable[VolcanoGang]
) -> Iterator[ProgressNote]:
    """Yield which gangs of Volcano have begun to wait, are in another phase or queue, or wait no more."""
    old, new = ({gang.gang: gang for gang in some} for some in (before, after))
    for key, gang in new.items():
        earlier = old.get(key)
        text = "; ".join(volcano.changes(earlier, gang)) if earlier else of_volcano.state(gang)
        if text:
            yield ProgressNote(key, text, "unknown")
    for key in (key for key in old if key not in new):
        now = volcano.again(snapshot, key)
        yield ProgressNote(key, of_volcano.state(now) if now else sentences.GONE, "yes" if now else "unknown")


def outcome(report: WhyReport, *, reached: bool, waited: str) -> str:
    """Return how waiting for a gang has ended, in one sentence; `waited` is the time limit as the user wrote it."""
    name = sentences.called(report.gang, lone_pod=report.lone_pod)
    if report.volcano is not None:
        if reached:
            return sentences.ended_scheduled(name, of_volcano.scheduled(report.volcano))
        return sentences.ended_pending(name, waited, f"{_reason(report)}.", certain=True)
    if reached:
        return sentences.ended_scheduled(name, _on_nodes(report))
    if not report.pending_pods:
        return sentences.ended_too_few(name, waited, _too_few(report))
    if report.verdict == "yes":
        return sentences.ended_not_retried(name, waited)
    return sentences.ended_pending(name, waited, _reason(report), certain=report.verdict == "no")


def gone(snapshot: Snapshot, subject: Subject) -> str:
    """Return what is to be said of a subject that is there no more."""
    if isinstance(subject, PodSubject):
        return sentences.pod_gone(subject.key)
    if not snapshot.sees("PodGroup", subject.key.partition("/")[0]):
        return sentences.gang_not_seen(subject.key)
    return sentences.gang_gone(subject.key)


def name_of(report: WhyReport) -> str:
    """Return the name of the subject as listings print it."""
    return asked_for(report.gang, lone_pod=report.lone_pod)


def _changes(before: WhyReport, after: WhyReport) -> Iterator[str]:
    if not after.pending_pods:
        if before.pending_pods or before.bound_pods != after.bound_pods:
            yield _state(after)
        return
    yield from _numbers(before, after)
    is_same = _verdict_and_cause(before) == _verdict_and_cause(after)
    slots = tuple(_slots(before, after)) if is_same and after.verdict != "yes" else ()
    yield from slots
    if not is_same or _compared_reason(before, numbers=not slots) != _compared_reason(after, numbers=not slots):
        yield _state(after)
    if after.verdict == "no":
        yield from _ways_out(before, after)


def _numbers(before: WhyReport, after: WhyReport) -> Iterator[str]:
    pending = len(after.pending_pods)
    if before.bound_pods != after.bound_pods:
        yield sentences.bound_changed(after.bound_pods, after.bound_pods + pending, before.bound_pods)
    elif before.pending_pods and len(before.pending_pods) != pending:
        yield sentences.pending_changed(pending, len(before.pending_pods))


def _verdict_and_cause(report: WhyReport) -> tuple[Verdict, str, bool]:
    return report.verdict, report.cause.code if report.cause else "", bool(report.pending_pods)


def _compared_reason(report: WhyReport, *, numbers: bool) -> str:
    """Return the reason, perhaps without its numbers: those of slots are given by domain."""
    if report.verdict == "yes":
        return ""
    reason = without_ages(_reason(report))
    return reason if numbers else re.sub(r"\d+", "", reason)


def _state(report: WhyReport) -> str:
    """Return how a subject stands, without its name."""
    if not report.pending_pods:
        return _on_nodes(report) if report.lone_pod or _has_minimum(report) else _too_few(report)
    if report.verdict == "no":
        return sentences.pending(_reason(report))
    if report.verdict == "unknown":
        return sentences.undecided(_reason(report))
    placement = report.placement or {}
    return sentences.would_be_placed(placement.keys(), sorted(set(placement.values())))


def _has_minimum(report: WhyReport) -> bool:
    return report.bound_pods >= max(report.min_member, 1)


def _on_nodes(report: WhyReport) -> str:
    return sentences.on_nodes(report.bound_pods, lone_pod=report.lone_pod)


def _too_few(report: WhyReport) -> str:
    return sentences.too_few(report.bound_pods, report.min_member)


def _reason(report: WhyReport) -> str:
    if report.cause:
        return report.cause.message
    return report.warnings[-1].message if report.warnings else sentences.NO_REASON


def _slots(before: WhyReport, after: WhyReport) -> Iterator[str]:
    """Yield the domains whose slots have changed, those with the most slots first."""
    old = {(row.layer, row.name): row.offer_slots for row in before.domains}
    changed = [row for row in after.domains if old and old.get((row.layer, row.name)) != row.offer_slots]
    changed.sort(key=lambda row: -row.offer_slots)
    for row in changed:
        domain = row.layer, row.name
        yield sentences.slots_changed(row.offer_slots, after.desired_offer_slot, domain, old.get(domain))


def _ways_out(before: WhyReport, after: WhyReport) -> Iterator[str]:
    """Yield the first way out that is new, or the first of those that are no way out any more."""
    old, new = ([way.message for way in report.unblock] for report in (before, after))
    more = [message for message in new if without_ages(message) not in map(without_ages, old)]
    less = [message for message in old if without_ages(message) not in map(without_ages, new)]
    if more:
        yield sentences.now_helps(more)
    elif less and before.verdict == "no":
        yield sentences.no_longer_helps(less)


def _no_longer_listed(snapshot: Snapshot, item: WhyReport) -> ProgressNote:
    """Return what became of a subject that a listing no longer holds."""
    subject = again(snapshot, item.gang, lone_pod=item.lone_pod)
    if subject is None:
        is_seen = item.lone_pod or snapshot.sees("PodGroup", item.gang.partition("/")[0])
        return ProgressNote(name_of(item), sentences.GONE if is_seen else sentences.NONE_UNFINISHED, "unknown")
    report = why(snapshot, subject, brief=True)
    return ProgressNote(name_of(item), _state(report), report.verdict)
