"""The sentences of `scheduler`."""

from collections.abc import Sequence
from itertools import pairwise

from kubectl_koord.reports.operation.scheduler import (
    Compared,
    LoggedPod,
    Part,
    SchedulerLogReport,
    SchedulerReport,
    Scored,
)
from kubectl_koord.wording.words import count, listed

SIDES = "In brackets: what follows from the objects, where the scheduler has something else."
EXPLAIN = "What a code means: kubectl koord explain CODE"
DEBUG = (
    "The scheduler logs it where its flags tell it to: --debug-scores=N, --debug-filters, --debug-diagnosis; errors of"
    " pods that fit nowhere from -v=2 on."
)
_NOUNS: dict[Part, str] = {
    "gangs": "gang",
    "gang": "gang",
    "node": "node",
    "quotas": "quota",
    "devices": "device",
    "numa": "node",
    "reservations": "reservation",
    "services": "path",
}


def headline(report: SchedulerReport) -> str:
    """Return how many things the scheduler knows, and how many of them are as the objects say."""
    if report.part == "services":
        return f"{report.asked} answers {count(len(report.routes), 'path')}."
    noun = _NOUNS[report.part]
    if not report.items:
        return f"{report.asked} knows no {noun}."
    total = count(len(report.items), noun)
    if report.message:
        return f"{report.asked} knows {total}."
    differ = sum(1 for item in report.items if item.differences)
    if not differ:
        return f"{report.asked}: {total}, as the objects say."
    open_ = sum(1 for item in report.items for one in item.differences if one.code == "unexplained")
    reasons = f"{count(open_, 'difference')} without a known reason" if open_ else "all for a known reason"
    return f"{report.asked}: {total}, {differ} not as the objects say, {reasons}."


def not_compared(message: str) -> str:
    """Return why nothing is compared."""
    return f"Not compared: {message}."


def beside(scheduler: str, ours: str | None) -> str:
    """Return what the scheduler has, and in brackets what the objects say where that is something else."""
    return f"{scheduler or '-'} ({ours or '-'})" if ours not in {None, scheduler} else scheduler


def difference(item: Compared, code: str, message: str) -> str:
    """Return one difference of one thing."""
    return f"{item.name}: {message} [{code}]"


def log_headline(report: SchedulerLogReport) -> str:
    """Return of how many pods a log says something."""
    what = {"scores": "scores of", "filters": "refusals of", "diagnosis": "diagnoses of"}[report.part]
    read = f"{count(report.lines, 'line')} read"
    if not report.items:
        return f"No {what.partition(' ')[0]} in the log ({read})."
    return f"{what[0].upper()}{what[1:]} {count(len(report.items), 'pod')} in the log ({read})."


def incomplete(report: SchedulerLogReport) -> list[str]:
    """Return what of a log is not shown: lines that could not be read, pods beyond the most."""
    said = []
    if report.broken:
        said.append(
            f"{count(report.broken, 'line')} could not be read and {'was' if report.broken == 1 else 'were'} skipped."
        )
    if report.left_out:
        said.append(f"It tells of more pods than are kept, the last {len(report.items)}: name a pod.")
    return said


def of_pod(item: LoggedPod) -> str:
    """Return whom the lines below are about, and when it was last spoken of."""
    gang = f" of {item.gang}" if item.gang else ""
    facts = [f"last at {item.at}"] if item.at else []
    if item.root_cause is not None and not item.root_cause:
        facts.append("another member failed first")
    if item.waiting:
        facts.append(f"{count(item.waiting, 'member')} waited in Permit")
    if item.feasible is not None:
        facts.append(f"{count(item.feasible, 'node')} could take it")
    return f"{item.pod}{gang}: {', '.join(facts)}" if facts else f"{item.pod}{gang}"


def why_here(scores: Sequence[Scored]) -> str:
    """Return what puts the first node before the second; empty where there is no second."""
    for first, second in list(pairwise(scores))[:1]:
        gains = {name: number - second.plugins.get(name, 0) for name, number in first.plugins.items()}
        parts = [f"{name} {number:+d}" for name, number in gains.items() if number]
        if not parts:
            return f"{first.node} and {second.node} have the same scores: one of the best is taken by chance."
        return f"{first.node} is before {second.node} by {first.total - second.total}: {listed(parts)}."
    return ""


def by_plugin(scored: Scored) -> str:
    """Return what each plugin gave a node, but those that gave nothing."""
    return ", ".join(f"{name} {number}" for name, number in scored.plugins.items() if number)


def offers(item: LoggedPod) -> str:
    """Return how many members each node had room for."""
    return f"Members placed or offered room: {', '.join(f'{node} {number}' for node, number in item.slots.items())}."


def more_refusals(number: int) -> str:
    """Return how many refusals of a pod were not kept."""
    return f"... and {count(number, 'refusal')} that are not kept"


def may_help(preempt: bool | None) -> str:  # noqa: FBT001 - one of three answers
    """Return whether victims might help."""
    return {None: "", True: "yes", False: "no"}[preempt]
