"""What blocks a gang or a pod from being tried: one frozen class each, with its facts, one closed union.

`admission` finds them, wording/admission.py words them; the `code` of each is one of `CauseCode`.
"""

from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.admission.leader import NoLeader, NoReplica
from kubectl_koord.engine.admission.open_settings import OpenSetting
from kubectl_koord.engine.admission.prefilter import UnknownLayer
from kubectl_koord.engine.fit.resource_claims.readiness import UnreadyClaim
from kubectl_koord.engine.reasons.prefilter import PreFilterRefusal

Keys: TypeAlias = tuple[str, ...]
"""Pods or gangs, as `namespace/name`."""


class OtherScheduler(Struct, frozen=True):
    """Every pod names a scheduler that is no profile of Koordinator's: of the profiles that are `known`, or assumed."""

    pods: Keys
    schedulers: tuple[str, ...]
    profiles: tuple[str, ...]
    in_gang: bool
    known: bool = True
    code: ClassVar[Literal["other-scheduler"]] = "other-scheduler"


class MixedSchedulers(Struct, frozen=True):
    """Some of so many pods name another scheduler, and too few are left without them; `known` is as above."""

    pods: Keys
    of: int
    schedulers: tuple[str, ...]
    known: bool = True
    code: ClassVar[Literal["mixed-schedulers"]] = "mixed-schedulers"


class BeingDeleted(Struct, frozen=True):
    """Of so many pending pods these are being deleted, and none or too few are left without them."""

    pods: Keys
    of: int
    in_gang: bool
    code: ClassVar[Literal["being-deleted"]] = "being-deleted"


class Gated(Struct, frozen=True):
    """Of so many pending pods these have scheduling gates.

    enough_others: whether one of the others may be tried, and enough are with it. Then the plan counts those with a
    gate, and what comes of it is open.
    """

    pods: Keys
    of: int
    in_gang: bool
    gates: tuple[str, ...]
    enough_others: bool
    code: ClassVar[Literal["scheduling-gated"]] = "scheduling-gated"


class ClaimsUnready(Struct, frozen=True):
    """Of so many pending pods these have a resource claim that is not there or cannot be used; `claims` are those.

    enough_others: whether the others can do without them.
    """

    pods: Keys
    of: int
    in_gang: bool
    claims: tuple[UnreadyClaim, ...]
    enough_others: bool
    code: ClassVar[Literal["claims-unallocated"]] = "claims-unallocated"


class NoPodGroup(Struct, frozen=True):
    """The pods name a PodGroup that does not exist; `own` is whether it is that of the gang which was asked for."""

    gang: str
    pods: Keys
    own: bool

    @property
    def code(self) -> Literal["no-podgroup", "group-member-missing"]:
        """Whether it is the gang itself, or another one of its group."""
        return "no-podgroup" if self.own else "group-member-missing"


class NotInitialised(Struct, frozen=True):
    """The pods define the gang, and min-available as written is none; `written` is empty where it is not set."""

    gang: str
    pods: Keys
    own: bool
    written: str

    @property
    def code(self) -> Literal["gang-not-initialised", "group-member-missing"]:
        """Whether it is the gang itself, or another one of its group."""
        return "gang-not-initialised" if self.own else "group-member-missing"


class TooFewPods(Struct, frozen=True):
    """The gang has fewer children than its minimum; its pending pods are `pods`."""

    gang: str
    pods: Keys
    own: bool
    children: int
    minimum: int

    @property
    def code(self) -> Literal["too-few-pods", "group-member-too-few-pods"]:
        """Whether it is the gang itself, or another one of its group."""
        return "too-few-pods" if self.own else "group-member-too-few-pods"


class NoSuchGangs(Struct, frozen=True):
    """Gangs that the group annotation lists and that do not exist."""

    gangs: Keys
    code: ClassVar[Literal["group-member-missing"]] = "group-member-missing"


class FinishedNeverWait(Struct, frozen=True):
    """The gang needs more pods at once than are pending: its finished ones are children and never wait."""

    gang: str
    pods: Keys
    needed: int
    finished: int
    code: ClassVar[Literal["too-few-pods"]] = "too-few-pods"


class BoundDoNotCount(Struct, frozen=True):
    """The gang needs more pods at once than are pending, and its match policy does not count those that are bound.

    complete: whether as many run as are needed, so that the pending ones come on top.
    """

    gang: str
    pods: Keys
    needed: int
    bound: int
    match_policy: str
    complete: bool

    @property
    def code(self) -> Literal["surplus-pods", "replacement-waits"]:
        """Whether the pending pods come on top, or replace others."""
        return "surplus-pods" if self.complete else "replacement-waits"


class OmitsItself(Struct, frozen=True):
    """The group annotation of the gang lists only others: it is tried when these are, and may wait in vain."""

    gang: str
    listed: Keys
    code: ClassVar[Literal["groups-differ"]] = "groups-differ"


class GroupsDiffer(Struct, frozen=True):
    """Other gangs of the group have another group annotation than the gang."""

    gang: str
    others: Keys
    code: ClassVar[Literal["groups-differ"]] = "groups-differ"


class OpenConfiguration(Struct, frozen=True):
    """It is open whether what blocks the gang does: some settings of the scheduler are not evaluated."""

    settings: tuple[OpenSetting, ...]
    code: ClassVar[Literal["not-evaluated"]] = "not-evaluated"


Blocker: TypeAlias = (
    OtherScheduler
    | MixedSchedulers
    | NoLeader
    | NoReplica
    | BeingDeleted
    | Gated
    | ClaimsUnready
    | NoPodGroup
    | NotInitialised
    | TooFewPods
    | NoSuchGangs
    | FinishedNeverWait
    | BoundDoNotCount
    | OmitsItself
    | GroupsDiffer
    | PreFilterRefusal
    | UnknownLayer
    | OpenConfiguration
)
"""Why a gang or a pod is not tried, or is refused whatever the nodes are."""
