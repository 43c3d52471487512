"""Pods with their resource claims: what they name, joined with the objects."""

from collections.abc import Iterable, Mapping

from msgspec import structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.objects.kubernetes.resource_claims import ClaimOfCluster
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.resource_claims import PodClaim
from kubectl_koord.model.snapshot import Gap


def with_claims(
    waiting: Iterable[PendingPod], known: Mapping[str, ClaimOfCluster], gaps: Iterable[Gap]
) -> tuple[PendingPod, ...]:
    """Return the pods with their ResourceClaims; without any where the API does not serve these."""
    if any(gap.kind == kinds.RESOURCE_CLAIM.name and gap.code == "missing" for gap in gaps):
        return tuple(structs.replace(pod, resource_claims=()) for pod in waiting)
    return tuple(
        structs.replace(pod, resource_claims=tuple(_found(claim, known) for claim in pod.resource_claims))
        if pod.resource_claims
        else pod
        for pod in waiting
    )


def _found(claim: PodClaim, known: Mapping[str, ClaimOfCluster]) -> PodClaim:
    found = known.get(claim.claim)
    return claim if found is None else structs.replace(claim, found=found.claim)
