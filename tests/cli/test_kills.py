"""300 runs that are ended at random moments, kill -9 among them: no crash, nothing left, no half-written file."""

import gzip
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.apiserver import ApiServer, Rule
from tests.cli.conftest import BIN
from tests.cli.world import world

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/proc tells whose children there are"),
]

RUNS = 300
NUMBERS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MARK = "KUBECTL_KOORD_TEST_RUN"
SECONDS = 60
_OURS = re.compile(r"/kubectl_koord/(?!__init__|cli/__init__|cli/entry|leaving)[a-z_/]+\.py\"")
HELD = "/apis/scheduling.sigs.k8s.io/v1alpha1/podgroups"
CASES: tuple[tuple[str, ...], ...] = (
    ("kubectl-koord", "why-pending", "job"),
    ("kubectl-koord", "why-pending", "--watch"),
    ("kubectl-koord", "snapshot", "-o", "FILE"),
    ("kubectl-koord", "annotate", "podgroup", "job", "--mode=NonStrict", "--yes"),
    ("kubectl_complete-koord", "why-pending", ""),
    ("kubectl-koord", "topo", "--demo", "-o", "json"),
)


class Ended(NamedTuple):
    """How a run ended: its case, the signal, after how many seconds, its exit code, what it said."""

    case: tuple[str, ...]
    number: int
    after: float
    code: int
    err: str


def marked(mark: str) -> Iterator[str]:
    """Yield the processes that were begun with a mark in their environment, and have not ended."""
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                if mark.encode() in (folder / "environ").read_bytes():
                    yield (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                pass  # it has ended, or is not ours


def await_none(mark: str) -> list[str]:
    """Wait until no process of a run is left, and return those that do not end."""
    deadline = time.monotonic() + SECONDS
    while (left := list(marked(mark))) and time.monotonic() < deadline:
        time.sleep(0.01)
    return left


def ended(case: tuple[str, ...], chance: random.Random, folder: Path) -> Ended:
    """Begin a run, end it at a random moment, and look at what is left."""
    mark, number = uuid.uuid4().hex, chance.choice(NUMBERS)
    after = chance.choice((chance.uniform(0, 0.02), chance.uniform(0, 0.8)))
    file = folder / "cluster.json.gz"
    words = [str(BIN / case[0]), *(str(file) if word == "FILE" else word for word in case[1:])]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdout=pipe, stderr=pipe, text=True, env=os.environ | {MARK: mark}) as child:
        time.sleep(after)
        child.send_signal(number)
        _, errors = child.communicate(timeout=SECONDS)
    found = Ended(case, number, after, child.returncode, errors)
    assert await_none(mark) == [], found
    assert list((folder / "tmp").iterdir()) == [], found
    if file.exists():
        assert json.loads(gzip.decompress(file.read_bytes()))["kind"] == "List", found
        file.unlink()
    return found


def test_nothing_is_left_of_a_run_that_is_ended_at_any_moment(
    kubectl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Ctrl-C while Python starts may be answered by a traceback of Python itself."""
    assert kubectl
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    chance = random.Random(20261122)  # noqa: S311
    runs = []
    with ApiServer(world()) as api:
        monkeypatch.setenv("KUBECONFIG", str(api.kubeconfig(tmp_path)))
        for at in range(RUNS):
            api.rules[:] = [Rule(HELD, hang=threading.Event())] if at % 4 == 0 else []  # a server that does not answer
            runs.append(ended(CASES[at % len(CASES)], chance, tmp_path))
            assert list(tmp_path.glob(".*")) == [], runs[-1]
    tracebacks = [run for run in runs if "Traceback" in run.err]
    ours = [run.err for run in tracebacks if run.number != signal.SIGINT or _OURS.search(run.err)]
    assert ours == [], "\n".join(ours)
    codes = {signal.SIGKILL: {-9, 0, 1}, signal.SIGTERM: {143, -15, 0, 1}, signal.SIGINT: {130, -2, 0, 1}}
    assert [run for run in runs if run.code not in codes[signal.Signals(run.number)]] == []
    seen = Counter((signal.Signals(run.number).name, run.code) for run in runs)
    sys.stdout.write(f"{dict(seen)}, {len(tracebacks)} answered by Python itself\n")
