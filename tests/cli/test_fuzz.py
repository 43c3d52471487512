"""Whatever a file, standard input or a server holds: an answer, or one line and exit code 2; never a fault of ours."""

import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kubectl_koord.cli.main import run
from kubectl_koord.cluster.kinds import REQUESTS
from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import Done, Run
from tests.cli.fuzzing import case, listing
from tests.cli.world import world

LISTS = {request.path.partition("?")[0]: kind for kind, request in REQUESTS.items()}
FILES, ANSWERS = 60, 20
MANY_FILES, MANY_ANSWERS = 8_000, 2_000


class Ran:
    """Runs command lines in this process; capturing descriptors would cost more than the runs."""

    def __call__(self, *argv: str, stdin: bytes = b"") -> Done:
        kept = sys.stdin, sys.stdout, sys.stderr
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
        sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(stdin)), out, err
        try:
            code = run(argv)
            out.flush()
            return Done(code, out.buffer.getvalue().decode(errors="replace"), err.getvalue())  # a snapshot is packed
        finally:
            sys.stdin, sys.stdout, sys.stderr = kept


def is_told(done: Done) -> bool:
    """Tell whether a run ended as promised: a failure is one line, and an answer is there."""
    if done.code not in {0, 1, 2} or "internal error" in done.err:
        return False
    return bool(done.out) if done.code < 2 else bool(done.out) or done.err.count("\n") == 1


def spoil_files(folder: Path, numbers: range) -> list[tuple[int, Done]]:
    ran, path = Ran(), folder / "spoiled"
    odd = []
    for number in numbers:
        content, words = case(number)
        if number % 5:
            path.write_bytes(content)
            done = ran(*words, "--snapshot", str(path))
        else:
            done = ran(*words, "--snapshot", "-", stdin=content)
        if not is_told(done):
            odd.append((number, done))
    return odd


def spoil_answers(server: ApiServer, numbers: range) -> list[tuple[int, Done]]:
    ran = Ran()
    odd = []
    for number in numbers:
        path, (content, words) = listing(number, LISTS)
        server.rules[:] = [Rule(path, raw=content)]
        done = ran(*words)
        if not is_told(done):
            odd.append((number, done))
    return odd


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_kubectl: None) -> Iterator[ApiServer]:
    assert no_kubectl is None
    with ApiServer(world()) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        yield api


def test_spoiled_files_are_answered_or_refused(tmp_path: Path) -> None:
    assert spoil_files(tmp_path, range(FILES)) == []


def test_spoiled_lists_of_a_server_are_answered_or_refused(hostile: ApiServer) -> None:
    assert spoil_answers(hostile, range(ANSWERS)) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(8))
def test_many_spoiled_files_are_answered_or_refused(tmp_path: Path, part: int) -> None:
    share = MANY_FILES // 8
    assert spoil_files(tmp_path, range(part * share, (part + 1) * share)) == []


@pytest.mark.soak
@pytest.mark.parametrize("part", range(4))
def test_many_spoiled_lists_of_a_server_are_answered_or_refused(hostile: ApiServer, part: int) -> None:
    share = MANY_ANSWERS // 4
    assert spoil_answers(hostile, range(part * share, (part + 1) * share)) == []


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_executable_ends_as_the_runs_in_process_do(installed: Run, tmp_path: Path, number: int) -> None:
    content, words = case(number)
    (tmp_path / "spoiled").write_bytes(content)
    words = (*words, "--snapshot", str(tmp_path / "spoiled"))
    assert installed(*words).code == Ran()(*words).code
