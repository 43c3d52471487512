"""Which pods job preemption would kill, attempt by attempt, and whether that helps."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile

from msgspec import Struct, structs

from kubectl_koord.diagnosis import contention, coverage, disruption, evidence, obstacles
from kubectl_koord.diagnosis.contention import Case, LeftByJobsAhead
from kubectl_koord.engine import gangs
from kubectl_koord.engine.admission import before_trying, is_open
from kubectl_koord.engine.gangs import Gang, GangSubject, PodSubject, Subject, never_tried
from kubectl_koord.engine.preemption import Preemption
from kubectl_koord.engine.queue import NO_EQUALS, Equals
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.explain.why import (
    case_of_booking,
    depends_on_memory,
    of_equals,
    of_unasked_equals,
    of_unasked_jobs,
    on_memory,
    when,
)
from kubectl_koord.language import STOP, say
from kubectl_koord.model.pods import Event, PodTrace
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import between
from kubectl_koord.remedies import next_steps
from kubectl_koord.reports.common import CauseCode, Notice, ReasonCode, Verdict
from kubectl_koord.reports.jobs import PreemptAlternative, PreemptReport, Round, RoundTime, Victim
from kubectl_koord.simulation import subjects
from kubectl_koord.simulation.simulation import (
    Scenario,
    Simulation,
    cluster_of,
    next_attempt,
    open_outcomes,
    outcomes_of_each,
)
from kubectl_koord.simulation.subjects import Unknown
from kubectl_koord.wording.facts import (
    SCHEDULER_FORGOT,
    SCHEDULER_REMEMBERS,
    counted_after,
    once_placed,
    place_may_be_taken,
    place_taken,
    same_place,
    subject_name,
)
from kubectl_koord.wording.suggestions import near
from kubectl_koord.wording.words import could_not_be_read, count, depends_on, few, listed, not_followed, the_subject

_FOR_EACH = {
    "preemption-disabled",
    "policy-never",
    "no-victims",
}  # what keeps all pods that are alike from preempting keeps each of them


def preempt(snapshot: Snapshot, subject: Subject, *, sharing: Scenario | None = None) -> PreemptReport:
    """Return what job preemption would do for the subject in its next attempts.

    `subject`: the gang or pod. `sharing`: the cluster of the snapshot where there is one already, to share what was
    computed for it.
    """
    simulation = (sharing or cluster_of(snapshot)).simulation(subject)
    missing = coverage.absent(snapshot, (*coverage.kinds_needed(subject, snapshot), "PodDisruptionBudget"))
    warnings = (*coverage.general(snapshot), *missing, *obstacles.warnings(subject, snapshot, simulation.tree))
    if not subject.pending:
        return _nobody_pending(simulation, warnings)
    blockers = before_trying(subject, snapshot, simulation.tree)
    if blockers:
        cause = obstacles.cause(blockers[0])
        verdict: Verdict = "unknown" if is_open(blockers[0]) else "no"
        helps = None if verdict == "unknown" else False
        return _idle(simulation, warnings, cause.code, cause.message, verdict=verdict, helps=helps)
    blind = coverage.unread_for(subject, snapshot)
    if blind:
        return _idle(simulation, warnings, None, could_not_be_read(blind), verdict="unknown")
    if obstacles.awaited(simulation) and not _has_run(subject):
        return _as_remembered(simulation, _waiting(simulation, warnings))
    return _as_remembered(simulation, _answered(simulation, warnings))


def _has_run(subject: Subject) -> bool:
    """Tell whether its pods are tried each for itself."""
    return isinstance(subject, GangSubject) and subject.group.is_satisfied()


_WAITS = say("victims of an earlier attempt are still terminating")


def _waiting(simulation: Simulation, warnings: tuple[Notice, ...]) -> PreemptReport:
    """Return the report while victims of an earlier attempt terminate, whoever is nominated at this moment.

    Whom the next attempts preempt besides is open, as they depend on who is.
    """
    subject = simulation.subject.with_pending(lambda pods: tuple(structs.replace(pod, nominated="") for pod in pods))
    outcomes = open_outcomes(structs.replace(simulation, subject=subject))
    if all(outcome.placed_at_once for outcome in outcomes):
        return _answered(simulation, warnings)
    verdict, helps = _once_gone(simulation)
    more = _before_any_is_gone(outcomes)
    waits = _idle(simulation, warnings, "terminating-victim", _WAITS, verdict=verdict, helps=helps)
    return structs.replace(
        waits,
        warnings=(*warnings, *_following(more)),
        may_follow=tuple(_round(simulation, one, "while-terminating", wasted=not helps) for one in more),
    )


def _before_any_is_gone(outcomes: Iterable[Outcome]) -> tuple[Preemption, ...]:
    """Return the preemptions that may come in any of these outcomes before a victim is gone, each victim once."""
    told: set[str] = set()
    found: list[Preemption] = []
    for outcome in outcomes:
        meanwhile = takewhile(lambda one: one.meanwhile, outcome.rounds[1:])
        for one in (*outcome.rounds[:1], *meanwhile, *outcome.perhaps):
            new = tuple(pod for pod in one.victims if pod.key not in told)
            told.update(pod.key for pod in new)
            found += [structs.replace(one, victims=new)] if new else []
    return tuple(found)


def _as_remembered(simulation: Simulation, report: PreemptReport) -> PreemptReport:
    """Return the report, open where it is yes only if the scheduler remembers that the gang ran."""
    subject = simulation.subject
    if report.verdict != "yes" or not isinstance(subject, GangSubject):
        return report
    if not depends_on_memory(subject.group, simulation.snapshot):
        return report
    remembers = PreemptAlternative(
        when="",
        verdict=report.verdict,
        victims=report.victims,
        nominations=report.nominations,
        rounds=report.rounds,
        helps=report.helps,
        reason=report.reason,
        broken_gangs=report.broken_gangs,
        may_follow=report.may_follow,
    )
    cases = (structs.replace(each, when=_remembered(each.when)) for each in report.alternatives or (remembers,))
    late = next_steps.late_code(subject.group)
    forgot = PreemptAlternative(SCHEDULER_FORGOT, "no", victims=(), nominations={}, rounds=(), helps=False, reason=late)
    message = say(
        "{name}: cannot tell whether it would run: {on_memory}",
        name=_name(simulation),
        on_memory=on_memory(subject.group),
    )
    return structs.replace(report, verdict="unknown", helps=None, message=message, alternatives=(*cases, forgot))


def _remembered(case: str) -> str:
    return say(
        "{scheduler_remembers}{part}",
        scheduler_remembers=SCHEDULER_REMEMBERS,
        part=say(", and {case}", case=case) if case else "",
    )


def _answered(simulation: Simulation, warnings: tuple[Notice, ...]) -> PreemptReport:
    """Return the report of a subject that is tried, once the jobs that go first have been."""
    left = contention.left_by_jobs_ahead(simulation)
    cases = _cases(simulation, left)
    takes = any(one.placed_at_once or one.rounds for one in _outcomes(cases))
    equals = contention.equals(simulation) if takes else NO_EQUALS
    if equals.taking or equals.untried:
        left = contention.left_by_others(simulation, equals)
        cases = _cases(simulation, left)
    if left is not None and not cases:
        return _idle(simulation, warnings, None, _taken(left), verdict="unknown")
    if all(outcome.placed_at_once for outcome in _outcomes(cases)):
        unread = contention.unread_higher_priority_jobs(simulation)
        if unread:
            return _idle(simulation, warnings, None, place_may_be_taken(unread), verdict="unknown")
        return _from_outcomes(simulation, cases, warnings)
    if left is not None and left.equals:
        warnings = (*warnings, *_beside_equals(left, cases, equals))
    if left is not None and left.names:
        is_behind = all(outcome.placed_at_once for outcome in next_attempt(simulation))
        ahead = place_taken if is_behind else counted_after
        certain = left.certain if is_behind else left.is_known
        warnings = (*warnings, Notice("contended", ahead(left.names, certain=certain)))
    unasked = (*of_unasked_jobs(simulation), *of_unasked_equals(equals))
    return _tried(simulation, cases, (*warnings, *unasked))


def _beside_equals(left: LeftByJobsAhead, cases: Sequence[Case], equals: Equals) -> Iterator[Notice]:
    """Yield who of the same priority may go first where that decides, or was not followed to the end."""
    if not left.is_known:
        yield from of_equals(equals)
        return
    failing = [case for case in cases if not all(one.placed_at_once or one.runs for one in case.outcomes)]
    if 0 < len(failing) < len(cases):
        yield Notice("contended", same_place(contention.went_first(left.equals, failing)))


def _taken(left: LeftByJobsAhead) -> str:
    """Return who takes the place of a subject that would be placed otherwise, or may."""
    return same_place(left.in_the_way) if left.equals else place_taken(left.names, certain=left.certain)


def _cases(simulation: Simulation, left: LeftByJobsAhead | None) -> tuple[Case, ...]:
    """Return what comes of the subject, by what comes of the jobs that go first; nothing where that is open."""
    if left is not None and left.is_known:
        ways = zip(left.ahead.ways, left.seen, strict=True)
        return tuple(Case(seen, open_outcomes(seen), way.went, way.later) for way, seen in ways)
    alone = Case(simulation, open_outcomes(simulation))
    if left is None:
        return (alone,)
    if all(outcome.placed_at_once for outcome in alone.outcomes):
        if left.leaves_room:
            return (alone,)
        if not (left.certain and (_preempts_nobody(simulation) or contention.are_nodes_known(simulation))):
            return ()
    return (Case(left.seen[0], open_outcomes(left.seen[0])),)


def _outcomes(cases: Iterable[Case]) -> tuple[Outcome, ...]:
    return tuple(outcome for case in cases for outcome in case.outcomes)


def _preempts_nobody(simulation: Simulation) -> bool:
    """Tell whether there is nobody to preempt, whatever the nodes: no running pod of a lower priority."""
    own = _priority(simulation) or 0
    return all(pod.priority >= own for pods in simulation.snapshot.running.values() for pod in pods)


_EACH_POD_ALONE = say(
    "the gang ran before, so each of its pods preempts on its own; they differ, and no object shows which comes first"
)


_BY_DEFAULT_PREEMPTION = say(
    "kube-scheduler's DefaultPreemption is enabled at postFilter, and whom that preempts is not evaluated"
)


def _tried(simulation: Simulation, cases: tuple[Case, ...], warnings: tuple[Notice, ...]) -> PreemptReport:
    if _is_one_by_one(simulation, _outcomes(cases)):
        cases = tuple(
            structs.replace(case, outcomes=outcomes_of_each(case.simulation, case.simulation.view)) for case in cases
        )
        if not all(case.outcomes for case in cases):
            return _idle(simulation, warnings, None, _EACH_POD_ALONE, verdict="unknown")
    outcomes = _outcomes(cases)
    unseen = coverage.of_scheduler(simulation.snapshot)
    if any("ConfigMap" in one.kinds for one in unseen) and any(outcome.rounds for outcome in outcomes):
        return _idle(simulation, warnings, None, depends_on(unseen), verdict="unknown")
    if _may_preempt_by_default(simulation, outcomes):
        return _idle(simulation, warnings, None, _BY_DEFAULT_PREEMPTION, verdict="unknown")
    if not simulation.snapshot.config.preemption and not _is_lone(simulation) and any(one.rounds for one in outcomes):
        return _idle(
            simulation,
            warnings,
            None,
            say("job preemption is off, so each of its pods preempts in its quota alone; this is not evaluated"),
            verdict="unknown",
        )
    return _from_outcomes(simulation, cases, warnings)


def _may_preempt_by_default(simulation: Simulation, outcomes: tuple[Outcome, ...]) -> bool:
    """Tell whether kube-scheduler's own preemption may choose victims, which is not evaluated."""
    order = simulation.snapshot.config.plugins.default_preemption
    if not order or _preempts_nobody(simulation) or all(pod.never_preempts for pod in simulation.subject.pending):
        return False
    if order == "first":
        return any(not outcome.placed_at_once for outcome in outcomes)
    return any(not outcome.placed_at_once and not outcome.rounds for outcome in outcomes)


