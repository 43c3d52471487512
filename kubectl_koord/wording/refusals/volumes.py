"""Why a pod's volumes keep it from nodes, in English."""

from typing import assert_never

from kubectl_koord.engine.reasons.prefilter import VolumesUnbound


def unbound_sentence(refusal: VolumesUnbound) -> str:
    """Return why a claim cannot be used on any node."""
    claim, about = refusal.claim, refusal.about
    match refusal.fault:
        case "claim-missing":
            return f"volume claim {claim} does not exist."
        case "being-deleted":
            return f"volume claim {claim} is being deleted."
        case "not-bound" if about:
            return (
                f"volume claim {claim} is not bound: its StorageClass {about} (Immediate) should have bound it; look at"
                " the provisioner."
            )
        case "not-bound":
            return f"volume claim {claim} is not bound, and has no StorageClass that exists."
        case "binding":
            return f"volume claim {claim} names volume {about}, and is not bound to it yet."
        case "lost":
            return f"volume claim {claim} has lost volume {about}, which it was bound to."
        case "volume-missing":
            return f"volume claim {claim} is bound to volume {about}, which does not exist."
        case "ephemeral-missing":
            return f"volume claim {claim} for an ephemeral volume was not made yet."
        case "not-owner":
            return f"volume claim {claim} exists, but was not made for pod {refusal.pod}: the pod is not its owner."
        case _:
            assert_never(refusal.fault)
