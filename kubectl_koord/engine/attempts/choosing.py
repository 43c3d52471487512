"""What no object tells of an attempt at members without a plan: which node each takes, and in which order they come.

The scheduler scores nodes, and takes members in the order of a map; we try extremes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.check import how_many
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources

Choice: TypeAlias = Callable[[View, Sequence[str], PendingPod, Collection[str]], str]
"""Which of the feasible nodes of a view, by name, a pod takes, of which some cannot be booked then."""
Kind: TypeAlias = tuple[PodRequirements, Collection[str]]
"""What some members ask for, and the names of the nodes that take one of them."""


def emptiest(view: View, names: Sequence[str], _pod: PendingPod, _unbookable: Collection[str] = ()) -> str:
    """Choose the node with the largest free share of its scarcest resource (least allocated first)."""
    shares = view.of_each(names, _free_share)
    return names[max(range(len(names)), key=shares.__getitem__)]


def fullest(view: View, names: Sequence[str], _pod: PendingPod, _unbookable: Collection[str] = ()) -> str:
    """Choose the node with the smallest free share of its scarcest resource (most allocated first)."""
    shares = view.of_each(names, _free_share)
    return names[min(range(len(names)), key=shares.__getitem__)]


def bookable(view: View, names: Sequence[str], pod: PendingPod, unbookable: Collection[str]) -> str:
    """Choose the emptiest of the nodes that can be booked, of all where none can."""
    return emptiest(view, [name for name in names if name not in unbookable] or names, pod)


def not_bookable(view: View, names: Sequence[str], pod: PendingPod, unbookable: Collection[str]) -> str:
    """Choose the emptiest of the nodes that cannot be booked, of all where all can."""
    return emptiest(view, [name for name in names if name in unbookable] or names, pod)


def at_the_cost_of(kinds: Iterable[Kind], *, most: bool) -> Choice:
    """Return the choice of the node on which a pod takes the most places from members of other kinds, or the fewest."""
    every = tuple(kinds)

    def choose(view: View, names: Sequence[str], pod: PendingPod, _unbookable: Collection[str]) -> str:
        others = [(kind.requests, taking) for kind, taking in every if kind != pod.requirements]
        sign = 1 if most else -1
        costs = [sign * _cost(view.state(name), pod, others) for name in names]
        shares = view.of_each(names, _free_share)
        return names[max(range(len(names)), key=lambda at: (costs[at], shares[at]))]

    return choose


class MemberOrder(Struct, frozen=True):
    """How the members come after the trigger, and what they choose: first those like it, or those unlike it.

    Where more are planned for than must find a place, those whose seats fail come before enough have found theirs,
    or `failing_last`.
    """

    choose: Choice = emptiest
    unlike_first: bool = False
    failing_last: bool = False


USUAL = MemberOrder()


def _cost(state: NodeState, pod: PendingPod, others: Iterable[tuple[Resources, Collection[str]]]) -> int:
    """Return how many places fewer a node has for others, once the pod is there."""
    left = dict(state.free)
    for resource, amount in pod.requirements.requests:
        left[resource] = left.get(resource, 0) - amount
    return sum(
        _places(asked, state.free, state.places) - _places(asked, left, state.places - 1)
        for asked, names in others
        if state.node.name in names
    )


def _places(asked: Resources, free: Mapping[str, int], most: int) -> int:
    return how_many(asked, asked, free, most)


def _free_share(state: NodeState) -> tuple[int, int]:
    free = state.free
    shares = [1000 * free.get(r, 0) // total for r, total in state.node.allocatable if total and r != "pods"]
    return min(shares, default=0), sum(shares)
