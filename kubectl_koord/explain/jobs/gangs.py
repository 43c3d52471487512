"""All gangs: what is wanted, present and bound of each, whether it can start, and where what runs of it is."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise

from kubectl_koord.diagnosis import coverage, migrations, visibility
from kubectl_koord.engine.gangs import Gang, all_gangs, group_of, topology_requirements
from kubectl_koord.engine.subjects import GangSubject, Subject
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.explain.jobs import volcano
from kubectl_koord.explain.jobs.why import why
from kubectl_koord.model.pods import RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.selectors import EVERYTHING, Selector
from kubectl_koord.reports.jobs.gangs import GangRow, GangsReport, Hops, StaleFault
from kubectl_koord.reports.jobs.pending import WhyReport
from kubectl_koord.simulation.simulation import Scenario, cluster_of
from kubectl_koord.simulation.subjects import has_labels, of_each, pending_subjects
from kubectl_koord.wording.basis import could_not_be_read

_NUMBER = re.compile(r"(\d+)$")
_BEFORE_SCHEDULED = {"Pending", "PreScheduling", "Scheduling"}
_SCHEDULED = {"Scheduled", "Running"}
_ENDED = {"Finished", "Failed"}


def gangs(
    snapshot: Snapshot, namespace: str = "", selector: Selector = EVERYTHING, *, only_pending: bool = False
) -> GangsReport:
    """Return every gang: of a PodGroup, of a lightweight label, of pods' annotations.

    Args:
        snapshot: the cluster.
        namespace: where the gangs are, empty for everywhere.
        selector: which labels the PodGroup or a pending pod has.
        only_pending: whether gangs without pending pods are left out.

    """
    cluster = cluster_of(snapshot)
    wanted = [
        gang
        for gang in all_gangs(snapshot).values()
        if (not namespace or gang.key.startswith(f"{namespace}/"))
        and (gang.pending or not only_pending)
        and (selector == EVERYTHING or has_labels(snapshot, gang, selector))
    ]
    waits = _answers(cluster, wanted)
    rows = tuple(_row(cluster, gang, waits.get(gang.key)) for gang in wanted)
    moving = dict.fromkeys(job for row in rows for job in row.migrations)
    unread = visibility.unread(snapshot, "listing", namespace)
    return GangsReport(
        verdict="unknown" if unread else "yes",
        basis=coverage.basis(snapshot),
        warnings=(
            *migrations.notices(moving, snapshot),
            *coverage.general(snapshot),
            *coverage.absent(snapshot, ("Node", "Pod", "PodGroup")),
        ),
        items=rows,
        message=could_not_be_read(unread) if unread else "",
        volcano=volcano.gangs(snapshot, namespace, only_waiting=only_pending) if selector == EVERYTHING else (),
        namespace=namespace,
        selected=only_pending or selector != EVERYTHING,
    )


def _answers(cluster: Scenario, wanted: Iterable[Gang]) -> Mapping[str, WhyReport]:
    """Return by gang what `why-pending` answers for those that wait, each group computed once.

    A gang is asked about for itself where another stands for its group that lists others, or has not run as it has.
    """
    waiting = {gang.key for gang in wanted if gang.pending}
    snapshot = cluster.snapshot
    asked = [one for one in pending_subjects(snapshot) if any(gang.key in waiting for gang in _tried(one))]
    alone = waiting - {gang.key for subject in asked for gang in _tried(subject)}
    asked += [GangSubject(group_of(all_gangs(snapshot), key)) for key in sorted(alone)]
    answers = of_each(asked, lambda subject: why(snapshot, subject, brief=True, sharing=cluster))
    return {
        gang.key: answer
        for subject, answer in zip(asked, answers, strict=True)
        for gang in _tried(subject)
        if gang.key in waiting
    }


def _tried(subject: Subject) -> tuple[Gang, ...]:
    """Return the gangs of which a subject tells: those with the list of its own that are tried as that is."""
    if not isinstance(subject, GangSubject):
        return ()
    group = subject.group
    alike = (gang for gang in group.tried if gang.group == group.own.group)
    return tuple(gang for gang in alike if group.has_run(gang) == group.is_satisfied())


def _row(cluster: Scenario, gang: Gang, answer: WhyReport | None) -> GangRow:
    snapshot, tree = cluster.snapshot, cluster.tree
    group = snapshot.pod_groups.get(gang.key)
    must = topology_requirements(gang.topology or (), tree).must_gather
    cause = answer.cause.code if answer is not None and answer.cause is not None else None
    reservations = migrations.reservations_of(snapshot, cluster.view, gang.pods)
    return GangRow(
        gang=gang.key,
        gang_group=gang.group,
        min_member=gang.minimum or 0,
        pods=gang.children,
        bound=gang.bound,
        pending=len(gang.pending),
        mode=gang.mode,
        match_policy=gang.match_policy,
        must_gather=must,
        span={} if isinstance(tree, NoTree) else _span(gang.running, tree),
        verdict=answer.verdict if answer is not None else "yes",
        cause=cause,
        waiting=sum(1 for pod in gang.pending if pod.nominated),
        running=len(gang.running),
        finished=len(gang.finished),
        defined_by=gang.defined_by,
        phase=group.phase if group is not None else "",
        stale=_stale(gang, group.phase) if group is not None else None,
        outside=0 if isinstance(tree, NoTree) else _outside(gang.running, tree, must),
        hops=None if isinstance(tree, NoTree) else _hops(gang.running, tree),
        created=group.created if group is not None else "",
        migrations=migrations.migrations_of(snapshot, gang.pods, reservations),
        reservations=reservations,
    )


def _span(running: Iterable[RunningPod], tree: Tree) -> Mapping[str, int]:
    """Return by layer how many domains the pods are in; nodes outside the tree are in none."""
    used: dict[str, set[int]] = {layer: set() for layer in tree.layers}
    for pod in running:
        for index in tree.ancestors(tree.leaf.get(pod.node, -1)):
            used.get(tree.domains[index].layer, set()).add(index)
    return {layer: len(domains) for layer, domains in used.items() if domains}


def _outside(running: Iterable[RunningPod], tree: Tree, layer: str) -> int:
    """Return how many pods are not in the domain of that layer which has most of them."""
    places = [tree.domain_of(pod.node, layer) for pod in running] if layer else []
    used = Counter(place for place in places if place is not None)
    return len(places) - max(used.values(), default=0)


def _hops(running: Iterable[RunningPod], tree: Tree) -> Hops | None:
    """Return how far apart pods are whose names end with neighbouring numbers, None without any."""
    numbered = sorted((int(found[1]), pod.node) for pod in running if (found := _NUMBER.search(pod.name)))
    steps = [_distance(tree, one, other) for (_, one), (_, other) in pairwise(numbered)]
    if not steps:
        return None
    far = len(tree.layers)
    return Hops(len(steps), sum(1 for step in steps if step >= far), max(steps), round(sum(steps) / len(steps), 2))


def _distance(tree: Tree, one: str, other: str) -> int:
    """Return how many layers above the nodes their common domain is; the cluster's for a node outside the tree."""
    if one == other:
        return 0
    above = set(tree.ancestors(tree.leaf.get(one, -1)))
    shared = next((index for index in tree.ancestors(tree.leaf.get(other, -1)) if index in above), None)
    return len(tree.layers) if shared is None else len(tree.layers) - tree.domains[shared].depth


def _stale(gang: Gang, phase: str) -> StaleFault | None:
    """Return what a PodGroup's phase does not know (coscheduling/controller/podgroup.go).

    Finished and Failed are never left; one that was never written tells nothing.
    """
    least = gang.minimum or 0
    if phase in _ENDED:
        return "used-again" if gang.pending or gang.running else None
    if phase in _SCHEDULED and gang.bound < least:
        return "fewer-bound"
    return "more-bound" if phase in _BEFORE_SCHEDULED and gang.bound >= least > 0 else None
