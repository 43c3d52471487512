"""What has changed between two answers, in the words that one line holds; and whether a wait is over."""

import re
from collections.abc import Iterator

from msgspec import Struct

from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.explain.why import why
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Verdict
from kubectl_koord.reports.pending import PendingGangsReport, SlotRow, WhyReport
from kubectl_koord.simulation.subjects import again
from kubectl_koord.wording.words import count, layer_noun, listed


class ProgressNote(Struct, frozen=True):
    """One change: of whom (`ns/gang`, or `pod/ns/name`), in words, and the verdict from now on."""

    subject: str
    text: str
    verdict: Verdict


def is_scheduled(subject: Subject) -> bool:
    """Tell whether nobody is pending and every gang of the group has its minimum, at least one pod, on nodes.

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


def news(before: WhyReport, after: WhyReport) -> str:
    """Return what a person wants to know of the change, empty where it is nothing.

    That is: the verdict and its cause, slots by domain, pods pending and on nodes, and ways out.
    """
    return "; ".join(_news(before, after))


def listing_news(snapshot: Snapshot, before: PendingGangsReport, after: PendingGangsReport) -> tuple[ProgressNote, ...]:
    """Return who has begun to wait, waits for another cause, or waits no more (as the snapshot tells why).

    And that others may be missing, from where on a kind that decides what is listed can be read no more.
    """
    old, new = ({(item.lone_pod, item.gang_group or item.gang): item for item in one.items} for one in (before, after))
    found = []
    for key, item in new.items():
        earlier = old.get(key)
        if earlier is None or _essence(earlier) != _essence(item):
            found.append(ProgressNote(name_of(item), _stands(item), item.verdict))
    if after.message not in {"", before.message}:
        found.append(ProgressNote("this list", f"may be incomplete: {after.message.rstrip('.')}", after.verdict))
    return (*found, *(_left(snapshot, item) for key, item in old.items() if key not in new))


def outcome(report: WhyReport, *, reached: bool, waited: str) -> str:
    """Return how waiting for a gang has ended, in one sentence; `waited` is the time limit as the user wrote it."""
    name = _called(report)
    if reached:
        return f"{name} is {_on_nodes(report)}."
    if not report.pending_pods:
        return f"{name} is not scheduled after {waited}: {_too_few(report)}."
    if report.verdict == "yes":
        return f"{name} is still pending after {waited}: it would be placed now, but the scheduler has not retried yet."
    doubt = "cannot tell whether it would be placed: " if report.verdict == "unknown" else ""
    return f"{name} is still pending after {waited}: {doubt}{_reason(report)}"


def gone(snapshot: Snapshot, subject: Subject) -> str:
    """Return what is to be said of a subject that is there no more."""
    if isinstance(subject, PodSubject):
        return f"pod {subject.key} was deleted or has finished"
    if not snapshot.sees("PodGroup", subject.key.partition("/")[0]):
        return f"{subject.key} has no unfinished pods left, and PodGroups could not be read"
    return f"{subject.key} no longer exists: it has no unfinished pods and no PodGroup"


def name_of(report: WhyReport) -> str:
    """Return the name of the subject as listings print it."""
    return f"pod/{report.gang}" if report.lone_pod else report.gang


def _called(report: WhyReport) -> str:
    return f"pod {report.gang}" if report.lone_pod else report.gang


def _news(before: WhyReport, after: WhyReport) -> Iterator[str]:
    if not after.pending_pods:
        if before.pending_pods or before.bound_pods != after.bound_pods:
            yield _stands(after)
        return
    yield from _numbers(before, after)
    same = _essence(before) == _essence(after)
    slots = tuple(_slots(before, after)) if same and after.verdict != "yes" else ()
    yield from slots
    if not same or _says(before, numbers=not slots) != _says(after, numbers=not slots):
        yield _stands(after)
    if after.verdict == "no":
        yield from _helps(before, after)


def _numbers(before: WhyReport, after: WhyReport) -> Iterator[str]:
    if before.bound_pods != after.bound_pods:
        every = after.bound_pods + len(after.pending_pods)
        yield f"{after.bound_pods} of {count(every, 'pod')} on a node (was {before.bound_pods})"
    elif before.pending_pods and len(before.pending_pods) != len(after.pending_pods):
        yield f"{count(len(after.pending_pods), 'pod')} pending (was {len(before.pending_pods)})"


def _essence(report: WhyReport) -> tuple[Verdict, str, bool]:
    return report.verdict, report.cause.code if report.cause else "", bool(report.pending_pods)


def _says(report: WhyReport, *, numbers: bool) -> str:
    """Return the reason, perhaps without its numbers: those of slots are told by domain."""
    if report.verdict == "yes":
        return ""
    return _reason(report) if numbers else re.sub(r"\d+", "", _reason(report))


def _stands(report: WhyReport) -> str:
    """Return how things stand, without the name."""
    if not report.pending_pods:
        return _on_nodes(report) if report.lone_pod or _has_minimum(report) else _too_few(report)
    if report.verdict == "no":
        return f"pending: {_reason(report).rstrip('.')}"
    if report.verdict == "unknown":
        return f"cannot tell whether it would be placed: {_reason(report).rstrip('.')}"
    if not report.placement:
        return "would be placed now"
    nodes = sorted(set(report.placement.values()))
    place = listed(nodes)
    return f"would be placed now: {count(len(report.placement), 'pod')} on {place}"


def _has_minimum(report: WhyReport) -> bool:
    return report.bound_pods >= max(report.min_member, 1)


def _on_nodes(report: WhyReport) -> str:
    return f"scheduled: {'it is' if report.lone_pod else count(report.bound_pods, 'pod')} on a node"


def _too_few(report: WhyReport) -> str:
    return f"no pending pods, {report.bound_pods} on a node, {report.min_member} needed"


def _reason(report: WhyReport) -> str:
    if report.cause:
        return report.cause.message
    return report.warnings[-1].message if report.warnings else "no reason was found."


def _slots(before: WhyReport, after: WhyReport) -> Iterator[str]:
    """Yield the domains whose slots have changed, those with the most slots first."""
    old = {(row.layer, row.name): row.offer_slots for row in before.domains}
    changed = [row for row in after.domains if old and old.get((row.layer, row.name)) != row.offer_slots]
    changed.sort(key=lambda row: -row.offer_slots)
    wanted = f" of {after.desired_offer_slot}" if after.desired_offer_slot is not None else ""
    for row in changed:
        was = old.get((row.layer, row.name))
        yield f"{row.offer_slots}{wanted} slots in {_place(row)} ({'new' if was is None else f'was {was}'})"


def _place(row: SlotRow) -> str:
    return row.name or f"the {layer_noun(row.layer)}"


def _helps(before: WhyReport, after: WhyReport) -> Iterator[str]:
    """Yield the first way out that is new, or the first of those that are no way out any more."""
    old, new = ([way.message for way in report.unblock] for report in (before, after))
    more = [message for message in new if message not in old]
    less = [message for message in old if message not in new]
    if more:
        yield f"now helps: {_first(more)}"
    elif less and before.verdict == "no":
        yield f"no longer helps: {_first(less)}"


def _first(messages: list[str]) -> str:
    return messages[0] + (f" (the first of {len(messages)})" if messages[1:] else "")


def _left(snapshot: Snapshot, item: WhyReport) -> ProgressNote:
    """Return what became of a subject that a listing no longer holds."""
    subject = again(snapshot, item.gang, lone_pod=item.lone_pod)
    if subject is None:
        is_seen = item.lone_pod or snapshot.sees("PodGroup", item.gang.partition("/")[0])
        return ProgressNote(name_of(item), "gone" if is_seen else "no unfinished pods any more", "unknown")
    report = why(snapshot, subject, brief=True)
    return ProgressNote(name_of(item), _stands(report), report.verdict)
