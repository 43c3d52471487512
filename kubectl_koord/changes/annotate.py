"""Changes to the annotations of PodGroups and their pods, validated against the cluster as it is."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from kubectl_koord.changes.values import (
    PREFIX,
    SPEC,
    TIMEOUT,
    RefusedError,
    Wanted,
    nearest,
    refuse_unread,
    wanted_values,
)
from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.engine import gangs
from kubectl_koord.engine.subjects import GangSubject, PodSubject, Subject
from kubectl_koord.explain.why import why
from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, Effect, ObjectName, VerdictSummary
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Notice
from kubectl_koord.wording.answers import changes as sentences

INDEX = PREFIX + "network-topology-index"
_RANK = re.compile(r"(\d+)$")


def pod_group_plan(snapshot: Snapshot, key: str, wanted: Wanted, *, overwrite: bool) -> ChangePlan:
    """Return the plan for one PodGroup, with what why-pending answers before and after.

    Raises:
        RefusedError: when the PodGroup, a layer or a gang does not exist, or could not be read, a value is invalid,
            or a key has another value already and `overwrite` is not set.

    """
    group = snapshot.pod_groups.get(key)
    if group is None:
        refuse_unread(visibility.unread(snapshot, "podgroup", key.partition("/")[0]))
        raise RefusedError(sentences.no_pod_group(key, nearest(key, snapshot.pod_groups)))
    after = wanted_values(snapshot, group, wanted)
    if not after:
        raise RefusedError(sentences.NOTHING_TO_SET)
    before = {name: _value(group, name) for name in after}
    changed = {name: value for name, value in after.items() if before[name] != value}
    _refuse_overwriting(before, changed, overwrite=overwrite)
    planned = _with_values(group, after)
    later = structs.replace(snapshot, pod_groups={**snapshot.pod_groups, key: planned})
    name = ObjectName("PodGroup", group.namespace, group.name)
    changes = (_change(name, before, changed, group.resource_version),) if changed else ()
    return _plan(snapshot, later, key, changes)


def index_plan(snapshot: Snapshot, subject: Subject, *, overwrite: bool) -> ChangePlan:
    """Return the plan that gives each pending pod of a gang its rank, the number that its name ends in.

    Raises:
        RefusedError: when there is no gang, its pods could not all be read, a name ends in no number, two pods
            share one, or an index is set already.

    """
    if isinstance(subject, PodSubject):
        raise RefusedError(sentences.not_in_a_gang(subject.key))
    refuse_unread(visibility.unread_members(subject, snapshot))
    ranks: dict[tuple[str, int], str] = {}
    changes = []
    for pod in subject.pending:
        rank = _rank(pod)
        if (pod.gang, rank) in ranks:
            raise RefusedError(sentences.same_number(ranks[pod.gang, rank], pod.key, rank))
        ranks[pod.gang, rank] = pod.key
        before = {INDEX: None if pod.index is None else str(pod.index)}
        changed: dict[str, str | int] = {INDEX: str(rank)} if pod.index != rank else {}
        _refuse_overwriting(before, changed, overwrite=overwrite)
        if changed:
            name = ObjectName("Pod", pod.namespace, pod.name)
            changes.append(_change(name, before, changed, pod.resource_version))
    if not subject.pending:
        raise RefusedError(sentences.no_pending_pods(subject.key))
    by_key = {key: rank for (_, rank), key in ranks.items()}
    later = structs.replace(
        snapshot,
        pending=tuple(
            structs.replace(pod, index=by_key[pod.key]) if pod.key in by_key else pod for pod in snapshot.pending
        ),
    )
    return _plan(snapshot, later, subject.key, tuple(changes))


def _rank(pod: PendingPod) -> int:
    match = _RANK.search(pod.name)
    if match is None:
        raise RefusedError(sentences.no_number(pod.key))
    return int(match[1])


def _value(group: PodGroup, name: str) -> str | int | None:
    return group.timeout_seconds if name == TIMEOUT else dict(group.annotations).get(name)


def _refuse_overwriting(
    before: Mapping[str, str | int | None], changed: Mapping[str, object], *, overwrite: bool
) -> None:
    for name in changed:
        if before[name] is not None and not overwrite:
            raise RefusedError(sentences.declared_already(name, before[name]))


def _change(
    name: ObjectName,
    before: Mapping[str, str | int | None],
    changed: Mapping[str, str | int],
    resource_version: str,
) -> Change:
    annotations = {key: value for key, value in changed.items() if key != TIMEOUT}
    metadata: dict[str, Any] = {"resourceVersion": resource_version} if resource_version else {}
    if annotations:
        metadata["annotations"] = annotations
    patch: dict[str, Any] = {"metadata": metadata}
    if TIMEOUT in changed:
        patch["spec"] = {"scheduleTimeoutSeconds": changed[TIMEOUT]}
    return Change(name, {key: before[key] for key in changed}, dict(changed), patch, resource_version)


def _with_values(group: PodGroup, values: Mapping[str, str | int]) -> PodGroup:
    annotations = dict(group.annotations) | {key: str(value) for key, value in values.items() if key != TIMEOUT}
    timeout = values.get(TIMEOUT, group.timeout_seconds)
    return structs.replace(
        group,
        timeout_seconds=timeout if isinstance(timeout, int) else None,
        annotations=tuple(sorted(annotations.items())),
        mode=annotations.get(PREFIX + "mode", ""),
        match_policy=annotations.get(PREFIX + "match-policy", group.match_policy),
        groups=annotations.get(PREFIX + "groups"),
        topology=annotations.get(SPEC),
        total=annotations.get(PREFIX + "total-number"),
    )


def _plan(snapshot: Snapshot, later: Snapshot, key: str, changes: tuple[Change, ...]) -> ChangePlan:
    (before, _), (after, _) = (_answer(one, key) for one in (snapshot, later))
    return ChangePlan(
        verdict="yes",
        basis=coverage.basis(snapshot),
        warnings=tuple(_new_oddities(snapshot, later, key)),
        changes=changes,
        applied=False,
        effect=Effect(before, after, worse=_badness(after) > _badness(before)),
        message="" if changes else sentences.unchanged(key),
    )


_WAITS: frozenset[CauseCode] = frozenset({"waiting-for-preemption", "waiting-for-retry", "being-deleted"})
_LACKS: frozenset[CauseCode] = frozenset(
    {"quota", "insufficient-slots", "insufficient-capacity", "no-feasible-node", "multiple-mismatch", "too-few-pods"}
)


def _badness(outcome: VerdictSummary) -> tuple[int, int]:
    """Return how bad an answer is: by its verdict, of two noes by what ends them.

    Time alone, more room or pods, a setting that must be corrected, nothing.
    """
    verdict = ("yes", "unknown", "no").index(outcome.verdict)
    if outcome.verdict != "no" or outcome.cause is None:
        return verdict, 0
    if outcome.cause == "never-fits":
        return verdict, 3
    return verdict, 0 if outcome.cause in _WAITS else 1 if outcome.cause in _LACKS else 2


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
