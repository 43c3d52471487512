"""The full screen over a cluster that changes: how late it shows that, and what it takes.

    python -m benchmarks.live NODES PODS [--changes NUMBER] [--heartbeats] [--seconds SECONDS] [--page WORDS]
        [--at KUBECONFIG]

draws the screen in memory, of 160 by 48 cells, and prints a line each ten seconds: how late pods that are new were on
the screen, and how much processor time was spent meanwhile, which is how late they are on a core of its own; the share
of a core that was spent, and the memory in use. Of other processes, such as the server, nothing counts.
"""

import argparse
import asyncio
import math
import os
import re
import resource
import statistics
import sys
import tempfile
import time
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

from benchmarks.generate import Size
from benchmarks.measure import serving
from kubectl_koord.cli.command_line import take_globals
from kubectl_koord.cli.follow import feed
from kubectl_koord.cli.session import Session
from kubectl_koord.cli.verbs import live as verb
from kubectl_koord.cluster.api.connect import connect
from kubectl_koord.cluster.api.connection import take_connection
from kubectl_koord.live.app import MAP, NEWS, WAITING, Live, Pane
from kubectl_koord.live.cells import Look, said
from kubectl_koord.live.state import Holder

_SIZE = (160, 48)
_LOOKS, _INTERVAL = 0.1, 10.0
_PROBE = re.compile(r"probe-(\d+)")
_MOST_LINES = 100


class Measured:
    """What was seen of a screen."""

    def __init__(self, app: Live) -> None:
        self._app = app
        self._seen: set[str] = set()
        self._spent: list[tuple[float, float]] = []
        self.late: list[float] = []
        self.cost: list[float] = []

    def look(self) -> None:
        """Note which new pods are on the screen that were not."""
        now, spent = time.time(), time.process_time()
        self._spent.append((now, spent))
        for line in self._app.query_one("#news", Pane).lines[:_MOST_LINES]:
            for when in _PROBE.findall(said(line)):
                if when not in self._seen:
                    self._seen.add(when)
                    sent = int(when) / 1000
                    before = bisect_right(self._spent, (sent, math.inf)) - 1
                    if before >= 0:
                        self.late.append(now - sent)
                        self.cost.append(spent - self._spent[before][1])

    def told(self, since: int = 0) -> str:
        """Return how late changes were, and how long the newest answers took."""
        late, cost = self.late[since:], self.cost[since:]
        keys = (WAITING, NEWS, MAP, self._app.view.title)
        answers = {key: self._app.holder.answer(key) for key in keys}
        took = " ".join(f"{key}={one.seconds:.2f}s#{one.number}" for key, one in answers.items() if one is not None)
        held = f"reading {self._app.holder.number}  {took}"
        if len(late) <= 1:
            return held
        return f"{len(late)} new, late {_spread(late)}, in processor time {_spread(cost)}  {held}"


async def run(app: Live, seconds: float, keys: Sequence[str]) -> None:
    """Look at a screen for so many seconds after the first reading."""
    async with app.run_test(size=_SIZE) as pilot:
        measured = Measured(app)
        began = time.monotonic()
        while app.holder.answer(NEWS) is None and app.holder.failure is None:  # noqa: ASYNC110 - as it is looked at
            await asyncio.sleep(_LOOKS)
        print(f"first reading and news after {time.monotonic() - began:.1f} s", flush=True)
        await pilot.press(*keys)
        end = time.monotonic() + seconds
        since, spent, at = time.monotonic(), time.process_time(), 0
        while time.monotonic() < end and app.holder.failure is None:
            await asyncio.sleep(_LOOKS)
            measured.look()
            if time.monotonic() - since >= _INTERVAL:
                share = (time.process_time() - spent) / (time.monotonic() - since)
                print(f"{share:.2f} of a core  {_mib():.0f} MiB  {measured.told(at)}", flush=True)
                since, spent, at = time.monotonic(), time.process_time(), len(measured.late)
        print(f"all: {measured.told()}; at most {_most():.0f} MiB", flush=True)
        if app.holder.failure is not None:
            raise app.holder.failure


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} s, p95 {statistics.quantiles(seconds, n=20)[-1]:.2f} s"


def _mib() -> float:
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _most() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("nodes", type=int)
    parser.add_argument("pods", type=int)
    parser.add_argument("--changes", type=int, default=0)
    parser.add_argument("--heartbeats", action="store_true")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--page", default="", help="a command to go to, as behind ':'")
    parser.add_argument("--at", default="", help="the kubeconfig of a server that runs already")
    options = parser.parse_args()
    size = Size(options.nodes, options.pods)
    more = (f"--changes={options.changes}", *(["--heartbeats"] if options.heartbeats else []))
    keys = ["colon", *(_KEYS.get(sign, sign) for sign in options.page), "enter"] if options.page else []
    with tempfile.TemporaryDirectory(prefix="kubectl-koord-live-") as folder:
        place = Path(folder)
        with nullcontext(options.at) if options.at else serving(size, place, "--diverse", *more) as kubeconfig:
            os.environ["KUBECONFIG"] = kubeconfig
            connection, words = take_connection(["live", "-A"])
            session = Session(take_globals(words)[0], connection, connect(connection, writes=False))
            given, overview = feed(session), verb.overview(session, "", every=True)
            app = Live(lambda told: Holder(given, told), overview, Look(_SIZE[0], aim=session.aim()))
            asyncio.run(run(app, options.seconds, keys))
    sys.stdout.flush()
    os._exit(0)


_KEYS = {" ": "space", "-": "minus", "/": "slash"}

if __name__ == "__main__":
    main()
