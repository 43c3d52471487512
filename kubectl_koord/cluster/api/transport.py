"""What a way to the API server offers, whichever it is."""

import re
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Protocol, Self

from msgspec import Struct

from kubectl_koord import __version__
from kubectl_koord.cluster.api.connection import Target
from kubectl_koord.errors import KoordError

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


class Waiting(Protocol):
    """How long an answer is waited for; `waits_for` is called with what it is when that takes long.

    It may be replaced.
    """

    waits_for: Callable[[str], None]


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

    @property
    def deadline(self) -> Waiting:
        """Return how long it is waited for."""

    @property
    def descriptor(self) -> int:
        """Return the file of all that it is read from, -1 where it cannot be read in another process."""

    def read_ahead(self) -> None:
        """Receive ahead of who reads the rest, for which there is a process of its own."""

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

    def open(self, path: str) -> Body:
        """Send a GET and return once the status is known."""

    def watch(self, path: str, seconds: float) -> Stream:
        """Send a GET whose body may take so many seconds, whatever the time limit of requests is."""

    def send(self, method: str, path: str, body: bytes, content_type: str) -> Reply:
        """Send a request with a body and return the whole answer."""

    def bound(self, seconds: float) -> None:
        """Let every request, but not the body of a watch, end within so many seconds from now."""

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
    """Return the same sentence, where no connection was made."""
    return Unsent(_unable(reason, hint))


def _unable(reason: str, hint: str) -> str:
    lines = reason.strip().splitlines() or ["EOF"]
    advice = " ".join((hint or reason.partition(_BEFORE_HINT)[2]).split())
    return f"{_FAILED}{lines[0].rstrip()[:_LONGEST]}{f' ({advice[:_LONGEST]})' if advice else ''}"


def refused(address: str) -> Unsent:
    """Return kubectl's sentence for a port on which nobody listens."""
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
    """Return the sentence for an answer that somebody else could not wait for any longer."""
    return TooLate(f"{_FAILED}no complete answer came within {seconds:g} s ({what})")


def checked(path: str) -> str:
    """Return a request path as it is.

    Raises:
        KoordError: when it would not stay one word of the request.

    """
    if path.startswith("/") and path.isascii() and path.isprintable() and " " not in path:
        return path
    raise KoordError(f"error: invalid request path {path!r}")


def no_credentials() -> KoordError:
    """Return the refusal of a kubeconfig user without credentials, for whom kubectl asks on the terminal."""
    return KoordError("error: You must be logged in to the server (the kubeconfig user has no credentials)")
