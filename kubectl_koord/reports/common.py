"""What several answers carry: codes, warnings, ways out and their edits, disruption, migrations."""

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from msgspec import Struct

if TYPE_CHECKING:
    from kubectl_koord.model.snapshot import GapCode

CauseCode: TypeAlias = Literal[
    "owner-suspended",
    "owner-finished",
    "owner-deleting",
    "owner-waits",
    "queue-holds",
    "pods-not-created",
    "other-scheduler",
    "not-admitted",
    "mixed-schedulers",
    "no-scheduler",
    "being-deleted",
    "scheduling-gated",
    "no-podgroup",
    "gang-not-initialised",
    "too-few-pods",
    "group-member-missing",
    "group-member-too-few-pods",
    "groups-differ",
    "surplus-pods",
    "replacement-waits",
    "satisfied-by-earlier-pods",
    "no-topology",
    "broken-layer-chain",
    "unknown-layer",
    "quota",
    "invalid-request",
    "no-matching-reservation",
    "volumes-unbound",
    "claims-unallocated",
    "plan-not-executable",
    "no-node-in-layer",
    "insufficient-slots",
    "multiple-mismatch",
    "no-feasible-node",
    "insufficient-capacity",
    "resource-not-offered",
    "never-fits",
    "waiting-for-preemption",
    "waiting-for-retry",
    "not-running",
    "not-ready",
    "would-start",
    "not-readable",
    "not-evaluated",
    "contended",
    "several-outcomes",
    "not-followed",
]
"""Why a job does not run, in the order of its way: before the scheduler, what that looks at, and after it.

The last five: why nobody can tell."""

OF_LAYERS: frozenset[CauseCode] = frozenset((
    "owner-suspended", "owner-finished", "owner-deleting", "owner-waits", "queue-holds", "pods-not-created",
    "not-running", "not-ready",
))  # fmt: skip
"""Those of layers before and after the scheduler: their message goes on after the name of the job."""

WOULD_START: CauseCode = "would-start"
"""What lists show of what would be placed, in place of a cause."""

ReadingCode: TypeAlias = Literal["forbidden-list", "missing-list", "one-namespace-list", "unavailable-list"]

_Odd: TypeAlias = Literal[
    "mixed-schedulers",
    "being-deleted",
    "scheduling-gated",
    "foreign-gang-marker",
    "misspelt-key",
    "min-member-zero",
    "stale-phase",
    "stuck-representative",
    "groups-differ",
    "groups-unreadable",
    "topology-spec-unreadable",
    "differing-specs",
    "unknown-strategy",
    "unknown-layer",
    "topology-not-aware",
    "topology-manager-off",
    "index-not-honoured",
    "worst-fit",
    "satisfied-by-earlier-pods",
    "surplus-pods",
    "replacement-waits",
    "merged-domains",
    "outside-nodes",
    "virtual-domains",
    "stale-status",
    "slots-not-shown",
    "slots-incomplete",
    "shape-refused",
    "contended",
    "ignores-budgets",
    "overloaded-nodes",
    "not-ready-nodes",
    "wasted-victims",
    "victims-may-follow",
    "daemon-set-victims",
    "mixed-policies",
    "reservation-members",
    "reservation-preempts",
    "reservation-plugin-off",
    "reservation-overcommitted",
    "reservation-victims",
    "migration-breaks-gang",
    "replacement-leaves-domain",
    "migration-leaves-domain",
    "owners-forgotten",
    "cpus-forgotten",
    "doubly-booked",
    "device-not-booked",
    "cards-lost",
    "not-evaluated",
    "not-followed",
    "first-pod-decides",
    "group-attached-once",
    "lease-missing",
    "member-by-name",
    "assumed-config",
    "setting-not-evaluated",
    "kind-not-in-input",
    "kinds-skipped",
    "podgroup-assumed",
    "gpu-shared-not-offered",
    "priority-without-class",
    "other-scheduler",
    "suspended",
    "scheduled",
    "policy-never",
    "not-admitted",
]
_TreeFault: TypeAlias = Literal["no-topology", "topology-other-name", "broken-layer-chain", "layer-cycle"]
WarningCode: TypeAlias = _Odd | _TreeFault | ReadingCode
"""What is odd, or what an answer rests on, though it stops nobody."""

