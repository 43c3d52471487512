"""The answer of `diff`."""

from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.common import Basis, Notice, Verdict

NodeChange: TypeAlias = Literal[
    "came", "went", "cordoned", "uncordoned", "not-ready", "ready", "allocatable", "labels", "taints"
]
PodChange: TypeAlias = Literal["came", "went", "moved"]


class DomainDiff(Struct, frozen=True, rename="camel"):
    """One domain before and after; None where it was not there.

    `free` counts the report's resource; `slots` how many of the pods fit, None where none were asked for.
    """

    layer: str
    name: str
    free_before: int | None
    free_after: int | None
    slots_before: int | None = None
    slots_after: int | None = None


class NodeDiff(Struct, frozen=True, rename="camel"):
    """One node that has changed: how, and by how much its slots or else what is free of it."""

    node: str
    changes: tuple[NodeChange, ...]
    difference: int


class PodDiff(Struct, frozen=True, rename="camel"):
    """One pod that takes room elsewhere now: on which node before and after, and what it requests of the resource."""

    pod: str
    change: PodChange
    node_before: str | None
    node_after: str | None
    amount: int
    gang: str = ""
    owner: str = ""


class DiffReport(Struct, frozen=True, rename="camel"):
    """What is different in a later cluster, the largest differences first.

    The verdict is unknown where what could not be read leaves open what differs, else yes. `before` is what the earlier
    reading rests on. `asked` names the gang or the pods of a shape that slots were counted for, empty for none;
    `pods` is how many of a gang's are pending.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    before: Basis
    resource: str
    asked: str
    pods: int
    domains: tuple[DomainDiff, ...]
    nodes: tuple[NodeDiff, ...]
    placed: tuple[PodDiff, ...]
    message: str = ""
