"""The way of one job: which layer holds it, what the scheduler would do then, and what is the scheduler's alone."""

import re

import pytest
from msgspec import structs

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.explain import every_pending
from kubectl_koord.explain import way as of_way
from kubectl_koord.explain.way import SCHEDULER, held_before, is_for_scheduler, is_running, subject_of, way
from kubectl_koord.explain.why import why
from kubectl_koord.layers import binding, running
from kubectl_koord.layers.base import Job, NotHere, serves_kueue
from kubectl_koord.model.jobs import JobEvent, Jobs, Kueue, KueueWorkload, LocalQueue, Owner
from kubectl_koord.model.reservations import OwnerReference
from kubectl_koord.render.pages.why import headline
from kubectl_koord.render.show import text
from kubectl_koord.reports.jobs import LayerCount, LayerRow, WhyReport
from kubectl_koord.simulation import subjects
from kubectl_koord.simulation.subjects import is_owner_kind
from tests.build import Drawing, cluster, rules
from tests.layers.drawing import LLM, asked, gang_of, pod, ready, states
from tests.render.samples import PIPE

SPINE = "SpineLayer"
NODES = "s: b[n0:8 n1:8]"


def subject(drawn: Drawing, name: str = "job") -> Subject:
    found = subjects.find(drawn, name, "default")
    assert isinstance(found, Subject)
    return found


def suspended(planned: Drawing, nodes: str = NODES) -> Drawing:
    """Return a cluster with a suspended job that would make these pods."""
    owner = structs.replace(LLM, suspended=True, wanted=2)
    jobs = Jobs("PyTorchJob/default/llm-7", (owner,), planned=planned.pending, planned_groups=planned.pod_groups)
    return cluster(nodes).but(jobs=jobs)


def then(drawn: Drawing) -> tuple[str, str]:
    """Return what becomes of a suspended job once it is let through."""
    report = asked(drawn, "llm-7")
    assert (report.verdict, states(report)["owner"]) == ("no", "held")
    return next((row.state, row.message) for row in report.layers if row.layer == SCHEDULER)


def test_where_nothing_around_the_scheduler_was_read_its_answer_is_the_answer() -> None:
    drawn = cluster(NODES).with_gang("job", 2, 4)
    row = LayerRow(SCHEDULER, "passed", "would be placed now", since=drawn.pending[0].created)
    assert way(drawn, subject(drawn)) == structs.replace(why(drawn, subject(drawn)), layers=(row,))


@pytest.mark.parametrize(
    ("name", "alone"),
    [("job", True), ("default/job", True), ("job-0", True), ("pytorchjob/job", False), ("other", False)],
)
def test_a_gang_by_its_own_name_is_for_the_scheduler_alone_and_an_owner_is_not(name: str, *, alone: bool) -> None:
    assert is_for_scheduler(subject(cluster(NODES).with_gang("job", 2, 4)), name) is alone


def test_what_comes_after_the_layer_that_holds_is_computed_as_if_it_let_pass() -> None:
    gang = cluster(NODES).with_gang
    assert then(suspended(gang("job", 2, 4, must_gather=SPINE))) == ("then", "would be placed in s")
    assert then(suspended(gang("job", 2, 9, must_gather=SPINE))) == (
        "then",
        "would not start: its 2 pods (9 CPU) do not fit even in an empty spine; waiting does not help",
    )
    assert then(suspended(gang("job", 2, 4), nodes="s: b[n0:8]")) == ("then", "would be placed")
    assert then(suspended(gang("job", 2, 4, topology=rules(f"PreferGather {SPINE}"))))[1] == "would be placed on n0"
    alone = cluster(NODES).with_pod("a", cpu=4).with_pod("b", cpu=4)
    assert then(suspended(alone)) == ("then", "its first pod would be placed")
    assert then(suspended(cluster())) == ("unknown", "no pod of it is known yet")
    assert then(suspended(gang("job", 2, 4)).with_gap("Pod")) == (
        "then",
        "cannot be told: Pod could not be read: you may not read it",
    )


