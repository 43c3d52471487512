"""The pods that controllers would make of their workloads: how many, what they request, in which gang."""

from typing import Any

import pytest

from kubectl_koord.errors import KoordError
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.unevaluated import PodSetting, WideningPodSetting
from kubectl_koord.model.values import Resources
from tests.cluster.manifests.conftest import Submit

GANG = {"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}}
TORCH, LAUNCHER = (("cpu", 8000), ("nvidia.com/gpu", 8)), (("cpu", 1000),)
WAITING = (("cpu", 8000), ("memory", 10 << 20), ("nvidia.com/gpu", 8))
RAY_WORKER = (("cpu", 8000), ("memory", 256 << 20), ("nvidia.com/gpu", 8))
SUBMITTER = (("cpu", 500), ("memory", 200 << 20))


def template(cpu: int = 8, gpu: int = 8, gang: bool = True, **spec: Any) -> dict[str, Any]:  # noqa: ANN401, FBT001, FBT002
    limits = {"cpu": cpu} | ({"nvidia.com/gpu": gpu} if gpu else {})
    containers = [{"name": "main", "resources": {"limits": limits}}]
    pod = {"schedulerName": "koord-scheduler", "containers": containers, **spec}
    return {"metadata": GANG, "spec": pod} if gang else {"spec": pod}


def workload(api: str, kind: str, spec: dict[str, Any], **meta: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "x", "namespace": "team", **meta}, "spec": spec}


def replicas(number: int | None, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"template": template(**more)} | ({} if number is None else {"replicas": number})


def kubeflow(field: str, policy: dict[str, Any] | None = None, **specs: Any) -> dict[str, Any]:  # noqa: ANN401
    return {field: specs} | ({} if policy is None else {"runPolicy": {"schedulingPolicy": policy}})


def seen(pods: tuple[PendingPod, ...]) -> dict[str, Resources]:
    return {pod.name: pod.requirements.requests for pod in pods}


