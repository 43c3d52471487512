"""Required inter-pod affinity and anti-affinity, with the prepared state of one pod (plugins/interpodaffinity)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import ClassVar, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.reasons import AntiAffinityViolated, ExistingAntiAffinityViolated, PodAffinityUnmet, Reason
from kubectl_koord.engine.reservations import drawable, laid_over, number_on, occupied
from kubectl_koord.engine.rules import Rules, rules
from kubectl_koord.engine.state import NodeState, Occupant, View
from kubectl_koord.engine.table import NodeSet, every_node, split, sums_by_value, with_values, without_label
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import (
    NAME_LABEL,
    NamespaceLabels,
    PendingPod,
    PodRequirements,
    PodTerm,
    ReservedRoom,
    labels_of,
    labels_of_new,
)
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import EVERYTHING, BySelector, Identity, Selector, holds, matches, memoised, recently

Kind: TypeAlias = tuple[PodTerm, str]
"""A term of the anti-affinity of a pod, and the pod's namespace."""
_Repelling: TypeAlias = Mapping[Kind, Mapping[str, int]]
_MOST_KEPT = 4


def is_repelled(pod: PendingPod, cluster: Cluster) -> bool:
    """Tell whether another pod's anti-affinity is against the pod: of one that runs, or of one that may be placed."""
    known = cluster.view.snapshot.namespaces
    every = (one for by_reach in _by_reaches(cluster.view, cluster.pending) for one in by_reach.in_reach(pod))
    return any(covers(*kind, pod, known) for kind in every)


def keys_looked_at(namespace: str, view: View, pending: tuple[PendingPod, ...] | None) -> frozenset[str]:
    """Return the keys of labels by which anti-affinity tells pods of a namespace apart."""
    return frozenset(key for by_reach in _by_reaches(view, pending) for key in by_reach.keys_looked_at(namespace))


def covering(view: View, pod: PendingPod) -> Iterator[tuple[PodTerm, Mapping[str, int]]]:
    """Return the terms of pods that run which cover a pod, and by node how often pods have each."""
    known = view.snapshot.namespaces
    kinds = (kind for kind in _running(view).in_reach(pod) if covers(*kind, pod, known))
    return ((kind[0], repelling(view)[kind]) for kind in kinds)


def _by_reaches(view: View, pending: tuple[PendingPod, ...] | None) -> "tuple[_ByReach, _ByReach]":
    """Return the kinds of who runs, and of who may be placed."""
    is_own = pending is None or pending is view.snapshot.pending
    waiting = _waiting(view.snapshot) if is_own else _waiting_instead(view.snapshot, Identity(pending or ()))
    return _running(view), waiting


