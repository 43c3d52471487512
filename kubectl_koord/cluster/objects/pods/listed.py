"""Pods of a long list: what those of one owner have alike is decoded and found out once."""

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

import msgspec

from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.cluster.objects.fields import pod_devices
from kubectl_koord.cluster.objects.fields.meta import Meta, Owner
from kubectl_koord.cluster.objects.pods import decode, numa
from kubectl_koord.cluster.objects.pods.fields import Pod, PodSpec, Volume
from kubectl_koord.cluster.objects.pods.listed_fields import ABSENT, NOTHING, ListedMeta, ListedPod
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.cluster.objects.pods.requirements import UNEVALUATED, tying_volumes
from kubectl_koord.model import pods

_MOST_RECENT, _MOST_FREE, _MOST = 1 << 6, 1 << 11, 1 << 12
_FINISHED = {"Succeeded", "Failed"}
_READ = (*pod_devices.ANNOTATIONS, *sorted(UNEVALUATED), numa.SPEC, numa.TOPOLOGY_SPEC)
"""The annotations that requirements are made of."""
_ANY_READ = frozenset(_READ)
_ANY = _ANY_READ | decode.ANNOTATIONS
_TOKEN, _PROJECTED = b'{"name":"kube-api-access-', b'","projected":'

K = TypeVar("K")
V = TypeVar("V")


_Read: TypeAlias = tuple[str | int | None, ...]


class _Asking(msgspec.Struct, gc=False):
    spec: PodSpec


class _Last(msgspec.Struct, gc=False):
    """The last pod of an owner: what the next one is compared with, and what was found out of it.

    `spec` is without the node and volumes; `volumes` what stands before and behind the name of the one with the token,
    and `tying` those that can tie the pod to nodes.
    """

    namespace: str | None
    owned_by: msgspec.Raw
    spec: bytes
    labels: msgspec.Raw
    qos: str | None
    read: _Read
    volumes: tuple[bytes, bytes]
    tying: list[Volume]
    owners: list[Owner]
    alike: decode.Alike


_encode = msgspec.json.encode
_pod = decoder(Pod)
_asks = decoder(_Asking)
_strings = decoder(dict[str, str | None] | None)
_owners = decoder(list[Owner] | None)
_volumes = decoder(list[Volume] | None)


class ListedPods:
    """Tells what listed pods are. Pods of one owner follow each other, so that little has to be kept for them."""

    def __init__(self, pool: PodPool) -> None:
        """Start with nothing seen; `pool` is what pods share."""
        self._pool = pool
        self._last: _Last | None = None
        self._recent: dict[tuple[str | None, bytes], _Last] = {}
        self._requirements: dict[tuple[object, ...], pods.PodRequirements] = {}
        self._free: dict[tuple[bytes, bytes], None] = {}

    def pod(self, written: ListedPod) -> pods.RunningPod | pods.PendingPod | pods.FinishedPod:
        """Return the pod as what it is, as `decode.pod` does.

        Raises:
            QuantityError: when a request is no quantity.
            msgspec.ValidationError: when a field that is read has another type.

        """
        spec, meta = written.spec, written.metadata
        node, volumes, annotations = spec.node_name, spec.volumes, meta.annotations
        if not node or written.status.phase in _FINISHED:
            return decode.pod(whole(written), self._pool)
        if annotations and _ANY.isdisjoint(annotations):
            annotations = None
        read = () if not annotations or _ANY_READ.isdisjoint(annotations) else _read(annotations)
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
            or not _are_alike(tied, last.volumes)
        ):
            last = self._found(written, text, tied, read, last)
            _keep(self._recent, _owner(meta), last, _MOST_RECENT)
        self._last = last
        return decode.running(written, last.alike, annotations, self._pool)

    def _found(self, written: ListedPod, spec: bytes, volumes: bytes, read: _Read, last: _Last | None) -> _Last:
        """Return what is found out of a pod, `last` being what was of the one of its owner before."""
        meta, status = written.metadata, written.status
        owners = last.owners if last else _owners.decode(meta.owner_references) or []
        if last and _are_alike(volumes, last.volumes):
            parts, tying = last.volumes, last.tying
        else:
            parts = _parts(volumes)
            tying = self._tied(volumes, parts)
        found = Meta(
            namespace=meta.namespace,
            labels=_strings.decode(meta.labels),
            annotations=meta.annotations,
            owner_references=owners,
        )
        labels = found.labels or {}
        said = self._pool.pod_labels(labels)
        key = (
            spec,
            status.qos_class,
            read,
            said.qos,
            tuple([owner.kind for owner in owners]),
            labels.get(pod_devices.ISOLATION),
            bytes(meta.labels) if bytes(written.spec.topology_spread_constraints) != NOTHING else b"",
        )
        requirements = self._requirements.get(key)
        if requirements is None:
            requirements = self._pool.new_requirements(Pod(found, _asking(spec), status))
            _keep(self._requirements, key, requirements, _MOST)
        if tying:
            requirements = self._pool.tied(requirements, tying)
        alike = decode.alike(found, said, self._pool.priority(written.spec.priority or 0), requirements)
        return _Last(
            namespace=meta.namespace,
            owned_by=meta.owner_references.copy(),
            spec=spec,
            labels=meta.labels.copy(),
            qos=status.qos_class,
            read=read,
            volumes=parts,
            tying=tying,
            owners=owners,
            alike=alike,
        )

    def _tied(self, volumes: bytes, parts: tuple[bytes, bytes]) -> list[Volume]:
        """Return the volumes that can tie a pod to nodes: most have none, and many owners the same of those."""
        if parts in self._free:
            return []
        found = tying_volumes(_volumes.decode(volumes) or [])
        if not found:
            _keep(self._free, parts, None, _MOST_FREE)
        return found


def whole(written: ListedPod) -> Pod:
    """Return the pod with all its fields.

    Raises:
        msgspec.ValidationError: when one of them has another type.

    """
    found: Pod = _pod.decode(_encode(written))
    return found


def _asking(spec: bytes) -> PodSpec:
    """Return a spec with all its fields; pods of their own claims differ in volumes, which are not among them.

    Raises:
        msgspec.ValidationError: when one of them has another type.

    """
    found: _Asking = _asks.decode(b'{"spec":' + spec + b"}")
    return found.spec


def _owner(meta: ListedMeta) -> tuple[str | None, bytes]:
    """Return what pods of one owner have alike."""
    return meta.namespace, bytes(meta.owner_references)


def _read(annotations: Mapping[str, str | None]) -> _Read:
    """Return the annotations that requirements are made of, 0 for each that is missing."""
    return tuple([annotations.get(name, 0) for name in _READ])


def _parts(volumes: bytes) -> tuple[bytes, bytes]:
    """Return the volumes without what is a pod's own: in the name of the one with its token, which ties it nowhere."""
    at = volumes.rfind(_TOKEN) + len(_TOKEN)
    end = volumes.find(b'"', at)
    if at < len(_TOKEN) or not volumes.startswith(_PROJECTED, end):
        return volumes, b""
    return volumes[:at], volumes[end:]


def _are_alike(volumes: bytes, parts: tuple[bytes, bytes]) -> bool:
    """Tell whether volumes have the same parts, and nothing between them but a name."""
    before, after = parts
    return (
        volumes.startswith(before)
        and volumes.endswith(after)
        and b'"' not in volumes[len(before) : len(volumes) - len(after)]
    )


def _keep(known: dict[K, V], key: K, value: V, most: int) -> None:
    if len(known) >= most:
        known.clear()
    known[key] = value
