from typing import Any

import pytest

from kubectl_koord.cluster.apply import EvictionAnswer, evict_dry_run, patch
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Rule
from tests.cluster.conftest import Reach, pod

POD = "/api/v1/namespaces/red/pods/a"
EVICTION = f"{POD}/eviction"


@pytest.fixture(autouse=True)
def both_ways(way: str) -> str:
    return way


def budget(name: str, allowed: int, **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "red"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


def annotated(version: str = "") -> dict[str, Any]:
    meta: dict[str, Any] = {"annotations": {"x": "y"}}
    return {"metadata": meta | ({"resourceVersion": version} if version else {})}


def test_a_patch_is_a_merge_patch_in_our_name(server: ApiServer, reach: Reach) -> None:
    reply = patch(reach(writes=True), POD, annotated(), dry_run_server=False)
    assert reply["metadata"]["annotations"] == {"x": "y"}
    (request,) = server.requests(POD, "PATCH")
    assert request.headers["content-type"] == "application/merge-patch+json"
    assert request.query == {"fieldManager": "kubectl-koord"}
    assert request.json == annotated()
    assert server.get("pods", "red", "a")["metadata"]["annotations"] == {"x": "y"}


def test_a_dry_run_is_checked_and_not_stored(server: ApiServer, reach: Reach) -> None:
    before = server.get("pods", "red", "a")
    reply = patch(reach(writes=True), POD, annotated(), dry_run_server=True)
    assert reply["metadata"]["annotations"] == {"x": "y"}
    assert server.requests(POD, "PATCH")[0].query["dryRun"] == "All"
    assert server.get("pods", "red", "a") == before


def test_a_newer_object_is_not_overwritten(server: ApiServer, reach: Reach) -> None:
    version = server.get("pods", "red", "a")["metadata"]["resourceVersion"]
    newer = server.put(pod("a", "red"))
    with pytest.raises(KoordError) as caught:
        patch(reach(writes=True), POD, annotated(version), dry_run_server=False)
    assert caught.value.message.startswith('Error from server (Conflict): Operation cannot be fulfilled on pods "a": ')
    assert server.get("pods", "red", "a") == newer


def test_a_reading_transport_cannot_patch(server: ApiServer, reach: Reach) -> None:
    with pytest.raises(KoordError, match="Forbidden"):
        patch(reach(), POD, annotated(), dry_run_server=False)
    assert not server.requests(POD, "PATCH")


def test_a_pod_without_a_budget_may_be_evicted_and_stays(server: ApiServer, reach: Reach) -> None:
    answer = evict_dry_run(reach(writes=True), "red", "a")
    assert (answer, answer.allowed) == (EvictionAnswer("allowed"), True)
    (request,) = server.requests(EVICTION, "POST")
    assert request.query == {"dryRun": "All"}
    assert request.json == {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": "a", "namespace": "red"},
        "deleteOptions": {"dryRun": ["All"]},
    }
    assert server.get("pods", "red", "a")


def test_a_budget_refuses(server: ApiServer, reach: Reach) -> None:
    server.put(pod("a", "red", app="web"))
    server.put(budget("web", 0, app="web"))
    answer = evict_dry_run(reach(writes=True), "red", "a")
    assert not answer.allowed
    assert answer == EvictionAnswer("refused", "Cannot evict pod as it would violate the pod's disruption budget.")
    server.put(budget("web", 1, app="web"))
    assert evict_dry_run(reach(writes=True), "red", "a").allowed


def test_several_budgets_refuse(server: ApiServer, reach: Reach) -> None:
    server.put(pod("a", "red", app="web"))
    server.put(budget("one", 1, app="web"))
    server.put(budget("two", 1, app="web"))
    answer = evict_dry_run(reach(writes=True), "red", "a")
    assert answer.verdict == "refused"
    assert answer.message.startswith("This pod has more than one PodDisruptionBudget")


def test_a_throttled_question_is_no_refusal(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule(EVICTION, 429, "TooManyRequests", "too many requests", headers={"Retry-After": "1"}))
    answer = evict_dry_run(reach(writes=True), "red", "a")
    assert (answer.verdict, answer.allowed, answer.message) == ("throttled", False, "too many requests")


def test_a_question_that_we_may_not_ask_is_answered_with_the_servers_message(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule(EVICTION, 403, "Forbidden", "cannot create resource pods/eviction"))
    answer = evict_dry_run(reach(writes=True), "red", "a")
    assert answer == EvictionAnswer("forbidden", "cannot create resource pods/eviction")


def test_a_pod_that_is_gone_or_another_needs_no_eviction(server: ApiServer, reach: Reach) -> None:
    transport = reach(writes=True)
    uid = server.get("pods", "red", "a")["metadata"]["uid"]
    assert evict_dry_run(transport, "red", "nope").verdict == "gone"
    assert evict_dry_run(transport, "red", "a", uid).verdict == "allowed"
    assert evict_dry_run(transport, "red", "a", "other").verdict == "gone"


def test_any_other_failure_is_an_error(server: ApiServer, reach: Reach) -> None:
    server.rules.append(Rule(EVICTION, 500, "InternalError", "etcd"))
    with pytest.raises(KoordError, match=r"^Error from server \(InternalError\): etcd$"):
        evict_dry_run(reach(writes=True), "red", "a")
