"""The answers of `topo`, `node`, `domain`, `devices` and `quota`."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.reports.common import (
    Basis,
    BrokenGang,
    CauseCode,
    DomainName,
    FreedPod,
    Migration,
    Notice,
    QuotaFindingCode,
    Verdict,
)

DeviceObject: TypeAlias = Literal["present", "empty", "missing"]


class Holder(Struct, frozen=True, rename="camel"):
    """Who has a device or a part of it; `share` is in hundredths of the device.

    kind: `pod` (the name is `namespace/name`), or `reservation` with what its pods have left of it.
    """

    kind: Literal["pod", "reservation"]
    name: str
    share: int


class Card(Struct, frozen=True, rename="camel"):
    """One device of a node.

    `total` is what its Device object gives it, `free` what the scheduler can still give away; an unhealthy one has
    nothing free. `free` is None where pods or Reservations could not be read, `pods` and `holders` where pods could
    not. `share` is the part of it that is free, in hundredths. `numa` and `pcie` are None where no topology is told.
    """

    type: str
    minor: int
    id: str
    healthy: bool
    total: Mapping[str, int]
    free: Mapping[str, int] | None
    pods: tuple[str, ...] | None
    share: int | None = None
    holders: tuple[Holder, ...] | None = ()
    numa: int | None = None
    pcie: str | None = None


class UnlistedCard(Struct, frozen=True, rename="camel"):
    """A device that pods have by their annotations, and that no Device object lists."""

    type: str
    minor: int
    pods: tuple[str, ...]


class NodeCards(Struct, frozen=True, rename="camel"):
    """The devices of one node.

    `device` tells whether there is a Device object of the node, and whether it lists any device. `state` is empty,
    `cordoned` or `not ready`. `parent` is the domain right above it, None outside the tree. `accelerators` are the
    resources of its allocatable that count accelerators.
    """

    node: str
    parent: DomainName | None
    state: str
    device: DeviceObject
    cards: tuple[Card, ...]
    accelerators: tuple[str, ...] = ()
    unlisted: tuple[UnlistedCard, ...] = ()


class DeviceRoom(Struct, frozen=True, rename="camel"):
    """How many pods of so many whole devices each fit, as devices alone go."""

    cards: int
    pods: int


class TypeTotal(Struct, frozen=True, rename="camel"):
    """The devices of one type on some nodes.

    `free` are those that are healthy and whole, on nodes that can be used; `withheld` the same on nodes that are
    cordoned or not ready. `shared` are those in use of which a share is free, `shares` what is free of them together,
    in hundredths. All four are None where pods or Reservations could not be read; then there is no `room`. `unbooked`
    is what running pods have of them by their requests, in hundredths, that the scheduler does not know to be taken.
    """

    type: str
    cards: int
    unhealthy: int
    free: int | None
    withheld: int | None
    shared: int | None
    shares: int | None
    room: tuple[DeviceRoom, ...] = ()
    unbooked: int = 0


class DomainCards(Struct, frozen=True, rename="camel"):
    """What there is in one domain of the topology tree, of its `nodes` nodes."""

    layer: str
    name: str
    parent: DomainName | None
    nodes: int
    devices: tuple[TypeTotal, ...]


class DevicesReport(Struct, frozen=True, rename="camel"):
    """The single devices of nodes: what is free of each, and who has the rest.

    `nodes` are those with devices, and those that were asked for by name; `without_devices` counts the others among
    those that were looked at. `devices` is all of it by type; `domains` are in pre-order, none where nodes were asked
    for by name, or where there is no tree. `message` names what could not be read where that leaves it unknown.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    nodes: tuple[NodeCards, ...]
    devices: tuple[TypeTotal, ...] = ()
    domains: tuple[DomainCards, ...] = ()
    without_devices: int = 0
    asked: tuple[str, ...] = ()
    domain: str = ""
    message: str = ""


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

    `state` is empty, `cordoned` or `not ready`; `taints` are as `kubectl taint` writes them. `cards` has a sign for
    each card that its Device lists, by type.
    """

    node: str
    state: str = ""
    taints: tuple[str, ...] = ()
    domains: tuple[DomainName, ...] = ()
    cards: Mapping[str, str] = {}


class DomainReport(Place, frozen=True, rename="camel", kw_only=True):
    """One domain of the topology tree; `nodes` are those below it, in name order."""

    layer: str
    name: str
    parent: DomainName | None
    nodes: tuple[str, ...] = ()
    cordoned: tuple[str, ...] = ()
    not_ready: tuple[str, ...] = ()


Spelled: TypeAlias = Mapping[str, str]
"""Amounts by resource, as exact quantities."""
Severity: TypeAlias = Literal["error", "warning", "info"]


class Share(Struct, frozen=True, rename="camel"):
    """What a quota has of others, or others of it, of one resource: how much, and which of them.

    `exact` is false where it is the most that it can be: several leave more than is taken. `of_it` is how much of the
    amount these quotas can give, empty for all of it.
    """

    resource: str
    amount: str
    quotas: tuple[str, ...]
    exact: bool = True
    of_it: str = ""


class Hold(Struct, frozen=True, rename="camel"):
    """The pods of a gang (or one without a gang) that a quota refuses, and what they ask for together.

    `resources` are those of which the quota has too little, `of` is how many pods of the gang wait in it.
    """

    gang: str
    pods: tuple[str, ...]
    of: int
    resources: tuple[str, ...]
    requests: Spelled
    lone_pod: bool = False


class HeldBack(Struct, frozen=True, rename="camel"):
    """What one quota holds back: the gangs, and what their refused pods ask for together."""

    quota: str
    requests: Spelled
    gangs: tuple[Hold, ...]
    waiting_for: str = ""


class QuotaPod(Struct, frozen=True, rename="camel"):
    """A pod that counts against a quota: where it is, or what it lacks there; empty where nothing is lacking."""

    pod: str
    node: str
    priority: int
    requests: Spelled
    gang: str = ""
    preemptible: bool = True
    lacks: str = ""


class QuotaRow(Struct, frozen=True, rename="camel"):
    """One quota. What is None could not be computed, as pods or nodes could not be read.

    `namespace` is empty for a built-in quota that is no object. `sharedWeight` is by what quotas share.
    `guaranteed` is its minimum as it is kept, scaled down where minimums are too much. `limit` is what its pods are
    held against, None for no limit. `lends` is whether it lends at all, `lent` what others use of its minimum,
    `borrowed` what it uses above that, and of whom. `fault` tells why it could not be computed. `total` is
    what the quotas below a root quota share.
    """

    name: str
    parent: str
    tree: str
    is_parent: bool
    min: Spelled
    max: Spelled
    used: Spelled | None
    request: Spelled | None
    runtime: Spelled | None
    shared_weight: Spelled
    non_preemptible_used: Spelled | None
    children: tuple[str, ...]
    namespace: str = ""
    depth: int = 0
    built_in: bool = False
    lends: bool = True
    guaranteed: Spelled | None = None
    limit: Spelled | None = None
    lent: tuple[Share, ...] = ()
    borrowed: tuple[Share, ...] = ()
    total: Spelled | None = None
    fault: str = ""


class QuotaFinding(Struct, frozen=True, rename="camel"):
    """Something that is wrong with a quota: which, the numbers, and what to do."""

    code: QuotaFindingCode
    severity: Severity
    object: str
    message: str
    remedy: str


class Eviction(Struct, frozen=True, rename="camel"):
    """The pods that the over-use controller would evict from a quota that uses more than its runtime."""

    quota: str
    resources: tuple[str, ...]
    pods: tuple[QuotaPod, ...]


class OverUse(Struct, frozen=True, rename="camel"):
    """Whether the over-use controller runs, and whom it would evict, or would if it ran."""

    on: bool
    message: str
    evicts: tuple[Eviction, ...] = ()


class ChainLevel(Struct, frozen=True, rename="camel"):
    """One quota from a gang's own upwards: what it may use and uses of the resource of which it has the least room.

    `members` is how many pods of the gang's shape it has room for, None where it limits nothing they ask for;
    `checked` whether the scheduler holds them against it.
    """

    quota: str
    resource: str
    limit: str
    used: str
    requested: str
    members: int | None
    checked: bool


class Headroom(Struct, frozen=True, rename="camel"):
    """How many of a gang's pending pods its quotas admit, one after the other, and what stops the next.

    `chain` goes from the quota of its first pod upwards. `admits` is None where it is open.
    """

    gang: str
    pods: int
    admits: int | None
    message: str
    stopped_by: str = ""
    resources: tuple[str, ...] = ()
    chain: tuple[ChainLevel, ...] = ()


class QuotaTreeReport(Struct, frozen=True, rename="camel"):
    """The quotas as the scheduler sees them, in pre-order of their trees.

    `resource` is what tables count. `held_back` is what they keep from being placed, `pods` are those of the one
    quota that was asked for by its name, the biggest first. `message` is the verdict in one sentence.
    """

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    quotas: tuple[QuotaRow, ...]
    message: str
    asked: str = ""
    resource: str = "cpu"
    held_back: tuple[HeldBack, ...] = ()
    findings: tuple[QuotaFinding, ...] = ()
    over_use: OverUse | None = None
    headroom: Headroom | None = None
    pods: tuple[QuotaPod, ...] = ()


class Amount(Struct, frozen=True, rename="camel"):
    """What is free of a resource and what there is; `free` is None where pods went unseen."""

    free: int | None
    total: int


class NodeRow(Struct, frozen=True, rename="camel"):
    """One node of the tree with what is free of the resource that the report counts.

    `state` is empty, `cordoned` or `not ready`; `offer_slots` and `reason` only with a gang. Of a node that is
    out nothing counts as free: `withheld` is what would. `others` are further resources, by name; `whole` is as of
    domains, and `cards` has then a sign for each card that its Device lists, by type.
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
    whole: int | None = None
    shape_pods: int | None = None
    cards: Mapping[str, str] = {}


