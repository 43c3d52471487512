"""Our times beside kubectl's, in pairs one after the other, so that a noisy machine is noisy for both.

python -m benchmarks.run [--quick] [--write]
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
from pathlib import Path
from typing import NamedTuple

from kubectl_koord.cluster.connect import find_kubectl

BIN = Path(sys.executable).parent
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "RESULTS.md"
START_LIMIT = 2.0
READ_LIMIT = 1 / 8


class Spent(NamedTuple):
    """What one process took."""

    seconds: float
    mib: float
    code: int


class Pair(NamedTuple):
    """What is compared, and how large our share of kubectl's time may be (0: no limit)."""

    name: str
    ours: Sequence[str]
    theirs: Sequence[str]
    limit: float = 0.0


class Measured(NamedTuple):
    """Medians of a pair."""

    pair: Pair
    ours: float
    theirs: float
    mib: float

    @property
    def ratio(self) -> float:
        """Our time over kubectl's."""
        return self.ours / self.theirs


def environment(home: Path, kubeconfig: str = "") -> dict[str, str]:
    """Return the environment of a user who has compiled modules and a home of their own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COVERAGE", "KUBE"))}
    return kept | {"HOME": str(home), "KUBECONFIG": kubeconfig or os.devnull}


def spend(command: Sequence[str], env: Mapping[str, str]) -> Spent:
    """Run a command with its output thrown away; the memory is its own or that of a child, if larger."""
    start = time.perf_counter()
    child = subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    with child:
        errors = child.stderr.read() if child.stderr else b""
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in {0, 1}:
        raise RuntimeError(f"{' '.join(command)}: {errors.decode()}")
    return Spent(seconds, usage.ru_maxrss / 1024, child.returncode)


def compare(pair: Pair, times: int, env: Mapping[str, str]) -> Measured:
    """Run both sides in turn and return the medians."""
    spend(pair.ours, env)  # compiles, and fills the caches
    ours, theirs = [], []
    for _ in range(times):
        ours.append(spend(pair.ours, env))
        theirs.append(spend(pair.theirs, env))
    median = statistics.median
    return Measured(
        pair,
        median(one.seconds for one in ours),
        median(one.seconds for one in theirs),
        max(one.mib for one in ours),
    )


def start_pairs(kubectl: str) -> list[Pair]:
    """Return what a user pays for any command at all."""
    koord, theirs = str(BIN / "kubectl-koord"), [kubectl, "version", "--client"]
    return [Pair(word, [koord, word], theirs, START_LIMIT) for word in ("version", "--help")]


def read_pairs(kubectl: str, file: Path) -> list[Pair]:
    """Return whole answers beside the table of all pods, which kubectl reads for less of an answer."""
    koord, theirs = str(BIN / "kubectl-koord"), [kubectl, "get", "pods", "-A"]
    live = [Pair(f"{' '.join(words)}, live", [koord, *words], theirs, READ_LIMIT) for words in (["topo"],)]
    gang = ["why-pending", "gang-0", "-n", "train"]
    return [
        *live,
        Pair("why-pending GANG, live", [koord, *gang], theirs),
        Pair("topo, from a file", [koord, "topo", "--snapshot", str(file)], theirs),
    ]


@contextmanager
def serving(nodes: int, pods: int, folder: Path) -> Iterator[str]:
    """Serve a generated cluster from another process; yield the path of its kubeconfig."""
    command = [sys.executable, "-m", "benchmarks.serve", str(nodes), str(pods), str(folder)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        yield server.stdout.readline().strip() if server.stdout else ""
        if server.stdin:
            server.stdin.close()


def measure(nodes: int, pods: int, times: int, *, starts: int) -> list[Measured]:
    """Measure everything for a cluster of one size."""
    kubectl = find_kubectl()
    if not kubectl:
        raise SystemExit("error: no kubectl on PATH to compare with")
    with tempfile.TemporaryDirectory(prefix="kubectl-koord-bench-") as name:
        home = Path(name)
        found = [compare(pair, starts, environment(home)) for pair in start_pairs(kubectl) if starts]
        with serving(nodes, pods, home) as kubeconfig:
            env = environment(home, kubeconfig)
            found += [compare(pair, times, env) for pair in read_pairs(kubectl, home / "cluster.json")]
    return found


def table(found: Sequence[Measured]) -> list[str]:
    """Return the rows of a Markdown table."""
    rows = [
        ("", "ours", "kubectl", "ratio", "limit", "peak memory"),
        ("---", "---:", "---:", "---:", "---:", "---:"),
        *(
            (
                one.pair.name,
                f"{one.ours:.3f} s",
                f"{one.theirs:.3f} s",
                f"{one.ratio:.2f}" if one.ratio >= 1 else f"1/{1 / one.ratio:.1f}",
                f"{one.pair.limit:.3g}" if one.pair.limit else "",
                f"{one.mib:.0f} MiB",
            )
            for one in found
        ),
    ]
    return [f"| {' | '.join(row)} |" for row in rows]


def main() -> int:
    """Print the table; exit 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="1,000 nodes and 10,000 pods only, few runs")
    parser.add_argument("--write", action="store_true", help=f"write {RESULTS.name} too")
    options = parser.parse_args()
    sizes = [(1_000, 10_000, 3)] if options.quick else [(1_000, 10_000, 5), (5_000, 50_000, 1)]
    lines = [
        "# Measured",
        "",
        "`make bench`: medians of interleaved runs on one machine, a loopback server with ready-made answers.",
        "kubectl's side is `version --client` for the first two rows, `get pods -A` for the others.",
        f"Python {platform.python_version()}, {os.cpu_count()} cores. Ratios travel to other machines, seconds do not.",
    ]
    passed = True
    for at, (nodes, pods, times) in enumerate(sizes):
        found = measure(nodes, pods, times, starts=0 if at else 15)
        lines += ["", f"## {nodes:,} nodes, {pods:,} pods", "", *table(found)]
        passed &= all(not one.pair.limit or one.ratio <= one.pair.limit for one in found)
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if options.write:
        RESULTS.write_text(text)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
