"""Remedies at the cost of running pods: each whole, as it is offered."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.diagnosis import evidence
from kubectl_koord.engine.filters import Prepared
from kubectl_koord.engine.state import View
from kubectl_koord.model.hardware import Allocations, CPUAllocation
from kubectl_koord.model.objects import Claim
from kubectl_koord.model.pods import PendingPod, PodTerm
from kubectl_koord.model.values import Toleration
from kubectl_koord.remedies import pods, running_pods
from kubectl_koord.remedies.running_pods import RemovedPod
from kubectl_koord.reports.common import BrokenGang, BudgetHit, DeletePod, MovePod, WayOut
from tests.build import SPINE, Drawing, card, cluster, cpus, devices, having, holding, rules, why_of
from tests.build import freed as pod_freed

BARE = cluster("s0: b0[n1 n2]; s1: b1[n3 n4]")
HIGHER = "a higher priority than this job (5): a last resort"
TWO = BARE.with_gang("job", 2, 8, must_gather=SPINE, priority=5, never_preempts=True)


def ways(drawing: Drawing, action: str = "free-pods", name: str = "job") -> tuple[WayOut, ...]:
    report = why_of(drawing, name)
    assert report.verdict == "no"
    return tuple(way for way in report.unblock if way.action == action)


def evicting(name: str, namespace: str = "default") -> str:
    return f"kubectl koord evict {namespace}/{name}"


def moving(name: str, *nodes: str) -> str:
    return " ".join([evicting(name), *(f"--hold {node}" for node in nodes)])


TOUCH = (
    ' && kubectl patch podgroup job -n default --type merge -p \'{"spec":{"minMember":3}}\''
    ' && kubectl patch podgroup job -n default --type merge -p \'{"spec":{"minMember":2}}\''
)


def freed(drawing: Drawing) -> list[tuple[str, ...]]:
    return [tuple(e.pod.partition("/")[2] for e in way.edits if isinstance(e, DeletePod)) for way in ways(drawing)]


def test_the_fewest_pods_of_lower_priority_go_first_then_those_worth_least() -> None:
    drawing = TWO.with_running("a", on="n1", cpu=8, priority=4).with_running("b", on="n1", cpu=0, priority=1)
    drawing = drawing.with_running("c", on="n3", cpu=8, priority=3)
    free_s1 = "Evict 1 lower-priority pod in spine s1: default/c on n3 (8 CPU, priority 3)"
    free_s0 = "Evict 1 lower-priority pod in spine s0: default/a on n1 (8 CPU, priority 4)"
    c, a = (DeletePod("default/c", "n3"),), (DeletePod("default/a", "n1"),)
    assert ways(drawing) == (
        WayOut("free-pods", free_s1, evicting("c"), c, (pod_freed("c", on="n3", priority=3),)),
        WayOut("free-pods", free_s0, evicting("a"), a, (pod_freed("a", on="n1", priority=4),)),
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
    low = "Evict 1 pod in spine s1: default/low on n3 (8 CPU, priority 5); it has the same priority as this job (5)"
    low += ": a last resort"
    high = "Evict 1 pod in spine s0: default/high on n1 (8 CPU, priority 7); it has a higher priority than this job (5)"
    high += ": a last resort"
    assert [way.message for way in ways(drawing)] == [low, high]


def test_several_pods_are_evicted_one_by_one_up_to_the_first_refusal() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, never_preempts=True)
    drawing = drawing.with_running("a", on="n1", cpu=4).with_running("ml/b", on="n1", cpu=4)
    (way,) = ways(drawing)
    assert way.command == "kubectl koord evict default/a ml/b"


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


def test_what_is_reserved_is_never_freed() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=5, never_preempts=True)
    assert ways(drawing.with_reserved("r", on="n1", cpu=4)) == ()


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
    assert way.message.endswith(", default/p19 and default/p20 on n1 (1 CPU each, priority 0)")


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
        "Move default/m (4 CPU) from n1 to n3, where it fits; this makes enough room in spine s0 (no"
        " controller recreates it)"
    )
    edits = (MovePod("default/m", "n1", "n3"),)
    way = WayOut("move-pod", message, edits=edits, freed=(pod_freed("m", on="n1", priority=9),))
    assert ways(drawing, "move-pod") == (way,)


def test_a_pod_that_is_moved_keeps_its_share_of_a_quota() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3:4]").with_gang("team/job", 2, 8, must_gather=SPINE)
    drawing = drawing.with_quota("q", "default", cpu=4).with_running("m", on="n1", cpu=4, priority=9)
    assert [way.edits for way in ways(drawing, "move-pod", "team/job")] == [(MovePod("default/m", "n1", "n3"),)]


def test_a_pod_with_a_controller_is_moved_by_a_command_that_keeps_it_off_its_node_meanwhile() -> None:
    drawing = cluster("s0: b0[n1 n2:4]").with_gang("job", 1, 8)
    (way,) = ways(drawing.with_running("m", on="n1", cpu=4, priority=9, owner="ReplicaSet/m", labels=WEB), "move-pod")
    assert way.command == moving("m", "n1")
    assert way.message == "Move default/m (4 CPU) from n1 to n2, where it fits; ReplicaSet/m recreates it"


def test_a_pod_that_is_created_anew_is_kept_off_all_nodes_that_the_gang_is_to_take() -> None:
    drawing = cluster("s0: b0[n1 n2]; s1: b1[n3]").with_gang("job", 2, 8, must_gather=SPINE)
    (way,) = ways(drawing.with_running("m", on="n1", cpu=8, priority=9, owner="ReplicaSet/m", labels=WEB), "move-pod")
    assert way.command == moving("m", "n1", "n2") + TOUCH


def test_a_pod_may_move_beside_the_gang() -> None:
    drawing = cluster("s0: b0[n1 n2:9]").with_gang("job", 2, 8, must_gather=SPINE)
    (way,) = ways(drawing.with_running("m", on="n1", cpu=1, priority=9, owner="ReplicaSet/m", labels=WEB), "move-pod")
    assert way.edits == (MovePod("default/m", "n1", "n2"),)
    assert way.command == moving("m", "n1") + TOUCH


def test_freed_room_wakes_no_topology_gang_so_that_what_comes_back_is_to_be_scaled_down() -> None:
    drawing = cluster("s0: b0[n1]").with_running("m", on="n1", cpu=8, owner="ReplicaSet/m")
    for layer, told in (("", "; ReplicaSet/m recreates it"), (SPINE, ": scale it down")):
        (way,) = ways(drawing.with_gang("job", 1, 8, priority=5, never_preempts=True, must_gather=layer))
        assert way.message.endswith(told)


def test_a_node_that_was_cordoned_before_stays_cordoned_after_a_move() -> None:
    anywhere = (Toleration("node.kubernetes.io/unschedulable", "Exists"),)
    drawing = cluster("s0: b0[n1 n2:4]").with_gang("job", 1, 8, tolerations=anywhere).cordon("n1")
    (way,) = ways(drawing.with_running("m", on="n1", cpu=4, priority=9, owner="ReplicaSet/m", labels=WEB), "move-pod")
    assert way.command == evicting("m")


@pytest.mark.parametrize(
    ("priorities", "owners", "told"),
    [
        ((4, 4), ("", ""), ""),
        ((4, 4), ("ReplicaSet/r", ""), "; ReplicaSet/r recreates pods"),
        (
            (7, 4),
            ("ReplicaSet/r", "Job/j"),
            f"; 1 of them has {HIGHER}; Job/j recreates pods; ReplicaSet/r recreates pods: scale it down",
        ),
        (
            (7, 5),
            ("ReplicaSet/r", "Job/j"),
            f"; 1 of them has {HIGHER}; Job/j and ReplicaSet/r recreate pods: scale them down",
        ),
        ((7, 6), ("", ""), f"; they have {HIGHER}"),
        ((5, 4), ("", ""), "; 1 of them has the same priority as this job (5): a last resort"),
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
    free = f"Evict 1 pod: default/a on n1 (4 CPU, priority 2000); it has {HIGHER}"
    assert way.message == f"{free}; ReplicaSet/rs recreates it: scale it down"


def test_of_equal_ways_those_whose_pods_stay_gone_go_first() -> None:
    drawing = TWO.with_running("owned", on="n1", cpu=8, priority=4, owner="Job/x")
    drawing = drawing.with_running("bare", on="n3", cpu=8, priority=4)
    assert freed(drawing) == [("bare",), ("owned",)]
    back = TWO.with_running("back", on="n1", cpu=8, priority=6, owner="Job/x")
    assert freed(back.with_running("bare", on="n3", cpu=8, priority=9)) == [("bare",), ("back",)]


def test_a_single_pod_that_counting_misses_is_found_by_trying() -> None:
    term = PodTerm("kubernetes.io/hostname", having(app="web"))
    drawing = cluster("s0: b0[n1 n2]").label("n1", **{"kubernetes.io/hostname": "n1"})
    drawing = drawing.with_gang("job", 1, 8, priority=5, never_preempts=True, pod_anti_affinity=(term,))
    drawing = drawing.with_running("full", on="n2", cpu=1, priority=5)
    assert freed(drawing.with_running("web", on="n1", cpu=0, priority=1, labels=(("app", "web"),))) == [("web",)]


def test_a_move_for_a_gang_without_topology_names_no_place() -> None:
    drawing = cluster("s0: b0[n1 n2:4]").with_gang("job", 1, 8).with_running("m", on="n1", cpu=4, priority=9)
    (way,) = ways(drawing, "move-pod")
    assert way.message == "Move default/m (4 CPU) from n1 to n2, where it fits (no controller recreates it)"


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
    a_node = pods._COUNTS_OF_NODE  # noqa: SLF001 - what it counts for that one is looked at
    monkeypatch.setattr(pods, "_MOST_COUNTED", a_node + 1)
    assert freed(SPREAD) == [("b",)]
    monkeypatch.setattr(pods, "_MOST_COUNTED", a_node + 2)
    assert freed(SPREAD) == [("b",)]


def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Return the nodes that are looked at together, as they come."""
    found: list[tuple[str, ...]] = []

    def slots_among(
        view: View, names: tuple[str, ...], members: Sequence[PendingPod], prepared: Prepared
    ) -> Mapping[str, int]:
        found.append(names)
        return evidence.slots_among(view, names, members, prepared)

    monkeypatch.setattr(pods, "evidence", SimpleNamespace(slots_among=slots_among))
    return found


