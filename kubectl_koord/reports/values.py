"""The answers as values. Field names are those of the JSON documents, in snake case.

Names of pods and gangs are `namespace/name`, nodes are plain names, amounts whole numbers.
"""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.codes import ActionCode, CauseCode, ReasonCode, WarningCode

Verdict: TypeAlias = Literal["yes", "no", "unknown"]


class Notice(Struct, frozen=True, rename="camel"):
    """A warning: a stable code and one sentence."""

    code: WarningCode
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


class Amount(Struct, frozen=True, rename="camel"):
    """What is free of a resource and what there is; `free` is None where pods went unseen."""

    free: int | None
    total: int


class NodeRow(Struct, frozen=True, rename="camel"):
    """One node of the tree with what is free of the resource that the report counts.

    `state` is empty, `cordoned` or `not ready`; `offer_slots` and `reason` only with a gang. Of a node that is
    out nothing counts as free: `withheld` is what would. `others` are further resources, by name.
    """

    node: str
    parent: DomainName
    free: int | None
    total: int
    state: str = ""
    offer_slots: int | None = None
    reason: str = ""
    withheld: int | None = 0
    others: Mapping[str, Amount] = {}


class DomainRow(Struct, frozen=True, rename="camel"):
    """One domain above the nodes, in pre-order; `parent` is None for the root, `free` where pods went unseen.

    `withheld` is what would be free on nodes that are cordoned or not ready: `free` is without it. `others` are
    further resources, by name.
    """

    layer: str
    name: str
    parent: DomainName | None
    nodes: int
    free: int | None = 0
    total: int = 0
    cordoned: int = 0
    not_ready: int = 0
    offer_slots: int | None = None
    withheld: int | None = 0
    others: Mapping[str, Amount] = {}


class OutsideNode(Struct, frozen=True, rename="camel"):
    """A node that is not in the tree, and the label keys that it lacks."""

    node: str
    missing: tuple[str, ...]


