"""Which pods are in the way of a domain: the fewest, and those whose end costs least."""

from typing import Any

import pytest

from kubectl_koord.diagnosis import evidence
from kubectl_koord.model.pods import HostPort
from tests.build import BLOCK, SPINE, Drawing, cluster, cpus, rules, why_of

FOUR = cluster("s0: b0[n1 n2 n3 n4]")


def way(drawing: Drawing, pods: int = 4, cpu: float = 8, **fields: Any) -> str:  # noqa: ANN401 - as `with_gang` has them
    (row,) = why_of(drawing.with_gang("job", pods, cpu, must_gather=SPINE, **fields)).domains
    return row.in_the_way


def test_where_one_pod_is_enough_no_other_is_named() -> None:
    drawing = FOUR
    for number in (1, 2, 3):
        drawing = drawing.with_running(f"low-{number}", on=f"n{number}", cpu=8, priority=4 - number)
    assert way(drawing, pods=2) == "n3: low-3 (8 CPU, priority 1)"
    assert way(drawing, pods=3) == "n2: low-2 (8 CPU, priority 2), n3: low-3 (8 CPU, priority 1)"


def test_what_comes_back_on_its_node_is_never_in_the_way_and_the_rest_of_its_node_is() -> None:
    drawing = FOUR.with_running("web", on="n2", cpu=4)
    for name in FOUR.nodes:
        drawing = drawing.with_running(f"kube-system/dcgm-{name}", on=name, cpu=1, of_daemon_set=True)
        drawing = drawing.with_running(f"kube-system/proxy-{name}", on=name, cpu=1, owner=f"Node/{name}")
    assert way(drawing, cpu=6) == "n2: web (4 CPU, priority 0)"


def test_where_only_what_comes_back_is_there_the_reason_of_the_node_is_told() -> None:
    drawing = FOUR.with_running("kube-system/dcgm", on="n2", cpu=1, of_daemon_set=True)
    assert way(drawing) == "n2: insufficient CPU"


def test_of_pods_of_a_node_those_go_that_harm_nobody_then_the_least_important_and_the_smallest() -> None:
    drawing = FOUR.with_group("other", 1).with_running("member", on="n1", cpu=2, gang="default/other")
    drawing = drawing.with_running("large", on="n1", cpu=3).with_running("small", on="n1", cpu=2)
    drawing = drawing.with_running("high", on="n1", cpu=1, priority=7)
    assert way(drawing, pods=13, cpu=2) == "n1: small (2 CPU, priority 0)"
    assert way(drawing, pods=14, cpu=2) == "n1: large and small (priority 0)"
    assert way(drawing, pods=4, cpu=5) == "n1: large and small (priority 0)"
    assert way(drawing, pods=4, cpu=7) == "n1: large, small and member (priority 0)"


def test_a_pod_that_gives_more_slots_counts_as_fewer_than_several() -> None:
    drawing = FOUR.with_running("large", on="n1", cpu=8, priority=9)
    drawing = drawing.with_running("a", on="n2", cpu=4).with_running("b", on="n3", cpu=4)
    large, a = "n1: large (8 CPU, priority 9)", "n2: a (4 CPU, priority 0)"
    assert way(drawing, pods=8, cpu=4) == f"{large}, {a} and 1 more node"
    assert way(drawing, pods=6, cpu=4) == large
    assert way(drawing, pods=5, cpu=4) == a
    wide = cluster("s0: b0[n1:12 n2:4]").with_running("large", on="n1", cpu=8, priority=9)
    wide = wide.with_running("small", on="n1", cpu=4).with_running("a", on="n2", cpu=4)
    assert way(wide, pods=3, cpu=4) == "n1: large and small (priority 0 to 9)"
    assert way(wide, pods=4, cpu=4) == f"n1: large and small (priority 0 to 9), {a}"


def both(name: str, cpu: int, memory: int) -> dict[str, Any]:
    return {"name": name, "on": "n1", "requests": cpus(cpu, memory=memory)}


def test_pods_that_are_not_needed_beside_others_stay() -> None:
    two = (("cpu", 8000), ("memory", 8), ("pods", 110))
    drawing = cluster("s0: b0[n1 n2]").change("n1", "n2", allocatable=two).with_running(**both("cpu", 4, 0))
    drawing = drawing.with_running(**both("more", 3, 0)).with_running(**both("memory", 0, 2))
    drawing = drawing.change("n1", allocatable=(("cpu", 8000), ("memory", 4), ("pods", 110)))
    assert way(drawing, pods=3, requests=cpus(4, memory=3)) == "n1: more and memory (priority 0)"
    drawing = cluster("s0: b0[n1 n2]").change("n1", "n2", allocatable=two).with_running(**both("cpu", 8, 0))
    drawing = drawing.with_running(**both("memory", 0, 8)).with_running("a", on="n2", cpu=4)
    found = way(drawing, pods=3, requests=cpus(4, memory=4))
    assert found == "n1: cpu and memory (priority 0)"


def test_a_place_that_takes_pods_in_multiples_wants_more_than_are_missing() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]").with_running("a", on="n1").with_running("b", on="n2")
    a, b = "n1: a (1 CPU, priority 0)", "n2: b (1 CPU, priority 0)"
    spec = rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")
    (row,) = why_of(drawing.with_gang("job", 4, 4, topology=spec)).domains
    assert (row.offer_slots, row.in_the_way) == (0, f"{a}, {b}")
    odd = rules(f"MustGather {SPINE} x4")
    (row,) = why_of(drawing.with_gang("job", 3, 4, topology=odd)).domains
    assert row.in_the_way == f"{a}, {b}"


def test_what_is_not_an_amount_is_asked_of_each_pod() -> None:
    drawing = FOUR.with_running("tool", on="n1", cpu=1).with_running("web", on="n1", cpu=1, ports=(HostPort(80),))
    assert way(drawing, cpu=1, ports=(HostPort(80),)) == "n1: web (1 CPU, priority 0)"
    assert way(drawing, requests=(), ports=(HostPort(80),)) == "n1: web (no resources, priority 0)"


def test_where_more_is_counted_than_allowed_all_nodes_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_MOST_COUNTED", 0)
    drawing = FOUR.with_running("a", on="n1", cpu=1).with_running("b", on="n2", cpu=1)
    assert way(drawing, pods=3) == "n1: a (1 CPU, priority 0), n2: b (1 CPU, priority 0)"


def test_who_goes_first_stays_where_it_goes() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=4, terminating=True)
    drawing = drawing.with_pod("other", cpu=4, nominated="n1", priority=9)
    assert way(drawing, pods=1, priority=5) == "n1: low (4 CPU, priority 0), default/other goes first on n1"
