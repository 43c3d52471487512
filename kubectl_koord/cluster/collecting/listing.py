"""A collector for the lists of a live cluster: what of a pod is alike in many is decoded once."""

from collections.abc import Callable
from typing import Any

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.kinds import POD
from kubectl_koord.cluster.objects.pods.listed import ListedPods, whole
from kubectl_koord.cluster.objects.pods.listed_fields import ListedPod
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.model.pods import RunningPod


class ListingCollector(Collector):
    """Takes the same as any, but pods as they are listed."""

    def __init__(self, pool: PodPool | None = None, seen: dict[str, int] | None = None) -> None:
        """Start with an empty cluster; the arguments are as in `Collector`."""
        super().__init__(pool, seen)
        self.wire_types = self.wire_types | {POD.name: ListedPod}
        self._listed = ListedPods(self._pool)

    def part(self) -> "ListingCollector":
        """Return an empty collector for a part of this cluster."""
        return ListingCollector(self._pool, self._seen)

    def _taker(self, kind: str) -> Callable[[Any], None]:
        return self._take_listed if kind == POD.name else super()._taker(kind)

    def _take_listed(self, written: ListedPod) -> None:
        taken = self._listed.pod(written)
        if isinstance(taken, RunningPod) and taken.marks.offers:
            self._take_pod(whole(written))
            return
        self._pods.add(taken)
        if self._operating:
            self._operating.pop((taken.namespace, taken.name), None)
