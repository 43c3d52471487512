"""Whether a pod's resource claims are there, and what bears on them that is not evaluated."""

from collections.abc import Iterator
from math import prod
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.resource_claims.devices import MOST_WAYS, Selectors, is_known, is_match, selectors_of
from kubectl_koord.engine.rules import rules
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.resource_claims import (
    ClaimableDevice,
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
    for found in (one.found for one in pod.resource_claims if one.found is not None):
        if not found.allocated:
            yield from (OpenClaim(found.name, feature) for feature in found.open)
            every = [one for request in found.requests for one in request.alternatives or (request,)]
            for request in every:
                yield from _of_request(found.name, request, snapshot)
            if prod(len(request.alternatives) or 1 for request in found.requests) >= MOST_WAYS:
                yield OpenClaim(found.name, "prioritized-list")
            if len(found.constraints) > _MOST_CONSTRAINTS:
                yield OpenClaim(found.name, "constraints")
            continue
        if snapshot.config.claims.releases and found.terms is not None and set(found.reserved) <= {pod.uid}:
            yield IdleClaim(found.name)


def _of_request(claim: str, request: DeviceRequest, snapshot: Snapshot) -> Iterator[Unevaluated]:
    """Yield what a request uses, and what the devices and pools use from which it may be served."""
    settings = snapshot.config.claims
    yield from (OpenClaim(claim, feature) for feature in request.open if settings.knows(feature))
    selectors = selectors_of(request, snapshot.dynamic_resources)
    pools = (pool for pool in snapshot.dynamic_resources.incomplete if is_match(_any_of(pool), selectors) is not False)
    yield from (IncompletePool(*pool) for pool in pools)
    plain = tuple(one for one in selectors if one.tests is not None)
    yield from (OpenClaim(claim, "selector", one.expression) for one in selectors if one.tests is None)
    yield from (OpenClaim(claim, feature) for feature in _features(snapshot.dynamic_resources, plain, settings))


def _any_of(pool: tuple[str, str]) -> ClaimableDevice:
    """Return a device of a pool of which nothing else is known."""
    return ClaimableDevice((*pool, ""))


@memoised
def _features(resources: DynamicResources, selectors: Selectors, settings: ClaimSettings) -> tuple[ClaimFeature, ...]:
    """Return what is not evaluated of the devices that selectors may match, by name."""
    features: set[ClaimFeature] = set()
    for device in resources.devices:
        matches = is_match(device, selectors) if is_known(device, settings) else False
        if matches is not False:
            features.update(one for one in device.open if one in _OPEN and settings.knows(one))
        if matches is None:
            features.add("attribute")
    return tuple(sorted(features))
