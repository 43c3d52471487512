"""What is kept of an object: of the fields that are decoded those that no answer rests on are left out once more."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.objects.fields import deployments
from kubectl_koord.cluster.objects.fields.load_aware import AFTER_INITIALIZED
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.koordinator import descheduler as descheduling
from kubectl_koord.cluster.objects.koordinator import scheduler
from kubectl_koord.cluster.objects.kubernetes import events
from kubectl_koord.cluster.objects.pods.fields import PodSpec
from kubectl_koord.cluster.recording import descheduler, keys, settings
from kubectl_koord.model import installation
from kubectl_koord.model.settings import flags_set

Tree: TypeAlias = dict[str, Any]

_FLAGS = ("--feature-gates=", "--leader-elect", "--enable-network-topology-manager", "--config")
_NAME = re.compile(r"[a-z][a-z0-9-]{0,60}")
_VALUED = ("--config", "--feature-gates", "--leader-elect-resource-name", "--leader-elect-resource-namespace")
_OTHERS = "..."
"""What stands for all other words of a command line: that there are some."""
_VOLUMES = ("ephemeral", "gcePersistentDisk", "awsElasticBlockStore", "azureDisk", "rbd", "iscsi")
_CONTAINERS = {"containers", "initContainers"}
_OF_SPEC = {*(one.encode_name for one in msgspec.structs.fields(PodSpec)), "priorityClassName", "runtimeClassName"}
_LEFT_OUT: Tree = {"$patch": "left-out"}
_SAID = {"PodScheduled", "DisruptionTarget", "Scheduled"}
"""Conditions whose message is read; of the others only whether they hold, and of `_TIMED` since when."""
_TIMED = {"Initialized": ("lastTransitionTime",)}


def referred(kind: str, tree: Tree) -> Iterator[str]:
    """Yield the keys of labels that the decoded fields of an object refer to."""
    yield from keys.referred(tree)
    if kind == kinds.CONFIG_MAP.name:
        text = descheduling.text_of(tree.get("data") or {})
        yield from keys.referred(text and descheduler.read_of(text))


def kept(kind: str, tree: Tree, labels: AbstractSet[str]) -> Tree | None:
    """Return what a snapshot holds of an object, None where it is none that is read.

    Args:
        kind: its kind.
        tree: its decoded fields, which are changed.
        labels: the keys of labels that anything in the cluster refers to.

    """
    reduced = _REDUCED[kind](tree, labels) if kind in _REDUCED else tree
    if reduced is None:
        return None
    if kind == kinds.NODE.name:
        labels = labels | {*filter(keys.of_place, tree["metadata"].get("labels") or ())}
    _reduce_meta(tree.get("metadata"), labels)
    found: Tree = _without_nothing(tree)
    return found


def _without_nothing(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value without fields that are null: to a decoder they are as good as absent."""
    if isinstance(value, dict):
        return {name: _without_nothing(part) for name, part in value.items() if part is not None}
    return [_without_nothing(part) for part in value] if isinstance(value, list) else value


def _reduce_meta(meta: Tree | None, labels: AbstractSet[str]) -> None:
    if meta:
        _reduce_labels(meta, labels)


def _reduce_labels(meta: Tree, labels: AbstractSet[str]) -> None:
    meta["labels"] = _only(meta.get("labels"), keys.READ | labels) or None
    found = _only(meta.get("annotations"), keys.READ) or None
    meta["annotations"] = found and {
        key: "{}" if key in keys.PRESENT and value else value for key, value in found.items()
    }


def _only(written: Mapping[str, Any] | None, wanted: AbstractSet[str]) -> Tree:
    """Return the entries of these keys; one that is null is as one that is empty."""
    return {key: value or "" for key, value in (written or {}).items() if key in wanted}


def _node(tree: Tree, _labels: AbstractSet[str]) -> Tree:
    _reduce_conditions(tree["status"], {"Ready"})
    return tree


def _pod(tree: Tree, _labels: AbstractSet[str]) -> Tree:
    _reduce_spec(tree["spec"])
    counts = {"Initialized"} if AFTER_INITIALIZED in (tree["metadata"].get("annotations") or ()) else set()
    _reduce_conditions(tree["status"], {*_SAID, "Ready", *counts})
    return tree


def _reservation(tree: Tree, labels: AbstractSet[str]) -> Tree:
    template = tree["spec"].get("template")
    if template is not None:
        _reduce_spec(template["spec"])
        _reduce_meta(template["metadata"], labels)
    _reduce_conditions(tree["status"], _SAID)
    return tree


def _reduce_spec(spec: Tree) -> None:
    for volume in spec.get("volumes") or ():
        for source in _VOLUMES:
            if volume.get(source) is not None:
                volume[source] = {}  # that it is one counts, not which
    for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
        if container.get("resources"):
            container["resources"].pop("claims", None)


def _reduce_conditions(status: Tree, wanted: AbstractSet[str]) -> None:
    found = [one for one in status.get("conditions") or () if one.get("type") in wanted]
    for one in found:
        if one["type"] not in _SAID:
            for name in one.keys() - {"type", "status", *_TIMED.get(one["type"], ())}:
                del one[name]
    status["conditions"] = found or None


def _device(tree: Tree, labels: AbstractSet[str]) -> Tree:
    for device in tree["spec"].get("devices") or ():
        for part in (device, *(device.get("vfGroups") or ())):
            part["labels"] = _only(part.get("labels"), labels) or None
    return tree


