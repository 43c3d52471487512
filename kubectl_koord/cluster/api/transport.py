"""What a way to the API server offers, how its replies are read, and the limits on waiting."""

import io
import re
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

import msgspec
from msgspec import Struct

from kubectl_koord import __version__
from kubectl_koord.cluster.api.connection import Connection, Target
from kubectl_koord.cluster.bounds import BOUNDS, decoder
from kubectl_koord.errors import KoordError
from kubectl_koord.model.snapshot import Gap, GapCode

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


JSON = "application/json"
USER_AGENT = f"kubectl-koord/{__version__}"

_BEFORE_HINT = "#client-go-credential-plugins"  # the end of a link: what follows is installHint of the kubeconfig
_FAILED = "Unable to connect to the server: "
_LONGEST = 1000  # a server's header may stand in a reason


class Interrupted(KoordError):  # noqa: N818
    """The connection broke within an answer: another request may get all of it."""


class TooLate(KoordError):  # noqa: N818
    """An answer that did not come in time."""


class Unsent(KoordError):  # noqa: N818
    """A request that cannot have reached the server, as no connection to it was made.

    Everything else that fails may have been carried out.
    """


class Reply(Struct, frozen=True):
    """A complete answer of the API server, whatever its status; header names are in lower case.

    It is `doubtful` where the same request was sent before, and may have been carried out then.
    """

    status: int
    body: bytes
    headers: Mapping[str, str] = {}
    doubtful: bool = False


class Body(Protocol):
    """An answer whose body is still to be read.

    Reading raises Interrupted when the connection breaks before the body is complete, KoordError
    when the time limit of the request has passed. Header names are in lower case.
    """

    @property
    def status(self) -> int:
        """Return the HTTP status."""

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the headers by their name in lower case."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all that is left for -1."""

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer and return how many bytes came, fewer than it holds only at the end."""

    def close(self) -> None:
        """Give the connection up. May be called twice."""


class Stream(Body, Protocol):
    """A body that goes on and on: it is read as it comes, and may be ended by another thread."""

    def pieces(self) -> Iterator[bytes]:
        """Yield what comes as soon as it comes, until the end."""

    def interrupt(self) -> None:
        """End the body for whichever thread reads it; closing stays that thread's business."""


class Transport(Protocol):
    """A way to the API server. Several threads may use it at once.

    Paths are request paths with their query, already escaped. Every status is an answer;
    KoordError, with kubectl's sentence, means that there is none.
    """

    def open(self, path: str, accept: str = JSON) -> Body:
        """Send a GET and return once the status is known; `accept` are the forms in which the answer may come."""

    def watch(self, path: str, seconds: float) -> Stream:
        """Send a GET whose body may take up to `seconds`, whatever the time limit of requests is."""

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        """Send a request with a body and return the whole answer."""

    def bound(self, seconds: float) -> None:
        """Let every request, but not the body of a watch, end within `seconds` from now."""

    def namespace(self) -> str:
        """Return the namespace that kubectl would use; raise KoordError when it cannot be read."""

    def server(self) -> str:
        """Return the address of the server, empty where it is not known."""

    def target(self) -> Target:
        """Return which cluster is meant; raise KoordError when it cannot be read."""

    def close(self) -> None:
        """Give everything back: connections, processes, files. May be called twice."""

    def __enter__(self) -> Self:
        """Return the transport, to be closed at the end of the block."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close."""


def unable(reason: str, hint: str = "") -> KoordError:
    """Return kubectl's sentence for a server that cannot be talked to; one line of the reason.

    With it goes the `hint`, or the one in kubectl's reason: how a credential plugin that is missing is installed.
    """
    return KoordError(_unable(reason, hint))


def unsent(reason: str, hint: str = "") -> Unsent:
    """Return kubectl's sentence for a request that was not sent, as no connection was made."""
    return Unsent(_unable(reason, hint))


def _unable(reason: str, hint: str) -> str:
    lines = reason.strip().splitlines() or ["EOF"]
    advice = " ".join((hint or reason.partition(_BEFORE_HINT)[2]).split())
    return f"{_FAILED}{lines[0].rstrip()[:_LONGEST]}{f' ({advice[:_LONGEST]})' if advice else ''}"


def refused(address: str) -> Unsent:
    """Return kubectl's sentence for a connection that is refused."""
    return Unsent(f"The connection to the server {address} was refused - did you specify the right host or port?")


def interrupted() -> Interrupted:
    """Return kubectl's sentence for a connection that breaks within an answer."""
    return Interrupted(f"{_FAILED}unexpected EOF")


def is_loopback(server: str) -> bool:
    """Tell whether a server's address is on this machine, where packing costs more than it spares."""
    host = server.partition("://")[2].partition("/")[0]
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    return name in {"localhost", "::1"} or re.fullmatch(r"127(\.\d+){3}", name) is not None


