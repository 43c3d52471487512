"""Why a node refuses a pod and why PreFilter refuses a job: a frozen class each, in closed unions."""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.tree import TreeFault
from kubectl_koord.model.hardware import DeviceAnnotation
from kubectl_koord.model.values import Resources, Taint


class NotEnoughDevices(Struct, frozen=True):
    """The node cannot supply a request of a claim: how many devices are wanted, and how many that match are free.

    The scheduler says "cannot allocate all claims". Where `every` device is wanted, `wanted` is how many match.
    """

    claim: str
    request: str
    wanted: int
    free: int
    every: bool = False
    unresolvable: bool = True


class ClaimElsewhere(Struct, frozen=True):
    """A claim is allocated, and its devices cannot be used on the node ("resourceclaim not available on the node")."""

    claim: str
    unresolvable: bool = True


SelectorProblemCode: TypeAlias = Literal[
    "no-such-key",
    "no-such-overload",
    "unsupported-attribute",
    "no-boolean",
    "no-version",
    "no-quantity",
    "no-integer",
    "integer-overflow",
    "division-by-zero",
    "no-value",
    "unhashable",
]
"""Runtime errors of CEL."""


class SelectorProblem(Struct, frozen=True, gc=False):
    """Why a CEL selector fails: `about` is the key, the function, the attribute or the text."""

    code: SelectorProblemCode
    about: str = ""


class SelectorFails(Struct, frozen=True):
    """A CEL selector of a request, or of its class, fails on a device of the node: the scheduler gives up there."""

    claim: str
    request: str
    expression: str
    problem: SelectorProblem
    unresolvable: bool = True


class TooManyDevices(Struct, frozen=True):
    """A claim asks for more devices than one may get: the scheduler gives up ("exceeds the claim limit")."""

    claim: str
    wanted: int
    unresolvable: bool = True


NotAllocated: TypeAlias = NotEnoughDevices | SelectorFails | TooManyDevices
"""Why a node cannot supply what claims ask for."""
ClaimReason: TypeAlias = NotAllocated | ClaimElsewhere
"""What DynamicResources says of one node."""


class DevicesMissing(Struct, frozen=True):
    """The node has no device of a type, or with `functions` none with virtual functions."""

    type: str
    functions: bool = False
    unresolvable: bool = True


class DevicesShort(Struct, frozen=True):
    """Too few devices of a type have enough free: how many are needed, how many have it.

    `scope` is where all of them must be together, empty for the node.
    """

    type: str
    wanted: int
    fitting: int
    scope: str = ""
    unresolvable: bool = False


class NoPartition(Struct, frozen=True):
    """No GPU partition of the wanted size is free; `sizes` are those the node has, None where it has no table."""

    wanted: int
    sizes: tuple[int, ...] | None
    unresolvable: bool = False


class ScopeUnsupported(Struct, frozen=True):
    """GPUs must be together in a scope, and the node tells no topology; or they are `shared`, several at once."""

    scope: str
    shared: bool = False
    unresolvable: bool = True


class DevicesApart(Struct, frozen=True):
    """Devices that must be on the same PCIe switches are not, of these types."""

    types: tuple[str, ...]
    unresolvable: bool = False


class SharingUnsupported(Struct, frozen=True):
    """GPUs of this vendor and model cannot be shared."""

    vendor: str
    model: str
    unresolvable: bool = True


class IsolationMissing(Struct, frozen=True):
    """The node has another GPU isolation provider, or none, and the scheduler gives up the whole attempt over that."""

    provider: str
    unresolvable: bool = True


class DevicesOutsideZones(Struct, frozen=True):
    """NUMA nodes have fewer devices of a type than are needed, whatever is free of them."""

    type: str
    wanted: int
    there: int
    unresolvable: bool = True


ByBooks: TypeAlias = (
    DevicesMissing
    | DevicesShort
    | NoPartition
    | ScopeUnsupported
    | DevicesApart
    | SharingUnsupported
    | IsolationMissing
    | DevicesOutsideZones
)
"""Why the devices of a node do not do, by one set of books."""


class BeyondReservedDevices(Struct, frozen=True):
    """A pod must use a reservation, and none that matches has devices for it: why, for each of them."""

    reasons: tuple[ByBooks, ...]
    unresolvable: bool = False


DeviceReason: TypeAlias = ByBooks | BeyondReservedDevices
"""Why the devices of a node do not do."""


class NUMAPolicyMismatch(Struct, frozen=True):
    """The pod and the node have different NUMA policies."""

    node: str
    pod: str
    unresolvable: bool = True


