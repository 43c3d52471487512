"""Sets of nodes by name, of which nobody makes a list who does not go through them."""

from collections.abc import Collection, Iterable, Iterator

from kubectl_koord.engine.columns import NodeSet, has, members, named
from kubectl_koord.engine.view import View


class NodeNames(Collection[str]):
    """The names of the nodes of a set, in name order; of one cluster's they are equal where the sets are."""

    def __init__(self, view: View, nodes: NodeSet) -> None:
        """Take the set."""
        self._view = view
        self.nodes = nodes

    def __contains__(self, name: object) -> bool:
        """Tell whether a node is in the set."""
        return isinstance(name, str) and has(self._view, self.nodes, name)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return members(self._view, self.nodes)

    def __len__(self) -> int:
        """Return how many they are."""
        return self.nodes.bit_count()

    def __eq__(self, other: object) -> bool:
        """Tell whether they are those of the same set."""
        return isinstance(other, NodeNames) and self.nodes == other.nodes

    def __hash__(self) -> int:
        """Hash the set."""
        return hash(self.nodes)


def with_names(view: View, names: Iterable[str]) -> NodeSet:
    """Return the set of the nodes with these names."""
    return names.nodes if isinstance(names, NodeNames) else named(view, names)
