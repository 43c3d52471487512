"""Planned changes of `annotate`: the settings of a gang group, on its PodGroups or on its pods."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, structs

from kubectl_koord.changes import values
from kubectl_koord.changes.values import (
    INDEX,
    LABEL,
    LIGHT_POLICY,
    MINIMUM,
    MINIMUM_LABEL,
    PREFIX,
    SELECTOR,
    SPEC,
    TIMEOUT,
    AnnotatedGang,
    Fields,
    RefusedError,
    Value,
    WantedSettings,
    group_ids,
    merge_patch,
    nearest,
    pod_key_of,
    refuse_unread,
    version_of,
    wanted_values,
    written_value,
)
from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine import gangs
from kubectl_koord.engine.gangs import Gang, GangSubject, PodSubject, Subject
from kubectl_koord.explain.why import why
from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.pods import FinishedPod, GangAnnotations, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, Effect, ObjectName, VerdictSummary
from kubectl_koord.reports.common import CAUSES, Notice


def change_of(
    name: ObjectName, before: Mapping[str, Value], after: Mapping[str, Value], resource_version: str, *, overwrite: bool
) -> Change | None:
    """Return what is to be sent so that an object has these values, None where it has them.

    Raises RefusedError when a field has another value already and `overwrite` is not set; removing is not overwriting.
    """
    changed: Fields = {field: value for field, value in after.items() if before[field] != value}
    for field, value in changed.items():
        if before[field] is not None and value is not None and not overwrite:
            raise RefusedError(values.declared_already(field, before[field]))
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
        message="" if made else values.unchanged(key),
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
        return (Notice("first-pod-decides", values.first_pod_decides(key)),)
    if PREFIX + "groups" in fields:
        return (Notice("group-attached-once", values.group_attached_once(key)),)
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


def pod_group_plan(snapshot: Snapshot, key: str, wanted: WantedSettings, *, overwrite: bool) -> ChangePlan:
    """Return the plan for one PodGroup, with what why-pending answers before and after.

    Raises RefusedError when the PodGroup, a layer or a gang does not exist, or could not be read, a value is invalid,
    or a key has another value already and `overwrite` is not set.
    """
    group = snapshot.pod_groups.get(key)
    if group is None:
        refuse_unread(coverage.unread(snapshot, "podgroup", key.partition("/")[0]))
        raise RefusedError(values.no_pod_group(key, nearest(key, snapshot.pod_groups)))
    change, planned = changed_group(snapshot, group, wanted, overwrite=overwrite)
    later = structs.replace(snapshot, pod_groups={**snapshot.pod_groups, key: planned})
    return plan_of(snapshot, later, key, [change], not_noticed(key, [change], by_pods=False))


def changed_group(
    snapshot: Snapshot, group: PodGroup, wanted: WantedSettings, *, overwrite: bool
) -> tuple[Change | None, PodGroup]:
    """Return what is to be sent for a PodGroup, None for nothing, and the PodGroup as it will be.

    Raises RefusedError: as `pod_group_plan` does.
    """
    owner = AnnotatedGang(group.key, group.min_member, group.topology, "PodGroup", snapshot)
    after = wanted_values(owner, wanted)
    before = {name: _value(group, name) for name in after}
    name = ObjectName("PodGroup", group.namespace, group.name)
    return change_of(name, before, after, group.resource_version, overwrite=overwrite), _with_values(group, after)


def _value(group: PodGroup, name: str) -> Value:
    if name == TIMEOUT:
        return group.timeout_seconds
    if name == MINIMUM:
        return group.min_member or None
    return dict(group.annotations).get(name)


def _with_values(group: PodGroup, values: Mapping[str, Value]) -> PodGroup:
    numbers = {TIMEOUT: group.timeout_seconds, MINIMUM: group.min_member} | {
        key: value for key, value in values.items() if key in {TIMEOUT, MINIMUM} and not isinstance(value, str)
    }
    annotations = dict(group.annotations) | {key: value for key, value in values.items() if key not in numbers}
    kept = {key: str(value) for key, value in annotations.items() if value is not None}
    return structs.replace(
        group,
        min_member=numbers[MINIMUM] or 0,
        timeout_seconds=numbers[TIMEOUT],
        annotations=tuple(sorted(kept.items())),
        mode=kept.get(PREFIX + "mode", ""),
        match_policy=kept.get(PREFIX + "match-policy") or kept.get(LIGHT_POLICY, ""),
        groups=kept.get(PREFIX + "groups"),
        topology=kept.get(SPEC),
        total=kept.get(PREFIX + "total-number"),
    )


_FIRST = "pods"


def pods_to_read(snapshot: Snapshot, subject: Subject, wanted: WantedSettings) -> tuple[str, ...]:
    """Return the pods, as `namespace/name`, whose objects `gang_plan` needs: all of each gang that has no PodGroup.

    Raises RefusedError when there is no gang, or a gang of its group does not exist, or could not be read.
    """
    gangs_meant = _members(snapshot, subject, wanted)
    return tuple(pod.key for gang in gangs_meant if gang.key not in snapshot.pod_groups for pod in _pods(gang))


def gang_plan(
    snapshot: Snapshot,
    subject: Subject,
    wanted: WantedSettings,
    written: Mapping[str, Mapping[str, Any]],
    *,
    overwrite: bool,
) -> ChangePlan:
    """Return the plan for every gang of a group, with what why-pending answers before and after.

    Args:
        snapshot: the cluster.
        subject: the gang that was named.
        wanted: what is to be set or removed; with `groups` the gangs named there are meant.
        written: the objects of `pods_to_read`, as they came from the API server.
        overwrite: whether other values may be replaced.

    Raises RefusedError when there is no gang, one of the group does not exist or could not be read, a value is invalid,
    or a key has another value already and `overwrite` is not set.
    """
    changes: list[tuple[Gang, list[Change]]] = []
    groups = dict(snapshot.pod_groups)
    terms: dict[str, GangAnnotations] = {}
    for gang in _members(snapshot, subject, wanted):
        if group := snapshot.pod_groups.get(gang.key):
            change, groups[gang.key] = changed_group(snapshot, group, wanted, overwrite=overwrite)
            made = [change] if change else []
        elif gang.defined_by == _FIRST:
            made = list(_of_pods(snapshot, gang, wanted, written, terms, overwrite=overwrite))
        else:
            raise RefusedError(values.no_pod_group(gang.key, nearest(gang.key, snapshot.pod_groups)))
        changes.append((gang, made))
    notices = [notice for gang, made in changes for notice in not_noticed(gang.key, made, by_pods=_is_settled(gang))]
    unread = {pod.key for gang, made in changes if made and _is_settled(gang) for pod in gang.pending}
    later = structs.replace(snapshot, pod_groups=groups, pending=_saying(snapshot, terms))
    heard = {key: terms[key] for key in terms if key not in unread}
    now = structs.replace(later, pending=_saying(snapshot, heard)) if unread else later
    every = [one for _, made in changes for one in made]
    return plan_of(snapshot, later, subject.key, every, notices, now=now)


def _is_settled(gang: Gang) -> bool:
    """Tell whether the scheduler has taken the settings of a gang from its pods, and reads these no more."""
    return gang.defined_by == _FIRST and gang.minimum is not None


def _saying(snapshot: Snapshot, terms: Mapping[str, GangAnnotations]) -> tuple[PendingPod, ...]:
    """Return the pending pods, some of which say something else of their gang."""
    return tuple(
        structs.replace(pod, gang_terms=terms[pod.key]) if pod.key in terms else pod for pod in snapshot.pending
    )


def _members(snapshot: Snapshot, subject: Subject, wanted: WantedSettings) -> tuple[Gang, ...]:
    if isinstance(subject, PodSubject):
        raise RefusedError(values.not_in_a_gang(subject.key))
    refuse_unread(coverage.unread_members(subject, snapshot))
    every = gangs.all_gangs(snapshot)
    named = group_ids(wanted.groups, subject.key.partition("/")[0]) if wanted.groups else ()
    own = {gang.key for gang in subject.group.everyone} | {key for key, gang in subject.group.gangs.items() if not gang}
    for key in sorted(set(named) or own):
        if key not in every:
            refuse_unread(coverage.unread(snapshot, "members", key.partition("/")[0]))
            raise RefusedError(values.no_gang(key, nearest(key, every)))
    return tuple(every[key] for key in sorted(set(named) or own))


def _pods(gang: Gang) -> Iterator[PendingPod | RunningPod | FinishedPod]:
    """Yield every pod of a gang, in the order in which the scheduler came to see them."""
    everyone: list[PendingPod | RunningPod | FinishedPod] = [*gang.pending, *gang.running, *gang.finished]
    yield from sorted(everyone, key=lambda pod: (pod.created, pod.name))


def _of_pods(
    snapshot: Snapshot,
    gang: Gang,
    wanted: WantedSettings,
    written: Mapping[str, Mapping[str, Any]],
    terms: dict[str, GangAnnotations],
    *,
    overwrite: bool,
) -> Iterator[Change]:
    """Yield what is to be sent for each pod, and put what the pending ones will say of their gang into `terms`."""
    pods = tuple(_pods(gang))
    topology = written_value(written[pods[0].key], SPEC)
    for pod in pods:
        now = written[pod.key]
        has_label = written_value(now, LABEL + MINIMUM_LABEL) is not None
        where = AnnotatedGang(
            gang.key,
            gang.minimum or 0,
            str(topology) if topology else None,
            "labelled-pods" if has_label else "pods",
            snapshot,
        )
        after = wanted_values(where, wanted)
        before = {field: written_value(now, field) for field in after}
        name = ObjectName("Pod", pod.namespace, pod.name)
        if change := change_of(name, before, after, version_of(now), overwrite=overwrite):
            yield change
        if isinstance(pod, PendingPod):
            terms[pod.key] = _terms(now, after)


def _terms(now: Mapping[str, Any], after: Fields) -> GangAnnotations:
    """Return what a pod will say of its gang."""

    def text(field: str) -> str | None:
        later: Value = after[field] if field in after else written_value(now, field)
        return None if later is None else str(later)

    return GangAnnotations(
        minimum=text(LABEL + MINIMUM_LABEL) or text(PREFIX + "min-available"),
        total=text(PREFIX + "total-number"),
        mode=text(PREFIX + "mode") or "",
        match_policy=text(PREFIX + "match-policy") or text(LIGHT_POLICY) or "",
        groups=text(PREFIX + "groups"),
        topology=text(SPEC),
    )


_RANK = re.compile(r"(\d+)$")
_LONGEST_SELECTOR = 253


class PodsWanted(Struct, frozen=True):
    """What each pod is to be given: an index by its name or by `order` (names of pods), a selector; or be rid of."""

    index: bool = False
    order: tuple[str, ...] = ()
    selector: str = ""
    removed: tuple[str, ...] = ()


class Ranked(Protocol):
    """A pod that may get an index within its gang."""

    @property
    def key(self) -> str:
        """Its `namespace/name`."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def gang(self) -> str:
        """The id of its gang."""


