"""API objects to model values: the only readers of labels and annotations.

Pods that merely run become compact records, whose shapes and strings are shared between equals.
"""

import json
import re
from collections.abc import Iterator, Mapping
from copy import copy
from sys import intern
from typing import Any, TypeAlias

import msgspec

from kubectl_koord.cluster.objects import pod_devices, pod_requirements, wire
from kubectl_koord.model import objects, pods, quantity, selectors
from kubectl_koord.model.allocations import NOTHING, Allocations
from kubectl_koord.model.unevaluated import NodeSetting

GANG_LABEL = "pod-group.scheduling.sigs.k8s.io"
LIGHT_LABEL = "pod-group.scheduling.sigs.k8s.io/name"
GANG_PREFIX = "gang.scheduling.koordinator.sh/"
JOB_LABEL = "scheduling.koordinator.sh/questioned-object-key"
SELECTOR_ANNOTATION = "scheduling.koordinator.sh/network-topology-selector"
TOPOLOGY_ANNOTATION = GANG_PREFIX + "network-topology-spec"
INDEX_ANNOTATION = GANG_PREFIX + "network-topology-index"
_GANG_ANNOTATION = GANG_PREFIX + "name"
_LIGHT_POLICY = "pod-group.scheduling.sigs.k8s.io/match-policy"
_LIGHT_MINIMUM = "pod-group.scheduling.sigs.k8s.io/min-available"
FOREIGN_LABEL = "scheduling.x-k8s.io/pod-group"
FOREIGN_ANNOTATION = "scheduling.k8s.io/group-name"
_RESERVATION = "node.koordinator.sh/reservation"
_ALLOCATED_FROM = "scheduling.koordinator.sh/reservation-allocated"
_FINISHED = {"Succeeded", "Failed"}
_MAX_BUILT_IN = 10**15
_BUILT_IN_QUOTAS = {"koordinator-root-quota", "koordinator-system-quota", "koordinator-default-quota"}

_encode = msgspec.msgpack.Encoder().encode

Strings: TypeAlias = Mapping[str, str]


class PodLabels(msgspec.Struct, frozen=True, gc=False):
    """What a set of labels tells of a pod."""

    labels: selectors.Labels
    job: str
    protected: bool
    qos: pod_requirements.Qos


class ShapeMemo:
    """Shapes, label sets and amounts seen so far, so that equal ones are one object and are computed once."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._shapes: dict[pods.PodRequirements, pods.PodRequirements] = {}
        self._by_spec: dict[tuple[object, ...], pods.PodRequirements] = {}
        self._labels: dict[selectors.Labels, selectors.Labels] = {}
        self._pod_labels: dict[tuple[tuple[str, str | None], ...], PodLabels] = {}
        self._allocatable: dict[tuple[tuple[str, str | int | float], ...], pods.Resources] = {}
        self._allocations: dict[Allocations, Allocations] = {}

    def requirements(self, pod: wire.Pod, qos: pod_requirements.Qos) -> pods.PodRequirements:
        """Return the pod's requirements, the one object for all equal ones; `qos` is what its labels tell of it."""
        meta = pod.metadata
        devices = pod_devices.read_of(meta.annotations, meta.labels, waits=not pod.spec.node_name)
        key = (_without_node(pod.spec), qos, pod_requirements.read_of(pod), devices)
        requirements = self._by_spec.get(key)
        if requirements is None:
            new = pod_requirements.requirements(pod)
            if devices:
                new = msgspec.structs.replace(new, devices=pod_devices.options(devices))
            requirements = self._by_spec[key] = self._shapes.setdefault(new, new)
        return requirements

    def labels(self, written: Mapping[str, str | None] | None) -> selectors.Labels:
        """Return labels in key order, one object for all equal sets."""
        new = tuple(sorted((intern(key), intern(value or "")) for key, value in (written or {}).items()))
        return self._labels.setdefault(new, new)

    def allocations(self, annotations: Mapping[str, str | None] | None) -> Allocations:
        """Return what the scheduler wrote that its plugins booked for a pod, one object for all equal ones."""
        devices = pod_devices.allocated(annotations)
        reservation = reservation_uid(annotations)
        if not devices and not reservation:
            return NOTHING
        new = Allocations(devices=devices, reservation=reservation)
        return self._allocations.setdefault(new, new)

    def pod_labels(self, written: Mapping[str, str | None] | None) -> PodLabels:
        """Return what a pod's labels tell."""
        key = tuple(written.items()) if written else ()
        found = self._pod_labels.get(key)
        if found is None:
            labels = written or {}
            job = intern(labels.get(JOB_LABEL) or "")
            found = self._pod_labels[key] = PodLabels(
                self.labels(labels), job, is_protected(labels), pod_requirements.qos_of(labels)
            )
        return found

    def allocatable(self, written: wire.Amounts | None) -> pods.Resources:
        """Return a node's amounts, one object for all equal lists.

        Raises:
            QuantityError: when an amount is no quantity.

        """
        key = tuple(written.items()) if written else ()
        found = self._allocatable.get(key)
        if found is None:
            found = self._allocatable[key] = pod_requirements.resources(pod_requirements.amounts(written))
        return found