def test_no_more_nodes_are_looked_at_than_may_be_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4]").with_gang("job", 2, 8, priority=5, never_preempts=True)
    for number in range(1, 5):
        drawing = drawing.with_running(f"p{number}", on=f"n{number}", cpu=1)
    assert freed(drawing) == [("p1", "p2")]
    monkeypatch.setattr(pods, "_LOOKED_AT_ONCE", 1)
    monkeypatch.setattr(pods, "_MOST_COUNTED", 2 * pods._COUNTS_OF_NODE + 2)  # noqa: SLF001 - as above
    found = looked_at(monkeypatch)
    assert freed(drawing) == [("p1", "p2")]
    assert found == [("n1",), ("n2",)]


def test_nodes_that_are_too_small_whoever_goes_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    drawing = cluster("s0: b0[n1:2 n2:8]").with_gang("job", 1, 6, priority=5, never_preempts=True)
    drawing = drawing.with_running("small", on="n1", cpu=2).with_running("large", on="n2", cpu=8)
    found = looked_at(monkeypatch)
    assert freed(drawing) == [("large",)]
    assert found == [("n2",)]
    assert freed(drawing.with_gang("job", 1, 9)) == []
    assert found == [("n2",)]


def test_where_too_much_would_be_compared_what_brings_most_for_each_pod_is_taken_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(running_pods, "_MOST_CELLS", 0)
    assert freed(SPREAD) == [("b",), ("a", "c", "d")]
    drawing = cluster("s0: b0[n1 n2:16]").with_gang("job", 2, 8, priority=5, never_preempts=True)
    drawing = drawing.with_running("a", on="n1", cpu=1).with_running("b", on="n2", cpu=12)
    assert freed(drawing) == [("b",)]


