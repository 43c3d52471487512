"""Pods that are being moved out of the domain in which their gang must stay together."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from kubectl_koord.engine.gangs import all_gangs, group_of, topology_requirements
from kubectl_koord.engine.subjects import PodSubject, Subject
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


class Home(Struct, frozen=True):
    """The domain in which most of a gang's pods are that are bound, and the nodes of all domains that have some."""

    layer: str
    name: str
    nodes: frozenset[str]


def home_of(subject: Subject, tree: Tree | NoTree) -> Home | None:
    """Return where the bound pods of a gang are that must stay together; None where it need not, or none is bound."""
    if isinstance(subject, PodSubject) or isinstance(tree, NoTree):
        return None
    layer = topology_requirements(subject.group.own.topology or (), tree).must_gather
    used = _used(tree, layer, (pod.node for gang in subject.group.everyone for pod in gang.running)) if layer else None
    if not used:
        return None
    home = _most(tree, used)
    nodes = frozenset(name for at in used for name in tree.nodes_below(at))
    return Home(home.layer, home.name, nodes)


def _used(tree: Tree, layer: str, nodes: Iterable[str]) -> Counter[int]:
    return Counter(at for node in nodes if (at := tree.domain_of(node, layer)) is not None)


def _most(tree: Tree, used: Counter[int]) -> DomainName:
    home = tree.domains[max(used, key=lambda at: (used[at], -at))]
    return DomainName(home.layer, home.name)


def _of_group(snapshot: Snapshot, tree: Tree, jobs: Sequence[Migration]) -> Iterator[tuple[str, DomainName]]:
    group = group_of(all_gangs(snapshot), jobs[0].gang or "")
    layer = topology_requirements(group.own.topology or (), tree).must_gather
    moved = {pod for one in jobs for pod in (one.pod, one.replacement)}
    staying = [pod.node for gang in group.everyone for pod in gang.running if pod.key not in moved]
    used = _used(tree, layer, staying)
    for one in jobs:
        if used and one.to and tree.domain_of(one.to, layer) not in used:
            yield one.job, _most(tree, used)
