"""The devices of nodes: what is free of each, who has the rest, and what is free in each domain."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kubectl_koord.diagnosis import coverage, obstacles
from kubectl_koord.diagnosis.obstacles import Counted
from kubectl_koord.engine.state import View, of
from kubectl_koord.engine.tree import NODE_LAYER, Domain, NoTree, Tree, tree_of
from kubectl_koord.model import objects
from kubectl_koord.model.objects import Node
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.capacity import DeviceObject, DevicesReport, DomainCards, NodeCards
from kubectl_koord.reports.common import DomainName
from kubectl_koord.wording.facts import node_state
from kubectl_koord.wording.words import could_not_be_read

_KINDS = ("Node", "Pod", "Device", "Reservation")


def devices(snapshot: Snapshot, names: Collection[str] = (), domain: str = "") -> DevicesReport:
    """Return the devices of the nodes of these names, of those in a domain, or of all.

    The verdict is unknown where Devices or nodes could not be read, and with a domain the topology. Where pods or
    Reservations could not, devices are listed and what is free of them is not told.

    `names`: of nodes, all of which there are. `domain`: a domain of the topology tree that there is, empty for none.
    """
    unread = (*coverage.unread(snapshot, "devices"), *(coverage.unread(snapshot, "layers") if domain else ()))
    warnings = (*coverage.general(snapshot), *coverage.absent(snapshot, _KINDS))
    basis = coverage.basis(snapshot)
    asked = tuple(names)
    if unread:
        return DevicesReport(
            "unknown", basis, warnings, (), asked=asked, domain=domain, message=could_not_be_read(unread)
        )
    tree = tree_of(snapshot)
    view = of(snapshot)
    nodes = tuple(names) or (nodes_in(tree, domain) if domain else tuple(view.names()))
    counted = {name: obstacles.counted(view, name) for name in nodes}
    sizes = _sizes(counted)
    seen = obstacles.are_books_seen(snapshot)
    warnings = (*warnings, *obstacles.of_nodes(snapshot, nodes), *obstacles.lost(snapshot, nodes))
    rows = tuple(_rows(snapshot, view, tree, nodes, names))
    return DevicesReport(
        verdict="yes",
        basis=basis,
        warnings=warnings,
        nodes=rows,
        devices=obstacles.totals(counted.values(), sizes, seen=seen),
        domains=() if names or isinstance(tree, NoTree) else tuple(_domains(tree, counted, sizes, domain, seen=seen)),
        without_devices=len(nodes) - len(rows),
        asked=asked,
        domain=domain,
    )


def domain_names(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the names of the domains between the cluster and the nodes, in the order of the tree."""
    tree = tree_of(snapshot)
    if isinstance(tree, NoTree):
        return ()
    return tuple(dict.fromkeys(domain.name for domain in tree.domains if domain.name and domain.layer != NODE_LAYER))


def nodes_in(tree: Tree | NoTree, name: str) -> tuple[str, ...]:
    """Return the nodes below the domains of a name, in name order."""
    if isinstance(tree, NoTree):
        return ()
    return tuple(sorted(node for node, index in tree.leaf.items() if _is_below(tree, index, name)))


def _is_below(tree: Tree, index: int, name: str) -> bool:
    return any(tree.domains[above].name == name for above in tree.ancestors(tree.parents[index]))


def _sizes(counted: Mapping[str, Mapping[str, Counted]]) -> dict[str, int]:
    """Return the largest number of devices of one type on a node, by type."""
    sizes: dict[str, int] = {}
    for node in counted.values():
        for kind, found in node.items():
            sizes[kind] = max(sizes.get(kind, 1), found.cards)
    return sizes


def _rows(
    snapshot: Snapshot, view: View, tree: Tree | NoTree, nodes: Sequence[str], asked: Collection[str]
) -> Iterator[NodeCards]:
    for name in nodes:
        node = view.node(name)
        listed, unlisted = obstacles.cards_of(snapshot, view, name)
        resources = tuple(resource for resource, _ in node.allocatable if objects.family(resource))
        if listed or unlisted or resources or name in asked or node.devices is not None:
            state = node_state(unschedulable=node.unschedulable, ready=node.ready)
            yield NodeCards(name, _parent(tree, name), state, _object(node), listed, resources, unlisted)


def _object(node: Node) -> DeviceObject:
    if node.devices is None:
        return "missing"
    return "present" if node.devices.layout.devices else "empty"


def _parent(tree: Tree | NoTree, node: str) -> DomainName | None:
    if isinstance(tree, NoTree) or node not in tree.leaf:
        return None
    return _named(tree.domains[tree.parents[tree.leaf[node]]])


def _named(domain: Domain) -> DomainName:
    return DomainName(domain.layer, domain.name)


def _domains(
    tree: Tree, counted: Mapping[str, Mapping[str, Counted]], sizes: Mapping[str, int], name: str, *, seen: bool
) -> Iterator[DomainCards]:
    """Yield the domains above the nodes; with a name those of this name, and what is below them."""
    nodes: dict[int, list[str]] = {index: [] for index in tree.inner}
    for node, index in tree.leaf.items():
        for above in tree.ancestors(tree.parents[index]):
            nodes[above].append(node)
    for index in tree.inner:
        domain = tree.domains[index]
        if name and domain.name != name and not _is_below(tree, index, name):
            continue
        yield DomainCards(
            layer=domain.layer,
            name=domain.name,
            parent=_named(tree.domains[domain.parent]) if domain.parent >= 0 else None,
            nodes=domain.nodes,
            devices=obstacles.totals((counted[node] for node in nodes[index]), sizes, seen=seen),
        )
