"""Devices: GPUs, RDMA cards and FPGAs of a node, and what a pod's annotations ask of them beyond amounts."""

from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.hardware.scoring import Scoring
from kubectl_koord.model.values.memo import Memo, memoised
from kubectl_koord.model.values.packed import PackedStrings
from kubectl_koord.model.values.quantity import Resources
from kubectl_koord.model.values.selectors import Labels, Selector

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
