"""Koordinator in another namespace, under other names: found by what its objects say, or by what the user says."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run
from tests.cli.world import Object, lasting, world

OLD = "2026-01-01T00:00:00.000000Z"
CONFIG = """\
kind: KubeSchedulerConfiguration
leaderElection: {resourceName: ours, resourceNamespace: locks}
profiles:
- schedulerName: koord-scheduler
  pluginConfig: [{name: Coscheduling, args: {awareNetworkTopology: true}}]
"""
BY = {
    "label": ({"koord-app": "koord-scheduler"}, "registry.example/ours:v1.7.0"),
    "image": ({}, "registry.example:5000/mirror/koord-scheduler:v1.7.0@sha256:0f"),
}


def moved(labels: dict[str, str], image: str) -> list[Object]:
    """Return the small cluster with the scheduler's objects elsewhere, all of them under other names."""
    items = [item for item in world()["items"] if item["metadata"].get("namespace") != "koordinator-system"]
    container = {
        "name": "main",
        "image": image,
        "args": ["--config", "/etc/koord/scheduler.yaml", "--v=4"],
        "volumeMounts": [{"name": "x", "mountPath": "/etc"}, {"name": "c", "mountPath": "/etc/koord"}],
    }
    volumes = [{"name": "x", "emptyDir": {}}, {"name": "c", "configMap": {"name": "settings"}}]
    template = {"spec": {"containers": [container], "volumes": volumes}}
    home = {"namespace": "batch-system"}
    lease = {"holderIdentity": "ours-7_x", "renewTime": OLD, "leaseDurationSeconds": 15}
    return [
        *items,
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {**home, "name": "ours", "labels": labels},
            "spec": {"template": template},
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {**home, "name": "settings"},
            "data": {"scheduler.yaml": CONFIG, "else": "no"},
        },
        {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"namespace": "locks", "name": "ours"},
            "spec": lease,
        },
    ]


def lease_at(namespace: str) -> Object:
    spec = {"holderIdentity": "ours-7_x", "renewTime": "2999-01-01T00:00:00Z", "leaseDurationSeconds": 15}
    meta = {"namespace": namespace, "name": "koord-scheduler"}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": spec}


@pytest.fixture
def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None) -> Iterator[ApiServer]:
    """Serve the cluster whose scheduler has the label, which is the current context."""
    assert no_kubectl is None
    with ApiServer({"items": moved(*BY["label"])}) as served:
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig(tmp_path)))
        yield served


def asked(koord: Run, *words: str) -> dict[str, Any]:
    done = koord("why-pending", "job", *words, "-o", "json")
    document: dict[str, Any] = json.loads(done.out)
    return document


def is_found(report: dict[str, Any]) -> bool:
    """Tell whether image, configuration (no preemption) and lease (an old one) were found."""
    told = (report["koordinatorVersion"], report["versionFrom"], (report["cause"] or {})["code"])
    return told == ("1.7", "from the image tag", "no-scheduler") and not [
        one for one in report["warnings"] if one["code"] in {"assumed-config", "lease-missing"}
    ]


def test_a_scheduler_elsewhere_is_found_by_its_label(koord: Run, api: ApiServer) -> None:
    report = asked(koord)
    assert is_found(report)
    commands = {one["command"] for name in ("unblock", "nextSteps") for one in report[name]}
    assert "kubectl get pods -n batch-system -l koord-app=koord-scheduler" in commands
    assert {request.method for request in api.log} == {"GET"}


def test_without_the_label_it_is_found_by_its_image_where_its_lease_is(koord: Run, api: ApiServer) -> None:
    api.put(next(one for one in moved(*BY["image"]) if one["kind"] == "Deployment"))
    assert asked(koord)["versionFrom"] == "assumed: newest known release"
    api.put(lease_at("batch-system"))
    assert is_found(asked(koord))


