"""The page of `why-preempted`: who killed the pods, by which plugin, and whether it was of any use."""

from collections.abc import Iterator

from kubectl_koord.explain.reports import Fate, PreemptedPod, Preemptor, WhyPreemptedReport
from kubectl_koord.explain.words import count
from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Gap, Line, Row, Table, slim
from kubectl_koord.render.words import VERDICT_STYLE, age_at, basis_line, command, local, some, warning_lines

_MOST_ROWS = 40
_PLUGINS: dict[str, str] = {
    "job-preemption": "job preemption",
    "elastic-quota": "quota preemption",
    "other": "ElasticQuota, Reservation or DefaultPreemption",
}
_FATES: dict[Fate, str] = {
    "placed": "runs: {bound} on nodes{minimum}.",
    "partly-placed": "runs partly: {bound} on nodes{minimum}, {pending} pending.",
    "pending": "is still pending: the preemption has not helped so far ({pending} pending{minimum}).",
    "gone": "no longer exists.",
    "unknown": "could not be read.",
}
_WAITS = "is still pending: it waits for its victims to terminate ({pending} pending{minimum})."
_COLUMNS = (
    Column("POD"),
    Column("NODE"),
    Column("PRIORITY", right=True),
    Column("WHEN", right=True),
    Column("STATE"),
    Column("PREEMPTOR"),
    Column("PREEMPTOR PRIORITY", right=True),
    Column("TRIGGER POD"),
)


def blocks(report: WhyPreemptedReport) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(_headline(report), VERDICT_STYLE[report.verdict])]
    page += [Line(_fate(each, report)) for each in report.preemptors]
    if report.pods:
        shown = report.pods if len(report.pods) <= _MOST_ROWS + 1 else report.pods[:_MOST_ROWS]
        rows = tuple(_row(pod, report) for pod in shown)
        page += [Gap(), slim(Table(_COLUMNS, rows))]
        if len(shown) < len(report.pods):
            page.append(Line(f"and {len(report.pods) - len(shown)} more (-o json lists all)", "dim", indent=2))
        page += [Gap(), *_evidence(report)]
    helps = tuple(_next(report))
    page += [Gap(), Line("What to do next", "bold"), Bullets(helps)] if helps else []
    return [*page, *warning_lines(report.warnings), Gap(), basis_line(report.basis)]


def _headline(report: WhyPreemptedReport) -> str:
    if not report.pods:
        start = "no evidence of preemption" if report.verdict == "no" else "cannot tell whether it was preempted"
        return f"{report.asked}: {start}: {report.message}"
    who = report.asked if report.is_pod else f"{count(len(report.pods), 'pod')} of {report.asked}"
    verb = "was" if len(report.pods) == 1 else "were"
    plugins = [_PLUGINS.get(plugin, plugin) for plugin in dict.fromkeys(pod.plugin for pod in report.pods) if plugin]
    how = f" ({some(plugins)})" if plugins else ""
    if not report.preemptors:
        return f"{who} {verb} preempted{how}; the preemptor is unknown."
    return f"{who} {verb} preempted by {some([each.name for each in report.preemptors])}{how}."


def _fate(each: Preemptor, report: WhyPreemptedReport) -> str:
    minimum = f", minimum {each.min_member}" if each.min_member is not None else ""
    waits = any(pod.preemptor == each.name and pod.state == "terminating" for pod in report.pods)
    fate = _WAITS if each.state == "pending" and waits else _FATES[each.state]
    priority = f" (priority {each.priority})" if each.priority is not None else ""
    told = fate.format(bound=each.bound, pending=each.pending, minimum=minimum)
    return f"{local(each.name, report.asked)}{priority} {told}"


def _row(pod: PreemptedPod, report: WhyPreemptedReport) -> Row:
    cells = (
        local(pod.pod, report.asked),
        pod.node,
        "" if pod.priority is None else str(pod.priority),
        age_at(pod.when, report.basis.moment) or pod.when,
        pod.state,
        local(pod.preemptor or "", report.asked),
        "" if pod.preemptor_priority is None else str(pod.preemptor_priority),
        local(pod.trigger_pod or "", report.asked),
    )
    return Row(cells)


def _evidence(report: WhyPreemptedReport) -> Iterator[Line]:
    """Yield each distinct text that the answer rests on, with the pods that carry it."""
    pods: dict[tuple[str, str], list[str]] = {}
    for pod in report.pods:
        for each in pod.evidence:
            pods.setdefault((each.source, each.text), []).append(local(pod.pod, report.asked))
    for (source, text), names in list(pods.items())[:_MOST_ROWS]:
        yield Line(f'The {source} of {some(names)} says: "{text}"', "dim")


def _next(report: WhyPreemptedReport) -> Iterator[Bullet]:
    for each in report.preemptors:
        if each.state in {"pending", "partly-placed"}:
            first = each.name.partition(",")[0]
            yield Bullet(f"Check why {local(first, report.asked)} is pending.", command("why-pending", first))
    if report.preemptors and any(pod.plugin == "job-preemption" for pod in report.pods):
        label = "scheduling.koordinator.sh/disable-preemptible=true"
        yield Bullet(f"Job preemption spares pods with label {label}, and pods of equal or higher priority.")
