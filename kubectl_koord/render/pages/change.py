"""The page of `annotate`: what changes, as a diff, and what `why-pending` answers before and after."""

from collections.abc import Iterator

from kubectl_koord.render.document import Block, Gap, Line
from kubectl_koord.render.words import VERDICT_STYLE, basis_line, warning_lines
from kubectl_koord.reports.change import Change, ChangePlan, Effect, VerdictSummary
from kubectl_koord.wording.words import count


def blocks(report: ChangePlan) -> list[Block]:
    """Return the page; of a change that was declined, and shown before, a line is enough."""
    page: list[Block] = [Line(report.message or _headline(report), VERDICT_STYLE[report.verdict])]
    if report.verdict == "no":
        return page
    for change in report.changes:
        page += [Gap(), *_diff(change)]
    if report.effect:
        page += [Gap(), *_effect(report.effect)]
    return [*page, *warning_lines(report.warnings), Gap(), basis_line(report.basis)]


def _headline(report: ChangePlan) -> str:
    objects = count(len(report.changes), "object")
    if not report.changes:
        return "Nothing to change."
    if report.applied:
        return f"Changed {objects}."
    dry = {"client": " (client dry run: nothing was sent)", "server": " (server dry run: nothing was saved)"}
    if report.dry_run in dry:
        return f"Would change {objects}{dry[report.dry_run]}."
    return f"Nothing was written; {objects} would change."


def _diff(change: Change) -> Iterator[Block]:
    place = f"{change.object.namespace}/" if change.object.namespace else ""
    yield Line(f"{change.object.kind} {place}{change.object.name}", "bold")
    for field in dict.fromkeys([*change.before, *change.after]):
        old, new = change.before.get(field), change.after.get(field)
        if old is not None:
            yield Line(f"- {field}: {old}", "bad", indent=2)
        if new is not None:
            yield Line(f"+ {field}: {new}", "good", indent=2)


def _effect(effect: Effect) -> Iterator[Block]:
    before, after = _outcome(effect.before), _outcome(effect.after)
    same = " (unchanged)" if before == after else ""
    yield Line(f"why-pending: {before} -> {after}{same}", VERDICT_STYLE[effect.after.verdict])
    for when, outcome in (("before", effect.before), ("after", effect.after)):
        if outcome.message:
            yield Line(f"{when}: {outcome.message}", indent=2)
    if effect.worse:
        yield Line(f"This makes it worse: why-pending will answer {after} instead of {before}.", "bad")


def _outcome(outcome: VerdictSummary) -> str:
    return f"{outcome.verdict} ({outcome.cause})" if outcome.cause else outcome.verdict
