"""The transport over the `kubernetes` client's pool of connections."""

import io
import logging
import threading
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from typing import Any

import urllib3
from msgspec import structs
from urllib3.exceptions import HTTPError

from kubectl_koord.cluster.api import limits
from kubectl_koord.cluster.api.connection import Connection, Target
from kubectl_koord.cluster.api.direct import addresses, credentials, failures, kubeconfig, tls
from kubectl_koord.cluster.api.direct.addresses import Way
from kubectl_koord.cluster.api.direct.body import PIECE, ClientBody, Forbidden
from kubectl_koord.cluster.api.direct.credentials import Authorization, Credentials
from kubectl_koord.cluster.api.direct.kubeconfig import Cluster
from kubectl_koord.cluster.api.limits import Deadline, Limits, Notify, TimedReader
from kubectl_koord.cluster.api.transport import USER_AGENT, Reply, checked
from kubectl_koord.cluster.bounds import BOUNDS
from kubectl_koord.cluster.closing import Closing

_READS = frozenset({"GET"})
_WRITES = frozenset({"GET", "PATCH", "POST"})
_DIAL_SECONDS = 30.0
_CONNECTIONS = 64
_INTERIM, _MOST_INTERIM = range(100, 200), 5
_HEADERS, _LINE = 200, 64 * 1024


class ClientTransport(Closing):
    """A `Transport` over the `kubernetes` client's pool of connections."""

    def __init__(
        self,
        connection: Connection,
        pool: Any,  # noqa: ANN401
        target: tuple[str, Callable[[], str]],
        methods: frozenset[str],
        notify: Notify | None = None,
    ) -> None:
        """Keep the pool; `target` is the server's address and what to send as Authorization."""
        self._connection = connection
        self._limits = Limits(connection, notify)
        self._current = _CurrentRequest()
        self._pool = pool
        timed = {scheme: _timed(kind, self._current) for scheme, kind in pool.pool_classes_by_scheme.items()}
        pool.pool_classes_by_scheme = timed
        self._server, self._authorization = target
        self._methods = methods
        self._headers = {"User-Agent": USER_AGENT, "Accept": "application/json", "Accept-Encoding": "identity"}

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
            return Reply(answer.status, answer.read(BOUNDS.object_bytes), answer.headers)
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

    def server(self) -> str:
        """Return the address of the server."""
        return self._server

    def target(self) -> Target:
        """Return which cluster is meant.

        Raises:
            KoordError: when the kubeconfig cannot be read.

        """
        return self._connection.meant(kubeconfig.target(self._connection))

    def close(self) -> None:
        """Close the connections."""
        self._pool.clear()

    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes | None) -> ClientBody:
        deadline = self._current.deadline = Deadline(self._limits, path)
        if method not in self._methods:
            return ClientBody(Forbidden(), deadline)
        if authorization := self._authorization():
            headers = {"Authorization": authorization, **headers}
        try:
            left = deadline.left()
            response = self._pool.request(
                method,
                f"{self._server}{checked(path)}",
                body=body,
                headers=self._headers | headers,
                timeout=urllib3.Timeout(connect=left or _DIAL_SECONDS, read=left),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (HTTPError, HTTPException, OSError, ValueError) as problem:
            raise failures.failure(problem, self._server, deadline) from None
        return ClientBody(response, deadline)


class _CurrentRequest(threading.local):
    """The request that this thread waits for: urllib3 hands nothing down to the socket."""

    deadline: Deadline


class _Socket:
    """A connected socket of which answers are read before their deadline."""

    def __init__(self, connected: Any, current: _CurrentRequest) -> None:  # noqa: ANN401
        self._connected = connected
        self._current = current

    def makefile(self, *_: object, **__: object) -> io.BufferedReader:
        return io.BufferedReader(TimedReader(self._connected, self._current.deadline), PIECE)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self._connected, name)


class _Head:
    """A file of which lines are read that must be whole, but for the first, which may not come at all."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401
        self.file = file
        self._is_first = True

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self.file.readline(limit)
        if not (self._is_first or line.endswith(b"\n") or len(line) == limit):
            raise HTTPException("unexpected EOF")
        self._is_first = False
        return line

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        return getattr(self.file, name)


class _Response(HTTPResponse):
    """An answer whose head is whole; interim ones are skipped: no more than Go does, and others than 100, too."""

    _interim = 0

    def begin(self) -> None:
        head = _Head(self.fp)
        self.fp: Any = head
        super().begin()
        if self.fp is head:
            self.fp = head.file

    def _read_status(self) -> tuple[str, int, str]:
        while True:
            version, status, reason = super()._read_status()  # type: ignore[misc]
            if status not in _INTERIM:
                return version, status, reason
            self._interim += 1
            if self._interim > _MOST_INTERIM:
                raise HTTPException("net/http: too many 1xx informational responses")
            for _ in range(_HEADERS):
                if self.fp.readline(_LINE) in (b"\r\n", b"\n", b""):
                    break
            else:
                raise HTTPException("net/http: server response headers exceeded what is read")


def _timed(kind: Any, current: _CurrentRequest) -> Any:  # noqa: ANN401
    """Return a kind of pool whose connections know the deadline of the current request."""

    class Timed(kind.ConnectionCls):  # type: ignore[misc]
        response_class = _Response

        def connect(self) -> None:
            notice = threading.Timer(limits.NOTICE, current.deadline.notify)
            notice.daemon = True
            notice.start()
            try:
                super().connect()
            finally:
                notice.cancel()
            self.sock: Any = _Socket(self.sock, current)

    return type(kind.__name__, (kind,), {"ConnectionCls": Timed})


def start(connection: Connection, *, writes: bool, notify: Notify | None = None) -> ClientTransport:
    """Return a way to the cluster of the kubeconfig or of the pod; nothing is sent yet.

    Unless `writes`, nothing but GET is sent; with it, PATCH and POST as well.

    Raises:
        KoordError: when there is no such cluster, or when it needs kubectl to honour what is asked.

    """
    access = kubeconfig.load(connection)
    server = addresses.server_of(access.cluster.server)
    cluster = structs.replace(access.cluster, server=server.url)
    proxy = addresses.proxy_of(cluster)
    who = credentials.of(cluster, access.user)
    pool = _pool(cluster, proxy, who)
    # As Go has it, who is named in the URL comes before who is named elsewhere.
    if given := credentials.basic(server.name, server.password):
        who = Credentials(given)
    target = (server.url, Authorization(who))
    return ClientTransport(connection, pool, target, _WRITES if writes else _READS, notify)


def _pool(cluster: Cluster, proxy: Way | None, who: Credentials) -> Any:  # noqa: ANN401
    from kubernetes import client  # noqa: PLC0415 - takes long, and a kubeconfig may be at fault before

    configuration = client.Configuration()
    configuration.host = cluster.server
    configuration.connection_pool_maxsize = _CONNECTIONS
    configuration.verify_ssl = not cluster.insecure_skip_tls_verify
    configuration.tls_server_name = cluster.tls_server_name or None
    configuration.proxy = proxy.url if proxy else None
    configuration.no_proxy = ""  # which proxy is decided
    if proxy and proxy.name:
        configuration.proxy_headers = urllib3.make_headers(proxy_basic_auth=f"{proxy.name}:{proxy.password}")
    logging.getLogger("urllib3").setLevel(logging.CRITICAL + 1)  # what it logs would go to the terminal
    pool = client.rest.RESTClientObject(configuration).pool_manager
    if cluster.server.startswith("https"):
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
        pool.connection_pool_kw["ssl_context"] = tls.context_of(cluster, who)
    return pool
