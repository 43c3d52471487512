"""Which nodes pass the filters, and why the others do not: all nodes of a view at once."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import compress, count, islice

from kubectl_koord.engine.columns import (
    NodeSet,
    base_with_most,
    differing,
    every_node,
    first_of,
    places_touched,
    set_of,
)
from kubectl_koord.engine.fit.check import Check
from kubectl_koord.engine.reasons.nodes import Reason, Refused
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements, any_pod_of
from kubectl_koord.model.values.memo import recently

_MOST_KINDS = 16
"""Of so many kinds of pods a view keeps which nodes pass."""


def counted_singly(view: View, checks: Iterable[Check]) -> NodeSet:
    """Return the nodes on which more than what is free for strangers tells how many pods there is room for."""
    found = 0
    for check in checks:
        found |= check.counted_singly(view)
    return found


@recently(_MOST_KINDS)
def lost(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> tuple[NodeSet, ...]:
    """Return by filter the nodes that it refuses of those that pass the filters before it.

    Of a what-if only nodes that differ are asked anew.
    """
    pod, base = any_pod_of(requirements), base_with_most(view)
    if base is None:
        return _lost(view, pod, checks)
    changed = differing(view)
    found = [nodes & ~changed for nodes in lost(base, requirements, checks)]
    for name, position in places_touched(view).items():
        state = view.state(name)
        refusing = (check.reject(pod, state, requirements) is not None for check in checks)
        for at in islice(compress(count(), refusing), 1):
            found[at] |= set_of(view, (position,))
    return tuple(found)


def _lost(view: View, pod: PendingPod, checks: Iterable[Check]) -> tuple[NodeSet, ...]:
    left, found = every_node(view), []
    for check in checks:
        found.append(_refused_of(left, view, pod, check))
        left &= ~found[-1]
    return tuple(found)


def taking(view: View, requirements: PodRequirements, checks: tuple[Check, ...]) -> NodeSet:
    """Return the nodes that take a pod of these requirements."""
    left = every_node(view)
    for refusing in lost(view, requirements, checks):
        left &= ~refusing
    return left


def passing(view: View, pod: PendingPod, checks: Iterable[Check], among: NodeSet) -> NodeSet:
    """Return the nodes of a set that take a pod which asks for the same as the trigger."""
    for check in checks:
        among &= ~_refused_of(among, view, pod, check)
    return among


def _refused_of(nodes: NodeSet, view: View, pod: PendingPod, check: Check) -> NodeSet:
    """Return those of the nodes that a filter refuses: of none it need not look at any."""
    return check.refused(view, pod, nodes) if nodes else 0


def refused(view: View, pod: PendingPod, checks: Iterable[Check]) -> Iterator[Refused]:
    """Yield why nodes take not even this pod, which asks for the same as the trigger."""
    lasting = tuple(check for check in checks if check.depends_on != "pods")
    known = dict(zip(map(id, lasting), lost(view, pod.requirements, lasting), strict=True))
    left = every_node(view)
    for check in checks:
        if id(check) in known:
            refusing = known[id(check)] & left
            yield from _reasons_alike(view, pod.requirements, check, refusing) if refusing else ()
        else:
            refusing = _refused_of(left, view, pod, check)
            yield from _reasons(view, pod, check, refusing) if refusing else ()
        left &= ~refusing


@recently(_MOST_KINDS)
def _reasons_alike(view: View, requirements: PodRequirements, check: Check, refusing: NodeSet) -> tuple[Refused, ...]:
    """Return the same for a filter that looks at nobody else: jobs that are alike share it."""
    return tuple(_reasons(view, any_pod_of(requirements), check, refusing))


def _reasons(view: View, pod: PendingPod, check: Check, refusing: NodeSet) -> Iterator[Refused]:
    """Return why a filter refuses a pod on each of these nodes, each reason once."""
    parts = ((view.state(first_of(view, one)), one.bit_count()) for one in check.alike(view, pod, refusing))
    asked = ((check.reject(pod, state, pod.requirements), nodes) for state, nodes in parts)
    found: Counter[Reason] = Counter()
    for reason, nodes in ((reason, nodes) for reason, nodes in asked if reason is not None):
        found[reason] += nodes
    return (Refused(reason, nodes) for reason, nodes in found.items())
