"""From slots on nodes to a place for the gang: domains that suffice, their order, the node of each pod."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import compress
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.slots import Levels, Offer, in_index_order
from kubectl_koord.engine.state import View
from kubectl_koord.engine.table import NodeSet, names_of, packed, selector, with_same_names
from kubectl_koord.engine.tree import Domain, Tree
from kubectl_koord.model.pods import PendingPod, ReservedRoom
from kubectl_koord.model.values import Identity, Memo, memoised, recently

_MOST_OFFERS = 16
"""Size of the cache of slots of domains by offer."""


class Domains(Memo):
    """The slots of the domains of a tree, and what follows from them: gangs to which nodes offer the same share it."""

    def __init__(self, tree: Tree, nodes: Mapping[str, int], multiples: Mapping[str, int]) -> None:
        self.tree = tree
        self.multiples = multiples
        self.slots = _rounded(tree, nodes, multiples) if multiples else sums(tree, nodes)

    @memoised
    def offered(self, must_gather: str) -> tuple[int, ...]:
        """Return the slots of the start set, in the order of the tree."""
        return tuple(map(self.slots.__getitem__, self.tree.at_or_root(must_gather)))

    @memoised
    def best(self, must_gather: str) -> int:
        """Return the most slots of a domain of the start set."""
        return max(self.offered(must_gather), default=0)

    @memoised
    def candidates(self, must_gather: str, desired: int) -> tuple[int, ...]:
        """Return the domains of the last level on which any suffices (`searchOfferSlotSatisfiedNodes`)."""
        found: tuple[int, ...] = ()
        level: Sequence[int] = self.tree.at_or_root(must_gather)
        while level:
            enough = tuple(compress(level, map(desired.__le__, map(self.slots.__getitem__, level))))
            found = enough or found
            level = [child for index in enough for child in self.tree.domains[index].children]
        return found


def domain_slots(tree: Tree, nodes: Mapping[str, int], multiples: Mapping[str, int]) -> tuple[int, ...]:
    """Return the offer slots by domain: the sum of the children, rounded down to the layer's multiple."""
    return domains_of(tree, nodes, multiples).slots


def domains_of(tree: Tree, nodes: Mapping[str, int], multiples: Mapping[str, int]) -> Domains:
    """Return the slots of the domains of a tree, given those of nodes."""
    if isinstance(nodes, Levels):
        return _of_levels(nodes.view, nodes.sets, Identity(tree), tuple(multiples.items()))
    return Domains(tree, nodes, multiples)


@recently(_MOST_OFFERS)
def _of_levels(
    view: View, sets: tuple[NodeSet, ...], tree: Identity[Tree], multiples: tuple[tuple[str, int], ...]
) -> Domains:
    base = with_same_names(view)
    if base is not None:
        return _of_levels(base, sets, tree, multiples)
    return Domains(tree.value, Levels(view, sets), dict(multiples))


def _rounded(tree: Tree, nodes: Mapping[str, int], multiples: Mapping[str, int]) -> tuple[int, ...]:
    """Mirrors `evaluateTopologyNode` and `constrainOfferSlotByPodCountMultiple`."""
    slots = _by_leaf(tree, nodes)
    parents = tree.parents
    for index in range(len(slots) - 1, -1, -1):
        count = slots[index]
        count = slots[index] = count - count % multiples.get(tree.domains[index].layer, 1)
        if count and index:
            slots[parents[index]] += count
    return tuple(slots)


def sums(tree: Tree, nodes: Mapping[str, int]) -> tuple[int, ...]:
    """Return, by domain, the sum of a number over its nodes."""
    found = _by_leaf(tree, nodes)
    for index in reversed(tree.inner) if nodes else ():
        leaves = tree.leaves[index]
        found[index] += sum(found[leaves.start : leaves.stop])
        if index:
            found[tree.parents[index]] += found[index]
    return tuple(found)


def _by_leaf(tree: Tree, nodes: Mapping[str, int]) -> list[int]:
    """Return a number of each node by domain, 0 for domains that are no node."""
    found = [0] * len(tree.domains)
    if isinstance(nodes, Levels):
        leaf, inside = _leaves(nodes.view, Identity(tree))
        for number, taking in nodes.exactly():
            for index in compress(leaf, selector(nodes.view, taking & inside)):
                found[index] = number
    else:
        for name, number in nodes.items():
            if name in tree.leaf:
                found[tree.leaf[name]] = number
    return found