def test_where_others_may_not_be_looked_into_its_namespace_is_told(koord: Run, api: ApiServer) -> None:
    api.put(next(one for one in moved(*BY["image"]) if one["kind"] == "Deployment"))
    api.rules.append(Rule("/apis/(apps|coordination.k8s.io)/v1/[a-z]+", 403, "Forbidden", "not in all namespaces"))
    assert not is_found(asked(koord))
    assert is_found(asked(koord, "--koordinator-namespace", "batch-system"))


@pytest.mark.parametrize("by", BY)
def test_in_a_file_it_is_found_too_and_in_a_snapshot(koord: Run, api: ApiServer, tmp_path: Path, by: str) -> None:
    api.put(next(one for one in moved(*BY[by]) if one["kind"] == "Deployment"))
    api.put(lease_at("batch-system"))
    file, own = tmp_path / "all.json", tmp_path / "snapshot.json.gz"
    file.write_text(json.dumps({"kind": "List", "items": moved(*BY[by])}))
    assert asked(koord, "--snapshot", str(file))["versionFrom"] == "from the image tag"
    for flags in ((), ("--anonymize",)):
        assert koord("snapshot", "-o", str(own), *flags).code == 0
        again = [koord("doctor", "-o", "json", *where) for where in ((), ("--snapshot", str(own)))]
        codes = [[(one["code"], one["severity"]) for one in json.loads(done.out)["findings"]] for done in again]
        assert codes[0] == codes[1]
        own.unlink()


def test_what_is_elsewhere_is_followed_there(koord: Run, api: ApiServer) -> None:
    def end_once_all_is_followed() -> None:
        for path in (
            "/apis/apps/v1/namespaces/batch-system/deployments",
            "/api/v1/namespaces/batch-system/configmaps",
            "/apis/coordination.k8s.io/v1/namespaces/locks/leases",
        ):
            api.wait_for(path, 1)
        api.delete("podgroups", "default", "job")
        for name in ("job-0", "job-1"):
            api.delete("pods", "default", name)

    with ThreadPoolExecutor() as pool:
        ended = pool.submit(end_once_all_is_followed)
        assert koord("why-pending", "job", "--until", "scheduled", "--timeout", "60s").code == 2
        ended.result()


def test_doctor_names_what_it_found(koord: Run, api: ApiServer) -> None:
    found = json.loads(koord("doctor", "-o", "json").out)["findings"]
    assert "Deployment/koord-scheduler" not in {one["object"] for one in found}
    assert "ConfigMap/settings" in {one["object"] for one in found}
    api.delete("deployments", "batch-system", "ours")
    (gone,) = [
        one
        for one in json.loads(koord("doctor", "-o", "json").out)["findings"]
        if "scheduler" in one["object"] and one["code"] == "deployment-missing"
    ]
    assert (
        gone["message"]
        == "there is no Deployment koord-scheduler in koordinator-system, nor one with its label or image."
    )


def test_the_scheduler_is_asked_where_its_lease_is(koord: Run, api: ApiServer) -> None:
    api.rules.append(Rule(".*/proxy/.*", raw=b"{}"))
    assert "its leader is not known" in koord("scheduler", "services").err
    api.put(lease_at("batch-system"))
    for words in ((), ("--koordinator-namespace", "batch-system")):
        assert koord("scheduler", "services", *words).code == 0
    paths = [request.path for request in api.log if "/proxy" in request.path]
    assert paths == ["/api/v1/namespaces/batch-system/pods/http:ours-7:10251/proxy/apis/v1/__services__"] * 2


def test_where_all_is_as_usual_nothing_more_is_asked(koord: Run, server: ApiServer) -> None:
    report = lasting(asked(koord))
    assert report["versionFrom"] == "from the image tag"
    homes = [request.path.rpartition("/")[2] for request in server.log if "koordinator-system" in request.path]
    assert sorted(homes) == ["configmaps", "deployments", "leases"]
