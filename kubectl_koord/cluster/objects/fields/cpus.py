"""Lists of CPUs as Linux writes them, `0-3,8`, and annotations that hold JSON."""

import re
from collections.abc import Mapping
from typing import TypeVar

from kubectl_koord.cluster.objects.fields import go_json
from kubectl_koord.model.hardware.numa import MOST_CPUS, CPUSet

T = TypeVar("T")

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def cpu_set(written: str | None) -> CPUSet | None:
    """Return the set of the CPUs; None for what is no such list. Mirrors `Parse` in pkg/util/cpuset."""
    found = 0
    if not written:
        return found
    for part in written.split(","):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        low, high = int(match[1]), int(match[2] or match[1])
        if high >= MOST_CPUS:
            return None
        found |= max(0, (1 << high + 1) - (1 << low))
    return found


def annotation(annotations: Mapping[str, str | None], name: str, form: type[T]) -> T | None:
    """Return what the JSON of an annotation says, None where there is none or it is not of that form."""
    written = annotations.get(name)
    if not written:
        return None
    try:
        found: T = go_json.decode(written, form)
    except (ValueError, RecursionError):
        return None
    return found
