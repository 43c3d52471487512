"""preempt --dry-run: whom, where, at whose cost, and whether it helps."""

from typing import Any, Literal

import pytest

from kubectl_koord.engine import budget, queue
from kubectl_koord.engine.rounds import MOST_ROUNDS
from kubectl_koord.model.installation import Extender, Plugins
from kubectl_koord.model.quotas import NAME_LABEL
from kubectl_koord.model.settings import SetOtherwise
from kubectl_koord.render.show import text
from kubectl_koord.reports.common import BrokenGang, BudgetHit, Notice
from kubectl_koord.reports.jobs import PreemptReport, Round, Victim
from tests.build import SPINE, Drawing, cluster, cpus, having, preempt_of, rules, short, why_of
from tests.render.samples import PIPE

WORKED = (
    cluster(
        "spine-0: block-0[node-0 node-1 node-2] block-1[node-3 node-4];"
        "spine-1: block-2[node-5 node-6] block-3[node-7 node-8];"
        "spine-2: block-4[node-9 node-10 node-11]"
    )
    .with_gang("job", 4, 8, must_gather=SPINE, priority=1000)
    .with_running("low-0", on="node-0", cpu=8)
    .with_running("low-1", on="node-1", cpu=8)
)
LOW_5 = WORKED.with_running(
    "low-5",
    on="node-5",
    cpu=8,
    created="2026-11-20T09:00:00Z",
    owner="Job/low",
    gang="default/old",
    labels=(("a", "b"),),
).with_group("old", 1)
FREE = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=9)
TAKEN = FREE.with_running("low", on="n1", cpu=8)


def refused(drawing: Drawing) -> tuple[str, str | None, bool | None, str]:
    report = preempt_of(drawing)
    assert (report.victims, report.rounds, report.eligible) == ((), (), False)
    return report.verdict, report.reason, report.helps, report.message


def test_the_worked_example_in_full() -> None:
    victim = Victim(
        pod="default/low-5",
        node="node-5",
        priority=0,
        gang="default/old",
        owner="Job/low",
        age_seconds=3600,
        pod_disruption_budget=None,
        domain="block-2",
    )
    nominations = {f"default/job-{number}": f"node-{number + 5}" for number in range(4)}
    report = preempt_of(LOW_5)
    assert report == PreemptReport(
        verdict="yes",
        basis=report.basis,
        warnings=(),
        gang="default/job",
        gang_group=("default/job",),
        priority=1000,
        eligible=True,
        reason=None,
        helps=True,
        victims=(victim,),
        broken_gangs=(BrokenGang("default/old", 1, 1, 0),),
        nominations=nominations,
        rounds=(Round((victim,), nominations),),
        message="default/job would preempt 1 pod and then run.",
    )


def test_what_fits_needs_no_preemption() -> None:
    report = preempt_of(FREE)
    assert (report.verdict, report.reason, report.helps, report.eligible) == ("yes", "not-needed", None, True)
    assert report.message == "default/job needs no preemption: it would be placed now."


AHEAD = "default/high has higher priority and takes its place; otherwise it would be placed."
TWO_JOBS = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=5)


@pytest.mark.parametrize("running", [0, 1])
def test_a_gang_behind_one_that_takes_its_place_is_not_told_that_it_needs_no_preemption(running: int) -> None:
    drawing = TWO_JOBS.with_gang("high", 1, 8, priority=9)
    for number in range(running):
        drawing = drawing.with_running(f"peer-{number}", on="n1", cpu=0, priority=5)
    report = preempt_of(drawing)
    assert (report.verdict, report.reason, report.helps, report.victims) == ("no", "no-victims", False, ())
    message = "default/job would preempt no pods: no node has lower-priority pods that may be preempted."
    assert (report.message, report.warnings) == (message, (Notice("contended", AHEAD),))


def test_it_preempts_what_is_left_where_it_is_known_which_nodes_the_first_one_takes() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_running("low", on="n3", cpu=8).with_gang("job", 1, 8, priority=5)
    drawing = drawing.with_gang("high", 2, 8, priority=9, must_gather=SPINE)
    report = preempt_of(drawing)
    assert (report.verdict, report.helps, report.nominations) == ("yes", True, {"default/job-0": "n3"})
    assert [victim.pod for victim in report.victims] == ["default/low"]
    assert Notice("contended", AHEAD) in report.warnings


@pytest.mark.parametrize(
    ("drawing", "word"),
    [
        pytest.param(
            cluster("s0: b0[n1:16 n2:9]").with_running("low", on="n2", cpu=1), "takes", id="which node is open"
        ),
        pytest.param(cluster("s0: b0[n1 n2:2]").with_running("low", on="n2", cpu=1), "may take", id="may leave room"),
    ],
)
def test_it_is_open_whom_it_preempts_where_the_nodes_of_the_first_one_are_open(
    monkeypatch: pytest.MonkeyPatch, drawing: Drawing, word: str
) -> None:
    number, cpu = (2, 8) if word == "takes" else (1, 1)
    drawing = drawing.with_gang("job", number, 8, priority=5).with_gang("high", 2, cpu, priority=9)
    report = preempt_of(drawing)
    assert report.verdict == "no"
    assert Notice("contended", AHEAD) in report.warnings
    drawing = drawing.change("n1", labels=(("many", "nodes"),))
    monkeypatch.setattr(queue, "_NODES_IN_ALL", 0)
    taken = AHEAD.replace("takes", word)
    message = f"default/job: cannot tell which pods it would preempt: {taken}"
    assert refused(drawing) == ("unknown", None, None, message)


