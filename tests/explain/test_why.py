"""why-pending: the one cause, its evidence, or where the gang would be placed."""

import pytest
from msgspec.structs import replace

from kubectl_koord.diagnosis.coverage import of_search
from kubectl_koord.explain import why as questions
from kubectl_koord.explain.every_pending import every_pending
from kubectl_koord.explain.why import decided, why, with_nodes
from kubectl_koord.model.hardware import CPU, CPUTopology, NodeNUMA
from kubectl_koord.model.load import NodeMetric
from kubectl_koord.model.pods import Condition, HostPort, PodTerm
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.render.pages.why import outcomes
from kubectl_koord.reports.common import Notice, SetTopology
from kubectl_koord.reports.jobs import Cause, Funnel, NodeReason, PodShape, SlotRow, WhatIf
from kubectl_koord.simulation.simulation import simulate
from tests.build import (
    BLOCK,
    NODE,
    SPINE,
    SPINE_KEY,
    Drawing,
    card,
    cluster,
    cpus,
    devices,
    having,
    node,
    preempt_of,
    rules,
    short,
    why_of,
)

WORKED = cluster(
    "spine-0: block-0[node-0 node-1 node-2] block-1[node-3 node-4];"
    "spine-1: block-2[node-5 node-6] block-3[node-7 node-8];"
    "spine-2: block-4[node-9 node-10 node-11]"
)
FULL = (
    WORKED.with_running("low-0", on="node-0", cpu=8)
    .with_running("low-1", on="node-1", cpu=8)
    .with_running("low-5", on="node-5", cpu=8)
)
PODS = tuple(f"default/job-{number}" for number in range(4))


def code_of(drawing: Drawing, name: str = "job") -> tuple[str, str | None]:
    report = why_of(drawing, name)
    return report.verdict, report.cause.code if report.cause else None


def test_a_gang_that_fits_is_told_where_it_would_go() -> None:
    report = why_of(WORKED.with_gang("job", 4, 8, must_gather=SPINE))
    assert (report.verdict, report.cause, report.must_gather, report.desired_offer_slot) == ("yes", None, SPINE, 4)
    assert short(report.placement) == {"job-0": "node-5", "job-1": "node-6", "job-2": "node-7", "job-3": "node-8"}
    assert report.domains == (
        SlotRow(SPINE, "spine-0", 5, 0),
        SlotRow(SPINE, "spine-1", 4, 0),
        SlotRow(SPINE, "spine-2", 3, 1, "fits at most 3 of 4 pods even when empty (3 nodes)"),
    )
    assert (report.pending_pods, report.min_member, report.bound_pods, report.gang_group, report.requests) == (
        PODS,
        4,
        0,
        ("default/job",),
        "8 CPU",
    )


def test_a_gang_that_is_short_of_slots_is_shown_what_is_in_the_way() -> None:
    report = why_of(FULL.with_gang("job", 4, 8, must_gather=SPINE, priority=1000))
    cause = Cause("insufficient-slots", "no spine has room for its 4 pods; the best has 3.", PODS)
    assert (report.verdict, report.cause, report.placement) == ("no", cause, None)
    low_0 = "node-0: low-0 (8 CPU, priority 0)"
    never = "fits at most 3 of 4 pods even when empty (3 nodes)"
    assert report.domains == (
        SlotRow(SPINE, "spine-0", 3, 1, low_0, WhatIf(3, 3, 5, 5)),
        SlotRow(SPINE, "spine-1", 3, 1, "node-5: low-5 (8 CPU, priority 0)", WhatIf(3, 3, 4, 4)),
        SlotRow(SPINE, "spine-2", 3, 1, never, WhatIf(3, 3, 3, 3)),
    )
    assert report.funnel == Funnel(12, (("insufficient CPU", 3),), 9, (("with 8 CPU free", 9),))


def test_without_a_hard_layer_the_cluster_is_what_is_short() -> None:
    report = why_of(cluster("s0: b0[n1 n2]").with_running("low", on="n1").with_gang("job", 2, 8, topology=rules()))
    names = ("default/job-0", "default/job-1")
    assert report.cause == Cause("insufficient-slots", "the cluster has room for 1 of its 2 pods.", names)


def test_a_number_that_is_no_multiple_is_named_as_such() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_running("low", on="n1", cpu=1)
    report = why_of(drawing.with_gang("job", 2, 8, topology=rules(f"MustGather {BLOCK} x3")))
    message = "its 2 pods cannot be split by podCountMultiple 3 of BlockLayer (room for 2)."
    assert report.cause == Cause("multiple-mismatch", message, ("default/job-0", "default/job-1"))
    assert report.domains == (SlotRow(BLOCK, "b0", 0, 2, "n1: low (1 CPU, priority 0)", WhatIf(0, 0, 0, 3)),)


def test_slots_enough_that_cannot_be_divided_up_are_a_multiple_mismatch() -> None:
    drawing = cluster("s0: b0[n1:16 n2:8]").with_running("low", on="n1", cpu=1)
    report = why_of(drawing.with_gang("job", 2, 8, topology=rules(f"MustGather {BLOCK} x3")))
    message = "its 2 pods cannot be split by podCountMultiple 3 of BlockLayer (room for 2)."
    assert report.cause == Cause("multiple-mismatch", message, ("default/job-0", "default/job-1"))


