"""Which sets of NUMA nodes have the devices that a pod asks for: what NodeNUMAResource asks DeviceShare.

Mirrors deviceshare/topology_hint.go.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from msgspec import Struct, structs

from kubectl_koord.engine.fit.device_share.allocation import (
    AllocationScope,
    Devices,
    by_books,
    by_reservations,
    wanted_of,
)
from kubectl_koord.engine.fit.device_share.request import PodDeviceRequest
from kubectl_koord.engine.reasons.devices import DevicesOutsideZones
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.model.hardware.devices import GPU, DeviceLayout
from kubectl_koord.model.values.memo import memoised

_BEST = 500


class ZoneHint(Struct, frozen=True):
    """A set of NUMA nodes that has all devices which a pod asks for, and how much it is wanted."""

    zones: frozenset[int]
    preferred: bool
    score: int


def topology_hints(request: PodDeviceRequest, place: AllocationScope) -> Mapping[str, tuple[ZoneHint, ...]] | Reason:
    """Return the hints by type of device; nothing where no device tells a NUMA node; or why there are none.

    Mirrors `generateTopologyHints`; sets come in the order of their sizes. Where no Reservation has the devices in one
    of them, upstream gives back what they hold once more in all that follow, so that devices of their owners look free.
    """
    zones = _zones(place.books.layout)
    wanted = wanted_of(request, place)
    if not zones:
        return {}
    if not isinstance(wanted, dict):
        return wanted
    feasible: dict[frozenset[int], Devices] = {}
    every: Devices | Reason = ()
    for mask in _masks(zones):
        short = _too_few(place.books.layout, {kind: one.number for kind, one in wanted.items()}, mask)
        within = structs.replace(place, zones=mask)
        drawn = short if short is not None else by_reservations(request, within)
        every = by_books(request, within) if drawn is None else drawn
        if drawn is None and place.held:
            place = place.giving_back_again()
        if isinstance(every, tuple):
            feasible[mask] = every
    if not isinstance(every, tuple):
        return every
    least = min(len(mask) for mask in feasible)
    hints = tuple(
        ZoneHint(mask, len(mask) == least, _BEST if _gpus(found) == _gpus(every) else 0)
        for mask, found in feasible.items()
    )
    return dict.fromkeys(wanted, hints)


def _masks(zones: Sequence[int]) -> list[frozenset[int]]:
    """Return all sets of zones, the small ones first, that of all last (`IterateBitMasks`)."""
    sizes = range(1, len(zones) + 1)
    return [frozenset(mask) for size in sizes for mask in combinations(zones, size)]


@memoised
def _by_zone(layout: DeviceLayout) -> Mapping[int, Mapping[str, int]]:
    """Return how many devices of each type are on each NUMA node, whatever their health."""
    found: dict[int, dict[str, int]] = {}
    for device in layout.devices:
        if device.place is not None and device.place.numa != -1:
            here = found.setdefault(device.place.numa, {})
            here[device.type] = here.get(device.type, 0) + 1
    return found


def _zones(layout: DeviceLayout) -> tuple[int, ...]:
    return tuple(sorted(_by_zone(layout)))


def _too_few(layout: DeviceLayout, wanted: Mapping[str, int], mask: frozenset[int]) -> DevicesOutsideZones | None:
    """Return the type of which the zones have fewer devices than are needed; one that they have none of may be outside.

    Mirrors the comparison with `calcTotalDevicesByNUMA`.
    """
    for kind, number in wanted.items():
        there = sum(_by_zone(layout)[zone].get(kind, 0) for zone in mask)
        if 0 < there < number:
            return DevicesOutsideZones(kind, number, there)
    return None


def _gpus(devices: Devices) -> frozenset[int]:
    return frozenset(one.minor for one in devices if one.type == GPU)
