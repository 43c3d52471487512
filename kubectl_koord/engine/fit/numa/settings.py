"""Settings of the pod that no node can meet, and those that do not agree with the node's."""

from collections.abc import Collection
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, classes
from kubectl_koord.engine.fit.check import ByClass, Cluster, DependsOn
from kubectl_koord.engine.fit.numa.terms import MILLI, NOTHING_KNOWN, Terms, Wants, settings_of, settled, wants_of
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import Reason
from kubectl_koord.engine.reasons.prefilter import FractionalBinding, UnreadableAnnotation
from kubectl_koord.engine.view import View
from kubectl_koord.model.pods import PendingPod, PodRequirements


class Settings(ByClass, Struct, frozen=True):
    """The filter: the trigger and the node alone count."""

    depends_on: ClassVar[DependsOn] = "node"
    wants: Wants

    def reject(self, _pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the policies differ, or the node binds CPUs and the pod asks for parts of one."""
        found = settled(state.node.numa or NOTHING_KNOWN, self.wants)
        return None if isinstance(found, Terms) else found

    def classes(self, view: View, _pod: PendingPod) -> Collection[NodeSet]:
        """Return all nodes in classes."""
        return classes(view, settings_of).values()


def prepare(trigger: PendingPod, cluster: Cluster) -> Settings | FractionalBinding | UnreadableAnnotation | None:
    """Return the filter, or why the scheduler asks no node (`PreFilter` in plugins/nodenumaresource/plugin.go)."""
    wants = wants_of(trigger.requirements, cluster.view.snapshot.config.numa)
    if wants.numa.unreadable:
        return UnreadableAnnotation(wants.numa.unreadable)
    if wants.bind_policy and wants.cpu % MILLI:
        return FractionalBinding(wants.cpu)
    if not wants.requests or not (wants.numa.policy or cluster.view.snapshot.numa_settings):
        return None
    return Settings(wants)
