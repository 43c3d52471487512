"""The page of `why-pending GANG`: the verdict, where room is short, and what helps."""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Command, EmptyLine, Line, Row, Table, slim
from kubectl_koord.render.lines import (
    VERDICT_STYLE,
    basis_line,
    more_line,
    outcome_lines,
    raw_lines,
    scheduler_line,
    warning_lines,
)
from kubectl_koord.render.pages import moves
from kubectl_koord.render.pages.capacity.nodes import by_node
from kubectl_koord.render.pages.jobs import volcano
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs.fit import FitGang
from kubectl_koord.reports.jobs.pending import NodeReason, SlotRow, WhyReport
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.wording.basis import warning
from kubectl_koord.wording.pages.common import DETAILS, NEXT_STEPS, more
from kubectl_koord.wording.pages.jobs import why as sentences
from kubectl_koord.wording.words import asked_for, command, domain_name, layer_noun

_ALWAYS_TOLD = 2  # of the what-ifs those from here on: that they change nothing is an answer, too
_BESIDE_SLOTS = "slots-incomplete"
_OF_THE_CAUSE = frozenset(("raise-resource-quota", "admit-pods"))  # what makes it complete, not smaller
_TRIED_WHOLE = frozenset(("use-layer", "lower-minimum"))  # of other steps only a part can be tried


def blocks(report: WhyReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(sentences.headline(report), VERDICT_STYLE[report.verdict])]
    page += [Line(text) for text in sentences.remarks(report)]
    page += [Line(text, "dim") for text in [sentences.about(report)] if text]
    if report.cause:
        page.append(Command(command("explain", report.cause.code), label=DETAILS))
    page += volcano.details(report.volcano) if report.volcano is not None else ()
    if report.domains:
        page += [EmptyLine(), *slots(report.domains, report.desired_offer_slot, shown, report.warnings)]
    if report.placement:
        page += [EmptyLine(), *by_node(report.placement, report.gang, shown)]
    if report.nodes:
        page += [EmptyLine(), *_nodes(report.nodes, report.desired_offer_slot)]
    page += steps(report, shown)
    if report.verdict == "yes" and report.pending_pods and not (report.unblock or report.next_steps):
        asked = asked_for(report.gang, lone_pod=report.lone_pod)
        page += [EmptyLine(), Line(NEXT_STEPS, "bold")]
        page.append(Bullets((Bullet(sentences.WAIT, command("why-pending", asked, "--until", "scheduled")),)))
    page += outcome_lines(sentences.outcomes(report.alternatives), shown)
    page += moves.migrations(report.migrations, shown, of_one_gang=True)
    page += moves.reservations(report.reservations, shown)
    if report.scheduler_says:
        page += [EmptyLine(), scheduler_line(report.scheduler_says, report.basis.moment, shown)]
        page += raw_lines(report.scheduler_says, report.gang)
    is_warning = report.verdict != "yes" and not report.cause and not report.alternatives  # the headline, that is
    warnings = report.warnings[:-1] if is_warning else report.warnings
    return [
        *page,
        *warning_lines([notice for notice in warnings if not report.domains or notice.code != _BESIDE_SLOTS]),
        EmptyLine(),
        basis_line(report.basis, sentences.facts(report)),
    ]


def steps(report: WhyReport | FitGang, shown: Shown) -> Iterator[Block]:
    """Yield the ways out and what else to do, or why there is no way out."""
    unblock, next_steps = report.unblock, report.next_steps
    proven = unblock if shown.lines is None else _one_of_each(unblock)
    if proven or next_steps:
        yield from (EmptyLine(), Line(sentences.next_steps(len(proven)), "bold"))
        first = [way for way in next_steps if way.action in _OF_THE_CAUSE]
        others = [way for way in next_steps if way.action not in _OF_THE_CAUSE]
        yield Bullets((*_as_told(first), *_as_told(proven), *_unproven(others, beside_proven=bool(proven))))
        rest = len(unblock) - len(proven)
        if rest:
            yield more_line(sentences.more_ways(rest))
        if report.ways_not_tried:
            yield Line(sentences.not_tried(report.ways_not_tried))
    elif report.no_way_out:
        yield from (EmptyLine(), Line(sentences.no_way_out(report.no_way_out)))


