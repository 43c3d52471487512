"""Which devices of a node a pod gets, or why it gets none (deviceshare's allocators)."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.reasons import (
    BeyondReservedDevices,
    ByBooks,
    DeviceReason,
    DevicesApart,
    DevicesMissing,
    DevicesShort,
    InvalidDeviceAmount,
    InvalidDevices,
    InvalidDeviceSet,
    NoPartition,
    ScopeUnsupported,
    UnreadableDeviceAnnotation,
)
from kubectl_koord.engine.reservations import Matched, owners_taken, used_up
from kubectl_koord.engine.state import NodeState, Occupant, Pod
from kubectl_koord.model import keys
from kubectl_koord.model.hardware import (
    FPGA,
    GPU,
    RDMA,
    Device,
    DeviceAllocation,
    DeviceAnnotation,
    DeviceHint,
    DeviceLayout,
    DeviceOptions,
    JointAllocation,
    Partition,
    PartitionSpec,
    PartitionTable,
    Scoring,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PodRequirements, ReservedRoom
from kubectl_koord.model.reservations import Reservation
from kubectl_koord.model.values import Memo, Resources, Selector, matches, memoised

Amounts: TypeAlias = Mapping[str, int]


def plus(one: Amounts, more: Iterable[tuple[str, int]]) -> Amounts:
    """Return the sum (`Add`)."""
    total = dict(one)
    for resource, amount in more:
        total[resource] = total.get(resource, 0) + amount
    return total


def less(one: Amounts, other: Amounts) -> Amounts:
    """Return what is left, which may be below zero (`Subtract`)."""
    return {resource: one.get(resource, 0) - other.get(resource, 0) for resource in {**one, **other}}


def minus(one: Amounts, other: Amounts) -> Amounts:
    """Return what is left, nothing below zero; what only the other has is there as zero.

    Mirrors `SubtractWithNonNegativeResult`.
    """
    left = {resource: max(0, amount - other.get(resource, 0)) for resource, amount in one.items()}
    return left | dict.fromkeys(other.keys() - one.keys(), 0)


def is_zero(amounts: Amounts) -> bool:
    """Tell whether there is nothing of anything (`IsZero`)."""
    return not any(amounts.values())


def fits(request: Amounts, free: Amounts) -> bool:
    """Tell whether no more is asked of anything that is told than is free; what is not told is not looked at.

    Mirrors `LessThanOrEqual`.
    """
    return all(request.get(resource, 0) <= amount for resource, amount in free.items())


_NONE: Amounts = {}
_Key: TypeAlias = tuple[str, int]


class DeviceBooks(Memo, Struct, frozen=True, dict=True):
    """The books of one node, by type and minor of its devices, as somebody sees them who asks for some.

    `used` is all that is booked, `returned` the part of it that does not count: what is booked twice, by a Reservation
    and by the pods that draw on it, and what a Reservation holds for who asks. `functions` are the virtual functions
    in use, by their bus ids. `reserved` are the minors that the Reservation holds: they go first, and with `restricted`
    no others are given. By type, `most` is all that is given then.
    """

    layout: DeviceLayout
    used: Mapping[_Key, Amounts]
    returned: Mapping[_Key, Amounts]
    functions: Mapping[_Key, frozenset[str]]
    reserved: Mapping[str, frozenset[int]] = {}
    restricted: bool = False
    most: Mapping[str, Mapping[int, Amounts]] = {}

    def minors_used(self, kind: str) -> set[int]:
        """Return the minors of a type of which something is booked."""
        return {minor for of, minor in self.used if of == kind}

    def gives(self, device: Device) -> bool:
        """Tell whether the device is among those of which anything may be given."""
        return device.type not in self.most or device.minor in self.most[device.type]

    def free(self, device: Device) -> Amounts:
        """Return what is free of a device (`calcFreeWithPreemptible`)."""
        key = (device.type, device.minor)
        used = self.used.get(key)
        free = total(device)
        if used is not None:
            returned = self.returned.get(key)
            free = minus(free, used if returned is None else minus(used, returned))
        if device.type not in self.most:
            return free
        most = self.most[device.type].get(device.minor, _NONE)
        return {resource: max(0, min(amount, most.get(resource, 0))) for resource, amount in free.items()}

    @memoised
    def left(self, kind: str) -> "Left":
        """Return what is left of all devices of a type."""
        devices = self.layout.of_type(kind)
        free = {device.minor: self.free(device) for device in devices}
        used = (one.minor for one in devices if not is_zero(minus(total(one), free[one.minor])))
        return Left(free, frozenset(used), nothing=all(map(is_zero, free.values())))

    def giving_back(self, more: Mapping[_Key, Amounts]) -> "DeviceBooks":
        """Return the books of which so much more does not count."""
        returned = {key: plus(self.returned.get(key, _NONE), amounts.items()) for key, amounts in more.items()}
        return structs.replace(self, returned={**self.returned, **returned})


class Left(Struct, frozen=True):
    """What is free of devices of one type, by minor, and of which not all is; or that there is `nothing` at all."""

    free: Mapping[int, Amounts]
    used: frozenset[int]
    nothing: bool


def total(device: Device) -> Amounts:
    """Return what a device has: nothing, where it is not healthy."""
    return dict(device.resources) if device.healthy else _NONE


class DeviceWays(Struct, frozen=True):
    """The books by which a pod may be given devices: with each Reservation, by its uid; then with none of its own.

    Of the latter it takes what its Reservations hold all together, `held`, while their owners count.
    """

    drawing: tuple[tuple[str, DeviceBooks], ...]
    other: DeviceBooks
    held: Mapping[_Key, Amounts] = {}


class _Given(Struct, frozen=True):
    """Which Reservations count how for a pod, by uid.

    Of those in `whole` all that they hold does not count, of those in `matched` all that their owners have of the same
    devices, of others the part of it that they hold, too; of those in `spent` everything counts. What the owners had
    whom a trial takes away does not count for those in `drawn_on`.
    """

    whole: Collection[str] = ()
    matched: Collection[str] = ()
    spent: Collection[str] = ()
    drawn_on: Collection[str] = ()


def books_of(state: NodeState) -> DeviceBooks:
    """Return the books of a node, of all who are there but for members that are merely counted, as strangers see it."""
    return _books(state, _Given())


def ways_of(state: NodeState, mine: Matched) -> DeviceWays:
    """Return the books for a pod that reservations match (`tryAllocateFromReusable` in deviceshare/reservation.go).

    One that ignores reservations takes what all of them hold.
    """
    spent = used_up(state, mine.once)
    holding = [one for one in mine.on(state) if state.rooms[one.uid].allocations.devices]
    uids = frozenset(one.uid for one in holding)
    if mine.use.ignores:
        return DeviceWays((), _books(state, _Given(whole=uids, spent=spent, drawn_on=uids)))
    held: dict[_Key, Amounts] = {}
    for one in holding:
        for booked in state.rooms[one.uid].allocations.devices:
            key = (booked.type, booked.minor)
            held[key] = plus(held.get(key, _NONE), booked.resources)
    drawing = tuple((one.uid, _drawing(state, one, uids, spent)) for one in holding)
    return DeviceWays(drawing, _books(state, _Given(whole=uids, spent=spent)), held)


def _drawing(state: NodeState, one: Reservation, matched: frozenset[str], spent: Collection[str]) -> DeviceBooks:
    """Return the books with one Reservation; of its own devices a Restricted one gives no more than its rest."""
    own = {one.uid}
    books = _books(state, _Given(whole=own, matched=matched, spent=spent, drawn_on=own))
    reserved: dict[str, frozenset[int]] = {}
    for held in state.rooms[one.uid].allocations.devices:
        reserved[held.type] = reserved.get(held.type, frozenset()) | {held.minor}
    restricted = one.policy == "Restricted"
    return structs.replace(
        books, reserved=reserved, restricted=restricted, most=_rest(state, one.uid, reserved) if restricted else {}
    )


def _rest(state: NodeState, uid: str, reserved: Mapping[str, frozenset[int]]) -> Mapping[str, Mapping[int, Amounts]]:
    """Return what a Reservation still has of its devices, and what owners had of them whom a trial takes away.

    Mirrors `calcRequiredDeviceResources`: of a type of which it has nothing left the owners have, it gives any device.
    """
    drawn = _drawn(state, uid)
    rest: dict[str, dict[int, Amounts]] = {}
    for held in state.rooms[uid].allocations.devices:
        left = less(dict(held.resources), drawn.get((held.type, held.minor), _NONE))
        if not is_zero(left):
            rest.setdefault(held.type, {})[held.minor] = left
    for booked in _of_victims(state, {uid}):
        if booked.type in reserved:
            of_type = rest.setdefault(booked.type, {})
            if booked.minor in reserved[booked.type]:
                of_type[booked.minor] = plus(of_type.get(booked.minor, _NONE), booked.resources)
    if rest:
        return {kind: of_type for kind, of_type in rest.items() if of_type}
    return {kind: dict.fromkeys(minors, _NONE) for kind, minors in reserved.items()}


def _books(state: NodeState, given: _Given) -> DeviceBooks:
    used: dict[_Key, Amounts] = {}
    functions: defaultdict[_Key, frozenset[str]] = defaultdict(frozenset)
    for key, booked in _booked((*state.occupants, *_victims(state))):
        used[key] = plus(used.get(key, _NONE), booked.resources)
    for key, booked in _booked((*state.occupants, *(state.before or ()))):  # no trial gives virtual functions back
        if booked.virtual_functions:
            functions[key] |= frozenset(booked.virtual_functions)
    devices = state.node.devices
    layout = devices.layout if devices else DeviceLayout()
    return DeviceBooks(layout, used, _returned(state, given), dict(functions))


def _booked(occupants: Iterable[Occupant]) -> Iterator[tuple[_Key, DeviceAllocation]]:
    held = (one.allocations.devices for one in occupants if one.allocations is not None)
    return (((booked.type, booked.minor), booked) for devices in held for booked in devices)


def _victims(state: NodeState) -> list[Pod]:
    """Return those taken away on trial who draw on a Reservation with devices: it gets theirs back, and nobody else.

    Mirrors `RemovePod` in deviceshare/plugin.go.
    """
    return [pod for uid, pod in owners_taken(state) if state.rooms[uid].allocations.devices]


def _of_victims(state: NodeState, uids: Collection[str]) -> Iterator[DeviceAllocation]:
    """Yield what they have booked who draw on one of these Reservations."""
    booked = (pod.allocations for pod in _victims(state))
    return (one for some in booked if some is not None and some.reservation in uids for one in some.devices)


def _returned(state: NodeState, given: _Given) -> Mapping[_Key, Amounts]:
    """Return what does not count of all that is booked.

    What owners have of the devices of their Reservation is booked twice. It does not count at all, though it be more
    than the Reservation holds of a device. Mirrors `mergeReservationAllocations` in deviceshare/reservation.go.
    """
    returned: dict[_Key, Amounts] = {}
    for uid, room in state.rooms.items():
        if uid in given.spent:
            continue
        drawn = _drawn(state, uid) if uid not in given.whole and room.allocations.devices else {}
        for one in room.allocations.devices:
            key = (one.type, one.minor)
            amounts = one.resources
            if uid not in given.whole:
                of_owners = drawn.get(key, _NONE)
                names = of_owners if uid in given.matched else [name for name, _ in one.resources]
                amounts = tuple((name, of_owners.get(name, 0)) for name in names)
            returned[key] = plus(returned.get(key, _NONE), amounts)
    for booked in _of_victims(state, given.drawn_on):
        key = (booked.type, booked.minor)
        returned[key] = plus(returned.get(key, _NONE), booked.resources)
    return {key: amounts for key, amounts in returned.items() if not is_zero(amounts)}


def _drawn(state: NodeState, uid: str) -> Mapping[_Key, Amounts]:
    """Return what the owners of a Reservation have booked, those too whom a trial takes away."""
    drawn: dict[_Key, Amounts] = {}
    for one in (*state.occupants, *_victims(state)):
        if isinstance(one, ReservedRoom) or one.allocations is None or one.allocations.reservation != uid:
            continue
        for booked in one.allocations.devices:
            key = (booked.type, booked.minor)
            drawn[key] = plus(drawn.get(key, _NONE), booked.resources)
    return drawn


class Cards(Struct, frozen=True):
    """Devices of one type, by minor, with what is free of each.

    `taken` are the minors of which something is used, or which are not to be chosen and in use.
    """

    devices: Mapping[int, Device]
    free: Mapping[int, Amounts]
    taken: frozenset[int]

    def fitting(self, request: Amounts) -> tuple[int, ...]:
        """Return the minors, in order, of those that are good for anything and have enough free."""
        return tuple(minor for minor, free in self.free.items() if not is_zero(free) and fits(request, free))

    def healthy(self, minors: Collection[int]) -> bool:
        """Tell whether all of these are there and have anything at all to give."""
        return all(minor in self.devices and not is_zero(total(self.devices[minor])) for minor in minors)

    def score(self, request: Amounts, minor: int, scoring: Scoring | None) -> int:
        """Return how well a device suits; nothing counts where the scheduler does not score yet.

        Mirrors `scoreDevice` in deviceshare/scoring.go.
        """
        return _suits(request, total(self.devices[minor]), self.free[minor], scoring)

    def score_in_scope(self, request: Amounts, minor: int, scoring: Scoring | None) -> int:
        """Return how well a device suits within a scope, where upstream takes what is free for the total and reversed.

        So all that is in use suits alike. Mirrors `allocateFromScope` in deviceshare/allocator_gpu.go.
        """
        return _suits(request, self.free[minor], total(self.devices[minor]), scoring)


def _suits(request: Amounts, has: Amounts, free: Amounts, scoring: Scoring | None) -> int:
    if scoring is None:
        return 0
    known = ((name, has[name], free.get(name, 0)) for name, _ in scoring.weights if has.get(name))
    return scoring.score(
        {
            name: (amount - left + request.get(name, 0) if amount >= left else amount, amount)
            for name, amount, left in known
        }
    )


def cards_of(books: DeviceBooks, kind: str, hint: DeviceHint, zones: Collection[int] | None) -> Cards:
    """Return the devices of a type that a pod may be given.

    Mirrors `filterNodeDevice` in deviceshare/device_allocator.go.

    Args:
        books: those of the node.
        kind: the type.
        hint: what the pod asks of it.
        zones: the NUMA nodes that are left, None for all.
    """
    left = books.left(kind)
    chosen = {
        device.minor: device
        for device in books.layout.of_type(kind)
        if books.gives(device) and _is_in(device, zones) and is_selected(hint.selector, device)
    }
    if left.nothing:
        chosen = {}
    free = {minor: left.free[minor] for minor in sorted(chosen)}
    return Cards(chosen, free, left.used & chosen.keys() | books.minors_used(kind) - chosen.keys())


def is_selected(selector: Selector | None, device: Device) -> bool:
    """Tell whether a selector, if there is one, takes the device."""
    return selector is None or matches(selector, dict(device.labels))


def _is_in(device: Device, zones: Collection[int] | None) -> bool:
    """Tell whether a device is on one of the NUMA nodes; one of no node is on each of them."""
    return zones is None or (device.place is not None and (device.place.numa == -1 or device.place.numa in zones))


CORE = "koordinator.sh/gpu-core"
MEMORY = "koordinator.sh/gpu-memory"
RATIO = "koordinator.sh/gpu-memory-ratio"
SHARED = "koordinator.sh/gpu.shared"
WHOLE = "koordinator.sh/gpu"
NPU_CORE, NPU_CPU, NPU_DVPP = "huawei.com/npu-core", "huawei.com/npu-cpu", "huawei.com/npu-dvpp"
CARD = 100
_VENDORS = ("nvidia.com/gpu", "amd.com/gpu", "dcu.com/gpu")
_GPU_NAMES = frozenset({*_VENDORS, WHOLE, SHARED, CORE, MEMORY, RATIO, NPU_CORE, NPU_CPU, NPU_DVPP})
_PLAIN = {RDMA: "koordinator.sh/rdma", FPGA: "koordinator.sh/fpga"}
_SCOPES = {"Node": 1, "NUMANode": 2, "PCIe": 3, "Device": 4}

_Amounts: TypeAlias = Mapping[str, int]


class GPURequest(Struct, frozen=True):
    """How many GPUs a pod asks for, and what of each; `shared` where that may leave some of a card to others."""

    number: int
    each: Resources
    shared: bool
    partition: PartitionSpec | None = None
    scope: str = ""

    @property
    def level(self) -> int:
        """How deep in the topology all cards must be together."""
        return _SCOPES.get(self.scope, 0)


class PodDeviceRequest(Struct, frozen=True):
    """All devices that a pod asks for: amounts by type, and what its annotations say of them.

    `joint` holds the types that are allocated jointly, of those that the pod asks for.
    """

    amounts: tuple[tuple[str, Resources], ...]
    gpu: GPURequest | None = None
    hints: tuple[DeviceHint, ...] = ()
    joint: JointAllocation | None = None

    @property
    def needs_template(self) -> bool:
        """Whether what is asked of a shared NPU must be one of the configured templates."""
        return self.gpu is not None and self.gpu.shared and NPU_CORE in dict(self.gpu.each)

    @property
    def wants_functions(self) -> bool:
        """Whether virtual functions are asked for."""
        return any(hint.function_selector is not None for hint in self.hints)

    def hint(self, kind: str) -> DeviceHint:
        """Return what is asked of the devices of a type."""
        return next((hint for hint in self.hints if hint.type == kind), DeviceHint(kind))

    def is_left_to_reserve(self, kind: str) -> bool:
        """Tell whether the filter does not look at a type on nodes whose secondary devices are planned well."""
        first = self.joint.types[0] if self.joint is not None and self.joint.types else ""
        return bool(first) and kind != first and self.gpu is not None and not self.gpu.shared


@lru_cache(maxsize=1 << 13)
def request_of(requirements: PodRequirements) -> PodDeviceRequest | InvalidDevices | None:
    """Return what a pod asks for, or why the scheduler refuses it before it looks at a node; None for no device.

    Mirrors `preparePod` in deviceshare/utils.go.
    """
    asked = dict(requirements.requests)
    options = requirements.devices or DeviceOptions()
    amounts: list[tuple[str, Resources]] = []
    gpus = {name: amount for name, amount in asked.items() if name in _GPU_NAMES}
    if gpus:
        invalid = _invalid(gpus)
        if invalid is not None:
            return invalid
        amounts.append((GPU, _normal(gpus)))
    for kind, name in _PLAIN.items():
        if name in asked:
            if not _is_percentage(asked[name]):
                return InvalidDeviceAmount(name, asked[name])
            amounts.append((kind, ((name, asked[name]),)))
    kinds = tuple(kind for kind, _ in amounts)
    if options.unreadable is not None and _reads(options.unreadable, kinds):
        return UnreadableDeviceAnnotation(options.unreadable)
    if not amounts:
        return None
    hint = next((hint for hint in options.hints if hint.type == GPU), DeviceHint(GPU))
    gpu = _per_card(dict(amounts[0][1]), options.partition, hint.scope) if gpus else None
    return PodDeviceRequest(tuple(amounts), gpu, options.hints, _joint(options, kinds))


def _reads(annotation: DeviceAnnotation, kinds: tuple[str, ...]) -> bool:
    """Tell whether the scheduler reads the annotation of a pod that asks for these types."""
    return annotation == "device-allocated" or (GPU in kinds if annotation == "gpu-partition-spec" else bool(kinds))


def _joint(options: DeviceOptions, kinds: tuple[str, ...]) -> JointAllocation | None:
    if options.joint is None:
        return None
    for_all = {hint.type for hint in options.hints if hint.strategy == "ApplyForAll"}
    types = tuple(kind for kind in options.joint.types if kind in kinds and kind not in for_all)
    return JointAllocation(types, options.joint.scope)


def _invalid(gpus: _Amounts) -> InvalidDeviceAmount | InvalidDeviceSet | None:
    """Return what is wrong with a set of GPU resources (`ValidateDeviceRequest`)."""
    if WHOLE in gpus and not _is_percentage(gpus[WHOLE]):
        return InvalidDeviceAmount(WHOLE, gpus[WHOLE])
    valid = _SETS.get(frozenset(gpus))
    return None if valid is not None and valid(gpus) else InvalidDeviceSet(tuple(sorted(gpus)))


def _is_percentage(amount: int) -> bool:
    return amount <= CARD or amount % CARD == 0


def _always(_gpus: _Amounts) -> bool:
    return True


def _percentages(gpus: _Amounts) -> bool:
    return all(_is_percentage(gpus[name]) for name in (CORE, RATIO) if name in gpus)


def _shares(gpus: _Amounts) -> bool:
    number = gpus[SHARED]
    shares = [gpus[name] for name in (CORE, RATIO) if name in gpus]
    return all(share % number == 0 and share // number <= CARD for share in shares)


def _one_npu(gpus: _Amounts) -> bool:
    return gpus[SHARED] <= 1 and gpus.get(NPU_DVPP, 0) <= CARD


_SETS: Mapping[frozenset[str], Callable[[_Amounts], bool]] = {
    **{frozenset({name}): _always for name in (*_VENDORS, WHOLE)},
    frozenset({MEMORY}): _percentages,
    frozenset({RATIO}): _percentages,
    frozenset({CORE, MEMORY}): _percentages,
    frozenset({CORE, RATIO}): _percentages,
    frozenset({NPU_CORE, RATIO}): _percentages,
    frozenset({SHARED, MEMORY}): _shares,
    frozenset({SHARED, RATIO}): _shares,
    frozenset({SHARED, CORE, MEMORY}): _shares,
    frozenset({SHARED, CORE, RATIO}): _shares,
    frozenset({SHARED, NPU_CORE, NPU_CPU, MEMORY}): _one_npu,
    frozenset({SHARED, NPU_CORE, NPU_CPU, NPU_DVPP, MEMORY}): _one_npu,
}
"""The sets of GPU resources that the scheduler knows, and what else must hold of each."""


def _normal(gpus: _Amounts) -> Resources:
    """Return the set in parts of cards (`ConvertDeviceRequest`)."""
    whole = gpus[WHOLE] if WHOLE in gpus else sum(gpus.get(name, 0) for name in _VENDORS) * CARD
    return ((CORE, whole), (RATIO, whole)) if whole else tuple(sorted(gpus.items()))


def _per_card(asked: _Amounts, partition: PartitionSpec | None, scope: str) -> GPURequest:
    """Return how many cards are asked for, and what of each (`calcDesiredRequestsAndCountForGPU`)."""
    number, ratio = asked.get(SHARED, 0), asked.get(RATIO, 0)
    if not number:
        number = ratio // CARD if ratio > CARD and ratio % CARD == 0 else 1
    kept = (CORE, NPU_CORE, NPU_CPU, NPU_DVPP, RATIO if ratio else MEMORY)
    each = {name: asked[name] // number for name in kept if name in asked}
    shared = each[RATIO] < CARD if ratio else True
    return GPURequest(number, tuple(sorted(each.items())), shared, partition, scope)


VENDOR = keys.GPU_VENDOR
MODEL = keys.GPU_MODEL
_POLICY = keys.GPU_PARTITION_POLICY
_LINKED_IN_PAIRS = frozenset({"H100", "H800", "H20"})
_PAIRED: PartitionTable = tuple(
    (size, tuple(Partition(tuple(range(first, first + size)), score=1) for first in range(0, 8, size)))
    for size in (1, 2, 4, 8)
)
_WEIGHTS = ((8, 10000), (4, 100), (2, 1))


def by_partition(asked: GPURequest, cards: Cards, node: Node, layout: DeviceLayout) -> tuple[int, ...] | ByBooks:
    """Return the cards of a free partition, none where none is needed and none is free; or why none is given."""
    if asked.shared:
        return ()
    table, honoured = layout.partitions, layout.honours_partitions
    if table is None:
        table, honoured = _table_of(node)
    found = _partition(asked, cards, table)
    if isinstance(found, NoPartition) and not (honoured or asked.partition is not None):
        return ()
    return found


def labels_of_table(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Return the labels that decide about partitions where the Device object has none: vendor, model, policy."""
    return labels.get(VENDOR, ""), labels.get(MODEL, ""), labels.get(_POLICY, "")


