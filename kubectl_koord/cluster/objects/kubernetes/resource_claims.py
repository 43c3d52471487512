"""Dynamic resource allocation (resource.k8s.io): ResourceClaims and DeviceClasses.

The fields are those of v1 and v1beta2; v1beta1, which writes some of them one level up or down, is read as well.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.device_selectors import CELSelector, expressions
from kubectl_koord.cluster.objects.fields.meta import Int64, Meta, namespace
from kubectl_koord.cluster.objects.fields.selectors import NodeSelector, node_terms
from kubectl_koord.model import resource_claims as model

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

    claim: model.ResourceClaim
    devices: tuple[model.DeviceId, ...]


def resource_claim(written: ResourceClaim) -> ClaimOfCluster:
    """Return the claim with the devices that are allocated for it; administrative access takes none."""
    meta, devices, allocation = written.metadata, written.spec.devices, written.status.allocation
    owner = next((one for one in meta.owner_references or () if one.controller), None)
    selector = allocation.node_selector if allocation else None
    claim = model.ResourceClaim(
        name=f"{namespace(meta)}/{meta.name}",
        requests=tuple(_request(one) for one in devices.requests or ()),
        allocated=allocation is not None,
        terms=node_terms(selector) if selector else None,
        reserved=tuple(sorted(one.uid for one in written.status.reserved_for or ())),
        owner=(owner.uid, owner.name) if owner else ("", ""),
        terminating=meta.deletion_timestamp is not None,
        constraints=tuple(
            model.SameAttribute(_qualified(one.match_attribute), tuple(one.requests or ()))
            for one in devices.constraints or ()
            if one.match_attribute
        ),
        open=("constraints",) if any(not one.match_attribute for one in devices.constraints or ()) else (),
    )
    results = (allocation.devices.results if allocation else None) or ()
    return ClaimOfCluster(claim, tuple((one.driver, one.pool, one.device) for one in results if not one.admin_access))


def _qualified(name: str) -> tuple[str, str]:
    """Return the domain and the name of an attribute."""
    domain, _, short = name.rpartition("/")
    return domain, short


def _request(written: Request) -> model.DeviceRequest:
    if not written.first_available:
        return _asked(written.name, written.exactly or written)
    alternatives = tuple(_asked(f"{written.name}/{one.name}", one) for one in written.first_available)
    return model.DeviceRequest(
        name=written.name,
        classes=tuple(of for one in alternatives for of in one.classes),
        alternatives=alternatives,
    )


def _asked(name: str, asked: AskedDevices) -> model.DeviceRequest:
    return model.DeviceRequest(
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
    slices: Iterable[model.DeviceSlice],
    claims: Iterable[ClaimOfCluster],
) -> model.DynamicResources:
    """Return what claims are allocated from: of each pool the slices of its newest generation (`GatherPools`)."""
    pools: dict[tuple[str, str], list[model.DeviceSlice]] = {}
    for one in sorted(slices, key=lambda one: one.name):
        pools.setdefault((one.driver, one.pool), []).append(one)
    newest = {}
    for key, parts in sorted(pools.items()):
        generation = max(part.generation for part in parts)
        newest[key] = [part for part in parts if part.generation == generation]
    return model.DynamicResources(
        classes=dict(sorted(classes.items())),
        devices=tuple(device for parts in newest.values() for part in parts for device in part.devices),
        taken=frozenset(device for claim in claims for device in claim.devices),
        incomplete=tuple(key for key, parts in newest.items() if len(parts) != parts[0].count),
    )
