"""Device objects, and what annotations of pods and Reservations say of devices."""

import json

import pytest

from kubectl_koord.model.hardware import (
    Allocations,
    Device,
    DeviceAllocation,
    DeviceHint,
    DeviceLayout,
    DeviceOptions,
    DevicePlace,
    FunctionGroup,
    JointAllocation,
    NodeDevices,
    Partition,
    PartitionSpec,
)
from kubectl_koord.model.values import Requirement, Selector, packed_strings
from tests.build import holding
from tests.cluster.objects.wire import Json, pod, read, thing

DOMAIN = "scheduling.koordinator.sh/"
ALLOCATED = DOMAIN + "device-allocated"
WHOLE = {"koordinator.sh/gpu-core": "100", "koordinator.sh/gpu-memory": "16Gi", "koordinator.sh/gpu-memory-ratio": 100}
AMOUNTS = holding(0).devices[0].resources


def device_of(spec: Json, **meta: object) -> NodeDevices | None:
    return read(thing("Node", "n1"), thing("Device", "n1", spec=spec, **meta)).nodes["n1"].devices


def test_a_device_object_tells_what_each_device_is_and_where() -> None:
    gpu: Json = {
        "type": "gpu",
        "id": "GPU-1",
        "minor": 0,
        "health": True,
        "resources": {"kubernetes.io/gpu-core": 100},
        "topology": {"socketID": -1, "nodeID": 1, "pcieID": "3", "busID": "0000:0f:00.0"},
        "labels": {"b": "2", "a": None},
    }
    groups = [{"labels": {"vf": "x"}, "vfs": [{"minor": 0, "busID": "b1"}]}, {}]
    rdma: Json = {"type": "rdma", "minor": 1, "resources": {"koordinator.sh/rdma": 100}, "vfGroups": groups}
    found = device_of({"devices": [gpu, rdma, {"type": "fpga"}]})
    assert found == NodeDevices(
        DeviceLayout(
            (
                Device(
                    "gpu",
                    0,
                    (("koordinator.sh/gpu-core", 100),),
                    place=DevicePlace(1, "3"),
                    labels=(("a", ""), ("b", "2")),
                ),
                Device(
                    "rdma",
                    1,
                    (("koordinator.sh/rdma", 100),),
                    healthy=False,
                    functions=(FunctionGroup((("vf", "x"),), ("b1",)), FunctionGroup((), ())),
                ),
                Device("fpga", 0, (), healthy=False),
            )
        ),
        packed_strings(("GPU-1", "", "")),
    )
    assert found is not None
    assert tuple(found.ids) == ("GPU-1", "", "")


def test_an_amount_of_zero_stays_so_that_nothing_of_it_is_given() -> None:
    found = device_of({"devices": [{"type": "gpu", "resources": WHOLE | {"koordinator.sh/gpu-memory": "0"}}]})
    assert found is not None
    assert dict(found.layout.devices[0].resources)["koordinator.sh/gpu-memory"] == 0


def test_a_node_without_cards_has_an_empty_device_object_and_one_without_device_object_none() -> None:
    assert device_of({}) == NodeDevices(DeviceLayout())
    assert read(thing("Node", "n1")).nodes["n1"].devices is None


def test_nodes_that_are_built_alike_share_their_layout() -> None:
    def one(name: str) -> Json:
        return thing("Device", name, spec={"devices": [{"type": "gpu", "id": f"GPU-{name}", "health": True}]})

    nodes = read(thing("Node", "n1"), thing("Node", "n2"), one("n1"), one("n2")).nodes
    first, second = nodes["n1"].devices, nodes["n2"].devices
    assert first is not None
    assert second is not None
    assert first.layout is second.layout
    assert (tuple(first.ids), tuple(second.ids)) == (("GPU-n1",), ("GPU-n2",))


@pytest.mark.parametrize(
    ("written", "table"),
    [
        (
            {"2": [{"minors": [0, 1], "allocationScore": 3, "ringBusBandwidth": "200Gi"}], "4": [], "8": None},
            ((2, (Partition((0, 1), 3, (200 << 30) * 10**9),)),),
        ),
        ({"1": [{}]}, ((1, (Partition(()),)),)),
        ({}, ()),
        ({"two": []}, None),
        ({"2": [{"ringBusBandwidth": "wide"}]}, None),
        ([], None),
        (None, None),
    ],
)
def test_partitions_that_cannot_be_read_are_none(written: object, table: object) -> None:
    found = device_of({}, annotations={DOMAIN + "gpu-partitions": json.dumps(written)})
    assert found is not None
    assert found.layout.partitions == table


def test_labels_of_the_device_object_set_its_policies() -> None:
    labels = {
        "node.koordinator.sh/gpu-partition-policy": "Honor",
        "node.koordinator.sh/secondary-device-well-planned": "true",
    }
    found = device_of({}, labels=labels)
    assert found is not None
    assert (found.layout.honours_partitions, found.layout.plans_secondaries) == (True, True)


def running(annotations: Json) -> Allocations:
    (found,) = read(pod("p", annotations=annotations, nodeName="n1")).running["n1"]
    return found.allocations


