"""What owns pods and what holds it back in a queue: objects of many kinds, of which a few fields are read."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kubectl_koord.cluster.objects.pool import every_amount
from kubectl_koord.model import jobs
from kubectl_koord.model.reservations import OwnerReference
from kubectl_koord.model.vendors import keys_of

Written: TypeAlias = Mapping[str, Any]


class OwnerKind(Struct, frozen=True):
    """One kind of owner: where it is read, by which label its pods are found, and the words of its own.

    `label` is a label that its pods have, whose value is the owner's name, or what `labelled` finds in it; empty where
    its spec has a selector, or nothing is known. `state` is where its status has a word for how far it is, and
    `message` where it has a sentence.
    """

    group: str
    kind: str
    versions: tuple[str, ...]
    plural: str
    label: str = ""
    labelled: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    message: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """How gaps call it."""
        return f"{self.kind}.{self.group}" if self.group else self.kind


_KUBEFLOW = "training.kubeflow.org/job-name"
_OF_JOB = "batch.kubernetes.io/job-name"
_OF_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_OF_RAY = "ray.io/cluster"

OWNERS = (
    OwnerKind("batch", "Job", ("v1",), "jobs", _OF_JOB),
    OwnerKind("batch", "CronJob", ("v1",), "cronjobs"),
    OwnerKind("apps", "Deployment", ("v1",), "deployments"),
    OwnerKind("apps", "ReplicaSet", ("v1",), "replicasets"),
    OwnerKind("apps", "StatefulSet", ("v1",), "statefulsets"),
    OwnerKind("apps", "DaemonSet", ("v1",), "daemonsets"),
    OwnerKind("", "ReplicationController", ("v1",), "replicationcontrollers"),
    OwnerKind("kubeflow.org", "PyTorchJob", ("v1",), "pytorchjobs", _KUBEFLOW),
    OwnerKind("kubeflow.org", "MPIJob", ("v2beta1", "v1"), "mpijobs", _KUBEFLOW),
    OwnerKind("kubeflow.org", "TFJob", ("v1",), "tfjobs", _KUBEFLOW),
    OwnerKind("kubeflow.org", "XGBoostJob", ("v1",), "xgboostjobs", _KUBEFLOW),
    OwnerKind("kubeflow.org", "PaddleJob", ("v1",), "paddlejobs", _KUBEFLOW),
    OwnerKind("kubeflow.org", "JAXJob", ("v1",), "jaxjobs", _KUBEFLOW),
    OwnerKind("trainer.kubeflow.org", "TrainJob", ("v1alpha1",), "trainjobs", _OF_JOBSET),
    OwnerKind("jobset.x-k8s.io", "JobSet", ("v1alpha2",), "jobsets", _OF_JOBSET, state=("status", "terminalState")),
    OwnerKind(
        "leaderworkerset.x-k8s.io", "LeaderWorkerSet", ("v1",), "leaderworkersets", "leaderworkerset.sigs.k8s.io/name"
    ),
    OwnerKind(
        "ray.io",
        "RayJob",
        ("v1",),
        "rayjobs",
        _OF_RAY,
        ("status", "rayClusterName"),
        ("status", "jobDeploymentStatus"),
        ("status", "message"),
    ),
    OwnerKind("ray.io", "RayCluster", ("v1",), "rayclusters", _OF_RAY, (), ("status", "state"), ("status", "reason")),
    OwnerKind(
        "ray.io",
        "RayService",
        ("v1",),
        "rayservices",
        _OF_RAY,
        ("status", "pendingServiceStatus", "rayClusterName"),
        ("status", "serviceStatus"),
    ),
    OwnerKind(
        "batch.volcano.sh",
        "Job",
        ("v1alpha1",),
        "jobs",
        "volcano.sh/job-name",
        (),
        ("status", "state", "phase"),
        ("status", "state", "message"),
    ),
    OwnerKind(
        "sparkoperator.k8s.io",
        "SparkApplication",
        ("v1beta2",),
        "sparkapplications",
        "sparkoperator.k8s.io/app-name",
        (),
        ("status", "applicationState", "state"),
        ("status", "applicationState", "errorMessage"),
    ),
)
"""The owners of pods that are known."""
POD_LABELS = tuple({one.label: None for one in OWNERS if one.label})
"""Labels by which the pods of an owner are found."""
BY_KIND: Mapping[tuple[str, str], OwnerKind] = {(one.group, one.kind): one for one in OWNERS}

LISTED_OWNERS = tuple(one for one in OWNERS if one.group not in {"", "apps"} or one.kind == "StatefulSet")
"""Those that are listed of a live cluster; of Deployments there are many, which do not wait for anything."""
CONTROLLERS: Mapping[str, tuple[str, ...]] = {
    "training-operator": ("kubeflow.org",),
    "mpi-operator": ("kubeflow.org",),
    "kubeflow-trainer-controller-manager": ("trainer.kubeflow.org", "jobset.x-k8s.io"),
    "jobset-controller-manager": ("jobset.x-k8s.io",),
    "lws-controller-manager": ("leaderworkerset.x-k8s.io",),
    "kuberay-operator": ("ray.io",),
    "volcano-controllers": ("batch.volcano.sh",),
    "spark-operator-controller": ("sparkoperator.k8s.io",),
}
"""Deployments of controllers, and the API groups whose objects they care for."""
MANAGER, OF_MANAGER, _HOME_OF_MANAGER = "kube-controller-manager", ("apps", "batch", ""), "kube-system"
"""The Lease of what cares for Kubernetes' own kinds, in kube-system, and their API groups."""

