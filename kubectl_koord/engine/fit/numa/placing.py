"""CPUs that are bound and zones that are chosen: whether a node has them for a pod, and which ones it gets."""

from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, state_classes
from kubectl_koord.engine.fit.check import ByClass, Cluster, DependsOn
from kubectl_koord.engine.fit.numa.allocate import Portion, Room, cpus_taken, portion, room
from kubectl_koord.engine.fit.numa.books import Booked, books
from kubectl_koord.engine.fit.numa.cards import hints_for
from kubectl_koord.engine.fit.numa.hints import Affinity, Hint, HintProvider, Hints, chosen, sets_of
from kubectl_koord.engine.fit.numa.terms import NOTHING_KNOWN, Terms, Wants, settled, unbindable, wants_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.numa import NoZones
from kubectl_koord.engine.view import View
from kubectl_koord.model.allocations import Allocations, CPUAllocation
from kubectl_koord.model.numa import NodeNUMA, amplified, members
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.memo import Identity

_MOST_ANSWERS = 1 << 15
_SCORED = ("cpu", "memory")


class Placing(ByClass, Struct, frozen=True):
    """The filter, and what it reserves: of the trigger, and of the node and all that is booked there.

    `filters_best_effort` tells whether the policy BestEffort is looked at before a node is chosen, `defers` whether
    there may be nodes of which CPUs or zones are looked for only then; `providers` are the other plugins that have a
    say in zones.
    """

    depends_on: ClassVar[DependsOn] = "books"
    wants: Wants
    filters_best_effort: bool
    defers: bool = False
    providers: tuple[HintProvider, ...] = ()

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return why the node has no CPUs or zones for the pod (`Filter` in plugins/nodenumaresource/plugin.go)."""
        node = state.node.numa or NOTHING_KNOWN
        terms = settled(node, self.wants)
        if not isinstance(terms, Terms):
            return terms
        refused = unbindable(node, self.wants, terms)
        if refused is not None:
            return refused
        if not terms.policy:
            return self._lacking(node, books(state), terms) if terms.cpus and terms.required else None
        if terms.policy == "BestEffort" and not self.filters_best_effort:
            return None
        found = self._affinity(pod, state, terms)
        return None if isinstance(found, Affinity) else found

    def classes(self, view: View, _pod: PendingPod) -> Collection[NodeSet]:
        """Return all nodes in classes; other plugins see their devices, too."""
        found: Collection[NodeSet] = state_classes(view, _seen).values()
        for provider in self.providers:
            others = provider.classes(view)
            found = [part for one in found for other in others if (part := one & other)]
        return found

    def reserve(self, pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Return the CPUs and amounts that are taken, or why they cannot be, which the filter may not have seen."""
        node = state.node.numa or NOTHING_KNOWN
        terms = settled(node, self.wants)
        if not isinstance(terms, Terms):
            return terms
        if not terms.cpus and not terms.policy:
            return booked
        affinity: Affinity | Reason = Affinity(None)
        if terms.policy:
            affinity = self._affinity(pod, state, terms)
        if not isinstance(affinity, Affinity):
            return affinity
        held = books(state)
        space = room(node, held, self.wants, terms)
        found = portion(space, affinity.zones)
        if not isinstance(found, Portion):
            return found
        cpus = members(cpus_taken(space, held, found))
        zones = None if affinity.zones is None else members(affinity.zones)
        return structs.replace(booked, cpus=CPUAllocation(cpus, found.amounts), numa_nodes=zones)

    def may_fail_to_reserve(self) -> bool:
        """Tell whether CPUs or zones are first looked for when a node has been chosen."""
        return self.defers

    def _lacking(self, node: NodeNUMA, booked: Booked, terms: Terms) -> Reason | None:
        found = _portion(Identity(node), booked, self.wants, terms, None)
        return None if isinstance(found, Portion) else found

    def _affinity(self, pod: PendingPod, state: NodeState, terms: Terms) -> Affinity | Reason:
        """Return the zones that the policy chooses and that give the pod all it asks, or why there are none."""
        node = state.node.numa or NOTHING_KNOWN
        booked = books(state)
        if not node.zones:
            return NoZones()
        if not self.providers:
            return _alone(Identity(node), booked, self.wants, terms)
        given: list[Hints] = [_hints(Identity(node), booked, self.wants, terms)]
        for provider in self.providers:
            hints = provider.hints(pod, state)
            if not isinstance(hints, Mapping):
                return hints
            given.append(hints)
        zones = [zone.number for zone in node.zones]
        found = chosen(terms.policy, zones, given, booked, exclusive=terms.exclusive)
        if not isinstance(found, Affinity):
            return found
        got = _portion(Identity(node), booked, self.wants, terms, found)
        if not isinstance(got, Portion):
            return got
        refusals = (provider.refusal(pod, state, found.zones) for provider in self.providers)
        return next((refused for refused in refusals if refused is not None), found)


def _seen(state: NodeState) -> tuple[object, ...]:
    return Identity(state.node.numa), books(state)


@lru_cache(_MOST_ANSWERS)
def _alone(node: Identity[NodeNUMA], booked: Booked, wants: Wants, terms: Terms) -> Affinity | Reason:
    """Return the same where no other plugin has a say; nodes that are alike share it."""
    zones = [zone.number for zone in node.value.zones]
    hints = _hints(node, booked, wants, terms)
    found = chosen(terms.policy, zones, (hints,), booked, exclusive=terms.exclusive)
    if not isinstance(found, Affinity):
        return found
    got = _portion(node, booked, wants, terms, found)
    return found if isinstance(got, Portion) else got


@lru_cache(_MOST_ANSWERS)
def _portion(
    node: Identity[NodeNUMA], booked: Booked, wants: Wants, terms: Terms, affinity: Affinity | None
) -> Portion | Reason:
    return portion(room(node.value, booked, wants, terms), affinity.zones if affinity else None)


@lru_cache(_MOST_ANSWERS)
def _hints(node: Identity[NodeNUMA], booked: Booked, wants: Wants, terms: Terms) -> Hints:
    """Return the sets of zones that have all CPUs and amounts (`generateResourceHints`)."""
    space = room(node.value, booked, wants, terms)
    told = {resource for zone in node.value.zones for resource, _ in zone.allocatable}
    hints: dict[str, list[Hint]] = {resource: [] for resource, _ in wants.requests if resource in told}
    for zones in sets_of([zone.number for zone in node.value.zones]):
        if not isinstance(portion(space, zones), Portion):
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


def _score(space: Room, zones: tuple[int, ...]) -> int:
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
    filters = cluster.rules.filters_best_effort
    return Placing(wants, filters, prefers or (best_effort and not filters), hints_for(trigger, cluster))
