"""Pods of which only sums are kept: what is taken up is the same as where each is kept."""

from collections.abc import Mapping

import msgspec
import pytest

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.collect_live import SummingCollector
from kubectl_koord.errors import KoordError
from kubectl_koord.model.pods import NodePods
from kubectl_koord.model.snapshot import Snapshot
from tests.cluster.objects.wire import Json, pod, thing


def bound(name: str, node: str = "n1", requests: Json | None = None, **spec: object) -> Json:
    made = pod(name, requests=requests)
    made["spec"] |= {"nodeName": node, **spec}
    return made


def taken(collector: Collector, *pods: Json, version: str = "") -> Snapshot:
    """Return what is collected of lists of a cluster, each a part of its own."""
    node = thing("Node", "n1", status={"allocatable": {"cpu": "8"}})
    for kind, objects in {"Pod": pods, "Node": (node,)}.items():
        part = collector.part()
        part.add_all(kind, [msgspec.convert(one, part.wire_types[kind]) for one in objects])
        collector.merge(part)
    return collector.snapshot(moment="", source="", chosen_version=version)


def sums(snapshot: Snapshot) -> Mapping[str, tuple[int, object]]:
    return {name: (len(held), held.requested) for name, held in snapshot.running.items() if isinstance(held, NodePods)}


def test_what_pods_take_up_is_the_same_whether_each_is_kept_or_not() -> None:
    sidecar = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "250m"}}}
    first = {"resources": {"requests": {"cpu": "3"}}}
    pods = (
        bound("a", requests={"cpu": "1", "kubernetes.io/gpu-core": "50"}),
        bound("b", requests={"cpu": "1", "kubernetes.io/gpu-core": "50"}),
        bound("c", "n2", {"cpu": 0.5, "memory": 1 << 70}, initContainers=[sidecar, first], overhead={"cpu": "10m"}),
        bound("d", "n2") | {"status": {"phase": "Succeeded"}},
        pod("e", requests={"cpu": "64"}),
    )
    kept, summed = taken(Collector(), *pods), taken(SummingCollector(), *pods)
    assert sums(summed) == sums(kept) != {}
    assert (summed.nodes, summed.pending, summed.finished) == (kept.nodes, (), ())
    assert summed.running["n1"][0] is summed.running["n1"][1]


@pytest.mark.parametrize(("version", "cpu"), [("1.7", 3500), ("1.8", 7000), ("main", 7000)])
def test_what_pods_request_as_a_whole_counts_where_the_scheduler_knows_it(version: str, cpu: int) -> None:
    pods = (
        bound("a", requests={"cpu": "500m"}, resources={"requests": {"cpu": "3"}}),
        bound("b", requests={"cpu": "3"}, resources={"requests": {"cpu": "4"}}),
        pod("c", requests={"cpu": "2"}) | {"spec": {"resources": {"requests": {"cpu": "5"}}}},
    )
    for collector in (Collector(), SummingCollector()):
        found = taken(collector, *pods, version=version)
        assert sums(found) == {"n1": (2, {"cpu": cpu})}
    kept = taken(Collector(), *pods, version=version)
    assert [one.requirements.requests for one in kept.pending] == [() if version == "1.7" else (("cpu", 5000),)]
    assert [one.name for one in kept.running.listed] == ["a", "b"]  # type: ignore[attr-defined]
    assert len({one.requirements.by_containers is None for one in kept.running["n1"]}) == 1


def test_an_amount_that_is_none_names_its_pod() -> None:
    with pytest.raises(KoordError, match="Pod a: cpu: 'much' is not a quantity"):
        taken(SummingCollector(), bound("a", requests={"cpu": "much"}))
