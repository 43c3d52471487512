"""Ctrl-C and SIGTERM at any moment: silence, 130 or 143, nothing left behind, and `annotate` says what it has sent."""

import os
import pty
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import BIN
from tests.cli.world import world, write

KOORD = str(BIN / "kubectl-koord")
GROUPS = "/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"
NEVER = threading.Event()
NUMBERS = (signal.SIGINT, signal.SIGTERM)
NOTHING = "interrupted: nothing was sent\n"
SECONDS = 60

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells which signals are taken care of")


class Ended(NamedTuple):
    """How a run ended, and what it did."""

    code: int
    out: str
    err: str
    patches: int = 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return where the program keeps its socket."""
    made = tmp_path / "tmp"
    made.mkdir()
    monkeypatch.setenv("TMPDIR", str(made))
    return made


def begun(*words: str, stdin: int = subprocess.DEVNULL) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    return subprocess.Popen([KOORD, *words], stdin=stdin, stdout=pipe, stderr=pipe, text=True)


def mask(child: "subprocess.Popen[str]", name: str) -> int:
    """Return the signals that a process ignores (SigIgn) or takes care of (SigCgt)."""
    try:
        lines = Path(f"/proc/{child.pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1], 16) for line in lines if line.startswith(name)), 0)


def await_mask(child: "subprocess.Popen[str]", name: str) -> None:
    """Wait until SIGTERM is ignored or taken care of, or the process has ended."""
    while child.poll() is None and not mask(child, name) >> (signal.SIGTERM - 1) & 1:
        time.sleep(0.001)


def after(child: "subprocess.Popen[str]") -> Ended:
    out, err = child.communicate(timeout=SECONDS)
    return Ended(child.returncode, out, err)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("words", ["", "annotate"])
def test_the_first_module_takes_care_of_signals_before_anything_else_is_imported(number: int, words: str) -> None:
    code = (
        "import os, sys; before = set(sys.modules); import kubectl_koord.cli.entry;"
        f"print(*sorted(set(sys.modules) - before), flush=True); os.kill(os.getpid(), {int(number)})"
    )
    done = subprocess.run([sys.executable, "-c", code, words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + number, NOTHING if words else "")
    assert done.stdout.split() == [
        "gc",  # is built in
        "kubectl_koord",
        "kubectl_koord.cli",
        "kubectl_koord.cli.entry",
        "kubectl_koord.cli.verb_table",
        "kubectl_koord.leaving",
    ]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("words", ["", "annotate"])
def test_a_signal_before_it_is_known_what_to_say_waits_for_that(number: int, words: str) -> None:
    code = (
        "import builtins, os; real = builtins.__import__\n"
        "def watched(name, *rest):\n"
        "    names = rest[2] if len(rest) > 2 else ()\n"
        f"    if name == 'kubectl_koord.cli' and 'verb_table' in (names or ()): os.kill(os.getpid(), {int(number)})\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = watched; import kubectl_koord.cli.entry"
    )
    done = subprocess.run([sys.executable, "-c", code, words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (128 + number, "", NOTHING if words else "")


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    code = "import os; import kubectl_koord.cli.entry; os.kill(os.getpid(), 2); print('goes on')"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\n", "")


@linux
def test_another_signal_while_leaving_changes_nothing(
    server: ApiServer, tmp_path: Path, folder: Path, kubectl: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kubectl that does not end when it is told to keeps us for a second."""
    stubborn = tmp_path / "kubectl"
    stubborn.write_text(f"#!/bin/sh\ntrap '' TERM\nexec {kubectl} \"$@\"\n")
    stubborn.chmod(0o700)
    monkeypatch.setenv("KUBECTL_PATH", str(stubborn))
    server.rules.append(Rule("/api/v1/nodes", hang=NEVER))
    with begun("topo") as child:
        server.wait_for("/api/v1/nodes", 1, watch=False, seconds=SECONDS)
        child.send_signal(signal.SIGINT)
        await_mask(child, "SigIgn")
        for number in (signal.SIGTERM, signal.SIGINT):
            child.send_signal(number)
        assert after(child) == (130, "", "", 0)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("held", "said"),
    [
        (
            "job-0",
            "{sending}: Pod default/job-0; see: {look} job-0 {rest}interrupted: not sent: Pod default/job-1\n",
        ),
        (
            "job-1",
            "interrupted: changed: Pod default/job-0\n{sending}: Pod default/job-1; see: {look} job-1 {rest}",
        ),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_was_sent_of_several_objects_is_said_of_each(server: ApiServer, number: int, held: str, said: str) -> None:
    server.rules.append(Rule(f"/api/v1/namespaces/default/pods/{held}", method="PATCH", hang=NEVER))
    with begun("annotate", "pods", "job", "--index", "--yes") as child:
        await_patch(server, f"/api/v1/namespaces/default/pods/{held}")
        child.send_signal(number)
        ended = after(child)
    sending = "interrupted: may have been changed, as it was being sent"
    told = said.format(sending=sending, look="kubectl get pod", rest="-n default -o yaml\n")
    assert ended._replace(err=without_notice(ended.err)) == (128 + number, "", told, 0)


@pytest.mark.usefixtures("folder")
def test_a_dry_run_on_the_server_changes_nothing_when_it_is_interrupted(server: ApiServer) -> None:
    server.rules.append(Rule(f"{GROUPS}/job", method="PATCH", hang=NEVER))
    with begun("annotate", "podgroup", "job", "--mode=NonStrict", "--dry-run=server") as child:
        await_patch(server, f"{GROUPS}/job")
        child.send_signal(signal.SIGINT)
        ended = after(child)
    said = "interrupted: nothing was changed, it was a dry run\n"
    assert ended._replace(err=without_notice(ended.err)) == (130, "", said, 0)


def await_patch(server: ApiServer, path: str) -> None:
    with server.came:
        assert server.came.wait_for(lambda: server.requests(path, "PATCH"), SECONDS)


def without_notice(errors: str) -> str:
    """Return what was said without the line that a machine with much to do may bring about."""
    return "".join(
        line for line in errors.splitlines(keepends=True) if not line.startswith("Waiting for the API server")
    )


class Case(NamedTuple):
    """A command line, and what it prints if nothing comes in between."""

    words: tuple[str, ...]
    asks: bool = False
    writes: bool = False


CASES = {
    "live": Case(("why-pending", "job")),
    "file": Case(("why-pending", "job", "--snapshot", "FILE")),
    "demo": Case(("topo", "--demo")),
    "watch": Case(("why-pending", "job", "--watch")),
    "asks": Case(("annotate", "podgroup", "job", "--mode=NonStrict"), asks=True, writes=True),
    "writes": Case(("annotate", "podgroup", "job", "--mode=NonStrict", "--yes"), writes=True),
}


class Storm:
    """Runs the program again and again, with signals at random moments."""

    def __init__(self, seed: int, folder: Path, file: str) -> None:
        self.chance = random.Random(seed)  # noqa: S311
        self.folder = folder
        self.file = file
        self.seen: dict[tuple[str, int], int] = {}

    def run(self, name: str) -> None:
        case = CASES[name]
        words = tuple(self.file if word == "FILE" else word for word in case.words)
        with ApiServer(world()) as api:
            os.environ["KUBECONFIG"] = str(api.kubeconfig(self.folder.parent))
            first, second = self.chance.choice(NUMBERS), self.chance.choice((None, 0.0, 0.005))
            ended = self._ended(words, self.chance.uniform(0, 0.5), first, second, asks=case.asks)
            patches = len(api.requests(f"{GROUPS}/job", "PATCH"))
        # Of two that come before Python looks, either may be the one.
        codes = {128 + first, 128 + first if second is None else 143}
        self._judge(name, ended._replace(patches=patches), codes)

    def _ended(self, words: tuple[str, ...], delay: float, number: int, second: float | None, *, asks: bool) -> Ended:
        ours, theirs = pty.openpty() if asks else (-1, subprocess.DEVNULL)
        with begun(*words, stdin=theirs) as child:
            await_mask(child, "SigCgt")
            time.sleep(delay)
            child.send_signal(number)
            if second is not None:
                time.sleep(second)
                child.send_signal(signal.SIGTERM)
            ended = after(child)
        for descriptor in (ours, theirs) if asks else ():
            os.close(descriptor)
        return ended

    def _judge(self, name: str, ended: Ended, codes: set[int]) -> None:
        case = CASES[name]
        self.seen[name, ended.code] = self.seen.get((name, ended.code), 0) + 1
        assert not list(self.folder.iterdir()), (name, ended)
        said = without_notice(ended.err)
        if ended.code not in codes:
            assert not said, (name, ended)
            assert ended.code == {"live": 1, "file": 1, "demo": 0, "writes": 0}[name], (name, ended)
            assert ended.out, (name, ended)
        elif not case.writes:
            assert not said, (name, ended)
        else:
            last = said[said.rindex("interrupted: ") :]
            assert "Traceback" not in said, (name, ended)
            assert last != NOTHING or ended.patches == 0, (name, ended)  # what was being sent may not have arrived
            assert last == NOTHING or last.startswith(
                ("interrupted: may have been changed", "interrupted: changed: PodGroup default/job\n")
            ), (name, ended)


@pytest.fixture
def storm(
    tmp_path: Path, folder: Path, kubectl: str, monkeypatch: pytest.MonkeyPatch
) -> Callable[[int, int], dict[tuple[str, int], int]]:
    assert kubectl
    monkeypatch.setenv("KUBECONFIG", "")

    def blown(seed: int, runs: int) -> dict[tuple[str, int], int]:
        found = Storm(seed, folder, write(tmp_path))
        for at in range(runs):
            found.run(list(CASES)[at % len(CASES)])
        return found.seen

    return blown


@linux
@pytest.mark.parametrize("seed", range(4))
def test_a_signal_at_any_moment_ends_it_as_it_should(
    storm: Callable[[int, int], dict[tuple[str, int], int]], seed: int
) -> None:
    assert sum(storm(seed, len(CASES)).values()) == len(CASES)


@pytest.mark.soak
@linux
@pytest.mark.parametrize("seed", range(100, 112))
def test_nine_hundred_signals_at_any_moment_end_it_as_they_should(
    storm: Callable[[int, int], dict[tuple[str, int], int]], seed: int
) -> None:
    seen = storm(seed, 75)
    sys.stdout.write(f"{seen}\n")
    assert sum(seen.values()) == 75
