"""Pods of a list: each is compared with the last one of its owner, and what they share is decoded once."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec
from msgspec import Struct, convert, field, structs

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.cluster.objects import pod_devices, pods, settings
from kubectl_koord.cluster.objects.fields import Meta, Owner
from kubectl_koord.cluster.objects.pod_wire import (
    ABSENT,
    FINISHED,
    BoundPod,
    Common,
    ListedMeta,
    ListedPod,
    Pod,
    PodSpec,
    PodStatus,
    Told,
    Volume,
)
from kubectl_koord.cluster.objects.pods import UNEVALUATED, PodPool, encoded, has_own_resources, requests, tying_volumes
from kubectl_koord.cluster.objects.pool import Amounts
from kubectl_koord.model.pods import PodAmounts, PodRequirements, RunningPod

READ = (*pod_devices.ANNOTATIONS, *sorted(UNEVALUATED), *settings.ANNOTATIONS, pods.SPEC, pods.TOPOLOGY_SPEC)
"""The annotations that requirements are made of."""
_ANY_READ = frozenset(READ)
_MOST_RECENT, _MOST_BYTES = 1 << 6, 1 << 23
_TOKEN, _PROJECTED = b'{"name":"kube-api-access-', b'","projected":'
_OFFERS = b"operating-mode"
_AFTER_INITIALIZED = READ.index(settings.AFTER_INITIALIZED)

_encode = msgspec.json.encode


class _Last(msgspec.Struct, gc=False):
    """The last pod of an owner: what the next one is compared with.

    `spec` is without the node and volumes; `volumes` what stands before and behind the name of the one with the token.
    `is_whole` is whether such pods are told whole, as few are.
    """

    group: int
    namespace: str | None
    owned_by: msgspec.Raw
    spec: bytes
    labels: msgspec.Raw
    qos: str | None
    read: tuple[str | int | None, ...]
    volumes: tuple[bytes, bytes]
    is_whole: bool


class PodComparer:
    """Compares listed pods. Pods of one owner follow each other, so that little has to be kept for them."""

    def __init__(self) -> None:
        """Start with nothing seen."""
        self._last: _Last | None = None
        self._recent: dict[tuple[str | None, bytes], _Last] = {}
        self._bytes = 0

    def told(self, written: ListedPod) -> Told:
        """Return what is to be told of a pod, which `ListedPods` takes in the same order."""
        spec, meta = written.spec, written.metadata
        node, volumes = spec.node_name, spec.volumes
        if not node or written.status.phase in FINISHED:
            return _encode(written)
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
        common = None
        if (
            last is None
            or last.labels != meta.labels
            or last.spec != text
            or last.read != read
            or last.qos != written.status.qos_class
            or not are_alike(tied, last.volumes)
        ):
            common = Common(
                meta.namespace,
                bytes(meta.owner_references),
                bytes(meta.labels),
                text,
                tied,
                spec.priority or 0,
                written.status.qos_class,
                read,
            )
            last = self._kept(written, common, last)
        self._last = last
        if last.is_whole:
            return _encode(written)
        found = pods.bound(written, _own(annotations) if annotations else None, last.group)
        found.common = common
        return found

    def _kept(self, written: ListedPod, common: Common, last: _Last | None) -> _Last:
        """Keep a pod to compare others with, `last` being the one of its owner before."""
        if self._bytes > _MOST_BYTES or (last is None and len(self._recent) >= _MOST_RECENT):
            self._recent.clear()
            self._bytes, last = 0, None
        self._bytes += len(common.spec) + len(common.labels) + len(common.volumes) + len(common.owned_by)
        meta = written.metadata
        kept = self._recent[_owner(meta)] = _Last(
            group=last.group if last else len(self._recent),
            namespace=meta.namespace,
            owned_by=meta.owner_references.copy(),
            spec=common.spec,
            labels=meta.labels.copy(),
            qos=common.qos,
            read=common.read,
            volumes=last.volumes
            if last and are_alike(common.volumes, last.volumes)
            else compared_parts(common.volumes),
            # They may be reservations, for which a backslash may stand for any letter, or since when they are
            # initialized counts.
            is_whole=_OFFERS in common.labels
            or b"\\" in common.labels
            or bool(common.read and common.read[_AFTER_INITIALIZED]),
        )
        return kept


def _own(annotations: Mapping[str, str | None]) -> Mapping[str, str | None] | None:
    """Return the annotations that are read of each bound pod, None for none of them."""
    if pods.ANNOTATIONS.isdisjoint(annotations):
        return None
    return {name: annotations[name] for name in pods.ANNOTATIONS if name in annotations}


def _owner(meta: ListedMeta) -> tuple[str | None, bytes]:
    """Return what pods of one owner have alike."""
    return meta.namespace, bytes(meta.owner_references)


def compared_parts(volumes: bytes) -> tuple[bytes, bytes]:
    """Return the volumes without what is a pod's own: in the name of the one with its token, which ties it nowhere."""
    at = volumes.rfind(_TOKEN) + len(_TOKEN)
    end = volumes.find(b'"', at)
    if at < len(_TOKEN) or not volumes.startswith(_PROJECTED, end):
        return volumes, b""
    return volumes[:at], volumes[end:]


