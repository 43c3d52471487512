"""Which devices a pod gets at Reserve: the emptiest, of one place, of one partition, near to each other."""

from itertools import product

import pytest
from hypothesis import given as over
from hypothesis import strategies as st
from msgspec.structs import replace

from kubectl_koord.engine.attempt import FailedSeat
from kubectl_koord.engine.filters.device_allocation import PodDeviceRequest, allocate, request_of
from kubectl_koord.engine.filters.device_share import place_of
from kubectl_koord.engine.reasons import DevicesApart, DevicesShort, NoPartition, Reason, ScopeUnsupported
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import (
    DEVICE_SCORING,
    Device,
    DeviceHint,
    DeviceOptions,
    DevicePlace,
    JointAllocation,
    Partition,
    PartitionSpec,
    PartitionTable,
    Scoring,
)
from kubectl_koord.model.pods import PendingPod
from tests.build import Drawing, attempt_of, card, having, holding, nic, preemption_of, why_of
from tests.engine.filters.device_share.world import MEMORY, RATIO, asking, cards, given, node_with, refusal, tree

GI = 1 << 30
PAIRS: PartitionTable = (
    (1, tuple(Partition((minor,), 1) for minor in range(4))),
    (2, (Partition((0, 1), 1), Partition((2, 3), 1), Partition((0, 2), 2, bandwidth=10))),
)
HOPPER = (("node.koordinator.sh/gpu-model", "H800"),)
HONOURED = (*HOPPER, ("node.koordinator.sh/gpu-partition-policy", "Honor"))

FILLS = replace(DEVICE_SCORING, most_allocated=True)


def with_options(pod: PendingPod, **options: object) -> PendingPod:
    return replace(pod, requirements=replace(pod.requirements, devices=replace(DeviceOptions(), **options)))


def used(drawing: Drawing, *minors: int, share: int = 100, kind: str = "gpu") -> Drawing:
    drawing = drawing.with_running("without-devices", "n1")
    return drawing.with_running(f"run-{minors}-{share}", "n1", allocations=holding(*minors, share=share, kind=kind))


def within(scope: str, **amounts: int) -> PendingPod:
    return with_options(asking("p", **amounts), hints=(DeviceHint("gpu", scope=scope),))


@pytest.mark.parametrize(
    ("drawing", "pod", "devices"),
    [
        (node_with(*cards(3)), asking(core=50, ratio=50), ["gpu0"]),
        (used(node_with(*cards(3)), 0, share=25), asking(core=50, ratio=50), ["gpu1"]),
        (used(node_with(*cards(3)), 0, 1, share=25), asking(gpu=1), ["gpu2"]),
        (
            used(node_with(*cards(3)), 1, share=25).configured(device_scoring=FILLS),
            asking(ratio=50),
            ["gpu1"],
        ),
        (
            used(node_with(*cards(3)), 0, share=25).configured(device_scoring=Scoring((("koordinator.sh/rdma", 1),))),
            asking(core=50, ratio=50),
            ["gpu0"],
        ),
        (node_with(*cards(1), card(1, resources=((RATIO, 100),))), asking(ratio=50), ["gpu0"]),
        (node_with(card(0, resources=((MEMORY, 8 * GI),))), asking(memory=9 * GI), None),
        (node_with(card(0, resources=((RATIO, 100),))), asking(memory=9 * GI), ["gpu0"]),
        (node_with(card(0, resources=((MEMORY, 0), (RATIO, 100)))), asking(memory=9 * GI), None),
        (used(node_with(*tree()), 5, share=10), asking(core=10, ratio=10), ["gpu4"]),
        (used(used(node_with(*tree()), 4, share=50), 5, share=25), asking(core=10, ratio=10), ["gpu4"]),
        (used(node_with(*tree()), 5), asking(gpu=1), ["gpu4"]),
        (used(node_with(*tree()), 5), asking(gpu=2), ["gpu6", "gpu7"]),
        (used(node_with(*tree()), 5), asking(gpu=4), ["gpu0", "gpu1", "gpu2", "gpu3"]),
        (used(node_with(*tree()), 0, 5), asking(gpu=4), ["gpu1", "gpu2", "gpu3", "gpu4"]),
        (used(node_with(*tree()), 5), asking(gpu=3), ["gpu4", "gpu6", "gpu7"]),
        (used(node_with(*tree()), 0, share=50), asking(shared=2, core=80, ratio=80), ["gpu1", "gpu2"]),
    ],
)
def test_the_emptiest_card_of_the_most_used_place_is_taken(
    drawing: Drawing, pod: PendingPod, devices: list[str] | None
) -> None:
    if devices is None:
        assert refusal(drawing, pod) is not None
    else:
        assert given(drawing, pod) == devices