WEB = (("app", "web"),)
ONE = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=5, never_preempts=True)
FREE = "Evict 1 lower-priority pod: default/a on n1 (4 CPU, priority 0)"


def test_a_pod_whose_budget_allows_it_is_evicted_and_its_budget_named() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=4, labels=WEB).with_budget("web", having(app="web"), 1)
    (way,) = ways(drawing)
    assert way.message == f"{FREE}; budget default/web allows to evict default/a"
    assert way.command == evicting("a")
    assert way.freed == (pod_freed("a", on="n1", pod_disruption_budget=BudgetHit("default/web", violated=False)),)


def test_a_pod_whose_eviction_its_budget_refuses_is_told_so_beside_the_command_that_the_server_refuses() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=4, labels=WEB).with_budget("web", having(app="web"))
    (way,) = ways(drawing)
    why = "budget default/web allows no more disruptions"
    assert way.message == f"{FREE}; the API server refuses to evict default/a now, as {why}"
    assert way.command == evicting("a")
    hit = BudgetHit("default/web", violated=True)
    assert way.freed == (pod_freed("a", on="n1", pod_disruption_budget=hit, evictable=False),)


def test_a_pod_under_several_budgets_cannot_be_evicted_whatever_they_allow() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=4, labels=WEB)
    drawing = drawing.with_budget("every", having(), 5).with_budget("web", having(app="web"), 5)
    (way,) = ways(drawing)
    why = "budget default/every is not its only one"
    assert way.message == f"{FREE}; the API server refuses to evict default/a now, as {why}"
    hit = BudgetHit("default/every", violated=False)
    assert way.freed == (pod_freed("a", on="n1", pod_disruption_budget=hit, evictable=False),)


