"""Events of scheduling and preemption, and of pods that could not be made."""

import re
from sys import intern

from msgspec import Struct

from kubectl_koord.cluster.objects.fields.meta import Meta, namespace
from kubectl_koord.model import traces

REASONS = ("Preempted", "FailedScheduling")
"""The events of pods that are read; a cluster has many others."""
OF_CONTROLLERS = "regarding.kind!=Pod,type=Warning"
"""The field selector of those about other objects, what controllers could not do among them."""
_NOT_MADE = re.compile("Failed(To)?Create.*")
"""What controllers say of pods that they could not make: FailedCreate, FailedCreatePod, FailedToCreateWorkerPod."""


class Reference(Struct, gc=False):
    """The object that an event is about, or that had to do with it."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class EventSeries(Struct, gc=False, rename="camel"):
    """series of an Event."""

    last_observed_time: str | None = None


class Event(Struct, gc=False, rename="camel"):
    """One Event, of `v1` (message, involvedObject) or of `events.k8s.io/v1` (note, regarding)."""

    metadata: Meta
    reason: str | None = None
    note: str | None = None
    message: str | None = None
    regarding: Reference | None = None
    involved_object: Reference | None = None
    related: Reference | None = None
    series: EventSeries | None = None
    event_time: str | None = None
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    deprecated_first_timestamp: str | None = None
    deprecated_last_timestamp: str | None = None


def is_read(kind: str, reason: str) -> bool:
    """Tell whether events of this reason about objects of a kind are read."""
    return reason in REASONS if kind == "Pod" else bool(_NOT_MADE.fullmatch(reason))


def event(written: Event) -> traces.Event | None:
    """Return the event if it is one of those that are read, about a pod or what could not make one, else None.

    The newest time counts: that of the series, else the event's own; `v1` spells it otherwise.
    """
    regarding = written.regarding or written.involved_object
    if regarding is None or not written.reason or not is_read(regarding.kind, written.reason):
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
    related = written.related
    is_pod = related is not None and related.kind == "Pod" and related.name
    return traces.Event(
        namespace=intern(regarding.namespace or namespace(written.metadata)),
        name=regarding.name,
        reason=written.reason,
        note=written.note or written.message or "",
        uid=regarding.uid,
        related=f"{related.namespace or 'default'}/{related.name}" if related is not None and is_pod else "",
        first_seen=first or "",
        last_seen=last or "",
        kind=intern(regarding.kind),
    )
