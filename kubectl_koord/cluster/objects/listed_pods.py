"""Pods of a list: each is compared with the last pod of its owner, and shared parts are decoded once."""

from typing import TypeVar

import msgspec
from msgspec import Struct, convert, field, structs

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.cluster.objects import pod_devices, pods, settings
from kubectl_koord.cluster.objects.fields import Meta, Owner
from kubectl_koord.cluster.objects.pod_wire import (
    ABSENT,
    FINISHED,
    ListedMeta,
    ListedPod,
    Pod,
    PodSpec,
    PodStatus,
    Volume,
)
from kubectl_koord.cluster.objects.pods import UNEVALUATED, PodPool, encoded, has_own_resources, requests, tying_volumes
from kubectl_koord.cluster.objects.pool import Amounts
from kubectl_koord.model import keys
from kubectl_koord.model.pods import PodAmounts, PodRequirements, RunningPod

READ = (
    *pod_devices.ANNOTATIONS,
    *sorted(UNEVALUATED),
    *settings.ANNOTATIONS,
    keys.RESOURCE_SPEC,
    keys.NUMA_TOPOLOGY_SPEC,
)
"""The annotations that requirements are made of."""
_ANY_READ = frozenset(READ)
_MOST_RECENT, _MOST_BYTES = 1 << 6, 1 << 23
_TOKEN, _PROJECTED = b'{"name":"kube-api-access-', b'","projected":'
_OFFERS = b"operating-mode"
_AFTER_INITIALIZED = READ.index(keys.LOAD_AFTER_INITIALIZED)

_encode = msgspec.json.encode


class _Last(msgspec.Struct, gc=False):
    """The last pod of an owner: what the next one is compared with, and what pods that equal it share.

    `spec` is without the node and volumes; `volumes` what stands before and behind the name of the one with the token;
    `read` the values of `READ`, 0 for each that is missing, or nothing where all are. `tying` are the volumes that can
    tie the pod to nodes. Of pods that have to be decoded as a whole `alike` is None.
    """

    namespace: str | None
    owned_by: msgspec.Raw
    spec: bytes
    labels: msgspec.Raw
    qos: str | None
    read: tuple[str | int | None, ...]
    volumes: tuple[bytes, bytes]
    tying: list[Volume]
    alike: pods.Alike | None


_MOST_FREE, _MOST = 1 << 11, 1 << 12
_SPREADS = b'"topologySpreadConstraints"'

K = TypeVar("K")
V = TypeVar("V")


class _Asking(msgspec.Struct, gc=False):
    spec: PodSpec


_asks = decoder(_Asking)
_strings = decoder(dict[str, str | None] | None)
_owners = decoder(list[Owner] | None)
_volumes = decoder(list[Volume] | None)


class ListedPods:
    """Decodes the bound pods of a list: what differs from the last pod of the owner, and nothing that equals it.

    Pods of one owner follow each other, so that few have to be kept; `pool` shares equal values.
    """

    def __init__(self, pool: PodPool) -> None:
        self._pool = pool
        self._last: _Last | None = None
        self._recent: dict[tuple[str | None, bytes], _Last] = {}
        self._bytes = 0
        self._requirements: dict[tuple[object, ...], PodRequirements] = {}
        self._free: dict[tuple[bytes, bytes], None] = {}

    def pod(self, written: ListedPod) -> RunningPod | None:
        """Return a bound pod; None of any other, and of the few that have to be decoded as a whole.

        Raises:
            QuantityError: when a request is no quantity.
            msgspec.ValidationError: when a field that is read has another type.

        """
        spec, meta = written.spec, written.metadata
        node, volumes = spec.node_name, spec.volumes
        if not node or written.status.phase in FINISHED:
            return None
        read: tuple[str | int | None, ...] = ()
        annotations = meta.annotations
        if annotations and not _ANY_READ.isdisjoint(annotations):
            read = tuple([annotations.get(name, 0) for name in READ])
        # The last pod of the owner is compared, not looked for: to hash all that is written costs more.
        last = self._last
        if last is None or last.owned_by != meta.owner_references or last.namespace != meta.namespace:
            last = self._recent.get(_owner(meta))
        spec.node_name, spec.volumes = None, ABSENT
        text, tied = _encode(spec), bytes(volumes)
        spec.node_name, spec.volumes = node, volumes
        if (
            last is None
            or last.labels != meta.labels
            or last.spec != text
            or last.read != read
            or last.qos != written.status.qos_class
            or not are_alike(tied, last.volumes)
        ):
            last = self._kept(self._decoded(written, text, tied, read, last), len(tied), is_known=last is not None)
        self._last = last
        if last.alike is None:
            return None
        own = annotations if annotations and not pods.ANNOTATIONS.isdisjoint(annotations) else None
        return pods.running(written, own, last.alike, self._pool)

    def _decoded(
        self, written: ListedPod, spec: bytes, volumes: bytes, read: tuple[str | int | None, ...], last: _Last | None
    ) -> _Last:
        """Return what pods share that equal this one, `last` being the one of its owner before."""
        meta = written.metadata
        if last and are_alike(volumes, last.volumes):
            parts, tying = last.volumes, last.tying
        else:
            parts = compared_parts(volumes)
            tying = self._tying(volumes, parts)
        found = _Last(
            meta.namespace,
            meta.owner_references.copy(),
            spec,
            meta.labels.copy(),
            written.status.qos_class,
            read,
            parts,
            tying,
            alike=None,
        )
        labels = bytes(meta.labels)
        # A pod may be a reservation, whose label may be written with backslashes, or it may count since when it is
        # initialized.
        if not (_OFFERS in labels or b"\\" in labels or (read and read[_AFTER_INITIALIZED])):
            found.alike = self._alike(found, labels, written.spec.priority or 0)
        return found

    def _alike(self, found: _Last, labels: bytes, priority: int) -> pods.Alike:
        meta = Meta(
            namespace=found.namespace,
            labels=_strings.decode(labels),
            owner_references=_owners.decode(found.owned_by) or [],
        )
        said = self._pool.pod_labels(meta.labels)
        key = (
            found.spec,
            found.qos,
            found.read,
            said.qos,
            tuple([owner.kind for owner in meta.owner_references or ()]),
            (meta.labels or {}).get(keys.GPU_ISOLATION),
            labels if _SPREADS in found.spec else b"",
        )
        requirements = self._requirements.get(key)
        if requirements is None:
            read = zip(READ, found.read, strict=False)  # nothing at all where nothing is read
            meta.annotations = {name: text for name, text in read if not isinstance(text, int)}
            status = PodStatus(qos_class=found.qos)
            requirements = self._pool.new_requirements(Pod(meta, _asking(found.spec), status))
            _keep(self._requirements, key, requirements, _MOST)
        if found.tying:
            requirements = self._pool.tied(requirements, found.tying)
        return pods.alike(meta, said, self._pool.priority(priority), requirements)

    def _kept(self, found: _Last, tied: int, *, is_known: bool) -> _Last:
        """Keep a pod to compare others with; `tied` are the bytes of its volumes, `is_known` whether one was kept."""
        if self._bytes > _MOST_BYTES or (not is_known and len(self._recent) >= _MOST_RECENT):
            self._recent.clear()
            self._bytes = 0
        owned_by = bytes(found.owned_by)
        self._bytes += len(found.spec) + len(bytes(found.labels)) + tied + len(owned_by)
        self._recent[found.namespace, owned_by] = found
        return found

    def _tying(self, volumes: bytes, parts: tuple[bytes, bytes]) -> list[Volume]:
        """Return the volumes that can tie a pod to nodes: most have none, and many owners share those."""
        if parts in self._free:
            return []
        found = tying_volumes(_volumes.decode(volumes) or [])
        if not found:
            _keep(self._free, parts, None, _MOST_FREE)
        return found