def test_a_card_that_tells_none_of_what_is_scored_is_as_good_as_a_full_one() -> None:
    core_alone = card(1, resources=(("koordinator.sh/gpu-core", 100),))
    assert given(node_with(core_alone, card(2)), asking(core=50, ratio=50)) == ["gpu2"]


def test_memory_and_ratio_are_both_booked_and_rounded_down() -> None:
    def booked(pod: PendingPod, *of_card: tuple[str, int]) -> dict[str, int]:
        drawing = node_with(card(0, resources=of_card) if of_card else card(0))
        request = request_of(pod.requirements)
        assert isinstance(request, PodDeviceRequest)
        place = place_of(request, of(drawing).state("n1"), drawing)
        assert place is not None
        found = allocate(request, place)
        assert isinstance(found, tuple)
        return dict(found[0].resources)

    assert booked(asking(memory=5 * GI)) == {MEMORY: 5 * GI, RATIO: 31}
    assert booked(asking(ratio=33)) == {MEMORY: 33 * 16 * GI // 100, RATIO: 33}
    assert booked(asking(memory=5 * GI), (RATIO, 100)) == {MEMORY: 5 * GI, RATIO: 0}
    assert booked(asking(core=50, ratio=10), (RATIO, 100))[MEMORY] == 0


@pytest.mark.parametrize(
    ("pod", "reason"),
    [
        (within("PCIe", gpu=2), None),
        (within("PCIe", gpu=3), DevicesShort("gpu", 3, 6, "PCIe")),
        (within("NUMANode", gpu=3), None),
        (within("NUMANode", gpu=4), DevicesShort("gpu", 4, 6, "NUMANode")),
        (within("Node", gpu=6), None),
        (within("Device", gpu=1), DevicesShort("gpu", 1, 6, "Device")),
        (within("PCIe", core=50, ratio=50), None),
        (within("PCIe", shared=2, core=80, ratio=80), ScopeUnsupported("PCIe", shared=True)),
        (asking(gpu=7), DevicesShort("gpu", 7, 6)),
        (asking(gpu=9), DevicesShort("gpu", 9, 6)),
    ],
)
def test_cards_must_be_together_where_the_pod_says_so(pod: PendingPod, reason: Reason | None) -> None:
    drawing = used(node_with(*tree()), 0, 5)
    assert refusal(drawing, pod) == reason


def test_without_topology_no_scope_can_be_required() -> None:
    one_without = node_with(*tree(4), card(4))
    assert refusal(one_without, within("Node", gpu=2)) == ScopeUnsupported("Node")
    assert given(one_without, asking(gpu=1)) == ["gpu0"]


@pytest.mark.parametrize(
    ("drawing", "pod", "expected"),
    [
        (node_with(*cards(4), partitions=PAIRS), asking(gpu=2), ["gpu0", "gpu1"]),
        (used(node_with(*cards(4), partitions=PAIRS), 1), asking(gpu=1), ["gpu0"]),
        (used(node_with(*cards(4), partitions=PAIRS), 1), asking(gpu=2), ["gpu2", "gpu3"]),
        (used(node_with(*cards(4), partitions=PAIRS), 1, 3), asking(gpu=2), ["gpu0", "gpu2"]),
        (used(node_with(*cards(4), partitions=PAIRS), 0, 3), asking(gpu=2), ["gpu1", "gpu2"]),
        (used(node_with(*cards(4), partitions=PAIRS), 0, share=10), asking(core=50, ratio=50), ["gpu1"]),
        (
            used(node_with(*cards(4), partitions=PAIRS, honours_partitions=True), 0, 3),
            asking(gpu=2),
            NoPartition(2, (1, 2)),
        ),
        (
            node_with(*cards(4), partitions=PAIRS, honours_partitions=True),
            asking(gpu=3),
            NoPartition(3, (1, 2), unresolvable=True),
        ),
        (
            node_with(*cards(4), partitions=()),
            with_options(asking(gpu=1), partition=PartitionSpec()),
            NoPartition(1, (), unresolvable=True),
        ),
        (
            node_with(*cards(4)),
            with_options(asking(gpu=1), partition=PartitionSpec()),
            NoPartition(1, None, unresolvable=True),
        ),
        (
            used(node_with(*cards(4), partitions=PAIRS), 1, 3),
            with_options(asking(gpu=2), partition=PartitionSpec(restricted=True)),
            NoPartition(2, (1, 2)),
        ),
        (
            node_with(*cards(4), partitions=PAIRS),
            with_options(asking(gpu=2), partition=PartitionSpec(bandwidth=10)),
            ["gpu0", "gpu2"],
        ),
        (
            node_with(*cards(4), partitions=PAIRS),
            with_options(asking(gpu=2), partition=PartitionSpec(bandwidth=11)),
            NoPartition(2, (1, 2)),
        ),
        (
            node_with(card(0), card(1, healthy=False), card(2), card(3), partitions=PAIRS),
            asking(gpu=2),
            ["gpu2", "gpu3"],
        ),
        (used(node_with(*cards(8)).change("n1", labels=HOPPER), 2, 3), asking(gpu=2), ["gpu0", "gpu1"]),
        (used(node_with(*cards(8)).change("n1", labels=HOPPER), 2, 3), asking(gpu=3), ["gpu0", "gpu1", "gpu4"]),
        (
            node_with(*cards(8)).change("n1", labels=HONOURED),
            asking(gpu=3),
            NoPartition(3, (1, 2, 4, 8), unresolvable=True),
        ),
    ],
)
def test_partitions_are_preferred_and_where_they_are_honoured_nothing_else_is_given(
    drawing: Drawing, pod: PendingPod, expected: list[str] | Reason
) -> None:
    assert (given(drawing, pod) if isinstance(expected, list) else refusal(drawing, pod)) == expected


PLACED = tuple(nic(minor, place=DevicePlace(minor // 2, str(minor))) for minor in range(4))
NEAR = JointAllocation(("gpu", "rdma"))
SAME = JointAllocation(("gpu", "rdma"), "SamePCIe")


@pytest.mark.parametrize(
    ("drawing", "joint", "pod", "expected"),
    [
        (used(node_with(*tree(), *PLACED), 0, 1), NEAR, asking(gpu=2, rdma=50), ["gpu2", "gpu3", "rdma1"]),
        (node_with(*tree(), *PLACED), NEAR, asking(gpu=4, rdma=50), ["gpu0", "gpu1", "gpu2", "gpu3", "rdma0", "rdma1"]),
        (node_with(*tree(), *PLACED), None, asking(gpu=4, rdma=50), ["gpu0", "gpu1", "gpu2", "gpu3", "rdma0"]),
        (node_with(*tree(), *PLACED), SAME, asking(gpu=4, rdma=50), ["gpu0", "gpu1", "gpu2", "gpu3", "rdma0", "rdma1"]),
        (node_with(*tree(), nic(0), nic(1)), SAME, asking(gpu=2, rdma=50), DevicesApart(("gpu", "rdma"))),
        (node_with(*tree(), *PLACED[:1]), SAME, asking(gpu=4, rdma=50), DevicesShort("rdma", 2, 1)),
        (node_with(*tree(), *PLACED), NEAR, asking(gpu=9, rdma=50), DevicesShort("gpu", 9, 8)),
        (node_with(*tree(), *PLACED), NEAR, asking(gpu=2), ["gpu0", "gpu1"]),
        (node_with(*tree(), *PLACED), JointAllocation(()), asking(gpu=2, rdma=50), ["gpu0", "gpu1", "rdma0"]),
        (
            node_with(*tree(), *PLACED),
            JointAllocation(("rdma", "gpu")),
            asking(gpu=1, rdma=50),
            ["gpu0", "rdma0"],
        ),
        (
            node_with(*cards(4), *PLACED),
            JointAllocation(("rdma", "gpu")),
            asking(gpu=1, rdma=200),
            ["gpu0", "gpu1", "rdma0", "rdma1"],
        ),
        (
            node_with(*tree(), *PLACED, replace(PLACED[0], minor=9)),
            NEAR,
            asking(gpu=4, rdma=300),
            ["gpu0", "gpu1", "gpu2", "gpu3", "rdma0", "rdma1", "rdma9"],
        ),
    ],
)
def test_devices_that_are_allocated_jointly_are_near_each_other(
    drawing: Drawing, joint: JointAllocation | None, pod: PendingPod, expected: list[str] | Reason
) -> None:
    asked = with_options(pod, joint=joint)
    assert (given(drawing, asked) if isinstance(expected, list) else refusal(drawing, asked)) == expected


def test_where_secondary_devices_are_planned_well_they_are_looked_at_only_when_the_pod_is_booked() -> None:
    drawing = node_with(*tree(), nic(0), plans_secondaries=True)
    pod = with_options(asking(gpu=2, rdma=200), joint=NEAR)
    assert refusal(drawing, pod) is None
    with pytest.raises(AssertionError, match=r"DevicesShort\(type='rdma', wanted=2, fitting=1"):
        given(drawing, pod)
    shared = with_options(asking(core=50, ratio=50, rdma=200), joint=NEAR)
    assert refusal(drawing, shared) == DevicesShort("rdma", 2, 1)
    assert refusal(drawing, asking(gpu=2, rdma=200)) == DevicesShort("rdma", 2, 1)


def test_a_pod_that_cannot_be_booked_where_it_passes_is_tried_nowhere_else_and_preempts_nobody() -> None:
    drawing = used(node_with(*tree(), *map(nic, range(4)), plans_secondaries=True), 1, 2, 3, kind="rdma")
    options, requests = DeviceOptions(joint=NEAR), asking(gpu=2, rdma=200).requirements.requests
    job = drawing.with_gang("job", 2, requests=requests, devices=options, priority=9)
    unlike = job.with_pod("job-0", gang="job", requests=requests, devices=options, sidecars=True)
    failed = attempt_of(unlike)
    assert failed.failed_seat == FailedSeat("default/job-1", "n1", DevicesShort("rdma", 2, 1))
    assert preemption_of(unlike).reason == "not-helpful"
    cause, lack = why_of(unlike).cause, "fewer than 2 RDMA with enough free"
    assert cause is not None
    assert (cause.code, cause.message) == (
        "no-feasible-node",
        f"default/job-1 passes all filters on n1, and cannot be bound there: {lack}; no other node is tried.",
    )


def test_several_types_are_given_together_and_the_first_that_is_short_is_named() -> None:
    drawing = node_with(*cards(2), nic(0))
    assert given(drawing, asking(gpu=1, rdma=50)) == ["gpu0", "rdma0"]
    assert refusal(drawing, asking(gpu=3, rdma=200)) == DevicesShort("gpu", 3, 2)
    assert refusal(drawing, asking(gpu=1, rdma=200)) == DevicesShort("rdma", 2, 1)


def test_virtual_functions_of_gpus_are_given_where_scopes_do_not_matter() -> None:
    wants = with_options(asking(gpu=1), hints=(DeviceHint("gpu", function_selector=having()),))
    assert refusal(node_with(*cards(1)), wants) is not None


@pytest.mark.untraced
@over(
    st.lists(st.tuples(st.integers(0, 7), st.sampled_from([25, 50, 100])), max_size=10),
    st.integers(1, 8),
    st.sampled_from([tree(), cards(8)]),
)
def test_a_pod_gets_different_cards_that_have_what_it_needs_free_wherever_the_filter_lets_it_pass(
    held: list[tuple[int, int]], number: int, layout: tuple[Device, ...]
) -> None:
    drawing = node_with(*layout)
    for index, (minor, share) in enumerate(held):
        drawing = drawing.with_running(f"run-{index}", "n1", allocations=holding(minor, share=share))
    free = {minor for minor in range(8) if minor not in {taken for taken, _ in held}}
    pod = asking(gpu=number)
    if refusal(drawing, pod) is not None:
        assert number > len(free)
    else:
        names = given(drawing, pod)
        assert len(set(names)) == number
        assert {int(name.removeprefix("gpu")) for name in names} <= free


@pytest.mark.parametrize(("number", "scoring"), [*product((1, 2, 4), (DEVICE_SCORING, FILLS))])
def test_the_strategy_never_decides_whether_a_pod_fits(number: int, scoring: Scoring) -> None:
    drawing = used(node_with(*tree()), 1, 2, share=50).configured(device_scoring=scoring)
    assert len(given(drawing, asking(gpu=number))) == number