ALL = [
    (
        workload(
            "kubeflow.org/v1", "PyTorchJob", kubeflow("pytorchReplicaSpecs", Master=replicas(None), Worker=replicas(2))
        ),
        {"x-master-0": TORCH, "x-worker-0": WAITING, "x-worker-1": WAITING},
    ),
    (
        workload(
            "kubeflow.org/v2beta1",
            "MPIJob",
            kubeflow("mpiReplicaSpecs", Launcher=replicas(1, cpu=1, gpu=0), Worker=replicas(2)),
        ),
        {"x-launcher-0": LAUNCHER, "x-worker-0": TORCH, "x-worker-1": TORCH},
    ),
    (
        workload(
            "kubeflow.org/v2beta1",
            "MPIJob",
            kubeflow("mpiReplicaSpecs", Launcher=replicas(None, cpu=1, gpu=0), Worker=replicas(None)),
        ),
        {"x-launcher-0": LAUNCHER},
    ),
    (
        workload(
            "kubeflow.org/v1",
            "PyTorchJob",
            {"elasticPolicy": {"minReplicas": 1, "maxReplicas": 4}, "pytorchReplicaSpecs": {"Worker": replicas(2)}},
        ),
        {"x-worker-0": TORCH, "x-worker-1": TORCH},
    ),
    (
        workload(
            "kubeflow.org/v1",
            "TFJob",
            kubeflow("tfReplicaSpecs", Chief=replicas(None), Evaluator=replicas(1, cpu=1, gpu=0)),
        ),
        {"x-chief-0": TORCH, "x-evaluator-0": LAUNCHER},
    ),
    (
        workload(
            "kubeflow.org/v1",
            "TFJob",
            kubeflow("tfReplicaSpecs", Chief=replicas(1), PS=replicas(1, cpu=1, gpu=0), Worker=replicas(1)),
        ),
        {"x-chief-0": TORCH, "x-ps-0": LAUNCHER, "x-worker-0": TORCH},
    ),
    (
        workload(
            "ray.io/v1",
            "RayCluster",
            {
                "headGroupSpec": {"template": template(1, 0)},
                "workerGroupSpecs": [
                    {"groupName": "gpu", "numOfHosts": 2, **replicas(1)},
                    {"groupName": "least", "minReplicas": 1, **replicas(0)},
                    {"groupName": "most", "maxReplicas": 1, **replicas(3)},
                    {"groupName": "both", "minReplicas": 2, "maxReplicas": 1, **replicas(None)},
                    {"groupName": "off", "suspend": True, **replicas(3)},
                ],
            },
        ),
        {
            **dict.fromkeys(("x-both-worker-0", "x-both-worker-1", "x-gpu-worker-0", "x-gpu-worker-1"), RAY_WORKER),
            "x-head-0": LAUNCHER,
            "x-least-worker-0": RAY_WORKER,
            "x-most-worker-0": RAY_WORKER,
        },
    ),
    (
        workload(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "driver", "template": {"spec": {"template": template(1, 0)}}},
                    {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2, "template": template()}}},
                    {"name": "off", "replicas": 0, "template": {"spec": {"template": template()}}},
                ]
            },
        ),
        {"x-driver-0-0": LAUNCHER, **dict.fromkeys(("x-w-0-0", "x-w-0-1", "x-w-1-0", "x-w-1-1"), TORCH)},
    ),
    (
        workload(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {
                "replicas": 2,
                "leaderWorkerTemplate": {
                    "size": 2,
                    "leaderTemplate": template(1, 0),
                    "workerTemplate": template(),
                },
            },
        ),
        {"x-0": LAUNCHER, "x-0-1": TORCH, "x-1": LAUNCHER, "x-1-1": TORCH},
    ),
    (
        workload(
            "batch.volcano.sh/v1alpha1",
            "Job",
            {
                "tasks": [
                    {"name": "ps", **replicas(1, cpu=1, gpu=0)},
                    {"name": "worker", **replicas(2)},
                    replicas(1),
                    replicas(None),
                ]
            },
        ),
        {"x-default2-0": TORCH, "x-ps-0": LAUNCHER, "x-worker-0": TORCH, "x-worker-1": TORCH},
    ),
    (workload("batch/v1", "Job", {"parallelism": 2, "template": template()}), dict.fromkeys(("x-0", "x-1"), TORCH)),
    (
        workload(
            "batch/v1", "Job", {"completionMode": "Indexed", "parallelism": 5, "completions": 1, **replicas(None)}
        ),
        {"x-0": TORCH},
    ),
    (
        workload("apps/v1", "StatefulSet", {"ordinals": {"start": 3}, **replicas(2)}),
        dict.fromkeys(("x-3", "x-4"), TORCH),
    ),
    (workload("apps/v1", "Deployment", replicas(None)), {"x-0": TORCH}),
    (workload("apps/v1", "ReplicaSet", replicas(2)), dict.fromkeys(("x-0", "x-1"), TORCH)),
    (
        workload(
            "ray.io/v1",
            "RayJob",
            {"submissionMode": "HTTPMode", "rayClusterSpec": {"headGroupSpec": {"template": template(1, 0)}}},
        ),
        {"x-head-0": LAUNCHER},
    ),
    (
        workload("batch/v1", "CronJob", {"jobTemplate": {"spec": {"parallelism": 2, "template": template()}}}),
        dict.fromkeys(("x-0", "x-1"), TORCH),
    ),
    (
        workload("ray.io/v1", "RayService", {"rayClusterConfig": {"headGroupSpec": {"template": template(1, 0)}}}),
        {"x-head-0": LAUNCHER},
    ),
    (
        workload(
            "ray.io/v1",
            "RayCronJob",
            {
                "jobTemplate": {
                    "submissionMode": "HTTPMode",
                    "rayClusterSpec": {"headGroupSpec": {"template": template(1, 0)}},
                }
            },
        ),
        {"x-head-0": LAUNCHER},
    ),
]


