"""The second process that reads pods: forking, pipes, and how processors are shared with kubectl."""

import contextlib
import fcntl
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import NoReturn

# What other threads may be holding is not asked for there.
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)


def fork(child: Callable[[], NoReturn]) -> int:
    """Start a process that does nothing but this, with all signals blocked; return its id.

    Raises:
        OSError: when there is no room for one.

    """
    before = signal.pthread_sigmask(signal.SIG_SETMASK, signal.valid_signals())
    try:
        pid = os.fork()
        if pid == 0:
            child()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


HOLDS = 1 << 20
"""Bytes that such a pipe holds: Linux gives no more to ordinary users."""


def wide() -> tuple[int, int]:
    """Return the two ends of a new pipe, the one that is read first; on Linux.

    Raises:
        OSError: when there is none to be had.

    """
    output, pipe = os.pipe()
    with contextlib.suppress(OSError):  # a user may have only so much in all
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, HOLDS)
    return output, pipe


_TURN = 0.1
"""Seconds."""


def run_in_batches() -> None:
    """Do not interrupt whoever is running for what we, or kubectl, could do now: on Linux.

    kubectl and we wake each other up for each piece of a list. Where that takes the processor away from whoever has it,
    each works on a piece or two at a time, and finds its caches full of what the other read.
    """
    # A user may have chosen otherwise, and a sandbox may forbid it.
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            if os.sched_getscheduler(0) == os.SCHED_OTHER:
                os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


@contextlib.contextmanager
def long_turns() -> Iterator[None]:
    """Let each of our threads go on until it waits for something, as those that read lists soon do.

    Python would have them take turns every 5 ms, in the middle of what they decode.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_TURN)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
