"""How plugins score devices and NUMA zones, by what of them would be used (`ScoringStrategy`)."""

from collections.abc import Mapping

from msgspec import Struct

_MOST = 100


class Scoring(Struct, frozen=True, gc=False):
    """What counts for more: what has most left, or with `most_allocated` what has least; `weights` are by resource."""

    weights: tuple[tuple[str, int], ...]
    most_allocated: bool = False

    def score(self, used: Mapping[str, tuple[int, int]]) -> int:
        """Return the score, from 0 to 100; only what has a weight counts.

        Mirrors `leastResourceScorer` and `mostResourceScorer` of nodenumaresource and deviceshare.

        Args:
            self: the strategy.
            used: by resource how much would be used, and of how much, which is not zero.

        """
        total = scores = 0
        for resource, weight in self.weights:
            if resource in used:
                total += weight
                scores += weight * self._share(*used[resource])
        return scores // total if total else 0

    def _share(self, used: int, capacity: int) -> int:
        if self.most_allocated:
            return min(used, capacity) * _MOST // capacity
        return max(0, capacity - used) * _MOST // capacity
