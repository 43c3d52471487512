"""ElasticQuotas."""

import json
from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts
from kubectl_koord.cluster.objects.fields.meta import Meta, namespace, strings
from kubectl_koord.model import objects, quantity

_MAX_BUILT_IN = 10**15
_BUILT_IN_QUOTAS = {"koordinator-root-quota", "koordinator-system-quota", "koordinator-default-quota"}


class QuotaSpec(Struct, gc=False):
    """spec of an ElasticQuota."""

    max: Amounts | None = None


class Quota(Struct, gc=False):
    """One ElasticQuota."""

    metadata: Meta
    spec: QuotaSpec = field(default_factory=QuotaSpec)


def quota(written: Quota) -> objects.Quota:
    """Return the ElasticQuota; `limited` is false only for the built-in ones without a real maximum."""
    annotations = strings(written.metadata.annotations)
    try:
        listed: Any = json.loads(annotations.get("quota.scheduling.koordinator.sh/namespaces") or "[]")
    except (ValueError, RecursionError):
        listed = []
    maximum = amounts(written.spec.max)
    return objects.Quota(
        namespace=namespace(written.metadata),
        name=written.metadata.name,
        namespaces=tuple(str(name) for name in listed) if isinstance(listed, list) else (),
        limited=written.metadata.name not in _BUILT_IN_QUOTAS
        or any(quantity.whole(value) < _MAX_BUILT_IN for value in maximum.values()),
    )
