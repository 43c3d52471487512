"""Pods on nodes that somebody asks about: how many are on each node, asking those alone that may be meant."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import compress, count, repeat
from operator import attrgetter, contains
from typing import Protocol, TypeVar

from kubectl_koord.engine.columns import base_with_most, names_of, occupants_of
from kubectl_koord.engine.node_state import Occupant, Room
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import AnyLabels, NodePods, PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.packed import values_of
from kubectl_koord.model.values.selectors import Selector

T = TypeVar("T")


class Question(Protocol):
    """Which occupants are meant; hashable, and equal where the answers are."""

    @property
    def namespaces(self) -> Collection[str] | None:
        """Where they are, None for everywhere."""

    @property
    def selectors(self) -> Iterable[Selector]:
        """What their labels match, all of it."""

    def __call__(self, occupant: Occupant, /) -> bool:
        """Tell whether an occupant is one of them."""

    def __hash__(self) -> int:
        """Hash it."""


@memoised
def number_on(view: View, question: Question) -> Mapping[str, int]:
    """Return by node how many occupants are meant, nodes with none left out; a what-if asks only what differs."""
    base, trial = view.layers()[0], view.trial()
    if base is not None:
        now = {name: number for name, there in occupied(view) if (number := sum(map(question, there)))}
        return laid_over(number_on(base, question), view, now)
    if trial is not None:
        there, gone = trial
        left = {name: n - sum(map(question, gone.get(name, ()))) for name, n in number_on(there, question).items()}
        return {name: number for name, number in left.items() if number}
    known = _by_namespace(view.snapshot)
    asked = known if question.namespaces is None else sorted(known.keys() & question.namespaces)
    rooms = (room for namespace in asked for room in known[namespace].matching(question.selectors))
    return Counter(room.node for room in rooms if question(room))


def laid_over(before: Mapping[str, T], view: View, now: dict[str, T]) -> Mapping[str, T]:
    """Return what is known of the view below with what is of nodes that differ; the same where none of it does."""
    changed = view.touched()
    if now == {name: before[name] for name in before.keys() & changed}:
        return before
    return {name: known for name, known in before.items() if name not in changed} | now


@memoised
def occupied(view: View) -> tuple[tuple[str, tuple[Occupant, ...]], ...]:
    """Return the nodes that differ from the view below, as far as anybody is there, and who."""
    known = view.names()
    return tuple([(name, there) for name in view.touched() if name in known and (there := view.occupants(name))])


@memoised
def placed_members(view: View) -> Mapping[str, tuple[PendingPod, ...]]:
    """Return by node the members that were placed there, with what is booked for them; nodes with none are left out."""
    base, trial = base_with_most(view), view.trial()
    if base is not None:
        asked = view.touched()
        others = {name: pods for name, pods in placed_members(base).items() if name not in asked}
        return others | _members_of((name, view.occupants(name)) for name in asked)
    if trial is not None:
        return _members_of((name, view.occupants(name)) for name in placed_members(trial[0]))
    return _members_of(zip(names_of(view), occupants_of(view), strict=True))


def _members_of(there: Iterable[tuple[str, tuple[Occupant, ...]]]) -> dict[str, tuple[PendingPod, ...]]:
    found = {}
    for name, pods in there:
        if pods and not isinstance(pods, NodePods):
            members = [pod for pod in pods if isinstance(pod, PendingPod) and pod.allocations is not None]
            if members:
                found[name] = tuple(members)
    return found


class _Namespace:
    """Who is there in a namespace, and which different labels they have."""

    def __init__(self) -> None:
        self.rooms: list[Room] = []

    def matching(self, selectors: Iterable[Selector]) -> Iterable[Room]:
        """Return all whose labels match, and a few more: whether a value is among labels their bytes tell soon."""
        labels, values = self._distinct
        found = set(range(len(labels)))
        for one in (one for selector in selectors for one in selector.requirements if one.operator == "In"):
            texts = map(str.encode, one.values)
            found &= {at for text in texts for at in compress(count(), map(contains, values, repeat(text)))}
        ids = {id(labels[at]) for at in found}
        return [room for room in self.rooms if id(room.labels) in ids] if ids else ()

    @cached_property
    def _distinct(self) -> tuple[Sequence[AnyLabels], Sequence[bytes]]:
        """The labels, those that pods share once, and the values of each."""
        every = [*map(attrgetter("labels"), self.rooms)]
        labels = [*dict(zip(map(id, every), every, strict=True)).values()]
        return labels, [*map(values_of, labels)]


@memoised
def _by_namespace(snapshot: Snapshot) -> Mapping[str, _Namespace]:
    found: dict[str, _Namespace] = defaultdict(_Namespace)
    for name in snapshot.nodes:
        for pod in snapshot.running.get(name, ()):
            found[pod.namespace].rooms.append(pod)
    for room in snapshot.reserved:
        if room.node in snapshot.nodes:
            found[room.namespace].rooms.append(room)
    return dict(found)
