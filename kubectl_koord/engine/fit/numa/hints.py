"""Which zones of a node a pod is put into, by what each plugin says of each set of them.

Mirrors frameworkext/topologymanager: NodeNUMAResource and DeviceShare give hints, the policy chooses among them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, islice, product
from typing import Protocol, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, StateSees
from kubectl_koord.engine.fit.numa.books import Booked
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.numa import (
    UnalignedZones,
    UnsatisfiedZones,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import NUMAPolicy, ZoneSet, set_of
from kubectl_koord.model.pods import PendingPod

_MOST_SETS = (1 << 8) - 1
_MOST_COMBINATIONS = 1 << 15


class Hint(Struct, frozen=True, gc=False):
    """A set of zones that can give the pod all that it asks of a resource.

    `zones` is None for no preference, or for nothing that satisfies.
    """

    zones: ZoneSet | None
    preferred: bool
    score: int = 0
    unsatisfied: bool = False


Hints: TypeAlias = Mapping[str, Sequence[Hint]]
"""By resource; nothing for a resource without preference."""


class HintProvider(Protocol):
    """A plugin that has a say in which zones a pod is put into, prepared for the trigger of a round."""

    def hints(self, pod: PendingPod, state: NodeState) -> Hints | Reason:
        """Return the sets of zones that would do, by resource; no resource for no preference; or why none would."""

    def refusal(self, pod: PendingPod, state: NodeState, zones: ZoneSet | None) -> Reason | None:
        """Return why the pod cannot have these zones, of which all hints were taken into account; None where it can."""

    @property
    def sees(self) -> StateSees:
        """What the plugin sees of a node, for as long as its pods are held."""

    def zones(self, view: View, among: NodeSet) -> "ZonesWith":
        """Return the nodes of a set by the zones that would do alone."""


class ZonesWith(Struct, frozen=True):
    """Nodes by each zone that would do alone; `unclear` are those of which that is open: they must be asked."""

    by_zone: Mapping[int, NodeSet]
    unclear: NodeSet


class ZoneAffinity(Struct, frozen=True, gc=False):
    """The zones that were chosen; None where they do not matter."""

    zones: ZoneSet | None


def sets_of(zones: Sequence[int]) -> Iterator[ZoneSet]:
    """Yield every set of zones, small ones first (`IterateBitMasks`)."""
    sizes = range(1, len(zones) + 1)
    every = (set_of(chosen) for size in sizes for chosen in combinations(zones, size))
    return islice(every, _MOST_SETS)


def chosen(
    policy: NUMAPolicy, zones: Sequence[int], providers: Iterable[Hints], booked: Booked, *, exclusive: bool
) -> ZoneAffinity | Reason:
    """Return the zones that the policy chooses, or why it admits none.

    Args:
        policy: of the node, or of the pod.
        zones: all zones of the node.
        providers: what each plugin says.
        booked: who is in which zone.
        exclusive: whether pods in one zone and pods that span several keep apart.

    """
    everywhere = set_of(zones)
    hints: dict[str, Sequence[Hint]] = {}
    for given in providers:
        hints.update(given)
    apart = booked if exclusive else None
    if policy == "BestEffort":
        return ZoneAffinity(_best_effort(everywhere, tuple(hints.values()), apart))
    missing = tuple(sorted(resource for resource, found in hints.items() if not found))
    if missing:
        return UnsatisfiedZones(missing)
    best = _aligned(everywhere, tuple(hints.values()), apart, one_zone=policy == "SingleNUMANode")
    if best is None:
        return UnalignedZones(policy, tuple(sorted(_summary(resource, found) for resource, found in hints.items())))
    return ZoneAffinity(None if policy == "SingleNUMANode" and best == everywhere else best)


def _aligned(
    everywhere: ZoneSet, hints: Sequence[Sequence[Hint]], apart: Booked | None, *, one_zone: bool
) -> ZoneSet | None:
    """Return the best set of zones that every resource prefers, None for none."""
    if not hints:
        return everywhere if _is_allowed(everywhere, apart) else None
    scores = [{hint.zones: hint.score for hint in found if hint.preferred} for found in hints]
    best: Hint | None = None
    for hint in hints[0]:
        zones = hint.zones
        if zones is None or (one_zone and zones & (zones - 1)) or any(zones not in known for known in scores):
            continue
        if _is_allowed(zones, apart):
            best = _better(best, Hint(zones, True, sum(known[zones] for known in scores)))  # noqa: FBT003
    return best.zones if best is not None else None


def _best_effort(everywhere: ZoneSet, hints: Sequence[Sequence[Hint]], apart: Booked | None) -> ZoneSet:
    """Return the best set of zones, preferred or not; all zones where it does not satisfy every resource."""
    nothing = (Hint(None, False, unsatisfied=True),)  # noqa: FBT003
    best: Hint = Hint(everywhere, False)  # noqa: FBT003
    for together in islice(product(*(found or nothing for found in hints)), _MOST_COMBINATIONS):
        merged = _merged(everywhere, together, apart)
        if merged.zones and (merged.preferred or not best.preferred):
            best = merged if merged.preferred and not best.preferred else _better(best, merged)
    return everywhere if best.unsatisfied or best.zones is None else best.zones


def _merged(everywhere: ZoneSet, together: Sequence[Hint], apart: Booked | None) -> Hint:
    """Return what hints of all resources come to: the zones that they share (`mergePermutation`)."""
    named = [hint.zones for hint in together if hint.zones is not None]
    zones = everywhere
    for one in named:
        zones &= one
    preferred = all(one == named[0] for one in named) and all(hint.preferred for hint in together)
    largest = max((one.bit_count() for one in named), default=zones.bit_count())
    unsatisfied = largest != zones.bit_count() or any(hint.unsatisfied for hint in together)
    score = sum(hint.score for hint in together if hint.zones == zones)
    return Hint(zones, preferred and _is_allowed(zones, apart), score, unsatisfied)


def _better(best: Hint | None, other: Hint) -> Hint:
    """Return which of two hints is chosen, both preferred or neither: fewer zones, then lower ones or more score."""
    if best is None:
        return other
    ours, theirs = best.zones or 0, other.zones or 0
    if (theirs.bit_count(), theirs) < (ours.bit_count(), ours):
        return other
    return other if theirs.bit_count() == ours.bit_count() and other.score > best.score else best


def _is_allowed(zones: ZoneSet, apart: Booked | None) -> bool:
    """Tell whether zones may be chosen beside those who are there (`checkExclusivePolicy`)."""
    if apart is None:
        return True
    if zones & (zones - 1):
        return not zones & apart.single & ~apart.spanning
    return not zones & apart.spanning


def _summary(resource: str, hints: Iterable[Hint]) -> tuple[str, tuple[ZoneSet, ...], tuple[ZoneSet, ...]]:
    named = [(hint.zones, hint.preferred) for hint in hints if hint.zones is not None]
    return resource, tuple(zones for zones, preferred in named if preferred), tuple(zones for zones, _ in named)
