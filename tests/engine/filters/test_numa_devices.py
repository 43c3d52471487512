"""Zones and cards together: NodeNUMAResource asks DeviceShare which zones have the devices."""

import pytest
from msgspec import structs

from kubectl_koord.engine.filters import placed, prepare
from kubectl_koord.engine.reasons import DevicesOutsideZones, DevicesShort, Reason, UnalignedZones
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import (
    CPU,
    Allocations,
    CPUTopology,
    Device,
    DeviceAllocation,
    DevicePlace,
    NodeNUMA,
    NUMAPolicy,
    Zone,
)
from kubectl_koord.model.pods import PendingPod
from tests.build import Drawing, card, running
from tests.engine.filters.device_share.world import CORE, RATIO, asking, node_with, refusal, tree

BOOKS = CPUTopology(tuple(CPU(number, number // 2, number // 8, number // 8) for number in range(16)))
ZONES = tuple(Zone(number, (("cpu", 8000),)) for number in range(2))
SECOND = card(4, place=DevicePlace(1, "2"))


def zoned(policy: NUMAPolicy, *of_them: Device) -> Drawing:
    """Return a node of two zones with a policy, and these devices."""
    return node_with(*of_them).change("n1", numa=NodeNUMA(cpus=BOOKS, zones=ZONES, policy=policy))


def holding(*minors: int) -> Allocations:
    """Return what is booked for one who has these cards."""
    return Allocations(devices=tuple(DeviceAllocation("gpu", one, ((CORE, 100), (RATIO, 100))) for one in minors))


def got(drawing: Drawing, pod: PendingPod) -> tuple[object, list[int]]:
    """Return the zones and cards that a pod gets."""
    view = of(drawing)
    found = placed(pod, view.state("n1"), prepare(pod, view, rules("1.8")))
    assert isinstance(found, PendingPod), found
    assert found.allocations is not None
    zones = found.allocations.cpus and [zone for zone, _ in found.allocations.cpus.zones]
    assert found.allocations.numa_nodes == (tuple(zones) if zones else None)
    return zones, [one.minor for one in found.allocations.devices]


@pytest.mark.parametrize("policy", ["Restricted", "SingleNUMANode", "BestEffort"])
def test_a_pod_gets_cpus_and_cards_of_one_zone(policy: NUMAPolicy) -> None:
    assert got(zoned(policy, SECOND), asking(gpu=1)) == ([1], [4])
    free = zoned(policy, *tree())
    assert got(free, asking(gpu=4)) == ([0], [0, 1, 2, 3])
    full = free.but(running={"n1": (running("one", "n1", allocations=holding(0)),)})
    assert got(full, asking(gpu=4)) == ([1], [4, 5, 6, 7])


@pytest.mark.parametrize(
    ("drawing", "number", "reason"),
    [
        (zoned("Restricted", card(0), card(1)), 1, DevicesShort("gpu", 1, 0)),
        (zoned("SingleNUMANode", *tree()), 5, UnalignedZones("SingleNUMANode", (("cpu", (1, 2), (1, 2, 3)),))),
        (zoned("Restricted", SECOND), 2, DevicesOutsideZones("gpu", 2, 1, unresolvable=False)),
        (zoned("BestEffort", SECOND), 2, DevicesShort("gpu", 2, 1)),
    ],
)
def test_zones_without_the_cards_do_not_do(drawing: Drawing, number: int, reason: Reason) -> None:
    found = refusal(drawing, asking(gpu=number))
    if isinstance(found, UnalignedZones) and isinstance(reason, UnalignedZones):
        found = structs.replace(found, hints=tuple(one for one in found.hints if one[0] != "gpu"))
    assert found == reason


def test_without_devices_zones_are_chosen_for_cpus_alone() -> None:
    no_object = zoned("Restricted").change("n1", devices=None)
    assert got(no_object, asking(gpu=1)) == ([0], [])
    unread = zoned("Restricted", SECOND).with_gap("Device")
    assert got(unread, asking(gpu=1)) == ([0], [])


@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_devices_that_have_no_say_in_zones_are_looked_for_at_reserve_on_any(version: str) -> None:
    apart = zoned("SingleNUMANode", *tree()).configured(aligns_devices=False).version(version)
    assert got(apart, asking(gpu=5)) == ([0], [0, 1, 2, 3, 4])
    view = of(apart)
    many = asking(gpu=9)
    prepared = prepare(many, view, rules(version))
    assert prepared.may_fail_to_reserve
    assert refusal(apart, many) is None
    assert placed(many, view.state("n1"), prepared) == DevicesShort("gpu", 9, 8)
    plain = of(node_with(*tree()).configured(aligns_devices=False))
    assert not prepare(many, plain, rules(version)).may_fail_to_reserve


def test_cards_are_given_back_with_their_zones() -> None:
    drawing = zoned("SingleNUMANode", *tree())
    there = (running("a", "n1", allocations=holding(0)), running("b", "n1", allocations=holding(4)))
    full = drawing.but(running={"n1": there})
    assert isinstance(refusal(full, asking(gpu=4)), UnalignedZones)
    assert got(drawing.but(running={"n1": there[:1]}), asking(gpu=4)) == ([1], [4, 5, 6, 7])


@pytest.mark.parametrize("policy", ["Restricted", "SingleNUMANode"])
@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_a_zone_whose_cards_owners_of_its_reservation_have_is_chosen_and_lacks_them(
    version: str, policy: NUMAPolicy
) -> None:
    """A fault of upstream: two zones together have the cards, the second one only seems to."""
    drawn = zoned(policy, *tree()).with_reservation("r", "n1", 2).version(version)
    held = structs.replace(drawn.reserved[-1], allocations=structs.replace(holding(0, 1, 4, 5), reservation="r"))
    drawing = drawn.but(reserved=(held,)).with_running(
        "owner", "n1", allocations=structs.replace(holding(0, 1, 4, 5), reservation="r")
    )
    pod = structs.replace(asking(gpu=4), labels=(("app", "job"),))
    prepared, view = prepare(pod, of(drawing), rules(version)), of(drawing)
    assert refusal(drawing, pod) == DevicesShort("gpu", 4, 2)
    assert any(check.refused(view, pod, 1) for check in prepared.checks)
    fewer = structs.replace(asking(gpu=2), labels=(("app", "job"),))
    assert got(drawing, fewer) == ([0], [2, 3])
    assert not any(check.refused(view, fewer, 1) for check in prepare(fewer, view, rules(version)).checks)


@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_the_reservation_that_is_taken_has_the_cards_of_the_zones_that_are_chosen(version: str) -> None:
    drawing = zoned("SingleNUMANode", *tree())
    for name, minor, order in (("far", 4, 2), ("near", 0, 1)):
        drawn = drawing.with_reservation(name, "n1", 2, policy="Restricted", order=order)
        held = structs.replace(drawn.reserved[-1], allocations=structs.replace(holding(minor), reservation=name))
        drawing = drawn.but(reserved=(*drawn.reserved[:-1], held))
    pod = structs.replace(asking(gpu=1), labels=(("app", "job"),))
    assert _taken(drawing.version(version), pod) == ("far", (1,), [4])
    at_reserve = drawing.change("n1", numa=NodeNUMA(cpus=BOOKS, zones=ZONES, policy="BestEffort"))
    assert _taken(at_reserve.version(version), pod)[0] == ("far" if version == "1.7" else "near")


def _taken(drawing: Drawing, pod: PendingPod) -> tuple[str, tuple[int, ...] | None, list[int]]:
    """Return the reservation that a pod takes, its zones and its cards."""
    view = of(drawing)
    found = placed(pod, view.state("n1"), prepare(pod, view, rules(drawing.config.version)))
    assert isinstance(found, PendingPod), found
    booked = found.allocations
    assert booked is not None
    return booked.reservation, booked.numa_nodes, [one.minor for one in booked.devices]