@memoised
def _leaves(view: View, tree: Identity[Tree]) -> tuple[Sequence[int], NodeSet]:
    """Return the domain of each node by position, and which nodes are in the tree."""
    base = with_same_names(view)
    if base is not None:
        return _leaves(base, tree)
    found = [tree.value.leaf.get(name, 0) for name in names_of(view)]
    return found, packed(bytes(map(bool, found)))


_Key: TypeAlias = tuple[object, ...]
_Seats: TypeAlias = tuple[tuple[str, int], ...]
"""How many pods go to which nodes, in turn."""


class TopologyRequirements(Struct, frozen=True):
    """What the gang asks of the topology.

    must_gather: the layer nearest to the nodes among the MustGather rules, empty for none.
    multiples: pod count multiple by layer, where it is above one.
    """

    must_gather: str = ""
    multiples: Mapping[str, int] = {}


class PlacementPlan(Struct, frozen=True):
    """The answer with its evidence.

    tree: what it was made on; its domains have the indices below. requirements: what the gang asked for.
    start: the domains of the start set (the must-gather layer, or the root); `offered` are their slots.
    slots: the offer slots by domain index, rounded to the multiples; `raw` before rounding.
    best: the most slots of a domain of the start set, and the most before rounding.
    nodes: the slots by node. `assignments` maps `ns/pod` to a node, None when no domain suffices;
    `chosen` is the domain taken.
    """

    tree: Tree
    requirements: TopologyRequirements
    desired: int
    start: tuple[int, ...]
    offered: tuple[int, ...]
    slots: tuple[int, ...]
    raw: tuple[int, ...]
    best: tuple[int, int]
    nodes: Offer
    assignments: Mapping[str, str] | None
    chosen: Domain | None


def start_set(tree: Tree, requirements: TopologyRequirements) -> tuple[int, ...]:
    """Return the domains to begin with (`searchMustGatherSatisfiedNodes`); none for an unknown layer."""
    return tree.at_or_root(requirements.must_gather)


class _Order:
    """The comparison of domains (`topologyNodeLessFunc`), as sort keys."""

    def __init__(self, domains: Domains, rules: Rules, existing: Sequence[int], scores: Sequence[int]) -> None:
        self.tree = domains.tree
        self.slots = domains.slots
        self.multiples = domains.multiples
        self.rules = rules
        self.existing = existing
        self.scores = scores

    def key(self, index: int, *, fewer_first: bool) -> _Key:
        sign = 1 if fewer_first else -1
        if not self.rules.compares_ancestors:
            return (sign * self.slots[index], -self.scores[index], self.tree.domains[index].name)
        line = tuple(self.tree.ancestors(index))
        return (
            tuple(-self.existing[above] for above in line),
            tuple(sign * self.slots[above] for above in line),
            -self.scores[index],
            self.tree.domains[index].name,
        )

    def ranked(self, indices: Sequence[int], *, fewer_first: bool) -> Iterator[int]:
        """Yield domains, at least one, in this order; the first is found without comparing all of them in full."""
        key = partial(self.key, fewer_first=fewer_first)
        first = min(self._ahead(indices, 1 if fewer_first else -1), key=key)
        yield first
        yield from sorted((index for index in indices if index != first), key=key)

    def _ahead(self, indices: Sequence[int], sign: int) -> Sequence[int]:
        """Return those of the domains, all of one layer, that are first by the pods and slots of their ancestors."""
        least_first = [(-1, self.existing)] if self.rules.compares_ancestors and any(self.existing) else []
        for factor, numbers in (*least_first, (sign, self.slots)):
            line: Sequence[int] = indices
            while len(indices) > 1 and min(line) >= 0:
                least = min(factor * numbers[above] for above in line)
                ahead = [factor * numbers[above] == least for above in line]
                indices, line = list(compress(indices, ahead)), list(compress(line, ahead))
                line = [self.tree.parents[above] for above in line] if self.rules.compares_ancestors else (-1,)
        return indices

    def first_that_fits(self, indices: Sequence[int], desired: int) -> tuple[_Seats, Domain | None]:
        """Return the seats in the first of these domains that takes so many pods; none where none does."""
        for index in self.ranked(indices, fewer_first=True) if indices else ():
            seats: list[tuple[str, int]] = []
            if self._distribute(index, desired, seats) >= desired:
                return tuple(seats), self.tree.domains[index]
        return (), None

    def _distribute(self, index: int, wanted: int, seats: list[tuple[str, int]]) -> int:
        """Hand out slots depth first, fuller children first, and return how many (`distributeOfferSlot`)."""
        domain = self.tree.domains[index]
        most = min(wanted, self.slots[index])
        most -= most % self.multiples.get(domain.layer, 1)
        if not domain.children:
            seats.append((domain.name, most))
            return most
        left = most
        assigned = 0
        for child in self.ranked(domain.children, fewer_first=False):
            if left == 0:
                break
            got = self._distribute(child, left, seats)
            left -= got
            assigned += got
        return assigned


