"""What keeps a gang from being tried at all, in the scheduler's order, and what is odd about it.

Recomputes the rows before planning: mostly silent ones, which leave no condition and no event.
Mirrors `PreEnqueue` and `basicGangRequirementsCheck` in coscheduling/core/core.go.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Literal

from kubectl_koord.diagnosis import leader
from kubectl_koord.engine.attempt import needed
from kubectl_koord.engine.gangs import Gang, GangGroup, topology_requirements
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.common import Notice
from kubectl_koord.reports.pending import Cause
from kubectl_koord.simulation.subjects import (
    GangSubject,
    PodSubject,
    Spec,
    Subject,
    is_layer,
    never_tried,
    prefilter_refusal,
)
from kubectl_koord.wording.scheduler import not_active
from kubectl_koord.wording.words import count, listed

_Pods = tuple[PendingPod, ...]


def before_trying(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> tuple[Cause, ...]:
    """Return every cause that stops the subject before a node is looked at, the root cause first.

    Those of which it is open what comes of them (`is_open`) go last.
    """
    found = [*_of_scheduler(subject, snapshot), *_of_pods(subject, snapshot)]
    if isinstance(subject, GangSubject):
        found.extend(_of_group(subject.group, snapshot))
        if not subject.group.is_satisfied():
            found.extend(_of_topology(subject.group, snapshot, tree))
    return tuple(sorted(found, key=lambda cause: is_open(cause, subject, snapshot)))


def is_open(cause: Cause, subject: Subject, snapshot: Snapshot) -> bool:
    """Tell whether a cause may keep the subject pending or not: the objects do not show which.

    Members without a gate are tried where they are enough, and the plan counts those with one. A gang
    that its own list leaves out is tried when those that it lists are, and may wait for them in vain.
    """
    if isinstance(subject, PodSubject):
        return False
    if cause.code == "scheduling-gated":
        return not _is_short(subject, never_tried(subject, snapshot))
    return cause.code == "groups-differ" and subject.group.omits_itself


def _keys(pods: Iterable[PendingPod]) -> tuple[str, ...]:
    return tuple(pod.key for pod in pods)


def _of_scheduler(subject: Subject, snapshot: Snapshot) -> Iterator[Cause]:
    pods = subject.pending
    foreign = _foreign(pods, snapshot)
    names = listed(sorted({pod.scheduler for pod in foreign}))
    if foreign and len(foreign) == len(pods):
        profiles = listed(snapshot.config.profiles)
        message = f"its pods have schedulerName {names}; koord-scheduler handles only {profiles}."
        yield Cause("other-scheduler", message, _keys(foreign))
    elif foreign and _is_short(subject, _keys(foreign)):
        have = _verb(foreign, "has", "have")
        message = (
            f"{len(foreign)} of its {len(pods)} pods {have} schedulerName {names}: koord-scheduler does not place"
            " them, and the other pods keep waiting."
        )
        yield Cause("mixed-schedulers", message, _keys(foreign))
    expired = leader.expired_lease(snapshot)
    if pods and expired is not None:
        yield Cause("no-scheduler", not_active(*expired))


def _of_pods(subject: Subject, snapshot: Snapshot) -> Iterator[Cause]:
    pods = subject.pending
    dying = tuple(pod for pod in pods if pod.terminating)
    if dying and len(dying) == len(pods):
        which = "it is" if isinstance(subject, PodSubject) else f"its {count(len(pods), 'pending pod')} {_are(dying)}"
        yield Cause("being-deleted", f"{which} being deleted.", _keys(pods))
    elif dying and _is_short(subject, _keys((*dying, *_foreign(pods, snapshot)))):
        message = f"{len(dying)} of its {len(pods)} pending pods {_are(dying)} being deleted: too few others are left."
        yield Cause("being-deleted", message, _keys(dying))
    gated = tuple(pod for pod in pods if pod.gates)
    if gated:
        gates = listed(sorted({gate for pod in gated for gate in pod.gates}))
        yield Cause("scheduling-gated", f"{_which(subject, gated)} held back by scheduling gate {gates}.", _keys(gated))


def _which(subject: Subject, some: _Pods) -> str:
    """Return which of its pods it is about, with the verb: `it is`, `its pod is`, `1 of its 3 pods is`."""
    if isinstance(subject, PodSubject):
        return "it is"
    number = len(subject.pending)
    if len(some) == number:
        return "its pod is" if number == 1 else "its pods are"
    return f"{len(some)} of its {number} pods {_are(some)}"


def _are(pods: _Pods) -> str:
    return _verb(pods, "is", "are")


def _verb(pods: _Pods, one: str, many: str) -> str:
    return one if len(pods) == 1 else many


def _foreign(pods: _Pods, snapshot: Snapshot) -> _Pods:
    return tuple(pod for pod in pods if pod.scheduler not in snapshot.config.profiles)


def _is_short(subject: Subject, lost: Collection[str]) -> bool:
    """Tell whether nobody is left without these members, or some gang cannot reach its minimum."""
    gone = set(lost)
    if all(pod.key in gone for pod in subject.pending):
        return True
    return isinstance(subject, GangSubject) and _is_below_minimum(subject.group, gone)


def _is_below_minimum(group: GangGroup, gone: Collection[str]) -> bool:
    """Tell whether some gang cannot reach its minimum without these members."""
    if group.is_satisfied() or group.omits_itself:
        return False
    wanted = needed(group)
    return any(sum(pod.key not in gone for pod in gang.pending) < wanted[gang.key] for gang in group.members)


def _of_group(group: GangGroup, snapshot: Snapshot) -> Iterator[Cause]:
    own = group.own
    if not group.pending:
        return
    yield from _of_definition(own, snapshot, own=True)
    if group.is_satisfied():
        return
    if not group.omits_itself:
        yield from _of_size(own, snapshot, own=True)
    yield from _of_missing(group, snapshot)
    for member in group.members:
        if member.key != own.key:
            yield from _of_definition(member, snapshot, own=False)
            yield from _of_size(member, snapshot, own=False)
    if not group.omits_itself:
        yield from _of_waiting(group)
    yield from _of_lists(group)


def _of_missing(group: GangGroup, snapshot: Snapshot) -> Iterator[Cause]:
    """Yield one cause for all gangs that do not exist, as far as their namespaces could be read."""
    missing = tuple(
        key
        for key, member in group.gangs.items()
        if member is None
        and ("/" not in key or all(snapshot.sees(kind, key.partition("/")[0]) for kind in ("Pod", "PodGroup")))
    )
    if missing:
        where = "" if all("/" in key for key in missing) else " (ids must be NAMESPACE/NAME)"
        which = (
            f"gang {missing[0]} of its group does" if len(missing) == 1 else f"gangs {listed(missing)} of its group do"
        )
        yield Cause("group-member-missing", f"{which} not exist{where}.", missing)


def _of_lists(group: GangGroup) -> Iterator[Cause]:
    """Yield a cause where the gangs of a group name other groups, or a gang's own list leaves it out."""
    own = group.own
    differing = tuple(member.key for member in group.members if set(member.group) != set(own.group))
    if group.omits_itself:
        message = f"it depends only on {listed(tuple(group.gangs))}: its own groups annotation does not list {own.key}."
        yield Cause("groups-differ", message, (own.key,))
    elif differing:
        message = f"the groups annotation of {own.key} differs from that of {listed(differing)}."
        yield Cause("groups-differ", message, differing)


