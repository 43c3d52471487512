"""Why a pod is refused before any node is looked at: one frozen class per refusal, with its facts, one closed union.

What a PreFilter plugin returns (upstream `RunPreFilterPlugins`), or a transformer that runs before them. A class here
is worded in wording/prefilter.py, and its `code` is one of `CauseCode`.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.tree import TreeFault
from kubectl_koord.model.hardware.devices import DeviceAnnotation
from kubectl_koord.model.values.quantity import Resources


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
