"""The whole program before input without an end: less than 1 GiB, one line, exit code 2. Takes minutes (`soak`)."""

import contextlib
import gzip
import json
import os
import resource
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from threading import Thread
from typing import BinaryIO, NamedTuple

import pytest

from tests.apiserver import write_kubeconfig
from tests.cli.conftest import BIN

pytestmark = pytest.mark.soak

MIB = 1 << 20
MOST = 1024
SAFETY = 4096 * MIB
POD = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "default"}}).encode()
OPEN = b'{"kind":"List","items":['


def pods() -> Iterator[bytes]:
    """Yield a thousand pods at a time, no two of which are alike."""
    for start in count(0, 1000):
        yield b"".join(
            json.dumps(
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": {"name": f"p{number}", "namespace": "default", "labels": {"own": f"{number}"}},
                    "spec": {"nodeName": f"n{number}", "containers": [{"resources": {"requests": {"cpu": number}}}]},
                }
            ).encode()
            + b","
            for number in range(start, start + 1000)
        )


def over_and_over(piece: bytes) -> Iterator[bytes]:
    block = piece * max(1, MIB // len(piece))
    while True:
        yield block


def behind(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


ENDLESS: dict[str, Callable[[], Iterable[bytes]]] = {
    "zeros": lambda: over_and_over(b"\0"),
    "blanks": lambda: over_and_over(b" "),
    "words": lambda: over_and_over(b"y\n"),
    "a string": lambda: behind(OPEN + b'{"kind":"Pod","metadata":{"name":"', over_and_over(b"a")),
    "values": lambda: behind(OPEN + b'{"kind":"Pod","spec":{"containers":[', over_and_over(b"{},")),
    "values in YAML": lambda: behind(b"kind: Pod\nspec:\n", over_and_over(b"- a\n")),
    "equal pods": lambda: behind(OPEN, over_and_over(POD + b",")),
    "pods": lambda: behind(OPEN, pods()),
}


class Ended(NamedTuple):
    """How a run ended, and the most memory that it had, in MiB."""

    code: int
    err: str
    mib: int


def limited() -> None:
    """Let this process not take the machine down with it."""
    resource.setrlimit(resource.RLIMIT_AS, (SAFETY, SAFETY))


def ran(*words: str, feed: Iterable[bytes] = (), **environment: str) -> Ended:
    """Run the executable; `feed` is its standard input, which it need not read to the end."""
    with subprocess.Popen(
        [sys.executable, "-c", MEASURED, str(BIN / "kubectl-koord"), *words],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=dict(os.environ) | environment,
        preexec_fn=limited,  # noqa: PLW1509 - no thread of ours holds a lock then
    ) as child:
        Thread(target=fed, args=(child.stdin, feed), daemon=True).start()
        assert child.stderr is not None
        *said, measured = child.stderr.read().decode().splitlines(keepends=True)
        child.wait()
    code, kib = map(int, measured.split())
    return Ended(code, "".join(said), kib // 1024)


MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
"""


def fed(pipe: BinaryIO, feed: Iterable[bytes]) -> None:
    try:
        pipe.writelines(feed)
        pipe.close()
    except (BrokenPipeError, ValueError):
        pass


def is_refused(ended: Ended) -> bool:
    return (
        ended.code == 2
        and ended.mib < MOST
        and ended.err.count("\n") == 1
        and ended.err.startswith(("error: ", "Error from server", "Unable to connect"))
        and "internal error" not in ended.err
    )


def packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield gzipped pieces."""
    packer = zlib.compressobj(1, wbits=31)
    for piece in pieces:
        yield packer.compress(piece)


OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
ANSWERS: dict[str, Callable[[], Iterable[bytes]]] = {
    "pods": lambda: behind(OK + b"\r\n" + OPEN, pods()),
    "a string": lambda: behind(OK + b"\r\n", ENDLESS["a string"]()),
    "values": lambda: behind(OK + b"\r\n", ENDLESS["values"]()),
    "zeros": lambda: behind(OK + b"\r\n", over_and_over(b"\0")),
    "chunks of zeros": lambda: behind(OK + b"Transfer-Encoding: chunked\r\n\r\n", over_and_over(b"1\r\n\0\r\n")),
    "a header": lambda: behind(OK + b"X: ", over_and_over(b"x")),
    "headers": lambda: behind(OK, over_and_over(b"X: x\r\n")),
    "packed zeros": lambda: behind(OK + b"Content-Encoding: gzip\r\n\r\n", packed(over_and_over(b"\0"))),
    "packed pods": lambda: behind(OK + b"Content-Encoding: gzip\r\n\r\n", packed(behind(OPEN, pods()))),
    "a refusal": lambda: behind(b"HTTP/1.1 500 No\r\nConnection: close\r\n\r\n", over_and_over(b"no ")),
}


class Hostile(BaseHTTPRequestHandler):
    """Answers lists of pods as the server's `answer` has it; all other lists are empty."""

    def do_GET(self) -> None:
        self.close_connection = True
        pieces: Iterable[bytes] = [OK + b'\r\n{"metadata":{},"items":[]}']
        if self.path.partition("?")[0].endswith("/pods"):
            pieces = self.server.answer()  # type: ignore[attr-defined]
        with contextlib.suppress(OSError):
            for piece in pieces:
                self.wfile.write(piece)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """Serve one of the answers, and yield the path of its kubeconfig."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        server.daemon_threads = True
        server.block_on_close = False
        server.answer = ANSWERS[request.param]  # type: ignore[attr-defined]
        Thread(target=server.serve_forever, daemon=True).start()
        path = tmp_path / "kubeconfig"
        address = f"http://127.0.0.1:{server.server_address[1]}"
        path.write_text(write_kubeconfig({"server": address}, {}, {"cluster": "test", "user": "test"}))
        yield str(path)
        server.shutdown()


@pytest.mark.parametrize("served", ANSWERS, indirect=True)
@pytest.mark.parametrize("without", ["kubectl", "nothing"])
def test_an_answer_of_a_server_without_an_end_is_refused(
    served: str, kubectl: str, tmp_path: Path, without: str
) -> None:
    folder = str(tmp_path) if without == "kubectl" else str(Path(kubectl).parent)
    ended = ran("topo", KUBECONFIG=served, PATH=folder)
    assert is_refused(ended), ended


@pytest.mark.parametrize("name", ENDLESS)
def test_standard_input_without_an_end_is_refused(name: str) -> None:
    ended = ran("topo", "--snapshot", "-", feed=ENDLESS[name]())
    assert is_refused(ended), ended
    assert ended.err.startswith("error: -: "), ended


@pytest.mark.parametrize("name", ENDLESS)
def test_a_packed_file_of_gigabytes_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "cluster.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        written = 0
        for piece in ENDLESS[name]():
            written += file.write(piece)
            if written > 1024 * MIB:
                break
    ended = ran("topo", "--snapshot", str(path))
    assert is_refused(ended), ended
    assert ended.err.startswith(f"error: {path}: "), ended
