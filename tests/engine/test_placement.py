"""Sections 2 to 4 of the reference: slots of domains, which domain is taken, who sits where."""

import pytest

from kubectl_koord.engine.placement import sums
from kubectl_koord.engine.slots import Levels
from kubectl_koord.engine.state import of
from kubectl_koord.engine.table import named
from kubectl_koord.engine.tree import Tree, build
from tests.build import BLOCK, NODE, ROOT, SPINE, Drawing, cluster, gathering_of, rules, short

WORKED = cluster(
    "spine-0: block-0[node-0 node-1 node-2] block-1[node-3 node-4];"
    "spine-1: block-2[node-5 node-6] block-3[node-7 node-8];"
    "spine-2: block-4[node-10 node-11 node-9]"
)
OLD_AND_NEW = pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
NEW = pytest.mark.parametrize("version", ["1.8", "main"])


def assignments(drawing: Drawing) -> dict[str, str]:
    return short(gathering_of(drawing).assignments)


def slots(drawing: Drawing, *, start_only: bool = True) -> dict[str, int]:
    found = gathering_of(drawing)
    shown = found.start if start_only else range(len(found.tree.domains))
    return {found.tree.domains[index].name: found.slots[index] for index in shown}


def chosen(drawing: Drawing) -> str | None:
    domain = gathering_of(drawing).chosen
    return domain.name if domain is not None else None


@OLD_AND_NEW
def test_the_worked_example_goes_to_the_spine_with_no_waste(version: str) -> None:
    drawing = WORKED.with_gang("job", 4, 8, must_gather=SPINE).version(version)
    assert slots(drawing) == {"spine-0": 5, "spine-1": 4, "spine-2": 3}
    assert assignments(drawing) == {"job-0": "node-5", "job-1": "node-6", "job-2": "node-7", "job-3": "node-8"}


@OLD_AND_NEW
def test_a_domain_offers_the_sum_of_its_nodes(version: str) -> None:
    drawing = cluster("s0: b0[n1:8 n2:3] b1[n3:4]").with_gang("job", 9, 2, must_gather=SPINE).version(version)
    assert slots(drawing, start_only=False) == {"": 7, "s0": 7, "b0": 5, "n1": 4, "n2": 1, "b1": 2, "n3": 2}


def test_nodes_outside_the_tree_offer_nothing() -> None:
    drawing = cluster("s0: b0[n1:8]; -: b1[n2:8]").with_gang("job", 2, 8, must_gather=SPINE)
    found = gathering_of(drawing)
    assert (slots(drawing), found.nodes["n2"].slots, found.assignments) == ({"s0": 1}, 1, None)


@pytest.mark.parametrize("most", [2, 300])
def test_domains_offer_the_sums_however_the_slots_of_nodes_are_held(most: int) -> None:
    drawing = cluster("s0: b0[n1 n2]; -: b1[n3]; s1: b2[n4]")
    view, tree = of(drawing), build(drawing.topologies, drawing.nodes)
    held = Levels(view, [named(view, ("n1", "n3", "n4")), *[named(view, ("n4",))] * (most - 1)])
    assert isinstance(tree, Tree)
    assert sums(tree, held) == sums(tree, dict(held.items())) == sums(tree, {"n1": 1, "n3": 1, "n4": most})


def test_without_a_hard_layer_the_start_is_the_root() -> None:
    drawing = WORKED.with_gang("job", 6, 8, topology=rules())
    assert slots(drawing) == {"": 12}
    assert assignments(drawing) == {
        "job-0": "node-0",
        "job-1": "node-1",
        "job-2": "node-2",
        "job-3": "node-3",
        "job-4": "node-4",
        "job-5": "node-5",
    }


def test_the_root_may_be_named_as_the_hard_layer() -> None:
    assert slots(WORKED.with_gang("job", 6, 8, must_gather=ROOT)) == {"": 12}


def test_preferences_do_not_steer() -> None:
    drawing = WORKED.with_gang("job", 4, 8, topology=rules(f"PreferGather {BLOCK}"))
    assert chosen(drawing) == "spine-1"


