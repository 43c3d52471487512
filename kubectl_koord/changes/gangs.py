"""Changes to the settings of a whole gang group: on each of its PodGroups, or on all pods of a gang without one."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from kubectl_koord.changes.annotate import changed_group
from kubectl_koord.changes.conflicts import version_of
from kubectl_koord.changes.planning import change_of, not_noticed, plan_of
from kubectl_koord.changes.settings import (
    LABEL,
    LIGHT_POLICY,
    MINIMUM_LABEL,
    PREFIX,
    SPEC,
    Fields,
    Value,
    value,
)
from kubectl_koord.changes.values import (
    AnnotatedGang,
    RefusedError,
    WantedSettings,
    group_ids,
    nearest,
    refuse_unread,
    wanted_values,
)
from kubectl_koord.diagnosis import visibility
from kubectl_koord.engine import gangs
from kubectl_koord.engine.gangs import Gang
from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.model.marks import GangAnnotations
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.change import Change, ChangePlan, ObjectName
from kubectl_koord.wording.answers import changes as sentences

_FIRST = "pods"


def pods_to_read(snapshot: Snapshot, subject: Subject, wanted: WantedSettings) -> tuple[str, ...]:
    """Return the pods, as `namespace/name`, whose objects `gang_plan` needs: all of each gang that has no PodGroup.

    Raises:
        RefusedError: when there is no gang, or a gang of its group does not exist, or could not be read.

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

    Raises:
        RefusedError: when there is no gang, one of the group does not exist or could not be read, a value is invalid,
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
            raise RefusedError(sentences.no_pod_group(gang.key, nearest(gang.key, snapshot.pod_groups)))
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
        raise RefusedError(sentences.not_in_a_gang(subject.key))
    refuse_unread(visibility.unread_members(subject, snapshot))
    every = gangs.all_gangs(snapshot)
    named = group_ids(wanted.groups, subject.key.partition("/")[0]) if wanted.groups else ()
    own = {gang.key for gang in subject.group.everyone} | {key for key, gang in subject.group.gangs.items() if not gang}
    for key in sorted(set(named) or own):
        if key not in every:
            refuse_unread(visibility.unread(snapshot, "members", key.partition("/")[0]))
            raise RefusedError(sentences.no_gang(key, nearest(key, every)))
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
    topology = value(written[pods[0].key], SPEC)
    for pod in pods:
        now = written[pod.key]
        has_label = value(now, LABEL + MINIMUM_LABEL) is not None
        where = AnnotatedGang(
            gang.key,
            gang.minimum or 0,
            str(topology) if topology else None,
            "labelled-pods" if has_label else "pods",
            snapshot,
        )
        after = wanted_values(where, wanted)
        before = {field: value(now, field) for field in after}
        name = ObjectName("Pod", pod.namespace, pod.name)
        if change := change_of(name, before, after, version_of(now), overwrite=overwrite):
            yield change
        if isinstance(pod, PendingPod):
            terms[pod.key] = _terms(now, after)


def _terms(now: Mapping[str, Any], after: Fields) -> GangAnnotations:
    """Return what a pod will say of its gang."""

    def text(field: str) -> str | None:
        later: Value = after[field] if field in after else value(now, field)
        return None if later is None else str(later)

    return GangAnnotations(
        minimum=text(LABEL + MINIMUM_LABEL) or text(PREFIX + "min-available"),
        total=text(PREFIX + "total-number"),
        mode=text(PREFIX + "mode") or "",
        match_policy=text(PREFIX + "match-policy") or text(LIGHT_POLICY) or "",
        groups=text(PREFIX + "groups"),
        topology=text(SPEC),
    )
