"""Remedies at the cost of running pods: each whole, as it is offered."""

from typing import Any

import pytest

from kubectl_koord.explain.remedies import pods
from kubectl_koord.explain.reports import DeletePod, MovePod, WayOut
from kubectl_koord.model.pods import PodTerm
from tests.build import SPINE, Drawing, cluster, having, rules, why_of

BARE = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
TWO = BARE.with_gang("job", 2, 8, must_gather=SPINE, priority=5, never_preempts=True)


def ways(drawing: Drawing, action: str = "free-pods", name: str = "job") -> tuple[WayOut, ...]:
    report = why_of(drawing, name)
    assert report.verdict == "no"
    return tuple(way for way in report.unblock if way.action == action)


def freed(drawing: Drawing) -> list[tuple[str, ...]]:
    return [tuple(e.pod.partition("/")[2] for e in way.edits if isinstance(e, DeletePod)) for way in ways(drawing)]


def test_the_fewest_pods_of_lower_priority_go_first_then_those_worth_least() -> None:
    drawing = TWO.with_running("a", on="n1", cpu=8, priority=4).with_running("b", on="n1", cpu=0, priority=1)
    drawing = drawing.with_running("c", on="n3", cpu=8, priority=3)
    free_s1 = "Free 1 pod of lower priority in spine s1: default/c on n3 (8 CPU, priority 3)"
    free_s0 = "Free 1 pod of lower priority in spine s0: default/a on n1 (8 CPU, priority 4)"
    assert ways(drawing) == (
        WayOut("free-pods", free_s1, "kubectl delete pod c -n default", (DeletePod("default/c", "n3"),)),
        WayOut("free-pods", free_s0, "kubectl delete pod a -n default", (DeletePod("default/a", "n1"),)),
    )


def test_of_sets_of_one_size_the_least_worth_is_freed() -> None:
    drawing = cluster("s0: b0[n1:8]").with_gang("job", 1, 4, priority=20, never_preempts=True)
    for name, priority in (("a", 1), ("b", 4), ("c", 5), ("d", 11)):
        drawing = drawing.with_running(name, on="n1", cpu=2, priority=priority)
    assert freed(drawing) == [("a", "b")]


def test_a_farther_place_may_be_cheaper() -> None:
    drawing = cluster("s0: b0[n1]; s1: b1[n2]").with_gang("job", 4, 2, must_gather=SPINE, priority=5)
    for number in range(2):
        drawing = drawing.with_running(f"small-{number}", on="n1", cpu=1)
    drawing = drawing.with_running("large", on="n2", cpu=8).change_pods(never_preempts=True)
    assert freed(drawing) == [("large",), ("small-0", "small-1")]


def test_pods_of_any_priority_go_where_those_of_lower_are_too_few() -> None:
    drawing = TWO.with_running("high", on="n1", cpu=8, priority=7).with_running("low", on="n3", cpu=8, priority=5)
    low = "Free 1 pod of any priority in spine s1: default/low on n3 (8 CPU, priority 5)"
    high = "Free 1 pod of any priority in spine s0: default/high on n1 (8 CPU, priority 7)"
    assert [way.message for way in ways(drawing)] == [low, high]


def test_pods_of_several_namespaces_are_deleted_in_each() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, never_preempts=True)
    drawing = drawing.with_running("a", on="n1", cpu=4).with_running("ml/b", on="n1", cpu=4)
    (way,) = ways(drawing)
    assert way.command == "kubectl delete pod a -n default && kubectl delete pod b -n ml"


@pytest.mark.parametrize(
    "fields",
    [{"of_daemon_set": True}, {"gang": "default/job"}, {"terminating": True}, {"owner": "Node/n1"}],
    ids=["daemon set", "own member", "going anyway", "static pod"],
)
def test_some_pods_are_never_freed(fields: dict[str, Any]) -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, minimum=1, match_policy="only-waiting", priority=5)
    drawing = drawing.change_pods(never_preempts=True).with_running("x", on="n1", cpu=4, **fields)
    assert ways(drawing) == ()
    assert ways(drawing, "move-pod") == ()


def test_a_node_with_many_pods_loses_its_largest() -> None:
    drawing = cluster("s0: b0[n1:20]").with_gang("job", 1, 6, priority=5, never_preempts=True)
    for number in range(10):
        drawing = drawing.with_running(f"p{number}", on="n1", cpu=4 if number == 7 else 1.7)
    assert freed(drawing) == [("p0", "p7")]


