"""What a socket receives, through a pipe: that holds several times as much, so that its sender need not wait."""

import errno
import math
import os
import select
import socket
import threading
from typing import TYPE_CHECKING

from kubectl_koord.cluster import pipes

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_PIECE = 1 << 17
_LONGEST = 1 << 30
"""Milliseconds: `poll` takes hardly more. Who still may wait then asks again."""
_CANNOT_SPLICE = {errno.EINVAL, errno.ENOSYS, errno.EPERM}


class Piped:
    """Receives as a socket does, all that the socket itself receives from now on, in a thread that goes on meanwhile.

    The kernel moves it: Python has nothing of it in hand before it is received here.
    """

    def __init__(self, connection: socket.socket) -> None:
        """Begin to fill the pipe; nobody else may receive from the socket any more."""
        self._output, pipe = pipes.wide()
        self._poll = select.poll()
        self._poll.register(self._output, select.POLLIN)
        self._seconds: float | None = None
        self._failure: OSError | None = None
        connection.settimeout(None)
        threading.Thread(target=self._fill, args=(connection, pipe), daemon=True).start()

    def settimeout(self, seconds: float | None, /) -> None:
        """Let `recv_into` wait so long for the next bytes."""
        self._seconds = seconds

    def recv_into(self, buffer: "WriteableBuffer", /) -> int:
        """Fill some of the buffer; return how many bytes came, 0 at the end.

        Raises:
            TimeoutError: when none come in time.
            OSError: when the connection breaks.

        """
        if not self._poll.poll(None if self._seconds is None else min(math.ceil(self._seconds * 1000), _LONGEST)):
            raise TimeoutError
        count = os.readv(self._output, [buffer])
        if not count and self._failure is not None:
            raise self._failure
        return count

    def close(self) -> None:
        """Give the pipe up."""
        os.close(self._output)

    def _fill(self, connection: socket.socket, pipe: int) -> None:
        try:
            _move(connection, pipe)
        except OSError as failure:
            self._failure = failure
        finally:
            os.close(pipe)


def _move(connection: socket.socket, pipe: int) -> None:
    """Move all that is received into a pipe."""
    try:
        while os.splice(connection.fileno(), pipe, pipes.HOLDS):
            pass
    except OSError as failure:
        if failure.errno not in _CANNOT_SPLICE:
            raise
    else:
        return
    with open(pipe, "wb", buffering=0, closefd=False) as output:
        while piece := memoryview(connection.recv(_PIECE)):
            while piece:
                piece = piece[output.write(piece) :]
