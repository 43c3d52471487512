"""Nodes, devices, CPUs, Reservations and quotas as the scheduler remembers them, beside those of the objects."""

import pytest
from msgspec import structs

from kubectl_koord.explain import scheduler
from kubectl_koord.explain.scheduler import quotas
from kubectl_koord.model.hardware import CPU, Allocations, CPUAllocation, CPUTopology, NodeNUMA
from kubectl_koord.model.objects import CPUSummary, DeviceSummary, NodeSummary, QuotaSummary, ReservationSummary
from kubectl_koord.model.values import Resources
from kubectl_koord.reports.operation import Field, SchedulerReport
from tests.build import Drawing, card, cluster, cpus, devices, holding

ASKED = "koord-scheduler-0"
CARD = card().resources


def codes(report: SchedulerReport) -> tuple[str, list[str]]:
    return report.verdict, [one.code for item in report.items for one in item.differences]


def pods(*names: str) -> frozenset[str]:
    return frozenset(f"default/{name}" for name in names)


def on_n1(*names: str) -> Drawing:
    drawn = cluster("s0: b0[n1:8]")
    for name in names:
        drawn = drawn.with_running(name, "n1")
    return drawn


def of_node(drawn: Drawing, *names: str, cpu: float = 1, room: float = 8, name: str = "n1") -> tuple[str, list[str]]:
    found = NodeSummary(name, pods(*names), cpus(cpu), cpus(room))
    return codes(scheduler.node(drawn, found, ASKED, name))


def test_a_node_is_compared_by_its_pods_their_requests_and_its_room() -> None:
    report = scheduler.node(on_n1("a"), NodeSummary("n1", pods("a"), cpus(1), cpus(8)), ASKED, "n1")
    assert report.items[0].fields == (
        Field("pods", "default/a", "default/a"),
        Field("requested", "cpu=1", "cpu=1"),
        Field("allocatable", "cpu=8", "cpu=8"),
    )
    assert codes(report) == ("yes", [])


def test_pods_that_are_on_one_side_alone_explain_what_a_node_has_left() -> None:
    assert of_node(on_n1("a").with_pod("b"), "a", "b", cpu=2) == ("yes", ["assumed-pods"])
    assert of_node(on_n1("a"), "a", "b", cpu=2) == ("yes", ["deleted-pods-linger"])
    assert of_node(on_n1("a", "b"), "a") == ("yes", ["pods-not-known"])
    assert of_node(on_n1("a"), "a", room=7) == ("no", ["unexplained"])
    assert of_node(on_n1("a"), "a", cpu=2) == ("no", ["unexplained"])
    elsewhere = cluster("s0: b0[n1:8 n2:8]").with_running("a", "n2")
    assert of_node(elsewhere, "a") == ("no", ["unexplained"])


def test_a_reservations_own_pod_is_no_stranger_and_its_node_counts_no_requests() -> None:
    drawn = on_n1("a").with_reservation("r1", "n1", 4)
    assert of_node(drawn, "a", "r1", cpu=5) == ("yes", [])
    waiting = on_n1("a").with_reserve_pod("r2")
    assert of_node(waiting, "a", "r2") == ("yes", [])


def test_a_node_that_one_side_does_not_know() -> None:
    assert codes(scheduler.node(on_n1(), None, ASKED, "n1")) == ("yes", ["not-known"])
    assert of_node(on_n1(), name="n9") == ("yes", ["gone-but-known"])


def of_device(drawn: Drawing, *found: DeviceSummary) -> tuple[str, list[str]]:
    return codes(scheduler.devices(drawn, found, ASKED))


def device(*names: str, free: Resources = CARD, minor: int = 0) -> DeviceSummary:
    return DeviceSummary("n1", "gpu", minor, CARD, free, pods(*names))


def test_a_device_is_compared_by_what_is_free_of_it_and_by_who_has_it() -> None:
    bare = cluster("s0: b0[n1:8]").change("n1", devices=structs.replace(devices(card()), ids=("x",)))
    held = bare.with_running("a", "n1", allocations=holding(0))
    assert of_device(bare, device()) == ("yes", [])
    assert of_device(held, device("a", free=())) == ("yes", [])
    assert of_device(bare.with_pod("a"), device("a", free=())) == ("yes", ["assumed-pods"])
    assert of_device(held, device()) == ("yes", ["pods-not-known"])
    assert of_device(bare, device(free=())) == ("no", ["unexplained"])
    assert of_device(bare) == ("yes", ["not-known"])
    assert of_device(bare, device(), device(minor=1)) == ("yes", ["gone-but-known"])
    assert of_device(bare.with_gap("Pod"), device("a", free=())) == ("yes", [])


def test_devices_are_those_of_the_nodes_that_are_named() -> None:
    drawn = cluster("s0: b0[n1:8 n2:8]").change("n1", "n2", devices=structs.replace(devices(card()), ids=("x",)))
    report = scheduler.devices(drawn, [device()], ASKED, ("n1",))
    assert [item.name for item in report.items] == ["n1/gpu-0"]


def test_nothing_of_devices_is_compared_where_devices_could_not_be_read() -> None:
    report = scheduler.devices(on_n1().with_gap("Device"), [device()], ASKED)
    assert (report.verdict, report.items[0].differences) == ("unknown", ())


