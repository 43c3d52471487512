"""The kinds of API objects that are read, one row each: where they are listed, which fields, and what is kept.

All that reads objects derives from these rows. Only of nodes and pods is more kept than one value: see the collector.
"""

from typing import Any

from kubectl_koord.cluster.kind import Kind, Need, bare_name, only_named, pair, whole_name
from kubectl_koord.cluster.objects.fields import deployments
from kubectl_koord.cluster.objects.fields.resource_topologies import NodeResourceTopology
from kubectl_koord.cluster.objects.koordinator import (
    colocation,
    descheduler,
    devices,
    gangs,
    metrics,
    migrations,
    node_topology,
    quotas,
    reservations,
    scheduler,
    topology,
)
from kubectl_koord.cluster.objects.kubernetes import (
    admission,
    attachments,
    disruption,
    events,
    installation,
    namespaces,
    nodes,
    provisioning,
    resource_claims,
    resource_slices,
    runtime_classes,
    storage,
    training,
    volcano,
)
from kubectl_koord.cluster.objects.pods.fields import Pod
from kubectl_koord.cluster.pod_store import AnyPod
from kubectl_koord.model import objects
from kubectl_koord.model.installation import HOME


def _config_map(written: scheduler.ConfigMap) -> scheduler.ConfigMap | None:
    known = (
        scheduler.is_configuration(name, text) or descheduler.is_configuration(name, text)
        for name, text in (written.data or {}).items()
    )
    return written if written.metadata.name in {scheduler.CONFIG, descheduler.CONFIG} or any(known) else None


_CORE = "/api/v1"
_SIGS = "/apis/scheduling.sigs.k8s.io/v1alpha1"
_SCHEDULING = "/apis/scheduling.koordinator.sh/v1alpha1"
_STORAGE = "/apis/storage.k8s.io/v1"
_RESOURCE = "/apis/resource.k8s.io/v1"
_VOLCANO = "/apis/scheduling.volcano.sh/v1beta1"
_TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"
_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
_UNFINISHED = "fieldSelector=status.phase%21%3DSucceeded%2Cstatus.phase%21%3DFailed"


