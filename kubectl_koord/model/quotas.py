"""Elastic quotas as written, and how the scheduler's plugin for them is configured.

A resource of amount 0 is kept here, other than in requests: a maximum of 0 lets nothing pass, no maximum everything.
"""

from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.model import keys
from kubectl_koord.model.values import Labels, PackedLabels, Resources

ROOT, SYSTEM, DEFAULT = "koordinator-root-quota", "koordinator-system-quota", "koordinator-default-quota"
BUILT_IN = frozenset((ROOT, SYSTEM, DEFAULT))
NAME_LABEL = keys.QUOTA_NAME
PREEMPTIBLE_LABEL = keys.QUOTA_PREEMPTIBLE
QUOTA_LABELS = (NAME_LABEL, PREEMPTIBLE_LABEL)
IGNORE_TERMINATING = "ElasticQuotaIgnoreTerminatingPod"
"""The gate with which pods that terminate count until their grace period has passed, and then at their next event."""
QuotaLabels: TypeAlias = tuple[str | None, ...]
"""The values of `QUOTA_LABELS`, None for each that is missing."""
QuotaKind: TypeAlias = tuple[QuotaLabels, str]
"""What decides which quota a pod counts against, and how: what its labels say, and where they name none its namespace.

There are few kinds, also of hundreds of thousands of pods.
"""

_FIFTH = ((1 << 63) - 1) // 5
UNLIMITED: Resources = (("cpu", 1000 * _FIFTH), ("memory", _FIFTH))
"""The maximum of the system and the default quota where nothing else is configured."""


def quota_labels(labels: Labels | PackedLabels) -> QuotaLabels:
    """Return what the labels of a pod say to quotas."""
    if isinstance(labels, PackedLabels):
        return labels.quota
    known = dict(labels)
    return known.get(NAME_LABEL), known.get(PREEMPTIBLE_LABEL)


def quota_kind(labels: Labels | PackedLabels, namespace: str) -> QuotaKind:
    """Return what decides of a pod's labels and namespace: its labels where they name a quota."""
    said = quota_labels(labels)
    return said, "" if said[0] else namespace


class Quota(Struct, frozen=True, gc=False):
    """One ElasticQuota. The name alone tells it apart: the scheduler does not look at the namespace.

    `parent` is a name, of the root quota where none is written; `weight` is the maximum where none is written
    (`weighs_max`);
    `lends` whether what it does not request of its minimum goes to others. `tree` is a tree of its own, of which the
    root (`heads_tree`) has the `total` to share; `beside_default` leaves that to the default tree, too. `namespaces`
    are those whose pods belong to it. `admission` limits what the webhook lets in, `profile` names what made the
    quota; `guaranteed`, `runtime` and `used` are what the scheduler last wrote, None where it wrote nothing.
    Only the webhook looks at `strict`, the resources of which the maximum must not fall below what is used, and at
    `forced`, which spares the quota checks of sums. `unreadable` are its annotations that cannot be read.
    """

    namespace: str
    name: str
    min: Resources = ()
    max: Resources = ()
    parent: str = ROOT
    weight: Resources = ()
    lends: bool = True
    is_parent: bool = False
    tree: str = ""
    heads_tree: bool = False
    beside_default: bool = False
    total: Resources | None = None
    namespaces: tuple[str, ...] = ()
    admission: Resources | None = None
    profile: str = ""
    guaranteed: Resources | None = None
    runtime: Resources | None = None
    used: Resources | None = None
    weighs_max: bool = False
    strict: tuple[str, ...] = ()
    forced: bool = False
    unreadable: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The object's name as reports print it: `namespace/name`."""
        return f"{self.namespace}/{self.name}"


class QuotaSettings(Struct, frozen=True):
    """How the scheduler is told to treat quotas: its plugin's arguments, and feature gates.

    by_runtime: pods are held against the runtime (`enableRuntimeQuota`), or else against the maximum.
    check_parents: the parents of a pod's quota are checked, too. scale_min: minimums shrink where they exceed what
    there is. hooks: plugins that may refuse further pods. spares_default: the pods of the default quota are no victims.
    revokes: pods of a quota that stays above its runtime are evicted (`monitorAllQuotas`), for so long as `evict_after`
    says, as it is written (`delayEvictTime`).
    trees, no_default, guarantees, ignores_terminating: gates MultiQuotaTree, DisableDefaultQuota,
    ElasticQuotaGuaranteeUsage, ElasticQuotaImmediateIgnoreTerminatingPod. open_gates: gates that are on, decide, and
    are not evaluated. enforced: whether PreFilter asks quotas at all.
    """

    by_runtime: bool = True
    check_parents: bool = False
    scale_min: bool = True
    default_max: Resources = UNLIMITED
    system_max: Resources = UNLIMITED
    namespace: str = "koordinator-system"
    hooks: tuple[str, ...] = ()
    spares_default: bool = True
    revokes: bool = False
    evict_after: str = "2m"
    trees: bool = False
    no_default: bool = False
    guarantees: bool = False
    ignores_terminating: bool = False
    open_gates: tuple[str, ...] = ()
    enforced: bool = True
