"""Why nodes refuse, in the scheduler's words and as the engine finds it: both count as the same."""

from typing import get_args

import pytest

from kubectl_koord.engine.reasons import claims, devices, nodes, numa
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.messages.refusals import LEFT_OUT, OF_RESERVATION, counted, of_reason, of_text, said
from kubectl_koord.model.values.selectors import Taint

TAINT = Taint("dedicated", "infra", "NoSchedule")
SHORT = (("cpu", 2000, 1000), ("memory", 2, 1))
SAID: list[tuple[Reason, tuple[str, ...]]] = [
    (nodes.Cordoned(), ("node(s) were unschedulable",)),
    (nodes.Untolerated(TAINT), ("node(s) had untolerated taint(s)",)),
    (nodes.Untolerated(TAINT), ("node(s) had untolerated taint {dedicated: infra}",)),
    (nodes.NotSelected(), ("node(s) didn't match Pod's node affinity/selector",)),
    (nodes.NotSelected(), ("node(s) didn't satisfy plugin(s) [NodeAffinity]",)),
    (
        nodes.SidecarsUnknown(),
        ("Pod has a restartable init container and the SidecarContainers feature is disabled",),
    ),
    (nodes.PortTaken(80), ("node(s) didn't have free ports for the requested pod ports",)),
    (nodes.TooManyPods(110), ("Too many pods",)),
    (nodes.Insufficient(SHORT), ("Insufficient cpu", "Insufficient memory")),
    (nodes.Insufficient(SHORT[:1], pods_too=True), ("Too many pods", "Insufficient cpu")),
    (
        nodes.ClaimInUse("data"),
        ("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",),
    ),
    (
        nodes.ClaimInUse("data"),
        (
            (
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by"
                " another pod"
            ),
        ),
    ),
    (nodes.VolumeElsewhere("data"), ("node(s) had volume node affinity conflict",)),
    (nodes.VolumeElsewhere("data"), ("node(s) didn't match PersistentVolume's node affinity",)),
    (nodes.VolumeElsewhere("data"), ("node(s) had no available volume zone",)),
    (nodes.NoVolumeToBind("data"), ("node(s) didn't find available persistent volumes to bind",)),
    (nodes.NotEnoughStorage("data", 5), ("node(s) did not have enough free storage",)),
    (nodes.TooManyVolumes("csi"), ("node(s) exceed max volume count",)),
    (nodes.NotReserved(), ("node(s) no reservations match reservation affinity",)),
    (nodes.OtherPolicy(), ("node(s) reservation allocate policy conflict",)),
    (nodes.BeyondReservation(SHORT[:1]), ("Insufficient cpu by node",)),
    (nodes.Overloaded("cpu", 70, 65), ("node(s) cpu usage exceed threshold",)),
    (nodes.Overloaded("memory", 97, 95, aggregated=True), ("node(s) memory aggregated usage exceed threshold",)),
    (nodes.MetricExpired("2026"), ("node(s) nodeMetric expired",)),
    (claims.NotEnoughDevices("data", "gpus", 2, 1), ("cannot allocate all claims",)),
    (claims.ClaimElsewhere("data"), ("resourceclaim not available on the node",)),
    (nodes.SpreadTooSkewed("zone"), ("node(s) didn't match pod topology spread constraints",)),
    (
        nodes.SpreadLabelMissing("zone"),
        ("node(s) didn't match pod topology spread constraints (missing required label)",),
    ),
    (nodes.PodAffinityUnmet(), ("node(s) didn't match pod affinity rules",)),
    (nodes.AntiAffinityViolated(), ("node(s) didn't match pod anti-affinity rules",)),
    (nodes.ExistingAntiAffinityViolated(), ("node(s) didn't satisfy existing pods anti-affinity rules",)),
    (devices.DevicesMissing("gpu"), ("Insufficient gpu devices",)),
    (devices.DevicesMissing("rdma", functions=True), ("Insufficient rdma VirtualFunctions",)),
    (devices.DevicesShort("gpu", 2, 1), ("Insufficient GPU Devices",)),
    (devices.DevicesShort("rdma", 2, 1), ("Insufficient rdma devices",)),
    (devices.DevicesShort("gpu", 2, 1, "NUMANode"), ("Insufficient Topology Scoped GPU Devices",)),
    (devices.NoPartition(2, (4, 8)), ("Insufficient Partitioned GPU Devices",)),
    (devices.NoPartition(2, None), ("node(s) missing GPU Partition Table",)),
    (devices.NoPartition(2, (4, 8), unresolvable=True), ("node(s) Unsupported number of GPU requests",)),
    (devices.ScopeUnsupported("NUMANode"), ("node(s) missing GPU Device Topology Tree",)),
    (devices.ScopeUnsupported("NUMANode", shared=True), ("node(s) Unsupported Multi-Shared GPU",)),
    (devices.DevicesApart(("gpu", "rdma")), ("node(s) Device Joint-Allocate rules violation",)),
    (devices.SharingUnsupported("x", "Y"), ('model "Y" of vendor "x" does not support GPU Share',)),
    (devices.DevicesOutsideZones("gpu", 2, 1), ("Insufficient NUMA Scoped Devices",)),
    (numa.NUMAPolicyMismatch("a", "b"), ("node(s) NUMA Topology policy not match",)),
    (numa.FractionalCPUs(500), ("the requested CPUs must be integer",)),
    (numa.InvalidAmplification(), ("node(s) invalid CPU amplification ratio",)),
    (numa.InsufficientAmplifiedCPU(2, 1), ("Insufficient amplified cpu",)),
    (numa.NoCPUTopology(), ("node(s) invalid CPU Topology",)),
    (numa.NoCPUTopology(unresolvable=False), ("node(s) Insufficient NUMA Node resources",)),
    (numa.BindPolicyConflict("a", "b"), ("node(s) cpu bind policy conflicts with pod's required cpu bind policy",)),
    (numa.PartialCores(3, 2), ("node(s) requested cpus not multiple cpus per core",)),
    (numa.NotEnoughCPUs(4, 2), ("not enough cpus available to satisfy request",)),
    (numa.NoZones(), ("node(s) missing NUMA resources",)),
    (numa.UnsatisfiedZones(("cpu", "memory")), ("Unsatisfied NUMA cpu", "Unsatisfied NUMA memory")),
    (numa.UnalignedZones("Restricted", ()), ("Unaligned NUMA Hint cause cpu prefer [0] among [1],gpu prefer [1]",)),
    (numa.InsufficientInZones(SHORT), ("Insufficient NUMA cpu", "Insufficient NUMA memory")),
]


