"""Keys within the JSON of annotations count whatever their case, as Go's encoding/json has it."""

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from kubectl_koord.cluster.objects import fields, pod_devices, pods
from kubectl_koord.cluster.objects.devices import DeviceObject, node_devices
from kubectl_koord.cluster.objects.fields import kept_back
from kubectl_koord.cluster.objects.node_topology import topology
from kubectl_koord.cluster.objects.resource_topologies import NodeResourceTopology
from kubectl_koord.cluster.objects.settings import own_thresholds
from kubectl_koord.model import keys
from tests.cluster.objects.wire import pod, read, thing

SCHEDULING = "scheduling.koordinator.sh/"
KEEPS = {"gpu", "koordinator.sh/gpu-core", "cpu", "memory", "0", "team", "full-pcpus-only"}
"""Keys of maps, which are told apart by their case."""


class Inner(Struct):
    node: int = 0


class Outer(Struct):
    cpus: str = ""
    inner: list[Inner] | None = None
    by_name: dict[str, Inner] | None = msgspec.field(default=None, name="byName")
    amounts: dict[str, str] | None = None


def recased(value: Any, how: Callable[[str], str]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, list):
        return [recased(part, how) for part in value]
    if not isinstance(value, dict):
        return value
    return {key if key in KEEPS else how(key): recased(part, how) for key, part in value.items()}


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ('{"cpus": "0-1", "inner": [{"node": 1}]}', Outer("0-1", [Inner(1)])),
        ('{"CPUs": "0-1", "INNER": [{"Node": 1}]}', Outer("0-1", [Inner(1)])),
        ('{"byname": {"Node": {"NODE": 2}}}', Outer(by_name={"Node": Inner(2)})),
        ('{"cpus": "0", "CPUS": "1"}', Outer("1")),
        ('{"CPUS": "1", "cpus": "0"}', Outer("0")),
        ('{"cpu\\u017f": "2", "cpu\u017f": "3"}', Outer("3")),  # a long s is an s
        ('{"Amounts": {"Cpus": "a", "cpus": "b"}}', Outer(amounts={"Cpus": "a", "cpus": "b"})),
        ('{"CPUs": "1", "other": {"NODE": []}}', Outer("1")),
        ('{"CPUs": "1", "Inner": null}', Outer("1")),
        ('{"cpus": "CPUS"}', Outer("CPUS")),
        ("null", None),
    ],
)
def test_a_key_means_the_field_whose_name_differs_by_case_alone(written: str, expected: Outer | None) -> None:
    assert fields.decode(written, Outer | None) == expected


@pytest.mark.parametrize(
    "written", ['{"CPUs": 1}', '{"Inner": {"node": 1}}', '{"Inner": [1]}', '{"CPUs": ', '["CPUs"]']
)
def test_what_is_not_of_the_form_is_an_error_whatever_its_keys(written: str) -> None:
    with pytest.raises(msgspec.MsgspecError):
        fields.decode(written, Outer)


def allocated(written: str) -> object:
    return pod_devices.allocated({keys.DEVICE_ALLOCATED: written})


def asked(name: str) -> Callable[[str], object]:
    return lambda written: pod_devices.options(pod_devices.read_of({name: written}, None, waits=True))


def cpus(name: str) -> Callable[[str], object]:
    return lambda written: pods.numa_request({name: written}, None, "")


def reserving(name: str) -> Callable[[str], object]:
    return lambda written: pods.reservation_use(pods.read_of({name: written}, None))


