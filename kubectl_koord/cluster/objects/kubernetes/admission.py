"""What the API server fills in of a pod's requests and limits: the defaults of LimitRanges."""

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
        for some in (item.default, item.default_request, item.max, item.min):
            amounts(some)
    return written
