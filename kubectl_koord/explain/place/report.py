"""A node, or a domain of the topology: what runs there, what is free, who could use it, what a drain would do."""

from collections.abc import Sequence
from typing import TypedDict

from kubectl_koord.diagnosis import coverage, migrations, not_ready, visibility
from kubectl_koord.diagnosis.obstacles import bookings
from kubectl_koord.engine.tree import NODE_LAYER, Domain, NoTree, Tree, tree_of
from kubectl_koord.explain.place import contents
from kubectl_koord.explain.place.drain import drain
from kubectl_koord.explain.place.waiting import waiting
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.capacity.devices import TypeTotal
from kubectl_koord.reports.capacity.place import (
    DomainReport,
    Drain,
    Free,
    JobHere,
    NodeReport,
    NominatedPod,
    ReservationHere,
    WaitingGang,
)
from kubectl_koord.reports.common import Basis, DomainName, Notice, Verdict
from kubectl_koord.reports.migrations import Migration
from kubectl_koord.simulation.simulation import cluster_of
from kubectl_koord.wording.answers.topology import node_state
from kubectl_koord.wording.basis import could_not_be_read
from kubectl_koord.wording.words import domain_name

_KINDS = ("Node", "Pod", "PodGroup", "Device", "Reservation", "ClusterNetworkTopology", "PodDisruptionBudget")


class _Shared(TypedDict, total=False):
    """The fields that both answers share."""

    verdict: Verdict
    basis: Basis
    warnings: tuple[Notice, ...]
    free: tuple[Free, ...]
    devices: tuple[TypeTotal, ...]
    running: tuple[JobHere, ...]
    waiting: tuple[WaitingGang, ...]
    reservations: tuple[ReservationHere, ...]
    migrations: tuple[Migration, ...]
    drain: Drain | None
    message: str
    nominated: tuple[NominatedPod, ...]


def node_report(snapshot: Snapshot, name: str) -> NodeReport:
    """Return what there is to know of a node that there is."""
    node = snapshot.nodes[name]
    tree = tree_of(snapshot)
    above: tuple[DomainName, ...] = ()
    if isinstance(tree, Tree) and name in tree.leaf:
        domains = (tree.domains[index] for index in tree.ancestors(tree.parents[tree.leaf[name]]))
        above = tuple(_named(domain) for domain in domains if domain.name)
    return NodeReport(
        node=name,
        state=node_state(unschedulable=node.unschedulable, ready=node.ready),
        taints=tuple(f"{taint.key}={taint.value}:{taint.effect}".replace("=:", ":") for taint in node.taints),
        domains=above,
        **_shared(snapshot, (name,), None),
    )


def domain_report(snapshot: Snapshot, tree: Tree, index: int) -> DomainReport:
    """Return what there is to know of a domain of the topology tree."""
    domain = tree.domains[index]
    names = tuple(sorted(tree.nodes_below(index)))
    return DomainReport(
        layer=domain.layer,
        name=domain.name,
        parent=_named(tree.domains[domain.parent]) if domain.depth else None,
        nodes=names,
        cordoned=tuple(name for name in names if snapshot.nodes[name].unschedulable),
        not_ready=tuple(name for name in names if not snapshot.nodes[name].ready),
        **_shared(snapshot, names, index),
    )


def domains_named(tree: Tree | NoTree, name: str) -> tuple[int, ...]:
    """Return the domains above the nodes that `NAME` or `LAYER/NAME` means; `cluster` is the one above all others."""
    if isinstance(tree, NoTree):
        return ()
    layer, _, bare = name.partition("/")
    every = [index for index in tree.inner if tree.domains[index].name and tree.domains[index].layer != NODE_LAYER]
    full = tuple(index for index in every if (tree.domains[index].layer, tree.domains[index].name) == (layer, bare))
    found = full or tuple(index for index in every if tree.domains[index].name == name)
    root = tree.inner[0]
    return found or ((root,) if name in {domain_name(""), full_name(tree, root)} else ())


def full_names(tree: Tree | NoTree) -> tuple[str, ...]:
    """Return `LAYER/NAME` of every domain above the nodes."""
    if isinstance(tree, NoTree):
        return ()
    return tuple(full_name(tree, index) for index in tree.inner)


def full_name(tree: Tree, index: int) -> str:
    """Return `LAYER/NAME` of a domain."""
    return f"{tree.domains[index].layer}/{domain_name(tree.domains[index].name)}"


def _named(domain: Domain) -> DomainName:
    return DomainName(domain.layer, domain.name)


def _shared(snapshot: Snapshot, names: Sequence[str], domain: int | None) -> _Shared:
    unread = visibility.unread(snapshot, "listing")
    warnings = (*not_ready.where_open(snapshot, names), *coverage.general(snapshot), *coverage.absent(snapshot, _KINDS))
    basis = coverage.basis(snapshot)
    if visibility.unread(snapshot, "attempt"):
        return _Shared(verdict="unknown", basis=basis, warnings=warnings, message=could_not_be_read(unread))
    cluster = cluster_of(snapshot)
    moving = migrations.at(snapshot, names)
    return _Shared(
        verdict="unknown" if unread else "yes",
        basis=basis,
        warnings=(
            *migrations.notices(moving, snapshot),
            *bookings.of_nodes(snapshot, names),
            *bookings.lost(snapshot, names),
            *warnings,
        ),
        free=tuple(contents.free(cluster, names)),
        devices=contents.devices(cluster, names),
        running=contents.running(cluster, names),
        waiting=waiting(cluster, names, domain),
        reservations=tuple(contents.reservations(cluster, names)),
        migrations=moving,
        drain=drain(cluster, names),
        nominated=contents.nominated(cluster, names),
        message=could_not_be_read(unread) if unread else "",
    )
