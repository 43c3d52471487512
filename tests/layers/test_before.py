"""Layers before the scheduler that are no queue: the owner, the pods that it makes, and scheduling gates."""

import pytest
from msgspec import structs

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.layers import creation, gates, owner
from kubectl_koord.layers.base import Held, Job, NotHere, Passed, Unknown
from kubectl_koord.model.jobs import Controller, JobEvent, Jobs, ObjectCondition, Owner, PodState, Role
from kubectl_koord.simulation import subjects
from tests.build import Drawing, cluster

LLM = Owner("Job", "batch", "default", "llm", created="2026-11-20T06:00:00Z", wanted=4)
SET = Owner("JobSet", "jobset.x-k8s.io", "default", "llm", wanted=4)
PODS = tuple(PodState(f"default/llm-{number}", phase="Running", node="n0") for number in range(4))


def job(*owners: Owner, pods: tuple[PodState, ...] = ()) -> Job:
    return Job("default/llm", "Job", owners or (LLM,), pods=pods)


def world(*events: JobEvent, controllers: tuple[Controller, ...] = (), made: tuple[Owner, ...] = ()) -> Drawing:
    jobs = Jobs(owners=(LLM,), made=made, events=events, controllers=controllers)
    return cluster("s: b[n0]").but(jobs=jobs, moment="2026-11-20T08:00:00Z")


def of_owner(*owners: Owner, pods: tuple[PodState, ...] = (), made: tuple[Owner, ...] = ()) -> str:
    answer = owner.ask(job(*owners, pods=pods), world(made=made))
    return answer.told if isinstance(answer, Held) else answer.message if isinstance(answer, Passed) else "not here"


def test_an_owner_that_nothing_keeps_is_told_with_its_size_and_age() -> None:
    assert owner.ask(Job("default/x"), world()) == NotHere()
    assert of_owner() == "Job created 2h ago, 4 pods"
    roles = (Role("Master", 1), Role("Worker", 8), Role("Eval", 0))
    assert of_owner(structs.replace(LLM, roles=roles)) == "Job created 2h ago, 1 master and 8 workers"
    assert of_owner(structs.replace(LLM, created="", wanted=None)) == "Job created"


def test_an_owner_that_wants_no_pods_says_so() -> None:
    assert of_owner(structs.replace(LLM, wanted=0)) == "wants no pods: its size is 0."
    assert of_owner(LLM, structs.replace(SET, wanted=0)) == "is made by JobSet llm, which wants no pods: its size is 0."


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"suspended": True}, "is suspended (spec.suspend is true)."),
        ({"paused": True}, "is paused (spec.paused is true)."),
        ({"deleting": "2026-11-20T07:00:00Z"}, "is being deleted, for 60m."),
        ({"deleting": "?"}, "is being deleted."),
        ({"finished": "Complete"}, "is complete."),
        ({"finished": "Failed", "failed": 2, "message": "too often"}, "has failed (2 pods failed): too often."),
    ],
)
def test_what_keeps_an_owner_from_making_pods_is_told(fields: dict[str, object], said: str) -> None:
    assert of_owner(structs.replace(LLM, **fields)) == said
    assert of_owner(LLM, structs.replace(SET, **fields)).startswith("is made by JobSet llm, which ")
    assert of_owner(made=(structs.replace(SET, **fields),)) != "Job created 2h ago, 4 pods"


def test_conditions_of_kinds_that_nobody_knows_are_told_while_there_are_no_pods() -> None:
    waits = ObjectCondition("Ready", "False", "NoImage", "no image.", "2026-11-20T07:00:00Z")
    strange = structs.replace(LLM, kind="Notebook", group="own.example.com", is_known=False, conditions=(waits,))
    assert of_owner(strange) == "waits, as its condition says: Ready is False, NoImage: no image."
    assert of_owner(strange, pods=PODS) == "Notebook created 2h ago, 4 pods"
    assert of_owner(structs.replace(strange, is_known=True)) == "Notebook created 2h ago, 4 pods"
    stalled = ObjectCondition("Stalled", "True", "", "it stalls")
    assert of_owner(structs.replace(LLM, conditions=(stalled,))) == (
        "waits, as its condition says: Stalled is True, it stalls."
    )
    stopped = structs.replace(strange, conditions=(), phase="Suspended", message="stopped by admin.")
    assert of_owner(stopped) == "waits, as its status says: Suspended: stopped by admin."
    assert of_owner(structs.replace(stopped, phase="Ready")) == "Notebook created 2h ago, 4 pods"
    unknown = creation.ask(job(structs.replace(strange, wanted=None)), world())
    assert unknown == Unknown("no pod exists, and whether a Notebook makes any is not known", "Notebook/default/llm")
    refused = ObjectCondition("Accepted", "False", "Invalid", "")
    assert of_owner(structs.replace(LLM, conditions=(refused,))) == "Job created 2h ago, 4 pods"


