"""What keeps a gang from being tried at all, in the scheduler's order, and what is odd about it.

Recomputes the rows before planning: mostly silent ones, which leave no condition and no event.
Mirrors `PreEnqueue` and `basicGangRequirementsCheck` in coscheduling/core/core.go.
"""

from collections.abc import Iterable, Iterator

from kubectl_koord.engine.attempt import needed
from kubectl_koord.engine.gangs import Gang, GangGroup, wish
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.explain.reports import Cause, Notice
from kubectl_koord.explain.subjects import Subject
from kubectl_koord.explain.words import count, listed
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot


def before_trying(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> tuple[Cause, ...]:
    """Return every cause that stops the subject before a node is looked at, the root cause first."""
    group = subject.group
    found = list(_of_pods(subject.pending, snapshot, group))
    if group is not None:
        found.extend(_of_group(group, snapshot))
        if not group.is_satisfied():
            found.extend(_of_topology(group, snapshot, tree))
    return tuple(found)


def _keys(pods: tuple[PendingPod, ...] | list[PendingPod]) -> tuple[str, ...]:
    return tuple(pod.key for pod in pods)


def _of_pods(pods: tuple[PendingPod, ...], snapshot: Snapshot, group: GangGroup | None) -> Iterator[Cause]:
    profiles = listed(snapshot.config.profiles)
    foreign = _foreign(pods, snapshot)
    names = listed(sorted({pod.scheduler for pod in foreign}))
    if foreign and len(foreign) == len(pods):
        yield Cause(
            "other-scheduler",
            f"its pods belong to scheduler {names}, not to Koordinator's ({profiles}).",
            _keys(foreign),
        )
    elif foreign and group is not None and _own_are_too_few(group, foreign):
        message = (
            f"{len(foreign)} of its {len(pods)} pods belong to scheduler {names}: the others wait for them in vain."
        )
        yield Cause("mixed-schedulers", message, _keys(foreign))
    if pods and all(pod.terminating for pod in pods):
        yield Cause("being-deleted", f"its {count(len(pods), 'pending pod')} are being deleted.", _keys(pods))
    gated = [pod for pod in pods if pod.gates]
    if gated:
        gates = listed(sorted({gate for pod in gated for gate in pod.gates}))
        which = "its pods are" if len(gated) == len(pods) else f"{len(gated)} of its {len(pods)} pods are"
        yield Cause("scheduling-gated", f"{which} held back by scheduling gate {gates}.", _keys(gated))


def _foreign(pods: Iterable[PendingPod], snapshot: Snapshot) -> list[PendingPod]:
    return [pod for pod in pods if pod.scheduler not in snapshot.config.profiles]


def _own_are_too_few(group: GangGroup, foreign: list[PendingPod]) -> bool:
    """Tell whether some gang cannot reach its minimum without members of other schedulers."""
    lost = {pod.key for pod in foreign}
    wanted = needed(group)
    return any(sum(pod.key not in lost for pod in gang.pending) < wanted[gang.key] for gang in group.members)


def _of_group(group: GangGroup, snapshot: Snapshot) -> Iterator[Cause]:
    gang = group.gangs.get(group.asked)
    own = gang if gang is not None else next(iter(group.members), None)
    if own is None or not group.pending:
        return
    yield from _of_definition(own, snapshot, own=True)
    if group.is_satisfied():
        return
    yield from _of_size(own, snapshot, "too-few-pods")
    for key, member in group.gangs.items():
        if key == own.key:
            continue
        if member is None and not all(snapshot.sees(kind, key.partition("/")[0]) for kind in ("Pod", "PodGroup")):
            continue
        if member is None:
            where = "" if "/" in key else " (ids read NAMESPACE/NAME)"
            yield Cause("group-member-missing", f"gang {key} of its group does not exist{where}.", (key,))
        else:
            yield from _of_definition(member, snapshot, own=False)
            yield from _of_size(member, snapshot, "group-member-too-few-pods")
    yield from _of_waiting(group)
    differing = [member for member in group.members if set(member.group) != set(own.group)]
    if differing:
        message = f"gang {listed([member.key for member in differing])} names another group than {own.key}."
        yield Cause("groups-differ", message, tuple(member.key for member in differing))


def _of_waiting(group: GangGroup) -> Iterator[Cause]:
    """Yield a cause where bound members do not count and those that wait are too few without them."""
    wanted = needed(group)
    for gang in group.members:
        if gang.bound and gang.minimum is not None and len(gang.pending) < wanted[gang.key] <= gang.children:
            number = count(len(gang.pending), "pending pod")
            message = (
                f"{gang.key} has {number}, but {wanted[gang.key]} must wait at once: with match policy"
                f" {gang.match_policy} those that are bound ({gang.bound}) do not count."
            )
            yield Cause("replacement-waits", message, _keys(gang.pending))


def _of_definition(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Cause]:
    if gang.defined_by == "" and snapshot.sees("PodGroup", gang.key.partition("/")[0]):
        code = "no-podgroup" if own else "group-member-missing"
        name = gang.key.partition("/")[2]
        yield Cause(code, f"its pods name PodGroup {name}, which does not exist.", _keys(gang.pending))
    elif gang.defined_by == "pods" and gang.minimum is None:
        written = f"min-available {gang.minimum_written!r} is no number" if gang.minimum_written else "no min-available"
        code = "gang-not-initialised" if own else "group-member-missing"
        yield Cause(code, f"the gang is never initialised: {written}.", _keys(gang.pending))


def _of_size(gang: Gang, snapshot: Snapshot, code: str) -> Iterator[Cause]:
    is_seen = snapshot.sees("Pod", gang.key.partition("/")[0])
    if is_seen and gang.minimum is not None and gang.children < gang.minimum:
        whose = "it has" if code == "too-few-pods" else f"gang {gang.key} of its group has"
        message = f"{whose} {count(gang.children, 'pod')} of the {gang.minimum} that it needs."
        yield Cause(code, message, _keys(gang.pending))


def _of_topology(group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Cause]:
    specs = [spec for spec in group.specs if spec is not None]
    if not specs or not snapshot.sees("ClusterNetworkTopology") or not snapshot.sees("Node"):
        return
    if not snapshot.config.aware_of_topology and len(group.pending) > 1:
        message = (
            "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: no member"
            " but the first ever gets a node."
        )
        yield Cause("no-topology", message)
        return
    if isinstance(tree, NoTree):
        code = "no-topology" if tree.code == "topology-other-name" else tree.code
        yield Cause("broken-layer-chain" if code == "layer-cycle" else code, f"{tree.message}.")
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
    group = subject.group
    if group is None:
        return
    for gang in group.members:
        yield from _unreadable(gang)
        yield from _unknown_layers(gang, tree)
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
    if group.is_satisfied() and group.pending and not any(gang.running for gang in group.members):
        message = (
            "finished pods of an earlier run under the same gang name count as its members: the gang is taken as"
            " satisfied, and its pods are scheduled one by one, without gang, topology or job preemption."
        )
        yield Notice("satisfied-by-earlier-pods", message)
    yield from _index_order(group)
    yield from _selector(group, snapshot)


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
