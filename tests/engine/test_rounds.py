"""Attempt after attempt, for each outcome that the API leaves open."""

from typing import Any

import pytest
from msgspec.structs import replace

from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.rounds import MOST_BRANCHES, Outcome, outcomes
from kubectl_koord.engine.state import of
from kubectl_koord.model.objects import Claim, Storage, StorageClass
from kubectl_koord.model.pods import PodTerm
from kubectl_koord.model.values import NodeTerm, Requirement, Toleration
from tests.build import SPINE, Drawing, cluster, having, jobs_of

WASTEFUL = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 3, priority=9).with_running("low-0", on="n0", cpu=4)


def courses_of(drawing: Drawing, **options: Any) -> list[Outcome]:  # noqa: ANN401 - as `courses` has them
    return [outcome for job in jobs_of(drawing) for outcome in outcomes(job, of(drawing), **options)]


def killed(outcome: Outcome) -> list[list[str]]:
    return [[pod.name for pod in one.victims] for one in outcome.rounds]


def test_what_fits_needs_no_round() -> None:
    (outcome,) = courses_of(cluster("s0: b0[n1]").with_gang("job", 1, 8))
    assert (outcome.placed_at_once, outcome.rounds, outcome.last, outcome.runs) == (True, (), None, True)


def test_without_preemption_a_failed_attempt_is_the_end() -> None:
    (outcome,) = courses_of(WASTEFUL.with_running("low-1", on="n1", cpu=4), preemption=False)
    assert (outcome.placed_at_once, outcome.rounds, outcome.last, outcome.runs) == (False, (), None, False)


def test_victims_may_die_in_two_rounds() -> None:
    (outcome,) = courses_of(WASTEFUL.with_running("low-1", on="n1", cpu=4))
    assert (killed(outcome), outcome.runs) == ([["low-0"], ["low-1"]], True)
    assert [pod.name for pod in outcome.killed] == ["low-0", "low-1"]


def test_victims_may_die_within_quota() -> None:
    (outcome,) = courses_of(WASTEFUL.with_running("saint", on="n1", cpu=4, protected=True))
    assert (killed(outcome), outcome.runs) == ([["low-0"]], False)
    assert outcome.last is not None
    assert outcome.last.reason == "no-victims"


def test_a_preemption_without_effect_is_the_end() -> None:
    (outcome,) = courses_of(cluster("s0: b0[n1]").with_gang("job", 2, 8))
    assert (outcome.rounds, outcome.runs) == ((), False)
    assert outcome.last is not None
    assert outcome.last.reason == "no-victims"


def test_each_kind_of_trigger_has_its_course() -> None:
    drawing = cluster("s0: b0[n1:16 n2:4]").with_gang("job", 3, 2, must_gather=SPINE)
    drawing = drawing.with_pod("job-0", gang="job", cpu=12)
    found = courses_of(drawing)
    assert [(outcome.trigger.name, outcome.placed_at_once) for outcome in found] == [("job-1", True), ("job-0", False)]


def test_a_plan_that_fails_is_a_race_whoever_is_preempted_for_the_member_whose_seat_fails() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8]").with_gang("job", 0, minimum=3, must_gather=SPINE)
    drawing = drawing.with_members(("a", "b"), "job", cpu=2).with_pod("c", gang="job", cpu=6)
    racing, large = courses_of(drawing)
    (preempting,) = courses_of(WASTEFUL)
    assert (racing.races, large.races) == (True, False)
    assert replace(racing, rounds=preempting.rounds, runs=True).races
    assert not any(outcome.races for outcome in courses_of(drawing.version("1.7")))


def _placed(drawing: Drawing) -> dict[str, list[bool]]:
    """Return by trigger whether each course places the gang."""
    found: dict[str, list[bool]] = {}
    for outcome in courses_of(drawing, preemption=False):
        found.setdefault(outcome.trigger.name, []).append(outcome.placed_at_once)
    return found


