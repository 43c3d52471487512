"""A collector that also keeps what it takes, as far as it was decoded: packed, as of large clusters that is much."""

import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.errors import KoordError

Tree = dict[str, Any]
_FAST = 1


class Recorder(Collector):
    """Takes objects as any collector, and yields them again."""

    def __init__(self, pool: PodPool | None = None, seen: dict[str, int] | None = None) -> None:
        """Start with nothing kept."""
        super().__init__(pool, seen)
        self._kept: list[tuple[str, bytes]] = []

    def add_all(self, kind: str, written: Sequence[Any]) -> None:
        """Take decoded objects of one kind, as `Collector` does, and keep the fields that were decoded."""
        if written:
            try:
                self._kept.append((kind, zlib.compress(msgspec.json.encode(written), _FAST)))
            except UnicodeEncodeError:
                raise KoordError(f"error: a {kind} has text that is not Unicode") from None
        super().add_all(kind, written)

    def part(self) -> "Recorder":
        """Return an empty recorder for a part of this cluster."""
        return Recorder(self._pool, self._seen)

    def merge(self, part: Collector) -> None:
        """Take over everything that a part has taken and kept."""
        super().merge(part)
        if isinstance(part, Recorder):
            self._kept += part._kept  # noqa: SLF001

    def objects(self) -> Iterator[tuple[str, Tree]]:
        """Yield the kind and the fields of each object, in the order in which they came."""
        for kind, packed in self._kept:
            for tree in msgspec.json.decode(zlib.decompress(packed)):
                yield kind, tree
