"""Why a job is refused before any node is looked at, in a sentence."""

from collections.abc import Sequence
from typing import assert_never

from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.prefilter import (
    ClaimsUnallocated,
    FractionalBinding,
    InvalidDeviceAmount,
    InvalidDeviceSet,
    NoReservationMatches,
    NoTopologyTree,
    PreFilterRefusal,
    QuotaExceeded,
    TopologyManagerOff,
    TopologyNotAware,
    UnreadableAnnotation,
    UnreadableDeviceAnnotation,
    VolumesUnbound,
)
from kubectl_koord.wording.refusals.claims import claims_sentence
from kubectl_koord.wording.refusals.devices import invalid_devices
from kubectl_koord.wording.refusals.nodes import obstacle
from kubectl_koord.wording.refusals.tree import MANAGER_OFF, fault_clause
from kubectl_koord.wording.refusals.volumes import unbound_sentence
from kubectl_koord.wording.words import amounts_of, count, listed, resource_name


def lacking(reason: Reason | PreFilterRefusal) -> str:
    """Return in a few words why a planned node does not take a pod."""
    return refusal_sentence(reason).rstrip(".") if isinstance(reason, PreFilterRefusal) else obstacle(reason)


def refusal_sentence(refusal: PreFilterRefusal) -> str:
    """Return why PreFilter refuses a job."""
    match refusal:
        case NoTopologyTree(fault):
            return f"{fault_clause(fault)}."
        case TopologyManagerOff():
            return f"it has a topology spec, and {MANAGER_OFF}."
        case TopologyNotAware():
            return (
                "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: only its"
                " first pod is ever placed."
            )
        case InvalidDeviceAmount() | InvalidDeviceSet() | UnreadableDeviceAnnotation():
            return f"{invalid_devices(refusal)}."
        case NoReservationMatches():
            return _no_reservation(refusal)
        case FractionalBinding(asked=asked):
            return f"it asks to bind its CPUs, which must be whole ones, and requests {asked}m."
        case UnreadableAnnotation(annotation=annotation):
            return f"its annotation {annotation} cannot be read."
        case VolumesUnbound():
            return unbound_sentence(refusal)
        case ClaimsUnallocated():
            return claims_sentence(refusal)
        case QuotaExceeded():
            return _quota_exceeded(refusal)
        case _:
            assert_never(refusal)


def _no_reservation(refusal: NoReservationMatches) -> str:
    """Return which reservation a pod asks for, and which are for it instead."""
    name, owned = refusal.name, refusal.owned
    asks = f"it asks for {f'reservation {name}' if name else 'a reservation with its reservation affinity'}"
    if refusal.is_own:
        return f"{asks}, which is for it, but has no room, does not match, or is on a node that the pod may not go to."
    if not owned:
        return f"{asks}, and no reservation with room is for it."
    those = f"{count(owned, 'reservation')} {'is' if owned == 1 else 'are'} for it"
    return f"{asks}; {those}, none {f'is {name}' if name else 'matches'}."


_MOST_NAMED = 3
_OF_QUOTA = {
    "runtime": "allowed now (its runtime share",
    "max": "allowed (its max",
    "min": "allowed (its min, which non-preemptible pods must stay within",
}


def _ahead(refusal: QuotaExceeded, amount: str) -> str:
    """Return how much of what is used pods take that wait, too, and who they are."""
    named = list(refusal.ahead[:_MOST_NAMED])
    others = ["others"] if len(refusal.ahead) > _MOST_NAMED else []
    goes = "goes" if len(refusal.ahead) == 1 else "go"
    return f" ({amount} of it for {listed([*named, *others])}, which {goes} first)"


def _quota_exceeded(refusal: QuotaExceeded) -> str:
    """Return which quota has no room, by its arithmetic: `quota q: 63 GPU in use, 67 allowed; w-1 wants 8 more`."""
    refusing, *below = refusal.path
    place = f" (above {below[-1]})" if below else ""
    used, limit, asked, taken = (
        dict(amounts) for amounts in (refusal.used, refusal.limit, refusal.requested, refusal.taken)
    )
    parts, wanted = [], []
    scaled = {name: amounts_of(name, written, counts) for name, written, counts in refusal.scaled}
    for name in refusal.over:
        numbers = (used.get(name, 0), limit[name], asked.get(name, 0), taken.get(name, 0))
        has, may, more, first = amounts_of(name, *numbers)
        ahead = _ahead(refusal, first) if name in taken else ""
        limit_is = _OF_QUOTA["max" if name in refusal.capped else refusal.kind]
        parts.append(f"{has} {resource_name(name)} in use{ahead}, {may} {limit_is}{_scaled(scaled.get(name))})")
        wanted += [f"{more} {resource_name(name)}"] if asked.get(name, 0) else []
    wants = (
        f"{refusal.pod} wants {listed(wanted)} more"
        if wanted
        else f"until then {refusal.pod}, which asks for none of it, waits"
    )
    return f"quota {refusing}{place}: {'; '.join([*parts, wants])}."


def _scaled(amounts: Sequence[str] | None) -> str:
    """Return that a minimum counts as less than is written, to follow a sentence; nothing for None."""
    if amounts is None:
        return ""
    written, counts = amounts
    return f"; its min of {written} counts as {counts}, as it and those beside it are together more than there is"
