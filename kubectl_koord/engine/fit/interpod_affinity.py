"""Required inter-pod affinity and anti-affinity, with the prepared state of one pod (plugins/interpodaffinity)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.reasons.nodes import (
    AntiAffinityViolated,
    ExistingAntiAffinityViolated,
    PodAffinityUnmet,
    Reason,
)
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, PodTerm, ReservedRoom
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import matches

_Pairs: TypeAlias = Counter[tuple[str, str]]
_Kind: TypeAlias = tuple[tuple[PodTerm, ...], str]
_At: TypeAlias = Callable[[str, tuple[str, str]], int]


class _Part(Struct, frozen=True):
    """What the pods of one node (or of all) add, counted by label.

    Pods that match our affinity, pods whose anti-affinity selects us, pods that our anti-affinity selects.
    """

    pod_affinity: _Pairs
    existing_anti_affinity: _Pairs
    pod_anti_affinity: _Pairs


class InterPodAffinity(Stateless, Struct, frozen=True):
    """The filter: what PreFilter prepares for the trigger, the sums over the cluster and each node's part in them."""

    depends_on: ClassVar[DependsOn] = "pods"
    pod: PendingPod
    total: _Part
    parts: Mapping[str, _Part]
    given: frozenset[str]

    def follows_members(self, trigger: PodRequirements) -> bool:
        """Tell that members which are placed count for one with terms of its own."""
        return bool(trigger.pod_affinity or trigger.pod_anti_affinity)

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when affinity or anti-affinity forbids the prepared pod on this node."""
        name, labels = state.node.name, dict(state.node.labels)
        before = self.parts.get(name)
        now = _part(self.pod, state.node, state.occupants, self.given)

        def at(kind: str, pair: tuple[str, str]) -> int:
            count: int = getattr(self.total, kind)[pair] + getattr(now, kind)[pair]
            return count - (getattr(before, kind)[pair] if before else 0)

        requirements = self.pod.requirements
        if not _is_affine(requirements.pod_affinity, labels, self, at):
            return PodAffinityUnmet()
        if any(
            term.key in labels and at("pod_anti_affinity", (term.key, labels[term.key])) > 0
            for term in requirements.pod_anti_affinity
        ):
            return AntiAffinityViolated()
        if any(at("existing_anti_affinity", pair) > 0 for pair in labels.items()):
            return ExistingAntiAffinityViolated()
        return None


def prepare(pod: PendingPod, cluster: Cluster) -> InterPodAffinity | None:
    """Return the filter; None where the pod has no such terms, and no pod that runs or waits has one against it."""
    view = cluster.view
    wanted = pod.requirements
    if not (wanted.pod_affinity or wanted.pod_anti_affinity) and not _is_repelled(pod, cluster):
        return None
    given = drawable(view, pod).uids
    found = {name: part for name, part in view.per_node(_parts, _as_seen(pod), given).items() if part is not None}
    total = _Part(Counter(), Counter(), Counter())
    for part in found.values():
        total.pod_affinity.update(part.pod_affinity)
        total.existing_anti_affinity.update(part.existing_anti_affinity)
        total.pod_anti_affinity.update(part.pod_anti_affinity)
    return InterPodAffinity(pod, total, found, given)


def _is_repelled(pod: PendingPod, cluster: Cluster) -> bool:
    """Tell whether another pod's anti-affinity is against the pod: of one that runs, or of one that may be placed."""
    waiting = _repelling_kinds(cluster.view) if cluster.pending is None else frozenset(_kinds(cluster.pending))
    every = _running_kinds(cluster.view) | waiting
    return any(_covers(term, namespace, pod) for terms, namespace in every for term in terms)


@memoised
def _running_kinds(view: View) -> frozenset[_Kind]:
    return frozenset().union(*view.per_node(_kinds_on).values())


def _kinds_on(view: View) -> Callable[[str], frozenset[_Kind]]:
    return lambda name: frozenset(_kinds(view.occupants(name)))


@memoised
def _repelling_kinds(view: View) -> frozenset[_Kind]:
    return frozenset(_kinds(view.snapshot.pending))


def _kinds(pods: Iterable[Occupant]) -> Iterator[_Kind]:
    """Yield the anti-affinity of pods, with their namespaces."""
    for pod in pods:
        terms = pod.requirements.pod_anti_affinity
        if terms:
            yield terms, pod.namespace


def _as_seen(pod: PendingPod) -> PendingPod:
    """Return the pod with what terms see of it alone, so that those that are alike share what is counted."""
    wanted = pod.requirements
    terms = PodRequirements(pod_affinity=wanted.pod_affinity, pod_anti_affinity=wanted.pod_anti_affinity)
    return PendingPod(pod.namespace, "", 0, terms, "", labels=pod.labels)


def _parts(view: View, pod: PendingPod, given: frozenset[str]) -> Callable[[str], _Part | None]:
    """Return what counts the pods of a node; most have none that counts."""

    def on_node(name: str) -> _Part | None:
        part = _part(pod, view.node(name), view.occupants(name), given)
        return part if part.pod_affinity or part.existing_anti_affinity or part.pod_anti_affinity else None

    return on_node


def _part(pod: PendingPod, node: Node, occupants: Iterable[Occupant], given: frozenset[str]) -> _Part:
    """Count the pods of a node; a reservation counts like one, unless it is given to the trigger."""
    labels = dict(node.labels)
    part = _Part(Counter(), Counter(), Counter())
    affinity, anti_affinity = pod.requirements.pod_affinity, pod.requirements.pod_anti_affinity
    for other in occupants:
        if isinstance(other, ReservedRoom) and other.uid in given:
            continue
        if affinity and all(_covers(term, pod.namespace, other) for term in affinity):
            _count(part.pod_affinity, affinity, labels)
        if anti_affinity:
            selecting = (term for term in anti_affinity if _covers(term, pod.namespace, other))
            _count(part.pod_anti_affinity, selecting, labels)
        against = other.requirements.pod_anti_affinity
        if against:
            covering = (term for term in against if _covers(term, other.namespace, pod))
            _count(part.existing_anti_affinity, covering, labels)
    return part


def _count(pairs: _Pairs, terms: Iterable[PodTerm], labels: dict[str, str]) -> None:
    for term in terms:
        if term.key in labels:
            pairs[term.key, labels[term.key]] += 1


def _covers(term: PodTerm, namespace: str, other: Occupant) -> bool:
    """Tell whether a term of a pod in that namespace selects `other` (framework `AffinityTerm.Matches`)."""
    in_reach = term.every_namespace or other.namespace in (term.namespaces or (namespace,))
    return in_reach and term.selector is not None and matches(term.selector, dict(other.labels))


def _is_affine(terms: tuple[PodTerm, ...], labels: dict[str, str], prepared: InterPodAffinity, at: _At) -> bool:
    if any(term.key not in labels for term in terms):
        return False
    if all(at("pod_affinity", (term.key, labels[term.key])) > 0 for term in terms):
        return True
    anywhere = any(at("pod_affinity", pair) > 0 for pair in prepared.total.pod_affinity)
    return not anywhere and all(_covers(term, prepared.pod.namespace, prepared.pod) for term in terms)
