"""Remedies at the cost of running pods: free some of lower priority, move one, free some of any priority."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import chain, combinations, product
from typing import TYPE_CHECKING

from msgspec import Struct

from kubectl_koord.diagnosis import disruption
from kubectl_koord.diagnosis.evidence import scarce
from kubectl_koord.engine.fit import rejection
from kubectl_koord.engine.preemption import possible_victims
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.remedies.search import Search
from kubectl_koord.remedies.slot_count import Shortage, SlotCount
from kubectl_koord.remedies.worth import NOTHING, Cost, Worth, plus
from kubectl_koord.reports.disruption import BrokenGang, FreedPod
from kubectl_koord.reports.edits import DeletePod, Edit, MovePod
from kubectl_koord.reports.ways_out import WayOut
from kubectl_koord.simulation.edits import deleted, recreated
from kubectl_koord.wording.words import count, listed, paste, requests

if TYPE_CHECKING:
    from kubectl_koord.engine.tree import Domain

_MOST_PLACES = 3
_MOST_SUBSETS = 8
_MOST_TRIED = 16
_MOST_COUNTED = 6_000
_CELLS_A_COUNT = 4
_MOST_CELLS = 8_000
_MOST_MOVED = 3
_MOST_NAMED = 3
_MOST_IN_COMMAND = 20
_UNTIL_GONE = "10m"
_MOST_FREED, _MOST_FREED_AT_ANY_PRIORITY = 200, 20


class _FreedPods(Struct, frozen=True):
    """Pods of one node whose end brings slots."""

    gain: int
    pods: tuple[RunningPod, ...]
    cost: Cost


def free_lower(search: Search) -> Iterator[WayOut]:
    """Yield the fewest pods of lower priority to free in each of the cheapest of the places nearest to enough."""
    yield from search.once("free lower", _freed_lower)


def free_any(search: Search) -> Iterator[WayOut]:
    """Yield the same for pods of any priority, where those of lower are too few."""
    if not search.once("free lower", _freed_lower):
        yield from _freed(search, partial(_others, search), _MOST_FREED_AT_ANY_PRIORITY, "pod")


def _freed_lower(search: Search) -> tuple[WayOut, ...]:
    return tuple(_freed(search, partial(_lower, search), _MOST_FREED, "lower-priority pod"))


def _lower(search: Search, node: str) -> tuple[RunningPod, ...]:
    """Return the pods of a node that may be freed and that the gang's priority lets it preempt."""
    victims = {pod.key for pod in possible_victims(search.view, node, search.first.trigger)}
    return tuple(pod for pod in _others(search, node) if pod.key in victims)


def _others(search: Search, node: str) -> tuple[RunningPod, ...]:
    """Return the pods of a node that may be freed.

    These are no members of its own gangs, nothing that comes back at once on the same node, and nothing
    that is about to go anyway.
    """
    own = search.simulation.subject.gangs
    pods = (pod for pod in search.view.occupants(node) if isinstance(pod, RunningPod))
    return tuple(
        pod for pod in pods if pod.gang not in own and not disruption.comes_back_there(pod) and not pod.terminating
    )


class _Plan(Struct, frozen=True):
    """What freeing would take in one place; `chosen` is empty where counting alone finds nothing."""

    short: Shortage
    pieces: Mapping[str, Sequence[_FreedPods]]
    chosen: tuple[_FreedPods, ...]

    @property
    def cost(self) -> tuple[bool, Cost]:
        """What the chosen pods cost; what counting does not find comes last."""
        return not self.chosen, reduce(plus, (piece.cost for piece in self.chosen), NOTHING)

    @property
    def number(self) -> int:
        """How many pods are chosen."""
        return sum(len(piece.pods) for piece in self.chosen)


def _freed(search: Search, pods_on: Callable[[str], Sequence[RunningPod]], most: int, kind: str) -> Iterator[WayOut]:
    worth = Worth(search.simulation)
    found: dict[Domain | None, tuple[Cost, Shortage, tuple[RunningPod, ...]]] = {}
    for slot_count in search.slot_counts:
        plans = (plan for plan in _plans(slot_count, pods_on, worth) if plan.number <= most)
        for plan in sorted(plans, key=lambda plan: plan.cost)[:_MOST_PLACES]:
            pods = _proven(search, plan, most)
            at, cost = plan.short.named, worth.together(pods)
            if pods and (at not in found or cost < found[at][0]):
                found[at] = (cost, plan.short, pods)
    for short, pods in _single(search, pods_on, worth):
        at, cost = short.named, worth.together(pods)
        found[at] = min((cost, short, pods), found.get(at, (cost, short, pods)), key=lambda item: item[0])
    for _, short, pods in sorted(found.values(), key=lambda item: item[0])[:_MOST_PLACES]:
        yield _free(search, short, pods, kind)


