"""How long the API server may take: for a request, without a word, and in all."""

import io
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kubectl_koord.cluster.api.connection import Connection
from kubectl_koord.cluster.api.transport import late, silent
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

NOTICE = 1.0
"""Seconds without progress after which somebody is told what is waited for."""
NOTICED = 1 << 10
"""Bytes that are progress enough to say nothing."""
WORD = 1 << 16
"""Bytes that end a silence: a server that sends fewer within the time might never come to an end."""

Tell = Callable[[str], None]


class Limits:
    """What all requests over one way to the server have in common. Several threads may use it at once."""

    def __init__(self, connection: Connection, tell: Tell | None = None) -> None:
        """Keep the limits; `tell` is called once, when something has been waited for."""
        self.request = connection.request_timeout
        self.silence = connection.silence
        self.end: float | None = None
        self.within = 0.0
        self._tell = tell
        self._told = threading.Lock()

    def bound(self, seconds: float) -> None:
        """Let every request end within so many seconds from now."""
        self.within = seconds
        self.end = time.monotonic() + seconds

    def waits_for(self, what: str) -> None:
        """Tell that something is waited for, unless that was told before."""
        if self._tell and self._told.acquire(blocking=False):
            self._tell(what)


class Deadline:
    """The moments at which one request has to be complete, or to have brought more; each of them may be missing."""

    def __init__(self, limits: Limits, path: str = "") -> None:
        """Start the clocks."""
        now = time.monotonic()
        self._limits = limits
        self._what = _told_of(path)
        self._end = None if limits.request is None else now + limits.request
        self._is_silence_allowed = False
        self._heard = self._word = now
        self._fresh = self._unnoticed = 0
        self._has_told = False

    def left(self) -> float | None:
        """Return the seconds left, None without a limit.

        Raises:
            TimeoutError: when none are left.

        """
        ends = [end for end in (self._end, self._silence_end(), self._bound()) if end is not None]
        if not ends:
            return None
        left = min(ends) - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def prolong(self, seconds: float) -> None:
        """Let the rest of the answer take so many seconds from now, and be silent meanwhile."""
        self._end = time.monotonic() + seconds
        self._is_silence_allowed = self._has_told = True

    def receive(self, connection: socket.socket, buffer: "WriteableBuffer") -> int:
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
                self.tell()
            else:
                self._came(count)
                if not self._has_told and self._notice() <= time.monotonic():
                    self.tell()
                return count

    def tell(self) -> None:
        """Tell that this is waited for."""
        self._has_told = True
        self._limits.waits_for(self._what)

    def error(self, otherwise: Callable[[], KoordError]) -> KoordError:
        """Return which limit was passed; that of the request is told in the words given."""
        now = time.monotonic()
        bound, silence = self._bound(), self._silence_end()
        if bound is not None and bound <= now:
            return late(self._what, self._limits.within)
        if silence is not None and silence <= now:
            return silent(self._what, self._fresh, self._limits.silence or 0.0)
        return otherwise()

    def _silence_end(self) -> float | None:
        silence = self._limits.silence
        return None if silence is None or self._is_silence_allowed else self._word + silence

    def _bound(self) -> float | None:
        return None if self._is_silence_allowed else self._limits.end

    def _next(self) -> float | None:
        """Return after how many seconds to look at the clock again."""
        left = self.left()
        if self._has_told:
            return left
        notice = max(0.001, self._notice() - time.monotonic())
        return notice if left is None else min(left, notice)

    def _notice(self) -> float:
        return self._heard + NOTICE

    def _came(self, count: int) -> None:
        now = time.monotonic()
        self._fresh += count
        self._unnoticed += count
        if self._unnoticed >= NOTICED:
            self._unnoticed, self._heard = 0, now
        if self._fresh >= WORD:
            self._fresh, self._word = 0, now


class TimedReader(io.RawIOBase):
    """What a socket receives, each byte of it before the deadline."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        """Keep both; the socket stays open until this is closed."""
        self._connection = connection
        self._deadline = deadline
        self._held = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Fill some of the buffer."""
        return self._deadline.receive(self._connection, buffer)

    def close(self) -> None:
        """Give the socket up."""
        self._held.close()
        super().close()


def _told_of(path: str) -> str:
    """Return what a path asks for: `pods`, `podgroups/job`."""
    words = path.partition("?")[0].strip("/").split("/")
    rest = words[{"api": 2, "apis": 3}.get(words[0], 0) :]
    if rest[:1] == ["namespaces"] and len(rest) > 2:  # noqa: PLR2004 - its name, and what is in it
        rest = rest[2:]
    return "/".join(rest)
