"""What `serve` listens with: HTTP for a few who look, bounded in everything that somebody else decides.

Only GET and HEAD are answered, and only to who asks for an IP address, localhost or a name that was told: a page
elsewhere whose name is made to mean us (DNS rebinding) asks by its own name. Each connection carries one request.
"""

import contextlib
import gc
import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from socketserver import TCPServer, ThreadingMixIn
from typing import Any

from msgspec import Struct

from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.live.faces import HTML, Faces, Questions, Reply, error
from kubectl_koord.live.state import Feed
from kubectl_koord.render.web import allowance, style_sheet

REFUSED = "refused"
"""What is counted in place of a face where a request is not looked at."""
MOST_AT_ONCE = 32
LONGEST_HEAD = 16 << 10
SECONDS_TO_ASK, SECONDS_TO_TAKE = 10.0, 60.0
_TURN = 0.001
"""Seconds for which the thread that computes keeps a request waiting, each of the several times that it has to."""
_COLLECTED = (50_000, 20, 1_000_000)
"""Sizes from which on garbage is collected: all of it, which nobody is answered during, once for each state alone."""
REFRESHED = 30
"""Seconds after which a browser asks for a page anew."""
_POLICY = "default-src 'none'; style-src {}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_ALWAYS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": _POLICY.format(allowance(style_sheet("page.css"))),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Connection": "close",
}


class Listening(Struct, frozen=True):
    """Where to listen, and to which names of hosts to answer besides addresses and localhost."""

    address: str = "127.0.0.1"
    port: int = 0
    hosts: tuple[str, ...] = ()


def run(
    feed: Feed,
    questions: Questions,
    listening: Listening,
    said: Callable[[str], None],
    warn: Callable[[str], None],
    interval: float,
) -> None:
    """Serve until a signal ends the process; `said` is told where it listens, `warn` what goes wrong.

    Raises what ends it otherwise: that the cluster cannot be read at all.
    """
    server = Server(listening)
    faces = Faces(feed, questions, server.shutdown, warn, interval, after=gc.collect)
    server.reply, server.count = faces.reply, faces.count
    said(server.url)
    sys.setswitchinterval(_TURN)
    gc.set_threshold(*_COLLECTED)
    faces.holder.start()
    try:
        server.serve_forever()
    finally:
        faces.holder.close()
        server.server_close()
    raise faces.holder.failure or SystemExit  # nothing else ends it


class Server(ThreadingMixIn, TCPServer):
    """Listens on an address and port; `reply` and `count` are set before it serves.

    Raises KoordError where it cannot listen.
    """

    reply: Callable[[str], Reply]
    count: Callable[[str, int], None]

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = MOST_AT_ONCE

    def __init__(self, listening: Listening) -> None:
        address, port = listening.address, listening.port
        self.hosts = frozenset({"localhost", *(host.lower() for host in listening.hosts)})
        self._free = threading.BoundedSemaphore(MOST_AT_ONCE)
        try:
            is_v6 = ipaddress.ip_address(address).version == 6  # noqa: PLR2004
        except ValueError:
            raise KoordError(say("error: --address {address!r} is not an IP address", address=address)) from None
        self.address_family = socket.AF_INET6 if is_v6 else socket.AF_INET
        try:
            super().__init__((address, port), _Request)
        except OSError as problem:
            raise KoordError(
                say(
                    "error: cannot listen on {address} port {port}: {why}",
                    address=address,
                    port=port,
                    why=problem.strerror,
                )
            ) from None

    @property
    def url(self) -> str:
        """Where it is reached."""
        address, port = str(self.server_address[0]), self.server_address[1]
        return f"http://{f'[{address}]' if self.address_family == socket.AF_INET6 else address}:{port}/"

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as socketserver has it
        """Answer in a thread, unless too many are being answered: then the connection is closed at once."""
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.count(REFUSED, 503)
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Answer, and let another one in."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """Say nothing of those who went away, or sent what is no request."""


class _Request(BaseHTTPRequestHandler):
    """One connection with one request."""

    server: Server
    server_version = "kubectl-koord"
    protocol_version = "HTTP/1.1"
    command = requestline = ""

    def handle(self) -> None:
        """Read the head of a request, answer, and end."""
        head = self._head()
        if head is None:
            self._send(self._refused(431, say("the head of the request is too long, or does not come")))
            return
        self.raw_requestline, _, rest = head.partition(b"\n")
        self.raw_requestline += b"\n"
        self.rfile = BytesIO(rest)
        if self.parse_request():
            self._send(self._reply())

    def _head(self) -> bytes | None:
        """Return what was sent up to the first empty line; None where it is too long or takes too long."""
        end, head = time.monotonic() + SECONDS_TO_ASK, b""
        while b"\r\n\r\n" not in head and b"\n\n" not in head:
            left = end - time.monotonic()
            if left <= 0 or len(head) > LONGEST_HEAD:
                return None
            self.connection.settimeout(left)
            try:
                more = self.connection.recv(LONGEST_HEAD)
            except TimeoutError:
                return None
            if not more:
                raise ConnectionAbortedError
            head += more
        return head if len(head) <= LONGEST_HEAD else None

    def _reply(self) -> Reply:
        if self.command not in {"GET", "HEAD"}:
            return self._refused(
                405, say("{method} is not answered: this only shows", method=self.command), {"Allow": "GET, HEAD"}
            )
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or not self.path.startswith("/"):
            return self._refused(400, say("a request needs one Host and a path"))
        if not self._is_known(hosts[0]):
            return self._refused(421, say("this host name was not told; serve --host NAME answers to it"))
        return self.server.reply(self.path)

    def _refused(self, code: int, message: str, headers: Mapping[str, str] | None = None) -> Reply:
        self.server.count(REFUSED, code)
        return error(code, message, headers)

    def _is_known(self, host: str) -> bool:
        """Tell whether a request may be for this host: a name that was told, or an address, which means no other."""
        name = host.rpartition("]")[0].removeprefix("[") if host.startswith("[") else host.partition(":")[0]
        with contextlib.suppress(ValueError):
            ipaddress.ip_address(name)
            return True
        return name.lower() in self.server.hosts

    def _send(self, reply: Reply) -> None:
        self.connection.settimeout(SECONDS_TO_TAKE)
        self.request_version = self.protocol_version  # that of 0.9 has no headers
        self.send_response(reply.code)
        told = {"Content-Type": reply.kind, "Content-Length": str(len(reply.body)), **_ALWAYS, **reply.headers}
        if reply.kind == HTML:
            told["Refresh"] = str(REFRESHED)
        for name, value in told.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Tell as a document what is wrong with a request that cannot be read."""
        self._send(self._refused(code, message or say("this request cannot be read")))

    def version_string(self) -> str:
        """Return what is said of the program: nothing of Python."""
        return self.server_version

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401
        """Write nothing of single requests: `koord_requests_total` counts them."""
