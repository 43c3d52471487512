"""VolumeAttachments: which volumes are attached to which node."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Meta


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
