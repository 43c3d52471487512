"""`why-preempted`, and the events beside `why-pending`, from a file and from a live cluster."""

import json
from pathlib import Path

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run
from tests.cli.world import Object, pod, pod_group, world, write

MESSAGE = "koord-scheduler: preempting to accommodate higher priority pods, preemptor: far/big, triggerPod: far/big-0"
FAILED = "0/4 nodes are available: 4 Insufficient cpu."


def event(name: str, note: str, reason: str, **fields: object) -> Object:
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": "default"},
        "reason": reason,
        "note": note,
        "regarding": {"kind": "Pod", "namespace": "default", "name": name},
        "eventTime": "2026-11-20T09:00:00.000001Z",
        **fields,
    }


def victims() -> Object:
    """Return the small cluster with a victim that has failed, one that is gone, and their preemptor elsewhere."""
    objects = world()
    failed = pod("worker-0", "worker", on="a0", priority=5)
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": MESSAGE}
    failed["status"] = {"phase": "Failed", "conditions": [condition]}
    objects["items"] += [
        failed,
        pod_group("worker", 1),
        pod_group("big", 2, "far"),
        pod("big-0", "big", priority=99, namespace="far"),
        event(
            "gone",
            "Preempted by pod 1 on node a0",
            "Preempted",
            related={"kind": "Pod", "namespace": "far", "name": "big-0"},
        ),
        event("job-0", FAILED, "FailedScheduling"),
        event("job-0", "Pulled", "Pulled"),
    ]
    return objects


@pytest.fixture
def live(server: ApiServer) -> ApiServer:
    for item in victims()["items"]:
        server.put(item)
    return server


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize(
    "name",
    ["worker", "worker-0", "pod/worker-0", "default/worker-0", "pod/default/worker-0", "gone", "podgroup/worker"],
)
def test_a_live_cluster_and_its_file_name_the_same_preemptor(koord: Run, tmp_path: Path, name: str) -> None:
    path = write(tmp_path, victims())

    here, there = (koord("why-preempted", name, "-o", "json", *words) for words in ((), ("--snapshot", path)))

    found, of_file = json.loads(here.out), json.loads(there.out)
    assert (here.code, there.code) == (0, 0)
    assert found["kind"] == "WhyPreempted"
    assert found["pods"] == of_file["pods"]
    assert found["preemptors"] == of_file["preemptors"]
    assert [(one["preemptor"], one["preemptorPriority"], one["preemptorState"]) for one in found["pods"]] == [
        ("far/big", 99, "pending")
    ]


def test_only_the_namespaces_that_matter_are_read_and_events_of_one_reason(koord: Run, live: ApiServer) -> None:
    koord("why-preempted", "worker-0")

    paths = {
        request.path
        for request in live.log
        if request.path.startswith(("/api/v1", "/apis/events", "/apis/scheduling.sigs"))
    }
    lists = {path for path in paths if "koordinator-system" not in path}
    assert lists == {
        f"{group}/namespaces/{home}/{plural}"
        for home in ("default", "far")
        for group, plural in (
            ("/api/v1", "pods"),
            ("/apis/events.k8s.io/v1", "events"),
            ("/apis/scheduling.sigs.k8s.io/v1alpha1", "podgroups"),
        )
    }
    asked = {request.query.get("fieldSelector") for request in live.log if request.path.endswith("/events")}
    assert asked == {"reason=Preempted"}
    assert {request.method for request in live.log} == {"GET"}


@pytest.mark.parametrize("plural", ["pods", "events"])
def test_what_may_not_be_read_makes_nothing_found_unknown(koord: Run, live: ApiServer, plural: str) -> None:
    live.rules.append(Rule(f".*/namespaces/default/{plural}", 403, "Forbidden", f"no {plural} for you"))

    done = koord("why-preempted", "few-0", "-o", "json")

    assert (done.code, json.loads(done.out)["verdict"]) == (2, "unknown")
    assert f"no {plural} for you" in json.loads(done.out)["message"]


def test_a_preemptor_that_may_not_be_looked_up_is_unknown_and_the_rest_is_told(koord: Run, live: ApiServer) -> None:
    live.rules.append(Rule(".*/namespaces/far/.*", 403, "Forbidden", "not yours"))

    report = json.loads(koord("why-preempted", "worker-0", "-o", "json").out)

    assert (report["verdict"], report["pods"][0]["preemptorState"]) == ("yes", "unknown")
    assert report["pods"][0]["preemptorPriority"] is None


