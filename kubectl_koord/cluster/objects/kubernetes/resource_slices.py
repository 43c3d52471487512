"""ResourceSlices: the devices that resource claims are allocated from.

The fields are those of v1 and v1beta2; v1beta1, which writes some of them one level down, is read as well.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int64, Meta
from kubectl_koord.cluster.objects.fields.selectors import NodeSelector, node_terms
from kubectl_koord.model import resource_claims as model
from kubectl_koord.model.values import quantity

if TYPE_CHECKING:
    from kubectl_koord.model.unevaluated import ClaimFeature

_REPELLING = {"NoSchedule", "NoExecute"}


class DeviceTaint(Struct, gc=False):
    """spec.devices[].taints[] of a ResourceSlice."""

    effect: str = ""


class DeviceCapacity(Struct, gc=False):
    """spec.devices[].capacity[] of a ResourceSlice."""

    value: str | int | float = 0


class BasicDevice(Struct, gc=False, rename="camel"):
    """What is told of a device: in v1beta1 in a field `basic` of its own."""

    attributes: dict[str, dict[str, str | int | bool | None]] | None = None
    capacity: dict[str, DeviceCapacity] | None = None
    consumes_counters: list[dict[str, Any]] | None = None
    taints: list[DeviceTaint] | None = None
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    binding_conditions: list[str] | None = None
    allow_multiple_allocations: bool | None = None


class SlicedDevice(BasicDevice, gc=False, rename="camel"):
    """spec.devices[] of a ResourceSlice."""

    name: str = ""
    basic: BasicDevice | None = None


class Pool(Struct, gc=False, rename="camel"):
    """spec.pool of a ResourceSlice."""

    name: str = ""
    generation: Int64 = 0
    resource_slice_count: Int64 = 1


class SliceSpec(Struct, gc=False, rename="camel"):
    """spec of a ResourceSlice."""

    driver: str = ""
    pool: Pool = field(default_factory=Pool)
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    devices: list[SlicedDevice] | None = None
    shared_counters: list[Any] | None = None


class ResourceSlice(Struct, gc=False):
    """One ResourceSlice: devices of a driver, and from which nodes they can be used."""

    metadata: Meta
    spec: SliceSpec = field(default_factory=SliceSpec)


def device_slice(written: ResourceSlice) -> model.DeviceSlice:
    """Return the slice with its devices, each with where it can be used.

    One with counters that devices share has none: the scheduler leaves the slice out, or takes no device of it.

    Raises:
        QuantityError: naming the capacity that is no quantity.

    """
    spec = written.spec
    devices = () if spec.shared_counters else spec.devices or ()
    return model.DeviceSlice(
        name=written.metadata.name,
        driver=spec.driver,
        pool=spec.pool.name,
        generation=spec.pool.generation,
        count=spec.pool.resource_slice_count,
        devices=tuple(_device(one, spec) for one in devices),
    )


def _device(written: SlicedDevice, spec: SliceSpec) -> model.ClaimableDevice:
    told = written.basic or written
    where = told if spec.per_device_node_selection else spec
    repels = any(taint.effect in _REPELLING for taint in told.taints or ())
    features: list[tuple[ClaimFeature, object]] = [
        ("node-selection", spec.per_device_node_selection is not None),
        ("counters", told.consumes_counters),
        ("taints", repels),
        ("binding-conditions", told.binding_conditions),
        ("shared-device", told.allow_multiple_allocations),
    ]
    terms = node_terms(where.node_selector) if where.node_selector else None if where.all_nodes else ()
    return model.ClaimableDevice(
        id=(spec.driver, spec.pool.name, written.name),
        place=model.DeviceReach(where.node_name) if where.node_name else model.DeviceReach(terms=terms),
        attributes=tuple(_attributes(spec.driver, told.attributes or {})),
        capacity=tuple(_capacity(spec.driver, told.capacity or {})),
        open=tuple(feature for feature, used in features if used),
    )


def _attributes(
    driver: str, written: Mapping[str, Mapping[str, str | int | bool | None]]
) -> Iterator[tuple[tuple[str, str], model.AttributeValue]]:
    for name, value in sorted(written.items()):
        kind, told = next(((kind, told) for kind, told in value.items() if told is not None), ("", ""))
        yield _qualified(name, driver), (kind, told)


def _capacity(driver: str, written: Mapping[str, DeviceCapacity]) -> Iterator[tuple[tuple[str, str], int]]:
    for name, one in sorted(written.items()):
        try:
            yield _qualified(name, driver), quantity.parse(one.value)
        except quantity.QuantityError as problem:
            raise quantity.QuantityError(f"capacity {name}: {problem}") from None


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """Return domain and name of an attribute or a capacity: one without a domain is in that of the driver."""
    domain, slash, short = name.rpartition("/")
    return domain if slash else driver, short
