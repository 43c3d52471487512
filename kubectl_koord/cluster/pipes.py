"""Pipes that hold much, so that who writes need not wait for who reads."""

import contextlib
import fcntl
import os

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
