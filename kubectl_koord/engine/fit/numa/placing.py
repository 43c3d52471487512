"""CPUs that are bound and zones that are chosen: whether a node has them for a pod, and which ones it gets."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import ClassVar, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, classes, every_node, first_of, grouped
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.numa.allocate import Portion, ZoneRoom, cpus_taken, portion, room
from kubectl_koord.engine.fit.numa.books import Booked, books
from kubectl_koord.engine.fit.numa.cards import hints_for
from kubectl_koord.engine.fit.numa.columns import PlainZones, in_one_zone, with_cpus
from kubectl_koord.engine.fit.numa.hints import Hint, HintProvider, Hints, ZoneAffinity, chosen, sets_of
from kubectl_koord.engine.fit.numa.restored import ZoneWays, ways
from kubectl_koord.engine.fit.numa.terms import NOTHING_KNOWN, Terms, Wants, settings_of, settled, unbindable, wants_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.numa import BeyondReservedZones, Lack, NoZones
from kubectl_koord.engine.reservations import NONE_MATCHED, Matched, matched, nodes_with
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import Allocations, CPUAllocation
from kubectl_koord.model.hardware.numa import NodeNUMA, amplified, members
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.memo import Identity

_Numbers: TypeAlias = Callable[[Identity[NodeNUMA], Booked, Wants, Terms, Portion], tuple[int, ...]]
_MOST_ANSWERS = 1 << 15
_SCORED = ("cpu", "memory")


class Placing(Stateless, Struct, frozen=True):
    """The filter, and what it reserves: of the trigger, and of the node and all that is booked there.

    `filters_best_effort` tells whether the policy BestEffort is looked at before a node is chosen, `defers` whether
    there may be nodes of which CPUs or zones are looked for only then, or reservations with CPUs or zones, of which
    another one may be taken than the one that has enough; `providers` are the other plugins that have a
    say in zones; `mine` are the reservations that match. `returns_owners` is as for `ways`.
    """

    depends_on: ClassVar[DependsOn] = "books"
    wants: Wants
    filters_best_effort: bool
    defers: bool = False
    providers: tuple[HintProvider, ...] = ()
    mine: Matched = NONE_MATCHED
    returns_owners: bool = False

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
        """Return the nodes of a set that refuse the pod: by their settings, by their zones, or asking each."""
        refusing = 0
        for nodes in classes(view, settings_of).values():
            asked = nodes & among
            if not asked:
                continue
            node = view.node(first_of(view, asked)).numa or NOTHING_KNOWN
            terms = settled(node, self.wants)
            if not isinstance(terms, Terms) or unbindable(node, self.wants, terms) is not None:
                refusing |= asked
            elif self._looks(terms):
                refusing |= asked & ~self._passing(view, pod, asked, terms)
        return refusing

    def _looks(self, terms: Terms) -> bool:
        """Tell whether the filter looks at CPUs or zones of a node with these terms."""
        if not terms.policy:
            return bool(terms.cpus) and terms.required
        return terms.policy != "BestEffort" or self.filters_best_effort

    def _passing(self, view: View, pod: PendingPod, among: NodeSet, terms: Terms) -> NodeSet:
        """Return the nodes of a set that take the pod, of which all have these terms."""
        decided, passing = self._by_columns(view, terms)
        passing &= among
        for nodes in grouped(view, among & ~decided, self._sees):
            state = view.state(first_of(view, nodes))
            passing |= nodes if self.reject(pod, state, pod.requirements) is None else 0
        return passing

    def _by_columns(self, view: View, terms: Terms) -> tuple[NodeSet, NodeSet]:
        """Return the nodes of which what is left decides, if they have these terms, and those that take the pod."""
        policy = terms.bind_policy if terms.required else ""
        if not terms.policy:
            decided = every_node(view) & ~nodes_with(view, self.mine.drawable)
            return decided, with_cpus(view, decided, terms.cpus, policy)
        if terms.policy != "SingleNUMANode" or terms.exclusive:
            return 0, 0
        plain = PlainZones(bool(self.wants.numa.policy))
        return in_one_zone(view, plain, self.wants.requests, terms.cpus, policy, self.providers)

    def _sees(self, state: NodeState) -> tuple[object, ...]:
        return (_seen(state), *(provider.seen(state) for provider in self.providers))

    def alike(self, view: View, _pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set by settings, and by what is booked where these do not refuse the pod alone."""
        for nodes in classes(view, settings_of).values():
            of_class = nodes & refused
            if of_class:
                node = view.node(first_of(view, of_class)).numa or NOTHING_KNOWN
                terms = settled(node, self.wants)
                is_settled = not isinstance(terms, Terms) or unbindable(node, self.wants, terms) is not None
                yield from (of_class,) if is_settled else grouped(view, of_class, self._sees)

    def reserve(self, pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Return the CPUs and amounts that are taken, or why they cannot be, which the filter may not have seen.

        They are those of the reservation that the pod takes, or of the node (`allocateWithNominated`).
        """
        return self._booking(pod, state, booked, _cpus)

    def bookable(self, pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Return the same without the numbers of the CPUs."""
        return self._booking(pod, state, booked, lambda *_: ())

    def _booking(
        self, pod: PendingPod, state: NodeState, booked: Allocations, numbers: _Numbers
    ) -> Allocations | Reason:
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
        found = _given(Identity(node), self._ways(state).with_one(booked.reservation), self.wants, terms, affinity)
        if not isinstance(found, tuple):
            return found
        held, given = found
        cpus = numbers(Identity(node), held, self.wants, terms, given)
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
        affinity = self._affinity(pod, state, terms) if terms.policy else ZoneAffinity(None)
        if not isinstance(affinity, ZoneAffinity):
            return True  # no node is chosen for this pod then
        alone = structs.replace(one, must_draw=True)
        return isinstance(_given(Identity(node), alone, self.wants, terms, affinity), tuple)

    def _ways(self, state: NodeState) -> ZoneWays:
        return ways(state, self.mine, returns_owners=self.returns_owners)

    def _lacking(self, node: NodeNUMA, found_by: ZoneWays, terms: Terms) -> Reason | None:
        found = _given(Identity(node), found_by, self.wants, terms, None)
        return None if isinstance(found, tuple) else found

    def _affinity(self, pod: PendingPod, state: NodeState, terms: Terms) -> ZoneAffinity | Reason:
        """Return the zones that the policy chooses and that give the pod all it asks, or why there are none."""
        node = state.node.numa or NOTHING_KNOWN
        found_by = self._ways(state)
        if not node.zones:
            return NoZones()
        if not self.providers:
            return _alone(Identity(node), found_by, self.wants, terms)
        given: list[Hints] = [_hints(Identity(node), found_by, self.wants, terms)]
        for provider in self.providers:
            hints = provider.hints(pod, state)
            if not isinstance(hints, Mapping):
                return hints
            given.append(hints)
        zones = [zone.number for zone in node.zones]
        found = chosen(terms.policy, zones, given, found_by.node, exclusive=terms.exclusive)
        if not isinstance(found, ZoneAffinity):
            return found
        got = _given(Identity(node), found_by, self.wants, terms, found)
        if not isinstance(got, tuple):
            return got
        refusals = (provider.refusal(pod, state, found.zones) for provider in self.providers)
        return next((refused for refused in refusals if refused is not None), found)


def _seen(state: NodeState) -> tuple[object, ...]:
    return Identity(state.node.numa), books(state), state.node.name if state.rooms else ""


@lru_cache(_MOST_ANSWERS)
def _alone(node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms) -> ZoneAffinity | Reason:
    """Return the same where no other plugin has a say; nodes that are alike share it."""
    zones = [zone.number for zone in node.value.zones]
    hints = _hints(node, found_by, wants, terms)
    found = chosen(terms.policy, zones, (hints,), found_by.node, exclusive=terms.exclusive)
    if not isinstance(found, ZoneAffinity):
        return found
    got = _given(node, found_by, wants, terms, found)
    return found if isinstance(got, tuple) else got


@lru_cache(_MOST_ANSWERS)
def _given(
    node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms, affinity: ZoneAffinity | None
) -> tuple[Booked, Portion] | Reason:
    """Return what the pod gets and by which books, or why it gets none (`tryAllocateFromReusable`)."""
    zones = affinity.zones if affinity else None
    refusals: list[Lack] = []
    for _, every in found_by.drawing:
        tried = [portion(room(node.value, booked, wants, terms), zones) for booked in every]
        lack = next((one for one in tried if not isinstance(one, Portion)), None)
        last = tried[-1]
        if lack is None and isinstance(last, Portion):
            return every[-1], last
        refusals += [lack] if lack is not None else []
    if refusals and found_by.must_draw:
        return BeyondReservedZones(tuple(refusals))
    found = portion(room(node.value, found_by.node, wants, terms), zones)
    return (found_by.node, found) if isinstance(found, Portion) else found


@lru_cache(_MOST_ANSWERS)
def _cpus(node: Identity[NodeNUMA], held: Booked, wants: Wants, terms: Terms, given: Portion) -> tuple[int, ...]:
    """Return the numbers of the CPUs that the pod gets, those free by the books that are `held`."""
    return members(cpus_taken(room(node.value, held, wants, terms), held, given))


@lru_cache(_MOST_ANSWERS)
def _hints(node: Identity[NodeNUMA], found_by: ZoneWays, wants: Wants, terms: Terms) -> Hints:
    """Return the sets of zones that have all CPUs and amounts (`generateResourceHints`)."""
    space = room(node.value, found_by.ranking, wants, terms)
    told = {resource for zone in node.value.zones for resource, _ in zone.allocatable}
    hints: dict[str, list[Hint]] = {resource: [] for resource, _ in wants.requests if resource in told}
    for zones in sets_of([zone.number for zone in node.value.zones]):
        if not isinstance(_given(node, found_by, wants, terms, ZoneAffinity(zones)), tuple):
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
    """Return how empty zones would be with the pod, in percent (`leastResourceScorer`)."""
    asked = dict(space.wants.requests)
    if space.terms.cpus:
        asked["cpu"] = amplified(asked["cpu"], space.node.zone_ratio)
    shares = []
    for resource in _SCORED:
        total = sum(dict(zone.allocatable).get(resource, 0) for zone in space.node.zones if zone.number in zones)
        free = sum(space.amounts[zone].get(resource, 0) for zone in zones) - asked.get(resource, 0)
        if total:
            shares.append(max(0, free) * 100 // total)
    return sum(shares) // len(shares) if shares else 0


def prepare(trigger: PendingPod, cluster: Cluster) -> Placing | None:
    """Return the filter, None where neither the pod nor any node has a setting that counts."""
    wants = wants_of(trigger.requirements)
    if not wants.requests or not (wants.is_special or cluster.view.snapshot.numa_settings):
        return None
    best_effort = wants.numa.policy == "BestEffort" or cluster.view.snapshot.best_effort_zones
    prefers = wants.binds and not wants.numa.required
    rules = cluster.rules
    mine = matched(cluster.view, trigger, cluster.once)
    return Placing(
        wants,
        rules.filters_best_effort,
        prefers or (best_effort and not rules.filters_best_effort) or _hold_cpus(mine, cluster.view),
        hints_for(trigger, cluster),
        mine,
        rules.returns_owners_of_zones,
    )


def _hold_cpus(mine: Matched, view: View) -> bool:
    """Tell whether any reservation that matches holds CPUs or zones."""
    states = (view.state(node) for node in mine.drawable.by_node)
    return any(state.rooms[one.uid].allocations.cpus for state in states for one in mine.drawable.on(state))
