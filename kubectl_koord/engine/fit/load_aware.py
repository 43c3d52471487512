"""LoadAwareScheduling: nodes whose measured usage, with the pod's estimate added, is above a threshold.

Mirrors pkg/scheduler/plugins/loadaware with the chart's settings (65 % CPU, 95 % memory, stale
metrics used as if fresh). What a node already uses was computed when it was read; members of the
gang are not added to it, as upstream's cache learns of them only when they are bound.
"""

from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.reasons import Overloaded, Reason
from kubectl_koord.engine.view import NodeState
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements


class LoadAware(Stateless, Struct, frozen=True):
    """The filter: a member's own estimate counts."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the pod's estimate would lift the node's usage above a threshold."""
        return overloaded(pod.requirements, state.node)


def prepare(_trigger: PendingPod, _cluster: Cluster) -> LoadAware:
    """Return the filter, which needs no preparation."""
    return LoadAware()


def overloaded(requirements: PodRequirements, node: Node) -> Overloaded | None:
    """Return a reason when the estimate would lift the node's usage above a threshold."""
    if not node.load or requirements.of_daemon_set:
        return None
    estimate = dict(requirements.estimate)
    for usage in node.load:
        if usage.total <= 0 or usage.threshold <= 0:
            continue
        used = usage.used + estimate.get(usage.resource, 0)
        percent = (200 * used + usage.total) // (2 * usage.total)
        if percent > usage.threshold:
            return Overloaded(usage.resource, percent, usage.threshold)
    return None