def test_a_job_that_reached_the_scheduler_has_its_answer_as_a_layer() -> None:
    pods = tuple(pod(name, node="") for name in ("job-0", "job-1"))
    jobs = Jobs("PyTorchJob/default/llm-7", (structs.replace(LLM, wanted=2),), pods=pods)

    def of(cpu: int) -> Drawing:
        return cluster(NODES).with_gang("job", 2, cpu, must_gather=SPINE).but(jobs=jobs)

    told = [asked(drawn) for drawn in (of(4), of(9), of(4).with_gap("ResourceSlice").with_gap("ElasticQuota"))]
    assert [(one.verdict, one.layers[-1].layer, one.layers[-1].state) for one in told] == [
        ("yes", SCHEDULER, "passed"),
        ("no", "topology", "held"),
        ("unknown", SCHEDULER, "unknown"),
    ]


def of_lone_pods(*cpus: int, gates: tuple[str, ...] = ()) -> WhyReport:
    """Return the answer about a Job whose pods are in no gang, the first of them with gates."""
    names = [f"llm-{number}" for number in range(len(cpus))]
    drawn = cluster(NODES)
    for name, cpu in zip(names, cpus, strict=True):
        drawn = drawn.with_pod(name, cpu=cpu, gates=gates if name == "llm-0" else ())
    pods = tuple(pod(name, node="", gates=gates if name == "llm-0" else ()) for name in names)
    job = structs.replace(LLM, kind="Job", group="batch", wanted=len(cpus))
    jobs = Jobs("Job/default/llm-7", (job,), pods=pods)
    drawn = drawn.but(jobs=jobs)
    return way(drawn, subject_of(drawn))


def test_of_a_job_of_lone_pods_the_first_that_is_refused_is_told_and_how_many_are_alike() -> None:
    report = of_lone_pods(4, 9, 9, 9)
    assert headline(report) == (
        "default/llm-7 (Job) is pending: its 1 pod (9 CPU) does not fit even in an empty cluster; "
        "waiting does not help; 2 more pods alike."
    )
    pending = tuple(f"default/llm-{number}" for number in (1, 0, 2, 3))
    assert (report.lone_pod, report.pending_pods) == (False, pending)
    assert (report.layers[-1].layer, report.layers[-1].state) == ("nodes", "held")
    assert of_lone_pods(4, 4).verdict == "yes"
    assert of_lone_pods(9).pending_pods == ("default/llm-0",)


def test_of_a_job_of_very_many_pods_it_is_said_about_how_many_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_way, "_MOST_BESIDE", 1)
    said = "asked about 1 of its 2 other gangs and pods that wait."
    assert [one.message for one in of_lone_pods(4, 1, 1).warnings if one.code == "not-followed"] == [said]
    assert not [one for one in of_lone_pods(4, 1).warnings if one.code == "not-followed"]


def test_pods_of_a_job_that_have_a_gate_hold_no_others_of_it() -> None:
    report = of_lone_pods(4, 9, gates=("wait",))
    assert states(report)["may be tried"] == "passed"
    assert (report.layers[-1].layer, report.layers[-1].state) == ("nodes", "held")


def test_of_a_job_of_several_gangs_the_one_that_is_refused_is_told() -> None:
    drawn = cluster(NODES).with_gang("a", 1, 4).with_gang("b", 2, 9)
    pods = tuple(pod(name, node="") for name in ("a-0", "b-0", "b-1"))
    jobs = Jobs("PyTorchJob/default/llm-7", (structs.replace(LLM, wanted=3),), pods=pods)
    drawn = drawn.but(jobs=jobs)
    report = way(drawn, subject(drawn, "a"))
    assert (report.gang, report.verdict, report.layers[-1].layer) == ("default/b", "no", "nodes")


def test_a_job_that_has_no_pods_and_that_nothing_holds_is_unknown() -> None:
    jobs = Jobs("PyTorchJob/default/llm-7", (structs.replace(LLM, wanted=1),), pods=(pod("a", ready()),))
    report = asked(cluster(NODES).but(jobs=jobs), "llm-7")
    assert report.cause is not None
    assert (report.verdict, report.cause.code) == ("unknown", "owner-waits")


