"""The way of one job from its owner to running containers: which layer holds it, and what would come after that."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, assert_never

from msgspec import Struct, structs

from kubectl_koord import layers
from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine.gangs import Gang, GangSubject, PodSubject, Subject, all_gangs, group_of
from kubectl_koord.engine.tree import NoTree
from kubectl_koord.explain.why import why
from kubectl_koord.language import STOP, say
from kubectl_koord.layers import gates, running
from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed, Unknown
from kubectl_koord.model.jobs import Jobs
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.jobs import Cause, LayerRow, WhyReport
from kubectl_koord.simulation.simulation import Scenario, cluster_of
from kubectl_koord.simulation.subjects import is_owner_kind
from kubectl_koord.wording.words import count, few

SCHEDULER = "gang, quota, topology"
"""How lists call what the scheduler looks at, where it lets a job through; what holds one has its own name."""
LAYERS: Mapping[str, str] = {
    code: layer
    for layer, codes in {
        gates.NAME: ("other-scheduler", "mixed-schedulers", "no-scheduler", "being-deleted", "scheduling-gated"),
        "gang": (
            "no-podgroup", "gang-not-initialised", "too-few-pods", "group-member-missing", "group-member-too-few-pods",
            "groups-differ", "surplus-pods", "replacement-waits", "satisfied-by-earlier-pods", "invalid-request",
        ),
        "quota": ("quota",),
        "reservation": ("no-matching-reservation",),
        "volumes": ("volumes-unbound", "claims-unallocated"),
        "topology": ("no-topology", "broken-layer-chain", "unknown-layer", "plan-not-executable", "no-node-in-layer"),
        "nodes": (
            "no-feasible-node", "insufficient-capacity", "resource-not-offered", "insufficient-slots", "never-fits",
            "multiple-mismatch", "waiting-for-preemption", "waiting-for-retry", "contended",
        ),
    }.items()
    for code in codes
}  # fmt: skip
_OF_SLOTS = ("insufficient-slots", "never-fits", "multiple-mismatch")
"""Causes of the topology where pods must gather in one domain."""
_MOST_BESIDE = 20
"""Bound of the other gangs and pods of a job that are looked at."""


class _Asked(Struct, frozen=True):
    """A layer's name and its answer."""

    name: str
    answer: Answer


def way(
    snapshot: Snapshot, subject: Subject | None, *, brief: bool = False, sharing: Scenario | None = None
) -> WhyReport:
    """Return why a job does not run: the answer of the first layer that holds it, and the way up to there and on.

    Args:
        snapshot: the cluster, with what was read of the job in `jobs`.
        subject: what the scheduler sees of the job, None where it has no pod.
        brief: whether to leave out ways out and obstacles, as listings do.
        sharing: the cluster of the snapshot where there is one already.
    """
    jobs = snapshot.jobs
    if jobs is None or not jobs.asked:
        if subject is None:
            raise AssertionError
        report = why(snapshot, subject, brief=brief, sharing=sharing)
        return structs.replace(report, layers=(_of_scheduler(report),))
    job = job_of(jobs, subject)
    before, first = _before(job, snapshot)
    if first is not None:
        return _held(snapshot, job, subject, first, (*_rows(before), _then(snapshot, jobs, subject)))
    if subject is None:
        return _open(snapshot, job, before)
    report = _decided(snapshot, job, subject, brief=brief, sharing=sharing)
    own = _of_scheduler(report)
    if report.pending_pods or report.verdict == "unknown":
        return structs.replace(report, owner_kind=job.kind, layers=(*_rows(before), own))
    after = [_Asked(layer.NAME, layer.ask(job, snapshot)) for layer in layers.AFTER]
    rows = (*_rows(before), own, *_rows(after))
    stopped = next((one.answer for one in after if isinstance(one.answer, Held)), None)
    if stopped is not None:
        return _held(snapshot, job, subject, stopped, rows, report)
    return structs.replace(report, owner_kind=job.kind, layers=rows)


