"""Our times beside kubectl's, in turn within one run, so that a noisy machine is noisy for both.

python -m benchmarks.run [--quick] [--write]

takes more than half an hour, most of it in kubectl; nothing else should run meanwhile.
"""

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from benchmarks.generate import BIG_GANG, BIG_SIZE, Size
from kubectl_koord.cluster.api.connect import find_kubectl

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
KOORD = str(BIN / "kubectl-koord")
SMALL, LARGE, HUGE = Size(1_000, 10_000), Size(5_000, 50_000), Size(15_000, 300_000)
START_LIMIT = 2.0
READ_LIMIT = 1 / 8  # of the table of all pods, at the smallest size
PREEMPT = f"preempt {BIG_GANG} -n train --dry-run"
OURS = ("topo", "why-pending -A", PREEMPT)
TABLE, JSON = "kubectl get pods -A", "kubectl get pods -A -o json"
DISCARD = "receive and discard"


class Spent(NamedTuple):
    """What one process took; the memory is its own or that of a child, if larger."""

    seconds: float
    mib: float
    said: str


class Limit(NamedTuple):
    """What a figure must not exceed, and what it should not."""

    must: float
    aim: float


class Figure(NamedTuple):
    """One row of the results."""

    name: str
    value: float
    shown: str
    limit: Limit | None = None
    limit_shown: str = ""

    @property
    def passed(self) -> bool:
        """Whether it keeps to what it must."""
        return self.limit is None or self.value <= self.limit.must


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
        said = child.stderr.read().decode() if child.stderr else ""
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in {0, 1}:
        raise RuntimeError(f"{' '.join(command)}: {said}")
    return Spent(seconds, usage.ru_maxrss / 1024, said)


def in_turn(commands: Mapping[str, tuple[Sequence[str], int]], env: Mapping[str, str]) -> Runs:
    """Run each command so many times, one after the other in every round."""
    runs: Runs = {name: [] for name in commands}
    for number in range(max(times for _, times in commands.values())):
        for name, (command, times) in commands.items():
            if number < times:
                tell(f"  {name} ({number + 1} of {times})")
                runs[name].append(spend(command, env))
    return runs


def tell(text: str) -> None:
    """Say on a terminal what is being done."""
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


def fraction(value: float) -> str:
    """Return a ratio as people say it."""
    return f"{value:.2f}" if value >= 1 else f"1/{1 / value:.1f}"


def figure(name: str, value: float, unit: str, limit: Limit | None = None) -> Figure:
    """Return a row; the unit is `ratio`, `s`, `ms`, `MiB` or `x`."""

    def shown(number: float) -> str:
        if unit == "ratio":
            return fraction(number)
        return {"s": f"{number:.2f} s", "ms": f"{number * 1000:.0f} ms", "x": f"{number:.1f}x"}.get(
            unit, f"{number:.0f} MiB"
        )

    return Figure(name, value, shown(value), limit, f"{shown(limit.must)} / {shown(limit.aim)}" if limit else "")


@contextmanager
def serving(size: Size, folder: Path, *options: str) -> Iterator[str]:
    """Serve a generated cluster from another process; yield the path of its kubeconfig."""
    tell(f"a cluster of {size.nodes:,} nodes and {size.pods:,} pods is made")
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


def measure(ours: Mapping[str, int], theirs: Mapping[str, int], kubectl: str, env: Mapping[str, str]) -> Runs:
    """Run our commands, and kubectl's, so many times in turn."""
    commands: dict[str, tuple[Sequence[str], int]] = {name: ([KOORD, *name.split()], n) for name, n in ours.items()}
    for name, times in theirs.items():
        commands[name] = ([kubectl, *name.split()[1:]], times)
    if ours:
        spend([KOORD, *next(iter(ours)).split()], env)  # the server's files are in memory from here on
    return in_turn(commands, env)


def discarded(times: int, env: Mapping[str, str]) -> Runs:
    """Run what only receives the bytes of `topo`."""
    return in_turn({DISCARD: ([sys.executable, "-m", "benchmarks.discard", "topo"], times)}, env)


