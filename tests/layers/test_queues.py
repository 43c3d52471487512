"""Queues in front of the scheduler: whose quota, how much is missing, who is ahead, and what could not be read."""

import pytest
from msgspec import structs

from kubectl_koord.layers import queue_koord, queue_kueue, queue_volcano
from kubectl_koord.layers.base import Answer, Held, Job, NotHere, Passed, Unknown, is_queued
from kubectl_koord.model.installation import Volcano, VolcanoCondition, VolcanoGroup, VolcanoQueue
from kubectl_koord.model.jobs import (
    CheckState,
    ClusterQueue,
    Cohort,
    FlavorQuota,
    Jobs,
    KoordQueue,
    KoordQueues,
    Kueue,
    KueueWorkload,
    LocalQueue,
    ObjectCondition,
    Owner,
    PodState,
    QueuedPods,
    QueuePlace,
    QueueUnit,
)
from kubectl_koord.model.reservations import OwnerReference
from tests.build import Drawing, cluster

GPU = "nvidia.com/gpu"
LLM = Owner("Job", "batch", "default", "llm", queue="default", suspended=True)
JOB = Job("default/llm", "Job", (LLM,))
WAITS = ObjectCondition("QuotaReserved", "False", "Pending", "no room.", "2026-11-20T07:00:00Z")
WORK = KueueWorkload(
    "default",
    "job-llm",
    queue="default",
    created="2026-11-20T06:00:00Z",
    owners=("Job/llm",),
    pods=(QueuedPods("main", 2, requests={GPU: 8}),),
    conditions=(WAITS,),
)
LOCAL = LocalQueue("default", "default", "research")
QUEUE = ClusterQueue("research", quotas=(FlavorQuota("a100", GPU, 16, used=8),), pending=1)
RESERVED = (ObjectCondition("QuotaReserved", "True"),)


def kueue(work: KueueWorkload | None = WORK, *queues: ClusterQueue, local: LocalQueue | None = LOCAL) -> Drawing:
    every = {one.name: one for one in queues or (QUEUE,)}
    works = {work.key: work} if work else {}
    locals_ = {local.key: local} if local else {}
    return cluster("s: b[n0]").but(jobs=Jobs(owners=(LLM,), kueue=Kueue(works, locals_, every)))


def told(answer: Answer) -> str:
    assert isinstance(answer, Held)
    assert answer.told == f"waits in a queue: {answer.told.removeprefix('waits in a queue: ')}"
    return answer.told.removeprefix("waits in a queue: ")


def of_kueue(work: KueueWorkload, *queues: ClusterQueue, local: LocalQueue | None = LOCAL) -> str:
    return told(queue_kueue.ask(JOB, kueue(work, *queues, local=local)))


def test_jobs_that_name_no_queue_are_not_here() -> None:
    assert queue_kueue.ask(JOB, cluster("s: b[n0]")) == NotHere()
    assert queue_kueue.ask(JOB, cluster("s: b[n0]").but(jobs=Jobs())) == NotHere()
    bare = Job("default/llm", "Job", (structs.replace(LLM, queue=""),))
    assert queue_kueue.ask(bare, kueue(None)) == NotHere()
    assert not is_queued(JOB, cluster("s: b[n0]"))
    assert queue_kueue.ask(Job("x/y"), kueue(WORK)) == NotHere()


def test_without_a_workload_it_is_told_why_kueue_does_nothing() -> None:
    assert told(queue_kueue.ask(JOB, kueue(None))) == (
        "LocalQueue default/default is named, and Kueue has made no Workload for it."
    )
    runs = Job("default/llm", "Job", (structs.replace(LLM, suspended=False),))
    assert queue_kueue.ask(runs, kueue(None)) == NotHere()
    gone = kueue(None, local=structs.replace(LOCAL, name="other"))
    assert told(queue_kueue.ask(JOB, gone)) == "LocalQueue default/default does not exist."


