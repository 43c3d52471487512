"""From decoded objects to one Snapshot, whatever they were read from."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec import Struct, ValidationError, field, structs

from kubectl_koord.cluster import kinds
from kubectl_koord.cluster.kinds import Kind
from kubectl_koord.cluster.objects import (
    configuration,
    descheduler,
    metrics,
    node_topology,
    reservations,
    resource_claims,
    settings,
    storage,
)
from kubectl_koord.cluster.objects import nodes as nodes_module
from kubectl_koord.cluster.objects import scheduler as scheduler_module
from kubectl_koord.cluster.objects.events import profiles
from kubectl_koord.cluster.objects.fields import Meta, Strings, namespace
from kubectl_koord.cluster.objects.listed import ListedPods, node
from kubectl_koord.cluster.objects.pod_wire import Pod
from kubectl_koord.cluster.objects.pods import PodPool, operating, pod, trace
from kubectl_koord.cluster.objects.reservations import reads_namespaces
from kubectl_koord.cluster.objects.resource_claims import ClaimOfCluster
from kubectl_koord.cluster.objects.settings import DESCHEDULER, MANAGER, SCHEDULER, Deployment
from kubectl_koord.cluster.pod_store import AnyPod, PodStore, Store, of_containers
from kubectl_koord.cluster.protobuf import Message
from kubectl_koord.engine.rules import rules
from kubectl_koord.errors import KoordError
from kubectl_koord.language import say
from kubectl_koord.model import installation as installation_module
from kubectl_koord.model import objects, pods
from kubectl_koord.model.hardware import MOST_ZONES, NodeDevices, NodeNUMA
from kubectl_koord.model.installation import HOME, ConfigState, Descheduler, Home, Installation, Volcano, is_older
from kubectl_koord.model.load import LoadSettings, NodeMetric
from kubectl_koord.model.objects import Storage
from kubectl_koord.model.pods import PendingPod
from kubectl_koord.model.reservations import Reservation, ReservedMember
from kubectl_koord.model.resource_claims import DynamicResources, PodClaim
from kubectl_koord.model.snapshot import Gap, SchedulerConfig, Snapshot
from kubectl_koord.model.unevaluated import NodeSetting
from kubectl_koord.model.values import QuantityError

if TYPE_CHECKING:
    from kubectl_koord.cluster.around import Around
    from kubectl_koord.cluster.recorded import Recording


_Key = tuple[str, str]


class Scheduler(Struct, frozen=True):
    """The scheduler. `parsed` is its configuration, None where it is absent or unreadable, and `fault` why.

    `place` is where the Deployment has it from, None for an unknown place; `unused` are ConfigMaps that hold another.
    """

    home: Home
    deployment: Deployment | None = None
    image: str = ""
    flags: tuple[str, ...] = ()
    own_flags: tuple[str, ...] = ()
    state: ConfigState = "absent"
    parsed: dict[str, Any] | None = None
    lease: _Key = ("", "")
    fault: str = ""
    place: settings.Config | None = None
    unused: tuple[str, ...] = ()

    @property
    def unread(self) -> str:
        """Why the configuration was not read, empty where it was or the reason is unknown."""
        if self.state == "elsewhere" and self.place is not None:
            return f"it is in a volume that is no ConfigMap: {self.place.volume}"
        return self.fault and f"the scheduler cannot start with it: {self.fault}"

    @property
    def installed(self) -> installation_module.Deployment | None:
        """How it is installed, None where its Deployment was not read."""
        return settings.installed(self.deployment, SCHEDULER) if self.deployment is not None else None


def found(
    written: Iterable[Deployment], config_maps: Mapping[_Key, scheduler_module.ConfigMap], looked_in: str
) -> Scheduler:
    """Return the scheduler: the one of the usual name in the namespace that was looked in, if there is one."""
    own = settings.find(written, SCHEDULER, looked_in)
    place = settings.config_of(own) if own else None
    home = namespace(own.metadata) if own else looked_in
    flags = tuple(settings.words(own)) if own else ()
    is_elsewhere = place is not None and not place.name
    name, key, _ = place if place and place.name else settings.Config(scheduler_module.CONFIG, scheduler_module.CONFIG)
    known = [one for one in config_maps if one[1] == name or (place is None and _is_usual(config_maps[one]))]
    chosen = None if is_elsewhere else min(known, key=lambda one: (one[0] != home, one[1] != name, one), default=None)
    text = scheduler_module.text_of(config_maps[chosen], key) if chosen else None
    image = settings.image(own, SCHEDULER) if own else ""
    fault = configuration.fault(text, scheduler_module.from_image(image) or "") if text and not is_older(image) else ""
    parsed = scheduler_module.parsed(text) if text and not fault else None
    lease_name, lease_home = scheduler_module.lease_of(parsed or {}, flags)
    return Scheduler(
        home=Home(home, own.metadata.name if own else SCHEDULER, name, lease_name),
        deployment=own,
        image=image,
        flags=flags,
        own_flags=tuple(settings.words_of(own, SCHEDULER)) if own else (),
        state=_state(text, parsed, is_elsewhere=is_elsewhere),
        parsed=parsed,
        fault=fault,
        place=place,
        unused=tuple(sorted(one[1] for one in config_maps if one != chosen and _is_usual(config_maps[one]))),
        lease=(lease_home or home, lease_name),
    )


def _state(text: str | None, parsed: object, *, is_elsewhere: bool) -> ConfigState:
    if is_elsewhere:
        return "elsewhere"
    return "absent" if not text else "unreadable" if parsed is None else "read"


def parts(own: Scheduler, written: Iterable[Deployment]) -> tuple[installation_module.Deployment, ...]:
    """Return the components of Koordinator that were found: manager, descheduler, scheduler."""
    there = list(written)
    beside = ((settings.find(there, part, own.home.namespace), part) for part in (MANAGER, DESCHEDULER))
    every = (*beside, (own.deployment, SCHEDULER))
    return tuple(settings.installed(one, part) for one, part in every if one is not None)


def _is_usual(config_map: scheduler_module.ConfigMap) -> bool:
    """Tell whether a ConfigMap of another name holds the configuration under the usual key."""
    return scheduler_module.CONFIG in (config_map.data or {})


def descheduler_config(own: Deployment | None, usual: str) -> tuple[_Key, str]:
    """Return where the configuration of koord-descheduler is: namespace and name of the ConfigMap, and the key in it.

    `own`: its Deployment, None where none was read. `usual`: the namespace that counts then.
    """
    place = (settings.config_of(own) if own else None) or settings.Config(descheduler.CONFIG, descheduler.CONFIG)
    return (namespace(own.metadata) if own else usual, place.name), place.key


def descheduler_found(
    own: Deployment | None, config_maps: Mapping[_Key, scheduler_module.ConfigMap], usual: str
) -> Descheduler | None:
    """Return how koord-descheduler is configured, None where that was not read; the arguments are as above."""
    where, key = descheduler_config(own, usual)
    written = config_maps.get(where)
    text = descheduler.text_of(written.data or {}, key) if written else None
    parsed = scheduler_module.parsed(text) if text else None
    state: ConfigState = "absent" if not text else "unreadable" if parsed is None else "read"
    return descheduler.configuration(state, parsed or {})


V = TypeVar("V")

Held: TypeAlias = tuple[Reservation, pods.ReservedRoom]

Attached: TypeAlias = tuple[tuple[str, str], ...]
"""The drivers and handles of the volumes that are attached to a node."""


class Said(Struct, frozen=True):
    """Annotations and labels of nodes for other kinds, by node name: those for NodeMetrics, and NUMA settings."""

    annotations: dict[str, Strings] = field(default_factory=dict)
    settings: dict[str, node_topology.Settings] = field(default_factory=dict)

    def take(self, node: nodes_module.Node) -> None:
        """Add a node's annotations and labels."""
        meta = node.metadata
        _keep(self.annotations, meta.name, metrics.annotations_of(meta.annotations))
        _keep(self.settings, meta.name, node_topology.settings(meta.labels, meta.annotations))