@pytest.mark.usefixtures("live")
def test_nobody_of_that_name_is_one_line_with_the_nearest(koord: Run, cluster: str) -> None:
    for words in ((), ("--snapshot", cluster), ("--demo",)):
        done = koord("why-preempted", "nobody", *words)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert done.err.startswith("error: no gang, pod or owner 'nobody', and no event mentions it")


@pytest.mark.usefixtures("live")
def test_no_sign_is_a_no(koord: Run, cluster: str) -> None:
    for words in ((), ("--snapshot", cluster)):
        done = koord("why-preempted", "few-0", *words)
        assert (done.code, done.err) == (1, "")
        assert done.out.startswith("default/few-0: no evidence of preemption: no condition or event shows it")


def test_a_name_in_a_file_is_found_in_any_namespace(koord: Run, tmp_path: Path) -> None:
    assert koord("why-preempted", "big-0", "--snapshot", write(tmp_path, victims())).code == 1


def test_why_pending_reads_the_events_of_one_gang_and_of_all_what_controllers_could_not_make(
    koord: Run, live: ApiServer
) -> None:
    says = json.loads(koord("why-pending", "job", "-o", "json").out)["schedulerSays"]
    of_events = [request for request in live.log if request.path.endswith("/events")]
    assert (says["message"], says["lastSeen"]) == (FAILED, "2026-11-20T09:00:00.000001Z")
    assert [(one.path, one.query["fieldSelector"]) for one in of_events] == [
        ("/apis/events.k8s.io/v1/namespaces/default/events", "reason=FailedScheduling")
    ]
    live.log.clear()
    job = {"kind": "Job", "namespace": "default", "name": "few"}
    live.put(event("few", "no quota", "FailedCreate", regarding=job, type="Warning"))
    assert "Job few could not make more" in koord("why-pending", "-A").out
    of_events = [request for request in live.log if request.path.endswith("/events")]
    assert [(one.path, one.query["fieldSelector"]) for one in of_events] == [
        ("/apis/events.k8s.io/v1/events", "regarding.kind!=Pod,type=Warning")
    ]


def test_why_pending_of_a_gang_that_lacks_pods_reads_what_controllers_could_not_make(
    koord: Run, live: ApiServer
) -> None:
    job = {"kind": "Job", "namespace": "default", "name": "few"}
    live.put(event("few", "no quota", "FailedCreate", regarding=job, type="Warning"))
    assert "Job few could not make more" in koord("why-pending", "few").out
    of_events = [request.query["fieldSelector"] for request in live.log if request.path.endswith("/events")]
    assert of_events == ["reason=FailedScheduling", "regarding.kind!=Pod,type=Warning"]


def test_events_that_may_not_be_read_change_no_verdict(koord: Run, live: ApiServer) -> None:
    said = pod("job-1", "job")
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": FAILED}
    said["status"]["conditions"] = [{**condition, "lastTransitionTime": "2026-11-20T08:00:00Z"}]
    live.put(said)
    before = json.loads(koord("why-pending", "job", "-o", "json").out)
    live.rules.append(Rule(".*/events", 403, "Forbidden", "no events for you"))

    after = json.loads(koord("why-pending", "job", "-o", "json").out)
    silent = json.loads(koord("why-pending", "tiny", "-o", "json").out)

    assert (after["verdict"], after["schedulerSays"]["lastSeen"]) == (before["verdict"], None)
    assert [one["code"] for one in after["warnings"]] == ["forbidden-list", "contended", "contended"]
    assert "no events for you" in after["warnings"][0]["message"]
    assert [one["code"] for one in silent["warnings"]] == ["contended"]


def test_raw_prints_the_untouched_texts_and_needs_a_gang(koord: Run, tmp_path: Path) -> None:
    objects = world()
    for item in objects["items"]:
        if item["metadata"]["name"].startswith("job-"):
            condition = {"type": "PodScheduled", "status": "False", "message": f"{FAILED} \x1b[2Jraw"}
            item["status"]["conditions"] = [condition]
    path = write(tmp_path, objects)

    page = koord("why-pending", "job", "--raw", "--snapshot", path).out
    parsed = json.loads(koord("why-pending", "job", "--raw", "-o", "json", "--snapshot", path).out)

    assert f"  on 2 pods (job-0, job-1):\n    {FAILED} \\x1b[2Jraw\n" in page
    assert parsed["schedulerSays"]["texts"] == [
        {"message": f"{FAILED} \x1b[2Jraw", "pods": ["default/job-0", "default/job-1"]}
    ]
    assert koord("why-pending", "--raw", "--snapshot", path) == (
        2,
        "",
        "error: --raw needs a GANG, and cannot be used with --watch or --until\n",
    )
