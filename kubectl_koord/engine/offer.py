"""What nodes offer: how many pods each takes, and why it takes no more."""

from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, ValuesView
from functools import cache, cached_property
from operator import itemgetter

from msgspec import Struct

from kubectl_koord.engine.node_names import NodeNames
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.engine.refusing import RefusingNodes
from kubectl_koord.model.values.memo import Memo


class NodeSlots(Struct, frozen=True, gc=False):
    """How many pods went onto a node, and why the next did not; no reason when all did."""

    slots: int
    rejection: Reason | None


class Counts(Mapping[str, int]):
    """How many pods nodes take, by name; nodes that are left out take none."""

    def __init__(self, numbers: Mapping[str, int] | Iterable[tuple[str, int]]) -> None:
        """Take the numbers."""
        self._numbers = dict(numbers)

    @property
    def by_name(self) -> dict[str, int]:
        """The numbers by name, in the order of the nodes."""
        return self._numbers

    def __getitem__(self, name: str) -> int:
        """Return how many a node takes."""
        return self.by_name.get(name, 0)

    def __contains__(self, name: object) -> bool:
        """Tell whether a node takes any."""
        return name in self.by_name

    def __iter__(self) -> Iterator[str]:
        """Iterate over the nodes that take any, in their order."""
        return iter(self.by_name)

    def __len__(self) -> int:
        """Return how many nodes take any."""
        return len(self.by_name)

    def items(self) -> ItemsView[str, int]:
        """Return nodes and numbers."""
        return self.by_name.items()

    def values(self) -> ValuesView[int]:
        """Return the numbers."""
        return self.by_name.values()

    def total(self) -> int:
        """Return the sum over the nodes."""
        return sum(self.by_name.values())

    def most_first(self) -> Iterable[tuple[str, int]]:
        """Return the nodes that take any and how many, those first that take most."""
        return sorted(self.by_name.items(), key=itemgetter(1), reverse=True)

    def among(self, names: Collection[str]) -> "Counts":
        """Return those of some of the nodes."""
        return Counts((name, number) for name, number in self.by_name.items() if name in names)

    def but(self, numbers: Mapping[str, int], names: Iterable[str]) -> "Counts":
        """Return the same with other numbers of some nodes; `names` are all nodes, in their order."""
        every = ((name, numbers[name] if name in numbers else self[name]) for name in names)
        return Counts((name, number) for name, number in every if number)


class LazyNames(Collection[str]):
    """Names of nodes that are found out where anybody asks: of nodes that take all pods nobody does."""

    def __init__(self, find: Callable[[], Iterable[str]]) -> None:
        """Take what finds them."""
        self._find = find

    @cached_property
    def _names(self) -> Collection[str]:
        return dict.fromkeys(self._find()).keys()

    def __contains__(self, name: object) -> bool:
        """Tell whether a node is among them."""
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        """Iterate over them in their order."""
        return iter(self._names)

    def __len__(self) -> int:
        """Return how many they are."""
        return len(self._names)


class Offer(Memo, Mapping[str, NodeSlots]):
    """The slots of nodes by name: jobs that are alike share it, and what follows from it.

    Why a node takes no more is found out where it is asked for: most of it never is.
    """

    def __init__(
        self,
        names: Collection[str],
        counts: Counts,
        on_node: Callable[[str], NodeSlots],
        refused: Callable[[], Iterable[Refused]] | None = None,
        partly: Callable[[], Iterable[Refused]] | None = None,
        refusing: Callable[[], RefusingNodes] | None = None,
    ) -> None:
        """Take what is known.

        Args:
            names: the nodes, in their order.
            counts: how many pods each of them takes.
            on_node: tells also why it takes no more.
            refused: tells why nodes take none, of all these at once; None where they are asked one by one.
            partly: tells the same of nodes that take some, where `refused` is there.
            refusing: tells the same by node, of nodes alike at once; None where they are asked one by one.

        """
        self.names = names
        self.counts = counts
        self.refused = None if refused is None else cache(lambda: tuple(refused()))
        self._on_node = on_node
        self._refusing = None if refusing is None else cache(refusing)
        self._partly = partly
        self._known: dict[str, NodeSlots] = {}

    @classmethod
    def of(cls, nodes: Mapping[str, NodeSlots]) -> "Offer":
        """Return the offer in which all is known."""
        counts = Counts((name, node.slots) for name, node in nodes.items() if node.slots)
        return cls(nodes.keys(), counts, nodes.__getitem__)

    def __getitem__(self, name: str) -> NodeSlots:
        """Return the slots of a node."""
        found = self._known.get(name)
        if found is None:
            if name not in self.names:
                raise KeyError(name)
            found = self._known[name] = self._on_node(name)
        return found

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names of the nodes, in their order."""
        return iter(self.names)

    def __len__(self) -> int:
        """Return how many nodes there are."""
        return len(self.names)

    def among(self, names: Collection[str]) -> "Offer":
        """Return the offer of some of the nodes."""
        if len(names) == len(self.names):
            return self
        chosen = names if isinstance(names, NodeNames) else dict.fromkeys(names).keys()
        return Offer(chosen, self.counts.among(chosen), self.__getitem__)

    def but(self, nodes: Mapping[str, NodeSlots]) -> "Offer":
        """Return the offer with other slots of some nodes."""
        if not nodes:
            return self
        counts = self.counts.but({name: node.slots for name, node in nodes.items()}, self.names)

        def on_node(name: str) -> NodeSlots:
            return nodes[name] if name in nodes else self[name]

        refusing = self.refusing_but({name: node.rejection for name, node in nodes.items()})
        if refusing is None:
            return Offer(self.names, counts, on_node)
        none, some = (lambda: refusing().of_none(counts)), (lambda: refusing().of_some(counts))
        return Offer(self.names, counts, on_node, none, some, refusing)

    def refusing_but(self, nodes: Mapping[str, Reason | None]) -> Callable[[], RefusingNodes] | None:
        """Return what tells why nodes take no more, with other reasons of some, or none; None where all are asked."""
        known = self._refusing
        return None if known is None else cache(lambda: known().but(nodes))

    @cached_property
    def reasons(self) -> tuple[Refused, ...]:
        """Why nodes take no more, and how many; one reason stands for all that are worded the same."""
        if self.refused is None:
            return tuple(Refused(reason, 1) for reason in self.refusals.values())
        return (*self.refused(), *(self._one_by_one() if self._partly is None else self._partly()))

    def _one_by_one(self) -> Iterable[Refused]:
        partly = (self[name].rejection for name in self.counts)
        return (Refused(reason, 1) for reason in partly if reason is not None)

    def refusing(self, is_of_sort: Callable[[Reason], bool]) -> Iterable[str]:
        """Return the nodes that take no more for a reason of some sort, in their order.

        Reasons that are worded the same, and that removing pods could help all or none of, must be of the same sorts.
        """
        if self._refusing is not None:
            return self._refusing().of_sort(is_of_sort)
        return [name for name, reason in self.refusals.items() if is_of_sort(reason)]

    @cached_property
    def worded(self) -> Mapping[str, Reason]:
        """Why nodes take no more, by node: a reason that is worded the same, which another may share."""
        return self._refusing().by_name() if self._refusing is not None else self.refusals

    @cached_property
    def refusals(self) -> Mapping[str, Reason]:
        """Why nodes take no more, of those that do not take all."""
        return {name: node.rejection for name, node in self.items() if node.rejection is not None}
