"""Volumes: attach limits, reachability, binding, and others that hold them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import ClassVar, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.filters.node import term_matches
from kubectl_koord.engine.reasons import (
    ClaimInUse,
    NotEnoughStorage,
    NoVolumeToBind,
    Reason,
    TooManyVolumes,
    VolumeElsewhere,
    VolumesUnbound,
)
from kubectl_koord.engine.reservations import Matched, matched, nodes_with, placed_members
from kubectl_koord.engine.state import NodeState, Occupant, View
from kubectl_koord.engine.table import (
    NodeSet,
    Number,
    base_with_most,
    by_labels,
    differing,
    members,
    named,
    names_of,
    nodes_of,
    numbers_of,
    occupants_of,
    of_nodes,
    seen_of_nodes,
    singles,
    split,
    which,
)
from kubectl_koord.model import keys
from kubectl_koord.model.hardware import Allocations
from kubectl_koord.model.objects import Claim, Node, Storage, StorageClass, Volume
from kubectl_koord.model.pods import PendingPod, PodRequirements, RunningPod, claim_names
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Identity, NodeTerm, Requirement, holds, matches, memoised

NO_PROVISIONER = "kubernetes.io/no-provisioner"
_NAMELESS = Node("", ())


def reaches(terms: tuple[NodeTerm, ...] | None, node: Node) -> bool:
    """Tell whether a volume with this node affinity can be reached from a node, which its labels alone tell."""
    labels = dict(node.labels)
    return terms is None or any(term_matches(term, _NAMELESS, labels) for term in terms)


def bindings(
    claims: Iterable[Claim], storage: Storage, taken: Collection[str], node: Node
) -> Mapping[str, str] | NoVolumeToBind | NotEnoughStorage:
    """Return the volume that each unbound claim gets on a node (empty for one to be made), or why one gets none.

    The smallest claim chooses first, and takes the smallest volume that does; each serves one claim.
    """
    found: dict[str, str] = {}
    to_make: list[Claim] = []
    for claim in sorted(claims, key=lambda claim: claim.request.size):
        used = {*taken, *found.values()}
        volume = None if claim.selected else _smallest(claim, storage.volumes, used, node)
        if volume is None:
            to_make.append(claim)
        else:
            found[claim.name] = volume.name
    for claim in to_make:
        refused = _cannot_make(claim, storage, node)
        if refused is not None:
            return refused
        found[claim.name] = ""
    return found


def labels_read(claims: Iterable[Claim], storage: Storage) -> Iterator[str]:
    """Yield the labels of a node that decide whether unbound claims are bound there."""
    for claim in claims:
        kind = storage.classes[claim.class_name]
        of_class = (one.terms for one in storage.volumes if one.class_name == kind.name)
        yield from keys_of(term.labels for terms in of_class for term in terms or ())
        yield from keys_of(kind.topologies)
        segments = (one.nodes for one in storage.capacities if one.class_name == kind.name)
        yield from keys_of(one.requirements for one in segments if one is not None)


def keys_of(several: Iterable[Iterable[Requirement]]) -> Iterator[str]:
    """Yield the labels that requirements are about."""
    return (one.key for requirements in several for one in requirements)


def _smallest(claim: Claim, volumes: Iterable[Volume], used: Collection[str], node: Node) -> Volume | None:
    """Return the smallest volume that does (`FindMatchingVolume`).

    One that is promised to the claim goes first, whatever else the claim asks for, and no other where the node cannot
    reach it.
    """
    large = [one for one in volumes if one.name not in used and _is_large_enough(one, claim)]
    promised = next((one for one in large if _is_promised(one, claim)), None)
    if promised is not None:
        return promised if reaches(promised.terms, node) else None
    return next((one for one in large if _serves(one, claim) and reaches(one.terms, node)), None)


def _is_promised(volume: Volume, claim: Claim) -> bool:
    """Tell whether a volume is promised to a claim (`IsVolumeBoundToClaim`), by its name where it has no uid."""
    return volume.promised == claim.name and (not claim.uid or volume.promised_uid in {"", claim.uid})


def _is_large_enough(volume: Volume, claim: Claim) -> bool:
    wanted = claim.request
    return volume.class_name == claim.class_name and volume.size >= wanted.size and volume.is_block == wanted.is_block


def _serves(volume: Volume, claim: Claim) -> bool:
    wanted = claim.request
    return (
        not volume.promised
        and set(wanted.modes) <= set(volume.modes)
        and (wanted.selector is None or matches(wanted.selector, dict(volume.labels)))
    )


def _cannot_make(claim: Claim, storage: Storage, node: Node) -> NoVolumeToBind | NotEnoughStorage | None:
    """Return why no volume can be made for the claim on a node (`checkVolumeProvisions`)."""
    kind = storage.classes[claim.class_name]
    labels = dict(node.labels)
    is_allowed = not kind.topologies or any(
        allowed and all(holds(one, labels) for one in allowed) for allowed in kind.topologies
    )
    if kind.provisioner in {"", NO_PROVISIONER} or not is_allowed or claim.selected not in {"", node.name}:
        return NoVolumeToBind(claim.name)
    if kind.provisioner not in storage.tracked:
        return None
    room = (
        one.largest is not None and one.largest >= claim.request.size
        for one in storage.capacities
        if one.class_name == kind.name and one.nodes is not None and matches(one.nodes, labels)
    )
    return None if any(room) else NotEnoughStorage(claim.name, claim.request.size)


_MIGRATED = {
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
}
"""The drivers that took over from provisioners of Kubernetes itself."""
_PLENTY = 1 << 62
"""How many volumes may be attached to a node without a limit."""

_Attached: TypeAlias = dict[str, set[str]]


class Limits(Struct, frozen=True):
    """The limits of nodes: volumes of pods count by their claims, and `attached` ones besides where a version does so.

    So do those of reservations, save those that are given back to who asks, `mine`.

    `held` are the pods that are on each node as the cluster is: what these alone use is detached once they have ended.
    """

    claims: Identity[Mapping[str, Claim]]
    classes: Identity[Mapping[str, StorageClass]]
    held: Identity[Mapping[str, tuple[RunningPod, ...]]]
    counts_attachments: bool

    def reject(self, pod: PendingPod, state: NodeState, mine: Matched) -> TooManyVolumes | None:
        """Return the first driver of which the node cannot attach what the pod needs.

        One that no pod of the node uses counts beside the same one that the pod brings.
        """
        limits = dict(state.node.volume_limits)
        wanted = self.of_pods((pod,)) if limits else {}
        used = self.of_pods(_but(state, mine)) if not limits.keys().isdisjoint(wanted) else {}
        for driver, volumes in sorted(wanted.items()):
            own = used.get(driver, set())
            new = len(volumes - own)
            if new and self._left(driver, own, state.node, state.held) < new:
                return TooManyVolumes(driver)
        return None

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet, mine: Matched) -> Iterable[NodeSet]:
        """Return a set of nodes in parts: within each nodes attach the volumes of as many of these pods."""
        wanted = {driver: found for driver, found in self.of_pods(pods).items() if driver in _limited(view)}
        if not wanted or not among:
            return split(among)
        pairs = {(driver, volume) for driver, volumes in wanted.items() for volume in volumes}
        attached = which(view, lambda name: not pairs.isdisjoint(view.node(name).attached), among)
        apart = among & (self._users(view, wanted) | nodes_with(view, mine.drawable)) | attached
        plain = among & ~apart
        columns = (
            map(min, numbers_of(view, plain, _LEFT, self, driver), repeat(len(volumes)))
            for driver, volumes in wanted.items()
        )
        parts: dict[tuple[int, ...], list[str]] = {}
        for name, left in zip(members(view, plain), zip(*columns, strict=True), strict=True):
            parts.setdefault(left, []).append(name)
        return (*(named(view, part) for part in parts.values()), *singles(apart))

    def left_on(self, state: NodeState, driver: str) -> int:
        """Return how many volumes of a driver the node can attach besides those that its pods use."""
        own = self.of_pods(state.occupants).get(driver, set())
        return self._left(driver, own, state.node, state.held)

    def left_everywhere(self, view: View, driver: str) -> Sequence[int]:
        """Return how many volumes of a driver each node can still attach."""
        claimants = _claimants(view)

        def of_node(name: str, node: Node) -> int:
            there = claimants.get(name, ())
            own = self.of_pods(there).get(driver, set())
            return self._left(driver, own, node, view.held(name) if node.attached else ())

        return [of_node(name, node) for name, node in zip(names_of(view), nodes_of(view), strict=True)]

    def _left(self, driver: str, used: Collection[str], node: Node, held: Iterable[Occupant]) -> int:
        limit = dict(node.volume_limits).get(driver)
        return _PLENTY if limit is None else limit - len(used) - self._left_over(driver, used, node, held)

    def _left_over(self, driver: str, used: Collection[str], node: Node, held: Iterable[Occupant]) -> int:
        """Return how many volumes of a driver are attached to the node that no pod there uses."""
        if not self.counts_attachments:
            return 0
        idle = {handle for of, handle in node.attached if of == driver}.difference(used)
        if idle:
            still = set(map(id, held))
            ended = [pod for pod in self.held.value.get(node.name, ()) if id(pod) not in still]
            idle -= self.of_pods(ended).get(driver, set())
        return len(idle)

    def of_pods(self, pods: Iterable[Occupant]) -> _Attached:
        """Return the volumes of pods by driver: one that is not there yet counts under the provisioner of its class."""
        found: _Attached = {}
        for pod in pods:
            for name in claim_names(pod):
                claim = self.claims.value.get(name)
                if claim is None:
                    continue
                kind = None if claim.known else self.classes.value.get(claim.class_name)
                driver = claim.driver if kind is None else _MIGRATED.get(kind.provisioner, kind.provisioner)
                if driver:
                    found.setdefault(driver, set()).add(claim.handle or claim.volume or claim.name)
        return found

    def _users(self, view: View, wanted: Mapping[str, Collection[str]]) -> NodeSet:
        """Return at least the nodes with pods that use any of these volumes."""
        base = base_with_most(view)
        if base is not None:
            return self._users(base, wanted) | differing(view)
        known = _users_of(view, self)
        every = (known.get((driver, volume), ()) for driver, volumes in wanted.items() for volume in volumes)
        return named(view, {name for names in every for name in names})


def _but(state: NodeState, mine: Matched) -> Iterable[Occupant]:
    """Return who is on a node but the reservations that are given back to a pod."""
    given = {id(state.rooms[one.uid]) for one in mine.on(state)} if state.rooms else ()
    return [one for one in state.occupants if id(one) not in given] if given else state.occupants


def _left_on(state: NodeState, limits: Limits, driver: str) -> int:
    return limits.left_on(state, driver)


def _left_everywhere(view: View, limits: Limits, driver: str) -> Sequence[int]:
    return limits.left_everywhere(view, driver)


_LEFT = Number(_left_on, _left_everywhere, share=0)
"""How many volumes of a driver a node can attach besides those that its pods use."""


@memoised
def _users_of(view: View, limits: Limits) -> Mapping[tuple[str, str], Collection[str]]:
    """Return the nodes with pods that use a volume, by its driver and the volume."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, pods in _claimants(view).items():
        for driver, volumes in limits.of_pods(pods).items():
            for volume in volumes:
                found.setdefault((driver, volume), []).append(name)
    return found