def held_before(snapshot: Snapshot) -> WhyReport | None:
    """Return what holds the job that was read before it reaches the scheduler, in brief; None where nothing does."""
    if snapshot.jobs is None:
        return None
    job = job_of(snapshot.jobs, None)
    before, first = _before(job, snapshot)
    return _held(snapshot, job, None, first, tuple(_rows(before))) if first is not None else None


def _before(job: Job, snapshot: Snapshot) -> tuple[list[_Asked], Held | None]:
    """Return the answers of the layers before the scheduler, and that of the first which holds the job."""
    before = [_Asked(layer.NAME, layer.ask(job, snapshot)) for layer in layers.BEFORE]
    return before, next((one.answer for one in before if isinstance(one.answer, Held)), None)


def job_of(jobs: Jobs, subject: Subject | None) -> Job:
    """Return what was read of a job as layers are asked about it."""
    asked = jobs.owners[0] if jobs.owners else None
    gangs = [gang for gang in subject.gangs.values() if gang is not None] if isinstance(subject, GangSubject) else []
    is_pod = isinstance(subject, PodSubject) and asked is None
    return Job(
        key=asked.key if asked else subject.key if subject else "",
        kind=asked.kind if asked else "Pod" if is_pod else "",
        owners=jobs.owners,
        subject=subject,
        pods=jobs.pods,
        minimum=sum(gang.minimum or 0 for gang in gangs) or (1 if is_pod else 0),
        pending=max(len(subject.pending) if subject else 0, sum(1 for pod in jobs.pods if pod.is_waiting)),
    )


def _decided(snapshot: Snapshot, job: Job, subject: Subject, *, brief: bool, sharing: Scenario | None) -> WhyReport:
    """Return what the scheduler decides: of a job of several gangs or lone pods about the first that it refuses.

    How many of the others are refused alike is told with the cause. A pod without a gang stands for its owner.
    """
    report = why(snapshot, subject, brief=brief, sharing=sharing)
    every = [*_beside(snapshot, job, subject)]
    others = [(one, why(snapshot, one, brief=True, sharing=sharing)) for one in every[:_MOST_BESIDE]]
    refused = next((one for one, other in others if other.verdict == "no"), None)
    if refused is not None and report.verdict != "no":
        others = [(subject, report), *((one, other) for one, other in others if one is not refused)]
        subject, report = refused, why(snapshot, refused, brief=brief, sharing=sharing)
    if len(every) > _MOST_BESIDE:
        left = Notice(
            "not-followed",
            say(
                "asked about {most_beside} of its {number} other gangs and pods that wait.",
                most_beside=_MOST_BESIDE,
                number=len(every),
            ),
        )
        report = structs.replace(report, warnings=(*report.warnings, left))
    if not job.owners or not isinstance(subject, PodSubject):
        return report
    cause = report.cause
    alike = sum(1 for _, other in others if other.verdict == report.verdict and _code(other) == _code(report))
    if cause is not None and alike:
        cause = structs.replace(
            cause,
            message=say("{message}; {pods} alike.", message=cause.message.rstrip(STOP), pods=count(alike, "more pod")),
        )
    pending = tuple(dict.fromkeys((*report.pending_pods, *(key for _, other in others for key in other.pending_pods))))
    bound = sum(1 for pod in job.pods if pod.node)
    return structs.replace(
        report, gang=job.key, lone_pod=False, cause=cause, pending_pods=pending, bound_pods=bound, min_member=0
    )


def _beside(snapshot: Snapshot, job: Job, subject: Subject) -> Iterator[Subject]:
    """Yield the other gangs and lone pods of the job that wait, those without gates where any has none."""
    keys = {pod.key for pod in job.pods} - {pod.key for pod in subject.pending}
    pending = [pod for pod in snapshot.pending if pod.key in keys]
    every = all_gangs(snapshot)
    seen = {*subject.gangs} if isinstance(subject, GangSubject) else set()
    for pod in sorted(pending, key=lambda one: bool(one.gates)):
        if pod.gang not in every or pod.gang not in seen:
            seen.add(pod.gang)
            yield _subject(every, pod)


