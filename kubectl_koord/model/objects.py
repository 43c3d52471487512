"""The other objects that decide: nodes, PodGroups, the topology, budgets."""

from collections.abc import Iterable

from msgspec import Struct

from kubectl_koord.model.pods import NodeTerm, Resources
from kubectl_koord.model.selectors import Labels, Selector, Taint
from kubectl_koord.model.unevaluated import NodeSetting


class PodUsage(Struct, frozen=True, gc=False):
    """What was measured of one pod."""

    namespace: str
    name: str
    used: Resources


class NodeMetric(Struct, frozen=True, gc=False):
    """What was measured of a node, as it was written; what follows from it is computed by LoadAwareScheduling's filter.

    `updated` is RFC 3339, as written; `interval` in seconds, how often the node reports. `thresholds` are the
    node's own, in percent, empty where the scheduler's configuration counts; `raw_allocatable` is what
    the node really has where its `allocatable` is amplified.
    """

    used: Resources
    updated: str = ""
    interval: int = 60
    pods: tuple[PodUsage, ...] = ()
    thresholds: tuple[tuple[str, int], ...] = ()
    raw_allocatable: Resources = ()

    def limits(self, configured: Iterable[tuple[str, int]]) -> dict[str, int]:
        """Return the thresholds that are set for CPU and memory, given those of the scheduler's configuration."""
        written = dict(self.thresholds or configured)
        return {resource: limit for resource in ("cpu", "memory") if (limit := written.get(resource))}


class Node(Struct, frozen=True, gc=False):
    """One node; `allocatable` holds every resource, `pods` among them.

    `unevaluated` holds settings that decide about pods and are not evaluated, such as a NUMA policy.
    `metric` is None where nothing was measured; `volume_limits` holds attachable volumes by CSI driver.
    """

    name: str
    allocatable: Resources
    labels: Labels = ()
    taints: tuple[Taint, ...] = ()
    unschedulable: bool = False
    ready: bool = True
    unevaluated: tuple[NodeSetting, ...] = ()
    metric: NodeMetric | None = None
    volume_limits: Resources = ()


class PodGroup(Struct, frozen=True, gc=False):
    """One PodGroup. Annotation values are as written, None where absent."""

    namespace: str
    name: str
    min_member: int = 0
    timeout_seconds: int | None = None
    mode: str = ""
    match_policy: str = ""
    groups: str | None = None
    topology: str | None = None
    total: str | None = None
    annotations: Labels = ()
    phase: str = ""
    created: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """The gang id: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class Layer(Struct, frozen=True, gc=False):
    """One entry of a ClusterNetworkTopology's spec."""

    name: str
    parent: str = ""
    label_keys: tuple[str, ...] = ()


class DomainStatus(Struct, frozen=True, gc=False):
    """One entry of `status.detailStatus`: how many nodes the scheduler last saw below a domain."""

    layer: str
    name: str
    nodes: int


class NetworkTopology(Struct, frozen=True, gc=False):
    """One ClusterNetworkTopology; `status` is None where the scheduler has written none."""

    name: str
    layers: tuple[Layer, ...]
    status: tuple[DomainStatus, ...] | None = None
    resource_version: str = ""


class Budget(Struct, frozen=True, gc=False):
    """One PodDisruptionBudget; the scheduler's job preemption ignores it, we show it."""

    namespace: str
    name: str
    selector: Selector | None
    allowed: int


class Claim(Struct, frozen=True, gc=False):
    """One PersistentVolumeClaim with the volume it is bound to.

    `volume` is empty while it is unbound; `terms` the volume's required node affinity (None: any
    node), `labels` its zone labels; `single_pod` is ReadWriteOncePod; `known` tells whether the
    volume itself was read.
    """

    name: str
    volume: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    labels: Labels = ()
    driver: str = ""
    single_pod: bool = False
    known: bool = False


class ReservationOwner(Struct, frozen=True, gc=False):
    """One entry of a Reservation's owners; empty fields and a missing selector match everything."""

    namespace: str = ""
    name: str = ""
    controller: str = ""
    selector: Selector | None = None


class Reservation(Struct, frozen=True, gc=False):
    """One Reservation that holds room on a node. What is left of it is a `ReservedRoom`."""

    name: str
    node: str
    owners: tuple[ReservationOwner, ...]


class Lease(Struct, frozen=True, gc=False):
    """One leader lease.

    `holder` is empty once the leader has given it up; `acquired`, `renewed` and `seen` are RFC 3339: since
    when the leader leads, when it last renewed the lease, and the API server's own time when that was read
    (empty where it told none).
    `seconds` is for how long others must believe in the leader.
    """

    name: str
    holder: str
    renewed: str
    acquired: str = ""
    seconds: int = 15
    seen: str = ""