@memoised
def _claimants(view: View) -> Mapping[str, Sequence[Occupant]]:
    """Return the pods with claims by node; nodes with none are left out."""
    trial = view.trial()
    if trial is not None:
        return _with_claims((name, view.occupants(name)) for name in _claimants(trial[0]))
    return _with_claims(zip(names_of(view), occupants_of(view), strict=True))


def _with_claims(there: Iterable[tuple[str, Iterable[Occupant]]]) -> dict[str, Sequence[Occupant]]:
    found: dict[str, Sequence[Occupant]] = {}
    for name, pods in there:
        claimants = [pod for pod in pods if pod.requirements.claims or pod.requirements.ephemeral]
        if claimants:
            found[name] = claimants
    return found


@of_nodes
def _limited(view: View) -> Collection[str]:
    return {driver for limits in set(seen_of_nodes(view, _limits_of)) for driver, _ in limits}


def _limits_of(node: Node) -> tuple[tuple[str, int], ...]:
    return node.volume_limits


_NEWER = {
    keys.OLD_ZONE: keys.ZONE,
    keys.OLD_REGION: keys.REGION,
}
_ZONES = {*_NEWER, *_NEWER.values()}


class Volumes(Filter, Struct, frozen=True):
    """The filter.

    `bound` and `unbound` are the trigger's claims, `zoned` those that its volumes name: of no others the zones count.
    `held` says how often those of one pod only are held, by node; `taken` are the free volumes that placed members get;
    `newer` are names of zone labels that stand for older ones; `mine` are the reservations that match the trigger.
    """

    depends_on: ClassVar[DependsOn] = "pods"
    bound: tuple[Claim, ...]
    unbound: tuple[Claim, ...]
    zoned: frozenset[str]
    held: Mapping[str, int]
    taken: frozenset[str]
    limits: Limits
    storage: Storage
    newer: Mapping[str, str]
    mine: Matched

    def follows_members(self, _trigger: PodRequirements) -> bool:
        """Tell that a member which is placed holds its claims, and gets volumes."""
        return True

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the node cannot hold the volumes."""
        single = self._single
        elsewhere = sum(self.held.values()) - self.held.get(state.node.name, 0)
        if single and elsewhere + _held(single, state.occupants) > 0:
            return ClaimInUse(min(single))
        return self.limits.reject(pod, state, self.mine) or self._unreachable(state.node)

    @property
    def _single(self) -> Collection[str]:
        """The claims of one pod only."""
        return {claim.name for claim in (*self.bound, *self.unbound) if claim.single_pod}

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by how many volumes they can attach, and by what decides how far volumes are."""
        if self._single:
            return singles(among)
        every = self.limits.parts(view, pods, among, self.mine)
        return (part for whole in every for part in self._alike_in_reach(view, whole))

    def _alike_in_reach(self, view: View, among: NodeSet) -> Iterator[NodeSet]:
        """Yield a set of nodes in parts that volumes reach alike: by labels, nodes that were chosen for one apart."""
        chosen = {claim.selected for claim in self.unbound if claim.selected in view.names()}
        apart = among & named(view, chosen)
        yield from singles(apart)
        keys = tuple(sorted({*self._labels_of_bound(), *labels_read(self.unbound, self.storage)}))
        for nodes in by_labels(view, keys).values() if among & ~apart else ():
            if part := nodes & among & ~apart:
                yield part

    def _labels_of_bound(self) -> Iterator[str]:
        yield from keys_of(term.labels for claim in self.bound for term in claim.terms or ())
        if any(key in _ZONES for claim in self._of_zones for key, _ in claim.labels):
            yield from _ZONES

    @property
    def _of_zones(self) -> Iterator[Claim]:
        return (claim for claim in self.bound if claim.name in self.zoned)

    def _unreachable(self, node: Node) -> Reason | None:
        for claim in self.bound:
            if not reaches(claim.terms, node):
                return VolumeElsewhere(claim.name)
        found = bindings(self.unbound, self.storage, self.taken, node)
        if not isinstance(found, Mapping):
            return found
        elsewhere = (claim for claim in self._of_zones if not _in_zone(claim, node, self.newer))
        return next((VolumeElsewhere(claim.name) for claim in elsewhere), None)

    def reserve(self, _pod: PendingPod, state: NodeState, booked: Allocations) -> Allocations | Reason:
        """Book the volumes that the unbound claims get."""
        found = bindings(self.unbound, self.storage, self.taken, state.node)
        if isinstance(found, Mapping) and found:
            return structs.replace(booked, volumes=tuple(found.items()))
        return booked


