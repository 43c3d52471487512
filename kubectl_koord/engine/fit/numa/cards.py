"""What DeviceShare says of NUMA zones: which of them have the devices that a pod asks for."""

from collections.abc import Hashable, Mapping

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, first_of
from kubectl_koord.engine.fit.check import Cluster
from kubectl_koord.engine.fit.device_share import (
    PodDeviceRequest,
    allocate,
    device_classes,
    place_of,
    request_of,
    seen_devices,
    topology_hints,
)
from kubectl_koord.engine.fit.numa.hints import Hint, Hints, ZonesWith
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reservations import Matched, matched
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import ZoneSet, members, set_of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, memoised


class CardHints(Struct, frozen=True):
    """The hints for what a trigger asks of devices."""

    request: PodDeviceRequest
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

    def seen(self, state: NodeState) -> Hashable:
        """Return what DeviceShare sees of a node; who has had a virtual function counts on a trial, too."""
        return state.node.name if self.request.wants_functions else seen_devices(state, self.snapshot)

    def zones(self, view: View, among: NodeSet) -> ZonesWith:
        """Return the nodes of a set by the zones that have the devices."""
        if self.request.wants_functions:
            return ZonesWith({}, among)
        known = _known(view, self.request, self.mine)
        by_zone: dict[int, NodeSet] = {}
        unclear = 0
        for seen, nodes in device_classes(view).items():
            asked = nodes & among
            if not asked:
                continue
            if seen not in known:
                known[seen] = self._zones_of(view.state(first_of(view, asked)))
            found = known[seen]
            if found is None:
                unclear |= asked
            for zone in found or ():
                by_zone[zone] = by_zone.get(zone, 0) | asked
        return ZonesWith(by_zone, unclear)

    def _zones_of(self, state: NodeState) -> frozenset[int] | None:
        """Return the zones of which each has the devices alone; None where that is open: none tells its zone."""
        place = place_of(self.request, state, self.snapshot.value, mine=self.mine)
        found = topology_hints(self.request, place) if place is not None else {}
        if not isinstance(found, Mapping):
            return frozenset()
        single = [{zone for one in hints if len(one.zones) == 1 for zone in one.zones} for hints in found.values()]
        return frozenset(set.intersection(*single)) if single else None


@memoised
def _known(_view: View, _request: PodDeviceRequest, _mine: Matched) -> dict[Hashable, frozenset[int] | None]:
    """Return where the zones of nodes are kept by what is seen of these: none at first."""
    return {}


def hints_for(trigger: PendingPod, cluster: Cluster) -> tuple[CardHints, ...]:
    """Return what DeviceShare says for a trigger; nothing where it asks for no device, or no Device object was read."""
    request = request_of(trigger.requirements)
    snapshot = cluster.view.snapshot
    if not isinstance(request, PodDeviceRequest) or snapshot.gap("Device") is not None:
        return ()
    return (CardHints(request, Identity(snapshot), matched(cluster.view, trigger, cluster.once)),)
