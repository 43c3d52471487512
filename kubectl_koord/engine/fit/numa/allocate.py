"""What a pod gets of a node: amounts of zones, and how many CPUs of which zone.

Mirrors `Allocate` in plugins/nodenumaresource/resource_manager.go.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kubectl_koord.engine.fit.numa.books import MILLI, Booked, free_amounts, free_cpus
from kubectl_koord.engine.fit.numa.taking import take
from kubectl_koord.engine.fit.numa.terms import Terms, Wants
from kubectl_koord.engine.reasons.numa import (
    InsufficientInZones,
    Lack,
    NotEnoughCPUs,
)
from kubectl_koord.model.hardware.numa import CPUSet, NodeNUMA, ZoneSet, members
from kubectl_koord.model.pods import Resources

Amounts = Mapping[int, Mapping[str, int]]


class ZoneRoom(Struct, frozen=True):
    """What of a node a pod may take: amounts by zone, and CPUs. Of zones only as much CPU as there are CPUs to bind.

    Of CPUs it takes no more than `most`, None for any number.
    """

    node: NodeNUMA
    wants: Wants
    terms: Terms
    amounts: Amounts
    cpus: CPUSet
    most: int | None = None


class Portion(Struct, frozen=True):
    """What a pod gets: amounts by zone, and how many CPUs of each zone; of all zones together where they are None."""

    amounts: tuple[tuple[int, Resources], ...] = ()
    counts: tuple[tuple[int, int], ...] | None = None


def room(node: NodeNUMA, booked: Booked, wants: Wants, terms: Terms) -> ZoneRoom:
    """Return what of a node a pod may take."""
    cpus = free_cpus(node, booked)
    amounts = free_amounts(node, booked)
    if terms.required:
        cpus = node.usable(cpus, terms.bind_policy)
        for zone, free in amounts.items():
            if free.get("cpu"):
                there = (cpus & node.cpus_of(zone)).bit_count()
                free["cpu"] = min(free["cpu"], there * MILLI)
    return ZoneRoom(node, wants, terms, amounts, cpus, booked.most)


def portion(room: ZoneRoom, zones: ZoneSet | None) -> Portion | Lack:
    """Return what the pod gets of a set of zones, or why it gets none; None for zones that do not matter."""
    amounts: tuple[tuple[int, Resources], ...] = ()
    if zones is not None:
        spread = _spread(room, members(zones))
        if isinstance(spread, InsufficientInZones):
            return spread
        amounts = spread
    terms = room.terms
    if not terms.cpus:
        return Portion(amounts)
    free = room.cpus.bit_count()
    if room.most is not None:
        free = min(free, room.most)
    if free < terms.cpus:
        return NotEnoughCPUs(terms.cpus, free, terms.bind_policy if terms.required else "")
    if not amounts:
        return Portion()
    counts = tuple((zone, _count(room, zone, dict(taken))) for zone, taken in amounts)
    number = sum(count for _, count in counts)
    if terms.whole_cores:
        number -= sum(count % room.node.per_core for _, count in counts)
    if number != terms.cpus:
        return NotEnoughCPUs(terms.cpus, number, terms.bind_policy if terms.required else "")
    return Portion(amounts, counts)


def _count(room: ZoneRoom, zone: int, taken: Mapping[str, int]) -> int:
    """Return how many CPUs are taken of a zone: those of its amount, as far as they are free."""
    there = (room.cpus & room.node.cpus_of(zone)).bit_count()
    return min(there, taken.get("cpu", 0) // MILLI)


def cpus_taken(room: ZoneRoom, booked: Booked, portion: Portion) -> CPUSet:
    """Return the CPUs of a portion."""
    if not room.terms.cpus:
        return 0
    if portion.counts is None:
        return _taken(room, booked, room.cpus, room.terms.cpus)
    found = 0
    for zone, count in portion.counts:
        found |= _taken(room, booked, room.cpus & room.node.cpus_of(zone), count)
    return found


def _taken(room: ZoneRoom, booked: Booked, there: CPUSet, number: int) -> CPUSet:
    """Return so many CPUs of these, those that a reservation holds for the pod first (`takePreferredCPUs`).

    Where the node makes it bind CPUs, its wish for some of its own does not count.
    """
    node, policy = room.node, room.terms.bind_policy
    exclusive = room.wants.numa.exclusive if room.wants.binds else ""
    reserved = there & booked.preferred
    most = room.wants.settings.scoring.most_allocated
    first = take(node, reserved, min(number, reserved.bit_count()), policy, exclusive, booked, most_allocated=most)
    return first | take(
        node, there & ~reserved, number - first.bit_count(), policy, exclusive, booked, most_allocated=most
    )


def _spread(room: ZoneRoom, zones: Sequence[int]) -> tuple[tuple[int, Resources], ...] | InsufficientInZones:
    """Spread requests evenly over zones, as a rule those with least first (`tryBestToDistributeEvenly`).

    What no zone tells of is left out.
    """
    told = {resource for free in room.amounts.values() for resource in free}
    taken: dict[int, dict[str, int]] = {}
    short = []
    for resource, amount in room.wants.requests:
        if resource not in told:
            continue
        free = {zone: room.amounts[zone].get(resource, 0) for zone in zones}
        ranked = _ranked(room, resource, zones)
        left = amount
        for place, zone in enumerate(ranked):
            share = min(_share(room, resource, left, len(ranked) - place), free[zone])
            if share:
                taken.setdefault(zone, {})[resource] = share
                left -= share
        if left:
            short.append((resource, amount, sum(free.values())))
    if short:
        return InsufficientInZones(tuple(short))
    return tuple((zone, tuple(sorted(amounts.items()))) for zone, amounts in sorted(taken.items()))


def _ranked(room: ZoneRoom, resource: str, zones: Sequence[int]) -> list[int]:
    """Return the zones in the order in which they give.

    They are meant to be sorted by what they have left, by an insertion sort. Upstream's comparison takes places in the
    list for numbers of zones: only where both are the same, as with two zones, the order is the one that was meant.
    """
    free = {zone: amounts.get(resource, 0) for zone, amounts in room.amounts.items()}
    ranked = list(zones)
    for last in range(1, len(ranked)):
        place = last
        while place and free.get(place, 0) < free.get(place - 1, 0):
            ranked[place - 1], ranked[place] = ranked[place], ranked[place - 1]
            place -= 1
    return ranked


def _share(room: ZoneRoom, resource: str, left: int, zones: int) -> int:
    """Return what the first of so many zones should give (`splitQuantity`)."""
    terms = room.terms
    if resource != "cpu" or not terms.cpus:
        return left // zones
    cpus = -(-left // MILLI)
    if terms.whole_cores:
        per_core = room.node.per_core
        return cpus // per_core // zones * per_core * MILLI
    return cpus // zones * MILLI
