"""NodeResourceTopologies, and labels and annotations of nodes about CPUs and NUMA zones.

Many nodes have equal ones, of 20 kB of text: their values are one object.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Struct, structs

from kubectl_koord.cluster.objects.fields import annotation, cpu_set
from kubectl_koord.cluster.objects.pool import Amounts, limits
from kubectl_koord.cluster.objects.resource_topologies import (
    CPUDetails,
    CPUManagerPolicy,
    NodeReservation,
    NodeResourceTopology,
    PodCPUs,
    SystemQOSResource,
    WrittenZone,
)
from kubectl_koord.model import hardware, keys
from kubectl_koord.model.hardware import (
    CPU,
    BindPolicy,
    CPUSet,
    CPUTopology,
    NodeNUMA,
    NodeTopology,
    NUMAPolicy,
    Zone,
    numa_policy,
)
from kubectl_koord.model.values import Identity, Resources

_LABELS = frozenset((keys.CPU_BIND_POLICY, keys.NUMA_POLICY, keys.NUMA_STRATEGY))
_READ = (keys.KUBELET_CPU_POLICY, keys.POD_CPUS, keys.NODE_RESERVATION, keys.SYSTEM_QOS, keys.AMPLIFICATION)
_MOST_TOPOLOGIES, _MOST_NODES = 1 << 9, 1 << 12

_KUBELET_POLICIES: Mapping[str, NUMAPolicy] = {
    "BestEffort": "BestEffort",
    "Restricted": "Restricted",
    "SingleNUMANodePodLevel": "SingleNUMANode",
}
_Ratios: TypeAlias = Mapping[str, float]


class Told(Struct, frozen=True, gc=False):
    """A NodeResourceTopology, and the NUMA value of its node where that has no settings of its own."""

    topology: NodeTopology
    numa: NodeNUMA


class Settings(Struct, frozen=True, gc=False):
    """A node's own NUMA settings, not yet parsed: three labels, and the annotation with amplification ratios."""

    bind_policy: str = ""
    policy: str = ""
    strategy: str = ""
    ratio: str = ""


_NOTHING_SAID = Settings()


def topology(written: NodeResourceTopology) -> Told:
    """Return the NodeResourceTopology, one object for all equal ones.

    Raises QuantityError when an amount is no quantity. Mirrors `NewTopologyOptions` in
    plugins/nodenumaresource/topology_options.go.
    """
    annotations = written.metadata.annotations or {}
    cpus = _cpu_topology(annotations.get(keys.CPU_TOPOLOGY) or "")
    told = tuple([annotations.get(name) or "" for name in _READ])
    common = _common(Identity(cpus), told, tuple(written.topology_policies or ()))
    reserved = common.topology.reserved
    zones = [_zone(number, amounts, cpus, reserved) for number, amounts in _zones(written.zones or ())]
    return _told(Identity(common), tuple(zones))


def _zones(written: Iterable[WrittenZone]) -> list[tuple[int, Amounts]]:
    found: dict[int, Amounts] = {}
    for zone in written:
        number = _zone_number(zone.name) if zone.type == "Node" else None
        if number is not None:
            found[number] = {one.name: one.allocatable for one in zone.resources or ()}
    return sorted(found.items())


@lru_cache(_MOST_TOPOLOGIES)
def _zone_number(name: str) -> int | None:
    """Return the number of a zone that is named as koordlet names them."""
    parts = name.split("node-")
    return int(parts[1]) if len(parts) == 2 and parts[1].isdecimal() and len(parts[1]) <= 2 else None  # noqa: PLR2004


@lru_cache(_MOST_TOPOLOGIES)
def _cpu_topology(written: str) -> CPUTopology | None:
    found = annotation({keys.CPU_TOPOLOGY: written}, keys.CPU_TOPOLOGY, CPUDetails)
    by_number = {
        cpu.id: CPU(cpu.id, cpu.core, cpu.node, cpu.socket)
        for cpu in (found.detail if found else None) or ()
        if 0 <= cpu.id < hardware.MOST_CPUS and 0 <= cpu.node < hardware.MOST_CPUS
    }
    return CPUTopology(tuple(cpu for _, cpu in sorted(by_number.items()))) if by_number else None


@lru_cache(_MOST_TOPOLOGIES)
def _common(cpus: Identity[CPUTopology | None], told: tuple[str, ...], policies: tuple[str, ...]) -> Told:
    """Return a topology without its zones, to be shared: amounts of zones differ from node to node."""
    annotations = dict(zip(_READ, told, strict=True))
    kubelet = annotation(annotations, keys.KUBELET_CPU_POLICY, CPUManagerPolicy) or CPUManagerPolicy()
    ratios = _ratios(annotations[keys.AMPLIFICATION])
    topology = NodeTopology(
        cpus=cpus.value,
        reserved=_reserved(annotations, kubelet),
        full_cores_only=kubelet.policy == "static" and (kubelet.options or {}).get("full-pcpus-only") == "true",
        policy=next((_KUBELET_POLICIES[policy] for policy in policies if policy in _KUBELET_POLICIES), ""),
        ignored_policy=next((policy for policy in policies if _is_ignored(policy)), ""),
        amplified=ratios is not None and bool(annotations[keys.AMPLIFICATION]),
        cpu_ratio=(ratios or {}).get("cpu", 1.0),
    )
    return Told(topology, _numa(topology, _NOTHING_SAID))