def _without_node(spec: wire.PodSpec) -> bytes:
    """Return the spec as bytes, equal for pods that differ only in where they are and in names of volumes.

    Volumes that tie a pod to no node are left out for good: each pod's service account volume has its own name.
    """
    alone = copy(spec)
    alone.node_name = None
    if spec.volumes:
        alone.volumes = pod_requirements.ties(spec.volumes)
    try:
        return _encode(alone)
    except OverflowError:  # an amount that is a number beyond 64 bits
        return msgspec.json.encode(alone)


def strings(written: Mapping[str, str | None] | None) -> Strings:
    """Return annotations or labels with null read as empty."""
    return {key: value or "" for key, value in (written or {}).items()}


def gang_of(pod: wire.Pod) -> tuple[str, bool]:
    """Return the id of the pod's gang (empty for none) and whether only a PodGroup can define it.

    Mirrors `GetGangName` in pkg/scheduler/plugins/coscheduling/util/gang_helper.go.
    """
    meta = pod.metadata
    labels, annotations = meta.labels, meta.annotations
    by_label = labels.get(GANG_LABEL) if labels else None
    name = by_label or (labels and labels.get(LIGHT_LABEL)) or (annotations and annotations.get(_GANG_ANNOTATION))
    return (intern(f"{namespace(meta)}/{name}") if name else ""), bool(by_label)


def namespace(meta: wire.Meta) -> str:
    """Return the object's namespace; `default` where a hand-written file leaves it out."""
    return intern(meta.namespace or "default")


def pod(written: wire.Pod, memo: ShapeMemo) -> pods.RunningPod | pods.PendingPod | pods.FinishedPod:
    """Return the pod as what it is: finished, running (bound), or pending.

    Raises:
        QuantityError: when a request is no quantity.

    """
    if written.status.phase in _FINISHED:
        return _finished(written)
    if written.spec.node_name:
        return _running(written, memo)
    return _pending(written, memo)


def _finished(written: wire.Pod) -> pods.FinishedPod:
    meta = written.metadata
    return pods.FinishedPod(
        namespace=namespace(meta),
        name=meta.name,
        gang=gang_of(written)[0],
        was_bound=bool(written.spec.node_name),
        created=meta.creation_timestamp or "",
        owner=owner(meta),
    )


def _running(written: wire.Pod, memo: ShapeMemo) -> pods.RunningPod:
    meta = written.metadata
    told = memo.pod_labels(meta.labels)
    annotations = meta.annotations
    created = meta.creation_timestamp or ""
    scheduled, preempted = _course_of(written.status.conditions)
    return pods.RunningPod(
        namespace=namespace(meta),
        name=meta.name,
        node=intern(written.spec.node_name or ""),
        priority=written.spec.priority or 0,
        requirements=memo.requirements(written, told.qos),
        gang=gang_of(written)[0],
        job=told.job,
        protected=told.protected,
        terminating=meta.deletion_timestamp is not None,
        preempted=preempted,
        created=created,
        owner=owner(meta),
        selector=(annotations.get(SELECTOR_ANNOTATION) or "") if annotations else "",
        labels=told.labels,
        scheduled=created if scheduled == created else scheduled,
        gone_by=meta.deletion_timestamp or "",
        allocations=memo.allocations(annotations),
    )


def _course_of(conditions: list[wire.PodCondition] | None) -> tuple[str, bool]:
    """Return since when a pod has been scheduled (or nothing), and whether the scheduler has preempted it."""
    scheduled, target = "", None
    for condition in conditions or ():
        kind = condition.type
        if kind == "PodScheduled":
            if condition.status == "True" and not scheduled:
                scheduled = condition.last_transition_time or ""
        elif kind == "DisruptionTarget" and target is None:
            target = condition
    return scheduled, target is not None and target.status == "True" and target.reason == "PreemptionByScheduler"


