"""The kinds of API objects that are read, one row each: where they are listed, which fields, and what is kept.

All that reads objects derives from these rows. Only of nodes and pods is more kept than one value: see the collector.
"""

from collections.abc import Callable, Hashable
from typing import Any, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote

from msgspec import Struct

from kubectl_koord.cluster.api.transport import CRD_GROUPS
from kubectl_koord.cluster.lists import ListRequest
from kubectl_koord.cluster.objects import (
    descheduler,
    devices,
    events,
    gangs,
    metrics,
    node_topology,
    nodes,
    reservations,
    resource_claims,
    scheduler,
    settings,
    storage,
)
from kubectl_koord.cluster.objects.fields import Meta, namespace
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.objects.resource_topologies import NodeResourceTopology
from kubectl_koord.cluster.pod_store import AnyPod
from kubectl_koord.model import objects
from kubectl_koord.model.installation import HOME

W = TypeVar("W")
V = TypeVar("V")

Need: TypeAlias = Literal[
    "topology",
    "devices",
    "gangs",
    "disruption",
    "volumes",
    "claims",
    "migrations",
    "volcano",
    "traces",
    "doctor",
    "fit",
    "manifests",
    "train-jobs",
]


def only_named(name: str) -> str:
    """Return the query of a list that holds no more than the object of a name."""
    return f"fieldSelector=metadata.name%3D{quote(name, safe='')}"


def bare_name(meta: Meta) -> str:
    """Return the name."""
    return meta.name


def whole_name(meta: Meta) -> str:
    """Return namespace/name."""
    return f"{namespace(meta)}/{meta.name}"


def pair(meta: Meta) -> tuple[str, str]:
    """Return namespace and name."""
    return namespace(meta), meta.name


