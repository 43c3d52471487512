"""Whom job preemption would kill, attempt by attempt, and whether that helps."""

from collections.abc import Iterable

from msgspec import structs

from kubectl_koord.diagnosis import admission, coverage, disruption, visibility
from kubectl_koord.engine.admission import before_trying, is_open
from kubectl_koord.engine.preemption import Preemption
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.subjects import PodSubject, Subject
from kubectl_koord.model.moments import between
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.codes import CauseCode, ReasonCode
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.preemption import PreemptAlternative, PreemptReport, Round, Victim
from kubectl_koord.simulation.simulation import Simulation, open_outcomes, simulate
from kubectl_koord.wording.unevaluated import unevaluated_names
from kubectl_koord.wording.words import count, listed


def preempt(snapshot: Snapshot, subject: Subject) -> PreemptReport:
    """Return what job preemption would do for the subject in its next attempts."""
    simulation = simulate(snapshot, subject)
    missing = coverage.absent(snapshot, (*coverage.kinds_needed(subject), "PodDisruptionBudget"))
    warnings = (*coverage.general(snapshot), *missing, *admission.warnings(subject, snapshot, simulation.tree))
    if not subject.pending:
        return _nobody_pending(simulation, warnings)
    blockers = before_trying(subject, snapshot, simulation.tree)
    if blockers:
        cause = admission.cause(blockers[0])
        verdict: Verdict = "unknown" if is_open(blockers[0]) else "no"
        helps = None if verdict == "unknown" else False
        return _idle(simulation, warnings, cause.code, cause.message, verdict=verdict, helps=helps)
    blind = visibility.unread_for(subject, snapshot)
    if blind:
        return _idle(simulation, warnings, None, visibility.words(blind), verdict="unknown")
    if not snapshot.config.preemption:
        return _idle(simulation, warnings, "preemption-disabled", "enablePreemption is off", verdict="no", helps=False)
    outcomes = open_outcomes(simulation)
    if _is_one_by_one(simulation, outcomes):
        message = "the gang ran before, so each of its pods preempts on its own; this is not evaluated"
        return _idle(simulation, warnings, None, message, verdict="unknown")
    return _from_outcomes(simulation, outcomes, warnings)


def _nobody_pending(simulation: Simulation, warnings: tuple[Notice, ...]) -> PreemptReport:
    unread = visibility.unread_members(simulation.subject, simulation.snapshot)
    if unread:
        return _idle(simulation, warnings, None, visibility.words(unread), verdict="unknown")
    return _idle(simulation, warnings, "no-pending-pods", "it has no pending pods", verdict="yes")


def _is_one_by_one(simulation: Simulation, outcomes: tuple[Outcome, ...]) -> bool:
    """Tell whether several pods would preempt, each for itself: those of a gang that was satisfied once."""
    subject = simulation.subject
    if isinstance(subject, PodSubject) or not subject.group.is_satisfied() or len(subject.pending) == 1:
        return False
    return any(
        not outcome.placed_at_once and (outcome.last is None or outcome.last.reason not in _FOR_EACH or outcome.rounds)
        for outcome in outcomes
    )


def _idle(
    simulation: Simulation,
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
        basis=coverage.basis(simulation.snapshot),
        warnings=warnings,
        gang=simulation.subject.key,
        gang_group=tuple(simulation.subject.gangs),
        priority=_priority(simulation),
        eligible=False,
        reason=reason,
        helps=helps,
        victims=(),
        broken_gangs=(),
        nominations={},
        rounds=(),
        message=f"{simulation.subject.key}{outcome}: {message.rstrip('.')}.",
    )


def _priority(simulation: Simulation) -> int | None:
    return max((pod.priority for pod in simulation.subject.pending), default=None)


def _from_outcomes(
    simulation: Simulation, outcomes: tuple[Outcome, ...], warnings: tuple[Notice, ...]
) -> PreemptReport:
    described = _distinct([_describe(simulation, outcome) for outcome in outcomes])
    likeliest, outcome = described[0], outcomes[0]
    unevaluated = coverage.not_evaluated(simulation.subject, simulation.snapshot)
    verdicts = {outcome.verdict for outcome in described}
    verdict: Verdict = likeliest.verdict if len(verdicts) == 1 else "unknown"
    if unevaluated and (verdict == "yes" or any(item.may_admit for item in unevaluated)):
        verdict = "unknown"
        message = f"it depends on {unevaluated_names(unevaluated)}, which is not evaluated"
        warnings = (*warnings, Notice("not-evaluated", f"{message}."))
    first = outcome.rounds[0] if outcome.rounds else outcome.last
    return PreemptReport(
        verdict=verdict,
        basis=coverage.basis(simulation.snapshot),
        warnings=(*warnings, *_warnings(simulation, outcomes)),
        gang=simulation.subject.key,
        gang_group=tuple(simulation.subject.gangs),
        priority=_priority(simulation),
        eligible=first.eligible if first is not None else True,
        reason=likeliest.reason,
        helps=likeliest.helps if len(verdicts) == 1 and not unevaluated else None,
        victims=likeliest.victims,
        broken_gangs=likeliest.broken_gangs,
        nominations=likeliest.nominations,
        rounds=likeliest.rounds,
        message=_sentence(simulation, outcome, verdict),
        alternatives=tuple(described) if len(described) > 1 else (),
    )