def test_an_unknown_layer_has_no_domains() -> None:
    drawing = WORKED.with_gang("job", 1, 8, must_gather="spineLayer")
    found = gathering_of(drawing)
    assert (found.start, found.assignments) == ((), None)


def test_the_lowest_level_on_which_any_domain_suffices_wins() -> None:
    drawing = WORKED.with_gang("job", 3, 8, must_gather=SPINE)
    assert (chosen(drawing.version("1.7")), chosen(drawing)) == ("block-0", "block-4")


@OLD_AND_NEW
def test_a_block_in_one_spine_beats_a_spine_that_fits_as_a_whole(version: str) -> None:
    drawing = cluster("s0: b0[n1 n2] b1[n3]; s1: b2[n4 n5 n6]").with_gang("job", 3, 8, must_gather=SPINE)
    assert chosen(drawing.version(version)) == "b2"


@OLD_AND_NEW
def test_one_node_that_takes_everything_beats_all(version: str) -> None:
    drawing = cluster("s0: b0[n1:4 n2:4]; s1: b1[n3:8 n4:4]").with_gang("job", 2, 4, must_gather=SPINE)
    assert assignments(drawing.version(version)) == {"job-0": "n3", "job-1": "n3"}


@OLD_AND_NEW
def test_of_several_nodes_the_one_with_the_least_left_is_taken(version: str) -> None:
    drawing = cluster("s0: b0[n1:64 n2:8 n3:12]").with_gang("job", 2, 4, must_gather=SPINE)
    assert chosen(drawing.version(version)) == "n1"  # all offer two slots: their names decide


@OLD_AND_NEW
def test_the_gang_must_not_leave_its_hard_layer(version: str) -> None:
    drawing = WORKED.with_gang("job", 4, 8, must_gather=BLOCK).version(version)
    found = gathering_of(drawing)
    assert (found.desired, found.assignments, found.chosen) == (4, None, None)
    assert slots(drawing) == {"block-0": 3, "block-1": 2, "block-2": 2, "block-3": 2, "block-4": 3}


@OLD_AND_NEW
def test_nodes_may_be_the_hard_layer(version: str) -> None:
    drawing = cluster("s0: b0[n1:4 n2:8]").with_gang("job", 2, 4, must_gather=NODE).version(version)
    assert (slots(drawing), assignments(drawing)) == ({"n1": 1, "n2": 2}, {"job-0": "n2", "job-1": "n2"})


def test_1_7_compares_candidates_by_their_own_slots_alone() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]; s1: b2[n3]").with_gang("job", 1, 8, must_gather=BLOCK)
    assert (chosen(drawing.version("1.7")), chosen(drawing)) == ("n1", "n3")


@NEW
def test_1_8_compares_ancestors_where_candidates_tie(version: str) -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3]").with_gang("job", 1, 8, must_gather=SPINE).version(version)
    assert chosen(drawing) == "n3"


@OLD_AND_NEW
def test_fuller_children_are_filled_first(version: str) -> None:
    drawing = cluster("s0: b0[n1:4] b1[n2:4 n3:8]").with_gang("job", 4, 4, must_gather=SPINE).version(version)
    assert assignments(drawing) == {"job-0": "n3", "job-1": "n3", "job-2": "n2", "job-3": "n1"}


def test_a_child_that_is_not_needed_gets_nobody() -> None:
    drawing = cluster("s0: b0[n1 n2] b1[n3 n4] b2[n5]").with_gang("job", 3, 8, must_gather=SPINE)
    assert assignments(drawing) == {"job-0": "n1", "job-1": "n2", "job-2": "n3"}


@OLD_AND_NEW
def test_pods_take_their_seats_by_name_as_plain_text_whatever_their_index(version: str) -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("job", 0, must_gather=SPINE).version(version)
    for name, index in (("w-10", 2), ("w-2", 1), ("w-0", 0)):
        drawing = drawing.with_pod(name, gang="job", cpu=8, index=index)
    assert assignments(drawing) == {"w-0": "n1", "w-10": "n2", "w-2": "n3"}


def test_slots_are_counted_in_index_order_in_units_of_the_trigger() -> None:
    drawing = cluster("s0: b0[n1:6]").with_gang("job", 0, must_gather=SPINE)
    drawing = drawing.with_pod("a-big", gang="job", cpu=4).with_pod("b-small", gang="job", cpu=2)
    assert gathering_of(drawing).nodes["n1"].slots == 1
    assert gathering_of(drawing.change_pods("b-small", index=0)).nodes["n1"].slots == 2


