"""How long the API server may take: for a request, without progress, and in all."""

import io
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.transport import idle, late
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

NOTICE = 1.0
"""Seconds without progress after which the user is told what is waited for."""
NOTICE_BYTES = 1 << 10
"""Bytes that are progress enough to say nothing."""
PROGRESS_BYTES = 1 << 16
"""Bytes that are progress: a server that sends fewer within the idle limit might never come to an end."""

Notify = Callable[[str], None]


class Limits:
    """What all requests over one way to the server have in common. Several threads may use it at once."""

    def __init__(self, connection: Connection, notify: Notify | None = None) -> None:
        """Keep the limits; `notify` is called once, when something has been waited for."""
        self.request = connection.request_timeout
        self.idle_limit = connection.idle_limit
        self.end: float | None = None
        self.within = 0.0
        self._notify = notify
        self._is_notified = threading.Lock()

    def bound(self, seconds: float) -> None:
        """Let every request end within so many seconds from now."""
        self.within = seconds
        self.end = time.monotonic() + seconds

    def waits_for(self, what: str) -> None:
        """Notify the user of what is waited for, once."""
        if self._notify and self._is_notified.acquire(blocking=False):
            self._notify(what)


class Receiver(Protocol):
    """A socket, or what receives as one does."""

    def settimeout(self, seconds: float | None, /) -> None:
        """Let the next bytes take so long."""

    def recv_into(self, buffer: "WriteableBuffer", /) -> int:
        """Fill some of a buffer; raise TimeoutError when nothing comes in time."""


class Deadline:
    """The moments at which one request has to be complete, or to have brought more; each of them may be missing."""

    def __init__(self, limits: Limits, path: str = "") -> None:
        """Start the clocks."""
        now = time.monotonic()
        self.waits_for: Notify = limits.waits_for
        self._limits = limits
        self._what = resource_of(path)
        self._end = None if limits.request is None else now + limits.request
        self._may_idle = False
        self._notice_from = self._idle_from = now
        self._idle_count = self._notice_count = 0
        self._has_notified = False

    def left(self) -> float | None:
        """Return the seconds left, None without a limit.

        Raises:
            TimeoutError: when none are left.

        """
        ends = [end for end in (self._end, self._idle_end(), self._bound()) if end is not None]
        if not ends:
            return None
        left = min(ends) - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def prolong(self, seconds: float) -> None:
        """Let the rest of the answer take so many seconds from now, with or without progress."""
        self._end = time.monotonic() + seconds
        self._may_idle = self._has_notified = True

    def receive(self, connection: Receiver, buffer: "WriteableBuffer") -> int:
        """Receive what there is; return how many bytes came, 0 at the end.

        Raises:
            TimeoutError: when the time is over.
            OSError: when the connection breaks.

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
        self.waits_for(self._what)

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
    """What a socket receives, each byte of it before the deadline."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        """Keep both; the socket stays open until this is closed."""
        self._receiver: Receiver = connection
        self._deadline = deadline
        self._open_file = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill some of the buffer."""
        return self._deadline.receive(self._receiver, buffer)

    def receive_from(self, receiver: Receiver) -> None:
        """Receive the rest from elsewhere."""
        self._receiver = receiver

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
