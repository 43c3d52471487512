"""CPUs and NUMA zones of a node: what is taken, hints, and which CPUs are taken next (nodenumaresource)."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial, reduce
from itertools import combinations, islice
from operator import or_
from typing import Protocol, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.reasons import (
    BindPolicyConflict,
    FractionalCPUs,
    InsufficientInZones,
    Lack,
    NoCPUTopology,
    NotEnoughCPUs,
    NUMAPolicyMismatch,
    PartialCores,
    Reason,
    UnalignedZones,
    UnsatisfiedZones,
)
from kubectl_koord.engine.reservations import Matched, owners_taken, used_up
from kubectl_koord.engine.state import NodeState, Occupant, View
from kubectl_koord.engine.table import NodeSet, StateSees
from kubectl_koord.model.hardware import (
    CPU,
    BindPolicy,
    CPUAllocation,
    CPUSet,
    CPUTopology,
    NodeNUMA,
    NUMAPolicy,
    NUMASettings,
    PodNUMA,
    ZoneSet,
    amplified,
    members,
    policy_of,
    set_of,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, ReservedRoom
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.model.values import Resources

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
    return state.booked(_books_booked)


def _books_booked(state: NodeState) -> Booked:
    cpus_there = state.node.numa.cpus if state.node.numa is not None else None
    if cpus_there is None:
        return _NOTHING
    held_by = partial(_held_by, cpus_there)
    found = state.summed(_held_by, partial(held_by, _NOTHING, state.occupants), held_by)
    return found if state.before is None else _remembering(found, held_by(_NOTHING, state.before))


def booked_of(node: NodeNUMA | None, occupants: Collection[Occupant], before: Collection[Occupant]) -> Booked:
    """Return what is booked on a node by those who are there, `before` any of them was taken away on trial."""
    cpus_there = node.cpus if node is not None else None
    if cpus_there is None:
        return _NOTHING
    found = _held_by(cpus_there, _NOTHING, occupants)
    return found if before is occupants else _remembering(found, _held_by(cpus_there, _NOTHING, before))


def _remembering(found: Booked, was: Booked) -> Booked:
    """Return the books with what the plugin's cache still knows of those who were taken away on trial."""
    return structs.replace(
        found,
        cached=found.cached | was.cached,
        cached_zones=found.cached_zones | was.cached_zones,
        spanning=found.spanning | was.spanning,
        single=found.single | was.single,
    )


def _held_by(cpus_there: CPUTopology, others: Booked, occupants: Iterable[Occupant]) -> Booked:
    """Return what occupants hold beside others (`addPodAllocation` in plugins/nodenumaresource/node_allocation.go)."""
    held, spanning, single = others.held, others.spanning, others.single
    own_cores, own_zones = others.own_cores, others.own_zones
    amounts = {zone: dict(sums) for zone, sums in others.amounts}
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


_Core: TypeAlias = tuple[int, int]


def take(
    node: NodeNUMA,
    free: CPUSet,
    number: int,
    policy: BindPolicy,
    exclusive: str,
    booked: Booked,
    *,
    most_allocated: bool,
) -> CPUSet:
    """Return the CPUs that are taken of free ones, of which there must be as many as are needed.

    Args:
        node: where.
        free: the CPUs to take from.
        number: how many are needed.
        policy: whether whole cores are wanted, or one thread of each.
        exclusive: with whom cores or zones are not shared, as far as that is possible.
        booked: what others hold.
        most_allocated: whether full zones are filled first, where the node does not say.
    """
    if number <= 0 or node.cpus is None:
        return 0
    most = most_allocated if node.most_allocated is None else node.most_allocated
    taking = _Taking(node.cpus, free, number, exclusive, booked, most_allocated=most)
    return taking.run(full_cores=policy == "FullPCPUs")


