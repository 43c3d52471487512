"""What nodes and Reservations keep back from pods, in the annotation that both have for it."""

import json
from typing import Any

from kubectl_koord.cluster.objects.fields.amounts import Nano, amounts
from kubectl_koord.model.values import quantity

KEPT_BACK = "node.koordinator.sh/reservation"


def kept_back(annotation: str) -> Nano:
    """Return what is kept back; nothing where that cannot be read."""
    try:
        reservation: Any = json.loads(annotation)
        if not isinstance(reservation, dict) or reservation.get("applyPolicy", "") not in {"", "Default"}:
            return {}
        reserved = amounts(reservation.get("resources"))
        cpus = _count_cpus(str(reservation.get("reservedCPUs") or ""))
    except (ValueError, AttributeError, RecursionError):
        return {}
    if cpus:
        reserved["cpu"] = cpus * quantity.NANO
    return reserved


def _count_cpus(written: str) -> int:
    cpus: set[int] = set()
    for part in filter(None, written.split(",")):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not 0 <= low <= high < 1 << 16:
            raise ValueError(written)
        cpus.update(range(low, high + 1))
    return len(cpus)
