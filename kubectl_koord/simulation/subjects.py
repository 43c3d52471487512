"""What is simulated: a gang group, or pods that are scheduled one by one; and names for them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine import gangs
from kubectl_koord.engine.attempt import Job, JobTopology, needed
from kubectl_koord.engine.gangs import Gang, GangGroup, GatherRule
from kubectl_koord.engine.reasons import NotPlanned, PreFilterRefusal
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.tree import NoTree, Tree
from kubectl_koord.model.memo import memoised
from kubectl_koord.model.pods import FinishedPod, PendingPod, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.wording.suggestions import near

Spec: TypeAlias = tuple[GatherRule, ...] | None
_Pods: TypeAlias = tuple[PendingPod, ...]
_API_GROUP = "scheduling.sigs.k8s.io"
_GROUP_KINDS = {"podgroup", "podgroups", "pg", "gang", f"podgroup.{_API_GROUP}", f"podgroups.{_API_GROUP}"}
_POD_KINDS = {"pod", "pods", "po"}
_OWNER_KINDS = {"job", "pytorchjob", "statefulset", "deployment", "replicaset"}
_KINDS = _GROUP_KINDS | _POD_KINDS | _OWNER_KINDS


class GangSubject(Struct, frozen=True):
    """A gang, with all that are scheduled as one with it."""

    group: GangGroup

    @property
    def key(self) -> str:
        """The gang that was asked for, as `namespace/name`."""
        return self.group.own.key

    @property
    def pending(self) -> tuple[PendingPod, ...]:
        """The pending pods of the group, by name."""
        return self.group.pending

    @property
    def gangs(self) -> Mapping[str, Gang | None]:
        """The gangs that its own list names, by id; None for those that do not exist."""
        return self.group.gangs

    @property
    def specs(self) -> tuple[Spec, ...]:
        """The distinct topology specs of its pending pods, None for those without one."""
        return self.group.specs

    def with_gangs(self, change: Callable[[Gang], Gang]) -> "GangSubject":
        """Return the subject with each of its gangs changed."""
        return GangSubject(self.group.with_each(change))

    def with_pending(self, kept: Callable[[_Pods], _Pods]) -> "GangSubject":
        """Return the subject with what is kept of the pending pods of each gang."""
        return self.with_gangs(lambda gang: structs.replace(gang, pending=kept(gang.pending)))


class PodSubject(Struct, frozen=True):
    """One pod without a gang: one that is pending, or on a node, or that has finished."""

    pod: PendingPod | RunningPod | FinishedPod

    @property
    def key(self) -> str:
        """The pod, as `namespace/name`."""
        return self.pod.key

    @property
    def pending(self) -> tuple[PendingPod, ...]:
        """The pod itself while it is pending."""
        return (self.pod,) if isinstance(self.pod, PendingPod) else ()

    @property
    def gangs(self) -> Mapping[str, Gang | None]:
        """None at all."""
        return {}

    @property
    def specs(self) -> tuple[Spec, ...]:
        """None: these are specs of gangs."""
        return ()

    def with_gangs(self, _change: Callable[[Gang], Gang]) -> "PodSubject":
        """Return the subject as it is: it has no gang to change."""
        return self

    def with_pending(self, kept: Callable[[_Pods], _Pods]) -> "PodSubject":
        """Return the subject with its pending pod changed; it must be kept."""
        (pod,) = kept(self.pending)
        return PodSubject(pod)


Subject: TypeAlias = GangSubject | PodSubject


class Unknown(Struct, frozen=True):
    """A name that stands for nothing here, and the nearest ones that do."""

    name: str
    nearest: tuple[str, ...]


def find(snapshot: Snapshot, name: str, namespace: str) -> Subject | Unknown:
    """Return whom a name means: `x`, `ns/x`, `podgroup/x`, `pod/x`, an owner such as `job/x`, or `kind/ns/x`.

    A plain name is a gang first, then a pod, then an owner of pods. `ns/x` and `kind/x` are told
    apart by what exists.
    """
    every = gangs.all_gangs(snapshot)
    return _found(snapshot, every, name, namespace) or _unknown(snapshot, every, name, namespace)


def _found(snapshot: Snapshot, every: Mapping[str, Gang], name: str, namespace: str) -> Subject | None:
    first, slash, second = name.partition("/")
    if not slash:
        return _plain(snapshot, every, namespace, name)
    kind = first.lower()
    home, has_home, bare = second.rpartition("/")
    key = second if has_home else f"{namespace}/{second}"
    found: Subject | None = None
    if kind in _GROUP_KINDS:
        found = _gang(every, key)
    elif kind in _POD_KINDS:
        found = _pod(snapshot, every, key)
    return found or _plain(snapshot, every, first, second) or _owned(snapshot, every, home or namespace, kind, bare)


def pod_group_key(name: str, namespace: str) -> str:
    """Return the `namespace/name` of a PodGroup by any name of it: `x`, `ns/x`, `podgroup/x`, `podgroup/ns/x`."""
    kind, _, rest = name.partition("/")
    bare = rest if rest and kind.lower() in _GROUP_KINDS else name
    return bare if "/" in bare else f"{namespace}/{bare}"


def find_anywhere(snapshot: Snapshot, name: str) -> Subject | None:
    """Return whom a plain name means in any namespace, None where that is nobody or more than one."""
    every = gangs.all_gangs(snapshot)
    bare = name.rpartition("/")[2]
    namespaces = {*(key.partition("/")[0] for key in snapshot.pod_groups), *(pod.namespace for pod in snapshot.pending)}
    named = {key.partition("/")[0] for key in every if key.endswith(f"/{bare}")}
    for pod in chain(snapshot.pending, _placed(snapshot)):
        if pod.name == bare or pod.owner.endswith(f"/{bare}"):
            named.add(pod.namespace)
    found = {
        subject.key: subject
        for namespace in sorted(namespaces & named)
        if (subject := _found(snapshot, every, name, namespace)) is not None
    }
    return next(iter(found.values())) if len(found) == 1 else None


def homes(name: str, namespace: str) -> tuple[str, ...]:
    """Return the namespaces in which a name may stand: of `x/y` it is open whether x is one, or an owner's kind."""
    first, slash, _ = name.partition("/")
    return (first, namespace) if slash and first.lower() not in _KINDS else (namespace,)