ReasonCode: TypeAlias = Literal[
    "not-needed",
    "preemption-disabled",
    "no-pending-pods",
    "policy-never",
    "terminating-victim",
    "no-victims",
    "not-helpful",
]
"""Why `preempt` names no victims; the causes that keep a gang from being tried are reasons, too."""

ActionCode: TypeAlias = Literal[
    "resume-owner",
    "recreate-owner",
    "see-owner",
    "free-queue",
    "see-pod",
    "see-logs",
    "recreate-pod",
    "touch-podgroup",
    "wake-gang",
    "set-scheduler-name",
    "see-scheduler",
    "see-finalizers",
    "ungate",
    "raise-resource-quota",
    "admit-pods",
    "create-podgroup",
    "set-min-available",
    "add-pods",
    "lower-minimum",
    "fix-groups",
    "set-match-policy",
    "create-topology",
    "set-topology-aware",
    "start-topology-manager",
    "fix-layers",
    "use-layer",
    "raise-priority",
    "wait-for-terminating",
    "wait-for-preemption",
    "wait-for-revoking",
    "label-nodes",
    "other-layers",
    "uncordon",
    "mend-node",
    "raise-threshold",
    "tolerate",
    "select-nodes",
    "relax-rule",
    "gather-wider",
    "prefer-gather",
    "smaller-multiple",
    "fewer-pods",
    "drop-surplus",
    "smaller-request",
    "raise-quota",
    "free-quota",
    "other-quota",
    "release-reservation",
    "supply-claims",
    "free-pods",
    "move-pod",
    "plan-moves",
    "place-nodes",
    "add-nodes",
    "start-publisher",
    "other-resource",
    "pair",
]
"""What helps."""

QuotaFindingCode: TypeAlias = Literal[
    "quota-same-name",
    "quota-same-namespace",
    "quota-no-parent",
    "quota-cycle",
    "quota-other-tree",
    "quota-parent-without-label",
    "quota-negative",
    "quota-min-above-max",
    "quota-max-below-used",
    "quota-unreadable",
    "quota-resources-differ",
    "quota-min-not-in-parent",
    "quota-min-above-parent",
    "quota-min-above-total",
    "quota-pods-in-parent",
    "quota-unknown",
    "quota-over-used",
    "quota-used-differs",
    "quota-runtime-differs",
]
"""What is wrong with quotas, most of which Koordinator's webhook would refuse; the scheduler checks none of it."""
GangFault: TypeAlias = Literal[
    "no-podgroup",
    "gang-not-initialised",
    "group-member-missing",
    "groups-differ",
    "groups-unreadable",
    "topology-spec-unreadable",
    "differing-specs",
    "unknown-layer",
    "unknown-strategy",
    "min-member-zero",
    "stale-phase",
    "mixed-schedulers",
    "foreign-gang-marker",
    "misspelt-key",
    "index-not-honoured",
]
_OfTopology: TypeAlias = Literal["merged-domains", "outside-nodes", "virtual-domains", "stale-status"]

DoctorCode: TypeAlias = (
    Literal[
        "deployment-missing",
        "deployment-unavailable",
        "koordlet-not-ready",
        "version-unsupported",
        "version-newer",
        "versions-differ",
        "no-scheduler",
        "lease-missing",
        "crd-missing",
        "webhook-missing",
        "webhook-without-ca",
        "priority-class-missing",
        "priority-class-value",
        "config-unreadable",
        "config-elsewhere",
        "plugin-not-enabled",
        "reservation-not-reserved",
        "two-preemptions",
        "no-job-preemption",
        "unknown-setting",
        "invalid-setting",
        "topology-manager-off",
        "topology-not-aware",
        "layers-reversed",
        "placeholder-label",
        "one-node-domains",
        "renamed-labels",
        "selector-outside-tree",
        "device-empty",
        "device-missing",
        "device-unhealthy",
        "device-not-booked",
        "doubly-booked",
        "cards-lost",
        "resource-not-offered",
        "numa-policy-unknown",
        "numa-policy-ignored",
        "threshold-never-met",
        "descheduler-unreadable",
        "descheduler-settings",
        "descheduler-breaks-gangs",
        "rbac-missing",
        "not-checked",
    ]
    | _TreeFault
    | _OfTopology
    | GangFault
)
"""What `doctor` finds wrong with the installation, its configuration, the topology, devices and gangs."""

