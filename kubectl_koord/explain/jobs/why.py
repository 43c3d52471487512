"""Why a gang is pending: the one root cause with its evidence, or where it would be placed."""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.diagnosis import (
    contention,
    coverage,
    evidence,
    visibility,
)
from kubectl_koord.diagnosis.obstacles import admission, quota, reservations
from kubectl_koord.engine.admission.before_trying import before_trying, is_open
from kubectl_koord.engine.admission.oddities import is_satisfied_by_earlier_pods
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.subjects import GangSubject, Subject
from kubectl_koord.explain.jobs import insufficient, surprises
from kubectl_koord.explain.jobs.alternatives import alternatives_of
from kubectl_koord.explain.jobs.insufficient import about_pods
from kubectl_koord.explain.jobs.pending_report import report_of
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.unevaluated import Unevaluated, WideningPodSetting
from kubectl_koord.remedies import next_steps, retry, surplus, ways_out
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.jobs.pending import Cause, PlanFailure, WhyAlternative, WhyReport
from kubectl_koord.simulation.simulation import Scenario, Simulation, cluster_of, next_attempt, simulate
from kubectl_koord.wording.ages import overdue_clause
from kubectl_koord.wording.answers import pending as sentences
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.remedies.next_steps import TOUCH_TO_COUNT
from kubectl_koord.wording.reservations import DEPENDS_ON_LANDING

_Unevaluated: TypeAlias = tuple[Unevaluated, ...]


def why(snapshot: Snapshot, subject: Subject, *, brief: bool = False, sharing: Scenario | None = None) -> WhyReport:
    """Return why the subject is pending.

    Args:
        snapshot: the cluster.
        subject: the gang or pod.
        brief: whether to leave out ways out and obstacles, as listings of many gangs do.
        sharing: the cluster of the snapshot where there is one already, to share what was computed for it.

    """
    simulation = (sharing or cluster_of(snapshot)).simulation(subject)
    blockers = before_trying(subject, snapshot, simulation.tree)
    blind = visibility.unread_for(subject, snapshot)
    missing = coverage.absent(snapshot, coverage.kinds_needed(subject, snapshot))
    warnings = (*coverage.general(snapshot), *missing, *admission.warnings(subject, snapshot, simulation.tree))
    if not subject.pending:
        unread = visibility.unread_members(subject, snapshot)
        return report_of(
            simulation,
            warnings,
            verdict="unknown" if unread else "yes",
            cause=_not_readable(unread) if unread else None,
        )
    if blockers:
        refused = _quota(simulation, coverage.not_evaluated(subject, snapshot))
        cause = admission.cause(blockers[0])
        others = [*(other.code for other in blockers[1:] if other.code != cause.code), *refused]
        codes = tuple(dict.fromkeys(others))
        proven, steps = ways_out.divided(simulation, next_steps.for_cause(simulation, cause) if not brief else ())
        verdict: Verdict = "unknown" if is_open(blockers[0]) else "no"
        return report_of(
            simulation,
            warnings,
            verdict=verdict,
            cause=cause,
            also_wrong=codes,
            unblock=proven,
            next_steps=steps,
            no_way_out="" if proven or brief else sentences.CAUSE_COMES_FIRST,
        )
    if blind:
        without_slots = (Notice("slots-not-shown", sentences.slots_not_counted(blind)),)
        seen = (*warnings, *(without_slots if simulation.has_topology else ()))
        return report_of(simulation, seen, verdict="unknown", cause=_not_readable(blind))
    return _tried(simulation, warnings, brief=brief)


def with_nodes(report: WhyReport, snapshot: Snapshot, subject: Subject) -> WhyReport:
    """Return the report with why each node takes no more pods of the subject than it does."""
    if not subject.pending or visibility.unread_for(subject, snapshot):
        return report
    simulation = simulate(snapshot, subject)
    likeliest = next(iter(next_attempt(simulation)), None)
    return structs.replace(report, nodes=evidence.by_node(simulation, likeliest.first)) if likeliest else report


def _not_readable(gaps: tuple[Gap, ...]) -> Cause:
    return Cause("not-readable", could_not_be_read(gaps))