@NEW
def test_slots_of_a_layer_with_a_multiple_are_rounded_down(version: str) -> None:
    spec = rules(f"MustGather {SPINE} x4", f"PreferGather {BLOCK} x2")
    drawing = cluster("s0: b0[n1 n2 n3] b1[n4 n5 n6]; s1: b2[n7 n8]").with_gang("job", 4, 8, topology=spec)
    drawing = drawing.version(version)
    assert slots(drawing, start_only=False) | {"n1": 1} == {
        "": 4,
        "s0": 4,
        "b0": 2,
        "b1": 2,
        "s1": 0,
        "b2": 2,
    } | {f"n{number}": 1 for number in range(1, 9)}
    assert assignments(drawing) == {"job-0": "n1", "job-1": "n2", "job-2": "n4", "job-3": "n5"}


def test_1_7_knows_no_multiples() -> None:
    spec = rules(f"MustGather {SPINE} x4")
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("job", 3, 8, topology=spec)
    assert (slots(drawing.version("1.7")), slots(drawing)) == ({"s0": 3}, {"s0": 0})
    assert assignments(drawing.version("1.7")) == {"job-0": "n1", "job-1": "n2", "job-2": "n3"}


@NEW
def test_a_number_that_is_no_multiple_is_never_placed_above_that_layer(version: str) -> None:
    spec = rules(f"PreferGather {BLOCK} x4")
    drawing = cluster("s0: b0[n1 n2 n3 n4 n5 n6 n7 n8]").with_gang("job", 6, 8, topology=spec).version(version)
    found = gathering_of(drawing)
    assert (slots(drawing), found.assignments) == ({"": 8}, None)


@NEW
def test_but_it_may_be_placed_on_one_node_below_it(version: str) -> None:
    spec = rules(f"PreferGather {BLOCK} x4")
    drawing = cluster("s0: b0[n1:48 n2:16]").with_gang("job", 6, 8, topology=spec).version(version)
    assert set(assignments(drawing).values()) == {"n1"}


def test_raw_slots_are_those_before_rounding() -> None:
    spec = rules(f"MustGather {SPINE} x4")
    found = gathering_of(cluster("s0: b0[n1 n2 n3]").with_gang("job", 3, 8, topology=spec))
    assert (found.raw[1], found.slots[1]) == (3, 0)


@NEW
def test_domains_with_pods_of_the_same_selector_come_first(version: str) -> None:
    drawing = cluster("s0: b0[n1:8] b1[n2:8]").with_running("mate", on="n2", cpu=0, selector="ring")
    drawing = drawing.with_reserved("room", on="n1", cpu=0)
    alone = drawing.with_gang("job", 1, 4, must_gather=BLOCK).version(version)
    assert (chosen(alone), chosen(alone.change_pods(selector="ring"))) == ("n1", "n2")


def test_1_7_ignores_the_selector() -> None:
    drawing = cluster("s0: b0[n1:8] b1[n2:8]").with_running("mate", on="n2", cpu=0, selector="ring")
    assert chosen(drawing.with_gang("job", 1, 4, must_gather=BLOCK, selector="ring").version("1.7")) == "n1"


@NEW
def test_the_gangs_own_planned_pods_count_too_so_that_the_worst_fit_wins(version: str) -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3 n4 n5]").with_gang("job", 2, 8, must_gather=SPINE).version(version)
    assert (chosen(drawing), chosen(drawing.change_pods(selector="ring"))) == ("b0", "b1")


def test_only_the_first_pods_selector_counts() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3 n4 n5]").with_gang("job", 2, 8, must_gather=SPINE)
    assert chosen(drawing.change_pods("job-1", selector="ring")) == "b0"


def test_blocks_of_one_name_are_one_domain() -> None:
    drawing = cluster("s0: b0[n1]; s1: b0[n2]").with_gang("job", 2, 8, must_gather=BLOCK)
    assert assignments(drawing) == {"job-0": "n1", "job-1": "n2"}