def told(name: str) -> Callable[[str], object]:
    detail = [{"id": number, "core": number // 2, "socket": 0, "node": 0} for number in range(8)]
    layout = json.dumps({"detail": detail})

    def read_topology(written: str) -> object:
        annotations = {"node.koordinator.sh/cpu-topology": layout} | {name: written}
        return topology(msgspec.convert({"metadata": {"name": "n", "annotations": annotations}}, NodeResourceTopology))

    return read_topology


def partitions(written: str) -> object:
    meta = {"name": "n", "annotations": {SCHEDULING + "gpu-partitions": written}}
    return node_devices(msgspec.convert({"metadata": meta}, DeviceObject))


def restricted(written: str) -> object:
    annotations = {SCHEDULING + "reservation-restricted-options": written}
    spec = {"allocatePolicy": "Restricted", "template": {"spec": {}}, "owners": [{"object": {"name": "p"}}]}
    status = {"phase": "Available", "nodeName": "n1", "allocatable": {"cpu": "1", "memory": "1Gi"}}
    return read(
        thing("Node", "n1"), thing("Reservation", "r", annotations=annotations, spec=spec, status=status)
    ).reservations


def operating(written: str) -> object:
    labels = {SCHEDULING + "operating-mode": "Reservation"}
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    annotations = {SCHEDULING + "reservation-owners": written}
    there = pod(nodeName="n1", labels=labels, annotations=annotations, status=status)
    return read(thing("Node", "n1"), there).reservations


AMOUNTS = {"koordinator.sh/gpu-core": "100"}
SELECTOR = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]}
LATE = {"usageThresholds": {"cpu": 5}, "usageAggregationType": "p95", "usageAggregatedDuration": "5m"}
READ: tuple[tuple[Callable[[str], object], Any], ...] = (
    (allocated, {"gpu": [{"minor": 3, "resources": AMOUNTS, "extension": {"vfs": [{"busID": "0000:01"}]}}]}),
    (
        asked(SCHEDULING + "device-allocate-hint"),
        {"gpu": {"selector": SELECTOR, "vfSelector": SELECTOR, "allocateStrategy": "x", "exclusivePolicy": "y"}},
    ),
    (asked(SCHEDULING + "device-joint-allocate"), {"deviceTypes": ["gpu"], "requiredScope": "SamePCIe"}),
    (asked(SCHEDULING + "gpu-partition-spec"), {"allocatePolicy": "Restricted", "ringBusBandwidth": "400Gi"}),
    (cpus(keys.RESOURCE_SPEC), {"requiredCPUBindPolicy": "FullPCPUs", "preferredCPUExclusivePolicy": "PCPULevel"}),
    (cpus(keys.NUMA_TOPOLOGY_SPEC), {"numaTopologyPolicy": "Restricted", "singleNUMANodeExclusive": "Required"}),
    (lambda written: pods.allocated({keys.RESOURCE_STATUS: written}), {"cpuset": "0-3"}),
    (
        lambda written: pods.allocated({keys.RESOURCE_STATUS: written}),
        {"numaNodeResources": [{"node": 1, "resources": {"cpu": "4"}}]},
    ),
    (reserving(SCHEDULING + "exact-match-reservation"), {"resourceNames": ["cpu"]}),
    (
        reserving(SCHEDULING + "reservation-affinity"),
        {"requiredDuringSchedulingIgnoredDuringExecution": {"reservationSelectorTerms": [SELECTOR]}, "name": "r"},
    ),
    (lambda written: pods.drawn_on({keys.RESERVATION_ALLOCATED: written}), {"name": "r", "uid": "u"}),
    (kept_back, {"resources": {"cpu": "1"}, "reservedCPUs": "0-1"}),
    (own_thresholds, {"usageThresholds": {"cpu": 60}, "aggregatedUsage": LATE}),
    (
        told(keys.KUBELET_CPU_POLICY),
        {"policy": "static", "options": {"full-pcpus-only": "true"}, "reservedCPUs": "0-1"},
    ),
    (told(keys.POD_CPUS), [{"uid": "u", "cpuset": "2-3", "managedByKubelet": True}]),
    (told(keys.SYSTEM_QOS), {"cpuset": "4-5", "cpusetExclusive": True}),
    (told("node.koordinator.sh/cpu-topology"), {"detail": [{"id": 0, "core": 0, "socket": 0, "node": 1}]}),
    (partitions, {"0": [{"minors": [0, 1], "ringBusBandwidth": "1Gi", "allocationScore": 2}]}),
    (restricted, {"resources": ["cpu"]}),
    (operating, [{"controller": {"apiVersion": "v1", "kind": "Job", "name": "j"}, "labelSelector": SELECTOR}]),
)


@pytest.mark.parametrize("how", [str.upper, str.capitalize, str.lower])
@pytest.mark.parametrize(("reading", "value"), READ)
def test_every_annotation_says_the_same_whatever_the_case_of_its_keys(
    reading: Callable[[str], object],
    value: Any,  # noqa: ANN401 - any JSON value
    how: Callable[[str], str],
) -> None:
    expected = reading(json.dumps(value))
    assert expected != reading("[]" if isinstance(value, list) else "{}")
    assert reading(json.dumps(recased(value, how))) == expected


@pytest.mark.parametrize(
    "written",
    [
        '{"gpu": [{"minor": 1, "Resources": {"koordinator.sh/gpu-core": "100"}}]}',
        '{"gpu": [{"Minor": 1, "resources": {"koordinator.sh/gpu-core": "100"}}]}',
        '{"gpu": [{"minor": 1, "resources": {"koordinator.sh/gpu-core": "100"}, "extension": {"VFs": null}}]}',
    ],
)
def test_an_allocation_with_one_key_in_another_case_is_that_of_the_usual_ones(written: str) -> None:
    assert allocated(written) == allocated('{"gpu": [{"minor": 1, "resources": {"koordinator.sh/gpu-core": "100"}}]}')


@pytest.mark.parametrize(
    ("reading", "written"),
    [
        (allocated, '{"gpu": [{"Minor": "x"}]}'),
        (lambda written: pods.allocated({keys.RESOURCE_STATUS: written}), '{"CPUSet": 5}'),
        (lambda written: pods.drawn_on({keys.RESERVATION_ALLOCATED: written}), '{"UID": 5}'),
    ],
)
def test_what_the_scheduler_cannot_read_for_a_key_in_another_case_says_nothing(
    reading: Callable[[str], object], written: str
) -> None:
    assert not reading(written)
