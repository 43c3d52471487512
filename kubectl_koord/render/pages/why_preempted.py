"""The page of `why-preempted`: who killed the pods, by which plugin, and whether it was of any use."""

from collections.abc import Iterator

from kubectl_koord.render.document import Block, Bullet, Bullets, Column, Gap, Line, Row, Table, slim
from kubectl_koord.render.shown import Shown, and_more, parted
from kubectl_koord.render.words import VERDICT_STYLE, age_at, basis_line, command, local, warning_lines
from kubectl_koord.reports.preempted import Fate, PreemptedPod, Preemptor, WhyPreemptedReport
from kubectl_koord.wording.words import count

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
    Column("NODE", goes=4),
    Column("PRIORITY", right=True, goes=3),
    Column("WHEN", right=True),
    Column("STATE"),
    Column("PREEMPTOR"),
    Column("PREEMPTOR PRIORITY", right=True, goes=2),
    Column("TRIGGER POD", goes=1),
)


def blocks(report: WhyPreemptedReport, shown: Shown) -> list[Block]:
    """Return the page."""
    page: list[Block] = [Line(_headline(report), VERDICT_STYLE[report.verdict])]
    page += [Line(_fate(each, report)) for each in report.preemptors]
    if report.pods:
        pods, rest = parted(report.pods, shown.lines)
        page += [Gap(), slim(Table(_COLUMNS, tuple(_row(pod, report) for pod in pods)))]
        if rest:
            page.append(Line(and_more(f"{len(rest)} more"), "dim", indent=2))
        page += [Gap(), *_evidence(report, shown)]
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
    how = f" ({', '.join(plugins)})" if plugins else ""
    if not report.preemptors:
        return f"{who} {verb} preempted{how}; the preemptor is unknown."
    return f"{who} {verb} preempted by {', '.join(each.name for each in report.preemptors)}{how}."


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


def _evidence(report: WhyPreemptedReport, shown: Shown) -> Iterator[Line]:
    """Yield each distinct text that the answer rests on, with the pods that carry it."""
    pods: dict[tuple[str, str], list[str]] = {}
    for pod in report.pods:
        for each in pod.evidence:
            pods.setdefault((each.source, each.text), []).append(local(pod.pod, report.asked))
    texts, rest = parted(list(pods.items()), shown.rows)
    for (source, text), names in texts:
        yield Line(f'The {source} of {", ".join(names)} says: "{text}"', "dim")
    if rest:
        yield Line(and_more(f"{len(rest)} more texts"), "dim")


def _next(report: WhyPreemptedReport) -> Iterator[Bullet]:
    for each in report.preemptors:
        if each.state in {"pending", "partly-placed"}:
            first = each.name.partition(",")[0]
            yield Bullet(f"Check why {local(first, report.asked)} is pending.", command("why-pending", first))
    if report.preemptors and any(pod.plugin == "job-preemption" for pod in report.pods):
        label = "scheduling.koordinator.sh/disable-preemptible=true"
        yield Bullet(f"Job preemption spares pods with label {label}, and pods of equal or higher priority.")
