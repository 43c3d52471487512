"""Gangs of Volcano: what it wrote of them is told, and nothing is computed."""

from typing import Any

import pytest
from msgspec import structs

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.explain import every_pending as progress
from kubectl_koord.explain import volcano
from kubectl_koord.explain.every_pending import every_pending, gangs
from kubectl_koord.model.installation import Volcano, VolcanoCondition, VolcanoGroup, VolcanoQueue
from kubectl_koord.render.document import Columns
from kubectl_koord.render.show import text
from kubectl_koord.reports import jobs
from kubectl_koord.simulation import subjects
from kubectl_koord.wording.facts import volcano_gang_gone
from tests.build import Drawing, cluster, having
from tests.render.samples import PIPE, TERMINAL

EARLIER = VolcanoCondition("Scheduled", "False", "tasks", "", "2026-11-20T09:00:00Z")
LATER = VolcanoCondition("Unschedulable", "True", "NotEnoughResources", "2/2 tasks", "2026-11-20T09:30:00Z")
BERT = VolcanoGroup("team", "bert-1", "research", 2, "high", "Inqueue", conditions=(LATER, EARLIER), owner="Job/bert")
RUNS = VolcanoGroup("team", "runs", phase="Running", running=3, succeeded=1, failed=1)


def drawn(
    *groups: VolcanoGroup, queues: dict[str, str] | None = None, policies: dict[str, str] | None = None
) -> Drawing:
    every = {one.key: one for one in groups or (BERT, RUNS)}
    known = {name: VolcanoQueue(state) for name, state in ({"research": "Open"} if queues is None else queues).items()}
    bare = cluster("s0: b0[n1]").but(volcano=Volcano(every, known, {"high": "Never"} if policies is None else policies))
    theirs: dict[str, Any] = {"scheduler": "volcano", "volcano_group": "team/bert-1"}
    bare = bare.with_pod("team/bert-0", never_preempts=True, **theirs).with_pod("team/bert-1", **theirs)
    return bare.with_pod("team/ours", volcano_group="team/bert-1")


def gang(**fields: object) -> jobs.VolcanoGang:
    bare: dict[str, object] = {
        "gang": "team/bert-1",
        "phase": "Inqueue",
        "queue": "research",
        "queue_state": "Open",
        "queue_exists": True,
        "min_member": 2,
        "pending": ("team/bert-0", "team/bert-1"),
        "running": 0,
        "succeeded": 0,
        "failed": 0,
        "priority_class": "high",
        "preemption_policy": "Never",
        "never_preempting": ("team/bert-0",),
        "conditions": (
            jobs.VolcanoCondition("Unschedulable", "True", "NotEnoughResources", "2/2 tasks", "2026-11-20T09:30:00Z"),
            jobs.VolcanoCondition("Scheduled", "False", "tasks", "", "2026-11-20T09:00:00Z"),
        ),
        "owner": "Job/bert",
    }
    return jobs.VolcanoGang(**(bare | fields))  # type: ignore[arg-type]


def test_a_gang_carries_its_state_its_queue_and_who_may_preempt() -> None:
    assert volcano.gangs(drawn()) == (gang(), *volcano.gangs(drawn(RUNS)))
    assert volcano.gangs(drawn(), only_waiting=True) == (gang(),)
    assert volcano.gangs(drawn(), "default") == ()
    assert [one.gang for one in volcano.gangs(drawn(), "team")] == ["team/bert-1", "team/runs"]


def test_what_was_not_read_is_not_said_to_be_absent() -> None:
    (unread,) = volcano.gangs(drawn(BERT, queues={"other": ""}, policies={}).with_gap("Queue.scheduling.volcano.sh"))
    assert (unread.queue_state, unread.queue_exists, unread.preemption_policy) == (None, None, None)
    (none,) = volcano.gangs(drawn(BERT, queues={}))
    assert none.queue_exists is None
    (gone,) = volcano.gangs(drawn(BERT, queues={"other": ""}, policies={"high": ""}))
    assert (gone.queue_state, gone.queue_exists, gone.preemption_policy) == (None, False, "PreemptLowerPriority")


def test_lists_have_them_beside_what_is_computed() -> None:
    assert gangs(drawn()).volcano == volcano.gangs(drawn())
    assert gangs(drawn(), only_pending=True).volcano == (gang(),)
    assert gangs(drawn(), selector=having(app="a")).volcano == ()
    assert every_pending(drawn()).volcano == (gang(),)
    assert every_pending(drawn(), selector=having(app="a")).volcano == ()
    assert every_pending(drawn(), causes=("quota",)).volcano == ()