NODE: Kind[nodes.Node, objects.Node] = Kind("Node", nodes.Node, _CORE, "nodes", bare_name, "topology")
POD: Kind[Pod, AnyPod] = Kind("Pod", Pod, _CORE, "pods", pair, "topology", query=_UNFINISHED, narrows=True)
NETWORK_TOPOLOGY = Kind(
    "ClusterNetworkTopology",
    topology.NetworkTopology,
    _SCHEDULING,
    "clusternetworktopologies",
    bare_name,
    "topology",
    topology.topology,
)
DEPLOYMENT: Kind[deployments.Deployment, deployments.Deployment] = Kind(
    "Deployment",
    deployments.Deployment,
    "/apis/apps/v1",
    "deployments",
    pair,
    "topology",
    home=HOME.namespace,
    query=only_named(deployments.SCHEDULER),
    in_files=False,
)
CONFIG_MAP = Kind(
    "ConfigMap",
    scheduler.ConfigMap,
    _CORE,
    "configmaps",
    pair,
    "topology",
    _config_map,
    home=HOME.namespace,
    query=only_named(scheduler.CONFIG),
    in_files=False,
)
POD_GROUP = Kind("PodGroup", gangs.PodGroup, _SIGS, "podgroups", whole_name, "gangs", gangs.pod_group, narrows=True)
ELASTIC_QUOTA = Kind("ElasticQuota", quotas.Quota, _SIGS, "elasticquotas", pair, "gangs", quotas.quota)
DEVICE = Kind("Device", devices.DeviceObject, _SCHEDULING, "devices", bare_name, "devices", devices.node_devices)
RESERVATION = Kind(
    "Reservation", reservations.Reservation, _SCHEDULING, "reservations", bare_name, "devices", reservations.readable
)
NODE_METRIC = Kind(
    "NodeMetric",
    metrics.NodeMetric,
    "/apis/slo.koordinator.sh/v1alpha1",
    "nodemetrics",
    bare_name,
    "gangs",
    metrics.metric,
)
NODE_TOPOLOGY = Kind(
    "NodeResourceTopology",
    NodeResourceTopology,
    "/apis/topology.node.k8s.io/v1alpha1",
    "noderesourcetopologies",
    bare_name,
    "gangs",
    node_topology.topology,
)
LEASE = Kind(
    "Lease",
    scheduler.Lease,
    "/apis/coordination.k8s.io/v1",
    "leases",
    pair,
    "gangs",
    scheduler.lease,
    home=HOME.namespace,
    query=f"{only_named(scheduler.LEASE)}&resourceVersion=",  # an empty one: as it is now, not from a cache
    in_files=False,
)
DISRUPTION_BUDGET = Kind(
    "PodDisruptionBudget",
    disruption.Budget,
    "/apis/policy/v1",
    "poddisruptionbudgets",
    pair,
    "disruption",
    disruption.budget,
    narrows=True,
)
VOLUME_CLAIM = Kind(
    "PersistentVolumeClaim",
    storage.PersistentVolumeClaim,
    _CORE,
    "persistentvolumeclaims",
    whole_name,
    "volumes",
    storage.claim,
    narrows=True,
)
VOLUME = Kind(
    "PersistentVolume", storage.PersistentVolume, _CORE, "persistentvolumes", bare_name, "volumes", storage.volume
)
STORAGE_CLASS = Kind(
    "StorageClass",
    provisioning.StorageClass,
    _STORAGE,
    "storageclasses",
    bare_name,
    "volumes",
    provisioning.storage_class,
)
CSI_DRIVER = Kind(
    "CSIDriver",
    provisioning.CSIDriver,
    _STORAGE,
    "csidrivers",
    bare_name,
    "volumes",
    provisioning.tracked_driver,
    in_files=False,
)
STORAGE_CAPACITY = Kind(
    "CSIStorageCapacity",
    provisioning.CSIStorageCapacity,
    _STORAGE,
    "csistoragecapacities",
    whole_name,
    "volumes",
    provisioning.storage_capacity,
    in_files=False,
)
CSI_NODE = Kind(
    "CSINode", storage.CSINode, _STORAGE, "csinodes", bare_name, "volumes", storage.volume_limits, in_files=False
)
VOLUME_ATTACHMENT: Kind[attachments.VolumeAttachment, attachments.VolumeAttachment] = Kind(
    "VolumeAttachment",
    attachments.VolumeAttachment,
    _STORAGE,
    "volumeattachments",
    bare_name,
    "volumes",
    in_files=False,
)
RESOURCE_CLAIM = Kind(
    "ResourceClaim",
    resource_claims.ResourceClaim,
    _RESOURCE,
    "resourceclaims",
    whole_name,
    "claims",
    resource_claims.resource_claim,
    narrows=True,
)
DEVICE_CLASS = Kind(
    "DeviceClass",
    resource_claims.DeviceClass,
    _RESOURCE,
    "deviceclasses",
    bare_name,
    "claims",
    resource_claims.device_class,
)
RESOURCE_SLICE = Kind(
    "ResourceSlice",
    resource_slices.ResourceSlice,
    _RESOURCE,
    "resourceslices",
    bare_name,
    "claims",
    resource_slices.device_slice,
)
MIGRATION_JOB = Kind(
    "PodMigrationJob",
    migrations.PodMigrationJob,
    _SCHEDULING,
    "podmigrationjobs",
    bare_name,
    "migrations",
    migrations.migration_job,
    in_files=False,
)
VOLCANO_GROUP = Kind(
    "PodGroup.scheduling.volcano.sh", volcano.VolcanoPodGroup, _VOLCANO, "podgroups", whole_name, "volcano",
    volcano.pod_group, narrows=True, in_files=False,
)  # fmt: skip
VOLCANO_QUEUE = Kind(
    "Queue.scheduling.volcano.sh", volcano.VolcanoQueue, _VOLCANO, "queues", bare_name, "volcano",
    volcano.queue_state, in_files=False,
)  # fmt: skip
LIMIT_RANGE = Kind(
    "LimitRange", admission.LimitRange, _CORE, "limitranges", pair, "fit", admission.readable_range, narrows=True
)
RESOURCE_QUOTA = Kind(
    "ResourceQuota",
    admission.ResourceQuota,
    _CORE,
    "resourcequotas",
    pair,
    "fit",
    admission.readable_quota,
    narrows=True,
    in_files=False,
)
RUNTIME_CLASS = Kind(
    "RuntimeClass",
    runtime_classes.RuntimeClass,
    "/apis/node.k8s.io/v1",
    "runtimeclasses",
    bare_name,
    "manifests",
    runtime_classes.readable,
)
NAMESPACE = Kind("Namespace", namespaces.Namespace, _CORE, "namespaces", bare_name, "manifests", namespaces.labels)
COLOCATION_PROFILE: Kind[colocation.ColocationProfile, colocation.ColocationProfile] = Kind(
    "ClusterColocationProfile",
    colocation.ColocationProfile,
    "/apis/config.koordinator.sh/v1alpha1",
    "clustercolocationprofiles",
    bare_name,
    "manifests",
)
TRAINING_RUNTIME: Kind[training.TrainingRuntime, training.TrainingRuntime] = Kind(
    "TrainingRuntime",
    training.TrainingRuntime,
    _TRAINER,
    "trainingruntimes",
    whole_name,
    "train-jobs",
    narrows=True,
    in_files=False,
)
CLUSTER_TRAINING_RUNTIME: Kind[training.TrainingRuntime, training.TrainingRuntime] = Kind(
    "ClusterTrainingRuntime",
    training.TrainingRuntime,
    _TRAINER,
    "clustertrainingruntimes",
    bare_name,
    "train-jobs",
    in_files=False,
)
EVENT = Kind("Event", events.Event, "/apis/events.k8s.io/v1", "events", pair, "traces", events.event)
PRIORITY_CLASS = Kind(
    "PriorityClass",
    installation.PriorityClass,
    "/apis/scheduling.k8s.io/v1",
    "priorityclasses",
    bare_name,
    "doctor",
    installation.priority_class,
    in_files=False,
)
MUTATING = Kind(
    "MutatingWebhookConfiguration",
    installation.Webhooks,
    _WEBHOOKS,
    "mutatingwebhookconfigurations",
    bare_name,
    "doctor",
    installation.mutating,
)
VALIDATING = Kind(
    "ValidatingWebhookConfiguration",
    installation.Webhooks,
    _WEBHOOKS,
    "validatingwebhookconfigurations",
    bare_name,
    "doctor",
    installation.validating,
    in_files=False,
)

