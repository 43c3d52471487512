"""Section 6 of the reference: who may preempt, on which nodes, at what cost, and who comes back."""

from typing import Any

import pytest

from kubectl_koord.engine.preemption import (
    NO_RESERVATIONS,
    Preemption,
    Refusal,
    VictimOrder,
    by_name,
    highest_priority_first,
    job_key,
    last_first,
    lowest_priority_first,
    node_costs,
    possible_victims,
    preempt,
    single_out,
    with_victims,
)
from kubectl_koord.engine.state import of
from kubectl_koord.engine.table import members
from kubectl_koord.model.pods import HostPort, RunningPod
from kubectl_koord.model.values import Toleration
from tests.build import SPINE, attempt_of, cluster, jobs_of, pending, preemption_of, running, short

VERSIONS = pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
WORKED = (
    cluster(
        "spine-0: block-0[node-0 node-1 node-2] block-1[node-3 node-4];"
        "spine-1: block-2[node-5 node-6] block-3[node-7 node-8];"
        "spine-2: block-4[node-9 node-10 node-11]"
    )
    .with_gang("job", 4, 8, must_gather=SPINE, priority=1000)
    .with_running("low-0", on="node-0", cpu=8)
    .with_running("low-1", on="node-1", cpu=8)
    .with_running("low-5", on="node-5", cpu=8)
)


def outcome(found: Preemption) -> tuple[str | None, list[str], dict[str, str]]:
    return found.reason, [f"{pod.name}@{pod.node}" for pod in found.victims], short(found.nominations)


@VERSIONS
def test_the_worked_example_kills_the_one_pod_on_node_5(version: str) -> None:
    found = preemption_of(WORKED.version(version))
    nominated = {"job-0": "node-5", "job-1": "node-6", "job-2": "node-7", "job-3": "node-8"}
    assert outcome(found) == (None, ["low-5@node-5"], nominated)


def test_a_trigger_that_never_preempts_is_not_eligible() -> None:
    assert preemption_of(WORKED.change_pods(never_preempts=True)) == Preemption(eligible=False, reason="policy-never")


def test_the_policies_of_other_members_are_not_looked_at() -> None:
    drawing = WORKED.change_pods("job-3", never_preempts=True)
    assert preemption_of(drawing).reason is None


def test_without_pending_pods_there_is_nothing_to_do() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 8)
    failed = attempt_of(drawing)
    nobody = type(failed)(failed.trigger, failed.prepared, None, None, {})
    assert preempt(jobs_of(drawing)[0], of(drawing), nobody) == Preemption(eligible=False, reason="no-pending-pods")


DYING = {"terminating": True, "preempted": True}


@VERSIONS
def test_a_victim_that_terminates_on_a_members_nominated_node_is_waited_for(version: str) -> None:
    drawing = WORKED.with_running("low-6", on="node-6", **DYING).change_pods("job-3", nominated="node-6")
    found = preemption_of(drawing.version(version))
    assert found == Preemption(eligible=False, reason="terminating-victim")


@pytest.mark.parametrize(
    "fields",
    [
        {"terminating": True},
        {"preempted": True},
        DYING | {"priority": 1000},
        DYING | {"protected": True},
    ],
)
def test_other_dying_pods_are_not_waited_for(fields: dict[str, Any]) -> None:
    drawing = WORKED.with_running("low-6", on="node-6", **fields).change_pods("job-3", nominated="node-6")
    assert preemption_of(drawing).eligible


def test_nor_is_anybody_on_a_node_that_is_gone() -> None:
    assert preemption_of(WORKED.change_pods("job-3", nominated="node-99")).reason is None


def test_a_trigger_whose_nominated_node_is_lost_to_it_need_not_wait() -> None:
    drawing = WORKED.with_running("low-6", on="node-6", **DYING).change_pods("job-0", nominated="node-6")
    assert preemption_of(drawing, trigger="job-0").reason == "terminating-victim"
    assert preemption_of(drawing.cordon("node-6"), trigger="job-0").eligible
    assert not preemption_of(drawing.cordon("node-6"), trigger="job-1").eligible


def test_other_members_wait_even_then() -> None:
    drawing = WORKED.with_running("low-6", on="node-6", **DYING).change_pods("job-3", nominated="node-6")
    assert not preemption_of(drawing.cordon("node-6")).eligible


