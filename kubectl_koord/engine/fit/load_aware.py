"""LoadAwareScheduling: nodes whose measured usage, with the pod's estimate added, is above a threshold.

Mirrors pkg/scheduler/plugins/loadaware with the chart's settings (65 % CPU, 95 % memory, stale
metrics used as if fresh). Counting slots adds no members to what a node uses, as upstream's cache does
not know of them yet; when a plan is carried out, those that are placed on a node count.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import ClassVar, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.reasons import Overloaded, Reason
from kubectl_koord.engine.view import NodeState
from kubectl_koord.model.memo import Identity, memoised
from kubectl_koord.model.objects import Node, NodeMetric
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources, RunningPod
from kubectl_koord.model.snapshot import Snapshot


class Usage(Struct, frozen=True, gc=False):
    """What a node uses of one resource as the scheduler estimates it, and the threshold in percent."""

    resource: str
    used: int
    total: int
    threshold: int


_ByNode: TypeAlias = Mapping[str, tuple[Usage, ...]]


class LoadAware(Stateless, Struct, frozen=True):
    """The filter: what nodes use, to which a member's own estimate is added."""

    depends_on: ClassVar[DependsOn] = "books"
    usage: Identity[_ByNode]

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the pod's estimate would lift the node's usage above a threshold."""
        if state.node.metric is None:
            return None
        usage = self.usage.value.get(state.node.name, ())
        placed = state.booked(_of_placed)
        return overloaded(pod.requirements, _with(usage, placed) if placed else usage)


def prepare(_trigger: PendingPod, cluster: Cluster) -> LoadAware | None:
    """Return the filter; None where no node is measured against a threshold."""
    usage = estimated(cluster.view.snapshot)
    return LoadAware(Identity(usage)) if usage else None


@memoised
def estimated(snapshot: Snapshot) -> _ByNode:
    """Return what nodes use, as far as they are measured and have a threshold.

    It is made of the pods of the snapshot itself. A what-if keeps it: nobody measured the node without the pods that
    go there, and pods that come count once they are placed.
    """
    configured = snapshot.config.usage_thresholds
    found = {
        name: _usage(node, node.metric, snapshot.running.get(name, ()), node.metric.limits(configured))
        for name, node in snapshot.nodes.items()
        if node.metric is not None
    }
    return {name: usage for name, usage in found.items() if usage}


def _usage(node: Node, metric: NodeMetric, pods: Iterable[RunningPod], limits: Mapping[str, int]) -> tuple[Usage, ...]:
    """Return what was measured, and what is expected of pods that the measuring missed (`GetNodeMetricNonNil`)."""
    used = dict(metric.used)
    reported = {(one.namespace, one.name): one.used for one in reversed(metric.pods)}
    new_since = _new_since(metric)
    for pod in pods:
        known = reported.get((pod.namespace, pod.name))
        if known is None or _is_new(pod, new_since):
            for resource, more in _above(pod.requirements.estimate, known or ()):
                used[resource] = used.get(resource, 0) + more
    totals = dict(node.allocatable) | dict(metric.raw_allocatable)
    return tuple(Usage(name, used.get(name, 0), totals.get(name, 0), limit) for name, limit in limits.items())


def _above(estimate: Resources, known: Resources) -> Iterable[tuple[str, int]]:
    """Return what a pod is expected to use above what was measured of it."""
    measured = dict(known)
    return ((resource, max(0, amount - measured.get(resource, 0))) for resource, amount in estimate)


def _new_since(metric: NodeMetric) -> datetime | None:
    """Return from when on pods are too new for what was measured of them, None where that is not told."""
    try:
        return datetime.fromisoformat(metric.updated) - timedelta(seconds=metric.interval)
    except (ValueError, OverflowError):
        return None


def _is_new(pod: RunningPod, since: datetime | None) -> bool:
    try:
        return since is not None and since < datetime.fromisoformat(pod.scheduled)
    except (ValueError, TypeError):  # no time, or one of them without a zone
        return False


def _of_placed(state: NodeState) -> Mapping[str, int]:
    """Return what is expected of the members that were placed on a node, by resource."""
    expected: dict[str, int] = {}
    for pod in state.occupants:
        if isinstance(pod, PendingPod) and pod.allocations is not None:
            for resource, amount in pod.requirements.estimate:
                expected[resource] = expected.get(resource, 0) + amount
    return expected


def _with(usage: Iterable[Usage], more: Mapping[str, int]) -> tuple[Usage, ...]:
    return tuple(structs.replace(one, used=one.used + more.get(one.resource, 0)) for one in usage)


def overloaded(requirements: PodRequirements, usage: Iterable[Usage]) -> Overloaded | None:
    """Return a reason when the estimate would lift the node's usage above a threshold."""
    if requirements.of_daemon_set:
        return None
    estimate = dict(requirements.estimate)
    for one in usage:
        if one.total <= 0 or one.threshold <= 0:
            continue
        used = one.used + estimate.get(one.resource, 0)
        percent = (200 * used + one.total) // (2 * one.total)
        if percent > one.threshold:
            return Overloaded(one.resource, percent, one.threshold)
    return None