ROUNDED = cluster("s0: b0[n1:8 n2:4] b1[n3:4]")
BY_TWO = rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")


@pytest.mark.parametrize(
    ("topology", "message"),
    [
        (BY_TWO, "no spine has room for its 4 pods; the best has 2 (4 without podCountMultiple)."),
        (
            rules(f"PreferGather {BLOCK} x2"),
            "the cluster has room for 2 of its 4 pods (4 without podCountMultiple).",
        ),
    ],
)
def test_slots_that_rounding_takes_from_a_number_that_is_a_multiple_are_short(topology: str, message: str) -> None:
    drawing = ROUNDED.change("n3", allocatable=ROUNDED.nodes["n1"].allocatable).with_running("low", on="n3", cpu=4)
    report = why_of(drawing.with_gang("job", 4, 4, topology=topology))
    assert report.cause == Cause("insufficient-slots", message, PODS)
    assert [row.in_the_way for row in report.domains] == ["n3: low (4 CPU, priority 0)"]


def test_a_multiple_that_rounding_leaves_too_little_for_on_empty_nodes_never_fits() -> None:
    report = why_of(ROUNDED.with_gang("job", 4, 4, topology=BY_TWO))
    message = "its 4 pods (4 CPU) do not fit even in an empty spine; waiting does not help."
    assert report.cause == Cause("never-fits", message, PODS)
    never = "fits at most 2 of 4 pods even when empty (3 nodes; 4 without podCountMultiple)"
    assert [row.in_the_way for row in report.domains] == [never]


@pytest.mark.parametrize(("cpu", "code"), [(3, "no-feasible-node"), (4, "never-fits")])
def test_who_is_nominated_takes_no_room_of_the_empty_cluster(cpu: int, code: str) -> None:
    drawing = cluster("s0: b0[n1]").with_pod("other", cpu=8, priority=9, nominated="n1")
    drawing = drawing.with_running("low", on="n1", cpu=4)
    assert code_of(drawing.with_gang("job", 1, 5, minimum=2).with_pod("job-1", "job", cpu=cpu)) == ("no", code)


@pytest.mark.parametrize(("scheduler", "code"), [("koord-scheduler", "no"), ("default-scheduler", "yes")])
def test_pods_that_another_scheduler_has_nominated_keep_no_room(scheduler: str, code: str) -> None:
    drawing = cluster("s0: b0[n1]").with_pod("other", cpu=8, priority=9, nominated="n1", scheduler=scheduler)
    assert code_of(drawing.with_gang("job", 1, 8))[0] == code
    assert code_of(drawing.with_gang("job", 1, 8, must_gather=SPINE))[0] == code


def test_the_multiple_of_a_layer_above_the_hard_one_divides_nothing() -> None:
    drawing = cluster("s0: b0[n1:12 n2:4 n3:4]").with_running("low", on="n1", cpu=4)
    topology = rules(f"MustGather {BLOCK}", f"PreferGather {SPINE} x2", f"PreferGather {NODE} x3")
    report = why_of(drawing.with_gang("job", 3, 4, topology=topology))
    message = "no block has room for its 3 pods; the best has 0 (4 without podCountMultiple)."
    assert report.cause == Cause("insufficient-slots", message, PODS[:3])


def test_what_not_even_an_empty_domain_takes_never_fits() -> None:
    report = why_of(WORKED.with_gang("job", 6, 8, must_gather=SPINE))
    message = "its 6 pods (8 CPU) do not fit even in an empty spine; waiting does not help."
    assert report.cause is not None
    assert (report.cause.code, report.cause.message) == ("never-fits", message)


def test_what_not_even_an_empty_cluster_takes_never_fits() -> None:
    report = why_of(WORKED.with_gang("job", 1, 9))
    message = "its 1 pod (9 CPU) does not fit even in an empty cluster; waiting does not help."
    assert report.cause is not None
    assert (report.cause.code, report.cause.message) == ("never-fits", message)


def test_where_plans_go_on_failing_it_is_not_said_that_a_gang_never_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = WORKED.with_gang("job", 6, 8, must_gather=SPINE)
    assert code_of(drawing) == ("no", "never-fits")
    monkeypatch.setattr(questions, "_MOST_PLANS", 0)
    assert code_of(drawing) == ("no", "insufficient-slots")


MASTER = cluster("s0: b0[n1 n2]").with_nodes(node("master")).taint("master", "node-role.kubernetes.io/control-plane")


@pytest.mark.parametrize(
    "drawing",
    [
        MASTER.with_gang("job", 3, 8, must_gather=SPINE),
        MASTER.with_gang("job", 4, 8),
        MASTER.with_gang("job", 4, 8, node_selector=(("pool", "a"),)),
        MASTER.change("n1", metric=NodeMetric((("cpu", 8000),))).with_gang("job", 4, 8),
    ],
)
def test_a_node_that_refuses_for_anything_but_room_does_not_hide_that_a_gang_never_fits(drawing: Drawing) -> None:
    assert code_of(drawing) == ("no", "never-fits")


