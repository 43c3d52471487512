"""How LoadAwareScheduling is configured, for all nodes, one node or one pod: thresholds, what estimates are made of."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct

from kubectl_koord.cluster.objects.fields import durations, go_json
from kubectl_koord.cluster.objects.fields.integers import parse_int
from kubectl_koord.cluster.objects.fields.meta import Int64
from kubectl_koord.model.load import AggregatedThresholds, EstimatedTime, LoadSettings, Percentages, Thresholds

_DEFAULT_EXPIRATION = 180
_RESOURCES = ("cpu", "memory")
_DOMAIN = "scheduling.koordinator.sh/"
_FACTORS = _DOMAIN + "load-estimated-scaling-factors"
_AFTER_SCHEDULED = _DOMAIN + "load-estimated-seconds-after-pod-scheduled"
AFTER_INITIALIZED = _DOMAIN + "load-estimated-seconds-after-initialized"
ANNOTATIONS = (_FACTORS, _AFTER_SCHEDULED, AFTER_INITIALIZED)
"""The annotations by which a pod says how its usage is to be estimated."""
_MOST = 1 << 8


class Aggregated(Struct, gc=False, rename="camel"):
    """aggregatedUsage of the annotation, or `aggregated` of the arguments."""

    usage_thresholds: dict[str, Int64] | None = None
    usage_aggregation_type: str = ""
    usage_aggregated_duration: str | None = None


class Custom(Struct, gc=False, rename="camel"):
    """The annotation usage-thresholds of a node."""

    usage_thresholds: dict[str, Int64] | None = None
    prod_usage_thresholds: dict[str, Int64] | None = None
    aggregated_usage: Aggregated | None = None


class Arguments(Struct, gc=False, rename="camel"):
    """LoadAwareSchedulingArgs."""

    usage_thresholds: dict[str, Int64] | None = None
    prod_usage_thresholds: dict[str, Int64] | None = None
    aggregated: Aggregated | None = None
    filter_expired_node_metrics: bool | None = None
    node_metric_expiration_seconds: Int64 | None = None
    enable_schedule_when_node_metrics_expired: bool | None = None
    estimated_scaling_factors: dict[str, Int64] | None = None
    estimated_seconds_after_pod_scheduled: Int64 | None = None
    estimated_seconds_after_initialized: Int64 | None = None
    prod_usage_include_sys: bool = False
    allow_customize_estimation: bool = False


@lru_cache(maxsize=1024)
def own_thresholds(annotation: str | None) -> Thresholds:
    """Return a node's own thresholds; one that cannot be read counts for nothing, as the scheduler has it."""
    if not annotation:
        return Thresholds()
    try:
        written: Custom = go_json.decode(annotation, Custom)
    except (msgspec.DecodeError, RecursionError):
        return Thresholds()
    if not _is_duration(written.aggregated_usage):
        return Thresholds()
    return _thresholds(written.usage_thresholds, written.prod_usage_thresholds, written.aggregated_usage)


def settings(arguments: Mapping[str, Any]) -> LoadSettings:
    """Return the plugin's arguments, with upstream's defaults for what they leave out.

    Arguments that the scheduler could not read either are taken as none. Mirrors `SetDefaults_LoadAwareSchedulingArgs`.
    """
    try:
        written = msgspec.convert(arguments, Arguments)
    except msgspec.ValidationError:
        written = Arguments()
    defaults = LoadSettings()
    own = _thresholds(written.usage_thresholds, written.prod_usage_thresholds, written.aggregated)
    expiration = written.node_metric_expiration_seconds
    return LoadSettings(
        thresholds=own.over(Thresholds(whole=defaults.thresholds.whole)),
        factors=_percentages(dict(defaults.factors) | (written.estimated_scaling_factors or {})),
        filters_expired=written.filter_expired_node_metrics is not False,
        expiration=_DEFAULT_EXPIRATION if expiration is None else expiration,
        passes_expired=bool(written.enable_schedule_when_node_metrics_expired),
        after_scheduled=max(0, written.estimated_seconds_after_pod_scheduled or 0),
        prod_includes_system=written.prod_usage_include_sys,
        after_initialized=max(0, written.estimated_seconds_after_initialized or 0),
        customizable=written.allow_customize_estimation,
        limits_others=any(_limited_others(written)),
    )


def own_factors(annotations: Mapping[str, str | None]) -> Mapping[str, int]:
    """Return the percentages that a pod sets itself, none where they cannot be read.

    Mirrors `GetCustomEstimatedScalingFactors` in apis/extension/load_aware.go.
    """
    written = annotations.get(_FACTORS)
    return _own_factors(written) if written else {}


@lru_cache(_MOST)
def _own_factors(written: str) -> Mapping[str, int]:
    try:
        found = msgspec.json.decode(written, type=dict[str, Int64 | None] | None)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return {resource: percent or 0 for resource, percent in (found or {}).items()}


def estimated_time(annotations: Mapping[str, str | None]) -> EstimatedTime | None:
    """Return for how long a pod itself wants its estimate to count, None where it says nothing that can be read.

    Mirrors `GetCustomEstimatedSecondsAfterPodScheduled` and `...AfterInitialized` in apis/extension/load_aware.go.
    """
    found = EstimatedTime(_seconds(annotations.get(_AFTER_SCHEDULED)), _seconds(annotations.get(AFTER_INITIALIZED)))
    return None if found == EstimatedTime() else found


def _seconds(written: str | None) -> int | None:
    """Return seconds, None for what is no number, and for what is below 0."""
    value = parse_int(written)
    return value if value is not None and value >= 0 else None


def _limited_others(written: Arguments) -> Iterator[int]:
    """Yield the thresholds of resources that are not measured here."""
    aggregated = written.aggregated.usage_thresholds if written.aggregated is not None else None
    for group in (written.usage_thresholds, written.prod_usage_thresholds, aggregated):
        yield from (percent for resource, percent in (group or {}).items() if resource not in _RESOURCES)


def _is_duration(written: Aggregated | None) -> bool:
    """Tell whether the duration, if any, is one; where it is not, nothing of the annotation can be read."""
    text = written.usage_aggregated_duration if written is not None else None
    return text is None or (text != "" and durations.seconds(text) is not None)


def _thresholds(whole: dict[str, int] | None, prod: dict[str, int] | None, aggregated: Aggregated | None) -> Thresholds:
    return Thresholds(_percentages(whole), _percentages(prod), _aggregated(aggregated))


def _percentages(written: Mapping[str, int] | None) -> Percentages:
    """Return what is written of the resources that are measured; a group that names others alone is switched off."""
    known = tuple((resource, written[resource]) for resource in _RESOURCES if written and resource in written)
    return known or ((("cpu", 0),) if written else ())


def _aggregated(written: Aggregated | None) -> AggregatedThresholds | None:
    if written is None or not written.usage_thresholds or not written.usage_aggregation_type:
        return None
    seconds = durations.seconds(written.usage_aggregated_duration or "") or 0
    return AggregatedThresholds(_percentages(written.usage_thresholds), written.usage_aggregation_type, seconds)
