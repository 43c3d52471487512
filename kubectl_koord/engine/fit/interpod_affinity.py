"""Required inter-pod affinity and anti-affinity, with the prepared state of one pod (plugins/interpodaffinity)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import ClassVar, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, every_node, labelled, set_of, with_values
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
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
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, PodTerm, ReservedRoom
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import matches

_Pairs: TypeAlias = Counter[tuple[str, str]]
_Kind: TypeAlias = tuple[tuple[PodTerm, ...], str]
_Repelling: TypeAlias = Mapping[_Kind, Mapping[str, int]]
_ByReach: TypeAlias = Mapping[str | None, tuple[tuple[PodTerm, str], ...]]
"""Terms with the namespaces of those whose terms they are, by the namespace that they are about, None for all."""
_At: TypeAlias = Callable[[str, tuple[str, str]], int]


class _Part(Struct, frozen=True):
    """What the pods of one node (or of all) add, counted by label.

    Pods that match our affinity, pods whose anti-affinity selects us, pods that our anti-affinity selects.
    """

    pod_affinity: _Pairs
    existing_anti_affinity: _Pairs
    pod_anti_affinity: _Pairs


class _Covered(Struct, frozen=True):
    """The pods that all of these terms of a pod in that namespace select, but for the reservations that it is given."""

    terms: tuple[PodTerm, ...]
    namespace: str
    given: frozenset[str]

    @property
    def namespaces(self) -> tuple[str, ...] | None:
        return _reach(self.terms[0], self.namespace)

    def __call__(self, occupant: Occupant) -> bool:
        return not _is_given(occupant, self.given) and all(
            _covers(term, self.namespace, occupant) for term in self.terms
        )


class InterPodAffinity(Stateless, Struct, frozen=True, dict=True):
    """The filter: what PreFilter prepares for the trigger in a view, the sums over the cluster.

    A reservation counts like a pod, unless it is `given` to the trigger.
    """

    depends_on: ClassVar[DependsOn] = "pods"
    pod: PendingPod
    view: View
    given: frozenset[str]

    def follows_members(self, trigger: PodRequirements) -> bool:
        """Tell that members which are placed count for one with terms of its own."""
        return bool(trigger.pod_affinity or trigger.pod_anti_affinity)

    @cached_property
    def _total(self) -> _Part:
        """The sums over the cluster as it was prepared for."""
        view, pod, wanted = self.view, self.pod, self.pod.requirements
        total = _Part(Counter(), Counter(), Counter())
        if wanted.pod_affinity:
            for name, number in number_on(view, _Covered(wanted.pod_affinity, pod.namespace, self.given)).items():
                _count(total.pod_affinity, wanted.pod_affinity, view.node(name), number)
        for term in wanted.pod_anti_affinity:
            for name, number in number_on(view, _Covered((term,), pod.namespace, self.given)).items():
                _count(total.pod_anti_affinity, (term,), view.node(name), number)
        for (terms, namespace), by_node in _repelling(view).items():
            covering = [term for term in terms if _covers(term, namespace, pod)]
            for name, number in by_node.items() if covering else ():
                _count(total.existing_anti_affinity, covering, view.node(name), number)
        for name, (terms, namespace) in self._given_kinds():
            covering = [term for term in terms if _covers(term, namespace, pod)]
            _count(total.existing_anti_affinity, covering, view.node(name), -1)
        return total

    def _given_kinds(self) -> Iterator[tuple[str, _Kind]]:
        """Yield the anti-affinity of the reservations that the trigger is given, with their nodes."""
        nodes = {one.node for one in self.view.snapshot.reservations if one.uid in self.given} if self.given else ()
        for name in nodes:
            given = (one for one in self.view.occupants(name) if _is_given(one, self.given))
            yield from ((name, kind) for kind in _kinds(given))

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when affinity or anti-affinity forbids the prepared pod on this node."""
        labels, at = dict(state.node.labels), self._at(state)
        requirements = self.pod.requirements
        if not self._is_affine(requirements.pod_affinity, labels, at):
            return PodAffinityUnmet()
        if any(
            term.key in labels and at("pod_anti_affinity", (term.key, labels[term.key])) > 0
            for term in requirements.pod_anti_affinity
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
        now = _part(self.pod, state.node, state.occupants, self.given)
        before = _part(self.pod, view.node(name), view.occupants(name), self.given) if is_there else _NO_PART

        def at(kind: str, pair: tuple[str, str]) -> int:
            count: int = getattr(total, kind)[pair] + getattr(now, kind)[pair] - getattr(before, kind)[pair]
            return count

        return at

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
        return all(_covers(term, own.namespace, own) for term in own.requirements.pod_affinity)

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

    @cached_property
    def _refusing(self) -> tuple[NodeSet, NodeSet, NodeSet]:
        """The nodes on which affinity is not met, those that anti-affinity forbids, and those that others' forbids."""
        total = self._total
        return self._unaffine(), _in(self.view, total.pod_anti_affinity), _in(self.view, +total.existing_anti_affinity)

    def _unaffine(self) -> NodeSet:
        terms, view = self.pod.requirements.pod_affinity, self.view
        labelled_all = near = every_node(view)
        for term in terms:
            labelled_all &= ~set_of(view, labelled(view, term.key).get(None, ()))
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
    if not (wanted.pod_affinity or wanted.pod_anti_affinity) and not _is_repelled(pod, cluster):
        return None
    return InterPodAffinity(pod, cluster.view, drawable(cluster.view, pod).uids)


def _is_repelled(pod: PendingPod, cluster: Cluster) -> bool:
    """Tell whether another pod's anti-affinity is against the pod: of one that runs, or of one that may be placed."""
    view, pending = cluster.view, cluster.pending
    is_own = pending is None or pending is view.snapshot.pending
    waiting = _waiting(view.snapshot) if is_own else _by_reach(_kinds(pending or ()))
    return any(
        _covers(term, namespace, pod)
        for by_reach in (_running(view), waiting)
        for reach in (pod.namespace, None)
        for term, namespace in by_reach.get(reach, ())
    )


def _by_reach(kinds: Iterable[_Kind]) -> _ByReach:
    found: dict[str | None, dict[tuple[PodTerm, str], None]] = {}
    for terms, namespace in kinds:
        for term in terms:
            for reach in _reach(term, namespace) or (None,):
                found.setdefault(reach, {})[term, namespace] = None
    return {reach: tuple(terms) for reach, terms in found.items()}


def _reach(term: PodTerm, namespace: str) -> tuple[str, ...] | None:
    """Return the namespaces that a term of a pod is about, None for all."""
    return None if term.every_namespace else term.namespaces or (namespace,)


@memoised
def _running(view: View) -> _ByReach:
    base = view.layers()[0]
    if base is not None and _repelling(base) is _repelling(view):
        return _running(base)
    return _by_reach(_repelling(view))


@memoised
def _waiting(snapshot: Snapshot) -> _ByReach:
    return _by_reach(_kinds(snapshot.pending))


@memoised
def _repelling(view: View) -> _Repelling:
    """Return by node how many pods have which anti-affinity; a what-if counts only what differs."""
    base = view.layers()[0]
    if base is None:
        return _merged({}, {name: kinds for name in view.names() if (kinds := _kinds_on(view, name))})
    now = {name: _kinds_on(view, name) for name in view.touched()}
    if all(_kinds_on(base, name) == kinds for name, kinds in now.items()):
        return _repelling(base)
    return _merged(_repelling(base), now)


def _merged(before: _Repelling, now: Mapping[str, Mapping[_Kind, int]]) -> _Repelling:
    found = {kind: {name: n for name, n in of.items() if name not in now} for kind, of in before.items()}
    for name, kinds in now.items():
        for kind, number in kinds.items():
            found.setdefault(kind, {})[name] = number
    return {kind: by_node for kind, by_node in found.items() if by_node}


def _kinds_on(view: View, name: str) -> Mapping[_Kind, int]:
    kinds = tuple(_kinds(view.occupants(name)))
    return Counter(kinds) if kinds else {}


def _kinds(pods: Iterable[Occupant]) -> Iterator[_Kind]:
    """Yield the anti-affinity of pods, with their namespaces."""
    for pod in pods:
        terms = pod.requirements.pod_anti_affinity
        if terms:
            yield terms, pod.namespace


_NO_PART = _Part(Counter(), Counter(), Counter())


def _part(pod: PendingPod, node: Node, occupants: Iterable[Occupant], given: frozenset[str]) -> _Part:
    """Return what the pods of one node add."""
    part = _Part(Counter(), Counter(), Counter())
    affinity, anti_affinity = pod.requirements.pod_affinity, pod.requirements.pod_anti_affinity
    for other in occupants:
        if _is_given(other, given):
            continue
        if affinity and all(_covers(term, pod.namespace, other) for term in affinity):
            _count(part.pod_affinity, affinity, node)
        if anti_affinity:
            _count(
                part.pod_anti_affinity, (term for term in anti_affinity if _covers(term, pod.namespace, other)), node
            )
        against = other.requirements.pod_anti_affinity
        if against:
            covering = (term for term in against if _covers(term, other.namespace, pod))
            _count(part.existing_anti_affinity, covering, node)
    return part


def _is_given(occupant: Occupant, given: frozenset[str]) -> bool:
    return isinstance(occupant, ReservedRoom) and occupant.uid in given


def _count(pairs: _Pairs, terms: Iterable[PodTerm], node: Node, number: int = 1) -> None:
    labels = dict(node.labels)
    for term in terms:
        if term.key in labels:
            pairs[term.key, labels[term.key]] += number


def _covers(term: PodTerm, namespace: str, other: Occupant) -> bool:
    """Tell whether a term of a pod in that namespace selects `other` (framework `AffinityTerm.Matches`)."""
    in_reach = term.every_namespace or other.namespace in (term.namespaces or (namespace,))
    return in_reach and term.selector is not None and matches(term.selector, dict(other.labels))
