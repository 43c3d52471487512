"""Who may draw on a reservation, and what it leaves free for whom."""

from typing import Any

import pytest
from msgspec.structs import replace

from kubectl_koord.engine.filters import placed, prepare, rejection
from kubectl_koord.engine.reasons import (
    BeyondReservation,
    Insufficient,
    NoReservationMatches,
    NotReserved,
    OtherPolicy,
    PortTaken,
    UnreadableAnnotation,
)
from kubectl_koord.engine.reservations import drawable, owned
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import CPU, Allocations, CPUTopology, NodeNUMA
from kubectl_koord.model.pods import EVERY_ADDRESS, HostPort, PendingPod, PodRequirements
from kubectl_koord.model.reservations import (
    OPERATING_MODE,
    OwnerController,
    OwnerObject,
    OwnerReference,
    ReservationAffinity,
    ReservationOwner,
    ReservationTerm,
    ReservationUse,
)
from kubectl_koord.model.values import Requirement, Taint, Toleration
from tests.build import Drawing, attempt_of, cluster, cpus, having, of_app, pending, running, short
from tests.trials import on_trial

ONE = cluster("s0: b0[n1:8]")
TWO = cluster("s0: b0[n1:8 n2:8]")
MINE = (("app", "job"),)
MUST = ReservationUse(ReservationAffinity())
VERSIONS = ("1.7", "1.8", "main")


def asking(cpu: float = 1, use: ReservationUse | None = None, **fields: object) -> PendingPod:
    return pending("p", cpu, labels=MINE, reservation=use, **fields)


def refusal(drawing: Drawing, pod: PendingPod, node: str = "n1", version: str = "1.8") -> object:
    view = of(drawing)
    prepared = prepare(pod, view, rules(version))
    return prepared.refusal or rejection(pod, view.state(node), prepared)


def booked(drawing: Drawing, pod: PendingPod, node: str = "n1", version: str = "1.8") -> str:
    view = of(drawing)
    found = placed(pod, view.state(node), prepare(pod, view, rules(version)))
    assert isinstance(found, PendingPod)
    assert found.allocations is not None
    return found.allocations.reservation


def test_owner_and_reservation_are_not_counted_twice() -> None:
    drawing = ONE.with_reservation("r", "n1", 4).with_owner("a", "n1", of="r", cpu=3)
    state = of(drawing).state("n1").copy()
    assert (state.free["cpu"], state.places, state.rest("r")) == (4000, 108, {"cpu": 1000})
    another = running("b", "n1", 3, allocations=Allocations(reservation="r"))
    state.add(another)
    assert (state.free["cpu"], state.rest("r")) == (4000, {"cpu": -2000})
    state.remove(another)
    twin = state.copy()
    twin.remove(drawing.running["n1"][0])
    assert (twin.free["cpu"], twin.rest("r")) == (4000, {"cpu": 4000})
    assert (state.free["cpu"], state.rest("r")) == (4000, {"cpu": 1000})
    room = twin.rooms["r"]
    twin.remove(room)
    assert (twin.free["cpu"], twin.rooms) == (8000, {})
    state.remove(room)
    assert state.free["cpu"] == 5000
    state.add(room)
    assert state.free["cpu"] == 4000


def test_only_what_is_reserved_is_drawn_from_it() -> None:
    requests = cpus(3, nvidia_gpu=2)
    drawing = ONE.with_reservation("r", "n1", size=cpus(4, nvidia_gpu=1), resources=("cpu",))
    drawing = drawing.with_owner("a", "n1", of="r", requests=requests)
    assert of(drawing).state("n1").free == {"cpu": 4000, "nvidia.com/gpu": -3}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_reservation_takes_beyond_its_size_is_not_in_it_to_give(version: str) -> None:
    drawing = ONE.change("n1", allocatable=cpus(8, memory=1, pods=110))
    drawing = drawing.with_reservation("r", "n1", size=cpus(0, memory=1), resources=("memory",))
    (room,) = drawing.reserved
    drawing = drawing.but(reserved=(replace(room, requirements=PodRequirements(cpus(6, memory=1))),))
    assert refusal(drawing, pending("stranger", 4), version=version) == Insufficient((("cpu", 4000, 2000),))
    expected = None if version == "1.7" else BeyondReservation((("cpu", 4000, 2000),))
    assert refusal(drawing, asking(4), version=version) == expected


