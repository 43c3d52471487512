"""Whom job preemption would kill, attempt by attempt, and whether that helps."""

from collections.abc import Iterable

from msgspec import structs

from kubectl_koord.diagnosis import admission, coverage, disruption, visibility
from kubectl_koord.engine.preemption import Preemption
from kubectl_koord.engine.rounds import Course
from kubectl_koord.engine.tree import Tree
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.codes import CauseCode, ReasonCode
from kubectl_koord.reports.values import (
    Notice,
    PreemptAlternative,
    PreemptReport,
    Round,
    Verdict,
    Victim,
)
from kubectl_koord.simulation.simulation import Question, ask, open_courses
from kubectl_koord.simulation.subjects import Subject
from kubectl_koord.wording.ages import between
from kubectl_koord.wording.unevaluated import unevaluated_names
from kubectl_koord.wording.words import count, listed


def preempt(snapshot: Snapshot, subject: Subject) -> PreemptReport:
    """Return what job preemption would do for the subject in its next attempts."""
    question = ask(snapshot, subject)
    missing = coverage.absent(snapshot, (*coverage.rests_on(subject), "PodDisruptionBudget"))
    warnings = (*coverage.general(snapshot), *missing, *admission.oddities(subject, snapshot, question.tree))
    if not subject.pending:
        return _nobody_pending(question, warnings)
    stops = admission.before_trying(subject, snapshot, question.tree)
    if stops:
        is_open = admission.is_open(stops[0], subject, snapshot)
        verdict: Verdict = "unknown" if is_open else "no"
        return _idle(
            question, warnings, stops[0].code, stops[0].message, verdict=verdict, helps=None if is_open else False
        )
    blind = visibility.unread_for(subject, snapshot)
    if blind:
        return _idle(question, warnings, None, visibility.words(blind), verdict="unknown")
    if not snapshot.config.preemption:
        return _idle(question, warnings, "preemption-disabled", "enablePreemption is off", verdict="no", helps=False)
    courses = open_courses(question)
    if _is_one_by_one(question, courses):
        message = "the gang ran before, so each of its pods preempts on its own; this is not evaluated"
        return _idle(question, warnings, None, message, verdict="unknown")
    return _from_courses(question, courses, warnings)


def _nobody_pending(question: Question, warnings: tuple[Notice, ...]) -> PreemptReport:
    unread = visibility.unread_members(question.subject, question.snapshot)
    if unread:
        return _idle(question, warnings, None, visibility.words(unread), verdict="unknown")
    return _idle(question, warnings, "no-pending-pods", "it has no pending pods", verdict="yes")


def _is_one_by_one(question: Question, courses: tuple[Course, ...]) -> bool:
    """Tell whether several pods would preempt, each for itself: those of a gang that was satisfied once."""
    group = question.subject.group
    if group is None or not group.is_satisfied() or len(question.subject.pending) == 1:
        return False
    return any(
        not course.placed_at_once and (course.last is None or course.last.reason not in _FOR_EACH or course.rounds)
        for course in courses
    )


def _idle(
    question: Question,
    warnings: tuple[Notice, ...],
    reason: ReasonCode | CauseCode | None,
    message: str,
    *,
    verdict: Verdict,
    helps: bool | None = None,
) -> PreemptReport:
    outcome = ": cannot tell which pods it would preempt" if verdict == "unknown" else " would preempt no pods"
    return PreemptReport(
        verdict=verdict,
        basis=coverage.basis(question.snapshot),
        warnings=warnings,
        gang=question.subject.key,
        gang_group=_group_ids(question),
        priority=_priority(question),
        eligible=False,
        reason=reason,
        helps=helps,
        victims=(),
        broken_gangs=(),
        nominations={},
        rounds=(),
        message=f"{question.subject.key}{outcome}: {message.rstrip('.')}.",
    )


def _group_ids(question: Question) -> tuple[str, ...]:
    return tuple(question.subject.group.gangs) if question.subject.group is not None else ()


def _priority(question: Question) -> int | None:
    return max((pod.priority for pod in question.subject.pending), default=None)


def _from_courses(question: Question, courses: tuple[Course, ...], warnings: tuple[Notice, ...]) -> PreemptReport:
    described = _distinct([_describe(question, course) for course in courses])
    likeliest, course = described[0], courses[0]
    unevaluated = coverage.not_evaluated(question.subject, question.snapshot)
    verdicts = {outcome.verdict for outcome in described}
    verdict: Verdict = likeliest.verdict if len(verdicts) == 1 else "unknown"
    if unevaluated and (verdict == "yes" or any(item.may_admit for item in unevaluated)):
        verdict = "unknown"
        message = f"it depends on {unevaluated_names(unevaluated)}, which is not evaluated"
        warnings = (*warnings, Notice("not-evaluated", f"{message}."))
    first = course.rounds[0] if course.rounds else course.last
    return PreemptReport(
        verdict=verdict,
        basis=coverage.basis(question.snapshot),
        warnings=(*warnings, *_warnings(question, courses)),
        gang=question.subject.key,
        gang_group=_group_ids(question),
        priority=_priority(question),
        eligible=first.eligible if first is not None else True,
        reason=likeliest.reason,
        helps=likeliest.helps if len(verdicts) == 1 and not unevaluated else None,
        victims=likeliest.victims,
        broken_gangs=likeliest.broken_gangs,
        nominations=likeliest.nominations,
        rounds=likeliest.rounds,
        message=_sentence(question, course, verdict),
        alternatives=tuple(described) if len(described) > 1 else (),
    )


