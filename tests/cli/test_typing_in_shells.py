"""The scripts for zsh and fish, run by these shells as somebody types; skipped by name where there is none of them."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.soak

LIMIT = 30.0
SHIPPED = Path(__file__).parents[2] / "completions"
BIN = Path(sys.executable).parent
Complete = Callable[[str], str]
TYPED = [
    ("kubectl-koord anno", ["annotate"]),
    ("kubectl-koord --demo domain spine-", ["spine-0", "spine-1", "spine-2"]),
    ("kubectl-koord --demo why-pending train/o", ["train/one-short"]),
    ("kubectl-koord --demo topo --for=train/o", ["--for=train/one-short"]),
    ("kubectl-koord topo --output=w", ["--output=wide"]),
    ("kubectl-koord topo --snapshot ./clus", ["./cluster-a.json", "./cluster-b.json"]),
    ("kubectl-koord topo --snapshot=./clus", ["--snapshot=./cluster-a.json", "--snapshot=./cluster-b.json"]),
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("cluster-a.json", "cluster-b.json"):
        (tmp_path / name).touch()
    return tmp_path


@pytest.fixture
def env(place: Path) -> dict[str, str]:
    path = os.pathsep.join([str(BIN), os.environ["PATH"]])
    return {"PATH": path, "HOME": str(place), "TERM": "dumb", "PS1": "ready> "}


def found(shell: str) -> str:
    return shutil.which(shell) or pytest.skip(f"no {shell} here")


@pytest.mark.parametrize(("line", "expected"), TYPED)
def test_fish_offers_what_the_program_tells(place: Path, env: dict[str, str], line: str, expected: list[str]) -> None:
    script = f'source "{SHIPPED}/kubectl-koord.fish"; complete -C "{line}"'
    done = subprocess.run(
        [found("fish"), "--no-config", "-c", script], capture_output=True, text=True, check=True, env=env, cwd=place
    )
    assert ([row.partition("\t")[0] for row in done.stdout.splitlines()], done.stderr) == (expected, "")


class Typing:
    """An interactive zsh at the other end of a terminal."""

    def __init__(self, zsh: str, place: Path, env: dict[str, str]) -> None:
        self._child, self._terminal = pty.fork()
        if not self._child:  # pragma: no cover - the shell takes its place
            os.chdir(place)
            os.execve(zsh, ["zsh", "-f", "-i"], env)  # noqa: S606 - the shell itself is what is tested
        self._seen = ""

    def send(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def until(self, mark: str) -> str:
        """Return what was shown up to a mark, and forget it."""
        end = time.monotonic() + LIMIT
        while mark not in self._seen:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{mark!r} did not appear in {self._seen!r}"
            self._seen += os.read(self._terminal, 65536).decode()
        before, _, self._seen = self._seen.partition(mark)
        return before

    def close(self) -> None:
        os.close(self._terminal)
        os.waitpid(self._child, 0)


@pytest.fixture
def zsh(place: Path, env: dict[str, str]) -> Iterator[Typing]:
    typing = Typing(found("zsh"), place, env)
    typing.send(f'autoload -U compinit; compinit -u -D; source "{SHIPPED}/_kubectl-koord"; echo set"-"up\n')
    typing.until("set-up\r\n")
    yield typing
    typing.close()


@pytest.mark.parametrize(("line", "expected"), TYPED)
def test_zsh_offers_what_the_program_tells(zsh: Typing, line: str, expected: list[str]) -> None:
    zsh.send(f"{line}\t")
    if len(expected) == 1:
        zsh.until(expected[0].removeprefix(line.rpartition(" ")[2]) + " ")
    else:
        zsh.send("\t")  # once for what they begin with, twice for the list
        for name in expected:
            zsh.until(Path(name).name)