def test_what_running_pods_have_is_booked() -> None:
    extension = {"vfs": [{"minor": 1, "busID": "b1"}]}
    written = {
        "rdma": [{"minor": 1, "resources": {"kubernetes.io/rdma": 1}, "id": "x", "extension": extension}],
        "gpu": [{"minor": 0, "resources": WHOLE, "extension": {}}],
        "fpga": None,
    }
    from_reservation = json.dumps({"name": "r", "uid": "u"})
    assert running({ALLOCATED: json.dumps(written), DOMAIN + "reservation-allocated": from_reservation}) == Allocations(
        (DeviceAllocation("gpu", 0, AMOUNTS), DeviceAllocation("rdma", 1, (("koordinator.sh/rdma", 1),), ("b1",))),
        reservation="u",
    )


@pytest.mark.parametrize(
    "written",
    ["", "{", "[]", "null", '{"gpu": [{"minor": "0"}]}', '{"gpu": [{"resources": {"a": "b c"}}]}', "[" * 100_000],
)
def test_what_the_scheduler_cannot_read_is_not_booked_and_keeps_a_pod_that_waits_out(written: str) -> None:
    assert running({ALLOCATED: written}) == Allocations()
    (waiting,) = read(pod("p", annotations={ALLOCATED: written}, schedulerName="koord-scheduler")).pending
    expected = None if written == "null" else DeviceOptions(unreadable="device-allocated")
    assert waiting.requirements.devices == expected


def test_what_a_reservation_has_is_booked_under_its_uid() -> None:
    status = {"phase": "Available", "nodeName": "n1"}
    annotations = {ALLOCATED: json.dumps({"gpu": [{"minor": 0, "resources": WHOLE}]})}
    reservation = thing("Reservation", "r", annotations=annotations, status=status)
    reservation["metadata"]["uid"] = "u"
    (room,) = read(thing("Node", "n1"), reservation).reserved
    assert room.allocations == holding(0, reservation="u")


def options(**annotations: str | None) -> DeviceOptions | None:
    named = {DOMAIN + name.replace("_", "-"): text for name, text in annotations.items()}
    (found,) = read(pod("p", annotations=named, schedulerName="koord-scheduler")).pending
    return found.requirements.devices


def test_what_a_pod_asks_of_devices() -> None:
    hint = {
        "selector": {"matchLabels": {"kind": "fast"}},
        "vfSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
        "allocateStrategy": "ApplyForAll",
        "requiredTopologyScope": "PCIe",
        "exclusivePolicy": "DeviceLevel",
    }
    assert options(
        device_allocate_hint=json.dumps({"rdma": hint, "gpu": None}),
        device_joint_allocate='{"deviceTypes": ["gpu", "rdma"], "requiredScope": "SamePCIe"}',
        gpu_partition_spec='{"allocatePolicy": "Restricted", "ringBusBandwidth": 1}',
    ) == DeviceOptions(
        hints=(
            DeviceHint("gpu"),
            DeviceHint(
                "rdma",
                Selector((Requirement("kind", "In", ("fast",)),)),
                Selector((Requirement("a", "Exists"),)),
                "ApplyForAll",
                "PCIe",
                "DeviceLevel",
            ),
        ),
        joint=JointAllocation(("gpu", "rdma"), "SamePCIe"),
        partition=PartitionSpec(restricted=True, bandwidth=10**9),
    )
    assert options(other="x") is None


def test_null_is_what_is_empty() -> None:
    assert options(
        device_allocate_hint="null", device_joint_allocate="null", gpu_partition_spec="null"
    ) == DeviceOptions((), JointAllocation(()), PartitionSpec())


def _expression(**written: object) -> str:
    return json.dumps({"gpu": {"selector": {"matchExpressions": [written]}}})


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("device_allocate_hint", ""),
        ("device_allocate_hint", "[" * 100_000),
        ("device_allocate_hint", '{"gpu": []}'),
        ("device_allocate_hint", _expression(key="a", operator="Is", values=["b"])),
        ("device_allocate_hint", _expression(key="a", operator="In")),
        ("device_allocate_hint", _expression(key="a", operator="Exists", values=["b"])),
        ("device_allocate_hint", _expression(operator="Exists")),
        ("device_joint_allocate", "{"),
        ("gpu_partition_spec", '{"allocatePolicy": 3}'),
        ("gpu_partition_spec", '{"ringBusBandwidth": "wide"}'),
    ],
)
def test_annotations_that_cannot_be_read_are_named(name: str, written: str) -> None:
    found = options(**{name: written})
    assert found is not None
    assert found.unreadable == name.replace("_", "-")


def test_the_isolation_provider_is_a_label() -> None:
    labels = {"koordinator.sh/gpu-isolation-provider": "HAMi-core"}
    (found,) = read(pod("p", labels=labels, schedulerName="koord-scheduler")).pending
    assert found.requirements.devices == DeviceOptions(isolation="HAMi-core")


def test_running_pods_with_other_cards_share_their_requirements() -> None:
    def one(name: str, minor: int) -> Json:
        allocated = json.dumps({"gpu": [{"minor": minor, "resources": WHOLE}]})
        return pod(name, annotations={ALLOCATED: allocated}, nodeName="n1")

    first, second, third = read(one("a", 0), one("b", 1), one("c", 0)).running["n1"]
    assert first.requirements is second.requirements
    assert first.allocations is third.allocations
    assert first.allocations != second.allocations


def test_an_amount_of_a_device_beyond_all_numbers_is_the_most_there_is() -> None:
    found = device_of(
        {"devices": [{"type": "gpu", "health": True, "resources": {"koordinator.sh/gpu-memory": 1 << 70}}]}
    )
    assert found is not None
    assert found.layout.devices[0].resources == (("koordinator.sh/gpu-memory", (1 << 63) - 1),)