def test_plain_gangs_of_unequal_pods_are_tried_with_the_extremes_of_scoring_and_order() -> None:
    drawing = cluster("s0: b0[n1:8 n2:6]").with_gang("job", 3, 2, minimum=3).with_pod("job-2", gang="job", cpu=8)
    drawing = drawing.with_running("low", on="n2", cpu=1)
    assert _placed(drawing) == {"job-0": [False, True, False, False, True], "job-2": [True] * 5}


def test_a_small_member_may_take_the_place_of_a_large_one_on_a_node_neither_full_nor_empty() -> None:
    drawing = cluster("s0: b0[n1:16 n2:8 n3:16]").with_gang("job", 2, 4).with_pod("job-1", gang="job", cpu=8)
    for name, cpu in (("n1", 8), ("n2", 1), ("n3", 12)):
        drawing = drawing.with_running(f"on-{name}", on=name, cpu=cpu)
    assert _placed(drawing) == {"job-0": [True, True, True, False, True], "job-1": [True] * 5}


def test_where_more_nodes_than_members_take_each_kind_none_takes_the_place_of_another() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("job", 3, 4).with_pod("job-2", gang="job", cpu=8)
    assert _placed(drawing) == {"job-0": [True], "job-2": [True]}


def test_a_place_on_a_node_that_a_member_cannot_reach_is_none_of_its_places() -> None:
    drawing = cluster("s0: b0[n1:16 n2:16]").change("n2", labels=(("gpu", "yes"),)).with_gang("job", 2, 4)
    on_n2 = (NodeTerm((Requirement("gpu", "In", ("yes",)),)),)
    drawing = drawing.with_pod("job-1", gang="job", cpu=16, affinity=on_n2).with_running("a", on="n2", cpu=0)
    assert _placed(drawing)["job-0"] == [True, True, True, False, True]


def test_a_node_with_victims_of_one_job_at_several_priorities_opens_the_order_of_the_cache() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=4, priority=1)
    assert len(courses_of(drawing.with_running("b", on="n1", cpu=4, priority=2))) == 2
    assert len(courses_of(drawing.with_running("b", on="n1", cpu=4, priority=1))) == 1


def test_nodes_beyond_preemption_open_nothing() -> None:
    drawing = cluster("s0: b0[n1]").cordon("n1").with_gang("job", 1, 8, priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=4, priority=1).with_running("b", on="n1", cpu=4, priority=2)
    assert len(courses_of(drawing)) == 1


def test_a_job_that_needs_too_many_rounds_is_not_followed_on() -> None:
    drawing = cluster("s0: b0[n0:4 n1:4 n2:4]").with_gang("job", 3, 3, priority=9)
    for number in range(3):
        drawing = drawing.with_running(f"low-{number}", on=f"n{number}", cpu=4)
    (outcome,) = courses_of(drawing, most_rounds=0)
    assert (len(outcome.rounds), outcome.last, outcome.runs) == (1, None, None)


def test_where_nothing_is_followed_there_is_each_first_attempt_and_no_more() -> None:
    drawing = cluster("s0: b0[n1:16]").with_gang("job", 1, 4, priority=9).with_running("low", on="n1", cpu=16)
    drawing = drawing.with_pod("job-1", gang="job", cpu=4, priority=8)
    (followed,), alone = courses_of(drawing), courses_of(drawing, most_rounds=None)
    assert [outcome.first for outcome in alone][:1] == [followed.first]
    assert len(followed.rounds) == 1
    assert [(outcome.rounds, outcome.last) for outcome in alone] == [((), None), ((), None)]


def test_first_attempts_after_which_nothing_differs_that_is_shown_are_one() -> None:
    drawing = cluster("s0: b0[n1:16]").with_gang("job", 1, 4, priority=9).with_running("low", on="n1", cpu=16)
    drawing = drawing.with_pod("job-1", gang="job", cpu=4, priority=8)
    (outcome,) = courses_of(drawing)
    assert (outcome.trigger.name, killed(outcome), outcome.runs) == ("job-0", [["low"]], True)


