"""Evidence for a no: slots by domain, what is in the way, and which nodes are lost to what."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from operator import getitem
from typing import NamedTuple, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.diagnosis import disruption
from kubectl_koord.engine.attempt import Attempt
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.filters import Prepared
from kubectl_koord.engine.placement import PlacementPlan, domain_slots
from kubectl_koord.engine.preemption import without_victims
from kubectl_koord.engine.reasons import Cordoned, Insufficient, PreFilterRefusal, Reason, Refused, TooManyPods
from kubectl_koord.engine.slots import Counts, Offer, in_index_order, offer_slots, runs_of, slots_on
from kubectl_koord.engine.state import Occupant, View
from kubectl_koord.engine.tree import Tree
from kubectl_koord.language import say
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, Resources, memoised, recently
from kubectl_koord.reports.jobs import Funnel, NodeReason, SlotRow, WhatIf
from kubectl_koord.simulation.simulation import Simulation
from kubectl_koord.simulation.what_if import CORDON, as_new, opened, room_alone
from kubectl_koord.wording.facts import lost_nodes, multiples
from kubectl_koord.wording.refusals import obstacle, refusal_counts, stage
from kubectl_koord.wording.words import COMMA, amounts, count, few, listed

_Cost: TypeAlias = tuple[int, int, int]
"""How many pods harm others by their end, how many there are, and their priorities together."""

_BLOCKING_MOST_NODES = 64


class Blocking(Struct, frozen=True):
    """Pods of one node, and how many slots their end brings."""

    node: str
    pods: tuple[RunningPod, ...]
    gain: int
    cost: _Cost


class InTheWay:
    """The pods that are in the way of a subject in one attempt, looked for place by place within a budget."""

    def __init__(self, simulation: Simulation, first: Attempt, budget: Budget) -> None:
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
        near = sorted((number, name) for name in nodes if (number := self._least(name)))[:_BLOCKING_MOST_NODES]
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
        held = dict(pod.requirements.requests)
        return max((held.get(resource, 0) / amount for resource, amount in self._requests if amount), default=0)

    def _loss(self, pod: RunningPod) -> tuple[int, int, float, str]:
        return disruption.harm_alone(self._simulation.snapshot, pod), pod.priority, self._size(pod), pod.key

    def _cost(self, pods: Sequence[RunningPod]) -> _Cost:
        harmful = sum(disruption.harm_alone(self._simulation.snapshot, pod) for pod in pods)
        return harmful, len(pods), sum(pod.priority for pod in pods)


_MOST_NODES, _FEW_NODES = 2, 4
_MOST_TABLES = 64
_MOST_ASKED = 1000  # nodes that are asked by themselves
_MOST_COUNTED = 1024
"""How often slots of a node are counted without some of its pods, in all domains together."""


class _InTheWay(NamedTuple):
    """What is in the way in a domain: a sentence, or one for each node; and which jobs go there first, if any."""

    by_node: tuple[str, ...]
    ahead: str = ""


_NOTHING = _InTheWay(())


class _Room(Struct, frozen=True):
    """Slots in a what-if, by node and by domain."""

    nodes: Counts
    domains: tuple[int, ...]


@memoised
def empty_view(view: View, kept: frozenset[str] = frozenset()) -> View:
    """Return the cluster without any pod and with no node cordoned; of what is reserved only `kept` is left, by uid."""
    held = {
        name: tuple(one for one in view.occupants(name) if isinstance(one, ReservedRoom) and one.uid in kept)
        for name in (view.names() if kept else ())
    }
    return View(view.snapshot, {}, {**dict.fromkeys(view.names(), ()), **held}, uncordoned(view))


@memoised
def fresh_view(view: View) -> View:
    """Return the empty cluster in which nothing is measured, and no node is to go, as of nodes that are new."""
    nodes = ((node, as_new(node)) for node in map(empty_view(view).node, view.names()))
    return empty_view(view).with_nodes(new for node, new in nodes if new is not node)


@memoised
def roomy_view(view: View, kept: frozenset[str] = frozenset()) -> View:
    """Return the empty cluster in which no node refuses a pod for a cordon, a taint or its measured load."""
    empty = empty_view(view, kept)
    refusing = (node for node in map(empty.node, view.names()) if node.taints or node.metric is not None)
    return empty.with_nodes(structs.replace(node, taints=(), metric=None) for node in refusing)


@memoised
def unlimited_view(view: View) -> View:
    """Return the roomy cluster without quotas."""
    return roomy_view(view).with_quotas(())


@memoised
def uncordoned(view: View) -> View:
    """Return the cluster with no node cordoned."""
    return view.with_nodes(opened(node) for node in cordoned(view))


@memoised
def cordoned(view: View) -> tuple[Node, ...]:
    """Return the nodes that are cordoned, by the field or by the taint alone, in name order."""
    nodes = [node for node in map(view.node, view.names()) if node.unschedulable or node.taints]
    return tuple(node for node in nodes if node.unschedulable or any(taint.key == CORDON for taint in node.taints))


@memoised
def without_terminating(view: View) -> View:
    """Return the cluster once all pods that terminate have ended."""
    return view.without(terminating(view))


@memoised
def terminating(view: View) -> tuple[RunningPod, ...]:
    """Return the running pods that terminate; of a what-if only those on nodes with other occupants are looked for."""
    base, occupants = view.layers()
    found = [pod for pod in terminating(base) if pod.node not in occupants] if base is not None else []
    held = (occupants.get(name, ()) for name in (view.names() if base is None else occupants))
    found += [pod for pods in held for pod in pods if isinstance(pod, RunningPod) and pod.marks.terminating]
    return tuple(found)


def offered(first: Attempt) -> tuple[int, ...]:
    """Return the slots of the start set, in the order of the tree; none for an attempt without a plan."""
    return first.plan.offered if first.plan is not None else ()


def slot_rows(simulation: Simulation, first: Attempt, *, brief: bool = False) -> tuple[SlotRow, ...]:
    """Return the slots of the start set in the order of the tree, unless brief with what is in the way."""
    plan = first.plan
    if plan is None:
        return ()
    rows = _bare_rows(simulation.snapshot, Identity(plan.tree), plan.start, plan.offered, plan.desired)
    if brief:
        return rows
    rooms = tuple(_rooms(simulation, first, plan.tree))
    what_ifs = {} if first.placement is not None else _what_ifs(simulation, first, plan)
    pods = InTheWay(simulation, first, Budget(_MOST_COUNTED))
    roomiest = sorted(zip(plan.start, rows, strict=True), key=lambda item: -item[1].offer_slots)
    blocked = {
        index: _in_the_way(simulation, first, plan, index, rooms, pods) for index, bare in roomiest if bare.short
    }
    found = []
    for index, bare in zip(plan.start, rows, strict=True):
        every, ahead = blocked.get(index, _NOTHING)
        main = every[: _MOST_NODES if len(every) <= _FEW_NODES else 1]
        more = len(every) - len(main)
        all_of_it = (*every, ahead) if ahead else every
        row = structs.replace(bare, in_the_way=_main_obstacles(main, more, ahead))
        found.append(structs.replace(row, what_if=what_ifs.get(index), obstacles=all_of_it if more else ()))
    return tuple(found)


def _main_obstacles(main: Sequence[str], more: int, ahead: str = "") -> str:
    """Return what is in the way on some nodes, on how many more something is, and who goes first."""
    rest = say(" and {nodes}", nodes=count(more, "more node")) if more else ""
    return COMMA.join(filter(None, [COMMA.join(main) + rest, ahead]))


@recently(_MOST_TABLES)
def _bare_rows(
    snapshot: Snapshot, tree: Identity[Tree], start: tuple[int, ...], offered: tuple[int, ...], desired: int
) -> tuple[SlotRow, ...]:
    """Return the slots of the start set; gangs that are offered the same share them, and all gangs equal rows."""
    rows = _rows(snapshot, tree)
    by_slots = {slots: rows[slots, max(0, desired - slots)] for slots in set(offered)}
    return tuple(map(getitem, map(by_slots.__getitem__, offered), start))


class _Rows(dict[int, SlotRow]):
    """The rows of the domains of a tree that are offered so many slots, made when they are asked for, by domain."""

    def __init__(self, tree: Tree, slots: int, short: int) -> None:
        super().__init__()
        self._tree, self._slots, self._short = tree, slots, short

    def __missing__(self, index: int) -> SlotRow:
        domain = self._tree.domains[index]
        row = self[index] = SlotRow(domain.layer, domain.name, self._slots, self._short)
        return row


class _Tables(dict[tuple[int, int], _Rows]):
    """These rows by slots and how many are missing."""

    def __init__(self, tree: Tree) -> None:
        super().__init__()
        self._tree = tree

    def __missing__(self, numbers: tuple[int, int]) -> _Rows:
        rows = self[numbers] = _Rows(self._tree, *numbers)
        return rows


@memoised
def _rows(_snapshot: Snapshot, tree: Identity[Tree]) -> _Tables:
    """Return the cache of the rows of a tree's domains."""
    return _Tables(tree.value)


