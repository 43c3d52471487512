"""Pods of a gang that has run before, each tried for itself."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.rounds import MOST_BRANCHES, Outcome, outcomes_of_each
from kubectl_koord.engine.state import of
from tests.build import SPINE, Drawing, cluster, jobs_of, short

FULL = (
    cluster("s0: b0[n1 n2 n3]")
    .with_running("low-1", on="n1", cpu=8, priority=1)
    .with_running("low-2", on="n2", cpu=8, priority=2)
    .with_running("low-3", on="n3", cpu=8, priority=3)
)


def lost(drawing: Drawing, number: int, cpu: float = 8, must_gather: str = "") -> Drawing:
    """Return the cluster with a gang of which one pod runs and so many wait."""
    drawing = drawing.with_gang("job", number, cpu, minimum=2, priority=9, must_gather=must_gather)
    return drawing.with_running("job-run", on="n1", cpu=0, gang="default/job", priority=30)


def of_each(drawing: Drawing) -> Sequence[Outcome]:
    (job,) = jobs_of(drawing)
    assert job.each_queued
    return [*outcomes_of_each(job, of(drawing), Budget())]


def told(outcome: Outcome) -> tuple[list[str], dict[str, str], tuple[int, int] | None, bool | None]:
    victims = [pod.name for one in outcome.rounds for pod in one.victims]
    nominations = {pod: node for one in outcome.rounds for pod, node in short(one.nominations).items()}
    return victims, nominations, outcome.each, outcome.runs


def test_each_pod_preempts_on_the_cheapest_node_that_no_other_is_nominated_to() -> None:
    (outcome,) = of_each(lost(FULL, 2))
    assert told(outcome) == (["low-1", "low-2"], {"job-0": "n1", "job-1": "n2"}, (2, 2), True)
    assert outcome.last is None


def test_a_topology_spec_of_a_gang_that_ran_does_not_count() -> None:
    drawing = (
        cluster("s0: b0[n1]; s1: b1[n2]").with_running("low-1", on="n1", cpu=8).with_running("low-2", on="n2", cpu=8)
    )
    (outcome,) = of_each(lost(drawing, 2, must_gather=SPINE))
    assert told(outcome) == (["low-1", "low-2"], {"job-0": "n1", "job-1": "n2"}, (2, 2), True)


def test_a_pod_that_finds_a_place_takes_it_before_any_victim_is_gone() -> None:
    (outcome,) = of_each(lost(FULL.without_running("default/low-2"), 2))
    assert told(outcome) == (["low-1"], {"job-1": "n1"}, (2, 2), True)
    assert not outcome.placed_at_once


def test_pods_that_nobody_makes_room_for_keep_none_from_running() -> None:
    protected = FULL.without_running("default/low-2", "default/low-3")
    protected = protected.with_running("saint", on="n2", cpu=8, protected=True).with_running(
        "high", on="n3", cpu=8, priority=10
    )
    (outcome,) = of_each(lost(protected, 2))
    assert told(outcome) == (["low-1"], {"job-0": "n1"}, (1, 2), False)
    assert outcome.last is not None
    assert outcome.last.reason == "not-helpful"


def test_where_nobody_may_be_preempted_no_pod_runs() -> None:
    (outcome,) = of_each(lost(cluster("s0: b0[n1]").with_running("high", on="n1", cpu=8, priority=10), 2))
    assert told(outcome) == ([], {}, (0, 2), False)
    assert outcome.last is not None
    assert outcome.last.reason == "no-victims"


def test_small_pods_share_a_node_whose_victims_are_taken_once() -> None:
    (outcome,) = of_each(lost(FULL, 2, 4))
    assert told(outcome) == (["low-1"], {"job-0": "n1", "job-1": "n1"}, (2, 2), True)
    assert [pod.name for pod in outcome.rounds[0].gone] == ["low-1"]


def test_the_pod_of_higher_priority_comes_first() -> None:
    drawing = lost(FULL, 1).with_pod("job-9", gang="job", cpu=8, priority=20)
    (outcome,) = of_each(drawing)
    assert told(outcome)[1] == {"job-9": "n1", "job-0": "n2"}


def test_pods_of_equal_priority_that_differ_may_come_in_any_order() -> None:
    drawing = lost(FULL, 1).with_pod("job-9", gang="job", cpu=4, priority=9)
    found = {tuple(sorted(told(outcome)[1].items())) for outcome in of_each(drawing)}
    assert found == {(("job-0", "n1"), ("job-9", "n2")), (("job-0", "n2"), ("job-9", "n1"))}


def test_of_very_many_orders_none_is_tried() -> None:
    drawing = lost(FULL, 1)
    for number in range(1, 6):
        drawing = drawing.with_pod(f"job-{number}", gang="job", cpu=number, priority=9)
    assert of_each(drawing) == []
    for number in range(1, 6):
        drawing = drawing.change_pods(f"job-{number}", priority=number)
    assert len(of_each(drawing)) > 0


@pytest.mark.parametrize("version", ["1.7", "1.8", "main"])
def test_running_pods_of_the_same_gang_are_victims_like_others(version: str) -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 8, minimum=1, priority=9).version(version)
    (outcome, *_) = of_each(drawing.with_running("job-run", on="n1", cpu=8, gang="default/job", priority=1))
    assert told(outcome) == (["job-run"], {"job-0": "n1"}, (1, 2), False)


def test_no_search_takes_more_steps_than_it_may() -> None:
    (job,) = jobs_of(lost(FULL, 2))
    whole = Budget(1000)
    assert len([*outcomes_of_each(job, of(lost(FULL, 2)), whole)]) == 1
    for steps in range(1000 - whole.left):
        budget = Budget(steps)
        assert [*outcomes_of_each(job, of(lost(FULL, 2)), budget)] == []
        assert (budget.left >= 0, budget.is_cut) == (True, True)


def test_of_very_many_outcomes_some_are_followed_and_it_is_told_that_there_are_more() -> None:
    team = (("quota.scheduling.koordinator.sh/name", "team"),)
    nodes = [f"n{number:03}" for number in range(70)]
    drawing = cluster(f"s0: b0[{' '.join(nodes)}]").with_quota("team", cpu=70)
    for name in nodes:
        drawing = drawing.with_running(f"low-{name}", on=name, cpu=1, labels=team)
    drawing = drawing.but(config=structs.replace(drawing.config, preemption=False))
    drawing = drawing.with_gang("job", 2, 1, minimum=2, priority=9, labels=team)
    drawing = drawing.with_running("job-run", on="n001", cpu=0, gang="default/job", priority=30)
    (job,), budget = jobs_of(drawing), Budget()
    assert (len([*outcomes_of_each(job, of(drawing), budget)]), budget.is_cut) == (MOST_BRANCHES, True)
