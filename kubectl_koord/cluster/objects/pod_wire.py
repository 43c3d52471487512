"""The fields of a Pod that are decoded."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import Condition, Int32, LabelSelector, Meta, NodeSelector, Toleration
from kubectl_koord.cluster.objects.pool import Amounts

FINISHED = frozenset({"Succeeded", "Failed"})
"""The phases of pods that hold nothing any more."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


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
    gce_persistent_disk: dict[str, object] | None = None
    aws_elastic_block_store: dict[str, object] | None = None
    azure_disk: dict[str, object] | None = None
    rbd: dict[str, object] | None = None
    iscsi: dict[str, object] | None = None


class Gate(Struct, gc=False, omit_defaults=True):
    """spec.schedulingGates[]."""

    name: str = ""


class SchedulingGroup(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.schedulingGroup: the PodGroup of Kubernetes' own group scheduling.k8s.io that a pod is in."""

    pod_group_name: str = ""


class WorkloadReference(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.workloadRef, which was there before it."""

    name: str = ""


class PodResourceClaim(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.resourceClaims[]."""

    name: str = ""
    resource_claim_name: str | None = None


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
    scheduling_group: SchedulingGroup | None = None
    workload_ref: WorkloadReference | None = None
    volumes: list[Volume] | None = None
    resource_claims: list[PodResourceClaim] | None = None


class MadeResourceClaim(Struct, gc=False, rename="camel"):
    """status.resourceClaimStatuses[]: the claim that was made from a template; none where none is needed."""

    name: str = ""
    resource_claim_name: str | None = None


class PodStatus(Struct, gc=False, rename="camel"):
    """status of a Pod."""

    phase: str | None = None
    qos_class: str | None = None
    nominated_node_name: str | None = None
    conditions: list[Condition] | None = None
    resource_claim_statuses: list[MadeResourceClaim] | None = None


class Pod(Struct, gc=False):
    """One Pod."""

    metadata: Meta
    spec: PodSpec = field(default_factory=PodSpec)
    status: PodStatus = field(default_factory=PodStatus)
