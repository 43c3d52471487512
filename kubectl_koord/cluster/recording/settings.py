"""What is kept of the scheduler's configuration: arguments of plugins may hold anything, also a password."""

import json
import re
from collections.abc import Mapping
from typing import Any

import msgspec

from kubectl_koord.cluster.objects.fields.amounts import Amounts
from kubectl_koord.cluster.objects.fields.load_aware import Arguments
from kubectl_koord.cluster.objects.fields.plugins import KNOWN, PREEMPTION, REQUIRED, extenders_of, texts
from kubectl_koord.cluster.objects.koordinator import configuration, scheduler
from kubectl_koord.model.plugins import POINTS
from kubectl_koord.model.settings import ALL, arguments_set

NAME = "koord-scheduler-config"
_Tree = dict[str, Any]
_PLAIN = (str, bool, int, float)

_ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "Coscheduling": (
        "apiVersion",
        "kind",
        "enablePreemption",
        "awareNetworkTopology",
        "defaultMatchPolicy",
        "defaultTimeout",
        "controllerWorkers",
        "skipCheckScheduleCycle",
    ),
    "ElasticQuota": (
        "enableRuntimeQuota",
        "enableCheckParentQuota",
        "enableMinQuotaScale",
        "quotaGroupNamespace",
        "disableDefaultQuotaPreemption",
        "monitorAllQuotas",
        "delayEvictTime",
    ),
    "DeviceShare": ("disableDeviceNUMATopologyAlignment",),
    "LoadAwareScheduling": (),
    "NodeNUMAResource": ("defaultCPUBindPolicy",),
    "NodeAffinity": (),
    "NodeResourcesFit": (),
}
"""The plugins whose arguments are read, and which of them are plain values."""
_POINTS = (
    "multiPoint",
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "reserve",
    "permit",
    "postBind",
)
_PLUGINS = {*POINTS, PREEMPTION, "*"}
_SETTING = re.compile(r"[a-z][A-Za-z]{0,39}")
_PLUGIN = re.compile(r"[A-Z][A-Za-z]{0,59}")
UNREADABLE = "{KubeSchedulerConfiguration"
"""What stands for a configuration that cannot be read."""


def kept(text: str) -> str:
    """Return what is read of the configuration as the text of one."""
    found = read_of(text)
    return UNREADABLE if found is None else json.dumps(found)


def read_of(text: str) -> _Tree | None:
    """Return what is read of the configuration, None where it cannot be read."""
    parsed = None if configuration.fault(text, "1.7") else scheduler.parsed(text)
    if parsed is None:
        return None
    election = parsed.get("leaderElection")
    profiles = mappings(parsed.get("profiles"))
    read = ("leaderElect", "resourceName", "resourceNamespace")
    return {
        "kind": "KubeSchedulerConfiguration",
        **({"leaderElection": plain(election, read)} if isinstance(election, dict) else {}),
        **_extenders(parsed),
        "profiles": [_profile(one) for one in profiles],
    }


def _extenders(parsed: _Tree) -> _Tree:
    """Return which extenders filter or preempt, of pods that request which resources; not where they are."""
    kept_of = [
        {
            **({"filterVerb": "filter"} if one.filters else {}),
            **({"preemptVerb": "preempt"} if one.preempts else {}),
            "managedResources": [{"name": name} for name in one.resources],
        }
        for one in extenders_of(parsed)
    ]
    return {"extenders": kept_of} if kept_of else {}


def _profile(profile: _Tree) -> _Tree:
    plugins = mappings(profile.get("pluginConfig"))
    read = [one for one in plugins if one.get("name") in _ARGUMENTS or _left_out(one)]
    return {
        **plain(profile, ("schedulerName",)),
        **_points(profile.get("plugins")),
        "pluginConfig": [
            {"name": one["name"], "args": {**_left_out(one), **_arguments(str(one["name"]), one.get("args"))}}
            for one in read
        ],
    }


