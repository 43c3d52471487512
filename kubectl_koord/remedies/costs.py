"""What people lose by a way out, as an order; of running pods that end what it costs others."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum, auto
from fractions import Fraction
from itertools import starmap
from operator import add
from typing import TypeAlias

from kubectl_koord.diagnosis import disruption
from kubectl_koord.engine.admission.queue import priority
from kubectl_koord.engine.subjects import Subject
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.codes import ActionCode
from kubectl_koord.reports.edits import DeletePod, Edit, SetMinimum, SetRequest
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import asked
from kubectl_koord.simulation.simulation import Simulation

Cost: TypeAlias = tuple[int, int, int, int, int, int]
"""Pods that are protected, others whose end harms a budget or a gang, pods, those that come back, priority, owned."""

NOTHING: Cost = (0, 0, 0, 0, 0, 0)

HALF = Fraction(1, 2)


class Loss(IntEnum):
    """What people lose by a way out, the least first."""

    NOTHING = auto()
    """Nobody loses more than without it, and nobody has to act."""
    SETTING = auto()
    """Of the cluster: who set a limit, a cordon or a taint may have had a reason."""
    OWN_SETTING = auto()
    """Of the job, which may run slower, or must be created anew."""
    OWN_CPU = auto()
    """Of the job less CPU, at least half of it, as CPU that others do not use is had without a request, too."""
    WAIT = auto()
    """What the scheduler does by itself."""
    RESERVED = auto()
    MOVE = auto()
    """A running pod begins anew on another node, as its owner creates it again."""
    END_LOWER = auto()
    """Pods of lower priority end, which harms nobody else."""
    NODES = auto()
    LESS = auto()
    """The job has at least half of what it asked for."""
    MUCH_LESS = auto()
    END_OTHERS = auto()
    """Pods end that the subject's priority does not let it preempt."""
    HARM = auto()
    """A budget, a running gang or pods that wait suffer."""
    PROTECTED = auto()


_BY_ACTION: Mapping[ActionCode, Loss] = {
    "wait-for-terminating": Loss.NOTHING,
    "wait-for-revoking": Loss.NOTHING,
    "mend-node": Loss.SETTING,
    "raise-threshold": Loss.SETTING,
    "supply-claims": Loss.SETTING,
    "label-nodes": Loss.SETTING,
    "other-layers": Loss.SETTING,
    "uncordon": Loss.SETTING,
    "tolerate": Loss.SETTING,
    "raise-quota": Loss.SETTING,
    "wait-for-preemption": Loss.WAIT,
    "release-reservation": Loss.RESERVED,
    "move-pod": Loss.MOVE,
    "place-nodes": Loss.NODES,
    "add-nodes": Loss.NODES,
}


def loss(simulation: Simulation, way: WayOut) -> tuple[Loss, Fraction, int]:
    """Return what people lose by a way out: its kind, the share that the job loses, and how many running pods end.

    What the scheduler does by itself harms nobody.
    """
    return _loss(simulation, way), 1 - share_left(simulation.subject, way.edits), len(way.freed)


def _loss(simulation: Simulation, way: WayOut) -> Loss:
    known = _BY_ACTION.get(way.action, Loss.OWN_SETTING)
    if known in {Loss.NOTHING, Loss.WAIT}:
        return known
    harms = {disruption.harm(pod) for pod in way.freed}
    if disruption.PROTECTED in harms:
        return Loss.PROTECTED
    if disruption.HARMFUL in harms or any(one.waiting for one in way.released):
        return Loss.HARM
    kept = share_left(simulation.subject, way.edits)
    if kept < 1:
        is_cpu = all(isinstance(edit, SetRequest) and edit.resource.endswith("cpu") for edit in way.edits)
        less = Loss.OWN_CPU if is_cpu else Loss.LESS
        known = less if kept >= HALF else Loss.MUCH_LESS
    if way.freed and not (known is Loss.MOVE and all(pod.owner for pod in way.freed)):
        own = priority(simulation.subject)
        return Loss.END_LOWER if all(pod.priority < own for pod in way.freed) else Loss.END_OTHERS
    return known


def share_left(subject: Subject, edits: Iterable[Edit]) -> Fraction:
    """Return which share of its pods, or of what the largest of them asks for, edits leave to a job."""
    pods, edits = subject.pending, tuple(edits)
    gone = sum(isinstance(edit, DeletePod) and not edit.node for edit in edits)
    shares = [Fraction(len(pods) - gone, len(pods))]
    for edit in edits:
        if isinstance(edit, SetMinimum) and (gang := subject.gangs[edit.gang]) is not None:
            shares.append(Fraction(edit.minimum, gang.minimum or edit.minimum))
        elif isinstance(edit, SetRequest):
            before = max(asked(pod, edit.resource, limits=edit.limits) for pod in pods)
            shares.append(Fraction(quantity.amount(edit.resource, quantity.parse(edit.amount)), before))
    return min(shares)


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
