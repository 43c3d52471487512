"""Why nodes refuse a pod, all nodes of a view at once: of reasons that are worded the same one stands for all."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    differing,
    every_node,
    first_of,
    members,
    named,
    singles,
)
from kubectl_koord.engine.fit import Prepared, rejection_as_is
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.node_names import NodeNames
from kubectl_koord.engine.passing import lost
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of
from kubectl_koord.model.values.memo import recently

_Parts: TypeAlias = Sequence[tuple[Reason, NodeSet]]

_MOST_KINDS = 16
"""Of so many kinds of pods a view keeps which nodes refuse them."""


class RefusingNodes:
    """Nodes in parts: within each the reasons are worded the same, and removing pods could help all or none."""

    def __init__(self, view: View, parts: Iterable[tuple[Reason, NodeSet]]) -> None:
        """Take the parts, each with the reason of one of its nodes."""
        self._view = view
        self._parts = tuple(parts)

    def of_sort(self, is_of_sort: Callable[[Reason], bool]) -> NodeNames:
        """Return the nodes with reasons of some sort, in their order."""
        found = 0
        for reason, nodes in self._parts:
            found |= nodes if is_of_sort(reason) else 0
        return NodeNames(self._view, found)

    def by_name(self) -> Mapping[str, Reason]:
        """Return the reasons by node."""
        return {name: reason for reason, nodes in self._parts for name in members(self._view, nodes)}

    def but(self, nodes: Mapping[str, Reason | None]) -> "RefusingNodes":
        """Return the same with other reasons of some nodes, or none."""
        others = ~named(self._view, nodes)
        parts = [(reason, left) for reason, every in self._parts if (left := every & others)]
        anew = [(reason, named(self._view, (name,))) for name, reason in nodes.items() if reason is not None]
        return RefusingNodes(self._view, (*parts, *anew))

    def of_none(self, taking: Iterable[str]) -> Iterator[Refused]:
        """Yield the reasons of nodes that are not among those `taking` any pod, and how many nodes."""
        return self._counted(~named(self._view, taking))

    def of_some(self, taking: Iterable[str]) -> Iterator[Refused]:
        """Yield those of the nodes that are among them."""
        return self._counted(named(self._view, taking))

    def _counted(self, among: NodeSet) -> Iterator[Refused]:
        parts = ((reason, (nodes & among).bit_count()) for reason, nodes in self._parts)
        return (Refused(reason, number) for reason, number in parts if number)


@recently(_MOST_KINDS)
def refusing(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> _Parts:
    """Return in such parts the nodes that take not one pod of these requirements.

    Of a what-if only nodes that differ are asked anew.
    """
    pod, base = any_pod_of(requirements), base_with_most(view)
    one = Prepared(pod, checks)
    if base is None:
        every = zip(checks, lost(view, requirements, checks), strict=True)
        asked: Iterable[NodeSet] = (
            part for check, nodes in every if nodes for part in check.lasting_alike(view, pod, nodes)
        )
        found: _Parts = ()
    else:
        asked, others = singles(differing(view)), ~differing(view)
        before = ((reason, nodes & others) for reason, nodes in refusing(base, requirements, checks))
        found = [part for part in before if part[1]]
    reasons = ((rejection_as_is(pod, view.state(first_of(view, part)), one), part) for part in asked)
    return (*found, *((reason, part) for reason, part in reasons if reason is not None))


def refusing_beside(view: View, pod: PendingPod, checks: tuple[Check, ...]) -> Iterator[tuple[Reason, NodeSet]]:
    """Yield the same parts for a pod where some filters look at who is there; all views share what the others lose."""
    lasting = tuple(check for check in checks if check.depends_on != "pods")
    known = dict(zip(map(id, lasting), lost(view, pod.requirements, lasting), strict=True))
    left = every_node(view)
    for check in checks:
        lost_here = known[id(check)] & left if id(check) in known else check.refused(view, pod, left) if left else 0
        parts = check.lasting_alike(view, pod, lost_here) if lost_here else ()
        asked = ((check.reject(pod, view.state(first_of(view, part)), pod.requirements), part) for part in parts)
        yield from ((reason, part) for reason, part in asked if reason is not None)
        left &= ~lost_here
