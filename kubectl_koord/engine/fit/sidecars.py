"""Restartable init containers, which Kubernetes 1.28 does not schedule (`Fit.Filter` in plugins/noderesources)."""

from collections.abc import Iterable
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    Reason,
    SidecarsUnknown,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements


class Sidecars(Stateless, Struct, frozen=True):
    """The filter of a version that does not know sidecars."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, pod: PendingPod, _state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the pod has sidecars."""
        return SidecarsUnknown() if pod.requirements.sidecars else None

    def refused(self, _view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return all nodes of the set, or none."""
        return among if pod.requirements.sidecars else 0

    def alike(self, _view: View, _pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set."""
        return (refused,) if refused else ()


def prepare(_trigger: PendingPod, cluster: Cluster) -> Sidecars | None:
    """Return the filter; None in versions that schedule sidecars."""
    return None if cluster.rules.knows_sidecars else Sidecars()
