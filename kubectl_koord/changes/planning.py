"""What every plan is made of: changes with before, after and patch, and what `why-pending` answers then."""

from collections.abc import Iterable, Mapping

from kubectl_koord.changes.settings import PREFIX, Fields, Value, merge_patch
from kubectl_koord.changes.values import RefusedError
from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine import gangs
from kubectl_koord.engine.subjects import GangSubject
from kubectl_koord.explain.jobs.why import why
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, Effect, ObjectName, VerdictSummary
from kubectl_koord.reports.codes import CAUSES
from kubectl_koord.reports.common import Notice
from kubectl_koord.wording.answers import changes as sentences


def change_of(
    name: ObjectName, before: Mapping[str, Value], after: Mapping[str, Value], resource_version: str, *, overwrite: bool
) -> Change | None:
    """Return what is to be sent so that an object has these values, None where it has them.

    Raises:
        RefusedError: when a field has another value already and `overwrite` is not set; removing is not overwriting.

    """
    changed: Fields = {field: value for field, value in after.items() if before[field] != value}
    for field, value in changed.items():
        if before[field] is not None and value is not None and not overwrite:
            raise RefusedError(sentences.declared_already(field, before[field]))
    if not changed:
        return None
    old = {field: before[field] for field in changed}
    return Change(name, old, changed, merge_patch(changed, resource_version), resource_version)


def plan_of(
    snapshot: Snapshot,
    later: Snapshot,
    key: str,
    changes: Iterable[Change | None],
    notices: Iterable[Notice] = (),
    *,
    now: Snapshot | None = None,
) -> ChangePlan:
    """Return the plan, with what why-pending answers of the gang `key` before and after, and the warnings it brings.

    `now` is what the scheduler takes the cluster for until it restarts, where it does not notice all of `later`.
    """
    unnoticed = now is not None and now is not later
    before, after, restarted = (_answer(one, key)[0] for one in (snapshot, now or later, later))
    made = tuple(change for change in changes if change is not None)
    return ChangePlan(
        verdict="yes",
        basis=coverage.basis(snapshot),
        warnings=(*_new_oddities(snapshot, later, key), *(notices if made else ())),
        changes=made,
        applied=False,
        effect=Effect(
            before, after, _badness(restarted) > _badness(before), after_restart=restarted if unnoticed else None
        ),
        message="" if made else sentences.unchanged(key),
    )


def not_noticed(key: str, changes: Iterable[Change | None], *, by_pods: bool) -> tuple[Notice, ...]:
    """Return the warnings of a gang whose settings change, but not at once for the scheduler.

    Mirrors `tryInitByPodConfig`, which reads the pods of a gang only until it has its settings, and
    `SetGangGroupInfo`, which gives a gang the state of its group once.
    """
    fields = {field for change in changes if change is not None for field in change.after}
    if not fields:
        return ()
    if by_pods:
        return (Notice("first-pod-decides", sentences.first_pod_decides(key)),)
    if PREFIX + "groups" in fields:
        return (Notice("group-attached-once", sentences.group_attached_once(key)),)
    return ()


_FIRST_OF_NODES = CAUSES.index("plan-not-executable")
_OF_NODES = CAUSES[_FIRST_OF_NODES : CAUSES.index("never-fits") + 1]
"""The causes for which nodes were asked: they take each other's place as less or more is wanted."""


def _badness(outcome: VerdictSummary) -> tuple[int, int, int]:
    """Return how bad an answer is: by its verdict, of two noes by how early the scheduler stops.

    A cause that comes later was there before, behind the one that was repaired.
    """
    verdict = ("yes", "unknown", "no").index(outcome.verdict)
    if outcome.verdict != "no" or outcome.cause is None:
        return verdict, 0, 0
    if outcome.cause in _OF_NODES:
        return verdict, -_FIRST_OF_NODES, int(outcome.cause == "never-fits")
    return verdict, -CAUSES.index(outcome.cause), 0


def _answer(snapshot: Snapshot, key: str) -> tuple[VerdictSummary, tuple[Notice, ...]]:
    report = why(snapshot, GangSubject(gangs.group_of(gangs.all_gangs(snapshot), key)), brief=True)
    cause = report.cause if report.verdict != "yes" else None  # the change itself makes the scheduler try again
    return VerdictSummary(
        report.verdict, cause.code if cause else None, cause.message if cause else ""
    ), report.warnings


def _new_oddities(snapshot: Snapshot, later: Snapshot, key: str) -> Iterable[Notice]:
    """Return the warnings that hold after the change, those about the reading left out."""
    general = set(coverage.general(snapshot))
    return (notice for notice in _answer(later, key)[1] if notice not in general)
