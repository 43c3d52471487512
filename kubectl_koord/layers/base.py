"""What a layer is: a module with a NAME, what it READS, and `ask`; and what it answers of a job."""

from collections.abc import Iterable
from typing import Protocol, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.gangs import Subject
from kubectl_koord.model.jobs import ObjectCondition, Owner, PodState, QueueUnit
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import CauseCode, WayOut


class Job(Struct, frozen=True):
    """What was asked about: an owner of pods, a gang, or a pod, with all of its pods that exist.

    `key` is `namespace/name` and `kind` what it is, both of the object that the user named; empty for a gang. `owners`
    goes from that object up. `subject` is what the scheduler sees of it, None where it has no pod. `pods` are those
    with a node, or that a kubelet refused; `minimum` is how many must run at once, and `pending` how many pods have no
    node.
    """

    key: str
    kind: str = ""
    owners: tuple[Owner, ...] = ()
    subject: Subject | None = None
    pods: tuple[PodState, ...] = ()
    minimum: int = 0
    pending: int = 0


class Passed(Struct, frozen=True):
    """The layer lets the job through; the message says what was seen."""

    message: str = ""
    object: str = ""
    since: str = ""


class Held(Struct, frozen=True):
    """The layer holds the job.

    `told` goes on after the name of the job, as in `waits in a queue: ...`; `message` is the short form for the list.
    `object` is what decides, `Kind/name` or `Kind/namespace/name`, and `pods` those that it is about.
    """

    code: CauseCode
    told: str
    message: str
    object: str = ""
    since: str = ""
    pods: tuple[str, ...] = ()
    steps: tuple[WayOut, ...] = ()


class Unknown(Struct, frozen=True):
    """Whether the layer holds the job cannot be told, and why."""

    message: str
    object: str = ""


class NotHere(Struct, frozen=True):
    """The job does not go through this layer."""


Answer: TypeAlias = Passed | Held | Unknown | NotHere


class Layer(Protocol):
    """One layer; modules are such."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a constant of a module
        """How lists call it."""

    @property
    def READS(self) -> tuple[str, ...]:  # noqa: N802
        """The kinds that it is answered from, as `cluster/kinds.py` names them."""

    def ask(self, job: Job, snapshot: Snapshot) -> Answer:
        """Tell whether it lets a job through."""


def is_mine(owners: Iterable[str], namespace: str, job: Job, made: Iterable[Owner] = ()) -> bool:
    """Tell whether any of these, each `Kind/name`, is the job, what made it, or what it made."""
    known = {(f"{one.kind}/{one.name}", one.namespace) for one in (*job.owners, *made)}
    return any((owner, namespace) in known for owner in owners)


def is_queued(job: Job, snapshot: Snapshot) -> bool:
    """Tell whether a queue cares for the job: one that is suspended then is what the queue wants."""
    jobs = snapshot.jobs
    if jobs is None:
        return False
    waiting = [work for work in jobs.kueue.workloads.values() if is_mine(work.owners, work.namespace, job)]
    if waiting:
        return not any(is_true(work.conditions, "Admitted") for work in waiting)
    if any(is_consumer(unit, job) for unit in jobs.koord.units.values()):
        return True
    return any(one.queue for one in job.owners) and serves_kueue(snapshot)


def serves_kueue(snapshot: Snapshot) -> bool:
    """Tell whether the cluster has Kueue, as far as is known: of files whether they hold anything of it."""
    jobs = snapshot.jobs
    if jobs is None:
        return False
    gap = snapshot.gap(WORKLOAD)
    is_refused = gap is not None and gap.code != "missing"
    return is_refused or bool(jobs.kueue.workloads or jobs.kueue.local_queues or jobs.kueue.cluster_queues)


def is_true(conditions: Iterable[ObjectCondition], kind: str) -> bool:
    """Tell whether a condition of a type is True."""
    return any(one.type == kind and one.status == "True" for one in conditions)


def is_consumer(unit: QueueUnit, job: Job, made: Iterable[Owner] = ()) -> bool:
    """Tell whether a QueueUnit stands for the job, what made it, or what it made."""
    consumer = unit.consumer
    home = unit.consumer_namespace or unit.namespace
    return consumer is not None and is_mine((f"{consumer.kind}/{consumer.name}",), home, job, made)


WORKLOAD, UNIT = "Workload", "QueueUnit"
"""How gaps call these kinds."""
