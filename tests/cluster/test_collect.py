"""Objects that go: what is left is what would have been read without them."""

import gc
import weakref
from typing import Any

import msgspec
import pytest

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.collect_live import SummingCollector
from kubectl_koord.cluster.kinds import WIRE_TYPES
from kubectl_koord.model.pods import NAME_LABEL
from kubectl_koord.model.snapshot import Gap, Snapshot

SPECS: dict[str, dict[str, Any]] = {
    "Pod": {"spec": {"nodeName": "n1"}},
    "Reservation": {"status": {"phase": "Available", "nodeName": "n1"}},
    "PersistentVolume": {"spec": {}},
}
CLUSTER_WIDE = {
    "Node",
    "ClusterNetworkTopology",
    "Device",
    "Reservation",
    "NodeMetric",
    "PersistentVolume",
    "CSINode",
}
NAMES = {"Deployment": "koord-scheduler", "ConfigMap": "koord-scheduler-config"}


def written(kind: str, name: str = "x", **more: object) -> Any:  # noqa: ANN401
    meta: dict[str, Any] = {"name": NAMES.get(kind, name)}
    if kind not in CLUSTER_WIDE:
        meta["namespace"] = "default"
    return msgspec.convert({"metadata": meta, **SPECS.get(kind, {}), **more}, WIRE_TYPES[kind])


def seen(collector: Collector) -> Snapshot:
    return collector.snapshot(moment="2026-11-20T10:00:00Z", source="cluster")


@pytest.mark.parametrize("kind", WIRE_TYPES)
def test_an_object_that_is_removed_was_never_there(kind: str) -> None:
    collector = Collector()
    empty = seen(collector)
    collector.add(kind, written(kind))
    collector.remove(kind, written(kind).metadata)
    collector.remove(kind, written(kind).metadata)
    assert seen(collector) == empty


@pytest.mark.parametrize("kind", WIRE_TYPES)
def test_a_kind_that_is_forgotten_takes_nothing_else_along(kind: str) -> None:
    every = [one for one in WIRE_TYPES if one != kind]
    collector, without = Collector(), Collector()
    for one in WIRE_TYPES:
        collector.add(one, written(one))
    for one in every:
        without.add(one, written(one))
    collector.forget(kind)
    assert seen(collector) == seen(without)


def test_what_an_object_said_before_is_not_kept() -> None:
    from_reservation = {"scheduling.koordinator.sh/reservation-allocated": '{"uid": "held"}'}
    requests: dict[str, Any] = {"spec": {"nodeName": "n1", "containers": [{"resources": {"requests": {"cpu": "1"}}}]}}
    pod = written("Pod", **requests)
    owner = written("Pod", **requests)
    owner.metadata.annotations = from_reservation
    status = {"phase": "Available", "nodeName": "n1", "allocatable": {"cpu": "4"}}
    once, now = Collector(), Collector()
    for collector in (once, now):
        collector.add("Reservation", written("Reservation", "held", status=status))
    once.add("Pod", owner)
    drawn = seen(once)
    once.add("Pod", pod)
    now.add("Pod", pod)
    assert seen(once) == seen(now) != drawn


def test_a_node_is_made_anew_where_anything_that_it_is_joined_of_has_changed() -> None:
    collector = Collector()
    for name in ("n1", "n2"):
        collector.add("Node", written("Node", name))
    collector.add("NodeMetric", written("NodeMetric", "n1"))
    before = seen(collector).nodes
    assert collector.renew("Node", written("Node", "n2")) is False
    collector.add("NodeMetric", written("NodeMetric", "n1", status={"updateTime": "2026-11-20T09:59:00Z"}))
    after = seen(collector).nodes
    assert after["n1"] != before["n1"]
    assert (after["n2"], seen(collector).nodes["n1"] is after["n1"]) == (before["n2"], True)


def test_pods_to_come_share_shapes_anew_when_the_old_ones_are_let_go() -> None:
    collector = Collector()
    collector.add("Pod", written("Pod", "a"))
    collector.renew_pool()
    collector.add("Pod", written("Pod", "b"))
    collector.add("Pod", written("Pod", "c"))
    a, b, c = seen(collector).running["n1"]
    assert a.requirements == b.requirements
    assert a.requirements is not b.requirements
    assert b.requirements is c.requirements


BY_LABELS: dict[str, Any] = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {"team": "a"}}}
BY_NAME: dict[str, Any] = {"topologyKey": "zone", "namespaceSelector": {"matchLabels": {NAME_LABEL: "a"}}}


def with_term(where: str, term: dict[str, Any]) -> dict[str, Any]:
    return {"affinity": {where: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


@pytest.mark.parametrize(("term", "reads"), [(BY_LABELS, True), (BY_NAME, False)])
@pytest.mark.parametrize("where", ["podAffinity", "podAntiAffinity"])
@pytest.mark.parametrize("kind", ["Pod", "Reservation"])
def test_namespaces_are_read_where_a_term_selects_them_by_more_than_their_names(
    kind: str, where: str, term: dict[str, Any], *, reads: bool
) -> None:
    collector = Collector()
    collector.add("Pod", written("Pod", "plain"))
    collector.add("Reservation", written("Reservation", "plain", spec={"template": {"spec": {}}}))
    assert not collector.reads_namespaces
    spec = with_term(where, term)
    part = collector.part()
    part.add(kind, written(kind, spec=spec if kind == "Pod" else {"template": {"spec": spec}}))
    collector.merge(part)
    collector.renew_pool()
    assert collector.reads_namespaces == reads


def test_namespaces_that_could_not_be_read_have_no_labels() -> None:
    collector = Collector()
    collector.add("Namespace", written("Namespace", "a"))
    assert seen(collector).namespaces == {"a": {NAME_LABEL: "a"}}
    gaps = [Gap("Namespace", "forbidden", "you may not")]
    assert collector.snapshot(moment="", source="cluster", gaps=gaps).namespaces == {}


@pytest.mark.parametrize("kind", [Collector, SummingCollector])
def test_what_only_the_collector_has_is_given_back_without_a_garbage_collection(kind: type[Collector]) -> None:
    gc.disable()
    try:
        collector = kind()
        part = collector.part()
        for name in ("Node", "PodGroup"):
            part.add(name, written(name))
        collector.merge(part)
        assert seen(collector).nodes
        kept = weakref.ref(collector), weakref.ref(part)
        del collector, part
        assert [one() for one in kept] == [None, None]
    finally:
        gc.enable()
