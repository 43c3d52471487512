"""Which pods each kind of workload makes of its templates and replica counts."""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import Struct, ValidationError, field, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.kinds import Kind
from kubectl_koord.cluster.manifests.workload import (
    AnyWorkload,
    Based,
    Basis,
    Count,
    Made,
    Set,
    Template,
    TemplateMeta,
    TemplateSpec,
    WorkloadKind,
    number,
    waiting,
)
from kubectl_koord.cluster.objects.events import TrainingRuntime
from kubectl_koord.cluster.objects.fields import Meta, Toleration
from kubectl_koord.cluster.objects.pod_wire import Affinity, ClaimSource, Container, ResourceRequirements, Volume
from kubectl_koord.cluster.objects.storage import ClaimSpec, PersistentVolumeClaim
from kubectl_koord.model.unevaluated import PodSetting, PodUnevaluated, WideningPodSetting


class BatchJobSpec(Struct, gc=False, rename="camel"):
    """spec of a Job."""

    template: Template
    parallelism: Count | None = None
    completions: Count | None = None
    suspend: bool | None = None


class BatchJob(AnyWorkload):
    """One Job."""

    spec: BatchJobSpec


class BuiltinJobTemplate(Struct, gc=False):
    """spec.jobTemplate of a CronJob."""

    spec: BatchJobSpec


class BuiltinCronJobSpec(Struct, gc=False, rename="camel"):
    """spec of a CronJob."""

    job_template: BuiltinJobTemplate
    schedule: str = ""
    suspend: bool | None = None


class CronJob(AnyWorkload):
    """One CronJob."""

    spec: BuiltinCronJobSpec


class BuiltinReplicaSpec(Struct, gc=False):
    """spec of a Deployment or ReplicaSet."""

    template: Template
    replicas: Count | None = None


class Replicas(AnyWorkload):
    """One Deployment or ReplicaSet."""

    spec: BuiltinReplicaSpec


class Ordinals(Struct, gc=False):
    """spec.ordinals."""

    start: Count = 0


class StatefulSetSpec(BuiltinReplicaSpec, rename="camel"):
    """spec of a StatefulSet."""

    ordinals: Ordinals = field(default_factory=Ordinals)
    pod_management_policy: str | None = None
    volume_claim_templates: list[PersistentVolumeClaim] | None = None


class StatefulSet(AnyWorkload):
    """One StatefulSet."""

    spec: StatefulSetSpec


def pods_of_job(spec: BatchJobSpec) -> int:
    """Return how many pods of a Job run at once."""
    parallel = number(spec.parallelism)
    return parallel if spec.completions is None else min(parallel, number(spec.completions))


def _builtin_job(name: str, spec: BatchJobSpec, at: tuple[str, ...] = ("spec", "template")) -> Made:
    labels = {"job-name": name, "batch.kubernetes.io/job-name": name}
    pods = Set(spec.template, name, pods_of_job(spec), labels=labels, at=at)
    return Made((pods,), is_suspended=bool(spec.suspend))


def _builtin_cron_job(name: str, written: CronJob) -> Made:
    """Return the pods of its next Job, which has the name of the CronJob and a number after it."""
    spec = written.spec
    made = _builtin_job(name, spec.job_template.spec, ("spec", "jobTemplate", "spec", "template"))
    return structs.replace(made, is_suspended=made.is_suspended or bool(spec.suspend), schedule=spec.schedule)


def _replicas(name: str, written: Replicas) -> Made:
    return Made((Set(written.spec.template, name, number(written.spec.replicas), at=("spec", "template")),))


def _stateful_set(name: str, written: StatefulSet) -> Made:
    spec = written.spec
    claims = tuple(spec.volume_claim_templates or ())
    pods = Set(spec.template, name, number(spec.replicas), spec.ordinals.start, claims=claims, at=("spec", "template"))
    is_parallel = spec.pod_management_policy == "Parallel" or pods.count <= 1
    return Made((pods,), in_turn="" if is_parallel else "spec.podManagementPolicy: OrderedReady")


BUILTIN = (
    WorkloadKind("batch", "Job", BatchJob, lambda name, written: _builtin_job(name, written.spec)),
    WorkloadKind("batch", "CronJob", CronJob, _builtin_cron_job),
    WorkloadKind("apps", "StatefulSet", StatefulSet, _stateful_set),
    WorkloadKind("apps", "Deployment", Replicas, _replicas),
    WorkloadKind("apps", "ReplicaSet", Replicas, _replicas),
)