def prepare(trigger: PendingPod, cluster: Cluster) -> Volumes | VolumesUnbound | None:
    """Return the filter; None for a trigger without claims, and why no node is asked where one cannot be used."""
    names = claim_names(trigger)
    if not names:
        return None
    assumed = dict(_assumed(cluster.view))
    claims = {name: _as_assumed(cluster.claims[name], assumed) for name in names if name in cluster.claims}
    storage = cluster.view.snapshot.storage
    for name in names:
        refusal = _refusal(trigger, name, claims.get(name), cluster)
        if refusal is not None:
            return refusal
    own = [claims[name] for name in dict.fromkeys(names) if claims[name].is_read]
    single = frozenset(claim.name for claim in own if claim.single_pod)
    held = cluster.view.per_node(_held_on, single) if single else {}
    return Volumes(
        bound=tuple(claim for claim in own if claim.volume),
        unbound=tuple(claim for claim in own if not claim.volume and claim.class_name in storage.classes),
        zoned=frozenset(f"{trigger.namespace}/{one}" for one in trigger.requirements.claims),
        held={node: count for node, count in held.items() if count},
        taken=frozenset(volume for volume, _ in assumed.values() if volume),
        limits=Limits(
            Identity(cluster.claims),
            Identity(storage.classes),
            Identity(cluster.view.snapshot.running),
            cluster.rules.counts_attachments,
        ),
        storage=storage,
        newer=_NEWER if cluster.rules.finds_newer_zones else {},
        mine=matched(cluster.view, trigger, cluster.once),
    )