@pytest.mark.parametrize(("manifest", "expected"), ALL, ids=range(len(ALL)))
def test_a_workload_makes_its_pods_in_the_gang_of_its_templates(
    submit: Submit, manifest: dict[str, Any], expected: dict[str, Resources]
) -> None:
    snapshot, submitted = submit(manifest)
    assert seen(snapshot.pending) == expected
    assert submitted.pods == {f"team/{name}" for name in expected}
    assert {pod.gang for pod in snapshot.pending} == {"team/g"}
    assert {pod.owner for pod in snapshot.pending} == {f"{manifest['kind']}/x"}
    assert {pod.scheduler for pod in snapshot.pending} == {"koord-scheduler"}


HEAD = {"headGroupSpec": {"template": template()}}
RUN = {"spec": replicas(None)}


@pytest.mark.parametrize(
    ("written", "suspended"),
    [
        (workload("batch/v1", "CronJob", {"schedule": "0 2 * * *", "jobTemplate": RUN}), False),
        (workload("batch/v1", "CronJob", {"schedule": "0 2 * * *", "jobTemplate": RUN, "suspend": True}), True),
        (
            workload(
                "batch/v1",
                "CronJob",
                {"schedule": "0 2 * * *", "jobTemplate": {"spec": {**replicas(None), "suspend": True}}},
            ),
            True,
        ),
        (
            workload("ray.io/v1", "RayCronJob", {"schedule": "0 2 * * *", "jobTemplate": {"rayClusterSpec": HEAD}}),
            False,
        ),
        (
            workload(
                "ray.io/v1",
                "RayCronJob",
                {"schedule": "0 2 * * *", "jobTemplate": {"rayClusterSpec": HEAD}, "suspend": True},
            ),
            True,
        ),
    ],
    ids=range(5),
)
def test_the_schedule_of_a_workload_is_told_and_whether_it_is_suspended(
    submit: Submit, written: dict[str, Any], *, suspended: bool
) -> None:
    submitted = submit(written)[1]
    own = f"{written['kind']}/x"
    assert (submitted.scheduled, submitted.suspended) == (((own, "0 2 * * *"),), (own,) if suspended else ())


@pytest.mark.parametrize("suspended", [True, False])
def test_a_ray_service_is_suspended_as_a_whole(submit: Submit, *, suspended: bool) -> None:
    written = workload("ray.io/v1", "RayService", {"rayClusterConfig": HEAD, "suspend": suspended})
    assert submit(written)[1].suspended == (("RayService/x",) if suspended else ())


@pytest.mark.parametrize(("policy", "minimum"), [({"minAvailable": 2}, 2), ({}, 3)])
def test_an_operator_makes_the_podgroup_of_a_scheduling_policy_with_the_annotations_of_the_job(
    submit: Submit, policy: dict[str, int], minimum: int
) -> None:
    spec = kubeflow("pytorchReplicaSpecs", policy, Master=replicas(1, gang=False), Worker=replicas(2, gang=False))
    topology = '{"gatherStrategy":[]}'
    notes = {"gang.scheduling.koordinator.sh/network-topology-spec": topology}
    snapshot, submitted = submit(workload("kubeflow.org/v1", "PyTorchJob", spec, annotations=notes))
    group = snapshot.pod_groups["team/x"]
    assert (group.min_member, group.topology) == (minimum, topology)
    assert {pod.gang for pod in snapshot.pending} == {"team/x"}
    assert submitted.assumed == ("team/x",)


def test_no_podgroup_is_made_where_the_templates_name_one_or_one_is_there(submit: Submit) -> None:
    policy = {"minAvailable": 9}
    named = workload("kubeflow.org/v1", "PyTorchJob", kubeflow("pytorchReplicaSpecs", policy, Master=replicas(1)))
    snapshot, submitted = submit(named)
    assert (snapshot.pod_groups, submitted.assumed) == ({}, ())
    spec = kubeflow("pytorchReplicaSpecs", policy, Master=replicas(1, gang=False))
    own = workload("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", {"minMember": 1})
    snapshot, submitted = submit({"kind": "List", "items": [workload("kubeflow.org/v1", "PyTorchJob", spec), own]})
    assert (snapshot.pod_groups["team/x"].min_member, submitted.assumed) == (1, ())