def test_a_gang_that_ran_once_preempts_pod_by_pod_behind_another_one_too() -> None:
    ran = cluster("s0: b0[n1 n2 n3]").with_gang("job", 2, 8, priority=9).with_finished("first", gang="job")
    ran = ran.with_gang("high", 2, 8, priority=10, must_gather=SPINE).with_running("low", on="n3", cpu=1, priority=1)
    report = preempt_of(ran)
    assert (report.verdict, [victim.pod for victim in report.victims]) == ("no", ["default/low"])
    assert [warning.code for warning in report.warnings if warning.code == "contended"] == ["contended"]


def test_jobs_of_higher_priority_that_cannot_be_judged_leave_open_whether_preemption_is_needed() -> None:
    drawing = cluster("s0: b0[n1]").with_pod("job", cpu=8).with_gang("high", 1, 8, priority=9)
    words = "jobs of higher priority may take its place: PodGroup could not be read: you may not read it"
    message = f"pod default/job: cannot tell which pods it would preempt: {words}."
    assert refused(drawing.with_gap("PodGroup")) == ("unknown", None, None, message)


def test_nothing_pending_preempts_nobody() -> None:
    drawing = FREE.with_running("done", on="n1")
    message = "pod default/done would preempt no pods: it is not pending."
    report = preempt_of(drawing, "done")
    assert (report.verdict, report.reason, report.priority, report.message) == ("yes", "no-pending-pods", None, message)


def test_what_keeps_a_gang_from_being_tried_keeps_it_from_preempting() -> None:
    drawing = TAKEN.with_group("job", 5)
    message = "default/job would preempt no pods: it has 1 of the 5 pods it needs."
    assert refused(drawing) == ("no", "too-few-pods", False, message)


def test_where_preemption_is_off_nobody_dies() -> None:
    message = "default/job would preempt no pods: enablePreemption is off."
    assert refused(TAKEN.configured(preemption=False)) == ("no", "preemption-disabled", False, message)


def test_where_the_plugin_does_not_preempt_that_is_said() -> None:
    off = Plugins((("Coscheduling", ("postFilter",)),))
    message = "default/job would preempt no pods: plugin Coscheduling is not enabled at postFilter."
    assert refused(TAKEN.configured(preemption=False, plugins=off)) == ("no", "preemption-disabled", False, message)


IN_QUOTA = TAKEN.with_quota("default", cpu=8)


def test_quotas_preempt_for_a_lone_pod_where_jobs_do_not() -> None:
    drawing = cluster("s0: b0[n1]").with_quota("default", cpu=8).with_running("low", on="n1", cpu=8)
    report = preempt_of(drawing.with_pod("job", cpu=8, priority=9).configured(preemption=False))
    assert (report.verdict, [victim.pod for victim in report.victims]) == ("yes", ["default/low"])


def test_for_pods_of_a_gang_it_is_open_whom_quotas_alone_preempt() -> None:
    message = (
        "default/job: cannot tell which pods it would preempt: job preemption is off, so each of its pods preempts in"
        " its quota alone; this is not evaluated."
    )
    assert refused(IN_QUOTA.configured(preemption=False)) == ("unknown", None, None, message)


@pytest.mark.parametrize("points", [("postFilter",), ("preFilter", "postFilter", "reserve")])
def test_quotas_preempt_nobody_where_their_plugin_does_not(points: tuple[str, ...]) -> None:
    off = Plugins((("ElasticQuota", points),))
    message = "default/job would preempt no pods: plugin ElasticQuota is not enabled at postFilter."
    drawing = IN_QUOTA.configured(preemption=False, plugins=off)
    assert refused(drawing) == ("no", "preemption-disabled", False, message)


def test_a_pod_that_its_quota_refuses_preempts_nobody_where_the_plugin_does_not() -> None:
    team = ((NAME_LABEL, "team"),)
    drawing = cluster("s0: b0[n1:16]").with_quota("team", cpu=8).with_gang("job", 1, 8, priority=9, labels=team)
    drawing = drawing.with_running("low", on="n1", cpu=8, labels=team, protected=True)
    assert preempt_of(drawing).verdict == "yes"
    report = preempt_of(drawing.configured(plugins=Plugins((("ElasticQuota", ("postFilter",)),))))
    message = "default/job would preempt no pods: plugin ElasticQuota is not enabled at postFilter."
    assert (report.verdict, report.reason, report.victims) == ("no", "preemption-disabled", ())
    assert report.message == message


BY_DEFAULT = (
    "default/job: cannot tell which pods it would preempt: kube-scheduler's DefaultPreemption is enabled at postFilter,"
    " and whom that preempts is not evaluated."
)


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"gates": ("PreemptionPolicyTransformer",)}, "feature gate PreemptionPolicyTransformer of the scheduler"),
        ({"extenders": (Extender(preempts=True),)}, "an extender of the scheduler"),
        (
            {"settings": (SetOtherwise("flag", "--x", "devices"), SetOtherwise("feature gate", "Mine", "preemption"))},
            "feature gate Mine of the scheduler",
        ),
    ],
)
def test_what_bears_on_preemption_alone_leaves_it_open(fields: dict[str, object], what: str) -> None:
    report = preempt_of(TAKEN.configured(**fields))
    words = f"it depends on {what}, which is not evaluated."
    assert (report.verdict, report.warnings[-1:]) == ("unknown", (Notice("not-evaluated", words),))
    assert preempt_of(FREE.configured(**fields)).verdict == "yes"


