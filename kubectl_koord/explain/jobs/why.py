"""Why a gang is pending: the one root cause with its evidence, or where it would be placed."""

from collections.abc import Collection, Iterable, Iterator

from msgspec import structs

from kubectl_koord.diagnosis import coverage, creation, evidence, visibility
from kubectl_koord.diagnosis.contention import LeftByJobsAhead
from kubectl_koord.diagnosis.obstacles import admission, quota, reservations
from kubectl_koord.engine.admission.before_trying import before_trying
from kubectl_koord.engine.admission.oddities import is_satisfied_by_earlier_pods
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.subjects import GangSubject, Subject
from kubectl_koord.explain.jobs import surprises
from kubectl_koord.explain.jobs.alternatives import alternatives_of
from kubectl_koord.explain.jobs.insufficient import about_pods
from kubectl_koord.explain.jobs.pending_report import report_of
from kubectl_koord.explain.jobs.verdict import Decided, blocked, decided, depends_on_memory, not_readable
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.unevaluated import Unevaluated
from kubectl_koord.remedies import next_steps, retry, surplus, ways_out
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs.pending import Cause, PlanFailure, WhyAlternative, WhyReport
from kubectl_koord.simulation.simulation import Scenario, Simulation, cluster_of, next_attempt, simulate
from kubectl_koord.wording.answers import pending as sentences
from kubectl_koord.wording.remedies.next_steps import TOUCH_TO_COUNT


def why(
    snapshot: Snapshot,
    subject: Subject,
    *,
    brief: bool = False,
    sharing: Scenario | None = None,
    beside: Collection[str] = (),
) -> WhyReport:
    """Return why the subject is pending.

    Args:
        snapshot: the cluster.
        subject: the gang or pod.
        brief: whether to leave out ways out and obstacles, as listings of many gangs do.
        sharing: the cluster of the snapshot where there is one already, to share what was computed for it.
        beside: pods of which the jobs do not go before the subject, as they are asked about together with it.

    """
    simulation = (sharing or cluster_of(snapshot)).simulation(subject)
    blockers = before_trying(subject, snapshot, simulation.tree)
    blind = visibility.unread_for(subject, snapshot)
    missing = coverage.absent(snapshot, coverage.kinds_needed(subject, snapshot))
    warnings = (*coverage.general(snapshot), *missing, *admission.warnings(subject, snapshot, simulation.tree))
    if not brief:
        warnings = (*warnings, *surprises.of_pods(simulation))
    if not subject.pending:
        unread = visibility.unread_members(subject, snapshot)
        return report_of(
            simulation,
            warnings,
            verdict="unknown" if unread else "yes",
            cause=not_readable(unread) if unread else None,
        )
    if blockers:
        refused = _quota(simulation, coverage.not_evaluated(subject, snapshot))
        verdict, cause = blocked(blockers[0])
        cause = cause if brief else creation.told(subject, snapshot, cause)
        besides: dict[str, Cause] = {}
        for other in (*(admission.cause(other) for other in blockers[1:] if other.code != cause.code), *refused):
            besides.setdefault(other.code, other)
        also = tuple(besides.values())
        proven, steps = ways_out.divided(simulation, next_steps.for_cause(simulation, cause) if not brief else ())
        return report_of(
            simulation,
            warnings,
            verdict=verdict,
            cause=cause,
            also_wrong=tuple(other.code for other in also),
            also=also,
            unblock=proven,
            next_steps=steps,
            no_way_out="" if proven or brief else sentences.CAUSE_COMES_FIRST,
        )
    if blind:
        without_slots = (Notice("slots-not-shown", sentences.slots_not_counted(blind)),)
        seen = (*warnings, *(without_slots if simulation.has_topology else ()))
        return report_of(simulation, seen, verdict="unknown", cause=not_readable(blind))
    return _tried(simulation, warnings, decided(simulation, beside), brief=brief)


def with_nodes(report: WhyReport, snapshot: Snapshot, subject: Subject) -> WhyReport:
    """Return the report with why each node takes no more pods of the subject than it does."""
    if not subject.pending or visibility.unread_for(subject, snapshot):
        return report
    simulation = simulate(snapshot, subject)
    likeliest = next(iter(next_attempt(simulation)), None)
    return structs.replace(report, nodes=evidence.by_node(simulation, likeliest.first)) if likeliest else report


