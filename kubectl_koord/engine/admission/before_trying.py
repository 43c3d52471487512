"""What blocks a gang or a pod before a node is looked at, in the scheduler's order.

Most of it is silent upstream: it leaves no condition and no event. Mirrors `PreEnqueue` and
`basicGangRequirementsCheck` in coscheduling/core/core.go; before them go schedulerName, leader election and gates.
"""

from collections.abc import Collection, Iterable, Iterator

from kubectl_koord.engine.admission.blockers import (
    BeingDeleted,
    Blocker,
    BoundDoNotCount,
    ClaimsUnready,
    FinishedNeverWait,
    Gated,
    GroupsDiffer,
    Keys,
    MixedSchedulers,
    NoPodGroup,
    NoSuchGangs,
    NotInitialised,
    OmitsItself,
    OpenConfiguration,
    OtherScheduler,
    TooFewPods,
)
from kubectl_koord.engine.admission.leader import no_leader
from kubectl_koord.engine.admission.open_settings import open_settings
from kubectl_koord.engine.admission.prefilter import prefilter_refusal, unknown_layer
from kubectl_koord.engine.attempts.attempt import needed
from kubectl_koord.engine.fit.resource_claims.readiness import unready_claim
from kubectl_koord.engine.gang_settings import Spec
from kubectl_koord.engine.gangs import Gang, GangGroup, topology_requirements
from kubectl_koord.engine.subjects import GangSubject, Subject, never_tried
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot


