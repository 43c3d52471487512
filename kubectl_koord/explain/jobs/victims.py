"""The pods whose preemption is asked about: what a name means, and which pods conditions and events tell of."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kubectl_koord.engine import gangs
from kubectl_koord.engine.gangs import Gang
from kubectl_koord.engine.subjects import GangSubject, Subject
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.traces import Event, PodTrace
from kubectl_koord.simulation import subjects
from kubectl_koord.simulation.subjects import Unknown
from kubectl_koord.wording.suggestions import near

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
