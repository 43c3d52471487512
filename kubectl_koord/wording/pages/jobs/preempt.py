"""The sentences of `preempt GANG --dry-run`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_koord.reports.disruption import BudgetHit
from kubectl_koord.reports.jobs.preemption import PreemptAlternative, PreemptReport, RoundTime
from kubectl_koord.wording.pages.common import told
from kubectl_koord.wording.words import count, few, name_within, the_subject

BROKEN_GANGS = "Running gangs that would fall below their minimum"
NOTHING_DELETED = "computed only: no pod was deleted"
_NEXT = {
    "not-needed": "Wait: the scheduler places {it} when it next tries it.",
    "policy-never": "Use a PriorityClass whose preemptionPolicy is not Never, or see what else helps.",
    "terminating-victim": "Wait until they are gone.",
    "no-pending-pods": "Nothing is to be done.",
    "preemption-disabled": "See what else helps, or turn job preemption on in the scheduler's configuration.",
}
_SEE_WHAT_HELPS = "See why {it} is pending, and what else helps."
_WHEN: Mapping[RoundTime, str] = {"now": "", "while-terminating": ", while these terminate", "after": ""}
_THEN = {True: "; {it} then runs", False: "; {it} still does not run", None: ""}
_PLACES_OPEN = "which pod takes which node is open"
_MOST_NAMED = 6
_IN_PART = "; the pods that are nominated then run"


def headline(report: PreemptReport) -> str:
    """Return whether preemption lets the gang run."""
    if report.verdict == "unknown":
        return f"{report.gang}: cannot tell what preemption would do."
    if report.reason == "not-needed":
        return f"{report.gang} needs no preemption."
    can = "lets" if report.verdict == "yes" else "does not let"
    return f"Preemption {can} {report.gang} run."


def breaks(gangs: int) -> str:
    """Return that running gangs pay for it."""
    return f"It breaks {count(gangs, 'running gang')}: below."


def attempt(index: int, victims: int, when: RoundTime, *, repeated: bool) -> str:
    """Return the title of an attempt, the first being 1, or of all that follow from it on."""
    title = f"Attempts from {index} on: preempt" if repeated else f"Attempt {index}{_WHEN[when]}: preempts"
    return f"{title} {count(victims, 'pod') if victims else 'no pods'}"


def may_follow(victims: int) -> str:
    """Return the title of an attempt that may come besides, while the victims of the first terminate."""
    return f"Perhaps{_WHEN['while-terminating']}: preempts {count(victims, 'more pod')}"


def eviction(pods: Sequence[str], answer: str) -> str:
    """Return what the API server answers to the eviction of pods."""
    return f"Eviction of {', '.join(pods)}: {answer}"


def budget(hit: BudgetHit | None, pod: str) -> str:
    """Return the budget that covers a pod, and whether preempting it violates that; empty without one."""
    return "" if hit is None else f"{name_within(pod, hit.name)} ({'violated' if hit.violated else 'kept'})"


def wasted(victims: Iterable[str], gang: str) -> str:
    """Return which victims are preempted without the gang running."""
    return f"Wasted victims: {', '.join(victims)} ({gang} would still not run)."


def outcomes(report: PreemptReport) -> list[str]:
    """Return the outcomes that differ in whom they end, what that breaks or whether it helps; none where none do."""
    alike: dict[object, list[PreemptAlternative]] = {}
    for each in report.alternatives:
        alike.setdefault(_acted_on(each), []).append(each)
    if len(alike) == 1 < len(report.alternatives):
        return []
    return told(([each.when for each in some], _outcome(some, report)) for some in alike.values())


def places_open(report: PreemptReport) -> str:
    """Return that outcomes differ in nothing but the nodes that pods take."""
    return f"{_PLACES_OPEN[0].upper()}{_PLACES_OPEN[1:]} ({count(len(report.alternatives), 'outcome')})."


def _acted_on(each: PreemptAlternative) -> object:
    """Return all of an outcome that somebody acts on: not where its pods go."""
    rounds = tuple(
        (one.when, frozenset(victim.pod for victim in one.victims)) for one in (*each.rounds, *each.may_follow)
    )
    victims = frozenset(victim.pod for victim in each.victims)
    return each.verdict, each.helps, each.reason, victims, rounds, each.broken_gangs, bool(each.nominations)


def _outcome(alike: Sequence[PreemptAlternative], report: PreemptReport) -> str:
    each = alike[0]
    then = _THEN[each.helps].format(it=the_subject(lone_pod=report.lone_pod))
    then = _IN_PART if each.helps is False and _runs_in_part(each) else then
    broken = f"; breaks {', '.join(hit.gang for hit in each.broken_gangs)}" if each.broken_gangs else ""
    why = f" ({each.reason})" if each.reason else ""
    places = (
        f"; {_PLACES_OPEN}" if any(one.nominations != each.nominations for one in alike) else _nominated(each, report)
    )
    return f"{_killed(each, report)}{places}{''.join(_later(each))}{broken}{then}{why}."


def _killed(each: PreemptAlternative, report: PreemptReport) -> str:
    """Return whom an outcome ends first; of many by what differs from those that are shown above."""
    killed, above = [one.pod for one in each.victims], [one.pod for one in report.victims]
    if len(killed) <= _MOST_NAMED:
        return f"preempts {', '.join(killed) or 'no pods'}"
    if killed == above:
        return f"preempts the {len(killed)} pods above"
    new, gone = [pod for pod in killed if pod not in above], [pod for pod in above if pod not in killed]
    others = len(killed) - len(new)
    if not others:
        return f"preempts {few(killed, _MOST_NAMED)}"
    instead = f" in place of {few(gone, _MOST_NAMED)}" if gone else ""
    if not new:
        return f"preempts {others} of the pods above, not {few(gone, _MOST_NAMED)}"
    return f"preempts {few(new, _MOST_NAMED)}{instead}, and {others} of those above"


def _runs_in_part(each: PreemptReport | PreemptAlternative) -> bool:
    """Tell whether pods are nominated that run, though not all do: else victims are wasted, or more are needed."""
    return bool(each.nominations) and len(each.rounds) == 1 and not any(victim.wasted for victim in each.victims)


def _later(each: PreemptAlternative) -> Iterator[str]:
    for index, attempt in enumerate(each.rounds[1:], 2):
        if attempt.victims:
            when = f" ({_WHEN[attempt.when].removeprefix(', ')})" if _WHEN[attempt.when] else ""
            yield f"; attempt {index}{when} preempts {few([victim.pod for victim in attempt.victims], _MOST_NAMED)}"
    for attempt in each.may_follow:
        yield f"; perhaps{_WHEN[attempt.when]}, preempts {few([victim.pod for victim in attempt.victims], _MOST_NAMED)}"


def _nominated(each: PreemptAlternative, report: PreemptReport) -> str:
    """Return where the pods of an outcome are nominated; that of many is in the tables, or in nobody's head."""
    if not each.nominations or len(each.nominations) > _MOST_NAMED:
        return ""
    pods: dict[str, list[str]] = {}
    for pod, node in each.nominations.items():
        pods.setdefault(node, []).append(name_within(report.gang, pod))
    places = (f"{', '.join(sorted(pods[node]))} -> {node}" for node in sorted(pods))
    return f"; nominated: {'; '.join(places)}"


