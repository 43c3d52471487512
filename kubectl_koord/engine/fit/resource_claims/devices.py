"""Which devices a request may get on a node, and which it gets.

Mirrors `Allocate` of staging/src/k8s.io/dynamic-resource-allocation/structured. What is not evaluated counts as if it
refused nothing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.node_affinity import term_matches
from kubectl_koord.engine.fit.resource_claims.matching import seated
from kubectl_koord.engine.reasons.claims import NotEnoughDevices
from kubectl_koord.model.objects import Node
from kubectl_koord.model.resource_claims import (
    AttributeValue,
    ClaimableDevice,
    ClaimSettings,
    DeviceId,
    DeviceRequest,
    DeviceSelector,
    DeviceTest,
    DynamicResources,
    ResourceClaim,
    SameAttribute,
)
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import NodeTerm

Selectors: TypeAlias = tuple[DeviceSelector, ...]
MOST_WAYS = 1 << 10
"""How many ways are tried to choose among alternatives, and values of attributes that devices must share."""


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


class OpenRequest(Struct, frozen=True):
    """One request of a claim that is to be allocated, or an alternative of one, and the devices that it may get."""

    claim: str
    request: DeviceRequest
    candidates: Candidates
    constraints: tuple[SameAttribute, ...]
    settings: ClaimSettings

    def usable(self, device: ClaimableDevice) -> bool:
        """Tell whether the scheduler gives such a device to anybody: parts of one it must know about."""
        return "counters" not in device.open or self.settings.knows("counters")

    def is_open(self, device: ClaimableDevice) -> bool:
        """Tell whether others may use the device at the same time."""
        return "shared-device" in device.open and self.settings.knows("shared-device")


Choices: TypeAlias = tuple[OpenRequest, ...]
"""What would serve one request: several where it has alternatives."""


def reaches(terms: tuple[NodeTerm, ...] | None, node: Node) -> bool:
    """Tell whether a node selector matches a node; None matches all."""
    labels = dict(node.labels)
    return terms is None or any(term_matches(term, node, labels) for term in terms)


def wanted(claims: Iterable[ResourceClaim], resources: DynamicResources, settings: ClaimSettings) -> Iterator[Choices]:
    """Yield what would serve each request of claims that are to be allocated."""
    for claim in claims:
        for request in claim.requests:
            yield tuple(
                OpenRequest(
                    claim.name,
                    one,
                    candidates(resources, selectors_of(one, resources), settings),
                    tuple(constraint for constraint in claim.constraints if _is_about(constraint, one)),
                    settings,
                )
                for one in request.alternatives or (request,)
            )


def _is_about(constraint: SameAttribute, request: DeviceRequest) -> bool:
    """Tell whether a constraint is about a request, or an alternative of it, which are named by both or the first."""
    return not constraint.requests or not {request.name, request.name.partition("/")[0]}.isdisjoint(constraint.requests)


def selectors_of(request: DeviceRequest, resources: DynamicResources) -> Selectors:
    """Return all that a device must be for a request: what its class asks for, and what it asks for itself."""
    return (*(one for _, name in request.classes for one in resources.classes.get(name, ())), *request.selectors)


@memoised
def candidates(resources: DynamicResources, selectors: Selectors, settings: ClaimSettings) -> Candidates:
    """Return the devices that selectors match, or may match, as far as the scheduler knows of them."""
    by_node: dict[str, list[ClaimableDevice]] = {}
    shared = []
    for device in resources.devices:
        if not is_known(device, settings) or is_match(device, selectors) is False:
            continue
        if device.place.node:
            by_node.setdefault(device.place.node, []).append(device)
        else:
            shared.append(device)
    return Candidates({name: tuple(found) for name, found in by_node.items()}, tuple(shared))


def is_known(device: ClaimableDevice, settings: ClaimSettings) -> bool:
    """Tell whether the scheduler looks at a device at all."""
    return all(
        feature not in device.open or settings.knows(feature) for feature in ("node-selection", "binding-conditions")
    )


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


_Shared: TypeAlias = Mapping[tuple[str, SameAttribute], AttributeValue]
"""The value of an attribute that the devices of a claim are to share."""


def allocate(
    requests: Sequence[Choices], taken: Collection[DeviceId], node: Node
) -> Mapping[str, tuple[DeviceId, ...]] | NotEnoughDevices:
    """Return the devices that each claim gets on a node, or the first request that it cannot supply.

    Of alternatives the first is tried first, and so is of the values of attributes that devices must share. Where not
    all ways were tried nothing is refused.
    """
    refusals: list[NotEnoughDevices] = []
    for chosen, values in islice(_ways(requests, node), MOST_WAYS):
        found = _allocated(chosen, values, taken, node)
        if not isinstance(found, NotEnoughDevices):
            return found
        refusals.append(found)
    return refusals[0] if 0 < len(refusals) < MOST_WAYS else {}


def _ways(requests: Sequence[Choices], node: Node) -> Iterator[tuple[tuple[OpenRequest, ...], _Shared]]:
    for chosen in product(*requests):
        keys = list(dict.fromkeys((one.claim, constraint) for one in chosen for constraint in one.constraints))
        for values in product(*(_values(chosen, *key, node) or (("", ""),) for key in keys)):
            yield chosen, dict(zip(keys, values, strict=True))


def _values(
    chosen: Iterable[OpenRequest], claim: str, constraint: SameAttribute, node: Node
) -> tuple[AttributeValue, ...]:
    """Return the values of an attribute that devices of a claim may share, each once."""
    devices = (
        device
        for one in chosen
        if one.claim == claim and constraint in one.constraints
        for device in one.candidates.on(node)
    )
    told = (dict(device.attributes).get(constraint.attribute) for device in devices)
    return tuple(dict.fromkeys(value for value in told if value is not None))


def _allocated(
    chosen: Sequence[OpenRequest], values: _Shared, taken: Collection[DeviceId], node: Node
) -> Mapping[str, tuple[DeviceId, ...]] | NotEnoughDevices:
    """Return the devices of each claim, each device once.

    A request takes the first devices that are free, and those before it give way to it where they can get others.
    """
    options: dict[tuple[int, int], list[DeviceId]] = {}
    owner: dict[DeviceId, tuple[int, int]] = {}
    for index, one in enumerate(chosen):
        matching = one.candidates.on(node)
        if any(map(one.is_open, matching)):
            continue
        request = one.request
        suiting = [device for device in matching if one.usable(device) and _is_shared(device, one, values)]
        free = [device.id for device in suiting if request.admin or device.id not in taken]
        count = len(matching) if request.every else request.count
        is_enough = len(free) >= count and bool(matching or not request.every)
        seats = [(index, seat) for seat in range(0 if request.admin or not is_enough else count)]
        options.update(dict.fromkeys(seats, free))  # administrative access takes nothing from others
        if not is_enough or not all(seated(seat, options, owner) for seat in seats):
            return NotEnoughDevices(one.claim, request.name, count, len(free), request.every)
    found: dict[str, list[DeviceId]] = {one.claim: [] for one in chosen}
    for device, (index, _) in owner.items():
        found[chosen[index].claim].append(device)
    return {claim: tuple(sorted(devices)) for claim, devices in found.items()}


def _is_shared(device: ClaimableDevice, one: OpenRequest, values: _Shared) -> bool:
    """Tell whether a device has the values that the devices of its claim are to share."""
    attributes = dict(device.attributes)
    return all(attributes.get(key.attribute) == values[one.claim, key] for key in one.constraints)
