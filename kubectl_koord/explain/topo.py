"""The topology tree: what is free, how many pods of a gang or shape fit, and what is wrong."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import structs

from kubectl_koord.diagnosis import contention, coverage, obstacles
from kubectl_koord.diagnosis.coverage import stale_status
from kubectl_koord.diagnosis.obstacles import cause
from kubectl_koord.diagnosis.quotas import headroom_of, limits_any
from kubectl_koord.engine.admission import before_trying
from kubectl_koord.engine.blockers import UnknownLayer
from kubectl_koord.engine.gangs import GangSubject, PodSubject, Subject
from kubectl_koord.engine.placement import sums
from kubectl_koord.engine.reasons import Refused
from kubectl_koord.engine.rounds import Outcome
from kubectl_koord.engine.state import Occupant, View, of
from kubectl_koord.engine.tree import DEFAULT_NAME, NODE_LAYER, ROOT_LAYER, Domain, NoTree, Tree, build, tree_of
from kubectl_koord.explain.why import of_equals, of_jobs_ahead, verdict_of
from kubectl_koord.language import say
from kubectl_koord.model import objects, values
from kubectl_koord.model.objects import Layer, NetworkTopology, Node
from kubectl_koord.model.pods import NodePods
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.reports.capacity import Amount, DomainRow, NodeRow, OutsideNode, TopologyReport
from kubectl_koord.reports.common import DomainName, Notice, Verdict
from kubectl_koord.simulation.simulation import cluster_of, open_outcomes, simulate
from kubectl_koord.simulation.submitted import Shape, ShapeRoom, room
from kubectl_koord.wording.facts import card_signs, lost_nodes, node_state, place_taken, several_parents
from kubectl_koord.wording.refusals import MANAGER_OFF, fault_clause, lacking, obstacle, refusal_sentence
from kubectl_koord.wording.words import could_not_be_read, count, listed

_ABSENT = "kind-not-in-input"


def with_shape(report: TopologyReport, snapshot: Snapshot, shape: Shape) -> TopologyReport:
    """Return the topology with how many pods of a shape each domain and node takes beside what runs there.

    Quotas, and what real pods would ask for besides, do not count. Unknown where anything could not be read that nodes
    may refuse such a pod for.
    """
    subject = PodSubject(shape.pod)
    unread = tuple(dict.fromkeys((*coverage.unread(snapshot, "tree"), *coverage.unread_for_room(subject, snapshot))))
    cluster = cluster_of(snapshot)
    found: ShapeRoom | None = None
    if isinstance(cluster.tree, Tree) and not coverage.unread(snapshot, "attempt"):
        found = room(cluster, shape)
    needed = tuple(kind for kind in coverage.kinds_needed(subject, snapshot) if kind != "ElasticQuota")
    kept = (notice for notice in report.warnings if notice.code != _ABSENT)
    missing = coverage.absent(snapshot, (*needed, "ClusterNetworkTopology"))
    incomplete = coverage.slots_incomplete(subject, snapshot) if found is not None else ()
    asked = structs.replace(
        report,
        verdict="unknown" if unread else report.verdict,
        message=could_not_be_read(unread) if unread else report.message,
        warnings=(*kept, *missing, *incomplete, *_refused(cluster.tree, found)),
        shape=shape.name,
        shape_requests={name: values.spell(name, number) for name, number in shape.pod.requirements.requests},
        shape_members=shape.members or None,
        shape_refusal=lacking(found.refusal) if found is not None and found.refusal is not None else "",
    )
    if found is None or not isinstance(cluster.tree, Tree):
        return asked
    return _counted(asked, cluster.tree, found.counts, shape.members)


def _refused(tree: Tree | NoTree, found: ShapeRoom | None) -> Iterator[Notice]:
    """Yield why nodes of the tree refuse a shape that they have enough free for."""
    if found is None or isinstance(tree, NoTree):
        return
    refused = [Refused(reason, 1) for name, reason in found.refused.items() if name in tree.leaf]
    if refused:
        yield Notice(
            "shape-refused", say("nodes with enough free take none: {lost_nodes}.", lost_nodes=lost_nodes(refused))
        )


def _counted(report: TopologyReport, tree: Tree, counts: Mapping[str, int], members: int) -> TopologyReport:
    summed = sums(tree, counts)
    takes = {(domain.layer, domain.name): summed[index] for index, domain in enumerate(tree.domains)}
    domains = []
    for row in report.domains:
        pods = takes[row.layer, row.name]
        domains.append(structs.replace(row, shape_pods=pods, shape_gangs=pods // members if members else None))
    nodes = (structs.replace(row, shape_pods=counts.get(row.node, 0)) for row in report.nodes)
    return structs.replace(report, domains=tuple(domains), nodes=tuple(nodes))


def topo(
    snapshot: Snapshot,
    subject: Subject | None = None,
    *,
    with_nodes: bool = True,
    tree: Tree | NoTree | None = None,
    resource: str = "",
    whole: bool = False,
) -> TopologyReport:
    """Return the tree as the scheduler builds it; with a subject, the offer slots of every domain.

    The verdict is no when no tree can be built, unknown when nodes or topology could not be read, or with a subject
    anything that its slots rest on; what could be read is shown all the same. A row for each node is left out unless
    `with_nodes`: of thousands nobody reads them all. `tree` is the snapshot's where it has been built already.
    `resource` is what to count, as `counted_as` returns it; by default the accelerators that there are, or else CPU.
    With `whole` the cards are counted, too, that are whole and free as Device objects say.
    """
    view = of(snapshot)
    tree = tree or tree_of(snapshot)
    kinds = (
        coverage.kinds_needed(subject, snapshot) if subject is not None else ("Node", "Pod", "ClusterNetworkTopology")
    )
    warnings = [*coverage.general(snapshot), *coverage.absent(snapshot, kinds)]
    resources: tuple[str, ...] = ("cpu",)
    tree_unread = coverage.unread(snapshot, "tree")
    unread = tree_unread if subject is None else (*tree_unread, *coverage.unread_for_slots(subject, snapshot))
    rows: tuple[tuple[DomainRow, ...], tuple[NodeRow, ...]] = ((), ())
    layers: tuple[str, ...] = ()
    outcome: Outcome | None = None
    outside: tuple[OutsideNode, ...] = ()
    if isinstance(tree, NoTree) and not tree_unread:
        warnings.append(Notice(tree.fault.code, say("{fault_clause}.", fault_clause=fault_clause(tree.fault))))
    elif isinstance(tree, Tree) and snapshot.sees("Node"):
        outcome = _outcome(snapshot, subject) if not tree_unread else None
        if subject is not None and outcome is not None:
            warnings.extend((*coverage.slots_incomplete(subject, snapshot), *_goes_first(snapshot, subject)))
        figures = _figures(tree, view, are_pods_seen=snapshot.sees("Pod"), resource=resource)
        if whole:
            figures = figures._replace(whole=_whole(tree, view))
        resources = tuple(amounts.resource for amounts in figures.amounts)
        rows = (_domain_rows(tree, figures, outcome), _node_rows(tree, view, figures, outcome) if with_nodes else ())
        layers = tree.layers
        outside = tuple(OutsideNode(node.node, node.missing) for node in tree.outside)
        warnings.extend((*_problems(snapshot, tree), *obstacles.lost(snapshot, tree.leaf)))
    is_no_tree = isinstance(tree, NoTree) and not tree_unread
    verdict: Verdict = "no" if is_no_tree else ("unknown" if unread else "yes")
    return TopologyReport(
        verdict=verdict,
        basis=coverage.basis(snapshot),
        warnings=tuple(warnings),
        layers=layers,
        domains=rows[0],
        outside=outside,
        nodes=rows[1],
        resource=resources[0],
        resources=resources,
        gang=subject.key if subject is not None else None,
        desired_offer_slot=_desired(snapshot, subject),
        no_slots=_why_uncounted(snapshot, subject, unread) if subject is not None and outcome is None else "",
        message=could_not_be_read(unread) if verdict == "unknown" else "",
        whole=whole,
        headroom=headroom_of(subject, view) if subject is not None and limits_any(subject, snapshot) else None,
    )


_FLAT = {DEFAULT_NAME: NetworkTopology(DEFAULT_NAME, (Layer(NODE_LAYER, ROOT_LAYER),))}


def with_outside(snapshot: Snapshot) -> TopologyReport:
    """Return the topology with a row for each node: those outside the tree, all where there is none, have no parent."""
    report = topo(snapshot)
    inside = {row.node for row in report.nodes}
    outside = {name: node for name, node in snapshot.nodes.items() if name not in inside}
    if not outside:
        return report
    flat = structs.replace(snapshot, topologies=_FLAT, nodes=outside)
    rows = topo(flat, tree=build(_FLAT, outside), resource=counted_as(snapshot, report.resource) if inside else "")
    nodes = (structs.replace(row, parent=DomainName("", "")) for row in rows.nodes)
    return structs.replace(report, nodes=(*report.nodes, *nodes), resource=report.resource if inside else rows.resource)


def everywhere(snapshot: Snapshot, report: TopologyReport) -> TopologyReport:
    """Return all nodes as one domain, in the tree or not: the topology's report where the tree has them all."""
    if report.domains and not report.outside:
        return report
    return topo(structs.replace(snapshot, topologies=_FLAT), tree=build(_FLAT, snapshot.nodes))


