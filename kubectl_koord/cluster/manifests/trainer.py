"""Kubeflow's trainer: a TrainJob, which is made into a JobSet by its training runtime."""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.manifests import sets
from kubectl_koord.cluster.manifests.workload import (
    AnyWorkload,
    Based,
    Basis,
    Count,
    Made,
    Set,
    Template,
    TemplateSpec,
    WorkloadKind,
    number,
)
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.kubernetes.training import TrainingRuntime
from kubectl_koord.cluster.objects.pods.fields import Container, ResourceRequirements
from kubectl_koord.model.unevaluated import WideningPodSetting

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
    made = sets.made_of_job_set(name, sets.JobSet(meta, msgspec.convert(job_set, sets.JobSetSpec)))
    more = (WideningPodSetting("training-runtime-patches"),) if spec.runtime_patches else ()
    changed = (msgspec.structs.replace(one, unevaluated=(*one.unevaluated, *more)) for one in made.sets)
    return Made(changed, is_suspended=made.is_suspended or bool(spec.suspend))


def _change(job: dict[str, Any], spec: TrainJobSpec, runtime: TrainingRuntime) -> None:
    """Give a job of a JobSet what the TrainJob says of it."""
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


FAMILIES = (WorkloadKind("trainer.kubeflow.org", "TrainJob", TrainJob, _made, _basis),)
