"""Which plugins a scheduler's profile enables at the extension points that decide."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

_STATEFUL = ("preFilter", "filter")
_BOOKING = ("preFilter", "filter", "reserve")
OF_KUBERNETES: Mapping[str, tuple[str, ...]] = {
    "NodeUnschedulable": ("filter",),
    "TaintToleration": ("filter",),
    "NodeAffinity": _STATEFUL,
    "NodePorts": _STATEFUL,
    "NodeResourcesFit": _STATEFUL,
    "VolumeRestrictions": _STATEFUL,
    "NodeVolumeLimits": _STATEFUL,
    "VolumeBinding": _BOOKING,
    "VolumeZone": _STATEFUL,
    "PodTopologySpread": _STATEFUL,
    "InterPodAffinity": _STATEFUL,
    "DynamicResources": _BOOKING,
}
"""The points at which plugins decide that kube-scheduler enables where a profile does not disable them."""
POINTS: Mapping[str, tuple[str, ...]] = {
    **OF_KUBERNETES,
    "Reservation": _BOOKING,
    "LoadAwareScheduling": ("filter", "reserve"),
    "NodeNUMAResource": _BOOKING,
    "DeviceShare": _BOOKING,
    "ElasticQuota": ("preFilter", "postFilter", "reserve"),
    "Coscheduling": ("preFilter", "postFilter", "reserve", "permit"),
}
"""The same with Koordinator's own, which are enabled where a profile says so."""
ORDERING = frozenset((
    "PrioritySort", "SchedulingGates", "NodeName", "ImageLocality", "NodeResourcesBalancedAllocation", "DefaultBinder",
    "DefaultPreBind", "NodeResourcesFitPlus", "ScarceResourceAvoidance", "SchedulingHint", "NodeDeclaredFeatures",
    "GangScheduling",
))  # fmt: skip
"""The others of kube-scheduler and Koordinator: they order nodes, or what they decide is told elsewhere."""
FILTERS_ALONE = frozenset(("LoadAwareScheduling", "NodePorts", "PodTopologySpread", "InterPodAffinity"))
"""Plugins of which nothing but the filter refuses nodes."""
VOLUMES = frozenset(("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"))
DefaultPreemption: TypeAlias = Literal["", "first", "last"]
"""Whether kube-scheduler's DefaultPreemption runs: not at all, before other plugins that preempt, or after them."""
INLINE_BATCH = "EnableInlineBatchSchedule"
"""The feature gate with which a plan is carried out for all its pods at once."""
GATES: Mapping[str, tuple[str, ...]] = {
    "PriorityTransformer": ("1.7", "1.8", "main"),
    "PreemptionPolicyTransformer": ("1.7", "1.8", "main"),
    "OmitNodeLabelsForReservation": ("1.7", "1.8", "main"),
    "ReplaceResourcesTransformer": ("1.8", "main"),
    INLINE_BATCH: ("main",),
    "SkipFilterWithNominatedPods": ("main",),
    "CrossSchedulerNomination": ("main",),
}
"""The feature gates that decide, where they are on, about more than quotas, and the versions that know them."""


class Extender(Struct, frozen=True):
    """A program that the scheduler asks about nodes or victims, of pods that request one of the resources, if any."""

    filters: bool = False
    preempts: bool = False
    resources: tuple[str, ...] = ()


class Plugins(Struct, frozen=True):
    """Which plugins a profile does not enable: `off` holds their points, by name; what is not there is enabled.

    `adds_affinity` is whether NodeAffinity requires more of nodes than pods do; `ignored` and `ignored_groups` are the
    extended resources, and their domains, that NodeResourcesFit does not count.
    """

    off: tuple[tuple[str, tuple[str, ...]], ...] = ()
    default_preemption: DefaultPreemption = ""
    adds_affinity: bool = False
    ignored: tuple[str, ...] = ()
    ignored_groups: tuple[str, ...] = ()

    def ignores(self, resource: str) -> bool:
        """Tell whether NodeResourcesFit ignores an extended resource, by its name or by the domain before the slash."""
        return resource in self.ignored or resource.partition("/")[0] in self.ignored_groups

    def lacks(self, name: str) -> tuple[str, ...]:
        """Return the points at which a plugin decides and is not enabled."""
        return dict(self.off).get(name, ())

    def filters(self, name: str) -> bool:
        """Tell whether a plugin may refuse nodes: not where none of its points is left that could."""
        lacking = self.lacks(name)
        return "filter" not in lacking if name in FILTERS_ALONE else lacking != POINTS[name]

    def is_partial(self, name: str) -> bool:
        """Tell whether a plugin that refuses nodes lacks a point at which it does more than that."""
        return bool(self.lacks(name)) and self.filters(name)

    @property
    def preempts_in_quotas(self) -> bool:
        """Whether ElasticQuota preempts, by what its PreFilter has found out."""
        return {"preFilter", "postFilter"}.isdisjoint(self.lacks("ElasticQuota"))
