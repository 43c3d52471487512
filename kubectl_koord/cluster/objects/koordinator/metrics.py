"""NodeMetrics, and the annotations of nodes that go with them, as they are written."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects.fields import durations, load_aware
from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, cpu_and_memory, measured, resources
from kubectl_koord.cluster.objects.fields.meta import Int64, Meta
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.model import load
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.values import quantity

_THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
_RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
_INTERVAL = 60
_CPU_AND_MEMORY = ("cpu", "memory")


class Measured(Struct, gc=False):
    """A resource list that was measured."""

    resources: Amounts | None = None


class MeasuredOverTime(Struct, gc=False):
    """status.nodeMetric.aggregatedNodeUsages[] of a NodeMetric."""

    duration: str = ""
    usage: dict[str, Measured] | None = None


class NodeMeasured(Struct, gc=False, rename="camel"):
    """status.nodeMetric of a NodeMetric."""

    node_usage: Measured | None = None
    system_usage: Measured | None = None
    aggregated_node_usages: list[MeasuredOverTime] | None = None


class PodMeasured(Struct, gc=False, rename="camel"):
    """status.podsMetric[] of a NodeMetric."""

    namespace: str = ""
    name: str = ""
    pod_usage: Measured | None = None
    priority: str = ""


class CollectPolicy(Struct, gc=False, rename="camel"):
    """spec.metricCollectPolicy of a NodeMetric."""

    report_interval_seconds: Int64 | None = None


class NodeMetricSpec(Struct, gc=False, rename="camel"):
    """spec of a NodeMetric."""

    metric_collect_policy: CollectPolicy | None = None


class NodeMetricStatus(Struct, gc=False, rename="camel"):
    """status of a NodeMetric."""

    update_time: str | None = None
    node_metric: NodeMeasured | None = None
    pods_metric: list[PodMeasured] | None = None


class NodeMetric(Struct, gc=False):
    """One NodeMetric: measured usage of a node and its pods."""

    metadata: Meta
    spec: NodeMetricSpec = field(default_factory=NodeMetricSpec)
    status: NodeMetricStatus = field(default_factory=NodeMetricStatus)


def metric(written: NodeMetric) -> load.NodeMetric:
    """Return what was measured of a node.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    status, policy = written.status, written.spec.metric_collect_policy
    of_node = status.node_metric
    return load.NodeMetric(
        used=None if of_node is None else _amounts(of_node.node_usage),
        updated=status.update_time or "",
        interval=_INTERVAL
        if policy is None or policy.report_interval_seconds is None
        else policy.report_interval_seconds,
        pods=_pods(status.pods_metric or ()),
        system=_amounts(of_node.system_usage) if of_node else (),
        over_time=_over_time(of_node) if of_node else (),
    )


def _pods(written: Iterable[PodMeasured]) -> tuple[load.PodUsage, ...] | load.PodUsages:
    found, listed = [], []
    for one in written:
        if one.pod_usage is not None and one.pod_usage.resources:
            found.append(one)
            listed.append(one.pod_usage.resources)
    names, namespaces = [one.name for one in found], [one.namespace for one in found]
    prod = [one.priority == "koord-prod" for one in found]
    used = _packed(listed)
    if used is not None:
        return load.measured_pods(names, namespaces, prod, used)
    return load.pod_usages(map(load.PodUsage, namespaces, names, map(measured, listed), prod))


def _over_time(written: NodeMeasured) -> tuple[load.UsageOverTime, ...] | load.UsagesOverTime:
    times, listed = [], []
    for one in written.aggregated_node_usages or ():
        seconds = durations.seconds(one.duration)
        if seconds is not None:
            for kind, usage in (one.usage or {}).items():
                if usage.resources:
                    times.append((kind, seconds))
                    listed.append(usage.resources)
    used = _packed(listed)
    if used is not None:
        return load.UsagesOverTime(shared(tuple(times)), used)
    return load.usages_over_time(
        load.UsageOverTime(*time, measured(amounts)) for time, amounts in zip(times, listed, strict=True)
    )


def _packed(written: Sequence[Amounts]) -> load.PackedAmounts | None:
    """Return CPU and memory of each as bytes, None where there are none, or others."""
    numbers = cpu_and_memory(written) if written else None
    return None if numbers is None else load.packed_amounts(_CPU_AND_MEMORY, numbers)


def completed(
    measured: load.NodeMetric, annotations: Mapping[str, str], configured: load.LoadSettings
) -> load.NodeMetric:
    """Return the same with what annotations of the node say, and usage over time only where a threshold is for it."""
    own = load_aware.own_thresholds(annotations.get(_THRESHOLDS))
    if measured.over_time and own.over(configured.thresholds).aggregated is None:
        measured = structs.replace(measured, over_time=())
    if not annotations:
        return measured
    return structs.replace(measured, thresholds=own, raw_allocatable=_raw(annotations.get(_RAW_ALLOCATABLE)))


def annotations_of(written: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return the annotations of a node that are read here."""
    return {name: value for name in (_THRESHOLDS, _RAW_ALLOCATABLE) if (value := (written or {}).get(name))}


def _amounts(written: Measured | None) -> Resources:
    return measured(written.resources) if written else ()


def _raw(written: str | None) -> Resources:
    try:
        return resources(amounts(_object(written)))
    except quantity.QuantityError:
        return ()


def _object(written: str | None) -> dict[str, Any]:
    try:
        found = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
