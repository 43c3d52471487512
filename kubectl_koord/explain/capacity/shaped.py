"""How many pods, and gangs, of a standard shape each domain of the topology takes."""

from collections.abc import Iterator, Mapping

from msgspec import structs

from kubectl_koord.diagnosis import coverage, visibility
from kubectl_koord.engine.domains import sums
from kubectl_koord.engine.reasons.nodes import Refused
from kubectl_koord.engine.subjects import PodSubject
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import quantity
from kubectl_koord.reports.capacity.topology import TopologyReport
from kubectl_koord.reports.common import Notice
from kubectl_koord.simulation.shapes import Shape, ShapeRoom, room
from kubectl_koord.simulation.simulation import cluster_of
from kubectl_koord.wording.answers.shapes import refused_by_nodes
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.refusals.prefilter import lacking

_ABSENT = "kind-not-in-input"


def with_shape(report: TopologyReport, snapshot: Snapshot, shape: Shape) -> TopologyReport:
    """Return the topology with how many pods of a shape each domain and node takes beside what runs there.

    Quotas, and what real pods would ask for besides, do not count. Unknown where anything could not be read that nodes
    may refuse such a pod for.
    """
    subject = PodSubject(shape.pod)
    unread = tuple(
        dict.fromkeys((*visibility.unread(snapshot, "tree"), *visibility.unread_for_room(subject, snapshot)))
    )
    cluster = cluster_of(snapshot)
    found: ShapeRoom | None = None
    if isinstance(cluster.tree, Tree) and not visibility.unread(snapshot, "attempt"):
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
        shape_requests={name: quantity.spell(name, number) for name, number in shape.pod.requirements.requests},
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
        yield Notice("shape-refused", refused_by_nodes(refused))


def _counted(report: TopologyReport, tree: Tree, counts: Mapping[str, int], members: int) -> TopologyReport:
    summed = sums(tree, counts)
    takes = {(domain.layer, domain.name): summed[index] for index, domain in enumerate(tree.domains)}
    domains = []
    for row in report.domains:
        pods = takes[row.layer, row.name]
        domains.append(structs.replace(row, shape_pods=pods, shape_gangs=pods // members if members else None))
    nodes = (structs.replace(row, shape_pods=counts.get(row.node, 0)) for row in report.nodes)
    return structs.replace(report, domains=tuple(domains), nodes=tuple(nodes))
