"""Namespace selectors of terms: what PreFilter makes of them, and whether the labels that they look at were read."""

from collections.abc import Iterable
from itertools import chain

from msgspec import structs

from kubectl_koord.engine.fit.interpod_affinity.repelling import Kind, kinds_of
from kubectl_koord.engine.rules import Rules, rules
from kubectl_koord.model.namespaces import NAME_LABEL, labels_of_new
from kubectl_koord.model.pods import PendingPod, PodTerm
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised
from kubectl_koord.model.values.selectors import EVERYTHING, Selector, holds, matches


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