def is_protected(labels: Mapping[str, str | None]) -> bool:
    """Tell whether job preemption must spare the pod.

    Mirrors `IsPodPreemptible` and `IsPodNonPreemptible` in apis/extension.
    """
    return (
        labels.get("scheduling.koordinator.sh/disable-preemptible") == "true"
        or labels.get("quota.scheduling.koordinator.sh/preemptible") == "false"
    )


def tells_preemption(condition: wire.PodCondition) -> bool:
    """Tell whether a condition says that a scheduler preempted the pod."""
    wanted = ("DisruptionTarget", "True", "PreemptionByScheduler")
    return (condition.type, condition.status, condition.reason) == wanted


def owner(meta: wire.Meta) -> str:
    """Return who owns the object, its controller first: `Kind/name`, empty for nobody."""
    owners = meta.owner_references
    if not owners:
        return ""
    found = next((o for o in owners if o.controller), owners[0]) if len(owners) > 1 else owners[0]
    return intern(f"{found.kind}/{found.name}")


def _pending(written: wire.Pod, memo: ShapeMemo) -> pods.PendingPod:
    meta, spec = written.metadata, written.spec
    annotations = strings(meta.annotations)
    gang, needs_group = gang_of(written)
    told = memo.pod_labels(meta.labels)
    return pods.PendingPod(
        namespace=namespace(meta),
        name=meta.name,
        priority=spec.priority or 0,
        requirements=memo.requirements(written, told.qos),
        scheduler=spec.scheduler_name or "default-scheduler",
        gang=gang,
        needs_pod_group=needs_group,
        gang_terms=_gang_terms(strings(meta.labels), annotations),
        never_preempts=spec.preemption_policy == "Never",
        index=topology_index(annotations.get(INDEX_ANNOTATION)),
        selector=annotations.get(SELECTOR_ANNOTATION, ""),
        job=told.job,
        nominated=written.status.nominated_node_name or "",
        gates=tuple(gate.name for gate in spec.scheduling_gates or ()),
        terminating=meta.deletion_timestamp is not None,
        condition=_scheduled_condition(written.status.conditions),
        created=meta.creation_timestamp or "",
        owner=owner(meta),
        labels=told.labels,
        resource_version=meta.resource_version or "",
        foreign_gang="" if gang else _foreign_gang(meta),
    )


def _foreign_gang(meta: wire.Meta) -> str:
    """Return the marker of another gang scheduler (scheduler-plugins, Volcano) that a pod carries, empty for none."""
    if (meta.labels or {}).get(FOREIGN_LABEL):
        return FOREIGN_LABEL
    return FOREIGN_ANNOTATION if (meta.annotations or {}).get(FOREIGN_ANNOTATION) else ""


def _gang_terms(labels: Strings, annotations: Strings) -> pods.GangAnnotations:
    minimum = labels.get(_LIGHT_MINIMUM) or annotations.get(GANG_PREFIX + "min-available")
    return pods.GangAnnotations(
        minimum=minimum,
        total=annotations.get(GANG_PREFIX + "total-number"),
        mode=annotations.get(GANG_PREFIX + "mode", ""),
        match_policy=match_policy(annotations),
        groups=annotations.get(GANG_PREFIX + "groups"),
        topology=annotations.get(TOPOLOGY_ANNOTATION),
    )


def match_policy(annotations: Strings) -> str:
    """Return the match policy as written, under either of its annotations."""
    return annotations.get(GANG_PREFIX + "match-policy") or annotations.get(_LIGHT_POLICY, "")


def topology_index(written: str | None) -> int | None:
    """Return a valid topology index (a non-negative integer as Go's Atoi reads it), else None."""
    if written is None or not re.fullmatch(r"[+-]?[0-9]{1,19}", written, re.ASCII):
        return None
    value = int(written)
    return value if 0 <= value < 1 << 63 else None


def _scheduled_condition(conditions: list[wire.PodCondition] | None) -> pods.Condition | None:
    for condition in conditions or ():
        if condition.type == "PodScheduled" and condition.status == "False":
            return pods.Condition(condition.reason or "", condition.message or "", condition.last_transition_time or "")
    return None