class FractionalCPUs(Struct, frozen=True):
    """The node binds the CPUs of every pod, and the pod asks for parts of one (in thousandths)."""

    asked: int
    unresolvable: bool = True


class InvalidAmplification(Struct, frozen=True):
    """The node's amplification ratios cannot be read."""

    unresolvable: bool = True


class InsufficientAmplifiedCPU(Struct, frozen=True):
    """CPU is short on an amplified node, where CPUs that are bound count more than once (in thousandths)."""

    needed: int
    free: int
    unresolvable: bool = False


class NoCPUTopology(Struct, frozen=True):
    """The node tells nothing of its CPUs, and the pod's must be bound."""

    unresolvable: bool = True


class BindPolicyConflict(Struct, frozen=True):
    """The pod requires another way to bind CPUs than the node."""

    node: str
    pod: str
    unresolvable: bool = True


class PartialCores(Struct, frozen=True):
    """Whole cores must be bound, and the pod's CPUs are no multiple of those of a core."""

    cpus: int
    per_core: int
    unresolvable: bool = True


class NotEnoughCPUs(Struct, frozen=True):
    """Fewer CPUs can be bound than the pod asks for, by the policy that is required (empty for any)."""

    needed: int
    free: int
    policy: str = ""
    unresolvable: bool = False


class NoZones(Struct, frozen=True):
    """A NUMA policy counts, and the node tells no zones."""

    unresolvable: bool = True


class UnsatisfiedZones(Struct, frozen=True):
    """No set of NUMA zones has what is asked of these resources."""

    resources: tuple[str, ...]
    unresolvable: bool = False


class UnalignedZones(Struct, frozen=True):
    """No set of NUMA zones suits all resources: by resource those that it prefers, and those that would do."""

    policy: str
    hints: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    unresolvable: bool = False


class InsufficientInZones(Struct, frozen=True):
    """The chosen NUMA zones are short of resources: what is needed and what is free."""

    short: tuple[tuple[str, int, int], ...]
    unresolvable: bool = False


Lack: TypeAlias = NotEnoughCPUs | InsufficientInZones
"""What CPUs or zones have too little of."""


class BeyondReservedZones(Struct, frozen=True):
    """A pod must use a reservation, and none that matches has CPUs or zones for it: why, for each of them."""

    reasons: tuple[Lack, ...]
    unresolvable: bool = False


NUMAReason: TypeAlias = (
    NUMAPolicyMismatch
    | FractionalCPUs
    | InvalidAmplification
    | InsufficientAmplifiedCPU
    | NoCPUTopology
    | BindPolicyConflict
    | PartialCores
    | NotEnoughCPUs
    | NoZones
    | UnsatisfiedZones
    | UnalignedZones
    | InsufficientInZones
    | BeyondReservedZones
)
"""Why NodeNUMAResource refuses a pod on a node."""


class Cordoned(Struct, frozen=True):
    """spec.unschedulable, and the pod does not tolerate it."""

    unresolvable: bool = True


class Untolerated(Struct, frozen=True):
    """A taint that the pod does not tolerate."""

    taint: Taint
    unresolvable: bool = True


class NotSelected(Struct, frozen=True):
    """The pod's node selector or required node affinity does not match."""

    unresolvable: bool = True


class SidecarsUnknown(Struct, frozen=True):
    """The pod has restartable init containers, which this version's scheduler refuses everywhere."""

    unresolvable: bool = True


class PortTaken(Struct, frozen=True):
    """A host port is in use."""

    port: int
    unresolvable: bool = False


class TooManyPods(Struct, frozen=True):
    """The node's pod places are all taken."""

    allowed: int
    unresolvable: bool = False


class Insufficient(Struct, frozen=True):
    """Resources that are short: by resource what is needed and what is free.

    `pods_too` is set when the pod places are short as well.
    """

    short: tuple[tuple[str, int, int], ...]
    unresolvable: bool = False
    pods_too: bool = False


class ClaimInUse(Struct, frozen=True):
    """A ReadWriteOncePod claim is in use by another pod."""

    claim: str
    unresolvable: bool = False


class VolumeElsewhere(Struct, frozen=True):
    """A bound volume cannot be reached from the node (node affinity or zone)."""

    claim: str
    unresolvable: bool = True


class NoVolumeToBind(Struct, frozen=True):
    """No free volume for an unbound claim can be reached from the node, and none can be made for it."""

    claim: str
    unresolvable: bool = True


class NotEnoughStorage(Struct, frozen=True):
    """A volume as large as an unbound claim asks for cannot be made for the node."""

    claim: str
    size: int
    unresolvable: bool = True


