"""The sentences of `why-preempted`."""

from collections.abc import Sequence

from kubectl_koord.reports.jobs.preempted import Fate, Preemptor, WhyPreemptedReport
from kubectl_koord.wording.words import count, name_within

SPARED = (
    "Job preemption spares pods with label scheduling.koordinator.sh/disable-preemptible=true, and pods of equal or"
    " higher priority."
)
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


def headline(report: WhyPreemptedReport) -> str:
    """Return which pods were preempted, by which preemptors and plugins."""
    if not report.pods:
        start = "no evidence of preemption" if report.verdict == "no" else "cannot tell whether it was preempted"
        return f"{report.asked}: {start}: {report.message}"
    victims = report.asked if report.is_pod else f"{count(len(report.pods), 'pod')} of {report.asked}"
    verb = "was" if len(report.pods) == 1 else "were"
    plugins = [_PLUGINS.get(plugin, plugin) for plugin in dict.fromkeys(pod.plugin for pod in report.pods) if plugin]
    how = f" ({', '.join(plugins)})" if plugins else ""
    if not report.preemptors:
        return f"{victims} {verb} preempted{how}; the preemptor is unknown."
    return f"{victims} {verb} preempted by {', '.join(each.name for each in report.preemptors)}{how}."


def fate(each: Preemptor, report: WhyPreemptedReport) -> str:
    """Return what became of a preemptor."""
    minimum = f", minimum {each.min_member}" if each.min_member is not None else ""
    waits = any(pod.preemptor == each.name and pod.state == "terminating" for pod in report.pods)
    state = _WAITS if each.state == "pending" and waits else _FATES[each.state]
    priority = f" (priority {each.priority})" if each.priority is not None else ""
    what = state.format(bound=each.bound, pending=each.pending, minimum=minimum)
    return f"{name_within(report.asked, each.name)}{priority} {what}"


def evidence(source: str, pods: Sequence[str], text: str) -> str:
    """Return a text that the answer rests on, and the pods that carry it."""
    return f'The {source} of {", ".join(pods)} says: "{text}"'


def check(preemptor: str) -> str:
    """Return that it should be looked at why a preemptor is pending."""
    return f"Check why {preemptor} is pending."
