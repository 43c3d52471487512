"""Volumes: claims, the volumes that they may be bound to, and how new ones are made."""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct

from kubectl_koord.model.values.selectors import Labels, NodeTerm, Requirement, Selector

Binding: TypeAlias = Literal["complete", "begun", "lost"]


class VolumeRequest(Struct, frozen=True, gc=False):
    """What a claim asks of a volume: size in bytes, access modes in order, a raw block device or not, labels."""

    size: int = 0
    modes: tuple[str, ...] = ()
    is_block: bool = False
    selector: Selector | None = None


class Claim(Struct, frozen=True, gc=False):
    """One PersistentVolumeClaim with the volume it is bound to.

    `volume` is empty while it is unbound; `binding` tells whether the claim is bound to it, is to be, or has lost it.
    `terms` are the volume's required node affinity (None: any node), `labels` its zone labels, `driver` and `handle`
    what attaches it, and calls it so. `single_pod` is ReadWriteOncePod; `known` tells whether the volume itself was
    read, `is_read` whether the claim was. `class_name` is its StorageClass; `selected` the node for which its volume is
    being made; `owner` the pod that owns it, by uid and name (empty for none); `uid` its own.
    """

    name: str
    volume: str = ""
    terms: tuple[NodeTerm, ...] | None = None
    labels: Labels = ()
    driver: str = ""
    handle: str = ""
    single_pod: bool = False
    known: bool = False
    binding: Binding = "complete"
    is_read: bool = True
    class_name: str = ""
    request: VolumeRequest = VolumeRequest()
    selected: str = ""
    terminating: bool = False
    owner: tuple[str, str] = ("", "")
    uid: str = ""


class Volume(Struct, frozen=True, gc=False):
    """One PersistentVolume that no claim is bound to.

    `promised` is the one claim that may have it, empty for any; only with that `promised_uid`, where it is told.
    """

    name: str
    class_name: str
    size: int
    modes: tuple[str, ...] = ()
    is_block: bool = False
    labels: Labels = ()
    terms: tuple[NodeTerm, ...] | None = None
    promised: str = ""
    promised_uid: str = ""


class StorageClass(Struct, frozen=True, gc=False):
    """One StorageClass. `waits` is WaitForFirstConsumer; `topologies` its allowed topologies, of which one holds."""

    name: str
    provisioner: str = ""
    waits: bool = False
    topologies: tuple[tuple[Requirement, ...], ...] = ()


class StorageCapacity(Struct, frozen=True, gc=False):
    """One CSIStorageCapacity: how large a volume of a class may be on the nodes of a segment; None: not told."""

    class_name: str
    largest: int | None
    nodes: Selector | None


class Storage(Struct, frozen=True):
    """All that unbound claims may get their volumes from.

    `volumes` are those that are free, the smallest first; `tracked` the drivers that tell how much room there is.
    """

    volumes: tuple[Volume, ...] = ()
    classes: Mapping[str, StorageClass] = {}
    tracked: frozenset[str] = frozenset()
    capacities: tuple[StorageCapacity, ...] = ()
