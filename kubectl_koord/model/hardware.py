"""CPUs, NUMA zones and devices: of a node, and what a pod asks of them."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.resource_claims import DeviceId
from kubectl_koord.model.values import Labels, Memo, PackedStrings, Resources, Selector, memoised


class DeviceAllocation(Struct, frozen=True, gc=False):
    """What is taken of one device: its type (`gpu`, `rdma`, `fpga`), its minor, the amounts, its virtual functions."""

    type: str
    minor: int
    resources: Resources
    virtual_functions: tuple[str, ...] = ()


class CPUAllocation(Struct, frozen=True, gc=False):
    """The CPUs of a pod that binds them, by their numbers in order, and amounts by NUMA zone."""

    cpus: tuple[int, ...] = ()
    zones: tuple[tuple[int, Resources], ...] = ()


class Allocations(Struct, frozen=True, gc=False):
    """All that is booked for one pod.

    `reservation` is the uid of the Reservation that it draws on; `numa_nodes` are those that the node's NUMA policy
    binds it to while a plan is carried out, None where there is no such policy. `volumes` are its claims that are
    not bound yet, each with the volume that it gets, empty for one to be made; `resource_claims` are those that are
    allocated for it, each with its devices.
    """

    devices: tuple[DeviceAllocation, ...] = ()
    cpus: CPUAllocation | None = None
    reservation: str = ""
    numa_nodes: tuple[int, ...] | None = None
    volumes: tuple[tuple[str, str], ...] = ()
    resource_claims: tuple[tuple[str, tuple[DeviceId, ...]], ...] = ()


NOTHING = Allocations()
"""No plugin has booked anything."""


_MOST = 100


class Scoring(Struct, frozen=True, gc=False):
    """What counts for more: what has most left, or with `most_allocated` what has least; `weights` are by resource."""

    weights: tuple[tuple[str, int], ...]
    most_allocated: bool = False

    def score(self, used: Mapping[str, tuple[int, int]]) -> int:
        """Return the score, from 0 to 100; only what has a weight counts.

        Mirrors `leastResourceScorer` and `mostResourceScorer` of nodenumaresource and deviceshare.

        `used`: by resource how much would be used, and of how much, which is not zero.
        """
        total = scores = 0
        for resource, weight in self.weights:
            if resource in used:
                total += weight
                scores += weight * self._share(*used[resource])
        return scores // total if total else 0

    def _share(self, used: int, capacity: int) -> int:
        if self.most_allocated:
            return min(used, capacity) * _MOST // capacity
        return max(0, capacity - used) * _MOST // capacity


GPU, RDMA, FPGA = "gpu", "rdma", "fpga"
TYPES = (GPU, RDMA, FPGA)
"""The types that the scheduler knows, in the order in which they are looked at here; the scheduler's is random."""

DEVICE_SCORING = Scoring(
    (
        ("koordinator.sh/gpu-memory-ratio", 1),
        ("koordinator.sh/gpu-memory", 1),
        ("koordinator.sh/rdma", 1),
        ("koordinator.sh/fpga", 1),
    )
)
"""How the scheduler scores devices by default."""

DeviceAnnotation: TypeAlias = Literal[
    "device-allocated", "device-allocate-hint", "device-joint-allocate", "gpu-partition-spec"
]
"""The annotations of a pod about devices, in the order in which they are read; all begin with the scheduling domain."""


class DevicePlace(Struct, frozen=True, gc=False):
    """Where a device sits: its NUMA node (-1 where it has none) and its PCIe switch."""

    numa: int
    pcie: str


class FunctionGroup(Struct, frozen=True, gc=False):
    """Virtual functions of a device that share labels, by their bus ids."""

    labels: Labels
    bus_ids: tuple[str, ...]


class Device(Struct, frozen=True, gc=False):
    """One device. `place` is None where no topology is told; one that is not healthy has no resources to give."""

    type: str
    minor: int
    resources: Resources
    healthy: bool = True
    place: DevicePlace | None = None
    labels: Labels = ()
    functions: tuple[FunctionGroup, ...] = ()


