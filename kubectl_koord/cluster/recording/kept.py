"""Which fields of each kind a snapshot file keeps, and which keys may stay when names are replaced."""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import pairwise
from typing import Any, TypeAlias

import msgspec

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.manifests.workloads import FAMILIES
from kubectl_koord.cluster.objects import configuration, descheduler, events, jobs, scheduler, settings
from kubectl_koord.cluster.objects.fields import LabelSelector, Meta, mapping, mappings, texts
from kubectl_koord.cluster.objects.pod_wire import PodSpec
from kubectl_koord.cluster.objects.pool import Amounts
from kubectl_koord.cluster.objects.settings import (
    KNOWN,
    PREEMPTION,
    REQUIRED,
    Arguments,
    extenders_of,
)
from kubectl_koord.model import installation, keys
from kubectl_koord.model.installation import POINTS
from kubectl_koord.model.settings import ALL, arguments_set, flags_set

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


def kept_settings(text: str) -> str:
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
        "profiles": [_settings_profile(one) for one in profiles],
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


def _settings_profile(profile: _Tree) -> _Tree:
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
    """Return where the plugins that are read are enabled and disabled, empty for a profile without `plugins`."""
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
    """Tell whether a plugin is unknown: that it is there bears on answers, so its name is kept."""
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


Tree: TypeAlias = dict[str, Any]

_KIND = "DeschedulerConfiguration"
_UNREADABLE = "{" + _KIND
_NAMESPACES = ("namespaces", "evictableNamespaces")
_OF_EVICTOR = (*descheduler.OF_EVICTOR, "evictSystemCriticalPods", "evictAllBarePods", "dryRun")


def kept_descheduler(text: str) -> str:
    """Return what is read of the configuration as the text of one."""
    found = descheduler_as_read(text)
    return _UNREADABLE if found is None else json.dumps(found)


def descheduler_as_read(text: str) -> Tree | None:
    """Return what is read of the configuration, None where it cannot be read."""
    parsed = scheduler.parsed(text)
    if parsed is None or descheduler.configuration("read", parsed) == descheduler.UNREADABLE:
        return None
    return {
        "kind": _KIND,
        **plain(parsed, ("dryRun", "deschedulingInterval", *descheduler.OF_ALL)),
        "profiles": [_descheduler_profile(one) for one in mappings(parsed.get("profiles"))],
    }


def _descheduler_profile(profile: Tree) -> Tree:
    points = mapping(profile.get("plugins"))
    return {
        **plain(profile, ("name",)),
        "plugins": {
            point: _descheduler_switched(mapping(points.get(point))) for point in (*descheduler.CHOOSING, "evict")
        },
        "pluginConfig": [
            {**plain(one, ("name",)), "args": _descheduler_arguments(one.get("name"), mapping(one.get("args")))}
            for one in mappings(profile.get("pluginConfig"))
        ],
    }


def _descheduler_switched(point: Tree) -> Tree:
    return {part: [plain(one, ("name",)) for one in mappings(point.get(part))] for part in ("enabled", "disabled")}


def _descheduler_arguments(plugin: object, written: Tree) -> Tree:
    found: Tree = {name: _namespaces(mapping(written.get(name))) for name in _NAMESPACES if written.get(name)}
    if plugin != descheduler.EVICTOR:
        return found
    found |= plain(written, _OF_EVICTOR)
    found["skipEvictionGates"] = list(texts(written.get("skipEvictionGates")))
    found["priorityThreshold"] = plain(mapping(written.get("priorityThreshold")), ("value",))
    if written.get("labelSelector"):
        found["labelSelector"] = msgspec.to_builtins(msgspec.convert(written["labelSelector"], LabelSelector))
    return found


def _namespaces(written: Tree) -> Tree:
    return {part: list(texts(written.get(part))) for part in ("include", "exclude")}


PRESENT = frozenset({keys.SCHEDULING_HINT, keys.INTERNAL_SCHEDULING_HINT})
"""Annotations of which only counts that they are there."""