def _owner(meta: ListedMeta) -> tuple[str | None, bytes]:
    """Return the key of a pod's owner."""
    return meta.namespace, bytes(meta.owner_references)


def compared_parts(volumes: bytes) -> tuple[bytes, bytes]:
    """Return the volumes without what is a pod's own: in the name of the one with its token, which ties it nowhere."""
    at = volumes.rfind(_TOKEN) + len(_TOKEN)
    end = volumes.find(b'"', at)
    if at < len(_TOKEN) or not volumes.startswith(_PROJECTED, end):
        return volumes, b""
    return volumes[:at], volumes[end:]


def are_alike(volumes: bytes, parts: tuple[bytes, bytes]) -> bool:
    """Tell whether volumes equal others in all but the name of the volume with the token."""
    before, after = parts
    return (
        volumes.startswith(before)
        and volumes.endswith(after)
        and b'"' not in volumes[len(before) : len(volumes) - len(after)]
    )


def _asking(spec: bytes) -> PodSpec:
    """Return a spec with all its fields; pods of their own claims differ in volumes, which are not among them.

    Raises:
        msgspec.ValidationError: when one of them has another type.

    """
    found: _Asking = _asks.decode(b'{"spec":' + spec + b"}")
    return found.spec


def _keep(known: dict[K, V], key: K, value: V, most: int) -> None:
    if len(known) >= most:
        known.clear()
    known[key] = value


class PlacedMeta(Struct, gc=False):
    """metadata of a Pod, for messages."""

    name: str = ""
    namespace: str | None = None


class Requested(Struct, gc=False, omit_defaults=True):
    """containers[].resources."""

    requests: Amounts | None = None


class PlacedContainer(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec.containers[] and initContainers[]."""

    resources: Requested | None = None
    restart_policy: str | None = None


class PlacedSpec(Struct, gc=False, omit_defaults=True, rename="camel"):
    """spec of a Pod."""

    node_name: str | None = None
    containers: list[PlacedContainer] | None = None
    init_containers: list[PlacedContainer] | None = None
    overhead: Amounts | None = None
    resources: Requested | None = None


class PlacedStatus(Struct, gc=False):
    """status of a Pod."""

    phase: str | None = None


class PlacedPod(Struct, gc=False):
    """One Pod."""

    metadata: PlacedMeta
    spec: PlacedSpec = field(default_factory=PlacedSpec)
    status: PlacedStatus = field(default_factory=PlacedStatus)


class Rooms:
    """The requests of pods for sums: one shared value for all pods with equal requests, without names.

    `by_containers_too` is set once a pod was seen that requests something as a whole.
    """

    def __init__(self) -> None:
        self.by_containers_too = False
        self._by_spec: dict[bytes, RunningPod] = {}

    def of(self, written: PlacedPod) -> RunningPod:
        """Return what a pod takes up. Raises QuantityError when a request is no quantity."""
        spec = written.spec
        spec.node_name = None
        key = encoded(spec)
        found = self._by_spec.get(key)
        if found is None:
            whole = convert(spec, PodSpec, from_attributes=True)
            requested = PodRequirements(requests=requests(whole))
            if has_own_resources(whole):
                less = PodAmounts(requests(structs.replace(whole, resources=None)))
                requested = structs.replace(requested, by_containers=less)
                self.by_containers_too = True
            found = self._by_spec[key] = RunningPod("", "", "", 0, requested)
        return found