def test_a_training_job_without_policy_and_labels_has_no_gang(submit: Submit) -> None:
    spec = kubeflow("pytorchReplicaSpecs", Master=replicas(1, gang=False))
    snapshot, _ = submit(workload("kubeflow.org/v1", "PyTorchJob", spec))
    assert [pod.gang for pod in snapshot.pending] == [""]


def vcjob(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    bare = {"replicas": 2, "template": {"spec": {"containers": []}}}
    every = [{"name": f"t{at}", **bare, **task} for at, task in enumerate(tasks or ({},))]
    return workload("batch.volcano.sh/v1alpha1", "Job", {"tasks": every, **spec})


def test_volcano_fills_in_its_scheduler_and_the_class_that_the_job_names(submit: Submit) -> None:
    high = existing("PriorityClass", "high", value=7)
    low = existing("PriorityClass", "low", value=3)
    own = {"template": {"spec": {"containers": [], "priorityClassName": "low"}}}
    snapshot, _ = submit(vcjob({}, own, priorityClassName="high"), high, low)
    assert [(pod.scheduler, pod.priority) for pod in snapshot.pending] == [("volcano", 7)] * 2 + [("volcano", 3)] * 2


@pytest.mark.parametrize(
    ("job", "minimum"),
    [
        (vcjob({}, {"replicas": 1}), 3),
        (vcjob({"minAvailable": 1}, {"replicas": 1}), 2),
        (vcjob({"minAvailable": 1}, minAvailable=2), 2),
    ],
)
def test_a_gang_of_minavailable_pods_stands_for_the_podgroup_of_volcano(
    submit: Submit, job: dict[str, Any], minimum: int
) -> None:
    snapshot, submitted = submit(job)
    assert snapshot.pod_groups["team/x"].min_member == minimum
    assert {pod.gang for pod in snapshot.pending} == {"team/x"}
    assert (submitted.of_others, submitted.assumed) == (("team/x",), ())


def test_koordinator_does_not_know_the_podgroup_of_a_volcano_job_that_names_its_scheduler(submit: Submit) -> None:
    snapshot, submitted = submit(vcjob(schedulerName="koord-scheduler"))
    assert {(pod.scheduler, pod.gang) for pod in snapshot.pending} == {("koord-scheduler", "")}
    assert (snapshot.pod_groups, submitted.of_others) == ({}, ())


@pytest.mark.parametrize(("named", "expected"), [("", "own"), ("mine", "mine")])
def test_an_operator_that_makes_the_podgroup_fills_in_the_scheduler_too(
    submit: Submit, named: str, expected: str
) -> None:
    spec: dict[str, Any] = {"spec": {"containers": [], "schedulerName": named}}
    job = workload("kubeflow.org/v1", "PyTorchJob", kubeflow("pytorchReplicaSpecs", {}, Master={"template": spec}))
    config = {"koord-scheduler-config": "{kind: KubeSchedulerConfiguration, profiles: [{schedulerName: own}]}"}
    there = {**existing("ConfigMap", "koord-scheduler-config", data=config)}
    there["metadata"]["namespace"] = "koordinator-system"
    assert [pod.scheduler for pod in submit(job, there)[0].pending] == [expected]


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ({}, (("cpu", 1000),)),
        ({"enableInTreeAutoscaling": True}, (("cpu", 1500), ("memory", 512 << 20))),
        (
            {"enableInTreeAutoscaling": True, "autoscalerOptions": {"resources": {"requests": {"cpu": "1"}}}},
            (("cpu", 2000),),
        ),
    ],
)
def test_rays_autoscaler_runs_beside_the_head(submit: Submit, beside: dict[str, Any], expected: Resources) -> None:
    spec = {"headGroupSpec": {"template": template(1, 0)}, **beside}
    assert seen(submit(workload("ray.io/v1", "RayCluster", spec))[0].pending) == {"x-head-0": expected}


