"""What a pod means: running, pending or finished; what it requests, and what preemption left on it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from copy import copy
from functools import lru_cache
from operator import itemgetter
from sys import intern
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field, structs

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.cluster.objects import fields, gangs, pod_devices, pod_wire, settings
from kubectl_koord.cluster.objects.fields import (
    Condition,
    Int32,
    Meta,
    NodeSelectorTerm,
    ReservationOwner,
    Toleration,
    cpu_set,
    label_requirements,
    label_selector,
    namespace,
    node_terms,
    owner,
    owners,
    references,
    shared,
    strings,
)
from kubectl_koord.cluster.objects.pod_wire import (
    FINISHED,
    Affinity,
    Container,
    NodeAffinity,
    Pod,
    PodAffinity,
    PodSpec,
    ResourceRequirements,
    Volume,
)
from kubectl_koord.cluster.objects.pool import Amounts, Nano, SharedValues, amounts, resources
from kubectl_koord.messages.conditions import job_preemption
from kubectl_koord.model import hardware, keys, pods, reservations, values
from kubectl_koord.model.hardware import NO_NUMA, NOTHING, Allocations, CPUAllocation, DeviceAllocation, PodNUMA
from kubectl_koord.model.load import ExpectedUse
from kubectl_koord.model.pods import NO_MARKS, Marks, PodTrace
from kubectl_koord.model.quotas import PREEMPTIBLE_LABEL, QUOTA_LABELS, QuotaLabels
from kubectl_koord.model.resource_claims import PodClaim
from kubectl_koord.model.unevaluated import AttachedVolume, PodSetting, PodUnevaluated
from kubectl_koord.model.values import PackedLabels, QuantityError, Resources

_NUMA_MOST = 1 << 14

T = TypeVar("T")


class ResourceSpec(Struct, gc=False):
    """scheduling.koordinator.sh/resource-spec."""

    required: str | None = field(default=None, name="requiredCPUBindPolicy")
    preferred: str | None = field(default=None, name="preferredCPUBindPolicy")
    exclusive: str | None = field(default=None, name="preferredCPUExclusivePolicy")


class NUMATopologySpec(Struct, gc=False):
    """scheduling.koordinator.sh/numa-topology-spec."""

    policy: str | None = field(default=None, name="numaTopologyPolicy")
    exclusive: str | None = field(default=None, name="singleNUMANodeExclusive")


class ZoneAmounts(Struct, gc=False):
    """numaNodeResources[] of scheduling.koordinator.sh/resource-status."""

    node: Int32 | None = None
    resources: Amounts | None = None


class ResourceStatus(Struct, gc=False):
    """scheduling.koordinator.sh/resource-status."""

    cpuset: str | None = None
    zones: list[ZoneAmounts] | None = field(default=None, name="numaNodeResources")


def numa_request(annotations: Mapping[str, str | None], qos: str | None, priority_class: str) -> PodNUMA:
    """Return what a pod asks.

    Mirrors `AllowUseCPUSet` and the first lines of `PreFilter` in plugins/nodenumaresource.

    `qos`: its QoS class as labelled. `priority_class`: its Koordinator priority class.
    """
    binds = qos in {"LSE", "LSR"} and priority_class == "koord-prod"
    if not binds and keys.RESOURCE_SPEC not in annotations and keys.NUMA_TOPOLOGY_SPEC not in annotations:
        return NO_NUMA
    spec = _read(annotations, keys.RESOURCE_SPEC, ResourceSpec)
    zones = _read(annotations, keys.NUMA_TOPOLOGY_SPEC, NUMATopologySpec)
    if spec is None or zones is None:
        return PodNUMA(unreadable=keys.RESOURCE_SPEC if spec is None else keys.NUMA_TOPOLOGY_SPEC)
    return PodNUMA(
        binds=binds,
        required=spec.required or "",
        preferred=spec.preferred or "",
        exclusive=spec.exclusive or "",
        policy=zones.policy or "",
        zone_exclusive=zones.exclusive or "",
    )


def _read(annotations: Mapping[str, str | None], name: str, form: type[T]) -> T | None:
    """Return a decoded annotation, the default where it is missing, None where it cannot be decoded."""
    if name not in annotations:
        return form()
    try:
        found: T | None = fields.decode(annotations[name] or "", form | None)
    except (ValueError, RecursionError):
        return None
    return form() if found is None else found


def allocated(annotations: Mapping[str, str | None] | None) -> CPUAllocation | None:
    """Return the CPUs that are allocated to a bound pod: one shared object for equal ones, None for none.

    A pod whose resource-spec cannot be decoded holds none. Mirrors `updatePod` in
    plugins/nodenumaresource/pod_eventhandler.go.
    """
    written = annotations.get(keys.RESOURCE_STATUS) if annotations else None
    if not written or annotations is None or not _is_readable(annotations.get(keys.RESOURCE_SPEC, "{}")):
        return None
    return _numa_allocated(written)


@lru_cache(_NUMA_MOST)
def _is_readable(spec: str | None) -> bool:
    return _read({keys.RESOURCE_SPEC: spec}, keys.RESOURCE_SPEC, ResourceSpec) is not None


@lru_cache(_NUMA_MOST)
def _numa_allocated(written: str) -> CPUAllocation | None:
    try:
        status = msgspec.json.decode(written, type=ResourceStatus)
        if not _is_whole(status):  # only then the text may have other keys: to look for them takes long
            status = fields.decode(written, ResourceStatus)
        zones = tuple((zone.node or 0, resources(amounts(zone.resources))) for zone in status.zones or ())
    except (ValueError, RecursionError, QuantityError):
        return None
    cpus = cpu_set(status.cpuset)
    if cpus is None or not (cpus or zones):
        return None
    return CPUAllocation(hardware.members(cpus), zones)


def _is_whole(status: ResourceStatus) -> bool:
    """Tell whether a status is not empty, and has all fields that the scheduler always writes."""
    zones = status.zones or ()
    return bool(status.cpuset or zones) and all(zone.node is not None and zone.resources is not None for zone in zones)


_REQUESTS_MOST = 1 << 12
_SPEC = decoder(PodSpec)
_LEAST_USE = {"cpu": 250, "memory": 200 << 20}
_BY_CLASS = {"koord-mid": "kubernetes.io/mid-{}", "koord-batch": "kubernetes.io/batch-{}", "koord-free": ""}
_CLASSES = {
    "koord-prod": (9000, 9999),
    "koord-mid": (7000, 7999),
    "koord-batch": (5000, 5999),
    "koord-free": (3000, 3999),
}
_QOS_CLASSES = {"LSE", "LSR", "LS", "BE", "SYSTEM"}
_OF_QOS = {"cpu", "memory"}
_OF_PODS = {"cpu", "memory"}


def requests(spec: PodSpec) -> Resources:
    """Return what the pod takes up on a node, init and sidecar containers and overhead included.

    Raises QuantityError when an amount is none. Mirrors `PodRequests` in k8s.io/component-helpers/resource/helpers.go.
    """
    return requests_and_limits(spec)[0]


def requests_and_limits(spec: PodSpec) -> tuple[Resources, Resources]:
    """Return the requests and limits of a pod; pod-level resources replace those of its containers.

    Raises QuantityError when an amount is none.
    """
    asked = PodSpec(
        containers=spec.containers,
        init_containers=spec.init_containers,
        overhead=spec.overhead,
        resources=spec.resources,
    )
    return _sums(msgspec.json.encode(asked))


def spec_of(written: bytes) -> PodSpec:
    """Return a spec that was encoded."""
    found: PodSpec = _SPEC.decode(written)
    return found


def has_own_resources(spec: PodSpec) -> bool:
    """Tell whether the pod requests or limits anything as a whole (`IsPodLevelResourcesSet`)."""
    own = spec.resources
    return own is not None and any(map(is_of_pods, (*(own.requests or ()), *(own.limits or ()))))


def is_of_pods(resource: str) -> bool:
    """Tell whether a pod may request a resource as a whole (`IsSupportedPodLevelResource`)."""
    return resource in _OF_PODS or resource.startswith("hugepages-")


@lru_cache(_REQUESTS_MOST)
def _sums(written: bytes) -> tuple[Resources, Resources]:
    spec = spec_of(written)
    requested = _effective(spec, lambda written: written.requests)
    requested |= _of_pod(spec, lambda written: written.requests)
    _add(requested, amounts(spec.overhead))
    return resources(requested), resources(_limits(spec))


def _limits(spec: PodSpec) -> Nano:
    """Return the pod's limits, the overhead included where there is one (`PodLimits`)."""
    limits = _effective(spec, lambda written: written.limits)
    limits |= _of_pod(spec, lambda written: written.limits)
    _add(limits, {resource: value for resource, value in amounts(spec.overhead).items() if resource in limits})
    return limits


