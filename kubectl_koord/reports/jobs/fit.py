"""The answer of `fit`."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Basis, Notice, Verdict
from kubectl_koord.reports.disruption import BrokenGang
from kubectl_koord.reports.jobs.pending import Cause, PodShape, SlotRow, WhyAlternative
from kubectl_koord.reports.jobs.preemption import Victim
from kubectl_koord.reports.ways_out import WayOut

Fits: TypeAlias = Literal["now", "by-preemption", "not-now", "never", "unknown"]
"""`never`: waiting does not help, as the gang or the cluster has to be changed first."""


class FitGang(Struct, frozen=True, rename="camel"):
    """One gang (or gang group, or the pods of a workload without a gang) that is not there yet.

    The verdict, and what belongs to it, is what `why-pending` would answer once it is there; `victims` are those of
    all attempts where preemption would let it run. `how_many` such gangs fit one after the other, or more
    where that is `counted_to`, and with `largest` pods it fits at most, or with more where that is
    `largest_counted_to`: None where that was not asked for, or is not known. `alone` is set for pods without a gang.
    `other_scheduler` is the schedulerName of pods that another scheduler would place: the answer is what
    koord-scheduler would do in its place, empty without any. `shapes` are its pods by what they request, the most
    first; `requests` is that of one. `also` are those of `also_wrong` that have a sentence.
    """

    gang: str
    pods: int
    verdict: Verdict
    fits: Fits
    placement: Mapping[str, str] | None
    desired_offer_slot: int | None
    domains: tuple[SlotRow, ...]
    victims: tuple[Victim, ...]
    cause: Cause | None
    how_many: int | None = None
    largest: int | None = None
    gang_group: tuple[str, ...] = ()
    min_member: int = 0
    must_gather: str | None = None
    requests: str = ""
    alone: bool = False
    also_wrong: tuple[CauseCode, ...] = ()
    unblock: tuple[WayOut, ...] = ()
    next_steps: tuple[WayOut, ...] = ()
    no_way_out: str = ""
    ways_not_tried: str = ""
    broken_gangs: tuple[BrokenGang, ...] = ()
    alternatives: tuple[WhyAlternative, ...] = ()
    counted_to: int = 0
    largest_counted_to: int = 0
    other_scheduler: str = ""
    shapes: tuple[PodShape, ...] = ()
    also: tuple[Cause, ...] = ()


class FitReport(Struct, frozen=True, rename="camel"):
    """Whether everything that was submitted fits, gang by gang."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    gangs: tuple[FitGang, ...]
