"""Why nodes refuse a pod, in the scheduler's words: which of the engine's reasons each text stands for.

A node's status holds one text or several, and a message counts each of them over all nodes. Words of several
releases are here: kube-scheduler 1.28 (Koordinator 1.7) and 1.35, and the plugins of Koordinator.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kubectl_koord.engine.reasons import claims, devices, nodes, numa
from kubectl_koord.engine.reasons.nodes import Reason

Refusal: TypeAlias = tuple[str, str]
"""What a text stands for: the class of a reason, and what of it (a resource, a type of devices; empty for all)."""

LEFT_OUT: Refusal = ("left-out", "")
"""The node is not the one that the pod is planned for, or not one of those that its reservation or name asks for."""
OF_RESERVATION: Refusal = ("of-reservation", "")
"""What counts reservations, and not nodes."""

_NAME = r"(?P<about>\S+)"
# One row for each text: kube-scheduler's plugins, then Reservation, LoadAwareScheduling, NodeNUMAResource, DeviceShare.
_TEXTS = (
    (nodes.Cordoned, r"node\(s\) were unschedulable"),
    (nodes.Untolerated, r"node\(s\) had untolerated taint(?:\(s\)| \{.*\})"),
    (nodes.NotSelected, r"node\(s\) didn't match Pod's node affinity/selector"),
    (nodes.NotSelected, r"node\(s\) didn't satisfy plugin\(s\) \[NodeAffinity\]"),
    (nodes.SidecarsUnknown, r"Pod has a restartable init container and the SidecarContainers feature is disabled"),
    (nodes.PortTaken, r"node\(s\) didn't have free ports for the requested pod ports"),
    (nodes.TooManyPods, r"Too many pods"),
    (
        nodes.ClaimInUse,
        (
            r"node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode"
            r"|node\(s\) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by"
            r" another pod"
        ),
    ),
    (
        nodes.VolumeElsewhere,
        (
            r"node\(s\) had volume node affinity conflict|node\(s\) didn't match PersistentVolume's node affinity"
            r"|node\(s\) had no available volume zone"
        ),
    ),
    (nodes.NoVolumeToBind, r"node\(s\) didn't find available persistent volumes to bind"),
    (nodes.NotEnoughStorage, r"node\(s\) did not have enough free storage"),
    (nodes.TooManyVolumes, r"node\(s\) exceed max volume count"),
    (claims.NotEnoughDevices, r"cannot allocate all claims"),
    (claims.ClaimElsewhere, r"resourceclaim not available on the node"),
    (nodes.SpreadTooSkewed, r"node\(s\) didn't match pod topology spread constraints"),
    (nodes.SpreadLabelMissing, r"node\(s\) didn't match pod topology spread constraints \(missing required label\)"),
    (nodes.PodAffinityUnmet, r"node\(s\) didn't match pod affinity rules"),
    (nodes.AntiAffinityViolated, r"node\(s\) didn't match pod anti-affinity rules"),
    (nodes.ExistingAntiAffinityViolated, r"node\(s\) didn't satisfy existing pods anti-affinity rules"),
    (nodes.NotReserved, r"node\(s\) no reservations match reservation affinity"),
    (nodes.OtherPolicy, r"node\(s\) reservation allocate policy conflict"),
    (
        nodes.BeyondReservation,
        rf"Insufficient {_NAME} by node|Too many pods by node|node\(s\) no reservation\(s\) to meet the requirements",
    ),
    (nodes.Overloaded, rf"node\(s\) {_NAME} (?:aggregated )?usage exceed threshold"),
    (nodes.MetricExpired, r"node\(s\) nodeMetric expired"),
    (numa.NUMAPolicyMismatch, r"node\(s\) NUMA Topology policy not match"),
    (numa.FractionalCPUs, r"the requested CPUs must be integer"),
    (numa.InvalidAmplification, r"node\(s\) invalid CPU amplification ratio"),
    (numa.InsufficientAmplifiedCPU, r"Insufficient amplified cpu"),
    (numa.NoCPUTopology, r"node\(s\) invalid CPU Topology|node\(s\) Insufficient NUMA Node resources"),
    (numa.BindPolicyConflict, r"node\(s\) cpu bind policy conflicts with pod's required cpu bind policy"),
    (numa.PartialCores, r"node\(s\) requested cpus not multiple cpus per core"),
    (numa.NotEnoughCPUs, r"not enough cpus available to satisfy request"),
    (numa.NoZones, r"node\(s\) missing NUMA resources"),
    (numa.UnsatisfiedZones, rf"Unsatisfied NUMA {_NAME}"),
    (numa.UnalignedZones, r"Unaligned NUMA Hint cause .*"),
    (numa.InsufficientInZones, rf"Insufficient NUMA {_NAME}"),
    (devices.DevicesMissing, r"Insufficient (?P<about>\S+) VirtualFunctions"),
    (devices.DevicesShort, r"Insufficient (?P<about>\S+) [dD]evices"),
    (devices.DevicesShort, r"Insufficient Topology Scoped GPU Devices"),
    (devices.NoPartition, r"Insufficient Partitioned GPU Devices|node\(s\) missing GPU Partition Table"),
    (devices.NoPartition, r"node\(s\) Unsupported number of GPU requests"),
    (
        devices.ScopeUnsupported,
        r"node\(s\) missing GPU Device Topology Tree|node\(s\) Unsupported Multi-Shared GPU",
    ),
    (
        devices.DevicesApart,
        r"node\(s\) Device Joint-Allocate rules violation|node\(s\) Insufficient primary device",
    ),
    (devices.SharingUnsupported, r'model ".*" of vendor ".*" does not support GPU Share'),
    (devices.DevicesOutsideZones, r"Insufficient NUMA Scoped Devices"),
    (nodes.Insufficient, rf"Insufficient {_NAME}"),
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
        case nodes.Insufficient(pods_too=True):
            return (*_each(kind, reason), (nodes.TooManyPods.__name__, ""))
        case devices.DevicesMissing(type=name, functions=False):
            return ((devices.DevicesShort.__name__, name),)
        case _:
            return tuple(_each(kind, reason))


def _each(kind: str, reason: Reason) -> Iterator[Refusal]:
    match reason:
        case nodes.Insufficient(short=short) | nodes.BeyondReservation(of_node=short):
            yield from ((kind, resource) for resource, _, _ in short)
        case numa.InsufficientInZones(short=short):
            yield from ((kind, resource) for resource, _, _ in short)
        case numa.UnsatisfiedZones(resources=resources):
            yield from ((kind, resource) for resource in resources)
        case nodes.Overloaded(resource=name) | devices.DevicesMissing(type=name):
            yield kind, name
        case devices.DevicesShort(type=name, scope=""):
            yield kind, name
        case _:
            yield kind, ""


def counted(refused: Iterable[nodes.Refused]) -> Mapping[Refusal, int]:
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