class _ByReach:
    """Kinds by the namespaces that they are about, or may be."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        about: dict[str | None, list[tuple[Selector, Kind]]] = {}
        selecting = ((term.selector, (term, namespace)) for term, namespace in dict.fromkeys(kinds) if term.selector)
        for selector, kind in selecting:
            for reach in namespaces_of(*kind) or (None,):
                about.setdefault(reach, []).append((selector, kind))
        self._by_selector = {reach: BySelector(some) for reach, some in about.items()}
        self._keys = {reach: _keys_of(selector for selector, _ in some) for reach, some in about.items()}

    def in_reach(self, pod: PendingPod) -> Iterator[Kind]:
        """Yield the kinds that may cover a pod; no other does."""
        for reach in (pod.namespace, None):
            if reach in self._by_selector:
                yield from self._by_selector[reach].in_reach(pod.labels)

    def keys_looked_at(self, namespace: str) -> frozenset[str]:
        """Return the keys of labels by which they tell pods of a namespace apart."""
        return self._keys.get(namespace, frozenset()) | self._keys.get(None, frozenset())


def _keys_of(selectors: Iterable[Selector]) -> frozenset[str]:
    return frozenset(one.key for selector in selectors for one in selector.requirements)


def namespaces_of(term: PodTerm, namespace: str) -> tuple[str, ...] | None:
    """Return the namespaces that a term of a pod is about, None where labels tell which, or for all."""
    return None if term.namespace_selector is not None else term.namespaces or (namespace,)


@memoised
def _running(view: View) -> _ByReach:
    base = view.layers()[0]
    return _running(base) if base is not None and _on_nodes(base) is _on_nodes(view) else _ByReach(repelling(view))


@memoised
def _waiting(snapshot: Snapshot) -> _ByReach:
    return _ByReach(kinds_of(snapshot.pending))


@recently(_MOST_KEPT)
def _waiting_instead(_snapshot: Snapshot, pending: Identity[tuple[PendingPod, ...]]) -> _ByReach:
    return _ByReach(kinds_of(pending.value))


@memoised
def repelling(view: View) -> _Repelling:
    """Return by node how often pods have which terms of anti-affinity; a what-if counts only what differs."""
    base, mine = view.layers()[0], _on_nodes(view)
    before, known = (_on_nodes(base), repelling(base)) if base is not None else ({}, {})
    if mine is before:
        return known
    differing = [name for name in view.touched() if mine.get(name) != before.get(name)]
    kinds = {kind for name in differing for there in (before, mine) for kind in there.get(name, ())}
    found = {kind: dict(known.get(kind, {})) for kind in kinds}
    for name in differing:
        for kind in before.get(name, ()):
            found[kind].pop(name, None)
        for kind in mine.get(name, ()):
            found[kind][name] = found[kind].get(name, 0) + 1
    return {kind: by_node for kind, by_node in {**known, **found}.items() if by_node}


@memoised
def _on_nodes(view: View) -> Mapping[str, tuple[Kind, ...]]:
    """Return the terms of the pods on each node, nodes with none left out; a what-if asks only what differs."""
    base, trial = view.layers()[0], view.trial()
    if base is not None:
        return laid_over(_on_nodes(base), view, _having(occupied(view)))
    names = view.names() if trial is None else _on_nodes(trial[0])
    return _having((name, view.occupants(name)) for name in names)


def _having(there: Iterable[tuple[str, tuple[Occupant, ...]]]) -> dict[str, tuple[Kind, ...]]:
    return {name: kinds for name, pods in there if (kinds := tuple(kinds_of(pods)))}


def kinds_of(pods: Iterable[Occupant]) -> Iterator[Kind]:
    """Yield the terms of the anti-affinity of pods, with their namespaces."""
    for pod in pods:
        for term in pod.requirements.pod_anti_affinity:
            yield term, pod.namespace


def covers(term: PodTerm, namespace: str, other: Occupant, known: NamespaceLabels) -> bool:
    """Tell whether a term of a pod in that namespace selects `other`; `known` are the labels of namespaces.

    Mirrors `AffinityTerm.Matches` and `getNamespacesFromPodAffinityTerm` in kube-scheduler's framework/types.go.
    """
    if term.namespace_selector is None:
        is_about = other.namespace in (term.namespaces or (namespace,))
    else:
        is_about = other.namespace in term.namespaces or _is_selected(other.namespace, term.namespace_selector, known)
    return is_about and term.selector is not None and matches(term.selector, dict(other.labels))


def _is_selected(namespace: str, selector: Selector, known: NamespaceLabels) -> bool:
    return selector == EVERYTHING or matches(selector, labels_of(namespace, known))


def merged(terms: tuple[PodTerm, ...], known: Rules) -> tuple[PodTerm, ...]:
    """Return the terms of a pod that is tried as PreFilter leaves them, by the rules of the version.

    Mirrors `mergeAffinityTermNamespacesIfNotEmpty` in plugins/interpodaffinity/plugin.go. The namespaces that a
    selector means are not listed here: it is held against the labels of each that is asked about.
    """
    if not any(_means_all(term, known) for term in terms):
        return terms
    return tuple(
        structs.replace(term, namespace_selector=EVERYTHING) if _means_all(term, known) else term for term in terms
    )


def _means_all(term: PodTerm, known: Rules) -> bool:
    """Tell whether a selector that is kept means every namespace, as it is held against no labels at all."""
    selector = term.namespace_selector
    return known.keeps_namespace_selectors and selector is not None and matches(selector, {})


def needs_unread_namespaces(pods: Iterable[PendingPod], snapshot: Snapshot) -> bool:
    """Tell whether pods have, or may be met by, terms that select namespaces by labels which could not be read."""
    if snapshot.gap("Namespace") is None:
        return False
    known, others = rules(snapshot.config.version), _reading_namespaces(snapshot)
    return any(_reads(pod, known) or any(_may_cover(kind, pod) for kind in others) for pod in pods)


def _reads(pod: PendingPod, known: Rules) -> bool:
    wanted = pod.requirements
    terms = merged((*wanted.pod_affinity, *wanted.pod_anti_affinity), known)
    return any(term.reads_namespaces for term in terms)


@memoised
def _reading_namespaces(snapshot: Snapshot) -> tuple[Kind, ...]:
    """Return the terms of anti-affinity, of whoever runs or waits, that select namespaces by more than their names."""
    running = chain.from_iterable(snapshot.running.values())
    kinds = chain(kinds_of(running), kinds_of(snapshot.reserved), kinds_of(snapshot.pending))
    return tuple(kind for kind in dict.fromkeys(kinds) if kind[0].reads_namespaces)


def _may_cover(kind: Kind, pod: PendingPod) -> bool:
    """Tell whether labels of the pod's namespace decide whether a term covers it."""
    term, _ = kind
    if term.selector is None or pod.namespace in term.namespaces or not matches(term.selector, dict(pod.labels)):
        return False
    return term.namespace_selector is not None and _may_match(term.namespace_selector, pod.namespace)


