"""A guard on speed for every run of the tests: coarse, in ratios, with half as much again as the limit."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from benchmarks.figures import OURS, READ_LIMIT, START_LIMIT, TABLE
from benchmarks.measure import BIN, environment, in_turn, measure, measure_start, ratio, seconds, serving, spend
from benchmarks.run import LARGE, SMALL
from kubectl_koord.cluster.api.connect import find_kubectl
from tests.apiserver import ApiServer, Rule
from tests.cli.world import world

TOLERANCE = 1.5
CLIENTS = {"kubernetes", "urllib3", "requests", "http.client", "ssl", "asyncio"}
HEAVY = {"rich", "pydantic", "numpy", "kubectl_koord.cluster.api.direct", "kubectl_koord.cluster.apply"}
IMPORTED = """
import json, sys
from kubectl_koord.cli.main import run
code = run(sys.argv[1:])
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""


@pytest.fixture
def kubectl() -> str:
    found = find_kubectl()
    if not found:
        pytest.skip("no kubectl here")
    return found


def best(measured: Callable[[], float], limit: float) -> float:
    """Return the ratio; a machine that was busy for a moment gets a second try."""
    return min(measured() for _ in range(2)) if (first := measured()) > limit else first


@pytest.mark.parametrize("word", ["version", "--help"])
def test_a_command_starts_in_at_most_twice_the_time_of_kubectl(kubectl: str, tmp_path: Path, word: str) -> None:
    def started() -> float:
        return ratio(measure_start(kubectl, environment(tmp_path), 7, (word,)), word, "kubectl version --client")

    assert best(started, START_LIMIT * TOLERANCE) <= START_LIMIT * TOLERANCE


@pytest.mark.soak
def test_a_thousand_nodes_are_read_in_an_eighth_of_the_time_of_kubectl(kubectl: str, tmp_path: Path) -> None:
    with serving(SMALL, tmp_path, "--tables") as kubeconfig:
        env = environment(tmp_path, kubeconfig)

        def read() -> float:
            return ratio(measure({"topo": 1}, {TABLE: 1}, kubectl, env), "topo", TABLE)

        assert best(read, READ_LIMIT * TOLERANCE) <= READ_LIMIT * TOLERANCE


@pytest.mark.parametrize(
    "words",
    [
        ["version"],
        ["topo", "--demo"],
        ["topo", "--demo", "-o", "json"],
        ["why-pending", "--demo"],
        ["why-pending", "train/one-short", "--demo", "-o", "json"],
        ["preempt", "train/helped", "--dry-run", "--demo"],
    ],
    ids=" ".join,
)
def test_a_command_imports_only_what_it_uses(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED, *words], capture_output=True, text=True, check=True)
    code, modules = json.loads(done.stderr)
    assert code in {0, 1}
    assert set(modules) & (CLIENTS | HEAVY) == set()


@pytest.mark.soak
def test_names_are_completed_in_six_times_the_time_of_kubectl_and_a_silent_server_is_waited_for_two_seconds(
    kubectl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What whoever presses TAB waits for: kubectl, which starts our program, which asks the server."""
    monkeypatch.setenv("PATH", os.pathsep.join([str(BIN), os.environ["PATH"]]))
    theirs, ours = "kubectl version --client", "kubectl __complete koord why-pending"
    commands = {theirs: ([kubectl, *theirs.split()[1:]], 15), ours: ([kubectl, *ours.split()[1:], ""], 15)}
    with ApiServer(world()) as api:
        env = environment(tmp_path, str(api.kubeconfig(tmp_path)))
        spend(commands[ours][0], env)
        slower = best(lambda: ratio(in_turn(commands, env), ours, theirs), 6)
        told = len(api.requests("/apis/scheduling.sigs.k8s.io/v1alpha1/namespaces/default/podgroups"))
        api.rules[:] = [Rule(".*", hang=threading.Event())]
        silent = in_turn({ours: (commands[ours][0], 5)}, env)
    sys.stdout.write(f"{slower:.2f} times; {seconds(silent, ours):.2f} s; {told} lists\n")
    assert told
    assert slower <= 6
    assert seconds(silent, ours) <= 2


@pytest.mark.soak
def test_fifty_thousand_pods_take_little_memory_and_five_times_as_long_as_ten_thousand(
    kubectl: str, tmp_path: Path
) -> None:
    runs = []
    for size in (SMALL, LARGE):
        folder = tmp_path / str(size.pods)
        folder.mkdir()
        with serving(size, folder, "--file") as kubeconfig:
            env = environment(folder, kubeconfig)
            file = f"topo --snapshot {folder / 'cluster.json'}"
            # Linux counts what the starting process has as memory of the one that it starts: here a worker of pytest.
            with ProcessPoolExecutor(1, get_context("spawn")) as fresh:
                found = fresh.submit(measure, dict.fromkeys((*OURS, file), 3), {}, kubectl, env).result()
            runs.append({name.partition(str(folder))[0]: spent for name, spent in found.items()})
    small, large = runs
    for name in large:
        assert seconds(large, name) <= 5.5 * TOLERANCE * seconds(small, name)
        assert max(one.mib for one in large[name]) <= 100 * TOLERANCE
