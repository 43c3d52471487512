"""What is booked of a node's CPUs and zones."""

from collections.abc import Collection, Iterable

from msgspec import Struct, structs

from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.model.hardware.numa import CPUSet, CPUTopology, NodeNUMA, ZoneSet, amplified, set_of
from kubectl_koord.model.pods import Resources

MILLI = 1000


class Booked(Struct, frozen=True, gc=False):
    """What pods and reservations hold.

    `held` are their CPUs, `amounts` what they have of each zone. `spanning` are the zones with CPUs of pods that span
    several, `single` those with CPUs of a pod in one. CPUs of pods that want cores or zones for themselves are in
    `own_cores` and `own_zones`.

    A plugin's cache does not follow the victims of a dry run: of all that it holds are the CPUs of `cached`, zones with
    any amounts in `cached_zones`, and `spanning` and `single`.

    For a pod that reservations match, `returned` are the amounts that do not count, and `preferred` the CPUs that it
    takes first. From a Restricted one it gets no more than `most` CPUs, and of zones what is in `rest`, if anything.
    """

    held: CPUSet = 0
    amounts: tuple[tuple[int, Resources], ...] = ()
    spanning: ZoneSet = 0
    single: ZoneSet = 0
    own_cores: CPUSet = 0
    own_zones: CPUSet = 0
    cached: CPUSet = 0
    cached_zones: ZoneSet = 0
    returned: tuple[tuple[int, Resources], ...] = ()
    preferred: CPUSet = 0
    most: int | None = None
    rest: tuple[tuple[int, Resources], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is booked, or no books are kept."""
        return not self.held and not self.amounts


_NOTHING = Booked()


def books(state: NodeState) -> Booked:
    """Return what is booked on a node. Without CPUs in its topology upstream keeps no books of it."""
    return state.booked(_booked)


def _booked(state: NodeState) -> Booked:
    return booked_of(state.node.numa, state.occupants, state.occupants if state.before is None else state.before)


def booked_of(node: NodeNUMA | None, occupants: Collection[Occupant], before: Collection[Occupant]) -> Booked:
    """Return what is booked on a node by those who are there, `before` any of them was taken away on trial."""
    cpus_there = node.cpus if node is not None else None
    if cpus_there is None:
        return _NOTHING
    found = _held_by(occupants, cpus_there)
    if before is occupants:
        return found
    was = _held_by(before, cpus_there)
    return structs.replace(
        found,
        cached=found.cached | was.cached,
        cached_zones=found.cached_zones | was.cached_zones,
        spanning=found.spanning | was.spanning,
        single=found.single | was.single,
    )


def _held_by(occupants: Iterable[Occupant], cpus_there: CPUTopology) -> Booked:
    """Mirrors `addPodAllocation` in plugins/nodenumaresource/node_allocation.go."""
    held = spanning = single = own_cores = own_zones = 0
    amounts: dict[int, dict[str, int]] = {}
    for occupant in occupants:
        booked = occupant.allocations.cpus if occupant.allocations is not None else None
        if booked is None:
            continue
        cpus = set_of(booked.cpus)
        held |= cpus
        zones = cpus_there.zones_of(cpus)
        if zones & (zones - 1):
            spanning |= zones
        else:
            single |= zones
        wish = occupant.requirements.numa.exclusive
        own_cores |= cpus if wish == "PCPULevel" else 0
        own_zones |= cpus if wish == "NUMANodeLevel" else 0
        for zone, taken in booked.zones:
            sums = amounts.setdefault(zone, {})
            for resource, amount in taken:
                sums[resource] = sums.get(resource, 0) + amount
    return Booked(
        held,
        tuple((zone, tuple(sorted(sums.items()))) for zone, sums in sorted(amounts.items())),
        spanning,
        single,
        own_cores,
        own_zones,
        held,
        set_of(zone for zone in amounts if zone >= 0),
    )


def free_cpus(node: NodeNUMA, booked: Booked) -> CPUSet:
    """Return the CPUs that nobody holds."""
    return node.every_cpu & ~booked.held & ~node.reserved


def free_amounts(node: NodeNUMA, booked: Booked) -> dict[int, dict[str, int]]:
    """Return what is left of each zone; CPUs that are held there count as often as the node is amplified.

    Mirrors `getAvailableNUMANodeResources`.
    """
    if booked.rest:
        rest = {zone: dict(amounts) for zone, amounts in booked.rest}
        return {zone.number: rest.get(zone.number, {}) for zone in node.zones}
    taken = {zone: dict(amounts) for zone, amounts in booked.amounts}
    returned = {zone: dict(amounts) for zone, amounts in booked.returned}
    found: dict[int, dict[str, int]] = {}
    for zone in node.zones:
        free = dict(zone.allocatable)
        used = taken.get(zone.number, {})
        if node.zone_ratio > 1 and booked.cached_zones >> zone.number & 1:
            held = (node.cpus_of(zone.number) & booked.cached).bit_count() * MILLI
            used["cpu"] = used.get("cpu", 0) + amplified(held, node.zone_ratio) - held
        twice = returned.get(zone.number, {})
        for resource, amount in used.items():
            free[resource] = max(0, free.get(resource, 0) - max(0, amount - twice.get(resource, 0)))
        found[zone.number] = free
    return found
