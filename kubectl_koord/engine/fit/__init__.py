"""The Filter plugins: whether one node takes one pod, and the first reason why not.

Each filter is a small pure function; `rejection` runs them in the order of the default profile.
What the filters of one round share, the prepared state of the trigger pod, is `Prepared`.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from kubectl_koord.engine.fit import interpod, load, nodes, room, spread, volumes
from kubectl_koord.engine.reasons import Reason
from kubectl_koord.engine.rules import Rules
from kubectl_koord.engine.view import NodeState, View
from kubectl_koord.model.objects import Claim, Node
from kubectl_koord.model.pods import PendingPod


class Prepared(Struct, frozen=True):
    """What PreFilter leaves for all members of a round: the state of the trigger pod alone.

    `nominated` holds, by node, the pods of other jobs that are nominated there.
    """

    trigger: PendingPod
    rules: Rules
    spread: spread.SpreadState | None
    affinity: interpod.AffinityState | None
    volumes: volumes.VolumeState | None
    nominated: Mapping[str, tuple[PendingPod, ...]]

    @property
    def counts_only_room(self) -> bool:
        """Whether members added to a node change nothing there but its room."""
        stateful = (self.spread, self.affinity, self.volumes)
        return not any(state is not None for state in stateful) and not self.trigger.shape.ports


def prepare(
    trigger: PendingPod,
    view: View,
    rules: Rules,
    nominated: Iterable[PendingPod] = (),
    same_job: Iterable[PendingPod] = (),
    claims: Mapping[str, Claim] | None = None,
) -> Prepared:
    """Return the prepared state of the trigger; `nominated` are the pods that are nominated to nodes."""
    job = {pod.key for pod in same_job} | {trigger.key}
    by_node: dict[str, tuple[PendingPod, ...]] = {}
    for pod in nominated:
        if pod.key not in job:
            by_node[pod.nominated] = (*by_node.get(pod.nominated, ()), pod)
    return Prepared(
        trigger=trigger,
        rules=rules,
        spread=spread.prepare(trigger.shape, trigger.namespace, view),
        affinity=interpod.prepare(trigger, view),
        volumes=volumes.prepare(trigger.shape, trigger.namespace, view, claims or {}),
        nominated=by_node,
    )


def static_rejection(pod: PendingPod, node: Node, prepared: Prepared) -> Reason | None:
    """Return why the node refuses the pod whoever is on it.

    Members are filtered with their own tolerations, but with the trigger's selector and affinity.
    """
    return (
        nodes.cordoned(pod.shape, node)
        or nodes.untolerated(pod.shape, node)
        or nodes.not_selected(prepared.trigger.shape, node)
        or room.sidecars_unknown(pod.shape, prepared.rules)
    )


def load_rejection(pod: PendingPod, node: Node) -> Reason | None:
    """Return why the node's measured load forbids the pod; the last of the filters, and static too."""
    return load.overloaded(pod.shape, node)


def rejection(pod: PendingPod, state: NodeState, prepared: Prepared) -> Reason | None:
    """Return the first reason why the node refuses the pod, None when it takes it.

    Pods of other jobs that are nominated to the node with at least the pod's priority count as if
    they were there; then the filters run once more without them. Mirrors
    `RunFilterPluginsWithNominatedPods`.
    """
    others = [other for other in prepared.nominated.get(state.node.name, ()) if other.priority >= pod.priority]
    if others:
        crowded = state.copy()
        for other in others:
            crowded.add(other)
        reason = _rejection(pod, crowded, prepared)
        if reason is not None:
            return reason
    return _rejection(pod, state, prepared)


def _rejection(pod: PendingPod, state: NodeState, prepared: Prepared) -> Reason | None:
    shape = prepared.trigger.shape
    return (
        static_rejection(pod, state.node, prepared)
        or room.port_taken(shape.ports, state)
        or room.short_of(shape.requests, state, prepared.rules)
        or volumes.reject(state, prepared.volumes)
        or spread.reject(pod, state, prepared.spread)
        or interpod.reject(state, prepared.affinity)
        or load_rejection(pod, state.node)
    )
