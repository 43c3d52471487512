"""Device objects: the GPUs, RDMA cards and FPGAs of a node."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

import msgspec
from msgspec import Raw, Struct, field

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.cluster.objects import fields
from kubectl_koord.cluster.objects.fields import NOTHING, Int32, Meta
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

_LAYOUTS, _LISTED_LAYOUTS = 1 << 12, 1 << 8


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


class ListedDeviceInfo(Struct, gc=False, omit_defaults=True):
    """`DeviceInfo` in a list: fields that many nodes share are left as bytes."""

    type: str = ""
    id: str | None = None
    minor: Int32 | None = None
    health: bool = False
    resources: Raw = NOTHING
    topology: Raw = NOTHING
    labels: Raw = NOTHING
    groups: Raw = field(default=NOTHING, name="vfGroups")


class ListedDeviceSpec(Struct, gc=False):
    """spec of a Device in a list."""

    devices: list[ListedDeviceInfo] | None = None


class ListedDevice(Struct, gc=False):
    """One Device in a list: the fields of `DeviceObject`."""

    metadata: Meta
    spec: ListedDeviceSpec = field(default_factory=ListedDeviceSpec)


_Partitions: TypeAlias = dict[int, list[_Partition] | None]
_Layout: TypeAlias = Callable[[bytes, str, bool, bool], DeviceLayout]

_encode = msgspec.json.Encoder().encode
_infos = decoder(list[DeviceInfo])


def node_devices(written: DeviceObject) -> NodeDevices:
    """Return the devices of a node. Raises QuantityError when an amount is no quantity."""
    return _node_devices(written.metadata, written.spec.devices or (), _layout)


def listed_devices(written: ListedDevice) -> NodeDevices:
    """Return the devices of a node, of a Device in a list.

    Raises QuantityError as `node_devices`. Raises msgspec.ValidationError when a field that was left as bytes is
    something else.
    """
    return _node_devices(written.metadata, written.spec.devices or (), _listed_layout)


def _node_devices(meta: Meta, infos: Sequence[DeviceInfo | ListedDeviceInfo], layout: _Layout) -> NodeDevices:
    labels, annotations = meta.labels or {}, meta.annotations or {}
    ids = tuple([info.id or "" for info in infos])
    for info in infos:
        info.id = None
    alike = layout(
        _encode(infos),
        annotations.get(keys.GPU_PARTITIONS) or "",
        labels.get(keys.GPU_PARTITION_POLICY) == "Honor",
        labels.get(keys.SECONDARY_PLANNED) == "true",
    )
    return NodeDevices(alike, packed_strings(ids) if ids else ())


@lru_cache(maxsize=_LISTED_LAYOUTS)
def _listed_layout(infos: bytes, partitions: str, honours: bool, plans: bool) -> DeviceLayout:  # noqa: FBT001 - as below
    return _layout(_encode(_infos.decode(infos)), partitions, honours, plans)


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