_OF_PLACES = re.compile(
    r"(?:fabric|accelerator)\.topograph\.run/.+|network\.topology\.(?:nvidia\.com|kubernetes\.io)/.+"
    r"|topology\.kubernetes\.io/(?:region|zone|rack|network-level-\d+)|topology\.k8s\.aws/.+"
    r"|cloud\.google\.com/gce-topology-.+|oci\.oraclecloud\.com/(?:rdma|host)\..+"
    r"|alibabacloud\.com/(?:point-of-delivery|asw-id)|(?:backend|ib)\.coreweave\.cloud/.+|topology\.nebius\.com/.+"
    r"|volcano\.sh/(?:hypercluster|hypernode|tor)|cloud\.provider\.com/topology-.+"
    r"|nvidia\.com/gpu\.(?:clique|present)|node-role\.kubernetes\.io/(?:control-plane|master)"
)


def of_place(key: str) -> bool:
    """Tell whether a node's label is one that tools and clouds set for where it is, or what it is for."""
    return _OF_PLACES.fullmatch(key) is not None


_OF_KEYS = ("matchLabelKeys", "mismatchLabelKeys", "labelKey")
_OF_LABELS = ("matchLabels", "reservationSelector", "nodeSelector", "labelKeysMapping", "labelSuffixes")
_OF_EXPRESSIONS = ("matchExpressions", "matchLabelExpressions")
_TELLING = frozenset(("topologyKey", "annotations", *_OF_KEYS, *_OF_LABELS, *_OF_EXPRESSIONS))
_MAY_TELL = re.compile("|".join((r"\\", *(f'"{name}"' for name in sorted(_TELLING)))))
_BRANCHES = (dict, list)


