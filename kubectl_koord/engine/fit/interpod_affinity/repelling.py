"""The anti-affinity of pods that are there, or wait: which terms, how often, and about whom."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kubectl_koord.engine.fit.check import Cluster
from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.occupants import laid_over, occupied
from kubectl_koord.engine.view import View
from kubectl_koord.model.namespaces import NamespaceLabels, labels_of
from kubectl_koord.model.pods import PendingPod, PodTerm
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, memoised, recently
from kubectl_koord.model.values.selectors import EVERYTHING, BySelector, Selector, matches

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
