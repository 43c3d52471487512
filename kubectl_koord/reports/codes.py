"""Every code that an answer may carry. A code outside these types does not type-check; `manual` has a page for each."""

from typing import Literal, TypeAlias, get_args

from kubectl_koord.engine.preemption.preempt import Refusal
from kubectl_koord.engine.tree import TreeFaultCode
from kubectl_koord.model.snapshot import GapCode

CauseCode: TypeAlias = Literal[
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
    "would-start",
    "not-readable",
    "not-evaluated",
    "contended",
    "several-outcomes",
    "not-followed",
]
"""Why a gang is pending, in the order in which the scheduler looks; the last five: why nobody can tell."""

WOULD_START: CauseCode = "would-start"
"""What lists show of what would be placed, in place of a cause."""

ReadingCode: TypeAlias = Literal["forbidden-list", "missing-list", "one-namespace-list", "unavailable-list"]

_Odd: TypeAlias = Literal[
    "mixed-schedulers",
    "being-deleted",
    "scheduling-gated",
    "foreign-gang-marker",
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
WarningCode: TypeAlias = _Odd | TreeFaultCode | ReadingCode
"""What is odd, or what an answer rests on, though it stops nobody."""

ReasonCode: TypeAlias = Literal["not-needed"] | Refusal
"""Why `preempt` names no victims; the causes that keep a gang from being tried are reasons, too."""

ActionCode: TypeAlias = Literal[
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
    "wait-for-terminating",
    "wait-for-preemption",
    "wait-for-revoking",
    "label-nodes",
    "other-layers",
    "uncordon",
    "mend-node",
    "raise-threshold",
    "tolerate",
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
    "index-not-honoured",
]
_OfTopology: TypeAlias = Literal["merged-domains", "outside-nodes", "virtual-domains", "stale-status"]

DoctorCode: TypeAlias = (
    Literal[
        "deployment-missing",
        "deployment-unavailable",
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
    | TreeFaultCode
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

OF_GAP: dict[GapCode, ReadingCode] = {
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
