"""NodeMetrics, and the annotations of nodes that belong to them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects import fields, settings
from kubectl_koord.cluster.objects.fields import Int64, Meta
from kubectl_koord.cluster.objects.pool import CPU_AND_MEMORY, Amounts, amounts, cpu_and_memory, measured, resources
from kubectl_koord.model import keys, load, values
from kubectl_koord.model.values import Resources

_INTERVAL = 60
_MOST_TIMES = 1 << 8

Time: TypeAlias = tuple[str, float]
"""The type of an aggregation, and seconds."""


class Measured(Struct, frozen=True, gc=False, omit_defaults=True):
    """A resource list that was measured."""

    resources: Amounts | None = None


class MeasuredOverTime(Struct, gc=False, omit_defaults=True):
    """status.nodeMetric.aggregatedNodeUsages[] of a NodeMetric."""

    duration: str = ""
    usage: dict[str, Measured] | None = None


class NodeMeasured(Struct, gc=False, omit_defaults=True, rename="camel"):
    """status.nodeMetric of a NodeMetric."""

    node_usage: Measured | None = None
    system_usage: Measured | None = None
    aggregated_node_usages: list[MeasuredOverTime] | None = None


class PodMeasured(Struct, gc=False, omit_defaults=True, rename="camel"):
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


class NodeMetricStatus(Struct, gc=False, omit_defaults=True, rename="camel"):
    """status of a NodeMetric."""

    update_time: str | None = None
    node_metric: NodeMeasured | None = None
    pods_metric: list[PodMeasured] | None = None


class NodeMetric(Struct, gc=False):
    """One NodeMetric: measured usage of a node and its pods."""

    metadata: Meta
    spec: NodeMetricSpec = field(default_factory=NodeMetricSpec)
    status: NodeMetricStatus = field(default_factory=NodeMetricStatus)


_Numbers: TypeAlias = tuple[list[int] | None, list[int] | None, list[int] | None, list[int] | None]
"""CPU and memory of the lists of each kind, None or nothing for one that has others."""


class _Lists(NamedTuple):
    """The resource lists of a NodeMetric, with the pods and times that some belong to."""

    whole: Sequence[Any]
    system: Sequence[Any]
    of_pods: Sequence[Any]
    over_time: Sequence[Any]
    pods: Sequence[PodMeasured]
    times: tuple[Time, ...]

    def groups(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return the lists in groups: koordlet writes all lists of a group in the same units."""
        return (*self.whole, *self.system, *self.of_pods), self.over_time

    def numbers(self, of_groups: Sequence[list[int]]) -> _Numbers:
        """Return CPU and memory of the lists of each kind; `of_groups` are those of `groups`."""
        now, over_time = of_groups
        system = len(CPU_AND_MEMORY) * len(self.whole)
        pods = system + len(CPU_AND_MEMORY) * len(self.system)
        return now[:system], now[system:pods], now[pods:], over_time


_encode = msgspec.json.Encoder().encode


def metric(written: NodeMetric) -> load.NodeMetric:
    """Return what was measured of a node. Raises QuantityError when an amount is no quantity."""
    lists = _lists(written.status)
    numbers = cpu_and_memory(*[list(map(_encode, group)) for group in lists.groups()])
    return _metric(written, lists, lists.numbers(numbers)) if numbers else _odd_metric(written)


def _odd_metric(written: NodeMetric) -> load.NodeMetric:
    """Return what was measured of a node, whatever is written, and however."""
    lists = _lists(_measured_only(written.status))
    whole, system, of_pods, over_time = (
        found[0] if (found := cpu_and_memory(list(map(_encode, some)))) else None
        for some in (lists.whole, lists.system, lists.of_pods, lists.over_time)
    )
    return _metric(written, lists, (whole, system, of_pods, over_time))


def _metric(written: NodeMetric, lists: _Lists, numbers: _Numbers) -> load.NodeMetric:
    """Return the value of a NodeMetric; `numbers` are CPU and memory of each kind of list, None for other resources."""
    status, policy = written.status, written.spec.metric_collect_policy
    in_whole, in_system, in_pods, in_time = numbers
    return load.NodeMetric(
        used=None if status.node_metric is None else _used(lists.whole, in_whole),
        updated=status.update_time or "",
        interval=_INTERVAL
        if policy is None or policy.report_interval_seconds is None
        else policy.report_interval_seconds,
        pods=_pods(lists.pods, lists.of_pods, in_pods),
        system=_used(lists.system, in_system),
        over_time=_usages_over_time(lists.times, lists.over_time, in_time),
    )


def _measured_only(status: NodeMetricStatus) -> NodeMetricStatus:
    of_node = status.node_metric
    if of_node is not None:
        over_time = [
            MeasuredOverTime(
                one.duration, {kind: usage for kind, usage in (one.usage or {}).items() if usage.resources}
            )
            for one in of_node.aggregated_node_usages or ()
        ]
        of_node = NodeMeasured(_full(of_node.node_usage), _full(of_node.system_usage), over_time)
    pods = [one for one in status.pods_metric or () if _full(one.pod_usage)]
    return NodeMetricStatus(status.update_time, of_node, pods)


def _full(written: Measured | None) -> Measured | None:
    return written if written is not None and written.resources else None


def _lists(status: NodeMetricStatus) -> _Lists:
    of_node = status.node_metric or NodeMeasured()
    pods = [one for one in status.pods_metric or () if one.pod_usage]
    over_time: list[Any] = []
    times = []
    for one in of_node.aggregated_node_usages or ():
        if one.usage and fields.seconds(one.duration) is not None:
            times.append((one.duration, *one.usage))
            over_time += [usage.resources for usage in one.usage.values()]
    return _Lists(
        _only(of_node.node_usage),
        _only(of_node.system_usage),
        [usage.resources for one in pods if (usage := one.pod_usage)],
        over_time,
        pods,
        _times(tuple(times)),
    )


@lru_cache(_MOST_TIMES)
def _times(written: tuple[tuple[str, ...], ...]) -> tuple[Time, ...]:
    """Return the times over which something was measured: of durations, each with the types of aggregations."""
    return tuple((kind, fields.seconds(duration) or 0) for duration, *kinds in written for kind in kinds)


def _only(written: Measured | None) -> Sequence[Any]:
    return (written.resources,) if written else ()


def _used(written: Sequence[Amounts], numbers: list[int] | None) -> Resources:
    if not numbers:
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
    return load.packed_amounts(CPU_AND_MEMORY, numbers) if numbers else None


def completed(
    measured: load.NodeMetric, annotations: Mapping[str, str], configured: load.LoadSettings
) -> load.NodeMetric:
    """Return a measurement with what the node's annotations say; usage over time only where a threshold needs it."""
    own = settings.own_thresholds(annotations.get(keys.USAGE_THRESHOLDS))
    if measured.over_time and own.over(configured.thresholds).aggregated is None:
        measured = structs.replace(measured, over_time=())
    if not annotations:
        return measured
    return structs.replace(measured, thresholds=own, raw_allocatable=_raw(annotations.get(keys.RAW_ALLOCATABLE)))


def annotations_of(written: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return the annotations of a node that are read here."""
    return {
        name: value for name in (keys.USAGE_THRESHOLDS, keys.RAW_ALLOCATABLE) if (value := (written or {}).get(name))
    }


def _raw(written: str | None) -> Resources:
    try:
        return resources(amounts(_object(written)))
    except values.QuantityError:
        return ()


def _object(written: str | None) -> dict[str, Any]:
    try:
        found = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
