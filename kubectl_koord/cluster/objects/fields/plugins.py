"""A profile's plugins: at which points they are enabled, by its own lists and by what kube-scheduler enables."""

from collections.abc import Iterator
from typing import Any

from kubectl_koord.model.plugins import OF_KUBERNETES, ORDERING, POINTS, DefaultPreemption, Extender, Plugins

PREEMPTION = "DefaultPreemption"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_AFFINITY, _FIT = "NodeAffinity", "NodeResourcesFit"
_PREEMPTING = ("Coscheduling", "ElasticQuota")
_BY_DEFAULT = frozenset((*OF_KUBERNETES, PREEMPTION))
_EVERY = "*"
DECIDING = ("multiPoint", "preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "reserve", "permit")
"""The points at which a plugin may keep pods from nodes, or choose victims."""
KNOWN = frozenset((*POINTS, *_BY_DEFAULT, *ORDERING))
"""The plugins of kube-scheduler and Koordinator."""


def plugins_of(profile: dict[str, Any]) -> Plugins:
    """Return which plugins a profile does not enable, none where it tells of no plugins, and how it restrains them."""
    found, fit = profile.get("plugins"), arguments_of(profile, _FIT)
    plugins = found if isinstance(found, dict) else {}
    added = arguments_of(profile, _AFFINITY).get("addedAffinity")
    return Plugins(
        tuple(_off(plugins)) if plugins else (),
        _default_preemption(plugins) if plugins else "",
        isinstance(added, dict) and added.get(REQUIRED) is not None,
        texts(fit.get("ignoredResources")),
        texts(fit.get("ignoredResourceGroups")),
    )


def unknown_of(profile: dict[str, Any]) -> Iterator[str]:
    """Yield the plugins that a profile enables where they may decide, and that nobody here knows."""
    found = profile.get("plugins")
    plugins = found if isinstance(found, dict) else {}
    enabled = dict.fromkeys(name for point in DECIDING for name in names(plugins, point, "enabled"))
    return (name for name in enabled if name not in KNOWN)


def extenders_of(found: dict[str, Any]) -> tuple[Extender, ...]:
    """Return the extenders of a configuration that have a say in where pods go, or in who is preempted."""
    written = found.get("extenders")
    every = (one for one in written if isinstance(one, dict)) if isinstance(written, list) else ()
    told = (Extender(bool(one.get("filterVerb")), bool(one.get("preemptVerb")), _managed(one)) for one in every)
    return tuple(one for one in told if one.filters or one.preempts)


def _managed(extender: dict[str, Any]) -> tuple[str, ...]:
    found = extender.get("managedResources")
    return tuple(str(one.get("name")) for one in found if isinstance(one, dict)) if isinstance(found, list) else ()


def arguments_of(profile: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the arguments that a profile has for a plugin."""
    written = profile.get("pluginConfig")
    for plugin in written if isinstance(written, list) else ():
        if isinstance(plugin, dict) and plugin.get("name") == name:
            arguments = plugin.get("args")
            return arguments if isinstance(arguments, dict) else {}
    return {}


def texts(written: object) -> tuple[str, ...]:
    """Return the texts of a list."""
    return tuple(one for one in written if isinstance(one, str)) if isinstance(written, list) else ()


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
