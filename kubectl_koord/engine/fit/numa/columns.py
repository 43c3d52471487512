"""Nodes of which one zone alone has all that a pod asks for, found for all nodes at once."""

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, nodes_of, selector, state_classes
from kubectl_koord.engine.fit.numa.books import Booked, booked_of, books, free_amounts
from kubectl_koord.engine.fit.numa.hints import ZonesWith
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reservations import reserved_nodes
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import MOST_ZONES, NodeNUMA
from kubectl_koord.model.pods import Resources

_Left: TypeAlias = tuple[tuple[int, Resources], ...]
"""What is free in each zone."""


class PlainZones(Struct, frozen=True):
    """What the zones of nodes have left, where it is enough to compare requests with it.

    `every` tells whether nodes without a policy are looked at: few pods ask for one themselves.
    """

    every: bool

    def __call__(self, state: NodeState) -> _Left | None:
        """Return what zones have left, each by itself; None where that does not decide."""
        node = state.node.numa
        return _left(node, books(state)) if node is not None and self._counts(node) and not state.rooms else None

    def everywhere(self, view: View) -> Iterator[_Left | None]:
        """Yield the same of all nodes."""
        reserved = selector(view, reserved_nodes(view))
        for node, is_reserved in zip(nodes_of(view), reserved, strict=True):
            numa = node.numa
            if numa is None or is_reserved or not self._counts(numa):
                yield None
            else:
                yield _left(numa, booked_of(numa, view.occupants(node.name), view.held(node.name)))

    def _counts(self, node: NodeNUMA) -> bool:
        return (self.every or bool(node.policy)) and 1 < len(node.zones) <= MOST_ZONES

    def among(self, view: View, nodes: NodeSet, requests: Resources) -> NodeSet:
        """Return the nodes of a set for which it is enough to compare these requests."""
        return nodes & ~state_classes(view, self).get(None, 0) if all(amount for _, amount in requests) else 0

    def passing(self, view: View, among: NodeSet, requests: Resources, devices: Iterable[ZonesWith]) -> NodeSet:
        """Return the nodes of a set, for all of which that is enough, with any zone that has all of the requests."""
        passing = 0
        for left, nodes in state_classes(view, self).items():
            asked = nodes & among
            for zone in _with_all(left, requests) if asked and isinstance(left, tuple) else ():
                enough = asked
                for found in devices:
                    enough &= found.by_zone.get(zone, 0)
                passing |= enough
        return passing


def _left(node: NodeNUMA, booked: Booked) -> _Left | None:
    """Return what zones have left; None where something is booked that no zone tells of."""
    if not booked.amounts and not booked.cached_zones:
        return tuple({zone.number: zone.allocatable for zone in node.zones}.items())
    told = {resource for zone in node.zones for resource, _ in zone.allocatable}
    if not all(resource in told for _, amounts in booked.amounts for resource, _ in amounts):
        return None
    return tuple((zone, tuple(free.items())) for zone, free in free_amounts(node, booked).items())


def _with_all(left: _Left, requests: Resources) -> Iterator[int]:
    """Yield the zones that have all of the requests: any amount of what no zone tells of."""
    told = {resource for _, free in left for resource, _ in free}
    wanted = [(resource, amount) for resource, amount in requests if resource in told]
    for zone, free in left:
        have = dict(free)
        if all(have.get(resource, 0) >= amount for resource, amount in wanted):
            yield zone
