"""How processors are shared between our threads, kubectl, and all others."""

import contextlib
import os
import sys
from collections.abc import Iterator

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