def _keep(kept: dict[str, V], name: str, value: V | None) -> None:
    """Keep a value under a name, and nothing where there is none."""
    if value:
        kept[name] = value
    else:
        kept.pop(name, None)


class Completed(Struct):
    """The nodes as they were last, with what each was joined of: most are the same in the next snapshot."""

    load: LoadSettings | None = None
    kept: dict[str, tuple[tuple[object, ...], objects.Node]] = field(default_factory=dict)


def completed_nodes(
    values: Callable[[Kind[Any, Any]], Mapping[str, Any]],
    said: Said,
    config: SchedulerConfig,
    completed: Completed,
) -> dict[str, objects.Node]:
    """Return the nodes in name order, joined with the other objects of their names in `values`."""
    measured, limits, devices = values(kinds.NODE_METRIC), values(kinds.CSI_NODE), values(kinds.DEVICE)
    topologies = values(kinds.NODE_TOPOLOGY)
    before = completed.kept if completed.load == config.load else {}
    kept = {}
    for name, own in sorted(values(kinds.NODE).items()):
        zones = said.settings.get(name), topologies.get(name)
        parts = (measured.get(name), limits.get(name), devices.get(name), said.annotations.get(name))
        known = before.get(name)
        if known is not None and all(map(is_, known[0], (own, *zones, *parts))):
            kept[name] = known
        else:
            numa = node_topology.of_node(*zones)
            kept[name] = (own, *zones, *parts), _completed(own, config, numa, *parts)
    completed.load, completed.kept = config.load, kept
    found = {name: node for name, (_, node) in kept.items()}
    volumes = attached(values(kinds.VOLUME_ATTACHMENT).values(), values(kinds.VOLUME))
    for name in volumes.keys() & found.keys():
        found[name] = structs.replace(found[name], attached=volumes[name])
    return found


