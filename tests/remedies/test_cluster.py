"""Remedies on the side of the cluster: each whole, as it is offered."""

from typing import Any

import pytest

from kubectl_koord.model.installation import Plugins
from kubectl_koord.model.load import NodeMetric, Thresholds
from kubectl_koord.model.unevaluated import NodeSetting
from kubectl_koord.model.values import Taint, Toleration
from kubectl_koord.reports.common import (
    AddNode,
    DeletePod,
    MendNode,
    SetThresholds,
    Threshold,
    Tolerate,
    Uncordon,
    WayOut,
)
from tests.build import (
    BLOCK,
    MOMENT,
    NODE,
    SPINE,
    Drawing,
    card,
    cluster,
    cpus,
    devices,
    freed,
    having,
    node,
    rules,
    why_of,
)

ROW = cluster("s0: b0[n1 n2 n3]")
JOB = ("default/job-0", "default/job-1")


def ways(drawing: Drawing, action: str, name: str = "job") -> tuple[WayOut, ...]:
    report = why_of(drawing, name)
    assert report.verdict == "no"
    return tuple(way for way in report.unblock if way.action == action)


def two(drawing: Drawing, **fields: Any) -> Drawing:  # noqa: ANN401 - as `with_gang` has them
    return drawing.with_gang("job", 2, 8, must_gather=SPINE, **fields)


def test_pods_that_terminate_may_make_room_enough() -> None:
    drawing = two(cluster("s0: b0[n1 n2]")).with_running("old", on="n1", cpu=8, terminating=True)
    message = "Wait: 1 terminating pod frees enough room"
    way = WayOut("wait-for-terminating", message, edits=(DeletePod("default/old", "n1"),))
    assert ways(drawing, "wait-for-terminating") == (way,)
    assert why_of(drawing).unblock[0] == way
    assert ways(drawing.with_running("wall", on="n2", cpu=1), "wait-for-terminating") == ()


def test_the_room_of_a_terminating_pod_that_comes_back_on_the_same_node_is_not_waited_for() -> None:
    drawing = two(cluster("s0: b0[n1 n2]"))
    agent = drawing.with_running("agent", on="n1", cpu=8, terminating=True, of_daemon_set=True)
    assert ways(agent, "wait-for-terminating") == ()
    assert ways(agent.with_running("old", on="n2", cpu=8, terminating=True), "wait-for-terminating") == ()


def test_whoever_should_have_been_gone_is_named_with_how_to_see_what_holds_it() -> None:
    drawing = two(cluster("s0: b0[n1 n2 n3]")).with_running("new", on="n1", cpu=8, terminating=True, gone_by=MOMENT)
    drawing = drawing.with_running("old", on="n2", cpu=8, terminating=True, gone_by="2026-11-08T09:30:00Z")
    (way,) = ways(drawing, "wait-for-terminating")
    late = "default/old should have terminated 12d ago: check finalizers and node"
    assert way.message == f"Wait: 2 terminating pods free enough room; {late}"
    assert way.command == "kubectl get pod -n default old -o 'jsonpath={.metadata.finalizers}'"


def test_preemption_may_be_on_its_way() -> None:
    drawing = two(cluster("s0: b0[n1 n2]"), priority=9).with_running("low", on="n1", cpu=8)
    message = "Wait: the scheduler will preempt default/low and place the gang in b0"
    command = "kubectl koord preempt job -n default"
    edits = (DeletePod("default/low", "n1"),)
    way = WayOut("wait-for-preemption", message, command, edits, (freed("low", on="n1"),))
    assert ways(drawing, "wait-for-preemption") == (way,)
    assert ways(drawing.configured(preemption=False), "wait-for-preemption") == ()
    by_default = Plugins(default_preemption="first")
    assert ways(drawing.configured(plugins=by_default), "wait-for-preemption") == ()
    assert ways(drawing.change_pods(never_preempts=True), "wait-for-preemption") == ()