def test_what_could_not_be_read_leaves_the_layer_open() -> None:
    hidden = kueue(None).with_gap("Workload")
    assert isinstance(queue_kueue.ask(JOB, hidden), Unknown)
    unnamed = Job("default/llm", "Job", (structs.replace(LLM, queue=""),))
    assert isinstance(queue_kueue.ask(unnamed, hidden), Unknown)
    ran = structs.replace(unnamed, pods=(PodState("default/llm-0"),))
    assert queue_kueue.ask(ran, hidden) == NotHere()
    no_queue = kueue(structs.replace(WORK, conditions=()), QUEUE, local=None).with_gap("LocalQueue")
    assert told(queue_kueue.ask(JOB, no_queue)).startswith("LocalQueue default; LocalQueue")


def test_workloads_that_are_admitted_or_finished_pass() -> None:
    admitted = ObjectCondition("Admitted", "True", since="2026-11-20T07:30:00Z")
    work = structs.replace(WORK, conditions=(admitted,), cluster_queue="research")
    assert queue_kueue.ask(JOB, kueue(work)) == Passed(
        "admitted by ClusterQueue research", "Workload/default/job-llm", "2026-11-20T07:30:00Z"
    )
    assert not is_queued(JOB, kueue(work))
    over = structs.replace(WORK, conditions=(ObjectCondition("Finished", "True"),))
    assert queue_kueue.ask(JOB, kueue(over)) == Passed("its Workload is finished", "Workload/default/job-llm")


def test_a_workload_of_pods_is_that_of_a_job_which_has_them() -> None:
    work = structs.replace(WORK, owners=("Pod/llm-0", "Pod/llm-1"))
    asked = Job("default/llm-1", "Pod", pods=(PodState("default/llm-1"),))
    assert "8 of 16 GPU left" in told(queue_kueue.ask(asked, kueue(work)))


def test_a_workload_that_is_not_active_is_told_with_why() -> None:
    evicted = ObjectCondition("Evicted", "True", "Deactivated", "The workload is deactivated", "2026-11-20T07:10:00Z")
    assert of_kueue(structs.replace(WORK, active=False, conditions=(evicted,))) == (
        "its Workload job-llm is not active (spec.active is false): Deactivated: The workload is deactivated."
    )
    assert of_kueue(structs.replace(WORK, active=False)) == "its Workload job-llm is not active (spec.active is false)."


def test_queues_that_are_stopped_broken_or_gone_are_named() -> None:
    assert of_kueue(WORK, local=structs.replace(LOCAL, stop_policy="Hold")) == (
        "LocalQueue default/default is stopped (stopPolicy Hold)."
    )
    assert of_kueue(WORK, structs.replace(QUEUE, stop_policy="HoldAndDrain")) == (
        "ClusterQueue research is stopped (stopPolicy HoldAndDrain)."
    )
    broken = ObjectCondition("Active", "False", "FlavorNotFound", "Can't admit new workloads: FlavorNotFound.")
    assert of_kueue(WORK, structs.replace(QUEUE, conditions=(broken,))) == (
        "ClusterQueue research is not active: FlavorNotFound: Can't admit new workloads: FlavorNotFound."
    )
    assert of_kueue(WORK, structs.replace(QUEUE, name="other")) == "ClusterQueue research does not exist."
    assert of_kueue(WORK, local=structs.replace(LOCAL, cluster_queue="")) == (
        "LocalQueue default: Pending: no room; its ClusterQueue is not known."
    )


def test_admission_checks_hold_what_has_its_quota() -> None:
    work = structs.replace(WORK, conditions=RESERVED, cluster_queue="research")
    checked = structs.replace(QUEUE, checks=("dws",))
    has = "it has quota in ClusterQueue research, and"
    assert of_kueue(work, checked) == f"{has} admission check dws has not answered yet."
    assert of_kueue(work) == f"{has} Kueue has not started it yet."
    retry = structs.replace(work, checks=(CheckState("dws", "Retry", "no nodes."),))
    assert of_kueue(retry, checked) == f"{has} admission check dws is Retry: no nodes."
    silent = structs.replace(work, checks=(CheckState("dws", "Pending"),))
    assert of_kueue(silent, checked) == f"{has} admission check dws is Pending."