def _may_match(selector: Selector, namespace: str) -> bool:
    named = labels_of_new(namespace)
    return all(holds(one, named) for one in selector.requirements if one.key == NAME_LABEL)


_Pairs: TypeAlias = Counter[tuple[str, str]]


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


class InterPodAffinity(Filter, Struct, frozen=True, dict=True):
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
        labels, since = dict(state.node.labels), self._since(state)
        if not self._is_affine(labels, since.pod_affinity):
            return PodAffinityUnmet()
        if _is_any(self._total.pod_anti_affinity, since.pod_anti_affinity, labels):
            return AntiAffinityViolated()
        if _is_any(self._total.existing_anti_affinity, since.existing_anti_affinity, labels):
            return ExistingAntiAffinityViolated()
        return None

    def _since(self, state: NodeState) -> _Part:
        """Return what those add who came to a node, or left it, since the sums were taken."""
        view, name, node = self.view, state.node.name, state.node
        is_there = name in view.names()
        if is_there and state is view.state(name):
            return _NO_PART

        def whole() -> _Part:
            before, there = view.node(name) if is_there else node, view.occupants(name)
            came, left = state.since(there) if node is before else (state.occupants, there)
            return self._added(self._added(_NO_PART, node, came), before, left, -1)

        return state.summed(self._key, whole, lambda part, came: self._added(part, node, came))

    def _added(self, part: _Part, node: Node, occupants: Sequence[Occupant], number: int = 1) -> _Part:
        found = [terms for terms in map(self._terms, occupants) if any(terms)]
        if not found:
            return part
        added = _Part(Counter(part.pod_affinity), Counter(part.existing_anti_affinity), Counter(part.pod_anti_affinity))
        for affine, selected, against in found:
            _count(added.pod_affinity, affine, node, number)
            _count(added.pod_anti_affinity, selected, node, number)
            _count(added.existing_anti_affinity, against, node, number)
        return added

    def _terms(self, other: Occupant) -> tuple[Sequence[PodTerm], Sequence[PodTerm], Sequence[PodTerm]]:
        """Return our affinity where a pod meets it, the terms of our anti-affinity that select it, its own against us.

        Members are put on each node in turn, so this is found once for pods that are alike.
        """
        if _is_given(other, self.given):
            return (), (), ()
        known, against = self._found, other.requirements.pod_anti_affinity
        key = (other.namespace, other.labels, against)
        if key not in known:
            pod, labels = self.pod, self._known
            is_met = all(covers(term, pod.namespace, other, labels) for term in self.pod_affinity)
            known[key] = (
                self.pod_affinity if is_met else (),
                [term for term in self.pod_anti_affinity if covers(term, pod.namespace, other, labels)],
                [term for term in against if covers(term, other.namespace, pod, labels)],
            )
        return known[key]

    @cached_property
    def _key(self) -> object:
        return object()

    @cached_property
    def _found(self) -> dict[object, tuple[Sequence[PodTerm], Sequence[PodTerm], Sequence[PodTerm]]]:
        return {}

    def _is_affine(self, labels: dict[str, str], since: _Pairs) -> bool:
        terms, total = self.pod_affinity, self._total.pod_affinity
        pairs = [(term.key, labels[term.key]) for term in terms if term.key in labels]
        if len(pairs) < len(terms):
            return False
        if all(total.get(pair, 0) + since.get(pair, 0) > 0 for pair in pairs):
            return True
        return not any(number + since.get(pair, 0) > 0 for pair, number in total.items()) and self._is_own

    @property
    def _is_own(self) -> bool:
        """Whether the pod is one of those that its own affinity asks for."""
        own = self.pod
        return all(covers(term, own.namespace, own, self._known) for term in self.pod_affinity)

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by which terms are met, and by the keys with which the pods may keep each other away."""
        return split(among, *self._seen) if view is self.view else super().parts(view, pods, among)

    @cached_property
    def _seen(self) -> Sequence[NodeSet]:
        """The nodes on which affinity is not met, those that anti-affinity or others' forbids, those without a key."""
        total, view = self._total, self.view
        forbidden = _in(view, total.pod_anti_affinity), _in(view, +total.existing_anti_affinity)
        keys = dict.fromkeys(term.key for term in self.pod_anti_affinity)
        return (self._unaffine(), *forbidden, *(without_label(view, key) for key in keys))

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


def _is_any(total: _Pairs, since: _Pairs, labels: Mapping[str, str]) -> bool:
    """Tell whether any label of a node is counted, once those are who came and left since."""
    return bool(total or since) and any(total.get(pair, 0) + since.get(pair, 0) > 0 for pair in labels.items())


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
