import gc
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from kubectl_koord.cli.main import run
from tests.apiserver import ApiServer
from tests.cli.moving import Cluster
from tests.cli.world import world, write
from tests.cluster.conftest import home, kubectl, no_kubectl, other_tls, tls
from tests.forked import forked

__all__ = ["home", "kubectl", "no_kubectl", "other_tls", "tls"]

BIN = Path(sys.executable).parent


class Done(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def plain_output(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test sees the colours that whoever runs it has asked for; the collector, off while reading, is on again."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("KUBECTL_KOORD_PAGER", "cat")
    yield
    gc.enable()


@pytest.fixture
def koord(capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in this process."""

    def ran(*argv: str) -> Done:
        capfd.readouterr()
        code = run(argv)
        return Done(code, *capfd.readouterr())

    return ran


@pytest.fixture
def installed() -> Run:
    """Run the program as a process of its own: the executable where Python itself reads what is in the environment."""

    def ran(*argv: str, stdin: str = "", **environment: str) -> Done:
        starts = any(name.startswith(("PYTHON", "LC_", "LANG")) for name in environment)
        done = subprocess.run(
            [*((str(BIN / "kubectl-koord"),) if starts else forked()), *argv],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            env=dict(os.environ) | environment,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return ran


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Write the small cluster as a file and return its path."""
    return write(tmp_path)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl: str) -> Iterator[ApiServer]:
    """Serve the small cluster, which is the current context."""
    assert kubectl
    with ApiServer(world()) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        yield api


@pytest.fixture
def direct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None) -> Iterator[ApiServer]:
    """Serve the small cluster, which is the current context and reached without a process for each command.

    With kubectl a command takes three times as long: where it is not the question, this is the server to ask.
    """
    assert no_kubectl is None
    with ApiServer(world()) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        yield api


@pytest.fixture
def moving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None) -> Iterator[Cluster]:
    assert no_kubectl is None
    with Cluster() as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        yield api
