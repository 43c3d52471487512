"""From decoded objects to one Snapshot, whatever they were read from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import structs

from kubectl_koord.cluster.objects import decode, node_load, preemption_records, version, wire
from kubectl_koord.cluster.pod_store import AnyPod, PodStore
from kubectl_koord.errors import KoordError
from kubectl_koord.model import objects, pods, quantity, traces
from kubectl_koord.model.snapshot import Gap, SchedulerConfig, Snapshot
from kubectl_koord.model.unevaluated import NodeSetting

WIRE_TYPES: dict[str, Any] = {
    "Node": wire.Node,
    "Pod": wire.Pod,
    "PodGroup": wire.PodGroup,
    "ClusterNetworkTopology": wire.NetworkTopology,
    "PodDisruptionBudget": wire.Budget,
    "ElasticQuota": wire.Quota,
    "Device": wire.Named,
    "Reservation": wire.Reservation,
    "PersistentVolumeClaim": wire.PersistentVolumeClaim,
    "PersistentVolume": wire.PersistentVolume,
    "CSINode": wire.CSINode,
    "NodeMetric": wire.NodeMetric,
    "Deployment": wire.Deployment,
    "Lease": wire.Lease,
    "ConfigMap": wire.ConfigMap,
    "Event": wire.Event,
}
"""The kinds that we read, and the fields of each."""

_Key: TypeAlias = Callable[[wire.Meta], object]


class _Store(Protocol):
    """Objects by name: a dict, or what holds pods."""

    def pop(self, key: Any, default: None, /) -> Any:  # noqa: ANN401
        """Forget one."""

    def clear(self) -> None:
        """Forget all."""

    def update(self, other: Any, /) -> None:  # noqa: ANN401
        """Take over all of another."""


class Collector:
    """Takes objects one by one, in any order, and yields the Snapshot.

    The later of two objects of one kind and name wins, as it would in the API.
    """

    def __init__(
        self, memo: decode.ShapeMemo | None = None, seen: dict[str, int] | None = None, *, traced: bool = False
    ) -> None:
        """Start with an empty cluster.

        Args:
            memo: what was seen of shapes; parts of one cluster share it.
            seen: is counted up, by kind, for who watches the reading.
            traced: whether every pod is also kept as a trace.

        """
        self._memo = memo or decode.ShapeMemo()
        self._seen = {} if seen is None else seen
        self._traced = traced
        self._traces: dict[tuple[str, str], traces.PodTrace] = {}
        self._events: dict[tuple[str, str], traces.Event] = {}
        self._nodes: dict[str, objects.Node] = {}
        self._pods = PodStore()
        self._pod_groups: dict[str, objects.PodGroup] = {}
        self._topologies: dict[str, objects.NetworkTopology] = {}
        self._budgets: dict[tuple[str, str], objects.Budget] = {}
        self._quotas: dict[tuple[str, str], objects.Quota] = {}
        self._devices: dict[str, None] = {}
        self._reservations: dict[str, wire.Reservation] = {}
        self._allocated: dict[tuple[str, str], str] = {}
        self._claims: dict[str, wire.PersistentVolumeClaim] = {}
        self._volumes: dict[str, wire.PersistentVolume] = {}
        self._limits: dict[str, wire.CSINode] = {}
        self._metrics: dict[str, objects.NodeMetric | None] = {}
        self._node_annotations: dict[str, decode.Strings] = {}
        self._deployments: dict[tuple[str, str], wire.Deployment] = {}
        self._leases: dict[str, objects.Lease] = {}
        self._config_maps: dict[str, wire.ConfigMap] = {}
        self.kinds: set[str] = set()
        self.crd_version: str | None = None
        self._take: dict[str, Callable[[Any], None]] = {
            "Node": self._take_node,
            "Pod": self._take_pod,
            "PodGroup": self._take_pod_group,
            "ClusterNetworkTopology": self._take_topology,
            "PodDisruptionBudget": self._take_budget,
            "ElasticQuota": self._take_quota,
            "Device": lambda device: self._devices.__setitem__(device.metadata.name, None),
            "Reservation": self._take_reservation,
            "PersistentVolumeClaim": self._take_claim,
            "PersistentVolume": lambda volume: self._volumes.__setitem__(volume.metadata.name, volume),
            "CSINode": lambda limits: self._limits.__setitem__(limits.metadata.name, limits),
            "NodeMetric": self._take_metric,
            "Deployment": lambda found: self._deployments.__setitem__(_by_pair(found.metadata), found),
            "Lease": self._take_lease,
            "ConfigMap": self._take_config_map,
            "Event": self._take_event,
        }
        self._held: dict[str, tuple[_Key, tuple[_Store, ...]]] = {
            "Node": (_by_bare_name, (self._nodes, self._node_annotations)),
            "Pod": (_by_pair, (self._pods, self._allocated, self._traces)),
            "PodGroup": (_by_whole_name, (self._pod_groups,)),
            "ClusterNetworkTopology": (_by_bare_name, (self._topologies,)),
            "PodDisruptionBudget": (_by_pair, (self._budgets,)),
            "ElasticQuota": (_by_pair, (self._quotas,)),
            "Device": (_by_bare_name, (self._devices,)),
            "Reservation": (_by_bare_name, (self._reservations,)),
            "PersistentVolumeClaim": (_by_whole_name, (self._claims,)),
            "PersistentVolume": (_by_bare_name, (self._volumes,)),
            "CSINode": (_by_bare_name, (self._limits,)),
            "NodeMetric": (_by_bare_name, (self._metrics,)),
            "Deployment": (_by_pair, (self._deployments,)),
            "ConfigMap": (_by_bare_name, (self._config_maps,)),
            "Lease": (_by_bare_name, (self._leases,)),
            "Event": (_by_pair, (self._events,)),
        }

    def add(self, kind: str, written: Any) -> None:  # noqa: ANN401
        """Take one decoded object (of `WIRE_TYPES[kind]`).

        Raises:
            KoordError: naming the object whose value cannot be read.

        """
        self.add_all(kind, (written,))

    def add_all(self, kind: str, written: Sequence[Any]) -> None:
        """Take decoded objects of one kind (of `WIRE_TYPES[kind]`).

        Raises:
            KoordError: naming the object whose value cannot be read.

        """
        if not written:
            return
        self.kinds.add(kind)
        self._seen[kind] = self._seen.get(kind, 0) + len(written)
        take = self._take[kind]
        for one in written:
            try:
                take(one)
            except quantity.QuantityError as problem:
                meta = one.metadata
                name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
                raise KoordError(f"error: {kind} {name}: {problem}") from None

    def remove(self, kind: str, meta: wire.Meta) -> None:
        """Forget the object of this name; one that was never taken is no fault."""
        key, stores = self._held[kind]
        for store in stores:
            store.pop(key(meta), None)

    def forget(self, kind: str) -> None:
        """Forget every object of a kind."""
        for store in self._held[kind][1]:
            store.clear()

    def forget_shapes(self) -> None:
        """Let go of shapes that no pod has any more: those to come share theirs anew."""
        self._memo = decode.ShapeMemo()

    def part(self) -> "Collector":
        """Return an empty collector for a part of this cluster, to be merged when it is complete."""
        return Collector(self._memo, self._seen, traced=self._traced)

    def merge(self, part: "Collector") -> None:
        """Take over everything that a part has taken."""
        self.kinds |= part.kinds
        for kind, (_, stores) in self._held.items():
            for mine, theirs in zip(stores, part._held[kind][1], strict=True):  # noqa: SLF001
                mine.update(theirs)

    def _take_node(self, written: wire.Node) -> None:
        name = written.metadata.name
        self._nodes[name] = decode.node(written, self._memo)
        self._node_annotations.pop(name, None)
        told = node_load.annotations_of(written.metadata.annotations)
        if told:
            self._node_annotations[name] = told

    def _take_pod(self, written: wire.Pod) -> None:
        pod = decode.pod(written, self._memo)
        self._pods.add(pod)
        if self._traced:
            self._traces[pod.namespace, pod.name] = preemption_records.trace(written)
        reservation = decode.reservation_of(written)
        if reservation and isinstance(pod, pods.RunningPod):
            self._allocated[pod.namespace, pod.name] = reservation
        elif self._allocated:
            self._allocated.pop((pod.namespace, pod.name), None)

    def _take_pod_group(self, written: wire.PodGroup) -> None:
        group = decode.pod_group(written)
        self._pod_groups[group.key] = group

    def _take_topology(self, written: wire.NetworkTopology) -> None:
        self._topologies[written.metadata.name] = decode.topology(written)

    def _take_budget(self, written: wire.Budget) -> None:
        budget = decode.budget(written)
        self._budgets[budget.namespace, budget.name] = budget

    def _take_quota(self, written: wire.Quota) -> None:
        quota = decode.quota(written)
        self._quotas[quota.namespace, quota.name] = quota

    def _take_reservation(self, written: wire.Reservation) -> None:
        decode.reserved_room(written, {})  # a value that cannot be read is told now, with its object
        self._reservations[written.metadata.name] = written

    def _take_metric(self, written: wire.NodeMetric) -> None:
        self._metrics[written.metadata.name] = node_load.metric(written)

    def _take_claim(self, written: wire.PersistentVolumeClaim) -> None:
        self._claims[f"{decode.namespace(written.metadata)}/{written.metadata.name}"] = written

    def _take_lease(self, written: wire.Lease) -> None:
        self._leases[written.metadata.name] = decode.lease(written)

    def _take_event(self, written: wire.Event) -> None:
        event = preemption_records.event(written)
        if event is not None:
            self._events[event.namespace, written.metadata.name] = event

    def _take_config_map(self, written: wire.ConfigMap) -> None:
        if written.metadata.name == "koord-scheduler-config":
            self._config_maps[written.metadata.name] = written

    @property
    def nodes(self) -> Mapping[str, objects.Node]:
        """The nodes taken so far, by name, without what other objects tell of them."""
        return self._nodes

    @property
    def topologies(self) -> Mapping[str, objects.NetworkTopology]:
        """The topologies taken so far, by name."""
        return self._topologies

    @property
    def has_claims(self) -> bool:
        """Whether any pending pod uses a volume claim."""
        return any(pod.requirements.claims for pod in self._pods.waiting())

    def snapshot(
        self,
        *,
        moment: str,
        source: str,
        gaps: Iterable[Gap] = (),
        chosen_version: str = "",
        namespace_only: str = "",
        lease_seen: str | None = None,
    ) -> Snapshot:
        """Return all that was taken as one value; `chosen_version` beats what the cluster tells.

        `lease_seen` is when the API server listed leases (empty: it did not say), None where it did not.
        """
        running, waiting, finished = self._pods.sorted()
        config_map = next(iter(self._config_maps.values()), None)
        config = version.config(*self._version(chosen_version), config_map, list(self._deployments.values()))
        return Snapshot(
            moment=moment,
            nodes={name: self._completed(node, config) for name, node in sorted(self._nodes.items())},
            running=running,
            pending=waiting,
            finished=finished,
            pod_groups=dict(sorted(self._pod_groups.items())),
            topologies=dict(sorted(self._topologies.items())),
            budgets=tuple(budget for _, budget in sorted(self._budgets.items())),
            quotas=tuple(quota for _, quota in sorted(self._quotas.items())),
            devices=frozenset(self._devices),
            reservations=tuple(
                found
                for _, reserved in sorted(self._reservations.items())
                if (found := decode.reservation(reserved)) is not None
            ),
            reserved=self._reserved(),
            claims={
                name: decode.claim(name, claim, self._volumes.get(claim.spec.volume_name or ""))
                for name, claim in sorted(self._claims.items())
            },
            leases=None
            if lease_seen is None
            else tuple(structs.replace(lease, seen=lease_seen) for lease in self._leases.values()),
            gaps=tuple(sorted(gaps, key=lambda gap: gap.kind)),
            config=config,
            source=source,
            namespace_only=namespace_only,
            events=tuple(event for _, event in sorted(self._events.items(), key=lambda item: item[0])),
            traces=tuple(trace for _, trace in sorted(self._traces.items(), key=lambda item: item[0])),
        )

    def _completed(self, node: objects.Node, config: SchedulerConfig) -> objects.Node:
        """Return the node with what other objects tell of it: its metric and its volume limits."""
        metric, limits = self._metrics.get(node.name), self._limits.get(node.name)
        if metric is None and limits is None:
            return node
        annotations = self._node_annotations.get(node.name, {})
        is_open = False
        if metric is not None:
            metric = node_load.with_annotations(metric, annotations)
            is_set_otherwise = config.load_unevaluated or node_load.is_customised(annotations)
            is_open = is_set_otherwise and bool(metric.limits(config.usage_thresholds))
        more = (NodeSetting("load-thresholds"),) if is_open else ()
        return structs.replace(
            node, metric=metric, volume_limits=decode.volume_limits(limits), unevaluated=(*node.unevaluated, *more)
        )

    def _reserved(self) -> tuple[pods.ReservedRoom, ...]:
        held = [
            name for name, reserved in sorted(self._reservations.items()) if decode.reservation(reserved) is not None
        ]
        owners = self._pods.find(self._allocated) if held and self._allocated else {}
        return tuple(decode.reserved_room(self._reservations[name], self._drawn_from(name, owners)) for name in held)

    def _drawn_from(self, reservation: str, owners: Mapping[tuple[str, str], AnyPod]) -> dict[str, int]:
        """Return what the owners of a reservation request together."""
        drawn: dict[str, int] = {}
        for key, owner in owners.items():
            if self._allocated[key] == reservation and isinstance(owner, pods.RunningPod):
                for resource, amount in owner.requirements.requests:
                    drawn[resource] = drawn.get(resource, 0) + amount
        return drawn

    def _version(self, chosen: str) -> tuple[str, str]:
        if chosen:
            return chosen, "as requested"
        image = version.scheduler_image(list(self._deployments.values()))
        by_image = version.from_image(image) if image else None
        if by_image:
            return by_image, "from the image tag"
        if self.crd_version:
            return self.crd_version, "from the CRDs"
        return version.NEWEST_RELEASE, "assumed: newest known release"


def _by_bare_name(meta: wire.Meta) -> str:
    return meta.name


def _by_whole_name(meta: wire.Meta) -> str:
    return f"{decode.namespace(meta)}/{meta.name}"


def _by_pair(meta: wire.Meta) -> tuple[str, str]:
    return decode.namespace(meta), meta.name
