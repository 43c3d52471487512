"""The terminal that the screen borrows: where it is drawn, and how it is given back, whatever ends us.

A signal that can be handled gives it back from its handler, as does a terminal that hangs up. For one that cannot, a
shell waits beside us: what it reads ends with us, and if nothing was said before, it gives the terminal back.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import termios
import threading
from typing import IO, Any

from textual.app import App
from textual.drivers.linux_driver import LinuxDriver

from kubectl_koord import leaving
from kubectl_koord.live.app import Live
from kubectl_koord.live.cells import Look
from kubectl_koord.live.state import Feed, Holder
from kubectl_koord.live.views import Overview
from kubectl_koord.render.show import OutputStyle
from kubectl_koord.wording.words import Aim

_GIVEN_BACK = (
    b"\x1b[?2004l\x1b[?7h\x1b[?2048l\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?1004l\x1b[<u"
    b"\x1b[?1049l\x1b[?25h\x1b[0m"
)
"""No paste in brackets, lines wrap, no sizes, mouse, focus or keys are told; the first screen, with its cursor."""
_GUARD = r"""trap '' HUP INT QUIT TERM TSTP TTOU TTIN
read -r said
[ "$said" ] || { stty "$1" <&1; printf "$2"; }"""
_HUNG_UP = 129


class Loan:
    """What the terminal was like, and what gives it back: once, from wherever it is called first."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._before = termios.tcgetattr(descriptor)
        self._drawn = False
        saved = subprocess.run(["stty", "-g"], stdin=descriptor, capture_output=True, text=True, check=False)  # noqa: S607
        octal = "".join(f"\\{byte:03o}" for byte in _GIVEN_BACK)
        self._guard = subprocess.Popen(  # noqa: S603 - words of ours
            ["/bin/sh", "-c", _GUARD, "sh", saved.stdout.strip(), octal],
            stdin=subprocess.PIPE,
            stdout=descriptor,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        leaving.first(self.give_back)

    def begin(self) -> None:
        """Take note that from now on something is drawn."""
        self._drawn = True

    def give_back(self) -> None:
        """Let the terminal be as it was. Takes no lock, and lets nobody of us write to it any more."""
        if not self._drawn:
            self._dismiss()
            return
        self._drawn = False
        kept = os.dup(self._descriptor)
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, self._descriptor)
        with contextlib.suppress(OSError, termios.error):
            os.write(kept, _GIVEN_BACK)
            termios.tcsetattr(kept, termios.TCSANOW, self._before)
        self._dismiss()

    def end(self) -> None:
        """Take note that the screen has given it back itself."""
        self._drawn = False
        leaving.no_more(self.give_back)
        self._dismiss()
        self.vanish()

    def vanish(self) -> None:
        """Let what we would have said never come, as if we had been killed."""
        if self._guard.stdin is not None:
            self._guard.stdin.close()
        self._guard.wait()

    def _dismiss(self) -> None:
        """Let the shell beside us end without doing anything."""
        pipe: IO[bytes] | None = self._guard.stdin
        if pipe is not None:
            with contextlib.suppress(OSError, ValueError):
                os.write(pipe.fileno(), b"done\n")

    def leave_once_it_hangs_up(self) -> None:
        """Wait until nobody is at the other end any more, and end: nothing else would tell."""
        poll = select.poll()
        poll.register(self._descriptor, 0)
        poll.poll()
        if self._drawn:
            self.give_back()
            os._exit(_HUNG_UP)


def driver(loan: Loan, descriptor: int) -> type[LinuxDriver]:
    """Return the driver that draws on a terminal, and says when it begins."""

    class Driver(LinuxDriver):
        """Draws on standard output, where Textual would on standard error."""

        def __init__(self, app: App[Any], **more: Any) -> None:  # noqa: ANN401 - Textual's own
            super().__init__(app, **more)
            self._file = open(descriptor, "w", encoding=sys.stdout.encoding, errors="replace", closefd=False)  # noqa: SIM115

        def start_application_mode(self) -> None:
            with leaving.SignalsBlocked():
                loan.begin()
            super().start_application_mode()  # type: ignore[no-untyped-call]

    return Driver


def run(feed: Feed, overview: Overview, aim: Aim, style: OutputStyle) -> None:
    """Show the screen on standard output until somebody ends it.

    Raises what ended it otherwise, once the terminal is given back.
    """
    if not style.colour:
        os.environ["NO_COLOR"] = "1"
    os.environ.setdefault("TEXTUAL_ANIMATIONS", "none")
    app = Live(lambda told: Holder(feed, told), overview, Look(style.width, style.unicode, aim=aim))
    descriptor = sys.stdout.fileno()
    loan = Loan(descriptor)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        leaving.also_on(number)
    threading.Thread(target=loan.leave_once_it_hangs_up, daemon=True).start()
    app.driver_class = driver(loan, descriptor)
    try:
        app.run()
    finally:
        loan.end()
        app.holder.close()
    if app.failed is not None:
        raise app.failed