def _effective(spec: PodSpec, which: Callable[[ResourceRequirements], Amounts | None]) -> Nano:
    """Return the pod's requests or limits: containers and sidecars together, or the largest init container."""
    running: Nano = {}
    for container in spec.containers or ():
        _add(running, _of(container, which))
    sidecars: Nano = {}
    initial: Nano = {}
    for container in spec.init_containers or ():
        requested = _of(container, which)
        if container.restart_policy == "Always":
            _add(running, requested)
            _add(sidecars, requested)
            requested = sidecars
        else:
            requested = dict(requested)
            _add(requested, sidecars)
        for resource, value in requested.items():
            initial[resource] = max(initial.get(resource, 0), value)
    for resource, value in initial.items():
        running[resource] = max(running.get(resource, 0), value)
    return running


def _of_pod(spec: PodSpec, which: Callable[[ResourceRequirements], Amounts | None]) -> Nano:
    """Return the pod-level amounts of the resources that may have some."""
    written = amounts(which(spec.resources)) if spec.resources else {}
    return {resource: value for resource, value in written.items() if is_of_pods(resource)}


def _of(container: Container, which: Callable[[ResourceRequirements], Amounts | None]) -> Nano:
    return amounts(which(container.resources)) if container.resources else {}


@lru_cache(_REQUESTS_MOST)
def _expected_use(requests: Resources, limits: Resources, kind: str) -> tuple[ExpectedUse, ...]:
    requested, limited = dict(requests), dict(limits)
    found = []
    for resource, least in _LEAST_USE.items():
        name = _BY_CLASS.get(kind, "{}").format(resource)
        if name:
            limit = limited.get(name, 0)
            amount = max(requested.get(name, 0), limit)
            asked_as = "" if name == resource else name
            found.append(ExpectedUse(resource, amount, limit, 0 if kind == "koord-mid" else least, asked_as=asked_as))
    return tuple(one for one in found if one.amount or one.least)


