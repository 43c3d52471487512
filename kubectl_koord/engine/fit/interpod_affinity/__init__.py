"""Required inter-pod affinity and anti-affinity, with the prepared state of one pod (plugins/interpodaffinity)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, every_node, sums_by_value, with_values, without_label
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.interpod_affinity.repelling import (
    Kind,
    covering,
    covers,
    is_repelled,
    kinds_of,
    namespaces_of,
)
from kubectl_koord.engine.fit.interpod_affinity.selecting import merged
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.occupants import number_on
from kubectl_koord.engine.reasons.nodes import (
    AntiAffinityViolated,
    ExistingAntiAffinityViolated,
    PodAffinityUnmet,
    Reason,
)
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.view import View
from kubectl_koord.model.namespaces import NamespaceLabels
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, PodTerm, ReservedRoom
from kubectl_koord.model.values.memo import Identity
from kubectl_koord.model.values.selectors import Selector

_Pairs: TypeAlias = Counter[tuple[str, str]]
_At: TypeAlias = Callable[[str, tuple[str, str]], int]


class _Part(Struct, frozen=True):
    """What the pods of one node (or of all) add, counted by label.

    Pods that match our affinity, pods whose anti-affinity selects us, pods that our anti-affinity selects.
    """

    pod_affinity: _Pairs
    existing_anti_affinity: _Pairs
    pod_anti_affinity: _Pairs


class _Covered(Struct, frozen=True):
    """The pods that all of these terms of a pod in that namespace select, but for the reservations that it is given.

    `known` are the labels of namespaces, which no what-if changes.
    """

    terms: tuple[PodTerm, ...]
    namespace: str
    given: frozenset[str]
    known: Identity[NamespaceLabels]

    @property
    def namespaces(self) -> tuple[str, ...] | None:
        return namespaces_of(self.terms[0], self.namespace)

    @property
    def selectors(self) -> Iterable[Selector]:
        return (term.selector for term in self.terms if term.selector is not None)

    def __call__(self, occupant: Occupant) -> bool:
        return not _is_given(occupant, self.given) and all(
            covers(term, self.namespace, occupant, self.known.value) for term in self.terms
        )


class InterPodAffinity(Stateless, Struct, frozen=True, dict=True):
    """The filter: what PreFilter prepares for the trigger in a view, the sums over the cluster.

    A reservation counts like a pod, unless it is `given` to the trigger. `pod_affinity` and `pod_anti_affinity` are the
    terms of the trigger as PreFilter leaves them.
    """

    depends_on: ClassVar[DependsOn] = "pods"
    pod: PendingPod
    view: View
    given: frozenset[str]
    pod_affinity: tuple[PodTerm, ...]
    pod_anti_affinity: tuple[PodTerm, ...]

    def follows_members(self, trigger: PodRequirements) -> bool:
        """Tell that members which are placed count for one with terms of its own."""
        return bool(trigger.pod_affinity or trigger.pod_anti_affinity)

    @cached_property
    def _total(self) -> _Part:
        """The sums over the cluster as it was prepared for."""
        view, pod = self.view, self.pod
        known = Identity(self._known)
        total = _Part(Counter(), Counter(), Counter())
        if self.pod_affinity:
            by_node = number_on(view, _Covered(self.pod_affinity, pod.namespace, self.given, known))
            _add(total.pod_affinity, view, self.pod_affinity, by_node)
        for term in self.pod_anti_affinity:
            by_node = number_on(view, _Covered((term,), pod.namespace, self.given, known))
            _add(total.pod_anti_affinity, view, (term,), by_node)
        for term, by_node in covering(view, pod):
            _add(total.existing_anti_affinity, view, (term,), by_node)
        for name, (term, namespace) in self._given_kinds():
            covering_it = (term,) if covers(term, namespace, pod, known.value) else ()
            _count(total.existing_anti_affinity, covering_it, view.node(name), -1)
        return total

    @property
    def _known(self) -> NamespaceLabels:
        return self.view.snapshot.namespaces

    def _given_kinds(self) -> Iterator[tuple[str, Kind]]:
        """Yield the anti-affinity of the reservations that the trigger is given, with their nodes."""
        nodes = {one.node for one in self.view.snapshot.reservations if one.uid in self.given} if self.given else ()
        for name in nodes:
            given = (one for one in self.view.occupants(name) if _is_given(one, self.given))
            yield from ((name, kind) for kind in kinds_of(given))

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when affinity or anti-affinity forbids the prepared pod on this node."""
        labels, at = dict(state.node.labels), self._at(state)
        if not self._is_affine(self.pod_affinity, labels, at):
            return PodAffinityUnmet()
        if any(
            term.key in labels and at("pod_anti_affinity", (term.key, labels[term.key])) > 0
            for term in self.pod_anti_affinity
        ):
            return AntiAffinityViolated()
        if any(at("existing_anti_affinity", pair) > 0 for pair in labels.items()):
            return ExistingAntiAffinityViolated()
        return None

    def _at(self, state: NodeState) -> _At:
        """Return what counts for a node: the sums, with who came to it or left it since."""
        name, view, total = state.node.name, self.view, self._total
        is_there = name in view.names()
        if is_there and state is view.state(name):
            return lambda kind, pair: getattr(total, kind)[pair]
        now = self._part(state.node, state.occupants)
        before = self._part(view.node(name), view.occupants(name)) if is_there else _NO_PART

        def at(kind: str, pair: tuple[str, str]) -> int:
            count: int = getattr(total, kind)[pair] + getattr(now, kind)[pair] - getattr(before, kind)[pair]
            return count

        return at

    def _part(self, node: Node, occupants: Iterable[Occupant]) -> _Part:
        """Return what the pods of one node add."""
        part = _Part(Counter(), Counter(), Counter())
        pod, known = self.pod, self._known
        affinity, anti_affinity = self.pod_affinity, self.pod_anti_affinity
        for other in occupants:
            if _is_given(other, self.given):
                continue
            if affinity and all(covers(term, pod.namespace, other, known) for term in affinity):
                _count(part.pod_affinity, affinity, node)
            if anti_affinity:
                covered = (term for term in anti_affinity if covers(term, pod.namespace, other, known))
                _count(part.pod_anti_affinity, covered, node)
            against = other.requirements.pod_anti_affinity
            if against:
                covering = (term for term in against if covers(term, other.namespace, pod, known))
                _count(part.existing_anti_affinity, covering, node)
        return part

    def _is_affine(self, terms: tuple[PodTerm, ...], labels: dict[str, str], at: _At) -> bool:
        if any(term.key not in labels for term in terms):
            return False
        if all(at("pod_affinity", (term.key, labels[term.key])) > 0 for term in terms):
            return True
        anywhere = any(at("pod_affinity", pair) > 0 for pair in self._total.pod_affinity)
        return not anywhere and self._is_own

    @property
    def _is_own(self) -> bool:
        """Whether the pod is one of those that its own affinity asks for."""
        own = self.pod
        return all(covers(term, own.namespace, own, self._known) for term in self.pod_affinity)

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod."""
        if view is not self.view:
            return Stateless.refused(self, view, pod, among)
        found = 0
        for part in self._refusing:
            found |= part & among
        return found

    def alike(self, view: View, pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set by what is wrong."""
        if view is not self.view:
            return Stateless.alike(self, view, pod, refused)
        parts = []
        for one in self._refusing:
            parts.append(refused & one)
            refused &= ~one
        return [part for part in parts if part]

    def taking_alike(self, view: View, pods: Sequence[PendingPod], taking: NodeSet) -> Iterable[NodeSet]:
        """Return the set by which keys of anti-affinity nodes have: with these the pods may keep each other away."""
        if view is not self.view:
            return Stateless.taking_alike(self, view, pods, taking)
        parts = [taking]
        for key in {term.key for term in self.pod_anti_affinity}:
            lacking = without_label(view, key)
            parts = [part for whole in parts for part in (whole & lacking, whole & ~lacking) if part]
        return parts

    @cached_property
    def _refusing(self) -> tuple[NodeSet, NodeSet, NodeSet]:
        """The nodes on which affinity is not met, those that anti-affinity forbids, and those that others' forbids."""
        total = self._total
        return self._unaffine(), _in(self.view, total.pod_anti_affinity), _in(self.view, +total.existing_anti_affinity)

    def _unaffine(self) -> NodeSet:
        terms, view = self.pod_affinity, self.view
        labelled_all = near = every_node(view)
        for term in terms:
            labelled_all &= ~without_label(view, term.key)
            near &= _in(view, (pair for pair in self._total.pod_affinity if pair[0] == term.key))
        if not self._total.pod_affinity and self._is_own:
            near = labelled_all
        return every_node(view) & ~(labelled_all & near)