def test_what_nobody_would_paste_has_no_command() -> None:
    drawing = cluster("s0: b0[n1:30]").with_gang("job", 1, 30, priority=5, never_preempts=True)
    for number in range(21):
        drawing = drawing.with_running(f"p{number:02}", on="n1", cpu=1)
    (way,) = ways(drawing)
    assert (len(way.edits), way.command) == (21, "")
    assert way.message.endswith(", default/p19 on n1 (1 CPU, priority 0) and default/p20 on n1 (1 CPU, priority 0)")


def test_more_pods_of_any_priority_than_twenty_are_not_offered() -> None:
    drawing = cluster("s0: b0[n1:30]").with_gang("job", 1, 30, priority=5, never_preempts=True)
    for number in range(21):
        drawing = drawing.with_running(f"p{number:02}", on="n1", cpu=1, priority=9)
    assert ways(drawing) == ()


def test_with_multiples_whole_multiples_are_freed() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("job", 2, 8, topology=rules(f"MustGather {SPINE} x3"))
    drawing = drawing.with_running("a", on="n1", cpu=1).with_running("b", on="n2", cpu=1, priority=1)
    assert freed(drawing.change_pods(priority=5, never_preempts=True)) == [("a", "b")]


def test_a_pod_that_fits_elsewhere_is_moved_where_that_is_enough() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3:4]").with_gang("job", 2, 8, must_gather=SPINE)
    drawing = drawing.with_running("m", on="n1", cpu=4, priority=9)
    message = (
        "Move default/m (4 CPU) from n1 to n3, where it fits: that is enough in spine s0 (nothing creates it anew)"
    )
    assert ways(drawing, "move-pod") == (WayOut("move-pod", message, edits=(MovePod("default/m", "n1", "n3"),)),)


def test_a_pod_with_a_controller_is_moved_by_commands_that_keep_it_off_its_node_meanwhile() -> None:
    drawing = cluster("s0: b0[n1 n2:4]").with_gang("job", 1, 8)
    (way,) = ways(drawing.with_running("m", on="n1", cpu=4, priority=9, owner="ReplicaSet/m"), "move-pod")
    assert way.command == "kubectl cordon n1 && kubectl delete pod m -n default && kubectl uncordon n1"
    assert way.message == "Move default/m (4 CPU) from n1 to n2, where it fits"


def test_a_pod_that_is_created_anew_is_kept_off_all_nodes_that_the_gang_is_to_take() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3]").with_gang("job", 2, 8, must_gather=SPINE)
    (way,) = ways(drawing.with_running("m", on="n1", cpu=8, priority=9, owner="ReplicaSet/m"), "move-pod")
    assert way.command == "kubectl cordon n1 n2 && kubectl delete pod m -n default && kubectl uncordon n1 n2"


def test_a_pod_may_move_beside_the_gang() -> None:
    drawing = cluster("s0: b0[n1 n2:9]").with_gang("job", 2, 8, must_gather=SPINE)
    (way,) = ways(drawing.with_running("m", on="n1", cpu=1, priority=9, owner="ReplicaSet/m"), "move-pod")
    assert way.edits == (MovePod("default/m", "n1", "n2"),)
    assert way.command == "kubectl cordon n1 && kubectl delete pod m -n default && kubectl uncordon n1"


@pytest.mark.parametrize(
    ("priorities", "owners", "told"),
    [
        ((4, 4), ("", ""), ""),
        ((4, 4), ("ReplicaSet/r", ""), "; ReplicaSet/r creates pods anew"),
        ((7, 4), ("ReplicaSet/r", "Job/j"), "; ReplicaSet/r creates pods anew: scale it down"),
        ((7, 5), ("ReplicaSet/r", "Job/j"), "; Job/j and ReplicaSet/r create pods anew: scale them down"),
    ],
)
def test_who_creates_freed_pods_anew_is_told_and_to_be_scaled_down_where_they_would_take_the_place_again(
    priorities: tuple[int, int], owners: tuple[str, str], told: str
) -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=5, never_preempts=True)
    for name, priority, owner in zip("ab", priorities, owners, strict=True):
        drawing = drawing.with_running(name, on="n1", cpu=4, priority=priority, owner=owner)
    (way,) = ways(drawing)
    assert way.message.endswith(f"priority {max(priorities)}){told}")


