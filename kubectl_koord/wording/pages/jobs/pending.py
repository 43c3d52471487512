"""The sentences of `why-pending` without a name."""

from collections import Counter
from collections.abc import Sequence

from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.jobs.pending import Contention, PendingGangsReport
from kubectl_koord.wording.pages.common import and_more, more
from kubectl_koord.wording.words import command, count

DETAILS = command("why-pending", "GANG")
_VERDICTS: dict[Verdict, str] = {"no": "cannot start now", "yes": "would be placed now", "unknown": "unknown"}


def headline(report: PendingGangsReport) -> str:
    """Return how many gangs and pods are pending, by verdict."""
    if not report.items:
        doubt = "" if report.verdict == "yes" else " among the objects that could be read"
        none = "No gang with pending pods matches" if report.selected else "No gang has pending pods"
        where = f" in namespace {report.namespace}" if report.namespace else ""
        return f"{none}{where}{doubt}."
    counts: Counter[Verdict] = Counter(item.verdict for item in report.items)
    parts = [f"{counts[verdict]} {words}" for verdict, words in _VERDICTS.items() if counts[verdict]]
    return f"{_subjects(report)}: {', '.join(parts)}."


def _subjects(report: PendingGangsReport) -> str:
    pods = sum(1 for item in report.items if item.lone_pod)
    gangs = len(report.items) - pods
    if not gangs:
        return f"{count(pods, 'pod')} {'is' if pods == 1 else 'are'} pending"
    return f"{gangs_and_pods(gangs, pods)} {'has' if len(report.items) == 1 else 'have'} pending pods"


def gangs_and_pods(gangs: int, pods: int) -> str:
    """Return how many gangs there are and how many pods without one."""
    return " and ".join(count(number, noun) for number, noun in ((gangs, "gang"), (pods, "pod")) if number)


def of_so_many(reason: str, number: int, total: int) -> str:
    """Return a reason that several gangs of one cause have alike, behind their number; empty without one."""
    if not reason:
        return ""
    return f": {reason}" if number == total else f", {number} alike: {reason}"


def incomplete(why: str) -> str:
    """Return that the list may be incomplete."""
    return f"This list may be incomplete: {why.rstrip('.')}."


def contention(one: Contention) -> str:
    """Return which gangs need the same room."""
    return f"{one.gang} and {', '.join(one.others)} need the same room: the one tried first gets it."


def more_contention(number: int) -> str:
    """Return how many more gangs compete for room."""
    return and_more(f"{count(number, 'more gang')} that compete for room")


def of_gangs(notice: Notice, gang: str, others: Sequence[str]) -> str:
    """Return the warning about a gang, with the names of the others that it is about."""
    message = notice.message if gang in notice.message else f"{gang}: {notice.message}"
    return f"{message} Also: {', '.join(others)}." if others else message


def more_kinds_of_warnings(number: int) -> str:
    """Return how many more kinds of warnings there are."""
    return more(number, "kinds of warnings about gangs")


def cause_or_verdict(code: str, verdict: Verdict) -> str:
    """Return the code of a cause, or the verdict on gangs without one."""
    if verdict == "yes":
        return "would-start"
    return code or {"no": "(no)", "unknown": "(unknown)"}[verdict]