def _distinct(described: list[PreemptAlternative]) -> list[PreemptAlternative]:
    """Return the outcomes that differ in more than in who was tried first."""
    seen: list[PreemptAlternative] = []
    for outcome in described:
        if not any(structs.replace(outcome, when=other.when) == other for other in seen):
            seen.append(outcome)
    return seen


def _describe(simulation: Simulation, outcome: Outcome) -> PreemptAlternative:
    reason: ReasonCode | None = "not-needed" if outcome.placed_at_once else None
    helps = None if outcome.placed_at_once else outcome.runs
    if not outcome.placed_at_once and not outcome.rounds and outcome.last is not None:
        reason = outcome.last.reason or "no-victims"
    verdict: Verdict = "yes" if outcome.placed_at_once or outcome.runs else "no"
    if outcome.runs is None:
        verdict = "unknown"
    if reason == "terminating-victim":
        verdict, helps = _once_gone(simulation)
    wasted = outcome.runs is False
    rounds = tuple(
        Round(_victims(simulation, preemption, wasted=wasted), dict(preemption.nominations))
        for preemption in outcome.rounds
    )
    return PreemptAlternative(
        when=f"the scheduler tries {outcome.trigger.key} first",
        verdict=verdict,
        victims=rounds[0].victims if rounds else (),
        nominations=rounds[0].nominations if rounds else {},
        rounds=rounds,
        helps=helps,
        reason=reason,
        broken_gangs=disruption.broken_gangs(simulation.snapshot, outcome.killed),
    )


def _once_gone(simulation: Simulation) -> tuple[Verdict, bool]:
    """Return verdict and help as they will be when the victims that still terminate are gone."""
    dying = [pod for pods in simulation.snapshot.running.values() for pod in pods if pod.terminating and pod.preempted]
    later = open_outcomes(simulation, simulation.view.without(dying))
    runs = all(outcome.placed_at_once or outcome.runs for outcome in later)
    return ("yes" if runs else "no"), runs


def _victims(simulation: Simulation, preemption: Preemption, *, wasted: bool) -> tuple[Victim, ...]:
    spent: dict[str, int] = {}
    return tuple(
        Victim(
            pod=pod.key,
            node=pod.node,
            priority=pod.priority,
            gang=pod.gang or None,
            owner=pod.owner or None,
            age_seconds=_age(simulation.snapshot.moment, pod.created),
            pod_disruption_budget=disruption.budget_hit(simulation.snapshot.budgets, pod, spent),
            domain=simulation.tree.above(pod.node),
            wasted=wasted,
        )
        for pod in sorted(preemption.victims, key=lambda pod: (pod.node, pod.key))
    )


def _age(moment: str, created: str) -> int | None:
    age = between(created, moment)
    return None if age is None else int(age.total_seconds())


def _warnings(simulation: Simulation, outcomes: tuple[Outcome, ...]) -> Iterable[Notice]:
    killed = {victim.key: victim for outcome in outcomes for victim in outcome.killed}
    spent: dict[str, int] = {}
    covered = {
        hit.name: hit.violated
        for victim in killed.values()
        if (hit := disruption.budget_hit(simulation.snapshot.budgets, victim, spent)) is not None
    }
    if covered:
        broken = [name for name, violated in covered.items() if violated]
        end = f"; this would violate {listed(broken)}" if broken else ""
        yield Notice("ignores-budgets", f"job preemption ignores PodDisruptionBudgets ({listed(list(covered))}){end}.")
    wasted = [outcome for outcome in outcomes if outcome.runs is False and outcome.rounds]
    if wasted:
        refusal = wasted[0].first.over_quota
        why = f", as quota {refusal.path[0]} refuses its pods whatever is freed for them" if refusal is not None else ""
        yield Notice("wasted-victims", f"the preemption would be wasted: the gang would still not run{why}.")
    if len({pod.never_preempts for pod in simulation.subject.pending}) > 1:
        message = "its pods have different preemption policies: only the policy of the pod tried first counts."
        yield Notice("mixed-policies", message)


def _sentence(simulation: Simulation, outcome: Outcome, verdict: Verdict) -> str:
    name = simulation.subject.key
    if verdict == "unknown":
        return f"{name}: cannot tell whether preemption helps."
    if outcome.placed_at_once:
        return f"{name} needs no preemption: it would be placed now."
    if not outcome.rounds:
        reason = outcome.last.reason if outcome.last is not None else None
        refusal = outcome.first.over_quota if reason is None else None
        why_not = f"quota {refusal.path[0]} refuses it, not the nodes" if refusal is not None else "it would not help"
        return f"{name} would preempt no pods: {_REASONS.get(reason or '', why_not)}."
    victims = count(len(outcome.killed), "pod")
    attempts = f" in {len(outcome.rounds)} attempts" if len(outcome.rounds) > 1 else ""
    if outcome.runs:
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