_NO_PENDING_PODS = say("it has no pending pods")


def _nobody_pending(simulation: Simulation, warnings: tuple[Notice, ...]) -> PreemptReport:
    unread = coverage.unread_members(simulation.subject, simulation.snapshot)
    if unread:
        return _idle(simulation, warnings, None, could_not_be_read(unread), verdict="unknown")
    why = say("it is not pending") if _is_lone(simulation) else _NO_PENDING_PODS
    return _idle(simulation, warnings, "no-pending-pods", why, verdict="yes")


def _is_one_by_one(simulation: Simulation, outcomes: tuple[Outcome, ...]) -> bool:
    """Tell whether several pods would preempt, each for itself: those of a gang that was satisfied once."""
    subject = simulation.subject
    if isinstance(subject, PodSubject) or not subject.group.is_satisfied():
        return False
    if len(subject.pending) - len(never_tried(subject, simulation.snapshot)) == 1:
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
        message=_no_attempt(_name(simulation), message, certain=verdict != "unknown"),
        lone_pod=_is_lone(simulation),
    )


def _no_attempt(name: str, why: str, *, certain: bool) -> str:
    """Return why the scheduler preempts nothing for a subject, or why nobody can tell what it would preempt."""
    outcome = say(" would preempt no pods") if certain else say(": cannot tell which pods it would preempt")
    return say("{name}{outcome}: {why}.", name=name, outcome=outcome, why=why.rstrip(STOP))


