"""CEL expressions that select devices."""

from collections.abc import Iterable

from msgspec import Struct


class CEL(Struct, gc=False):
    """selectors[].cel."""

    expression: str = ""


class CELSelector(Struct, gc=False):
    """One selector of a DeviceClass or of a request."""

    cel: CEL | None = None


def expressions(written: Iterable[CELSelector] | None) -> tuple[str, ...]:
    """Return the expressions, an empty one for a selector of another kind."""
    return tuple(one.cel.expression if one.cel else "" for one in written or ())
