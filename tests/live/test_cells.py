"""Lines of cells: pages, filters, and the map of nodes."""

from kubectl_koord.explain.topo import with_outside
from kubectl_koord.explain.why import why
from kubectl_koord.live.cells import (
    NO_MARKS,
    Cell,
    Look,
    Marks,
    Target,
    cut,
    filtered,
    heat_map,
    legend,
    of_report,
    said,
)
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.render.show import OutputStyle, text
from kubectl_koord.reports.common import DomainName
from tests.build import BLOCK, SPINE, Drawing, cluster, node

ROOM = cluster("spine-0: block-0[n1:8 n2:8] block-1[n3:8]; spine-1: block-2[n4:8]")


def gpus(number: int, **fields: object) -> dict[str, object]:
    return {"allocatable": (("cpu", 8000), ("nvidia.com/gpu", number), ("pods", 110)), **fields}


def with_cards(drawing: Drawing) -> Drawing:
    """Give all nodes eight cards, and n2 more."""
    return drawing.change("n1", **gpus(8)).change("n2", **gpus(12)).change("n3", **gpus(8)).change("n4", **gpus(8))


def drawn(drawing: Drawing, marks: Marks = NO_MARKS, width: int = 60, *, unicode: bool = True) -> list[str]:
    return [said(line).rstrip() for line in heat_map(with_outside(drawing), marks, Look(width, unicode))]


def test_the_map_has_a_cell_for_each_node_below_its_domains() -> None:
    assert drawn(with_cards(ROOM).cordon("n3").change("n4", ready=False, **gpus(8))) == [
        " spine-0 20 of 28 free",
        "  block-0 8+    block-1 -",
        " spine-1 0 of 8 free",
        "  block-2 x",
    ]


def test_without_cards_it_tells_tenths_of_cpu() -> None:
    used = ROOM.with_running("a", on="n1", cpu=4).with_running("b", on="n2", cpu=8)
    assert drawn(used)[1] == "  block-0 40    block-1 9"
    assert legend(with_outside(used), NO_MARKS) == "0-9 tenths of CPU free"


def test_what_is_marked_has_a_sign_of_its_own_and_marked_domains_an_arrow() -> None:
    marks = Marks([DomainName(SPINE, "spine-0")], node="n4", victims=["n1"], placed=["n2"])
    report = with_outside(with_cards(ROOM))
    lines = heat_map(report, marks, Look(60))
    assert [said(line).rstrip() for line in lines] == [
        ">spine-0 28 of 28 free",
        "  block-0 V*    block-1 8",
        " spine-1 8 of 8 free",
        "  block-2 @",
    ]
    marked = {cell.target.name for line in lines for cell in line if cell.marked and cell.target}
    assert marked == {f"{SPINE}/spine-0", "n1", "n2", "n3", "n4"}
    assert legend(report, marks) == ("0-9 free cards, + more, V victim, * would be placed, @ this node, > its domains")


def test_a_node_that_would_be_new_stands_behind_the_one_that_it_is_like() -> None:
    report = with_outside(with_cards(ROOM))
    marks = Marks(placed=["n1-more"], added={"n1": "n1-more", "n3": "n3-more"})
    assert [said(line).rstrip() for line in heat_map(report, marks, Look(60))][1] == "  block-0 8+*    block-1 8n"
    assert "* would be placed, n new node" in legend(report, marks)


def test_each_cell_leads_to_its_node_or_domain() -> None:
    cells = [cell.target for line in heat_map(with_outside(ROOM), NO_MARKS, Look(60)) for cell in line if cell.target]
    assert cells == [
        Target("domain", f"{SPINE}/spine-0"),
        Target("domain", f"{BLOCK}/block-0"),
        Target("node", "n1"),
        Target("node", "n2"),
        Target("domain", f"{BLOCK}/block-1"),
        Target("node", "n3"),
        Target("domain", f"{SPINE}/spine-1"),
        Target("domain", f"{BLOCK}/block-2"),
        Target("node", "n4"),
    ]


def test_nodes_outside_the_tree_and_without_a_tree_are_there_too() -> None:
    assert drawn(ROOM.with_nodes(node("alone", 8)))[-1] == " outside the tree 9"
    assert drawn(ROOM.but(topologies={})) == [" nodes 9999"]


def test_what_could_not_be_read_is_no_free_room() -> None:
    blind = ROOM.but(gaps=(Gap("Pod", "forbidden", "no pods for you"),))
    assert drawn(blind) == [" spine-0", "  block-0 ??    block-1 ?", " spine-1", "  block-2 ?"]
    assert "? not read" in legend(with_outside(blind), NO_MARKS)
    cards = with_cards(blind)
    assert drawn(cards)[0] == " spine-0 ? of 28 free"


def test_a_wide_domain_goes_on_in_the_next_line_and_long_names_are_shortened() -> None:
    names = " ".join(f"m{number:02}:8" for number in range(40))
    wide = cluster(f"spine-0: a-very-long-name-of-a-block-0[{names}]")
    assert drawn(wide, width=80) == [" spine-0", f"  a-very-lon…a-block-0 {'9' * 32}", f"{' ' * 23}{'9' * 8}"]
    assert drawn(wide, width=30, unicode=False)[1] == f"  a-very-lo...-block-0 {'9' * 7}"


def test_hostile_names_are_shown_and_never_act() -> None:
    bad = cluster("[red]spine\x1b[31m: block-0[n1:8]")
    assert drawn(bad)[0] == " [red]spine\\x1b[31m"


def test_a_page_is_the_one_that_a_terminal_shows() -> None:
    waiting = ROOM.with_pod("job-0", cpu=99)
    report = why(waiting, waiting.subject("job-0"))
    lines = of_report(report, Look(80), {})
    style = OutputStyle(terminal=True, width=80, colour=False, unicode=True)
    assert "\n".join(map(said, lines)) + "\n" == text(report, style=style)
    linked = of_report(report, Look(80), {"default/job-0": Target("gang", "x")})
    assert "\n".join(map(said, linked)) + "\n" == text(report, style=style)
    assert [cell.text for line in linked for cell in line if cell.target][:1] == ["default/job-0"]
    assert len(of_report(report, Look(80, everything=True), {})) >= len(lines)


def test_a_filter_leaves_the_lines_that_contain_a_text() -> None:
    lines = [(Cell("Train/"), Cell("one")), (Cell("other"),), ()]
    assert filtered(lines, "") == lines
    assert filtered(lines, "train/ONE") == lines[:1]


def test_a_text_is_cut_to_so_many_cells() -> None:
    assert (cut("abcdef", 3), cut("ab", 3), Look(4, unicode=False).line("abcdef")[0].text) == ("abc", "ab ", "a...")
