"""A collector for who asks of pods no more than what is taken up on each node."""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

from msgspec import structs

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.kinds import POD
from kubectl_koord.cluster.objects.pods.fields import FINISHED
from kubectl_koord.cluster.objects.pods.placed import PlacedPod, Rooms
from kubectl_koord.cluster.pod_store import Place, by_node, of_containers
from kubectl_koord.engine.rules import rules
from kubectl_koord.model.snapshot import Snapshot


class SummingCollector(Collector):
    """Takes the lists of a live cluster, in which each pod is once: of bound pods it keeps sums, of others nothing."""

    def __init__(self, seen: dict[str, int] | None = None) -> None:
        """Start with an empty cluster; `seen` is as in `Collector`."""
        super().__init__(seen=seen)
        self.wire_types = self.wire_types | {POD.name: PlacedPod}
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

    def _take_placed(self, written: PlacedPod) -> None:
        node = written.spec.node_name
        if node and written.status.phase not in FINISHED:
            self._places[node].append(self._rooms.of(written))