def no_headers_in_time() -> TooLate:
    """Return kubectl's sentence for `--request-timeout` before an answer began."""
    return TooLate(f"{_FAILED}net/http: request canceled (Client.Timeout exceeded while awaiting headers)")


def no_body_in_time() -> TooLate:
    """Return kubectl's sentence for `--request-timeout` within an answer."""
    return TooLate(f"{_FAILED}net/http: request canceled (Client.Timeout or context cancellation while reading body)")


def idle(what: str, count: int, seconds: float) -> TooLate:
    """Return the sentence for a server that sends nothing, or so few bytes that it might go on for ever."""
    came = f"no more than {count} bytes" if count else "nothing"
    return TooLate(f"{_FAILED}{came} came for {seconds:g} s ({what}); --request-timeout sets another limit")


def late(what: str, seconds: float) -> TooLate:
    """Return the error for an answer that did not come within the time that the caller has for all of its requests."""
    return TooLate(f"{_FAILED}no complete answer came within {seconds:g} s ({what})")


def checked(path: str) -> str:
    """Return a request path that is safe to send. Raises KoordError when it would not stay one word of the request."""
    if path.startswith("/") and path.isascii() and path.isprintable() and " " not in path:
        return path
    raise KoordError(f"error: invalid request path {path!r}")


def no_credentials() -> KoordError:
    """Return the error for a kubeconfig user without credentials; kubectl would ask on the terminal."""
    return KoordError("error: You must be logged in to the server (the kubeconfig user has no credentials)")


NOTICE = 1.0
"""Seconds without progress after which the user is told what is waited for."""
NOTICE_BYTES = 1 << 10
"""Bytes that are progress enough to say nothing."""
PROGRESS_BYTES = 1 << 16
"""Bytes that are progress: a server that sends fewer within the idle limit might never come to an end."""

Notify = Callable[[str], None]


class Limits:
    """The time limits that all requests share; `notify` is called once, when one takes long. Threads may share it."""

    def __init__(self, connection: Connection, notify: Notify | None = None) -> None:
        self.request = connection.request_timeout
        self.idle_limit = connection.idle_limit
        self.end: float | None = None
        self.within = 0.0
        self._notify = notify
        self._is_notified = threading.Lock()

    def bound(self, seconds: float) -> None:
        """Let every request end within `seconds` from now."""
        self.within = seconds
        self.end = time.monotonic() + seconds

    def waits_for(self, what: str) -> None:
        """Notify the user of what is waited for, once."""
        if self._notify and self._is_notified.acquire(blocking=False):
            self._notify(what)


class Deadline:
    """The time limits of one request: until it is complete, and without any progress; each may be missing."""

    def __init__(self, limits: Limits, path: str = "") -> None:
        now = time.monotonic()
        self._limits = limits
        self._what = resource_of(path)
        self._end = None if limits.request is None else now + limits.request
        self._may_idle = False
        self._notice_from = self._idle_from = now
        self._idle_count = self._notice_count = 0
        self._has_notified = False

    def left(self) -> float | None:
        """Return the seconds left, None without a limit. Raises TimeoutError when none are left."""
        ends = [end for end in (self._end, self._idle_end(), self._bound()) if end is not None]
        if not ends:
            return None
        left = min(ends) - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def prolong(self, seconds: float) -> None:
        """Let the rest of the answer take up to `seconds` from now, with or without progress."""
        self._end = time.monotonic() + seconds
        self._may_idle = self._has_notified = True

    def receive(self, connection: socket.socket, buffer: "WriteableBuffer") -> int:
        """Receive what there is; return how many bytes came, 0 at the end.

        Raises TimeoutError when the time is over. Raises OSError when the connection breaks.
        """
        while True:
            connection.settimeout(self._next())
            try:
                count = connection.recv_into(buffer)
            except TimeoutError:
                self.left()
                self.notify()
            else:
                self._came(count)
                if not self._has_notified and self._notice() <= time.monotonic():
                    self.notify()
                return count

    def notify(self) -> None:
        """Notify the user that this is waited for."""
        self._has_notified = True
        self._limits.waits_for(self._what)

    def error(self, otherwise: Callable[[], KoordError]) -> KoordError:
        """Return which limit was passed; that of the request is worded by `otherwise`."""
        now = time.monotonic()
        bound, idle_end = self._bound(), self._idle_end()
        if bound is not None and bound <= now:
            return late(self._what, self._limits.within)
        if idle_end is not None and idle_end <= now:
            return idle(self._what, self._idle_count, self._limits.idle_limit or 0.0)
        return otherwise()

    def _idle_end(self) -> float | None:
        limit = self._limits.idle_limit
        return None if limit is None or self._may_idle else self._idle_from + limit

    def _bound(self) -> float | None:
        return None if self._may_idle else self._limits.end

    def _next(self) -> float | None:
        """Return after how many seconds to look at the clock again."""
        left = self.left()
        if self._has_notified:
            return left
        notice = max(0.001, self._notice() - time.monotonic())
        return notice if left is None else min(left, notice)

    def _notice(self) -> float:
        return self._notice_from + NOTICE

    def _came(self, count: int) -> None:
        now = time.monotonic()
        self._idle_count += count
        self._notice_count += count
        if self._notice_count >= NOTICE_BYTES:
            self._notice_count, self._notice_from = 0, now
        if self._idle_count >= PROGRESS_BYTES:
            self._idle_count, self._idle_from = 0, now


