"""Run the program without waiting for its imports: a process that has done them forks for each run.

    subprocess.run([*forked(), "why-pending", "job"])

All is as with the executable but for what happens while that starts: signals, imports, variables that Python reads.
"""

import gc
import importlib
import io
import marshal
import os
import pkgutil
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from pathlib import Path

import kubectl_koord

RUNS = ("kubectl_koord.cli.entry", "kubectl_koord.__main__")
"""What runs the program when it is imported."""
ELSEWHERE = ("kubernetes.client", "ruamel.yaml", "yaml")
PROGRAM = Path(sys.executable).parent / "kubectl-koord"
OURS = """
import _signal, _socket, marshal, posix, sys
way = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
way.connect(sys.argv[1])
streams = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
way.sendmsg([b"."], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
way.sendall(marshal.dumps((sys.argv[2:], posix.environ, posix.getcwd())))
way.shutdown(_socket.SHUT_WR)
posix.closerange(0, 3)
pid = int.from_bytes(way.recv(4), "big")
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    if _signal.getsignal(number) != _signal.SIG_IGN:
        _signal.signal(number, lambda number, _: posix.kill(pid, number))
status = int.from_bytes(way.recv(4), "big")
if posix.WIFSIGNALED(status):
    _signal.signal(posix.WTERMSIG(status), _signal.SIG_DFL)
    posix.kill(posix.getpid(), posix.WTERMSIG(status))
posix._exit(posix.WEXITSTATUS(status))
"""


@cache
def forked() -> tuple[str, ...]:
    """Return the beginning of a command line that is as the path of the program; what forks ends with this process."""
    place = str(Path(tempfile.mkdtemp(prefix="koord-forks-")) / "socket")
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.forked", place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[1],
    )
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    _SERVERS.append(server)  # its standard input stays open for as long as we run
    return (sys.executable, "-I", "-S", "-c", OURS, place)


_SERVERS: list["subprocess.Popen[bytes]"] = []


def serve(place: str) -> None:
    """Fork for whoever asks, until standard input ends."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen()
    for found in pkgutil.walk_packages(kubectl_koord.__path__, "kubectl_koord."):
        if found.name not in RUNS:
            importlib.import_module(found.name)
    for name in ELSEWHERE:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while select.select([listener.fileno(), 0], [], [])[0] == [listener.fileno()]:
        way, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            _watch_over(way)
        way.close()
    shutil.rmtree(Path(place).parent)


def _watch_over(way: socket.socket) -> None:
    """Run the program in a process of its own, and tell its number, and how it ended."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, streams, _, _ = socket.recv_fds(way, 1, 3)
    asked = b""
    while piece := way.recv(65536):
        asked += piece
    child = os.fork()
    if child == 0:
        way.close()
        _run(streams, *marshal.loads(asked))  # noqa: S302 - of our own making
    for number in (*streams, 1):
        os.close(number)
    way.sendall(child.to_bytes(4, "big"))
    way.sendall(os.waitpid(child, 0)[1].to_bytes(4, "big"))
    os._exit(0)


def _run(streams: list[int], words: list[str], environment: dict[bytes, bytes], folder: str) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, max(streams) + 1)
    os.chdir(folder)
    for name in os.environb.keys() - environment.keys():
        del os.environb[name]
    os.environb.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[:] = [str(PROGRAM), *words]
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    out, errors = (io.BufferedWriter(io.FileIO(number, "w", closefd=False)) for number in (1, 2))
    sys.stdout = io.TextIOWrapper(out, "utf-8", line_buffering=os.isatty(1))
    sys.stderr = io.TextIOWrapper(errors, "utf-8", "backslashreplace", line_buffering=True)
    try:
        importlib.import_module("kubectl_koord.cli.entry").main()  # which leaves by itself
    except BaseException:  # noqa: BLE001 - else what forks would go on here
        traceback.print_exc()
    os._exit(70)


if __name__ == "__main__":
    serve(sys.argv[1])
