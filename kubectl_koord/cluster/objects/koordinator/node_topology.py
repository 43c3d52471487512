"""NodeResourceTopologies, and what labels and annotations of nodes say of CPUs and NUMA zones.

Many nodes have equal ones, of 20 kB of text: their values are one object.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects.fields.amounts import Amounts
from kubectl_koord.cluster.objects.fields.amounts import amounts as amounts_of
from kubectl_koord.cluster.objects.fields.cpus import annotation, cpu_set
from kubectl_koord.cluster.objects.fields.meta import Int32, Meta
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.model.hardware import numa
from kubectl_koord.model.hardware.numa import (
    CPU,
    BindPolicy,
    CPUSet,
    CPUTopology,
    NodeNUMA,
    NodeTopology,
    NUMAPolicy,
    Zone,
)
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.values import quantity
from kubectl_koord.model.values.memo import Identity

RATIO = "node.koordinator.sh/resource-amplification-ratio"
_TOPOLOGY = "node.koordinator.sh/cpu-topology"
_KUBELET = "kubelet.koordinator.sh/cpu-manager-policy"
_POD_CPUS = "node.koordinator.sh/pod-cpu-allocs"
_RESERVATION = "node.koordinator.sh/reservation"
_SYSTEM = "node.koordinator.sh/system-qos-resource"
_BIND_POLICY = "node.koordinator.sh/cpu-bind-policy"
_NUMA_POLICY = "node.koordinator.sh/numa-topology-policy"
_STRATEGY = "node.koordinator.sh/numa-allocate-strategy"
_READ = (_KUBELET, _POD_CPUS, _RESERVATION, _SYSTEM, RATIO)
_MOST_TOPOLOGIES, _MOST_NODES = 1 << 9, 1 << 12

_KUBELET_POLICIES: Mapping[str, NUMAPolicy] = {
    "BestEffort": "BestEffort",
    "Restricted": "Restricted",
    "SingleNUMANodePodLevel": "SingleNUMANode",
}
_POLICIES: Mapping[str, NUMAPolicy] = {
    "BestEffort": "BestEffort",
    "Restricted": "Restricted",
    "SingleNUMANode": "SingleNUMANode",
}
_Ratios: TypeAlias = Mapping[str, float]


class ZoneResource(Struct, gc=False):
    """zones[].resources[]."""

    name: str = ""
    allocatable: str | int | float = 0


class WrittenZone(Struct, gc=False):
    """zones[]."""

    name: str = ""
    type: str = ""
    resources: list[ZoneResource] | None = None


class NodeResourceTopology(Struct, gc=False, rename="camel"):
    """One NodeResourceTopology."""

    metadata: Meta
    topology_policies: list[str] | None = None
    zones: list[WrittenZone] | None = None


class CPUInfo(Struct, gc=False):
    """detail[] of node.koordinator.sh/cpu-topology."""

    id: Int32 = 0
    core: Int32 = 0
    socket: Int32 = 0
    node: Int32 = 0


class CPUDetails(Struct, gc=False):
    """node.koordinator.sh/cpu-topology."""

    detail: list[CPUInfo] | None = None


class CPUManagerPolicy(Struct, gc=False):
    """kubelet.koordinator.sh/cpu-manager-policy."""

    policy: str | None = None
    options: dict[str, str] | None = None
    reserved_cpus: str | None = field(default=None, name="reservedCPUs")


class PodCPUs(Struct, gc=False):
    """One entry of node.koordinator.sh/pod-cpu-allocs."""

    uid: str | None = None
    cpuset: str | None = None
    managed_by_kubelet: bool | None = field(default=None, name="managedByKubelet")


class NodeReservation(Struct, gc=False):
    """node.koordinator.sh/reservation."""

    reserved_cpus: str | None = field(default=None, name="reservedCPUs")


class SystemQOSResource(Struct, gc=False):
    """node.koordinator.sh/system-qos-resource."""

    cpuset: str | None = None
    exclusive: bool | None = field(default=None, name="cpusetExclusive")


def topology(written: NodeResourceTopology) -> NodeTopology:
    """Return the NodeResourceTopology, one object for all equal ones.

    Raises:
        QuantityError: when an amount is no quantity.

    Mirrors `NewTopologyOptions` in plugins/nodenumaresource/topology_options.go.

    """
    annotations = written.metadata.annotations or {}
    cpus = _cpu_topology(annotations.get(_TOPOLOGY) or "")
    told = tuple(annotations.get(name) or "" for name in _READ)
    common = _common(Identity(cpus), told, tuple(written.topology_policies or ()))
    zones = tuple(_zone(number, amounts, cpus, common.reserved) for number, amounts in _zones(written.zones or ()))
    return _topology(Identity(common), zones)


def _zones(written: Iterable[WrittenZone]) -> list[tuple[int, Amounts]]:
    """Return the amounts of each zone as written, in the order of the zones."""
    found: dict[int, Amounts] = {}
    for zone in written:
        parts = zone.name.split("node-")
        if zone.type == "Node" and len(parts) == 2 and parts[1].isdecimal() and len(parts[1]) <= 2:  # noqa: PLR2004
            found[int(parts[1])] = {one.name: one.allocatable for one in zone.resources or ()}
    return sorted(found.items())


@lru_cache(_MOST_TOPOLOGIES)
def _cpu_topology(written: str) -> CPUTopology | None:
    found = annotation({_TOPOLOGY: written}, _TOPOLOGY, CPUDetails)
    by_number = {
        cpu.id: CPU(cpu.id, cpu.core, cpu.node, cpu.socket)
        for cpu in (found.detail if found else None) or ()
        if 0 <= cpu.id < numa.MOST_CPUS and 0 <= cpu.node < numa.MOST_CPUS
    }
    return CPUTopology(tuple(cpu for _, cpu in sorted(by_number.items()))) if by_number else None


@lru_cache(_MOST_TOPOLOGIES)
def _common(cpus: Identity[CPUTopology | None], told: tuple[str, ...], policies: tuple[str, ...]) -> NodeTopology:
    """Return the topology without its zones, whose amounts for batch pods differ from node to node."""
    annotations = dict(zip(_READ, told, strict=True))
    kubelet = annotation(annotations, _KUBELET, CPUManagerPolicy) or CPUManagerPolicy()
    ratios = _ratios(annotations[RATIO])
    return NodeTopology(
        cpus=cpus.value,
        reserved=_reserved(annotations, kubelet),
        full_cores_only=kubelet.policy == "static" and (kubelet.options or {}).get("full-pcpus-only") == "true",
        policy=next((_KUBELET_POLICIES[policy] for policy in policies if policy in _KUBELET_POLICIES), ""),
        ignored_policy=next((policy for policy in policies if _is_ignored(policy, _KUBELET_POLICIES)), ""),
        amplified=ratios is not None and bool(annotations[RATIO]),
        cpu_ratio=(ratios or {}).get("cpu", 1.0),
    )


@lru_cache(_MOST_NODES)
def _topology(common: Identity[NodeTopology], zones: tuple[Zone, ...]) -> NodeTopology:
    return structs.replace(common.value, zones=zones)


def _zone(number: int, written: Amounts, cpus: CPUTopology | None, reserved: CPUSet) -> Zone:
    """Return a zone without the CPUs that are reserved. Amounts of zero stay: the zone tells of them."""
    nano = amounts_of(written)
    amounts = {resource: quantity.amount(resource, amount) for resource, amount in sorted(nano.items())}
    if cpus is not None and amounts.get("cpu"):
        taken = (cpus.zones.get(number, 0) & reserved).bit_count()
        amounts["cpu"] = max(0, amounts["cpu"] - 1000 * taken)
    return Zone(number, tuple(map(shared, amounts.items())))


def _reserved(annotations: Mapping[str, str], kubelet: CPUManagerPolicy) -> CPUSet:
    """Return the CPUs that are taken by the kubelet and its pods, by the node's reservation, by the system."""
    pods = annotation(annotations, _POD_CPUS, list[PodCPUs]) or ()
    reservation = annotation(annotations, _RESERVATION, NodeReservation)
    system = annotation(annotations, _SYSTEM, SystemQOSResource)
    lists = [pod.cpuset for pod in pods if pod.managed_by_kubelet and pod.uid]
    lists.append(kubelet.reserved_cpus)
    lists.append(reservation.reserved_cpus if reservation else None)
    lists.append(system.cpuset if system and system.exclusive is not False else None)
    found = 0
    for written in lists:
        found |= cpu_set(written) or 0
    return found


