"""The fields that we read of each kind, as the API spells them; everything else is skipped unparsed.

Every field but `metadata` may be absent. Null is borne where the type says None: lists, maps, and what is a pointer
in the API's own types; elsewhere it is refused, with the name of the field, and so is a number that the API's own
type does not hold.
"""

from typing import Annotated, TypeAlias

from msgspec import Meta as Limits
from msgspec import Struct, field

Int32: TypeAlias = Annotated[int, Limits(ge=-(1 << 31), le=(1 << 31) - 1)]
Int64: TypeAlias = Annotated[int, Limits(ge=-(1 << 63), le=(1 << 63) - 1)]
Amounts: TypeAlias = dict[str, str | int | float]

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


class Owner(Struct, gc=False):
    """metadata.ownerReferences[]."""

    kind: str = ""
    name: str = ""
    controller: bool | None = None


class Meta(Struct, gc=False, rename="camel"):
    """metadata."""

    name: str = ""
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    resource_version: str | None = None
    owner_references: list[Owner] | None = None


class Expression(Struct, gc=False, omit_defaults=True):
    """matchExpressions[]."""

    key: str = ""
    operator: str = ""
    values: list[str] | None = None


class LabelSelector(Struct, gc=False, omit_defaults=True, rename="camel"):
    """A metav1.LabelSelector."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[Expression] | None = None


class NodeSelectorTerm(Struct, gc=False, omit_defaults=True, rename="camel"):
    """One term of a node selector."""

    match_expressions: list[Expression] | None = None
    match_fields: list[Expression] | None = None


class NodeSelector(Struct, gc=False, omit_defaults=True, rename="camel"):
    """requiredDuringSchedulingIgnoredDuringExecution of a node affinity."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(Struct, gc=False, omit_defaults=True):
    """affinity.nodeAffinity."""

    required: NodeSelector | None = field(default=None, name=_REQUIRED)


class PodAffinityTerm(Struct, gc=False, omit_defaults=True, rename="camel"):
    """One required inter-pod term."""

    topology_key: str = ""
    label_selector: LabelSelector | None = None
    namespaces: list[str] | None = None
    namespace_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    mismatch_label_keys: list[str] | None = None


class PodAffinity(Struct, gc=False, omit_defaults=True):
    """affinity.podAffinity or podAntiAffinity."""

    required: list[PodAffinityTerm] | None = field(default=None, name=_REQUIRED)


