"""The page of `why-pending` without a name: what waits, by cause, the oldest first."""

from collections import Counter
from collections.abc import Iterator, Mapping

from kubectl_koord.explain.reports import CauseGroup, PendingGangsReport, Verdict, WhyReport
from kubectl_koord.render.document import Block, Column, Gap, Line, Row, Tree, slim
from kubectl_koord.render.pages import why
from kubectl_koord.render.words import VERDICT_STYLE, age_at, basis_line, count, resource_words, some, warning_lines

_COLUMNS = (
    Column("CAUSE / GANG"),
    Column("PODS", right=True),
    Column("WAITING FOR"),
    Column("AGE", right=True),
    Column("WHY", flow="cut"),
)
_MOST_LINES = 40
_MOST_CONTENDING = 5


def blocks(report: PendingGangsReport) -> list[Block]:
    """Return the page: the causes, and below each its gangs, the oldest first."""
    page: list[Block] = [Line(_headline(report), "bold")]
    if report.items:
        page += [Gap(), slim(Tree(_COLUMNS, tuple(_rows(report))))]
        page += [Gap(), Line("kubectl koord why-pending GANG tells more about one of them.", "dim")]
    page += _contending(report)
    return [*page, *warning_lines(report.warnings), Gap(), basis_line(report.basis)]


def _rows(report: PendingGangsReport) -> Iterator[Row]:
    """Yield a row per cause, and of its gangs as many as there is room for."""
    share = max(1, _MOST_LINES // len(report.causes))
    left = _MOST_LINES - sum(min(share, len(group.gangs)) for group in report.causes)
    for group in report.causes:
        items = _of(group, report)
        more = max(0, min(left, len(items) - share))
        left -= more
        shown = items if len(items) <= share + more + 1 else items[: share + more]
        yield _cause_row(group, report)
        yield from (_row(item, report) for item in shown)
        rest = len(items) - len(shown)
        if rest:
            yield Row((f"and {rest} more", "", "", "", ""), "dim", depth=1)


def _cause_row(group: CauseGroup, report: PendingGangsReport) -> Row:
    cells = (
        _word(group.code, group.verdict),
        str(group.pods),
        _scarcest(group.waiting),
        age_at(group.oldest, report.basis.moment),
        count(len(group.gangs), "gang") if len(group.gangs) > 1 else "",
    )
    return Row(cells, "bold" if group.verdict == "no" else VERDICT_STYLE[group.verdict])


def _scarcest(waiting: Mapping[str, str]) -> str:
    """Return the resource that counts most: GPUs, else CPUs, else the first."""
    ranked = sorted(waiting, key=lambda name: (not name.endswith("/gpu"), name != "cpu", name))
    return resource_words(ranked[0], waiting[ranked[0]]) if ranked else ""


def _of(group: CauseGroup, report: PendingGangsReport) -> list[WhyReport]:
    """Return the reports that a cause holds, the oldest first."""
    items = (item for item in report.items if (item.verdict, _code(item)) == (group.verdict, group.code))
    return sorted(items, key=lambda item: (item.waiting_since, item.gang))


def _code(item: WhyReport) -> str:
    return item.cause.code if item.cause and item.verdict != "yes" else ""


def _contending(report: PendingGangsReport) -> Iterator[Block]:
    if report.contending:
        yield Gap()
    for one in report.contending[:_MOST_CONTENDING]:
        yield Line(f"{one.gang} and {some(one.others, 2)} want the same place: whoever is tried first gets it.", "warn")
    rest = len(report.contending) - _MOST_CONTENDING
    if rest > 0:
        yield Line(f"and {count(rest, 'more gang')} that would find their place taken.", "warn")


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
        why.place(item) if item.verdict == "yes" and not item.cause else why.reason(item),
    )
    return Row(cells, "" if item.verdict == "no" else VERDICT_STYLE[item.verdict], depth=1)


def _word(code: str, verdict: Verdict) -> str:
    if verdict == "yes":
        return "(would start)"
    return code or {"no": "(no)", "unknown": "(unknown)"}[verdict]