def before_trying(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> tuple[Blocker, ...]:
    """Return everything that blocks the subject before a node is looked at, the root cause first.

    What may turn out not to block (`is_open`) goes last.
    """
    found = [*_of_scheduler(subject, snapshot), *_of_pods(subject, snapshot)]
    if isinstance(subject, GangSubject):
        of_gang = [*_of_group(subject.group, snapshot)]
        if not subject.group.is_satisfied():
            of_gang.extend(_of_topology(subject.group, snapshot, tree))
        settings = open_settings(subject, snapshot) if of_gang else ()
        found.extend([OpenConfiguration(settings)] if settings else of_gang)
    return tuple(sorted(found, key=is_open))


def is_open(blocker: Blocker) -> bool:
    """Tell whether the subject may be tried all the same, and wait in vain or not: the objects do not show which.

    Where any member may be tried, those with a scheduling gate are tried with it, and cannot be bound; those without
    their resource claims are, and may fail before enough others have a place. A gang that its own list leaves out is
    tried when those that it lists are. Where the scheduler's configuration was not read, any name may be that of a
    profile.
    """
    match blocker:
        case OmitsItself() | OpenConfiguration():
            return True
        case Gated() | ClaimsUnready():
            return blocker.enough_others
        case OtherScheduler() | MixedSchedulers():
            return not blocker.known
        case _:
            return False


def keys(pods: Iterable[PendingPod]) -> Keys:
    """Return the `namespace/name` of each pod."""
    return tuple(pod.key for pod in pods)


def of_other_schedulers(subject: Subject, snapshot: Snapshot) -> tuple[PendingPod, ...]:
    """Return the pending pods whose schedulerName is no profile of Koordinator's."""
    return tuple(pod for pod in subject.pending if pod.scheduler not in snapshot.config.profiles)


def knows_profiles(snapshot: Snapshot, *, any_named: bool) -> bool:
    """Tell whether the names of the scheduler's profiles are known; `any_named` is whether a pod names an assumed one.

    That shows that there is this one. What may not be read may hold more.
    """
    is_hidden = not (snapshot.sees("ConfigMap") and snapshot.sees("Deployment"))
    return not snapshot.config.assumed or (any_named and not is_hidden)


def is_enough_without(subject: Subject, absent: Collection[str]) -> bool:
    """Tell whether pending pods are left without these, and every gang can still reach its minimum."""
    without = set(absent)
    if all(pod.key in without for pod in subject.pending):
        return False
    if not isinstance(subject, GangSubject) or subject.group.is_satisfied() or subject.group.omits_itself:
        return True
    wanted = needed(subject.group)
    return all(
        sum(pod.key not in without for pod in gang.pending) >= wanted[gang.key] for gang in subject.group.members
    )


def gates_of(pods: Iterable[PendingPod]) -> tuple[str, ...]:
    """Return the scheduling gates of pods, each once, in name order."""
    return tuple(sorted({gate for pod in pods for gate in pod.gates}))


def leaves_gated(subject: Subject, snapshot: Snapshot) -> bool:
    """Tell whether pods with a scheduling gate are left where they are, as each pod is tried for itself.

    That is so once a gang has run, and no other of its group needs pods that wait for each other.
    """
    if not isinstance(subject, GangSubject) or not subject.group.is_satisfied() or any(needed(subject.group).values()):
        return False
    return len(never_tried(subject, snapshot)) < len(subject.pending)


def _of_scheduler(subject: Subject, snapshot: Snapshot) -> Iterator[Blocker]:
    pods, other = subject.pending, of_other_schedulers(subject, snapshot)
    names = tuple(sorted({pod.scheduler for pod in other}))
    is_whole = len(other) == len(pods)
    known = knows_profiles(snapshot, any_named=not is_whole)
    if other and is_whole:
        yield OtherScheduler(
            keys(other), names, tuple(snapshot.config.profiles), isinstance(subject, GangSubject), known
        )
    elif other and not is_enough_without(subject, keys(other)):
        yield MixedSchedulers(keys(other), len(pods), names, known)
    leaderless = no_leader(snapshot)
    if pods and leaderless is not None:
        yield leaderless


def _of_pods(subject: Subject, snapshot: Snapshot) -> Iterator[Blocker]:
    pods, in_gang = subject.pending, isinstance(subject, GangSubject)
    deleted = tuple(pod for pod in pods if pod.terminating)
    if deleted and not is_enough_without(subject, keys((*deleted, *of_other_schedulers(subject, snapshot)))):
        yield BeingDeleted(keys(deleted), len(pods), in_gang)
    gated = tuple(pod for pod in pods if pod.gates)
    if gated and not leaves_gated(subject, snapshot):
        may_begin = len(never_tried(subject, snapshot)) < len(pods)
        enough_others = may_begin and is_enough_without(subject, never_tried(subject, snapshot, gates=False))
        yield Gated(keys(gated), len(pods), in_gang, gates_of(gated), enough_others)
    unready = {pod: claim for pod in pods if (claim := unready_claim(pod, snapshot)) is not None}
    if unready:
        enough_others = is_enough_without(subject, never_tried(subject, snapshot))
        claims = tuple(dict.fromkeys(unready.values()))
        yield ClaimsUnready(keys(unready), len(pods), in_gang, claims, enough_others)


def _of_group(group: GangGroup, snapshot: Snapshot) -> Iterator[Blocker]:
    own = group.own
    if not group.pending:
        return
    yield from _of_definition(own, snapshot, own=True)
    if group.is_satisfied():
        others = tuple(_of_others_that_wait(group, snapshot))
        yield from others or _of_rounds_of_others(group, snapshot)
        return
    if not group.omits_itself:
        yield from _of_size(own, snapshot, own=True)
    yield from _of_list(group, snapshot)
    for member in group.members:
        if member.key != own.key:
            yield from _of_definition(member, snapshot, own=False)
            yield from _of_size(member, snapshot, own=False)
    if not group.omits_itself:
        yield from _of_waiting(group)
    yield from _of_other_lists(group)


def _of_others_that_wait(group: GangGroup, snapshot: Snapshot) -> Iterator[Blocker]:
    """Yield for which other gangs the pods of a satisfied one would wait in vain: `Permit` looks at every one."""
    yield from _of_list(group, snapshot)
    wanted = needed(group)
    for member in group.members:
        if member.key != group.own.key:
            yield from _of_definition(member, snapshot, own=False)
            if wanted[member.key]:
                yield from _of_size(member, snapshot, own=False)
    yield from _of_waiting(group)


def _of_rounds_of_others(group: GangGroup, snapshot: Snapshot) -> Iterator[Blocker]:
    """Yield why gangs are never tried that the pods of a satisfied one wait for: before that all gangs are counted."""
    if any(needed(group).values()):
        for member in group.members:
            yield from _of_size(member, snapshot, own=member.key == group.own.key)


def _of_definition(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Blocker]:
    """Yield why the gang is not initialised ("gang has not init")."""
    if gang.defined_by == "" and snapshot.sees("PodGroup", gang.key.partition("/")[0]):
        yield NoPodGroup(gang.key, keys(gang.pending), own)
    elif gang.defined_by == "pods" and gang.minimum is None:
        yield NotInitialised(gang.key, keys(gang.pending), own, gang.minimum_written)


def _of_size(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Blocker]:
    is_seen = snapshot.sees("Pod", gang.key.partition("/")[0])
    if is_seen and gang.minimum is not None and gang.children < gang.minimum:
        yield TooFewPods(gang.key, keys(gang.pending), own, gang.children, gang.minimum)


def _of_list(group: GangGroup, snapshot: Snapshot) -> Iterator[Blocker]:
    """Yield the gangs of the list that do not exist, as far as their namespaces could be read."""
    missing = tuple(
        key
        for key, member in group.gangs.items()
        if member is None
        and ("/" not in key or all(snapshot.sees(kind, key.partition("/")[0]) for kind in ("Pod", "PodGroup")))
    )
    if missing:
        yield NoSuchGangs(missing)


def _of_waiting(group: GangGroup) -> Iterator[Blocker]:
    """Yield what blocks where there are children enough, but those that wait are too few.

    Mirrors `isGangValidForPermit` in coscheduling/core/gang.go.
    """
    wanted = needed(group)
    for gang in group.members:
        number = wanted[gang.key]
        if gang.minimum is None or gang.children < gang.minimum or len(gang.pending) >= number:
            continue
        if not gang.bound:
            yield FinishedNeverWait(gang.key, keys(gang.pending), number, len(gang.finished))
            continue
        complete = bool(gang.pending) and len(gang.running) >= gang.minimum
        yield BoundDoNotCount(gang.key, keys(gang.pending), number, gang.bound, gang.match_policy, complete)


def _of_other_lists(group: GangGroup) -> Iterator[Blocker]:
    """Yield what blocks where a gang's own list leaves it out, or gangs of a group that wait have different lists.

    One that waits ends the round of the others once it has what its own list wants (`SucceedGangScheduling`).
    """
    own = group.own
    differing = tuple(
        member.key for member in group.members if group.differs(member) and member.pending and not group.has_run(member)
    )
    if group.omits_itself:
        yield OmitsItself(own.key, tuple(group.gangs))
    elif differing:
        yield GroupsDiffer(own.key, differing)


def _of_topology(group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Blocker]:
    """Yield what keeps the group from being planned, where no gang of it can come first with a spec that is better."""
    if not snapshot.sees("ClusterNetworkTopology") or not snapshot.sees("Node"):
        return
    found = dict.fromkeys(_of_spec(spec, group, snapshot, tree) for spec in group.specs)
    if None not in found:
        yield from (blocker for blocker in found if blocker is not None)


def _of_spec(spec: Spec, group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Blocker | None:
    """Return what refuses the group when a pod of a gang with this topology spec is tried first, None for nothing."""
    refusal = prefilter_refusal(spec, group, snapshot, tree)
    if refusal is not None or spec is None or isinstance(tree, NoTree) or not snapshot.config.aware_of_topology:
        return refusal
    return unknown_layer(topology_requirements(spec, tree), tree)