def test_what_preemption_on_its_way_does_to_others_is_told() -> None:
    drawing = two(cluster("s0: b0[n1 n2]"), priority=9).with_group("old", 1)
    drawing = drawing.with_running("low", on="n1", cpu=8, gang="default/old", labels=(("app", "web"),))
    drawing = drawing.with_budget("web", having(app="web"))
    (way,) = ways(drawing, "wait-for-preemption")
    wait = "Wait: the scheduler will preempt default/low and place the gang in b0"
    broken = "gang default/old falls below its minimum (0 left, 1 needed)"
    assert way.message == f"{wait}; it ignores budget default/web; {broken}"
    assert [pod.breaks for pod in way.freed] == [gang.gang for gang in way.broken_gangs] == ["default/old"]


def test_preemption_for_a_gang_without_topology_has_no_domain_and_may_kill_only_who_dies_already() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=9)
    (one,) = ways(drawing.with_running("low", on="n1", cpu=2), "wait-for-preemption")
    assert one.message == "Wait: the scheduler will preempt default/low and place the gang"
    (other,) = ways(drawing.with_running("low", on="n1", cpu=2, terminating=True), "wait-for-preemption")
    assert other.message == "Wait: the scheduler will preempt pods that are already terminating and place the gang"


def test_preemption_that_does_not_help_in_the_end_is_not_waited_for() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 3, priority=9).with_running("low", on="n0", cpu=4)
    assert ways(drawing.with_running("saint", on="n1", cpu=4, protected=True), "wait-for-preemption") == ()


@pytest.mark.parametrize(
    ("cordoned", "message", "nodes"),
    [
        (("n2", "n3"), "Uncordon n2 (or n3)", ("n2",)),
        (("n1", "n2", "n3"), "Uncordon all of n1 and n2", ("n1", "n2")),
    ],
)
def test_the_fewest_cordoned_nodes_of_a_place_are_named(
    cordoned: tuple[str, ...], message: str, nodes: tuple[str, ...]
) -> None:
    edits = tuple(Uncordon(name) for name in nodes)
    way = WayOut("uncordon", message, f"kubectl uncordon {' '.join(nodes)}", edits)
    assert ways(two(ROW).cordon(*cordoned), "uncordon") == (way,)


def test_of_a_lone_pod_it_is_asked_as_of_a_pod_as_a_gang_may_have_its_name() -> None:
    drawing = cluster("s0: b0[n1]").with_pod("job", cpu=8, priority=9).with_running("low", on="n1", cpu=8)
    (way,) = ways(drawing, "wait-for-preemption")
    assert way.command == "kubectl koord preempt pod/job -n default"


def test_one_cordoned_node_is_named_alone_even_where_the_taint_alone_stands() -> None:
    drawing = two(cluster("s0: b0[n1 n2]"))
    way = WayOut("uncordon", "Uncordon n2", "kubectl uncordon n2", (Uncordon("n2"),))
    assert ways(drawing.cordon("n2"), "uncordon") == (way,)
    assert ways(drawing.taint("n2", "node.kubernetes.io/unschedulable"), "uncordon") == (way,)


def test_no_more_than_four_single_nodes_are_tried() -> None:
    names = tuple(f"n{number}" for number in range(9))
    drawing = cluster(f"s0: b0[{' '.join(names)}]").cordon(*names).with_gang("job", 1, 8)
    assert [way.message for way in ways(drawing, "uncordon")] == ["Uncordon n0 (or n1, n2 and n3)"]


def test_cordoned_nodes_that_do_not_help_are_not_named() -> None:
    drawing = two(cluster("s0: b0[n1 n2]; s1: b1[n3:2]"), never_preempts=True).cordon("n3")
    assert ways(drawing.with_running("low", on="n1"), "uncordon") == ()
    assert ways(drawing.cordon("n2").with_running("low", on="n2"), "uncordon") == ()


def test_a_taint_that_all_pods_tolerate_may_be_enough() -> None:
    drawing = two(cluster("s0: b0[n1 n2]")).taint("n1", "gpu", "a b").taint("n2", "gpu", "a b")
    patch = (
        '[{"op": "add", "path": "/spec/tolerations", "value":'
        ' [{"key": "gpu", "operator": "Equal", "value": "a b", "effect": "NoSchedule"}]}]'
    )
    each = [f"kubectl patch pod job-{number} -n default --type json -p '{patch}'" for number in (0, 1)]
    edits = (Tolerate(JOB, "gpu", "a b", "NoSchedule"),)
    way = WayOut("tolerate", "Tolerate taint gpu=a b:NoSchedule (2 nodes)", " && ".join(each), edits)
    assert ways(drawing, "tolerate") == (way,)


