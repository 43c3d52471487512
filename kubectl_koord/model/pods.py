"""Pods: a compact record for those that run, a full value for those that wait."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Self, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.model import keys
from kubectl_koord.model.hardware import NO_NUMA, NOTHING, Allocations, DeviceOptions, PodNUMA
from kubectl_koord.model.load import EstimatedTime, ExpectedUse
from kubectl_koord.model.reservations import OwnerReference, Reservation, ReservationUse
from kubectl_koord.model.resource_claims import PodClaim
from kubectl_koord.model.unevaluated import PodUnevaluated
from kubectl_koord.model.values import Labels, NodeTerm, PackedLabels, Resources, Selector, Toleration


class GangAnnotations(Struct, frozen=True, gc=False):
    """What a pod itself says of its gang (only read where no PodGroup defines the gang)."""

    minimum: str | None = None
    total: str | None = None
    mode: str = ""
    match_policy: str = ""
    groups: str | None = None
    topology: str | None = None


class Marks(Struct, frozen=True, gc=False):
    """What tells a running pod from most others, as one value for all that have the same.

    `job` is the victim's job key (label `scheduling.koordinator.sh/questioned-object-key`); `selector` its annotation
    `network-topology-selector`; `gone_by` when a terminating pod must have ended, its grace period over;
    `offers` the uid of the reservation that the pod is itself (operating mode); `initialized` since when its init
    containers have run, where it says for how long its estimate counts from then on. `preemptor` is the job for which
    job preemption ended it, as its condition names that: the ids of a gang group, or `namespace/name` of a pod.
    `gang_terms` is what a pod says of its gang that no PodGroup has to define, None where it says nothing. A pod of a
    DaemonSet may be `unready`; of others it is not kept.
    """

    job: str = ""
    protected: bool = False
    terminating: bool = False
    preempted: bool = False
    selector: str = ""
    gone_by: str = ""
    offers: str = ""
    initialized: str = ""
    preemptor: str = ""
    gang_terms: GangAnnotations | None = None
    unready: bool = False


NO_MARKS = Marks()


NamespaceLabels: TypeAlias = Mapping[str, Mapping[str, str]]
"""The labels of namespaces, by their names."""

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label with a namespace's name, which the API server sets."""


def labels_of(name: str, known: NamespaceLabels) -> Mapping[str, str]:
    """Return the labels of a namespace; of one that is not known the label that each has."""
    return known.get(name) or labels_of_new(name)


def labels_of_new(name: str) -> Mapping[str, str]:
    """Return the labels that a namespace has which is made with nothing but a name."""
    return {NAME_LABEL: name}


AnyLabels: TypeAlias = Labels | PackedLabels
"""Labels of a pod: pairs for whoever iterates over them."""

POD_GROUP_LABEL = keys.POD_GROUP
"""The label that names a pod's PodGroup."""
SCHEDULER_LABEL = keys.SCHEDULER_NAME
"""The label that counts in place of a pod's schedulerName."""
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104


class HostPort(Struct, frozen=True, gc=False):
    """One host port that a pod claims; an empty address claims all addresses."""

    port: int
    protocol: str = "TCP"
    address: str = EVERY_ADDRESS


class Spread(Struct, frozen=True, gc=False):
    """One hard topology spread constraint (`whenUnsatisfiable: DoNotSchedule`)."""

    key: str
    max_skew: int
    selector: Selector | None
    min_domains: int = 1
    honor_affinity: bool = True
    honor_taints: bool = False


class PodTerm(Struct, frozen=True, gc=False):
    """One required term of an inter-pod affinity or anti-affinity.

    `selector` None matches no pod. It is about the `namespaces` that it names, and those whose labels match its
    `namespace_selector`; with neither of them about the pod's own.
    """

    key: str
    selector: Selector | None
    namespaces: tuple[str, ...] = ()
    namespace_selector: Selector | None = None

    @property
    def reads_namespaces(self) -> bool:
        """Whether it takes more of namespaces than their names, which are labels of theirs, to tell which are meant."""
        selector = self.namespace_selector
        return selector is not None and any(one.key != NAME_LABEL for one in selector.requirements)


class PodAmounts(Struct, frozen=True, gc=False, cache_hash=True):
    """What a pod requests, and what LoadAwareScheduling estimates its usage from."""

    requests: Resources = ()
    expected: tuple[ExpectedUse, ...] = ()


