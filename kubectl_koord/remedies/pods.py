"""Ways out that end or move running pods: as few as may be, of lower priority first."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial, reduce
from itertools import accumulate, chain, islice
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.diagnosis import evidence
from kubectl_koord.engine.filters import placed
from kubectl_koord.engine.queue import priority
from kubectl_koord.engine.tree import Domain
from kubectl_koord.language import say
from kubectl_koord.model.pods import PendingPod, RunningPod
from kubectl_koord.remedies import next_steps
from kubectl_koord.remedies.running_pods import (
    COSTS_NOTHING,
    Cost,
    CountLimit,
    FreedPods,
    PodCosts,
    RemovedPod,
    cost_sum,
    described,
    eviction,
    fewest,
    harmed,
    in_the_way,
    lower_priority,
    options_by_node,
    removable,
)
from kubectl_koord.remedies.search import Search, Shortage, SlotCount
from kubectl_koord.reports.common import DeletePod, Edit, FreedPod, MovePod, WayOut
from kubectl_koord.simulation.what_if import deleted, recreated
from kubectl_koord.wording.facts import eviction_effects, in_turn, place_clause
from kubectl_koord.wording.words import SEMICOLON, count, listed, verb

_MOST_MOVED = 3
_MOST_COUNTED, _COUNTED_A_STEP, _NODES_A_STEP = 6_000, 10, 32


def move_one(search: Search) -> Iterator[WayOut]:
    """Yield single running pods that fit on another node and are all that is in the way.

    None with resource claims: where their devices could be had anew is not looked at.
    """
    looks = search.budget.take(len(search.view.names()) // _NODES_A_STEP)
    if not looks or search.passes_over_room:
        if any(removable(search, name) for name in search.view.names()):
            search.untried.add("move-pod")
        return
    moved = 0
    for pod, short in _blocking(search):
        if pod.requirements.has_resource_claims:
            continue
        to, assignments = _elsewhere(search, pod)
        edits: tuple[Edit, ...] = (MovePod(pod.key, pod.node, to),)
        if to and search.works(edits):
            freed, broken = harmed(search, [pod])
            message = _move(described(search, pod), to, short.named, pod.owner)
            message += eviction_effects(freed, broken)
            command = _command(search, freed[0], {pod.node, *assignments} - {to})
            yield WayOut("move-pod", message, command, edits, freed, broken)
            moved += 1
        if moved == _MOST_MOVED:
            return


def _move(pod: RemovedPod, to: str, domain: Domain | None, owner: str) -> str:
    """Return to move a pod, where that makes room, and who creates it anew; the owner is empty for nobody."""
    there = place_clause(domain)
    room = say("; this makes enough room{there}", there=there) if there else ""
    anew = say("; {owner} recreates it", owner=owner) if owner else say(" (no controller recreates it)")
    return say(
        "Move {key} ({has}) from {node} to {to}, where it fits{room}{anew}",
        key=pod.key,
        has=pod.has,
        node=pod.node,
        to=to,
        room=room,
        anew=anew,
    )


def _command(search: Search, pod: FreedPod, nodes: Iterable[str]) -> str:
    """Return what makes a controller create the pod anew on none of these nodes, where the gang is to go.

    They are cordoned until the new pod is bound, but those that are so already; then a gang that freed room does not
    wake is woken. Empty for a pod that nothing creates anew, or that is not to be evicted by a command.
    """
    kept_free = [name for name in sorted(nodes) if not search.view.node(name).unschedulable]
    evict = eviction([pod], kept_free) if pod.owner else ""
    wakes = next_steps.wake(search.simulation) if evict and search.simulation.has_topology else None
    return in_turn(filter(None, (evict, wakes.command if wakes else "")))


def _blocking(search: Search) -> Iterator[tuple[RunningPod, Shortage]]:
    """Yield running pods whose end alone brings all that is missing, the harmless and least important first."""
    found: dict[str, tuple[RunningPod, Shortage]] = {}
    for slot_count in search.slot_counts:
        for pod, short in _blocking_one(search, slot_count):
            found.setdefault(pod.key, (pod, short))
    costs = PodCosts(search.simulation)
    return iter(sorted(found.values(), key=lambda item: (costs.level(item[0]), item[0].priority, item[0].key)))


def _blocking_one(search: Search, slot_count: SlotCount) -> Iterator[tuple[RunningPod, Shortage]]:
    now = slot_count.slots(slot_count.view)
    left = most = min(_MOST_COUNTED, search.budget.now * _COUNTED_A_STEP)
    for short in slot_count.shorts():
        for name in short.nodes if left > 0 else ():
            may_gain = slot_count.most_on(name) - now[name] >= short.missing
            if may_gain and slot_count.empty_slots[name] - now[name] >= short.missing:
                pods = removable(search, name)
                left -= len(pods)
                gains = ((pod, slot_count.slots_without(name, [pod]) - now[name]) for pod in pods)
                yield from ((pod, short) for pod, gain in gains if gain >= short.missing)
    if left <= 0:
        search.left_out.add("move-pod")
    search.budget.take_up_to((most - left) // _COUNTED_A_STEP)


def _elsewhere(search: Search, pod: RunningPod) -> tuple[str, tuple[str, ...]]:
    """Return a node that takes a pod once the gang is placed, best none of its own; empty for none; and those.

    It takes the pod only where its cards, CPUs and zones can be booked there, too. A pod that draws on a reservation
    stays: whether it must use one was not read.
    """
    if pod.allocations.reservation:
        return "", ()
    after = search.placed_after(deleted([pod]))
    if after is None:
        return "", ()
    view, assignments = after
    waiting = recreated(pod)
    prepared = search.simulation.prepared(waiting, view, created_anew=True)
    others = sorted((name for name in view.names() if name != pod.node), key=lambda name: name in assignments)
    taking = (name for name in others if isinstance(placed(waiting, view.state(name), prepared), PendingPod))
    return next(taking, ""), assignments


_PodsOn: TypeAlias = Callable[[str], Sequence[RunningPod]]
_Gain: TypeAlias = tuple[str, int]
"""A node, and how many slots it gains."""

_MOST_PLACES = 3
_MOST_TRIED = 16
_CELLS_A_COUNT = 4
_COUNTS_OF_NODE = 5
_LOOKED_AT_ONCE = 64
_MOST_IN_COMMAND = 20
_MOST_FREED, _MOST_FREED_AT_ANY_PRIORITY = 200, 20


def free_lower(search: Search) -> Iterator[WayOut]:
    """Yield the fewest pods of lower priority to free in each of the cheapest of the places nearest to enough."""
    yield from search.once("free-lower", _freed_lower)


def free_any(search: Search) -> Iterator[WayOut]:
    """Yield the fewest pods of any priority to free, where those of lower priority are too few."""
    if not search.once("free-lower", _freed_lower):
        yield from _freed(search, partial(removable, search), _MOST_FREED_AT_ANY_PRIORITY, "pod")


def _freed_lower(search: Search) -> tuple[WayOut, ...]:
    if search.passes_over_room:
        return ()
    return tuple(_freed(search, partial(lower_priority, search), _MOST_FREED, "lower-priority pod"))


class _Plan(Struct, frozen=True):
    """What freeing would take in one place; `chosen` is empty where counting alone finds nothing."""

    short: Shortage
    pieces: Mapping[str, Sequence[FreedPods]]
    chosen: tuple[FreedPods, ...]

    @property
    def cost(self) -> tuple[bool, Cost]:
        """What the chosen pods cost; what counting does not find comes last."""
        return not self.chosen, reduce(cost_sum, (piece.cost for piece in self.chosen), COSTS_NOTHING)

    @property
    def number(self) -> int:
        """How many pods are chosen."""
        return sum(len(piece.pods) for piece in self.chosen)


def _freed(search: Search, choose: Callable[[str], tuple[RunningPod, ...]], most: int, kind: str) -> Iterator[WayOut]:
    pods_on = cache(choose)
    if not any(map(pods_on, search.view.names())):
        return
    if not search.may_help("free-pods", len(search.view.names()) // _NODES_A_STEP):
        return
    costs = PodCosts(search.simulation)
    found: dict[Domain | None, tuple[Cost, Shortage, tuple[RunningPod, ...]]] = {}
    for slot_count in search.slot_counts:
        limit = CountLimit(most_counted := min(_MOST_COUNTED, search.budget.now * _COUNTED_A_STEP))
        plans = _plans(slot_count, pods_on, costs, limit)
        every = sorted((plan for plan in plans if plan.number <= most), key=lambda plan: plan.cost)
        cheapest = search.few(every, _MOST_PLACES, "free-pods")
        if limit.number <= 0:
            search.left_out.add("free-pods")
        search.budget.take_up_to((most_counted - limit.number) // _COUNTED_A_STEP)
        for plan in cheapest:
            pods = _proven(search, plan, most)
            at, cost = plan.short.named, costs.together(pods)
            if pods and (at not in found or cost < found[at][0]):
                found[at] = (cost, plan.short, pods)
    for short, pods in _single(search, pods_on, costs):
        at, cost = short.named, costs.together(pods)
        found[at] = min((cost, short, pods), found.get(at, (cost, short, pods)), key=lambda item: item[0])
    for _, short, pods in sorted(found.values(), key=lambda item: item[0])[:_MOST_PLACES]:
        yield _free(search, short, pods, kind)


def _single(search: Search, pods_on: _PodsOn, costs: PodCosts) -> Iterator[tuple[Shortage, tuple[RunningPod, ...]]]:
    """Yield the pod of the least cost that is enough alone, where counting may miss it: a few are tried.

    Those that hold what is in the way go before all others.
    """
    if search.counts_exactly:
        return
    holding = in_the_way(search, pods_on)
    every = chain.from_iterable(map(pods_on, search.view.names()))
    others = (pod for pod in every if pod.key not in holding) if holding else every
    few = search.few(chain(costs.ranked(holding.values()), costs.ranked(others)), _MOST_TRIED, "free-pods")
    places: dict[str, Shortage] = {}
    for slot_count in search.slot_counts:
        for short in slot_count.shorts():
            places = dict.fromkeys(short.nodes, short) | places
    for pod in sorted(few, key=lambda pod: (costs.of(pod), pod.key not in holding, pod.key)):
        if pod.node in places and search.works(deleted([pod])):
            yield places[pod.node], (pod,)
            return


def _plans(slot_count: SlotCount, pods_on: _PodsOn, costs: PodCosts, limit: CountLimit) -> Iterator[_Plan]:
    """Yield plans for the places nearest to enough, as many as may be computed."""
    for short in slot_count.shorts():
        gains = _gains(slot_count, short, pods_on, limit)
        enough = _enough(gains, short.missing)
        if enough:
            pieces = options_by_node(slot_count, chain(enough, gains), pods_on, costs, limit)
            yield _Plan(short, pieces, fewest(pieces, short.missing))
            limit.number -= len(pieces) * short.missing // _CELLS_A_COUNT
        if limit.number <= 0:
            return


def _enough(gains: Iterator[_Gain], missing: int) -> list[_Gain]:
    """Return the first nodes that gain enough together, none where all of them do not."""
    taken, left = [], missing
    for one in gains:
        taken.append(one)
        left -= one[1]
        if left <= 0:
            return taken
    return []


def _gains(slot_count: SlotCount, short: Shortage, pods_on: _PodsOn, limit: CountLimit) -> Iterator[_Gain]:
    """Yield how many slots the nodes of a place gain once all these pods are gone, of those that gain any.

    A few nodes are looked at at once, as more than enough are seldom wanted; none where not even empty ones are enough.
    """
    view, now = slot_count.view, slot_count.slots(slot_count.view)
    open_to = [name for name in short.nodes if slot_count.most_on(name) > now[name]]
    if sum(slot_count.most_on(name) - now[name] for name in open_to) < short.missing:
        return
    there = (name for name in open_to if pods_on(name))
    while limit.number > 0 and (some := tuple(islice(there, _LOOKED_AT_ONCE))):
        limit.number -= len(some) * _COUNTS_OF_NODE
        emptied = view.without([pod for name in some for pod in pods_on(name)])
        then = evidence.slots_among(emptied, some, slot_count.members, slot_count.first.prepared)
        yield from ((name, then[name] - now[name]) for name in some if then[name] > now[name])


def _proven(search: Search, plan: _Plan, most: int) -> tuple[RunningPod, ...]:
    """Return the pods that are enough by the engine's answer, none where it takes more than so many.

    They are more than the fewest where multiples or plans want more.
    """
    pods = tuple(pod for piece in plan.chosen for pod in piece.pods)
    if pods and search.works(deleted(pods)):
        return pods
    ranked = sorted((pieces[-1] for pieces in plan.pieces.values() if pieces), key=lambda piece: -piece.gain)
    together = accumulate(len(piece.pods) for piece in ranked)
    few = [piece for piece, pods_so_far in zip(ranked, together, strict=True) if pods_so_far <= most]
    edits = search.fewest([(piece.gain, deleted(piece.pods)) for piece in few], plan.short.missing)
    gone = {edit.pod for edit in edits if isinstance(edit, DeletePod)}
    return tuple(pod for piece in few for pod in piece.pods if pod.key in gone)


def _free(search: Search, short: Shortage, pods: Sequence[RunningPod], kind: str) -> WayOut:
    ranked = sorted(pods, key=lambda pod: (pod.priority, pod.key))
    freed, broken = harmed(search, pods)
    message = _evict([described(search, pod) for pod in ranked], kind, short.named)
    message += _not_below([pod.priority for pod in pods], priority(search.simulation.subject))
    message += _recreated(search, pods) + eviction_effects(freed, broken)
    command = eviction(freed) if len(pods) <= _MOST_IN_COMMAND else ""
    return WayOut("free-pods", message, command, deleted(pods), freed, broken)


def _not_below(priorities: Sequence[int], own: int) -> str:
    """Return, to follow a sentence, how many of some pods have a higher priority than one's own, or the same."""
    higher, same = (sum(one > own for one in priorities), sum(one == own for one in priorities))
    number, than = (higher, say("a higher priority than")) if higher else (same, say("the same priority as"))
    if not number:
        return ""
    all_of_them = say("it has") if number == 1 else say("they have")
    who = (
        all_of_them
        if number == len(priorities)
        else say("{number} of them {have}", number=number, have=verb(number, "has", "have"))
    )
    return say("; {who} {than} this job ({own}): a last resort", who=who, than=than, own=own)


