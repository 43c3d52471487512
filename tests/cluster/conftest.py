import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Protocol

import pytest

from kubectl_koord.cluster.api.connect import connect, find_kubectl
from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.cluster.api.transport import Transport
from tests.apiserver import ApiServer, Tls, self_signed


class Reach(Protocol):
    """Opens a transport to a server: flags are words of a command line."""

    def __call__(self, *flags: str, writes: bool = False) -> Transport: ...


def pod(name: str, namespace: str = "default", phase: str = "Running", **labels: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": namespace, "labels": labels}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": {"phase": phase}}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the kubeconfig, the caches or the pod of whoever runs it."""
    for name in ("KUBECONFIG", "KUBECTL_PATH", "KUBERC", "KUBERNETES_SERVICE_HOST", "POD_NAMESPACE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    made = self_signed(tmp_path_factory.mktemp("tls"))
    if made is None:
        pytest.skip("no openssl here")
    return made


@pytest.fixture(scope="session")
def other_tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    """Another authority, of a server with another name."""
    made = self_signed(tmp_path_factory.mktemp("other"), "DNS:elsewhere")
    if made is None:
        pytest.skip("no openssl here")
    return made


@pytest.fixture
def kubectl() -> str:
    found = find_kubectl()
    if not found:
        pytest.skip("no kubectl here")
    return found


@pytest.fixture(params=["kubectl", "client"])
def way(request: pytest.FixtureRequest) -> str:
    """Both ways to a server, one after the other."""
    name = str(request.param)
    if name == "kubectl":
        request.getfixturevalue("kubectl")
    else:
        request.getfixturevalue("no_kubectl")
    return name


@pytest.fixture
def no_kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


@pytest.fixture
def reach() -> Iterator[Reach]:
    """Open transports that are closed at the end of the test."""
    with ExitStack() as stack:

        def opened(*flags: str, writes: bool = False) -> Transport:
            connection, rest = take_connection(flags)
            assert not rest
            return stack.enter_context(connect(connection, writes=writes))

        yield opened


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """A plain server with three pods, which is the current context."""
    items = [pod("a", "red"), pod("b", "red", "Succeeded"), pod("c", "blue")]
    with ApiServer({"items": items}) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path, namespace="red")))
        yield api


@pytest.fixture
def secure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: Tls) -> Iterator[ApiServer]:
    """A server with TLS and the token `secret`, which is the current context."""
    with ApiServer({"items": [pod("a", "red")]}, token="secret", tls=tls) as api:  # noqa: S106
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        yield api


@pytest.fixture
def own_words(kubectl: str) -> Callable[..., str]:
    """What kubectl itself prints last on stderr."""

    def said(*words: str) -> str:
        done = subprocess.run([kubectl, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode
        return done.stderr.strip().splitlines()[-1]

    return said
