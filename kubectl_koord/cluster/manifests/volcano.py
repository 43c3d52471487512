"""Volcano's Job: its tasks, for the scheduler that it names."""

from msgspec import Struct

from kubectl_koord.cluster.manifests.workload import AnyWorkload, Count, Made, Set, Template, WorkloadKind, number


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


class Job(AnyWorkload):
    """One Volcano Job."""

    spec: JobSpec


def _job(name: str, written: Job) -> Made:
    """Return its pods: `NAME-TASK-INDEX`, with Volcano's scheduler unless another is named, and its PodGroup.

    Mirrors `createJobPod`, `patchDefaultScheduler` and `patchDefaultMinAvailable`: a task without replicas has no pods,
    and all of a task's pods are needed unless it, or the job, has a minAvailable.
    """
    spec = written.spec
    tasks = spec.tasks or []
    needed = (number(task.min_available, number(task.replicas, 0)) for task in tasks)
    return Made(
        (
            Set(
                task.template,
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
    )


FAMILIES = (WorkloadKind("batch.volcano.sh", "Job", Job, _job),)
