"""What nodes have left of their CPUs and zones, found for all nodes at once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct

from kubectl_koord.engine.columns import (
    NodeSet,
    names_of,
    nodes_of,
    occupants_of,
    of_nodes,
    seen_of_nodes,
    selector,
    state_classes,
    which,
)
from kubectl_koord.engine.fit.numa.books import Booked, booked_of, books, free_amounts, free_cpus
from kubectl_koord.engine.fit.numa.hints import HintProvider
from kubectl_koord.engine.node_state import NodeState, Occupant, with_bookings
from kubectl_koord.engine.numbers import Number, at_least
from kubectl_koord.engine.reservations import reserved_nodes
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import MOST_ZONES, BindPolicy, CPUSet, NodeNUMA
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.values.memo import memoised, recently

_PLENTY = 1 << 62
"""What zones have left of a resource that none of the node tells of."""
_MOST_REQUESTS = 64
"""For so many requests a view keeps which nodes have all of it in one zone."""


class _Zones(Struct, frozen=True, gc=False):
    """What zones have left: amounts by zone, and the resources that any of them tells of."""

    amounts: Mapping[int, Mapping[str, int]]
    told: frozenset[str]

    def left(self, zone: int, resource: str) -> int:
        """Return how much a zone has left of a resource, less than nothing where there is no such zone."""
        if zone not in self.amounts:
            return -1
        return self.amounts[zone].get(resource, 0) if resource in self.told else _PLENTY


class PlainZones(Struct, frozen=True):
    """Nodes with zones where it is enough to compare requests with what each has left.

    `every` tells whether nodes without a policy are looked at: few pods ask for one themselves.
    """

    every: bool

    def __call__(self, state: NodeState) -> bool:
        """Tell whether a node is one of them."""
        return self.zones(state) is not None

    def everywhere(self, view: View) -> Iterator[bool]:
        """Yield the same of all nodes."""
        return (zones is not None for zones in _zones_of(view, self))

    def zones(self, state: NodeState) -> _Zones | None:
        """Return what the zones of a node have left; None where that does not decide."""
        node = state.node.numa
        if node is None or not self.counts(node) or _reserves_cpus(state):
            return None
        return state.booked(_zones)

    def counts(self, node: NodeNUMA) -> bool:
        """Tell whether a node is looked at: not, if it binds CPUs and tells of none."""
        known = node.cpus is not None or not node.bind_policy
        return known and (self.every or bool(node.policy)) and 1 < len(node.zones) <= MOST_ZONES


def _zones(state: NodeState) -> _Zones | None:
    return _left(state.node.numa, books(state)) if state.node.numa is not None else None


def _left(node: NodeNUMA, booked: Booked) -> _Zones | None:
    """Return what zones have left; None where something is booked that none tells of, or where none tells of CPU."""
    told = frozenset([resource for zone in node.zones for resource, _ in zone.allocatable])
    if "cpu" not in told or not all(resource in told for _, amounts in booked.amounts for resource, _ in amounts):
        return None
    return _Zones(free_amounts(node, booked), told)


@memoised
def _zones_of(view: View, plain: PlainZones) -> Sequence[_Zones | None]:
    reserving, booked = selector(view, reserving_cpus(view)), books_everywhere(view)
    return [
        _left(node.numa, booked.at(position))
        if node.numa is not None and plain.counts(node.numa) and not reserving[position]
        else None
        for position, node in enumerate(nodes_of(view))
    ]


class _Books:
    """What is booked on nodes, found when one is asked for: few requests look at all nodes."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._found: dict[int, Booked] = {}
        self._alike: dict[tuple[object, ...], Booked] = {}

    def every(self) -> Iterator[Booked]:
        """Yield what is booked on each node, in name order."""
        view = self._view
        if view.layers()[0] is None and view.trial() is None:
            for position, (node, pods) in enumerate(zip(nodes_of(view), occupants_of(view), strict=True)):
                self._found[position] = self._once(node.numa, _holding(pods))
        return map(self.at, range(len(view.names())))

    def at(self, position: int) -> Booked:
        """Return what is booked on the node at a position."""
        found = self._found.get(position)
        if found is None:
            found = self._found[position] = self._on(position)
        return found

    def _on(self, position: int) -> Booked:
        view, name, trial = self._view, names_of(self._view)[position], self._view.trial()
        if trial is not None and not _holding(trial[1].get(name, ())):
            return books_everywhere(trial[0]).at(position)
        node, pods, held = view.node(name).numa, view.occupants(name), view.held(name)
        holding = _holding(pods)
        if held is not pods:
            return booked_of(node, holding, _holding(held))
        return self._once(node, holding)

    def _once(self, node: NodeNUMA | None, holding: Sequence[Occupant]) -> Booked:
        """Return what is booked for these, found once for nodes with the same CPUs on which the same is booked."""
        wishes = ((id(pod.allocations), pod.requirements.numa.exclusive) for pod in holding)
        key = (id(node.cpus) if node is not None else 0, *wishes)
        if key not in self._alike:
            self._alike[key] = booked_of(node, holding, holding)
        return self._alike[key]