def test_no_command_ends_some_pods_where_the_budget_refuses_the_rest() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=4, labels=WEB).with_running("b", on="n1", cpu=4, labels=WEB)
    (way,) = ways(drawing.with_budget("web", having(app="web"), 1))
    assert way.command == ""
    assert way.message.endswith(
        "; the API server refuses to evict default/b now, as budget default/web allows no more disruptions"
    )
    assert [pod.evictable for pod in way.freed] == [True, False]
    (way,) = ways(drawing.with_budget("web", having(app="web"), 2))
    assert way.command == "kubectl koord evict default/a default/b"
    assert way.message.endswith("; budget default/web allows to evict default/a and default/b")


def test_budgets_that_could_not_be_read_are_told_and_change_no_verdict() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=4)
    (way,) = ways(drawing.with_gap("PodDisruptionBudget"))
    assert way.message == f"{FREE}; PodDisruptionBudgets could not be read"
    assert (way.command, way.freed) == (evicting("a"), (pod_freed("a", on="n1", budgets_read=False),))
    (way,) = ways(drawing.with_gap("PodDisruptionBudget", "not-in-input"))
    assert way.message == FREE
    (way,) = ways(drawing.with_gap("PodDisruptionBudget", "one-namespace").but(namespace_only="default"))
    assert way.message == FREE


def test_a_pod_that_is_protected_from_preemption_is_named_so_and_ended_by_no_command() -> None:
    (way,) = ways(ONE.with_running("a", on="n1", cpu=4, protected=True))
    free = "Evict 1 pod: default/a on n1 (4 CPU, priority 0)"
    assert way.message == f"{free}; default/a is protected from preemption"
    assert (way.command, way.freed) == ("", (pod_freed("a", on="n1", protected=True),))
    drawing = ONE.with_running("a", on="n1", cpu=4, protected=True).with_running("b", on="n1", cpu=4, protected=True)
    (way,) = ways(drawing)
    assert way.message.endswith("; default/a and default/b are protected from preemption")


