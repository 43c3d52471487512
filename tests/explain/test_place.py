"""A node and a domain: what runs there, what is free, who could use it, and what a drain would do."""

from typing import Any

import pytest

from kubectl_koord.engine.tree import Tree, build
from kubectl_koord.explain.place import domain_report, domains_named, full_names, node_report
from kubectl_koord.explain.why import why
from kubectl_koord.model.hardware import CPU, NOTHING, Allocations, CPUTopology, NodeNUMA, PodNUMA, set_of
from kubectl_koord.model.objects import Claim, Node
from kubectl_koord.model.pods import PodTerm
from kubectl_koord.render.show import text
from kubectl_koord.render.structured import document
from kubectl_koord.reports.capacity import (
    DeviceRoom,
    DomainReport,
    Drain,
    DrainedPod,
    Free,
    JobHere,
    NodeReport,
    NominatedPod,
    ReasonHere,
    ReservationHere,
    TypeTotal,
    WaitingGang,
)
from kubectl_koord.reports.common import Basis, BrokenGang, BudgetHit, DomainName
from kubectl_koord.simulation.subjects import pending_subjects
from tests.build import BLOCK, SPINE, Drawing, card, cluster, cpus, devices, freed, having, holding, rules
from tests.render.samples import PIPE, TERMINAL

TREE = "s0: b0[n1:8 n2:8] b1[n3:8]; s1: b0x[n4:8]; -: -[n5:8]"
JOB = "Job/train"


def drain_of(drawn: Drawing, node: str = "n1") -> Drain:
    found = node_report(drawn, node).drain
    assert found is not None
    return found


def domain_of(drawn: Drawing, name: str) -> DomainReport:
    tree = build(drawn.topologies, drawn.nodes)
    (index,) = domains_named(tree, name)
    assert isinstance(tree, Tree)
    return domain_report(drawn, tree, index)


def test_a_node_is_told_whole() -> None:
    drawn = (
        cluster(TREE)
        .taint("n1", "team", "a")
        .with_group("old", 1)
        .with_running("old-0", "n1", 2, gang="default/old", priority=5, owner=JOB)
        .with_running("agent", "n1", 1, owner="DaemonSet/agent", of_daemon_set=True)
        .with_gang("job", 2, cpu=4, tolerations=())
    )
    assert node_report(drawn, "n1") == NodeReport(
        verdict="yes",
        basis=Basis("1.8", drawn.config.version_from, drawn.moment, "cluster"),
        warnings=(),
        node="n1",
        taints=("team=a:NoSchedule",),
        domains=(DomainName(BLOCK, "b0"), DomainName(SPINE, "s0")),
        free=(Free("cpu", 5000, 8000), Free("pods", 108, 110)),
        running=(
            JobHere("default/old", JOB, 5, ("default/old-0",), ("n1",), {"cpu": "2"}),
            JobHere(None, "DaemonSet/agent", 0, ("default/agent",), ("n1",), {"cpu": "1"}, daemon_set=True),
        ),
        waiting=(WaitingGang("default/job", 2, 0, "", "yes", None, 0, 2, (ReasonHere("taint team=a:NoSchedule", 1),)),),
        drain=Drain(
            evicts=(freed("old-0", "n1", 5, gang="default/old", owner=JOB, breaks="default/old"),),
            goes=(DrainedPod("default/old-0", "fits", recreated=True, to="n2"),),
            stays=("default/agent",),
            broken_gangs=(BrokenGang("default/old", 1, 1, 0),),
            daemon_sets=("default/agent",),
        ),
    )


def test_a_domain_counts_only_nodes_that_can_be_used_as_free() -> None:
    found = domain_of(cluster(TREE).cordon("n1").change("n3", ready=False).with_running("x", "n1", 3), "s0")
    assert found.free == (Free("cpu", 8000, 24000, 13000), Free("pods", 110, 330, 219))
    assert (found.nodes, found.cordoned, found.not_ready) == (("n1", "n2", "n3"), ("n1",), ("n3",))
    assert found.parent == DomainName("ClusterTopologyLayer", "")