def test_a_victim_that_owns_the_reservation_of_a_stranger_frees_nothing() -> None:
    drawing = ONE.with_reservation("r", "n1", 8, app="other").with_owner("low", "n1", of="r", cpu=8)
    drawing = drawing.with_gang("job", 1, 8, priority=9, labels=MINE)
    failed = attempt_of(drawing)
    assert failed.rejections == {"n1": Insufficient((("cpu", 8000, 0),))}
    emptied = of(drawing).without(drawing.running["n1"])
    assert emptied.state("n1").free == {"cpu": 0}


ROOMY = ONE.change("n1", allocatable=cpus(8, memory=8, pods=110))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_victim_that_owns_a_reservation_frees_what_that_does_not_reserve_for_its_pods_alone(version: str) -> None:
    requests = cpus(4, memory=6)
    drawing = ROOMY.with_reservation("r", "n1", 4, app="other").with_owner("low", "n1", "r", requests=requests)
    stranger = asking(1, requests=cpus(1, memory=4))
    assert on_trial(drawing, stranger, version=version) == Insufficient((("memory", 4, 2),))
    assert on_trial(drawing, stranger, "low", version=version) == Insufficient((("memory", 4, 2),))
    assert refusal(drawing.without_running("default/low"), stranger, version=version) is None
    owner = replace(stranger, labels=(("app", "other"),))
    assert on_trial(drawing, owner, "low", version=version) is None
    beside = drawing.with_running("plain", "n1", requests=cpus(1, memory=2))
    assert on_trial(beside, stranger, "low", "plain", version=version) == Insufficient((("memory", 4, 2),))
    assert on_trial(beside, asking(1, requests=cpus(1, memory=2)), "plain", version=version) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_beside_a_reservation_for_the_pod_each_is_given_back_what_its_own_victims_had(version: str) -> None:
    both = ROOMY.with_reservation("r", "n1", 1).with_reservation("s", "n1", 3)
    drawn = both.with_owner("a", "n1", "r", requests=cpus(1, memory=3)).with_owner(
        "b", "n1", "s", requests=cpus(3, memory=4)
    )
    pod = asking(1, requests=cpus(1, memory=6))
    reason = Insufficient((("memory", 6, 1),))
    assert on_trial(drawn, pod, version=version) == reason
    short = None if version == "1.7" else BeyondReservation((("memory", 6, 5),))
    assert on_trial(drawn, pod, "a", "b", version=version) == short
    assert on_trial(drawn, asking(1, requests=cpus(1, memory=5)), "a", "b", version=version) is None
    alone = asking(1, requests=(("memory", 5),))
    assert on_trial(drawn, alone, "b", version=version) == (
        None if version == "1.7" else BeyondReservation((("memory", 5, 1),))
    )


def test_beside_a_reservation_for_the_pod_a_stranger_s_owner_frees_what_is_reserved_in_1_7_and_for_reservations() -> (
    None
):
    """A fault of upstream, which 1.8 has for pods that stand for Reservations alone: sums count the owner out twice."""
    drawing = (
        ROOMY.with_reservation("mine", "n1", 1)
        .with_reservation("r", "n1", 4, app="other")
        .with_owner("low", "n1", "r", requests=cpus(4, memory=1))
    )
    pod = asking(5)
    assert on_trial(drawing, pod) == Insufficient((("cpu", 5000, 4000),))
    assert on_trial(drawing, pod, "low", version="1.7") is None
    for version in ("1.8", "main"):
        assert on_trial(drawing, pod, "low", version=version) == BeyondReservation((("cpu", 5000, 4000),))
    waiting = drawing.with_reserve_pod("w", 5).reserve_pods[0]
    for version in VERSIONS:
        assert on_trial(drawing, waiting, version=version) == Insufficient((("cpu", 5000, 3000),))
        assert on_trial(drawing, waiting, "low", version=version) is None


