"""Required inter-pod affinity and anti-affinity, with the prepared state of one pod (plugins/interpodaffinity)."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.fit.check import Cluster, DependsOn
from kubectl_koord.engine.reasons import NotAffine, Reason, Repelled, RepelledByOthers
from kubectl_koord.engine.view import NodeState, Occupant, View
from kubectl_koord.model.memo import memoised
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodTerm, Shape
from kubectl_koord.model.selectors import matches

_Pairs: TypeAlias = Counter[tuple[str, str]]
_At: TypeAlias = Callable[[str, tuple[str, str]], int]


class _Part(Struct, frozen=True):
    """What the pods of one node (or of all) add: pods affine, pods that repel us, pods we repel."""

    affine: _Pairs
    repelling: _Pairs
    repelled: _Pairs


class InterPodAffinity(Struct, frozen=True):
    """The filter: what PreFilter prepares for the trigger, the sums over the cluster and each node's part in them."""

    depends_on: ClassVar[DependsOn] = "pods"
    pod: PendingPod
    total: _Part
    parts: Mapping[str, _Part]

    def follows_members(self, trigger: Shape) -> bool:
        """Tell that members which are placed count for one with terms of its own."""
        return bool(trigger.affine or trigger.repelled)

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: Shape) -> Reason | None:
        """Return a reason when affinity or anti-affinity forbids the prepared pod on this node."""
        name, labels = state.node.name, dict(state.node.labels)
        before = self.parts.get(name)
        now = _part(self.pod, state.node, state.occupants)

        def at(kind: str, pair: tuple[str, str]) -> int:
            count: int = getattr(self.total, kind)[pair] + getattr(now, kind)[pair]
            return count - (getattr(before, kind)[pair] if before else 0)

        shape = self.pod.shape
        if not _is_affine(shape.affine, labels, self, at):
            return NotAffine()
        if any(term.key in labels and at("repelled", (term.key, labels[term.key])) > 0 for term in shape.repelled):
            return Repelled()
        if any(at("repelling", pair) > 0 for pair in labels.items()):
            return RepelledByOthers()
        return None


def prepare(pod: PendingPod, cluster: Cluster) -> InterPodAffinity | None:
    """Return the filter; None where neither the pod nor anybody running has such terms."""
    view = cluster.view
    has_terms = bool(pod.shape.affine or pod.shape.repelled)
    names = view.names() if has_terms else _with_repelling_pods(view)
    parts = {name: _part(pod, view.node(name), view.occupants(name)) for name in names}
    if not parts:
        return None
    total = _Part(Counter(), Counter(), Counter())
    for part in parts.values():
        total.affine.update(part.affine)
        total.repelling.update(part.repelling)
        total.repelled.update(part.repelled)
    return InterPodAffinity(pod, total, parts)


@memoised
def _with_repelling_pods(view: View) -> tuple[str, ...]:
    return tuple(name for name, repels in view.per_node(_repels).items() if repels)


def _repels(view: View) -> Callable[[str], bool]:
    return lambda name: any(pod.shape.repelled for pod in view.occupants(name))


def _part(pod: Occupant, node: Node, occupants: Iterable[Occupant]) -> _Part:
    labels = dict(node.labels)
    part = _Part(Counter(), Counter(), Counter())
    for other in occupants:
        if pod.shape.affine and all(_covers(term, pod, other) for term in pod.shape.affine):
            _count(part.affine, pod.shape.affine, labels)
        _count(part.repelled, (term for term in pod.shape.repelled if _covers(term, pod, other)), labels)
        _count(part.repelling, (term for term in other.shape.repelled if _covers(term, other, pod)), labels)
    return part


def _count(pairs: _Pairs, terms: Iterable[PodTerm], labels: dict[str, str]) -> None:
    for term in terms:
        if term.key in labels:
            pairs[term.key, labels[term.key]] += 1


def _covers(term: PodTerm, owner: Occupant, other: Occupant) -> bool:
    """Tell whether a term of `owner` selects `other` (framework `AffinityTerm.Matches`)."""
    in_reach = term.every_namespace or other.namespace in (term.namespaces or (owner.namespace,))
    return in_reach and term.selector is not None and matches(term.selector, dict(other.labels))


def _is_affine(terms: tuple[PodTerm, ...], labels: dict[str, str], prepared: InterPodAffinity, at: _At) -> bool:
    if any(term.key not in labels for term in terms):
        return False
    if all(at("affine", (term.key, labels[term.key])) > 0 for term in terms):
        return True
    anywhere = any(at("affine", pair) > 0 for pair in prepared.total.affine)
    return not anywhere and all(_covers(term, prepared.pod, prepared.pod) for term in terms)
