"""Which devices there are, what is free of each, who has the rest, and what is free in each domain."""

from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.explain.devices import devices, domain_names
from kubectl_koord.explain.place import node_report
from kubectl_koord.explain.topo import topo
from kubectl_koord.model.hardware import Device, DevicePlace, NodeDevices
from kubectl_koord.render.show import text
from kubectl_koord.reports.capacity import Card, DeviceRoom, DevicesReport, Holder, NodeCards, TypeTotal, UnlistedCard
from kubectl_koord.reports.common import DomainName
from tests.build import BLOCK, ROOT, SPINE, Drawing, card, cluster, cpus, holding, nic
from tests.build import devices as listing
from tests.render.samples import PIPE

GIB = 1 << 30
WHOLE = {"koordinator.sh/gpu-core": 100, "koordinator.sh/gpu-memory": 16 * GIB, "koordinator.sh/gpu-memory-ratio": 100}
HALF = {name: amount // 2 for name, amount in WHOLE.items()}
NONE = dict.fromkeys(WHOLE, 0)


def gpu(minor: int, number: str, *rest: Any, healthy: bool = True) -> Card:  # noqa: ANN401
    """Return what is told of a GPU; `rest` goes on with what there is of it."""
    return Card("gpu", minor, number, healthy, *rest)


def gpus(number: int, **fields: object) -> NodeDevices:
    """Return the Device object of a node with GPUs."""
    return structs.replace(listing(*map(card, range(number)), **fields), ids=tuple(f"GPU-{n}" for n in range(number)))


def two_blocks() -> Drawing:
    """Return three nodes of 4 GPUs: one is full, one has a card in use by halves, one is empty."""
    drawn = cluster("s0: b0[n1 n2] b1[n3]").change("n1", "n2", "n3", devices=gpus(4))
    drawn = drawn.with_running("full", "n1", allocations=holding(0, 1, 2, 3))
    return drawn.with_running("half", "n2", allocations=holding(2, share=50))


def row(report: DevicesReport, node: str) -> NodeCards:
    return next(each for each in report.nodes if each.node == node)


def card_of(report: DevicesReport, node: str, minor: int = 0) -> Card:
    return next(each for each in row(report, node).cards if each.minor == minor)


def test_each_card_shows_what_is_free_of_it_and_who_has_the_rest() -> None:
    report = devices(two_blocks())

    assert report.verdict == "yes"
    assert row(report, "n2").parent == DomainName(BLOCK, "b0")
    assert card_of(report, "n1") == gpu(
        0, "GPU-0", WHOLE, NONE, ("default/full",), 0, (Holder("pod", "default/full", 100),)
    )
    assert card_of(report, "n2", 2) == gpu(
        2, "GPU-2", WHOLE, HALF, ("default/half",), 50, (Holder("pod", "default/half", 50),)
    )
    assert card_of(report, "n3", 3) == gpu(3, "GPU-3", WHOLE, WHOLE, (), 100)


def test_whole_cards_are_counted_by_domain_apart_from_shares_and_so_is_the_room_for_larger_pods() -> None:
    report = devices(two_blocks())

    assert report.devices == (
        TypeTotal("gpu", 12, 0, 7, 0, 1, 50, (DeviceRoom(1, 7), DeviceRoom(2, 3), DeviceRoom(4, 1))),
    )
    found = {(each.layer, each.name): each for each in report.domains}
    assert list(found) == [(ROOT, ""), (SPINE, "s0"), (BLOCK, "b0"), (BLOCK, "b1")]
    assert found[ROOT, ""].devices == found[SPINE, "s0"].devices == report.devices
    assert found[BLOCK, "b0"].devices == (
        TypeTotal("gpu", 8, 0, 3, 0, 1, 50, (DeviceRoom(1, 3), DeviceRoom(2, 1), DeviceRoom(4, 0))),
    )
    assert found[BLOCK, "b1"].devices == (
        TypeTotal("gpu", 4, 0, 4, 0, 0, 0, (DeviceRoom(1, 4), DeviceRoom(2, 2), DeviceRoom(4, 1))),
    )
    assert found[BLOCK, "b1"].parent == DomainName(SPINE, "s0")


def test_nodes_may_be_named_and_then_no_domains_are_shown() -> None:
    report = devices(two_blocks(), ["n3", "n1"])

    assert [node.node for node in report.nodes] == ["n3", "n1"]
    assert (report.asked, report.domains) == (("n3", "n1"), ())
    assert report.devices[0].cards == 8


def test_a_domain_is_shown_with_what_is_below_it() -> None:
    drawn = two_blocks()
    report = devices(drawn, domain="b0")

    assert [node.node for node in report.nodes] == ["n1", "n2"]
    assert [(each.layer, each.name) for each in report.domains] == [(BLOCK, "b0")]
    assert [each.name for each in devices(drawn, domain="s0").domains] == ["s0", "b0", "b1"]
    assert domain_names(drawn) == ("s0", "b0", "b1")


def test_what_a_card_has_nothing_of_is_not_shown() -> None:
    ratio = "koordinator.sh/gpu-memory-ratio"
    none = structs.replace(card(0), resources=(("koordinator.sh/gpu-memory", 0), (ratio, 100)))
    report = devices(cluster("s: b[n]").change("n", devices=structs.replace(listing(none), ids=("a",))))

    assert card_of(report, "n").total == {ratio: 100}
    assert card_of(report, "n").free == {ratio: 100}


def test_an_unhealthy_card_is_listed_and_never_free() -> None:
    ill = listing(card(0, healthy=False), card(1))
    report = devices(cluster("s: b[n]").change("n", devices=structs.replace(ill, ids=("a", "b"))))

    assert card_of(report, "n") == gpu(0, "a", WHOLE, NONE, (), 0, healthy=False)
    assert report.devices == (TypeTotal("gpu", 2, 1, 1, 0, 0, 0, (DeviceRoom(1, 1), DeviceRoom(2, 0))),)


@pytest.mark.parametrize("state", ["cordoned", "not ready"])
def test_what_is_free_on_a_node_that_takes_no_pods_is_not_counted_as_free(state: str) -> None:
    drawn = two_blocks()
    drawn = drawn.cordon("n3") if state == "cordoned" else drawn.change("n3", ready=False)

    report = devices(drawn)

    assert row(report, "n3").state == state
    assert (report.devices[0].free, report.devices[0].withheld) == (3, 4)
    assert report.devices[0].room[-1] == DeviceRoom(4, 0)


def test_every_type_is_counted_on_its_own_and_place_is_told() -> None:
    place = DevicePlace(1, "pci0")
    both = listing(nic(0), card(1, place=place), Device("tensor", 0, (("x", 4),)), card(0))
    report = devices(cluster("s: b[n]").change("n", devices=structs.replace(both, ids=("", "", "", ""))))

    found = [(each.type, each.minor, each.numa, each.pcie) for each in row(report, "n").cards]
    assert found == [("gpu", 0, None, None), ("gpu", 1, 1, "pci0"), ("rdma", 0, None, None), ("tensor", 0, None, None)]
    assert [(each.type, each.cards) for each in report.devices] == [("gpu", 2), ("rdma", 1), ("tensor", 1)]


def test_a_reservation_holds_what_its_pods_have_left_of_it() -> None:
    drawn = cluster("s: b[n]").change("n", devices=gpus(3))
    drawn = drawn.with_reserved("kept", "n", allocations=holding(0, 1, reservation="uid"))
    drawn = drawn.with_running("owner", "n", allocations=holding(0, reservation="uid"))
    drawn = drawn.with_running("stranger", "n", allocations=holding(2, reservation="other"))
    drawn = drawn.with_running("cpus-only", "n")

    report = devices(drawn)

    assert card_of(report, "n", 0).holders == (Holder("pod", "default/owner", 100),)
    assert card_of(report, "n", 1).holders == (Holder("reservation", "kept", 100),)
    assert (card_of(report, "n", 1).pods, card_of(report, "n", 1).free) == ((), NONE)
    assert report.devices[0].free == 0


def test_several_pods_of_a_reservation_draw_on_the_same_card() -> None:
    drawn = (
        cluster("s: b[n]")
        .change("n", devices=gpus(1))
        .with_reserved("kept", "n", allocations=holding(0, reservation="uid"))
    )
    for name in ("one", "two"):
        drawn = drawn.with_running(name, "n", allocations=holding(0, share=25, reservation="uid"))

    found = card_of(devices(drawn), "n")

    shares = [(each.kind, each.name, each.share) for each in found.holders or ()]
    assert shares == [("reservation", "kept", 50), ("pod", "default/one", 25), ("pod", "default/two", 25)]
    assert found.free == NONE


def test_a_reservation_without_uid_is_drawn_on_by_nobody() -> None:
    drawn = cluster("s: b[n]").change("n", devices=gpus(1)).with_reserved("kept", "n", allocations=holding(0))
    drawn = drawn.with_running("other", "n", cpu=1)

    assert card_of(devices(drawn), "n").holders == (Holder("reservation", "kept", 100),)


def test_devices_that_pods_have_and_no_device_object_lists_are_told() -> None:
    drawn = cluster("s: b[n m o]").change("m", devices=gpus(1))
    drawn = drawn.with_running("a", "n", allocations=holding(1, 0)).with_running("b", "n", allocations=holding(1))
    drawn = drawn.with_running("c", "m", allocations=holding(5))
    drawn = drawn.with_reserved("kept", "o", allocations=holding(0, reservation="uid"))

    report = devices(drawn)

    assert row(report, "n") == NodeCards(
        "n",
        DomainName(BLOCK, "b"),
        "",
        "missing",
        (),
        unlisted=(
            UnlistedCard("gpu", 0, ("default/a",)),
            UnlistedCard("gpu", 1, ("default/a", "default/b")),
        ),
    )
    assert row(report, "m").unlisted == (UnlistedCard("gpu", 5, ("default/c",)),)
    assert [node.node for node in report.nodes] == ["m", "n"]
    assert report.without_devices == 1


def test_a_node_without_devices_is_listed_where_it_has_an_empty_device_object_accelerators_or_was_named() -> None:
    drawn = cluster("s: b[bare empty gpu named]").change("empty", devices=listing())
    drawn = drawn.change("gpu", allocatable=(("nvidia.com/gpu", 8), ("pods", 110)))

    report = devices(drawn)

    assert [(node.node, node.device, node.accelerators) for node in report.nodes] == [
        ("empty", "empty", ()),
        ("gpu", "missing", ("nvidia.com/gpu",)),
    ]
    assert (report.without_devices, report.devices) == (2, ())
    assert [node.node for node in devices(drawn, ["named"]).nodes] == ["named"]


def test_without_a_tree_nodes_are_in_no_domain() -> None:
    drawn = two_blocks().but(topologies={})
    report = devices(drawn)

    assert {node.parent for node in report.nodes} == {None}
    assert (report.domains, domain_names(drawn), devices(drawn, domain="b0").nodes) == ((), (), ())


def test_a_node_outside_the_tree_counts_in_no_domain() -> None:
    report = devices(cluster("-: b[n]").change("n", devices=gpus(2)))

    assert row(report, "n").parent is None
    assert report.devices[0].cards == 2
    assert report.domains[0].devices == ()


@pytest.mark.parametrize("kind", ["Device", "Node"])
def test_where_devices_or_nodes_could_not_be_read_the_answer_is_unknown(kind: str) -> None:
    report = devices(two_blocks().with_gap(kind), domain="b0")

    assert (report.verdict, report.nodes, report.domains) == ("unknown", (), ())
    assert report.message == f"{kind} could not be read: you may not read it"
    assert [notice.code for notice in report.warnings] == ["forbidden-list"]


def test_where_the_topology_could_not_be_read_only_a_domain_is_unknown() -> None:
    drawn = two_blocks().with_gap("ClusterNetworkTopology")

    assert devices(drawn).verdict == "yes"
    assert devices(drawn, domain="b0").verdict == "unknown"


@pytest.mark.parametrize("kind", ["Pod", "Reservation"])
def test_where_not_all_owners_could_be_read_what_is_free_is_not_told(kind: str) -> None:
    report = devices(two_blocks().with_gap(kind))

    found = card_of(report, "n1")
    assert report.verdict == "yes"
    assert (found.free, found.share, found.total) == (None, None, WHOLE)
    assert (found.pods is None, found.holders is None) == (kind == "Pod", kind == "Pod")
    assert report.devices == (TypeTotal("gpu", 12, 0, None, None, None, None),)


def test_what_a_file_does_not_hold_is_absent_with_a_warning() -> None:
    report = devices(two_blocks().with_gap("Reservation", "not-in-input"))

    assert report.verdict == "yes"
    assert card_of(report, "n1").free == NONE
    assert [notice.code for notice in report.warnings] == ["kind-not-in-input"]


def test_cards_that_pods_have_without_an_annotation_are_counted_and_told() -> None:
    drawn = two_blocks().change("n3", allocatable=(*cpus(8, nvidia_gpu=4), ("pods", 110)))
    drawn = drawn.with_running("jup", on="n3", requests=(("nvidia.com/gpu", 1),))
    report = devices(drawn)
    assert (report.devices[0].free, report.devices[0].unbooked) == (7, 100)
    assert [one.code for one in report.warnings] == ["device-not-booked"]
    assert [one.unbooked for one in devices(drawn, ["n1"]).devices] == [0]
    page = text(report, style=PIPE)
    assert page.startswith(
        "6 of 12 GPU are free on 3 nodes, and 1 more is held by pods, though the scheduler takes all for free.\n"
    )
    assert (
        "Devices: 3 of 4 GPU are whole and free, and 1 more is held by pods, though the scheduler takes all for"
        in text(node_report(drawn, "n3"), style=PIPE)
    )


def test_a_node_that_has_lost_cards_is_told_where_it_is_shown() -> None:
    drawn = two_blocks().change("n3", lost=(("nvidia.com/gpu", 2),))
    for report in (devices(drawn), node_report(drawn, "n3"), topo(drawn)):
        assert [one.code for one in report.warnings if one.code == "cards-lost"] == ["cards-lost"]
