"""LoadAwareScheduling: nodes whose measured usage, with the pod's estimate added, is above a threshold.

Mirrors pkg/scheduler/plugins/loadaware. Its cache holds the pods that are bound or have been placed: members that
are only put on a node to count slots add nothing, and victims that preemption takes away on trial stay in it.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, base_with_most, every_node, nodes_of, of_nodes, patched, position_of
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.fit.load_aware.use import (
    Measure,
    estimate,
    expected_above,
    expected_on,
    measured,
    of_placed,
    time_of,
)
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.numbers import Number, at_least, numbers_of
from kubectl_koord.engine.occupants import placed_members
from kubectl_koord.engine.reasons.nodes import (
    MetricExpired,
    Overloaded,
    Reason,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.load import (
    AggregatedThresholds,
    LoadSettings,
    NodeMetric,
    Percentages,
    Thresholds,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised

__all__ = ["LoadAware", "estimate", "prepare"]

Limit: TypeAlias = tuple[Measure, int] | int
"""By which measure a node is limited, and how much it may use; a number where it takes any pod (`_ANY`), or none."""
_ANY = 1 << 62


class LoadAware(Stateless, Struct, frozen=True):
    """The filter: the plugin's arguments, the moment, and what is added for a member.

    `incoming` is the estimate that the round began with, which upstream keeps for all of its members.
    """

    depends_on: ClassVar[DependsOn] = "books"
    settings: LoadSettings
    moment: str
    incoming: Resources

    def reject(self, pod: PendingPod, state: NodeState, _trigger: PodRequirements) -> Reason | None:
        """Return a reason when the estimate would lift the node's usage above a threshold (`Filter`)."""
        metric = state.node.metric
        if metric is None or pod.requirements.of_daemon_set:
            return None
        thresholds = metric.thresholds.over(self.settings.thresholds)
        measure, percent = _measure(thresholds, is_prod=pod.requirements.is_prod)
        if not _is_set(percent):
            return None
        if self.settings.filters_expired and self._is_expired(metric):
            return None if self.settings.passes_expired else MetricExpired(metric.updated)
        if metric.used is None:
            return None
        for resource, threshold in percent:
            total = _total(state.node, metric, resource)
            expected = self._held(state, measure, resource) + dict(self.incoming).get(resource, 0)
            rounded = _percent(expected, total) if total > 0 else 0
            if threshold > 0 and rounded > threshold:
                return Overloaded(resource, rounded, threshold, aggregated=isinstance(measure, AggregatedThresholds))
        return None

    def refused(self, view: View, pod: PendingPod, among: NodeSet) -> NodeSet:
        """Return the nodes of a set that refuse the pod."""
        if pod.requirements.of_daemon_set:
            return 0
        incoming = dict(self.incoming)
        every = structs.replace(self, incoming=())
        passing = among
        for resource in _limited(view.snapshot):
            amount = incoming.get(resource, 0)
            passing = at_least(view, passing, amount, MOST_INCOMING, every, pod.requirements.is_prod, resource)
        return among & ~passing

    def most_incoming(self, state: NodeState, resource: str, *, is_prod: bool) -> int:
        """Return how much of a resource one more pod may be expected to use, less than nothing for no pod at all."""
        limit = self.limit(state.node, resource, is_prod=is_prod)
        return limit if isinstance(limit, int) else limit[1] - self._held(state, limit[0], resource)

    def most_everywhere(self, view: View, resource: str, *, is_prod: bool) -> Sequence[int]:
        """Return the same of all nodes."""
        trial, placed = view.trial(), placed_members(view)
        if trial is not None:  # who is taken away stays in the cache
            found = list(numbers_of(trial[0], every_node(view), MOST_INCOMING, self, is_prod, resource))
            placed = placed_members(trial[0])
        else:
            found = self._most_of_held(view, resource, is_prod=is_prod)
        known = position_of(view)
        for name in placed:
            found[known[name]] = self.most_incoming(view.state(name), resource, is_prod=is_prod)
        return found

    def _most_of_held(self, view: View, resource: str, *, is_prod: bool) -> list[int]:
        limits, known = _limits(view, self, is_prod, resource), position_of(view)
        found = list(_spare(view, self, is_prod, resource))
        for measure in {limit[0] for limit in set(limits) if not isinstance(limit, int)}:
            for name, used in expected_above(view, self.settings, measure).items():
                limit = limits[known[name]]
                if not isinstance(limit, int) and limit[0] == measure:
                    found[known[name]] = limit[1] - used.get(resource, 0)
        return found

    def limit(self, node: Node, resource: str, *, is_prod: bool) -> Limit:
        """Return how a node is limited."""
        metric = node.metric
        thresholds = None if metric is None else metric.thresholds.over(self.settings.thresholds)
        measure, percent = (None, ()) if thresholds is None else _measure(thresholds, is_prod=is_prod)
        if metric is None or measure is None or not _is_set(percent):
            return _ANY
        threshold = dict(percent).get(resource, 0)
        expired = self.settings.filters_expired and self._is_expired(metric)
        total = _total(node, metric, resource)
        if expired or metric.used is None or threshold <= 0 or total <= 0:
            return -1 if expired and not self.settings.passes_expired else _ANY
        return measure, _most_used(threshold, total)

    def _held(self, state: NodeState, measure: Measure, resource: str) -> int:
        """Return what is used, and what is expected of members that were placed there."""
        used = state.assigned(expected_on, self.settings, measure)
        placed = state.booked(of_placed, self.settings.factors)["prod" if measure == "prod" else "whole"]
        return used.get(resource, 0) + placed.get(resource, 0)

    def _is_expired(self, metric: NodeMetric) -> bool:
        """Tell whether the metric is too old (`isNodeMetricExpired`)."""
        updated, now = time_of(metric.updated), time_of(self.moment)
        if updated is None or now is None:
            return True
        return self.settings.expiration > 0 and (now - updated).total_seconds() >= self.settings.expiration


