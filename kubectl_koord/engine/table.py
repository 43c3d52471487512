"""All nodes of a view at once: sets of nodes as bitmaps, and columns of numbers over them."""

from array import array
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial, reduce, wraps
from itertools import chain, compress
from operator import or_
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, TypeVarTuple

from kubectl_koord.engine.state import NodeState, Occupant, View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.values import Requirement, Resources, holds, memoised, picked

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T", bound=Hashable)

NodeSet: TypeAlias = int
Sees: TypeAlias = Callable[[Node], Hashable]
"""What a filter sees of a node: those of which it sees the same are one class."""

_FEW = 8
"""A view that changes less than this fraction of its nodes (1/8) reads the others in the view below."""
_VERY_FEW = 256
"""The members of a set with less than this fraction of the nodes (1/256) are read bit by bit."""
_SOME = 64
"""Size from which the bitmap of the nodes with one value of a label is cached."""
_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_BITS = bytes.maketrans(b"01", b"\x00\x01")


def base_with_most(view: View) -> View | None:
    """Return the view below, where few nodes are not as there: then only these have to be asked anew."""
    base = view.layers()[0]
    return base if base is not None and len(view.touched()) * _FEW <= len(view.names()) else None


def _base_of_same_nodes(view: View) -> View | None:
    """Return a view in which all nodes are the same, whoever is on them: the one below, or that before a trial."""
    trial = view.trial()
    if trial is not None:
        return trial[0]
    return view.layers()[0] if not view.changed_nodes() else None


def of_nodes(compute: Callable[Concatenate[View, P], R]) -> Callable[Concatenate[View, P], R]:
    """Memoise what is computed of nodes alone: views share it where their nodes are the same."""

    @wraps(compute)
    def shared(view: View, /, *args: P.args, **named: P.kwargs) -> R:
        base = _base_of_same_nodes(view)
        return kept(base, *args, **named) if base is not None else compute(view, *args, **named)

    kept = memoised(shared)
    return kept


@memoised
def names_of(view: View) -> tuple[str, ...]:
    """Return the names of the nodes by position; views over each other share them."""
    base = with_same_names(view)
    return names_of(base) if base is not None else tuple(view.names())


def with_same_names(view: View) -> View | None:
    """Return the view that has the same nodes, and of which this one is a variant; None where it is none."""
    trial = view.trial()
    return trial[0] if trial is not None else view.layers()[0]


@of_nodes
def nodes_of(view: View) -> Sequence[Node]:
    """Return the nodes by position."""
    base = base_with_most(view)
    return tuple(map(view.node, names_of(view))) if base is None else patched(view, nodes_of(base), view.node)


@memoised
def occupants_of(view: View) -> Sequence[tuple[Occupant, ...]]:
    """Return the occupants of each node, by position."""
    base = base_with_most(view)
    if base is None or view.trial() is not None:
        return tuple(map(view.occupants, names_of(view)))
    return patched(view, occupants_of(base), view.occupants)


@memoised
def held_of(view: View) -> Sequence[tuple[Occupant, ...]]:
    """Return the occupants of each node, by position, as they are without the removals on trial."""
    (base, there), trial = view.layers(), view.trial()
    if trial is not None:
        return held_of(trial[0])
    if base is None or all(map(there.__contains__, names_of(view))):
        return occupants_of(view)
    return patched(view, held_of(base), view.held)


def patched(view: View, before: Sequence[T], of_node: Callable[[str], T]) -> Sequence[T]:
    """Return by position what was found for the view below, anew for nodes that differ."""
    found = list(before)
    for name, position in places_touched(view).items():
        found[position] = of_node(name)
    return tuple(found)


def every_node(view: View) -> NodeSet:
    """Return the set of all nodes."""
    return (1 << len(view.names())) - 1