def _table_of(node: Node) -> tuple[PartitionTable | None, bool]:
    """Return the table that the scheduler knows by the node's labels (`GetDesignatedGPUPartitionIndexer`)."""
    vendor, model, policy = labels_of_table(dict(node.labels))
    known = vendor in {"", "nvidia"} and model in _LINKED_IN_PAIRS
    return _PAIRED if known else None, policy == "Honor"


def _partition(asked: GPURequest, cards: Cards, table: PartitionTable | None) -> tuple[int, ...] | NoPartition:
    if table is None:
        return NoPartition(asked.number, None, unresolvable=True)
    by_size = dict(table)
    if asked.number not in by_size:
        return NoPartition(asked.number, tuple(sorted(by_size)), unresolvable=True)
    usable = _usable(asked, cards, by_size[asked.number])
    if not usable:
        return NoPartition(asked.number, tuple(sorted(by_size)))
    return max(usable, key=lambda one: _left_for_others(one, cards, asked.number, by_size)).minors


def _usable(asked: GPURequest, cards: Cards, partitions: Iterable[Partition]) -> list[Partition]:
    """Return the free partitions of the lowest score that has any, or of the lowest at all."""
    for same in _by_score(partitions):
        usable = [one for one in same if _is_usable(one, asked, cards)]
        if usable or (asked.partition is not None and asked.partition.restricted):
            return usable
    return []