def _single(
    search: Search, pods_on: Callable[[str], Sequence[RunningPod]], worth: Worth
) -> Iterator[tuple[Shortage, tuple[RunningPod, ...]]]:
    """Yield the pod worth least that is enough alone, where counting may miss it: a few are tried."""
    if search.counts_exactly:
        return
    everyone = (pod for name in search.view.names() for pod in pods_on(name))
    for pod in sorted(everyone, key=lambda pod: (worth.of(pod), pod.key))[:_MOST_TRIED]:
        places = (
            short for slot_count in search.slot_counts for short in slot_count.shorts() if pod.node in short.nodes
        )
        short = next(places, None)
        if short is not None and search.works(deleted([pod])):
            yield short, (pod,)
            return


def _plans(slot_count: SlotCount, pods_on: Callable[[str], Sequence[RunningPod]], worth: Worth) -> Iterator[_Plan]:
    """Yield plans for the places nearest to enough, as many as may be computed."""
    view = slot_count.view
    now = slot_count.slots(view)
    then = slot_count.slots(view.without([pod for name in view.names() for pod in pods_on(name)]))
    left = _Left(_MOST_COUNTED)
    for short in slot_count.shorts():
        nodes = [name for name in short.nodes if then[name] > now[name]]
        if sum(then[name] - now[name] for name in nodes) >= short.missing:
            gains = {name: then[name] - now[name] for name in nodes}
            pieces = _pieces(slot_count, gains, pods_on, worth, left)
            yield _Plan(short, pieces, _fewest(pieces, short.missing))
            left.number -= len(nodes) * short.missing // _CELLS_A_COUNT
        if left.number <= 0:
            return


class _Left:
    """How much may still be counted, in all places together."""

    def __init__(self, number: int) -> None:
        self.number = number


def _proven(search: Search, plan: _Plan, most: int) -> tuple[RunningPod, ...]:
    """Return the pods that are enough by the engine's word, none where it takes more than so many.

    They are more than the fewest where multiples or plans want more.
    """
    pods = tuple(pod for piece in plan.chosen for pod in piece.pods)
    if pods and search.works(deleted(pods)):
        return pods
    ranked = sorted((options[-1] for options in plan.pieces.values() if options), key=lambda piece: -piece.gain)
    few = list(_while_few(ranked, most))
    edits = search.fewest([(piece.gain, deleted(piece.pods)) for piece in few], plan.short.missing)
    gone = {edit.pod for edit in edits if isinstance(edit, DeletePod)}
    return tuple(pod for piece in few for pod in piece.pods if pod.key in gone)


def _while_few(pieces: Iterable[_FreedPods], most: int) -> Iterator[_FreedPods]:
    """Yield pieces as long as they hold no more than so many pods together."""
    for piece in pieces:
        most -= len(piece.pods)
        if most < 0:
            return
        yield piece


def _pieces(
    slot_count: SlotCount,
    gains: Mapping[str, int],
    pods_on: Callable[[str], Sequence[RunningPod]],
    worth: Worth,
    left: _Left,
) -> dict[str, list[_FreedPods]]:
    """Return for each node what its pods bring, the cheapest of them for each number of slots, up to all it gains."""
    now = slot_count.slots(slot_count.view)
    found = {}
    for name, most in gains.items():
        options: list[_FreedPods] = []
        best = 0
        for subset in _subsets(slot_count, name, pods_on(name), worth):
            if best == most or left.number <= 0:
                break
            left.number -= 1
            gain = slot_count.slots_without(name, subset) - now[name]
            if gain > best:
                best = gain
                options.append(_FreedPods(gain, subset, worth.counted(subset)))
        found[name] = options
        if left.number <= 0:
            break
    return found