def expected_use(requests: Resources, limits: Resources, kind: str, own: Mapping[str, int]) -> tuple[ExpectedUse, ...]:
    """Return what LoadAwareScheduling estimates the CPU (milli) and memory (bytes) of a pod of a priority class from.

    The larger of request and limit, of the resources of its priority class; `own` are the percentages that it sets
    itself. Mirrors `estimatedUsedByResource` in plugins/loadaware/estimator/default_estimator.go.
    """
    found = _expected_use(requests, limits, kind)
    return tuple([structs.replace(one, factor=own.get(one.resource)) for one in found]) if own else found


def priority_class(pod: Pod) -> str:
    """Return the priority class by the pod's label, its priority or, for want of both, its QoS class.

    Mirrors `GetPodPriorityClassWithDefault` in apis/extension/priority_utils.go.
    """
    labels = pod.metadata.labels or {}
    named = labels.get(keys.PRIORITY_CLASS)
    if named is not None:
        known = named if named in _CLASSES else ""
    else:
        priority = pod.spec.priority or 0
        known = next((name for name, (low, high) in _CLASSES.items() if low <= priority <= high), "")
    return known or ("koord-batch" if _qos_class(pod, labels) == "BE" else "koord-prod")


def _qos_class(pod: Pod, labels: Mapping[str, str | None]) -> str:
    """Return Koordinator's QoS class: that of the label, or else what stands for Kubernetes'."""
    named = labels.get(keys.QOS_CLASS)
    if named is None or named not in _QOS_CLASSES:
        return "BE" if (pod.status.qos_class or _kubernetes_qos(pod)) == "BestEffort" else "LS"
    return named


def _kubernetes_qos(pod: Pod) -> str:
    """Return the QoS class that the API server would write: whether anything is asked for, or limited, at all."""
    own = (one.resources for one in (*(pod.spec.containers or ()), *(pod.spec.init_containers or ())))
    lists = [written for one in (pod.spec.resources, *own) if one for written in (one.requests, one.limits)]
    asks = any(not _OF_QOS.isdisjoint(written or ()) for written in lists)
    return "Burstable" if asks else "BestEffort"


def _add(total: Nano, more: Nano) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, 0) + value


_UNEVALUATED_ANNOTATIONS: Mapping[str, PodUnevaluated] = {
    keys.SCHEDULING_HINT: PodSetting("scheduling-hint"),
    keys.INTERNAL_SCHEDULING_HINT: PodSetting("scheduling-hint"),
}
UNEVALUATED = frozenset(_UNEVALUATED_ANNOTATIONS)
_SELDOM = (*_UNEVALUATED_ANNOTATIONS, *settings.ANNOTATIONS)
_ANY_SELDOM = frozenset(_SELDOM)
_ATTACHED = ("gce_persistent_disk", "aws_elastic_block_store", "azure_disk", "rbd", "iscsi")
QOS_LABELS = (keys.PRIORITY_CLASS, keys.QOS_CLASS)
Qos: TypeAlias = tuple[str | None, str | None]
"""The values of `QOS_LABELS`, None for each that is missing."""
NO_QOS: Qos = (None, None)


def qos_of(labels: Mapping[str, str | None]) -> Qos:
    """Return a pod's labels for priority class and QoS class."""
    priority, qos = QOS_LABELS
    return labels.get(priority), labels.get(qos)


def other_fields(pod: Pod) -> tuple[object, ...]:
    """Return the part of a cache key for `requirements` that is in neither the spec nor the QoS labels."""
    meta = pod.metadata
    labels, annotations, owners = meta.labels, meta.annotations, meta.owner_references
    return (
        pod.status.qos_class,
        owners[0].kind if owners and len(owners) == 1 else tuple(owner.kind for owner in owners or ()),
        ()
        if not annotations or _ANY_SELDOM.isdisjoint(annotations)
        else tuple([annotations.get(name, 0) for name in _SELDOM]),
        tuple(sorted(labels.items())) if labels and pod.spec.topology_spread_constraints else (),
        (annotations.get(keys.RESOURCE_SPEC, 0), annotations.get(keys.NUMA_TOPOLOGY_SPEC, 0))
        if annotations
        else (0, 0),
    )


def tying_volumes(volumes: list[Volume]) -> list[Volume]:
    """Return the volumes that can tie a pod to nodes."""
    return [  # one by one: a loop over the names costs ten times as much, for six volumes of every pod
        volume
        for volume in volumes
        if volume.persistent_volume_claim is not None
        or volume.ephemeral is not None
        or volume.gce_persistent_disk is not None
        or volume.aws_elastic_block_store is not None
        or volume.azure_disk is not None
        or volume.rbd is not None
        or volume.iscsi is not None
    ]