class Partition(Struct, frozen=True, gc=False):
    """Cards that are linked with each other, and may be given to one pod together.

    `bandwidth` is that of their ring, in billionths, None where it is not told.
    """

    minors: tuple[int, ...]
    score: int = 0
    bandwidth: int | None = None


PartitionTable: TypeAlias = tuple[tuple[int, tuple[Partition, ...]], ...]
"""The partitions of a node by their number of cards."""


class DeviceLayout(Memo, Struct, frozen=True, dict=True):
    """The devices of a node but for their ids: one value for all nodes that are built alike.

    `partitions` is None where the Device object has no table; `honours_partitions` is its policy. With
    `plans_secondaries` the filter leaves devices that are allocated jointly, but for the first type, to Reserve.
    """

    devices: tuple[Device, ...] = ()
    partitions: PartitionTable | None = None
    honours_partitions: bool = False
    plans_secondaries: bool = False

    @memoised
    def of_type(self, kind: str) -> tuple[Device, ...]:
        """Return the devices of a type, whatever their health."""
        return tuple(device for device in self.devices if device.type == kind)


class NodeDevices(Struct, frozen=True, gc=False):
    """The Device object of a node; `ids` are those of its devices, in their order."""

    layout: DeviceLayout
    ids: tuple[str, ...] | PackedStrings = ()


class DeviceHint(Struct, frozen=True, gc=False):
    """What a pod asks of the devices of one type (annotation `device-allocate-hint`)."""

    type: str
    selector: Selector | None = None
    function_selector: Selector | None = None
    strategy: str = ""
    scope: str = ""
    exclusive: str = ""


class JointAllocation(Struct, frozen=True, gc=False):
    """Types of devices that are to be near each other, the first one deciding (annotation `device-joint-allocate`)."""

    types: tuple[str, ...]
    scope: str = ""


class PartitionSpec(Struct, frozen=True, gc=False):
    """What a pod asks of GPU partitions (annotation `gpu-partition-spec`); the bandwidth in billionths."""

    restricted: bool = False
    bandwidth: int | None = None


class DeviceOptions(Struct, frozen=True, gc=False):
    """What a pod's annotations and labels say of the devices that it asks for.

    `unreadable` is the first annotation that the scheduler cannot read, None where it reads all; `isolation` the GPU
    isolation provider that the node must have where the pod shares a card.
    """

    hints: tuple[DeviceHint, ...] = ()
    joint: JointAllocation | None = None
    partition: PartitionSpec | None = None
    isolation: str = ""
    unreadable: DeviceAnnotation | None = None


CPUSet: TypeAlias = int
ZoneSet: TypeAlias = int

BindPolicy: TypeAlias = Literal["", "FullPCPUs", "SpreadByPCPUs"]
"""How CPUs are bound: whole physical cores, or one thread of each; empty for no policy."""
NUMAPolicy: TypeAlias = Literal["", "BestEffort", "Restricted", "SingleNUMANode", "Unknown"]
"""Unknown stands for any other text: the scheduler may crash where zones are to be chosen by it."""

MOST_CPUS = 1 << 13
MOST_ZONES = 8
"""Nodes with more are not evaluated: the scheduler tries every set of zones."""


def members(numbers: int) -> tuple[int, ...]:
    """Return the members of a set, in order."""
    return tuple(_members(numbers))


def _members(numbers: int) -> Iterator[int]:
    while numbers:
        lowest = numbers & -numbers
        yield lowest.bit_length() - 1
        numbers ^= lowest


def set_of(numbers: Iterable[int]) -> int:
    """Return the set of these numbers."""
    found = 0
    for number in numbers:
        found |= 1 << number
    return found


class CPU(Struct, frozen=True, gc=False):
    """One logical CPU: its number, its physical core, its NUMA zone, its socket."""

    number: int
    core: int
    zone: int
    socket: int