def is_multiple(simulation: Simulation, tree: Tree) -> bool:
    """Tell whether the number of pods is one of every podCountMultiple from the must-gather layer downwards."""
    layers = tree.layers
    above = layers[: layers.index(simulation.must_gather)] if simulation.must_gather in layers else ()
    number = len(simulation.subject.pending)
    return all(number % multiple == 0 for layer, multiple in simulation.multiples.items() if layer not in above)


def _rooms(simulation: Simulation, first: Attempt, tree: Tree) -> Iterator[_Room]:
    """Yield the room of the empty cluster, and that with whatever refuses a node's first pod out of the way, too.

    Where the number of pods is no multiple, that is what is wrong: room is then counted without rounding.
    """
    multiples = simulation.multiples if is_multiple(simulation, tree) else {}
    empty = _empty_offer(simulation, first).counts
    pods = in_index_order(map(room_alone, simulation.subject.pending))
    alone = first.prepared.without_pods(room_alone(first.prepared.trigger))
    bare = offer_slots(roomy_view(simulation.view, held_for(first)), simulation.view.names(), pods, alone).counts
    for nodes in (empty, Counts({**bare, **empty})):
        yield _Room(nodes, domain_slots(tree, nodes, multiples))


def _empty_offer(simulation: Simulation, first: Attempt) -> Offer:
    """Return what nodes offer to the gang with no pods there, no node cordoned and no other pod nominated."""
    view = empty_view(simulation.view, held_for(first))
    pods, alone = in_index_order(simulation.subject.pending), first.prepared.alone(first.prepared.trigger)
    return offer_slots(view, view.names(), pods, alone)


