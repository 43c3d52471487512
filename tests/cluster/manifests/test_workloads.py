"""Workloads as what could become gangs: how many pods are needed at once, and where their templates stand."""

from typing import Any

import pytest

from kubectl_koord.cluster.manifests.read import as_created, paths_of
from kubectl_koord.cluster.manifests.read import workload as read
from kubectl_koord.errors import KoordError
from kubectl_koord.model.objects import Keys, Template, Workload
from tests.cluster.manifests.test_families import kubeflow, replicas, template, workload

TEMPLATE: Keys = ("spec", "template")
HEAD = {"headGroupSpec": {"template": template()}}


def at(*keys: str | int, member: bool = True) -> Template:
    return Template((*keys, "metadata", "labels"), (*keys, "spec", "schedulerName"), is_member=member)


def of(kind: str, pods: int, minimum: int, *templates: Template) -> Workload:
    return Workload(kind, "team", "x", pods, minimum, templates)


def groups(**more: Any) -> dict[str, Any]:  # noqa: ANN401
    return {**HEAD, "workerGroupSpecs": [{"groupName": "g", "minReplicas": 1, **replicas(3)}], **more}


ALL = [
    (workload("batch/v1", "Job", {"parallelism": 4, **replicas(None)}), of("Job", 4, 4, at(*TEMPLATE))),
    (
        workload("batch/v1", "CronJob", {"jobTemplate": {"spec": replicas(None)}}),
        of("CronJob", 1, 1, at("spec", "jobTemplate", "spec", "template")),
    ),
    (workload("apps/v1", "Deployment", replicas(3)), of("Deployment", 3, 3, at(*TEMPLATE))),
    (
        workload("apps/v1", "StatefulSet", {"podManagementPolicy": "Parallel", **replicas(2)}),
        of("StatefulSet", 2, 2, at(*TEMPLATE)),
    ),
    (workload("apps/v1", "StatefulSet", replicas(1)), of("StatefulSet", 1, 1, at(*TEMPLATE))),
    (
        workload(
            "kubeflow.org/v1", "PyTorchJob", kubeflow("pytorchReplicaSpecs", Master=replicas(1), Worker=replicas(3))
        ),
        of(
            "PyTorchJob",
            4,
            4,
            at("spec", "pytorchReplicaSpecs", "Master", "template"),
            at("spec", "pytorchReplicaSpecs", "Worker", "template"),
        ),
    ),
    (
        workload(
            "kubeflow.org/v1",
            "PyTorchJob",
            {"elasticPolicy": {"minReplicas": 2}, "pytorchReplicaSpecs": {"Worker": replicas(4)}},
        ),
        of("PyTorchJob", 4, 2, at("spec", "pytorchReplicaSpecs", "Worker", "template")),
    ),
    (
        workload("kubeflow.org/v1", "TFJob", kubeflow("tfReplicaSpecs", {"minAvailable": 2}, Worker=replicas(3))),
        of("TFJob", 3, 2, at("spec", "tfReplicaSpecs", "Worker", "template")),
    ),
    (
        workload(
            "kubeflow.org/v2beta1",
            "MPIJob",
            {
                "launcherCreationPolicy": "WaitForWorkersReady",
                "mpiReplicaSpecs": {"Launcher": replicas(1), "Worker": replicas(2)},
            },
        ),
        of(
            "MPIJob",
            2,
            2,
            at("spec", "mpiReplicaSpecs", "Launcher", "template", member=False),
            at("spec", "mpiReplicaSpecs", "Worker", "template"),
        ),
    ),
    (
        workload("ray.io/v1", "RayCluster", groups()),
        of(
            "RayCluster",
            4,
            4,
            at("spec", "headGroupSpec", "template"),
            at("spec", "workerGroupSpecs", 0, "template"),
        ),
    ),
    (
        workload("ray.io/v1", "RayJob", {"rayClusterSpec": groups(enableInTreeAutoscaling=True)}),
        of(
            "RayJob",
            4,
            2,
            at("spec", "rayClusterSpec", "headGroupSpec", "template"),
            at("spec", "rayClusterSpec", "workerGroupSpecs", 0, "template"),
        ),
    ),
    (
        workload(
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2, **replicas(None)}}}
                ]
            },
        ),
        of("JobSet", 4, 4, at("spec", "replicatedJobs", 0, "template", "spec", "template")),
    ),
    (
        workload(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"replicas": 2, "leaderWorkerTemplate": {"size": 3, "workerTemplate": template()}},
        ),
        of("LeaderWorkerSet", 6, 6, at("spec", "leaderWorkerTemplate", "workerTemplate")),
    ),
    (
        workload("sparkoperator.k8s.io/v1beta2", "SparkApplication", {"executor": {"instances": 3}}),
        of(
            "SparkApplication",
            3,
            3,
            Template(("spec", "driver", "labels"), ("spec", "driver", "schedulerName"), is_member=False),
            Template(("spec", "executor", "labels"), ("spec", "executor", "schedulerName")),
        ),
    ),
]


