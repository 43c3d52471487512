"""Nodes that are alike in what decides about the CPUs and zones of a pod."""

from collections.abc import Hashable, Iterable, Iterator
from itertools import repeat

from msgspec import Struct

from kubectl_koord.engine.columns import StateSees, nodes_of, selector
from kubectl_koord.engine.fit.numa.books import Booked, books
from kubectl_koord.engine.fit.numa.columns import books_everywhere
from kubectl_koord.engine.fit.numa.given import as_seen
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reservations import reserved_nodes
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.values.memo import Identity


class Alike(Struct, frozen=True):
    """What is seen of a node by a pod that asks for some resources, and by the plugins that have a say in its zones.

    `own_policy` tells whether the pod has a policy itself: on nodes without any, zones do not matter.
    """

    resources: frozenset[str]
    own_policy: bool
    others: tuple[StateSees, ...] = ()

    def __call__(self, state: NodeState) -> Hashable:
        """Return what is seen; nodes with anything reserved are each by themselves."""
        if state.rooms:
            return state.node.name
        return self._seen(state.node, books(state), [other(state) for other in self.others])

    def everywhere(self, view: View) -> Iterator[Hashable]:
        """Yield the same of all nodes."""
        others: Iterable[Iterable[Hashable]] = repeat(())
        if self.others:
            others = zip(*(other.everywhere(view) for other in self.others), strict=True)
        reserved = selector(view, reserved_nodes(view))
        for node, booked, is_reserved, by_others in zip(
            nodes_of(view), books_everywhere(view).every(), reserved, others, strict=False
        ):
            yield node.name if is_reserved else self._seen(node, booked, by_others)

    def _seen(self, node: Node, booked: Booked, by_others: Iterable[Hashable]) -> Hashable:
        numa = node.numa
        if numa is None or not (numa.policy or self.own_policy):
            return (Identity(numa.cpus), numa.reserved, booked) if numa is not None else None
        return (as_seen(numa, self.resources), booked, *by_others)
