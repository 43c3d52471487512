"""CPUs that are bound and zones that are chosen: whether a node has them for a pod, and which ones it gets."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, classes, every_node, first_of, state_classes, state_parts
from kubectl_koord.engine.fit.check import Asked, Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.numa.alike import Alike
from kubectl_koord.engine.fit.numa.allocate import Portion
from kubectl_koord.engine.fit.numa.books import Booked
from kubectl_koord.engine.fit.numa.cards import hints_for
from kubectl_koord.engine.fit.numa.columns import PlainZones, in_one_zone, reserving_cpus, with_cpus
from kubectl_koord.engine.fit.numa.given import as_seen, cpus_of, looked_at, portion_of, zone_hints, zones_alone
from kubectl_koord.engine.fit.numa.hints import HintProvider, Hints, ZoneAffinity, chosen
from kubectl_koord.engine.fit.numa.restored import ZoneWays, ways
from kubectl_koord.engine.fit.numa.terms import NOTHING_KNOWN, Terms, Wants, settings_of, settled, unbindable, wants_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.numa import NoCPUTopology, NoZones
from kubectl_koord.engine.reservations import NONE_MATCHED, Matched, matched, nodes_with
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import Allocations, CPUAllocation
from kubectl_koord.model.hardware.numa import NodeNUMA, members
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.memo import Identity, recently

_MOST_KINDS = 64
_Numbers: TypeAlias = Callable[[Identity[NodeNUMA], Booked, Wants, Terms, Portion], tuple[int, ...]]


class Placing(Stateless, Struct, frozen=True):
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
                refusing |= asked & ~self._passing(view, pod, nodes, asked, terms)
        return refusing

    def _looks(self, terms: Terms) -> bool:
        """Tell whether the filter looks at CPUs or zones of a node with these terms."""
        if not terms.policy:
            return bool(terms.cpus) and terms.required
        return terms.policy != "BestEffort" or self.filters_best_effort

    def _passing(self, view: View, pod: PendingPod, nodes: NodeSet, among: NodeSet, terms: Terms) -> NodeSet:
        """Return the nodes of a set that take the pod, of all `nodes` that have these terms.

        Where columns do not decide, one node of each class is asked, once for pods that are alike.
        """
        decided, passing = self._by_columns(view, terms)
        left = among & ~decided

        def parts() -> Iterator[NodeSet]:
            return (one & nodes & ~decided for one in state_classes(view, self._sees).values())

        def refuses(state: NodeState) -> bool:
            return self.reject(pod, state, pod.requirements) is not None

        refused = _asked(view, self).refused(view, left, parts, refuses)
        return among & passing | left & ~refused

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

    def alike(self, view: View, _pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set by settings, and by what is booked where these do not refuse the pod alone."""
        for nodes in classes(view, settings_of).values():
            of_class = nodes & refused
            if of_class:
                node = view.node(first_of(view, of_class)).numa or NOTHING_KNOWN
                terms = settled(node, self.wants)
                is_settled = not isinstance(terms, Terms) or unbindable(node, self.wants, terms) is not None
                yield from (of_class,) if is_settled else state_parts(view, of_class, self._sees)

    def reserve(self, pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Return the CPUs and amounts that are taken, or why they cannot be, which the filter may not have seen.

        They are those of the reservation that the pod takes, or of the node (`allocateWithNominated`).
        """
        return self._booking(pod, state, booked, cpus_of)

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
        seen = as_seen(node, looked_at(self.wants))
        found = portion_of(seen, self._ways(state).with_one(booked.reservation), self.wants, terms, affinity)
        if not isinstance(found, tuple):
            return found
        held, given = found
        cpus = numbers(seen, held, self.wants, terms, given)
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


@recently(_MOST_KINDS)
def _asked(_view: View, _check: Placing) -> Asked:
    """Return where it is kept which nodes were asked: none at first."""
    return Asked()


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
    """Tell whether any reservation that matches holds CPUs or zones."""
    states = (view.state(node) for node in mine.drawable.by_node)
    return any(state.rooms[one.uid].allocations.cpus for state in states for one in mine.drawable.on(state))