def _tried(simulation: Simulation, warnings: tuple[Notice, ...], *, brief: bool) -> WhyReport:
    """Return the report of a subject that the scheduler tries: the engine's answer decides."""
    outcomes = next_attempt(simulation)
    subject = simulation.subject
    if (
        outcomes[0].placed_at_once
        and isinstance(subject, GangSubject)
        and _depends_on_memory(subject.group, simulation.snapshot)
    ):
        return _replacement(simulation, subject.group, outcomes[0], warnings)
    unevaluated = coverage.not_evaluated(subject, simulation.snapshot)
    attempts = tuple(outcome.first for outcome in outcomes)
    verdict = _verdict(outcomes, unevaluated)
    if verdict == "yes":
        left_by_jobs_ahead = _behind_jobs_ahead(simulation, warnings, brief=brief)
        if left_by_jobs_ahead is not None:
            return left_by_jobs_ahead
        unread = contention.unread_higher_priority_jobs(simulation)
        if unread:
            message = sentences.place_may_be_taken(unread)
            unseen = Cause("not-readable", message)
            return report_of(simulation, warnings, verdict="unknown", cause=unseen, attempts=attempts, brief=brief)
    likeliest = outcomes[0]
    others = alternatives_of(simulation, outcomes)
    cause = retry.waits(simulation) if verdict == "yes" else _cause(simulation, outcomes, unevaluated, verdict)
    waits = _waiting_for_victims(simulation)
    if waits is not None and verdict == "no":
        cause = waits
    placed = likeliest.first.placement if likeliest.first.plan is not None and verdict == "yes" else None
    is_stuck = verdict == "no" or isinstance(cause, PlanFailure)
    found = _ways_out(simulation, likeliest) if is_stuck and not brief else ways_out.Found(())
    if verdict == "yes" and cause is not None and not brief:
        found = ways_out.Found(retry.steps(simulation))
    return report_of(
        simulation,
        (
            *warnings,
            *reservations.notices(simulation, outcomes),
            *surplus.notices(simulation, verdict),
            *retry.notices(simulation, verdict),
            *(surprises.notices(simulation, outcomes, verdict) if not brief else ()),
        ),
        verdict=verdict,
        cause=cause,
        attempts=attempts,
        brief=brief,
        placement=placed,
        alternatives=others,
        also_wrong=tuple(_also_wrong(simulation, _code(cause), unevaluated)) if verdict == "no" else (),
        unblock=found.ways,
        no_way_out=found.why_none,
    )


def _ways_out(simulation: Simulation, failed: Outcome) -> ways_out.Found:
    subject = simulation.subject
    if isinstance(subject, GangSubject) and _depends_on_memory(subject.group, simulation.snapshot):
        return ways_out.Found((), sentences.ANY_CHANGE_DEPENDS_ON_MEMORY)
    return ways_out.proven(simulation, failed)


def _also_wrong(simulation: Simulation, cause: CauseCode | None, unevaluated: _Unevaluated) -> Iterator[CauseCode]:
    """Yield what a no has besides its root cause."""
    subject = simulation.subject
    if isinstance(subject, GangSubject) and is_satisfied_by_earlier_pods(subject.group):
        yield "satisfied-by-earlier-pods"
    if surplus.without(simulation):
        yield "surplus-pods"
    if cause != "quota":
        yield from _quota(simulation, unevaluated)


def _code(cause: Cause | None) -> CauseCode | None:
    return cause.code if cause is not None else None


def _quota(simulation: Simulation, unevaluated: _Unevaluated) -> Iterator[CauseCode]:
    """Yield the code of a quota that refuses the pods, too, or did as the scheduler last reported."""
    if quota.exceeded(simulation) is not None or quota.refuses(simulation, unevaluated) is not None:
        yield "quota"


