"""What conditions and events say: which refusal each text stands for, and who preempted whom."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine import reasons
from kubectl_koord.engine.reasons import Reason
from kubectl_koord.messages.parser import ParsedMessage, phrase, read
from kubectl_koord.model.pods import Event, PendingPod

# What a pod that waited in Permit may get; it never names what another member lacked.
_AFTER_PERMIT = {
    "gang-gone",
    "group-attempted",
    "permit-timeout",
    "plan-invalid",
    "preempted",
    "preempt-success",
    "preempts-never",
    "victims-terminate",
}
# What becomes of the pods behind one that did not fit on its planned node.
_UNPLANNED = phrase('running PreFilter plugin "Coscheduling": no planned pods')


class Reported(Struct, frozen=True):
    """One text about one pod (`ns/name`), the time that goes with it, and what it says."""

    pod: str
    message: str
    since: str
    parsed: ParsedMessage


def conditions(pending: Sequence[PendingPod]) -> list[Reported]:
    """Return what the conditions of pods say."""
    said = [(pod.key, pod.condition) for pod in pending if pod.condition and pod.condition.message]
    parsed = {message: read(message) for message in {condition.message for _, condition in said}}
    return [Reported(key, one.message, one.since, parsed[one.message]) for key, one in said]


def failed_attempts(pending: Sequence[PendingPod], events: Iterable[Event]) -> list[Event]:
    """Return the events of failed attempts of these pods, none of earlier pods of the same names."""
    created = {pod.key: instant(pod.created) for pod in pending}
    return [
        event
        for event in events
        if event.reason == "FailedScheduling"
        and event.key in created
        and instant(event.last_seen) >= created[event.key]
    ]


def of_events(events: Iterable[Event]) -> list[Reported]:
    """Return what events say."""
    return [Reported(event.key, event.note, event.first_seen, read(event.note)) for event in events]


def instant(written: str) -> str:
    """Return an RFC 3339 time so that texts compare as times do, with fractions of a second or without."""
    return written.removesuffix("Z")


def root_of(reported: Sequence[Reported]) -> Reported:
    """Return the text with the root cause; of several the newest.

    Best a pod's own failure, then what quotes another's, then what a pod got that had waited in Permit:
    those texts say how the round ended (the preemption that followed, for one), not why.
    """
    of_preemption = {fragment.words for one in reported for fragment in one.parsed.preemption}
    return max(reported, key=lambda one: (_weight(one.parsed, of_preemption), instant(one.since)))


def _weight(parsed: ParsedMessage, of_preemption: Container[ParsedMessage]) -> int:
    """Return how near a text is to the root cause; `of_preemption` is what any text says behind `preemption:`."""
    code = parsed.phrase.code if parsed.phrase else ""
    if parsed.is_quote or code == "before-1.7-rejected" or parsed.phrase == _UNPLANNED:
        return 2
    if code == "member-unreserved":
        return 0
    # 1.7 writes on those that waited the bare text of the failed preemption, which has the shape of a failure.
    is_of_preemption = parsed in of_preemption or parsed.is_failed_preemption
    return 1 if parsed.permit or is_of_preemption or code in _AFTER_PERMIT else 3


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


Refusal: TypeAlias = tuple[str, str]
"""What a text stands for: the class of a reason, and what of it (a resource, a type of devices; empty for all)."""

LEFT_OUT: Refusal = ("left-out", "")
"""The node is not the one that the pod is planned for, or not one of those that its reservation or name asks for."""
OF_RESERVATION: Refusal = ("of-reservation", "")
"""What counts reservations, and not nodes."""

_NAME = r"(?P<about>\S+)"
# One row for each text: kube-scheduler's plugins, then Reservation, LoadAwareScheduling, NodeNUMAResource, DeviceShare.
_TEXTS = (
    (reasons.Cordoned, r"node\(s\) were unschedulable"),
    (reasons.Untolerated, r"node\(s\) had untolerated taint(?:\(s\)| \{.*\})"),
    (reasons.NotSelected, r"node\(s\) didn't match Pod's node affinity/selector"),
    (reasons.NotSelected, r"node\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]"),
    (reasons.SidecarsUnknown, r"Pod has a restartable init container and the SidecarContainers feature is disabled"),
    (reasons.PortTaken, r"node\(s\) didn't have free ports for the requested pod ports"),
    (reasons.TooManyPods, r"Too many pods"),
    (
        reasons.ClaimInUse,
        (
            r"node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
            r"|node\(s\) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by"
            r" another pod"
        ),
    ),
    (
        reasons.VolumeElsewhere,
        (
            r"node\(s\) had volume node affinity conflict|node\(s\) didn't match PersistentVolume's node affinity"
            r"|node\(s\) had no available volume zone"
        ),
    ),
    (reasons.NoVolumeToBind, r"node\(s\) didn't find available persistent volumes to bind"),
    (reasons.NotEnoughStorage, r"node\(s\) did not have enough free storage"),
    (reasons.TooManyVolumes, r"node\(s\) exceed max volume count"),
    (reasons.NotEnoughDevices, r"cannot allocate all claims"),
    (reasons.ClaimElsewhere, r"resourceclaim not available on the node"),
    (reasons.SpreadTooSkewed, r"node\(s\) didn't match pod topology spread constraints"),
    (reasons.SpreadLabelMissing, r"node\(s\) didn't match pod topology spread constraints \(missing required label\)"),
    (reasons.PodAffinityUnmet, r"node\(s\) didn't match pod affinity rules"),
    (reasons.AntiAffinityViolated, r"node\(s\) didn't match pod anti-affinity rules"),
    (reasons.ExistingAntiAffinityViolated, r"node\(s\) didn't satisfy existing pods anti-affinity rules"),
    (reasons.NotReserved, r"node\(s\) no reservations match reservation affinity"),
    (reasons.OtherPolicy, r"node\(s\) reservation allocate policy conflict"),
    (
        reasons.BeyondReservation,
        rf"Insufficient {_NAME} by node|Too many pods by node|node\(s\) no reservation\(s\) to meet the requirements",
    ),
    (reasons.Overloaded, rf"node\(s\) {_NAME} (?:aggregated )?usage exceed threshold"),
    (reasons.MetricExpired, r"node\(s\) nodeMetric expired"),
    (reasons.NUMAPolicyMismatch, r"node\(s\) NUMA Topology policy not match"),
    (reasons.FractionalCPUs, r"the requested CPUs must be integer"),
    (reasons.InvalidAmplification, r"node\(s\) invalid CPU amplification ratio"),
    (reasons.InsufficientAmplifiedCPU, r"Insufficient amplified cpu"),
    (reasons.NoCPUTopology, r"node\(s\) invalid CPU Topology|node\(s\) Insufficient NUMA Node resources"),
    (reasons.BindPolicyConflict, r"node\(s\) cpu bind policy conflicts with pod's required cpu bind policy"),
    (reasons.PartialCores, r"node\(s\) requested cpus not multiple cpus per core"),
    (reasons.NotEnoughCPUs, r"not enough cpus available to satisfy request"),
    (reasons.NoZones, r"node\(s\) missing NUMA resources"),
    (reasons.UnsatisfiedZones, rf"Unsatisfied NUMA {_NAME}"),
    (reasons.UnalignedZones, r"Unaligned NUMA Hint cause .*"),
    (reasons.InsufficientInZones, rf"Insufficient NUMA {_NAME}"),
    (reasons.DevicesMissing, r"Insufficient (?P<about>\S+) VirtualFunctions"),
    (reasons.DevicesShort, r"Insufficient (?P<about>\S+) [dD]evices"),
    (reasons.DevicesShort, r"Insufficient Topology Scoped GPU Devices"),
    (reasons.NoPartition, r"Insufficient Partitioned GPU Devices|node\(s\) missing GPU Partition Table"),
    (reasons.NoPartition, r"node\(s\) Unsupported number of GPU requests"),
    (
        reasons.ScopeUnsupported,
        r"node\(s\) missing GPU Device Topology Tree|node\(s\) Unsupported Multi-Shared GPU",
    ),
    (
        reasons.DevicesApart,
        r"node\(s\) Device Joint-Allocate rules violation|node\(s\) Insufficient primary device",
    ),
    (reasons.SharingUnsupported, r'model ".*" of vendor ".*" does not support GPU Share'),
    (reasons.DevicesOutsideZones, r"Insufficient NUMA Scoped Devices"),
    (reasons.Insufficient, rf"Insufficient {_NAME}"),
)
_COMPILED = tuple((of.__name__, re.compile(pattern)) for of, pattern in _TEXTS)
_COUNTS_RESERVATIONS = "Reservation(s) "
_LEFT_OUT = re.compile(r"node\(s\) didn't satisfy plugin\(s\) \[(?:|Coscheduling|Reservation)\]")


def of_text(text: str) -> Refusal | None:
    """Return what a text in a status stands for, None for one that is not known."""
    if text.startswith(_COUNTS_RESERVATIONS):
        return OF_RESERVATION
    if _LEFT_OUT.fullmatch(text):
        return LEFT_OUT
    for kind, pattern in _COMPILED:
        match = pattern.fullmatch(text)
        if match:
            return kind, (match.groupdict().get("about") or "").lower()
    return None


def of_reason(reason: Reason) -> tuple[Refusal, ...]:
    """Return what the texts stand for that the scheduler writes where a node refuses for this reason."""
    kind = type(reason).__name__
    match reason:
        case reasons.Insufficient(pods_too=True):
            return (*_each(kind, reason), (reasons.TooManyPods.__name__, ""))
        case reasons.DevicesMissing(type=name, functions=False):
            return ((reasons.DevicesShort.__name__, name),)
        case _:
            return tuple(_each(kind, reason))


def _each(kind: str, reason: Reason) -> Iterator[Refusal]:
    match reason:
        case reasons.Insufficient(short=short) | reasons.BeyondReservation(of_node=short):
            yield from ((kind, resource) for resource, _, _ in short)
        case reasons.InsufficientInZones(short=short):
            yield from ((kind, resource) for resource, _, _ in short)
        case reasons.UnsatisfiedZones(resources=resources):
            yield from ((kind, resource) for resource in resources)
        case reasons.Overloaded(resource=name) | reasons.DevicesMissing(type=name):
            yield kind, name
        case reasons.DevicesShort(type=name, scope=""):
            yield kind, name
        case _:
            yield kind, ""


def counted(refused: Iterable[reasons.Refused]) -> Mapping[Refusal, int]:
    """Return how many nodes refuse for what, as a message counts it: a node counts once for each of its texts."""
    found: Counter[Refusal] = Counter()
    for one in refused:
        found.update(dict.fromkeys(of_reason(one.reason), one.nodes))
    return found


def said(counts: Iterable[tuple[int, str]]) -> Mapping[Refusal, int] | None:
    """Return what a message counts, without what it says of reservations; None where a text is not known."""
    found: Counter[Refusal] = Counter()
    for number, text in counts:
        refusal = of_text(text)
        if refusal is None:
            return None
        if refusal != OF_RESERVATION:
            found[refusal] += number
    return found