def bound(*numbers: int) -> Allocations:
    return Allocations(cpus=CPUAllocation(numbers))


def with_cpus(number: int = 8) -> Drawing:
    topology = CPUTopology(tuple(CPU(n, n, 0, 0) for n in range(number)))
    return cluster("s0: b0[n1:8]").change("n1", numa=NodeNUMA(topology, reserved=1))


def test_cpus_are_compared_by_who_has_bound_them() -> None:
    drawn = with_cpus().with_running("a", "n1", allocations=bound(2, 3, 5)).with_running("b", "n1")
    both = CPUSummary("n1", frozenset({1, 4, 6, 7}), {"default/a": frozenset({2, 3, 5}), "default/z": frozenset()})
    report = scheduler.cpus(drawn, both, ASKED, "n1")
    assert report.items[0].fields == (
        Field("pods", "default/a: 2-3,5", "default/a: 2-3,5"),
        Field("availableCPUs", "1,4,6-7", "1,4,6-7"),
    )
    assert codes(report) == ("yes", [])
    lost = CPUSummary("n1", frozenset(range(1, 8)), {})
    assert codes(scheduler.cpus(drawn, lost, ASKED, "n1")) == ("yes", ["books-lost"])
    others = structs.replace(both, available=frozenset({1}))
    assert codes(scheduler.cpus(drawn, others, ASKED, "n1")) == ("no", ["unexplained"])


@pytest.mark.parametrize("name", ["n1", "n9"])
def test_of_a_node_without_cpus_in_its_objects_only_pods_are_compared(name: str) -> None:
    found = CPUSummary(name, frozenset({1}), {})
    assert codes(scheduler.cpus(on_n1("a"), found, ASKED, name)) == ("yes", [])


def test_reservations_are_compared_by_their_size_and_by_who_draws_on_them() -> None:
    drawn = on_n1().with_reservation("r1", "n1", 4).with_owner("a", "n1", of="r1")
    r1 = ReservationSummary("r1", "Reservation", cpus(4), cpus(1), pods("a"))
    report = scheduler.reservations(drawn, {"r1": r1}, ASKED, "n1")
    assert report.items[0].fields == (
        Field("allocatable", "cpu=4", "cpu=4"),
        Field("allocated", "cpu=1"),
        Field("pods", "default/a", "default/a"),
    )
    assert codes(report) == ("yes", [])
    found = {"r1": structs.replace(r1, pods=pods("a", "b")), "r2": structs.replace(r1, name="r2", pods=frozenset())}
    assert codes(scheduler.reservations(drawn, found, ASKED, "n1")) == (
        "yes",
        ["deleted-pods-linger", "gone-but-known"],
    )
    assert codes(scheduler.reservations(drawn, {}, ASKED, "n1")) == ("yes", ["not-known"])
    bigger = {"r1": structs.replace(r1, allocatable=cpus(5))}
    assert codes(scheduler.reservations(drawn, bigger, ASKED, "n1")) == ("no", ["unexplained"])


def quota(**amounts: Resources) -> QuotaSummary:
    bare = {"min": cpus(2), "max": cpus(8), "used": cpus(1), "request": cpus(1), "runtime": cpus(2)}
    return QuotaSummary("q", "koordinator-root-quota", bare | amounts)


def of_quota(drawn: Drawing, found: QuotaSummary | None, name: str = "q") -> tuple[str, list[str]]:
    return codes(quotas(drawn, {found.name: found} if found else {}, ASKED, name))


def test_a_quota_is_compared_by_its_limits_and_by_what_it_counts() -> None:
    drawn = on_n1("a").with_quota("q", "default", min=cpus(2), max=cpus(8))
    (ours,) = quotas(drawn, {"q": quota()}, ASKED, "q").items
    told = {field.field: field.ours for field in ours.fields}
    same = quota(**{name: cpus(float(text.partition("=")[2])) if text else () for name, text in told.items()})
    assert of_quota(drawn, same) == ("yes", [])
    more = structs.replace(same, amounts={**same.amounts, "used": cpus(7)})
    assert of_quota(drawn, more) == ("yes", ["assumed-pods"])
    assert of_quota(drawn, structs.replace(same, amounts={**same.amounts, "runtime": cpus(7)})) == (
        "yes",
        ["runtime-lag"],
    )
    assert of_quota(drawn, structs.replace(same, amounts={**same.amounts, "max": cpus(7)})) == ("no", ["unexplained"])
    assert told["used"] == "cpu=1"
    fewer = structs.replace(same, amounts={**same.amounts, "used": ()})
    assert of_quota(drawn, fewer) == ("no", ["unexplained"])
    assert of_quota(drawn, None) == ("yes", ["not-known"])
    assert of_quota(on_n1(), quota()) == ("yes", ["gone-but-known"])


def test_built_in_quotas_have_no_limits_of_ours_and_the_root_is_none_that_is_told() -> None:
    drawn = on_n1().with_quota("q", min=cpus(2), max=cpus(8))
    found = QuotaSummary("koordinator-default-quota", "", {"max": cpus(99), "used": (), "request": ()})
    report = quotas(drawn, {found.name: found}, ASKED)
    by_name = {item.name: [one.code for one in item.differences] for item in report.items}
    assert by_name == {"koordinator-default-quota": [], "koordinator-system-quota": ["not-known"], "q": ["not-known"]}
