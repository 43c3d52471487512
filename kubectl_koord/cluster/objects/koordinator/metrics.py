"""NodeMetrics, and the annotations of nodes that go with them, as they are written."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects.fields import durations, load_aware
from kubectl_koord.cluster.objects.fields.amounts import (
    CPU_AND_MEMORY,
    Amounts,
    amounts,
    cpu_and_memory,
    measured,
    resources,
)
from kubectl_koord.cluster.objects.fields.meta import Int64, Meta
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.model import load
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.values import quantity

_THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
_RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
_INTERVAL = 60

Time: TypeAlias = tuple[str, float]
"""The type of an aggregation, and seconds."""


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


_NOTHING = NodeMeasured()


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
    of_node = status.node_metric or _NOTHING
    pods, of_pods = _of_pods(status.pods_metric or ())
    times, over_time = _over_time(of_node.aggregated_node_usages or ())
    whole, system = _only(of_node.node_usage), _only(of_node.system_usage)
    in_whole, in_system, in_pods, in_time = _numbers(whole, system, of_pods, over_time)
    return load.NodeMetric(
        used=None if status.node_metric is None else _used(whole, in_whole),
        updated=status.update_time or "",
        interval=_INTERVAL
        if policy is None or policy.report_interval_seconds is None
        else policy.report_interval_seconds,
        pods=_pods(pods, of_pods, in_pods),
        system=_used(system, in_system),
        over_time=_usages_over_time(times, over_time, in_time),
    )


def _of_pods(written: Iterable[PodMeasured]) -> tuple[list[PodMeasured], list[Amounts]]:
    """Return the pods of which something was measured, and what."""
    found, listed = [], []
    for one in written:
        if one.pod_usage is not None and one.pod_usage.resources:
            found.append(one)
            listed.append(one.pod_usage.resources)
    return found, listed


def _over_time(written: Iterable[MeasuredOverTime]) -> tuple[tuple[Time, ...], list[Amounts]]:
    """Return the times over which something was measured, and what."""
    times, listed = [], []
    for one in written:
        seconds = durations.seconds(one.duration)
        if seconds is not None:
            for kind, usage in (one.usage or {}).items():
                if usage.resources:
                    times.append((kind, seconds))
                    listed.append(usage.resources)
    return shared(tuple(times)), listed


def _only(written: Measured | None) -> Sequence[Amounts]:
    """Return what was measured: one list, or none."""
    return (written.resources,) if written is not None and written.resources else ()


def _numbers(*written: Sequence[Amounts]) -> Iterator[list[int] | None]:
    """Yield CPU and memory of all lists of each kind, read together; None where there are none, or others."""
    together = list(chain.from_iterable(written))
    numbers = cpu_and_memory(together) if together else None
    start = 0
    for lists in written:
        end = start + len(CPU_AND_MEMORY) * len(lists)
        if numbers is None:
            yield cpu_and_memory(lists) if lists else None
        else:
            yield numbers[start:end] or None
        start = end


def _used(written: Sequence[Amounts], numbers: list[int] | None) -> Resources:
    if numbers is None:
        return measured(written[0]) if written else ()
    return tuple([pair for pair in zip(CPU_AND_MEMORY, numbers, strict=True) if pair[1]])


def _pods(
    pods: Sequence[PodMeasured], written: Iterable[Amounts], numbers: list[int] | None
) -> tuple[load.PodUsage, ...] | load.PodUsages:
    names, namespaces = [one.name for one in pods], [one.namespace for one in pods]
    prod = [one.priority == "koord-prod" for one in pods]
    used = _packed(numbers)
    if used is not None:
        return load.measured_pods(names, namespaces, prod, used)
    return load.pod_usages(map(load.PodUsage, namespaces, names, map(measured, written), prod))


def _usages_over_time(
    times: tuple[Time, ...], written: Iterable[Amounts], numbers: list[int] | None
) -> tuple[load.UsageOverTime, ...] | load.UsagesOverTime:
    used = _packed(numbers)
    if used is not None:
        return load.UsagesOverTime(times, used)
    return load.usages_over_time(
        load.UsageOverTime(*time, measured(amounts)) for time, amounts in zip(times, written, strict=True)
    )


def _packed(numbers: list[int] | None) -> load.PackedAmounts | None:
    return None if numbers is None else load.packed_amounts(CPU_AND_MEMORY, numbers)


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
