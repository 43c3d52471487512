"""What a node refuses whoever is on it: cordons, taints, selectors and required node affinity."""

from kubectl_koord.engine.reasons import Cordoned, NotSelected, Reason, Untolerated
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import NodeTerm, Shape
from kubectl_koord.model.selectors import Taint, holds, tolerates

_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_HARD = {"NoSchedule", "NoExecute"}


def cordoned(shape: Shape, node: Node) -> Reason | None:
    """Return a reason when the node is cordoned (plugins/nodeunschedulable)."""
    if node.unschedulable and not any(tolerates(toleration, _CORDON) for toleration in shape.tolerations):
        return Cordoned()
    return None


def untolerated(shape: Shape, node: Node) -> Reason | None:
    """Return a reason when the pod does not tolerate a hard taint (plugins/tainttoleration)."""
    for taint in node.taints:
        if taint.effect in _HARD and not any(tolerates(toleration, taint) for toleration in shape.tolerations):
            return Untolerated(taint)
    return None


def not_selected(shape: Shape, node: Node) -> Reason | None:
    """Return a reason when selector or required affinity do not match (plugins/nodeaffinity)."""
    if not shape.selector and shape.affinity is None:
        return None
    return None if is_selected(shape, node) else NotSelected()


def is_selected(shape: Shape, node: Node) -> bool:
    """Tell whether selector and required affinity match the node (component-helpers nodeaffinity)."""
    labels = dict(node.labels)
    if any(labels.get(key) != value for key, value in shape.selector):
        return False
    return shape.affinity is None or any(term_matches(term, node, labels) for term in shape.affinity)


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


def tolerates_all(shape: Shape, node: Node) -> bool:
    """Tell whether the pod tolerates every hard taint (nodeTaintsPolicy: Honor)."""
    return untolerated(shape, node) is None
