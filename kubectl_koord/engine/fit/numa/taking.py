"""Which CPUs a pod gets. Mirrors plugins/nodenumaresource/cpu_accumulator.go."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from kubectl_koord.engine.fit.numa.books import Booked
from kubectl_koord.model.hardware.numa import CPU, BindPolicy, CPUSet, CPUTopology, NodeNUMA, members

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
