"""Attempts that a quota ends: which member fails, who waits by then, and what preemption does after it."""

import pytest

from kubectl_koord.engine.attempt import Attempt, MemberOrder
from kubectl_koord.engine.preemption import Preemption, preempt_within_quota
from kubectl_koord.engine.reasons import QuotaExceeded
from kubectl_koord.engine.rounds import outcomes
from kubectl_koord.engine.state import of
from kubectl_koord.engine.trying import attempt
from kubectl_koord.model.quotas import DEFAULT, NAME_LABEL, PREEMPTIBLE_LABEL, QuotaSettings
from tests.build import SPINE, Drawing, attempt_of, cluster, cpus, having, jobs_of, preemption_of, short
from tests.engine.filters.device_share.world import asking, cards, node_with

TEAM = ((NAME_LABEL, "team"),)
OTHER = ((NAME_LABEL, "other"),)
FIXED = (*TEAM, (PREEMPTIBLE_LABEL, "false"))
ROOM = cluster("s0: b0[n1:8 n2:8]").with_quota("team", cpu=4)


def seen(one: Attempt) -> tuple[str, list[str], list[str]]:
    """Return the member that fails, and who waits and who is left by then."""
    waiting = sorted(pod.name for pods in one.waiting.values() for pod in pods)
    return one.trigger.name, waiting, [pod.name for pod in one.left]


def all_of_quota(drawing: Drawing) -> tuple[Preemption, ...]:
    return preempt_within_quota(jobs_of(drawing)[0], of(drawing), attempt_of(drawing))


def of_quota(drawing: Drawing) -> Preemption | None:
    found = all_of_quota(drawing)
    assert len(found) <= 1
    return found[0] if found else None


def victims(found: Preemption | None) -> list[str]:
    assert found is not None
    return [victim.name for victim in found.victims]


def test_a_pod_that_its_quota_refuses_asks_no_node_and_preemption_looks_at_all_of_them() -> None:
    drawing = ROOM.with_pod("job", cpu=5, labels=TEAM).cordon("n2")
    failed = attempt_of(drawing)

    assert isinstance(failed.prefilter, QuotaExceeded)
    assert (failed.over_quota, failed.placement, failed.rejections) == (failed.prefilter, None, {})
    assert list(failed.considered(of(drawing))) == ["n1", "n2"]


def test_members_that_are_alike_fill_the_quota_and_the_next_is_refused() -> None:
    drawing = ROOM.with_gang("job", 6, labels=TEAM)
    failed = attempt_of(drawing)

    assert seen(failed) == ("job-5", ["job-1", "job-2", "job-3", "job-4"], ["job-5", "job-0"])
    assert failed.over_quota is not None
    assert failed.over_quota.used == cpus(4)
    assert attempt_of(ROOM.with_gang("job", 6, minimum=4, labels=TEAM)).placement is not None


def test_where_room_runs_out_first_the_nodes_refuse() -> None:
    drawing = cluster("s0: b0[n1:2]").with_quota("team", cpu=3).with_gang("job", 4, labels=TEAM)

    assert attempt_of(drawing).over_quota is not None  # the third member has neither: PreFilter goes first
    drawing = cluster("s0: b0[n1:1.5 n2:1.5 n3:1.5]").with_quota("team", cpu=4).with_gang("job", 4, labels=TEAM)
    assert attempt_of(drawing).over_quota is None


def test_members_that_differ_are_refused_in_turn() -> None:
    drawing = ROOM.with_gang("job", 2, 2, minimum=3, labels=TEAM).with_members(("job-2",), "job", 3, labels=TEAM)
    failed = attempt_of(drawing)

    assert seen(failed) == ("job-2", ["job-0", "job-1"], ["job-2"])
    assert failed.over_quota is not None


def test_a_plan_stops_at_the_member_that_the_quota_refuses() -> None:
    drawing = ROOM.with_gang("job", 3, 2, must_gather=SPINE, labels=TEAM)
    failed = attempt_of(drawing)

    assert failed.plan is not None
    assert seen(failed) == ("job-2", ["job-0", "job-1"], ["job-2"])
    assert (failed.placement, failed.failed_seat and failed.failed_seat.pod) == (None, "default/job-2")
    assert preemption_of(drawing).reason == "not-helpful"
    assert short(attempt_of(ROOM.with_gang("job", 2, 2, must_gather=SPINE, labels=TEAM)).placement).keys() == {
        "job-0",
        "job-1",
    }


