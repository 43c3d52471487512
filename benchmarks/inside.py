"""Run a command as the program does, and tell what it took from the last byte of the server to its answer.

    python -m benchmarks.inside WORDS...

prints the processor time and the time as the last line on standard error, in seconds.
"""

import mmap
import os
import struct
import sys
import time
from typing import TYPE_CHECKING

from kubectl_koord.cli.app import invoke
from kubectl_koord.cli.command_line import take_globals
from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.cluster.api.transport import JSON, Body, Transport

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Clock:
    """When the last bytes came, to whichever process."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)
        self.spent = 0.0

    def note(self) -> None:
        """Note that some came now."""
        self._shared[:] = struct.pack("d", time.perf_counter())
        self.spent = time.process_time()

    @property
    def last(self) -> float:
        """Return when, on the clock that all processes have."""
        found: float = struct.unpack("d", self._shared[:])[0]
        return found


class _Timed:
    """A body that notes when bytes come."""

    def __init__(self, body: Body, clock: _Clock) -> None:
        self.status: int = body.status
        self.headers: Mapping[str, str] = body.headers
        self.close = body.close
        self._body, self._clock = body, clock

    def read(self, size: int = -1, /) -> bytes:
        content = self._body.read(size)
        self._clock.note()
        return content

    def readinto(self, buffer: bytearray | memoryview, /) -> int:
        count = self._body.readinto(buffer)
        self._clock.note()
        return count


def main() -> None:
    """Run the command."""
    connection, words = take_connection(sys.argv[1:])
    chosen, words = take_globals(words)
    transport: Transport = connect(connection, writes=False)
    clock, opened = _Clock(), transport.open
    transport.open = lambda path, accept=JSON: _Timed(opened(path, accept), clock)  # type: ignore[method-assign]
    code = invoke(words, chosen, connection, transport)
    sys.stdout.flush()
    spent, passed = time.process_time() - clock.spent, time.perf_counter() - clock.last
    sys.stderr.write(f"{spent:.4f} {passed:.4f}\n")
    sys.stderr.flush()
    transport.close()
    os._exit(code)


if __name__ == "__main__":
    main()