def _one_of_each(ways: Sequence[WayOut]) -> list[WayOut]:
    """Return the cheapest way of each kind."""
    first: dict[str, WayOut] = {}
    for way in ways:
        first.setdefault(way.action, way)
    return list(first.values())


def _as_told(ways: Iterable[WayOut]) -> Iterator[Bullet]:
    return (Bullet(way.message, way.command) for way in ways)


def _unproven(ways: Iterable[WayOut], *, beside_proven: bool) -> Iterator[Bullet]:
    for way in ways:
        is_open = beside_proven or way.action in _TRIED_WHOLE
        yield Bullet(sentences.unproven(way.message) if is_open else way.message, way.command)


def _nodes(nodes: Sequence[NodeReason], wanted: int | None) -> Iterator[Block]:
    """Return why each node is out, domain by domain."""
    columns = (Column("NODE"), Column("DOMAIN", goes=1), Column("SLOTS"), Column("REASON", flow="wrap"))
    ordered = sorted(nodes, key=lambda node: (node.domain, -node.offer_slots, node.node))
    rows = (
        Row(
            (node.node, node.domain, _of(node.offer_slots, wanted), node.reason),
            "good" if node.offer_slots else "",
        )
        for node in ordered
    )
    yield slim(Table(columns, tuple(rows)))


def _of(slots: int, wanted: int | None) -> str:
    return str(slots) if wanted is None else f"{slots}/{wanted}"


def slots(
    domains: Sequence[SlotRow], wanted: int | None, shown: Shown, warnings: Sequence[Notice] = ()
) -> Iterator[Block]:
    """Yield how many pods each domain takes of those wanted, what is in the way, and what would change that.

    Of the warnings those that are about slots stand there, too.
    """
    ordered = sorted(domains, key=lambda domain: -domain.offer_slots)
    first, rest = parted(ordered, shown.rows)
    layers = {domain.layer for domain in domains}
    noun = layer_noun(ordered[0].layer) if len(layers) == 1 else "domain"
    header = noun.upper()
    columns = (
        Column(header),
        Column("SLOTS"),
        Column("MISSING", right=True, goes=1),
        Column("IN THE WAY", flow="wrap"),
    )
    rows = tuple(_slot_row(domain, wanted, shown, mixed=len(layers) > 1) for domain in first)
    yield slim(Table(columns, rows))
    if rest:
        yield more_line(sentences.more_domains(len(rest), rest[0].offer_slots))
    yield from (Line(warning(notice), "warn") for notice in warnings if notice.code == _BESIDE_SLOTS)
    yield from _what_ifs(ordered, noun, shown)


def _what_ifs(domains: Sequence[SlotRow], noun: str, shown: Shown) -> Iterator[Block]:
    """Yield the slots that domains would have if one thing were different, where that differs from now."""
    columns = (
        Column(noun.upper()),
        Column("NOW", right=True),
        Column("TERMINATING GONE", right=True),
        Column("UNCORDONED", right=True),
        Column("NO LOWER PRIORITY", right=True),
        Column("EMPTY", right=True),
    )
    states = [(domain, structs.astuple(domain.what_if)) for domain in domains if domain.what_if is not None]
    differing = [(domain, slots) for domain, slots in states if set(slots) != {domain.offer_slots}]
    if not differing:
        return
    ranked = sorted(differing, key=lambda state: (-max(state[1]), -state[0].offer_slots))
    first, rest = parted(ranked, shown.few)
    is_told = [at >= _ALWAYS_TOLD or any(slots[at] != one.offer_slots for one, slots in differing) for at in range(4)]
    rows = tuple(
        Row(
            (
                domain_name(domain.name),
                str(domain.offer_slots),
                *(str(number) if is_told[at] else "" for at, number in enumerate(slots)),
            )
        )
        for domain, slots in first
    )
    yield from (EmptyLine(), Line(sentences.what_if(noun, is_told), "bold"), slim(Table(columns, rows)))
    if rest:
        yield more_line(more(len(rest)))


def _slot_row(domain: SlotRow, wanted: int | None, shown: Shown, *, mixed: bool) -> Row:
    name = domain_name(domain.name)
    if mixed:
        name = f"{layer_noun(domain.layer)} {name}"
    in_the_way = sentences.in_the_way(domain, everything=shown.few is None)
    cells = (name, _of(domain.offer_slots, wanted), str(domain.short), in_the_way)
    return Row(cells, "" if domain.short else "good")
