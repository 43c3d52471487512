"""A collector for the lists of a live cluster of which only sums of pods are wanted."""

import contextlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from msgspec import structs

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import POD
from kubectl_koord.cluster.objects import fields, node_topology, pool
from kubectl_koord.cluster.objects.listed import Rooms, placed
from kubectl_koord.cluster.objects.pod_wire import FINISHED
from kubectl_koord.cluster.pod_store import Place, by_node, of_containers
from kubectl_koord.engine.rules import rules
from kubectl_koord.model import values
from kubectl_koord.model.snapshot import Snapshot


class SummingCollector(Collector):
    """Takes the lists of a live cluster, in which each pod is once: of bound pods it keeps sums, of others nothing."""

    def __init__(self, seen: dict[str, int] | None = None) -> None:
        super().__init__(seen=seen)
        self.messages = self.messages | {POD.name: "PlacedPod"}
        self.wire_types = self.wire_types | {POD.name: placed()}
        self._rooms = Rooms()
        self._places: defaultdict[str, Place] = defaultdict(Place)

    def part(self) -> "SummingCollector":
        """Return an empty collector for a part of this cluster."""
        return SummingCollector(self._seen)

    def merge(self, part: Collector) -> None:
        """Take over everything that a part has taken."""
        super().merge(part)
        if isinstance(part, SummingCollector) and part._places:  # noqa: SLF001
            self._places, self._rooms = part._places, part._rooms  # noqa: SLF001

    def snapshot(self, **terms: Any) -> Snapshot:  # noqa: ANN401
        """Return what was taken, as `Collector` does."""
        found = super().snapshot(**terms)
        running = by_node(self._places)
        if self._rooms.by_containers_too and not rules(found.config.version).knows_pod_resources:
            running = of_containers(running)
        return structs.replace(found, running=running)

    def _taker(self, kind: str) -> Callable[[Any], None]:
        return self._take_placed if kind == POD.name else super()._taker(kind)

    def _take_placed(self, written: Any) -> None:  # noqa: ANN401 - of `placed`, or a message
        if written.spec.nodeName and written.status.phase not in FINISHED:
            self._places[written.spec.nodeName].append(self._rooms.of(written.spec))


_ARENA_MAX = -8
"""`M_ARENA_MAX` of glibc's malloc.h."""


def share() -> None:
    """Let glibc's malloc use one arena for all threads.

    Otherwise each thread that reads a list has an arena of its own, and memory that is freed there cannot be used by
    others. As one thread of Python runs at a time, none waits for another.
    """
    # Another C library has no such function, and an interpreter may have been built without ctypes.
    with contextlib.suppress(ImportError, OSError, TypeError, AttributeError):
        import ctypes  # noqa: PLC0415 - start-up time

        ctypes.CDLL(None).mallopt(_ARENA_MAX, 1)


def forget() -> None:
    """Forget what was remembered for objects yet to come."""
    fields.forget()
    pool.forget()
    node_topology.forget()
    values.parse.cache_clear()
