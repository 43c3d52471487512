"""The sentences of `preempt GANG --dry-run`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_koord.reports.disruption import BudgetHit
from kubectl_koord.reports.jobs.preemption import PreemptAlternative, PreemptReport, RoundTime
from kubectl_koord.wording.words import count, name_within, the_subject

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


def alternative(each: PreemptAlternative, report: PreemptReport) -> str:
    """Return one of several outcomes."""
    gang, then = report.gang, _THEN[each.helps].format(it=the_subject(lone_pod=report.lone_pod))
    then = _IN_PART if each.helps is False and _runs_in_part(each) else then
    victims = ", ".join(victim.pod for victim in each.victims)
    preempts = f"preempts {victims}" if victims else "preempts no pods"
    places = f"; nominated: {_nominated(each.nominations, gang)}" if each.nominations else ""
    broken = f"; breaks {', '.join(hit.gang for hit in each.broken_gangs)}" if each.broken_gangs else ""
    why = f" ({each.reason})" if each.reason else ""
    return f"If {each.when}: {preempts}{places}{''.join(_later(each))}{broken}{then}{why}."


def _runs_in_part(each: PreemptReport | PreemptAlternative) -> bool:
    """Tell whether pods are nominated that run, though not all do: else victims are wasted, or more are needed."""
    return bool(each.nominations) and len(each.rounds) == 1 and not any(victim.wasted for victim in each.victims)


def _later(each: PreemptAlternative) -> Iterator[str]:
    for index, attempt in enumerate(each.rounds[1:], 2):
        if attempt.victims:
            when = f" ({_WHEN[attempt.when].removeprefix(', ')})" if _WHEN[attempt.when] else ""
            yield f"; attempt {index}{when} preempts {', '.join(victim.pod for victim in attempt.victims)}"
    for attempt in each.may_follow:
        yield f"; perhaps{_WHEN[attempt.when]}, preempts {', '.join(victim.pod for victim in attempt.victims)}"


def _nominated(nominations: Mapping[str, str], gang: str) -> str:
    pods: dict[str, list[str]] = {}
    for pod, node in nominations.items():
        pods.setdefault(node, []).append(name_within(gang, pod))
    return "; ".join(f"{', '.join(sorted(pods[node]))} -> {node}" for node in sorted(pods))


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
