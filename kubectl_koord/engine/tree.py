"""The network topology tree, and why it cannot be built."""

from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import memoised

NODE_LAYER = "NodeTopologyLayer"
ROOT_LAYER = "ClusterTopologyLayer"
DEFAULT_NAME = "default"


class Domain(Struct, frozen=True, gc=False):
    """One domain. `parent` and `children` are indices into `Tree.domains`; the root's parent is -1.

    `nodes` counts the nodes below; `virtual` marks a block made up for a node without its label.
    """

    layer: str
    name: str
    parent: int
    children: tuple[int, ...]
    depth: int
    nodes: int
    virtual: bool = False


class Merged(Struct, frozen=True):
    """A name that stands below several parents: one domain for the scheduler, below the first."""

    layer: str
    name: str
    parents: tuple[str, ...]


class Outside(Struct, frozen=True):
    """A node that is not in the tree and the label keys that it lacks, one per layer."""

    node: str
    missing: tuple[str, ...]


class Tree(Struct, frozen=True):
    """The tree. `domains` is in pre-order (root first, children by name), nodes are its leaves.

    `layers` goes from the top to the nodes, without the root; `leaf` maps a node to its index;
    `parents` and `by_layer` say by domain and by layer what the domains say of themselves, and
    `inner` which are no nodes, and `leaves`, of these, which nodes stand right below them.
    """

    layers: tuple[str, ...]
    domains: tuple[Domain, ...]
    leaf: Mapping[str, int]
    outside: tuple[Outside, ...]
    merged: tuple[Merged, ...]
    parents: tuple[int, ...]
    by_layer: Mapping[str, tuple[int, ...]]
    inner: tuple[int, ...]
    leaves: Mapping[int, range]

    def at_layer(self, layer: str) -> tuple[int, ...]:
        """Return the indices of the layer's domains, in pre-order; none for an unknown layer."""
        return self.by_layer.get(layer, ())

    def at_or_root(self, layer: str) -> tuple[int, ...]:
        """Return the indices of the layer's domains, and that of the root where no layer is named."""
        return self.at_layer(layer) if layer else (0,)

    def ancestors(self, index: int) -> Iterator[int]:
        """Yield the domain itself, its parent, and so on up to the root."""
        while index >= 0:
            yield index
            index = self.domains[index].parent

    def nodes_below(self, index: int) -> Iterator[str]:
        """Yield the names of the nodes below a domain (the node itself for a leaf)."""
        domain = self.domains[index]
        if domain.layer == NODE_LAYER:
            yield domain.name
        for child in domain.children:
            yield from self.nodes_below(child)

    def domain_of(self, node: str, layer: str) -> int | None:
        """Return the index of the layer's domain that a node is in, None where it is in none."""
        above = self.ancestors(self.leaf.get(node, -1))
        return next((index for index in above if self.domains[index].layer == layer), None)

    def above(self, node: str) -> str:
        """Return the name of the domain above a node, empty for one outside the tree."""
        return self.domains[self.parents[self.leaf[node]]].name if node in self.leaf else ""


class NoTopology(Struct, frozen=True):
    """There is no ClusterNetworkTopology."""

    code: ClassVar[Literal["no-topology"]] = "no-topology"


class OtherName(Struct, frozen=True):
    """No ClusterNetworkTopology has the name that counts; `names` are those that there are."""

    names: tuple[str, ...]
    code: ClassVar[Literal["topology-other-name"]] = "topology-other-name"


class MissingLayer(Struct, frozen=True):
    """A layer, maybe one without a name, has no entry, so that the chain from the nodes up ends before the root.

    `child` is the layer that names it as its parent, None where the chain begins with it; `unused` are the layers
    that are not on the chain.
    """

    layer: str
    child: str | None
    unused: tuple[str, ...]
    code: ClassVar[Literal["broken-layer-chain"]] = "broken-layer-chain"


class LayerCycle(Struct, frozen=True):
    """A layer is its own ancestor."""

    layer: str
    code: ClassVar[Literal["layer-cycle"]] = "layer-cycle"


TreeFault: TypeAlias = NoTopology | OtherName | MissingLayer | LayerCycle
"""Why there is no tree; worded in wording/refusals.py."""
TreeFaultCode: TypeAlias = Literal["no-topology", "topology-other-name", "broken-layer-chain", "layer-cycle"]


class NoTree(Struct, frozen=True):
    """In place of a tree, why there is none: it has no layers, and no node is in it."""

    fault: TreeFault

    @property
    def layers(self) -> tuple[str, ...]:
        """None."""
        return ()

    def above(self, _node: str) -> str:
        """Return no name: no domain is above a node."""
        return ""


def layer_order(layers: tuple[Layer, ...]) -> tuple[Layer, ...] | NoTree:
    """Return the layers from the top to the nodes, or why their chain does not resolve.

    Mirrors `sortNetworkTopologySpecFromParentToChild` in frameworkext/networktopology/tree.go,
    which does not notice a cycle; we do.
    """
    by_name = {layer.name: layer for layer in layers}
    upwards: list[Layer] = []
    wanted = NODE_LAYER
    for _ in layers:
        if wanted not in by_name:
            child = upwards[-1].name if upwards else None
            unused = tuple(sorted(set(by_name) - {layer.name for layer in upwards}))
            return NoTree(MissingLayer(wanted, child, unused))
        if by_name[wanted] in upwards:
            return NoTree(LayerCycle(wanted))
        upwards.append(by_name[wanted])
        wanted = upwards[-1].parent
    return tuple(reversed(upwards))


