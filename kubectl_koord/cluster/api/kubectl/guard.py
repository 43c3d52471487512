"""A child that never outlives us, however we end.

A process forked off first holds the read end of a pipe whose only write end is ours. The
kernel closes that at our end, even after kill -9; the guard then ends the child and removes its
folder. It costs about a millisecond, and shares our memory.
"""

import contextlib
import os
import signal
import time
from typing import NoReturn

from msgspec import Struct

from kubectl_koord.cluster import forking

_GRACE = 1.0
_PAUSE = 0.002
_DEFAULT_AGAIN = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE)


class Guarded(Struct, frozen=True):
    """A running child: its output and error pipes, and what keeps it alive."""

    output: int
    errors: int
    guard: int
    lifeline: int

    def end(self) -> None:
        """End the child and return when it and its folder are gone. A signal may call it again.

        The two pipes stay open: whoever reads them closes them.
        """
        with contextlib.suppress(OSError):
            os.close(self.lifeline)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.guard, 0)


def start(argv: tuple[str, ...], folder: str) -> Guarded:
    """Start a program of which nothing is left when we end: no process, and not its folder.

    It runs in a session of its own, so that the terminal's Ctrl-C is for us alone. A program
    that cannot be started ends at once, with the reason on its error pipe.

    Raises:
        OSError: when the system has no room for a process or a pipe.

    """
    lifeline, our_end = os.pipe()
    output, child_output = os.pipe()
    errors, child_errors = os.pipe()
    # The guard keeps all signals blocked: it ends with us, not before.
    guard = forking.fork(lambda: _guard(argv, folder, lifeline, (child_output, child_errors)))
    for descriptor in (lifeline, child_output, child_errors):
        os.close(descriptor)
    return Guarded(output, errors, guard, our_end)


def _guard(argv: tuple[str, ...], folder: str, lifeline: int, pipes: tuple[int, int]) -> NoReturn:
    try:
        os.setsid()
        child = _spawn(argv, pipes)
        _forget(lifeline)
        os.read(0, 1)
        if child:
            _end(child)
        _remove(folder)
    finally:
        os._exit(0)


def _spawn(argv: tuple[str, ...], pipes: tuple[int, int]) -> int:
    """Return the child's id, 0 when it cannot be started."""
    output, errors = pipes
    actions: list[tuple[int, int, int] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_DUP2, output, 1),
        (os.POSIX_SPAWN_DUP2, errors, 2),
    ]
    # A credential plugin may ask on the terminal; what is piped to us is not for kubectl.
    if not os.isatty(0):
        actions.append((os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0))
    try:
        return os.posix_spawn(
            argv[0], argv, os.environ, file_actions=actions, setpgroup=0, setsigmask=(), setsigdef=_DEFAULT_AGAIN
        )
    except OSError as error:
        os.write(errors, f"error: unable to run {argv[0]}: {error.strerror}\n".encode())
        return 0


def _forget(lifeline: int) -> None:
    """Keep the lifeline and nothing else open: whoever waits for the end of our output must not wait for the guard."""
    os.dup2(lifeline, 0)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))


def _end(child: int) -> None:
    # Not reaped before: the id is still the child's.
    os.killpg(child, signal.SIGTERM)
    limit = time.monotonic() + _GRACE
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if time.monotonic() > limit:
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return
        time.sleep(_PAUSE)
    with contextlib.suppress(ProcessLookupError):
        # A credential plugin that it started may not have ended with it.
        os.killpg(child, signal.SIGKILL)


def _remove(folder: str) -> None:
    for name in os.listdir(folder):  # noqa: PTH208
        os.unlink(os.path.join(folder, name))  # noqa: PTH108, PTH118
    os.rmdir(folder)  # noqa: PTH106
