"""The answers of `why-pending`: about one gang, and about all."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from kubectl_koord.reports.capacity.quota import HeldBack, Share
from kubectl_koord.reports.codes import CauseCode
from kubectl_koord.reports.common import Basis, Notice, Verdict
from kubectl_koord.reports.jobs.volcano import VolcanoGang
from kubectl_koord.reports.migrations import GangReservation, Migration
from kubectl_koord.reports.ways_out import WayOut


class WhatIf(Struct, frozen=True, rename="camel"):
    """The slots of a domain if one thing were different, and if it were empty and nothing cordoned.

    `without_lower`: without the pods that the gang's priority lets it preempt.
    """

    terminating_gone: int
    uncordoned: int
    without_lower: int
    empty: int


class SlotRow(Struct, frozen=True, rename="camel"):
    """One domain of the start set: its slots, how many are missing, and the main obstacle in words.

    `obstacles` is everything that is in the way, where `in_the_way` names only the first nodes of several.
    """

    layer: str
    name: str
    offer_slots: int
    short: int
    in_the_way: str = ""
    what_if: WhatIf | None = None
    obstacles: tuple[str, ...] = ()


class Cause(Struct, frozen=True, rename="camel"):
    """The one root cause: a stable code, one sentence, the pods it is about."""

    code: CauseCode
    message: str
    pods: tuple[str, ...] = ()


class Lack(Struct, frozen=True, rename="camel"):
    """What a member lacks on the node that it is planned for."""

    pod: str
    node: str
    what: str


class PlanFailure(Cause, frozen=True):
    """The cause where slots are enough, and the plan made of them cannot be carried out."""

    lacks: tuple[Lack, ...] = ()


class SaidText(Struct, frozen=True, rename="camel"):
    """A text of the scheduler as it is, and the pods that carry it."""

    message: str
    pods: tuple[str, ...]


class SchedulerSays(Struct, frozen=True, rename="camel"):
    """The condition found on the pods; `agrees` tells whether it still holds, None if that is open.

    since: the first failure; last_seen: the newest event about it, None where there is none.
    pod: whose words these are. reads: what was understood, in one sentence; now: what is computed
    now; retry: when the scheduler tries again, where that matters; each may be empty.
    texts: every distinct text on the pods, where asked for.
    """

    message: str
    since: str
    agrees: bool | None
    pod: str = ""
    last_seen: str | None = None
    reads: str = ""
    now: str = ""
    retry: str = ""
    texts: tuple[SaidText, ...] = ()


class PodShape(Struct, frozen=True, rename="camel"):
    """Pods that request the same: how many, and what each requests, in words and as exact quantities."""

    pods: int
    requests: str
    resources: Mapping[str, str]


class Funnel(Struct, frozen=True, rename="camel"):
    """How many nodes are left after each reason took its share; `nodes` is all of them.

    Where pods differ, that is for the one `pod` that is tried first, empty where they are alike. `stages` goes through
    the filters in their order: a wording and how many nodes pass up to there.
    """

    nodes: int
    lost: tuple[tuple[str, int], ...]
    left: int
    stages: tuple[tuple[str, int], ...] = ()
    pod: str = ""


class NodeReason(Struct, frozen=True, rename="camel"):
    """How many pods of the gang one node takes, and why the next does not fit (empty when all do)."""

    node: str
    domain: str
    offer_slots: int
    reason: str


class WhyAlternative(Struct, frozen=True, rename="camel"):
    """One of several outcomes that what the API shows leaves open; `when` says what must be so."""

    when: str
    verdict: Verdict
    domains: tuple[SlotRow, ...] = ()
    placement: Mapping[str, str] | None = None
    cause: Cause | None = None


class WhyReport(Struct, frozen=True, rename="camel"):
    """Why one gang (or gang group, or lone pod) is pending, or that it would be placed.

    `placement` maps `ns/pod` to a node when a topology gang would be placed now. `cause` is None when
    the verdict is yes, but for `waiting-for-retry`. `lone_pod` is set when a lone pod was asked for.
    `no_way_out` tells why `unblock` is empty where the verdict is no, `ways_not_tried` what else was not tried to the
    end where it is not; `next_steps` are what the cause calls for and what no engine can prove to be enough. `nodes` is
    there where it was asked for.
    `waiting` is what the pending pods ask for together, spelled as quantities, `waiting_for` what counts
    most of it in words, `waiting_since` when the first of them was made.
    `quota_holders` are the quotas that use, above their minimums, what the refusing one lacks.
    `node` is where a lone pod is that is not pending, empty for a finished one. `defined_by` is what makes the gang:
    a `PodGroup`, `pods` by their annotations, empty for none of both. `migrations` and `reservations` are those that
    concern any pod of the group. `volcano` is what Volcano wrote, where it schedules the gang. `shapes` are the pending
    pods by what they request, the most first; `requests` is that of one. `also` are those of `also_wrong` that have a
    sentence. `priority` is the highest of the pending pods, None where there are none; `owners` are what creates them.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    gang: str
    gang_group: tuple[str, ...]
    pending_pods: tuple[str, ...]
    bound_pods: int
    min_member: int
    must_gather: str | None
    desired_offer_slot: int | None
    domains: tuple[SlotRow, ...]
    placement: Mapping[str, str] | None
    cause: Cause | None
    also_wrong: tuple[CauseCode, ...]
    unblock: tuple[WayOut, ...]
    scheduler_says: SchedulerSays | None
    alternatives: tuple[WhyAlternative, ...] = ()
    funnel: Funnel | None = None
    requests: str = ""
    lone_pod: bool = False
    no_way_out: str = ""
    ways_not_tried: str = ""
    next_steps: tuple[WayOut, ...] = ()
    waiting: Mapping[str, str] = {}
    waiting_since: str = ""
    waiting_for: str = ""
    nodes: tuple[NodeReason, ...] = ()
    node: str = ""
    quota_holders: tuple[Share, ...] = ()
    defined_by: str = ""
    migrations: tuple[Migration, ...] = ()
    reservations: tuple[GangReservation, ...] = ()
    volcano: VolcanoGang | None = None
    shapes: tuple[PodShape, ...] = ()
    also: tuple[Cause, ...] = ()
    priority: int | None = None
    owners: tuple[str, ...] = ()


