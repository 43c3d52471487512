"""What holds for all families: pairs, the budget, who takes the place, what cannot be proven."""

from random import Random
from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.engine import rounds
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.trying import attempt
from kubectl_koord.model.quotas import QuotaSettings
from kubectl_koord.remedies import cluster as cluster_remedies
from kubectl_koord.remedies import gang, pods, ways_out
from kubectl_koord.remedies import search as proof
from kubectl_koord.remedies.search import MOST_STEPS, Search, SearchBudget, is_placed
from kubectl_koord.reports.common import AddNode, DeletePod, Tolerate, Uncordon, WayOut
from kubectl_koord.simulation.simulation import (
    Simulation,
    all_place,
    every_outcome,
    next_attempt,
    simulate,
    surely_fails,
)
from tests.build import BLOCK, SPINE, Drawing, cluster, node, rules, why_of
from tests.properties.strategies import random_cluster

ENDED = "the search ended before it had fully tried "
MORE_NODES = "more nodes like those there are"
MOST_ATTEMPTS_OF_STEP = 4
MUST_BE_MENDED = "fix the cause first; whether that is enough is unknown."


def actions(drawing: Drawing, name: str = "job") -> list[str]:
    return [way.action for way in why_of(drawing, name).unblock]


def search(drawing: Drawing, steps: int) -> Search:
    simulation = simulate(drawing, drawing.subject("job"))
    budget = SearchBudget(simulation)
    budget.left = steps
    return Search(simulation, next_attempt(simulation)[0], budget)


def test_what_costs_nothing_comes_first_and_what_costs_others_last() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").cordon("n3").taint("n2", "gpu").with_running("low", on="n1", cpu=8)
    drawing = drawing.with_gang("job", 2, 4, must_gather=BLOCK, priority=5)
    found = actions(drawing)
    assert found == ["uncordon", "tolerate", "wait-for-preemption", "free-pods", "add-nodes"]


def test_a_job_is_told_to_be_smaller_after_all_that_leaves_it_whole_and_to_end_others_last() -> None:
    drawing = cluster("s0: b0[n1:16]; s1: b1[n2:4]").with_running("free", on="n1", cpu=4, owner="ReplicaSet/a")
    drawing = drawing.with_running("peer", on="n1", cpu=4, priority=5).with_group("ran", 1)
    drawing = drawing.with_running("ran-0", on="n1", cpu=3, priority=1, gang="default/ran")
    drawing = drawing.with_gang("job", 3, 4, must_gather=SPINE, priority=5, never_preempts=True)
    assert actions(drawing) == ["add-nodes", "add-nodes", "smaller-request", "fewer-pods", "free-pods"]
    assert [gang.gang for gang in why_of(drawing).unblock[-1].broken_gangs] == ["default/ran"]


def test_without_nodes_no_change_is_told_to_have_been_tried() -> None:
    report = why_of(cluster("").with_gang("job", 2, 4))
    assert (report.unblock, report.no_way_out) == ((), "there are no nodes.")


def test_a_spent_budget_offers_nothing_rather_than_what_is_not_proven() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n2").with_running("low", on="n1", cpu=8, terminating=True)
    drawing = drawing.with_gang("job", 2, 8, must_gather=BLOCK, priority=5)
    families = (
        cluster_remedies.wait_for_terminating,
        cluster_remedies.wait_for_preemption,
        cluster_remedies.uncordon,
        cluster_remedies.add_nodes,
        gang.other_layer,
        gang.fewer_pods,
        gang.smaller_request,
        pods.free_lower,
        pods.move_one,
        pods.free_any,
    )
    assert [list(family(search(drawing, 0))) for family in families] == [[]] * len(families)


def test_nothing_is_counted_that_could_not_be_proven_any_more() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=8).with_gang("job", 1, 8)
    spent = search(drawing, 0)
    assert [*pods.free_any(spent), *pods.move_one(spent)] == []
    assert (spent.tried, spent.untried) == (set(), {"free-pods", "move-pod"})
    assert "slot_counts" not in vars(spent)