def test_a_toleration_is_added_to_those_that_a_pod_has() -> None:
    drawing = cluster("s0: b0[n1]").taint("n1", "gpu").with_gang("job", 1, 8, tolerations=(Toleration("x", "Exists"),))
    (way,) = ways(drawing, "tolerate")
    patch = (
        '[{"op": "add", "path": "/spec/tolerations/-", "value":'
        ' {"key": "gpu", "operator": "Equal", "value": "", "effect": "NoSchedule"}}]'
    )
    assert way.command == f"kubectl patch pod job-0 -n default --type json -p '{patch}'"


def test_to_tolerate_a_taint_proves_nothing_where_the_nodes_have_settings_that_are_not_evaluated() -> None:
    drawing = two(cluster("s0: b0[n1 n2]")).taint("n1", "gpu").taint("n2", "gpu")
    assert len(ways(drawing, "tolerate")) == 1
    assert ways(drawing.change("n1", unevaluated=(NodeSetting("load-estimates"),)), "tolerate") == ()


def test_taints_of_kubernetes_itself_are_not_to_be_tolerated() -> None:
    drawing = two(cluster("s0: b0[n1 n2]")).taint("n1", "node.kubernetes.io/not-ready")
    assert ways(drawing, "tolerate") == ()


def test_for_many_pods_there_is_no_command_but_their_template() -> None:
    drawing = cluster("s0: b0[n1]").taint("n1", "gpu").with_gang("job", 7)
    where = "Tolerate taint gpu:NoSchedule (1 node): add it to spec.tolerations in"
    for owned, template in (
        (drawing, "the manifest"),
        (drawing.change_pods(owner="Job/x"), "the pod template of Job/x"),
    ):
        (way,) = ways(owned, "tolerate")
        assert (way.message, way.command) == (f"{where} {template}", "")


def test_names_from_the_cluster_cannot_leave_their_place_in_a_command() -> None:
    drawing = cluster("s0: b0[n1]").taint("n1", "k", "$(reboot)'").with_gang("job", 1, 8)
    (way,) = ways(drawing, "tolerate")
    assert "'\"'\"'" in way.command


def test_nodes_are_added_where_the_fewest_are_needed() -> None:
    drawing = cluster("s0: b0[n1 n2:4]; s1: b1[n3:4]").with_gang("job", 2, 8, must_gather=SPINE)
    one = WayOut("add-nodes", "Add 1 node like n1 in spine s0", edits=(AddNode("n1-new-1", "n1"),))
    assert ways(drawing, "add-nodes") == (one,)


def test_names_of_new_nodes_are_free_ones() -> None:
    drawing = cluster("s0: b0[n1 n1-new-1]").with_gang("job", 4, 8)
    edits = (AddNode("n1-new-2", "n1"), AddNode("n1-new-3", "n1"))
    assert ways(drawing, "add-nodes") == (WayOut("add-nodes", "Add 2 nodes like n1", edits=edits),)


def test_a_node_of_its_own_is_added_where_all_must_be_on_one_node() -> None:
    drawing = cluster("s0: b0[n1:16 n2:8 n3:4 n4:8]").with_running("low", on="n1", cpu=10, protected=True)
    drawing = drawing.with_gang("job", 2, 8, must_gather=NODE)
    assert ways(drawing, "add-nodes") == (
        WayOut("add-nodes", "Add 1 node like n1", edits=(AddNode("n1-new-1", "n1"),)),
    )


def test_with_multiples_nodes_are_added_in_the_domain_where_they_complete_one() -> None:
    drawing = cluster("s0: b0[n1] b1[n2 n3]").with_gang("job", 3, 8, topology=rules(f"PreferGather {BLOCK} x3"))
    way = WayOut("add-nodes", "Add 1 node like n2", edits=(AddNode("n2-new-1", "n2"),))
    assert ways(drawing, "add-nodes") == (way,)


def test_multiples_do_not_say_where_nodes_are_added_for_pods_that_are_tried_one_by_one() -> None:
    ids = '["default/job", "default/mate"]'
    drawing = cluster("s0: b0[n1 n2]").with_nodes(node("bare")).with_gang("job", 2, 8, groups=ids)
    drawing = drawing.with_gang("mate", 2, 8, groups=ids, topology=rules(f"PreferGather {BLOCK} x2"))
    edits = (AddNode("bare-new-1", "bare"),)
    assert ways(drawing, "add-nodes")[0] == WayOut("add-nodes", "Add 1 node like bare", edits=edits)


