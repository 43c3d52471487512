import gzip
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kubectl_koord.cluster.api import kubectl
from kubectl_koord.cluster.api.connect import connect, find_kubectl
from kubectl_koord.cluster.api.connection import Connection, NamespaceLookup
from kubectl_koord.cluster.api.transport import Limits, failure
from kubectl_koord.errors import KoordError
from tests.apiserver import ApiServer, Rule
from tests.cluster.conftest import Reach

PODS = "/api/v1/pods"
ROOT = Path(__file__).parents[2]
LINUX = sys.platform == "linux"

pytestmark = pytest.mark.usefixtures("kubectl")

# Opens a transport, tells that it works, and does then what the test asks for.
SCRIPT = """
import signal, sys, time
from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import Connection
signal.signal(signal.SIGTERM, {handler})
transport = connect(Connection(), writes=False)
transport.open("/version").close()
print("ready", flush=True)
{then}
"""


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short place for sockets, empty at the start."""
    with tempfile.TemporaryDirectory(prefix="kk", dir="/tmp") as name:
        monkeypatch.setenv("TMPDIR", name)
        yield Path(name)


def run(then: str, handler: str = "signal.SIG_DFL") -> "subprocess.Popen[str]":
    code = SCRIPT.format(then=then, handler=handler)
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def kubectls(folder: Path) -> list[str]:
    """The processes that know of the folder."""
    if not LINUX:
        lines = subprocess.run(["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True).stdout
        return [line for line in lines.splitlines() if str(folder) in line]
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if str(folder).encode() in words:
            found.append(words.decode())
    return found


def wait_until(holds: Callable[[], bool], seconds: float = 5.0) -> None:
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.005)


def started(process: "subprocess.Popen[str]", folder: Path) -> None:
    assert process.stdout
    assert process.stdout.readline() == "ready\n", process.stderr.read() if process.stderr else ""
    assert len(kubectls(folder)) == 1
    (made,) = folder.iterdir()
    assert made.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.usefixtures("server")
def test_neither_kubectl_nor_its_folder_outlives_a_signal(folder: Path, number: signal.Signals) -> None:
    process = run("time.sleep(60)")
    started(process, folder)
    process.send_signal(number)
    process.communicate(timeout=10)
    wait_until(lambda: not kubectls(folder) and not list(folder.iterdir()))


@pytest.mark.parametrize(
    ("then", "handler"),
    [
        ("transport.close()", "signal.SIG_DFL"),
        ("pass", "signal.SIG_DFL"),
        ("import os; os._exit(0)", "signal.SIG_DFL"),
        ("raise ValueError", "signal.SIG_DFL"),
        ("import os; os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", "lambda *_: sys.exit(3)"),
        ("import os; os.kill(os.getpid(), signal.SIGSEGV); time.sleep(60)", "signal.SIG_DFL"),
    ],
)
@pytest.mark.usefixtures("server")
def test_neither_kubectl_nor_its_folder_outlives_any_end(folder: Path, then: str, handler: str) -> None:
    process = run(then, handler)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    process.communicate(timeout=10)
    wait_until(lambda: not kubectls(folder) and not list(folder.iterdir()))


@pytest.mark.usefixtures("server")
def test_nothing_is_left_when_close_returns(folder: Path) -> None:
    transport = connect(Connection(), writes=False)
    transport.open(PODS).close()
    assert kubectls(folder)
    transport.close()
    assert not kubectls(folder)
    assert not list(folder.iterdir())
    with pytest.raises(KoordError, match="kubectl proxy has ended"):
        transport.open(PODS)


@pytest.mark.usefixtures("server")
def test_who_reads_our_output_need_not_wait_for_the_guard(folder: Path) -> None:
    # communicate() returns when nobody holds the pipes any more.
    process = run("time.sleep(60)")
    started(process, folder)
    start = time.monotonic()
    process.kill()
    process.communicate(timeout=10)
    assert time.monotonic() - start < 2
    wait_until(lambda: not list(folder.iterdir()))


@pytest.mark.skipif(not LINUX, reason="/proc tells of sessions")
@pytest.mark.usefixtures("server")
def test_kubectl_is_out_of_reach_of_the_terminals_signals(folder: Path) -> None:
    with connect(Connection(), writes=False) as transport:
        transport.open(PODS).close()
        pids = [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if str(folder).encode() in _bytes(path)
        ]
        assert [os.getsid(pid) != os.getsid(0) for pid in pids] == [True]


def test_nothing_of_kubectls_log_reaches_our_stderr(server: ApiServer, capfd: pytest.CaptureFixture[str]) -> None:
    server.rules.append(Rule(PODS, cut="chunked"))
    with connect(Connection(), writes=False) as transport:
        with pytest.raises(KoordError):
            transport.open(PODS).read()
        with pytest.raises(KoordError):
            kubectl.start(find_kubectl(), Connection((f"--server={server.url}1",)), writes=False).open(PODS)
    assert capfd.readouterr() == ("", "")


def test_a_line_of_kubectls_log_stays_one_however_long_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    """kubectl logs what a server sends as it is; what a credential plugin prints is for the user."""
    header = b"x \x1b[31m" * 40_000
    log = b"E1128 09:00:00.000000       1 proxy_server.go:147] Error: " + header + b"\n"
    errors, pipe = os.pipe()
    relay = threading.Thread(target=kubectl._relay, args=(errors, Limits(Connection())))  # noqa: SLF001
    relay.start()
    os.write(pipe, b"log in at https://example.com\n")
    pieces = memoryview(log)
    while pieces:
        pieces = pieces[os.write(pipe, pieces) :]
    while select.select([errors], [], [], 0)[0]:  # a pause, as a program that logs makes
        pass
    os.write(pipe, b"logged in\n")
    os.close(pipe)
    relay.join()
    assert capfd.readouterr().err == "log in at https://example.com\nlogged in\n"


@pytest.mark.usefixtures("server")
def test_a_long_or_relative_temporary_folder_is_passed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reach: Reach
) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    for unfit in (str(long), "relative", "/no/such/folder"):
        monkeypatch.setenv("TMPDIR", unfit)
        monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
        made = Path(kubectl.private_folder())
        made.rmdir()
        assert made.parent == Path("/tmp")  # noqa: S108
    reach().open(PODS).close()
    assert not list(long.iterdir())


def test_the_kubectl_that_called_us_is_used(tmp_path: Path, kubectl: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECTL_PATH", kubectl)
    monkeypatch.setenv("PATH", "")
    assert find_kubectl() == kubectl
    monkeypatch.setenv("KUBECTL_PATH", str(tmp_path / "nope"))
    with pytest.raises(KoordError, match="is no program"):
        find_kubectl()


def test_a_kubectl_that_cannot_run_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ApiServer) -> None:
    broken = tmp_path / "kubectl"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(broken))
    # The namespace is given: nothing but the proxy is started.
    with (
        pytest.raises(KoordError, match=r"^error: unable to run .*/kubectl: No such file or directory$"),
        connect(Connection(namespace="x"), writes=False) as transport,
    ):
        transport.open(PODS)
    assert not server.requests(PODS)


def test_of_a_kubectl_that_crashes_the_first_line_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = (
        "panic: runtime error: index out of range [3]\\n\\ngoroutine 1 [running]:\\nmain.main()\\n\\t/x.go:7 +0x1d\\n"
    )
    script = tmp_path / "kubectl"
    log = "I1128 09:00:00.000000       1 http.go:159] HTTP2 has been explicitly disabled\\n"
    script.write_text(f"#!/bin/sh\nprintf '{log}{crash}' >&2\nexit 2\n")
    script.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(script))
    with (
        pytest.raises(KoordError, match=r"^panic: runtime error: index out of range \[3\]$"),
        connect(Connection(namespace="x"), writes=False) as transport,
    ):
        transport.open(PODS)


def test_kubectl_is_asked_for_http_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "kubectl"
    script.write_text('#!/bin/sh\necho "error: disabled: $DISABLE_HTTP2" >&2\nexit 1\n')
    script.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(script))
    with (
        pytest.raises(KoordError, match=r"^error: disabled: 1$"),
        connect(Connection(namespace="x"), writes=False) as transport,
    ):
        transport.open(PODS)


def test_a_kubectl_that_never_serves_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ApiServer, folder: Path
) -> None:
    script = tmp_path / "kubectl"
    script.write_text("#!/bin/sh\ntrap '' TERM\nsleep 60 & wait; sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(script))
    monkeypatch.setattr(kubectl, "_SHORTEST_START", 0.2)
    with (
        pytest.raises(KoordError, match="kubectl proxy did not start within"),
        connect(Connection(namespace="x", request_timeout=0.2), writes=False) as transport,
    ):
        transport.open(PODS)
    assert not list(folder.iterdir())
    assert not server.requests(PODS)


@pytest.mark.parametrize(
    "rule",
    [
        Rule(PODS, 401, "Unauthorized", "Unauthorized"),
        Rule(PODS, 401, raw=b"who?"),
        Rule(PODS, 403, "Forbidden", 'pods is forbidden: User "u" cannot list resource "pods"'),
        Rule(PODS, 404, raw=b"404 page not found", headers={"Content-Type": "text/plain"}),
        Rule(PODS, 409, "Conflict", "the object has been modified"),
        Rule(PODS, 429, raw=b""),
        Rule(PODS, 500, "InternalError", "etcd is away"),
        Rule(PODS, 500, raw=b"<html>", headers={"Content-Type": "text/html"}),
        Rule(PODS, 503, raw=b""),
        Rule(PODS, 504, raw=b""),
    ],
    ids=lambda rule: f"{rule.status}-{rule.reason or 'no-status'}",
)
def test_a_failed_answer_is_told_as_kubectl_tells_it(
    server: ApiServer, reach: Reach, own_words: Callable[..., str], rule: Rule
) -> None:
    server.rules.append(rule)
    body = reach().open(PODS)
    message = failure(body.status, body.read(), PODS).message
    body.close()
    assert message == own_words("get", "--raw", PODS)


@pytest.mark.usefixtures("server")
def test_every_request_is_told_why_kubectl_has_ended(reach: Reach) -> None:
    transport = reach("--context=nope")
    for _ in range(2):
        with pytest.raises(KoordError, match=r'^error: context "nope" does not exist$'):
            transport.open(PODS)


def test_faults_of_the_connection_are_told_as_kubectl_tells_them(
    server: ApiServer, reach: Reach, own_words: Callable[..., str]
) -> None:
    for flag in ("--server=http://127.0.0.1:1", "--server=http://no-such-host.invalid", "--user=nope"):
        with pytest.raises(KoordError) as caught:
            reach(flag).open(PODS)
        assert caught.value.message == own_words("get", "--raw", PODS, flag)
    assert not server.requests(PODS)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize(("host", "asked"), [("127.0.0.1", "identity"), ("0.0.0.0", "gzip")])  # noqa: S104
def test_lists_are_packed_on_their_way_unless_the_server_is_on_this_machine(
    server: ApiServer, reach: Reach, host: str, asked: str
) -> None:
    plain = b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}'
    packed = Rule(PODS, raw=gzip.compress(plain), headers={"Content-Encoding": "gzip"})
    server.rules.append(packed if asked == "gzip" else Rule(PODS, raw=plain))
    body = reach(f"--server=http://{host}:{server.port}").open(PODS)
    assert body.read() == plain
    body.close()
    assert [request.headers["accept-encoding"] for request in server.requests(PODS)] == [asked]


def test_a_kubectl_that_does_not_tell_the_target_in_time_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "kubectl"
    script.write_text("#!/bin/sh\nexec sleep 600\n")
    script.chmod(0o755)
    monkeypatch.setenv("KUBECTL_PATH", str(script))
    with pytest.raises(KoordError, match="did not answer in time"):
        NamespaceLookup(str(script), Connection(request_timeout=0.01)).target()
