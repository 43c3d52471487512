"""What is kept of the configuration of koord-descheduler: what is decoded of it, and nothing else of its plugins."""

import json
from typing import Any, TypeAlias

import msgspec

from kubectl_koord.cluster.objects.fields.selectors import LabelSelector
from kubectl_koord.cluster.objects.koordinator import descheduler, scheduler
from kubectl_koord.cluster.recording.settings import mappings, plain

Tree: TypeAlias = dict[str, Any]

_KIND = "DeschedulerConfiguration"
_UNREADABLE = "{" + _KIND
_NAMESPACES = ("namespaces", "evictableNamespaces")
_OF_EVICTOR = (*descheduler.OF_EVICTOR, "evictSystemCriticalPods", "evictAllBarePods", "dryRun")


def kept(text: str) -> str:
    """Return what is read of the configuration as the text of one."""
    found = read_of(text)
    return _UNREADABLE if found is None else json.dumps(found)


def read_of(text: str) -> Tree | None:
    """Return what is read of the configuration, None where it cannot be read."""
    parsed = scheduler.parsed(text)
    if parsed is None or descheduler.configuration("read", parsed) == descheduler.UNREADABLE:
        return None
    return {
        "kind": _KIND,
        **plain(parsed, ("dryRun", "deschedulingInterval", *descheduler.OF_ALL)),
        "profiles": [_profile(one) for one in mappings(parsed.get("profiles"))],
    }


def _profile(profile: Tree) -> Tree:
    points = _mapping(profile.get("plugins"))
    return {
        **plain(profile, ("name",)),
        "plugins": {point: _switched(_mapping(points.get(point))) for point in (*descheduler.CHOOSING, "evict")},
        "pluginConfig": [
            {**plain(one, ("name",)), "args": _arguments(one.get("name"), _mapping(one.get("args")))}
            for one in mappings(profile.get("pluginConfig"))
        ],
    }


def _switched(point: Tree) -> Tree:
    return {part: [plain(one, ("name",)) for one in mappings(point.get(part))] for part in ("enabled", "disabled")}


def _arguments(plugin: object, written: Tree) -> Tree:
    found: Tree = {name: _namespaces(_mapping(written.get(name))) for name in _NAMESPACES if written.get(name)}
    if plugin != descheduler.EVICTOR:
        return found
    found |= plain(written, _OF_EVICTOR)
    found["skipEvictionGates"] = _texts(written.get("skipEvictionGates"))
    found["priorityThreshold"] = plain(_mapping(written.get("priorityThreshold")), ("value",))
    if written.get("labelSelector"):
        found["labelSelector"] = msgspec.to_builtins(msgspec.convert(written["labelSelector"], LabelSelector))
    return found


def _namespaces(written: Tree) -> Tree:
    return {part: _texts(written.get(part)) for part in ("include", "exclude")}


def _texts(written: object) -> list[str]:
    return [str(one) for one in written if isinstance(one, str)] if isinstance(written, list) else []


def _mapping(written: object) -> Tree:
    return written if isinstance(written, dict) else {}