def held_for(first: Attempt) -> frozenset[str]:
    """Return the reservations of which the pods must use one: without these no node takes any, however empty."""
    use = first.prepared.trigger.requirements.reservation
    return first.prepared.reservations if use is not None and use.affinity is not None else frozenset()


def _what_ifs(simulation: Simulation, first: Attempt, plan: PlacementPlan) -> dict[int, WhatIf]:
    """Return the slots of domains if one thing were different: only of an empty cluster nominated pods take no room."""
    view = simulation.view
    emptied = without_victims(view, first.trigger, first.prepared.reservations)
    pods = in_index_order(simulation.subject.pending)
    variants = (without_terminating(view), uncordoned(view), emptied)
    offers = [offer_slots(one, one.names(), pods, first.prepared).counts for one in variants]
    every = (*offers, slots_in(empty_view(view, held_for(first)), simulation, first))
    counted = [domain_slots(plan.tree, slots, simulation.multiples) for slots in every]
    return {index: WhatIf(*(slots[index] for slots in counted)) for index in plan.start}


def slots_in(view: View, simulation: Simulation, first: Attempt) -> Counts:
    """Return the gang's slots by node in another variant of the cluster, as if no other pod were nominated."""
    return slots_of(view, simulation.subject.pending, first.prepared.trigger, first)


def slots_of(view: View, pods: Iterable[PendingPod], trigger: PendingPod, first: Attempt) -> Counts:
    """Return the slots by node for changed pods, with a changed trigger, as if no other pod were nominated."""
    alone = first.prepared.alone(trigger)
    return offer_slots(view, view.names(), in_index_order(pods), alone).counts