def _is_lone(simulation: Simulation) -> bool:
    return isinstance(simulation.subject, PodSubject)


def _name(simulation: Simulation) -> str:
    return subject_name(simulation.subject.key, lone_pod=_is_lone(simulation))


def _priority(simulation: Simulation) -> int | None:
    return max((pod.priority for pod in simulation.subject.pending), default=None)


def _from_outcomes(simulation: Simulation, cases: tuple[Case, ...], warnings: tuple[Notice, ...]) -> PreemptReport:
    outcomes = _outcomes(cases)
    described = _told_apart(_distinct([_describe(case, outcome) for case in cases for outcome in case.outcomes]))
    likeliest, outcome = described[0], outcomes[0]
    unevaluated = coverage.not_evaluated(simulation.subject, simulation.snapshot)
    if not all(outcome.placed_at_once for outcome in outcomes):
        unevaluated = (*unevaluated, *coverage.of_preemption(simulation.subject, simulation.snapshot))
    verdicts = {outcome.verdict for outcome in described}
    verdict: Verdict = likeliest.verdict if len(verdicts) == 1 and not outcome.followed else "unknown"
    if verdict == "yes":
        unevaluated = (*unevaluated, *coverage.of_scheduler(simulation.snapshot))
    if unevaluated and (verdict == "yes" or any(item.may_admit for item in unevaluated)):
        verdict = "unknown"
        warnings = (*warnings, Notice("not-evaluated", depends_on(unevaluated)))
    first = outcome.rounds[0] if outcome.rounds else outcome.last
    planned = {node for each in described for node in each.nominations.values()}
    return PreemptReport(
        verdict=verdict,
        basis=coverage.basis(simulation.snapshot),
        warnings=(*warnings, *_warnings(simulation, outcomes), *coverage.where_placed(simulation.snapshot, planned)),
        gang=simulation.subject.key,
        gang_group=tuple(simulation.subject.gangs),
        priority=_priority(simulation),
        eligible=first.eligible if first is not None else True,
        reason=likeliest.reason,
        helps=likeliest.helps if len(verdicts) == 1 and not (unevaluated or outcome.followed) else None,
        victims=likeliest.victims,
        broken_gangs=likeliest.broken_gangs,
        nominations=likeliest.nominations,
        rounds=likeliest.rounds,
        message=_message(simulation, outcomes, verdict),
        alternatives=tuple(described) if len(described) > 1 else (),
        may_follow=likeliest.may_follow,
        refusing_quota="" if outcome.placed_at_once or outcome.runs else _refusing_quota(outcome),
        lone_pod=_is_lone(simulation),
    )


