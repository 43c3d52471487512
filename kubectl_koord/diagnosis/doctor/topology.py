"""The topology: whether there is a tree, which nodes are not in it, and whether its layers mean anything."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

from kubectl_koord.diagnosis.doctor.finding import found
from kubectl_koord.diagnosis.labels import PLACEHOLDERS, makers
from kubectl_koord.diagnosis.tree_status import stale_status
from kubectl_koord.engine.gangs import all_gangs
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, NoTopology, NoTree, Tree
from kubectl_koord.model.accelerators import of_node
from kubectl_koord.model.objects import Layer, Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation.doctor import Finding, Severity
from kubectl_koord.wording.answers.topology import merged
from kubectl_koord.wording.doctor import topology as sentences
from kubectl_koord.wording.refusals.tree import fault_clause

_KIND = "ClusterNetworkTopology"
_CONTROL_PLANE = {"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}


def of_topology(snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Finding]:
    """Yield what is wrong with the topology, where it and the nodes were read."""
    if not snapshot.sees(_KIND) or not snapshot.sees("Node"):
        return
    yield from _selectors(snapshot, tree)
    if isinstance(tree, NoTree):
        yield from _without(snapshot, tree)
        return
    layers = [layer for name in tree.layers for layer in snapshot.topologies[DEFAULT_NAME].layers if layer.name == name]
    swapped = [*_reversed(layers[:-1], snapshot.nodes, tree)]
    yield from swapped
    yield from _merged(tree, {name for finding in swapped for name in finding.objects})
    yield from _outside(snapshot, tree)
    yield from _renamed(snapshot, tree, layers)
    yield from _placeholders(snapshot, layers)
    yield from _one_node(tree)
    stale = stale_status(snapshot, tree)
    if stale is not None:
        yield found(stale.code, "warning", _KIND, [DEFAULT_NAME], stale.message)


def _selectors(snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Finding]:
    """Yield pending pods with a topology selector where nodes are outside the tree: 1.8 dereferences nil for these.

    `sortNodesByTopology` in Koordinator's coscheduling/core/network_topology_workflow.go looks every node up in the
    tree, when several nodes are feasible.
    """
    asking = [pod.key for pod in snapshot.pending if pod.selector and pod.scheduler in snapshot.config.profiles]
    outside = [*snapshot.nodes] if isinstance(tree, NoTree) else [one.node for one in tree.outside]
    if asking and outside and snapshot.config.version != "1.7":
        yield found("selector-outside-tree", "warning", "Pod", asking, sentences.selectors(asking, len(outside)))


def _without(snapshot: Snapshot, tree: NoTree) -> Iterator[Finding]:
    """Yield why there is no tree; where there is no topology at all, only if a gang asks for one."""
    asking = [key for key, gang in all_gangs(snapshot).items() if gang.topology]
    if asking or not isinstance(tree.fault, NoTopology):
        message = sentences.no_tree(fault_clause(tree.fault), asking)
        names = sorted(snapshot.topologies) or [DEFAULT_NAME]
        yield found(tree.fault.code, "error", _KIND, names, message)


def _reversed(layers: list[Layer], nodes: Mapping[str, Node], tree: Tree) -> Iterator[Finding]:
    """Yield pairs of layers of which the upper nests in the lower: each of its domains is in one of the lower."""
    within = [dict(nodes[name].labels) for name in tree.leaf]
    for upper, lower in pairwise(layers):
        pairs = {(upper.value(labels), lower.value(labels)) for labels in within if lower.value(labels)}
        uppers, lowers = {above for above, _ in pairs}, {below for _, below in pairs}
        if len(pairs) == len(uppers) > len(lowers) > 1:
            message = sentences.reversed_layers(upper.name, lower.name, len(uppers), len(lowers))
            yield found("layers-reversed", "error", _KIND, [upper.name, lower.name], message)


def _merged(tree: Tree, explained: set[str]) -> Iterator[Finding]:
    """Yield by layer the domains of one name with several parents, where the order of the layers is not the reason."""
    for layer in tree.layers:
        every = [one for one in tree.merged if one.layer == layer]
        if every and layer not in explained:
            first = merged(layer, every[0].name, every[0].parents)
            message = sentences.also_merged(first, len(every) - 1)
            yield found("merged-domains", "error", layer, [one.name for one in every], message)


def _outside(snapshot: Snapshot, tree: Tree) -> Iterator[Finding]:
    """Yield nodes outside the tree by what they lack; those without cards need not be in a tree of nodes with cards."""
    of_cards = any(_has_cards(snapshot.nodes[name]) for name in tree.leaf)
    by_labels: dict[tuple[Severity, tuple[str, ...]], list[str]] = {}
    for one in tree.outside:
        node = snapshot.nodes[one.node]
        has_cards = _has_cards(node)
        if has_cards or not _CONTROL_PLANE & dict(node.labels).keys():
            severity: Severity = "warning" if has_cards or not of_cards else "info"
            by_labels.setdefault((severity, one.missing), []).append(one.node)
    for (severity, missing), nodes in by_labels.items():
        yield found("outside-nodes", severity, "Node", nodes, sentences.outside(nodes, missing))
    virtual = [domain.name for domain in tree.domains if domain.virtual]
    if virtual:
        yield found("virtual-domains", "warning", "Node", virtual, sentences.virtual(virtual))


def _has_cards(node: Node) -> bool:
    return any(of_node(dict(node.allocatable)).values())


def _renamed(snapshot: Snapshot, tree: Tree, layers: list[Layer]) -> Iterator[Finding]:
    """Yield nodes without labels that layers name and with those of another name.

    Either the same tool set both, at different times, or no node in the tree has these.
    """
    named = [key for layer in layers for key in layer.label_keys]
    whole = {*tree.leaf} - {domain.name for domain in tree.domains if domain.virtual}
    inside = {key for name in whole for key, _ in snapshot.nodes[name].labels}
    lacking: dict[str, None] = {}
    carried: Counter[str] = Counter()
    nodes = []
    for name in sorted(snapshot.nodes.keys() - whole):
        labels = dict(snapshot.nodes[name].labels)
        others = [key for key in labels if key not in named and makers([key])]
        others = [key for key in others if key not in inside or makers([key]) & makers(named)]
        if others:
            nodes.append(name)
            carried.update(others)
            lacking.update(dict.fromkeys(key for key in named if key not in labels))
    if nodes:
        message = sentences.renamed(nodes, [*lacking], sorted(carried))
        yield found("renamed-labels", "warning", "Node", nodes, message)


def _placeholders(snapshot: Snapshot, layers: list[Layer]) -> Iterator[Finding]:
    named = {key for layer in layers for key in layer.label_keys}
    by_value: dict[tuple[str, str], list[str]] = {}
    for name, node in snapshot.nodes.items():
        for key, value in node.labels:
            if key in named and value.lower() in PLACEHOLDERS:
                by_value.setdefault((key, value), []).append(name)
    for (key, value), nodes in sorted(by_value.items()):
        yield found("placeholder-label", "warning", "Node", nodes, sentences.placeholder(value, key, nodes))


def _one_node(tree: Tree) -> Iterator[Finding]:
    for layer in tree.layers:
        domains = [tree.domains[index] for index in tree.at_layer(layer)]
        real = [domain for domain in domains if not domain.virtual]
        if layer != NODE_LAYER and len(real) > 1 and all(domain.nodes == 1 for domain in real):
            yield found("one-node-domains", "warning", _KIND, [layer], sentences.one_node(layer, len(real)))