_QUEUE, _CLASS, _QUOTA, _SUSPEND = map(keys_of, ("queues", "classes", "quotas", "suspends"))
JOB_LABELS = (*_QUEUE, *_CLASS, *_QUOTA, *_SUSPEND)
"""Labels and annotations of a job that are read: its queue, priority and quota there, and whether it is kept back."""
_COMPLETE = {"Complete", "Completed", "Succeeded", "Succeed"}
_FAILED = {"Failed"}
_ENDED = {
    "SUCCEEDED": "Complete",
    "Complete": "Complete",
    "Completed": "Complete",
    "COMPLETED": "Complete",
    "Failed": "Failed",
    "FAILED": "Failed",
    "Aborted": "Failed",
    "Terminated": "Failed",
}
"""States in which a Volcano Job, a RayJob, a JobSet or a SparkApplication has ended."""


def at(written: Any, *path: str) -> Any:  # noqa: ANN401 - any JSON value
    """Return what stands under some keys, None where there is nothing."""
    for key in path:
        written = written.get(key) if isinstance(written, dict) else None
    return written


def text(written: Any, *path: str) -> str:  # noqa: ANN401 - as `at`
    """Return a string, empty where there is none."""
    found = at(written, *path)
    return found if isinstance(found, str) else ""


def whole(written: Any, *path: str) -> int | None:  # noqa: ANN401 - as `at`
    """Return a number, None where there is none."""
    found = at(written, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def objects(written: Any, *path: str) -> list[dict[str, Any]]:  # noqa: ANN401 - as `at`
    """Return a list's objects."""
    found = at(written, *path)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _home(written: Written) -> str:
    return text(written, "metadata", "namespace") or "default"


def key(written: Written) -> str:
    """Return `namespace/name`."""
    return f"{_home(written)}/{text(written, 'metadata', 'name')}"


def group_of(api_version: str) -> str:
    """Return the API group, empty for the core's."""
    return api_version.rpartition("/")[0]


def references(written: Written) -> tuple[OwnerReference, ...]:
    """Return the ownerReferences, that of the controller first."""
    found = [
        OwnerReference(
            text(one, "kind"), text(one, "name"), text(one, "uid"), text(one, "apiVersion"), bool(at(one, "controller"))
        )
        for one in objects(written, "metadata", "ownerReferences")
    ]
    return tuple(sorted(found, key=lambda one: not one.controller))


def conditions(written: Any, *path: str) -> jobs.Conditions:  # noqa: ANN401 - as `at`
    """Return conditions as they are written."""
    return tuple(
        jobs.ObjectCondition(
            text(one, "type"),
            text(one, "status"),
            text(one, "reason"),
            text(one, "message"),
            text(one, "lastTransitionTime"),
        )
        for one in objects(written, *path)
    )


def owner(written: Written) -> jobs.Owner:
    """Return an object as an owner of pods; of a kind that is not known what every object has."""
    group, kind = group_of(text(written, "apiVersion")), text(written, "kind")
    known = BY_KIND.get((group, kind))
    row = known or OwnerKind(group, kind, (), "")
    spec, status, meta = at(written, "spec"), at(written, "status"), at(written, "metadata")
    policy = at(spec, "runPolicy") or spec
    told = conditions(status, "conditions")
    phase = text(written, *row.state) if row.state else text(status, "phase")
    roles = _roles(kind, spec, status)
    observed, generation = whole(status, "observedGeneration"), whole(meta, "generation")
    sums = _sums(roles, kind)
    return jobs.Owner(
        kind=kind,
        group=group,
        namespace=_home(written),
        name=text(meta, "name"),
        uid=text(meta, "uid"),
        created=text(meta, "creationTimestamp"),
        owner=next(iter(references(written)), None),
        is_known=known is not None,
        suspended=at(policy, "suspend") is True or _labelled(meta, _SUSPEND) == "true",
        paused=at(spec, "paused") is True,
        deleting=text(meta, "deletionTimestamp"),
        finalizers=tuple(one for one in at(meta, "finalizers") or () if isinstance(one, str)),
        finished=_finished(told, phase, text(status, "jobStatus")),
        phase=phase,
        message=text(written, *row.message) if row.message else text(status, "message"),
        conditions=told,
        wanted=_wanted(kind, spec, status) if known else None,
        active=_first(whole(status, "active"), whole(status, "running"), _replicas_of(kind, status), sums[1]),
        ready=_first(whole(status, "ready"), whole(status, "readyReplicas"), whole(status, "readyWorkerReplicas")),
        succeeded=_first(whole(status, "succeeded"), sums[2]),
        failed=_first(whole(status, "failed"), whole(status, "restarts"), sums[3]),
        roles=roles,
        started=text(status, "startTime"),
        deadline=whole(policy, "activeDeadlineSeconds"),
        retries=_first(
            whole(policy, "backoffLimit"), whole(spec, "failurePolicy", "maxRestarts"), whole(spec, "maxRetry")
        ),
        is_seen=None if observed is None or generation is None else observed >= generation,
        queue=_labelled(meta, _QUEUE) or text(spec, "queue") or text(policy, "schedulingPolicy", "queue"),
        priority_class=_labelled(meta, _CLASS),
        managed_by=text(spec, "managedBy") or text(policy, "managedBy"),
        selector=_selector(row, written),
    )


def _replicas_of(kind: str, status: Any) -> int | None:  # noqa: ANN401 - as `at`
    """Return how many pods there are, of the kinds that count them as replicas."""
    if kind == "RayCluster":
        return whole(status, "availableWorkerReplicas")
    return None if kind == "LeaderWorkerSet" else whole(status, "replicas")


def _first(*found: int | None) -> int | None:
    return next((one for one in found if one is not None), None)


def _labelled(meta: Any, names: tuple[str, ...]) -> str:  # noqa: ANN401 - as `at`
    found = (text(meta, where, name) for name in names for where in ("labels", "annotations"))
    return next(filter(None, found), "")


def _finished(told: jobs.Conditions, phase: str, job_status: str) -> jobs.Finished:
    """Return how a job has ended: by its conditions, else by its state."""
    true = {one.type for one in told if one.status == "True"}
    if true & _COMPLETE:
        return "Complete"
    if true & _FAILED:
        return "Failed"
    ended: Any = _ENDED.get(phase) if phase not in {"Complete", "Completed"} else _ENDED.get(job_status, "Complete")
    return ended or ""


def _selector(row: OwnerKind, written: Written) -> str:
    if row.label:
        name = text(written, *row.labelled) if row.labelled else text(written, "metadata", "name")
        if row.kind == "RayService":
            name = name or text(written, "status", "activeServiceStatus", "rayClusterName")
        return f"{row.label}={name}" if name else ""
    chosen = at(written, "spec", "selector", "matchLabels") if row.group == "apps" else at(written, "spec", "selector")
    if row.kind not in {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController"}:
        return ""
    return ",".join(f"{name}={value}" for name, value in sorted((chosen or {}).items()) if isinstance(value, str))


_REPLICA_SPECS = (
    "pytorchReplicaSpecs",
    "mpiReplicaSpecs",
    "tfReplicaSpecs",
    "xgbReplicaSpecs",
    "paddleReplicaSpecs",
    "jaxReplicaSpecs",
)


def _roles(kind: str, spec: Any, status: Any) -> tuple[jobs.Role, ...]:  # noqa: ANN401 - as `at`
    """Return the pods of each template, as far as the kind tells them apart."""
    return tuple(
        jobs.Role(name, wanted, whole(told, "active"), whole(told, "succeeded"), whole(told, "failed"))
        for name, wanted, told in _parts(kind, spec, status)
    )


def _parts(kind: str, spec: Any, status: Any) -> Iterator[tuple[str, int | None, Any]]:  # noqa: ANN401 - as `at`
    for field in _REPLICA_SPECS:
        for name, one in (at(spec, field) or {}).items():
            yield name, _first(whole(one, "replicas"), 1), at(status, "replicaStatuses", name)
    told = {text(one, "name"): one for one in objects(status, "replicatedJobsStatus")}
    for one in objects(spec, "replicatedJobs"):
        job = at(one, "template", "spec")
        each = _of_job(job)
        wanted = None if each is None else each * (_first(whole(one, "replicas"), 1) or 0)
        yield text(one, "name"), wanted, told.get(text(one, "name"))
    if kind == "Job":
        for one in objects(spec, "tasks"):
            yield text(one, "name"), whole(one, "replicas") or 0, None


def _sums(roles: tuple[jobs.Role, ...], kind: str) -> tuple[int | None, ...]:
    """Return wanted, active, succeeded and failed of all roles; of a JobSet these count Jobs, not pods."""
    if kind == "JobSet" or not roles:
        return None, None, None, None
    rows = [(one.wanted, one.active, one.succeeded, one.failed) for one in roles]
    return tuple(
        None if all(one is None for one in column) else sum(one or 0 for one in column)
        for column in zip(*rows, strict=True)
    )


def _of_job(spec: Any) -> int | None:  # noqa: ANN401 - as `at`
    """Return how many pods of a Job run at once."""
    parallel, completions = _first(whole(spec, "parallelism"), 1), whole(spec, "completions")
    return parallel if completions is None or parallel is None else min(parallel, completions)


def _wanted(kind: str, spec: Any, status: Any) -> int | None:  # noqa: ANN401 - as `at`
    if kind == "DaemonSet":
        return whole(status, "desiredNumberScheduled")
    roles = [one.wanted for one in _roles(kind, spec, status)]
    if roles:
        return None if None in roles else sum(one or 0 for one in roles)
    own = _WANTED.get(kind)
    return own(spec) if own else None


def _ray_cluster(spec: Any) -> int:  # noqa: ANN401 - as `at`
    groups = objects(spec, "workerGroupSpecs")
    return 1 + sum((whole(one, "replicas") or 0) * (whole(one, "numOfHosts") or 1) for one in groups)


def _ray(*path: str) -> Callable[[Any], int | None]:
    def wanted(spec: Any) -> int | None:  # noqa: ANN401 - as `at`
        inner = at(spec, *path)
        return _ray_cluster(inner) if isinstance(inner, dict) else None

    return wanted


def _leaders_and_workers(spec: Any) -> int:  # noqa: ANN401 - as `at`
    size = whole(spec, "leaderWorkerTemplate", "size")
    return (_first(whole(spec, "replicas"), 1) or 0) * (1 if size is None else size)


_WANTED: Mapping[str, Callable[[Any], int | None]] = {
    "Job": _of_job,
    **dict.fromkeys(
        ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"),
        lambda spec: _first(whole(spec, "replicas"), 1),
    ),
    "RayCluster": _ray_cluster,
    "RayJob": _ray("rayClusterSpec"),
    "RayService": _ray("rayClusterConfig"),
    "LeaderWorkerSet": _leaders_and_workers,
    "TrainJob": lambda spec: whole(spec, "trainer", "numNodes"),
}


def controller(deployment: jobs.Owner) -> jobs.Controller | None:
    """Return the controller that a Deployment runs, None for any other."""
    groups = CONTROLLERS.get(deployment.name)
    if groups is None or deployment.kind != "Deployment":
        return None
    return jobs.Controller(
        deployment.name,
        groups,
        deployment=deployment.key,
        ready=deployment.ready or 0,
        replicas=deployment.wanted,
    )


def is_manager(lease: Written) -> bool:
    """Tell whether a Lease is that of the controller manager of Kubernetes itself."""
    return (text(lease, "metadata", "namespace"), text(lease, "metadata", "name")) == (_HOME_OF_MANAGER, MANAGER)


def manager(lease: Written) -> jobs.Controller:
    """Return the controller manager of Kubernetes itself, by its leader's Lease."""
    spec = at(lease, "spec")
    return jobs.Controller(
        MANAGER,
        OF_MANAGER,
        lease=key(lease),
        holder=text(spec, "holderIdentity"),
        renewed=text(spec, "renewTime"),
        lease_seconds=whole(spec, "leaseDurationSeconds") or 0,
    )


def _pod_sets(written: Any, told: Any) -> tuple[jobs.QueuedPods, ...]:  # noqa: ANN401 - as `at`
    """Return the pods of a Workload or QueueUnit, with what they ask for; Kueue's own word for it counts first."""
    own = {text(one, "name"): at(one, "resources") for one in objects(told)} if isinstance(told, list) else {}
    found = []
    for one in objects(written):
        name, count = text(one, "name") or "main", whole(one, "count") or 0
        requests = _requests(at(one, "template", "spec"))
        if isinstance(total := own.get(name), dict) and count:
            requests = {resource: amount // count for resource, amount in every_amount(total).items()}
        found.append(jobs.QueuedPods(name, count, whole(one, "minCount"), requests))
    return tuple(found)


def _requests(spec: Any) -> dict[str, int]:  # noqa: ANN401 - as `at`
    """Return what the containers of a pod ask for; an init container counts where it alone asks for more."""
    total: dict[str, int] = {}
    for container in objects(spec, "containers"):
        for resource, amount in _asked(container).items():
            total[resource] = total.get(resource, 0) + amount
    for container in objects(spec, "initContainers"):
        for resource, amount in _asked(container).items():
            total[resource] = max(total.get(resource, 0), amount)
    return total


def _asked(container: Any) -> dict[str, int]:  # noqa: ANN401 - as `at`
    limits, requests = at(container, "resources", "limits"), at(container, "resources", "requests")
    return {**every_amount(limits), **every_amount(requests)}


def _checks(written: Any) -> tuple[jobs.CheckState, ...]:  # noqa: ANN401 - as `at`
    return tuple(
        jobs.CheckState(text(one, "name"), text(one, "state"), text(one, "message"), text(one, "lastTransitionTime"))
        for one in objects(written, "admissionChecks")
    )


def workload(written: Written) -> jobs.KueueWorkload:
    """Return a Workload of Kueue, of v1beta1 or v1beta2."""
    spec, status, meta = at(written, "spec"), at(written, "status"), at(written, "metadata")
    admission = at(status, "admission")
    return jobs.KueueWorkload(
        namespace=_home(written),
        name=text(meta, "name"),
        uid=text(meta, "uid"),
        queue=text(spec, "queueName"),
        active=at(spec, "active") is not False,
        priority=whole(spec, "priority") or 0,
        priority_class=text(spec, "priorityClassName") or text(spec, "priorityClassRef", "name"),
        created=text(meta, "creationTimestamp"),
        owner=next(iter(references(written)), None),
        owners=tuple(f"{one.kind}/{one.name}" for one in references(written)),
        pods=_pod_sets(at(spec, "podSets"), at(status, "resourceRequests")),
        conditions=conditions(status, "conditions"),
        checks=_checks(status),
        cluster_queue=text(admission, "clusterQueue"),
        flavors=tuple(
            (text(one, "name"), resource, flavor, every_amount(at(one, "resourceUsage")).get(resource, 0))
            for one in objects(admission, "podSetAssignments")
            for resource, flavor in sorted((at(one, "flavors") or {}).items())
        ),
        requeued=whole(status, "requeueState", "count") or 0,
        requeue_at=text(status, "requeueState", "requeueAt"),
    )


def local_queue(written: Written) -> jobs.LocalQueue:
    """Return a LocalQueue."""
    status = at(written, "status")
    return jobs.LocalQueue(
        namespace=_home(written),
        name=text(written, "metadata", "name"),
        cluster_queue=text(written, "spec", "clusterQueue"),
        stop_policy=text(written, "spec", "stopPolicy"),
        pending=whole(status, "pendingWorkloads") or 0,
        reserving=whole(status, "reservingWorkloads") or 0,
        admitted=whole(status, "admittedWorkloads") or 0,
        conditions=conditions(status, "conditions"),
    )


def _quotas(spec: Any, status: Any) -> tuple[jobs.FlavorQuota, ...]:  # noqa: ANN401 - as `at`
    used = {
        (text(flavor, "name"), text(one, "name")): one
        for flavor in objects(status, "flavorsReservation") or objects(status, "flavorsUsage")
        for one in objects(flavor, "resources")
    }
    return tuple(
        jobs.FlavorQuota(
            flavor=text(flavor, "name"),
            resource=text(one, "name"),
            nominal=_amount(one, "nominalQuota") or 0,
            borrowing_limit=_amount(one, "borrowingLimit"),
            lending_limit=_amount(one, "lendingLimit"),
            used=_amount(told, "total", of=text(one, "name")) or 0,
            borrowed=_amount(told, "borrowed", of=text(one, "name")) or 0,
        )
        for group in objects(spec, "resourceGroups")
        for flavor in objects(group, "flavors")
        for one in objects(flavor, "resources")
        for told in (used.get((text(flavor, "name"), text(one, "name"))),)
    )


def _amount(written: Any, field: str, of: str = "") -> int | None:  # noqa: ANN401 - as `at`
    found, resource = at(written, field), of or text(written, "name")
    return None if found is None else every_amount({resource: found}).popitem()[1]


def cluster_queue(written: Written) -> jobs.ClusterQueue:
    """Return a ClusterQueue, of v1beta1 (`cohort`) or v1beta2 (`cohortName`)."""
    spec, status = at(written, "spec"), at(written, "status")
    named = [one for one in at(spec, "admissionChecks") or () if isinstance(one, str)]
    rules = [text(one, "name") for one in objects(spec, "admissionChecksStrategy", "admissionChecks")]
    return jobs.ClusterQueue(
        name=text(written, "metadata", "name"),
        cohort=text(spec, "cohortName") or text(spec, "cohort"),
        strategy=text(spec, "queueingStrategy") or "BestEffortFIFO",
        stop_policy=text(spec, "stopPolicy"),
        groups=tuple(
            tuple(one for one in at(group, "coveredResources") or () if isinstance(one, str))
            for group in objects(spec, "resourceGroups")
        ),
        quotas=_quotas(spec, status),
        within=text(spec, "preemption", "withinClusterQueue") or "Never",
        reclaim=text(spec, "preemption", "reclaimWithinCohort") or "Never",
        borrow=text(spec, "preemption", "borrowWithinCohort", "policy") or "Never",
        checks=tuple(named or rules),
        pending=whole(status, "pendingWorkloads") or 0,
        reserving=whole(status, "reservingWorkloads") or 0,
        admitted=whole(status, "admittedWorkloads") or 0,
        conditions=conditions(status, "conditions"),
    )


def cohort(written: Written) -> jobs.Cohort:
    """Return a Cohort, of v1alpha1 (`parent`), v1beta1 or v1beta2 (`parentName`)."""
    spec = at(written, "spec")
    parent = text(spec, "parentName") or text(spec, "parent")
    return jobs.Cohort(text(written, "metadata", "name"), parent, _quotas(spec, None))


def flavor(written: Written) -> jobs.ResourceFlavor:
    """Return a ResourceFlavor."""
    labels = at(written, "spec", "nodeLabels") or {}
    return jobs.ResourceFlavor(
        text(written, "metadata", "name"), {name: str(value) for name, value in sorted(labels.items())}
    )


def admission_check(written: Written) -> jobs.AdmissionCheck:
    """Return an AdmissionCheck."""
    return jobs.AdmissionCheck(
        text(written, "metadata", "name"),
        text(written, "spec", "controllerName"),
        conditions(at(written, "status"), "conditions"),
    )


def queue_unit(written: Written) -> jobs.QueueUnit:
    """Return a QueueUnit of koord-queue."""
    spec, status, meta = at(written, "spec"), at(written, "status"), at(written, "metadata")
    by = at(spec, "consumerRef")
    return jobs.QueueUnit(
        namespace=_home(written),
        name=text(meta, "name"),
        consumer=OwnerReference(text(by, "kind"), text(by, "name"), text(by, "uid"), text(by, "apiVersion"))
        if by
        else None,
        consumer_namespace=text(by, "namespace") or _home(written),
        queue=text(spec, "queue"),
        priority=whole(spec, "priority") or 0,
        priority_class=text(spec, "priorityClassName"),
        created=text(meta, "creationTimestamp"),
        phase=text(status, "phase"),
        message=text(status, "message"),
        updated=text(status, "lastUpdateTime"),
        attempts=whole(status, "attempts") or 0,
        resources=every_amount(at(spec, "request") or at(spec, "resource")),
        pods=_pod_sets(at(spec, "podSet") or at(spec, "podSets"), None),
        checks=_checks(status),
        quota=_labelled(meta, _QUOTA),
        active=at(spec, "active") is not False,
        conditions=conditions(status, "conditions"),
        requeued=whole(status, "requeueState", "count") or 0,
        requeue_at=text(status, "requeueState", "requeueAt"),
    )


def koord_queue(written: Written) -> jobs.KoordQueue:
    """Return a Queue of koord-queue, with the order of its units as it wrote it."""
    spec = at(written, "spec")
    details = at(written, "status", "queueItemDetails")
    return jobs.KoordQueue(
        namespace=_home(written),
        name=text(written, "metadata", "name"),
        policy=text(spec, "queuePolicy"),
        priority=whole(spec, "priority") or 0,
        checks=tuple(text(one, "name") for one in objects(spec, "admissionChecks")),
        order=tuple(
            jobs.QueuePlace(
                place,
                text(one, "namespace"),
                text(one, "name"),
                whole(one, "priority") or 0,
                whole(one, "position") or 0,
            )
            for place in sorted(details or {})
            for one in objects(details, place)
        ),
        created=text(written, "metadata", "creationTimestamp"),
    )


class QueueKind(Struct, frozen=True):
    """One kind that queues are made of: where it is read, and what is kept of it."""

    group: str
    kind: str
    versions: tuple[str, ...]
    plural: str
    value: Callable[[Written], Any]
    namespaced: bool = False

    @property
    def name(self) -> str:
        """How gaps call it: by its kind, where no other group has one of that name."""
        return f"{self.kind}.{self.group}" if self.kind == "Queue" else self.kind


_KUEUE, _BETA = "kueue.x-k8s.io", ("v1beta2", "v1beta1")
KOORD_QUEUE = "scheduling.x-k8s.io"
WORKLOAD = QueueKind(_KUEUE, "Workload", _BETA, "workloads", workload, namespaced=True)
LOCAL_QUEUE = QueueKind(_KUEUE, "LocalQueue", _BETA, "localqueues", local_queue, namespaced=True)
CLUSTER_QUEUE = QueueKind(_KUEUE, "ClusterQueue", _BETA, "clusterqueues", cluster_queue)
COHORT = QueueKind(_KUEUE, "Cohort", (*_BETA, "v1alpha1"), "cohorts", cohort)
FLAVOR = QueueKind(_KUEUE, "ResourceFlavor", _BETA, "resourceflavors", flavor)
CHECK = QueueKind(_KUEUE, "AdmissionCheck", _BETA, "admissionchecks", admission_check)
UNIT = QueueKind(KOORD_QUEUE, "QueueUnit", ("v1alpha1",), "queueunits", queue_unit, namespaced=True)
QUEUE = QueueKind(KOORD_QUEUE, "Queue", ("v1alpha1",), "queues", koord_queue, namespaced=True)
QUEUES: Mapping[tuple[str, str], QueueKind] = {
    (one.group, one.kind): one for one in (WORKLOAD, LOCAL_QUEUE, CLUSTER_QUEUE, COHORT, FLAVOR, CHECK, UNIT, QUEUE)
}
"""What queues in front of the scheduler are made of."""
RECORDED: tuple[OwnerKind | QueueKind, ...] = (*OWNERS, *(one for one in QUEUES.values() if one is not FLAVOR))
"""Those that a snapshot has of a live cluster, all of them."""
LISTED = (WORKLOAD, CLUSTER_QUEUE, COHORT, UNIT, QUEUE)
"""Those that are listed of a live cluster: who is ahead, and what a cohort lends, depends on others."""
NAMED = (LOCAL_QUEUE, CHECK)
"""Those that are read by name; what nodes a flavor stands for is told of files alone."""