def _distinct(described: list[PreemptAlternative]) -> list[PreemptAlternative]:
    """Return the outcomes that differ in more than in which pod was tried first."""
    distinct: list[PreemptAlternative] = []
    for outcome in described:
        if not any(structs.replace(outcome, when=other.when) == other for other in distinct):
            distinct.append(outcome)
    return distinct


def _told_apart(described: list[PreemptAlternative]) -> list[PreemptAlternative]:
    """Return the outcomes, where several begin alike with the nodes that not all of them take."""
    alike: dict[str, list[set[str]]] = {}
    for outcome in described:
        alike.setdefault(outcome.when, []).append(set(outcome.nominations.values()))
    common = {when: set.intersection(*taken) for when, taken in alike.items()}
    own = [sorted(set(outcome.nominations.values()) - common[outcome.when]) for outcome in described]
    return [
        structs.replace(outcome, when=say("{when} and makes room on {nodes}", when=outcome.when, nodes=few(nodes)))
        if nodes
        else outcome
        for outcome, nodes in zip(described, own, strict=True)
    ]


def _describe(case: Case, outcome: Outcome) -> PreemptAlternative:
    simulation = case.simulation
    reason: ReasonCode | CauseCode | None = "not-needed" if outcome.placed_at_once else None
    helps = None if outcome.placed_at_once else outcome.runs
    if not outcome.placed_at_once and not outcome.rounds and outcome.last is not None:
        reason = outcome.last.reason or "not-helpful"
        if _disabled(simulation, outcome) is not None:
            reason = "preemption-disabled"
    verdict: Verdict = "yes" if outcome.placed_at_once or outcome.runs else "no"
    if outcome.runs is None:
        verdict = "unknown"
    if outcome.plan_fails and (verdict == "unknown" or reason):
        reason = "plan-not-executable"
    if reason == "terminating-victim":
        verdict, helps = _once_gone(simulation)
    wasted = _is_wasted(outcome)
    rounds = tuple(_round(simulation, one, _when(one, outcome), wasted=wasted) for one in outcome.rounds)
    perhaps = (_round(simulation, one, "while-terminating", wasted=wasted) for one in outcome.perhaps)
    return PreemptAlternative(
        when=when(
            case,
            once_placed(
                outcome.landing,
                case_of_booking(outcome) or say("the scheduler tries {key} first", key=outcome.trigger.key),
            ),
        ),
        verdict=verdict,
        victims=rounds[0].victims if rounds else (),
        nominations=rounds[0].nominations if rounds else {},
        rounds=rounds,
        helps=helps,
        reason=reason,
        broken_gangs=disruption.broken_gangs(simulation.snapshot, outcome.killed),
        may_follow=tuple(perhaps),
    )


