"""The devices that reservations hold: for whom they are free, on which terms, and what strangers see of them."""

import pytest
from msgspec.structs import replace

from kubectl_koord.engine.filters import placed, prepare
from kubectl_koord.engine.filters.device_allocation import PodDeviceRequest, request_of
from kubectl_koord.engine.filters.device_share import ZoneHint, place_of, topology_hints
from kubectl_koord.engine.reasons import BeyondReservedDevices, DevicesMissing, DevicesShort, Reason
from kubectl_koord.engine.reservations import matched
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import DeviceAllocation, DeviceOptions, JointAllocation
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.reservations import ReservationAffinity, ReservationUse
from kubectl_koord.wording.refusals import device_obstacle, device_stage
from tests.build import Drawing, attempt_of, card, devices, holding, nic
from tests.engine.filters.device_share.world import asking, cards, given, node_with, refusal, tree
from tests.trials import on_trial

MINE = (("app", "job"),)
MUST = ReservationUse(ReservationAffinity())
IGNORES = ReservationUse(ignores=True)
VERSIONS = ("1.7", "1.8", "main")


def reserving(drawing: Drawing, *minors: int, name: str = "r", share: int = 100, **fields: object) -> Drawing:
    drawn = drawing.with_reservation(name, "n1", 2, **fields)  # type: ignore[arg-type]
    room = replace(drawn.reserved[-1], allocations=holding(*minors, share=share, reservation=name))
    return drawn.but(reserved=(*drawn.reserved[:-1], room))


def owned(drawing: Drawing, *minors: int, of_name: str = "r", share: int = 100) -> Drawing:
    booked = holding(*minors, share=share, reservation=of_name)
    return drawing.with_running(f"owner-{of_name}-{minors}", "n1", 0.5, allocations=booked)


def mine(use: ReservationUse | None = None, **amounts: int) -> PendingPod:
    pod = asking("p", **amounts)
    return replace(pod, labels=MINE, requirements=replace(pod.requirements, reservation=use))


def taken(drawing: Drawing, pod: PendingPod) -> str:
    view = of(drawing)
    found = placed(pod, view.state("n1"), prepare(pod, view, rules(drawing.config.version)))
    assert isinstance(found, PendingPod)
    assert found.allocations is not None
    return found.allocations.reservation