def test_in_1_7_the_owner_of_a_spent_reservation_frees_its_room_where_no_other_owner_is() -> None:
    spent = ONE.with_reservation("r", "n1", 2, app="other", once=True).with_owner("low", "n1", "r", 2)
    stranger = asking(6)
    assert on_trial(spent, stranger, version="1.7") == Insufficient((("cpu", 6000, 4000),))
    assert on_trial(spent, stranger, "low", version="1.7") is None
    beside = spent.with_reservation("s", "n1", 0.5, app="other").with_owner("own", "n1", "s", 0.5)
    assert on_trial(beside, asking(5), "low", version="1.7") == Insufficient((("cpu", 5000, 3500),))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_pod_draws_on_its_reservation_on_an_amplified_node_too(version: str) -> None:
    numa = NodeNUMA(cpus=CPUTopology((CPU(0, 0, 0, 0),)), ratio=2.0, zone_ratio=2.0)
    drawing = ONE.change("n1", numa=numa).with_reservation("r", "n1", 6)
    assert refusal(drawing, pending("stranger", 4), version=version) == Insufficient((("cpu", 4000, 2000),))
    assert refusal(drawing, asking(6), version=version) is None


@pytest.mark.parametrize(
    ("owner", "is_mine"),
    [
        (ReservationOwner(), True),
        (ReservationOwner(OwnerObject("p", "default", "u")), True),
        (ReservationOwner(OwnerObject("other")), False),
        (ReservationOwner(OwnerObject(namespace="ml")), False),
        (ReservationOwner(OwnerObject(uid="v")), False),
        (ReservationOwner(controller=OwnerController("Job", "j", "default", "o", "batch/v1", controller=True)), True),
        (ReservationOwner(controller=OwnerController()), True),
        (ReservationOwner(controller=OwnerController(namespace="ml")), False),
        (ReservationOwner(controller=OwnerController(kind="Set")), False),
        (ReservationOwner(controller=OwnerController(controller=False)), False),
        (ReservationOwner(selector=having(app="job")), True),
        (ReservationOwner(selector=having(app="other")), False),
        (ReservationOwner(OwnerObject("p"), selector=having(app="other")), False),
    ],
)
def test_all_that_an_owner_says_must_match(owner: ReservationOwner, *, is_mine: bool) -> None:
    reference = OwnerReference("Job", "j", "o", "batch/v1", controller=True)
    pod = asking(uid="u", owners=(reference,))
    drawing = ONE.with_reservation("r", "n1", owners=(owner,))
    assert (drawable(of(drawing), pod).uids, owned(pod, drawing.reservations)) == (
        (frozenset({"r"}), frozenset({"r"})) if is_mine else (frozenset(), frozenset())
    )
    nobody = ONE.with_reservation("r", "n1", owners=())
    assert drawable(of(nobody), pod).uids == frozenset()


def use(**fields: object) -> ReservationUse:
    return ReservationUse(replace(ReservationAffinity(), **fields))


TAINT = Taint("k", "", "NoSchedule")
TOLERATING = (Toleration("k", "Exists"),)
CORDON = (Toleration("node.kubernetes.io/unschedulable", "Exists"),)
NAMED_R = ReservationTerm((), (Requirement("metadata.name", "In", ("r",)),))
IN_POOL = ReservationTerm((Requirement("pool", "In", ("a",)), Requirement("network/spine", "Exists")))