class TimedReader(io.RawIOBase):
    """A file over a socket that raises TimeoutError when the deadline has passed."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline
        self._open_file = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill some of the buffer."""
        return self._deadline.receive(self._connection, buffer)

    def close(self) -> None:
        """Give the socket up."""
        self._open_file.close()
        super().close()


def resource_of(path: str) -> str:
    """Return what a path names: `pods`, `podgroups/job`."""
    parts = path.partition("?")[0].strip("/").split("/")
    rest = parts[{"api": 2, "apis": 3}.get(parts[0], 0) :]
    if rest[:1] == ["namespaces"] and len(rest) > 2:  # noqa: PLR2004 - its name, and what is in it
        rest = rest[2:]
    return "/".join(rest)


_UNAUTHORIZED = 401
_SERVER_FAULT = 500
_NOT_FOUND = 404
_TOO_MANY = 429
_GAPS: dict[int, GapCode] = {403: "forbidden", _NOT_FOUND: "missing", _TOO_MANY: "unavailable"}
_REFUSALS = range(400, 500)
BUDGET_CAUSE = "DisruptionBudget"
"""Why an eviction is answered with 429 that was looked at: no reason to ask again."""
_LONGEST_WAIT = 9
"""Digits of a Retry-After."""
CRD_GROUPS = (
    "/apis/scheduling.sigs.k8s.io/",
    "/apis/scheduling.koordinator.sh/",
    "/apis/slo.koordinator.sh/",
    "/apis/config.koordinator.sh/",
    "/apis/topology.node.k8s.io/",
)
_SHOWN = 300
LONGEST_REPLY = 1 << 20
"""How many bytes of a refusal are read: it is a sentence or two."""
_TIMEOUT = "the server was unable to return a response in the time allotted, but may still be processing the request"

