"""What `serve` tells Prometheus: one table of metrics, and the numbers of an answered reading in it.

The number of series is bounded: beyond `MOST` names of a kind, the others are summed as one that is called `other`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

from msgspec import Struct
from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector, CollectorRegistry

from kubectl_koord.model import objects, values
from kubectl_koord.model.snapshot import Gap
from kubectl_koord.render.plain import harmless
from kubectl_koord.reports.capacity import Amount, DomainRow, NodeRow, QuotaTreeReport, TopologyReport
from kubectl_koord.reports.common import WOULD_START, DomainName
from kubectl_koord.reports.jobs import PendingGangsReport, PreemptReport, WhyReport

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"
MOST: Mapping[str, int] = {"namespace": 100, "domain": 500, "quota": 200, "resource": 8}
"""So many names of a kind have series of their own, the first in the order of the answer; domains from the top."""
Kind: TypeAlias = Literal["gauge", "counter"]


class Metric(Struct, frozen=True):
    """One metric: its labels, and what its value is; counters end in `_total`."""

    labels: tuple[str, ...]
    help: str
    kind: Kind = "gauge"


_WAITING, _DOMAIN, _QUOTA = ("namespace", "cause"), ("layer", "domain"), ("quota", "resource")
METRICS: Mapping[str, Metric] = {
    "koord_up": Metric((), "1 where the newest reading was answered and the cluster is reached, else 0."),
    "koord_build_info": Metric(("version", "koordinator"), "1; the version of this program, and of Koordinator."),
    "koord_state_age_seconds": Metric((), "How long ago the cluster was as is told here."),
    "koord_reading_seconds": Metric((), "How long the last reading took."),
    "koord_computing_seconds": Metric(("part",), "How long the last answer took: state, or preemption."),
    "koord_readings_total": Metric((), "Readings in which something had changed.", "counter"),
    "koord_requests_total": Metric(("face", "code"), "Requests that were answered here.", "counter"),
    "koord_cluster_lost": Metric((), "1 where the cluster is not reached any more: the state only grows old."),
    "koord_watch_interrupted": Metric(("kind",), "1 for each kind whose watch is broken for the moment."),
    "koord_kind_unread": Metric(("kind", "reason"), "1 for each kind that was not read: what rests on it is unknown."),
    "koord_answer_complete": Metric(("answer",), "0 where something could not be read on which the answer rests."),
    "koord_names_joined": Metric(("label",), f"How many names are summed as `{OTHER}`; of resources, are left out."),
    "koord_pending_gangs": Metric(_WAITING, "Gangs and jobs with pods that wait, by cause (`kubectl koord explain`)."),
    "koord_pending_pods": Metric(_WAITING, "Pods that wait, also those without a gang."),
    "koord_pending_oldest_seconds": Metric(_WAITING, "How long the one has waited that has waited longest."),
    "koord_volcano_pending_gangs": Metric(("namespace",), "Gangs that wait for Volcano's scheduler."),
    "koord_domain_slots": Metric((*_DOMAIN, "shape"), "Pods of a shape that fit beside what runs, quotas left out."),
    "koord_shape_known": Metric(("shape",), "0 where no node has what the shape asks for, or nobody can tell."),
    "koord_domain_cards": Metric((*_DOMAIN, "resource"), "Cards of the nodes of a domain."),
    "koord_domain_free_cards": Metric((*_DOMAIN, "resource"), "Those that no pod has, on nodes that can be used."),
    "koord_domain_fragmented_cards": Metric(
        (*_DOMAIN, "resource"), "Free, on nodes of which other cards are taken: no pod that takes a whole node fits."
    ),
    "koord_domain_whole_cards": Metric(_DOMAIN, "Cards that are whole and free as Device objects say."),
    "koord_quota_min": Metric(_QUOTA, "The quota's minimum, as for all below in the resource's own unit."),
    "koord_quota_max": Metric(_QUOTA, "Its maximum."),
    "koord_quota_runtime": Metric(_QUOTA, "What it may use now."),
    "koord_quota_used": Metric(_QUOTA, "What its pods use."),
    "koord_quota_requested": Metric(_QUOTA, "What its pods ask for."),
    "koord_quota_headroom": Metric(_QUOTA, "What is left of what its pods are held against; below 0: over-used."),
    "koord_preemption_examined_gangs": Metric((), "Waiting gangs of which preemption was computed."),
    "koord_preemption_unexamined_gangs": Metric((), "Those that were left out, as there are many."),
    "koord_preemption_helped_gangs": Metric((), "Of those examined, gangs that would start by preempting."),
    "koord_preemption_broken_gangs": Metric(
        (), "Running gangs that would fall below their minimum if the examined ones preempted, each by itself."
    ),
    "koord_preemption_victim_pods": Metric((), "Pods that the examined ones would preempt, each by itself."),
}
"""All metrics, in the order in which they are exported; those of this process (`process_*`) stand below."""


class Values:
    """Values by metric and labels."""

    def __init__(self) -> None:
        self._found: dict[str, dict[tuple[str, ...], float]] = {}

    def add(self, name: str, value: float, *labels: str) -> None:
        """Add to what the series has."""
        series = self._found.setdefault(name, {})
        series[labels] = series.get(labels, 0) + value

    def most(self, name: str, value: float, *labels: str) -> None:
        """Let the series be the largest of what it is given."""
        series = self._found.setdefault(name, {})
        series[labels] = max(series.get(labels, value), value)

    def families(self) -> Iterator[Family]:
        """Yield the metrics that have values, in the order of the table."""
        for name, metric in METRICS.items():
            if series := self._found.get(name):
                made = GaugeMetricFamily if metric.kind == "gauge" else CounterMetricFamily
                family = made(name, metric.help, labels=metric.labels)
                for labels, value in series.items():
                    family.add_metric([harmless(label) for label in labels], value)
                yield family


class _Families(Collector):
    def __init__(self, families: Iterable[Family]) -> None:
        self._families = families

    def collect(self) -> Iterable[Family]:
        return self._families


_PROCESS = ProcessCollector(registry=CollectorRegistry())


def text(found: Values, *, process: bool = False) -> bytes:
    """Return values as Prometheus reads them; with `process`, also what this process takes."""
    return generate_latest(_Families([*found.families(), *(_PROCESS.collect() if process else ())]))


def _own(found: Values, label: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that have series of their own, and take note of how many have not."""
    unique = tuple(dict.fromkeys(names))
    found.add("koord_names_joined", max(0, len(unique) - MOST[label]), label)
    return frozenset(unique[: MOST[label]])