def _subsets(
    slot_count: SlotCount, node: str, pods: Sequence[RunningPod], worth: Worth
) -> Iterator[tuple[RunningPod, ...]]:
    """Yield sets of pods, the cheaper first: those that harm nobody, of these the smaller, then the least worth.

    All sets for a few pods, else the largest pods one after the other.
    """
    pods = sorted(pods, key=lambda pod: (pod.priority, pod.key))
    if len(pods) <= _MOST_SUBSETS:
        levels = [
            [pod for pod in pods if worth.level(pod) == level]
            for level in (disruption.PROTECTED, disruption.HARMFUL, disruption.HARMLESS)
        ]
        for sizes in product(*(range(len(of_level) + 1) for of_level in levels)):
            parts = product(*map(combinations, levels, sizes))
            yield from sorted((tuple(chain.from_iterable(part)) for part in parts if any(sizes)), key=worth.counted)
        return
    need = scarce(slot_count.first.trigger.requirements.requests, slot_count.first.rejections.get(node))
    by_size = sorted(
        pods, key=lambda pod: -sum(amount for resource, amount in pod.requirements.requests if resource in need)
    )
    by_size.sort(key=worth.level)
    for size in range(1, len(pods) + 1):
        yield tuple(by_size[:size])


class _Choice(Struct, frozen=True):
    """Pieces chosen so far, and what they cost together."""

    cost: Cost
    pieces: tuple[_FreedPods, ...]

    def plus(self, piece: _FreedPods) -> "_Choice":
        """Return the choice with one more piece."""
        return _Choice(plus(self.cost, piece.cost), (*self.pieces, piece))


def _fewest(pieces: Mapping[str, Sequence[_FreedPods]], missing: int) -> tuple[_FreedPods, ...]:
    """Return pieces, one of a node at most, that bring what is missing with the fewest pods, then the least worth.

    Exact where nodes times slots are few; else the pieces that bring most for each pod are taken in turn.
    """
    nodes = [options for options in pieces.values() if options]
    if len(nodes) * missing > _MOST_CELLS:
        return _greedily(nodes, missing)
    best: dict[int, _Choice] = {0: _Choice(NOTHING, ())}
    for options in nodes:
        for held, choice in list(best.items()):
            for piece in options:
                more = choice.plus(piece)
                at = min(missing, held + piece.gain)
                if at not in best or more.cost < best[at].cost:
                    best[at] = more
    return best[missing].pieces if missing in best else ()


def _greedily(nodes: Iterable[Sequence[_FreedPods]], missing: int) -> tuple[_FreedPods, ...]:
    def dear(piece: _FreedPods) -> tuple[int, int, float, Cost]:
        protected, harmed, *_ = piece.cost
        return protected, harmed, len(piece.pods) / piece.gain, piece.cost

    cheapest = [min(options, key=dear) for options in nodes]
    gained, chosen = 0, []
    for piece in sorted(cheapest, key=dear):
        if gained >= missing:
            break
        chosen.append(piece)
        gained += piece.gain
    return tuple(chosen) if gained >= missing else ()


def _free(search: Search, short: Shortage, pods: Sequence[RunningPod], kind: str) -> WayOut:
    ranked = sorted(pods, key=lambda pod: (pod.priority, pod.key))
    names = listed([f"{pod.key} on {pod.node} ({_room(search, pod)}, priority {pod.priority})" for pod in ranked])
    freed, broken = _harm(search, pods)
    told = f"{_created_anew(search, pods)}{disruption.told(freed, broken)}"
    message = f"Evict {count(len(pods), kind)}{short.place}: {names}{told}"
    command = disruption.eviction(freed) if len(pods) <= _MOST_IN_COMMAND else ""
    return WayOut("free-pods", message, command, deleted(pods), freed, broken)


def _harm(search: Search, pods: Sequence[RunningPod]) -> tuple[tuple[FreedPod, ...], tuple[BrokenGang, ...]]:
    snapshot = search.simulation.snapshot
    return disruption.freed(snapshot, pods), disruption.broken_gangs(snapshot, pods)


def _created_anew(search: Search, pods: Sequence[RunningPod]) -> str:
    """Return who creates pods anew, and what to do about those that would take the place again."""
    worth = Worth(search.simulation)
    again = sorted({pod.owner for pod in pods if worth.comes_back(pod)})
    others = sorted({pod.owner for pod in pods if pod.owner} - {*again})
    anew = "it" if len(pods) == 1 else "pods"
    return _creating(others, anew, "") + _creating(again, anew, ": scale {} down")