def test_cards_are_counted_once_whatever_they_are_called() -> None:
    room = (("cpu", 8000), ("koordinator.sh/gpu-core", 800), ("nvidia.com/gpu", 8), ("pods", 110))
    drawn = cluster(TREE).change("n1", allocatable=room).with_running("x", "n1", requests=cpus(1, nvidia_gpu=3))
    assert node_report(drawn, "n1").free == (
        Free("nvidia.com/gpu", 5, 8),
        Free("cpu", 7000, 8000),
        Free("pods", 109, 110),
    )


def test_cpu_memory_and_pods_come_before_whatever_else_koordinator_adds_to_a_node() -> None:
    batch = (("kubernetes.io/batch-cpu", 60000), ("kubernetes.io/batch-memory", 512 << 30))
    mid = (("kubernetes.io/mid-cpu", 1000), ("kubernetes.io/mid-memory", 1 << 30))
    room = (*cpus(8, nvidia_gpu=8), ("ephemeral-storage", 2 << 40), ("hugepages-1Gi", 1 << 30), *batch, *mid)
    drawn = cluster(TREE).change("n1", allocatable=(*room, ("hugepages-2Mi", 0), ("memory", 4 << 30), ("pods", 110)))
    named = ["nvidia.com/gpu", "cpu", "memory", "pods", "ephemeral-storage", "hugepages-1Gi"]
    assert [one.resource for one in node_report(drawn, "n1").free] == [*named, *(name for name, _ in (*batch, *mid))]
    headline = "Node n1; free: 8 of 8 GPU, 8 of 8 CPU, 4Gi of 4Gi memory, 110 of 110 pods.\n"
    others = (
        "Also free: 2Ti of 2Ti ephemeral-storage, 1Gi of 1Gi hugepages-1Gi, 60000 of 60000 batch-cpu, 512Gi of 512Gi"
    )
    rest = " batch-memory, 1000 of 1000 mid-cpu, 1Gi of 1Gi mid-memory.\n"
    found = page(node_report(drawn, "n1"))
    assert found.startswith(headline)
    assert others + rest in found


def test_of_many_other_resources_a_terminal_gets_the_first() -> None:
    many = tuple((f"example.com/r{number}", 1) for number in range(9))
    drawn = cluster(TREE).change("n1", allocatable=(*cpus(8), *many, ("pods", 110)))
    shown = text(node_report(drawn, "n1"), style=TERMINAL)
    assert "1 of 1 r4 and 4 more (--all shows them)." in " ".join(shown.split())


def test_devices_are_told_in_totals() -> None:
    drawn = (
        cluster(TREE)
        .change("n1", devices=devices(card(0), card(1, healthy=False), card(2)))
        .with_running("x", "n1", allocations=holding(0))
    )
    found = node_report(drawn, "n1").devices
    assert found == (TypeTotal("gpu", 3, 1, 1, 0, 0, 0, (DeviceRoom(1, 1), DeviceRoom(2, 0), DeviceRoom(3, 0))),)


