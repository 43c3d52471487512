"""Kubernetes SIGs' sets of sets: JobSet and LeaderWorkerSet."""

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct, field

from kubectl_koord.cluster.manifests.builtin import JobSpec, pods_of_job
from kubectl_koord.cluster.manifests.workload import (
    AnyWorkload,
    Count,
    Made,
    Set,
    Template,
    TemplateMeta,
    WorkloadKind,
    number,
)
from kubectl_koord.cluster.objects.kubernetes.storage import PersistentVolumeClaim
from kubectl_koord.model.unevaluated import PodSetting, PodUnevaluated, WideningPodSetting

_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_BY_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
_EXCLUSIVE_GROUPS = {
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
}


class JobTemplate(Struct, gc=False):
    """replicatedJobs[].template."""

    spec: JobSpec
    metadata: TemplateMeta = field(default_factory=TemplateMeta)


class ReplicatedJob(Struct, gc=False, rename="camel"):
    """replicatedJobs[]."""

    name: str
    template: JobTemplate
    replicas: Count | None = None
    depends_on: list[object] | None = None


class JobSetSpec(Struct, gc=False, rename="camel"):
    """spec of a JobSet."""

    replicated_jobs: list[ReplicatedJob] | None = None
    suspend: bool | None = None
    volume_claim_policies: list[object] | None = None
    startup_policy: dict[str, object] | None = None


class JobSet(AnyWorkload):
    """One JobSet."""

    spec: JobSetSpec


class LeaderWorkerTemplate(Struct, gc=False, rename="camel"):
    """spec.leaderWorkerTemplate."""

    worker_template: Template
    leader_template: Template | None = None
    size: Count | None = None
    volume_claim_templates: list[PersistentVolumeClaim] | None = None


class LeaderWorkerSetSpec(Struct, gc=False, rename="camel"):
    """spec of a LeaderWorkerSet."""

    leader_worker_template: LeaderWorkerTemplate
    replicas: Count | None = None
    startup_policy: str | None = None


class LeaderWorkerSet(AnyWorkload):
    """One LeaderWorkerSet."""

    spec: LeaderWorkerSetSpec


def _of_job_set(written: JobSet, job: JobTemplate) -> Iterator[PodUnevaluated]:
    """Yield what JobSet adds to the pods of a job, and is not evaluated: it tells jobs apart by what is placed."""
    said = (written.metadata.annotations, job.metadata.annotations, job.spec.template.metadata.annotations)
    keys = {key for annotations in said for key in annotations or ()}
    if _EXCLUSIVE in keys:
        by_selector = _BY_NODE_SELECTOR in keys
        yield WideningPodSetting("exclusive-node-selector") if by_selector else PodSetting("exclusive-topology")
    if written.spec.volume_claim_policies:
        yield PodSetting("volume-claim-policy")


def made_of_job_set(name: str, written: JobSet) -> Made:
    """Return the pods of a JobSet: `NAME-REPLICATEDJOB-JOB-INDEX`."""
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
            unevaluated=tuple(_of_job_set(written, one.template)),
            at=("spec", "replicatedJobs", place, "template", "spec", "template"),
        )
        for place, one in enumerate(written.spec.replicated_jobs or ())
        for job in (f"{name}-{one.name}-{at}" for at in range(number(one.replicas)))
    )
    ordered = (written.spec.startup_policy or {}).get("startupPolicyOrder") == "InOrder"
    depending = any(one.depends_on for one in written.spec.replicated_jobs or ())
    in_turn = "spec.startupPolicy: InOrder" if ordered else "spec.replicatedJobs[].dependsOn" if depending else ""
    return Made(sets, is_suspended=bool(written.spec.suspend), in_turn=in_turn)


def _leader_worker_set(name: str, written: LeaderWorkerSet) -> Made:
    """Return its pods: the leaders `NAME-GROUP`, the workers of each `NAME-GROUP-INDEX`, from 1."""
    spec = written.spec.leader_worker_template
    labels = {"leaderworkerset.sigs.k8s.io/name": name}
    groups, workers = number(written.spec.replicas), max(number(spec.size) - 1, 0)
    claims = tuple(spec.volume_claim_templates or ())
    is_exclusive = not _EXCLUSIVE_GROUPS.isdisjoint(written.metadata.annotations or ())
    more = (PodSetting("exclusive-topology"),) if is_exclusive else ()

    def of(template: Template, stem: str, count: int, first: int) -> Set:
        part = "workerTemplate" if template is spec.worker_template else "leaderTemplate"
        at = ("spec", "leaderWorkerTemplate", part)
        return Set(template, stem, count, first, labels, claims=claims, unevaluated=more, at=at)

    leaders = of(spec.leader_template or spec.worker_template, name, groups, 0)
    sets = chain((leaders,), (of(spec.worker_template, f"{name}-{at}", workers, 1) for at in range(groups)))
    return Made(sets, in_turn="spec.startupPolicy: LeaderReady" if written.spec.startup_policy == "LeaderReady" else "")


FAMILIES = (
    WorkloadKind("jobset.x-k8s.io", "JobSet", JobSet, made_of_job_set),
    WorkloadKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", LeaderWorkerSet, _leader_worker_set),
)