class TooManyVolumes(Struct, frozen=True):
    """The node can attach no more volumes of a CSI driver."""

    driver: str
    unresolvable: bool = False


class NotReserved(Struct, frozen=True):
    """The pod must use a reservation, and the node has none that matches it."""

    unresolvable: bool = True


class OtherPolicy(Struct, frozen=True):
    """A reservation of the node has another allocate policy than the one to be placed: Default goes with no other."""

    unresolvable: bool = True


class BeyondReservation(Struct, frozen=True):
    """No reservation that matches the pod holds it, not with the rest of the node either.

    By resource what is needed and what is left, most of all of them: `of_node` of a reservation and the node
    together, `of_reservation` of one that gives no more than it holds; `full` where its pod places are taken.
    """

    of_node: tuple[tuple[str, int, int], ...]
    of_reservation: tuple[tuple[str, int, int], ...] = ()
    full: bool = False
    unresolvable: bool = False


class Overloaded(Struct, frozen=True):
    """Measured usage plus the pod's estimate is above the threshold, in percent; `aggregated`: usage over a time."""

    resource: str
    percent: int
    threshold: int
    unresolvable: bool = False
    aggregated: bool = False


class MetricExpired(Struct, frozen=True):
    """The node's metric is too old, and the scheduler is configured to refuse such nodes."""

    updated: str
    unresolvable: bool = False


class SpreadTooSkewed(Struct, frozen=True):
    """A hard topology spread constraint would be violated."""

    key: str
    unresolvable: bool = False


class SpreadLabelMissing(Struct, frozen=True):
    """The node lacks the label of a hard topology spread constraint."""

    key: str
    unresolvable: bool = True


class PodAffinityUnmet(Struct, frozen=True):
    """No pod that the required pod affinity asks for is in the node's domain."""

    unresolvable: bool = True


class AntiAffinityViolated(Struct, frozen=True):
    """The pod's own required anti-affinity is violated."""

    unresolvable: bool = False


class ExistingAntiAffinityViolated(Struct, frozen=True):
    """The required anti-affinity of a pod that runs there is violated."""

    unresolvable: bool = False


Reason: TypeAlias = (
    Cordoned
    | Untolerated
    | NotSelected
    | SidecarsUnknown
    | PortTaken
    | TooManyPods
    | Insufficient
    | ClaimInUse
    | VolumeElsewhere
    | NoVolumeToBind
    | NotEnoughStorage
    | TooManyVolumes
    | NotReserved
    | OtherPolicy
    | BeyondReservation
    | Overloaded
    | MetricExpired
    | SpreadTooSkewed
    | SpreadLabelMissing
    | PodAffinityUnmet
    | AntiAffinityViolated
    | ExistingAntiAffinityViolated
    | ClaimReason
    | DeviceReason
    | NUMAReason
)
"""Why one node refuses a pod: what a Filter plugin returns."""


class Refused(Struct, frozen=True):
    """Why some nodes refuse a pod, and how many do."""

    reason: Reason
    nodes: int


class NoTopologyTree(Struct, frozen=True):
    """The job has a topology spec, and there is no tree to plan it on.

    The scheduler says "no cluster network topology" (`BeforePreFilter` in coscheduling/core/core.go).
    """

    fault: TreeFault

    @property
    def code(self) -> Literal["no-topology", "broken-layer-chain"]:
        """Whether there is no topology, or one of which no tree can be built."""
        return "no-topology" if self.fault.code in {"no-topology", "topology-other-name"} else "broken-layer-chain"


class TopologyManagerOff(Struct, frozen=True):
    """The job has a topology spec, and the scheduler runs without the manager that builds trees.

    The scheduler says "no cluster network topology" here, too.
    """

    code: ClassVar[Literal["no-topology"]] = "no-topology"


class TopologyNotAware(Struct, frozen=True):
    """The job has a topology spec, and awareNetworkTopology is off, so that none is planned.

    Of each member but the first the scheduler says "no planned pods" (`PodGroupManager.PreFilter` in coscheduling).
    """

    code: ClassVar[Literal["no-topology"]] = "no-topology"


class InvalidDeviceAmount(Struct, frozen=True):
    """An amount of devices that is neither a part of one nor whole ones."""

    resource: str
    amount: int
    code: ClassVar[Literal["invalid-request"]] = "invalid-request"


class InvalidDeviceSet(Struct, frozen=True):
    """Device resources that do not go together, or not in these amounts."""

    resources: tuple[str, ...]
    code: ClassVar[Literal["invalid-request"]] = "invalid-request"


