"""Node selectors and required node affinity (plugins/nodeaffinity)."""

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, every_node, satisfying, which
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    NotSelected,
    Reason,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.memo import recently
from kubectl_koord.model.values.selectors import Labels, NodeTerm, Requirement, holds

_MOST_SELECTORS = 64


class NodeAffinity(Stateless, Struct, frozen=True):
    """The filter: members are filtered with the selector and affinity of the trigger."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when selector or required affinity do not match."""
        return None if is_selected(trigger, state.node) else NotSelected()

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod."""
        return among & ~selected(view, pod.requirements)

    def alike(self, _view: View, _pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set."""
        return (refused,) if refused else ()


def selected(view: View, requirements: PodRequirements) -> NodeSet:
    """Return the nodes that selector and required affinity match."""
    return _selected(view, requirements.selector, requirements.affinity)


@recently(_MOST_SELECTORS)
def _selected(view: View, selector: Labels, affinity: tuple[NodeTerm, ...] | None) -> NodeSet:
    found = every_node(view)
    for key, value in selector:
        found &= satisfying(view, Requirement(key, "In", (value,)))
    if affinity is None:
        return found
    matching = 0
    for term in affinity:
        of_term = found if term.labels or term.fields else 0
        for requirement in term.labels:
            of_term &= satisfying(view, requirement)
        matching |= which(view, partial(_is_named, term.fields), of_term) if term.fields else of_term
    return matching


def _is_named(fields: Iterable[Requirement], name: str) -> bool:
    return all(one.key == "metadata.name" and holds(one, {"metadata.name": name}) for one in fields)


def is_selected(requirements: PodRequirements, node: Node) -> bool:
    """Tell whether selector and required affinity match the node (component-helpers nodeaffinity)."""
    labels = dict(node.labels)
    if any(labels.get(key) != value for key, value in requirements.selector):
        return False
    return requirements.affinity is None or any(term_matches(term, node, labels) for term in requirements.affinity)


def term_matches(term: NodeTerm, node: Node, labels: dict[str, str]) -> bool:
    """Tell whether one term of a node selector matches; an empty term matches nothing."""
    if not term.labels and not term.fields:
        return False
    if not all(holds(requirement, labels) for requirement in term.labels):
        return False
    return _is_named(term.fields, node.name)


def prepare(trigger: PendingPod, _cluster: Cluster) -> NodeAffinity | None:
    """Return the filter; None for a trigger that every node matches."""
    return NodeAffinity() if trigger.requirements.selector or trigger.requirements.affinity is not None else None
