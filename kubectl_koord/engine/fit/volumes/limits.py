"""How many volumes of each driver a node can still attach (plugins/nodevolumelimits, csi.go)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import repeat
from typing import TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    differing,
    first_of,
    members,
    named,
    names_of,
    nodes_of,
    occupants_of,
    of_nodes,
    seen_of_nodes,
    singles,
    which,
)
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.numbers import Number, at_least, numbers_of
from kubectl_koord.engine.reasons.nodes import TooManyVolumes
from kubectl_koord.engine.reservations import Matched, nodes_with
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, RunningPod, claim_names
from kubectl_koord.model.storage import Claim, StorageClass
from kubectl_koord.model.values.memo import Identity, memoised

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

    def full(self, view: View, pod: PendingPod, among: NodeSet, mine: Matched) -> Mapping[str, NodeSet]:
        """Return the nodes of a set that cannot attach what the pod needs, by the first driver that is short there."""
        wanted = {driver: found for driver, found in self.of_pods((pod,)).items() if driver in _limited(view)}
        apart = among & (self._users(view, wanted) | nodes_with(view, mine.drawable))
        full = dict.fromkeys(sorted(wanted), 0)
        left = among & ~apart
        for driver in full:
            enough = at_least(view, left, len(wanted[driver]), _LEFT, self, driver)
            full[driver] = left & ~enough
            left = enough
        for one in singles(apart):
            reason = self.reject(pod, view.state(first_of(view, one)), mine)
            if reason is not None:
                full[reason.driver] |= one
        return full

    def alike(self, view: View, pods: Sequence[PendingPod], among: NodeSet, mine: Matched) -> Iterable[NodeSet]:
        """Return a set of nodes in parts: within each nodes attach the volumes of as many of these pods."""
        wanted = {driver: found for driver, found in self.of_pods(pods).items() if driver in _limited(view)}
        if not wanted:
            return (among,)
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
        """Return the same of all nodes."""
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
    """Return the drivers of which any node has a limit."""
    return {driver for limits in set(seen_of_nodes(view, _limits_of)) for driver, _ in limits}


def _limits_of(node: Node) -> tuple[tuple[str, int], ...]:
    return node.volume_limits
