"""What surprises about booked CPUs and devices: held twice, or forgotten."""

import pytest
from msgspec import structs

from kubectl_koord.model.hardware.allocations import Allocations, CPUAllocation
from kubectl_koord.model.hardware.numa import CPU, CPUTopology, NodeNUMA, PodNUMA
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
