"""What is in the way of a domain, in a few words."""

from typing import Any

import pytest

from kubectl_koord.diagnosis import evidence
from kubectl_koord.diagnosis.evidence import by_node
from kubectl_koord.engine import reasons
from kubectl_koord.engine.reasons import Reason
from kubectl_koord.engine.state import of
from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.pods import HostPort, PodTerm
from kubectl_koord.reports.jobs import Funnel, NodeReason, WhatIf
from kubectl_koord.simulation.simulation import next_attempt, simulate
from kubectl_koord.wording.refusals import stage
from tests.build import BLOCK_KEY, SPINE, Drawing, cluster, having, rules, why_of

THREE = cluster("s0: b0[n1:8 n2:8 n3:8 n4:8]")


def way(drawing: Drawing, pods: int = 4, cpu: float = 8, **fields: Any) -> str:  # noqa: ANN401
    (row,) = why_of(drawing.with_gang("job", pods, cpu, must_gather=SPINE, **fields)).domains
    return row.in_the_way


def test_many_nodes_that_are_asked_at_once_answer_as_each_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = THREE.with_running("low", on="n1", cpu=5).change("n2", unschedulable=True).with_gang("job", 4, 3)
    simulation = simulate(drawing, drawing.subject("job"))
    members, prepared = simulation.subject.pending, simulation.prepared(simulation.subject.pending[0])

    def slots() -> list[int]:
        found = evidence.slots_among(simulation.view, ("n1", "n2", "n3"), members, prepared)
        return [found[name] for name in ("n1", "n2", "n3")]

    assert slots() == [1, 0, 2]
    monkeypatch.setattr(evidence, "_MOST_ASKED", 2)
    assert slots() == [1, 0, 2]


def test_pods_that_terminate_are_those_that_a_what_if_leaves_there() -> None:
    drawing = THREE.with_running("one", on="n1", terminating=True).with_running("two", on="n3", terminating=True)
    view = of(drawing.with_running("stays", on="n3").with_running("lost", on="gone", terminating=True))
    one, two = evidence.terminating(view)
    assert [one.name, two.name] == ["one", "two"]
    assert evidence.terminating(view.without([one])) == (two,)
    assert evidence.terminating(view.with_pods({"n2": [one]})) == (one, two, one)
    assert evidence.terminating(evidence.empty_view(view)) == ()


def test_pods_in_the_way_are_named_the_largest_first() -> None:
    drawing = THREE.with_running("small", on="n1", cpu=1, priority=5).with_running("large", on="n1", cpu=3, priority=7)
    assert way(drawing) == "n1: large and small (priority 5 to 7)"


def test_equal_pods_are_counted_each() -> None:
    drawing = THREE.with_running("a", on="n1", cpu=2).with_running("b", on="n1", cpu=2)
    assert way(drawing) == "n1: a and b (2 CPU each, priority 0)"


def test_a_reservation_in_the_way_is_named_as_one() -> None:
    drawing = THREE.with_running("a", on="n1", cpu=2).with_reserved("r", on="n1", cpu=4)
    assert way(drawing) == "n1: reservation r and a (priority 0 to 2147483647)"


def test_no_more_than_two_nodes_are_named() -> None:
    drawing = THREE
    for number in (1, 2, 3):
        drawing = drawing.with_running(f"low-{number}", on=f"n{number}", cpu=8)
    assert way(drawing) == "n1: low-1 (8 CPU, priority 0), n2: low-2 (8 CPU, priority 0) and 1 more node"


def test_what_is_not_a_pod_is_named_by_its_reason() -> None:
    assert way(THREE.taint("n1", "gpu").change("n2", unschedulable=True), pods=3) == "n2: cordoned"


def test_what_a_user_can_lift_is_named_where_an_empty_cluster_is_not_enough() -> None:
    tainted = THREE.taint("n1", "gpu").taint("n2", "gpu").change("n3", unschedulable=True)
    assert way(tainted.with_running("low", on="n4")) == (
        "taint gpu:NoSchedule (2 nodes), cordoned (1 node) and insufficient CPU (1 node)"
    )
    assert way(THREE, node_selector=(("pool", "a"),)) == "node selector or affinity (4 nodes)"
    never = "fits at most 4 of 5 pods even when empty and nothing else refuses them (4 nodes)"
    assert way(tainted, pods=5) == never


def test_a_load_that_decides_is_told_and_not_who_fills_the_nodes_besides() -> None:
    drawing = THREE.change("n1", "n2", metric=NodeMetric((("cpu", 7200),)))
    for name in ("n1", "n2", "n3"):
        drawing = drawing.with_running(f"full-{name}", on=name, cpu=8)
    assert way(drawing) == "CPU usage 90 % above 65 % (2 nodes) and insufficient CPU (1 node)"