def of_creation(drawn: Drawing, **fields: object) -> str:
    answer = creation.ask(job(structs.replace(LLM, **fields)), drawn)
    assert isinstance(answer, Held)
    return answer.told


def test_pods_that_exist_pass() -> None:
    assert creation.ask(Job("default/x"), world()) == NotHere()
    assert creation.ask(job(), cluster("s: b[n0]")) == NotHere()
    assert creation.ask(job(pods=PODS), world()) == Passed("4 of 4 pods exist")
    assert creation.ask(job(structs.replace(LLM, wanted=None), pods=PODS), world()) == Passed("4 pods exist")


def test_of_pods_that_no_event_tells_of_it_is_told_who_should_make_them() -> None:
    few = "has too few pods: 0 of 4 pods exist;"
    assert of_creation(world()) == f"{few} no event that was read tells why."
    assert of_creation(world(), managed_by="kueue.x-k8s.io/multikueue") == (
        f"{few} it is managed by kueue.x-k8s.io/multikueue (spec.managedBy), and its usual controller leaves it alone."
    )
    assert (
        of_creation(world(), is_seen=False) == f"{few} the controller of Job has not looked at what its spec says now."
    )
    assert of_creation(world(), wanted=None).startswith("has too few pods: no pod exists;")
    assert of_creation(world().with_gap("Event")).startswith(f"{few} Event")


def test_a_controller_that_does_not_run_is_named() -> None:
    few = "has too few pods: 0 of 4 pods exist;"
    down = Controller("manager", deployment="a/manager", ready=0, replicas=2)
    assert of_creation(world(controllers=(down,))) == f"{few} manager does not run (0 of 2 replicas ready)."
    stale = Controller("manager", lease="kube-system/manager", renewed="2026-11-20T07:00:00Z", lease_seconds=15)
    assert of_creation(world(controllers=(stale,))) == (
        f"{few} manager does not run (Lease kube-system/manager was last renewed 60m ago)."
    )
    fresh = structs.replace(stale, renewed="2026-11-20T07:59:55Z")
    assert "does not run" not in of_creation(world(controllers=(fresh, Controller("other", ready=1)), made=(SET,)))


def test_the_latest_refusal_is_told_of_what_was_made_too() -> None:
    old = JobEvent("Job", "default", "llm", "FailedCreate", "old", last="2026-11-20T06:00:00Z")
    new = JobEvent("JobSet", "default", "llm", "FailedCreate", "new.", last="2026-11-20T07:00:00Z")
    other = JobEvent("Job", "default", "llm", "BackOff", "no", last="2026-11-20T07:30:00Z")
    told = of_creation(world(old, new, other, made=(SET,)))
    assert told == "is not created as a whole: 0 of 4 pods exist; JobSet llm said 60m ago: new."
    other_word = JobEvent(
        "Job", "default", "llm", "MPIJobFailed", 'pods "llm-0" is forbidden: no', last="2026-11-20T07:00:00Z"
    )
    assert "said 60m ago: pods" in of_creation(world(other_word))
    assert "said last: old" in of_creation(world(structs.replace(old, last="")))


def gated(*names: str, minimum: int = 2) -> tuple[Job, Drawing]:
    drawn = cluster("s: b[n0]").with_group("pg", minimum)
    for number, name in enumerate(names):
        drawn = drawn.with_pod(f"default/pg-{number}", gang="default/pg", gates=(name,) if name else ())
    subject = subjects.find(drawn, "pg", "default")
    assert isinstance(subject, Subject)
    return Job("default/pg", subject=subject, minimum=minimum, pending=len(names)), drawn


def held_job() -> Job:
    return Job("default/llm", "Job", (LLM,))


def test_gates_hold_a_job_that_needs_the_pods_which_have_them() -> None:
    assert gates.ask(Job("default/x"), world()) == NotHere()
    assert gates.ask(*gated("", "")) == NotHere()
    held = gates.ask(*gated("own.example.com/ready", "kueue.x-k8s.io/topology"))
    assert isinstance(held, Held)
    assert held.told == (
        "2 of 2 pods have scheduling gate kueue.x-k8s.io/topology (removed by Kueue) and own.example.com/ready."
    )
    three = structs.replace(held_job(), pods=tuple(PodState(f"default/w-{n}", gates=("wait",)) for n in range(3)))
    told = gates.ask(three, world())
    assert isinstance(told, Held)
    assert told.told == "3 of 3 pods have scheduling gate wait."
    some, drawn = gated("", "wait", minimum=1)
    both = tuple(PodState(f"default/pg-{number}") for number in range(2))
    assert gates.ask(structs.replace(some, pods=both), drawn) == Passed("1 of 2 pods has scheduling gate wait")