def _creating(owners: Sequence[str], anew: str, then: str) -> str:
    if not owners:
        return ""
    create, them = ("recreates", "it") if len(owners) == 1 else ("recreate", "them")
    return f"; {listed(owners)} {create} {anew}{then.format(them)}"


def _room(search: Search, pod: RunningPod) -> str:
    need = scarce(pod.requirements.requests, search.first.rejections.get(pod.node))
    return requests(tuple(item for item in pod.requirements.requests if item[0] in need))


def move_one(search: Search) -> Iterator[WayOut]:
    """Yield single running pods that fit on another node and are all that is in the way."""
    moved = 0
    for pod, short in _blocking(search):
        to, assignments = _elsewhere(search, pod)
        edits: tuple[Edit, ...] = (MovePod(pod.key, pod.node, to),)
        if to and search.works(edits):
            there = short.place
            message = f"Move {pod.key} ({_room(search, pod)}) from {pod.node} to {to}, where it fits"
            message = f"{message}; this makes enough room{there}" if there else message
            freed, broken = _harm(search, [pod])
            back = f"; {pod.owner} recreates it" if pod.owner else " (no controller recreates it)"
            message = f"{message}{back}{disruption.told(freed, broken)}"
            command = _moving(search, freed[0], {pod.node, *assignments} - {to})
            yield WayOut("move-pod", message, command, edits, freed, broken)
            moved += 1
        if moved == _MOST_MOVED:
            return


def _moving(search: Search, pod: FreedPod, nodes: Iterable[str]) -> str:
    """Return what makes a controller create the pod anew on none of these nodes, where the gang is to go.

    They are uncordoned again whatever becomes of it, but those that were cordoned before. Empty for a pod that
    nobody creates anew, or that is not to be evicted by a command.
    """
    evict = disruption.eviction([pod]) if pod.owner else ""
    kept_free = [name for name in sorted(nodes) if not search.view.node(name).unschedulable]
    if not evict or not kept_free:
        return evict
    namespace, _, name = pod.pod.partition("/")
    gone = paste("kubectl", "wait", "--for=delete", f"pod/{name}", "-n", namespace, f"--timeout={_UNTIL_GONE}")
    cordon, uncordon = (paste("kubectl", verb, *kept_free) for verb in ("cordon", "uncordon"))
    return f"{cordon} && {evict} && {gone}; {uncordon}"


def _blocking(search: Search) -> Iterator[tuple[RunningPod, Shortage]]:
    """Yield running pods whose end alone brings all that is missing, the harmless and least important first."""
    found: dict[str, tuple[RunningPod, Shortage]] = {}
    for slot_count in search.slot_counts:
        for pod, short in _blocking_one(search, slot_count):
            found.setdefault(pod.key, (pod, short))
    worth = Worth(search.simulation)
    return iter(sorted(found.values(), key=lambda item: (worth.level(item[0]), item[0].priority, item[0].key)))


def _blocking_one(search: Search, slot_count: SlotCount) -> Iterator[tuple[RunningPod, Shortage]]:
    empty, now = slot_count.empty_slots(), slot_count.slots(slot_count.view)
    left = _MOST_COUNTED
    for short in slot_count.shorts():
        for name in short.nodes if left > 0 else ():
            if empty[name] - now[name] >= short.missing:
                pods = _others(search, name)
                left -= len(pods)
                gains = ((pod, slot_count.slots_without(name, [pod]) - now[name]) for pod in pods)
                yield from ((pod, short) for pod, gain in gains if gain >= short.missing)


def _elsewhere(search: Search, pod: RunningPod) -> tuple[str, tuple[str, ...]]:
    """Return a node that takes a pod once the gang is placed, best none of its own; empty for none; and those."""
    after = search.placed_after(deleted([pod]))
    if after is None:
        return "", ()
    view, assignments = after
    waiting = recreated(pod)
    prepared = search.simulation.prepared(waiting, view)
    others = sorted((name for name in view.names() if name != pod.node), key=lambda name: name in assignments)
    return next((name for name in others if rejection(waiting, view.state(name), prepared) is None), ""), assignments
