"""One job, read of files and of a live cluster: the same values of both, with few requests, and a gap for a refusal."""

import io
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
import yaml
from msgspec import structs

from kubectl_koord.cluster import stored
from kubectl_koord.cluster.around import Around
from kubectl_koord.cluster.objects.jobs import BY_KIND, QUEUES
from kubectl_koord.cluster.one_job import every_job, of_job
from kubectl_koord.errors import KoordError
from kubectl_koord.model.jobs import Controller, Jobs
from kubectl_koord.model.snapshot import Snapshot

CLUSTERS = Path(__file__).parents[1] / "layers" / "clusters"


def asks(file: Path) -> str:
    found = re.search(r"^# ask: (.*)$", file.read_text(), re.MULTILINE)
    assert found, file
    return found[1]


FILES = [*{asks(file).rpartition("/")[0]: file for file in sorted(CLUSTERS.glob("*.yaml"), reverse=True)}.values()]
"""One for each kind of owner."""
_PATH = re.compile(r"/(?:api|apis/([^/]+))/([^/]+)(?:/namespaces/([^/]+))?/([^/]+)(?:/([^/]+))?")
PLURALS = {
    **{(one.group, one.plural): one.kind for one in BY_KIND.values()},
    **{(one.group, one.plural): one.kind for one in QUEUES.values()},
    ("", "pods"): "Pod",
    ("events.k8s.io", "events"): "Event",
    ("coordination.k8s.io", "leases"): "Lease",
    ("scheduling.k8s.io", "priorityclasses"): "PriorityClass",
    ("trainer.kubeflow.org", "clustertrainingruntimes"): "ClusterTrainingRuntime",
    ("own.example.com", "notebooks"): "Notebook",
}


class _Body(io.BytesIO):
    def __init__(self, status: int, content: object) -> None:
        super().__init__(json.dumps(content).encode())
        self.status = status
        self.headers: Mapping[str, str] = {}


class Server:
    """Serves objects as the API server does; `refused` are plurals that one may not read."""

    def __init__(self, objects: Iterable[dict[str, Any]], refused: Iterable[str] = ()) -> None:
        self.objects = list(objects)
        self.refused = frozenset(refused)
        self.asked: list[str] = []

    def open(self, path: str, _accept: str = "") -> _Body:  # noqa: PLR0911
        self.asked.append(path)
        url = urlsplit(path)
        if url.path == "/apis":
            groups = sorted({one["apiVersion"] for one in self.objects if "/" in one["apiVersion"]})
            named = [
                {
                    "name": v.partition("/")[0],
                    "preferredVersion": {"groupVersion": v},
                    "versions": [{"groupVersion": v, "version": v.partition("/")[2]}],
                }
                for v in groups
            ]
            return _Body(200, {"kind": "APIGroupList", "groups": named})
        if url.path == "/apis/own.example.com/v1":
            notebook = {"name": "notebooks", "singularName": "notebook", "kind": "Notebook", "shortNames": ["nb"]}
            return _Body(200, {"resources": [notebook, {"name": "notebooks/status", "kind": "Notebook"}]})
        if re.fullmatch("/apis/[^/]+/[^/]+", url.path):
            return _Body(200, {"resources": []})
        found = _PATH.fullmatch(url.path)
        assert found, path
        group, version, namespace, plural, name = found.groups()
        if plural in self.refused:
            return _Body(403, {"kind": "Status", "status": "Failure", "message": f"{plural} is forbidden"})
        if plural == "namespaces":
            homes = {one["metadata"].get("namespace") for one in self.objects}
            return _Body(200 if name in homes else 404, {"kind": "Namespace", "metadata": {"name": name}})
        kind = PLURALS.get((group or "", plural))
        api = f"{group}/{version}" if group else version
        here = [one for one in self.objects if one["kind"] == kind and (kind == "Event" or one["apiVersion"] == api)]
        here = [one for one in here if namespace in {None, one["metadata"].get("namespace")}]
        if name:
            named_so = [one for one in here if one["metadata"]["name"] == unquote(name)]
            return _Body(200, named_so[0]) if named_so else _Body(404, {"kind": "Status", "status": "Failure"})
        if group in {"kueue.x-k8s.io", "scheduling.x-k8s.io"} and not here:
            return _Body(404, {"kind": "Status", "status": "Failure"})
        query = parse_qs(url.query)
        for selector in query.get("labelSelector", ()):
            wanted = dict(part.split("=") for part in selector.split(","))
            here = [one for one in here if wanted.items() <= (one["metadata"].get("labels") or {}).items()]
        for selector in query.get("fieldSelector", ()):
            field, value = selector.split("=", 1)
            is_of_events = field in {"type", "regarding.kind!"}
            here = [one for one in here if is_of_events or one["metadata"]["name"] == value]
        items = [{key: value for key, value in one.items() if key not in {"apiVersion", "kind"}} for one in here]
        return _Body(200, {"kind": f"{kind}List", "items": items})


