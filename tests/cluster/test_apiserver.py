import json
import subprocess
from collections.abc import Callable

import pytest

from tests.apiserver import ApiServer, Rule, merge
from tests.cluster.conftest import pod

Kubectl = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(kubectl: str, server: ApiServer) -> Kubectl:  # noqa: ARG001 - it is the current context

    def said(*words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([kubectl, *words], capture_output=True, text=True, check=False)

    return said


def test_kubectl_lists_what_the_server_holds(run: Kubectl) -> None:
    lines = run("get", "pods", "-A", "--no-headers").stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["blue", "c"], ["red", "a"], ["red", "b"]]
    whole = json.loads(run("get", "pods", "-A", "-o", "json", "--chunk-size=2").stdout)
    assert [item["metadata"]["name"] for item in whole["items"]] == ["c", "a", "b"]
    running = run("get", "po", "-A", "-o", "name", "--field-selector=status.phase!=Succeeded").stdout.split()
    assert running == ["pod/c", "pod/a"]
    assert run("get", "podgroups", "-A").stderr.startswith("No resources found")


def test_kubectl_annotates_and_patches(run: Kubectl, server: ApiServer) -> None:
    assert run("annotate", "pod", "a", "-n", "red", "x=y").returncode == 0
    assert (
        run("patch", "pod", "c", "-n", "blue", "--type=merge", "-p", '{"metadata":{"labels":{"k":"v"}}}').returncode
        == 0
    )
    assert server.get("pods", "red", "a")["metadata"]["annotations"] == {"x": "y"}
    assert server.get("pods", "blue", "c")["metadata"]["labels"] == {"k": "v"}
    dry = run("annotate", "pod", "a", "-n", "red", "z=1", "--dry-run=server")
    assert (dry.returncode, "z" in server.get("pods", "red", "a")["metadata"]["annotations"]) == (0, False)


def test_kubectl_tells_the_failures_that_rules_make(run: Kubectl, server: ApiServer) -> None:
    assert run("get", "pod", "nope", "-n", "red").stderr == 'Error from server (NotFound): pods "nope" not found\n'
    server.rules.append(Rule("/api/v1/pods", 403, "Forbidden", "no", times=1))
    assert run("get", "pods", "-A").stderr == "Error from server (Forbidden): no\n"
    assert run("get", "pods", "-A").returncode == 0


def test_kubectl_watches(kubectl: str, server: ApiServer) -> None:
    words = [kubectl, "get", "pods", "-n", "blue", "-o", "name", "-w"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "pod/c\n"
        server.put(pod("d", "blue"))
        assert process.stdout.readline() == "pod/d\n"
        process.terminate()


@pytest.mark.parametrize(
    ("target", "patch", "outcome"),
    [
        ({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}}, {"b": {"c": 2, "d": 3}}),
        ({"a": [1]}, {"a": [2, 3]}, {"a": [2, 3]}),
        ({"a": "x"}, {"a": {"b": 1}}, {"a": {"b": 1}}),
    ],
)
def test_a_merge_patch_follows_its_rfc(target: object, patch: object, outcome: object) -> None:
    assert merge(target, patch) == outcome