def next_step(report: PreemptReport) -> str:
    """Return what to do."""
    it = the_subject(lone_pod=report.lone_pod)
    if report.verdict == "unknown" or report.refusing_quota:
        return _SEE_WHAT_HELPS.format(it=it)
    needs = {each.reason != "not-needed" for each in report.alternatives}
    if len(needs) > 1:
        return f"Wait: {it} runs in each of these outcomes."
    if report.reason:
        return _NEXT.get(report.reason, _SEE_WHAT_HELPS).format(it=it)
    if report.helps and not any(attempt.victims for attempt in report.rounds):
        return f"Wait until the pods that terminate are gone: {it} then runs."
    if not report.helps and _runs_in_part(report):
        return "Wait for the pods that are nominated, and see why the others are pending."
    if not report.helps:
        return _SEE_WHAT_HELPS.format(it=it)
    return f"Wait: the scheduler preempts these pods when it next tries {it}."


def facts(report: PreemptReport) -> list[str]:
    """Return the priority of the gang or pod, and that nothing was done where there are victims: for the last line."""
    who = "Pod" if report.lone_pod else "Gang"
    priority = [] if report.priority is None else [f"{who} priority {report.priority}"]
    preempts = bool(report.victims) or any(attempt.victims for attempt in report.rounds)
    return [*priority, *([NOTHING_DELETED] if preempts else [])]
