"""Processes that are forked off: each has all that we have, and shares our memory until either writes to it."""

import os
import signal
import warnings
from collections.abc import Callable
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
