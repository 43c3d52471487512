"""The pages of `scheduler`: what it remembers beside the objects, and what its log says of pods."""

from collections.abc import Mapping, Sequence

from kubectl_koord.render.document import Block, Column, EmptyLine, Line, Row, Style, Table, slim
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, warning_lines
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.operation.scheduler import Compared, LoggedPod, Part, SchedulerLogReport, SchedulerReport
from kubectl_koord.wording.pages.common import more
from kubectl_koord.wording.pages.operation import scheduler as sentences

_COLUMNS: Mapping[Part, tuple[tuple[str, str], ...]] = {
    "gangs": (
        ("minMember", "WANTED"),
        ("pods", "PODS"),
        ("pending", "PENDING"),
        ("waiting", "IN PERMIT"),
        ("bound", "BOUND"),
        ("onceSatisfied", "SATISFIED"),
    ),
    "quotas": (("used", "USED"), ("request", "REQUEST"), ("runtime", "RUNTIME")),
    "devices": (("free", "FREE"), ("pods", "PODS")),
    "reservations": (("allocatable", "ALLOCATABLE"), ("allocated", "ALLOCATED"), ("pods", "PODS")),
}
"""What a table of many shows of each, and its header; of one alone every field is a row."""
_FIELDS = (Column("FIELD"), Column("SCHEDULER", flow="wrap"), Column("OBJECTS", flow="wrap"))
_SCORES = (Column("NODE"), Column("TOTAL", right=True), Column("BY PLUGIN", flow="wrap"))
_REFUSED = (
    Column("NODES", right=True),
    Column("PLUGIN"),
    Column("VICTIMS HELP", goes=2),
    Column("FIRST", goes=1),
    Column("REASON", flow="wrap"),
)


def blocks(report: SchedulerReport, shown: Shown) -> list[Block]:
    """Return the page of a comparison."""
    page: list[Block] = [Line(sentences.headline(report), "bold")]
    if report.message:
        page.append(Line(sentences.not_compared(report.message), VERDICT_STYLE["unknown"]))
    items, rest = parted([item for item in report.items if item.fields], shown.lines)
    columns = _COLUMNS.get(report.part, ())
    if columns and items:
        page += [EmptyLine(), _table(items, columns)]
        page += [Line(sentences.SIDES, "dim")] if any(item.differences for item in items) else []
    else:
        page += [block for item in items for block in (EmptyLine(), _fields(item))]
    page += [more_line(more(len(rest)))] if rest else []
    routes, others = parted(report.routes, shown.lines)
    page += [EmptyLine(), *(Line(route, indent=2) for route in routes)] if routes else []
    page += [more_line(more(len(others)))] if others else []
    differences = [(item, one) for item in report.items for one in item.differences]
    first, hidden = parted(differences, shown.rows)
    if first:
        page.append(EmptyLine())
        page += [Line(sentences.difference(item, one.code, one.message), _style(one.code)) for item, one in first]
        page += [more_line(more(len(hidden)))] if hidden else []
        page.append(Line(sentences.EXPLAIN, "dim"))
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def log_blocks(report: SchedulerLogReport, shown: Shown) -> list[Block]:
    """Return the page of a log."""
    page: list[Block] = [Line(sentences.log_headline(report), "bold")]
    page += [Line(line, "warn") for line in sentences.incomplete(report)]
    items, rest = parted(report.items, shown.rows)
    for item in items:
        page += _pod(item, shown)
    page += [more_line(more(len(rest), "pods"))] if rest else []
    return page if items else [*page, Line(sentences.DEBUG, "dim")]


def _table(items: Sequence[Compared], columns: tuple[tuple[str, str], ...]) -> Table:
    rows = []
    for item in items:
        fields = {one.field: sentences.beside(one.scheduler, one.ours) for one in item.fields}
        cells = (item.name, *(fields.get(name, "") for name, _ in columns))
        rows.append(Row(cells, "warn" if item.differences else ""))
    heads = (Column("NAME"), *(Column(head, flow="wrap") for _, head in columns))
    return slim(Table(heads, tuple(rows), indent=0, main=True))


def _fields(item: Compared) -> Table:
    rows = tuple(
        Row((one.field, one.scheduler, one.ours or ""), "" if one.agrees else "warn")
        for one in item.fields
        if one.scheduler or one.ours
    )
    return Table(_FIELDS, rows, indent=0, main=True)


def _style(code: str) -> Style:
    return "bad" if code == "unexplained" else "warn"


def _pod(item: LoggedPod, shown: Shown) -> list[Block]:
    page: list[Block] = [EmptyLine(), Line(sentences.of_pod(item), "bold")]
    here = sentences.why_here(item.scores)
    page += [Line(here, indent=2)] if here else []
    page += [Line(text, indent=2, quoted=True) for text in item.said]
    page += [Line(sentences.offers(item), indent=2)] if item.slots else []
    scores, rest = parted(item.scores, shown.rows)
    if scores:
        rows = tuple(Row((one.node, str(one.total), sentences.by_plugin(one))) for one in scores)
        page.append(Table(_SCORES, rows))
    refused, others = parted(item.refused, shown.rows)
    if refused:
        cells = (
            (str(one.count), one.plugin, sentences.may_help(one.preempt), one.nodes[0] if one.nodes else "", one.reason)
            for one in refused
        )
        page.append(slim(Table(_REFUSED, tuple(map(Row, cells)))))
    page += [more_line(more(len(rest) + len(others)))] if rest or others else []
    return [*page, more_line(sentences.more_refusals(item.more))] if item.more else page
