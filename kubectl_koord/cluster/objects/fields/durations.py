"""Durations as Go writes them: `5m0s`, `1h30m`, `500ms`."""

import re
from functools import lru_cache

_MOST = 1 << 8
_PART = re.compile(r"(\d{1,18}(?:\.\d{0,18})?|\.\d{1,18})(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


@lru_cache(_MOST)
def seconds(written: str) -> float | None:
    """Return the seconds of a duration (0 where nothing is written), None for a text that is none."""
    sign = -1 if written.startswith("-") else 1
    rest = written[1:] if written[:1] in {"+", "-"} else written
    if rest in {"", "0"}:
        return None if written in {"+", "-"} else 0
    parts = _PART.findall(rest)
    if "".join(number + unit for number, unit in parts) != rest:
        return None
    return sign * sum(float(number) * _SECONDS[unit] for number, unit in parts)
