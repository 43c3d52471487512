"""The numbers that Prometheus is told: those of the answers, in a bounded number of series."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import structs

from kubectl_koord import __version__
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.explain.quota import quotas
from kubectl_koord.explain.topo import topo, with_shape
from kubectl_koord.live import metrics
from kubectl_koord.live.faces import preemption_of, state_of
from kubectl_koord.live.metrics import METRICS, Values
from kubectl_koord.reports.jobs import VolcanoGang
from kubectl_koord.simulation.submitted import parsed
from tests.build import BLOCK, ROOT, SPINE, Drawing, cluster, cpus, rules
from tests.live.served import questions, series

GPU, SHARE = "nvidia.com/gpu", "koordinator.sh/gpu-core"
Found = Mapping[str, Mapping[tuple[str, ...], float]]


def told(drawing: Drawing, **changes: object) -> Found:
    return series(state_of(drawing, questions(**changes)).metrics)


@pytest.fixture
def drawing() -> Drawing:
    """Two blocks with a busy node each; a gang is short of a slot, one fits, a pod waits alone."""
    since: Any = {"created": "2026-11-20T09:00:00Z"}
    return (
        cluster("s0: b0[n0:8 n1:8] b1[n2:8 n3:8]")
        .with_running("busy", "n1", cpu=8)
        .with_running("half", "n2", cpu=4)
        .with_gang("big", 2, cpu=8, must_gather="BlockLayer", **since)
        .with_gang("other/tiny", 1, cpu=1)
        .with_pod("alone", cpu=1)
    )


def cards(drawing: Drawing, resource: str = GPU, each: int = 8) -> Drawing:
    """Return the cluster with cards in all nodes; pod `half` has the half of those of its node."""
    nodes = {
        name: structs.replace(node, allocatable=(*node.allocatable, (resource, each)))
        for name, node in drawing.nodes.items()
    }
    gpus = structs.replace(drawing.running["n2"][0].requirements, requests=((resource, each // 2),))
    half = structs.replace(drawing.running["n2"][0], requirements=gpus)
    return drawing.but(nodes=nodes, running={**drawing.running, "n2": (half,)})


def test_who_waits_is_counted_by_cause_and_namespace(drawing: Drawing) -> None:
    found = told(drawing)
    assert found["koord_pending_gangs"] == {("insufficient-slots", "default"): 1, ("would-start", "other"): 1}
    assert found["koord_pending_pods"] == {
        ("insufficient-slots", "default"): 2,
        ("would-start", "default"): 1,
        ("would-start", "other"): 1,
    }
    assert found["koord_pending_oldest_seconds"] == {("insufficient-slots", "default"): 3600}
    assert found["koord_answer_complete"] == {("pending",): 1, ("topology",): 1, ("quota",): 1}
    assert found["koord_build_info"].keys() == {(quotas(drawing).basis.koordinator_version, __version__)}


def test_what_could_not_be_read_is_no_zero(drawing: Drawing) -> None:
    found = told(drawing.with_gap("Pod").with_gap("Node", "unavailable"))
    assert found["koord_kind_unread"] == {("Pod", "forbidden"): 1, ("Node", "unavailable"): 1}
    assert found["koord_answer_complete"] == {("pending",): 0, ("topology",): 0, ("quota",): 0}
    assert found["koord_shape_known"] == {("1cpu",): 0}
    assert "koord_domain_slots" not in found
    assert "koord_slots" not in found
    unseen = told(cards(drawing).with_gap("Pod"))
    assert unseen["koord_answer_complete"]["topology",] == 0
    assert unseen["koord_domain_cards"][("", ROOT, GPU)] == 32
    assert "koord_domain_free_cards" not in unseen


def test_a_row_that_rests_on_what_could_not_be_read_makes_the_answer_incomplete(drawing: Drawing) -> None:
    blind = told(drawing.with_gap("ElasticQuota"))
    assert blind["koord_pending_gangs"].keys() == {("insufficient-slots", "default"), ("not-evaluated", "other")}
    assert blind["koord_answer_complete"]["pending",] == 0


def test_a_pod_of_which_nobody_can_tell_counts_as_unknown(drawing: Drawing) -> None:
    (item, *_) = every_pending(drawing).items
    assert metrics.cause_of(structs.replace(item, verdict="unknown", cause=None)) == "unknown"


def test_gangs_of_volcano_are_counted_for_themselves(drawing: Drawing) -> None:
    theirs = VolcanoGang("team/bert", "Pending", "", None, None, 1, (), 0, 0, 0, "", None, (), ())
    found = Values()
    metrics.of_pending(found, structs.replace(every_pending(drawing), items=(), volcano=(theirs,)), ())
    assert series(metrics.text(found))["koord_volcano_pending_gangs"] == {("team",): 1}


def test_the_room_in_each_domain_is_told_in_slots_and_cards(drawing: Drawing) -> None:
    found = told(cards(drawing), shapes=("1gpu", "8gpu", "1npu"))
    assert found["koord_domain_cards"] == {
        ("", ROOT, GPU): 32, ("s0", SPINE, GPU): 32, ("b0", BLOCK, GPU): 16, ("b1", BLOCK, GPU): 16,
    }  # fmt: skip
    assert found["koord_domain_free_cards"][("b1", BLOCK, GPU)] == 12
    assert found["koord_domain_fragmented_cards"] == {
        ("", ROOT, GPU): 4, ("s0", SPINE, GPU): 4, ("b0", BLOCK, GPU): 0, ("b1", BLOCK, GPU): 4,
    }  # fmt: skip
    assert found["koord_domain_slots"][("b1", BLOCK, "1gpu")] == 12
    assert found["koord_domain_slots"][("b1", BLOCK, "8gpu")] == 1
    assert found["koord_shape_known"] == {("1gpu",): 1, ("8gpu",): 1, ("1npu",): 0}
    assert found["koord_slots"] == {("1gpu",): 28, ("8gpu",): 3}
    assert found["koord_cards"] == {(GPU,): 32}
    assert (found["koord_free_cards"], found["koord_fragmented_cards"]) == ({(GPU,): 28}, {(GPU,): 4})
    assert found["koord_outside_nodes"] == {(): 0}


def test_slots_are_those_of_topo(drawing: Drawing) -> None:
    found = told(cards(drawing), shapes=("1gpu",))["koord_domain_slots"]
    report = with_shape(topo(drawing), cards(drawing), parsed(cards(drawing), "1gpu"))
    assert found == {(row.name, row.layer, "1gpu"): row.shape_pods for row in report.domains}


@pytest.mark.parametrize("outside", [("n3",), ("n0", "n1", "n2", "n3")])
def test_nodes_outside_the_tree_count_beside_it(drawing: Drawing, outside: tuple[str, ...]) -> None:
    crowded = cards(drawing)
    gone = crowded.but(topologies={}) if len(outside) == 4 else crowded.change(*outside, labels=())
    found = told(gone, shapes=("8gpu",))
    assert found["koord_outside_nodes"] == {(): len(outside)}
    assert found["koord_slots"] == {("8gpu",): 3}
    assert found["koord_cards"] == {(GPU,): 32}
    assert found["koord_fragmented_cards"] == {(GPU,): 4}
    assert found.get("koord_domain_slots", {}).get(("", ROOT, "8gpu"), 0) == 3 - min(len(outside), 3)


def test_shares_of_cards_are_told_in_cards(drawing: Drawing) -> None:
    found = told(cards(drawing, SHARE, 200), shapes=())
    assert found["koord_domain_cards"][("b1", BLOCK, SHARE)] == 4
    assert found["koord_domain_free_cards"][("b1", BLOCK, SHARE)] == 3
    assert found["koord_domain_fragmented_cards"][("b1", BLOCK, SHARE)] == 1


def test_quotas_are_told_in_units_of_their_resources(drawing: Drawing) -> None:
    minimum: Any = {"min": cpus(4)}
    found = told(drawing.with_quota("team", "default", cpu=12, **minimum))
    assert found["koord_quota_min"] == {("team", "cpu"): 4}
    assert found["koord_quota_max"] == {("team", "cpu"): 12}
    assert found["koord_quota_used"]["team", "cpu"] == 12
    assert found["koord_quota_headroom"]["team", "cpu"] == 0
    empty = told(drawing.with_quota("idle", "nowhere", cpu=12))
    assert (empty["koord_quota_used"]["idle", "cpu"], empty["koord_quota_requested"]["idle", "cpu"]) == (0, 0)
    unseen = told(drawing.with_quota("team", "default").with_gap("Pod"))
    assert unseen["koord_quota_max"] == {("team", "cpu"): 1000}
    assert "koord_quota_used" not in unseen


def test_names_beyond_the_bound_share_a_series(drawing: Drawing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MOST", {"namespace": 1, "domain": 3, "quota": 1, "resource": 1})
    low: Any = {"priority": -1}
    crowded = cards(drawing).with_quota("team", "default", cpu=90).with_quota("more", "other", cpu=30)
    found = told(crowded.with_gang("third/one", 1, cpu=1, **low), shapes=("1gpu",))
    assert found["koord_pending_gangs"] == {("contended", "default"): 1, ("would-start", "_other"): 2}
    assert found["koord_domain_cards"] == {
        ("", ROOT, GPU): 32, ("s0", SPINE, GPU): 32, ("b0", BLOCK, GPU): 16, ("_other", BLOCK, GPU): 16,
    }  # fmt: skip
    assert found["koord_domain_slots"]["_other", BLOCK, "1gpu"] == 12
    assert found["koord_quota_max"].keys() == {("_other", "cpu")}
    assert found["koord_names_joined"]["namespace",] == 2
    assert found["koord_names_joined"]["domain",] == 1


def test_whom_the_first_gangs_would_preempt_is_told_and_how_many_are_left_out() -> None:
    busy: Any = {"gang": "default/runs", "priority": 0}
    full = cluster("s0: b0[n0:8 n1:8]").with_group("runs", 2).with_running("r0", "n0", cpu=8, **busy)
    full = full.with_running("r1", "n1", cpu=8, **busy)
    for name, priority in (("low", 0), ("high", 9), ("mid", 5)):
        wants: Any = {"priority": priority, "topology": rules("MustGather BlockLayer")}
        full = full.with_gang(name, 1, cpu=8, **wants)
    pending = every_pending(full)
    found = series(preemption_of(full, pending, 1))
    assert found == {
        "koord_preemption_examined_gangs": {(): 1},
        "koord_preemption_unexamined_gangs": {(): 2},
        "koord_preemption_helped_gangs": {(): 1},
        "koord_preemption_broken_gangs": {(): 1},
        "koord_preemption_victim_pods": {(): 1},
    }
    gone = series(preemption_of(full.but(pending=()), pending, 5))
    assert gone["koord_preemption_examined_gangs"] == {(): 0}
    assert series(preemption_of(full, None, 5))["koord_preemption_unexamined_gangs"] == {(): 0}


def test_names_keep_to_the_conventions_of_prometheus() -> None:
    for name, metric in METRICS.items():
        assert re.fullmatch(r"koord(_[a-z]+)+", name)
        assert name.endswith("_total") == (metric.kind == "counter")
        assert metric.help.endswith(".")


def test_hostile_names_stay_within_their_line() -> None:
    found = Values()
    found.add("koord_pending_gangs", 1, 'a"\n# EOF\u202e', "quota")
    lines = metrics.text(found).decode().splitlines()
    assert len(lines) == 3
    assert "\u202e" not in lines[2]
