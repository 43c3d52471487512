"""Why nodes refuse a pod, all nodes of a view at once: of reasons that are worded the same one stands for all."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from kubectl_koord.engine.columns import NodeSet, base_with_most, differing, first_of, members, singles
from kubectl_koord.engine.fit import Prepared, rejection_as_is
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.node_names import NodeNames
from kubectl_koord.engine.passing import lost
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PodRequirements, any_pod_of
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