@lru_cache(_MOST_NODES)
def _told(common: Identity[Told], zones: tuple[Zone, ...]) -> Told:
    known = common.value  # a node that says nothing itself has its zones as they are
    return Told(structs.replace(known.topology, zones=zones), structs.replace(known.numa, zones=zones))


def _zone(number: int, written: Amounts, cpus: CPUTopology | None, reserved: CPUSet) -> Zone:
    """Return a zone without reserved CPUs. Amounts of zero stay: the zone has the resource."""
    amounts = limits(written)
    taken = (cpus.zones.get(number, 0) & reserved).bit_count() if cpus is not None and reserved else 0
    if taken:
        amounts = tuple([("cpu", max(0, one[1] - 1000 * taken)) if one[0] == "cpu" else one for one in amounts])
    return Zone(number, amounts)


def _reserved(annotations: Mapping[str, str], kubelet: CPUManagerPolicy) -> CPUSet:
    """Return the CPUs that are taken by the kubelet and its pods, by the node's reservation, by the system."""
    pods = annotation(annotations, keys.POD_CPUS, list[PodCPUs]) or ()
    reservation = annotation(annotations, keys.NODE_RESERVATION, NodeReservation)
    system = annotation(annotations, keys.SYSTEM_QOS, SystemQOSResource)
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


def settings(labels: Mapping[str, str | None] | None, annotations: Mapping[str, str | None] | None) -> Settings | None:
    """Return a node's own NUMA settings, None where it has none."""
    labels = labels or {}
    ratio = annotations.get(keys.AMPLIFICATION) if annotations else None
    if not ratio and _LABELS.isdisjoint(labels):
        return None
    return Settings(
        bind_policy=labels.get(keys.CPU_BIND_POLICY) or "",
        policy=labels.get(keys.NUMA_POLICY) or "",
        strategy=labels.get(keys.NUMA_STRATEGY) or "",
        ratio=ratio or "",
    )


def of_node(said: Settings | None, told: Told | None) -> NodeNUMA | None:
    """Return all that NodeNUMAResource reads of a node, one object for equal ones, None where it reads nothing."""
    if said is None:
        return told.numa if told is not None else None
    if told is None and not (said.bind_policy or said.policy or said.ratio):
        return None
    return _joined(Identity(told.topology if told is not None else None), said)


@lru_cache(_MOST_NODES)
def _joined(topology: Identity[NodeTopology | None], said: Settings) -> NodeNUMA:
    return _numa(topology.value, said)


def _numa(told: NodeTopology | None, said: Settings) -> NodeNUMA:
    topology = told or NodeTopology()
    ratios = _ratios(said.ratio)
    cpu_ratio = (ratios or {}).get("cpu", 1.0)
    policy = numa_policy(said.policy)
    return NodeNUMA(
        cpus=topology.cpus,
        reserved=topology.reserved,
        bind_policy=_bind_policy(said.bind_policy, topology),
        policy=policy or topology.policy,
        zones=topology.zones if topology.amplified else _amplified(topology.zones, ratios or {}),
        ratio=cpu_ratio,
        zone_ratio=topology.cpu_ratio if topology.amplified else cpu_ratio,
        bad_ratio=ratios is None,
        most_allocated=said.strategy == "MostAllocated" if said.strategy else None,
        known=told is not None,
        ignored_policy="" if policy else topology.ignored_policy,
        unknown_policy=said.policy if policy == "Unknown" else "",
    )


def forget() -> None:
    """Keep no value any more for nodes that are yet to come: all are read, and in their zones hardly two are equal."""
    _told.cache_clear()
    _joined.cache_clear()


def _is_ignored(policy: str) -> bool:
    """Tell whether a policy of the kubelet asks for something, and the scheduler does not know it."""
    return policy not in _KUBELET_POLICIES and policy.lower() not in {"", "none"}


def _bind_policy(label: str, topology: NodeTopology) -> BindPolicy:
    """Return how every pod on the node binds CPUs (`GetNodeCPUBindPolicy`)."""
    if label == "FullPCPUsOnly" or topology.full_cores_only:
        return "FullPCPUs"
    return "SpreadByPCPUs" if label == "SpreadByPCPUs" else ""


def _amplified(zones: tuple[Zone, ...], ratios: _Ratios) -> tuple[Zone, ...]:
    if not any(ratio > 1 for ratio in ratios.values()):
        return zones

    def grown(amounts: Resources) -> Resources:
        return tuple((resource, hardware.amplified(amount, ratios.get(resource, 1.0))) for resource, amount in amounts)

    return tuple(Zone(zone.number, grown(zone.allocatable)) for zone in zones)
