"""The page of `why-pending` without a name: what waits, by cause, the oldest first."""

from collections import Counter
from collections.abc import Iterator, Mapping

from kubectl_koord.explain.reports import CauseGroup, PendingGangsReport, Verdict, WhyReport
from kubectl_koord.render.document import Block, Column, Gap, Line, Row, Table, slim
from kubectl_koord.render.pages import why
from kubectl_koord.render.words import VERDICT_STYLE, age_at, basis_line, count, resource_words, some, warning_lines

_SUMMARY = (
    Column("CAUSE"),
    Column("GANGS", right=True),
    Column("PODS", right=True),
    Column("WAITING FOR"),
    Column("OLDEST", right=True),
)
_GANGS = (
    Column("GANG"),
    Column("PODS", right=True),
    Column("WAITING FOR"),
    Column("AGE", right=True),
    Column("CAUSE"),
    Column("WHY", flow="cut"),
)
_FEW = 8
_MOST_LINES = 36
_MOST_CONTENDING = 5


def blocks(report: PendingGangsReport) -> list[Block]:
    """Return the page: a line per gang, and above it a line per cause where there are many."""
    page: list[Block] = [Line(_headline(report), "bold")]
    if len(report.items) > _FEW:
        page += [Gap(), slim(Table(_SUMMARY, tuple(_cause_row(group, report) for group in report.causes), indent=0))]
    if report.items:
        page += [Gap(), *_gangs(report)]
        page += [Gap(), Line("kubectl koord why-pending GANG tells more about one of them.", "dim")]
    page += _contending(report)
    return [*page, *warning_lines(report.warnings), Gap(), basis_line(report.basis)]


def _cause_row(group: CauseGroup, report: PendingGangsReport) -> Row:
    cells = (
        _word(group.code, group.verdict),
        str(len(group.gangs)),
        str(group.pods),
        _scarcest(group.waiting),
        age_at(group.oldest, report.basis.moment),
    )
    return Row(cells, "" if group.verdict == "no" else VERDICT_STYLE[group.verdict])


def _gangs(report: PendingGangsReport) -> Iterator[Block]:
    """Yield the gangs by cause, the oldest first, of each cause as many as there is room for."""
    items = {item.gang: item for item in report.items}
    share = max(1, (_MOST_LINES - len(report.causes)) // max(1, len(report.causes)))
    left = _MOST_LINES - sum(min(share, len(group.gangs)) for group in report.causes)
    rows: list[Row] = []
    for group in report.causes:
        most = share + max(0, min(left, len(group.gangs) - share))
        left -= max(0, most - share)
        shown = group.gangs if len(group.gangs) <= most + 1 else group.gangs[:most]
        rows += [_row(items[gang], report) for gang in shown]
        rest = len(group.gangs) - len(shown)
        if rest:
            rows.append(Row((f"and {rest} more", "", "", "", _word(group.code, group.verdict), ""), "dim"))
    yield slim(Table(_GANGS, tuple(rows), indent=0))


def _contending(report: PendingGangsReport) -> Iterator[Block]:
    if report.contending:
        yield Gap()
    for one in report.contending[:_MOST_CONTENDING]:
        yield Line(f"{one.gang} and {some(one.others, 2)} want the same place: whoever is tried first gets it.", "warn")
    rest = len(report.contending) - _MOST_CONTENDING
    if rest > 0:
        yield Line(f"and {count(rest, 'more gang')} that would find their place taken.", "warn")


def _scarcest(waiting: Mapping[str, str]) -> str:
    """Return the resource that counts most: GPUs, else CPUs, else the first."""
    ranked = sorted(waiting, key=lambda name: (not name.endswith("/gpu"), name != "cpu", name))
    return resource_words(ranked[0], waiting[ranked[0]]) if ranked else ""


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


def _row(item: WhyReport, report: PendingGangsReport) -> Row:
    others = sum(1 for gang in item.gang_group if gang != item.gang)
    name = f"pod/{item.gang}" if item.lone_pod else item.gang
    cells = (
        f"{name} (+{count(others, 'gang')})" if others else name,
        str(len(item.pending_pods)),
        _scarcest(item.waiting),
        age_at(item.waiting_since, report.basis.moment),
        _word(item.cause.code if item.cause and item.verdict != "yes" else "", item.verdict),
        why.place(item) if item.verdict == "yes" and not item.cause else why.reason(item),
    )
    return Row(cells, "" if item.verdict == "no" else VERDICT_STYLE[item.verdict])


def _word(code: str, verdict: Verdict) -> str:
    if verdict == "yes":
        return "(would start)"
    return code or {"no": "(no)", "unknown": "(unknown)"}[verdict]