def test_a_running_gang_that_falls_below_its_minimum_is_named() -> None:
    drawing = ONE.with_group("other", 2).with_nodes(*cluster("s0: b0[n2]").nodes.values())
    drawing = drawing.with_running("a", on="n1", cpu=4, gang="default/other").with_running("wall", on="n2", cpu=8)
    whole = drawing.with_running("b", on="n2", cpu=0, gang="default/other").change("n2", unschedulable=True)
    way = next(way for way in ways(whole) if way.freed[0].pod == "default/a")
    assert way.message == f"{FREE}; gang default/other falls below its minimum (1 left, 2 needed)"
    assert way.freed == (pod_freed("a", on="n1", gang="default/other", breaks="default/other"),)
    assert way.broken_gangs == (BrokenGang("default/other", 2, 2, 1),)
    assert way.command == evicting("a")
    broken_before = next(way for way in ways(drawing) if way.freed[0].pod == "default/a")
    assert (broken_before.freed[0].breaks, broken_before.broken_gangs) == (None, ())


def test_what_harms_nobody_goes_first_then_what_harms_a_budget_or_a_gang_and_protected_pods_last() -> None:
    drawing = cluster("s0: b0[n1]; s1: b1[n2]; s2: b2[n3]").with_gang("job", 1, 8, must_gather=SPINE)
    drawing = drawing.with_running("saint", on="n1", cpu=8, priority=1, protected=True)
    drawing = drawing.with_running("web", on="n2", cpu=8, priority=2, labels=WEB).with_budget("web", having(app="web"))
    for name in "abc":
        drawing = drawing.with_running(name, on="n3", cpu=2.5, priority=9)
    assert freed(drawing) == [("a", "b", "c"), ("web",), ("saint",)]
    actions = [way.action for way in why_of(drawing).unblock]
    assert actions[-4:] == ["add-nodes", "free-pods", "free-pods", "free-pods"]


def test_more_pods_that_harm_nobody_are_freed_on_a_node_instead_of_fewer_that_do() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 4, priority=5, never_preempts=True)
    drawing = drawing.with_running("web", on="n1", cpu=4, labels=WEB).with_budget("web", having(app="web"))
    drawing = drawing.with_running("a", on="n1", cpu=2).with_running("b", on="n1", cpu=2)
    assert freed(drawing) == [("a", "b")]
    for number in range(10):
        drawing = drawing.with_running(f"tiny-{number}", on="n1", cpu=0)
    assert freed(drawing) == [("a", "b")]


def test_of_moves_those_that_harm_nobody_go_first() -> None:
    drawing = cluster("s0: b0[n1 n2 n3:4]").with_gang("job", 1, 8, priority=5, never_preempts=True)
    drawing = drawing.with_running("saint", on="n1", cpu=4, priority=1, protected=True, owner="ReplicaSet/s")
    drawing = drawing.with_running("plain", on="n2", cpu=4, priority=9, owner="ReplicaSet/p", labels=WEB)
    plain, saint = ways(drawing, "move-pod")
    assert (plain.command, saint.command) == (moving("plain", "n2"), "")
    assert saint.message.endswith("; ReplicaSet/s recreates it; default/saint is protected from preemption")


@pytest.mark.parametrize("name", ["a;reboot", "..", "a/b", "x%2fy", "$(reboot)"])
def test_a_name_that_no_pod_can_have_gets_no_command(name: str) -> None:
    drawing = ONE.with_running("a", on="n1", cpu=4)
    hostile = drawing.but(running={"n1": tuple(structs.replace(pod, name=name) for pod in drawing.running["n1"])})
    (way,) = ways(hostile)
    assert way.command == ""
    assert f"default/{name} on n1" in way.message