def test_what_waits_though_there_is_room_is_told_in_the_words_of_kueue() -> None:
    small = structs.replace(WORK, pods=(QueuedPods("main", 1, requests={GPU: 8, "example.com/other": 1}),))
    assert of_kueue(small) == "ClusterQueue research says: Pending: no room; none is ahead."
    assert of_kueue(structs.replace(small, conditions=())) == (
        "ClusterQueue research has not looked at it yet; none is ahead."
    )
    later = structs.replace(small, requeue_at="2099-01-01T00:00:00Z")
    assert of_kueue(later) == "ClusterQueue research tries it again at 2099-01-01T00:00:00Z; none is ahead."
    assert of_kueue(small, structs.replace(QUEUE, pending=7)) == (
        "ClusterQueue research says: Pending: no room; 7 workloads wait there."
    )


def test_a_cohort_lends_what_its_other_queues_leave() -> None:
    lab = structs.replace(QUEUE, cohort="lab")
    used = structs.replace(
        QUEUE, name="other", cohort="lab", quotas=(FlavorQuota("a100", GPU, 8, used=12, borrowed=4),)
    )
    assert of_kueue(WORK, lab, used) == (
        "ClusterQueue research has 8 of 16 GPU left, 16 wanted; it may borrow 0 more from cohort lab; none is ahead."
    )
    answer = queue_kueue.ask(JOB, kueue(WORK, lab, used))
    assert isinstance(answer, Held)
    assert [step.message for step in answer.steps] == [
        "Free 12 GPU in ClusterQueue research, have its quota raised by as much, or wait for those ahead",
        "other borrows: let ClusterQueue research reclaim (preemption.reclaimWithinCohort)",
    ]
    kept = structs.replace(lab, quotas=(FlavorQuota("a100", GPU, 16, used=12, lending_limit=4),))
    assert "4 of 16 GPU left, 16 wanted; it may borrow 0 more" in of_kueue(WORK, kept, used)
    limited = structs.replace(lab, quotas=(FlavorQuota("a100", GPU, 16, used=8, borrowing_limit=2),))
    free = structs.replace(used, quotas=(FlavorQuota("a100", GPU, 20),))
    assert "ClusterQueue research says" in of_kueue(WORK, lab, free)
    assert "it may borrow 2 more from cohort lab" in of_kueue(WORK, limited, free)
    nested = kueue(WORK, lab, free)
    assert nested.jobs is not None
    tree = structs.replace(nested.jobs.kueue, cohorts={"lab": Cohort("lab", "company")})
    nested = nested.but(jobs=structs.replace(nested.jobs, kueue=tree))
    assert told(queue_kueue.ask(JOB, nested)) == ("ClusterQueue research says: Pending: no room; none is ahead.")
    for unseen in (nested.with_gap("Cohort"), _with_cohorts(nested, Cohort("lab", "top"), Cohort("top", "lab"))):
        assert told(queue_kueue.ask(JOB, unseen)) == (
            "ClusterQueue research has 8 of 16 GPU left, 16 wanted; what cohort lab could lend was not computed; "
            "none is ahead."
        )


def _with_cohorts(drawn: Drawing, *cohorts: Cohort) -> Drawing:
    assert drawn.jobs is not None
    kueue = structs.replace(drawn.jobs.kueue, cohorts={one.name: one for one in cohorts})
    return drawn.but(jobs=structs.replace(drawn.jobs, kueue=kueue))


