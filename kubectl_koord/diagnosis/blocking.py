"""Which running pods are in the way of slots: few, and those whose end costs least, found by counting without them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.diagnosis import disruption
from kubectl_koord.engine.attempts.attempt import Attempt
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.slots import in_index_order, runs_of, slots_on
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.simulation.simulation import Simulation

_Cost: TypeAlias = tuple[int, int, int]
"""How many pods harm others by their end, how many there are, and their priorities together."""

_MOST_NODES = 64


class Blocking(Struct, frozen=True):
    """Pods of one node, and how many slots their end brings."""

    node: str
    pods: tuple[RunningPod, ...]
    gain: int
    cost: _Cost


class InTheWay:
    """The pods that are in the way of a subject in one attempt, looked for place by place within a budget."""

    def __init__(self, simulation: Simulation, first: Attempt, budget: Budget) -> None:
        """Keep them; a step of the budget is to count the slots of one node."""
        self._simulation = simulation
        self._view = simulation.view
        self._prepared = first.prepared
        self._runs = runs_of(in_index_order(simulation.subject.pending))
        self._requests = first.prepared.trigger.requirements.requests
        self._budget = budget

    def fewest(
        self, nodes: Iterable[str], slots: Mapping[str, int], missing: int, holds: Callable[[Mapping[str, int]], bool]
    ) -> tuple[Blocking, ...]:
        """Return the pods of as few nodes as it takes whose end brings so many slots; none where none do.

        Args:
            nodes: those that could take more.
            slots: how many they take now.
            missing: how many more are wanted.
            holds: tells whether a place has enough where some nodes take so many.

        """
        near = sorted((number, name) for name in nodes if (number := self._least(name)))[:_MOST_NODES]
        every = [one for _, name in near for one in self._on(name, slots[name], missing)]
        chosen: dict[str, Blocking] = {}
        for one in sorted(every, key=lambda one: (one.cost[0], one.cost[1] / min(one.gain, missing), one.cost)):
            kept = chosen.get(one.node)
            if kept is not None and kept.gain >= one.gain:
                continue
            chosen[one.node] = one
            if self._are_enough(chosen, missing, slots, holds):
                return self._pruned(chosen, missing, slots, holds)
        return ()

    @staticmethod
    def _are_enough(
        chosen: Mapping[str, Blocking],
        missing: int,
        slots: Mapping[str, int],
        holds: Callable[[Mapping[str, int]], bool],
    ) -> bool:
        enough = sum(one.gain for one in chosen.values()) >= missing
        return enough and holds({name: slots[name] + one.gain for name, one in chosen.items()})

    def _pruned(
        self,
        chosen: Mapping[str, Blocking],
        missing: int,
        slots: Mapping[str, int],
        holds: Callable[[Mapping[str, int]], bool],
    ) -> tuple[Blocking, ...]:
        """Leave out every node without which the others are enough, the dearest first."""
        kept = dict(chosen)
        for name in sorted(chosen, key=lambda name: chosen[name].cost, reverse=True):
            rest = {other: one for other, one in kept.items() if other != name}
            if rest and self._are_enough(rest, missing, slots, holds):
                kept = rest
        return tuple(one for _, one in sorted(kept.items()))

    def _mortal(self, node: str) -> list[RunningPod]:
        """Return the pods of a node whose end would make room: none that comes back there, none of its own gangs."""
        own = self._simulation.subject.gangs
        return [
            pod
            for pod in self._view.occupants(node)
            if isinstance(pod, RunningPod) and pod.gang not in own and not disruption.comes_back_there(pod)
        ]

    def _least(self, node: str) -> int:
        """Return how many pods must at least end for one more slot, by what each requests alone; 0 for none."""
        pods, free = self._mortal(node), self._view.state(node).free
        least = 1
        for resource, amount in self._requests:
            short = amount - free.get(resource, 0)
            if short <= 0:
                continue
            held = sorted((dict(pod.requirements.requests).get(resource, 0) for pod in pods), reverse=True)
            least = max(least, next((at for at, total in enumerate(accumulate(held), 1) if total >= short), 0))
            if sum(held) < short:
                return 0
        return least if pods else 0

    def _on(self, node: str, now: int, missing: int) -> Iterator[Blocking]:
        """Yield pods of a node whose end brings more slots than those before: single ones first, then several."""
        pods, best = sorted(self._mortal(node), key=self._loss), now
        for pod in pods:
            found = self._slots(node, (pod,)) if best < now + missing and self._may_do(node, pod) else now
            if found > best:
                best = found
                yield Blocking(node, (pod,), found - now, self._cost((pod,)))
        gone: list[RunningPod] = []
        for pod in sorted(pods, key=lambda pod: (-self._size(pod), self._loss(pod))):
            gone.append(pod)
            if best >= now + missing:
                return
            found = self._slots(node, gone) if len(gone) > 1 else now
            if found > best:
                best = found
                few = self._needed(node, gone, found)
                yield Blocking(node, few, found - now, self._cost(few))

    def _needed(self, node: str, pods: Sequence[RunningPod], slots: int) -> tuple[RunningPod, ...]:
        """Return the pods without those whose end brings nothing, the dearest first."""
        kept = list(pods)
        for pod in sorted(pods, key=self._loss, reverse=True):
            rest = [other for other in kept if other is not pod]
            if rest and self._slots(node, rest) >= slots:
                kept = rest
        return tuple(kept)

    def _may_do(self, node: str, pod: RunningPod) -> bool:
        """Tell whether a pod alone requests as much as one more slot lacks."""
        free, held = self._view.state(node).free, dict(pod.requirements.requests)
        return all(free.get(resource, 0) + held.get(resource, 0) >= amount for resource, amount in self._requests)

    def _slots(self, node: str, gone: Iterable[RunningPod]) -> int:
        """Return the slots of a node without some pods; none where too many were counted."""
        if not self._budget.take():
            return 0
        state = self._view.state(node).copy()
        for pod in gone:
            state.remove(pod)
        return slots_on(state, self._runs, self._prepared)

    def _size(self, pod: RunningPod) -> float:
        """Return how much of a slot a pod has at most."""
        held = dict(pod.requirements.requests)
        return max((held.get(resource, 0) / amount for resource, amount in self._requests if amount), default=0)

    def _loss(self, pod: RunningPod) -> tuple[int, int, float, str]:
        return disruption.harm_alone(self._simulation.snapshot, pod), pod.priority, self._size(pod), pod.key

    def _cost(self, pods: Sequence[RunningPod]) -> _Cost:
        harmful = sum(disruption.harm_alone(self._simulation.snapshot, pod) for pod in pods)
        return harmful, len(pods), sum(pod.priority for pod in pods)