DifferenceCode: TypeAlias = Literal[
    "waiting-in-permit",
    "assumed-pods",
    "deleted-pods-linger",
    "reservation-counts",
    "pods-not-known",
    "satisfied-flag-lost",
    "satisfied-flag-kept",
    "settings-kept",
    "gone-but-known",
    "not-known",
    "runtime-lag",
    "books-lost",
    "unexplained",
]
"""Why the scheduler remembers something else than the objects say."""

OF_GAP: "dict[GapCode, ReadingCode]" = {
    "forbidden": "forbidden-list",
    "missing": "missing-list",
    "one-namespace": "one-namespace-list",
    "unavailable": "unavailable-list",
}


def members(codes: object) -> tuple[str, ...]:
    """Return the codes of one of the types above, in their order, each once."""
    found: dict[str, None] = {}
    for part in get_args(codes):
        found.update(dict.fromkeys([part] if isinstance(part, str) else members(part)))
    return tuple(found)


CAUSES = members(CauseCode)
GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Causes", CAUSES),
    ("Reasons of preempt", members(ReasonCode)),
    (
        "Warnings",
        tuple(code for code in members(WarningCode) if code not in {*members(CauseCode), *members(ReasonCode)}),
    ),
    ("Ways out", members(ActionCode)),
    ("Findings about quotas", members(QuotaFindingCode)),
    ("Differences from the scheduler", members(DifferenceCode)),
    (
        "Findings of doctor",
        tuple(code for code in members(DoctorCode) if code not in {*members(CauseCode), *members(WarningCode)}),
    ),
)
"""All codes, each under one heading."""


Verdict: TypeAlias = Literal["yes", "no", "unknown"]


class Notice(Struct, frozen=True, rename="camel"):
    """A warning: a stable code and one sentence."""

    code: WarningCode
    message: str