def _refusal(trigger: PendingPod, name: str, claim: Claim | None, cluster: Cluster) -> VolumesUnbound | None:
    """Return why a claim cannot be used on any node, as far as it was read (`podHasPVCs`, `GetPodVolumeClaims`)."""
    is_ephemeral = name not in {f"{trigger.namespace}/{one}" for one in trigger.requirements.claims}
    if claim is None:
        return VolumesUnbound(trigger.key, name, "ephemeral-missing" if is_ephemeral else "claim-missing")
    if not claim.is_read:
        return None
    if claim.binding == "lost":
        return VolumesUnbound(trigger.key, name, "lost", claim.volume)
    if claim.terminating:
        return VolumesUnbound(trigger.key, name, "being-deleted")
    if is_ephemeral and not _owns(trigger, claim):
        return VolumesUnbound(trigger.key, name, "not-owner")
    return _of_binding(trigger, claim, cluster.view.snapshot)


def _of_binding(trigger: PendingPod, claim: Claim, snapshot: Snapshot) -> VolumesUnbound | None:
    """Return whether its volume does not exist, or should have been bound before pods are scheduled."""
    if claim.volume and claim.binding == "begun":
        return VolumesUnbound(trigger.key, claim.name, "binding", claim.volume)
    if claim.volume:
        is_lost = not claim.known and snapshot.sees("PersistentVolume")
        return VolumesUnbound(trigger.key, claim.name, "volume-missing", claim.volume) if is_lost else None
    kind = snapshot.storage.classes.get(claim.class_name)
    if kind is None:
        return VolumesUnbound(trigger.key, claim.name, "not-bound") if snapshot.sees("StorageClass") else None
    return None if kind.waits else VolumesUnbound(trigger.key, claim.name, "not-bound", kind.name)