def _evict(pods: Sequence[RemovedPod], kind: str, domain: Domain | None) -> str:
    """Return which pods to evict, and where; None for the whole cluster."""
    alike: dict[tuple[str, str, int], list[str]] = {}
    for pod in pods:
        alike.setdefault((pod.node, pod.has, pod.priority), []).append(pod.key)
    names = [
        say(
            "{keys} on {node} ({has}{each}, priority {rank})",
            keys=listed(keys),
            node=node,
            has=has,
            each=say(" each") if len(keys) > 1 else "",
            rank=rank,
        )
        for (node, has, rank), keys in alike.items()
    ]
    named = listed(names) if len(names) == len(pods) else SEMICOLON.join(names)
    return say(
        "Evict {kinds}{place_clause}: {named}",
        kinds=count(len(pods), kind),
        place_clause=place_clause(domain),
        named=named,
    )


def _recreated(search: Search, pods: Sequence[RunningPod]) -> str:
    """Return which owners create pods anew, and what to do about those whose pods would take the place again.

    A topology gang is not woken by room that is made: whoever comes anew is tried before it.
    """
    costs, sleeps = PodCosts(search.simulation), search.simulation.has_topology
    taking_the_place = {pod.owner for pod in pods if pod.owner and (sleeps or costs.comes_back(pod))}
    others = {pod.owner for pod in pods if pod.owner} - taking_the_place
    return _created_anew(len(pods), sorted(others), sorted(taking_the_place))


def _created_anew(pods: int, owners: Sequence[str], taking_the_place: Sequence[str]) -> str:
    """Return who creates evicted pods anew, to follow a sentence; last those whose pods would take the place again."""
    anew = "it" if pods == 1 else "pods"
    return _recreate(owners, anew) + _recreate(taking_the_place, anew, say(": scale {} down"))


def _recreate(owners: Sequence[str], anew: str, then: str = "") -> str:
    if not owners:
        return ""
    verb, them = ("recreates", "it") if len(owners) == 1 else ("recreate", "them")
    return say(
        "; {owners} {verb} {anew}{format}", owners=listed(owners), verb=verb, anew=anew, format=then.format(them)
    )
