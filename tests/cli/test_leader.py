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
    settings = f"{config}\nprofiles: [{{schedulerName: koord-scheduler}}]"
    with serving(lease("2026-01-01T00:00:00Z"), ConfigMap={"koord-scheduler-config": settings}) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        _, report = asked(koord)
        assert report["cause"] is None or report["cause"]["code"] != "no-scheduler"


@pytest.mark.parametrize(("status", "reason"), [(403, "Forbidden"), (404, "NotFound")])
def test_a_lease_that_cannot_be_read_changes_nothing(koord: Run, server: ApiServer, status: int, reason: str) -> None:
    _, before = asked(koord)
    server.rules.append(Rule(LEASES, status, reason, "no lease for you"))
    code, report = asked(koord)
    assert (code, report["warnings"]) == (0, before["warnings"])


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