def test_a_queue_that_may_not_be_read_makes_a_job_without_pods_unknown() -> None:
    owner = structs.replace(LLM, wanted=1, queue="q")
    jobs = Jobs("PyTorchJob/default/llm-7", (owner,), pods=(pod("a", ready()),))
    report = asked(cluster(NODES).but(jobs=jobs).with_gap("Workload"), "llm-7")
    assert report.cause is not None
    assert (report.verdict, report.cause.code) == ("unknown", "not-readable")


def test_a_job_runs_once_all_its_pods_have_started_and_are_ready() -> None:
    runs, waits = gang_of(pod("a", ready()), pod("b", ready())), cluster(NODES).with_gang("job", 2, 4)
    assert is_running(runs, subject(runs))
    assert not is_running(waits, subject(waits))
    assert not is_running(waits.but(jobs=Jobs("PodGroup/default/job")), subject(waits))


def test_what_the_scheduler_sees_of_a_job_is_the_gang_or_the_pod_that_it_made() -> None:
    runs = gang_of(pod("a", ready()), pod("b", ready()))
    assert subject_of(runs) == subject(runs)
    assert subject_of(cluster(NODES)) is None
    alone = (
        cluster(NODES)
        .with_running("other", "n0")
        .with_pod("0")
        .with_pod("a")
        .but(jobs=Jobs("Pod/default/a", pods=(pod("a", node=""),)))
    )
    assert subject_of(alone) == subject(alone, "a")


def test_layers_after_binding_are_not_there_for_a_job_without_pods() -> None:
    job = Job("default/llm-7", owners=(LLM,))
    assert isinstance(binding.ask(job, cluster(NODES)), NotHere)
    assert isinstance(running.ask(job, cluster(NODES)), NotHere)
    assert not serves_kueue(cluster(NODES))


def test_an_init_container_that_is_done_breaks_nothing() -> None:
    report = asked(gang_of(pod("a", ready(init=True), ready()), pod("b", ready())))
    assert (report.verdict, states(report)["running and ready"]) == ("yes", "passed")


def test_the_page_of_a_job_that_a_layer_holds_names_it_and_then_lists_its_way() -> None:
    planned = cluster(NODES).with_gang("job", 2, 4, must_gather=SPINE)
    page = text(asked(suspended(planned), "llm-7"), style=PIPE)
    assert page.splitlines()[0].startswith("default/llm-7 (PyTorchJob) is suspended")
    assert re.findall(r"^ *(\S+) +(owner|gang, quota, topology) ", page, re.MULTILINE) == [
        ("HELD", "owner"),
        ("then", SCHEDULER),
    ]


def test_what_changes_of_a_job_that_a_layer_holds_is_told_without_ages() -> None:
    held = asked(suspended(cluster(NODES).with_gang("job", 2, 4)), "llm-7")
    runs = asked(gang_of(pod("a", ready()), pod("b", ready())))
    assert every_pending.changes(held, held) == ""
    assert every_pending.changes(runs, held).startswith("is suspended")
    said = every_pending.outcome(held, reached=False, waited="1m")
    assert said.startswith("default/llm-7 does not run after 1m: it is suspended")


def test_the_kind_of_an_owner_is_known_in_the_singular_and_the_plural() -> None:
    assert [name for name in ("job", "Jobs", "jobs.batch", "pod", "x") if is_owner_kind(name)] == [
        "job",
        "Jobs",
        "jobs.batch",
    ]