def test_a_reservation_that_goes_first_takes_no_room_of_the_nodes_that_are_added() -> None:
    way = WayOut("add-nodes", "Add 1 node like n1", edits=(AddNode("n1-new-1", "n1"),))
    assert ways(cluster("s0: b0[n1 n2]").with_gang("job", 2, 8).with_reserve_pod("want", 8), "add-nodes") == (way,)
    full = cluster("s0: b0[n1]").with_running("low", "n1", 8).with_gang("job", 1, 8, priority=0)
    edits = (AddNode("n1-new-1", "n1"), AddNode("n1-new-2", "n1"))  # where it finds no room yet, it takes one
    way = WayOut("add-nodes", "Add 2 nodes like n1", edits=edits)
    assert ways(full.with_reserve_pod("want", 8, app="x"), "add-nodes") == (way,)


def test_where_no_node_takes_even_one_pod_none_is_added() -> None:
    assert ways(cluster("s0: b0[n1]").with_gang("job", 1, 9), "add-nodes") == ()


def test_a_node_that_is_not_ready_is_the_way_out_before_a_pod_of_higher_priority() -> None:
    gone = Taint("node.kubernetes.io/unreachable", "", "NoExecute")
    drawing = cluster("s0: b0[n1 n2]").change("n1", taints=(gone,), ready=False)
    drawing = drawing.with_running("stuck", on="n1", cpu=8, terminating=True, owner="StatefulSet/train")
    drawing = drawing.with_running("high", on="n2", cpu=8, priority=9).with_gang("job", 1, 8, must_gather=SPINE)
    message = "Bring back n1, which is not ready; default/stuck cannot end before"
    mend = WayOut("mend-node", message, "kubectl describe node n1", (MendNode("n1"),))
    report = why_of(drawing)
    assert report.unblock[0] == mend
    assert [way.action for way in report.unblock] == ["mend-node", "add-nodes", "free-pods"]


def test_of_nodes_that_are_not_ready_one_is_named_with_others_that_would_do_or_all_that_it_takes() -> None:
    away = (Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),)
    drawing = cluster("s0: b0[n1 n2]").change("n1", "n2", taints=away)
    (one,) = ways(drawing.with_gang("job", 1, 8), "mend-node")
    assert one.message == "Bring back n1 (or n2), which is not ready"
    (both,) = ways(drawing.with_gang("job", 2, 8), "mend-node")
    assert (both.message, both.edits) == (
        "Bring back n1 and n2, which are not ready",
        (MendNode("n1"), MendNode("n2")),
    )
    assert ways(drawing.with_gang("job", 3, 8), "mend-node") == ()


EIGHT = {"nvidia_gpu": 8}


def with_gpus(drawing: Drawing, name: str, offered: int, lost: int = 0) -> Drawing:
    there = (*drawing.nodes[name].allocatable, ("nvidia.com/gpu", offered))
    return drawing.change(name, allocatable=there, lost=(("nvidia.com/gpu", lost),) if lost else ())


def test_a_lost_card_is_to_come_back_before_the_job_asks_for_less() -> None:
    drawing = with_gpus(cluster("s0: b0[n1]"), "n1", 7, 1).with_pod("p", requests=cpus(1, **EIGHT))
    mend, *_, less = why_of(drawing, "pod/p").unblock
    assert mend == WayOut(
        "mend-node",
        "Bring back 1 GPU of n1: see why the device plugin or koordlet calls a card unhealthy there",
        "kubectl describe node n1",
        (MendNode("n1"),),
    )
    assert less.message == (
        "Request 7 GPU per pod instead of 8 (resources.requests in the pod template);"
        " only for a program that divides its work by 7"
    )


