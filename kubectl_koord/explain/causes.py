"""What keeps a gang from being tried at all, in the scheduler's order, and what is odd about it.

Recomputes the rows before planning: mostly silent ones, which leave no condition and no event.
Mirrors `PreEnqueue` and `basicGangRequirementsCheck` in coscheduling/core/core.go.
"""

from collections.abc import Iterable, Iterator
from typing import Literal

from kubectl_koord.engine.attempt import needed
from kubectl_koord.engine.gangs import Gang, GangGroup, wish
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.explain import leader
from kubectl_koord.explain.reports import Cause, Notice
from kubectl_koord.explain.subjects import Subject
from kubectl_koord.explain.words import count, listed
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot

_Pods = tuple[PendingPod, ...]


def before_trying(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> tuple[Cause, ...]:
    """Return every cause that stops the subject before a node is looked at, the root cause first."""
    group = subject.group
    found = [*_of_scheduler(subject.pending, snapshot, group), *_of_pods(subject.pending, group)]
    if group is not None:
        found.extend(_of_group(group, snapshot))
        if not group.is_satisfied():
            found.extend(_of_topology(group, snapshot, tree))
    return tuple(found)


def _keys(pods: Iterable[PendingPod]) -> tuple[str, ...]:
    return tuple(pod.key for pod in pods)


def _of_scheduler(pods: _Pods, snapshot: Snapshot, group: GangGroup | None) -> Iterator[Cause]:
    foreign = _foreign(pods, snapshot)
    names = listed(sorted({pod.scheduler for pod in foreign}))
    if foreign and len(foreign) == len(pods):
        profiles = listed(snapshot.config.profiles)
        message = f"its pods belong to scheduler {names}, not to Koordinator's ({profiles})."
        yield Cause("other-scheduler", message, _keys(foreign))
    elif foreign and _others_are_too_few(group, foreign):
        message = (
            f"{len(foreign)} of its {len(pods)} pods belong to scheduler {names}: the others wait for them in vain."
        )
        yield Cause("mixed-schedulers", message, _keys(foreign))
    silence = leader.silence(snapshot)
    if pods and silence:
        yield Cause("no-scheduler", silence)


def _of_pods(pods: _Pods, group: GangGroup | None) -> Iterator[Cause]:
    dying = tuple(pod for pod in pods if pod.terminating)
    if dying and len(dying) == len(pods):
        yield Cause("being-deleted", f"its {count(len(pods), 'pending pod')} are being deleted.", _keys(pods))
    elif dying and _others_are_too_few(group, dying):
        message = (
            f"{len(dying)} of its {len(pods)} pending pods are being deleted and not scheduled any more: the others"
            " are fewer than must wait at once."
        )
        yield Cause("being-deleted", message, _keys(dying))
    gated = [pod for pod in pods if pod.gates]
    if gated:
        gates = listed(sorted({gate for pod in gated for gate in pod.gates}))
        which = "its pods are" if len(gated) == len(pods) else f"{len(gated)} of its {len(pods)} pods are"
        yield Cause("scheduling-gated", f"{which} held back by scheduling gate {gates}.", _keys(gated))


def _foreign(pods: _Pods, snapshot: Snapshot) -> _Pods:
    return tuple(pod for pod in pods if pod.scheduler not in snapshot.config.profiles)


def _others_are_too_few(group: GangGroup | None, lost: _Pods) -> bool:
    """Tell whether some gang cannot reach its minimum without these members."""
    if group is None or group.is_satisfied():
        return False
    gone = set(_keys(lost))
    wanted = needed(group)
    return any(sum(pod.key not in gone for pod in gang.pending) < wanted[gang.key] for gang in group.members)


def _of_group(group: GangGroup, snapshot: Snapshot) -> Iterator[Cause]:
    gang = group.gangs.get(group.asked)
    own = gang if gang is not None else next(iter(group.members), None)
    if own is None or not group.pending:
        return
    yield from _of_definition(own, snapshot, own=True)
    if group.is_satisfied():
        return
    yield from _of_size(own, snapshot, own=True)
    for key, member in group.gangs.items():
        if key == own.key:
            continue
        if (
            member is None
            and "/" in key
            and not all(snapshot.sees(kind, key.partition("/")[0]) for kind in ("Pod", "PodGroup"))
        ):
            continue
        if member is None:
            where = "" if "/" in key else " (ids read NAMESPACE/NAME)"
            yield Cause("group-member-missing", f"gang {key} of its group does not exist{where}.", (key,))
        else:
            yield from _of_definition(member, snapshot, own=False)
            yield from _of_size(member, snapshot, own=False)
    yield from _of_waiting(group)
    differing = [member for member in group.members if set(member.group) != set(own.group)]
    if differing:
        message = f"gang {listed([member.key for member in differing])} names another group than {own.key}."
        yield Cause("groups-differ", message, tuple(member.key for member in differing))


def _of_waiting(group: GangGroup) -> Iterator[Cause]:
    """Yield a cause where there are children enough, but bound and finished ones do not count among those that wait.

    Mirrors `isGangValidForPermit` in coscheduling/core/gang.go.
    """
    wanted = needed(group)
    for gang in group.members:
        if gang.minimum is None or not len(gang.pending) < wanted[gang.key] <= gang.children:
            continue
        number = f"{gang.key} has {count(len(gang.pending), 'pending pod')}, but {wanted[gang.key]} must wait at once"
        if not gang.bound:
            message = f"{number}: its finished pods ({len(gang.finished)}) count as members, but never wait."
            yield Cause("too-few-pods", message, _keys(gang.pending))
            continue
        why = f"with match policy {gang.match_policy} those that are bound ({gang.bound}) do not count."
        is_complete = gang.pending and len(gang.running) >= gang.minimum
        code: Literal["surplus-pods", "replacement-waits"] = "surplus-pods" if is_complete else "replacement-waits"
        yield Cause(code, f"{number}: {why}", _keys(gang.pending))


def _of_definition(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Cause]:
    if gang.defined_by == "" and snapshot.sees("PodGroup", gang.key.partition("/")[0]):
        name = gang.key.partition("/")[2]
        message = f"its pods name PodGroup {name}, which does not exist."
        yield Cause("no-podgroup" if own else "group-member-missing", message, _keys(gang.pending))
    elif gang.defined_by == "pods" and gang.minimum is None:
        written = f"min-available {gang.minimum_written!r} is no number" if gang.minimum_written else "no min-available"
        message = f"the gang is never initialised: {written}."
        yield Cause("gang-not-initialised" if own else "group-member-missing", message, _keys(gang.pending))


def _of_size(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Cause]:
    is_seen = snapshot.sees("Pod", gang.key.partition("/")[0])
    if is_seen and gang.minimum is not None and gang.children < gang.minimum:
        whose = "it has" if own else f"gang {gang.key} of its group has"
        message = f"{whose} {count(gang.children, 'pod')} of the {gang.minimum} that it needs."
        yield Cause("too-few-pods" if own else "group-member-too-few-pods", message, _keys(gang.pending) or (gang.key,))


def _of_topology(group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Cause]:
    specs = [spec for spec in group.specs if spec is not None]
    if not specs or not snapshot.sees("ClusterNetworkTopology") or not snapshot.sees("Node"):
        return
    if isinstance(tree, NoTree):
        no_topology = tree.code in {"no-topology", "topology-other-name"}
        yield Cause("no-topology" if no_topology else "broken-layer-chain", f"{tree.message}.")
        return
    if not snapshot.config.aware_of_topology:
        if len(group.pending) > 1:
            message = (
                "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: no member"
                " but the first ever gets a node."
            )
            yield Cause("no-topology", message)
        return
    known = {*tree.layers, "ClusterTopologyLayer"}
    for spec in specs:
        layer = wish(spec, tree).must_gather
        if layer and layer not in known:
            layers = listed(list(tree.layers), 8)
            yield Cause(
                "unknown-layer", f"it must gather in layer {layer}, which the topology does not have ({layers})."
            )


def oddities(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Notice]:
    """Yield warnings about settings that do not do what was meant, though they stop nobody."""
    yield from _of_some(subject, snapshot)
    group = subject.group
    if group is None:
        yield from _foreign_marker(subject.pending, snapshot)
        return
    for gang in group.members:
        yield from _unreadable(gang)
        yield from _unknown_layers(gang, tree)
        yield from _of_pod_group(gang, snapshot)
    if len(group.specs) > 1:
        yield Notice(
            "differing-specs",
            "the gangs of the group have different topology specs: only that of the pod tried first counts.",
        )
    asked = group.gangs.get(group.asked)
    if asked is None:
        yield Notice(
            "groups-differ",
            f"the group of {group.asked} does not name {group.asked} itself: the list is taken literally.",
        )
    if is_satisfied_by_earlier_pods(group):
        message = (
            "finished pods of an earlier run under the same gang name count as its members: the gang is taken as"
            " satisfied, and its pods are scheduled one by one, without gang, topology or job preemption."
        )
        yield Notice("satisfied-by-earlier-pods", message)
    yield from _unaware(group, snapshot, tree)
    yield from _index_order(group)
    yield from _selector(group, snapshot)


def is_satisfied_by_earlier_pods(group: GangGroup) -> bool:
    """Tell whether only pods that have finished make the scheduler take the group as satisfied."""
    return group.is_satisfied() and bool(group.pending) and not any(gang.running for gang in group.members)


def _of_some(subject: Subject, snapshot: Snapshot) -> Iterator[Notice]:
    """Warn of members that are not scheduled where the others are enough without them."""
    pods, group = subject.pending, subject.group
    foreign = _foreign(pods, snapshot)
    if 0 < len(foreign) < len(pods) and not _others_are_too_few(group, foreign):
        names = listed(sorted({pod.scheduler for pod in foreign}))
        message = (
            f"{len(foreign)} of its {len(pods)} pending pods belong to scheduler {names} ({listed(_keys(foreign))})."
        )
        yield Notice("mixed-schedulers", message)
    dying = tuple(pod for pod in pods if pod.terminating)
    if 0 < len(dying) < len(pods) and not _others_are_too_few(group, dying):
        message = (
            f"{len(dying)} of its {len(pods)} pending pods are being deleted ({listed(_keys(dying))}): they still"
            " count as members, and are not scheduled."
        )
        yield Notice("being-deleted", message)


def _foreign_marker(pods: _Pods, snapshot: Snapshot) -> Iterator[Notice]:
    for pod in pods:
        if pod.foreign_gang and pod.scheduler in snapshot.config.profiles:
            message = (
                f"{pod.foreign_gang} is no gang marker for Koordinator: {pod.key} is scheduled alone, not as a gang"
                " (its label is pod-group.scheduling.sigs.k8s.io)."
            )
            yield Notice("foreign-gang-marker", message)


def _unreadable(gang: Gang) -> Iterator[Notice]:
    if "groups" in gang.unreadable:
        yield Notice(
            "groups-unreadable", f"the groups annotation of {gang.key} is no JSON list: the gang stands alone."
        )
    if "network-topology-spec" in gang.unreadable:
        message = (
            f"the network-topology-spec of {gang.key} does not parse: the scheduler silently ignores it"
            " and places the pods without any topology."
        )
        yield Notice("topology-spec-unreadable", message)


def _unknown_layers(gang: Gang, tree: Tree | NoTree) -> Iterator[Notice]:
    for rule in gang.topology or ():
        if rule.strategy not in {"MustGather", "PreferGather"}:
            yield Notice(
                "unknown-strategy",
                f"{gang.key}: strategy {rule.strategy or '(none)'} is neither MustGather nor PreferGather: no effect.",
            )
        elif rule.strategy == "PreferGather" and isinstance(tree, Tree) and rule.layer not in tree.layers:
            yield Notice(
                "unknown-layer",
                f"{gang.key}: PreferGather names layer {rule.layer or '(none)'}, which the topology does not have.",
            )


def _of_pod_group(gang: Gang, snapshot: Snapshot) -> Iterator[Notice]:
    if not gang.pending:
        return
    if gang.minimum == 0:
        message = (
            f"{gang.key} has minimum 0: its pods never wait for each other, and its PodGroup stays in phase Pending."
        )
        yield Notice("min-member-zero", message)
    written = snapshot.pod_groups.get(gang.key)
    phase = written.phase if written is not None else ""
    if phase in {"Finished", "Failed"} or (phase in {"Scheduled", "Running"} and not gang.bound):
        message = f"the phase of PodGroup {gang.key}, {phase}, is of an earlier run: it is stale and decides nothing."
        yield Notice("stale-phase", message)


def _unaware(group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Notice]:
    """Warn where a single pod is placed without the topology that its gang asks for."""
    has_spec = any(spec is not None for spec in group.specs)
    if has_spec and isinstance(tree, Tree) and not snapshot.config.aware_of_topology and len(group.pending) == 1:
        message = "awareNetworkTopology is off in the scheduler's configuration: the topology spec has no effect."
        yield Notice("topology-not-aware", message)


def _index_order(group: GangGroup) -> Iterator[Notice]:
    """Warn where the ranks do not sort like the names: seats are handed out by name."""
    indexed = [pod for pod in group.pending if pod.index is not None]
    if not any(gang.topology is not None for gang in group.members) or len(indexed) < 2:  # noqa: PLR2004
        return
    by_name = sorted(indexed, key=lambda pod: pod.name)
    if [pod.index for pod in by_name] != sorted(pod.index or 0 for pod in indexed):
        message = (
            "the topology index is not honoured: pods take their seats in the order of their names as plain"
            f" text ({listed([pod.name for pod in by_name], 3)})."
        )
        yield Notice("index-not-honoured", message)


def _selector(group: GangGroup, snapshot: Snapshot) -> Iterator[Notice]:
    if snapshot.config.version != "1.7" and any(pod.selector for pod in group.pending):
        message = (
            "with a topology selector the scheduler counts its own planned pods too: the domain with the most"
            " room wins (worst fit), not the best fit."
        )
        yield Notice("worst-fit", message)
