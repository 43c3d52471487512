"""Node selectors and required node affinity (plugins/nodeaffinity)."""

from collections.abc import Collection
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, classes
from kubectl_koord.engine.fit.check import ByClass, Cluster, DependsOn
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    NotSelected,
    Reason,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements
from kubectl_koord.model.values.selectors import NodeTerm, holds


class NodeAffinity(ByClass, Struct, frozen=True):
    """The filter: members are filtered with the selector and affinity of the trigger."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when selector or required affinity do not match."""
        return None if is_selected(trigger, state.node) else NotSelected()

    def classes(self, view: View, pod: PendingPod) -> Collection[NodeSet]:
        """Return all nodes in classes."""
        return classes(view, _sees(pod.requirements)).values()


class _Seen(Struct, frozen=True):
    """What is seen of a node: the values of these labels, and its name where that counts."""

    keys: tuple[str, ...]
    name: bool

    def __call__(self, node: Node) -> tuple[str | None, ...]:
        labels = dict(node.labels)
        return (*map(labels.get, self.keys), node.name if self.name else None)


def _sees(requirements: PodRequirements) -> _Seen:
    terms = requirements.affinity or ()
    keys = {key for key, _ in requirements.selector}.union(one.key for term in terms for one in term.labels)
    return _Seen(tuple(sorted(keys)), any(term.fields for term in terms))


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
    return all(
        requirement.key == "metadata.name" and holds(requirement, {"metadata.name": node.name})
        for requirement in term.fields
    )


def prepare(trigger: PendingPod, _cluster: Cluster) -> NodeAffinity | None:
    """Return the filter; None for a trigger that every node matches."""
    return NodeAffinity() if trigger.requirements.selector or trigger.requirements.affinity is not None else None
