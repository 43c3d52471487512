"""The transport over the socket of a `kubectl proxy` of our own."""

import contextlib
import os
import re
import socket
import threading

from kubectl_koord import leaving
from kubectl_koord.cluster.api.connection import Connection, Target
from kubectl_koord.cluster.api.context import NamespaceLookup
from kubectl_koord.cluster.api.kubectl import guard, http1, startup
from kubectl_koord.cluster.api.kubectl.http1 import SocketBody
from kubectl_koord.cluster.api.limits import Deadline, Limits, Notify
from kubectl_koord.cluster.api.replies import LONGEST_REPLY
from kubectl_koord.cluster.api.transport import (
    USER_AGENT,
    Reply,
    Unsent,
    checked,
    is_loopback,
    no_headers_in_time,
    refused,
    unable,
    unsent,
)
from kubectl_koord.cluster.bounds import BOUNDS
from kubectl_koord.cluster.closing import Closing
from kubectl_koord.errors import KoordError

# The proxy answers no other host name.
_HEADERS = {
    "Host": "localhost",
    "User-Agent": USER_AGENT,
    "Accept": "application/json",
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


class KubectlProxy(Closing):
    """A `Transport` over the socket of a `kubectl proxy` of our own."""

    def __init__(
        self,
        child: guard.Guarded,
        folder: str,
        connection: Connection,
        lookup: NamespaceLookup,
        notify: Notify | None = None,
    ) -> None:
        """Keep the child; the first request waits until it serves."""
        self._child: guard.Guarded | None = child
        self._socket_path = startup.socket_path(folder)
        self._limits = Limits(connection, notify)
        self._lookup = lookup
        self._lock = threading.Lock()
        self._relay: threading.Thread | None = None
        self._failed = ""
        self._server = connection.value("server")
        self._headers: dict[str, str] | None = None

    def open(self, path: str) -> SocketBody:
        """Send a GET and return once the status is known.

        Raises:
            KoordError: in kubectl's words, when the API server cannot be reached.

        """
        return self._request("GET", path, {}, b"")

    def watch(self, path: str, seconds: float) -> SocketBody:
        """Send a GET whose body may take so many seconds, whatever the time limit of requests is.

        Raises:
            KoordError: in kubectl's words, when the API server cannot be reached.

        """
        answer = self.open(path)
        answer.prolong(seconds)
        return answer

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        """Send a request with a body and return the whole answer.

        Raises:
            KoordError: in kubectl's words, when the API server cannot be reached.

        """
        headers = {"Content-Type": content_type, "Content-Length": str(len(body))}
        answer = self._request(method, path, headers, body)
        try:
            return Reply(answer.status, answer.read(BOUNDS.object_bytes), answer.headers)
        finally:
            answer.close()

    def bound(self, seconds: float) -> None:
        """Let every request, but not the body of a watch, end within so many seconds from now."""
        self._limits.bound(seconds)

    def namespace(self) -> str:
        """Return the namespace that kubectl would use.

        Raises:
            KoordError: in kubectl's words, when the kubeconfig cannot be read.

        """
        return self._lookup.namespace()

    def server(self) -> str:
        """Return the address of the server, empty where it was not asked for.

        Raises:
            KoordError: when kubectl does not answer.

        """
        return self._server or self._lookup.server()

    def target(self) -> Target:
        """Return which cluster is meant.

        Raises:
            KoordError: when kubectl does not answer.

        """
        return self._lookup.target()

    def close(self) -> None:
        """End kubectl, and return when nothing of it is left."""
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
        whole = self._common() | headers
        deadline = Deadline(self._limits, path)
        answer = http1.exchange(self._connect(deadline), deadline, target, whole, body)
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

    def _await_start(self, child: guard.Guarded) -> None:
        """Wait for kubectl; the reason of its end is the failure of every later request as well."""
        try:
            # The limit is for the server; kubectl itself may start slowly on a busy machine.
            startup.await_start(child, max(self._limits.request or _START_SECONDS, _SHORTEST_START))
        except KoordError as error:
            self._failed = error.message
            raise


def start(kubectl: str, connection: Connection, *, writes: bool, notify: Notify | None = None) -> KubectlProxy:
    """Start `kubectl proxy` and return at once; `notify` is as `Limits` has it.

    Unless `writes`, it refuses every method but GET; with it, PATCH and POST pass as well.

    Raises:
        KoordError: when there is no place for a private socket, or no process to be had.

    """
    with leaving.SignalsBlocked():
        folder = startup.private_folder()
        child = startup.start_guarded(folder, kubectl, connection, writes=writes)
        leaving.first(child.end)
    return KubectlProxy(child, folder, connection, NamespaceLookup(kubectl, connection), notify)


def _relay(errors: int, limits: Limits) -> None:
    """Pass on what a credential plugin prints for the user, such as where to log in, but none of kubectl's log.

    The user may have to act on it: from then on the server may send nothing for as long as that takes.
    """
    is_logged = False
    while piece := os.read(errors, _PIPE):
        logged = None if is_logged else _LOG_LINE.search(piece)
        begin = 0 if is_logged else logged.start() if logged else len(piece)
        if printed := piece[:begin]:
            limits.idle_limit = None
            with contextlib.suppress(OSError):
                os.write(2, printed)
        # A line of the log is written at once: what fills the pipe, or ends without a line feed, goes on.
        is_logged = begin < len(piece) and (len(piece) == _PIPE or not piece.endswith(b"\n"))
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
