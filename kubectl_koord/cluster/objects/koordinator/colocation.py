"""ClusterColocationProfiles: what Koordinator's webhook changes of pods when they are made."""

from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.meta import Int32, Meta
from kubectl_koord.cluster.objects.fields.selectors import LabelSelector


class ProfileSpec(Struct, gc=False, rename="camel"):
    """spec of a ClusterColocationProfile."""

    namespace_selector: LabelSelector | None = None
    selector: LabelSelector | None = None
    probability: int | str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    label_keys_mapping: dict[str, str] | None = None
    annotation_keys_mapping: dict[str, str] | None = None
    label_suffixes: dict[str, str] | None = None
    scheduler_name: str | None = None
    qos_class: str | None = None
    priority_class_name: str | None = None
    koordinator_priority: Int32 | None = None
    patch: dict[str, Any] | None = None


class ColocationProfile(Struct, gc=False):
    """One ClusterColocationProfile."""

    metadata: Meta
    spec: ProfileSpec = field(default_factory=ProfileSpec)
