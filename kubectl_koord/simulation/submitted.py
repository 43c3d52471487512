"""Pods that do not exist yet, as they stand in a snapshot beside those that do."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from kubectl_koord.engine.gangs import Gang
from kubectl_koord.engine.subjects import GangSubject, PodSubject, Subject
from kubectl_koord.model.objects import PodGroup
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.simulation.edits import recreated
from kubectl_koord.simulation.subjects import pending_subjects


class Submitted(Struct, frozen=True):
    """Which pods of a snapshot were put there from manifests, or as a shape.

    `is_filled` tells whether the API server would fill in what is missing of them, `is_mutated` whether Koordinator's
    webhook would change them, `asks_parts` whether they ask for parts of GPUs. `skipped` are the kinds in manifests
    that make no pods, `assumed` the PodGroups that an operator is taken to make, `of_others` those that
    stand for the PodGroups of another scheduler. No pods of `suspended` workloads are made yet, and those of
    `scheduled` ones at the times that stand beside them. Those with an `own_priority` have one that the API server
    refuses, as no class gives it; pods that it refuses for what its namespace allows are `refused`, with its words.
    """

    pods: frozenset[str]
    skipped: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    is_filled: bool = False
    of_others: tuple[str, ...] = ()
    suspended: tuple[str, ...] = ()
    scheduled: tuple[tuple[str, str], ...] = ()
    is_mutated: bool = False
    asks_parts: bool = False
    own_priority: tuple[str, ...] = ()
    refused: Mapping[str, str] = {}


def subjects_of(snapshot: Snapshot, submitted: Submitted) -> tuple[Subject, ...]:
    """Return the subjects with pods that were submitted: gang groups first, then pods without a gang, by name.

    Pods without a gang are there whatever their scheduler is: whoever submits them wants to know.
    """
    gangs = [one for one in pending_subjects(snapshot) if isinstance(one, GangSubject) and _is_of(one, submitted)]
    alone = (pod for pod in snapshot.pending if pod.key in submitted.pods and not pod.gang)
    return (*gangs, *map(PodSubject, alone))


def _is_of(subject: Subject, submitted: Submitted) -> bool:
    return any(pod.key in submitted.pods for pod in subject.pending)


def of_profile(snapshot: Snapshot, submitted: Submitted) -> Snapshot:
    """Return the snapshot with the submitted pods given to the first profile of the scheduler."""
    return _given(snapshot, submitted.pods)


def of_other_schedulers(snapshot: Snapshot, submitted: Submitted) -> Mapping[str, PendingPod]:
    """Return the submitted pods that another scheduler would place, by name, as it would.

    Those that say that they are in a gang of Koordinator are not among them: they would wait for ever.
    """
    stand_ins = {"", *submitted.assumed, *submitted.of_others}
    return {
        pod.key: pod
        for pod in snapshot.pending
        if pod.key in submitted.pods and pod.gang in stand_ins and pod.scheduler not in snapshot.config.profiles
    }


def taken_over(snapshot: Snapshot, submitted: Submitted) -> Snapshot:
    """Return the snapshot with those pods, too, given to the first profile of the scheduler."""
    others = of_other_schedulers(snapshot, submitted)
    return _given(snapshot, others.keys()) if others else snapshot


def _given(snapshot: Snapshot, pods: Collection[str]) -> Snapshot:
    profile = snapshot.config.profiles[0]
    pending = (structs.replace(pod, scheduler=profile) if pod.key in pods else pod for pod in snapshot.pending)
    return structs.replace(snapshot, pending=tuple(pending))


def with_copy(snapshot: Snapshot, subject: GangSubject) -> tuple[Snapshot, Submitted]:
    """Return the snapshot with a copy of a gang, none of whose pods is anywhere yet.

    The copy of a gang that lacks its PodGroup, or never initialises, has the same fault.
    """
    gang = subject.group.own
    is_sound = bool(gang.defined_by) and gang.minimum is not None
    group = _group(snapshot, gang)
    pods = tuple(_copies(gang, snapshot.moment, group.key, is_sound=is_sound))
    submitted = Submitted(frozenset(pod.key for pod in pods))
    pending = tuple(sorted((*snapshot.pending, *pods), key=lambda pod: (pod.namespace, pod.name)))
    added = {group.key: group} if is_sound else {}
    groups = dict(sorted({**snapshot.pod_groups, **added}.items()))
    return of_profile(structs.replace(snapshot, pending=pending, pod_groups=groups), submitted), submitted


def _group(snapshot: Snapshot, gang: Gang) -> PodGroup:
    """Return the PodGroup of the copy of a gang."""
    namespace, _, name = gang.key.partition("/")
    written = snapshot.pod_groups.get(gang.key)
    terms = next((pod.gang_terms for pod in gang.pending), None)
    return structs.replace(
        written or PodGroup(namespace, name, gang.minimum or 0, topology=terms.topology if terms else None),
        name=f"{name}-copy",
        mode=gang.mode,
        match_policy=gang.match_policy,
        groups=None,
        phase="",
        created=snapshot.moment,
    )


def _copies(gang: Gang, moment: str, key: str, *, is_sound: bool) -> Iterator[PendingPod]:
    namespace, _, name = key.partition("/")
    members: Iterable[PendingPod | RunningPod] = sorted((*gang.pending, *gang.running), key=lambda pod: pod.name)
    for number, pod in enumerate(members):
        fresh = pod if isinstance(pod, PendingPod) else recreated(pod)
        yield structs.replace(
            fresh,
            name=f"{name}-{number}",
            namespace=namespace,
            gang=key,
            needs_pod_group=is_sound or fresh.needs_pod_group,
            nominated="",
            condition=None,
            terminating=False,
            created=moment,
            owner="",
            owners=(),
            uid="",
        )