@pytest.mark.parametrize("order", ["first", "last"])
def test_whom_default_preemption_preempts_is_left_open(order: Literal["first", "last"]) -> None:
    drawing = TAKEN.configured(preemption=False, plugins=Plugins(default_preemption=order))
    assert refused(drawing) == ("unknown", None, None, BY_DEFAULT)


def test_default_preemption_matters_only_where_the_plugins_before_it_preempt_nobody() -> None:
    assert preempt_of(TAKEN.configured(plugins=Plugins(default_preemption="last"))).verdict == "yes"
    assert preempt_of(TAKEN.configured(plugins=Plugins(default_preemption="first"))).message == BY_DEFAULT


@pytest.mark.parametrize(
    ("drawing", "reason"),
    [
        (FREE, "not-needed"),
        (FREE.with_running("high", on="n1", cpu=8, priority=9), "no-victims"),
        (TAKEN.change_pods(never_preempts=True), "policy-never"),
    ],
)
def test_default_preemption_is_no_matter_where_it_can_preempt_nobody(drawing: Drawing, reason: str) -> None:
    assert preempt_of(drawing.configured(plugins=Plugins(default_preemption="first"))).reason == reason


def test_what_could_not_be_read_leaves_it_open() -> None:
    message = "default/job: cannot tell which pods it would preempt: Node could not be read: you may not read it."
    assert refused(TAKEN.with_gap("Node")) == ("unknown", None, None, message)


def test_whom_it_preempts_is_open_where_the_configuration_may_not_be_read() -> None:
    message = (
        "default/job: cannot tell which pods it would preempt: it depends on the scheduler's configuration (ConfigMap"
        " objects could not be read), which is not evaluated."
    )
    drawing = TAKEN.configured(assumed=True).with_gap("ConfigMap")
    assert refused(drawing) == ("unknown", None, None, message)
    assert preempt_of(FREE.with_running("peer", on="n1", cpu=8, priority=9).configured(assumed=True)).verdict == "no"


@pytest.mark.parametrize(("drawing", "victims"), [(FREE, 0), (TAKEN, 1)])
def test_with_a_lease_that_may_not_be_read_it_is_open_whether_anybody_preempts(drawing: Drawing, victims: int) -> None:
    report = preempt_of(drawing.with_gap("Lease"))
    assert (report.verdict, report.helps, len(report.victims)) == ("unknown", None, victims)
    assert [one.message for one in report.warnings if one.code == "not-evaluated"] == [
        "it depends on whether the scheduler is active (Lease objects could not be read), which is not evaluated."
    ]


ONCE = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8, priority=9).with_finished("first", gang="job")


def test_several_pods_of_a_gang_that_ran_once_preempt_each_for_itself() -> None:
    report = preempt_of(ONCE.with_running("low", on="n1", cpu=8).with_running("other", on="n2", cpu=8))
    assert (report.verdict, report.helps, len(report.rounds), report.alternatives) == ("yes", True, 1, ())
    assert {victim.pod: (victim.node, victim.wasted) for victim in report.victims} == {
        "default/low": ("n1", False),
        "default/other": ("n2", False),
    }
    assert report.nominations == {"default/job-0": "n1", "default/job-1": "n2"}
    assert report.message == "default/job would preempt 2 pods and then run."


def test_where_only_some_of_them_find_room_that_is_told_and_nobody_dies_in_vain() -> None:
    ran = ONCE.with_running("wall", on="n2", cpu=8, priority=9)
    report = preempt_of(ran.with_running("low", on="n1", cpu=8))
    assert (report.verdict, report.helps) == ("no", False)
    assert [(victim.pod, victim.wasted) for victim in report.victims] == [("default/low", False)]
    message = "default/job would preempt 1 pod, and 1 of its 2 pending pods then runs: each preempts on its own."
    assert report.message == message
    assert "wasted-victims" not in {warning.code for warning in report.warnings}
    nobody = preempt_of(ran.with_running("peer", on="n1", cpu=8, priority=9))
    assert (nobody.verdict, nobody.reason) == ("no", "no-victims")


def test_which_of_very_many_unlike_pods_comes_first_is_left_open() -> None:
    ran = ONCE.with_running("low", on="n1", cpu=8)
    for number in range(2, 7):
        ran = ran.with_pod(f"job-{number}", gang="job", cpu=number - 1, priority=9)
    message = (
        "default/job: cannot tell which pods it would preempt: the gang ran before, so each of its pods preempts on its"
        " own; they differ, and no object shows which comes first."
    )
    assert refused(ran) == ("unknown", None, None, message)


def test_a_single_pod_of_a_gang_that_ran_once_preempts_like_a_lone_one() -> None:
    ran = cluster("s0: b0[n1]").with_gang("job", 1, 8, minimum=2, priority=9).with_finished("first", gang="job")
    report = preempt_of(ran.with_running("low", on="n1", cpu=8))
    assert (report.verdict, [victim.pod for victim in report.victims]) == ("yes", ["default/low"])


