"""Printing of requests with `-v 6`, in kubectl's format, and of warnings that the server sends."""

import re
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from kubectl_koord.cluster.api.transport import JSON, Body, Passing, Reply, Stream, Transport

B = TypeVar("B", bound=Body)

REQUESTS = 6
"""The verbosity from which on requests are told, as in kubectl."""
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


class ObservedTransport(Passing):
    """A `Transport` that prints each request with its status, and the server's warnings; `tell` prints a line.

    Headers and bodies are never printed: there are tokens in them.
    """

    def __init__(self, transport: Transport, tell: Callable[[str], None], verbosity: int = 0) -> None:
        self._transport = transport
        self._tell = tell
        self._tells_requests = verbosity >= REQUESTS
        self._warned: set[str] = set()
        self._lock = threading.Lock()

    def open(self, path: str, accept: str = JSON) -> Body:
        """Send a GET and return once the status is known."""
        return self._seen("GET", path, lambda: self._transport.open(path, accept))

    def watch(self, path: str, seconds: float) -> Stream:
        """Send a GET whose body may take up to `seconds`."""
        return self._seen("GET", path, lambda: self._transport.watch(path, seconds))

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        """Send a request with a body and return the whole answer."""
        begin = time.monotonic()
        reply = self._transport.send(method, path, body, content_type)
        self._told(method, path, reply.status, begin)
        self._warn(reply.headers.get("warning", ""))
        return reply

    def _seen(self, method: str, path: str, send: Callable[[], B]) -> B:
        begin = time.monotonic()
        answer = send()
        self._told(method, path, answer.status, begin)
        self._warn(answer.headers.get("warning", ""))
        return answer

    def _told(self, method: str, path: str, status: int, begin: float) -> None:
        if self._tells_requests:
            took = (time.monotonic() - begin) * 1000
            server = _CREDENTIALS.sub("", self._transport.server()).rstrip("/")
            self._tell(f"{method} {server}{path} {_status(status)} in {took:.0f} milliseconds")

    def _warn(self, header: str) -> None:
        """Tell each warning once, however many answers carry it."""
        for found in _WARNING.finditer(header):
            text = re.sub(r"\\(.)", r"\1", found[1])
            with self._lock:
                is_new = text not in self._warned
                self._warned.add(text)
            if is_new:
                self._tell(f"Warning: {text}")


def _status(number: int) -> str:
    from http import HTTPStatus  # noqa: PLC0415 - start-up time

    try:
        return f"{number} {HTTPStatus(number).phrase}"
    except ValueError:
        return str(number)