class Kind(Struct, Generic[W, V], frozen=True):
    """One kind.

    Of an object the fields of `wire_type` are decoded, and what `value` makes of them is kept under `key`: nothing
    where that is None, the fields themselves where there is no `value`. `needed_by` is the smallest reading that
    lists the kind: each holds those before it, but for volumes and all that follow it, which are read
    on their own. A `name` such as `Kind.group` is that of a kind which another group has, too.

    It is listed at `plural` of the `api`, in one namespace if it has a `home`, with a `query`; where it `narrows`,
    in the user's namespace if the list of all namespaces is forbidden. A list that could not be read is a gap; a file
    without any object of the kind has one, too, unless `in_files` is false.
    """

    name: str
    wire_type: type[W]
    api: str
    plural: str
    key: Callable[[Meta], Hashable]
    needed_by: Need
    value: Callable[[W], V | None] | None = None
    home: str = ""
    query: str = ""
    narrows: bool = False
    in_files: bool = True

    @property
    def object_kind(self) -> str:
        """The `kind` that its objects have."""
        return self.name.partition(".")[0]

    @property
    def api_version(self) -> str:
        """The `apiVersion` that its objects have."""
        return self.api.removeprefix("/apis/").removeprefix("/api/")

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.api_version.rpartition("/")[0]

    @property
    def of_koordinator(self) -> bool:
        """Whether Koordinator's CRDs define it."""
        return self.api.startswith(CRD_GROUPS)

    def path(self, namespace: str = "") -> str:
        """Return the path of the objects of a namespace, or of all for none."""
        within = f"/namespaces/{quote(namespace, safe='')}" if namespace else ""
        return f"{self.api}{within}/{self.plural}"

    def request(self, query: str | None = None) -> ListRequest:
        """Return how it is listed, perhaps with another query."""
        wanted = self.query if query is None else query
        suffix = f"?{wanted}" if wanted else ""
        narrowed = f"{self.api}/namespaces/{{namespace}}/{self.plural}{suffix}" if self.narrows else None
        return ListRequest(self.name, f"{self.path(self.home)}{suffix}", narrowed)


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
    gangs.NetworkTopology,
    _SCHEDULING,
    "clusternetworktopologies",
    bare_name,
    "topology",
    gangs.topology,
)
DEPLOYMENT: Kind[settings.Deployment, settings.Deployment] = Kind(
    "Deployment",
    settings.Deployment,
    "/apis/apps/v1",
    "deployments",
    pair,
    "topology",
    home=HOME.namespace,
    query=only_named(settings.SCHEDULER),
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
ELASTIC_QUOTA = Kind("ElasticQuota", gangs.Quota, _SIGS, "elasticquotas", pair, "gangs", gangs.quota)
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
    events.Budget,
    "/apis/policy/v1",
    "poddisruptionbudgets",
    pair,
    "disruption",
    events.budget,
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
    storage.StorageClass,
    _STORAGE,
    "storageclasses",
    bare_name,
    "volumes",
    storage.storage_class,
)
CSI_DRIVER = Kind(
    "CSIDriver",
    storage.CSIDriver,
    _STORAGE,
    "csidrivers",
    bare_name,
    "volumes",
    storage.tracked_driver,
    in_files=False,
)
STORAGE_CAPACITY = Kind(
    "CSIStorageCapacity",
    storage.CSIStorageCapacity,
    _STORAGE,
    "csistoragecapacities",
    whole_name,
    "volumes",
    storage.storage_capacity,
    in_files=False,
)
CSI_NODE = Kind(
    "CSINode", storage.CSINode, _STORAGE, "csinodes", bare_name, "volumes", storage.volume_limits, in_files=False
)
VOLUME_ATTACHMENT: Kind[storage.VolumeAttachment, storage.VolumeAttachment] = Kind(
    "VolumeAttachment",
    storage.VolumeAttachment,
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
    resource_claims.ResourceSlice,
    _RESOURCE,
    "resourceslices",
    bare_name,
    "claims",
    resource_claims.device_slice,
)
MIGRATION_JOB = Kind(
    "PodMigrationJob",
    descheduler.PodMigrationJob,
    _SCHEDULING,
    "podmigrationjobs",
    bare_name,
    "migrations",
    descheduler.migration_job,
    in_files=False,
)
VOLCANO_GROUP = Kind(
    "PodGroup.scheduling.volcano.sh", events.VolcanoPodGroup, _VOLCANO, "podgroups", whole_name, "volcano",
    events.pod_group, narrows=True, in_files=False,
)  # fmt: skip
VOLCANO_QUEUE = Kind(
    "Queue.scheduling.volcano.sh", events.VolcanoQueue, _VOLCANO, "queues", bare_name, "volcano",
    events.volcano_queue, in_files=False,
)  # fmt: skip
LIMIT_RANGE = Kind(
    "LimitRange", nodes.LimitRange, _CORE, "limitranges", pair, "fit", nodes.readable_range, narrows=True
)
RESOURCE_QUOTA = Kind(
    "ResourceQuota",
    nodes.ResourceQuota,
    _CORE,
    "resourcequotas",
    pair,
    "fit",
    nodes.readable_quota,
    narrows=True,
    in_files=False,
)
RUNTIME_CLASS = Kind(
    "RuntimeClass",
    nodes.RuntimeClass,
    "/apis/node.k8s.io/v1",
    "runtimeclasses",
    bare_name,
    "manifests",
    nodes.readable,
)
NAMESPACE = Kind("Namespace", nodes.Namespace, _CORE, "namespaces", bare_name, "manifests", nodes.labels)
COLOCATION_PROFILE: Kind[descheduler.ColocationProfile, descheduler.ColocationProfile] = Kind(
    "ClusterColocationProfile",
    descheduler.ColocationProfile,
    "/apis/config.koordinator.sh/v1alpha1",
    "clustercolocationprofiles",
    bare_name,
    "manifests",
)
TRAINING_RUNTIME: Kind[events.TrainingRuntime, events.TrainingRuntime] = Kind(
    "TrainingRuntime",
    events.TrainingRuntime,
    _TRAINER,
    "trainingruntimes",
    whole_name,
    "train-jobs",
    narrows=True,
    in_files=False,
)
CLUSTER_TRAINING_RUNTIME: Kind[events.TrainingRuntime, events.TrainingRuntime] = Kind(
    "ClusterTrainingRuntime",
    events.TrainingRuntime,
    _TRAINER,
    "clustertrainingruntimes",
    bare_name,
    "train-jobs",
    in_files=False,
)
EVENT = Kind("Event", events.Event, "/apis/events.k8s.io/v1", "events", pair, "traces", events.event)
PRIORITY_CLASS = Kind(
    "PriorityClass",
    events.PriorityClass,
    "/apis/scheduling.k8s.io/v1",
    "priorityclasses",
    bare_name,
    "doctor",
    events.priority_class,
    in_files=False,
)
MUTATING = Kind(
    "MutatingWebhookConfiguration",
    events.Webhooks,
    _WEBHOOKS,
    "mutatingwebhookconfigurations",
    bare_name,
    "doctor",
    events.mutating,
)
VALIDATING = Kind(
    "ValidatingWebhookConfiguration",
    events.Webhooks,
    _WEBHOOKS,
    "validatingwebhookconfigurations",
    bare_name,
    "doctor",
    events.validating,
    in_files=False,
)

DAEMON_SET = Kind(
    "DaemonSet",
    settings.DaemonSet,
    "/apis/apps/v1",
    "daemonsets",
    pair,
    "doctor",
    settings.agents,
    query=only_named(settings.KOORDLET),
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
MEMBER_KINDS = tuple(kind.name for kind in (POD, DEPLOYMENT, CONFIG_MAP, POD_GROUP, RESERVATION, LEASE))
"""What tells who is in which gang, whatever nodes there are."""
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