def test_a_round_ends_before_the_quota_refuses_those_who_are_more_than_enough() -> None:
    drawing = ROOM.with_gang("job", 6, 1, minimum=4, must_gather=SPINE, labels=TEAM)
    placed = attempt_of(drawing)

    assert (placed.placement is not None, placed.late) == (True, ("default/job-4", "default/job-5"))
    failed = attempt_of(ROOM.with_gang("job", 6, 1, minimum=5, must_gather=SPINE, labels=TEAM))
    assert (failed.placement, failed.failed_seat and failed.failed_seat.pod) == (None, "default/job-4")


@pytest.mark.parametrize(
    ("sizes", "minimum", "expected"),
    [
        (
            (1, 1, 4, 1, 4),
            3,
            {"0": [False, True], "2": [False, True]},
        ),  # with 1 + 4 + 4 it fails, and with 1 + 4 + 1 not
        ((1, 1, 4, 1, 4), 2, {"0": [True, True], "2": [False, True]}),
        ((1, 1, 4, 1, 4), 4, {"0": [False, False], "2": [False, False]}),
        ((1, 1, 1, 1, 2), 3, {"0": [True, True], "4": [True, True]}),
    ],
)
def test_who_is_tried_before_enough_have_a_place_decides_whether_the_quota_refuses_one(
    sizes: tuple[float, ...], minimum: int, expected: dict[str, list[bool]]
) -> None:
    drawing = cluster("s0: b0[n1:16]").with_quota("team", cpu=6)
    drawing = drawing.with_gang("job", 0, minimum=minimum, must_gather=SPINE)
    for number, cpu in enumerate(sizes):
        drawing = drawing.with_pod(f"job-{number}", gang="job", cpu=cpu, labels=TEAM)
    (job,) = jobs_of(drawing)
    found = {
        trigger.name[-1]: [
            attempt(job, of(drawing), trigger, MemberOrder(failing_last=last)).placement is not None
            for last in (False, True)
        ]
        for trigger in job.triggers
    }

    assert found == expected


def test_a_seat_that_fails_before_is_what_the_plan_fails_for() -> None:
    drawing = ROOM.with_gang("job", 0, minimum=3, must_gather=SPINE).with_pod("a", gang="job", cpu=1, labels=TEAM)
    drawing = drawing.with_pod("b", gang="job", cpu=1, labels=TEAM, node_selector=(("disk", "ssd"),))
    failed = attempt_of(drawing.with_pod("c", gang="job", cpu=3, labels=TEAM), trigger="a")

    assert (failed.failed_seat and failed.failed_seat.pod, failed.over_quota) == ("default/b", None)


def test_job_preemption_knows_no_quotas_and_kills_in_vain() -> None:
    drawing = ROOM.with_pod("job", cpu=8, labels=TEAM, priority=9)
    drawing = drawing.with_running("low", on="n1", cpu=4).with_running("full", on="n2", cpu=8, priority=9)
    (outcome,) = outcomes(jobs_of(drawing)[0], of(drawing))

    assert ([victim.name for victim in outcome.killed], outcome.runs) == (["low"], False)


MEAN = (
    cluster("s0: b0[n1:8 n2:8]")
    .with_quota("team", cpu=4)
    .with_quota("other", cpu=9)
    .with_gang("job", 3, 2, must_gather=SPINE, labels=TEAM, priority=5)
    .with_running("mine", on="n2", cpu=1, labels=TEAM, priority=1)
    .with_running("theirs", on="n1", cpu=1, labels=OTHER)
)


def test_the_pod_that_failed_takes_the_place_of_pods_of_its_quota() -> None:
    found = of_quota(MEAN)
    assert (victims(found), found and short(found.nominations)) == (["mine"], {"job-1": "n2"})
    (outcome,) = outcomes(jobs_of(MEAN)[0], of(MEAN))

    assert ([victim.name for victim in outcome.killed], outcome.runs) == (["mine"], False)


def test_where_only_the_quota_preempts_the_order_of_the_cache_decides_nothing() -> None:
    drawing = MEAN.with_running("more", on="n1", cpu=1, labels=OTHER, priority=2)
    (outcome,) = outcomes(jobs_of(drawing)[0], of(drawing))

    assert [victim.name for victim in outcome.killed] == ["mine"]


