"""The topology tree: what is free in each domain, how many pods of a gang fit, what is wrong."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kubectl_koord.engine.gather import sums
from kubectl_koord.engine.rounds import Course
from kubectl_koord.engine.tree import NODE_LAYER, Domain, NoTree, Tree, build
from kubectl_koord.engine.view import Occupant, View, of
from kubectl_koord.explain import limits
from kubectl_koord.explain.question import ask, open_courses
from kubectl_koord.explain.reports import DomainName, DomainRow, NodeRow, Notice, OutsideNode, TopologyReport, Verdict
from kubectl_koord.explain.subjects import Subject
from kubectl_koord.explain.words import count, listed, obstacle
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import Held, Resources
from kubectl_koord.model.snapshot import Snapshot


def topo(
    snapshot: Snapshot, subject: Subject | None = None, *, with_nodes: bool = True, tree: Tree | NoTree | None = None
) -> TopologyReport:
    """Return the tree as the scheduler builds it; with a subject, the offer slots of every domain.

    The verdict is no when no tree can be built, unknown when nodes or topology could not be read. A row for
    each node is left out unless `with_nodes`: of thousands nobody looks at them all. `tree` is the snapshot's
    where it has been built already.
    """
    view = of(snapshot)
    tree = tree or build(snapshot.topologies, snapshot.nodes)
    kinds = limits.rests_on(subject) if subject is not None else ("Node", "Pod", "ClusterNetworkTopology")
    warnings = [*limits.general(snapshot), *limits.absent(snapshot, kinds)]
    resource = counted_resource(snapshot)
    blind = not (snapshot.sees("Node") and snapshot.sees("ClusterNetworkTopology"))
    rows: tuple[tuple[DomainRow, ...], tuple[NodeRow, ...]] = ((), ())
    layers: tuple[str, ...] = ()
    outside: tuple[OutsideNode, ...] = ()
    if isinstance(tree, NoTree) and not blind:
        warnings.append(Notice(tree.code, f"{tree.message}."))
    elif isinstance(tree, Tree) and snapshot.sees("Node"):
        course = _course(snapshot, subject)
        figures = _figures(tree, view, resource, are_pods_seen=snapshot.sees("Pod"))
        rows = (_domain_rows(tree, figures, course), _node_rows(tree, view, figures, course) if with_nodes else ())
        layers = tree.layers
        outside = tuple(OutsideNode(node.node, node.missing) for node in tree.outside)
        warnings.extend(_problems(snapshot, tree))
    verdict: Verdict = "unknown" if blind else ("no" if isinstance(tree, NoTree) else "yes")
    return TopologyReport(
        verdict=verdict,
        basis=limits.basis(snapshot),
        warnings=tuple(warnings),
        layers=layers,
        domains=rows[0],
        outside=outside,
        nodes=rows[1],
        resource=resource,
        gang=subject.key if subject is not None else None,
        desired_offer_slot=len(subject.pending) if subject is not None else None,
    )


def _course(snapshot: Snapshot, subject: Subject | None) -> Course | None:
    if subject is None or not subject.pending or not snapshot.sees("Pod"):
        return None
    found = open_courses(ask(snapshot, subject), preemption=False)
    return found[0] if found and found[0].first.gathering is not None else None


def counted_resource(snapshot: Snapshot) -> str:
    """Return the resource that matters: the GPU that most nodes have, else CPU."""
    found: Counter[str] = Counter()
    sizes = _sizes(snapshot.nodes.values())
    for size, nodes in Counter([id(node.allocatable) for node in snapshot.nodes.values()]).items():
        for resource, _ in sizes[size]:
            if resource.endswith("/gpu") or resource == "huawei.com/Ascend910":
                found[resource] += nodes
    return max(found, key=lambda resource: (found[resource], resource)) if found else "cpu"


def _sizes(nodes: Iterable[Node]) -> dict[int, Resources]:
    """Return the amounts that nodes have, by identity: most nodes share theirs with many others."""
    return {id(node.allocatable): node.allocatable for node in nodes}


class _Figures(NamedTuple):
    """By domain index: what is free (None where pods went unseen) and what there is, and how many nodes are out."""

    free: Sequence[int | None]
    total: Sequence[int]
    cordoned: Sequence[int]
    not_ready: Sequence[int]


def _figures(tree: Tree, view: View, resource: str, *, are_pods_seen: bool) -> _Figures:
    nodes = [view.node(name) for name in tree.leaf]
    of_size = {size: dict(amounts).get(resource, 0) for size, amounts in _sizes(nodes).items()}
    totals = {node.name: of_size[id(node.allocatable)] for node in nodes}
    return _Figures(
        free=sums(tree, _free(view, resource, totals)) if are_pods_seen else (None,) * len(tree.domains),
        total=sums(tree, totals),
        cordoned=sums(tree, {node.name: 1 for node in nodes if node.unschedulable}),
        not_ready=sums(tree, {node.name: 1 for node in nodes if not node.ready}),
    )


def _domain_rows(tree: Tree, figures: _Figures, course: Course | None) -> tuple[DomainRow, ...]:
    gathering = course.first.gathering if course is not None else None
    return tuple(
        DomainRow(
            layer=domain.layer,
            name=domain.name,
            parent=_named(tree.domains[domain.parent]) if domain.parent >= 0 else None,
            nodes=domain.nodes,
            free=figures.free[index],
            total=figures.total[index],
            cordoned=figures.cordoned[index],
            not_ready=figures.not_ready[index],
            offer_slots=gathering.slots[index] if gathering is not None else None,
        )
        for index, domain in enumerate(tree.domains)
        if domain.layer != NODE_LAYER
    )


def _node_rows(tree: Tree, view: View, figures: _Figures, course: Course | None) -> tuple[NodeRow, ...]:
    gathering = course.first.gathering if course is not None else None
    rows = []
    for name, index in tree.leaf.items():
        slots = gathering.slots[index] if gathering is not None else None
        reason = course.first.rejections.get(name) if course is not None else None
        words = obstacle(reason) if reason is not None and slots == 0 else ""
        parent = _named(tree.domains[tree.parents[index]])
        state = _state(view.node(name))
        rows.append(NodeRow(name, parent, figures.free[index], figures.total[index], state, slots, words))
    return tuple(rows)


def _named(domain: Domain) -> DomainName:
    return DomainName(domain.layer, domain.name)


def _free(view: View, resource: str, totals: Mapping[str, int]) -> dict[str, int]:
    """Return what is free of one resource on each of these nodes: the only sum that a mere tree needs."""
    free = {}
    for name, total in totals.items():
        pods = view.occupants(name)
        taken = pods.requested.get(resource, 0) if isinstance(pods, Held) else _summed(pods, resource)
        free[name] = total - taken if taken < total else 0
    return free


def _summed(pods: Iterable[Occupant], resource: str) -> int:
    return sum(amount for pod in pods for name, amount in pod.shape.requests if name == resource)


def _state(node: Node) -> str:
    if node.unschedulable:
        return "cordoned"
    return "" if node.ready else "not ready"


def _problems(snapshot: Snapshot, tree: Tree) -> Iterator[Notice]:
    for merged in tree.merged:
        parents = listed([parent or "(root)" for parent in merged.parents])
        message = (
            f"{merged.layer} {merged.name} stands below {parents}: one domain for the scheduler, below whichever"
            " node it met first."
        )
        yield Notice("merged-domains", message)
    if tree.outside:
        number = count(len(tree.outside), "node")
        yield Notice("outside-nodes", f"{number} outside the tree: no topology gang is ever placed there.")
    virtual = [domain.name for domain in tree.domains if domain.virtual]
    if virtual:
        number = count(len(virtual), "node")
        message = f"{number} without the label of the lowest layer: a domain of its own each ({listed(virtual)})."
        yield Notice("virtual-domains", message)
    yield from _stale_status(snapshot, tree)


def _stale_status(snapshot: Snapshot, tree: Tree) -> Iterator[Notice]:
    """Compare the tree with what the scheduler last wrote into the ClusterNetworkTopology's status."""
    written = snapshot.topologies["default"].status
    if written is None:
        return
    seen = {(domain.layer, domain.name): domain.nodes for domain in written}
    now = {(domain.layer, domain.name): domain.nodes for domain in tree.domains if domain.layer != NODE_LAYER}
    differing = sorted(key for key in seen.keys() | now.keys() if seen.get(key) != now.get(key))
    if differing:
        layer, name = differing[0]
        message = (
            f"the status of the ClusterNetworkTopology is stale in {count(len(differing), 'domain')}, such as"
            f" {layer} {name or '(root)'} (nodes then: {seen.get(differing[0], 0)}, now: {now.get(differing[0], 0)})."
        )
        yield Notice("stale-status", message)