# client-go's NewGenericServerResponse: what kubectl says where the server says nothing.
_GENERIC = {
    400: ("BadRequest", "the server rejected our request for an unknown reason"),
    401: ("Unauthorized", "the server has asked for the client to provide credentials"),
    404: ("NotFound", "the server could not find the requested resource"),
    405: ("MethodNotAllowed", "the server does not allow this method on the requested resource"),
    409: ("Conflict", "the server reported a conflict"),
    410: ("Expired", "the requested resource is no longer available"),
    415: ("UnsupportedMediaType", "the body of the request was in an unknown format"),
    422: ("Invalid", "the server rejected our request due to an error in our request"),
    429: ("TooManyRequests", "the server has received too many requests and has asked us to try again later"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", _TIMEOUT),
}


class StatusCause(Struct):
    """One reason behind a refusal."""

    reason: str | None = None
    message: str | None = None


class Details(Struct, rename="camel"):
    """What a refusal is about."""

    causes: list[StatusCause] | None = None
    retry_after_seconds: int | None = None


class Status(Struct):
    """The API's own account of a failure."""

    kind: str = ""
    message: str | None = None
    reason: str | None = None
    details: Details | None = None
    code: int | None = None


_STATUS = decoder(Status)


def status_of(body: bytes) -> Status | None:
    """Return the Status of a body, None when it holds no such thing."""
    try:
        status: Status = _STATUS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return status if status.kind == "Status" else None


def is_refusal(status: int, body: bytes) -> bool:
    """Tell whether this is the API server's own word that it has not done what it was asked: a Status of 4xx."""
    return status in _REFUSALS and status_of(body) is not None


def asks_to_wait(status: int, headers: Mapping[str, str], body: bytes = b"") -> float | None:
    """Return after how many seconds an answer asks for the same request again, None where it does not.

    Mirrors client-go's `checkWait` (rest/with_retry.go): with Retry-After, and 429 or at least 500.
    """
    text = headers.get("retry-after", "").strip()
    if not (status == _TOO_MANY or status >= _SERVER_FAULT) or not (text.isascii() and text.isdecimal()):
        return None
    said = status_of(body)
    causes = (said.details.causes if said and said.details else None) or ()
    if len(text) > _LONGEST_WAIT or any(cause.reason == BUDGET_CAUSE for cause in causes):
        return None
    return float(text)


def failure(status: int, body: bytes, path: str) -> KoordError:
    """Return the one line that kubectl would print for this answer to a request of `path`."""
    status_object = status_of(body)
    reason, message = _GENERIC.get(status, ("", ""))
    if status_object:
        reason, message = status_object.reason or reason, status_object.message or message
    elif not message:
        reason, message = _unexpected(status, body, path)
    message = " ".join(message.split())
    if status == _UNAUTHORIZED:
        return KoordError(f"error: You must be logged in to the server ({message})")
    return KoordError(f"Error from server ({reason}): {message}" if reason else f"Error from server: {message}")


def message_of(status: int, body: bytes, path: str) -> str:
    """Return the server's own message alone, on one line."""
    status_object = status_of(body)
    if status_object and status_object.message:
        return " ".join(status_object.message.split())
    return failure(status, body, path).message


def gap_of(kind: str, status: int, body: bytes, path: str) -> Gap | None:
    """Return the gap for a list that is forbidden, not served, or refused for now; None for any other answer."""
    code = _GAPS.get(status)
    if code is None:
        return None
    status_object = status_of(body)
    message = " ".join((status_object.message or "").split()) if status_object else ""
    if code == "missing" and message in {"", _GENERIC[_NOT_FOUND][1]}:
        is_crd = path.startswith(CRD_GROUPS)
        message = (
            f"the {kind} CRD is not installed" if is_crd else f"the server does not serve {path.partition('?')[0]}"
        )
    generic = _GENERIC[status][1] if code == "unavailable" else _unexpected(status, body, path)[1]
    return Gap(kind, code, message or generic)


def not_read(gap: Gap) -> KoordError:
    """Return the line for a kind without which there is no answer: kubectl's, where the server refused to list it."""
    if gap.code == "forbidden":
        return KoordError(f"Error from server (Forbidden): {gap.message}")
    return KoordError(f"error: {gap.kind} could not be read: {gap.message}")


def _unexpected(status: int, body: bytes, path: str) -> tuple[str, str]:
    """Return reason and message for an answer that does not come from the API itself."""
    text = " ".join(body.decode("utf-8", "replace").split())[:_SHOWN]
    message = "unknown" if not text or text[0] == "{" else text
    if status == 403:  # noqa: PLR2004
        return "Forbidden", f"{path.partition('?')[0]} is forbidden ({message})"
    if status >= _SERVER_FAULT:
        return "InternalError", f'an error on the server ("{message}") has prevented the request from succeeding'
    return "", f"the server answered {path.partition('?')[0]} with the unexpected status {status}"


class Closing(ABC):
    """Something that holds connections, processes or files until it is closed."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


class Prolonged(Stream, Protocol):
    """A body to which more time can be given."""

    def prolong(self, seconds: float) -> None:
        """Let it take up to `seconds`, whatever the time limit of requests is."""


P = TypeVar("P", bound=Prolonged)


class Sending(Closing, Generic[P]):
    """What the ways to the API server have in common that make connections: all is a request within the limits."""

    _limits: Limits

    @abstractmethod
    def open(self, path: str, accept: str = JSON) -> P:
        """Send a GET and return once the status is known."""

    @abstractmethod
    def _request(self, method: str, path: str, headers: dict[str, str], body: bytes) -> P:
        """Send a request and return once the status is known."""

    def watch(self, path: str, seconds: float) -> P:
        """Send a GET whose body may take up to `seconds`, whatever the time limit of requests is."""
        answer = self.open(path)
        answer.prolong(seconds)
        return answer

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        """Send a request with a body and return the whole answer."""
        answer = self._request(method, path, {"Content-Type": content_type}, body)
        try:
            return Reply(answer.status, answer.read(BOUNDS.object_bytes), answer.headers)
        finally:
            answer.close()

    def bound(self, seconds: float) -> None:
        """Let every request, but not the body of a watch, end within `seconds` from now."""
        self._limits.bound(seconds)


class Passing(Closing):
    """What the ways to the API server have in common that pass requests on to another one."""

    _transport: Transport

    def bound(self, seconds: float) -> None:
        """Let every request end within `seconds` from now."""
        self._transport.bound(seconds)

    def namespace(self) -> str:
        """Return the namespace that kubectl would use."""
        return self._transport.namespace()

    def server(self) -> str:
        """Return the address of the server."""
        return self._transport.server()

    def target(self) -> Target:
        """Return which cluster is meant."""
        return self._transport.target()

    def close(self) -> None:
        """Give everything back."""
        self._transport.close()