def objects_of(file: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.load_all(file.read_text(), yaml.CSafeLoader) if one]


def of_file(file: Path, name: str) -> Snapshot:
    around = Around()
    snapshot = stored.from_files([str(file)], "", around=around)
    return of_job(snapshot, around, None, name, "default")


def live(server: Server, name: str, namespace: str = "default", pods: Iterable[str] = ()) -> Snapshot:
    bare = Snapshot("2026-11-20T08:00:00Z", {}, {})
    return of_job(bare, Around(), server, name, namespace, tuple(pods))  # type: ignore[arg-type]


def jobs_of(snapshot: Snapshot) -> Jobs:
    assert snapshot.jobs is not None
    return snapshot.jobs


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_object_that_exists_is_found_by_its_name(file: Path) -> None:
    found = jobs_of(of_file(file, asks(file)))
    bare = asks(file).rpartition("/")[2]
    assert found.asked.endswith(f"/{bare}")
    assert found.owners or found.pods
    assert jobs_of(of_file(file, bare)).asked == found.asked


@pytest.mark.parametrize("file", [one for one in FILES if "/pod/" not in asks(one)], ids=lambda file: file.stem)
def test_a_live_cluster_gives_what_a_file_of_it_gives(file: Path) -> None:
    name = asks(file)
    snapshot, server = of_file(file, name), Server(objects_of(file))
    there, here = jobs_of(snapshot), jobs_of(live(server, name))
    assert (here.asked, here.owners, here.made) == (there.asked, there.owners, there.made)
    assert (here.pods, here.events, here.controllers) == (there.pods, there.events, there.controllers)
    assert here.kueue.workloads == there.kueue.workloads
    assert here.kueue.local_queues.items() <= there.kueue.local_queues.items()
    assert here.koord == there.koord
    if there.kueue.workloads:
        assert (here.kueue.cluster_queues, here.kueue.cohorts) == (there.kueue.cluster_queues, there.kueue.cohorts)
    assert len(here.planned) == len(there.planned)
    assert len(server.asked) <= 30
    assert not any(
        re.search(r"/(pods|events|workloads)(\?|$)", path) and "namespaces" not in path for path in server.asked
    )


def test_json_gives_what_yaml_gives(tmp_path: Path) -> None:
    for file in FILES:
        whole = tmp_path / "whole.json"
        whole.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects_of(file)}))
        of_json, of_yaml = jobs_of(of_file(whole, asks(file))), jobs_of(of_file(file, asks(file)))
        bare: dict[str, object] = {"planned": (), "planned_groups": {}}
        assert structs.replace(of_json, **bare) == structs.replace(of_yaml, **bare), file


