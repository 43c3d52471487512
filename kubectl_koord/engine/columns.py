"""All nodes of a view at once: numbers in columns, and sets of nodes as whole numbers.

Nodes are in name order. In a set each node is a bit, the first node the highest of as many bits as there are nodes.
What is asked of one node in a thousand nanoseconds is asked here of all in a few thousand.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from itertools import compress
from typing import TypeAlias, TypeVarTuple

from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.values.memo import memoised

Ts = TypeVarTuple("Ts")

NodeSet: TypeAlias = int
Sees: TypeAlias = Callable[[Node], Hashable]
"""What a filter sees of a node: those of which it sees the same are one class."""

_DIGITS = bytes.maketrans(b"\x00\x01", b"01")
_BITS = bytes.maketrans(b"01", b"\x00\x01")


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


def among(view: View, names: Iterable[str]) -> NodeSet:
    """Return the set of these nodes."""
    every = names_of(view)
    return set_of(view, (bisect_left(every, name) for name in names))


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


def singles(nodes: NodeSet) -> Iterator[NodeSet]:
    """Yield the nodes of a set one by one."""
    while nodes:
        first = 1 << nodes.bit_length() - 1
        yield first
        nodes ^= first


def crossed(some: Iterable[NodeSet], others: Collection[NodeSet]) -> Iterator[NodeSet]:
    """Yield the parts of sets by other sets, which together hold all nodes; most sets of either are often single."""
    for one in some:
        if one.bit_count() == 1:
            yield one
        else:
            yield from (part for other in others if (part := one & other))


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
def column(view: View, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> tuple[int, ...]:
    """Return a number of every node, by position."""
    return tuple([number(view.state(name), *args) for name in names_of(view)])


@memoised
def at_least(view: View, amount: int, number: Callable[[NodeState, *Ts], int], *args: *Ts) -> NodeSet:
    """Return the nodes whose number is at least so much."""
    return _packed(bytes(map(amount.__le__, column(view, number, *args))))


@memoised
def classes(view: View, sees: Sees) -> Mapping[Hashable, NodeSet]:
    """Return the nodes by what is seen of them."""
    base = view.layers()[0]
    if base is not None and not view.changed_nodes():
        return classes(base, sees)
    return _grouped(view, (sees(view.node(name)) for name in names_of(view)))


@memoised
def state_classes(view: View, sees: Callable[[NodeState], Hashable]) -> Mapping[Hashable, NodeSet]:
    """Return the nodes by what is seen of them and of those who are there."""
    return _grouped(view, (sees(view.state(name)) for name in names_of(view)))


def _grouped(view: View, seen: Iterable[Hashable]) -> Mapping[Hashable, NodeSet]:
    positions: dict[Hashable, list[int]] = {}
    for position, one in enumerate(seen):
        positions.setdefault(one, []).append(position)
    return {one: set_of(view, held) for one, held in positions.items()}
