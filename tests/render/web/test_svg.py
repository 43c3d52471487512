"""The picture of the tree: a box for each domain with its numbers, whatever the names are; its text says the same."""

import re
from xml.etree import ElementTree as ET

import pytest
from msgspec.structs import replace

from kubectl_koord.render.document import Line
from kubectl_koord.render.show import TopoOptions, text, to_hand_on
from kubectl_koord.render.svg import to_svg
from kubectl_koord.reports.capacity import DomainRow, NodeRow, TopologyReport
from kubectl_koord.reports.common import DomainName
from tests.render.planting import planted_everywhere, planted_one_by_one
from tests.render.samples import NO_TOPO, PIPE, ROOT, TOPO, TOPO_FOR
from tests.render.web.test_html import MARKUP

SVG = "{http://www.w3.org/2000/svg}"
OPTIONS = TopoOptions(nodes=True)
ELEMENTS = {"svg", "title", "desc", "style", "rect", "g", "text"}
ATTRIBUTES = {
    "class",
    "x",
    "y",
    "width",
    "height",
    "rx",
    "viewBox",
    "role",
    "id",
    "aria-labelledby",
    "aria-describedby",
}


def svg(report: TopologyReport, *, depth: int | None = None, nodes: bool = False) -> str:
    return to_hand_on(report, "svg", topo_options=TopoOptions(depth, nodes))


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)  # noqa: S314 - of our own making


def boxes(picture: str) -> list[tuple[str, str]]:
    """Return the look of each box, and what it is and says, as its tooltip has it."""
    return [
        (group.get("class") or "", group.findtext(f"{SVG}title") or "") for group in parsed(picture).iter(f"{SVG}g")
    ]


def test_each_domain_has_a_box_with_what_is_free_and_a_colour_that_the_legend_explains() -> None:
    assert boxes(svg(TOPO)) == [
        ("some", "cluster: 12 of 32 GPU free, 3 slots, 1 cordoned"),
        ("low", "spine-0: 4 of 16 GPU free, 1 slot, 1 cordoned, 1 not ready"),
        ("some", "spine-1: 8 of 16 GPU free, 2 slots"),
        ("outside", "node-8: network.topology/spine"),
        ("outside", "node-9: network.topology/spine"),
        ("low", "less than a third free"),
        ("some", "less than two thirds free"),
    ]


def test_nodes_are_boxes_too_when_asked_for_and_depth_ends_the_tree() -> None:
    assert boxes(svg(TOPO, nodes=True))[2:4] == [
        ("full", "node-0: 0 of 8 GPU free, 0 slots, cordoned"),
        ("some", "node-1: 4 of 8 GPU free, 1 slot, not ready"),
    ]
    assert ("free", "node-2: 8 of 8 GPU free, 2 slots") in boxes(svg(TOPO, depth=1, nodes=True))
    assert [said for look, said in boxes(svg(TOPO, depth=0)) if "free, " in said] == [
        "cluster: 12 of 32 GPU free, 3 slots, 1 cordoned"
    ]


def test_for_a_gang_slots_are_the_colour_however_much_is_free() -> None:
    spines = [(one.name, one.offer_slots) for one in TOPO_FOR.domains]
    assert spines[1:] == [("spine-0", 1), ("spine-1", 2)]
    for wanted, looks in {1: "enough enough", 2: "part enough", 4: "part part"}.items():
        found = boxes(svg(replace(TOPO_FOR, desired_offer_slot=wanted)))
        assert [look for look, said in found if said.startswith("spine-")] == looks.split()
        assert ("part" in looks) == (("part", "slots for some of its pods") in found)
        assert ("enough" in looks) == (("enough", "enough slots for the gang") in found)
    none = replace(TOPO_FOR, desired_offer_slot=2, domains=(replace(TOPO_FOR.domains[0], offer_slots=0, free=99),))
    assert boxes(svg(none))[0][0] == "none"
    assert ("none", "no slot for its pods") in boxes(svg(none))
    assert ("low", "spine-1: 4 of 16 CPU free, 2 slots") in boxes(svg(replace(TOPO_FOR, desired_offer_slot=None)))


def test_what_could_not_be_seen_is_no_colour_of_how_much_is_free() -> None:
    unseen = replace(TOPO, domains=(replace(TOPO.domains[0], free=None),), nodes=())
    assert boxes(svg(unseen))[0] == ("unseen", "cluster: 32 GPU, how many are free is unknown, 3 slots, 1 cordoned")


def test_boxes_stand_right_of_what_they_are_in_and_do_not_overlap() -> None:
    tree = parsed(svg(TOPO, nodes=True))
    frames = [group.find(f"{SVG}rect") for group in tree.iter(f"{SVG}g")][:7]
    places = [tuple(int(frame.get(key) or 0) for key in ("x", "y", "height")) for frame in frames if frame is not None]
    top = places[0][1]
    columns = [16, 412, 808]
    assert [(columns.index(x), y - top, height) for x, y, height in places] == [
        (0, 0, 172),
        (1, 0, 84),
        (2, 0, 40),
        (2, 44, 40),
        (1, 88, 84),
        (2, 88, 40),
        (2, 132, 40),
    ]
    assert {int(frame.get("width") or 0) for frame in frames if frame is not None} == {392}


