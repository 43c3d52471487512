"""Requirements and labels of pods, kept once."""

from collections.abc import Mapping
from copy import copy
from operator import itemgetter
from sys import intern

import msgspec

from kubectl_koord.cluster.objects.fields import pod_devices
from kubectl_koord.cluster.objects.fields.pool import SharedValues
from kubectl_koord.cluster.objects.pods import numa, reservations
from kubectl_koord.cluster.objects.pods.fields import Pod, PodSpec, Volume
from kubectl_koord.cluster.objects.pods.requirements import (
    NO_QOS,
    QOS_LABELS,
    Qos,
    other_fields,
    qos_of,
    requirements,
    tying_volumes,
    with_volumes,
)
from kubectl_koord.model import pods
from kubectl_koord.model.hardware.allocations import NOTHING, Allocations, DeviceAllocation
from kubectl_koord.model.quotas import PREEMPTIBLE_LABEL, QUOTA_LABELS, QuotaLabels
from kubectl_koord.model.values.packed import PackedLabels

BOOKED = frozenset((pod_devices.ALLOCATED, reservations.ALLOCATED, numa.STATUS))
_MOST = 1 << 11
_JOB_LABEL = "scheduling.koordinator.sh/questioned-object-key"
_NOT_PREEMPTIBLE = "scheduling.koordinator.sh/disable-preemptible"
_TELLING = frozenset((_JOB_LABEL, _NOT_PREEMPTIBLE, PREEMPTIBLE_LABEL, *QOS_LABELS))

_encode = msgspec.msgpack.Encoder().encode


class PodLabels(msgspec.Struct, frozen=True, gc=False):
    """What a set of labels says of a pod."""

    labels: pods.AnyLabels = ()
    job: str = ""
    protected: bool = False
    qos: Qos = NO_QOS


_SILENT = PodLabels()


class _Named:
    """The sets of labels of the same names: whether any of them tells something of a pod, and what was seen of them."""

    __slots__ = ("found", "in_order", "names", "quota", "tell")

    def __init__(self, written: tuple[str, ...]) -> None:
        places = sorted(range(len(written)), key=written.__getitem__)
        self.names = tuple([written[place] for place in places])
        # API servers write labels in the order of their names.
        self.in_order = itemgetter(*places) if self.names != written else None
        self.quota = [self.names.index(name) if name in written else None for name in QUOTA_LABELS]
        self.tell = not _TELLING.isdisjoint(written)
        self.found: dict[bytes, PodLabels] = {}