def _tried(simulation: Simulation, warnings: tuple[Notice, ...], found: Decided, *, brief: bool) -> WhyReport:
    """Return the report of a subject that the scheduler tries: the engine's answer decides."""
    outcomes, verdict, cause = found.outcomes, found.verdict, found.cause
    subject, seen = simulation.subject, found.cases[0].simulation
    if found.on_memory and isinstance(subject, GangSubject):
        return _replacement(simulation, subject.group, found, warnings)
    if found.behind is not None:
        return _behind_jobs_ahead(simulation, found.behind, found, warnings, brief=brief)
    attempts = tuple(outcome.first for outcome in outcomes)
    if found.is_unseen:
        return report_of(seen, warnings, verdict=verdict, cause=cause, attempts=attempts, brief=brief)
    likeliest = outcomes[0]
    others = alternatives_of(found.cases) if not found.is_open else ()
    is_one = not found.is_open and len({frozenset((each.placement or {}).items()) for each in others}) <= 1
    placed = likeliest.first.placement if likeliest.first.plan is not None and verdict == "yes" and is_one else None
    is_stuck = verdict == "no" or isinstance(cause, PlanFailure)
    is_of_quota = verdict != "no" or (cause is not None and cause.code == "quota")
    of_quota = () if is_of_quota else _quota(simulation, found.unevaluated)
    also = (*surplus.wanted(simulation), *of_quota) if verdict == "no" else ()
    steps = next_steps.for_cause(simulation, cause) if cause is not None and is_stuck and not brief else ()
    ways = _ways_out(simulation, likeliest, cause) if is_stuck and not brief and not steps else ways_out.Found(())
    if verdict == "yes" and cause is not None and not brief:
        ways = ways_out.Found(retry.steps(simulation))
    return report_of(
        seen,
        (
            *warnings,
            *coverage.of_search(outcomes),
            *reservations.notices(seen, outcomes),
            *surplus.notices(simulation, verdict),
            *retry.notices(simulation, verdict),
            *(surprises.of_jobs_ahead(simulation) if not brief else ()),
            *(surprises.of_equals(found.equals) if not (others or brief) else ()),
            *(surprises.of_unasked_equals(found.equals) if not brief else ()),
            *(surprises.notices(seen, outcomes, verdict) if not brief else ()),
        ),
        verdict=verdict,
        cause=cause,
        attempts=attempts,
        brief=brief,
        placement=placed,
        alternatives=others,
        also_wrong=tuple(_also_wrong(subject, also)) if verdict == "no" else (),
        also=also,
        unblock=ways.ways,
        next_steps=steps,
        no_way_out=ways.why_none,
        ways_not_tried=ways.not_tried,
    )


def _ways_out(simulation: Simulation, failed: Outcome, cause: Cause | None) -> ways_out.Found:
    subject = simulation.subject
    if isinstance(subject, GangSubject) and depends_on_memory(subject.group, simulation.snapshot):
        return ways_out.Found((), sentences.ANY_CHANGE_DEPENDS_ON_MEMORY)
    code = cause.code if cause is not None else None
    waits = code == "waiting-for-preemption"
    return ways_out.proven(simulation, failed, never_fits=code == "never-fits", waits=waits)


def _also_wrong(subject: Subject, also: Iterable[Cause]) -> Iterator[CauseCode]:
    """Yield what a no has besides its root cause, of which some stands among the warnings."""
    if isinstance(subject, GangSubject) and is_satisfied_by_earlier_pods(subject.group):
        yield "satisfied-by-earlier-pods"
    yield from (one.code for one in also)


def _quota(simulation: Simulation, unevaluated: Iterable[Unevaluated]) -> Iterator[Cause]:
    """Yield which quota refuses the pods, too, or did as the scheduler last reported."""
    refusal = quota.exceeded(simulation)
    refused = admission.cause(refusal) if refusal is not None else quota.refuses(simulation, unevaluated)
    if refused is not None:
        yield refused


def _replacement(simulation: Simulation, group: GangGroup, found: Decided, warnings: tuple[Notice, ...]) -> WhyReport:
    code, pods = surplus.late_code(group), simulation.subject.pending
    waits = about_pods(code, sentences.forgotten(group.minimum), pods)
    return report_of(
        simulation,
        warnings,
        verdict=found.verdict,
        cause=found.cause,
        attempts=(found.outcomes[0].first,),
        alternatives=(
            WhyAlternative(sentences.SCHEDULER_REMEMBERS, "yes"),
            WhyAlternative(sentences.SCHEDULER_FORGOT, "no", cause=waits),
        ),
        next_steps=(next_steps.touch(simulation, TOUCH_TO_COUNT),),
    )


def _behind_jobs_ahead(
    simulation: Simulation, left: LeftByJobsAhead, found: Decided, warnings: tuple[Notice, ...], *, brief: bool
) -> WhyReport:
    """Return the report when jobs of higher priority go first and leave no room."""
    ways = _ways_out(simulation, left.outcome, found.cause) if left.certain and not brief else ways_out.Found(())
    return report_of(
        simulation if brief else left.seen[0],
        warnings,
        verdict=found.verdict,
        cause=found.cause,
        attempts=(left.outcome.first,) if not brief or _shows_attempts(simulation, left) else (),
        brief=brief,
        alternatives=alternatives_of(found.cases) if left.is_known else (),
        unblock=ways.ways,
        no_way_out=ways.why_none,
        ways_not_tried=ways.not_tried,
    )


def _shows_attempts(simulation: Simulation, left: LeftByJobsAhead) -> bool:
    """Tell whether a brief report says anything of attempts: slots, or whether what the scheduler said still holds.

    Of an attempt without a plan that places the subject it says nothing.
    """
    if simulation.has_topology or all(pod.condition is None for pod in simulation.subject.pending):
        return simulation.has_topology
    return not left.surely_places(next_attempt(simulation)[0].first)
