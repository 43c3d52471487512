"""Which devices a request may get on a node, and which it gets.

Mirrors `Allocate` of staging/src/k8s.io/dynamic-resource-allocation/structured. What is not evaluated counts as if it
refused nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.node_affinity import term_matches
from kubectl_koord.engine.reasons.claims import NotEnoughDevices
from kubectl_koord.model.objects import Node
from kubectl_koord.model.resource_claims import (
    ClaimableDevice,
    DeviceId,
    DeviceRequest,
    DeviceSelector,
    DeviceTest,
    DynamicResources,
    ResourceClaim,
)
from kubectl_koord.model.unevaluated import ClaimFeature
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import NodeTerm

Selectors: TypeAlias = tuple[DeviceSelector, ...]
_LIFTED: frozenset[ClaimFeature] = frozenset({"admin-access", "prioritized-list"})
"""Of a request that uses one of these it is open which devices it takes, and whether they must be free."""


class Candidates(Struct, frozen=True, eq=False):
    """The devices that selectors match: those of one node by its name, and those that several nodes can use.

    Computed once for the same selectors, and equal to itself alone.
    """

    by_node: Mapping[str, tuple[ClaimableDevice, ...]]
    shared: tuple[ClaimableDevice, ...]

    def on(self, node: Node) -> tuple[ClaimableDevice, ...]:
        """Return those that can be used on a node."""
        own = self.by_node.get(node.name, ())
        return (*own, *(one for one in self.shared if reaches(one.place.terms, node))) if self.shared else own


class Wanted(Struct, frozen=True):
    """One request of a claim that is to be allocated, and the devices that it may get."""

    claim: str
    request: DeviceRequest
    candidates: Candidates


def reaches(terms: tuple[NodeTerm, ...] | None, node: Node) -> bool:
    """Tell whether a node selector matches a node; None matches all."""
    labels = dict(node.labels)
    return terms is None or any(term_matches(term, node, labels) for term in terms)


def wanted(claims: Iterable[ResourceClaim], resources: DynamicResources) -> Iterator[Wanted]:
    """Yield the requests of claims that are to be allocated, as far as it is known which devices they take."""
    for claim in claims:
        for request in claim.requests:
            if _LIFTED.isdisjoint(request.open):
                yield Wanted(claim.name, request, candidates(resources, selectors_of(request, resources)))


def selectors_of(request: DeviceRequest, resources: DynamicResources) -> Selectors:
    """Return all that a device must be for a request: what its class asks for, and what it asks for itself."""
    return (*(one for _, name in request.classes for one in resources.classes.get(name, ())), *request.selectors)


@memoised
def candidates(resources: DynamicResources, selectors: Selectors) -> Candidates:
    """Return the devices that selectors match, or may match."""
    by_node: dict[str, list[ClaimableDevice]] = {}
    shared = []
    for device in resources.devices:
        if is_match(device, selectors) is False:
            continue
        if device.place.node:
            by_node.setdefault(device.place.node, []).append(device)
        else:
            shared.append(device)
    return Candidates({name: tuple(found) for name, found in by_node.items()}, tuple(shared))


def is_match(device: ClaimableDevice, selectors: Selectors) -> bool | None:
    """Tell whether all selectors match a device, None where that is open: as in CEL, a false one decides."""
    attributes = dict(device.attributes)
    found: bool | None = True
    for selector in selectors:
        if selector.tests is None:
            found = None
            continue
        for test in selector.tests:
            holds = _holds(test, device, attributes)
            if holds is False:
                return False
            found = None if holds is None else found
    return found


def _holds(
    test: DeviceTest, device: ClaimableDevice, attributes: Mapping[tuple[str, str], tuple[str, str | int | bool]]
) -> bool | None:
    """Return None for an attribute that the device does not have, or has of another type: upstream that is an error."""
    if not test.attribute[1]:
        return test.value == ("string", device.id[0])
    own = attributes.get(test.attribute)
    return None if own is None or own[0] != test.value[0] else own == test.value


def allocate(
    requests: Sequence[Wanted], taken: Collection[DeviceId], node: Node
) -> Mapping[str, tuple[DeviceId, ...]] | NotEnoughDevices:
    """Return the devices that each claim gets on a node, each device once, or the first request that it cannot supply.

    A request takes the first devices that are free, and those before it give way to it where they can get others.
    """
    options: dict[tuple[int, int], list[DeviceId]] = {}
    owner: dict[DeviceId, tuple[int, int]] = {}
    for index, one in enumerate(requests):
        matching = one.candidates.on(node)
        if any("shared-device" in device.open for device in matching):
            continue
        free = [device.id for device in matching if device.id not in taken]
        request = one.request
        count = len(matching) if request.every else request.count
        is_enough = bool(matching) if request.every else True
        for seat in range(count):
            options[index, seat] = free
            is_enough = is_enough and _seated((index, seat), options, owner, set())
        if not is_enough:
            return NotEnoughDevices(one.claim, request.name, count, len(free), request.every)
    found: dict[str, list[DeviceId]] = {one.claim: [] for one in requests}
    for device, (index, _) in owner.items():
        found[requests[index].claim].append(device)
    return {claim: tuple(sorted(devices)) for claim, devices in found.items()}


def _seated(
    seat: tuple[int, int],
    options: Mapping[tuple[int, int], Sequence[DeviceId]],
    owner: dict[DeviceId, tuple[int, int]],
    tried: set[DeviceId],
) -> bool:
    """Give a device to one place of a request: a free one, or one that its owner can replace (an augmenting path)."""
    for device in options[seat]:
        if device not in owner:
            owner[device] = seat
            return True
    for device in options[seat]:
        if device in tried:
            continue
        tried.add(device)
        if _seated(owner[device], options, owner, tried):
            owner[device] = seat
            return True
    return False
