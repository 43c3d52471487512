"""The way to the API server through a `kubectl proxy` of our own: start, socket, HTTP, log lines."""

import contextlib
import io
import os
import re
import select
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn

from msgspec import Struct

from kubectl_koord import leaving
from kubectl_koord.cluster.api.connection import Connection, NamespaceLookup, Target
from kubectl_koord.cluster.api.transport import (
    JSON,
    LONGEST_REPLY,
    USER_AGENT,
    Deadline,
    Limits,
    Notify,
    Sending,
    TimedReader,
    Unsent,
    checked,
    interrupted,
    is_loopback,
    no_body_in_time,
    no_credentials,
    no_headers_in_time,
    refused,
    unable,
    unsent,
)
from kubectl_koord.errors import KoordError

_GRACE = 1.0
_PAUSE = 0.002
# An API server takes two to three times as long to write a large list as frames of HTTP/2.
_OF_CLIENT_GO = {"DISABLE_HTTP2": "1"}
_DEFAULT_AGAIN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


class Guarded(Struct, frozen=True):
    """A running child: its output and error pipes, and what keeps it alive."""

    output: int
    errors: int
    guard: int
    lifeline: int

    def end(self) -> None:
        """End the child and return when it and its folder are gone. A signal may call it again.

        The two pipes stay open: whoever reads them closes them.
        """
        with contextlib.suppress(OSError):
            os.close(self.lifeline)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.guard, 0)


def guard_start(argv: tuple[str, ...], folder: str) -> Guarded:
    """Start a program that ends when this process ends; its folder is removed then.

    It runs in a session of its own, so that the terminal's Ctrl-C is for us alone. A program
    that cannot be started ends at once, with the reason on its error pipe.

    Raises OSError when the system has no room for a process or a pipe.
    """
    lifeline, our_end = os.pipe()
    output, child_output = os.pipe()
    errors, child_errors = os.pipe()
    # The guard keeps all signals blocked: it ends with us, not before.
    guard = _fork(lambda: _guard(argv, folder, lifeline, (child_output, child_errors)))
    for descriptor in (lifeline, child_output, child_errors):
        os.close(descriptor)
    return Guarded(output, errors, guard, our_end)


def _fork(child: Callable[[], NoReturn]) -> int:
    """Start a process that does nothing but this, with all signals blocked; return its id."""
    before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            child()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def _guard(argv: tuple[str, ...], folder: str, lifeline: int, pipes: tuple[int, int]) -> NoReturn:
    try:
        os.setsid()
        child = _spawn(argv, pipes)
        _forget(lifeline)
        os.read(0, 1)
        if child:
            _end(child)
        _remove(folder)
    finally:
        os._exit(0)


def _spawn(argv: tuple[str, ...], pipes: tuple[int, int]) -> int:
    """Return the child's id, 0 when it cannot be started."""
    output, errors = pipes
    actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, errors, 2),
    ]
    # A credential plugin may ask on the terminal; what is piped to us is not for kubectl.
    if not os.isatty(0):
        actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
    try:
        return os.posix_spawn(
            argv[0],
            argv,
            os.environ | _OF_CLIENT_GO,
            file_actions=actions,
            setpgroup=0,
            setsigmask=(),
            setsigdef=_DEFAULT_AGAIN,
        )
    except OSError as error:
        os.write(errors, f"error: unable to run {argv[0]}: {error.strerror}\n".encode())
        return 0