RAY = {"headGroupSpec": {"template": template(1, 0)}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"rayClusterSpec": RAY}, {"x-0": SUBMITTER, "x-head-0": LAUNCHER}),
        (
            {"rayClusterSpec": RAY, "submitterPodTemplate": template(3, 0)},
            {"x-0": (("cpu", 3000),), "x-head-0": LAUNCHER},
        ),
        (
            {"rayClusterSpec": RAY, "submissionMode": "SidecarMode"},
            {"x-head-0": (("cpu", 1500), ("memory", 200 << 20))},
        ),
        ({"rayClusterSpec": RAY, "submissionMode": "InteractiveMode"}, {"x-head-0": LAUNCHER}),
        ({"clusterSelector": {"ray.io/cluster": "c"}}, {"x-0": SUBMITTER}),
    ],
    ids=range(5),
)
def test_a_rayjob_is_submitted_by_a_pod_of_its_own_beside_the_head_or_by_none(
    submit: Submit, spec: dict[str, Any], expected: dict[str, Resources]
) -> None:
    assert seen(submit(workload("ray.io/v1", "RayJob", spec))[0].pending) == expected


@pytest.mark.parametrize(
    "manifest",
    [
        workload("batch/v1", "Job", {"suspend": True, **replicas(None)}),
        workload(
            "kubeflow.org/v1",
            "PyTorchJob",
            {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {"Master": replicas(1)}},
        ),
        workload(
            "kubeflow.org/v1",
            "PyTorchJob",
            {"runPolicy": {"suspend": True, "schedulingPolicy": {}}, "pytorchReplicaSpecs": {"Master": replicas(1)}},
        ),
        workload(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {"suspend": True, "replicatedJobs": [{"name": "w", "template": {"spec": {"template": template()}}}]},
        ),
        workload("ray.io/v1", "RayCluster", {"suspend": True, **RAY}),
        workload("ray.io/v1", "RayJob", {"suspend": True, "submissionMode": "HTTPMode", "rayClusterSpec": RAY}),
    ],
    ids=range(6),
)
def test_of_a_suspended_workload_the_pods_are_those_that_it_makes_when_it_is_resumed(
    submit: Submit, manifest: dict[str, Any]
) -> None:
    snapshot, submitted = submit(manifest)
    assert len(snapshot.pending) == 1
    assert submitted.suspended == (f"{manifest['kind']}/x",)


def test_a_schedulername_that_is_left_out_is_that_of_kubernetes(submit: Submit) -> None:
    (pod,) = submit(workload("apps/v1", "ReplicaSet", {"template": {"spec": {"containers": []}}}))[0].pending
    assert pod.scheduler == "default-scheduler"


def existing(kind: str, name: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "team"}, **more}