def meant(name: str, *namespaces: str) -> str | None:
    found = subjects.find(drawn(), name, "team")
    one = volcano.meant(drawn(), name, namespaces or ("team",), found if isinstance(found, Subject) else None)
    return one.gang if one is not None else None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert", "team/bert-1"),
        ("runs", "team/runs"),
        ("team/runs", "team/runs"),
        ("podgroup/runs", "team/runs"),
        ("podgroup.scheduling.volcano.sh/runs", "team/runs"),
        ("job/bert", "team/bert-1"),
        ("jobs.batch.volcano.sh/bert", "team/bert-1"),
        ("vcjob/bert", "team/bert-1"),
        ("pod/bert-0", "team/bert-1"),
        ("bert-0", "team/bert-1"),
        ("deployment/bert", None),
        ("pod/ours", None),
        ("nobody", None),
    ],
)
def test_a_name_means(name: str, expected: str | None) -> None:
    assert meant(name) == expected


def test_a_name_may_stand_in_several_namespaces() -> None:
    assert meant("runs", "default") is None
    assert meant("runs", "default", "team") == "team/runs"
    twice = drawn(RUNS, VolcanoGroup("other", "runs"))
    assert volcano.meant(twice, "runs", ("team", "other"), None) is None


def test_whether_a_waiting_gang_will_be_placed_is_unknown_and_that_nothing_is_computed_is_said() -> None:
    report = volcano.why(drawn(), gang())
    assert (report.verdict, report.gang, report.pending_pods) == ("unknown", "team/bert-1", gang().pending)
    assert report.cause is not None
    assert report.cause.code == "other-scheduler"
    assert text(report, style=PIPE).startswith(
        "Cannot tell whether team/bert-1 would be placed: Volcano schedules it (phase Inqueue, queue research); no"
        " decision is computed for another scheduler.\nDetails: kubectl koord explain other-scheduler\n"
        "\nAs Volcano wrote it\n"
        "  Pods: 2 wanted, 2 pending, 0 running.\n"
        "  Queue: research (Open).\n"
        "  PriorityClass: high (preemptionPolicy Never).\n"
        "  preemptionPolicy is Never in 1 pending pod.\n"
        "  Unschedulable: NotEnoughResources: 2/2 tasks\n"
        "  Scheduled=False: tasks\n"
    )


def test_one_that_runs_has_no_cause() -> None:
    (runs,) = volcano.gangs(drawn(RUNS))
    report = volcano.why(drawn(), runs)
    assert (report.verdict, report.cause, report.bound_pods) == ("yes", None, 4)
    page = text(report, style=PIPE)
    assert page.startswith("team/runs has no pending pods: 4 pods on a node, 0 needed.\n")
    assert "Pods: 0 wanted, 0 pending, 3 running, 1 succeeded, 1 failed.\n  Queue: default (does not exist).\n" in page


def test_the_tables_have_the_newest_condition() -> None:
    page = text(gangs(drawn()), style=PIPE, columns=Columns(wide=True))
    head, bert, runs, note = page[page.index("Gangs of Volcano") :].splitlines()[1:5]
    assert head.split() == ["GANG", "PHASE", "QUEUE", "WANTED", "PENDING", "RUNNING", "PREEMPTION", "POLICY", "SAYS"]
    assert bert.split() == [
        *("team/bert-1", "Inqueue", "research", "(Open)", "2", "2", "0", "Never"),
        *("Unschedulable:", "NotEnoughResources:", "2/2", "tasks"),
    ]
    assert runs.split() == ["team/runs", "Running", "default", "(does", "not", "exist)", "0", "0", "3"]
    assert note == "  As Volcano wrote it: no decision is computed for another scheduler."
    assert "Gangs of Volcano" in text(every_pending(drawn()), style=PIPE)
    assert "Gangs of Volcano" not in text(gangs(cluster("s0: b0[n1]")), style=PIPE)


