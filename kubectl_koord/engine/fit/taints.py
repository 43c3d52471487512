"""Taints that a pod does not tolerate (plugins/tainttoleration)."""

from collections.abc import Collection
from operator import attrgetter
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, Sees, classes, first_of
from kubectl_koord.engine.fit.check import ByClass, Cluster, DependsOn
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    Reason,
    Untolerated,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.selectors import Taint, tolerates

_HARD = {"NoSchedule", "NoExecute"}
_taints: Sees = attrgetter("taints")


class Taints(ByClass, Struct, frozen=True):
    """The filter: a member's own tolerations count."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason that names the first hard taint which the pod does not tolerate."""
        taint = untolerated(pod.requirements, state.node)
        return Untolerated(taint) if taint is not None else None

    def classes(self, view: View, _pod: PendingPod) -> Collection[NodeSet]:
        """Return all nodes in classes."""
        return classes(view, _taints).values()


def tolerated(view: View, requirements: PodRequirements) -> NodeSet:
    """Return the nodes of which a pod tolerates all hard taints."""
    found = 0
    for nodes in classes(view, _taints).values():
        if untolerated(requirements, view.node(first_of(view, nodes))) is None:
            found |= nodes
    return found


def untolerated(requirements: PodRequirements, node: Node) -> Taint | None:
    """Return the first hard taint of the node that the pod does not tolerate."""
    for taint in node.taints:
        if taint.effect in _HARD and not any(tolerates(toleration, taint) for toleration in requirements.tolerations):
            return taint
    return None


def prepare(_trigger: PendingPod, _cluster: Cluster) -> Taints:
    """Return the filter, which needs no preparation."""
    return Taints()
