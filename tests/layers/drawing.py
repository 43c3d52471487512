"""Jobs on a small cluster, with the states of their pods as kubelets write them."""

from collections.abc import Iterable

from msgspec import structs

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.explain.way import way
from kubectl_koord.model.jobs import ContainerState, JobEvent, Jobs, Owner, PodState
from kubectl_koord.model.pods import FinishedPod
from kubectl_koord.reports.jobs import WhyReport
from kubectl_koord.simulation import subjects
from tests.build import Drawing, cluster

HOUR_AGO = "2026-11-20T09:00:00Z"
CREATED = "2026-11-20T08:00:00Z"
LLM = Owner("PyTorchJob", "kubeflow.org", "default", "llm-7", "u-llm-7", CREATED, wanted=4)


def waiting(reason: str, message: str = "", **fields: object) -> ContainerState:
    """Return a container that has not started."""
    bare = ContainerState("main", "nvcr.io/team/llm:3", reason=reason, message=message)
    return structs.replace(bare, **fields)


def ready(**fields: object) -> ContainerState:
    """Return a container that runs and is ready."""
    bare = ContainerState("main", "nvcr.io/team/llm:3", state="running", ready=True, since=HOUR_AGO)
    return structs.replace(bare, **fields)


def pod(name: str, *containers: ContainerState, node: str = "n0", **fields: object) -> PodState:
    """Return a pod with a node, which runs where all of its containers are ready."""
    runs = bool(containers) and all(one.ready for one in containers)
    bare = PodState(
        f"default/{name}",
        f"uid-{name}",
        phase="Running" if runs else "Pending",
        node=node,
        created=CREATED,
        scheduled=HOUR_AGO,
        scheduler="koord-scheduler",
        ready=runs,
        containers=containers,
    )
    return structs.replace(bare, **fields)


def event(name: str, reason: str, message: str, kind: str = "Pod", last: str = HOUR_AGO, **fields: object) -> JobEvent:
    """Return an event about an object of the default namespace."""
    return structs.replace(JobEvent(kind, "default", name, reason, message, last=last), **fields)


def gang_of(*pods: PodState, minimum: int = 0, nodes: str = "s: b[n0 n1 n2 n3]") -> Drawing:
    """Return a cluster with a gang of these pods, all of them bound."""
    drawn = cluster(nodes).with_group("job", minimum or len(pods))
    for one in pods:
        name = one.key.partition("/")[2]
        if one.phase in {"Failed", "Succeeded"}:
            drawn = drawn.with_finished(name, "job")
        elif one.node:
            drawn = drawn.with_running(name, one.node, gang="default/job")
    return drawn.but(jobs=Jobs(asked="PodGroup/default/job", pods=pods))


def alone(one: PodState, *events: JobEvent, nodes: str = "s: b[n0 n1]") -> Drawing:
    """Return a cluster with one pod that has a node, or had one."""
    name = one.key.partition("/")[2]
    drawn = cluster(nodes)
    if one.phase in {"Failed", "Succeeded"}:
        drawn = drawn.but(finished=(FinishedPod("default", name, "", was_bound=True),))
    else:
        drawn = drawn.with_running(name, one.node)
    return drawn.but(jobs=Jobs(asked=f"Pod/{one.key}", pods=(one,), events=events))


def told(drawn: Drawing, *events: JobEvent) -> Drawing:
    """Return the cluster with events."""
    jobs = drawn.jobs or Jobs()
    return drawn.but(jobs=structs.replace(jobs, events=(*jobs.events, *events)))


def asked(drawn: Drawing, name: str = "job") -> WhyReport:
    """Return the answer about a gang, a pod, or the job of the cluster where nobody in it has the name."""
    found = subjects.find(drawn, name, "default")
    return way(drawn, found if isinstance(found, Subject) else None)


def said(report: WhyReport) -> tuple[str, str]:
    """Return which layer holds the job, and what the verdict rests on."""
    held = [row.layer for row in report.layers if row.state == "held"]
    return (held[0] if held else ""), report.cause.message if report.cause else ""


def states(report: WhyReport) -> dict[str, str]:
    """Return the state of each layer that was asked and is there."""
    return {row.layer: row.state for row in report.layers if row.state != "not-here"}


def steps(report: WhyReport) -> Iterable[tuple[str, str, str]]:
    """Return what to do next."""
    return [(one.action, one.message, one.command) for one in report.next_steps]