@pytest.mark.parametrize(
    ("quotas", "lends"),
    [
        ({}, 12),
        ({"lab": FlavorQuota("a100", GPU, borrowing_limit=3)}, 3),
        ({"sister": FlavorQuota("a100", GPU, 4, lending_limit=5)}, 5),
        ({"company": FlavorQuota("a100", GPU, 4)}, 16),
        ({"lab": FlavorQuota("a100", GPU, 2, lending_limit=1), "company": FlavorQuota("a100", GPU, 1)}, 15),
    ],
)
def test_quota_is_borrowed_through_the_tree_of_cohorts_as_their_limits_allow(
    quotas: dict[str, FlavorQuota], lends: int
) -> None:
    lab = structs.replace(QUEUE, cohort="lab", quotas=(FlavorQuota("a100", GPU, 8, used=8),))
    other = structs.replace(lab, name="other", cohort="sister", quotas=(FlavorQuota("a100", GPU, 16, used=4),))
    tree = {"lab": "company", "sister": "company", "company": ""}
    cohorts = [Cohort(name, parent, (quotas[name],) if name in quotas else ()) for name, parent in tree.items()]
    drawn = _with_cohorts(
        kueue(structs.replace(WORK, pods=(QueuedPods("main", 3, requests={GPU: 16}),)), lab, other), *cohorts
    )
    assert f"it may borrow {lends} more from cohort lab" in told(queue_kueue.ask(JOB, drawn))


def test_whom_a_workload_may_preempt_is_told_in_the_words_of_its_queue() -> None:
    full = structs.replace(QUEUE, within="LowerPriority", quotas=(FlavorQuota("a100", GPU, 16, used=16),))
    assert "16 wanted; it may preempt LowerPriority in its queue; none" in of_kueue(WORK, full)
    lab = structs.replace(full, cohort="lab", reclaim="Any", borrow="LowerPriority")
    other = structs.replace(lab, name="other", quotas=(FlavorQuota("a100", GPU, 8, used=12, borrowed=4),))
    assert (
        "it may preempt LowerPriority in its queue, Any in its cohort and LowerPriority while it borrows; "
        "others borrow 4 there; none is ahead." in of_kueue(WORK, lab, other)
    )


UNIT = QueueUnit(
    "default", "llm-job", OwnerReference("Job", "llm"), "default", "research", 5, created="1", phase="Enqueued"
)


def of_koord(unit: QueueUnit, *others: QueueUnit, order: tuple[str, ...] | None = None) -> str:
    units = {one.key: one for one in (unit, *others)}
    places = tuple(QueuePlace("active", "default", name, position=at) for at, name in enumerate(order or ()))
    queues = {} if order is None else {"koord-queue/research": KoordQueue("koord-queue", "research", order=places)}
    drawn = cluster("s: b[n0]").but(jobs=Jobs(owners=(LLM,), koord=KoordQueues(units, queues)))
    assert is_queued(JOB, drawn)
    answer = queue_koord.ask(JOB, drawn)
    assert isinstance(answer, Held)
    return answer.told


def test_jobs_without_a_unit_are_not_in_koord_queue() -> None:
    assert queue_koord.ask(JOB, cluster("s: b[n0]")) == NotHere()
    bare = cluster("s: b[n0]").but(jobs=Jobs(owners=(LLM,)))
    assert queue_koord.ask(JOB, bare) == NotHere()
    assert isinstance(queue_koord.ask(JOB, bare.with_gap("QueueUnit")), Unknown)


def test_a_unit_that_was_dequeued_passes() -> None:
    unit = structs.replace(UNIT, phase="Dequeued", updated="2026-11-20T07:00:00Z")
    drawn = cluster("s: b[n0]").but(jobs=Jobs(koord=KoordQueues({unit.key: unit})))
    assert queue_koord.ask(JOB, drawn) == Passed(
        "QueueUnit llm-job is Dequeued", "QueueUnit/default/llm-job", "2026-11-20T07:00:00Z"
    )


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"phase": ""}, "QueueUnit llm-job is not looked at yet."),
        ({"message": "no  quota."}, "QueueUnit llm-job is Enqueued: no quota."),
        ({"active": False}, "QueueUnit llm-job is not active."),
        (
            {"phase": "Reserved", "checks": (CheckState("c", "Pending"),)},
            "QueueUnit llm-job is Reserved; admission check c is Pending.",
        ),
        (
            {"phase": "TimeoutBackoff", "requeue_at": "2099-01-01T00:00:00Z"},
            "QueueUnit llm-job is TimeoutBackoff; it is tried again at 2099-01-01T00:00:00Z.",
        ),
        ({"phase": "Failed", "message": "x"}, "QueueUnit llm-job is Failed: x."),
    ],
)
def test_a_unit_is_told_with_its_phase_and_what_it_waits_for(fields: dict[str, object], said: str) -> None:
    assert of_koord(structs.replace(UNIT, **fields)) == f"waits in a queue research: {said}"


