"""Volumes: who else holds them, how many a node can attach, where they can be reached or made.

Mirrors plugins/volumerestrictions, nodevolumelimits, volumebinding and volumezone. All members of a round are held
against the trigger's claims; only the limit of volumes goes by each member's own.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import ClassVar

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, by_labels, first_of, named, singles
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.volumes.binding import bindings, keys_of, labels_read, reaches
from kubectl_koord.engine.fit.volumes.limits import Limits
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.occupants import placed_members
from kubectl_koord.engine.reasons.nodes import (
    ClaimInUse,
    Reason,
    VolumeElsewhere,
)
from kubectl_koord.engine.reasons.prefilter import VolumesUnbound
from kubectl_koord.engine.reservations import Matched, matched
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.allocations import Allocations
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, claim_names
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.storage import Claim, Storage
from kubectl_koord.model.values.memo import Identity

_NEWER = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_ZONES = {*_NEWER, *_NEWER.values()}


class Volumes(Stateless, Struct, frozen=True):
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

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod: where limits are reached, and what of the rest is too far."""
        if self._single:
            return Stateless.refused(self, view, pod, among)
        full = reduce(or_, self.limits.full(view, pod, among, self.mine).values(), 0)
        parts = self._alike_in_reach(view, among & ~full)
        return full | reduce(or_, (part for part in parts if self._unreachable(view.node(first_of(view, part)))), 0)

    def alike(self, view: View, pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set by the driver that is short, or by what decides how far volumes are."""
        if self._single:
            return Stateless.alike(self, view, pod, refused)
        full = [nodes for nodes in self.limits.full(view, pod, refused, self.mine).values() if nodes]
        return (*full, *self._alike_in_reach(view, refused & ~reduce(or_, full, 0)))

    def taking_alike(self, view: View, pods: Sequence[PendingPod], taking: NodeSet) -> Iterable[NodeSet]:
        """Return the set whole where the pods share their claims: the first has attached all that the next need."""
        is_shared = len(set(map(claim_names, pods))) == 1
        return (taking,) if is_shared else self.limits.alike(view, pods, taking, self.mine)

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
