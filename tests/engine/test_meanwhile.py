"""Whom later attempts preempt while the victims of an earlier one still terminate."""

import pytest

from kubectl_koord.engine import meanwhile
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.rounds import Outcome, effects, outcomes
from kubectl_koord.engine.state import of
from kubectl_koord.model.installation import Plugins
from kubectl_koord.model.quotas import NAME_LABEL
from tests.build import SPINE, Drawing, cluster, jobs_of

TEAM, OTHER = ((NAME_LABEL, "team"),), ((NAME_LABEL, "other"),)
ROOM = cluster("s0: b0[n0:4 n1:4]").with_quota("team", cpu=8).with_quota("other", cpu=8)
PLANNED = ROOM.with_gang("job", 2, 2, must_gather=SPINE, priority=9, labels=TEAM)
BESIDE = PLANNED.with_running("alien", on="n0", cpu=4, labels=OTHER).with_running("mine", on="n1", cpu=4, labels=TEAM)
MIXED = (
    cluster("s0: b0[n0:4 n1:4]")
    .with_gang("job", 2, 2, must_gather=SPINE, priority=9)
    .with_running("a-0", on="n0", cpu=2, priority=5)
    .with_running("a-1", on="n0", cpu=2)
    .with_running("b-0", on="n1", cpu=2, priority=5)
    .with_running("b-1", on="n1", cpu=2)
)


def followed(drawing: Drawing, trigger: str = "") -> list[Outcome]:
    found = [outcome for job in jobs_of(drawing) for outcome in outcomes(job, of(drawing))]
    return [one for one in found if trigger in {"", one.trigger.name}]


def told(outcome: Outcome) -> tuple[list[list[str]], list[list[str]], bool | None]:
    """Return the victims of each attempt, with a plus those while others terminate; who may follow; the end."""
    rounds = [[("+" if one.meanwhile else "") + pod.name for pod in one.victims] for one in outcome.rounds]
    return rounds, [[pod.name for pod in one.victims] for one in outcome.perhaps], outcome.runs


def test_while_others_victims_terminate_a_pod_preempts_in_its_own_quota_as_well() -> None:
    (outcome,) = followed(BESIDE)
    assert told(outcome) == ([["alien"], ["+mine"]], [], True)
    assert [pod.name for pod in outcome.killed] == ["alien", "mine"]


def test_victims_in_its_own_quota_open_a_quota_that_others_victims_did_not_open() -> None:
    (outcome,) = followed(BESIDE.but(quotas=()).with_quota("team", cpu=4).with_quota("other", cpu=8))
    assert told(outcome) == ([["alien"], ["+mine"]], [], True)


def test_in_1_7_that_may_come_as_only_something_else_wakes_the_gang_up() -> None:
    (outcome,) = followed(BESIDE.version("1.7"))
    assert told(outcome) == ([["alien"]], [["mine"]], True)


def test_where_it_decides_whether_the_gang_runs_both_are_told() -> None:
    short = BESIDE.but(quotas=()).with_quota("team", cpu=4).with_quota("other", cpu=8).version("1.7")
    assert [told(one) for one in followed(short)] == [
        ([["alien"]], [["mine"]], False),
        ([["alien"], ["+mine"]], [], True),
    ]


def test_without_elastic_quota_at_postfilter_the_first_victims_are_waited_for() -> None:
    plugins = Plugins(off=(("ElasticQuota", ("postFilter",)),))
    (outcome,) = followed(BESIDE.configured(plugins=plugins))
    assert told(outcome) == ([["alien"]], [], True)


def test_with_job_preemption_off_a_gang_preempts_in_its_quota_alone() -> None:
    (outcome,) = followed(BESIDE.configured(preemption=False))
    assert told(outcome) == ([["mine"]], [], True)


def test_a_lone_pod_may_do_so_too_as_only_something_else_wakes_it_up() -> None:
    drawing = ROOM.with_pod("job", cpu=4, priority=9, labels=TEAM)
    drawing = drawing.with_running("alien", on="n0", cpu=4, labels=OTHER)
    (outcome,) = followed(drawing.with_running("mine", on="n1", cpu=4, labels=TEAM))
    assert told(outcome) == ([["alien"]], [["mine"]], True)


def test_nobody_waits_for_a_victim_of_the_own_quota_twice() -> None:
    drawing = ROOM.with_pod("job", cpu=4, priority=9, labels=TEAM)
    drawing = drawing.with_running("mine-0", on="n0", cpu=4, labels=TEAM)
    (outcome,) = followed(drawing.with_running("mine-1", on="n1", cpu=4, labels=TEAM))
    assert told(outcome) == ([["mine-0"]], [], True)


def test_victims_that_change_are_listed_last_so_that_another_node_may_cost_more() -> None:
    usual = followed(MIXED)[0]
    assert told(usual) == ([["a-0", "a-1"]], [["b-0", "b-1"]], True)


def test_where_nodes_cost_the_same_whoever_comes_first_the_same_are_chosen_again() -> None:
    alike = PLANNED.with_running("a", on="n0", cpu=4).with_running("b", on="n1", cpu=4)
    (outcome,) = followed(alike)
    assert told(outcome) == ([["a"]], [], True)