@pytest.mark.parametrize(
    "drawing",
    [
        MASTER.with_gang("job", 3, 8),
        MASTER.with_gang("job", 2, 8, must_gather=SPINE, node_selector=(("pool", "a"),)),
        MASTER.taint("n1", "gpu").with_gang("job", 2, 8, must_gather=SPINE),
        MASTER.with_gang("job", 2, must_gather=NODE, ports=(HostPort(80),)),
    ],
)
def test_what_would_fit_were_it_not_for_more_than_room_may_fit_yet(drawing: Drawing) -> None:
    assert code_of(drawing)[1] in {"insufficient-capacity", "insufficient-slots", "no-feasible-node"}


@pytest.mark.parametrize(
    ("spines", "ill", "code"), [(2, 1, "insufficient-slots"), (7, 7, "never-fits"), (10, 9, "insufficient-slots")]
)
def test_a_plan_that_fails_in_one_empty_domain_does_not_hide_that_another_has_room(
    spines: int, ill: int, code: str
) -> None:
    """Cards that are ill do not count in slots: a domain has enough of them, and no room."""
    drawn = cluster(";".join(f"s{number}: b{number}[n{number}]" for number in range(spines)))
    for number in range(spines):
        cards = devices(card(0), card(1, healthy=number >= ill))
        drawn = drawn.change(f"n{number}", allocatable=cpus(8, nvidia_gpu=2, pods=110), devices=cards)
        drawn = drawn.with_running(f"low-{number}", on=f"n{number}", cpu=8)
    assert code_of(drawn.with_gang("job", 2, requests=cpus(1, nvidia_gpu=1), must_gather=SPINE)) == ("no", code)


def test_a_gang_that_never_fits_is_told_why_where_that_is_not_for_want_of_room() -> None:
    end = "does not fit even in an empty cluster{}; waiting does not help."
    topology = CPUTopology(tuple(CPU(number, number, 0, 0) for number in range(8)))
    whole = cluster("s0: b0[n1]").cordon("n1").change("n1", numa=NodeNUMA(cpus=topology, bind_policy="FullPCPUs"))
    cause = why_of(whole.with_pod("p", cpu=0.5), "pod/p").cause
    assert cause is not None
    assert cause.message == "its 1 pod (500m CPU) " + end.format(": binds whole CPUs, not 500m (1 node)")
    large = why_of(whole.with_pod("p", cpu=9), "pod/p").cause
    assert large is not None
    assert large.message == "its 1 pod (9 CPU) " + end.format("")
    unzoned = cluster("s0: b0[n1]").change("n1", numa=NodeNUMA(policy="BestEffort"))
    unbound = why_of(unzoned.with_pod("p", cpu=4), "pod/p").cause
    assert unbound is not None
    assert unbound.message == "its 1 pod (4 CPU) " + end.format(": no NUMA zones known")


def test_a_cordon_is_not_what_makes_a_gang_never_fit() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n1").with_gang("job", 2, 8, must_gather=SPINE)
    report = why_of(drawing)
    assert report.cause is not None
    assert report.cause.code == "insufficient-slots"
    assert report.domains == (SlotRow(SPINE, "s0", 1, 1, "n1: cordoned", WhatIf(1, 2, 1, 2)),)


def test_a_plain_gang_of_which_too_few_fit_is_short_of_capacity() -> None:
    report = why_of(cluster("s0: b0[n1 n2 n3]").with_running("low", on="n1").with_gang("job", 3, 8))
    message = "only 2 of its 3 pods fit at the same time, 3 must (8 CPU each)."
    assert report.cause == Cause("insufficient-capacity", message, ("default/job-0",))
    assert report.funnel == Funnel(3, (("insufficient CPU", 1),), 2, (("with 8 CPU free", 2),))


def test_a_plain_gang_of_which_nobody_fits_has_no_feasible_node() -> None:
    report = why_of(cluster("s0: b0[n1]").with_running("low", on="n1").with_gang("job", 1, 8))
    message = "no node fits default/job-0 (8 CPU): insufficient CPU (1 node)."
    assert report.cause == Cause("no-feasible-node", message, ("default/job-0",))


def test_a_member_that_no_node_takes_is_named_though_others_find_a_place() -> None:
    drawing = cluster("s0: b0[n1:16 n2:8]").with_running("low", on="n1", cpu=4)
    drawing = drawing.with_gang("job", 2, 1, minimum=3).with_pod("job-2", gang="job", cpu=16)
    report = why_of(drawing)
    message = "no node fits default/job-2 (16 CPU): 20 CPU are free, at most 12 on a node; insufficient CPU (2 nodes)."
    assert report.cause == Cause("no-feasible-node", message, ("default/job-2",))
    assert report.funnel == Funnel(2, (("insufficient CPU", 2),), 0, (("with 16 CPU free", 0),), "default/job-2")


def test_a_member_that_some_node_would_take_alone_is_short_of_capacity() -> None:
    drawing = cluster("s0: b0[n1:16 n2:8]").with_running("low", on="n2", cpu=1)
    drawing = drawing.with_gang("job", 1, 12, minimum=2).with_pod("job-1", gang="job", cpu=8)
    report = why_of(drawing)
    message = "only 1 of its 2 pods fits at the same time, 2 must (12 CPU or 8 CPU each)."
    assert report.cause == Cause("insufficient-capacity", message, ("default/job-1",))
    assert report.funnel == Funnel(2, (("insufficient CPU", 1),), 1, (("with 8 CPU free", 1),), "default/job-1")


