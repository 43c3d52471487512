"""How many pods nodes take, as sets of nodes: those that take one at least, those that take two, and so on."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import repeat, takewhile

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    differing,
    has,
    members,
    named,
    places_touched,
    position_of,
    set_of,
)
from kubectl_koord.engine.fit import Prepared, rejection_as_is, room_for
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.fit.resources import with_room
from kubectl_koord.engine.node_names import with_names
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.offer import Counts
from kubectl_koord.engine.passing import counted_singly, taking
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PodRequirements, any_pod_of
from kubectl_koord.model.values.memo import recently

_MOST_KINDS = 16
"""Of so many kinds of pods a view keeps how many its nodes take."""


class Levels(Counts):
    """How many pods nodes take: of all names and numbers a list is made only where anybody asks by name."""

    def __init__(self, view: View, sets: Iterable[NodeSet]) -> None:
        """Take the nodes that take one pod at least, those that take two, and so on: none of the sets is empty."""
        self.view = view
        self.sets = tuple(sets)

    @cached_property
    def by_name(self) -> dict[str, int]:
        """The numbers by name, in the order of the nodes."""
        found = dict.fromkeys(members(self.view, self.at_least(1)), 1)
        for number, nodes in self.exactly():
            found.update(dict.fromkeys(members(self.view, nodes), number) if number > 1 else ())
        return found

    def at_least(self, number: int) -> NodeSet:
        """Return the nodes that take so many pods, one at least."""
        return self.sets[number - 1] if number <= len(self.sets) else 0

    def by_number(self) -> Iterable[tuple[int, NodeSet]]:
        """Return numbers of pods with the nodes that take so many at least, as long as any does."""
        return enumerate(self.sets, 1)

    def exactly(self) -> Iterator[tuple[int, NodeSet]]:
        """Yield numbers of pods and the nodes that take just so many, the fewest first."""
        for number, nodes in self.by_number():
            yield number, nodes & ~self.at_least(number + 1)

    def __contains__(self, name: object) -> bool:
        """Tell whether a node takes any."""
        return isinstance(name, str) and has(self.view, self.at_least(1), name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the nodes that take any, in their order."""
        return members(self.view, self.at_least(1))

    def __len__(self) -> int:
        """Return how many nodes take any."""
        return self.at_least(1).bit_count()

    def total(self) -> int:
        """Return the sum over the nodes."""
        return sum(nodes.bit_count() for nodes in self.sets)

    def most_first(self) -> Iterator[tuple[str, int]]:
        """Yield the nodes that take any and how many, those first that take most."""
        for number, nodes in reversed([*self.exactly()]):
            yield from zip(members(self.view, nodes), repeat(number))

    def among(self, names: Collection[str]) -> "Levels":
        """Return those of some of the nodes."""
        chosen = with_names(self.view, names)
        return Levels(self.view, [left for nodes in self.sets if (left := nodes & chosen)])

    def but(self, numbers: Mapping[str, int], _names: Iterable[str]) -> "Levels":
        """Return the same with other numbers of some nodes."""
        others = ~named(self.view, numbers)
        most = max((len(self.sets), *numbers.values()))
        anew = (named(self.view, (name for name in numbers if numbers[name] >= at)) for at in range(1, most + 1))
        every = (self.at_least(at) & others | nodes for at, nodes in enumerate(anew, 1))
        return Levels(self.view, takewhile(bool, every))


def taking_any(view: View, counts: Counts) -> NodeSet:
    """Return the nodes that take any."""
    return counts.at_least(1) if isinstance(counts, Levels) else with_names(view, counts)


class Room:
    """How many pods of a kind nodes take, were there any number of them; found out as far as anybody asks."""

    def __init__(self, view: View, prepared: Prepared, below: "Room | None") -> None:
        """Take what such pods are prepared with, and the same of the view below, where few nodes are not as there."""
        self._view = view
        self._prepared = prepared
        self._below = below
        self._sets: list[NodeSet] = []

    def levels(self, most: int) -> Levels:
        """Return how many nodes take, of so many pods."""
        while len(self._sets) < most and all(self._sets[-1:]):
            self._sets.append(self._at_least(len(self._sets) + 1))
        return Levels(self._view, [nodes for nodes in self._sets[:most] if nodes])

    def _at_least(self, number: int) -> NodeSet:
        singly = set_of(self._view, (position for position, most in self._singly.items() if most >= number))
        if self._below is not None:
            return self._below.levels(number).at_least(number) & ~differing(self._view) | singly
        return with_room(self._view, self._plain, self._prepared.trigger.requirements.requests, number) | singly

    @cached_property
    def _taking(self) -> NodeSet:
        return taking(self._view, self._prepared.trigger.requirements, self._prepared.checks)

    @cached_property
    def _plain(self) -> NodeSet:
        """The nodes that take one and on which what is free for strangers tells how many there is room for."""
        return self._taking & ~counted_singly(self._view, self._prepared.checks)

    @cached_property
    def _singly(self) -> Mapping[int, int]:
        """How many pods those nodes take that are asked one by one, by position: in a what-if those that differ."""
        view, known = self._view, position_of(self._view)
        if self._below is not None:
            return {position: self._on_node(view.state(name)) for name, position in places_touched(view).items()}
        names = members(view, self._taking & ~self._plain)
        return {known[name]: self._room(view.state(name)) for name in names}

    def _on_node(self, state: NodeState) -> int:
        is_refused = rejection_as_is(self._prepared.trigger, state, self._prepared) is not None
        return 0 if is_refused else self._room(state)

    def _room(self, state: NodeState) -> int:
        return room_for(state, self._prepared.trigger.requirements.requests, self._prepared)


@recently(_MOST_KINDS)
def room_of(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> Room:
    """Return how many pods of these requirements nodes take: gangs of any size share it, and what-ifs."""
    base = base_with_most(view)
    below = room_of(base, requirements, checks) if base is not None else None
    return below if below and not view.touched() else Room(view, Prepared(any_pod_of(requirements), checks), below)
