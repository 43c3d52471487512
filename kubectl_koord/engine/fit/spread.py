"""Hard topology spread constraints, with the prepared state of one pod (plugins/podtopologyspread)."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kubectl_koord.engine.fit.nodes import is_selected, tolerates_all
from kubectl_koord.engine.reasons import Reason, SpreadLabelMissing, SpreadTooSkewed
from kubectl_koord.engine.view import NodeState, Occupant, View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import RunningPod, Shape, Spread
from kubectl_koord.model.selectors import matches


class _Counts(Struct, frozen=True):
    """Matching pods by value of one constraint's key, and on which nodes they were counted."""

    constraint: Spread
    by_value: Mapping[str, int]
    by_node: Mapping[str, int]


class SpreadState(Struct, frozen=True):
    """What PreFilter prepares for one pod: one count per constraint, over the whole cluster."""

    namespace: str
    counts: tuple[_Counts, ...]


def prepare(shape: Shape, namespace: str, view: View) -> SpreadState | None:
    """Return the prepared state, None without hard constraints (`calPreFilterState`)."""
    if not shape.spread:
        return None
    keys = {constraint.key for constraint in shape.spread}
    nodes = [node for node in map(view.node, view.names()) if keys <= dict(node.labels).keys()]
    counts = tuple(_count(constraint, shape, namespace, nodes, view) for constraint in shape.spread)
    return SpreadState(namespace, counts)


def _count(constraint: Spread, shape: Shape, namespace: str, nodes: list[Node], view: View) -> _Counts:
    by_value: dict[str, int] = {}
    by_node: dict[str, int] = {}
    for node in nodes:
        if constraint.honor_affinity and not is_selected(shape, node):
            continue
        if constraint.honor_taints and not tolerates_all(shape, node):
            continue
        found = _matching(constraint, namespace, view.occupants(node.name))
        value = dict(node.labels)[constraint.key]
        by_value[value] = by_value.get(value, 0) + found
        by_node[node.name] = found
    return _Counts(constraint, by_value, by_node)


def _matching(constraint: Spread, namespace: str, occupants: Iterable[Occupant]) -> int:
    return sum(
        1
        for pod in occupants
        if pod.namespace == namespace
        and constraint.selector is not None
        and not (isinstance(pod, RunningPod) and pod.terminating)
        and matches(constraint.selector, dict(pod.labels))
    )


def reject(pod: Occupant, state: NodeState, prepared: SpreadState | None) -> Reason | None:
    """Return a reason when the pod here would skew the spread, or the node lacks a key.

    Who was added to or taken from this node since the preparation is counted; other nodes stay as
    they were prepared, as upstream's copies of the state do.
    """
    if prepared is None:
        return None
    labels = dict(state.node.labels)
    for counts in prepared.counts:
        constraint = counts.constraint
        if constraint.key not in labels:
            return SpreadLabelMissing(constraint.key)
        value = labels[constraint.key]
        by_value = dict(counts.by_value)
        if state.node.name in counts.by_node:
            now = _matching(constraint, prepared.namespace, state.occupants)
            by_value[value] += now - counts.by_node[state.node.name]
        least = min(by_value.values(), default=0) if len(by_value) >= constraint.min_domains else 0
        own = 1 if constraint.selector is not None and matches(constraint.selector, dict(pod.labels)) else 0
        if by_value.get(value, 0) + own - least > constraint.max_skew:
            return SpreadTooSkewed(constraint.key)
    return None
