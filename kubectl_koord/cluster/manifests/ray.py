"""Ray: the head and the workers of a RayCluster, or of the one that a RayJob makes."""

from msgspec import Struct

from kubectl_koord.cluster.manifests.workload import AnyWorkload, Made, Set, Template, WorkloadKind, number
from kubectl_koord.cluster.objects.fields.meta import Int32


class HeadGroup(Struct, gc=False):
    """headGroupSpec."""

    template: Template


class WorkerGroup(Struct, gc=False, rename="camel"):
    """workerGroupSpecs[]."""

    group_name: str
    template: Template
    replicas: Int32 | None = None
    min_replicas: Int32 | None = None
    num_of_hosts: Int32 | None = None
    suspend: bool | None = None


class ClusterSpec(Struct, gc=False, rename="camel"):
    """spec of a RayCluster."""

    head_group_spec: HeadGroup
    worker_group_specs: list[WorkerGroup] | None = None


class RayCluster(AnyWorkload):
    """One RayCluster."""

    spec: ClusterSpec


class JobSpec(Struct, gc=False, rename="camel"):
    """spec of a RayJob."""

    ray_cluster_spec: ClusterSpec


class RayJob(AnyWorkload):
    """One RayJob."""

    spec: JobSpec


def _cluster(name: str, spec: ClusterSpec) -> Made:
    def labels(kind: str, group: str) -> dict[str, str]:
        return {"ray.io/cluster": name, "ray.io/node-type": kind, "ray.io/group": group}

    head = Set(spec.head_group_spec.template, f"{name}-head", 1, labels=labels("head", "headgroup"))
    workers = (
        Set(
            one.template,
            f"{name}-{one.group_name}-worker",
            _workers(one),
            labels=labels("worker", one.group_name),
        )
        for one in spec.worker_group_specs or ()
    )
    return Made((head, *workers))


def _workers(group: WorkerGroup) -> int:
    """Return how many pods a group begins with (`CalculateDesiredReplicas`): its replicas, each on several hosts."""
    if group.suspend:
        return 0
    return max(number(group.replicas, 0), number(group.min_replicas, 0)) * number(group.num_of_hosts)


FAMILIES = (
    WorkloadKind("ray.io", "RayCluster", RayCluster, lambda name, written: _cluster(name, written.spec)),
    WorkloadKind("ray.io", "RayJob", RayJob, lambda name, written: _cluster(name, written.spec.ray_cluster_spec)),
)
