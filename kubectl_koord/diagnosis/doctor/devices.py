"""Nodes: GPUs that no Device lists, cards that are ill, NUMA policies that nobody knows, thresholds never met."""

from collections.abc import Iterator

from kubectl_koord.diagnosis.doctor.finding import found, was_read
from kubectl_koord.diagnosis.obstacles import bookings
from kubectl_koord.engine.fit.load_aware import estimate
from kubectl_koord.model.accelerators import GPU as GPU_FAMILY
from kubectl_koord.model.accelerators import of_node
from kubectl_koord.model.hardware.devices import GPU
from kubectl_koord.model.load import NodeMetric, Percentages
from kubectl_koord.model.objects import Node
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.snapshot import Snapshot
from kubectl_koord.reports.operation.doctor import Finding
from kubectl_koord.wording import bookings as words
from kubectl_koord.wording.doctor import devices as sentences

_PRESENT = ("nvidia.com/gpu.present", "true")


def of_devices(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield what is wrong with the devices and settings of nodes."""
    if was_read(snapshot, "Device") and was_read(snapshot, "Node"):
        yield from _gpus(snapshot)
        yield from _books(snapshot)
    if was_read(snapshot, "Node"):
        yield from _offered(snapshot)
    yield from _numa_policies(snapshot)
    yield from _used_by_system(snapshot)
    yield from _never_below(snapshot)


def _books(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield which devices pods have that the scheduler takes for free, and which several pods have."""
    unknown = bookings.not_booked(snapshot)
    if unknown:
        yield found("device-not-booked", "warning", "Pod", [one.pod for one in unknown], words.not_booked(unknown))
    twice = [*bookings.devices_held_twice(snapshot)]
    if twice:
        names = sorted({pod for one in twice for pod in one.pods})
        yield found("doubly-booked", "error", "Pod", names, words.doubly_booked(twice))


def _offered(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield which nodes offer fewer cards than they have, or none though a label says that there are some."""
    fewer = [node for node in snapshot.nodes.values() if node.lost]
    if fewer:
        yield found("cards-lost", "warning", "Node", [node.name for node in fewer], words.cards_lost(fewer))
    none = [
        node.name
        for node in snapshot.nodes.values()
        if _PRESENT in node.labels and not node.lost and not of_node(dict(node.allocatable)).get(GPU_FAMILY, 0)
    ]
    if none:
        yield found("resource-not-offered", "error", "Node", none, sentences.not_offered("=".join(_PRESENT), none))


def _numa_policies(snapshot: Snapshot) -> Iterator[Finding]:
    ignored: dict[str, list[str]] = {}
    unknown: dict[tuple[str, bool], list[str]] = {}
    for name, node in snapshot.nodes.items():
        if node.numa is not None and node.numa.ignored_policy:
            ignored.setdefault(node.numa.ignored_policy, []).append(name)
        if node.numa is not None and node.numa.unknown_policy:
            unknown.setdefault((node.numa.unknown_policy, bool(node.numa.zones)), []).append(name)
    for (policy, has_zones), nodes in sorted(unknown.items()):
        message = sentences.unknown_policy(policy, nodes, has_zones=has_zones)
        yield found("numa-policy-unknown", "error", "Node", nodes, message)
    for policy, nodes in sorted(ignored.items()):
        yield found("numa-policy-ignored", "warning", "Node", nodes, sentences.ignored_policy(policy, nodes))


def _gpus(snapshot: Snapshot) -> Iterator[Finding]:
    with_gpus = [node for node in snapshot.nodes.values() if _has_gpus(node)]
    missing = [node.name for node in with_gpus if node.devices is None]
    empty = [node.name for node in with_gpus if node.devices and not node.devices.layout.of_type(GPU)]
    ill = {
        name: number
        for name, node in snapshot.nodes.items()
        if node.devices and (number := sum(not one.healthy for one in node.devices.layout.devices))
    }
    if empty:
        yield found("device-empty", "error", "Node", empty, sentences.empty(empty))
    if missing:
        yield found("device-missing", "warning", "Node", missing, sentences.missing(missing))
    if ill:
        yield found("device-unhealthy", "warning", "Node", [*ill], sentences.unhealthy(sum(ill.values()), [*ill]))


def _has_gpus(node: Node) -> bool:
    return of_node(dict(node.allocatable)).get(GPU_FAMILY, 0) > 0 or _PRESENT in node.labels


def _total(node: Node, metric: NodeMetric, resource: str) -> int:
    return dict(metric.raw_allocatable).get(resource) or dict(node.allocatable).get(resource, 0)


def _used_by_system(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield nodes whose system alone uses more than a threshold for the whole node."""
    above: dict[tuple[str, int], list[str]] = {}
    for name, node in snapshot.nodes.items():
        if node.metric is None:
            continue
        thresholds = node.metric.thresholds.over(snapshot.config.load.thresholds)
        for resource, percent in () if thresholds.aggregated else thresholds.whole:
            if _is_above(dict(node.metric.system).get(resource, 0), _total(node, node.metric, resource), percent):
                above.setdefault((resource, percent), []).append(name)
    for (resource, percent), nodes in sorted(above.items()):
        message = sentences.system_above(resource, percent, nodes)
        yield found("threshold-never-met", "warning", "Node", nodes, message)


def _is_above(used: int, total: int, percent: int) -> bool:
    """Tell whether usage, rounded to percents as LoadAwareScheduling rounds it, is above a threshold that is set."""
    return percent > 0 and total > 0 and (200 * used + total) // (2 * total) > percent


def _never_below(snapshot: Snapshot) -> Iterator[Finding]:
    """Yield pending pods whose own estimate is above the threshold of every node, even an idle one."""
    measured = [(node, node.metric) for node in snapshot.nodes.values() if node.metric and node.metric.used is not None]
    if not measured or len(measured) < len(snapshot.nodes):
        return  # a node without measurement refuses nobody
    above: dict[tuple[str, int, int, int], list[str]] = {}
    for pod in snapshot.pending:
        if not pod.requirements.of_daemon_set and pod.scheduler in snapshot.config.profiles:
            for resource, expected in estimate(pod.requirements.expected, snapshot.config.load):
                limits = [_limit(pod, node, metric, resource, snapshot) for node, metric in measured]
                if all(_is_above(expected, total, percent) for total, percent in limits):
                    total, percent = max(limits)
                    above.setdefault((resource, percent, expected, total), []).append(pod.key)
    for (resource, percent, expected, total), pods in sorted(above.items()):
        message = sentences.pod_above(resource, percent, expected, total, pods)
        yield found("threshold-never-met", "error", "Pod", pods, message)


def _limit(pod: PendingPod, node: Node, metric: NodeMetric, resource: str, snapshot: Snapshot) -> tuple[int, int]:
    """Return how much of a resource a node has, and the threshold that the pod is held against there, 0 for none."""
    thresholds = metric.thresholds.over(snapshot.config.load.thresholds)
    chosen: Percentages = thresholds.aggregated.percent if thresholds.aggregated else thresholds.whole
    if pod.requirements.is_prod and any(percent for _, percent in thresholds.prod):
        chosen = thresholds.prod
    return _total(node, metric, resource), dict(chosen).get(resource, 0)