def _by_score(partitions: Iterable[Partition]) -> list[list[Partition]]:
    ordered = sorted(partitions, key=lambda one: one.score)
    return [list(same) for _, same in groupby(ordered, key=lambda one: one.score)]


def _is_usable(partition: Partition, asked: GPURequest, cards: Cards) -> bool:
    wanted = asked.partition.bandwidth if asked.partition is not None else None
    fast = wanted is None or (partition.bandwidth is not None and wanted <= partition.bandwidth)
    return fast and cards.taken.isdisjoint(partition.minors) and cards.healthy(partition.minors)


def _left_for_others(chosen: Partition, cards: Cards, number: int, by_size: Mapping[int, tuple[Partition, ...]]) -> int:
    """Return what partitions stay free beside the chosen one, large ones first (`selectPartitionByBinPack`)."""
    used = cards.taken | set(chosen.minors)
    return sum(
        weight * one.score
        for size, weight in _WEIGHTS
        if size >= number and by_size.get(size)
        for one in _by_score(by_size[size])[0]
        if used.isdisjoint(one.minors)
    )


class _Scope(Struct, frozen=True):
    """A node, a NUMA node or a PCIe switch, with the minors of its cards."""

    level: int
    minors: tuple[int, ...]
    parts: tuple["_Scope", ...] = ()


