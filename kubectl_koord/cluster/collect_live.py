"""A collector for the lists of a live cluster: a value that many pods or nodes share is decoded once."""

import contextlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import structs

from kubectl_koord.cluster.bounds import decoder
from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import DEVICE, NODE_METRIC, NODE_TOPOLOGY, POD, Kind
from kubectl_koord.cluster.objects import fields, node_topology, pool
from kubectl_koord.cluster.objects.devices import ListedDevice, listed_devices
from kubectl_koord.cluster.objects.listed import Rooms, placed
from kubectl_koord.cluster.objects.metrics import ListedMetric, listed_metric
from kubectl_koord.cluster.objects.node_topology import ListedTopologies
from kubectl_koord.cluster.objects.pod_wire import FINISHED
from kubectl_koord.cluster.objects.pods import PodPool
from kubectl_koord.cluster.objects.resource_topologies import ListedTopology
from kubectl_koord.cluster.pod_store import Place, by_node, of_containers
from kubectl_koord.engine.rules import rules
from kubectl_koord.errors import KoordError
from kubectl_koord.model import values
from kubectl_koord.model.snapshot import Snapshot

_LISTED: dict[str, Kind[Any, Any]] = {
    kind.name: kind
    for kind in (
        structs.replace(NODE_METRIC, wire_type=ListedMetric, value=listed_metric),
        structs.replace(DEVICE, wire_type=ListedDevice, value=listed_devices),
    )
}
_whole = {kind.name: decoder(list[kind.wire_type]) for kind in (NODE_METRIC, DEVICE)}  # type: ignore[name-defined]


class ListingCollector(Collector):
    """A `Collector` that takes some kinds with fields left as bytes, to decode equal ones once."""

    def __init__(self, pool: PodPool | None = None, seen: dict[str, int] | None = None) -> None:
        super().__init__(pool, seen)
        self.wire_types = self.wire_types | {
            NODE_TOPOLOGY.name: ListedTopology,
            **{name: kind.wire_type for name, kind in _LISTED.items()},
        }
        self._topologies = ListedTopologies()

    def part(self) -> "ListingCollector":
        """Return an empty collector for a part of this cluster."""
        return ListingCollector(self._pool, self._seen)

    def add_all(self, kind: str, written: Sequence[Any]) -> None:
        """Take decoded objects, as `Collector` does.

        Raises KoordError as `Collector`. Raises msgspec.ValidationError when a field that was left as bytes is
        something else, naming its place.
        """
        try:
            super().add_all(kind, written)
        except KoordError:
            if kind in _whole:  # what cannot be read is told as of any list
                whole = _whole[kind].decode(msgspec.json.encode(written))
                self._take_all(kind, whole, super()._taker(kind), attrgetter("metadata"))
            raise

    def _taker(self, kind: str) -> Callable[[Any], None]:
        if kind in _LISTED:
            return partial(self._keep, _LISTED[kind])
        if kind == NODE_TOPOLOGY.name:
            return self._take_topology
        return super()._taker(kind)

    def _take_topology(self, written: ListedTopology) -> None:
        self.values(NODE_TOPOLOGY)[written.metadata.name] = self._topologies.topology(written)


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
