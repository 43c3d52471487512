"""The way to the API server without kubectl: the `kubernetes` client's connection pool.

Only the pool is used. Which server, and as whom, is settled in `kubeconfig` and `credentials`;
nothing is retried, redirected or sent without credentials.
"""

import contextlib
import io
import os
import socket
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from kubectl_koord import leaving
from kubectl_koord.cluster.api import credentials, kubeconfig
from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.credentials import Credentials
from kubectl_koord.cluster.api.limits import NOTICE, Deadline, Limits, Tell, TimedReader
from kubectl_koord.cluster.api.transport import (
    USER_AGENT,
    Reply,
    checked,
    interrupted,
    no_body_in_time,
    no_headers_in_time,
    refused,
    unable,
)
from kubectl_koord.cluster.bounds import BOUNDS
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    import ssl

_PIECE = 64 * 1024
_READS = frozenset({"GET"})
_WRITES = frozenset({"GET", "PATCH", "POST"})
_DIAL_SECONDS = 30.0
_CONNECTIONS = 64
# OpenSSL's numbers for what x509 in Go says in words.
_UNTRUSTED = (2, 18, 19, 20, 21)
_EXPIRED = (9, 10)
_OTHER_NAME = (62, 64)


class ClientBody:
    """A `Body` over a response of urllib3."""

    def __init__(self, response: Any, deadline: Deadline) -> None:  # noqa: ANN401 - urllib3 has no stable types
        """Keep the response."""
        self.status: int = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._deadline = deadline

    def read(self, size: int = -1, /) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all that is left for -1."""
        pieces = []
        while size and (piece := self._piece(_PIECE if size < 0 else min(size, _PIECE))):
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(pieces)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer and return how many bytes came, fewer than it holds only at the end."""
        view = memoryview(buffer)
        filled = 0
        while filled < len(view) and (piece := self._piece(min(len(view) - filled, _PIECE))):
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def pieces(self) -> Iterator[bytes]:
        """Yield what comes as soon as it comes, until the end."""
        from urllib3.exceptions import HTTPError, ReadTimeoutError  # noqa: PLC0415

        try:
            yield from self._response.stream(_PIECE)
        except (TimeoutError, ReadTimeoutError):
            raise self._deadline.error(no_body_in_time) from None
        except (HTTPError, OSError, ValueError):
            raise unable("unexpected EOF") from None

    def prolong(self, seconds: float) -> None:
        """Let the rest of the body take so many seconds from now, and be silent meanwhile."""
        self._deadline.prolong(seconds)

    def interrupt(self) -> None:
        """End the body for whichever thread reads it."""
        connected = getattr(getattr(self._response, "connection", None), "sock", None)
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection up."""
        self._response.close()

    def _piece(self, size: int) -> bytes:
        from urllib3.exceptions import HTTPError, ReadTimeoutError  # noqa: PLC0415

        try:
            piece: bytes = self._response.read(size)
        except (TimeoutError, ReadTimeoutError):
            raise self._deadline.error(no_body_in_time) from None
        except (HTTPError, OSError):
            raise interrupted() from None
        return piece


class ClientTransport:
    """A `Transport` over the `kubernetes` client's pool of connections."""

    def __init__(
        self,
        connection: Connection,
        pool: Any,  # noqa: ANN401
        target: tuple[str, str],
        methods: frozenset[str],
        tell: Tell | None = None,
    ) -> None:
        """Keep the pool; `target` is the server's address and our token."""
        self._connection = connection
        self._limits = Limits(connection, tell)
        self._asked = _Asked()
        self._pool = pool
        timed = {scheme: _timed(kind, self._asked) for scheme, kind in pool.pool_classes_by_scheme.items()}
        pool.pool_classes_by_scheme = timed
        self._server, token = target
        self._methods = methods
        self._headers = {"User-Agent": USER_AGENT, "Accept": "application/json", "Accept-Encoding": "identity"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"

    def open(self, path: str) -> ClientBody:
        """Send a GET and return once the status is known.

        Raises:
            KoordError: in kubectl's words, when the API server cannot be reached.

        """
        return self._request("GET", path, {}, None)

    def watch(self, path: str, seconds: float) -> ClientBody:
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
        answer = self._request(method, path, {"Content-Type": content_type}, body)
        try:
            return Reply(answer.status, answer.read(BOUNDS.object_bytes))
        finally:
            answer.close()

    def bound(self, seconds: float) -> None:
        """Let every request, but not the body of a watch, end within so many seconds from now."""
        self._limits.bound(seconds)

    def namespace(self) -> str:
        """Return the namespace that kubectl would use.

        Raises:
            KoordError: when the kubeconfig cannot be read.

        """
        return kubeconfig.namespace(self._connection)

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def __enter__(self) -> Self:
        """Return the transport, to be closed at the end of the block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close."""
        self.close()

    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> ClientBody:
        from urllib3 import Timeout  # noqa: PLC0415
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        deadline = self._asked.deadline = Deadline(self._limits, path)
        if method not in self._methods:
            return ClientBody(_Forbidden(), deadline)
        try:
            left = deadline.left()
            response = self._pool.request(
                method,
                f"{self._server}{checked(path)}",
                body=body,
                headers=self._headers | headers,
                timeout=Timeout(connect=left or _DIAL_SECONDS, read=left),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (HTTPError, OSError) as problem:
            raise _sentence(problem, self._server, deadline) from None
        return ClientBody(response, deadline)


class _Asked(threading.local):
    """What this thread is asking for: urllib3 hands nothing down to the socket."""

    deadline: Deadline


class _Socket:
    """A connected socket of which answers are read before their deadline."""

    def __init__(self, connected: Any, asked: _Asked) -> None:  # noqa: ANN401
        self._connected = connected
        self._asked = asked

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        return io.BufferedReader(TimedReader(self._connected, self._asked.deadline), _PIECE)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._connected, name)


def _timed(kind: Any, asked: _Asked) -> Any:  # noqa: ANN401
    """Return a kind of pool whose connections know the deadline of what is asked."""

    class Timed(kind.ConnectionCls):  # type: ignore[misc]
        def connect(self) -> None:
            notice = threading.Timer(NOTICE, asked.deadline.tell)
            notice.daemon = True
            notice.start()
            try:
                super().connect()
            finally:
                notice.cancel()
            self.sock: Any = _Socket(self.sock, asked)

    return type(kind.__name__, (kind,), {"ConnectionCls": Timed})


class _Forbidden:
    """What kubectl's proxy answers to a method that it does not let through."""

    status = 403
    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        self._left = b"Forbidden"

    def read(self, size: int) -> bytes:
        piece, self._left = self._left[:size], self._left[size:]
        return piece

    def close(self) -> None:
        self._left = b""


def start(connection: Connection, *, writes: bool, tell: Tell | None = None) -> ClientTransport:
    """Return a way to the cluster of the kubeconfig or of the pod; nothing is sent yet.

    Unless `writes`, nothing but GET is sent; with it, PATCH and POST as well.

    Raises:
        KoordError: when there is no such cluster, or when it needs kubectl to honour what is asked.

    """
    access = kubeconfig.load(connection)
    who = credentials.of(access)
    server = str(access.cluster["server"]).rstrip("/")
    pool = _pool(access.cluster, server, who)
    return ClientTransport(connection, pool, (server, who.token), _WRITES if writes else _READS, tell)


def _pool(cluster: dict[str, Any], server: str, who: Credentials) -> Any:  # noqa: ANN401
    import urllib3  # noqa: PLC0415
    from kubernetes import client  # noqa: PLC0415

    configuration = client.Configuration()
    configuration.host = server
    configuration.connection_pool_maxsize = _CONNECTIONS
    configuration.verify_ssl = not cluster.get("insecure-skip-tls-verify")
    configuration.tls_server_name = cluster.get("tls-server-name") or None
    if cluster.get("proxy-url"):
        configuration.proxy = cluster["proxy-url"]
    pool = client.rest.RESTClientObject(configuration).pool_manager
    if server.startswith("https"):
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        pool.connection_pool_kw["ssl_context"] = _tls(cluster, who)
    return pool


def _tls(cluster: dict[str, Any], who: Credentials) -> "ssl.SSLContext":
    """Return the rules for TLS. The key touches the disk for a moment only, in a file of ours alone."""
    import ssl  # noqa: PLC0415

    authority = kubeconfig.data_or_file(cluster, "certificate-authority")
    insecure = bool(cluster.get("insecure-skip-tls-verify"))
    if authority and insecure:
        raise KoordError("error: specifying a root certificates file with the insecure flag is not allowed")
    try:
        context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        # Python 3.13 turns away CAs that kubectl takes; chain and name are still checked.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if who.certificate:
            _load_key(context, who)
    except (ssl.SSLError, ValueError) as problem:
        raise KoordError(f"error: unable to use the certificates of the kubeconfig: {problem}") from None
    return context


def _load_key(context: "ssl.SSLContext", who: Credentials) -> None:
    with leaving.NodePods():
        descriptor, path = tempfile.mkstemp(prefix="kubectl-koord-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(who.certificate + b"\n" + who.key)
            context.load_cert_chain(path)
        finally:
            Path(path).unlink()


def _sentence(problem: Exception, server: str, deadline: Deadline) -> KoordError:
    """Return what kubectl says of the same fault."""
    import ssl  # noqa: PLC0415

    from urllib3.exceptions import NewConnectionError  # noqa: PLC0415
    from urllib3.exceptions import TimeoutError as Timeout  # noqa: PLC0415

    address = server.partition("://")[2].partition("/")[0]
    chain = list(_causes(problem))
    for cause in chain:
        if isinstance(cause, ConnectionRefusedError):
            return refused(address)
        if isinstance(cause, ssl.SSLCertVerificationError):
            return unable(f"tls: failed to verify certificate: x509: {_x509(cause, address)}")
        if isinstance(cause, socket.gaierror):
            return unable(f"dial tcp: lookup {address.rpartition(':')[0] or address}: no such host")
    # urllib3 calls every failure to connect a timeout as well.
    if any(isinstance(cause, (Timeout, TimeoutError)) and not isinstance(cause, NewConnectionError) for cause in chain):
        return deadline.error(no_headers_in_time)
    last = chain[-1]
    return unable("EOF" if "RemoteDisconnected" in type(last).__name__ else str(last))


def _causes(problem: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and all from which it came, down to the first."""
    while problem is not None:
        yield problem
        inner = next((part for part in problem.args if isinstance(part, BaseException)), None)
        problem = inner or problem.__cause__ or problem.__context__


def _x509(problem: "ssl.SSLCertVerificationError", address: str) -> str:
    if problem.verify_code in _UNTRUSTED:
        return "certificate signed by unknown authority"
    if problem.verify_code in _EXPIRED:
        return "certificate has expired or is not yet valid"
    if problem.verify_code in _OTHER_NAME:
        return f"cannot validate certificate for {address.rpartition(':')[0] or address}: it is for another name"
    return str(problem.verify_message)