_PREFIX = "training.kubeflow.org"
_KUBEFLOW_WAITING = Container(
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


def _kubeflow_made(name: str, written: TrainingJob) -> Made:
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
            waiting(one.template, _KUBEFLOW_WAITING) if waits and kind.lower() == "worker" else one.template,
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


KUBEFLOW = tuple(
    WorkloadKind("kubeflow.org", kind, TrainingJob, _kubeflow_made)
    for kind in ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob")
)


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
    """Return the template of the head, with the autoscaler's container where it is on (`BuildAutoscalerContainer`)."""
    template = spec.head_group_spec.template
    if not spec.enable_in_tree_autoscaling:
        return template
    options = spec.autoscaler_options or AutoscalerOptions()
    beside = Container(options.resources or ResourceRequirements(limits=_AUTOSCALER, requests=_AUTOSCALER))
    pod = structs.replace(template.spec, containers=[*(template.spec.containers or ()), beside])
    return structs.replace(template, spec=pod)


def _service(name: str, written: RayService) -> Made:
    """Return the pods of its first cluster, without the second one that an upgrade makes."""
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


RAY = (
    WorkloadKind("ray.io", "RayCluster", RayCluster, lambda name, written: _cluster(name, written.spec)),
    WorkloadKind("ray.io", "RayJob", RayJob, lambda name, written: _job(name, written.spec)),
    WorkloadKind("ray.io", "RayCronJob", RayCronJob, _cron_job),
    WorkloadKind("ray.io", "RayService", RayService, _service),
)


_EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
_BY_NODE_SELECTOR = "alpha.jobset.sigs.k8s.io/node-selector"
_EXCLUSIVE_GROUPS = {
    "leaderworkerset.sigs.k8s.io/exclusive-topology",
    "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology",
}


class JobTemplate(Struct, gc=False):
    """replicatedJobs[].template."""

    spec: BatchJobSpec
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
    """Yield the settings of a JobSet for a job's pods that are not evaluated, as they depend on where pods run."""
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


SETS = (
    WorkloadKind("jobset.x-k8s.io", "JobSet", JobSet, made_of_job_set),
    WorkloadKind("leaderworkerset.x-k8s.io", "LeaderWorkerSet", LeaderWorkerSet, _leader_worker_set),
)


_LEAST_OVERHEAD = 384
_FACTOR, _FACTOR_OF_OTHERS = 0.1, 0.4
"""Of a pod's memory, for what is not of the JVM: of Java and Scala, and of Python and R."""
_MEMORY = re.compile(r"([0-9]{1,12})(b|[kmgt]b?|)", re.ASCII | re.IGNORECASE)
_SHIFTS = {"b": -20, "k": -10, "": 0, "m": 0, "g": 10, "t": 20}
"""What makes mebibytes of each unit."""


class Gpu(Struct, gc=False):
    """gpu of a driver or executor."""

    name: str
    quantity: Count


class SparkPod(Struct, gc=False, rename="camel"):
    """spec.driver or spec.executor."""

    cores: Count | None = None
    core_request: str | None = None
    core_limit: str | None = None
    memory: str | None = None
    memory_overhead: str | None = None
    gpu: Gpu | None = None
    labels: dict[str, str | None] | None = None
    annotations: dict[str, str | None] | None = None
    node_selector: dict[str, str | None] | None = None
    tolerations: list[Toleration] | None = None
    affinity: Affinity | None = None
    scheduler_name: str | None = None
    priority_class_name: str | None = None
    template: Template | None = None
    instances: Count | None = None


class DynamicAllocation(Struct, gc=False, rename="camel"):
    """spec.dynamicAllocation."""

    enabled: bool | None = None
    initial_executors: Count | None = None
    min_executors: Count | None = None


class SparkSpec(Struct, gc=False, rename="camel"):
    """spec of a SparkApplication."""

    driver: SparkPod = field(default_factory=SparkPod)
    executor: SparkPod = field(default_factory=SparkPod)
    type: str = ""
    memory_overhead_factor: str | None = None
    node_selector: dict[str, str | None] | None = None
    dynamic_allocation: DynamicAllocation | None = None
    suspend: bool | None = None


class SparkApplication(AnyWorkload):
    """One SparkApplication."""

    spec: SparkSpec


class ScheduledSpec(Struct, gc=False):
    """spec of a ScheduledSparkApplication."""

    template: SparkSpec
    schedule: str = ""
    suspend: bool | None = None


class ScheduledSparkApplication(AnyWorkload):
    """One ScheduledSparkApplication."""

    spec: ScheduledSpec


def _application(name: str, spec: SparkSpec, at: tuple[str, ...] = ("spec",)) -> Made:
    """Return its driver, `NAME-driver-0`, and the executors that this asks for, `NAME-exec-NUMBER` from 1.

    Mirrors `buildDriverPodSpec` and `buildExecutorPodSpec` of the operator, and BasicDriverFeatureStep and
    BasicExecutorFeatureStep of Spark, which make the pods.
    """
    labels = {"sparkoperator.k8s.io/app-name": name}
    driver = _template(spec, spec.driver, "spec.driver")
    executor = _template(spec, spec.executor, "spec.executor")
    return Made(
        (
            Set(
                driver,
                f"{name}-driver",
                1,
                labels={**labels, "spark-role": "driver"},
                at=(*at, "driver"),
                is_flat=True,
                come_later=True,  # it is the other way round: it makes the others, and must not wait for them
            ),
            Set(
                executor,
                f"{name}-exec",
                _executors(spec),
                1,
                labels={**labels, "spark-role": "executor"},
                at=(*at, "executor"),
                is_flat=True,
            ),
        ),
        is_suspended=bool(spec.suspend),
    )


def _executors(spec: SparkSpec) -> int:
    dynamic = spec.dynamic_allocation
    if dynamic is None or not dynamic.enabled:
        return number(spec.executor.instances)
    return max(number(one, 0) for one in (dynamic.initial_executors, dynamic.min_executors, spec.executor.instances))


def _template(spec: SparkSpec, pod: SparkPod, where: str) -> Template:
    written = pod.template or Template()
    own = written.spec
    limits: dict[str, str | int | float] = {"memory": _memory(spec, pod, where)}
    if pod.core_limit is not None:
        limits["cpu"] = pod.core_limit
    if pod.gpu is not None and pod.gpu.quantity:
        limits[pod.gpu.name] = pod.gpu.quantity
    cpu: str | int = pod.core_request or number(pod.cores)
    main = Container(ResourceRequirements(requests={**limits, "cpu": cpu}, limits=limits))
    first = (own.containers or [main])[0]
    made = structs.replace(
        own,
        containers=[structs.replace(first, resources=main.resources), *(own.containers or [main])[1:]],
        node_selector={**(own.node_selector or {}), **(spec.node_selector or {}), **(pod.node_selector or {})} or None,
        tolerations=[*(own.tolerations or ()), *(pod.tolerations or ())] or None,
        affinity=pod.affinity or own.affinity,
        scheduler_name=pod.scheduler_name or own.scheduler_name,
        priority_class_name=pod.priority_class_name or own.priority_class_name,
    )
    meta = TemplateMeta(
        {**(written.metadata.labels or {}), **(pod.labels or {})},
        {**(written.metadata.annotations or {}), **(pod.annotations or {})},
    )
    return Template(meta, made)


def _memory(spec: SparkSpec, pod: SparkPod, where: str) -> str:
    own = _mebibytes(pod.memory or "1g", f"{where}.memory")
    if pod.memory_overhead is not None:
        return f"{own + _mebibytes(pod.memory_overhead, f'{where}.memoryOverhead')}Mi"
    usual = _FACTOR if spec.type in {"", "Java", "Scala"} else _FACTOR_OF_OTHERS
    try:
        factor = float(spec.memory_overhead_factor or usual)
    except ValueError:
        raise ValidationError("Expected a number - at `$.spec.memoryOverheadFactor`") from None
    return f"{own + max(int(own * factor), _LEAST_OVERHEAD)}Mi"


def _mebibytes(written: str, where: str) -> int:
    """Return an amount of memory as Java spells it: `512m`, `8g`."""
    found = _MEMORY.fullmatch(written)
    if found is None:
        raise ValidationError(f"Expected memory as Java spells it, such as 8g - at `$.{where}`")
    shift = _SHIFTS[found[2].lower()[:1]]
    return int(found[1]) << shift if shift > 0 else int(found[1]) >> -shift


def _scheduled(name: str, written: ScheduledSparkApplication) -> Made:
    spec = written.spec
    made = _application(name, spec.template, ("spec", "template"))
    return structs.replace(made, is_suspended=made.is_suspended or bool(spec.suspend), schedule=spec.schedule)


SPARK = (
    WorkloadKind("sparkoperator.k8s.io", "SparkApplication", SparkApplication, lambda n, w: _application(n, w.spec)),
    WorkloadKind("sparkoperator.k8s.io", "ScheduledSparkApplication", ScheduledSparkApplication, _scheduled),
)


_NODE = "node"
"""The job of the nodes, and the container in it that trains."""
_STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
_TRAINER = "trainer"
_OF_CONTAINERS = {"containers", "initContainers"}
"""What an override says of containers are variables and mounts of volumes."""


class RuntimeRef(Struct, gc=False):
    """spec.runtimeRef."""

    name: str
    kind: str = "ClusterTrainingRuntime"


class Trainer(Struct, gc=False, rename="camel"):
    """spec.trainer."""

    num_nodes: Count | None = None
    resources_per_node: ResourceRequirements | None = None


class TargetJob(Struct, gc=False):
    """podTemplateOverrides[].targetJobs[]."""

    name: str


class PodTemplateOverride(Struct, gc=False, rename="camel"):
    """spec.podTemplateOverrides[]."""

    target_jobs: list[TargetJob] | None = None
    metadata: dict[str, Any] | None = None
    spec: dict[str, Any] | None = None


class TrainJobSpec(Struct, gc=False, rename="camel"):
    """spec of a TrainJob."""

    runtime_ref: RuntimeRef
    trainer: Trainer = field(default_factory=Trainer)
    pod_template_overrides: list[PodTemplateOverride] | None = None
    runtime_patches: list[object] | None = None
    suspend: bool | None = None


class TrainJob(AnyWorkload):
    """One TrainJob."""

    spec: TrainJobSpec


def _basis(namespace: str, written: TrainJob) -> Basis:
    ref = written.spec.runtime_ref
    if ref.kind == kinds.TRAINING_RUNTIME.name:
        return Basis(kinds.TRAINING_RUNTIME, f"{namespace}/{ref.name}")
    return Basis(kinds.CLUSTER_TRAINING_RUNTIME, ref.name)


def _made(name: str, based: Based) -> Made:
    """Return the pods of its JobSet, with the number of nodes and what each requests, as the TrainJob has them.

    Mirrors `Trainer` and `PodTemplateOverrides` of the trainer's JobSet builder. Without its runtime no more is known
    than what it says itself: so many pods, each of which requests this.
    """
    written: TrainJob = based.written
    spec = written.spec
    if based.basis is None:
        main = Container(spec.trainer.resources_per_node)
        template = Template(spec=TemplateSpec(containers=[main]))
        nodes = number(spec.trainer.num_nodes)
        unread = (WideningPodSetting("training-runtime"),)
        pods = Set(template, f"{name}-{_NODE}-0", nodes, scheduler=None, unevaluated=unread)
        return Made((pods,), is_suspended=bool(spec.suspend))
    runtime: TrainingRuntime = based.basis
    job_set = copy.deepcopy(runtime.spec.template.spec or {})
    for job in _dicts(job_set.get("replicatedJobs")):
        _change(job, spec, runtime)
    meta = Meta(name=name, annotations=written.metadata.annotations)
    made = made_of_job_set(name, JobSet(meta, msgspec.convert(job_set, JobSetSpec)))
    more = (WideningPodSetting("training-runtime-patches"),) if spec.runtime_patches else ()
    changed = (msgspec.structs.replace(one, unevaluated=(*one.unevaluated, *more)) for one in made.sets)
    return Made(changed, is_suspended=made.is_suspended or bool(spec.suspend))


def _change(job: dict[str, Any], spec: TrainJobSpec, runtime: TrainingRuntime) -> None:
    """Apply the settings of a TrainJob to a job of its JobSet."""
    template = _mapping(job, "template")
    job_spec = _mapping(template, "spec")
    pod = _mapping(job_spec, "template")
    policy = runtime.spec.ml_policy
    labels = _mapping(template, "metadata").get("labels")
    trains = isinstance(labels, dict) and labels.get(_STEP) == _TRAINER
    nodes = spec.trainer.num_nodes if spec.trainer.num_nodes is not None else policy.num_nodes if policy else None
    mpi = policy.mpi if policy else None
    if nodes is not None and (job.get("name") == _NODE if mpi else trains):
        beside = 1 if mpi and mpi.run_launcher_as_node else 0
        job_spec |= {"parallelism": max(nodes - beside, 0), "completions": max(nodes - beside, 0)}
    if spec.trainer.resources_per_node is not None and (trains or job.get("name") == _NODE):
        for one in _dicts(_mapping(pod, "spec").get("containers")):
            if one.get("name") == _NODE:
                one["resources"] = msgspec.to_builtins(spec.trainer.resources_per_node)
    for override in spec.pod_template_overrides or ():
        if job.get("name") in {one.name for one in override.target_jobs or ()}:
            _override(pod, override)


def _override(pod: dict[str, Any], override: PodTemplateOverride) -> None:
    """Give a pod template the fields of an override: maps are merged, lists get longer, others are replaced."""
    for part in ("labels", "annotations"):
        meta = _mapping(pod, "metadata")
        meta[part] = {**_mapping(meta, part), **((override.metadata or {}).get(part) or {})}
    own = _mapping(pod, "spec")
    for key, wanted in (override.spec or {}).items():
        if isinstance(wanted, dict) and key == "nodeSelector":
            own[key] = {**_mapping(own, key), **wanted}
        elif isinstance(wanted, list) and key in {"tolerations", "volumes", "schedulingGates"}:
            own[key] = [*_dicts(own.get(key)), *wanted]
        elif key not in _OF_CONTAINERS:
            own[key] = wanted


def _mapping(within: dict[str, Any], key: str) -> dict[str, Any]:
    """Return the mapping of a key, which is there from now on."""
    if not isinstance(within.get(key), dict):
        within[key] = {}
    found: dict[str, Any] = within[key]
    return found


def _dicts(written: object) -> Iterator[dict[str, Any]]:
    return (one for one in written if isinstance(one, dict)) if isinstance(written, list) else iter(())


TRAINER = (WorkloadKind("trainer.kubeflow.org", "TrainJob", TrainJob, _made, _basis),)


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


class VolcanoJobSpec(Struct, gc=False, rename="camel"):
    """spec of a Volcano Job."""

    tasks: list[Task] | None = None
    scheduler_name: str | None = None
    min_available: Count | None = None
    priority_class_name: str | None = None
    volumes: list[JobVolume] | None = None


class Job(AnyWorkload):
    """One Volcano Job."""

    spec: VolcanoJobSpec


def _volumes(name: str, written: Sequence[JobVolume]) -> tuple[list[Volume], tuple[PersistentVolumeClaim, ...]]:
    """Return the volumes that every pod gets, and the claims that are made for them.

    Mirrors `createJobIOIfNotExist`, which gives a claim a name at random, and `createJobPod`. Raises ValidationError
    when Volcano refuses one (`validateIO`).
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


def _volcano_job(name: str, written: Job) -> Made:
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


VOLCANO = (WorkloadKind("batch.volcano.sh", "Job", Job, _volcano_job),)


FAMILIES: Mapping[tuple[str, str], WorkloadKind] = {
    (one.group, one.kind): one for one in (*BUILTIN, *KUBEFLOW, *RAY, *SETS, *SPARK, *TRAINER, *VOLCANO)
}

_TAKEN = (
    kinds.POD_GROUP,
    kinds.ELASTIC_QUOTA,
    kinds.RESERVATION,
    kinds.DISRUPTION_BUDGET,
    kinds.VOLUME_CLAIM,
    kinds.VOLUME,
    kinds.STORAGE_CLASS,
    kinds.RESOURCE_CLAIM,
    kinds.PRIORITY_CLASS,
    kinds.LIMIT_RANGE,
    kinds.RESOURCE_QUOTA,
    kinds.RUNTIME_CLASS,
    kinds.NAMESPACE,
    kinds.COLOCATION_PROFILE,
    kinds.TRAINING_RUNTIME,
    kinds.CLUSTER_TRAINING_RUNTIME,
)
OBJECTS: Mapping[tuple[str, str], Kind[Any, Any]] = {(kind.group, kind.name): kind for kind in _TAKEN}
"""Objects that are taken as they are: what is submitted with pods and decides about them."""
