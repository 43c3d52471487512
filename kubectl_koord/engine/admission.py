"""What comes before an attempt: blockers in the scheduler's order, and settings that do not do what was meant."""

from collections.abc import Collection, Iterable, Iterator
from difflib import get_close_matches
from itertools import islice
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.attempt import needed
from kubectl_koord.engine.blockers import (
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
    no_leader,
    open_settings,
    prefilter_refusal,
    unknown_layer,
    waits_for_members,
)
from kubectl_koord.engine.filters.resource_claims import unready_claim
from kubectl_koord.engine.gangs import (
    Gang,
    GangGroup,
    GangSubject,
    PodSubject,
    Subject,
    all_gangs,
    never_tried,
    topology_requirements,
)
from kubectl_koord.engine.rules import Spec
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model import keys as names
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
    """Yield which gangs have too few pods, where those of a gang that has run wait for them: all are counted first."""
    if any(needed(group).values()):
        for member in group.members:
            yield from _of_size(member, snapshot, own=member.key == group.own.key)


_NEARLY, _FEW = 0.75, 3


def _meant(key: str, snapshot: Snapshot) -> Keys:
    """Return the PodGroups of this name in other namespaces; in its own those of nearly this name, or without pods."""
    namespace, _, name = key.partition("/")
    every = all_gangs(snapshot)
    beside = [one for one in snapshot.pod_groups if one.startswith(f"{namespace}/")]
    alone = (one for one in beside if not every[one].children)
    near = dict.fromkeys((*get_close_matches(key, beside, _FEW, _NEARLY), *alone))
    elsewhere = [one for one in snapshot.pod_groups if one.partition("/")[2] == name]
    return (*islice(near, _FEW), *elsewhere[:_FEW])


def _of_definition(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Blocker]:
    """Yield why the gang is not initialised ("gang has not init")."""
    if gang.defined_by == "" and snapshot.sees("PodGroup", gang.key.partition("/")[0]):
        yield NoPodGroup(gang.key, keys(gang.pending), own, _meant(gang.key, snapshot))
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

    A gang with a shorter list starts once that list is complete, and is then no longer there for those that list it.
    Follows from `SucceedGangScheduling` in coscheduling/core/core.go: upstream refuses nothing.
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


class SomeOfOtherScheduler(Struct, frozen=True):
    """Some of so many pending pods name another scheduler; the others are enough without them."""

    pods: Keys
    of: int
    schedulers: tuple[str, ...]
    code: ClassVar[Literal["mixed-schedulers"]] = "mixed-schedulers"


class SomeBeingDeleted(Struct, frozen=True):
    """Some of so many pending pods are being deleted; the others are enough without them."""

    pods: Keys
    of: int
    code: ClassVar[Literal["being-deleted"]] = "being-deleted"


class SomeGated(Struct, frozen=True):
    """Some of so many pending pods have scheduling gates; each of the others is tried for itself."""

    pods: Keys
    of: int
    gates: tuple[str, ...]
    code: ClassVar[Literal["scheduling-gated"]] = "scheduling-gated"


class ForeignGangMarker(Struct, frozen=True):
    """The pod has the gang label or annotation of another scheduler, which Koordinator ignores."""

    pod: str
    marker: str
    code: ClassVar[Literal["foreign-gang-marker"]] = "foreign-gang-marker"


class MisspeltKey(Struct, frozen=True):
    """A PodGroup has an annotation, or a pod a label, that nothing reads, and that is nearly one which is read."""

    owner: str
    key: str
    meant: str
    code: ClassVar[Literal["misspelt-key"]] = "misspelt-key"


class GroupsUnreadable(Struct, frozen=True):
    """The groups annotation is not a JSON list: the gang stands alone."""

    gang: str
    code: ClassVar[Literal["groups-unreadable"]] = "groups-unreadable"


class TopologySpecUnreadable(Struct, frozen=True):
    """The network-topology-spec does not parse, and is ignored (`GetNetworkTopologySpec`)."""

    gang: str
    code: ClassVar[Literal["topology-spec-unreadable"]] = "topology-spec-unreadable"


class UnknownStrategy(Struct, frozen=True):
    """A rule of the topology spec has a strategy that nothing reads; empty where it has none."""

    gang: str
    strategy: str
    code: ClassVar[Literal["unknown-strategy"]] = "unknown-strategy"


