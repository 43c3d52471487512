"""Volcano's Job: its tasks, for the scheduler that it names."""

from msgspec import Struct

from kubectl_koord.cluster.manifests.workload import AnyWorkload, Made, Set, Template, WorkloadKind, number
from kubectl_koord.cluster.objects.fields.meta import Int32


class Task(Struct, gc=False):
    """spec.tasks[]."""

    template: Template
    name: str = ""
    replicas: Int32 | None = None


class JobSpec(Struct, gc=False, rename="camel"):
    """spec of a Volcano Job."""

    tasks: list[Task] | None = None
    scheduler_name: str | None = None


class Job(AnyWorkload):
    """One Volcano Job."""

    spec: JobSpec


def _job(name: str, written: Job) -> Made:
    """Return its pods: `NAME-TASK-INDEX` (`createJobPod`), with Volcano's scheduler unless another is named."""
    spec = written.spec
    return Made(
        Set(
            task.template,
            f"{name}-{task.name or f'default{at}'}",
            number(task.replicas),
            labels={"volcano.sh/job-name": name},
            scheduler=spec.scheduler_name or "volcano",
        )
        for at, task in enumerate(spec.tasks or ())
    )


FAMILIES = (WorkloadKind("batch.volcano.sh", "Job", Job, _job),)