def test_the_picture_is_as_high_as_what_is_in_it() -> None:
    tree = parsed(svg(TOPO, nodes=True))
    ends = [int(each.get("y") or 0) for each in tree.iter(f"{SVG}text")]
    assert max(ends) < int(tree.get("height") or 0) < max(ends) + 40
    assert tree.get("viewBox") == f"0 0 {tree.get('width')} {tree.get('height')}"


def test_the_text_of_the_picture_is_the_page() -> None:
    tree = parsed(svg(TOPO, nodes=True))
    page = text(TOPO, style=PIPE, topo_options=OPTIONS)
    assert tree.findtext(f"{SVG}desc") == page + "Read from the cluster at 2026-11-20T10:00:00Z"
    assert tree.findtext(f"{SVG}title") == page.partition("\n")[0]
    assert (tree.get("role"), tree.get("aria-labelledby"), tree.get("aria-describedby")) == ("img", "title", "text")


def test_without_a_tree_the_picture_says_why() -> None:
    tree = parsed(svg(NO_TOPO))
    assert [each.get("class") for each in tree.iter(f"{SVG}text")] == ["bad head", "bad head", "dim", "dim"]
    assert boxes(svg(NO_TOPO)) == []


def test_a_long_sentence_is_broken_and_at_last_cut() -> None:
    picture = to_svg([Line("may not " * 400, "warn")], NO_TOPO, depth=None, nodes=False)
    heads = [each for each in parsed(picture).iter(f"{SVG}text") if each.get("class") == "warn head"]
    assert len(heads) == 5
    assert (heads[-1].text or "").endswith("[...]")


def test_no_line_is_wider_than_its_box_and_no_headline_than_the_picture() -> None:
    noted = replace(TOPO_FOR.domains[1], name="a-spine-with-a-name-of-forty-signs-or-so", offer_slots=1)
    tree = parsed(svg(replace(TOPO_FOR, domains=(TOPO_FOR.domains[0], noted))))
    for group in tree.iter(f"{SVG}g"):
        frame = group.find(f"{SVG}rect")
        assert frame is not None
        for line in group.iter(f"{SVG}text"):
            assert 16 + 7.5 * len(line.text or "") <= int(frame.get("width") or 0)
            assert not (line.text or "").endswith("...")
    room = int(tree.get("width") or 0) - 32
    heads = [each for each in tree.iter(f"{SVG}text") if "head" in (each.get("class") or "")]
    assert all(8.5 * len(head.text or "") <= room for head in heads)


def test_a_long_name_ends_within_its_box_and_is_whole_in_its_tooltip() -> None:
    long = DomainRow("ClusterTopologyLayer", "x" * 300, None, 1, 0, 8)
    node = NodeRow("n" * 300, DomainName("ClusterTopologyLayer", "x" * 300), 0, 8)
    picture = svg(replace(TOPO, domains=(long,), nodes=(node,), outside=()), nodes=True)
    names = [each.text or "" for each in parsed(picture).iter(f"{SVG}text") if each.get("class") == "name"]
    assert {len(name) for name in names[:2]} == {64}
    assert {said for _, said in boxes(picture)} >= {f"{'x' * 300}: 0 of 8 GPU free", f"{'n' * 300}: 0 of 8 GPU free"}


def test_no_text_becomes_an_element_or_an_attribute_wherever_it_stands() -> None:
    for report in (TOPO, TOPO_FOR, NO_TOPO):
        for wild in (*(one for _, one in planted_one_by_one(report, MARKUP)), planted_everywhere(report, MARKUP)):
            picture = to_hand_on(wild, "svg", topo_options=OPTIONS)
            assert picture.isascii()
            every = list(parsed(picture).iter())
            assert {each.tag.removeprefix(SVG) for each in every} <= ELEMENTS
            assert {key for each in every for key in each.attrib} <= ATTRIBUTES


@pytest.mark.parametrize("forbidden", ["url(", "@import", "href", "<script", "http:", "https:"])
def test_a_picture_fetches_nothing(forbidden: str) -> None:
    picture = svg(TOPO, nodes=True).replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert not re.search(re.escape(forbidden), picture)


def test_domains_of_the_root_are_those_that_hang_below_it() -> None:
    lost = replace(TOPO.domains[1], name="lost", parent=DomainName("SpineLayer", "nowhere"))
    assert TOPO.domains[1].parent == ROOT
    assert not [said for _, said in boxes(svg(replace(TOPO, domains=(*TOPO.domains, lost)))) if said.startswith("lost")]
