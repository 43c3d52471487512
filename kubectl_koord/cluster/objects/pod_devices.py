"""Annotations of pods about devices: those that are allocated, and how new ones are to be allocated."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeAlias, TypeVar

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects import fields
from kubectl_koord.cluster.objects.fields import Expression, Int32, LabelSelector, label_selector
from kubectl_koord.cluster.objects.pool import amounts, resources
from kubectl_koord.model import keys, values
from kubectl_koord.model.hardware import (
    DeviceAllocation,
    DeviceAnnotation,
    DeviceHint,
    DeviceOptions,
    JointAllocation,
    PartitionSpec,
)
from kubectl_koord.model.values import Resources

ANNOTATIONS = (keys.DEVICE_HINT, keys.DEVICE_JOINT, keys.GPU_PARTITION_SPEC)
_TAKES_VALUES = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}

Strings: TypeAlias = Mapping[str, str | None]
Key: TypeAlias = tuple[str | None, ...]
T = TypeVar("T")


class VirtualFunction(Struct, gc=False):
    """spec.devices[].vfGroups[].vfs[] of a Device, and extension.vfs[] of an allocation."""

    bus_id: str = field(default="", name="busID")


class _Extension(Struct, gc=False):
    vfs: list[VirtualFunction] | None = None


class _Allocation(Struct, gc=False):
    minor: Int32 | None = None
    resources: dict[str, str | int | float] | None = None
    extension: _Extension | None = None


class _Hint(Struct, gc=False, rename="camel"):
    selector: LabelSelector | None = None
    vf_selector: LabelSelector | None = None
    allocate_strategy: str = ""
    required_topology_scope: str = ""
    exclusive_policy: str = ""


class _Joint(Struct, gc=False, rename="camel"):
    device_types: list[str] | None = None
    required_scope: str = ""


class _PartitionSpec(Struct, gc=False, rename="camel"):
    allocate_policy: str = ""
    ring_bus_bandwidth: str | int | float | None = None


class _UnreadableError(ValueError):
    """An annotation that is not of its form."""


_Allocated: TypeAlias = dict[str, list[_Allocation] | None]

_allocations = msgspec.json.Decoder(_Allocated | None)


def allocated(annotations: Strings | None) -> tuple[DeviceAllocation, ...]:
    """Return the devices that a pod or a Reservation has; none where the scheduler cannot read that, as it does."""
    written = annotations.get(keys.DEVICE_ALLOCATED) if annotations else None
    try:
        return _allocated(written) if written else ()
    except _UnreadableError:
        return ()


def _allocated(written: str) -> tuple[DeviceAllocation, ...]:
    try:
        found, is_whole = _booked(msgspec.json.encode(_allocations.decode(written)))
        if is_whole:  # only then the text may have other keys: to look for them takes as long as all the rest
            return found
        return _booked(msgspec.json.encode(fields.decode(written, _Allocated | None)))[0]
    except (msgspec.MsgspecError, RecursionError, values.QuantityError) as problem:
        raise _UnreadableError from problem


@lru_cache(maxsize=4096)
def _booked(written: bytes) -> tuple[tuple[DeviceAllocation, ...], bool]:
    """Return allocations without the ids of their devices: one shared object for equal ones.

    The second value is whether each has all fields that the scheduler always writes.
    """
    read = _allocations.decode(written) or {}
    every = [(kind, one) for kind, some in sorted(read.items()) for one in some or ()]
    return tuple(_allocation(kind, one) for kind, one in every), all(_is_whole(one) for _, one in every)


def _is_whole(one: _Allocation) -> bool:
    functions = one.extension.vfs if one.extension is not None else ()
    return (
        one.minor is not None
        and one.resources is not None
        and functions is not None
        and all(function.bus_id for function in functions)
    )


def _allocation(kind: str, one: _Allocation) -> DeviceAllocation:
    functions = one.extension.vfs if one.extension is not None else None
    return DeviceAllocation(
        kind,
        one.minor or 0,
        _resources(tuple((one.resources or {}).items())),
        tuple([function.bus_id for function in functions]) if functions else (),
    )


@lru_cache(maxsize=4096)
def _resources(written: tuple[tuple[str, str | int | float], ...]) -> Resources:
    """Return amounts, cached by their text: most pods have whole cards of one model."""
    return resources(amounts(dict(written)))


def read_of(annotations: Strings | None, labels: Strings | None, *, waits: bool) -> Key:
    """Return what `options` are made of; equal ones are equal, and nothing is said of devices by the empty one.

    What a pod has been given is read only while it `waits` for a node: it is refused where that cannot be read.
    """
    found: list[str | None] = [annotations.get(name) if annotations else None for name in ANNOTATIONS]
    found.append(labels.get(keys.GPU_ISOLATION) if labels else None)
    found.append("" if waits and annotations and not _is_readable(annotations) else None)
    return tuple(found) if any(one is not None for one in found) else ()


def _is_readable(annotations: Strings) -> bool:
    try:
        _allocated(annotations[keys.DEVICE_ALLOCATED] or "") if keys.DEVICE_ALLOCATED in annotations else ()
    except _UnreadableError:
        return False
    return True


def options(key: Key) -> DeviceOptions:
    """Return a pod's options for allocating devices, from the texts that `read_of` returned."""
    *written, isolation, broken = key
    unreadable: DeviceAnnotation | None = "device-allocate-hint"
    hints: tuple[DeviceHint, ...] = ()
    joint, partition = None, None
    try:
        hints = _hints(written[0])
        unreadable = "device-joint-allocate"
        joint = _joint(written[1])
        unreadable = "gpu-partition-spec"
        partition = _partition(written[2])
        unreadable = None
    except _UnreadableError:
        pass
    return DeviceOptions(hints, joint, partition, isolation or "", unreadable if broken is None else "device-allocated")


