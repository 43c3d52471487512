"""The open streams of a watch, and the lines that they bring."""

import threading
from collections.abc import Iterable, Iterator

from kubectl_koord.cluster.api.transport import Stream
from kubectl_koord.cluster.bounds import BOUNDS, Bounds, too_large_object


class Streams:
    """The open streams, so that they can be ended all at once, and for good."""

    def __init__(self) -> None:
        """Start with none open."""
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._open: set[Stream] = set()

    def enter(self, stream: Stream) -> None:
        """Take a stream that was opened; after the end of all it is interrupted at once."""
        with self._lock:
            self._open.add(stream)
            if self.ended.is_set():
                stream.interrupt()

    def leave(self, stream: Stream) -> None:
        """Close a stream."""
        with self._lock:
            self._open.discard(stream)
        stream.close()

    def interrupt(self) -> None:
        """Interrupt all streams, and those to come."""
        with self._lock:
            self.ended.set()
            for stream in self._open:
                stream.interrupt()


def lines(pieces: Iterable[bytes], bounds: Bounds = BOUNDS) -> Iterator[bytes]:
    """Yield complete lines; one that the end cut off is left out.

    Raises:
        TooLargeError: when a line is longer than any object.

    """
    rest = bytearray()
    for piece in pieces:
        rest += piece
        if len(rest) > bounds.object_bytes:
            raise too_large_object(bounds)
        if b"\n" in piece:
            *whole, rest = rest.split(b"\n")
            yield from (bytes(line) for line in whole if line)
