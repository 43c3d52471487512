"""RuntimeClasses: what the API server adds to the pods that name one."""

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields.amounts import Amounts, amounts
from kubectl_koord.cluster.objects.fields.meta import Meta
from kubectl_koord.cluster.objects.fields.selectors import Toleration


class Overhead(Struct, gc=False, rename="camel"):
    """overhead of a RuntimeClass."""

    pod_fixed: Amounts | None = None


class Scheduling(Struct, gc=False, rename="camel"):
    """scheduling of a RuntimeClass: which nodes support it."""

    node_selector: dict[str, str] | None = None
    tolerations: list[Toleration] | None = None


class RuntimeClass(Struct, gc=False):
    """One RuntimeClass."""

    metadata: Meta
    overhead: Overhead | None = None
    scheduling: Scheduling = field(default_factory=Scheduling)


def readable(written: RuntimeClass) -> RuntimeClass:
    """Return the object as it is, all of whose amounts can be read.

    Raises:
        QuantityError: when an amount is no quantity.

    """
    if written.overhead is not None:
        amounts(written.overhead.pod_fixed)
    return written
