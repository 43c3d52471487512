"""A line on a terminal while something takes long: what has come so far, or what is done."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self, TextIO

from kubectl_koord import leaving

FIRST, EVERY = 0.5, 0.2
_ERASE = "\r\x1b[K"


class Progress:
    """Shows how many objects of each kind have been read, or what is `doing`, in seconds from when it is entered.

    Nothing is written unless the stream is a terminal, nor before `first` seconds have passed and, of reading,
    objects have come; the line is gone when it is left. `seen` is counted up by who reads, in other threads.
    """

    def __init__(
        self,
        stream: TextIO,
        seen: Mapping[str, int],
        *,
        doing: str = "",
        first: float = FIRST,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Keep them; nothing is shown yet."""
        self._stream = stream
        self._seen = seen
        self._doing = doing
        self._waits = (first, every)
        self._clock = clock
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Start the clock."""
        if self._stream.isatty():
            self._thread = threading.Thread(target=self._show, args=(self._clock(),), daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Take the line away."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
            leaving.no_more(self._erase)

    def _show(self, start: float) -> None:
        wait, every = self._waits
        shown = False
        while not self._over.wait(wait):
            wait = every
            if self._seen or self._doing:  # until then somebody may be asked to log in on this line
                width = shutil.get_terminal_size().columns - 1
                if not shown:
                    leaving.first(self._erase)
                self._write(f"{_ERASE}{told(self._doing or dict(self._seen), self._clock() - start)[:width]}")
                shown = True
        if shown:
            self._write(_ERASE)

    def _erase(self) -> None:
        os.write(self._stream.fileno(), _ERASE.encode())

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._over.set()  # nobody looks any more: no reason to stop reading


def told(what: Mapping[str, int] | str, seconds: float) -> str:
    """Return the line: `reading: 5000 Nodes, 1 PodGroup (1.2 s)`, or `looking for ways out ... (1.2 s)`."""
    if isinstance(what, str):
        return f"{what} ... ({seconds:.1f} s)"
    counts = [f"{count:,} {kind}{'' if count == 1 else 's'}" for kind, count in what.items()]
    return f"reading: {', '.join(counts)} ({seconds:.1f} s)"
