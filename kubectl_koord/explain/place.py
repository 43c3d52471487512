"""What is at a node or domain, who waits for it, and what draining it would do."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypedDict

from msgspec import Struct

from kubectl_koord.diagnosis import coverage, disruption, migrations, obstacles
from kubectl_koord.engine.filters import Prepared
from kubectl_koord.engine.gangs import Subject
from kubectl_koord.engine.placement import domain_slots
from kubectl_koord.engine.queue import priority
from kubectl_koord.engine.reasons import PreFilterRefusal
from kubectl_koord.engine.slots import in_index_order, offer_of_each, offer_slots
from kubectl_koord.engine.state import NodeState, of
from kubectl_koord.engine.tree import NODE_LAYER, Domain, NoTree, Tree, tree_of
from kubectl_koord.explain.why import Decided, verdict_of
from kubectl_koord.language import say
from kubectl_koord.model import objects, values
from kubectl_koord.model.pods import PendingPod, ReservedRoom, RunningPod, claim_names
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Resources
from kubectl_koord.reports.capacity import (
    DomainReport,
    Drain,
    DrainedPod,
    Free,
    JobHere,
    NodeReport,
    NominatedPod,
    ReasonHere,
    ReservationHere,
    TypeTotal,
    WaitingGang,
)
from kubectl_koord.reports.common import Basis, DomainName, Migration, Notice, Verdict
from kubectl_koord.simulation.simulation import Scenario, Simulation, cluster_of
from kubectl_koord.simulation.subjects import of_each, pending_subjects
from kubectl_koord.simulation.what_if import MovedPod, moved
from kubectl_koord.wording.facts import card_signs, lost_nodes, node_state, reservation_owner
from kubectl_koord.wording.refusals import lacking, refusal_counts
from kubectl_koord.wording.words import could_not_be_read, domain_name

_RANKS = {resource: rank for rank, resource in enumerate(("cpu", "memory", "pods"))}


def free(cluster: Scenario, names: Iterable[str]) -> Iterator[Free]:
    """Yield what is free by resource: cards, counted once whatever they are called, CPU, memory, pods, then others."""
    total, free, withheld = Counter[str](), Counter[str](), Counter[str]()
    every = tuple(names)
    for name in every:
        node = cluster.view.node(name)
        has, left = _amounts(cluster.view.state(name))
        total.update(has)
        (free if node.ready and not node.unschedulable else withheld).update(left)
    order = sorted(total, key=lambda kind: (not objects.is_family(kind), _RANKS.get(kind, len(_RANKS)), kind))
    spelled = [name for one in every for name, _ in cluster.view.node(one).allocatable]
    for kind in order:
        numbers = [total[kind], free[kind], withheld[kind]]
        resource = objects.resource_of(kind, spelled, numbers)
        unit = objects.unit(resource)
        yield Free(resource, free[kind] // unit, total[kind] // unit, withheld[kind] // unit)


def _amounts(state: NodeState) -> tuple[dict[str, int], dict[str, int]]:
    """Return by family of cards, and by any other resource, what a node has and what of it is free."""
    has = dict(state.node.allocatable)
    places = has.pop("pods", 0)
    used = {name: has.get(name, 0) - left for name, left in state.free.items()}
    plain = {
        name: number for name, number in has.items() if number and not objects.is_family(name) and not _is_share(name)
    }
    all_cards, taken = objects.of_node(has), objects.of_pods(used)
    free = {kind: max(number - taken.get(kind, 0), 0) for kind, number in all_cards.items()}
    free |= {name: max(state.free[name], 0) for name in plain}
    return {**all_cards, **plain, "pods": places}, {**free, "pods": max(state.places, 0)}


def _is_share(name: str) -> bool:
    return objects.is_share(name) or name.startswith("koordinator.sh/gpu")


def devices(cluster: Scenario, names: Iterable[str]) -> tuple[TypeTotal, ...]:
    """Return the devices by type."""
    counted = [obstacles.counted(cluster.view, name) for name in names]
    sizes: dict[str, int] = {}
    for node in counted:
        for kind, found in node.items():
            sizes[kind] = max(sizes.get(kind, 1), found.cards)
    return obstacles.totals(counted, sizes, seen=obstacles.are_books_seen(cluster.snapshot))


def running(cluster: Scenario, names: Iterable[str]) -> tuple[JobHere, ...]:
    """Return what runs here: gangs, owners and lone pods, the most important first."""
    jobs: dict[tuple[str, str, int], list[RunningPod]] = {}
    for name in names:
        for pod in cluster.view.occupants(name):
            if isinstance(pod, RunningPod):
                owner = f"{pod.namespace}/{pod.owner}" if pod.owner else pod.key
                jobs.setdefault((pod.gang, "" if pod.gang else owner, pod.priority), []).append(pod)
    order = sorted(jobs, key=lambda job: (-job[2], job))
    return tuple(_job(jobs[key]) for key in order)


def _job(pods: Sequence[RunningPod]) -> JobHere:
    first = pods[0]
    requested = Counter[str]()
    for pod in pods:
        requested.update(dict(pod.requirements.requests))
    return JobHere(
        gang=first.gang or None,
        owner=first.owner or None,
        priority=first.priority,
        pods=tuple(sorted(pod.key for pod in pods)),
        nodes=tuple(sorted({pod.node for pod in pods})),
        requests=_spelled(tuple(sorted(requested.items()))),
        daemon_set=all(disruption.comes_back_there(pod) for pod in pods),
        terminating=sum(pod.terminating for pod in pods),
    )


def _spelled(amounts: Resources) -> dict[str, str]:
    return {name: values.spell(name, number) for name, number in amounts}


def nominated(cluster: Scenario, names: Iterable[str]) -> tuple[NominatedPod, ...]:
    """Return the pending pods that are nominated to nodes here, by node, the most important first."""
    here = set(names)
    found = [pod for pod in cluster.snapshot.nominated if pod.nominated in here]
    found.sort(key=lambda pod: (pod.nominated, -pod.priority, pod.key))
    return tuple(NominatedPod(pod.key, pod.nominated, pod.priority) for pod in found)


def reservations(cluster: Scenario, names: Iterable[str]) -> Iterator[ReservationHere]:
    """Yield the Reservations that hold room here."""
    written = {one.uid: one for one in cluster.snapshot.reservations}
    for name in names:
        rooms = [one for one in cluster.view.occupants(name) if isinstance(one, ReservedRoom)]
        state = cluster.view.state(name)
        for room in sorted(rooms, key=lambda room: room.name):
            known = written.get(room.uid)
            rest = state.rest(room.uid) if room.uid in state.rooms else dict(room.requirements.requests)
            yield ReservationHere(
                reservation=room.name,
                node=name,
                owners=tuple(map(reservation_owner, known.owners)) if known is not None else (),
                size=_spelled(room.requirements.requests),
                unused=_spelled(tuple((resource, number) for resource, number in rest.items() if number > 0)),
                drawing=tuple(sorted(_drawing(cluster, name, room.uid))),
                expires=known.expires or None if known is not None else None,
                job=migrations.job_of(cluster.snapshot, room.name),
            )


def _drawing(cluster: Scenario, node: str, uid: str) -> Iterator[str]:
    for pod in cluster.view.occupants(node):
        if isinstance(pod, RunningPod) and uid and pod.allocations.reservation == uid:
            yield pod.key


DRAWS = say("it draws on a Reservation here: whether it must use one was not looked at")
HAS_CLAIMS = say("where the devices of its resource claims could be had anew was not looked at")
VOLUMES_UNREAD = say("its volume claims were not read")


def drain(cluster: Scenario, names: Collection[str]) -> Drain:
    """Return what `kubectl drain` of these nodes at once would do.

    Pods that come back there at once stay, those of DaemonSets and of the nodes themselves; pods that terminate
    already go anyway.
    """
    snapshot = cluster.snapshot
    there = [pod for name in sorted(names) for pod in cluster.view.occupants(name) if isinstance(pod, RunningPod)]
    leaving = [pod for pod in there if pod.terminating]
    stays = [pod for pod in there if disruption.comes_back_there(pod) and not pod.terminating]
    evicted = [pod for pod in there if not pod.terminating and not disruption.comes_back_there(pod)]
    goes = {pod.key: DrainedPod(pod.key, "unknown", bool(pod.owner), reason=_open(snapshot, pod)) for pod in evicted}
    tried = [pod for pod in evicted if not goes[pod.key].reason]
    goes |= {one.pod.key: _gone(one) for one in moved(cluster, names, tried, [*evicted, *leaving])}
    return Drain(
        evicts=disruption.freed(snapshot, evicted),
        goes=tuple(goes[key] for key in sorted(goes)),
        stays=tuple(pod.key for pod in _by_name(stays)),
        terminating=tuple(pod.key for pod in _by_name(leaving)),
        broken_gangs=disruption.broken_gangs(snapshot, evicted),
        daemon_sets=tuple(sorted({_daemon_set(pod) for pod in stays} - {""})),
    )


def _daemon_set(pod: RunningPod) -> str:
    """Return the DaemonSet of a pod, `namespace/name`; empty where it has none."""
    kind, _, name = pod.owner.partition("/")
    return f"{pod.namespace}/{name}" if kind == "DaemonSet" else ""


def _by_name(pods: Sequence[RunningPod]) -> list[RunningPod]:
    return sorted(pods, key=lambda pod: pod.key)


def _open(snapshot: Snapshot, pod: RunningPod) -> str:
    """Return why it is open where a pod could go; empty where it can be tried."""
    if pod.allocations.reservation:
        return DRAWS
    if pod.requirements.has_resource_claims:
        return HAS_CLAIMS
    return VOLUMES_UNREAD if any(name not in snapshot.claims for name in claim_names(pod)) else ""


def _gone(one: MovedPod) -> DrainedPod:
    if one.to:
        return DrainedPod(one.pod.key, "fits", bool(one.pod.owner), one.to)
    why = lacking(one.why) if isinstance(one.why, PreFilterRefusal) else lost_nodes(one.why)
    return DrainedPod(one.pod.key, "no-node", bool(one.pod.owner), reason=why)


_FEW = 4
"""Up to this number of nodes each is asked by itself."""


def waiting(cluster: Scenario, names: Sequence[str], domain: int | None) -> tuple[WaitingGang, ...]:
    """Return who is pending, those first whom the place would take most of, the more important before others."""
    every = of_each(pending_subjects(cluster.snapshot), lambda subject: _gang(cluster, subject, names, domain))
    return tuple(sorted(every, key=lambda gang: (not gang.slots, gang.lacks or 0, -gang.priority, gang.gang)))


class _Here(Struct, frozen=True):
    """How many pods a place takes, None where that cannot be counted, and why it takes no more."""

    slots: int | None
    reasons: tuple[ReasonHere, ...] = ()


def _gang(cluster: Scenario, subject: Subject, names: Sequence[str], domain: int | None) -> WaitingGang:
    simulation = cluster.simulation(subject)
    found = verdict_of(simulation)
    here = _here(simulation, found, names, domain)
    wanted = len(subject.pending)
    return WaitingGang(
        gang=subject.key,
        pending=wanted,
        priority=priority(subject),
        must_gather=simulation.must_gather,
        verdict=found.verdict,
        cause=found.why.code if found.why is not None else None,
        slots=here.slots,
        lacks=None if here.slots is None else max(wanted - here.slots, 0),
        reasons=here.reasons,
    )


def _here(simulation: Simulation, found: Decided, names: Sequence[str], domain: int | None) -> _Here:
    """Return how many of a subject's pods the place takes as things are, and why it takes no more."""
    if coverage.unread_for(simulation.subject, simulation.snapshot):
        return _Here(None)
    pods = in_index_order(simulation.subject.pending)
    prepared = _prepared(simulation, found, pods[0])
    if prepared.refusal is not None:
        return _Here(0, (ReasonHere(lacking(prepared.refusal), len(names)),))
    offer = (offer_of_each if len(names) <= _FEW else offer_slots)(simulation.view, names, pods, prepared)
    slots = sum(offer.counts[name] for name in names)
    if domain is not None and isinstance(simulation.tree, Tree) and simulation.has_topology:
        slots = domain_slots(simulation.tree, offer.counts, simulation.multiples)[domain]
    slots = min(slots, len(pods))
    return _Here(slots, tuple(ReasonHere(*item) for item in refusal_counts(offer.reasons)) if slots < len(pods) else ())


