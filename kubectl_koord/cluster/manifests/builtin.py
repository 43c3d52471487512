"""Kubernetes' own: Job, CronJob, StatefulSet, Deployment, ReplicaSet."""

from msgspec import Struct, field, structs

from kubectl_koord.cluster.manifests.workload import AnyWorkload, Count, Made, Set, Template, WorkloadKind, number
from kubectl_koord.cluster.objects.kubernetes.storage import PersistentVolumeClaim


class JobSpec(Struct, gc=False, rename="camel"):
    """spec of a Job."""

    template: Template
    parallelism: Count | None = None
    completions: Count | None = None
    suspend: bool | None = None


class Job(AnyWorkload):
    """One Job."""

    spec: JobSpec


class JobTemplate(Struct, gc=False):
    """spec.jobTemplate of a CronJob."""

    spec: JobSpec


class CronJobSpec(Struct, gc=False, rename="camel"):
    """spec of a CronJob."""

    job_template: JobTemplate
    schedule: str = ""
    suspend: bool | None = None


class CronJob(AnyWorkload):
    """One CronJob."""

    spec: CronJobSpec


class ReplicaSpec(Struct, gc=False):
    """spec of a Deployment or ReplicaSet."""

    template: Template
    replicas: Count | None = None


class Replicas(AnyWorkload):
    """One Deployment or ReplicaSet."""

    spec: ReplicaSpec


class Ordinals(Struct, gc=False):
    """spec.ordinals."""

    start: Count = 0


class StatefulSetSpec(ReplicaSpec, rename="camel"):
    """spec of a StatefulSet."""

    ordinals: Ordinals = field(default_factory=Ordinals)
    pod_management_policy: str | None = None
    volume_claim_templates: list[PersistentVolumeClaim] | None = None


class StatefulSet(AnyWorkload):
    """One StatefulSet."""

    spec: StatefulSetSpec


def pods_of_job(spec: JobSpec) -> int:
    """Return how many pods of a Job run at once."""
    parallel = number(spec.parallelism)
    return parallel if spec.completions is None else min(parallel, number(spec.completions))


def _job(name: str, spec: JobSpec, at: tuple[str, ...] = ("spec", "template")) -> Made:
    labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
    pods = Set(spec.template, name, pods_of_job(spec), labels=labels, at=at)
    return Made((pods,), is_suspended=bool(spec.suspend))


def _cron_job(name: str, written: CronJob) -> Made:
    """Return the pods of its next Job, which has the name of the CronJob and a number after it."""
    spec = written.spec
    made = _job(name, spec.job_template.spec, ("spec", "jobTemplate", "spec", "template"))
    return structs.replace(made, is_suspended=made.is_suspended or bool(spec.suspend), schedule=spec.schedule)


def _replicas(name: str, written: Replicas) -> Made:
    return Made((Set(written.spec.template, name, number(written.spec.replicas), at=("spec", "template")),))


def _stateful_set(name: str, written: StatefulSet) -> Made:
    spec = written.spec
    claims = tuple(spec.volume_claim_templates or ())
    pods = Set(spec.template, name, number(spec.replicas), spec.ordinals.start, claims=claims, at=("spec", "template"))
    is_parallel = spec.pod_management_policy == "Parallel" or pods.count <= 1
    return Made((pods,), in_turn="" if is_parallel else "spec.podManagementPolicy: OrderedReady")


FAMILIES = (
    WorkloadKind("batch", "Job", Job, lambda name, written: _job(name, written.spec)),
    WorkloadKind("batch", "CronJob", CronJob, _cron_job),
    WorkloadKind("apps", "StatefulSet", StatefulSet, _stateful_set),
    WorkloadKind("apps", "Deployment", Replicas, _replicas),
    WorkloadKind("apps", "ReplicaSet", Replicas, _replicas),
)
