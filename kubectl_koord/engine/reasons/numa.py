"""Why NodeNUMAResource refuses a pod on a node; `unresolvable` as in `nodes`."""

from typing import TypeAlias

from msgspec import Struct


class NUMAPolicyMismatch(Struct, frozen=True):
    """The pod and the node have different NUMA policies."""

    node: str
    pod: str
    unresolvable: bool = True


class FractionalCPUs(Struct, frozen=True):
    """The node binds the CPUs of every pod, and the pod asks for parts of one (in thousandths)."""

    asked: int
    unresolvable: bool = True


class InvalidAmplification(Struct, frozen=True):
    """The node's amplification ratios cannot be read."""

    unresolvable: bool = True


class InsufficientAmplifiedCPU(Struct, frozen=True):
    """CPU is short on an amplified node, where CPUs that are bound count more than once (in thousandths)."""

    needed: int
    free: int
    unresolvable: bool = False


class NoCPUTopology(Struct, frozen=True):
    """The node tells nothing of its CPUs, and the pod's must be bound."""

    unresolvable: bool = True


class BindPolicyConflict(Struct, frozen=True):
    """The pod requires another way to bind CPUs than the node."""

    node: str
    pod: str
    unresolvable: bool = True


class PartialCores(Struct, frozen=True):
    """Whole cores must be bound, and the pod's CPUs are no multiple of those of a core."""

    cpus: int
    per_core: int
    unresolvable: bool = True


class NotEnoughCPUs(Struct, frozen=True):
    """Fewer CPUs can be bound than the pod asks for, by the policy that is required (empty for any)."""

    needed: int
    free: int
    policy: str = ""
    unresolvable: bool = False


class NoZones(Struct, frozen=True):
    """A NUMA policy counts, and the node tells no zones."""

    unresolvable: bool = True


class UnsatisfiedZones(Struct, frozen=True):
    """No set of NUMA zones has what is asked of these resources."""

    resources: tuple[str, ...]
    unresolvable: bool = False


class UnalignedZones(Struct, frozen=True):
    """No set of NUMA zones suits all resources: by resource those that it prefers, and those that would do."""

    policy: str
    hints: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]
    unresolvable: bool = False


class InsufficientInZones(Struct, frozen=True):
    """The chosen NUMA zones are short of resources: what is needed and what is free."""

    short: tuple[tuple[str, int, int], ...]
    unresolvable: bool = False


Lack: TypeAlias = NotEnoughCPUs | InsufficientInZones
"""What CPUs or zones have too little of."""


class BeyondReservedZones(Struct, frozen=True):
    """A pod must use a reservation, and none that matches has CPUs or zones for it: why, for each of them."""

    reasons: tuple[Lack, ...]
    unresolvable: bool = False


NUMAReason: TypeAlias = (
    NUMAPolicyMismatch
    | FractionalCPUs
    | InvalidAmplification
    | InsufficientAmplifiedCPU
    | NoCPUTopology
    | BindPolicyConflict
    | PartialCores
    | NotEnoughCPUs
    | NoZones
    | UnsatisfiedZones
    | UnalignedZones
    | InsufficientInZones
    | BeyondReservedZones
)
"""Why NodeNUMAResource refuses a pod on a node."""
