"""Whether pods that do not exist yet would be placed: what `why-pending` and `preempt` answer once they do."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import structs

from kubectl_koord.diagnosis import contention, coverage
from kubectl_koord.engine.gangs import Gang, GangGroup, GangSubject, PodSubject, Subject, never_tried
from kubectl_koord.explain.preempt import preempt
from kubectl_koord.explain.why import why
from kubectl_koord.language import say
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.remedies.next_steps import admitted
from kubectl_koord.reports.common import ActionCode, CauseCode, Notice, SetMinimum, Verdict, WayOut
from kubectl_koord.reports.jobs import Cause, FitGang, FitReport, Fits, PreemptReport, Victim, WhyReport
from kubectl_koord.simulation import what_if
from kubectl_koord.simulation.simulation import Scenario, cluster_of
from kubectl_koord.simulation.submitted import Submitted, of_other_schedulers, subjects_of, taken_over
from kubectl_koord.wording.words import could_not_be_read, count, few, listed

_OF_ADMISSION = ("PriorityClass", "LimitRange")
_OF_WORKLOADS = (*_OF_ADMISSION, "ResourceQuota")
"""What decides about pods of manifests besides: those of a shape are compared with no quota of their namespace."""
_MOST_NAMED = 4
_NEVER: frozenset[CauseCode] = frozenset(
    {
        "other-scheduler",
        "mixed-schedulers",
        "no-podgroup",
        "gang-not-initialised",
        "too-few-pods",
        "groups-differ",
        "no-topology",
        "broken-layer-chain",
        "unknown-layer",
        "invalid-request",
        "multiple-mismatch",
        "resource-not-offered",
        "never-fits",
    }
)
"""Causes that waiting does not end."""
_OF_CLUSTER: frozenset[ActionCode] = frozenset(
    {
        "wait-for-terminating",
        "wait-for-revoking",
        "uncordon",
        "mend-node",
        "raise-threshold",
        "free-pods",
        "move-pod",
        "add-nodes",
        "create-topology",
        "fix-layers",
        "see-scheduler",
        "raise-resource-quota",
    }
)
"""Ways out of which the command is for objects that exist; those of the others are still to be made."""


def fit(snapshot: Snapshot, submitted: Submitted, *, count: bool = False) -> FitReport:
    """Return whether what was submitted would be placed.

    Args:
        snapshot: the cluster with what was submitted.
        submitted: which of its pods that is.
        count: whether to find out how many such gangs fit, and how large one may be.
    """
    theirs = of_other_schedulers(snapshot, submitted)
    snapshot = taken_over(snapshot, submitted)
    cluster = cluster_of(snapshot)
    asked = [_as_one(subjects) for subjects in _together(subjects_of(snapshot, submitted))]
    beside = {pod.key for subject in asked for pod in subject.pending}
    found = [why(snapshot, subject, sharing=cluster, beside=beside) for subject in asked]
    crowded, found = _beside_each_other(cluster, asked, found)
    if submitted.is_filled:
        deciding = _OF_WORKLOADS if submitted.is_mutated else _OF_ADMISSION
        found = [_in_doubt(snapshot, report, deciding) for report in found]
    found = [_admitted(submitted, *one) for one in zip(asked, found, strict=True)]
    items = tuple(
        _gang(
            cluster,
            subject,
            report,
            crowded.get(subject.key, ()),
            count=count,
            scheduler=next((theirs[pod.key].scheduler for pod in subject.pending if pod.key in theirs), ""),
        )
        for subject, report in zip(asked, found, strict=True)
    )
    warnings = (
        *_warnings(snapshot, submitted, theirs.values()),
        *(notice for report in found for notice in report.warnings),
    )
    return FitReport(
        verdict=_verdict(items),
        basis=coverage.basis(snapshot),
        warnings=tuple(dict.fromkeys(warnings)),
        gangs=items,
    )


def _admitted(submitted: Submitted, subject: Subject, report: WhyReport) -> WhyReport:
    """Return a no where the API server refuses so many of the pods that the others are too few."""
    refused = [pod.key for pod in subject.pending if pod.key in submitted.refused]
    if not refused:
        return report
    of_all = say("{number} of its {pods}", number=len(refused), pods=count(len(subject.pending), "pod"))
    message = say("the API server refuses {of_all}: {refused}.", of_all=of_all, refused=submitted.refused[refused[0]])
    if _is_enough(subject, frozenset(refused)):
        return structs.replace(report, warnings=(*report.warnings, Notice("not-admitted", message)))
    cause = Cause("not-admitted", message, tuple(refused))
    owner = next(pod.owner for pod in subject.pending if pod.key == refused[0])
    step = admitted(refused[0].partition("/")[0], submitted.refused[refused[0]], owner, len(refused))
    return structs.replace(
        report, verdict="no", cause=cause, placement=None, domains=(), alternatives=(), unblock=(), next_steps=(step,)
    )


def _is_enough(subject: Subject, refused: frozenset[str]) -> bool:
    """Tell whether each gang has its minimum of pods without those that are refused."""
    gangs = [gang for gang in subject.gangs.values() if gang is not None]
    return bool(gangs) and all(
        gang.minimum is not None
        and gang.children - sum(pod.key in refused for pod in gang.pending) >= max(gang.minimum, 1)
        for gang in gangs
    )


def _together(subjects: Iterable[Subject]) -> list[list[Subject]]:
    """Return gangs each alone, and pods without a gang with the others of their workload."""
    found: dict[tuple[str, str], list[Subject]] = {}
    for subject in subjects:
        owner = subject.pod.owner if isinstance(subject, PodSubject) and isinstance(subject.pod, PendingPod) else ""
        namespace = subject.key.partition("/")[0]
        found.setdefault((namespace, owner) if owner else (subject.key, ""), []).append(subject)
    return list(found.values())


def _as_one(subjects: Sequence[Subject]) -> Subject:
    """Return pods without a gang as what places all of them: none of it is in any object."""
    if len(subjects) == 1:
        return subjects[0]
    pods = tuple(pod for subject in subjects for pod in subject.pending)
    key = f"{pods[0].namespace}/{pods[0].owner.partition('/')[2]}"
    pods = tuple(structs.replace(pod, gang=key) for pod in pods)
    gang = Gang(
        key=key,
        defined_by="pods",
        minimum=len(pods),
        match_policy="only-waiting",
        mode="Strict",
        group=(key,),
        topology=None,
        unreadable=(),
        pending=pods,
        running=(),
        finished=(),
    )
    return GangSubject(GangGroup(gang, {key: gang}))


def _beside_each_other(
    cluster: Scenario, asked: Sequence[Subject], found: list[WhyReport]
) -> tuple[Mapping[str, tuple[str, ...]], list[WhyReport]]:
    """Return who would be placed alone, and not beside others that were submitted, with these, and where all go."""
    startable = [subject for subject, report in zip(asked, found, strict=True) if report.verdict == "yes"]
    if len(startable) < 2:  # noqa: PLR2004 - one is not in its own way
        return {}, found
    turns = contention.in_turn(cluster, startable)
    found = [
        structs.replace(report, placement=turns.placements[report.gang])
        if report.placement is not None and report.gang in turns.placements
        else report
        for report in found
    ]
    return {one.gang: one.others for one in turns.contentions}, found


def _in_doubt(snapshot: Snapshot, report: WhyReport, deciding: Sequence[str]) -> WhyReport:
    """Return a yes as unknown where what the API server fills in could not be read."""
    namespace = report.gang.partition("/")[0]
    gaps = [gap for kind in deciding if (gap := snapshot.unread(kind, namespace)) is not None]
    if report.verdict != "yes" or not gaps:
        return report
    cause = Cause("not-readable", could_not_be_read(gaps))
    return structs.replace(report, verdict="unknown", cause=cause, placement=None)


def _gang(
    cluster: Scenario, subject: Subject, report: WhyReport, others: Sequence[str], *, count: bool, scheduler: str
) -> FitGang:
    if others and report.verdict == "yes":
        code: CauseCode = "insufficient-slots" if report.desired_offer_slot is not None else "insufficient-capacity"
        cause = Cause(code, _not_beside(others), report.pending_pods)
        report = structs.replace(report, verdict="no", cause=cause, placement=None)
    own = set(report.pending_pods)
    alone = not any(pod.gang for pod in cluster.snapshot.pending if pod.key in own)
    is_admitted = report.cause is None or report.cause.code != "not-admitted"
    is_tried = report.verdict == "no" and is_admitted and not others and not (alone and len(subject.pending) > 1)
    room = preempt(cluster.snapshot, subject, sharing=cluster) if is_tried else None
    preempted = room is not None and room.verdict == "yes" and bool(room.victims)
    many, largest = _counted(cluster, subject, report) if count else (None, None)
    ways = tuple(_ways(_alone(report.unblock) if alone else report.unblock))
    killed = _victims(room) if preempted and room is not None else ()
    if killed:
        as_it_is = WayOut("wait-for-preemption", _preempted_for_it([one.pod for one in killed]))
        is_told = any(way.action == as_it_is.action for way in ways)
        ways = tuple(as_it_is if way.action == as_it_is.action else way for way in ways)
        ways = ways if is_told else (as_it_is, *ways)
    return FitGang(
        gang=report.gang,
        pods=len(report.pending_pods),
        verdict=report.verdict,
        fits=_fits(report, preempted=preempted),
        placement=report.placement,
        desired_offer_slot=report.desired_offer_slot,
        domains=report.domains,
        victims=killed,
        cause=report.cause,
        how_many=many.number if many else None,
        largest=largest.number if largest else None,
        gang_group=report.gang_group,
        min_member=report.min_member,
        must_gather=report.must_gather,
        requests=report.requests,
        alone=alone,
        also_wrong=report.also_wrong,
        unblock=ways,
        next_steps=tuple(_ways(report.next_steps)),
        no_way_out=report.no_way_out,
        ways_not_tried=report.ways_not_tried,
        broken_gangs=room.broken_gangs if preempted and room is not None else (),
        alternatives=report.alternatives,
        counted_to=many.counted_to if many else what_if.MOST_COPIES if count else 0,
        largest_counted_to=largest.counted_to if largest else 0,
        other_scheduler=scheduler,
        shapes=report.shapes,
        also=report.also,
    )


def _not_beside(others: Sequence[str]) -> str:
    """Return that a gang fits alone, and not once others are placed that were submitted with it."""
    verb = "has" if len(others) == 1 else "have"
    return say("it fits alone, but not once {others} {verb} been placed.", others=listed(others), verb=verb)


def _fits(report: WhyReport, *, preempted: bool) -> Fits:
    if report.verdict == "yes":
        return "now"
    if report.verdict == "unknown":
        return "unknown"
    if preempted:
        return "by-preemption"
    return "never" if report.cause is not None and report.cause.code in _NEVER else "not-now"


def _counted(
    cluster: Scenario, subject: Subject, report: WhyReport
) -> tuple[what_if.Counted | None, what_if.Counted | None]:
    """Return how many such gangs fit and how large one may be, where the engine decides that."""
    if report.verdict == "unknown" or (report.cause is not None and report.cause.code in _NEVER - {"never-fits"}):
        return None, None
    if never_tried(subject, cluster.snapshot):
        return None, None
    simulation = cluster.simulation(subject)
    view = contention.jobs_ahead(simulation).view
    is_one = isinstance(subject, GangSubject) and len(subject.gangs) == 1
    return what_if.how_many(simulation, view), what_if.largest(simulation, view) if is_one else None


def _victims(room: PreemptReport) -> tuple[Victim, ...]:
    return tuple(victim for one in room.rounds for victim in one.victims)


def _ways(ways: Iterable[WayOut]) -> Iterator[WayOut]:
    for way in ways:
        yield way if way.action in _OF_CLUSTER else structs.replace(way, command="")


def _alone(ways: Iterable[WayOut]) -> Iterator[WayOut]:
    """Yield ways out of pods without a gang: those that find a place start, with no minimum to be lowered."""
    for way in ways:
        numbers = [edit.minimum for edit in way.edits if isinstance(edit, SetMinimum)]
        if way.action == "fewer-pods" and numbers:
            yield structs.replace(way, message=_some_start(*numbers), edits=())
        else:
            yield way


def _preempted_for_it(pods: Sequence[str]) -> str:
    return say("Submit it as it is: the scheduler preempts {pods} and then places it", pods=few(pods, _MOST_NAMED))


def _some_start(pods: int) -> str:
    return say(
        "Submit it as it is: {pods} {start}, the others once there is room",
        pods=count(pods, "pod"),
        start="starts" if pods == 1 else "start",
    )


def _verdict(items: Sequence[FitGang]) -> Verdict:
    found = {item.verdict for item in items}
    return "no" if "no" in found else "unknown" if "unknown" in found else "yes"


def _warnings(snapshot: Snapshot, submitted: Submitted, theirs: Iterable[PendingPod]) -> Iterator[Notice]:
    by_scheduler: dict[str, dict[str, None]] = {}
    for pod in theirs:
        by_scheduler.setdefault(pod.scheduler, {})[pod.owner or f"Pod/{pod.name}"] = None
    for scheduler, workloads in by_scheduler.items():
        yield Notice("other-scheduler", _other_scheduler(tuple(workloads), scheduler, snapshot.config.profiles[0]))
    if submitted.own_priority:
        yield Notice("priority-without-class", _own_priority(submitted.own_priority))
    if submitted.suspended:
        yield Notice("suspended", _suspended(submitted.suspended))
    if submitted.scheduled:
        yield Notice("scheduled", _scheduled(submitted.scheduled))
    if submitted.skipped:
        yield Notice("kinds-skipped", _skipped(submitted.skipped))
    if submitted.assumed:
        yield Notice("podgroup-assumed", _assumed(submitted.assumed))
    if submitted.is_filled:
        changing = ("ClusterColocationProfile",) if submitted.is_mutated else ()
        splitting = ("MutatingWebhookConfiguration",) if submitted.asks_parts else ()
        yield from coverage.absent(snapshot, (*_OF_ADMISSION, *changing, *splitting))


def _scheduled(workloads: Sequence[tuple[str, str]]) -> str:
    """Return when workloads make pods, for which the answer is as if that were now."""
    told = [say("{name} at '{schedule}'", name=name, schedule=schedule) for name, schedule in workloads]
    return say("pods are made on a schedule: {told}. The answer is for pods that are made now.", told=listed(told))


def _suspended(workloads: Sequence[str]) -> str:
    """Return which workloads make no pods before they are resumed."""
    told = say("is suspended, and makes no pods") if len(workloads) == 1 else say("are suspended, and make no pods")
    return say(
        "{workloads} {told} before somebody resumes {them}.",
        workloads=listed(workloads),
        told=told,
        them="it" if len(workloads) == 1 else "them",
    )


def _own_priority(workloads: Sequence[str]) -> str:
    """Return which workloads have a priority that the API server refuses."""
    have = "has" if len(workloads) == 1 else "have"
    return say(
        "{workloads} {have} a priority that no PriorityClass gives: it counts as written, but the API "
        "server refuses such pods. Name a PriorityClass.",
        workloads=listed(workloads),
        have=have,
    )


def _other_scheduler(workloads: Sequence[str], scheduler: str, profile: str) -> str:
    """Return that another scheduler would place what was submitted, and what was computed in its place."""
    have = "has" if len(workloads) == 1 else "have"
    instead = say("computed as if it were {profile}, as no decision is computed for another scheduler", profile=profile)
    return say(
        "{workloads} {have} schedulerName {scheduler}: {instead}. Set schedulerName {profile} to make it so.",
        workloads=listed(workloads),
        have=have,
        scheduler=scheduler,
        instead=instead,
        profile=profile,
    )


def _assumed(groups: Sequence[str]) -> str:
    """Return which PodGroups operators are taken to make."""
    noun = "PodGroup" if len(groups) == 1 else "PodGroups"
    return say(
        "{noun} {groups}: made by the job's operator, if gang scheduling is enabled there.",
        noun=noun,
        groups=listed(groups),
    )


def _skipped(kinds: Sequence[str]) -> str:
    return say(
        "the manifests also have {kinds}: no pods are known of them, and they were left out.", kinds=listed(kinds)
    )
