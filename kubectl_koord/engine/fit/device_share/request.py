"""What a pod asks for: which devices, how many, and how much of each."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.reasons.prefilter import (
    InvalidDeviceAmount,
    InvalidDevices,
    InvalidDeviceSet,
    UnreadableDeviceAnnotation,
)
from kubectl_koord.model.hardware.devices import (
    FPGA,
    GPU,
    RDMA,
    DeviceAnnotation,
    DeviceHint,
    DeviceOptions,
    JointAllocation,
    PartitionSpec,
)
from kubectl_koord.model.pods import PodRequirements
from kubectl_koord.model.values.quantity import Resources

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
