"""How many pods nodes take, as sets of nodes: the same as by name."""

import pytest

from kubectl_koord.engine.placement import domain_slots, sums
from kubectl_koord.engine.slots import Counts, Levels
from kubectl_koord.engine.state import of
from kubectl_koord.engine.table import NodeNames, every_node, named, with_names
from kubectl_koord.engine.tree import Tree, tree_of
from tests.build import cluster, node


@pytest.mark.parametrize("most", [0, 1, 4])
def test_numbers_of_pods_are_the_same_in_sets_of_nodes_as_by_name(most: int) -> None:
    view = of(cluster("s0: b0[n1 n2 n3] b1[n4 n5 n6]"))
    names = list(view.names())
    by_name = {name: number for at, name in enumerate(names) if (number := at * 7 % (most + 1))}
    counts = Counts(by_name)
    sets = (named(view, (name for name in by_name if by_name[name] > number)) for number in range(most))
    levels = Levels(view, [nodes for nodes in sets if nodes])
    assert (dict(levels), list(levels), list(levels.values())) == (by_name, list(by_name), list(by_name.values()))
    assert (len(levels), levels.total(), bool(levels)) == (len(counts), counts.total(), bool(counts))
    assert [name in levels for name in names] == [name in counts for name in names]
    assert [levels[name] for name in names] == [counts[name] for name in names]
    assert list(levels.most_first()) == list(counts.most_first())
    assert dict(levels.among(names[:2])) == dict(counts.among(names[:2]))
    assert sum(nodes.bit_count() * number for number, nodes in levels.exactly()) == counts.total()
    assert levels.at_least(most + 1) == 0


def test_slots_of_domains_are_the_same_in_sets_of_nodes_as_by_name() -> None:
    drawing = cluster("s0: b0[n1 n2 n3] b1[n4 n5 n6]").with_nodes(node("alone"))
    view = of(drawing)
    tree = tree_of(drawing)
    assert isinstance(tree, Tree)
    levels = Levels(view, [every_node(view), named(view, ("n1", "n4", "n5", "alone"))])
    for one in (levels, Levels(view.without([]), levels.sets)):
        assert sums(tree, one) == sums(tree, dict(one))
        multiples = {"BlockLayer": 2, "SpineLayer": 4}
        assert domain_slots(tree, one, multiples) == domain_slots(tree, dict(one), multiples)


def test_gangs_to_which_nodes_offer_the_same_share_the_slots_of_domains() -> None:
    drawing = cluster("s0: b0[n1 n2 n3] b1[n4 n5 n6]")
    view, tree = of(drawing), tree_of(drawing)
    assert isinstance(tree, Tree)
    one, other = (domain_slots(tree, Levels(view, [named(view, ("n1", "n5"))]), {"BlockLayer": 1}) for _ in range(2))
    assert one is other


def test_a_set_of_nodes_tells_their_names_as_a_list_does() -> None:
    view = of(cluster("s0: b0[n1 n2 n3]"))
    some, none = NodeNames(view, named(view, ("n1", "n3"))), NodeNames(view, 0)
    assert ([*some], len(some), [*none], len(none)) == (["n1", "n3"], 2, [], 0)
    assert [name in some for name in ("n1", "n2", "n9", None)] == [True, False, False, False]
    assert {some, NodeNames(view, some.nodes), none} == {some, none}
    assert with_names(view, some) == with_names(view, ["n1", "n3"]) == some.nodes