KINDS: dict[str, Kind[Any, Any]] = {row.name: row for row in list(vars().values()) if isinstance(row, Kind)}
"""The rows above by name, in their order, in which lists are begun."""

WIRE_TYPES: dict[str, Any] = {name: kind.wire_type for name, kind in KINDS.items()}
"""The fields of each kind."""


def _needed_by(*needs: Need) -> tuple[str, ...]:
    return tuple(name for name, kind in KINDS.items() if kind.needed_by in needs)


TOPOLOGY_KINDS = _needed_by("topology")
DEVICE_KINDS = _needed_by("topology", "devices")
GANG_KINDS = _needed_by("topology", "devices", "gangs")
DISRUPTION_KINDS = (*GANG_KINDS, *_needed_by("disruption"))
"""What is read where running pods may have to go: by preemption, or to make room."""
VOLUME_KINDS = _needed_by("volumes")
"""What is read besides where a pending pod uses a volume claim."""
DOCTOR_KINDS = (*GANG_KINDS, *_needed_by("doctor"))
"""What is read to find what is wrong with a cluster; of the installation all Deployments."""
CLAIM_KINDS = _needed_by("claims")
"""What is read besides where a pending pod has a resource claim."""
MIGRATION_KINDS = _needed_by("migrations")
"""What is read besides where it is told which pods are being moved elsewhere."""
ELSEWHERE_KINDS = (*MIGRATION_KINDS, *_needed_by("volcano"))
"""What is read besides where gangs are listed, or asked about: of pods that are moved, and of gangs of Volcano."""
TRAIN_JOB_KINDS = _needed_by("train-jobs")
"""What is read besides for TrainJobs in manifests: what they are made from."""
OPTIONAL_KINDS = frozenset((*CLAIM_KINDS, *ELSEWHERE_KINDS, *TRAIN_JOB_KINDS, COLOCATION_PROFILE.name))
"""The kinds that a cluster need not serve: where it does not, there are none of them."""
FIT_KINDS = (PRIORITY_CLASS.name, *_needed_by("fit"))
"""What is read besides for pods that do not exist yet: what the API server fills in when they are made."""
MANIFEST_KINDS = _needed_by("manifests")
"""What is read besides for pods of manifests: what is added to them by what they say."""
NAMESPACE_KINDS = (NAMESPACE.name,)
"""What is read besides where a pod, or a Reservation, has inter-pod terms that select namespaces by their labels."""
WEBHOOK_KINDS = (MUTATING.name,)
"""What is read besides for pods that Koordinator's webhook changes wherever there is one."""
RECORDED_KINDS = tuple(name for name in KINDS if name != EVENT.name)
"""What a snapshot holds: all that any question reads, whatever the cluster has; and events, of some reasons."""
_FOLLOWED = (*DISRUPTION_KINDS, *VOLUME_KINDS, *CLAIM_KINDS, *NAMESPACE_KINDS, *ELSEWHERE_KINDS)
REQUESTS = {name: KINDS[name].request() for name in _FOLLOWED}
"""How each kind is listed; of the others there is no list of the whole cluster."""
