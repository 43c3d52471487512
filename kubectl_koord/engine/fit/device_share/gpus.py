"""Which GPUs a pod gets: a partition, the smallest scope of the topology that has enough, or any.

Mirrors deviceshare/allocator_gpu.go and allocator_gpu_helper.go.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby

from msgspec import Struct

from kubectl_koord.engine.fit.device_share.amounts import fits, is_zero
from kubectl_koord.engine.fit.device_share.books import total
from kubectl_koord.engine.fit.device_share.cards import Cards
from kubectl_koord.engine.fit.device_share.request import GPURequest
from kubectl_koord.engine.reasons.devices import (
    ByBooks,
    DevicesShort,
    NoPartition,
    ScopeUnsupported,
)
from kubectl_koord.model.hardware.devices import GPU, Device, DeviceLayout, Partition, PartitionTable
from kubectl_koord.model.hardware.scoring import Scoring
from kubectl_koord.model.objects import Node
from kubectl_koord.model.values.memo import memoised

VENDOR = "node.koordinator.sh/gpu-vendor"
MODEL = "node.koordinator.sh/gpu-model"
_POLICY = "node.koordinator.sh/gpu-partition-policy"
_LINKED_IN_PAIRS = frozenset({"H100", "H800", "H20"})
_PAIRED: PartitionTable = tuple(
    (size, tuple(Partition(tuple(range(first, first + size)), score=1) for first in range(0, 8, size)))
    for size in (1, 2, 4, 8)
)
_WEIGHTS = ((8, 10000), (4, 100), (2, 1))


def by_partition(asked: GPURequest, cards: Cards, node: Node, layout: DeviceLayout) -> tuple[int, ...] | ByBooks:
    """Return the cards of a free partition, none where none is needed and none is free; or why none is given."""
    if asked.shared:
        return ()
    table, honoured = layout.partitions, layout.honours_partitions
    if table is None:
        table, honoured = _table_of(node)
    found = _partition(asked, cards, table)
    if isinstance(found, NoPartition) and not (honoured or asked.partition is not None):
        return ()
    return found


def labels_of_table(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels that decide about partitions where the Device object has none: vendor, model, policy."""
    return labels.get(VENDOR, ""), labels.get(MODEL, ""), labels.get(_POLICY, "")


def _table_of(node: Node) -> tuple[PartitionTable | None, bool]:
    """Return the table that the scheduler knows by the node's labels (`GetDesignatedGPUPartitionIndexer`)."""
    vendor, model, policy = labels_of_table(dict(node.labels))
    known = vendor in {"", "nvidia"} and model in _LINKED_IN_PAIRS
    return _PAIRED if known else None, policy == "Honor"


def _partition(asked: GPURequest, cards: Cards, table: PartitionTable | None) -> tuple[int, ...] | NoPartition:
    if table is None:
        return NoPartition(asked.number, None, unresolvable=True)
    by_size = dict(table)
    if asked.number not in by_size:
        return NoPartition(asked.number, tuple(sorted(by_size)), unresolvable=True)
    usable = _usable(asked, cards, by_size[asked.number])
    if not usable:
        return NoPartition(asked.number, tuple(sorted(by_size)))
    return max(usable, key=lambda one: _left_for_others(one, cards, asked.number, by_size)).minors


def _usable(asked: GPURequest, cards: Cards, partitions: Iterable[Partition]) -> list[Partition]:
    """Return the free partitions of the lowest score that has any, or of the lowest at all."""
    for same in _by_score(partitions):
        usable = [one for one in same if _is_usable(one, asked, cards)]
        if usable or (asked.partition is not None and asked.partition.restricted):
            return usable
    return []


def _by_score(partitions: Iterable[Partition]) -> list[list[Partition]]:
    ordered = sorted(partitions, key=lambda one: one.score)
    return [list(same) for _, same in groupby(ordered, key=lambda one: one.score)]


def _is_usable(partition: Partition, asked: GPURequest, cards: Cards) -> bool:
    wanted = asked.partition.bandwidth if asked.partition is not None else None
    fast = wanted is None or (partition.bandwidth is not None and wanted <= partition.bandwidth)
    return fast and cards.taken.isdisjoint(partition.minors) and cards.healthy(partition.minors)


