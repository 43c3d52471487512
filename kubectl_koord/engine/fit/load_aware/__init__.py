"""LoadAwareScheduling: nodes whose measured usage, with the pod's estimate added, is above a threshold.

Mirrors pkg/scheduler/plugins/loadaware. Its cache holds the pods that are bound or have been placed: members that
are only put on a node to count slots add nothing, and victims that preemption takes away on trial stay in it.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import compress
from typing import ClassVar

from msgspec import Struct

from kubectl_koord.engine.columns import NodeSet, classes, first_of, nodes_of, selector, set_of, singles
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.load_aware.limits import (
    MOST_INCOMING,
    Limits,
    by_limit,
    is_set,
    most_used,
    percent_of,
    total_of,
)
from kubectl_koord.engine.fit.load_aware.use import estimate
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.numbers import at_least
from kubectl_koord.engine.reasons.nodes import (
    MetricExpired,
    Overloaded,
    Reason,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.load import AggregatedThresholds, LoadSettings, Thresholds
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised

__all__ = ["LoadAware", "estimate", "prepare"]


class LoadAware(Stateless, Struct, frozen=True):
    """The filter: the plugin's arguments, the moment, and what is added for a member.

    `incoming` is the estimate that the round began with, which upstream keeps for all of its members. `tells_prod` is
    whether prod pods have thresholds of their own on any node.
    """

    depends_on: ClassVar[DependsOn] = "books"
    settings: LoadSettings
    moment: str
    incoming: Resources
    tells_prod: bool = True

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the estimate would lift the node's usage above a threshold (`Filter`)."""
        metric = state.node.metric
        if metric is None or pod.requirements.of_daemon_set:
            return None
        limits = self._limits(pod)
        measure, percent = limits.held_against(metric.thresholds)
        if not is_set(percent):
            return None
        if self.settings.filters_expired and limits.is_expired(metric):
            return None if self.settings.passes_expired else MetricExpired(metric.updated)
        if metric.used is None:
            return None
        for resource, threshold in percent:
            total = total_of(state.node, metric, resource)
            expected = limits.held(state, measure, resource) + self._incoming(resource)
            rounded = percent_of(expected, total) if total > 0 else 0
            if threshold and total > 0 and rounded > threshold:
                return Overloaded(resource, rounded, threshold, aggregated=isinstance(measure, AggregatedThresholds))
        return None

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod."""
        if pod.requirements.of_daemon_set:
            return 0
        limits, passing = self._limits(pod), among
        for resource in _limited(view.snapshot):
            passing &= ~self._above(view, passing, limits, resource)
        return among & ~passing

    def alike(self, view: View, pod: PendingPod, refused: NodeSet) -> Iterable[NodeSet]:
        """Return the set by how many percent of what would be used, or by when metrics were updated that expired."""
        limits = self._limits(pod)
        for nodes in classes(view, _own_thresholds).values():
            left = nodes & refused
            own = _own_thresholds(view.node(first_of(view, nodes)))
            for resource, _ in limits.held_against(own)[1]:
                above = self._above(view, left, limits, resource)
                yield from self._by_share(view, above, limits, resource)
                left &= ~above

    def _above(self, view: View, among: NodeSet, limits: Limits, resource: str) -> NodeSet:
        """Return the nodes of a set that the pod would lift above the threshold of a resource."""
        return among & ~at_least(view, among, self._incoming(resource), MOST_INCOMING, limits, resource)

    def _by_share(self, view: View, above: NodeSet, limits: Limits, resource: str) -> Iterator[NodeSet]:
        """Yield nodes above the threshold of a resource in parts by the share of it that would be used."""
        for limit, alike in by_limit(view, limits, resource).items():
            left = above & alike
            if isinstance(limit, int):
                yield from _by_update(view, left)
                continue
            measure, most, total = limit
            room = most + self._incoming(resource)
            while left:
                first = next(singles(left))
                used = limits.held(view.state(first_of(view, first)), measure, resource) + self._incoming(resource)
                share = percent_of(used, total)
                upper, lower = (room - most_used(percent, total) for percent in (share, share - 1))
                same = at_least(view, left, upper, MOST_INCOMING, limits, resource)
                same &= ~at_least(view, same, lower, MOST_INCOMING, limits, resource)
                yield same | first
                left &= ~(same | first)

    def _limits(self, pod: PendingPod) -> Limits:
        return Limits(self.settings, self.moment, self.tells_prod and pod.requirements.is_prod)

    def _incoming(self, resource: str) -> int:
        return dict(self.incoming).get(resource, 0)


def _own_thresholds(node: Node) -> Thresholds:
    return Thresholds() if node.metric is None else node.metric.thresholds


def _by_update(view: View, nodes: NodeSet) -> Iterator[NodeSet]:
    """Yield nodes in parts by when their metrics were updated."""
    parts: dict[str, list[int]] = defaultdict(list)
    for position, node in compress(enumerate(nodes_of(view)), selector(view, nodes)):
        parts[node.metric.updated if node.metric else ""].append(position)
    return (set_of(view, held) for held in parts.values())


def prepare(trigger: PendingPod, cluster: Cluster) -> LoadAware | None:
    """Return the filter; None where no node is measured, or none against a threshold."""
    snapshot = cluster.view.snapshot
    settings = snapshot.config.load
    if not _limited(snapshot):
        return None
    first = cluster.first or trigger
    incoming = estimate(first.requirements.expected, settings)
    tells_prod = any(is_set(one.prod) for one in _thresholds(snapshot))
    return LoadAware(settings, snapshot.moment, incoming, tells_prod)


@memoised
def _limited(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the resources of which any node is measured against a threshold."""
    return tuple(sorted({resource for one in _thresholds(snapshot) for resource in _resources(one)}))


@memoised
def _thresholds(snapshot: Snapshot) -> Collection[Thresholds]:
    """Return the thresholds that nodes are measured against, each once."""
    own = {node.metric.thresholds for node in snapshot.nodes.values() if node.metric is not None}
    return [one.over(snapshot.config.load.thresholds) for one in own]


def _resources(thresholds: Thresholds) -> Iterable[str]:
    aggregated = thresholds.aggregated
    groups = (thresholds.whole, thresholds.prod, aggregated.percent if aggregated else ())
    return (resource for group in groups for resource, threshold in group if threshold)
