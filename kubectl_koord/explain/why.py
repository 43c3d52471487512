"""Why a gang is pending: the one root cause with its evidence, or where it would be placed."""

from collections.abc import Iterator
from typing import TypeAlias

from msgspec import structs

from kubectl_koord.diagnosis import admission, contention, coverage, evidence, overview, quota, visibility
from kubectl_koord.engine.admission import before_trying, is_open
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.gangs import GangGroup
from kubectl_koord.engine.oddities import is_satisfied_by_earlier_pods
from kubectl_koord.engine.placement import PlacementPlan
from kubectl_koord.engine.prefilter import unknown_layer
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.subjects import GangSubject, PodSubject, Subject, never_tried
from kubectl_koord.messages.conditions import scheduler_says, unseen_events
from kubectl_koord.model.pods import FinishedPod, PendingPod, PodRequirements, RunningPod
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.unevaluated import Unevaluated, WideningPodSetting
from kubectl_koord.remedies import next_steps, retry, surplus, ways_out
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.pending import Cause, PendingGangsReport, SlotRow, WhyAlternative, WhyReport
from kubectl_koord.simulation.edits import wanting_room_alone
from kubectl_koord.simulation.simulation import Cluster, Simulation, at_first, cluster_of, next_attempt, simulate
from kubectl_koord.simulation.subjects import pending_subjects
from kubectl_koord.wording.ages import told_overdue
from kubectl_koord.wording.unevaluated import unevaluated_names
from kubectl_koord.wording.words import count, layer_noun, listed, requests

_Open: TypeAlias = tuple[Unevaluated, ...]