def test_pods_without_the_label_are_found_by_their_owner_and_those_of_others_are_not() -> None:
    objects = objects_of(CLUSTERS / "binding-devices.yaml")
    for one in objects:
        if one["kind"] == "Pod":
            one["metadata"]["labels"] = {}
    objects.append({**objects[-1], "metadata": {"name": "other", "namespace": "train"}})
    found = jobs_of(live(Server(objects), "train/job/dev"))
    assert [pod.key for pod in found.pods] == ["train/dev-0", "train/dev-1"]


def test_all_jobs_are_listed_each_kind_once_where_its_group_is_served() -> None:
    names = ("kueue-no-quota", "koord-queue-quota", "creation-quota")
    server = Server([one for name in names for one in objects_of(CLUSTERS / f"{name}.yaml")], refused=("queueunits",))
    around = Around(with_pods=False)
    bare = of_file(CLUSTERS / "kueue-no-quota.yaml", "llm-7")
    snapshot = every_job(bare, around, server, "train")  # type: ignore[arg-type] # no more of it is used
    jobs = jobs_of(snapshot)
    assert {(one.kind, one.name) for one in jobs.owners} >= {("PyTorchJob", "llm-7"), ("Job", "wide")}
    assert (jobs.pods, len(jobs.kueue.workloads) > 0, {gap.kind for gap in snapshot.gaps} & {"QueueUnit"}) == (
        (),
        True,
        {"QueueUnit"},
    )
    assert len({*server.asked}) == len(server.asked)
    assert not [path for path in server.asked if "rayjobs" in path or "deployments" in path]
    assert jobs.events


@pytest.mark.parametrize("number", [1, 9])
def test_what_is_no_job_is_read_where_a_pod_of_it_was_refused_by_name_or_all_of_the_kind(number: int) -> None:
    items: list[dict[str, Any]] = []
    for at in range(number):
        about = {"kind": "ReplicaSet", "namespace": "train", "name": f"web-{at}"}
        meta = {"namespace": "train", "name": f"web-{at}", "uid": f"rs-{at}"}
        owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"web{at}", "uid": "d", "controller": True}
        items += [
            {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "train", "name": f"web{at}"}},
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {**meta, "ownerReferences": [owner]}},
            {"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": meta, "regarding": about, "type": "Warning"}
            | {"reason": "FailedCreate", "note": "exceeded quota"},
        ]
    server = Server(items)
    snapshot = every_job(Snapshot("2026-11-20T08:00:00Z", {}, {}), Around(with_pods=False), server, "")  # type: ignore[arg-type]
    found = {(one.kind, one.name) for one in jobs_of(snapshot).owners}
    assert {("ReplicaSet", "web-0"), ("Deployment", "web0")} <= found
    assert [event.reason for event in snapshot.events] == ["FailedCreate"] * number
    lists = [path for path in server.asked if path.partition("?")[0] == "/apis/apps/v1/replicasets"]
    assert len(lists) == (number > 8)


def test_one_object_as_kubectl_prints_it_is_enough(tmp_path: Path) -> None:
    (job,) = [one for one in objects_of(CLUSTERS / "owner-job-suspended.yaml") if one["kind"] == "Job"]
    (tmp_path / "job.json").write_text(json.dumps(job))
    found = jobs_of(of_file(tmp_path / "job.json", "job/pretrain"))
    assert [(one.kind, one.suspended, one.wanted) for one in found.owners] == [("Job", True, 8)]
    assert len(found.planned) == 8