class PodRequirements(Struct, frozen=True, gc=False, cache_hash=True):
    """What the filters read of a pod's spec, shared between pods that are equal in it.

    `claims` are its volume claims by name, `ephemeral` the names of its volumes for which claims of their own are made.
    `expected` is what LoadAwareScheduling estimates its usage from, `estimated_for` for how long that counts where it
    says so itself; `is_prod` tells whether its priority class is koord-prod, by its label, its priority or its QoS
    class. `devices` is None where nothing is said of devices but
    their amounts, `reservation` where nothing is said of reservations; `numa` is what it asks of CPUs and NUMA zones.
    `has_resource_claims` tells whether it may hold devices that are allocated by claims.
    `unevaluated` holds what the pod uses and no filter here evaluates, such as an attached volume. `by_containers`
    are its amounts for schedulers that do not know what pods request as a whole, None where they are the same.
    """

    requests: Resources = ()
    selector: Labels = ()
    affinity: tuple[NodeTerm, ...] | None = None
    tolerations: tuple[Toleration, ...] = ()
    ports: tuple[HostPort, ...] = ()
    spread: tuple[Spread, ...] = ()
    pod_affinity: tuple[PodTerm, ...] = ()
    pod_anti_affinity: tuple[PodTerm, ...] = ()
    sidecars: bool = False
    claims: tuple[str, ...] = ()
    ephemeral: tuple[str, ...] = ()
    expected: tuple[ExpectedUse, ...] = ()
    estimated_for: EstimatedTime | None = None
    is_prod: bool = True
    of_daemon_set: bool = False
    devices: DeviceOptions | None = None
    reservation: ReservationUse | None = None
    unevaluated: tuple[PodUnevaluated, ...] = ()
    numa: PodNUMA = NO_NUMA
    has_resource_claims: bool = False
    by_containers: PodAmounts | None = None

    @property
    def of_containers(self) -> "PodRequirements":
        """The requirements for schedulers that do not know what pods request as a whole."""
        amounts = self.by_containers
        if amounts is None:
            return self
        return structs.replace(self, requests=amounts.requests, expected=amounts.expected, by_containers=None)

    @property
    def reads_namespaces(self) -> bool:
        """Whether any of its terms selects namespaces by more labels than that of their names."""
        terms = self.pod_affinity + self.pod_anti_affinity
        return bool(terms) and any(term.reads_namespaces for term in terms)


class RunningPod(Struct, frozen=True, gc=False):
    """A pod that holds a place on a node: bound and not finished.

    `gang` is the gang's id or empty; `created` and `scheduled` RFC 3339 as the API prints them;
    `allocations` what the scheduler wrote that its plugins booked for it; what it is besides, as few are,
    stands in its `marks`. `labels`, `owner`, `created` and `scheduled` are
    empty where nothing but the topology or devices was asked for; where nothing but sums was, there is no more than
    its requests, in one value for all pods alike.
    """

    namespace: str
    name: str
    node: str
    priority: int
    requirements: PodRequirements
    gang: str = ""
    created: str = ""
    owner: str = ""
    labels: AnyLabels = ()
    scheduled: str = ""
    allocations: Allocations = NOTHING
    marks: Marks = NO_MARKS

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def job(self) -> str:
        """The key of the job that it is part of as a victim, empty for none."""
        return self.marks.job

    @property
    def protected(self) -> bool:
        """Whether job preemption must spare it."""
        return self.marks.protected

    @property
    def terminating(self) -> bool:
        """Whether it was deleted, and has not ended yet."""
        return self.marks.terminating

    @property
    def preempted(self) -> bool:
        """Whether the scheduler has preempted it."""
        return self.marks.preempted

    @property
    def preemptor(self) -> str:
        """The job for which job preemption ended it, empty where its condition names none."""
        return self.marks.preemptor

    @property
    def selector(self) -> str:
        """Its annotation `network-topology-selector` as written, empty for none."""
        return self.marks.selector

    @property
    def gone_by(self) -> str:
        """When it must have ended, RFC 3339; empty unless it is terminating."""
        return self.marks.gone_by

    @property
    def gang_terms(self) -> GangAnnotations | None:
        """What it says of its gang, None where that is nothing, or not for it to say."""
        return self.marks.gang_terms

    @property
    def offers(self) -> str:
        """The uid of the reservation that it is itself, empty for none."""
        return self.marks.offers


class NodePods(tuple[RunningPod, ...]):  # noqa: SLOT001 - a tuple has no slots
    """The running pods of one node, with what of them is asked for again and again, and is known when they are read.

    That is the sums of what they request, and for which of them anything is booked. What is derived from it is a plain
    tuple, so that this always belongs to these pods.
    """

    requested: Mapping[str, int]
    ports: tuple[HostPort, ...]

    @classmethod
    def of(
        cls,
        pods: Iterable[RunningPod],
        requested: Mapping[str, int],
        ports: Iterable[HostPort],
        booked: tuple[RunningPod, ...] | None = None,
    ) -> Self:
        """Return the pods with the sums of their requests, by resource, their host ports, and those in `booked`."""
        node_pods = cls(pods)
        node_pods.requested = requested
        node_pods.ports = tuple(ports)
        if booked is not None:
            node_pods.__dict__["booked"] = booked
        return node_pods

    @cached_property
    def booked(self) -> tuple[RunningPod, ...]:
        """Those for which anything is booked."""
        return tuple([pod for pod in self if pod.allocations != NOTHING])


