"""Filters that look at the node alone: cordon, taints, affinity, host ports, sidecars; and the pod's quota."""

from collections.abc import Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.quota.state import quota_state
from kubectl_koord.engine.quota.tree import quotas_of
from kubectl_koord.engine.reasons import (
    Cordoned,
    NotSelected,
    PortTaken,
    QuotaExceeded,
    Reason,
    SidecarsUnknown,
    Untolerated,
)
from kubectl_koord.engine.reservations import drawable
from kubectl_koord.engine.state import NodeState, View
from kubectl_koord.engine.table import (
    NodeSet,
    Sees,
    classes,
    every_node,
    first_of,
    in_classes,
    satisfying,
    singles,
    split,
    which,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import EVERY_ADDRESS, HostPort, PendingPod, PodRequirements
from kubectl_koord.model.values import Labels, NodeTerm, Requirement, Taint, holds, recently, tolerates

_CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
_unschedulable: Sees = attrgetter("unschedulable")


class Cordon(Filter, Struct, frozen=True):
    """The filter: a member's own tolerations count."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the node is cordoned and the pod does not tolerate that."""
        if state.node.unschedulable and not any(tolerates(one, _CORDON) for one in pod.requirements.tolerations):
            return Cordoned()
        return None

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by whether they are cordoned."""
        return in_classes(view, _unschedulable, among)


def prepare_cordon(_trigger: PendingPod, _cluster: Cluster) -> Cordon:
    """Return the filter, which needs no preparation."""
    return Cordon()


_MOST_SELECTORS = 64


class NodeAffinity(Filter, Struct, frozen=True):
    """The filter: members are filtered with the selector and affinity of the trigger."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when selector or required affinity do not match."""
        return None if is_selected(trigger, state.node) else NotSelected()

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by whether they are selected."""
        return split(among, selected(view, pods[0].requirements))


def selected(view: View, requirements: PodRequirements) -> NodeSet:
    """Return the nodes that selector and required affinity match."""
    return _selected(view, requirements.selector, requirements.affinity)


@recently(_MOST_SELECTORS)
def _selected(view: View, selector: Labels, affinity: tuple[NodeTerm, ...] | None) -> NodeSet:
    found = every_node(view)
    for key, value in selector:
        found &= satisfying(view, Requirement(key, "In", (value,)))
    if affinity is None:
        return found
    matching = 0
    for term in affinity:
        of_term = found if term.labels or term.fields else 0
        for requirement in term.labels:
            of_term &= satisfying(view, requirement)
        matching |= which(view, partial(_is_named, term.fields), of_term) if term.fields else of_term
    return matching


def _is_named(fields: Iterable[Requirement], name: str) -> bool:
    return all(one.key == "metadata.name" and holds(one, {"metadata.name": name}) for one in fields)


def is_selected(requirements: PodRequirements, node: Node) -> bool:
    """Tell whether selector and required affinity match the node (component-helpers nodeaffinity)."""
    labels = dict(node.labels)
    if any(labels.get(key) != value for key, value in requirements.selector):
        return False
    return requirements.affinity is None or any(term_matches(term, node, labels) for term in requirements.affinity)


def term_matches(term: NodeTerm, node: Node, labels: dict[str, str]) -> bool:
    """Tell whether one term of a node selector matches; an empty term matches nothing."""
    if not term.labels and not term.fields:
        return False
    if not all(holds(requirement, labels) for requirement in term.labels):
        return False
    return _is_named(term.fields, node.name)


def prepare_node_affinity(trigger: PendingPod, _cluster: Cluster) -> NodeAffinity | None:
    """Return the filter; None for a trigger that every node matches."""
    return NodeAffinity() if trigger.requirements.selector or trigger.requirements.affinity is not None else None


class Ports(Filter, Struct, frozen=True):
    """The filter: members are filtered with the ports of the trigger."""

    depends_on: ClassVar[DependsOn] = "pods"
    given: frozenset[str]

    def reject(self, _pod: PendingPod, state: NodeState, trigger: PodRequirements) -> Reason | None:
        """Return a reason when a host port is in use (`HostPortInfo.CheckConflict`).

        Those of the reservations that match the trigger, in `given`, are for it.
        """
        ports = list(state.ports)
        for uid, room in state.rooms.items():
            for port in room.requirements.ports if uid in self.given else ():
                ports.remove(port)
        for port in trigger.ports:
            if any(_clash(port, held) for held in ports):
                return PortTaken(port.port)
        return None

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by the port that is in use; where none is, the first pod takes it from the next."""
        found: dict[Reason | None, NodeSet] = {}
        for one in singles(among):
            reason = self.reject(pods[0], view.state(first_of(view, one)), pods[0].requirements)
            found[reason] = found.get(reason, 0) | one
        return found.values()


def _clash(one: HostPort, other: HostPort) -> bool:
    return (
        one.port == other.port
        and one.protocol == other.protocol
        and (one.address == other.address or EVERY_ADDRESS in {one.address, other.address})
    )


def prepare_ports(trigger: PendingPod, cluster: Cluster) -> Ports | None:
    """Return the filter; None for a trigger without host ports."""
    return Ports(drawable(cluster.view, trigger).uids) if trigger.requirements.ports else None


def prepare_quota(trigger: PendingPod, cluster: Cluster) -> QuotaExceeded | None:
    """Return why its quota refuses the pod, None where it does not: no node is looked at for it."""
    if not quotas_of(cluster.view).may_refuse(trigger):
        return None
    return quota_state(cluster.view, cluster.rules, cluster.pending).refusal(trigger)


class Sidecars(Filter, Struct, frozen=True):
    """The filter of a version that does not know sidecars."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, pod: PendingPod, _state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the pod has sidecars."""
        return SidecarsUnknown() if pod.requirements.sidecars else None

    def parts(self, _view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return all nodes together."""
        return split(among)


def prepare_sidecars(_trigger: PendingPod, cluster: Cluster) -> Sidecars | None:
    """Return the filter; None in versions that schedule sidecars."""
    return None if cluster.rules.knows_sidecars else Sidecars()


_HARD = {"NoSchedule", "NoExecute"}
_taints: Sees = attrgetter("taints")


class Taints(Filter, Struct, frozen=True):
    """The filter: a member's own tolerations count."""

    depends_on: ClassVar[DependsOn] = "node"

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason that names the first hard taint which the pod does not tolerate."""
        taint = untolerated(pod.requirements, state.node)
        return Untolerated(taint) if taint is not None else None

    def parts(self, view: View, _pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by their taints."""
        return in_classes(view, _taints, among)


def tolerated(view: View, requirements: PodRequirements) -> NodeSet:
    """Return the nodes of which a pod tolerates all hard taints."""
    found = 0
    for nodes in classes(view, _taints).values():
        if untolerated(requirements, view.node(first_of(view, nodes))) is None:
            found |= nodes
    return found


def untolerated(requirements: PodRequirements, node: Node) -> Taint | None:
    """Return the first hard taint of the node that the pod does not tolerate."""
    for taint in node.taints:
        if taint.effect in _HARD and not any(tolerates(toleration, taint) for toleration in requirements.tolerations):
            return taint
    return None


def prepare_taints(_trigger: PendingPod, _cluster: Cluster) -> Taints:
    """Return the filter, which needs no preparation."""
    return Taints()
