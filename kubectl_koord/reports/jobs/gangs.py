"""The answer of `gangs`."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Basis, Notice, Verdict
from kubectl_koord.reports.jobs.volcano import VolcanoGang
from kubectl_koord.reports.migrations import GangReservation, Migration

StaleFault: TypeAlias = Literal["more-bound", "fewer-bound", "used-again"]
"""What a PodGroup's phase does not know: that enough pods are bound, that no longer enough are, that it runs again."""


class Hops(Struct, frozen=True, rename="camel"):
    """How far apart members with neighbouring numbers run: layers up to the domain that both are in.

    0 is the same node. `pairs` counts the neighbours, `far` those that meet in no domain below the cluster; `most`
    and `mean` are over all of them.
    """

    pairs: int
    far: int
    most: int
    mean: float


class GangRow(Struct, frozen=True, rename="camel"):
    """One gang.

    `pods` are those that exist, `bound` those with a node, finished ones included, `waiting` those of the pending that
    are nominated to a node. `phase` is that of its PodGroup, `stale` what the phase does not know. `span` tells by
    layer how many domains the running members use, without nodes outside the tree; `outside` how many of them are not
    in the domain of the must-gather layer that most of them are in. The verdict and the cause are those of
    `why-pending`, and yes for a gang without pending pods. `migrations` and `reservations` are those that concern it.
    """

    gang: str
    gang_group: tuple[str, ...]
    min_member: int
    pods: int
    bound: int
    pending: int
    mode: str
    match_policy: str
    must_gather: str
    span: Mapping[str, int]
    verdict: Verdict
    cause: CauseCode | None = None
    waiting: int = 0
    running: int = 0
    finished: int = 0
    defined_by: str = ""
    phase: str = ""
    stale: StaleFault | None = None
    outside: int = 0
    hops: Hops | None = None
    created: str = ""
    migrations: tuple[Migration, ...] = ()
    reservations: tuple[GangReservation, ...] = ()


class GangsReport(Struct, frozen=True, rename="camel"):
    """All gangs, in name order. `message` names what could not be read where the list may therefore lack some.

    `volcano` are those that Volcano schedules: nothing of them is computed. Of `namespace` they are, of any where it is
    empty; `selected` tells whether only gangs with some labels, or with pending pods, were asked for.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    items: tuple[GangRow, ...]
    message: str = ""
    volcano: tuple[VolcanoGang, ...] = ()
    namespace: str = ""
    selected: bool = False