class CauseGroup(Struct, frozen=True, rename="camel"):
    """All that waits for one cause: `code` is empty for what would be placed now.

    `waiting` holds what the pods ask for together, spelled as quantities, `waiting_for` what counts most of
    it in words; `gangs` are in order of age, the oldest first; `oldest` is when the first of their pods was made.
    """

    code: CauseCode | Literal[""]
    verdict: Verdict
    gangs: tuple[str, ...]
    pods: int
    waiting: Mapping[str, str]
    oldest: str
    waiting_for: str = ""


class Contention(Struct, frozen=True, rename="camel"):
    """A gang that would be placed alone, and those that leave no room for it when they are tried first."""

    gang: str
    others: tuple[str, ...]


class PendingGangsReport(Struct, frozen=True, rename="camel"):
    """Every gang (or lone pod) with pending pods, one WhyReport each, in name order; and by cause.

    `message` names what could not be read where the list may therefore lack some. `held_back` is what quotas
    refuse, each pod once those before it are placed. `volcano` are the gangs of Volcano that
    wait: nothing of them is computed. Of `namespace` the pods are, of any where it is empty; `selected` tells whether
    only gangs with some labels or causes were asked for.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    items: tuple[WhyReport, ...]
    causes: tuple[CauseGroup, ...] = ()
    contending: tuple[Contention, ...] = ()
    message: str = ""
    held_back: tuple[HeldBack, ...] = ()
    volcano: tuple[VolcanoGang, ...] = ()
    namespace: str = ""
    selected: bool = False