def test_one_freed_pod_that_is_created_anew_is_told_so() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=5, never_preempts=True)
    (way,) = ways(drawing.with_running("a", on="n1", cpu=4, priority=2000, owner="ReplicaSet/rs"))
    free = "Free 1 pod of any priority: default/a on n1 (4 CPU, priority 2000)"
    assert way.message == f"{free}; ReplicaSet/rs creates it anew: scale it down"


def test_of_equal_ways_those_whose_pods_stay_gone_go_first() -> None:
    drawing = TWO.with_running("owned", on="n1", cpu=8, priority=4, owner="Job/x")
    drawing = drawing.with_running("bare", on="n3", cpu=8, priority=4)
    assert freed(drawing) == [("bare",), ("owned",)]
    back = TWO.with_running("back", on="n1", cpu=8, priority=6, owner="Job/x")
    assert freed(back.with_running("bare", on="n3", cpu=8, priority=9)) == [("bare",), ("back",)]


def test_a_single_pod_that_counting_misses_is_found_by_trying() -> None:
    term = PodTerm("kubernetes.io/hostname", having(app="web"))
    drawing = cluster("s0: b0[n1 n2]").label("n1", **{"kubernetes.io/hostname": "n1"})
    drawing = drawing.with_gang("job", 1, 8, priority=5, never_preempts=True, repelled=(term,))
    drawing = drawing.with_running("full", on="n2", cpu=1, priority=5)
    assert freed(drawing.with_running("web", on="n1", cpu=0, priority=1, labels=(("app", "web"),))) == [("web",)]


def test_a_move_for_a_gang_without_topology_names_no_place() -> None:
    drawing = cluster("s0: b0[n1 n2:4]").with_gang("job", 1, 8).with_running("m", on="n1", cpu=4, priority=9)
    (way,) = ways(drawing, "move-pod")
    assert way.message == "Move default/m (4 CPU) from n1 to n2, where it fits (nothing creates it anew)"


def test_a_pod_that_fits_nowhere_else_once_the_gang_is_placed_is_not_moved() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8, must_gather=SPINE, never_preempts=True)
    assert ways(drawing.with_running("m", on="n1", cpu=4, priority=9), "move-pod") == ()


def test_no_more_than_three_moves_are_offered() -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4 n5:4]").with_gang("job", 1, 8, priority=5, never_preempts=True)
    for number in (1, 2, 3, 4):
        drawing = drawing.with_running(f"m{number}", on=f"n{number}", cpu=4, priority=9)
    assert [way.edits for way in ways(drawing, "move-pod")] == [
        (MovePod(f"default/m{number}", f"n{number}", "n1" if number > 1 else "n2"),) for number in (1, 2, 3)
    ]


@pytest.mark.parametrize("number", [1, 9])
def test_a_node_that_is_promised_to_another_is_not_freed_in_vain(number: int) -> None:
    drawing = cluster("s0: b0[n1:9]").with_gang("job", 1, 9, priority=5, never_preempts=True)
    for at in range(number):
        drawing = drawing.with_running(f"low-{at}", on="n1", cpu=9 / number)
    assert len(ways(drawing)) == 1
    assert ways(drawing.with_pod("other", cpu=9, nominated="n1", priority=9)) == ()


SPREAD = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]").with_gang("job", 2, 8, must_gather=SPINE, priority=5)
SPREAD = SPREAD.change_pods(never_preempts=True).with_running("a", on="n1", cpu=1).with_running("b", on="n3", cpu=1)
SPREAD = SPREAD.with_running("c", on="n2", cpu=1).with_running("d", on="n2", cpu=1)


def test_what_may_be_counted_is_a_number_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert freed(SPREAD) == [("b",), ("a", "c", "d")]
    monkeypatch.setattr(pods, "_MOST_COUNTED", 1)
    assert freed(SPREAD) == [("b",)]
    monkeypatch.setattr(pods, "_MOST_COUNTED", 2)
    assert freed(SPREAD) == [("b",)]


def test_where_too_much_would_be_compared_what_brings_most_for_each_pod_is_taken_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pods, "_MOST_CELLS", 0)
    assert freed(SPREAD) == [("b",), ("a", "c", "d")]
    drawing = cluster("s0: b0[n1 n2:16]").with_gang("job", 2, 8, priority=5, never_preempts=True)
    drawing = drawing.with_running("a", on="n1", cpu=1).with_running("b", on="n2", cpu=12)
    assert freed(drawing) == [("b",)]
