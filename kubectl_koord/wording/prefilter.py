"""Why a job is refused before any node is looked at, in a sentence."""

from typing import assert_never

from kubectl_koord.engine.refusals import NoReservationMatches, NoTopologyTree, PreFilterRefusal, TopologyNotAware
from kubectl_koord.wording.tree import fault_clause
from kubectl_koord.wording.words import listed


def refusal_sentence(refusal: PreFilterRefusal) -> str:
    """Return why PreFilter refuses a job."""
    match refusal:
        case NoTopologyTree(fault):
            return f"{fault_clause(fault)}."
        case TopologyNotAware():
            return (
                "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: only its"
                " first pod is ever placed."
            )
        case NoReservationMatches(pods=pods, name=name, owned=owned):
            wanted = f"reservation {name}" if name else "a reservation with its reservation affinity"
            if not owned:
                return f"{listed(pods)} must use {wanted}, and no reservation with room is for it."
            others = "the one that is for it does" if owned == 1 else f"the {owned} that are for it do"
            return f"{listed(pods)} must use {wanted}, and {others} not match."
        case _:
            assert_never(refusal)