@memoised
def books_everywhere(view: View) -> _Books:
    """Return what is booked on the nodes of a view."""
    return _Books(view)


def _holding(occupants: Iterable[Occupant]) -> list[Occupant]:
    """Return those for whom CPUs, or amounts of zones, are booked."""
    there = with_bookings(occupants)
    return [one for one in there if (booked := one.allocations) is not None and booked.cpus is not None]


@memoised
def reserving_cpus(view: View) -> NodeSet:
    """Return the nodes with reservations that hold CPUs or amounts of zones."""
    return which(view, lambda name: _reserves_cpus(view.state(name)), reserved_nodes(view))


def _reserves_cpus(state: NodeState) -> bool:
    return bool(_holding(state.rooms.values()))


def _zone_left(state: NodeState, plain: PlainZones, zone: int, resource: str) -> int:
    zones = plain.zones(state)
    return -1 if zones is None else zones.left(zone, resource)


def _zone_left_everywhere(view: View, plain: PlainZones, zone: int, resource: str) -> Sequence[int]:
    return [-1 if zones is None else zones.left(zone, resource) for zones in _zones_of(view, plain)]


_ZONE_LEFT = Number(_zone_left, _zone_left_everywhere, share=0)
"""How much a zone has left of a resource."""


def _cpus_left(state: NodeState, policy: BindPolicy, zone: int | None) -> int:
    node = state.node.numa
    return 0 if node is None else _number(node, _usable(node, books(state), policy), zone)


def _usable(node: NodeNUMA, booked: Booked, policy: BindPolicy) -> CPUSet:
    free = free_cpus(node, booked)
    return node.usable(free, policy) if policy else free


def _number(node: NodeNUMA, cpus: CPUSet, zone: int | None) -> int:
    return (cpus if zone is None else cpus & node.cpus_of(zone)).bit_count()


def _cpus_left_everywhere(view: View, policy: BindPolicy, zone: int | None) -> Sequence[int]:
    there = zip(nodes_of(view), _usable_of(view, policy), strict=True)
    return [0 if node.numa is None else _number(node.numa, cpus, zone) for node, cpus in there]


@memoised
def _usable_of(view: View, policy: BindPolicy) -> Sequence[CPUSet]:
    """Return the CPUs of each node that a policy can use, found once for nodes of which the same are free."""
    known: dict[tuple[int, CPUSet], CPUSet] = {}
    found = []
    for node, booked in zip(nodes_of(view), books_everywhere(view).every(), strict=True):
        if node.numa is None:
            found.append(0)
            continue
        key = (id(node.numa.cpus), free_cpus(node.numa, booked))
        if key not in known:
            known[key] = _usable(node.numa, booked, policy)
        found.append(known[key])
    return found


_CPUS_LEFT = Number(_cpus_left, _cpus_left_everywhere, share=0)
"""How many CPUs a node, or a zone of it, has left that a required policy can use, any where it is empty."""


def with_cpus(view: View, among: NodeSet, number: int, policy: BindPolicy) -> NodeSet:
    """Return the nodes of a set that have so many CPUs left which a required policy can use, any where it is empty."""
    return at_least(view, among, number, _CPUS_LEFT, policy, None)


@recently(_MOST_REQUESTS)
def in_one_zone(
    view: View,
    plain: PlainZones,
    requests: Resources,
    cpus: int,
    policy: BindPolicy,
    providers: Iterable[HintProvider],
) -> tuple[NodeSet, NodeSet]:
    """Return of which nodes it is known whether one zone has all of the requests, and those of which one has.

    It has so many CPUs left, too, that a required policy can use, and what `providers` say is in it.
    """
    decided = state_classes(view, plain).get(True, 0) if all(0 < amount < _PLENTY for _, amount in requests) else 0
    found_by = [provider.zones(view, decided) for provider in providers]
    for found in found_by:
        decided &= ~found.unclear
    passing = 0
    for zone in _zone_numbers(view):
        enough = decided
        for found in found_by:
            enough &= found.by_zone.get(zone, 0)
        for resource, amount in requests:
            enough = at_least(view, enough, amount, _ZONE_LEFT, plain, zone, resource) if enough else 0
        passing |= at_least(view, enough, cpus, _CPUS_LEFT, policy, zone) if enough and cpus else enough
    return decided, passing


@of_nodes
def _zone_numbers(view: View) -> Collection[int]:
    """Return the numbers that zones of any node have."""
    return frozenset(chain.from_iterable(set(seen_of_nodes(view, _numbers))))


def _numbers(node: Node) -> tuple[int, ...]:
    return tuple(zone.number for zone in node.numa.zones) if node.numa is not None else ()