def _in(view: View, pairs: Iterable[tuple[str, str]]) -> NodeSet:
    """Return the nodes with any of these labels."""
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    found = 0
    for key, some in values.items():
        found |= with_values(view, key, some)
    return found


def prepare(pod: PendingPod, cluster: Cluster) -> InterPodAffinity | None:
    """Return the filter; None where the pod has no such terms, and no pod that runs or waits has one against it."""
    wanted = pod.requirements
    if not (wanted.pod_affinity or wanted.pod_anti_affinity) and not is_repelled(pod, cluster):
        return None
    terms = (merged(wanted.pod_affinity, cluster.rules), merged(wanted.pod_anti_affinity, cluster.rules))
    return InterPodAffinity(pod, cluster.view, drawable(cluster.view, pod).uids, *terms)


_NO_PART = _Part(Counter(), Counter(), Counter())


def _is_given(occupant: Occupant, given: frozenset[str]) -> bool:
    return isinstance(occupant, ReservedRoom) and occupant.uid in given


def _add(pairs: _Pairs, view: View, terms: Iterable[PodTerm], by_node: Mapping[str, int]) -> None:
    for term in terms if by_node else ():
        for value, number in sums_by_value(view, term.key, by_node).items():
            pairs[term.key, value] += number


def _count(pairs: _Pairs, terms: Iterable[PodTerm], node: Node, number: int = 1) -> None:
    labels = dict(node.labels)
    for term in terms:
        if term.key in labels:
            pairs[term.key, labels[term.key]] += number
