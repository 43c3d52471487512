"""What helps, pasted into a shell: kubectl takes it, budgets are asked, and nothing goes on after a refusal."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.apiserver import ApiServer
from tests.cli.conftest import Done, Run
from tests.cli.test_live import document
from tests.cli.world import Object, node, pod, topology

WEB = {"app": "web"}


@pytest.fixture
def crowded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl: str) -> ApiServer:
    """Serve one node that two pods of lower priority fill up, while a third wants the whole of it."""
    assert kubectl
    held = [pod(name, cpu="4", on="n1") for name in ("a", "b")]
    wants = pod("wants", priority=5)
    wants["spec"]["preemptionPolicy"] = "Never"
    for one in held:
        one["metadata"]["labels"] = WEB
    api = ApiServer({"items": [topology(), node("n1", "s1"), *held, wants]})
    monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
    return api


def budget(allowed: int) -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"selector": {"matchLabels": WEB}},
        "status": {"disruptionsAllowed": allowed},
    }


def way_out(koord: Run, action: str = "free-pods") -> Object:
    ways = document(koord("why-pending", "pod/wants", "-o", "json"))["unblock"]
    return next(way for way in ways if way["action"] == action)


def pasted(command: str) -> Done:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=dict(os.environ), check=False)
    return Done(done.returncode, done.stdout, done.stderr)


def left(api: ApiServer) -> list[str]:
    return [one["metadata"]["name"] for one in api.current("pods", "default", {}) if one["metadata"]["name"] != "wants"]


def test_pods_that_are_to_go_are_evicted_by_what_is_pasted(koord: Run, crowded: ApiServer) -> None:
    with crowded:
        way = way_out(koord)
        assert [one["pod"] for one in way["freed"]] == ["default/a", "default/b"]
        pasted(way["command"])
        assert left(crowded) == []
        sent = [request for request in crowded.log if request.method == "POST"]
        assert [request.json["metadata"] for request in sent] == [
            {"name": name, "namespace": "default"} for name in ("a", "b")
        ]


@pytest.mark.usefixtures("server")
def test_commands_go_where_the_question_went_and_say_nothing_of_secrets(koord: Run) -> None:
    flags = (
        "--context=other",
        "--context=test",
        "--as=root",
        "--as-group=a",
        "--as-group=b",
        "--token=s3cret",
        "-n=red",
    )
    asked = ("why-pending", "default/few", *flags, "--request-timeout=9s", "--koordinator-version=1.8")
    words = "--context=test --as=root --as-group=a --as-group=b"
    answer = document(koord(*asked, "-o", "json"))
    assert (answer["context"], answer["cluster"]) == ("test", "test")
    assert answer["commandsFor"] == "The commands do not repeat --token: add what is secret yourself."
    (command,) = [way["command"] for way in answer["unblock"] + answer["nextSteps"] if way["command"]]
    assert command.startswith(f"kubectl {words} patch podgroup few -n default ")
    for form in ("html", "wide"):
        page = koord(*asked, "-o", form).out
        assert f"kubectl {words} patch podgroup few" in page
        assert answer["commandsFor"] in page
        assert "Context test, cluster test" in page
        assert "s3cret" not in page
    listing = koord("why-pending", "-A", *flags, "--koordinator-version=1.8").out
    assert f"Details: kubectl koord why-pending GANG {words} --koordinator-version=1.8" in listing
    page = koord("explain", "insufficient-slots", "--context", "it's").out
    assert """  kubectl koord topo --for GANG -n NAMESPACE '--context=it'"'"'s'""" in page


def test_commands_about_a_file_name_it_and_those_for_its_cluster_say_so(koord: Run, cluster: str) -> None:
    answer = document(koord("why-pending", "few", "--snapshot", cluster, "-o", "json"))
    assert answer["commandsFor"] == (
        "Commands of kubectl, and those that change or follow something, are for the cluster that"
        f" {cluster} came from: add its --context."
    )
    assert {"context", "cluster"}.isdisjoint(answer)
    (command,) = [way["command"] for way in answer["unblock"] + answer["nextSteps"] if way["command"]]
    assert command.startswith("kubectl patch podgroup few -n default ")
    page = koord("preempt", "few", "--dry-run", "--snapshot", cluster).out
    assert f"kubectl koord why-pending default/few --snapshot={cluster}" in page
    assert "Commands of kubectl" not in page


def test_a_budget_that_was_made_meanwhile_ends_what_is_pasted_at_the_first_refusal(
    koord: Run, crowded: ApiServer
) -> None:
    with crowded:
        command = way_out(koord)["command"]
        crowded.put(budget(0))
        done = pasted(command)
        assert "Cannot evict pod as it would violate the pod's disruption budget." in done.err
        assert left(crowded) == ["a", "b"]
        assert len([request for request in crowded.log if request.method == "POST"]) == 1


def test_budgets_are_read_for_what_helps_and_name_what_the_server_refuses(koord: Run, crowded: ApiServer) -> None:
    with crowded:
        crowded.put(budget(0))
        crowded.delete("pods", "default", "b")
        way = way_out(koord)
        assert way["freed"][0]["podDisruptionBudget"] == {"name": "default/web", "violated": True}
        done = pasted(way["command"])
        assert (done.code, left(crowded)) == (1, ["a"])
        assert done.err.startswith("Error from server (TooManyRequests): Cannot evict pod")


def moving(koord: Run, crowded: ApiServer) -> str:
    """Return the command that moves a pod of a ReplicaSet."""
    with crowded:
        crowded.delete("pods", "default", "b")
        crowded.put(node("n2", "s1") | {"status": {"allocatable": {"cpu": "4", "pods": "9"}}})
        alone = pod("a", cpu="4", on="n1", priority=9)
        alone["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "r", "controller": True}]
        alone["metadata"]["labels"] = {"app": "web"}
        crowded.put(alone)
        return str(way_out(koord, "move-pod")["command"])


def said(command: str, folder: Path, fails: str, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a kubectl is told that fails by a test of the shell, in a world where nobody sleeps."""
    told = shlex.quote(str(folder / "said"))
    (folder / "kubectl").write_text(f'#!/bin/sh\necho "$*" >> {told}\n! {{ {fails.format(told=told)}; }}\n')
    (folder / "sleep").write_text("#!/bin/sh\n")
    for script in folder.iterdir():
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    pasted(command)
    return (folder / "said").read_text().splitlines()


def test_a_node_is_uncordoned_again_when_the_pod_on_it_cannot_be_evicted(
    koord: Run, crowded: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = moving(koord, crowded)
    assert said(command, tmp_path, '[ "$1" = create ]', monkeypatch) == [
        "cordon n1",
        "create --raw /api/v1/namespaces/default/pods/a/eviction -f -",
        "uncordon n1",
    ]


def test_a_node_is_uncordoned_once_the_pod_that_comes_anew_is_bound(
    koord: Run, crowded: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = moving(koord, crowded)
    bound = "wait --for=condition=PodScheduled pod -l app=web -n default --timeout=1m"
    not_yet = '[ "$1$2" = wait--for=condition=PodScheduled ] && [ "$(grep -c Scheduled {told})" -lt 3 ]'
    assert said(command, tmp_path, not_yet, monkeypatch) == [
        "cordon n1",
        "create --raw /api/v1/namespaces/default/pods/a/eviction -f -",
        "wait --for=delete pod/a -n default --timeout=10m",
        bound,
        bound,
        bound,
        "uncordon n1",
    ]