def test_pods_of_the_same_name_and_those_that_the_workload_has_already_are_replaced(submit: Submit) -> None:
    there = existing("Pod", "x-7", spec={"nodeName": "n1", "containers": []}, status={"phase": "Running"})
    there["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "x", "uid": "u"}]
    other = existing("Pod", "y", spec={"nodeName": "n1", "containers": []}, status={"phase": "Running"})
    snapshot, _ = submit(workload("apps/v1", "ReplicaSet", replicas(1)), there, other)
    assert [pod.key for pod in snapshot.running["n1"]] == ["team/y"]
    pod = existing("Pod", "y", spec={"nodeName": "n1", "containers": []}, status={"phase": "Running"})
    snapshot, _ = submit(pod, other)
    assert (snapshot.running, [one.key for one in snapshot.pending]) == ({}, ["team/y"])


def claim_template(name: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"metadata": {"name": name}, "spec": {"resources": {"requests": {"storage": "1Gi"}}, **spec}}


def test_each_pod_of_a_statefulset_gets_its_claims_and_those_that_are_there_are_used(submit: Submit) -> None:
    spec = {**replicas(2), "volumeClaimTemplates": [claim_template("data", storageClassName="fast")]}
    old = existing("PersistentVolumeClaim", "data-x-1", spec={"volumeName": "pv", "storageClassName": "old"})
    snapshot, _ = submit(workload("apps/v1", "StatefulSet", spec), old)
    assert {name: claim.class_name for name, claim in snapshot.claims.items()} == {
        "team/data-x-0": "fast",
        "team/data-x-1": "old",
    }
    assert [pod.requirements.claims for pod in snapshot.pending] == [("data-x-0",), ("data-x-1",)]


def test_all_pods_of_a_volcano_job_mount_its_volumes_and_a_claim_is_made_once(submit: Submit) -> None:
    made = {"mountPath": "/out", "volumeClaim": claim_template("", storageClassName="fast")["spec"]}
    there = {"mountPath": "/in", "volumeClaimName": "data"}
    own = {"name": "data", "persistentVolumeClaim": {"claimName": "own"}}
    bare = {"template": {"spec": {"containers": [], "volumes": [own]}}}
    old = existing("PersistentVolumeClaim", "data", spec={"volumeName": "pv", "storageClassName": "old"})
    snapshot, _ = submit(vcjob({}, {"replicas": 1, **bare}, volumes=[there, {**there, "mountPath": "/x"}, made]), old)
    assert {name: claim.class_name for name, claim in snapshot.claims.items()} == {
        "team/data": "old",
        "team/x-pvc-2": "fast",
    }
    mounted = ("data", "x-pvc-2")
    assert [pod.requirements.claims for pod in snapshot.pending] == [mounted, mounted, ("own", *mounted)]


def test_a_claim_that_a_volcano_job_names_and_that_is_not_there_stays_missing(submit: Submit) -> None:
    snapshot, _ = submit(vcjob(volumes=[{"mountPath": "/in", "volumeClaimName": "data"}]))
    assert ([pod.requirements.claims for pod in snapshot.pending], snapshot.claims) == ([("data",)] * 2, {})


@pytest.mark.parametrize("volume", [{}, {"volumeClaimName": "data", "volumeClaim": {}}])
def test_a_volume_that_volcano_refuses_is_told(submit: Submit, volume: dict[str, Any]) -> None:
    with pytest.raises(KoordError, match=r"document 1: Job x: Expected one of .* - at `\$.spec.volumes\[1\]`"):
        submit(vcjob(volumes=[{"mountPath": "/in", "volumeClaimName": "a"}, {"mountPath": "/out", **volume}]))


def job_set(at: str = "", *annotations: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    said = {f"alpha.jobset.sigs.k8s.io/{name}": "rack" for name in annotations}
    job = {
        "metadata": {"annotations": said if at == "job" else {}},
        "spec": {"template": {"metadata": {"annotations": said if at == "pod" else {}}, "spec": {"containers": []}}},
    }
    written = workload(
        "jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": [{"name": "a", "template": job}], **spec}
    )
    written["metadata"]["annotations"] = said if at == "set" else {}
    return written


def group_set(annotation: str = "", **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    template = {"size": 2, "workerTemplate": {"spec": {"containers": []}}, **spec}
    written = workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {"leaderWorkerTemplate": template})
    written["metadata"]["annotations"] = {f"leaderworkerset.sigs.k8s.io/{annotation}": "rack"} if annotation else {}
    return written


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (job_set(), ()),
        (job_set("set", "exclusive-topology"), (PodSetting("exclusive-topology"),)),
        (job_set("job", "exclusive-topology"), (PodSetting("exclusive-topology"),)),
        (job_set("pod", "exclusive-topology"), (PodSetting("exclusive-topology"),)),
        (job_set("set", "node-selector"), ()),
        (job_set("set", "exclusive-topology", "node-selector"), (WideningPodSetting("exclusive-node-selector"),)),
        (job_set(volumeClaimPolicies=[{"templates": []}]), (PodSetting("volume-claim-policy"),)),
        (group_set(), ()),
        (group_set("exclusive-topology"), (PodSetting("exclusive-topology"),)),
        (group_set("subgroup-exclusive-topology"), (PodSetting("exclusive-topology"),)),
    ],
    ids=range(10),
)
def test_what_ties_the_jobs_of_a_set_to_places_is_not_evaluated(
    submit: Submit, written: dict[str, Any], expected: tuple[object, ...]
) -> None:
    found = [pod.requirements.unevaluated for pod in submit(written)[0].pending]
    assert found
    assert set(found) == {expected}