def again(snapshot: Snapshot, key: str, *, lone_pod: bool) -> Subject | None:
    """Return the subject of a key in a later snapshot, None where it is there no more."""
    every = gangs.all_gangs(snapshot)
    return _pod(snapshot, every, key) if lone_pod else _gang(every, key)


def _plain(snapshot: Snapshot, every: Mapping[str, Gang], namespace: str, name: str) -> Subject | None:
    key = f"{namespace}/{name}"
    return _gang(every, key) or _pod(snapshot, every, key) or _owned(snapshot, every, namespace, "", name)


def _gang(every: Mapping[str, Gang], key: str) -> Subject | None:
    return GangSubject(gangs.group_of(every, key)) if key in every else None


def _pod(snapshot: Snapshot, every: Mapping[str, Gang], key: str) -> Subject | None:
    for pod in snapshot.pending:
        if pod.key == key:
            return _gang(every, pod.gang) if pod.gang else PodSubject(pod)
    for other in _placed(snapshot):
        if other.key == key:
            return _gang(every, other.gang) if other.gang else PodSubject(other)
    return None


def _placed(snapshot: Snapshot) -> Iterator[RunningPod | FinishedPod]:
    for pods in snapshot.running.values():
        yield from pods
    yield from snapshot.finished


def _owned(snapshot: Snapshot, every: Mapping[str, Gang], namespace: str, kind: str, name: str) -> Subject | None:
    """Return the gang of the pods that an owner has; of several gangs the first in name order."""
    if not name:
        return None
    for pod in chain(snapshot.pending, _placed(snapshot)):
        if pod.namespace != namespace:
            continue
        owner_kind, _, owner = pod.owner.partition("/")
        if owner == name and kind in {"", owner_kind.lower(), f"{owner_kind.lower()}s"}:
            return _gang(every, pod.gang) if pod.gang else _pod(snapshot, every, pod.key)
    return None


def _unknown(snapshot: Snapshot, every: Mapping[str, Gang], name: str, namespace: str) -> Unknown:
    known = [*every, *(pod.key for pod in snapshot.pending if not pod.gang)]
    return Unknown(name, near(wanted(name, namespace, known), known))