def _ratios(written: str) -> _Ratios | None:
    """Return amplification ratios by resource, None for what cannot be read."""
    if not written:
        return {}
    try:
        return msgspec.json.decode(written, type=dict[str, float] | None) or {}
    except (ValueError, RecursionError):
        return None


def annotations_of(written: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return the annotations of a node that are read here."""
    ratio = (written or {}).get(RATIO)
    return {RATIO: ratio} if ratio else {}


def of_node(
    labels: Iterable[tuple[str, str]], annotations: Mapping[str, str], told: NodeTopology | None
) -> NodeNUMA | None:
    """Return all that NodeNUMAResource reads of a node, one object for equal ones, None where it reads nothing."""
    bind_policy = policy = strategy = ""
    for name, value in labels:
        if name == _BIND_POLICY:
            bind_policy = value
        elif name == _NUMA_POLICY:
            policy = value
        elif name == _STRATEGY:
            strategy = value
    ratio = annotations.get(RATIO, "")
    if told is None and not (bind_policy or policy or ratio):
        return None
    return _joined(Identity(told), bind_policy, policy, strategy, ratio)


@lru_cache(_MOST_NODES)
def _joined(told: Identity[NodeTopology | None], bind_policy: str, policy: str, strategy: str, ratio: str) -> NodeNUMA:
    topology = told.value or NodeTopology()
    ratios = _ratios(ratio)
    cpu_ratio = (ratios or {}).get("cpu", 1.0)
    return NodeNUMA(
        cpus=topology.cpus,
        reserved=topology.reserved,
        bind_policy=_bind_policy(bind_policy, topology),
        policy=_POLICIES.get(policy, "") or topology.policy,
        zones=topology.zones if topology.amplified else _amplified(topology.zones, ratios or {}),
        ratio=cpu_ratio,
        zone_ratio=topology.cpu_ratio if topology.amplified else cpu_ratio,
        bad_ratio=ratios is None,
        most_allocated=strategy == "MostAllocated",
        known=told.value is not None,
        ignored_policy=policy if _is_ignored(policy, _POLICIES) else topology.ignored_policy,
    )


def forget() -> None:
    """Keep no value any more for nodes that are yet to come: all are read, and in their zones hardly two are equal."""
    _topology.cache_clear()
    _joined.cache_clear()


def _is_ignored(policy: str, known: Mapping[str, NUMAPolicy]) -> bool:
    """Tell whether a policy asks for something, and the scheduler does not know it."""
    return policy not in known and policy.lower() not in {"", "none"}


def _bind_policy(label: str, topology: NodeTopology) -> BindPolicy:
    """Return how every pod on the node binds CPUs (`GetNodeCPUBindPolicy`)."""
    if label == "FullPCPUsOnly" or topology.full_cores_only:
        return "FullPCPUs"
    return "SpreadByPCPUs" if label == "SpreadByPCPUs" else ""


def _amplified(zones: tuple[Zone, ...], ratios: _Ratios) -> tuple[Zone, ...]:
    if not any(ratio > 1 for ratio in ratios.values()):
        return zones

    def grown(amounts: Resources) -> Resources:
        return tuple((resource, numa.amplified(amount, ratios.get(resource, 1.0))) for resource, amount in amounts)

    return tuple(Zone(zone.number, grown(zone.allocatable)) for zone in zones)