def _round(simulation: Simulation, preemption: Preemption, when: RoundTime, *, wasted: bool) -> Round:
    return Round(_victims(simulation, preemption, wasted=wasted), dict(preemption.nominations), when)


def _when(preemption: Preemption, outcome: Outcome) -> RoundTime:
    if preemption.meanwhile:
        return "while-terminating"
    return "now" if preemption is outcome.rounds[0] else "after"


def _is_wasted(outcome: Outcome) -> bool:
    """Tell whether victims die for a job that does not run: pods that are tried each for itself run all the same."""
    return outcome.runs is False and outcome.each is None


def _once_gone(simulation: Simulation) -> tuple[Verdict, bool | None]:
    """Return verdict and help as they will be when the victims that still terminate are gone."""
    dying = [pod for pod in evidence.terminating(simulation.view) if pod.preempted]
    later = open_outcomes(simulation, simulation.view.without(dying))
    runs = all(outcome.placed_at_once or outcome.runs for outcome in later)
    return ("unknown", None) if runs and later[0].followed else (("yes" if runs else "no"), runs)


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
    yield from coverage.of_search(outcomes)
    covered: dict[str, bool] = {}
    for outcome in outcomes:
        spent: dict[str, int] = {}
        hits = (disruption.budget_hit(simulation.snapshot.budgets, victim, spent) for victim in outcome.killed)
        for hit in filter(None, hits):
            covered[hit.name] = covered.get(hit.name, False) or hit.violated
    if covered:
        broken = [name for name, violated in covered.items() if violated]
        yield Notice("ignores-budgets", _ignores_budgets(list(covered), broken))
    wasted = [outcome for outcome in outcomes if _is_wasted(outcome) and outcome.rounds]
    if wasted:
        yield Notice(
            "wasted-victims",
            _wasted(_refusing_quota(wasted[0]), lone_pod=_is_lone(simulation), retried=any(map(_is_retried, wasted))),
        )
    yield from _following(max((each.perhaps for each in outcomes), key=_number_killed, default=()))
    yield from obstacles.victim_notices(simulation, outcomes)
    if len({pod.never_preempts for pod in simulation.subject.pending}) > 1:
        yield Notice(
            "mixed-policies",
            say("its pods have different preemption policies: only the policy of the pod tried first counts."),
        )


_ONE_BY_ONE = say(
    " It is tried again and again, and each attempt preempts on one more node where its pods wait; the order is open."
)


def _wasted(quota: str, *, lone_pod: bool, retried: bool) -> str:
    """Return that victims end in vain; `quota` is one that refuses the subject, empty where none does.

    retried: whether many attempts free one node each.
    """
    it = the_subject(lone_pod=lone_pod)
    why = say(", as quota {quota} refuses its pods whatever is freed for them", quota=quota) if quota else ""
    return say(
        "the preemption would be wasted: {it} would still not run{why}.{one_by_one}",
        it=it,
        why=why,
        one_by_one=_ONE_BY_ONE if retried else "",
    )