@pytest.mark.parametrize(
    ("reservation", "said", "does"),
    [
        ({"unschedulable": True}, None, False),
        ({"unschedulable": True}, use(tolerations=CORDON), True),
        ({"unschedulable": True}, use(name="r"), True),
        ({"unschedulable": True, "owners": (of_app("x"),)}, ReservationUse(ignores=True), True),
        ({}, use(name="other"), False),
        ({"taints": (TAINT,)}, None, True),
        ({"taints": (TAINT,)}, MUST, False),
        ({"taints": (TAINT,)}, use(name="r"), True),
        ({"taints": (TAINT,)}, use(tolerations=TOLERATING), True),
        ({"taints": (Taint("k", "", "PreferNoSchedule"),)}, MUST, True),
        ({"labels": (("pool", "a"),)}, use(selector=(("pool", "a"),)), True),
        ({"labels": (("pool", "b"),)}, use(selector=(("pool", "a"),)), False),
        ({}, use(selector=(("network/spine", "s0"),)), True),
        ({"labels": (("network/spine", "x"),)}, use(selector=(("network/spine", "s0"),)), False),
        ({}, use(terms=()), False),
        ({}, use(terms=(ReservationTerm(), NAMED_R)), True),
        ({}, use(terms=(ReservationTerm(),)), False),
        ({}, use(terms=(ReservationTerm((), (Requirement("metadata.name", "In", ("s",)),)),)), False),
        ({"labels": (("pool", "a"),)}, use(terms=(IN_POOL,)), True),
        ({}, use(terms=(IN_POOL,)), False),
        ({}, ReservationUse(exact=("cpu",)), False),
        ({"size": cpus(1)}, ReservationUse(exact=("cpu",)), True),
        ({"size": cpus(1, nvidia_gpu=1)}, ReservationUse(exact=("cpu", "nvidia.com/gpu")), False),
        ({}, ReservationUse(exact=("nvidia.com/gpu", "cpu")), True),
        ({}, replace(use(name="r"), exact=("cpu",)), False),
    ],
)
def test_what_a_pod_asks_of_a_reservation(
    reservation: dict[str, Any], said: ReservationUse | None, *, does: bool
) -> None:
    drawing = ONE.with_reservation("r", "n1", 4, **reservation)
    assert drawable(of(drawing), asking(use=said)).uids == (frozenset({"r"}) if does else frozenset())


@pytest.mark.parametrize(("version", "does"), [("1.7", False), ("1.8", True), ("main", True)])
def test_before_1_8_no_pod_tolerates_an_unschedulable_reservation(version: str, *, does: bool) -> None:
    drawing = ONE.with_reservation("r", "n1", 4, unschedulable=True).version(version)
    said = use(tolerations=(Toleration("node.kubernetes.io/unschedulable", "Exists"),))
    assert drawable(of(drawing), asking(use=said)).uids == (frozenset({"r"}) if does else frozenset())


def test_a_reservation_that_is_gone_from_the_cluster_gives_nothing() -> None:
    drawing = ONE.with_reservation("r", "n1").with_reservation("s", "gone")
    assert drawable(of(drawing), asking()).uids == frozenset({"r"})
    assert drawable(of(drawing.but(reserved=())), asking()).uids == frozenset()


FULL = ONE.with_reservation("r", "n1", 8)


PORT = (HostPort(80, "TCP", EVERY_ADDRESS),)


def test_the_host_ports_of_a_reservation_are_for_those_that_it_is_for() -> None:
    drawing = ONE.with_reservation("r", "n1", 1)
    room = replace(drawing.reserved[0], requirements=PodRequirements(cpus(1), ports=PORT))
    drawing = drawing.but(reserved=(room,))
    assert refusal(drawing, pending("p", 1, ports=PORT)) == PortTaken(80)
    assert refusal(drawing, asking(1, ports=PORT)) is None
    assert refusal(drawing.with_owner("a", "n1", of="r", ports=PORT), asking(1, ports=PORT)) == PortTaken(80)


def test_an_owner_by_object_with_an_api_version_is_no_pod() -> None:
    owner = ReservationOwner(OwnerObject("p", api_version="v1"))
    assert owned(asking(), ONE.with_reservation("r", "n1", 1, owners=(owner,)).reservations) == frozenset()


def test_what_a_pod_says_of_reservations_must_be_readable() -> None:
    said = ReservationUse(unreadable="exact")
    assert refusal(ONE, asking(1, said)) == UnreadableAnnotation("exact")


