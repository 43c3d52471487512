"""Which Reservation a pod was allocated from."""

import json
from collections.abc import Mapping
from typing import Any

_ALLOCATED_FROM = "scheduling.koordinator.sh/reservation-allocated"


def reservation_name(annotations: Mapping[str, str | None] | None) -> str:
    """Return the name of the Reservation that the pod was allocated from, empty for none."""
    return _allocated_from(annotations, "name")


def reservation_uid(annotations: Mapping[str, str | None] | None) -> str:
    """Return the uid of the same."""
    return _allocated_from(annotations, "uid")


def _allocated_from(annotations: Mapping[str, str | None] | None, field: str) -> str:
    annotation = annotations.get(_ALLOCATED_FROM) if annotations else None
    if not annotation:
        return ""
    try:
        allocated: Any = json.loads(annotation)
    except (ValueError, RecursionError):
        return ""
    found = allocated.get(field) if isinstance(allocated, dict) else ""
    return found if isinstance(found, str) else ""