def _ignores_budgets(budgets: Sequence[str], violated: Sequence[str]) -> str:
    """Return which budgets cover the victims, and which of them would be violated."""
    end = say("; this would violate {violated}", violated=listed(violated)) if violated else ""
    return say("job preemption ignores PodDisruptionBudgets ({budgets}){end}.", budgets=listed(budgets), end=end)


def _following(further: Sequence[Preemption]) -> Iterator[Notice]:
    """Yield whom these preemptions may end before the first victims are gone, and where."""
    if not further:
        return
    domains = [one.domain.name for one in further if one.domain is not None]
    nodes = {victim.node for one in further for victim in one.victims}
    places = {*domains} if len(domains) == len(further) else nodes
    yield Notice("victims-may-follow", _may_follow(_number_killed(further), sorted(places)))


def _may_follow(victims: int, places: Sequence[str]) -> str:
    return say(
        "while the first victims terminate, up to {pods} may be preempted on {places}: the scheduler "
        "tries again, and no object shows which pod it tries first or in which order it counts "
        "victims.",
        pods=count(victims, "more pod"),
        places=few(places),
    )


def _number_killed(rounds: Iterable[Preemption]) -> int:
    return sum(len(one.victims) for one in rounds)


def _message(simulation: Simulation, outcomes: tuple[Outcome, ...], verdict: Verdict) -> str:
    name, outcome = _name(simulation), outcomes[0]
    if verdict == "unknown":
        return _cannot_tell(name, _why_open(outcomes))
    if len({each.placed_at_once for each in outcomes}) > 1:
        return say("{name} would be placed, at once or by preemption: no object shows which.", name=name)
    if outcome.placed_at_once:
        return say("{name} needs no preemption: it would be placed now.", name=name)
    if not outcome.rounds:
        disabled = _disabled(simulation, outcome)
        if disabled is not None:
            return _preemption_is_off(name, disabled)
        last = outcome.last.reason if outcome.last is not None else None
        reason = "plan-not-executable" if outcome.plan_fails else last
        in_vain = outcome.last is not None and bool(outcome.last.in_vain)
        return _no_victims(name, reason, _refusing_quota(outcome), in_vain=in_vain)
    return _effect(name, outcome)


def _preemption_is_off(name: str, plugin: str) -> str:
    """Return that nobody is preempted as this plugin is not enabled; as enablePreemption is off where none is named."""
    why = (
        say("plugin {plugin} is not enabled at postFilter", plugin=plugin) if plugin else say("enablePreemption is off")
    )
    return say("{name} would preempt no pods: {why}.", name=name, why=why)


_REASONS: Mapping[ReasonCode | CauseCode, str] = {
    "policy-never": say("its preemption policy is Never"),
    "terminating-victim": _WAITS,
    "no-victims": say("no node has lower-priority pods that may be preempted"),
    "not-helpful": say("it would not fit even without all lower-priority pods"),
    "no-pending-pods": _NO_PENDING_PODS,
    "plan-not-executable": say("slots are enough, but the plan made of them cannot be carried out"),
}


def _no_victims(name: str, reason: ReasonCode | CauseCode | None, quota: str, *, in_vain: bool) -> str:
    """Return why preemption finds no victims; `quota` is one that refuses the subject, empty where none does.

    in_vain: whether it chooses reservations as victims, and nothing else.
    """
    why_not = (
        say("what it would choose are reservations, which it cannot delete") if in_vain else say("it would not help")
    )
    otherwise = say("quota {quota} refuses it, not the nodes", quota=quota) if quota else why_not
    why = _REASONS[reason] if reason is not None else otherwise
    return say("{name} would preempt no pods: {why}.", name=name, why=why)


def _cannot_tell(name: str, why: str) -> str:
    return say("{name}: cannot tell whether preemption helps{part}.", name=name, part=f": {why}" if why else "")


def _effect(name: str, outcome: Outcome) -> str:
    killed = len(outcome.killed)
    if outcome.each is not None and not outcome.runs:
        return _helps_some(name, killed, *outcome.each)
    now = len(outcome.rounds[0].victims) if any(one.meanwhile for one in outcome.rounds) else killed
    runs, retried = bool(outcome.runs), _is_retried(outcome)
    if not killed:
        return _waits_for(name, sum(len(one.gone) for one in outcome.rounds), runs=runs)
    return _preempts(name, killed, len(outcome.rounds), now=now, runs=runs, retried=retried)