def test_one_that_is_being_deleted_is_named_in_vain() -> None:
    drawing = ONE.with_reservation("r", "n1", 4, terminating=True, unschedulable=True)
    named = asking(1, ReservationUse(ReservationAffinity(name="r")))
    view = of(drawing)
    prepared = prepare(named, view, rules("1.8"))
    assert rejection(named, view.state("n1"), prepared) is None
    assert prepared.may_fail_to_reserve
    assert placed(named, view.state("n1"), prepared) == BeyondReservation(())


def test_a_pod_that_is_to_be_a_reservation_goes_with_no_default_one() -> None:
    label = ((OPERATING_MODE, "Reservation"),)
    for policy, expected in (("Default", OtherPolicy()), ("Restricted", None)):
        drawing = ONE.with_reservation("r", "n1", 1, policy=policy)
        assert refusal(drawing, pending("p", 1, labels=label)) == expected
    assert refusal(ONE.with_reservation("r", "n1", 1, policy="Default"), pending("p", 1)) is None


def test_a_reservation_of_nothing_that_a_pod_asks_for_is_not_taken() -> None:
    drawing = ONE.change("n1", allocatable=cpus(8, memory=8, pods=110))
    drawing = drawing.with_reservation("r", "n1", size=(("memory", 8),), resources=("memory",))
    assert booked(drawing, asking(1)) == ""
    assert booked(drawing, asking(1, MUST)) == "r"


def test_one_for_a_single_owner_is_taken_once() -> None:
    drawing = ONE.with_reservation("r", "n1", 4, once=True).with_owner("a", "n1", of="r", cpu=2)
    assert booked(drawing, asking(1)) == ""


def test_the_reservation_that_is_used_up_most_draws_a_pod_to_its_node() -> None:
    drawing = (
        TWO.with_reservation("large", "n1", 8).with_reservation("small", "n2", 4).with_reservation("none", "n2", 0)
    )
    drawing = drawing.with_gang("job", 1, 4, labels=MINE)
    assert short(attempt_of(drawing).placement) == {"job-0": "n2"}


@pytest.mark.parametrize("version", VERSIONS)
def test_those_for_whom_it_is_see_its_room_and_its_place(version: str) -> None:
    assert refusal(FULL, asking(8), version=version) is None
    stranger = refusal(FULL, pending("p", 1), version=version)
    assert stranger == Insufficient((("cpu", 1000, 0),))
    full = FULL.change("n1", allocatable=(*cpus(8), ("pods", 1)))
    assert refusal(full, asking(8), version=version) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_who_must_use_a_reservation_goes_to_no_other_node(version: str) -> None:
    drawing = TWO.with_reservation("r", "n1", 4)
    assert refusal(drawing, asking(use=MUST), version=version) is None
    assert refusal(drawing, asking(use=MUST), "n2", version) == NotReserved()
    elsewhere = asking(use=MUST, node_selector=(("network/spine", "s9"),))
    assert refusal(drawing, elsewhere, version=version) == NoReservationMatches("default/p", "", 1)
    named = asking(use=use(name="s"))
    assert refusal(drawing, named, version=version) == NoReservationMatches("default/p", "s", 1)


RESTRICTED = ONE.with_reservation("r", "n1", 4, policy="Restricted").with_running("x", "n1", 3)


@pytest.mark.parametrize(
    ("cpu", "said", "version", "expected"),
    [
        (4, None, "1.8", None),
        (5, MUST, "1.7", BeyondReservation((), (("cpu", 5000, 4000),))),
        (5, MUST, "1.8", BeyondReservation((), (("cpu", 5000, 4000),))),
        (5, None, "1.7", None),
        (5, None, "1.8", BeyondReservation((("cpu", 5000, 1000),))),
        (5, ReservationUse(ignores=True), "1.8", None),
        (1, None, "1.8", None),
    ],
)
def test_restricted_gives_no_more_than_it_holds(
    cpu: int, said: ReservationUse | None, version: str, expected: object
) -> None:
    assert refusal(RESTRICTED, asking(cpu, said), version=version) == expected


