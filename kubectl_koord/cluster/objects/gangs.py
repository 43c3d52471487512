"""PodGroups, ElasticQuotas and the ClusterNetworkTopology, and the labels by which pods belong to gangs."""

from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from typing import Any

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import Int32, Meta, Strings, namespace, parse_int, shared, strings
from kubectl_koord.cluster.objects.pool import Amounts, limits
from kubectl_koord.model import objects, pods, quotas, values
from kubectl_koord.model.pods import GangAnnotations

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


_PREFIX = "quota.scheduling.koordinator.sh/"
_LISTS = ("admission", "shared-weight", "total-resource")
_NAMES = ("max-strict-check-resource-keys", "namespaces")
_MOST = 1 << 6  # the same text is looked at more than once


class QuotaSpec(Struct, gc=False):
    """spec of an ElasticQuota."""

    min: Amounts | None = None
    max: Amounts | None = None


class QuotaStatus(Struct, gc=False):
    """status of an ElasticQuota."""

    used: Amounts | None = None


class Quota(Struct, gc=False):
    """One ElasticQuota."""

    metadata: Meta
    spec: QuotaSpec = field(default_factory=QuotaSpec)
    status: QuotaStatus = field(default_factory=QuotaStatus)


def quota(written: Quota) -> quotas.Quota:
    """Return the ElasticQuota as the scheduler reads it (`NewQuotaInfoFromQuota` in elasticquota/core/quota_info.go).

    Raises:
        QuantityError: when an amount of its spec or status is no quantity; one in an annotation counts as not written.

    """
    meta = written.metadata
    labels, annotations = strings(meta.labels), strings(meta.annotations)
    most = shared(limits(written.spec.max))
    weight = _listed(annotations, "shared-weight")
    is_weighted = weight is not None and any(amount for _, amount in weight)
    return quotas.Quota(
        namespace=namespace(meta),
        name=meta.name,
        min=shared(limits(written.spec.min)),
        max=most,
        parent=labels.get(f"{_PREFIX}parent") or ("" if meta.name == quotas.ROOT else quotas.ROOT),
        weight=shared(weight) if weight is not None and is_weighted else most,
        lends=labels.get(f"{_PREFIX}allow-lent-resource") != "false",
        is_parent=labels.get(f"{_PREFIX}is-parent") == "true",
        tree=labels.get(f"{_PREFIX}tree-id", ""),
        heads_tree=labels.get(f"{_PREFIX}is-root") == "true",
        beside_default=labels.get(f"{_PREFIX}ignore-default-tree") == "true",
        total=_listed(annotations, "total-resource"),
        namespaces=_names(annotations.get(f"{_PREFIX}namespaces", "")),
        admission=_listed(annotations, "admission"),
        profile=labels.get(f"{_PREFIX}profile", ""),
        guaranteed=_listed(annotations, "guaranteed"),
        runtime=_listed(annotations, "runtime"),
        used=None if written.status.used is None else limits(written.status.used),
        weighs_max=not is_weighted,
        strict=_names(annotations.get(f"{_PREFIX}max-strict-check-resource-keys", "")),
        forced=labels.get(f"{_PREFIX}allow-force-update") == "true",
        unreadable=_unreadable(annotations),
    )


def _unreadable(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Return the annotations that somebody sets and that hold no JSON of their kind."""
    written = {key: text for key in (*_LISTS, *_NAMES) if (text := annotations.get(_PREFIX + key))}
    if not written:
        return ()
    lists = (key for key in _LISTS if key in written and _resource_list(written[key]) is None)
    names = (key for key in _NAMES if key in written and not _names(written[key]) and written[key].strip() != "[]")
    return tuple(_PREFIX + key for key in (*lists, *names))


def _listed(annotations: Mapping[str, str], key: str) -> values.Resources | None:
    """Return the resource list that an annotation holds, None where there is none that can be read."""
    written = annotations.get(_PREFIX + key)
    return _resource_list(written) if written else None


@lru_cache(_MOST)
def _resource_list(written: str) -> values.Resources | None:
    try:
        return limits(msgspec.json.decode(written, type=Amounts))
    except (msgspec.DecodeError, values.QuantityError, RecursionError):
        return None


def _names(written: str) -> tuple[str, ...]:
    """Return the names of a JSON list of strings, none where it is something else."""
    try:
        listed: Any = msgspec.json.decode(written, type=list[str]) if written else ()
    except (msgspec.DecodeError, RecursionError):
        return ()
    return tuple(listed)


class LayerSpec(Struct, gc=False, rename="camel"):
    """spec.networkTopologySpec[] of a ClusterNetworkTopology."""

    topology_layer: str = ""
    parent_topology_layer: str = ""
    label_key: list[str] | None = None


class TopologySpec(Struct, gc=False, rename="camel"):
    """spec of a ClusterNetworkTopology."""

    network_topology_spec: list[LayerSpec] | None = None


class TopologyInfo(Struct, gc=False, rename="camel"):
    """The identity of a domain."""

    topology_layer: str = ""
    topology_name: str = ""


class DetailStatus(Struct, gc=False, rename="camel"):
    """status.detailStatus[]."""

    topology_info: TopologyInfo = field(default_factory=TopologyInfo)
    node_num: Int32 = 0


class TopologyStatus(Struct, gc=False, rename="camel"):
    """status of a ClusterNetworkTopology."""

    detail_status: list[DetailStatus] | None = None


class NetworkTopology(Struct, gc=False):
    """One ClusterNetworkTopology."""

    metadata: Meta
    spec: TopologySpec = field(default_factory=TopologySpec)
    status: TopologyStatus | None = None


def topology(written: NetworkTopology) -> objects.NetworkTopology:
    """Return the ClusterNetworkTopology with what the scheduler last wrote into its status."""
    detail = written.status.detail_status if written.status else None
    return objects.NetworkTopology(
        name=written.metadata.name,
        layers=tuple(
            objects.Layer(entry.topology_layer, entry.parent_topology_layer, tuple(entry.label_key or ()))
            for entry in written.spec.network_topology_spec or ()
        ),
        status=None
        if detail is None
        else tuple(
            objects.DomainStatus(d.topology_info.topology_layer, d.topology_info.topology_name, d.node_num)
            for d in detail
        ),
        resource_version=written.metadata.resource_version or "",
    )
