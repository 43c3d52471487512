"""The answer to one request, as it comes."""

import contextlib
import socket
from collections.abc import Iterator, Mapping
from http.client import HTTPException
from typing import Any

from urllib3.exceptions import HTTPError, ReadTimeoutError

from kubectl_koord.cluster.api.limits import Deadline
from kubectl_koord.cluster.api.transport import interrupted, no_body_in_time, unable

PIECE = 64 * 1024


class ClientBody:
    """A `Body` over a response of urllib3."""

    def __init__(self, response: Any, deadline: Deadline) -> None:  # noqa: ANN401 - urllib3 has no stable types
        """Keep the response."""
        self.status: int = response.status
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self.deadline = deadline
        self.descriptor = -1  # a session of TLS is no file
        self._response = response

    def read_ahead(self) -> None:
        """Do nothing: there is no other process that reads it."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next `size` bytes, fewer only at the end; all that is left for -1."""
        pieces = []
        while size and (piece := self._piece(PIECE if size < 0 else min(size, PIECE))):
            pieces.append(piece)
            size -= len(piece) if size > 0 else 0
        return b"".join(pieces)

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        """Fill the buffer and return how many bytes came, fewer than it holds only at the end."""
        view = memoryview(buffer)
        filled = 0
        while filled < len(view) and (piece := self._piece(min(len(view) - filled, PIECE))):
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def pieces(self) -> Iterator[bytes]:
        """Yield what comes as soon as it comes, until the end."""
        try:
            yield from self._response.stream(PIECE)
        except (TimeoutError, ReadTimeoutError):
            raise self.deadline.error(no_body_in_time) from None
        except (HTTPError, HTTPException, OSError, ValueError):
            raise unable("unexpected EOF") from None

    def prolong(self, seconds: float) -> None:
        """Let the rest of the body take so many seconds from now, with or without progress."""
        self.deadline.prolong(seconds)

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
        try:
            piece: bytes = self._response.read(size)
        except (TimeoutError, ReadTimeoutError):
            raise self.deadline.error(no_body_in_time) from None
        except (HTTPError, HTTPException, OSError, ValueError):
            raise interrupted() from None
        return piece


class Forbidden:
    """What kubectl's proxy answers to a method that it does not let through."""

    status = 403
    headers: Mapping[str, str] = {}

    def __init__(self) -> None:
        """Start with the whole answer left."""
        self._left = b"Forbidden"

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        piece, self._left = self._left[:size], self._left[size:]
        return piece

    def close(self) -> None:
        """Drop what is left."""
        self._left = b""
