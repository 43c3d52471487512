"""The page of `plan`, and its sentences."""

from collections.abc import Iterator, Mapping

from kubectl_koord.language import say
from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Command, EmptyLine, Line, Row, Table
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, warning_lines
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.jobs import PlanCost, PlanPoint, PlanReport, PlanStep, StepAction
from kubectl_koord.wording.words import COMMA, DETAILS, command, count, sentence

RISKS = say("What may go wrong")
COMMANDS = say("Commands of each step: go on when the pod that is made anew is ready")
_DONE: Mapping[StepAction, str] = {
    "cordon": say("cordon"),
    "requeue": say("requeue"),
    "move-pod": say("move pod"),
    "move-gang": say("move gang"),
    "release-reservation": say("release"),
    "uncordon": say("uncordon"),
    "wake-gang": say("wake gang"),
}
_STEPS = (
    Column("#", right=True),
    Column("STEP"),
    Column("OBJECT"),
    Column("FROM", goes=3),
    Column("TO", goes=2),
    Column("GPU-HOURS", right=True, goes=1),
    Column("WHY", flow="wrap"),
)


_CURVE = (
    Column("PODS MOVED", right=True),
    Column("GANGS THAT FIT", right=True),
    Column("GPU-HOURS", right=True, goes=1),
    Column("FEWEST", goes=2),
)


def headline(report: PlanReport) -> str:
    """Return in one sentence whether there is a plan."""
    if report.curve:
        return report.message
    if report.steps:
        return say("{gang} is placed after {steps}.", gang=report.gang, steps=count(len(report.steps), "step"))
    if report.verdict == "yes":
        return say("{gang}: {message}", gang=report.gang, message=report.message)
    why = f" {sentence(report.cause.message)}" if report.cause is not None else ""
    message = f" {report.message}" if report.message else ""
    is_known = say("Cannot tell which moves help") if report.verdict == "unknown" else say("There is no plan")
    return say("{is_known} for {gang}.{message}{why}", is_known=is_known, gang=report.gang, message=message, why=why)


def cost(one: PlanCost, *, cheapest: bool) -> str:
    """Return what a plan costs, and whether another may cost less."""
    parts = [say("{pods} restart{s}", pods=count(one.pods, "pod"), s="s" if one.pods == 1 else "")]
    parts += [say("{gpu_hours:g} GPU-hours of work are lost", gpu_hours=one.gpu_hours)]
    parts += [say("{gangs} moved whole", gangs=count(one.gangs, "gang"))] if one.gangs else []
    parts += [say("{pods} left waiting", pods=count(one.waiting, "pod"))] if one.waiting else []
    parts += [say("{disruptions} of budgets used", disruptions=count(one.budgets, "disruption"))] if one.budgets else []
    proven = say("No plan costs less") if cheapest else say("It is not proven that no plan costs less")
    return say("{parts}. {proven} (weighed: {total:g}).", parts=COMMA.join(parts), proven=proven, total=one.total)


def told(step: PlanStep) -> str:
    """Return a step in a clause: what is done with whom, from where to where."""
    moved = say(" from {node}", node=step.node) if step.node else ""
    moved += say(" to {to}", to=step.to) if step.to else ""
    return say("{done} {object}{moved}: {why}", done=_DONE[step.action], object=step.object, moved=moved, why=step.why)


def blocks(report: PlanReport, _shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(headline(report), VERDICT_STYLE[report.verdict])]
    if len(report.curve) > 1:
        page += [EmptyLine(), Table(_CURVE, tuple(_points(report.curve))), EmptyLine()]
    if report.cost is not None:
        page += [Line(cost(report.cost, cheapest=report.cheapest)), EmptyLine(), _table(report.steps)]
    if report.cause is not None:
        page.append(Command(command("explain", report.cause.code), label=DETAILS))
    if report.risks:
        page += [EmptyLine(), Line(RISKS, "bold"), Bullets(tuple(map(Bullet, report.risks)))]
    if report.steps:
        page += [EmptyLine(), Line(COMMANDS, "bold"), Bullets(tuple(_commands(report.steps)))]
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _points(curve: tuple[PlanPoint, ...]) -> Iterator[Row]:
    for one in curve:
        yield Row(
            (str(one.pods), str(one.gangs), f"{one.gpu_hours:g}", say("proven") if one.fewest else say("not proven"))
        )


def _table(steps: tuple[PlanStep, ...]) -> Table:
    rows = (
        Row(
            (
                str(number),
                _DONE[step.action],
                step.object,
                step.node,
                step.to,
                f"{step.gpu_hours:g}" if step.pods else "",
                step.why,
            )
        )
        for number, step in enumerate(steps, 1)
    )
    return Table(_STEPS, tuple(rows))


def _commands(steps: tuple[PlanStep, ...]) -> Iterator[Bullet]:
    for step in steps:
        yield Bullet(say("{done} {object}", done=_DONE[step.action], object=step.object), step.command)
