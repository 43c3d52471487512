"""What it costs others to end running pods, as an order of sets of pods."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import starmap
from operator import add
from typing import TypeAlias

from kubectl_koord.diagnosis import disruption
from kubectl_koord.engine.admission.queue import priority
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.simulation.simulation import Simulation

Cost: TypeAlias = tuple[int, int, int, int, int, int]
"""Pods that are protected, others whose end harms a budget or a gang, pods, those that come back, priority, owned."""

NOTHING: Cost = (0, 0, 0, 0, 0, 0)


def plus(one: Cost, other: Cost) -> Cost:
    """Return what both cost together."""
    a, b, c, d, e, f = starmap(add, zip(one, other, strict=True))
    return a, b, c, d, e, f


class PodCosts:
    """What it costs others to end running pods, so that a subject gets their place."""

    def __init__(self, simulation: Simulation) -> None:
        """Keep the simulation; each pod is looked at once."""
        self._snapshot = simulation.snapshot
        self._own = priority(simulation.subject)
        self._known: dict[str, Cost] = {}

    def of(self, pod: RunningPod) -> Cost:
        """Return what it costs to end one pod alone."""
        found = self._known.get(pod.key)
        if found is None:
            level = disruption.harm_alone(self._snapshot, pod)
            found = self._known[pod.key] = (
                int(level == disruption.PROTECTED),
                int(level == disruption.HARMFUL),
                1,
                int(self.comes_back(pod)),
                pod.priority,
                int(bool(pod.owner)),
            )
        return found

    def ranked(self, pods: Iterable[RunningPod]) -> Iterator[RunningPod]:
        """Yield pods by what each costs alone, then by name; whom their end harms is asked only as far as they go."""
        alike: dict[tuple[bool, int, bool], list[RunningPod]] = defaultdict(list)
        for pod in pods:
            alike[pod.marks.protected, pod.priority, bool(pod.owner)].append(pod)
        harmful: list[RunningPod] = []
        for one in sorted(alike.values(), key=lambda some: self._alone(some[0])):
            is_protected = one[0].protected
            if is_protected:
                yield from harmful
                harmful = []
            for pod in sorted(one, key=lambda pod: pod.key):
                if is_protected or self.level(pod) == disruption.HARMLESS:
                    yield pod
                else:
                    harmful.append(pod)
        yield from harmful

    def _alone(self, pod: RunningPod) -> tuple[bool, bool, int, bool]:
        """Return what a pod costs by itself, whomever its end harms."""
        return pod.protected, self.comes_back(pod), pod.priority, bool(pod.owner)

    def level(self, pod: RunningPod) -> int:
        """Return how harmful it is to end one pod alone, as `disruption.harm` has it."""
        is_protected, is_harmful, *_ = self.of(pod)
        return disruption.PROTECTED if is_protected else is_harmful

    def counted(self, pods: Iterable[RunningPod]) -> Cost:
        """Return what pods cost, each taken alone: a budget or gang that bears one of them, but not all, is missed."""
        total = NOTHING
        for pod in pods:
            total = plus(total, self.of(pod))
        return total

    def together(self, pods: Iterable[RunningPod]) -> Cost:
        """Return what it costs to end all of them."""
        every = tuple(pods)
        levels = [disruption.harm(pod) for pod in disruption.freed(self._snapshot, every)]
        return levels.count(disruption.PROTECTED), levels.count(disruption.HARMFUL), *self.counted(every)[2:]

    def comes_back(self, pod: RunningPod) -> bool:
        """Tell whether a pod is created anew and may then be tried before the subject."""
        return bool(pod.owner) and pod.priority >= self._own
