"""Taints of nodes and of reservations."""

from collections.abc import Iterable

from msgspec import Struct

from kubectl_koord.model.values import selectors


class Taint(Struct, gc=False):
    """spec.taints[]."""

    key: str = ""
    value: str = ""
    effect: str = ""


def taints(written: Iterable[Taint] | None) -> tuple[selectors.Taint, ...]:
    """Return taints as values."""
    return tuple([selectors.Taint(one.key, one.value, one.effect) for one in written]) if written else ()