RAN = cluster("s0: b0[n1 n2]").with_gang("job", 1, 8, minimum=2, must_gather=SPINE, priority=9)
RAN = RAN.with_running("job-9", on="n1", gang="default/job", priority=9)


@pytest.mark.parametrize(("low", "reason", "victims"), [(0, "not-needed", []), (8, None, ["default/low"])])
def test_a_yes_that_holds_only_if_the_scheduler_remembers_that_the_gang_ran_is_open(
    low: int, reason: str | None, victims: list[str]
) -> None:
    report = preempt_of(RAN.with_running("low", on="n2", cpu=low))
    assert (report.verdict, report.helps, report.reason) == ("unknown", None, reason)
    assert report.message == (
        "default/job: cannot tell whether it would run: 1 of its 2 pods was recreated: it starts, unless"
        " koord-scheduler was restarted since."
    )
    found = [(one.when, one.verdict, one.reason, [each.pod for each in one.victims]) for one in report.alternatives]
    assert found == [
        ("the scheduler remembers that the gang ran", "yes", reason, victims),
        ("the scheduler forgot it in a restart", "no", "replacement-waits", []),
    ]


def test_each_way_in_which_it_runs_if_the_scheduler_remembers_is_told() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_gang("job", 1, 8, minimum=2, must_gather=SPINE, priority=9)
    drawing = drawing.with_running("job-9", on="n3", cpu=8, gang="default/job", priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=4, priority=1).with_running("b", on="n1", cpu=4, priority=3)
    cases = [one.when for one in preempt_of(drawing.with_running("c", on="n2", cpu=8, priority=2)).alternatives]
    assert cases == [
        "the scheduler remembers that the gang ran, and the scheduler tries default/job-0 first and makes room on n1",
        "the scheduler remembers that the gang ran, and the scheduler tries default/job-0 first and makes room on n2",
        "the scheduler forgot it in a restart",
    ]


def test_what_fails_though_the_scheduler_remembers_is_no_matter_of_memory() -> None:
    assert preempt_of(RAN.with_running("wall", on="n2", cpu=8, priority=9)).verdict == "no"


@pytest.mark.parametrize("held", [{"gates": ("g",)}, {"terminating": True}, {"scheduler": "x"}])
def test_the_only_pod_of_a_gang_that_ran_which_may_be_tried_preempts_for_itself_alone(held: dict[str, Any]) -> None:
    ran = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8, minimum=2, priority=9).change_pods("job-1", **held)
    ran = ran.with_running("low", on="n1", cpu=8).with_running("wall", on="n2", cpu=7, priority=9)
    report = preempt_of(ran.with_running("first", on="n2", priority=9, gang="default/job"))
    assert (report.verdict, [victim.pod for victim in report.victims]) == ("yes", ["default/low"])


@pytest.mark.parametrize(
    ("drawing", "reason", "words"),
    [
        (TAKEN.change_pods(never_preempts=True), "policy-never", "its preemption policy is Never"),
        (
            FREE.with_running("saint", on="n1", cpu=8, protected=True),
            "no-victims",
            "no node has lower-priority pods that may be preempted",
        ),
        (
            TAKEN.with_running("saint", on="n1", cpu=1, protected=True),
            "not-helpful",
            "it would not fit even without all lower-priority pods",
        ),
    ],
)
def test_a_preemption_without_effect_says_why(drawing: Drawing, reason: str, words: str) -> None:
    report = preempt_of(drawing)
    assert (report.verdict, report.reason, report.helps, report.victims) == ("no", reason, False, ())
    assert report.message == f"default/job would preempt no pods: {words}."


def test_a_preemption_that_would_choose_reservations_alone_says_so() -> None:
    drawing = FREE.with_reservation("r", "n1", 8, app="other", priority=1)
    report = preempt_of(drawing)
    why = "what it would choose are reservations, which it cannot delete."
    assert (report.verdict, report.reason, report.victims) == ("no", "not-helpful", ())
    assert report.message == f"default/job would preempt no pods: {why}"
    assert "  1. See why the gang is pending, and what else helps.\n" in text(report, style=PIPE)


def test_while_victims_terminate_nobody_else_dies_and_then_it_runs() -> None:
    drawing = FREE.with_running("low", on="n1", cpu=8, terminating=True, preempted=True)
    report = preempt_of(drawing.change_pods(nominated="n1"))
    assert (report.verdict, report.reason, report.helps, report.eligible) == ("yes", "terminating-victim", True, False)


def test_or_does_not() -> None:
    drawing = FREE.with_running("low", on="n1", cpu=4, terminating=True, preempted=True)
    drawing = drawing.with_running("saint", on="n1", cpu=4, protected=True).change_pods(nominated="n1")
    report = preempt_of(drawing)
    assert (report.verdict, report.reason, report.helps) == ("no", "terminating-victim", False)


WASTEFUL = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 3, priority=9).with_running("low-0", on="n0", cpu=4)


def test_pods_that_terminate_for_another_reason_are_waited_for_and_nobody_is_preempted() -> None:
    report = preempt_of(FREE.with_running("low", on="n1", cpu=8, terminating=True))
    assert (report.verdict, report.helps, report.victims) == ("yes", True, ())
    assert report.message == (
        "default/job would preempt no pods: 1 pod that terminates already makes room, and it would then run."
    )
    assert "Wait until the pods that terminate are gone: the gang then runs." in text(report, style=PIPE)