def _forget(lifeline: int) -> None:
    """Close all files but the lifeline: a pipe that we write to must end when we end, and not with the guard."""
    os.dup2(lifeline, 0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _end(child: int) -> None:
    # Not reaped before: the id is still the child's.
    os.killpg(child, signal.SIGTERM)
    limit = time.monotonic() + _GRACE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > limit:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(_PAUSE)
    with contextlib.suppress(ProcessLookupError):
        # A credential plugin that it started may not have ended with it.
        os.killpg(child, signal.SIGKILL)


def _remove(folder: str) -> None:
    for name in os.listdir(folder):  # noqa: PTH208
        os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118
    os.rmdir(folder)  # noqa: PTH106


_BUFFER = 256 * 1024
_LINE = 64 * 1024
_HTTP1_HEADERS = 200
_PIECE = 64 * 1024
_INTERIM, _MOST_INTERIM = range(100, 200), 5
_SIZE = re.compile(rb"[0-9a-fA-F]+")
_NO_BODY = (204, 304)


class SocketBody:
    """A `Body` read from a socket that serves this one request."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.deadline = deadline
        self._socket = connection
        self._file = io.BufferedReader(TimedReader(connection, deadline), _BUFFER)
        self._chunked = False
        self._left: int | None = 0

    def receive(self) -> None:
        """Read status and headers. Raises KoordError when none come in time."""
        try:
            for _ in range(_MOST_INTERIM + 1):
                self._read_head()
                if self.status not in _INTERIM:
                    return
        except TimeoutError:
            raise self.deadline.error(no_headers_in_time) from None
        except (OSError, EOFError):
            raise unable("unexpected EOF") from None
        except ValueError:
            raise unable("net/http: malformed HTTP response") from None
        raise unable("net/http: too many 1xx informational responses")

    def read(self, size: int = -1, /) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all that is left for -1."""
        if size >= 0:
            buffer = bytearray(size)
            return bytes(memoryview(buffer)[: self.readinto(buffer)])
        pieces = []
        while piece := self.read(_PIECE):
            pieces.append(piece)
        return b"".join(pieces)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer and return how many bytes came, fewer than it holds only at the end."""
        view = memoryview(buffer)
        filled = 0
        while filled < len(view) and (count := self._received(view[filled:])):
            filled += count
        return filled

    def pieces(self) -> Iterator[bytes]:
        """Yield what comes as soon as it comes, until the end."""
        buffer = memoryview(bytearray(_PIECE))
        while count := self._received(buffer):
            yield bytes(buffer[:count])

    def prolong(self, seconds: float) -> None:
        """Let the rest of the body take up to `seconds` from now, with or without progress."""
        self.deadline.prolong(seconds)

    def interrupt(self) -> None:
        """End the body for whichever thread reads it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection up."""
        self._file.close()
        self._socket.close()

    def _received(self, view: memoryview) -> int:
        try:
            return self._some(view)
        except TimeoutError:
            self.close()
            raise self.deadline.error(no_body_in_time) from None
        except (OSError, EOFError, ValueError):
            self.close()
            raise interrupted() from None

    def _some(self, view: memoryview) -> int:
        if self._left == 0 and self._chunked:
            self._next_chunk()
        if self._left == 0:
            return 0
        count = self._file.readinto1(view if self._left is None else view[: self._left])
        if self._left is None:
            return count
        if not count:
            raise EOFError
        self._left -= count
        if self._chunked and not self._left:
            self._line()
        return count

    def _next_chunk(self) -> None:
        size = self._line().split(b";")[0].strip()
        if not _SIZE.fullmatch(size):
            raise ValueError
        self._left = int(size, 16)
        if self._left == 0:
            self._chunked = False
            while self._line():
                pass

    def _read_head(self) -> None:
        version, status, *_ = self._line().split(b" ", 2)
        if not version.startswith(b"HTTP/1."):
            raise ValueError
        headers: dict[str, str] = {}
        for _ in range(_HTTP1_HEADERS):
            if not (line := self._line()):
                break
            name, _, value = line.decode("latin-1").partition(":")
            key = name.strip().lower()
            headers[key] = f"{headers[key]}, {value.strip()}" if key in headers and key == "warning" else value.strip()
        else:
            raise ValueError
        self.status, self.headers = int(status), headers
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked"
        self._left = self._length()

    def _length(self) -> int | None:
        if self._chunked or self.status in _NO_BODY or self.status in _INTERIM:
            return 0
        length = self.headers.get("content-length")
        if length is not None and not length.isdecimal():
            raise ValueError
        return None if length is None else int(length)

    def _line(self) -> bytes:
        line = self._file.readline(_LINE)
        if not line.endswith(b"\n"):
            raise EOFError
        return line.rstrip(b"\r\n")


def exchange(
    connection: socket.socket,
    deadline: Deadline,
    target: tuple[str, str],
    headers: Mapping[str, str],
    body: bytes = b"",
) -> SocketBody:
    """Send one request, `target` being method and path, and return its answer from the head on.

    Raises KoordError when no answer comes, or not in time.
    """
    method, path = target
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    answer = SocketBody(connection, deadline)
    try:
        connection.settimeout(deadline.left())
        connection.sendall("\r\n".join(lines).encode("latin-1") + body)
    except TimeoutError:
        answer.close()
        raise deadline.error(no_headers_in_time) from None
    except OSError:
        # An early answer may explain why the rest of the request was not wanted.
        pass
    try:
        answer.receive()
    except KoordError:
        answer.close()
        raise
    return answer


# Go's expressions know no negation, and kubectl splits the list at commas.
_ALL_BUT_GET = "^([^G].*|G|G[^E].*|GE|GE[^T].*|GET.+)$"
_ALL_BUT_GET_PATCH_POST = "^([^GP].*|G|G[^E].*|GE|GE[^T].*|GET.+|P|P[^AO].*|PUT)$"
_READY = b"Starting to serve"
_PROMPT = b"Please enter "
_LONGEST_SOCKET_PATH = 99
_SENTENCE = re.compile(r"error\b", re.IGNORECASE)
_INFO = re.compile(r"I\d{4} ")
_INFO_LINE = re.compile(rb"^I\d{4} [^\n]*\n", re.MULTILINE)


def private_folder() -> str:
    """Return a new folder that only we can enter, with a path short enough for a socket.

    Raises KoordError when none can be made.
    """
    name = f"kubectl-koord-{os.urandom(8).hex()}"
    for parent in (os.environ.get("TMPDIR"), os.environ.get("XDG_RUNTIME_DIR"), "/tmp"):  # noqa: S108
        folder = os.path.join(parent or "", name)  # noqa: PTH118
        if not os.path.isabs(folder) or len(os.fsencode(socket_path(folder))) > _LONGEST_SOCKET_PATH:  # noqa: PTH117
            continue
        try:
            os.mkdir(folder, 0o700)  # noqa: PTH102
        except OSError:
            continue
        return folder
    raise KoordError("error: no folder for a private socket: neither TMPDIR, XDG_RUNTIME_DIR nor /tmp can be used")


def socket_path(folder: str) -> str:
    """Return the path of the socket in a private folder."""
    return f"{folder}/s"


def start_guarded(folder: str, kubectl: str, connection: Connection, *, writes: bool) -> Guarded:
    """Start `kubectl proxy` on a socket in the folder, which is removed with it.

    Unless `writes`, it refuses every method but GET; with it, PATCH and POST pass as well.

    Raises KoordError when there is no process to be had.
    """
    argv = (
        kubectl,
        "proxy",
        f"--unix-socket={socket_path(folder)}",
        f"--reject-methods={_ALL_BUT_GET_PATCH_POST if writes else _ALL_BUT_GET}",
        # Otherwise the path of a server such as https://host/k8s/clusters/c-1 is dropped.
        "--append-server-path=true",
        *connection.flags,
    )
    try:
        return guard_start(argv, folder)
    except OSError as error:
        os.rmdir(folder)  # noqa: PTH106
        raise KoordError(f"error: unable to start kubectl: {error.strerror}") from None


def await_start(child: Guarded, seconds: float) -> None:
    """Wait until kubectl prints that it listens.

    Raises KoordError when it ends, asks for credentials, or takes longer than so many seconds.
    """
    limit = time.monotonic() + seconds
    printed = b""
    while _READY not in printed:
        piece = _read_before(limit, child.output)
        if piece is None:
            raise unable(f"kubectl proxy did not start within {seconds:g} s")
        printed += piece
        if _PROMPT in printed:
            raise no_credentials()
        if not piece:
            raise _reason_of_end(child, limit)


def _reason_of_end(child: Guarded, limit: float) -> KoordError:
    """Return the sentence with which kubectl has ended."""
    printed = b""
    while piece := _read_before(limit, child.errors):
        printed += piece
    lines = [line for line in printed.decode("utf-8", "replace").splitlines() if line.strip() and not _INFO.match(line)]
    # The last sentence; of a crash the first line, as what follows is where it was.
    at = next((at for at in reversed(range(len(lines))) if _SENTENCE.match(lines[at])), 0)
    sentence = lines[at].rstrip() if lines else "error: kubectl proxy ended without a word"
    # Several faults of a configuration come as a list: the first is enough for one line.
    more = lines[at + 1].removeprefix("* ") if sentence.endswith(":") and lines[at + 1 :] else ""
    return KoordError(f"{sentence} {more}".rstrip())


def _read_before(limit: float, descriptor: int) -> bytes | None:
    """Return what the pipe holds, b"" at its end, None when nothing came in time."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    if not poll.poll(max(0.0, limit - time.monotonic()) * 1000):
        return None
    return os.read(descriptor, 65536)


# The proxy answers no other host name.
_HEADERS = {
    "Host": "localhost",
    "User-Agent": USER_AGENT,
    "Accept": JSON,
    "Connection": "close",
}
_START_SECONDS = 30.0
_SHORTEST_START = 5.0
_LOG_LINE = re.compile(rb"^(?:[IWEF]\d{4} \d\d:|\d{4}/\d\d/\d\d \d\d:)", re.MULTILINE)
_REFUSED = re.compile(r"dial tcp (?P<address>\S+): connect(?:ex)?: connection refused")
_NOT_CONNECTED = re.compile(
    r"dial |proxyconnect |tls: failed to verify certificate|getting credentials|net/http: TLS handshake timeout"
)
_PROXY_FAULT = 500
_PIPE = 65536
"""What a pipe holds, and what is read of it at once."""


class KubectlProxy(Sending[SocketBody]):
    """A `Transport` over the socket of a `kubectl proxy` of our own."""

    def __init__(
        self,
        child: Guarded,
        folder: str,
        connection: Connection,
        lookup: NamespaceLookup,
        notify: Notify | None = None,
    ) -> None:
        self._child: Guarded | None = child
        self._socket_path = socket_path(folder)
        self._limits = Limits(connection, notify)
        self._lookup = lookup
        self._lock = threading.Lock()
        self._relay: threading.Thread | None = None
        self._failed = ""
        self._server = connection.value("server")
        self._headers: dict[str, str] | None = None

    def open(self, path: str, accept: str = JSON) -> SocketBody:
        """Send a GET and return once the status is known.

        Raises KoordError, in kubectl's words, when the API server cannot be reached.
        """
        return self._request("GET", path, {"Accept": accept}, b"")

    def namespace(self) -> str:
        """Return the namespace that kubectl would use.

        Raises KoordError, in kubectl's words, when the kubeconfig cannot be read.
        """
        return self._lookup.namespace()

    def server(self) -> str:
        """Return the address of the server, empty where it was not asked for.

        Raises KoordError when kubectl does not answer.
        """
        return self._server or self._lookup.server()

    def target(self) -> Target:
        """Return which cluster is meant. Raises KoordError when kubectl does not answer."""
        return self._lookup.target()

    def close(self) -> None:
        """End kubectl, and return when its processes and its folder are gone."""
        self._lookup.close()
        with self._lock:
            child, self._child = self._child, None
            if child is None:
                return
            child.end()
            leaving.no_more(child.end)
            os.close(child.output)
            if self._relay is None:
                os.close(child.errors)
            else:
                self._relay.join()

    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> SocketBody:
        target = (method, checked(path))
        self._wait_until_ready()
        sized = {"Content-Length": str(len(body))} if method != "GET" else {}
        whole = self._common() | headers | sized
        deadline = Deadline(self._limits, path)
        answer = exchange(self._connect(deadline), deadline, target, whole, body)
        if _is_fault_of_proxy(answer):
            try:
                raise _fault(answer.read(LONGEST_REPLY).decode("utf-8", "replace"))
            finally:
                answer.close()
        return answer

    def _common(self) -> dict[str, str]:
        """Return the headers of every request.

        Where no encoding is named, kubectl asks the server for gzip, unpacks, and leaves it alone when its user
        forbids it; only a server on this machine is asked not to pack.
        """
        if self._headers is None:
            near = is_loopback(self.server())
            self._headers = _HEADERS | {"Accept-Encoding": "identity"} if near else _HEADERS
        return self._headers

    def _connect(self, deadline: Deadline) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(deadline.left())
            connection.connect(self._socket_path)
        except TimeoutError:
            connection.close()
            raise deadline.error(no_headers_in_time) from None
        except OSError:
            connection.close()
            raise unsent("kubectl proxy has ended") from None
        return connection

    def _wait_until_ready(self) -> None:
        with self._lock:
            if self._child is None:
                raise unsent("kubectl proxy has ended")
            if self._failed:
                raise Unsent(self._failed)
            if self._relay is None:
                self._await_start(self._child)
                self._relay = threading.Thread(target=_relay, args=(self._child.errors, self._limits), daemon=True)
                self._relay.start()

    def _await_start(self, child: Guarded) -> None:
        """Wait for kubectl; the reason of its end is the failure of every later request as well."""
        try:
            # The limit is for the server; kubectl itself may start slowly on a busy machine.
            await_start(child, max(self._limits.request or _START_SECONDS, _SHORTEST_START))
        except KoordError as error:
            self._failed = error.message
            raise


def start(kubectl: str, connection: Connection, *, writes: bool, notify: Notify | None = None) -> KubectlProxy:
    """Start `kubectl proxy` and return at once; `notify` is as `Limits` has it.

    Unless `writes`, it refuses every method but GET; with it, PATCH and POST pass as well.

    Raises KoordError when there is no place for a private socket, or no process to be had.
    """
    with leaving.SignalsBlocked():
        folder = private_folder()
        child = start_guarded(folder, kubectl, connection, writes=writes)
        leaving.first(child.end)
    return KubectlProxy(child, folder, connection, NamespaceLookup(kubectl, connection), notify)


def _relay(errors: int, limits: Limits) -> None:
    """Pass on what a credential plugin prints for the user, such as where to log in, but none of kubectl's log.

    The user may have to act on it: from then on the server may send nothing for as long as that takes.
    """
    is_logged = False
    while piece := os.read(errors, _PIPE):
        is_full = len(piece) == _PIPE
        if not is_logged:
            piece = _INFO_LINE.sub(b"", piece)  # such as client-go's that HTTP/2 is off
        logged = None if is_logged else _LOG_LINE.search(piece)
        begin = 0 if is_logged else logged.start() if logged else len(piece)
        if printed := piece[:begin]:
            limits.idle_limit = None
            with contextlib.suppress(OSError):
                os.write(2, printed)
        # A line of the log is written at once: what fills the pipe, or ends without a line feed, goes on.
        is_logged = begin < len(piece) and (is_full or not piece.endswith(b"\n"))
    os.close(errors)


def _is_fault_of_proxy(answer: SocketBody) -> bool:
    """Tell the proxy's own 500 from one of the API server, which carries an audit id or a Status."""
    headers = answer.headers
    return (
        answer.status == _PROXY_FAULT
        and headers.get("content-type", "").startswith("text/plain")
        and "x-content-type-options" in headers
        and "audit-id" not in headers
    )


def _fault(text: str) -> KoordError:
    """Return kubectl's sentence; Go repeats no PATCH or POST: where it could not connect, it has sent nothing."""
    if found := _REFUSED.search(text):
        return refused(found["address"])
    return unsent(text) if _NOT_CONNECTED.match(text) else unable(text)
