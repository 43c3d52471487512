"""LoadAwareScheduling: what a node is expected to use, and the thresholds that it must stay below."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache, partial
from itertools import compress, repeat
from operator import attrgetter
from typing import ClassVar, Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.engine.filters.base import Cluster, DependsOn, Filter
from kubectl_koord.engine.reasons import MetricExpired, Overloaded, Reason
from kubectl_koord.engine.reservations import placed_members
from kubectl_koord.engine.state import NodeState, Occupant, View
from kubectl_koord.engine.table import (
    NodeSet,
    Number,
    at_least,
    base_with_most,
    every_node,
    first_of,
    grouped,
    held_of,
    in_classes,
    nodes_of,
    numbers_of,
    of_nodes,
    patched,
    position_of,
    selector,
    set_of,
    singles,
    split,
)
from kubectl_koord.model.load import (
    AggregatedThresholds,
    EstimatedTime,
    ExpectedUse,
    LoadSettings,
    NodeMetric,
    Percentages,
    PodUsage,
    PodUsages,
    Thresholds,
)
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import NodePods, PendingPod, PodRequirements, RunningPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.model.values import Resources, memoised

_SCHEDULED = attrgetter("scheduled")
_HALF = 1 << 63
_Sums: TypeAlias = dict[str, int]
Measure: TypeAlias = Literal["whole", "prod"] | AggregatedThresholds
"""What is held against thresholds: usage of the whole node, of its prod pods, or of the node over a time."""


@lru_cache(maxsize=1 << 12)
def estimate(expected: tuple[ExpectedUse, ...], settings: LoadSettings) -> Resources:
    """Return what a pod is expected to use: a percentage of what it asks for, its limit at most (`EstimatePod`)."""
    percent = dict(settings.factors)
    if settings.customizable:
        percent |= {one.resource: one.factor for one in expected if one.factor is not None}
    return tuple((one.resource, _estimated(one, percent[one.resource])) for one in expected)


def _estimated(one: ExpectedUse, factor: int) -> int:
    if not one.amount:
        return one.least
    scaled = _rounded(float(one.amount) * factor / 100)
    return min(scaled, one.limit) if one.limit else scaled


def _rounded(number: float) -> int:
    """Return the nearest whole number, that away from zero where two are as near (Go's `math.Round`)."""
    whole = int(number)
    return whole + (number - whole >= 0.5) - (whole - number >= 0.5)  # noqa: PLR2004


def expected_on(state: NodeState, settings: LoadSettings, measure: Measure) -> Mapping[str, int]:
    """Return what a node uses, with what is expected of pods that the measuring missed."""
    return _expected_use(state.node.metric or NodeMetric(None), state.held, settings, measure)


@memoised
def _expected_above(view: View, settings: LoadSettings, measure: Measure) -> Mapping[str, Mapping[str, int]]:
    """Return the expected use by name of those nodes with a metric where it is not just the measured one."""
    found = {}
    for node, held in zip(nodes_of(view), held_of(view), strict=True):
        metric = node.metric
        if metric is not None and not _is_measured(metric, held, settings, measure):
            found[node.name] = _expected_use(metric, held, settings, measure)
    return found


def measured(metric: NodeMetric, measure: Measure) -> Resources | None:
    """Return what a node uses as it was measured, None where it was not."""
    return metric.used_over_time(measure) if isinstance(measure, AggregatedThresholds) else metric.used


def _is_measured(metric: NodeMetric, held: tuple[Occupant, ...], settings: LoadSettings, measure: Measure) -> bool:
    """Tell whether what was measured of a node is all: every pod was, and none is new. Some that are may be missed."""
    if measure == "prod":
        return False
    if not held:
        return True
    since = _new(metric.updated, metric.interval, settings).since
    pods = held if isinstance(held, NodePods) else [pod for pod in held if isinstance(pod, RunningPod)]
    try:
        if since is None or max(map(datetime.fromisoformat, map(_SCHEDULED, pods)), default=since) > since:
            return False
    except (TypeError, ValueError):  # of times that are none, or of an open zone
        return False
    if settings.customizable and any(pod.requirements.estimated_for for pod in pods):
        return False
    reported = metric.pods
    known = reported.namespaces() if isinstance(reported, PodUsages) else {one.name: one.namespace for one in reported}
    missed = [pod for pod in pods if known.get(pod.name) != pod.namespace]
    return not missed and measured(metric, measure) is not None


def _expected_use(
    metric: NodeMetric, held: Iterable[Occupant], settings: LoadSettings, measure: Measure
) -> Mapping[str, int]:
    """Mirrors `GetNodeMetricAndEstimatedOfExisting` in plugins/loadaware/pod_assign_cache.go."""
    pods = [pod for pod in held if isinstance(pod, RunningPod)]
    reported = {(one.namespace, one.name): one for one in metric.pods}
    new = _new(metric.updated, metric.interval, settings)
    if measure == "prod":
        return _of_prod(metric, settings, pods, reported, new)
    base = measured(metric, measure)
    used = dict(base or ())
    for pod in pods:
        known = reported.get((pod.namespace, pod.name))
        if base is None:  # nothing was measured over that time: all that is expected counts
            _add(used, estimate(pod.requirements.expected, settings))
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
    """Return the expected use of prod pods alone, with the usage of those that were reported as such."""
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
    """Which pods are too new for what was measured of them; all of them where it is not told when that was.

    `since` is from when on pods are new that do not say themselves for how long they are.
    """

    def __init__(self, updated: str, interval: int, settings: LoadSettings) -> None:
        self._updated = time_of(updated)
        self._missed = _before(self._updated, interval)
        self._settings = settings
        # Since when other pods are initialized is not kept: then only what surely counts does.
        expected = None if settings.after_initialized else self._ended(settings.after_scheduled)
        self.since = min((since for since in (self._missed, expected) if since is not None), default=None)

    def is_new(self, pod: RunningPod) -> bool:
        scheduled = time_of(pod.scheduled)
        if self._updated is None or scheduled is None:  # the scheduler takes the time when it first saw the pod
            return True
        own = pod.requirements.estimated_for if self._settings.customizable else None
        if own is None:
            return _is_after(scheduled, self.since)
        return _is_after(scheduled, self._missed) or self._is_estimated(own, scheduled, pod.marks.initialized)

    def _is_estimated(self, own: EstimatedTime, scheduled: datetime, initialized: str) -> bool:
        """Tell whether a pod's own time for its estimate lasts (`shouldEstimatePodDeadline`)."""
        since = time_of(initialized) if own.after_initialized else None
        if own.after_initialized and since is not None:
            return _is_after(since, self._ended(own.after_initialized))
        if own.after_initialized is None and self._settings.after_initialized:
            return False  # as above
        configured = self._settings.after_scheduled
        return _is_after(scheduled, self._ended(configured if own.after_scheduled is None else own.after_scheduled))

    def _ended(self, seconds: int) -> datetime | None:
        """Return after when so many seconds have to begin to last until the measuring, None where they never do."""
        nanoseconds = (seconds * 10**9 + _HALF) % (2 * _HALF) - _HALF  # a time.Duration has 64 bits
        return _before(self._updated, nanoseconds // 10**9) if seconds > 0 else None


def _is_after(moment: datetime, limit: datetime | None) -> bool:
    return limit is not None and limit < moment


_new = lru_cache(maxsize=1 << 12)(_New)


def _before(moment: datetime | None, seconds: int) -> datetime | None:
    try:
        return None if moment is None else moment - timedelta(seconds=seconds)
    except OverflowError:
        return None


def time_of(written: str) -> datetime | None:
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
    expected = estimate(pod.requirements.expected, settings)
    _add(used, tuple((resource, max(0, amount - measured.get(resource, 0))) for resource, amount in expected))


def of_placed(state: NodeState, settings: LoadSettings) -> Mapping[str, Mapping[str, int]]:
    """Return what is expected of the members that were placed on a node: `whole`, and of prod pods alone."""
    placed = partial(_placed, settings)
    return state.summed((_placed, settings), partial(placed, {}, state.occupants), placed)


def _placed(settings: LoadSettings, others: Mapping[str, _Sums], pods: Iterable[Occupant]) -> Mapping[str, _Sums]:
    """Return what is expected of members beside others."""
    found = {measure: dict(others.get(measure, {})) for measure in ("whole", "prod")}
    for pod in pods:
        if isinstance(pod, PendingPod) and pod.allocations is not None:
            expected = estimate(pod.requirements.expected, settings)
            _add(found["whole"], expected)
            if pod.requirements.is_prod:
                _add(found["prod"], expected)
    return found


Limit: TypeAlias = tuple[Measure, int, int] | int
"""By which measure a node is limited, how much it may use, and of how much that is a share.

It is a number where it takes any pod (`_ANY`), or none.
"""
_ANY = 1 << 62
_NONE = -_ANY


class Limits(Struct, frozen=True):
    """The limits of nodes by the plugin's arguments, at a moment, for pods that are prod pods or are not."""

    settings: LoadSettings
    moment: str
    is_prod: bool

    def held_against(self, own: Thresholds) -> tuple[Measure, Percentages]:
        """Return which group of thresholds counts on a node: the first of prod, aggregated and whole that is set.

        Those of the node itself replace the configured ones; aggregated ones count even where all are switched off.
        """
        thresholds = own.over(self.settings.thresholds)
        if self.is_prod and is_set(thresholds.prod):
            return "prod", thresholds.prod
        if thresholds.aggregated is not None:
            return thresholds.aggregated, thresholds.aggregated.percent
        return "whole", thresholds.whole

    def of(self, node: Node, resource: str) -> Limit:
        """Return how a node is limited."""
        metric = node.metric
        if metric is None:
            return _ANY
        measure, percent = self.held_against(metric.thresholds)
        if not is_set(percent):
            return _ANY
        threshold = dict(percent).get(resource, 0)
        expired = self.settings.filters_expired and self.is_expired(metric)
        total = total_of(node, metric, resource)
        if expired or metric.used is None or not threshold or total <= 0:
            return _NONE if expired and not self.settings.passes_expired else _ANY
        return measure, most_used(threshold, total), total

    def is_expired(self, metric: NodeMetric) -> bool:
        """Tell whether the metric is too old (`isNodeMetricExpired`)."""
        updated, now = time_of(metric.updated), time_of(self.moment)
        if updated is None or now is None:
            return True
        return self.settings.expiration > 0 and (now - updated).total_seconds() >= self.settings.expiration

    def held(self, state: NodeState, measure: Measure, resource: str) -> int:
        """Return what is used, and what is expected of members that were placed there."""
        used = state.assigned(expected_on, self.settings, measure)
        placed = state.booked(of_placed, self.settings)["prod" if measure == "prod" else "whole"]
        return used.get(resource, 0) + placed.get(resource, 0)


def is_set(percent: Percentages) -> bool:
    """Tell whether any threshold of a group is."""
    return any(threshold for _, threshold in percent)


def percent_of(used: int, total: int) -> int:
    """Return how many percent of the total are used, rounded as floating point numbers are (`filterNodeUsage`)."""
    share = used / total * 100
    return int(share) + (share - int(share) >= 0.5)  # noqa: PLR2004


def most_used(percent: int, total: int) -> int:
    """Return the largest amount that is no more than so many percent of a total."""
    most = (total * (2 * percent + 1) - 1) // 200
    return most + (percent_of(most + 1, total) <= percent)


def total_of(node: Node, metric: NodeMetric, resource: str) -> int:
    """Return how much a node has of a resource, of which thresholds are shares."""
    return dict(metric.raw_allocatable).get(resource) or dict(node.allocatable).get(resource, 0)


@of_nodes
def limits_of(view: View, limits: Limits, resource: str) -> Sequence[Limit]:
    """Return how nodes are limited, by position; found once for those that are alike in it."""
    base = base_with_most(view)
    if base is not None:
        before = limits_of(base, limits, resource)
        return patched(view, before, lambda name: limits.of(view.node(name), resource))
    known: dict[tuple[object, ...], Limit] = {}
    found: list[Limit] = []
    for node in nodes_of(view):
        metric = node.metric
        if metric is None:
            found.append(_ANY)
            continue
        updated = metric.updated if limits.settings.filters_expired else ""
        alike = (id(metric.thresholds), id(node.allocatable), metric.raw_allocatable, metric.used is None, updated)
        if alike not in known:
            known[alike] = limits.of(node, resource)
        found.append(known[alike])
    return found


@of_nodes
def by_limit(view: View, limits: Limits, resource: str) -> Mapping[Limit, NodeSet]:
    """Return the nodes by how they are limited."""
    return grouped(view, limits_of(view, limits, resource))


def _left(limit: Limit, node: Node, resource: str) -> int:
    if isinstance(limit, int):
        return limit
    measure, most, _ = limit
    return most - dict(measured(node.metric or NodeMetric(None), measure) or ()).get(resource, 0)


def _most_incoming(state: NodeState, limits: Limits, resource: str) -> int:
    """Return how much of a resource one more pod may be expected to use, less than nothing for no pod at all."""
    limit = limits.of(state.node, resource)
    return limit if isinstance(limit, int) else limit[1] - limits.held(state, limit[0], resource)


def _most_everywhere(view: View, limits: Limits, resource: str) -> Sequence[int]:
    trial, known = view.trial(), position_of(view)
    before = view if trial is None else trial[0]  # who is taken away stays in the cache
    if trial is None:
        found = _most_of_held(view, limits, resource)
    else:
        found = list(numbers_of(before, every_node(before), MOST_INCOMING, limits, resource))
    for name in placed_members(before):
        found[known[name]] = _most_incoming(view.state(name), limits, resource)
    return found


def _most_of_held(view: View, limits: Limits, resource: str) -> list[int]:
    limited = limits_of(view, limits, resource)
    found = list(map(_left, limited, nodes_of(view), repeat(resource)))
    known = position_of(view)
    for measure in {limit[0] for limit in set(limited) if not isinstance(limit, int)}:
        for name, used in _expected_above(view, limits.settings, measure).items():
            limit = limited[known[name]]
            if not isinstance(limit, int) and limit[0] == measure:
                found[known[name]] = limit[1] - used.get(resource, 0)
    return found


MOST_INCOMING = Number(_most_incoming, _most_everywhere, share=1 / 8)
"""How much one more pod may use on a node."""


__all__ = ["LoadAware", "estimate", "prepare"]


class LoadAware(Filter, Struct, frozen=True):
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

    def parts(self, view: View, pods: Sequence[PendingPod], among: NodeSet) -> Iterable[NodeSet]:
        """Return the nodes by how many percent of what would be used, or by when metrics were updated that expired."""
        limits = self._limits(pods[0])
        for nodes in in_classes(view, _own_thresholds, among):
            left = nodes
            own = _own_thresholds(view.node(first_of(view, nodes)))
            for resource, _ in limits.held_against(own)[1]:
                above = self._above(view, left, limits, resource)
                yield from self._by_share(view, above, limits, resource)
                left &= ~above
            yield from split(left)

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