def _depends_on_memory(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether the answer depends on whether the scheduler remembers that the gang ran, which is in no object."""
    return any(spec is not None for spec in group.specs) and surplus.may_be_forgotten(group, snapshot)


def _replacement(simulation: Simulation, group: GangGroup, outcome: Outcome, warnings: tuple[Notice, ...]) -> WhyReport:
    code, pods = surplus.late_code(group), simulation.subject.pending
    waits = about_pods(code, sentences.forgotten(group.minimum), pods)
    return report_of(
        simulation,
        warnings,
        verdict="unknown",
        cause=about_pods(code, sentences.DEPENDS_ON_MEMORY, pods),
        attempts=(outcome.first,),
        alternatives=(
            WhyAlternative(sentences.SCHEDULER_REMEMBERS, "yes"),
            WhyAlternative(sentences.SCHEDULER_FORGOT, "no", cause=waits),
        ),
        next_steps=(next_steps.touch(simulation, TOUCH_TO_COUNT),),
    )


def _behind_jobs_ahead(simulation: Simulation, warnings: tuple[Notice, ...], *, brief: bool) -> WhyReport | None:
    """Return the report when jobs of higher priority go first and leave no room, None when they do."""
    left = contention.left_by_jobs_ahead(simulation)
    if left is None or left.leaves_room:
        return None
    code: CauseCode = "insufficient-slots" if simulation.has_topology else "insufficient-capacity"
    message = sentences.place_taken(left.names, certain=left.certain)
    found = _ways_out(simulation, left.outcome) if left.certain and not brief else ways_out.Found(())
    return report_of(
        simulation,
        warnings,
        verdict="no" if left.certain else "unknown",
        cause=about_pods(code, message, simulation.subject.pending),
        attempts=(left.outcome.first,),
        brief=brief,
        funnel=None if brief else evidence.funnel(structs.replace(simulation, view=left.view), left.outcome.first),
        unblock=found.ways,
        no_way_out=found.why_none,
    )


def _verdict(outcomes: tuple[Outcome, ...], unevaluated: _Unevaluated) -> Verdict:
    placed = {outcome.placed_at_once for outcome in outcomes}
    if placed == {False}:
        by_quota = all(outcome.first.over_quota is not None for outcome in outcomes)
        races = any(outcome.races for outcome in outcomes)
        return "unknown" if races or any(_may_admit(item, by_quota=by_quota) for item in unevaluated) else "no"
    refusing = any(item.may_refuse for item in unevaluated)
    return "yes" if placed == {True} and not refusing else "unknown"


def _may_admit(item: Unevaluated, *, by_quota: bool) -> bool:
    """Tell whether something may open what is closed: what nodes are found to offer opens no quota."""
    return item.may_admit and (not by_quota or item == WideningPodSetting("pod-level-resources"))


def _cause(simulation: Simulation, outcomes: tuple[Outcome, ...], unevaluated: _Unevaluated, verdict: Verdict) -> Cause:
    if verdict == "unknown" and unevaluated:
        says = quota.refuses(simulation, unevaluated) if all(outcome.placed_at_once for outcome in outcomes) else None
        return says or Cause("not-evaluated", sentences.depends_on(unevaluated))
    racing = next((outcome for outcome in outcomes if outcome.races), None)
    if racing is not None and not any(outcome.placed_at_once for outcome in outcomes):
        return insufficient.cause_of(simulation, racing.first)
    if verdict == "unknown" and any(outcome.first.fails_at_reserve for outcome in outcomes):
        failing = {name: reason for outcome in outcomes for name, reason in outcome.first.unbookable.items()}
        return Cause("several-outcomes", sentences.depends_on_node(failing))
    if verdict == "unknown":
        is_landing_open = len({outcome.landing for outcome in outcomes}) > 1
        return Cause("several-outcomes", DEPENDS_ON_LANDING if is_landing_open else sentences.DEPENDS_ON_FIRST_POD)
    return insufficient.cause_of(simulation, outcomes[0].first)


def _waiting_for_victims(simulation: Simulation) -> Cause | None:
    """Return a cause when victims of an earlier attempt still terminate on the nominated nodes."""
    leaving = [
        victim
        for name in {pod.nominated for pod in simulation.subject.pending if pod.nominated in simulation.view.names()}
        for victim in simulation.snapshot.running.get(name, ())
        if victim.terminating and victim.preempted
    ]
    if not leaving:
        return None
    names = sorted(victim.key for victim in leaving)
    message = sentences.waits_for_victims(names, overdue_clause(leaving, simulation.snapshot.moment))
    return Cause("waiting-for-preemption", message, tuple(names))
