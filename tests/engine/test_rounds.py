"""Attempt after attempt, for each outcome that the API leaves open."""

from typing import Any

from kubectl_koord.engine.rounds import Outcome, outcomes
from kubectl_koord.engine.view import of
from tests.build import SPINE, Drawing, cluster, jobs_of

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


def test_victims_may_die_in_vain() -> None:
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


def test_plain_gangs_of_unequal_pods_are_tried_with_both_extremes_of_scoring() -> None:
    drawing = cluster("s0: b0[n1:8 n2:6]").with_gang("job", 3, 2, minimum=3).with_pod("job-2", gang="job", cpu=8)
    drawing = drawing.with_running("low", on="n2", cpu=1)
    found = courses_of(drawing, preemption=False)
    assert [(outcome.trigger.name, outcome.placed_at_once) for outcome in found] == [
        ("job-0", False),
        ("job-0", True),
        ("job-2", True),
        ("job-2", True),
    ]


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


def test_two_nodes_may_be_met_in_different_orders() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 1, 8, priority=9)
    for name, on, priority in (("a", "n1", 2), ("b", "n1", 4), ("c", "n2", 3), ("d", "n2", 5)):
        drawing = drawing.with_running(name, on=on, cpu=4, priority=priority)

    nominated = {outcome.rounds[0].nominations["default/job-0"] for outcome in courses_of(drawing)}

    assert nominated == {"n1", "n2"}
