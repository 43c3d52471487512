"""The answers about jobs: `why-pending`, `gangs`, `preempt`, `why-preempted`, `fit`, and gangs of Volcano."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.capacity import HeldBack, Share
from kubectl_koord.reports.common import (
    Basis,
    BrokenGang,
    BudgetHit,
    CauseCode,
    GangReservation,
    Migration,
    Notice,
    ReasonCode,
    Verdict,
    WayOut,
)


class VolcanoCondition(Struct, frozen=True, rename="camel"):
    """One of a PodGroup's conditions, as Volcano wrote it."""

    type: str
    status: str
    reason: str
    message: str
    since: str


class VolcanoGang(Struct, frozen=True, rename="camel"):
    """A PodGroup of API group scheduling.volcano.sh, with what its scheduler wrote.

    `running`, `succeeded` and `failed` are the numbers of its status. `queue_state` is None where the queue was not
    read or does not exist, which `queue_exists` tells where it is known. `preemption_policy` is that of its
    PriorityClass, None where that was not read. `never_preempting` are those of its `pending` pods whose own
    preemptionPolicy is Never.
    """

    gang: str
    phase: str
    queue: str
    queue_state: str | None
    queue_exists: bool | None
    min_member: int
    pending: tuple[str, ...]
    running: int
    succeeded: int
    failed: int
    priority_class: str
    preemption_policy: str | None
    never_preempting: tuple[str, ...]
    conditions: tuple[VolcanoCondition, ...]
    owner: str | None = None
    created: str = ""

    @property
    def is_waiting(self) -> bool:
        """Whether it is still to run, or pods of it are pending."""
        return bool(self.pending) or self.phase in {"", "Pending", "Inqueue", "Unknown"}


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


LayerState: TypeAlias = Literal["passed", "held", "unknown", "not-here", "then"]
"""Whether a layer let the job through; `then` what would come, were it let through by the one that holds it."""


class LayerRow(Struct, frozen=True, rename="camel"):
    """One layer of a job's way: whether it lets the job through, what was seen, of which object, and since when."""

    layer: str
    state: LayerState
    message: str = ""
    object: str = ""
    since: str = ""


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
    `owner_kind` is that of an owner that was asked about, empty for gangs and pods. `layers` are those of its way, in
    order, where more than the scheduler was asked.
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
    owner_kind: str = ""
    layers: tuple[LayerRow, ...] = ()


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


class LayerCount(Struct, frozen=True, rename="camel"):
    """How many jobs a layer holds; the layer is empty for those that would be placed now."""

    layer: str
    verdict: Verdict
    jobs: int


class PendingGangsReport(Struct, frozen=True, rename="camel"):
    """Every gang (or lone pod) with pending pods, one WhyReport each, in name order; and by cause.

    `message` names what could not be read where the list may therefore lack some. `held_back` is what quotas
    refuse, each pod once those before it are placed. `volcano` are the gangs of Volcano that
    wait: nothing of them is computed. Of `namespace` the pods are, of any where it is empty; `selected` tells whether
    only gangs with some labels or causes were asked for. `layers` counts all of them by the layer that holds them.
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
    layers: tuple[LayerCount, ...] = ()


RoundTime: TypeAlias = Literal["now", "while-terminating", "after"]
"""When an attempt is made: next, while the victims of the one before it terminate, or once all of these are gone."""


class Victim(Struct, frozen=True, rename="camel"):
    """One pod that would be killed. `domain` is the domain above its node, for people."""

    pod: str
    node: str
    priority: int
    gang: str | None
    owner: str | None
    age_seconds: int | None
    pod_disruption_budget: BudgetHit | None
    domain: str = ""
    wasted: bool = False
    eviction: str | None = None


class Round(Struct, frozen=True, rename="camel"):
    """One attempt: whom it kills, where the members are nominated, and when it is made."""

    victims: tuple[Victim, ...]
    nominations: Mapping[str, str]
    when: RoundTime = "now"


class PreemptAlternative(Struct, frozen=True, rename="camel"):
    """One of several outcomes left open; `may_follow` is as in the report."""

    when: str
    verdict: Verdict
    victims: tuple[Victim, ...]
    nominations: Mapping[str, str]
    rounds: tuple[Round, ...]
    helps: bool | None
    reason: ReasonCode | CauseCode | None
    broken_gangs: tuple[BrokenGang, ...] = ()
    may_follow: tuple[Round, ...] = ()


class PreemptReport(Struct, frozen=True, rename="camel"):
    """What job preemption would do next, attempt by attempt, and whether it helps in the end.

    `message` is the verdict in one sentence. `rounds` holds all attempts, the first included; `may_follow` those that
    come besides in the worst case, while victims terminate: no object shows their order. `refusing_quota` is the quota
    that refuses the subject whatever is freed for it, empty where none does. `lone_pod` is set when a lone pod was
    asked for.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    gang: str
    gang_group: tuple[str, ...]
    priority: int | None
    eligible: bool
    reason: ReasonCode | CauseCode | None
    helps: bool | None
    victims: tuple[Victim, ...]
    broken_gangs: tuple[BrokenGang, ...]
    nominations: Mapping[str, str]
    rounds: tuple[Round, ...]
    message: str
    alternatives: tuple[PreemptAlternative, ...] = ()
    refusing_quota: str = ""
    lone_pod: bool = False
    may_follow: tuple[Round, ...] = ()


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
    `why-pending`; without pending pods yes, or unknown where pods were not read. `migrations` and `reservations` are
    those that concern it. `layer` is the one that holds it, empty where none does.
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
    layer: str = ""


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


