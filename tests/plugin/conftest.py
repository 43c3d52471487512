import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_koord.cli.main import run
from tests.apiserver import ApiServer
from tests.cli import conftest
from tests.cli.conftest import Done, Run, cluster, plain_output
from tests.cli.test_sight import with_a_resource_claim
from tests.cluster.conftest import home, kubectl, no_kubectl, tls
from tests.forked import forked

__all__ = ["cluster", "home", "kubectl", "no_kubectl", "plain_output", "tls"]

OTHERS = os.environ.get("KUBECTL_KOORD_PROGRAMS", "")
"""The folder of programs to check in place of those of this environment, such as those of an installed wheel."""


@pytest.fixture
def programs() -> Path:
    """Return the folder of the two programs."""
    return Path(OTHERS or conftest.BIN)


@pytest.fixture
def installed(programs: Path) -> Run:
    """Run the installed program."""

    def ran(*argv: str, stdin: str = "", **environment: str) -> Done:
        done = subprocess.run(
            [*((str(programs / "kubectl-koord"),) if OTHERS else forked()), *argv],
            input=stdin,
            capture_output=True,
            encoding="utf-8",
            errors="backslashreplace",
            check=False,
            env=dict(os.environ) | environment,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return ran


@pytest.fixture
def koord(installed: Run, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line: in this process, or as others are to be checked by the installed program."""

    def ran(*argv: str) -> Done:
        if OTHERS:
            return installed(*argv)
        capfd.readouterr()
        code = run(argv)
        return Done(code, *capfd.readouterr())

    return ran


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Serve a cluster, which is the current context."""
    with ApiServer({"items": with_a_resource_claim()}) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        yield api


@pytest.fixture
def direct(served: ApiServer, no_kubectl: None) -> ApiServer:
    """Serve it, and let there be no kubectl: no process for each command."""
    assert no_kubectl is None
    return served
