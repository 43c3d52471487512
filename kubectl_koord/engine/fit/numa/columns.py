"""Nodes of which one zone alone has all that a pod asks for, found for all nodes at once."""

from collections.abc import Iterable, Mapping

from kubectl_koord.engine.columns import NodeSet
from kubectl_koord.engine.fit.numa.books import books, free_amounts
from kubectl_koord.engine.fit.numa.hints import ZonesWith
from kubectl_koord.engine.fit.numa.terms import NOTHING_KNOWN
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.numbers import at_least
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import MOST_ZONES
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.values.memo import memoised

_ANY = 1 << 62


def with_plain_zones(view: View, among: NodeSet, requests: Resources) -> NodeSet:
    """Return the nodes of a set for which it is enough to compare requests with what each zone has free."""
    return at_least(view, among, 1, _is_plain) if all(amount for _, amount in requests) else 0


def in_one_zone(view: View, among: NodeSet, requests: Resources, devices: Iterable[ZonesWith]) -> NodeSet:
    """Return the nodes of a set, of which all have plain zones, with any zone that has all of the requests."""
    passing = 0
    for zone in _zone_numbers(view) if among else ():
        enough = among & ~passing
        for resource, amount in requests:
            enough = at_least(view, enough, amount, _free_in, zone, resource)
        for found in devices:
            enough &= found.by_zone.get(zone, 0)
        passing |= enough
    return passing


def _is_plain(state: NodeState) -> bool:
    """Tell whether the zones of a node give what they have free, each by itself, and all that is booked is of them."""
    numa = state.node.numa
    if numa is None or state.rooms or not 1 < len(numa.zones) <= MOST_ZONES:
        return False
    told = {resource for zone in numa.zones for resource, _ in zone.allocatable}
    return all(resource in told for _, amounts in books(state).amounts for resource, _ in amounts)


def _free_in(state: NodeState, zone: int, resource: str) -> int:
    """Return what is free in a zone: any amount of what no zone tells of; less than nothing where there is no such."""
    numa = state.node.numa
    free = state.booked(_free_by_zone) if numa is not None else {}
    if zone not in free:
        return -1
    return free[zone].get(resource, 0) if any(resource in amounts for amounts in free.values()) else _ANY


def _free_by_zone(state: NodeState) -> Mapping[int, Mapping[str, int]]:
    return free_amounts(state.node.numa or NOTHING_KNOWN, books(state))


@memoised
def _zone_numbers(view: View) -> frozenset[int]:
    """Return the numbers of the zones of all nodes with a policy."""
    numa = (view.node(name).numa for name in view.names())
    return frozenset(zone.number for one in numa if one is not None and one.policy for zone in one.zones)
