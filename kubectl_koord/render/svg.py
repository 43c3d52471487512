"""The topology tree as a picture: a column for each layer, each domain as high as what it holds."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.render.document import Block, Line
from kubectl_koord.render.pages import topo
from kubectl_koord.render.pages.topo import DomainTree
from kubectl_koord.render.plain import clipped, harmless, short, to_plain
from kubectl_koord.render.terminal import wrapped
from kubectl_koord.render.web import Markup, ascii_only, element, empty, lines, style_sheet, together
from kubectl_koord.reports.capacity import Amount, DomainRow, NodeRow, OutsideNode, TopologyReport
from kubectl_koord.wording.words import domain_name

Look: TypeAlias = Literal["full", "low", "some", "free", "unseen", "enough", "part", "none"]

_LEGEND: Mapping[str, str] = MappingProxyType(
    {
        "full": topo.NOTHING_FREE,
        "low": topo.BELOW_A_THIRD,
        "some": topo.BELOW_TWO_THIRDS,
        "free": topo.TWO_THIRDS,
        "unseen": topo.UNKNOWN_FREE,
        "enough": topo.ENOUGH_SLOTS,
        "part": topo.TOO_FEW_SLOTS,
        "none": topo.NO_SLOT,
    }
)
_MARGIN, _GAP = 16, 4
_WIDTH, _HEIGHT = 240, 40
_COLUMNS = 3  # the picture is so wide at least
_FITTING, _MOST = 30, 64  # characters in a box: for so many there is room, for so many room is made
_LINE, _CHAR, _HEAD_CHAR = 20, 8, 9
_MOST_LINES = 5


class Box(Struct, frozen=True):
    """A domain or a node: its name, what is said below it, and the boxes to its right."""

    name: str
    detail: str
    look: str
    inside: "tuple[Box, ...]" = ()

    def rows(self) -> int:
        """Return how many boxes that hold nothing are as high as this one."""
        return sum(box.rows() for box in self.inside) or 1

    def longest(self) -> int:
        """Return how many characters the longest line in this box, and in those to its right, has."""
        return max([len(self.name), len(self.detail), *(box.longest() for box in self.inside)])

    def columns(self) -> int:
        """Return how many columns this box and those to its right take."""
        return 1 + max((box.columns() for box in self.inside), default=0)


def to_svg(page: Sequence[Block], report: TopologyReport, *, depth: int | None, nodes: bool) -> str:
    """Return the picture: the verdict, the tree, the nodes outside, what the colours mean, what it rests on.

    Args:
        page: the page of the report, which begins with the verdict and ends with what it rests on. All of it is the
            picture's text.
        report: what `topo` found.
        depth: how many layers below the cluster to show; None shows all.
        nodes: show every node, and therefore every layer.
    """
    roots = _Boxes(report, None if nodes else depth, nodes=nodes).roots()
    outside = [_lacking(node) for node in report.outside]
    columns = max([_COLUMNS, *(root.columns() for root in roots)])
    canvas = _Canvas(columns, max([_FITTING, *(box.longest() for box in (*roots, *outside))]))
    said = [block for block in page if isinstance(block, Line)]
    canvas.write(said[:1], "head")
    canvas.tree(roots)
    if report.outside:
        canvas.write([Line(topo.nodes_outside(len(report.outside)))])
        canvas.grid(outside)
    canvas.grid(_legend(roots), height=_LINE)
    canvas.write([line for line in said[-2:] if line.style == "dim"])
    return ascii_only(canvas.picture(said[0].text, to_plain(page)).text + "\n")


class _Boxes:
    """The domains of a report as boxes."""

    def __init__(self, report: TopologyReport, depth: int | None, *, nodes: bool) -> None:
        self._report = report
        self._tree = DomainTree(report)
        self._deepest = self._tree.height() if depth is None else depth
        self._nodes = nodes

    def roots(self) -> tuple[Box, ...]:
        return tuple(self._domain(root, 0) for root in self._tree.below.get(None, []))

    def _domain(self, domain: DomainRow, level: int) -> Box:
        below = self._tree.children(domain) if level < self._deepest else []
        leaves = self._tree.leaves.get((domain.layer, domain.name), []) if self._nodes else []
        inside = (*(self._domain(child, level + 1) for child in below), *map(self._node, leaves))
        return self._box(domain_name(domain.name), domain, topo.notes(domain), inside)

    def _node(self, node: NodeRow) -> Box:
        return self._box(node.node, node, topo.node_notes((node.state, node.reason)), ())

    def _box(self, name: str, row: DomainRow | NodeRow, notes: str, inside: tuple[Box, ...]) -> Box:
        room, wanted, slots = Amount(row.free, row.total), self._report.desired_offer_slot, row.offer_slots
        detail = topo.in_the_picture(topo.free(self._report.resource, room), slots, wanted, notes)
        look = _fullness(room) if wanted is None or slots is None else _of_slots(slots, wanted)
        return Box(name, detail, look, inside)


def _of_slots(slots: int, wanted: int) -> Look:
    """Return the look for a gang: what is free does not count where it is no room for its pods."""
    if slots >= wanted:
        return "enough"
    return "part" if slots else "none"


def _fullness(room: Amount) -> Look:
    if room.free is None:
        return "unseen"
    if room.free == 0:
        return "full"
    if 3 * room.free < room.total:
        return "low"
    return "some" if 3 * room.free < 2 * room.total else "free"


def _lacking(node: OutsideNode) -> Box:
    return Box(node.node, ", ".join(node.missing), "outside")


def _legend(roots: Iterable[Box]) -> list[Box]:
    looks = {look for root in roots for look in _looks(root)}
    return [Box(meaning, "", look) for look, meaning in _LEGEND.items() if look in looks]


def _looks(box: Box) -> set[str]:
    return {box.look, *(look for inner in box.inside for look in _looks(inner))}


class _Canvas:
    """A picture that grows downwards."""

    def __init__(self, columns: int, longest: int) -> None:
        self._columns = columns
        self._fitting = min(longest, _MOST)
        self._box_width = _WIDTH + (self._fitting - _FITTING) * _CHAR
        self._width = 2 * _MARGIN + columns * (self._box_width + _GAP) - _GAP
        self._y = _MARGIN
        self._parts: list[Markup] = []

    def write(self, said: Iterable[Line], look: str = "") -> None:
        """Write sentences, broken where the picture ends."""
        for line in said:
            room = (self._width - 2 * _MARGIN) // (_HEAD_CHAR if look else _CHAR)
            broken = wrapped(harmless(line.text), room)
            shown, rest = broken[:_MOST_LINES], broken[_MOST_LINES:]
            for part in [*shown[:-1], clipped(f"{shown[-1]} {rest[0]}", room, "[...]")] if rest else shown:
                self._y += _LINE
                classes = " ".join(filter(None, [line.style, look]))
                self._parts.append(_text(part, _MARGIN, self._y, classes))
        self._y += _GAP

    def tree(self, roots: Iterable[Box]) -> None:
        """Draw the boxes below each other, what they hold to their right."""
        self._y += _MARGIN
        for root in roots:
            self._nested(root, 0, self._y)
            self._y += root.rows() * (_HEIGHT + _GAP)

    def grid(self, boxes: Sequence[Box], *, height: int = _HEIGHT) -> None:
        """Draw boxes beside each other, as many in a row as there are columns."""
        self._y += _MARGIN if boxes else 0
        for at, box in enumerate(boxes):
            row, column = divmod(at, self._columns)
            self._box(box, column, self._y + row * (height + _GAP), height)
        self._y += -(-len(boxes) // self._columns) * (height + _GAP)

    def picture(self, title: str, text: str) -> Markup:
        """Return the whole; readers that cannot show it get its text."""
        height = self._y + _MARGIN
        return element(
            "svg",
            element("title", title, id="title"),
            element("desc", lines(text.splitlines()), id="text"),
            style_sheet("tree.css"),
            empty("rect", class_="page", width="100%", height="100%"),
            together(*self._parts),
            xmlns="http://www.w3.org/2000/svg",
            width=str(self._width),
            height=str(height),
            viewBox=f"0 0 {self._width} {height}",
            role="img",
            aria_labelledby="title",
            aria_describedby="text",
        )

    def _nested(self, box: Box, column: int, y: int) -> None:
        self._box(box, column, y, box.rows() * (_HEIGHT + _GAP) - _GAP)
        for inner in box.inside:
            self._nested(inner, column + 1, y)
            y += inner.rows() * (_HEIGHT + _GAP)

    def _box(self, box: Box, column: int, y: int, height: int) -> None:
        x = _MARGIN + column * (self._box_width + _GAP)
        frame = empty("rect", x=str(x), y=str(y), width=str(self._box_width), height=str(height), rx="4")
        texts = [_text(short(harmless(box.name), self._fitting), x + 8, y + 15, "name")]
        if box.detail:
            texts.append(_text(clipped(harmless(box.detail), self._fitting), x + 8, y + 32, ""))
        told = element("title", ": ".join(filter(None, [box.name, box.detail])))
        self._parts.append(element("g", told, frame, *texts, class_=box.look))


def _text(text: str, x: int, y: int, look: str) -> Markup:
    return element("text", text, x=str(x), y=str(y), class_=look)
