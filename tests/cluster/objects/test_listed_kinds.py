"""NodeMetrics, nodes and Devices of a list: what is read in one go, what is shared, and what cannot be read."""

import re
from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.kinds import KINDS
from kubectl_koord.cluster.objects import metrics
from kubectl_koord.errors import KoordError
from kubectl_koord.model.values import QuantityError
from tests.cluster.objects.wire import Json, thing


def taken(collector: Collector, *objects: Json) -> dict[Any, Any]:
    """Return what a collector keeps of a list of objects of one kind."""
    kind: str = objects[0]["kind"]
    wire_type: Any = collector.wire_types[kind]
    collector.add_all(kind, msgspec.json.decode(msgspec.json.encode(objects), type=list[wire_type]))
    return collector.values(KINDS[kind])


def used(cpu: object = "865m", memory: object = "3777237Ki") -> Json:
    return {"resources": {"cpu": cpu, "memory": memory}}


def of_pod(usage: Json | None, **fields: object) -> Json:
    return {"namespace": "ns", "name": "p", "podUsage": usage, **fields}


def over_time(duration: str, **usage: Json | None) -> Json:
    return {"duration": duration, "usage": usage or None}


def metric(*pods: Json | None, whole: Json | None = None, system: Json | None = None, times: Any = None) -> Json:  # noqa: ANN401
    of_node = {"nodeUsage": whole, "systemUsage": system, "aggregatedNodeUsages": times}
    return thing("NodeMetric", "n1", status={"nodeMetric": of_node, "podsMetric": pods, "updateTime": "now"})


METRICS = (
    metric(),
    metric(of_pod(used()), whole=used("2", "77"), system=used("0", "0"), times=[over_time("5m0s", avg=used())]),
    metric(of_pod(used()), of_pod(used("2")), of_pod(used(memory="0"), priority="koord-prod")),
    metric(of_pod({**used(), "devices": [{"minor": 0}]}), times=[over_time("5m0s", avg=used(), p50=used("0", "7"))]),
    metric(of_pod(used()), of_pod(None), of_pod({}), of_pod({"resources": {}}), of_pod({"resources": None})),
    metric(of_pod({"resources": {"cpu": 1, "memory": "1Gi", "nvidia.com/gpu": "1"}}), whole=used()),
    metric(whole=used(), times=[over_time("long", avg=used("much")), over_time("300s"), over_time("1s", p99=used())]),
    metric(whole=used(), times=[over_time("1s", avg={"resources": None}, p50={}, p95=used(7))]),
    thing("NodeMetric", "n1", status={"nodeMetric": None, "podsMetric": None, "updateTime": None}),
    thing("NodeMetric", "n1", spec={"metricCollectPolicy": {"reportIntervalSeconds": 7}}),
)


def a_node(allocatable: object, **fields: object) -> Json:
    return thing("Node", "n1", status={"allocatable": allocatable}, **fields)


RESERVED = {"node.koordinator.sh/reservation": '{"resources": {"cpu": "2"}}'}
NODES = (
    a_node({"cpu": "8", "memory": "64Gi", "pods": 110, "koordinator.sh/batch-cpu": "0", "kubernetes.io/gpu": "1"}),
    a_node({"cpu": 8, "memory": "64Gi"}, annotations=RESERVED),
    a_node(None, annotations=RESERVED),
    a_node(None, labels={"b": "1", "a": None, "c": ""}, annotations=None),
    a_node({}, labels={"only": "one"}, annotations={"node.koordinator.sh/reservation": None}),
    thing("Node", "n1", spec={"unschedulable": True}, status={"conditions": [{"type": "Ready", "status": "True"}]}),
)


def device(*infos: Json, **meta: object) -> Json:
    return thing("Device", "n1", spec={"devices": infos}, **meta)


