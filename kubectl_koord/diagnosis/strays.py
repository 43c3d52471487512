"""Pods that are being moved out of the domain in which their gang must stay together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kubectl_koord.engine.gangs import all_gangs, group_of, topology_requirements
from kubectl_koord.engine.tree import NoTree, Tree, tree_of
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import DomainName
from kubectl_koord.reports.migrations import Migration


def left_domains(snapshot: Snapshot, moving: Iterable[Migration]) -> Mapping[str, DomainName]:
    """Return by job the domain that its pod leaves: its Reservation is elsewhere, and the spec says MustGather.

    That is where the pods of its gang, or of its gang group, are that stay.
    """
    gangs = all_gangs(snapshot)
    by_group: dict[tuple[str, ...], list[Migration]] = {}
    for one in moving:
        gang = gangs.get(one.gang or "")
        if gang is not None and gang.topology and not one.paused:
            by_group.setdefault(gang.group, []).append(one)
    if not any(one.to for jobs in by_group.values() for one in jobs):
        return {}
    tree = tree_of(snapshot)
    if isinstance(tree, NoTree):
        return {}
    return {job: left for jobs in by_group.values() for job, left in _of_group(snapshot, tree, jobs)}


def _of_group(snapshot: Snapshot, tree: Tree, jobs: Sequence[Migration]) -> Iterator[tuple[str, DomainName]]:
    group = group_of(all_gangs(snapshot), jobs[0].gang or "")
    layer = topology_requirements(group.own.topology or (), tree).must_gather
    moved = {pod for one in jobs for pod in (one.pod, one.replacement)}
    staying = [pod.node for gang in group.everyone for pod in gang.running if pod.key not in moved]
    used = Counter(at for node in staying if (at := tree.domain_of(node, layer)) is not None)
    for one in jobs:
        if used and one.to and tree.domain_of(one.to, layer) not in used:
            home = tree.domains[max(used, key=lambda at: (used[at], -at))]
            yield one.job, DomainName(home.layer, home.name)
