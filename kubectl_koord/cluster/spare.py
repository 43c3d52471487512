"""Memory that only reading needs."""

import contextlib

from kubectl_koord.cluster.objects.fields import amounts, shared
from kubectl_koord.cluster.objects.koordinator import node_topology
from kubectl_koord.model.values import quantity

_ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's malloc.h."""


def share() -> None:
    """Let all threads allocate in one place.

    Each thread that reads a list would have an arena of its own in glibc, in which no other allocates: what becomes
    free there would stay with us for nothing. As but one thread of Python runs at a time, none waits for another.
    """
    # Another C library has no such function, and an interpreter may have been built without ctypes.
    with contextlib.suppress(ImportError, OSError, TypeError, AttributeError):
        import ctypes  # noqa: PLC0415 - start-up time

        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def forget() -> None:
    """Forget what was remembered for objects yet to come."""
    shared.forget()
    amounts.forget()
    node_topology.forget()
    quantity.parse.cache_clear()
