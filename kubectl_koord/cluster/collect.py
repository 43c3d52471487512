"""From decoded objects to one Snapshot, whatever they were read from."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import structs

from kubectl_koord.cluster import decode, decode_load, version, wire
from kubectl_koord.cluster.pod_store import PodStore
from kubectl_koord.errors import KoordError
from kubectl_koord.model import objects, pods, quantity
from kubectl_koord.model.snapshot import Gap, SchedulerConfig, Snapshot

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
    "ConfigMap": wire.ConfigMap,
}
"""The kinds that we read, and the fields of each."""


class Collector:
    """Takes objects one by one, in any order, and yields the Snapshot.

    The later of two objects of one kind and name wins, as it would in the API.
    """

    def __init__(self, memo: decode.ShapeMemo | None = None, seen: dict[str, int] | None = None) -> None:
        """Start with an empty cluster.

        Args:
            memo: what was seen of shapes; parts of one cluster share it.
            seen: is counted up, by kind, for who watches the reading.

        """
        self._memo = memo or decode.ShapeMemo()
        self._seen = {} if seen is None else seen
        self._nodes: dict[str, objects.Node] = {}
        self._pods = PodStore()
        self._pod_groups: dict[str, objects.PodGroup] = {}
        self._topologies: dict[str, objects.NetworkTopology] = {}
        self._budgets: dict[tuple[str, str], objects.Budget] = {}
        self._quotas: dict[tuple[str, str], objects.Quota] = {}
        self._devices: set[str] = set()
        self._reservations: dict[str, wire.Reservation] = {}
        self._allocated: dict[tuple[str, str], str] = {}
        self._claims: dict[str, wire.PersistentVolumeClaim] = {}
        self._volumes: dict[str, wire.PersistentVolume] = {}
        self._limits: dict[str, wire.CSINode] = {}
        self._metrics: dict[str, wire.NodeMetric] = {}
        self._node_annotations: dict[str, decode.Strings] = {}
        self._deployments: list[wire.Deployment] = []
        self._config_map: wire.ConfigMap | None = None
        self.kinds: set[str] = set()
        self.crd_version: str | None = None
        self._take: dict[str, Callable[[Any], None]] = {
            "Node": self._take_node,
            "Pod": self._take_pod,
            "PodGroup": self._take_pod_group,
            "ClusterNetworkTopology": self._take_topology,
            "PodDisruptionBudget": self._take_budget,
            "ElasticQuota": self._take_quota,
            "Device": lambda device: self._devices.add(device.metadata.name),
            "Reservation": self._take_reservation,
            "PersistentVolumeClaim": self._take_claim,
            "PersistentVolume": lambda volume: self._volumes.__setitem__(volume.metadata.name, volume),
            "CSINode": lambda limits: self._limits.__setitem__(limits.metadata.name, limits),
            "NodeMetric": self._take_metric,
            "Deployment": self._deployments.append,
            "ConfigMap": self._take_config_map,
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

    def part(self) -> "Collector":
        """Return an empty collector for a part of this cluster, to be merged when it is complete."""
        return Collector(self._memo, self._seen)

    def merge(self, part: "Collector") -> None:
        """Take over everything that a part has taken."""
        self.kinds |= part.kinds
        self._deployments += part._deployments  # noqa: SLF001
        self._config_map = part._config_map or self._config_map  # noqa: SLF001
        self._devices |= part._devices  # noqa: SLF001
        for mine, theirs in zip(self._by_name(), part._by_name(), strict=True):  # noqa: SLF001
            mine.update(theirs)
        self._pods.merge(part._pods)  # noqa: SLF001

    def _by_name(self) -> tuple[dict[Any, Any], ...]:
        return (
            self._nodes,
            self._pod_groups,
            self._topologies,
            self._budgets,
            self._quotas,
            self._reservations,
            self._allocated,
            self._claims,
            self._volumes,
            self._limits,
            self._metrics,
            self._node_annotations,
        )

    def _take_node(self, written: wire.Node) -> None:
        self._nodes[written.metadata.name] = decode.node(written, self._memo)
        told = decode_load.annotations_of(written.metadata.annotations)
        if told:
            self._node_annotations[written.metadata.name] = told

    def _take_pod(self, written: wire.Pod) -> None:
        pod = decode.pod(written, self._memo)
        self._pods.add(pod)
        reservation = decode.reservation_of(written) if isinstance(pod, pods.RunningPod) else ""
        if reservation:
            self._allocated[pod.namespace, pod.name] = reservation

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
        decode.reserved_rest(written, {})  # a value that cannot be read is told now, with its object
        self._reservations[written.metadata.name] = written

    def _take_metric(self, written: wire.NodeMetric) -> None:
        decode_load.check(written)
        self._metrics[written.metadata.name] = written

    def _take_claim(self, written: wire.PersistentVolumeClaim) -> None:
        self._claims[f"{decode.namespace(written.metadata)}/{written.metadata.name}"] = written

    def _take_config_map(self, written: wire.ConfigMap) -> None:
        if written.metadata.name == "koord-scheduler-config":
            self._config_map = written

    @property
    def has_claims(self) -> bool:
        """Whether any pending pod uses a volume claim."""
        return any(pod.shape.claims for pod in self._pods.waiting())

    def snapshot(
        self,
        *,
        moment: str,
        source: str,
        gaps: Iterable[Gap] = (),
        chosen_version: str = "",
        namespace_only: str = "",
    ) -> Snapshot:
        """Return all that was taken as one value; `chosen_version` beats what the cluster tells."""
        running, waiting, finished = self._pods.sorted(self._reserved())
        config = version.config(*self._version(chosen_version), self._config_map)
        return Snapshot(
            moment=moment,
            nodes={name: self._completed(node, running, config) for name, node in sorted(self._nodes.items())},
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
            claims={
                name: decode.claim(name, claim, self._volumes.get(claim.spec.volume_name or ""))
                for name, claim in sorted(self._claims.items())
            },
            gaps=tuple(sorted(gaps, key=lambda gap: gap.kind)),
            config=config,
            source=source,
            namespace_only=namespace_only,
        )

    def _completed(
        self, node: objects.Node, running: Mapping[str, tuple[pods.RunningPod, ...]], config: SchedulerConfig
    ) -> objects.Node:
        """Return the node with what other objects tell of it: its load and its volume limits."""
        metric, limits = self._metrics.get(node.name), self._limits.get(node.name)
        if metric is None and limits is None:
            return node
        annotations = self._node_annotations.get(node.name, {})
        load: tuple[objects.Usage, ...] = ()
        if metric is not None:
            thresholds = dict(config.usage_thresholds)
            load = decode_load.usage(metric, node, annotations, running.get(node.name, ()), thresholds)
        unseen = ("load thresholds",) if load and (config.load_unseen or decode_load.is_customised(annotations)) else ()
        return structs.replace(
            node, load=load, volume_limits=decode.volume_limits(limits), unseen=(*node.unseen, *unseen)
        )

    def _reserved(self) -> list[pods.RunningPod]:
        return [
            decode.reserved_rest(reserved, self._drawn_from(name))
            for name, reserved in sorted(self._reservations.items())
            if decode.reservation(reserved) is not None
        ]

    def _drawn_from(self, reservation: str) -> dict[str, int]:
        """Return what the owners of a reservation request together."""
        drawn: dict[str, int] = {}
        for key, name in self._allocated.items():
            owner = self._pods.get(*key)
            if name == reservation and isinstance(owner, pods.RunningPod):
                for resource, amount in owner.shape.requests:
                    drawn[resource] = drawn.get(resource, 0) + amount
        return drawn

    def _version(self, chosen: str) -> tuple[str, str]:
        if chosen:
            return chosen, "as asked"
        image = version.scheduler_image(self._deployments)
        by_image = version.from_image(image) if image else None
        if by_image:
            return by_image, "from the image tag"
        if self.crd_version:
            return self.crd_version, "from the CRDs"
        return version.NEWEST_RELEASE, "assumed: the newest release known"