@pytest.mark.untraced
def test_what_pods_of_different_sizes_request_is_told_of_all_of_them() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3]").with_group("job", 4).with_members(["job-0"], "job", cpu=2)
    drawing = drawing.with_members(["job-1", "job-2", "job-3"], "job", cpu=7)
    report = why_of(drawing)
    message = "its 4 pods (7 CPU or 2 CPU) do not fit even in an empty cluster; waiting does not help."
    assert (report.cause and report.cause.message) == message
    assert report.shapes == (PodShape(3, "7 CPU", {"cpu": "7"}), PodShape(1, "2 CPU", {"cpu": "2"}))
    assert report.funnel == Funnel(3, (), 3, pod="default/job-0")
    busy = drawing.with_nodes(node("n4")).with_running("other", on="n4", cpu=8)
    ran = why_of(busy.with_group("job", 1).with_running("job-9", on="n1", cpu=1, gang="default/job"))
    assert (ran.cause and ran.cause.message) == "3 of its 4 pending pods fit (7 CPU or 2 CPU each)."


def test_a_member_that_goes_where_another_is_may_wait_for_that_one() -> None:
    sharing = PodTerm(SPINE_KEY, having(app="db"))
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1").with_gang("job", 0, minimum=2)
    drawing = drawing.with_pod("job-0", gang="job", cpu=4, labels=(("app", "db"),), priority=1)
    drawing = drawing.with_pod("job-1", gang="job", cpu=4, pod_affinity=(sharing,))
    assert code_of(drawing) == ("no", "insufficient-capacity")


def test_the_funnel_of_a_gang_behind_another_is_that_of_the_nodes_it_leaves() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("high", 1, 8, priority=9).with_gang("job", 2, 8)
    report = why_of(drawing)
    message = "default/high has higher priority and takes its place; otherwise it would be placed."
    assert report.cause == Cause("insufficient-capacity", message, ("default/job-0", "default/job-1"))
    assert report.funnel == Funnel(2, (("insufficient CPU", 1),), 1, (("with 8 CPU free", 1),))


def test_taints_and_selectors_are_named_and_do_not_make_a_gang_never_fit() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").taint("n1", "gpu").taint("n2", "gpu").change("n3", unschedulable=True)
    message = "no node fits default/job-0 (8 CPU): taint gpu:NoSchedule (2 nodes) and cordoned (1 node)."
    assert why_of(drawing.with_gang("job", 1, 8)).cause == Cause("no-feasible-node", message, ("default/job-0",))
    planned = why_of(drawing.with_gang("job", 1, 8, must_gather=SPINE)).cause
    lost = "excluded nodes: taint gpu:NoSchedule (2 nodes) and cordoned (1 node)"
    message = f"no spine has room for its pod; {lost}."
    assert planned == Cause("insufficient-slots", message, ("default/job-0",))


def test_multiples_are_never_given_up_silently_for_another_layer() -> None:
    drawing = cluster("s0: b0[n1 n2] b1[n3 n4]").with_gang("job", 4, 8, topology=rules(f"MustGather {BLOCK} x2"))
    wider = next(way for way in why_of(drawing).unblock if way.action == "gather-wider")
    kept = rules(f"MustGather {SPINE}", f"PreferGather {BLOCK} x2")
    assert wider.edits == (SetTopology("default/job", "PodGroup", kept),)


def test_a_lone_pod_is_spoken_of_as_it() -> None:
    report = why_of(cluster("s0: b0[n1]").with_running("low", on="n1").with_pod("lone", cpu=8), "lone")
    assert report.cause == Cause(
        "no-feasible-node", "no node fits it (8 CPU): insufficient CPU (1 node).", ("default/lone",)
    )
    assert (report.lone_pod, report.min_member, report.gang_group) == (True, 1, ())


def unequal(drawing: Drawing, layer: str) -> Drawing:
    drawing = drawing.with_gang("job", 0, minimum=3, must_gather=layer)
    return drawing.with_members(("a", "b"), "job", cpu=2).with_pod("c", gang="job", cpu=6)


def test_a_plan_that_fails_on_execution_fails_again_and_again() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8 n3:16]").with_running("wall", on="n3", cpu=16)
    report = why_of(unequal(drawing, NODE).version("1.7"))
    message = "every attempt fails: default/c does not fit on its planned node."
    assert report.cause == Cause("insufficient-slots", message, ("default/c",))
    assert [(one.when, one.cause and one.cause.code) for one in report.alternatives] == [
        ("the scheduler tries default/a first (2 CPU)", "insufficient-slots"),
        ("the scheduler tries default/c first (6 CPU)", "insufficient-slots"),
    ]


