"""What the API server fills in of a pod's requests and limits, and what it allows: LimitRanges and ResourceQuotas."""

from typing import Any

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts
from kubectl_koord.cluster.objects.fields.meta import Meta


class LimitItem(Struct, gc=False, rename="camel"):
    """spec.limits[] of a LimitRange."""

    type: str = ""
    default: Amounts | None = None
    default_request: Amounts | None = None
    max: Amounts | None = None
    min: Amounts | None = None
    max_limit_request_ratio: Amounts | None = None


class LimitRangeSpec(Struct, gc=False):
    """spec of a LimitRange."""

    limits: list[LimitItem] | None = None


class LimitRange(Struct, gc=False):
    """One LimitRange."""

    metadata: Meta
    spec: LimitRangeSpec = field(default_factory=LimitRangeSpec)


def readable_range(written: LimitRange) -> LimitRange:
    """Return the object as it is, all of whose amounts can be read.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    for item in written.spec.limits or ():
        for some in (item.default, item.default_request, item.max, item.min, item.max_limit_request_ratio):
            amounts(some)
    return written


class NamespaceQuotaSpec(Struct, gc=False, rename="camel"):
    """spec of a ResourceQuota."""

    hard: Amounts | None = None
    scopes: list[str] | None = None
    scope_selector: dict[str, Any] | None = None


class NamespaceQuotaStatus(Struct, gc=False):
    """status of a ResourceQuota."""

    hard: Amounts | None = None
    used: Amounts | None = None


class ResourceQuota(Struct, gc=False):
    """One ResourceQuota."""

    metadata: Meta
    spec: NamespaceQuotaSpec = field(default_factory=NamespaceQuotaSpec)
    status: NamespaceQuotaStatus = field(default_factory=NamespaceQuotaStatus)


def readable_quota(written: ResourceQuota) -> ResourceQuota:
    """Return the object as it is, all of whose amounts can be read.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    for some in (written.spec.hard, written.status.hard, written.status.used):
        amounts(some)
    return written
