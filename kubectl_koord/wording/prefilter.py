"""Why a job is refused before any node is looked at, in a sentence."""

from typing import assert_never

from kubectl_koord.engine.refusals import (
    FractionalBinding,
    NoTopologyTree,
    PreFilterRefusal,
    TopologyNotAware,
    UnreadableAnnotation,
)


def refusal_sentence(refusal: PreFilterRefusal) -> str:
    """Return why PreFilter refuses a job."""
    match refusal:
        case NoTopologyTree(fault):
            return f"{fault.message}."
        case TopologyNotAware():
            return (
                "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: only its"
                " first pod is ever placed."
            )
        case FractionalBinding(asked=asked):
            return f"it asks to bind its CPUs, which must be whole ones, and requests {asked}m."
        case UnreadableAnnotation(annotation=annotation):
            return f"its annotation {annotation} cannot be read."
        case _:
            assert_never(refusal)
