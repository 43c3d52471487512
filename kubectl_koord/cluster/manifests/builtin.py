"""Kubernetes' own: Job, StatefulSet, Deployment, ReplicaSet."""

from msgspec import Struct, field

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
    volume_claim_templates: list[PersistentVolumeClaim] | None = None


class StatefulSet(AnyWorkload):
    """One StatefulSet."""

    spec: StatefulSetSpec


def pods_of_job(spec: JobSpec) -> int:
    """Return how many pods of a Job run at once."""
    parallel = number(spec.parallelism)
    return parallel if spec.completions is None else min(parallel, number(spec.completions))


def _job(name: str, written: Job) -> Made:
    labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
    spec = written.spec
    pods = Set(spec.template, name, pods_of_job(spec), labels=labels)
    return Made((pods,), is_suspended=bool(spec.suspend))


def _replicas(name: str, written: Replicas) -> Made:
    return Made((Set(written.spec.template, name, number(written.spec.replicas)),))


def _stateful_set(name: str, written: StatefulSet) -> Made:
    spec = written.spec
    claims = tuple(spec.volume_claim_templates or ())
    return Made((Set(spec.template, name, number(spec.replicas), spec.ordinals.start, claims=claims),))


FAMILIES = (
    WorkloadKind("batch", "Job", Job, _job),
    WorkloadKind("apps", "StatefulSet", StatefulSet, _stateful_set),
    WorkloadKind("apps", "Deployment", Replicas, _replicas),
    WorkloadKind("apps", "ReplicaSet", Replicas, _replicas),
)
