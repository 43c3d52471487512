"""What a pod asks for: the sets of device resources, and what is refused before any node is looked at."""

import pytest
from msgspec.structs import replace

from kubectl_koord.engine.filters.device_allocation import GPURequest, PodDeviceRequest, request_of
from kubectl_koord.engine.reasons import InvalidDeviceAmount, InvalidDeviceSet, UnreadableDeviceAnnotation
from kubectl_koord.model.hardware import DeviceHint, DeviceOptions, JointAllocation, PartitionSpec
from kubectl_koord.model.pods import PodRequirements
from kubectl_koord.model.values import Resources
from tests.build import SPINE, attempt_of, cluster, why_of

CORE, MEMORY, RATIO = "koordinator.sh/gpu-core", "koordinator.sh/gpu-memory", "koordinator.sh/gpu-memory-ratio"
SHARED, WHOLE, RDMA = "koordinator.sh/gpu.shared", "koordinator.sh/gpu", "koordinator.sh/rdma"
NPU_CORE, NPU_CPU, NPU_DVPP = "huawei.com/npu-core", "huawei.com/npu-cpu", "huawei.com/npu-dvpp"
GPU = PodRequirements((("nvidia.com/gpu", 1),))


def asking(amounts: dict[str, int], **options: object) -> PodRequirements:
    return PodRequirements(
        tuple(sorted(amounts.items())), devices=replace(DeviceOptions(), **options) if options else None
    )


def gpu_of(amounts: dict[str, int]) -> GPURequest | None:
    found = request_of(asking(amounts))
    assert isinstance(found, PodDeviceRequest)
    return found.gpu


def of_card(core: int = 0, **others: int) -> Resources:
    known = {CORE: core, RATIO: others.get("ratio", 0), MEMORY: others.get("memory", 0)}
    return tuple(sorted((name, amount) for name, amount in known.items() if amount))


@pytest.mark.parametrize(
    ("amounts", "number", "each", "shared"),
    [
        ({"nvidia.com/gpu": 2}, 2, of_card(100, ratio=100), False),
        ({"amd.com/gpu": 1}, 1, of_card(100, ratio=100), False),
        ({WHOLE: 50}, 1, of_card(50, ratio=50), True),
        ({WHOLE: 200}, 2, of_card(100, ratio=100), False),
        ({MEMORY: 1024}, 1, of_card(memory=1024), True),
        ({RATIO: 300}, 3, of_card(ratio=100), False),
        ({CORE: 200, MEMORY: 1024}, 1, of_card(200, memory=1024), True),
        ({CORE: 100, RATIO: 200}, 2, of_card(50, ratio=100), False),
        ({SHARED: 2, CORE: 100, RATIO: 100}, 2, of_card(50, ratio=50), True),
        ({SHARED: 2, CORE: 200, RATIO: 200}, 2, of_card(100, ratio=100), False),
        ({SHARED: 4, MEMORY: 160}, 4, of_card(memory=40), True),
        ({NPU_CORE: 4, RATIO: 100}, 1, ((NPU_CORE, 4), (RATIO, 100)), False),
        (
            {SHARED: 1, NPU_CORE: 4, NPU_CPU: 2, NPU_DVPP: 100, MEMORY: 8},
            1,
            ((NPU_CORE, 4), (NPU_CPU, 2), (NPU_DVPP, 100), (MEMORY, 8)),
            True,
        ),
    ],
)
def test_a_request_is_a_number_of_cards_and_something_of_each(
    amounts: dict[str, int], number: int, each: Resources, *, shared: bool
) -> None:
    assert gpu_of(amounts) == GPURequest(number, tuple(sorted(each)), shared=shared)