def set_of(view: View, positions: Iterable[int]) -> NodeSet:
    """Return the set of the nodes at these positions."""
    number = len(view.names())
    bits = bytearray(-(-number // 8))
    for position in positions:
        bits[position >> 3] |= 128 >> (position & 7)
    return int.from_bytes(bits) >> (-number & 7)


def union(parts: Iterable[NodeSet]) -> NodeSet:
    """Return the nodes of all these sets."""
    return reduce(or_, parts, 0)


def split(nodes: NodeSet, *by: NodeSet) -> Sequence[NodeSet]:
    """Return a set of nodes in parts, of each of which all nodes or none are in each of the other sets."""
    parts: Sequence[NodeSet] = (nodes,) if nodes else ()
    for one in by:
        parts = [part for whole in parts for part in (whole & one, whole & ~one) if part]
    return parts


def one_by_one(nodes: NodeSet, apart: NodeSet) -> Iterator[NodeSet]:
    """Yield a set of nodes with those that are `apart` one by one, and all others together."""
    yield from (others,) if (others := nodes & ~apart) else ()
    yield from singles(nodes & apart)


def named(view: View, names: Iterable[str]) -> NodeSet:
    """Return the set of the nodes with these names."""
    known = position_of(view)
    return set_of(view, (known[name] for name in names))


def packed(bits: bytes | bytearray) -> NodeSet:
    """Return the set of the nodes that are told by position, as ones among zeroes."""
    return int(bits.translate(_DIGITS) or b"0", 2)


def selector(view: View, nodes: NodeSet) -> bytes:
    """Return by position whether a node is in a set."""
    number = len(view.names())
    return format(nodes, f"0{number}b").encode().translate(_BITS) if number else b""


def members(view: View, nodes: NodeSet) -> Iterator[str]:
    """Yield the names of the nodes of a set, in name order."""
    if nodes.bit_count() * _VERY_FEW < len(view.names()):
        return map(partial(first_of, view), singles(nodes))
    return compress(names_of(view), selector(view, nodes))


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
    if not among:
        return 0
    bits = bytearray(selector(view, among))
    position = bits.find(1)
    names = names_of(view)
    while position >= 0:
        bits[position] = bool(holds(names[position]))
        position = bits.find(1, position + 1)
    return packed(bits)


@memoised
def position_of(view: View) -> Mapping[str, int]:
    """Return the positions of the nodes by name; views over each other share them."""
    base = with_same_names(view)
    return position_of(base) if base is not None else {name: at for at, name in enumerate(names_of(view))}


def places_touched(view: View) -> Mapping[str, int]:
    """Return the nodes that are not as in the view that this one lies over, with their positions."""
    known = position_of(view)
    return {name: known[name] for name in view.touched() if name in known}


@memoised
def differing(view: View) -> NodeSet:
    """Return the nodes that are not as in the view that this one lies over."""
    return set_of(view, places_touched(view).values())


@of_nodes
def seen_of_nodes(view: View, sees: Callable[[Node], T]) -> Sequence[T]:
    """Return what is seen of each node, in name order."""
    base = base_with_most(view)
    if base is None:
        known: dict[T, T] = {}
        return tuple([known.setdefault(seen, seen) for seen in map(sees, nodes_of(view))])
    return patched(view, seen_of_nodes(base, sees), lambda name: sees(view.node(name)))


@of_nodes
def classes(view: View, sees: Sees) -> Mapping[Hashable, NodeSet]:
    """Return the nodes grouped by the key that a filter sees of them."""
    base = base_with_most(view)
    if base is None:
        return grouped(view, map(sees, nodes_of(view)))
    return _regrouped(view, classes(base, sees), lambda name: sees(view.node(name)))


def in_classes(view: View, sees: Sees, nodes: NodeSet) -> Sequence[NodeSet]:
    """Return a set of nodes in parts, within each of which the same is seen."""
    return [part for one in classes(view, sees).values() if (part := one & nodes)]


class StateSees(Protocol):
    """What a filter sees of a node and of those who are there; hashable, and equal where it sees the same."""

    def __call__(self, state: NodeState, /) -> Hashable:
        """Return what it sees of one node."""

    def everywhere(self, view: View) -> Iterable[Hashable]:
        """Return what it sees of each node, in name order."""

    def __hash__(self) -> int:
        """Hash it."""


@memoised
def state_classes(view: View, sees: StateSees) -> Mapping[Hashable, NodeSet]:
    """Return the nodes by what is seen of them and of those who are there."""
    base = base_with_most(view)
    if base is None:
        return grouped(view, sees.everywhere(view))
    return _regrouped(view, state_classes(base, sees), lambda name: sees(view.state(name)))


def state_parts(view: View, nodes: NodeSet, sees: StateSees) -> Iterable[NodeSet]:
    """Return a set of nodes in parts, within each of which the same is seen; of few nodes these alone are looked at."""
    if nodes.bit_count() * _FEW > len(view.names()):
        return [part for one in state_classes(view, sees).values() if (part := one & nodes)]
    found: dict[Hashable, NodeSet] = {}
    for one in singles(nodes):
        seen = view.of_node(first_of(view, one), _seen, sees)
        found[seen] = found.get(seen, 0) | one
    return found.values()


def _seen(state: NodeState, sees: StateSees) -> Hashable:
    return sees(state)


def _regrouped(view: View, before: Mapping[T, NodeSet], sees: Callable[[str], T]) -> Mapping[T, NodeSet]:
    """Return the classes that were those of the view below, with only the nodes asked anew that differ."""
    others = ~differing(view)
    found = {seen: left for seen, nodes in before.items() if (left := nodes & others)}
    for name, position in places_touched(view).items():
        seen = sees(name)
        found[seen] = found.get(seen, 0) | set_of(view, (position,))
    return found


def grouped(view: View, seen: Iterable[T]) -> Mapping[T, NodeSet]:
    """Return the nodes by what is seen of each, in name order."""
    return {one: set_of(view, held) for one, held in _positions(seen).items()}


def _positions(seen: Iterable[T]) -> Mapping[T, Sequence[int]]:
    """Return the positions of nodes by what is seen of each, in name order, and in little space."""
    positions: dict[T, array[int]] = defaultdict(partial(array, "I"))
    for position, one in enumerate(seen):
        positions[one].append(position)
    return dict(positions)


@of_nodes
def label_column(view: View, key: str) -> tuple[str | None, ...]:
    """Return the value of a label of every node, by position; None for a node without it.

    Where one node has it among its labels, the next mostly does, too.
    """
    found: list[str | None] = []
    at = 0
    for node in nodes_of(view):
        labels = node.labels
        if at < len(labels) and labels[at][0] == key:
            found.append(labels[at][1])
            continue
        known = dict(labels)
        found.append(known.get(key))
        if key in known:
            at = [*known].index(key)
    return tuple(found)


@of_nodes
def by_labels(view: View, keys: tuple[str, ...]) -> Mapping[tuple[str | None, ...], NodeSet]:
    """Return the nodes by the values of some labels."""
    base = base_with_most(view)
    if base is not None:
        return _regrouped(view, by_labels(base, keys), lambda name: picked(view.node(name).labels, *keys))
    columns = [label_column(view, key) for key in keys]
    return grouped(view, zip(*columns, strict=True)) if columns else {(): every_node(view)}


@of_nodes
def labelled(view: View, key: str) -> Mapping[str | None, Sequence[int]]:
    """Return the positions of the nodes by the value of a label."""
    return _positions(label_column(view, key))


def with_values(view: View, key: str, values: Iterable[str]) -> NodeSet:
    """Return the nodes of which a label has one of these values."""
    known = labelled(view, key)
    alone: list[int] = []
    found = 0
    for value in values:
        positions = known.get(value, ())
        if len(positions) < _SOME:
            alone += positions
        else:
            found |= _with_value(view, key, value)
    return found | set_of(view, alone) if alone else found


def without_label(view: View, key: str) -> NodeSet:
    """Return the nodes without a label."""
    return _with_value(view, key, None)


def sums_by_value(view: View, key: str, numbers: Mapping[str, int]) -> Counter[str]:
    """Return the sums of numbers of nodes by the value of a label; nodes without it are left out."""
    column, known = label_column(view, key), position_of(view)
    found: Counter[str] = Counter()
    for name, number in numbers.items():
        value = column[known[name]]
        if value is not None:
            found[value] += number
    return found


@of_nodes
def _with_value(view: View, key: str, value: str | None) -> NodeSet:
    return set_of(view, labelled(view, key).get(value, ()))


@of_nodes
def satisfying(view: View, requirement: Requirement) -> NodeSet:
    """Return the nodes whose labels satisfy a requirement."""
    key = requirement.key
    found: list[int] = []
    for value, positions in labelled(view, key).items():
        if holds(requirement, {} if value is None else {key: value}):
            found += positions
    return set_of(view, found)


class NodeNames(Collection[str]):
    """The names of the nodes of a set, in name order; of one cluster's they are equal where the sets are."""

    def __init__(self, view: View, nodes: NodeSet) -> None:
        self.view = view
        self.nodes = nodes

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and has(self.view, self.nodes, name)

    def __iter__(self) -> Iterator[str]:
        return members(self.view, self.nodes)

    def __len__(self) -> int:
        return self.nodes.bit_count()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NodeNames) and self.nodes == other.nodes

    def __hash__(self) -> int:
        return hash(self.nodes)


def with_names(view: View, names: Iterable[str]) -> NodeSet:
    """Return the set of the nodes with these names."""
    return names.nodes if isinstance(names, NodeNames) else named(view, names)


Ts = TypeVarTuple("Ts")

_STEP = 256
"""Rows between two cached bitmaps of a ranked column."""
_MOST_AMOUNTS = 32
"""Size of the cache of bitmaps by amount of a ranked column."""
_MANY = 2 / 3
"""From this share of the nodes on a column of all of them is computed, where the number itself says no other."""
_MOST_PASSES = 4
"""Scans of a column after which it is ranked: to rank it costs about as much."""


class Number(Generic[*Ts]):
    """A number of a node, computed of its state, or at once for all nodes of a view: the two are equal.

    `share` is the share of the nodes from which on a column of all of them costs less.
    """

    def __init__(
        self,
        of_state: Callable[[NodeState, *Ts], int],
        everywhere: Callable[[View, *Ts], Sequence[int]],
        share: float = _MANY,
    ) -> None:
        self.of_state = of_state
        self.everywhere = everywhere
        self.share = share

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
        self._known: dict[str, int] = {}
        self._every: Sequence[int] | None = None
        self._enough: dict[int, NodeSet] = {}
        self._passes = 0

    def of(self, nodes: NodeSet) -> Iterable[int]:
        if self._is_worth_it(nodes):
            return compress(self.every(), selector(self._view, nodes))
        return [self._one(name) for name in members(self._view, nodes)]

    def at_least(self, amount: int, among: NodeSet) -> NodeSet:
        if self._below is not None:
            changed = differing(self._view)
            touched = places_touched(self._view).items() if among & changed else ()
            enough = set_of(self._view, (position for name, position in touched if self._one(name) >= amount))
            return self._below.at_least(amount, among & ~changed) | among & enough
        if not self._is_worth_it(among):
            return which(self._view, lambda name: self._one(name) >= amount, among)
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
            self._known = {}
        return self._every

    @cached_property
    def _ranked(self) -> "_Ranked":
        return _Ranked(self._view, self.every())

    def _is_asked_often(self) -> bool:
        self._passes += 1
        return self._passes > _MOST_PASSES

    def _is_worth_it(self, among: NodeSet) -> bool:
        number = len(self._view.names())
        return self._every is not None or among.bit_count() >= self._share * number or 2 * len(self._known) >= number

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