def test_where_nobody_may_be_preempted_there_are_no_victims() -> None:
    drawing = cluster("s0: b0[n1]").with_running("peer", on="n1", cpu=8, priority=5)
    drawing = drawing.with_running("saint", on="n1", cpu=0, protected=True)
    found = preemption_of(drawing.with_gang("job", 1, 8, priority=5))
    assert found == Preemption(eligible=True, reason="no-victims")


def test_nodes_that_preemption_cannot_help_are_left_alone() -> None:
    drawing = cluster("s0: b0[n1 n2]").cordon("n1").taint("n2", "gpu").with_running("low", on="n1", cpu=8)
    drawing = drawing.with_running("low-2", on="n2", cpu=8).with_gang("job", 1, 8, priority=5)
    assert preemption_of(drawing) == Preemption(eligible=True, reason="no-victims")


@pytest.mark.parametrize(("version", "reason"), [("1.7", "not-helpful"), ("1.8", "no-victims")])
def test_a_request_above_the_whole_node_is_hopeless_from_1_8_on(version: str, reason: Refusal) -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=8).with_gang("job", 1, 9, priority=5)
    assert preemption_of(drawing.version(version)) == Preemption(eligible=True, reason=reason)


@VERSIONS
def test_what_does_not_help_kills_nobody(version: str) -> None:
    drawing = WORKED.with_gang("job", 6, 8, must_gather=SPINE, priority=1000).version(version)
    assert preemption_of(drawing) == Preemption(eligible=True, reason="not-helpful")


def test_nor_does_it_where_there_would_be_room_enough_and_no_free_port() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 0, minimum=2, must_gather=SPINE)
    drawing = drawing.with_members(("a", "b"), "job", cpu=8, ports=(HostPort(80),), priority=5)
    drawing = drawing.with_running("low", on="n1", cpu=8)
    assert preemption_of(drawing).reason is None
    drawing = drawing.with_running("equal", on="n2", cpu=0, ports=(HostPort(80),), priority=5)
    assert preemption_of(drawing) == Preemption(eligible=True, reason="not-helpful")


def test_a_plan_that_failed_on_execution_preempts_nobody() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8]").with_gang("job", 0, minimum=3, must_gather=SPINE)
    drawing = drawing.with_members(("a", "b"), "job", cpu=2).with_pod("c", gang="job", cpu=6)
    assert preemption_of(drawing) == Preemption(eligible=True, reason="not-helpful")


@VERSIONS
def test_a_higher_cost_wins_a_tie_between_domains(version: str) -> None:
    drawing = cluster("s0: b0[n1]; s1: b1[n2]").with_gang("job", 1, 8, must_gather=SPINE, priority=9)
    drawing = drawing.with_running("cheap", on="n1", cpu=8, priority=1).with_running("dear", on="n2", cpu=8, priority=2)
    assert outcome(preemption_of(drawing.version(version))) == (None, ["dear@n2"], {"job-0": "n2"})


def test_a_lower_cost_wins_for_a_gang_without_topology() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 1, 8, priority=9)
    drawing = drawing.with_running("dear", on="n1", cpu=8, priority=2).with_running("cheap", on="n2", cpu=8, priority=1)
    assert outcome(preemption_of(drawing)) == (None, ["cheap@n2"], {"job-0": "n2"})


def test_members_of_a_plain_gang_are_not_counted_against_each_other() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 3, priority=9)
    drawing = drawing.with_running("low-0", on="n0", cpu=4).with_running("low-1", on="n1", cpu=4)
    drawing = drawing.with_group("job", 2)
    assert outcome(preemption_of(drawing)) == (None, ["low-0@n0"], {"job-0": "n0", "job-1": "n0"})


def test_members_that_wait_are_nominated_to_the_node_they_hold() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 4, priority=9).with_running("low-1", on="n1", cpu=4)
    assert outcome(preemption_of(drawing)) == (None, ["low-1@n1"], {"job-0": "n1", "job-1": "n0"})


def test_what_is_computed_beside_members_that_wait_is_computed_once() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 4, priority=9).with_running("low-1", on="n1", cpu=4)
    view, failed = of(drawing), attempt_of(drawing)
    beside = failed.beside_waiting(view)
    assert beside.occupants("n0") == failed.waiting["n0"]
    assert failed.beside_waiting(view) is beside


def test_of_an_attempt_in_which_nobody_waits_the_cluster_stays_what_it_is() -> None:
    drawing = cluster("s0: b0[n0:4]").with_gang("job", 2, 4, minimum=2, must_gather=SPINE)
    view = of(drawing)
    assert attempt_of(drawing).beside_waiting(view) is view


