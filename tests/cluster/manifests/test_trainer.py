"""The pods that Kubeflow's trainer makes of a TrainJob and its training runtime."""

import json
from pathlib import Path
from typing import Any

import pytest

from kubectl_koord.cluster.manifests.read import Manifests
from kubectl_koord.errors import KoordError
from kubectl_koord.model.unevaluated import WideningPodSetting
from tests.cluster.manifests.conftest import Submit
from tests.cluster.manifests.test_families import seen, workload

API = "trainer.kubeflow.org/v1alpha1"
STEP = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
ONE, EIGHT = (("cpu", 1000),), (("nvidia.com/gpu", 8),)


def pod_template(*names: str, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    containers = [{"name": name, "resources": {"requests": {"cpu": "1"}}} for name in names]
    return {"spec": {"schedulerName": "koord-scheduler", "containers": containers, **spec}}


def job(name: str, *, trains: bool = False, **pod: Any) -> dict[str, Any]:  # noqa: ANN401
    metadata = {"metadata": {"labels": STEP}} if trains else {}
    return {"name": name, "template": {**metadata, "spec": {"template": pod_template("node", **pod)}}}


def runtime(*jobs: Any, kind: str = "ClusterTrainingRuntime", policy: dict[str, Any] | None = None) -> dict[str, Any]:  # noqa: ANN401
    meta = {"name": "torch"} | ({"namespace": "team"} if kind == "TrainingRuntime" else {})
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": list(jobs)}}}
    return {"apiVersion": API, "kind": kind, "metadata": meta, "spec": spec}


def train(trainer: dict[str, Any] | None = None, ref: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    spec = {"runtimeRef": {"name": "torch", **(ref or {})}, **spec} | ({"trainer": trainer} if trainer else {})
    return workload(API, "TrainJob", spec)


EIGHT_EACH = {"limits": {"nvidia.com/gpu": 8}}


def test_a_train_job_has_the_jobs_of_its_runtime_with_its_own_nodes_and_resources(submit: Submit) -> None:
    written = train({"numNodes": 2, "resourcesPerNode": EIGHT_EACH})
    there = runtime(job("data"), job("train", trains=True), policy={"numNodes": 1})
    snapshot, submitted = submit(written, there)
    assert seen(snapshot.pending) == {"x-data-0-0": ONE, "x-train-0-0": EIGHT, "x-train-0-1": EIGHT}
    assert {(pod.owner, pod.scheduler) for pod in snapshot.pending} == {("TrainJob/x", "koord-scheduler")}
    assert {pod.requirements.unevaluated for pod in snapshot.pending} == {()}
    assert (submitted.suspended, submitted.scheduled) == ((), ())


@pytest.mark.parametrize(
    ("trainer", "policy", "jobs", "expected"),
    [
        ({}, None, [job("a", trains=True)], {"x-a-0-0": ONE}),
        ({}, {"numNodes": 2}, [job("a", trains=True)], {"x-a-0-0": ONE, "x-a-0-1": ONE}),
        ({"numNodes": 0}, {"numNodes": 2}, [job("a", trains=True)], {}),
        (
            {"numNodes": 2, "resourcesPerNode": EIGHT_EACH},
            {"mpi": {}},
            [job("launcher", trains=True), job("node")],
            {"x-launcher-0-0": EIGHT, "x-node-0-0": EIGHT, "x-node-0-1": EIGHT},
        ),
        (
            {"numNodes": 2},
            {"mpi": {"runLauncherAsNode": True}},
            [job("launcher", trains=True), job("node")],
            {"x-launcher-0-0": ONE, "x-node-0-0": ONE},
        ),
        ({"resourcesPerNode": EIGHT_EACH}, None, [job("a"), "no job"], {"x-a-0-0": ONE}),
    ],
    ids=range(6),
)
def test_the_number_of_nodes_is_that_of_the_job_or_of_the_policy(
    submit: Submit, trainer: dict[str, Any], policy: dict[str, Any] | None, jobs: list[Any], expected: dict[str, Any]
) -> None:
    if "no job" in jobs:
        with pytest.raises(KoordError, match="TrainJob x: ClusterTrainingRuntime torch: Expected `object`, got `str`"):
            submit(train(trainer), runtime(*jobs, policy=policy))
        jobs.remove("no job")
    assert seen(submit(train(trainer), runtime(*jobs, policy=policy))[0].pending) == expected


def test_a_runtime_without_jobs_makes_no_pods(submit: Submit) -> None:
    there = runtime()
    del there["spec"]["template"]["spec"]["replicatedJobs"]
    assert submit(train(), there)[0].pending == ()


def test_only_the_container_of_the_node_gets_the_resources(submit: Submit) -> None:
    there = runtime(job("a", trains=True))
    there["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] = pod_template("node", "log")
    (pod,) = submit(train({"resourcesPerNode": EIGHT_EACH}), there)[0].pending
    assert dict(pod.requirements.requests) == {"cpu": 1000, "nvidia.com/gpu": 8}


def test_a_runtime_of_the_namespace_may_stand_in_the_manifests(submit: Submit) -> None:
    written = train(ref={"kind": "TrainingRuntime"}, suspend=True)
    items = [written, runtime(job("a", trains=True), kind="TrainingRuntime"), runtime(job("b"))]
    snapshot, submitted = submit({"kind": "List", "items": items})
    assert [pod.name for pod in snapshot.pending] == ["x-a-0-0"]
    assert submitted.suspended == ("TrainJob/x",)


def test_overrides_change_the_templates_of_the_jobs_that_they_name(submit: Submit) -> None:
    gang = {"pod-group.scheduling.sigs.k8s.io": "g"}
    toleration = {"key": "gpu", "operator": "Exists", "value": "", "effect": "NoSchedule"}
    spec = {
        "nodeSelector": {"zone": "a"},
        "tolerations": [toleration],
        "priorityClassName": "koord-mid",
        "containers": [{"name": "node", "env": []}],
    }
    overrides = [
        {"targetJobs": [{"name": "a"}], "metadata": {"labels": gang}, "spec": spec},
        {"targetJobs": [{"name": "c"}], "spec": {"nodeSelector": {"zone": "z"}}},
        {"spec": {"nodeSelector": {"zone": "z"}}},
    ]
    there = runtime(job("a", nodeSelector={"disk": "ssd"}), job("b"))
    first, second = submit(train(podTemplateOverrides=overrides), there)[0].pending
    assert (first.gang, first.priority, first.requirements.selector) == (
        "team/g",
        7000,
        (("disk", "ssd"), ("zone", "a")),
    )
    assert ([one.key for one in first.requirements.tolerations], seen((first,))) == (["gpu"], {"x-a-0-0": ONE})
    assert (second.gang, second.priority, second.requirements.selector) == ("", 0, ())


def test_patches_of_a_runtime_are_not_evaluated(submit: Submit) -> None:
    (pod,) = submit(train(runtimePatches=[{}]), runtime(job("a")))[0].pending
    assert pod.requirements.unevaluated == (WideningPodSetting("training-runtime-patches"),)


def test_without_its_runtime_a_train_job_is_what_it_says_and_the_rest_is_open(submit: Submit) -> None:
    snapshot, _ = submit(train({"numNodes": 2, "resourcesPerNode": EIGHT_EACH}))
    assert seen(snapshot.pending) == {"x-node-0-0": EIGHT, "x-node-0-1": EIGHT}
    assert {pod.requirements.unevaluated for pod in snapshot.pending} == {(WideningPodSetting("training-runtime"),)}
    assert {pod.scheduler for pod in snapshot.pending} == {"koord-scheduler"}


def test_runtimes_are_read_where_there_is_a_train_job(tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_text(json.dumps(train()))
    manifests = Manifests(lambda: "team")
    runtimes = {"TrainingRuntime", "ClusterTrainingRuntime", "MutatingWebhookConfiguration"}
    assert not runtimes & set(manifests.more_kinds)
    manifests.read([str(path)])
    assert runtimes <= set(manifests.more_kinds)