def why(snapshot: Snapshot, subject: Subject, *, brief: bool = False, sharing: Cluster | None = None) -> WhyReport:
    """Return why the subject is pending.

    Args:
        snapshot: the cluster.
        subject: whom it is about.
        brief: whether to leave out ways out and obstacles, as listings of many gangs do.
        sharing: the cluster of the snapshot where there is one already, to share what was computed for it.

    """
    simulation = (sharing or cluster_of(snapshot)).simulation(subject)
    blockers = before_trying(subject, snapshot, simulation.tree)
    blind = visibility.unread_for(subject, snapshot)
    missing = coverage.absent(snapshot, coverage.kinds_needed(subject))
    warnings = (*coverage.general(snapshot), *missing, *admission.warnings(subject, snapshot, simulation.tree))
    if not subject.pending:
        unread = visibility.unread_members(subject, snapshot)
        return _report(
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
        proven, steps = ways_out.told_apart(simulation, next_steps.for_cause(simulation, cause) if not brief else ())
        verdict: Verdict = "unknown" if is_open(blockers[0]) else "no"
        return _report(
            simulation,
            warnings,
            verdict=verdict,
            cause=cause,
            also_wrong=codes,
            unblock=proven,
            next_steps=steps,
            no_way_out="" if proven or brief else "fix the cause first; whether that is enough is unknown.",
        )
    if blind:
        return _report(simulation, warnings, verdict="unknown", cause=_not_readable(blind))
    return _tried(simulation, warnings, brief=brief)


def with_nodes(report: WhyReport, snapshot: Snapshot, subject: Subject) -> WhyReport:
    """Return the report with why each node takes no more pods of the subject than it does."""
    if not subject.pending or visibility.unread_for(subject, snapshot):
        return report
    simulation = simulate(snapshot, subject)
    likeliest = next(iter(next_attempt(simulation)), None)
    return structs.replace(report, nodes=evidence.by_node(simulation, likeliest.first)) if likeliest else report


def every_pending(snapshot: Snapshot, namespace: str = "") -> PendingGangsReport:
    """Return one report per gang group or lone pod with pending pods, in name order."""
    cluster = cluster_of(snapshot)
    subjects = pending_subjects(snapshot, namespace)
    items = tuple(why(snapshot, subject, brief=True, sharing=cluster) for subject in subjects)
    startable = [subject for subject, item in zip(subjects, items, strict=True) if item.verdict == "yes"]
    warnings = (*coverage.general(snapshot), *coverage.absent(snapshot, ("Node", "Pod", "PodGroup")))
    unread = visibility.unread(snapshot, "listing", namespace)
    return PendingGangsReport(
        verdict="unknown" if unread else "yes",
        basis=coverage.basis(snapshot),
        warnings=warnings,
        items=items,
        causes=overview.by_cause(items),
        contending=contention.contentions(cluster, startable),
        message=visibility.words(unread) if unread else "",
    )


def _not_readable(gaps: tuple[Gap, ...]) -> Cause:
    return Cause("not-readable", visibility.words(gaps))


def _tried(simulation: Simulation, warnings: tuple[Notice, ...], *, brief: bool) -> WhyReport:
    """Return the report of a subject that the scheduler tries: the engine's answer decides."""
    outcomes = next_attempt(simulation)
    subject = simulation.subject
    if (
        outcomes[0].placed_at_once
        and isinstance(subject, GangSubject)
        and _is_open_what_it_remembers(subject.group, simulation.snapshot)
    ):
        return _replacement(simulation, subject.group, outcomes[0], warnings)
    unevaluated = coverage.not_evaluated(subject, simulation.snapshot)
    verdict = _verdict(outcomes, unevaluated)
    if verdict == "yes":
        left_by_jobs_ahead = _behind_jobs_ahead(simulation, warnings, brief=brief)
        if left_by_jobs_ahead is not None:
            return left_by_jobs_ahead
        unread = contention.unread_higher_priority_jobs(simulation)
        if unread:
            message = f"jobs of higher priority may take its place: {visibility.words(unread)}"
            return _report(simulation, warnings, verdict="unknown", cause=Cause("not-readable", message))
    likeliest = outcomes[0]
    others = _alternatives(simulation, outcomes)
    cause = retry.waits(simulation) if verdict == "yes" else _cause(simulation, outcomes, unevaluated, verdict)
    waits = _waiting_for_victims(simulation)
    if waits is not None and verdict == "no":
        cause = waits
    placed = likeliest.first.placement if likeliest.first.plan is not None and verdict == "yes" else None
    helps = _ways_out(simulation, likeliest) if verdict == "no" and not brief else ways_out.Found(())
    if verdict == "yes" and cause is not None and not brief:
        helps = ways_out.Found(retry.steps(simulation))
    return _report(
        simulation,
        (
            *warnings,
            *surplus.notices(simulation, verdict),
            *retry.notices(simulation, verdict),
            *(_contended(simulation, likeliest.first) if not brief else ()),
        ),
        verdict=verdict,
        cause=cause,
        first=likeliest.first,
        brief=brief,
        placement=placed,
        alternatives=others,
        also_wrong=tuple(code for code in _also_wrong(simulation, verdict, unevaluated) if code != _code(cause)),
        unblock=helps.ways,
        no_way_out=helps.why_none,
    )


def _contended(simulation: Simulation, first: Attempt) -> Iterator[Notice]:
    """Yield who else wants the place that the subject would have, or what becomes free for it."""
    if first.placement is None:
        before = [other.key for other in contention.higher_priority_jobs(simulation)]
        if before:
            verb = "has" if len(before) == 1 else "have"
            message = f"{listed(before)} {verb} higher priority and may take freed resources first."
            yield Notice("contended", message)
        return
    others = contention.equals(simulation, first.placement)
    if others:
        verbs = ("has", "needs") if len(others) == 1 else ("have", "need")
        message = (
            f"{listed(others)} {verbs[0]} the same priority and {verbs[1]} the same room: the one tried first gets it."
        )
        yield Notice("contended", message)


def _ways_out(simulation: Simulation, stuck: Outcome) -> ways_out.Found:
    subject = simulation.subject
    if isinstance(subject, GangSubject) and _is_open_what_it_remembers(subject.group, simulation.snapshot):
        return ways_out.Found((), "the result of any change depends on what the scheduler remembers about the gang.")
    return ways_out.proven(simulation, stuck)


def _also_wrong(simulation: Simulation, verdict: Verdict, unevaluated: _Open) -> Iterator[CauseCode]:
    """Yield what a no has besides its root cause."""
    subject = simulation.subject
    if verdict == "no" and isinstance(subject, GangSubject) and is_satisfied_by_earlier_pods(subject.group):
        yield "satisfied-by-earlier-pods"
    if verdict == "no" and surplus.without(simulation):
        yield "surplus-pods"
    if verdict == "no":
        yield from _quota(simulation, unevaluated)


def _code(cause: Cause | None) -> CauseCode | None:
    return cause.code if cause is not None else None


def _quota(simulation: Simulation, unevaluated: _Open) -> Iterator[CauseCode]:
    """Yield the code of a quota that refuses the pods, too, or did as far as the scheduler's last words tell."""
    if quota.exceeded(simulation) is not None or quota.refuses(simulation, unevaluated) is not None:
        yield "quota"


def _is_open_what_it_remembers(group: GangGroup, snapshot: Snapshot) -> bool:
    """Tell whether it decides that the scheduler remembers the gang to have run, which is in no object."""
    return any(spec is not None for spec in group.specs) and surplus.may_be_forgotten(group, snapshot)


def _replacement(simulation: Simulation, group: GangGroup, outcome: Outcome, warnings: tuple[Notice, ...]) -> WhyReport:
    code = surplus.late_code(group)
    waits = Cause(
        code,
        f"the scheduler forgot that the gang ran: it waits for {group.minimum} new pods, which never come.",
        _names(simulation.subject.pending),
    )
    again = "Touch the PodGroup if the pods stay pending, so that the scheduler counts the bound pods again"
    return _report(
        simulation,
        warnings,
        verdict="unknown",
        cause=Cause(
            code,
            "it depends on whether the scheduler remembers that the gang ran before: no object shows this, and a"
            " restart may lose it.",
            _names(simulation.subject.pending),
        ),
        first=outcome.first,
        alternatives=(
            WhyAlternative("the scheduler remembers that the gang ran", "yes"),
            WhyAlternative("the scheduler forgot it in a restart", "no", cause=waits),
        ),
        next_steps=(next_steps.touch(simulation, again),),
    )


def _behind_jobs_ahead(simulation: Simulation, warnings: tuple[Notice, ...], *, brief: bool) -> WhyReport | None:
    """Return the report when jobs of higher priority go first and leave no room, None when they do."""
    left = contention.left_by_jobs_ahead(simulation)
    if left is None or left.leaves_room:
        return None
    alone = len(left.names) == 1
    takes = "may take" if not left.certain else ("takes" if alone else "take")
    verb = "has" if alone else "have"
    message = f"{listed(left.names)} {verb} higher priority and {takes} its place; otherwise it would be placed."
    code: CauseCode = "insufficient-slots" if simulation.has_topology else "insufficient-capacity"
    helps = _ways_out(simulation, left.outcome) if left.certain and not brief else ways_out.Found(())
    return _report(
        simulation,
        warnings,
        verdict="no" if left.certain else "unknown",
        cause=Cause(code, message, _names(simulation.subject.pending)),
        first=left.outcome.first,
        funnel=None if brief else evidence.funnel(structs.replace(simulation, view=left.view), left.outcome.first),
        unblock=helps.ways,
        no_way_out=helps.why_none,
    )


def _verdict(outcomes: tuple[Outcome, ...], unevaluated: _Open) -> Verdict:
    placed = {outcome.placed_at_once for outcome in outcomes}
    if placed == {False}:
        by_quota = all(outcome.first.over_quota is not None for outcome in outcomes)
        return "unknown" if any(_may_admit(item, by_quota=by_quota) for item in unevaluated) else "no"
    refusing = any(item.may_refuse for item in unevaluated)
    return "yes" if placed == {True} and not refusing else "unknown"


def _may_admit(item: Unevaluated, *, by_quota: bool) -> bool:
    """Tell whether something may open what is closed: what nodes are found to offer opens no quota."""
    return item.may_admit and (not by_quota or item == WideningPodSetting("pod-level-resources"))


def _cause(simulation: Simulation, outcomes: tuple[Outcome, ...], unevaluated: _Open, verdict: Verdict) -> Cause:
    if verdict == "unknown" and unevaluated:
        says = quota.refuses(simulation, unevaluated) if all(outcome.placed_at_once for outcome in outcomes) else None
        message = f"it depends on {unevaluated_names(unevaluated)}, which is not evaluated."
        return says or Cause("not-evaluated", message)
    if verdict == "unknown":
        return Cause("several-outcomes", "it depends on which pod the scheduler tries first; no object shows this.")
    return _insufficient(simulation, outcomes[0].first)


def _insufficient(simulation: Simulation, first: Attempt) -> Cause:
    return _refused(first) or _without_room(simulation, first)


def _refused(first: Attempt) -> Cause | None:
    """Return why the attempt fails whatever the nodes are, None for the usual case that they decide."""
    refusal = first.over_quota or first.prefilter
    if refusal is not None:
        return admission.cause(refusal)
    unknown = unknown_layer(first.plan.requirements, first.plan.tree) if first.plan is not None else None
    return admission.cause(unknown) if unknown is not None else None


def _without_room(simulation: Simulation, first: Attempt) -> Cause:
    plan = first.plan
    is_indivisible = plan is not None and _is_indivisible(simulation, plan)
    if not is_indivisible and _never_fits(simulation):
        return Cause("never-fits", _never_words(simulation, first), _names(simulation.subject.pending))
    return _short_of_slots(simulation, first, plan) if plan is not None else _short_of_nodes(simulation, first)


def _is_indivisible(simulation: Simulation, plan: PlacementPlan) -> bool:
    """Tell whether slots are enough, and it is the number of pods that podCountMultiple does not divide."""
    slots, raw = _best(plan)
    enough = slots >= plan.desired
    return enough or (raw >= plan.desired and not evidence.is_multiple(simulation, plan.tree))


def _best(plan: PlacementPlan) -> tuple[int, int]:
    """Return the most slots of a domain of the start set, and the most before rounding."""
    return max(plan.offered, default=0), max((plan.raw[index] for index in plan.start), default=0)


def _never_fits(simulation: Simulation) -> bool:
    """Tell whether an empty cluster is too small, whatever else keeps pods from nodes out of the way."""
    empty = wanting_room_alone(simulation).answered_alone(evidence.roomy_view(simulation.view))
    return not any(outcome.placed_at_once or outcome.first.over_quota for outcome in empty)


def _never_words(simulation: Simulation, first: Attempt) -> str:
    is_planned = first.plan is not None
    never = never_tried(simulation.subject, simulation.snapshot) if not is_planned else ()  # a plan has a slot for each
    number = len(simulation.subject.pending) - len(never)
    noun = layer_noun(simulation.must_gather) if simulation.must_gather and is_planned else "cluster"
    fit = "does not fit" if number == 1 else "do not fit"
    wanted = requests(first.trigger.requirements.requests)
    return f"its {count(number, 'pod')} ({wanted}) {fit} even in an empty {noun}; waiting does not help."


def _short_of_slots(simulation: Simulation, first: Attempt, plan: PlacementPlan) -> Cause:
    pods = simulation.subject.pending
    noun = layer_noun(simulation.must_gather) if simulation.must_gather else "cluster"
    if first.failed_seat is not None:
        failing = first.failed_seat.pod
        message = f"every attempt fails: {failing} does not fit on its planned node."
        return Cause("insufficient-slots", message, (failing,))
    best, raw = _best(plan)
    if _is_indivisible(simulation, plan):
        message = f"its {count(len(pods), 'pod')} cannot be split by {evidence.multiples(simulation)} (room for {raw})."
        return Cause("multiple-mismatch", message, _names(pods))
    rounded = f" ({raw} without podCountMultiple)" if raw >= len(pods) else ""
    if noun == "cluster":
        message = f"the cluster has room for {best} of its {count(len(pods), 'pod')}{rounded}."
        return Cause("insufficient-slots", message, _names(pods))
    message = f"no {noun} has room for its {count(len(pods), 'pod')}; the best has {best}{rounded}."
    others = evidence.other_than_room(first)
    if others:
        message = f"{message.rstrip('.')}; excluded nodes: {others}."
    return Cause("insufficient-slots", message, _names(pods))


def _short_of_nodes(simulation: Simulation, first: Attempt) -> Cause:
    subject = simulation.subject
    stuck = _fits_nowhere(simulation, first)
    if stuck is not None:
        who = "it" if isinstance(subject, PodSubject) else stuck.key
        why_not = evidence.main(evidence.refusals(simulation, stuck))
        message = f"no node fits {who} ({requests(stuck.requirements.requests)}): {why_not}."
        return Cause("no-feasible-node", message, (stuck.key,))
    wanted = requests(first.trigger.requirements.requests)
    placed = sum(len(pods) for pods in first.waiting.values())
    number = len(subject.pending)
    if isinstance(subject, GangSubject) and subject.group.is_satisfied():
        message = f"{placed} of its {number} pending pods fit ({wanted} each)."
        return Cause("insufficient-capacity", message, _names(first.left))
    minimum = subject.group.minimum if isinstance(subject, GangSubject) else 1
    message = f"only {placed} of its {number} pods fit at the same time, {minimum} must ({wanted} each)."
    return Cause("insufficient-capacity", message, _names(first.left))


def _fits_nowhere(simulation: Simulation, first: Attempt) -> PendingPod | None:
    """Return a member that no node takes as things are, None where each is taken by some.

    One that asks for the company of other pods is judged only where nobody was placed: members may be that company.
    """
    if not first.waiting:
        return first.trigger
    placed = {pod.requirements for pods in first.waiting.values() for pod in pods}
    kinds: dict[PodRequirements, PendingPod] = {}
    for pod in first.left:
        kinds.setdefault(pod.requirements, pod)
    judged = (
        pod for requirements, pod in kinds.items() if requirements not in placed and not requirements.pod_affinity
    )
    nodes = len(simulation.view.names())
    return next((pod for pod in judged if len(evidence.refusals(simulation, pod)) == nodes), None)


def _names(pods: tuple[PendingPod, ...]) -> tuple[str, ...]:
    return tuple(pod.key for pod in pods)


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
    late = told_overdue(leaving, simulation.snapshot.moment)
    message = f"it waits for {count(len(leaving), 'preempted pod')} to terminate: {listed(names)}{late and '; '}{late}."
    return Cause("waiting-for-preemption", message, tuple(names))


def _alternatives(simulation: Simulation, outcomes: tuple[Outcome, ...]) -> tuple[WhyAlternative, ...]:
    """Return the outcomes of the first attempt where they differ."""
    if len(outcomes) == 1:
        return ()
    seen: dict[object, Outcome] = {}
    for outcome in outcomes:
        seen.setdefault((outcome.placed_at_once, evidence.offered(outcome.first), at_first(outcome)[2]), outcome)
    if len(seen) == 1:
        return ()
    return tuple(_alternative(simulation, outcome) for outcome in seen.values())


def _alternative(simulation: Simulation, outcome: Outcome) -> WhyAlternative:
    verdict: Verdict = "yes" if outcome.placed_at_once else "no"
    return WhyAlternative(
        when=f"the scheduler tries {outcome.trigger.key} first ({requests(outcome.trigger.requirements.requests)})",
        verdict=verdict,
        domains=evidence.slot_rows(simulation, outcome.first),
        placement=outcome.first.placement if outcome.first.plan is not None else None,
        cause=None if outcome.placed_at_once else _insufficient(simulation, outcome.first),
    )


def _report(
    simulation: Simulation,
    warnings: tuple[Notice, ...],
    *,
    verdict: Verdict,
    cause: Cause | None,
    also_wrong: tuple[CauseCode, ...] = (),
    first: Attempt | None = None,
    brief: bool = False,
    **more: object,
) -> WhyReport:
    subject, snapshot = simulation.subject, simulation.snapshot
    pending = subject.pending
    unevaluated = coverage.not_evaluated(subject, snapshot) if first is not None else ()
    rows: tuple[SlotRow, ...] = ()
    if any(item.changes_slots for item in unevaluated) and simulation.has_topology:
        warnings = (
            *warnings,
            Notice("slots-not-shown", f"slots depend on {unevaluated_names(unevaluated)}, which is not evaluated."),
        )
    elif first is not None:
        rows = evidence.slot_rows(simulation, first, brief=brief)
    fields: dict[str, object] = {
        "placement": None,
        "unblock": (),
        "next_steps": (),
        "alternatives": (),
        "requests": requests(pending[0].requirements.requests) if pending else "",
        **_of_subject(subject),
        **more,
    }
    if first is not None and not brief and "funnel" not in more:
        fields["funnel"] = evidence.funnel(simulation, first)
    waiting, waiting_for = overview.asked_for(pending)
    says = scheduler_says(pending, () if brief else snapshot.events, rows, verdict)
    return WhyReport(
        verdict=verdict,
        basis=coverage.basis(snapshot),
        warnings=(*unseen_events(snapshot, says), *warnings),
        gang=subject.key,
        gang_group=tuple(subject.gangs),
        pending_pods=_names(pending),
        must_gather=simulation.must_gather or None,
        desired_offer_slot=simulation.desired,
        domains=rows,
        cause=cause,
        also_wrong=also_wrong,
        scheduler_says=says,
        waiting=waiting,
        waiting_for=waiting_for,
        waiting_since=min((pod.created for pod in pending), default=""),
        **fields,  # type: ignore[arg-type]
    )


def _of_subject(subject: Subject) -> dict[str, object]:
    """Return the fields of the report that a gang and a lone pod fill each in its own way."""
    if isinstance(subject, GangSubject):
        return {"bound_pods": subject.group.bound, "min_member": subject.group.own.minimum or 0}
    pod = subject.pod
    is_bound = isinstance(pod, RunningPod) or (isinstance(pod, FinishedPod) and pod.was_bound)
    node = pod.node if isinstance(pod, RunningPod) else ""
    return {"bound_pods": int(is_bound), "min_member": 1, "lone_pod": True, "node": node}
