"""The whole program before input without an end: less than 1 GiB, one line, exit code 2. Takes minutes (`soak`)."""

import gzip
import json
import os
import resource
import subprocess
import sys
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


ENDLESS: dict[str, Callable[[], Iterable[bytes]]] = {
    "zeros": lambda: over_and_over(b"\0"),
    "blanks": lambda: over_and_over(b" "),
    "words": lambda: over_and_over(b"y\n"),
    "a string": lambda: [OPEN, b'{"kind":"Pod","metadata":{"name":"', *over_and_over(b"a")],
    "values": lambda: [OPEN, b'{"kind":"Pod","spec":{"containers":[', *over_and_over(b"{},")],
    "equal pods": lambda: [OPEN, *over_and_over(POD + b",")],
}


def from_first(first: bytes, rest: Iterable[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


ENDLESS["a string"] = lambda: from_first(OPEN + b'{"kind":"Pod","metadata":{"name":"', over_and_over(b"a"))
ENDLESS["values"] = lambda: from_first(OPEN + b'{"kind":"Pod","spec":{"containers":[', over_and_over(b"{},"))
ENDLESS["equal pods"] = lambda: from_first(OPEN, over_and_over(POD + b","))
ENDLESS["pods"] = lambda: from_first(OPEN, pods())
ENDLESS["YAML values"] = lambda: from_first(b"kind: Pod\nspec:\n", over_and_over(b"- a\n"))


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
        for piece in feed:
            pipe.write(piece)
        pipe.close()
    except (BrokenPipeError, ValueError):
        pass


def is_refused(ended: Ended) -> bool:
    return (
        ended.code == 2
        and ended.mib < MOST
        and ended.err.count("\n") == 1
        and ended.err.startswith("error: ")
        and "internal error" not in ended.err
    )


@pytest.mark.parametrize("name", ENDLESS)
def test_standard_input_without_an_end_is_refused(name: str) -> None:
    ended = ran("topo", "--snapshot", "-", feed=ENDLESS[name]())
    assert is_refused(ended), ended
    assert ended.err.startswith("error: -: "), ended


@pytest.mark.parametrize("name", ENDLESS)
def test_a_packed_file_of_gigabytes_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "cluster.json.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for size, piece in enumerate(ENDLESS[name]()):
            file.write(piece)
            if size > 3000:
                break
    ended = ran("topo", "--snapshot", str(path))
    assert is_refused(ended), ended
    assert ended.err.startswith(f"error: {path}: "), ended
