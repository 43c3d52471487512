"""A plan that makes room: the cheapest moves, in order, after which the engine places a gang."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from heapq import heappop, heappush
from itertools import accumulate, count, islice, product
from typing import Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.diagnosis import disruption, evidence
from kubectl_koord.engine.budget import Budget
from kubectl_koord.engine.filters import Prepared, placed
from kubectl_koord.engine.gangs import ONCE_SATISFIED, Gang, GangGroup, GangSubject, all_gangs
from kubectl_koord.engine.queue import priority
from kubectl_koord.engine.slots import places
from kubectl_koord.engine.state import View
from kubectl_koord.language import say
from kubectl_koord.model.hardware import NOTHING
from kubectl_koord.model.pods import GangAnnotations, PendingPod, ReservedRoom, RunningPod
from kubectl_koord.model.values import Selector, between, matches
from kubectl_koord.remedies.running_pods import removable
from kubectl_koord.remedies.search import Search, Shortage, SlotCount
from kubectl_koord.reports.common import Edit, MovePod, ReleaseReservation, Uncordon
from kubectl_koord.simulation.simulation import Scenario, Simulation, all_place, next_attempt, seats
from kubectl_koord.simulation.what_if import deleted, opened, recreated

_MOST_STEPS, _FEWEST_STEPS, _NODES_A_STEP, _STEPS_OF_GANG = 12_000, 300, 200, 3
_STEPS_OF_RUN = 20
_FOR_FEW, _FOR_GREEDY, _NODES_A_LOOK = 2, 3, 32
_ANY, _FEW_MOVES, _SHARE_OF_MANY = 1 << 30, 4, 4
_MOST_PLACES, _MOST_NODES, _MOST_SUBSETS, _MOST_PIECES = 64, 512, 256, 12
_MOST_SEATS, _MOST_CHOICES, _MOST_GREEDY, _MOST_LOOKS = 200, 2000, 8, 512
_GPU, _HIGHEST = "/gpu", 1_000_000_000  # above that the priorities of the system begin
_SECONDS = 3600
_HOSTNAME = "kubernetes.io/hostname"

Kind: TypeAlias = Literal["pod", "gang", "node", "reservation"]


class Weights(Struct, frozen=True):
    """What each GPU-hour of lost work costs, each pod, gang, disruption of a budget and so on: the least is chosen."""

    hours: float = 1
    pods: float = 1
    gangs: float = 10
    waits: float = 20
    cordons: float = 5
    reservations: float = 5
    budgets: float = 1


class Unit(Struct, frozen=True, eq=False):
    """What is moved, opened or released as a whole; pods of one that waits are not placed again."""

    kind: Kind
    key: str
    pods: tuple[RunningPod, ...] = ()
    hours: float = 0
    cost: float = 0
    waits: bool = False
    budgets: int = 0


class Move(Struct, frozen=True):
    """A unit, and the node of each of its pods afterwards, none for one that waits."""

    unit: Unit
    to: tuple[str, ...] = ()


class Found(Struct, frozen=True):
    """A plan: moves in order, the nodes that must stay closed meanwhile, and where the gang goes.

    `is_cheapest` tells whether all that may be cheaper was looked at. `blocked` is a pod that finds no place where the
    scheduler chooses other nodes for those before it, None where all choices are good, or too many to follow.
    """

    moves: tuple[Move, ...]
    closed: tuple[str, ...]
    edits: tuple[Edit, ...]
    nodes: tuple[str, ...]
    cost: float
    is_cheapest: bool
    blocked: str = ""
    choices_cut: bool = False


class _State(Struct, frozen=True):
    """Units chosen so far for a place; nodes before `last` are not looked at again."""

    units: tuple[Unit, ...]
    place: int
    last: int
    gained: int

    @property
    def cost(self) -> float:
        return sum(unit.cost for unit in self.units)


class _Settled(Struct, frozen=True):
    """Where all pods that are moved go, none where there is no way; and whether the gang is placed without them."""

    moves: tuple[Move, ...] = ()
    is_placed: bool = False


def gpus(pod: RunningPod) -> int:
    """Return how many GPUs a pod requests."""
    return sum(amount for name, amount in pod.requirements.requests if name.endswith(_GPU))


def cheapest(search: Search, weights: Weights, keep: Selector | None = None) -> tuple[Found | None, bool]:
    """Return the cheapest plan, and whether the search was cut off before it was proven to be that, or that none is."""
    planner = Planner(search, weights, keep)
    found = planner.search()
    return found, planner.budget.is_cut or bool(search.untried)


def again(
    search: Search, weights: Weights, keep: Selector | None, left: Iterable[tuple[Kind, str, bool]]
) -> Found | str:
    """Return the plan that is left of one, by kind and key of its units, and whether each waits, in the cluster now.

    A text is why it does not hold any more.
    """
    return Planner(search, weights, keep).again(left)


def may_help(search: Search) -> bool:
    """Tell whether any place has enough slots once all is gone that may be moved, opened or released; no is proven."""
    return Planner(search, Weights(), None).may_help()


class Planner:
    """A best-first search over sets of units: cost so far, and the least that the slots still missing cost."""

    def __init__(
        self, search: Search, weights: Weights, keep: Selector | None, moved: Collection[str] | None = None
    ) -> None:
        """Begin; with pods that were `moved`, be it none, others are moved alone, whoever they are, and not these."""
        self._search = search
        self._snapshot = search.simulation.snapshot
        self._view = search.view
        self._slot_count = search.slot_counts[0]
        self._only_moves = moved is not None
        self._moved_before = moved or ()
        self._own = _HIGHEST if self._only_moves else priority(search.simulation.subject)
        self._weights = weights
        self._keep = keep
        share = _SHARE_OF_MANY if self._only_moves else 1
        steps = _MOST_STEPS // (share + share * len(self._view.names()) // _NODES_A_STEP)
        self.budget = Budget(max(_FEWEST_STEPS, steps))
        self._steps = self.budget
        self._places: tuple[Shortage, ...] = tuple(islice(self._slot_count.shorts(), _MOST_PLACES + 1))
        if len(self._places) > _MOST_PLACES:
            self.budget.cut()
        self._settings: dict[tuple[Unit, ...], SlotCount] = {}
        self._pieces_on = cache(self._pieces)
        self._rate_of = cache(self._rate)
        self._gang_unit = cache(self._unit_of_gang)
        self._units_on = cache(self._units)
        self._rooms_on = cache(self._rooms)
        self._waiting = cache(self._that_waits)
        shut = () if self._only_moves else evidence.cordoned(self._view)
        held = () if self._only_moves else self._view.snapshot.reservations
        self._opened = {node.name: self._setting("node", node.name) for node in shut}
        self._released: dict[str, list[Unit]] = {}
        for one in (one for one in held if not one.is_pod):
            self._released.setdefault(one.node, []).append(self._setting("reservation", one.name))

    def search(self) -> Found | None:
        """Return the plan, None where there is none or the steps do not suffice.

        First all plans are looked at, then those of a few moves, then the cheapest for each slot.
        """
        for share, most in ((_FOR_FEW, _ANY), (_FOR_GREEDY, _FEW_MOVES)):
            self._steps = self.budget.part(self.budget.left - self.budget.left // share)
            found = self._best_first(most)
            if found is not None or not self._steps.is_cut:
                return found
        self._steps = self.budget
        return self._greedy()

    def may_help(self) -> bool:
        """Tell whether the most that may be gained is enough in any place; of many nodes only some are looked at."""
        looks = 0
        for place in self._places:
            missing = place.missing
            for name in place.nodes:
                looks += 1
                units = self._units_on(name)
                missing -= max(0, self._gain(name, units)) if units else 0
                if missing <= 0 or looks == _MOST_LOOKS:
                    return True
        return self.budget.is_cut

    def again(self, left: Iterable[tuple[Kind, str, bool]]) -> Found | str:
        """Return the plan of these units alone, or why there is none."""
        units: list[Unit] = []
        for kind, key, waits in left:
            unit = self._known(kind, key)
            if unit is None or (waits and not self._may_wait(unit)):
                return say("{key} may not be moved any more, or is not there as it was", key=key)
            units.append(self._waiting(unit) if waits else unit)
        moved = _joined(units, ())
        settled = self._settle(moved) if moved else _Settled(is_placed=True)
        found = self._proven(_State(moved, 0, 0, 0), settled.moves) if settled.moves or not moved else None
        if found is None:
            return say("what is left of the plan would not make room any more")
        return found

    def _known(self, kind: Kind, key: str) -> Unit | None:
        """Return what is moved, opened or released by that name, None where there is no such thing any more."""
        if kind == "node":
            return self._opened.get(key)
        if kind == "reservation":
            return next((one for there in self._released.values() for one in there if one.key == key), None)
        if kind == "gang":
            gang = all_gangs(self._snapshot).get(key)
            return self._gang_unit(key) if gang is not None and gang.running else None
        pods = (pod for there in self._snapshot.running.values() for pod in there if pod.key == key)
        unit = next(map(self._unit_of, pods), None)
        return unit if unit is not None and unit.kind == kind else None

    def _best_first(self, most: int) -> Found | None:
        """Return the cheapest plan of so many moves at most."""
        heap: list[tuple[float, int, int, _State]] = []
        numbers, seen = count(), set()
        for place in range(min(len(self._places), _MOST_PLACES)):
            self._push(heap, numbers, _State((), place, 0, 0))
        while heap:
            *_, state = heappop(heap)
            key = (state.units, state.place) if state.gained >= self._places[state.place].missing else state
            if key in seen:
                continue
            seen.add(key)
            if not self._steps.take():
                return None
            if state.gained < self._places[state.place].missing:
                following = self._next(state)
            else:
                settled = self._settle(state.units)
                found = self._proven(state, settled.moves) if settled.moves else None
                if found is not None:
                    return found
                following = self._mended(state) if settled.is_placed else self._next(state)
            for one in following:
                if sum(max(1, len(unit.pods)) for unit in one.units) <= most:
                    self._push(heap, numbers, one)
        return None

    def _greedy(self) -> Found | None:
        """Return a plan of what is cheapest for each slot, where there was too little time for the cheapest of all."""
        for place in range(min(len(self._places), _MOST_GREEDY)):
            nodes = self._nodes(place)
            state = _State((), place, 0, 0)
            ranked = sorted(
                (sum(unit.cost for unit in units) / gain, name, units)
                for name in nodes
                for gain, units in self._pieces_on(name)[:1]
            )
            for _, _, units in ranked:
                if state.gained >= self._places[place].missing:
                    break
                more = _joined(state.units, units)
                state = _State(more, place, 0, self._gained(more, nodes))
            settled = self._settle(state.units) if state.gained >= self._places[place].missing else _Settled()
            found = self._proven(state, settled.moves) if settled.moves else None
            if found is not None:
                return found
        return None

    def _push(self, heap: list[tuple[float, int, int, _State]], numbers: Iterator[int], state: _State) -> None:
        missing = max(0, self._places[state.place].missing - state.gained)
        least = missing * self._rate_of(state.place) if missing else 0.0
        if least < float("inf"):
            heappush(heap, (state.cost + least, -state.gained, next(numbers), state))

    def _nodes(self, place: int) -> tuple[str, ...]:
        nodes = self._places[place].nodes
        if len(nodes) > _MOST_NODES:
            self.budget.cut()
        return nodes[:_MOST_NODES]

    def _rate(self, place: int) -> float:
        """Return the least that a slot of a place may cost: of a gang on several nodes each bears its share."""
        rates = [cost / gain for options in self.options(place) for gain, cost in options]
        return min(rates, default=float("inf"))

    def options(self, place: int) -> Iterator[tuple[tuple[int, float], ...]]:
        """Yield by node of a place how many slots may be gained there, and the least that they cost."""
        for name in self._nodes(place):
            yield tuple(
                (gain, sum(unit.cost / max(1, len({pod.node for pod in unit.pods})) for unit in units))
                for gain, units in self._pieces_on(name)
            )

    def slots(self) -> Iterator[int]:
        """Yield how many slots each place has."""
        counts = self._slot_count.slots(self._view)
        for place in self._places[:_MOST_PLACES]:
            yield sum(counts[name] for name in place.nodes)

    def _next(self, state: _State) -> Iterator[_State]:
        """Yield the states with one more node on which room is made."""
        nodes = self._nodes(state.place)
        touched = {pod.node for unit in state.units for pod in unit.pods}
        for index in range(state.last, len(nodes)):
            name = nodes[index]
            for gain, units in self._pieces_on(name):
                more = _joined(state.units, units)
                if len(more) == len(state.units):
                    continue
                is_apart = name not in touched and all(pod.node == name for unit in units for pod in unit.pods)
                gained = state.gained + gain if is_apart else self._gained(more, nodes)
                yield _State(more, state.place, index + 1, gained)

    def _gained(self, units: tuple[Unit, ...], nodes: Collection[str]) -> int:
        """Return how many slots units bring on these nodes together."""
        touched = {pod.node for unit in units for pod in unit.pods} | {
            unit.key for unit in units if unit.kind == "node"
        }
        touched |= {name for name, there in self._released.items() if any(unit in units for unit in there)}
        return sum(self._gain(name, units) for name in touched if name in nodes)

    def _gain(self, name: str, units: Iterable[Unit]) -> int:
        opening = tuple(unit for unit in units if unit.kind == "node")
        slot_count = self._slot_count
        if opening:
            if opening not in self._settings:
                view = _with_settings(self._view, opening)
                self._settings[opening] = SlotCount(self._search.simulation, view, self._search.first)
            slot_count = self._settings[opening]
        gone: list[RunningPod | ReservedRoom] = [pod for unit in units for pod in unit.pods if pod.node == name]
        released = {unit.key for unit in units if unit.kind == "reservation"}
        rooms = (one for one in self._view.occupants(name) if isinstance(one, ReservedRoom)) if released else ()
        gone += [room for room in rooms if room.name in released]
        return slot_count.slots_without(name, gone) - self._slot_count.slots(self._view)[name]

    def _units(self, name: str) -> tuple[Unit, ...]:
        """Return what may be moved away from a node, opened or released there."""
        return self._among(name, removable(self._search, name))

    def _in_the_way(self, name: str) -> tuple[Unit, ...]:
        """Return the same without pods that hold nothing of which the gang finds too little there."""
        prepared, pods = self._search.first.prepared, removable(self._search, name)
        state, slots = self._view.state(name), self._slot_count.most_on(name)
        has_cards = any(pod.allocations not in {None, NOTHING} for pod in state.occupants)
        if prepared.counts_only_room and not has_cards and state.places >= slots:
            asked = prepared.trigger.requirements.requests
            short = {resource for resource, amount in asked if state.free.get(resource, 0) < amount * slots}
            pods = tuple(pod for pod in pods if any(one in short and n for one, n in pod.requirements.requests))
        return self._among(name, pods)

    def _among(self, name: str, pods: Iterable[RunningPod]) -> tuple[Unit, ...]:
        found = dict.fromkeys(unit for pod in pods if (unit := self._unit_of(pod)) is not None)
        settings = [self._opened[name]] if name in self._opened else []
        return (*found, *settings, *self._released.get(name, ()))

    def _unit_of(self, pod: RunningPod) -> Unit | None:
        if not self._may_move(pod):
            return None
        gang = all_gangs(self._snapshot)[pod.gang] if pod.gang else None
        if gang is None or _lets_one_go(gang):
            return self._gone("pod", pod.key, (pod,))
        return self._gang_unit(gang.key)

    def _unit_of_gang(self, key: str) -> Unit | None:
        """Return a gang that is moved as a whole: one that waits for no pod, and for no other gang."""
        gang = all_gangs(self._snapshot)[key]
        is_alone = gang.group == (key,) and not gang.pending and not gang.reserved and not gang.finished
        if not is_alone or not all(map(self._may_move, gang.running)):
            return None
        return self._gone("gang", key, gang.running)

    def _may_move(self, pod: RunningPod) -> bool:
        """Tell whether a pod may be ended: its controller makes another, and nobody has said that it is to stay."""
        return bool(
            pod.owner
            and pod.priority <= self._own
            and not pod.protected
            and not pod.terminating
            and not disruption.comes_back_there(pod)
            and not pod.requirements.has_resource_claims
            and not pod.allocations.reservation
            and not pod.offers
            and pod.key not in self._moved_before
            and not (self._keep is not None and matches(self._keep, dict(pod.labels)))
        )

    def _gone(self, kind: Kind, key: str, pods: tuple[RunningPod, ...]) -> Unit | None:
        """Return pods as a unit, None where budgets do not let them go at once, or a gang would be too few then."""
        every = disruption.freed(self._snapshot, pods)
        if not all(one.evictable and one.budgets_read and (kind == "gang" or one.breaks is None) for one in every):
            return None
        return self._costed(kind, key, pods, sum(one.pod_disruption_budget is not None for one in every))

    def _costed(self, kind: Kind, key: str, pods: tuple[RunningPod, ...], budgets: int, *, waits: bool = False) -> Unit:
        hours = sum(gpus(pod) * self._age(pod) for pod in pods)
        weights = self._weights
        cost = weights.hours * hours + weights.budgets * budgets
        cost += len(pods) * (weights.pods + (weights.waits if waits else 0))
        return Unit(kind, key, pods, hours, cost + (weights.gangs if kind == "gang" else 0), waits, budgets)

    def _that_waits(self, unit: Unit) -> Unit:
        return self._costed(unit.kind, unit.key, unit.pods, unit.budgets, waits=True)

    def _age(self, pod: RunningPod) -> float:
        age = between(pod.scheduled or pod.created, self._snapshot.moment)
        return max(0.0, age.total_seconds() / _SECONDS) if age is not None else 0.0

    def _setting(self, kind: Kind, key: str) -> Unit:
        return Unit(kind, key, cost=self._weights.cordons if kind == "node" else self._weights.reservations)

    def _pieces(self, name: str) -> tuple[tuple[int, tuple[Unit, ...]], ...]:
        """Return what sets of units bring on a node, the cheapest first: of none does a part bring as much."""
        most = self._slot_count.most_on(name) - self._slot_count.slots(self._view)[name]
        units = self._in_the_way(name) if most > 0 else ()
        if not units or not self._gain(name, units):
            return ()
        found: list[tuple[int, tuple[Unit, ...]]] = []
        for numbers, chosen in self._subsets(units):
            gain = self._gain(name, chosen)
            if gain > 0 and not any(other >= gain and set(part) <= set(chosen) for other, part in found):
                found.append((gain, chosen))
            if len(found) == _MOST_PIECES and numbers:
                self.budget.cut()
                break
        return tuple(found)

    def _subsets(self, units: Sequence[Unit]) -> Iterator[tuple[bool, tuple[Unit, ...]]]:
        """Yield sets of units, the cheaper first, of alike ones the first; and whether more may follow."""
        alike: dict[object, list[Unit]] = {}
        for unit in sorted(units, key=lambda unit: (unit.cost, unit.key)):
            alike.setdefault(_shape(unit), []).append(unit)
        classes = list(alike.values())
        every = product(*(range(len(one) + 1) for one in classes))
        chosen = (
            tuple(unit for number, one in zip(numbers, classes, strict=True) for unit in one[:number])
            for numbers in every
        )
        some = [one for one in islice(chosen, _MOST_SUBSETS + 1) if one]
        if len(some) > _MOST_SUBSETS - 1:
            self.budget.cut()
            some.append(tuple(units))
        some.sort(key=lambda one: (sum(unit.cost for unit in one), len(one)))
        for index, one in enumerate(some, 1):
            yield index < len(some), one

    def _mended(self, state: _State) -> Iterator[_State]:
        """Yield states that may end better: more room for the gang, a unit that waits, or room for what finds none."""
        yield from self._next(state)
        for unit in state.units:
            if self._may_wait(unit):
                rest = tuple(one for one in state.units if one is not unit)
                yield structs.replace(state, units=_joined(rest, (self._waiting(unit),)))
        if not self._steps.take(1 + len(self._view.names()) // _NODES_A_LOOK):
            return
        origins = {pod.node for unit in state.units for pod in unit.pods}
        stuck = {unit.pods[0].requirements: unit.pods[0] for unit in state.units if unit.pods and not unit.waits}
        for name, pod in product(self._view.names(), stuck.values()):
            for units in self._rooms_on(name, pod) if name not in origins else ():
                yield structs.replace(state, units=_joined(state.units, units))

    def _may_wait(self, unit: Unit) -> bool:
        """Tell whether pods may wait in favour of the gang: a job of lower priority, as a whole."""
        is_whole = unit.kind == "gang" or (unit.kind == "pod" and not unit.pods[0].gang)
        return (
            is_whole and not self._only_moves and not unit.waits and all(pod.priority < self._own for pod in unit.pods)
        )

    def _rooms(self, name: str, pod: RunningPod) -> tuple[tuple[Unit, ...], ...]:
        """Return the least sets of units without which a node takes a pod."""
        units = [unit for unit in self._units_on(name) if unit.pods]
        waiting, prepared = recreated(pod), self.prepared(pod, self._view.without([pod]))
        found: list[tuple[Unit, ...]] = []
        for _, chosen in self._subsets(units) if units else ():
            if any(set(part) <= set(chosen) for part in found):
                continue
            left = self._view.state(name).copy()
            for one in (one for unit in chosen for one in unit.pods if one.node == name):
                left.remove(one)
            if isinstance(placed(waiting, left, prepared), PendingPod):
                found.append(chosen)
            if len(found) == _MOST_PIECES:
                self.budget.cut()
                break
        return tuple(found)

    def _settle(self, units: tuple[Unit, ...]) -> _Settled:
        """Return in which order the units go where, once the gang has its place."""
        gone = [pod for unit in units for pod in unit.pods]
        if not self._within_budgets(units):
            return _Settled()
        empty = _with_settings(self._view, units).without(gone)
        moved = [pod for unit in units if not unit.waits for pod in unit.pods]
        if not _is_enough(empty, (), (*moved, *self.simulation.subject.pending)):
            return _Settled(is_placed=True)
        if not self._steps.take(_STEPS_OF_RUN):
            return _Settled()
        after = self._search.placed_after((*_settings(units), *deleted(gone)))
        if after is None:
            return _Settled()
        view, nodes = after
        origins = {pod.node for pod in gone}
        opened_nodes = {unit.key for unit in units if unit.kind == "node"}
        moving = sorted(
            (unit for unit in units if unit.pods and not unit.waits),
            key=lambda unit: (unit.kind != "gang", [-size for size in _size(unit)], unit.key),
        )
        self._seats = _MOST_SEATS
        has_gang = len(moving) > 1 and moving[0].kind == "gang"
        for closed, start in ((frozenset(nodes), view), (frozenset(origins | opened_nodes), empty)):
            for in_turn in (moving, moving[::-1]) if has_gang else (moving,):
                goes = self._assigned(start, closed, in_turn)
                ordered = self._ordered(units, goes) if goes is not None else None
                if ordered is not None:
                    return _Settled(ordered)
        if has_gang:
            self.budget.cut()  # where else it might go is not tried
        return _Settled(is_placed=True)

    def _within_budgets(self, units: Sequence[Unit]) -> bool:
        """Tell whether budgets bear each step beside those whose pods wait."""
        waiting = tuple(pod for unit in units if unit.waits for pod in unit.pods)
        moving = [unit for unit in units if unit.pods and not unit.waits]
        return not waiting or all(
            one.evictable
            for unit in (*moving, Unit("pod", ""))
            for one in disruption.freed(self._snapshot, (*waiting, *unit.pods))
        )

    def _assigned(
        self, view: View, closed: Collection[str], moving: Sequence[Unit]
    ) -> dict[Unit, tuple[str, ...]] | None:
        """Return a node for each pod that is moved, none of those that are closed; None where there is no way."""
        if not moving:
            return {}
        unit, rest = moving[0], moving[1:]
        if not _is_enough(view, closed, [pod for one in moving for pod in one.pods]):
            return None
        for to, there in self._destinations(view, closed, unit):
            self._seats -= 1
            if self._seats < 0 or not self._steps.take(_STEPS_OF_GANG if unit.kind == "gang" else 1):
                self.budget.cut()
                return None
            found = self._assigned(there, closed, rest)
            if found is not None:
                return {unit: to, **found}
        return None

    def _destinations(self, view: View, closed: Collection[str], unit: Unit) -> Iterator[tuple[tuple[str, ...], View]]:
        """Yield where a unit may go, and the cluster with it there: of nodes on which as much is free one is enough."""
        if unit.kind == "gang":
            found = self.gang_again(view, closed, unit)
            if found is not None:
                yield found[0], found[1]
            return
        pod = unit.pods[0]
        for name, settled in self.unlike(view, {*closed, pod.node}, pod):
            yield (name,), view.with_pods({name: [settled]})

    def unlike(self, view: View, closed: Collection[str], pod: RunningPod) -> Iterator[tuple[str, RunningPod]]:
        """Yield the nodes that take a pod, of those that are alike one, and the pod as it runs there.

        Where more gangs may follow the fullest nodes come first.
        """
        prepared, rooms = self.prepared(pod, view), dict[object, str]()
        for name, room in view.per_node(_room_of).items():
            if name not in closed:
                rooms.setdefault(room, name)
        names = list(rooms.values())
        if self._only_moves:
            names.sort(key=lambda name: [view.state(name).free.get(one, 0) for one, _ in pod.requirements.requests])
        for name in names:
            settled = _settled_on(pod, name, view, prepared)
            if settled is not None:
                yield name, settled

    def gang_again(self, view: View, closed: Iterable[str], unit: Unit) -> tuple[tuple[str, ...], View, bool] | None:
        """Return where a gang goes that is created anew, the cluster with it, and whether it surely finds a place."""
        snapshot = self._snapshot
        keys = {pod.key for pod in unit.pods}
        profile, has_group = snapshot.config.profiles[0], unit.key in snapshot.pod_groups
        pending = (*snapshot.pending, *(_anew(pod, profile, needs_pod_group=has_group) for pod in unit.pods))
        running = {name: tuple(pod for pod in held if pod.key not in keys) for name, held in snapshot.running.items()}
        then = structs.replace(snapshot, pending=pending, running=running)
        gang = all_gangs(then)[unit.key]
        shut = view.with_nodes(structs.replace(view.node(name), unschedulable=True) for name in closed)
        simulation = Scenario(then, shut, self._search.simulation.tree).simulation(
            GangSubject(GangGroup(gang, {unit.key: gang}))
        )
        outcomes = next_attempt(simulation)
        if not outcomes[0].placed_at_once:
            return None
        where = {one.key: name for name, there in seats(simulation, outcomes[0]).items() for one in there}
        if not keys <= where.keys():
            return None
        by_node: dict[str, list[RunningPod]] = {}
        for pod in unit.pods:
            by_node.setdefault(where[pod.key], []).append(
                structs.replace(pod, node=where[pod.key], allocations=NOTHING)
            )
        return tuple(where[pod.key] for pod in unit.pods), view.with_pods(by_node), all_place(outcomes)

    def _ordered(self, units: Sequence[Unit], goes: Mapping[Unit, tuple[str, ...]]) -> tuple[Move, ...] | None:
        """Return the moves in an order in which each finds its place at once, None where there is none."""
        waiting = [unit for unit in units if unit.waits]
        found = [Move(unit) for unit in units if not unit.pods]
        found += [Move(unit) for unit in waiting]
        view = _with_settings(self._view, units).without([pod for unit in waiting for pod in unit.pods])
        left = dict(sorted(goes.items(), key=lambda item: (item[0].cost, item[0].key)))
        while left:
            for unit, to in left.items():
                there = self.moved(view, unit, to)
                if there is not None:
                    break
            else:
                return None
            view = there
            del left[unit]
            found.append(Move(unit, to))
        return tuple(found)

    def moved(self, view: View, unit: Unit, to: Sequence[str]) -> View | None:
        """Return the cluster once a unit has moved, None where a pod of it finds no room yet."""
        view = view.without(unit.pods)
        for pod, name in zip(unit.pods, to, strict=True):
            prepared = self.prepared(pod, view)
            settled = _settled_on(pod, name, view, prepared)
            if settled is None:
                return None
            view = view.with_pods({name: [settled]})
        return view

    def _proven(self, state: _State, moves: tuple[Move, ...]) -> Found | None:
        """Return the plan, None where the engine does not place the gang after it."""
        edits = edits_of(moves)
        after = self._search.placed_after(edits)
        if after is None:
            return None
        closed = closed_for(moves, after[1])
        units = [move.unit for move in moves]
        begin = _with_settings(self._view, units)
        begin = begin.without([pod for unit in units if unit.waits for pod in unit.pods])
        choices = Choices(self)
        blocked = choices.blocked(begin, [move for move in moves if move.to], frozenset(closed))
        is_cheapest = not self.budget.is_cut and not self._search.untried
        return Found(moves, closed, edits, after[1], state.cost, is_cheapest, blocked, choices.budget.is_cut)

    def is_gathered(self, gang: Unit) -> bool:
        """Tell whether the pods of a gang are placed as one, by the topology."""
        return all_gangs(self._snapshot)[gang.key].topology is not None

    @property
    def simulation(self) -> Simulation:
        """The gang in its cluster."""
        return self._search.simulation

    def prepared(self, pod: RunningPod, view: View) -> Prepared:
        """Return what PreFilter leaves for a pod that is created anew."""
        return self._search.simulation.prepared(recreated(pod), view, created_anew=True)


class Choices:
    """What the scheduler may choose for pods that are moved, one after the other.

    At the end the gang is to find its place, or what `is_good` asks for, which takes so many `steps`.
    """

    def __init__(self, planner: "Planner", is_good: Callable[[View], bool] | None = None, steps: int = 1) -> None:
        nodes = len(planner.simulation.view.names())
        self._planner = planner
        self._is_good = is_good or (lambda view: all_place(next_attempt(planner.simulation, view)))
        self._steps = steps
        self._has_begun = False
        self.budget = Budget(_MOST_CHOICES // (1 + nodes // _NODES_A_STEP))

    def blocked(self, view: View, moving: Sequence[Move], closed: frozenset[str]) -> str:
        """Return who finds no place after a choice of the scheduler, empty where nobody is found."""
        if not moving:
            return self._of_gang(view)
        if self._has_begun and not self.budget.take():
            return ""
        self._has_begun = True
        if self._are_all_free(view, moving, closed):
            return ""
        unit, shut = moving[0].unit, closed - set(moving[0].to)
        without = view.without(unit.pods)
        if unit.kind != "gang" or not self._planner.is_gathered(unit):
            return self._each(without, unit, unit.pods, moving[1:], shut)
        self.budget.cut()  # a gang that stays together may find several domains
        found = self._planner.gang_again(without, shut, unit)
        return self.blocked(found[1], moving[1:], shut) if found is not None and found[2] else unit.key

    def _each(
        self, view: View, unit: Unit, left: Sequence[RunningPod], rest: Sequence[Move], shut: frozenset[str]
    ) -> str:
        """Return which unit is blocked, as pods of this one find their places one after the other; empty for none."""
        if not left:
            return self.blocked(view, rest, shut)
        if not self.budget.take():
            return ""
        found = False
        for name, there in self._planner.unlike(view, shut, left[0]):
            if found and not self.budget.left:
                self.budget.cut()
                return ""
            found = True
            blocked = self._each(view.with_pods({name: [there]}), unit, left[1:], rest, shut)
            if blocked:
                return blocked
        return "" if found else unit.key

    def _are_all_free(self, view: View, moving: Sequence[Move], closed: frozenset[str]) -> bool:
        """Tell whether pods that are alike have room wherever those before them go, as each takes one place of all."""
        pods = [pod for move in moving for pod in move.unit.pods]
        kinds = {(pod.requirements, pod.namespace, tuple(pod.labels)) for pod in pods}
        if len(kinds) > 1 or any(move.unit.kind == "gang" or closed & set(move.to) for move in moving):
            return False
        prepared = self._planner.prepared(pods[0], view)
        if not prepared.counts_only_room:
            return False
        alike = tuple(map(recreated, pods))
        open_to = (name for name in view.names() if name not in closed)
        counted = accumulate(places(view.state(name), alike, prepared).slots for name in open_to)
        return any(slots >= len(pods) for slots in counted)

    def _of_gang(self, view: View) -> str:
        if not self.budget.take(self._steps):
            return ""
        return "" if self._is_good(view) else self._planner.simulation.subject.key


def _joined(units: Iterable[Unit], more: Iterable[Unit]) -> tuple[Unit, ...]:
    """Return both in order; of what was chosen to wait nothing is moved."""
    return tuple(unit for _, unit in sorted({(unit.kind, unit.key): unit for unit in (*more, *units)}.items()))


def _lets_one_go(gang: Gang) -> bool:
    """Tell whether a pod of a gang that is created anew is placed alone, wherever there is room."""
    is_alone = gang.group == (gang.key,) and not gang.pending
    return (
        is_alone and gang.match_policy == ONCE_SATISFIED and gang.topology is None and gang.bound > (gang.minimum or 0)
    )


def _shape(unit: Unit) -> object:
    """Return what units have in common of which it is open which of them goes."""
    pod = unit.pods[0] if unit.kind == "pod" else None
    return unit.key if pod is None or pod.allocations != NOTHING else pod.requirements


def _size(unit: Unit) -> tuple[int, int]:
    requests = [dict(pod.requirements.requests) for pod in unit.pods]
    return sum(map(gpus, unit.pods)), sum(one.get("cpu", 0) for one in requests)


def _settings(units: Sequence[Unit]) -> tuple[Edit, ...]:
    every: list[Edit] = [Uncordon(unit.key) for unit in units if unit.kind == "node"]
    return (*every, *(ReleaseReservation(unit.key) for unit in units if unit.kind == "reservation"))


def closed_for(moves: Iterable[Move], nodes: Iterable[str]) -> tuple[str, ...]:
    """Return which nodes stay closed while pods move, so that these nodes are free at the end."""
    destinations = {name for move in moves for name in move.to}
    origins = {pod.node for move in moves for pod in move.unit.pods}
    return tuple(sorted((origins | set(nodes)) - (destinations - origins)))


def edits_of(moves: Sequence[Move]) -> tuple[Edit, ...]:
    """Return the changes of the cluster that moves make."""
    waiting = deleted([pod for move in moves if move.unit.waits for pod in move.unit.pods])
    moved = [MovePod(pod.key, pod.node, to) for move in moves for pod, to in zip(move.unit.pods, move.to, strict=False)]
    return (*_settings([move.unit for move in moves]), *waiting, *moved)


def _with_settings(view: View, units: Iterable[Unit]) -> View:
    """Return the cluster with nodes opened and Reservations released."""
    settings = [unit for unit in units if not unit.pods]
    nodes = [opened(view.node(unit.key)) for unit in settings if unit.kind == "node"]
    names = {unit.key for unit in settings if unit.kind == "reservation"}
    uids = frozenset(one.uid for one in view.snapshot.reservations if one.name in names)
    view = view.without_reservations(uids) if uids else view
    return view.with_nodes(nodes) if nodes else view


def _settled_on(pod: RunningPod, name: str, view: View, prepared: Prepared) -> RunningPod | None:
    """Return a pod as it runs on another node once it was created anew, None where that refuses it."""
    there = placed(recreated(pod), view.state(name), prepared)
    if not isinstance(there, PendingPod):
        return None
    return structs.replace(pod, node=name, allocations=there.allocations or NOTHING)


def _is_enough(view: View, closed: Collection[str], pods: Sequence[RunningPod | PendingPod]) -> bool:
    """Tell whether as much is free as pods request, for all that ask for as much as each of them; yes proves nothing.

    What Reservations hold is not free, but their owners may draw on it.
    """
    if view.snapshot.reservations:
        return True
    asked = [dict(pod.requirements.requests) for pod in pods]
    names = [name for name in view.names() if name not in closed]
    for least in {pod.requirements.requests: dict(pod.requirements.requests) for pod in pods}.values():
        as_large = sum(all(one.get(name, 0) >= amount for name, amount in least.items()) for one in asked)
        counts = (_times(view.state(name).free, least) for name in names)
        if any(least.values()) and not any(places >= as_large for places in accumulate(counts)):
            return False
    return True


def _times(free: Mapping[str, int], least: Mapping[str, int]) -> int:
    return min((max(0, free.get(name, 0)) // amount for name, amount in least.items() if amount), default=1)


def _room_of(view: View) -> Callable[[str], object]:
    """Return what tells of a node in which it is as others are to pods."""
    return partial(_room, view)


def _room(view: View, name: str) -> object:
    """Return what makes nodes alike to pods: what is free, and labels but those of the node alone."""
    state, node = view.state(name), view.node(name)
    if any(pod.allocations not in {None, NOTHING} for pod in state.occupants):
        return name
    labels = tuple(one for one in node.labels if one[0] != _HOSTNAME)
    return tuple(sorted(state.free.items())), state.places, labels, node.taints


def _anew(pod: RunningPod, scheduler: str, *, needs_pod_group: bool) -> PendingPod:
    """Return a member of a gang as its controller creates it anew."""
    terms = pod.marks.gang_terms or GangAnnotations()
    return structs.replace(
        recreated(pod),
        scheduler=scheduler,
        gang=pod.gang,
        needs_pod_group=needs_pod_group,
        gang_terms=terms,
        owner=pod.owner,
    )