Fate: TypeAlias = Literal["placed", "partly-placed", "pending", "gone", "unknown"]
"""What became of a preemptor: placed means that its minimum is on nodes, pending that it killed in vain so far."""

VictimState: TypeAlias = Literal["gone", "finished", "terminating", "running", "pending"]


class Evidence(Struct, frozen=True, rename="camel"):
    """A text that an answer rests on: of a `condition` or an `event`."""

    source: Literal["condition", "event"]
    text: str


class PreemptedPod(Struct, frozen=True, rename="camel"):
    """One pod that was preempted.

    when: RFC 3339. plugin: `job-preemption`, `elastic-quota`, `other` (ElasticQuota, Reservation or
    DefaultPreemption) or None where it is not told. preemptor: a gang, a gang group (ids joined with
    commas) or a pod. state: what became of the victim itself. member_by_name: whether of a pod that is
    gone only its name tells that it belonged to the gang.
    """

    pod: str
    node: str
    priority: int | None
    gang: str | None
    when: str
    plugin: str | None
    preemptor: str | None
    trigger_pod: str | None
    preemptor_priority: int | None
    preemptor_state: Fate
    evidence: tuple[Evidence, ...]
    state: VictimState
    member_by_name: bool = False


class Preemptor(Struct, frozen=True, rename="camel"):
    """Who preempted, and what came of it: `unknown` where its namespace could not be read.

    killed: its victims in this report.
    """

    name: str
    state: Fate
    priority: int | None
    bound: int
    pending: int
    min_member: int | None
    killed: int = 0


class WhyPreemptedReport(Struct, frozen=True, rename="camel"):
    """Who preempted a pod or members of a gang; `message` says why no pod is listed."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    asked: str
    is_pod: bool
    pods: tuple[PreemptedPod, ...]
    preemptors: tuple[Preemptor, ...]
    message: str = ""


StepAction: TypeAlias = Literal[
    "cordon", "requeue", "move-pod", "move-gang", "release-reservation", "uncordon", "wake-gang"
]


class PlanStep(Struct, frozen=True, rename="camel"):
    """One step of a plan: what is done with which object, and why.

    `node` is where it stands, and `to` where it goes: of a gang the nodes of all its pods. `pods` are those that
    restart, `gpu_hours` the work that they lose, which is their age times their GPUs. `command` does it, and may be
    empty.
    """

    action: StepAction
    object: str
    node: str
    to: str
    why: str
    pods: tuple[str, ...] = ()
    gpu_hours: float = 0
    command: str = ""


class PlanCost(Struct, frozen=True, rename="camel"):
    """What a plan costs: GPU-hours of lost work, pods that restart, gangs that do, pods that wait; weighed together.

    `budgets` is how many of the pods use up a disruption of a PodDisruptionBudget.
    """

    gpu_hours: float
    pods: int
    gangs: int
    waiting: int
    total: float
    budgets: int = 0


class PlanPoint(Struct, frozen=True, rename="camel"):
    """So many gangs of a shape fit at once after the first so many moves, and what these cost.

    `pods` restart and lose `gpu_hours` of work. `fewest` tells whether it is proven that nothing cheaper makes as much
    room.
    """

    gangs: int
    moves: int
    pods: int
    gpu_hours: float
    fewest: bool


class PlanReport(Struct, frozen=True, rename="camel"):
    """Which steps, in order, make room for a gang, or for as many of a shape as possible.

    The verdict is yes where the engine places the gang after them, or without any; no where no such plan is. `cheapest`
    tells whether that is proven: else the search ended before all was looked at. `nodes` are those that the gang
    takes at the end. `risks` say what the scheduler or others may do in between that upsets the plan. `message` is the
    answer in a sentence where there are no steps, or where gangs of a shape are counted: `curve` then says how many fit
    without any move, and after how many moves more of them do.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    gang: str
    pods: int
    steps: tuple[PlanStep, ...] = ()
    cost: PlanCost | None = None
    cheapest: bool = False
    nodes: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    cause: Cause | None = None
    message: str = ""
    curve: tuple[PlanPoint, ...] = ()
