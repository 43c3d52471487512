"""Files as they are opened and unpacked; what goes wrong names them."""

import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kubectl_koord.cluster.bounds import TooLargeError
from kubectl_koord.cluster.reading.list_head import LONGEST_HEAD, Rejoined, Source
from kubectl_koord.errors import KoordError

_GZIP = b"\x1f\x8b"


@contextmanager
def opened(name: str) -> Iterator[Source]:
    """Open a file, or standard input for `-`, while it is read; what goes wrong in that time is an error naming it."""
    try:
        if name == "-":
            if sys.stdin is None:
                raise KoordError("error: standard input is closed")
            yield _Stream(sys.stdin.buffer)
        else:
            with open(name, "rb") as file:  # noqa: PTH123 - pathlib costs start-up time
                yield _Stream(file)
    except TooLargeError as problem:
        raise KoordError(f"error: {name}: {problem}") from None
    except (EOFError, zlib.error) as problem:
        raise KoordError(f"error: {name}: broken gzip: {problem}") from None
    except OSError as problem:
        if problem.errno is None:  # the sum or the head of a packed file
            raise KoordError(f"error: {name}: broken gzip: {problem}") from None
        raise KoordError(f"error: the path {name!r} cannot be read: {problem.strerror}") from None


def whole(name: str, most: int) -> bytes:
    """Return all that a file holds, unpacked; `-` is standard input.

    Raises:
        KoordError: when it cannot be read, or is larger than so many bytes.

    """
    with opened(name) as packed:
        found = unpacked(packed)[1].read(most + 1)
        if len(found) > most:
            raise TooLargeError(f"more than {most >> 20} MiB")
    return found


class _Stream:
    """A file as a `Source`; `fault` is what its library raises where it cannot unpack."""

    def __init__(self, file: Any, fault: type[Exception] = zlib.error) -> None:  # noqa: ANN401 - of any library
        self._file = file
        self._fault = fault

    def read(self, size: int = -1, /) -> bytes:
        try:
            content: bytes = self._file.read(size)
        except self._fault as problem:
            raise zlib.error(str(problem)) from None
        return content

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        view = memoryview(buffer)
        filled = 0
        try:
            while filled < len(view) and (count := self._file.readinto(view[filled:])):
                filled += count
        except self._fault as problem:
            raise zlib.error(str(problem)) from None
        return filled


def unpacked(source: Source) -> tuple[bytes, Source]:
    """Return how a file begins, and all of it; what is packed is unpacked as it is read."""
    head = source.read(LONGEST_HEAD)
    if head.startswith(_GZIP):
        source = _unpacked(Rejoined(head, source))
        head = source.read(LONGEST_HEAD)
    return head, Rejoined(head, source)


def by_line(source: Source) -> io.BufferedReader:
    """Return a source that can also be read line by line."""
    return io.BufferedReader(_Raw(source), io.DEFAULT_BUFFER_SIZE)


class _Raw(io.RawIOBase):
    """A source as the standard library's buffers take it."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview, /) -> int:  # type: ignore[override]
        return self._source.readinto(buffer)


def _unpacked(packed: Source) -> Source:
    """Return what a gzipped source holds; isal is twice as fast as the standard library, where it is installed."""
    try:
        from isal import igzip, isal_zlib  # noqa: PLC0415
    except ImportError:
        from gzip import GzipFile  # noqa: PLC0415

        return _Stream(GzipFile(fileobj=packed))  # type: ignore[call-overload]
    return _Stream(igzip.IGzipFile(fileobj=packed), isal_zlib.IsalError)
