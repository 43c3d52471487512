"""The page of `devices`, and its sentences."""

from collections.abc import Iterable, Iterator, Sequence

from kubectl_koord.language import say
from kubectl_koord.model.hardware import TYPES
from kubectl_koord.model.objects import CARD
from kubectl_koord.render.document import (
    USUAL,
    Block,
    Column,
    Columns,
    EmptyLine,
    Line,
    Row,
    Style,
    Table,
    TreeTable,
    slim,
)
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.capacity import Card, DeviceRoom, DevicesReport, DomainCards, NodeCards, TypeTotal
from kubectl_koord.wording.facts import UNHEALTHY, UNKNOWN_AMOUNT, card_signs, legend_of_signs
from kubectl_koord.wording.words import (
    COMMA,
    SEMICOLON,
    amount_of,
    beyond_limit,
    count,
    device_name,
    domain_name,
    listed,
    more,
    noted,
)

IN_SHARES = say("IN SHARES: what is free of devices that are in use in part.")
ROOM = say("PODS OF n: how many pods with n whole devices fit on nodes of the domain, as devices alone go.")


def unknown(why: str) -> str:
    """Return why devices cannot be listed."""
    return say("Cannot list the devices: {why}.", why=why)


def headline(report: DevicesReport, nodes: int) -> str:
    """Return what of each type is free on the nodes with devices, and how many of the largest pods fit."""
    if not nodes:
        return _none(report)
    where = say(" on {asked}", asked=report.asked[0] if len(report.asked) == 1 else count(nodes, "node"))
    parts = (_of_type(total, "" if at else where) for at, total in enumerate(report.devices))
    return say("{parts}.", parts=SEMICOLON.join(parts))


def _none(report: DevicesReport) -> str:
    if report.asked:
        return say("No devices are known of {asked}.", asked=listed(report.asked))
    return say("No devices are known{part}.", part=say(" in {domain}", domain=report.domain) if report.domain else "")


def _of_type(total: TypeTotal, where: str) -> str:
    name = device_name(total.type)
    cards = f"{total.cards} {name}"
    if total.free is None:
        return say("{cards}{where}, how many are free is unknown", cards=cards, where=where)
    known = known_to_be_free(total)
    free = say("{known} of {cards} {are} free{where}", known=known, cards=cards, are=_are(known), where=where)
    if total.unbooked:
        return f"{free}{COMMA}{held_unbooked(total)}"
    largest = total.room[-1]
    pods = count(largest.pods, "pod") if largest.pods else say("no pod")
    return (
        free
        if largest.cards == 1
        else say("{free}, with room for {pods} of {cards} {name}", free=free, pods=pods, cards=largest.cards, name=name)
    )