def test_a_nomination_of_a_member_that_found_a_node_elsewhere_holds_nobody_up() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8 n3:8]").with_gang("job", 2, 8, priority=9)
    drawing = drawing.change_pods("job-0", nominated="n1").with_running("low", on="n2", cpu=8)
    dying = drawing.with_running("dying", on="n1", cpu=8, priority=1, terminating=True, preempted=True)
    held = (None, ["low@n2"], {"job-0": "n3", "job-1": "n2"})
    assert outcome(preemption_of(dying, trigger="job-1")) == held
    assert preemption_of(dying, trigger="job-0").reason == "terminating-victim"


def test_a_plain_gang_needs_a_node_for_every_member() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").taint("n0", "gpu").taint("n1", "gpu").with_group("job", 2)
    drawing = drawing.with_running("low-0", on="n0", cpu=4).with_running("low-1", on="n1", cpu=4)
    tolerations = (Toleration("gpu", "Exists"),)
    drawing = drawing.with_pod("job-0", gang="job", cpu=3, priority=9, tolerations=tolerations)
    drawing = drawing.with_pod("job-1", gang="job", cpu=3, priority=9)
    assert preemption_of(drawing) == Preemption(eligible=True, reason="not-helpful")


def test_a_lone_pod_preempts_too() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1", cpu=2).with_pod("lone", cpu=8, priority=9)
    assert outcome(preemption_of(drawing, "lone")) == (None, ["low@n1"], {"lone": "n1"})


def test_pods_are_given_back_from_the_highest_priority_down() -> None:
    drawing = cluster("s0: b0[n1:8]").with_gang("job", 1, 4, priority=9)
    for name, cpu, priority in (("a", 2, 1), ("b", 3, 2), ("c", 3, 3)):
        drawing = drawing.with_running(name, on="n1", cpu=cpu, priority=priority)
    assert outcome(preemption_of(drawing)) == (None, ["a@n1", "b@n1"], {"job-0": "n1"})


def test_of_equals_the_job_key_and_then_the_name_decide_who_comes_back() -> None:
    drawing = cluster("s0: b0[n1:8]").with_gang("job", 1, 4, priority=9)
    for name, job in (("a", "y"), ("b", "x"), ("c", "x")):
        drawing = drawing.with_running(name, on="n1", cpu=4 if name == "a" else 2, job=job)
    assert outcome(preemption_of(drawing))[1] == ["a@n1"]


def test_a_topology_gangs_slots_stay_taken_while_pods_are_given_back() -> None:
    drawing = cluster("s0: b0[n1:12]").with_gang("job", 2, 4, must_gather=SPINE, priority=9)
    drawing = drawing.with_running("spare", on="n1", cpu=4, priority=1).with_running("wall", on="n1", cpu=1, priority=2)
    assert [pod.name for pod in preemption_of(drawing).victims] == ["spare", "wall"]


def test_a_lone_pod_spares_whom_it_can() -> None:
    drawing = cluster("s0: b0[n1:12]").with_pod("lone", cpu=8, priority=9)
    drawing = drawing.with_running("spare", on="n1", cpu=4, priority=1).with_running("wall", on="n1", cpu=1, priority=2)
    assert [pod.name for pod in preemption_of(drawing, "lone").victims] == ["spare"]


def test_pods_that_terminate_already_make_room_but_are_no_victims() -> None:
    drawing = cluster("s0: b0[n1:8]").with_gang("job", 1, 8, priority=9)
    found = preemption_of(drawing.with_running("dying", on="n1", cpu=8, terminating=True))
    assert ([pod.name for pod in found.victims], [pod.name for pod in found.gone]) == ([], ["dying"])


def test_nodes_that_get_no_member_keep_all_their_pods() -> None:
    found = preemption_of(WORKED)
    assert {pod.node for pod in found.gone} == {"node-5"}


def test_a_free_node_stays_in_the_game() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8, must_gather=SPINE, priority=9)
    found = preemption_of(drawing.with_running("low", on="n1", cpu=8))
    assert outcome(found) == (None, ["low@n1"], {"job-0": "n1", "job-1": "n2"})


