"""Which pods and reservations of a cluster a pod may preempt."""

from collections.abc import Callable, Mapping

from kubectl_koord.engine.columns import NodeSet, base_with_most, differing, packed, places_touched, set_of
from kubectl_koord.engine.node_state import Room
from kubectl_koord.engine.reservations import uid_of
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import POD_GROUP_LABEL, NodePods, PendingPod, RunningPod
from kubectl_koord.model.values.memo import memoised

_ROLES = ("-master", "-worker")
NO_RESERVATIONS: frozenset[str] = frozenset()


def possible_victims(view: View, node: str, trigger: PendingPod) -> tuple[RunningPod, ...]:
    """Return the pods on a node that the trigger may preempt, by name (`isPreemptionAllowed`)."""
    return tuple(pod for pod in _below(view, node, trigger.priority, NO_RESERVATIONS) if isinstance(pod, RunningPod))


def _below(view: View, node: str, priority: int, spared: frozenset[str]) -> tuple[Room, ...]:
    """Return the pods and reservations that may be preempted; those that the trigger draws on are not in its way."""
    held = view.occupants(node)
    if isinstance(held, NodePods) and not spared:
        return tuple([one for one in held if one.priority < priority and not one.marks.protected])
    return tuple(
        [
            one
            for one in held
            if not isinstance(one, PendingPod)
            and one.priority < priority
            and not one.protected
            and not (spared and uid_of(one) in spared)
        ]
    )


def job_key(victim: Room, *, names_jobs: bool) -> str:
    """Return which job a victim belongs to, as far as that is told; `names_jobs` is as in `Rules`.

    Mirrors `TransformScheduleExplanationObjectKey` in util/transformer/pod_transformer.go, which sees no pods that
    stand for reservations.
    """
    if victim.job or not names_jobs or not isinstance(victim, RunningPod):
        return victim.job
    if not victim.gang:
        return victim.key
    name = victim.gang.partition("/")[2]
    by_label = name.endswith(_ROLES) and dict(victim.labels).get(POD_GROUP_LABEL) == name
    return name.removesuffix("-master").removesuffix("-worker") if by_label else name


def without_victims(view: View, trigger: PendingPod, spared: frozenset[str] = NO_RESERVATIONS) -> View:
    """Return the cluster without all that the trigger may preempt, save the reservations that are `spared`."""
    return view.without_any(victims_by_node, trigger.priority, spared)


def victims_by_node(view: View, priority: int, spared: frozenset[str]) -> Mapping[str, tuple[Room, ...]]:
    """Return what may be preempted on each node by a pod of this priority, in the order of the occupants."""
    return view.per_node(_victims_on, priority, spared)


def _victims_on(view: View, priority: int, spared: frozenset[str]) -> Callable[[str], tuple[Room, ...]]:
    return lambda name: _below(view, name, priority, spared)


@memoised
def with_victims(view: View, priority: int, spared: frozenset[str]) -> NodeSet:
    """Return the nodes on which anything may be preempted."""
    victims, base = victims_by_node(view, priority, spared), base_with_most(view)
    if base is None:
        return packed(bytes(map(bool, victims.values())))
    now = (position for name, position in places_touched(view).items() if victims[name])
    return with_victims(base, priority, spared) & ~differing(view) | set_of(view, now)
