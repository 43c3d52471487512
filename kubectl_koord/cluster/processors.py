"""How the system shares its processors between us, kubectl, and all others."""

import contextlib
import os
import sys


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