def _of_waiting(group: GangGroup) -> Iterator[Cause]:
    """Yield a cause where there are children enough, but bound and finished ones do not count among those that wait.

    Mirrors `isGangValidForPermit` in coscheduling/core/gang.go.
    """
    wanted = needed(group)
    for gang in group.members:
        if gang.minimum is None or not len(gang.pending) < wanted[gang.key] <= gang.children:
            continue
        number = f"{gang.key} has {count(len(gang.pending), 'pending pod')}, but needs {wanted[gang.key]} at once"
        if not gang.bound:
            message = f"{number}: finished pods ({len(gang.finished)}) count as members but never wait."
            yield Cause("too-few-pods", message, _keys(gang.pending))
            continue
        why = f"with match policy {gang.match_policy}, bound pods ({gang.bound}) do not count."
        is_complete = gang.pending and len(gang.running) >= gang.minimum
        code: Literal["surplus-pods", "replacement-waits"] = "surplus-pods" if is_complete else "replacement-waits"
        yield Cause(code, f"{number}: {why}", _keys(gang.pending))


def _of_definition(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Cause]:
    if gang.defined_by == "" and snapshot.sees("PodGroup", gang.key.partition("/")[0]):
        name = gang.key.partition("/")[2]
        message = f"its pods name PodGroup {name}, which does not exist."
        yield Cause("no-podgroup" if own else "group-member-missing", message, _keys(gang.pending))
    elif gang.defined_by == "pods" and gang.minimum is None:
        written = (
            f"min-available {gang.minimum_written!r} is not a whole number"
            if gang.minimum_written
            else "its pods do not set min-available"
        )
        message = f"the gang is not initialised: {written}."
        yield Cause("gang-not-initialised" if own else "group-member-missing", message, _keys(gang.pending))