def test_a_snapshot_file_tells_nothing_of_containers_and_so_nothing_of_jobs(tmp_path: Path) -> None:
    head = {"apiVersion": "kubectl-koord/v1alpha1", "kind": "ClusterSnapshot", "metadata": {"name": "cluster"}}
    items = [{**head, "moment": "2026-11-20T08:00:00Z"}, *objects_of(CLUSTERS / "creation-quota.yaml")]
    (tmp_path / "snapshot.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert of_file(tmp_path / "snapshot.json", "train/job/wide").jobs is None


def test_what_may_not_be_read_is_a_gap_of_its_kind_alone() -> None:
    server = Server(objects_of(CLUSTERS / "kueue-no-quota.yaml"), refused=("workloads", "events", "clusterqueues"))
    snapshot = live(server, "train/pytorchjob/llm-7")
    assert {gap.kind: gap.code for gap in snapshot.gaps} == {"Workload": "forbidden", "Event": "forbidden"}
    assert jobs_of(snapshot).owners[0].name == "llm-7"
    refused = live(Server(server.objects, refused=("pytorchjobs", "clusterqueues")), "train/pytorchjob/llm-7")
    assert refused.jobs is None
    assert [gap.kind for gap in refused.gaps] == ["PyTorchJob.kubeflow.org"]
    queue = live(Server(server.objects, refused=("clusterqueues",)), "train/pytorchjob/llm-7")
    assert [gap.kind for gap in queue.gaps] == ["ClusterQueue"]
    assert [*jobs_of(queue).kueue.local_queues] == ["train/default"]


def test_a_kind_that_nobody_knows_is_found_by_discovery() -> None:
    meta = {"name": "lab", "namespace": "team", "uid": "u"}
    waits = {"conditions": [{"type": "Ready", "status": "False", "reason": "NoImage", "message": "no image"}]}
    notebook = {"apiVersion": "own.example.com/v1", "kind": "Notebook", "metadata": meta, "status": waits}
    own = {"name": "lab-0", "namespace": "team"}
    own["ownerReferences"] = [
        {"apiVersion": "own.example.com/v1", "kind": "Notebook", "name": "lab", "controller": True}
    ]  # type: ignore[assignment]
    server = Server([notebook, {"apiVersion": "v1", "kind": "Pod", "metadata": own}])
    found = jobs_of(live(server, "nb/lab", "team"))
    assert [(one.kind, one.is_known, one.conditions[0].message) for one in found.owners] == [
        ("Notebook", False, "no image")
    ]
    assert [pod.key for pod in found.pods] == ["team/lab-0"]
    assert live(server, "thing/lab", "team").jobs is None


def test_a_name_alone_is_looked_for_among_all_kinds_that_are_served() -> None:
    server = Server(objects_of(CLUSTERS / "owner-raycluster-deleting.yaml"))
    assert jobs_of(live(server, "tune", "train")).asked == "RayCluster/train/tune"
    assert not any("sparkoperator" in path for path in server.asked)
    assert live(server, "nobody", "train").jobs is None


def test_a_gang_is_read_by_the_pods_that_it_has() -> None:
    server = Server(objects_of(CLUSTERS / "gates-own.yaml"))
    found = jobs_of(live(server, "podgroup/pg", "train", [f"train/pg-{number}" for number in range(4)]))
    assert (found.asked, len(found.pods), [one.key for one in found.owners]) == ("PodGroup/train/pg", 4, ["train/pg"])


def test_a_pod_is_read_with_its_owner() -> None:
    server = Server(objects_of(CLUSTERS / "creation-quota.yaml"))
    found = jobs_of(live(server, "pod/wide-3", "train"))
    assert (found.asked, [pod.key for pod in found.pods]) == ("Pod/train/wide-3", ["train/wide-3"])
    assert [one.kind for one in found.owners] == ["Job"]
    assert "exceeded quota" in found.events[0].message
    assert jobs_of(live(Server(objects_of(CLUSTERS / "gates-grove.yaml")), "lone", "train")).owners == ()


def test_a_train_job_is_read_down_to_its_jobs_and_planned_from_its_runtime() -> None:
    template = {"spec": {"containers": [{"name": "node", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}
    step = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}
    replicated = [
        {"name": "node", "replicas": 1, "template": {"metadata": {"labels": step}, "spec": {"template": template}}}
    ]
    spec = {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": replicated}}}
    meta = {"name": "llm", "namespace": "team", "uid": "u-train"}
    api = "trainer.kubeflow.org/v1alpha1"
    train = {"apiVersion": api, "kind": "TrainJob", "metadata": meta}
    train["spec"] = {"runtimeRef": {"name": "torch"}, "trainer": {"numNodes": 3}, "suspend": True}
    runtime = {"apiVersion": api, "kind": "ClusterTrainingRuntime", "metadata": {"name": "torch"}, "spec": spec}
    by = [{"apiVersion": api, "kind": "TrainJob", "name": "llm", "uid": "u-train", "controller": True}]
    own = {**meta, "uid": "u-set", "ownerReferences": by}
    job_set = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": own, "spec": {"suspend": True}}
    below = [
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "llm", "uid": "u-set", "controller": True}
    ]
    labels = {"jobset.sigs.k8s.io/jobset-name": "llm"}
    job = {"name": "llm-node-0", "namespace": "team", "labels": labels, "ownerReferences": below}
    server = Server([train, runtime, job_set, {"apiVersion": "batch/v1", "kind": "Job", "metadata": job}])
    found = jobs_of(live(server, "trainjob/llm", "team"))
    assert [(one.kind, one.name) for one in found.owners] == [("TrainJob", "llm")]
    assert [(one.kind, one.name) for one in found.made] == [("Job", "llm-node-0"), ("JobSet", "llm")]
    assert len(found.planned) == 3
    of_set = jobs_of(live(server, "job/llm-node-0", "team"))
    assert [one.kind for one in of_set.owners] == ["Job", "JobSet", "TrainJob"]


def test_the_lease_of_the_controller_manager_is_read_where_pods_lack() -> None:
    (job,) = [one for one in objects_of(CLUSTERS / "owner-job-suspended.yaml") if one["kind"] == "Job"]
    spec = {"holderIdentity": "master-0", "renewTime": "2026-11-20T07:00:00.000000Z", "leaseDurationSeconds": 15}
    meta = {"name": "kube-controller-manager", "namespace": "kube-system"}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}
    found = jobs_of(live(Server([job, lease]), "job/pretrain", "train"))
    assert found.controllers == (
        Controller(
            "kube-controller-manager",
            ("apps", "batch", ""),
            "kube-system/kube-controller-manager",
            "master-0",
            "2026-11-20T07:00:00.000000Z",
            15,
        ),
    )


def test_a_class_that_is_not_there_leaves_the_pods_unplanned_and_says_why() -> None:
    (job,) = [one for one in objects_of(CLUSTERS / "owner-job-suspended.yaml") if one["kind"] == "Job"]
    job["spec"]["template"]["spec"]["priorityClassName"] = "high"
    found = jobs_of(live(Server([job]), "job/pretrain", "train"))
    assert found.planned == ()
    assert "PriorityClass 'high'" in found.not_planned
    high = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 7}
    assert {pod.priority for pod in jobs_of(live(Server([job, high]), "job/pretrain", "train")).planned} == {7}


def test_an_amount_that_is_none_is_told_with_its_object(tmp_path: Path) -> None:
    spec = {"resourceGroups": [{"flavors": [{"name": "a", "resources": [{"name": "cpu", "nominalQuota": "many"}]}]}]}
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}
    (tmp_path / "q.json").write_text(json.dumps(queue))
    with pytest.raises(KoordError, match=r"ClusterQueue .*q: "):
        of_file(tmp_path / "q.json", "x")


def test_an_answer_that_is_no_object_is_told() -> None:
    class Broken(Server):
        def open(self, path: str, _accept: str = "") -> _Body:
            return _Body(200, ["no", "object"]) if "jobs" in path else _Body(500, {"kind": "Status", "message": "down"})

    with pytest.raises(KoordError, match=r"the server's Job\.batch cannot be read"):
        live(Broken([]), "job/x")
    with pytest.raises(KoordError):
        live(Broken([]), "sts/x")
