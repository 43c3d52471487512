"""What `serve` tells Prometheus: one table of metrics, and the numbers of an answered reading in it.

The number of series is bounded: beyond `MOST` names of a kind, the others are summed as one that is called `other`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from msgspec import Struct
from prometheus_client import ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector, CollectorRegistry

from kubectl_koord.model import objects, values
from kubectl_koord.model.snapshot import Gap, GapCode
from kubectl_koord.render.plain import harmless
from kubectl_koord.reports.capacity import Amount, DomainRow, NodeRow, QuotaTreeReport, TopologyReport
from kubectl_koord.reports.common import WOULD_START, DomainName
from kubectl_koord.reports.jobs import PendingGangsReport, PreemptReport, WhyReport

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "_other"
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
    "koord_state_age_seconds": Metric((), "How long ago the cluster was as is told here; not of a file or the demo."),
    "koord_reading_seconds": Metric((), "How long the last reading took."),
    "koord_computing_seconds": Metric(("part",), "How long the last answer took: state, or preemption."),
    "koord_readings_total": Metric((), "Readings in which something had changed.", "counter"),
    "koord_requests_total": Metric(("face", "code"), "Requests that were answered here.", "counter"),
    "koord_cluster_lost": Metric((), "1 where the cluster is not reached any more: the state only grows old."),
    "koord_watch_interrupted": Metric(("kind",), "1 for each kind whose watch is broken for the moment."),
    "koord_kind_unread": Metric(("kind", "reason"), "1 for each kind that was not read: what rests on it is unknown."),
    "koord_answer_complete": Metric(
        ("answer",), "0 where something could not be read on which the answer, or a row of it, rests."
    ),
    "koord_names_joined": Metric(("label",), f"How many names are summed as `{OTHER}`; of resources, are left out."),
    "koord_pending_gangs": Metric(_WAITING, "Gangs and jobs with pods that wait, by cause (`kubectl koord explain`)."),
    "koord_pending_pods": Metric(_WAITING, "Pods that wait, also those without a gang."),
    "koord_pending_oldest_seconds": Metric(_WAITING, "How long the one has waited that has waited longest."),
    "koord_volcano_pending_gangs": Metric(("namespace",), "Gangs that wait for Volcano's scheduler."),
    "koord_shape_known": Metric(("shape",), "0 where no node has what the shape asks for, or nobody can tell."),
    "koord_slots": Metric(("shape",), "Pods of a shape that fit beside what runs, quotas left out, on all nodes."),
    "koord_cards": Metric(("resource",), "Cards of all nodes, in the topology tree or outside it."),
    "koord_free_cards": Metric(("resource",), "Those that no pod has, on nodes that can be used."),
    "koord_fragmented_cards": Metric(
        ("resource",), "Free, on nodes of which other cards are taken: no pod that takes a whole node can have them."
    ),
    "koord_outside_nodes": Metric((), "Nodes outside the topology tree: no gang with a topology spec is placed there."),
    "koord_domain_slots": Metric((*_DOMAIN, "shape"), "Slots of a shape in a domain of the topology tree."),
    "koord_domain_cards": Metric((*_DOMAIN, "resource"), "Cards of the nodes of a domain."),
    "koord_domain_free_cards": Metric((*_DOMAIN, "resource"), "Those that no pod has, on nodes that can be used."),
    "koord_domain_fragmented_cards": Metric((*_DOMAIN, "resource"), "Free, on nodes of which other cards are taken."),
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


_BLIND: frozenset[GapCode] = frozenset(("forbidden", "one-namespace", "unavailable"))


def _own(found: Values, label: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that have series of their own, and take note of how many have not."""
    unique = tuple(dict.fromkeys(names))
    found.add("koord_names_joined", max(0, len(unique) - MOST[label]), label)
    return frozenset(unique[: MOST[label]])


def of_pending(found: Values, report: PendingGangsReport, gaps: Iterable[Gap]) -> None:
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
    is_blind = any(gap.code in _BLIND for gap in gaps) and any(item.verdict == "unknown" for item in report.items)
    found.add("koord_answer_complete", report.verdict != "unknown" and not is_blind, "pending")


def _home(key: str) -> str:
    return key.partition("/")[0]


def cause_of(item: WhyReport) -> str:
    """Return the code of why something waits; `unknown` where nobody can tell, and no code says why."""
    if item.verdict == "yes":
        return WOULD_START
    return item.cause.code if item.cause is not None else item.verdict


_Key: TypeAlias = tuple[str, str]


class Room(NamedTuple):
    """How many pods of a shape fit: on all nodes, and in each domain of the tree, a layer and a name."""

    total: int
    domains: Mapping[_Key, int]


def of_topology(
    found: Values, report: TopologyReport, everywhere: TopologyReport, shapes: Mapping[str, Room | None]
) -> None:
    """Take the room: on all nodes, and in each domain. Of a shape None where nobody can tell."""
    depths = {layer: depth for depth, layer in enumerate(report.layers)}
    from_top = sorted(report.domains, key=lambda row: depths.get(row.layer, -1))
    own = _own(found, "domain", (f"{row.layer}/{row.name}" for row in from_top))

    def labels(key: _Key) -> _Key:
        return key[0], key[1] if "/".join(key) in own else OTHER

    kept = _own(found, "resource", filter(objects.family, everywhere.resources))
    scattered = _fragmented(everywhere)
    for row in everywhere.domains[:1]:
        _cards(found, "koord", (everywhere.resource, row, scattered[row.layer, row.name]), kept, ())
        found.add("koord_outside_nodes", row.nodes - sum(one.nodes for one in report.domains if one.parent is None))
    scattered = scattered if everywhere is report else _fragmented(report)
    for row in report.domains:
        key = row.layer, row.name
        _cards(found, "koord_domain", (report.resource, row, scattered[key]), kept, labels(key))
    for shape, room in shapes.items():
        found.add("koord_shape_known", room is not None, shape)
        if room is not None:
            found.add("koord_slots", room.total, shape)
            for key, pods in room.domains.items():
                found.add("koord_domain_slots", pods, *labels(key), shape)
    is_seen = all(row.free is not None for row in everywhere.domains)
    found.add("koord_answer_complete", report.verdict != "unknown" and is_seen, "topology")


def _amounts(resource: str, row: DomainRow | NodeRow) -> Mapping[str, Amount]:
    return {resource: Amount(row.free, row.total), **row.others}


def _cards(
    found: Values,
    prefix: str,
    domain: tuple[str, DomainRow, Mapping[str, int]],
    kept: Collection[str],
    labels: tuple[str, ...],
) -> None:
    """Take the cards of a domain: what its row counts, the row, and what of it is scattered, of each resource."""
    counted, row, scattered = domain
    for resource, amount in _amounts(counted, row).items():
        if resource in kept:
            unit = objects.CARD if objects.is_share(resource) else 1
            found.add(f"{prefix}_cards", amount.total / unit, *labels, resource)
            if amount.free is not None:
                found.add(f"{prefix}_free_cards", amount.free / unit, *labels, resource)
                found.add(f"{prefix}_fragmented_cards", scattered.get(resource, 0) / unit, *labels, resource)


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
        for metric in ("used", "requested"):
            if metric in amounts:  # what is not there is 0
                named = dict.fromkeys((*limits, *(name for some in amounts.values() for name in some)), 0)
                amounts[metric] = {**named, **amounts[metric]}
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