TWO = node_with(*cards(2))
BOTH = reserving(TWO, 0, 1)
ONE_OF_TWO = reserving(TWO, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_reserved_cards_are_free_for_those_they_are_for_and_taken_for_all_others(version: str) -> None:
    both = BOTH.version(version)
    assert given(both, mine(gpu=2)) == ["gpu0", "gpu1"]
    assert refusal(both, asking(gpu=1)) == DevicesShort("gpu", 1, 0)
    assert given(both, mine(IGNORES, gpu=2)) == ["gpu0", "gpu1"]
    drawn = owned(both, 0)
    assert given(drawn, mine(gpu=1)) == ["gpu1"]
    assert refusal(drawn, mine(gpu=2)) == DevicesShort("gpu", 2, 1)
    assert refusal(drawn, mine(IGNORES, gpu=2)) == DevicesShort("gpu", 2, 1)


def test_what_is_reserved_goes_first_and_the_rest_of_the_node_is_added() -> None:
    half = reserving(TWO, 1, share=50)
    assert given(half, asking(core=50, ratio=50)) == ["gpu0"]
    assert given(half, mine(core=50, ratio=50)) == ["gpu1"]
    assert given(ONE_OF_TWO, mine(gpu=2)) == ["gpu0", "gpu1"]


@pytest.mark.parametrize(
    ("drawing", "pod", "reason"),
    [
        (reserving(TWO, 0, policy="Restricted"), mine(MUST, gpu=1), None),
        (reserving(TWO, 0, policy="Restricted"), mine(MUST, gpu=2), DevicesShort("gpu", 2, 1)),
        (reserving(TWO, 0, policy="Restricted"), mine(gpu=2), None),  # by what all reservations hold together
        (owned(reserving(TWO, 0, policy="Restricted"), 0), mine(MUST, gpu=1), DevicesShort("gpu", 1, 0)),
        (reserving(TWO, 0, policy="Aligned"), mine(MUST, gpu=2), None),
        (owned(reserving(TWO, 0, policy="Aligned"), 0), mine(MUST, gpu=2), DevicesShort("gpu", 2, 1)),
        (owned(reserving(TWO, 0, share=50, policy="Restricted"), 0, share=25), mine(MUST, core=25, ratio=25), None),
        (
            owned(reserving(TWO, 0, share=50, policy="Restricted"), 0, share=25),
            mine(MUST, core=50, ratio=50),
            DevicesShort("gpu", 1, 0),
        ),
        (reserving(node_with(), 0), mine(MUST, rdma=1), DevicesMissing("rdma")),
        (TWO.with_reservation("bare", "n1", 2), mine(MUST, gpu=2), None),
    ],
)
def test_a_pod_that_must_use_a_reservation_gets_what_its_policy_gives(
    drawing: Drawing, pod: PendingPod, reason: Reason | None
) -> None:
    expected = None if reason is None else BeyondReservedDevices((reason,))  # type: ignore[arg-type]
    assert refusal(drawing, pod) == expected


def test_each_reservation_is_looked_at_alone_and_then_all_together() -> None:
    two = reserving(reserving(TWO, 0, name="r"), 1, name="s")
    assert refusal(two, mine(MUST, gpu=2)) == BeyondReservedDevices((DevicesShort("gpu", 2, 1),) * 2)
    assert given(two, mine(gpu=2)) == ["gpu0", "gpu1"]
    assert taken(two, mine(gpu=2)) == ""
    strangers = reserving(two, 0, name="others", app="other")
    assert refusal(strangers, mine(gpu=2)) == DevicesShort("gpu", 2, 1)


def test_the_reservation_that_is_taken_has_the_devices() -> None:
    two = owned(reserving(reserving(TWO, 0, name="r", order=1), 1, name="s", order=2), 0, of_name="r")
    assert (taken(two, mine(gpu=1)), given(two, mine(gpu=1))) == ("s", ["gpu1"])
    assert taken(two, mine()) == "r"


def test_a_reservation_without_devices_has_no_say() -> None:
    without = TWO.with_reservation("bare", "n1", 2)
    assert (taken(without, mine(gpu=1)), given(without, mine(gpu=2))) == ("bare", ["gpu0", "gpu1"])
    nothing_known = Drawing("", {"n1": replace(TWO.nodes["n1"], devices=None)}, {}).with_reservation("bare", "n1", 2)
    assert (taken(nothing_known, mine(gpu=1)), given(nothing_known, mine(gpu=2))) == ("bare", [])


def test_a_restricted_one_that_is_used_up_of_one_type_still_gives_another_of_its_own_minors_alone() -> None:
    drawing = reserving(node_with(*cards(2), nic(0), nic(1)), 0, policy="Restricted")
    rdma = DeviceAllocation("rdma", 0, (("koordinator.sh/rdma", 100),))
    room = drawing.reserved[0]
    held = replace(room.allocations, devices=(*room.allocations.devices, rdma))
    both = drawing.but(reserved=(replace(room, allocations=held),))
    assert given(both, mine(MUST, gpu=1, rdma=100)) == ["gpu0", "rdma0"]
    drawn = owned(both, 0)
    assert given(drawn, mine(MUST, rdma=100)) == ["rdma0"]
    assert refusal(drawn, mine(MUST, gpu=1, rdma=100)) == BeyondReservedDevices((DevicesShort("gpu", 1, 0),))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_second_member_finds_what_the_first_leaves_but_in_1_7_where_the_reservation_is_spent(version: str) -> None:
    gang = BOTH.but(reservations=(replace(BOTH.reservations[0], once=True),)).version(version)
    pods = tuple(replace(mine(gpu=1), name=f"job-{number}", gang="default/job") for number in range(2))
    found = attempt_of(gang.with_group("job", 2).with_pods(*pods))
    assert (found.placement is not None) == (version != "1.7")


def test_zones_have_what_is_reserved_there_for_those_it_is_for() -> None:
    drawing = reserving(node_with(*tree()), 0, 1, 2, 3)
    pod, view = mine(gpu=4), of(drawing)
    request = request_of(pod.requirements)
    assert isinstance(request, PodDeviceRequest)
    place = place_of(request, view.state("n1"), drawing, mine=matched(view, pod, frozenset()))
    strangers = place_of(request, view.state("n1"), drawing)
    assert place is not None
    assert strangers is not None
    first, second = (
        ZoneHint(frozenset({0}), preferred=True, score=500),
        ZoneHint(frozenset({1}), preferred=True, score=0),
    )
    every = ZoneHint(frozenset({0, 1}), preferred=False, score=500)
    assert topology_hints(request, place) == {"gpu": (first, second, every)}
    assert topology_hints(request, strangers) == {"gpu": (replace(second, score=500), every)}


@pytest.mark.parametrize("version", VERSIONS)
def test_an_owner_that_has_more_of_a_card_than_is_reserved_counts_no_more_at_all_there(version: str) -> None:
    full = TWO.with_running("other", "n1", allocations=holding(1))
    drawn = owned(reserving(full, 0, share=25), 0).version(version)
    assert given(drawn, asking(core=75, ratio=75)) == ["gpu0"]
    assert refusal(drawn, asking(core=80, ratio=80)) == DevicesShort("gpu", 1, 0)
    assert refusal(drawn, mine(core=25, ratio=25)) == DevicesShort("gpu", 1, 0)
    two = reserving(drawn, 0, name="s", share=0)  # beside another one that is for the pod, too
    assert (taken(two, mine(core=75, ratio=75)), given(two, mine(core=75, ratio=75))) == ("s", ["gpu0"])
    assert refusal(two, mine(IGNORES, core=25, ratio=25)) == DevicesShort("gpu", 1, 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_owner_that_would_be_preempted_gives_its_cards_back_to_its_reservation_alone(version: str) -> None:
    other = owned(owned(reserving(ONE_OF_TWO, 1, name="s", app="other"), 0), 1, of_name="s").version(version)
    drawn = owned(BOTH, 0, 1).version(version)
    owner, stranger = "owner-r-(0, 1)", "owner-s-(1,)"
    assert on_trial(drawn, mine(gpu=2)) == DevicesShort("gpu", 2, 0)
    assert on_trial(drawn, mine(gpu=2), owner) is None
    assert on_trial(drawn, mine(MUST, gpu=2), owner) is None
    assert on_trial(drawn, mine(IGNORES, gpu=2), owner) is None
    assert on_trial(drawn, asking(gpu=1), owner) == DevicesShort("gpu", 1, 0)
    assert on_trial(other, mine(gpu=1), "owner-r-(0,)") is None
    assert on_trial(other, mine(gpu=2), "owner-r-(0,)", stranger) == DevicesShort("gpu", 2, 0)
    ended = other.without_running("default/owner-r-(0,)", f"default/{stranger}")
    assert on_trial(ended, mine(gpu=2)) == DevicesShort("gpu", 2, 1)


def test_each_reservation_has_only_its_own_owners_back() -> None:
    two = reserving(reserving(TWO, 0, name="r"), 1, name="s")
    both = owned(owned(two, 0, of_name="r"), 1, of_name="s")
    assert on_trial(both, mine(gpu=1), "owner-r-(0,)") is None
    assert on_trial(both, mine(gpu=2), "owner-r-(0,)", "owner-s-(1,)") == DevicesShort("gpu", 2, 0)
    assert on_trial(both.without_running("default/owner-r-(0,)", "default/owner-s-(1,)"), mine(gpu=2)) is None
    bare = TWO.with_reservation("bare", "n1", 2).with_running("x", "n1", allocations=holding(0, 1, reservation="bare"))
    assert on_trial(bare, asking(gpu=2), "x") is None


def test_a_restricted_one_gives_what_its_owner_had_of_its_own_cards() -> None:
    one = owned(reserving(node_with(*cards(3)), 0, 1, policy="Restricted"), 0, 1)
    owner = "owner-r-(0, 1)"
    assert on_trial(one, mine(MUST, gpu=2)) == BeyondReservedDevices((DevicesShort("gpu", 2, 0),))
    assert on_trial(one, mine(MUST, gpu=2), owner) is None
    assert on_trial(one, mine(MUST, gpu=3), owner) == BeyondReservedDevices((DevicesShort("gpu", 3, 2),))
    half = reserving(node_with(*cards(3)), 0, policy="Restricted", share=50)
    elsewhere = owned(owned(half, 0, share=50), 1)
    nothing_left = BeyondReservedDevices((DevicesShort("gpu", 1, 0),))
    assert on_trial(elsewhere, mine(MUST, core=25, ratio=25)) == nothing_left
    assert on_trial(elsewhere, mine(MUST, core=50, ratio=50), "owner-r-(0,)") is None
    assert on_trial(elsewhere, mine(MUST, core=50, ratio=50), "owner-r-(1,)") is None  # a fault of upstream
    assert on_trial(elsewhere, mine(MUST, core=60, ratio=60), "owner-r-(1,)") == nothing_left
    wired = half.change("n1", devices=devices(card(0), nic(0)))
    rdma = wired.with_running("wired", "n1", 0.5, allocations=holding(0, kind="rdma", reservation="r"))
    assert on_trial(rdma, mine(MUST, core=50, ratio=50), "wired") is None


@pytest.mark.parametrize("version", VERSIONS)
def test_once_a_reservation_is_spent_its_owner_gives_nothing_back_in_1_7(version: str) -> None:
    drawn = owned(reserving(TWO, 0, 1, once=True), 0, 1).version(version)
    expected = DevicesShort("gpu", 2, 0) if version == "1.7" else None
    assert on_trial(drawn, mine(gpu=2), "owner-r-(0, 1)") == expected


@pytest.mark.parametrize("version", VERSIONS)
def test_zones_after_one_without_devices_are_hinted_though_owners_have_their_devices(version: str) -> None:
    drawing = owned(reserving(node_with(*tree()), 0, 1, 4, 5), 0, 1, 4, 5).version(version)
    pod, view = mine(gpu=3), of(drawing)
    request = request_of(pod.requirements)
    assert isinstance(request, PodDeviceRequest)
    place = place_of(request, view.state("n1"), drawing, mine=matched(view, pod, frozenset()))
    assert place is not None
    second = ZoneHint(frozenset({1}), preferred=True, score=0)
    every = ZoneHint(frozenset({0, 1}), preferred=False, score=500)
    assert topology_hints(request, place) == {"gpu": (second, every)}
    assert given(drawing, mine(gpu=4)) == ["gpu2", "gpu3", "gpu6", "gpu7"]
    assert refusal(drawing, mine(gpu=5)) == DevicesShort("gpu", 5, 4)


def test_why_a_reservation_does_not_do_is_said_once() -> None:
    reason = BeyondReservedDevices((DevicesShort("gpu", 2, 1),) * 2)
    assert device_obstacle(reason) == "fewer than 2 GPU with enough free with a reservation"
    assert device_stage(reason) == "with the devices it asks for free in a reservation"


@pytest.mark.parametrize(
    ("joint", "layout", "fails"),
    [
        (None, {}, False),
        (JointAllocation(("gpu", "rdma")), {}, False),
        (JointAllocation(("gpu",), "SamePCIe"), {}, False),
        (JointAllocation(("gpu", "rdma"), "SamePCIe"), {}, True),
        (JointAllocation(("gpu", "rdma")), {"plans_secondaries": True}, True),
        (None, {"plans_secondaries": True}, False),
    ],
)
def test_only_devices_that_belong_together_may_be_missing_at_reserve(
    joint: JointAllocation | None, layout: dict[str, bool], *, fails: bool
) -> None:
    pod = asking(gpu=1, rdma=100)
    pod = replace(pod, requirements=replace(pod.requirements, devices=DeviceOptions(joint=joint)))
    prepared = prepare(pod, of(node_with(card(0), nic(0), **layout)), rules("1.8"))
    assert prepared.may_fail_to_reserve is fails
