"""The answer of `annotate`: the planned writes, their effect, and what became of them."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kubectl_koord.reports.common import Basis, CauseCode, Notice, Verdict
from kubectl_koord.reports.jobs import FitReport


class ObjectName(Struct, frozen=True, rename="camel"):
    """Which object."""

    kind: str
    namespace: str
    name: str


class Change(Struct, frozen=True, rename="camel"):
    """One object before and after (only the fields that change, dotted), and the merge patch.

    Where it `creates` the object, there is none yet, and the patch is the whole of it.
    """

    object: ObjectName
    before: Mapping[str, str | int | None]
    after: Mapping[str, str | int | None]
    patch: Mapping[str, Any]
    resource_version: str

    @property
    def creates(self) -> bool:
        """Whether there is no such object yet."""
        return "kind" in self.patch


class VerdictSummary(Struct, frozen=True, rename="camel"):
    """What why-pending answers: verdict and cause code."""

    verdict: Verdict
    cause: CauseCode | None
    message: str = ""


class Effect(Struct, frozen=True, rename="camel"):
    """The answer of why-pending before and after the change; `worse` by its verdict, or of two noes by its cause.

    `after_restart` is the answer once the scheduler has restarted, where it does not notice the change before; it is
    that which may be worse.
    """

    before: VerdictSummary
    after: VerdictSummary
    worse: bool = False
    after_restart: VerdictSummary | None = None


class ChangePlan(Struct, frozen=True, rename="camel"):
    """Planned writes, their effect, and what became of them (`dry_run` is none, client or server).

    `notes` are sentences on how the plan came to be, `commands` what is to be run instead of a write. `fit` is whether
    what would be made is placed, where that is not there yet.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    changes: tuple[Change, ...]
    applied: bool
    effect: Effect | None
    dry_run: str = "none"
    message: str = ""
    notes: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    fit: FitReport | None = None