def _percent(used: int, total: int) -> int:
    """Return how many percent of the total are used, rounded as floating point numbers are (`filterNodeUsage`)."""
    share = used / total * 100
    return int(share) + (share - int(share) >= 0.5)  # noqa: PLR2004


def _most_used(percent: int, total: int) -> int:
    """Return the largest amount that is no more than so many percent of a total."""
    most = (total * (2 * percent + 1) - 1) // 200
    return most + (_percent(most + 1, total) <= percent)


def _total(node: Node, metric: NodeMetric, resource: str) -> int:
    return dict(metric.raw_allocatable).get(resource) or dict(node.allocatable).get(resource, 0)


def _most_incoming(state: NodeState, check: LoadAware, is_prod: bool, resource: str) -> int:  # noqa: FBT001 - of a column
    return check.most_incoming(state, resource, is_prod=is_prod)


def _most_everywhere(view: View, check: LoadAware, is_prod: bool, resource: str) -> Sequence[int]:  # noqa: FBT001 - ditto
    return check.most_everywhere(view, resource, is_prod=is_prod)


@of_nodes
def _limits(view: View, check: LoadAware, is_prod: bool, resource: str) -> Sequence[Limit]:  # noqa: FBT001 - ditto
    """Return how nodes are limited, by position; found once for those that are alike in it."""
    base = base_with_most(view)
    if base is not None:
        before = _limits(base, check, is_prod, resource)
        return patched(view, before, lambda name: check.limit(view.node(name), resource, is_prod=is_prod))
    known: dict[tuple[object, ...], Limit] = {}
    found: list[Limit] = []
    for node in nodes_of(view):
        metric = node.metric
        if metric is None:
            found.append(_ANY)
            continue
        updated = metric.updated if check.settings.filters_expired else ""
        alike = (id(metric.thresholds), id(node.allocatable), metric.raw_allocatable, metric.used is None, updated)
        if alike not in known:
            known[alike] = check.limit(node, resource, is_prod=is_prod)
        found.append(known[alike])
    return found


@of_nodes
def _spare(view: View, check: LoadAware, is_prod: bool, resource: str) -> Sequence[int]:  # noqa: FBT001 - ditto
    """Return how much more nodes may use than was measured of them, by position."""
    base, limits, known = base_with_most(view), _limits(view, check, is_prod, resource), position_of(view)
    if base is None:
        return [_left(limit, node, resource) for limit, node in zip(limits, nodes_of(view), strict=True)]
    before = _spare(base, check, is_prod, resource)
    return patched(view, before, lambda name: _left(limits[known[name]], view.node(name), resource))


def _left(limit: Limit, node: Node, resource: str) -> int:
    if isinstance(limit, int):
        return limit
    measure, most = limit
    return most - dict(measured(node.metric or NodeMetric(None), measure) or ()).get(resource, 0)


MOST_INCOMING = Number(_most_incoming, _most_everywhere)


def prepare(trigger: PendingPod, cluster: Cluster) -> LoadAware | None:
    """Return the filter; None where no node is measured, or none against a threshold."""
    snapshot = cluster.view.snapshot
    settings = snapshot.config.load
    if not _limited(snapshot):
        return None
    first = cluster.first or trigger
    return LoadAware(settings, snapshot.moment, estimate(first.requirements.expected, settings.factors))


@memoised
def _limited(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the resources of which any node is measured against a threshold."""
    configured = snapshot.config.load.thresholds
    own = {node.metric.thresholds for node in snapshot.nodes.values() if node.metric is not None}
    return tuple(sorted({resource for one in own for resource in _resources(one.over(configured))}))


def _resources(thresholds: Thresholds) -> Iterable[str]:
    aggregated = thresholds.aggregated
    groups = (thresholds.whole, thresholds.prod, aggregated.percent if aggregated else ())
    return (resource for group in groups for resource, threshold in group if threshold)


def _measure(thresholds: Thresholds, *, is_prod: bool) -> tuple[Measure, Percentages]:
    """Return which group of thresholds a pod is held against: the first of prod, aggregated and whole that is set.

    Aggregated ones count even where all of them are switched off.
    """
    if is_prod and _is_set(thresholds.prod):
        return "prod", thresholds.prod
    if thresholds.aggregated is not None:
        return thresholds.aggregated, thresholds.aggregated.percent
    return "whole", thresholds.whole


def _is_set(percent: Percentages) -> bool:
    return any(threshold for _, threshold in percent)