@pytest.mark.parametrize("version", ["1.8", "main"])
def test_where_members_wait_as_another_finds_its_seat_too_small_all_may_be_bound_off_their_plan(version: str) -> None:
    drawing = cluster("s0: b0[n1:8 n2:8 n3:16]").with_running("wall", on="n3", cpu=16).version(version)
    report = why_of(unequal(drawing, NODE))
    race = (
        "by count n1 has room (3 slots for 3 pods), but it does not take default/c beside the others "
        "(insufficient CPU); the scheduler keeps trying, and may bind some pods only."
    )
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", race)
    assert [(one.verdict, one.cause and one.cause.code) for one in report.alternatives] == [
        ("unknown", "plan-not-executable"),
        ("no", "insufficient-slots"),
    ]


@pytest.mark.parametrize("version", ["1.8", "main"])
def test_a_gang_that_one_trigger_places_and_another_tears_apart_is_no_flat_yes(version: str) -> None:
    gpu = (("cpu", 4000), ("nvidia.com/gpu", 1))
    drawing = cluster("s0: b0[n1:8 n2:8]").change("n2", allocatable=(("cpu", 8000), ("pods", 110), gpu[1]))
    drawing = drawing.with_gang("job", 0, minimum=2, must_gather=SPINE).with_pod("a", gang="job", cpu=4)
    report = why_of(drawing.with_pod("b", gang="job", requests=gpu).version(version))
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", "several-outcomes")
    assert [(one.verdict, one.placement) for one in report.alternatives] == [
        ("unknown", None),
        ("yes", {"default/a": "n2", "default/b": "n2"}),
    ]
    plan = preempt_of(drawing.with_pod("b", gang="job", requests=gpu).version(version))
    assert [(one.verdict, one.reason) for one in plan.alternatives] == [
        ("unknown", "plan-not-executable"),
        ("yes", "not-needed"),
    ]


def test_dying_victims_on_a_nominated_node_are_waited_for() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=8, terminating=True, preempted=True)
    report = why_of(drawing.with_gang("job", 1, 8, priority=9, nominated="n1"))
    message = "it waits for 1 preempted pod to terminate: default/low."
    assert report.cause == Cause("waiting-for-preemption", message, ("default/low",))


def test_a_victim_that_does_not_go_is_told_with_how_long_it_is_overdue() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, nominated="n1")
    late = "2026-11-20T07:00:00Z"
    report = why_of(drawing.with_running("low", "n1", 8, terminating=True, preempted=True, gone_by=late))
    message = "default/low should have terminated 3h ago: check finalizers and node."
    assert report.cause
    assert report.cause.message == f"it waits for 1 preempted pod to terminate: default/low; {message}"


def test_a_gang_of_unequal_pods_is_tried_again_until_it_is_placed_but_in_17() -> None:
    drawing = cluster("s0: b0[n1:16 n2:4]").with_gang("job", 3, 2, must_gather=SPINE, priority=9)
    drawing = drawing.with_pod("job-0", gang="job", cpu=12, priority=9)
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.code) == ("yes", None)
    once = why_of(drawing.version("1.7"))
    assert (once.verdict, [one.verdict for one in once.alternatives]) == ("unknown", ["yes", "no"])


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("large", "small", "verdict"), [(0, 0, "unknown"), (1, 0, "yes"), (0, 1, "unknown"), (-1, -1, "unknown")]
)
def test_pods_of_a_gang_that_has_run_are_bound_one_by_one_by_priority(large: int, small: int, verdict: str) -> None:
    drawing = cluster("s0: b0[n1:3 n2:1]").with_gang("job", 2, 1, minimum=2, priority=small)
    drawing = drawing.with_pod("job-9", gang="job", cpu=2, priority=large)
    assert why_of(drawing.with_gang("job", 2, 1, minimum=3, priority=small)).verdict == "yes"
    assert why_of(drawing.with_running("job-8", on="n2", cpu=0, gang="default/job")).verdict == verdict


@pytest.mark.parametrize(("version", "verdict"), [("1.7", "unknown"), ("1.8", "yes"), ("main", "yes")])
def test_a_group_of_which_not_all_fit_may_be_placed_where_the_right_gang_comes_first(
    version: str, verdict: str
) -> None:
    ids = '["default/a", "default/b"]'
    drawing = cluster("s0: b0[n1:4]").with_gang("a", 4, minimum=3, groups=ids).with_gang("b", 1, groups=ids)
    assert why_of(drawing.version(version), "a").verdict == verdict


def test_a_pod_that_does_not_fit_on_its_seat_may_come_when_enough_others_have_theirs() -> None:
    drawing = cluster("s0: b0[n1:16]").with_gang("job", 3, 4, minimum=2, must_gather=SPINE)
    report = why_of(drawing.with_pod("job-2", gang="job", cpu=14).version("1.7"))
    assert [(one.when, one.verdict) for one in report.alternatives] == [
        ("the scheduler tries default/job-0 first (4 CPU)", "no"),
        ("the scheduler tries default/job-2 only after enough others", "yes"),
        ("the scheduler tries default/job-2 first (14 CPU)", "no"),
    ]


def big_master(*running: str) -> Drawing:
    drawing = cluster("s0: b0[n1:40]").with_gang("job", 3, 2, must_gather=SPINE, priority=9)
    drawing = drawing.with_pod("job-0", gang="job", cpu=12, priority=9)
    for name in running:
        drawing = drawing.with_running(name, on="n1", cpu=24)
    return drawing


