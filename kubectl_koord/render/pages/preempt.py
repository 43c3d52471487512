"""The page of `preempt GANG --dry-run`: whom preemption would kill, attempt by attempt, and whether it helps."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from itertools import groupby

from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Gap, Line, Row, Table, Tree, slim
from kubectl_koord.render.pages.nodes import by_node
from kubectl_koord.render.shown import Shown, and_more, parted
from kubectl_koord.render.words import VERDICT_STYLE, basis_line, command, local, warning_lines
from kubectl_koord.reports.disruption import BrokenGang, BudgetHit
from kubectl_koord.reports.preemption import PreemptAlternative, PreemptReport, Round, Victim
from kubectl_koord.wording.ages import spelled
from kubectl_koord.wording.words import count

_NEXT = {
    "not-needed": "No preemption is needed: the gang fits now.",
    "policy-never": "preemptionPolicy of the pods is Never: free resources yourself, or use another PriorityClass.",
    "terminating-victim": "Wait: victims of an earlier attempt are still terminating.",
    "no-pending-pods": "Nothing: the gang has no pending pods.",
    "no-victims": "Preemption cannot help: no lower-priority pod may be preempted.",
    "not-helpful": "Preemption cannot help: the gang would not fit even without all permitted victims.",
    "preemption-disabled": "Job preemption is off in the scheduler's configuration.",
}


_BEFORE = "The gang is stopped before preemption: check why it is pending."


def blocks(report: PreemptReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(report.message or _headline(report), VERDICT_STYLE[report.verdict])]
    for index, attempt in enumerate(_attempts(report), 1):
        page += [Gap(), *_attempt(attempt, _title(index, attempt), report.gang, shown)]
    if report.broken_gangs:
        page += [Gap(), *_broken(report.broken_gangs)]
    page += [block for line in _wasted(report) for block in (Gap(), line)]
    if report.alternatives:
        outcomes, rest = parted(report.alternatives, shown.few)
        points = tuple(Bullet(_alternative(each, report.gang)) for each in outcomes)
        page += [Gap(), Line("Possible outcomes (no object shows which one)", "bold"), Bullets(points)]
        page += [Line(and_more(f"{len(rest)} more outcomes"), "dim", indent=2)] if rest else []
    page += [Gap(), Line("What to do next", "bold"), Bullets(tuple(_next(report)))]
    facts = [] if report.priority is None else [f"Gang priority {report.priority}"]
    return [*page, *warning_lines(report.warnings), Gap(), basis_line(report.basis, facts)]


def _headline(report: PreemptReport) -> str:
    if report.verdict == "unknown":
        return f"{report.gang}: cannot tell what preemption would do."
    if report.reason == "not-needed":
        return f"{report.gang} needs no preemption."
    can = "lets" if report.verdict == "yes" else "does not let"
    return f"Preemption {can} {report.gang} run."


def _attempts(report: PreemptReport) -> Sequence[Round]:
    if report.rounds or not (report.victims or report.nominations):
        return report.rounds
    return (Round(report.victims, report.nominations),)


def _title(index: int, attempt: Round) -> str:
    preempts = f"preempts {count(len(attempt.victims), 'pod')}" if attempt.victims else "preempts no pods"
    return f"Attempt {index}: {preempts}"


def _attempt(attempt: Round, title: str, gang: str, shown: Shown) -> Iterator[Block]:
    yield Line(title, "bold")
    if attempt.victims:
        yield from _victims(attempt.victims, shown)
    if attempt.nominations:
        yield Gap()
        yield from by_node(attempt.nominations, gang, shown, "NOMINATED PODS")


def _victims(victims: Sequence[Victim], shown: Shown) -> Iterator[Block]:
    ordered = sorted(victims, key=lambda victim: (victim.domain, victim.node, victim.pod))
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
    yield slim(Tree(columns, tuple(rows), indent=2))
    if rest:
        yield Line(and_more(f"{len(rest)} more victims"), "dim", indent=2)
    answers: dict[str, list[str]] = {}
    for victim in ordered:
        if victim.eviction:
            answers.setdefault(victim.eviction, []).append(victim.pod)
    for answer, pods in answers.items():
        yield Line(f"Eviction of {', '.join(pods)}: {answer}", indent=2)


def _victim(victim: Victim, depth: int) -> Row:
    cells = (
        victim.pod,
        victim.node,
        str(victim.priority),
        victim.gang or victim.owner or "",
        "" if victim.age_seconds is None else spelled(timedelta(seconds=victim.age_seconds)),
        _budget(victim.pod_disruption_budget, victim.pod),
        "wasted" if victim.wasted else "",
    )
    violated = victim.pod_disruption_budget is not None and victim.pod_disruption_budget.violated
    return Row(cells, "bad" if victim.wasted or violated else "", depth)


def _budget(hit: BudgetHit | None, pod: str) -> str:
    if hit is None:
        return ""
    return f"{local(hit.name, pod)} ({'violated' if hit.violated else 'kept'})"


def _nominated(nominations: Mapping[str, str], gang: str) -> str:
    pods: dict[str, list[str]] = {}
    for pod, node in nominations.items():
        pods.setdefault(node, []).append(local(pod, gang))
    return "; ".join(f"{', '.join(pods[node])} -> {node}" for node in sorted(pods))


def _broken(broken: Sequence[BrokenGang]) -> Iterator[Block]:
    yield Line("Running gangs that would fall below their minimum", "bad")
    columns = (
        Column("GANG"),
        Column("RUNNING", right=True, goes=1),
        Column("LEFT", right=True),
        Column("MINIMUM", right=True),
    )
    yield Table(
        columns, tuple(Row((gang.gang, str(gang.bound), str(gang.left), str(gang.min_member))) for gang in broken)
    )


def _wasted(report: PreemptReport) -> Iterator[Line]:
    attempts = _attempts(report)
    wasted = {victim.pod: None for attempt in attempts for victim in attempt.victims if victim.wasted}
    if not wasted:
        return
    yield Line(f"Wasted victims: {', '.join(wasted)} ({report.gang} would still not run).", "bad")


def _alternative(each: PreemptAlternative, gang: str) -> str:
    victims = ", ".join(victim.pod for victim in each.victims)
    preempts = f"preempts {victims}" if victims else "preempts no pods"
    ends = {True: "; the gang then runs", False: "; the gang still does not run", None: ""}[each.helps]
    places = f"; nominated: {_nominated(each.nominations, gang)}" if each.nominations else ""
    broken = f"; breaks {', '.join(gone.gang for gone in each.broken_gangs)}" if each.broken_gangs else ""
    why = f" ({each.reason})" if each.reason else ""
    return f"If {each.when}: {preempts}{places}{broken}{ends}{why}."


def _next(report: PreemptReport) -> Iterator[Bullet]:
    why = command("why-pending", report.gang)
    if report.verdict == "unknown":
        yield Bullet("Cannot tell whether preemption helps: check why the gang is pending.", why)
    elif report.reason:
        yield Bullet(_NEXT.get(report.reason, _BEFORE), why)
    elif not report.helps:
        yield Bullet("Preempting these pods does not help: check why the gang is pending.", why)
    else:
        yield Bullet("Wait: the scheduler preempts these pods when it next tries the gang.", why)
    if report.broken_gangs or any(attempt.victims for attempt in _attempts(report)):
        yield Bullet("No pods were deleted: this command only computes.")