def _completed(
    node: objects.Node,
    config: SchedulerConfig,
    numa: NodeNUMA | None,
    metric: NodeMetric | None,
    limits: tuple[tuple[str, int], ...] | None,
    devices: NodeDevices | None,
    annotations: Strings | None,
) -> objects.Node:
    """Return the node joined with its load, volumes, devices, CPUs and NUMA zones."""
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
    written: Iterable[storage.VolumeAttachment], volumes: Mapping[str, storage.ClusterVolume]
) -> dict[str, Attached]:
    """Return the driver and handle of each CSI volume that is attached to a node.

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


def joined_reserve_pods(
    written: Iterable[reservations.Reservation], moment: str, version: str, pool: PodPool
) -> tuple[pods.PendingPod, ...]:
    """Return the pods that stand for Reservations which are to be placed, by name."""
    waits = rules(version).places_waiting_reservations
    found = (reservations.reserve_pod(one, moment, pool, waiting_too=waits) for one in written)
    # Claims are those of real pods: there are none for what a reservation stands for.
    return by_name(structs.replace(pod, resource_claims=()) for pod in found if pod is not None)


def joined_of_containers(waiting: Iterable[pods.PendingPod]) -> tuple[pods.PendingPod, ...]:
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


def with_claims(
    waiting: Iterable[PendingPod], known: Mapping[str, ClaimOfCluster], gaps: Iterable[Gap]
) -> tuple[PendingPod, ...]:
    """Return the pods with their ResourceClaims; without any where the API does not serve these."""
    if any(gap.kind == kinds.RESOURCE_CLAIM.name and gap.code == "missing" for gap in gaps):
        return tuple(structs.replace(pod, resource_claims=()) for pod in waiting)
    return tuple(
        structs.replace(pod, resource_claims=tuple(_found(claim, known) for claim in pod.resource_claims))
        if pod.resource_claims
        else pod
        for pod in waiting
    )


def _found(claim: PodClaim, known: Mapping[str, ClaimOfCluster]) -> PodClaim:
    found = known.get(claim.claim)
    return claim if found is None else structs.replace(claim, found=found.claim)


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
        """Begin an empty cluster.

        Lists of a kind that is in `messages` may come as protobuf, and its objects as such messages of the schema.
        What is set as `when_waiting` is called with each pod that waits, as soon as it is taken. Where `around` is set,
        files hand it every object besides.

        Args:
            pool: the values that objects have in common; parts of one cluster share it.
            seen: is counted up, by kind, for who watches the reading.
            traced: whether every pod is also kept as a trace.
        """
        self._pool = pool or PodPool()
        self._seen = {} if seen is None else seen
        self._traced = traced
        self._traces: dict[tuple[str, str], pods.PodTrace] = {}
        self._listed = ListedPods()
        self._pods = PodStore()
        self._operating: dict[tuple[str, str], Reservation] = {}
        self._said = Said()
        self._completed = Completed()
        self._values: dict[str, dict[Any, Any]] = {name: {} for name in kinds.KINDS if name != kinds.POD.name}
        self.wire_types = kinds.WIRE_TYPES
        self.messages = {kinds.NODE.name: "Node", kinds.POD.name: "Pod"}
        self.kinds: set[str] = set()
        self.crd_version: str | None = None
        self.looked_in = ""
        self.when_waiting: Callable[[pods.PendingPod], None] | None = None
        self.recording: Recording | None = None
        self.around: Around | None = None
        self._stores: dict[str, tuple[Store, ...]] = {
            **{name: (values,) for name, values in self._values.items()},
            kinds.NODE.name: (self.values(kinds.NODE), self._said.annotations, self._said.settings),
            kinds.POD.name: (self._pods, self._operating, self._traces),
        }

    def add(self, kind: str, written: Any) -> None:  # noqa: ANN401
        """Take one decoded object (of `wire_types[kind]`).

        Raises KoordError, naming the object whose value cannot be read.
        """
        self.add_all(kind, (written,))

    def renew(self, kind: str, written: Any) -> bool:  # noqa: ANN401
        """Take an object as `add` does, and tell whether it is new, or something else is kept of it than before."""
        before = self._stored(kind, written.metadata)
        self.add_all(kind, (written,))
        return before is None or before != self._stored(kind, written.metadata)

    def _stored(self, kind: str, meta: Meta) -> tuple[object, ...] | None:
        """Return what is kept of an object, None where there is nothing."""
        key = kinds.KINDS[kind].key(meta)
        found = tuple(store.get(key) for store in self._stores[kind])
        return None if all(one is None for one in found) else found

    def add_all(self, kind: str, written: Sequence[Any]) -> None:
        """Take decoded objects of one kind (of `wire_types[kind]`).

        Raises KoordError, naming the object whose value cannot be read.
        """
        self._take_all(kind, written, self._taker(kind), attrgetter("metadata"))

    def count_other(self) -> None:
        """Take note of what is none of the kinds, for who watches the reading."""
        self._seen[_OTHER] = self._seen.get(_OTHER, 0) + 1

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
            except (QuantityError, ValidationError) as problem:
                meta = meta_of(one)
                name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
                raise KoordError(
                    say("error: {kind} {name}: {problem}", kind=kind, name=name, problem=problem)
                ) from None

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

    def _take_node(self, listed: nodes_module.Node | Message) -> None:
        written = node(listed)
        self.values(kinds.NODE)[written.metadata.name] = nodes_module.node(written, self._pool)
        self._said.take(written)

    def _take_pod(self, listed: Pod | Message) -> None:
        written, shape = (listed, b"") if isinstance(listed, Pod) else self._listed.pod(listed)
        taken = pod(written, self._pool, shape)
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
        """The nodes taken so far, by name, not yet joined with other objects."""
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
        """Return all objects as one value; `chosen_version` replaces the version that the cluster has.

        `lease_seen` is when the API server listed leases (empty: it did not say), None where it did not.
        """
        running, waiting, finished = self._pods.sorted()
        gaps = tuple(gaps)
        if any(pod.resource_claims for pod in waiting):
            waiting = with_claims(waiting, self.values(kinds.RESOURCE_CLAIM), gaps)
        volumes = self.values(kinds.VOLUME)
        own = self.scheduler()
        version = scheduler_module.version(chosen_version, own.image, self.crd_version, own.flags)
        if self.by_containers_too and not rules(version[0]).knows_pod_resources:
            running, waiting = of_containers(running), joined_of_containers(waiting)
        config = structs.replace(
            scheduler_module.config(*version, own.parsed, own.flags, own.own_flags),
            home=own.home,
            deployment=own.installed,
            unread=own.unread,
        )
        written = [one for _, one in sorted(self.values(kinds.RESERVATION).items())]
        held = reserved(written, moment, self.values(kinds.NODE), running, self._pool)
        reserve_pods = joined_reserve_pods(written, moment, config.version, self._pool)
        of_gangs = [pod for pod in reserve_pods if pod.gang]
        return Snapshot(
            moment=moment,
            nodes=completed_nodes(self.values, self._said, config, self._completed),
            running=running,
            pending=by_name((*waiting, *of_gangs)) if of_gangs else waiting,
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
            reserved_members=reserved_members(written),
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
            gaps=tuple(sorted(filter(is_lack, gaps), key=lambda gap: gap.kind)),
            config=config,
            source=source,
            namespace_only=namespace_only,
            events=tuple(event for _, event in sorted(self.values(kinds.EVENT).items(), key=lambda item: item[0])),
            traces=tuple(one for _, one in sorted(self._traces.items(), key=lambda item: item[0])),
            jobs=self.around.jobs() if self.around else None,
        )

    def scheduler(self) -> Scheduler:
        """Return the scheduler among what was taken."""
        return found(
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


def installed_descheduler_config(collector: Collector) -> tuple[str, str]:
    """Return namespace and name of koord-descheduler's ConfigMap, from the Deployments that were read."""
    where, _ = descheduler_config(_descheduler(collector), collector.scheduler().home.namespace)
    return where