def test_where_it_depends_on_who_is_tried_first_all_outcomes_are_shown() -> None:
    report = why_of(big_master("low"))
    words = "it depends on which pod the scheduler tries first; no object shows this."
    assert (report.verdict, report.cause) == ("unknown", Cause("several-outcomes", words))
    assert [(one.when, one.verdict, [row.offer_slots for row in one.domains]) for one in report.alternatives] == [
        ("the scheduler tries default/job-1 first (2 CPU)", "yes", [3]),
        ("the scheduler tries default/job-0 first (12 CPU)", "no", [1]),
    ]


def test_where_all_outcomes_are_alike_there_are_no_alternatives() -> None:
    report = why_of(big_master())
    assert (report.verdict, report.alternatives) == ("yes", ())


def test_more_pods_than_the_minimum_are_not_all_certain() -> None:
    report = why_of(WORKED.with_gang("job", 4, 8, minimum=2, must_gather=SPINE))
    assert [notice.code for notice in report.warnings] == ["surplus-pods"]


@pytest.mark.parametrize(("ran", "codes"), [(1, []), (2, ["surplus-pods"]), (4, ["surplus-pods"])])
def test_more_pods_than_are_needed_beside_those_that_run_are_not_all_certain(ran: int, codes: list[str]) -> None:
    drawing = WORKED.with_gang("job", 3, minimum=4, match_policy="waiting-and-running")
    for number in range(ran):
        drawing = drawing.with_running(f"old-{number}", on="node-1", gang="default/job")
    report = why_of(drawing)
    assert (report.verdict, [notice.code for notice in report.warnings]) == ("yes", codes)


def test_a_replacement_pod_goes_alone_unless_the_scheduler_has_forgotten() -> None:
    drawing = WORKED.with_gang("job", 1, 8, minimum=4, must_gather=SPINE)
    for number in range(1, 4):
        drawing = drawing.with_running(f"job-{number}", on=f"node-{number}", cpu=8, gang="default/job")
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.code) == ("unknown", "replacement-waits")
    assert [(one.verdict, one.cause and one.cause.code) for one in report.alternatives] == [
        ("yes", None),
        ("no", "replacement-waits"),
    ]
    assert (report.unblock, [step.action for step in report.next_steps]) == ((), ["touch-podgroup"])
    told = outcomes(report.alternatives)
    assert told[1] == "If the scheduler forgot it in a restart: it waits for 4 new pods, which never come."


def test_a_replacement_pod_of_a_plain_gang_goes_alone() -> None:
    drawing = WORKED.with_gang("job", 1, 8, minimum=4)
    for number in range(1, 4):
        drawing = drawing.with_running(f"job-{number}", on=f"node-{number}", cpu=8, gang="default/job")
    assert code_of(drawing) == ("yes", None)


def test_all_replacement_pods_must_find_a_place() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8).with_running("job-9", on="n2", cpu=8, gang="default/job")
    assert code_of(drawing) == ("no", "insufficient-capacity")


def test_a_gang_behind_one_of_higher_priority_that_takes_its_place_is_not_placed() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8).with_gang("first", 1, 8, priority=9)
    assert code_of(drawing) == ("no", "insufficient-capacity")
    assert code_of(drawing, "first") == ("yes", None)


def test_who_takes_other_nodes_or_less_priority_is_no_matter() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("job", 2, 8, priority=5)
    assert code_of(drawing.with_gang("first", 1, 8, priority=9)) == ("yes", None)
    assert code_of(drawing.with_gang("last", 3, 8, priority=1)) == ("yes", None)
    assert code_of(drawing.with_gang("stuck", 9, 8, priority=9)) == ("yes", None)
    assert code_of(drawing.with_gang("gated", 1, 8, priority=9, gates=("kueue",))) == ("yes", None)


def test_who_goes_first_takes_no_more_than_its_minimum_for_certain() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("job", 2, 8)
    assert code_of(drawing.with_gang("first", 9, 8, minimum=1, priority=9)) == ("no", "insufficient-capacity")


def test_nothing_pending_is_a_yes() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 0).with_running("job-0", on="n1", gang="default/job")
    report = why_of(drawing)
    assert (report.verdict, report.cause, report.pending_pods, report.bound_pods) == ("yes", None, (), 1)


TOLD = (
    "0/12 nodes are available: no candidate topology nodes can accommodate job, desiredOfferSlot: 4, {},"
    " 0/12 nodes are available: 12 Insufficient cpu."
)
NOW = (
    "topology topologyNode SpineLayer/spine-0: 3;topology topologyNode SpineLayer/spine-1: 3;"
    "topology topologyNode SpineLayer/spine-2: 3"
)
BEST = "max offer slot among 3 must-gather topology nodes: 3"


@pytest.mark.parametrize(
    ("slots", "agrees"),
    [(NOW, True), (NOW.replace("spine-0: 3", "spine-0: 5"), False), (BEST, True), (BEST + "1", False)],
)
def test_what_the_scheduler_said_is_compared_slot_by_slot(slots: str, *, agrees: bool) -> None:
    message = TOLD.format(slots)
    drawing = FULL.with_gang("job", 4, 8, must_gather=SPINE).with_message("job-1", message)
    says = why_of(drawing).scheduler_says
    assert says is not None
    assert (says.message, says.since, says.agrees, says.pod) == (
        message,
        "2026-11-20T09:55:00Z",
        agrees,
        "default/job-1",
    )