def _within_quota(nodes: int) -> Drawing:
    """Return a gang that its quota refuses, and makes room for on any of so many nodes, of which none is short."""
    team = (("quota.scheduling.koordinator.sh/name", "team"),)
    names = [f"n{number:03}" for number in range(nodes)]
    drawing = cluster(f"s0: b0[{' '.join(names)}]").with_quota("team", cpu=nodes + 3)
    for name in names:
        drawing = drawing.with_running(f"low-{name}", on=name, cpu=1, labels=team)
    return drawing.with_gang("job", 2, 2, must_gather=SPINE, labels=team, priority=9)


def test_of_very_many_outcomes_some_are_followed_and_it_is_told_that_there_are_more() -> None:
    budgets = Budget(), Budget()
    found = [courses_of(_within_quota(nodes), budget=budget) for nodes, budget in zip((60, 70), budgets, strict=True)]
    assert [(len(outcomes), budget.is_cut) for outcomes, budget in zip(found, budgets, strict=True)] == [
        (60, False),
        (MOST_BRANCHES, True),
    ]


TWICE = WASTEFUL.with_running("low-1", on="n1", cpu=4).with_pod("job-2", gang="job", cpu=2, priority=9)


def test_members_that_only_their_claims_tell_apart_are_tried_as_one_kind() -> None:
    drawing = cluster("s0: b0[n1:8 n2:4]").with_gang("job", 0)
    for name in ("job-0", "job-1", "job-2"):
        drawing = drawing.with_pod(name, gang="job", cpu=4, claims=(f"data-{name}",))
    found = {key: Claim(key, class_name="late", uid=key) for key in (f"default/data-job-{one}" for one in range(3))}
    storage = Storage(classes={"late": StorageClass("late", "csi.example.com", waits=True)})
    assert [one.placed_at_once for one in courses_of(drawing.but(claims=found, storage=storage))] == [True]


def test_what_was_asked_before_changes_no_answer() -> None:
    (job,), view = jobs_of(TWICE), of(TWICE)
    fresh = [(killed(outcome), outcome.runs) for outcome in outcomes(job, view, budget=Budget(8))]
    assert [*outcomes(job, view, budget=Budget(1000))]
    assert [(killed(outcome), outcome.runs) for outcome in outcomes(job, view, budget=Budget(8))] == fresh


MET = cluster("s0: b0[n1 n2]").with_gang("job", 1, 8, priority=9)
for _name, _on, _priority in (("a", "n1", 2), ("b", "n1", 4), ("c", "n2", 3), ("d", "n2", 5)):
    MET = MET.with_running(_name, on=_on, cpu=4, priority=_priority)


def test_two_nodes_may_be_met_in_different_orders() -> None:
    nominated = {outcome.rounds[0].nominations["default/job-0"] for outcome in courses_of(MET)}

    assert nominated == {"n1", "n2"}


def _with_surplus(*cpus: float, minimum: int, nodes: str = "n1:16") -> Drawing:
    drawing = cluster(f"s0: b0[{nodes}]").with_gang("job", 0, minimum=minimum, must_gather=SPINE)
    for number, cpu in enumerate(cpus):
        drawing = drawing.with_pod(f"job-{number}", gang="job", cpu=cpu)
    return drawing


@pytest.mark.parametrize(
    "drawing",
    [
        TWICE,
        _with_surplus(4, 4, 14, minimum=2),
        MET,
        pytest.param(MET.with_pod("job-1", gang="job", cpu=4, priority=9), marks=pytest.mark.soak),
    ],
)
def test_no_search_takes_more_steps_than_it_may(drawing: Drawing) -> None:
    whole = Budget(1000)
    ends = [outcome.runs for outcome in courses_of(drawing, budget=whole)]
    taken = 1000 - whole.left
    for steps in {*range(min(taken, 24)), *range(24, taken, 29), taken}:
        budget = Budget(steps)
        found = [outcome.runs for outcome in courses_of(drawing, budget=budget)]
        assert budget.left >= 0
        assert budget.is_cut or (len(found), budget.left) == (len(ends), 0)
        assert found
        assert {*found} <= {None, *ends}
    assert not whole.is_cut


