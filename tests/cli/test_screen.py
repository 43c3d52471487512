"""The screen on a terminal, and that it is given back: whole, and whatever ends us."""

import fcntl
import io
import json
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kubectl_koord import leaving
from kubectl_koord.cli.verbs import live
from kubectl_koord.cluster import watching
from kubectl_koord.cluster.watching import Backoff
from kubectl_koord.live import views
from kubectl_koord.live.state import Feed, Holder
from kubectl_koord.live.terminal import Loan
from kubectl_koord.live.views import Overview
from kubectl_koord.render import structured
from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import BIN, Run
from tests.cli.test_why_preempted import FAILED, event
from tests.cli.world import Object, lasting, pod

PATIENCE = 60.0
FIRST_SCREEN, OTHER_SCREEN = b"\x1b[?1049l", b"\x1b[?1049h"
CURSOR, NO_CURSOR = b"\x1b[?25h", b"\x1b[?25l"


class Terminal:
    """A terminal of 80 columns: what it was like, and what was written to it."""

    def __init__(self) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.written = b""

    def until(self, text: bytes) -> None:
        """Read until something was written."""
        end = time.monotonic() + PATIENCE
        while text not in self.written:
            assert self._read(end - time.monotonic()), self.written[-500:]

    def rest(self, quiet: float) -> None:
        """Read what is still to come, until nothing does for so many seconds."""
        while self._read(quiet):
            pass

    def _read(self, seconds: float) -> bool:
        if not select.select([self.master], [], [], max(0.0, seconds))[0]:
            return False
        self.written += os.read(self.master, 1 << 16)
        return True

    def is_given_back(self) -> bool:
        """Tell whether it is as it was: its settings, its first screen, its cursor."""
        screen = self.written.rfind(OTHER_SCREEN) <= self.written.rfind(FIRST_SCREEN)
        cursor = self.written.rfind(NO_CURSOR) <= self.written.rfind(CURSOR)
        return screen and cursor and termios.tcgetattr(self.slave) == self.before

    def close(self) -> None:
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


@contextmanager
def started(terminal: Terminal) -> Iterator["subprocess.Popen[bytes]"]:
    environment = dict(os.environ) | {"TERM": "xterm-256color"}
    words = [str(BIN / "kubectl-koord"), "live", "--demo"]
    own = terminal.slave
    with subprocess.Popen(
        words, stdin=own, stdout=own, stderr=subprocess.PIPE, env=environment, start_new_session=True
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def test_a_signal_gives_the_terminal_back(terminal: Terminal) -> None:
    with started(terminal) as child:
        terminal.until(b"spine-2")
        child.send_signal(signal.SIGTERM)
        assert child.wait(PATIENCE) == 128 + signal.SIGTERM
        terminal.until(FIRST_SCREEN)
        assert terminal.is_given_back()
        assert child.stderr is not None
        assert child.stderr.read() == b""


def test_where_nobody_of_us_can_a_shell_beside_us_gives_it_back(terminal: Terminal) -> None:
    loan = Loan(terminal.slave)
    loan.begin()
    os.write(terminal.slave, OTHER_SCREEN + NO_CURSOR)
    changed = termios.tcgetattr(terminal.slave)
    changed[3] &= ~termios.ECHO
    termios.tcsetattr(terminal.slave, termios.TCSANOW, changed)
    loan.vanish()
    terminal.until(FIRST_SCREEN)
    assert terminal.is_given_back()
    leaving.no_more(loan.give_back)


def test_what_was_given_back_is_not_given_back_again(terminal: Terminal) -> None:
    loan = Loan(terminal.slave)
    loan.begin()
    kept = os.dup(terminal.slave)
    loan.give_back()
    loan.give_back()
    loan.end()
    terminal.until(FIRST_SCREEN)
    terminal.rest(0.05)
    assert terminal.written.count(FIRST_SCREEN) == 1
    os.dup2(kept, terminal.slave)
    os.close(kept)


def test_where_nothing_was_drawn_nothing_is_written(terminal: Terminal) -> None:
    loan = Loan(terminal.slave)
    loan.give_back()
    loan.end()
    terminal.rest(0.05)
    assert terminal.written == b""


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200))
def test_it_is_given_back_after_any_signal_at_any_moment(terminal: Terminal, seed: int) -> None:
    choice = random.Random(seed)  # noqa: S311 - not for secrets
    number = choice.choice(
        [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL, signal.SIGSEGV]
    )
    with started(terminal) as child:
        if choice.random() < 0.5:
            terminal.until(b"spine-0")
        time.sleep(choice.random() * 2)
        child.send_signal(number)
        child.wait(PATIENCE)
        end = time.monotonic() + PATIENCE
        while not terminal.is_given_back() and time.monotonic() < end:
            terminal.rest(0.1)
        assert terminal.is_given_back(), (number, terminal.written[-300:])


def test_without_a_terminal_it_says_what_prints_the_same(koord: Run) -> None:
    done = koord("live", "--demo")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: live needs a terminal; why-pending --watch prints what changes\n"


def test_a_format_is_refused(koord: Run) -> None:
    done = koord("live", "--demo", "-o", "json")
    assert (done.code, done.err) == (2, "error: -o json cannot be used with live: it draws on a terminal\n")


class OnTerminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_where_textual_is_missing_one_line_tells_how_to_get_it(koord: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("textual", "kubectl_koord.live.terminal"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "kubectl_koord.live.app", raising=False)
    monkeypatch.setitem(sys.modules, "textual", None)
    monkeypatch.setattr(live, "on_terminal", lambda: True)
    done = koord("live", "--demo")
    assert (done.code, done.out) == (2, "")
    assert done.err == "error: live needs Textual, which is not installed: pip install 'kubectl-koord[live]'\n"


class Shown:
    """What would be drawn: the newest answers, and who waits for them."""

    def __init__(self, feed: Feed, overview: Overview) -> None:
        self.changed = threading.Condition()
        self.holder = Holder(feed, self.told, least=0.0, pauses=(0.01, 0.05))
        self.overview = overview
        for view in (
            overview,
            views.of_gang(overview.questions, "job"),
            views.of_preemption(overview.questions, "high"),
        ):
            self.holder.ask(view.title, view.ask)
        self.holder.start()

    def told(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def until(self, holds: Callable[[], bool]) -> None:
        with self.changed:
            assert self.changed.wait_for(holds, PATIENCE), (self.holder.link(), self.holder.failure)

    def waiting(self) -> dict[str, int]:
        """Return how many pods of each gang wait."""
        answer = self.holder.answer(self.overview.title)
        items = answer.value.items if answer is not None and answer.value is not None else ()
        return {item.gang: len(item.pending_pods) for item in items}


@pytest.fixture
def shown(koord: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run `live` with steps in place of a screen."""

    def ran(steps: Callable[[Shown], None], *words: str) -> None:
        def run(feed: Feed, overview: Overview, *_: object) -> None:
            made = Shown(feed, overview)
            try:
                steps(made)
            finally:
                made.holder.close()
                assert made.holder.join(PATIENCE)

        monkeypatch.setattr(live, "on_terminal", lambda: True)
        monkeypatch.setattr(live, "screen", lambda: run)
        done = koord("live", *words)
        assert (done.code, done.err) == (0, "")

    return ran


def test_a_change_of_the_cluster_reaches_the_screen(shown: Callable[..., None], direct: ApiServer, koord: Run) -> None:
    reports: list[Object] = []

    def steps(made: Shown) -> None:
        made.until(lambda: made.waiting().get("default/few") == 1)
        direct.put(pod("few-1", "few"))
        made.until(lambda: made.waiting().get("default/few") == 2)
        made.until(lambda: not made.holder.is_stale("gang job"))
        answer = made.holder.answer("gang job")
        assert answer is not None
        reports.append(lasting(json.loads(structured.to_json(answer.value[0]))))

    shown(steps, "-A")
    assert {request.method for request in direct.log} == {"GET"}
    one_list_a_kind = [
        request.path for request in direct.log if request.path == "/api/v1/pods" and not request.is_watch
    ]
    assert len(one_list_a_kind) == 1
    live_page, page = reports[0], lasting(json.loads(koord("why-pending", "job", "-o", "json").out))
    for part in ("verdict", "cause", "domains", "unblock", "nextSteps", "placement"):
        assert live_page.get(part) == page.get(part)


def test_a_gang_that_is_opened_has_its_events_which_are_not_listed_again_at_once(
    shown: Callable[..., None], direct: ApiServer
) -> None:
    direct.put(event("job-0", FAILED, "FailedScheduling"))

    def said(made: Shown) -> str:
        answer = made.holder.answer("gang job")
        says = answer.value[0].scheduler_says if answer is not None and answer.value is not None else None
        return says.last_seen if says is not None else ""

    def steps(made: Shown) -> None:
        made.until(lambda: said(made) == "2026-11-20T09:00:00.000001Z")
        direct.put(pod("few-1", "few"))
        made.until(lambda: made.holder.number > 1 and not made.holder.is_stale("gang job"))
        assert said(made)

    shown(steps, "-A")
    asked = [one for one in direct.log if one.query.get("fieldSelector") == "reason=FailedScheduling"]
    assert len(asked) == 1


def test_a_lost_cluster_is_told_and_taken_up_again(
    shown: Callable[..., None], direct: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watching, "BACKOFF", Backoff(first=0.01, most=0.02, failures=1))

    def steps(made: Shown) -> None:
        made.until(lambda: "default/few" in made.waiting())
        direct.rules.append(Rule(".*", 503, "ServiceUnavailable", "restarting"))
        direct.end_watches(broken=True)
        made.until(lambda: made.holder.link().status == "lost")
        assert made.waiting()["default/few"] == 1
        direct.put(pod("few-1", "few"))
        direct.rules.clear()
        made.until(lambda: made.waiting().get("default/few") == 2)
        assert made.holder.link().status == "live"

    shown(steps, "-n", "default")


def test_a_kind_that_may_not_be_watched_is_a_gap(shown: Callable[..., None], direct: ApiServer) -> None:
    direct.rules.append(Rule(".*/devices.*", 403, "Forbidden", "no devices for you"))

    def steps(made: Shown) -> None:
        made.until(lambda: bool(made.waiting()))
        snapshot = made.holder.snapshot
        assert snapshot is not None
        assert "Device" in views.gaps_told(snapshot.gaps)

    shown(steps, "-A")
