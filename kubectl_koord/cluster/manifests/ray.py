"""Ray: the head and the workers of a RayCluster, or of the one that a RayJob makes."""

from msgspec import Struct, structs

from kubectl_koord.cluster.manifests.workload import AnyWorkload, Count, Made, Set, Template, WorkloadKind, number
from kubectl_koord.cluster.objects.pods.fields import Container, ResourceRequirements

_AUTOSCALER: dict[str, str | int | float] = {"cpu": "500m", "memory": "512Mi"}


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
    """spec of a RayJob."""

    ray_cluster_spec: ClusterSpec
    suspend: bool | None = None


class RayJob(AnyWorkload):
    """One RayJob."""

    spec: JobSpec


def _cluster(name: str, spec: ClusterSpec, *, is_suspended: bool | None = None) -> Made:
    def labels(kind: str, group: str) -> dict[str, str]:
        return {"ray.io/cluster": name, "ray.io/node-type": kind, "ray.io/group": group}

    head = Set(_head(spec), f"{name}-head", 1, labels=labels("head", "headgroup"))
    workers = (
        Set(
            one.template,
            f"{name}-{one.group_name}-worker",
            _workers(one),
            labels=labels("worker", one.group_name),
        )
        for one in spec.worker_group_specs or ()
    )
    return Made((head, *workers), is_suspended=bool(is_suspended or spec.suspend))


def _head(spec: ClusterSpec) -> Template:
    """Return the template of the head, perhaps with the autoscaler beside it (`BuildAutoscalerContainer`)."""
    template = spec.head_group_spec.template
    if not spec.enable_in_tree_autoscaling:
        return template
    options = spec.autoscaler_options or AutoscalerOptions()
    beside = Container(options.resources or ResourceRequirements(limits=_AUTOSCALER, requests=_AUTOSCALER))
    pod = structs.replace(template.spec, containers=[*(template.spec.containers or ()), beside])
    return structs.replace(template, spec=pod)


def _workers(group: WorkerGroup) -> int:
    """Return how many pods a group begins with (`GetWorkerGroupDesiredReplicas`): replicas, each on several hosts."""
    if group.suspend:
        return 0
    wanted, least = number(group.replicas, 0), number(group.min_replicas, 0)
    most = wanted if group.max_replicas is None else number(group.max_replicas)
    return (least if wanted < least else min(wanted, most)) * number(group.num_of_hosts)


FAMILIES = (
    WorkloadKind("ray.io", "RayCluster", RayCluster, lambda name, written: _cluster(name, written.spec)),
    WorkloadKind(
        "ray.io",
        "RayJob",
        RayJob,
        lambda name, written: _cluster(name, written.spec.ray_cluster_spec, is_suspended=written.spec.suspend),
    ),
)