def find(topologies: Mapping[str, NetworkTopology]) -> NetworkTopology | NoTree:
    """Return the one topology that counts: the one named `default`."""
    if DEFAULT_NAME in topologies:
        return topologies[DEFAULT_NAME]
    return NoTree(OtherName(tuple(sorted(topologies))) if topologies else NoTopology())


@memoised
def tree_of(snapshot: Snapshot) -> Tree | NoTree:
    """Return the tree of a cluster as it is, or why there is none."""
    return build(snapshot.topologies, snapshot.nodes)


class _Growing:
    """A domain while the tree is built; `nodes` are those right below it, in name order."""

    __slots__ = ("children", "key", "nodes", "virtual")

    def __init__(self, key: tuple[str, str], *, virtual: bool) -> None:
        self.key = key
        self.children: dict[str, _Growing] = {}
        self.nodes: list[str] = []
        self.virtual = virtual


def build(topologies: Mapping[str, NetworkTopology], nodes: Mapping[str, Node]) -> Tree | NoTree:
    """Return the tree that the scheduler builds of these nodes, or why it builds none.

    Where one name stands below several parents, upstream keeps whichever node came first from its
    cache; we keep the first in the name order of the nodes and report the rest as `merged`.
    Mirrors `NewTree` and `AddNode` in frameworkext/networktopology/tree.go.
    """
    topology = find(topologies)
    if isinstance(topology, NoTree):
        return topology
    order = layer_order(topology.layers)
    if isinstance(order, NoTree):
        return order
    root = _Growing((ROOT_LAYER, ""), virtual=False)
    index = {root.key: root}
    parents: dict[tuple[str, str], dict[str, None]] = {}
    outside = []
    keys = [key for layer in order[:-1] for key in layer.label_keys]
    known: dict[tuple[str | None, ...], _Growing] = {}
    for name in sorted(nodes):
        labels = dict(nodes[name].labels)
        values = tuple(map(labels.get, keys))
        parent = known.get(values)
        if parent is None:
            path, missing = _path(order, name, labels)
            if missing:
                outside.append(Outside(name, missing))
                continue
            parent = root
            for key, virtual in path:
                parents.setdefault(key, {})[parent.key[1]] = None
                domain = index.get(key)
                if domain is None:
                    domain = index[key] = parent.children[key[1]] = _Growing(key, virtual=virtual)
                parent = domain
            if not any(virtual for _, virtual in path):
                known[values] = parent
        parent.nodes.append(name)
    merged = tuple(Merged(*key, tuple(above)) for key, above in sorted(parents.items()) if len(above) > 1)
    return _settle(root, tuple(layer.name for layer in order), tuple(outside), merged)


def _path(
    order: tuple[Layer, ...], name: str, labels: Mapping[str, str]
) -> tuple[list[tuple[tuple[str, str], bool]], tuple[str, ...]]:
    """Return the domains above a node, from the top (and whether each is virtual), and the label keys it lacks."""
    path = []
    missing = []
    for layer in order[:-1]:
        named = ""
        for key in layer.label_keys:
            if named := labels.get(key, ""):
                break
        if named:
            path.append(((layer.name, named), False))
        elif layer is order[-2]:
            path.append(((layer.name, name), True))
        else:
            missing.append("|".join(layer.label_keys) or layer.name)
    if not order:
        missing.append(NODE_LAYER)
    return path, tuple(missing)


def _settle(root: _Growing, layers: tuple[str, ...], outside: tuple[Outside, ...], merged: tuple[Merged, ...]) -> Tree:
    domains: list[Domain | None] = []
    leaf: dict[str, int] = {}
    inner: list[int] = []
    leaves: dict[int, range] = {}

    def place(growing: _Growing, parent: int, depth: int) -> tuple[int, int]:
        index = len(domains)
        inner.append(index)
        domains.append(None)
        layer, name = growing.key
        below = [place(growing.children[name], index, depth + 1) for name in sorted(growing.children)]
        held = leaves[index] = range(len(domains), len(domains) + len(growing.nodes))
        leaf.update(zip(growing.nodes, held, strict=True))
        domains.extend([Domain(NODE_LAYER, node, index, (), depth + 1, 1) for node in growing.nodes])
        children = (*(child for child, _ in below), *held)
        nodes = sum(count for _, count in below) + len(held)
        domains[index] = Domain(layer, name, parent, children, depth, nodes, growing.virtual)
        return index, nodes

    place(root, -1, 0)
    settled = tuple(domain for domain in domains if domain is not None)
    by_layer: dict[str, list[int]] = {NODE_LAYER: list(leaf.values())} if leaf else {}
    for index in inner:
        by_layer.setdefault(settled[index].layer, []).append(index)
    return Tree(
        layers=layers,
        domains=settled,
        leaf=leaf,
        outside=outside,
        merged=merged,
        parents=tuple([domain.parent for domain in settled]),
        by_layer={layer: tuple(indices) for layer, indices in by_layer.items()},
        inner=tuple(inner),
        leaves=leaves,
    )