class _Taking:
    """CPUs that are taken step by step (`cpuAccumulator`)."""

    def __init__(
        self,
        topology: CPUTopology,
        free: CPUSet,
        number: int,
        exclusive: str,
        booked: Booked,
        *,
        most_allocated: bool,
    ) -> None:
        self._topology = topology
        self._needed = number
        self._taken: CPUSet = 0
        self._free: dict[int, CPU] = {one: topology.by_number[one] for one in members(free)}
        self._rank = 1 if most_allocated else -1
        known = topology.by_number
        cores = members(booked.own_cores) if exclusive == "PCPULevel" else ()
        zones = members(booked.own_zones) if exclusive == "NUMANodeLevel" else ()
        self._shunned_cores = {_core(known[one]) for one in cores if one in known}
        self._shunned_zones = {known[one].zone for one in zones if one in known}
        self._exclusive = exclusive

    def run(self, *, full_cores: bool) -> CPUSet:
        """Take all that is needed."""
        if full_cores or self._topology.per_core == 1:
            self._take_cores()
        if self._needed > 0 and not full_cores:
            self._take_threads()
        for apart in (True, False):
            if self._needed > 0:
                self._take(self._spread(self._one_by_one(apart=apart))[: self._needed])
        return self._taken

    def _take(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            cpu = self._free.pop(number)
            self._taken |= 1 << number
            self._needed -= 1
            if self._exclusive == "PCPULevel":
                self._shunned_cores.add(_core(cpu))
            elif self._exclusive == "NUMANodeLevel":
                self._shunned_zones.add(cpu.zone)

    def _take_cores(self) -> None:
        """Take whole cores: of one zone, else of one socket, else of several, the freest first."""
        if self._needed <= self._topology.per_zone:
            for apart in (True, False):
                if self._take_from(self._cores_in_zones(apart=apart)):
                    return
        if self._needed <= self._topology.per_socket and self._take_from(self._cores_in_sockets()):
            return
        too_many = []
        for cpus in sorted(self._cores_in_sockets(), key=len, reverse=True):
            if self._needed < len(cpus):
                too_many.append(cpus)
            else:
                self._take(cpus)
        per_core = self._topology.per_core
        if self._needed < per_core:
            return
        for cpus in sorted(too_many, key=len):
            if self._needed > 0:  # a core at least, even where fewer CPUs than it has are needed
                self._take(cpus[: max(per_core, self._needed - self._needed % per_core)])

    def _take_threads(self) -> None:
        """Take threads of one zone, else of one socket, one of each core as far as they go."""
        if self._needed <= self._topology.per_zone:
            for apart in (True, False):
                if self._take_from(map(self._spread, self._threads_in_zones(apart=apart))):
                    return
        if self._needed <= self._topology.per_socket:
            for apart in (True, False):
                if self._take_from(map(self._spread, self._threads_in_sockets(apart=apart))):
                    return

    def _take_from(self, groups: Iterable[Sequence[int]]) -> bool:
        """Take all that is needed of the first group that has as many; tell whether there was one."""
        for cpus in groups:
            if len(cpus) >= self._needed:
                self._take(cpus[: self._needed])
                return True
        return False

    def _allowed(self, *, cores: bool, zones: bool) -> Iterator[CPU]:
        """Yield the free CPUs but for cores and zones of those who want to be alone."""
        for cpu in self._free.values():
            if (cores and _core(cpu) in self._shunned_cores) or (zones and cpu.zone in self._shunned_zones):
                continue
            yield cpu

    def _cores_in_zones(self, *, apart: bool) -> list[list[int]]:
        allowed = tuple(self._allowed(cores=False, zones=apart))
        in_sockets = _counted(allowed, _socket)
        zones = self._whole_cores(allowed, _zone)
        sockets = {cpu.zone: cpu.socket for cpu in allowed}
        ranked = sorted(
            zones, key=lambda zone: (self._rank * len(zones[zone]), self._rank * in_sockets[sockets[zone]], zone)
        )
        return [zones[zone] for zone in ranked]

    def _cores_in_sockets(self) -> list[list[int]]:
        sockets = self._whole_cores(self._free.values(), _socket)
        return [sockets[socket] for socket in sorted(sockets, key=lambda one: (self._rank * len(sockets[one]), one))]

    def _whole_cores(self, cpus: Iterable[CPU], place: Callable[[CPU], int]) -> dict[int, list[int]]:
        """Return the CPUs of cores that are free as a whole, core by core, by zone or socket."""
        found: defaultdict[int, list[int]] = defaultdict(list)
        for _, there in sorted(_by_core(cpus).items()):
            if len(there) == self._topology.per_core:
                found[place(there[0])].extend(cpu.number for cpu in there)
        return found

    def _threads_in_zones(self, *, apart: bool) -> list[list[int]]:
        allowed = tuple(self._allowed(cores=apart, zones=apart))
        in_zones, in_sockets = _counted(allowed, _zone), _counted(allowed, _socket)
        sockets = {cpu.zone: cpu.socket for cpu in allowed}
        ranked = sorted(
            in_zones, key=lambda zone: (self._rank * in_zones[zone], self._rank * in_sockets[sockets[zone]], zone)
        )
        return [self._threads([cpu for cpu in allowed if cpu.zone == zone], apart=apart) for zone in ranked]

    def _threads_in_sockets(self, *, apart: bool) -> list[list[int]]:
        allowed = tuple(self._allowed(cores=apart, zones=False))
        found = {
            socket: self._threads([cpu for cpu in allowed if cpu.socket == socket], apart=apart)
            for socket in _counted(allowed, _socket)
        }
        return [found[socket] for socket in sorted(found, key=lambda one: (self._rank * len(found[one]), one))]

    def _threads(self, there: Iterable[CPU], *, apart: bool) -> list[int]:
        """Return the CPUs of a place in order; apart from others only one of each core."""
        if not apart:
            return [cpu.number for cpu in there]
        firsts: dict[_Core, int] = {}
        for cpu in there:
            firsts.setdefault(_core(cpu), cpu.number)
        return list(firsts.values())

    def _one_by_one(self, *, apart: bool) -> list[int]:
        """Return the CPUs near those that are taken first, and those of partly used cores before whole ones."""
        allowed = tuple(self._allowed(cores=apart, zones=apart))
        in_zones, in_sockets = _counted(allowed, _zone), _counted(allowed, _socket)
        taken = _counted((self._topology.by_number[number] for number in members(self._taken)), _socket)
        cores = _by_core(allowed)

        def rank(core: _Core) -> tuple[int, ...]:
            first = cores[core][0]
            free = self._rank * in_sockets[first.socket], self._rank * in_zones[first.zone]
            return (-taken.get(first.socket, 0), *free, len(cores[core]), *core)

        return [cpu.number for core in sorted(cores, key=rank) for cpu in cores[core]]

    def _spread(self, numbers: Sequence[int]) -> list[int]:
        """Return the CPUs with one of each core first, then the second ones, and so on."""
        if len(numbers) <= self._topology.per_core:
            return list(numbers)
        seen: defaultdict[_Core, int] = defaultdict(int)
        turns = []
        for place, number in enumerate(numbers):
            core = _core(self._topology.by_number[number])
            turns.append((seen[core], place, number))
            seen[core] += 1
        return [number for _, _, number in sorted(turns)]


def _core(cpu: CPU) -> _Core:
    return cpu.socket, cpu.core


def _zone(cpu: CPU) -> int:
    return cpu.zone


def _socket(cpu: CPU) -> int:
    return cpu.socket


def _by_core(cpus: Iterable[CPU]) -> Mapping[_Core, list[CPU]]:
    found: defaultdict[_Core, list[CPU]] = defaultdict(list)
    for cpu in cpus:
        found[_core(cpu)].append(cpu)
    return found


def _counted(cpus: Iterable[CPU], place: Callable[[CPU], int]) -> Mapping[int, int]:
    found: defaultdict[int, int] = defaultdict(int)
    for cpu in cpus:
        found[place(cpu)] += 1
    return found


_MOST_ANSWERS = 1 << 12
NOTHING_KNOWN = NodeNUMA(known=False)
"""Of a node without labels, annotations and NodeResourceTopology."""


class Wants(Struct, frozen=True, gc=False):
    """What PreFilter keeps of the trigger: what it requests, and what it asks of CPUs and zones.

    `settings` are the plugin's.
    """

    requests: Resources
    numa: PodNUMA
    settings: NUMASettings

    @property
    def cpu(self) -> int:
        """The CPU that is requested, in thousandths."""
        return next((amount for resource, amount in self.requests if resource == "cpu"), 0)

    @property
    def binds(self) -> bool:
        """Whether the pod itself asks to bind CPUs."""
        return bool(self.bind_policy) and self.cpu > 0

    @property
    def bind_policy(self) -> BindPolicy:
        """How the pod binds CPUs by its own wish, empty where it does not."""
        return self.numa.bind_policy(self.settings.bind_policy)

    @property
    def required(self) -> bool:
        """Whether CPUs can be bound in no other way, where it binds them by its own wish."""
        return bool(self.numa.required_policy(self.settings.bind_policy))

    @property
    def is_special(self) -> bool:
        """Whether it asks for more than the node does."""
        return self.binds or bool(policy_of(None, self.numa))


class Terms(Struct, frozen=True, gc=False):
    """What holds for a pod on a node.

    `cpus` is how many CPUs it binds, 0 for none; `bind_policy` how, which is `required` or just preferred;
    `policy` the NUMA policy, and `exclusive` whether zones of one-zone pods and of others must differ.
    """

    cpus: int
    bind_policy: BindPolicy
    required: bool
    policy: NUMAPolicy
    exclusive: bool

    @property
    def whole_cores(self) -> bool:
        """Whether only whole cores can be bound."""
        return self.required and self.bind_policy == "FullPCPUs"


Settled: TypeAlias = Terms | NUMAPolicyMismatch | FractionalCPUs


def wants_of(requirements: PodRequirements, settings: NUMASettings) -> Wants:
    """Return what is kept of a trigger."""
    return Wants(requirements.requests, requirements.numa, settings)


def settings_of(node: Node) -> tuple[object, ...]:
    """Return what of a node decides about terms, and whether it can bind CPUs."""
    numa = node.numa or NOTHING_KNOWN
    return numa.policy, numa.unknown_policy, numa.bind_policy, numa.cpus is None, numa.per_core


def settled(node: NodeNUMA, wants: Wants) -> Settled:
    """Return what holds for the pod, or why its settings and the node's do not agree.

    Mirrors `mergeTopologyPolicy`, `requestCPUBind` and `getCPUBindPolicy` in plugins/nodenumaresource.
    """
    return _settled(node.policy, node.unknown_policy, node.bind_policy, wants)


@lru_cache(_MOST_ANSWERS)
def _settled(own: NUMAPolicy, unknown: str, binding: BindPolicy, wants: Wants) -> Settled:
    asked, written = wants.numa, unknown or own
    if written and asked.policy and written != asked.policy:
        return NUMAPolicyMismatch(written, asked.policy)
    policy = policy_of(None, asked) or own
    exclusive = asked.zone_exclusive == "Required" or bool(asked.policy and not asked.zone_exclusive)
    if wants.binds:
        required = bool(wants.required or binding)
        bind_policy = wants.bind_policy if wants.required else binding or wants.bind_policy
        return Terms(wants.cpu // MILLI, bind_policy, required, policy, exclusive)
    if not binding or not wants.cpu:
        return Terms(0, binding, bool(binding), policy, exclusive)
    if wants.cpu % MILLI:
        return FractionalCPUs(wants.cpu)
    return Terms(wants.cpu // MILLI, binding, True, policy, exclusive)  # noqa: FBT003


def unbindable(node: NodeNUMA, wants: Wants, terms: Terms) -> Reason | None:
    """Return why the node can bind no CPUs for the pod, whoever is there; None where it can, or need not."""
    if not terms.cpus:
        return None
    if node.cpus is None:
        return NoCPUTopology()
    if wants.binds and wants.required and node.bind_policy not in {"", terms.bind_policy}:
        return BindPolicyConflict(node.bind_policy, terms.bind_policy)
    if terms.whole_cores and terms.cpus % node.cpus.per_core:
        return PartialCores(terms.cpus, node.cpus.per_core)
    return None


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


_MOST_SETS = (1 << 8) - 1


class Hint(Struct, frozen=True, gc=False):
    """A set of zones that can give the pod all that it asks of a resource.

    `zones` is None for no preference, or for nothing that satisfies.
    """

    zones: ZoneSet | None
    preferred: bool
    score: int = 0
    unsatisfied: bool = False


Hints: TypeAlias = Mapping[str, Sequence[Hint]]
"""By resource; nothing for a resource without preference."""


class HintProvider(Protocol):
    """A plugin that has a say in which zones a pod is put into, prepared for the trigger of a round."""

    def hints(self, pod: PendingPod, state: NodeState) -> Hints | Reason:
        """Return the sets of zones that would do, by resource; no resource for no preference; or why none would."""

    def refusal(self, pod: PendingPod, state: NodeState, zones: ZoneSet | None) -> Reason | None:
        """Return why the pod cannot have these zones, of which all hints were taken into account; None where it can."""

    @property
    def sees(self) -> StateSees:
        """What the plugin sees of a node, for as long as its pods are held."""

    def zones(self, view: View, among: NodeSet) -> "ZonesWith":
        """Return the nodes of a set by the zones that would do alone."""


class ZonesWith(Struct, frozen=True):
    """Nodes by each zone that would do alone; `unclear` are those of which that is open: they must be asked."""

    by_zone: Mapping[int, NodeSet]
    unclear: NodeSet


class ZoneAffinity(Struct, frozen=True, gc=False):
    """The zones that were chosen; None where they do not matter."""

    zones: ZoneSet | None


def sets_of(zones: Sequence[int]) -> Iterator[ZoneSet]:
    """Yield every set of zones, small ones first (`IterateBitMasks`)."""
    sizes = range(1, len(zones) + 1)
    every = (set_of(chosen) for size in sizes for chosen in combinations(zones, size))
    return islice(every, _MOST_SETS)


def chosen(
    policy: NUMAPolicy, zones: Sequence[int], providers: Iterable[Hints], booked: Booked, *, exclusive: bool
) -> ZoneAffinity | Reason:
    """Return the zones that the policy chooses, or why it admits none.

    Args:
        policy: of the node, or of the pod.
        zones: all zones of the node.
        providers: what each plugin says.
        booked: who is in which zone.
        exclusive: whether pods in one zone and pods that span several keep apart.
    """
    everywhere = set_of(zones)
    hints: dict[str, Sequence[Hint]] = {}
    for given in providers:
        hints.update(given)
    apart = booked if exclusive else None
    if policy == "BestEffort":
        return ZoneAffinity(_best_effort(everywhere, tuple(hints.values()), apart))
    missing = tuple(sorted(resource for resource, found in hints.items() if not found))
    if missing:
        return UnsatisfiedZones(missing)
    best = _aligned(everywhere, tuple(hints.values()), apart, one_zone=policy == "SingleNUMANode")
    if best is None:
        return UnalignedZones(policy, tuple(sorted(_summary(resource, found) for resource, found in hints.items())))
    return ZoneAffinity(None if policy == "SingleNUMANode" and best == everywhere else best)


def _aligned(
    everywhere: ZoneSet, hints: Sequence[Sequence[Hint]], apart: Booked | None, *, one_zone: bool
) -> ZoneSet | None:
    """Return the best set of zones that every resource prefers, None for none."""
    if not hints:
        return everywhere if _is_allowed(everywhere, apart) else None
    scores = [{hint.zones: hint.score for hint in found if hint.preferred} for found in hints]
    best: Hint | None = None
    for hint in hints[0]:
        zones = hint.zones
        if zones is None or (one_zone and zones & (zones - 1)) or any(zones not in known for known in scores):
            continue
        if _is_allowed(zones, apart):
            best = _better(best, Hint(zones, True, sum(known[zones] for known in scores)))  # noqa: FBT003
    return best.zones if best is not None else None


class _Permutation(Struct, frozen=True, gc=False):
    """What hints of some resources come to: the zones that they share, and how good these are.

    `named` are the zones of the first hint that names any, `largest` is how many the widest has, `score` is that of the
    hints which name just the zones that are shared.
    """

    zones: ZoneSet
    named: ZoneSet | None = None
    largest: int = 0
    preferred: bool = True
    unsatisfied: bool = False
    score: int = 0

    def plus(self, hint: Hint) -> "_Permutation":
        """Return the same with one more hint."""
        unsatisfied, preferred = self.unsatisfied or hint.unsatisfied, self.preferred and hint.preferred
        if hint.zones is None:
            return structs.replace(self, preferred=preferred, unsatisfied=unsatisfied)
        zones, named = self.zones & hint.zones, hint.zones if self.named is None else self.named
        score = self.score if zones == self.zones else 0
        return _Permutation(
            zones,
            named,
            max(self.largest, hint.zones.bit_count()),
            preferred and hint.zones == named,
            unsatisfied,
            score + (hint.score if hint.zones == zones else 0),
        )

    def merged(self, apart: Booked | None) -> Hint:
        """Return the hint that they come to (`mergePermutation`)."""
        unsatisfied = self.unsatisfied or (self.named is not None and self.largest != self.zones.bit_count())
        return Hint(self.zones, self.preferred and _is_allowed(self.zones, apart), self.score, unsatisfied)


def _best_effort(everywhere: ZoneSet, hints: Sequence[Sequence[Hint]], apart: Booked | None) -> ZoneSet:
    """Return the best set of zones, preferred or not; all zones where it does not satisfy every resource.

    Every permutation of hints is compared in turn, as which is best depends on their order; what follows hints that
    come to the same is computed once for the same best before them (`mergeFilteredHints`).
    """
    nothing = (Hint(None, False, unsatisfied=True),)  # noqa: FBT003

    @cache
    def best_of(at: int, so_far: _Permutation, best: Hint) -> Hint:
        if not so_far.zones or (best.preferred and not so_far.preferred):
            return best
        if at < len(hints):
            for hint in hints[at] or nothing:
                best = best_of(at + 1, so_far.plus(hint), best)
            return best
        merged = so_far.merged(apart)
        if best.preferred and not merged.preferred:
            return best
        return merged if merged.preferred and not best.preferred else _better(best, merged)

    best = best_of(0, _Permutation(everywhere), Hint(everywhere, False))  # noqa: FBT003
    return everywhere if best.unsatisfied or best.zones is None else best.zones


def _better(best: Hint | None, other: Hint) -> Hint:
    """Return which of two hints is chosen, both preferred or neither: fewer zones, then lower ones or more score."""
    if best is None:
        return other
    ours, theirs = best.zones or 0, other.zones or 0
    if (theirs.bit_count(), theirs) < (ours.bit_count(), ours):
        return other
    return other if theirs.bit_count() == ours.bit_count() and other.score > best.score else best


def _is_allowed(zones: ZoneSet, apart: Booked | None) -> bool:
    """Tell whether zones may be chosen beside those who are there (`checkExclusivePolicy`)."""
    if apart is None:
        return True
    if zones & (zones - 1):
        return not zones & apart.single & ~apart.spanning
    return not zones & apart.spanning


def _summary(resource: str, hints: Iterable[Hint]) -> tuple[str, tuple[ZoneSet, ...], tuple[ZoneSet, ...]]:
    named = [(hint.zones, hint.preferred) for hint in hints if hint.zones is not None]
    return resource, tuple(zones for zones, preferred in named if preferred), tuple(zones for zones, _ in named)


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
        """Return the ways at Reserve, where it is known which reservation the pod takes, empty for none."""
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