def pod_requirements(pod: Pod) -> pods.PodRequirements:
    """Return what the filters read of the pod, but for its volumes. Raises QuantityError when a request is none."""
    spec = pod.spec
    affinity = spec.affinity or Affinity()
    kind = priority_class(pod)
    annotations = pod.metadata.annotations or {}
    factors = settings.own_factors(annotations)
    asked = requests_and_limits(spec)
    by_containers = None
    if has_own_resources(spec):
        less = requests_and_limits(structs.replace(spec, resources=None))
        by_containers = pods.PodAmounts(less[0], expected_use(*less, kind, factors))
    return pods.PodRequirements(
        requests=asked[0],
        selector=shared(tuple(sorted((spec.node_selector or {}).items()))),
        affinity=_node_terms(affinity.node_affinity),
        tolerations=shared(
            tuple([values.Toleration(t.key, t.operator, t.value, t.effect) for t in spec.tolerations or ()])
        ),
        ports=tuple(host_ports(spec)),
        spread=tuple(_spread(pod)),
        pod_affinity=pod_terms(affinity.pod_affinity),
        pod_anti_affinity=pod_terms(affinity.pod_anti_affinity),
        expected=expected_use(*asked, kind, factors),
        estimated_for=settings.estimated_time(annotations),
        is_prod=kind == "koord-prod",
        of_daemon_set="DaemonSet" in [owner.kind for owner in pod.metadata.owner_references or ()],
        sidecars="Always" in [container.restart_policy for container in spec.init_containers or ()],
        unevaluated=tuple(dict.fromkeys(_unevaluated(pod))),
        has_resource_claims=bool(spec.resource_claims),
        numa=numa_request(
            annotations,
            (pod.metadata.labels or {}).get(keys.QOS_CLASS),
            kind,
        ),
        by_containers=by_containers,
    )


def with_volumes(wanted: pods.PodRequirements, volumes: list[Volume]) -> pods.PodRequirements:
    """Return requirements with those of volumes that can tie the pod to nodes."""
    if not volumes:
        return wanted
    return structs.replace(
        wanted,
        claims=tuple(
            [one.persistent_volume_claim.claim_name for one in volumes if one.persistent_volume_claim is not None]
        ),
        ephemeral=tuple([one.name for one in volumes if one.ephemeral is not None]),
        unevaluated=tuple(dict.fromkeys((*_unevaluated_volumes(volumes), *wanted.unevaluated))),
    )


def _node_terms(affinity: NodeAffinity | None) -> tuple[values.NodeTerm, ...] | None:
    return None if affinity is None or affinity.required is None else node_terms(affinity.required)


def host_ports(spec: PodSpec) -> Iterable[pods.HostPort]:
    """Yield the host ports that a pod takes."""
    containers = [*(spec.containers or ()), *(c for c in spec.init_containers or () if c.restart_policy == "Always")]
    for container in containers:
        for port in container.ports or ():
            if port.host_port > 0:
                address = port.host_ip or pods.EVERY_ADDRESS
                yield pods.HostPort(port.host_port, port.protocol or "TCP", address)


def _spread(pod: Pod) -> Iterable[pods.Spread]:
    labels = pod.metadata.labels or {}
    for constraint in pod.spec.topology_spread_constraints or ():
        if constraint.when_unsatisfiable != "DoNotSchedule":
            continue
        wanted = label_selector(constraint.label_selector)
        if wanted is not None:
            own = ((key, labels[key]) for key in constraint.match_label_keys or () if key in labels)
            more = tuple(values.Requirement(key, "In", (value or "",)) for key, value in own)
            wanted = values.Selector(wanted.requirements + more)
        yield pods.Spread(
            key=constraint.topology_key,
            max_skew=constraint.max_skew,
            selector=wanted,
            min_domains=constraint.min_domains or 1,
            honor_affinity=constraint.node_affinity_policy != "Ignore",
            honor_taints=constraint.node_taints_policy == "Honor",
        )


def pod_terms(affinity: PodAffinity | None) -> tuple[pods.PodTerm, ...]:
    """Return the required terms of a pod affinity or anti-affinity."""
    return tuple(
        pods.PodTerm(
            key=term.topology_key,
            selector=label_selector(term.label_selector),
            namespaces=tuple(sorted(term.namespaces or ())),
            namespace_selector=label_selector(term.namespace_selector),
        )
        for term in (affinity.required if affinity else None) or ()
    )


def _unevaluated(pod: Pod) -> Iterable[PodUnevaluated]:
    for annotation in pod.metadata.annotations or ():
        if annotation in _UNEVALUATED_ANNOTATIONS:
            yield _UNEVALUATED_ANNOTATIONS[annotation]


def _unevaluated_volumes(volumes: Iterable[Volume]) -> Iterable[PodUnevaluated]:
    for volume in volumes:
        if any(getattr(volume, kind) is not None for kind in _ATTACHED):
            yield AttachedVolume(volume.name)


Written: TypeAlias = Mapping[str, str | None] | None
Use: TypeAlias = tuple[str | None, str, bool]
_NO_USE: Use = (None, "", False)


class _Required(msgspec.Struct, gc=False, rename="camel"):
    reservation_selector_terms: list[NodeSelectorTerm] | None = None


class _Affinity(msgspec.Struct, gc=False, rename="camel"):
    name: str = ""
    reservation_selector: dict[str, str] | None = None
    required: _Required | None = msgspec.field(default=None, name="requiredDuringSchedulingIgnoredDuringExecution")
    tolerations: list[Toleration] | None = None


class _Exact(msgspec.Struct, gc=False, rename="camel"):
    resource_names: list[str] | None = None


class _Allocated(msgspec.Struct, gc=False):
    uid: str = ""


_allocated = msgspec.json.Decoder(_Allocated)


class _CurrentOwner(msgspec.Struct, gc=False):
    """An object reference: that it is one counts."""


def read_of(annotations: Written, labels: Written) -> Use:
    """Return the texts of a pod's annotations and label about reservations, as a cache key."""
    ignores = labels is not None and labels.get(keys.RESERVATION_IGNORED) == "true"
    if not annotations:
        return (None, "", True) if ignores else _NO_USE
    return annotations.get(keys.RESERVATION_AFFINITY), annotations.get(keys.RESERVATION_EXACT_MATCH) or "", ignores