def _deployment(tree: Tree, _labels: AbstractSet[str]) -> Tree | None:
    written = msgspec.convert(tree, deployments.Deployment)
    if not any(deployments.is_part(written, part) for part in deployments.PARTS):
        return None
    spec = tree["spec"]["template"]["spec"]
    spec["volumes"] = [_volume(one) for one in spec.get("volumes") or ()]
    names = {one["name"] for one in spec["volumes"]}
    for container in spec.get("containers") or ():
        container["volumeMounts"] = [one for one in container.get("volumeMounts") or () if one.get("name") in names]
        for name in ("command", "args"):
            container[name] = [*_words(container.get(name) or [])] or None
    return tree


def _volume(volume: Tree) -> Tree:
    """Return a volume with the ConfigMaps that it has, and of others what they are."""
    kept: Tree = {"name": volume.get("name")}
    if volume.get("configMap"):
        return {**kept, "configMap": volume["configMap"]}
    sources = [
        {"configMap": one["configMap"]}
        for one in (volume.get("projected") or {}).get("sources") or ()
        if one.get("configMap")
    ]
    told = next((name for name in ("hostPath", "secret") if volume.get(name) is not None), "")
    return {**kept, **({"projected": {"sources": sources}} if sources else {}), **({told: {}} if told else {})}


def _words(written: Sequence[str]) -> Iterator[str]:
    """Yield the flags that are read, each with its value in one word, and whether there are any others.

    Of those that may decide, or are not known, the name is told.
    """
    others = False
    for word, following in pairwise([*written, ""]):
        if word in _VALUED and following:
            yield f"{word}={following}"
        elif word.startswith(_FLAGS):
            yield word
        else:
            others = True
            yield from (f"--{one.name}" for one in flags_set("main", [word]) if _NAME.fullmatch(one.name))
    if others:
        yield _OTHERS


def _webhooks(tree: Tree, _labels: AbstractSet[str]) -> Tree | None:
    if tree["metadata"]["name"] not in installation.WEBHOOKS:
        return None
    for hook in tree.get("webhooks") or ():
        if (hook.get("clientConfig") or {}).get("caBundle"):
            hook["clientConfig"] = {"caBundle": _OTHERS}
    return tree


def _config_map(tree: Tree, _labels: AbstractSet[str]) -> Tree | None:
    written = scheduler.text_of(msgspec.convert(tree, scheduler.ConfigMap))
    of_descheduler = descheduling.text_of(tree.get("data") or {})
    if not (written or of_descheduler) and tree["metadata"]["name"] != settings.NAME:
        return None
    tree["data"] = {
        **({settings.NAME: settings.kept(written)} if written else {}),
        **({descheduling.CONFIG: descheduler.kept(of_descheduler)} if of_descheduler else {}),
    } or None
    return tree


def _event(tree: Tree, _labels: AbstractSet[str]) -> Tree | None:
    about = tree.get("regarding") or tree.get("involvedObject") or {}
    return tree if events.is_read(about.get("kind") or "", tree.get("reason") or "") else None


def _claim(tree: Tree, _labels: AbstractSet[str]) -> Tree:
    devices = tree["spec"]["devices"]
    for request in devices.get("requests") or ():
        for asked in (request, request.get("exactly") or {}, *(request.get("firstAvailable") or ())):
            asked["capacity"] = {"requests": {}} if asked.get("capacity") else None
    return tree


def _slice(tree: Tree, _labels: AbstractSet[str]) -> Tree:
    for device in tree["spec"].get("devices") or ():
        for told in (device, device.get("basic") or {}):
            told["consumesCounters"] = [{}] if told.get("consumesCounters") else None
    return tree


def _profile(tree: Tree, labels: AbstractSet[str]) -> Tree:
    spec = tree["spec"]
    _reduce_labels(spec, labels)
    spec["patch"] = _patch(spec["patch"], labels) if spec.get("patch") else None
    return tree


def _patch(patch: Tree, labels: AbstractSet[str]) -> Tree:
    """Return what is read of a patch of pods; one that takes away, or adds containers, becomes one without answer."""
    meta, spec = (patch.get(name) or {} for name in ("metadata", "spec"))
    try:
        msgspec.convert(meta, Meta)
        msgspec.convert(spec, PodSpec)
    except msgspec.ValidationError:
        return _LEFT_OUT
    spec = {name: part for name, part in spec.items() if name in _OF_SPEC}
    if _takes_away([patch, meta, spec]) or not _CONTAINERS.isdisjoint(spec):
        return _LEFT_OUT
    _reduce_spec(spec)
    meta = {name: meta.get(name) for name in ("labels", "annotations")}
    _reduce_labels(meta, labels)
    return {"metadata": meta, "spec": spec}


def _takes_away(value: Any) -> bool:  # noqa: ANN401 - any JSON value
    """Tell whether any field is null, or a directive."""
    if isinstance(value, dict):
        return any(part is None or name.startswith("$") or _takes_away(part) for name, part in value.items())
    return isinstance(value, list) and any(map(_takes_away, value))


_REDUCED: Mapping[str, Callable[[Tree, AbstractSet[str]], Tree | None]] = {
    kinds.NODE.name: _node,
    kinds.POD.name: _pod,
    kinds.RESERVATION.name: _reservation,
    kinds.DEVICE.name: _device,
    kinds.DEPLOYMENT.name: _deployment,
    kinds.CONFIG_MAP.name: _config_map,
    kinds.MUTATING.name: _webhooks,
    kinds.VALIDATING.name: _webhooks,
    kinds.EVENT.name: _event,
    kinds.RESOURCE_CLAIM.name: _claim,
    kinds.RESOURCE_SLICE.name: _slice,
    kinds.COLOCATION_PROFILE.name: _profile,
}
