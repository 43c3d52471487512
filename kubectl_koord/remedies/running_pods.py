"""What people lose by a way out, as an order, and which running pods may be touched."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum, auto
from fractions import Fraction
from itertools import chain, combinations, product, starmap
from operator import add
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.diagnosis import disruption
from kubectl_koord.diagnosis.evidence import scarce
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.preemption import NO_RESERVATIONS, victims_by_node
from kubectl_koord.engine.queue import priority
from kubectl_koord.engine.reasons import ClaimInUse, Insufficient, PreFilterRefusal, Reason, TooManyPods
from kubectl_koord.language import say
from kubectl_koord.model import objects, values
from kubectl_koord.model.hardware import NOTHING, Allocations, DeviceAllocation
from kubectl_koord.model.pods import RunningPod, claim_names
from kubectl_koord.model.values import Resources
from kubectl_koord.remedies.search import Search, SlotCount
from kubectl_koord.reports.common import (
    ActionCode,
    BrokenGang,
    DeletePod,
    Edit,
    FreedPod,
    SetMinimum,
    SetRequest,
    WayOut,
)
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.simulation.what_if import asked
from kubectl_koord.wording.words import command, listed, requests


class RemovedPod(Struct, frozen=True):
    """A running pod that makes room: `needed` is what it requests of what is short.

    `held` are the cards, CPUs and zones that it holds where these are what is short, `claim` the one that it uses.
    """

    key: str
    node: str
    priority: int
    needed: Resources
    held: Allocations = NOTHING
    claim: str = ""

    @property
    def has(self) -> str:
        """What it gives back, in words."""
        if self.claim:
            return say("claim {claim}", claim=self.claim)
        cards = _cards(self.held.devices)
        cpus = self.held.cpus
        numbered = [say("CPUs {ranges}", ranges=_ranges(cpus.cpus))] if cpus is not None and cpus.cpus else []
        zones = (
            [say("NUMA zone {number}", number=number) for number, _ in cpus.zones]
            if cpus is not None and not cpus.cpus
            else []
        )
        return listed([*cards, *numbered, *zones]) or requests(self.needed)


def _cards(held: Iterable[DeviceAllocation]) -> list[str]:
    """Return cards by their numbers, those together of which it has as much: `GPU 0-3`, `25% of GPU 5`."""
    numbers: dict[tuple[int, str], list[int]] = {}
    for one in held:
        share = next((amount for name, amount in one.resources if objects.is_share(name)), objects.CARD)
        numbers.setdefault((share, one.type.upper()), []).append(one.minor)
    cards = ((share, f"{kind} {_ranges(sorted(minors))}") for (share, kind), minors in numbers.items())
    return [
        say("{share}% of {card}", share=share, card=card) if share < objects.CARD else card for share, card in cards
    ]


def _ranges(numbers: Sequence[int]) -> str:
    """Return numbers as cpusets are written: `0-3,8`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][-1] == number - 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return ",".join("-".join(map(str, part)) for part in parts)


Cost: TypeAlias = tuple[int, int, int, int, int, int]
"""Pods that are protected, others whose end harms a budget or a gang, pods, those that come back, priority, owned."""

COSTS_NOTHING: Cost = (0, 0, 0, 0, 0, 0)

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
    "select-nodes": Loss.SETTING,
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
            shares.append(Fraction(values.amount(edit.resource, values.parse(edit.amount)), before))
    return min(shares)


def cost_sum(one: Cost, other: Cost) -> Cost:
    """Return what both cost together."""
    a, b, c, d, e, f = starmap(add, zip(one, other, strict=True))
    return a, b, c, d, e, f


class PodCosts:
    """What it costs others to end running pods, so that a subject gets their place."""

    def __init__(self, simulation: Simulation) -> None:
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
        total = COSTS_NOTHING
        for pod in pods:
            total = cost_sum(total, self.of(pod))
        return total

    def together(self, pods: Iterable[RunningPod]) -> Cost:
        """Return the loss of ending several running pods."""
        every = tuple(pods)
        levels = [disruption.harm(pod) for pod in disruption.freed(self._snapshot, every)]
        return levels.count(disruption.PROTECTED), levels.count(disruption.HARMFUL), *self.counted(every)[2:]

    def comes_back(self, pod: RunningPod) -> bool:
        """Tell whether a pod is created anew and may then be tried before the subject."""
        return bool(pod.owner) and pod.priority >= self._own