def _preempts(name: str, victims: int, attempts: int, *, now: int, runs: bool, retried: bool) -> str:
    """Return how many pods are preempted in how many attempts, and whether the subject then runs.

    now: how many of them are in the first attempt, where another follows while they terminate; all of them elsewhere.
    retried: whether attempts go on and on, so that how many there are is open.
    """
    tries = (
        say(" in repeated attempts")
        if retried
        else say(" in {attempts} attempts", attempts=attempts)
        if attempts > 1
        else ""
    )
    now_only = say(", {now} now and more while these terminate,", now=now) if now != victims else ""
    end = say("then run") if runs else say("still not run")
    return say(
        "{name} would preempt {pods}{tries}{now_only} and {end}.",
        name=name,
        pods=count(victims, "pod"),
        tries=tries,
        now_only=now_only,
        end=end,
    )


def _waits_for(name: str, dying: int, *, runs: bool) -> str:
    """Return that so many pods which terminate already make the room, and whether the subject then runs."""
    room = (
        say("1 pod that terminates already makes")
        if dying == 1
        else say("{dying} pods that terminate already make", dying=dying)
    )
    return say(
        "{name} would preempt no pods: {room} room, and it would {part}.",
        name=name,
        room=room,
        part=say("then run") if runs else say("still not run"),
    )


def _helps_some(name: str, victims: int, helped: int, pods: int) -> str:
    """Return how many pods are preempted, and how many of a gang that ran before then run."""
    run = "runs" if helped == 1 else "run"
    killed = say("would preempt {pods}", pods=count(victims, "pod"))
    return say(
        "{name} {killed}, and {helped} of its {pods} then {run}: each preempts on its own.",
        name=name,
        killed=killed,
        helped=helped,
        pods=count(pods, "pending pod"),
        run=run,
    )


def _disabled(simulation: Simulation, outcome: Outcome) -> str | None:
    """Return the plugin that would preempt and is not enabled, empty where its arguments say so; None where none is."""
    plugins, reason = simulation.snapshot.config.plugins, outcome.last.reason if outcome.last is not None else None
    if reason is not None and _refusing_quota(outcome) and not plugins.preempts_in_quotas:
        return "ElasticQuota"
    if reason != "preemption-disabled":
        return None
    return "Coscheduling" if "postFilter" in plugins.lacks("Coscheduling") else ""


def _is_retried(outcome: Outcome) -> bool:
    return any(preemption.retried for preemption in outcome.rounds)


def _why_open(outcomes: tuple[Outcome, ...]) -> str:
    """Return why it is open whether preemption helps where all outcomes have that in common; empty otherwise."""
    if outcomes[0].followed and len({outcome.runs for outcome in outcomes}) == 1:
        return not_followed(outcomes[0].followed)
    if any(outcome.runs is not None for outcome in outcomes):
        return ""
    first = outcomes[0]
    return (
        _race(preempts=bool(first.rounds))
        if first.plan_fails
        else say(
            "it takes more than {attempts}, and no more are computed", attempts=count(len(first.rounds), "attempt")
        )
    )


def _race(*, preempts: bool) -> str:
    """Return that what comes of a plan is a race, perhaps of one made after pods were preempted."""
    then = say("with the room that it makes ") if preempts else ""
    return say(
        "{then}slots are enough, but the plan made of them cannot be carried out, and what comes of it is a race",
        then=then,
    )


def _refusing_quota(outcome: Outcome) -> str:
    refusal = outcome.first.over_quota
    return refusal.path[0] if refusal is not None else ""


_PREEMPTED = "Preempted"
_POD_KINDS = {"pod", "pods", "po"}


class VictimName(Struct, frozen=True):
    """What the question is about: a `pod`, a `gang` or an `owner` (`ns/Kind/name`) of pods."""

    kind: str
    key: str

    @property
    def namespace(self) -> str:
        """The namespace of the victims."""
        return self.key.partition("/")[0]


class TracedVictim(Struct, frozen=True):
    """One pod that may have been preempted: what is left of it, and its event."""

    trace: PodTrace | None
    event: Event | None
    is_by_name: bool = False

    @property
    def key(self) -> str:
        """The pod, as `namespace/name`."""
        found = self.trace or self.event
        return found.key if found is not None else ""


