"""All nodes of a view at once: numbers in columns, and sets of nodes as whole numbers.

Nodes are in name order. In a set each node is a bit, the first node the highest of as many bits as there are nodes.
What is asked of one node in a thousand nanoseconds is asked here of all in a few thousand.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, compress
from typing import TypeAlias, TypeVarTuple

from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.packed import picked
from kubectl_koord.model.values.selectors import Requirement, holds

Ts = TypeVarTuple("Ts")

NodeSet: TypeAlias = int
Sees: TypeAlias = Callable[[Node], Hashable]
"""What a filter sees of a node: those of which it sees the same are one class."""

_STEP = 128
"""So many nodes apart are the sets that are kept of nodes by a number of theirs."""
_FEW = 8
"""A view that changes fewer nodes than one in so many takes the others from below."""
_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_BITS = bytes.maketrans(b"01", b"\x00\x01")


def base_with_most(view: View) -> View | None:
    """Return the view below, where few nodes are not as there: then only these have to be asked anew."""
    base = view.layers()[0]
    return base if base is not None and len(view.touched()) * _FEW <= len(view.names()) else None


def _base_of_same_nodes(view: View) -> View | None:
    """Return the view below, where all nodes are the same there, whoever is on them."""
    return view.layers()[0] if not view.changed_nodes() else None


@memoised
def names_of(view: View) -> tuple[str, ...]:
    """Return the names of the nodes by position; views over each other share them."""
    base = view.layers()[0]
    return names_of(base) if base is not None else tuple(view.names())


def every_node(view: View) -> NodeSet:
    """Return the set of all nodes."""
    return (1 << len(view.names())) - 1


def set_of(view: View, positions: Iterable[int]) -> NodeSet:
    """Return the set of the nodes at these positions."""
    bits = bytearray(len(view.names()))
    for position in positions:
        bits[position] = 1
    return _packed(bits)


def named(view: View, names: Iterable[str]) -> NodeSet:
    """Return the set of the nodes with these names."""
    known = position_of(view)
    return set_of(view, (known[name] for name in names))


def _packed(bits: bytes | bytearray) -> NodeSet:
    return int(bits.translate(_DIGITS) or b"0", 2)


def selector(view: View, nodes: NodeSet) -> bytes:
    """Return by position whether a node is in a set."""
    number = len(view.names())
    return format(nodes, f"0{number}b").encode().translate(_BITS) if number else b""


def members(view: View, nodes: NodeSet) -> Iterator[str]:
    """Yield the names of the nodes of a set, in name order."""
    return compress(names_of(view), selector(view, nodes)) if nodes else iter(())


def first_of(view: View, nodes: NodeSet) -> str:
    """Return the first node of a set that is not empty."""
    return names_of(view)[len(view.names()) - nodes.bit_length()]


def has(view: View, nodes: NodeSet, name: str) -> bool:
    """Tell whether a node is in a set; one that is not in the view is in none."""
    position = position_of(view).get(name)
    return position is not None and bool(nodes >> len(view.names()) - 1 - position & 1)


def singles(nodes: NodeSet) -> Iterator[NodeSet]:
    """Yield the nodes of a set one by one."""
    while nodes:
        first = 1 << nodes.bit_length() - 1
        yield first
        nodes ^= first


def which(view: View, holds: Callable[[str], object], among: NodeSet) -> NodeSet:
    """Return the nodes of a set for which something holds, asking each."""
    bits = bytearray(selector(view, among))
    position = bits.find(1)
    names = names_of(view)
    while position >= 0:
        bits[position] = bool(holds(names[position]))
        position = bits.find(1, position + 1)
    return _packed(bits)


@memoised
def position_of(view: View) -> Mapping[str, int]:
    """Return the positions of the nodes by name; views over each other share them."""
    base = view.layers()[0]
    return position_of(base) if base is not None else {name: at for at, name in enumerate(names_of(view))}


def numbers_of(view: View, nodes: NodeSet, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> Iterable[int]:
    """Return a number of each node of a set, in name order."""
    return _column(view, number, *args).of(nodes)


def at_least(view: View, among: NodeSet, amount: int, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> NodeSet:
    """Return the nodes of a set whose number is at least so much."""
    return _column(view, number, *args).at_least(amount, among)


class _Column:
    """A number of every node, by position.

    Few nodes are asked one by one. Once they are many, all are, and ranked, so that nodes are found by an amount
    without a look at each. A what-if in which few nodes differ asks only these anew.
    """

    def __init__(self, view: View, below: "_Column | None", number: Callable[[NodeState], int]) -> None:
        self._view, self._below, self._number = view, below, number
        self._known: dict[str, int] = {}
        self._every: tuple[int, ...] | None = None

    def of(self, nodes: NodeSet) -> Iterable[int]:
        if self._is_worth_it(nodes):
            return compress(self.every(), selector(self._view, nodes))
        return [self._one(name) for name in members(self._view, nodes)]

    def at_least(self, amount: int, among: NodeSet) -> NodeSet:
        if self._below is not None:
            changed = differing(self._view)
            found = self._below.at_least(amount, among & ~changed)
            return found | which(self._view, lambda name: self._one(name) >= amount, among & changed)
        if self._is_worth_it(among):
            return among & self._ranked.at_least(amount)
        return which(self._view, lambda name: self._one(name) >= amount, among)

    def every(self) -> tuple[int, ...]:
        """Return the number of every node."""
        if self._every is None and self._below is not None:
            numbers = list(self._below.every())
            for name, position in _touched(self._view).items():
                numbers[position] = self._one(name)
            self._every = tuple(numbers)
        if self._every is None:
            self._every = tuple([self._one(name) for name in names_of(self._view)])
            self._known = {}
        return self._every

    @cached_property
    def _ranked(self) -> "_Ranked":
        return _Ranked(self._view, self.every())

    def _is_worth_it(self, among: NodeSet) -> bool:
        number = len(self._view.names())
        return self._every is not None or 3 * among.bit_count() >= 2 * number or 2 * len(self._known) >= number

    def _one(self, name: str) -> int:
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._number(self._view.state(name))
        return known


@memoised
def _column(view: View, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> _Column:
    base = base_with_most(view)
    return _Column(view, _column(base, number, *args) if base is not None else None, _of(number, *args))


def _of(number: Callable[[NodeState, *Ts], int], *args: *Ts) -> Callable[[NodeState], int]:
    return lambda state: number(state, *args)


def _touched(view: View) -> Mapping[str, int]:
    """Return the nodes that are not as in the view that this one lies over, with their positions."""
    known = position_of(view)
    return {name: known[name] for name in view.touched() if name in known}


@memoised
def differing(view: View) -> NodeSet:
    """Return the nodes that are not as in the view that this one lies over."""
    return set_of(view, _touched(view).values())


class _Ranked:
    """The nodes by a number of theirs, so that those with enough of it are found without asking each."""

    def __init__(self, view: View, numbers: Sequence[int]) -> None:
        self._ranked = sorted(range(len(numbers)), key=numbers.__getitem__)
        self._numbers = [numbers[position] for position in self._ranked]
        self._last = len(numbers) - 1
        self._from: list[NodeSet] = [0]
        for start in reversed(range(0, len(numbers), _STEP)):
            self._from.append(self._from[-1] | set_of(view, self._ranked[start : start + _STEP]))
        self._from.reverse()

    def at_least(self, amount: int) -> NodeSet:
        first = bisect_left(self._numbers, amount)
        step = -(-first // _STEP)
        found = self._from[step]
        for position in self._ranked[first : step * _STEP]:
            found |= 1 << self._last - position
        return found


@memoised
def classes(view: View, sees: Sees) -> Mapping[Hashable, NodeSet]:
    """Return the nodes by what is seen of them."""
    base = _base_of_same_nodes(view)
    if base is not None:
        return classes(base, sees)
    return _grouped(view, (sees(view.node(name)) for name in names_of(view)))


@memoised
def state_classes(view: View, sees: Callable[[NodeState], Hashable]) -> Mapping[Hashable, NodeSet]:
    """Return the nodes by what is seen of them and of those who are there."""
    base = base_with_most(view)
    if base is None:
        return _grouped(view, (sees(view.state(name)) for name in names_of(view)))
    others = ~differing(view)
    found = {seen: left for seen, nodes in state_classes(base, sees).items() if (left := nodes & others)}
    for name, position in _touched(view).items():
        seen = sees(view.state(name))
        found[seen] = found.get(seen, 0) | set_of(view, (position,))
    return found


def grouped(view: View, nodes: NodeSet, sees: Callable[[NodeState], Hashable]) -> Collection[NodeSet]:
    """Return a set of nodes in parts, by what is seen of them and of those who are there."""
    known = position_of(view)
    positions: dict[Hashable, list[int]] = {}
    for name in members(view, nodes):
        positions.setdefault(sees(view.state(name)), []).append(known[name])
    return [set_of(view, held) for held in positions.values()]


def _grouped(view: View, seen: Iterable[Hashable]) -> Mapping[Hashable, NodeSet]:
    positions: dict[Hashable, list[int]] = {}
    for position, one in enumerate(seen):
        positions.setdefault(one, []).append(position)
    return {one: set_of(view, held) for one, held in positions.items()}


@memoised
def label_column(view: View, key: str) -> tuple[str | None, ...]:
    """Return the value of a label of every node, by position; None for a node without it."""
    base = _base_of_same_nodes(view)
    if base is not None:
        return label_column(base, key)
    return tuple([picked(view.node(name).labels, key)[0] for name in names_of(view)])


@memoised
def labelled(view: View, key: str) -> Mapping[str | None, Sequence[int]]:
    """Return the positions of the nodes by the value of a label."""
    base = _base_of_same_nodes(view)
    if base is not None:
        return labelled(base, key)
    found: dict[str | None, list[int]] = {}
    for position, value in enumerate(label_column(view, key)):
        found.setdefault(value, []).append(position)
    return found


def with_values(view: View, key: str, values: Iterable[str]) -> NodeSet:
    """Return the nodes of which a label has one of these values."""
    known = labelled(view, key)
    return set_of(view, chain.from_iterable(known.get(value, ()) for value in values))


@memoised
def satisfying(view: View, requirement: Requirement) -> NodeSet:
    """Return the nodes whose labels satisfy a requirement."""
    base, key = _base_of_same_nodes(view), requirement.key
    if base is not None:
        return satisfying(base, requirement)
    found: list[int] = []
    for value, positions in labelled(view, key).items():
        if holds(requirement, {} if value is None else {key: value}):
            found += positions
    return set_of(view, found)