def test_nor_where_they_make_too_little_room() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 2, 8, priority=9)
    drawing = drawing.with_running("low-0", on="n1", cpu=4, terminating=True)
    report = preempt_of(drawing.with_running("low-1", on="n1", cpu=4, terminating=True))
    assert (report.verdict, report.helps, report.victims) == ("no", False, ())
    assert report.message == (
        "default/job would preempt no pods: 2 pods that terminate already make room, and it would still not run."
    )


def test_whether_a_member_of_a_job_ahead_that_waited_still_holds_its_node_is_open() -> None:
    drawing = cluster("s0: b0[n0:4 n1:8]").with_running("low-0", "n0", 4).with_running("low-1", "n1", 4)
    report = preempt_of(drawing.with_gang("high", 2, 4, priority=9).with_gang("job", 1, 8, priority=5))
    assert [[victim.pod for victim in one.victims] for one in report.alternatives] == [["default/low-1"], []]


def test_victims_may_die_in_two_attempts() -> None:
    report = preempt_of(WASTEFUL.with_running("low-1", on="n1", cpu=4))
    assert [[victim.pod for victim in one.victims] for one in report.rounds] == [["default/low-0"], ["default/low-1"]]
    assert short(report.rounds[0].nominations) == {"job-0": "n0", "job-1": "n0"}
    assert (report.verdict, report.message) == ("yes", "default/job would preempt 2 pods in 2 attempts and then run.")


def test_victims_may_die_in_vain() -> None:
    report = preempt_of(WASTEFUL.with_running("saint", on="n1", cpu=4, protected=True))
    assert (report.verdict, report.helps, [victim.wasted for victim in report.victims]) == ("no", False, [True])
    assert report.message == "default/job would preempt 1 pod and still not run."
    assert [notice.code for notice in report.warnings] == ["wasted-victims"]


def test_a_gang_that_fits_nowhere_preempts_in_attempts_whose_order_is_open() -> None:
    drawing = cluster("s0: b0[n0:8 n1:8]").with_gang("job", 3, 5, priority=9).with_running("low-0", on="n0", cpu=1)
    report = preempt_of(drawing.with_running("low-1", on="n1", cpu=1))
    assert (report.verdict, report.reason, report.helps, report.nominations) == ("no", None, False, {})
    assert [(victim.pod, victim.wasted) for victim in report.victims] == [
        ("default/low-0", True),
        ("default/low-1", True),
    ]
    assert report.message == "default/job would preempt 2 pods in repeated attempts and still not run."
    told = (
        "the preemption would be wasted: the gang would still not run. It is tried again and again, and each attempt"
        " preempts on one more node where its pods wait; the order is open."
    )
    assert report.warnings == (Notice("wasted-victims", told),)


def test_a_budget_is_shown_and_whether_it_would_be_violated() -> None:
    drawing = cluster("s0: b0[n1]").with_gang("job", 1, 8, priority=9)
    for name in ("a", "b"):
        drawing = drawing.with_running(name, on="n1", cpu=4, labels=(("app", "web"),))
    drawing = drawing.with_budget("web", having(app="web"), 1)
    report = preempt_of(drawing)
    assert [victim.pod_disruption_budget for victim in report.victims] == [
        BudgetHit("default/web", violated=False),
        BudgetHit("default/web", violated=True),
    ]
    words = "job preemption ignores PodDisruptionBudgets (default/web); this would violate default/web."
    assert report.warnings == (Notice("ignores-budgets", words),)


@pytest.mark.parametrize(
    "drawing",
    [
        TAKEN.with_budget("none", None),
        TAKEN.with_budget("other", having(app="web")),
        TAKEN.with_budget("far/everybody", having()),
    ],
)
def test_budgets_of_others_are_no_matter(drawing: Drawing) -> None:
    report = preempt_of(drawing)
    assert (report.warnings, [victim.pod_disruption_budget for victim in report.victims]) == ((), [None])


def test_a_budget_that_is_kept_is_still_ignored() -> None:
    report = preempt_of(TAKEN.with_budget("all", having(), 5))
    assert report.warnings == (Notice("ignores-budgets", "job preemption ignores PodDisruptionBudgets (default/all)."),)


def test_of_several_budgets_one_that_would_be_violated_is_shown() -> None:
    report = preempt_of(TAKEN.with_budget("all", having(), 5).with_budget("strict", having()))
    assert [victim.pod_disruption_budget for victim in report.victims] == [BudgetHit("default/strict", violated=True)]


def test_victims_of_which_only_some_can_come_use_up_a_budget_apart() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 1, 8, priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=4, priority=1).with_running("b", on="n1", cpu=4, priority=3)
    drawing = drawing.with_running("c", on="n2", cpu=8, priority=2)
    assert len(preempt_of(drawing).alternatives) == 2
    report = preempt_of(drawing.with_budget("all", having(), 2))
    assert report.warnings == (Notice("ignores-budgets", "job preemption ignores PodDisruptionBudgets (default/all)."),)


def test_running_gangs_that_stay_whole_are_not_broken() -> None:
    drawing = LOW_5.with_running("low-6", on="node-0", cpu=0, gang="default/old")
    assert preempt_of(drawing).broken_gangs == ()


