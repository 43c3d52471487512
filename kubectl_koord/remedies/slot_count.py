"""The slots of a gang as one attempt counts them: what is short where, and what a change would bring."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct

from kubectl_koord.diagnosis import evidence
from kubectl_koord.engine.attempts.attempt import Attempt, needed
from kubectl_koord.engine.columns import members
from kubectl_koord.engine.offer import Counts
from kubectl_koord.engine.reservations import reserved_nodes
from kubectl_koord.engine.slots import in_index_order, offer_slots, runs_of, slots_on
from kubectl_koord.engine.subjects import PodSubject
from kubectl_koord.engine.tree import Domain
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import ReservedRoom, Resources, RunningPod
from kubectl_koord.simulation.simulation import Simulation


class Shortage(Struct, frozen=True):
    """A place that lacks slots: a domain of the start set, or the whole cluster (domain None)."""

    domain: Domain | None
    missing: int
    nodes: tuple[str, ...]

    @property
    def named(self) -> Domain | None:
        """The domain, None for the whole cluster, which a plan and no plan have in common."""
        return self.domain if self.domain is not None and self.domain.name else None


class SlotCount:
    """How slots are counted by one trigger, in the view of the attempt that failed, with the pods that are nominated.

    What is short and what a change brings are numbers of the same kind, so that they may be compared.
    """

    def __init__(self, simulation: Simulation, view: View, first: Attempt) -> None:
        """Keep them; nothing is computed yet."""
        self.simulation = simulation
        self.view = view
        self.first = first
        self.members = in_index_order(simulation.subject.pending)
        self._runs = runs_of(self.members)
        self._slots: dict[View, Counts] = {}
        self._most: dict[Resources, int] = {}

    def shorts(self) -> Iterator[Shortage]:
        """Yield the places that lack slots, those that lack the fewest first."""
        plan = self.first.plan
        if plan is None:
            yield Shortage(None, max(1, self.wanted - placed_members(self.first)), tuple(self.view.names()))
            return
        ranked = sorted(plan.start, key=lambda index: (-plan.raw[index], index))
        for index in ranked:
            domain = plan.tree.domains[index]
            multiple = self.multiples.get(domain.layer, 1)
            missing = max(1, -(-plan.desired // multiple) * multiple - plan.raw[index])
            yield Shortage(domain, missing, tuple(plan.tree.nodes_below(index)))

    @property
    def multiples(self) -> Mapping[str, int]:
        """The pod count multiples by layer, none for an attempt without a plan."""
        return self.simulation.multiples if self.first.plan is not None else {}

    @property
    def wanted(self) -> int:
        """How many pods of a gang without a plan must find a place at once."""
        subject = self.simulation.subject
        if isinstance(subject, PodSubject) or subject.group.is_satisfied():
            return 1
        return sum(needed(subject.group).values())

    def slots(self, view: View) -> Counts:
        """Return the gang's slots by node in a variant of the cluster; for a gang without a plan beyond its number."""
        if view not in self._slots:
            self._slots[view] = offer_slots(view, view.names(), self.members, self.first.prepared).counts
        return self._slots[view]

    @cached_property
    def empty_slots(self) -> Counts:
        """The slots by node with no pods there, no node cordoned and no pod nominated."""
        return evidence.slots_in(evidence.empty_view(self.view), self.simulation, self.first)

    @cached_property
    def fresh_slots(self) -> Counts:
        """The same of nodes that are new, on which no load is measured."""
        return evidence.slots_in(evidence.fresh_view(self.view), self.simulation, self.first)

    def most_on(self, name: str) -> int:
        """Return a bound of the slots that a node has whoever goes: what it has of each resource, used or not."""
        if name in self._reserved:
            return len(self.members)
        allocatable = self.view.node(name).allocatable
        if allocatable not in self._most:
            self._most[allocatable] = self._bound(dict(allocatable))
        return self._most[allocatable]

    def _bound(self, there: Mapping[str, int]) -> int:
        """Return how many members go on a node with so much, where one after the other they are alike; else any do."""
        each = self.first.prepared.trigger.requirements.requests
        most = min((there.get(resource, 0) // amount for resource, amount in each if amount), default=len(self.members))
        return min(most, len(self.members)) if len(self._runs) == 1 or not most else len(self.members)

    def most_without(self, node: str, pods: Sequence[RunningPod]) -> int:
        """Return a bound of the slots that a node has once some of its pods are gone: what is free of each resource."""
        if node in self._reserved or len(self._runs) > 1:
            return len(self.members)
        free = self.view.state(node).free
        given = [dict(pod.requirements.requests) for pod in pods]
        return min(
            (
                (free.get(resource, 0) + sum(one.get(resource, 0) for one in given)) // amount
                for resource, amount in self.first.prepared.trigger.requirements.requests
                if amount
            ),
            default=len(self.members),
        )

    @cached_property
    def _reserved(self) -> frozenset[str]:
        """The nodes on which what is reserved may be given back."""
        return frozenset(members(self.view, reserved_nodes(self.view)))

    def slots_without(self, node: str, pods: Sequence[RunningPod | ReservedRoom]) -> int:
        """Return the gang's slots on a node once some of its pods are gone."""
        state = self.view.state(node).copy()
        for pod in pods:
            state.remove(pod)
        return slots_on(state, self._runs, self.first.prepared)


def placed_members(first: Attempt) -> int:
    """Return how many members had found a node when an attempt failed."""
    return sum(len(pods) for pods in first.waiting.values())


def in_domain(names: Collection[str], gains: Mapping[str, int]) -> list[tuple[int, str]]:
    """Return the nodes among these that gain something, the best first."""
    found = [(gains[name], name) for name in names if gains.get(name, 0) > 0]
    return sorted(found, key=lambda item: (-item[0], item[1]))
