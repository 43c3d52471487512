"""Where there are more candidates than are tried, and none of those tried helps, the answer says so."""

import pytest

from kubectl_koord.model.objects import Storage, StorageClass
from kubectl_koord.model.pods import PodTerm
from kubectl_koord.model.values import Taint
from kubectl_koord.remedies import cluster as of_cluster
from kubectl_koord.remedies import gang, pods, quotas, search
from kubectl_koord.remedies.search import Search, SearchBudget
from kubectl_koord.reports.jobs import WhyReport
from kubectl_koord.simulation.simulation import next_attempt, simulate
from tests.build import BLOCK, SPINE, Drawing, cluster, cpus, having, rules, why_of

DOWN = (Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),)
HOST = "kubernetes.io/hostname"
QUOTA = "quota.scheduling.koordinator.sh/name"
NODES = cluster("s0: b0[n1:16 n2:16]").with_gang("job", 2, 4, labels=((QUOTA, "a"),))
TEAMS = NODES.with_quota("team", cpu=32, is_parent=True).with_quota("a", cpu=4, parent="team")
LENT = NODES.with_quota("team", cpu=16, is_parent=True).with_quota("a", cpu=8, parent="team")
LENT = LENT.with_quota("b", cpu=99, min=cpus(2), parent="team")
LENT = LENT.with_running("large", on="n2", cpu=10, labels=((QUOTA, "b"),))
FULL = cluster("s0: b0[n1 n2]; s1: b1[n3:4]").with_gang("job", 2, 8, must_gather=SPINE)
FULL = FULL.with_running("m", on="n1", cpu=4, priority=9)
WEB = PodTerm(HOST, having(app="web"))
REPELLED = cluster("s0: b0[n1]").label("n1", **{HOST: "n1"})
REPELLED = REPELLED.with_running("web", on="n1", cpu=0, priority=1, labels=(("app", "web"),))
REPELLED = REPELLED.with_gang("job", 1, 8, priority=5, never_preempts=True, pod_anti_affinity=(WEB,))
UNBOUND = cluster("s0: b0[n1 n2]").but(storage=Storage(classes={"now": StorageClass("now", "csi")}))
UNBOUND = UNBOUND.with_gang("job", 1, 1, claims=("data",))
CASES = [
    (of_cluster, "_MOST_CLAIMS", UNBOUND, "supply-claims"),
    (of_cluster, "_MOST_TRIED", REPELLED.cordon("n1"), "uncordon"),
    (of_cluster, "_MOST_TRIED", cluster("s0: b0[n1]").change("n1", taints=DOWN).with_gang("job", 1, 8), "mend-node"),
    (of_cluster, "_MOST_TAINTS", cluster("s0: b0[n1]").taint("n1", "gpu").with_gang("job", 1, 8), "tolerate"),
    (of_cluster, "_MOST_GROWN", cluster("s0: b0[n1]").with_gang("job", 2, 8, must_gather=SPINE), "add-nodes"),
    (of_cluster, "_MOST_NODES", cluster("s0: b0[n1]; -: b0[n2]").with_gang("job", 2, 8, must_gather=SPINE), "label"),
    (
        of_cluster,
        "_RESERVATIONS_MOST_TRIED",
        cluster("s0: b0[n1]").with_reservation("kept", "n1", 4, app="web").with_gang("job", 1, 8),
        "release-reservation",
    ),
    (quotas, "_MOST_LENDERS", LENT, "free-quota"),
    (quotas, "_MOST_FREED", LENT, "free-quota"),
    (quotas, "_MOST_TRIED", TEAMS.with_quota("z", cpu=16, parent="team"), "other-quota"),
    (pods, "_MOST_COUNTED", FULL, "move-pod"),
    (pods, "_MOST_PLACES", FULL, "free-pods"),
]
WORDS = {
    "supply-claims": "claims that any node can serve",
    "uncordon": "uncordoning nodes",
    "mend-node": "nodes that are not ready",
    "tolerate": "tolerating taints",
    "add-nodes": "more nodes like those there are",
    "label": "labels for nodes outside the tree",
    "release-reservation": "deleting reservations",
    "free-quota": "evicting pods",
    "free-pods": "evicting pods",
    "move-pod": "moving pods",
    "other-quota": "other quotas",
}


@pytest.mark.parametrize(("module", "bound", "drawing", "action"), CASES)
def test_candidates_that_are_left_out_are_told_where_no_other_helps(
    monkeypatch: pytest.MonkeyPatch, module: object, bound: str, drawing: Drawing, action: str
) -> None:
    words = WORDS[action]
    assert words not in _not_tried(why_of(drawing))
    monkeypatch.setattr(module, bound, 0)
    assert words in _not_tried(why_of(drawing))


def _not_tried(report: WhyReport) -> str:
    """Return which changes the report says were not all tried."""
    return f"{report.no_way_out} {report.ways_not_tried}".partition("before it had fully tried ")[2]


def test_slots_that_were_counted_for_some_triggers_only_prove_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = cluster("s0: b0[n1:2]").with_group("job", 2).with_pod("job-0", gang="job", cpu=3)
    drawing = drawing.with_pod("job-1", gang="job", cpu=4).configured(preemption=False)
    monkeypatch.setattr(of_cluster, "_MOST_GROWN", 9)
    assert WORDS["add-nodes"] not in _not_tried(why_of(drawing))
    monkeypatch.setattr(search, "_MOST_SLOT_COUNTS", 1)
    assert WORDS["add-nodes"] in _not_tried(why_of(drawing))


def test_sizes_of_a_gang_with_multiples_are_told_where_not_all_were_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4]").with_gang("job", 6, 8, topology=rules(f"MustGather {BLOCK} x2"))
    found = search_of(drawing)
    monkeypatch.setattr(found, "works", lambda _edits: False)
    assert (list(gang.fewer_pods(found)), found.left_out) == ([], set())
    monkeypatch.setattr(gang, "_MOST_SIZES", 1)
    assert (list(gang.fewer_pods(found)), found.left_out) == ([], {"fewer-pods"})


def search_of(drawing: Drawing) -> Search:
    simulation = simulate(drawing, drawing.subject("job"))
    return Search(simulation, next_attempt(simulation)[0], SearchBudget(simulation))
