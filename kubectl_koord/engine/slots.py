"""Offer slots: how many of a gang's pods each node takes (network_topology_solver.go, calculateNodeOfferSlot)."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, ItemsView, Iterable, Iterator, Mapping, Sequence, ValuesView
from functools import cache, cached_property, partial
from itertools import chain, compress, count, groupby, islice, repeat, takewhile
from operator import itemgetter
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.filters import Prepared, rejection, rejection_as_is, reserve, room_for, room_rejection
from kubectl_koord.engine.filters.base import Filter
from kubectl_koord.engine.filters.resources import FREE, short_of, with_room
from kubectl_koord.engine.reasons import Insufficient, Reason, Refused
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.engine.table import (
    NodeNames,
    NodeSet,
    base_with_most,
    differing,
    every_node,
    first_of,
    has,
    members,
    named,
    numbers_of,
    places_touched,
    position_of,
    set_of,
    singles,
    split,
    union,
    with_names,
)
from kubectl_koord.model.hardware import NOTHING
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of
from kubectl_koord.model.values import Memo, recently

_MOST_KINDS = 16
"""Size of the caches of a view by kind of pods."""


_Part: TypeAlias = tuple[Reason, NodeSet]


class NodeSlots(Struct, frozen=True, gc=False):
    """How many pods went onto a node, and why the next did not; no reason when all did."""

    slots: int
    rejection: Reason | None


class Counts(Mapping[str, int]):
    """How many pods nodes take, by name; nodes that are left out take none."""

    def __init__(self, numbers: Mapping[str, int] | Iterable[tuple[str, int]]) -> None:
        self._numbers = dict(numbers)

    @property
    def by_name(self) -> dict[str, int]:
        """The numbers by name, in the order of the nodes."""
        return self._numbers

    def __getitem__(self, name: str) -> int:
        return self.by_name.get(name, 0)

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def __len__(self) -> int:
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
        """Return the counts with other numbers of some nodes; `names` are all nodes, in their order."""
        every = ((name, numbers[name] if name in numbers else self[name]) for name in names)
        return Counts((name, number) for name, number in every if number)


class Levels(Counts):
    """How many pods nodes take: of all names and numbers a list is made only where anybody asks by name."""

    def __init__(self, view: View, sets: Iterable[NodeSet]) -> None:
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
        return isinstance(name, str) and has(self.view, self.at_least(1), name)

    def __iter__(self) -> Iterator[str]:
        return members(self.view, self.at_least(1))

    def __len__(self) -> int:
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
        """Return the levels with other numbers of some nodes."""
        others = ~named(self.view, numbers)
        most = max((len(self.sets), *numbers.values()))
        anew = (named(self.view, (name for name in numbers if numbers[name] >= at)) for at in range(1, most + 1))
        every = (self.at_least(at) & others | nodes for at, nodes in enumerate(anew, 1))
        return Levels(self.view, takewhile(bool, every))


class LazyNames(Collection[str]):
    """Names of nodes that are found out where anybody asks: of nodes that take all pods nobody does."""

    def __init__(self, find: Callable[[], Iterable[str]]) -> None:
        self._find = find

    @cached_property
    def _names(self) -> Collection[str]:
        return dict.fromkeys(self._find()).keys()

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def taking_any(view: View, counts: Counts) -> NodeSet:
    """Return the nodes that take any."""
    return counts.at_least(1) if isinstance(counts, Levels) else with_names(view, counts)


class RefusingNodes:
    """Nodes that take no more, in parts: within each, reasons are worded the same, and removing pods helps all or none.

    `none` finds the parts of nodes that take no pod, `some` those of nodes that take some, where anybody asks for them;
    each has the reason of one of its nodes.
    """

    def __init__(self, view: View, none: Callable[[], Iterable[_Part]], some: Callable[[], Iterable[_Part]]) -> None:
        self._view = view
        self._none = cache(lambda: tuple(none()))
        self._some = cache(lambda: tuple(some()))

    def of_sort(self, is_of_sort: Callable[[Reason], bool]) -> NodeNames:
        """Return the nodes with reasons of some sort, in their order."""
        return NodeNames(self._view, union(nodes for reason, nodes in self._every() if is_of_sort(reason)))

    def by_name(self) -> Mapping[str, Reason]:
        """Return the reasons by node."""
        return {name: reason for reason, nodes in self._every() for name in members(self._view, nodes)}

    def but(self, nodes: Mapping[str, Reason | None], counts: "Counts") -> "RefusingNodes":
        """Return the parts with other reasons of some nodes, or none, where so many pods are taken now."""
        others = ~named(self._view, nodes)
        anew = [(reason, named(self._view, (name,))) for name, reason in nodes.items() if reason is not None]
        taking = cache(partial(taking_any, self._view, counts))
        return RefusingNodes(
            self._view,
            lambda: _among([*_among(self._none(), others), *anew], ~taking()),
            lambda: _among([*_among(self._some(), others), *anew], taking()),
        )

    def of_none(self) -> Iterator[Refused]:
        """Return the reasons of nodes that take no pod, and how many nodes have each."""
        return _counted(self._none())

    def of_some(self) -> Iterator[Refused]:
        """Return the reasons of nodes that take some pods, and how many nodes have each."""
        return _counted(self._some())

    def _every(self) -> Iterator[_Part]:
        return chain(self._none(), self._some())


def _among(parts: Iterable[_Part], nodes: NodeSet) -> Iterator[_Part]:
    return ((reason, left) for reason, held in parts if (left := held & nodes))


def _counted(parts: Iterable[_Part]) -> Iterator[Refused]:
    found: Counter[Reason] = Counter()
    for reason, nodes in parts:
        found[reason] += nodes.bit_count()
    return (Refused(reason, nodes) for reason, nodes in found.items())


class Offer(Memo, Mapping[str, NodeSlots]):
    """The slots of nodes by name, in their order: jobs that are alike share it, and what follows from it.

    Why a node takes no more is found out where it is asked for: `on_node` tells it of one node, `refusing_nodes` of
    nodes alike at once, None where they are asked one by one.
    """

    def __init__(
        self,
        names: Collection[str],
        counts: Counts,
        on_node: Callable[[str], NodeSlots],
        refusing_nodes: RefusingNodes | None = None,
    ) -> None:
        self.names = names
        self.counts = counts
        self.refusing_nodes = refusing_nodes
        self._on_node = on_node
        self._known: dict[str, NodeSlots] = {}

    @classmethod
    def of(cls, nodes: Mapping[str, NodeSlots]) -> "Offer":
        """Return the offer in which all is known."""
        counts = Counts((name, node.slots) for name, node in nodes.items() if node.slots)
        return cls(nodes.keys(), counts, nodes.__getitem__)

    def __getitem__(self, name: str) -> NodeSlots:
        found = self._known.get(name)
        if found is None:
            if name not in self.names:
                raise KeyError(name)
            found = self._known[name] = self._on_node(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
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
        rejections = {name: node.rejection for name, node in nodes.items()}
        refusing = self.refusing_nodes and self.refusing_nodes.but(rejections, counts)
        return Offer(self.names, counts, lambda name: nodes[name] if name in nodes else self[name], refusing)

    @cached_property
    def refused(self) -> tuple[Refused, ...]:
        """Why nodes take no pod, and how many."""
        if self.refusing_nodes is not None:
            return tuple(self.refusing_nodes.of_none())
        return tuple(Refused(reason, 1) for name, reason in self.refusals.items() if name not in self.counts)

    @cached_property
    def reasons(self) -> tuple[Refused, ...]:
        """Why nodes take no more, and how many; one reason stands for all that are worded the same."""
        if self.refusing_nodes is not None:
            return *self.refused, *self.refusing_nodes.of_some()
        return tuple(Refused(reason, 1) for reason in self.refusals.values())

    def refusing(self, is_of_sort: Callable[[Reason], bool]) -> Iterable[str]:
        """Return the nodes that take no more for a reason of some sort, in their order.

        Reasons that are worded the same, and that removing pods could help all or none of, must be of the same sorts.
        """
        if self.refusing_nodes is not None:
            return self.refusing_nodes.of_sort(is_of_sort)
        return [name for name, reason in self.refusals.items() if is_of_sort(reason)]

    def left_where_short(self, resource: str, prepared: Prepared) -> Sequence[int]:
        """Return how much of a resource is left on each node that takes no more for too little of it.

        `prepared` is what the nodes were asked with.
        """
        names = self.refusing(lambda reason: _left(reason, resource) is not None)
        if not isinstance(names, NodeNames):
            return [left for name in names if (left := _left(self.refusals[name], resource)) is not None]
        view, nodes = names.view, names.nodes
        apart = taking_any(view, self.counts) | named(view, filter(view.names().__contains__, prepared.nominated))
        apart |= counted_singly(view, (check for check in prepared.checks if check.depends_on == "room"))
        asked = (_left(self._on_node(name).rejection, resource) for name in members(view, nodes & apart))
        strangers = (max(0, left) for left in numbers_of(view, nodes & ~apart, FREE, resource))
        return [*strangers, *(left for left in asked if left is not None)]

    @cached_property
    def worded(self) -> Mapping[str, Reason]:
        """Why nodes take no more, by node: a reason that is worded the same, which another may share."""
        return self.refusing_nodes.by_name() if self.refusing_nodes is not None else self.refusals

    @cached_property
    def refusals(self) -> Mapping[str, Reason]:
        """Why nodes take no more, of those that do not take all."""
        return {name: node.rejection for name, node in self.items() if node.rejection is not None}


def _left(reason: Reason | None, resource: str) -> int | None:
    """Return how much is left of a resource of which there is too little, None where a reason is not that."""
    short = reason.short if isinstance(reason, Insufficient) else ()
    return next((max(0, left) for what, _, left in short if what == resource), None)


_Kinds: TypeAlias = tuple[tuple[PodRequirements, int], ...]
"""Pods in index order: how many with equal requirements follow each other."""


def in_index_order(pods: Iterable[PendingPod]) -> tuple[PendingPod, ...]:
    """Return the pods in the order in which slots are counted: by index, then name.

    Mirrors `SortPodsByIndex` in apis/extension/network_topology.go.
    """
    return tuple(sorted(pods, key=lambda pod: (pod.index is None, pod.index or 0, pod.name, pod.namespace)))


def runs_of(pods: Sequence[PendingPod]) -> tuple[tuple[PendingPod, ...], ...]:
    """Group neighbours that are alike to every filter, so that they can be counted at once."""
    return tuple(tuple(run) for _, run in groupby(pods, key=lambda pod: pod.requirements))


def offer_slots(view: View, names: Collection[str], pods: Sequence[PendingPod], prepared: Prepared) -> Offer:
    """Return the offer slots of the named nodes for the pods, which must be in index order.

    Mirrors `calculateNodeOfferSlot` in coscheduling/core/network_topology_solver.go.
    """
    runs, asked = runs_of(pods), prepared.trigger.requirements
    starts_alike = bool(runs) and pods[0].requirements == asked
    if prepared.counts_only_room and starts_alike and len(runs) == 1:
        every = _offer_alike(view, len(pods), asked, prepared.checks)
    elif prepared.counts_only_room:
        kinds = tuple((run[0].requirements, len(run)) for run in runs)
        every = _offer_unequal(view, kinds, asked, prepared.checks)
    elif starts_alike:
        every = _beside_others(view, runs, prepared)
    else:
        return offer_of_each(view, names, pods, prepared)
    nominated = (name for name in prepared.nominated if name in names)
    return every.among(names).but({name: _on_node(view.state(name), runs, prepared) for name in nominated})


def offer_of_each(view: View, names: Collection[str], pods: Sequence[PendingPod], prepared: Prepared) -> Offer:
    """Return the offer slots of few nodes, asking each by itself: the cost does not grow with the cluster."""
    runs = runs_of(pods)
    return Offer.of({name: _on_node(view.state(name), runs, prepared) for name in names})


@recently(_MOST_KINDS)
def _offer_alike(view: View, most: int, requirements: PodRequirements, checks: tuple[Filter, ...]) -> Offer:
    """Return the slots of all nodes for so many equal pods like the trigger."""
    pod = any_pod_of(requirements)
    taking = room_of(view, requirements, checks).levels(most)
    all_in = NodeSlots(most, None)

    def on_node(name: str) -> NodeSlots:
        is_all_in = has(view, taking.at_least(most), name)
        return all_in if is_all_in else _without_limit(view.state(name), Prepared(pod, checks))

    parts = _running_out(view, [held for held in taking.exactly() if held[0] < most], pod, checks)
    none, some = partial(refusing, view, requirements, checks), partial(_rejecting, view, on_node, parts)
    return Offer(view.names(), taking, on_node, RefusingNodes(view, none, some))


@recently(_MOST_KINDS)
def _offer_unequal(view: View, kinds: _Kinds, requirements: PodRequirements, checks: tuple[Filter, ...]) -> Offer:
    return Offer.of(view.per_node(_in_runs, kinds, requirements, checks))


def _in_runs(
    view: View, kinds: _Kinds, requirements: PodRequirements, checks: tuple[Filter, ...]
) -> Callable[[str], NodeSlots]:
    one = Prepared(any_pod_of(requirements), checks)
    runs = tuple((any_pod_of(each),) * number for each, number in kinds)
    return lambda name: _on_node(view.state(name), runs, one)


def _beside_others(view: View, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> Offer:
    """Return the slots of all nodes for pods of which each counts for the next, as if no pod were nominated.

    Nodes that refuse even the first pod, which asks for the same as the trigger, are not asked one by one.
    What the filters leave that look at nobody else what-ifs share, too.
    """
    first, alone = runs[0][0], prepared.alone(prepared.trigger)
    lasting = tuple(check for check in prepared.checks if check.depends_on != "pods")
    others = tuple(check for check in prepared.checks if check.depends_on == "pods")
    room = room_of(view, first.requirements, lasting).levels(sum(map(len, runs)))
    left = passing(view, first, others, room.at_least(1))
    pods = [pod for run in runs for pod in run]

    def on_node(name: str) -> NodeSlots:
        return _one_by_one(view.state(name), pods, alone)

    none = partial(refusing_beside, view, first, prepared.checks)
    if len(pods) == 1:
        return Offer(view.names(), Levels(view, (left,) if left else ()), on_node, RefusingNodes(view, none, tuple))
    if len(runs) > 1:
        counts = Counts((name, on_node(name).slots) for name in members(view, left))
        one_by_one = partial(_rejecting, view, on_node, singles(left))
        return Offer(view.names(), counts, on_node, RefusingNodes(view, none, one_by_one))
    parts = _most_beside(view, pods, structs.replace(alone, checks=others), room, left)
    sets = [nodes & union(part for part, most in parts if most >= number) for number, nodes in room.by_number()]

    def alike() -> Iterator[NodeSet]:
        for part, most in parts:
            short = [(number, nodes & part) for number, nodes in room.exactly() if number < len(pods)]
            yield from _running_out(view, [held for held in short if held[0] < most], first, lasting)
            yield from _running_out(view, [held for held in short if held[0] == most], first, lasting)
            yield from split(part & room.at_least(most + 1))

    some = partial(_rejecting, view, on_node, alike())
    return Offer(view.names(), Levels(view, filter(None, sets)), on_node, RefusingNodes(view, none, some))


def _most_beside(
    view: View, pods: Sequence[PendingPod], others: Prepared, room: Levels, nodes: NodeSet
) -> Sequence[tuple[NodeSet, int]]:
    """Return how many of these pods, which are alike, nodes take by the filters that look at who is there.

    Of nodes that are alike in that one is asked, about as many as there is room for on the roomiest.
    """
    parts = [nodes] if nodes else []
    for check in others.checks:
        parts = [part for whole in parts for part in check.parts(view, pods, whole)]
    found = []
    for part in parts:
        roomy = sum(1 for nodes in room.sets if nodes & part)
        state = view.state(first_of(view, part))
        found.append((part, _one_by_one(state, pods[:roomy], others).slots if roomy > 1 else 1))
    return found


def _running_out(
    view: View, taking: Collection[tuple[int, NodeSet]], pod: PendingPod, checks: Iterable[Filter]
) -> Iterator[NodeSet]:
    """Yield nodes grouped by what is short there for the next pod; `taking` has how many they take before it."""
    singly = counted_singly(view, checks)
    one_more = ((number + 1, nodes & ~singly) for number, nodes in taking)
    yield from short_of(view, one_more, pod.requirements.requests)
    for _, nodes in taking:
        yield from singles(nodes & singly)


def _rejecting(view: View, on_node: Callable[[str], NodeSlots], parts: Iterable[NodeSet]) -> Iterator[_Part]:
    """Yield the parts of nodes that do not take all pods, each with the reason of its first node."""
    asked = ((on_node(first_of(view, part)).rejection, part) for part in parts)
    return ((reason, part) for reason, part in asked if reason is not None)


class Room:
    """How many pods of a kind nodes take, were there any number of them; found out as far as anybody asks."""

    def __init__(self, view: View, prepared: Prepared, below: "Room | None") -> None:
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
def room_of(view: View, requirements: PodRequirements, checks: tuple[Filter, ...]) -> Room:
    """Return how many pods of these requirements nodes take: gangs of any size share it, and what-ifs."""
    base = base_with_most(view)
    below = room_of(base, requirements, checks) if base is not None else None
    return below if below and not view.touched() else Room(view, Prepared(any_pod_of(requirements), checks), below)


def taking(view: View, requirements: PodRequirements, checks: tuple[Filter, ...]) -> NodeSet:
    """Return the nodes that take a pod of these requirements."""
    left = every_node(view)
    for refusing in lost(view, requirements, checks):
        left &= ~refusing
    return left


@recently(_MOST_KINDS)
def lost(view: View, requirements: PodRequirements, checks: tuple[Filter, ...]) -> tuple[NodeSet, ...]:
    """Return by filter the nodes that it refuses of those that pass the filters before it.

    Of a what-if only nodes that differ are asked anew.
    """
    pod, base = any_pod_of(requirements), base_with_most(view)
    if base is None:
        return _lost(view, pod, checks)
    changed = differing(view)
    found = [nodes & ~changed for nodes in lost(base, requirements, checks)]
    for name, position in places_touched(view).items():
        state = view.state(name)
        refusing = (check.reject(pod, state, requirements) is not None for check in checks)
        for at in islice(compress(count(), refusing), 1):
            found[at] |= set_of(view, (position,))
    return tuple(found)


def _lost(view: View, pod: PendingPod, checks: Iterable[Filter]) -> tuple[NodeSet, ...]:
    left, found = every_node(view), []
    for check in checks:
        found.append(check.refused(view, pod, left) if left else 0)
        left &= ~found[-1]
    return tuple(found)


def passing(view: View, pod: PendingPod, checks: Iterable[Filter], among: NodeSet) -> NodeSet:
    """Return the nodes of a set that take a pod which asks for the same as the trigger."""
    for check in checks:
        among &= ~check.refused(view, pod, among) if among else 0
    return among


def counted_singly(view: View, checks: Iterable[Filter]) -> NodeSet:
    """Return the nodes on which more than what is free for strangers tells how many pods there is room for."""
    found = 0
    for check in checks:
        found |= check.counted_singly(view)
    return found


@recently(_MOST_KINDS)
def refusing(view: View, requirements: PodRequirements, checks: tuple[Filter, ...]) -> Sequence[_Part]:
    """Return in such parts the nodes that take not one pod of these requirements.

    Of a what-if only nodes that differ are asked anew.
    """
    pod, base = any_pod_of(requirements), base_with_most(view)
    one = Prepared(pod, checks)
    if base is None:
        every = zip(checks, lost(view, requirements, checks), strict=True)
        asked: Iterable[NodeSet] = (
            part for check, nodes in every if nodes for part in check.parts(view, (pod,), nodes)
        )
        found: Sequence[_Part] = ()
    else:
        asked, others = singles(differing(view)), ~differing(view)
        before = ((reason, nodes & others) for reason, nodes in refusing(base, requirements, checks))
        found = [part for part in before if part[1]]
    reasons = ((rejection_as_is(pod, view.state(first_of(view, part)), one), part) for part in asked)
    return (*found, *((reason, part) for reason, part in reasons if reason is not None))


def refusing_beside(view: View, pod: PendingPod, checks: tuple[Filter, ...]) -> Iterator[tuple[Reason, NodeSet]]:
    """Yield the parts that refuse a pod where some filters look at who is there; what the others refuse is cached."""
    lasting = tuple(check for check in checks if check.depends_on != "pods")
    known = dict(zip(map(id, lasting), lost(view, pod.requirements, lasting), strict=True))
    left = every_node(view)
    for check in checks:
        lost_here = known[id(check)] & left if id(check) in known else check.refused(view, pod, left) if left else 0
        parts = check.parts(view, (pod,), lost_here) if lost_here else ()
        asked = ((check.reject(pod, view.state(first_of(view, part)), pod.requirements), part) for part in parts)
        yield from ((reason, part) for reason, part in asked if reason is not None)
        left &= ~lost_here


def slots_on(state: NodeState, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> int:
    """Return the offer slots of one node in whatever state, for the runs of pods in index order."""
    return _on_node(state, runs, prepared).slots


def _on_node(state: NodeState, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> NodeSlots:
    if prepared.counts_only_room and state.node.name not in prepared.nominated:
        return _by_room(state, runs, prepared)
    return _one_by_one(state, [pod for run in runs for pod in run], prepared)


def _one_by_one(state: NodeState, pods: Sequence[PendingPod], prepared: Prepared) -> NodeSlots:
    left = state
    for taken, pod in enumerate(pods):
        reason = rejection(pod, left, prepared)
        if reason is not None:
            return NodeSlots(taken, reason)
        if left is state:
            left = state.copy()
        left.add(pod)
    return NodeSlots(len(pods), None)


def _by_room(state: NodeState, runs: Sequence[Sequence[PendingPod]], prepared: Prepared) -> NodeSlots:
    """Count like `_one_by_one`, by division: only room can run out."""
    total = 0
    left = state
    for run in runs:
        reason = rejection_as_is(run[0], left, prepared)
        if reason is not None:
            return NodeSlots(total, reason)
        each = run[0].requirements.requests
        count = min(len(run), room_for(left, each, prepared))
        left = _with_many(left, each, count)
        total += count
        if count < len(run):
            return NodeSlots(total, room_rejection(run[0], left, prepared))
    return NodeSlots(total, None)


def _without_limit(state: NodeState, prepared: Prepared) -> NodeSlots:
    """Return how many pods like the trigger a node takes, were there any number of them."""
    reason = rejection_as_is(prepared.trigger, state, prepared)
    if reason is not None:
        return NodeSlots(0, reason)
    each = prepared.trigger.requirements.requests
    count = room_for(state, each, prepared)
    return NodeSlots(count, room_rejection(prepared.trigger, _with_many(state, each, count), prepared))


def _with_many(state: NodeState, each: Iterable[tuple[str, int]], count: int) -> NodeState:
    left = state.copy()
    for resource, amount in each:
        left.free[resource] = left.free.get(resource, 0) - amount * count
    left.places -= count
    return left


def crowded(state: NodeState, pods: Sequence[PendingPod], slots: int) -> NodeState:
    """Return the node as counting leaves it: with the pods that went in, save the very last member."""
    left = state.copy()
    for pod in pods[: min(slots, len(pods) - 1)]:
        left.add(pod)
    return left


def places(state: NodeState, pods: Sequence[PendingPod], prepared: Prepared) -> NodeSlots:
    """Return how many pods a node takes when each is placed with all that is booked for it, before the next is tried.

    Unlike offer slots, this is what becomes of pods that are scheduled one by one.
    """
    left = state.copy()
    for taken, pod in enumerate(pods):
        found = rejection(pod, left, prepared) or reserve(pod, left, prepared)
        if not isinstance(found, PendingPod):
            return NodeSlots(taken, found)
        if found.allocations is NOTHING and found.requirements is pods[-1].requirements:
            return _places_unbooked(left, found, pods[taken:], prepared, taken)
        left.add(found)
    return NodeSlots(len(pods), None)


def _places_unbooked(
    state: NodeState, placed: PendingPod, pods: Sequence[PendingPod], prepared: Prepared, before: int
) -> NodeSlots:
    """Bisect for how many equal pods a node takes where nothing is booked: what refuses one, refuses all after it."""

    def refusal(number: int) -> Reason | None:
        left = state.copy()
        for _ in range(number):
            left.add(placed)
        return rejection(placed, left, prepared)

    last = refusal(len(pods) - 1)
    if last is None:
        return NodeSlots(before + len(pods), None)
    first = bisect_left(range(len(pods) - 1), x=True, key=lambda number: refusal(number) is not None)
    return NodeSlots(before + first, refusal(first))
