"""CPUs of nodes that tell more of them than they have: those that are bound count as often as the node is amplified."""

from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, classes, which
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.numa.books import MILLI, books
from kubectl_koord.engine.fit.numa.terms import Terms, Wants, settled, wants_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.numa import (
    InsufficientAmplifiedCPU,
    InvalidAmplification,
    NoCPUTopology,
)
from kubectl_koord.engine.reservations import Matched, matched, room_with, used_up
from kubectl_koord.engine.view import View
from kubectl_koord.model.hardware.numa import NodeNUMA, amplified
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources
from kubectl_koord.model.values.memo import memoised


class AmplifiedCPUs(Stateless, Struct, frozen=True):
    """The filter (`filterAmplifiedCPUs`): members that are counted take up their plain requests.

    `mine` are the reservations that match: what they hold is given back, save that their CPUs count as amplified.
    """

    depends_on: ClassVar[DependsOn] = "room"
    wants: Wants
    mine: Matched

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the node has too few CPUs as they are counted, or says nothing that can be counted."""
        node = state.node.numa
        if node is None:
            return None
        if node.bad_ratio:
            return InvalidAmplification()
        if node.ratio <= 1:
            return None
        if node.known and node.cpus is None:
            return NoCPUTopology()
        need, free = self._need(node), self._free(node, state)
        return InsufficientAmplifiedCPU(need, free) if need > free else None

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod, asking those that are amplified."""
        asked = among & amplified_nodes(view)
        return which(view, lambda name: self.reject(pod, view.state(name), pod.requirements) is not None, asked)

    def counted_singly(self, view: View) -> NodeSet:
        """Return the nodes that are amplified."""
        return amplified_nodes(view)

    def most(self, state: NodeState, _trigger: PodRequirements, each: Resources) -> int | None:
        """Return how many pods the CPUs are enough for.

        In a dry run a victim's CPUs do not count as amplified until pods take up as many.
        """
        node = state.node.numa
        taken = dict(each).get("cpu", 0)
        if node is None or node.ratio <= 1 or not taken:
            return None
        free, missing, more = self._left(node, state)
        left = free - self._need(node)
        before = -(-missing // taken)
        return max(0, min(left // taken + 1, max(before, (left - more) // taken + 1)))

    def _need(self, node: NodeNUMA) -> int:
        terms = settled(node, self.wants)
        binds = isinstance(terms, Terms) and terms.cpus > 0
        return amplified(self.wants.cpu, node.ratio) if binds else self.wants.cpu

    def _free(self, node: NodeNUMA, state: NodeState) -> int:
        free, missing, more = self._left(node, state)
        return free if missing else free - more

    def _left(self, node: NodeNUMA, state: NodeState) -> tuple[int, int, int]:
        """Return what is free, how much less is requested than is held, and how much more counts once it is not."""
        sums, _ = room_with(state, self.mine.drawable.uids, used_up(state, self.mine.once))
        free = sums.get("cpu", 0)
        requested = dict(state.node.allocatable).get("cpu", 0) - free
        held = books(state).cached.bit_count() * MILLI
        return free, max(0, held - requested), amplified(held, node.ratio) - held


@memoised
def amplified_nodes(view: View) -> NodeSet:
    """Return the nodes that tell of more CPUs than they have, or cannot be read in that."""
    return classes(view, _is_amplified).get(True, 0)


def _is_amplified(node: Node) -> bool:
    return node.numa is not None and (node.numa.bad_ratio or node.numa.ratio > 1)


def prepare(trigger: PendingPod, cluster: Cluster) -> AmplifiedCPUs | None:
    """Return the filter, None where no node is amplified."""
    wants = wants_of(trigger.requirements, cluster.view.snapshot.config.numa)
    if not wants.cpu or not cluster.view.snapshot.amplified_cpus:
        return None
    return AmplifiedCPUs(wants, matched(cluster.view, trigger, cluster.once))
