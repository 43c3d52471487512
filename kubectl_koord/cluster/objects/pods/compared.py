"""Pods of a list, each compared with the last one of its owner: what they have in common is told once."""

from collections.abc import Mapping

import msgspec

from kubectl_koord.cluster.objects.fields import load_aware, pod_devices
from kubectl_koord.cluster.objects.pods import decode, numa
from kubectl_koord.cluster.objects.pods.fields import FINISHED
from kubectl_koord.cluster.objects.pods.listed_fields import ABSENT, Common, ListedMeta, ListedPod, Told
from kubectl_koord.cluster.objects.pods.requirements import UNEVALUATED

READ = (*pod_devices.ANNOTATIONS, *sorted(UNEVALUATED), *load_aware.ANNOTATIONS, numa.SPEC, numa.TOPOLOGY_SPEC)
"""The annotations that requirements are made of."""
_ANY_READ = frozenset(READ)
_MOST_RECENT, _MOST_BYTES = 1 << 6, 1 << 23
_TOKEN, _PROJECTED = b'{"name":"kube-api-access-', b'","projected":'
_OFFERS = b"operating-mode"
_AFTER_INITIALIZED = READ.index(load_aware.AFTER_INITIALIZED)

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
        found = decode.bound(written, _own(annotations) if annotations else None, last.group)
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
            volumes=last.volumes if last and are_alike(common.volumes, last.volumes) else parts(common.volumes),
            # They may be reservations, for which a backslash may stand for any letter, or since when they are
            # initialized counts.
            is_whole=_OFFERS in common.labels
            or b"\\" in common.labels
            or bool(common.read and common.read[_AFTER_INITIALIZED]),
        )
        return kept


def _own(annotations: Mapping[str, str | None]) -> Mapping[str, str | None] | None:
    """Return the annotations that are read of each bound pod, None for none of them."""
    if decode.ANNOTATIONS.isdisjoint(annotations):
        return None
    return {name: annotations[name] for name in decode.ANNOTATIONS if name in annotations}


def _owner(meta: ListedMeta) -> tuple[str | None, bytes]:
    """Return what pods of one owner have alike."""
    return meta.namespace, bytes(meta.owner_references)


def parts(volumes: bytes) -> tuple[bytes, bytes]:
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