class RunningPods(dict[str, NodePods]):
    """The running pods by node, and all of them as they were listed.

    Pods of one owner follow each other there, in memory, too: who goes through all pods is done soonest in that order.
    """

    __slots__ = ("listed",)

    def __init__(self, by_node: Mapping[str, NodePods], listed: Sequence[RunningPod]) -> None:
        super().__init__(by_node)
        self.listed = listed


class ReservedRoom(Struct, frozen=True, gc=False):
    """What a Reservation holds of a node: a place, and these requests, of which its owners draw `resources`.

    The scheduler counts it as a pod of its own making, of a `namespace` and with `labels`. `name` is the Reservation's;
    with the priority that such a pod has by default nobody preempts it. `allocations` is what plugins have booked for
    it, with its own uid; `job` and `protected` are the victim's, as of running pods.
    """

    name: str
    node: str
    requirements: PodRequirements = PodRequirements()
    priority: int = 2**31 - 1
    allocations: Allocations = NOTHING
    resources: tuple[str, ...] = ()
    job: str = ""
    protected: bool = False
    namespace: str = "default"
    labels: Labels = ()

    @property
    def uid(self) -> str:
        """The Reservation's uid."""
        return self.allocations.reservation

    @property
    def key(self) -> str:
        """The name as reports print it."""
        return self.name


class Condition(Struct, frozen=True, gc=False):
    """The condition `PodScheduled` = False as the scheduler or the API server wrote it."""

    reason: str
    message: str
    since: str


class PendingPod(Struct, frozen=True, gc=False):
    """A pod without a node that is not finished, with all that decides about it.

    `foreign_gang` names the label or annotation of another gang scheduler where that is its only one,
    `volcano_group` the PodGroup of Volcano that it names, `namespace/name`;
    `reserves` is the Reservation that is not placed yet and for which this pod stands.
    `allocations` is what plugins have booked for a member that is placed, as a plan is carried out; None for
    a member that is only put on a node to count, for which upstream's plugins book nothing.
    `resource_claims` are its claims of dynamic resource allocation.
    """

    namespace: str
    name: str
    priority: int
    requirements: PodRequirements
    scheduler: str
    gang: str = ""
    needs_pod_group: bool = False
    gang_terms: GangAnnotations = GangAnnotations()
    never_preempts: bool = False
    index: int | None = None
    selector: str = ""
    job: str = ""
    nominated: str = ""
    gates: tuple[str, ...] = ()
    terminating: bool = False
    condition: Condition | None = None
    created: str = ""
    owner: str = ""
    labels: Labels = ()
    resource_version: str = ""
    foreign_gang: str = ""
    volcano_group: str = ""
    uid: str = ""
    allocations: Allocations | None = None
    owners: tuple[OwnerReference, ...] = ()
    reserves: Reservation | None = None
    resource_claims: tuple[PodClaim, ...] = ()

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


def any_pod_of(requirements: PodRequirements) -> PendingPod:
    """Return a pod of which only the requirements count."""
    return PendingPod(namespace="", name="", priority=0, requirements=requirements, scheduler="")


def claim_names(pod: "RunningPod | PendingPod | ReservedRoom") -> tuple[str, ...]:
    """Return the claims of a pod as `namespace/name`, those of its ephemeral volumes last."""
    wanted = pod.requirements
    if not wanted.claims and not wanted.ephemeral:
        return ()
    own = (f"{pod.namespace}/{pod.name}-{volume}" for volume in wanted.ephemeral)
    return (*(f"{pod.namespace}/{name}" for name in wanted.claims), *own)


class FinishedPod(Struct, frozen=True, gc=False):
    """A Succeeded or Failed pod that still counts as a child of its gang."""

    namespace: str
    name: str
    gang: str
    was_bound: bool
    created: str = ""
    owner: str = ""

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class Event(Struct, frozen=True, gc=False):
    """One event about a pod, or about what could not make one; of `v1` or `events.k8s.io/v1`.

    Times are RFC 3339, empty where not set. `kind` is that of the object that it is about.
    `related` is the other pod (for `Preempted` the one that preempted) as `namespace/name`. `note`
    is cut at 1024 characters by its writer.
    """

    namespace: str
    name: str
    reason: str
    note: str
    uid: str = ""
    related: str = ""
    first_seen: str = ""
    last_seen: str = ""
    kind: str = "Pod"

    @property
    def key(self) -> str:
        """The object that it is about: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class PodTrace(Struct, frozen=True, gc=False):
    """A pod in any phase, with what shows that it was preempted.

    `node` is empty while it is pending; `preempted` the condition `DisruptionTarget` of reason
    `PreemptionByScheduler`; `quota` the quota that its label names.
    """

    namespace: str
    name: str
    uid: str = ""
    node: str = ""
    priority: int = 0
    gang: str = ""
    owner: str = ""
    quota: str = ""
    phase: str = ""
    terminating: bool = False
    preempted: Condition | None = None
    created: str = ""

    @property
    def key(self) -> str:
        """The name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"
