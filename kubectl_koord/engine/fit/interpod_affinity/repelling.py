"""The anti-affinity of pods that are there, or wait: which terms, how often, and about whom."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from kubectl_koord.engine.fit.check import Cluster
from kubectl_koord.engine.node_state import Occupant
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodTerm
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import Identity, memoised, recently
from kubectl_koord.model.values.selectors import matches

Kind: TypeAlias = tuple[tuple[PodTerm, ...], str]
"""The anti-affinity of a pod, and its namespace."""
_Repelling: TypeAlias = Mapping[Kind, Mapping[str, int]]
_ByReach: TypeAlias = Mapping[str | None, tuple[tuple[PodTerm, str], ...]]
"""Terms with the namespaces of those whose terms they are, by the namespace that they are about, None for all."""
_MOST_KEPT = 4


def is_repelled(pod: PendingPod, cluster: Cluster) -> bool:
    """Tell whether another pod's anti-affinity is against the pod: of one that runs, or of one that may be placed."""
    terms = _about(pod.namespace, cluster.view, cluster.pending)
    labels = dict(pod.labels) if terms else {}
    return any(term.selector is not None and matches(term.selector, labels) for term in terms)


def keys_looked_at(namespace: str, view: View, pending: tuple[PendingPod, ...] | None) -> frozenset[str]:
    """Return the keys of labels by which anti-affinity tells pods of a namespace apart."""
    selectors = (term.selector for term in _about(namespace, view, pending))
    return frozenset(one.key for selector in selectors if selector is not None for one in selector.requirements)


def _about(namespace: str, view: View, pending: tuple[PendingPod, ...] | None) -> list[PodTerm]:
    """Return the terms about pods of a namespace: of who runs, and of who may be placed."""
    is_own = pending is None or pending is view.snapshot.pending
    waiting = _waiting(view.snapshot) if is_own else _waiting_instead(view.snapshot, Identity(pending or ()))
    return [
        term
        for by_reach in (_running(view), waiting)
        for reach in (namespace, None)
        for term, _ in by_reach.get(reach, ())
    ]


def _by_reach(kinds: Iterable[Kind]) -> _ByReach:
    found: dict[str | None, dict[tuple[PodTerm, str], None]] = {}
    for terms, namespace in kinds:
        for term in terms:
            for reach in namespaces_of(term, namespace) or (None,):
                found.setdefault(reach, {})[term, namespace] = None
    return {reach: tuple(terms) for reach, terms in found.items()}


def namespaces_of(term: PodTerm, namespace: str) -> tuple[str, ...] | None:
    """Return the namespaces that a term of a pod is about, None for all."""
    return None if term.every_namespace else term.namespaces or (namespace,)


@memoised
def _running(view: View) -> _ByReach:
    base = view.layers()[0]
    if base is not None and repelling(base) is repelling(view):
        return _running(base)
    return _by_reach(repelling(view))


@memoised
def _waiting(snapshot: Snapshot) -> _ByReach:
    return _by_reach(kinds_of(snapshot.pending))


@recently(_MOST_KEPT)
def _waiting_instead(_snapshot: Snapshot, pending: Identity[tuple[PendingPod, ...]]) -> _ByReach:
    return _by_reach(kinds_of(pending.value))


@memoised
def repelling(view: View) -> _Repelling:
    """Return by node how many pods have which anti-affinity; a what-if counts only what differs."""
    base, changed = view.layers()
    if base is None:
        return _merged({}, {name: kinds for name in view.names() if (kinds := _kinds_on(view, name))})
    before, now = repelling(base), {name: _kinds_on(view, name) for name in changed}
    having = {name for by_node in before.values() for name in by_node}
    if all(_kinds_on(base, name) == kinds for name, kinds in now.items() if kinds or name in having):
        return before
    return _merged(before, now)


def _merged(before: _Repelling, now: Mapping[str, Mapping[Kind, int]]) -> _Repelling:
    found = {kind: {name: n for name, n in of.items() if name not in now} for kind, of in before.items()}
    for name, kinds in now.items():
        for kind, number in kinds.items():
            found.setdefault(kind, {})[name] = number
    return {kind: by_node for kind, by_node in found.items() if by_node}


def _kinds_on(view: View, name: str) -> Mapping[Kind, int]:
    kinds = tuple(kinds_of(view.occupants(name)))
    return Counter(kinds) if kinds else {}


def kinds_of(pods: Iterable[Occupant]) -> Iterator[Kind]:
    """Yield the anti-affinity of pods, with their namespaces."""
    for pod in pods:
        terms = pod.requirements.pod_anti_affinity
        if terms:
            yield terms, pod.namespace


def covers(term: PodTerm, namespace: str, other: Occupant) -> bool:
    """Tell whether a term of a pod in that namespace selects `other` (framework `AffinityTerm.Matches`)."""
    in_reach = term.every_namespace or other.namespace in (term.namespaces or (namespace,))
    return in_reach and term.selector is not None and matches(term.selector, dict(other.labels))
