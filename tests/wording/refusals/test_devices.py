"""Why devices do not do, and why a request for them is refused, in words."""

import pytest

from kubectl_koord.engine import reasons
from kubectl_koord.engine.reasons import DeviceReason, InvalidDevices
from kubectl_koord.wording.refusals import invalid_devices, obstacle, stage


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (reasons.DevicesMissing("gpu"), "no GPU devices"),
        (reasons.DevicesMissing("rdma", functions=True), "no RDMA with virtual functions"),
        (reasons.DevicesShort("gpu", 1, 0), "no GPU with enough free"),
        (reasons.DevicesShort("fpga", 4, 2), "fewer than 4 FPGA with enough free"),
        (reasons.DevicesShort("gpu", 4, 2, "PCIe"), "fewer than 4 GPU with enough free in one PCIe switch"),
        (reasons.DevicesShort("xpu", 4, 2, "Rack"), "fewer than 4 xpu with enough free in one Rack"),
        (reasons.NoPartition(2, None, unresolvable=True), "no partition table for 2 GPU"),
        (reasons.NoPartition(3, (1, 2), unresolvable=True), "partitions are of 1, 2 GPU, not of 3"),
        (reasons.NoPartition(3, (), unresolvable=True), "partitions are of no GPU, not of 3"),
        (reasons.NoPartition(3, (1, 2)), "partitions are of 1, 2 GPU, not of 3"),
        (reasons.NoPartition(2, (1, 2)), "no free partition of 2 GPU"),
        (reasons.ScopeUnsupported("NUMANode"), "no topology of its GPU to be within one NUMA node"),
        (reasons.ScopeUnsupported("Node", shared=True), "several shared GPU cannot be within one node"),
        (reasons.DevicesApart(("gpu", "rdma")), "GPU and RDMA not on the same PCIe switches"),
        (reasons.SharingUnsupported("huawei", "310P"), "GPU model 310P of huawei cannot be shared"),
        (reasons.IsolationMissing("HAMi-core"), "GPU isolation HAMi-core missing"),
        (reasons.DevicesOutsideZones("gpu", 4, 2), "2 of 4 GPU on the NUMA nodes"),
    ],
)
def test_each_reason_has_its_words(reason: DeviceReason, words: str) -> None:
    assert obstacle(reason) == words


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (reasons.DevicesShort("gpu", 1, 0), "with the devices it asks for free"),
        (reasons.NoPartition(2, (1, 2)), "with a free partition of 2 GPU"),
        (reasons.IsolationMissing("HAMi-core"), "with GPU isolation by HAMi-core"),
    ],
)
def test_nodes_with_devices_come_last_in_the_funnel(reason: DeviceReason, words: str) -> None:
    assert stage(reason, ()) == (140, words)


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            reasons.InvalidDeviceAmount("koordinator.sh/rdma", 150),
            "150 of koordinator.sh/rdma is neither a part of a device (up to 100) nor whole devices (hundreds)",
        ),
        (
            reasons.InvalidDeviceSet(("koordinator.sh/gpu", "nvidia.com/gpu")),
            "koordinator.sh/gpu and nvidia.com/gpu cannot be requested together, or not in these amounts",
        ),
        (
            reasons.InvalidDeviceSet(("koordinator.sh/gpu-core",)),
            "koordinator.sh/gpu-core cannot be requested alone, or not in this amount",
        ),
        (
            reasons.UnreadableDeviceAnnotation("gpu-partition-spec"),
            "annotation scheduling.koordinator.sh/gpu-partition-spec cannot be read",
        ),
    ],
)
def test_each_refusal_has_its_words(refusal: InvalidDevices, words: str) -> None:
    assert invalid_devices(refusal) == words
