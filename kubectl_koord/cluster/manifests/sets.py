"""Kubernetes SIGs' sets of sets: JobSet and LeaderWorkerSet."""

from itertools import chain

from msgspec import Struct

from kubectl_koord.cluster.manifests.builtin import JobSpec, pods_of_job
from kubectl_koord.cluster.manifests.workload import AnyWorkload, Count, Made, Set, Template, WorkloadKind, number


class JobTemplate(Struct, gc=False):
    """replicatedJobs[].template."""

    spec: JobSpec


class ReplicatedJob(Struct, gc=False):
    """replicatedJobs[]."""

    name: str
    template: JobTemplate
    replicas: Count | None = None


class JobSetSpec(Struct, gc=False, rename="camel"):
    """spec of a JobSet."""

    replicated_jobs: list[ReplicatedJob] | None = None
    suspend: bool | None = None


class JobSet(AnyWorkload):
    """One JobSet."""

    spec: JobSetSpec


class LeaderWorkerTemplate(Struct, gc=False, rename="camel"):
    """spec.leaderWorkerTemplate."""

    worker_template: Template
    leader_template: Template | None = None
    size: Count | None = None


class LeaderWorkerSetSpec(Struct, gc=False, rename="camel"):
    """spec of a LeaderWorkerSet."""

    leader_worker_template: LeaderWorkerTemplate
    replicas: Count | None = None


class LeaderWorkerSet(AnyWorkload):
    """One LeaderWorkerSet."""

    spec: LeaderWorkerSetSpec


def _job_set(name: str, written: JobSet) -> Made:
    """Return its pods: `NAME-REPLICATEDJOB-JOB-INDEX`."""
    sets = (
        Set(
            one.template.spec.template,
            job,
            pods_of_job(one.template.spec),
            labels={
                "job-name": job,
                "batch.kubernetes.io/job-name": job,
                "jobset.sigs.k8s.io/jobset-name": name,
                "jobset.sigs.k8s.io/replicatedjob-name": one.name,
            },
        )
        for one in written.spec.replicated_jobs or ()
        for job in (f"{name}-{one.name}-{at}" for at in range(number(one.replicas)))
    )
    return Made(sets, is_suspended=bool(written.spec.suspend))


def _leader_worker_set(name: str, written: LeaderWorkerSet) -> Made:
    """Return its pods: the leaders `NAME-GROUP`, the workers of each `NAME-GROUP-INDEX`, from 1."""
    spec = written.spec.leader_worker_template
    labels = {"leaderworkerset.sigs.k8s.io/name": name}
    groups, workers = number(written.spec.replicas), max(number(spec.size) - 1, 0)
    leaders = Set(spec.leader_template or spec.worker_template, name, groups, labels=labels)
    others = (Set(spec.worker_template, f"{name}-{at}", workers, 1, labels) for at in range(groups))
    return Made(chain((leaders,), others))


FAMILIES = (
    WorkloadKind("jobset.x-k8s.io", "JobSet", JobSet, _job_set),
    WorkloadKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", LeaderWorkerSet, _leader_worker_set),
)
