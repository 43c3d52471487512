"""The answers of `node` and `domain`: what runs at a place, what is free, who could use it, and what a drain does."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.capacity.devices import TypeTotal
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Basis, DomainName, Notice, Verdict
from kubectl_koord.reports.disruption import BrokenGang, FreedPod
from kubectl_koord.reports.migrations import Migration

Goes: TypeAlias = Literal["fits", "no-node", "unknown"]
"""Where a pod that is drained could go: another node takes it, none does, or that is open."""


class Free(Struct, frozen=True, rename="camel"):
    """What is free of a resource and what there is; `withheld` is what would be free on nodes that are out."""

    resource: str
    free: int
    total: int
    withheld: int = 0


class JobHere(Struct, frozen=True, rename="camel"):
    """Pods that run here, of one gang, or one owner, or a pod of its own; those of one priority together.

    `requests` are those of all of them, as quantities. `daemon_set` tells that a drain leaves them.
    """

    gang: str | None
    owner: str | None
    priority: int
    pods: tuple[str, ...]
    nodes: tuple[str, ...]
    requests: Mapping[str, str]
    daemon_set: bool = False
    terminating: int = 0


class ReasonHere(Struct, frozen=True, rename="camel"):
    """Why some of the nodes take no more pods of a gang, and how many nodes."""

    message: str
    nodes: int


class WaitingGang(Struct, frozen=True, rename="camel"):
    """A gang group or pod that is pending, and how many of its pods the place takes as things are.

    `slots` is None where that cannot be counted. `lacks` is how many more it needs to hold all of the pods. The verdict
    and the cause are those of `why-pending`.
    """

    gang: str
    pending: int
    priority: int
    must_gather: str
    verdict: Verdict
    cause: CauseCode | None
    slots: int | None
    lacks: int | None
    reasons: tuple[ReasonHere, ...] = ()


class ReservationHere(Struct, frozen=True, rename="camel"):
    """A Reservation that holds room here: what it holds, and what its owners have left of it.

    `job` names the PodMigrationJob that it was made for.
    """

    reservation: str
    node: str
    owners: tuple[str, ...]
    size: Mapping[str, str]
    unused: Mapping[str, str]
    drawing: tuple[str, ...]
    expires: str | None = None
    job: str | None = None


class NominatedPod(Struct, frozen=True, rename="camel"):
    """A pending pod that is nominated to a node: pods of a lower or the same priority find its place taken."""

    pod: str
    node: str
    priority: int


class DrainedPod(Struct, frozen=True, rename="camel"):
    """Where a pod that is drained could go: `to` is a node that takes it then, `reason` why none does.

    `recreated` tells whether a controller owns it, which creates it anew.
    """

    pod: str
    outcome: Goes
    recreated: bool
    to: str | None = None
    reason: str = ""


class Drain(Struct, frozen=True, rename="camel"):
    """What a drain would do: whom it evicts, where they could go, whom it leaves, and which gangs break.

    `daemon_sets` (`namespace/name`) have those that stay, but for the pods of nodes themselves.
    """

    evicts: tuple[FreedPod, ...]
    goes: tuple[DrainedPod, ...]
    stays: tuple[str, ...] = ()
    terminating: tuple[str, ...] = ()
    broken_gangs: tuple[BrokenGang, ...] = ()
    daemon_sets: tuple[str, ...] = ()


class Place(Struct, frozen=True, rename="camel", kw_only=True):
    """What both answers tell.

    `migrations` move pods away from here, or to here. `message` names what could not be read, where that leaves the
    answer unknown.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    free: tuple[Free, ...] = ()
    devices: tuple[TypeTotal, ...] = ()
    running: tuple[JobHere, ...] = ()
    waiting: tuple[WaitingGang, ...] = ()
    reservations: tuple[ReservationHere, ...] = ()
    migrations: tuple[Migration, ...] = ()
    drain: Drain | None = None
    message: str = ""
    nominated: tuple[NominatedPod, ...] = ()


class NodeReport(Place, frozen=True, rename="camel", kw_only=True):
    """One node: `domains` are those that it is in, the nearest first; none outside the tree.

    `state` is empty, `cordoned` or `not ready`; `taints` are as `kubectl taint` writes them.
    """

    node: str
    state: str = ""
    taints: tuple[str, ...] = ()
    domains: tuple[DomainName, ...] = ()


class DomainReport(Place, frozen=True, rename="camel", kw_only=True):
    """One domain of the topology tree; `nodes` are those below it, in name order."""

    layer: str
    name: str
    parent: DomainName | None
    nodes: tuple[str, ...] = ()
    cordoned: tuple[str, ...] = ()
    not_ready: tuple[str, ...] = ()