def removable(search: Search, node: str) -> tuple[RunningPod, ...]:
    """Return the pods of a node that may be freed.

    These are no members of its own gangs, nothing that comes back at once on the same node, and nothing
    that is about to go anyway.
    """
    own = search.simulation.subject.gangs
    return tuple(
        [
            pod
            for pod in search.view.occupants(node)
            if isinstance(pod, RunningPod)
            and pod.gang not in own
            and not pod.marks.terminating
            and not disruption.comes_back_there(pod)
        ]
    )


def lower_priority(search: Search, node: str) -> tuple[RunningPod, ...]:
    """Return the pods of a node that may be freed and that the gang's priority lets it preempt."""
    victims = victims_by_node(search.view, search.first.trigger.priority, NO_RESERVATIONS)[node]
    keys = {victim.key for victim in victims if isinstance(victim, RunningPod)}
    return tuple(pod for pod in removable(search, node) if pod.key in keys) if keys else ()


def harmed(search: Search, pods: Sequence[RunningPod]) -> tuple[tuple[FreedPod, ...], tuple[BrokenGang, ...]]:
    """Return what is known of pods that would go together, and the gangs that their end breaks."""
    snapshot = search.simulation.snapshot
    return disruption.freed(snapshot, pods), disruption.broken_gangs(snapshot, pods)


def eviction(pods: Sequence[FreedPod], held: Iterable[str] = ()) -> str:
    """Return the command that evicts pods, empty where it should not be run."""
    return evict_command([pod.pod for pod in pods], held) if disruption.may_be_evicted(pods) else ""


_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]*[a-z0-9])?")


def evict_command(pods: Sequence[str], held: Iterable[str] = ()) -> str:
    """Return what evicts pods one by one as their budgets allow; nodes that are held take no other pod meanwhile.

    Empty for names that no pod can have.
    """
    if not all(_NAME.fullmatch(part) for pod in pods for part in pod.partition("/")[::2]):
        return ""
    return command("evict", *pods, *(word for node in held for word in ("--hold", node)))


def described(search: Search, pod: RunningPod) -> RemovedPod:
    """Return what a sentence says of a pod: where it is, and what it has of that which is short.

    Where it is not the amounts that are short, but cards, CPUs, zones or a claim: those of them that it holds.
    """
    reason = _refusal(search.first, pod.node)
    need = scarce(pod.requirements.requests, reason)
    needed = tuple(item for item in pod.requirements.requests if item[0] in need)
    if isinstance(reason, ClaimInUse) and reason.claim in claim_names(pod):
        return RemovedPod(pod.key, pod.node, pod.priority, needed, claim=reason.claim)
    held = pod.allocations if reason is not None and not isinstance(reason, Insufficient | TooManyPods) else NOTHING
    return RemovedPod(pod.key, pod.node, pod.priority, needed, held)


def _refusal(first: Attempt, node: str) -> Reason | PreFilterRefusal | None:
    """Return why a node refused: as the plan was carried out, or to take more."""
    seat = first.failed_seat
    return seat.reason if seat is not None and seat.node == node else first.rejections.get(node)


def in_the_way(search: Search, pods_on: Callable[[str], Sequence[RunningPod]]) -> Mapping[str, RunningPod]:
    """Return by name the pods that hold what a planned node lacked, or a claim that no other may use meanwhile."""
    firsts = [slot_count.first for slot_count in search.slot_counts]
    seats = {first.failed_seat.node for first in firsts if first.failed_seat is not None}
    found = [pod for name in seats for pod in pods_on(name)]
    if any(map(claim_names, search.members)):
        reasons = {reason for first in firsts for reason in first.rejections.values()}
        claims = {reason.claim for reason in reasons if isinstance(reason, ClaimInUse)}
        every = (pod for name in search.view.names() for pod in pods_on(name))
        found += [pod for pod in every if not claims.isdisjoint(claim_names(pod))]
    return {pod.key: pod for pod in found}


_MOST_SUBSETS = 8
_MOST_CELLS = 8_000


class FreedPods(Struct, frozen=True):
    """Pods of one node whose end brings slots."""

    gain: int
    pods: tuple[RunningPod, ...]
    cost: Cost


