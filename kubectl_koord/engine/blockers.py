"""What keeps a gang or a pod from being tried: a frozen class each, and the checks that find them."""

from collections.abc import Iterator
from datetime import timedelta
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.attempt import Job, JobTopology, needed
from kubectl_koord.engine.filters.resource_claims import UnreadyClaim
from kubectl_koord.engine.gangs import GangGroup, PodSubject, Subject, never_tried, topology_requirements
from kubectl_koord.engine.placement import TopologyRequirements
from kubectl_koord.engine.reasons import NoTopologyTree, PreFilterRefusal, TopologyManagerOff, TopologyNotAware
from kubectl_koord.engine.reservations import one_of_each_owner
from kubectl_koord.engine.rules import Rules, Spec
from kubectl_koord.engine.tree import ROOT_LAYER, NoTree, Tree
from kubectl_koord.model.objects import Lease
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import OpenPlugin, OtherProfile
from kubectl_koord.model.values import between

_LEAST_SECONDS = 15  # kube-scheduler's own leaseDurationSeconds; it renews every 2 s
_SLACK = 5  # clocks of a cluster agree to a few seconds only


class NoLeader(Struct, frozen=True):
    """No scheduler renews the lease: its name, its holder (empty where it was given up), and the last renewal's age."""

    lease: str
    holder: str
    age: timedelta
    code: ClassVar[Literal["no-scheduler"]] = "no-scheduler"


class NoReplica(Struct, frozen=True):
    """The scheduler's Deployment has no pod that is available, of so many that are wanted, and no lease says more."""

    deployment: str
    wanted: int
    code: ClassVar[Literal["no-scheduler"]] = "no-scheduler"


def no_leader(snapshot: Snapshot) -> NoLeader | NoReplica | None:
    """Return what shows that no scheduler is active; None where one is or nothing can be said.

    A lease tells it, or else the Deployment. Nothing can be said where the lease could not be read, nor of one
    whose times cannot be compared. A renewal in the future is a clock that is off.
    """
    elects = snapshot.config.elects_leader
    if elects and snapshot.leases:
        return next(filter(None, (_overdue(lease, snapshot.moment) for lease in snapshot.leases)), None)
    own = snapshot.config.deployment
    if own is None or not own.is_down or (elects and not snapshot.sees("Lease")):
        return None
    return NoReplica(own.name, own.wanted)


def _overdue(lease: Lease, moment: str) -> NoLeader | None:
    age = between(lease.renewed, lease.seen or moment)
    if age is None or age <= timedelta(seconds=max(_LEAST_SECONDS, lease.seconds) + _SLACK):
        return None
    return NoLeader(lease.name, lease.holder, age)


