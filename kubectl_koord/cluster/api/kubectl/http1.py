"""HTTP/1.1 over a connected socket: as much of it as kubectl's proxy speaks.

`http.client` costs 20 ms to import and more per chunk; lists of hundreds of MB come in chunks
of 32 KiB.
"""

import contextlib
import io
import re
import socket
from collections.abc import Iterator, Mapping

from kubectl_koord.cluster.api.kubectl.piped import Piped
from kubectl_koord.cluster.api.limits import Deadline, TimedReader
from kubectl_koord.cluster.api.transport import interrupted, no_body_in_time, no_headers_in_time, unable
from kubectl_koord.errors import KoordError

_BUFFER = 256 * 1024
_LINE = 64 * 1024
_HEADERS = 200
_PIECE = 64 * 1024
_INTERIM, _MOST_INTERIM = range(100, 200), 5
_SIZE = re.compile(rb"[0-9a-fA-F]+")
_NO_BODY = (204, 304)


class SocketBody:
    """A `Body` read from a socket that serves this one request."""

    def __init__(self, connection: socket.socket, deadline: Deadline) -> None:
        """Keep the socket, of which `receive` reads the head."""
        self.status = 0
        self.headers: Mapping[str, str] = {}
        self.deadline = deadline
        self.descriptor = connection.fileno()
        self._socket = connection
        self._timed = TimedReader(connection, deadline)
        self._file = io.BufferedReader(self._timed, _BUFFER)
        self._piped: Piped | None = None
        self._chunked = False
        self._left: int | None = 0

    def receive(self) -> None:
        """Read status and headers.

        Raises:
            KoordError: when none come in time.

        """
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

    def read_ahead(self) -> None:
        """Receive the rest ahead of whoever reads it."""
        self._piped = Piped(self._socket)
        self._timed.receive_from(self._piped)

    def prolong(self, seconds: float) -> None:
        """Let the rest of the body take so many seconds from now, with or without progress."""
        self.deadline.prolong(seconds)

    def interrupt(self) -> None:
        """End the body for whichever thread reads it."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the connection up."""
        piped, self._piped = self._piped, None
        if piped is not None:
            self.interrupt()
            piped.close()
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
        for _ in range(_HEADERS):
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

    Raises:
        KoordError: when no answer comes, or not in time.

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