def test_the_root_cause_is_preferred_to_its_quotation() -> None:
    quoted = 'GangGroup "default/job" gets rejected due to member Pod "default/job-1" is unschedulable'
    quoted += ' with reason "0/12 nodes", alreadyWaitForBound: 0'
    drawing = FULL.with_gang("job", 4, 8, must_gather=SPINE).with_message("job-0", quoted)
    says = [why_of(one).scheduler_says for one in (drawing, drawing.with_message("job-1", "0/12 nodes"))]
    assert [one and one.message for one in says] == [quoted, "0/12 nodes"]


def test_words_without_slots_agree_with_nothing_but_contradict_a_yes() -> None:
    stuck = FULL.with_gang("job", 4, 8, must_gather=SPINE).with_message("job-0", "0/12 nodes are available")
    free = WORKED.with_gang("job", 4, 8, must_gather=SPINE).with_message("job-0", "0/12 nodes are available")
    answers = [why_of(drawing).scheduler_says for drawing in (stuck, free)]
    assert [says and says.agrees for says in answers] == [None, False]


def test_a_condition_without_a_message_says_nothing() -> None:
    assert why_of(WORKED.with_gang("job", 1).with_message("job-0", "")).scheduler_says is None


@pytest.mark.parametrize(
    ("kind", "spec", "verdict"),
    [
        ("Node", None, "unknown"),
        ("Pod", None, "unknown"),
        ("PodGroup", None, "unknown"),
        ("ClusterNetworkTopology", None, "yes"),
        ("ClusterNetworkTopology", SPINE, "unknown"),
    ],
)
def test_what_could_not_be_read_makes_an_answer_unknown(kind: str, spec: str | None, verdict: str) -> None:
    drawing = WORKED.with_gang("job", 1, 8, must_gather=spec or "").with_gap(kind)
    report = why_of(drawing)
    cause = Cause("not-readable", f"{kind} could not be read: you may not read it")
    assert (report.verdict, report.cause) == (verdict, cause if verdict == "unknown" else None)


def test_a_kind_that_the_input_holds_nothing_of_counts_as_absent_with_a_warning() -> None:
    report = why_of(WORKED.with_gang("job", 1, 8).with_gap("PodGroup", "not-in-input", "the input holds no PodGroup"))
    assert report.verdict == "yes"
    assert [(notice.code, notice.message) for notice in report.warnings] == [
        ("kind-not-in-input", "snapshot contains no PodGroup; assuming none exist.")
    ]


def test_all_gangs_and_lone_pods_with_pending_pods_are_listed_once() -> None:
    ids = '["default/a", "default/b"]'
    drawing = WORKED.with_gang("a", 1, groups=ids).with_gang("b", 1, groups=ids).with_gang("c", 1).with_pod("lone")
    drawing = drawing.with_group("idle", 1).with_pod("foreign", scheduler="default-scheduler").with_pod("ml/far")
    found = every_pending(drawing)
    assert [report.gang for report in found.items] == ["default/a", "default/c", "default/lone", "ml/far"]
    assert found.verdict == "yes"
    assert (found.namespace, found.selected) == ("", False)
    elsewhere = every_pending(drawing, "ml")
    assert [report.gang for report in elsewhere.items] == ["ml/far"]
    assert (elsewhere.namespace, elsewhere.selected) == ("ml", False)
    assert every_pending(drawing, causes=("quota",)).selected


def test_jobs_that_are_alike_stand_in_name_order_among_the_others() -> None:
    found = every_pending(WORKED.with_gang("a", 1, 8).with_gang("b", 1, 4).with_gang("c", 1, 8).with_gang("d", 1, 4))
    assert [report.gang for report in found.items] == ["default/a", "default/b", "default/c", "default/d"]
    assert [report.waiting["cpu"] for report in found.items] == ["8", "4", "8", "4"]


def test_listings_offer_no_ways_out() -> None:
    drawing = FULL.with_gang("job", 4, 8, must_gather=SPINE, priority=9)
    assert [report.unblock for report in every_pending(drawing).items] == [()]
    assert why(drawing, drawing.subject("job")).unblock != ()


def test_a_listing_without_pods_or_nodes_is_unknown() -> None:
    assert every_pending(cluster().but(gaps=(Gap("Pod", "forbidden", "no"),))).verdict == "unknown"


def test_host_ports_in_the_way_are_named() -> None:
    drawing = cluster("s0: b0[n1]").with_running("web", on="n1", ports=(HostPort(80),))
    report = why_of(drawing.with_gang("job", 1, 1, ports=(HostPort(80),)))
    assert report.funnel == Funnel(1, (("host port 80 in use", 1),), 0, (("with its ports free", 0),))


def test_every_node_is_told_with_what_it_takes_and_why_it_takes_no_more() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3]").with_nodes(node("out")).cordon("n2").with_running("low", on="n3")
    drawing = drawing.with_gang("job", 2, 8, must_gather=SPINE)
    report = with_nodes(why_of(drawing), drawing, drawing.subject("job"))
    assert report.nodes == (
        NodeReason("n1", "b0", 1, "insufficient CPU"),
        NodeReason("n2", "b0", 0, "cordoned"),
        NodeReason("n3", "b1", 0, "insufficient CPU"),
        NodeReason("out", "", 1, "outside the tree: lacks the label network/spine"),
    )


