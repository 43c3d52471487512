"""NodeMetrics to the usage that LoadAwareScheduling computes with, once nodes and pods are known."""

import json
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from kubectl_koord.cluster.objects import pod_requirements, wire
from kubectl_koord.model.objects import Node, Usage
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.quantity import QuantityError

THRESHOLDS = "scheduling.koordinator.sh/usage-thresholds"
RAW_ALLOCATABLE = "node.koordinator.sh/raw-allocatable"
_INTERVAL = 60


def usage(
    metric: wire.NodeMetric,
    node: Node,
    annotations: Mapping[str, str],
    pods: Iterable[RunningPod],
    thresholds: Mapping[str, int],
) -> tuple[Usage, ...]:
    """Return the estimated usage of a node: what was measured, and pods that the measuring missed.

    Empty where nothing was measured. Mirrors `GetNodeMetricNonNil` and `Filter` in plugins/loadaware.
    """
    measured = metric.status.node_metric
    if measured is None:
        return ()
    used = _measured(measured.node_usage)
    for pod in pods:
        for resource, more in _missed(metric, pod):
            used[resource] = used.get(resource, 0) + more
    totals = dict(node.allocatable) | _raw(annotations.get(RAW_ALLOCATABLE))
    limits = _overridden(annotations.get(THRESHOLDS)) or thresholds
    return tuple(
        Usage(resource, used.get(resource, 0), totals.get(resource, 0), limits[resource])
        for resource in ("cpu", "memory")
        if limits.get(resource)
    )


def check(metric: wire.NodeMetric) -> None:
    """Read every amount once.

    Raises:
        QuantityError: when one is no quantity.

    """
    if metric.status.node_metric is not None:
        _measured(metric.status.node_metric.node_usage)
    for one in metric.status.pods_metric or ():
        _measured(one.pod_usage)


def annotations_of(written: Mapping[str, str | None] | None) -> dict[str, str]:
    """Return the annotations of a node that are read here."""
    return {name: value for name in (THRESHOLDS, RAW_ALLOCATABLE) if (value := (written or {}).get(name))}


def is_customised(annotations: Mapping[str, str]) -> bool:
    """Tell whether the node sets thresholds that are not evaluated (for prod pods, or aggregated)."""
    written = _object(annotations.get(THRESHOLDS))
    return bool(written.get("prodUsageThresholds") or written.get("aggregatedUsage"))


def _missed(metric: wire.NodeMetric, pod: RunningPod) -> list[tuple[str, int]]:
    """Return what a pod is expected to use above what was measured of it, if it is too new for that."""
    reported = next(
        (one for one in metric.status.pods_metric or () if (one.namespace, one.name) == (pod.namespace, pod.name)),
        None,
    )
    if reported is not None and not _is_new(metric, pod):
        return []
    known = _measured(reported.pod_usage) if reported is not None else {}
    return [(resource, max(0, value - known.get(resource, 0))) for resource, value in pod.requirements.estimate]


def _is_new(metric: wire.NodeMetric, pod: RunningPod) -> bool:
    policy = metric.spec.metric_collect_policy
    interval = (policy.report_interval_seconds if policy else None) or _INTERVAL
    try:
        updated = datetime.fromisoformat(metric.status.update_time or "")
        return updated - timedelta(seconds=interval) < datetime.fromisoformat(pod.scheduled)
    except (ValueError, TypeError, OverflowError):
        return False


def _measured(written: wire.Measured | None) -> dict[str, int]:
    return dict(pod_requirements.resources(pod_requirements.amounts(written.resources if written else None)))


def _raw(written: str | None) -> dict[str, int]:
    try:
        return dict(pod_requirements.resources(pod_requirements.amounts(_object(written))))
    except QuantityError:
        return {}


def _overridden(written: str | None) -> dict[str, int]:
    thresholds = _object(written).get("usageThresholds")
    if not isinstance(thresholds, dict):
        return {}
    return {name: value for name, value in thresholds.items() if type(value) is int}


def _object(written: str | None) -> dict[str, Any]:
    try:
        found = json.loads(written or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
