"""A server that lets the user wait: one line says what for, and one line ends it."""

import threading
from pathlib import Path

import pytest

from kubectl_koord.cli import follow
from kubectl_koord.cluster.api import connection, transport
from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Run
from tests.cli.world import world

PODS = "/api/v1/pods"
NEVER = threading.Event()


@pytest.fixture(autouse=True)
def notice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is waited for is told sooner than usual."""
    monkeypatch.setattr(transport, "NOTICE", 0.5)


def ended(koord: Run, *words: str) -> list[str]:
    """Return what is said on standard error, whoever was waited for."""
    done = koord(*words)
    assert (done.code, done.out) == (2, "")
    waited, *rest = done.err.splitlines()
    assert waited.startswith("Waiting for the API server (")
    return rest


def test_what_is_waited_for_is_told_and_the_request_timeout_ends_it(koord: Run, server: ApiServer) -> None:
    server.rules.append(Rule(PODS, stall=NEVER))
    (said,) = ended(koord, "topo", "--request-timeout=2s")
    assert said.startswith("Unable to connect to the server: net/http: request canceled (Client.Timeout ")


def test_without_a_limit_a_silence_ends_it(koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "IDLE_LIMIT", 2.0)
    server.rules.append(Rule(PODS, hang=NEVER))
    (said,) = ended(koord, "topo")
    assert said == (
        "Unable to connect to the server: nothing came for 2 s (pods); --request-timeout sets another limit"
    )


def test_a_wait_for_a_gang_ends_in_time_whatever_the_server_does(
    koord: Run, server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "SHORTEST_LOOK", 2.0)
    server.rules.append(Rule(PODS, stall=NEVER, drips=True))
    done = koord("why-pending", "job", "--until", "scheduled", "--timeout", "1s")
    assert (done.code, done.out) == (2, "")
    # On a busy machine another list may not be complete either.
    assert done.err.splitlines()[-1].startswith("Unable to connect to the server: no complete answer came within 2 s (")


def test_a_change_that_is_not_answered_may_have_been_made(koord: Run, server: ApiServer) -> None:
    path = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups/job"
    server.rules.append(Rule(path, method="PATCH", hang=NEVER))
    (said,) = ended(koord, "annotate", "podgroup", "job", "--mode=NonStrict", "--yes", "--request-timeout=2s")
    state = "read again, it is as before; what was sent may still be carried out"
    assert said.endswith(f"awaiting headers) (PodGroup default/job: {state})")


@pytest.mark.usefixtures("no_kubectl")
def test_without_kubectl_it_ends_as_well(koord: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ApiServer(world()) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path, user={"username": "", "password": ""})))
        api.rules.append(Rule(PODS, stall=NEVER, drips=True))
        done = koord("topo", "--request-timeout=1s")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[-1].startswith("Unable to connect to the server: net/http: request canceled ")
