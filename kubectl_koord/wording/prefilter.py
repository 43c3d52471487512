"""Why a job is refused before any node is looked at, in a sentence."""

from typing import assert_never

from kubectl_koord.engine.refusals import NoTopologyTree, PreFilterRefusal, TopologyNotAware, VolumesUnbound
from kubectl_koord.wording.volumes import unbound_sentence


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
        case VolumesUnbound():
            return unbound_sentence(refusal)
        case _:
            assert_never(refusal)
