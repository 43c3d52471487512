"""Gangs of Volcano: their state and their own conditions. What its scheduler will do is not computed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine.gangs import PodSubject, Subject
from kubectl_koord.language import say
from kubectl_koord.model.installation import VolcanoGroup
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.values import memoised
from kubectl_koord.reports.jobs import Cause, VolcanoCondition, VolcanoGang, WhyReport
from kubectl_koord.simulation import subjects
from kubectl_koord.wording.facts import newest_condition, volcano_phase, volcano_state

_GROUP = "scheduling.volcano.sh"


def gangs(snapshot: Snapshot, namespace: str = "", *, only_waiting: bool = False) -> tuple[VolcanoGang, ...]:
    """Return Volcano's PodGroups of a namespace, or of all for none, in name order; perhaps only those that wait."""
    every = (_gang(snapshot, group) for group in snapshot.volcano.groups.values() if namespace in {"", group.namespace})
    return tuple(gang for gang in every if gang.is_waiting or not only_waiting)


def meant(snapshot: Snapshot, name: str, namespaces: Iterable[str], found: Subject | None) -> VolcanoGang | None:
    """Return the one gang of Volcano that a name means: by a pod of it, or where it means nothing of Koordinator's.

    Args:
        snapshot: the cluster.
        name: as `why-pending` takes it.
        namespaces: where it may stand if it names none.
        found: whom it means to Koordinator, None for nobody.
    """
    if found is None:
        keys = {key for namespace in namespaces for key in _named(snapshot, name, namespace)}
    else:
        pod = found.pod if isinstance(found, PodSubject) else None
        keys = {key for key, pods in _pending(snapshot).items() if pod in pods}
    known = [group for key, group in snapshot.volcano.groups.items() if key in keys]
    return _gang(snapshot, known[0]) if len(known) == 1 else None


def _named(snapshot: Snapshot, name: str, namespace: str) -> Iterator[str]:
    """Yield what a name may stand for: `x`, `ns/x`, `podgroup/x` and so on, or its owner, such as `job/x`."""
    kind, slash, bare = name.rpartition("/")
    of_volcano = kind.lower() in {f"podgroup.{_GROUP}", f"podgroups.{_GROUP}"}
    yield subjects.pod_group_key(bare if of_volcano else name, namespace)
    for key, group in snapshot.volcano.groups.items():
        if group.namespace == namespace and _is_owner(group.owner, kind.lower() if slash else "", bare):
            yield key


def _is_owner(owner: str, kind: str, name: str) -> bool:
    own, _, bare = owner.partition("/")
    return bool(own) and bare == name and kind.partition(".")[0] in {"", own.lower(), f"{own.lower()}s", "vcjob"}


def why(snapshot: Snapshot, gang: VolcanoGang) -> WhyReport:
    """Return what Volcano wrote about a gang: whether it will be placed is unknown while it waits."""
    message = _decides(gang)
    return WhyReport(
        verdict="unknown" if gang.is_waiting else "yes",
        basis=coverage.basis(snapshot),
        warnings=coverage.general(snapshot),
        gang=gang.gang,
        gang_group=(),
        pending_pods=gang.pending,
        bound_pods=gang.running + gang.succeeded,
        min_member=gang.min_member,
        must_gather=None,
        desired_offer_slot=None,
        domains=(),
        placement=None,
        cause=Cause("other-scheduler", message, gang.pending) if gang.is_waiting else None,
        also_wrong=(),
        unblock=(),
        scheduler_says=None,
        volcano=gang,
    )


def _decides(gang: VolcanoGang) -> str:
    how_far = say("{volcano_phase}, queue {queue}", volcano_phase=volcano_phase(gang), queue=gang.queue)
    return say("Volcano schedules it ({how_far}); no decision is computed for another scheduler", how_far=how_far)


def again(snapshot: Snapshot, key: str) -> VolcanoGang | None:
    """Return the gang of this name (`namespace/name`) as it is now, None where it is there no more."""
    group = snapshot.volcano.groups.get(key)
    return _gang(snapshot, group) if group else None


def unread(snapshot: Snapshot, key: str) -> tuple[Gap, ...]:
    """Return the gaps that leave open how far a gang is."""
    return coverage.unread(snapshot, "volcano", key.partition("/")[0])


def changes(before: VolcanoGang, after: VolcanoGang) -> Iterator[str]:
    """Yield what has changed for those who wait for a gang: phase, queue and pods, and what Volcano says last."""
    if _compared(before) != _compared(after):
        yield volcano_state(after)
    if before.queue_state != after.queue_state:
        yield say(
            "queue {queue} is {queue_state}", queue=after.queue, queue_state=after.queue_state or say("without a state")
        )
    if after.is_waiting and newest_condition(before) != (said := newest_condition(after)) and said:
        yield said


def _compared(gang: VolcanoGang) -> tuple[str, int, int]:
    return gang.phase, len(gang.pending), gang.running


def _gang(snapshot: Snapshot, group: VolcanoGroup) -> VolcanoGang:
    known, policies = snapshot.volcano.queues, snapshot.volcano.policies
    is_known = bool(known) and snapshot.sees(f"Queue.{_GROUP}")  # without any Volcano has not made its own yet
    policy = policies.get(group.priority_class) if group.priority_class else None
    waiting = _pending(snapshot).get(group.key, ())
    return VolcanoGang(
        gang=group.key,
        phase=group.phase,
        queue=group.queue,
        queue_state=known[group.queue].state if group.queue in known else None,
        queue_exists=group.queue in known if is_known else None,
        min_member=group.min_member,
        pending=tuple(pod.key for pod in waiting),
        running=group.running,
        succeeded=group.succeeded,
        failed=group.failed,
        priority_class=group.priority_class,
        preemption_policy=policy or "PreemptLowerPriority" if policy is not None else None,
        never_preempting=tuple(pod.key for pod in waiting if pod.never_preempts),
        conditions=tuple(VolcanoCondition(**structs.asdict(one)) for one in group.conditions),
        owner=group.owner or None,
        created=group.created,
    )


@memoised
def _pending(snapshot: Snapshot) -> Mapping[str, Sequence[PendingPod]]:
    found: dict[str, list[PendingPod]] = {}
    for pod in snapshot.pending:
        if pod.volcano_group and pod.scheduler not in snapshot.config.profiles:
            found.setdefault(pod.volcano_group, []).append(pod)
    return found