def _owns(pod: PendingPod, claim: Claim) -> bool:
    """Tell whether the claim was made for the pod: by its uid, by its name where the pod has none."""
    uid, name = claim.owner
    return uid == pod.uid if pod.uid else name == pod.name


def _as_assumed(claim: Claim, assumed: Mapping[str, tuple[str, str]]) -> Claim:
    """Return the claim as it is once members are placed that use it, too: bound, or to be made for their node."""
    volume, node = assumed.get(claim.name, ("", ""))
    if volume:
        return structs.replace(claim, volume=volume, known=True, selected=node)
    return structs.replace(claim, selected=node) if node else claim


def _assumed(view: View) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield the unbound claims of members that were placed, with the volume that each gets, and their node."""
    for node, pods in placed_members(view).items():
        booked = (pod.allocations.volumes for pod in pods if pod.allocations is not None)
        yield from ((claim, (volume, node)) for volumes in booked for claim, volume in volumes)


def _held_on(view: View, single: frozenset[str]) -> Callable[[str], int]:
    return lambda name: _held(single, view.occupants(name))


def _held(single: Collection[str], occupants: Iterable[Occupant]) -> int:
    """Return how often claims are held; a member that is put on a node to count holds none, as recorded.

    The pod that stands for a reservation holds those of its template, also against the pods that it is for: the
    snapshot's set of claims in use (`IsPVCUsedByPods`) does not follow what is given back to them.
    """
    return sum(name in single for pod in occupants if pod.allocations is not None for name in claim_names(pod))


def _in_zone(claim: Claim, node: Node, newer: Mapping[str, str]) -> bool:
    """Tell whether a node is in the zone and region of a volume; one that is in none takes every volume."""
    labels = dict(node.labels)
    if labels.keys().isdisjoint(_ZONES):
        return True
    named = ((labels.get(key, labels.get(newer.get(key, key))), value) for key, value in claim.labels if key in _ZONES)
    return all(own in parts for own, value in named if "" not in (parts := [one.strip() for one in value.split("__")]))