@memoised
def _seats(domains: Domains, must_gather: str, desired: int, rules: Rules) -> tuple[_Seats, Domain | None]:
    """Return where pods go, and in which domain, where slots alone decide."""
    none = sums(domains.tree, {})
    return _Order(domains, rules, none, none).first_that_fits(domains.candidates(must_gather, desired), desired)


def _assign(pods: Sequence[PendingPod], seats: _Seats) -> dict[str, str]:
    """Give the slots, in order, to the pods in name order, not in index order (`distributePods`)."""
    places = (node for node, count in seats for _ in range(count))
    by_name = sorted(pods, key=lambda pod: (pod.name, pod.namespace))
    return {pod.key: node for pod, node in zip(by_name, places, strict=False)}


def suffices(tree: Tree, number: int, requirements: TopologyRequirements, nodes: Offer, rules: Rules) -> bool:
    """Tell whether any domain that may be chosen has slots for so many pods."""
    domains = domains_of(tree, nodes.counts, _multiples(requirements, rules))
    return bool(domains.candidates(requirements.must_gather, number))


def _multiples(requirements: TopologyRequirements, rules: Rules) -> Mapping[str, int]:
    return {layer: n for layer, n in requirements.multiples.items() if n > 1} if rules.pod_count_multiple else {}


def gather(
    tree: Tree,
    view: View,
    pods: Sequence[PendingPod],
    requirements: TopologyRequirements,
    nodes: Offer,
    rules: Rules,
    scores: Callable[[], Mapping[str, int]] = dict,
) -> PlacementPlan:
    """Return where the pods go, given the slots of each node, and the slots of every domain.

    Args:
        tree: the topology tree.
        view: the pods on the nodes (read for the topology selector only).
        pods: all pending pods of the gang group.
        requirements: what the gang asks for.
        nodes: offer slots by node; a node that is left out offers none.
        rules: the version's rules.
        scores: returns them by node, where a domain has room; preemption passes its costs (a higher one wins a tie).
    """
    multiples = _multiples(requirements, rules)
    domains = domains_of(tree, nodes.counts, multiples)
    whole = domains_of(tree, nodes.counts, {}) if multiples else domains
    layer, desired = requirements.must_gather, len(pods)
    enough = domains.candidates(layer, desired)
    existing, costs = (_existing(view, pods, nodes, rules), scores()) if enough else ({}, {})
    if existing or costs:
        seats, chosen = _Order(domains, rules, sums(tree, existing), sums(tree, costs)).first_that_fits(enough, desired)
    else:
        seats, chosen = _seats(domains, layer, desired, rules)
    return PlacementPlan(
        tree=tree,
        requirements=requirements,
        desired=desired,
        start=start_set(tree, requirements),
        offered=domains.offered(layer),
        slots=domains.slots,
        raw=whole.slots,
        best=(domains.best(layer), whole.best(layer)),
        nodes=nodes,
        assignments=_assign(pods, seats) if chosen is not None else None,
        chosen=chosen,
    )


def _existing(view: View, pods: Sequence[PendingPod], nodes: Offer, rules: Rules) -> dict[str, int]:
    """Return pods of the first pod's topology selector by node (`calculateNodeExistingPodsNum`).

    Upstream counts after the slot count has put the gang's own pods on the nodes: they count, too.
    """
    ordered = in_index_order(pods)
    selector = ordered[0].selector if ordered else ""
    if not selector or not rules.compares_ancestors:
        return {}
    found = {}
    for name in nodes:
        own = ordered[: min(nodes.counts[name], len(ordered) - 1)]
        there = (*view.occupants(name), *own)
        found[name] = sum(1 for one in there if not isinstance(one, ReservedRoom) and one.selector == selector)
    return found
