"""The sentences of ways out that bring claims of volumes and of devices in order."""

from collections.abc import Iterable
from typing import assert_never

from kubectl_koord.engine.fit.resource_claims.readiness import UnreadyClaim
from kubectl_koord.engine.reasons.prefilter import ClaimsUnallocated, VolumesUnbound
from kubectl_koord.wording.remedies import commands
from kubectl_koord.wording.words import listed


def supply(lacking: Iterable[VolumesUnbound | ClaimsUnallocated]) -> str:
    """Return what is to be done about claims that no node can serve."""
    told = listed([_volume(one) if isinstance(one, VolumesUnbound) else _devices(one) for one in lacking])
    return f"{told[0].upper()}{told[1:]}, so that any node can serve it"


def see(lacking: Iterable[VolumesUnbound | ClaimsUnallocated]) -> str:
    """Return what shows those claims that exist, or deletes those that are in the way."""
    return commands.in_turn(filter(None, map(_command, lacking)))


def _volume(one: VolumesUnbound) -> str:
    claim, about = one.claim, one.about
    match one.fault:
        case "claim-missing":
            return f"create volume claim {claim}"
        case "being-deleted":
            return f"create volume claim {claim} anew, once it is gone"
        case "not-bound" if about:
            return f"find out why StorageClass {about} binds no volume to volume claim {claim}"
        case "not-bound":
            return f"create the StorageClass of volume claim {claim}, or a volume for it"
        case "binding":
            return f"find out why volume {about} is not bound to volume claim {claim}"
        case "lost" | "volume-missing":
            return f"create volume {about} anew for volume claim {claim}"
        case "ephemeral-missing":
            return f"find out why volume claim {claim} is not made for pod {one.pod}"
        case "not-owner":
            return f"delete volume claim {claim}, so that it is made for pod {one.pod}"
        case _:
            assert_never(one.fault)


def _devices(one: ClaimsUnallocated) -> str:
    match one.fault:
        case "no-class":
            return f"create DeviceClass {one.about} for resource claim {one.claim}"
        case "in-use":
            return f"end a pod that uses resource claim {one.claim}"
        case "being-allocated":
            return f"wait until resource claim {one.claim} is allocated"
        case _:
            assert_never(one.fault)


def _command(one: VolumesUnbound | ClaimsUnallocated) -> str:
    if isinstance(one, ClaimsUnallocated):
        return commands.describe("resourceclaim", one.claim)
    if one.fault == "not-owner":
        return commands.delete("pvc", one.claim)
    return "" if one.fault in {"claim-missing", "ephemeral-missing"} else commands.describe("pvc", one.claim)


def make_ready(claim: UnreadyClaim) -> str:
    """Return what is to be done about a resource claim without which a pod is not tried."""
    match claim.fault:
        case "not-made":
            return f"Find out why resource claim {claim.name} is not made from its template"
        case "missing":
            return f"Create resource claim {claim.name}"
        case "being-deleted":
            return f"Create resource claim {claim.name} anew, once it is gone"
        case "not-owner":
            return f"Delete resource claim {claim.name}, so that it is made for the pod"
        case _:
            assert_never(claim.fault)


def show_unready(claim: UnreadyClaim) -> str:
    """Return what shows such a claim, or deletes one that is in the way; empty for one that is not there."""
    if claim.fault == "not-owner":
        return commands.delete("resourceclaim", claim.name)
    return commands.describe("resourceclaim", claim.name) if claim.fault == "being-deleted" else ""
