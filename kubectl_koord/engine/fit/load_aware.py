"""LoadAwareScheduling: nodes whose measured usage, with the pod's estimate added, is above a threshold.

Mirrors pkg/scheduler/plugins/loadaware. Its cache holds the pods that are bound or have been placed: members that
are only put on a node to count slots add nothing, and victims that preemption takes away on trial stay in it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct, structs

from kubectl_koord.engine.columns import NodeSet, at_least
from kubectl_koord.engine.fit.check import Cluster, DependsOn, Stateless
from kubectl_koord.engine.node_state import NodeState
from kubectl_koord.engine.reasons.nodes import (
    MetricExpired,
    Overloaded,
    Reason,
)
from kubectl_koord.engine.view import View
from kubectl_koord.model.load import (
    AggregatedThresholds,
    ExpectedUse,
    LoadSettings,
    NodeMetric,
    Percentages,
    PodUsage,
    Thresholds,
)
from kubectl_koord.model.pods import PendingPod, PodRequirements, Resources, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values.memo import memoised

_Sums: TypeAlias = dict[str, int]
_ANY = 1 << 62
_Measure: TypeAlias = Literal["whole", "prod"] | AggregatedThresholds
"""What is held against thresholds: usage of the whole node, of its prod pods, or of the node over a time."""


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
            total = _total(state, metric, resource)
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
            passing = at_least(view, passing, amount, _most_incoming, every, pod.requirements.is_prod, resource)
        return among & ~passing

    def most_incoming(self, state: NodeState, resource: str, *, is_prod: bool) -> int:
        """Return how much of a resource one more pod may be expected to use, less than nothing for no pod at all."""
        metric = state.node.metric
        thresholds = None if metric is None else metric.thresholds.over(self.settings.thresholds)
        measure, percent = (None, ()) if thresholds is None else _measure(thresholds, is_prod=is_prod)
        if metric is None or measure is None or not _is_set(percent):
            return _ANY
        threshold = dict(percent).get(resource, 0)
        expired = self.settings.filters_expired and self._is_expired(metric)
        total = _total(state, metric, resource)
        if expired or metric.used is None or threshold <= 0 or total <= 0:
            return -1 if expired and not self.settings.passes_expired else _ANY
        return _most_used(threshold, total) - self._held(state, measure, resource)

    def _held(self, state: NodeState, measure: _Measure, resource: str) -> int:
        """Return what is used, and what is expected of members that were placed there."""
        used = state.assigned(_expected_use, self.settings, measure)
        placed = state.booked(_of_placed, self.settings.factors)["prod" if measure == "prod" else "whole"]
        return used.get(resource, 0) + placed.get(resource, 0)

    def _is_expired(self, metric: NodeMetric) -> bool:
        """Tell whether the metric is too old (`isNodeMetricExpired`)."""
        updated, now = _time(metric.updated), _time(self.moment)
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


def _total(state: NodeState, metric: NodeMetric, resource: str) -> int:
    return dict(metric.raw_allocatable).get(resource) or dict(state.node.allocatable).get(resource, 0)


def _most_incoming(state: NodeState, check: LoadAware, is_prod: bool, resource: str) -> int:  # noqa: FBT001 - of a column
    return check.most_incoming(state, resource, is_prod=is_prod)


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


@lru_cache(maxsize=1 << 12)
def estimate(expected: tuple[ExpectedUse, ...], factors: Percentages) -> Resources:
    """Return what a pod is expected to use: a percentage of what it asks for, its limit at most."""
    percent = dict(factors)
    return tuple((one.resource, _estimated(one, percent[one.resource])) for one in expected)


def _estimated(one: ExpectedUse, factor: int) -> int:
    if not one.amount:
        return one.least
    scaled = (one.amount * factor + 50) // 100
    return min(scaled, one.limit) if one.limit else scaled


def _measure(thresholds: Thresholds, *, is_prod: bool) -> tuple[_Measure, Percentages]:
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


def _expected_use(state: NodeState, settings: LoadSettings, measure: _Measure) -> Mapping[str, int]:
    """Return what a node uses, with what is expected of pods that the measuring missed; it has a metric.

    Mirrors `GetNodeMetricAndEstimatedOfExisting` in plugins/loadaware/pod_assign_cache.go.
    """
    metric = state.node.metric or NodeMetric(None)
    pods = [pod for pod in state.held if isinstance(pod, RunningPod)]
    reported = {(one.namespace, one.name): one for one in metric.pods}
    new = _New(metric, settings)
    if measure == "prod":
        return _of_prod(metric, settings, pods, reported, new)
    base = metric.used if measure == "whole" else metric.used_over_time(measure)
    used = dict(base or ())
    for pod in pods:
        known = reported.get((pod.namespace, pod.name))
        if base is None:  # nothing was measured over that time: all that is expected counts
            _add(used, estimate(pod.requirements.expected, settings.factors))
        elif known is None or new.is_new(pod):
            _add_above(used, pod, known, settings)
    return used


def _of_prod(
    metric: NodeMetric,
    settings: LoadSettings,
    pods: Iterable[RunningPod],
    reported: Mapping[tuple[str, str], PodUsage],
    new: "_New",
) -> Mapping[str, int]:
    """Return the same for prod pods alone: usage counts of those that were reported as such, too."""
    used = dict(metric.system) if settings.prod_includes_system else {}
    for pod in pods:
        if not pod.requirements.is_prod:
            continue
        known = reported.get((pod.namespace, pod.name))
        if known is not None and known.is_prod:
            _add(used, known.used)
            if new.is_new(pod):
                _add_above(used, pod, known, settings)
        else:
            _add_above(used, pod, None, settings)
    return used


class _New:
    """Which pods are too new for what was measured of them; all of them where it is not told when that was."""

    def __init__(self, metric: NodeMetric, settings: LoadSettings) -> None:
        self._updated = _time(metric.updated)
        missed = _before(self._updated, metric.interval)
        expected = _before(self._updated, settings.after_scheduled) if settings.after_scheduled > 0 else None
        self._since = min((since for since in (missed, expected) if since is not None), default=None)

    def is_new(self, pod: RunningPod) -> bool:
        scheduled = _time(pod.scheduled)
        if self._updated is None or scheduled is None:  # the scheduler takes the time when it first saw the pod
            return True
        return self._since is not None and self._since < scheduled


def _before(moment: datetime | None, seconds: int) -> datetime | None:
    try:
        return None if moment is None else moment - timedelta(seconds=seconds)
    except OverflowError:
        return None


def _time(written: str) -> datetime | None:
    """Return an RFC 3339 time, None where it is none."""
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _add(used: _Sums, more: Resources) -> None:
    for resource, amount in more:
        used[resource] = used.get(resource, 0) + amount


def _add_above(used: _Sums, pod: RunningPod, known: PodUsage | None, settings: LoadSettings) -> None:
    """Add what a pod is expected to use above what was measured of it."""
    measured = dict(known.used) if known is not None else {}
    expected = estimate(pod.requirements.expected, settings.factors)
    _add(used, tuple((resource, max(0, amount - measured.get(resource, 0))) for resource, amount in expected))


def _of_placed(state: NodeState, factors: Percentages) -> Mapping[str, Mapping[str, int]]:
    """Return what is expected of the members that were placed on a node: `whole`, and of prod pods alone."""
    found: dict[str, _Sums] = {"whole": {}, "prod": {}}
    for pod in state.occupants:
        if isinstance(pod, PendingPod) and pod.allocations is not None:
            expected = estimate(pod.requirements.expected, factors)
            _add(found["whole"], expected)
            if pod.requirements.is_prod:
                _add(found["prod"], expected)
    return found