def slots_among(view: View, names: Sequence[str], pods: Sequence[PendingPod], prepared: Prepared) -> Mapping[str, int]:
    """Return the slots of some nodes for pods in index order, in any variant of the cluster: no more than it takes."""
    if len(names) > _MOST_ASKED:
        return offer_slots(view, names, pods, prepared).counts
    runs = runs_of(pods)
    return {name: slots_on(view.state(name), runs, prepared) for name in names}


def _in_the_way(
    simulation: Simulation, first: Attempt, plan: PlacementPlan, index: int, rooms: tuple[_Room, ...], pods: InTheWay
) -> _InTheWay:
    """Return what is in the way: a sentence, or one for each node that could take more.

    Where the end of running pods is enough, these are the nodes with the fewest of them, else all.
    """
    below = tuple(plan.tree.nodes_below(index))
    empty, most = rooms
    if most.domains[index] < plan.desired:
        at_most, raw = most.domains[index], sum(most.nodes[name] for name in below)
        refused = empty.domains[index] < at_most
        return _InTheWay((_never_fits(at_most, plan.desired, len(below), raw, refused=refused),))
    lifted = empty.domains[index] < plan.desired
    free, now = (most.nodes if lifted else empty.nodes).by_name, plan.nodes.counts.by_name
    lost = ((now.get(name, 0) - free.get(name, 0), name) for name in below)
    blocked = [name for missing, name in sorted(lost) if missing < 0]
    if not blocked:
        return _InTheWay((say("the pods cannot be split by {multiples}", multiples=multiples(simulation.multiples)),))
    if lifted:
        without_pods = _empty_offer(simulation, first)
        bare = [name for name in blocked if empty.nodes[name] < most.nodes[name]]
        even_empty = [Refused(reason, 1) for name in bare if (reason := without_pods[name].rejection) is not None]
        full = [Refused(first.worded[name], 1) for name in blocked if empty.nodes[name] >= most.nodes[name]]
        return _InTheWay((lost_nodes((*even_empty, *full)),))
    missing = max(1, plan.desired - sum(now.get(name, 0) for name in below))

    def holds(more: Mapping[str, int]) -> bool:
        slots = domain_slots(plan.tree, Counts({**now, **more}), simulation.multiples) if simulation.multiples else ()
        return not slots or slots[index] >= plan.desired

    chosen = pods.fewest(blocked, plan.nodes.counts, missing, holds)
    held: dict[str, Sequence[Occupant]] = {one.node: one.pods for one in chosen}
    held = held or {name: _going(simulation.view, name, held_for(first)) for name in blocked}
    found = {name: _on_node(simulation.view, name, first, there) for name, there in held.items()}
    nodes: dict[str, list[str]] = {}  # by job that goes there first
    for name, (_, ahead) in found.items():
        for job in ahead:
            nodes.setdefault(job, []).append(name)
    return _InTheWay(tuple(taken for taken, _ in found.values() if taken), _goes_first(nodes))


def _never_fits(most: int, desired: int, nodes: int, unrounded: int, *, refused: bool) -> str:
    """Return how many pods a domain takes at most, and without podCountMultiple where that makes a difference.

    refused: whether it takes fewer when it is merely empty, as taints, load and the like still count then.
    """
    alone = say(" and nothing else refuses them") if refused else ""
    without = say("; {unrounded} without podCountMultiple", unrounded=unrounded) if most < unrounded else ""
    return say(
        "fits at most {most} of {desired} pods even when empty{alone} ({nodes}{without})",
        most=most,
        desired=desired,
        alone=alone,
        nodes=count(nodes, "node"),
        without=without,
    )


_MOST_JOBS = 2


def _goes_first(nodes: Mapping[str, Sequence[str]]) -> str:
    """Return which jobs go first, and on which nodes each: `ns/a goes first on n1 and n2`."""
    each = [say("{job} goes first on {on}", job=job, on=few(on, 4)) for job, on in nodes.items()]
    rest = len(each) - _MOST_JOBS
    return listed([*each[:_MOST_JOBS], *([count(rest, "more job")] if rest > 0 else [])])