class CountLimit:
    """How much may still be counted, in all places together."""

    def __init__(self, number: int) -> None:
        self.number = number


def options_by_node(
    slot_count: SlotCount,
    gains: Iterable[tuple[str, int]],
    pods_on: Callable[[str], Sequence[RunningPod]],
    costs: PodCosts,
    limit: CountLimit,
) -> dict[str, list[FreedPods]]:
    """Return for each node what its pods bring, the cheapest of them for each number of slots, up to all it gains."""
    now = slot_count.slots(slot_count.view)
    found = {}
    for name, most in gains:
        found_here: list[FreedPods] = []
        best = 0
        for subset in _subsets(slot_count, name, pods_on(name), costs):
            if best == most or limit.number <= 0:
                break
            limit.number -= 1
            if slot_count.most_without(name, subset) - now[name] <= best:
                continue
            gain = slot_count.slots_without(name, subset) - now[name]
            if gain > best:
                best = gain
                found_here.append(FreedPods(gain, subset, costs.counted(subset)))
        found[name] = found_here
        if limit.number <= 0:
            break
    return found


def _subsets(
    slot_count: SlotCount, node: str, pods: Sequence[RunningPod], costs: PodCosts
) -> Iterator[tuple[RunningPod, ...]]:
    """Yield sets of pods, the cheaper first: those that harm no others, of these the smaller, then the cheaper.

    All sets for a few pods, else the largest pods one after the other.
    """
    pods = sorted(pods, key=lambda pod: (pod.priority, pod.key))
    if len(pods) <= _MOST_SUBSETS:
        levels = [
            [pod for pod in pods if costs.level(pod) == level]
            for level in (disruption.PROTECTED, disruption.HARMFUL, disruption.HARMLESS)
        ]
        for sizes in product(*(range(len(of_level) + 1) for of_level in levels)):
            parts = product(*map(combinations, levels, sizes))
            yield from sorted((tuple(chain.from_iterable(part)) for part in parts if any(sizes)), key=costs.counted)
        return
    need = scarce(slot_count.first.trigger.requirements.requests, slot_count.first.rejections.get(node))
    by_size = sorted(
        pods, key=lambda pod: -sum(amount for resource, amount in pod.requirements.requests if resource in need)
    )
    by_size.sort(key=costs.level)
    for size in range(1, len(pods) + 1):
        yield tuple(by_size[:size])


class _Choice(Struct, frozen=True):
    """Pieces chosen so far, and what they cost together."""

    cost: Cost
    pieces: tuple[FreedPods, ...]

    def plus(self, piece: FreedPods) -> "_Choice":
        """Return the choice with one more piece."""
        return _Choice(cost_sum(self.cost, piece.cost), (*self.pieces, piece))


def fewest(pieces: Mapping[str, Sequence[FreedPods]], missing: int) -> tuple[FreedPods, ...]:
    """Return pieces, one of a node at most, that bring what is missing with the fewest pods, then at the least cost.

    Exact where nodes times slots are few; else the pieces that bring most for each pod are taken in turn.
    """
    nodes = [choices for choices in pieces.values() if choices]
    if len(nodes) * missing > _MOST_CELLS:
        return _greedily(nodes, missing)
    best: dict[int, _Choice] = {0: _Choice(COSTS_NOTHING, ())}
    for choices in nodes:
        for slots, choice in list(best.items()):
            for piece in choices:
                more = choice.plus(piece)
                at = min(missing, slots + piece.gain)
                if at not in best or more.cost < best[at].cost:
                    best[at] = more
    return best[missing].pieces if missing in best else ()


def _greedily(nodes: Iterable[Sequence[FreedPods]], missing: int) -> tuple[FreedPods, ...]:
    def relative_cost(piece: FreedPods) -> tuple[int, int, float, Cost]:
        protected, harmed, *_ = piece.cost
        return protected, harmed, len(piece.pods) / piece.gain, piece.cost

    cheapest = [min(choices, key=relative_cost) for choices in nodes]
    gained, chosen = 0, []
    for piece in sorted(cheapest, key=relative_cost):
        if gained >= missing:
            break
        chosen.append(piece)
        gained += piece.gain
    return tuple(chosen) if gained >= missing else ()
