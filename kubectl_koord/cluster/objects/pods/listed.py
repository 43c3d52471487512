"""Pods of a long list: what those of one owner have alike is decoded and found out once."""

from typing import TypeVar

import msgspec

from kubectl_koord.cluster.decoders import decoder
from kubectl_koord.cluster.objects.fields import pod_devices
from kubectl_koord.cluster.objects.fields.meta import Meta, Owner
from kubectl_koord.cluster.objects.pods import compared, decode
from kubectl_koord.cluster.objects.pods.fields import Pod, PodSpec, PodStatus, Volume
from kubectl_koord.cluster.objects.pods.listed_fields import BoundPod, Common
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.cluster.objects.pods.requirements import tying_volumes
from kubectl_koord.model.pods import PodRequirements, RunningPod

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
    alike: decode.Alike


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
        return decode.running(told, found.alike, self._pool)

    def namespace(self, told: BoundPod) -> str | None:
        """Return the namespace of a pod, as written."""
        return told.common.namespace if told.common else self._groups[told.group].namespace

    def _found(self, common: Common, last: _Found | None) -> _Found:
        """Return what is found out of a pod, `last` being what was of the one of its group before."""
        if last and last.owned_by != common.owned_by:
            last = None  # ids of groups are used again
        owners = last.owners if last else _owners.decode(common.owned_by) or []
        if last and compared.are_alike(common.volumes, last.volumes):
            parts, tying = last.volumes, last.tying
        else:
            parts = compared.parts(common.volumes)
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
            read = zip(compared.READ, common.read, strict=False)  # nothing at all where nothing is read
            meta.annotations = {name: text for name, text in read if not isinstance(text, int)}
            status = PodStatus(qos_class=common.qos)
            requirements = self._pool.new_requirements(Pod(meta, _asking(common.spec), status))
            _keep(self._requirements, key, requirements, _MOST)
        if tying:
            requirements = self._pool.tied(requirements, tying)
        alike = decode.alike(meta, said, self._pool.priority(common.priority), requirements)
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