def reservation_use(read: Use) -> reservations.ReservationUse | None:
    """Return how a pod uses reservations, None without any setting; an empty affinity requires any reservation."""
    if read == _NO_USE:
        return None
    affinity, exact, ignores = read
    wanted = None if affinity is None else _decoded(affinity or "{}", _Affinity)
    names = _decoded(exact, _Exact)
    unreadable = [
        key
        for key, text, said in (
            (keys.RESERVATION_AFFINITY, affinity, wanted),
            (keys.RESERVATION_EXACT_MATCH, exact, names),
        )
        if text and not said
    ]
    return reservations.ReservationUse(
        affinity=_affinity(wanted) if isinstance(wanted, _Affinity) else None,
        ignores=ignores,
        exact=tuple(names.resource_names or ()) if isinstance(names, _Exact) else (),
        unreadable=unreadable[0] if unreadable else "",
    )


def _affinity(found: _Affinity) -> reservations.ReservationAffinity:
    required = found.required
    terms = (
        None
        if required is None
        else tuple(
            reservations.ReservationTerm(
                label_requirements(term.match_expressions), label_requirements(term.match_fields)
            )
            for term in required.reservation_selector_terms or ()
        )
    )
    return reservations.ReservationAffinity(
        name=found.name,
        selector=tuple(sorted((found.reservation_selector or {}).items())),
        terms=terms,
        tolerations=tuple(values.Toleration(t.key, t.operator, t.value, t.effect) for t in found.tolerations or ()),
    )


def _decoded(text: str, wanted: Any) -> object:  # noqa: ANN401
    try:
        return fields.decode(text, wanted) if text else None
    except (msgspec.MsgspecError, RecursionError):
        return None


def drawn_on(annotations: Written) -> str:
    """Return the uid of the reservation that the pod was allocated from, empty for none."""
    text = annotations.get(keys.RESERVATION_ALLOCATED) if annotations else None
    if not text:
        return ""
    try:
        found = _allocated.decode(text)
        if not found.uid:  # only then the text may have another key: to look for it takes longer than to decode
            found = fields.decode(text, _Allocated)
    except (msgspec.MsgspecError, RecursionError):
        return ""
    return intern(found.uid)


def may_offer(labels: Written) -> bool:
    """Tell whether a pod's operating-mode label makes it a reservation."""
    return labels is not None and labels.get(reservations.OPERATING_MODE) == "Reservation"


def reservation_offers(written: pod_wire.Pod) -> bool:
    """Tell whether a reservation pod can be matched: it runs, is ready, and has no current owner (`IsMatchable`)."""
    status, owner = written.status, (written.metadata.annotations or {}).get(keys.RESERVATION_CURRENT_OWNER)
    is_ready = any(one.type == "Ready" and one.status == "True" for one in status.conditions or ())
    return status.phase == "Running" and is_ready and _decoded(owner or "", _CurrentOwner) is None


def operating(written: pod_wire.Pod, pod: pods.RunningPod) -> reservations.Reservation:
    """Return the reservation that a running pod is itself."""
    size = pod.requirements.requests
    return reservations.Reservation(
        uid=pod.offers,
        name=pod.name,
        node=pod.node,
        size=size,
        owners=_operating_owners(written.metadata.annotations),
        policy="Aligned",
        unschedulable=pod.terminating,
        labels=tuple(sorted(strings(written.metadata.labels).items())),
        resources=tuple(resource for resource, _ in size),
        is_pod=True,
        terminating=pod.terminating,
    )


def _operating_owners(annotations: Written) -> tuple[reservations.ReservationOwner, ...]:
    """Return the owners for which a reservation pod holds room, none where the annotation cannot be decoded."""
    found = _decoded((annotations or {}).get(keys.RESERVATION_OWNERS) or "", list[ReservationOwner])
    return owners(found) if isinstance(found, list) else ()


BOOKED = frozenset((keys.DEVICE_ALLOCATED, keys.RESERVATION_ALLOCATED, keys.RESOURCE_STATUS))
_MOST = 1 << 11
_TELLING = frozenset((keys.JOB, keys.NOT_PREEMPTIBLE, PREEMPTIBLE_LABEL, *QOS_LABELS))

_encode = msgspec.msgpack.Encoder().encode


class PodLabels(msgspec.Struct, frozen=True, gc=False):
    """The decoded labels of a pod."""

    labels: pods.AnyLabels = ()
    job: str = ""
    protected: bool = False
    qos: Qos = NO_QOS


_SILENT = PodLabels()


class _Named:
    """A cache of decoded label sets that have the same keys."""

    __slots__ = ("found", "in_order", "names", "quota", "tell")

    def __init__(self, written: tuple[str, ...]) -> None:
        places = sorted(range(len(written)), key=written.__getitem__)
        self.names = tuple([written[place] for place in places])
        # API servers write labels in the order of their names.
        self.in_order = itemgetter(*places) if self.names != written else None
        self.quota = [self.names.index(name) if name in written else None for name in QUOTA_LABELS]
        self.tell = not _TELLING.isdisjoint(written)
        self.found: dict[bytes, PodLabels] = {}