def after_last_byte(words: str, times: int, env: Mapping[str, str]) -> float:
    """Return the median of the seconds from the last byte read to the answer printed."""
    command = [sys.executable, "-m", "benchmarks.inside", *words.split()]
    return statistics.median(
        float(run.said.split()[-1]) for run in in_turn({f"{words}, inside": (command, times)}, env)[f"{words}, inside"]
    )


def of_size(runs: Runs, limits: Mapping[tuple[str, str], Limit]) -> Iterator[Figure]:
    """Yield what was measured of our commands at one size."""
    for name in OURS:
        if name not in runs:
            continue
        yield figure(f"{name}: time", seconds(runs, name), "s", limits.get((name, "s")))
        yield figure(f"{name}: peak memory", max(one.mib for one in runs[name]), "MiB", limits.get((name, "MiB")))
        for other in (TABLE, JSON):
            if other in runs:
                rounds = min(len(runs[name]), len(runs[other]))
                label = f"{name} / `{other}` ({rounds} pairs)"
                yield figure(label, ratio(runs, name, other), "ratio", limits.get((name, other)))
        if DISCARD in runs:
            yield figure(f"{name} / receiving and discarding", seconds(runs, name) / seconds(runs, DISCARD), "x")
    for other in (TABLE, JSON, DISCARD):
        if other in runs:
            yield figure(f"`{other}`: time", seconds(runs, other), "s")
            yield figure(f"`{other}`: peak memory", max(one.mib for one in runs[other]), "MiB")


_BOTH = ("topo", "why-pending -A")
LARGE_LIMITS = (
    {(name, TABLE): Limit(1 / 14, 1 / 25) for name in _BOTH}
    | {(name, JSON): Limit(1 / 40, 1 / 75) for name in _BOTH}
    | {(name, "MiB"): Limit(100, 50) for name in _BOTH}
)
HUGE_LIMITS = {(name, "s"): Limit(8, 5.5) for name in _BOTH} | {(name, "MiB"): Limit(250, 140) for name in _BOTH}
SMALL_LIMITS = {("topo", TABLE): Limit(READ_LIMIT, 1 / 17)}


def growth(smaller: Runs, larger: Runs, limit: Limit | None, sizes: str) -> Iterator[Figure]:
    """Yield how much longer each command takes at the larger size."""
    for name in OURS:
        if name in smaller and name in larger:
            value = seconds(larger, name) / seconds(smaller, name)
            yield figure(f"{name}: {sizes}", value, "x", limit if name in _BOTH else None)


def table(figures: Sequence[Figure]) -> list[str]:
    """Return the rows of a Markdown table."""
    rows = [("", "measured", "must / aim", ""), ("---", "---:", "---:", "---")]
    rows += [(one.name, one.shown, one.limit_shown, "" if one.passed else "**missed**") for one in figures]
    return [f"| {' | '.join(row)} |" for row in rows]


def start_figures(runs: Runs) -> list[Figure]:
    """Return how long commands take that read nothing, beside kubectl's own."""
    theirs = "kubectl version --client"
    limit = Limit(START_LIMIT, 1.6)
    ours = [name for name in runs if name != theirs]
    return [
        figure(f"{name} / `{theirs}` ({len(runs[name])} pairs)", ratio(runs, name, theirs), "ratio", limit)
        for name in ours
    ]


