"""What was measured as rows of tables, with limits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from benchmarks.generate import BIG_GANG
from benchmarks.measure import Runs, discarding, ratio, seconds

START_LIMIT = 1.4
READ_LIMIT = 1 / 8  # of the table of all pods, at the smallest size
PREEMPT = f"preempt {BIG_GANG} -n train --dry-run"
OURS = ("topo", "why-pending -A", PREEMPT)
BOTH = ("topo", "why-pending -A")
GANG = f"why-pending {BIG_GANG} -n train"
SHAPE = "topo --shape 8gpu"
FIT = "fit --pods 4 --request nvidia.com/gpu=8 --must-gather SpineLayer"
COUNT = "fit --pods 4 --request nvidia.com/gpu=1 --count"
NODE = "node node-00007"
QUESTIONS = (GANG, PREEMPT, SHAPE, FIT, COUNT, NODE)
"""Each is to be answered within a second once all is read."""
TABLE, JSON = "kubectl get pods -A", "kubectl get pods -A -o json"


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


LARGE_LIMITS = (
    {(name, TABLE): Limit(1 / 14, 1 / 25) for name in BOTH}
    | {(name, JSON): Limit(1 / 40, 1 / 75) for name in BOTH}
    | {(name, "MiB"): Limit(100, 50) for name in BOTH}
)
HUGE_LIMITS = {(name, "s"): Limit(8, 5.5) for name in BOTH} | {(name, "MiB"): Limit(250, 140) for name in BOTH}
DIVERSE_LARGE_LIMITS = {
    ("topo", TABLE): Limit(1 / 18, 1 / 30),
    ("why-pending -A", TABLE): Limit(1 / 12, 1 / 22),
    ("topo", "MiB"): Limit(70, 50),
    ("why-pending -A", "MiB"): Limit(110, 80),
}
DIVERSE_HUGE_LIMITS = {
    ("topo", "x"): Limit(3, 2),
    ("why-pending -A", "x"): Limit(5, 3.5),
    ("topo", "MiB"): Limit(180, 130),
    ("why-pending -A", "MiB"): Limit(320, 220),
}
SMALL_LIMITS = {("topo", TABLE): Limit(READ_LIMIT, 1 / 17)}


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
        discarded = discarding(name)
        if discarded in runs:
            rounds = min(len(runs[name]), len(runs[discarded]))
            label = f"{name} / receiving and discarding ({rounds} pairs)"
            yield figure(label, ratio(runs, name, discarded), "x", limits.get((name, "x")))
    for other in runs:
        if other not in OURS:
            yield figure(f"`{other}`: time", seconds(runs, other), "s")
            yield figure(f"`{other}`: peak memory", max(one.mib for one in runs[other]), "MiB")


def growth(smaller: Runs, larger: Runs, limit: Limit | None, sizes: str) -> Iterator[Figure]:
    """Yield how much longer each command takes at the larger size."""
    for name in OURS:
        if name in smaller and name in larger:
            value = seconds(larger, name) / seconds(smaller, name)
            yield figure(f"{name}: {sizes}", value, "x", limit if name in BOTH else None)


def start_figures(runs: Runs) -> list[Figure]:
    """Return how long commands take that read nothing, beside kubectl's own."""
    theirs = "kubectl version --client"
    limit = Limit(START_LIMIT, 1.25)
    ours = [name for name in runs if name != theirs]
    return [
        figure(f"{name} / `{theirs}` ({len(runs[name])} pairs)", ratio(runs, name, theirs), "ratio", limit)
        for name in ours
    ]


def table(figures: Sequence[Figure]) -> list[str]:
    """Return the rows of a Markdown table."""
    rows = [("", "measured", "must / aim", ""), ("---", "---:", "---:", "---")]
    rows += [(one.name, one.shown, one.limit_shown, "" if one.passed else "**missed**") for one in figures]
    return [f"| {' | '.join(row)} |" for row in rows]