def test_what_does_not_fit_in_a_restricted_one_may_fit_beside_it() -> None:
    drawing = cluster("s0: b0[n1:16]").with_reservation("r", "n1", 4, policy="Restricted")
    assert refusal(drawing, asking(6)) is None
    assert (booked(drawing, asking(6)), booked(drawing, asking(4))) == ("", "r")


def test_a_restricted_one_has_places_and_keeps_some_back() -> None:
    places: dict[str, Any] = {"size": (*cpus(4), ("pods", 1)), "policy": "Restricted"}
    drawing = ONE.with_reservation("r", "n1", **places)
    assert refusal(drawing, asking(1, MUST)) is None
    taken = drawing.with_owner("a", "n1", of="r")
    assert refusal(taken, asking(1, MUST)) == BeyondReservation((), (), full=True)
    kept = ONE.with_reservation("r", "n1", 4, policy="Restricted", kept_back=cpus(3))
    assert refusal(kept, asking(2, MUST)) == BeyondReservation((), (("cpu", 2000, 1000),))


@pytest.mark.parametrize("version", VERSIONS)
def test_reservations_of_a_node_are_not_added_up_but_in_1_7(version: str) -> None:
    drawing = ONE.with_reservation("r", "n1", 4).with_reservation("s", "n1", 4)
    expected = None if version == "1.7" else BeyondReservation((("cpu", 8000, 4000),))
    assert refusal(drawing, asking(8), version=version) == expected
    must = refusal(drawing, asking(8, MUST), version=version)
    assert must == BeyondReservation((("cpu", 8000, 4000),))


def test_one_of_other_resources_has_no_say_unless_it_must_be_used() -> None:
    drawing = ONE.with_reservation("r", "n1", size=cpus(0, nvidia_gpu=1), resources=("nvidia.com/gpu",))
    assert (refusal(drawing, asking(8)), refusal(drawing, asking(8, MUST))) == (None, None)
    narrow = drawing.with_reservation("s", "n1", 8).with_running("x", "n1", 7)
    assert refusal(drawing.with_running("x", "n1", 8), asking(1)) == Insufficient((("cpu", 1000, 0),))
    assert refusal(narrow, asking(1)) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_overcommitted_cpu_refuses_those_too_who_ask_for_memory_alone(version: str) -> None:
    drawing = ONE.change("n1", allocatable=cpus(8, memory=8, pods=110)).with_running("x", "n1", 8)
    drawing = drawing.with_reservation("r", "n1", size=cpus(4, memory=2), resources=("cpu", "memory"))
    drawing = drawing.with_reservation("s", "n1", 4).version(version)
    job = drawing.with_gang("job", 2, requests=(("memory", 2),), must_gather="SpineLayer", labels=MINE)
    asked = replace(job.pending[0], gang="")
    must = replace(asked, requirements=replace(asked.requirements, reservation=MUST))
    short = BeyondReservation((("cpu", 0, -4000),))
    assert refusal(drawing, must, version=version) == short
    assert refusal(drawing, asked, version=version) == (None if version == "1.7" else short)
    assert refusal(drawing, pending("p", requests=()), version=version) is None
    tried = attempt_of(job)
    assert tried.plan is not None
    assert tried.plan.offered == ((2,) if version == "1.7" else (0,))


@pytest.mark.parametrize("version", VERSIONS)
def test_slots_follow_the_version(version: str) -> None:
    drawing = ONE.with_reservation("r", "n1", 4).with_reservation("s", "n1", 4)
    drawing = drawing.with_gang("job", 2, 4, must_gather="SpineLayer", labels=MINE).version(version)
    tried = attempt_of(drawing)
    assert tried.plan is not None
    assert tried.plan.offered == ((2,) if version == "1.7" else (1,))


