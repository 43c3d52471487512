"""A node filled with pods that are alike, each placed with all that is booked for it before the next is tried.

Which pods go where is tried again and again, for one gang after another and in what-ifs: a node that is the same in
all of them is filled once.
"""

from collections.abc import Callable

from msgspec import structs

from kubectl_koord.engine.fit import Prepared, rejection_as_is, reserve
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.offer import NodeSlots
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import NOTHING, Allocations
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, recently

_MOST_KINDS = 64


class Filling:
    """What is booked for the first, the second, ... pod of a kind on a node, as far as anybody asked."""

    def __init__(self, state: NodeState, prepared: Identity[Prepared]) -> None:
        """Keep the node, and what pods of the kind are prepared with; nothing is tried yet."""
        self._left = state
        self._prepared = prepared.value
        self._booked: list[Allocations] = []
        self._end: Reason | None = None

    def slots(self, most: int) -> NodeSlots:
        """Return how many of so many pods find a place, and why the next does not."""
        while len(self._booked) < most and self._end is None:
            self._place()
        placed = min(most, len(self._booked))
        return NodeSlots(placed, self._end if placed < most else None)

    def seat(self, pod: PendingPod, position: int) -> PendingPod | Reason:
        """Return the pod at a position, from 0 on, with all that is booked for it, or why it finds no place."""
        reason = self.slots(position + 1).rejection
        return structs.replace(pod, allocations=self._booked[position]) if reason is None else reason

    def _place(self) -> None:
        pod = self._prepared.trigger
        found = rejection_as_is(pod, self._left, self._prepared) or reserve(pod, self._left, self._prepared)
        if not isinstance(found, PendingPod):
            self._end = found
            return
        if not self._booked:
            self._left = self._left.copy()
        self._left.add(found)
        self._booked.append(found.allocations or NOTHING)


def fillings(view: View, prepared: Prepared) -> Callable[[str], Filling | None]:
    """Return what returns a node, by name, as it is filled with pods like the trigger.

    None where pods that are alike to the filters are not placed alike: they may change what was prepared, have claims
    of their own, or stand behind others that are nominated to the node.
    """
    if not prepared.counts_only_room or prepared.trigger.resource_claims:
        return lambda _: None
    kind = kind_prepared(view.snapshot, prepared.trigger.requirements, prepared.checks)
    nominated = prepared.nominated
    return lambda name: None if name in nominated else view.of_node(name, Filling, kind)


@recently(_MOST_KINDS)
def kind_prepared(_: Snapshot, requirements: PodRequirements, checks: tuple[Check, ...]) -> Identity[Prepared]:
    """Return what pods of a kind are prepared with: the one object for all of them."""
    return Identity(Prepared(any_pod_of(requirements), checks))
