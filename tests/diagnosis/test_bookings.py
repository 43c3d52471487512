"""What surprises about booked CPUs and devices: held twice, or forgotten."""

import pytest
from msgspec import structs

from kubectl_koord.diagnosis.obstacles import lost, of_nodes
from kubectl_koord.model.hardware import CPU, Allocations, CPUAllocation, CPUTopology, NodeNUMA, PodNUMA
from kubectl_koord.model.installation import Plugins
from tests.build import Drawing, card, cluster, cpus, devices, holding, why_of

CODES = {"doubly-booked", "cpus-forgotten"}
EIGHT = NodeNUMA(cpus=CPUTopology(tuple(CPU(number, number, 0, 0) for number in range(8))))
BINDS = PodNUMA(binds=True)
NODE = cluster("s0: b0[n1 n2]").change("n1", numa=EIGHT).change("n2", allocatable=(("pods", 110),))
BOUND = NODE.with_pod("p", cpu=4, numa=BINDS)
CARDS = devices(card(0), card(1))
ONE_GPU = (("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100))
GPUS = cluster("s0: b0[n1]").change("n1", devices=CARDS, allocatable=(*cpus(8), *((r, 200) for r, _ in ONE_GPU)))
SHARING = GPUS.with_pod("p", requests=(*cpus(1), *ONE_GPU))


def bound(*numbers: int) -> Allocations:
    return Allocations(cpus=CPUAllocation(numbers))


def told(drawing: Drawing) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in why_of(drawing, "pod/p").warnings if one.code in CODES]


def test_cpus_that_two_pods_have_are_told_with_both() -> None:
    drawing = BOUND.with_running("a", "n1", 4, allocations=bound(0, 1, 2, 5))
    assert told(drawing.with_running("b", "n1", 2, allocations=bound(3, 4))) == []
    twice = drawing.with_running("b", "n1", 4, allocations=bound(1, 2, 3, 5))
    end = "held by several pods at once, and free only when all of these are gone"
    assert told(twice) == [("doubly-booked", f"{end}: CPU 1-2,5 of n1 by default/a and default/b.")]
    assert told(NODE.but(running=twice.running).with_pod("p", cpu=1)) == []
    elsewhere = drawing.with_running("b", "n2", allocations=bound(0))
    assert told(elsewhere) == []


@pytest.mark.parametrize(("share", "is_told"), [(50, False), (60, True), (100, True)])
def test_a_card_that_two_pods_share_is_told_where_they_have_more_than_there_is(share: int, *, is_told: bool) -> None:
    drawing = SHARING.with_running("a", "n1", allocations=holding(0, 1, share=share))
    drawing = drawing.with_running("b", "n1", allocations=holding(1, share=share))
    end = "held by several pods at once, and free only when all of these are gone"
    expected = [("doubly-booked", f"{end}: GPU 1 of n1 by default/a and default/b.")] if is_told else []
    assert told(drawing) == expected
    assert told(drawing.change("n1", devices=devices(card(0), structs.replace(card(1), healthy=False)))) == expected
    assert told(GPUS.but(running=drawing.running).with_pod("p")) == []


def test_a_few_of_many_are_named() -> None:
    drawing = SHARING.change("n1", devices=None)
    for name in ("a", "b"):
        drawing = drawing.with_running(name, "n1", allocations=holding(0, 1, 2, 3, 4))
    assert told(drawing)[0][1].endswith("; GPU 2 of n1 by default/a and default/b (and 2 more).")
    odd = [told(SHARING.with_running("a", "n1", allocations=holding(0, kind="x")).with_running("b", "n1"))]
    assert odd == [[]]


@pytest.mark.parametrize(("version", "codes"), [("main", ["cpus-forgotten"]), ("1.8", []), ("1.7", [])])
def test_that_cpus_may_be_forgotten_is_told_where_they_decide(version: str, codes: list[str]) -> None:
    drawing = BOUND.with_running("a", "n1", 1, allocations=bound(0, 1, 2, 3, 4)).version(version)
    assert [code for code, _ in told(drawing)] == codes
    enough = BOUND.with_running("a", "n1", 1, allocations=bound(0, 1)).version(version)
    assert told(enough) == []
    assert told(BOUND.with_running("a", "n1", 1).version(version)) == []
    assert told(NODE.but(running=drawing.running).with_pod("p", cpu=8).version(version)) == []


GPU_ONE = (("nvidia.com/gpu", 1),)
OFFERING = GPUS.change("n1", allocatable=(*cpus(8, nvidia_gpu=2), ("pods", 110)))


def not_booked(drawing: Drawing) -> list[str]:
    return [one.message for one in why_of(drawing, "pod/p").warnings if one.code == "device-not-booked"]


def test_a_pod_with_a_card_that_the_scheduler_does_not_know_to_be_taken_is_named() -> None:
    drawing = OFFERING.with_running("jup", "n1", requests=GPU_ONE).with_pod("p", requests=(("nvidia.com/gpu", 2),))
    end = "no annotation says which: DeviceShare takes these cards for free, and may give them to another pod as well."
    assert not_booked(drawing) == [f"default/jup holds 1 GPU on n1, and {end}"]
    many = drawing
    for number in range(4):
        many = many.with_running(f"k{number}", "n1", requests=GPU_ONE)
    first = "; ".join(f"default/{name} holds 1 GPU on n1" for name in ("jup", "k0", "k1"))
    assert not_booked(many) == [f"{first} (and 2 more pods), and {end}"]


@pytest.mark.parametrize(
    "drawing",
    [
        OFFERING.with_running("jup", "n1", requests=GPU_ONE, allocations=holding(0)),
        OFFERING.with_running("jup", "n1", requests=(("nvidia.com/gpu", 1), ("koordinator.sh/gpu-core", 7))),
        OFFERING.with_running("jup", "n1", 4),
        OFFERING.change("n1", devices=None).with_running("jup", "n1", requests=GPU_ONE),
        OFFERING.change("n1", devices=devices()).with_running("jup", "n1", requests=GPU_ONE),
        OFFERING.configured(plugins=Plugins(off=(("DeviceShare", ("reserve",)),))).with_running(
            "jup", "n1", requests=GPU_ONE
        ),
    ],
    ids=["booked", "invalid", "no card", "no Device", "empty Device", "plugin off"],
)
def test_a_pod_whose_cards_are_booked_or_count_for_nobody_is_not(drawing: Drawing) -> None:
    assert list(of_nodes(drawing, {"n1"})) == []


def test_what_is_wrong_with_the_books_of_some_nodes_is_told_of_these() -> None:
    drawing = OFFERING.with_running("jup", "n1", requests=GPU_ONE)
    drawing = drawing.with_running("a", "n1", allocations=holding(0)).with_running("b", "n1", allocations=holding(0))
    assert [one.code for one in of_nodes(drawing, {"n1"})] == ["device-not-booked", "doubly-booked"]
    assert list(of_nodes(drawing, {"n2"})) == []


def test_nodes_that_offer_fewer_cards_than_they_have_are_named_with_how_many() -> None:
    drawing = OFFERING.change("n1", lost=(("nvidia.com/gpu", 6),))
    assert [one.message for one in lost(drawing, ["n1"])] == [
        "n1 offers 2 of 8 nvidia.com/gpu: the device plugin calls the others unhealthy, or has not registered them."
    ]
    assert list(lost(OFFERING, ["n1"])) == []
    four = cluster("s0: b0[n1 n2 n3 n4]").change("n1", "n2", "n3", "n4", lost=(("nvidia.com/gpu", 8),))
    named = "n1 offers 0 of 8 nvidia.com/gpu; n2 offers 0 of 8 nvidia.com/gpu; n3 offers 0 of 8 nvidia.com/gpu"
    assert next(lost(four, sorted(four.nodes))).message.startswith(f"{named} (and 1 more node): ")
