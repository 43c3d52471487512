"""Pods on nodes that somebody asks about: how many are on each node, asking those alone that are in reach."""

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from kubectl_koord.engine.columns import base_with_most, names_of, occupants_of
from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import NodePods, PendingPod
from kubectl_koord.model.values.memo import memoised


class Question(Protocol):
    """Which occupants are meant; hashable, and equal where the answers are."""

    @property
    def namespaces(self) -> Collection[str] | None:
        """Where they are, None for everywhere."""

    def __call__(self, occupant: Occupant, /) -> bool:
        """Tell whether an occupant is one of them."""

    def __hash__(self) -> int:
        """Hash it."""


@memoised
def number_on(view: View, question: Question) -> Mapping[str, int]:
    """Return by node how many occupants are meant, nodes with none left out; a what-if asks only what differs."""
    base = view.layers()[0]
    if base is None:
        found: dict[str, int] = {}
        for name, occupant in _in_reach(view, question.namespaces):
            if question(occupant):
                found[name] = found.get(name, 0) + 1
        return found
    before, changed = number_on(base, question), view.touched()
    now = {name: sum(map(question, view.occupants(name))) for name in changed}
    if all(before.get(name, 0) == number for name, number in now.items()):
        return before
    return {name: number for name, number in {**before, **now}.items() if number}


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


def _in_reach(view: View, namespaces: Collection[str] | None) -> Iterable[tuple[str, Occupant]]:
    if namespaces is None:
        return ((name, occupant) for name in view.names() for occupant in view.occupants(name))
    known = _by_namespace(view)
    return (one for namespace in set(namespaces) if namespace in known for one in zip(*known[namespace], strict=True))


@memoised
def _by_namespace(view: View) -> Mapping[str, tuple[list[str], list[Occupant]]]:
    """Return the occupants of each namespace, and their nodes beside them."""
    found: dict[str, tuple[list[str], list[Occupant]]] = {}
    for name in view.names():
        for occupant in view.occupants(name):
            names, occupants = found.setdefault(occupant.namespace, ([], []))
            names.append(name)
            occupants.append(occupant)
    return found
