"""Ways out: each is offered only because the engine then says yes."""

from kubectl_koord.explain.reports import WayOut
from kubectl_koord.model.pods import GangWish
from tests.build import BLOCK, SPINE, Drawing, cluster, rules, why_of

FULL = (
    cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
    .with_running("low-1", on="n1", cpu=8, priority=100)
    .with_running("low-3", on="n3", cpu=4, priority=50)
    .with_gang("job", 2, 8, must_gather=SPINE, never_preempts=True)
)


def ways(drawing: Drawing, name: str = "job") -> tuple[WayOut, ...]:
    report = why_of(drawing, name)
    assert report.verdict == "no"
    return report.unblock


def actions(drawing: Drawing) -> list[str]:
    return [way.action for way in ways(drawing)]


def test_the_end_of_one_pod_may_be_enough_the_least_important_first() -> None:
    free_s1 = WayOut(
        "free-pod", "Free 4 CPU: move or end default/low-3 on n3 (then s1)", "kubectl delete pod low-3 -n default"
    )
    free_s0 = WayOut(
        "free-pod", "Free 8 CPU: move or end default/low-1 on n1 (then s0)", "kubectl delete pod low-1 -n default"
    )
    prefer = WayOut(
        "prefer-gather",
        "Prefer the layer instead of insisting on it",
        "kubectl koord annotate podgroup job -n default --prefer-gather SpineLayer --overwrite",
    )
    assert ways(FULL) == (free_s1, free_s0, prefer)


def test_several_pods_of_one_domain_are_one_way_out() -> None:
    drawing = FULL.with_running("low-0", on="n1", cpu=8, priority=7).without_running("default/low-3")
    drawing = drawing.with_running("wall", on="n3", cpu=5, protected=True, priority=9)
    drawing = drawing.without_running("default/low-0").with_running("low-4", on="n4", cpu=8)
    assert actions(drawing)[0] == "free-pod"
    assert ways(drawing)[0].message.endswith("(then s0)")


def test_members_of_the_gang_itself_are_not_to_be_killed() -> None:
    drawing = cluster("s0: b0[n1:8 n2:4]").with_running("job-9", on="n1", cpu=4, gang="default/job")
    drawing = drawing.with_gang("job", 1, 8, minimum=2, match_policy="waiting-and-running", never_preempts=True)
    assert ways(drawing) == ()


def test_a_plain_gang_may_be_helped_by_the_end_of_one_pod() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=2).with_pod("lone", cpu=8)
    command = "kubectl delete pod low -n default"
    assert ways(drawing, "lone") == (
        WayOut("free-pod", "Free 2 CPU: move or end default/low on n1 (then n1)", command),
    )


def test_dying_pods_may_make_room_enough() -> None:
    drawing = FULL.with_running("low-1", on="n1", cpu=8, terminating=True).but(
        running={"n1": FULL.with_running("dying", on="n1", cpu=8, terminating=True).running["n1"][:1]}
        | {"n3": FULL.running["n3"]}
    )
    assert ways(drawing)[0] == WayOut("wait-for-terminating", "Wait: 1 pod already terminating make room enough")


def test_dying_pods_may_not_be_enough() -> None:
    drawing = FULL.with_running("dying", on="n4", cpu=8, terminating=True)
    assert "wait-for-terminating" not in actions(drawing)


def test_preemption_may_be_on_its_way() -> None:
    drawing = FULL.change_pods(never_preempts=False, priority=1000)
    message = "Wait: the scheduler will preempt default/low-1 and place the gang in b0"
    command = "kubectl koord preempt job -n default --dry-run"
    assert ways(drawing)[0] == WayOut("wait-for-preemption", message, command)


def test_a_plain_gang_waits_for_preemption_without_a_domain() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=2).with_gang("job", 1, 8, priority=9)
    assert ways(drawing)[0].message == "Wait: the scheduler will preempt default/low and place the gang"


