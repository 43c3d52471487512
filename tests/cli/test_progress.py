"""The line that tells how reading goes on: on terminals only, late, and gone at the end."""

import io
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from kubectl_koord.cli.session import Progress


class Terminal(io.StringIO):
    """A terminal that tells when something is written."""

    def __init__(self, *, is_terminal: bool = True) -> None:
        super().__init__()
        self.written = threading.Event()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        size = super().write(text)
        self.written.set()
        return size


class Gone(Terminal):
    """A terminal that is not there any more."""

    def write(self, text: str) -> int:
        self.written.set()
        raise BrokenPipeError(text)


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def test_what_has_been_read_is_told_and_taken_away() -> None:
    terminal = Terminal()
    with Progress(terminal, {"Node": 5000, "PodGroup": 1}, first=0, every=60, clock=lambda: 7.0):
        assert terminal.written.wait(10)
    assert terminal.getvalue() == "\r\x1b[Kreading: 5,000 Nodes, 1 PodGroup (0.0 s)\r\x1b[K"


def test_what_is_done_is_told_where_nothing_is_read() -> None:
    terminal = Terminal()
    with Progress(terminal, {}, doing="looking for ways out", first=0, every=60, clock=lambda: 7.0):
        assert terminal.written.wait(10)
    assert terminal.getvalue() == "\r\x1b[Klooking for ways out ... (0.0 s)\r\x1b[K"


def test_the_line_is_never_wider_than_the_terminal() -> None:
    terminal = Terminal()
    with Progress(terminal, {f"Kind{number}": number for number in range(50)}, first=0, every=60):
        assert terminal.written.wait(10)
    assert len(terminal.getvalue().split("\x1b[K")[1].rstrip("\r")) == 79


def test_the_line_is_taken_away_when_a_signal_ends_us(tmp_path: Path) -> None:
    program = """
import os, signal, sys, threading
from kubectl_koord import leaving
from kubectl_koord.cli.session import Progress
leaving.on_signals()
class Terminal:
    written = threading.Event()
    def isatty(self): return True
    def fileno(self): return 2
    def flush(self): pass
    def write(self, text): os.write(2, text.encode()); self.written.set()
with Progress(Terminal(), {"Node": 1}, first=0, every=60, clock=lambda: 7.0):
    assert Terminal.written.wait(10)
    os.kill(os.getpid(), signal.SIGINT)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, b"\r\x1b[Kreading: 1 Node (0.0 s)\r\x1b[K")


def test_what_is_read_at_once_shows_nothing() -> None:
    terminal = Terminal()
    with Progress(terminal, {"Node": 1}, first=60):
        pass
    assert terminal.getvalue() == ""


def test_a_pipe_is_told_nothing() -> None:
    pipe = Terminal(is_terminal=False)
    with Progress(pipe, {"Node": 1}, first=0, every=0):
        pass
    assert pipe.getvalue() == ""


def test_a_terminal_that_goes_away_stops_nobody() -> None:
    gone = Gone()
    with Progress(gone, {"Node": 1}, first=0, every=60):
        assert gone.written.wait(10)


def test_nothing_is_shown_before_anything_came() -> None:
    terminal = Terminal()
    with Progress(terminal, {}, first=0, every=0):
        pass
    assert terminal.getvalue() == ""
