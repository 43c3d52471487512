"""Who killed a pod, or pods of a gang: read from the condition and the event that a preemption leaves behind."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.engine import gangs
from kubectl_koord.engine.gangs import Gang
from kubectl_koord.engine.subjects import GangSubject, Subject
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.traces import Event, PodTrace
from kubectl_koord.reports.codes import OF_GAP
from kubectl_koord.reports.common import Notice, Verdict
from kubectl_koord.reports.preempted import Evidence, Fate, PreemptedPod, Preemptor, VictimState, WhyPreemptedReport
from kubectl_koord.simulation import subjects
from kubectl_koord.simulation.subjects import Unknown
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.suggestions import near
from kubectl_koord.wording.words import listed

PREEMPTED = "Preempted"
_POD_KINDS = {"pod", "pods", "po"}
# coscheduling/core/preemption.go; releases before 1.7 spelled `triggerpod`.
_BY_JOB = re.compile(r".*: preempting to accommodate .*, preemptor: (.+), trigger[Pp]od: (\S+)", re.DOTALL)
_BY_POD = re.compile(r".*: preempting to accommodate .*", re.DOTALL)  # kube-scheduler's framework/preemption
_NOTE = re.compile(r"Preempted by (?:pod )?(\S+) on node (\S*)")


class Asked(Struct, frozen=True):
    """Whom the question is about: `pod`, `gang` or `owner` (`ns/Kind/name`)."""

    kind: str
    key: str

    @property
    def namespace(self) -> str:
        """The namespace of the victims."""
        return self.key.partition("/")[0]


class _Victim(Struct, frozen=True):
    """One pod that may have been preempted: what is left of it, and its event."""

    trace: PodTrace | None
    event: Event | None
    by_name: bool = False

    @property
    def key(self) -> str:
        found = self.trace or self.event
        return found.key if found is not None else ""


class _Seen(Struct, frozen=True):
    """The snapshot with its gangs, and its traces by name, by UID and by gang."""

    snapshot: Snapshot
    gangs: Mapping[str, Gang]
    by_name: Mapping[str, PodTrace]
    by_uid: Mapping[str, PodTrace]
    by_gang: Mapping[str, list[PodTrace]]


def _seen(snapshot: Snapshot) -> _Seen:
    by_gang: dict[str, list[PodTrace]] = defaultdict(list)
    for trace in snapshot.traces:
        by_gang[trace.gang].append(trace)
    return _Seen(
        snapshot=snapshot,
        gangs=gangs.all_gangs(snapshot),
        by_name={trace.key: trace for trace in snapshot.traces},
        by_uid={trace.uid: trace for trace in snapshot.traces if trace.uid},
        by_gang=by_gang,
    )


def whom(snapshot: Snapshot, name: str, namespace: str) -> Asked | Unknown:
    """Return whom a name means, pods included that only events remember: `x`, `ns/x`, `kind/x`, `kind/ns/x`."""
    first, slash, second = name.partition("/")
    if slash and first.lower() in _POD_KINDS:
        meant = second if "/" in second else f"{namespace}/{second}"
        return _pod(snapshot, meant) or _unknown(snapshot, name, namespace)
    key = name if slash else f"{namespace}/{name}"
    if key in gangs.all_gangs(snapshot):
        return Asked("gang", key)
    known = _pod(snapshot, key)
    if known is not None:
        return known
    found = subjects.find(snapshot, name, namespace)
    if isinstance(found, Subject):
        return _of_subject(snapshot, found)
    home, _, short = key.partition("/")
    remembered = any(event.namespace == home and event.name.startswith(f"{short}-") for event in _events(snapshot))
    return Asked("gang", key) if remembered and short else _unknown(snapshot, name, namespace)


def whom_anywhere(snapshot: Snapshot, name: str) -> Asked | None:
    """Return whom a plain name means in any namespace, None where that is nobody or more than one."""
    homes = {trace.namespace for trace in snapshot.traces} | {event.namespace for event in _events(snapshot)}
    found = [one for home in sorted(homes) if isinstance(one := whom(snapshot, name, home), Asked)]
    return found[0] if len({one.key for one in found}) == 1 else None


def _pod(snapshot: Snapshot, key: str) -> Asked | None:
    known = any(trace.key == key for trace in snapshot.traces) or any(event.key == key for event in _events(snapshot))
    return Asked("pod", key) if known else None


def _of_subject(snapshot: Snapshot, found: Subject) -> Asked:
    if isinstance(found, GangSubject):
        return Asked("gang", found.key)
    owner = next((trace.owner for trace in snapshot.traces if trace.key == found.key), "")
    return Asked("owner", f"{found.key.partition('/')[0]}/{owner}")


def _unknown(snapshot: Snapshot, name: str, namespace: str) -> Unknown:
    known = dict.fromkeys([*gangs.all_gangs(snapshot), *(trace.key for trace in snapshot.traces)])
    return Unknown(name, near(subjects.wanted(name, namespace, known), known))


def why_preempted(snapshot: Snapshot, asked: Asked) -> WhyPreemptedReport:
    """Return who preempted the pod, or the members of the gang.

    The verdict is yes where at least one victim's preemptor is known, no where nothing tells of a
    preemption, unknown where something does but not by whom, or where pods or events went unread.
    """
    seen = _seen(snapshot)
    pods = tuple(_told(seen, victim) for victim in _victims(snapshot, seen.gangs, asked))
    known = dict.fromkeys(pod.preemptor for pod in pods if pod.preemptor is not None)
    unread = visibility.unread(snapshot, "preempted", asked.namespace)
    verdict: Verdict = "yes" if known else ("unknown" if pods or unread else "no")
    return WhyPreemptedReport(
        verdict=verdict,
        basis=coverage.basis(snapshot),
        warnings=tuple(_warnings(snapshot, pods)),
        asked=asked.key,
        is_pod=asked.kind == "pod",
        pods=pods,
        preemptors=tuple(_preemptor(seen, name, pods) for name in known),
        message=_message(asked, unread) if not pods else "",
    )


def other_namespaces(report: WhyPreemptedReport) -> tuple[str, ...]:
    """Return the namespaces of all preemptors: what became of them stands there."""
    names = (name for pod in report.pods for name in (*(pod.preemptor or "").split(","), pod.trigger_pod or ""))
    return tuple(sorted({name.partition("/")[0] for name in names if "/" in name}))


def _events(snapshot: Snapshot) -> Iterator[Event]:
    return (event for event in snapshot.events if event.reason == PREEMPTED)


def _warnings(snapshot: Snapshot, pods: tuple[PreemptedPod, ...]) -> Iterator[Notice]:
    for gap in snapshot.gaps:
        if gap.kind == "Event" and gap.code != "not-in-input":
            yield Notice(OF_GAP[gap.code], f"Event: {gap.message}")
    yield from (one for one in coverage.general(snapshot) if one.code != "assumed-config")
    yield from coverage.absent(snapshot, ("Pod", "Event"))
    by_name = [pod.pod for pod in pods if pod.member_by_name]
    if by_name:
        yield Notice("member-by-name", f"membership of deleted pods is inferred from their names: {listed(by_name)}.")


def _message(asked: Asked, unread: tuple[Gap, ...]) -> str:
    if unread:
        return could_not_be_read(unread)
    if asked.kind == "pod":
        return "no condition or event shows it (events are kept for about 1 hour)."
    return "no condition or event of its pods shows it (events are kept for about 1 hour)."


# --- the victims --------------------------------------------------------------------------------


def _victims(snapshot: Snapshot, every: Mapping[str, Gang], asked: Asked) -> list[_Victim]:
    """Return the pods asked for that a condition or an event tells of, each incarnation of a name by itself."""
    traces = {trace.key: trace for trace in snapshot.traces if trace.namespace == asked.namespace}
    found: list[_Victim] = []
    told: set[str] = set()
    for event in _events(snapshot):
        trace = traces.get(event.key)
        is_certain = trace is not None and _is_asked(asked, trace)
        if not is_certain and not _is_asked_by_name(asked, event, trace, every):
            continue
        same = trace is not None and _is_of(event, trace)
        if same:
            told.add(event.key)
        found.append(_Victim(trace if same else None, event, by_name=not is_certain and asked.kind != "pod"))
    found += [
        _Victim(trace, None)
        for trace in traces.values()
        if trace.preempted is not None and _is_asked(asked, trace) and trace.key not in told
    ]
    return sorted(found, key=lambda victim: victim.key)


def _is_asked(asked: Asked, trace: PodTrace) -> bool:
    match asked.kind:
        case "pod":
            return trace.key == asked.key
        case "gang":
            return trace.gang == asked.key
        case _:
            return f"{trace.namespace}/{trace.owner}" == asked.key


def _is_asked_by_name(asked: Asked, event: Event, trace: PodTrace | None, every: Mapping[str, Gang]) -> bool:
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


# --- what is told of each -----------------------------------------------------------------------


class _By(Struct, frozen=True):
    """Who did it, as far as condition and event tell."""

    plugin: str | None = None
    preemptor: str | None = None
    trigger: str | None = None


def _told(seen: _Seen, victim: _Victim) -> PreemptedPod:
    trace, event = victim.trace, victim.event
    condition = trace.preempted if trace is not None else None
    note = _NOTE.match(event.note) if event is not None else None
    by = _by(seen, victim)
    trigger = seen.by_name.get(by.trigger or "")
    preemptor = _preemptor(seen, by.preemptor, ()) if by.preemptor else None
    return PreemptedPod(
        pod=victim.key,
        node=(trace.node if trace is not None else "") or (note[2] if note else ""),
        priority=trace.priority if trace is not None else None,
        gang=(trace.gang or None) if trace is not None else None,
        when=condition.since if condition is not None else (event.first_seen if event is not None else ""),
        plugin=by.plugin,
        preemptor=by.preemptor,
        trigger_pod=by.trigger,
        preemptor_priority=trigger.priority if trigger else (preemptor.priority if preemptor else None),
        preemptor_state=preemptor.state if preemptor else "unknown",
        evidence=tuple(_evidence(victim)),
        state=_state(trace),
        member_by_name=victim.by_name,
    )


def _evidence(victim: _Victim) -> Iterator[Evidence]:
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


def _by(seen: _Seen, victim: _Victim) -> _By:
    """Return who did it: the condition names gang and trigger pod, an event the pod alone."""
    trigger = _trigger(seen, victim.event) if victim.event is not None else None
    condition = victim.trace.preempted if victim.trace is not None else None
    by_job = _BY_JOB.fullmatch(condition.message) if condition is not None else None
    if by_job:
        return _By("job-preemption", by_job[1], by_job[2])
    is_upstream = condition is not None and _BY_POD.fullmatch(condition.message)
    plugin = _upstream_plugin(seen, victim, trigger) if is_upstream else None
    found = seen.by_name.get(trigger or "")
    unit = found.gang if found is not None and found.gang and not is_upstream else trigger
    return _By(plugin, unit, trigger)


def _upstream_plugin(seen: _Seen, victim: _Victim, trigger: str | None) -> str:
    """Return `elastic-quota` for pods of one quota where DefaultPreemption is off, else `other`.

    The words are those of ElasticQuota, Reservation and DefaultPreemption alike; the Helm chart switches
    the last one off where job preemption is on.
    """
    preemptor = seen.by_name.get(trigger or "")
    quota = victim.trace.quota if victim.trace is not None else ""
    same = preemptor is not None and quota != "" and preemptor.quota == quota
    return "elastic-quota" if same and seen.snapshot.config.preemption else "other"


def _trigger(seen: _Seen, event: Event) -> str | None:
    """Return the pod that the event blames, None where only the UID of one that is not seen is told."""
    if event.related:
        return event.related
    match = _NOTE.match(event.note)
    if match is None:
        return None
    if "/" in match[1]:
        return match[1]
    found = seen.by_uid.get(match[1])
    return found.key if found is not None else None


# --- the preemptors -----------------------------------------------------------------------------


def _preemptor(seen: _Seen, name: str, pods: Iterable[PreemptedPod]) -> Preemptor:
    """Return what became of a preemptor: a pod, a gang, or a gang group (ids joined with commas)."""
    pod = seen.by_name.get(name)
    members = [seen.gangs[key] for key in name.split(",") if key in seen.gangs]
    killed = sum(1 for victim in pods if victim.preemptor == name)
    if members:
        of_gangs = [trace for gang in members for trace in seen.by_gang.get(gang.key, ())]
        return Preemptor(
            name=name,
            state=_placed(seen.snapshot, members, of_gangs) if len(members) == len(name.split(",")) else "gone",
            priority=max((trace.priority for trace in of_gangs), default=None),
            bound=sum(gang.bound for gang in members),
            pending=sum(len(gang.pending) for gang in members),
            min_member=sum(gang.minimum or 0 for gang in members) if all(gang.minimum for gang in members) else None,
            killed=killed,
        )
    if pod is not None:
        state: Fate = "placed" if pod.node else "pending"
        return Preemptor(name, state, pod.priority, int(bool(pod.node)), int(not pod.node), None, killed)
    unread = visibility.unread(seen.snapshot, "pod", *(one.partition("/")[0] for one in name.split(",")))
    return Preemptor(name, "unknown" if unread else "gone", None, 0, 0, None, killed)


def _placed(snapshot: Snapshot, members: list[Gang], pods: list[PodTrace]) -> Fate:
    """Return `placed` where every gang has its minimum on nodes, `partly-placed`, `pending` or `gone`.

    Without the PodGroup it is unknown whether those on nodes are enough.
    """
    if not pods:
        return "gone"
    if all(gang.bound >= (gang.minimum or gang.children) for gang in members):
        hidden = [gang for gang in members if not gang.minimum]
        return "unknown" if any(not snapshot.sees("PodGroup", _home(gang)) for gang in hidden) else "placed"
    return "partly-placed" if any(gang.bound for gang in members) else "pending"


def _home(gang: Gang) -> str:
    return gang.key.partition("/")[0]