class CPUTopology(Struct, frozen=True, dict=True):
    """The CPUs of a node, at least one. Numbers of cores count within a socket, as upstream counts them."""

    cpus: tuple[CPU, ...]

    @cached_property
    def every(self) -> CPUSet:
        """All CPUs."""
        return set_of(cpu.number for cpu in self.cpus)

    @cached_property
    def by_number(self) -> dict[int, CPU]:
        """The CPUs by their numbers."""
        return {cpu.number: cpu for cpu in self.cpus}

    @cached_property
    def cores(self) -> tuple[CPUSet, ...]:
        """The CPUs of each core, in the order of sockets and cores."""
        found: dict[tuple[int, int], CPUSet] = {}
        for cpu in self.cpus:
            key = (cpu.socket, cpu.core)
            found[key] = found.get(key, 0) | 1 << cpu.number
        return tuple(found[key] for key in sorted(found))

    @cached_property
    def zones(self) -> dict[int, CPUSet]:
        """The CPUs of each zone."""
        found: dict[int, CPUSet] = {}
        for cpu in self.cpus:
            found[cpu.zone] = found.get(cpu.zone, 0) | 1 << cpu.number
        return found

    @cached_property
    def per_core(self) -> int:
        """How many CPUs a core of a zone has."""
        return len(self.cpus) // len({(cpu.socket, cpu.zone, cpu.core) for cpu in self.cpus})

    @cached_property
    def per_zone(self) -> int:
        """How many CPUs a zone of a socket has."""
        return len(self.cpus) // len({(cpu.socket, cpu.zone) for cpu in self.cpus})

    @cached_property
    def per_socket(self) -> int:
        """How many CPUs a socket has."""
        return len(self.cpus) // len({cpu.socket for cpu in self.cpus})

    def zones_of(self, cpus: CPUSet) -> ZoneSet:
        """Return the zones that these CPUs are in."""
        return set_of(zone for zone, there in self.zones.items() if there & cpus)

    def usable(self, cpus: CPUSet, policy: BindPolicy) -> CPUSet:
        """Return those of the CPUs that a required policy can use: of whole cores, or the first of each core.

        Mirrors `filterCPUsByRequiredCPUBindPolicy`.
        """
        found = 0
        for core in self.cores:
            there = core & cpus
            if policy == "SpreadByPCPUs":
                found |= there & -there
            elif there.bit_count() == self.per_core:
                found |= there
        return found


class Zone(Struct, frozen=True, gc=False):
    """One NUMA zone, and what of it is allocatable."""

    number: int
    allocatable: Resources


class NodeTopology(Struct, frozen=True, gc=False):
    """A NodeResourceTopology, as NodeNUMAResource reads it.

    `cpus` is None where it tells no CPU; the CPUs of `reserved` are taken by the kubelet or the system, and not in the
    zones' `cpu`. `amplified` tells whether it carries amplification ratios of its own, of which `cpu_ratio` is that of
    CPUs. `ignored_policy` is one that the scheduler does not know.
    """

    cpus: CPUTopology | None = None
    reserved: CPUSet = 0
    full_cores_only: bool = False
    policy: NUMAPolicy = ""
    zones: tuple[Zone, ...] = ()
    ignored_policy: str = ""
    amplified: bool = False
    cpu_ratio: float = 1.0


