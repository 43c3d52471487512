"""What `serve` takes over a cluster that changes, and how soon it answers.

    python -m benchmarks.scrapes NODES PODS [--changes NUMBER] [--heartbeats] [--seconds SECONDS] [--preemption N]

runs it as a process of its own and asks for `/metrics` each second, then for the page and the documents. It prints how
long the first answer took, how long scrapes took, and what the metrics themselves tell.
"""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from benchmarks.generate import Size
from benchmarks.measure import KOORD, environment, serving

_LIMIT = 600.0
_TOLD = (
    "koord_up",
    "koord_state_age_seconds",
    "koord_reading_seconds",
    "koord_readings_total",
    "koord_computing_seconds",
    "koord_preemption_examined_gangs",
    "koord_names_joined",
    "process_resident_memory_bytes",
    "process_cpu_seconds_total",
)
_PATHS = ("", "api/v1/why-pending", "api/v1/topo", "api/v1/quota", "api/v1/gangs")


def asked(url: str) -> tuple[float, bytes]:
    """Return how many seconds an answer took, and what it was."""
    begun = time.perf_counter()
    with urllib.request.urlopen(url, timeout=_LIMIT) as reply:  # noqa: S310 - ours
        body = bytes(reply.read())
    return time.perf_counter() - begun, body


def values(body: bytes) -> dict[str, float]:
    """Return what metrics tell, by name and labels."""
    return {
        f"{sample.name}{''.join(sample.labels.values()) and str(sample.labels)}": sample.value
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
    }


def measured(url: str, seconds: float) -> None:
    """Ask for a while, and print what came of it."""
    begun = time.monotonic()
    before: list[float] = []
    while not values((first := asked(f"{url}metrics"))[1])["koord_up"]:
        before.append(first[0])
        time.sleep(0.5)
    print(
        f"first answer after {time.monotonic() - begun:.1f} s, scrapes before: {max(before, default=0):.3f} s at most"
    )
    took: list[float] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        took.append(asked(f"{url}metrics")[0])
        time.sleep(1.0)
    most = statistics.quantiles(took, n=20)[-1]
    print(f"{len(took)} scrapes: median {statistics.median(took):.3f} s, p95 {most:.3f} s, longest {max(took):.3f} s")
    for path in _PATHS:
        for _ in range(2):
            spent, body = asked(f"{url}{path}")
            print(f"/{path}: {spent:.2f} s, {len(body) / 1e6:.1f} MB")
    told = values(asked(f"{url}metrics")[1])
    print(f"{len(told)} series")
    for name, value in told.items():
        if name.startswith(_TOLD):
            print(f"  {name} {value:,.2f}")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("nodes", type=int)
    parser.add_argument("pods", type=int)
    parser.add_argument("--changes", type=int, default=0)
    parser.add_argument("--heartbeats", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--preemption", type=int, default=10)
    options = parser.parse_args()
    more = (f"--changes={options.changes}", *(["--heartbeats"] if options.heartbeats else []))
    with tempfile.TemporaryDirectory(prefix="kubectl-koord-scrapes-") as folder:
        place = Path(folder)
        with serving(Size(options.nodes, options.pods), place, "--diverse", *more) as kubeconfig:
            words = [KOORD, "serve", "-A", "--port", "0", "--preemption", str(options.preemption)]
            env = environment(place, kubeconfig) | {"PATH": os.environ["PATH"]}
            with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as child:
                try:
                    line = child.stdout.readline() if child.stdout else ""
                    measured(line.removeprefix("Serving on ").strip(), options.seconds)
                finally:
                    child.terminate()


if __name__ == "__main__":
    main()
