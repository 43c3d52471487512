"""Required inter-pod affinity and anti-affinity, with the prepared state of one pod (plugins/interpodaffinity)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.node_state import NodeState, Occupant, Pod
from kubectl_koord.engine.reasons.nodes import (
    AntiAffinityViolated,
    ExistingAntiAffinityViolated,
    PodAffinityUnmet,
    Reason,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, PodTerm, ReservedRoom
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import matches

_Pairs: TypeAlias = Counter[tuple[str, str]]
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

    def follows_members(self, trigger: PodRequirements) -> bool:
        """Tell that members which are placed count for one with terms of its own."""
        return bool(trigger.pod_affinity or trigger.pod_anti_affinity)

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when affinity or anti-affinity forbids the prepared pod on this node."""
        name, labels = state.node.name, dict(state.node.labels)
        before = self.parts.get(name)
        now = _part(self.pod, state.node, state.occupants)

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
    """Return the filter; None where neither the pod nor anybody running has such terms."""
    view = cluster.view
    has_terms = bool(pod.requirements.pod_affinity or pod.requirements.pod_anti_affinity)
    names = view.names() if has_terms else _with_repelling_pods(view)
    parts = {name: _part(pod, view.node(name), view.occupants(name)) for name in names}
    if not parts:
        return None
    total = _Part(Counter(), Counter(), Counter())
    for part in parts.values():
        total.pod_affinity.update(part.pod_affinity)
        total.existing_anti_affinity.update(part.existing_anti_affinity)
        total.pod_anti_affinity.update(part.pod_anti_affinity)
    return InterPodAffinity(pod, total, parts)


@memoised
def _with_repelling_pods(view: View) -> tuple[str, ...]:
    return tuple(name for name, repels in view.per_node(_repels).items() if repels)


def _repels(view: View) -> Callable[[str], bool]:
    return lambda name: any(occupant.requirements.pod_anti_affinity for occupant in view.occupants(name))


def _part(pod: PendingPod, node: Node, occupants: Iterable[Occupant]) -> _Part:
    labels = dict(node.labels)
    part = _Part(Counter(), Counter(), Counter())
    for other in occupants:
        if pod.requirements.pod_affinity and all(_covers(term, pod, other) for term in pod.requirements.pod_affinity):
            _count(part.pod_affinity, pod.requirements.pod_affinity, labels)
        _count(
            part.pod_anti_affinity,
            (term for term in pod.requirements.pod_anti_affinity if _covers(term, pod, other)),
            labels,
        )
        if not isinstance(other, ReservedRoom):
            _count(
                part.existing_anti_affinity,
                (term for term in other.requirements.pod_anti_affinity if _covers(term, other, pod)),
                labels,
            )
    return part


def _count(pairs: _Pairs, terms: Iterable[PodTerm], labels: dict[str, str]) -> None:
    for term in terms:
        if term.key in labels:
            pairs[term.key, labels[term.key]] += 1


def _covers(term: PodTerm, owner: Pod, other: Occupant) -> bool:
    """Tell whether a term of `owner` selects `other` (framework `AffinityTerm.Matches`)."""
    if isinstance(other, ReservedRoom):
        # The scheduler's pod for it has its template's namespace and labels, which are not read.
        return term.every_namespace and term.selector is not None and matches(term.selector, {})
    in_reach = term.every_namespace or other.namespace in (term.namespaces or (owner.namespace,))
    return in_reach and term.selector is not None and matches(term.selector, dict(other.labels))


def _is_affine(terms: tuple[PodTerm, ...], labels: dict[str, str], prepared: InterPodAffinity, at: _At) -> bool:
    if any(term.key not in labels for term in terms):
        return False
    if all(at("pod_affinity", (term.key, labels[term.key])) > 0 for term in terms):
        return True
    anywhere = any(at("pod_affinity", pair) > 0 for pair in prepared.total.pod_affinity)
    return not anywhere and all(_covers(term, prepared.pod, prepared.pod) for term in terms)
