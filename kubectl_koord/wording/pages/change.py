"""The sentences of `annotate`."""

from kubectl_koord.reports.change import ChangePlan, VerdictSummary
from kubectl_koord.wording.words import count

_DRY_RUNS = {"client": " (client dry run: nothing was sent)", "server": " (server dry run: nothing was saved)"}


def headline(report: ChangePlan) -> str:
    """Return what was or would be changed."""
    objects = count(len(report.changes), "object")
    if not report.changes:
        return "Nothing to change."
    if report.applied:
        return f"Changed {objects}."
    if report.dry_run in _DRY_RUNS:
        return f"Would change {objects}{_DRY_RUNS[report.dry_run]}."
    return f"Nothing was written; {objects} would change."


def outcome(summary: VerdictSummary) -> str:
    """Return a verdict with its cause."""
    return f"{summary.verdict} ({summary.cause})" if summary.cause else summary.verdict


def effect(before: str, after: str) -> str:
    """Return what `why-pending` answers before and after the change."""
    same = " (unchanged)" if before == after else ""
    return f"why-pending: {before} -> {after}{same}"


def after_restart(answer: str) -> str:
    """Return what `why-pending` answers once a restarted scheduler has noticed the change."""
    return f"After a restart of the scheduler: {answer}"


def worse(before: str, after: str) -> str:
    """Return that the change makes it worse."""
    return f"This makes it worse: why-pending will answer {after} instead of {before}."