class TopologyReport(Struct, frozen=True, rename="camel"):
    """The topology tree as the scheduler builds it, and what is wrong with it.

    `resource` names what `free` and `total` count: `nvidia.com/gpu`, `koordinator.sh/gpu-core` in hundredths of
    a GPU, or `cpu` in milli-CPU. `resources` are all that are counted, that one first. `message` names what
    could not be read where that leaves the tree, or the slots of a gang, unknown.
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
    message: str = ""
    resources: tuple[str, ...] = ()


# --- why-pending ----------------------------------------------------------------------------


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


class _Edit(Struct, frozen=True, rename="camel", tag_field="op"):
    """One change to the objects of a cluster, named by `op` in JSON."""


class DeletePod(_Edit, frozen=True, tag="delete-pod"):
    """A pod is gone; `node` is empty for one that waits."""

    pod: str
    node: str = ""


class MovePod(_Edit, frozen=True, tag="move-pod"):
    """A running pod is on another node."""

    pod: str
    node: str
    to: str


class Uncordon(_Edit, frozen=True, tag="uncordon"):
    """A node is schedulable again."""

    node: str


class AddNode(_Edit, frozen=True, tag="add-node"):
    """There is one more node, empty, like another in labels, taints and size."""

    node: str
    like: str


class Tolerate(_Edit, frozen=True, tag="tolerate"):
    """The pods tolerate one more taint."""

    pods: tuple[str, ...]
    key: str
    value: str
    effect: str


class SetRequest(_Edit, frozen=True, tag="set-request"):
    """The pods request no more than this of a resource, summed over their containers."""

    pods: tuple[str, ...]
    resource: str
    amount: str


class SetTopology(_Edit, frozen=True, tag="set-topology"):
    """A gang has another topology spec; `defined_by` tells where it stands: `PodGroup` or `pods`."""

    gang: str
    defined_by: str
    spec: str


class SetMinimum(_Edit, frozen=True, tag="set-minimum"):
    """A gang has another minimum; `defined_by` tells where it stands."""

    gang: str
    defined_by: str
    minimum: int


class CreatePodGroup(_Edit, frozen=True, tag="create-pod-group"):
    """There is a PodGroup for a gang; `groups` are the ids of its gang group, empty for none."""

    gang: str
    minimum: int
    groups: tuple[str, ...] = ()


Edit: TypeAlias = (
    DeletePod | MovePod | Uncordon | AddNode | Tolerate | SetRequest | SetTopology | SetMinimum | CreatePodGroup
)


class BudgetHit(Struct, frozen=True, rename="camel"):
    """A PodDisruptionBudget that covers a victim, and whether the kill would violate it."""

    name: str
    violated: bool


class BrokenGang(Struct, frozen=True, rename="camel"):
    """A running gang that falls below its minimum."""

    gang: str
    bound: int
    min_member: int
    left: int


class FreedPod(Struct, frozen=True, rename="camel"):
    """One running pod whose place a way out needs.

    protected: job preemption must spare it. evictable: False where the API server would refuse to evict it
    now, as a budget does not allow it or several cover it. budgets_read: False where it could not be seen
    whether a budget covers it. breaks: the running gang that falls below its minimum.
    """

    pod: str
    node: str
    priority: int
    gang: str | None
    owner: str | None
    protected: bool
    pod_disruption_budget: BudgetHit | None
    budgets_read: bool
    evictable: bool
    breaks: str | None


class WayOut(Struct, frozen=True, rename="camel"):
    """One proven way out: what to do in one sentence, the command to paste (may be empty), the change as data.

    `freed` are the running pods that it takes away, `broken_gangs` the gangs that fall below their minimum by it.
    """

    action: ActionCode
    message: str
    command: str = ""
    edits: tuple[Edit, ...] = ()
    freed: tuple[FreedPod, ...] = ()
    broken_gangs: tuple[BrokenGang, ...] = ()


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


class Funnel(Struct, frozen=True, rename="camel"):
    """How many nodes are left after each reason took its share; `nodes` is all of them.

    `stages` goes through the filters in their order: a wording and how many nodes pass up to there.
    """

    nodes: int
    lost: tuple[tuple[str, int], ...]
    left: int
    stages: tuple[tuple[str, int], ...] = ()


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
    `no_way_out` tells why `unblock` is empty where the verdict is no; `next_steps` are what the cause
    calls for and what no engine can prove to be enough. `nodes` is there where it was asked for.
    `waiting` is what the pending pods ask for together, spelled as quantities, `waiting_for` what counts
    most of it in words, `waiting_since` when the first of them was made.
    `node` is where a lone pod is that is not pending, empty for a finished one.
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
    next_steps: tuple[WayOut, ...] = ()
    waiting: Mapping[str, str] = {}
    waiting_since: str = ""
    waiting_for: str = ""
    nodes: tuple[NodeReason, ...] = ()
    node: str = ""


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

    `message` names what could not be read where the list may therefore lack some.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    items: tuple[WhyReport, ...]
    causes: tuple[CauseGroup, ...] = ()
    contending: tuple[Contention, ...] = ()
    message: str = ""


# --- preempt --------------------------------------------------------------------------------


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
    reason: ReasonCode | None
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
    reason: ReasonCode | CauseCode | None
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


class VerdictSummary(Struct, frozen=True, rename="camel"):
    """What why-pending answers: verdict and cause code."""

    verdict: Verdict
    cause: CauseCode | None
    message: str = ""


class Effect(Struct, frozen=True, rename="camel"):
    """The answer of why-pending before and after the change; `worse` by its verdict, or of two noes by its cause."""

    before: VerdictSummary
    after: VerdictSummary
    worse: bool = False


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


# --- explain --------------------------------------------------------------------------------


class Explanation(Struct, frozen=True, rename="camel"):
    """The page of one code: what it means, how the scheduler comes to it, how to see it, what to do.

    `used_as` names what carries the code, such as `cause`; `see` are commands to paste.
    """

    verdict: Verdict
    code: str
    used_as: tuple[str, ...]
    title: str
    text: str
    how: str
    see: tuple[str, ...]
    remedy: str


class CodeRow(Struct, frozen=True, rename="camel"):
    """One line of the list of codes; `group` is the heading it stands under."""

    group: str
    code: str
    title: str


class Explanations(Struct, frozen=True, rename="camel"):
    """Every code with its title, grouped."""

    verdict: Verdict
    items: tuple[CodeRow, ...]
