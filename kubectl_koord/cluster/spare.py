"""Memory that only reading has needed."""

import contextlib

from kubectl_koord.cluster.objects.fields import shared
from kubectl_koord.cluster.objects.koordinator import node_topology
from kubectl_koord.model.values import quantity


def give_back() -> None:
    """Forget what was remembered for objects yet to come, and return to the system what is free.

    Each thread that has read a list has an arena of its own in glibc, in which no other thread allocates: what is free
    there would stay with us for nothing.
    """
    shared.forget()
    node_topology.forget()
    quantity.parse.cache_clear()
    # Another C library has no such function, and an interpreter may have been built without ctypes.
    with contextlib.suppress(ImportError, OSError, TypeError, AttributeError):
        import ctypes  # noqa: PLC0415 - start-up time

        ctypes.CDLL(None).malloc_trim(0)
