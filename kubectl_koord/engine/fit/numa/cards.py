"""What DeviceShare says of NUMA zones: which of them have the devices that a pod asks for."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, StateSees, base_with_most, differing, first_of, names_of, singles
from kubectl_koord.engine.fit.check import Cluster
from kubectl_koord.engine.fit.device_share import (
    PodDeviceRequest,
    alike,
    allocate,
    deciding_layout,
    device_classes,
    place_of,
    request_of,
    seen_devices,
    topology_hints,
)
from kubectl_koord.engine.fit.numa.hints import Hint, Hints, ZonesWith
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reservations import Matched
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import ZoneSet, members, set_of
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, memoised, recently

T = TypeVar("T")

_MOST_REQUESTS = 16


class CardHints(Struct, frozen=True):
    """The hints for what a trigger asks of devices."""

    request: PodDeviceRequest
    snapshot: Identity[Snapshot]
    mine: Matched

    def hints(self, _pod: PendingPod, state: NodeState) -> Hints | Reason:
        """Return the sets of zones that have the devices; preemption may help where there is none.

        Mirrors `GetPodTopologyHints` in deviceshare/topology_hint.go and `Admit` of the topology manager.
        """
        return self._kept(state, "hints", lambda: self._hints(state))

    def _hints(self, state: NodeState) -> Hints | Reason:
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
        return self._kept(state, zones, lambda: self._refusal(state, zones))

    def _refusal(self, state: NodeState, zones: ZoneSet | None) -> Reason | None:
        chosen = None if zones is None else frozenset(members(zones))
        place = place_of(self.request, state, self.snapshot.value, chosen, self.mine)
        found = allocate(self.request, place) if place is not None else ()
        return None if isinstance(found, tuple) else found

    def _kept(self, state: NodeState, about: Hashable, find: Callable[[], T]) -> T:
        """Return what is found of a node, once for nodes that are alike and pods that ask for the same."""
        layout = deciding_layout(self.request, state)
        if layout is None:
            return find()
        answers = _answers(self.snapshot.value, self.request)
        key, held = alike(state)
        if (key, about) not in answers:
            answers[key, about] = held, find()
        found: T = answers[key, about][1]
        return found

    @property
    def sees(self) -> StateSees:
        """What DeviceShare sees of a node; who has had a virtual function counts on a trial, too."""
        return _ByName() if self.request.wants_functions else seen_devices(self.snapshot)

    def zones(self, view: View, among: NodeSet) -> ZonesWith:
        """Return the nodes of a set by the zones that have the devices."""
        return ZonesWith({}, among) if self.request.wants_functions else _zones_with(view, self, among)

    def zones_of(self, state: NodeState) -> frozenset[int] | None:
        """Return the zones of which each has the devices alone; None where that is open.

        It is where no device tells its zone, and where hints may be wrong as Reservations hold devices for the pod.
        """
        place = place_of(self.request, state, self.snapshot.value, mine=self.mine)
        if place is not None and place.drawing:
            return None
        found = topology_hints(self.request, place) if place is not None else {}
        if not isinstance(found, Mapping):
            return frozenset()
        single = [{zone for one in hints if len(one.zones) == 1 for zone in one.zones} for hints in found.values()]
        return frozenset(set.intersection(*single)) if single else None


class _ByName(Struct, frozen=True):
    """Each node by itself."""

    def __call__(self, state: NodeState) -> str:
        return state.node.name

    def everywhere(self, view: View) -> Iterable[str]:
        return names_of(view)


@memoised
def _answers(_snapshot: Snapshot, _request: PodDeviceRequest) -> dict[Hashable, tuple[object, Any]]:
    """Return where what was found for a request is kept, for as long as the snapshot is: nothing at first."""
    return {}


@recently(_MOST_REQUESTS)
def _zones_with(view: View, hints: CardHints, among: NodeSet) -> ZonesWith:
    """Return the same, asking one node of each class; of a what-if only nodes that differ are asked."""
    base = base_with_most(view)
    if base is None:
        parts = [part for nodes in device_classes(view).values() if (part := nodes & among)]
        return _by_zone((part, hints.zones_of(view.state(first_of(view, part)))) for part in parts)
    changed = differing(view)
    before = _zones_with(base, hints, among)
    now = _by_zone((one, hints.zones_of(view.state(first_of(view, one)))) for one in singles(among & changed))
    zones = before.by_zone.keys() | now.by_zone
    by_zone = {zone: before.by_zone.get(zone, 0) & ~changed | now.by_zone.get(zone, 0) for zone in zones}
    return ZonesWith(by_zone, before.unclear & ~changed | now.unclear)


def _by_zone(found: Iterable[tuple[NodeSet, frozenset[int] | None]]) -> ZonesWith:
    by_zone: dict[int, NodeSet] = {}
    unclear = 0
    for nodes, zones in found:
        unclear |= nodes if zones is None else 0
        for zone in zones or ():
            by_zone[zone] = by_zone.get(zone, 0) | nodes
    return ZonesWith(by_zone, unclear)


def hints_for(trigger: PendingPod, cluster: Cluster, mine: Matched) -> tuple[CardHints, ...]:
    """Return what DeviceShare says for a trigger and the reservations that match it.

    Nothing where it asks for no device, no Device object was read, or the plugin is to have no say.
    """
    request = request_of(trigger.requirements)
    snapshot = cluster.view.snapshot
    if not isinstance(request, PodDeviceRequest) or snapshot.gap("Device") is not None:
        return ()
    if not snapshot.config.aligns_devices:
        return ()
    return (CardHints(request, Identity(snapshot), mine),)
