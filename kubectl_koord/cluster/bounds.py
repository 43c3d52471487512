"""Limits on what is read, whatever is sent: bytes, objects, decoders and threads."""

import os
import queue
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

_MIB = 1 << 20
_BETWEEN_LOOKS = 4 * _MIB


class Bounds(Struct, frozen=True):
    """What one input may have at most.

    `object_bytes` is the text of one object, `values` what one YAML object may consist of, each alias counted as
    what it stands for, and `memory` the bytes by which the process may grow while it reads.
    """

    object_bytes: int = 8 * _MIB
    values: int = 200_000
    objects: int = 1_000_000
    memory: int = 640 * _MIB


BOUNDS = Bounds()
"""The bounds, unless the caller sets lower ones."""


class TooLargeError(Exception):
    """An input beyond the bounds. The text says which bound; the caller adds the name of the input."""


def resident() -> int:
    """Return the resident memory of the process in bytes, its peak where the system has no current value."""
    try:
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - pathlib costs start-up time
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import resource  # noqa: PLC0415
        import sys  # noqa: PLC0415

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Meter:
    """Counts what one input holds: `objects` so far."""

    def __init__(self, bounds: Bounds = BOUNDS, memory: Callable[[], int] = resident) -> None:
        self.bounds = bounds
        self._memory = memory
        self._at_first = memory()
        self.objects = 0
        self._unlooked = 0

    def count(self, objects: int, size: int) -> None:
        """Take note of some more objects, and of the size of their text.

        Raises TooLargeError when that was too much.
        """
        self.objects += objects
        if self.objects > self.bounds.objects:
            raise TooLargeError(f"more than {self.bounds.objects:,} objects")
        self._unlooked += size
        if self._unlooked >= min(_BETWEEN_LOOKS, self.bounds.memory):
            self._unlooked = 0
            if self._memory() - self._at_first > self.bounds.memory:
                raise TooLargeError(f"reading it takes more than {_shown(self.bounds.memory)} of memory")


def too_large_object(bounds: Bounds) -> TooLargeError:
    """Return the error for an object with too much text."""
    return TooLargeError(f"one object is larger than {_shown(bounds.object_bytes)}")


def _shown(size: int) -> str:
    return f"{size // _MIB} MiB" if size >= _MIB else f"{size} bytes"


_MAKING = threading.Lock()


def decoder(kind: Any) -> "msgspec.json.Decoder[Any]":  # noqa: ANN401 - `list[kind]` is no type that could be written
    """Return a decoder of a msgspec type, for any thread."""
    with _MAKING:
        return msgspec.json.Decoder(kind)


T = TypeVar("T")


class Outcomes(Generic[T]):
    """What some threads came to, in the order in which they did."""

    def __init__(self) -> None:
        self._done: queue.SimpleQueue[T | Exception] = queue.SimpleQueue()

    def begin(self, work: Callable[[], T]) -> None:
        """Run a function in a daemon thread."""
        threading.Thread(target=self._do, args=(work,), daemon=True).start()

    def wait(self) -> T:
        """Return the result of the next function that ends, or raise its exception."""
        outcome = self._done.get()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _do(self, work: Callable[[], T]) -> None:
        try:
            self._done.put(work())
        except Exception as error:  # noqa: BLE001 - it is raised where the outcome is waited for
            self._done.put(error)
