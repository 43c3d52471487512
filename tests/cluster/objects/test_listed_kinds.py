"""Objects of a list are what they would be each for itself, and what cannot be read is told in the same words."""

import re
from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster.collecting.collect import Collector
from kubectl_koord.cluster.collecting.listing import ListingCollector
from kubectl_koord.cluster.kinds import KINDS
from kubectl_koord.errors import KoordError
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


@pytest.mark.parametrize("one", METRICS)
def test_a_listed_object_is_what_it_is_for_itself(one: Json) -> None:
    other = thing(one["kind"], "n2")
    assert taken(ListingCollector(), one, other) == taken(Collector(), one, other)


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
    ],
)
def test_what_cannot_be_read_is_told_as_of_any_list(odd: Json) -> None:
    plain = thing(odd["kind"], "n2")
    with pytest.raises((KoordError, msgspec.ValidationError)) as refused:
        taken(Collector(), plain, odd, plain)
    with pytest.raises(refused.type, match=f"^{re.escape(str(refused.value))}$"):
        taken(ListingCollector(), plain, odd, plain)
