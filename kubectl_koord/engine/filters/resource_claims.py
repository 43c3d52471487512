"""Dynamic resource allocation: which devices a claim may get on a node, and which it gets."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, product
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, TypeVar

from msgspec import Struct, structs

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.filters.node import term_matches
from kubectl_koord.engine.reasons import (
    ClaimElsewhere,
    ClaimsUnallocated,
    NotAllocated,
    NotEnoughDevices,
    Reason,
    SelectorFails,
    SelectorProblem,
    TooManyDevices,
)
from kubectl_koord.engine.reservations import placed_members
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.resource_claims import (
    AttributeValue,
    ClaimableDevice,
    ClaimSettings,
    DeviceId,
    DeviceRequest,
    DynamicResources,
    PodClaim,
    ResourceClaim,
    SameAttribute,
)
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import (
    ClaimFeature,
    IdleClaim,
    IncompletePool,
    OpenClaim,
    Unevaluated,
    UnreadDevices,
    WideningClaim,
)
from kubectl_koord.model.values import NodeTerm, memoised

if TYPE_CHECKING:
    from kubectl_koord.engine.cel.evaluate import Subject


S = TypeVar("S", bound=Hashable)
D = TypeVar("D", bound=Hashable)


def seated(seat: S, options: Mapping[S, Sequence[D]], owner: dict[D, S]) -> bool:
    """Give a device to one who wants it: a free one, or one that its owner can replace (an augmenting path).

    `options`: the devices that serve each. `owner`: who has which, which is changed where it succeeds.
    """
    return _seated(seat, options, owner, set())


def _seated(seat: S, options: Mapping[S, Sequence[D]], owner: dict[D, S], tried: set[D]) -> bool:
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
    from kubectl_koord.engine.cel.evaluate import Subject, read_by  # noqa: PLC0415 - for claims alone

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
    from kubectl_koord.engine.cel.evaluate import Subject  # noqa: PLC0415 - for claims alone

    return _judged(Subject(driver), selectors, {}) is not False


def _judged(subject: "Subject", selectors: Selectors, unsupported: dict[str, None]) -> bool | Failure:
    """Tell whether selectors match a device, or may: one after the other, until one does not (`selectorsMatch`).

    Those that are not evaluated are added to `unsupported`.
    """
    from kubectl_koord.engine.cel.evaluate import matches  # noqa: PLC0415 - for claims alone
    from kubectl_koord.engine.cel.syntax import EvaluationError, UnsupportedError  # noqa: PLC0415

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


MOST_USERS = 256
"""How many pods may use a claim at once (`ResourceClaimReservedForMaxSize`)."""


class ResourceClaims(Filter, Struct, frozen=True):
    """The filter: `allocated` and `requests` are the trigger's claims that are allocated, and what the others ask for.

    `taken` are the devices that other claims hold.
    """

    depends_on: ClassVar[DependsOn] = "claims"
    allocated: tuple[ResourceClaim, ...]
    requests: tuple[Choices, ...]
    taken: frozenset[DeviceId]

    def follows_members(self, _trigger: PodRequirements) -> bool:
        """Tell that a member which is placed takes devices."""
        return True

    def follows_members_elsewhere(self, _trigger: PodRequirements) -> bool:
        """Tell whether several nodes can use the same device."""
        return any(one.candidates.shared for choices in self.requests for one in choices)

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the node cannot supply what is asked for, or allocated devices are elsewhere."""
        found = allocate(self.requests, self.taken, state.node)
        if isinstance(found, NotAllocated):
            return found
        elsewhere = (claim.name for claim in self.allocated if not reaches(claim.terms, state.node))
        return next((ClaimElsewhere(name) for name in elsewhere), None)

    def reserve(self, _pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Book the devices."""
        found = allocate(self.requests, self.taken, state.node)
        return found if isinstance(found, NotAllocated) else structs.replace(booked, resource_claims=(*found.items(),))


def prepare(trigger: PendingPod, cluster: Cluster) -> ResourceClaims | ClaimsUnallocated | None:
    """Return the filter; None for a trigger without claims, and why no node is asked where one cannot be used."""
    if not trigger.resource_claims or not cluster.rules.knows_resource_claims:
        return None
    snapshot = cluster.view.snapshot
    in_flight = dict(_in_flight(cluster.view))
    claims = [one.found for one in trigger.resource_claims if one.found is not None]
    for claim in claims:
        refusal = _refusal(trigger, claim, in_flight, snapshot)
        if refusal is not None:
            return refusal
    resources = snapshot.dynamic_resources
    unallocated = [claim for claim in claims if not claim.allocated]
    are_seen = snapshot.sees("ResourceSlice") and snapshot.sees("DeviceClass")
    return ResourceClaims(
        allocated=tuple(claim for claim in claims if claim.allocated),
        requests=tuple(wanted(unallocated, resources, snapshot.config.claims)) if are_seen else (),
        taken=resources.taken.union(*in_flight.values()),
    )


def _refusal(
    trigger: PendingPod, claim: ResourceClaim, in_flight: dict[str, tuple[DeviceId, ...]], snapshot: Snapshot
) -> ClaimsUnallocated | None:
    """Return why a claim cannot be used on any node (`PreFilter`)."""
    if claim.allocated:
        is_full = len(claim.reserved) >= MOST_USERS and trigger.uid not in claim.reserved
        return ClaimsUnallocated(trigger.key, claim.name, "in-use") if is_full else None
    if claim.name in in_flight:
        return ClaimsUnallocated(trigger.key, claim.name, "being-allocated")
    if not snapshot.sees("DeviceClass"):
        return None
    classes = snapshot.dynamic_resources.classes
    asked = ((name, of) for request in claim.requests for name, of in request.classes)
    missing = (
        ClaimsUnallocated(trigger.key, claim.name, "no-class", of, name) for name, of in asked if of not in classes
    )
    return next(missing, None)


def _in_flight(view: View) -> Iterator[tuple[str, tuple[DeviceId, ...]]]:
    """Yield the claims that are allocated for members which were placed, with their devices."""
    for pods in placed_members(view).values():
        for pod in pods:
            yield from pod.allocations.resource_claims if pod.allocations is not None else ()


ClaimFault: TypeAlias = Literal["not-made", "missing", "being-deleted", "not-owner"]
_MOST_CONSTRAINTS = 2
"""How many attributes devices may have to share for all their values to be tried together."""
_OPEN: frozenset[ClaimFeature] = frozenset({"taints", "counters", "binding-conditions", "shared-device"})
"""What devices may use that is not evaluated where the scheduler knows it."""

KINDS = ("ResourceClaim", "DeviceClass", "ResourceSlice")
"""What decides about resource claims."""


class UnreadyClaim(Struct, frozen=True):
    """A claim of a pod that is not there, or cannot be used; by the pod's name for it where none was made."""

    name: str
    fault: ClaimFault


def uses_claims(pod: PendingPod, snapshot: Snapshot) -> bool:
    """Tell whether the scheduler looks at resource claims of the pod."""
    return bool(pod.resource_claims) and rules(snapshot.config.version).knows_resource_claims


def unready_claim(pod: PendingPod, snapshot: Snapshot) -> UnreadyClaim | None:
    """Return the first claim that keeps a pod from being tried, None where all are there (`PreEnqueue`)."""
    if not uses_claims(pod, snapshot):
        return None
    is_seen = snapshot.sees("ResourceClaim", pod.namespace)
    found = (_unready(pod, claim, is_seen=is_seen) for claim in pod.resource_claims)
    return next((one for one in found if one is not None), None)


def _unready(pod: PendingPod, claim: PodClaim, *, is_seen: bool) -> UnreadyClaim | None:
    if not claim.claim:
        return UnreadyClaim(claim.name, "not-made")
    if claim.found is None:
        return UnreadyClaim(claim.claim, "missing") if is_seen else None
    if claim.found.terminating:
        return UnreadyClaim(claim.claim, "being-deleted")
    if claim.is_made and not _owns(pod, claim.found):
        return UnreadyClaim(claim.claim, "not-owner")
    return None


def _owns(pod: PendingPod, claim: ResourceClaim) -> bool:
    """Tell whether the claim was made for the pod: by its uid, by its name where the pod has none."""
    uid, name = claim.owner
    return uid == pod.uid if pod.uid else name == pod.name


def open_claims(pod: PendingPod, snapshot: Snapshot) -> Iterator[Unevaluated]:
    """Yield what bears on a pod's claims and was not read, or is not evaluated."""
    if not uses_claims(pod, snapshot):
        return
    yield from (UnreadDevices(kind) for kind in KINDS if not snapshot.sees(kind))
    claims = [one.found for one in pod.resource_claims if one.found is not None]
    wanting = sum(not one.allocated for one in claims)
    is_mixed = 0 < wanting < len(claims) and rules(snapshot.config.version).fails_to_score_claims
    for found in claims:
        if not found.allocated:
            if is_mixed:
                yield OpenClaim(found.name, "beside-allocated")  # `computeScore` fails where several nodes are left
            if wanting > 1 and any(request.admin for request in found.requests):
                yield OpenClaim(found.name, "admin-access")  # which of the others' devices it may have, too
            yield from (OpenClaim(found.name, feature) for feature in found.open)
            for request in found.requests:
                yield from _of_request(found, request, snapshot)
            if len(found.constraints) > _MOST_CONSTRAINTS:
                yield OpenClaim(found.name, "constraints")
            continue
        if snapshot.config.claims.releases and found.terms is not None and set(found.reserved) <= {pod.uid}:
            yield IdleClaim(found.name)
    unallocated = [one for one in claims if not one.allocated]
    requests = tuple(wanted(unallocated, snapshot.dynamic_resources, snapshot.config.claims))
    if _most_ways(requests) >= MOST_WAYS:
        has_alternatives = any(len(choices) > 1 for choices in requests)
        yield OpenClaim(unallocated[0].name, "prioritized-list" if has_alternatives else "constraints")


def _most_ways(requests: Iterable[Choices]) -> int:
    """Return in how many ways the requests of a pod may be served on one node, at most."""
    alternatives = 1
    values: dict[tuple[str, SameAttribute], dict[str, set[AttributeValue]]] = {}
    for choices in requests:
        alternatives *= len(choices)
        for one in choices:
            for constraint in one.constraints:
                by_node = values.setdefault((one.claim, constraint), {})
                for name, devices in (*one.candidates.by_node.items(), ("", one.candidates.shared)):
                    told = (dict(device.attributes).get(constraint.attribute) for device in devices)
                    by_node.setdefault(name, set()).update(value for value in told if value is not None)
    each = (
        len(by_node[""]) + max((len(found) for name, found in by_node.items() if name), default=0)
        for by_node in values.values()
    )
    return alternatives * prod(max(1, number) for number in each)


def _of_request(claim: ResourceClaim, request: DeviceRequest, snapshot: Snapshot) -> Iterator[Unevaluated]:
    """Yield what a request uses, and what the devices and pools use from which it may be served."""
    settings, resources = snapshot.config.claims, snapshot.dynamic_resources
    if any(one.every for one in request.alternatives[1:]):
        yield WideningClaim(claim.name, "every-alternative")  # `allocateOne` takes it for the first alternative
    for one in request.alternatives or (request,):
        yield from (OpenClaim(claim.name, feature) for feature in one.open if settings.knows(feature))
        selectors = selectors_of(one, resources)
        pools = (pool for pool in resources.incomplete if may_match(pool[0], selectors))
        yield from (IncompletePool(*pool) for pool in pools)
        found = candidates(resources, selectors, settings)
        yield from (OpenClaim(claim.name, "selector", expression) for expression in found.open)
        yield from (OpenClaim(claim.name, feature) for feature in _features(resources, selectors, settings))
        if found.failing and (found.by_node or found.shared or request.alternatives):
            yield OpenClaim(claim.name, "attribute")  # where nothing matches, it is a no in any case
        if one.every and (any(is_about(each, one) for each in claim.constraints) or _are_many(found)):
            yield OpenClaim(claim.name, "all-devices")  # where they cannot be had, the scheduler may give up


def _are_many(found: Candidates) -> bool:
    """Tell whether a node may have more devices than a claim may get."""
    most = max(map(len, found.by_node.values()), default=0)
    return most + len(found.shared) > MOST_DEVICES


@memoised
def _features(resources: DynamicResources, selectors: Selectors, settings: ClaimSettings) -> tuple[ClaimFeature, ...]:
    """Return what is not evaluated of the devices that selectors may match, by name."""
    found = candidates(resources, selectors, settings)
    used: set[ClaimFeature] = {one for device in found.every() for one in device.open}
    return tuple(sorted(one for one in used & _OPEN if settings.knows(one)))
