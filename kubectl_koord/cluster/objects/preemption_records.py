"""Events and traces of preemption, decoded."""

from sys import intern

from kubectl_koord.cluster.objects import decode, wire
from kubectl_koord.model.pods import Condition
from kubectl_koord.model.traces import Event, PodTrace

REASONS = ("Preempted", "FailedScheduling")
"""The events that we read; a cluster has many others."""

_QUOTA_LABEL = "quota.scheduling.koordinator.sh/name"


def event(written: wire.Event) -> Event | None:
    """Return the event if it is one of those that we read and about a pod, else None.

    The newest time counts: that of the series, else the event's own; `v1` spells it otherwise.
    """
    about = written.regarding or written.involved_object
    if about is None or about.kind != "Pod" or written.reason not in REASONS:
        return None
    first = (
        written.event_time
        or written.first_timestamp
        or written.deprecated_first_timestamp
        or written.metadata.creation_timestamp
    )
    last = (
        (written.series.last_observed_time if written.series else None)
        or written.last_timestamp
        or written.deprecated_last_timestamp
        or first
    )
    other = written.related
    is_pod = other is not None and other.kind == "Pod" and other.name
    return Event(
        namespace=intern(about.namespace or decode.namespace(written.metadata)),
        name=about.name,
        reason=written.reason,
        note=written.note or written.message or "",
        uid=about.uid,
        related=f"{other.namespace or 'default'}/{other.name}" if other is not None and is_pod else "",
        first_seen=first or "",
        last_seen=last or "",
    )


def trace(written: wire.Pod) -> PodTrace:
    """Return what the pod tells of a preemption."""
    meta = written.metadata
    return PodTrace(
        namespace=decode.namespace(meta),
        name=meta.name,
        uid=meta.uid or "",
        node=intern(written.spec.node_name or ""),
        priority=written.spec.priority or 0,
        gang=decode.gang_of(written)[0],
        owner=decode.owner(meta),
        quota=(meta.labels or {}).get(_QUOTA_LABEL) or "",
        phase=written.status.phase or "",
        terminating=meta.deletion_timestamp is not None,
        preempted=_preempted(written.status.conditions),
        created=meta.creation_timestamp or "",
    )


def _preempted(conditions: list[wire.PodCondition] | None) -> Condition | None:
    found = next((one for one in conditions or () if decode.tells_preemption(one)), None)
    return Condition(found.reason or "", found.message or "", found.last_transition_time or "") if found else None