def are_alike(volumes: bytes, parts: tuple[bytes, bytes]) -> bool:
    """Tell whether volumes have the same parts, and nothing between them but a name."""
    before, after = parts
    return (
        volumes.startswith(before)
        and volumes.endswith(after)
        and b'"' not in volumes[len(before) : len(volumes) - len(after)]
    )


_MOST_FREE, _MOST = 1 << 11, 1 << 12
_SPREADS = b'"topologySpreadConstraints"'

K = TypeVar("K")
V = TypeVar("V")


class _Asking(msgspec.Struct, gc=False):
    spec: PodSpec


class _Found(msgspec.Struct, gc=False):
    """What was found out of the last pod of a group whose common fields were told.

    `volumes` are their parts, as `compared.parts` has them, `tying` those that can tie the pod to nodes.
    """

    namespace: str | None
    owned_by: bytes
    volumes: tuple[bytes, bytes]
    tying: list[Volume]
    owners: list[Owner]
    alike: pods.Alike


_asks = decoder(_Asking)
_strings = decoder(dict[str, str | None] | None)
_owners = decoder(list[Owner] | None)
_volumes = decoder(list[Volume] | None)


class ListedPods:
    """Makes bound pods of what a `PodComparer` tells of them, in the same order."""

    def __init__(self, pool: PodPool) -> None:
        """Start with nothing seen; `pool` is what pods share."""
        self._pool = pool
        self._groups: dict[int, _Found] = {}
        self._requirements: dict[tuple[object, ...], PodRequirements] = {}
        self._free: dict[tuple[bytes, bytes], None] = {}

    def pod(self, told: BoundPod) -> RunningPod:
        """Return the pod, as `decode.pod` does.

        Raises:
            QuantityError: when a request is no quantity.
            msgspec.ValidationError: when a field that is read has another type.

        """
        if told.common is None:
            found = self._groups[told.group]
        else:
            found = self._groups[told.group] = self._found(told.common, self._groups.get(told.group))
        return pods.running(told, found.alike, self._pool)

    def namespace(self, told: BoundPod) -> str | None:
        """Return the namespace of a pod, as written."""
        return told.common.namespace if told.common else self._groups[told.group].namespace

    def _found(self, common: Common, last: _Found | None) -> _Found:
        """Return what is found out of a pod, `last` being what was of the one of its group before."""
        if last and last.owned_by != common.owned_by:
            last = None  # ids of groups are used again
        owners = last.owners if last else _owners.decode(common.owned_by) or []
        if last and are_alike(common.volumes, last.volumes):
            parts, tying = last.volumes, last.tying
        else:
            parts = compared_parts(common.volumes)
            tying = self._tied(common.volumes, parts)
        meta = Meta(namespace=common.namespace, labels=_strings.decode(common.labels), owner_references=owners)
        labels = meta.labels or {}
        said = self._pool.pod_labels(labels)
        key = (
            common.spec,
            common.qos,
            common.read,
            said.qos,
            tuple([owner.kind for owner in owners]),
            labels.get(pod_devices.ISOLATION),
            common.labels if _SPREADS in common.spec else b"",
        )
        requirements = self._requirements.get(key)
        if requirements is None:
            read = zip(READ, common.read, strict=False)  # nothing at all where nothing is read
            meta.annotations = {name: text for name, text in read if not isinstance(text, int)}
            status = PodStatus(qos_class=common.qos)
            requirements = self._pool.new_requirements(Pod(meta, _asking(common.spec), status))
            _keep(self._requirements, key, requirements, _MOST)
        if tying:
            requirements = self._pool.tied(requirements, tying)
        alike = pods.alike(meta, said, self._pool.priority(common.priority), requirements)
        return _Found(common.namespace, common.owned_by, parts, tying, owners, alike)

    def _tied(self, volumes: bytes, parts: tuple[bytes, bytes]) -> list[Volume]:
        """Return the volumes that can tie a pod to nodes: most have none, and many owners the same of those."""
        if parts in self._free:
            return []
        found = tying_volumes(_volumes.decode(volumes) or [])
        if not found:
            _keep(self._free, parts, None, _MOST_FREE)
        return found


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
    """What pods take up: one value for all that request the same, without a name.

    `by_containers_too` is set once a pod was seen that requests something as a whole.
    """

    def __init__(self) -> None:
        """Start with nothing seen."""
        self.by_containers_too = False
        self._by_spec: dict[bytes, RunningPod] = {}

    def of(self, written: PlacedPod) -> RunningPod:
        """Return what a pod takes up.

        Raises:
            QuantityError: when a request is no quantity.

        """
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