def test_preemption_of_the_dying_is_told_apart() -> None:
    drawing = (
        cluster("s0: b0[n1]").with_running("low", on="n1", cpu=2, terminating=True).with_gang("job", 1, 8, priority=9)
    )
    assert [way.message for way in ways(drawing)][:2] == [
        "Wait: 1 pod already terminating make room enough",
        "Wait: the scheduler will preempt pods that terminate already and place the gang",
    ]


def test_where_preemption_is_off_nobody_waits_for_it() -> None:
    drawing = FULL.change_pods(never_preempts=False, priority=1000).configured(preemption=False)
    assert "wait-for-preemption" not in actions(drawing)


def test_a_cordoned_node_may_be_what_is_missing() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").cordon("n2", "n3").with_gang("job", 2, 8, must_gather=SPINE)
    assert ways(drawing)[0] == WayOut("uncordon", "Uncordon n2 (or n3)", "kubectl uncordon n2")


def test_one_cordoned_node_is_named_alone() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n2").with_gang("job", 2, 8, must_gather=SPINE)
    assert ways(drawing)[0] == WayOut("uncordon", "Uncordon n2", "kubectl uncordon n2")


def test_all_cordoned_nodes_together_may_be_what_is_missing() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n1", "n2").with_gang("job", 2, 8, must_gather=SPINE)
    assert ways(drawing)[0] == WayOut("uncordon", "Uncordon all of n1 and n2", "kubectl uncordon n1 n2")


def test_a_wider_layer_may_do() -> None:
    drawing = cluster("s0: b0[n1] b1[n2]").with_gang("job", 2, 8, must_gather=BLOCK)
    command = "kubectl koord annotate podgroup job -n default --must-gather SpineLayer --overwrite"
    assert ways(drawing) == (WayOut("gather-wider", "Gather on SpineLayer instead", command),)


def test_or_only_a_preference() -> None:
    drawing = cluster("s0: b0[n1]; s1: b1[n2]").with_gang("job", 2, 8, must_gather=BLOCK)
    assert actions(drawing) == ["prefer-gather"]


def test_or_neither() -> None:
    assert actions(cluster("s0: b0[n1]").with_gang("job", 2, 8, must_gather=BLOCK)) == []


def test_the_root_has_no_wider_layer() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 8, must_gather="ClusterTopologyLayer")
    assert actions(drawing) == []


def test_without_a_hard_layer_there_is_none_to_widen() -> None:
    assert actions(cluster("s0: b0[n1]").with_gang("job", 2, 8, topology=rules())) == []


def test_the_whole_cluster_as_the_domain_has_no_name() -> None:
    drawing = cluster("s0: b0[n1]; s1: b1[n2]").with_running("low", on="n1", cpu=1, priority=5)
    drawing = drawing.with_gang("job", 2, 8, topology=rules(), priority=9)
    assert [way.message for way in ways(drawing)] == [
        "Wait: the scheduler will preempt default/low and place the gang",
        "Free 1 CPU: move or end default/low on n1",
    ]


def test_a_gang_that_its_pods_define_gets_no_command_for_a_pod_group() -> None:
    wish = GangWish("2", topology=rules(f"MustGather {BLOCK}"))
    drawing = cluster("s0: b0[n1] b1[n2]").with_light_gang("job", 2, 8, wish=wish)
    assert ways(drawing) == (WayOut("gather-wider", "Gather on SpineLayer instead", ""),)


def test_every_gang_of_a_group_is_to_change_alike() -> None:
    ids = '["default/a", "default/b"]'
    drawing = cluster("s0: b0[n1] b1[n2]").with_gang("a", 1, 8, must_gather=BLOCK, groups=ids)
    drawing = drawing.with_gang("b", 1, 8, must_gather=BLOCK, groups=ids)
    command = "kubectl koord annotate podgroup {} -n default --must-gather SpineLayer --overwrite"
    assert ways(drawing, "a")[-1].command == f"{command.format('a')} && {command.format('b')}"