def test_nor_are_gangs_that_were_short_before() -> None:
    assert preempt_of(LOW_5.with_group("old", 2)).broken_gangs == ()


def test_an_age_that_cannot_be_told_is_left_out() -> None:
    assert [victim.age_seconds for victim in preempt_of(TAKEN).victims] == [None]


def test_nodes_outside_the_tree_have_no_domain() -> None:
    outside = cluster("-: -[n1]").with_gang("job", 1, 8, priority=9).with_running("low", on="n1", cpu=8)
    assert [victim.domain for victim in preempt_of(outside).victims] == [""]
    assert [victim.domain for victim in preempt_of(outside.but(topologies={})).victims] == [""]


def test_different_policies_make_the_outcome_depend_on_who_is_first() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 8, priority=9).change_pods("job-1", never_preempts=True)
    report = preempt_of(drawing.with_running("low", on="n1", cpu=8))
    assert "mixed-policies" in [notice.code for notice in report.warnings]


def test_a_tie_that_only_the_schedulers_cache_decides_is_left_open() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 1, 8, priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=4, priority=1).with_running("b", on="n1", cpu=4, priority=3)
    report = preempt_of(drawing.with_running("c", on="n2", cpu=8, priority=2))
    assert report.verdict == "yes"
    assert [[victim.pod for victim in one.victims] for one in report.alternatives] == [
        ["default/a", "default/b"],
        ["default/c"],
    ]


def test_outcomes_that_begin_alike_are_told_apart_by_the_nodes_that_not_all_of_them_take() -> None:
    drawing = cluster("s0: b0[n0:8 n1:16 n2:16]").with_gang("job", 3, 8, priority=9)
    drawing = drawing.with_running("a", on="n1", cpu=8, priority=1).with_running("b", on="n1", cpu=8, priority=3)
    report = preempt_of(drawing.with_running("c", on="n2", cpu=16, priority=2))
    first = "the scheduler tries default/job-0 first and makes room on"
    assert [(one.when, [victim.pod for victim in one.victims]) for one in report.alternatives] == [
        (f"{first} n1", ["default/a", "default/b"]),
        (f"{first} n2", ["default/c"]),
    ]


def test_a_gang_that_only_some_outcomes_place_at_once_is_not_said_to_need_no_preemption() -> None:
    drawing = cluster("s0: b0[n1 n2 n3]").with_group("job", 2, topology=rules(f"MustGather {SPINE}"))
    for name, cpu in (("n1", 8), ("n2", 4), ("n3", 8)):
        drawing = drawing.change(name, allocatable=(*cpus(cpu, memory=1), ("pods", 110)))
    drawing = drawing.with_pod("job-0", gang="job", cpu=8, priority=9).with_running("low", on="n3", cpu=8, priority=1)
    report = preempt_of(drawing.with_pod("job-1", gang="job", requests=cpus(4, memory=1), priority=9))
    message = "default/job would be placed, at once or by preemption: no object shows which."
    assert (report.verdict, report.message) == ("yes", message)
    assert [(one.when, one.reason) for one in report.alternatives] == [
        ("the scheduler tries default/job-0 first", None),
        ("the scheduler tries default/job-1 first", "not-needed"),
    ]


def test_what_is_not_evaluated_makes_a_yes_unknown() -> None:
    report = preempt_of(TAKEN.change_pods("job-0").with_quota("default", parent="gone"))
    words = "it depends on quota default (its parent does not exist), which is not evaluated."
    assert (report.verdict, report.helps, report.warnings) == ("unknown", None, (Notice("not-evaluated", words),))
    assert report.message == "default/job: cannot tell whether preemption helps."


def test_but_leaves_a_no_a_no() -> None:
    drawing = TAKEN.change_pods(never_preempts=True).with_quota("default", parent="gone")
    assert preempt_of(drawing).verdict == "no"


@pytest.mark.untraced
def test_attempts_without_end_are_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_NODES_IN_ALL", 1_000_000)
    nodes = [f"n{number}" for number in range(MOST_ROUNDS + 3)]
    drawing = cluster(f"s0: b0[{' '.join(f'{name}:4' for name in nodes)}]").with_gang("job", len(nodes), 3, priority=9)
    for name in nodes:
        drawing = drawing.with_running(f"low-{name}", on=name, cpu=4)
    report = preempt_of(drawing)
    assert (report.verdict, report.helps, len(report.rounds)) == ("unknown", None, MOST_ROUNDS + 1)
    why = "it takes more than 65 attempts, and no more are computed"
    assert report.message == f"default/job: cannot tell whether preemption helps: {why}."