def pods_plan(snapshot: Snapshot, subject: Subject, wanted: PodsWanted, *, overwrite: bool) -> ChangePlan:
    """Return the plan for each pending pod of a gang.

    Raises RefusedError when there is no gang, its pods could not all be read, a name ends in no number, two pods share
    one, the order does not name each pod once, or a value is set already.
    """
    if isinstance(subject, PodSubject):
        raise RefusedError(values.not_in_a_gang(subject.key))
    refuse_unread(coverage.unread_members(subject, snapshot))
    _removed(wanted)
    if not subject.pending:
        raise RefusedError(values.no_pending_pods(subject.key))
    ranks = ranks_of(subject.pending, wanted)
    changes = []
    later: dict[str, PendingPod] = {}
    for pod in subject.pending:
        after = values_of(wanted, ranks.get(pod.key))
        now: Mapping[str, Value] = {
            INDEX: None if pod.index is None else str(pod.index),
            SELECTOR: pod.selector or None,
        }
        name = ObjectName("Pod", pod.namespace, pod.name)
        before = {field: now[field] for field in after}
        changes.append(change_of(name, before, after, pod.resource_version, overwrite=overwrite))
        index, selector = ({**now, **after}[field] for field in (INDEX, SELECTOR))
        later[pod.key] = structs.replace(pod, index=None if index is None else int(index), selector=str(selector or ""))
    planned = structs.replace(snapshot, pending=tuple(later.get(pod.key, pod) for pod in snapshot.pending))
    return plan_of(snapshot, planned, subject.key, changes)