class PodPool(SharedValues):
    """Shared values of pods: also their requirements and decoded labels."""

    def __init__(self, *, details: bool = True) -> None:
        """Begin with an empty cache.

        `reads_namespaces` is set once any requirements were seen whose terms select namespaces by their labels,
        `by_containers_too` once any of a pod that requests something as a whole.

        `details`: whether the labels, the owner and the times of running pods are kept; what labels say of a pod is
        found out in any case.
        """
        super().__init__()
        self.reads_namespaces = self.by_containers_too = False
        self.details = details
        self._requirements: dict[pods.PodRequirements, pods.PodRequirements] = {}
        self._by_spec: dict[tuple[object, ...], pods.PodRequirements] = {}
        self._named: dict[tuple[str, ...], _Named] = {}
        self._quota_labels: dict[QuotaLabels, QuotaLabels] = {}
        self._unlabelled: dict[PodLabels, PodLabels] = {}
        self._qos: dict[Qos, Qos] = {}
        self._allocations: dict[Allocations, Allocations] = {}
        self._devices: dict[int, Allocations] = {}
        self._priorities: dict[int, int] = {}

    def requirements(self, pod: Pod, qos: Qos, shape: bytes = b"") -> pods.PodRequirements:
        """Return the pod's requirements: one shared object for equal ones.

        `qos`: its labels for QoS. `shape`: its spec without the node and volumes, as bytes, where that is known.
        """
        meta, spec = pod.metadata, pod.spec
        waits = not spec.node_name
        devices = pod_devices.read_of(meta.annotations, meta.labels, waits=waits)
        use = read_of(meta.annotations, meta.labels) if waits else None
        key = (shape or _shape(spec), qos, other_fields(pod), devices, use)
        found = self._by_spec.get(key)
        if found is None:
            if len(self._by_spec) >= _REQUESTS_MOST:
                self._by_spec.clear()
            found = self._by_spec[key] = self._new(pod, devices, use)
        volumes = tying_volumes(spec.volumes) if spec.volumes else []
        if not volumes:
            return found
        new = with_volumes(found, volumes)
        return self._requirements.setdefault(new, new)

    def _new(self, pod: Pod, devices: pod_devices.Key, use: Use | None) -> pods.PodRequirements:
        new = pod_requirements(pod)
        if devices:
            new = msgspec.structs.replace(new, devices=pod_devices.options(devices))
        if use is not None:
            new = msgspec.structs.replace(new, reservation=reservation_use(use))
        self.reads_namespaces = self.reads_namespaces or new.reads_namespaces
        self.by_containers_too = self.by_containers_too or new.by_containers is not None
        return self._requirements.setdefault(new, new)

    def priority(self, priority: int) -> int:
        """Return a priority, one object for all equal ones."""
        return self._priorities.setdefault(priority, priority)

    def allocations(self, annotations: Mapping[str, str | None] | None) -> Allocations:
        """Return what the scheduler wrote that its plugins booked for a pod, one object for all equal ones."""
        if not annotations or BOOKED.isdisjoint(annotations):
            return NOTHING
        devices = pod_devices.allocated(annotations)
        reservation = drawn_on(annotations)
        cpus = allocated(annotations)
        if reservation or cpus is not None:
            new = Allocations(devices=devices, cpus=cpus, reservation=reservation)
            return self._allocations.setdefault(new, new)
        return self._of_devices(devices) if devices else NOTHING

    def _of_devices(self, devices: tuple[DeviceAllocation, ...]) -> Allocations:
        """Return allocations with devices alone, cached by the identity of the devices."""
        found = self._devices.get(id(devices))
        if found is None:
            if len(self._devices) >= _MOST:
                self._devices.clear()
            new = Allocations(devices=devices)
            found = self._allocations.setdefault(new, new)
            if found.devices is devices:  # and as it is kept, no other object has its id
                self._devices[id(devices)] = found
        return found

    def pod_labels(self, written: Mapping[str, str | None] | None) -> PodLabels:
        """Return a pod's decoded labels: one shared object for equal ones."""
        labels = written or {}
        names = tuple(labels)
        named = self._named.get(names)
        if named is None:
            names = tuple(map(intern, names))
            named = self._named[names] = _Named(names)
        if not self.details:
            return self._said((), labels) if named.tell else _SILENT
        values = tuple(labels.values())
        if named.in_order:
            values = named.in_order(values)
        content = _encode(values)
        found = named.found.get(content)
        if found is None:
            if len(named.found) >= _MOST:  # pods with the same labels follow each other in lists
                named.found.clear()
            kept = self._packed(named, values, content) if values else ()
            found = named.found[content] = self._said(kept, labels) if named.tell else PodLabels(kept)
        return found

    def _packed(self, named: "_Named", values: tuple[str | None, ...], content: bytes) -> PackedLabels:
        """Return labels in the order of their names; `content` is how the values are written."""
        if None in values:
            values = tuple([value or "" for value in values])
            content = _encode(values)
        quota = tuple([None if at is None else values[at] for at in named.quota])
        return PackedLabels(named.names, content, self._quota_labels.setdefault(quota, quota))

    def said(self, written: Mapping[str, str | None] | None) -> PodLabels:
        """Return the decoded labels without the labels themselves."""
        return self._said((), written or {})

    def _said(self, kept: pods.AnyLabels, labels: Mapping[str, str | None]) -> PodLabels:
        qos = qos_of(labels)
        qos = self._qos.setdefault(qos, qos)
        new = PodLabels(kept, intern(labels.get(keys.JOB) or ""), _is_protected(labels), qos)
        return new if kept else self._unlabelled.setdefault(new, new)


def _shape(spec: PodSpec) -> bytes:
    """Return the spec as bytes, equal for pods that differ only in where they are and in volumes."""
    alone = copy(spec)
    alone.node_name = alone.volumes = None
    return encoded(alone)


