"""Resource claims: where they are allocated, and whether a node has free devices for those that are not.

Mirrors plugins/dynamicresources. All members of a round are held against the trigger's claims, and the devices of
members that are put on a node to count are not taken.
"""

from collections.abc import Iterator
from typing import ClassVar

from msgspec import Struct, structs

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.resource_claims.devices import Choices, allocate, reaches, wanted
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.occupants import placed_members
from kubectl_koord.engine.reasons.claims import ClaimElsewhere, NotAllocated
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.prefilter import ClaimsUnallocated
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import Allocations
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.resource_claims import DeviceId, ResourceClaim
from kubectl_koord.model.snapshot import Snapshot

MOST_USERS = 256
"""How many pods may use a claim at once (`ResourceClaimReservedForMaxSize`)."""


class ResourceClaims(Stateless, Struct, frozen=True):
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