@pytest.mark.untraced
def test_of_very_many_outcomes_some_are_followed_and_what_the_others_come_to_is_unknown() -> None:
    nodes = [f"n{number:03}" for number in range(70)]
    drawing = cluster(f"s0: b0[{' '.join(nodes)}]").with_quota("team", cpu=73)
    for name in nodes:
        drawing = drawing.with_running(f"low-{name}", on=name, cpu=1, labels=TEAM)
    report = preempt_of(drawing.with_gang("job", 2, 2, must_gather=SPINE, labels=TEAM, priority=9))
    assert (report.verdict, report.helps, len(report.alternatives)) == ("unknown", None, 64)
    assert {one.verdict for one in report.alternatives} == {"yes"}
    why = "followed 64 of more outcomes: what the others come to is unknown"
    assert report.message == f"default/job: cannot tell whether preemption helps: {why}."
    assert Notice("not-followed", f"{why}.") in report.warnings

    waiting = drawing.with_running("dying", on="n000", cpu=1, terminating=True, preempted=True, labels=TEAM)
    waiting = waiting.with_gang("job", 2, 2, must_gather=SPINE, labels=TEAM, priority=9, nominated="n000")
    then = preempt_of(waiting)
    assert (then.verdict, then.reason, then.helps) == ("unknown", "terminating-victim", None)


TEAM = (("quota.scheduling.koordinator.sh/name", "team"),)
FULL = cluster("s0: b0[n1:4]").with_quota("team", cpu=2).with_pod("job", cpu=4, labels=TEAM, priority=9)


def test_of_equal_nodes_on_which_a_quota_may_make_room_each_is_named() -> None:
    team = ((NAME_LABEL, "team"),)
    drawing = cluster("s0: b0[n1:8 n2:8]").with_quota("team", cpu=4).with_running("one", on="n1", cpu=1, labels=team)
    drawing = drawing.with_running("two", on="n2", cpu=1, labels=team)
    drawing = drawing.with_gang("job", 3, 2, must_gather=SPINE, labels=team, priority=5)
    assert [(one.when, [victim.pod for victim in one.victims]) for one in preempt_of(drawing).alternatives] == [
        ("the scheduler tries default/job-1 first and makes room on n1", ["default/one"]),
        ("the scheduler tries default/job-1 first and makes room on n2", ["default/two"]),
    ]


def test_victims_for_a_pod_that_its_quota_refuses_die_in_vain_and_it_is_said_why() -> None:
    report = preempt_of(FULL.with_running("low", on="n1", cpu=2))

    assert (report.verdict, report.helps) == ("no", False)
    assert [(victim.pod, victim.wasted) for victim in report.victims] == [("default/low", True)]
    words = (
        "the preemption would be wasted: the pod would still not run, as quota team refuses its pods whatever is freed"
        " for them."
    )
    assert Notice("wasted-victims", words) in report.warnings


def test_a_pod_with_room_that_its_quota_refuses_is_nominated_without_a_victim() -> None:
    report = preempt_of(
        cluster("s0: b0[n1 n2]").but(quotas=FULL.quotas, pending=FULL.pending).with_running("low", "n1")
    )

    assert (report.verdict, report.reason, report.victims) == ("no", "not-helpful", ())
    assert report.message == "pod default/job would preempt no pods: quota team refuses it, not the nodes."


_TEAM, _OTHER = ((NAME_LABEL, "team"),), ((NAME_LABEL, "other"),)
_BESIDE = (
    cluster("s0: b0[n0:4 n1:4]")
    .with_quota("team", cpu=8)
    .with_quota("other", cpu=8)
    .with_gang("job", 2, 2, must_gather=SPINE, priority=9, labels=_TEAM)
    .with_running("alien", on="n0", cpu=4, labels=_OTHER)
    .with_running("mine", on="n1", cpu=4, labels=_TEAM)
)


def test_who_dies_while_the_first_victims_terminate_is_told_apart_from_who_dies_now() -> None:
    report = preempt_of(_BESIDE)
    assert [(one.when, [victim.pod for victim in one.victims]) for one in report.rounds] == [
        ("now", ["default/alien"]),
        ("while-terminating", ["default/mine"]),
    ]
    assert (report.verdict, [victim.pod for victim in report.victims], report.may_follow) == (
        "yes",
        ["default/alien"],
        (),
    )
    assert report.message == (
        "default/job would preempt 2 pods in 2 attempts, 1 now and more while these terminate, and then run."
    )
    assert "Attempt 2, while these terminate: preempts 1 pod" in text(report, style=PIPE)


def test_attempts_once_the_victims_are_gone_are_told_as_such() -> None:
    wasteful = cluster("s0: b0[n0:4 n1:4]").with_gang("job", 2, 3, priority=9)
    report = preempt_of(wasteful.with_running("low-0", on="n0", cpu=4).with_running("low-1", on="n1", cpu=4))
    assert [one.when for one in report.rounds] == ["now", "after"]


_EITHER = (
    cluster("s0: b0[n0:4 n1:4]")
    .with_gang("job", 2, 2, must_gather=SPINE, priority=9)
    .with_running("a-0", on="n0", cpu=2, priority=5)
    .with_running("a-1", on="n0", cpu=2)
    .with_running("b-0", on="n1", cpu=2, priority=5)
    .with_running("b-1", on="n1", cpu=2)
)


def test_a_warning_has_the_worst_case_of_what_may_follow_before_the_victims_are_gone() -> None:
    report = preempt_of(_EITHER)
    assert (
        Notice(
            "victims-may-follow",
            "while the first victims terminate, up to 2 more pods may be preempted on n1: the scheduler tries again, "
            "and no object shows which pod it tries first or in which order it counts victims.",
        )
        in report.warnings
    )
    assert [[victim.pod for victim in one.victims] for one in report.may_follow] == [["default/b-0", "default/b-1"]]
    shown = text(report, style=PIPE)
    assert "Perhaps, while these terminate: preempts 2 more pods" in shown
    assert "; perhaps, while these terminate, preempts default/b-0 and default/b-1" in shown