def _left_out(plugin: _Tree) -> _Tree:
    """Return the arguments that decide and are not evaluated, or are not known: their names."""
    name, written = str(plugin.get("name")), plugin.get("args")
    if not isinstance(written, dict):
        return {}
    found = (one for version in ALL for one in arguments_set(version, name, written))
    told = {one.name.partition(".")[2]: one.known for one in found}
    return {key: known or None for key, known in told.items() if _SETTING.fullmatch(key)}


def _points(plugins: Any) -> _Tree:  # noqa: ANN401
    """Return where those plugins are enabled and disabled of which that is read; nothing where no plugins are told."""
    if not isinstance(plugins, dict) or not plugins:
        return {}
    told = {point: plugins[point] for point in _POINTS if isinstance(plugins.get(point), dict)}
    return {"plugins": {"multiPoint": {}, **{point: _switched(found) for point, found in told.items()}}}


def _switched(point: _Tree) -> _Tree:
    return {
        part: [{"name": one["name"]} for one in mappings(point.get(part)) if _is_read(one)]
        for part in ("enabled", "disabled")
    }


def _is_read(plugin: _Tree) -> bool:
    name = plugin.get("name")
    return name in _PLUGINS or (isinstance(name, str) and _is_foreign(name))


def _is_foreign(name: str) -> bool:
    """Tell whether nobody here knows a plugin: that there is one bears on answers, and its name is told."""
    return _PLUGIN.fullmatch(name) is not None and name not in KNOWN


def _arguments(plugin: str, written: Any) -> _Tree:  # noqa: ANN401 - whatever YAML holds
    if not isinstance(written, dict):
        return {}
    found = plain(written, _ARGUMENTS.get(plugin, ()))
    if plugin == "LoadAwareScheduling":
        return _load(written)
    if plugin == "Coscheduling":  # of a setting that there is none of the name is told
        found |= {name: None for name in written if name not in found and _SETTING.fullmatch(str(name))}
    if plugin == "DeviceShare":
        models = mappings(written.get("gpuShareUnsupportedModels"))
        found |= _scoring(written, "scoringStrategy")
        found["gpuShareUnsupportedModels"] = [plain(one, ("vendor", "model")) for one in models]
    if plugin == "NodeNUMAResource":
        found |= _scoring(written, "scoringStrategy") | _scoring(written, "numaScoringStrategy")
    if plugin == "NodeAffinity":
        added = written.get("addedAffinity")
        required = isinstance(added, dict) and added.get(REQUIRED) is not None
        found |= {"addedAffinity": {REQUIRED: {}}} if required else {}
    if plugin == "NodeResourcesFit":
        found |= {name: [*texts(written.get(name))] for name in ("ignoredResources", "ignoredResourceGroups")}
    if plugin == "ElasticQuota":
        found["hookPlugins"] = [plain(one, ("key",)) for one in mappings(written.get("hookPlugins"))]
        for name in ("defaultQuotaGroupMax", "systemQuotaGroupMax"):
            found |= _amounts(name, written.get(name))
    return found


def _scoring(written: _Tree, name: str) -> _Tree:
    """Return a scoring strategy, nothing where none is written."""
    strategy = written.get(name)
    if not isinstance(strategy, dict):
        return {}
    weights = [plain(one, ("name", "weight")) for one in mappings(strategy.get("resources"))]
    return {name: {**plain(strategy, ("type",)), "resources": weights}}


def _load(written: _Tree) -> _Tree:
    """Return arguments that the scheduler could read, none where it could not."""
    try:
        found: _Tree = msgspec.to_builtins(msgspec.convert(written, Arguments))
    except msgspec.ValidationError:
        return {}
    return {name: value for name, value in found.items() if value is not None}


def _amounts(name: str, written: Any) -> _Tree:  # noqa: ANN401
    try:
        return {name: msgspec.convert(written, Amounts)} if written else {}
    except msgspec.ValidationError:
        return {}


def plain(written: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return the entries of these names that are texts, numbers, true or false."""
    return {name: written[name] for name in names if isinstance(written.get(name), _PLAIN)}


def mappings(written: object) -> list[dict[str, Any]]:
    """Return the mappings that a list holds."""
    return [one for one in written if isinstance(one, dict)] if isinstance(written, list) else []
