"""What NodeNUMAResource is told: which sets of NUMA nodes have the devices, and what is given of them."""

from msgspec.structs import replace

from kubectl_koord.engine.filters import prepare, reserve
from kubectl_koord.engine.filters.device_allocation import PodDeviceRequest, allocate, request_of
from kubectl_koord.engine.filters.device_share import ZoneHint, place_of, topology_hints
from kubectl_koord.engine.reasons import DevicesMissing, DevicesOutsideZones, DevicesShort, Reason
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import NOTHING, DevicePlace
from kubectl_koord.model.pods import PendingPod
from tests.build import Drawing, card, holding, nic
from tests.engine.filters.device_share.world import asking, cards, node_with, tree


def hints(drawing: Drawing, pod: PendingPod) -> dict[str, tuple[ZoneHint, ...]] | Reason:
    request = request_of(pod.requirements)
    assert isinstance(request, PodDeviceRequest)
    place = place_of(request, of(drawing).state("n1"), drawing)
    assert place is not None
    found = topology_hints(request, place)
    return dict(found) if isinstance(found, dict) else found  # type: ignore[return-value]


def zone(*zones: int, preferred: bool = False, score: int = 0) -> ZoneHint:
    return ZoneHint(frozenset(zones), preferred, score)


def used(drawing: Drawing, *minors: int) -> Drawing:
    return drawing.with_running(f"run-{minors}", "n1", allocations=holding(*minors))


def test_the_least_zones_that_have_the_devices_are_preferred_and_those_with_the_best_cards_score() -> None:
    expected = (zone(0, preferred=True, score=500), zone(1, preferred=True), zone(0, 1, score=500))
    assert hints(node_with(*tree()), asking(gpu=2)) == {"gpu": expected}
    assert hints(used(node_with(*tree()), 0), asking(gpu=4)) == {
        "gpu": (zone(1, preferred=True, score=500), zone(0, 1, score=500))
    }
    assert hints(used(node_with(*tree()), 0, 5), asking(gpu=4)) == {"gpu": (zone(0, 1, preferred=True, score=500),)}


def test_types_share_their_hints() -> None:
    far = node_with(*tree(), nic(0, place=DevicePlace(1, "2")))
    found = hints(far, asking(gpu=1, rdma=50))
    assert isinstance(found, dict)
    assert found["gpu"] == found["rdma"] == (zone(1, preferred=True), zone(0, 1, score=500))


def test_without_zones_there_is_nothing_to_say_and_nothing_is_given_of_any_zone() -> None:
    bare = node_with(*cards(2))
    assert hints(bare, asking(gpu=1)) == {}
    request = request_of(asking(gpu=1).requirements)
    assert isinstance(request, PodDeviceRequest)
    place = place_of(request, of(bare).state("n1"), bare, frozenset({0}))
    assert place is not None
    assert allocate(request, place) == DevicesShort("gpu", 1, 0)


def test_what_no_set_of_zones_has_is_a_reason() -> None:
    assert hints(used(node_with(*tree()), 0, 5), asking(gpu=7)) == DevicesShort("gpu", 7, 6)
    assert hints(node_with(*tree()), asking(gpu=9)) == DevicesOutsideZones("gpu", 9, 8)
    assert hints(node_with(*tree()), asking(rdma=50)) == DevicesMissing("rdma")


def test_a_device_of_no_zone_is_in_each() -> None:
    anywhere = node_with(*tree(), card(8, place=DevicePlace(-1, "9")))
    found = hints(used(anywhere, *range(8)), asking(gpu=1))
    assert found == {
        "gpu": (zone(0, preferred=True, score=500), zone(1, preferred=True, score=500), zone(0, 1, score=500))
    }


def test_what_is_booked_keeps_to_the_zones_that_were_decided_on() -> None:
    drawing = node_with(*tree())
    view = of(drawing)
    prepared = prepare(asking(gpu=2), view, rules("1.8"))
    (check,) = (one for one in prepared.checks if one.depends_on == "books")
    found = check.reserve(asking(gpu=2), view.state("n1"), replace(NOTHING, numa_nodes=(1,)))
    assert found == replace(holding(4, 5), numa_nodes=(1,))
    booked = reserve(asking(gpu=2), view.state("n1"), prepared)
    assert isinstance(booked, PendingPod)
    assert booked.allocations == holding(0, 1)