class _Choice(Struct, frozen=True):
    """Cards of one scope: how deep it is, in how many scopes around them others are in use, how well they suit."""

    minors: tuple[int, ...]
    depth: int
    in_use: int
    score: int

    def beats(self, other: "_Choice", *, shared: bool) -> bool:
        """Tell whether it is chosen though the other one came first."""
        return (self.depth, self.in_use, self.score if shared else 0) > (
            other.depth,
            other.in_use,
            other.score if shared else 0,
        )


def by_topology(
    asked: GPURequest, cards: Cards, layout: DeviceLayout, scoring: Scoring | None
) -> tuple[int, ...] | ByBooks:
    """Return the cards of the scope that suits best; none where scopes do not matter; or why there are too few."""
    root = _tree(layout)
    if root is None or (asked.shared and asked.number > 1):
        return ScopeUnsupported(asked.scope, shared=root is not None) if asked.scope else ()
    request = dict(asked.each)
    fitting = [
        minor for minor, free in cards.free.items() if fits(request, free) and not is_zero(total(cards.devices[minor]))
    ]
    scores = {minor: cards.score_in_scope(request, minor, scoring) if asked.shared else 0 for minor in fitting}
    found = _choose(asked, root, cards, scores, 0, 0)
    return found.minors if found is not None else DevicesShort(GPU, asked.number, len(fitting), asked.scope)


