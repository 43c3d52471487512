"""What reservations give back of a node's CPUs and zones, by who asks.

Mirrors plugins/nodenumaresource/reservation.go. A CPU of a reservation is free for its pods as long as no owner holds
it; amounts of zones that both a reservation and its owners have booked count once.
"""

from collections.abc import Collection, Mapping
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit.numa.books import Booked, books
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reservations import Matched, used_up
from kubectl_koord.model.hardware.numa import CPUSet, set_of
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
    base = books(state)
    spent = used_up(state, mine.once)
    uids = [uid for uid in state.rooms if uid not in spent and state.rooms[uid].allocations.cpus is not None]
    holding = [one for one in mine.on(state) if one.uid in uids]
    own = {one.uid for one in holding}
    others = [uid for uid in uids if uid not in own]
    if base.is_empty or not uids:
        return ZoneWays(base)
    free = _unused(state, own)
    held = base.held & ~free
    every = structs.replace(base, held=held, returned=_returned(state, uids, own), preferred=free)
    if mine.use.ignores and holding:
        return ZoneWays(every)
    once = _returned(state, uids if returns_owners else others, ())
    drawing = tuple((one.uid, _drawing(state, one, every, uids)) for one in holding)
    return ZoneWays(structs.replace(base, returned=once), drawing, every, mine.must_draw)


def _drawing(state: NodeState, one: Reservation, every: Booked, uids: Collection[str]) -> tuple[Booked, ...]:
    """Return the books with one reservation; from a Restricted one come no more CPUs and amounts than its rest."""
    books_with = structs.replace(every, returned=_returned(state, uids, (one.uid,)))
    if one.policy != "Restricted":
        return (books_with,)
    own = _unused(state, {one.uid})
    rest = _returned(state, (one.uid,), (one.uid,), minus=_drawn(state, one.uid))
    held = books(state).held & ~own
    return books_with, structs.replace(books_with, held=held, preferred=own, most=own.bit_count(), rest=rest)


def _unused(state: NodeState, uids: Collection[str]) -> CPUSet:
    """Return the CPUs of some reservations that nobody else holds."""
    reserved = elsewhere = 0
    rooms = {id(state.rooms[uid]) for uid in uids}
    for one in state.occupants:
        booked = one.allocations.cpus if one.allocations is not None else None
        cpus = set_of(booked.cpus) if booked is not None else 0
        if id(one) in rooms:
            reserved |= cpus
        else:
            elsewhere |= cpus
    return reserved & ~elsewhere


def _returned(
    state: NodeState, uids: Collection[str], whole: Collection[str], minus: _Amounts | None = None
) -> _Listed:
    """Return the amounts by zone that reservations and their owners have both; all that those in `whole` hold."""
    sums: dict[int, dict[str, int]] = {}
    for uid in uids:
        booked = state.rooms[uid].allocations.cpus
        drawn = {} if uid in whole else _drawn(state, uid)
        for zone, amounts in booked.zones if booked is not None else ():
            of_zone = sums.setdefault(zone, {})
            less = (minus or {}).get(zone, {})
            for resource, amount in amounts:
                held = amount if uid in whole else min(amount, drawn.get(zone, {}).get(resource, 0))
                of_zone[resource] = of_zone.get(resource, 0) + max(0, held - less.get(resource, 0))
    return tuple((zone, tuple(sorted(amounts.items()))) for zone, amounts in sorted(sums.items()))


def _drawn(state: NodeState, uid: str) -> _Amounts:
    """Return what the owners of a reservation have of each zone."""
    drawn: dict[int, dict[str, int]] = {}
    for one in state.occupants:
        booked = one.allocations
        if isinstance(one, ReservedRoom) or booked is None or booked.cpus is None or booked.reservation != uid:
            continue
        for zone, amounts in booked.cpus.zones:
            of_zone = drawn.setdefault(zone, {})
            for resource, amount in amounts:
                of_zone[resource] = of_zone.get(resource, 0) + amount
    return drawn
