"""Why nodes refuse, in the scheduler's words and as the engine finds it: both count as the same."""

from typing import get_args

import pytest

from kubectl_koord.engine import reasons
from kubectl_koord.engine.reasons import Reason, Refused
from kubectl_koord.messages.conditions import LEFT_OUT, OF_RESERVATION, counted, of_reason, of_text, said
from kubectl_koord.model.values import Taint

TAINT = Taint("dedicated", "infra", "NoSchedule")
SHORT = (("cpu", 2000, 1000), ("memory", 2, 1))
SAID: list[tuple[Reason, tuple[str, ...]]] = [
    (reasons.Cordoned(), ("node(s) were unschedulable",)),
    (reasons.Untolerated(TAINT), ("node(s) had untolerated taint(s)",)),
    (reasons.Untolerated(TAINT), ("node(s) had untolerated taint {dedicated: infra}",)),
    (reasons.NotSelected(), ("node(s) didn't match Pod's node affinity/selector",)),
    (reasons.NotSelected(), ("node(s) didn't satisfy plugin(s) [NodeAffinity]",)),
    (
        reasons.SidecarsUnknown(),
        ("Pod has a restartable init container and the SidecarContainers feature is disabled",),
    ),
    (reasons.PortTaken(80), ("node(s) didn't have free ports for the requested pod ports",)),
    (reasons.TooManyPods(110), ("Too many pods",)),
    (reasons.Insufficient(SHORT), ("Insufficient cpu", "Insufficient memory")),
    (reasons.Insufficient(SHORT[:1], pods_too=True), ("Too many pods", "Insufficient cpu")),
    (
        reasons.ClaimInUse("data"),
        ("node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",),
    ),
    (
        reasons.ClaimInUse("data"),
        (
            (
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by"
                " another pod"
            ),
        ),
    ),
    (reasons.VolumeElsewhere("data"), ("node(s) had volume node affinity conflict",)),
    (reasons.VolumeElsewhere("data"), ("node(s) didn't match PersistentVolume's node affinity",)),
    (reasons.VolumeElsewhere("data"), ("node(s) had no available volume zone",)),
    (reasons.NoVolumeToBind("data"), ("node(s) didn't find available persistent volumes to bind",)),
    (reasons.NotEnoughStorage("data", 5), ("node(s) did not have enough free storage",)),
    (reasons.TooManyVolumes("csi"), ("node(s) exceed max volume count",)),
    (reasons.NotReserved(), ("node(s) no reservations match reservation affinity",)),
    (reasons.OtherPolicy(), ("node(s) reservation allocate policy conflict",)),
    (reasons.BeyondReservation(SHORT[:1]), ("Insufficient cpu by node",)),
    (reasons.Overloaded("cpu", 70, 65), ("node(s) cpu usage exceed threshold",)),
    (reasons.Overloaded("memory", 97, 95, aggregated=True), ("node(s) memory aggregated usage exceed threshold",)),
    (reasons.MetricExpired("2026"), ("node(s) nodeMetric expired",)),
    (reasons.NotEnoughDevices("data", "gpus", 2, 1), ("cannot allocate all claims",)),
    (reasons.ClaimElsewhere("data"), ("resourceclaim not available on the node",)),
    (reasons.SpreadTooSkewed("zone"), ("node(s) didn't match pod topology spread constraints",)),
    (
        reasons.SpreadLabelMissing("zone"),
        ("node(s) didn't match pod topology spread constraints (missing required label)",),
    ),
    (reasons.PodAffinityUnmet(), ("node(s) didn't match pod affinity rules",)),
    (reasons.AntiAffinityViolated(), ("node(s) didn't match pod anti-affinity rules",)),
    (reasons.ExistingAntiAffinityViolated(), ("node(s) didn't satisfy existing pods anti-affinity rules",)),
    (reasons.DevicesMissing("gpu"), ("Insufficient gpu devices",)),
    (reasons.DevicesMissing("rdma", functions=True), ("Insufficient rdma VirtualFunctions",)),
    (reasons.DevicesShort("gpu", 2, 1), ("Insufficient GPU Devices",)),
    (reasons.DevicesShort("rdma", 2, 1), ("Insufficient rdma devices",)),
    (reasons.DevicesShort("gpu", 2, 1, "NUMANode"), ("Insufficient Topology Scoped GPU Devices",)),
    (reasons.NoPartition(2, (4, 8)), ("Insufficient Partitioned GPU Devices",)),
    (reasons.NoPartition(2, None), ("node(s) missing GPU Partition Table",)),
    (reasons.NoPartition(2, (4, 8), unresolvable=True), ("node(s) Unsupported number of GPU requests",)),
    (reasons.ScopeUnsupported("NUMANode"), ("node(s) missing GPU Device Topology Tree",)),
    (reasons.ScopeUnsupported("NUMANode", shared=True), ("node(s) Unsupported Multi-Shared GPU",)),
    (reasons.DevicesApart(("gpu", "rdma")), ("node(s) Device Joint-Allocate rules violation",)),
    (reasons.SharingUnsupported("x", "Y"), ('model "Y" of vendor "x" does not support GPU Share',)),
    (reasons.DevicesOutsideZones("gpu", 2, 1), ("Insufficient NUMA Scoped Devices",)),
    (reasons.NUMAPolicyMismatch("a", "b"), ("node(s) NUMA Topology policy not match",)),
    (reasons.FractionalCPUs(500), ("the requested CPUs must be integer",)),
    (reasons.InvalidAmplification(), ("node(s) invalid CPU amplification ratio",)),
    (reasons.InsufficientAmplifiedCPU(2, 1), ("Insufficient amplified cpu",)),
    (reasons.NoCPUTopology(), ("node(s) invalid CPU Topology",)),
    (reasons.NoCPUTopology(unresolvable=False), ("node(s) Insufficient NUMA Node resources",)),
    (reasons.BindPolicyConflict("a", "b"), ("node(s) cpu bind policy conflicts with pod's required cpu bind policy",)),
    (reasons.PartialCores(3, 2), ("node(s) requested cpus not multiple cpus per core",)),
    (reasons.NotEnoughCPUs(4, 2), ("not enough cpus available to satisfy request",)),
    (reasons.NoZones(), ("node(s) missing NUMA resources",)),
    (reasons.UnsatisfiedZones(("cpu", "memory")), ("Unsatisfied NUMA cpu", "Unsatisfied NUMA memory")),
    (reasons.UnalignedZones("Restricted", ()), ("Unaligned NUMA Hint cause cpu prefer [0] among [1],gpu prefer [1]",)),
    (reasons.InsufficientInZones(SHORT), ("Insufficient NUMA cpu", "Insufficient NUMA memory")),
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
    by_reservations = {reasons.BeyondReservedDevices, reasons.BeyondReservedZones}  # "Reservation(s) ..."
    ending = {reasons.IsolationMissing, reasons.SelectorFails, reasons.TooManyDevices}
    assert every - known == ending | by_reservations


def test_reservations_are_counted_apart_and_what_is_not_known_leaves_all_open() -> None:
    assert of_text("Reservation(s) matched owner total") == OF_RESERVATION
    assert said([(1, "Insufficient cpu"), (2, "Reservation(s) Insufficient cpu")]) == {("Insufficient", "cpu"): 1}
    for plugins in ("", "Coscheduling", "Reservation"):
        assert of_text(f"node(s) didn't satisfy plugin(s) [{plugins}]") == LEFT_OUT
    assert of_text("no such words") is None
    assert said([(1, "Insufficient cpu"), (2, "no such words")]) is None