def _choose(
    asked: GPURequest, scope: _Scope, cards: Cards, scores: Mapping[int, int], depth: int, in_use: int
) -> _Choice | None:
    """Return the best choice within a scope: of the deepest, most used part of it that has enough."""
    if len(scope.minors) < asked.number:
        return None
    depth, in_use = depth + 1, in_use + (not cards.taken.isdisjoint(scope.minors))
    best: _Choice | None = None
    for part in scope.parts:
        choice = _choose(asked, part, cards, scores, depth, in_use)
        if choice is not None and (best is None or choice.beats(best, shared=asked.shared)):
            best = choice
    if best is not None or asked.level > scope.level:
        return best
    fitting = [minor for minor in scope.minors if minor in scores]
    if asked.shared and fitting:
        fitting = [max(fitting, key=lambda minor: scores[minor])]
    if len(fitting) < asked.number:
        return None
    chosen = tuple(fitting[: asked.number])
    return _Choice(chosen, depth, in_use, scores[chosen[0]])


@memoised
def _tree(layout: DeviceLayout) -> _Scope | None:
    """Return the scopes of a node's cards; None where there are none, or one tells no place (`GetGPUTopologyScope`)."""
    placed = layout.of_type(GPU)
    if not placed or any(device.place is None for device in placed):
        return None

    def scope(level: int, devices: list[Device]) -> _Scope:
        parts = [scope(level + 1, part) for part in _parted(devices, _PARTED_BY[level])] if level in _PARTED_BY else []
        return _Scope(level, tuple(sorted({device.minor for device in devices})), tuple(parts))

    return scope(1, list(placed))


