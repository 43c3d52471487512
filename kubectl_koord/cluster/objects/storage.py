"""Volumes: PersistentVolumeClaims, PersistentVolumes and CSINodes."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32, Meta, strings
from kubectl_koord.cluster.objects.fields.selectors import NodeSelector, node_terms
from kubectl_koord.model import objects, pods


class CSISource(Struct, gc=False):
    """spec.csi of a PersistentVolume."""

    driver: str = ""


class VolumeAffinity(Struct, gc=False):
    """spec.nodeAffinity of a PersistentVolume."""

    required: NodeSelector | None = None


class VolumeSpec(Struct, gc=False, rename="camel"):
    """spec of a PersistentVolume."""

    node_affinity: VolumeAffinity | None = None
    csi: CSISource | None = None


class PersistentVolume(Struct, gc=False):
    """One PersistentVolume."""

    metadata: Meta
    spec: VolumeSpec = field(default_factory=VolumeSpec)


class ClaimSpec(Struct, gc=False, rename="camel"):
    """spec of a PersistentVolumeClaim."""

    volume_name: str | None = None
    access_modes: list[str] | None = None


class PersistentVolumeClaim(Struct, gc=False):
    """One PersistentVolumeClaim."""

    metadata: Meta
    spec: ClaimSpec = field(default_factory=ClaimSpec)


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


def claim(name: str, written: PersistentVolumeClaim, volume: PersistentVolume | None) -> objects.Claim:
    """Return the claim with what its volume says, as far as the volume is known."""
    single = "ReadWriteOncePod" in (written.spec.access_modes or ())
    bound = written.spec.volume_name or ""
    if volume is None:
        return objects.Claim(name, bound, single_pod=single)
    affinity = volume.spec.node_affinity
    return objects.Claim(
        name=name,
        volume=bound,
        terms=node_terms(affinity.required) if affinity and affinity.required else None,
        labels=tuple(sorted(strings(volume.metadata.labels).items())),
        driver=volume.spec.csi.driver if volume.spec.csi else "",
        single_pod=single,
        known=True,
    )


def volume_limits(written: CSINode | None) -> pods.Resources:
    """Return attachable volumes by CSI driver, for the drivers that report them."""
    drivers = (written.spec.drivers if written else None) or ()
    counts = ((driver.name, driver.allocatable.count if driver.allocatable else None) for driver in drivers)
    return tuple(sorted((name, count) for name, count in counts if count is not None))