def listing() -> Drawing:
    """Return a cluster with a job in a queue, one without pods, one that runs, and a gang without room."""

    def job(name: str, **fields: object) -> Owner:
        return structs.replace(LLM, kind="Job", group="batch", name=name, **fields)

    queued = KueueWorkload("default", "job-queued", queue="q", owners=("Job/queued",), created="1")
    refused = JobEvent("Job", "default", "refused", "FailedCreate", "exceeded quota")
    whole = job("whole", wanted=1)
    owned = (
        job("queued", suspended=True), job("refused"), whole, job("ended", finished="Complete"), job("none", wanted=0),
        structs.replace(job("part", wanted=9), owner=OwnerReference("Job", "refused")),
        job("free", wanted=None),
        structs.replace(job("nightly", suspended=True), kind="CronJob"), job("gated", wanted=1, queue="q"),
    )  # fmt: skip
    kueue = Kueue(
        workloads={"default/job-queued": queued}, local_queues={"default/q": LocalQueue("default", "q", "cq")}
    )
    drawn = cluster(NODES).with_gang("big", 2, 9).with_running("whole-0", "n0", owner="Job/whole")
    drawn = drawn.with_running("free-0", "n0", owner="Job/free")
    drawn = drawn.with_pod("gated-0", owner="Job/gated", gates=("wait",)).with_finished("done", "big")
    return drawn.but(jobs=Jobs(owners=owned, kueue=kueue, events=(refused,)))


def test_a_listing_has_the_jobs_that_a_layer_holds_before_they_have_pods() -> None:
    report = every_pending.every_pending(listing())
    assert [(item.gang, item.owner_kind, item.cause and item.cause.code) for item in report.items] == [
        ("default/big", "", "never-fits"),
        ("default/gated", "Job", "scheduling-gated"),
        ("default/queued", "Job", "queue-holds"),
        ("default/refused", "Job", "pods-not-created"),
    ]
    assert report.layers == (
        LayerCount("may be tried", "no", 1),
        LayerCount("nodes", "no", 1),
        LayerCount("pods", "no", 1),
        LayerCount("queue (Kueue)", "no", 1),
    )
    assert [item.pending_pods for item in report.items[1:]] == [("default/gated-0",), (), ()]
    page = text(report, style=PIPE)
    assert page.startswith("4 jobs wait: 1 in queues, 1 for pods, 1 not to be tried, 1 for room.")
    assert [item.gang for item in every_pending.every_pending(listing(), causes=["queue-holds"]).items] == [
        "default/queued"
    ]
    assert every_pending.every_pending(listing(), "other").items == ()
    assert [item.gang for item in every_pending.every_pending(listing().but(jobs=None)).items] == [
        "default/big",
        "default/gated-0",
    ]


def test_a_listing_has_what_is_no_job_only_where_a_pod_of_it_was_refused() -> None:
    serve = structs.replace(LLM, kind="Deployment", group="apps", name="serve", wanted=2)
    replicas = structs.replace(serve, kind="ReplicaSet", name="serve-1", owner=OwnerReference("Deployment", "serve"))
    agent = structs.replace(serve, kind="DaemonSet", name="agent")
    owned = (serve, replicas, agent, structs.replace(serve, name="quiet"))
    events = tuple(
        JobEvent(kind, "default", name, reason, "exceeded quota")
        for kind, name, reason in (
            ("ReplicaSet", "serve-1", "FailedCreate"),
            ("DaemonSet", "agent", "FailedCreate"),
            ("Deployment", "quiet", "ScalingReplicaSet"),
            ("Pod", "quiet-0", "FailedCreatePodSandBox"),
        )
    )
    report = every_pending.every_pending(cluster(NODES).but(jobs=Jobs(owners=owned, events=events)))
    assert [(item.gang, item.owner_kind, item.cause and item.cause.code) for item in report.items] == [
        ("default/agent", "DaemonSet", "pods-not-created"),
        ("default/serve", "Deployment", "pods-not-created"),
    ]


def test_a_job_that_a_layer_holds_no_more_leaves_the_listing() -> None:
    before = every_pending.every_pending(listing())
    after = listing().but(jobs=None, pending=())
    told = every_pending.listing_changes(after, before, every_pending.every_pending(after))
    assert ("default/queued", "waits no more, or is gone") in [(one.subject, one.text) for one in told]
    assert held_before(after) is None


def test_gangs_tell_the_layer_that_holds_them() -> None:
    drawn = cluster(NODES).with_gang("big", 2, 9).with_gang("small", 1, 1)
    assert [(row.gang, row.layer) for row in every_pending.gangs(drawn).items] == [
        ("default/big", "nodes"),
        ("default/small", ""),
    ]
