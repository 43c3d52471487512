"""The page of `devices`: what is free by domain, then every device with who has it."""

from collections.abc import Iterable, Iterator, Sequence

from kubectl_koord.model.hardware.devices import TYPES
from kubectl_koord.render.document import USUAL, Block, Column, Columns, EmptyLine, Line, Row, Table, TreeTable, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.capacity.devices import Card, DeviceRoom, DevicesReport, DomainCards, NodeCards, TypeTotal
from kubectl_koord.wording.pages.capacity import devices as sentences
from kubectl_koord.wording.pages.common import beyond_limit, more
from kubectl_koord.wording.words import amount_of, device_name, domain_name

_MEMORY = "koordinator.sh/gpu-memory"
_SIZES = 2
_COLUMNS = (
    Column("NODE"),
    Column("DEVICE"),
    Column("FREE", right=True),
    Column("FREE MEMORY", right=True, goes=3),
    Column("NUMA", right=True, goes=2),
    Column("PCIE", goes=1),
    Column("HELD BY"),
    Column("NOTES"),
    Column("ID", wide=True),
)


def blocks(report: DevicesReport, shown: Shown, columns: Columns = USUAL) -> list[Block]:
    """Return the page."""
    if report.verdict == "unknown":
        page: list[Block] = [Line(sentences.unknown(report.message), VERDICT_STYLE["unknown"])]
        return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]
    have = [node for node in report.nodes if node.cards]
    nodes = have[: columns.most]
    page = [Line(sentences.headline(report, len(have)), "bold"), *_remarks(report)]
    if report.devices and not report.asked:
        page += _domains(report, shown)
    if have:
        cards, rest = parted([(node, card) for node in nodes for card in node.cards], shown.lines)
        page += [
            EmptyLine(),
            slim(Table(_COLUMNS, tuple(_card(node, card) for node, card in cards), indent=0, main=True)),
        ]
        page += [more_line(more(len(rest)))] if rest else []
        page += [more_line(beyond_limit(len(have) - len(nodes), "nodes"))] if len(nodes) < len(have) else []
    page += warning_lines(report.warnings)
    return [*page, EmptyLine(), basis_line(report.basis)]


def _remarks(report: DevicesReport) -> Iterator[Line]:
    out = [node.node for node in report.nodes if node.state and node.cards]
    for total in report.devices:
        if total.shared:
            yield Line(sentences.shares(total))
        if total.unhealthy:
            yield Line(sentences.unhealthy(total), "warn")
        if total.withheld:
            yield Line(sentences.withheld(total, out), "warn")
    for device in ("empty", "missing"):
        not_reported = [node for node in report.nodes if node.device == device and node.accelerators]
        if not_reported:
            yield Line(sentences.not_reported(not_reported), "warn")
    empty = [node for node in report.nodes if node.device == "empty" and not node.accelerators]
    if empty:
        yield Line(sentences.empty(empty), "dim")
    yield from (Line(sentences.unlisted(node), "warn") for node in report.nodes if node.unlisted)
    outside = [node.node for node in report.nodes if node.cards and node.parent is None]
    if outside and report.domains:
        yield Line(sentences.outside(outside), "dim")
    if report.without_devices:
        yield Line(sentences.others_without(report.without_devices), "dim")


def _domains(report: DevicesReport, shown: Shown) -> Iterator[Block]:
    """Yield a tree of the domains for each type that the scheduler allocates, and what its columns mean."""
    meanings: dict[str, None] = {}
    for total in (each for each in report.devices if each.type in TYPES):
        rows, rest = parted(tuple(_rows(report.domains, total)), shown.rows)
        if not rows:
            continue
        room = _largest(total)
        yield EmptyLine()
        yield slim(TreeTable(_columns(total, [each.cards for each in room]), tuple(rows)))
        if rest:
            yield more_line(more(len(rest)))
        meanings |= dict.fromkeys(([sentences.IN_SHARES] if total.shares else []) + ([sentences.ROOM] if room else []))
    yield from (Line(meaning, "dim") for meaning in meanings)


def _largest(total: TypeTotal) -> Sequence[DeviceRoom]:
    """Return the room for the largest pods of several devices."""
    return [each for each in total.room if each.cards > 1][-_SIZES:]


def _columns(total: TypeTotal, room: Sequence[int]) -> tuple[Column, ...]:
    name = device_name(total.type)
    return (
        Column("DOMAIN"),
        Column("NODES", right=True, goes=1),
        Column(f"FREE {name}", right=True),
        Column(f"TOTAL {name}", right=True, goes=2),
        Column("IN SHARES", right=True, goes=3),
        *(Column(f"PODS OF {size}", right=True, goes=0 if size == room[-1] else 4) for size in room),
    )


def _rows(domains: Iterable[DomainCards], of: TypeTotal) -> Iterator[Row]:
    """Yield a row for each domain that has devices of the type."""
    depths: dict[tuple[str, str], int] = {}
    for domain in domains:
        above = (domain.parent.layer, domain.parent.name) if domain.parent is not None else None
        depth = depths[domain.layer, domain.name] = depths.get(above, -1) + 1 if above is not None else 0
        total = next((each for each in domain.devices if each.type == of.type), None)
        if total is not None:
            shares = sentences.parts(total.shares) if of.shares else ""
            free = sentences.UNKNOWN_AMOUNT if total.free is None else str(total.free)
            room = (str(each.pods) for each in _largest(total))
            cells = (domain_name(domain.name), str(domain.nodes), free, str(total.cards), shares, *room)
            yield Row(cells, depth=depth)


def _card(node: NodeCards, card: Card) -> Row:
    memory = "" if card.free is None or _MEMORY not in card.free else amount_of("memory", card.free[_MEMORY], "rounded")
    cells = (
        node.node,
        sentences.place(card.type, card.minor),
        sentences.parts(card.share),
        memory,
        "" if card.numa is None else str(card.numa),
        card.pcie or "",
        sentences.holders(card),
        sentences.notes(card, node),
        card.id,
    )
    return Row(cells, "warn" if node.state or not card.healthy else "")
