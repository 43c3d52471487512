"""The scheduler's leader lease, live: what an old one, a missing one and one that may not be read mean."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run
from tests.cli.world import lease, pod, world, write

LEASES = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases"


def serving(*leases: dict[str, Any], **fields: dict[str, str]) -> ApiServer:
    objects = world()
    items = [item for item in objects["items"] if item["kind"] != "Lease"] + list(leases)
    for item in items:
        if item["kind"] in fields:
            item["data"] = fields[item["kind"]]
    return ApiServer(objects | {"items": items})


def asked(koord: Run, gang: str = "tiny") -> tuple[int, dict[str, Any]]:
    done = koord("why-pending", gang, "-o", "json")
    return done.code, json.loads(done.out)


def codes(report: dict[str, Any]) -> set[str]:
    return {notice["code"] for notice in report["warnings"]}


def test_an_old_lease_is_the_root_cause(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl: str
) -> None:
    assert kubectl
    with serving(lease("2026-01-01T00:00:00.000000Z")) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        code, report = asked(koord)
        assert (code, report["cause"]["code"]) == (1, "no-scheduler")
        assert asked(koord, "few")[1]["alsoWrong"] == ["too-few-pods"]


@pytest.mark.usefixtures("server")
def test_a_fresh_lease_is_no_cause(koord: Run) -> None:
    assert asked(koord)[0] == 0


def test_a_missing_lease_is_a_warning(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl: str
) -> None:
    assert kubectl
    with serving() as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        code, report = asked(koord)
        assert (code, "lease-missing" in codes(report)) == (0, True)


@pytest.mark.parametrize("config", ["leaderElection: {leaderElect: false}", "leaderElection: {resourceName: mine}"])
def test_without_leader_election_the_lease_says_nothing(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl: str, config: str
) -> None:
    assert kubectl
    settings = f"kind: KubeSchedulerConfiguration\n{config}\nprofiles: [{{schedulerName: koord-scheduler}}]"
    with serving(lease("2026-01-01T00:00:00Z"), ConfigMap={"koord-scheduler-config": settings}) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        _, report = asked(koord)
        assert report["cause"] is None or report["cause"]["code"] != "no-scheduler"


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (404, "NotFound")])
def test_with_a_lease_that_cannot_be_read_it_is_unknown_whether_a_scheduler_places_anything(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None, status: int, reason: str
) -> None:
    assert no_kubectl is None
    for renewed, verdict in (("2999-01-01T00:00:00Z", "yes"), ("2026-01-01T00:00:00Z", "no")):
        with serving(lease(renewed)) as api:
            monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
            assert asked(koord)[1]["verdict"] == verdict
            api.rules.append(Rule(LEASES, status, reason, "no lease for you"))
            code, report = asked(koord)
            assert (code, report["verdict"], report["cause"]["code"]) == (2, "unknown", "not-readable")
            assert report["cause"]["message"] == (
                "it depends on whether the scheduler is active (Lease objects could not be read), which is not"
                " evaluated."
            )
            assert [one["code"] for one in report["warnings"] if one["code"] != "contended"] == [
                f"{'forbidden' if status == 403 else 'missing'}-list"
            ]
            assert report["warnings"][0]["message"].startswith("Lease: ")


def test_where_there_is_no_lease_the_deployment_tells_whether_a_scheduler_is_active(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None
) -> None:
    assert no_kubectl is None
    for replicas, status, verdict, message in (
        (2, {"replicas": 2, "availableReplicas": 1}, "yes", None),
        (2, {"replicas": 2, "readyReplicas": 1}, "yes", None),
        (2, None, "yes", None),
        (2, {"replicas": 2, "unavailableReplicas": 2}, "no", "Deployment koord-scheduler has 0 of 2 pods available."),
        (0, {}, "no", "Deployment koord-scheduler is scaled to 0."),
    ):
        with serving() as api:
            monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
            deployment = api.get("deployments", "koordinator-system", "koord-scheduler")
            deployment["spec"]["replicas"], deployment["status"] = replicas, status
            api.put(deployment)
            _, report = asked(koord)
            cause = report["cause"] and (report["cause"]["code"], report["cause"]["message"])
            told = message and ("no-scheduler", f"koord-scheduler is not active: {message}")
            assert (report["verdict"], cause) == (verdict, told)
            api.rules.append(Rule(LEASES, 403, "Forbidden", "no lease for you"))
            assert asked(koord)[1]["verdict"] == "unknown"


def test_a_lease_in_a_file_is_not_looked_at(koord: Run, tmp_path: Path) -> None:
    objects = world()
    objects["items"].append(lease("2026-01-01T00:00:00Z"))
    done = koord("why-pending", "tiny", "--snapshot", write(tmp_path, objects))
    assert done.code == 0


def test_finished_pods_are_read_and_count_as_members(
    koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl: str
) -> None:
    assert kubectl
    objects = world()
    done = pod("tiny-old", "tiny", on="a0")
    done["status"]["phase"] = "Succeeded"
    objects["items"].append(done)
    with ApiServer(objects) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        _, report = asked(koord)
        assert "satisfied-by-earlier-pods" in codes(report)
