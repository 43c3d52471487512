"""Host ports (plugins/nodeports)."""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    PortTaken,
    Reason,
)
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import EVERY_ADDRESS, HostPort, PendingPod, PodRequirements


class Ports(Stateless, Struct, frozen=True):
    """The filter: members are filtered with the ports of the trigger."""

    depends_on: ClassVar[DependsOn] = "pods"
    given: frozenset[str]

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when a host port is in use (`HostPortInfo.CheckConflict`).

        Those of the reservations that match the trigger, in `given`, are for it.
        """
        ports = list(state.ports)
        for uid, room in state.rooms.items():
            for port in room.requirements.ports if uid in self.given else ():
                ports.remove(port)
        for port in trigger.ports:
            if any(_clash(port, held) for held in ports):
                return PortTaken(port.port)
        return None

    def taking_alike(self, _view: View, _pods: Sequence[PendingPod], taking: NodeSet) -> Iterable[NodeSet]:
        """Return the set whole: the first such pod takes the ports from the next."""
        return (taking,)


def _clash(one: HostPort, other: HostPort) -> bool:
    return (
        one.port == other.port
        and one.protocol == other.protocol
        and (one.address == other.address or EVERY_ADDRESS in {one.address, other.address})
    )


def prepare(trigger: PendingPod, cluster: Cluster) -> Ports | None:
    """Return the filter; None for a trigger without host ports."""
    return Ports(drawable(cluster.view, trigger).uids) if trigger.requirements.ports else None