def of_pending(found: Values, report: PendingGangsReport) -> None:
    """Take who waits, by cause and namespace."""
    own = _own(
        found,
        "namespace",
        sorted(
            {_home(gang) for gang in (*(item.gang for item in report.items), *(one.gang for one in report.volcano))}
        ),
    )

    def home(key: str) -> str:
        return name if (name := _home(key)) in own else OTHER

    for item in report.items:
        labels = home(item.gang), cause_of(item)
        found.add("koord_pending_pods", len(item.pending_pods), *labels)
        if not item.lone_pod:
            found.add("koord_pending_gangs", 1, *labels)
        waited = values.between(item.waiting_since, report.basis.moment)
        if waited is not None:
            found.most("koord_pending_oldest_seconds", max(0.0, waited.total_seconds()), *labels)
    for gang in report.volcano:
        found.add("koord_volcano_pending_gangs", 1, home(gang.gang))
    found.add("koord_answer_complete", report.verdict != "unknown", "pending")


def _home(key: str) -> str:
    return key.partition("/")[0]


def cause_of(item: WhyReport) -> str:
    """Return the code of why something waits; `unknown` where nobody can tell, and no code says why."""
    if item.verdict == "yes":
        return WOULD_START
    return item.cause.code if item.cause is not None else item.verdict


_Key: TypeAlias = tuple[str, str]


