"""The answers as values. Field names are those of the JSON documents, in snake case.

Names of pods and gangs are `namespace/name`, nodes are plain names, amounts whole numbers.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Verdict: TypeAlias = Literal["yes", "no", "unknown"]


class Notice(Struct, frozen=True, rename="camel"):
    """A warning: a stable code and one sentence."""

    code: str
    message: str


class Basis(Struct, frozen=True, rename="camel"):
    """What an answer rests on: whose behaviour, how that was found out, and the moment of reading."""

    koordinator_version: str
    version_from: str
    moment: str
    source: str


class DomainName(Struct, frozen=True, rename="camel"):
    """The identity of a topology domain."""

    layer: str
    name: str


# --- topo -----------------------------------------------------------------------------------


class NodeRow(Struct, frozen=True, rename="camel"):
    """One node of the tree with what is free of the resource that the report counts.

    `state` is empty, `cordoned` or `not ready`; `offer_slots` and `reason` only with a gang.
    """

    node: str
    parent: DomainName
    free: int | None
    total: int
    state: str = ""
    offer_slots: int | None = None
    reason: str = ""


class DomainRow(Struct, frozen=True, rename="camel"):
    """One domain above the nodes, in pre-order; `parent` is None for the root, `free` where pods went unseen."""

    layer: str
    name: str
    parent: DomainName | None
    nodes: int
    free: int | None = 0
    total: int = 0
    cordoned: int = 0
    not_ready: int = 0
    offer_slots: int | None = None


class OutsideNode(Struct, frozen=True, rename="camel"):
    """A node that is not in the tree, and the label keys that it lacks."""

    node: str
    missing: tuple[str, ...]


class TopologyReport(Struct, frozen=True, rename="camel"):
    """The topology tree as the scheduler builds it, and what is wrong with it.

    `resource` names what `free` and `total` count (`nvidia.com/gpu`, or `cpu` in milli-CPU).
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    layers: tuple[str, ...]
    domains: tuple[DomainRow, ...]
    outside: tuple[OutsideNode, ...]
    nodes: tuple[NodeRow, ...]
    resource: str
    gang: str | None = None
    desired_offer_slot: int | None = None


# --- why-pending ----------------------------------------------------------------------------


class SlotRow(Struct, frozen=True, rename="camel"):
    """One domain of the start set: its slots, how many are missing, and the main obstacle in words."""

    layer: str
    name: str
    offer_slots: int
    short: int
    in_the_way: str = ""


class Cause(Struct, frozen=True, rename="camel"):
    """The one root cause: a stable code, one sentence, the pods it is about."""

    code: str
    message: str
    pods: tuple[str, ...] = ()


class WayOut(Struct, frozen=True, rename="camel"):
    """One proven way out: what to do in one sentence, and the command to paste (may be empty)."""

    action: str
    message: str
    command: str = ""


class SaidText(Struct, frozen=True, rename="camel"):
    """A text of the scheduler as it is, and the pods that carry it."""

    message: str
    pods: tuple[str, ...]


class SchedulerSays(Struct, frozen=True, rename="camel"):
    """The condition found on the pods; `agrees` tells whether it still holds, None if that is open.

    since: the first failure; last_seen: the newest event about it, None where there is none.
    pod: whose words these are. reads: what was understood, in one sentence; now: what is reckoned
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


class Funnel(Struct, frozen=True, rename="camel"):
    """How many nodes are left after each reason took its share; `nodes` is all of them."""

    nodes: int
    lost: tuple[tuple[str, int], ...]
    left: int


class WhyAlternative(Struct, frozen=True, rename="camel"):
    """One of several outcomes that what the API shows leaves open; `when` says what must be so."""

    when: str
    verdict: Verdict
    domains: tuple[SlotRow, ...] = ()
    placement: Mapping[str, str] | None = None
    cause: Cause | None = None


class WhyReport(Struct, frozen=True, rename="camel"):
    """Why one gang (or gang group, or lone pod) is pending, or that it would be placed.

    `placement` maps `ns/pod` to a node when a topology gang would be placed now. `cause` is None
    when the verdict is yes. `asked_pod` is set when a lone pod was asked for.
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
    also_wrong: tuple[str, ...]
    unblock: tuple[WayOut, ...]
    scheduler_says: SchedulerSays | None
    alternatives: tuple[WhyAlternative, ...] = ()
    funnel: Funnel | None = None
    requests: str = ""
    lone_pod: bool = False


class PendingGangsReport(Struct, frozen=True, rename="camel"):
    """Every gang (or lone pod) with pending pods, one WhyReport each."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    items: tuple[WhyReport, ...]


# --- preempt --------------------------------------------------------------------------------


class BudgetHit(Struct, frozen=True, rename="camel"):
    """A PodDisruptionBudget that covers a victim, and whether the kill would violate it."""

    name: str
    violated: bool


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


class BrokenGang(Struct, frozen=True, rename="camel"):
    """A running gang that falls below its minimum."""

    gang: str
    bound: int
    min_member: int
    left: int


class Round(Struct, frozen=True, rename="camel"):
    """One attempt: whom it kills and where the members are nominated."""

    victims: tuple[Victim, ...]
    nominations: Mapping[str, str]


class PreemptAlternative(Struct, frozen=True, rename="camel"):
    """One of several outcomes left open."""

    when: str
    verdict: Verdict
    victims: tuple[Victim, ...]
    nominations: Mapping[str, str]
    rounds: tuple[Round, ...]
    helps: bool | None
    reason: str | None
    broken_gangs: tuple[BrokenGang, ...] = ()


class PreemptReport(Struct, frozen=True, rename="camel"):
    """What job preemption would do next, attempt by attempt, and whether it helps in the end.

    `message` is the verdict in one sentence. `rounds` holds all attempts, the first included.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    gang: str
    gang_group: tuple[str, ...]
    priority: int | None
    eligible: bool
    reason: str | None
    helps: bool | None
    victims: tuple[Victim, ...]
    broken_gangs: tuple[BrokenGang, ...]
    nominations: Mapping[str, str]
    rounds: tuple[Round, ...]
    message: str
    alternatives: tuple[PreemptAlternative, ...] = ()


# --- why-preempted --------------------------------------------------------------------------


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


# --- annotate -------------------------------------------------------------------------------


class ObjectName(Struct, frozen=True, rename="camel"):
    """Which object."""

    kind: str
    namespace: str
    name: str


class Change(Struct, frozen=True, rename="camel"):
    """One object before and after (only the fields that change, dotted), and the merge patch."""

    object: ObjectName
    before: Mapping[str, str | int | None]
    after: Mapping[str, str | int | None]
    patch: Mapping[str, Any]
    resource_version: str


class Outcome(Struct, frozen=True, rename="camel"):
    """What why-pending answers: verdict and cause code."""

    verdict: Verdict
    cause: str | None
    message: str = ""


class Effect(Struct, frozen=True, rename="camel"):
    """The answer of why-pending before and after the change."""

    before: Outcome
    after: Outcome


class ChangePlan(Struct, frozen=True, rename="camel"):
    """Planned writes, their effect, and what became of them (`dry_run` is none, client or server)."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    changes: tuple[Change, ...]
    applied: bool
    effect: Effect | None
    dry_run: str = "none"
    message: str = ""