def wanted(name: str, namespace: str, known: Iterable[str]) -> str:
    """Return the `namespace/name` that a name says, whether there is one or not: a first part may be a kind."""
    home, slash, bare = name.rpartition("/")
    kind, has_kind, rest = home.rpartition("/")
    is_namespace = slash and not has_kind and any(key.startswith(f"{home}/") for key in known)
    return f"{rest if has_kind and kind else home if is_namespace else namespace}/{bare}"


@memoised
def pending_subjects(snapshot: Snapshot, namespace: str = "") -> tuple[Subject, ...]:
    """Return everybody with pending pods: each gang group once, and lone pods of Koordinator profiles.

    A gang that its own list leaves out stands for itself: no other gang shows its pods.
    """
    every = gangs.all_gangs(snapshot)
    found: list[Subject] = []
    seen: set[tuple[str, ...]] = set()
    for key, gang in every.items():
        if not gang.pending or not _in(namespace, gang.pending) or gang.group in seen:
            continue
        group = gangs.group_of(every, key)
        if not group.omits_itself:
            seen.add(gang.group)
        found.append(GangSubject(group))
    found.extend(
        PodSubject(pod)
        for pod in snapshot.pending
        if not pod.gang and pod.scheduler in snapshot.config.profiles and _in(namespace, (pod,))
    )
    return tuple(found)


def _in(namespace: str, pods: Iterable[PendingPod]) -> bool:
    return not namespace or any(pod.namespace == namespace for pod in pods)


def jobs(subject: Subject, snapshot: Snapshot, rules: Rules, tree: Tree | NoTree) -> tuple[Job, ...]:
    """Return what the scheduler tries as one: usually one job.

    Several where the gangs of a group carry different topology specs: that of the trigger's own gang
    counts; those that refuse every member come last. A satisfied group's pods are scheduled one by
    one, without topology; all must find a place.
    """
    claims = snapshot.claims_asked_for
    if isinstance(subject, PodSubject):
        return tuple(Job((pod,), {"": 1}, None, rules, snapshot.nominated, claims=claims) for pod in subject.pending)
    group = subject.group
    never = never_tried(subject, snapshot)
    if group.is_satisfied():
        every = {gang.key: sum(pod.key not in never for pod in gang.pending) for gang in group.tried}
        return (Job(group.pending, every, None, rules, snapshot.nominated, claims=claims, never=never),)
    found = []
    for spec in group.specs:
        of_spec = (pod for gang in group.tried if gang.topology == spec for pod in gang.pending)
        is_planned = spec is not None and snapshot.config.aware_of_topology
        topology = (
            JobTopology(gangs.topology_requirements(spec or (), tree), tree)
            if is_planned and isinstance(tree, Tree)
            else None
        )
        found.append(
            Job(
                pods=group.pending,
                needed=needed(group),
                topology=topology,
                rules=rules,
                nominated=snapshot.nominated,
                may_trigger=tuple(pod for pod in of_spec if pod.key not in never),
                claims=claims,
                never=never,
                prefilter=prefilter_refusal(spec, group, snapshot, tree),
            )
        )
    return tuple(sorted((job for job in found if job.may_trigger), key=_is_hopeless))


def _is_hopeless(job: Job) -> bool:
    """Tell whether no node can help: none is asked, or the layer to gather in does not exist."""
    if job.prefilter is not None:
        return True
    topology = job.topology
    return topology is not None and not is_layer(topology.requirements.must_gather, topology.tree)


def is_layer(layer: str, tree: Tree) -> bool:
    """Tell whether a hard layer can be gathered in: one of the topology, its root, or none at all."""
    return layer in {"", "ClusterTopologyLayer", *tree.layers}


def never_tried(subject: Subject, snapshot: Snapshot) -> frozenset[str]:
    """Return the pods that the scheduler counts as members and never takes from its queue.

    They belong to another scheduler, are being deleted, or are held by a scheduling gate.
    """
    profiles = snapshot.config.profiles
    return frozenset(
        pod.key for pod in subject.pending if pod.terminating or pod.gates or pod.scheduler not in profiles
    )


def prefilter_refusal(spec: Spec, group: GangGroup, snapshot: Snapshot, tree: Tree | NoTree) -> PreFilterRefusal | None:
    """Return how a topology spec keeps the group from its nodes: no tree to plan on, or planning switched off.

    A single pod is placed without the plan where planning is off.
    """
    if spec is None:
        return None
    no_plan = isinstance(tree, NoTree) or (not snapshot.config.aware_of_topology and len(group.pending) > 1)
    return NotPlanned() if no_plan else None