def test_preemption_is_waited_for_only_where_all_that_it_may_do_was_followed() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_running("a", on="n1", cpu=8).with_running("b", on="n2", cpu=8)
    drawing = drawing.with_gang("job", 1, 8, priority=5)
    found = {}
    for steps in range(40):
        searched = search(drawing, steps)
        offered = [way.action for way in cluster_remedies.wait_for_preemption(searched)]
        found[bool(offered), "preemption" in searched.untried] = steps
    assert found.keys() == {(False, True), (True, False)}
    assert found[False, True] < found[True, False]


def test_what_was_asked_once_is_not_asked_again_even_with_the_last_steps() -> None:
    drawing = cluster("s0: b0[n1]").cordon("n1").with_gang("job", 1, 8)
    found = search(drawing, 2)
    assert [found.works((Uncordon("n1"),)), found.works((Uncordon("n1"),)), found.budget.left] == [True, True, 0]
    assert not found.works((Uncordon("n1"), AddNode("n1-new-1", "n1")))
    assert (found.tried, found.untried) == ({"uncordon"}, {"uncordon", "add-nodes"})


def test_what_was_not_asked_for_want_of_steps_may_be_asked_once_there_are_some() -> None:
    found = search(cluster("s0: b0[n1]").cordon("n1").with_gang("job", 1, 8), 8)
    found.budget.kept = 8
    assert not found.works((Uncordon("n1"),))
    found.budget.keep(4)
    assert (found.budget.now, found.works((Uncordon("n1"),)), found.budget.left) == (2, True, 6)


def test_pods_of_higher_priority_take_the_place_that_a_change_would_make() -> None:
    drawing = cluster("s0: b0[n1]").cordon("n1").with_gang("job", 1, 8, must_gather=SPINE)
    rival = drawing.with_gang("big", 1, 8, must_gather=SPINE, priority=100)
    assert actions(drawing)[0] == "uncordon"
    assert "uncordon" not in actions(rival)
    assert not search(rival, 2).works((Uncordon("n1"),))  # the rival must be asked, too


def test_who_would_be_placed_but_for_a_job_of_higher_priority_has_ways_out_as_well() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n2").with_gang("job", 1, 8, must_gather=SPINE)
    report = why_of(drawing.with_gang("big", 1, 8, must_gather=SPINE, priority=100))
    assert report.verdict == "no"
    assert report.unblock[0] == WayOut("uncordon", "Uncordon n2", "kubectl uncordon n2", (Uncordon("n2"),))


def test_where_no_single_change_is_enough_the_cheapest_pair_is_offered_with_no_more_than_it_needs() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n1", "n2").taint("n1", "gpu").taint("n2", "gpu")
    drawing = drawing.with_running("low", on="n2").with_gang("job", 1, 8, never_preempts=True)
    (way,) = why_of(drawing).unblock
    assert (way.action, way.message) == ("pair", "Uncordon n1, and tolerate taint gpu:NoSchedule (2 nodes)")
    assert way.edits == (Uncordon("n1"), Tolerate(("default/job-0",), "gpu", "", "NoSchedule"))
    assert way.command.startswith("kubectl uncordon n1 && kubectl patch pod job-0 ")
    assert why_of(drawing).no_way_out == ""


def test_a_pair_may_raise_a_quota_and_add_nodes() -> None:
    drawing = cluster("s0: b0[n1]").configured(quotas=QuotaSettings(by_runtime=False)).with_gang("job", 1, 8)
    drawing = drawing.with_running("system/daemon", on="n1", cpu=7.5, of_daemon_set=True)
    (way,) = why_of(drawing.with_quota("a", "default", cpu=0.5)).unblock
    message = "Raise max of quota a (CPU from 500m to 8), and add 1 node like n1"
    assert (way.action, way.message, way.edits[1:]) == ("pair", message, (AddNode("n1-new-1", "n1"),))