class NodeNUMA(Struct, frozen=True, dict=True):
    """All that NodeNUMAResource reads of a node: of its NodeResourceTopology, its labels, its annotations.

    `bind_policy` and `policy` are what counts of labels and kubelet; `ratio` amplifies the node's CPUs, `zone_ratio`
    CPUs that are held in a zone; `zones` are amplified already. `bad_ratio` is set where the annotation cannot be read.
    `most_allocated` tells whether full zones are filled first, None where the node does not say. `known` is false where
    there is no NodeResourceTopology. `ignored_policy` is a policy that is written there and has no effect,
    `unknown_policy` the one of the node's label where that is Unknown.
    """

    cpus: CPUTopology | None = None
    reserved: CPUSet = 0
    bind_policy: BindPolicy = ""
    policy: NUMAPolicy = ""
    zones: tuple[Zone, ...] = ()
    ratio: float = 1.0
    zone_ratio: float = 1.0
    bad_ratio: bool = False
    most_allocated: bool | None = None
    known: bool = True
    ignored_policy: str = ""
    unknown_policy: str = ""

    @property
    def every_cpu(self) -> CPUSet:
        """All CPUs, as far as they are known."""
        return self.cpus.every if self.cpus is not None else 0

    @property
    def per_core(self) -> int:
        """How many CPUs a core has; 1 where that is not known."""
        return self.cpus.per_core if self.cpus is not None else 1

    def cpus_of(self, zone: int) -> CPUSet:
        """Return the CPUs of a zone, as far as they are known."""
        return self.cpus.zones.get(zone, 0) if self.cpus is not None else 0

    def usable(self, cpus: CPUSet, policy: BindPolicy) -> CPUSet:
        """Return those of the CPUs that a required policy can use."""
        return self.cpus.usable(cpus, policy) if self.cpus is not None else 0

    @property
    def restricts(self) -> bool:
        """Whether it may refuse pods that ask for nothing special."""
        return bool(self.bind_policy or self.policy or self.bad_ratio) or self.ratio > 1


class PodNUMA(Struct, frozen=True, gc=False):
    """What a pod asks of CPUs and zones. Policies are as written, empty where they are not.

    `binds` tells whether its QoS and priority let it bind CPUs; `unreadable` names the annotation that cannot be read.
    """

    binds: bool = False
    required: str = ""
    preferred: str = ""
    exclusive: str = ""
    policy: str = ""
    zone_exclusive: str = ""
    unreadable: str = ""

    def required_policy(self, default: BindPolicy) -> str:
        """Return the required policy, empty for none; `default` is that of the scheduler's configuration."""
        return default if self.required == "Default" else self.required

    def bind_policy(self, default: BindPolicy) -> BindPolicy:
        """Return the policy that the pod binds CPUs by, empty where it does not."""
        wanted = self.required_policy(default) or self.preferred
        wanted = default if wanted in {"", "Default"} else wanted
        return _BIND_POLICIES.get(wanted, "") if self.binds else ""


class NUMASettings(Struct, frozen=True, gc=False):
    """NodeNUMAResource's arguments.

    `bind_policy` is how pods bind CPUs that do not say it, empty where they do not; `scoring` is of sets of zones, and
    tells which zones of a node are filled first that does not say it.
    """

    bind_policy: BindPolicy = "FullPCPUs"
    scoring: Scoring = Scoring((("cpu", 1), ("memory", 1)))


def policy_of(node: NodeNUMA | None, pod: PodNUMA) -> NUMAPolicy:
    """Return the NUMA policy that holds for a pod on a node: its own, or else the node's; empty for none."""
    if pod.policy:
        return numa_policy(pod.policy)
    return node.policy if node is not None else ""


def numa_policy(written: str) -> NUMAPolicy:
    """Return the policy that a label or a pod names, empty where nothing is written."""
    return _POLICIES.get(written, "Unknown")


_POLICIES: dict[str, NUMAPolicy] = {
    "": "",
    "BestEffort": "BestEffort",
    "Restricted": "Restricted",
    "SingleNUMANode": "SingleNUMANode",
}
_BIND_POLICIES: dict[str, BindPolicy] = {"FullPCPUs": "FullPCPUs", "SpreadByPCPUs": "SpreadByPCPUs"}
NO_NUMA = PodNUMA()
"""Nothing is asked."""


def amplified(amount: int, ratio: float) -> int:
    """Return an amplified amount, rounded up (`Amplify`)."""
    if ratio <= 1:
        return amount
    product = amount * ratio
    return int(product) if product == int(product) else int(product) + 1