class UnreadableDeviceAnnotation(Struct, frozen=True):
    """An annotation about devices that the scheduler cannot read."""

    annotation: DeviceAnnotation
    code: ClassVar[Literal["invalid-request"]] = "invalid-request"


InvalidDevices: TypeAlias = InvalidDeviceAmount | InvalidDeviceSet | UnreadableDeviceAnnotation
"""What is wrong with what a pod asks of devices."""

VolumeFault: TypeAlias = Literal[
    "claim-missing",
    "being-deleted",
    "not-bound",
    "binding",
    "lost",
    "volume-missing",
    "ephemeral-missing",
    "not-owner",
]


class VolumesUnbound(Struct, frozen=True):
    """A claim of the pod cannot be used on any node, whoever goes.

    It does not exist, is being deleted, is bound to a volume that does not exist, or to one that it has lost, is not
    bound yet to the one that it names, or has to be bound before pods are scheduled; or a claim of an ephemeral volume
    was not made yet, or is not the pod's own. Mirrors `PreFilter` in plugins/volumebinding/volume_binding.go; `about`
    is the volume, or the StorageClass.
    """

    pod: str
    claim: str
    fault: VolumeFault
    about: str = ""
    code: ClassVar[Literal["volumes-unbound"]] = "volumes-unbound"


class ClaimsUnallocated(Struct, frozen=True):
    """A resource claim of the pod cannot be used on any node, whoever goes (`PreFilter` of DynamicResources).

    `no-class`: the DeviceClass `about` of its request `request` does not exist.
    `in-use`: as many pods use it as may.
    `being-allocated`: the claim is being allocated for another pod that waits, such as another member of the gang.
    """

    pod: str
    claim: str
    fault: Literal["no-class", "in-use", "being-allocated"]
    about: str = ""
    request: str = ""
    code: ClassVar[Literal["claims-unallocated"]] = "claims-unallocated"


class NoReservationMatches(Struct, frozen=True):
    """A pod must use a reservation, and none matches it on a node that it may go to (`PreFilter` in reservation).

    By `name`, where it asks for one; `owned` is how many there are of which it may be an owner, `is_own` whether the
    one of that name is among them.
    """

    pod: str
    name: str
    owned: int
    is_own: bool = False
    code: ClassVar[Literal["no-matching-reservation"]] = "no-matching-reservation"


class FractionalBinding(Struct, frozen=True):
    """The pod asks to bind its CPUs, and asks for parts of one, in thousandths (`PreFilter` of NodeNUMAResource)."""

    asked: int
    code: ClassVar[Literal["invalid-request"]] = "invalid-request"


class UnreadableAnnotation(Struct, frozen=True):
    """An annotation of the pod, by its name, cannot be read (`PreFilter` of NodeNUMAResource)."""

    annotation: str
    code: ClassVar[Literal["invalid-request"]] = "invalid-request"


class QuotaExceeded(Struct, frozen=True):
    """An elastic quota has no room for a pod: with what the pod asks for, more would be used than it may.

    The scheduler says "Insufficient quotas", and "Insufficient non-preemptible quotas" of a minimum (`PreFilter` in
    elasticquota/plugin.go). All nodes count as refused, and preemption may be tried on each.

    path: the quota that refuses, and those below it down to the pod's own. kind: what of it is too little: its
    `runtime`, its `max`, or its `min`, which non-preemptible pods must stay within. limit: that. used: what counts
    against it. requested: what the pod adds. over: the resources of which that is too much. ahead: the first of the
    pods that wait and are counted before it (`namespace/name`), and `taken` what of `used` they all take. capped: the
    resources of which the runtime is as much as the maximum. scaled: the minimums that count as less, as those beside
    it are together more than there is: the resource, what is written, what counts.
    """

    pod: str
    path: tuple[str, ...]
    kind: Literal["runtime", "max", "min"]
    limit: Resources
    used: Resources
    requested: Resources
    over: tuple[str, ...]
    ahead: tuple[str, ...] = ()
    taken: Resources = ()
    capped: tuple[str, ...] = ()
    scaled: tuple[tuple[str, int, int], ...] = ()
    code: ClassVar[Literal["quota"]] = "quota"


PodRefusal: TypeAlias = (
    InvalidDevices
    | NoReservationMatches
    | VolumesUnbound
    | ClaimsUnallocated
    | FractionalBinding
    | UnreadableAnnotation
)
"""What is wrong with the pod itself, so that no node can help."""

PreFilterRefusal: TypeAlias = NoTopologyTree | TopologyManagerOff | TopologyNotAware | PodRefusal | QuotaExceeded
"""Why a pod, and with it its job, is refused before any node is looked at."""
