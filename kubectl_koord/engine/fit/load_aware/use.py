"""What a node is expected to use: what was measured, and what is expected of pods that this missed."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import compress
from operator import attrgetter
from typing import Literal, TypeAlias

from msgspec import Struct, field

from kubectl_koord.engine.columns import NodeSet, held_of, nodes_of, selector
from kubectl_koord.engine.node_state import NodeState, Occupant
from kubectl_koord.engine.view import View
from kubectl_koord.model.load import (
    AggregatedThresholds,
    EstimatedTime,
    ExpectedUse,
    LoadSettings,
    NodeMetric,
    PodUsage,
    PodUsages,
)
from kubectl_koord.model.pods import NodePods, PendingPod, Resources, RunningPod
from kubectl_koord.model.values.memo import memoised

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


class _Above(Struct):
    """The nodes that were looked at, and by name what is expected of those of which it is not what was measured."""

    nodes: NodeSet = 0
    use: dict[str, Mapping[str, int]] = field(default_factory=dict)


@memoised
def _above(_view: View, _settings: LoadSettings, _measure: Measure) -> _Above:
    return _Above()


def expected_above(
    view: View, nodes: NodeSet, settings: LoadSettings, measure: Measure
) -> Mapping[str, Mapping[str, int]]:
    """Return the same by name, of all nodes of a set, and maybe others, of which it is not just what was measured.

    Nodes without a metric are left out.
    """
    known = _above(view, settings, measure)
    asked = selector(view, nodes & ~known.nodes)
    for node, held in zip(compress(nodes_of(view), asked), compress(held_of(view), asked), strict=True):
        metric = node.metric
        if metric is not None and not _is_measured(metric, held, settings, measure):
            known.use[node.name] = _expected_use(metric, held, settings, measure)
    known.nodes |= nodes
    return known.use


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
    found: dict[str, _Sums] = {"whole": {}, "prod": {}}
    for pod in state.occupants:
        if isinstance(pod, PendingPod) and pod.allocations is not None:
            expected = estimate(pod.requirements.expected, settings)
            _add(found["whole"], expected)
            if pod.requirements.is_prod:
                _add(found["prod"], expected)
    return found