@pytest.mark.parametrize(
    ("amounts", "refusal"),
    [
        ({WHOLE: 101}, InvalidDeviceAmount(WHOLE, 101)),
        ({RDMA: 150}, InvalidDeviceAmount(RDMA, 150)),
        ({"koordinator.sh/fpga": 150}, InvalidDeviceAmount("koordinator.sh/fpga", 150)),
        ({CORE: 101}, InvalidDeviceSet((CORE,))),
        ({CORE: 100, RATIO: 101}, InvalidDeviceSet((CORE, RATIO))),
        ({SHARED: 2, RATIO: 101}, InvalidDeviceSet((RATIO, SHARED))),
        ({SHARED: 2, CORE: 202, MEMORY: 8}, InvalidDeviceSet((CORE, MEMORY, SHARED))),
        ({"nvidia.com/gpu": 2, WHOLE: 200}, InvalidDeviceSet((WHOLE, "nvidia.com/gpu"))),
        (
            {SHARED: 2, NPU_CORE: 4, NPU_CPU: 2, MEMORY: 8},
            InvalidDeviceSet((NPU_CORE, NPU_CPU, MEMORY, SHARED)),
        ),
    ],
)
def test_what_does_not_go_together_is_refused(amounts: dict[str, int], refusal: object) -> None:
    assert request_of(asking(amounts)) == refusal


def test_a_pod_without_devices_asks_for_none() -> None:
    assert request_of(asking({"cpu": 4})) is None
    assert request_of(asking({"cpu": 4}, unreadable="device-joint-allocate")) is None
    found = request_of(asking({RDMA: 50}, unreadable="gpu-partition-spec"))
    assert isinstance(found, PodDeviceRequest)
    assert found.gpu is None


@pytest.mark.parametrize(
    ("amounts", "annotation"),
    [
        ({"cpu": 4}, "device-allocated"),
        ({RDMA: 50}, "device-allocate-hint"),
        ({RDMA: 50}, "device-joint-allocate"),
        ({WHOLE: 50}, "gpu-partition-spec"),
    ],
)
def test_annotations_that_cannot_be_read_are_refused_where_they_are_read(
    amounts: dict[str, int], annotation: str
) -> None:
    assert request_of(asking(amounts, unreadable=annotation)) == UnreadableDeviceAnnotation(annotation)  # type: ignore[arg-type]


def test_joint_allocation_concerns_the_types_that_are_asked_for_and_not_applied_for_all() -> None:
    joint = JointAllocation(("fpga", "gpu", "rdma"), "SamePCIe")
    both = {RDMA: 50, "nvidia.com/gpu": 1}
    found = request_of(asking(both, joint=joint))
    assert isinstance(found, PodDeviceRequest)
    assert found.joint == JointAllocation(("gpu", "rdma"), "SamePCIe")
    for_all = request_of(asking(both, joint=joint, hints=(DeviceHint("rdma", strategy="ApplyForAll"),)))
    assert isinstance(for_all, PodDeviceRequest)
    assert for_all.joint == JointAllocation(("gpu",), "SamePCIe")


def test_hints_of_gpus_set_the_scope_and_the_partition() -> None:
    found = request_of(
        asking({WHOLE: 100}, hints=(DeviceHint("gpu", scope="PCIe"),), partition=PartitionSpec(restricted=True))
    )
    assert isinstance(found, PodDeviceRequest)
    assert found.gpu == GPURequest(
        1, of_card(100, ratio=100), partition=PartitionSpec(restricted=True), scope="PCIe", shared=False
    )
    assert found.gpu.level == 3


@pytest.mark.parametrize("must_gather", ["", SPINE])
def test_no_node_is_asked_for_a_request_that_is_refused_and_the_cause_says_what_is_wrong(must_gather: str) -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang(
        "job", 2, must_gather=must_gather, requests=(("cpu", 1000), (RDMA, 150))
    )
    assert attempt_of(drawing).prefilter == InvalidDeviceAmount(RDMA, 150)
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.code, report.funnel) == ("no", "invalid-request", None)
    assert report.cause is not None
    assert report.cause.message == (
        "no node is looked at for default/job-0: 150 of koordinator.sh/rdma is neither a part of a device (up to 100)"
        " nor whole devices (hundreds)."
    )