_PARTED_BY: Mapping[int, Callable[[Device], int | str]] = {
    1: lambda device: device.place.numa if device.place else 0,
    2: lambda device: device.place.pcie if device.place else "",
}


def _parted(devices: list[Device], key: Callable[[Device], int | str]) -> list[list[Device]]:
    return [list(part) for _, part in groupby(sorted(devices, key=key), key=key)]


Devices: TypeAlias = tuple[DeviceAllocation, ...]


class AllocationScope(Struct, frozen=True):
    """Where devices are looked for.

    `minors` are those of each type that the scheduler knows on the node: of its Device object, and those that pods
    have or had booked. `zones` are the NUMA nodes that are left, None for all. `scoring` is how cards are scored:
    None before Reserve, where the scheduler takes the first that fit. `drawing` are the books with each of the
    Reservations that hold devices for the pod, by uid, which come before `books`; where there are any and the pod
    `must_draw`, there is no other way. `held` is what those Reservations hold all together, by type and minor.
    """

    node: Node
    books: DeviceBooks
    minors: Mapping[str, frozenset[int]]
    zones: frozenset[int] | None = None
    scoring: Scoring | None = None
    drawing: tuple[tuple[str, DeviceBooks], ...] = ()
    must_draw: bool = False
    held: Mapping[tuple[str, int], Amounts] = {}

    def giving_back_again(self) -> "AllocationScope":
        """Return the scope in which what Reservations hold counts once, whoever has it."""
        drawing = tuple((uid, books.giving_back(self.held)) for uid, books in self.drawing)
        return structs.replace(self, books=self.books.giving_back(self.held), drawing=drawing)

    def reserving(self, reservation: str, scoring: Scoring) -> "AllocationScope":
        """Return the scope at Reserve, where it is known which reservation the pod takes, empty for none.

        Devices that it lacks are then given without it, even to a pod that must use one (`allocateWithNominated`).
        """
        drawing = tuple(way for way in self.drawing if way[0] == reservation)
        return structs.replace(self, scoring=scoring, drawing=drawing, must_draw=False)


