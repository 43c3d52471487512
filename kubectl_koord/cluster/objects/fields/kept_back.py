"""What nodes and Reservations keep back from pods, in the annotation that both have for it."""

from functools import lru_cache

from msgspec import Struct, field

from kubectl_koord.cluster.objects.fields import go_json
from kubectl_koord.cluster.objects.fields.amounts import Amounts, Nano, amounts
from kubectl_koord.cluster.objects.fields.cpus import cpu_set
from kubectl_koord.model.values import quantity

KEPT_BACK = "node.koordinator.sh/reservation"


class _KeptBack(Struct, gc=False):
    """node.koordinator.sh/reservation."""

    resources: Amounts | None = None
    reserved_cpus: str | None = field(default=None, name="reservedCPUs")
    policy: str | None = field(default=None, name="applyPolicy")


@lru_cache(maxsize=1024)
def kept_back(annotation: str) -> Nano:
    """Return what is kept back, one object for equal texts; nothing where that cannot be read."""
    try:
        read: _KeptBack | None = go_json.decode(annotation, _KeptBack | None)
        if read is None or (read.policy or "Default") != "Default":
            return {}
        reserved = amounts(read.resources)
    except (ValueError, RecursionError):
        return {}
    cpus = cpu_set(read.reserved_cpus)
    if cpus is None:
        return {}
    if read.reserved_cpus:
        reserved["cpu"] = cpus.bit_count() * quantity.NANO
    return reserved