def test_nodes_are_not_told_where_nothing_is_pending_or_could_be_read() -> None:
    idle = WORKED.with_group("job", 1)
    assert with_nodes(why_of(idle), idle, idle.subject("job")).nodes == ()
    blind = WORKED.with_gang("job", 1, 8).with_gap("Node")
    assert with_nodes(why_of(blind), blind, blind.subject("job")).nodes == ()


def test_a_lone_pod_that_is_on_a_node_is_not_missing_there() -> None:
    drawing = WORKED.with_running("lone", on="node-3").with_finished("done", "")
    drawing = drawing.but(finished=tuple(replace(pod, gang="") for pod in drawing.finished))
    reports = [why_of(drawing, name) for name in ("lone", "done")]
    assert [(one.verdict, one.lone_pod, one.bound_pods, one.min_member, one.node) for one in reports] == [
        ("yes", True, 1, 1, "node-3"),
        ("yes", True, 1, 1, ""),
    ]


@pytest.mark.parametrize("nodes", ["n1 n2", "n1 n2 n3"])
@pytest.mark.parametrize("message", ["", "0/2 nodes are available: 2 Insufficient cpu."])
def test_a_listing_tells_of_a_job_behind_others_what_its_own_page_does(nodes: str, message: str) -> None:
    condition = Condition("Unschedulable", message, "2026-11-20T09:00:00Z") if message else None
    keeps_away = PodTerm("kubernetes.io/hostname", having(app="web"))
    drawing = cluster(f"s0: b0[{nodes}]").with_pod("high", cpu=3, priority=10, pod_anti_affinity=(keeps_away,))
    drawing = drawing.with_gang("job", 2, 8, condition=condition)
    full, listed = why_of(drawing), why(drawing, drawing.subject("job"), brief=True)
    assert (listed.verdict, listed.cause and listed.cause.code) == ("unknown", "insufficient-capacity")
    assert (listed.cause, listed.scheduler_says, listed.domains) == (full.cause, full.scheduler_says, full.domains)


def test_where_first_attempts_are_left_out_nobody_can_tell() -> None:
    drawing = cluster("s0: b0[n1:8 n2:4]").with_gang("job", 0)
    for name, cpu in (("job-0", 4), ("job-1", 5)):
        drawing = drawing.with_pod(name, gang="job", cpu=cpu)
    simulation = replace(simulate(drawing, drawing.subject("job")), steps=1)
    found = decided(simulation)
    why = "followed 1 of more outcomes: what the others come to is unknown"
    assert (found.verdict, found.cause) == ("unknown", Cause("not-followed", why))
    assert [*of_search(found.outcomes)] == [Notice("not-followed", f"{why}.")]


def said(drawing: Drawing) -> str:
    cause = why_of(drawing).cause
    return cause.message if cause else ""


def test_where_not_even_one_pod_fits_that_is_what_is_said() -> None:
    full = cluster("s0: b0[n1:8]; s1: b1[n2:8]").with_running("low", on="n1", cpu=8).with_running("old", on="n2", cpu=8)
    assert said(full.with_gang("job", 4, 2, must_gather=SPINE)) == "no spine has room for even one of its 4 pods."
    preferring = full.with_gang("job", 4, 1, topology=rules(f"PreferGather {SPINE}"))
    assert said(preferring) == "the cluster has no room for even one of its 4 pods."
    assert said(full.with_gang("job", 1, 4, must_gather=SPINE)) == "no spine has room for its pod."


@pytest.mark.parametrize(
    ("drawing", "words"),
    [
        (
            cluster("s0: b0[n1 n2]")
            .with_gang("job", 1, 1, minimum=2, must_gather=SPINE)
            .with_running("job-9", on="n2", gang="default/job"),
            "1 of its 2 pods was recreated: it starts, unless koord-scheduler was restarted since.",
        ),
        (
            cluster("s0: b0[n1 n2]")
            .with_gang("job", 1, 1, minimum=2, must_gather=SPINE)
            .with_running("job-8", on="n2", gang="default/job")
            .with_running("job-9", on="n2", gang="default/job"),
            "1 of its 3 pods came after the gang ran: it starts, unless koord-scheduler was restarted since.",
        ),
    ],
)
def test_what_hangs_on_the_scheduler_s_memory_is_said_with_how_many_pods(drawing: Drawing, words: str) -> None:
    report = why_of(drawing)
    assert (report.verdict, report.cause and report.cause.message) == ("unknown", words)
    assert [one.message.partition(",")[0] for one in report.next_steps] == [
        "Still pending after a minute? Touch the PodGroup"
    ]


def test_what_would_start_can_be_asked_for_as_a_cause_can() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("fits", 1, 1).with_gang("job", 1, 16)
    assert [item.gang for item in every_pending(drawing, causes=("would-start",)).items] == ["default/fits"]
    assert [item.gang for item in every_pending(drawing, causes=("never-fits",)).items] == ["default/job"]