def _going(view: View, name: str, held: frozenset[str]) -> tuple[Occupant, ...]:
    """Return who is on a node without what is held for the pods, and who comes back at once, as of DaemonSets."""
    pods = (one for one in view.occupants(name) if not isinstance(one, ReservedRoom) or one.uid not in held)
    return tuple(one for one in pods if not isinstance(one, RunningPod) or not disruption.comes_back_there(one))


def _on_node(view: View, name: str, first: Attempt, held: Sequence[Occupant]) -> tuple[str, Iterable[str]]:
    """Return who of some on a node takes its room, or why it refuses pods whatever pods are on it.

    What is said of it is empty where only jobs go there first, which come beside it.
    """
    reason, trigger = first.worded.get(name), first.prepared.trigger
    nominated = first.prepared.nominated_before(trigger, name)
    if reason is None or reason.unresolvable or isinstance(reason, Cordoned) or not (held or nominated):
        return say("{name}: {why}", name=name, why=obstacle(reason) if reason else say("full")), ()
    need = frozenset(scarce(trigger.requirements.requests, reason))
    running = [one for one in held if not isinstance(one, PendingPod)]
    now = {pod.key for pod in view.snapshot.nominated}
    ahead = [one for one in held if isinstance(one, PendingPod)] + [pod for pod in nominated if pod.key not in now]
    nominated = [pod for pod in nominated if pod.key in now]
    using, waiting, first_there = _using(view, running, need), _taking(nominated, need), _taking(ahead, need)
    if not (using or waiting or first_there):
        using, waiting, first_there = running, nominated, ahead
    jobs = dict.fromkeys(pod.gang or pod.key for pod in first_there)
    return _node_taken(name, need, using, [pod.key for pod in waiting]), jobs


def _node_taken(
    name: str,
    need: Collection[str],
    using: Sequence[RunningPod | ReservedRoom],
    nominated: Sequence[str],
) -> str:
    """Return who takes what is needed, pods on a node and those nominated to it; empty where nobody does.

    `n1: a and b (4 GPU each, priority 5 to 9) and nominated for ns/c`.
    """
    found = [_largest_first(using, need)] if using else []
    found += [say("nominated for {nominated}", nominated=listed(nominated))] if nominated else []
    return say("{name}: {why}", name=name, why=listed(found)) if found else ""


def _largest_first(using: Sequence[RunningPod | ReservedRoom], need: Collection[str]) -> str:
    largest = amounts((resource, number) for resource, number in using[0].requirements.requests if resource in need)
    names = listed(
        [say("reservation {name}", name=one.name) if isinstance(one, ReservedRoom) else one.name for one in using]
    )
    priorities = sorted({one.priority for one in using})
    span = (
        str(priorities[0])
        if len(priorities) == 1
        else say("{priorities} to {priorities2}", priorities=priorities[0], priorities2=priorities[-1])
    )
    is_alike = all(one.requirements.requests == using[0].requirements.requests for one in using)
    each = f"{largest}{COMMA}" if len(using) == 1 else say("{largest} each, ", largest=largest) if is_alike else ""
    return say("{names} ({each}priority {span})", names=names, each=each, span=span)


def _taking(pods: Iterable[PendingPod], need: Collection[str]) -> list[PendingPod]:
    """Return those of some pods that wait which request what is needed."""
    return [pod for pod in pods if any(name in need for name, _ in pod.requirements.requests)]


def _using(
    view: View, running: Sequence[RunningPod | ReservedRoom], need: frozenset[str]
) -> list[RunningPod | ReservedRoom]:
    """Return who uses what is needed, the largest first."""
    known = _uses(view, need)
    for one in running:
        if id(one.requirements) not in known:
            asked_for = [amount for resource, amount in one.requirements.requests if resource in need]
            known[id(one.requirements)] = sum(asked_for) if asked_for else None
    using = [one for one in running if known[id(one.requirements)] is not None]
    return sorted(using, key=lambda one: known[id(one.requirements)] or 0, reverse=True)