def test_lost_cards_of_several_nodes_come_back_together_and_pods_that_end_there_stay() -> None:
    drawing = with_gpus(with_gpus(cluster("s0: b0[n1 n2 n3]"), "n1", 7, 1), "n2", 6, 2)
    drawing = drawing.with_running("ends", on="n1", terminating=True)
    (both,) = ways(drawing.with_gang("job", 2, requests=cpus(7, **EIGHT), must_gather=SPINE), "mend-node")
    assert both.message.startswith("Bring back 1 GPU of n1 and 2 GPU of n2: see why")
    (one,) = ways(drawing.with_pod("p", requests=cpus(1, **EIGHT)), "mend-node", "pod/p")
    assert one.message.startswith("Bring back 1 GPU of n1 (or n2): see why")
    whole = drawing.with_pod("p", requests=cpus(8, **EIGHT))  # the pod that ends there keeps its CPU
    assert [way.edits for way in ways(whole, "mend-node", "pod/p")] == [(MendNode("n2"),)]


def test_a_card_that_koordlet_calls_unhealthy_is_to_come_back_too() -> None:
    ill = devices(card(0), card(1, healthy=False), card(2, healthy=False))
    room = (*cpus(8), ("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100), ("pods", 110))
    drawing = cluster("s0: b0[n1]").change("n1", devices=ill, allocatable=room)
    asks = (("koordinator.sh/gpu-core", 300), ("koordinator.sh/gpu-memory-ratio", 300))
    (way,) = ways(drawing.with_pod("p", requests=asks), "mend-node", "pod/p")
    assert way.message.startswith("Bring back 2 GPU of n1: see why")
    assert ways(drawing.with_pod("p", cpu=99), "mend-node", "pod/p") == ()


BUSY = cluster("s0: b0[n1]").change("n1", metric=NodeMetric((("cpu", 6000), ("memory", 1))))


def test_the_least_threshold_of_load_with_which_a_node_takes_the_pods_is_named() -> None:
    drawing = BUSY.with_gang("job", 1, 1)
    configured = "(or usageThresholds in LoadAwareSchedulingArgs, for all nodes)"
    message = f"Raise the load threshold of node n1 for CPU from 65 to 75 % {configured}"
    thresholds = '{"usageThresholds":{"cpu":75,"memory":95}}'
    command = f"kubectl annotate node n1 'scheduling.koordinator.sh/usage-thresholds={thresholds}' --overwrite"
    edit = SetThresholds("n1", (Threshold("cpu", 75), Threshold("memory", 95)))
    assert ways(drawing, "raise-threshold") == (WayOut("raise-threshold", message, command, (edit,)),)
    own = Thresholds(whole=(("cpu", 70),), prod=(("cpu", 10),))
    drawing = BUSY.change("n1", metric=NodeMetric((("cpu", 6000),), thresholds=own)).with_gang(
        "job", 1, 1, is_prod=False
    )
    (way,) = ways(drawing, "raise-threshold")
    assert (way.message[:52], way.command) == ("Raise the load threshold of node n1 for CPU from 70 ", "")
    over = BUSY.change("n1", metric=NodeMetric((("cpu", 9000),))).with_gang("job", 1, 1)
    assert ways(over, "raise-threshold") == ()


def test_many_nodes_have_no_thresholds_raised_one_by_one() -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4]").change("n1", "n2", "n3", "n4", metric=NodeMetric((("cpu", 6000),)))
    assert len(ways(drawing.with_gang("job", 3, 8), "raise-threshold")) == 1
    (way,) = ways(drawing.with_gang("job", 4, 8), "raise-threshold")
    message = "Raise usageThresholds of CPU from 65 to 75 in LoadAwareSchedulingArgs, and restart koord-scheduler"
    command = "kubectl edit configmap koord-scheduler-config -n koordinator-system"
    assert (way.message, way.command) == (message, command)
    assert [edit.node for edit in way.edits if isinstance(edit, SetThresholds)] == ["n1", "n2", "n3", "n4"]
    many = cluster(f"s0: b0[{' '.join(f'm{number}' for number in range(65))}]")
    many = many.change(*many.nodes, metric=NodeMetric((("cpu", 6000),)))
    report = why_of(many.with_gang("job", 65, 8))
    assert "raise-threshold" not in [found.action for found in report.unblock]
    assert "higher thresholds of load" in report.ways_not_tried


def test_a_node_that_is_added_has_no_load() -> None:
    (way,) = ways(BUSY.with_gang("job", 1, 1), "add-nodes")
    assert way.message == "Add 1 node like n1"
