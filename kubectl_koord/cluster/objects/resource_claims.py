"""Dynamic resource allocation (resource.k8s.io): ResourceClaims, DeviceClasses and ResourceSlices."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import (
    CELSelector,
    Int64,
    Meta,
    NodeSelector,
    expressions,
    namespace,
    node_terms,
)
from kubectl_koord.model import resource_claims, values

if TYPE_CHECKING:
    from kubectl_koord.model.unevaluated import ClaimFeature


_EVERY = "All"


class AskedDevices(Struct, gc=False, rename="camel"):
    """What a request asks for: `exactly` in v1, the request itself in v1beta1."""

    device_class_name: str | None = None
    selectors: list[CELSelector] | None = None
    allocation_mode: str | None = None
    count: Int64 | None = None
    admin_access: bool | None = None
    capacity: dict[str, Any] | None = None


class SubRequest(AskedDevices, gc=False, rename="camel"):
    """spec.devices.requests[].firstAvailable[] of a ResourceClaim."""

    name: str = ""


class Request(AskedDevices, gc=False, rename="camel"):
    """spec.devices.requests[] of a ResourceClaim."""

    name: str = ""
    exactly: AskedDevices | None = None
    first_available: list[SubRequest] | None = None


class Constraint(Struct, gc=False, rename="camel"):
    """spec.devices.constraints[] of a ResourceClaim."""

    match_attribute: str | None = None
    requests: list[str] | None = None


class ClaimDevices(Struct, gc=False):
    """spec.devices of a ResourceClaim."""

    requests: list[Request] | None = None
    constraints: list[Constraint] | None = None


class ResourceClaimSpec(Struct, gc=False):
    """spec of a ResourceClaim."""

    devices: ClaimDevices = field(default_factory=ClaimDevices)


class AllocatedDevice(Struct, gc=False, rename="camel"):
    """status.allocation.devices.results[] of a ResourceClaim."""

    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None


class AllocatedDevices(Struct, gc=False):
    """status.allocation.devices of a ResourceClaim."""

    results: list[AllocatedDevice] | None = None


class Allocation(Struct, gc=False, rename="camel"):
    """status.allocation of a ResourceClaim."""

    devices: AllocatedDevices = field(default_factory=AllocatedDevices)
    node_selector: NodeSelector | None = None


class Consumer(Struct, gc=False):
    """status.reservedFor[] of a ResourceClaim."""

    uid: str = ""


class ResourceClaimStatus(Struct, gc=False, rename="camel"):
    """status of a ResourceClaim."""

    allocation: Allocation | None = None
    reserved_for: list[Consumer] | None = None


class ResourceClaim(Struct, gc=False):
    """One ResourceClaim."""

    metadata: Meta
    spec: ResourceClaimSpec = field(default_factory=ResourceClaimSpec)
    status: ResourceClaimStatus = field(default_factory=ResourceClaimStatus)


class ClassSpec(Struct, gc=False):
    """spec of a DeviceClass."""

    selectors: list[CELSelector] | None = None


class DeviceClass(Struct, gc=False):
    """One DeviceClass."""

    metadata: Meta
    spec: ClassSpec = field(default_factory=ClassSpec)


class ClaimOfCluster(Struct, frozen=True, gc=False):
    """A claim, and the devices that it holds."""

    claim: resource_claims.ResourceClaim
    devices: tuple[resource_claims.DeviceId, ...]


def resource_claim(written: ResourceClaim) -> ClaimOfCluster:
    """Return the claim with the devices that are allocated for it; administrative access takes none."""
    meta, devices, allocation = written.metadata, written.spec.devices, written.status.allocation
    owner = next((one for one in meta.owner_references or () if one.controller), None)
    selector = allocation.node_selector if allocation else None
    claim = resource_claims.ResourceClaim(
        name=f"{namespace(meta)}/{meta.name}",
        requests=tuple(_request(one) for one in devices.requests or ()),
        allocated=allocation is not None,
        terms=node_terms(selector) if selector else None,
        reserved=tuple(sorted(one.uid for one in written.status.reserved_for or ())),
        owner=(owner.uid, owner.name) if owner else ("", ""),
        terminating=meta.deletion_timestamp is not None,
        constraints=tuple(
            resource_claims.SameAttribute(_qualified(one.match_attribute), tuple(one.requests or ()))
            for one in devices.constraints or ()
            if one.match_attribute
        ),
        open=("constraints",) if any(not one.match_attribute for one in devices.constraints or ()) else (),
    )
    results = (allocation.devices.results if allocation else None) or ()
    return ClaimOfCluster(claim, tuple((one.driver, one.pool, one.device) for one in results if not one.admin_access))


def _qualified(name: str) -> tuple[str, str]:
    domain, _, short = name.rpartition("/")
    return domain, short


def _request(written: Request) -> resource_claims.DeviceRequest:
    if not written.first_available:
        return _asked(written.name, written.exactly or written)
    alternatives = tuple(_asked(f"{written.name}/{one.name}", one) for one in written.first_available)
    return resource_claims.DeviceRequest(
        name=written.name,
        classes=tuple(of for one in alternatives for of in one.classes),
        alternatives=alternatives,
    )


def _asked(name: str, asked: AskedDevices) -> resource_claims.DeviceRequest:
    return resource_claims.DeviceRequest(
        name=name,
        classes=((name, asked.device_class_name or ""),),
        selectors=expressions(asked.selectors),
        count=1 if asked.count is None else asked.count,
        every=asked.allocation_mode == _EVERY,
        admin=bool(asked.admin_access),
        open=("capacity",) if asked.capacity else (),
    )


def device_class(written: DeviceClass) -> tuple[str, ...]:
    """Return what devices of the class must be."""
    return expressions(written.spec.selectors)


def dynamic_resources(
    classes: Mapping[str, tuple[str, ...]],
    slices: Iterable[resource_claims.DeviceSlice],
    claims: Iterable[ClaimOfCluster],
) -> resource_claims.DynamicResources:
    """Return what claims are allocated from: of each pool the slices of its newest generation (`GatherPools`)."""
    pools: dict[tuple[str, str], list[resource_claims.DeviceSlice]] = {}
    for one in sorted(slices, key=lambda one: one.name):
        pools.setdefault((one.driver, one.pool), []).append(one)
    newest = {}
    for key, parts in sorted(pools.items()):
        generation = max(part.generation for part in parts)
        newest[key] = [part for part in parts if part.generation == generation]
    return resource_claims.DynamicResources(
        classes=dict(sorted(classes.items())),
        devices=tuple(device for parts in newest.values() for part in parts for device in part.devices),
        taken=frozenset(device for claim in claims for device in claim.devices),
        incomplete=tuple(key for key, parts in newest.items() if len(parts) != parts[0].count),
    )


_REPELLING = {"NoSchedule", "NoExecute"}


class DeviceTaint(Struct, gc=False):
    """spec.devices[].taints[] of a ResourceSlice."""

    effect: str = ""


class DeviceCapacity(Struct, gc=False):
    """spec.devices[].capacity[] of a ResourceSlice."""

    value: str | int | float = 0


class BasicDevice(Struct, gc=False, rename="camel"):
    """A device's attributes and capacity; v1beta1 has them in a field `basic`."""

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


