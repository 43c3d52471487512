"""Which devices a request may get on a node, and which it gets.

Mirrors `Allocate` of staging/src/k8s.io/dynamic-resource-allocation/structured. What is not evaluated counts as if it
refused nothing.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from msgspec import Struct, structs

from kubectl_koord.engine.fit.node_affinity import term_matches
from kubectl_koord.engine.fit.resource_claims.matching import seated
from kubectl_koord.engine.reasons.claims import (
    NotAllocated,
    NotEnoughDevices,
    SelectorFails,
    SelectorProblem,
    TooManyDevices,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.resource_claims import (
    AttributeValue,
    ClaimableDevice,
    ClaimSettings,
    DeviceId,
    DeviceRequest,
    DynamicResources,
    ResourceClaim,
    SameAttribute,
)
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import NodeTerm

if TYPE_CHECKING:
    from kubectl_koord.engine.fit.resource_claims.cel.compiling import Subject

T = TypeVar("T")
Selectors: TypeAlias = tuple[str, ...]
MOST_DEVICES = 32
"""How many devices one claim may get (`AllocationResultsMaxSize`)."""
MOST_WAYS = 1 << 10
"""How many ways are tried to choose among alternatives, and values of attributes that devices must share."""


class Failure(Struct, frozen=True, gc=False):
    """A device on which a selector fails, and the problem that the scheduler has."""

    device: ClaimableDevice
    expression: str
    problem: SelectorProblem


class Candidates(Struct, frozen=True, eq=False):
    """The devices that selectors match, or may: those of one node by its name, and those that several nodes can use.

    `failing` are those on which a selector fails, by node, empty for those that several can use; `open` are the
    selectors that are not evaluated for a device. Computed once for the same selectors, and equal to itself alone.
    """

    by_node: Mapping[str, tuple[ClaimableDevice, ...]]
    shared: tuple[ClaimableDevice, ...]
    failing: Mapping[str, tuple[Failure, ...]]
    open: tuple[str, ...]

    def on(self, node: Node) -> tuple[ClaimableDevice, ...]:
        """Return those that can be used on a node."""
        own = self.by_node.get(node.name, ())
        return (*own, *(one for one in self.shared if reaches(one.place.terms, node))) if self.shared else own

    def every(self) -> Iterator[ClaimableDevice]:
        """Yield all that match, or may."""
        yield from chain.from_iterable(self.by_node.values())
        yield from self.shared

    def failures_on(self, node: Node) -> Iterator[Failure]:
        """Yield the devices of a node on which a selector fails."""
        yield from self.failing.get(node.name, ())
        yield from (one for one in self.failing.get("", ()) if reaches(one.device.place.terms, node))


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

    @property
    def is_evaluated(self) -> bool:
        """Tell whether it is known which devices match, and what may be done with each."""
        return not (self.candidates.open or self.settings.gates)

    def is_unclear_on(self, matching: Collection[ClaimableDevice]) -> bool:
        """Tell whether it is open how many devices it takes, or whether others may use them, too."""
        wants_some = self.request.every and bool(self.candidates.open) and bool(matching)
        return wants_some or any(map(self.is_open, matching))

    def failure_on(self, node: Node, taken: Collection[DeviceId], offered: Collection[DeviceId]) -> Failure | None:
        """Return on which device of a node a selector surely fails.

        Those that are taken, or that requests before this one may get, are not looked at, but where all are wanted.
        """
        for one in self.candidates.failures_on(node):
            device = one.device.id
            if self.request.every or not (device in offered or (device in taken and not self.request.admin)):
                return one
        return None

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
                    tuple(constraint for constraint in claim.constraints if is_about(constraint, one)),
                    settings,
                )
                for one in request.alternatives or (request,)
            )


def is_about(constraint: SameAttribute, request: DeviceRequest) -> bool:
    """Tell whether a constraint is about a request, or an alternative of it, which are named by both or the first."""
    return not constraint.requests or not {request.name, request.name.partition("/")[0]}.isdisjoint(constraint.requests)


def selectors_of(request: DeviceRequest, resources: DynamicResources) -> Selectors:
    """Return all that a device must be for a request: what its class asks for, and what it asks for itself."""
    return (*(one for _, name in request.classes for one in resources.classes.get(name, ())), *request.selectors)


@memoised
def candidates(resources: DynamicResources, selectors: Selectors, settings: ClaimSettings) -> Candidates:
    """Return the devices that selectors match, or may match, as far as the scheduler knows of them."""
    from kubectl_koord.engine.fit.resource_claims.cel.compiling import Subject  # noqa: PLC0415 - for claims alone
    from kubectl_koord.engine.fit.resource_claims.cel.reading import read_by  # noqa: PLC0415

    by_node: dict[str, list[ClaimableDevice]] = {}
    shared = []
    failing: dict[str, list[Failure]] = {}
    unsupported: dict[str, None] = {}
    key, known = read_by(selectors).key, dict[Hashable, bool | Failure]()
    for device in resources.devices:
        if not is_known(device, settings):
            continue
        alike, node = key(device), device.place.node
        if alike not in known:
            known[alike] = _judged(Subject(device.id[0], device), selectors, unsupported)
        found = known[alike]
        if isinstance(found, Failure):
            failing.setdefault(node, []).append(structs.replace(found, device=device))
        elif found and node:
            by_node.setdefault(node, []).append(device)
        elif found:
            shared.append(device)
    return Candidates(_by_name(by_node), tuple(shared), _by_name(failing), tuple(unsupported))


def _by_name(lists: Mapping[str, list[T]]) -> Mapping[str, tuple[T, ...]]:
    return {name: tuple(found) for name, found in lists.items()}


def is_known(device: ClaimableDevice, settings: ClaimSettings) -> bool:
    """Tell whether the scheduler looks at a device at all."""
    return not device.open or all(
        feature not in device.open or settings.knows(feature) for feature in ("node-selection", "binding-conditions")
    )


def may_match(driver: str, selectors: Selectors) -> bool:
    """Tell whether a device of a driver of which nothing else is known may match selectors."""
    from kubectl_koord.engine.fit.resource_claims.cel.compiling import Subject  # noqa: PLC0415 - for claims alone

    return _judged(Subject(driver), selectors, {}) is not False


def _judged(subject: "Subject", selectors: Selectors, unsupported: dict[str, None]) -> bool | Failure:
    """Tell whether selectors match a device, or may: one after the other, until one does not (`selectorsMatch`).

    Those that are not evaluated are added to `unsupported`.
    """
    from kubectl_koord.engine.fit.resource_claims.cel.compiling import matches  # noqa: PLC0415 - for claims alone
    from kubectl_koord.engine.fit.resource_claims.cel.faults import EvaluationError, UnsupportedError  # noqa: PLC0415

    is_open = False
    for selector in selectors:
        try:
            if not matches(selector, subject):
                return False
        except UnsupportedError:
            unsupported[selector] = None
            is_open = True
        except EvaluationError as failed:
            if is_open or subject.device is None:
                return False
            return Failure(subject.device, selector, failed.problem)
    return True


_Shared: TypeAlias = Mapping[tuple[str, SameAttribute], AttributeValue]
"""The value of an attribute that the devices of a claim are to share."""


def allocate(
    requests: Sequence[Choices], taken: Collection[DeviceId], node: Node
) -> Mapping[str, tuple[DeviceId, ...]] | NotAllocated:
    """Return the devices that each claim gets on a node, or the first request that it cannot supply.

    Of alternatives the first is tried first, and so is of the values of attributes that devices must share. Where not
    all ways were tried nothing is refused.
    """
    most = max(_least_devices(requests, node).items(), key=itemgetter(1), default=("", 0))
    if most[1] > MOST_DEVICES:
        return TooManyDevices(*most)
    refusals: list[NotAllocated] = []
    for chosen, values in islice(_ways(requests, node), MOST_WAYS):
        found = _allocated(chosen, values, taken, node)
        if not isinstance(found, NotAllocated):
            return found
        refusals.append(found)
    return refusals[0] if 0 < len(refusals) < MOST_WAYS else {}


def _least_devices(requests: Sequence[Choices], node: Node) -> Mapping[str, int]:
    """Return how many devices each claim gets at least, whichever alternatives are chosen."""
    least: dict[str, int] = {}
    for choices in requests:
        least[choices[0].claim] = least.get(choices[0].claim, 0) + min(_wanted(one, node) for one in choices)
    return least


def _wanted(one: OpenRequest, node: Node) -> int:
    """Return how many devices a request gets, 0 where that is open."""
    if not one.request.every:
        return one.request.count
    return 0 if one.candidates.open else len(one.candidates.on(node))


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
) -> Mapping[str, tuple[DeviceId, ...]] | NotAllocated:
    """Return the devices of each claim, each device once.

    A request takes the first devices that are free, and those before it give way to it where they can get others.
    Within its claim, administrative access takes devices, too; where there are several claims, none.
    """
    options: dict[tuple[int, int], list[DeviceId]] = {}
    owner: dict[DeviceId, tuple[int, int]] = {}
    offered: set[DeviceId] = set()
    given: dict[str, int] = {}
    is_loose = len({one.claim for one in chosen}) > 1 and any(one.request.admin for one in chosen)
    is_sure = not is_loose and all(one.is_evaluated for one in chosen)
    for index, one in enumerate(chosen):
        matching = one.candidates.on(node)
        if one.is_unclear_on(matching):
            continue
        request = one.request
        suiting = [device for device in matching if one.usable(device) and _is_shared(device, one, values)]
        free = [device.id for device in suiting if request.admin or device.id not in taken]
        count = len(matching) if request.every else request.count
        given[one.claim] = given.get(one.claim, 0) + count
        is_enough = len(free) >= count and given[one.claim] <= MOST_DEVICES
        if request.every and is_enough:
            is_enough = bool(count) and one.failure_on(node, taken, ()) is None
        seats = [(index, seat) for seat in range(count if is_enough and not (is_loose and request.admin) else 0)]
        options.update(dict.fromkeys(seats, free))
        if not is_enough or not all(seated(seat, options, owner) for seat in seats):
            failure = one.failure_on(node, taken, offered) if is_sure else None
            if failure is not None:
                return SelectorFails(one.claim, request.name, failure.expression, failure.problem)
            return NotEnoughDevices(one.claim, request.name, count, len(free), request.every)
        offered.update(free)
    found: dict[str, list[DeviceId]] = {one.claim: [] for one in chosen}
    for device, (index, _) in owner.items():
        if not chosen[index].request.admin:
            found[chosen[index].claim].append(device)
    return {claim: tuple(sorted(devices)) for claim, devices in found.items()}


def _is_shared(device: ClaimableDevice, one: OpenRequest, values: _Shared) -> bool:
    """Tell whether a device has the values that the devices of its claim are to share."""
    attributes = dict(device.attributes)
    return all(attributes.get(key.attribute) == values[one.claim, key] for key in one.constraints)