GPU: Json = {
    "type": "gpu",
    "id": "GPU-1",
    "minor": 0,
    "health": True,
    "resources": {"kubernetes.io/gpu-core": 100},
    "topology": {"socketID": -1, "nodeID": 1, "pcieID": "3", "busID": "0000:0f:00.0"},
    "labels": {"b": "2", "a": None},
}
RDMA: Json = {"type": "rdma", "minor": 1, "vfGroups": [{"labels": {"vf": "x"}, "vfs": [{"busID": "b1"}]}, {}]}
HONOURED = {"node.koordinator.sh/gpu-partition-policy": "Honor"}
DEVICES = (
    device(GPU, RDMA, {"type": "fpga", "id": None, "resources": None, "topology": None, "labels": None}),
    device({**GPU, "minor": None, "vfGroups": None}, labels=HONOURED, annotations={"a": None}),
    thing("Device", "n1", spec={"devices": None}),
)


@pytest.mark.parametrize("one", METRICS)
def test_a_metric_that_is_read_in_one_go_is_what_it_is_list_by_list(one: Json) -> None:
    written = msgspec.convert(one, metrics.NodeMetric)
    try:
        each = metrics._odd_metric(written)  # noqa: SLF001 - the slow way, which any metric may take
    except QuantityError as problem:
        with pytest.raises(QuantityError, match=f"^{re.escape(str(problem))}$"):
            metrics.metric(written)
    else:
        assert metrics.metric(written) == each


@pytest.mark.parametrize(
    "odd",
    [
        metric(of_pod(used("much"))),
        metric(whole=used(memory="7K1i")),
        metric(of_pod(used(memory=True))),
        metric(of_pod({"resources": 7})),
        metric(times=[over_time("5m0s", avg={"resources": {"cpu": {}}})]),
        metric(times=[{"usage": {"avg": None}}]),
        metric(None),
        a_node({"cpu": "8", "pods": "many", "memory": "much"}),
        a_node({"cpu": "8", "pods": "many"}, annotations=RESERVED),
        a_node({"cpu": []}),
        a_node("much", annotations=RESERVED),
        thing("Node", "n1", labels={"a": 1}),
        device(GPU, {**GPU, "resources": {"cpu": "much"}}),
        device(GPU, {**GPU, "resources": []}),
        device(GPU, {**RDMA, "vfGroups": [7]}),
        device({"id": 7}),
    ],
)
def test_what_cannot_be_read_is_an_error(odd: Json) -> None:
    plain = thing(odd["kind"], "n2")
    with pytest.raises((KoordError, msgspec.ValidationError)):
        taken(Collector(), plain, odd, plain)


def test_nodes_share_each_label_and_equal_amounts_in_whatever_order_they_are_written() -> None:
    collector = Collector()
    first = thing("Node", "a", labels={"x": "1", "y": None}, status={"allocatable": {"cpu": "8", "memory": "1Gi"}})
    other = thing("Node", "b", labels={"y": "", "x": "1"}, status={"allocatable": {"memory": "1024Mi", "cpu": 8}})
    one, another = taken(collector, first, other).values()
    assert one.labels == (("x", "1"), ("y", ""))
    assert one.labels == another.labels
    assert all(label is other for label, other in zip(one.labels, another.labels, strict=True))
    assert one.allocatable == (("cpu", 8000), ("memory", 1 << 30))
    assert one.allocatable is another.allocatable


def test_more_kinds_of_nodes_than_are_remembered_are_read_all_the_same() -> None:
    nodes = [
        thing("Node", f"n{number}", labels={f"l{number}": "1"}, status={"allocatable": {"cpu": number}})
        for number in range(1, 1100)
    ]
    assert taken(Collector(), *nodes, *nodes) == taken(Collector(), *nodes)


def test_nodes_that_are_built_alike_share_their_layout_however_it_is_spelled() -> None:
    other = {**GPU, "id": "GPU-2", "topology": {"pcieID": "3", "nodeID": 1}}
    one, another = taken(Collector(), device(GPU), {**device(other), "metadata": {"name": "n2"}}).values()
    assert one.layout is another.layout
    assert (tuple(one.ids), tuple(another.ids)) == (("GPU-1",), ("GPU-2",))