def node(written: wire.Node, memo: ShapeMemo) -> objects.Node:
    """Return the node as the scheduler sees it, its own reservation taken off.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    meta = written.metadata
    annotations = meta.annotations or {}
    reserved = annotations.get(_RESERVATION)
    ready = next((c.status == "True" for c in written.status.conditions or () if c.type == "Ready"), False)
    return objects.Node(
        name=intern(meta.name),
        allocatable=_left(written, reserved) if reserved else memo.allocatable(written.status.allocatable),
        labels=memo.labels(meta.labels),
        taints=tuple(selectors.Taint(t.key, t.value, t.effect) for t in written.spec.taints or ()),
        unschedulable=bool(written.spec.unschedulable),
        ready=ready,
        unevaluated=tuple(_node_settings(meta.labels or {}, annotations)),
    )


def _left(written: wire.Node, reserved: str) -> pods.Resources:
    allocatable = pod_requirements.amounts(written.status.allocatable)
    _take_off(allocatable, reserved)
    return pod_requirements.resources(allocatable)


def _node_settings(labels: Mapping[str, str | None], annotations: Mapping[str, str | None]) -> Iterator[NodeSetting]:
    if labels.get("node.koordinator.sh/numa-topology-policy"):
        yield NodeSetting("numa-topology-policy")
    if labels.get("node.koordinator.sh/cpu-bind-policy"):
        yield NodeSetting("cpu-bind-policy")
    if annotations.get("node.koordinator.sh/resource-amplification-ratio"):
        yield NodeSetting("amplified-resources")


def _take_off(allocatable: dict[str, int], annotation: str) -> None:
    """Lower the allocatable by `node.koordinator.sh/reservation` (pkg/util/transformer)."""
    try:
        reservation: Any = json.loads(annotation)
        if not isinstance(reservation, dict) or reservation.get("applyPolicy", "") not in {"", "Default"}:
            return
        reserved = pod_requirements.amounts(reservation.get("resources"))
        cpus = _count_cpus(str(reservation.get("reservedCPUs") or ""))
    except (ValueError, AttributeError, RecursionError):
        return
    if cpus:
        reserved["cpu"] = cpus * quantity.NANO
    for resource, amount in reserved.items():
        if resource in allocatable:
            allocatable[resource] = max(0, allocatable[resource] - amount)


def _count_cpus(written: str) -> int:
    cpus: set[int] = set()
    for part in filter(None, written.split(",")):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not 0 <= low <= high < 1 << 16:
            raise ValueError(written)
        cpus.update(range(low, high + 1))
    return len(cpus)


def pod_group(written: wire.PodGroup) -> objects.PodGroup:
    """Return the PodGroup with its gang annotations as written."""
    meta = written.metadata
    annotations = strings(meta.annotations)
    return objects.PodGroup(
        namespace=namespace(meta),
        name=meta.name,
        min_member=written.spec.min_member or 0,
        timeout_seconds=written.spec.schedule_timeout_seconds,
        mode=annotations.get(GANG_PREFIX + "mode", ""),
        match_policy=match_policy(annotations),
        groups=annotations.get(GANG_PREFIX + "groups"),
        topology=annotations.get(TOPOLOGY_ANNOTATION),
        total=annotations.get(GANG_PREFIX + "total-number"),
        annotations=tuple(sorted(annotations.items())),
        phase=(written.status.phase if written.status else None) or "",
        created=meta.creation_timestamp or "",
        resource_version=meta.resource_version or "",
    )


def topology(written: wire.NetworkTopology) -> objects.NetworkTopology:
    """Return the ClusterNetworkTopology with what the scheduler last wrote into its status."""
    detail = written.status.detail_status if written.status else None
    return objects.NetworkTopology(
        name=written.metadata.name,
        layers=tuple(
            objects.Layer(entry.topology_layer, entry.parent_topology_layer, tuple(entry.label_key or ()))
            for entry in written.spec.network_topology_spec or ()
        ),
        status=None
        if detail is None
        else tuple(
            objects.DomainStatus(d.topology_info.topology_layer, d.topology_info.topology_name, d.node_num)
            for d in detail
        ),
        resource_version=written.metadata.resource_version or "",
    )


def budget(written: wire.Budget) -> objects.Budget:
    """Return the PodDisruptionBudget."""
    return objects.Budget(
        namespace=namespace(written.metadata),
        name=written.metadata.name,
        selector=pod_requirements.selector(written.spec.selector),
        allowed=written.status.disruptions_allowed,
    )


def quota(written: wire.Quota) -> objects.Quota:
    """Return the ElasticQuota; `limited` is false only for the built-in ones without a real maximum."""
    annotations = strings(written.metadata.annotations)
    try:
        listed: Any = json.loads(annotations.get("quota.scheduling.koordinator.sh/namespaces") or "[]")
    except (ValueError, RecursionError):
        listed = []
    maximum = pod_requirements.amounts(written.spec.max)
    return objects.Quota(
        namespace=namespace(written.metadata),
        name=written.metadata.name,
        namespaces=tuple(str(name) for name in listed) if isinstance(listed, list) else (),
        limited=written.metadata.name not in _BUILT_IN_QUOTAS
        or any(quantity.whole(value) < _MAX_BUILT_IN for value in maximum.values()),
    )


def claim(name: str, written: wire.PersistentVolumeClaim, volume: wire.PersistentVolume | None) -> objects.Claim:
    """Return the claim with what its volume says, as far as the volume is known."""
    single = "ReadWriteOncePod" in (written.spec.access_modes or ())
    bound = written.spec.volume_name or ""
    if volume is None:
        return objects.Claim(name, bound, single_pod=single)
    affinity = volume.spec.node_affinity
    return objects.Claim(
        name=name,
        volume=bound,
        terms=pod_requirements.node_terms(affinity.required) if affinity and affinity.required else None,
        labels=tuple(sorted(strings(volume.metadata.labels).items())),
        driver=volume.spec.csi.driver if volume.spec.csi else "",
        single_pod=single,
        known=True,
    )


def volume_limits(written: wire.CSINode | None) -> pods.Resources:
    """Return attachable volumes by CSI driver, for the drivers that tell."""
    drivers = (written.spec.drivers if written else None) or ()
    counts = ((driver.name, driver.allocatable.count if driver.allocatable else None) for driver in drivers)
    return tuple(sorted((name, count) for name, count in counts if count is not None))


def lease(written: wire.Lease) -> objects.Lease:
    """Return the Lease."""
    spec = written.spec
    return objects.Lease(
        name=written.metadata.name,
        holder=spec.holder_identity or "",
        renewed=spec.renew_time or "",
        acquired=spec.acquire_time or "",
        seconds=spec.lease_duration_seconds or 0,
    )


def reservation(written: wire.Reservation) -> objects.Reservation | None:
    """Return the Reservation if it holds room on a node now, else None."""
    status = written.status
    if status.phase != "Available" or not status.node_name:
        return None
    owners = tuple(
        objects.ReservationOwner(
            namespace=(owner.object.namespace if owner.object else "")
            or (owner.controller.namespace if owner.controller else ""),
            name=owner.object.name if owner.object else "",
            controller=f"{owner.controller.kind}/{owner.controller.name}" if owner.controller else "",
            selector=pod_requirements.selector(owner.label_selector),
        )
        for owner in written.spec.owners or ()
    )
    return objects.Reservation(written.metadata.name, status.node_name, owners)


def reserved_room(written: wire.Reservation, allocated: Mapping[str, int]) -> pods.ReservedRoom:
    """Return what is left of a Reservation.

    `allocated` are its owners' requests. Mirrors plugins/reservation/transformer.go.
    """
    held = dict(pod_requirements.resources(pod_requirements.amounts(written.status.allocatable)))
    left = ((resource, amount - allocated.get(resource, 0)) for resource, amount in sorted(held.items()))
    requests = tuple((resource, amount) for resource, amount in left if amount)
    meta = written.metadata
    return pods.ReservedRoom(
        meta.name,
        written.status.node_name or "",
        pods.PodRequirements(requests=requests),
        allocations=Allocations(devices=pod_devices.allocated(meta.annotations), reservation=meta.uid or ""),
    )


def reservation_of(written: wire.Pod) -> str:
    """Return the name of the Reservation that the pod was allocated from, empty for none."""
    return _allocated_from(written.metadata.annotations, "name")


def reservation_uid(annotations: Mapping[str, str | None] | None) -> str:
    """Return the uid of the same."""
    return _allocated_from(annotations, "uid")


def _allocated_from(annotations: Mapping[str, str | None] | None, field: str) -> str:
    told = annotations.get(_ALLOCATED_FROM) if annotations else None
    if not told:
        return ""
    try:
        allocated: Any = json.loads(told)
    except (ValueError, RecursionError):
        return ""
    found = allocated.get(field) if isinstance(allocated, dict) else ""
    return found if isinstance(found, str) else ""
