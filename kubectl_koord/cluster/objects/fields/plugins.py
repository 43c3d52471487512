"""A profile's plugins: at which points they are enabled, by its own lists and by what kube-scheduler enables."""

from collections.abc import Iterator
from typing import Any

from kubectl_koord.model.plugins import OF_KUBERNETES, POINTS, DefaultPreemption, Plugins

PREEMPTION = "DefaultPreemption"
_PREEMPTING = ("Coscheduling", "ElasticQuota")
_BY_DEFAULT = frozenset((*OF_KUBERNETES, PREEMPTION))
_EVERY = "*"


def plugins_of(profile: dict[str, Any]) -> Plugins:
    """Return which plugins a profile does not enable; none where it tells of no plugins."""
    plugins = profile.get("plugins")
    if not isinstance(plugins, dict) or not plugins:
        return Plugins()
    return Plugins(tuple(_off(plugins)), _default_preemption(plugins))


def _off(plugins: dict[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, points in POINTS.items():
        lacking = tuple(point for point in points if not _is_enabled(plugins, name, point))
        if lacking:
            yield name, lacking


def _is_enabled(plugins: dict[str, Any], name: str, point: str) -> bool:
    """Tell whether a plugin runs at a point; mirrors `expandMultiPointPlugins` of kube-scheduler's framework."""
    if name in names(plugins, point, "enabled"):
        return True
    by_default = name in _BY_DEFAULT and _is_left(plugins, name, "multiPoint")
    everywhere = by_default or name in names(plugins, "multiPoint", "enabled")
    return everywhere and _is_left(plugins, name, point)


def _is_left(plugins: dict[str, Any], name: str, point: str) -> bool:
    return {name, _EVERY}.isdisjoint(names(plugins, point, "disabled"))


def _default_preemption(plugins: dict[str, Any]) -> DefaultPreemption:
    """Return when DefaultPreemption runs: what is enabled at all points comes before what is listed for this one."""
    if not _is_enabled(plugins, PREEMPTION, "postFilter"):
        return ""
    listed = names(plugins, "postFilter", "enabled")
    before = listed[: listed.index(PREEMPTION)] if PREEMPTION in listed else []
    is_last = not _is_left(plugins, PREEMPTION, "postFilter") and set(_PREEMPTING) & {*listed} <= {*before}
    return "last" if is_last else "first"


def names(plugins: dict[str, Any], point: str, part: str) -> list[str]:
    """Return the plugins that are enabled or disabled at a point, in their order."""
    found = plugins.get(point)
    listed = found.get(part) if isinstance(found, dict) else None
    return [str(one.get("name")) for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