def _of_size(gang: Gang, snapshot: Snapshot, *, own: bool) -> Iterator[Cause]:
    is_seen = snapshot.sees("Pod", gang.key.partition("/")[0])
    if is_seen and gang.minimum is not None and gang.children < gang.minimum:
        whose = "it has" if own else f"gang {gang.key} of its group has"
        message = f"{whose} {gang.children} of the {count(gang.minimum, 'pod')} it needs."
        yield Cause("too-few-pods" if own else "group-member-too-few-pods", message, _keys(gang.pending) or (gang.key,))


def _of_topology(group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Cause]:
    """Yield what keeps the group from being planned, where no gang of it can come first with a spec that is better."""
    if not snapshot.sees("ClusterNetworkTopology") or not snapshot.sees("Node"):
        return
    stops = [of_spec(spec, group, snapshot, tree) for spec in group.specs]
    if all(stops):
        yield from dict.fromkeys(filter(None, stops))


def of_spec(spec: Spec, group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Cause | None:
    """Return what stops the group when a pod of a gang with this topology spec is tried first, None for nothing."""
    if prefilter_refusal(spec, group, snapshot, tree) is not None:
        return _refusal(tree)
    if spec is None or isinstance(tree, NoTree) or not snapshot.config.aware_of_topology:
        return None
    layer = topology_requirements(spec, tree).must_gather
    if is_layer(layer, tree):
        return None
    layers = listed(list(tree.layers))
    return Cause("unknown-layer", f"it must gather in layer {layer}, which is not in the topology ({layers}).")


def _refusal(tree: Tree | NoTree) -> Cause:
    if isinstance(tree, NoTree):
        no_topology = tree.code in {"no-topology", "topology-other-name"}
        return Cause("no-topology" if no_topology else "broken-layer-chain", f"{tree.message}.")
    message = (
        "it has a topology spec, but awareNetworkTopology is off in the scheduler's configuration: only its"
        " first pod is ever placed."
    )
    return Cause("no-topology", message)


def oddities(subject: Subject, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Notice]:
    """Yield warnings about settings that do not do what was meant, though they stop nobody."""
    yield from _of_some(subject, snapshot)
    if isinstance(subject, PodSubject):
        yield from _foreign_marker(subject.pending, snapshot)
        return
    group = subject.group
    for gang in group.everyone:
        yield from _unreadable(gang)
        yield from _unknown_layers(gang, tree)
        yield from _of_pod_group(gang, snapshot)
    if len(group.specs) > 1:
        yield Notice(
            "differing-specs",
            "the gangs of the group have different topology specs: only the spec of the pod tried first counts.",
        )
    if group.omits_itself and group.is_satisfied():
        key = group.own.key
        message = f"the groups annotation of {key} does not list {key} itself: the scheduler takes it literally."
        yield Notice("groups-differ", message)
    if is_satisfied_by_earlier_pods(group):
        message = (
            "finished pods of an earlier run with the same gang name count as members: the scheduler treats the gang"
            " as satisfied and schedules its pods one by one, without gang and topology; each preempts on its own."
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
    pods = subject.pending
    foreign = _foreign(pods, snapshot)
    if 0 < len(foreign) < len(pods) and not _is_short(subject, _keys(foreign)):
        names = listed(sorted({pod.scheduler for pod in foreign}))
        message = (
            f"{len(foreign)} of its {len(pods)} pending pods {_verb(foreign, 'has', 'have')} schedulerName {names}"
            f" ({listed(_keys(foreign))})."
        )
        yield Notice("mixed-schedulers", message)
    dying = tuple(pod for pod in pods if pod.terminating)
    if 0 < len(dying) < len(pods) and not _is_short(subject, _keys((*dying, *foreign))):
        message = (
            f"{len(dying)} of its {len(pods)} pending pods {_are(dying)} being deleted ({listed(_keys(dying))}):"
            " they still count as members but are not scheduled."
        )
        yield Notice("being-deleted", message)


def _foreign_marker(pods: _Pods, snapshot: Snapshot) -> Iterator[Notice]:
    for pod in pods:
        if pod.foreign_gang and pod.scheduler in snapshot.config.profiles:
            message = (
                f"Koordinator ignores {pod.foreign_gang}: {pod.key} is scheduled alone, not in a gang"
                " (Koordinator's label is pod-group.scheduling.sigs.k8s.io)."
            )
            yield Notice("foreign-gang-marker", message)


def _unreadable(gang: Gang) -> Iterator[Notice]:
    if "groups" in gang.unreadable:
        yield Notice(
            "groups-unreadable", f"the groups annotation of {gang.key} is not a JSON list: the gang has no group."
        )
    if "network-topology-spec" in gang.unreadable:
        message = (
            f"the network-topology-spec of {gang.key} cannot be parsed: the scheduler ignores it"
            " and places the pods without topology."
        )
        yield Notice("topology-spec-unreadable", message)


def _unknown_layers(gang: Gang, tree: Tree | NoTree) -> Iterator[Notice]:
    for rule in gang.topology or ():
        if rule.strategy not in {"MustGather", "PreferGather"}:
            yield Notice(
                "unknown-strategy",
                f"{gang.key}: strategy {rule.strategy or '(none)'} has no effect: use MustGather or PreferGather.",
            )
        elif rule.strategy == "PreferGather" and isinstance(tree, Tree) and rule.layer not in tree.layers:
            yield Notice(
                "unknown-layer",
                f"{gang.key}: PreferGather names layer {rule.layer or '(none)'}, which is not in the topology.",
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
        message = f"phase {phase} of PodGroup {gang.key} is from an earlier run: it is stale and has no effect."
        yield Notice("stale-phase", message)


def _unaware(group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> Iterator[Notice]:
    """Warn where a single pod is placed without the topology that its gang asks for."""
    has_spec = any(spec is not None for spec in group.specs)
    if has_spec and isinstance(tree, Tree) and not snapshot.config.aware_of_topology and len(group.pending) == 1:
        message = "awareNetworkTopology is off in the scheduler's configuration: the topology spec has no effect."
        yield Notice("topology-not-aware", message)


def _index_order(group: GangGroup) -> Iterator[Notice]:
    """Warn where the ranks do not sort like the names: nodes are assigned by name."""
    indexed = [pod for pod in group.pending if pod.index is not None]
    if not any(gang.topology is not None for gang in group.tried) or len(indexed) < 2:  # noqa: PLR2004
        return
    by_name = sorted(indexed, key=lambda pod: pod.name)
    if [pod.index for pod in by_name] != sorted(pod.index or 0 for pod in indexed):
        message = (
            "the scheduler ignores the topology index: it assigns nodes in the lexical order of the pod names"
            f" ({listed([pod.name for pod in by_name])})."
        )
        yield Notice("index-not-honoured", message)


def _selector(group: GangGroup, snapshot: Snapshot) -> Iterator[Notice]:
    if snapshot.config.version != "1.7" and any(pod.selector for pod in group.pending):
        message = (
            "with a topology selector, the scheduler also counts the gang's own planned pods: it picks the domain"
            " with the most room (worst fit) instead of the best fit."
        )
        yield Notice("worst-fit", message)
