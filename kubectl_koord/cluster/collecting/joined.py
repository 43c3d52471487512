"""What several objects tell together: of a node, and of what Reservations hold or wait for."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.kind import Kind
from kubectl_koord.cluster.objects.fields.meta import Strings
from kubectl_koord.cluster.objects.koordinator import metrics, node_topology, reservations
from kubectl_koord.cluster.objects.kubernetes import attachments, nodes, storage
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.engine.rules import rules
from kubectl_koord.model import objects, pods
from kubectl_koord.model.hardware.devices import NodeDevices
from kubectl_koord.model.hardware.numa import MOST_ZONES, NodeNUMA
from kubectl_koord.model.load import LoadSettings, NodeMetric
from kubectl_koord.model.reservations import Reservation, ReservedMember
from kubectl_koord.model.snapshot import Gap, SchedulerConfig
from kubectl_koord.model.unevaluated import NodeSetting

V = TypeVar("V")

Held: TypeAlias = tuple[Reservation, pods.ReservedRoom]

Attached: TypeAlias = tuple[tuple[str, str], ...]
"""The drivers and handles of the volumes that are attached to a node."""


class Said(Struct, frozen=True):
    """What nodes say themselves, by their names: the annotations that go with NodeMetrics, and settings for NUMA."""

    annotations: dict[str, Strings] = field(default_factory=dict)
    settings: dict[str, node_topology.Settings] = field(default_factory=dict)

    def take(self, node: nodes.Node | nodes.ListedNode) -> None:
        """Take what a node says."""
        meta = node.metadata
        _keep(self.annotations, meta.name, metrics.annotations_of(meta.annotations))
        _keep(self.settings, meta.name, node_topology.settings(meta.labels, meta.annotations))


def _keep(kept: dict[str, V], name: str, value: V | None) -> None:
    """Keep a value under a name, and nothing where there is none."""
    if value:
        kept[name] = value
    else:
        kept.pop(name, None)


def completed_nodes(
    values: Callable[[Kind[Any, Any]], Mapping[str, Any]], said: Said, config: SchedulerConfig
) -> dict[str, objects.Node]:
    """Return the nodes in the order of their names, with what other objects tell of them; `values` are all objects."""
    measured, limits, devices = values(kinds.NODE_METRIC), values(kinds.CSI_NODE), values(kinds.DEVICE)
    topologies = values(kinds.NODE_TOPOLOGY)
    found = {
        name: _completed(
            node,
            config,
            metric=measured.get(name),
            limits=limits.get(name),
            devices=devices.get(name),
            numa=node_topology.of_node(said.settings.get(name), topologies.get(name)),
            annotations=said.annotations.get(name),
        )
        for name, node in sorted(values(kinds.NODE).items())
    }
    volumes = attached(values(kinds.VOLUME_ATTACHMENT).values(), values(kinds.VOLUME))
    for name in volumes.keys() & found.keys():
        found[name] = structs.replace(found[name], attached=volumes[name])
    return found


def _completed(
    node: objects.Node,
    config: SchedulerConfig,
    *,
    metric: NodeMetric | None,
    limits: tuple[tuple[str, int], ...] | None,
    devices: NodeDevices | None,
    numa: NodeNUMA | None,
    annotations: Strings | None,
) -> objects.Node:
    """Return the node with what other objects tell of it: its load, volumes, devices, CPUs and NUMA zones."""
    if metric is None and limits is None and numa is None:
        return node if devices is None else structs.replace(node, devices=devices)
    if metric is not None:
        metric = metrics.completed(metric, annotations or {}, config.load)
    more = tuple(_open_load(config.load)) if metric is not None else ()
    if numa is not None:
        more = (*more, *_open_zones(numa))
    return structs.replace(
        node,
        metric=metric,
        volume_limits=limits or (),
        unevaluated=(*node.unevaluated, *more),
        devices=devices,
        numa=numa,
    )


def _open_load(settings: LoadSettings) -> Iterator[NodeSetting]:
    """Yield what is configured of load and not evaluated."""
    if settings.after_initialized:
        yield NodeSetting("load-estimates")
    if settings.limits_others:
        yield NodeSetting("load-thresholds")


def _open_zones(numa: NodeNUMA) -> Iterator[NodeSetting]:
    """Yield what is set of zones and not evaluated."""
    if numa.policy and len(numa.zones) > MOST_ZONES:
        yield NodeSetting("numa-topology-policy")
    if numa.unknown_policy and numa.zones:
        yield NodeSetting("unknown-numa-policy")


def attached(
    written: Iterable[attachments.VolumeAttachment], volumes: Mapping[str, storage.ClusterVolume]
) -> dict[str, Attached]:
    """Return the driver and handle of each volume that is attached to a node, as far as it is one of a driver.

    Mirrors `getNodeVolumeAttachmentInfo` in plugins/nodevolumelimits/csi.go.
    """
    found: dict[str, set[tuple[str, str]]] = {}
    for one in (attachment.spec for attachment in written):
        volume = volumes.get(one.source.persistent_volume_name or "")
        if volume is not None and volume.is_csi and one.attacher:
            found.setdefault(one.node_name, set()).add((one.attacher, volume.handle))
    return {node: tuple(sorted(attached)) for node, attached in found.items()}


def reserved(
    written: Iterable[reservations.Reservation],
    moment: str,
    nodes: Collection[str],
    running: Mapping[str, Iterable[pods.RunningPod]],
    pool: PodPool,
) -> tuple[Held, ...]:
    """Return the Reservations that hold room, in their order, each with its room.

    One for a single owner that has it ends at once, and so does one whose node is gone.
    """
    found = ((one, reservations.held(one, moment)) for one in written)
    held = [(one, value) for one, value in found if value is not None and value.node in nodes]
    owned = {pod.allocations.reservation for _, value in held if value.once for pod in running.get(value.node, ())}
    return tuple(
        (value, reservations.room(one, value, pool)) for one, value in held if not (value.once and value.uid in owned)
    )


def reserve_pods(
    written: Iterable[reservations.Reservation], moment: str, version: str, pool: PodPool
) -> tuple[pods.PendingPod, ...]:
    """Return the pods that stand for Reservations which are to be placed, by name."""
    waits = rules(version).places_waiting_reservations
    found = (reservations.reserve_pod(one, moment, pool, waiting_too=waits) for one in written)
    # Claims are those of real pods: there are none for what a reservation stands for.
    return by_name(structs.replace(pod, resource_claims=()) for pod in found if pod is not None)


def of_containers(waiting: Iterable[pods.PendingPod]) -> tuple[pods.PendingPod, ...]:
    """Return pods as a scheduler has them that does not know what pods request as a whole."""
    return tuple(structs.replace(pod, requirements=pod.requirements.of_containers) for pod in waiting)


def reserved_members(written: Iterable[reservations.Reservation]) -> tuple[ReservedMember, ...]:
    """Return the members of gangs that Reservations on nodes stand for."""
    found = (reservations.reserved_member(one) for one in written)
    return tuple(one for one in found if one is not None)


def is_lack(gap: Gap) -> bool:
    """Tell whether anything may be there that was not read: of what a cluster need not serve it has none then."""
    return gap.kind not in kinds.OPTIONAL_KINDS or gap.code != "missing"


def by_name(waiting: Iterable[pods.PendingPod]) -> tuple[pods.PendingPod, ...]:
    """Return pods in the order of their names."""
    return tuple(sorted(waiting, key=lambda pod: (pod.namespace, pod.name)))