class Basis(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What an answer rests on: whose behaviour, how that was found out, and the moment of reading.

    `context` and `cluster` are the names that the kubeconfig has for what was read, where it has some. `commands_for`
    says what no command can say itself: for which cluster those of kubectl are.
    """

    koordinator_version: str
    version_from: str
    moment: str
    source: str
    context: str = ""
    cluster: str = ""
    commands_for: str = ""


class DomainName(Struct, frozen=True, rename="camel"):
    """The identity of a topology domain."""

    layer: str
    name: str


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


class MendNode(_Edit, frozen=True, tag="mend-node"):
    """A node is ready, reachable and fit again, with all its cards; pods that could not end there have ended."""

    node: str


class Threshold(Struct, frozen=True):
    """How many percent of a resource may be used."""

    resource: str
    percent: int


class SetThresholds(_Edit, frozen=True, tag="set-thresholds"):
    """A node has these thresholds of load for its usage as a whole."""

    node: str
    percent: tuple[Threshold, ...]


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


class SelectNodes(_Edit, frozen=True, tag="select-nodes", rename="camel"):
    """The pods ask for another label where their nodeSelector or required node affinity asks for `key=value`."""

    pods: tuple[str, ...]
    key: str
    value: str
    to_key: str
    to_value: str


OwnRule: TypeAlias = Literal["host-ports", "pod-anti-affinity", "topology-spread"]


class RelaxRule(_Edit, frozen=True, tag="relax-rule"):
    """The pods take no host ports, or only prefer what they required of where others are."""

    pods: tuple[str, ...]
    rule: OwnRule


class SetRequest(_Edit, frozen=True, tag="set-request"):
    """The pods request no more than this of a resource, summed over their containers; if `limits`, they use no more."""

    pods: tuple[str, ...]
    resource: str
    amount: str
    limits: bool = False


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


class SetQuota(_Edit, frozen=True, tag="set-quota"):
    """An ElasticQuota (`namespace/name`) has another `min` or `max` of a resource that it has one of."""

    quota: str
    field: Literal["min", "max"]
    resource: str
    amount: str


class UseQuota(_Edit, frozen=True, tag="use-quota"):
    """Pending pods count against another quota, by their label."""

    pods: tuple[str, ...]
    quota: str


class ReleaseReservation(_Edit, frozen=True, tag="release-reservation"):
    """A Reservation is gone; the pods that draw on it keep their places."""

    reservation: str


class NodeLabel(Struct, frozen=True, rename="camel"):
    """A label and its value."""

    key: str
    value: str


class LabelNode(_Edit, frozen=True, tag="label-node"):
    """A node has these labels, too."""

    node: str
    labels: tuple[NodeLabel, ...]


class LayerKeys(Struct, frozen=True, rename="camel"):
    """A layer of a topology, and the keys of its labels."""

    layer: str
    label_keys: tuple[str, ...]


class SetLayers(_Edit, frozen=True, tag="set-layers"):
    """The ClusterNetworkTopology has these layers, from the top to the nodes."""

    layers: tuple[LayerKeys, ...]


class SupplyClaims(_Edit, frozen=True, tag="supply-claims"):
    """Claims (`namespace/name`) are bound to volumes, or have devices allocated, that any node can reach."""

    volume_claims: tuple[str, ...] = ()
    resource_claims: tuple[str, ...] = ()


Edit: TypeAlias = (
    DeletePod
    | MendNode
    | MovePod
    | Uncordon
    | AddNode
    | Tolerate
    | SelectNodes
    | RelaxRule
    | SetRequest
    | SetThresholds
    | SetTopology
    | SetMinimum
    | CreatePodGroup
    | SetQuota
    | UseQuota
    | ReleaseReservation
    | LabelNode
    | SetLayers
    | SupplyClaims
)


class Migration(Struct, frozen=True, rename="camel"):
    """A PodMigrationJob that is not over.

    `pod` is the one that it moves away, which is on `node` as long as it is there; `gang` is its gang. `reservation`
    is for the pod that is to replace it, and holds room on node `to`; `replacement` is that pod. `breaks` tells whether
    the gang falls below its minimum when all of its pods that are being moved are evicted. `leaves` is the domain in
    which the gang must stay together, where node `to` is outside it.
    """

    job: str
    pod: str
    phase: str
    mode: str
    paused: bool
    status: str
    reason: str
    message: str
    node: str | None = None
    gang: str | None = None
    reservation: str | None = None
    to: str | None = None
    replacement: str | None = None
    breaks: bool = False
    leaves: DomainName | None = None


class GangReservation(Struct, frozen=True, rename="camel"):
    """A Reservation that concerns a gang, or a pod without one.

    `node` is where it holds room, None for one that is still to be placed. `drawing` are the pods that draw on it,
    `may_draw` how many pending ones may. `is_member` tells that it counts as a pod of the gang, `job` names the
    PodMigrationJob that it was made for.
    """

    reservation: str
    node: str | None
    drawing: tuple[str, ...] = ()
    may_draw: int = 0
    is_member: bool = False
    job: str | None = None
    expires: str | None = None


class ReleasedReservation(Struct, frozen=True, rename="camel"):
    """A Reservation whose end a way out needs.

    owners: for whom it is. unused: what they have left of it, by resource. drawing: the running pods that draw on it
    and keep their places. waiting: the pending pods that may draw on it, and lose it. expires: RFC 3339.
    """

    reservation: str
    node: str
    owners: tuple[str, ...]
    unused: dict[str, str]
    expires: str | None
    drawing: tuple[str, ...]
    waiting: tuple[str, ...]


class WayOut(Struct, frozen=True, rename="camel"):
    """One proven way out: what to do in one sentence, the command to paste (may be empty), the change as data.

    `freed` are the running pods that it takes away, `broken_gangs` the gangs that fall below their minimum by it,
    `released` the Reservations.
    """

    action: ActionCode
    message: str
    command: str = ""
    edits: tuple[Edit, ...] = ()
    freed: tuple[FreedPod, ...] = ()
    broken_gangs: tuple[BrokenGang, ...] = ()
    released: tuple[ReleasedReservation, ...] = ()
