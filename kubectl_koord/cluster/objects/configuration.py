"""Whether a scheduler can decode its configuration: strictly, as `loadConfig` of kube-scheduler does.

A key that stands twice, that there is not, or a value of another type ends the scheduler as it starts. Arguments of
unknown plugins are not checked, and arguments that a version does not have are found with the settings.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.bounds import Meter, TooLargeError
from kubectl_koord.cluster.objects import fields
from kubectl_koord.cluster.objects.fields import Int32, Int64

KIND, GROUP = "KubeSchedulerConfiguration", "kubescheduler.config.k8s.io"
_VERSIONS = {"1.7": ("v1", "v1beta3")}
_MOST = 8


class _Strict(Struct, forbid_unknown_fields=True, rename="camel"):
    """An object that has no other keys."""


class _LeaderElection(_Strict):
    leader_elect: bool | None = None
    lease_duration: str | None = None
    renew_deadline: str | None = None
    retry_period: str | None = None
    resource_lock: str | None = None
    resource_name: str | None = None
    resource_namespace: str | None = None


class _ClientConnection(_Strict):
    kubeconfig: str | None = None
    accept_content_types: str | None = None
    content_type: str | None = None
    qps: float | None = None
    burst: Int32 | None = None


class _Plugin(_Strict):
    name: str | None = None
    weight: Int32 | None = None


class _PluginSet(_Strict):
    enabled: list[_Plugin] | None = None
    disabled: list[_Plugin] | None = None


class _Plugins(_Strict):
    pre_enqueue: _PluginSet | None = None
    queue_sort: _PluginSet | None = None
    pre_filter: _PluginSet | None = None
    filter: _PluginSet | None = None
    post_filter: _PluginSet | None = None
    pre_score: _PluginSet | None = None
    score: _PluginSet | None = None
    reserve: _PluginSet | None = None
    permit: _PluginSet | None = None
    pre_bind: _PluginSet | None = None
    bind: _PluginSet | None = None
    post_bind: _PluginSet | None = None
    multi_point: _PluginSet | None = None


class _PluginConfig(_Strict):
    name: str | None = None
    args: Any = None


class _Profile(_Strict):
    scheduler_name: str | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    plugins: _Plugins | None = None
    plugin_config: list[_PluginConfig] | None = None


class _Resource(_Strict):
    name: str | None = None
    ignored_by_scheduler: bool | None = None


class _Extender(_Strict):
    url_prefix: str | None = None
    filter_verb: str | None = None
    preempt_verb: str | None = None
    prioritize_verb: str | None = None
    weight: Int64 | None = None
    bind_verb: str | None = None
    enable_https: bool | None = msgspec.field(default=None, name="enableHTTPS")
    tls_config: dict[str, Any] | None = None
    http_timeout: str | None = None
    node_cache_capable: bool | None = None
    managed_resources: list[_Resource] | None = None
    ignorable: bool | None = None


class _Configuration(_Strict):
    api_version: str | None = None
    kind: str | None = None
    parallelism: Int32 | None = None
    leader_election: _LeaderElection | None = None
    client_connection: _ClientConnection | None = None
    enable_profiling: bool | None = None
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: Int32 | None = None
    pod_initial_backoff_seconds: Int64 | None = None
    pod_max_backoff_seconds: Int64 | None = None
    profiles: list[_Profile] | None = None
    extenders: list[_Extender] | None = None
    delay_cache_until_active: bool | None = None
    healthz_bind_address: str | None = None
    metrics_bind_address: str | None = None


_Weights = dict[str, Int64] | None
_Amounts = dict[str, str | int | float] | None
_Texts = list[str] | None
_Mapping = dict[str, Any] | None
_TYPES: Mapping[str, Any] = {
    "bool": bool | None,
    "int": Int64 | None,
    "str": str | None,
    "texts": _Texts,
    "weights": _Weights,
    "amounts": _Amounts,
    "mapping": _Mapping,
    "mappings": list[dict[str, Any]] | None,
    "duration": str | None,
}
_ARGUMENTS: Mapping[str, Mapping[str, str]] = {
    "Coscheduling": {
        "bool": "skipCheckScheduleCycle enablePreemption awareNetworkTopology",
        "int": "controllerWorkers",
        "str": "defaultMatchPolicy",
        "duration": "defaultTimeout",
    },
    "ElasticQuota": {
        "bool": "monitorAllQuotas enableCheckParentQuota enableRuntimeQuota enableMinQuotaScale"
        " disableDefaultQuotaPreemption enableQueueHint",
        "str": "quotaGroupNamespace",
        "duration": "delayEvictTime revokePodInterval quotaSnapshotUpdateInterval",
        "amounts": "defaultQuotaGroupMax systemQuotaGroupMax",
        "mappings": "hookPlugins",
    },
    "LoadAwareScheduling": {
        "bool": "filterExpiredNodeMetrics enableScheduleWhenNodeMetricsExpired prodUsageIncludeSys"
        " scoreAccordingProdUsage allowCustomizeEstimation",
        "int": "nodeMetricExpirationSeconds dominantResourceWeight estimatedSecondsAfterPodScheduled"
        " estimatedSecondsAfterInitialized",
        "weights": "resourceWeights usageThresholds prodUsageThresholds estimatedScalingFactors",
        "mapping": "aggregated",
    },
    "NodeNUMAResource": {"str": "defaultCPUBindPolicy", "mapping": "scoringStrategy numaScoringStrategy"},
    "DeviceShare": {
        "bool": "disableDeviceNUMATopologyAlignment",
        "str": "allocator",
        "mapping": "scoringStrategy gpuSharedResourceTemplatesConfig",
        "mappings": "gpuShareUnsupportedModels",
    },
    "Reservation": {
        "bool": "enablePreemption disableGarbageCollection",
        "int": "minCandidateNodesPercentage minCandidateNodesAbsolute controllerWorkers gcDurationSeconds"
        " gcIntervalSeconds resyncIntervalSeconds",
        "mapping": "reservationSelectorIndex",
    },
    "NodeResourcesFit": {"texts": "ignoredResources ignoredResourceGroups", "mapping": "scoringStrategy"},
    "NodeAffinity": {"mapping": "addedAffinity"},
    "DefaultPreemption": {"int": "minCandidateNodesPercentage minCandidateNodesAbsolute"},
    "SchedulingHint": {"int": "maxHintNodes"},
}
"""Arguments by their types; without those of which snapshots tell no more than that they are there."""


@lru_cache(maxsize=_MOST)
def fault(text: str, version: str) -> str:
    """Return why a scheduler of a version cannot decode a text that is YAML, empty where it can.

    An apiVersion may be missing: snapshots leave it out.
    """
    return next(_faults(text, version), "")


def _faults(text: str, version: str) -> Iterator[str]:
    import yaml  # noqa: PLC0415  (only where there is a configuration to read)

    from kubectl_koord.cluster.files import read_strictly  # noqa: PLC0415

    try:
        found = read_strictly(text, Meter())
    except (yaml.YAMLError, RecursionError, ValueError, TooLargeError) as problem:
        mark, what = getattr(problem, "problem_mark", None), getattr(problem, "problem", None)
        line = f"line {mark.line + 1}: " if mark else ""
        yield f"{line}{what or str(problem).partition(chr(10))[0]}"
        return
    if not isinstance(found, dict):
        yield f"it is no {KIND}"
        return
    kind, api = found.get("kind"), found.get("apiVersion")
    group, _, named = str(api).rpartition("/")
    if kind != KIND:
        yield f"its kind is {kind}, not {KIND}" if kind else "it has no kind"
    elif api is not None and (group != GROUP or named not in _VERSIONS.get(version, ("v1",))):
        yield f"its apiVersion is {api}, not {GROUP}/v1"
    else:
        yield from _ill_typed(found, _Configuration, "")
        for at, profile in enumerate(found.get("profiles") or ()):
            for plugin in profile.get("pluginConfig") or ():
                yield from _of_arguments(f"profiles[{at}]: {plugin.get('name')}", plugin)


def _of_arguments(where: str, plugin: Mapping[str, Any]) -> Iterator[str]:
    name, written = str(plugin.get("name")), plugin.get("args")
    types = _ARGUMENTS.get(name)
    if types is None or written is None:
        return
    if not isinstance(written, dict):
        yield f"{where}: args are no mapping"
        return
    if written.get("kind") not in {None, f"{name}Args"}:
        yield f"{where}: args are of kind {written['kind']}, not {name}Args"
    for type_name, names in types.items():
        for key in _there(names, written):
            yield from _ill_typed(written[key], _TYPES[type_name], f"{where}: {key}: ")
            if type_name == "duration" and isinstance(written[key], str) and fields.seconds(written[key]) is None:
                yield f"{where}: {key}: {written[key]!r} is no duration"


def _there(names: str, written: Mapping[str, Any]) -> Iterable[str]:
    return (name for name in names.split() if name in written)


def _ill_typed(value: Any, form: Any, where: str) -> Iterator[str]:  # noqa: ANN401 - whatever YAML holds, and types
    try:
        msgspec.convert(value, form)
    except msgspec.ValidationError as problem:
        yield f"{where}{problem}"
