"""NodeMetrics, and the annotations of nodes that go with them, as they are written."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts, resources
from kubectl_koord.cluster.objects.fields.meta import Int64, Meta
from kubectl_koord.model import objects
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.quantity import QuantityError

_THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
_RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
_INTERVAL = 60


class Measured(Struct, gc=False):
    """A resource list that was measured."""

    resources: Amounts | None = None


class NodeMeasured(Struct, gc=False, rename="camel"):
    """status.nodeMetric of a NodeMetric."""

    node_usage: Measured | None = None


class PodMeasured(Struct, gc=False, rename="camel"):
    """status.podsMetric[] of a NodeMetric."""

    namespace: str = ""
    name: str = ""
    pod_usage: Measured | None = None


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


def metric(written: NodeMetric) -> objects.NodeMetric | None:
    """Return what was measured of a node, None for nothing.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    status, policy = written.status, written.spec.metric_collect_policy
    pods = tuple(objects.PodUsage(one.namespace, one.name, _amounts(one.pod_usage)) for one in status.pods_metric or ())
    if status.node_metric is None:
        return None
    return objects.NodeMetric(
        used=_amounts(status.node_metric.node_usage),
        updated=status.update_time or "",
        interval=(policy.report_interval_seconds if policy else None) or _INTERVAL,
        pods=pods,
    )


def with_annotations(measured: objects.NodeMetric, annotations: Mapping[str, str]) -> objects.NodeMetric:
    """Return the same with what the node's annotations say."""
    if not annotations:
        return measured
    return structs.replace(
        measured,
        thresholds=_thresholds(annotations.get(_THRESHOLDS)),
        raw_allocatable=_raw(annotations.get(_RAW_ALLOCATABLE)),
    )


def annotations_of(written: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return the annotations of a node that are read here."""
    return {name: value for name in (_THRESHOLDS, _RAW_ALLOCATABLE) if (value := (written or {}).get(name))}


def is_customised(annotations: Mapping[str, str]) -> bool:
    """Tell whether the node sets thresholds that are not evaluated (for prod pods, or aggregated)."""
    written = _object(annotations.get(_THRESHOLDS))
    return bool(written.get("prodUsageThresholds") or written.get("aggregatedUsage"))


def _amounts(written: Measured | None) -> Resources:
    return resources(amounts(written.resources if written else None))


def _raw(written: str | None) -> Resources:
    try:
        return resources(amounts(_object(written)))
    except QuantityError:
        return ()


def _thresholds(written: str | None) -> tuple[tuple[str, int], ...]:
    thresholds = _object(written).get("usageThresholds")
    if not isinstance(thresholds, dict):
        return ()
    return tuple((name, value) for name, value in thresholds.items() if type(value) is int)


def _object(written: str | None) -> dict[str, Any]:
    try:
        found = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