def device_slice(written: ResourceSlice) -> resource_claims.DeviceSlice:
    """Return the slice with its devices, each with where it can be used.

    One with counters that devices share has none: the scheduler leaves the slice out, or takes no device of it. Raises
    QuantityError, naming the capacity that is no quantity.
    """
    spec = written.spec
    devices = () if spec.shared_counters else spec.devices or ()
    return resource_claims.DeviceSlice(
        name=written.metadata.name,
        driver=spec.driver,
        pool=spec.pool.name,
        generation=spec.pool.generation,
        count=spec.pool.resource_slice_count,
        devices=tuple(_device(one, spec) for one in devices),
    )


def _device(written: SlicedDevice, spec: SliceSpec) -> resource_claims.ClaimableDevice:
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
    return resource_claims.ClaimableDevice(
        id=(spec.driver, spec.pool.name, written.name),
        place=resource_claims.DeviceReach(where.node_name)
        if where.node_name
        else resource_claims.DeviceReach(terms=terms),
        attributes=tuple(_attributes(spec.driver, told.attributes or {})),
        capacity=tuple(_capacity(spec.driver, told.capacity or {})),
        open=tuple(feature for feature, used in features if used),
    )


def _attributes(
    driver: str, written: Mapping[str, Mapping[str, str | int | bool | None]]
) -> Iterator[tuple[tuple[str, str], resource_claims.AttributeValue]]:
    for name, value in sorted(written.items()):
        kind, told = next(((kind, told) for kind, told in value.items() if told is not None), ("", ""))
        yield _resource_slices_qualified(name, driver), (kind, told)


def _capacity(driver: str, written: Mapping[str, DeviceCapacity]) -> Iterator[tuple[tuple[str, str], int]]:
    for name, one in sorted(written.items()):
        try:
            yield _resource_slices_qualified(name, driver), values.parse(one.value)
        except values.QuantityError as problem:
            raise values.QuantityError(f"capacity {name}: {problem}") from None


def _resource_slices_qualified(name: str, driver: str) -> tuple[str, str]:
    """Return domain and name of an attribute or a capacity: one without a domain is in that of the driver."""
    domain, slash, short = name.rpartition("/")
    return domain if slash else driver, short
