"""Pods of a long list: what those of one owner have alike is decoded and found out once."""

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.cluster.objects.fields import pod_devices
from kubectl_koord.cluster.objects.fields.meta import Meta, Owner
from kubectl_koord.cluster.objects.pods import decode, numa
from kubectl_koord.cluster.objects.pods.fields import Pod, PodSpec, Volume
from kubectl_koord.cluster.objects.pods.listed_fields import NOTHING, ListedPod, ListedSpec
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.cluster.objects.pods.requirements import UNEVALUATED, tying_volumes
from kubectl_koord.model import pods

_MOST_RECENT, _MOST = 1 << 6, 1 << 12
_FINISHED = {"Succeeded", "Failed"}
_READ = (*pod_devices.ANNOTATIONS, *sorted(UNEVALUATED), numa.SPEC, numa.TOPOLOGY_SPEC)
"""The annotations that requirements are made of."""
_ANY_READ = frozenset(_READ)
_TOKEN, _PROJECTED = b'{"name":"kube-api-access-', b'","projected":'

K = TypeVar("K")
V = TypeVar("V")


class _Asked(msgspec.Struct, gc=False):
    spec: ListedSpec


class _Asking(msgspec.Struct, gc=False):
    spec: PodSpec


_encode = msgspec.msgpack.Encoder().encode
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
        self._recent: dict[tuple[str | None, bytes], tuple[bytes, decode.Alike]] = {}
        self._requirements: dict[tuple[object, ...], pods.PodRequirements] = {}

    def pod(self, written: ListedPod) -> pods.RunningPod | pods.PendingPod | pods.FinishedPod:
        """Return the pod as what it is, as `decode.pod` does.

        Raises:
            QuantityError: when a request is no quantity.
            msgspec.ValidationError: when a field that is read has another type.

        """
        spec, meta = written.spec, written.metadata
        if not spec.node_name or written.status.phase in _FINISHED:
            return decode.pod(whole(written), self._pool)
        # The last pod of the owner is compared, not looked for: to hash all that is written costs more.
        owner = meta.namespace, bytes(meta.owner_references)
        said = _encode((meta.labels, *_volumes_of(spec), *_asked(written)))
        last = self._recent.get(owner)
        if last is None or last[0] != said:
            last = said, self._alike(written)
            _keep(self._recent, owner, last, _MOST_RECENT)
        return decode.running(written, last[1], self._pool)

    def _alike(self, written: ListedPod) -> decode.Alike:
        meta = written.metadata
        found = Meta(
            namespace=meta.namespace,
            labels=_strings.decode(meta.labels),
            annotations=meta.annotations,
            owner_references=_owners.decode(meta.owner_references),
        )
        labels = found.labels or {}
        said = self._pool.pod_labels(labels)
        spreads = bytes(written.spec.topology_spread_constraints) != NOTHING
        key = (
            _encode(_asked(written)),
            said.qos,
            tuple([owner.kind for owner in found.owner_references or ()]),
            labels.get(pod_devices.ISOLATION),
            bytes(meta.labels) if spreads else b"",
        )
        requirements = self._requirements.get(key)
        if requirements is None:
            requirements = self._pool.new_requirements(_asking(written, found))
            _keep(self._requirements, key, requirements, _MOST)
        volumes = tying_volumes(_volumes.decode(written.spec.volumes) or [])
        if volumes:
            requirements = self._pool.tied(requirements, volumes)
        return decode.alike(found, said, self._pool.priority(written.spec.priority or 0), requirements)


def whole(written: ListedPod) -> Pod:
    """Return the pod with all its fields.

    Raises:
        msgspec.ValidationError: when one of them has another type.

    """
    found: Pod = _pod.decode(msgspec.json.encode(written))
    return found


def _asking(written: ListedPod, meta: Meta) -> Pod:
    """Return the pod with what its requirements are made of, but for volumes: pods of their own claims differ in these.

    Args:
        written: the pod.
        meta: what was decoded of its metadata.

    Raises:
        msgspec.ValidationError: when a field of its spec has another type.

    """
    found: _Asking = _asks.decode(msgspec.json.encode(_Asked(written.spec)))
    found.spec.volumes = None
    return Pod(metadata=meta, spec=found.spec, status=written.status)


def _asked(written: ListedPod) -> tuple[object, ...]:
    """Return what requirements are made of, but for volumes, labels and owners."""
    spec, annotations = written.spec, written.metadata.annotations
    return (
        written.status.qos_class,
        spec.priority,
        spec.containers,
        spec.init_containers,
        spec.overhead,
        spec.resources,
        spec.node_selector,
        spec.affinity,
        spec.tolerations,
        spec.topology_spread_constraints,
        spec.resource_claims,
        () if not annotations or _ANY_READ.isdisjoint(annotations) else _read(annotations),
    )


def _read(annotations: Mapping[str, str | None]) -> list[str | int | None]:
    """Return the annotations that requirements are made of, 0 for each that is missing."""
    return [annotations.get(name, 0) for name in _READ]


def _volumes_of(spec: ListedSpec) -> tuple[bytes, bytes]:
    """Return the volumes without what is a pod's own: in the name of the one with its token, which ties it nowhere."""
    volumes = bytes(spec.volumes)
    at = volumes.rfind(_TOKEN) + len(_TOKEN)
    end = volumes.find(b'"', at)
    if at < len(_TOKEN) or not volumes.startswith(_PROJECTED, end):
        return volumes, b""
    return volumes[:at], volumes[end:]


def _keep(known: dict[K, V], key: K, value: V, most: int) -> None:
    if len(known) >= most:
        known.clear()
    known[key] = value
