"""NodeResourceTopologies, labels and annotations about CPUs and NUMA zones, of nodes and of pods."""

import json

import msgspec
import pytest

from kubectl_koord.cluster.collect import Collector
from kubectl_koord.cluster.objects.fields import cpu_set
from kubectl_koord.cluster.objects.nodes import Node
from kubectl_koord.cluster.objects.resource_topologies import NodeResourceTopology
from kubectl_koord.model.hardware import (
    CPU,
    NO_NUMA,
    NOTHING,
    Allocations,
    CPUAllocation,
    CPUTopology,
    NodeNUMA,
    PodNUMA,
    Zone,
    members,
)
from tests.cluster.objects.wire import Json, pending, read, running, thing

CPUS = {"detail": [{"id": n, "core": n // 2, "socket": 0, "node": n // 2} for n in range(4)]}
FOUR = CPUTopology(tuple(CPU(n, n // 2, n // 2, 0) for n in range(4)))
ZONES = [
    {
        "name": f"node-{n}",
        "type": "Node",
        "resources": [{"name": "cpu", "allocatable": "2"}, {"name": "gpu", "allocatable": 0}],
    }
    for n in range(2)
]
BOTH = (Zone(0, (("cpu", 2000), ("gpu", 0))), Zone(1, (("cpu", 2000), ("gpu", 0))))
NRT = "topology.node.k8s.io/v1alpha1"


def nrt(*, zones: object = None, policies: object = None, **annotations: object) -> Json:
    """Return the NodeResourceTopology of n1; annotations by the last part of their names, as JSON or as they are."""
    written = {
        f"{'kubelet' if name == 'cpu_manager_policy' else 'node'}.koordinator.sh/{name.replace('_', '-')}": value
        if isinstance(value, str)
        else json.dumps(value)
        for name, value in annotations.items()
    }
    found = thing("NodeResourceTopology", "n1", zones=zones, topologyPolicies=policies, annotations=written)
    return found | {"apiVersion": NRT}


def numa(*objects: Json, labels: Json | None = None, ratio: str | None = None) -> NodeNUMA | None:
    annotations = {"node.koordinator.sh/resource-amplification-ratio": ratio} if ratio is not None else {}
    node = thing(
        "Node", "n1", labels={f"node.koordinator.sh/{k}": v for k, v in (labels or {}).items()}, annotations=annotations
    )
    return read(node, *objects).nodes["n1"].numa


def test_a_node_of_which_nothing_is_told_has_no_settings() -> None:
    assert numa() is None
    assert numa(nrt()) == NodeNUMA()


def test_cpus_and_zones_are_read() -> None:
    assert numa(nrt(cpu_topology=CPUS, zones=ZONES)) == NodeNUMA(cpus=FOUR, zones=BOTH)


def test_equal_topologies_are_one_object() -> None:
    first, second = numa(nrt(cpu_topology=CPUS, zones=ZONES)), numa(nrt(cpu_topology=CPUS, zones=ZONES))
    assert first is not None
    assert first is second


@pytest.mark.parametrize(
    ("annotations", "reserved"),
    [
        ({"cpu_manager_policy": {"reservedCPUs": "0"}}, (0,)),
        ({"reservation": {"reservedCPUs": "0-1"}}, (0, 1)),
        ({"system_qos_resource": {"cpuset": "3"}}, (3,)),
        ({"system_qos_resource": {"cpuset": "3", "cpusetExclusive": False}}, ()),
        ({"pod_cpu_allocs": [{"uid": "u", "cpuset": "2", "managedByKubelet": True}]}, (2,)),
        ({"pod_cpu_allocs": [{"uid": "u", "cpuset": "2"}, {"cpuset": "3", "managedByKubelet": True}]}, ()),
        ({"pod_cpu_allocs": "[", "cpu_manager_policy": {"reservedCPUs": "x"}}, ()),
    ],
)
def test_cpus_of_kubelet_and_system_are_nobody_elses(annotations: Json, reserved: tuple[int, ...]) -> None:
    found = numa(nrt(cpu_topology=CPUS, zones=ZONES, **annotations))
    assert found is not None
    assert members(found.reserved) == reserved
    left = [dict(zone.allocatable)["cpu"] for zone in found.zones]
    assert sum(left) == 4000 - 1000 * len(reserved)


@pytest.mark.parametrize(
    ("policies", "label", "policy"),
    [
        (["None"], "", ""),
        (["SingleNUMANodeContainerLevel"], "", ""),
        (["None", "SingleNUMANodePodLevel"], "", "SingleNUMANode"),
        (["Restricted"], "BestEffort", "BestEffort"),
        (["Restricted"], "None", "Unknown"),
        (None, "single-numa-node", "Unknown"),
        (None, "SingleNUMANode", "SingleNUMANode"),
    ],
)
def test_a_label_goes_before_the_policy_of_the_kubelet(policies: object, label: str, policy: str) -> None:
    found = numa(nrt(policies=policies), labels={"numa-topology-policy": label})
    assert found is not None
    assert found.policy == policy


@pytest.mark.parametrize(
    ("policies", "label", "ignored"),
    [
        (["BestEffortPodLevel"], "", "BestEffortPodLevel"),
        (["BestEffortPodLevel"], "None", ""),
        (["BestEffortPodLevel"], "SingleNUMANode", ""),
        (["SingleNUMANodePodLevel"], "", ""),
        (["none"], "", ""),
    ],
)
def test_a_policy_of_the_kubelet_that_a_label_replaces_is_not_one_without_effect(
    policies: object, label: str, ignored: str
) -> None:
    found = numa(nrt(policies=policies), labels={"numa-topology-policy": label})
    assert found is not None
    assert found.ignored_policy == ignored


@pytest.mark.parametrize(
    ("label", "zones", "unknown", "settings"),
    [
        ("None", ZONES, "None", ["unknown-numa-policy"]),
        ("None", None, "None", []),
        ("Restricted", ZONES, "", []),
    ],
)
def test_it_is_open_what_comes_of_a_label_with_a_policy_that_the_scheduler_does_not_know(
    label: str, zones: object, unknown: str, settings: list[str]
) -> None:
    written = thing("Node", "n1", labels={"node.koordinator.sh/numa-topology-policy": label})
    node = read(written, nrt(zones=zones)).nodes["n1"]
    assert node.numa is not None
    assert (node.numa.unknown_policy, [one.code for one in node.unevaluated]) == (unknown, settings)


@pytest.mark.parametrize(
    ("kubelet", "label", "policy"),
    [
        ({"policy": "static"}, "", ""),
        ({"policy": "static", "options": {"full-pcpus-only": "true"}}, "SpreadByPCPUs", "FullPCPUs"),
        ({"policy": "none", "options": {"full-pcpus-only": "true"}}, "SpreadByPCPUs", "SpreadByPCPUs"),
        ({}, "FullPCPUsOnly", "FullPCPUs"),
        ({}, "None", ""),
    ],
)
def test_the_kubelet_or_a_label_bind_the_cpus_of_all_pods(kubelet: Json, label: str, policy: str) -> None:
    found = numa(nrt(cpu_manager_policy=kubelet), labels={"cpu-bind-policy": label})
    assert found is not None
    assert found.bind_policy == policy


@pytest.mark.parametrize(
    ("ratio", "own", "expected"),
    [
        ('{"cpu": 1.5}', {}, (1.5, 1.5, False, 3000)),
        ('{"cpu": 1}', {}, (1.0, 1.0, False, 2000)),
        ('{"cpu": "x"}', {}, (1.0, 1.0, True, 2000)),
        ('{"cpu": 3}', {"resource_amplification_ratio": {"cpu": 2}}, (3.0, 2.0, False, 2000)),
        ("null", {"resource_amplification_ratio": "["}, (1.0, 1.0, False, 2000)),
    ],
)
def test_ratios_amplify_cpus_and_zones(ratio: str, own: Json, expected: object) -> None:
    found = numa(nrt(zones=ZONES, **own), ratio=ratio)
    assert found is not None
    assert (found.ratio, found.zone_ratio, found.bad_ratio, dict(found.zones[0].allocatable)["cpu"]) == expected


def test_labels_count_without_a_topology() -> None:
    found = numa(labels={"numa-allocate-strategy": "MostAllocated", "cpu-bind-policy": "SpreadByPCPUs"})
    assert found == NodeNUMA(bind_policy="SpreadByPCPUs", most_allocated=True, known=False)
    assert numa(labels={"numa-allocate-strategy": "MostAllocated"}) is None


def test_a_policy_on_a_node_of_very_many_zones_is_not_evaluated() -> None:
    many = [{"name": f"node-{number}", "type": "Node", "resources": []} for number in range(9)]
    node = read(thing("Node", "n1"), nrt(zones=many, policies=["Restricted"])).nodes["n1"]
    assert [setting.code for setting in node.unevaluated] == ["numa-topology-policy"]
    assert read(thing("Node", "n1"), nrt(zones=many)).nodes["n1"].unevaluated == ()


def test_zones_of_another_form_are_left_out() -> None:
    odd = [{"name": "node-x", "type": "Node"}, {"name": "node-1", "type": "Socket"}, {"name": "zone", "type": "Node"}]
    found = numa(nrt(zones=[*odd, {"name": "node-3", "type": "Node", "resources": None}], cpu_topology="["))
    assert found == NodeNUMA(zones=(Zone(3, ()),))


@pytest.mark.parametrize(
    ("written", "cpus"),
    [
        ("", ()),
        ("0-2,5", (0, 1, 2, 5)),
        ("3", (3,)),
        ("3-1", ()),
        ("x", None),
        ("1-2-3", None),
        ("99999", None),
        ("1,", None),
    ],
)
def test_lists_of_cpus_are_as_linux_writes_them(written: str, cpus: tuple[int, ...] | None) -> None:
    found = cpu_set(written)
    assert (found if found is None else members(found)) == cpus


SPEC = "scheduling.koordinator.sh/resource-spec"
ZONE_SPEC = "scheduling.koordinator.sh/numa-topology-spec"


@pytest.mark.parametrize(
    ("labels", "priority", "annotations", "numa"),
    [
        ({}, 9000, {}, NO_NUMA),
        ({"qosClass": "LSR"}, 9000, {}, PodNUMA(binds=True)),
        ({"qosClass": "LSE"}, None, {}, PodNUMA(binds=True)),
        ({"qosClass": "LS"}, 9000, {}, NO_NUMA),
        ({"qosClass": "LSR"}, 5000, {}, NO_NUMA),
        ({"qosClass": "LSR", "priority-class": "odd"}, 5000, {}, PodNUMA(binds=True)),
        (
            {"qosClass": "LSR"},
            9000,
            {SPEC: '{"requiredCPUBindPolicy": "FullPCPUs", "preferredCPUExclusivePolicy": "PCPULevel"}'},
            PodNUMA(binds=True, required="FullPCPUs", exclusive="PCPULevel"),
        ),
        ({}, 9000, {SPEC: "null"}, NO_NUMA),
        (
            {},
            9000,
            {ZONE_SPEC: '{"numaTopologyPolicy": "Restricted", "singleNUMANodeExclusive": "Required"}'},
            PodNUMA(policy="Restricted", zone_exclusive="Required"),
        ),
        ({}, 9000, {SPEC: "{"}, PodNUMA(unreadable=SPEC)),
        ({}, 9000, {ZONE_SPEC: ""}, PodNUMA(unreadable=ZONE_SPEC)),
    ],
)
def test_what_a_pod_asks_is_in_its_labels_and_annotations(
    labels: Json, priority: int | None, annotations: Json, numa: PodNUMA
) -> None:
    named = {f"koordinator.sh/{name}": value for name, value in labels.items()}
    assert pending(labels=named, priority=priority, annotations=annotations).requirements.numa == numa


@pytest.mark.parametrize(
    ("status", "booked"),
    [
        ('{"cpuset": "0-1"}', Allocations(cpus=CPUAllocation((0, 1)))),
        (
            '{"numaNodeResources": [{"node": 1, "resources": {"cpu": "2"}}]}',
            Allocations(cpus=CPUAllocation((), ((1, (("cpu", 2000),)),))),
        ),
        ("{}", NOTHING),
        ("{", NOTHING),
        ('{"cpuset": "x"}', NOTHING),
        ('{"numaNodeResources": [{"node": 1, "resources": {"cpu": "x"}}]}', NOTHING),
    ],
)
def test_what_a_bound_pod_holds_is_in_an_annotation(status: str, booked: Allocations) -> None:
    annotations = {"scheduling.koordinator.sh/resource-status": status}
    assert running(annotations=annotations).allocations == booked


@pytest.mark.parametrize(
    ("spec", "booked"),
    [('{"requiredCPUBindPolicy": "odd"}', Allocations(cpus=CPUAllocation((0, 1)))), ("{", NOTHING), ("", NOTHING)],
)
def test_a_bound_pod_holds_nothing_where_it_cannot_be_read_how_it_binds_cpus(spec: str, booked: Allocations) -> None:
    annotations = {
        "scheduling.koordinator.sh/resource-status": '{"cpuset": "0-1"}',
        "scheduling.koordinator.sh/resource-spec": spec,
    }
    assert running(annotations=annotations).allocations == booked


def test_a_node_of_a_cluster_has_its_zones() -> None:
    collector, written = Collector(), msgspec.json.encode(nrt(cpu_topology=CPUS, zones=ZONES))
    collector.add("Node", msgspec.json.decode(msgspec.json.encode(thing("Node", "n1")), type=Node))
    collector.add("NodeResourceTopology", msgspec.json.decode(written, type=NodeResourceTopology))
    (node,) = collector.snapshot(moment="", source="").nodes.values()
    assert node.numa == numa(nrt(cpu_topology=CPUS, zones=ZONES))