@pytest.mark.parametrize(
    ("said", "policy", "slots"),
    [(None, "Aligned", 3), (MUST, "Aligned", 3), (None, "Restricted", 4), (MUST, "Restricted", 0)],
)
def test_members_that_are_counted_are_charged_to_the_node(said: ReservationUse | None, policy: str, slots: int) -> None:
    drawing = cluster("s0: b0[n1:16]").with_reservation("r", "n1", 1 if policy == "Restricted" else 4, policy=policy)
    drawing = drawing.with_running("x", "n1", 1 if policy == "Restricted" else 3).with_gang(
        "job", 9, 3 if policy == "Restricted" else 4, must_gather="SpineLayer", labels=MINE, reservation=said
    )
    tried = attempt_of(drawing)
    assert tried.plan is not None
    assert tried.plan.offered == (slots,)


def test_the_best_reservation_of_a_node_gives_the_slots() -> None:
    drawing = ONE.with_reservation("r", "n1", 4).with_reservation("s", "n1", 1).with_running("x", "n1", 3)
    tried = attempt_of(drawing.with_gang("job", 2, 4, must_gather="SpineLayer", labels=MINE))
    assert tried.plan is not None
    assert tried.plan.offered == (1,)


def test_one_by_one_members_draw_on_a_reservation_each() -> None:
    drawing = ONE.with_reservation("r", "n1", 4, once=True).with_reservation("s", "n1", 4, once=True)
    gang = drawing.with_gang("job", 2, 4, labels=MINE)
    assert short(attempt_of(gang).placement) == {"job-0": "n1", "job-1": "n1"}
    assert attempt_of(gang.version("1.7")).placement is None


@pytest.mark.parametrize("must_gather", ["SpineLayer", ""])
def test_what_the_first_owner_leaves_is_there_for_the_second_but_in_1_7(must_gather: str) -> None:
    drawing = ONE.with_reservation("r", "n1", 8, once=True)
    drawing = drawing.with_gang("job", 2, 4, must_gather=must_gather, labels=MINE)
    assert short(attempt_of(drawing).placement) == {"job-0": "n1", "job-1": "n1"}
    failed = attempt_of(drawing.version("1.7"))
    assert failed.placement is None
    if must_gather:
        assert failed.failed_seat is not None
        assert failed.failed_seat.reason == Insufficient((("cpu", 4000, -4000),))
        assert failed.plan_fails


@pytest.mark.parametrize("must_gather", ["", "SpineLayer"])
@pytest.mark.parametrize("unlike", [0, 1])
def test_before_1_8_who_must_use_a_reservation_uses_none_that_another_member_has(must_gather: str, unlike: int) -> None:
    drawing = cluster("s0: b0[n1:32]").with_reservation("r", "n1", 4, once=True)
    fields: dict[str, Any] = {"labels": MINE, "reservation": MUST}
    drawing = drawing.with_gang("job", 1, 4, must_gather=must_gather, minimum=2, **fields)
    drawing = drawing.with_members(["other"], "job", 4 - unlike, **fields)
    assert short(attempt_of(drawing).placement) == {"job-0": "n1", "other": "n1"}
    failed = attempt_of(drawing.version("1.7"))
    assert failed.placement is None
    if must_gather:
        assert failed.failed_seat is not None
        assert failed.failed_seat.reason == NotReserved()


@pytest.mark.parametrize("must_gather", ["", "SpineLayer"])
@pytest.mark.parametrize("version", VERSIONS)
def test_who_must_use_a_reservation_takes_none_of_several_that_others_have(must_gather: str, version: str) -> None:
    drawing = cluster("s0: b0[n1:32]").with_reservation("r", "n1", 4, once=True).version(version)
    drawing = drawing.with_reservation("s", "n1", 4, once=True)
    three: dict[str, Any] = {"pods": 3, "cpu": 4, "must_gather": must_gather, "labels": MINE}
    failed = attempt_of(drawing.with_gang("job", reservation=MUST, **three))
    assert failed.placement is None
    if version != "1.7":
        assert failed.failed_seat is not None
        assert failed.failed_seat.reason == BeyondReservation(())
    shared = drawing.but(reservations=tuple(replace(one, once=False) for one in drawing.reservations))
    assert attempt_of(shared.with_gang("job", reservation=MUST, **three)).placement is not None
    assert attempt_of(drawing.with_gang("job", **three)).placement is not None