class UnknownPreferredLayer(Struct, frozen=True):
    """A PreferGather rule names a layer that is not in the topology; empty where it names none."""

    gang: str
    layer: str
    code: ClassVar[Literal["unknown-layer"]] = "unknown-layer"


class MinimumZero(Struct, frozen=True):
    """The minimum of the gang is 0: nobody waits for anybody."""

    gang: str
    code: ClassVar[Literal["min-member-zero"]] = "min-member-zero"


class StalePhase(Struct, frozen=True):
    """The phase of the PodGroup is that of an earlier run."""

    gang: str
    phase: str
    code: ClassVar[Literal["stale-phase"]] = "stale-phase"


class DifferingSpecs(Struct, frozen=True):
    """The gangs of the group have different topology specs, of which that of the first pod tried counts."""

    code: ClassVar[Literal["differing-specs"]] = "differing-specs"


class SatisfiedWithoutItself(Struct, frozen=True):
    """The groups annotation of the gang leaves the gang out, and the group is satisfied once."""

    gang: str
    code: ClassVar[Literal["groups-differ"]] = "groups-differ"


class SatisfiedByEarlierPods(Struct, frozen=True):
    """Only pods that have finished make the group satisfied: its pods are scheduled one by one."""

    code: ClassVar[Literal["satisfied-by-earlier-pods"]] = "satisfied-by-earlier-pods"


class SpecWithoutEffect(Struct, frozen=True):
    """awareNetworkTopology is off, and pods are placed alone, without the topology that their gang asks for."""

    code: ClassVar[Literal["topology-not-aware"]] = "topology-not-aware"


class IndexNotHonoured(Struct, frozen=True):
    """The pods, by name, are not in the order of their topology index: `distributePods` goes by name."""

    names: tuple[str, ...]
    code: ClassVar[Literal["index-not-honoured"]] = "index-not-honoured"


class WorstFit(Struct, frozen=True):
    """With a topology selector the gang's own planned pods count: the emptiest domain is taken.

    Mirrors `calculateNodeExistingPodsNum` in coscheduling/networktopology, from 1.8 on.
    """

    code: ClassVar[Literal["worst-fit"]] = "worst-fit"


Oddity: TypeAlias = (
    SomeOfOtherScheduler
    | SomeBeingDeleted
    | SomeGated
    | ForeignGangMarker
    | MisspeltKey
    | GroupsUnreadable
    | TopologySpecUnreadable
    | UnknownStrategy
    | UnknownPreferredLayer
    | MinimumZero
    | StalePhase
    | DifferingSpecs
    | SatisfiedWithoutItself
    | SatisfiedByEarlierPods
    | SpecWithoutEffect
    | IndexNotHonoured
    | WorstFit
)
"""What is odd about the settings of a gang or a pod, though it blocks nobody."""


def oddities(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Oddity]:
    """Yield what is odd about the settings of the subject."""
    yield from _of_some(subject, snapshot)
    if isinstance(subject, PodSubject):
        yield from _foreign_marker(subject, snapshot)
        yield from _misspelt_labels(subject)
        return
    group = subject.group
    for gang in group.everyone:
        yield from _misspelt_annotations(gang, snapshot)
        yield from _unreadable(gang)
        yield from _unknown_words(gang, tree)
        yield from _of_pod_group(gang, snapshot)
    if len(group.specs) > 1:
        yield DifferingSpecs()
    if group.omits_itself and group.is_satisfied():
        yield SatisfiedWithoutItself(group.own.key)
    if is_satisfied_by_earlier_pods(group):
        yield SatisfiedByEarlierPods()
    if _has_spec_without_effect(group, snapshot, tree):
        yield SpecWithoutEffect()
    if isinstance(tree, Tree) and snapshot.config.aware_of_topology and not group.is_satisfied():
        yield from _index_order(group)
        if snapshot.config.version != "1.7" and any(pod.selector for pod in group.pending):
            yield WorstFit()


def is_satisfied_by_earlier_pods(group: GangGroup) -> bool:
    """Tell whether only pods that have finished make the scheduler take the group as satisfied."""
    return group.is_satisfied() and bool(group.pending) and not any(gang.running for gang in group.members)