def encoded(spec: object) -> bytes:
    """Return a spec as bytes, equal for equal ones."""
    try:
        return _encode(spec)
    except OverflowError:  # an amount that is a number beyond 64 bits
        return msgspec.json.encode(spec)


def _is_protected(labels: Mapping[str, str | None]) -> bool:
    """Tell whether job preemption must spare the pod.

    Mirrors `IsPodPreemptible` and `IsPodNonPreemptible` in apis/extension.
    """
    return labels.get(keys.NOT_PREEMPTIBLE) == "true" or labels.get(PREEMPTIBLE_LABEL) == "false"


ANNOTATIONS = frozenset((keys.TOPOLOGY_SELECTOR, keys.GANG_NAME, *gangs.TERMS, *BOOKED))
"""The annotations that are read of bound pods, besides those that their requirements are made of."""


class Alike(Struct, frozen=True, gc=False):
    """The value that bound pods of one owner with equal labels and specs share; `gang` is that of the labels.

    Pods that are not `plain` have marks. A gang that `needs_group` gets no settings from its pods.
    """

    namespace: str
    owner: str
    gang: str
    said: PodLabels
    offers: bool
    priority: int
    requirements: pods.PodRequirements
    plain: bool
    needs_group: bool
    minimum: str


def pod(written: Pod, pool: PodPool, shape: bytes = b"") -> pods.RunningPod | pods.PendingPod | pods.FinishedPod:
    """Return the pod as what it is: finished, running (bound), or pending; `shape` is as `PodPool` has it.

    Raises QuantityError when a request is no quantity.
    """
    if written.status.phase in FINISHED:
        return _finished(written)
    if written.spec.node_name:
        said = pool.pod_labels(written.metadata.labels)
        priority = pool.priority(written.spec.priority or 0)
        found = alike(written.metadata, said, priority, pool.requirements(written, said.qos, shape))
        is_offer = found.offers and reservation_offers(written)
        offers = (written.metadata.uid or written.metadata.name) if is_offer else ""
        counts = found.requirements.estimated_for
        initialized = _initialized(written.status.conditions) if counts and counts.after_initialized else ""
        return running(written, written.metadata.annotations, found, pool, offers, initialized)
    return pending(written, pool, shape)


def _finished(written: Pod) -> pods.FinishedPod:
    meta = written.metadata
    return pods.FinishedPod(
        namespace=namespace(meta),
        name=meta.name,
        gang=gang_of(meta),
        was_bound=bool(written.spec.node_name),
        created=meta.creation_timestamp or "",
        owner=owner(meta),
    )


def gang_of(meta: Meta) -> str:
    """Return the id of the gang that a pod is in, empty for none."""
    return gangs.gang_of(meta)[0]


def alike(meta: Meta, said: PodLabels, priority: int, requirements: pods.PodRequirements) -> Alike:
    """Return what a bound pod has in common with others: of `meta` namespace, labels and owners are read."""
    offers = may_offer(meta.labels)
    return Alike(
        namespace=namespace(meta),
        owner=owner(meta),
        gang=gangs.label_of(meta),
        said=said,
        offers=offers,
        priority=priority,
        requirements=requirements,
        plain=not (offers or said.job or said.protected or requirements.estimated_for),
        needs_group=gangs.needs_group(meta),
        minimum=gangs.light_minimum(meta.labels),
    )


def running(
    written: Pod,
    annotations: Mapping[str, str | None] | None,
    alike: Alike,
    pool: PodPool,
    offers: str = "",
    initialized: str = "",
) -> pods.RunningPod:
    """Return a pod that is bound.

    Args:
        written: the pod, of which only what is its own is read.
        annotations: its annotations, or None where none of `ANNOTATIONS` is among them.
        alike: what it shares with the other pods of its owner.
        pool: shares equal values.
        offers: the name of the reservation that the pod is, empty for none.
        initialized: when its init containers had run, empty where that does not count.
    """
    meta = written.metadata
    scheduled, disruption = _history(written.status.conditions)
    preempted = disruption is not None and disruption.reason == "PreemptionByScheduler"
    gang, selector, allocations = alike.gang, "", NOTHING
    if annotations:
        gang = gang or gangs.annotated(alike.namespace, annotations)
        selector = annotations.get(keys.TOPOLOGY_SELECTOR) or ""
        allocations = pool.allocations(annotations)
    marks, terms = NO_MARKS, None
    if gang and pool.details and not alike.needs_group:
        terms = shared(gangs.terms(alike.minimum, strings(annotations)))
    deleted = meta.deletion_timestamp
    unready = alike.requirements.of_daemon_set and any(
        one.type == "Ready" and one.status == "False" for one in written.status.conditions or ()
    )
    if unready or not alike.plain or preempted or selector or deleted is not None or terms is not None:
        message = job_preemption(disruption.message or "") if preempted and disruption is not None else None
        marks = shared(
            Marks(
                job=alike.said.job,
                protected=alike.said.protected,
                terminating=deleted is not None,
                preempted=preempted,
                selector=selector,
                gone_by=deleted or "",
                offers=offers,
                initialized=initialized,
                preemptor=message.preemptor if message is not None else "",
                gang_terms=terms,
                unready=unready,
            )
        )
    has_details = pool.details
    return pods.RunningPod(
        alike.namespace,
        meta.name,
        intern(written.spec.node_name or ""),
        alike.priority,
        alike.requirements,
        gang,
        (meta.creation_timestamp or "") if has_details else "",
        alike.owner if has_details else "",
        alike.said.labels,
        scheduled if has_details else "",
        allocations,
        marks,
    )