def test_a_phase_or_state_that_is_not_written_yet_is_told() -> None:
    bare = VolcanoGroup("team", "new", queue="q", priority_class="high")
    (new,) = volcano.gangs(drawn(bare, queues={"q": ""}, policies={}))
    page = text(volcano.why(drawn(), new), style=PIPE)
    assert "(no phase yet, queue q)" in page
    assert "Queue: q (no state yet)." in page
    assert "PriorityClass: high (preemptionPolicy not read)." in page
    (unread,) = volcano.gangs(drawn(bare, queues={}))
    assert "Queue: q (not read)." in text(volcano.why(drawn(), unread), style=PIPE)
    both = text(gangs(drawn(bare, queues={}, policies={"high": ""})), style=PIPE, columns=Columns(wide=True))
    assert "PreemptLowerPriority" in both


def test_of_many_gangs_the_first_are_shown() -> None:
    many = [VolcanoGroup("team", f"g{number:02}") for number in range(40)]
    page = text(every_pending(drawn(*many)), style=TERMINAL)
    assert "team/g14" in page
    assert "team/g15" not in page


def changes(**fields: object) -> str:
    before, after = (volcano.why(drawn(), one) for one in (gang(), gang(**fields)))
    return progress.changes(before, after)


def test_of_a_gang_that_is_followed_its_phase_pods_and_queue_and_what_volcano_says_are_told() -> None:
    assert changes(created="2026-11-20T09:30:00Z") == ""
    assert changes(phase="Pending", pending=()) == "phase Pending: none running"
    assert changes(pending=("team/bert-0",), running=1) == "phase Inqueue: 1 pod pending, 1 running"
    assert (
        changes(phase="", succeeded=1, failed=2) == "no phase yet: 2 pods pending, none running, 1 succeeded, 2 failed"
    )
    assert changes(queue_state="Closed") == "queue research is Closed"
    assert changes(queue_state=None) == "queue research is without a state"
    said = jobs.VolcanoCondition("Unschedulable", "True", "NotEnoughResources", "1/2 tasks", "2026-11-20T09:31:00Z")
    assert changes(conditions=(said,)) == "Unschedulable: NotEnoughResources: 1/2 tasks"
    assert changes(conditions=()) == ""
    assert changes(phase="Running", pending=(), running=2, conditions=(said,)) == "phase Running: 2 running"


def listed(before: Drawing, after: Drawing) -> list[tuple[str, str, str]]:
    notes = progress.listing_changes(after, every_pending(before), every_pending(after))
    return [(one.subject, one.text, one.verdict) for one in notes]


def test_of_a_list_that_is_followed_it_is_told_who_waits_and_who_no_more() -> None:
    waits, pending = drawn(BERT), "phase Inqueue: 2 pods pending, none running"
    assert listed(waits, waits) == []
    assert listed(drawn(RUNS), waits) == [("team/bert-1", pending, "unknown")]
    moved = drawn(structs.replace(BERT, phase="Pending"))
    assert listed(waits, moved) == [("team/bert-1", pending.replace("Inqueue", "Pending"), "unknown")]
    new = VolcanoGroup("team", "runs")
    assert listed(drawn(new), drawn(RUNS)) == [
        ("team/runs", "phase Running: 3 running, 1 succeeded, 1 failed", "yes"),
    ]
    assert listed(drawn(BERT, new), waits) == [("team/runs", "gone", "unknown")]


def test_how_a_wait_has_ended_is_told_by_what_volcano_wrote() -> None:
    waits, (runs,) = volcano.why(drawn(), gang()), volcano.gangs(drawn(RUNS))
    still = "Volcano schedules it (phase Inqueue, queue research); no decision is computed for another scheduler."
    assert progress.outcome(waits, reached=False, waited="5m") == f"team/bert-1 is still pending after 5m: {still}"
    assert progress.outcome(volcano.why(drawn(), runs), reached=True, waited="5m") == (
        "team/runs is scheduled by Volcano (phase Running: 3 running, 1 succeeded, 1 failed)."
    )


def test_one_that_is_followed_is_found_again_until_it_is_gone() -> None:
    assert volcano.again(drawn(), "team/bert-1") == gang()
    assert volcano.again(drawn(RUNS), "team/bert-1") is None
    assert volcano_gang_gone("team/bert-1") == "team/bert-1 no longer exists: it has no PodGroup of Volcano"
    assert volcano.unread(drawn(), "team/bert-1") == ()
    (gap,) = volcano.unread(drawn().with_gap("PodGroup.scheduling.volcano.sh"), "team/bert-1")
    assert gap.kind == "PodGroup.scheduling.volcano.sh"
