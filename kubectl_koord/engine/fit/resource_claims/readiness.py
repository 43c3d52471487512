"""Whether a pod's resource claims are there, and what bears on them that is not evaluated."""

from collections.abc import Iterator
from math import prod
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.resource_claims.devices import (
    MOST_DEVICES,
    MOST_WAYS,
    Candidates,
    Selectors,
    candidates,
    is_about,
    may_match,
    selectors_of,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.resource_claims import (
    ClaimSettings,
    DeviceRequest,
    DynamicResources,
    PodClaim,
    ResourceClaim,
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
from kubectl_koord.model.values.memo import memoised

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
            if prod(len(request.alternatives) or 1 for request in found.requests) >= MOST_WAYS:
                yield OpenClaim(found.name, "prioritized-list")
            if len(found.constraints) > _MOST_CONSTRAINTS:
                yield OpenClaim(found.name, "constraints")
            continue
        if snapshot.config.claims.releases and found.terms is not None and set(found.reserved) <= {pod.uid}:
            yield IdleClaim(found.name)


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
