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
FILTERS_ALONE = frozenset(("LoadAwareScheduling", "NodePorts", "PodTopologySpread", "InterPodAffinity"))
"""Plugins of which nothing but the filter refuses nodes."""
VOLUMES = frozenset(("VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone"))
DefaultPreemption: TypeAlias = Literal["", "first", "last"]
"""Whether kube-scheduler's DefaultPreemption runs: not at all, before other plugins that preempt, or after them."""


class Plugins(Struct, frozen=True):
    """Which plugins a profile does not enable: `off` holds their points, by name; what is not there is enabled."""

    off: tuple[tuple[str, tuple[str, ...]], ...] = ()
    default_preemption: DefaultPreemption = ""

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
