"""Ray: the head and the workers of a RayCluster, or of the one that others make, and what submits a job.

That is a RayJob, perhaps on a schedule (RayCronJob), or a RayService.
"""

from msgspec import Struct, structs

from kubectl_koord.cluster.manifests.workload import (
    AnyWorkload,
    Count,
    Made,
    Set,
    Template,
    TemplateSpec,
    WorkloadKind,
    number,
    waiting,
)
from kubectl_koord.cluster.objects.pods.fields import Container, ResourceRequirements

_AUTOSCALER: dict[str, str | int | float] = {"cpu": "500m", "memory": "512Mi"}
_FOR_HEAD: dict[str, str | int | float] = {"cpu": "200m", "memory": "256Mi"}
_WAITING = Container(ResourceRequirements(limits=_FOR_HEAD, requests=_FOR_HEAD))
"""In which workers wait for the head (`DefaultWorkerPodTemplate`)."""
_SUBMITTER = Container(
    ResourceRequirements(limits={"cpu": "1", "memory": "1Gi"}, requests={"cpu": "500m", "memory": "200Mi"})
)


class HeadGroup(Struct, gc=False):
    """headGroupSpec."""

    template: Template


class WorkerGroup(Struct, gc=False, rename="camel"):
    """workerGroupSpecs[]."""

    group_name: str
    template: Template
    replicas: Count | None = None
    min_replicas: Count | None = None
    max_replicas: Count | None = None
    num_of_hosts: Count | None = None
    suspend: bool | None = None


class AutoscalerOptions(Struct, gc=False):
    """autoscalerOptions."""

    resources: ResourceRequirements | None = None


class ClusterSpec(Struct, gc=False, rename="camel"):
    """spec of a RayCluster."""

    head_group_spec: HeadGroup
    worker_group_specs: list[WorkerGroup] | None = None
    enable_in_tree_autoscaling: bool | None = None
    autoscaler_options: AutoscalerOptions | None = None
    suspend: bool | None = None


class RayCluster(AnyWorkload):
    """One RayCluster."""

    spec: ClusterSpec


class JobSpec(Struct, gc=False, rename="camel"):
    """spec of a RayJob; one that selects a cluster makes none."""

    ray_cluster_spec: ClusterSpec | None = None
    submission_mode: str | None = None
    submitter_pod_template: Template | None = None
    suspend: bool | None = None


class RayJob(AnyWorkload):
    """One RayJob."""

    spec: JobSpec


class CronJobSpec(Struct, gc=False, rename="camel"):
    """spec of a RayCronJob."""

    job_template: JobSpec
    schedule: str = ""
    suspend: bool | None = None


class RayCronJob(AnyWorkload):
    """One RayCronJob."""

    spec: CronJobSpec


class ServiceSpec(Struct, gc=False, rename="camel"):
    """spec of a RayService."""

    ray_cluster_config: ClusterSpec
    suspend: bool | None = None


class RayService(AnyWorkload):
    """One RayService."""

    spec: ServiceSpec


def _cluster(name: str, spec: ClusterSpec, at: tuple[str, ...] = ("spec",)) -> Made:
    def labels(kind: str, group: str) -> dict[str, str]:
        return {"ray.io/cluster": name, "ray.io/node-type": kind, "ray.io/group": group}

    own = (*at, "headGroupSpec", "template")
    head = Set(_head(spec), f"{name}-head", 1, labels=labels("head", "headgroup"), at=own)
    workers = (
        Set(
            waiting(one.template, _WAITING),
            f"{name}-{one.group_name}-worker",
            _workers(one),
            labels=labels("worker", one.group_name),
            at=(*at, "workerGroupSpecs", number_of_group, "template"),
            least=_workers(structs.replace(one, replicas=0)) if spec.enable_in_tree_autoscaling else None,
        )
        for number_of_group, one in enumerate(spec.worker_group_specs or ())
    )
    return Made((head, *workers), is_suspended=bool(spec.suspend))


def _head(spec: ClusterSpec) -> Template:
    """Return the template of the head, perhaps with the autoscaler beside it (`BuildAutoscalerContainer`)."""
    template = spec.head_group_spec.template
    if not spec.enable_in_tree_autoscaling:
        return template
    options = spec.autoscaler_options or AutoscalerOptions()
    beside = Container(options.resources or ResourceRequirements(limits=_AUTOSCALER, requests=_AUTOSCALER))
    pod = structs.replace(template.spec, containers=[*(template.spec.containers or ()), beside])
    return structs.replace(template, spec=pod)


def _service(name: str, written: RayService) -> Made:
    """Return the pods of its first cluster; an upgrade makes a second one beside it."""
    made = _cluster(name, written.spec.ray_cluster_config, ("spec", "rayClusterConfig"))
    return structs.replace(made, is_suspended=made.is_suspended or bool(written.spec.suspend))


def _cron_job(name: str, written: RayCronJob) -> Made:
    spec = written.spec
    made = _job(name, spec.job_template, ("spec", "jobTemplate"))
    return structs.replace(made, is_suspended=made.is_suspended or bool(spec.suspend), schedule=spec.schedule)


def _job(name: str, spec: JobSpec, at: tuple[str, ...] = ("spec",)) -> Made:
    """Return the pods of its cluster, and the one that submits it: in a Job, beside the head, or none.

    Mirrors `getSubmitterTemplate` and `GetDefaultSubmitterContainer`.
    """
    mode = spec.submission_mode or "K8sJobMode"
    sets: list[Set] = []
    if spec.ray_cluster_spec is not None:
        head, *workers = _cluster(name, spec.ray_cluster_spec, (*at, "rayClusterSpec")).sets
        sets = [_beside(head) if mode == "SidecarMode" else head, *workers]
    if mode == "K8sJobMode":
        template = spec.submitter_pod_template or Template(spec=TemplateSpec(containers=[_SUBMITTER]))
        labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
        sets.append(Set(template, name, 1, labels=labels, come_later=True))
    is_stopped = spec.ray_cluster_spec is not None and spec.ray_cluster_spec.suspend
    return Made(sets, is_suspended=bool(spec.suspend or is_stopped))


def _beside(head: Set) -> Set:
    pod = structs.replace(head.template.spec, containers=[*(head.template.spec.containers or ()), _SUBMITTER])
    return structs.replace(head, template=structs.replace(head.template, spec=pod))


def _workers(group: WorkerGroup) -> int:
    """Return how many pods a group begins with (`GetWorkerGroupDesiredReplicas`): replicas, each on several hosts."""
    if group.suspend:
        return 0
    wanted, least = number(group.replicas, 0), number(group.min_replicas, 0)
    most = wanted if group.max_replicas is None else number(group.max_replicas)
    return (least if wanted < least else min(wanted, most)) * number(group.num_of_hosts)


FAMILIES = (
    WorkloadKind("ray.io", "RayCluster", RayCluster, lambda name, written: _cluster(name, written.spec)),
    WorkloadKind("ray.io", "RayJob", RayJob, lambda name, written: _job(name, written.spec)),
    WorkloadKind("ray.io", "RayCronJob", RayCronJob, _cron_job),
    WorkloadKind("ray.io", "RayService", RayService, _service),
)