@pytest.mark.parametrize(("reason", "texts"), SAID)
def test_what_a_node_refuses_for_is_recognised_in_the_schedulers_words(reason: Reason, texts: tuple[str, ...]) -> None:
    assert sorted(of_reason(reason)) == sorted(refusal for text in texts if (refusal := of_text(text)) is not None)
    assert said((7, text) for text in texts) == counted([Refused(reason, 7)])


def _classes(part: object) -> set[object]:
    return set().union(*map(_classes, get_args(part))) if get_args(part) else {part}


def test_every_reason_has_its_words_but_those_that_end_the_attempt() -> None:
    known = {type(reason) for reason, _ in SAID}
    every = {kind for part in get_args(Reason) for kind in _classes(part)}
    by_reservations = {devices.BeyondReservedDevices, numa.BeyondReservedZones}  # "Reservation(s) ..."
    ending = {devices.IsolationMissing, claims.SelectorFails, claims.TooManyDevices}
    assert every - known == ending | by_reservations


def test_reservations_are_counted_apart_and_what_is_not_known_leaves_all_open() -> None:
    assert of_text("Reservation(s) matched owner total") == OF_RESERVATION
    assert said([(1, "Insufficient cpu"), (2, "Reservation(s) Insufficient cpu")]) == {("Insufficient", "cpu"): 1}
    for plugins in ("", "Coscheduling", "Reservation"):
        assert of_text(f"node(s) didn't satisfy plugin(s) [{plugins}]") == LEFT_OUT
    assert of_text("no such words") is None
    assert said([(1, "Insufficient cpu"), (2, "no such words")]) is None