@memoised
def _uses(_view: View, _need: frozenset[str]) -> dict[int, int | None]:
    """Return what is known of how much pods request of some resources, by the identity of what they share of it.

    It is None where they request none.
    """
    return {}


def scarce(requests: Resources, reason: Reason | PreFilterRefusal | None) -> set[str]:
    """Return the resources that a reason says are short; all that the pod asks for where it names none."""
    if isinstance(reason, Insufficient):
        return {resource for resource, _, _ in reason.short}
    return {resource for resource, _ in requests}


def other_than_room(first: Attempt) -> tuple[Refused, ...]:
    """Return why nodes refused, where that is more than a want of room, such as taints; empty otherwise.

    Nodes that are in no domain of the plan could not have helped.
    """
    plan = first.plan
    beside = [one.node for one in plan.tree.outside] if plan is not None else []
    useless = Counter(first.worded[name] for name in beside if name in first.worded)
    left = (Refused(one.reason, one.nodes - useless[one.reason]) for one in first.refused)
    return tuple(one for one in left if one.nodes and not isinstance(one.reason, Insufficient | TooManyPods))


def asked(simulation: Simulation, pod: PendingPod, first: Attempt | None = None) -> Offer:
    """Return which nodes take this pod as things are, before any member is placed, and why the others refuse it.

    Pods of other jobs that are nominated count as the scheduler counts them. What an attempt found that tried this pod
    before all others, and that no node took, is not asked again.
    """
    known = _answers(pod, first) if first is not None and not simulation.snapshot.reserve_pods else None
    if known is not None:
        return known
    return offer_slots(simulation.view, simulation.view.names(), (pod,), simulation.prepared(pod))


def _answers(pod: PendingPod, first: Attempt) -> Offer | None:
    """Return what nodes answered an attempt, where they were asked of this pod alone and none takes it."""
    answers = first.node_answers
    is_about_pod = first.trigger is pod and first.plan is None and not first.waiting
    return answers if is_about_pod and isinstance(answers, Offer) and not answers.counts else None


def funnel(simulation: Simulation, first: Attempt) -> Funnel:
    """Return how many nodes are lost to each reason, in the filters' order, and how many are left.

    That is before any member is placed: the places that members take themselves are not lost.
    """
    names = simulation.view.names()
    refused = tuple(_refused(simulation, first))
    stages = tuple(_stages(len(names), refused, first))
    own = first.trigger.requirements
    is_alike = all(pod.requirements is own or pod.requirements == own for pod in simulation.subject.pending)
    left = len(names) - sum(one.nodes for one in refused)
    return Funnel(len(names), refusal_counts(refused), left, stages, "" if is_alike else first.trigger.key)


def _refused(simulation: Simulation, first: Attempt) -> Iterable[Refused]:
    """Return why nodes take not even one pod, and how many."""
    if first.plan is None:
        return asked(simulation, first.trigger).reasons
    return first.plan.nodes.refused


def _stages(total: int, refused: Iterable[Refused], first: Attempt) -> Iterator[tuple[str, int]]:
    """Yield how many nodes pass each filter and all before it; filters that lose none are left out."""
    lost: Counter[tuple[int, str]] = Counter()
    for one in refused:
        lost[stage(one.reason, first.trigger.requirements.requests)] += one.nodes
    left = total
    for (_, passed), number in sorted(lost.items()):
        left -= number
        yield passed, left


def by_node(simulation: Simulation, first: Attempt) -> tuple[NodeReason, ...]:
    """Return for every node how many pods of the gang it takes and why the next does not fit, in name order."""
    slots = first.plan.nodes if first.plan is not None else None
    pods = in_index_order(simulation.subject.pending)
    if slots is None:
        slots = offer_slots(simulation.view, simulation.view.names(), pods, simulation.prepared(first.trigger))
    outside = {one.node: one.missing for one in first.plan.tree.outside} if first.plan is not None else {}
    return tuple(
        NodeReason(
            name,
            simulation.tree.above(name),
            node.slots,
            say("outside the tree: lacks the label {outside}", outside=listed(outside[name]))
            if name in outside
            else obstacle(node.rejection)
            if node.rejection
            else "",
        )
        for name, node in slots.items()
    )
