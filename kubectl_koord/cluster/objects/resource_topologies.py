"""The fields of a NodeResourceTopology, and of the annotations that it and its node have."""

from msgspec import Raw, Struct, field

from kubectl_koord.cluster.objects.fields import NOTHING, Int32, Meta
from kubectl_koord.model import keys


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


class ListedAnnotations(Struct, gc=False):
    """metadata.annotations of a NodeResourceTopology in a list: the CPUs, which many nodes share, are left as bytes."""

    cpus: Raw = field(default=NOTHING, name=keys.CPU_TOPOLOGY)
    kubelet: str | None = field(default=None, name=keys.KUBELET_CPU_POLICY)
    pod_cpus: str | None = field(default=None, name=keys.POD_CPUS)
    reservation: str | None = field(default=None, name=keys.NODE_RESERVATION)
    system: str | None = field(default=None, name=keys.SYSTEM_QOS)
    ratio: str | None = field(default=None, name=keys.AMPLIFICATION)


class ListedMeta(Struct, gc=False):
    """metadata of a NodeResourceTopology in a list."""

    name: str = ""
    namespace: str | None = None
    annotations: ListedAnnotations | None = None


class ListedTopology(Struct, gc=False, rename="camel"):
    """One NodeResourceTopology in a list: the fields of `NodeResourceTopology`."""

    metadata: ListedMeta
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
