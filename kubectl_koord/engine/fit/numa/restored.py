"""What reservations give back of a node's CPUs and zones, by who asks.

Mirrors plugins/nodenumaresource/reservation.go. A CPU of a reservation is free for its pods as long as no owner holds
it; amounts of zones that both a reservation and its owners have booked count once, those of the owner not at all.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit.numa.books import Booked, booked_of, books
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.reservations import Matched, owners_taken, used_up
from kubectl_koord.model.hardware.allocations import CPUAllocation
from kubectl_koord.model.hardware.numa import CPUSet, members, set_of
from kubectl_koord.model.pods import ReservedRoom
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.model.values.quantity import Resources

_Amounts: TypeAlias = Mapping[int, Mapping[str, int]]
_Listed: TypeAlias = tuple[tuple[int, Resources], ...]


class ZoneWays(Struct, frozen=True, gc=False):
    """The books by which a pod may be given CPUs and zones, in turn.

    `drawing` are those with each reservation, by uid: all of them must have enough, and the last one counts. `node` are
    those without any; there is no such way for a pod that `must_draw` where any reservation holds CPUs or zones for it.
    By `every` zones are ranked: with all that its reservations hold; None where that is as `node`.
    """

    node: Booked
    drawing: tuple[tuple[str, tuple[Booked, ...]], ...] = ()
    every: Booked | None = None
    must_draw: bool = False

    @property
    def ranking(self) -> Booked:
        """The books by which zones are ranked."""
        return self.node if self.every is None else self.every

    def with_one(self, uid: str) -> "ZoneWays":
        """Return the same at Reserve, where it is known which reservation the pod takes, empty for none."""
        return structs.replace(self, drawing=tuple(way for way in self.drawing if way[0] == uid))


def ways(state: NodeState, mine: Matched, *, returns_owners: bool) -> ZoneWays:
    """Return the books for a pod that reservations match; `returns_owners` counts their owners once without them, too.

    A pod that ignores reservations takes what all of them hold.
    """
    return state.booked(_ways, mine, returns_owners) if state.rooms else ZoneWays(books(state))


def _ways(state: NodeState, mine: Matched, returns_owners: bool) -> ZoneWays:  # noqa: FBT001 - passed on by position
    held_by = {uid: room.allocations.cpus for uid, room in state.rooms.items() if room.allocations.cpus is not None}
    node = _Node(state, held_by) if held_by else None
    base = node.books if node is not None else books(state)
    if node is None or base.is_empty:
        return ZoneWays(base)
    spent = used_up(state, mine.once)
    holding = [one for one in mine.on(state) if one.uid in held_by]
    own = [one.uid for one in holding]
    others = [uid for uid in held_by if uid not in spent and uid not in own]
    used = _listed(_sum(node.drawn_of(uid, within=True) for uid in others))
    whole = _listed(_sum(held_by[uid].zones for uid in own))
    drawn = _listed(_sum(node.drawn_of(uid) for uid in own))
    unused = _union(node.unused(uid) for uid in own)
    reserved = _union(set_of(held_by[uid].cpus) for uid in own)
    every = structs.replace(
        base,
        held=node.held_without(unused, node.cpus_of_victims(held_by)),
        returned=_listed(_sum((used, whole, node.amounts_of_victims(held_by)))),
    )
    if mine.use.ignores and holding:
        once = _listed(_sum((used, whole, node.amounts_of_victims(own))))
        victims = _union(node.cpus_of_victims((uid,)) & set_of(held_by[uid].cpus) for uid in own)
        ignoring = structs.replace(base, held=node.held_without(reserved, victims), returned=once, preferred=reserved)
        return ZoneWays(ignoring, every=every)
    once = _listed(_sum((used, drawn))) if returns_owners else used
    drawing = tuple((one.uid, node.drawing(one, own, reserved, used)) for one in holding)
    return ZoneWays(structs.replace(base, returned=once), drawing, every, mine.must_draw)


class _Node:
    """What is booked on a node with reservations, by whom; those too who draw on one and are taken away on trial.

    What these have is for their reservation alone. Mirrors `RemovePod` in plugins/nodenumaresource/preempt.go.
    """

    def __init__(self, state: NodeState, held_by: Mapping[str, CPUAllocation]) -> None:
        self._held_by = held_by
        taken = [(uid, pod) for uid, pod in owners_taken(state) if uid in held_by]
        self._there = (*state.occupants, *(pod for _, pod in taken))
        self._holders = Counter(number for one in self._there for number in members(_cpus(one)))
        self._victims = [(uid, booked) for uid, pod in taken if (booked := _booked(pod)) is not None]
        before = state.before if state.before is not None else self._there
        known = set(map(id, self._there))
        self._gone = _union(_cpus(one) for one in before if id(one) not in known)
        self.books = booked_of(state.node.numa, self._there, before) if taken else books(state)

    def _owners(self, uid: str) -> Iterator[CPUAllocation]:
        """Yield what the owners of a reservation have booked."""
        for one in self._there:
            booked = _booked(one)
            if booked is not None and not isinstance(one, ReservedRoom) and _drawn_on(one) == uid:
                yield booked

    def unused(self, uid: str) -> CPUSet:
        """Return the CPUs of a reservation that no owner of it holds."""
        return set_of(self._held_by[uid].cpus) & ~_union(set_of(one.cpus) for one in self._owners(uid))

    def held_without(self, *given: CPUSet, gone: CPUSet = 0) -> CPUSet:
        """Return the CPUs that are held when each holder of a CPU that is given back counts once less.

        `gone` are CPUs of victims that count as held.
        """
        holders = self._holders.copy()
        holders.update(members(gone))
        for cpus in given:
            holders.subtract(members(cpus))
        return set_of(number for number, count in holders.items() if count > 0)

    def drawn_of(self, uid: str, *, within: bool = False) -> _Listed:
        """Return what the owners of a reservation have by zone, `within` what the reservation holds any of."""
        holds = {(zone, resource) for zone, amounts in self._held_by[uid].zones for resource, _ in amounts}
        drawn = _sum(one.zones for one in self._owners(uid)) if holds else {}
        if within:
            drawn = {
                zone: {resource: n for resource, n in amounts.items() if (zone, resource) in holds}
                for zone, amounts in drawn.items()
            }
        return _listed(drawn)

    def amounts_of_victims(self, uids: Collection[str]) -> _Listed:
        """Return what those have by zone who are taken away and draw on one of these reservations."""
        return _listed(_sum(booked.zones for uid, booked in self._victims if uid in uids))

    def cpus_of_victims(self, uids: Collection[str]) -> CPUSet:
        """Return the CPUs of those who are taken away and draw on one of these reservations."""
        return _union(set_of(booked.cpus) for uid, booked in self._victims if uid in uids)

    def drawing(
        self, one: Reservation, matched: Collection[str], reserved: CPUSet, used: _Listed
    ) -> tuple[Booked, ...]:
        """Return the books with one reservation; from a Restricted one come no more CPUs and amounts than its rest.

        Of all that are `matched` the CPUs in `reserved` are given, `used` is what does not count of others.
        """
        uid, allocation = one.uid, self._held_by[one.uid]
        others = [self.drawn_of(other) for other in matched if other != uid]
        victims, amounts = self.cpus_of_victims((uid,)), self.amounts_of_victims((uid,))
        returned = _listed(_sum((used, allocation.zones, amounts, *others)))
        held = self.held_without(reserved, victims)
        books_with = structs.replace(self.books, held=held, returned=returned, preferred=reserved)
        if one.policy != "Restricted":
            return (books_with,)
        cpus = set_of(allocation.cpus)
        inside = victims & cpus
        own = self.unused(uid) | inside
        drawn = ((zone, tuple((name, -n) for name, n in had)) for zone, had in self.drawn_of(uid))
        rest = _listed(_sum((allocation.zones, tuple(drawn), amounts)))
        held = self.held_without(own, self._gone & cpus | inside, gone=self._gone)
        restricted = structs.replace(books_with, held=held, preferred=own, most=own.bit_count(), rest=rest)
        return books_with, restricted


def _booked(one: Occupant) -> CPUAllocation | None:
    return one.allocations.cpus if one.allocations is not None else None


def _cpus(one: Occupant) -> CPUSet:
    booked = _booked(one)
    return set_of(booked.cpus) if booked is not None else 0


def _drawn_on(one: Occupant) -> str:
    return one.allocations.reservation if one.allocations is not None else ""


def _union(sets: Iterable[CPUSet]) -> CPUSet:
    return reduce(or_, sets, 0)


def _sum(every: Iterable[_Listed]) -> _Amounts:
    sums: dict[int, dict[str, int]] = {}
    for listed in every:
        for zone, amounts in listed:
            of_zone = sums.setdefault(zone, {})
            for resource, amount in amounts:
                of_zone[resource] = of_zone.get(resource, 0) + amount
    return sums


def _listed(sums: _Amounts) -> _Listed:
    return tuple((zone, tuple(sorted(amounts.items()))) for zone, amounts in sorted(sums.items()))