def test_nobody_is_preempted_who_is_protected_more_important_or_of_the_default_quota() -> None:
    assert of_quota(MEAN.change_pods(never_preempts=True)) is None
    assert of_quota(MEAN.without_running("default/mine")) is None
    spared = MEAN.without_running("default/mine").with_running("mine", on="n2", labels=FIXED)
    assert of_quota(spared) is None
    assert of_quota(MEAN.change_pods(priority=1)) is None
    default = MEAN.change_pods(labels=()).but(running={}).with_running("mine", on="n2", cpu=8)
    assert of_quota(default.with_running("too", on="n1", cpu=8)) is None
    allowed = default.configured(quotas=QuotaSettings(spares_default=False, by_runtime=False))
    found = all_of_quota(allowed.with_running("too", on="n1", cpu=8))
    assert [victims(one) for one in found] == [["too"], ["mine"]]
    assert of_quota(MEAN.configured(quotas=QuotaSettings(no_default=True)).change_pods(labels=())) is None
    assert of_quota(MEAN.with_quota("x/team")) is None


@pytest.mark.parametrize("by_runtime", [True, False])
def test_without_a_default_quota_pods_that_have_none_preempt_each_other(by_runtime: bool) -> None:  # noqa: FBT001
    drawing = cluster("s0: b0[n1:4]").with_quota("team", cpu=2).with_gang("job", 2, 3, priority=5)
    drawing = drawing.with_running("own", on="n1", cpu=2, labels=TEAM)
    drawing = drawing.with_running("none", on="n1", cpu=2).with_running("fixed", on="n1", cpu=0, labels=FIXED[1:])
    settings = QuotaSettings(no_default=True, by_runtime=by_runtime)

    assert all_of_quota(drawing) == ()
    assert of_quota(drawing.configured(quotas=settings)) is None
    assert victims(
        of_quota(drawing.but(running={}).with_running("none", on="n1", cpu=2).configured(quotas=settings))
    ) == ["none"]


def test_it_waits_for_one_that_terminates_on_the_nominated_node() -> None:
    nominated = MEAN.change_pods(nominated="n2")
    dying = nominated.without_running("default/mine").with_running("mine", on="n2", labels=TEAM, terminating=True)

    assert victims(of_quota(nominated)) == ["mine"]
    assert of_quota(dying) is None
    gone = of_quota(dying.change_pods(nominated=""))
    assert gone is not None
    assert ([pod.name for pod in gone.gone], gone.victims) == (["mine"], ())


def test_it_waits_for_nobody_on_a_nominated_node_that_is_lost_to_it() -> None:
    room = cluster("s0: b0[n1:4 n2:4]").configured(quotas=QuotaSettings(by_runtime=False))
    room = room.with_running("dying", on="n1", cpu=4, labels=TEAM, terminating=True)
    room = room.with_running("low", on="n2", cpu=4, labels=TEAM)
    wide, narrow = room.with_quota("team", cpu=100), room.with_quota("team", cpu=8)

    def after(drawing: Drawing, must_gather: str = "") -> list[list[str]]:
        drawing = drawing.with_gang("job", 2, 3, must_gather=must_gather, priority=5, labels=TEAM)
        return [victims(found) for found in all_of_quota(drawing.change_pods(nominated="n1"))]

    assert (after(wide), after(wide.cordon("n1"))) == ([], [["low"]])
    assert after(narrow.cordon("n1")) == after(wide.cordon("n1"), SPINE) == []  # then all nodes refuse alike


ONE = cluster("s0: b0[n1:8]").with_quota("team", cpu=6).with_pod("job", cpu=4, labels=TEAM, priority=9)


def test_who_may_stay_is_put_back_the_most_important_first() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=2, labels=TEAM, priority=2)
    drawing = drawing.with_running("b", on="n1", cpu=2, labels=TEAM, priority=3)
    assert victims(of_quota(drawing)) == ["a"]
    started = drawing.but(running={}).with_running("x", on="n1", cpu=2, labels=TEAM, scheduled="2026-11-20T02:00:00Z")
    started = started.with_running("y", on="n1", cpu=2, labels=TEAM, created="2026-11-20T01:00:00Z")
    assert victims(of_quota(started)) == ["x"]


def test_pods_whose_end_would_violate_a_budget_are_put_back_before_others() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=2, labels=(("app", "a"), *TEAM), priority=2)
    drawing = drawing.with_running("b", on="n1", cpu=2, labels=TEAM, priority=3)

    assert victims(of_quota(drawing.with_budget("keep", having(app="a")))) == ["b"]
    assert victims(of_quota(drawing.with_budget("keep", having(app="a"), allowed=1))) == ["a"]
    assert victims(of_quota(drawing.with_budget("all", None).with_budget("x/keep", having(app="a")))) == ["a"]