def test_a_pair_may_begin_with_waiting() -> None:
    drawing = cluster("s0: b0[n1]").taint("n1", "gpu").with_running("old", on="n1", terminating=True)
    (way,) = why_of(drawing.with_gang("job", 1, 8, never_preempts=True)).unblock
    assert way.message == "Wait for the terminating pods, and tolerate taint gpu:NoSchedule (1 node)"
    assert way.command == ""
    assert way.edits == (DeletePod("default/old", "n1"), Tolerate(("default/job-0",), "gpu", "", "NoSchedule"))


def test_a_pair_may_begin_with_another_layer_or_multiple() -> None:
    tainted = cluster("s0: b0[n1] b1[n2]").taint("n1", "gpu").taint("n2", "gpu")
    (wider,) = why_of(tainted.with_gang("job", 2, 8, must_gather=BLOCK)).unblock
    assert wider.message == "Tolerate taint gpu:NoSchedule (2 nodes), and gather on SpineLayer instead"
    drawing = cluster("s0: b0[n1:24]").taint("n1", "gpu")
    (smaller,) = why_of(drawing.with_gang("job", 2, 12, topology=rules(f"MustGather {BLOCK} x3"))).unblock
    lower = "lower podCountMultiple of BlockLayer from 3 to 2"
    assert smaller.message == f"Tolerate taint gpu:NoSchedule (1 node), and {lower}"


def test_a_spent_budget_finds_no_pair_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "MOST_STEPS", 0)
    report = why_of(cluster("s0: b0[n1]").cordon("n1").taint("n1", "gpu").with_gang("job", 1, 8))
    assert (report.verdict, report.unblock, report.no_way_out) == (
        "no",
        (),
        f"{ENDED}waiting for preemption, uncordoning nodes, more nodes like those there are and pairs of changes.",
    )


def test_a_no_that_nothing_helps_says_so() -> None:
    report = why_of(cluster("s0: b0[n1]").with_gang("job", 1, 1, node_selector=(("disk", "ssd"),)))
    assert (report.verdict, report.unblock, report.no_way_out) == (
        "no",
        (),
        "by counting slots, these would not help: more nodes like those there are.",
    )


def test_where_something_is_not_evaluated_nothing_is_proven_and_it_is_said_what() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1").with_gang("job", 1, 8)
    report = why_of(drawing.with_quota("default", parent="gone"))
    words = "whether anything helps depends on quota default (its parent does not exist), which is not evaluated."
    assert (report.verdict, report.unblock, report.no_way_out) == ("no", (), words)


def test_what_the_scheduler_may_have_forgotten_makes_every_way_out_doubtful() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_running("job-9", on="n1", cpu=8, gang="default/job")
    drawing = drawing.with_running("low", on="n2").with_gang("job", 1, 8, minimum=2, must_gather=SPINE)
    report = why_of(drawing)
    words = "the result of any change depends on what the scheduler remembers about the gang."
    assert (report.verdict, report.unblock, report.no_way_out) == ("no", (), words)


@pytest.mark.parametrize("kind", ["Pod", "ElasticQuota"])
def test_steps_are_not_proven_where_a_kind_that_decides_was_not_read(kind: str) -> None:
    drawing = cluster("s0: b0[n1]").with_members(("job-0",), "job")
    assert [actions(drawing), why_of(drawing).next_steps] == [["create-podgroup"], ()]
    report = why_of(drawing.with_gap(kind))
    assert [step.action for step in report.next_steps] == ["create-podgroup"]
    assert (report.unblock, report.no_way_out) == ((), MUST_BE_MENDED)


def test_listings_look_for_no_ways_out_and_say_nothing_of_them() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1").with_gang("job", 1, 8)
    assert ways_out.proven(simulate(drawing, drawing.subject("job")), search(drawing, 9).failed).ways != ()


LOW_ALONE = ["Evict 1 lower-priority pod: default/low on n1 (4 CPU, priority 0)", "Add 1 node like n1"]


