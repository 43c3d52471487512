"""A plan that cannot be carried out: the cause, what is lacking, and what preemption for it comes to."""

import pytest

from kubectl_koord.model.installation import INLINE_BATCH
from kubectl_koord.model.load import ExpectedUse, NodeMetric
from kubectl_koord.render.pages.why import headline
from kubectl_koord.reports.jobs import Lack, PlanFailure
from tests.build import SPINE, Drawing, cluster, preempt_of, why_of

LOADED = NodeMetric((("cpu", 4000),))
EXPECTED = (ExpectedUse("cpu", 0, least=1000),)
TWO = (
    cluster("s0: b0[n1:8]")
    .change("n1", metric=LOADED)
    .with_gang("job", 2, 1, must_gather=SPINE, expected=EXPECTED, priority=9)
)
LACK = Lack("default/job-1", "n1", "CPU usage 75 % above 65 %")
OUTCOMES = [
    ("1.7", "no", "every attempt ends so"),
    ("1.8", "unknown", "the scheduler keeps trying, and may bind some pods only"),
    ("main", "unknown", "the scheduler keeps trying, and may bind some pods only"),
]


@pytest.mark.parametrize(("version", "verdict", "follows"), OUTCOMES)
def test_members_that_do_not_fit_beside_each_other_are_the_cause(version: str, verdict: str, follows: str) -> None:
    report = why_of(TWO.configured(version=version))
    assert isinstance(report.cause, PlanFailure)
    assert (report.verdict, report.cause.code, report.placement) == (verdict, "plan-not-executable", None)
    assert (report.cause.pods, report.cause.lacks) == (("default/job-1",), (LACK,))
    assert report.cause.message == (
        "by count s0 has room (2 slots for 2 pods), but n1 does not take default/job-1 beside the others"
        f" (CPU usage 75 % above 65 %); {follows}."
    )
    heads = {"no": "default/job is pending: by count s0", "unknown": "default/job may or may not start: by count s0"}
    assert headline(report).startswith(heads[verdict])
    assert [(row.name, row.offer_slots) for row in report.domains] == [("s0", 2)]


@pytest.mark.parametrize(("version", "verdict", "helps"), [("1.7", "no", False), ("1.8", "unknown", None)])
def test_preemption_is_of_no_use_for_a_plan_that_fails(version: str, verdict: str, helps: bool | None) -> None:  # noqa: FBT001
    report = preempt_of(TWO.with_running("low", on="n1", cpu=1).configured(version=version))
    assert (report.verdict, report.reason, report.helps) == (verdict, "plan-not-executable", helps)
    assert (report.victims, report.rounds) == ((), ())
    if verdict == "unknown":
        why = "slots are enough, but the plan made of them cannot be carried out, and what comes of it is a race"
        assert report.message == f"default/job: cannot tell whether preemption helps: {why}."


@pytest.mark.parametrize(
    ("version", "verdict", "reason"), [("1.7", "no", None), ("1.8", "unknown", "plan-not-executable")]
)
def test_victims_die_in_vain_where_the_plan_after_them_fails(version: str, verdict: str, reason: str | None) -> None:
    full: Drawing = TWO.with_running("low", on="n1", cpu=8).configured(version=version)
    report = preempt_of(full)
    assert [victim.pod for victim in report.victims] == ["default/low"]
    assert (report.verdict, report.reason, report.helps) == (verdict, reason, False if verdict == "no" else None)
    if verdict == "unknown":
        why = "with the room that it makes slots are enough, but the plan made of them cannot be carried out, and what"
        assert report.message == f"default/job: cannot tell whether preemption helps: {why} comes of it is a race."


def test_a_plan_that_only_another_trigger_makes_wrong_is_no_such_failure() -> None:
    unlike = cluster("s0: b0[n1:2 n2:8]").with_gang("job", 1, 1, must_gather=SPINE, minimum=2)
    report = why_of(unlike.with_pod("job-large", cpu=9, gang="job"))
    assert not isinstance(report.cause, PlanFailure)


AT_ONCE: dict[str, object] = {"version": "main", "gates": (INLINE_BATCH,)}


def test_a_plan_that_is_carried_out_at_once_and_fails_is_rolled_back_whole() -> None:
    report = why_of(TWO.configured(**AT_ONCE))
    assert isinstance(report.cause, PlanFailure)
    assert (report.verdict, report.cause.lacks, report.alternatives) == ("no", (LACK,), ())
    assert report.cause.message.endswith("; every attempt ends so.")


def test_with_more_pods_than_its_minimum_a_plan_at_once_fails_as_soon_as_any_of_them_does() -> None:
    surplus = (
        cluster("s0: b0[n1:8]")
        .change("n1", metric=NodeMetric((("cpu", 3000),)))
        .with_gang("job", 3, 1, must_gather=SPINE, expected=EXPECTED, minimum=2)
    )
    assert why_of(surplus.configured(version="main")).verdict == "yes"
    assert why_of(surplus.configured(**AT_ONCE)).verdict == "no"
    fits = cluster("s0: b0[n1:8]").with_gang("job", 2, 1, must_gather=SPINE, minimum=1)
    assert why_of(fits.configured(**AT_ONCE)).placement == {"default/job-0": "n1", "default/job-1": "n1"}


def test_a_plan_at_once_that_a_quota_refuses_in_part_preempts_nobody() -> None:
    drawing = (
        cluster("s0: b0[n1:8 n2:8]")
        .with_quota("default", cpu=5)
        .with_gang("job", 3, 2, must_gather=SPINE, minimum=2, priority=9)
        .with_running("low", on="n1", cpu=1)
    )
    report = preempt_of(drawing.configured(**AT_ONCE))
    assert (report.verdict, report.victims) == ("no", ())
    assert why_of(drawing.configured(**AT_ONCE)).verdict == "no"
    assert why_of(drawing.configured(version="main")).verdict == "yes"
