"""What `topo` leaves out of a big tree, and how it says so."""

import re
import time
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from kubectl_koord.render.show import OutputStyle, TopoOptions, text
from kubectl_koord.render.shown import EVERYTHING, ON_A_SCREEN
from kubectl_koord.reports.capacity import Amount, DomainRow, NodeRow, OutsideNode, TopologyReport
from kubectl_koord.reports.common import DomainName
from tests.render.samples import PIPE, ROOT, TERMINAL, TOPO


def tree(spines: int, blocks: int, nodes: int, free: Callable[[int], int]) -> TopologyReport:
    """Return a tree of this many of each per parent, block number N with free(N) of 8 GPU per node."""
    rows = [DomainRow("ClusterTopologyLayer", "", None, spines * blocks * nodes)]
    leaves: list[NodeRow] = []
    for spine in range(spines):
        name = DomainName("SpineLayer", f"spine-{spine}")
        rooms = [free(spine * blocks + block) * nodes for block in range(blocks)]
        total = nodes * 8
        rows.append(DomainRow(name.layer, name.name, ROOT, blocks * nodes, sum(rooms), total * blocks))
        for block, room in enumerate(rooms):
            below = DomainName("BlockLayer", f"block-{spine}-{block}")
            rows.append(DomainRow(below.layer, below.name, name, nodes, room, total))
            leaves += [NodeRow(f"node-{spine}-{block}-{i}", below, room // nodes, 8) for i in range(nodes)]
    layers = ("SpineLayer", "BlockLayer", "NodeTopologyLayer")
    return replace(TOPO, warnings=(), outside=(), layers=layers, domains=tuple(rows), nodes=tuple(leaves))


def drawn(report: TopologyReport, options: TopoOptions | None = None) -> str:
    """Return the tree alone as on a screen, without the sentences around it."""
    return text(report, style=PIPE, topo_options=options, shown=ON_A_SCREEN).split("\n\n")[1] + "\n"


def test_a_tree_that_fits_on_a_screen_is_shown_whole() -> None:
    shown = drawn(tree(2, 2, 3, lambda number: number))
    assert (
        shown
        == """\
DOMAIN          NODES   FREE GPU   TOTAL GPU
cluster            12          0           0
  spine-0           6          3          48
    block-0-0       3          0          24
    block-0-1       3          3          24
  spine-1           6         15          48
    block-1-0       3          6          24
    block-1-1       3          9          24
"""
    )


def test_four_siblings_alike_become_one_row_three_do_not() -> None:
    shown = drawn(tree(1, 8, 2, lambda number: 5 if number < 4 else number // 7))
    assert (
        shown
        == """\
DOMAIN                                         NODES   FREE GPU   TOTAL GPU
cluster                                           16          0           0
  spine-0                                         16         42         128
    block-0-0 to block-0-3 (4 domains, each)       2         10          16
    block-0-4                                      2          0          16
    block-0-5                                      2          0          16
    block-0-6                                      2          0          16
    block-0-7                                      2          2          16
Some domains share a row: --all shows each.
"""
    )


def test_a_layer_that_does_not_fit_on_a_screen_is_left_out() -> None:
    shown = drawn(tree(40, 8, 16, lambda number: number % 8))
    assert (
        shown
        == """\
DOMAIN                                     NODES   FREE GPU   TOTAL GPU
cluster                                     5120          0           0
  spine-0 to spine-39 (40 domains, each)     128        448        1024
Showing 1 layer: use --depth 2 for one more, --all for every domain, --nodes for every node.
"""
    )


def test_more_first_domains_than_lines_are_summed_up() -> None:
    shown = drawn(tree(100, 1, 2, lambda number: number % 8)).splitlines()
    assert len(shown) == 61
    assert shown[-2:] == [
        "  ... and 43 more (--all shows them)      86        292         688",
        "Showing 1 layer: use --depth 2 for one more, --all for every domain, --nodes for every node.",
    ]


@pytest.mark.parametrize(("depth", "lines"), [(0, 2), (1, 102), (2, 202), (9, 202)])
def test_a_depth_that_is_asked_for_is_shown_whole(depth: int, lines: int) -> None:
    shown = drawn(tree(100, 1, 2, lambda number: number % 8), TopoOptions(depth=depth))
    assert len(shown.splitlines()) == lines


def test_nodes_are_shown_one_by_one_when_asked_for() -> None:
    shown = drawn(tree(40, 8, 16, lambda _number: 8), TopoOptions(nodes=True))
    assert len(shown.splitlines()) == 1 + 1 + 40 + 320 + 5120


def test_5000_nodes_take_no_longer_than_a_blink() -> None:
    report = tree(40, 8, 16, lambda number: number % 8)
    start = time.perf_counter()
    text(report, style=PIPE)
    assert time.perf_counter() - start < 0.2


def test_elsewhere_than_on_a_screen_every_domain_has_a_row() -> None:
    report = tree(100, 8, 2, lambda number: number % 8)
    rows = {"cluster", *(f"block-{number // 8}-{number % 8}" for number in range(800))}
    for written in (text(report, style=PIPE), text(report, style=TERMINAL, shown=EVERYTHING)):
        assert rows <= {*re.findall(r"[\w-]+", written)}
        assert "alike" not in written
        assert "--" not in written
    assert len(text(report, style=PIPE, topo_options=TopoOptions(depth=1)).splitlines()) == 1 + 1 + 1 + 101 + 2


def test_many_nodes_outside_are_named_by_the_first_few_on_a_screen() -> None:
    outside = tuple(OutsideNode(f"node-{number}", ("spine", "block")) for number in range(40))
    report = replace(TOPO, outside=(*outside, OutsideNode("other", ())))
    wide = OutputStyle(terminal=True, width=200, colour=False, unicode=True)
    few = "  node-0, node-1, node-2, node-3, node-4 and 35 more (--all shows them): lack the label spine, block\n"
    every = f"  {', '.join(f'node-{number}' for number in range(40))}: lack the label spine, block\n"
    head = "41 nodes outside the tree (gangs with a topology spec are never placed there):\n"
    assert f"{head}{few}  other: no label is missing\n" in text(report, style=wide)
    assert head + every in text(report, style=PIPE)


def test_a_gang_is_told_how_many_domains_have_its_slots() -> None:
    report = replace(tree(3, 1, 2, lambda number: number), gang="default/job", desired_offer_slot=None)
    assert text(report, style=PIPE).startswith("SLOTS shows how many pods of default/job fit in a domain.\n")


def test_what_is_free_on_nodes_out_of_use_is_told_and_not_counted() -> None:
    root = DomainRow("ClusterTopologyLayer", "", None, 8, 16, 64, cordoned=2, not_ready=1, withheld=16)
    page = text(replace(TOPO, domains=(root,)), style=PIPE)
    assert "\n2 nodes are cordoned, 1 is not ready: their 16 free GPU are not counted.\n" in page
    alone = text(replace(TOPO, domains=(replace(root, cordoned=0),)), style=PIPE)
    assert "\n1 node is not ready: its 16 free GPU are not counted.\n" in alone
    assert "not counted" not in text(replace(TOPO, domains=(replace(root, withheld=0),)), style=PIPE)


def test_each_family_of_cards_has_columns_and_a_sum() -> None:
    mig = "nvidia.com/mig-1g.5gb"
    report = replace(tree(70, 1, 2, lambda number: number % 8), resources=("nvidia.com/gpu", mig))
    rows = tuple(replace(row, others={mig: Amount(1 if row.parent else 70, 2)}) for row in report.domains)
    full = replace(report, domains=rows)
    shown = drawn(full).splitlines()
    assert shown[0].split("   ")[-4:] == ["FREE GPU", "TOTAL GPU", "FREE mig-1g.5gb", "TOTAL mig-1g.5gb"]
    assert shown[-2].split()[-2:] == ["13", "26"]
    assert "; 0 of 0 GPU free, 70 of 2 mig-1g.5gb free." in text(full, style=PIPE)
    unseen = replace(report, domains=tuple(replace(row, others={mig: Amount(None, 2)}) for row in report.domains))
    assert "2 mig-1g.5gb, how many are free is unknown." in text(unseen, style=PIPE)
    assert drawn(unseen).splitlines()[-2].split()[-2:] == ["?", "26"]
