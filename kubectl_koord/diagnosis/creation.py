"""Pods that a gang lacks, and what their controllers said when they could not make them."""

from collections.abc import Iterable, Iterator

from msgspec import structs

from kubectl_koord.engine.gangs import Gang
from kubectl_koord.engine.subjects import Subject
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.traces import Event
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.jobs.pending import Cause
from kubectl_koord.wording.ages import age_at
from kubectl_koord.wording.answers.pending import not_created

_TOO_FEW: frozenset[CauseCode] = frozenset({"too-few-pods", "group-member-too-few-pods"})


def lacks_pods(subject: Subject) -> bool:
    """Tell whether a gang that the subject starts with has fewer pods than it needs."""
    return any(_lacks(gang) for gang in subject.gangs.values() if gang is not None)


def told(subject: Subject, snapshot: Snapshot, cause: Cause) -> Cause:
    """Return the cause with what a controller last said of pods that it could not make, where it said so.

    It is one that owns pods of the gang that lacks some, or has its name.
    """
    event = last_said(subject.gangs.values(), snapshot) if cause.code in _TOO_FEW else None
    if event is None:
        return cause
    age = age_at(event.last_seen, snapshot.moment)
    return structs.replace(cause, message=not_created(cause.message, f"{event.kind} {event.name}", event.note, age))


def last_said(gangs: Iterable[Gang | None], snapshot: Snapshot) -> Event | None:
    """Return what was last said of pods that could not be made, of those of these gangs that lack pods."""
    found = max(_events(gangs, snapshot), key=_rank, default=None)
    return found[1] if found is not None else None


def _rank(found: tuple[bool, Event]) -> tuple[bool, str]:
    is_owner, event = found
    return is_owner, event.last_seen.removesuffix("Z")


def _lacks(gang: Gang) -> bool:
    return gang.minimum is not None and gang.children < gang.minimum


def _events(gangs: Iterable[Gang | None], snapshot: Snapshot) -> Iterator[tuple[bool, Event]]:
    """Yield the events of controllers of the gangs that lack pods, and whether these own pods of theirs."""
    for gang in gangs:
        if gang is None or not _lacks(gang):
            continue
        namespace, _, name = gang.key.partition("/")
        owners = {*(pod.owner for pod in gang.pending), *(pod.owner for pod in gang.running)}
        for event in snapshot.events:
            is_owner = f"{event.kind}/{event.name}" in owners
            if event.kind != "Pod" and event.namespace == namespace and (is_owner or event.name == name):
                yield is_owner, event
