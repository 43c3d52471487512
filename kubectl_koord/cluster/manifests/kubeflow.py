"""Kubeflow's jobs: PyTorchJob, TFJob, MPIJob and their like, with the PodGroup of runPolicy.schedulingPolicy."""

from msgspec import Struct, field

from kubectl_koord.cluster.manifests.workload import (
    AnyWorkload,
    Count,
    Made,
    Set,
    Template,
    WorkloadKind,
    number,
    waiting,
)
from kubectl_koord.cluster.objects.pods.fields import Container, ResourceRequirements

_PREFIX = "training.kubeflow.org"
_WAITING = Container(
    ResourceRequirements(limits={"cpu": "100m", "memory": "20Mi"}, requests={"cpu": "50m", "memory": "10Mi"})
)
"""In which workers of PyTorch wait for their master (`setInitContainer`), unless the operator has another template."""


class SchedulingPolicy(Struct, gc=False, rename="camel"):
    """runPolicy.schedulingPolicy."""

    min_available: Count | None = None


class RunPolicy(Struct, gc=False, rename="camel"):
    """spec.runPolicy."""

    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None


class ReplicaSpec(Struct, gc=False):
    """One of the replica specs."""

    template: Template
    replicas: Count | None = None


class ElasticPolicy(Struct, gc=False, rename="camel"):
    """spec.elasticPolicy of a PyTorchJob."""

    min_replicas: Count | None = None


class Spec(Struct, gc=False, rename="camel"):
    """spec of a job, whichever of its replica specs is there."""

    run_policy: RunPolicy = field(default_factory=RunPolicy)
    elastic_policy: ElasticPolicy | None = None
    pytorch_replica_specs: dict[str, ReplicaSpec] | None = None
    tf_replica_specs: dict[str, ReplicaSpec] | None = None
    launcher_creation_policy: str | None = None
    mpi_replica_specs: dict[str, ReplicaSpec] | None = None
    xgb_replica_specs: dict[str, ReplicaSpec] | None = None
    paddle_replica_specs: dict[str, ReplicaSpec] | None = None
    jax_replica_specs: dict[str, ReplicaSpec] | None = None


class TrainingJob(AnyWorkload):
    """One job."""

    spec: Spec


def _made(name: str, written: TrainingJob) -> Made:
    """Return its pods: `NAME-TYPE-INDEX`, with the labels of the operator.

    Mirrors `createNewPod` and `SyncPodGroup` of the training operator: the PodGroup has the job's name and asks for
    minAvailable pods, or for all of them. Without a number there is one pod of a type, but no worker of an MPIJob.
    """
    spec = written.spec
    named = {
        "pytorchReplicaSpecs": spec.pytorch_replica_specs,
        "tfReplicaSpecs": spec.tf_replica_specs,
        "mpiReplicaSpecs": spec.mpi_replica_specs,
        "xgbReplicaSpecs": spec.xgb_replica_specs,
        "paddleReplicaSpecs": spec.paddle_replica_specs,
        "jaxReplicaSpecs": spec.jax_replica_specs,
    }
    where, by_type = next(((key, some) for key, some in named.items() if some), ("", {}))
    waits = any(kind.lower() == "master" for kind in spec.pytorch_replica_specs or ())
    sets = tuple(
        Set(
            waiting(one.template, _WAITING) if waits and kind.lower() == "worker" else one.template,
            f"{name}-{kind.lower()}",
            number(one.replicas, 0 if kind.lower() == "worker" and spec.mpi_replica_specs else 1),
            labels={f"{_PREFIX}/job-name": name, f"{_PREFIX}/replica-type": kind.lower()},
            at=("spec", where, kind, "template"),
            least=spec.elastic_policy.min_replicas if spec.elastic_policy and kind.lower() == "worker" else None,
            come_later=kind.lower() == "launcher" and spec.launcher_creation_policy == "WaitForWorkersReady",
        )
        for kind, one in by_type.items()
    )
    policy, is_suspended = spec.run_policy.scheduling_policy, bool(spec.run_policy.suspend)
    if policy is None:
        return Made(sets, is_suspended=is_suspended)
    minimum = number(policy.min_available, sum(one.count for one in sets))
    return Made(sets, minimum, is_suspended=is_suspended)


FAMILIES = tuple(
    WorkloadKind("kubeflow.org", kind, TrainingJob, _made)
    for kind in ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
)
