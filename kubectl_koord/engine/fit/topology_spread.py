"""Hard topology spread constraints, with the prepared state of one pod (plugins/podtopologyspread)."""

from collections.abc import Iterable, Mapping
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.node_affinity import is_selected
from kubectl_koord.engine.fit.taints import untolerated
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.reasons.nodes import (
    Reason,
    SpreadLabelMissing,
    SpreadTooSkewed,
)
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, ReservedRoom, RunningPod, Spread
from kubectl_koord.model.values.selectors import matches


class _Counts(Struct, frozen=True):
    """Matching pods by value of one constraint's key, and on which nodes they were counted."""

    constraint: Spread
    by_value: Mapping[str, int]
    by_node: Mapping[str, int]


class TopologySpread(Stateless, Struct, frozen=True):
    """The filter: what PreFilter prepares for the trigger, one count per constraint over the whole cluster."""

    depends_on: ClassVar[DependsOn] = "pods"
    namespace: str
    counts: tuple[_Counts, ...]
    given: frozenset[str]

    def follows_members(self, _trigger: PodRequirements) -> bool:
        """Tell that a member which is placed is counted for the next one."""
        return True

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the pod here would skew the spread, or the node lacks a key.

        Who was added to or taken from this node since the preparation is counted; other nodes stay as
        they were prepared, as upstream's copies of the state do.
        """
        labels = dict(state.node.labels)
        for counts in self.counts:
            constraint = counts.constraint
            if constraint.key not in labels:
                return SpreadLabelMissing(constraint.key)
            value = labels[constraint.key]
            by_value = dict(counts.by_value)
            if state.node.name in counts.by_node:
                now = _matching(constraint, self.namespace, state.occupants, self.given)
                by_value[value] += now - counts.by_node[state.node.name]
            least = min(by_value.values(), default=0) if len(by_value) >= constraint.min_domains else 0
            own = 1 if constraint.selector is not None and matches(constraint.selector, dict(pod.labels)) else 0
            if by_value.get(value, 0) + own - least > constraint.max_skew:
                return SpreadTooSkewed(constraint.key)
        return None


def prepare(trigger: PendingPod, cluster: Cluster) -> TopologySpread | None:
    """Return the filter; None for a trigger without hard constraints (`calPreFilterState`)."""
    requirements, view = trigger.requirements, cluster.view
    if not requirements.spread:
        return None
    keys = {constraint.key for constraint in requirements.spread}
    nodes = [node for node in map(view.node, view.names()) if keys <= dict(node.labels).keys()]
    given = drawable(view, trigger).uids
    counts = tuple(_count(constraint, trigger, nodes, view, given) for constraint in requirements.spread)
    return TopologySpread(trigger.namespace, counts, given)


def _count(constraint: Spread, trigger: PendingPod, nodes: list[Node], view: View, given: frozenset[str]) -> _Counts:
    requirements = trigger.requirements
    by_value: dict[str, int] = {}
    by_node: dict[str, int] = {}
    for node in nodes:
        if constraint.honor_affinity and not is_selected(requirements, node):
            continue
        if constraint.honor_taints and untolerated(requirements, node) is not None:
            continue
        found = _matching(constraint, trigger.namespace, view.occupants(node.name), given)
        value = dict(node.labels)[constraint.key]
        by_value[value] = by_value.get(value, 0) + found
        by_node[node.name] = found
    return _Counts(constraint, by_value, by_node)


def _matching(constraint: Spread, namespace: str, occupants: Iterable[Occupant], given: frozenset[str]) -> int:
    """Count the pods that match; a reservation counts like one, unless it is given to the trigger."""
    return sum(
        1
        for pod in occupants
        if not (isinstance(pod, ReservedRoom) and pod.uid in given)
        and pod.namespace == namespace
        and constraint.selector is not None
        and not (isinstance(pod, RunningPod) and pod.terminating)
        and matches(constraint.selector, dict(pod.labels))
    )