def test_nodes_with_victims_are_those_of_which_any_pod_may_be_preempted() -> None:
    names = [f"n{number}" for number in range(1, 10)]
    drawing = cluster(f"s0: b0[{' '.join(names)}]")
    for name in names[:3]:
        drawing = drawing.with_running(f"low-{name}", on=name).with_running(f"equal-{name}", on=name, priority=5)
    view, trigger = of(drawing), pending("p", priority=5)
    for one in (
        view,
        view.without([pod for pod in view.occupants("n2") if isinstance(pod, RunningPod) and not pod.priority]),
    ):
        found = members(one, with_victims(one, trigger.priority, NO_RESERVATIONS))
        assert [*found] == [name for name in names if possible_victims(one, name, trigger)]


def test_possible_victims_are_pods_that_rank_lower_are_not_protected_and_run() -> None:
    drawing = cluster("s0: b0[n1]").with_running("low", on="n1").with_running("peer", on="n1", priority=5)
    drawing = drawing.with_running("saint", on="n1", protected=True).with_reserved("room", on="n1")
    view = of(drawing).with_pods({"n1": [pending("waiting")]})
    assert [pod.name for pod in possible_victims(view, "n1", pending("p", priority=5))] == ["low"]


@pytest.mark.parametrize(
    ("victim_order", "cost"),
    [(by_name, 0 + 2), (last_first, 1 + 2), (lowest_priority_first, 0 + 2), (highest_priority_first, 1 + 2)],
)
def test_a_node_costs_the_ranks_of_the_first_pod_of_each_job(victim_order: VictimOrder, cost: int) -> None:
    drawing = cluster("s0: b0[n1 n2]").with_running("a", on="n1", priority=10, job="x")
    drawing = drawing.with_running("b", on="n1", priority=20, job="x").with_running("c", on="n1", priority=30, job="y")
    view = of(drawing.with_running("d", on="n2", priority=10))
    assert node_costs(view, ("n1", "n2"), pending("p", priority=99), victim_order) == {"n1": cost, "n2": 0}


def test_pods_without_a_job_key_count_as_one_job() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_running("q", on="n2", priority=9)
    for number in range(3):
        drawing = drawing.with_running(f"p-{number}", on="n1", priority=7)
    assert node_costs(of(drawing), ("n1", "n2"), pending("p", priority=99), by_name) == {"n1": 0, "n2": 1}


GROUPED = (("pod-group.scheduling.sigs.k8s.io", "old-worker"),)


@pytest.mark.parametrize(
    ("fields", "key"),
    [
        ({}, "default/p"),
        ({"job": "x", "gang": "default/old"}, "x"),
        ({"gang": "default/old-worker", "labels": GROUPED}, "old"),
        ({"gang": "default/old-worker"}, "old-worker"),
        ({"gang": "default/old"}, "old"),
    ],
)
def test_in_17_victims_are_jobs_of_their_own_and_gangs_one_together(fields: dict[str, Any], key: str) -> None:
    victim = running("p", "n1", **fields)
    assert job_key(victim, names_jobs=True) == key
    assert job_key(victim, names_jobs=False) == fields.get("job", "")


def test_in_17_what_stands_for_a_reservation_has_no_job_of_its_own() -> None:
    (room,) = cluster("s0: b0[n1]").with_reserved("room", on="n1").reserved
    assert job_key(room, names_jobs=True) == ""


@pytest.mark.parametrize(("version", "node"), [("1.7", "n2"), ("1.8", "n1"), ("main", "n1")])
def test_several_pods_of_no_job_cost_more_than_one_only_in_17(version: str, node: str) -> None:
    drawing = cluster("s0: b0[n1 n2]").with_pod("lone", cpu=8, priority=9).version(version)
    for name, on, priority in (("a", "n1", 0), ("b", "n1", 1), ("c", "n1", 1), ("d", "n1", 1), ("e", "n2", 2)):
        drawing = drawing.with_running(name, on=on, cpu=2, priority=priority)
    found = preemption_of(drawing.with_running("z", on="n2", cpu=2, priority=0), "lone")
    assert {pod.node for pod in found.victims} == {node}


@pytest.mark.parametrize(("cheap", "costs"), [(True, {"n1": 0, "n2": 1}), (False, {"n1": 1, "n2": 0})])
def test_one_node_may_be_met_in_another_order_than_the_rest(cheap: bool, costs: dict[str, int]) -> None:  # noqa: FBT001
    drawing = cluster("s0: b0[n1 n2]")
    for name in ("n1", "n2"):
        drawing = drawing.with_running(f"a-{name}", on=name, priority=1).with_running(f"b-{name}", on=name, priority=2)
    assert node_costs(of(drawing), ("n1", "n2"), pending("p", priority=9), single_out("n1", cheap=cheap)) == costs
