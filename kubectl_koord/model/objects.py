"""The other objects that decide: nodes, PodGroups, the topology, budgets."""

from collections.abc import Mapping

from msgspec import Struct

from kubectl_koord.model.hardware.devices import NodeDevices
from kubectl_koord.model.hardware.numa import NodeNUMA
from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.unevaluated import NodeSetting
from kubectl_koord.model.values.selectors import Labels, Selector, Taint


class Node(Struct, frozen=True, gc=False):
    """One node; `allocatable` holds every resource, `pods` among them.

    `unevaluated` holds settings that decide about pods and are not evaluated, such as a NUMA policy.
    `metric` is None where nothing was measured, `devices` where there is no Device object, `numa` where nothing is
    known of its CPUs and NUMA zones; `volume_limits` holds attachable volumes by CSI driver, `attached` the drivers and
    handles of volumes that are; `none_of` names the resources that it reports, and has nothing of; `lost` is how many
    cards of its capacity are not allocatable, by resource.
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
    attached: tuple[tuple[str, str], ...] = ()
    devices: NodeDevices | None = None
    numa: NodeNUMA | None = None
    none_of: tuple[str, ...] = ()
    lost: Resources = ()


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
    labels: Labels = ()

    @property
    def key(self) -> str:
        """The gang id: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class Layer(Struct, frozen=True, gc=False):
    """One entry of a ClusterNetworkTopology's spec."""

    name: str
    parent: str = ""
    label_keys: tuple[str, ...] = ()

    def value(self, labels: Mapping[str, str]) -> str:
        """Return which domain of the layer a node with these labels is in, empty for none."""
        return next(filter(None, (labels.get(key) for key in self.label_keys)), "")


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


class Lease(Struct, frozen=True, gc=False):
    """One leader lease.

    `holder` is empty once the leader has given it up; `acquired`, `renewed` and `seen` are RFC 3339: since
    when the leader leads, when it last renewed the lease, and the API server's own time when that was read
    (empty where it sent none).
    `seconds` is `leaseDurationSeconds`: for how long a renewal counts.
    """

    name: str
    holder: str
    renewed: str
    acquired: str = ""
    seconds: int = 15
    seen: str = ""
