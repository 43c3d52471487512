"""Volumes: claims, PersistentVolumes, CSINodes, StorageClasses and attachments."""

from collections.abc import Mapping
from functools import lru_cache
from sys import intern

import msgspec
from msgspec import Struct, field, structs

from kubectl_koord.cluster.objects.fields import (
    Int32,
    LabelSelector,
    Meta,
    NodeSelector,
    label_selector,
    namespace,
    node_terms,
    shared,
    strings,
)
from kubectl_koord.cluster.objects.pool import Amounts, amounts, resources
from kubectl_koord.model import keys, objects
from kubectl_koord.model.values import Identity, Labels, NodeTerm, Requirement, Resources


class AttachmentSource(Struct, gc=False, rename="camel"):
    """spec.source of a VolumeAttachment; without a name it holds a volume that a pod writes itself."""

    persistent_volume_name: str | None = None


class AttachmentSpec(Struct, gc=False, rename="camel"):
    """spec of a VolumeAttachment."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = field(default_factory=AttachmentSource)


class VolumeAttachment(Struct, gc=False):
    """One VolumeAttachment: a volume that is attached to a node, or is to be."""

    metadata: Meta
    spec: AttachmentSpec = field(default_factory=AttachmentSpec)


class TopologyExpression(Struct, gc=False):
    """allowedTopologies[].matchLabelExpressions[] of a StorageClass."""

    key: str = ""
    values: list[str] | None = None


class AllowedTopology(Struct, gc=False, rename="camel"):
    """allowedTopologies[] of a StorageClass."""

    match_label_expressions: list[TopologyExpression] | None = None


class StorageClass(Struct, gc=False, rename="camel"):
    """One StorageClass."""

    metadata: Meta
    provisioner: str = ""
    volume_binding_mode: str | None = None
    allowed_topologies: list[AllowedTopology] | None = None


class CSIDriverSpec(Struct, gc=False, rename="camel"):
    """spec of a CSIDriver."""

    storage_capacity: bool | None = None


class CSIDriver(Struct, gc=False):
    """One CSIDriver."""

    metadata: Meta
    spec: CSIDriverSpec = field(default_factory=CSIDriverSpec)


class CSIStorageCapacity(Struct, gc=False, rename="camel"):
    """One CSIStorageCapacity."""

    metadata: Meta
    storage_class_name: str = ""
    capacity: str | int | float | None = None
    maximum_volume_size: str | int | float | None = None
    node_topology: LabelSelector | None = None


def storage_class(written: StorageClass) -> objects.StorageClass:
    """Return the StorageClass."""
    topologies = (
        tuple(Requirement(one.key, "In", tuple(one.values or ())) for one in allowed.match_label_expressions or ())
        for allowed in written.allowed_topologies or ()
    )
    return objects.StorageClass(
        name=written.metadata.name,
        provisioner=written.provisioner,
        waits=written.volume_binding_mode == "WaitForFirstConsumer",
        topologies=tuple(topologies),
    )


def tracked_driver(written: CSIDriver) -> str | None:
    """Return the name of a CSI driver with storage capacity tracking, None of any other."""
    return written.metadata.name if written.spec.storage_capacity else None


def storage_capacity(written: CSIStorageCapacity) -> objects.StorageCapacity:
    """Return how large a volume may be. Raises QuantityError when that is no quantity."""
    limit = written.capacity if written.maximum_volume_size is None else written.maximum_volume_size
    amount: Amounts = {} if limit is None else {"storage": limit}
    return objects.StorageCapacity(
        class_name=written.storage_class_name,
        largest=None if limit is None else dict(resources(amounts(amount))).get("storage", 0),
        nodes=label_selector(written.node_topology),
    )


_FREE = {"Available"}
_PROMISED = {*_FREE, "Pending", "", None}
_MOST = 1 << 12


class InTree(Struct, gc=False):
    """A source of a PersistentVolume that a CSI driver has taken over; that it is one counts, not which volume."""


class CSISource(Struct, gc=False, rename="camel"):
    """spec.csi of a PersistentVolume."""

    driver: str = ""
    volume_handle: str = ""


class VolumeAffinity(Struct, gc=False):
    """spec.nodeAffinity of a PersistentVolume."""

    required: NodeSelector | None = None


class ClaimRef(Struct, gc=False):
    """spec.claimRef of a PersistentVolume."""

    namespace: str = ""
    name: str = ""
    uid: str | None = None


class VolumeSpec(Struct, gc=False, rename="camel"):
    """spec of a PersistentVolume."""

    node_affinity: VolumeAffinity | None = None
    csi: CSISource | None = None
    aws_elastic_block_store: InTree | None = None
    azure_disk: InTree | None = None
    cinder: InTree | None = None
    gce_persistent_disk: InTree | None = None
    storage_class_name: str | None = None
    capacity: Amounts | None = None
    access_modes: list[str] | None = None
    volume_mode: str | None = None
    claim_ref: ClaimRef | None = None


class VolumeStatus(Struct, gc=False):
    """status of a PersistentVolume."""

    phase: str | None = None


class PersistentVolume(Struct, gc=False):
    """One PersistentVolume."""

    metadata: Meta
    spec: VolumeSpec = field(default_factory=VolumeSpec)
    status: VolumeStatus = field(default_factory=VolumeStatus)


class ClusterVolume(Struct, frozen=True, gc=False):
    """What counts of one PersistentVolume: for the claim that it is bound to, and where it is free, for any."""

    terms: tuple[NodeTerm, ...] | None
    labels: Labels
    driver: str
    handle: str
    is_csi: bool
    free: objects.Volume | None


class Requested(Struct, gc=False):
    """spec.resources of a PersistentVolumeClaim."""

    requests: Amounts | None = None


class ClaimSpec(Struct, gc=False, rename="camel"):
    """spec of a PersistentVolumeClaim."""

    volume_name: str | None = None
    access_modes: list[str] | None = None
    storage_class_name: str | None = None
    resources: Requested | None = None
    volume_mode: str | None = None
    selector: LabelSelector | None = None


class ClaimStatus(Struct, gc=False):
    """status of a PersistentVolumeClaim."""

    phase: str | None = None


class PersistentVolumeClaim(Struct, gc=False):
    """One PersistentVolumeClaim."""

    metadata: Meta
    spec: ClaimSpec = field(default_factory=ClaimSpec)
    status: ClaimStatus = field(default_factory=ClaimStatus)


class VolumeCount(Struct, gc=False):
    """spec.drivers[].allocatable of a CSINode."""

    count: Int32 | None = None


class Driver(Struct, gc=False):
    """spec.drivers[] of a CSINode."""

    name: str = ""
    allocatable: VolumeCount | None = None


class CSINodeSpec(Struct, gc=False):
    """spec of a CSINode."""

    drivers: list[Driver] | None = None


class CSINode(Struct, gc=False):
    """One CSINode: how many volumes of each driver a node can hold."""

    metadata: Meta
    spec: CSINodeSpec = field(default_factory=CSINodeSpec)


@lru_cache(_MOST)
def _affinity(text: bytes) -> VolumeAffinity:
    return msgspec.json.decode(text, type=VolumeAffinity)


@lru_cache(_MOST)
def _terms(affinity: Identity[NodeSelector]) -> tuple[NodeTerm, ...]:
    return node_terms(affinity.value)


def claim(written: PersistentVolumeClaim) -> objects.Claim:
    """Return the claim, not yet joined with its volume.

    Raises QuantityError when the size that it asks for is no quantity.
    """
    meta, spec = written.metadata, written.spec
    annotations = meta.annotations or {}
    owner = next((one for one in meta.owner_references or () if one.controller), None)
    return objects.Claim(
        name=f"{namespace(meta)}/{meta.name}",
        volume=spec.volume_name or "",
        single_pod="ReadWriteOncePod" in (spec.access_modes or ()),
        binding=_binding(written),
        class_name=_class_name(annotations, spec.storage_class_name),
        request=_request(spec),
        selected=annotations.get(keys.SELECTED_NODE) or "",
        terminating=meta.deletion_timestamp is not None,
        owner=(owner.uid, owner.name) if owner else ("", ""),
        uid=meta.uid or "",
    )


def with_volume(claim: objects.Claim, volume: ClusterVolume | None) -> objects.Claim:
    """Return the claim joined with its volume, where the volume is known."""
    if volume is None:
        return claim
    return structs.replace(
        claim, terms=volume.terms, labels=volume.labels, driver=volume.driver, handle=volume.handle, known=True
    )


def volume(written: PersistentVolume) -> ClusterVolume:
    """Return what counts of a volume. Raises QuantityError when it is free, and its capacity is no quantity."""
    meta, spec = written.metadata, written.spec
    affinity = None if spec.node_affinity is None else _affinity(msgspec.json.encode(spec.node_affinity)).required
    terms = _terms(Identity(affinity)) if affinity is not None else None
    labels = shared(tuple(sorted(strings(meta.labels).items())))
    return ClusterVolume(
        terms=terms,
        labels=labels,
        driver=_driver(spec),
        handle=(spec.csi.volume_handle if spec.csi else "") or meta.name,
        is_csi=spec.csi is not None,
        free=_free(written, labels, terms),
    )


def _free(written: PersistentVolume, labels: Labels, terms: tuple[NodeTerm, ...] | None) -> objects.Volume | None:
    """Return the volume if a claim may still be bound to it, else None (`FindMatchingVolume`).

    One that is promised to a claim need not be available yet.
    """
    meta, spec = written.metadata, written.spec
    promised, phase = spec.claim_ref, written.status.phase
    if meta.deletion_timestamp is not None or phase not in (_FREE if promised is None else _PROMISED):
        return None
    return objects.Volume(
        name=meta.name,
        class_name=_class_name(meta.annotations or {}, spec.storage_class_name),
        size=_size(spec.capacity),
        modes=tuple(spec.access_modes or ()),
        is_block=spec.volume_mode == "Block",
        labels=labels,
        terms=terms,
        promised=f"{promised.namespace}/{promised.name}" if promised else "",
        promised_uid=(promised.uid or "") if promised else "",
    )


def _request(spec: ClaimSpec) -> objects.VolumeRequest:
    asked = (spec.resources.requests if spec.resources else None) or {}
    found = _plain_request(tuple(asked.items()), tuple(spec.access_modes or ()), spec.volume_mode)
    if spec.selector is None:
        return found
    return shared(structs.replace(found, selector=label_selector(spec.selector)))


@lru_cache(_MOST)
def _plain_request(
    asked: tuple[tuple[str, str | float], ...], modes: tuple[str, ...], mode: str | None
) -> objects.VolumeRequest:
    return shared(objects.VolumeRequest(_size(dict(asked)), tuple(sorted(modes)), mode == "Block"))


def _binding(written: PersistentVolumeClaim) -> objects.Binding:
    """Return whether the claim is bound to the volume that it names; without a phase it counts as bound."""
    phase = written.status.phase
    if phase == "Lost":
        return "lost"
    return (
        "begun"
        if phase == "Pending" and keys.BIND_COMPLETED not in (written.metadata.annotations or {})
        else "complete"
    )


def _class_name(annotations: Mapping[str, str | None], named: str | None) -> str:
    """Return the StorageClass of a claim or a volume: the old annotation goes first."""
    return intern((annotations.get(keys.STORAGE_CLASS) if keys.STORAGE_CLASS in annotations else named) or "")


def _driver(spec: VolumeSpec) -> str:
    if spec.csi is not None:
        return intern(spec.csi.driver)
    sources = {
        "ebs.csi.aws.com": spec.aws_elastic_block_store,
        "disk.csi.azure.com": spec.azure_disk,
        "cinder.csi.openstack.org": spec.cinder,
        "pd.csi.storage.gke.io": spec.gce_persistent_disk,
    }
    return next((driver for driver, source in sources.items() if source is not None), "")


def _size(written: Amounts | None) -> int:
    return dict(resources(amounts(written))).get("storage", 0)


def volume_limits(written: CSINode) -> Resources:
    """Return attachable volumes by CSI driver, for the drivers that report them."""
    drivers = written.spec.drivers or ()
    counts = ((driver.name, driver.allocatable.count if driver.allocatable else None) for driver in drivers)
    return shared(tuple(sorted((name, count) for name, count in counts if count is not None)))