@pytest.mark.parametrize(("written", "expected"), ALL, ids=range(len(ALL)))
def test_a_workload_needs_so_many_pods_and_has_its_templates_there(written: dict[str, Any], expected: Workload) -> None:
    assert read(written, "default") == expected


TWO = {"replicatedJobs": [{"name": "a", "template": {"spec": replicas(None)}}]}
GROUPED = {"leaderWorkerTemplate": {"size": 2, "workerTemplate": template()}}
OWNER = {"ownerReferences": [{"kind": "CronJob", "name": "c", "controller": True}]}


@pytest.mark.parametrize(
    ("written", "obstacle", "detail"),
    [
        (workload("batch.volcano.sh/v1alpha1", "Job", {"tasks": [replicas(1)]}), "of-another-scheduler", ""),
        (workload("trainer.kubeflow.org/v1alpha1", "TrainJob", {"runtimeRef": {"name": "t"}}), "from-runtime", ""),
        (workload("apps/v1", "StatefulSet", replicas(2)), "in-turn", "spec.podManagementPolicy: OrderedReady"),
        (
            workload("jobset.x-k8s.io/v1alpha2", "JobSet", {**TWO, "startupPolicy": {"startupPolicyOrder": "InOrder"}}),
            "in-turn",
            "spec.startupPolicy: InOrder",
        ),
        (
            workload(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                {"replicatedJobs": [{**TWO["replicatedJobs"][0], "dependsOn": [{"name": "b"}]}]},
            ),
            "in-turn",
            "spec.replicatedJobs[].dependsOn",
        ),
        (
            workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", {**GROUPED, "startupPolicy": "LeaderReady"}),
            "in-turn",
            "spec.startupPolicy: LeaderReady",
        ),
        (workload("apps/v1", "Deployment", replicas(0)), "no-pods", ""),
        (workload("batch/v1", "Job", replicas(None), **OWNER), "owned", "CronJob c"),
    ],
    ids=range(8),
)
def test_what_cannot_be_a_gang_says_why(written: dict[str, Any], obstacle: str, detail: str) -> None:
    found = read(written, "default")
    assert found is not None
    assert (found.obstacle, found.detail, found.name) == (obstacle, detail, "x")


def test_a_name_for_each_run_is_no_name_for_a_gang() -> None:
    written = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "x-"}, "spec": replicas(None)}
    assert read(written, "home") == Workload("Job", "home", "x-", obstacle="no-name")


@pytest.mark.parametrize("written", [{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "c"}}, {}])
def test_an_object_of_another_kind_is_no_workload(written: dict[str, Any]) -> None:
    assert read(written, "default") is None


def test_what_cannot_be_read_is_one_line() -> None:
    with pytest.raises(KoordError, match=r"error: Expected `int [|] null`, got `str` - at `\$.spec.parallelism`"):
        read(workload("batch/v1", "Job", {"parallelism": "2", **replicas(None)}), "default")


def test_kinds_are_found_by_their_names_and_plurals() -> None:
    assert [*paths_of("PyTorchJobs", "t")] == [
        "/apis/kubeflow.org/v2beta1/namespaces/t/pytorchjobs",
        "/apis/kubeflow.org/v1/namespaces/t/pytorchjobs",
    ]
    assert [*paths_of("job", "t")] == [
        "/apis/batch/v1/namespaces/t/jobs",
        "/apis/batch.volcano.sh/v1alpha1/namespaces/t/jobs",
    ]
    assert [*paths_of("pod", "t")] == []


def test_what_the_server_wrote_is_left_out_so_that_it_can_be_created_anew() -> None:
    meta = {
        "uid": "u",
        "resourceVersion": "1",
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
    }
    labels = {"controller-uid": "u", "batch.kubernetes.io/job-name": "x", "app": "a"}
    selected = {"selector": {"matchLabels": {"controller-uid": "u"}}, "parallelism": 2}
    spec = {**selected, "template": {"metadata": {"labels": labels, "creationTimestamp": None}, "spec": {}}}
    live = {**workload("batch/v1", "Job", spec, **meta), "status": {"active": 1}}
    own = {"parallelism": 2, "template": {"metadata": {"labels": {"app": "a"}}, "spec": {}}}
    assert as_created(live) == workload("batch/v1", "Job", own)
    bare = {**selected, "template": {"metadata": {"labels": {"job-name": "x"}}, "spec": {}}}
    assert as_created(workload("batch/v1", "Job", bare))["spec"]["template"] == {"spec": {}}
    chosen = workload("batch/v1", "Job", {"manualSelector": True, **spec}, annotations={"a": "b"})
    assert as_created(chosen) == chosen
    other = workload("apps/v1", "Deployment", {"selector": {}, **replicas(1)})
    assert as_created(other) == other
