"""Our times beside kubectl's, in turn within one run, so that a noisy machine is noisy for both.

python -m benchmarks.run [--quick | --diverse [--pairs N] | --sizes] [--write]

takes about an hour, most of it in kubectl, or with --diverse half of that; nothing else should run meanwhile. With
--sizes it takes minutes, and what else runs matters little: processor time is what counts there.
"""

import argparse
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TypeAlias

from benchmarks.diverse.plan import scale_of
from benchmarks.figures import (
    BOTH,
    DIVERSE_HUGE_LIMITS,
    DIVERSE_LARGE_LIMITS,
    GANG,
    HUGE_LIMITS,
    JSON,
    LARGE_LIMITS,
    OURS,
    PREEMPT,
    QUESTIONS,
    SMALL_LIMITS,
    TABLE,
    Figure,
    Limit,
    figure,
    growth,
    of_size,
    start_figures,
    table,
)
from benchmarks.generate import BIG_SIZE, Size
from benchmarks.measure import (
    KOORD,
    ROOT,
    Answered,
    after_last_byte,
    environment,
    folder,
    in_turn,
    measure,
    measure_start,
    seconds,
    serving,
    show_progress,
)
from kubectl_koord.cluster.api.connect import find_kubectl

RESULTS = ROOT / "benchmarks" / "RESULTS.md"
PAIRS = 9
SIZES, SIZES_WHERE_QUICK = (50, 100, 250, 500, 1_000, 2_500, 5_000), (50, 250, 1_000)
_PODS_A_NODE, _FEWEST_PODS = 10, 1_500
SMALL, LARGE, HUGE = Size(1_000, 10_000), Size(5_000, 50_000), Size(15_000, 300_000)

Section: TypeAlias = tuple[str, list[Figure]]


def sections(kubectl: str, home: Path, *, quick: bool) -> Iterator[Section]:
    """Yield all that is measured, each section with its title."""
    yield _start(kubectl, home, 7 if quick else 15)
    with folder() as place, serving(SMALL, place, "--tables", "--file") as kubeconfig:
        env = environment(home, kubeconfig)
        pairs = 3 if quick else 9
        theirs = {TABLE: pairs} | ({} if quick else {JSON: pairs})
        small = measure(dict.fromkeys(OURS, pairs), theirs, kubectl, env, {"topo": pairs})
        yield _title(SMALL), list(of_size(small, SMALL_LIMITS))
        yield f"{_title(SMALL)}, as a file that kubectl wrote", list(from_file(place / "cluster.json", pairs, env))
    with folder() as place, serving(SMALL, place, "--diverse", "--tables") as kubeconfig:
        env = environment(home, kubeconfig)
        all_of_us = dict.fromkeys(OURS, pairs)
        found = measure(all_of_us, {TABLE: pairs}, kubectl, env, all_of_us)
        yield f"{_title(SMALL)}, diverse", list(of_size(found, {}))
    yield by_size(home, SIZES_WHERE_QUICK if quick else SIZES)
    if quick:
        return
    yield from diverse_sections(kubectl, home)
    with folder() as place, serving(LARGE, place, "--tables") as kubeconfig:
        env = environment(home, kubeconfig)
        large = measure(dict.fromkeys(OURS, 9), {TABLE: 9, JSON: 9}, kubectl, env, {"topo": 9})
        yield _title(LARGE), list(of_size(large, LARGE_LIMITS))
    with folder() as place, serving(LARGE, place, "--tls", "--gzip", "--latency=0.05") as kubeconfig:
        env = environment(home, kubeconfig)
        far = measure(dict.fromkeys(BOTH, 3), {}, kubectl, env, {"topo": 3})
        yield f"{_title(LARGE)}, TLS, packed, 50 ms away", list(of_size(far, {}))
    with folder() as place, serving(HUGE, place) as kubeconfig:
        env = environment(home, kubeconfig)
        huge = measure(dict.fromkeys(OURS, 5), {}, kubectl, env, {"topo": 5})
        yield _title(HUGE), list(of_size(huge, HUGE_LIMITS))
        after = {name: after_last_byte(name, 3, env) for name in OURS}
    yield (
        "From the last byte read to the answer printed, at 15,000 nodes and 300,000 pods",
        [
            figure("topo", after["topo"].seconds, "ms", Limit(0.1, 0.04)),
            figure("why-pending -A", after["why-pending -A"].seconds, "ms"),
            figure(f"preempt --dry-run of a gang of {BIG_SIZE} pods", after[PREEMPT].seconds, "ms", Limit(2, 0.5)),
        ],
    )
    yield (
        "Growth",
        [
            *growth(small, large, Limit(5.5, 5), "5 times the nodes and pods"),
            *growth(large, huge, Limit(7, 6), "3 times the nodes, 6 times the pods"),
        ],
    )