def test_another_trigger_may_choose_other_nodes() -> None:
    drawing = cluster("s0: b0[n0:12 n1:8]").with_gang("job", 1, 6, minimum=2, must_gather=SPINE, priority=9)
    drawing = drawing.with_pod("job-1", gang="job", cpu=2, priority=9).with_running("low-0", on="n0", cpu=12)
    drawing = drawing.with_running("low-1", on="n1", cpu=8, priority=1)
    assert [(one.trigger.name, *told(one)) for one in followed(drawing)] == [
        ("job-0", [["low-0"]], [["low-1"]], True),
        ("job-1", [["low-1"]], [["low-0"]], True),
    ]


def test_members_of_a_plan_that_never_preempt_wait() -> None:
    drawing = BESIDE.with_pod("job-1", gang="job", cpu=2, priority=9, labels=TEAM, never_preempts=True)
    (outcome,) = followed(drawing, "job-0")
    assert told(outcome) == ([["alien"]], [["mine"]], True)


def test_pods_of_a_gang_without_plan_may_free_a_node_each_in_their_quota() -> None:
    drawing = ROOM.with_gang("job", 2, 4, priority=9, labels=TEAM).with_running("mine-0", on="n0", cpu=4, labels=TEAM)
    (outcome,) = followed(drawing.with_running("mine-1", on="n1", cpu=4, labels=TEAM))
    assert told(outcome) == ([["mine-0"], ["+mine-1"]], [], True)


def test_a_member_that_waits_on_its_node_does_not_hold_up_the_others() -> None:
    drawing = ROOM.with_gang("job", 2, 4, priority=9, labels=TEAM).with_running("alien", on="n1", cpu=4, labels=OTHER)
    (outcome,) = followed(drawing)
    assert told(outcome) == ([["alien"]], [], True)


@pytest.mark.parametrize("bound", ["MOST_STATES", "MOST_TIES"])
def test_what_is_not_followed_may_come(monkeypatch: pytest.MonkeyPatch, bound: str) -> None:
    monkeypatch.setattr(meanwhile, bound, 0)
    budget = Budget()
    (outcome,) = [one for job in jobs_of(BESIDE) for one in outcomes(job, of(BESIDE), budget=budget)]
    assert told(outcome) == ([["alien"]], [["mine"]], True)
    assert budget.is_cut == (bound == "MOST_STATES")  # of ties each is told


def test_of_nodes_that_cost_the_same_each_turn_may_take_another() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").with_quota("team", cpu=9)
    drawing = drawing.with_gang("job", 2, 2, must_gather=SPINE, labels=TEAM, priority=9)
    drawing = drawing.with_running("mine-0", on="n0", cpu=4, labels=TEAM).with_running("mine-1", "n1", 4, labels=TEAM)
    assert [told(one) for one in followed(drawing)] == [([["mine-0"], ["+mine-1"]], [], True)]


def test_a_search_that_has_ended_leaves_it_open() -> None:
    ends = []
    for steps in range(12):
        found = [one for job in jobs_of(MIXED) for one in outcomes(job, of(MIXED), budget=Budget(steps))]
        ends += [told(one) for one in found]
    assert ([["a-0", "a-1"]], [["b-0", "b-1"]], True) in ends
    assert ([["a-0", "a-1"]], [], None) in ends


def test_that_is_so_in_later_attempts_as_well() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 3, priority=9)
    drawing = drawing.with_running("low-0", on="n0", cpu=4).with_running("low-1", on="n1", cpu=4)
    ends = []
    for steps in range(12):
        found = [one for job in jobs_of(drawing) for one in outcomes(job, of(drawing), budget=Budget(steps))]
        ends += [told(one) for one in found]
    assert ends[-1] == ([["low-0"], ["low-1"]], [], True)
    assert ([["low-0"], ["low-1"]], [], None) in ends


def test_what_may_follow_victims_of_a_later_attempt_is_cut_off_with_the_budget() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 3, priority=9)
    for node in ("n0", "n1"):
        drawing = drawing.with_running(f"a-{node}", on=node, cpu=2, priority=5).with_running(
            f"b-{node}", on=node, cpu=2
        )
    (job,) = jobs_of(drawing)
    budget = Budget(8)
    (outcome,) = outcomes(job, of(drawing), budget=budget)
    assert told(outcome) == ([["a-n0", "b-n0"], ["a-n1", "b-n1"]], [], None)
    assert budget.is_cut


def test_each_few_turns_and_what_retries_cost_the_budget_a_step() -> None:
    (job,) = jobs_of(MIXED)
    left = []
    for turns in (1, 8):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(meanwhile, "_TURNS_OF_A_STEP", turns)
            budget = Budget()
            assert [*outcomes(job, of(MIXED), budget=budget)]
            left.append(budget.left)
    assert left[0] < left[1]


def test_the_effects_of_one_attempt_end_with_the_budget() -> None:
    (job,) = jobs_of(BESIDE)
    (found,) = effects(job, of(BESIDE), Budget())
    assert [pod.name for pod in found.victims] == ["alien"]
    assert [*effects(job, of(BESIDE), Budget(1))] == []
