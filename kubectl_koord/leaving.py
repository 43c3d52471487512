"""How a signal ends the process: at once, silently, with 130 or 143, and with nothing of us left behind.

The handler does not raise. An exception would be lost where Python calls back (the lock of an import, a finalizer),
become another one (within a class that is being made), or take the interpreter apart under threads that still run.
"""

import os

TYPE_CHECKING = False  # as typing has it: importing that takes longer than all of this

if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
    from types import FrameType, TracebackType
    from typing import Self
else:
    import _signal as signal  # importing `signal` takes 5 ms, within which a Ctrl-C would print a traceback

NOTHING_SENT = "interrupted: nothing was sent\n"

_NUMBERS = (signal.SIGINT, signal.SIGTERM)
_SHELLS_OFFSET = 128


class _Leaving:
    """What is to be done and said when a signal ends us."""

    def __init__(self) -> None:
        self.actions: list[Callable[[], None]] = []
        self.words = ""
        self.encoding = "ascii"
        self.has_begun = False


_LEAVING = _Leaving()


def hold_signals() -> None:
    """Let Ctrl-C and SIGTERM wait until `on_signals`, which knows what is to be said."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)


def on_signals(words: str = "") -> None:
    """Leave on Ctrl-C and SIGTERM from now on; one that whoever started us has ignored stays ignored."""
    say(words)
    for number in _NUMBERS:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _NUMBERS)


def also_on(number: int) -> None:
    """Leave on another signal, too, unless whoever started us has ignored it."""
    if signal.getsignal(number) != signal.SIG_IGN:
        signal.signal(number, _leave)


def say(words: str) -> None:
    """Let these be our last words on standard error if a signal ends us; they end with a line feed, or are empty."""
    _LEAVING.words = words


def speak(encoding: str) -> None:
    """Let our last words be in another encoding than ASCII, of a language that needs it."""
    _LEAVING.encoding = encoding


def first(action: "Callable[[], None]") -> None:
    """Let this be done before a signal ends us. It may take no lock: the main thread may hold it."""
    _LEAVING.actions.append(action)


def no_more(action: "Callable[[], None]") -> None:
    """Take back what was to be done `first`."""
    if action in _LEAVING.actions:
        _LEAVING.actions.remove(action)


class SignalsBlocked:
    """Blocks signals within the block: what it makes is known to be removed when they come."""

    def __enter__(self) -> "Self":
        self._before = signal.pthread_sigmask(signal.SIG_BLOCK, _NUMBERS)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: "TracebackType | None", /
    ) -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, self._before)


def _leave(number: int, _frame: "FrameType | None") -> None:
    if _LEAVING.has_begun:
        return
    _LEAVING.has_begun = True
    for each in {*_NUMBERS, number}:
        signal.signal(each, signal.SIG_IGN)
    for action in reversed(_LEAVING.actions):
        _tried(action)
    if _LEAVING.words:
        _tried(lambda: os.write(2, _LEAVING.words.encode(_LEAVING.encoding, "backslashreplace")))
    os._exit(_SHELLS_OFFSET + number)


def _tried(action: "Callable[[], object]") -> None:
    try:  # noqa: SIM105 - contextlib would have to be imported
        action()
    except Exception:  # noqa: BLE001, S110 - we are leaving: there is nobody to tell
        pass
