"""PodGroups, and the labels and annotations by which pods belong to gangs."""

from collections.abc import Mapping
from sys import intern

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.integers import parse_int
from kubectl_koord.cluster.objects.fields.meta import Int32, Meta, Strings, namespace, strings
from kubectl_koord.model import objects, pods
from kubectl_koord.model.marks import GangAnnotations

_LIGHT_LABEL = "pod-group.scheduling.sigs.k8s.io/name"
_GANG_PREFIX = "gang.scheduling.koordinator.sh/"
GANG_ANNOTATION = _GANG_PREFIX + "name"
_TOPOLOGY_ANNOTATION = _GANG_PREFIX + "network-topology-spec"
_INDEX_ANNOTATION = _GANG_PREFIX + "network-topology-index"
_LIGHT_POLICY = "pod-group.scheduling.sigs.k8s.io/match-policy"
_LIGHT_MINIMUM = "pod-group.scheduling.sigs.k8s.io/min-available"
_FOREIGN_LABEL = "scheduling.x-k8s.io/pod-group"
_FOREIGN_ANNOTATION = "scheduling.k8s.io/group-name"


class PodGroupSpec(Struct, gc=False, rename="camel"):
    """spec of a PodGroup."""

    min_member: Int32 | None = None
    schedule_timeout_seconds: Int32 | None = None


class PodGroupStatus(Struct, gc=False):
    """status of a PodGroup."""

    phase: str | None = None


class PodGroup(Struct, gc=False):
    """One PodGroup."""

    metadata: Meta
    spec: PodGroupSpec = field(default_factory=PodGroupSpec)
    status: PodGroupStatus | None = None


def pod_group(written: PodGroup) -> objects.PodGroup:
    """Return the PodGroup with its gang annotations as written."""
    meta = written.metadata
    annotations = strings(meta.annotations)
    return objects.PodGroup(
        namespace=namespace(meta),
        name=meta.name,
        min_member=written.spec.min_member or 0,
        timeout_seconds=written.spec.schedule_timeout_seconds,
        mode=annotations.get(_GANG_PREFIX + "mode", ""),
        match_policy=_match_policy(annotations),
        groups=annotations.get(_GANG_PREFIX + "groups"),
        topology=annotations.get(_TOPOLOGY_ANNOTATION),
        total=annotations.get(_GANG_PREFIX + "total-number"),
        annotations=tuple(sorted(annotations.items())),
        phase=(written.status.phase if written.status else None) or "",
        labels=tuple(sorted(strings(meta.labels).items())),
        created=meta.creation_timestamp or "",
        resource_version=meta.resource_version or "",
    )


def gang_of(meta: Meta) -> tuple[str, bool]:
    """Return the id of the pod's gang (empty for none) and whether only a PodGroup can define it.

    Mirrors `GetGangName` in pkg/scheduler/plugins/coscheduling/util/gang_helper.go.
    """
    annotations = meta.annotations
    found = label_of(meta) or (annotated(namespace(meta), annotations) if annotations else "")
    return found, needs_group(meta)


def needs_group(meta: Meta) -> bool:
    """Tell whether only a PodGroup can define the gang of a pod."""
    return bool(meta.labels and meta.labels.get(pods.POD_GROUP_LABEL))


def label_of(meta: Meta) -> str:
    """Return the id of the gang that a pod's labels name, empty for none: annotations may name one then."""
    labels = meta.labels
    name = (labels.get(pods.POD_GROUP_LABEL) or labels.get(_LIGHT_LABEL)) if labels else None
    return intern(f"{namespace(meta)}/{name}") if name else ""


def annotated(home: str, annotations: Mapping[str, str | None]) -> str:
    """Return the id of the gang that a pod's annotations name, empty for none."""
    name = annotations.get(GANG_ANNOTATION)
    return intern(f"{home}/{name}") if name else ""


TERMS = (
    *(_GANG_PREFIX + name for name in ("min-available", "total-number", "mode", "match-policy", "groups")),
    _TOPOLOGY_ANNOTATION,
    _LIGHT_POLICY,
)
"""The annotations by which a pod says what its gang is like."""


def light_minimum(labels: Mapping[str, str | None] | None) -> str:
    """Return the minimum that the labels of a pod say, as written; empty for none."""
    return (labels or {}).get(_LIGHT_MINIMUM) or ""


def gang_annotations(labels: Strings, annotations: Strings) -> GangAnnotations:
    """Return what labels and annotations of a pod say of its gang, as written."""
    return terms(light_minimum(labels), annotations)


def terms(light: str, annotations: Strings) -> GangAnnotations:
    """Return the same, of the `light_minimum` of the labels."""
    minimum = light or annotations.get(_GANG_PREFIX + "min-available")
    return GangAnnotations(
        minimum=minimum,
        total=annotations.get(_GANG_PREFIX + "total-number"),
        mode=annotations.get(_GANG_PREFIX + "mode", ""),
        match_policy=_match_policy(annotations),
        groups=annotations.get(_GANG_PREFIX + "groups"),
        topology=annotations.get(_TOPOLOGY_ANNOTATION),
    )


def _match_policy(annotations: Strings) -> str:
    """Return the match policy as written, under either of its annotations."""
    return annotations.get(_GANG_PREFIX + "match-policy") or annotations.get(_LIGHT_POLICY, "")


def topology_index(annotations: Strings) -> int | None:
    """Return a valid topology index (a non-negative integer as Go's Atoi reads it), else None."""
    value = parse_int(annotations.get(_INDEX_ANNOTATION))
    return value if value is not None and value >= 0 else None


def foreign_gang(meta: Meta) -> str:
    """Return the marker of another gang scheduler (scheduler-plugins, Volcano) that a pod carries, empty for none."""
    if (meta.labels or {}).get(_FOREIGN_LABEL):
        return _FOREIGN_LABEL
    return _FOREIGN_ANNOTATION if volcano_group(meta) else ""


def volcano_group(meta: Meta) -> str:
    """Return the `namespace/name` of the PodGroup of Volcano that a pod is in, empty for none."""
    name = (meta.annotations or {}).get(_FOREIGN_ANNOTATION)
    return f"{namespace(meta)}/{name}" if name else ""
