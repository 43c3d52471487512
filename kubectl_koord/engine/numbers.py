"""Numbers of all nodes of a view at once, in columns."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from itertools import chain, compress, count
from typing import Generic, TypeVarTuple

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    differing,
    members,
    names_of,
    nodes_of,
    of_nodes,
    packed,
    patched,
    places_touched,
    selector,
    set_of,
    which,
)
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.view import View
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.quantity import Resources

Ts = TypeVarTuple("Ts")

_STEP = 256
"""So many nodes apart are the sets that are kept of nodes by a number of theirs."""
_MOST_AMOUNTS = 32
"""Of so many amounts it is kept which ranked nodes have as much."""
_MANY = 2 / 3
"""From such a share of the nodes on all are asked."""
_MOST_PASSES = 4
"""So often each node is looked at: to rank them takes about as long."""


class Number(Generic[*Ts]):
    """A number of a node that is computed of its state, and of all nodes of a view without any state of theirs."""

    def __init__(
        self,
        of_state: Callable[[NodeState, *Ts], int],
        everywhere: Callable[[View, *Ts], Sequence[int]],
        share: float = _MANY,
        among: Callable[[View, NodeSet, *Ts], Iterable[int]] | None = None,
    ) -> None:
        """Take both ways, which must come to the same, and from which share of the nodes on all of them cost less.

        `among` is a third, for the nodes of a set, in name order: there below that share all of these are asked so.
        """
        self.of_state = of_state
        self.everywhere = everywhere
        self.share = share
        self.among = among

    def __call__(self, state: NodeState, *args: *Ts) -> int:
        """Return the number of one node."""
        return self.of_state(state, *args)


def compact(numbers: Sequence[int]) -> Sequence[int]:
    """Return numbers in little space, if they can be: there are as many as nodes in each column."""
    try:
        return array("q", numbers)
    except OverflowError:
        return tuple(numbers)


@of_nodes
def allocatable_of(view: View, resource: str) -> Sequence[int]:
    """Return how much each node has of a resource, by position; found once for those that share what is allocatable."""
    base = base_with_most(view)
    if base is not None:
        before = allocatable_of(base, resource)
        return patched(view, before, lambda name: dict(view.node(name).allocatable).get(resource, 0))
    distinct, every = allocatables(view)
    amounts = [dict(one).get(resource, 0) for one in distinct]
    return compact([*map(amounts.__getitem__, every)])


@of_nodes
def allocatables(view: View) -> tuple[Sequence[Resources], Sequence[int]]:
    """Return what nodes have, once for those that share it, and which of these it is by position."""
    every = [node.allocatable for node in nodes_of(view)]
    distinct = dict(zip(map(id, every), every, strict=True))
    places = {key: place for place, key in enumerate(distinct)}
    return tuple(distinct.values()), array("I", map(places.__getitem__, map(id, every)))


def numbers_of(view: View, nodes: NodeSet, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> Iterable[int]:
    """Return a number of each node of a set, in name order."""
    return _column(view, number, *args).of(nodes)


def at_least(view: View, among: NodeSet, amount: int, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> NodeSet:
    """Return the nodes of a set whose number is at least so much."""
    return _column(view, number, *args).at_least(amount, among)


def with_most(view: View, among: NodeSet, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> NodeSet:
    """Return those nodes of a set whose number is the highest: never none, as the set must not be empty."""
    column = _column(view, number, *args)
    return column.at_least(column.highest(among), among)


class _Column:
    """A number of every node, by position.

    Few nodes are asked one by one. Once they are many, all are, and which of them have an amount is kept; once they are
    asked about many amounts, they are ranked, so that nodes are found by an amount without a look at each. A what-if in
    which few nodes differ asks only these.
    """

    def __init__(
        self, view: View, below: "_Column | None", number: Callable[[NodeState, *Ts], int], *args: *Ts
    ) -> None:
        self._view, self._below = view, below
        self._number: Callable[[NodeState], int] = lambda state: number(state, *args)
        self._everywhere = partial(number.everywhere, view, *args) if isinstance(number, Number) else None
        self._share = number.share if isinstance(number, Number) else _MANY
        among = number.among if isinstance(number, Number) else None
        self._among = None if among is None else lambda nodes: among(view, nodes, *args)
        self._asked: NodeSet = 0
        self._some: list[int] = []
        self._known: dict[str, int] = {}
        self._every: Sequence[int] | None = None
        self._enough: dict[int, NodeSet] = {}
        self._passes = 0

    def of(self, nodes: NodeSet) -> Iterable[int]:
        if self._is_worth_it(nodes):
            return compress(self.every(), selector(self._view, nodes))
        if self._among is not None:
            return compress(self._partly(self._among, nodes), selector(self._view, nodes))
        return [self._one(name) for name in members(self._view, nodes)]

    def at_least(self, amount: int, among: NodeSet) -> NodeSet:
        if self._below is not None:
            changed = differing(self._view)
            touched = places_touched(self._view).items() if among & changed else ()
            enough = set_of(self._view, (position for name, position in touched if self._one(name) >= amount))
            return self._below.at_least(amount, among & ~changed) | among & enough
        if not self._is_worth_it(among):
            if self._among is None:
                return which(self._view, lambda name: self._one(name) >= amount, among)
            return among & packed(bytes(map(amount.__le__, self._partly(self._among, among))))
        if amount not in self._enough:
            if self._is_asked_often():
                return among & self._ranked.at_least(amount)
            self._enough[amount] = packed(bytes(map(amount.__le__, self.every())))
        return among & self._enough[amount]

    def highest(self, among: NodeSet) -> int:
        if self._below is not None:
            changed = among & differing(self._view)
            others = among & ~changed
            own = map(self._one, members(self._view, changed))
            return max(chain(own, (self._below.highest(others),) if others else ()))
        if self._is_worth_it(among) and self._is_asked_often():
            return self._ranked.highest(among)
        return max(self.of(among))

    def _partly(self, find: Callable[[NodeSet], Iterable[int]], nodes: NodeSet) -> Sequence[int]:
        """Return the numbers of the nodes of a set, by position, among others that are not told."""
        self._some = self._some or [0] * len(self._view.names())
        new = nodes & ~self._asked
        if new:
            positions = compress(count(), selector(self._view, new))
            for position, number in zip(positions, find(new), strict=True):
                self._some[position] = number
            self._asked |= new
        return self._some

    def every(self) -> Sequence[int]:
        """Return the number of every node."""
        if self._every is None and self._below is not None:
            numbers = list(self._below.every())
            for name, position in places_touched(self._view).items():
                numbers[position] = self._one(name)
            self._every = compact(numbers)
        if self._every is None:
            each = [self._one(name) for name in names_of(self._view)] if not self._everywhere else self._everywhere()
            self._every = compact(each)
            self._known, self._some = {}, []
        return self._every

    @cached_property
    def _ranked(self) -> "_Ranked":
        return _Ranked(self._view, self.every())

    def _is_asked_often(self) -> bool:
        self._passes += 1
        return self._passes > _MOST_PASSES

    def _is_worth_it(self, among: NodeSet) -> bool:
        number = len(self._view.names())
        known = len(self._known) + self._asked.bit_count()
        return self._every is not None or among.bit_count() >= self._share * number or 2 * known >= number

    def _one(self, name: str) -> int:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._number(self._view.state(name))
        return known


@memoised
def _column(view: View, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> _Column:
    base = base_with_most(view)
    return _Column(view, _column(base, number, *args) if base is not None else None, number, *args)


class _Ranked:
    """The nodes by a number of theirs, so that those with enough of it are found without asking each."""

    def __init__(self, view: View, numbers: Sequence[int]) -> None:
        self._view, self._numbers = view, numbers
        self._ranked = array("I", sorted(range(len(numbers)), key=numbers.__getitem__))
        self._from: list[NodeSet] = [0]
        for start in reversed(range(0, len(numbers), _STEP)):
            self._from.append(self._from[-1] | set_of(view, self._ranked[start : start + _STEP]))
        self._from.reverse()
        self._latest: dict[int, NodeSet] = {}

    def at_least(self, amount: int) -> NodeSet:
        found = self._latest.pop(amount, None)
        if found is None:
            found = self._from_place(bisect_left(self._ranked, amount, key=self._numbers.__getitem__))
        self._latest[amount] = found
        if len(self._latest) > _MOST_AMOUNTS:
            del self._latest[next(iter(self._latest))]
        return found

    def _from_place(self, first: int) -> NodeSet:
        """Return the nodes from a place in the ranks on: what is kept from the nearest step on, and what differs."""
        step = (first + _STEP // 2) // _STEP
        start = step * _STEP
        if first > start:
            return self._from[step] ^ set_of(self._view, self._ranked[start:first])
        return self._from[step] | set_of(self._view, self._ranked[first:start]) if first < start else self._from[step]

    def highest(self, among: NodeSet) -> int:
        is_among = selector(self._view, among)
        return self._numbers[next(compress(reversed(self._ranked), map(is_among.__getitem__, reversed(self._ranked))))]
