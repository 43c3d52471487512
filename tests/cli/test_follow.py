"""why-pending that goes on: what `--watch` prints, when `--until` ends, and that nothing is left behind."""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from kubectl_koord.cli import follow
from kubectl_koord.cluster import watching
from kubectl_koord.cluster.watching import Backoff
from tests.apiserver import ApiServer, Object, Rule, Tls
from tests.cli.conftest import Run
from tests.cli.world import pod, pod_group, world
from tests.forked import forked

PODS = "/api/v1/pods"
UNTIL = ("--until", "scheduled")
MISSING = "no spine has room for its 2 pods; the best has 1"
Started = Callable[..., AbstractContextManager["subprocess.Popen[str]"]]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return where the program keeps its socket: nothing may be left there."""
    made = tmp_path / "tmp"
    made.mkdir()
    yield made
    assert not list(made.iterdir())


@pytest.fixture
def started(folder: Path) -> Started:
    """Start the program."""

    @contextmanager
    def begun(*words: str) -> Iterator["subprocess.Popen[str]"]:
        environment = dict(os.environ) | {"TMPDIR": str(folder)}
        pipe = subprocess.PIPE
        with subprocess.Popen([*forked(), *words], stdout=pipe, stderr=pipe, text=True, env=environment) as child:
            try:
                yield child
            finally:
                child.terminate()
                child.wait(20)

    return begun


def line(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline()


def page(child: "subprocess.Popen[str]") -> list[str]:
    """Read up to the last line of a page."""
    lines = [line(child)]
    while "Evaluated as Koordinator 1.8" not in lines[-1]:
        assert lines[-1], lines
        lines.append(line(child))
    return lines


def change(child: "subprocess.Popen[str]") -> str:
    """Read one change and return it without its time."""
    found = re.fullmatch(r"\d\d:\d\d:\d\d  (.*)\n", line(child))
    assert found is not None
    return found[1]


def place(server: ApiServer, *names: str) -> None:
    for name, node in zip(names, ("a0", "a1"), strict=False):
        server.put(pod(name, name.partition("-")[0], on=node))


def test_a_gang_is_shown_and_then_only_what_changes(server: ApiServer, started: Started) -> None:
    with started("why-pending", "job", "-w") as child:
        assert page(child)[0] == f"default/job is pending: {MISSING}.\n"
        server.put(pod_group("unrelated", 1))
        server.put(pod("x", on="b0"))
        assert change(child).startswith("default/job  0 of 2 slots in spine-b (was 1); ")
        server.delete("pods", "default", "x")
        assert change(child).startswith(
            f"default/job  1 of 2 slots in spine-b (was 0); pending: {MISSING}; now helps: "
        )
        place(server, "job-0", "job-1")
        while "scheduled" not in (last := change(child)):
            pass
        assert last == "default/job  scheduled: 2 pods on a node"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=20) == ("", "")
    assert child.returncode == 130
    assert len([one for one in server.requests(PODS) if not one.is_watch]) == 1
    assert {request.method for request in server.log} == {"GET"}


def test_a_listing_tells_who_comes_and_goes(server: ApiServer, started: Started) -> None:
    with started("why-pending", "--watch") as child:
        assert page(child)[0].startswith("5 gangs have pending pods: ")
        server.delete("pods", "default", "tiny-0")
        assert change(child) == "default/tiny  no pending pods, 0 on a node, 1 needed"
        server.put(pod("elsewhere-0", namespace="other"))
        server.put(pod("alone-0", cpu="1"))
        assert change(child) == (
            "pod/default/alone-0  cannot tell whether it would be placed: other/elsewhere-0 has the same priority and"
            " needs the same room: the one tried first gets it"
        )
        child.send_signal(signal.SIGTERM)
        assert child.communicate(timeout=20) == ("", "")
    assert child.returncode == 143


def test_a_listing_tells_of_jobs_that_a_layer_holds_and_what_becomes_of_them(
    server: ApiServer, started: Started
) -> None:
    server.put(job_object(suspend=True))
    with started("why-pending", "--watch") as child:
        first = page(child)
        assert first[0].startswith("6 jobs wait: ")
        assert any(line.split()[:1] == ["default/train"] and "suspended" in line for line in first), first
        server.put(job_object(suspend=False))
        server.put(pod_of_job("a1", ready=True))
        assert change(child) == "default/train  waits no more, or is gone"
        child.send_signal(signal.SIGTERM)
        assert child.communicate(timeout=20) == ("", "")


def test_each_change_is_a_document_on_a_line_of_its_own(server: ApiServer, started: Started) -> None:
    with started("why-pending", "job", "--watch", *UNTIL, "-o", "json") as child:
        assert json.loads(line(child))["verdict"] == "no"
        server.delete("pods", "default", "filler-a")
        server.delete("pods", "default", "high-0")
        server.delete("pods", "default", "high-1")
        while (document := json.loads(line(child)))["verdict"] != "yes":
            pass
        assert document["placement"] == {"default/job-0": "a0", "default/job-1": "a1"}
        place(server, "job-0", "job-1")
        rest, errors = child.communicate(timeout=20)
        assert json.loads(rest.splitlines()[-1])["boundPods"] == 2
    assert (child.returncode, errors) == (0, "")


def test_of_all_gangs_a_line_tells_each_that_has_changed(server: ApiServer, started: Started) -> None:
    with started("gangs", "-w", "--watch=true") as child:
        assert page(child)[0].startswith("5 gangs, 5 with pending pods: ")
        server.put(pod("unrelated-0", cpu="0"))
        place(server, "tiny-0")
        assert change(child) == "default/tiny  running: 1 of 1 pod bound, 0 pending"
        server.delete("pods", "default", "lost-0")
        assert change(child) == "default/lost  gone"
        child.send_signal(signal.SIGINT)
        assert child.communicate(timeout=20) == ("", "")
    assert child.returncode == 130


@pytest.mark.parametrize(
    ("words", "headline"),
    [
        (("topo",), "The topology tree has 2 spines and 4 nodes; 16 of 32 CPU free.\n"),
        (("preempt", "high", "--dry-run"), "default/high would preempt 1 pod and then run.\n"),
    ],
)
def test_any_other_answer_is_shown_anew_when_it_is_another(
    server: ApiServer, started: Started, words: tuple[str, ...], headline: str
) -> None:
    with started(*words, "--watch") as child:
        first = page(child)
        assert first[0] == headline
        server.put(pod("x", cpu="1", on="a0", priority=5000))
        assert line(child) == "\n"
        assert re.fullmatch(r"\d\d:\d\d:\d\d\n", line(child))
        assert page(child) != first


def test_quotas_are_followed_as_documents_too(server: ApiServer, started: Started) -> None:
    with started("quota", "-w", "-o", "json") as child:
        before = {one["name"] for one in json.loads(line(child))["quotas"]}
        server.put(elastic_quota("team"))
        assert {one["name"] for one in json.loads(line(child))["quotas"]} == before | {"team"}


def test_only_a_live_cluster_is_followed_and_as_what_can_go_on(koord: Run, cluster: str, server: ApiServer) -> None:
    assert server.log == []
    for verb in (("gangs",), ("topo",), ("quota",), ("preempt", "job", "--dry-run")):
        assert koord(*verb, "-w", "--snapshot", cluster).err == "error: --watch needs a live cluster\n"
    assert koord("topo", "-w", "-o", "html").err == "error: -o html cannot be used with --watch\n"
    asked = koord("preempt", "job", "--dry-run=server", "-w").err
    assert asked == "error: --dry-run=server asks once: it cannot be used with --watch\n"


def elastic_quota(name: str) -> dict[str, object]:
    api = "scheduling.sigs.k8s.io/v1alpha1"
    meta = {"name": name, "namespace": "default"}
    return {"apiVersion": api, "kind": "ElasticQuota", "metadata": meta, "spec": {"min": {"cpu": "1"}, "max": {}}}


def test_a_wait_for_what_is_already_so_ends_at_once(koord: Run, server: ApiServer) -> None:
    server.put(pod("tiny-0", "tiny", cpu="1", on="a0"))
    assert koord("why-pending", "tiny", *UNTIL) == (0, "default/tiny is scheduled: 1 pod on a node.\n", "")
    shown = koord("why-pending", "tiny", *UNTIL, "--watch")
    assert (shown.code, shown.out.splitlines()[0]) == (
        0,
        "default/tiny has no pending pods: 1 pod on a node, 1 needed.",
    )
    assert json.loads(koord("why-pending", "tiny", *UNTIL, "-o", "json").out)["boundPods"] == 1


def volcano_group(phase: str, **status: object) -> dict[str, object]:
    meta = {"name": "bert", "namespace": "default"}
    api = "scheduling.volcano.sh/v1beta1"
    said = {"type": "Unschedulable", "status": "True", "reason": "NotEnoughResources", "message": "1/1 tasks"}
    status |= {"phase": phase, "conditions": [said] if phase == "Inqueue" else []}
    return {"apiVersion": api, "kind": "PodGroup", "metadata": meta, "spec": {"minMember": 1}, "status": status}


def volcano_pod(on: str = "") -> dict[str, object]:
    made: dict[str, dict[str, object]] = pod("bert-0", on=on)
    made["metadata"]["annotations"] = {"scheduling.k8s.io/group-name": "bert"}
    made["spec"]["schedulerName"] = "volcano"
    return dict(made)


def test_a_gang_of_volcano_is_followed_as_that_writes_about_it(server: ApiServer, started: Started) -> None:
    server.put(volcano_group("Pending"))
    with started("why-pending", "bert", "-w", *UNTIL) as child:
        assert page(child)[0].startswith("Cannot tell whether default/bert would be placed: Volcano schedules it ")
        server.put(volcano_group("Inqueue"))
        inqueue = "default/bert  phase Inqueue: none running; Unschedulable: NotEnoughResources: 1/1 tasks"
        assert change(child) == inqueue
        server.put(volcano_group("Running", running=1))
        assert change(child) == "default/bert  phase Running: 1 running"
        assert child.wait(20) == 0


def test_a_wait_for_a_gang_of_volcano_ends_by_what_that_wrote(koord: Run, server: ApiServer) -> None:
    server.put(volcano_group("Inqueue"))
    server.put(volcano_pod())
    told = "Volcano schedules it (phase Inqueue, queue default); no decision is computed for another scheduler.\n"
    still = f"default/bert is still pending after 1ms: {told}"
    assert koord("why-pending", "bert", *UNTIL, "--timeout", "1ms") == (1, still, "")
    server.put(volcano_pod(on="a0"))
    server.put(volcano_group("Running", running=1))
    runs = "default/bert is scheduled by Volcano (phase Running: 1 running).\n"
    assert koord("why-pending", "podgroup/bert", *UNTIL) == (0, runs, "")


def test_a_gang_of_volcano_that_vanishes_ends_the_wait_with_2(server: ApiServer, started: Started) -> None:
    server.put(volcano_group("Inqueue"))
    with started("why-pending", "bert", *UNTIL) as child:
        server.wait_for("/apis/scheduling.volcano.sh/v1beta1/podgroups", 1)
        server.delete("podgroups.scheduling.volcano.sh", "default", "bert")
        said = "error: default/bert no longer exists: it has no PodGroup of Volcano\n"
        assert child.communicate(timeout=20) == ("", said)
    assert child.returncode == 2


def job_object(*, suspend: bool) -> Object:
    """Return a Job of one pod."""
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"schedulerName": "koord-scheduler", "restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "default", "uid": "j1"},
        "spec": {"suspend": suspend, "parallelism": 1, "completions": 1, "template": template},
        "status": {"conditions": [{"type": "Suspended", "status": "True"}] if suspend else []},
    }


def pod_of_job(on: str, *, ready: bool) -> Object:
    """Return the pod of that Job: without a node, pulling its image, or ready."""
    made = pod("train-x", cpu="1", on=on)
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": "j1", "controller": True}
    labels = {"batch.kubernetes.io/job-name": "train", "job-name": "train", "batch.kubernetes.io/controller-uid": "j1"}
    made["metadata"] |= {"ownerReferences": [owner], "labels": labels}
    if on:
        waiting = {"waiting": {"reason": "ImagePullBackOff"}}
        state = {"running": {"startedAt": "2026-11-28T10:00:00Z"}} if ready else waiting
        conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(ready)}]
        container = {"name": "main", "ready": ready, "restartCount": 0, "image": "x", "imageID": "", "state": state}
        phase = "Running" if ready else "Pending"
        made["status"] = {"phase": phase, "conditions": conditions, "containerStatuses": [container]}
    return made


def test_a_wait_for_a_job_that_runs_goes_through_its_layers(server: ApiServer, started: Started) -> None:
    server.put(job_object(suspend=True))
    with started("why-pending", "job/train", "--until", "running", "-w", "--timeout", "5m") as child:
        assert "suspended" in page(child)[0]
        server.put(job_object(suspend=False))
        server.put(pod_of_job("", ready=False))
        assert "would be placed now" in change(child)
        server.put(pod_of_job("a1", ready=False))
        assert "ImagePullBackOff" in change(child)
        server.put(pod_of_job("a1", ready=True))
        assert child.communicate(timeout=20)[1] == ""
    assert child.returncode == 0


def test_a_wait_ends_when_the_last_pod_has_a_node(server: ApiServer, started: Started) -> None:
    with started("why-pending", "pod/job-0", *UNTIL, "--timeout", "5m") as child:
        server.wait_for(PODS, 1)
        place(server, "job-0", "job-1")
        assert child.communicate(timeout=20) == ("default/job is scheduled: 2 pods on a node.\n", "")
    assert child.returncode == 0


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("timeout", ["0", "0s", "1ms", "10ms"])
def test_a_wait_that_is_too_long_says_why_it_is_still_pending(koord: Run, timeout: str) -> None:
    said = f"default/job is still pending after {timeout}: {MISSING}.\n"
    assert koord("why-pending", "job", *UNTIL, "--timeout", timeout) == (1, said, "")
    both = koord("why-pending", "job", *UNTIL, "--timeout", timeout, "-w")
    assert (both.code, both.out.endswith(f"\n{said}")) == (1, True)
    document = koord("why-pending", "job", *UNTIL, "--timeout", timeout, "-o", "yaml")
    assert (document.code, document.out.splitlines()[1]) == (1, "kind: WhyPending")


@pytest.mark.usefixtures("server")
def test_yaml_documents_that_follow_each_other_are_told_apart(koord: Run) -> None:
    done = koord("why-pending", "job", "-w", *UNTIL, "--timeout=1ms", "-o", "yaml")
    assert done.out.startswith("---\napiVersion: ")


def test_a_gang_that_vanishes_ends_the_wait_with_2(server: ApiServer, started: Started) -> None:
    with started("why-pending", "job", *UNTIL) as child:
        server.wait_for(PODS, 1)
        server.delete("podgroups", "default", "job")
        for name in ("job-0", "job-1"):
            server.delete("pods", "default", name)
        said = "error: default/job no longer exists: it has no unfinished pods and no PodGroup\n"
        assert child.communicate(timeout=20) == ("", said)
    assert child.returncode == 2


def test_a_reader_that_leaves_is_noticed_although_nothing_changes(server: ApiServer, started: Started) -> None:
    with started("why-pending", "job", "-w") as child:
        page(child)
        server.wait_for(PODS, 1)
        assert child.stdout is not None
        child.stdout.close()
        assert child.wait(20) == 141
        assert child.stderr is not None
        assert child.stderr.read() == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_waiting_ends_it_silently(server: ApiServer, started: Started, number: int, code: int) -> None:
    with started("why-pending", "job", *UNTIL) as child:
        server.wait_for(PODS, 1)
        child.send_signal(number)
        assert child.communicate(timeout=20) == ("", "")
    assert child.returncode == code


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("job", "--until", "gone"), "error: --until 'gone' is not one of scheduled, running"),
        (("job", "--timeout", "5m"), "error: --timeout needs --until"),
        (("job", "-w", "--timeout", "5m"), "error: --timeout needs --until"),
        (UNTIL, "error: --until needs a GANG to wait for"),
        (("job", *UNTIL, "--timeout", "soon"), "error: Invalid timeout value. "),
        (("job", *UNTIL, "--timeout", "-5m"), "error: --timeout '-5m' is negative"),
        (("job", *UNTIL, "--demo"), "error: --watch and --until need a live cluster"),
        (("-w", "--snapshot", "any.json"), "error: --watch and --until need a live cluster"),
        (("nobody", *UNTIL), "error: no gang, pod or owner 'nobody' in namespace 'default'"),
    ],
    ids=["goal", "timeout", "watch-timeout", "no-gang", "no-duration", "negative", "demo", "file", "unknown"],
)
def test_what_makes_no_sense_is_one_line_and_2(koord: Run, words: tuple[str, ...], said: str) -> None:
    done = koord("why-pending", *words)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(said)


def test_a_cluster_that_cannot_be_watched_for_long_is_one_line_and_2(
    koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BACKOFF", Backoff(first=0.01, most=0.01, failures=2))
    server.rules.append(Rule(PODS, 500, "InternalError", "it broke", watch=True))
    assert koord("why-pending", "job", *UNTIL) == (2, "", "Error from server (InternalError): it broke\n")


def test_pods_that_may_not_be_watched_are_one_line_and_2(koord: Run, server: ApiServer) -> None:
    server.rules.append(Rule(PODS, 403, "Forbidden", "cannot watch pods", watch=True))
    assert koord("why-pending", "job", *UNTIL) == (2, "", "Error from server (Forbidden): cannot watch pods\n")


def test_another_kind_that_may_not_be_watched_makes_the_answer_unknown(server: ApiServer, started: Started) -> None:
    server.rules.append(Rule("/api/v1/nodes", 403, "Forbidden", "cannot watch nodes", watch=True))
    with started("why-pending", "job", "-w") as child:
        page(child)
        assert (
            change(child)
            == "default/job  cannot tell whether it would be placed: Node could not be read: cannot watch nodes"
        )


@pytest.mark.parametrize("watch", [True, None], ids=["watched no more", "never listed"])
def test_whether_a_gang_is_scheduled_is_never_told_without_its_pod_group(
    koord: Run, server: ApiServer, *, watch: bool | None
) -> None:
    server.rules.append(Rule("/apis/.*/podgroups", 403, "Forbidden", "no podgroups for you", watch=watch))
    place(server, "job-0")
    why = "PodGroup could not be read: no podgroups for you"
    said = f"error: cannot tell whether default/job is scheduled: {why}\n"
    assert koord("why-pending", "job", *UNTIL) == (2, "", said)


def test_a_listing_tells_from_when_on_it_may_lack_some(server: ApiServer, started: Started) -> None:
    server.rules.append(Rule("/apis/.*/podgroups", 403, "Forbidden", "no more podgroups", watch=True))
    with started("why-pending", "-w") as child:
        page(child)
        while not (last := change(child)).startswith("this list"):
            assert "cannot tell whether it would be placed: PodGroup could not be read: no more podgroups" in last
        assert last == "this list  may be incomplete: PodGroup could not be read: no more podgroups"


@pytest.mark.usefixtures("no_kubectl")
def test_without_kubectl_it_waits_as_well(
    koord: Run, tls: Tls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "SECONDS_BETWEEN_ANSWERS", 0.01)
    with ApiServer(world(), token="secret", tls=tls) as api:  # noqa: S106
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))

        def then_place() -> None:
            api.wait_for(PODS, 1)
            place(api, "job-0", "job-1")

        helper = threading.Thread(target=then_place)
        helper.start()
        assert koord("why-pending", "job", *UNTIL) == (0, "default/job is scheduled: 2 pods on a node.\n", "")
        helper.join()
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("watch ")]
