"""The fields of a NodeResourceTopology, and of the annotations that it and its node have."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import Int32, Meta


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
