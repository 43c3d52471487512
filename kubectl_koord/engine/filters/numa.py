"""NodeNUMAResource: whether a node has the CPUs and zones that a pod needs, and which it gets."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, repeat
from typing import Any, ClassVar, TypeVar

from msgspec import Struct, structs

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.filters.device_allocation import PodDeviceRequest, allocate, request_of
from kubectl_koord.engine.filters.device_share import (
    alike,
    deciding_layout,
    device_classes,
    place_of,
    seen_devices,
    topology_hints,
)
from kubectl_koord.engine.filters.numa_state import (
    MILLI,
    NOTHING_KNOWN,
    Booked,
    Hint,
    HintProvider,
    Hints,
    Portion,
    Terms,
    Wants,
    ZoneAffinity,
    ZoneRoom,
    ZonesWith,
    ZoneWays,
    booked_of,
    books,
    chosen,
    cpus_taken,
    free_amounts,
    free_cpus,
    portion,
    room,
    sets_of,
    settings_of,
    settled,
    unbindable,
    wants_of,
    ways,
)
from kubectl_koord.engine.reasons import (
    BeyondReservedZones,
    FractionalBinding,
    InsufficientAmplifiedCPU,
    InvalidAmplification,
    Lack,
    NoCPUTopology,
    NotEnoughCPUs,
    NoZones,
    Reason,
    UnreadableAnnotation,
)
from kubectl_koord.engine.reservations import (
    NONE_MATCHED,
    Matched,
    matched,
    nodes_with,
    reserved_nodes,
    room_with,
    used_up,
)
from kubectl_koord.engine.state import NodeState, Occupant, View, with_bookings
from kubectl_koord.engine.table import (
    NodeSet,
    Number,
    StateSees,
    at_least,
    base_with_most,
    classes,
    differing,
    every_node,
    first_of,
    in_classes,
    names_of,
    nodes_of,
    occupants_of,
    of_nodes,
    one_by_one,
    seen_of_nodes,
    selector,
    singles,
    state_classes,
    state_parts,
    which,
)
from kubectl_koord.model.hardware import (
    MOST_ZONES,
    Allocations,
    BindPolicy,
    CPUAllocation,
    CPUSet,
    CPUTopology,
    NodeNUMA,
    Zone,
    ZoneSet,
    amplified,
    members,
    set_of,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, Resources, memoised, recently

_PLENTY = 1 << 62
"""What zones have left of a resource that none of the node tells of."""
_MOST_REQUESTS = 64
"""Size of the cache of nodes that have a request in one zone."""


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
        """Yield for each node whether it is one of them."""
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
    return frozenset(chain.from_iterable(set(seen_of_nodes(view, _numbers))))


def _numbers(node: Node) -> tuple[int, ...]:
    return tuple(zone.number for zone in node.numa.zones) if node.numa is not None else ()


_MOST_ANSWERS = 1 << 15
_ALWAYS_SCORED = ("cpu", "memory")


def looked_at(wants: Wants) -> frozenset[str]:
    """Return the resources that are looked at in zones: what the pod asks for, and what is scored."""
    return frozenset([*_ALWAYS_SCORED, *(resource for resource, _ in wants.requests)])


def as_seen(node: NodeNUMA, resources: frozenset[str]) -> Identity[NodeNUMA]:
    """Return the node with only these resources in its zones: the one object for all nodes that are alike then."""
    return _as_seen(Identity(node), resources)


@lru_cache(_MOST_ANSWERS)
def _as_seen(node: Identity[NodeNUMA], resources: frozenset[str]) -> Identity[NodeNUMA]:
    zones = tuple(
        Zone(zone.number, tuple((resource, amount) for resource, amount in zone.allocatable if resource in resources))
        for zone in node.value.zones
    )
    return _one_of(Identity(node.value.cpus), structs.replace(node.value, cpus=None, zones=zones))


@lru_cache(_MOST_ANSWERS)
def _one_of(cpus: Identity[CPUTopology | None], rest: NodeNUMA) -> Identity[NodeNUMA]:
    return Identity(structs.replace(rest, cpus=cpus.value))


@lru_cache(_MOST_ANSWERS)
def zones_alone(node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms) -> ZoneAffinity | Reason:
    """Return the zones that a policy chooses, or why none, where no other plugin has a say: cached by node and pod."""
    zones = [zone.number for zone in node.value.zones]
    every = zone_hints(node, found_by, wants, terms)
    found = chosen(terms.policy, zones, (every,), found_by.node, exclusive=terms.exclusive)
    if not isinstance(found, ZoneAffinity):
        return found
    got = portion_of(node, found_by, wants, terms, found)
    return found if isinstance(got, tuple) else got


@lru_cache(_MOST_ANSWERS)
def portion_of(
    node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms, affinity: ZoneAffinity | None
) -> tuple[Booked, Portion] | Reason:
    """Return what the pod gets and by which books, or why it gets none (`tryAllocateFromReusable`)."""
    zones = affinity.zones if affinity else None
    refusals: list[Lack] = []
    for _, every in found_by.drawing:
        tried = [_portion(room(node.value, booked, wants, terms), booked, zones) for booked in every]
        lack = next((one for one in tried if not isinstance(one, Portion)), None)
        last = tried[-1]
        if lack is None and isinstance(last, Portion):
            return every[-1], last
        refusals += [lack] if lack is not None else []
    if refusals and found_by.must_draw:
        return BeyondReservedZones(tuple(refusals))
    found = _portion(room(node.value, found_by.node, wants, terms), found_by.node, zones)
    return (found_by.node, found) if isinstance(found, Portion) else found


def _portion(space: ZoneRoom, booked: Booked, zones: ZoneSet | None) -> Portion | Lack:
    """Return the portion, if the CPUs that a reservation holds for the pod, which go first, make whole cores.

    Mirrors `satisfiedRequiredCPUBindPolicy`; without such CPUs they always do.
    """
    found = portion(space, zones)
    if not isinstance(found, Portion) or not booked.preferred or not space.terms.whole_cores:
        return found
    cpus = cpus_taken(space, booked, found)
    whole = space.node.usable(cpus, space.terms.bind_policy)
    return found if whole == cpus else NotEnoughCPUs(space.terms.cpus, whole.bit_count(), space.terms.bind_policy)


@lru_cache(_MOST_ANSWERS)
def cpus_of(node: Identity[NodeNUMA], held: Booked, wants: Wants, terms: Terms, given: Portion) -> tuple[int, ...]:
    """Return the numbers of the CPUs that the pod gets, those free by the books that are `held`."""
    return members(cpus_taken(room(node.value, held, wants, terms), held, given))


@lru_cache(_MOST_ANSWERS)
def zone_hints(node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms) -> Hints:
    """Return the sets of zones that have all CPUs and amounts (`generateResourceHints`)."""
    space = room(node.value, found_by.ranking, wants, terms)
    told = {resource for zone in node.value.zones for resource, _ in zone.allocatable}
    hints: dict[str, list[Hint]] = {resource: [] for resource, _ in wants.requests if resource in told}
    for zones in sets_of([zone.number for zone in node.value.zones]):
        if not isinstance(portion_of(node, found_by, wants, terms, ZoneAffinity(zones)), tuple):
            continue
        score = _score(space, members(zones))
        for resource, found in hints.items():
            if all(space.amounts[zone].get(resource) for zone in members(zones)):
                found.append(Hint(zones, terms.policy == "Restricted", score))
    return {resource: _preferring_few(found) for resource, found in hints.items()}


def _preferring_few(hints: list[Hint]) -> list[Hint]:
    """Return the hints, of which those with the fewest zones are preferred."""
    least = min((hint.zones.bit_count() for hint in hints if hint.zones is not None), default=0)
    few = (hint.zones is not None and hint.zones.bit_count() == least for hint in hints)
    return [structs.replace(hint, preferred=hint.preferred or is_few) for hint, is_few in zip(hints, few, strict=True)]


def _score(space: ZoneRoom, zones: tuple[int, ...]) -> int:
    """Return the score of zones with the pod; of what is no CPU or memory, only what it asks for counts."""
    asked = dict(space.wants.requests)
    if space.terms.cpus:
        asked["cpu"] = amplified(asked["cpu"], space.node.zone_ratio)
    scoring = space.wants.settings.scoring
    used: dict[str, tuple[int, int]] = {}
    for resource, _ in scoring.weights:
        total = sum(dict(zone.allocatable).get(resource, 0) for zone in space.node.zones if zone.number in zones)
        if total and (asked.get(resource) or resource in _ALWAYS_SCORED):
            taken = total - sum(space.amounts[zone].get(resource, 0) for zone in zones)
            used[resource] = taken + asked.get(resource, 0), total
    return scoring.score(used)


class Alike(Struct, frozen=True):
    """What is seen of a node by a pod that asks for some resources, and by the plugins that have a say in its zones.

    `own_policy` tells whether the pod has a policy itself: on nodes without any, zones do not matter.
    """

    resources: frozenset[str]
    own_policy: bool
    others: tuple[StateSees, ...] = ()

    def __call__(self, state: NodeState) -> Hashable:
        """Return what is seen; nodes with anything reserved are each by themselves."""
        if state.rooms:
            return state.node.name
        return self._seen(state.node, books(state), [other(state) for other in self.others])

    def everywhere(self, view: View) -> Iterator[Hashable]:
        """Yield what is seen of each node, in name order."""
        others: Iterable[Iterable[Hashable]] = repeat(())
        if self.others:
            others = zip(*(other.everywhere(view) for other in self.others), strict=True)
        reserved = selector(view, reserved_nodes(view))
        for node, booked, is_reserved, by_others in zip(
            nodes_of(view), books_everywhere(view).every(), reserved, others, strict=False
        ):
            yield node.name if is_reserved else self._seen(node, booked, by_others)

    def _seen(self, node: Node, booked: Booked, by_others: Iterable[Hashable]) -> Hashable:
        numa = node.numa
        if numa is None or not (numa.policy or self.own_policy):
            return (Identity(numa.cpus), numa.reserved, booked) if numa is not None else None
        return (as_seen(numa, self.resources), booked, *by_others)


class AmplifiedCPUs(Filter, Struct, frozen=True):
    """The filter (`filterAmplifiedCPUs`): members that are counted take up their plain requests.

    `mine` are the reservations that match: what they hold is given back, save that their CPUs count as amplified.
    """

    depends_on: ClassVar[DependsOn] = "room"
    wants: Wants
    mine: Matched

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the node has too few CPUs as they are counted, or says nothing that can be counted."""
        node = state.node.numa
        if node is None:
            return None
        if node.bad_ratio:
            return InvalidAmplification()
        if node.ratio <= 1:
            return None
        if node.known and node.cpus is None:
            return NoCPUTopology()
        need, free = self._need(node), self._free(node, state)
        return InsufficientAmplifiedCPU(need, free) if need > free else None

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes that are amplified each by itself, all others together."""
        return one_by_one(among, amplified_nodes(view))

    def counted_singly(self, view: View) -> NodeSet:
        """Return the nodes that are amplified."""
        return amplified_nodes(view)

    def most(self, state: NodeState, _trigger: PodRequirements, each: Resources) -> int | None:
        """Return how many pods the CPUs are enough for.

        In a dry run a victim's CPUs do not count as amplified until pods take up as many.
        """
        node = state.node.numa
        taken = dict(each).get("cpu", 0)
        if node is None or node.ratio <= 1 or not taken:
            return None
        free, missing, more = self._left(node, state)
        left = free - self._need(node)
        before = -(-missing // taken)
        return max(0, min(left // taken + 1, max(before, (left - more) // taken + 1)))

    def _need(self, node: NodeNUMA) -> int:
        terms = settled(node, self.wants)
        binds = isinstance(terms, Terms) and terms.cpus > 0
        return amplified(self.wants.cpu, node.ratio) if binds else self.wants.cpu

    def _free(self, node: NodeNUMA, state: NodeState) -> int:
        free, missing, more = self._left(node, state)
        return free if missing else free - more

    def _left(self, node: NodeNUMA, state: NodeState) -> tuple[int, int, int]:
        """Return what is free, how much less is requested than is held, and how much more counts once it is not."""
        sums, _ = room_with(state, self.mine.drawable.uids, used_up(state, self.mine.once))
        free = sums.get("cpu", 0)
        requested = dict(state.node.allocatable).get("cpu", 0) - free
        held = books(state).cached.bit_count() * MILLI
        return free, max(0, held - requested), amplified(held, node.ratio) - held


@memoised
def amplified_nodes(view: View) -> NodeSet:
    """Return the nodes that tell of more CPUs than they have, or cannot be read in that."""
    return classes(view, _is_amplified).get(True, 0)


def _is_amplified(node: Node) -> bool:
    return node.numa is not None and (node.numa.bad_ratio or node.numa.ratio > 1)


def prepare_amplified(trigger: PendingPod, cluster: Cluster) -> AmplifiedCPUs | None:
    """Return the filter, None where no node is amplified."""
    wants = wants_of(trigger.requirements, cluster.view.snapshot.config.numa)
    if not wants.cpu or not cluster.view.snapshot.amplified_cpus:
        return None
    return AmplifiedCPUs(wants, matched(cluster.view, trigger, cluster.once))


T = TypeVar("T")

_CARDS_MOST_REQUESTS = 16


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


@recently(_CARDS_MOST_REQUESTS)
def _zones_with(view: View, hints: CardHints, among: NodeSet) -> ZonesWith:
    """Return the nodes by the zones with the devices, asking one of each class; in a what-if those that differ."""
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


class Placing(Filter, Struct, frozen=True):
    """The filter, and what it reserves: of the trigger, and of the node and all that is booked there.

    `filters_best_effort` tells whether the policy BestEffort is looked at before a node is chosen, `defers` whether
    there may be nodes of which CPUs or zones are looked for only then, or reservations with CPUs or zones, of which
    another one may be taken than the one that has enough; `providers` are the other plugins that have a
    say in zones; `mine` are the reservations that match. `returns_owners` is as for `ways`, `scores_cpus` tells whether
    nodes that lack CPUs cannot be ranked.
    """

    depends_on: ClassVar[DependsOn] = "books"
    wants: Wants
    filters_best_effort: bool
    defers: bool = False
    providers: tuple[HintProvider, ...] = ()
    mine: Matched = NONE_MATCHED
    returns_owners: bool = False
    scores_cpus: bool = False

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return why the node has no CPUs or zones for the pod (`Filter` in plugins/nodenumaresource/plugin.go)."""
        node = state.node.numa or NOTHING_KNOWN
        terms = settled(node, self.wants)
        if not isinstance(terms, Terms):
            return terms
        refused = unbindable(node, self.wants, terms)
        if refused is not None or not self._looks(terms):
            return refused
        if not terms.policy:
            return self._lacking(node, self._ways(state), terms)
        found = self._affinity(pod, state, terms)
        return None if isinstance(found, ZoneAffinity) else found

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod; where columns do not decide, one of each part is asked."""
        known = passing = 0
        for nodes, terms in self._by_settings(view, among):
            if terms is not None:
                decided, enough = self._by_columns(view, terms)
                known |= nodes & decided
                passing |= nodes & enough
        return known & ~passing | super().refused(view, pod, among & ~known)

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by settings, and by what is booked where these do not decide alone."""
        for nodes, terms in self._by_settings(view, among):
            yield from (nodes,) if terms is None else state_parts(view, nodes, self._sees)

    def _by_settings(self, view: View, among: NodeSet) -> Iterator[tuple[NodeSet, Terms | None]]:
        """Yield the nodes by their settings, with the terms of the pod there; without where these decide alone."""
        for nodes in in_classes(view, settings_of, among):
            node = view.node(first_of(view, nodes)).numa or NOTHING_KNOWN
            terms = settled(node, self.wants)
            if isinstance(terms, Terms) and self._looks(terms) and unbindable(node, self.wants, terms) is None:
                yield nodes, terms
            else:
                yield nodes, None

    def _looks(self, terms: Terms) -> bool:
        """Tell whether the filter looks at CPUs or zones of a node with these terms."""
        if not terms.policy:
            return bool(terms.cpus) and terms.required
        return terms.policy != "BestEffort" or self.filters_best_effort

    def _by_columns(self, view: View, terms: Terms) -> tuple[NodeSet, NodeSet]:
        """Return the nodes of which what is left decides, if they have these terms, and those that take the pod."""
        policy = terms.bind_policy if terms.required else ""
        if not terms.policy:
            decided = every_node(view) & ~nodes_with(view, self.mine.drawable) & ~reserving_cpus(view)
            return decided, with_cpus(view, decided, terms.cpus, policy)
        if terms.policy != "SingleNUMANode" or terms.exclusive:
            return 0, 0
        plain = PlainZones(bool(self.wants.numa.policy))
        return in_one_zone(view, plain, self.wants.requests, terms.cpus, policy, self.providers)

    @property
    def _sees(self) -> Alike:
        others = tuple(provider.sees for provider in self.providers)
        return Alike(looked_at(self.wants), bool(self.wants.numa.policy), others)

    def reserve(self, pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Return the CPUs and amounts that are taken, or why they cannot be, which the filter may not have seen.

        They are those of the reservation that the pod takes, or of the node (`allocateWithNominated`).
        """
        node = state.node.numa or NOTHING_KNOWN
        terms = settled(node, self.wants)
        if not isinstance(terms, Terms):
            return terms
        if not terms.cpus and not terms.policy:
            return booked
        affinity: ZoneAffinity | Reason = ZoneAffinity(None)
        if terms.policy:
            affinity = self._affinity(pod, state, terms)
        if not isinstance(affinity, ZoneAffinity):
            return affinity
        seen = as_seen(node, looked_at(self.wants))
        found = portion_of(seen, self._ways(state).with_one(booked.reservation), self.wants, terms, affinity)
        if not isinstance(found, tuple):
            return found
        held, given = found
        cpus = cpus_of(seen, held, self.wants, terms, given)
        zones = None if affinity.zones is None else members(affinity.zones)
        return structs.replace(booked, cpus=CPUAllocation(cpus, given.amounts), numa_nodes=zones)

    def may_fail_to_reserve(self) -> bool:
        """Tell whether CPUs or zones are first looked for when a node has been chosen."""
        return self.defers

    def uncertain(self, view: View, among: NodeSet) -> NodeSet:
        """Return the nodes with a reservation for the trigger, and those where neither filter nor CPUs left decide."""
        found = among & nodes_with(view, self.mine.drawable)
        for nodes in classes(view, settings_of).values():
            asked = nodes & among & ~found
            terms = settled(view.node(first_of(view, nodes)).numa or NOTHING_KNOWN, self.wants)
            if asked and isinstance(terms, Terms) and not self._looks(terms):
                found |= asked if terms.policy else asked & ~with_cpus(view, asked, terms.cpus, "")
        return found

    def unscored(self, _pod: PendingPod, state: NodeState) -> Reason | None:
        """Return why a node has no CPUs for the pod, whatever its zones (`Score` in nodenumaresource/scoring.go)."""
        node = state.node.numa or NOTHING_KNOWN
        terms = settled(node, self.wants)
        if not self.scores_cpus or not isinstance(terms, Terms) or not terms.cpus or self._looks(terms):
            return None
        return self._lacking(node, self._ways(state), terms) if terms.policy and node.cpus is not None else None

    def gives(self, pod: PendingPod, state: NodeState, uid: str) -> bool:
        """Tell whether a reservation has the CPUs and zones for a pod, or holds none (`FilterNominateReservation`).

        Before owners were returned, that was not looked at for a pod that need not draw on one.
        """
        node = state.node.numa or NOTHING_KNOWN
        terms = settled(node, self.wants)
        one = self._ways(state).with_one(uid)
        asked = isinstance(terms, Terms) and (terms.cpus or terms.policy)
        if not isinstance(terms, Terms) or not asked or not one.drawing or not (one.must_draw or self.returns_owners):
            return True
        affinity, alone = self._chosen(pod, state, terms), structs.replace(one, must_draw=True)
        seen = as_seen(node, looked_at(self.wants))
        return isinstance(affinity, ZoneAffinity) and isinstance(
            portion_of(seen, alone, self.wants, terms, affinity), tuple
        )

    def zones_chosen(self, pod: PendingPod, state: NodeState) -> frozenset[int] | None:
        """Return the zones of a node that the filter has chosen, None where it chooses none."""
        terms = settled(state.node.numa or NOTHING_KNOWN, self.wants)
        found = self._chosen(pod, state, terms) if isinstance(terms, Terms) else ZoneAffinity(None)
        return frozenset(members(found.zones)) if isinstance(found, ZoneAffinity) and found.zones is not None else None

    def _chosen(self, pod: PendingPod, state: NodeState, terms: Terms) -> ZoneAffinity | Reason:
        """Return the zones that the filter has chosen, or why it finds none; what Reserve chooses is open yet."""
        chooses = terms.policy and (terms.policy != "BestEffort" or self.filters_best_effort)
        return self._affinity(pod, state, terms) if chooses else ZoneAffinity(None)

    def _ways(self, state: NodeState) -> ZoneWays:
        return ways(state, self.mine, returns_owners=self.returns_owners)

    def _lacking(self, node: NodeNUMA, found_by: ZoneWays, terms: Terms) -> Reason | None:
        found = portion_of(as_seen(node, looked_at(self.wants)), found_by, self.wants, terms, None)
        return None if isinstance(found, tuple) else found

    def _affinity(self, pod: PendingPod, state: NodeState, terms: Terms) -> ZoneAffinity | Reason:
        """Return the zones that the policy chooses and that give the pod all it asks, or why there are none.

        All zones where the policy is unknown, which refuses no pod: what comes of it is open.
        """
        node = state.node.numa or NOTHING_KNOWN
        found_by, seen = self._ways(state), as_seen(node, looked_at(self.wants))
        untold = _untold(node, terms)
        if untold is not None or terms.policy == "Unknown":
            return ZoneAffinity(None) if untold is None else untold
        if not self.providers:
            return zones_alone(seen, found_by, self.wants, terms)
        given: list[Hints] = [zone_hints(seen, found_by, self.wants, terms)]
        for provider in self.providers:
            hints = provider.hints(pod, state)
            if not isinstance(hints, Mapping):
                return hints
            given.append(hints)
        zones = [zone.number for zone in node.zones]
        found = chosen(terms.policy, zones, given, found_by.node, exclusive=terms.exclusive)
        if not isinstance(found, ZoneAffinity):
            return found
        got = portion_of(seen, found_by, self.wants, terms, found)
        if not isinstance(got, tuple):
            return got
        refusals = (provider.refusal(pod, state, found.zones) for provider in self.providers)
        return next((refused for refused in refusals if refused is not None), found)


def _untold(node: NodeNUMA, terms: Terms) -> Reason | None:
    """Return what a node does not tell that a choice of zones needs: zones, and CPUs, if these may limit them.

    Mirrors `FilterByNUMANode` and `GetPodTopologyHints` in plugins/nodenumaresource/topology_hint.go.
    """
    if not node.zones:
        return NoZones()
    return NoCPUTopology(unresolvable=False) if terms.required and node.cpus is None else None


def prepare(trigger: PendingPod, cluster: Cluster) -> Placing | None:
    """Return the filter, None where neither the pod nor any node has a setting that counts."""
    wants = wants_of(trigger.requirements, cluster.view.snapshot.config.numa)
    if not wants.requests or not (wants.is_special or cluster.view.snapshot.numa_settings):
        return None
    best_effort = wants.numa.policy == "BestEffort" or cluster.view.snapshot.best_effort_zones
    prefers = wants.binds and not wants.required
    rules = cluster.rules
    mine = matched(cluster.view, trigger, cluster.once)
    return Placing(
        wants,
        rules.filters_best_effort,
        prefers or (best_effort and not rules.filters_best_effort) or _hold_cpus(mine, cluster.view),
        hints_for(trigger, cluster, mine),
        mine,
        rules.returns_owners_of_zones,
        rules.fails_to_score_cpus,
    )


def _hold_cpus(mine: Matched, view: View) -> bool:
    states = (view.state(node) for node in mine.drawable.by_node)
    return any(state.rooms[one.uid].allocations.cpus for state in states for one in mine.drawable.on(state))


class Settings(Filter, Struct, frozen=True):
    """The filter: the trigger and the node alone count."""

    depends_on: ClassVar[DependsOn] = "node"
    wants: Wants

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the policies differ, or the node binds CPUs and the pod asks for parts of one."""
        found = settled(state.node.numa or NOTHING_KNOWN, self.wants)
        return None if isinstance(found, Terms) else found

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by their settings."""
        return in_classes(view, settings_of, among)


def prepare_settings(
    trigger: PendingPod, cluster: Cluster
) -> Settings | FractionalBinding | UnreadableAnnotation | None:
    """Return the filter, or why the scheduler asks no node (`PreFilter` in plugins/nodenumaresource/plugin.go)."""
    wants = wants_of(trigger.requirements, cluster.view.snapshot.config.numa)
    if wants.numa.unreadable:
        return UnreadableAnnotation(wants.numa.unreadable)
    if wants.bind_policy and wants.cpu % MILLI:
        return FractionalBinding(wants.cpu)
    if not wants.requests or not (wants.numa.policy or cluster.view.snapshot.numa_settings):
        return None
    return Settings(wants)
