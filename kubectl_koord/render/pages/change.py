"""The page of `annotate`: what changes, as a diff, and what `why-pending` answers before and after."""

from collections.abc import Iterator

from kubectl_koord.language import say
from kubectl_koord.render.document import Block, Command, EmptyLine, Line, Style
from kubectl_koord.render.lines import VERDICT_STYLE, basis_line, warning_lines
from kubectl_koord.render.pages import fit
from kubectl_koord.render.shown import Shown
from kubectl_koord.reports.change import Change, ChangePlan, Effect, VerdictSummary
from kubectl_koord.wording.words import count

_DRY_RUNS = {
    "client": say(" (client dry run: nothing was sent)"),
    "server": say(" (server dry run: nothing was saved)"),
}


def headline(report: ChangePlan) -> str:
    """Return what was or would be changed."""
    objects = count(len(report.changes), "object")
    if not report.changes:
        return say("Nothing to change.")
    if report.applied:
        return say("Changed {objects}.", objects=objects)
    if report.dry_run in _DRY_RUNS:
        return say("Would change {objects}{dry_runs}.", objects=objects, dry_runs=_DRY_RUNS[report.dry_run])
    return say("Nothing was written; {objects} would change.", objects=objects)


def change_outcome(summary: VerdictSummary) -> str:
    """Return a verdict with its cause."""
    return f"{summary.verdict} ({summary.cause})" if summary.cause else summary.verdict


def change_effect(before: str, after: str) -> str:
    """Return what `why-pending` answers before and after the change."""
    same = say(" (unchanged)") if before == after else ""
    return say("why-pending: {before} -> {after}{same}", before=before, after=after, same=same)


def after_restart(answer: str) -> str:
    """Return what `why-pending` answers once a restarted scheduler has noticed the change."""
    return say("After a restart of the scheduler: {answer}", answer=answer)


def worse(before: str, after: str) -> str:
    """Return that the change makes it worse."""
    return say("This makes it worse: why-pending will answer {after} instead of {before}.", after=after, before=before)


def blocks(report: ChangePlan, shown: Shown) -> list[Block]:
    """Return the page; of a change that was declined, and shown before, a line is enough."""
    page: list[Block] = [Line(report.message or headline(report), VERDICT_STYLE[report.verdict])]
    if report.verdict == "no":
        return page
    if report.notes:
        page += [EmptyLine(), *(Line(note) for note in report.notes)]
    for change in report.changes:
        page += [EmptyLine(), *_diff(change)]
    if report.commands:
        page += [EmptyLine(), *(Command(one) for one in report.commands)]
    if report.fit is not None:
        return [*page, EmptyLine(), *fit.blocks(report.fit, shown)]
    if report.effect:
        page += [EmptyLine(), *_effect(report.effect)]
    return [*page, *warning_lines(report.warnings), EmptyLine(), basis_line(report.basis)]


def _diff(change: Change) -> Iterator[Block]:
    place = f"{change.object.namespace}/" if change.object.namespace else ""
    yield Line(f"{change.object.kind} {place}{change.object.name}", "bold")
    for field in dict.fromkeys([*change.before, *change.after]):
        old, new = change.before.get(field), change.after.get(field)
        if old is not None:
            yield from _value(f"- {field}:", str(old), "bad")
        if new is not None:
            yield from _value(f"+ {field}:", str(new), "good")


def _value(name: str, value: str, style: Style) -> Iterator[Block]:
    """Yield a value in the line of its name; one of several lines below it, as YAML writes a block."""
    is_ended = value.endswith("\n")
    first, *others = value.removesuffix("\n").split("\n")
    if not others:
        yield Line(f"{name} {first}", style, indent=2)
        return
    yield Line(f"{name} {'|' if is_ended else '|-'}", style, indent=2)
    yield from (Line(line, style, indent=6) if line else EmptyLine() for line in (first, *others))


def _effect(effect: Effect) -> Iterator[Block]:
    before, after = change_outcome(effect.before), change_outcome(effect.after)
    yield Line(change_effect(before, after), VERDICT_STYLE[effect.after.verdict])
    restarted = effect.after_restart
    answers = [(say("before"), effect.before), (say("after"), effect.after)]
    if restarted is not None:
        yield Line(after_restart(change_outcome(restarted)), VERDICT_STYLE[restarted.verdict])
        answers = [*answers[: 1 if effect.after == effect.before else 2], (say("after a restart"), restarted)]
    for when, outcome in answers:
        if outcome.message:
            yield Line(say("{when}: {message}", when=when, message=outcome.message), indent=2)
    if effect.worse:
        yield Line(worse(before, change_outcome(restarted or effect.after)), "bad")