def _distinct(described: list[PreemptAlternative]) -> list[PreemptAlternative]:
    """Return the outcomes that differ in more than in who was tried first."""
    seen: list[PreemptAlternative] = []
    for outcome in described:
        if not any(structs.replace(outcome, when=other.when) == other for other in seen):
            seen.append(outcome)
    return seen


def _describe(question: Question, course: Course) -> PreemptAlternative:
    reason: ReasonCode | None = "not-needed" if course.placed_at_once else None
    helps = None if course.placed_at_once else course.runs
    if not course.placed_at_once and not course.rounds and course.last is not None:
        reason = course.last.reason or "no-victims"
    verdict: Verdict = "yes" if course.placed_at_once or course.runs else "no"
    if course.runs is None:
        verdict = "unknown"
    if reason == "terminating-victim":
        verdict, helps = _once_gone(question)
    wasted = course.runs is False
    rounds = tuple(
        Round(_victims(question, preemption, wasted=wasted), dict(preemption.nominations))
        for preemption in course.rounds
    )
    return PreemptAlternative(
        when=f"the scheduler tries {course.trigger.key} first",
        verdict=verdict,
        victims=rounds[0].victims if rounds else (),
        nominations=rounds[0].nominations if rounds else {},
        rounds=rounds,
        helps=helps,
        reason=reason,
        broken_gangs=disruption.broken_gangs(question.snapshot, course.killed),
    )


def _once_gone(question: Question) -> tuple[Verdict, bool]:
    """Return verdict and help as they will be when the victims that still terminate are gone."""
    dying = [pod for pods in question.snapshot.running.values() for pod in pods if pod.terminating and pod.preempted]
    later = open_courses(question, question.view.without(dying))
    runs = all(course.placed_at_once or course.runs for course in later)
    return ("yes" if runs else "no"), runs


def _victims(question: Question, preemption: Preemption, *, wasted: bool) -> tuple[Victim, ...]:
    spent: dict[str, int] = {}
    return tuple(
        Victim(
            pod=pod.key,
            node=pod.node,
            priority=pod.priority,
            gang=pod.gang or None,
            owner=pod.owner or None,
            age_seconds=_age(question.snapshot.moment, pod.created),
            pod_disruption_budget=disruption.budget_hit(question.snapshot.budgets, pod, spent),
            domain=_domain(question, pod.node),
            wasted=wasted,
        )
        for pod in sorted(preemption.victims, key=lambda pod: (pod.node, pod.key))
    )


def _age(moment: str, created: str) -> int | None:
    age = between(created, moment)
    return None if age is None else int(age.total_seconds())


def _domain(question: Question, node: str) -> str:
    if not isinstance(question.tree, Tree) or node not in question.tree.leaf:
        return ""
    return question.tree.domains[question.tree.domains[question.tree.leaf[node]].parent].name


def _warnings(question: Question, courses: tuple[Course, ...]) -> Iterable[Notice]:
    killed = {victim.key: victim for course in courses for victim in course.killed}
    spent: dict[str, int] = {}
    covered = {
        hit.name: hit.violated
        for victim in killed.values()
        if (hit := disruption.budget_hit(question.snapshot.budgets, victim, spent)) is not None
    }
    if covered:
        broken = [name for name, violated in covered.items() if violated]
        end = f"; this would violate {listed(broken)}" if broken else ""
        yield Notice("ignores-budgets", f"job preemption ignores PodDisruptionBudgets ({listed(list(covered))}){end}.")
    if any(course.runs is False and course.rounds for course in courses):
        yield Notice("wasted-victims", "the preemption would be wasted: the gang would still not run.")
    if len({pod.never_preempts for pod in question.subject.pending}) > 1:
        message = "its pods have different preemption policies: only the policy of the pod tried first counts."
        yield Notice("mixed-policies", message)


def _sentence(question: Question, course: Course, verdict: Verdict) -> str:
    name = question.subject.key
    if verdict == "unknown":
        return f"{name}: cannot tell whether preemption helps."
    if course.placed_at_once:
        return f"{name} needs no preemption: it would be placed now."
    if not course.rounds:
        reason = course.last.reason if course.last is not None else None
        return f"{name} would preempt no pods: {_REASONS.get(reason or '', 'it would not help')}."
    victims = count(len(course.killed), "pod")
    attempts = f" in {len(course.rounds)} attempts" if len(course.rounds) > 1 else ""
    if course.runs:
        return f"{name} would preempt {victims}{attempts} and then run."
    return f"{name} would preempt {victims}{attempts} and still not run."


_REASONS = {
    "policy-never": "its preemption policy is Never",
    "terminating-victim": "victims of an earlier attempt are still terminating",
    "no-victims": "no node has lower-priority pods that may be preempted",
    "not-helpful": "it would not fit even without all lower-priority pods",
    "no-pending-pods": "it has no pending pods",
}

_FOR_EACH = {"policy-never", "no-victims"}  # what keeps all pods that are alike from preempting keeps each of them
