"""ElasticQuotas."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, limits
from kubectl_koord.cluster.objects.fields.meta import Meta, namespace, strings
from kubectl_koord.cluster.objects.fields.shared import shared
from kubectl_koord.model import quotas
from kubectl_koord.model.values import quantity

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


def _listed(annotations: Mapping[str, str], key: str) -> quantity.Resources | None:
    """Return the resource list that an annotation holds, None where there is none that can be read."""
    written = annotations.get(_PREFIX + key)
    return _resource_list(written) if written else None


@lru_cache(_MOST)
def _resource_list(written: str) -> quantity.Resources | None:
    try:
        return limits(msgspec.json.decode(written, type=Amounts))
    except (msgspec.DecodeError, quantity.QuantityError, RecursionError):
        return None


def _names(written: str) -> tuple[str, ...]:
    """Return the names of a JSON list of strings, none where it is something else."""
    try:
        listed: Any = msgspec.json.decode(written, type=list[str]) if written else ()
    except (msgspec.DecodeError, RecursionError):
        return ()
    return tuple(listed)
