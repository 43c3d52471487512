"""Whole numbers as Go reads them."""

import re

_WRITTEN = re.compile(r"([+-]?)0*([0-9]{1,19})")


def parse_int(text: str | None) -> int | None:
    """Return what strconv.ParseInt and Atoi read as 64 bits, None for what they do not."""
    found = _WRITTEN.fullmatch(text or "")
    value = int(found[1] + found[2]) if found else None
    return value if value is not None and -(1 << 63) <= value < 1 << 63 else None
