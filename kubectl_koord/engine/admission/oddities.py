"""Settings that do not do what was meant, though they block nobody: one frozen class each, one closed union.

wording/admission.py words them; the `code` of each is one of `WarningCode`.
"""

from collections.abc import Iterator
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.admission.before_trying import (
    gates_of,
    is_enough_without,
    keys,
    leaves_gated,
    of_other_schedulers,
)
from kubectl_koord.engine.admission.blockers import Keys
from kubectl_koord.engine.admission.prefilter import waits_for_members
from kubectl_koord.engine.gangs import Gang, GangGroup
from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.snapshot import Snapshot


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
        return
    group = subject.group
    for gang in group.everyone:
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
