"""Every way in which a node can refuse a pod: one frozen class each, one closed union.

`unresolvable` tells whether removing pods could help: preemption looks only at nodes where it is false (upstream's
status codes Unschedulable and UnschedulableAndUnresolvable). What is refused before any node is in `prefilter`.
"""

from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.model.selectors import Taint


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


DeviceReason: TypeAlias = (
    DevicesMissing
    | DevicesShort
    | NoPartition
    | ScopeUnsupported
    | DevicesApart
    | SharingUnsupported
    | IsolationMissing
    | DevicesOutsideZones
)
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
)
"""Why NodeNUMAResource refuses a pod on a node."""

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
    | DeviceReason
    | NUMAReason
)
"""Why one node refuses a pod: what a Filter plugin returns."""
