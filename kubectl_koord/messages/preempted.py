"""What the scheduler writes about a preempted pod: into the pod's condition, and into an event."""

import re

from msgspec import Struct

# coscheduling/core/preemption.go; releases before 1.7 spelled `triggerpod`.
_BY_JOB = re.compile(r".*: preempting to accommodate .*, preemptor: (.+), trigger[Pp]od: (\S+)", re.DOTALL)
_BY_POD = re.compile(r".*: preempting to accommodate .*", re.DOTALL)  # kube-scheduler's framework/preemption
_NOTE = re.compile(r"Preempted by (?:pod )?(\S+) on node (\S*)")


class JobPreemption(Struct, frozen=True):
    """What job preemption writes: the gang or gang group, and its pod that was tried."""

    preemptor: str
    trigger: str


class EventNote(Struct, frozen=True):
    """What an event says: a pod, by `namespace/name` or by its UID, and the node of the victim."""

    preemptor: str
    node: str


def job_preemption(message: str) -> JobPreemption | None:
    """Return what a condition says of job preemption, None for that of another plugin."""
    match = _BY_JOB.fullmatch(message)
    return JobPreemption(match[1], match[2]) if match else None


def is_pod_preemption(message: str) -> bool:
    """Tell whether a condition is one that kube-scheduler's own preemption writes, whichever plugin runs it."""
    return _BY_POD.fullmatch(message) is not None


def event_note(note: str) -> EventNote | None:
    """Return what the note of an event says, None for one that is not about a preemption."""
    match = _NOTE.match(note)
    return EventNote(match[1], match[2]) if match else None
