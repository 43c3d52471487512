"""CPUs and NUMA zones that reservations hold: for whom they are free, on which terms, and what strangers see."""

import pytest
from msgspec.structs import replace

from kubectl_koord.engine.filters import placed, prepare, rejection
from kubectl_koord.engine.reasons import (
    BeyondReservedZones,
    InsufficientInZones,
    NotEnoughCPUs,
    NoZones,
    PreFilterRefusal,
    Reason,
    UnsatisfiedZones,
)
from kubectl_koord.engine.rules import rules
from kubectl_koord.engine.state import of
from kubectl_koord.model.hardware import CPU, Allocations, CPUAllocation, CPUTopology, NodeNUMA, PodNUMA, Zone
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.reservations import ReservationAffinity, ReservationUse
from kubectl_koord.wording.refusals import zone_obstacle
from tests.build import Drawing, attempt_of, cluster, pending
from tests.trials import on_trial

MINE = (("app", "job"),)
MUST = ReservationUse(ReservationAffinity())
IGNORES = ReservationUse(ignores=True)
VERSIONS = ("1.7", "1.8", "main")
WHOLE = PodNUMA(binds=True, required="FullPCPUs")
PREFERS = PodNUMA(binds=True)
EIGHT = CPUTopology(tuple(CPU(number, number // 2, number // 4, number // 4) for number in range(8)))
FOUR_EACH = tuple(Zone(number, (("cpu", 4000),)) for number in range(2))
NODE = NodeNUMA(cpus=EIGHT, zones=FOUR_EACH)
SINGLE = replace(NODE, policy="SingleNUMANode")


def node(numa: NodeNUMA = NODE) -> Drawing:
    return cluster("s0: b0[n1:64]").change("n1", numa=numa)


def booked(*cpus: int, zone: int | None = None, amount: int = 0, of_name: str = "") -> Allocations:
    amounts = () if zone is None else ((zone, (("cpu", (amount or len(cpus)) * 1000),)),)
    return Allocations(cpus=CPUAllocation(cpus, amounts), reservation=of_name)


def reserving(
    drawing: Drawing, *cpus: int, name: str = "r", zone: int | None = None, amount: int = 0, **fields: object
) -> Drawing:
    """Let a reservation of so much that nothing else is short hold CPUs and an amount of a zone."""
    size = {"size": (("cpu", 20000),), "resources": ("cpu",)}
    drawn = drawing.with_reservation(name, "n1", 0, **(size | fields))  # type: ignore[arg-type]
    room = replace(drawn.reserved[-1], allocations=booked(*cpus, zone=zone, amount=amount, of_name=name))
    return drawn.but(reserved=(*drawn.reserved[:-1], room))


def held(drawing: Drawing, *cpus: int, zone: int | None = None, amount: int = 0, of_name: str = "") -> Drawing:
    taken = booked(*cpus, zone=zone, amount=amount, of_name=of_name)
    return drawing.with_running(f"x-{of_name}-{cpus}-{zone}", "n1", 1, allocations=taken)


def asking(cpu: int, numa: PodNUMA = WHOLE, **fields: object) -> PendingPod:
    return pending("p", cpu, numa=numa, **fields)


def mine(cpu: int, numa: PodNUMA = WHOLE, use: ReservationUse | None = None) -> PendingPod:
    return asking(cpu, numa, labels=MINE, reservation=use)


def refused(drawing: Drawing, pod: PendingPod) -> Reason | PreFilterRefusal | None:
    view = of(drawing)
    prepared = prepare(pod, view, rules(drawing.config.version))
    return prepared.refusal or rejection(pod, view.state("n1"), prepared)


def given(drawing: Drawing, pod: PendingPod) -> tuple[CPUAllocation | None, str]:
    """Return what a pod gets, and the reservation that it takes."""
    view = of(drawing)
    found = placed(pod, view.state("n1"), prepare(pod, view, rules(drawing.config.version)))
    assert isinstance(found, PendingPod), found
    assert found.allocations is not None
    return found.allocations.cpus, found.allocations.reservation


HALF = held(node(), 0, 1, 2, 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_reserved_cpus_are_free_for_those_they_are_for_and_taken_for_all_others(version: str) -> None:
    full = reserving(HALF, 4, 5, 6, 7).version(version)
    assert refused(full, asking(2)) == NotEnoughCPUs(2, 0, "FullPCPUs")
    assert given(full, mine(4)) == (CPUAllocation((4, 5, 6, 7)), "r")
    assert given(full, mine(4, PREFERS)) == (CPUAllocation((4, 5, 6, 7)), "r")
    assert given(full, mine(4, use=IGNORES)) == (CPUAllocation((4, 5, 6, 7)), "")
    drawn = held(full, 4, 5, of_name="r")
    assert given(drawn, mine(2)) == (CPUAllocation((6, 7)), "r")
    assert refused(drawn, mine(4)) == NotEnoughCPUs(4, 0, "FullPCPUs")
    assert refused(drawn, mine(4, use=MUST)) == BeyondReservedZones((NotEnoughCPUs(4, 2, "FullPCPUs"),))


def test_what_is_reserved_goes_first_and_the_rest_of_the_node_is_added() -> None:
    some = reserving(node(), 4, 5)
    assert given(some, asking(2)) == (CPUAllocation((0, 1)), "")
    assert given(some, mine(2)) == (CPUAllocation((4, 5)), "r")
    assert given(some, mine(4)) == (CPUAllocation((0, 1, 4, 5)), "r")


def test_a_restricted_one_gives_no_more_cpus_than_it_holds() -> None:
    some = reserving(node(), 4, 5, policy="Restricted")
    assert given(some, mine(2, use=MUST)) == (CPUAllocation((4, 5)), "r")
    reason = BeyondReservedZones((NotEnoughCPUs(4, 2, "FullPCPUs"),))
    assert refused(some, mine(4, use=MUST)) == reason
    assert zone_obstacle(reason) == "2 of 4 CPUs free to bind by FullPCPUs with a reservation"
    assert given(some, mine(4)) == (CPUAllocation((0, 1, 2, 3)), "r")
    assert given(some.version("main"), mine(4)) == (CPUAllocation((0, 1, 2, 3)), "")
    assert refused(held(some, 0, 1, 2, 3, 6, 7), mine(4, use=MUST)) == reason


def test_reservations_without_cpus_and_nodes_without_books_have_no_say() -> None:
    bare = HALF.with_reservation("bare", "n1", 1)
    assert given(bare, mine(4)) == (CPUAllocation((4, 5, 6, 7)), "bare")
    unknown = reserving(node(NodeNUMA(cpus=None, zones=FOUR_EACH)), 4, 5)
    assert given(unknown, mine(2, PodNUMA())) == (None, "r")
    assert given(reserving(node(), 4, 5), mine(2, PodNUMA())) == (None, "r")


@pytest.mark.parametrize("version", VERSIONS)
def test_zones_have_what_is_reserved_there_for_those_it_is_for(version: str) -> None:
    full = reserving(held(node(SINGLE), zone=1, amount=4), zone=0, amount=4).version(version)
    assert refused(full, asking(2, PodNUMA())) == UnsatisfiedZones(("cpu",))
    assert given(full, mine(4, PodNUMA())) == (CPUAllocation((), ((0, (("cpu", 4000),)),)), "r")
    assert given(full, mine(4, PodNUMA(), IGNORES)) == (CPUAllocation((), ((0, (("cpu", 4000),)),)), "")
    drawn = held(full, zone=0, amount=2, of_name="r")
    assert refused(drawn, mine(2, PodNUMA())) is None
    assert refused(drawn, mine(3, PodNUMA())) == UnsatisfiedZones(("cpu",))


def test_owners_of_others_count_once() -> None:
    others = reserving(node(SINGLE), zone=0, amount=2, app="other")
    drawn = held(held(others, zone=0, amount=2, of_name="r"), zone=1, amount=4)
    assert refused(drawn, asking(2, PodNUMA())) is None
    assert refused(drawn, asking(3, PodNUMA())) == UnsatisfiedZones(("cpu",))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_owner_that_has_more_of_a_zone_than_is_reserved_counts_no_more_at_all_there(version: str) -> None:
    others = reserving(held(node(SINGLE), zone=1, amount=4), zone=0, amount=1, app="other").version(version)
    drawn = held(others, zone=0, amount=3, of_name="r")
    assert refused(drawn, asking(3, PodNUMA())) is None
    assert refused(drawn, asking(4, PodNUMA())) == UnsatisfiedZones(("cpu",))
    elsewhere = held(reserving(node(SINGLE), zone=0, amount=4, app="other"), zone=1, amount=4, of_name="r")
    assert refused(elsewhere, asking(1, PodNUMA())) == UnsatisfiedZones(("cpu",))


@pytest.mark.parametrize("version", VERSIONS)
def test_cpus_of_a_reservation_that_go_first_may_leave_no_whole_cores(version: str) -> None:
    halves = reserving(held(node(), 5, 7), 1, 3).version(version)
    assert refused(halves, mine(2)) == NotEnoughCPUs(2, 0, "FullPCPUs")
    assert refused(halves, mine(2, use=MUST)) == BeyondReservedZones((NotEnoughCPUs(2, 0, "FullPCPUs"),))
    assert given(halves, mine(4)) == (CPUAllocation((0, 1, 2, 3)), "r")
    assert given(halves, mine(2, PREFERS)) == (CPUAllocation((1, 3)), "r")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_owner_that_would_be_preempted_gives_its_cpus_back_to_its_reservation_alone(version: str) -> None:
    full = held(reserving(HALF, 4, 5), 4, 5, 6, 7, of_name="r").version(version)
    owner, stranger = "x-r-(4, 5, 6, 7)-None", "x--(0, 1, 2, 3)-None"
    assert on_trial(full, mine(4)) == NotEnoughCPUs(4, 0, "FullPCPUs")
    assert on_trial(full, mine(4), owner) is None
    assert on_trial(full, mine(4, use=MUST), owner) is None
    assert on_trial(full, mine(2, use=IGNORES), owner) is None
    assert on_trial(full, mine(4, use=IGNORES), owner) == NotEnoughCPUs(4, 2, "FullPCPUs")
    assert on_trial(full, asking(2), owner) == NotEnoughCPUs(2, 0, "FullPCPUs")
    assert on_trial(full, asking(4), stranger) is None
    assert on_trial(full, asking(6), owner, stranger) == NotEnoughCPUs(6, 4, "FullPCPUs")
    assert on_trial(full, mine(8), owner, stranger) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_a_restricted_one_gives_the_cpus_that_its_owner_would_leave(version: str) -> None:
    full = held(reserving(HALF, 4, 5, 6, 7, policy="Restricted"), 4, 5, of_name="r").version(version)
    owner = "x-r-(4, 5)-None"
    lack = BeyondReservedZones((NotEnoughCPUs(4, 2, "FullPCPUs"),))
    assert on_trial(full, mine(4, use=MUST)) == lack
    assert on_trial(full, mine(4, use=MUST), owner) is None
    assert on_trial(full, mine(4, use=MUST), "x--(0, 1, 2, 3)-None") == lack


@pytest.mark.parametrize("version", VERSIONS)
def test_zones_are_given_back_to_the_reservation_of_the_owner_alone(version: str) -> None:
    zoned = reserving(held(node(SINGLE), zone=1, amount=4), zone=0, amount=4)
    full = held(zoned, zone=0, amount=4, of_name="r").version(version)
    owner = "x-r-()-0"
    assert on_trial(full, mine(4, PodNUMA(), MUST), owner) is None
    assert on_trial(full, mine(4, PodNUMA(), IGNORES), owner) is None
    assert on_trial(full, asking(1, PodNUMA()), owner) == UnsatisfiedZones(("cpu",))


@pytest.mark.parametrize(("version", "reason"), [("1.8", UnsatisfiedZones(("cpu",))), ("main", None)])
def test_owners_of_a_used_up_reservation_count_twice_for_those_that_match_it_but_in_main(
    version: str, reason: Reason | None
) -> None:
    used_up = held(reserving(node(SINGLE), zone=0, amount=2, policy="Restricted"), zone=0, amount=2, of_name="r")
    full = held(used_up, zone=1, amount=4).version(version)
    assert refused(full, mine(2, PodNUMA())) == reason
    must = mine(2, PodNUMA(), MUST)
    assert refused(full, must) == UnsatisfiedZones(("cpu",))


@pytest.mark.parametrize(("version", "taken"), [("1.7", "r"), ("1.8", "r"), ("main", "s")])
def test_a_reservation_without_the_cpus_is_not_taken_in_main(version: str, taken: str) -> None:
    first = held(reserving(node(), 0, 1, name="r", policy="Restricted", order=1), 0, 1, of_name="r")
    both = reserving(first, 2, 3, name="s", policy="Restricted", order=2).version(version)
    assert given(both, mine(2))[1] == taken
    assert given(both, mine(2, use=MUST)) == (CPUAllocation((2, 3)), "s")


@pytest.mark.parametrize(("version", "taken"), [("1.8", "r"), ("main", "s")])
def test_a_reservation_without_the_zone_is_not_taken_in_main(version: str, taken: str) -> None:
    first = held(
        reserving(node(SINGLE), zone=0, amount=4, name="r", policy="Restricted", order=1), zone=0, amount=4, of_name="r"
    )
    both = reserving(first, zone=1, amount=4, name="s", policy="Restricted", order=2).version(version)
    assert refused(both, mine(4, PodNUMA())) is None
    view = of(both)
    found = placed(mine(4, PodNUMA()), view.state("n1"), prepare(mine(4, PodNUMA()), view, rules(version)))
    if version == "main":
        assert isinstance(found, PendingPod)
        assert found.allocations is not None
        assert found.allocations.reservation == taken
    else:
        assert found == InsufficientInZones((("cpu", 4000, 0),))


@pytest.mark.parametrize(
    ("version", "use"), [("1.7", MUST), ("1.8", None), ("1.8", MUST), ("main", None), ("main", MUST)]
)
def test_the_second_member_finds_what_the_first_leaves_where_it_must_use_the_reservation_but_in_1_7(
    version: str, use: ReservationUse | None
) -> None:
    full = reserving(HALF, 4, 5, 6, 7, once=True).version(version)
    pods = tuple(replace(mine(2, use=use), name=f"job-{number}", gang="default/job") for number in range(2))
    found = attempt_of(full.with_group("job", 2).with_pods(*pods))
    assert (found.placement is not None) == (version != "1.7" and use is MUST)


def test_where_no_zones_are_known_no_reservation_helps() -> None:
    drawing = reserving(node(NodeNUMA(cpus=EIGHT, policy="BestEffort")), 4, 5).version("main")
    view, pod = of(drawing), mine(2)
    assert placed(pod, view.state("n1"), prepare(pod, view, rules("main"))) == NoZones()


def test_members_find_cpus_on_nodes_that_were_asked_before() -> None:
    drawing = cluster("s0: b0[n1:64 n2:64]").change("n1", "n2", numa=replace(NODE, policy="BestEffort"))
    pods = tuple(replace(asking(8, PREFERS), name=f"job-{number}", gang="default/job") for number in range(2))
    found = attempt_of(drawing.version("main").with_group("job", 2).with_pods(*pods))
    assert found.prepared.may_fail_to_reserve
    assert sorted((found.placement or {}).values()) == ["n1", "n2"]
