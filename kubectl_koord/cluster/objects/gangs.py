"""PodGroups, ElasticQuotas and the ClusterNetworkTopology, and the labels by which pods belong to gangs."""

from collections.abc import Mapping
from functools import lru_cache
from sys import intern
from typing import Any

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import Int32, Meta, Strings, namespace, parse_int, shared, strings
from kubectl_koord.cluster.objects.pool import Amounts, limits
from kubectl_koord.model import keys, objects, pods, quotas, values
from kubectl_koord.model.pods import GangAnnotations


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
        mode=annotations.get(keys.GANG_MODE, ""),
        match_policy=_match_policy(annotations),
        groups=annotations.get(keys.GANG_GROUPS),
        topology=annotations.get(keys.GANG_TOPOLOGY),
        total=annotations.get(keys.GANG_TOTAL),
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
    name = (labels.get(pods.POD_GROUP_LABEL) or labels.get(keys.LIGHT_NAME)) if labels else None
    return intern(f"{namespace(meta)}/{name}") if name else ""


def annotated(home: str, annotations: Mapping[str, str | None]) -> str:
    """Return the id of the gang that a pod's annotations name, empty for none."""
    name = annotations.get(keys.GANG_NAME)
    return intern(f"{home}/{name}") if name else ""


TERMS = (
    keys.GANG_MINIMUM,
    keys.GANG_TOTAL,
    keys.GANG_MODE,
    keys.GANG_POLICY,
    keys.GANG_GROUPS,
    keys.GANG_TOPOLOGY,
    keys.LIGHT_POLICY,
)
"""The annotations by which a pod says what its gang is like."""


def light_minimum(labels: Mapping[str, str | None] | None) -> str:
    """Return the text of a pod's min-available label, empty for none."""
    return (labels or {}).get(keys.LIGHT_MINIMUM) or ""


def gang_annotations(labels: Strings, annotations: Strings) -> GangAnnotations:
    """Return the gang settings in a pod's labels and annotations, not yet parsed."""
    return terms(light_minimum(labels), annotations)


def terms(light: str, annotations: Strings) -> GangAnnotations:
    """Return the gang settings in a pod's annotations; `light` is the `light_minimum` of its labels."""
    minimum = light or annotations.get(keys.GANG_MINIMUM)
    return GangAnnotations(
        minimum=minimum,
        total=annotations.get(keys.GANG_TOTAL),
        mode=annotations.get(keys.GANG_MODE, ""),
        match_policy=_match_policy(annotations),
        groups=annotations.get(keys.GANG_GROUPS),
        topology=annotations.get(keys.GANG_TOPOLOGY),
    )


def _match_policy(annotations: Strings) -> str:
    """Return the match policy as written, under either of its annotations."""
    return annotations.get(keys.GANG_POLICY) or annotations.get(keys.LIGHT_POLICY, "")


def topology_index(annotations: Strings) -> int | None:
    """Return a valid topology index (a non-negative integer as Go's Atoi reads it), else None."""
    value = parse_int(annotations.get(keys.GANG_INDEX))
    return value if value is not None and value >= 0 else None


def foreign_gang(meta: Meta) -> str:
    """Return the marker of another gang scheduler (scheduler-plugins, Volcano) that a pod carries, empty for none."""
    if (meta.labels or {}).get(keys.FOREIGN_GROUP_LABEL):
        return keys.FOREIGN_GROUP_LABEL
    return keys.FOREIGN_GROUP if volcano_group(meta) else ""


def volcano_group(meta: Meta) -> str:
    """Return the `namespace/name` of the PodGroup of Volcano that a pod is in, empty for none."""
    name = (meta.annotations or {}).get(keys.FOREIGN_GROUP)
    return f"{namespace(meta)}/{name}" if name else ""


_LISTS = (keys.QUOTA_ADMISSION, keys.QUOTA_WEIGHT, keys.QUOTA_TOTAL)
_NAMES = (keys.QUOTA_STRICT, keys.QUOTA_NAMESPACES)
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

    Raises QuantityError when an amount of its spec or status is no quantity; one in an annotation counts as not
    written.
    """
    meta = written.metadata
    labels, annotations = strings(meta.labels), strings(meta.annotations)
    most = shared(limits(written.spec.max))
    weight = _listed(annotations, keys.QUOTA_WEIGHT)
    is_weighted = weight is not None and any(amount for _, amount in weight)
    return quotas.Quota(
        namespace=namespace(meta),
        name=meta.name,
        min=shared(limits(written.spec.min)),
        max=most,
        parent=labels.get(keys.QUOTA_PARENT) or ("" if meta.name == quotas.ROOT else quotas.ROOT),
        weight=shared(weight) if weight is not None and is_weighted else most,
        lends=labels.get(keys.QUOTA_LENDS) != "false",
        is_parent=labels.get(keys.QUOTA_IS_PARENT) == "true",
        tree=labels.get(keys.QUOTA_TREE, ""),
        heads_tree=labels.get(keys.QUOTA_IS_ROOT) == "true",
        beside_default=labels.get(keys.QUOTA_BESIDE_DEFAULT) == "true",
        total=_listed(annotations, keys.QUOTA_TOTAL),
        namespaces=_names(annotations.get(keys.QUOTA_NAMESPACES, "")),
        admission=_listed(annotations, keys.QUOTA_ADMISSION),
        profile=labels.get(keys.QUOTA_PROFILE, ""),
        guaranteed=_listed(annotations, keys.QUOTA_GUARANTEED),
        runtime=_listed(annotations, keys.QUOTA_RUNTIME),
        used=None if written.status.used is None else limits(written.status.used),
        weighs_max=not is_weighted,
        strict=_names(annotations.get(keys.QUOTA_STRICT, "")),
        forced=labels.get(keys.QUOTA_FORCED) == "true",
        unreadable=_unreadable(annotations),
    )


def _unreadable(annotations: Mapping[str, str]) -> tuple[str, ...]:
    """Return the annotations that are set and whose JSON cannot be decoded."""
    written = {key: text for key in (*_LISTS, *_NAMES) if (text := annotations.get(key))}
    if not written:
        return ()
    lists = (key for key in _LISTS if key in written and _resource_list(written[key]) is None)
    names = (key for key in _NAMES if key in written and not _names(written[key]) and written[key].strip() != "[]")
    return (*lists, *names)


def _listed(annotations: Mapping[str, str], key: str) -> values.Resources | None:
    """Return the resource list that an annotation holds, None where there is none that can be read."""
    written = annotations.get(key)
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