def diverse_sections(kubectl: str, home: Path, pairs: int = PAIRS) -> Iterator[Section]:
    """Yield what is measured where pods, nodes and the jobs that wait differ: it has the strictest limits."""
    ours = dict.fromkeys(OURS, pairs)
    with folder() as place, serving(LARGE, place, "--diverse", "--tables") as kubeconfig:
        env = environment(home, kubeconfig)
        yield (
            f"{_title(LARGE)}, diverse",
            list(of_size(measure(ours, {TABLE: pairs}, kubectl, env, ours), DIVERSE_LARGE_LIMITS)),
        )
    with folder() as place, serving(HUGE, place, "--diverse") as kubeconfig:
        env = environment(home, kubeconfig)
        yield f"{_title(HUGE)}, diverse", list(of_size(measure(ours, {}, kubectl, env, ours), DIVERSE_HUGE_LIMITS))
        after = {name: after_last_byte(name, min(pairs, 3), env) for name in (*BOTH, *QUESTIONS)}
    every_kind = after["why-pending -A"].seconds / scale_of(HUGE).kinds
    yield (
        "From the last byte read to the answer printed, at 15,000 nodes and 300,000 pods, diverse",
        [
            figure("topo", after["topo"].seconds, "ms"),
            figure("why-pending -A", after["why-pending -A"].seconds, "ms"),
            figure("why-pending -A, for each kind of pod that waits", every_kind, "ms", Limit(0.006, 0.002)),
            *chain.from_iterable(_answered(name, after[name]) for name in QUESTIONS),
        ],
    )


def by_size(home: Path, sizes: Iterable[int]) -> Section:
    """Return what the answer about a gang takes with its ways out, which are looked for with as many steps anywhere."""
    figures: list[Figure] = []
    for nodes in sizes:
        size = Size(nodes, max(_FEWEST_PODS, nodes * _PODS_A_NODE))
        with folder() as place, serving(size, place, "--diverse") as kubeconfig:
            after = after_last_byte(GANG, 3, environment(home, kubeconfig))
        figures += [
            figure(f"{_title(size)}: processor time", after.processor, "ms", Limit(1, 0.5)),
            figure(f"{_title(size)}: peak memory", after.mib, "MiB"),
        ]
    return f"From the last byte read to the answer printed: {GANG}, with ways out, by size, diverse", figures


def _answered(name: str, after: Answered) -> Iterator[Figure]:
    yield figure(name, after.seconds, "ms", Limit(1, 0.5))
    yield figure(f"{name}: peak memory", after.mib, "MiB", Limit(350, 250))


def _start(kubectl: str, home: Path, times: int) -> Section:
    return "Start", start_figures(measure_start(kubectl, environment(home), times, ("version", "--help")))


def from_file(path: Path, times: int, env: Mapping[str, str]) -> Iterator[Figure]:
    """Yield what reading a file takes."""
    name = "topo --snapshot"
    runs = in_turn({name: ([KOORD, "topo", "--snapshot", str(path)], times)}, env)
    yield figure(f"{name} ({path.stat().st_size / 1e6:.0f} MB): time", seconds(runs, name), "s")
    yield figure(f"{name}: peak memory", max(one.mib for one in runs[name]), "MiB")


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
        "Ratios travel to other machines, seconds do not. Clusters are made by `benchmarks/generate.py`, with few",
        "shapes of pods; where it says diverse by `benchmarks/diverse`, where labels, owners and jobs differ.",
        "",
        ", ".join(
            (
                models[0] if models else platform.machine(),
                f"{os.cpu_count()} cores",
                f"Python {platform.python_version()}",
                f"kubectl {version.split()[2]}.",
            )
        ),
    ]


def _lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def _written(lines: Iterable[str]) -> dict[str, list[str]]:
    """Return the sections of earlier results by their titles."""
    found: dict[str, list[str]] = {}
    title = ""
    for line in lines:
        if line.startswith("## "):
            title = line.removeprefix("## ")
            found[title] = []
        elif title:
            found[title].append(line)
    return {title: rows[: len(rows) - (not rows[-1])] for title, rows in found.items() if rows}


def main() -> int:
    """Print the tables; exit 1 where a limit is passed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="1,000 nodes and 10,000 pods only, few runs")
    parser.add_argument("--diverse", action="store_true", help="the start and the diverse clusters only")
    parser.add_argument("--sizes", action="store_true", help="ways out by the size of the cluster only")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="how often what is diverse runs (default: 9)")
    parser.add_argument("--write", action="store_true", help=f"write what was measured into {RESULTS.name} too")
    options = parser.parse_args()
    kubectl = find_kubectl()
    if not kubectl:
        raise SystemExit("error: no kubectl on PATH to compare with")
    lines = heading(kubectl)
    print("\n".join(lines), flush=True)
    found: dict[str, list[str]] = {}
    passed = True
    with folder() as home:
        measured = sections(kubectl, home, quick=options.quick)
        if options.diverse:
            measured = chain((_start(kubectl, home, 15),), diverse_sections(kubectl, home, options.pairs))
        if options.sizes:
            measured = iter((by_size(home, SIZES),))
        for title, figures in measured:
            found[title] = ["", f"{datetime.now(UTC).date()}.", "", *table(figures)]
            show_progress("")
            print("\n".join(("", f"## {title}", *found[title])), flush=True)
            passed &= all(one.passed for one in figures)
    if options.write:
        for title, rows in (_written(_lines(RESULTS)) | found).items():
            lines += ["", f"## {title}", *rows]
        RESULTS.write_text("\n".join(lines) + "\n")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
