"""Which running pods of which nodes to free for so many slots: as few as may be, and those that cost least."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product

from msgspec import Struct

from kubectl_koord.diagnosis import disruption
from kubectl_koord.diagnosis.evidence import scarce
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.remedies.costs import NOTHING, Cost, PodCosts, plus
from kubectl_koord.remedies.slot_count import SlotCount

_MOST_SUBSETS = 8
_MOST_CELLS = 8_000


class FreedPods(Struct, frozen=True):
    """Pods of one node whose end brings slots."""

    gain: int
    pods: tuple[RunningPod, ...]
    cost: Cost


class CountLimit:
    """How much may still be counted, in all places together."""

    def __init__(self, number: int) -> None:
        """Allow so many."""
        self.number = number


def options_by_node(
    slot_count: SlotCount,
    gains: Iterable[tuple[str, int]],
    pods_on: Callable[[str], Sequence[RunningPod]],
    costs: PodCosts,
    limit: CountLimit,
) -> dict[str, list[FreedPods]]:
    """Return for each node what its pods bring, the cheapest of them for each number of slots, up to all it gains."""
    now = slot_count.slots(slot_count.view)
    found = {}
    for name, most in gains:
        found_here: list[FreedPods] = []
        best = 0
        for subset in _subsets(slot_count, name, pods_on(name), costs):
            if best == most or limit.number <= 0:
                break
            limit.number -= 1
            if slot_count.most_without(name, subset) - now[name] <= best:
                continue
            gain = slot_count.slots_without(name, subset) - now[name]
            if gain > best:
                best = gain
                found_here.append(FreedPods(gain, subset, costs.counted(subset)))
        found[name] = found_here
        if limit.number <= 0:
            break
    return found


def _subsets(
    slot_count: SlotCount, node: str, pods: Sequence[RunningPod], costs: PodCosts
) -> Iterator[tuple[RunningPod, ...]]:
    """Yield sets of pods, the cheaper first: those that harm no others, of these the smaller, then the cheaper.

    All sets for a few pods, else the largest pods one after the other.
    """
    pods = sorted(pods, key=lambda pod: (pod.priority, pod.key))
    if len(pods) <= _MOST_SUBSETS:
        levels = [
            [pod for pod in pods if costs.level(pod) == level]
            for level in (disruption.PROTECTED, disruption.HARMFUL, disruption.HARMLESS)
        ]
        for sizes in product(*(range(len(of_level) + 1) for of_level in levels)):
            parts = product(*map(combinations, levels, sizes))
            yield from sorted((tuple(chain.from_iterable(part)) for part in parts if any(sizes)), key=costs.counted)
        return
    need = scarce(slot_count.first.trigger.requirements.requests, slot_count.first.rejections.get(node))
    by_size = sorted(
        pods, key=lambda pod: -sum(amount for resource, amount in pod.requirements.requests if resource in need)
    )
    by_size.sort(key=costs.level)
    for size in range(1, len(pods) + 1):
        yield tuple(by_size[:size])


class _Choice(Struct, frozen=True):
    """Pieces chosen so far, and what they cost together."""

    cost: Cost
    pieces: tuple[FreedPods, ...]

    def plus(self, piece: FreedPods) -> "_Choice":
        """Return the choice with one more piece."""
        return _Choice(plus(self.cost, piece.cost), (*self.pieces, piece))


def fewest(pieces: Mapping[str, Sequence[FreedPods]], missing: int) -> tuple[FreedPods, ...]:
    """Return pieces, one of a node at most, that bring what is missing with the fewest pods, then at the least cost.

    Exact where nodes times slots are few; else the pieces that bring most for each pod are taken in turn.
    """
    nodes = [choices for choices in pieces.values() if choices]
    if len(nodes) * missing > _MOST_CELLS:
        return _greedily(nodes, missing)
    best: dict[int, _Choice] = {0: _Choice(NOTHING, ())}
    for choices in nodes:
        for slots, choice in list(best.items()):
            for piece in choices:
                more = choice.plus(piece)
                at = min(missing, slots + piece.gain)
                if at not in best or more.cost < best[at].cost:
                    best[at] = more
    return best[missing].pieces if missing in best else ()


def _greedily(nodes: Iterable[Sequence[FreedPods]], missing: int) -> tuple[FreedPods, ...]:
    def relative_cost(piece: FreedPods) -> tuple[int, int, float, Cost]:
        protected, harmed, *_ = piece.cost
        return protected, harmed, len(piece.pods) / piece.gain, piece.cost

    cheapest = [min(choices, key=relative_cost) for choices in nodes]
    gained, chosen = 0, []
    for piece in sorted(cheapest, key=relative_cost):
        if gained >= missing:
            break
        chosen.append(piece)
        gained += piece.gain
    return tuple(chosen) if gained >= missing else ()