def _prepared(simulation: Simulation, found: Decided, pod: PendingPod) -> Prepared:
    """Return what PreFilter leaves for a pod, as computed for the verdict where the pod was tried before all others."""
    attempts = [outcome.first for outcome in found.outcomes] if simulation.is_landing_known else []
    alone = (each.prepared for each in attempts if each.trigger is pod and not each.waiting)
    return next(alone, None) or simulation.prepared(pod)


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
        cards=card_signs(obstacles.cards_of(snapshot, of(snapshot), name)[0]),
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
    unread = coverage.unread(snapshot, "listing")
    warnings = (*coverage.where_open(snapshot, names), *coverage.general(snapshot), *coverage.absent(snapshot, _KINDS))
    basis = coverage.basis(snapshot)
    if coverage.unread(snapshot, "attempt"):
        return _Shared(verdict="unknown", basis=basis, warnings=warnings, message=could_not_be_read(unread))
    cluster = cluster_of(snapshot)
    moving = migrations.at(snapshot, names)
    return _Shared(
        verdict="unknown" if unread else "yes",
        basis=basis,
        warnings=(
            *migrations.notices(moving, snapshot),
            *obstacles.of_nodes(snapshot, names),
            *obstacles.lost(snapshot, names),
            *warnings,
        ),
        free=tuple(free(cluster, names)),
        devices=devices(cluster, names),
        running=running(cluster, names),
        waiting=waiting(cluster, names, domain),
        reservations=tuple(reservations(cluster, names)),
        migrations=moving,
        drain=drain(cluster, names),
        nominated=nominated(cluster, names),
        message=could_not_be_read(unread) if unread else "",
    )
