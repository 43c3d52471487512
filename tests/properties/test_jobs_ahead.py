"""Wherever jobs of higher priority go, who is told to be placed behind them is."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import pytest

from tests.build import cluster, why_of

Waiting = tuple[int, str]
"""How many CPUs a pod asks for, and which node it must go to, empty for any."""

_WAITING = tuple(product((4, 8), ("", "n1", "n2")))


def left_in_each_world(free: Mapping[str, int], ahead: tuple[Waiting, ...]) -> Iterator[Mapping[str, int]]:
    """Yield what nodes have left for each way in which these pods may be placed, one after the other."""
    if not ahead:
        yield free
        return
    takes = [node for node in free if places_for(ahead[0], {node: free[node]})]
    for node in takes:
        yield from left_in_each_world({**free, node: free[node] - ahead[0][0]}, ahead[1:])
    if not takes:
        yield from left_in_each_world(free, ahead[1:])


@pytest.mark.parametrize(
    ("sizes", "number"),
    [
        ({"n1": 8, "n2": 8}, 1),
        ({"n1": 8, "n2": 4}, 2),
        pytest.param({"n1": 8, "n2": 8}, 2, marks=pytest.mark.soak),
        pytest.param({"n1": 8, "n2": 4}, 1, marks=pytest.mark.soak),
    ],
)
def test_a_yes_behind_others_holds_wherever_they_go(sizes: Mapping[str, int], number: int) -> None:
    told: Counter[str] = Counter()
    for ahead in product(_WAITING, repeat=2):
        for asked in _WAITING:
            verdict = verdict_on(sizes, ahead, asked, number)
            left = [places_for(asked, free) for free in left_in_each_world(sizes, ahead)]
            assert verdict != "yes" or min(left) >= number, (ahead, asked)
            assert verdict != "no" or max(left) < number, (ahead, asked)
            told[verdict] += 1
    assert told.keys() == {"yes", "no", "unknown"}


def verdict_on(sizes: Mapping[str, int], ahead: Iterable[Waiting], asked: Waiting, number: int) -> str:
    """Return what is told of so many pods, behind others of higher priority."""
    drawing = cluster(f"s0: b0[{' '.join(f'{name}:{cpu}' for name, cpu in sizes.items())}]")
    for name in sizes:
        drawing = drawing.label(name, pick=name)
    for place, (cpu, only) in enumerate(ahead):
        drawing = drawing.with_pod(f"p{place}", cpu=cpu, priority=9 - place, node_selector=_picking(only))
    return why_of(drawing.with_gang("job", number, asked[0], priority=1, node_selector=_picking(asked[1]))).verdict


def places_for(pod: Waiting, free: Mapping[str, int]) -> int:
    cpu, only = pod
    return sum(left // cpu for node, left in free.items() if only in {"", node})


def _picking(node: str) -> tuple[tuple[str, str], ...]:
    return (("pick", node),) if node else ()