def ranks_of(pods: Sequence[Ranked], wanted: PodsWanted) -> dict[str, int]:
    """Return the index of each pod by its key, nothing where none is wanted.

    Raises RefusedError when a name ends in no number, two pods share one, or the order does not name each pod once.
    """
    if wanted.index:
        return _numbered(pods)
    return _ordered(pods, wanted.order) if wanted.order else {}


def values_of(wanted: PodsWanted, rank: int | None) -> Fields:
    """Return the value of each field that a pod is to have, None of one that is to be removed.

    Raises RefusedError when that is nothing, or no setting of a pod, or contradicts itself.
    """
    values: Fields = dict.fromkeys(_removed(wanted))
    if rank is not None:
        values[INDEX] = str(rank)
    if wanted.selector:
        values[SELECTOR] = wanted.selector
    return values


def _removed(wanted: PodsWanted) -> tuple[str, ...]:
    keys = {name: pod_key_of(name) for name in wanted.removed}
    set_now = {INDEX: wanted.index or wanted.order, SELECTOR: wanted.selector}
    for name, key in keys.items():
        if not key:
            raise RefusedError(values.no_pod_setting(name))
        if set_now[key]:
            raise RefusedError(values.set_and_removed(name))
    if not keys and not any(set_now.values()):
        raise RefusedError(values.NOTHING_FOR_PODS)
    if wanted.index and wanted.order:
        raise RefusedError(values.INDEX_AND_ORDER)
    if len(wanted.selector) > _LONGEST_SELECTOR or wanted.selector != wanted.selector.strip():
        raise RefusedError(values.bad_selector(wanted.selector))
    return tuple(keys.values())


