"""What a screen consists of: lines of cells, each with a look and perhaps something that it leads to; and the map."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct

from kubectl_koord.language import say
from kubectl_koord.model import objects
from kubectl_koord.render.document import Style
from kubectl_koord.render.plain import clipped, harmless, head, short, width
from kubectl_koord.render.show import on_screen
from kubectl_koord.render.shown import EVERYTHING, ON_A_SCREEN
from kubectl_koord.render.structured import Report
from kubectl_koord.reports.capacity import DomainRow, NodeRow, TopologyReport
from kubectl_koord.reports.common import DomainName
from kubectl_koord.wording.facts import UNKNOWN_AMOUNT
from kubectl_koord.wording.words import COMMA, HERE, Aim, domain_name, resource_name

Kind: TypeAlias = Literal["gang", "cause", "node", "domain", "quota", "choice"]


class Target(NamedTuple):
    """What a cell leads to: the kind, and the name as commands take it."""

    kind: Kind
    name: str


class Cell(NamedTuple):
    """A piece of a line, harmless: its text, its look, whether it is marked, what it leads to."""

    text: str
    style: Style = ""
    marked: bool = False
    target: Target | None = None


Line: TypeAlias = tuple[Cell, ...]
EMPTY: Line = ()


class Look(Struct, frozen=True):
    """How it is drawn: in so many cells, beyond ASCII or not, all of it or what suits a screen, with commands aimed."""

    width: int
    unicode: bool = True
    everything: bool = False
    aim: Aim = HERE

    def clean(self, text: str) -> str:
        """Return a text of the cluster as it may be shown."""
        return harmless(text, ascii_only=not self.unicode)

    def line(self, text: str, style: Style = "", target: Target | None = None) -> Line:
        """Return one cell that is no wider than the screen."""
        return (Cell(clipped(self.clean(text), self.width, self.ellipsis), style, target=target),)

    @property
    def ellipsis(self) -> str:
        """What stands for the rest of a text."""
        return "\u2026" if self.unicode else "..."


def of_report(report: Report, look: Look, leads_to: Mapping[str, Target]) -> list[Line]:
    """Return the page of a report as a terminal of this width shows it; a line leads to the first name in it."""
    shown = EVERYTHING if look.everything else ON_A_SCREEN
    spans = on_screen(report, width=look.width, unicode=look.unicode, shown=shown, aim=look.aim)
    return [_linked(tuple(Cell(span.text, span.style) for span in line), leads_to) for line in spans]


def _linked(line: Line, leads_to: Mapping[str, Target]) -> Line:
    """Return a line whose first known name leads there: the cell with it is parted."""
    for at, cell in enumerate(line):
        for word in cell.text.split():
            name = word.strip("(),;:.")
            if name in leads_to and cell.style != "code":
                before, _, after = cell.text.partition(name)
                parts = (cell._replace(text=before), cell._replace(text=name, target=leads_to[name]))
                rest = cell._replace(text=after)
                return tuple(part for part in (*line[:at], *parts, rest, *line[at + 1 :]) if part.text)
    return line


def filtered(lines: Sequence[Line], text: str) -> Sequence[Line]:
    """Return the lines that contain a text, whatever its case; all of them for none."""
    wanted = text.casefold()
    return [line for line in lines if wanted in said(line).casefold()] if wanted else lines


def said(line: Line) -> str:
    """Return the text of a line."""
    return "".join(cell.text for cell in line)


class Marks(Struct, frozen=True):
    """What a screen marks in the map: domains, and with a sign of their own nodes.

    Of `added` the keys are nodes, each with the name of a new one like it.
    """

    domains: Collection[DomainName] = ()
    node: str = ""
    victims: Collection[str] = ()
    placed: Collection[str] = ()
    added: Mapping[str, str] = {}


NO_MARKS = Marks()
VICTIM, PLACED, HERE_IT_IS, CORDONED, NOT_READY, MANY = "V", "*", "@", "-", "x", "+"
NEW = "n"
_MOST_DIGITS = 9
_WIDEST_NAME, _WIDEST_ROW = 20, 32
_GAP = 3


def legend(report: TopologyReport, marks: Marks) -> str:
    """Return what the signs of the map mean."""
    counts_cards = bool(objects.family(report.resource))
    told = [
        say(
            "0-9 {part}",
            part=say("free cards")
            if counts_cards
            else say("tenths of {resource_name} free", resource_name=resource_name(report.resource)),
        )
    ]
    signs = {_cell(report, node, NO_MARKS).text for node in report.nodes}
    also = (
        (MANY, say("more")),
        (CORDONED, say("cordoned")),
        (NOT_READY, say("not ready")),
        (UNKNOWN_AMOUNT, say("not read")),
    )
    told += [f"{sign} {meaning}" for sign, meaning in also if sign in signs]
    told += [say("{victim} victim", victim=VICTIM)] if marks.victims else []
    told += [say("{placed} would be placed", placed=PLACED)] if marks.placed else []
    told += [say("{new} new node", new=NEW)] if not {*marks.added.values()} <= {*marks.placed} else []
    told += [say("{here_it_is} this node", here_it_is=HERE_IT_IS)] if marks.node else []
    told += [say("> its domains")] if marks.domains else []
    return COMMA.join(told)


def heat_map(report: TopologyReport, marks: Marks, look: Look) -> list[Line]:
    """Return a cell for each node, below the domains that it is in."""
    below: dict[DomainName, list[NodeRow]] = {}
    for node in report.nodes:
        below.setdefault(node.parent, []).append(node)
    inside = set(marks.domains)
    lines: list[Line] = []
    items: list[_Item] = []
    for domain in report.domains:
        name = _named(domain)
        inside.update([name] if domain.parent in inside else ())
        if nodes := below.pop(name, None):
            cells = tuple(_cell(report, node, marks, marked=name in inside) for node in nodes)
            cells += tuple(_new(marks.added[node.node], marks) for node in nodes if node.node in marks.added)
            items.append(_item(name, cells, marks, look))
        elif domain.parent is not None:
            lines += [*_flowing(items, look), _headed(report, domain, marks, look)]
            items = []
    lines += _flowing(items, look)
    for nodes in below.values():
        title = say("outside the tree") if report.domains else "nodes"
        outside = _Item((Cell(title, "warn"),), tuple(_cell(report, node, marks) for node in nodes), len(title))
        lines += _flowing([outside], look)
    return lines


class _Item(Struct, frozen=True):
    """A domain right above nodes: its name, in so many cells, and a cell for each of its nodes."""

    title: Line
    nodes: tuple[Cell, ...]
    wide: int


def _named(domain: DomainRow) -> DomainName:
    return DomainName(domain.layer, domain.name)


def _item(name: DomainName, nodes: tuple[Cell, ...], marks: Marks, look: Look) -> _Item:
    text = short(look.clean(domain_name(name.name)), _WIDEST_NAME, look.ellipsis)
    marked = name in marks.domains
    title = Cell(f"{'>' if marked else ' '}{text}", "bold", marked, _domain(name))
    return _Item((title,), nodes, width(text) + 1)


def _domain(name: DomainName) -> Target:
    return Target("domain", f"{name.layer}/{domain_name(name.name)}")


def _headed(report: TopologyReport, domain: DomainRow, marks: Marks, look: Look) -> Line:
    """Return the title of a domain that has domains below it, and how much of it is free."""
    name = _named(domain)
    marked = name in marks.domains
    free = UNKNOWN_AMOUNT if domain.free is None else str(domain.free // _unit(report))
    told = (
        say(" {free} of {total} free", free=free, total=domain.total // _unit(report))
        if objects.family(report.resource)
        else ""
    )
    title = clipped(look.clean(domain_name(domain.name)), max(1, look.width - width(told) - 1), look.ellipsis)
    return (Cell(f"{'>' if marked else ' '}{title}", "bold", marked, _domain(name)), Cell(told, "dim"))


def _unit(report: TopologyReport) -> int:
    return objects.CARD if objects.is_share(report.resource) else 1


def _cell(report: TopologyReport, node: NodeRow, marks: Marks, *, marked: bool = False) -> Cell:
    target = Target("node", node.node)
    if node.node in marks.victims:
        return Cell(VICTIM, "bad", marked=True, target=target)
    if node.node in marks.placed:
        return Cell(PLACED, "good", marked=True, target=target)
    if node.node == marks.node:
        return Cell(HERE_IT_IS, "bold", marked=True, target=target)
    if node.state:
        return Cell(NOT_READY if node.state == "not ready" else CORDONED, "bad", marked, target)
    if node.free is None:
        return Cell(UNKNOWN_AMOUNT, "warn", marked, target)
    style: Style = "good" if node.free == node.total else "warn" if node.free else "dim"
    return Cell(_free(report, node.free, node.total), style, marked, target)


def _new(name: str, marks: Marks) -> Cell:
    placed = name in marks.placed
    return Cell(PLACED if placed else NEW, "good" if placed else "bold", marked=True)


def _free(report: TopologyReport, free: int, total: int) -> str:
    """Return what is free: whole cards, or tenths of what else is counted."""
    number = free // _unit(report) if objects.family(report.resource) else free * _MOST_DIGITS // max(total, 1)
    return MANY if number > _MOST_DIGITS else str(number)


def _flowing(items: Sequence[_Item], look: Look) -> Iterator[Line]:
    """Yield domains side by side, as many as there is room for; one that is too wide goes on below its name."""
    if not items:
        return
    name = max(item.wide for item in items)
    row = max(1, min(max(len(item.nodes) for item in items), _WIDEST_ROW, look.width - name - 2))
    beside = max(1, (look.width - 1) // (name + 1 + row + _GAP))
    for start in range(0, len(items), beside):
        group = items[start : start + beside]
        for at in range(0, max(len(item.nodes) for item in group), row):
            line: list[Cell] = [Cell(" ")]
            for item in group:
                title = item.title if at == 0 else (Cell(" " * item.wide),)
                cells = item.nodes[at : at + row]
                pad = " " * (name - item.wide + 1)
                line += [*title, Cell(pad), *cells, Cell(" " * (row - len(cells) + _GAP))]
            yield tuple(line)


def cut(text: str, cells: int) -> str:
    """Return a harmless text in exactly so many cells."""
    kept = head(text, cells)
    return kept + " " * (cells - width(kept))
