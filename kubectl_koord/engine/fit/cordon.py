"""Cordoned nodes (plugins/nodeunschedulable)."""

from collections.abc import Collection
from operator import attrgetter
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, Sees, classes
from kubectl_koord.engine.fit.check import ByClass, Cluster, DependsOn
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    Cordoned,
    Reason,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.selectors import Taint, tolerates

_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_unschedulable: Sees = attrgetter("unschedulable")


class Cordon(ByClass, Struct, frozen=True):
    """The filter: a member's own tolerations count."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the node is cordoned and the pod does not tolerate that."""
        if state.node.unschedulable and not any(tolerates(one, _CORDON) for one in pod.requirements.tolerations):
            return Cordoned()
        return None

    def classes(self, view: View, _pod: PendingPod) -> Collection[NodeSet]:
        """Return all nodes in classes."""
        return classes(view, _unschedulable).values()


def prepare(_trigger: PendingPod, _cluster: Cluster) -> Cordon:
    """Return the filter, which needs no preparation."""
    return Cordon()