def test_slots_of_a_domain_are_those_of_the_plan() -> None:
    drawn = cluster(TREE).with_gang("job", 4, cpu=5, topology=rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2"))
    assert [domain_of(drawn, name).waiting[0].slots for name in ("s0", "b0", "b1", "s1")] == [2, 2, 0, 0]


def test_gangs_that_fit_go_first() -> None:
    drawn = cluster(TREE).with_gang("big", 4, cpu=4).with_gang("small", 1).with_gang("huge", 1, cpu=9)
    found = node_report(drawn, "n1").waiting
    assert [(one.gang, one.slots, one.lacks) for one in found] == [
        ("default/small", 1, 0),
        ("default/big", 2, 2),
        ("default/huge", 0, 1),
    ]


def test_a_gang_that_no_node_is_asked_for_has_no_slots() -> None:
    drawn = cluster(TREE).with_quota("q", "default", cpu=0.5).with_gang("job", 1)
    (found,) = node_report(drawn, "n1").waiting
    assert (found.slots, found.lacks, found.reasons[0].nodes) == (0, 1, 1)
    assert found.reasons[0].message.startswith("quota q: 0 CPU in use, 500m allowed")


def test_who_waits_has_the_verdict_and_the_cause_of_why_pending() -> None:
    drawn = cluster(TREE).with_quota("default", cpu=6).with_gang("fits", 2, cpu=1, priority=9)
    drawn = drawn.with_gang("large", 1, cpu=99).with_gang("gated", 1, gates=("hold",)).with_gang("over", 1, cpu=7)
    for one in (drawn, drawn.but(quotas=()), *map(drawn.with_gap, ("PodGroup", "ElasticQuota", "Device"))):
        told = [(gang.gang, gang.verdict, gang.cause) for gang in node_report(one, "n1").waiting]
        every = [why(one, subject) for subject in pending_subjects(one)]
        assert sorted(told) == sorted((each.gang, each.verdict, each.cause and each.cause.code) for each in every)


def test_slots_are_those_of_the_place_as_it_is_and_not_once_other_members_are_placed() -> None:
    drawn = cluster(TREE).with_quota("default", cpu=6).with_gang("job", 2, cpu=4)
    (gang,) = node_report(drawn, "n1").waiting
    assert (gang.verdict, gang.cause, gang.slots) == ("no", "quota", 2)


def test_slots_are_unknown_where_the_layers_could_not_be_read() -> None:
    drawn = cluster(TREE).with_gang("job", 1, topology=rules(f"MustGather {SPINE}"))
    hidden = drawn.but(topologies={}).with_gap("ClusterNetworkTopology")
    (found,) = node_report(hidden, "n1").waiting
    assert (found.slots, found.lacks, found.reasons) == (None, None, ())


def test_reservations_tell_what_is_left_for_whom() -> None:
    drawn = cluster(TREE).with_reservation("r", "n1", 4, expires="2026-12-01T00:00:00Z").with_owner("x", "n1", "r", 1)
    assert node_report(drawn, "n1").reservations == (
        ReservationHere(
            "r", "n1", ("pods with app=job",), {"cpu": "4"}, {"cpu": "3"}, ("default/x",), "2026-12-01T00:00:00Z"
        ),
    )
    bare = cluster(TREE).with_reserved("r", "n1", 2)
    (found,) = node_report(bare, "n1").reservations
    assert (found.owners, found.unused, found.expires) == ((), {"cpu": "2"}, None)


def test_the_domain_above_all_others_is_named_as_it_is_shown() -> None:
    drawing = cluster("s0: b0[n1 n2]")
    report = domain_of(drawing, "cluster")
    assert (report.layer, report.name, report.parent, report.nodes) == ("ClusterTopologyLayer", "", None, ("n1", "n2"))
    assert domain_of(drawing, "ClusterTopologyLayer/cluster") == report
    assert text(report, style=PIPE).startswith("The cluster's topology tree has 2 nodes; free: ")
    assert domain_of(cluster("cluster: b0[n1]"), "cluster").layer == SPINE


def test_of_many_pods_that_stay_it_is_told_of_how_many_daemon_sets_they_are() -> None:
    drawn = cluster("s0: b0[n1 n2]")
    for name in ("a", "b"):
        for node in ("n1", "n2"):
            drawn = drawn.with_running(f"{name}-{node}", node, 1, owner=f"DaemonSet/{name}", of_daemon_set=True)
    page = text(domain_of(drawn, "s0"), style=PIPE)
    assert "  4 pods of 2 DaemonSets stay: created anew here at once.\n" in page
    static = cluster("s0: b0[n1]")
    for name in "abcd":
        static = static.with_running(name, "n1", 1, owner="Node/n1")
    page = text(node_report(static, "n1"), style=PIPE)
    assert "  4 pods of the nodes themselves stay: created anew here at once.\n" in page


def test_pods_nominated_to_a_place_are_told() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_pod("a", nominated="n1", priority=7).with_pod("b", nominated="n2")
    drawing = drawing.with_pod("c", nominated="n1", priority=9).with_pod("d", nominated="gone").with_pod("e")
    first = (NominatedPod("default/c", "n1", 9), NominatedPod("default/a", "n1", 7))
    assert node_report(drawing, "n1").nominated == first
    report = domain_of(drawing, "s0")
    assert report.nominated == (*first, NominatedPod("default/b", "n2", 0))
    assert "  POD         NODE   PRIORITY\n  default/c   n1            9\n" in text(report, style=PIPE)
    assert "  POD         PRIORITY\n  default/c          9\n" in text(node_report(drawing, "n1"), style=PIPE)


def test_pods_of_a_drained_node_share_the_room_that_is_left() -> None:
    drawn = cluster("s0: b0[n1:8 n2:4]").with_running("low", "n1", 3, owner=JOB)
    drawn = drawn.with_running("high", "n1", 3, owner=JOB, priority=9)
    assert drain_of(drawn).goes == (
        DrainedPod("default/high", "fits", recreated=True, to="n2"),
        DrainedPod("default/low", "no-node", recreated=True, reason="insufficient CPU (1 node)"),
    )


def test_pods_that_a_controller_creates_anew_go_first() -> None:
    drawn = (
        cluster("s0: b0[n1:8 n2:4]").with_running("bare", "n1", 3, priority=9).with_running("job", "n1", 3, owner=JOB)
    )
    assert [(one.pod, one.outcome, one.recreated) for one in drain_of(drawn).goes] == [
        ("default/bare", "no-node", False),
        ("default/job", "fits", True),
    ]


def test_pods_that_are_alike_fill_the_other_nodes() -> None:
    drawn = cluster("s0: b0[n1:8 n2:4 n3:2]")
    for number in range(7):
        drawn = drawn.with_running(f"p{number}", "n1", 1, owner=JOB)
    assert [one.to for one in drain_of(drawn).goes] == ["n2", "n2", "n2", "n2", "n3", "n3", None]


def test_pods_that_keep_apart_are_placed_one_by_one() -> None:
    apart = (PodTerm("kubernetes.io/hostname", having(app="x")),)
    drawn = cluster("s0: b0[n1:8 n2:8 n3:8]")
    for name in drawn.nodes:
        drawn = drawn.label(name, **{"kubernetes.io/hostname": name})
    for number in range(3):
        drawn = drawn.with_running(f"p{number}", "n1", labels=(("app", "x"),), owner=JOB, pod_anti_affinity=apart)
    found = drain_of(drawn).goes
    assert [one.to for one in found] == ["n2", "n3", None]


def test_a_place_needs_its_cards_too() -> None:
    room = (*cpus(8, nvidia_gpu=2), ("pods", 110))
    nodes = [Node(name, tuple(sorted(room)), devices=devices(card(0), card(1))) for name in ("n1", "n2")]
    drawn = cluster().with_nodes(*nodes).with_running("half", "n2", allocations=holding(0, share=50))
    for number in range(2):
        drawn = drawn.with_running(
            f"g{number}", "n1", requests=cpus(1, nvidia_gpu=1), allocations=holding(number), owner=JOB
        )
    assert [(one.outcome, one.to) for one in drain_of(drawn).goes] == [("fits", "n2"), ("no-node", None)]


def test_a_place_that_takes_a_pod_needs_its_cpus_to_bind_too() -> None:
    taken = NodeNUMA(cpus=CPUTopology(tuple(CPU(i, i // 2, 0, 0) for i in range(16))), reserved=set_of(range(14)))
    drawn = cluster("s0: b0[n1:16 n2:16 n3:2]").change("n2", numa=taken)
    found = drain_of(drawn.with_running("bound", "n1", cpu=4, numa=PodNUMA(binds=True), owner=JOB))
    short = "2 of 4 CPUs free to bind (1 node) and insufficient CPU (1 node)"
    assert [(one.outcome, one.reason) for one in found.goes] == [("no-node", short)]


def test_whoever_terminates_goes_anyway() -> None:
    found = drain_of(cluster(TREE).with_running("x", "n1", terminating=True))
    assert found == Drain(evicts=(), goes=(), terminating=("default/x",))


def test_a_budget_that_refuses_is_told() -> None:
    drawn = cluster(TREE).with_running("x", "n1", labels=(("app", "x"),)).with_budget("b", having(app="x"))
    (found,) = drain_of(drawn).evicts
    assert (found.pod_disruption_budget, found.evictable) == (BudgetHit("default/b", violated=True), False)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"allocations": Allocations(reservation="r")}, "it draws on a Reservation here"),
        ({"has_resource_claims": True}, "where the devices of its resource claims"),
        ({"claims": ("data",)}, "its volume claims were not read"),
    ],
)
def test_where_a_pod_could_go_is_unknown(fields: dict[str, Any], reason: str) -> None:
    (found,) = drain_of(cluster(TREE).with_running("x", "n1", owner=JOB, **fields)).goes
    assert found.outcome == "unknown"
    assert found.reason.startswith(reason)


def test_a_volume_that_was_read_is_no_question() -> None:
    claim = Claim("default/data", volume="pv")
    drawn = cluster(TREE).with_running("x", "n1", claims=("data",), allocations=NOTHING)
    (found,) = drain_of(drawn.but(claims={"default/data": claim})).goes
    assert found.outcome != "unknown"


def test_a_refusal_before_any_node_is_told() -> None:
    drawn = cluster(TREE).with_quota("q", "default", cpu=1).with_running("x", "n1", 2, owner=JOB)
    (found,) = drain_of(drawn).goes
    assert found.outcome == "no-node"
    assert found.reason == "quota q: 0 CPU in use, 1 allowed (its max); default/x wants 2 CPU more"


def test_a_quota_admits_as_many_as_it_has_room_for() -> None:
    drawn = cluster(TREE).with_quota("q", "default", cpu=2)
    for number in range(3):
        drawn = drawn.with_running(f"x{number}", "n1", owner=JOB)
    assert [one.outcome for one in drain_of(drawn).goes] == ["fits", "fits", "no-node"]


def test_a_pod_that_is_created_anew_keeps_its_share_of_a_quota() -> None:
    drawn = cluster(TREE).with_quota("q", "default", cpu=2).with_running("x", "n1", 2, owner=JOB)
    assert drain_of(drawn).goes == (DrainedPod("default/x", "fits", recreated=True, to="n2"),)


def test_names_of_domains() -> None:
    layered = cluster("same: same[n1:8]; s1: b0[n2:8]")
    tree = build(layered.topologies, layered.nodes)
    assert full_names(tree) == (
        "ClusterTopologyLayer/cluster",
        f"{SPINE}/s1",
        f"{BLOCK}/b0",
        f"{SPINE}/same",
        f"{BLOCK}/same",
    )
    assert len(domains_named(tree, "same")) == 2
    assert len(domains_named(tree, f"{BLOCK}/same")) == 1
    assert domains_named(tree, "n1") == domains_named(tree, "") == ()
    none = build({}, layered.nodes)
    assert (full_names(none), domains_named(none, "same")) == ((), ())


def test_a_node_outside_the_tree_is_in_no_domain() -> None:
    assert node_report(cluster(TREE), "n5").domains == ()
    assert node_report(cluster(TREE).but(topologies={}), "n1").domains == ()


def test_without_pods_nothing_is_told() -> None:
    found = node_report(cluster(TREE).with_gap("Pod"), "n1")
    assert (found.verdict, found.free, found.drain) == ("unknown", (), None)
    assert "you may not read it" in found.message


def test_without_pod_groups_the_rest_is_told() -> None:
    found = node_report(cluster(TREE).with_gap("PodGroup"), "n1")
    assert (found.verdict, found.free[0]) == ("unknown", Free("cpu", 8000, 8000))


def test_json_has_the_kinds() -> None:
    assert document(node_report(cluster(TREE), "n1"))["kind"] == "Node"
    assert document(domain_of(cluster(TREE), "s0"))["kind"] == "Domain"


def test_the_name_of_a_pod_that_begins_a_sentence_stays_as_it_is() -> None:
    drawn = cluster(TREE).with_running("a", on="n1", protected=True, owner=JOB)
    assert "\n  default/a is protected from preemption.\n" in text(node_report(drawn, "n1"), style=PIPE)


def test_the_page_of_a_node() -> None:
    drawn = (
        cluster("s0: b0[n1:8 n2:2]")
        .taint("n1", "team", "a")
        .cordon("n2")
        .with_group("old", 1)
        .with_running("old-0", "n1", 2, gang="default/old", priority=5)
        .with_running("web", "n1", 1, owner="ReplicaSet/web", labels=(("app", "web"),))
        .with_running("agent", "n1", 1, owner="DaemonSet/agent", of_daemon_set=True)
        .with_running("leaving", "n1", 1, terminating=True)
        .with_budget("b", having(app="web"))
        .with_reservation("r", "n1", 1)
        .with_gang("job", 2)
        .change("n1", devices=devices(card(0), card(1, healthy=False)))
    )
    assert (
        text(node_report(drawn, "n1"), style=PIPE)
        == """\
Node n1; free: 2 of 8 CPU, 105 of 110 pods.
In BlockLayer b0, SpineLayer s0.
Taints: team=a:NoSchedule
Devices: 1 of 2 GPU is whole and free, 1 unhealthy.
Each: GPU .x (. whole and free, + in use in part, # in use, x unhealthy).

Running
  GANG OR OWNER             PODS   PRIORITY   REQUESTS   NOTES
  default/old                  1          5   2 CPU
  default/DaemonSet/agent      1          0   1 CPU      stays
  default/ReplicaSet/web       1          0   1 CPU
  default/leaving              1          0   1 CPU      1 terminating

Reservations
  RESERVATION   NODE   HOLDS   UNUSED   FOR
  r             n1     1 CPU   1 CPU    pods with app=job

No pending gang could use it now
  GANG          PRIORITY   SLOTS   CAUSE              LACKS HERE
  default/job          0     0/2   no-feasible-node   2 slots: taint team=a:NoSchedule
  SLOTS: pods that it takes now, beside what runs here.
  Details: kubectl koord why-pending GANG

If it were drained
  2 pods would be evicted: 2 could not go elsewhere.
  The API server refuses to evict default/web now, as budget default/b allows no more disruptions.
  Gang default/old falls below its minimum (0 left, 1 needed).
  POD             PRIORITY   AFTERWARDS
  default/old-0          5   no node takes it: cordoned (1 node)
  default/web            0   no node takes it: cordoned (1 node)
  Each pod was tried by itself on the other nodes; which of them the scheduler takes is not predicted.
  1 pod without a controller: nothing creates it anew.
  default/agent stays: created anew here at once.
  default/leaving terminates already.

Evaluated as Koordinator 1.8 (assumed)
"""
    )


def test_the_page_of_a_domain() -> None:
    drawn = cluster(TREE).cordon("n1").change("n2", ready=False).with_gang("job", 2, cpu=8).with_gang("small", 1)
    assert (
        text(domain_of(drawn, "b0"), style=PIPE)
        == """\
BlockLayer b0 has 2 nodes; free: 0 of 16 CPU, 0 of 220 pods.
In SpineLayer s0.
Not counted as free, cordoned: n1; not ready: n2.

Running
  No pods run here.

Pending gangs that could use it
  GANG            PRIORITY   SLOTS   CAUSE         LACKS HERE
  default/small          0     1/1   would-start
  default/job            0     1/2   would-start   1 slot: cordoned (1 node), insufficient CPU (1 node)
  SLOTS: pods that it takes now, beside what runs here.
  Details: kubectl koord why-pending GANG

If it were drained
  No pod would be evicted.

Warning: n2 is not ready: the scheduler looks at taints alone, and places pods there all the same. (not-ready-nodes)

Evaluated as Koordinator 1.8 (assumed)
"""
    )


def page(report: NodeReport | DomainReport) -> str:
    return text(report, style=PIPE)


def test_the_page_says_what_could_not_be_read() -> None:
    assert page(node_report(cluster(TREE).with_gap("Pod"), "n1")).startswith(
        "Node n1.\nCannot tell everything: Pod could not be read: you may not read it.\nIn BlockLayer b0, "
    )
    drawn = cluster(TREE).with_gap("Reservation").change("n1", devices=devices(card(0), card(1)))
    assert (
        "Devices: 2 GPU, how many are free is unknown.\n"
        "Each: GPU ?? (. whole and free, + in use in part, # in use, x unhealthy, ? not known).\n"
    ) in page(node_report(drawn, "n1"))
    hidden = cluster(TREE).with_gap("Pod")
    assert page(domain_of(hidden, "s0")).startswith("SpineLayer s0 has 3 nodes.\nCannot tell everything: ")


def test_the_page_of_a_node_that_is_out() -> None:
    drawn = cluster(TREE).cordon("n5").change("n5", devices=devices(card(0), card(1)))
    assert page(node_report(drawn, "n5")).startswith(
        """\
Node n5 is cordoned; free: 0 of 8 CPU, 0 of 110 pods.
It is outside the topology tree.
Taints: node.kubernetes.io/unschedulable:NoSchedule
Devices: 0 of 2 GPU are whole and free, 2 more on nodes that are out.
Each: GPU .. (. whole and free, + in use in part, # in use, x unhealthy).
"""
    )


def test_the_page_tells_where_each_pod_could_go() -> None:
    drawn = cluster(TREE).with_running("a", "n1", owner=JOB)
    drawn = drawn.with_running("b", "n1", owner=JOB, allocations=Allocations(reservation="r"))
    found = page(node_report(drawn, "n1"))
    assert "2 pods would be evicted: 1 could go elsewhere, 1 unknown.\n" in found
    assert "  default/a          0   fits on n2\n" in found
    assert "  default/b          0   unknown: it draws on a Reservation here: whether it must use" in found
    assert "without a controller" not in found


def test_two_pods_that_stay_or_end() -> None:
    drawn = cluster(TREE)
    for name in ("a", "b"):
        drawn = drawn.with_running(name, "n1", owner="Node/n1").with_running(f"{name}-gone", "n1", terminating=True)
    found = page(node_report(drawn, "n1"))
    assert "  default/a and default/b stay: created anew here at once.\n" in found
    assert "  default/a-gone and default/b-gone terminate already.\n" in found


def test_a_screen_shows_the_first_of_many() -> None:
    drawn = cluster(TREE)
    for number in range(20):
        drawn = drawn.with_running(f"p{number:02}", "n1", 0.1)
    shown = text(node_report(drawn, "n1"), style=TERMINAL)
    assert "... and 5 more (--all shows them)" in shown


def test_many_reasons_are_counted() -> None:
    drawn = cluster(TREE).cordon("n1").taint("n2", "a").with_running("x", "n3", 8).with_gang("job", 2, minimum=2)
    found = page(domain_of(drawn, "s0"))
    assert "2 slots: cordoned (1 node), insufficient CPU (1 node) and 1 more" in found


def test_slots_that_are_unknown_show_no_reason() -> None:
    drawn = cluster(TREE).with_gang("job", 1, topology=rules(f"MustGather {SPINE}"))
    hidden = drawn.but(topologies={}).with_gap("ClusterNetworkTopology")
    assert "  default/job          0       ?   not-readable" in page(node_report(hidden, "n1"))