def sections(kubectl: str, home: Path, *, quick: bool) -> Iterator[tuple[str, list[Figure]]]:
    """Yield all that is measured, each section with its title."""
    yield "Start", start_figures(measure_start(kubectl, environment(home), 7 if quick else 15, ("version", "--help")))
    with folder() as place, serving(SMALL, place, "--tables", "--file") as kubeconfig:
        env = environment(home, kubeconfig)
        pairs = 3 if quick else 9
        small = measure(dict.fromkeys(OURS, pairs), {TABLE: pairs} | ({} if quick else {JSON: pairs}), kubectl, env)
        small |= discarded(pairs, env)
        yield _title(SMALL), list(of_size(small, SMALL_LIMITS))
        yield f"{_title(SMALL)}, as a file that kubectl wrote", list(from_file(place / "cluster.json", pairs, env))
    if quick:
        return
    with folder() as place, serving(LARGE, place, "--tables") as kubeconfig:
        env = environment(home, kubeconfig)
        large = measure(dict.fromkeys(OURS, 9), {TABLE: 9, JSON: 9}, kubectl, env) | discarded(9, env)
        yield _title(LARGE), list(of_size(large, LARGE_LIMITS))
    with folder() as place, serving(LARGE, place, "--tls", "--gzip", "--latency=0.05") as kubeconfig:
        env = environment(home, kubeconfig)
        far = measure(dict.fromkeys(_BOTH, 3), {}, kubectl, env) | discarded(3, env)
        yield f"{_title(LARGE)}, TLS, packed, 50 ms away", list(of_size(far, {}))
    with folder() as place, serving(HUGE, place) as kubeconfig:
        env = environment(home, kubeconfig)
        huge = measure(dict.fromkeys(OURS, 5), {}, kubectl, env) | discarded(3, env)
        yield _title(HUGE), list(of_size(huge, HUGE_LIMITS))
        after = {name: after_last_byte(name, 3, env) for name in OURS}
    yield (
        "From the last byte read to the answer printed, at 15,000 nodes and 300,000 pods",
        [
            figure("topo", after["topo"], "ms", Limit(0.1, 0.04)),
            figure("why-pending -A", after["why-pending -A"], "ms"),
            figure(f"preempt --dry-run of a gang of {BIG_SIZE} pods", after[PREEMPT], "ms", Limit(2, 0.5)),
        ],
    )
    yield (
        "Growth",
        [
            *growth(small, large, Limit(5.5, 5), "5 times the nodes and pods"),
            *growth(large, huge, Limit(7, 6), "3 times the nodes, 6 times the pods"),
        ],
    )


def from_file(path: Path, times: int, env: Mapping[str, str]) -> Iterator[Figure]:
    """Yield what reading a file takes."""
    name = "topo --snapshot"
    runs = in_turn({name: ([KOORD, "topo", "--snapshot", str(path)], times)}, env)
    yield figure(f"{name} ({path.stat().st_size / 1e6:.0f} MB): time", seconds(runs, name), "s")
    yield figure(f"{name}: peak memory", max(one.mib for one in runs[name]), "MiB")


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder for the files of one cluster."""
    with tempfile.TemporaryDirectory(prefix="kubectl-koord-bench-") as name:
        yield Path(name)


def _title(size: Size) -> str:
    return f"{size.nodes:,} nodes, {size.pods:,} pods"


def heading(kubectl: str) -> list[str]:
    """Return what the figures rest on."""
    version = subprocess.run([kubectl, "version", "--client"], capture_output=True, text=True, check=True).stdout
    cpus = Path("/proc/cpuinfo")
    models = [line.partition(":")[2].strip() for line in _lines(cpus) if line.startswith("model name")]
    return [
        "# Measured",
        "",
        "`make bench`: one machine, a loopback server with ready-made answers, our commands and kubectl's in turn.",
        "Times are medians, ratios medians of pairs within one round, memory the most that any run took.",
        "Ratios travel to other machines, seconds do not. Clusters are made by `benchmarks/generate.py`.",
        "",
        ", ".join(
            (
                str(datetime.now(UTC).date()),
                models[0] if models else platform.machine(),
                f"{os.cpu_count()} cores",
                f"Python {platform.python_version()}",
                f"kubectl {version.split()[2]}.",
            )
        ),
    ]


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def main() -> int:
    """Print the tables; exit 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="1,000 nodes and 10,000 pods only, few runs")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name} too")
    options = parser.parse_args()
    kubectl = find_kubectl()
    if not kubectl:
        raise SystemExit("error: no kubectl on PATH to compare with")
    lines = heading(kubectl)
    print("\n".join(lines), flush=True)
    passed = True
    with folder() as home:
        for title, figures in sections(kubectl, home, quick=options.quick):
            new = ["", f"## {title}", "", *table(figures)]
            tell("")
            print("\n".join(new), flush=True)
            lines += new
            passed &= all(one.passed for one in figures)
    if options.write:
        RESULTS.write_text("\n".join(lines) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