def installation(collector: Collector) -> Installation:
    """Return the parts of Koordinator, their configuration, and what belongs to them."""
    own = collector.scheduler()
    config_maps = collector.values(kinds.CONFIG_MAP)
    return Installation(
        deployments=parts(own, collector.values(kinds.DEPLOYMENT).values()),
        priority_classes=tuple(one for _, one in sorted(collector.values(kinds.PRIORITY_CLASS).items())),
        webhooks=(*collector.values(kinds.MUTATING).values(), *collector.values(kinds.VALIDATING).values()),
        config=own.state,
        config_fault=own.fault,
        config_from=_from(own),
        config_unused=own.unused,
        profiles=profiles(own.parsed or {}),
        kinds=tuple(sorted(collector.kinds)),
        agents=tuple(one for _, one in sorted(collector.values(kinds.DAEMON_SET).items())),
        descheduler=descheduler_found(_descheduler(collector), config_maps, own.home.namespace),
    )


def _from(own: Scheduler) -> str:
    """Return the source of the scheduler's configuration by its Deployment, empty for an unknown one."""
    if own.place is None:
        return ""
    return f"key {own.place.key} of ConfigMap {own.place.name}" if own.place.name else f"{own.place.volume} volume"


def _descheduler(collector: Collector) -> Deployment | None:
    beside = collector.scheduler().home.namespace
    return settings.find(collector.values(kinds.DEPLOYMENT).values(), settings.DESCHEDULER, beside)