def test_the_place_is_that_which_the_queue_wrote_else_by_priority() -> None:
    first = structs.replace(UNIT, name="first", consumer=None, priority=9)
    assert of_koord(UNIT, order=("first", "llm-job")).endswith("; 1 unit is ahead.")
    assert of_koord(UNIT, first, order=("first",)).endswith("; 1 unit is ahead.")
    assert of_koord(structs.replace(UNIT, queue="", quota="lab"), structs.replace(first, queue="")).endswith(
        "1 unit is ahead."
    )


GROUP = VolcanoGroup(
    "default", "llm-pg", "q", 2, phase="Pending", owner="Job/llm", min_resources={"cpu": 8000, GPU: 16}
)
OF_VOLCANO = Job("default/llm", "Job", (structs.replace(LLM, group="batch.volcano.sh"),))


def of_volcano(group: VolcanoGroup = GROUP, queue: VolcanoQueue | None = None) -> Answer:
    queues = {"q": queue} if queue else {}
    drawn = cluster("s: b[n0]").but(jobs=Jobs(), volcano=Volcano({group.key: group}, queues))
    return queue_volcano.ask(OF_VOLCANO, drawn)


def test_only_what_volcano_has_let_in_passes_its_queue() -> None:
    assert queue_volcano.ask(OF_VOLCANO, cluster("s: b[n0]")) == NotHere()
    hidden = cluster("s: b[n0]").with_gap("PodGroup.scheduling.volcano.sh")
    assert isinstance(queue_volcano.ask(OF_VOLCANO, hidden), Unknown)
    assert queue_volcano.ask(JOB, hidden) == NotHere()
    assert of_volcano(structs.replace(GROUP, phase="Inqueue")) == Passed(
        "PodGroup llm-pg is Inqueue", "PodGroup/default/llm-pg"
    )
    assert told(of_volcano()) == "Queue q was not read."


def test_the_first_resource_of_which_a_queue_of_volcano_has_too_little_is_told() -> None:
    short = VolcanoQueue("Open", capability={"cpu": 10000, GPU: 32}, allocated={"cpu": 4000, GPU: 20})
    assert told(of_volcano(queue=short)) == "Queue q has 12 of 32 GPU left, 16 wanted."
    enough = VolcanoQueue("Open", capability={"cpu": 20000})
    assert told(of_volcano(queue=enough)) == "Queue q has not enqueued PodGroup llm-pg."
    said = VolcanoCondition("Unschedulable", "True", "NotEnoughResources", "overused cpu.", "2026-11-20T07:00:00Z")
    assert told(of_volcano(structs.replace(GROUP, conditions=(said,)), enough)) == (
        "Queue q has not enqueued PodGroup llm-pg; Volcano says: NotEnoughResources: overused cpu."
    )
    assert told(of_volcano(queue=VolcanoQueue("Closing"))) == "Queue q is Closing."


def test_a_queue_of_volcano_above_another_is_told_and_a_circle_of_them_ends() -> None:
    group = VolcanoGroup(
        "default", "llm", "child", 2, "", "Pending", 0, 0, 0, (), "Job/llm", "2026-11-20T06:00:00Z", {GPU: 16}
    )

    def held(**queues: VolcanoQueue) -> str:
        drawn = cluster("s: b[n0]").but(jobs=Jobs(owners=(LLM,)), volcano=Volcano({"default/llm": group}, queues))
        return told(queue_volcano.ask(JOB, drawn))

    def queue(parent: str, used: int) -> VolcanoQueue:
        return VolcanoQueue("Open", parent, capability={GPU: 32}, allocated={GPU: used})

    assert held(child=queue("org", 0), org=queue("root", 24)) == (
        "Queue org, above child, has 8 of 32 GPU left, 16 wanted."
    )
    assert held(child=queue("org", 0), org=queue("child", 0)) == "Queue child has not enqueued PodGroup llm."
