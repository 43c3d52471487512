"""The slots of domains: the sums of those of their nodes."""

from collections.abc import Mapping, Sequence
from itertools import compress

from kubectl_koord.engine.columns import NodeSet, names_of, packed, selector, with_same_names
from kubectl_koord.engine.levels import Levels
from kubectl_koord.engine.tree import Tree
from kubectl_koord.engine.view import View
from kubectl_koord.model.values.memo import Identity, Memo, memoised, recently

_MOST_OFFERS = 16
"""Of so many offers a view keeps the slots of domains."""


class Domains(Memo):
    """The slots of the domains of a tree, and what follows from them: gangs to which nodes offer the same share it."""

    def __init__(self, tree: Tree, nodes: Mapping[str, int], multiples: Mapping[str, int]) -> None:
        """Take the slots of nodes, and the pod count multiple by layer."""
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
