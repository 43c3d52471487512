"""What DeviceShare says of NUMA zones: which of them have the devices that a pod asks for."""

from collections.abc import Collection, Mapping

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet
from kubectl_koord.engine.fit.check import Cluster
from kubectl_koord.engine.fit.device_share import (
    DeviceRequest,
    allocate,
    device_classes,
    place_of,
    request_of,
    topology_hints,
)
from kubectl_koord.engine.fit.numa.hints import Hint, Hints
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reservations import Matched, matched
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import ZoneSet, members, set_of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity


class CardHints(Struct, frozen=True):
    """The hints for what a trigger asks of devices."""

    request: DeviceRequest
    snapshot: Identity[Snapshot]
    mine: Matched

    def hints(self, _pod: PendingPod, state: NodeState) -> Hints | Reason:
        """Return the sets of zones that have the devices; preemption may help where there is none.

        Mirrors `GetPodTopologyHints` in deviceshare/topology_hint.go and `Admit` of the topology manager.
        """
        place = place_of(self.request, state, self.snapshot.value, mine=self.mine)
        found = topology_hints(self.request, place) if place is not None else {}
        if not isinstance(found, Mapping):
            return structs.replace(found, unresolvable=False)
        return {
            kind: tuple(Hint(set_of(one.zones), one.preferred, one.score) for one in hints)
            for kind, hints in found.items()
        }

    def refusal(self, _pod: PendingPod, state: NodeState, zones: ZoneSet | None) -> Reason | None:
        """Return why the zones do not have the devices (`Allocate` in deviceshare/topology_hint.go)."""
        chosen = None if zones is None else frozenset(members(zones))
        place = place_of(self.request, state, self.snapshot.value, chosen, self.mine)
        found = allocate(self.request, place) if place is not None else ()
        return None if isinstance(found, tuple) else found

    def classes(self, view: View) -> Collection[NodeSet]:
        """Return the nodes by what DeviceShare sees of them."""
        return device_classes(view, self.request)


def hints_for(trigger: PendingPod, cluster: Cluster) -> tuple[CardHints, ...]:
    """Return what DeviceShare says for a trigger; nothing where it asks for no device, or no Device object was read."""
    request = request_of(trigger.requirements)
    snapshot = cluster.view.snapshot
    if not isinstance(request, DeviceRequest) or snapshot.gap("Device") is not None:
        return ()
    return (CardHints(request, Identity(snapshot), matched(cluster.view, trigger, cluster.once)),)