def is_for_scheduler(subject: Subject, name: str) -> bool:
    """Tell whether it is the scheduler alone that a gang or pod waits for, by the name that was given for it.

    Not where an owner was named, no pod is pending, or all that are have scheduling gates.
    """
    named = {subject.key, *(pod.key for pod in subject.members)}
    bare = name.rpartition("/")[2]
    kind = name.partition("/")[0].partition(".")[0].lower() if "/" in name else ""
    if bare not in {key.partition("/")[2] for key in named} or is_owner_kind(kind):
        return False
    return any(not pod.gates for pod in subject.pending)


def subject_of(snapshot: Snapshot) -> Subject | None:
    """Return what the scheduler sees of the job that was read: the gang of a pod of it, one that is pending first."""
    jobs = snapshot.jobs
    keys = {pod.key for pod in jobs.pods} if jobs is not None else set()
    every = all_gangs(snapshot)
    on_nodes = chain.from_iterable(snapshot.running.values())
    waiting = sorted(snapshot.pending, key=lambda pod: bool(pod.gates))
    every_pod: Iterator[PendingPod | RunningPod | FinishedPod] = chain(waiting, on_nodes, snapshot.finished)
    for pod in every_pod:
        if pod.key in keys:
            return _subject(every, pod)
    return None


def is_running(snapshot: Snapshot, subject: Subject | None) -> bool:
    """Tell whether no layer holds a job any more: it has pods, all of them have started, and are ready."""
    jobs = snapshot.jobs
    if jobs is None or subject is None or subject.pending:
        return False
    job = job_of(jobs, subject)
    return running.are_ready(job) and all(isinstance(layer.ask(job, snapshot), Passed) for layer in layers.AFTER)


def _rows(asked: Sequence[_Asked]) -> Iterator[LayerRow]:
    """Yield the layers up to the first that holds the job."""
    for one in asked:
        yield _row(one)
        if isinstance(one.answer, Held):
            return


def _row(one: _Asked) -> LayerRow:
    match one.answer:
        case Passed(message, seen, since):
            return LayerRow(one.name, "passed", message, seen, since)
        case Held() as held:
            return LayerRow(one.name, "held", held.message, held.object, held.since)
        case Unknown(message, seen):
            return LayerRow(one.name, "unknown", message, seen)
        case NotHere():
            return LayerRow(one.name, "not-here")
        case _:
            assert_never(one.answer)


def _of_scheduler(report: WhyReport) -> LayerRow:
    since, name = report.waiting_since, layer_of(report)
    if not report.pending_pods and report.verdict == "yes":
        return LayerRow(SCHEDULER, "passed", say("{pods} placed", pods=count(report.bound_pods, "pod")))
    message = report.cause.message if report.cause else ""
    match report.verdict:
        case "yes":
            return LayerRow(SCHEDULER, "passed", message or say("would be placed now"), since=since)
        case "no":
            return LayerRow(name, "held", message, since=since)
        case "unknown":
            return LayerRow(name, "unknown", message, since=since)
        case _:
            assert_never(report.verdict)


def _code(report: WhyReport) -> str:
    return report.cause.code if report.cause else ""


def layer_of(report: WhyReport) -> str:
    """Return the name of the layer that a cause is of; slots of nodes are those of domains where pods must gather."""
    code = _code(report)
    return "topology" if code in _OF_SLOTS and report.must_gather else LAYERS.get(code, SCHEDULER)


def _then(snapshot: Snapshot, jobs: Jobs, subject: Subject | None) -> LayerRow:
    """Return what the scheduler would do with the pods, were the job let through to it."""
    pods = jobs.planned or (subject.pending if subject is not None else ())
    if not pods:
        return LayerRow(SCHEDULER, "unknown", jobs.not_planned or say("no pod of it is known yet"))
    free = tuple(structs.replace(pod, gates=()) for pod in pods)
    names = {pod.key for pod in free}
    others = (pod for pod in snapshot.pending if pod.key not in names)
    pending = tuple(sorted((*others, *free), key=lambda pod: (pod.namespace, pod.name)))
    groups = dict(sorted({**snapshot.pod_groups, **jobs.planned_groups}.items()))
    planned = structs.replace(snapshot, pending=pending, pod_groups=groups, jobs=None)
    asked = _subject(all_gangs(planned), free[0])
    report = why(planned, asked, brief=True)
    alone = len(asked.pending) < len(free)
    return LayerRow(SCHEDULER, "then", _would(planned, report, alone=alone))