class DomainRow(Struct, frozen=True, rename="camel"):
    """One domain above the nodes, in pre-order; `parent` is None for the root, `free` where pods went unseen.

    `withheld` is what would be free on nodes that are cordoned or not ready: `free` is without it. `others` are
    further resources, by name. `whole` counts cards that are whole and free as Device objects say, on nodes that can be
    used; None where that was not asked for, or could not be read. `shape_pods` is how many pods of the shape that was
    asked for it takes, `shape_gangs` how many gangs of them that gather in it.
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
    whole: int | None = None
    shape_pods: int | None = None
    shape_gangs: int | None = None


class OutsideNode(Struct, frozen=True, rename="camel"):
    """A node that is not in the tree, and the label keys that it lacks."""

    node: str
    missing: tuple[str, ...]


class TopologyReport(Struct, frozen=True, rename="camel"):
    """The topology tree as the scheduler builds it, and what is wrong with it.

    `resource` names what `free` and `total` count: `nvidia.com/gpu`, `koordinator.sh/gpu-core` in hundredths of
    a GPU, or `cpu` in milli-CPU. `resources` are all that are counted, that one first. `whole` is whether
    whole cards are counted. `message` names what could not be read where that leaves the tree, or the slots of a gang,
    unknown. `no_slots` is why no slots are counted for a gang that has pending pods. `headroom` is how many of the
    gang's pods its quotas admit, None where none limits it. `shape` is that which was asked for, `shape_requests` what
    a pod of it requests, as quantities, `shape_members` how many make a gang, `shape_refusal` why no node takes any.
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
    whole: bool = False
    headroom: Headroom | None = None
    shape: str = ""
    shape_requests: Mapping[str, str] = {}
    shape_members: int | None = None
    shape_refusal: str = ""
    no_slots: str = ""
