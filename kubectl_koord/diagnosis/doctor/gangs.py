"""Gangs that contradict themselves: what keeps them from ever being tried as one, or is not done as it was meant."""

from collections.abc import Iterator
from typing import TypeGuard

from kubectl_koord.diagnosis.doctor.finding import found
from kubectl_koord.engine.admission.before_trying import before_trying
from kubectl_koord.engine.admission.oddities import oddities
from kubectl_koord.engine.gangs import all_gangs, group_of
from kubectl_koord.engine.subjects import GangSubject, PodSubject, Subject
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.codes import GangFault, members
from kubectl_koord.reports.operation.doctor import Finding
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.wording.refusals.admission import blocker_sentence, oddity_sentence

_FAULTS = frozenset(members(GangFault))


def of_gangs(snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Finding]:
    """Yield what is wrong with gangs and pending pods: errors block them, warnings do not."""
    if not snapshot.sees("Pod") or not snapshot.sees("PodGroup"):
        return
    waiting = pending_subjects(snapshot)
    for subject in waiting:
        for blocker in before_trying(subject, snapshot, tree):
            code: str = blocker.code
            if _is_fault(code):
                yield found(code, "error", _kind(subject), [subject.key], blocker_sentence(blocker))
    seen = set()
    for subject in (*waiting, *_others(snapshot)):
        for oddity in oddities(subject, snapshot, tree):
            code, sentence = oddity.code, oddity_sentence(oddity)
            known = (frozenset(subject.gangs), sentence)  # of a group each gang has what is odd about any of them
            if _is_fault(code) and known not in seen:
                seen.add(known)
                yield found(code, "warning", _kind(subject), [subject.key], sentence)


def _others(snapshot: Snapshot) -> Iterator[Subject]:
    """Yield the gangs without pending pods."""
    every = all_gangs(snapshot)
    for key, gang in every.items():
        if not any(every[other].pending for other in gang.group if other in every) and not gang.pending:
            yield GangSubject(group_of(every, key))


def _is_fault(code: str) -> TypeGuard[GangFault]:
    return code in _FAULTS


def _kind(subject: Subject) -> str:
    return "Pod" if isinstance(subject, PodSubject) else "Gang"
