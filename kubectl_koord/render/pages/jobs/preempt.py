"""The page of `preempt GANG --dry-run`: the victims, attempt by attempt, and whether preemption helps."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from kubectl_koord.render.document import (
    Block,
    Bullet,
    Bullets,
    Column,
    EmptyLine,
    Line,
    Row,
    Style,
    Table,
    TreeTable,
    slim,
)
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, more_line, outcome_lines, warning_lines
from kubectl_koord.render.pages.capacity.nodes import by_node
from kubectl_koord.render.shown import Shown, parted
from kubectl_koord.reports.disruption import BrokenGang
from kubectl_koord.reports.jobs.preemption import PreemptReport, Round, Victim
from kubectl_koord.wording.ages import spelled
from kubectl_koord.wording.pages.common import NEXT_STEPS, more
from kubectl_koord.wording.pages.jobs import preempt as sentences
from kubectl_koord.wording.words import asked_for, command


def blocks(report: PreemptReport, shown: Shown) -> list[Block]:
    """Return the page."""
    breaks = report.broken_gangs and report.verdict == "yes"
    style: Style = "warn" if breaks else VERDICT_STYLE[report.verdict]
    page: list[Block] = [Line(report.message or sentences.headline(report), style)]
    if breaks:
        page.append(Line(sentences.breaks(len(report.broken_gangs)), "bad"))
    for index, attempt in enumerate(_attempts(report), 1):
        page += [EmptyLine(), *_attempt(attempt, _title(index, attempt), report.gang, shown)]
    for attempt in report.may_follow:
        page += [EmptyLine(), *_attempt(attempt, sentences.may_follow(len(attempt.victims)), report.gang, shown)]
    if report.broken_gangs:
        page += [EmptyLine(), *broken(report.broken_gangs)]
    page += [block for line in _wasted(report) for block in (EmptyLine(), line)]
    outcomes = sentences.outcomes(report)
    page += outcome_lines(outcomes, shown)
    page += [EmptyLine(), Line(sentences.places_open(report))] if report.alternatives and not outcomes else []
    page += [EmptyLine(), Line(NEXT_STEPS, "bold"), Bullets(tuple(_next(report)))]
    facts = sentences.facts(report)
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis, facts)]


def _title(index: int, attempt: Round) -> str:
    is_repeated = bool(attempt.victims and not attempt.nominations)  # those change with each attempt
    return sentences.attempt(index, len(attempt.victims), attempt.when, repeated=is_repeated)


def _attempts(report: PreemptReport) -> Sequence[Round]:
    if report.rounds or not (report.victims or report.nominations):
        return report.rounds
    return (Round(report.victims, report.nominations),)


def _attempt(attempt: Round, title: str, gang: str, shown: Shown) -> Iterator[Block]:
    yield Line(title, "bold")
    if attempt.victims:
        yield from victims(attempt.victims, shown)
    if attempt.nominations:
        yield EmptyLine()
        yield from by_node(attempt.nominations, gang, shown, "NOMINATED PODS")


def victims(killed: Sequence[Victim], shown: Shown) -> Iterator[Block]:
    """Yield the pods that would be preempted, by domain."""
    ordered = sorted(killed, key=lambda victim: (victim.domain, victim.node, victim.pod))
    first, rest = parted(ordered, shown.lines)
    columns = (
        Column("VICTIM"),
        Column("NODE", goes=4),
        Column("PRIORITY", right=True, goes=2),
        Column("BELONGS TO", goes=3),
        Column("AGE", right=True, goes=1),
        Column("BUDGET"),
        Column("NOTE"),
    )
    rows: list[Row] = []
    for domain, group in groupby(first, lambda victim: victim.domain):
        rows += [Row((domain, *[""] * (len(columns) - 1)))] if domain else []
        rows += [_victim(victim, depth=1 if domain else 0) for victim in group]
    yield slim(TreeTable(columns, tuple(rows), indent=2))
    if rest:
        yield more_line(more(len(rest), "victims"))
    answers: dict[str, list[str]] = {}
    for victim in ordered:
        if victim.eviction:
            answers.setdefault(victim.eviction, []).append(victim.pod)
    for answer, pods in answers.items():
        yield Line(sentences.eviction(pods, answer), indent=2)


def _victim(victim: Victim, depth: int) -> Row:
    cells = (
        victim.pod,
        victim.node,
        str(victim.priority),
        victim.gang or victim.owner or "",
        "" if victim.age_seconds is None else spelled(timedelta(seconds=victim.age_seconds)),
        sentences.budget(victim.pod_disruption_budget, victim.pod),
        "wasted" if victim.wasted else "",
    )
    violated = victim.pod_disruption_budget is not None and victim.pod_disruption_budget.violated
    return Row(cells, "bad" if victim.wasted or violated else "", depth)


def broken(gangs: Sequence[BrokenGang]) -> Iterator[Block]:
    """Yield the gangs that fall below their minimum."""
    yield Line(sentences.BROKEN_GANGS, "bad")
    columns = (
        Column("GANG"),
        Column("RUNNING", right=True, goes=1),
        Column("LEFT", right=True),
        Column("MINIMUM", right=True),
    )
    yield Table(
        columns, tuple(Row((gang.gang, str(gang.bound), str(gang.left), str(gang.min_member))) for gang in gangs)
    )


def _wasted(report: PreemptReport) -> Iterator[Line]:
    attempts = _attempts(report)
    wasted = {victim.pod: None for attempt in attempts for victim in attempt.victims if victim.wasted}
    if wasted:
        yield Line(sentences.wasted(wasted, report.gang), "bad")


def _next(report: PreemptReport) -> Iterator[Bullet]:
    asked = asked_for(report.gang, lone_pod=report.lone_pod)
    yield Bullet(sentences.next_step(report), command("why-pending", asked))