def _initialized(conditions: list[Condition] | None) -> str:
    """Return since when the init containers of a pod have run, empty where they have not."""
    found = next((one for one in conditions or () if one.type == "Initialized"), None)
    return (found.last_transition_time or "") if found is not None and found.status == "True" else ""


def _history(conditions: list[Condition] | None) -> tuple[str, Condition | None]:
    """Return when a pod was scheduled, empty where it was not, and its DisruptionTarget condition."""
    scheduled, disruption = "", None
    for condition in conditions or ():
        kind = condition.type
        if kind == "PodScheduled":
            if condition.status == "True" and not scheduled:
                scheduled = condition.last_transition_time or ""
        elif kind == "DisruptionTarget" and disruption is None:
            disruption = condition
    return scheduled, disruption if disruption is not None and disruption.status == "True" else None


def pending(written: Pod, pool: PodPool, shape: bytes = b"") -> pods.PendingPod:
    """Return a pod that waits for a node; `shape` is as `PodPool` has it.

    Raises QuantityError when a request is no quantity.
    """
    meta, spec = written.metadata, written.spec
    annotations = strings(meta.annotations)
    gang, needs_group = gangs.gang_of(meta)
    said = pool.said(meta.labels)
    return pods.PendingPod(
        namespace=namespace(meta),
        name=meta.name,
        priority=pool.priority(spec.priority or 0),
        requirements=pool.requirements(written, said.qos, shape),
        scheduler=_scheduler(written),
        gang=gang,
        needs_pod_group=needs_group,
        gang_terms=shared(gangs.gang_annotations(strings(meta.labels), annotations)),
        never_preempts=spec.preemption_policy == "Never",
        index=gangs.topology_index(annotations),
        selector=annotations.get(keys.TOPOLOGY_SELECTOR, ""),
        job=said.job,
        nominated=written.status.nominated_node_name or "",
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        terminating=meta.deletion_timestamp is not None,
        condition=_scheduled_condition(written.status.conditions),
        created=meta.creation_timestamp or "",
        owner=owner(meta),
        labels=pool.labels(meta.labels),
        resource_version=meta.resource_version or "",
        uid=meta.uid or "",
        foreign_gang="" if gang else _native_group(spec) or gangs.foreign_gang(meta),
        volcano_group=gangs.volcano_group(meta),
        owners=shared(references(meta)),
        resource_claims=tuple(_claims(written)) if spec.resource_claims else (),
    )


def _native_group(spec: PodSpec) -> str:
    """Return the field by which a pod is in a gang of Kubernetes' own, empty for none."""
    if spec.scheduling_group is not None and spec.scheduling_group.pod_group_name:
        return "spec.schedulingGroup"
    return "spec.workloadRef" if spec.workload_ref is not None and spec.workload_ref.name else ""


def _scheduler(written: Pod) -> str:
    """Return which scheduler the pod is for, as koord-scheduler reads it.

    Mirrors `GetSchedulerName` in apis/extension/multi_scheduler.go, and what the API server makes of an empty name.
    """
    named = (written.metadata.labels or {}).get(pods.SCHEDULER_LABEL)
    return (written.spec.scheduler_name or "default-scheduler") if named is None else named


def _claims(written: Pod) -> Iterator[PodClaim]:
    """Yield the resource claims that the pod names, and those that were made for it from templates.

    Mirrors `Name` in k8s.io/dynamic-resource-allocation/resourceclaim.
    """
    home = namespace(written.metadata)
    made = {one.name: one.resource_claim_name for one in written.status.resource_claim_statuses or ()}
    for claim in written.spec.resource_claims or ():
        name = claim.resource_claim_name
        if name is not None:
            yield PodClaim(claim.name, f"{home}/{name}")
        elif claim.name not in made:
            yield PodClaim(claim.name, is_made=True)
        elif made[claim.name] is not None:
            yield PodClaim(claim.name, f"{home}/{made[claim.name]}", is_made=True)


def _scheduled_condition(conditions: list[Condition] | None) -> pods.Condition | None:
    for condition in conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            told = (condition.reason or "", condition.message or "", condition.last_transition_time or "")
            return shared(pods.Condition(*told))
    return None


def trace(written: Pod) -> PodTrace:
    """Return the fields of a pod by which an earlier preemption is found out."""
    meta = written.metadata
    return PodTrace(
        namespace=namespace(meta),
        name=meta.name,
        uid=meta.uid or "",
        node=intern(written.spec.node_name or ""),
        priority=written.spec.priority or 0,
        gang=gangs.gang_of(meta)[0],
        owner=owner(meta),
        quota=(meta.labels or {}).get(keys.QUOTA_NAME) or "",
        phase=written.status.phase or "",
        terminating=meta.deletion_timestamp is not None,
        preempted=_preempted(written.status.conditions),
        created=meta.creation_timestamp or "",
    )


def _preempted(conditions: list[Condition] | None) -> pods.Condition | None:
    found = next((one for one in conditions or () if _is_preemption(one)), None)
    return pods.Condition(found.reason or "", found.message or "", found.last_transition_time or "") if found else None


def _is_preemption(condition: Condition) -> bool:
    """Tell whether a condition is that of a pod that a scheduler preempted."""
    wanted = ("DisruptionTarget", "True", "PreemptionByScheduler")
    return (condition.type, condition.status, condition.reason) == wanted