class DevicesWanted(Struct, frozen=True):
    """How many devices of a type, at least, and what of each; up to `most` are given where they are there."""

    type: str
    number: int
    each: Resources
    hint: DeviceHint
    most: int = 0


def allocate(request: PodDeviceRequest, place: AllocationScope) -> Devices | DeviceReason:
    """Return the devices that a pod gets, or why it gets none."""
    found = by_reservations(request, place)
    return by_books(request, place) if found is None else found


def by_reservations(request: PodDeviceRequest, place: AllocationScope) -> Devices | DeviceReason | None:
    """Return the devices that a pod gets with one of its Reservations, None where it may get some without any."""
    refusals: list[ByBooks] = []
    for _, books in place.drawing:
        found = by_books(request, structs.replace(place, books=books))
        if isinstance(found, tuple):
            return found
        refusals.append(found)
    return BeyondReservedDevices(tuple(refusals)) if refusals and place.must_draw else None


def by_books(request: PodDeviceRequest, place: AllocationScope) -> Devices | ByBooks:
    """Return the devices that a pod gets by one set of books, or the first reason why it gets none."""
    wanted = wanted_of(request, place)
    if not isinstance(wanted, dict):
        return wanted
    found: dict[str, Devices] = {}
    joint = request.joint
    if joint is not None and joint.types and len(wanted) > 1:
        together = _jointly(request, wanted, place)
        if not isinstance(together, dict):
            return together
        found = together
    for kind in wanted.keys() - found.keys() if found else wanted:
        own = _of_type(request, wanted[kind], place, frozenset())
        if not isinstance(own, tuple):
            return own
        found[kind] = own
    return tuple(_filled(one, place.books) for kind in sorted(found) for one in found[kind])


def wanted_of(request: PodDeviceRequest, place: AllocationScope) -> dict[str, DevicesWanted] | ByBooks:
    """Return how many devices are needed by type, or which type the node lacks (`Prepare`)."""
    found: dict[str, DevicesWanted] = {}
    for kind, amounts in request.amounts:
        left_to_reserve = place.books.layout.plans_secondaries and place.scoring is None
        if left_to_reserve and request.is_left_to_reserve(kind):
            continue
        if not place.minors.get(kind):
            return DevicesMissing(kind)
        if request.gpu is not None and kind == GPU:
            found[kind] = DevicesWanted(kind, request.gpu.number, request.gpu.each, request.hint(kind))
        else:
            found[kind] = _counted(amounts, request.hint(kind), place)
        if not found[kind].number:
            return DevicesMissing(kind)
    for kind, wanted in found.items():
        devices = place.books.layout.of_type(kind)
        if wanted.hint.function_selector is not None and not any(device.functions for device in devices):
            return DevicesMissing(kind, functions=True)
    return found