def referred_keys(tree: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    """Yield the keys of labels that selectors, affinities, spreads and topology layers of an object refer to."""
    branches = [tree] if isinstance(tree, _BRANCHES) else []
    while branches:  # by a list of its own: most of a snapshot's time goes here
        branch = branches.pop()
        parts = branch.values() if isinstance(branch, dict) else branch
        branches += [part for part in parts if isinstance(part, _BRANCHES)]
        if isinstance(branch, dict):
            for name in _TELLING & branch.keys():
                yield from _keys(name, branch[name])


def _keys(name: str, part: Any) -> Iterator[str]:  # noqa: ANN401
    """Yield the keys that a field itself names."""
    match part:
        case str() if name == "topologyKey":
            yield part
        case list() if name in _OF_KEYS:
            yield from (key for key in part if isinstance(key, str))
        case list() if name in _OF_EXPRESSIONS:
            yield from (one["key"] for one in part if isinstance(one, dict) and isinstance(one.get("key"), str))
        case dict() if name in _OF_LABELS:
            yield from part
        case dict() if name == "annotations":
            yield from _within(part[key] for key in keys.READ & part.keys())


def _within(annotations: Iterable[Any]) -> Iterator[str]:
    for written in annotations:
        if isinstance(written, str) and _MAY_TELL.search(written):
            yield from referred_keys(written_json(written))


def written_json(text: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return what a text holds that is a JSON object or list, None where it is none."""
    if not isinstance(text, str) or text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


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
    yield from referred_keys(tree)
    if kind == kinds.CONFIG_MAP.name:
        text = descheduler.text_of(tree.get("data") or {})
        yield from referred_keys(text and descheduler_as_read(text))


def kept_fields(kind: str, tree: Tree, labels: AbstractSet[str]) -> Tree | None:
    """Return what a snapshot holds of an object, None where it is none that is read.

    `tree`: its decoded fields, which are changed. `labels`: the keys of labels that anything in the cluster refers to.
    """
    reduced = _REDUCED[kind](tree, labels) if kind in _REDUCED else tree
    if reduced is None:
        return None
    if kind == kinds.NODE.name:
        labels = labels | {*filter(of_place, tree["metadata"].get("labels") or ())}
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
    meta["annotations"] = found and {key: "{}" if key in PRESENT and value else value for key, value in found.items()}


def _only(written: Mapping[str, Any] | None, wanted: AbstractSet[str]) -> Tree:
    """Return the entries of these keys; one that is null is as one that is empty."""
    return {key: value or "" for key, value in (written or {}).items() if key in wanted}


def _node(tree: Tree, _labels: AbstractSet[str]) -> Tree:
    _reduce_conditions(tree["status"], {"Ready"})
    return tree


def _pod(tree: Tree, _labels: AbstractSet[str]) -> Tree:
    _reduce_spec(tree["spec"])
    if _started(tree):
        _forget_states(tree)
        wanted = {*_SAID, "Ready"}
    else:
        wanted = {*_SAID, "Ready", *(one["conditionType"] for one in tree["spec"].get("readinessGates") or ())}
    counts = {"Initialized"} if keys.LOAD_AFTER_INITIALIZED in (tree["metadata"].get("annotations") or ()) else set()
    _reduce_conditions(tree["status"], {*wanted, *counts}, timed=() if _started(tree) else wanted)
    return tree


_STATES = ("containerStatuses", "initContainerStatuses")


def _started(tree: Tree) -> bool:
    """Tell whether a pod has no node, or all of its containers run, are ready, and were never started again."""
    status = tree["status"]
    if not tree["spec"].get("nodeName") and status.get("phase") != "Failed":
        return True
    every = [one for name in _STATES for one in status.get(name) or ()]
    ready: Tree = next((one for one in status.get("conditions") or () if one.get("type") == "Ready"), {})
    is_ready = ready.get("status", "True") == "True"
    return (
        status.get("phase") == "Running"
        and is_ready
        and all(one.get("ready") and not one.get("restartCount") for one in every)
    )


def _forget_states(tree: Tree) -> None:
    """Forget what became of a pod of which nothing is wrong: without it, it counts as one that runs and is ready."""
    for name in (*_STATES, "reason", "message"):
        tree["status"][name] = None
    tree["spec"]["readinessGates"] = None
    for container in (*(tree["spec"].get("containers") or ()), *(tree["spec"].get("initContainers") or ())):
        container.pop("name", None)
        container.pop("image", None)


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


def _reduce_conditions(status: Tree, wanted: AbstractSet[str], timed: Collection[str] = ()) -> None:
    found = [one for one in status.get("conditions") or () if one.get("type") in wanted]
    for one in found:
        if one["type"] not in _SAID and one["type"] not in timed:
            for name in one.keys() - {"type", "status", *_TIMED.get(one["type"], ())}:
                del one[name]
    status["conditions"] = found or None


def _device(tree: Tree, labels: AbstractSet[str]) -> Tree:
    for device in tree["spec"].get("devices") or ():
        for part in (device, *(device.get("vfGroups") or ())):
            part["labels"] = _only(part.get("labels"), labels) or None
    return tree


def _deployment(tree: Tree, _labels: AbstractSet[str]) -> Tree | None:
    written = msgspec.convert(tree, settings.Deployment)
    if not any(settings.is_part(written, part) for part in settings.PARTS):
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
    of_descheduler = descheduler.text_of(tree.get("data") or {})
    if not (written or of_descheduler) and tree["metadata"]["name"] != NAME:
        return None
    tree["data"] = {
        **({NAME: kept_settings(written)} if written else {}),
        **({descheduler.CONFIG: kept_descheduler(of_descheduler)} if of_descheduler else {}),
    } or None
    return tree


def _event(tree: Tree, _labels: AbstractSet[str]) -> Tree | None:
    about = tree.get("regarding") or tree.get("involvedObject") or {}
    is_read = events.is_read(about.get("kind") or "", tree.get("reason") or "")
    return tree if is_read or tree.get("type") == "Warning" else None


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


OF_OWNERS = frozenset((*jobs.JOB_LABELS, *jobs.POD_LABELS))
"""Labels and annotations that tell what belongs to a job, and which queue it waits in."""
_META = ("name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp", "finalizers")
_FIELDS = """
apiVersion kind name uid namespace controller key operator values
type status reason message lastTransitionTime phase state conditions
suspend paused replicas parallelism completions selector activeDeadlineSeconds backoffLimit failurePolicy maxRestarts
maxRetry managedBy runPolicy schedulingPolicy queue tasks template spec containers initContainers resources trainer
numNodes runtimeRef minAvailable priorityClassName jobTemplate
observedGeneration active running ready readyReplicas readyWorkerReplicas availableWorkerReplicas succeeded failed
restarts startTime jobStatus jobDeploymentStatus terminalState replicaStatuses replicatedJobsStatus rayClusterName
pendingServiceStatus activeServiceStatus serviceStatus applicationState errorMessage
queueName priority priorityClassRef podSets podSet count minCount admission clusterQueue podSetAssignments flavors
resourceUsage resourceRequests requeueState requeueAt admissionChecks
stopPolicy pendingWorkloads reservingWorkloads admittedWorkloads
cohort cohortName parent parentName queueingStrategy resourceGroups coveredResources nominalQuota borrowingLimit
lendingLimit preemption withinClusterQueue reclaimWithinCohort borrowWithinCohort policy admissionChecksStrategy
flavorsReservation flavorsUsage total borrowed controllerName
consumerRef request resource lastUpdateTime attempts queuePolicy queueItemDetails position
"""
_BY_NAME = """
selector matchLabels flavors resourceUsage resources requests limits request resource replicaStatuses queueItemDetails
"""
_AROUND = frozenset(_FIELDS.split())
"""The fields of owners and queues that are read, whatever they are within."""
_WHOLE = frozenset(_BY_NAME.split())
"""Those of them whose own keys are names."""


def kept_around(written: Mapping[str, Any]) -> Tree:
    """Return what a snapshot holds of an owner of pods, or of a queue: the fields that are read of any of them.

    Of one whose pods could be made of its templates those, too.
    """
    meta = written["metadata"]
    found: Tree = _picked({"spec": written.get("spec"), "status": written.get("status")})
    family = FAMILIES.get((jobs.group_of(jobs.text(written, "apiVersion")), jobs.text(written, "kind")))
    if family is not None:
        with suppress(msgspec.ValidationError):
            templates = msgspec.to_builtins(msgspec.convert(written, family.wire_type, strict=False))
            found = joined(found, {"spec": _without_nothing(templates["spec"])})
    owned = [_picked(one) for one in jobs.objects(meta, "ownerReferences")]
    told = {name: meta.get(name) for name in (*_META, "labels", "annotations")}
    return {"metadata": _without_nothing({**told, "ownerReferences": owned or None}), **_without_nothing(found)}


def reduced_around(tree: Tree, labels: AbstractSet[str]) -> Tree:
    """Return an owner or a queue with the labels and annotations that anything refers to."""
    meta = dict(tree["metadata"])
    _reduce_labels(meta, labels)
    for name in ("labels", "annotations"):
        read = _only(tree["metadata"].get(name), OF_OWNERS)
        meta[name] = {**(meta[name] or {}), **read} or None
    found: Tree = _without_nothing({**tree, "metadata": meta})
    _reduce_templates(found.get("spec"), labels)
    return found


def _picked(value: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _picked(part, key) for key, part in value.items() if name in _WHOLE or key in _AROUND}
    return [_picked(part, name) for part in value] if isinstance(value, list) else value


def joined(one: Any, other: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return what two views of one object hold together."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {key: joined(one.get(key), other.get(key)) for key in {**one, **other}}
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [joined(*pair) for pair in zip(one, other, strict=True)]
    return one if other is None else other


def _reduce_templates(value: Any, labels: AbstractSet[str]) -> None:  # noqa: ANN401 - any JSON value
    """Reduce what the templates within an owner say of their pods."""
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if isinstance(part, dict) and isinstance(part.get("spec"), dict) and "containers" in part["spec"]:
            _reduce_spec(part["spec"])
            _reduce_meta(part.get("metadata"), labels)
            for container in part["spec"]["containers"]:
                container.pop("name", None)
        else:
            _reduce_templates(part, labels)