def _desired(snapshot: Snapshot, subject: Subject | None) -> int | None:
    return None if subject is None or coverage.unread_members(subject, snapshot) else len(subject.pending)


def _outcome(snapshot: Snapshot, subject: Subject | None) -> Outcome | None:
    if subject is None or not subject.pending or coverage.unread_for(subject, snapshot):
        return None
    simulation = simulate(snapshot, subject)
    if any(isinstance(one, UnknownLayer) for one in before_trying(subject, snapshot, simulation.tree)):
        return None  # what is counted without the layer is not what was asked for
    left = contention.left_by_jobs_ahead(simulation)
    found = open_outcomes(left.seen[0] if left is not None else simulation, preemption=False)
    return found[0] if found and found[0].first.plan is not None else None


def _why_uncounted(snapshot: Snapshot, subject: Subject, unread: tuple[Gap, ...]) -> str:
    """Return why no domain is planned for a subject; empty where nothing waits."""
    if not subject.pending:
        return ""
    if unread:
        return could_not_be_read(unread)
    simulation = simulate(snapshot, subject)
    blockers = before_trying(subject, snapshot, simulation.tree)
    if blockers:
        unknown = (one for one in blockers if isinstance(one, UnknownLayer))
        return cause(next(unknown, blockers[0])).message
    found = open_outcomes(simulation, preemption=False)
    refusal = next((one.first.prefilter for one in found if one.first.prefilter is not None), None)
    if refusal is not None:
        return refusal_sentence(refusal)
    has_run = isinstance(subject, GangSubject) and subject.group.is_satisfied()
    return (
        say("it ran before, so the scheduler places each of its pods alone.")
        if has_run
        else say("it has no topology spec, so the scheduler looks at nodes alone.")
    )