def has_bound(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether some member was bound while the present leader led: then it remembers that the group ran."""
    if not snapshot.config.elects_leader:
        return False
    starts = [lease.acquired for lease in snapshot.leases or ()]
    bound = [pod.scheduled for gang in group.members for pod in gang.running]
    ages = (between(start, moment) for start in starts for moment in bound)
    return any(age is not None and age > timedelta(seconds=_SLACK) for age in ages)


OpenSetting: TypeAlias = OpenPlugin | OtherProfile
_GANGS = "Coscheduling"


def open_settings(subject: Subject, snapshot: Snapshot) -> tuple[OpenSetting, ...]:
    """Return the settings with which it is open whether a subject is tried."""
    return tuple(of_pods(subject.pending, snapshot))


def of_pods(pods: tuple[PendingPod, ...], snapshot: Snapshot) -> Iterator[OpenSetting]:
    """Yield profiles of the pods that are configured otherwise, and Coscheduling where pods of gangs lack it."""
    config = snapshot.config
    for name in sorted({pod.scheduler for pod in pods} & {*config.differing}):
        yield OtherProfile(name)
    lacking = config.plugins.lacks(_GANGS)
    if {*lacking} - {"postFilter"} and any(pod.gang for pod in pods):
        yield OpenPlugin(_GANGS, lacking)


class UnknownLayer(Struct, frozen=True):
    """The layer to gather in is none of the topology: nodes are asked, and the plan has no domain to start from.

    See `searchMustGatherSatisfiedNodes` in coscheduling/networktopology.
    """

    layer: str
    layers: tuple[str, ...]
    code: ClassVar[Literal["unknown-layer"]] = "unknown-layer"


def prefilter_refusal(spec: Spec, group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> PreFilterRefusal | None:
    """Return how a topology spec keeps the group from its nodes: no tree to plan on, or planning switched off.

    Where planning is off, pods that need not wait for each other are placed without the plan.
    """
    if spec is None:
        return None
    if isinstance(tree, NoTree):
        return NoTopologyTree(tree.fault)
    if not snapshot.config.manages_topology:
        return TopologyManagerOff()
    return TopologyNotAware() if not snapshot.config.aware_of_topology and waits_for_members(group) else None


def waits_for_members(group: GangGroup) -> bool:
    """Tell whether the first pod that finds a node waits for more: else its round ends with it (`Permit`)."""
    return len(group.pending) > 1 and sum(needed(group).values()) > 1


def unknown_layer(requirements: TopologyRequirements, tree: Tree) -> UnknownLayer | None:
    """Return the hard layer that is not in the topology; None for a layer of it, its root, or no hard layer."""
    if requirements.must_gather in {"", ROOT_LAYER, *tree.layers}:
        return None
    return UnknownLayer(requirements.must_gather, tree.layers)


Keys: TypeAlias = tuple[str, ...]
"""Pods or gangs, as `namespace/name`."""


class OtherScheduler(Struct, frozen=True):
    """Every pod names a scheduler that is no profile of Koordinator's: of the profiles that are `known`, or assumed."""

    pods: Keys
    schedulers: tuple[str, ...]
    profiles: tuple[str, ...]
    in_gang: bool
    known: bool = True
    code: ClassVar[Literal["other-scheduler"]] = "other-scheduler"


class MixedSchedulers(Struct, frozen=True):
    """Some of so many pods name another scheduler, and too few are left without them; `known` is as above."""

    pods: Keys
    of: int
    schedulers: tuple[str, ...]
    known: bool = True
    code: ClassVar[Literal["mixed-schedulers"]] = "mixed-schedulers"


class BeingDeleted(Struct, frozen=True):
    """Of so many pending pods these are being deleted, and none or too few are left without them."""

    pods: Keys
    of: int
    in_gang: bool
    code: ClassVar[Literal["being-deleted"]] = "being-deleted"


class Gated(Struct, frozen=True):
    """Of so many pending pods these have scheduling gates.

    enough_others: whether one of the others may be tried, and enough are with it. Then the plan counts those with a
    gate, and what comes of it is open.
    """

    pods: Keys
    of: int
    in_gang: bool
    gates: tuple[str, ...]
    enough_others: bool
    code: ClassVar[Literal["scheduling-gated"]] = "scheduling-gated"


class ClaimsUnready(Struct, frozen=True):
    """Of so many pending pods these have a resource claim that is not there or cannot be used; `claims` are those.

    enough_others: whether the others can do without them.
    """

    pods: Keys
    of: int
    in_gang: bool
    claims: tuple[UnreadyClaim, ...]
    enough_others: bool
    code: ClassVar[Literal["claims-unallocated"]] = "claims-unallocated"


class NoPodGroup(Struct, frozen=True):
    """The pods name a PodGroup that does not exist; `own` is whether it is that of the gang which was asked for.

    `others` may be meant: those of the name in other namespaces, or of nearly the name in this one.
    """

    gang: str
    pods: Keys
    own: bool
    others: Keys = ()

    @property
    def code(self) -> Literal["no-podgroup", "group-member-missing"]:
        """Whether it is the gang itself, or another one of its group."""
        return "no-podgroup" if self.own else "group-member-missing"


class NotInitialised(Struct, frozen=True):
    """The pods define the gang, and min-available as written is none; `written` is empty where it is not set."""

    gang: str
    pods: Keys
    own: bool
    written: str

    @property
    def code(self) -> Literal["gang-not-initialised", "group-member-missing"]:
        """Whether it is the gang itself, or another one of its group."""
        return "gang-not-initialised" if self.own else "group-member-missing"


class TooFewPods(Struct, frozen=True):
    """The gang has fewer children than its minimum; its pending pods are `pods`."""

    gang: str
    pods: Keys
    own: bool
    children: int
    minimum: int

    @property
    def code(self) -> Literal["too-few-pods", "group-member-too-few-pods"]:
        """Whether it is the gang itself, or another one of its group."""
        return "too-few-pods" if self.own else "group-member-too-few-pods"


class NoSuchGangs(Struct, frozen=True):
    """Gangs that the group annotation lists and that do not exist."""

    gangs: Keys
    code: ClassVar[Literal["group-member-missing"]] = "group-member-missing"


class FinishedNeverWait(Struct, frozen=True):
    """The gang needs more pods at once than are pending: its finished ones are children and never wait."""

    gang: str
    pods: Keys
    needed: int
    finished: int
    code: ClassVar[Literal["too-few-pods"]] = "too-few-pods"


class BoundDoNotCount(Struct, frozen=True):
    """The gang needs more pods at once than are pending, and its match policy does not count those that are bound.

    complete: whether as many run as are needed, so that the pending ones come on top.
    """

    gang: str
    pods: Keys
    needed: int
    bound: int
    match_policy: str
    complete: bool

    @property
    def code(self) -> Literal["surplus-pods", "replacement-waits"]:
        """Whether the pending pods come on top, or replace others."""
        return "surplus-pods" if self.complete else "replacement-waits"


class OmitsItself(Struct, frozen=True):
    """The group annotation of the gang lists only others: it is tried when these are, and may wait in vain."""

    gang: str
    listed: Keys
    code: ClassVar[Literal["groups-differ"]] = "groups-differ"


class GroupsDiffer(Struct, frozen=True):
    """Other gangs of the group have another group annotation than the gang."""

    gang: str
    others: Keys
    code: ClassVar[Literal["groups-differ"]] = "groups-differ"


class OpenConfiguration(Struct, frozen=True):
    """It is open whether what blocks the gang does: some settings of the scheduler are not evaluated."""

    settings: tuple[OpenSetting, ...]
    code: ClassVar[Literal["not-evaluated"]] = "not-evaluated"


Blocker: TypeAlias = (
    OtherScheduler
    | MixedSchedulers
    | NoLeader
    | NoReplica
    | BeingDeleted
    | Gated
    | ClaimsUnready
    | NoPodGroup
    | NotInitialised
    | TooFewPods
    | NoSuchGangs
    | FinishedNeverWait
    | BoundDoNotCount
    | OmitsItself
    | GroupsDiffer
    | PreFilterRefusal
    | UnknownLayer
    | OpenConfiguration
)
"""Why a gang or a pod is not tried, or is refused whatever the nodes are."""


def jobs(subject: Subject, snapshot: Snapshot, rules: Rules, tree: Tree | NoTree) -> tuple[Job, ...]:
    """Return what the scheduler tries as one: usually one job.

    Several where the gangs of a group carry different topology specs: that of the trigger's own gang
    counts; those that refuse every member come last. A satisfied group's pods are scheduled one by
    one, by priority and without topology; all must find a place.
    """
    claims = snapshot.claims_asked_for
    own = one_of_each_owner(snapshot)
    promised = frozenset(volume.promised for volume in snapshot.storage.volumes if volume.promised)
    if isinstance(subject, PodSubject):
        return tuple(
            Job(
                (pod,),
                {"": 1},
                None,
                rules,
                snapshot.nominated,
                claims=claims,
                promised=promised,
                reservations=own,
                pending=snapshot.pending,
            )
            for pod in subject.pending
        )
    group = subject.group
    never = never_tried(subject, snapshot)
    if group.is_satisfied():
        tried = [pod for pod in group.pending if pod.key not in never]
        highest = max((pod.priority for pod in tried), default=0)
        every = {gang.key: sum(pod.key not in never for pod in gang.pending) for gang in group.tried}
        return (
            Job(
                group.pending,
                every,
                None,
                rules,
                snapshot.nominated,
                tuple(pod for pod in tried if pod.priority == highest),
                claims=claims,
                promised=promised,
                never=never,
                reservations=own,
                pending=snapshot.pending,
                each_queued=True,
            ),
        )
    found = []
    for spec in group.specs:
        of_spec = (pod for gang in group.tried if gang.topology == spec for pod in gang.pending)
        is_planned = spec is not None and snapshot.config.aware_of_topology
        topology = (
            JobTopology(topology_requirements(spec or (), tree), tree)
            if is_planned and isinstance(tree, Tree)
            else None
        )
        found.append(
            Job(
                pods=group.pending,
                needed=needed(group),
                topology=topology,
                rules=rules,
                nominated=snapshot.nominated,
                may_trigger=tuple(pod for pod in of_spec if pod.key not in never),
                claims=claims,
                promised=promised,
                never=never,
                reservations=own,
                prefilter=prefilter_refusal(spec, group, snapshot, tree),
                pending=snapshot.pending,
            )
        )
    return tuple(sorted((job for job in found if job.may_trigger), key=_is_hopeless))


def _is_hopeless(job: Job) -> bool:
    """Tell whether no node can help: none is asked, or the layer to gather in does not exist."""
    if job.prefilter is not None:
        return True
    topology = job.topology
    return topology is not None and unknown_layer(topology.requirements, topology.tree) is not None
