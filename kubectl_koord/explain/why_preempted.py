"""Which job preempted a pod, or pods of a gang: read from the condition and the event that a preemption leaves."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from kubectl_koord.diagnosis import coverage
from kubectl_koord.engine import gangs
from kubectl_koord.engine.gangs import Gang
from kubectl_koord.explain.preempt import TracedVictim, VictimName, victims
from kubectl_koord.language import say
from kubectl_koord.messages.conditions import event_note, is_pod_preemption, job_preemption
from kubectl_koord.model.pods import Event, PodTrace
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.reports.common import OF_GAP, Notice, Verdict
from kubectl_koord.reports.jobs import Evidence, Fate, PreemptedPod, Preemptor, VictimState, WhyPreemptedReport
from kubectl_koord.wording.words import could_not_be_read, listed


def nothing_shows_it(*, is_pod: bool) -> str:
    """Return that nothing tells of a preemption of a pod, or of the pods of a gang."""
    whose = "" if is_pod else say(" of its pods")
    return say("no condition or event{whose} shows it (events are kept for about 1 hour).", whose=whose)


class _Index(Struct, frozen=True):
    """The snapshot with its gangs, and its traces by name, by UID and by gang."""

    snapshot: Snapshot
    gangs: Mapping[str, Gang]
    by_name: Mapping[str, PodTrace]
    by_uid: Mapping[str, PodTrace]
    by_gang: Mapping[str, list[PodTrace]]


def _indexed(snapshot: Snapshot) -> _Index:
    by_gang: dict[str, list[PodTrace]] = defaultdict(list)
    for trace in snapshot.traces:
        by_gang[trace.gang].append(trace)
    return _Index(
        snapshot=snapshot,
        gangs=gangs.all_gangs(snapshot),
        by_name={trace.key: trace for trace in snapshot.traces},
        by_uid={trace.uid: trace for trace in snapshot.traces if trace.uid},
        by_gang=by_gang,
    )


def why_preempted(snapshot: Snapshot, asked: VictimName) -> WhyPreemptedReport:
    """Return which job preempted the pod, or the members of the gang.

    The verdict is yes where at least one victim's preemptor is known, no where nothing tells of a
    preemption, unknown where something does without naming the preemptor, or where pods or events went unread.
    """
    index = _indexed(snapshot)
    pods = tuple(_preempted_pod(index, victim) for victim in victims(snapshot, index.gangs, asked))
    known = dict.fromkeys(pod.preemptor for pod in pods if pod.preemptor is not None)
    unread = coverage.unread(snapshot, "preempted", asked.namespace)
    verdict: Verdict = "yes" if known else ("unknown" if pods or unread else "no")
    return WhyPreemptedReport(
        verdict=verdict,
        basis=coverage.basis(snapshot),
        warnings=tuple(_warnings(snapshot, pods)),
        asked=asked.key,
        is_pod=asked.kind == "pod",
        pods=pods,
        preemptors=tuple(_preemptor(index, name, pods) for name in known),
        message=_message(asked, unread) if not pods else "",
    )


def other_namespaces(report: WhyPreemptedReport) -> tuple[str, ...]:
    """Return the namespaces of all preemptors: what became of them stands there."""
    names = (name for pod in report.pods for name in (*(pod.preemptor or "").split(","), pod.trigger_pod or ""))
    return tuple(sorted({name.partition("/")[0] for name in names if "/" in name}))


def _warnings(snapshot: Snapshot, pods: tuple[PreemptedPod, ...]) -> Iterator[Notice]:
    for gap in snapshot.gaps:
        if gap.kind == "Event" and gap.code != "not-in-input":
            yield Notice(OF_GAP[gap.code], say("Event: {message}", message=gap.message))
    yield from (one for one in coverage.general(snapshot) if one.code != "assumed-config")
    yield from coverage.absent(snapshot, ("Pod", "Event"))
    by_name = [pod.pod for pod in pods if pod.member_by_name]
    if by_name:
        yield Notice(
            "member-by-name",
            say("membership of deleted pods is inferred from their names: {by_name}.", by_name=listed(by_name)),
        )


def _message(asked: VictimName, unread: tuple[Gap, ...]) -> str:
    if unread:
        return could_not_be_read(unread)
    return nothing_shows_it(is_pod=asked.kind == "pod")


# --- the pods -----------------------------------------------------------------------------------


class _Attribution(Struct, frozen=True):
    """What condition and event tell of the preemptor."""

    plugin: str | None = None
    preemptor: str | None = None
    trigger: str | None = None


def _preempted_pod(index: _Index, victim: TracedVictim) -> PreemptedPod:
    trace, event = victim.trace, victim.event
    condition = trace.preempted if trace is not None else None
    note = event_note(event.note) if event is not None else None
    found = _attributed(index, victim)
    trigger = index.by_name.get(found.trigger or "")
    preemptor = _preemptor(index, found.preemptor, ()) if found.preemptor else None
    return PreemptedPod(
        pod=victim.key,
        node=(trace.node if trace is not None else "") or (note.node if note else ""),
        priority=trace.priority if trace is not None else None,
        gang=(trace.gang or None) if trace is not None else None,
        when=condition.since if condition is not None else (event.first_seen if event is not None else ""),
        plugin=found.plugin,
        preemptor=found.preemptor,
        trigger_pod=found.trigger,
        preemptor_priority=trigger.priority if trigger else (preemptor.priority if preemptor else None),
        preemptor_state=preemptor.state if preemptor else "unknown",
        evidence=tuple(_evidence(victim)),
        state=_state(trace),
        member_by_name=victim.is_by_name,
    )


def _evidence(victim: TracedVictim) -> Iterator[Evidence]:
    if victim.trace is not None and victim.trace.preempted is not None:
        yield Evidence("condition", victim.trace.preempted.message)
    if victim.event is not None:
        yield Evidence("event", victim.event.note)


def _state(trace: PodTrace | None) -> VictimState:
    if trace is None:
        return "gone"
    if trace.phase in {"Succeeded", "Failed"}:
        return "finished"
    if trace.terminating:
        return "terminating"
    return "running" if trace.node else "pending"


def _attributed(index: _Index, victim: TracedVictim) -> _Attribution:
    """Return what preempted a pod: the condition names gang and trigger pod, an event the pod alone."""
    trigger = _trigger(index, victim.event) if victim.event is not None else None
    condition = victim.trace.preempted if victim.trace is not None else None
    by_job = job_preemption(condition.message) if condition is not None else None
    if by_job is not None:
        return _Attribution("job-preemption", by_job.preemptor, by_job.trigger)
    is_upstream = condition is not None and is_pod_preemption(condition.message)
    plugin = _upstream_plugin(index, victim, trigger) if is_upstream else None
    found = index.by_name.get(trigger or "")
    unit = found.gang if found is not None and found.gang and not is_upstream else trigger
    return _Attribution(plugin, unit, trigger)


def _upstream_plugin(index: _Index, victim: TracedVictim, trigger: str | None) -> str:
    """Return `elastic-quota` for pods of one quota where DefaultPreemption is off, else `other`.

    The words are those of ElasticQuota, Reservation and DefaultPreemption alike; the Helm chart switches
    the last one off where job preemption is on, and the profile may tell that it runs.
    """
    preemptor = index.by_name.get(trigger or "")
    quota = victim.trace.quota if victim.trace is not None else ""
    same = preemptor is not None and quota != "" and preemptor.quota == quota
    config = index.snapshot.config
    is_alone = config.plugins.preempts_in_quotas and not config.plugins.default_preemption
    return "elastic-quota" if same and config.preemption and is_alone else "other"


def _trigger(index: _Index, event: Event) -> str | None:
    """Return the pod that the event blames, None where only the UID of one that was not read is there."""
    if event.related:
        return event.related
    note = event_note(event.note)
    if note is None:
        return None
    if "/" in note.preemptor:
        return note.preemptor
    found = index.by_uid.get(note.preemptor)
    return found.key if found is not None else None


# --- the preemptors -----------------------------------------------------------------------------


def _preemptor(index: _Index, name: str, pods: Iterable[PreemptedPod]) -> Preemptor:
    """Return what became of a preemptor: a pod, a gang, or a gang group (ids joined with commas)."""
    pod = index.by_name.get(name)
    members = [index.gangs[key] for key in name.split(",") if key in index.gangs]
    killed = sum(1 for victim in pods if victim.preemptor == name)
    if members:
        of_gangs = [trace for gang in members for trace in index.by_gang.get(gang.key, ())]
        return Preemptor(
            name=name,
            state=_placed(index.snapshot, members, of_gangs) if len(members) == len(name.split(",")) else "gone",
            priority=max((trace.priority for trace in of_gangs), default=None),
            bound=sum(gang.bound for gang in members),
            pending=sum(len(gang.pending) for gang in members),
            min_member=sum(gang.minimum or 0 for gang in members) if all(gang.minimum for gang in members) else None,
            killed=killed,
        )
    if pod is not None:
        state: Fate = "placed" if pod.node else "pending"
        return Preemptor(name, state, pod.priority, int(bool(pod.node)), int(not pod.node), None, killed)
    unread = coverage.unread(index.snapshot, "pod", *(one.partition("/")[0] for one in name.split(",")))
    return Preemptor(name, "unknown" if unread else "gone", None, 0, 0, None, killed)


def _placed(snapshot: Snapshot, members: list[Gang], pods: list[PodTrace]) -> Fate:
    """Return `placed` where every gang has its minimum on nodes, `partly-placed`, `pending` or `gone`.

    Without the PodGroup it is unknown whether those on nodes are enough.
    """
    if not pods:
        return "gone"
    if all(gang.bound >= (gang.minimum or gang.children) for gang in members):
        hidden = [gang for gang in members if not gang.minimum]
        return "unknown" if any(not snapshot.sees("PodGroup", _namespace(gang)) for gang in hidden) else "placed"
    return "partly-placed" if any(gang.bound for gang in members) else "pending"


def _namespace(gang: Gang) -> str:
    return gang.key.partition("/")[0]
