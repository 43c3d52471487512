"""What no object tells of an attempt at members without a plan: which node each takes, and in which order they come.

The scheduler scores nodes, and takes members in the order of a map; we try extremes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from operator import add
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import (
    NodeSet,
    every_node,
    first_of,
    has,
    named,
)
from kubectl_koord.engine.fit.check import how_many
from kubectl_koord.engine.fit.resources import FREE
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.numbers import Number, allocatable_of, allocatables, numbers_of, with_most
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources
from kubectl_koord.model.values.memo import Identity

Choice: TypeAlias = Callable[[View, NodeSet, Sequence[str], PendingPod, Collection[str]], str]
"""Which of the feasible nodes of a view a pod takes, of which some come last, in an order, and some cannot be booked.

They are never none. Of nodes that are equal the first is taken: those that come last are given by name.
"""
Kind: TypeAlias = tuple[PodRequirements, Collection[str]]
"""What some members ask for, and the names of the nodes that take one of them."""
_NO_SHARE = 1 << 62
"""More than the share of any resource that is free."""
_SOME = 1 / 8
"""The share of the nodes whose states take as long to make as columns of what all have free."""


def emptiest(
    view: View, nodes: NodeSet, late: Sequence[str], _pod: PendingPod, _unbookable: Collection[str] = ()
) -> str:
    """Choose the node with the largest free share of its scarcest resource (least allocated first)."""
    return _with_most_free(view, nodes, late, 1)


def fullest(view: View, nodes: NodeSet, late: Sequence[str], _pod: PendingPod, _unbookable: Collection[str]) -> str:
    """Choose the node with the smallest free share of its scarcest resource (most allocated first)."""
    return _with_most_free(view, nodes, late, -1)


def bookable(view: View, nodes: NodeSet, late: Sequence[str], pod: PendingPod, unbookable: Collection[str]) -> str:
    """Choose the emptiest of the nodes that can be booked, of all where none can."""
    return emptiest(view, nodes & ~named(view, unbookable) or nodes, late, pod)


def not_bookable(view: View, nodes: NodeSet, late: Sequence[str], pod: PendingPod, unbookable: Collection[str]) -> str:
    """Choose the emptiest of the nodes that cannot be booked, of all where all can."""
    return emptiest(view, nodes & named(view, unbookable) or nodes, late, pod)


def at_the_cost_of(kinds: Iterable[Kind], *, most: bool) -> Choice:
    """Return the choice of the node on which a pod takes the most places from members of other kinds, or the fewest."""
    every, sign = Identity(tuple(kinds)), 1 if most else -1

    def choose(view: View, nodes: NodeSet, late: Sequence[str], pod: PendingPod, _: Collection[str]) -> str:
        return emptiest(view, with_most(view, nodes, _cost, every, pod.requirements, sign), late, pod)

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


def _cost(state: NodeState, kinds: Identity[tuple[Kind, ...]], requirements: PodRequirements, sign: int) -> int:
    """Return how many places fewer a node has for pods of other kinds, once one that asks for this is there."""
    others = [kind.requests for kind, names in kinds.value if kind != requirements and state.node.name in names]
    left = dict(state.free)
    for resource, amount in requirements.requests:
        left[resource] = left.get(resource, 0) - amount
    return sign * sum(
        _places(asked, state.free, state.places) - _places(asked, left, state.places - 1) for asked in others
    )


def _places(asked: Resources, free: Mapping[str, int], most: int) -> int:
    return how_many(asked, asked, free, most)


def _with_most_free(view: View, nodes: NodeSet, late: Sequence[str], sign: int) -> str:
    """Return the first of the nodes with the largest free share of the scarcest resource, then of all; or smallest."""
    found = with_most(view, with_most(view, nodes, OF_SCARCEST, sign), OF_ALL, sign)
    early = found & ~named(view, late)
    return first_of(view, early) if early else next(name for name in late if has(view, found, name))


def _free_shares(state: NodeState) -> list[int]:
    free = state.free
    return [1000 * free.get(r, 0) // total for r, total in state.node.allocatable if total and r != "pods"]


def _free_shares_everywhere(view: View, absent: int) -> Iterator[Sequence[int]]:
    """Yield the same of all nodes by resource, in name order; `absent` is for nodes that have none of it."""
    every = every_node(view)
    for resource in {resource for one in allocatables(view)[0] for resource, _ in one if resource != "pods"}:
        amounts = zip(numbers_of(view, every, FREE, resource), allocatable_of(view, resource), strict=True)
        yield [1000 * free // total if total else absent for free, total in amounts]


def _scarcest_everywhere(view: View, sign: int) -> Sequence[int]:
    least = [_NO_SHARE] * len(view.names())
    for shares in _free_shares_everywhere(view, _NO_SHARE):
        least = [*map(min, least, shares)]
    return [0 if share == _NO_SHARE else sign * share for share in least]


def _all_everywhere(view: View, sign: int) -> Sequence[int]:
    total = [0] * len(view.names())
    for shares in _free_shares_everywhere(view, 0):
        total = [*map(add, total, shares)]
    return [sign * share for share in total]


OF_SCARCEST = Number[int](
    lambda state, sign: sign * min(_free_shares(state), default=0),
    _scarcest_everywhere,
    _SOME,
)
OF_ALL = Number[int](
    lambda state, sign: sign * sum(_free_shares(state)),
    _all_everywhere,
    _SOME,
)
