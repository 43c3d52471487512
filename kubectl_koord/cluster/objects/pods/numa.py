"""What a pod asks of CPUs and NUMA zones, and what the scheduler wrote that it has of them."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import go_json
from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, resources
from kubectl_koord.cluster.objects.fields.cpus import cpu_set
from kubectl_koord.cluster.objects.fields.meta import Int32
from kubectl_koord.model.hardware import numa
from kubectl_koord.model.hardware.allocations import CPUAllocation
from kubectl_koord.model.hardware.numa import NO_NUMA, PodNUMA
from kubectl_koord.model.values.quantity import QuantityError

SPEC = "scheduling.koordinator.sh/resource-spec"
TOPOLOGY_SPEC = "scheduling.koordinator.sh/numa-topology-spec"
STATUS = "scheduling.koordinator.sh/resource-status"
_MOST = 1 << 14

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


def asked(annotations: Mapping[str, str | None], qos: str | None, priority_class: str) -> PodNUMA:
    """Return what a pod asks.

    Args:
        annotations: the pod's.
        qos: its QoS class as labelled.
        priority_class: its Koordinator priority class.

    Mirrors `AllowUseCPUSet` and the first lines of `PreFilter` in plugins/nodenumaresource.

    """
    binds = qos in {"LSE", "LSR"} and priority_class == "koord-prod"
    if not binds and SPEC not in annotations and TOPOLOGY_SPEC not in annotations:
        return NO_NUMA
    spec = _read(annotations, SPEC, ResourceSpec)
    zones = _read(annotations, TOPOLOGY_SPEC, NUMATopologySpec)
    if spec is None or zones is None:
        return PodNUMA(unreadable=SPEC if spec is None else TOPOLOGY_SPEC)
    return PodNUMA(
        binds=binds,
        required=spec.required or "",
        preferred=spec.preferred or "",
        exclusive=spec.exclusive or "",
        policy=zones.policy or "",
        zone_exclusive=zones.exclusive or "",
    )


def _read(annotations: Mapping[str, str | None], name: str, form: type[T]) -> T | None:
    """Return what an annotation says, nothing where there is none, None for what cannot be read."""
    if name not in annotations:
        return form()
    try:
        found: T | None = go_json.decode(annotations[name] or "", form | None)
    except (ValueError, RecursionError):
        return None
    return form() if found is None else found


def allocated(annotations: Mapping[str, str | None] | None) -> CPUAllocation | None:
    """Return what is booked for a bound pod, one object for equal ones; None for nothing, or what cannot be read.

    A pod of which it cannot be read how it binds CPUs holds none. Mirrors `updatePod` in
    plugins/nodenumaresource/pod_eventhandler.go.
    """
    written = annotations.get(STATUS) if annotations else None
    if not written or annotations is None or not _is_readable(annotations.get(SPEC, "{}")):
        return None
    return _allocated(written)


@lru_cache(_MOST)
def _is_readable(spec: str | None) -> bool:
    return _read({SPEC: spec}, SPEC, ResourceSpec) is not None


@lru_cache(_MOST)
def _allocated(written: str) -> CPUAllocation | None:
    try:
        status = msgspec.json.decode(written, type=ResourceStatus)
        if not _is_whole(status):  # only then the text may have other keys: to look for them takes long
            status = go_json.decode(written, ResourceStatus)
        zones = tuple((zone.node or 0, resources(amounts(zone.resources))) for zone in status.zones or ())
    except (ValueError, RecursionError, QuantityError):
        return None
    cpus = cpu_set(status.cpuset)
    if cpus is None or not (cpus or zones):
        return None
    return CPUAllocation(numa.members(cpus), zones)


def _is_whole(status: ResourceStatus) -> bool:
    """Tell whether a status says anything, and has all that the scheduler always writes."""
    zones = status.zones or ()
    return bool(status.cpuset or zones) and all(zone.node is not None and zone.resources is not None for zone in zones)
