"""NodeMetrics, and the annotations of nodes that go with them, as they are written."""

import json
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from kubectl_koord.cluster.objects import pod_requirements, wire
from kubectl_koord.model.objects import NodeMetric, PodUsage
from kubectl_koord.model.pods import Resources
from kubectl_koord.model.quantity import QuantityError

THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
_INTERVAL = 60


def metric(written: wire.NodeMetric) -> NodeMetric | None:
    """Return what was measured of a node, None for nothing.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    status, policy = written.status, written.spec.metric_collect_policy
    pods = tuple(PodUsage(one.namespace, one.name, _amounts(one.pod_usage)) for one in status.pods_metric or ())
    if status.node_metric is None:
        return None
    return NodeMetric(
        used=_amounts(status.node_metric.node_usage),
        updated=status.update_time or "",
        interval=(policy.report_interval_seconds if policy else None) or _INTERVAL,
        pods=pods,
    )


def with_annotations(measured: NodeMetric, annotations: Mapping[str, str]) -> NodeMetric:
    """Return the same with what the node's annotations say."""
    if not annotations:
        return measured
    return structs.replace(
        measured,
        thresholds=_thresholds(annotations.get(THRESHOLDS)),
        raw_allocatable=_raw(annotations.get(RAW_ALLOCATABLE)),
    )


def annotations_of(written: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return the annotations of a node that are read here."""
    return {name: value for name in (THRESHOLDS, RAW_ALLOCATABLE) if (value := (written or {}).get(name))}


def is_customised(annotations: Mapping[str, str]) -> bool:
    """Tell whether the node sets thresholds that are not evaluated (for prod pods, or aggregated)."""
    written = _object(annotations.get(THRESHOLDS))
    return bool(written.get("prodUsageThresholds") or written.get("aggregatedUsage"))


def _amounts(written: wire.Measured | None) -> Resources:
    return pod_requirements.resources(pod_requirements.amounts(written.resources if written else None))


def _raw(written: str | None) -> Resources:
    try:
        return pod_requirements.resources(pod_requirements.amounts(_object(written)))
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
