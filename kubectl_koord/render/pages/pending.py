"""The page of `why-pending` without a name: one line per gang that waits."""

from collections import Counter

from kubectl_koord.explain.reports import PendingGangsReport, Verdict, WhyReport
from kubectl_koord.render.document import Block, Column, Gap, Line, Row, Table, slim
from kubectl_koord.render.pages import why
from kubectl_koord.render.words import VERDICT_STYLE, age_at, basis_line, count, warning_lines

_COLUMNS = (
    Column("GANG"),
    Column("PENDING", right=True),
    Column("CAUSE"),
    Column("AGE", right=True),
    Column("WHY", flow="cut"),
)


def blocks(report: PendingGangsReport) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(_headline(report), "bold")]
    if report.items:
        rows = tuple(_row(item) for item in report.items)
        page += [Gap(), slim(Table(_COLUMNS, rows, indent=0))]
        page += [Gap(), Line("kubectl koord why-pending GANG tells more about one of them.", "dim")]
    return [*page, *warning_lines(report.warnings), Gap(), basis_line(report.basis)]


def _headline(report: PendingGangsReport) -> str:
    if not report.items:
        doubt = "" if report.verdict == "yes" else " as far as can be seen"
        return f"No gang has pending pods{doubt}."
    counts: Counter[Verdict] = Counter(item.verdict for item in report.items)
    words = {"no": "cannot start now", "yes": "would be placed now", "unknown": "unknown"}
    parts = [f"{counts[verdict]} {words[verdict]}" for verdict in ("no", "yes", "unknown") if counts[verdict]]
    return f"{_subjects(report)}: {', '.join(parts)}."


def _subjects(report: PendingGangsReport) -> str:
    pods = sum(1 for item in report.items if item.lone_pod)
    gangs = len(report.items) - pods
    lone = f"{count(pods, 'lone pod')} {'is' if pods == 1 else 'are'} pending"
    if not gangs:
        return lone
    waiting = f"{count(gangs, 'gang')} {'has' if gangs == 1 else 'have'} pending pods"
    return f"{waiting}, {lone}" if pods else waiting


def _row(item: WhyReport) -> Row:
    others = sum(1 for gang in item.gang_group if gang != item.gang)
    name = f"pod/{item.gang}" if item.lone_pod else item.gang
    says = item.scheduler_says
    gone = age_at(says.since, item.basis.moment) if says else ""
    cells = (
        f"{name} (+{count(others, 'gang')})" if others else name,
        str(len(item.pending_pods)),
        _cause(item),
        gone,
        why.place(item) if item.verdict == "yes" and not item.cause else why.reason(item),
    )
    return Row(cells, "" if item.verdict == "no" else VERDICT_STYLE[item.verdict])


def _cause(item: WhyReport) -> str:
    if item.verdict == "no" and item.cause:
        return item.cause.code
    return {"yes": "(would start)", "no": "(no)", "unknown": "(unknown)"}[item.verdict]