def _left_for_others(chosen: Partition, cards: Cards, number: int, by_size: Mapping[int, tuple[Partition, ...]]) -> int:
    """Return what partitions stay free beside the chosen one, large ones first (`selectPartitionByBinPack`)."""
    used = cards.taken | set(chosen.minors)
    return sum(
        weight * one.score
        for size, weight in _WEIGHTS
        if size >= number and by_size.get(size)
        for one in _by_score(by_size[size])[0]
        if used.isdisjoint(one.minors)
    )


class _Scope(Struct, frozen=True):
    """A node, a NUMA node or a PCIe switch, with the minors of its cards."""

    level: int
    minors: tuple[int, ...]
    parts: tuple["_Scope", ...] = ()


class _Choice(Struct, frozen=True):
    """Cards of one scope: how deep it is, in how many scopes around them others are in use, how well they suit."""

    minors: tuple[int, ...]
    depth: int
    in_use: int
    score: int

    def beats(self, other: "_Choice", *, shared: bool) -> bool:
        """Tell whether it is chosen though the other one came first."""
        return (self.depth, self.in_use, self.score if shared else 0) > (
            other.depth,
            other.in_use,
            other.score if shared else 0,
        )


def by_topology(
    asked: GPURequest, cards: Cards, layout: DeviceLayout, scoring: Scoring | None
) -> tuple[int, ...] | ByBooks:
    """Return the cards of the scope that suits best; none where scopes do not matter; or why there are too few."""
    root = _tree(layout)
    if root is None or (asked.shared and asked.number > 1):
        return ScopeUnsupported(asked.scope, shared=root is not None) if asked.scope else ()
    request = dict(asked.each)
    fitting = [
        minor for minor, free in cards.free.items() if fits(request, free) and not is_zero(total(cards.devices[minor]))
    ]
    scores = {minor: cards.score_in_scope(request, minor, scoring) if asked.shared else 0 for minor in fitting}
    found = _choose(asked, root, cards, scores, 0, 0)
    return found.minors if found is not None else DevicesShort(GPU, asked.number, len(fitting), asked.scope)


def _choose(
    asked: GPURequest, scope: _Scope, cards: Cards, scores: Mapping[int, int], depth: int, in_use: int
) -> _Choice | None:
    """Return the best choice within a scope: of the deepest, most used part of it that has enough."""
    if len(scope.minors) < asked.number:
        return None
    depth, in_use = depth + 1, in_use + (not cards.taken.isdisjoint(scope.minors))
    best: _Choice | None = None
    for part in scope.parts:
        choice = _choose(asked, part, cards, scores, depth, in_use)
        if choice is not None and (best is None or choice.beats(best, shared=asked.shared)):
            best = choice
    if best is not None or asked.level > scope.level:
        return best
    fitting = [minor for minor in scope.minors if minor in scores]
    if asked.shared and fitting:
        fitting = [max(fitting, key=lambda minor: scores[minor])]
    if len(fitting) < asked.number:
        return None
    chosen = tuple(fitting[: asked.number])
    return _Choice(chosen, depth, in_use, scores[chosen[0]])


@memoised
def _tree(layout: DeviceLayout) -> _Scope | None:
    """Return the scopes of a node's cards; None where there are none, or one tells no place (`GetGPUTopologyScope`)."""
    placed = layout.of_type(GPU)
    if not placed or any(device.place is None for device in placed):
        return None

    def scope(level: int, devices: list[Device]) -> _Scope:
        parts = [scope(level + 1, part) for part in _parted(devices, _PARTED_BY[level])] if level in _PARTED_BY else []
        return _Scope(level, tuple(sorted({device.minor for device in devices})), tuple(parts))

    return scope(1, list(placed))


_PARTED_BY: Mapping[int, Callable[[Device], int | str]] = {
    1: lambda device: device.place.numa if device.place else 0,
    2: lambda device: device.place.pcie if device.place else "",
}


def _parted(devices: list[Device], key: Callable[[Device], int | str]) -> list[list[Device]]:
    return [list(part) for _, part in groupby(sorted(devices, key=key), key=key)]