def _of_some(subject: Subject, snapshot: Snapshot) -> Iterator[Oddity]:
    """Yield the members that are not scheduled where the others are enough without them."""
    number = len(subject.pending)
    other = of_other_schedulers(subject, snapshot)
    if other and is_enough_without(subject, keys(other)):
        yield SomeOfOtherScheduler(keys(other), number, tuple(sorted({pod.scheduler for pod in other})))
    deleted = tuple(pod for pod in subject.pending if pod.terminating)
    if deleted and is_enough_without(subject, keys((*deleted, *other))):
        yield SomeBeingDeleted(keys(deleted), number)
    gated = tuple(pod for pod in subject.pending if pod.gates)
    if gated and leaves_gated(subject, snapshot):
        yield SomeGated(keys(gated), number, gates_of(gated))


def _foreign_marker(subject: PodSubject, snapshot: Snapshot) -> Iterator[Oddity]:
    for pod in subject.pending:
        if pod.foreign_gang and pod.scheduler in snapshot.config.profiles:
            yield ForeignGangMarker(pod.key, pod.foreign_gang)


_ALMOST = 0.9
_OF_GANG = f"{names.GANG_NAME.partition('/')[0]}/"
_BARE = {
    key.partition("/")[2]: key
    for key in (
        names.GANG_GROUPS,
        names.GANG_MODE,
        names.GANG_POLICY,
        names.GANG_MINIMUM,
        names.GANG_TOTAL,
        names.GANG_WAITING_TIME,
        names.GANG_TOPOLOGY,
    )
}


def _misspelt_annotations(gang: Gang, snapshot: Snapshot) -> Iterator[Oddity]:
    """Yield the annotations of a PodGroup with the gang prefix and nearly a known name, or that name and no prefix."""
    written = snapshot.pod_groups.get(gang.key)
    for key, _ in written.annotations if written is not None else ():
        prefix, _, bare = key.partition("/")
        if key in _BARE.values() or "koordinator" not in prefix:
            continue
        near = get_close_matches(bare, _BARE, 1, _NEARLY if key.startswith(_OF_GANG) else 1.0)
        for name in near:
            yield MisspeltKey(gang.key, key, _BARE[name])


def _misspelt_labels(subject: PodSubject) -> Iterator[Oddity]:
    """Yield the labels of a pod in no gang that are nearly that by which a pod names its gang."""
    for pod in subject.pending:
        like_it = [key for key, _ in pod.labels if "group" in key and "sigs" in key]  # of many labels few are compared
        for key in like_it:
            for meant in get_close_matches(key, (names.POD_GROUP, names.LIGHT_NAME), 1, _ALMOST):
                yield MisspeltKey(pod.key, key, meant)


def _unreadable(gang: Gang) -> Iterator[Oddity]:
    if "groups" in gang.unreadable:
        yield GroupsUnreadable(gang.key)
    if "network-topology-spec" in gang.unreadable:
        yield TopologySpecUnreadable(gang.key)


def _unknown_words(gang: Gang, tree: Tree | NoTree) -> Iterator[Oddity]:
    for rule in gang.topology or ():
        if rule.strategy not in {"MustGather", "PreferGather"}:
            yield UnknownStrategy(gang.key, rule.strategy)
        elif rule.strategy == "PreferGather" and isinstance(tree, Tree) and rule.layer not in tree.layers:
            yield UnknownPreferredLayer(gang.key, rule.layer)


def _of_pod_group(gang: Gang, snapshot: Snapshot) -> Iterator[Oddity]:
    if not gang.pending:
        return
    if gang.minimum == 0:
        yield MinimumZero(gang.key)
    written = snapshot.pod_groups.get(gang.key)
    phase = written.phase if written is not None else ""
    if phase in {"Finished", "Failed"} or (phase in {"Scheduled", "Running"} and not gang.bound):
        yield StalePhase(gang.key, phase)


def _has_spec_without_effect(group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> bool:
    has_spec = any(spec is not None for spec in group.specs)
    is_aware = snapshot.config.aware_of_topology
    return has_spec and isinstance(tree, Tree) and not is_aware and not waits_for_members(group)


def _index_order(group: GangGroup) -> Iterator[Oddity]:
    """Yield the pods where the indices do not sort like the names: nodes are assigned by name."""
    indexed = [pod for pod in group.pending if pod.index is not None]
    if not any(gang.topology is not None for gang in group.tried) or len(indexed) < 2:  # noqa: PLR2004
        return
    by_name = sorted(indexed, key=lambda pod: pod.name)
    if [pod.index for pod in by_name] != sorted(pod.index or 0 for pod in indexed):
        yield IndexNotHonoured(tuple(pod.name for pod in by_name))
