"""The page of `diff`: what differs in sum, then domains, nodes and pods."""

from collections.abc import Sequence

from kubectl_koord.render.document import USUAL, Block, Column, Columns, EmptyLine, Line, Row, Table
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.operation.difference import DiffReport, DomainDiff, NodeDiff, PodDiff
from kubectl_koord.wording.pages.common import more
from kubectl_koord.wording.pages.operation import diff as sentences
from kubectl_koord.wording.words import domain_name, unit


def blocks(report: DiffReport, shown: Shown, _columns: Columns = USUAL) -> list[Block]:
    """Return the page."""
    lines = [Line(sentences.headline(report), "bold")]
    lines += [Line(text) for text in (*sentences.sums(report), sentences.between(report))]
    lines += [Line(sentences.unread(report.message), VERDICT_STYLE["unknown"])] if report.message else []
    page: list[Block] = [*lines, *_domains(report, shown), *_nodes(report, shown), *_pods(report, shown)]
    page += [EmptyLine(), Line(sentences.SLOTS, "dim")] if report.asked and report.domains else []
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _domains(report: DiffReport, shown: Shown) -> list[Block]:
    counted = unit(report.resource)
    columns = [Column("LAYER"), Column("DOMAIN"), Column(f"{counted} FREE", right=True), Column("NOW", right=True)]
    columns += [Column("SLOTS", right=True), Column("NOW", right=True)] if report.asked else []

    def row(one: DomainDiff) -> Row:
        free = (sentences.shown(report.resource, number) for number in (one.free_before, one.free_after))
        fits = map(sentences.slots, (one.slots_before, one.slots_after) if report.asked else ())
        return Row((one.layer, domain_name(one.name), *free, *fits))

    first, rest = parted(report.domains, shown.lines)
    return _table(columns, [row(one) for one in first], len(rest))


def _nodes(report: DiffReport, shown: Shown) -> list[Block]:
    counted = "SLOTS" if report.asked else unit(report.resource)
    columns = (Column("NODE"), Column(counted, right=True), Column("CHANGED", flow="wrap"))

    def row(one: NodeDiff) -> Row:
        number = f"{one.difference:+d}" if report.asked else sentences.signed(report.resource, one.difference)
        return Row((one.node, number, sentences.changed(one)))

    first, rest = parted(report.nodes, shown.lines)
    return _table(columns, [row(one) for one in first], len(rest))


def _pods(report: DiffReport, shown: Shown) -> list[Block]:
    columns = (Column("POD"), Column(unit(report.resource), right=True), Column("CHANGE"), Column("FROM"), Column("TO"))

    def row(one: PodDiff) -> Row:
        amount = sentences.shown(report.resource, one.amount)
        return Row((one.pod, amount, sentences.change(one), one.node_before or "", one.node_after or ""))

    first, rest = parted(report.placed, shown.lines)
    return _table(columns, [row(one) for one in first], len(rest))


def _table(columns: Sequence[Column], rows: Sequence[Row], rest: int) -> list[Block]:
    if not rows:
        return []
    found: list[Block] = [EmptyLine(), Table(tuple(columns), tuple(rows), indent=0)]
    return [*found, more_line(more(rest))] if rest else found