def test_it_names_nodes_where_an_attempt_chooses_no_domain() -> None:
    plain = cluster("s0: b0[n0:8 n1:4]").with_gang("job", 2, 4, priority=9)
    for node, cpu in (("n0", 2), ("n1", 1)):
        plain = plain.with_running(f"{node}-a", on=node, cpu=2, priority=5).with_running(f"{node}-b", on=node, cpu=cpu)
    (notice,) = preempt_of(plain).warnings
    assert (notice.code, "up to 2 more pods may be preempted on n0: " in notice.message) == ("victims-may-follow", True)


@pytest.mark.parametrize("nominated", ["n1", "", "n2"])
@pytest.mark.parametrize("preemptor", ["default/job", "default/job,default/rest"])
def test_a_victim_that_names_the_gang_is_waited_for_whoever_is_nominated(nominated: str, preemptor: str) -> None:
    dying = {"terminating": True, "preempted": True, "preemptor": preemptor}
    drawing = cluster("s0: b0[n1 n2]").with_gang("job", 2, 4, must_gather=SPINE, priority=9, nominated=nominated)
    drawing = drawing.with_running("low", on="n1", cpu=8, **dying).with_running("peer", on="n2", cpu=8, priority=9)
    report = preempt_of(drawing)
    assert (report.verdict, report.reason, report.helps, report.rounds) == ("yes", "terminating-victim", True, ())
    assert report.message == "default/job would preempt no pods: victims of an earlier attempt are still terminating."
    why = why_of(drawing)
    assert why.cause is not None
    assert (why.cause.code, [way.action for way in why.unblock]) == ("waiting-for-preemption", ["wait-for-terminating"])


def test_a_victim_of_another_job_is_not_waited_for() -> None:
    dying = {"terminating": True, "preempted": True, "preemptor": "default/else"}
    report = preempt_of(FREE.with_running("low", on="n1", cpu=8, **dying))
    assert (report.reason, len(report.rounds)) == (None, 1)


def test_who_may_die_besides_is_told_while_victims_terminate() -> None:
    dying = {"terminating": True, "preempted": True, "preemptor": "default/job"}
    drawing = _EITHER.but(running={}).with_running("a-0", on="n0", cpu=2, priority=5, **dying)
    drawing = drawing.with_running("a-1", on="n0", cpu=2, **dying)
    drawing = drawing.with_running("b-0", on="n1", cpu=2, priority=5).with_running("b-1", on="n1", cpu=2)
    report = preempt_of(drawing)
    assert (report.reason, report.helps) == ("terminating-victim", True)
    assert [[victim.pod for victim in one.victims] for one in report.may_follow] == [["default/b-0", "default/b-1"]]
    assert [one.code for one in report.warnings] == ["victims-may-follow"]


def test_room_for_all_is_taken_though_victims_still_terminate() -> None:
    dying = {"terminating": True, "preempted": True, "preemptor": "default/job"}
    report = preempt_of(
        cluster("s0: b0[n1 n2]").with_gang("job", 1, 8, priority=9).with_running("low", "n1", 8, **dying)
    )
    assert (report.verdict, report.reason) == ("yes", "not-needed")


@pytest.fixture
def one_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow one way only in which jobs that go first may go, as in a cluster with many nodes."""
    monkeypatch.setattr(queue, "_NODES_IN_ALL", 0)


BEHIND_ONE = cluster("s0: b0[n1 n2 n3]").with_pod("high", cpu=3, priority=10)


@pytest.mark.usefixtures("one_way")
def test_where_it_is_open_where_jobs_ahead_go_a_job_with_nodes_to_spare_needs_no_preemption() -> None:
    report = preempt_of(BEHIND_ONE.with_gang("job", 1, 8, priority=1))
    assert (report.verdict, report.reason) == ("yes", "not-needed")


@pytest.mark.usefixtures("one_way")
def test_where_it_is_open_where_jobs_ahead_go_a_warning_says_that_other_nodes_may_be_left() -> None:
    report = preempt_of(BEHIND_ONE.with_gang("job", 4, 8, priority=1))
    (warning,) = report.warnings
    assert (report.verdict, report.reason) == ("no", "no-victims")
    assert warning.message.endswith("Which nodes it takes is open, so that others may be left.")


@pytest.mark.usefixtures("one_way")
def test_whatever_node_a_job_ahead_takes_there_is_nobody_to_preempt_for_one_that_needs_all() -> None:
    report = preempt_of(
        cluster("s0: b0[n1 n2 n3]").with_pod("high", cpu=8, priority=10).with_gang("job", 3, 8, priority=1)
    )
    assert (report.verdict, report.reason) == ("no", "no-victims")


def test_a_pod_of_a_gang_that_ran_waits_for_its_victim_as_well() -> None:
    drawing = cluster("s0: b0[n1 n2]").with_running("job-9", on="n2", cpu=8, gang="default/job")
    drawing = drawing.with_gang("job", 1, 8, priority=9).change_pods(nominated="n1")
    report = preempt_of(drawing.with_running("low", on="n1", cpu=8, terminating=True, preempted=True))
    assert (report.verdict, report.reason, report.helps) == ("yes", "terminating-victim", True)