def _of_job_0(drawing: Drawing) -> list[tuple[bool, str]]:
    """Return, for the member that comes first by name as the trigger, whether it is placed, or which seat fails."""
    found = [outcome.first for outcome in courses_of(drawing) if outcome.trigger.name == "job-0"]
    return [(one.placement is not None, one.failed_seat.pod if one.failed_seat else "") for one in found]


def test_where_more_are_planned_for_than_must_run_enough_may_have_their_seats_before_one_fails() -> None:
    fails, runs = (False, "default/job-2"), (True, "")
    assert _of_job_0(_with_surplus(4, 4, 14, minimum=3)) == [fails]
    assert _of_job_0(_with_surplus(4, 4, 14, minimum=2)) == [fails, runs]
    assert _of_job_0(_with_surplus(1, 8, 1, 8, minimum=3, nodes="n1:8 n2:8")) == [(False, "default/job-1")] * 2
    assert _of_job_0(_with_surplus(4, 4, 10, minimum=2)) == [runs]
    assert _of_job_0(_with_surplus(4, 4, 14, minimum=1)) == [runs]
    assert next(one.first.late for one in courses_of(_with_surplus(4, 4, 14, minimum=1))) == ("default/job-2",)


FULL = cluster("s0: b0[n0:8 n1:8]").with_gang("job", 3, 5, priority=9)
"""Two of three members fit, whoever goes."""


def once(outcomes_of: list[Outcome]) -> list[tuple[list[list[str]], bool | None]]:
    """Return whom outcomes preempt, and whether the gang runs then, each that differs."""
    return sorted({str(one): one for one in ((killed(each), each.runs) for each in outcomes_of)}.values())


def test_a_gang_that_fits_nowhere_preempts_wherever_its_pods_wait_once_they_stay_nominated() -> None:
    drawing = FULL.with_running("low-0", on="n0", cpu=1).with_running("low-1", on="n1", cpu=2)
    assert once(courses_of(drawing)) == [([], False), ([["low-0", "low-1"]], False)]
    assert [(one.retried, one.nominations) for one in courses_of(drawing)[-1].rounds] == [(True, {})]
    assert once(courses_of(drawing.version("1.7"))) == [([], False)]


def test_it_does_so_too_where_its_members_repel_each_other() -> None:
    apart = PodTerm("kubernetes.io/hostname", having(app="web"))
    drawing = cluster("s0: b0[n0:8 n1:8]").change("n0", labels=(("kubernetes.io/hostname", "n0"),))
    drawing = drawing.change("n1", labels=(("kubernetes.io/hostname", "n1"),)).with_running("low", on="n0", cpu=1)
    drawing = drawing.with_gang("job", 3, 1, priority=9, labels=(("app", "web"),), pod_anti_affinity=(apart,))
    assert once(courses_of(drawing)) == [([], False), ([["low"]], False)]


def test_it_spares_pods_that_may_not_be_preempted_and_those_where_no_member_waits() -> None:
    drawing = FULL.with_running("saint", on="n0", cpu=1, protected=True).with_running("peer", on="n1", priority=9)
    assert once(courses_of(drawing)) == [([], False)]
    drawing = cluster("s0: b0[n0:8 n1:8 n2:4]").with_gang("job", 3, 5, priority=9).with_running("low", on="n2", cpu=4)
    assert once(courses_of(drawing)) == [([], False)]


def test_it_spares_nodes_that_refuse_one_of_the_kinds_that_are_left() -> None:
    drawing = cluster("s0: b0[n0:8 n1:8]").taint("n0", "a")
    drawing = drawing.with_gang("job", 3, 5, priority=9, tolerations=(Toleration("a", "Exists"),))
    drawing = drawing.with_running("low", on="n0", cpu=1)
    assert once(courses_of(drawing)) == [([], False), ([["low"]], False)]
    drawing = drawing.with_pod("job-8", gang="job", cpu=5, priority=9).with_pod("job-9", gang="job", cpu=5, priority=9)
    assert once(courses_of(drawing)) == [([], False)]