class PodPool(SharedValues):
    """Also the requirements of pods, and what their labels say."""

    def __init__(self, *, details: bool = True) -> None:
        """Start with nothing seen.

        Args:
            details: whether the labels, the owner and the times of running pods are kept; what labels say of a pod is
                found out in any case.

        `reads_namespaces` is set once any requirements were seen whose terms select namespaces by their labels,
        `by_containers_too` once any of a pod that requests something as a whole.

        """
        super().__init__()
        self.reads_namespaces = self.by_containers_too = False
        self.details = details
        self._requirements: dict[pods.PodRequirements, pods.PodRequirements] = {}
        self._by_spec: dict[tuple[object, ...], pods.PodRequirements] = {}
        self._named: dict[tuple[str, ...], _Named] = {}
        self._quota_labels: dict[QuotaLabels, QuotaLabels] = {}
        self._unlabelled: dict[PodLabels, PodLabels] = {}
        self._qos: dict[Qos, Qos] = {}
        self._allocations: dict[Allocations, Allocations] = {}
        self._devices: dict[int, Allocations] = {}
        self._priorities: dict[int, int] = {}

    def requirements(self, pod: Pod, qos: Qos) -> pods.PodRequirements:
        """Return the pod's requirements, the one object for all equal ones; `qos` is what its labels say of it."""
        meta = pod.metadata
        waits = not pod.spec.node_name
        devices = pod_devices.read_of(meta.annotations, meta.labels, waits=waits)
        use = reservations.read_of(meta.annotations, meta.labels) if waits else None
        key = (_without_node(pod.spec), qos, other_fields(pod), devices, use)
        found = self._by_spec.get(key)
        if found is None:
            found = self._by_spec[key] = self._new(pod, devices, use)
        return found

    def new_requirements(self, pod: Pod) -> pods.PodRequirements:
        """Return the same of a bound pod, for whoever knows that no such pod was seen lately."""
        meta = pod.metadata
        return self._new(pod, pod_devices.read_of(meta.annotations, meta.labels, waits=False), None)

    def tied(self, wanted: pods.PodRequirements, volumes: list[Volume]) -> pods.PodRequirements:
        """Return requirements with those of volumes, the one object for all equal ones."""
        new = with_volumes(wanted, volumes)
        return self._requirements.setdefault(new, new)

    def _new(self, pod: Pod, devices: pod_devices.Key, use: reservations.Use | None) -> pods.PodRequirements:
        new = requirements(pod)
        if devices:
            new = msgspec.structs.replace(new, devices=pod_devices.options(devices))
        if use is not None:
            new = msgspec.structs.replace(new, reservation=reservations.use(use))
        self.reads_namespaces = self.reads_namespaces or new.reads_namespaces
        self.by_containers_too = self.by_containers_too or new.by_containers is not None
        return self._requirements.setdefault(new, new)

    def priority(self, priority: int) -> int:
        """Return a priority, one object for all equal ones."""
        return self._priorities.setdefault(priority, priority)

    def allocations(self, annotations: Mapping[str, str | None] | None) -> Allocations:
        """Return what the scheduler wrote that its plugins booked for a pod, one object for all equal ones."""
        if not annotations or BOOKED.isdisjoint(annotations):
            return NOTHING
        devices = pod_devices.allocated(annotations)
        reservation = reservations.drawn_on(annotations)
        cpus = numa.allocated(annotations)
        if reservation or cpus is not None:
            new = Allocations(devices=devices, cpus=cpus, reservation=reservation)
            return self._allocations.setdefault(new, new)
        return self._of_devices(devices) if devices else NOTHING

    def _of_devices(self, devices: tuple[DeviceAllocation, ...]) -> Allocations:
        """Return allocations of nothing but devices: those of the same object are found without comparing."""
        found = self._devices.get(id(devices))
        if found is None:
            if len(self._devices) >= _MOST:
                self._devices.clear()
            new = Allocations(devices=devices)
            found = self._allocations.setdefault(new, new)
            if found.devices is devices:  # and as it is kept, no other object has its id
                self._devices[id(devices)] = found
        return found

    def pod_labels(self, written: Mapping[str, str | None] | None) -> PodLabels:
        """Return what a pod's labels say, one object for all equal ones."""
        labels = written or {}
        names = tuple(labels)
        named = self._named.get(names)
        if named is None:
            names = tuple(map(intern, names))
            named = self._named[names] = _Named(names)
        if not self.details:
            return self._said((), labels) if named.tell else _SILENT
        values = tuple(labels.values())
        if named.in_order:
            values = named.in_order(values)
        content = _encode(values)
        found = named.found.get(content)
        if found is None:
            if len(named.found) >= _MOST:  # pods with the same labels follow each other in lists
                named.found.clear()
            kept = self._packed(named, values, content) if values else ()
            found = named.found[content] = self._said(kept, labels) if named.tell else PodLabels(kept)
        return found

    def _packed(self, named: "_Named", values: tuple[str | None, ...], content: bytes) -> PackedLabels:
        """Return labels in the order of their names; `content` is how the values are written."""
        if None in values:
            values = tuple([value or "" for value in values])
            content = _encode(values)
        quota = tuple([None if at is None else values[at] for at in named.quota])
        return PackedLabels(named.names, content, self._quota_labels.setdefault(quota, quota))

    def said(self, written: Mapping[str, str | None] | None) -> PodLabels:
        """Return what a pod's labels say without themselves."""
        return self._said((), written or {})

    def _said(self, kept: pods.AnyLabels, labels: Mapping[str, str | None]) -> PodLabels:
        qos = qos_of(labels)
        qos = self._qos.setdefault(qos, qos)
        new = PodLabels(kept, intern(labels.get(_JOB_LABEL) or ""), _is_protected(labels), qos)
        return new if kept else self._unlabelled.setdefault(new, new)


def _without_node(spec: PodSpec) -> bytes:
    """Return the spec as bytes, equal for pods that differ only in where they are and in names of volumes.

    Volumes that tie a pod to no node are left out for good: each pod's service account volume has its own name.
    """
    alone = copy(spec)
    alone.node_name = None
    if spec.volumes:
        alone.volumes = tying_volumes(spec.volumes)
    return encoded(alone)


def encoded(spec: object) -> bytes:
    """Return a spec as bytes, equal for equal ones."""
    try:
        return _encode(spec)
    except OverflowError:  # an amount that is a number beyond 64 bits
        return msgspec.json.encode(spec)


def _is_protected(labels: Mapping[str, str | None]) -> bool:
    """Tell whether job preemption must spare the pod.

    Mirrors `IsPodPreemptible` and `IsPodNonPreemptible` in apis/extension.
    """
    return labels.get(_NOT_PREEMPTIBLE) == "true" or labels.get(PREEMPTIBLE_LABEL) == "false"
