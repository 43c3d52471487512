"""Why the devices of a node do not do, and why a request for devices is refused, in English."""

from collections.abc import Mapping
from typing import assert_never

from kubectl_koord.engine.reasons import devices
from kubectl_koord.engine.reasons import prefilter as refusals
from kubectl_koord.engine.reasons.devices import DeviceReason
from kubectl_koord.engine.reasons.prefilter import InvalidDevices
from kubectl_koord.wording.words import device_name

_SCOPES: Mapping[str, str] = {"Node": "node", "NUMANode": "NUMA node", "PCIe": "PCIe switch", "Device": "device"}


def device_stage(reason: DeviceReason) -> str:
    """Return what the nodes are whose devices do."""
    match reason:
        case devices.IsolationMissing(provider=provider):
            return f"with GPU isolation by {provider}"
        case devices.NoPartition(wanted=wanted):
            return f"with a free partition of {wanted} GPU"
        case devices.BeyondReservedDevices():
            return "with the devices it asks for free in a reservation"
        case _:
            return "with the devices it asks for free"


def device_obstacle(reason: DeviceReason) -> str:
    """Return a reason in a few plain words."""
    match reason:
        case devices.DevicesMissing(type=kind, functions=functions):
            return f"no {device_name(kind)} with virtual functions" if functions else f"no {device_name(kind)} devices"
        case devices.DevicesShort(type=kind, wanted=wanted, scope=scope):
            within = f" in one {_SCOPES.get(scope, scope)}" if scope else ""
            fewer = "no" if wanted == 1 else f"fewer than {wanted}"
            return f"{fewer} {device_name(kind)} with enough free{within}"
        case devices.NoPartition(wanted=wanted, sizes=None):
            return f"no partition table for {wanted} GPU"
        case devices.NoPartition(wanted=wanted, sizes=sizes):
            known = sizes or ()
            if wanted in known:
                return f"no free partition of {wanted} GPU"
            return f"partitions are of {', '.join(map(str, known)) or 'no'} GPU, not of {wanted}"
        case devices.ScopeUnsupported(scope=scope, shared=shared):
            why = "several shared GPU cannot be" if shared else "no topology of its GPU to be"
            return f"{why} within one {_SCOPES.get(scope, scope)}"
        case devices.DevicesApart(types=types):
            return f"{' and '.join(map(device_name, types))} not on the same PCIe switches"
        case devices.SharingUnsupported(vendor=vendor, model=model):
            return f"GPU model {model} of {vendor} cannot be shared"
        case devices.IsolationMissing(provider=provider):
            return f"GPU isolation {provider} missing"
        case devices.DevicesOutsideZones(type=kind, wanted=wanted, there=there):
            return f"{there} of {wanted} {device_name(kind)} on the NUMA nodes"
        case devices.BeyondReservedDevices(reasons=reasons):
            found = dict.fromkeys(device_obstacle(one) for one in reasons)
            return f"{', '.join(found)} with a reservation"
        case _:
            assert_never(reason)


def invalid_devices(refusal: InvalidDevices) -> str:
    """Return why the scheduler refuses what a pod asks for, before it looks at a node."""
    match refusal:
        case refusals.InvalidDeviceAmount(resource=resource, amount=amount):
            return f"{amount} of {resource} is neither a part of a device (up to 100) nor whole devices (hundreds)"
        case refusals.InvalidDeviceSet(resources=(alone,)):
            return f"{alone} cannot be requested alone, or not in this amount"
        case refusals.InvalidDeviceSet(resources=resources):
            return f"{' and '.join(resources)} cannot be requested together, or not in these amounts"
        case refusals.UnreadableDeviceAnnotation(annotation=annotation):
            return f"annotation scheduling.koordinator.sh/{annotation} cannot be read"
        case _:
            assert_never(refusal)