def known_to_be_free(total: TypeTotal) -> int:
    """Return how many whole devices are free, and not held by a pod that the scheduler does not know to have one."""
    return max(0, (total.free or 0) - -(-total.unbooked // CARD))


def held_unbooked(total: TypeTotal) -> str:
    """Return how many more devices are taken for free, and held by pods."""
    held = parts(total.unbooked)
    return say(
        "and {held} more {are} held by pods, though the scheduler takes all for free",
        held=held,
        are="is" if held == "1" else "are",
    )


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def shares(total: TypeTotal) -> str:
    """Return how much is free of devices that are in use."""
    name, them = device_name(total.type), "it" if total.shared == 1 else "them"
    return say(
        "{shared} {name} {are} in use in part, with {parts} free in {them}.",
        shared=total.shared,
        name=name,
        are=_are(total.shared or 0),
        parts=parts(total.shares),
        them=them,
    )


def unhealthy(total: TypeTotal) -> str:
    """Return how many devices no pod is given, as they are unhealthy."""
    them = "it" if total.unhealthy == 1 else "them"
    name = device_name(total.type)
    return say(
        "{unhealthy} {name} {are} unhealthy: the scheduler does not allocate {them}.",
        unhealthy=total.unhealthy,
        name=name,
        are=_are(total.unhealthy),
        them=them,
    )


def withheld(total: TypeTotal, nodes: Sequence[str]) -> str:
    """Return how many devices are whole and do not count as free, as nodes are cordoned or not ready."""
    whose = "its" if len(nodes) == 1 else "their"
    them = say(
        "{whose} {withheld} free {device_name} {are} not counted",
        whose=whose,
        withheld=total.withheld,
        device_name=device_name(total.type),
        are=_are(total.withheld or 0),
    )
    return say("{nodes} {are} cordoned or not ready: {them}.", nodes=listed(nodes), are=_are(len(nodes)), them=them)


def devices_not_reported(nodes: Sequence[NodeCards]) -> str:
    """Return which nodes have accelerators in their allocatable, and no devices."""
    names = listed([node.node for node in nodes])
    what = listed(sorted({resource for node in nodes for resource in node.accelerators}))
    have = "has" if len(nodes) == 1 else "have"
    if all(node.device == "empty" for node in nodes):
        return say(
            "{names} {have} {what} but an empty Device object: koordlet has found no devices (for GPUs it "
            "has to load NVML), and the scheduler has none to give there.",
            names=names,
            have=have,
            what=what,
        )
    return say("{names} {have} {what} but no Device object, which koordlet writes.", names=names, have=have, what=what)


def others_without(number: int) -> str:
    """Return how many nodes are not shown, as they have no devices."""
    return say("{nodes} {have} no Device object.", nodes=count(number, "node"), have="has" if number == 1 else "have")


def without_any(nodes: Sequence[NodeCards]) -> str:
    """Return how many nodes have Device objects without devices, and no accelerators either."""
    if len(nodes) == 1:
        return say("{node} has an empty Device object, and no accelerators.", node=nodes[0].node)
    return say("{nodes} have empty Device objects, and no accelerators.", nodes=count(len(nodes), "node"))


def unlisted(node: NodeCards) -> str:
    """Return which devices pods of a node have that no Device object lists."""
    held = (noted(place(each.type, each.minor), say(", ").join(each.pods)) for each in node.unlisted)
    return say(
        "{node}: pods have devices that no Device object lists: {held}.", node=node.node, held=listed(tuple(held))
    )


def place(kind: str, minor: int) -> str:
    """Return the name of a device on its node: `gpu 0`."""
    return f"{kind} {minor}"


def parts(hundredths: int | None) -> str:
    """Return hundredths of a device as devices: `0.5`; `?` where that is unknown."""
    return UNKNOWN_AMOUNT if hundredths is None else f"{hundredths / CARD:g}"


def holders(card: Card) -> str:
    """Return who has a device: pods, and Reservations with what is left of them; shares in brackets."""
    if card.holders is None:
        return UNKNOWN_AMOUNT
    return ", ".join(
        (say("reservation {name}", name=each.name) if each.kind == "reservation" else each.name)
        + (f" ({parts(each.share)})" if each.share != CARD else "")
        for each in card.holders
    )


def notes(card: Card, node: NodeCards) -> str:
    """Return what keeps pods from a device."""
    return COMMA.join(filter(None, ["" if card.healthy else say("unhealthy"), node.state]))


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
        page: list[Block] = [Line(unknown(report.message), VERDICT_STYLE["unknown"])]
        return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]
    have = [node for node in report.nodes if node.cards]
    nodes = have[: columns.most]
    page = [Line(headline(report, len(have)), "bold"), *_remarks(report)]
    if report.devices and not report.asked:
        page += _domains(report, shown)
    if have:
        table, rest = _cards(nodes, shown) if columns.wide or report.asked else _signs(nodes, shown, columns)
        page += [EmptyLine(), *table]
        page += [more_line(more(rest))] if rest else []
        page += [more_line(beyond_limit(len(have) - len(nodes), "more node"))] if len(nodes) < len(have) else []
    page += warning_lines(report.warnings)
    return [*page, EmptyLine(), basis_line(report.basis)]


def _remarks(report: DevicesReport) -> Iterator[Line]:
    out = [node.node for node in report.nodes if node.state and node.cards]
    for total in report.devices:
        if total.shared:
            yield Line(shares(total))
        if total.unhealthy:
            yield Line(unhealthy(total), "warn")
        if total.withheld:
            yield Line(withheld(total, out), "warn")
    for device in ("empty", "missing"):
        not_reported = [node for node in report.nodes if node.device == device and node.accelerators]
        if not_reported:
            yield Line(devices_not_reported(not_reported), "warn")
    empty = [node for node in report.nodes if node.device == "empty" and not node.accelerators]
    if empty:
        yield Line(without_any(empty), "dim")
    yield from (Line(unlisted(node), "warn") for node in report.nodes if node.unlisted)
    outside = [node.node for node in report.nodes if node.cards and node.parent is None]
    if outside and report.domains:
        yield Line(
            say("{outside} {are} outside the topology tree.", outside=listed(outside), are=_are(len(outside))), "dim"
        )
    if report.without_devices:
        yield Line(others_without(report.without_devices), "dim")


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
        meanings |= dict.fromkeys(([IN_SHARES] if total.shares else []) + ([ROOM] if room else []))
    yield from (Line(meaning, "dim") for meaning in meanings)


def _largest(total: TypeTotal) -> Sequence[DeviceRoom]:
    """Return the room for the largest pods of several devices."""
    return [each for each in total.room if each.cards > 1][-_SIZES:]


def _columns(total: TypeTotal, room: Sequence[int]) -> tuple[Column, ...]:
    name = device_name(total.type)
    return (
        Column("DOMAIN"),
        Column("NODES", right=True, goes=1),
        Column(say("FREE {name}", name=name), right=True),
        Column(say("TOTAL {name}", name=name), right=True, goes=2),
        Column("IN SHARES", right=True, goes=3),
        *(Column(say("PODS OF {size}", size=size), right=True, goes=0 if size == room[-1] else 4) for size in room),
    )


def _rows(domains: Iterable[DomainCards], of: TypeTotal) -> Iterator[Row]:
    depths: dict[tuple[str, str], int] = {}
    for domain in domains:
        above = (domain.parent.layer, domain.parent.name) if domain.parent is not None else None
        depth = depths[domain.layer, domain.name] = depths.get(above, -1) + 1 if above is not None else 0
        total = next((each for each in domain.devices if each.type == of.type), None)
        if total is not None:
            shares = parts(total.shares) if of.shares else ""
            free = UNKNOWN_AMOUNT if total.free is None else str(total.free)
            room = (str(each.pods) for each in _largest(total))
            cells = (domain_name(domain.name), str(domain.nodes), free, str(total.cards), shares, *room)
            yield Row(cells, depth=depth)


def _cards(nodes: Iterable[NodeCards], shown: Shown) -> tuple[list[Block], int]:
    """Return a line for each card, and for how many more there is no room."""
    cards, rest = parted([(node, card) for node in nodes for card in node.cards], shown.lines)
    return [slim(Table(_COLUMNS, tuple(_card(node, card) for node, card in cards), indent=0, main=True))], len(rest)


def _signs(nodes: Sequence[NodeCards], shown: Shown, columns: Columns) -> tuple[list[Block], int]:
    """Return a line for each node with a sign for each card, domain by domain, and for how many there is no room."""
    kinds = dict.fromkeys(card.type for node in nodes for card in node.cards)
    some, rest = parted(nodes if columns.ordered else sorted(nodes, key=_domain), shown.lines)
    rows = []
    for node in some:
        signs = card_signs(node.cards)
        style: Style = "warn" if node.state or UNHEALTHY in "".join(signs.values()) else ""
        of_kinds = (signs.get(kind, "") for kind in kinds)
        rows.append(Row((node.node, _domain(node)[1], *of_kinds, _held_by(node), node.state), style))
    heads = [Column("NODE"), Column("DOMAIN", goes=1), *(Column(device_name(kind)) for kind in kinds)]
    heads += [Column("HELD BY", flow="wrap"), Column("NOTES")]
    is_unseen = any(UNKNOWN_AMOUNT in cell for row in rows for cell in row.cells)
    legend = Line(
        say(
            "{legend_of_signs}; each card: -o wide, or name a node.",
            legend_of_signs=legend_of_signs(is_unseen=is_unseen),
        ),
        "dim",
    )
    return [slim(Table(tuple(heads), tuple(rows), indent=0, main=True)), legend], len(rest)


def _domain(node: NodeCards) -> tuple[bool, str]:
    """Return the name of the domain above a node; nodes outside the tree come last."""
    return (True, "") if node.parent is None else (False, domain_name(node.parent.name))


def _held_by(node: NodeCards) -> str:
    held: dict[str, int] = {}
    for card in node.cards:
        if card.holders is None:
            return UNKNOWN_AMOUNT
        for each in card.holders:
            name = say("reservation {name}", name=each.name) if each.kind == "reservation" else each.name
            held[name] = held.get(name, 0) + each.share
    return ", ".join(name if share == CARD else f"{name} ({parts(share)})" for name, share in held.items())


def _card(node: NodeCards, card: Card) -> Row:
    memory = "" if card.free is None or _MEMORY not in card.free else amount_of("memory", card.free[_MEMORY], "rounded")
    cells = (
        node.node,
        place(card.type, card.minor),
        parts(card.share),
        memory,
        "" if card.numa is None else str(card.numa),
        card.pcie or "",
        holders(card),
        notes(card, node),
        card.id,
    )
    return Row(cells, "warn" if node.state or not card.healthy else "")