def _numbered(pods: Sequence[Ranked]) -> dict[str, int]:
    """Return the number that each name ends in: within a gang each its own."""
    taken: dict[tuple[str, int], str] = {}
    for pod in pods:
        match = _RANK.search(pod.name)
        if match is None:
            raise RefusedError(values.no_number(pod.key))
        rank = int(match[1])
        if (pod.gang, rank) in taken:
            raise RefusedError(values.same_number(taken[pod.gang, rank], pod.key, rank))
        taken[pod.gang, rank] = pod.key
    return {key: rank for (_, rank), key in taken.items()}


def _ordered(pods: Sequence[Ranked], order: Sequence[str]) -> dict[str, int]:
    """Return the place of each pod among those of its gang that the order names."""
    by_name = {name: pod for pod in pods for name in (pod.key, pod.name)}
    ranks: dict[str, int] = {}
    so_far: dict[str, int] = {}
    for name in order:
        pod = by_name.get(name)
        if pod is None:
            raise RefusedError(values.not_pending(name, nearest(name, by_name)))
        if pod.key in ranks:
            raise RefusedError(values.named_twice(name))
        ranks[pod.key] = so_far.get(pod.gang, 0)
        so_far[pod.gang] = ranks[pod.key] + 1
    left_out = [pod.key for pod in pods if pod.key not in ranks]
    if left_out:
        raise RefusedError(values.not_in_the_order(left_out))
    return ranks
