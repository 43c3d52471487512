"""How the process ends: closed pipes, signals, terminals."""

import os
import signal
import subprocess
import threading
from pathlib import Path

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import BIN
from tests.cli.world import node, topology, write

KOORD = str(BIN / "kubectl-koord")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe_ends_it_silently_with_141(tmp_path: Path, unbuffered: str) -> None:
    """Far more than a pipe holds: the writer is still at it when the reader leaves."""
    objects = {"kind": "List", "items": [topology(), *(node(f"node-{n:05}", f"spine-{n:05}") for n in range(4000))]}
    reader, writer = os.pipe()
    command = [KOORD, "topo", "--nodes", "--snapshot", write(tmp_path, objects)]
    environment = dict(os.environ) | {"PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(command, stdout=writer, stderr=subprocess.PIPE, env=environment) as child:
        os.close(writer)
        assert os.read(reader, 1)
        os.close(reader)
        _, errors = child.communicate()
    assert (child.returncode, errors) == (141, b"")


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("closed", "words", "code", "said"),
    [
        (">&-", "topo", 0, ""),
        (">&-", "why-pending nobody", 2, "error: no gang, pod or owner 'nobody' in namespace 'default'"),
        ("2>&-", "why-pending nobody", 2, ""),
        (">&- 2>&- <&-", "why-pending job", 1, ""),
        ("<&-", "why-pending job >&-", 1, ""),
    ],
)
def test_a_stream_that_is_closed_costs_its_text_alone(closed: str, words: str, code: int, said: str) -> None:
    command = f'"{KOORD}" {words} {closed}'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)  # noqa: S602
    assert (done.returncode, done.stdout, done.stderr.startswith(said), bool(done.stderr)) == (
        code,
        "",
        True,
        bool(said),
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_reading_ends_it_silently(server: ApiServer, tmp_path: Path, number: int, code: int) -> None:
    asked = threading.Event()

    class Asked(threading.Event):
        """Never comes, and tells that somebody waits for it."""

        def wait(self, timeout: float | None = None) -> bool:
            asked.set()
            return super().wait(timeout)

    server.rules.append(Rule("/api/v1/nodes", hang=Asked()))
    folder = tmp_path / "tmp"
    folder.mkdir()
    environment = dict(os.environ) | {"TMPDIR": str(folder)}
    with subprocess.Popen([KOORD, "topo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as child:
        assert asked.wait(20)
        child.send_signal(number)
        written, errors = child.communicate(timeout=20)
    assert (child.returncode, written, errors) == (code, b"", b"")


def test_the_executable_asks_the_cluster_and_leaves_nothing_behind(server: ApiServer, tmp_path: Path) -> None:
    folder = tmp_path / "tmp"
    folder.mkdir()
    done = subprocess.run(
        [KOORD, "why-pending", "job"],
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ) | {"TMPDIR": str(folder)},
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("default/job is pending: no spine has room for its 2 pods; the best has 1.\n")
    assert not list(folder.iterdir())
    assert {request.method for request in server.log} == {"GET"}


def test_kubectl_itself_finds_the_plugin(kubectl: str) -> None:
    path = os.pathsep.join([str(BIN), str(Path(kubectl).parent), os.environ["PATH"]])
    environment = dict(os.environ) | {"PATH": path}

    def ran(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([kubectl, *words], capture_output=True, text=True, check=False, env=environment)

    assert ran("koord", "version").stdout.startswith("kubectl-koord ")
    assert ran("koord", "why-pending", "train/one-short", "--demo").returncode == 1
    listed = ran("plugin", "list").stdout
    assert str(BIN / "kubectl-koord") in listed
    assert "kubectl_complete" not in listed
    completed = ran("__complete", "koord", "why-")
    assert completed.stdout.splitlines()[0].startswith("why-pending")
    assert completed.stdout.splitlines()[-1] == ":4"
