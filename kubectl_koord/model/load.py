"""What LoadAwareScheduling goes by: what was measured of a node, and the thresholds that are set for it."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from kubectl_koord.model.values import Packed, Resources, packed

Percentages: TypeAlias = tuple[tuple[str, int], ...]


class AggregatedThresholds(Struct, frozen=True, gc=False):
    """Thresholds for usage over a time: of which kind (`avg`, `p95`, ...), over how many seconds (0: the longest)."""

    percent: Percentages
    type: str
    seconds: float = 0


class Thresholds(Struct, frozen=True, gc=False):
    """The three groups of thresholds: for the whole node, for its prod pods, for its usage over a time."""

    whole: Percentages = ()
    prod: Percentages = ()
    aggregated: AggregatedThresholds | None = None

    def over(self, configured: "Thresholds") -> "Thresholds":
        """Return a node's own thresholds over the configured ones: each group that it names replaces one.

        Mirrors `generateUsageThresholdsFilterProfile` in plugins/loadaware/helper.go.
        """
        return Thresholds(
            self.whole or configured.whole,
            self.prod or configured.prod,
            self.aggregated or configured.aggregated,
        )


class LoadSettings(Struct, frozen=True, gc=False, cache_hash=True):
    """LoadAwareScheduling's arguments; the defaults are those of the Helm chart.

    `factors` are the percentages of requests that pods are expected to use; `expiration` in seconds, how old a
    NodeMetric may be, where `filters_expired`; `after_scheduled` in seconds, for how long a pod counts as new, and
    `after_initialized` the same in place of it once its init containers have run. `customizable` is whether pods may
    set factors and times themselves; `limits_others` whether thresholds name resources besides CPU and memory.
    """

    thresholds: Thresholds = Thresholds(whole=(("cpu", 65), ("memory", 95)))
    factors: Percentages = (("cpu", 85), ("memory", 70))
    filters_expired: bool = False
    expiration: int = 300
    passes_expired: bool = False
    after_scheduled: int = 0
    prod_includes_system: bool = False
    after_initialized: int = 0
    customizable: bool = False
    limits_others: bool = False


class ExpectedUse(Struct, frozen=True, gc=False, cache_hash=True):
    """What estimates of a pod's usage of one resource are made of.

    `amount` is the larger of its request and limit (0 for neither), `limit` 0 where it has none, and `least` what a
    pod that asks for nothing is expected to use. `factor` is the percentage that the pod sets itself, None for none;
    `asked_as` what its priority class calls the resource where it asks for it, empty where that is no other name.
    """

    resource: str
    amount: int
    limit: int = 0
    least: int = 0
    factor: int | None = None
    asked_as: str = ""

    @property
    def requested(self) -> str:
        """The resource that the pod requests."""
        return self.asked_as or self.resource


class EstimatedTime(Struct, frozen=True, gc=False):
    """For how long a pod says that its estimate counts, in seconds: 0 for no time, None for what is configured.

    `after_initialized` counts in place of `after_scheduled` once its init containers have run.
    """

    after_scheduled: int | None = None
    after_initialized: int | None = None


class PodUsage(Struct, frozen=True, gc=False):
    """What was measured of one pod, and whether the node reported it as a prod pod."""

    namespace: str
    name: str
    used: Resources
    is_prod: bool = False


class UsageOverTime(Struct, frozen=True, gc=False):
    """What a node used over so many seconds, in the sense of a type: `avg`, `p95`, ..."""

    type: str
    seconds: float
    used: Resources


class PackedAmounts(Packed, frozen=True, gc=False):
    """Amounts of resources for each of several things: as many numbers as resources, 0 for what is missing."""

    resources: tuple[str, ...]

    def __iter__(self) -> Iterator[Resources]:
        columns = [iter(_numbers(self.content))] * len(self.resources)
        for numbers in zip(*columns, strict=True):
            yield tuple([pair for pair in zip(self.resources, numbers, strict=True) if pair[1]])


class PodUsages(Packed, frozen=True, gc=False):
    """What was measured of the pods of a node: their names, their namespaces, which are prod, and amounts."""

    used: PackedAmounts

    def namespaces(self) -> dict[str, str]:
        """Return the namespaces of the pods by name, without what was measured of them: that is less to read."""
        found = _measured_pods(self.content)
        return dict(zip(found.names, found.namespaces, strict=True))

    def __iter__(self) -> Iterator[PodUsage]:
        found = _measured_pods(self.content)
        return map(PodUsage, found.namespaces, found.names, self.used, found.prod)


class _MeasuredPods(Struct, frozen=True, gc=False, array_like=True):
    """The lists of `PodUsages`."""

    names: list[str]
    namespaces: list[str]
    prod: list[bool]


class UsagesOverTime(Struct, frozen=True, gc=False):
    """What a node used over several times, each of a type and so many seconds."""

    times: tuple[tuple[str, float], ...]
    used: PackedAmounts

    def __iter__(self) -> Iterator[UsageOverTime]:
        for (kind, seconds), used in zip(self.times, self.used, strict=True):
            yield UsageOverTime(kind, seconds, used)


_encode = msgspec.msgpack.Encoder().encode
_numbers = msgspec.msgpack.Decoder(list[int]).decode
_measured_pods = msgspec.msgpack.Decoder(_MeasuredPods).decode


def packed_amounts(resources: tuple[str, ...], numbers: Iterable[int]) -> PackedAmounts | None:
    """Return amounts as bytes, None where one of them is too large for that."""
    content = packed(numbers)
    return None if content is None else PackedAmounts(content, resources)


def measured_pods(names: list[str], namespaces: list[str], prod: list[bool], used: PackedAmounts) -> PodUsages:
    """Return what was measured of pods; of each its name, its namespace, and whether it was reported as a prod pod."""
    return PodUsages(_encode(_MeasuredPods(names, namespaces, prod)), used)


def pod_usages(usages: Iterable[PodUsage]) -> tuple[PodUsage, ...] | PodUsages:
    """Return what was measured of pods, as bytes if it can be: few nodes are asked for it."""
    found = tuple(usages)
    used = _together([one.used for one in found])
    if used is None:
        return found
    names, namespaces = [one.name for one in found], [one.namespace for one in found]
    return measured_pods(names, namespaces, [one.is_prod for one in found], used)


def usages_over_time(usages: Iterable[UsageOverTime]) -> tuple[UsageOverTime, ...] | UsagesOverTime:
    """Return usages over time, as bytes if it can be: they count where aggregated thresholds are set."""
    found = tuple(usages)
    used = _together([one.used for one in found])
    return UsagesOverTime(tuple([(one.type, one.seconds) for one in found]), used) if used else found


def _together(amounts: Sequence[Resources]) -> PackedAmounts | None:
    """Return amounts as bytes, None where there are none, or one of them is too large for that."""
    resources = tuple(sorted({resource for some in amounts for resource, _ in some}))
    numbers = [dict(some).get(resource, 0) for some in amounts for resource in resources]
    return packed_amounts(resources, numbers) if numbers else None


class NodeMetric(Struct, frozen=True, gc=False):
    """What was measured of a node, as it was written; what follows from it is computed by LoadAwareScheduling's filter.

    `used` is None where there is only the object, without a measurement. `updated` is RFC 3339, as written;
    `interval` in seconds, how often the node reports. `thresholds` are the node's own, a group of them empty where
    the scheduler's configuration counts; `raw_allocatable` is what the node really has where its `allocatable`
    is amplified.
    """

    used: Resources | None
    updated: str = ""
    interval: int = 60
    pods: tuple[PodUsage, ...] | PodUsages = ()
    system: Resources = ()
    over_time: tuple[UsageOverTime, ...] | UsagesOverTime = ()
    thresholds: Thresholds = Thresholds()
    raw_allocatable: Resources = ()

    def used_over_time(self, wanted: AggregatedThresholds) -> Resources | None:
        """Return the usage that aggregated thresholds are held against, None where that was not measured.

        Where no time is wanted, it is the longest of which something was measured, or else usage as it is now.
        Mirrors `getTargetAggregatedUsage` in plugins/loadaware/pod_assign_cache.go.
        """
        known = {one.seconds: one.used for one in self.over_time if one.type == wanted.type}
        if wanted.seconds:
            return known.get(wanted.seconds)
        return known[max(known)] if known else self.used