def _goes_first(snapshot: Snapshot, subject: Subject) -> Iterator[Notice]:
    """Yield who goes first, and whether they take the place of a subject that would be placed otherwise."""
    simulation = simulate(snapshot, subject)
    found = verdict_of(simulation)
    if found.behind is not None:
        yield Notice("contended", place_taken(found.behind.names, certain=found.behind.certain))
    yield from of_equals(found.equals)
    yield from of_jobs_ahead(simulation)


class _Amounts(NamedTuple):
    """What there is of one resource by domain index, and what is free (None where pods could not be read).

    `withheld` is what would be free on nodes that are cordoned or not ready; `free` is without it.
    """

    resource: str
    free: Sequence[int | None]
    total: Sequence[int]
    withheld: Sequence[int | None]


class _Figures(NamedTuple):
    """By domain index: the amounts of each resource that is counted, and how many nodes are out."""

    amounts: tuple[_Amounts, ...]
    cordoned: Sequence[int]
    not_ready: Sequence[int]
    whole: Sequence[int | None] = ()


def resource_names(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the resources that nodes have, in name order."""
    sizes = {node.allocatable for node in snapshot.nodes.values()}
    return tuple(sorted({resource for size in sizes for resource, _ in size}))


def counted_as(snapshot: Snapshot, name: str) -> str:
    """Return what to count for the name of a resource, or for what is behind its slash; empty where no node has it.

    Resources of accelerators are counted together with others that name the same cards.
    """
    names = resource_names(snapshot)
    found = next((one for one in names if one == name), "") or next(
        (one for one in names if one.rpartition("/")[2] == name.lower()), ""
    )
    return objects.family(found) or found


def _whole(tree: Tree, view: View) -> Sequence[int | None]:
    """Return by domain index the cards that are whole and free, None where what takes them could not be read."""
    if not obstacles.are_books_seen(view.snapshot) or not view.snapshot.sees("Device"):
        return (None,) * len(tree.domains)
    counted = {name: obstacles.counted(view, name) for name in tree.leaf}
    return sums(
        tree, {name: sum(each.whole for each in found.values() if each.usable) for name, found in counted.items()}
    )


def _figures(tree: Tree, view: View, *, are_pods_seen: bool, resource: str) -> _Figures:
    nodes = [view.node(name) for name in tree.leaf]
    sizes = {id(node.allocatable): dict(node.allocatable) for node in nodes}  # most nodes share theirs with others
    kinds = (resource,) if resource else objects.families(view.node(name) for name in view.names())
    return _Figures(
        amounts=tuple(_amounts(tree, view, kind, nodes, sizes, are_pods_seen=are_pods_seen) for kind in kinds),
        cordoned=sums(tree, {node.name: 1 for node in nodes if node.unschedulable}),
        not_ready=sums(tree, {node.name: 1 for node in nodes if not node.ready}),
    )


def _amounts(
    tree: Tree,
    view: View,
    kind: str,
    nodes: Sequence[Node],
    sizes: Mapping[int, Mapping[str, int]],
    *,
    are_pods_seen: bool,
) -> _Amounts:
    """Return the amounts of a family of cards, or of CPU, in the resource that they are best counted in."""
    of_size = {
        size: (objects.of_node(had) if objects.is_family(kind) else had).get(kind, 0) for size, had in sizes.items()
    }
    totals = {node.name: of_size[id(node.allocatable)] for node in nodes}
    free = _free(view, kind, totals) if are_pods_seen else {}
    names = [name for node in nodes for name in sizes[id(node.allocatable)]]
    of_family = [*totals.values(), *free.values()]
    resource = objects.resource_of(kind, names, of_family)
    unit = objects.unit(resource)
    out = {node.name for node in nodes if node.unschedulable or not node.ready}

    def summed(amounts: Mapping[str, int]) -> Sequence[int]:
        return [number // unit for number in sums(tree, amounts)]

    unknown = (None,) * len(tree.domains)
    return _Amounts(
        resource=resource,
        free=summed({name: number for name, number in free.items() if name not in out}) if are_pods_seen else unknown,
        total=summed(totals),
        withheld=summed({name: number for name, number in free.items() if name in out}) if are_pods_seen else unknown,
    )


def _domain_rows(tree: Tree, figures: _Figures, outcome: Outcome | None) -> tuple[DomainRow, ...]:
    plan = outcome.first.plan if outcome is not None else None
    main = figures.amounts[0]
    return tuple(
        DomainRow(
            layer=domain.layer,
            name=domain.name,
            parent=_named(tree.domains[domain.parent]) if domain.parent >= 0 else None,
            nodes=domain.nodes,
            free=main.free[index],
            total=main.total[index],
            cordoned=figures.cordoned[index],
            not_ready=figures.not_ready[index],
            offer_slots=plan.slots[index] if plan is not None else None,
            withheld=main.withheld[index],
            others=_others(figures, index),
            whole=figures.whole[index] if figures.whole else None,
        )
        for index, domain in enumerate(tree.domains)
        if domain.layer != NODE_LAYER
    )


def _node_rows(tree: Tree, view: View, figures: _Figures, outcome: Outcome | None) -> tuple[NodeRow, ...]:
    plan = outcome.first.plan if outcome is not None else None
    main, rows = figures.amounts[0], []
    for name, index in tree.leaf.items():
        slots = plan.slots[index] if plan is not None else None
        node = view.node(name)
        reason = outcome.first.rejections.get(name) if outcome is not None else None
        refusal = obstacle(reason) if reason is not None and slots == 0 else ""
        parent = _named(tree.domains[tree.parents[index]])
        rows.append(
            NodeRow(
                node=name,
                parent=parent,
                free=main.free[index],
                total=main.total[index],
                state=node_state(unschedulable=node.unschedulable, ready=node.ready),
                offer_slots=slots,
                reason=refusal,
                withheld=main.withheld[index],
                others=_others(figures, index),
                whole=figures.whole[index] if figures.whole else None,
                cards=card_signs(obstacles.cards_of(view.snapshot, view, name)[0]) if figures.whole else {},
            )
        )
    return tuple(rows)


def _named(domain: Domain) -> DomainName:
    return DomainName(domain.layer, domain.name)


def _others(figures: _Figures, index: int) -> dict[str, Amount]:
    return {each.resource: Amount(each.free[index], each.total[index]) for each in figures.amounts[1:]}


def _free(view: View, kind: str, totals: Mapping[str, int]) -> dict[str, int]:
    """Return what is free of CPU or of one family of cards on each of these nodes."""
    is_family = objects.is_family(kind)
    free = {}
    for name, total in totals.items():
        pods = view.occupants(name)
        if kind == "pods":
            taken = len(pods)
        else:
            requested = pods.requested if isinstance(pods, NodePods) else _summed(pods)
            taken = (objects.of_pods(requested) if is_family else requested).get(kind, 0)
        free[name] = max(total - taken, 0)
    return free


def _summed(occupants: Iterable[Occupant]) -> Mapping[str, int]:
    found: Counter[str] = Counter()
    for occupant in occupants:
        found.update(dict(occupant.requirements.requests))
    return found


_NO_MANAGER = say("{manager_off}: gangs with a topology spec are never placed.", manager_off=MANAGER_OFF)


def _problems(snapshot: Snapshot, tree: Tree) -> Iterator[Notice]:
    if not snapshot.config.manages_topology:
        yield Notice("topology-manager-off", _NO_MANAGER)
    for merged in tree.merged:
        yield Notice("merged-domains", several_parents(merged.layer, merged.name, merged.parents))
    if tree.outside:
        yield Notice("outside-nodes", _outside(len(tree.outside)))
    virtual = [domain.name for domain in tree.domains if domain.virtual]
    if virtual:
        yield Notice("virtual-domains", _virtual(virtual))
    stale = stale_status(snapshot, tree)
    if stale is not None:
        yield Notice(stale.code, stale.message)


def _virtual(domains: Sequence[str]) -> str:
    """Return which nodes are domains of their own, as they lack the label of the lowest layer."""
    verb = "lacks" if len(domains) == 1 else "lack"
    return say(
        "{nodes} {verb} the label of the lowest layer: each is a domain of its own ({domains}).",
        nodes=count(len(domains), "node"),
        verb=verb,
        domains=listed(domains),
    )


def _outside(nodes: int) -> str:
    verb = "is" if nodes == 1 else "are"
    return say(
        "{nodes} {verb} outside the tree: gangs with a topology spec are never placed there.",
        nodes=count(nodes, "node"),
        verb=verb,
    )
