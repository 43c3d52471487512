"""Why a job is refused before any node is looked at, in a sentence."""

from typing import assert_never

from kubectl_koord.engine.refusals import (
    InvalidDeviceAmount,
    InvalidDeviceSet,
    NoTopologyTree,
    PreFilterRefusal,
    TopologyNotAware,
    UnreadableDeviceAnnotation,
)
from kubectl_koord.wording.devices import invalid_devices
from kubectl_koord.wording.tree import fault_clause


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
        case InvalidDeviceAmount() | InvalidDeviceSet() | UnreadableDeviceAnnotation():
            return f"{invalid_devices(refusal)}."
        case _:
            assert_never(refusal)