def test_members_that_keep_each_other_off_a_node_can_never_share_it() -> None:
    never = "fits at most 4 of 5 pods even when empty (4 nodes)"
    assert way(THREE, pods=5, cpu=1, ports=(HostPort(80),)) == never


def test_a_host_port_is_held_by_whoever_is_there() -> None:
    drawing = THREE.with_running("web", on="n1", cpu=1, ports=(HostPort(80),))
    assert way(drawing, cpu=1, ports=(HostPort(80),)) == "n1: web (1 CPU, priority 0)"


def test_whoever_is_there_is_named_where_nobody_takes_what_is_short() -> None:
    web: dict[str, Any] = {"cpu": 0, "ports": (HostPort(80),)}
    assert way(THREE.with_running("web", on="n1", **web), cpu=1, ports=(HostPort(80),)) == (
        "n1: web (no resources, priority 0)"
    )
    assert way(
        THREE.with_pod("web", nominated="n1", priority=9, gates=("g",), **web), cpu=1, ports=(HostPort(80),)
    ) == ("n1: nominated for default/web")


@pytest.mark.parametrize(
    ("drawing", "funnel"),
    [
        (THREE, Funnel(4, (), 4)),
        (
            THREE.cordon("n1").taint("n2", "a").taint("n3", "a"),
            Funnel(
                4, (("taint a:NoSchedule", 2), ("cordoned", 1)), 1, (("not cordoned", 3), ("with taints tolerated", 1))
            ),
        ),
    ],
)
def test_the_funnel_tells_how_many_nodes_are_lost_to_what(drawing: Drawing, funnel: Funnel) -> None:
    assert why_of(drawing.with_gang("job", 1, 8)).funnel == funnel


def test_the_funnel_of_a_plain_gang_is_counted_before_its_own_members_take_their_places() -> None:
    report = why_of(THREE.with_running("low", on="n1").with_gang("job", 3, 8))
    assert (report.verdict, report.funnel) == (
        "yes",
        Funnel(4, (("insufficient CPU", 1),), 3, (("with 8 CPU free", 3),)),
    )


def test_pods_nominated_to_a_node_are_named_beside_those_on_it() -> None:
    drawing = THREE.with_pod("other", cpu=8, nominated="n1", priority=9).with_pod("tiny", nominated="n2", priority=9)
    assert way(drawing, priority=5) == "default/other goes first on n1 and default/tiny goes first on n2"
    held = drawing.change_pods("other", "tiny", gates=("g",))
    assert way(held, priority=5) == "n1: nominated for default/other, n2: nominated for default/tiny"
    drawing = drawing.with_running("low", on="n1", cpu=8, terminating=True)
    assert way(drawing, pods=3, priority=9).startswith("n1: low (8 CPU, priority 0) and nominated for default/other, ")
    assert way(drawing, priority=10) == "n1: low (8 CPU, priority 0)"


def test_a_nominated_pod_that_takes_nothing_of_what_is_short_is_not_named() -> None:
    drawing = THREE.with_running("low", on="n1", cpu=8)
    other = drawing.with_pod("other", requests=(("memory", 1),), nominated="n1", priority=9)
    assert way(other) == "n1: low (8 CPU, priority 0)"


def test_members_of_a_job_that_goes_first_are_named_where_they_go() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("high", 2, 8, must_gather=SPINE, priority=9)
    assert way(drawing, 2) == "default/high goes first on n1 and n2"
    drawing = cluster("s0: b0[n1:16]").with_gang("high", 2, 8, must_gather=SPINE, priority=9)
    assert way(drawing, 2) == "default/high goes first on n1"
    wide = cluster("s0: b0[n1 n2 n3 n4 n5 n6]").with_gang("high", 6, 8, must_gather=SPINE, priority=9)
    assert way(wide, 2) == "default/high goes first on n1, n2, n3, n4 and 2 more"


def test_of_many_jobs_that_go_first_two_are_named() -> None:
    drawing = THREE
    for number in (1, 2, 3):
        drawing = drawing.with_pod(f"high-{number}", cpu=8, nominated=f"n{number}", priority=9)
    assert way(drawing, pods=4, priority=5) == (
        "default/high-1 goes first on n1, default/high-2 goes first on n2 and 1 more job"
    )


