"""From decoded objects to one Snapshot, whatever they were read from."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import ValidationError, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.collecting import home, joined, pod_claims
from kubectl_koord.cluster.kind import Kind
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.koordinator import scheduler
from kubectl_koord.cluster.objects.koordinator.reservations import reads_namespaces
from kubectl_koord.cluster.objects.kubernetes import nodes, resource_claims, storage
from kubectl_koord.cluster.objects.pods.decode import pod
from kubectl_koord.cluster.objects.pods.fields import Pod
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.cluster.objects.pods.reservations import operating
from kubectl_koord.cluster.objects.pods.trace import trace
from kubectl_koord.cluster.pod_store import AnyPod, PodStore, Store, of_containers
from kubectl_koord.engine.rules import rules
from kubectl_koord.errors import KoordError
from kubectl_koord.model import objects, pods, traces
from kubectl_koord.model.installation import HOME
from kubectl_koord.model.others.volcano import Volcano
from kubectl_koord.model.resource_claims import DynamicResources
from kubectl_koord.model.snapshot import Gap, Snapshot
from kubectl_koord.model.storage import Storage
from kubectl_koord.model.values import quantity

if TYPE_CHECKING:
    from kubectl_koord.cluster.reading.apart import Reducer
    from kubectl_koord.cluster.recorded import Recording
    from kubectl_koord.model.reservations import Reservation

V = TypeVar("V")
_OTHER = "other object"


def uses_volumes(pod: pods.PendingPod) -> bool:
    """Tell whether a pod uses a volume claim."""
    return bool(pod.requirements.claims or pod.requirements.ephemeral)


class Collector:
    """Takes objects one by one, in any order, and yields the Snapshot.

    The later of two objects of one kind and name wins, as it would in the API.
    """

    def __init__(
        self, pool: PodPool | None = None, seen: dict[str, int] | None = None, *, traced: bool = False
    ) -> None:
        """Start with an empty cluster.

        Args:
            pool: the values that objects have in common; parts of one cluster share it.
            seen: is counted up, by kind, for who watches the reading.
            traced: whether every pod is also kept as a trace.

        What is set as `when_waiting` is called with each pod that waits, as soon as it is taken.

        """
        self._pool = pool or PodPool()
        self._seen = {} if seen is None else seen
        self._traced = traced
        self._traces: dict[tuple[str, str], traces.PodTrace] = {}
        self._pods = PodStore()
        self._operating: dict[tuple[str, str], Reservation] = {}
        self._said = joined.Said()
        self._values: dict[str, dict[Any, Any]] = {name: {} for name in kinds.KINDS if name != kinds.POD.name}
        self.wire_types = kinds.WIRE_TYPES
        self.kinds: set[str] = set()
        self.crd_version: str | None = None
        self.looked_in = ""
        self.when_waiting: Callable[[pods.PendingPod], None] | None = None
        self.recording: Recording | None = None
        self._stores: dict[str, tuple[Store, ...]] = {
            **{name: (values,) for name, values in self._values.items()},
            kinds.NODE.name: (self.values(kinds.NODE), self._said.annotations, self._said.settings),
            kinds.POD.name: (self._pods, self._operating, self._traces),
        }

    def add(self, kind: str, written: Any) -> None:  # noqa: ANN401
        """Take one decoded object (of `wire_types[kind]`).

        Raises:
            KoordError: naming the object whose value cannot be read.

        """
        self.add_all(kind, (written,))

    def add_all(self, kind: str, written: Sequence[Any]) -> None:
        """Take decoded objects of one kind (of `wire_types[kind]`).

        Raises:
            KoordError: naming the object whose value cannot be read.

        """
        self._take_all(kind, written, self._taker(kind), attrgetter("metadata"))

    def count_other(self) -> None:
        """Take note of what is none of the kinds, for who watches the reading."""
        self._seen[_OTHER] = self._seen.get(_OTHER, 0) + 1

    def reducer(self, kind: str) -> "Reducer | None":  # noqa: ARG002 - others have some
        """Return what reduces objects of a kind in another process, None where that would spare nothing."""
        return None

    def _take_all(
        self, kind: str, written: Sequence[V], take: Callable[[V], None], meta_of: Callable[[V], Any]
    ) -> None:
        """Take objects of one kind; `meta_of` returns the metadata of the one that cannot be read."""
        if not written:
            return
        self.kinds.add(kind)
        self._seen[kind] = self._seen.get(kind, 0) + len(written)
        for one in written:
            try:
                take(one)
            except (quantity.QuantityError, ValidationError) as problem:
                meta = meta_of(one)
                name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
                raise KoordError(f"error: {kind} {name}: {problem}") from None

    def remove(self, kind: str, meta: Meta) -> None:
        """Forget the object of this name; one that was never taken is no fault."""
        key = kinds.KINDS[kind].key(meta)
        for store in self._stores[kind]:
            store.pop(key, None)

    def forget(self, kind: str) -> None:
        """Forget every object of a kind."""
        for store in self._stores[kind]:
            store.clear()

    def renew_pool(self) -> None:
        """Drop values that no object has any more: objects to come share new ones."""
        reads_namespaces = self._pool.reads_namespaces
        self._pool = PodPool()
        self._pool.reads_namespaces = reads_namespaces

    def part(self) -> "Collector":
        """Return an empty collector for a part of this cluster, to be merged when it is complete."""
        return Collector(self._pool, self._seen, traced=self._traced)

    def merge(self, part: "Collector") -> None:
        """Take over everything that a part has taken."""
        self.kinds |= part.kinds
        for kind, stores in self._stores.items():
            for mine, theirs in zip(stores, part._stores[kind], strict=True):  # noqa: SLF001
                mine.update(theirs)

    def _taker(self, kind: str) -> Callable[[Any], None]:
        """Return what takes an object of a kind.

        It is no field: a collector that holds methods of its own would stay until a garbage collection, which never is.
        """
        if kind == kinds.POD.name:
            return self._take_pod
        return self._take_node if kind == kinds.NODE.name else partial(self._keep, kinds.KINDS[kind])

    def _keep(self, kind: Kind[Any, Any], written: Any) -> None:  # noqa: ANN401
        key = kind.key(written.metadata)
        value = kind.value(written) if kind.value else written
        if value is not None:
            self._values[kind.name][key] = value

    def _take_node(self, written: nodes.Node | nodes.ListedNode) -> None:
        self.values(kinds.NODE)[written.metadata.name] = nodes.node(written, self._pool)
        self._said.take(written)

    def _take_pod(self, written: Pod) -> None:
        taken = pod(written, self._pool)
        self._pods.add(taken)
        if isinstance(taken, pods.RunningPod) and taken.offers:
            self._operating[taken.namespace, taken.name] = operating(written, taken)
        elif self._operating:
            self._operating.pop((taken.namespace, taken.name), None)
        if self._traced:
            self._traces[taken.namespace, taken.name] = trace(written)
        if self.when_waiting and isinstance(taken, pods.PendingPod):
            self.when_waiting(taken)

    def keep_pod(self, pod: pods.PendingPod) -> None:
        """Take a pod that waits and was decoded already, in place of one of the same name."""
        self.kinds.add(kinds.POD.name)
        self._pods.add(pod)
        self._operating.pop((pod.namespace, pod.name), None)

    def forget_pods_of(self, owners: Collection[tuple[str, str]]) -> None:
        """Forget the pods that these have: namespace, and `Kind/name`."""
        gone = [(pod.namespace, pod.name) for pod in self._pods.every() if (pod.namespace, pod.owner) in owners]
        for key in gone:
            self._pods.pop(key, None)

    def values(self, kind: Kind[Any, V]) -> dict[Any, V]:
        """Return what is kept of any kind but Pod, by the row's key."""
        values: dict[Any, V] = self._values[kind.name]
        return values

    @property
    def every_pod(self) -> Iterable[AnyPod]:
        """The pods taken so far, in no order."""
        return self._pods.every()

    @property
    def nodes(self) -> Mapping[str, objects.Node]:
        """The nodes taken so far, by name, without what other objects say of them."""
        return self.values(kinds.NODE)

    @property
    def topologies(self) -> Mapping[str, objects.NetworkTopology]:
        """The topologies taken so far, by name."""
        return self.values(kinds.NETWORK_TOPOLOGY)

    @property
    def has_claims(self) -> bool:
        """Whether any pending pod uses a volume claim."""
        return any(map(uses_volumes, self._pods.waiting()))

    @property
    def has_resource_claims(self) -> bool:
        """Whether any pending pod uses a resource claim."""
        return any(pod.resource_claims for pod in self._pods.waiting())

    @property
    def reads_namespaces(self) -> bool:
        """Whether a term of any pod, or of what a Reservation stands for, selects namespaces by their labels."""
        return self._pool.reads_namespaces or any(map(reads_namespaces, self.values(kinds.RESERVATION).values()))

    @property
    def by_containers_too(self) -> bool:
        """Whether any pod requests something as a whole."""
        return self._pool.by_containers_too

    @property
    def has_volcano_classes(self) -> bool:
        """Whether any PodGroup of Volcano names a PriorityClass."""
        return any(group.priority_class for group in self.values(kinds.VOLCANO_GROUP).values())

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
        """Return all that was taken as one value; `chosen_version` beats what the cluster says.

        `lease_seen` is when the API server listed leases (empty: it did not say), None where it did not.
        """
        running, waiting, finished = self._pods.sorted()
        gaps = tuple(gaps)
        if self.has_resource_claims:
            waiting = pod_claims.with_claims(waiting, self.values(kinds.RESOURCE_CLAIM), gaps)
        volumes = self.values(kinds.VOLUME)
        own = self.scheduler()
        version = scheduler.version(chosen_version, own.image, self.crd_version, own.flags)
        if self.by_containers_too and not rules(version[0]).knows_pod_resources:
            running, waiting = of_containers(running), joined.of_containers(waiting)
        config = structs.replace(
            scheduler.config(*version, own.parsed, own.flags, own.own_flags),
            home=own.home,
            deployment=own.installed,
            unread=own.unread,
        )
        written = [one for _, one in sorted(self.values(kinds.RESERVATION).items())]
        held = joined.reserved(written, moment, self.values(kinds.NODE), running, self._pool)
        reserve_pods = joined.reserve_pods(written, moment, config.version, self._pool)
        of_gangs = [pod for pod in reserve_pods if pod.gang]
        return Snapshot(
            moment=moment,
            nodes=joined.completed_nodes(self.values, self._said, config),
            running=running,
            pending=joined.by_name((*waiting, *of_gangs)) if of_gangs else waiting,
            finished=finished,
            pod_groups=dict(sorted(self.values(kinds.POD_GROUP).items())),
            topologies=dict(sorted(self.values(kinds.NETWORK_TOPOLOGY).items())),
            migrations=tuple(job for _, job in sorted(self.values(kinds.MIGRATION_JOB).items())),
            volcano=Volcano(
                groups=dict(sorted(self.values(kinds.VOLCANO_GROUP).items())),
                queues=dict(sorted(self.values(kinds.VOLCANO_QUEUE).items())),
                policies={name: one.preemption_policy for name, one in self.values(kinds.PRIORITY_CLASS).items()},
            ),
            budgets=tuple(budget for _, budget in sorted(self.values(kinds.DISRUPTION_BUDGET).items())),
            quotas=tuple(quota for _, quota in sorted(self.values(kinds.ELASTIC_QUOTA).items())),
            reservations=(*(one for one, _ in held), *(one for _, one in sorted(self._operating.items()))),
            reserved=tuple(room for _, room in held),
            reserve_pods=reserve_pods,
            reserved_members=joined.reserved_members(written),
            claims={
                claim.name: storage.with_volume(claim, volumes.get(claim.volume))
                for _, claim in sorted(self.values(kinds.VOLUME_CLAIM).items())
            },
            storage=self._storage(),
            leases=None
            if lease_seen is None
            else tuple(
                structs.replace(lease, seen=lease_seen)
                for key, lease in self.values(kinds.LEASE).items()
                if key == own.lease
            ),
            dynamic_resources=self._dynamic_resources(),
            namespaces={}
            if any(gap.kind == kinds.NAMESPACE.name for gap in gaps)
            else dict(sorted(self.values(kinds.NAMESPACE).items())),
            gaps=tuple(sorted(filter(joined.is_lack, gaps), key=lambda gap: gap.kind)),
            config=config,
            source=source,
            namespace_only=namespace_only,
            events=tuple(event for _, event in sorted(self.values(kinds.EVENT).items(), key=lambda item: item[0])),
            traces=tuple(one for _, one in sorted(self._traces.items(), key=lambda item: item[0])),
        )

    def scheduler(self) -> home.Scheduler:
        """Return the scheduler among what was taken."""
        return home.found(
            self.values(kinds.DEPLOYMENT).values(), self.values(kinds.CONFIG_MAP), self.looked_in or HOME.namespace
        )

    def _storage(self) -> Storage:
        """Return what unbound claims may get their volumes from, the smallest free volumes first."""
        volumes = [one.free for one in self.values(kinds.VOLUME).values() if one.free is not None]
        return Storage(
            volumes=tuple(sorted(volumes, key=lambda one: (one.size, one.name))),
            classes=dict(sorted(self.values(kinds.STORAGE_CLASS).items())),
            tracked=frozenset(self.values(kinds.CSI_DRIVER)),
            capacities=tuple(one for _, one in sorted(self.values(kinds.STORAGE_CAPACITY).items())),
        )

    def _dynamic_resources(self) -> DynamicResources:
        slices, claims = self.values(kinds.RESOURCE_SLICE), self.values(kinds.RESOURCE_CLAIM)
        return resource_claims.dynamic_resources(self.values(kinds.DEVICE_CLASS), slices.values(), claims.values())