def with_cards(drawing: Drawing, *names: str, healthy: bool = True) -> Drawing:
    """Give nodes one card each."""
    room = (*cpus(8), ("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100), ("pods", 110))
    return drawing.change(*names, allocatable=room, devices=devices(card(healthy=healthy)))


def test_a_pod_that_holds_a_card_is_moved_only_where_a_card_can_be_booked() -> None:
    asks = (("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100))
    bare = with_cards(cluster("s0: b0[n1]; s1: b1[n2]"), "n1")
    bare = bare.with_running("other", on="n1", requests=asks, allocations=holding(0), priority=9)
    drawing = bare.with_gang("job", 1, must_gather=SPINE, requests=asks, never_preempts=True)
    drawing = drawing.change_pods(requirements=structs.replace(drawing.pending[0].requirements, selector=(("n", "1"),)))
    drawing = drawing.label("n1", n="1")
    assert ways(with_cards(drawing, "n2", healthy=False), "move-pod") == ()
    (moved,) = ways(with_cards(drawing, "n2"), "move-pod")
    assert moved.message == (
        "Move default/other (1 GPU) from n1 to n2, where it fits; this makes"
        " enough room in spine s0 (no controller recreates it)"
    )
    reserved = drawing.without_running("default/other").with_running(
        "other", on="n1", requests=asks, allocations=holding(0, reservation="r"), priority=9
    )
    assert ways(with_cards(reserved, "n2"), "move-pod") == ()


def test_of_a_plan_that_cannot_be_carried_out_the_pod_that_holds_the_card_is_named() -> None:
    room = (*cpus(64), ("koordinator.sh/gpu-core", 400), ("koordinator.sh/gpu-memory-ratio", 400), ("pods", 110))
    drawing = cluster("s0: b0[n1]").change("n1", allocatable=room, devices=devices(*map(card, range(4))))
    half = (("koordinator.sh/gpu-core", 50), ("koordinator.sh/gpu-memory-ratio", 50))
    whole = (("koordinator.sh/gpu-core", 100), ("koordinator.sh/gpu-memory-ratio", 100))
    for minor in range(2):
        held = holding(minor, share=50)
        drawing = drawing.with_running(f"half-{minor}", on="n1", requests=half, allocations=held, priority=9)
    report = why_of(drawing.version("1.7").with_gang("job", 3, requests=whole, must_gather=SPINE))
    assert report.cause is not None
    assert report.cause.code == "plan-not-executable"
    evicted = [way.message for way in report.unblock if way.action == "free-pods"]
    higher = "; it has a higher priority than this job (0): a last resort"
    assert evicted == ["Evict 1 pod in spine s0: default/half-0 on n1 (50% of GPU 0, priority 9)" + higher]


def test_of_a_claim_for_one_pod_only_the_pod_that_uses_it_is_named() -> None:
    claims = {"default/data": Claim("default/data", "pv", known=True, single_pod=True)}
    drawing = cluster("s0: b0[n1 n2]").but(claims=claims).with_running("user", on="n1", claims=("data",), priority=9)
    for number in range(30):
        drawing = drawing.with_running(f"idle-{number}", on="n2", cpu=0)
    (way,) = ways(drawing.with_pod("job", claims=("data",), priority=5, never_preempts=True))
    assert way.message == "Evict 1 pod: default/user on n1 (claim default/data, priority 9)" + f"; it has {HIGHER}"


def test_what_a_pod_holds_in_words() -> None:
    def has(held: Allocations) -> str:
        return RemovedPod("ns/a", "n1", 0, cpus(2), held).has

    assert has(holding(0, 1, 2, 5)) == "GPU 0-2,5"
    assert has(structs.replace(holding(3, share=25), cpus=CPUAllocation((0, 1, 2, 8)))) == "25% of GPU 3 and CPUs 0-2,8"
    assert has(Allocations(cpus=CPUAllocation((), ((1, cpus(2)),)))) == "NUMA zone 1"
    assert has(Allocations()) == "2 CPU"