class Affinity(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.affinity."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class SpreadConstraint(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.topologySpreadConstraints[]."""

    max_skew: Int32 = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""
    label_selector: LabelSelector | None = None
    min_domains: Int32 | None = None
    node_affinity_policy: str | None = None
    node_taints_policy: str | None = None
    match_label_keys: list[str] | None = None


class Toleration(Struct, gc=False, omit_defaults=True):
    """spec.tolerations[]."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


class Port(Struct, gc=False, omit_defaults=True, rename="camel"):
    """containers[].ports[]."""

    container_port: Int32 = 0
    host_port: Int32 = 0
    protocol: str = "TCP"
    host_ip: str = field(default="", name="hostIP")


class ResourceRequirements(Struct, gc=False, omit_defaults=True):
    """containers[].resources."""

    requests: Amounts | None = None
    limits: Amounts | None = None
    claims: list[dict[str, str]] | None = None


class Container(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.containers[] and initContainers[]."""

    resources: ResourceRequirements | None = None
    ports: list[Port] | None = None
    restart_policy: str | None = None


class ClaimSource(Struct, gc=False, omit_defaults=True, rename="camel"):
    """volumes[].persistentVolumeClaim."""

    claim_name: str = ""


class Volume(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.volumes[]: only what can tie a pod to nodes."""

    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: dict[str, object] | None = None
    csi: dict[str, object] | None = None
    gce_persistent_disk: dict[str, object] | None = None
    aws_elastic_block_store: dict[str, object] | None = None
    azure_disk: dict[str, object] | None = None
    rbd: dict[str, object] | None = None
    iscsi: dict[str, object] | None = None


class Gate(Struct, gc=False, omit_defaults=True):
    """spec.schedulingGates[]."""

    name: str = ""


class PodSpec(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec of a Pod."""

    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int32 | None = None
    preemption_policy: str | None = None
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    overhead: Amounts | None = None
    resources: ResourceRequirements | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[Toleration] | None = None
    topology_spread_constraints: list[SpreadConstraint] | None = None
    scheduling_gates: list[Gate] | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[dict[str, object]] | None = None


class PodCondition(Struct, gc=False, rename="camel"):
    """status.conditions[]."""

    type: str = ""
    status: str = ""
    reason: str | None = None
    message: str | None = None
    last_transition_time: str | None = None


class PodStatus(Struct, gc=False, rename="camel"):
    """status of a Pod."""

    phase: str | None = None
    qos_class: str | None = None
    nominated_node_name: str | None = None
    conditions: list[PodCondition] | None = None


class Pod(Struct, gc=False):
    """One Pod."""

    metadata: Meta
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)


class Taint(Struct, gc=False):
    """spec.taints[] of a Node."""

    key: str = ""
    value: str = ""
    effect: str = ""


class NodeSpec(Struct, gc=False):
    """spec of a Node."""

    unschedulable: bool | None = None
    taints: list[Taint] | None = None


class NodeStatus(Struct, gc=False):
    """status of a Node."""

    allocatable: Amounts | None = None
    conditions: list[PodCondition] | None = None


class Node(Struct, gc=False):
    """One Node."""

    metadata: Meta
    spec: NodeSpec = field(default_factory=NodeSpec)
    status: NodeStatus = field(default_factory=NodeStatus)


class PodGroupSpec(Struct, gc=False, rename="camel"):
    """spec of a PodGroup."""

    min_member: Int32 | None = None
    schedule_timeout_seconds: Int32 | None = None


class PhaseStatus(Struct, gc=False):
    """status.phase of any object."""

    phase: str | None = None


class PodGroup(Struct, gc=False):
    """One PodGroup."""

    metadata: Meta
    spec: PodGroupSpec = field(default_factory=PodGroupSpec)
    status: PhaseStatus | None = None


class LayerSpec(Struct, gc=False, rename="camel"):
    """spec.networkTopologySpec[] of a ClusterNetworkTopology."""

    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: list[str] | None = None


class TopologySpec(Struct, gc=False, rename="camel"):
    """spec of a ClusterNetworkTopology."""

    network_topology_spec: list[LayerSpec] | None = None


class TopologyInfo(Struct, gc=False, rename="camel"):
    """The identity of a domain."""

    topology_layer: str = ""
    topology_name: str = ""


class DetailStatus(Struct, gc=False, rename="camel"):
    """status.detailStatus[]."""

    topology_info: TopologyInfo = field(default_factory=TopologyInfo)
    node_num: Int32 = 0


class TopologyStatus(Struct, gc=False, rename="camel"):
    """status of a ClusterNetworkTopology."""

    detail_status: list[DetailStatus] | None = None


class NetworkTopology(Struct, gc=False):
    """One ClusterNetworkTopology."""

    metadata: Meta
    spec: TopologySpec = field(default_factory=TopologySpec)
    status: TopologyStatus | None = None


class BudgetSpec(Struct, gc=False):
    """spec of a PodDisruptionBudget."""

    selector: LabelSelector | None = None


class BudgetStatus(Struct, gc=False, rename="camel"):
    """status of a PodDisruptionBudget."""

    disruptions_allowed: Int32 = 0


class Budget(Struct, gc=False):
    """One PodDisruptionBudget."""

    metadata: Meta
    spec: BudgetSpec = field(default_factory=BudgetSpec)
    status: BudgetStatus = field(default_factory=BudgetStatus)


class QuotaSpec(Struct, gc=False):
    """spec of an ElasticQuota."""

    max: Amounts | None = None


class Quota(Struct, gc=False):
    """One ElasticQuota."""

    metadata: Meta
    spec: QuotaSpec = field(default_factory=QuotaSpec)


class Named(Struct, gc=False):
    """Any object of which only the metadata counts."""

    metadata: Meta


class ImageContainer(Struct, gc=False):
    """A container's image and how it is started."""

    image: str = ""
    name: str = ""
    command: list[str] | None = None
    args: list[str] | None = None


class ImageSpec(Struct, gc=False):
    """A pod template's spec."""

    containers: list[ImageContainer] | None = None


class Template(Struct, gc=False):
    """A pod template."""

    spec: ImageSpec = field(default_factory=ImageSpec)


class DeploymentSpec(Struct, gc=False):
    """spec of a Deployment."""

    template: Template = field(default_factory=Template)


class Deployment(Struct, gc=False):
    """One Deployment, for the scheduler's image."""

    metadata: Meta
    spec: DeploymentSpec = field(default_factory=DeploymentSpec)


class LeaseSpec(Struct, gc=False, rename="camel"):
    """spec of a Lease."""

    holder_identity: str | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_duration_seconds: Int32 | None = None


class Lease(Struct, gc=False):
    """One Lease, for the scheduler's leader."""

    metadata: Meta
    spec: LeaseSpec = field(default_factory=LeaseSpec)


class ConfigMap(Struct, gc=False):
    """One ConfigMap, for the scheduler's configuration."""

    metadata: Meta
    data: dict[str, str] | None = None


class CapacityRef(Struct, gc=False):
    """spec.csi of a PersistentVolume."""

    driver: str = ""


class VolumeAffinity(Struct, gc=False):
    """spec.nodeAffinity of a PersistentVolume."""

    required: NodeSelector | None = None


class VolumeSpec(Struct, gc=False, rename="camel"):
    """spec of a PersistentVolume."""

    node_affinity: VolumeAffinity | None = None
    csi: CapacityRef | None = None


class PersistentVolume(Struct, gc=False):
    """One PersistentVolume."""

    metadata: Meta
    spec: VolumeSpec = field(default_factory=VolumeSpec)


class ClaimSpec(Struct, gc=False, rename="camel"):
    """spec of a PersistentVolumeClaim."""

    volume_name: str | None = None
    access_modes: list[str] | None = None


class PersistentVolumeClaim(Struct, gc=False):
    """One PersistentVolumeClaim."""

    metadata: Meta
    spec: ClaimSpec = field(default_factory=ClaimSpec)


class VolumeCount(Struct, gc=False):
    """spec.drivers[].allocatable of a CSINode."""

    count: Int32 | None = None


class Driver(Struct, gc=False):
    """spec.drivers[] of a CSINode."""

    name: str = ""
    allocatable: VolumeCount | None = None


class CSINodeSpec(Struct, gc=False):
    """spec of a CSINode."""

    drivers: list[Driver] | None = None


class CSINode(Struct, gc=False):
    """One CSINode: how many volumes of each driver a node can hold."""

    metadata: Meta
    spec: CSINodeSpec = field(default_factory=CSINodeSpec)


class Measured(Struct, gc=False):
    """A resource list that was measured."""

    resources: Amounts | None = None


class NodeMeasured(Struct, gc=False, rename="camel"):
    """status.nodeMetric of a NodeMetric."""

    node_usage: Measured | None = None


class PodMeasured(Struct, gc=False, rename="camel"):
    """status.podsMetric[] of a NodeMetric."""

    namespace: str = ""
    name: str = ""
    pod_usage: Measured | None = None


class CollectPolicy(Struct, gc=False, rename="camel"):
    """spec.metricCollectPolicy of a NodeMetric."""

    report_interval_seconds: Int64 | None = None


class NodeMetricSpec(Struct, gc=False, rename="camel"):
    """spec of a NodeMetric."""

    metric_collect_policy: CollectPolicy | None = None


class NodeMetricStatus(Struct, gc=False, rename="camel"):
    """status of a NodeMetric."""

    update_time: str | None = None
    node_metric: NodeMeasured | None = None
    pods_metric: list[PodMeasured] | None = None


class NodeMetric(Struct, gc=False):
    """One NodeMetric: measured usage of a node and its pods."""

    metadata: Meta
    spec: NodeMetricSpec = field(default_factory=NodeMetricSpec)
    status: NodeMetricStatus = field(default_factory=NodeMetricStatus)


class OwnerObject(Struct, gc=False):
    """spec.owners[].object of a Reservation."""

    name: str = ""
    namespace: str = ""


class OwnerController(Struct, gc=False):
    """spec.owners[].controller of a Reservation."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class ReservationOwner(Struct, gc=False, rename="camel"):
    """spec.owners[] of a Reservation."""

    object: OwnerObject | None = None
    controller: OwnerController | None = None
    label_selector: LabelSelector | None = None


class ReservationSpec(Struct, gc=False):
    """spec of a Reservation."""

    owners: list[ReservationOwner] | None = None


class ReservationStatus(Struct, gc=False, rename="camel"):
    """status of a Reservation."""

    phase: str | None = None
    node_name: str | None = None
    allocatable: Amounts | None = None


class Reservation(Struct, gc=False):
    """One Reservation."""

    metadata: Meta
    spec: ReservationSpec = field(default_factory=ReservationSpec)
    status: ReservationStatus = field(default_factory=ReservationStatus)


class Reference(Struct, gc=False):
    """The object that an event is about, or that had to do with it."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(Struct, gc=False, rename="camel"):
    """series of an Event."""

    last_observed_time: str | None = None


class Event(Struct, gc=False, rename="camel"):
    """One Event, of `v1` (message, involvedObject) or of `events.k8s.io/v1` (note, regarding)."""

    metadata: Meta
    reason: str | None = None
    note: str | None = None
    message: str | None = None
    regarding: Reference | None = None
    involved_object: Reference | None = None
    related: Reference | None = None
    series: EventSeries | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None