def of_topology(
    found: Values, report: TopologyReport, whole: TopologyReport, shapes: Mapping[str, TopologyReport | None]
) -> None:
    """Take the room in each domain: cards, those that are whole, and slots of shapes (None where there are none)."""
    depths = {layer: depth for depth, layer in enumerate(report.layers)}
    from_top = sorted(report.domains, key=lambda row: depths.get(row.layer, -1))
    own = _own(found, "domain", (f"{row.layer}/{row.name}" for row in from_top))

    def labels(row: DomainRow) -> _Key:
        return row.layer, row.name if f"{row.layer}/{row.name}" in own else OTHER

    kept = _own(found, "resource", filter(objects.family, report.resources))
    fragmented = _fragmented(report)
    for row in report.domains:
        scattered = fragmented[row.layer, row.name]
        for resource, amount in _amounts(report.resource, row).items():
            if resource in kept:
                _cards(found, amount, scattered.get(resource, 0), (*labels(row), resource))
    for row in whole.domains:
        if row.whole is not None:
            found.add("koord_domain_whole_cards", row.whole, *labels(row))
    for shape, counted in shapes.items():
        found.add("koord_shape_known", counted is not None, shape)
        for row in counted.domains if counted is not None else ():
            found.add("koord_domain_slots", row.shape_pods or 0, *labels(row), shape)
    found.add("koord_answer_complete", report.verdict != "unknown", "topology")


def _amounts(resource: str, row: DomainRow | NodeRow) -> Mapping[str, Amount]:
    return {resource: Amount(row.free, row.total), **row.others}


def _cards(found: Values, amount: Amount, scattered: int, labels: tuple[str, str, str]) -> None:
    unit = objects.CARD if objects.is_share(labels[-1]) else 1
    found.add("koord_domain_cards", amount.total / unit, *labels)
    if amount.free is not None:
        found.add("koord_domain_free_cards", amount.free / unit, *labels)
        found.add("koord_domain_fragmented_cards", scattered / unit, *labels)


def _fragmented(report: TopologyReport) -> Mapping[_Key, Mapping[str, int]]:
    """Return by domain what is free of each resource on nodes of which a part is taken."""
    parents = {(row.layer, row.name): row.parent for row in report.domains}
    found: dict[_Key, dict[str, int]] = {key: {} for key in parents}
    for node in report.nodes:
        scattered = {
            resource: amount.free
            for resource, amount in _amounts(report.resource, node).items()
            if amount.free and amount.free < amount.total
        }
        above: DomainName | None = node.parent if scattered else None
        while above is not None:
            key = above.layer, above.name
            for resource, free in scattered.items():
                found[key][resource] = found[key].get(resource, 0) + free
            above = parents[key]
    return found


def of_quotas(found: Values, report: QuotaTreeReport) -> None:
    """Take what each quota may use, uses and asks for, of each resource."""
    own = _own(found, "quota", (row.name for row in report.quotas))
    resources = _own(found, "resource", dict.fromkeys(name for row in report.quotas for name in (*row.min, *row.max)))
    for row in report.quotas:
        name = row.name if row.name in own else OTHER
        written = {"runtime": row.runtime, "used": row.used, "requested": row.request}
        if not row.built_in:  # those have no bounds but the largest number
            written |= {"min": row.min, "max": row.max}
        amounts = {metric: _parsed(spelled, resources) for metric, spelled in written.items() if spelled is not None}
        limits = _parsed(row.limit or {}, resources)
        used = amounts.get("used")
        if used is not None:
            amounts["headroom"] = {resource: limit - used.get(resource, 0) for resource, limit in limits.items()}
        for metric, numbers in amounts.items():
            for resource, number in numbers.items():
                found.add(f"koord_quota_{metric}", number / values.NANO, name, resource)
    found.add("koord_answer_complete", report.verdict != "unknown", "quota")


def _parsed(spelled: Mapping[str, str], resources: Collection[str]) -> Mapping[str, int]:
    """Return amounts in billionths of the resource's own unit."""
    return {resource: values.parse(amount) for resource, amount in spelled.items() if resource in resources}


def of_preemption(found: Values, reports: Sequence[PreemptReport], unexamined: int) -> None:
    """Take whom the examined gangs would preempt, each of them as if the others did not."""
    found.add("koord_preemption_examined_gangs", len(reports))
    found.add("koord_preemption_unexamined_gangs", unexamined)
    found.add("koord_preemption_helped_gangs", sum(report.helps is True for report in reports))
    broken = {gang.gang for report in reports for gang in report.broken_gangs}
    found.add("koord_preemption_broken_gangs", len(broken))
    victims = {victim.pod for report in reports for victim in report.victims}
    found.add("koord_preemption_victim_pods", len(victims))


def of_gaps(found: Values, gaps: Iterable[Gap]) -> None:
    """Take which kinds were not read."""
    for gap in gaps:
        found.most("koord_kind_unread", 1, gap.kind, gap.code)