def test_a_budget_keeps_a_node_from_being_chosen_only_where_its_pods_are_in_the_way() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8]").with_pod("job", cpu=4, labels=TEAM, priority=9)
    drawing = drawing.with_budget("keep", having(app="a"))
    kept, full = (("app", "a"), *TEAM), drawing.with_running("x", on="n1", cpu=4, labels=OTHER)
    full = full.with_running("y", on="n2", cpu=4, labels=OTHER)

    def chosen(usual: Drawing, quota: int) -> list[str]:
        usual = usual.with_running("a", on="n1", cpu=4, labels=kept, priority=1)
        usual = usual.with_running("b", on="n2", cpu=4, labels=TEAM, priority=5)
        return victims(of_quota(usual.with_quota("team", cpu=quota)))

    assert chosen(drawing, 8) == ["a"]
    assert chosen(full, 12) == ["b"]


def test_the_first_victim_of_a_node_passes_for_its_most_important_one() -> None:
    drawing = cluster("s0: b0[n1:8 n2:8]").with_quota("team", cpu=2).with_budget("keep", having(app="a"))
    drawing = drawing.with_pod("job", cpu=2, labels=TEAM, priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=1, labels=(("app", "a"), *TEAM), priority=1)
    drawing = drawing.with_running("b", on="n1", cpu=1, labels=TEAM, priority=5)
    drawing = drawing.with_running("c", on="n2", cpu=1, labels=TEAM, priority=3)

    assert victims(of_quota(drawing)) == ["a", "b"]


def test_a_pod_that_does_not_fit_all_the_same_preempts_nobody_there() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=2, labels=TEAM).with_running("b", on="n1", cpu=5, labels=OTHER)
    assert of_quota(drawing) is None


def test_one_who_may_stay_for_neither_reason_is_an_error_for_the_node() -> None:
    drawing = ONE.with_running("a", on="n1", cpu=5, labels=TEAM, priority=1)
    drawing = drawing.with_running("b", on="n1", cpu=1, labels=TEAM, priority=2)
    assert victims(of_quota(drawing)) == ["a"]
    full = drawing.but(quotas=()).with_quota("team", cpu=3)
    assert of_quota(full) is None


def test_the_node_is_chosen_where_the_least_important_pods_go() -> None:
    drawing = cluster("s0: b0[n1:4 n2:4 n3:4]").with_quota("team", cpu=4)
    drawing = drawing.with_pod("job", cpu=4, labels=TEAM, priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=4, labels=TEAM, priority=2)
    drawing = drawing.with_running("b", on="n2", cpu=4, labels=TEAM, priority=1, scheduled="2026-11-20T01:00:00Z")
    drawing = drawing.with_running("c", on="n3", cpu=4, labels=TEAM, priority=1, scheduled="2026-11-20T02:00:00Z")
    drawing = drawing.but(quotas=()).with_quota("team", cpu=12)

    assert victims(of_quota(drawing)) == ["c"]
    assert DEFAULT not in {quota.name for quota in drawing.quotas}


def test_of_nodes_that_cost_the_same_any_may_be_chosen() -> None:
    dearer = MEAN.with_running("more", on="n1", cpu=1, labels=TEAM, priority=2)
    drawing = MEAN.with_running("more", on="n1", cpu=1, labels=TEAM, priority=1)

    assert [victims(found) for found in all_of_quota(dearer)] == [["mine"]]
    assert [(victims(found), short(found.nominations)) for found in all_of_quota(drawing)] == [
        (["more"], {"job-1": "n1"}),
        (["mine"], {"job-1": "n2"}),
    ]
    found = outcomes(jobs_of(drawing)[0], of(drawing))
    assert [sorted(victim.name for victim in outcome.killed) for outcome in found] == [["mine", "more"]] * 2


def test_members_that_wait_for_one_that_a_quota_refuses_keep_what_is_booked_for_them() -> None:
    drawing = node_with(*cards(2)).with_quota("team", cpu=1)
    requests = asking(gpu=1).requirements.requests
    planned = attempt_of(drawing.with_gang("job", 2, must_gather=SPINE, requests=requests, labels=TEAM))
    plain = attempt_of(drawing.with_gang("job", 2, requests=requests, labels=TEAM))

    for failed in (planned, plain):
        assert failed.over_quota is not None
        (waits,) = failed.waiting["n1"]
        assert waits.allocations is not None
        assert [(one.type, one.minor) for one in waits.allocations.devices] == [("gpu", 0)]


@pytest.mark.parametrize("topology", ["", SPINE])
def test_members_in_different_quotas_differ_as_triggers(topology: str) -> None:
    drawing = ROOM.with_gang("job", 1, 2, minimum=2, must_gather=topology, labels=TEAM)
    (job,) = jobs_of(drawing.with_members(("other",), "job", 2))

    assert [pod.name for pod in job.triggers] == ["job-0", "other"]
    assert job.kind(job.pods[0]) != job.kind(job.pods[1])