def messages(drawing: Drawing, name: str = "job") -> list[str]:
    return [way.message for way in why_of(drawing, name).unblock]


def test_room_that_a_nominated_pod_will_take_is_not_room_that_a_change_must_bring() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", "n1", 4)
    drawing = drawing.with_pod("other", cpu=4, priority=9, nominated="n1", terminating=True)
    assert messages(drawing.with_pod("job", cpu=4, priority=5, never_preempts=True)) == LOW_ALONE


def test_room_that_jobs_ahead_take_is_not_room_that_a_change_must_bring() -> None:
    drawing = cluster("s0: b0[n1:16]").with_running("low", "n1", 8)
    drawing = drawing.with_gang("high", 1, 8, priority=9, must_gather=SPINE)
    drawing = drawing.with_gang("job", 1, 8, priority=5, must_gather=SPINE, never_preempts=True)
    low = "Evict 1 lower-priority pod in spine s0: default/low on n1 (8 CPU, priority 0)"
    assert messages(drawing) == [low, "Add 1 node like n1 in spine s0"]
    moved = (
        "Move default/low (8 CPU) from n1 to n2, where it fits; this makes enough room in spine s0 (no"
        " controller recreates it)"
    )
    elsewhere = drawing.with_nodes(node("n2"))
    label = "Label n2 network/spine=s0, if that is where it stands in the network"
    assert messages(elsewhere) == [moved, low, label, "Add 1 node like n1 in spine s0"]


def test_a_pod_is_not_moved_to_where_another_is_nominated() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_running("full", "n3", 7, terminating=True)
    drawing = drawing.with_pod("other", cpu=8, priority=9, nominated="n2", terminating=True)
    drawing = drawing.with_running("low", "n1", 8)
    drawing = drawing.with_gang("job", 1, 8, priority=5, never_preempts=True)
    assert "move-pod" not in actions(drawing)


def unequal(drawing: Drawing) -> Drawing:
    """Add a gang whose smaller pod, tried first, has the larger one counted by what the smaller asks for."""
    drawing = drawing.with_gang("job", 1, 7, must_gather=SPINE, minimum=2).with_pod("job-w", "job", 2)
    return drawing.change_pods(priority=5, never_preempts=True)


def test_of_unequal_pods_each_may_be_tried_first_and_count_the_slots() -> None:
    drawing = cluster("s0: b0[n1:10]; s1: b1[n2:1]")
    more = "Add 1 node like n1 in spine s0"
    assert messages(unequal(drawing.cordon("n1"))) == ["Uncordon n1", more]
    less = "Request 4 CPU per pod instead of 7 (resources.requests in the pod template)"
    low = "Evict 1 lower-priority pod in spine s0: default/low on n1 (4 CPU, priority 0)"
    assert messages(unequal(drawing.with_running("low", "n1", 4))) == [less, low, more]


def test_unequal_pods_may_be_let_in_by_one_that_moves() -> None:
    drawing = cluster("s0: b0[n1:10]; s1: b1[n2:4]").with_running("low", "n1", 4)
    low = (
        "Move default/low (4 CPU) from n1 to n2, where it fits; this makes enough room in spine s0 (no"
        " controller recreates it)"
    )
    assert low in messages(unequal(drawing))


def test_gangs_of_a_group_with_specs_of_their_own_are_counted_by_each() -> None:
    both = '["default/job", "default/mate"]'
    drawing = cluster("s0: b0[n1]; s1: b1[n2:16]").with_nodes(node("n9", 8)).cordon("n2")
    drawing = drawing.with_gang("job", 2, 8, topology=rules(f"MustGather {BLOCK} x3"), groups=both)
    drawing = drawing.with_gang("mate", 1, 8, groups=both).change_pods(never_preempts=True)
    assert messages(drawing)[0] == "Uncordon n2"


