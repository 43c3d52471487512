"""A collector for the lists of a live cluster: what many pods or nodes have alike is decoded once."""

from collections.abc import Callable
from typing import Any

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.kinds import NODE_TOPOLOGY, POD
from kubectl_koord.cluster.objects.fields.resource_topologies import ListedTopology
from kubectl_koord.cluster.objects.koordinator.node_topology import ListedTopologies
from kubectl_koord.cluster.objects.pods.listed import ListedPods, whole
from kubectl_koord.cluster.objects.pods.listed_fields import ListedPod
from kubectl_koord.cluster.objects.pods.pool import PodPool
from kubectl_koord.model.pods import RunningPod


class ListingCollector(Collector):
    """Takes the same as any, but pods and NodeResourceTopologies as they are listed."""

    def __init__(self, pool: PodPool | None = None, seen: dict[str, int] | None = None) -> None:
        """Start with an empty cluster; the arguments are as in `Collector`."""
        super().__init__(pool, seen)
        self.wire_types = self.wire_types | {POD.name: ListedPod, NODE_TOPOLOGY.name: ListedTopology}
        self._listed = ListedPods(self._pool)
        self._topologies = ListedTopologies()

    def part(self) -> "ListingCollector":
        """Return an empty collector for a part of this cluster."""
        return ListingCollector(self._pool, self._seen)

    def _taker(self, kind: str) -> Callable[[Any], None]:
        if kind == NODE_TOPOLOGY.name:
            return self._take_topology
        return self._take_listed if kind == POD.name else super()._taker(kind)

    def _take_topology(self, written: ListedTopology) -> None:
        self.values(NODE_TOPOLOGY)[written.metadata.name] = self._topologies.topology(written)

    def _take_listed(self, written: ListedPod) -> None:
        taken = self._listed.pod(written)
        if isinstance(taken, RunningPod) and taken.marks.offers:
            self._take_pod(whole(written))
            return
        self._pods.add(taken)
        if self._operating:
            self._operating.pop((taken.namespace, taken.name), None)