def _read(written: str, form: type[T]) -> T | None:
    """Return what an annotation holds; None where it holds null. Raises _UnreadableError when it is not of its form."""
    try:
        found: T | None = fields.decode(written, form | None)
    except (msgspec.MsgspecError, RecursionError) as problem:
        raise _UnreadableError from problem
    return found


def _hints(written: str | None) -> tuple[DeviceHint, ...]:
    if written is None:
        return ()
    read = _read(written, dict[str, _Hint | None]) or {}
    for hint in read.values():
        _check(hint.selector if hint else None)
        _check(hint.vf_selector if hint else None)
    return tuple(_hint(kind, hint or _Hint()) for kind, hint in sorted(read.items()))


def _hint(kind: str, hint: _Hint) -> DeviceHint:
    return DeviceHint(
        type=kind,
        selector=label_selector(hint.selector),
        function_selector=label_selector(hint.vf_selector),
        strategy=hint.allocate_strategy,
        scope=hint.required_topology_scope,
        exclusive=hint.exclusive_policy,
    )


def _check(selector: LabelSelector | None) -> None:
    """Refuse a selector that the scheduler refuses (`LabelSelectorAsSelector`)."""
    expressions: Iterable[Expression] = (selector.match_expressions if selector else None) or ()
    for one in expressions:
        if not one.key or _TAKES_VALUES.get(one.operator) is not bool(one.values):
            raise _UnreadableError(one.key)


def _joint(written: str | None) -> JointAllocation | None:
    if written is None:
        return None
    read = _read(written, _Joint) or _Joint()
    return JointAllocation(tuple(read.device_types or ()), read.required_scope)


def _partition(written: str | None) -> PartitionSpec | None:
    if written is None:
        return None
    read = _read(written, _PartitionSpec) or _PartitionSpec()
    try:
        bandwidth = None if read.ring_bus_bandwidth is None else values.parse(read.ring_bus_bandwidth)
    except values.QuantityError as problem:
        raise _UnreadableError from problem
    return PartitionSpec(read.allocate_policy == "Restricted", bandwidth)
