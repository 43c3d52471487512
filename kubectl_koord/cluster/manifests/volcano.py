"""Volcano's Job: its tasks, for the scheduler that it names."""

from collections.abc import Sequence

from msgspec import Struct, ValidationError, structs

from kubectl_koord.cluster.manifests.workload import AnyWorkload, Count, Made, Set, Template, WorkloadKind, number
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.kubernetes.storage import ClaimSpec, PersistentVolumeClaim
from kubectl_koord.cluster.objects.pods.fields import ClaimSource, Volume


class JobVolume(Struct, gc=False, rename="camel"):
    """spec.volumes[]: a claim that is there, or the spec of one that is made for the job."""

    volume_claim_name: str | None = None
    volume_claim: ClaimSpec | None = None


class Task(Struct, gc=False, rename="camel"):
    """spec.tasks[]."""

    template: Template
    name: str = ""
    replicas: Count | None = None
    min_available: Count | None = None


class JobSpec(Struct, gc=False, rename="camel"):
    """spec of a Volcano Job."""

    tasks: list[Task] | None = None
    scheduler_name: str | None = None
    min_available: Count | None = None
    priority_class_name: str | None = None
    volumes: list[JobVolume] | None = None


class Job(AnyWorkload):
    """One Volcano Job."""

    spec: JobSpec


def _volumes(name: str, written: Sequence[JobVolume]) -> tuple[list[Volume], tuple[PersistentVolumeClaim, ...]]:
    """Return the volumes that every pod gets, and the claims that are made for them.

    Mirrors `createJobIOIfNotExist`, which gives a claim a name at random, and `createJobPod`.

    Raises:
        ValidationError: when Volcano refuses one (`validateIO`).

    """
    volumes: dict[str, Volume] = {}
    made: list[PersistentVolumeClaim] = []
    for at, one in enumerate(written):
        if (one.volume_claim is None) == (not one.volume_claim_name):
            raise ValidationError(f"Expected one of volumeClaimName and volumeClaim - at `$.spec.volumes[{at}]`")
        claim = one.volume_claim_name or f"{name}-pvc-{at}"
        volumes.setdefault(claim, Volume(f"spec.volumes[{at}]", ClaimSource(claim)))
        if one.volume_claim is not None:
            made.append(PersistentVolumeClaim(Meta(name=claim), one.volume_claim))
    return [*volumes.values()], tuple(made)


def _with(volumes: Sequence[Volume], template: Template) -> Template:
    spec = structs.replace(template.spec, volumes=[*(template.spec.volumes or ()), *volumes] or None)
    return structs.replace(template, spec=spec)


def _job(name: str, written: Job) -> Made:
    """Return its pods: `NAME-TASK-INDEX`, with Volcano's scheduler unless another is named, and its PodGroup.

    Mirrors `createJobPod`, `patchDefaultScheduler` and `patchDefaultMinAvailable`: a task without replicas has no pods,
    and all of a task's pods are needed unless it, or the job, has a minAvailable.
    """
    spec = written.spec
    tasks = spec.tasks or []
    volumes, claims = _volumes(name, spec.volumes or ())
    needed = (number(task.min_available, number(task.replicas, 0)) for task in tasks)
    return Made(
        (
            Set(
                _with(volumes, task.template),
                f"{name}-{task.name or f'default{at}'}",
                number(task.replicas, 0),
                labels={"volcano.sh/job-name": name},
                scheduler=spec.scheduler_name or "volcano",
                priority_class=spec.priority_class_name or "",
            )
            for at, task in enumerate(tasks)
        ),
        number(spec.min_available, 0) or sum(needed),
        of_another=True,
        claims=claims,
    )


FAMILIES = (WorkloadKind("batch.volcano.sh", "Job", Job, _job),)