def test_where_not_all_can_be_looked_for_few_ways_out_that_harm_nobody_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawing = cluster("s0: b0[n1 n2 n3 n4]").cordon("n2").taint("n3", "gpu").taint("n4", "ssd")
    drawing = drawing.with_running("low", on="n1", cpu=8).with_gang("job", 1, 8, priority=5)
    every = why_of(drawing)
    assert [way.action for way in every.unblock][-2:] == ["free-pods", "add-nodes"]
    monkeypatch.setattr(proof, "_TIGHT", 1_000)
    few = why_of(drawing)
    assert (every.unblock[:4], every.ways_not_tried) == (few.unblock, "")
    assert [way.action for way in few.unblock] == ["uncordon", "tolerate", "tolerate", "wait-for-preemption"]
    assert few.ways_not_tried == (
        f"{ENDED}fewer pods, deleting reservations, evicting pods, moving pods and {MORE_NODES}."
    )


@pytest.fixture
def attempts(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return what is filled with every attempt that the engine computes."""
    found: list[object] = []

    def counted(*args: Any) -> Attempt:  # noqa: ANN401 - whatever it is called with
        found.append(args)
        return attempt(*args)

    monkeypatch.setattr(rounds, "attempt", counted)
    return found


def test_no_search_takes_more_steps_than_there_are(attempts: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A law, of generated clusters: each step is at most a few attempts of the engine."""
    spent: list[SearchBudget] = []

    def noted(simulation: Simulation) -> SearchBudget:
        spent.append(SearchBudget(simulation))
        return spent[-1]

    monkeypatch.setattr(ways_out, "SearchBudget", noted)
    for seed in (*range(20), 59):  # the last one has pairs that leave much less of the job
        drawing = random_cluster(Random(seed))  # noqa: S311 - for chance, not for secrets
        simulation = simulate(drawing, drawing.subject("job"))
        failed = next_attempt(simulation)[:1]
        attempts.clear()
        for outcome in failed if not failed[0].placed_at_once else ():
            ways_out.proven(simulation, outcome)
        assert len(attempts) <= MOST_ATTEMPTS_OF_STEP * MOST_STEPS
    assert len(spent) > 6
    assert all(0 <= budget.left <= MOST_STEPS for budget in spent)


@pytest.mark.untraced
@pytest.mark.parametrize(("nodes", "jobs"), [(8, 0), (8, 30), (64, 30), (512, 30)])
def test_a_search_does_not_grow_with_the_cluster(attempts: list[object], nodes: int, jobs: int) -> None:
    """The more nodes are asked by an attempt, the fewer attempts there are."""
    domains = "; ".join(
        f"s{each}: b{each}[{' '.join(f'n{each}-{node}' for node in range(8))}]" for each in range(nodes // 8)
    )
    drawing = cluster(domains)
    for each in range(nodes // 8):
        drawing = drawing.cordon(f"n{each}-0").taint(f"n{each}-1", "gpu").with_running(f"low-{each}", f"n{each}-2", 4)
    for number in range(jobs):
        drawing = drawing.with_gang(f"ahead-{number:02}", 1, 1, priority=9, must_gather=BLOCK)
    drawing = drawing.with_gang("job", 9, 8, priority=5, must_gather=BLOCK)
    simulation = simulate(drawing, drawing.subject("job"))
    failed = next_attempt(simulation)[0]
    attempts.clear()
    found = ways_out.proven(simulation, failed)
    assert found.ways or found.why_none
    assert len(attempts) <= MOST_STEPS


def test_where_a_run_is_cut_off_it_is_not_known_whether_a_change_helps() -> None:
    drawing = cluster("s0: b0[n1:4 n2:16]").with_gang("job", 1, 8).with_pod("job-1", gang="job", cpu=4)
    simulation = simulate(drawing, drawing.subject("job"))
    assert is_placed(simulation, SearchBudget(simulation)) is True
    assert is_placed(structs.replace(simulation, steps=1), SearchBudget(simulation)) is None


def test_attempts_in_several_orders_count_as_many_steps() -> None:
    taken = {}
    for nodes in ("n1 n2 n3 n4", "n1 n2"):
        drawing = cluster(f"s0: b0[{nodes}]").cordon("n2").with_group("job", 3)
        for number, cpu in enumerate((6, 5, 2)):
            drawing = drawing.with_pod(f"job-{number}", gang="job", cpu=cpu)
        searched = search(drawing, MOST_STEPS)
        searched.works((Uncordon("n2"),))
        taken[nodes] = MOST_STEPS - searched.budget.left
    assert taken["n1 n2"] > taken["n1 n2 n3 n4"]


UNEQUAL = cluster("s0: b0[n1:8]").with_gang("job", 1, cpu=9, priority=5).with_pod("job-1", "job", cpu=1, priority=5)
RACING = cluster("s0: b0[n1:8 n2:8]").with_gang("job", 0, minimum=3, must_gather=SPINE)


@pytest.mark.parametrize(
    ("drawing", "expected"),
    [
        (cluster("s0: b0[n1:8]").with_gang("job", 2, cpu=1), {False}),
        (UNEQUAL.version("1.7"), {True, False}),
        (UNEQUAL, {False}),
        (UNEQUAL.change("n1", allocatable=node("n1", 12).allocatable).with_running("low", "n1", cpu=12), {True}),
        (cluster("s0: b0[n1:8]").with_running("low", "n1", cpu=8).with_gang("job", 2, cpu=4, priority=5), {False}),
        (RACING.with_members(("a", "b"), "job", cpu=2).with_pod("c", "job", cpu=6), {True, False}),
    ],
)
def test_an_attempt_that_fails_is_the_last_where_it_has_an_effect_or_none_is_made_after_it(
    drawing: Drawing, expected: set[bool]
) -> None:
    simulation = simulate(drawing, drawing.subject("job"))
    assert {surely_fails(simulation, one) for one in every_outcome(simulation, preemption=False)} == expected


@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_after_such_an_attempt_a_change_is_told_to_help_if_all_say_so(version: str) -> None:
    for seed in range(40):
        rng = Random(seed)  # noqa: S311
        plan = rules(f"MustGather {SPINE}") if rng.random() < 0.5 else None
        drawing = cluster("s0: b0[n1:8 n2:6]; s1: b1[n3:8]").with_group("job", 3, topology=plan).version(version)
        for number in range(3):
            drawing = drawing.with_pod(f"job-{number}", "job", cpu=rng.choice((1, 2, 6)), priority=rng.choice((0, 5)))
            drawing = drawing.with_running(f"low-{number}", f"n{number + 1}", cpu=rng.choice((1, 4, 6)))
        simulation = simulate(drawing, drawing.subject("job"))
        assert is_placed(simulation, SearchBudget(simulation)) == all_place(next_attempt(simulation))


def test_once_an_attempt_preempts_no_other_is_made_to_tell_that_a_change_does_not_help(attempts: list[object]) -> None:
    drawing = cluster("s0: b0[n1:8]").cordon("n1").with_running("low", "n1", cpu=8).with_group("job", 3)
    for number, cpu in enumerate((6, 5, 2)):
        drawing = drawing.with_pod(f"job-{number}", gang="job", cpu=cpu, priority=5)
    searched = search(drawing, MOST_STEPS)
    attempts.clear()
    assert not searched.works((Uncordon("n1"),))
    assert len(attempts) == 1


def test_attempts_are_made_once_however_many_orders_there_are(attempts: list[object]) -> None:
    drawing = cluster("s0: b0[n1:16 n2:12]").with_group("job", 5)
    for number in range(5):
        drawing = drawing.with_pod(f"job-{number}", gang="job", cpu=number + 1)
    simulation = simulate(drawing, drawing.subject("job"))
    for _ in range(2):
        assert len([*every_outcome(simulation, preemption=False)]) == len(attempts) == 25
