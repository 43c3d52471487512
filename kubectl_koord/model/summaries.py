"""What the leading scheduler answers of its own memory: gangs, quotas, nodes, devices, CPUs, Reservations.

Names are those of its endpoints (`GangSummary`, `QuotaSummary`, ...).
"""

from collections.abc import Mapping

from msgspec import Struct

from kubectl_koord.model.values.quantity import Resources


class GangSummary(Struct, frozen=True):
    """One gang. Pods are `namespace/name`.

    `children` are all of its pods: `pending`, `waiting` in Permit, `bound`. `satisfied` is whether a member of its
    group was ever bound, `minimum` is None for a gang that is not initialised. `representative` is the only pod of the
    group that may be tried next, empty for none.
    """

    key: str
    minimum: int | None
    mode: str
    match_policy: str
    group: tuple[str, ...]
    defined_by: str
    satisfied: bool
    children: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    bound: frozenset[str] = frozenset()
    representative: str = ""


class QuotaSummary(Struct, frozen=True):
    """One quota: its amounts by field (`min`, `max`, `used`, `request`, `runtime`)."""

    name: str
    parent: str
    amounts: Mapping[str, Resources]


class NodeSummary(Struct, frozen=True):
    """One node: its pods, those included that are assumed on it, what they request, and what it can give."""

    name: str
    pods: frozenset[str]
    requested: Resources
    allocatable: Resources


class DeviceSummary(Struct, frozen=True):
    """One device of a node: what it has, what is free of it, and the pods that have a part of it."""

    node: str
    type: str
    minor: int
    total: Resources
    free: Resources
    pods: frozenset[str] = frozenset()


class CPUSummary(Struct, frozen=True):
    """The CPUs of a node that pods may still bind, and those that each pod has bound."""

    node: str
    available: frozenset[int]
    pods: Mapping[str, frozenset[int]]


class ReservationSummary(Struct, frozen=True):
    """One Reservation on a node, or a pod that is one: what it holds, what of it is taken, and by which pods."""

    name: str
    kind: str
    allocatable: Resources
    allocated: Resources
    pods: frozenset[str] = frozenset()
