"""Work in a process of its own, beside ours: on Linux, where there is a second processor."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, NoReturn, Self

import msgspec

from kubectl_koord.cluster import forking, pipes
from kubectl_koord.cluster.api.transport import Interrupted, TooLate, interrupted
from kubectl_koord.cluster.bounds import TooLargeError
from kubectl_koord.errors import KoordError

if TYPE_CHECKING:
    from kubectl_koord.cluster.reading.lists import Page

Send = Callable[[bytes], None]
Tell = Callable[[str], None]
Work = Callable[[Send, Tell], bytes]
"""Sends messages, tells what it waits for, and returns its result. It imports nothing: others may hold those locks."""

_PIECE, _WAITS, _RESULT, _UNREADABLE, _FAULT, _FAILED = range(6)
_FAILURES: tuple[type[KoordError], ...] = (Interrupted, TooLate, KoordError)
"""What work may raise, the special before the general: told by its place behind `_FAILED`."""
_LENGTH = 4
_AT_ONCE = 1 << 16
"""Bytes that are sent together: to wake up for every message costs more than to take it."""
_SET_DEATH_SIGNAL = 1
"""`PR_SET_PDEATHSIG` of Linux's sys/prctl.h."""


class Reducer(NamedTuple):
    """What is done with some items in the process that reads them, and with what is left of them in ours."""

    reduced: Callable[[list[Any]], bytes]
    take: Send


class Apart(NamedTuple):
    """Reads the rest of a page in a process of its own."""

    reducer: Reducer
    page: "Page"

    @classmethod
    def where_faster(cls, reducer: Reducer | None, page: "Page") -> Self | None:
        """Return what reads a page apart, None where that cannot be done, or there is no processor for it."""
        is_faster = sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1
        return cls(reducer, page) if reducer is not None and page.descriptor >= 0 and is_faster else None

    def run(self, work: Callable[[Send], bytes], take: Send) -> bytes | None:
        """Do work there, which sends messages; take them here. The rest is as in `run`."""
        page = self.page

        def reading(send: Send, tell: Tell) -> bytes:
            page.deadline.waits_for = tell
            page.read_ahead()
            return work(send)

        def take_wanted(message: bytes) -> None:
            page.check()
            take(message)

        return run(reading, page.descriptor, take_wanted, page.deadline.waits_for)


def run(work: Work, descriptor: int, take: Send, tell: Tell) -> bytes | None:
    """Do work in a process of its own, which ends before this one or with it.

    Args:
        work: what to do there.
        descriptor: the file that it needs; all others are closed there.
        take: called here with each message, in order.
        tell: called here with what the work waits for.

    Returns: the result of the work, None where no such process is to be had.

    Raises:
        Interrupted: when the work raised it, or its process was killed.
        KoordError: when the work raised one.
        msgspec.DecodeError: when the work could not read something.

    """
    prctl = _prctl()
    if prctl is None:
        return None
    try:
        ours, theirs = pipes.wide()
    except OSError:
        return None
    us = os.getpid()
    with open(ours, "rb", buffering=pipes.HOLDS) as messages:  # noqa: PTH123 - a pipe
        try:
            child = forking.fork(lambda: _child(work, (descriptor, theirs), prctl, us))
        except OSError:
            return None
        finally:
            os.close(theirs)
        try:
            kind, content = _taken(messages, take, tell)
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            raise
        finally:
            with contextlib.suppress(ChildProcessError):  # who started us may have had ended children forgotten
                os.waitpid(child, 0)
    return _outcome(kind, content)


def _prctl() -> Callable[[int, int], int] | None:
    """Return Linux's function of this name; an interpreter may have been built without what finds it."""
    try:
        import ctypes  # noqa: PLC0415 - start-up time

        found: Callable[[int, int], int] = ctypes.CDLL(None).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return found


def _taken(messages: BinaryIO, take: Send, tell: Tell) -> tuple[int, bytes]:
    """Take messages up to the last one, and return that."""
    while True:
        kind, content = _message(messages)
        if kind == _PIECE:
            take(content)
        elif kind == _WAITS:
            tell(_text(content))
        else:
            return kind, content


def _message(messages: BinaryIO) -> tuple[int, bytes]:
    """Return the next message and its kind."""
    head = messages.read(1 + _LENGTH)
    if len(head) == 1 + _LENGTH:
        length = int.from_bytes(head[1:], "little")
        content = messages.read(length)
        if len(content) == length:
            return head[0], content
    raise interrupted()


def _outcome(kind: int, content: bytes) -> bytes:
    """Return the result, or raise what the work raised."""
    if kind == _RESULT:
        return content
    text = _text(content)
    if kind >= _FAILED:
        raise _FAILURES[kind - _FAILED](text)
    raise msgspec.DecodeError(text) if kind == _UNREADABLE else RuntimeError(text)


def _child(work: Work, files: tuple[int, int], prctl: Callable[[int, int], int], parent: int) -> NoReturn:
    try:
        # It comes when the thread that forked ends, which waits for this process.
        if prctl(_SET_DEATH_SIGNAL, signal.SIGKILL) or os.getppid() != parent:
            os._exit(0)
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _keep(files)
        sender = _Sender(files[1])
        sender.end(*_done(work, sender))
    finally:
        os._exit(0)


def _keep(files: Collection[int]) -> None:
    """Close all files but these: others wait until nobody has them any more."""
    null = os.open(os.devnull, os.O_RDWR)
    kept = {0, 1, 2, *files}
    for standard in {0, 1, 2}.difference(files):
        os.dup2(null, standard)
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - pathlib may import
        if number not in kept:
            with contextlib.suppress(OSError):  # the listing itself
                os.close(number)


def _done(work: Work, sender: "_Sender") -> tuple[int, bytes]:
    """Do the work; return what became of it."""
    try:
        return _RESULT, work(sender.send, sender.tell)
    except KoordError as failure:
        place = next(place for place, kind in enumerate(_FAILURES) if isinstance(failure, kind))
        kind, text = _FAILED + place, failure.message
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, TooLargeError) as problem:
        kind, text = _UNREADABLE, str(problem)
    except Exception as fault:  # noqa: BLE001 - raised where the result is waited for
        kind, text = _FAULT, f"{type(fault).__name__}: {fault}"
    return kind, _bytes(text)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogatepass")


class _Sender:
    """Sends messages into a pipe, several at once."""

    def __init__(self, output: int) -> None:
        self._output = output
        self._unsent = bytearray()

    def send(self, content: bytes) -> None:
        self._add(_PIECE, content)
        if len(self._unsent) >= _AT_ONCE:
            self._flush()

    def tell(self, text: str) -> None:
        self._add(_WAITS, _bytes(text))
        self._flush()

    def end(self, kind: int, content: bytes) -> None:
        self._add(kind, content)
        self._flush()

    def _add(self, kind: int, content: bytes) -> None:
        self._unsent.append(kind)
        self._unsent += len(content).to_bytes(_LENGTH, "little")
        self._unsent += content

    def _flush(self) -> None:
        sent = 0
        with memoryview(self._unsent) as unsent:
            while sent < len(unsent):
                sent += os.write(self._output, unsent[sent:])
        self._unsent.clear()