def test_members_that_match_otherwise_are_other_triggers() -> None:
    drawing = TWO.with_reservation("r", "n1", 8, owners=(ReservationOwner(OwnerObject("job-1")),))
    drawing = drawing.with_gang("job", 2, 8, must_gather="SpineLayer")
    first, second = attempt_of(drawing, trigger="job-0"), attempt_of(drawing, trigger="job-1")
    assert (first.plan and first.plan.offered, second.plan and second.plan.offered) == ((1,), (2,))
    assert second.failed_seat is not None
    assert (second.failed_seat.pod, second.races) == ("default/job-0", True)
    assert not attempt_of(drawing.version("1.7"), trigger="job-1").plan_fails


def test_a_node_with_a_reservation_is_preferred_and_the_lowest_order_most() -> None:
    three = cluster("s0: b0[n1:64 n2:8 n3:8]").with_reservation("r", "n2", 4)
    assert short(attempt_of(three.with_gang("job", 1, 2, labels=MINE)).placement) == {"job-0": "n2"}
    ordered = three.with_reservation("s", "n3", 4, order=9).with_reservation("t", "n1", 4, order=3)
    assert short(attempt_of(ordered.with_gang("job", 1, 2, labels=MINE)).placement) == {"job-0": "n1"}
    unlike = ordered.with_gang("job", 1, 2, labels=MINE).with_members(["other"], "job", 1, labels=MINE)
    assert set(short(attempt_of(unlike).placement).values()) == {"n1"}


def test_of_several_the_order_decides_and_then_what_is_used_most() -> None:
    drawing = ONE.with_reservation("large", "n1", 4).with_reservation("small", "n1", 2)
    assert (booked(drawing, asking(2)), booked(drawing, asking(1, MUST))) == ("small", "small")
    first = drawing.with_reservation("first", "n1", 1, order=5)
    assert booked(first, asking(1)) == "first"
    assert booked(ONE.with_reservation("r", "n1", 1), asking(2, MUST)) == "r"
    assert booked(ONE.with_reservation("r", "n1", 1), asking(2, ReservationUse(ignores=True))) == ""
    assert booked(ONE.with_reservation("r", "n1", 0), asking(2, MUST)) == "r"


@pytest.mark.parametrize("version", VERSIONS)
def test_one_that_ignores_reservations_and_names_one(version: str) -> None:
    drawing = TWO.with_reservation("r", "n1", 8).with_reservation("s", "n2", 8)
    both = replace(use(name="r"), ignores=True)
    assert refusal(drawing, asking(8, both), "n1", version) is None
    elsewhere = refusal(drawing, asking(8, both), "n2", version)
    assert elsewhere == {"1.7": BeyondReservation(()), "1.8": None, "main": NotReserved()}[version]


def test_a_running_pod_that_is_a_reservation_gives_its_room_to_its_owners() -> None:
    drawing = ONE.with_running("holder", "n1", 8, offers="h")
    held = ONE.with_reservation("holder", "n1", 8, uid="h", is_pod=True, once=True).reservations
    drawing = drawing.but(reservations=held)
    assert refusal(drawing, asking(8)) is None
    assert (booked(drawing, asking(8)), refusal(drawing, pending("p", 1))) == ("h", Insufficient((("cpu", 1000, 0),)))


def test_before_1_8_a_pod_that_is_a_reservation_counts_beside_its_owner() -> None:
    drawing = ONE.with_running("holder", "n1", 6, offers="h").with_owner("a", "n1", of="h", cpu=6)
    held = ONE.with_reservation("holder", "n1", 6, uid="h", is_pod=True, once=True).reservations
    drawing = drawing.but(reservations=held)
    assert refusal(drawing, pending("p", 2)) is None
    short = Insufficient((("cpu", 2000, -4000),))
    assert refusal(drawing, pending("p", 2), version="1.7") == refusal(drawing, asking(2), version="1.7") == short
