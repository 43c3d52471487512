"""Nodes and pods of a list in protobuf as the objects that JSON has; parts that many share are converted once."""

from copy import copy
from functools import cache, lru_cache
from typing import Any, Generic, TypeVar

from msgspec import Struct, defstruct, field, json, structs

from kubectl_koord.cluster.objects import nodes
from kubectl_koord.cluster.objects.fields import Condition, Meta, Owner
from kubectl_koord.cluster.objects.pod_wire import MadeResourceClaim, Pod, PodSpec, PodStatus, Volume
from kubectl_koord.cluster.objects.pods import has_own_resources, requests, spec_of
from kubectl_koord.cluster.objects.pool import Amounts
from kubectl_koord.cluster.protobuf import MESSAGES, Field, Message, amounts, labels, parsed, texts, time, whole
from kubectl_koord.model import keys
from kubectl_koord.model.pods import PodAmounts, PodRequirements, RunningPod

_MOST, _MOST_BYTES = 1 << 12, 1 << 23

V = TypeVar("V")


class Recent(Generic[V]):
    """A cache by bytes that is emptied once it holds too many values, or keys of too many bytes."""

    def __init__(self) -> None:
        self._known: dict[bytes, V] = {}
        self._bytes = 0
        self.get = self._known.get

    def keep(self, key: bytes, value: V) -> V:
        """Keep a value, and return it."""
        if len(self._known) >= _MOST or self._bytes + len(key) > _MOST_BYTES:
            self._known.clear()
            self._bytes = 0
        self._bytes += len(key)
        self._known[key] = value
        return value


def meta_of(written: Message) -> Meta:
    """Return the metadata of an object."""
    return Meta(
        name=written.name,
        namespace=written.namespace or None,
        uid=written.uid or None,
        labels=labels(written.labels),
        annotations=texts(written.annotations),
        creation_timestamp=time(written.creationTimestamp),
        deletion_timestamp=time(written.deletionTimestamp),
        resource_version=written.resourceVersion or None,
        owner_references=[_owner(one) for one in written.ownerReferences],
    )


@lru_cache(maxsize=1 << 10)
def _owner(written: bytes) -> Owner:
    return whole("Owner", parsed("Owner", written), Owner)


def _condition(written: bytes) -> Condition:
    found = parsed("Condition", written)
    since = time(found.lastTransitionTime)
    return Condition(found.type, found.status, found.reason or None, found.message or None, since)


def node(written: nodes.Node | Message) -> nodes.Node:
    """Return a node; of its conditions only whether it is ready."""
    if isinstance(written, nodes.Node):
        return written
    status = written.status
    return nodes.Node(
        meta_of(written.metadata),
        whole("NodeSpec", written.spec, nodes.NodeSpec),
        nodes.NodeStatus(
            allocatable=amounts(status.allocatable),
            capacity=amounts(status.capacity),
            conditions=[_condition(one) for one in status.conditions if b"Ready" in one],
        ),
    )


class ListedPods:
    """Pods whose specs are converted once for all that are equal but for nodes and volumes."""

    def __init__(self) -> None:
        self._specs: Recent[PodSpec] = Recent()

    def pod(self, written: Message) -> tuple[Pod, bytes]:
        """Return a pod, with the conditions that are read, and its spec without node and volumes as bytes.

        What is not read is dropped from the message.
        """
        meta, status, spec = meta_of(written.metadata), written.status, written.spec
        node_name = spec.nodeName
        # Most volumes tie a pod to no node, and each pod's service account volume has its own name.
        volumes = [whole("Volume", one, Volume) for one in spec.volumes if one.volumeSource.ListFields()]
        spec.ClearField("nodeName")
        spec.ClearField("volumes")
        spec.DiscardUnknownFields()
        shape = spec.SerializeToString()
        shared = self._specs.get(shape)
        if shared is None:
            shared = self._specs.keep(shape, whole("PodSpec", spec, PodSpec))
        own = copy(shared)
        own.node_name, own.volumes = node_name or None, volumes
        every = _needs_more(meta)
        return Pod(
            meta,
            own,
            PodStatus(
                phase=status.phase or None,
                qos_class=status.qosClass or None,
                nominated_node_name=status.nominatedNodeName or None,
                conditions=[
                    _condition(one) for one in status.conditions if every or any(what in one for what in _TELLING)
                ],
                resource_claim_statuses=[
                    whole("MadeClaim", one, MadeResourceClaim) for one in status.resourceClaimStatuses
                ],
            ),
        ), shape


_TELLING = (b"PodScheduled", b"DisruptionTarget", b"ContainersNotReady")
"""What stands in the conditions that are read of most pods."""


def _needs_more(meta: Meta) -> bool:
    """Tell whether a pod may be a reservation, or counts since when it is initialized."""
    return keys.OPERATING_MODE in (meta.labels or ()) or keys.LOAD_AFTER_INITIALIZED in (meta.annotations or ())


@cache
def placed(message: str = "PlacedPod") -> type[Struct]:
    """Return a Struct with the fields of a message of the schema that only texts, amounts and messages are in."""
    return defstruct(message, map(_member, MESSAGES[message]), omit_defaults=True, gc=False)


def _member(one: Field) -> tuple[str, Any, Any]:
    if one.kind in MESSAGES and not one.form:
        return one.name, placed(one.kind), field(default_factory=placed(one.kind))
    kind: Any = Amounts if one.form == "{" else list[placed(one.kind)] if one.form else str  # type: ignore[misc]
    return one.name, kind | None, None


class Rooms:
    """The requests of pods for sums: one shared value for all pods with equal requests, without names.

    `by_containers_too` is set once a pod was seen that requests something as a whole.
    """

    def __init__(self) -> None:
        self.by_containers_too = False
        self._by_shape: Recent[RunningPod] = Recent()

    def of(self, spec: Any) -> RunningPod:  # noqa: ANN401 - PlacedSpec, of `placed` or as a message
        """Return what a pod takes up; all is dropped from the spec that is not read.

        Raises QuantityError when a request is no quantity.
        """
        if isinstance(spec, Struct):
            spec.nodeName = None  # type: ignore[attr-defined]
            shape = json.encode(spec)
        else:
            spec.ClearField("nodeName")
            spec.DiscardUnknownFields()
            shape = spec.SerializeToString()
        return self._by_shape.get(shape) or self._by_shape.keep(shape, self._new(spec, shape))

    def _new(self, listed: Any, shape: bytes) -> RunningPod:  # noqa: ANN401 - as `of`
        spec = spec_of(shape) if isinstance(listed, Struct) else whole("PlacedSpec", listed, PodSpec)
        requested = PodRequirements(requests=requests(spec))
        if has_own_resources(spec):
            less = PodAmounts(requests(structs.replace(spec, resources=None)))
            requested = structs.replace(requested, by_containers=less)
            self.by_containers_too = True
        return RunningPod("", "", "", 0, requested)
