"""Running commands in turn: what each of them took."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from benchmarks.generate import Size

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[1]
KOORD = str(BIN / "kubectl-koord")
DISCARD = "receive and discard"
UNKNOWN = 2
"""The exit code of an answer that is unknown, and of errors."""


class Spent(NamedTuple):
    """What one process took; the memory is its own or that of a child, if larger."""

    seconds: float
    mib: float
    errors: str


Runs = dict[str, list[Spent]]


def environment(home: Path, kubeconfig: str = "") -> dict[str, str]:
    """Return the environment of a user who has compiled modules and a home of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE", "KUBE"))}
    return kept | {"HOME": str(home), "KUBECONFIG": kubeconfig or os.devnull}


def spend(command: Sequence[str], env: Mapping[str, str]) -> Spent:
    """Run a command with its output thrown away."""
    start = time.perf_counter()
    child = subprocess.Popen(
        command, env=env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with child:
        errors = child.stderr.read().decode() if child.stderr else ""
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    is_unknown = child.returncode == UNKNOWN and "error" not in errors
    if child.returncode not in {0, 1} and not is_unknown:
        raise RuntimeError(f"{' '.join(command)}: {errors}")
    return Spent(seconds, usage.ru_maxrss / 1024, errors)


def in_turn(commands: Mapping[str, tuple[Sequence[str], int]], env: Mapping[str, str]) -> Runs:
    """Run each command so many times, one after the other in every round."""
    runs: Runs = {name: [] for name in commands}
    for number in range(max(times for _, times in commands.values())):
        for name, (command, times) in commands.items():
            if number < times:
                show_progress(f"  {name} ({number + 1} of {times})")
                runs[name].append(spend(command, env))
    return runs


def show_progress(text: str) -> None:
    """Show on a terminal what is being done."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def ratio(runs: Runs, ours: str, theirs: str) -> float:
    """Return the median of our time over theirs, round by round."""
    pairs = zip(runs[ours], runs[theirs], strict=False)
    return statistics.median(one.seconds / other.seconds for one, other in pairs)


def seconds(runs: Runs, name: str) -> float:
    """Return the median time."""
    return statistics.median(one.seconds for one in runs[name])


@contextmanager
def serving(size: Size, folder: Path, *options: str) -> Iterator[str]:
    """Serve a generated cluster from another process; yield the path of its kubeconfig."""
    show_progress(f"a cluster of {size.nodes:,} nodes and {size.pods:,} pods is made")
    command = [sys.executable, "-m", "benchmarks.serve", str(size.nodes), str(size.pods), str(folder), *options]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip() if server.stdout else ""
        if server.stdin:
            server.stdin.close()


def measure_start(kubectl: str, env: Mapping[str, str], times: int, words: Sequence[str]) -> Runs:
    """Run what a user pays for any command at all."""
    commands: dict[str, tuple[Sequence[str], int]] = {word: ([KOORD, word], times) for word in words}
    for word in words:
        spend([KOORD, word], env)  # compiles, and fills the caches
    return in_turn(commands | {"kubectl version --client": ([kubectl, "version", "--client"], times)}, env)


def measure(
    ours: Mapping[str, int],
    theirs: Mapping[str, int],
    kubectl: str,
    env: Mapping[str, str],
    discarded: Mapping[str, int] | None = None,
) -> Runs:
    """Run our commands, kubectl's, and what only receives the bytes of some of ours, so many times in turn."""
    commands: dict[str, tuple[Sequence[str], int]] = {name: ([KOORD, *name.split()], n) for name, n in ours.items()}
    for name, times in theirs.items():
        commands[name] = ([kubectl, *name.split()[1:]], times)
    for name, times in (discarded or {}).items():
        verb = name.split()[0]
        commands[discarding(name)] = [sys.executable, "-m", "benchmarks.discard", verb], times
    spend([KOORD, *next(iter(ours)).split()], env)  # the server's files are in memory from here on
    return in_turn(commands, env)


def discarding(words: str) -> str:
    """Return the name under which it is measured what receiving the bytes of a command takes."""
    verb = words.split(maxsplit=1)[0]
    return DISCARD if verb == "topo" else f"{DISCARD} for {verb}"


class Answered(NamedTuple):
    """How long after the last byte read an answer was printed, the median, and the most memory of any run.

    `processor` is the processor time of that, the least: what else runs on a machine only adds to it.
    """

    seconds: float
    mib: float
    processor: float


def after_last_byte(words: str, times: int, env: Mapping[str, str]) -> Answered:
    """Run a command so many times."""
    command = [sys.executable, "-m", "benchmarks.inside", *words.split()]
    name = f"{words}, inside"
    runs = in_turn({name: (command, times)}, env)[name]
    seconds = statistics.median(float(run.errors.split()[-1]) for run in runs)
    processor = min(float(run.errors.split()[-2]) for run in runs)
    return Answered(seconds, max(run.mib for run in runs), processor)


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder for the files of one cluster."""
    with tempfile.TemporaryDirectory(prefix="kubectl-koord-bench-") as name:
        yield Path(name)