def find(snapshot: Snapshot, name: str, namespace: str) -> VictimName | Unknown:
    """Return what a name means, pods included that only events mention: `x`, `ns/x`, `kind/x`, `kind/ns/x`."""
    name = subjects.kind_first(name)
    first, slash, second = name.partition("/")
    if slash and first.lower() in _POD_KINDS:
        meant = second if "/" in second else f"{namespace}/{second}"
        return _pod(snapshot, meant) or _unknown(snapshot, name, namespace)
    key = name if slash else f"{namespace}/{name}"
    if key in gangs.all_gangs(snapshot):
        return VictimName("gang", key)
    known = _pod(snapshot, key)
    if known is not None:
        return known
    found = subjects.find(snapshot, name, namespace)
    if isinstance(found, Subject):
        return _of_subject(snapshot, found)
    own_namespace, _, bare = key.partition("/")
    is_mentioned = any(
        event.namespace == own_namespace and event.name.startswith(f"{bare}-") for event in _events(snapshot)
    )
    return VictimName("gang", key) if is_mentioned and bare else _unknown(snapshot, name, namespace)


def find_anywhere(snapshot: Snapshot, name: str) -> VictimName | None:
    """Return what a plain name means in any namespace, None where that is nothing or more than one thing."""
    namespaces = {trace.namespace for trace in snapshot.traces} | {event.namespace for event in _events(snapshot)}
    found = [one for namespace in sorted(namespaces) if isinstance(one := find(snapshot, name, namespace), VictimName)]
    return found[0] if len({one.key for one in found}) == 1 else None


def _pod(snapshot: Snapshot, key: str) -> VictimName | None:
    known = any(trace.key == key for trace in snapshot.traces) or any(event.key == key for event in _events(snapshot))
    return VictimName("pod", key) if known else None


def _of_subject(snapshot: Snapshot, found: Subject) -> VictimName:
    if isinstance(found, GangSubject):
        return VictimName("gang", found.key)
    owner = next((trace.owner for trace in snapshot.traces if trace.key == found.key), "")
    return VictimName("owner", f"{found.key.partition('/')[0]}/{owner}")


def _unknown(snapshot: Snapshot, name: str, namespace: str) -> Unknown:
    known = dict.fromkeys([*gangs.all_gangs(snapshot), *(trace.key for trace in snapshot.traces)])
    return Unknown(name, near(subjects.wanted(name, namespace, known), known))


def _events(snapshot: Snapshot) -> Iterator[Event]:
    return (event for event in snapshot.events if event.reason == _PREEMPTED)


def victims(snapshot: Snapshot, every: Mapping[str, Gang], asked: VictimName) -> list[TracedVictim]:
    """Return the pods asked for that a condition or an event tells of, each pod of the same name by itself."""
    traces = {trace.key: trace for trace in snapshot.traces if trace.namespace == asked.namespace}
    found: list[TracedVictim] = []
    with_event: set[str] = set()
    for event in _events(snapshot):
        trace = traces.get(event.key)
        is_certain = trace is not None and _is_asked(asked, trace)
        if not is_certain and not _is_asked_by_name(asked, event, trace, every):
            continue
        same = trace is not None and _is_of(event, trace)
        if same:
            with_event.add(event.key)
        found.append(TracedVictim(trace if same else None, event, is_by_name=not is_certain and asked.kind != "pod"))
    found += [
        TracedVictim(trace, None)
        for trace in traces.values()
        if trace.preempted is not None and _is_asked(asked, trace) and trace.key not in with_event
    ]
    return sorted(found, key=lambda victim: victim.key)


def _is_asked(asked: VictimName, trace: PodTrace) -> bool:
    match asked.kind:
        case "pod":
            return trace.key == asked.key
        case "gang":
            return trace.gang == asked.key
        case _:
            return f"{trace.namespace}/{trace.owner}" == asked.key


def _is_asked_by_name(asked: VictimName, event: Event, trace: PodTrace | None, every: Mapping[str, Gang]) -> bool:
    """Tell whether a pod that is gone was meant: itself, or by all signs a member (its name begins with the gang's)."""
    if asked.kind == "pod":
        return event.key == asked.key
    base = f"{asked.namespace}/{asked.key.rpartition('/')[2]}-"
    closer = any(key.startswith(base) and event.key.startswith(f"{key}-") for key in every)
    return trace is None and event.key.startswith(base) and not closer


def _is_of(event: Event, trace: PodTrace) -> bool:
    """Tell whether an event is about this pod, not about an earlier one of the same name."""
    if event.uid and trace.uid:
        return event.uid == trace.uid
    return event.last_seen.removesuffix("Z") >= trace.created.removesuffix("Z")
