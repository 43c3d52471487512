"""Fragmented clusters by number, and a plain search for the cheapest moves in them that knows nothing of the engine."""

import random
from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

from msgspec import structs

from kubectl_koord.remedies.plan import Weights
from tests.build import SPINE, SPINE_KEY, Drawing, cluster, cpus, node

GPUS = 8
AGES = {1: "2026-11-20T09:00:00Z", 3: "2026-11-20T07:00:00Z", 10: "2026-11-20T00:00:00Z"}


class Piece(NamedTuple):
    """What runs: its pods' nodes, the GPUs of each, its age in hours; a name of a gang for more than one pod."""

    name: str
    nodes: tuple[int, ...]
    size: int
    age: int
    is_lower: bool = False
    stays: bool = False


class Fragmented(NamedTuple):
    """Nodes by spine, what runs on them, which are cordoned; a gang of `pods` times `size` GPUs in one spine waits."""

    spines: tuple[int, ...]
    pieces: tuple[Piece, ...]
    cordoned: frozenset[int]
    pods: int
    size: int

    def free(self) -> list[int]:
        left = [GPUS] * len(self.spines)
        for piece in self.pieces:
            for at in piece.nodes:
                left[at] -= piece.size
        return left

    def fits(self, free: Sequence[int], closed: frozenset[int], gangs: int = 1) -> bool:
        open_to = [at for at in range(len(free)) if at not in closed]
        per_spine = {
            spine: sum(free[at] // self.size for at in open_to if self.spines[at] == spine) for spine in self.spines
        }
        return sum(slots // self.pods for slots in per_spine.values()) >= gangs


def fragmented(number: int, most_nodes: int = 24) -> Fragmented:
    """Return a cluster in which the gang does not fit, though as many GPUs are free as it wants, or almost."""
    dice = random.Random(number)  # noqa: S311
    while True:
        spines = tuple(sorted(dice.randrange(dice.choice((1, 2, 3))) for _ in range(dice.randint(8, most_nodes))))
        free, pieces = [GPUS] * len(spines), []
        for at in range(len(spines)):
            for serial in range(dice.randint(1, 4)):
                size = dice.choice((1, 2, 4, 4, 7))
                if size > free[at] or (size == free[at] and dice.random() < 0.3):
                    continue
                others = [to for to in range(len(spines)) if to != at and free[to] >= size]
                is_gang = bool(others) and size > 1 and dice.random() < 0.15
                nodes = (at, dice.choice(others)) if is_gang else (at,)
                for one in nodes:
                    free[one] -= size
                kind = "gang" if is_gang else "pod"
                pieces.append(
                    Piece(
                        f"{kind}-{at}-{serial}",
                        nodes,
                        size,
                        dice.choice((*AGES,)),
                        dice.random() < 0.15,
                        dice.random() < 0.15,
                    )
                )
        cordoned = frozenset(at for at in range(len(spines)) if dice.random() < 0.06)
        found = Fragmented(spines, tuple(pieces), cordoned, dice.randint(1, 3), dice.choice((4, 8, 8)))
        if not found.fits(found.free(), cordoned):
            return found


def drawn(one: Fragmented) -> Drawing:
    """Return the same cluster for the engine; the gang is `job`."""
    nodes = [
        structs.replace(
            node(_name(at)),
            allocatable=(*cpus(64, nvidia_gpu=GPUS), ("pods", 110)),
            labels=((SPINE_KEY, f"spine-{spine}"), ("network/block", f"block-{spine}")),
        )
        for at, spine in enumerate(one.spines)
    ]
    found = cluster().with_nodes(*nodes)
    found = found.cordon(*map(_name, one.cordoned)) if one.cordoned else found
    for piece in one.pieces:
        gang = piece.name if len(piece.nodes) > 1 else ""
        found = found.with_group(gang, len(piece.nodes)) if gang else found
        for number, at in enumerate(piece.nodes):
            found = found.with_running(
                f"{piece.name}-{number}",
                _name(at),
                requests=cpus(0, nvidia_gpu=piece.size),
                scheduled=AGES[piece.age],
                owner="" if piece.stays else f"ReplicaSet/{piece.name}",
                priority=0 if piece.is_lower else 10,
                gang=f"default/{gang}" if gang else "",
            )
    return found.with_gang("job", one.pods, requests=cpus(0, nvidia_gpu=one.size), must_gather=SPINE, priority=10)


def _name(at: int) -> str:
    return f"n{at:02}"


def optimum(one: Fragmented, most: int, weights: Weights = Weights(), room_for: int = 0) -> float | None:  # noqa: B008 - a frozen value
    """Return what the cheapest set of at most so many steps costs after which the gang fits, None for none.

    With `room_for` so many gangs are to fit, and pods are moved alone.
    """
    shut = () if room_for else one.cordoned
    steps: list[tuple[float, Piece | int, bool]] = [(weights.cordons, at, False) for at in shut]
    for piece in one.pieces:
        if not piece.stays:
            steps.append((_cost(piece, weights, waits=False), piece, False))
        if not piece.stays and piece.is_lower and not room_for:
            steps.append((_cost(piece, weights, waits=True), piece, True))
    sets = (some for number in range(most + 1) for some in combinations(steps, number))
    sets = (some for some in sets if len({step for _, step, _ in some}) == len(some))
    small = [some for some in sets if sum(len(s.nodes) if isinstance(s, Piece) else 1 for _, s, _ in some) <= most]
    for some in sorted(small, key=lambda some: sum(cost for cost, *_ in some)):
        if _helps(one, some, room_for or 1):
            return sum(cost for cost, *_ in some)
    return None


def _helps(one: Fragmented, some: Sequence[tuple[float, Piece | int, bool]], gangs: int) -> bool:
    closed = one.cordoned - {step for _, step, _ in some if isinstance(step, int)}
    pieces = [(step, waits) for _, step, waits in some if isinstance(step, Piece)]
    gone, free = one.free(), one.free()
    for piece, waits in pieces:
        for at in piece.nodes:
            gone[at] += piece.size
            free[at] += piece.size if waits else 0
    moving = [piece for piece, waits in pieces if not waits]
    return one.fits(gone, closed, gangs) and _reaches(one, free, moving, one.cordoned, closed, gangs)


def _cost(piece: Piece, weights: Weights, *, waits: bool) -> float:
    number = len(piece.nodes)
    found = weights.hours * piece.age * piece.size * number + weights.pods * number
    return found + (weights.gangs if number > 1 else 0) + (weights.waits * number if waits else 0)


def _reaches(
    one: Fragmented, free: list[int], moving: Sequence[Piece], shut: frozenset[int], closed: frozenset[int], gangs: int
) -> bool:
    """Tell whether all of these find a place in some order, and the gang after them; what is alike is asked once."""
    failed: set[object] = set()

    def reached(free: Sequence[int], left: Sequence[Piece]) -> bool:
        if not left:
            return one.fits(free, closed, gangs)
        nodes = range(len(free))
        alike = sorted((one.spines[at], free[at], at in shut, at in closed, _standing(left, at)) for at in nodes)
        key = (tuple(alike), tuple(piece.name for piece in left))
        if key in failed:
            return False
        for piece in left:
            rest = tuple(other for other in left if other != piece)
            for to in product([at for at in nodes if at not in shut], repeat=len(piece.nodes)):
                there = list(free)
                for at in piece.nodes:
                    there[at] += piece.size
                for at in to:
                    there[at] -= piece.size
                if min(there) >= 0 and to != piece.nodes and reached(there, rest):
                    return True
        failed.add(key)
        return False

    return reached(free, tuple(moving))


def _standing(pieces: Sequence[Piece], at: int) -> tuple[str, ...]:
    return tuple(piece.name for piece in pieces if at in piece.nodes)
