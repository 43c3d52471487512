"""Device objects: the GPUs, RDMA cards and FPGAs of a node."""

from collections.abc import Mapping
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.cluster.objects import fields
from kubectl_koord.cluster.objects.fields import Int32, Meta
from kubectl_koord.cluster.objects.pod_devices import VirtualFunction
from kubectl_koord.cluster.objects.pool import Amounts, limits
from kubectl_koord.model import keys, values
from kubectl_koord.model.hardware import (
    Device,
    DeviceLayout,
    DevicePlace,
    FunctionGroup,
    NodeDevices,
    Partition,
    PartitionTable,
)
from kubectl_koord.model.values import Labels, packed_strings

_LAYOUTS = 1 << 12


class Topology(Struct, gc=False):
    """spec.devices[].topology of a Device."""

    numa: Int32 = field(default=0, name="nodeID")
    pcie: str = field(default="", name="pcieID")


class FunctionGroups(Struct, gc=False):
    """spec.devices[].vfGroups[] of a Device."""

    labels: dict[str, str | None] | None = None
    vfs: list[VirtualFunction] | None = None


class DeviceInfo(Struct, gc=False):
    """spec.devices[] of a Device."""

    type: str = ""
    id: str | None = None
    minor: Int32 | None = None
    health: bool = False
    resources: Amounts | None = None
    topology: Topology | None = None
    labels: dict[str, str | None] | None = None
    groups: list[FunctionGroups] | None = field(default=None, name="vfGroups")


class DeviceSpec(Struct, gc=False):
    """spec of a Device."""

    devices: list[DeviceInfo] | None = None


class DeviceObject(Struct, gc=False):
    """One Device: all devices of the node of its name."""

    metadata: Meta
    spec: DeviceSpec = field(default_factory=DeviceSpec)


class _Partition(Struct, gc=False, rename="camel"):
    minors: list[int] | None = None
    ring_bus_bandwidth: str | int | float | None = None
    allocation_score: int = 0


_Partitions: TypeAlias = dict[int, list[_Partition] | None]

_encode = msgspec.json.Encoder().encode
_infos = decoder(list[DeviceInfo])


def node_devices(written: DeviceObject) -> NodeDevices:
    """Return the devices of a node. Raises QuantityError when an amount is no quantity."""
    labels, annotations = written.metadata.labels or {}, written.metadata.annotations or {}
    infos = written.spec.devices or ()
    ids = tuple([info.id or "" for info in infos])
    for info in infos:
        info.id = None
    alike = _layout(
        _encode(infos),
        annotations.get(keys.GPU_PARTITIONS) or "",
        labels.get(keys.GPU_PARTITION_POLICY) == "Honor",
        labels.get(keys.SECONDARY_PLANNED) == "true",
    )
    return NodeDevices(alike, packed_strings(ids) if ids else ())


@lru_cache(maxsize=_LAYOUTS)
def _layout(infos: bytes, partitions: str, honours: bool, plans: bool) -> DeviceLayout:  # noqa: FBT001 - a cache's key
    """Return the layout of devices without their ids: one shared object for all nodes of one hardware."""
    devices = tuple(map(_device, _infos.decode(infos)))
    return DeviceLayout(devices, _table(partitions), honours, plans)


def _device(info: DeviceInfo) -> Device:
    topology = info.topology
    return Device(
        type=info.type,
        minor=info.minor or 0,
        resources=limits(info.resources),  # zeros, too: a card that tells of no memory is not asked for it
        healthy=info.health,
        place=None if topology is None else DevicePlace(topology.numa, topology.pcie),
        labels=_labels(info.labels),
        functions=tuple(
            FunctionGroup(_labels(group.labels), tuple(function.bus_id for function in group.vfs or ()))
            for group in info.groups or ()
        ),
    )


def _labels(written: Mapping[str, str | None] | None) -> Labels:
    return tuple(sorted((key, value or "") for key, value in (written or {}).items()))


def _table(written: str) -> PartitionTable | None:
    """Return the partitions of an annotation; None where there is none that the scheduler can read."""
    if not written:
        return None
    try:
        read: _Partitions = fields.decode(written, _Partitions)
        return tuple(
            (number, tuple(_partition(one) for one in partitions))
            for number, partitions in sorted(read.items())
            if partitions
        )
    except (msgspec.MsgspecError, RecursionError, values.QuantityError):
        return None


def _partition(written: _Partition) -> Partition:
    bandwidth = written.ring_bus_bandwidth
    return Partition(
        tuple(written.minors or ()), written.allocation_score, None if bandwidth is None else values.parse(bandwidth)
    )
