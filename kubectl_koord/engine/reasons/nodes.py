"""Every way in which a node can refuse a pod: one frozen class each, one closed union.

`unresolvable` tells whether removing pods could help: preemption looks only at nodes where it is false (upstream's
status codes Unschedulable and UnschedulableAndUnresolvable). What DynamicResources, DeviceShare and NodeNUMAResource
say is in `claims`, `devices` and `numa`, what is refused before any node in `prefilter`.
"""

from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.reasons.claims import ClaimReason
from kubectl_koord.engine.reasons.devices import DeviceReason
from kubectl_koord.engine.reasons.numa import NUMAReason
from kubectl_koord.model.values.selectors import Taint


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