def _counted(amounts: Resources, hint: DeviceHint, place: AllocationScope) -> DevicesWanted:
    """Return how many RDMA cards or FPGAs are needed (`DefaultDeviceHandler`)."""
    ((name, amount),) = amounts
    if amount > CARD:
        return DevicesWanted(hint.type, amount // CARD, ((name, CARD),), hint)
    if hint.strategy == "ApplyForAll":
        devices = place.books.layout.of_type(hint.type)
        chosen = sum(is_selected(hint.selector, device) for device in devices)
        return DevicesWanted(
            hint.type, len(place.minors[hint.type]) if hint.selector is None else chosen, amounts, hint
        )
    if hint.strategy == "RequestsAsCount":
        return DevicesWanted(hint.type, amount, ((name, CARD if hint.exclusive == "DeviceLevel" else 1),), hint)
    return DevicesWanted(hint.type, 1, amounts, hint)


def _jointly(
    request: PodDeviceRequest, wanted: Mapping[str, DevicesWanted], place: AllocationScope
) -> dict[str, Devices] | ByBooks:
    """Return the devices of types that are allocated jointly, by the PCIe switches of the first (`jointAllocate`)."""
    joint = request.joint
    first, *others = joint.types if joint is not None else ()
    found: dict[str, Devices] = {}
    switches: frozenset[str] = frozenset()
    same = joint is not None and joint.scope == "SamePCIe"
    for kind in (first, *others):
        one = wanted[kind]
        if kind != first and same:
            one = DevicesWanted(kind, max(one.number, len(switches)), one.each, one.hint)
        own = _of_type(request, one, place, switches)
        if not isinstance(own, tuple):
            return own
        found[kind] = own
        if kind == first:
            switches = _switches(own, place.books)
    if same and any(_switches(found[kind], place.books) != switches for kind in others):
        return DevicesApart((first, *others))
    return found


def _switches(devices: Devices, books: DeviceBooks) -> frozenset[str]:
    taken = {(one.type, one.minor) for one in devices}
    placed = (device for device in books.layout.devices if (device.type, device.minor) in taken)
    return frozenset(device.place.pcie for device in placed if device.place is not None)


def _of_type(
    request: PodDeviceRequest, wanted: DevicesWanted, place: AllocationScope, near: frozenset[str]
) -> Devices | ByBooks:
    """Return the devices of one type, for others than GPUs preferably on the switches that are named."""
    cards = cards_of(place.books, wanted.type, wanted.hint, place.zones)
    if request.gpu is None or wanted.type != GPU:
        return _any(wanted, cards, place, near)
    layout = place.books.layout
    found = by_partition(request.gpu, cards, place.node, layout)
    if found == ():
        found = by_topology(request.gpu, cards, layout, place.scoring)
    if not isinstance(found, tuple):
        return found
    if not found:
        return _any(structs.replace(wanted, most=len(near)), cards, place, frozenset())
    return tuple(DeviceAllocation(GPU, minor, wanted.each) for minor in found)


def _any(wanted: DevicesWanted, cards: Cards, place: AllocationScope, near: frozenset[str]) -> Devices | ByBooks:
    """Return the devices that suit best (`defaultAllocateDevices`)."""
    request = dict(wanted.each)
    reserved = place.books.reserved.get(wanted.type, frozenset())
    fitting = cards.fitting(request)
    if reserved and place.books.restricted:
        fitting = tuple(minor for minor in fitting if minor in reserved)
    scored = [(-cards.score(request, minor, place.scoring), minor) for minor in fitting]
    most = max(wanted.number, wanted.most, len(near))
    found: list[DeviceAllocation] = []
    for minor in _in_turn(scored, cards.devices, near, reserved):
        functions: tuple[str, ...] = ()
        if wanted.hint.function_selector is not None:
            in_use = place.books.functions.get((wanted.type, minor), frozenset())
            functions = _function(cards.devices[minor], wanted.hint, in_use)
            if not functions:
                continue
        found.append(DeviceAllocation(wanted.type, minor, wanted.each, functions))
        if len(found) == most:
            break
    return tuple(found) if len(found) >= wanted.number else DevicesShort(wanted.type, wanted.number, len(found))


def _in_turn(
    scored: list[tuple[int, int]], devices: Mapping[int, Device], near: frozenset[str], reserved: frozenset[int]
) -> Iterable[int]:
    """Return the minors in the order in which they are tried: those that a Reservation holds, else near ones first."""
    if reserved:
        return [minor for *_, minor in sorted((minor not in reserved, score, minor) for score, minor in scored)]
    return _near_first(sorted(scored), devices, near)


def _near_first(
    scored: Iterable[tuple[int, int]], devices: Mapping[int, Device], near: frozenset[str]
) -> Iterable[int]:
    """Return the minors, the best one of each preferred switch first, then the second ones, and so on.

    Mirrors `sortDeviceResourcesByPreferredPCIe` in deviceshare/device_resources.go.
    """
    turns: dict[str, int] = {}
    ranked: list[tuple[float, int, int]] = []
    for score, minor in scored:
        place = devices[minor].place
        switch = place.pcie if place is not None and place.pcie in near else None
        if switch is None:
            ranked.append((float("inf"), score, minor))
        else:
            turns[switch] = turns.get(switch, 0) + 1
            ranked.append((turns[switch], score, minor))
    return [minor for _, _, minor in sorted(ranked)]


def _function(device: Device, hint: DeviceHint, in_use: Collection[str]) -> tuple[str, ...]:
    """Return the virtual function of a device that a pod gets, none where none is free (`allocateVF`)."""
    selector = hint.function_selector
    groups = (group for group in device.functions if selector is None or matches(selector, dict(group.labels)))
    free = [bus_id for group in groups for bus_id in group.bus_ids if bus_id not in in_use]
    return (min(free),) if free else ()


def _filled(one: DeviceAllocation, books: DeviceBooks) -> DeviceAllocation:
    """Return the allocation with a GPU's memory both in bytes and in percent (`fillGPUTotalMem`)."""
    amounts = dict(one.resources)
    if one.type != GPU:
        return one
    device = next(device for device in books.layout.of_type(GPU) if device.minor == one.minor)
    memory = total(device).get(MEMORY, 0)
    if MEMORY in amounts:
        amounts[RATIO] = int(amounts[MEMORY] / memory * CARD) if memory else 0
    else:
        amounts[MEMORY] = amounts.get(RATIO, 0) * memory // CARD
    return DeviceAllocation(GPU, one.minor, tuple(sorted(amounts.items())), one.virtual_functions)