def _subject(every: Mapping[str, Gang], pod: PendingPod | RunningPod | FinishedPod) -> Subject:
    """Return the gang that a pod belongs to; the pod itself where it belongs to none."""
    return GangSubject(group_of(every, pod.gang)) if pod.gang in every else PodSubject(pod)


def _would(snapshot: Snapshot, report: WhyReport, *, alone: bool) -> str:
    who = say("its first pod ") if alone else ""
    if report.verdict == "yes":
        return say("{who}would be placed{where}", who=who, where=_where(snapshot, report))
    why_not = report.cause.message.rstrip(STOP) if report.cause else say("no reason was found")
    return (
        say("{who}would not start: {why_not}", who=who, why_not=why_not)
        if report.verdict == "no"
        else say("cannot be told: {why_not}", why_not=why_not)
    )


def _where(snapshot: Snapshot, report: WhyReport) -> str:
    """Return in which domain, or on which nodes, pods would be; empty where that is open."""
    nodes = sorted({*(report.placement or {}).values()})
    if not nodes:
        return ""
    tree = cluster_of(snapshot).tree
    if report.must_gather and not isinstance(tree, NoTree):
        domains = {tree.domain_of(name, report.must_gather) for name in nodes}
        names = sorted(tree.domains[index].name for index in domains if index is not None)
        return say(" in {names}", names=few(names))
    return say(" on {nodes}", nodes=few(nodes))


def _held(
    snapshot: Snapshot,
    job: Job,
    subject: Subject | None,
    held: Held,
    rows: Sequence[LayerRow],
    report: WhyReport | None = None,
) -> WhyReport:
    cause = Cause(held.code, held.told, held.pods)
    bare = report or _bare(snapshot, job, subject)
    return structs.replace(
        bare,
        verdict="no",
        cause=cause,
        owner_kind=job.kind,
        layers=tuple(rows),
        next_steps=held.steps,
        waiting_since=bare.waiting_since or held.since,
    )


def _open(snapshot: Snapshot, job: Job, before: Sequence[_Asked]) -> WhyReport:
    """Return that a job has no pods, and no layer that was read tells why."""
    unread = [one.answer.message for one in before if isinstance(one.answer, Unknown)]
    told = unread[0] if unread else say("it has no pods, and nothing that was read tells why")
    cause = Cause("not-readable", told) if unread else Cause("owner-waits", told)
    return structs.replace(_bare(snapshot, job, None), verdict="unknown", cause=cause, layers=tuple(_rows(before)))


def _bare(snapshot: Snapshot, job: Job, subject: Subject | None) -> WhyReport:
    """Return a report without anything that the scheduler's decision would add."""
    pending = subject.pending if subject is not None else ()
    waiting, waiting_for = coverage.asked_for(pending or (snapshot.jobs.planned if snapshot.jobs else ()))
    more: dict[str, Any] = {"waiting": waiting, "waiting_for": waiting_for, "shapes": coverage.shapes(pending)}
    return WhyReport(
        verdict="no",
        basis=coverage.basis(snapshot),
        warnings=coverage.general(snapshot),
        gang=job.key,
        gang_group=tuple(subject.gangs) if isinstance(subject, GangSubject) else (),
        pending_pods=tuple(pod.key for pod in pending),
        bound_pods=sum(1 for pod in job.pods if pod.node),
        min_member=job.minimum,
        must_gather=None,
        desired_offer_slot=None,
        domains=(),
        placement=None,
        cause=None,
        also_wrong=(),
        unblock=(),
        scheduler_says=None,
        owner_kind=job.kind,
        lone_pod=isinstance(subject, PodSubject) and not job.owners,
        waiting_since=min((pod.created for pod in pending), default=job.owners[0].created if job.owners else ""),
        **more,
    )