def test_leaders_and_workers_get_claims_of_their_own(submit: Submit) -> None:
    snapshot, _ = submit(group_set(volumeClaimTemplates=[claim_template("data", storageClassName="fast")]))
    assert [pod.requirements.claims for pod in snapshot.pending] == [("data-x-0",), ("data-x-0-1",)]
    assert sorted(snapshot.claims) == ["team/data-x-0", "team/data-x-0-1"]


def test_an_ephemeral_volume_gets_its_claim_made_for_the_pod(submit: Submit) -> None:
    volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": claim_template("", storageClassName="fast")}}
    snapshot, _ = submit(workload("apps/v1", "ReplicaSet", replicas(1, volumes=[volume])))
    assert snapshot.claims["team/x-0-tmp"].owner == ("", "x-0")


@pytest.mark.parametrize("kind", ["template", "ephemeral", "claim", "volcano"])
def test_which_class_a_claim_gets_by_default_is_not_evaluated(submit: Submit, kind: str) -> None:
    items: list[dict[str, Any]] = []
    spec = replicas(1)
    if kind == "template":
        spec["volumeClaimTemplates"] = [claim_template("data")]
    elif kind == "ephemeral":
        volume = {"name": "tmp", "ephemeral": {"volumeClaimTemplate": claim_template("")}}
        spec = replicas(1, volumes=[volume, {"name": "cache", "emptyDir": {}}])
    else:
        items.append({**existing("PersistentVolumeClaim", "data"), "spec": claim_template("")["spec"]})
        spec = replicas(1, volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
    items.append(workload("apps/v1", "StatefulSet", spec))
    if kind == "volcano":
        items = [vcjob({"replicas": 1}, volumes=[{"mountPath": "/out", "volumeClaim": claim_template("")["spec"]}])]
    snapshot, _ = submit({"apiVersion": "v1", "kind": "List", "items": items})
    (pod,) = snapshot.pending
    assert (pod.requirements.claims, pod.requirements.ephemeral, snapshot.claims) == ((), (), {})
    assert [one.code for one in pod.requirements.unevaluated if hasattr(one, "code")] == ["default-storage-class"]


def test_claims_of_a_resource_claim_template_are_not_evaluated(submit: Submit) -> None:
    claims = [{"name": "a", "resourceClaimTemplateName": "t"}, {"name": "b", "resourceClaimName": "b"}]
    (pod,) = submit(workload("apps/v1", "ReplicaSet", replicas(1, resourceClaims=claims)))[0].pending
    assert [claim.name for claim in pod.resource_claims] == ["b"]
    assert [one.code for one in pod.requirements.unevaluated if hasattr(one, "code")] == ["resource-claim-template"]


def test_a_name_that_is_generated_stands_for_itself_and_a_namespace_left_out_is_the_current_one(submit: Submit) -> None:
    manifest = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"generateName": "x-"}, "spec": replicas(1)}
    assert [pod.key for pod in submit(manifest)[0].pending] == ["team/x-0"]


def test_names_that_are_generated_are_not_the_same(submit: Submit) -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "x-"}, "spec": replicas(None)}
    snapshot, _ = submit({"kind": "List", "apiVersion": "v1", "items": [job, job, job]})
    assert [pod.name for pod in snapshot.pending] == ["x-0", "x-2-0", "x-3-0"]


def test_workloads_of_different_kinds_and_one_name_have_pods_of_their_own(submit: Submit) -> None:
    both = [workload("batch/v1", "Job", replicas(None)), workload("apps/v1", "ReplicaSet", replicas(1))]
    snapshot, submitted = submit({"kind": "List", "apiVersion": "v1", "items": both})
    assert [(pod.name, pod.owner) for pod in snapshot.pending] == [("x-0", "Job/x"), ("x-0-replicaset", "ReplicaSet/x")]
    assert len(submitted.pods) == 2