def test_who_goes_first_is_told_once_beside_the_first_of_several_nodes() -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4 n5 n6]").with_gang("high", 6, 4, must_gather=SPINE, priority=9)
    for number in range(1, 7):
        drawing = drawing.with_running(f"low-{number}", on=f"n{number}", cpu=4)
    (row,) = why_of(drawing.with_gang("job", 6, 8, must_gather=SPINE)).domains
    ahead = "default/high goes first on n1, n2, n3, n4 and 2 more"
    assert row.in_the_way == f"n1: low-1 (4 CPU, priority 0) and 5 more nodes, {ahead}"
    each = (f"n{number}: low-{number} (4 CPU, priority 0)" for number in range(1, 7))
    assert row.obstacles == (*each, ahead)


def test_who_is_nominated_or_goes_first_stays_in_every_what_if_but_in_an_empty_cluster() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_pod("other", cpu=8, nominated="n1", priority=9)
    drawing = drawing.with_running("ends", on="n1", cpu=8, terminating=True, priority=9)
    (row,) = why_of(drawing.with_gang("job", 3, 8, must_gather=SPINE, priority=9)).domains
    assert (row.offer_slots, row.what_if) == (2, WhatIf(2, 2, 2, 3))
    drawing = cluster("s0: b0[n1 n2]").with_gang("high", 1, 8, must_gather=SPINE, priority=9)
    (row,) = why_of(drawing.with_gang("job", 2, 8, must_gather=SPINE)).domains
    assert (row.offer_slots, row.what_if) == (1, WhatIf(1, 1, 1, 2))


def test_nominations_of_others_do_not_fill_an_empty_cluster() -> None:
    drawing = cluster("s0: b0[n1]").with_pod("other", cpu=8, nominated="n1", priority=9)
    drawing = drawing.with_gang("job", 1, 8, priority=5)
    cause = why_of(drawing).cause
    assert cause is not None
    assert cause.code == "no-feasible-node"


def nodes_of(drawing: Drawing) -> tuple[NodeReason, ...]:
    simulation = simulate(drawing, drawing.subject("job"))
    return by_node(simulation, next_attempt(simulation)[0].first)


MIXED = cluster("s0: b0[n1 n2:16]; -: b1[n3]").cordon("n1")
SEEN = (NodeReason("n1", "b0", 0, "cordoned"), NodeReason("n2", "b0", 2, "insufficient CPU"))


def test_every_node_is_told_with_what_it_takes_and_why_the_next_pod_does_not_fit() -> None:
    outside = NodeReason("n3", "", 1, "outside the tree: lacks the label network/spine")
    assert nodes_of(MIXED.with_gang("job", 3, 8, must_gather=SPINE)) == (*SEEN, outside)
    plain = NodeReason("n3", "", 1, "insufficient CPU")
    assert nodes_of(MIXED.with_gang("job", 3, 8)) == (*SEEN, plain)


def test_nodes_of_a_plain_gang_are_told_as_they_are_before_its_own_members_take_their_places() -> None:
    apart = PodTerm(BLOCK_KEY, having(app="job"))
    drawing = cluster("s0: b0[n1 n2] b1[n3]").with_gang("job", 3, pod_anti_affinity=(apart,), labels=(("app", "job"),))
    assert nodes_of(drawing) == tuple(
        NodeReason(name, block, 1, "pod anti-affinity") for name, block in (("n1", "b0"), ("n2", "b0"), ("n3", "b1"))
    )


def test_without_a_tree_nodes_have_no_domain() -> None:
    drawing = cluster("s0: b0[n1]").but(topologies={}).with_gang("job", 1, 8)
    assert nodes_of(drawing) == (NodeReason("n1", "", 1, ""),)


def test_slots_enough_on_nodes_that_no_multiple_divides_are_told_as_such() -> None:
    drawing = cluster("s0: b0[n1:8]").with_gang("job", 1, 8, topology=rules(f"MustGather {SPINE} x2"))
    (row,) = why_of(drawing).domains
    assert (row.short, row.in_the_way) == (1, "the pods cannot be split by podCountMultiple 2 of SpineLayer")


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (reasons.TooManyPods(3), "below their pod limit"),
        (reasons.SidecarsUnknown(), "that support sidecars"),
        (reasons.PortTaken(80), "with its ports free"),
        (reasons.ClaimInUse("data"), "with access to its volumes"),
        (reasons.NoVolumeToBind("data"), "with access to its volumes"),
        (reasons.SpreadLabelMissing("zone"), "within its topology spread"),
        (reasons.PodAffinityUnmet(), "allowed by pod affinity"),
        (reasons.Overloaded("cpu", 90, 65), "below the load thresholds"),
        (reasons.NotSelected(), "matching its node selector and affinity"),
    ],
)
def test_a_stage_of_the_funnel_names_who_passes(reason: Reason, words: str) -> None:
    assert stage(reason, ())[1] == words
